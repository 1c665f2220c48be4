"""Figure 7: managed memory prefetched against a pinned copy, with the ratio and the dips (Comm|Scope 11)."""

from collections.abc import Sequence

from grainscope_report import statistics
from grainscope_report.cases import GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.figures import parts
from grainscope_report.figures.explicit import copies
from grainscope_report.figures.model import Curve, CurvePanel, Figure, Level, Point, Region
from grainscope_report.figures.series import NEAREST, curves
from grainscope_report.machine import Machine
from grainscope_report.papers import COMM_SCOPE, paper
from grainscope_report.units import format_bytes

FAMILY = "transfer/managed"
SLOW = 0.8


def build(machines: Sequence[Machine]) -> Figure:
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
