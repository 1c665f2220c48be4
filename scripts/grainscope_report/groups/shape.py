"""Shapes: copies of boxes that are not contiguous, against the width of their rows, and faces of a volume
(figure s); many small copies one by one, as a batch, as a graph and by a kernel (figure p).
"""

from collections import defaultdict
from collections.abc import Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.frame import NEAREST, MachineRow, cases, curves, measured, named, select
from grainscope_report.figures.model import Curve, CurvePanel, Dot, DotPanel, DotRow, Entry, Figure
from grainscope_report.machine import Machine
from grainscope_report.model import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, TO_PEER
from grainscope_report.statistics import rate_gb_s
from grainscope_report.units import format_bytes, format_time

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
DASHED = ("kernel_chunked", "copy_3d")
# Of a submission there is no rate.
COPIED = {"timed": (None,)}
# What of a box follows from the width of its rows, where its bytes are given.
FOLLOWS = ("rows", "pitch")
# Paths with the direction in which they cross a link, if they do.
PATHS = {
    HOST_TO_GPU: ("host → GPU", HOST_TO_GPU),
    GPU_TO_HOST: ("GPU → host", GPU_TO_HOST),
    "local": ("within the GPU", None),
    "gpu_to_peer": ("GPU → peer", TO_PEER),
    "peer_to_gpu": ("peer → GPU", FROM_PEER),
}


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


BATCH = "shape/batch"
BATCH_METHODS = {
    "kernel": "one kernel",
    "batch": "cudaMemcpyBatchAsync",
    "graph": "graph of copies",
    "one_by_one": "one by one",
}


def build_batches(machines: Sequence[Machine]) -> Figure:
    """Rates by the size of a piece, a panel for each path, all of one number of pieces."""
    count = _count(machines)
    panels = [panel for path in PATHS if (panel := _batch_panel(machines, path, count))]
    if not panels:
        return Figure(machines, ())
    rows = tuple(parts.in_pairs(panels))
    notes = [
        f"{count:g} pieces, scattered at both ends; from the first call until the last piece has arrived. "
        "What is made once beforehand (arrays, graph, table) is not counted.",
        *_each(panels, len(machines) > 1),
        *parts.slow_sites(panels, len(machines) > 1),
    ]
    return Figure(machines, rows, tuple(notes))


def _count(machines: Sequence[Machine]) -> float:
    """The number of pieces that most machines have, then of which there are most sizes, then the largest."""
    owners: dict[float, set] = defaultdict(set)
    sizes: dict[float, set] = defaultdict(set)
    for machine in machines:
        for row in filter(measured, select(machine.result.of(BATCH), {})):
            owners[row.case.axes.get("pieces", 0.0)].add(machine.index)
            sizes[row.case.axes.get("pieces", 0.0)].add(row.case.axes.get("piece"))
    return max(owners, key=lambda count: (len(owners[count]), len(sizes[count]), count), default=0.0)


def _batch_panel(machines: Sequence[Machine], path: str, count: float) -> CurvePanel | None:
    title, direction = PATHS[path]
    drawn: list[Curve] = []
    for method, name in named(machines, BATCH, BATCH_METHODS).items():
        where = {"path": path, "method": method, "pieces": count}
        if path in (HOST_TO_GPU, GPU_TO_HOST):
            where["locality"] = NEAREST
        drawn += curves(
            machines, BATCH, where, name=name, method=method, x="piece", view=measured, follows=("bytes",)
        ).curves
    return _rates(title, drawn, direction, "size of a piece", "bytes of the pieces (GB/s)")


def _each(panels: Sequence[CurvePanel], several: bool) -> list[str]:
    """What the smallest piece costs by each method: below the link's rate a piece has a price."""
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
            notes.append(f"{owner}{panel.title}, a piece of {format_bytes(small)}: {', '.join(said)}.")
    return notes


FIGURES = (
    Entry("p", "figure_p_pieces_at_once", "Pieces at once: many small copies by method", (BATCH,), "rows",
          build_batches),
    Entry("s", "figure_s_shapes", "Shapes: copies that are not contiguous", (COPY,), "rows", build_shapes),
)  # fmt: skip
