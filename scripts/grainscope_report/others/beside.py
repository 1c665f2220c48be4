"""Numbers of another tool beside those of a run: of the same question, place and size.

Which case of ours answers a benchmark of theirs, docs/coverage.md says.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, inf

from grainscope_report import model, resources, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.model import Row
from grainscope_report.others.output import RATE, Measured, Output
from grainscope_report.result import Result
from grainscope_report.uncertainty import Uncertainty
from grainscope_report.units import format_bytes

_CODE = re.compile(r"`([^`]+)`")
_LANE = re.compile(r"its lanes? `([^`]+)`")
_ABOVE = "as above"


@dataclass(frozen=True)
class Counterpart:
    """What answers a benchmark: a filter on the names of cases, and of their lanes the one that does.

    In a lane's name `…` stands for the number of the GPU.
    """

    theirs: str
    filter: str
    lane: str
    differs: str


@cache
def counterparts(tool: str) -> Mapping[str, Counterpart]:
    """By name, the benchmarks of a tool that have a counterpart."""
    text = resources.coverage_path().read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(tool)}$(.*?)(?=^## |\Z)", text, re.M | re.S)
    if section is None:
        raise ReportError(f"docs/coverage.md has no section on {tool}: install grainscope-report again")
    return {one.theirs: one for one in _rows(section[1])}


def _rows(section: str) -> Iterator[Counterpart]:
    differs = ""
    for line in section.splitlines():
        if not line.startswith("| `"):
            continue
        theirs, here, said = (cell.strip() for cell in line.strip("|").split("|"))
        # Each says what differs, or that it is as in the row above, perhaps with more.
        differs = differs + said.removeprefix(_ABOVE) if said.startswith(_ABOVE) else said
        lane = _LANE.search(here)
        yield Counterpart(
            _CODE.findall(theirs)[0], _CODE.findall(here)[0], lane[1] if lane else "", _plain(differs)
        )


def _plain(text: str) -> str:
    return text.replace("`", "")


@dataclass(frozen=True)
class Pair:
    """A number of theirs, what answers it, and ours; `why` there is none of ours.

    Several cases of ours may answer one of theirs: then `ours` has the least and the greatest, and no ratio.
    """

    theirs: Measured
    counterpart: Counterpart | None
    cases: tuple[str, ...] = ()
    ours: tuple[float, float] | None = None
    known: Uncertainty | None = None
    why: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over theirs, where one case of ours answers."""
        if self.ours is None or len(self.cases) != 1 or not self.theirs.value:
            return None
        return self.ours[0] / self.theirs.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the ratio by what is known of both sides; None where nothing is of ours."""
        if self.ratio is None or self.known is None:
            return None
        whole = uncertainty.combined(self.known, self.theirs.a) if self.theirs.a else self.known
        factor = exp(uncertainty.expanded(whole))
        return self.ratio / factor, self.ratio * factor


NO_COUNTERPART = "no case of ours answers it"


def pairs(output: Output, result: Result | None) -> list[Pair]:
    """Every number of theirs with its counterpart, and where a run is given with its rows."""
    gpus = _numbers(output, result) if result else {}
    known = counterparts(output.tool)
    return [_pair(one, known.get(one.benchmark), result, gpus) for one in output.rows]


def _pair(
    theirs: Measured, counterpart: Counterpart | None, result: Result | None, gpus: dict[int, int]
) -> Pair:
    if counterpart is None:
        return Pair(theirs, None, why=theirs.reason or NO_COUNTERPART)
    if theirs.reason or result is None:
        return Pair(theirs, counterpart, why=theirs.reason)
    rows, why = _answering(theirs, counterpart, result, gpus)
    values = [(row, value) for row in rows if (value := _value(row, theirs, counterpart, gpus))]
    if not values:
        return Pair(theirs, counterpart, why=why or "our row has no such number")
    numbers = [value for _, value in values]
    known = _known(values[0][0].uncertainty) if len(values) == 1 else None
    cases = tuple(row.name for row, _ in values)
    return Pair(theirs, counterpart, cases, (min(numbers), max(numbers)), known)


def _numbers(output: Output, result: Result) -> dict[int, int]:
    """By their number of a GPU ours, of the same PCI address; the same number where that is not told."""
    ours = {_address(str(gpu.get("pci_bus_id", ""))): at for at, gpu in enumerate(result.environment.gpus)}
    theirs = [ours.get(_address(address)) for _, address in output.gpus]
    told = None not in theirs and len(set(theirs)) == len(theirs)
    return {at: number for at, number in enumerate(theirs) if number is not None} if told else {}


def _address(text: str) -> tuple[int, ...] | None:
    parts = re.findall(r"[0-9a-fA-F]+", text)
    return tuple(int(part, 16) for part in parts[:3]) if len(parts) >= 3 else None


def _answering(
    theirs: Measured, counterpart: Counterpart, result: Result, gpus: dict[int, int]
) -> tuple[list[Row], str]:
    """The rows of ours that answer, or why none does."""
    wanted = re.compile(counterpart.filter)
    rows = [row for row in result.rows if row.label == "measured" and wanted.search(row.name)]
    if not rows:
        return [], "the run has no such case"
    site = {name: gpus.get(at, at) if name in ("gpu", "peer") else at for name, at in theirs.site.items()}
    for said, fits in (
        (f"the run has no such case of {theirs.place or 'that place'}", lambda row: _there(row, site)),
        ("the run has no such case of as many GPUs, or so flushed", lambda row: _alike(row, theirs)),
    ):
        if not (rows := _those(rows, fits)):
            return [], said
    good = _those(rows, lambda row: row.ok)
    if not good:
        return [], f"ours is {rows[0].status}: {rows[0].reason}"
    rows = good
    if theirs.bytes is not None:
        rows = _those(rows, lambda row: _size(row) in (None, theirs.bytes))
        if not rows:
            return [], f"the run has no such case of {format_bytes(theirs.bytes)}"
    elif any(_size(row) for row in rows):
        # What they do not tell the size of goes on for long, so ours is the longest.
        most = max(_size(row) or 0 for row in rows)
        rows = _those(rows, lambda row: _size(row) == most)
    if theirs.ends:
        ends = tuple(_end(end, gpus) for end in theirs.ends)
        rows = _those(rows, lambda row: row.case.ends == ends) or rows
    for prefers in (
        lambda row: row.case.site.get("gpu") == site.get("gpu", row.case.site.get("gpu")),
        lambda row: "numa" in site or row.case.locality != "remote",
    ):
        rows = _those(rows, prefers) or rows
    return rows, ""


def _those(rows: Sequence[Row], fits: Callable[[Row], bool]) -> list[Row]:
    return [row for row in rows if fits(row)]


def _end(end: str, gpus: dict[int, int]) -> str:
    kind, _, at = end.partition(":")
    return f"{kind}:{gpus.get(int(at), int(at))}"


def _there(row: Row, site: dict[str, int]) -> bool:
    """Whether a row is of that place; pairs of GPUs may be either way round."""
    ours = row.case.site
    if "peer" in site and "peer" in ours:
        if {site.get("gpu"), site["peer"]} != {ours.get("gpu"), ours["peer"]}:
            return False
    elif "gpu" in site and ours.get("gpu", site["gpu"]) != site["gpu"]:
        return False
    return all(ours.get(name, at) == at for name, at in site.items() if name not in ("gpu", "peer"))


def _alike(row: Row, theirs: Measured) -> bool:
    return all(row.case.axes.get(name, value) == value for name, value in theirs.axes.items())


def _size(row: Row) -> int | None:
    size = row.case.axes.get("bytes", row.bytes)
    return int(size) if isinstance(size, int | float) else None


def _value(row: Row, theirs: Measured, counterpart: Counterpart, gpus: dict[int, int]) -> float | None:
    """Ours in their quantity: of the lane that answers, else of the row, or a share of it."""
    if theirs.quantity != RATE:
        return row.operation_s or row.median_s
    if counterpart.lane:
        at = theirs.site.get("gpu", 0)
        name = counterpart.lane.replace("…", str(gpus.get(at, at)))
        return next((lane.bandwidth_gb_s for lane in row.lanes if lane.name == name), None)
    return row.bandwidth_gb_s / theirs.share if row.bandwidth_gb_s else None


def _known(told: model.Uncertainties | None) -> Uncertainty | None:
    part = told and (told.combined or told.a)
    return Uncertainty(part.standard, part.freedom or inf) if part else None
