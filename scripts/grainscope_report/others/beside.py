"""What another tool measured in one form for all tools, our numbers beside it, and how both are shown.

Which case of ours answers a benchmark of theirs, docs/coverage.md says.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import exp
from pathlib import Path
from typing import Any, NoReturn

from grainscope_report import machine, model, resources, statistics, uncertainty
from grainscope_report.comparison import sides
from grainscope_report.errors import ReportError
from grainscope_report.model import Result, Row
from grainscope_report.uncertainty import Uncertainty
from grainscope_report.units import cut, format_bytes, format_rate, format_time, plural, significant
from grainscope_report.writing import Column, Section, csv_text, json_text

RATE, TIME = "GB/s", "s"
_CODE = re.compile(r"`([^`]+)`")
_LANE = re.compile(r"its lanes? `([^`]+)`")
_ABOVE = "as above"
NO_COUNTERPART = "no case of ours answers it"
FORMAT = 1
_SHORTEST = 20  # letters of a name, at least
_FEWEST = 24  # letters of what differs, below which it is left to --all


class FormatError(ReportError):
    """A file that is of a tool, but not as any known version of it writes."""


@dataclass(frozen=True)
class Measured:
    """One number of theirs, in decimal GB/s or seconds; None where there is none, and then why.

    `benchmark` is its name in docs/coverage.md. `site` and `bytes` are where it was measured and of how many
    bytes, as a row of ours would say it, where the tool tells. `share` divides our rate where theirs is that
    of one GPU of several. `a` is what repetitions differ by.
    """

    benchmark: str
    quantity: str
    value: float | None
    site: Mapping[str, int] = field(default_factory=dict)
    ends: tuple[str, str] | None = None
    bytes: int | None = None
    axes: Mapping[str, str | float] = field(default_factory=dict)
    variant: str = ""
    share: float = 1
    runs: int = 1
    a: Uncertainty | None = None
    reason: str = ""

    @property
    def place(self) -> str:
        """`GPU 0 and 1, 64 MiB`, or what else tells it from others of its benchmark."""
        gpus = [f"{self.site[name]}" for name in ("gpu", "peer") if name in self.site]
        parts = [f"node {self.site['numa']}"] if "numa" in self.site else []
        parts += [f"GPU {' and '.join(gpus)}"] if gpus else []
        parts += [format_bytes(self.bytes)] if self.bytes else []
        return ", ".join([*parts, *([self.variant] if self.variant else [])])


@dataclass(frozen=True)
class Output:
    """What one file of another tool says; `gpus` are names and PCI addresses, `notes` what to know of it."""

    tool: str
    version: str
    rows: Sequence[Measured]
    host: str = ""
    gpus: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        """The tool with its version."""
        return f"{self.tool} {self.version}".rstrip()


def number(text: object) -> float | None:
    """A positive number, as a tool writes it; None for anything else, and for what no machine takes."""
    try:
        value = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return value if sides.LEAST <= value <= sides.MOST else None


def changed(path: object, tool: str, where: str, found: str) -> NoReturn:
    """Refuses a file whose format is not known."""
    raise FormatError(
        f"{path} begins as {tool} writes it, but {where} {found}: its format is not one of those that are "
        f"read; give the whole output of {tool}, or one of a version that docs/coverage.md names"
    )


def cut_off(path: object, tool: str, missing: str) -> NoReturn:
    """Refuses a file that ends early."""
    raise FormatError(f"{path} is cut off: {missing}; copy it again, or run {tool} again to its end")


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
    return {row.theirs: row for row in _rows(section[1])}


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


def pairs(output: Output, result: Result | None) -> list[Pair]:
    """Every number of theirs with its counterpart, and where a run is given with its rows."""
    gpus = _numbers(output, result) if result else {}
    known = counterparts(output.tool)
    return [_pair(row, known.get(row.benchmark), result, gpus) for row in output.rows]


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
    return uncertainty.of_record(part) if part else None


@dataclass(frozen=True)
class Import:
    """One file of theirs with its pairs, and the run that they stand beside."""

    path: Path
    output: Output
    pairs: Sequence[Pair]
    result: Result | None


def sections(imports: Sequence[Import], width: int | None) -> Iterator[Section]:
    """A line a benchmark, what differs cut to a width; where that is None a line a number, and all of it."""
    for imported in imports:
        yield Section(_title(imported), tuple(_notes(imported)), *_table(imported, width))
        yield from _differs(imported) if width is None else ()
        yield from _without(imported, width is None)


def _title(one: Import) -> str:
    who = f"{one.output.title}{_on(one.output.gpus)}"
    if one.result is None:
        answered = {pair.theirs.benchmark for pair in one.pairs if pair.counterpart}
        every = {pair.theirs.benchmark for pair in one.pairs}
        return (
            f"{who}: {len(answered)} of {len(every)} benchmarks have a counterpart; --with RUN shows our "
            "numbers beside them."
        )
    ratios = [pair.ratio for pair in one.pairs if pair.ratio]
    beside = f"beside {one.result.path} ({machine.gpus(one.result) or 'no GPU'})"
    if not ratios:
        return f"{who} {beside}: no number of theirs has one of ours beside it."
    middle = statistics.median(ratios)
    return (
        f"{who} {beside}: of {len(one.pairs)} numbers {len(ratios)} stand beside one of ours, which is "
        f"{min(ratios):.2f} to {max(ratios):.2f} of theirs, {middle:.2f} in the middle."
    )


def _on(gpus: Sequence[tuple[str, str]]) -> str:
    names = list(dict.fromkeys(name for name, _ in gpus))
    if not names:
        return ""
    return f" on {', '.join(names)}{f' ×{len(gpus)}' if len(gpus) > 1 else ''}"


def _notes(one: Import) -> Iterator[str]:
    if one.result:
        theirs = {name for name, _ in one.output.gpus}
        ours = {*one.result.environment.gpu_names}
        if theirs and ours and not theirs & ours:
            yield f"Warning: theirs is of {', '.join(sorted(theirs))}, ours of {', '.join(sorted(ours))}."
        if one.output.host and one.result.host and one.output.host != one.result.host:
            yield f"Warning: theirs is of the host {one.output.host}, ours of {one.result.host}."
    for note in one.output.notes:
        yield f"{note[0].upper()}{note[1:]}."


def _table(one: Import, width: int | None) -> tuple[tuple[Column, ...], tuple[tuple[str, ...], ...]]:
    """Theirs, ours and the ratio of what has a counterpart; without a run the filter that runs ours."""
    shown = [
        pair
        for pair in one.pairs
        if pair.counterpart and (pair.ours or (one.result is None and not pair.why))
    ]
    groups = _by_benchmark(shown) if width else [[pair] for pair in shown]
    if not groups:
        return (), ()
    lines = [_line(group, one.result is not None, width is None) for group in groups]
    if one.result is None:
        columns = (
            Column("theirs"), Column("numbers", True, 2) if width else Column("where"),
            Column("value", True, 1), Column("our filter"),
        )  # fmt: skip
        both = sum(_width(columns, lines, at) for at in (2, 3))
        room = width is None or width - 2 - both >= _SHORTEST
        return columns, _fitted(columns, lines, width, (2, 3) if room else (3,))
    columns = (
        Column("theirs"), Column("numbers", True, 4) if width else Column("where"), Column("theirs", True, 2),
        Column("ours", True, 1), Column("ours / theirs", True), Column("95 %", True, 3),
    )  # fmt: skip
    if width is None:
        return columns, tuple(lines)
    lines = _fitted(columns, lines, width, (2, 3, 4))
    used = sum(_width(columns, lines, at) for at in range(len(columns)))
    left = width - 2 - used
    if left < _FEWEST:
        return columns, tuple(lines)
    said = [cut(group[0].counterpart.differs, left) for group in groups if group[0].counterpart]
    return (*columns, Column("what differs")), tuple(
        (*line, what) for line, what in zip(lines, said, strict=True)
    )


def _width(columns: Sequence[Column], lines: Sequence[tuple[str, ...]], at: int) -> int:
    """How wide a column is, with the gap beside it."""
    return 2 + max(len(columns[at].name), *(len(line[at]) for line in lines))


def _fitted(
    columns: Sequence[Column], lines: Sequence[tuple[str, ...]], width: int | None, kept: Sequence[int]
) -> tuple[tuple[str, ...], ...]:
    """Lines whose names give way to the columns that are to be kept, then the last column too."""
    if width is None:
        return tuple(lines)
    needed = sum(_width(columns, lines, at) for at in kept)
    room = max(width - 2 - needed, _SHORTEST)
    return tuple(
        (_shortened(line[0], room), *line[1:-1], cut(line[-1], max(width - _SHORTEST - 4, 1)))
        for line in lines
    )


def _shortened(name: str, most: int) -> str:
    """A name without its middle: how it ends tells it from others."""
    tail = 2 * most // 3
    return name if len(name) <= most else f"{name[: most - tail - 1]}…{name[-tail:]}"


def _by_benchmark(pairs: Iterable[Pair]) -> list[list[Pair]]:
    groups: dict[tuple[str, str, bool], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.theirs.benchmark, _flushed(pair), len(pair.cases) > 1].append(pair)
    return list(groups.values())


def _flushed(pair: Pair) -> str:
    return ", flushed" if pair.theirs.axes.get("flush") == "on" else ""


def _line(group: Sequence[Pair], beside: bool, single: bool) -> tuple[str, ...]:
    first = group[0]
    name = f"{first.theirs.benchmark}{_flushed(first)}"
    where = first.theirs.place if single else str(len(group))
    value = _values([pair.theirs.value for pair in group if pair.theirs.value], first)
    if not beside:
        return name, where, value, first.counterpart.filter if first.counterpart else ""
    ours = _values([our for pair in group for our in pair.ours or ()], first)
    ratios = [pair.ratio for pair in group if pair.ratio]
    if not ratios:
        cases = max(len(pair.cases) for pair in group)
        return name, where, value, ours, f"{cases} cases", ""
    return (
        name,
        where,
        value,
        ours,
        _range([f"{ratio:.3f}" for ratio in (min(ratios), max(ratios))]),
        _interval(group),
    )


def _interval(group: Sequence[Pair]) -> str:
    """Half of the interval in percent of the ratio; the widest of several."""
    found = [(pair.ratio, pair.interval) for pair in group if pair.ratio]
    if any(interval is None for _, interval in found):
        return "not known"
    widest = max((interval[1] - interval[0]) / 2 / ratio for ratio, interval in found if interval)
    return f"± {significant(100 * widest, 2)} %"


def _values(values: Sequence[float], first: Pair) -> str:
    if not values:
        return "–"
    said = format_rate if first.theirs.quantity == RATE else format_time
    unit = f" {RATE}" if first.theirs.quantity == RATE else ""
    return _range([said(each) for each in (min(values), max(values))]) + unit


def _range(ends: Sequence[str]) -> str:
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} … {ends[1]}"


def _differs(one: Import) -> Iterator[Section]:
    found = {pair.theirs.benchmark: pair.counterpart for pair in one.pairs if pair.counterpart}
    if found:
        said = tuple(f"{name}: {each.differs}." for name, each in found.items() if each)
        yield Section("What differs", said)


def _without(one: Import, everything: bool) -> Iterator[Section]:
    """What stands beside nothing, by name and why."""
    groups: dict[str, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for pair in one.pairs:
        if not pair.ours and pair.why:
            groups[_reason(pair)][pair.theirs.benchmark].append(pair)
    if not groups:
        return
    said = []
    # A benchmark of which other numbers have one of ours is named with the places of those that have none.
    partly = {pair.theirs.benchmark for pair in one.pairs if pair.ours}
    for reason, names in groups.items():
        listed = []
        for name, found in names.items():
            where = "; ".join(dict.fromkeys(pair.theirs.place or "as a whole" for pair in found))
            count = f" ({len(found)})" if len(found) > 1 else ""
            listed.append(f"{name} ({where})" if everything or name in partly else f"{name}{count}")
        said.append(f"{reason[0].upper()}{reason[1:]}: {', '.join(listed)}.")
    count = sum(len(found) for names in groups.values() for found in names.values())
    yield Section(f"{plural(count, 'number')} without one of ours", tuple(said))


def _reason(pair: Pair) -> str:
    place = f" of {pair.theirs.place}"
    return pair.why.removesuffix(place) if pair.why.startswith("the run has no such case") else pair.why


def records(imports: Sequence[Import]) -> Iterator[dict[str, Any]]:
    """Every number of theirs with ours, None where something is not known."""
    for imported in imports:
        for pair in imported.pairs:
            theirs, site, answer = pair.theirs, pair.theirs.site, pair.counterpart
            low, high = pair.interval or (None, None)
            yield {
                "file": str(imported.path), "tool": imported.output.tool, "version": imported.output.version,
                "benchmark": theirs.benchmark, "gpu": site.get("gpu"), "peer": site.get("peer"),
                "numa": site.get("numa"), "bytes": theirs.bytes, "variant": theirs.variant,
                "quantity": theirs.quantity, "theirs": theirs.value, "runs": theirs.runs,
                "counterpart": answer and answer.filter, "case": " ".join(pair.cases) or None,
                "ours": pair.ours[0] if pair.ours and len(pair.cases) == 1 else None,
                "ratio": pair.ratio, "ratio_low": low, "ratio_high": high,
                "differs": answer and answer.differs, "why": pair.why or None,
            }  # fmt: skip


def as_csv(imports: Sequence[Import]) -> str:
    """Every number as a line."""
    rows = [*records(imports)]
    return csv_text([*rows[0]], (row.values() for row in rows))


def as_json(imports: Sequence[Import]) -> str:
    """Every number as an object, under the files that they are of."""
    files = [
        {
            "file": str(imported.path),
            "tool": imported.output.tool,
            "version": imported.output.version,
            "notes": [*imported.output.notes],
        }
        | {"with": str(imported.result.path) if imported.result else None}
        for imported in imports
    ]
    document = {"import_format": FORMAT, "files": files, "rows": [*records(imports)]}
    return json_text(document) + "\n"
