"""What is worked out of a run, each part once and only where it is asked for.

So are the modules that do it: to read all of them takes a fifth of the time of a screen.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from grainscope_report import families, naming, statistics
from grainscope_report.model import MODEL, Result, Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_percent

if TYPE_CHECKING:
    from grainscope_report.findings import Fits
    from grainscope_report.fits.shape import Finding
    from grainscope_report.groups.lean import Gain
    from grainscope_report.groups.programs import Predictions
    from grainscope_report.groups.transfer import Choice
    from grainscope_report.groups.traversal_answers import Answer, AtWork, Moved, Needs, Together
    from grainscope_report.machine import Machine
# How far a site must stay behind the best one to be named.
SLOW_SHARE = 0.05
HIDDEN = {"bytes", "rows", "pieces", "pages", "planes", "pitch", *naming.WITHIN}
# Bytes that are so many times others are more.
CLEARLY = 1.01
# Where one of these varies the total says nothing.
INSTEAD = {"row", "grain", "piece", "page"}


@dataclass(frozen=True)
class Analysis:
    """A run in its parts; paths are fitted at `every` site or at the first of each."""

    machine: Machine
    every: bool = False

    @property
    def result(self) -> Result:
        """What the file says."""
        return self.machine.result

    @cached_property
    def groups(self) -> list[Group]:
        """Rows of a family that share their named axes."""

        return groups_of(self.result)

    @cached_property
    def traversals(self) -> list[Answer]:
        """The best access to each graph."""
        from grainscope_report.groups import traversal_answers

        return traversal_answers.answers(self.machine)

    @cached_property
    def pressed(self) -> list[Moved]:
        """What managed memory would move on smaller cards."""
        from grainscope_report.groups import traversal_answers

        return traversal_answers.moved(self.machine)

    @cached_property
    def together(self) -> list[Together]:
        """How traversals scale over GPUs."""
        from grainscope_report.groups import traversal_answers

        return traversal_answers.together(self.machine)

    @cached_property
    def at_work(self) -> list[AtWork]:
        """What lanes at work are worth to traversals."""
        from grainscope_report.groups import traversal_answers

        return traversal_answers.at_work(self.machine)

    @cached_property
    def needs(self) -> list[Needs]:
        """The GPU's memory and the time of each way to traverse a graph."""
        from grainscope_report.groups import traversal_answers

        return traversal_answers.needs(self.machine)

    @cached_property
    def gains(self) -> list[Gain]:
        """What algorithms that move fewer bytes buy."""
        from grainscope_report.groups import lean

        return lean.gains(self.machine)

    @cached_property
    def predictions(self) -> Predictions:
        """Programs as predicted from the run's microbenchmarks."""
        from grainscope_report.groups import programs

        return programs.of(self.result)

    @cached_property
    def networks(self) -> dict[str, list[dict[str, Any]]]:
        """What graph neural networks' rows come to, by question."""
        from grainscope_report.groups import gnn_answers

        return gnn_answers.of(self.machine)

    @cached_property
    def fits(self) -> Fits:
        """Lines, walls, crossovers, and what fills the link."""
        from grainscope_report import findings

        return findings.all_fits(self.machine, self.choices, self.every)

    @cached_property
    def choices(self) -> list[Choice]:
        """Which way of moving bytes is first at which size."""
        from grainscope_report.groups import transfer

        return transfer.choices(self.machine)

    @cached_property
    def shape(self) -> list[Finding]:
        """What is odd about curves."""
        from grainscope_report.fits import shape

        return shape.findings(self.result)

    @cached_property
    def reasons(self) -> list[Reason]:
        """Why rows have no numbers."""

        return reasons_of(self.result)


@dataclass(frozen=True)
class Peak:
    """The fastest case of a group: its rate in GB/s, size, further axes, and share of the copy peak.

    Of rows that may come from a cache the share is the least; `most_of_link` is that with no cache.
    """

    rate: Estimate
    bytes: float | None
    axes: tuple[tuple[str, float], ...]
    link_fraction: float | None
    most_of_link: float | None = None

    @property
    def of_link(self) -> str:
        """`92.9 %`, or `72.4–91.8 %`."""
        return _spoken_share(self.link_fraction, self.most_of_link)


@dataclass(frozen=True)
class Timing:
    """The time of one sample, or of one operation where `each`, at a size; of `of` where not of bytes."""

    time_s: float
    bytes: float | None
    each: bool
    of: tuple[str, float] | None = None


@dataclass(frozen=True)
class Slow:
    """A site that stays behind the best one: its peak and that one's, GB/s."""

    site: tuple[tuple[str, int], ...]
    peak_gb_s: float
    best_gb_s: float


@dataclass(frozen=True)
class Group:
    """One line of the summary: rows of a family that share their named axes and locality.

    Where `flushed` there are rows of warm buffers, too, and peak and times leave them out.
    """

    family: str
    name: str
    peak: Peak | None
    smallest: Timing | None
    largest: Timing | None
    counts: Counter
    slow: tuple[Slow, ...] = ()
    flushed: bool = False
    rows: tuple[Row, ...] = field(default=(), repr=False)

    @property
    def warm(self) -> bool:
        """Whether none of its rows is of flushed buffers."""
        return bool(self.rows) and all(row.case.axes.get("flush") == "off" for row in self.rows)


def groups_of(result: Result) -> list[Group]:
    """The groups, family by family, as the suite runs them."""
    named: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in result.rows:
        # Some families' answers are in tables of their own: one line counts their rows.
        named[row.case.family]["" if _apart(row.case.family) else naming.name(row)].append(row)
    return [
        replace(_group(family, name, rows), rows=tuple(rows))
        for family in _in_order(result.rows)
        for name, rows in named[family].items()
    ]


def group_as_json(group: Group) -> dict[str, Any]:
    """A group as plain data."""
    peak = group.peak
    return {
        "family": group.family,
        "name": group.name,
        "counts": dict(group.counts),
        "peak": peak
        and {
            "gb_s": {"value": peak.rate.value, "low": peak.rate.low, "high": peak.rate.high},
            "bytes": peak.bytes,
            "axes": dict(peak.axes),
            "link_fraction": peak.link_fraction,
        },
        "flushed": group.flushed,
        "smallest": group.smallest and asdict(group.smallest),
        "largest": group.largest and asdict(group.largest),
    }


def _in_order(rows: Sequence[Row]) -> list[str]:
    """Families as the suite runs them: rows that are skipped beforehand come first in a file.

    Those are in that order among themselves, so a family without other rows comes before the next that has.
    """
    skipped = list(itertools.takewhile(lambda row: row.status == "skipped", rows))
    ordered = list(dict.fromkeys(row.case.family for row in rows[len(skipped) :]))
    following: str | None = None
    for family in reversed(dict.fromkeys(row.case.family for row in skipped)):
        if family not in ordered:
            ordered.insert(ordered.index(following) if following else len(ordered), family)
        following = family
    return ordered


@cache
def _apart(family: str) -> bool:
    from grainscope_report.groups import gnn_answers

    return families.of(family).walks or family.startswith(MODEL) or family in gnn_answers.FAMILIES


def _group(family: str, name: str, rows: list[Row]) -> Group:
    counts = Counter(row.status for row in rows)
    if _apart(family):
        return Group(family, name, None, None, None, counts)
    cases = _cold(usable := [row for row in rows if row.ok and row.time])
    sizes = [size for row in cases if (size := _size(row)) is not None]
    smallest = _fastest(cases, min(sizes, default=None))
    each = smallest is not None and smallest.each
    largest = _fastest(cases, max(sizes, default=None)) if each else None
    flushed = len(cases) < len(usable)
    return Group(family, name, _peak(cases), smallest, largest, counts, _slow(cases), flushed)


def _fastest(cases: Sequence[Row], size: float | None) -> Timing | None:
    """The shortest time among the cases of this size."""
    there = [_timing(row) for row in cases if _size(row) == size]
    return min(there, key=lambda timing: timing.time_s, default=None)


def _slow(cases: Sequence[Row]) -> tuple[Slow, ...]:
    """Sites whose peak is clearly below that of the best site."""
    sites: dict[tuple, list[Row]] = defaultdict(list)
    for row in cases:
        sites[tuple(sorted(row.case.site.items()))].append(row)
    peaks = {site: peak.rate for site, there in sites.items() if (peak := _peak(there))}
    best = max(peaks.values(), key=lambda rate: rate.value, default=None)
    return tuple(
        Slow(site, rate.value, best.value)
        for site, rate in peaks.items()
        if rate.high < best.low and rate.value < (1 - SLOW_SHARE) * best.value
    )


def _cold(rows: list[Row]) -> list[Row]:
    """Rows of flushed buffers where there are any: a cache's speed is not the link's or the memory's.

    Rows of families that are always flushed but where asked otherwise do not say so.
    """
    return [row for row in rows if row.case.axes.get("flush", "on") == "on"] or rows


def _bytes(row: Row) -> float | None:
    size = row.case.axes.get("bytes", row.bytes)
    return size if isinstance(size, (int, float)) else None


def _of(row: Row) -> tuple[str, float] | None:
    """What a call has in place of bytes, and how many."""
    axes = row.case.axes
    counts = ((axis, axes.get(axis)) for axis in families.of(row.case.family).counted_by)
    return next(((axis, count) for axis, count in counts if isinstance(count, (int, float))), None)


def _size(row: Row) -> float | None:
    counted = _of(row)
    return counted[1] if counted else _bytes(row)


def _timing(row: Row) -> Timing:
    return Timing(row.median_s / (row.operations or 1), _bytes(row), bool(row.operations), _of(row))


def _peak(cases: Sequence[Row]) -> Peak | None:
    rated = [
        (statistics.rate_gb_s(row.time, row.bytes), row) for row in cases if row.bytes and row.bandwidth_gb_s
    ]
    if not rated:
        return None
    names = {axis for row in cases for axis in row.case.axes}
    varying = {axis for axis in names if len({row.case.axes.get(axis) for row in cases}) > 1}
    rate, row = max(rated, key=lambda one: one[0].value)
    axes = tuple(
        (axis, value)
        for axis, value in row.case.axes.items()
        if isinstance(value, (int, float)) and axis not in HIDDEN and axis in varying
    )
    size = None if varying & INSTEAD else _bytes(row)
    return Peak(rate, size, axes, row.link_fraction, _most_of_link(row, row.link_fraction))


def of_link(row: Row) -> str:
    """What a row's bytes took of the copy peak: `92.9 %`, or with and without a cache `72.4–91.8 %`."""
    return _spoken_share(row.link_fraction, _most_of_link(row, row.link_fraction))


def _spoken_share(least: float | None, most: float | None) -> str:
    if not least:
        return ""
    if most is None:
        return format_percent(least)
    return f"{format_percent(least).removesuffix(' %')}–{format_percent(most)}"


def _most_of_link(row: Row, share: float | None) -> float | None:
    """What the link carried if no cache kept a row; None where that is the same, and at most all of it."""
    asked = row.traffic.bytes if row.traffic else None
    if not share or not asked or not row.link_bytes_least or asked <= CLEARLY * row.link_bytes_least:
        return None
    return max(share, min(1.0, share * asked / row.link_bytes_least))


@dataclass(frozen=True)
class Reason:
    """Rows of one status and reason, as it is told."""

    status: str
    text: str
    rows: tuple[Row, ...]

    @property
    def count(self) -> int:
        """How many rows."""
        return len(self.rows)

    @property
    def families(self) -> tuple[str, ...]:
        """The families that they are of."""
        return tuple(dict.fromkeys(row.case.family for row in self.rows))

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(row.name for row in self.rows)


def reason_as_json(reason: Reason) -> dict[str, Any]:
    """A reason as plain data."""
    parts = ("status", "text", "count", "families", "names")
    return {part: getattr(reason, part) for part in parts}


def reasons_of(result: Result) -> list[Reason]:
    """Why rows are not ok: the failed first, then by how many rows."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for status in ("failed", "skipped"):
        there = [row for row in result.rows if row.status == status]
        told = naming.told_reasons(row.reason for row in there)
        for row in there:
            found[status, told[row.reason]].append(row)
    listed = [Reason(status, text, tuple(rows)) for (status, text), rows in found.items()]
    return sorted(listed, key=lambda reason: (reason.status != "failed", -reason.count, reason.text))
