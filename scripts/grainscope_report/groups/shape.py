"""Shapes: which method copies scattered pages fastest, by their size and number (figure p, with the rates of
all ways); and copies of boxes that are not contiguous, against the width of their rows, and faces of a volume
(figure s).

A table is of one path, and of one way in which pages and their pool lie. Each of its points ranks the methods
that were measured there. Two methods tie where the uncertainties of both, combined, cover their difference.
Pages that neighbours pass on in part are one method: of several shares and numbers of neighbours the fastest.
The fastest of a point is that of the methods which were measured there, so a point names those that were not
and win where the point next to it has them.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from grainscope_report import naming
from grainscope_report.errors import ReportError
from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    Cell,
    Curve,
    CurvePanel,
    Dot,
    DotPanel,
    DotRow,
    Entry,
    Figure,
    MapPanel,
)
from grainscope_report.figures.parts import (
    NEAREST,
    MachineRow,
    bandwidth,
    cases,
    curves,
    grouped,
    measured,
    named,
    select,
)
from grainscope_report.machine import Machine, spoken_site
from grainscope_report.model import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, TO_PEER, Result, Row
from grainscope_report.statistics import Estimate, rate_gb_s
from grainscope_report.units import format_bytes, format_time, parse_bytes, plural, significant

# The fastest way to copy scattered pages.

PAGES = "shape/pages"
PAGE_METHODS = {
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
PAGE_PATHS = {
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

    @property
    def relayed(self) -> tuple[int, float]:
        """By how many neighbours which percentage of the pages went; nothing by other methods."""
        if self.method != RELAY:
            return 0, 0.0
        return int(self.row.case.axes.get("neighbours", 1)), self.row.counters.get("share", 0.0)

    @cached_property
    def rate(self) -> Estimate:
        """Decimal GB/s of the pages' bytes."""
        return bandwidth(self.row.time, self.row)


@dataclass(frozen=True)
class Point:
    """Pages of one size and number; `ways` go from the fastest to the slowest.

    `unmeasured` are methods that are first or tie at the nearest point that has them; `failed` are those
    whose rows failed here.
    """

    page: int
    pages: int
    ways: tuple[Way, ...]
    unmeasured: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[Way, ...]:
        """The first, and those that may be as fast."""
        return (self.ways[0], *self.tied)

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
        return f"{PAGE_PATHS.get(self.path, (self.path,))[0]}, {self.lie} ({where})"


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
    wanted = wanted or {}
    rows = [row for row in result.of(PAGES) if row.measured and row.bytes and row.time]
    if not rows:
        raise ReportError(_none_measured(result))
    for axis, values in wanted.items():
        rows = _having(rows, axis, values)
    if "blocks" not in wanted:
        rows = [row for row in rows if value_of(row, "blocks") == USUAL["blocks"]]
    lost = grouped(
        (row for row in result.of(PAGES) if row.status == "failed"),
        lambda row: (str(row.case.axes.get("path")), row.case.locality, _site(row), _apart(row, wanted)),
    )
    found = []
    for path, there in grouped(rows, lambda row: str(row.case.axes.get("path"))).items():
        near = _at_one_site(there)
        where = (path, near[0].case.locality, _site(near[0]))
        for axes, own in grouped(near, lambda row: _apart(row, wanted)).items():
            if points := _points(own, lost.get((*where, axes), []), "blocks" in wanted):
                found.append(Table(path, dict(axes), points))
    order = list(PAGE_PATHS)
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
        found.setdefault(axis, []).extend(
            size if (size := parse_bytes(value)) is not None else value for value in values.split(",")
        )
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


def _none_measured(result: Result) -> str:
    """Why a run has no table, and what to do."""
    rows = result.of(PAGES)
    for status in ("failed", "skipped"):
        reasons = [row.reason for row in rows if row.status == status]
        if reasons:
            said = f"{len(reasons)} of {plural(len(rows), 'row')} {status}: {naming.main_reason(reasons)}"
            return f"{result.path} has no measured row of {PAGES}: {said}"
    return f"{result.path} has no measured row of {PAGES}: `grainscope ask paged copies` measures them"


def _points(rows: Sequence[Row], lost: Sequence[Row], by_blocks: bool) -> tuple[Point, ...]:
    """The points of a table; where blocks are chosen, those at which some method was measured by so many."""
    places, failed = grouped(rows, _place_of), grouped(lost, _place_of)
    ranked = [Point(*place, _ways(there)) for place, there in sorted(places.items())
              if not by_blocks or any("blocks" in row.case.axes for row in there)]  # fmt: skip
    having: dict[str, list[Point]] = defaultdict(list)
    for point in ranked:
        for way in point.ways:
            having[way.method].append(point)
    points = []
    for point in ranked:
        there = failed.get((point.page, point.pages), [])
        lacking = {str(row.case.axes["method"]) for row in there} - {way.method for way in point.ways}
        absent = tuple(method for method in _unmeasured(point, having) if method not in lacking)
        points.append(replace(point, unmeasured=absent, failed=tuple(sorted(lacking))))
    return tuple(points)


def _place_of(row: Row) -> tuple[int, int]:
    return int(row.case.axes["page"]), int(row.case.axes["pages"])


def _unmeasured(point: Point, having: Mapping[str, Sequence[Point]]) -> Iterator[str]:
    """Methods that a point lacks and that are first or tie at the nearest of the points `having` them."""
    for method in sorted(having.keys() - {way.method for way in point.ways}):
        best = nearest(having[method], point.page, point.pages).best
        if method in {way.method for way in best}:
            yield method


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


# Figures s and p.

COPY = "shape/copy"
METHODS = {
    "kernel_strided": "kernel, strided",
    "kernel_chunked": "kernel, chunked",
    "copy_2d": "cudaMemcpy2D",
    "copy_3d": "cudaMemcpy3D",
    "pack": "pack, copy, unpack",
    "row_copies": "a copy a row",
}
# Two kernels and two calls often agree: dashes let the one show under the other.
DASHED = ("kernel_chunked", "copy_3d", "bulk", "batch_merged")
# Of a submission there is no rate.
COPIED = {"timed": (None,)}
# What of a box follows from the width of its rows, where its bytes are given.
FOLLOWS = ("rows", "pitch")
PATHS = {**PAGE_PATHS, "peer_to_gpu": ("peer → GPU", FROM_PEER)}


def build_shapes(machines: Sequence[Machine]) -> Figure:
    """Rates by the width of a row, a panel for each path; the faces of a volume below."""
    size = _size(machines)
    panels = [panel for path in PATHS if (panel := _panel(machines, path, size))]
    faces = _faces(machines)
    rows = parts.in_pairs(panels)
    if faces:
        rows.append((faces,))
    notes = []
    if panels:
        notes.append(
            f"Curves: boxes of {format_bytes(size)} in one plane, rows half of the pitch or less; "
            "the bytes of a box count once. Packing is done by threads on the host and by a kernel on a GPU. "
            "A copy a row: not of more than 4096 rows."
        )
    if faces:
        notes.append("Faces: bytes of a row × rows × planes, of a volume with its halo.")
    return Figure(machines, tuple(rows), (*notes, *parts.slow_sites(panels, len(machines) > 1)))


def _flat(machines: Sequence[Machine]) -> list[tuple[int, float, float]]:
    """Machine, bytes and width of each measured box of one plane."""
    return [
        (machine.index, row.case.axes.get("bytes", 0.0), row.case.axes.get("width", 0.0))
        for machine in machines
        for row in select(machine.result.of(COPY), {"planes": 1})
        if measured(row)
    ]


def _size(machines: Sequence[Machine]) -> float:
    """The bytes of which most machines have boxes, then of which there are most widths, then the largest."""
    owners: dict[float, set] = defaultdict(set)
    widths: dict[float, set] = defaultdict(set)
    for index, size, width in _flat(machines):
        owners[size].add(index)
        widths[size].add(width)
    return max(owners, key=lambda size: (len(owners[size]), len(widths[size]), size), default=0.0)


def _panel(machines: Sequence[Machine], path: str, size: float) -> CurvePanel | None:
    title, direction = PATHS[path]
    drawn: list[Curve] = []
    for method, name in named(machines, COPY, METHODS).items():
        where = {"path": path, "method": method, "planes": 1, "bytes": size}
        if path in (HOST_TO_GPU, GPU_TO_HOST):
            where["locality"] = NEAREST
        dash = "dashed" if method in DASHED else None
        drawn += curves(
            machines,
            COPY,
            where,
            name=name,
            method=method,
            x="width",
            view=measured,
            dash=dash,
            follows=FOLLOWS,
        ).curves
    return _rates(title, drawn, direction, "width of a row", "bytes of the box (GB/s)")


def _rates(
    title: str, drawn: Sequence[Curve], direction: str | None, x_label: str, y_label: str
) -> CurvePanel | None:
    """A panel of these curves, beside the peak of their direction."""
    if not drawn:
        return None
    levels = parts.levels(drawn, direction) if direction else ()
    return CurvePanel(title, tuple(drawn), x_label=x_label, y_label=y_label, y_log=True, levels=levels)


def _faces(machines: Sequence[Machine]) -> DotPanel | None:
    """Boxes of several planes: of the volume that most machines have, of those the smallest."""
    found = [
        (machine, row)
        for machine in machines
        for row in cases(machine, COPY, COPIED)
        if (row.axis("planes") or 1) > 1 and row.axis("path") in PATHS
    ]
    if not found:
        return None
    owners: dict[float, set] = defaultdict(set)
    for machine, row in found:
        owners[row.axis("pitch")].add(machine.index)
    pitch = max(owners, key=lambda each: (len(owners[each]), -each))
    rows: dict[tuple, list[Dot]] = defaultdict(list)
    for machine, row in found:
        if row.axis("pitch") == pitch:
            place = list(PATHS).index(row.axis("path"))
            shape = (row.axis("width"), row.axis("rows"), row.axis("planes"))
            rows[place, shape].append(_dot(machine, row))
    titles = [title for title, _ in PATHS.values()]
    lines = tuple(
        DotRow(titles[place], f"{format_bytes(width)} × {high:g} × {deep:g}", tuple(dots))
        for (place, (width, high, deep)), dots in sorted(rows.items(), key=lambda item: item[0])
    )
    title = "faces of a volume: rows in several planes"
    return DotPanel(title, lines, "bytes of the box (GB/s)", "GB/s", log=True, numbered=False, width=2.0)


def _dot(machine: Machine, row: MachineRow) -> Dot:
    method = str(row.axis("method"))
    rate = rate_gb_s(row.time, row.case_row.bytes or 0)
    return Dot(rate, method, machine, METHODS.get(method, method.replace("_", " ")), row.flags)


# What a cell of a map has room for.
SHORT = {"one_by_one": "each", "batch_merged": "merged", "cpu_gather": "CPUs"}
TIE, ONLY = "≈", "only"
# The axes of pages but for their size and number, as far as they are not the method's own.
USUAL_PAGES = {axis: value for axis, value in USUAL.items() if axis in ("order", "pool")}
USUAL_PAGES |= {
    "blocks": frozenset({USUAL["blocks"], None}),
    "neighbours": frozenset({1, None}),
    "share": frozenset({"found", None}),
}


def build_pages(machines: Sequence[Machine]) -> Figure:
    """The fastest method by size and number of pages, a map for each path; rates by size of page below."""
    maps = [panel for machine in machines for panel in _maps(machine, len(machines) > 1)]
    count = _count(machines)
    panels = [panel for path in PAGE_PATHS if (panel := _page_panel(machines, path, count))]
    if not panels and not maps:
        return Figure(machines, ())
    notes = []
    if maps:
        cells = (cell for panel in maps for row in panel.cells for cell in row)
        alone = f"; {ONLY}: no other was measured" * any(cell.text.startswith(ONLY) for cell in cells)
        notes.append(
            "Maps: the fastest method and its GB/s, of pages drawn at random in a pool of the usual size; "
            f"{TIE}: others are as fast within the uncertainty{alone}. `grainscope-report dispatch` names "
            "them."
        )
    if panels:
        notes.append(
            f"Curves: {count:g} pages; from the first call until the last page has arrived, with what a "
            "method makes of the table of pages, but without the making of a graph."
        )
    notes += [*_each(panels, len(machines) > 1), *parts.slow_sites(panels, len(machines) > 1)]
    return Figure(machines, (*parts.in_pairs(maps), *parts.in_pairs(panels)), tuple(notes))


def _maps(machine: Machine, several: bool) -> list[MapPanel]:
    if not any(row.measured for row in machine.result.of(PAGES)):
        return []
    owner = parts.owner(machine, several)
    return [
        _map(machine, table, f"{owner}{PAGE_PATHS[table.path][0]}, fastest method (GB/s)")
        for table in tables(machine.result)
        if table.usual and table.path in PAGE_PATHS
    ]


def _map(machine: Machine, table: Table, title: str) -> MapPanel:
    there = {(point.page, point.pages): point for point in table.points}
    sizes, counts = (sorted({place[at] for place in there}) for at in (0, 1))
    cells = tuple(tuple(_cell(there.get((size, count))) for count in counts) for size in sizes)
    names = tuple(format_bytes(size) for size in sizes)
    columns = tuple(f"{count:g}" for count in counts)
    return MapPanel(title, names, cells, machine, "size of a page", "pages", columns=columns)


def _cell(point: Point | None) -> Cell:
    if point is None:
        return Cell(None)
    first = point.ways[0]
    short = SHORT.get(first.method, first.method)
    also = [PAGE_METHODS.get(way.method, way.method) for way in point.tied]
    alone = point.margin is None
    lacking = [PAGE_METHODS.get(method, method) for method in point.unmeasured]
    notes = {"as fast within the uncertainty": also, "not measured here": lacking}
    said = ["the only method measured"] * alone
    said += [f"{what}: {', '.join(names)}" for what, names in notes.items() if names]
    return Cell(
        first.rate,
        f"{f'{ONLY} ' * alone}{f'{TIE} ' * bool(also)}{short}\n{significant(first.rate.value)}",
        method=first.method,
        name=PAGE_METHODS.get(first.method, first.method),
        note="; ".join(said),
    )


def _count(machines: Sequence[Machine]) -> float:
    """The number of pages that most machines have, then of which there are most sizes, then the largest."""
    owners: dict[float, set] = defaultdict(set)
    sizes: dict[float, set] = defaultdict(set)
    for machine in machines:
        for row in filter(measured, select(machine.result.of(PAGES), USUAL_PAGES)):
            owners[row.case.axes.get("pages", 0.0)].add(machine.index)
            sizes[row.case.axes.get("pages", 0.0)].add(row.case.axes.get("page"))
    return max(owners, key=lambda count: (len(owners[count]), len(sizes[count]), count), default=0.0)


def _page_panel(machines: Sequence[Machine], path: str, count: float) -> CurvePanel | None:
    title, direction = PAGE_PATHS[path]
    drawn: list[Curve] = []
    for method, name in named(machines, PAGES, PAGE_METHODS).items():
        where = {"path": path, "method": method, "pages": count, **USUAL_PAGES}
        if path in (HOST_TO_GPU, GPU_TO_HOST):
            where["locality"] = NEAREST
        drawn += curves(
            machines,
            PAGES,
            where,
            name=name,
            method=method,
            x="page",
            view=measured,
            dash="dashed" if method in DASHED else None,
            follows=("bytes",),
        ).curves
    return _rates(title, drawn, direction, "size of a page", "bytes of the pages (GB/s)")


def _each(panels: Sequence[CurvePanel], several: bool) -> list[str]:
    """What the smallest page costs by each method: below the link's rate a page has a price."""
    notes = []
    for panel in panels:
        for machine in parts.machines_of(panel.curves):
            own = [curve for curve in panel.curves if curve.machine is machine and curve.primary]
            small = min(curve.x[0] for curve in own)
            said = [
                f"{curve.name} {format_time(small / curve.y[0].value / 1e9)}"
                for curve in own
                if curve.x[0] == small
            ]
            owner = parts.owner(machine, several)
            notes.append(f"{owner}{panel.title}, a page of {format_bytes(small)}: {', '.join(said)}.")
    return notes


FIGURES = (
    Entry("p", "figure_p_pages", "Scattered pages: the fastest way to copy them, and rates by method",
          (PAGES,), "rows", build_pages),
    Entry("s", "figure_s_shapes", "Shapes: copies that are not contiguous", (COPY,), "rows", build_shapes),
)  # fmt: skip
