"""Rates over sizes, spans, rows, blocks and shares: one curve for each question and site."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grainscope_report import families, naming, statistics
from grainscope_report.cases import Case
from grainscope_report.families import BYTES, FAMILIES, Along
from grainscope_report.model import Row
from grainscope_report.result import Result
from grainscope_report.statistics import Estimate

FEWEST = 3  # points that make a curve along another axis
REQUEST = 128  # bytes; rows of other multiples ask for more than they are long, which is no oddity
SHORT = 8  # times fewer bytes than the most along a curve: what takes so little is another question
UNSAID = {"element", "rows", "bytes"}


@dataclass(frozen=True)
class Curve:
    """The sessions of one question at one site along an axis, ascending."""

    case: Case
    points: dict[int, tuple[Row, ...]]
    axis: str = BYTES
    follow: tuple[str, ...] = ()

    @cached_property
    def rates(self) -> list[Estimate]:
        """GB/s at each place."""
        return [
            statistics.rate_gb_s(
                statistics.combine_sessions([row.median_s for row in rows], [row.ci95_s for row in rows]),
                size if self.axis == BYTES else rows[0].bytes,
            )
            for size, rows in self.points.items()
        ]

    @property
    def sizes(self) -> list[int]:
        """The places on the axis: of `bytes`, spans, rows and grains bytes."""
        return list(self.points)

    @property
    def first(self) -> Row:
        """A row of the smallest size, which stands for the case."""
        return next(iter(self.points.values()))[0]

    @property
    def name(self) -> str:
        """The question in words: the family, the words of the case, the flush and the threads where given."""
        if self.axis != BYTES:
            return self._name_along()
        numbers = [
            naming.number(axis, self.case.axes[axis])
            for axis in ("threads", "host_threads", "blocks")
            if isinstance(self.case.axes.get(axis), (int, float))
            and not families.of(self.case.family).odd_requests
        ]
        flush = {"off": ["not flushed"]}.get(str(self.case.axes.get("flush")), [])
        words = naming.name(self.first)
        return ", ".join([f"{self.case.family} {words}" if words else self.case.family, *numbers, *flush])

    def _name_along(self) -> str:
        """The same along another axis: every number but those that change along it."""
        axes = self.case.axes
        numbers = [
            naming.number(axis, axes[axis])
            for axis in sorted(axes)
            if isinstance(axes[axis], (int, float)) and axis not in {self.axis, *self.follow, *UNSAID}
        ]
        words = naming.name(self.first)
        return ", ".join([f"{self.case.family} {words}" if words else self.case.family, *numbers])


def curves(result: Result) -> list[Curve]:
    """Every measured curve of a run, family by family."""
    sized = [family for family, known in FAMILIES.items() if Along(BYTES) in known.curves]
    found: dict[tuple, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for family in sized:
        for row in result.of(family):
            if _usable(row):
                site = tuple(sorted(row.case.site.items()))
                found[family, row.case.without("bytes"), site][int(row.case.axes["bytes"])].append(row)
    return [
        Curve(next(iter(there.values()))[0].case, {size: tuple(there[size]) for size in sorted(there)})
        for there in found.values()
    ] + [
        curve
        for family, known in FAMILIES.items()
        for along in known.curves
        if along.axis != BYTES
        for curve in _along(result, family, along)
    ]


def _along(result: Result, family: str, along: Along) -> Iterator[Curve]:
    """The curves of a family along another axis than size."""
    axis, follow = along.axis, along.follow
    found: dict[tuple, dict[float, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in result.of(family):
        at = row.case.axes.get(axis)
        whole = isinstance(at, (int, float)) and (axis != "row" or at % REQUEST == 0)
        if whole and row.ok and row.label == "measured" and row.bytes and row.median_s and row.ci95_s:
            found[row.case.without(axis, *follow), tuple(sorted(row.case.site.items()))][at].append(row)
    for mixed in found.values():
        there = _alike(mixed, axis)
        most = max(rows[0].bytes for rows in there.values())
        points = {int(at): tuple(there[at]) for at in sorted(there) if there[at][0].bytes * SHORT >= most}
        if len(points) >= FEWEST:
            yield Curve(next(iter(points.values()))[0].case, points, axis, follow)


def _alike(there: dict[float, list[Row]], axis: str) -> dict[float, list[Row]]:
    """Rows of equal bytes at each place: over spans those that most places have, else the most there."""
    if axis == "span":
        places = Counter(size for rows in there.values() for size in {row.bytes for row in rows})
        wanted = max(places, key=lambda size: (places[size], size))
        kept = {at: [row for row in rows if row.bytes == wanted] for at, rows in there.items()}
        return {at: rows for at, rows in kept.items() if rows}
    largest = {at: max(row.bytes or 0 for row in rows) for at, rows in there.items()}
    return {at: [row for row in rows if row.bytes == largest[at]] for at, rows in there.items()}


def _usable(row: Row) -> bool:
    rated = bool(row.bytes and row.median_s and row.ci95_s and row.case.axes.get("bytes"))
    return row.ok and row.label == "measured" and rated and row.case.axes.get("timed") in (None, "copy")
