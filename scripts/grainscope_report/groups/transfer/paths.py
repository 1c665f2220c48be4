"""The line behind every path of a run: which rows are one path, what it reaches of its link."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from grainscope_report import naming, statistics
from grainscope_report.fits.line import Line, fit
from grainscope_report.model import OPPOSITE, Case, Result, Row, ends
from grainscope_report.statistics import Estimate

FAMILIES = (
    "transfer/memcpy",
    "transfer/kernel_copy",
    "transfer/zero_copy",
    "transfer/managed",
    "transfer/duplex",
    "transfer/peer",
    "transfer/local",
)
Question = tuple[str, tuple[tuple[str, str | float], ...]]


@dataclass(frozen=True)
class Path:
    """One way of moving bytes at one site, and the line behind its times.

    `theoretical_gb_s` is what the link is negotiated for, both directions together where the path
    uses both; None where the run does not know.
    """

    family: str
    name: str
    case: Case
    line: Line
    theoretical_gb_s: float | None
    peak_gb_s: float | None
    negotiated: str | None

    @property
    def of_link(self) -> float | None:
        """The share of the negotiated link that long transfers reach."""
        return self.line.bandwidth_gb_s.value / self.theoretical_gb_s if self.theoretical_gb_s else None


@dataclass(frozen=True)
class Farther:
    """The same question asked of local and of remote memory: how much less comes, how much later."""

    name: str
    family: str
    rate: Estimate
    latency_s: float
    local_latency_s: float


def paths(result: Result, every: bool = True) -> list[Path]:
    """The paths with enough sizes, in the order of `FAMILIES` and of the file.

    Unless `every` site is wanted, the first of each question and place.
    """
    found = []
    for family in FAMILIES:
        found += _of_family(result, [row for row in result.of(family) if _usable(row)], every)
    return found


def _usable(row: Row) -> bool:
    return bool(row.measured and row.bytes) and row.case.axes.get("timed") in (None, "copy")


def _of_family(result: Result, rows: Sequence[Row], every: bool) -> list[Path]:
    groups: dict[tuple, list[Row]] = defaultdict(list)
    first: dict[tuple, tuple] = {}
    for row in rows:
        asked, site = row.case.without("bytes", "flush"), tuple(sorted(row.case.site.items()))
        if every or first.setdefault(asked, site) == site:
            groups[asked, site].append(row)
    fitted = [(there[0], line) for there in groups.values() if (line := _line(_cold(there)))]
    varying = _varying([row for row, _ in fitted])
    return [_path(result, row, line, varying) for row, line in fitted]


def _cold(rows: Sequence[Row]) -> Sequence[Row]:
    """Flushed copies where there are any: a cache's speed is not the link's."""
    return [row for row in rows if row.case.axes.get("flush") == "on"] or rows


def _line(rows: Sequence[Row]) -> Line | None:
    times = {row.bytes: row.time for row in sorted(rows, key=lambda row: row.bytes)}
    return fit(list(times), list(times.values()))


def _varying(rows: Sequence[Row]) -> set[str]:
    """The numeric axes but the size in which these rows differ."""
    values: dict[str, set] = defaultdict(set)
    for row in rows:
        for axis, value in row.case.axes.items():
            if isinstance(value, (int, float)) and axis != "bytes":
                values[axis].add(value)
    return {axis for axis, there in values.items() if len(there) > 1}


def _path(result: Result, row: Row, line: Line, varying: set[str]) -> Path:
    numbers = [
        naming.number(axis, value)
        for axis, value in row.case.axes.items()
        if axis in varying and isinstance(value, (int, float))
    ]
    links = [link for pair in _ends(row.case) if (link := result.link(pair))]
    whole = len(links) == len(_ends(row.case)) > 0
    known = whole and all(link.theoretical_gb_s for link in links)
    return Path(
        family=row.case.family,
        name=", ".join([naming.name(row), *numbers]),
        case=row.case,
        line=line,
        theoretical_gb_s=sum(link.theoretical_gb_s for link in links) if known else None,
        peak_gb_s=sum(link.peak_gb_s for link in links) if whole else None,
        negotiated=links[0].negotiated if whole else None,
    )


def _ends(case: Case) -> list:
    """The links of a path: its own, or both directions where it uses both."""
    if case.axes.get("access") == "off":
        return []  # the bytes go through the host, over links that the run knows apart
    if case.direction is not None:
        return [case.ends]
    if case.axes.get("between") not in ("host_gpu", "gpu_gpu"):
        return []
    first = "to_peer" if case.axes["between"] == "gpu_gpu" else "host_to_gpu"
    return [ends(case.site, first), ends(case.site, OPPOSITE[first])]


def question(path: Path) -> Question:
    """What is asked, wherever: equal for local and remote."""
    return path.family, path.case.without("bytes", "flush", "locality", "link")


def farther(found: Sequence[Path]) -> list[Farther]:
    """Local against remote, where both are there."""
    places: dict[Question, dict[str, Path]] = defaultdict(dict)
    for path in found:
        places[question(path)].setdefault(path.case.place, path)
    pairs = [there for there in places.values() if {"local", "remote"} <= there.keys()]
    return [
        Farther(
            there["local"].name,
            there["local"].family,
            statistics.ratio(there["remote"].line.bandwidth_gb_s, there["local"].line.bandwidth_gb_s),
            there["remote"].line.latency_s.value - there["local"].line.latency_s.value,
            there["local"].line.latency_s.value,
        )
        for there in pairs
    ]
