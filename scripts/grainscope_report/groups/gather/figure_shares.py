"""Figure 11, below: gathers on a share of the multiprocessors, alone and beside a computation.

Dissertation 3.12 and 3.13.
"""

from collections.abc import Callable, Sequence

from grainscope_report.cases import HOST_TO_GPU
from grainscope_report.figures import parts
from grainscope_report.figures.model import Curve, CurvePanel, Panel, Point, exact
from grainscope_report.groups.gather import papers as gather_papers
from grainscope_report.groups.gather import shares
from grainscope_report.groups.gather.shares import Share
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate

SHARE = "share of the multiprocessors that was given (%)"
SIDES = {"gather_slowdown": "gather", "compute_slowdown": "computation"}
DASHES = {"gather_slowdown": "solid", "compute_slowdown": "dashed"}
FEWEST_POINTS = 2
BESIDE = (
    "Beside a computation on the rest, one of each at once: the computation alone takes about as long as the "
    "gather alone. Slowdown: time over that alone with all of the GPU; two of both is no overlap."
)
# As they stand in titles.
BOTH = {shares.PRODUCTS: "both at once", shares.STEPS: "beside training steps, both at once"}
Measure = Callable[[Share], Estimate | None]


def panels(machines: Sequence[Machine]) -> tuple[list[tuple[Panel, ...]], list[str]]:
    """The rows of panels and their notes; none without rows of shares."""
    alone = [one for machine in machines for one in shares.alone(machine) if one.percent]
    beside = [one for machine in machines for one in shares.splits(machine) if one.percent]
    rows: list[tuple[Panel, ...]] = []
    notes: list[str] = []
    gathered = tuple(filter(None, (_by_way(alone), _by_width(alone))))
    if gathered:
        rows += [gathered, (gather_papers.sm_rates(), gather_papers.sm_widths())]
        notes.append(
            "Shares: what the driver says that it gave; of a grid cap the multiprocessors that its blocks "
            "fill."
        )
        notes += _fewest(alone, len(machines) > 1)
    for consumer in shares.CONSUMERS:
        own = [one for one in beside if one.consumer == consumer]
        split = tuple(filter(None, (_batch(own, consumer), _slowdowns(own, consumer))))
        if split:
            rows.append(split)
            notes.append(BESIDE)
            notes += _best(own, consumer, len(machines) > 1)
    return rows, list(dict.fromkeys(notes))


def _widest(found: Sequence[Share]) -> float:
    """The width of loads of which there are most shares, of several the widest."""
    widths = {one.number("width") for one in found}

    def rank(width: float) -> tuple[int, float]:
        return sum(one.number("width") == width for one in found), width

    return max(widths, key=rank, default=0.0)


def _by_way(found: Sequence[Share]) -> CurvePanel | None:
    width = _widest(found)
    there = [one for one in found if one.number("width") == width]
    curves = _ways(there, lambda one: one.gathered)
    return _panel(f"gather alone, loads of {width:g} B, by how the share is made", curves)


def _by_width(found: Sequence[Share]) -> CurvePanel | None:
    """The widths of loads, of the way that has most of them."""
    kinds = {by: {one.number("width") for one in found if one.by == by} for by in shares.ways(found)}
    kinds = {by: widths for by, widths in kinds.items() if len(widths) > 1 and by != shares.WHOLE}
    by = max(kinds, key=lambda one: (len(kinds[one]), sum(share.by == one for share in found)), default="")
    if not by:
        return None
    widths = sorted(kinds[by])
    curves = []
    for at, width in enumerate(widths):
        there = [one for one in found if one.number("width") == width and one.by in (by, shares.WHOLE)]
        name, method = f"loads of {width:g} B", f"step {at} of {len(widths)}"
        curves += _lines(there, name, method, lambda one: one.gathered)
    return _panel(f"gather alone by width of loads, {shares.BY[by]}", curves)


def _batch(found: Sequence[Share], consumer: str) -> CurvePanel | None:
    curves = _ways(found, lambda one: one.time.scaled(1e3))
    return _panel(f"{BOTH[consumer]}: until the later has ended", curves, "time of a mini-batch (ms)", "ms")


def _slowdowns(found: Sequence[Share], consumer: str) -> CurvePanel | None:
    curves = []
    for counter, side in SIDES.items():

        def slow(one: Share, name: str = counter) -> Estimate | None:
            value = one.counter(name)
            return exact(value) if value else None

        curves += _ways(found, slow, DASHES[counter], f", {side}")
    return _panel(f"{BOTH[consumer]}: what each side pays", curves, "slowdown over alone", "ratio")


def _ways(found: Sequence[Share], measure: Measure, dash: str = "solid", more: str = "") -> list[Curve]:
    drawn = []
    for by in shares.ways(found):
        there = [one for one in found if one.by == by]
        drawn += _lines(there, f"{shares.BY.get(by, by)}{more}", by, measure, dash)
    return drawn


def _lines(
    found: Sequence[Share], name: str, method: str, measure: Measure, dash: str = "solid"
) -> list[Curve]:
    """A curve for each machine."""
    drawn = []
    for machine in {one.machine.index: one.machine for one in found}.values():
        there = sorted((one for one in found if one.machine is machine), key=lambda one: one.percent)
        values = {one.percent: (measure(one), one.flags) for one in there}
        points = tuple(Point(percent, y, flags) for percent, (y, flags) in values.items() if y)
        site = tuple(sorted(there[0].case_row.case.site.items()))
        if points:
            drawn.append(Curve(name, method, machine, points, dash=dash, site=site))
    return drawn


def _panel(
    title: str, curves: Sequence[Curve], y_label: str = "rows gathered (GB/s)", y_unit: str = "GB/s"
) -> CurvePanel | None:
    if not curves or max(len(curve.points) for curve in curves) < FEWEST_POINTS:
        return None
    levels = parts.levels(curves, HOST_TO_GPU) if y_unit == "GB/s" else ()
    return CurvePanel(title, tuple(curves), y_label, y_unit, SHARE, "%", levels=levels)


def _fewest(found: Sequence[Share], several: bool) -> list[str]:
    """The fewest multiprocessors that are enough, by machine, way and width."""
    kinds: dict[str, list[str]] = {}
    for one in shares.fewest(found):
        owner = f"{one.machine.letter}, " if several else ""
        kinds.setdefault(f"{owner}loads of {one.number('width'):g} B", []).append(
            f"{shares.BY.get(one.by, one.by)} {one.given_sms:g}"
        )
    if not kinds:
        return []
    said = [f"{kind}: {', '.join(ways)}" for kind, ways in kinds.items()]
    enough = f"{100 * shares.ENOUGH:.0f} %"
    return [f"Fewest multiprocessors with {enough} of the best rate of their width: {'; '.join(said)}."]


def _best(found: Sequence[Share], consumer: str, several: bool) -> list[str]:
    beside = " beside training steps" if consumer == shares.STEPS else ""
    said = []
    for machine in {one.machine.index: one.machine for one in found}.values():
        one = min((one for one in found if one.machine is machine), key=lambda one: one.time.value)
        owner = f"{machine.letter}: " if several else ""
        said.append(f"{owner}{one.percent:.3g} % for the gather, by {shares.BY.get(one.by, one.by)}")
    return [
        f"Fastest together{beside}: {'; '.join(said)}. The dissertation's best share is 10 % (section 3.4.3)."
    ]
