"""Scattered pages: which method copies them fastest, by their size and number.

A table is of one path, and of one way in which pages and their pool lie. Each of its points ranks the methods
that were measured there. Two methods tie where the uncertainties of both, combined, cover their difference.
Pages that neighbours pass on in part are one method: of several shares and numbers of neighbours the fastest.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from grainscope_report import naming
from grainscope_report.errors import ReportError
from grainscope_report.figures.frame import NEAREST, bandwidth, grouped
from grainscope_report.machine import spoken_site
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, TO_PEER, Result, Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, parse_bytes

PAGES = "shape/pages"
METHODS = {
    "one_by_one": "one by one",
    "batch": "cudaMemcpyBatchAsync",
    "batch_merged": "cudaMemcpyBatchAsync, neighbours merged",
    "graph": "graph of copies",
    "kernel": "one kernel",
    "bulk": "one kernel, in bulk",
    "staged": "gathered by a kernel, one copy",
    "cpu_gather": "gathered by CPUs, copies",
    "relay": "a kernel on each of several GPUs",
}
RELAY = "relay"
# Paths with the direction in which they cross a link, if they do.
PATHS = {
    HOST_TO_GPU: ("host → GPU", HOST_TO_GPU),
    GPU_TO_HOST: ("GPU → host", GPU_TO_HOST),
    "local": ("within the GPU", None),
    "gpu_to_peer": ("GPU → peer", TO_PEER),
}
# What else a rate depends on, with what is usual; rows without the axis have the usual.
USUAL: Mapping[str, str] = {"memory": "host_alloc", "order": "drawn", "pool": "usual", "blocks": "usual"}
APART = ("memory", "order", "pool")
Wanted = Mapping[str, Sequence[str | float]]


@dataclass(frozen=True)
class Way:
    """A method at a point, with the row that measured it."""

    method: str
    row: Row

    @cached_property
    def rate(self) -> Estimate:
        """Decimal GB/s of the pages' bytes."""
        return bandwidth(self.row.time, self.row)


@dataclass(frozen=True)
class Point:
    """Pages of one size and number; `ways` go from the fastest to the slowest."""

    page: int
    pages: int
    ways: tuple[Way, ...]

    @property
    def tied(self) -> tuple[Way, ...]:
        """The ways that may be as fast as the first."""
        return tuple(way for way in self.ways[1:] if ahead(self.ways[0], way).low <= 1)

    @property
    def margin(self) -> Estimate | None:
        """How many times as fast as the second the first is; None of a way alone."""
        return ahead(*self.ways[:2]) if len(self.ways) > 1 else None


@dataclass(frozen=True)
class Table:
    """The points of a path at one site; `axes` are those of `USUAL`."""

    path: str
    axes: Mapping[str, str | float]
    points: tuple[Point, ...]

    row = property(lambda self: self.points[0].ways[0].row)
    site = property(lambda self: _site(self.row))
    usual = property(lambda self: self.axes == USUAL)

    @property
    def lie(self) -> str:
        """How the pages lie: `order drawn, pool usual`; memory and blocks where they are not the usual."""
        said = {axis: value for axis, value in self.axes.items() if axis in ("order", "pool")}
        said |= {axis: value for axis, value in self.axes.items() if value != USUAL[axis]}
        return ", ".join(f"{axis} {_text(value)}" for axis, value in said.items())

    @property
    def title(self) -> str:
        """`host → GPU, order drawn, pool usual (GPU 0, node 0)`."""
        where = ", ".join([spoken_site(self.site), *naming.place(self.row.case)])
        return f"{PATHS.get(self.path, (self.path,))[0]}, {self.lie} ({where})"


def ahead(one: Way, other: Way) -> Estimate:
    """How many times as fast `one` is; the interval combines the uncertainties of both."""
    ratio = one.rate.value / other.rate.value
    sides = [math.log(way.rate.high / way.rate.low) / 2 for way in (one, other)]
    factor = math.exp(math.hypot(*sides))
    return Estimate(ratio, ratio / factor, ratio * factor, min(one.rate.visits, other.rate.visits))


def tables(result: Result, wanted: Wanted | None = None) -> list[Table]:
    """A table for each path and each way in which pages lie, those that are `wanted` alone.

    Of several sites the first of the nearest locality is taken, and only the usual number of blocks unless
    others are wanted. Rows that were not measured, or are not right, are no part of it.
    """
    rows = [row for row in result.of(PAGES) if row.measured and row.bytes and row.time]
    if not rows:
        raise ReportError(
            f"{result.path} has no measured row of {PAGES}: `grainscope ask paged copies` measures them"
        )
    for axis, values in (wanted or {}).items():
        rows = _having(rows, axis, values)
    if "blocks" not in (wanted or {}):
        rows = [row for row in rows if value_of(row, "blocks") == USUAL["blocks"]]
    found = []
    for path, there in grouped(rows, lambda row: str(row.case.axes.get("path"))).items():
        for axes, own in grouped(_at_one_site(there), lambda row: _apart(row, wanted or {})).items():
            found.append(Table(path, dict(axes), _points(own)))
    order = list(PATHS)
    return sorted(found, key=lambda table: (_place(order, table.path), not table.usual, _sortable(table)))


def usual(found: Sequence[Table]) -> list[Table]:
    """Of each path one table: the only one, or else that of the usual."""
    chosen = []
    for path, there in grouped(found, lambda table: table.path).items():
        kept = there if len(there) == 1 else [table for table in there if table.usual]
        if not kept:
            lies = "; ".join(table.lie for table in there)
            raise ReportError(f"{path} has several tables, none of the usual: choose by --axis ({lies})")
        chosen += kept
    return chosen


def wanted(said: Iterable[str]) -> dict[str, list[str | float]]:
    """What `AXIS=VALUE,…` ask for; sizes as numbers."""
    found: dict[str, list[str | float]] = {}
    for text in said:
        axis, _, values = text.partition("=")
        if axis not in USUAL or not values:
            raise ReportError(f"--axis {text!r} is not AXIS=VALUE,… with one of {', '.join(USUAL)}")
        found[axis] = [size if (size := parse_bytes(value)) is not None else value
                       for value in values.split(",")]  # fmt: skip
    return found


def value_of(row: Row, axis: str) -> str | float:
    """The value of one of the axes of `USUAL`."""
    return row.case.axes.get(axis, USUAL[axis])


def _having(rows: Sequence[Row], axis: str, values: Sequence[str | float]) -> list[Row]:
    there = {value_of(row, axis) for row in rows}
    if lost := [value for value in values if value not in there]:
        known = ", ".join(sorted(_text(value) for value in there))
        raise ReportError(f"nothing was measured with {axis} {_text(lost[0])}: there are {known}")
    # A method without blocks stands beside any number of them.
    free = axis == "blocks"
    return [row for row in rows if value_of(row, axis) in values or (free and axis not in row.case.axes)]


def _at_one_site(rows: Sequence[Row]) -> list[Row]:
    near = min((row.case.locality for row in rows), key=NEAREST.index)
    sites = [_site(row) for row in rows if row.case.locality == near]
    return [row for row in rows if row.case.locality == near and _site(row) == min(sites)]


def _site(row: Row) -> tuple[tuple[str, int], ...]:
    """The node and GPUs between which pages go; a neighbour that passes some on is neither end."""
    relayed = row.case.axes.get("method") == RELAY
    return tuple(place for place in row.case.site_key if not relayed or place[0] != "peer")


def _apart(row: Row, asked: Wanted) -> tuple[tuple[str, str | float], ...]:
    blocks = asked.get("blocks", [USUAL["blocks"]])
    if len(blocks) > 1:
        raise ReportError("--axis blocks takes one number: a table is of one")
    return (*((axis, value_of(row, axis)) for axis in APART), ("blocks", blocks[0]))


def _points(rows: Sequence[Row]) -> tuple[Point, ...]:
    places = grouped(rows, lambda row: (int(row.case.axes["page"]), int(row.case.axes["pages"])))
    return tuple(Point(*place, _ways(there)) for place, there in sorted(places.items()))


def _ways(rows: Sequence[Row]) -> tuple[Way, ...]:
    ways = sorted(map(_way, rows), key=lambda way: -way.rate.value)
    relayed = [way for way in ways if way.method == RELAY]
    return tuple(way for way in ways if way not in relayed[1:])


def _way(row: Row) -> Way:
    return Way(str(row.case.axes["method"]), row)


def _place(order: Sequence[str], path: str) -> tuple[int, str]:
    return (order.index(path) if path in order else len(order)), path


def _sortable(table: Table) -> tuple[str, ...]:
    return tuple(
        f"{value:020.0f}" if isinstance(value, (int, float)) else value for value in table.axes.values()
    )


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else format_bytes(value) if value >= 1 << 20 else f"{value:g}"


def nearest(found: Sequence[Point], page: int, pages: int) -> Point:
    """The measured point next to this one: the product of both ratios, at least 1 each, is the least."""
    return min(found, key=lambda point: _times(point.page, page) * _times(point.pages, pages))


def _times(one: int, other: int) -> float:
    low, high = sorted((max(one, 1), max(other, 1)))
    return float(high) / float(low)
