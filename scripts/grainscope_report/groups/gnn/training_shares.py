"""Figure 12, shares: a pipeline of two processes by the share of the GPU that the one which gathers has.

Dissertation 3.12, with real training.
"""

from collections.abc import Callable, Sequence

from grainscope_report.cases import HOST_TO_GPU
from grainscope_report.figures import parts
from grainscope_report.figures.model import Curve, CurvePanel, Panel, Point, exact
from grainscope_report.groups.gather import papers as gather_papers
from grainscope_report.groups.gnn import pipelines
from grainscope_report.groups.gnn.pipelines import Pipeline, Work
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate

SHARE = "share of the multiprocessors that gathering was given (%)"
SIDES = {
    "gather_slowdown": ("gathering", "gather_s", "solid"),
    "train_slowdown": ("training", "train_s", "dashed"),
}
FEWEST_POINTS = 2
METHOD = "processes"
NOTE = (
    "Two processes: one samples and gathers, one trains on the rest of the GPU (MPS); rows and lists by CUDA "
    "IPC. Slowdown: time of a gather or step while the other process works, over that alone with all of the "
    "GPU."
)
Measure = Callable[[Pipeline], Estimate | None]
# By machine and training, smaller shares first.
Found = dict[tuple[int, Work], list[Pipeline]]


def panels(machines: Sequence[Machine]) -> tuple[list[tuple[Panel, ...]], list[str]]:
    """Rate of the gather, time of a step, both slowdowns over the share, beside the paper's; notes."""
    found = _found(machines)
    rate = _panel(
        "gathers while training", _curves(found, _counter("gather_gb_s")), gather_papers.GB_S, "GB/s"
    )
    steps = _curves(found, lambda one: one.time.scaled(1e3))
    pays = []
    for counter, (side, colour, dash) in SIDES.items():
        pays += _curves(found, _counter(counter), side, colour, dash)
    step = _panel("time of a step", steps, "time of a step (ms)", "ms")
    slower = _panel("what each process pays", pays, "slowdown over alone", "ratio")
    own = [panel for panel in (rate, step, slower) if panel]
    if not own:
        return [], []
    there = [*own, gather_papers.sm_rates()]
    return [tuple(there[at : at + 2]) for at in range(0, len(there), 2)], [NOTE, _best(machines, found)]


def _best(machines: Sequence[Machine], found: Found) -> str:
    said = []
    for (machine, work), own in found.items():
        best = min(own, key=lambda one: one.time.value)
        owner = f"{machines[machine].letter}: " if len(machines) > 1 else ""
        said.append(f"{owner}{work.graph}, rows of {work.row:g} B: {best.share:.3g} % for the gather")
    return f"Fastest share of two processes: {'; '.join(said)}. The dissertation's is 10 % (3.4.3)."


def _found(machines: Sequence[Machine]) -> Found:
    """The pipelines of two processes that say what they were given."""
    found: Found = {}
    for order, machine in enumerate(machines):
        for one in pipelines.pipelines(machine):
            if one.method == METHOD and one.share:
                found.setdefault((order, one.work), []).append(one)
    return {key: sorted(own, key=lambda one: one.share) for key, own in found.items()}


def _counter(name: str) -> Measure:
    def measure(one: Pipeline) -> Estimate | None:
        value = one.counter(name)
        return exact(value) if value else None

    return measure


def _curves(
    found: Found, measure: Measure, side: str = "", colour: str = METHOD, dash: str = "solid"
) -> list[Curve]:
    """A curve for each training of each machine."""
    several = len({work for _, work in found}) > 1
    drawn = []
    for (_, work), own in found.items():
        name = side or pipelines.spoken(METHOD)
        name += f", {work.graph}, {work.row:g} B" if several else ""
        values = {one.share: (measure(one), one.flags) for one in own}
        points = tuple(Point(share, y, flags) for share, (y, flags) in values.items() if y)
        site = tuple(sorted(own[0].case_row.case.site.items()))
        if points:
            drawn.append(Curve(name, colour, own[0].machine, points, dash=dash, site=site))
    return drawn


def _panel(title: str, curves: Sequence[Curve], y_label: str, y_unit: str) -> CurvePanel | None:
    if not curves or max(len(curve.points) for curve in curves) < FEWEST_POINTS:
        return None
    levels = parts.levels(curves, HOST_TO_GPU) if y_unit == "GB/s" else ()
    title = f"two processes: {title}"
    return CurvePanel(title, tuple(curves), y_label, y_unit, SHARE, "%", levels=levels)
