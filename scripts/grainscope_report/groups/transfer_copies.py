"""Copies by the copy engine and managed memory.

Copies: of flushed and of warm buffers (figure 1), of pageable and of page-locked memory (figure 2),
against zero-copy access by a kernel (figure 5). Managed memory: moved on demand, by size and by number of
host threads (figure 6), and prefetched against a pinned copy, with the ratio and the dips (figure 7).
Comm|Scope 2, 6, 9, 10 and 11.
"""

from collections.abc import Iterator, Sequence

from grainscope_report import statistics
from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    Curve,
    CurvePanel,
    Entry,
    Figure,
    Level,
    Point,
    Region,
    exact,
)
from grainscope_report.figures.parts import NEAREST, Curves, Where, curves, nearest, select
from grainscope_report.groups import host
from grainscope_report.machine import Machine
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.resources import COMM_SCOPE, paper
from grainscope_report.units import format_bytes

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
        curve for memory, name in kinds.items() for curve in copies(machines, memory, direction, name).curves
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
    local, remote = (Bar(exact(number.value), f"{number.value:g}") for number in numbers)
    top, scale = source["link_theoretical_ac922"], ("bandwidth (GB/s)", "GB/s")
    look = {"levels": (Level("paper", "theoretical", top.value, source=top.source),), "width": 0.5}
    cited = "; ".join(number.source for number in numbers)
    bars = [("pinned\nlocal", local), ("pinned\nremote", remote)]
    return parts.stated(source, "AC922, NVLink 2 ×3", bars, cited, scale, **look)


ZERO_COPY = "transfer/zero_copy"
ACCESSES = {"read": HOST_TO_GPU, "write": GPU_TO_HOST}
# Preferences: the access that a copy should use, the plainest way to allocate.
ACCESS = ("merged_aligned", "merged", "strided")
ALLOCATION = ("host_alloc", "registered", "accessed_by")
# Buffers that were flushed, of which rows say nothing, where there are any.
COLD = (None, "off")


def build_zero_copy(machines: Sequence[Machine]) -> Figure:
    """Read on the left, write on the right, with the sizes where the methods swap places.

    Below is zero-copy over the pinned copy: near the peak, lines on a log axis lie on each other.
    """
    panels, ratios, notes = [], [], []
    for access, direction in ACCESSES.items():
        rows = [row for machine in machines for row in select(machine.result.of(ZERO_COPY), {"flush": None})]
        where = {"direction": access, "access": ACCESS, "allocation": ALLOCATION, "locality": NEAREST}
        where |= {"flush": COLD}
        name = "zero-copy" if rows else "zero-copy, not flushed"
        zero = curves(machines, ZERO_COPY, where, name=name, method="zero_copy")
        notes += _configuration(zero, access)
        top = _zero_copy_panel(machines, access, direction, zero) if zero.curves else None
        panels.append(top)
        ratios.append(top and _zero_copy_ratio(machines, direction, zero, top))
    rows, letters = parts.lettered([panels, ratios if any(ratios) else []], len(machines) > 1)
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


def _zero_copy_ratio(
    machines: Sequence[Machine], direction: str, zero: Curves, top: CurvePanel
) -> CurvePanel | None:
    pinned = copies(machines, "pinned", direction, "pinned copy", locality=NEAREST).curves
    drawn = list(_over(zero.curves, pinned, "zero-copy ÷ pinned", "zero_copy"))
    sizes = [x for curve in top.curves for x in curve.x]
    return _ratio_panel(drawn, "zero-copy ÷ pinned", (min(sizes), max(sizes))) if drawn else None


def _configuration(zero: Curves, access: str) -> list[str]:
    """A note on what of several configurations is drawn."""
    if not zero.others:
        return []
    said = next(curve.config for curve in zero.curves)
    more = f"{zero.others} other configuration{'s' if zero.others > 1 else ''}"
    return [
        f"Zero-copy {access}: drawn for {said}; {more} not drawn (`grainscope-report list` shows all rows)."
    ]


MANAGED = "transfer/managed"
MOST_THREADS = 4
MOST_SIZES = 3


def build_demand(machines: Sequence[Machine]) -> Figure:
    """Faults from the GPU by size; faults from the host by size and by threads; pageable copies for scale."""
    to_gpu = _by_size(machines)
    to_host, by_threads = _by_size_and_threads(machines), _by_threads(machines)
    rows, notes = parts.lettered([[to_gpu, to_host], [by_threads]], len(machines) > 1)
    if not rows:
        return Figure(machines, ())
    source = paper(COMM_SCOPE)
    number = source["demand_locality_size_ac922"]
    said = (
        f"{source.name} ({number.source}), {number.system}: little effect of locality but about "
        f"{format_bytes(number.value)}, the size of the last-level cache."
    )
    flat = [panel for row in rows for panel in row]
    return Figure(machines, _packed(flat), (*notes, *parts.slow_sites(flat, len(machines) > 1), said))


def _packed(flat: list) -> tuple:
    return tuple(parts.in_pairs(flat))


def _where(direction: str, **more) -> dict:
    return {"method": "demand", "path": direction, **more}


def _by_size(machines: Sequence[Machine]) -> CurvePanel | None:
    demand = curves(machines, MANAGED, _where(HOST_TO_GPU), name="demand", method="demand").curves
    if not demand:
        return None
    scale = copies(machines, "pageable", HOST_TO_GPU, "pageable copy", locality=NEAREST).curves
    drawn = (*scale, *demand)
    regions = tuple(parts.crossings(demand, scale))
    return CurvePanel(
        "GPU faults: host → GPU", drawn, levels=parts.levels(drawn, HOST_TO_GPU), regions=regions
    )


def _axis(machines: Sequence[Machine], axis: str) -> list[float]:
    """The values of the axis among demand rows from the GPU to the host."""
    rows = [row for machine in machines for row in select(machine.result.of(MANAGED), _where(GPU_TO_HOST))]
    return sorted({row.case.axes[axis] for row in rows if isinstance(row.case.axes.get(axis), (int, float))})


def _spread(values: list[float], most: int) -> list[float]:
    """The first, the last and evenly spaced ones between, at most so many."""
    if len(values) <= most:
        return values
    return [values[round(at * (len(values) - 1) / (most - 1))] for at in range(most)]


def _by_size_and_threads(machines: Sequence[Machine]) -> CurvePanel | None:
    chosen = _spread(_axis(machines, "host_threads"), MOST_THREADS)
    scale = copies(machines, "pageable", GPU_TO_HOST, "pageable copy", locality=NEAREST).curves
    drawn: list[Curve] = []
    for order, count in enumerate(chosen):
        where = _where(GPU_TO_HOST, host_threads=count, locality=NEAREST)
        name = f"demand, {count:g} host thread{'s' if count > 1 else ''}"
        method = f"step {order} of {len(chosen)}"
        drawn += curves(machines, MANAGED, where, name=name, method=method).curves
    if not drawn:
        return None
    every = (*scale, *drawn)
    return CurvePanel(
        "host faults: GPU → host",
        every,
        levels=parts.levels(every, GPU_TO_HOST),
        regions=tuple(region for curve in drawn for region in parts.crossings([curve], scale)),
    )


def _by_threads(machines: Sequence[Machine]) -> CurvePanel | None:
    if len(_axis(machines, "host_threads")) < 2:
        return None
    drawn: list[Curve] = []
    chosen = _spread([size for size in _axis(machines, "bytes") if size >= 1 << 20], MOST_SIZES)
    for order, size in enumerate(chosen):
        where = _where(GPU_TO_HOST, bytes=size, locality=NEAREST)
        method = f"size {order} of {len(chosen)}"
        drawn += curves(
            machines, MANAGED, where, name=f"demand of {format_bytes(size)}", method=method, x="host_threads"
        ).curves
    if not drawn:
        return None
    return CurvePanel(
        "host faults by threads: GPU → host",
        tuple(drawn),
        x_label="host threads",
        x_unit="threads",
        levels=parts.levels(drawn, GPU_TO_HOST),
    )


SLOW = 0.8


def build_prefetch(machines: Sequence[Machine]) -> Figure:
    """Bandwidth above, prefetch over pinned below, one column for each direction."""
    columns = [column for direction in (HOST_TO_GPU, GPU_TO_HOST) if (column := _column(machines, direction))]
    ratios = [ratio for _, ratio in columns]
    rows, notes = parts.lettered(
        [[top for top, _ in columns], ratios if any(ratios) else []], len(machines) > 1
    )
    return Figure(machines, rows, notes)


def _column(machines: Sequence[Machine], direction: str) -> tuple[CurvePanel, CurvePanel | None] | None:
    near = {"method": "prefetch", "path": direction, "locality": NEAREST}
    prefetch = curves(machines, MANAGED, near, name="prefetch", method="prefetch").curves
    if not prefetch:
        return None
    pinned = copies(machines, "pinned", direction, "pinned copy", locality=NEAREST).curves
    drawn = (*pinned, *prefetch)
    top = CurvePanel(
        parts.ARROWS[direction],
        drawn,
        levels=parts.levels(drawn, direction),
        regions=tuple(dip for curve in drawn if curve.primary for dip in _dips(curve)),
    )
    sizes = [x for curve in drawn for x in curve.x]
    return top, _ratio(prefetch, pinned, direction, (min(sizes), max(sizes)))


def _dips(curve: Curve) -> list[Region]:
    regions = []
    for dip in statistics.dips(curve.x, curve.y):
        after = "recovers above" if dip.recovers else "does not recover"
        text = (
            f"{curve.name} dips {_range(dip.low, dip.high)}, {100 * dip.depth:.0f} % down"
            f"{'' if dip.high == dip.low else f' at {format_bytes(dip.bottom)}'}; {after}"
        )
        regions.append(Region("dip", dip.low, dip.high, text, dip.bottom, machine=curve.machine))
    return regions


def _ratio(
    prefetch: Sequence[Curve], pinned: Sequence[Curve], direction: str, sizes: tuple[float, float]
) -> CurvePanel | None:
    drawn, regions = list(_over(prefetch, pinned, "prefetch ÷ pinned", "prefetch")), []
    for one in drawn:
        for low, high in statistics.stretches_below(one.x, one.y, SLOW):
            text = (
                f"prefetch at least {100 * (1 - SLOW):.0f} % slower than the pinned copy, {_range(low, high)}"
            )
            regions.append(Region("slow", low, high, text, machine=one.machine))
    if not drawn:
        return None
    if direction == HOST_TO_GPU:
        regions.append(_slow_prefetch())
    return _ratio_panel(drawn, "prefetch ÷ pinned", sizes, regions)


def _over(over: Sequence[Curve], under: Sequence[Curve], name: str, method: str) -> Iterator[Curve]:
    """Curves over those of the same machine and site, at the sizes that both have."""
    for one, two in parts.pairs(over, under):
        x, ones, twos = parts.shared_points(one, two)
        ratios = (statistics.ratio(a, b) for a, b in zip(ones, twos, strict=True))
        points = tuple(Point(at, ratio) for at, ratio in zip(x, ratios, strict=True))
        if points:
            yield Curve(name, method, one.machine, points, site=one.site, locality=one.locality)


def _ratio_panel(
    drawn: Sequence[Curve], label: str, sizes: tuple[float, float], regions: Sequence[Region] = ()
) -> CurvePanel:
    """A low panel below that of the curves, with a line where both are equal."""
    return CurvePanel(
        "",
        tuple(drawn),
        y_label=label,
        y_unit="ratio",
        short=True,
        y_top=1.0,
        x_range=sizes,
        levels=(Level("even", "equal", 1.0),),
        regions=tuple(regions),
    )


def _range(low: float, high: float) -> str:
    return f"from {format_bytes(low)} to {format_bytes(high)}" if high > low else f"at {format_bytes(low)}"


def _slow_prefetch() -> Region:
    source = paper(COMM_SCOPE)
    low, high = source["prefetch_slow_from"], source["prefetch_slow_to"]
    text = (
        f"{source.name} ({low.source}): prefetch substantially slower from about {format_bytes(low.value)} "
        f"to {format_bytes(high.value)}"
    )
    return Region("paper", low.value, high.value, text, source=low.source)


FIGURES = (
    Entry("1", "figure_1_cache_flush", "Cache flush: copies of flushed and of warm buffers",
          (MEMCPY, host.MEMCPY), "pairs of rows with flush on and off", build_flush),
    Entry("2", "figure_2_explicit_copies", "Explicit copies of pageable and pinned memory", (MEMCPY,),
          "rows", build_explicit),
    Entry("5", "figure_5_zero_copy", "Explicit copies against zero-copy", (ZERO_COPY,), "rows",
          build_zero_copy, beside=(MEMCPY,)),
    Entry("6", "figure_6_demand_migration", "Demand migration of managed memory", (MANAGED,),
          "rows with method demand", build_demand, beside=(MEMCPY,)),
    Entry("7", "figure_7_prefetch", "Prefetch of managed memory against a pinned copy", (MANAGED,),
          "rows with method prefetch", build_prefetch, beside=(MEMCPY,)),
)  # fmt: skip
