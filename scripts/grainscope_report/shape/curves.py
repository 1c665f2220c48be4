"""Rates over sizes, one curve for each question and site."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from grainscope_report import naming, statistics
from grainscope_report.model import Case, Result, Row
from grainscope_report.statistics import Estimate

FAMILIES = (
    "host/memcpy",
    "transfer/memcpy",
    "transfer/host_copy",
    "transfer/kernel_copy",
    "transfer/zero_copy",
    "transfer/managed",
    "transfer/duplex",
    "transfer/peer",
    "transfer/local",
)


@dataclass(frozen=True)
class Curve:
    """The sessions of one question at one site by size, ascending."""

    case: Case
    points: dict[int, tuple[Row, ...]]

    @cached_property
    def rates(self) -> list[Estimate]:
        """GB/s at each size."""
        return [
            statistics.rate_gb_s(
                statistics.combine_sessions([row.median_s for row in rows], [row.ci95_s for row in rows]),
                size,
            )
            for size, rows in self.points.items()
        ]

    @property
    def sizes(self) -> list[int]:
        """The sizes, bytes."""
        return list(self.points)

    @property
    def first(self) -> Row:
        """A row of the smallest size, which stands for the case."""
        return next(iter(self.points.values()))[0]

    @property
    def name(self) -> str:
        """The question in words: the family, the words of the case, the flush and the threads where given."""
        numbers = [
            naming.number(axis, self.case.axes[axis])
            for axis in ("threads", "host_threads", "blocks")
            if isinstance(self.case.axes.get(axis), (int, float)) and self.case.family != "transfer/zero_copy"
        ]
        flush = {"off": ["not flushed"]}.get(str(self.case.axes.get("flush")), [])
        words = naming.name(self.first)
        return ", ".join([f"{self.case.family} {words}" if words else self.case.family, *numbers, *flush])


def curves(result: Result) -> list[Curve]:
    """Every measured curve of a run, family by family."""
    found: dict[tuple, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for family in FAMILIES:
        for row in result.of(family):
            if _usable(row):
                site = tuple(sorted(row.case.site.items()))
                found[family, row.case.without("bytes"), site][int(row.case.axes["bytes"])].append(row)
    return [
        Curve(next(iter(there.values()))[0].case, {size: tuple(there[size]) for size in sorted(there)})
        for there in found.values()
    ]


def _usable(row: Row) -> bool:
    rated = bool(row.bytes and row.median_s and row.ci95_s and row.case.axes.get("bytes"))
    return row.ok and row.label == "measured" and rated and row.case.axes.get("timed") in (None, "copy")
