"""Copies by the copy engine: of flushed and of warm buffers (figure 1), of pageable and of page-locked memory
(figure 2), against zero-copy access by a kernel (figure 5). Comm|Scope 2, 6 and 9.
"""

from collections.abc import Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, CurvePanel, Figure, Level
from grainscope_report.figures.series import NEAREST, Curves, Where, curves, nearest, select
from grainscope_report.groups import host
from grainscope_report.machine import Machine
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.resources import COMM_SCOPE, paper
from grainscope_report.statistics import Estimate

MEMCPY = "transfer/memcpy"
FLUSHED = (
    ("pageable → GPU", "pageable_to_gpu", "pageable", HOST_TO_GPU),
    ("GPU → pageable", "gpu_to_pageable", "pageable", GPU_TO_HOST),
    ("pinned → GPU", "pinned_to_gpu", "pinned", HOST_TO_GPU),
    ("GPU → pinned", "gpu_to_pinned", "pinned", GPU_TO_HOST),
)
FLUSHED_NAMES = {"pageable": "pageable copy", "pinned": "pinned copy", "host": "host memcpy"}


def build_flush(machines: Sequence[Machine]) -> Figure:
    """A panel for each path that was copied both flushed and warm, nearest locality."""
    found = [
        _flush_panel(machines, title, MEMCPY, {"timed": "copy", "path": path}, method, direction)
        for title, path, method, direction in FLUSHED
    ]
    found.append(_flush_host(machines))
    there = [panel for panel in found if panel]
    rows = [there[at : at + 2] for at in range(0, len(there), 2)]
    notes = parts.slow_sites(there, len(machines) > 1)
    return Figure(machines, tuple(tuple(row) for row in rows), tuple(notes))


def _flush_host(machines: Sequence[Machine]) -> CurvePanel | None:
    counts = sorted(
        {
            row.case.axes["threads"]
            for m in machines
            for row in select(m.result.of(host.MEMCPY), {})
            if "threads" in row.case.axes
        }
    )
    if not counts:
        return None
    title = "memcpy in host memory, " + ("1 thread" if counts[0] == 1 else f"{counts[0]:g} threads")
    return _flush_panel(machines, title, host.MEMCPY, {"threads": counts[0]}, "host", None)


def _flush_panel(
    machines: Sequence[Machine], title: str, family: str, where: Where, method: str, direction: str | None
) -> CurvePanel | None:
    near = {**where, "locality": NEAREST}
    cold = curves(
        machines,
        family,
        {**near, "flush": "on"},
        name=f"{FLUSHED_NAMES[method]}, caches flushed",
        method=method,
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


PATHS = {HOST_TO_GPU: "{}_to_gpu", GPU_TO_HOST: "gpu_to_{}"}
MEMORY = {"pageable": "pageable", "pinned": "pinned"}
LOCKED = {"pinned": "pinned", "registered": "registered", "write_combined": "write-combined"}


def build_explicit(machines: Sequence[Machine]) -> Figure:
    """Pageable and pinned above; the kinds of page-locked memory, local, below; the paper's system beside."""
    main = [_panel(machines, direction, MEMORY) for direction in PATHS]
    if any(main):
        main.append(_paper())
    locked = [_panel(machines, direction, LOCKED, title="kinds of page-locked memory") for direction in PATHS]
    rows, notes = parts.lettered(
        [main, [panel if _worth(panel) else None for panel in locked]], len(machines) > 1
    )
    return Figure(machines, rows, (*notes, *parts.slow_sites(filter(None, main), len(machines) > 1)))


def copies(machines: Sequence[Machine], memory: str, direction: str, name: str, **where) -> Curves:
    """Timed copies of one kind of host memory in one direction, flushed where there is a choice."""
    wanted = {"timed": "copy", "path": PATHS[direction].format(memory), "flush": ("on", "off"), **where}
    return curves(machines, MEMCPY, wanted, name=name, method=memory)


def _panel(
    machines: Sequence[Machine], direction: str, kinds: dict[str, str], title: str = ""
) -> CurvePanel | None:
    drawn = [
        one for memory, name in kinds.items() for one in copies(machines, memory, direction, name).curves
    ]
    if title:
        drawn = nearest(drawn)
    if not drawn:
        return None
    arrow = parts.ARROWS[direction]
    return CurvePanel(
        f"{arrow}, {title}" if title else arrow, tuple(drawn), levels=parts.levels(drawn, direction)
    )


def _worth(panel: CurvePanel | None) -> bool:
    """Pinned memory alone is already in the panel above."""
    return panel is not None and {curve.method for curve in panel.curves} != {"pinned"}


def _paper() -> BarPanel:
    source = paper(COMM_SCOPE)
    numbers = [source["pinned_to_gpu_local_ac922"], source["pinned_to_gpu_remote_ac922"]]
    bars = tuple(Bar(Estimate(one.value, one.value, one.value), f"{one.value:g}") for one in numbers)
    top = source["link_theoretical_ac922"]
    return BarPanel(
        f"{source.name}: AC922, NVLink 2 ×3",
        ("pinned\nlocal", "pinned\nremote"),
        (BarSeries("paper", "paper", bars, label="paper", source="; ".join(one.source for one in numbers)),),
        "bandwidth (GB/s)",
        "GB/s",
        levels=(Level("paper", "theoretical", top.value, source=top.source),),
        width=0.5,
    )


ZERO_COPY = "transfer/zero_copy"
ACCESSES = {"read": HOST_TO_GPU, "write": GPU_TO_HOST}
# Preferences: the access that a copy should use, the plainest way to allocate.
ACCESS = ("merged_aligned", "merged", "strided")
ALLOCATION = ("host_alloc", "registered", "accessed_by")


def build_zero_copy(machines: Sequence[Machine]) -> Figure:
    """Read on the left, write on the right, with the sizes where the methods swap places."""
    panels, notes = [], []
    for access, direction in ACCESSES.items():
        where = {"direction": access, "access": ACCESS, "allocation": ALLOCATION, "locality": NEAREST}
        zero = curves(machines, ZERO_COPY, where, name="zero-copy", method="zero_copy")
        notes += _configuration(zero, access)
        panels.append(_zero_copy_panel(machines, access, direction, zero) if zero.curves else None)
    rows, letters = parts.lettered([panels], len(machines) > 1)
    if rows:
        source = paper(COMM_SCOPE)
        number = source["zero_copy_read_behind_copy_s822lc"]
        notes.append(
            f"{source.name} ({number.source}), {number.system}: zero-copy read about {number.value} GB/s "
            "slower than the copy."
        )
    return Figure(machines, rows, (*letters, *notes))


def _zero_copy_panel(machines: Sequence[Machine], access: str, direction: str, zero: Curves) -> CurvePanel:
    near = {"locality": NEAREST}
    pinned = copies(machines, "pinned", direction, "pinned copy", **near).curves
    pageable = copies(machines, "pageable", direction, "pageable copy", **near).curves
    drawn = (*pageable, *pinned, *zero.curves)
    regions = (*parts.crossings(zero.curves, pinned, access), *parts.crossings(zero.curves, pageable, access))
    return CurvePanel(
        f"{access} ({parts.ARROWS[direction]})",
        drawn,
        y_log=True,
        levels=parts.levels(drawn, direction),
        regions=regions,
    )


def _configuration(zero: Curves, access: str) -> list[str]:
    """A note on what of several configurations is drawn."""
    if not zero.others:
        return []
    said = next(curve.config for curve in zero.curves)
    more = f"{zero.others} other configuration{'s' if zero.others > 1 else ''}"
    return [
        f"Zero-copy {access}: drawn for {said}; {more} not drawn (`grainscope-report list` shows all rows)."
    ]


FIGURES = (
    Entry(
        "1",
        "figure_1_cache_flush",
        "Cache flush: copies of flushed and of warm buffers",
        (MEMCPY, host.MEMCPY),
        "pairs of rows with flush on and off",
        build_flush,
    ),
    Entry(
        "2",
        "figure_2_explicit_copies",
        "Explicit copies of pageable and pinned memory",
        (MEMCPY,),
        "rows",
        build_explicit,
    ),
    Entry(
        "5",
        "figure_5_zero_copy",
        "Explicit copies against zero-copy",
        (ZERO_COPY,),
        "rows",
        build_zero_copy,
        beside=(MEMCPY,),
    ),
)
