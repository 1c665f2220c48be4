"""Figure 1: what the CPU's caches do to a copy: flushed and not, cache sizes marked (Comm|Scope 2)."""

from collections.abc import Sequence

from grainscope_report.cases import GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.figures import parts
from grainscope_report.figures.model import CurvePanel, Figure
from grainscope_report.figures.series import NEAREST, Where, curves, select
from grainscope_report.machine import Machine

MEMCPY = "transfer/memcpy"
HOST = "host/memcpy"
PANELS = (
    ("pageable → GPU", "pageable_to_gpu", "pageable", HOST_TO_GPU),
    ("GPU → pageable", "gpu_to_pageable", "pageable", GPU_TO_HOST),
    ("pinned → GPU", "pinned_to_gpu", "pinned", HOST_TO_GPU),
    ("GPU → pinned", "gpu_to_pinned", "pinned", GPU_TO_HOST),
)
NAMES = {"pageable": "pageable copy", "pinned": "pinned copy", "host": "host memcpy"}


def build(machines: Sequence[Machine]) -> Figure:
    """A panel for each path that was copied both flushed and warm, nearest locality."""
    found = [
        _panel(machines, title, MEMCPY, {"timed": "copy", "path": path}, method, direction)
        for title, path, method, direction in PANELS
    ]
    found.append(_host(machines))
    there = [panel for panel in found if panel]
    rows = [there[at : at + 2] for at in range(0, len(there), 2)]
    notes = parts.slow_sites(there, len(machines) > 1)
    return Figure(machines, tuple(tuple(row) for row in rows), tuple(notes))


def _host(machines: Sequence[Machine]) -> CurvePanel | None:
    counts = sorted(
        {
            row.case.axes["threads"]
            for m in machines
            for row in select(m.result.of(HOST), {})
            if "threads" in row.case.axes
        }
    )
    if not counts:
        return None
    title = "memcpy in host memory, " + ("1 thread" if counts[0] == 1 else f"{counts[0]:g} threads")
    return _panel(machines, title, HOST, {"threads": counts[0]}, "host", None)


def _panel(
    machines: Sequence[Machine], title: str, family: str, where: Where, method: str, direction: str | None
) -> CurvePanel | None:
    near = {**where, "locality": NEAREST}
    cold = curves(
        machines, family, {**near, "flush": "on"}, name=f"{NAMES[method]}, caches flushed", method=method
    ).curves
    warm = curves(
        machines, family, {**near, "flush": "off"}, name="not flushed", method="warm", dash="dotted"
    ).curves
    both = {curve.machine.index for curve in cold} & {curve.machine.index for curve in warm}
    drawn = tuple(curve for curve in (*cold, *warm) if curve.machine.index in both)
    if not drawn:
        return None
    marks = parts.cache_marks(parts.machines_of(drawn))
    peaks = parts.levels(drawn, direction) if direction else ()
    return CurvePanel(title, drawn, marks=marks, levels=peaks)
