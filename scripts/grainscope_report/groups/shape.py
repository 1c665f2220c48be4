"""Shapes: copies of boxes that are not contiguous, against the width of their rows, and faces of a volume
(figure s); the fastest way to copy scattered pages, and the rates of all ways (figure p).
"""

from collections import defaultdict
from collections.abc import Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.frame import NEAREST, MachineRow, cases, curves, measured, named, select
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
from grainscope_report.groups import shape_pages as pages
from grainscope_report.machine import Machine
from grainscope_report.model import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.statistics import rate_gb_s
from grainscope_report.units import format_bytes, format_time, significant

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
PATHS = {**pages.PATHS, "peer_to_gpu": ("peer → GPU", FROM_PEER)}


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
TIE = "≈"
# The axes of pages but for their size and number, as far as they are not the method's own.
USUAL_PAGES = {axis: value for axis, value in pages.USUAL.items() if axis in ("order", "pool")}
USUAL_PAGES |= {
    "blocks": frozenset({pages.USUAL["blocks"], None}),
    "neighbours": frozenset({1, None}),
    "share": frozenset({"found", None}),
}


def build_pages(machines: Sequence[Machine]) -> Figure:
    """The fastest method by size and number of pages, a map for each path; rates by size of page below."""
    maps = [panel for machine in machines for panel in _maps(machine, len(machines) > 1)]
    count = _count(machines)
    panels = [panel for path in pages.PATHS if (panel := _page_panel(machines, path, count))]
    if not panels and not maps:
        return Figure(machines, ())
    notes = []
    if maps:
        notes.append(
            "Maps: the fastest method and its GB/s, of pages drawn at random in a pool of the usual size; "
            f"{TIE}: others are as fast within the uncertainty. `grainscope-report dispatch` names them."
        )
    if panels:
        notes.append(
            f"Curves: {count:g} pages; from the first call until the last page has arrived, with what a "
            "method makes of the table of pages, but without the making of a graph."
        )
    notes += [*_each(panels, len(machines) > 1), *parts.slow_sites(panels, len(machines) > 1)]
    return Figure(machines, (*parts.in_pairs(maps), *parts.in_pairs(panels)), tuple(notes))


def _maps(machine: Machine, several: bool) -> list[MapPanel]:
    if not any(row.measured for row in machine.result.of(pages.PAGES)):
        return []
    owner = parts.owner(machine, several)
    return [
        _map(machine, table, f"{owner}{pages.PATHS[table.path][0]}, fastest method (GB/s)")
        for table in pages.tables(machine.result)
        if table.usual and table.path in pages.PATHS
    ]


def _map(machine: Machine, table: pages.Table, title: str) -> MapPanel:
    there = {(point.page, point.pages): point for point in table.points}
    sizes, counts = (sorted({place[at] for place in there}) for at in (0, 1))
    cells = tuple(tuple(_cell(there.get((size, count))) for count in counts) for size in sizes)
    names = tuple(format_bytes(size) for size in sizes)
    columns = tuple(f"{count:g}" for count in counts)
    return MapPanel(title, names, cells, machine, "size of a page", "pages", columns=columns)


def _cell(point: pages.Point | None) -> Cell:
    if point is None:
        return Cell(None)
    first = point.ways[0]
    said = SHORT.get(first.method, first.method)
    also = [pages.METHODS.get(way.method, way.method) for way in point.tied]
    return Cell(
        first.rate,
        f"{TIE} {said}\n{significant(first.rate.value)}"
        if also
        else f"{said}\n{significant(first.rate.value)}",
        method=first.method,
        name=pages.METHODS.get(first.method, first.method),
        note=f"as fast within the uncertainty: {', '.join(also)}" if also else "",
    )


def _count(machines: Sequence[Machine]) -> float:
    """The number of pages that most machines have, then of which there are most sizes, then the largest."""
    owners: dict[float, set] = defaultdict(set)
    sizes: dict[float, set] = defaultdict(set)
    for machine in machines:
        for row in filter(measured, select(machine.result.of(pages.PAGES), USUAL_PAGES)):
            owners[row.case.axes.get("pages", 0.0)].add(machine.index)
            sizes[row.case.axes.get("pages", 0.0)].add(row.case.axes.get("page"))
    return max(owners, key=lambda count: (len(owners[count]), len(sizes[count]), count), default=0.0)


def _page_panel(machines: Sequence[Machine], path: str, count: float) -> CurvePanel | None:
    title, direction = pages.PATHS[path]
    drawn: list[Curve] = []
    for method, name in named(machines, pages.PAGES, pages.METHODS).items():
        where = {"path": path, "method": method, "pages": count, **USUAL_PAGES}
        if path in (HOST_TO_GPU, GPU_TO_HOST):
            where["locality"] = NEAREST
        drawn += curves(
            machines,
            pages.PAGES,
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
          (pages.PAGES,), "rows", build_pages),
    Entry("s", "figure_s_shapes", "Shapes: copies that are not contiguous", (COPY,), "rows", build_shapes),
)  # fmt: skip
