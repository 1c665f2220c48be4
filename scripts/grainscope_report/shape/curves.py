"""Rates over sizes, spans, rows, blocks and shares: one curve for each question and site."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grainscope_report import families, naming, statistics
from grainscope_report.families import BYTES, FAMILIES, Along
from grainscope_report.model import Result, Row
from grainscope_report.statistics import Estimate

FEWEST = 3  # points that make a curve along another axis
REQUEST = 128  # bytes; rows of other multiples ask for more than they are long, which is no oddity
SHORT = 8  # times fewer bytes than the most along a curve: what takes so little is another question
UNSAID = {"element", "rows", "bytes"}


@dataclass(frozen=True)
class Curve:
    """The rows of one question at one site along an axis, ascending."""

    points: dict[int, Row]
    axis: str = BYTES
    follow: tuple[str, ...] = ()

    @cached_property
    def rates(self) -> list[Estimate]:
        """GB/s at each place."""
        return [
            statistics.rate_gb_s(row.time, size if self.axis == BYTES else row.bytes)
            for size, row in self.points.items()
        ]

    @property
    def sizes(self) -> list[int]:
        """The places on the axis: of `bytes`, spans, rows and grains bytes."""
        return list(self.points)

    @property
    def first(self) -> Row:
        """The row of the smallest size, which stands for the case."""
        return next(iter(self.points.values()))

    case = property(lambda self: self.first.case)

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
    found: dict[tuple, dict[int, Row]] = defaultdict(dict)
    for family in sized:
        for row in result.of(family):
            if _usable(row):
                site = tuple(sorted(row.case.site.items()))
                found[family, row.case.without("bytes"), site][int(row.case.axes["bytes"])] = row
    return [Curve(dict(sorted(there.items()))) for there in found.values()] + [
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
        if whole and row.measured and row.bytes:
            found[row.case.without(axis, *follow), tuple(sorted(row.case.site.items()))][at].append(row)
    for mixed in found.values():
        there = _alike(mixed, axis)
        most = max(row.bytes for row in there.values())
        points = {int(at): there[at] for at in sorted(there) if there[at].bytes * SHORT >= most}
        if len(points) >= FEWEST:
            yield Curve(points, axis, follow)


def _alike(there: dict[float, list[Row]], axis: str) -> dict[float, Row]:
    """A row at each place: over spans of the bytes that most places have, else of the most there."""
    if axis == "span":
        places = Counter(size for rows in there.values() for size in {row.bytes for row in rows})
        wanted = max(places, key=lambda size: (places[size], size))
        kept = {at: [row for row in rows if row.bytes == wanted] for at, rows in there.items()}
        return {at: rows[0] for at, rows in kept.items() if rows}
    return {at: max(rows, key=lambda row: row.bytes) for at, rows in there.items()}


def _usable(row: Row) -> bool:
    rated = bool(row.bytes and row.case.axes.get("bytes"))
    return row.measured and rated and row.case.axes.get("timed") in (None, "copy")
