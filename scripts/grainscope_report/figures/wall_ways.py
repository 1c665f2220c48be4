"""Figure 13, below: ways to gather against the bytes that rows lie over: what looking ahead buys back."""

from collections.abc import Sequence

from grainscope_report.cases import HOST_TO_GPU
from grainscope_report.figures import parts
from grainscope_report.figures.model import Curve, CurvePanel, Point
from grainscope_report.gnn import gathers
from grainscope_report.gnn.gathers import Gather
from grainscope_report.machine import Machine
from grainscope_report.units import format_bytes

WAYS = ("masked_wide", "graphbolt", "address_ordered")
FEWEST_SPANS = 2
MOST_PANELS = 2
NOTE = (
    "Ways: masked gathers rows as asked, GraphBolt sorts each mini-batch, address-ordered sorts those of a "
    "window together; sorting is in the time, and rows are delivered in the asked order."
)


def panels(machines: Sequence[Machine]) -> tuple[CurvePanel, ...]:
    """A panel for each of the smallest sizes of row whose gathers reach over several spans."""
    found = [
        one
        for machine in machines
        for one in gathers.measured(machine)
        if one.way in WAYS and one.store == "mapped" and one.word("indices") == "uniform" and one.asked
    ]
    rows = sorted({one.row for one in found})
    windows = sorted({one.number("window") for one in found if one.number("window") > 1})
    drawn = [_panel(row, [one for one in found if one.row == row], windows) for row in rows]
    return tuple(panel for panel in drawn if panel)[:MOST_PANELS]


def _panel(row: float, found: Sequence[Gather], windows: Sequence[float]) -> CurvePanel | None:
    """Looking ahead over more mini-batches at once is drawn dashed, the more the darker."""
    curves: list[Curve] = []
    reaching: set[str] = set()
    for way in WAYS:
        own = [one for one in found if one.way == way]
        for window in sorted({one.number("window") for one in own}):
            there = [one for one in own if one.number("window") == window]
            step = f"step {windows.index(window)} of {len(windows)}" if window > 1 else ""
            lines = _lines(there, way, window, step)
            reaching |= {way for line in lines if len(line.points) >= FEWEST_SPANS}
            curves += lines
    if len(reaching) < 2:
        return None
    levels = parts.levels(curves, HOST_TO_GPU)
    title = f"rows of {format_bytes(row)} by way to gather them, mapped memory"
    return CurvePanel(title, tuple(curves), "rows asked for (GB/s)", x_label="span", levels=levels)


def _lines(found: Sequence[Gather], way: str, window: float, step: str) -> list[Curve]:
    """A curve for each machine; of several sizes of batches at a span the largest."""
    name = f"{gathers.spoken(way)}, window {window:g}" if window > 1 else gathers.spoken(way)
    drawn = []
    for machine in {one.machine.index: one.machine for one in found}.values():
        largest: dict[float, Gather] = {}
        for one in (one for one in found if one.machine is machine):
            span = one.number("span")
            if span not in largest or one.number("rows") > largest[span].number("rows"):
                largest[span] = one
        points = tuple(Point(span, one.asked, one.flags) for span, one in sorted(largest.items()))
        site = tuple(sorted(next(iter(largest.values())).rows[0].case.site.items()))
        dash = "dashed" if step else "solid"
        drawn.append(Curve(name, step or way, machine, points, dash=dash, site=site))
    return drawn
