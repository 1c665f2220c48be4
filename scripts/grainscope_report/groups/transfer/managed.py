"""Managed memory: moved on demand, by size and by number of host threads (figure 6), and prefetched against a
pinned copy, with the ratio and the dips (figure 7). Comm|Scope 10 and 11.
"""

from collections.abc import Sequence

from grainscope_report import statistics
from grainscope_report.figures import parts
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Curve, CurvePanel, Figure, Level, Point, Region
from grainscope_report.figures.series import NEAREST, curves, select
from grainscope_report.groups.transfer.copies import MEMCPY, copies
from grainscope_report.machine import Machine
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.resources import COMM_SCOPE, paper
from grainscope_report.units import format_bytes

FAMILY = "transfer/managed"
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
    return tuple(tuple(flat[at : at + 2]) for at in range(0, len(flat), 2))


def _where(direction: str, **more) -> dict:
    return {"method": "demand", "path": direction, **more}


def _by_size(machines: Sequence[Machine]) -> CurvePanel | None:
    demand = curves(machines, FAMILY, _where(HOST_TO_GPU), name="demand", method="demand").curves
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
    rows = [row for machine in machines for row in select(machine.result.of(FAMILY), _where(GPU_TO_HOST))]
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
        drawn += curves(machines, FAMILY, where, name=name, method=method).curves
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
            machines, FAMILY, where, name=f"demand of {format_bytes(size)}", method=method, x="host_threads"
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
    prefetch = curves(machines, FAMILY, near, name="prefetch", method="prefetch").curves
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
    found = []
    for dip in statistics.dips(curve.x, curve.y):
        after = "recovers above" if dip.recovers else "does not recover"
        text = (
            f"{curve.name} dips {_range(dip.low, dip.high)}, {100 * dip.depth:.0f} % down"
            f"{'' if dip.high == dip.low else f' at {format_bytes(dip.bottom)}'}; {after}"
        )
        found.append(Region("dip", dip.low, dip.high, text, dip.bottom, machine=curve.machine))
    return found


def _ratio(
    prefetch: Sequence[Curve], pinned: Sequence[Curve], direction: str, sizes: tuple[float, float]
) -> CurvePanel | None:
    drawn, regions = [], []
    for one, two in parts.pairs(prefetch, pinned):
        x, ones, twos = parts.shared_points(one, two)
        ratios = [statistics.ratio(a, b) for a, b in zip(ones, twos, strict=True)]
        if not x:
            continue
        points = tuple(Point(at, ratio) for at, ratio in zip(x, ratios, strict=True))
        drawn.append(
            Curve("prefetch ÷ pinned", "prefetch", one.machine, points, site=one.site, locality=one.locality)
        )
        for low, high in statistics.stretches_below(x, ratios, SLOW):
            text = (
                f"prefetch at least {100 * (1 - SLOW):.0f} % slower than the pinned copy, {_range(low, high)}"
            )
            regions.append(Region("slow", low, high, text, machine=one.machine))
    if not drawn:
        return None
    if direction == HOST_TO_GPU:
        regions.append(_paper())
    return CurvePanel(
        "",
        tuple(drawn),
        y_label="prefetch ÷ pinned",
        y_unit="ratio",
        short=True,
        y_top=1.0,
        x_range=sizes,
        levels=(Level("even", "equal", 1.0),),
        regions=tuple(regions),
    )


def _range(low: float, high: float) -> str:
    return f"from {format_bytes(low)} to {format_bytes(high)}" if high > low else f"at {format_bytes(low)}"


def _paper() -> Region:
    source = paper(COMM_SCOPE)
    low, high = source["prefetch_slow_from"], source["prefetch_slow_to"]
    text = (
        f"{source.name} ({low.source}): prefetch substantially slower from about {format_bytes(low.value)} "
        f"to {format_bytes(high.value)}"
    )
    return Region("paper", low.value, high.value, text, source=low.source)


FIGURES = (
    Entry(
        "6",
        "figure_6_demand_migration",
        "Demand migration of managed memory",
        (FAMILY,),
        "rows with method demand",
        build_demand,
        beside=(MEMCPY,),
    ),
    Entry(
        "7",
        "figure_7_prefetch",
        "Prefetch of managed memory against a pinned copy",
        (FAMILY,),
        "rows with method prefetch",
        build_prefetch,
        beside=(MEMCPY,),
    ),
)
