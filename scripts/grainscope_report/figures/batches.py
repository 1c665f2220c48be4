"""Figure p: many small copies in one go, one by one, as a batch, as a graph and by a kernel."""

from collections import defaultdict
from collections.abc import Sequence

from grainscope_report.cases import GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.figures import parts
from grainscope_report.figures.cases import measured
from grainscope_report.figures.model import Curve, CurvePanel, Figure
from grainscope_report.figures.series import NEAREST, curves, select
from grainscope_report.figures.shapes import PATHS
from grainscope_report.machine import Machine
from grainscope_report.units import format_bytes, format_time

FAMILY = "shape/batch"
METHODS = {
    "kernel": "one kernel",
    "batch": "cudaMemcpyBatchAsync",
    "graph": "graph of copies",
    "one_by_one": "one by one",
}


def build(machines: Sequence[Machine]) -> Figure:
    """Rates by the size of a piece, a panel for each path, all of one number of pieces."""
    count = _count(machines)
    panels = [panel for path in PATHS if (panel := _panel(machines, path, count))]
    if not panels:
        return Figure(machines, ())
    rows = tuple(tuple(panels[at : at + 2]) for at in range(0, len(panels), 2))
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
        for row in filter(measured, select(machine.result.of(FAMILY), {})):
            owners[row.case.axes.get("pieces", 0.0)].add(machine.index)
            sizes[row.case.axes.get("pieces", 0.0)].add(row.case.axes.get("piece"))
    return max(owners, key=lambda count: (len(owners[count]), len(sizes[count]), count), default=0.0)


def _panel(machines: Sequence[Machine], path: str, count: float) -> CurvePanel | None:
    title, direction = PATHS[path]
    drawn: list[Curve] = []
    for method, name in METHODS.items():
        where = {"path": path, "method": method, "pieces": count}
        if path in (HOST_TO_GPU, GPU_TO_HOST):
            where["locality"] = NEAREST
        drawn += curves(
            machines, FAMILY, where, name=name, method=method, x="piece", view=measured, follows=("bytes",)
        ).curves
    if not drawn:
        return None
    return CurvePanel(
        title,
        tuple(drawn),
        x_label="size of a piece",
        y_label="bytes of the pieces (GB/s)",
        y_log=True,
        levels=parts.levels(drawn, direction) if direction else (),
    )


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
            owner = f"{machine.letter}: " if several else ""
            notes.append(f"{owner}{panel.title}, a piece of {format_bytes(small)}: {', '.join(said)}.")
    return notes
