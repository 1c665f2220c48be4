"""Figure 12: training time and bytes over the link by method, size of rows and hot share; stages and overlap.

Dissertation 3.12, 3.14, 3.15, 4.9, 4.11 and 4.12.
"""

from collections.abc import Sequence

from grainscope_report.figures import by_way
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import (
    WHOLE,
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    Figure,
    Level,
    Panel,
    Point,
    exact,
)
from grainscope_report.groups.gather import gathers
from grainscope_report.groups.gather import papers as gather_papers
from grainscope_report.groups.gnn import pipelines, training_hot, training_shares
from grainscope_report.groups.gnn.pipelines import STAGES, Pipeline, Work
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_time, significant

MOST_WORKS = 4
FEWEST_ROWS = 3


def build(machines: Sequence[Machine]) -> Figure:
    """Question by question the panels of all machines, and what the dissertation states beside them."""
    methods: list[Panel] = []
    stages: list[Panel] = []
    hot: list[Panel] = []
    sizes: list[Panel] = []
    notes: list[str] = []
    for machine in machines:
        owner = f"{machine.letter}: " if len(machines) > 1 else ""
        there = pipelines.pipelines(machine)
        methods += _some(_methods(machine, there, owner))
        stages += _some(_stages_panel(there, owner))
        hot += _some(training_hot.panel(machine, there, owner))
        sizes += _some(_by_row(machine, there, owner))
        notes += [f"{owner}{note}" for note in _notes(there)]
    rows: list[tuple[Panel, ...]] = [(panel,) for panel in methods]
    rows += [(gather_papers.training(), gather_papers.later())] if methods else []
    rows += [(panel,) for panel in stages]
    shared, more = training_shares.panels(machines)
    rows += shared
    notes += more
    rows += [*_pairs(hot, gather_papers.saved()), *_pairs(sizes, gather_papers.by_row())]
    notes += [NOTE_ON_STAGES] if stages else []
    notes += training_hot.NOTES if hot else []
    notes += [gather_papers.WHISKERS] if rows else []
    return Figure(machines, tuple(rows), tuple(dict.fromkeys(notes)))


def _some(panel: Panel | None) -> list[Panel]:
    return [panel] if panel else []


def _pairs(own: Sequence[Panel], stated: Panel) -> list[tuple[Panel, ...]]:
    """Our panels and the dissertation's, two in a row; nothing without ours."""
    there = [*own, stated] if own else []
    return [tuple(there[at : at + 2]) for at in range(0, len(there), 2)]


def _usual_row(found: Sequence[Pipeline]) -> float:
    """The size of rows of which most methods were trained, of several the smallest."""
    ways = {
        row: {one.method for one in found if one.work.row == row} for row in {one.work.row for one in found}
    }
    return max(ways, key=lambda row: (len(ways[row]), -row), default=0.0)


def works(found: Sequence[Pipeline]) -> list[Work]:
    """What most methods were trained on, of one size of rows; fewer GPUs first."""
    row = _usual_row(found)
    counted = {
        work: len({one.method for one in found if one.work == work})
        for work in dict.fromkeys(one.work for one in found if one.work.row == row)
    }
    kept = sorted(
        (work for work in counted if counted[work] > 1), key=lambda work: (-counted[work], work.gpus)
    )
    return sorted(kept[:MOST_WORKS], key=lambda work: (work.gpus, kept.index(work)))


def _methods(machine: Machine, found: Sequence[Pipeline], owner: str) -> BarPanel | None:
    """Speedups over the usual method, a CPU that gathers and copies; seconds upright."""
    shown = works(found)
    by_work = {work: pipelines.fastest([one for one in found if one.work == work]) for work in shown}
    by_work = {work: ways for work, ways in by_work.items() if pipelines.BASE in ways}
    if not by_work:
        return None
    methods = pipelines.methods({method for ways in by_work.values() for method in ways})
    fastest = list(by_work.values())
    row = format_bytes(_usual_row(found))
    return by_way.bars(
        f"{owner}training, rows of {row}; upright: time of a step",
        [_name(work, list(by_work)) for work in by_work],
        [(method, pipelines.spoken(method)) for method in methods],
        lambda method, order: _bar(fastest[order].get(method), fastest[order][pipelines.BASE], machine),
        (gather_papers.OVER, "ratio"),
        [Level("even", "", 1.0)],
    )


def _name(work: Work, shown: Sequence[Work]) -> str:
    """The graph and the fan-out, and what else tells the trainings shown from each other."""
    said = {
        "batch": f"batch {work.batch:g}",
        "hidden": f"hidden {work.hidden:g}",
        "gpus": f"{work.gpus:g} GPU{'s' if work.gpus > 1 else ''}",
    }
    differs = [said[what] for what in said if len({getattr(one, what) for one in shown}) > 1]
    return "\n".join([f"{work.graph}, {work.fanout.replace('x', '×')}", *differs])


def _bar(one: Pipeline | None, base: Pipeline, machine: Machine) -> Bar:
    if one is None:
        return Bar(None, machine=machine)
    hot = f", {one.hot:g} % hot" if one.method == "tiered" else ""
    said = format_time(one.time.value)
    return Bar(pipelines.over(base, one), said, one.flags, note=f"{said}{hot}", machine=machine)


def _by_row(machine: Machine, found: Sequence[Pipeline], owner: str) -> CurvePanel | None:
    """The time of a step by the size of rows, of the training that was done with most sizes."""
    kinds: dict[tuple, list[Pipeline]] = {}
    for one in found:
        work = one.work
        kinds.setdefault((work.graph, work.fanout, work.batch, work.hidden, work.gpus), []).append(one)
    there = max(kinds.values(), key=lambda own: len({one.work.row for one in own}), default=[])
    curves = []
    for method in pipelines.methods({one.method for one in there}):
        by_row = {
            row: pipelines.fastest([one for one in there if one.work.row == row]).get(method)
            for row in sorted({one.work.row for one in there})
        }
        points = tuple(Point(row, _ms(one), one.flags) for row, one in by_row.items() if one)
        if len(points) >= FEWEST_ROWS:
            curves.append(Curve(pipelines.spoken(method), method, machine, points))
    if not curves:
        return None
    work = there[0].work
    gpus = f"{work.gpus:g} GPU{'s' if work.gpus > 1 else ''}"
    title = f"{owner}by size of rows: {work.graph}, {gpus}"
    look = {"x_label": "bytes of a row", "y_log": True}
    return CurvePanel(title, tuple(curves), "time of a step (ms)", "ms", **look)


def _ms(one: Pipeline) -> Estimate:
    return one.time.scaled(1e3)


def _notes(found: Sequence[Pipeline]) -> list[str]:
    if not found:
        return []
    first = works(found)
    said = [f"Trained: {'; '.join(dict.fromkeys(work.spoken for work in first))}."] if first else []
    said += _losses(found)
    tiered = [one.hot for one in pipelines.fastest(found).values() if one.method == "tiered"]
    if tiered:
        said.append(f"Tiered: {tiered[0]:g} % of the rows in the GPU's memory, where nothing else is said.")
    if any(one.work.gpus > 1 for one in found):
        said.append("In a step each GPU trains on a mini-batch of its own.")
    return said


def _losses(found: Sequence[Pipeline]) -> list[str]:
    """Whether the loss fell, and how near to each other all ways of one training ended."""
    ends: dict[Work, list[float]] = {}
    fell = True
    for one in found:
        first, last = one.counter("loss_first"), one.counter("loss_last")
        if first is None or last is None:
            return []
        fell = fell and last < first
        ends.setdefault(one.work, []).append(last)
    apart = max(max(own) / min(own) - 1 for own in ends.values() if min(own) > 0) if ends else 0.0
    how = "fell" if fell else "did not fall"
    near = "the same" if not apart else f"within {significant(100 * apart, 2)} %"
    return [f"The loss {how} in {'every row' if fell else 'some row'}; ways of one training ended {near}."]


HEIGHT = 1.9
MOST_METHODS = 9
# A pair of bars for each method: its stages on top of each other, and the pipeline.
PAIR = ("alone", "piped")
BLANK = Bar(None, blank=True)


NOTE_ON_STAGES = (
    "Alone: every stage waited for before the next; piped: overlapping. Overlap: (sum of stages − piped) ÷ "
    "(sum − longest stage). Training on the CPU alone has no pipeline."
)


def _stages_panel(found: Sequence[Pipeline], owner: str) -> BarPanel | None:
    """The stages of every method of the training that most methods were run on; none without stages.

    Training on the CPU is left out: one stage follows another there, and dwarfs all others.
    """
    works: dict = {}
    for one in found:
        if one.stages and one.method != "cpu_only":
            works.setdefault(one.work, []).append(one)
    if not works:
        return None
    work = max(works, key=lambda each: (len({one.method for one in works[each]}), -each.gpus, -each.row))
    best = pipelines.fastest(works[work])
    shown = [best[method] for method in pipelines.methods(best)][:MOST_METHODS]
    series = [_stage(order, shown) for order in range(len(STAGES))]
    series.append(_pipelined(shown))
    names = tuple(part for _ in shown for part in PAIR)
    groups = tuple((_stages_name(one), len(PAIR)) for one in shown)
    gpus = f"{work.gpus:g} GPU{'s' if work.gpus > 1 else ''}"
    title = (
        f"{owner}stages alone, and as a pipeline; in the bars its overlap: {work.graph}, "
        f"rows of {format_bytes(work.row)}, {gpus}"
    )
    look = {"stacked": True, "width": WHOLE, "groups": groups, "upright": True, "height": HEIGHT}
    return BarPanel(title, names, tuple(series), "time of a step (ms)", "ms", **look)


def _stages_name(one: Pipeline) -> str:
    """The method, on two lines where it has several words."""
    said = pipelines.spoken(one.method)
    return said.replace(", then ", ",\n").replace(" ", "\n", 0 if "\n" in said or "," in said else 1)


def _stage(order: int, shown: Sequence[Pipeline]) -> BarSeries:
    bars = []
    for one in shown:
        bars += [Bar(exact(1e3 * one.stages[order]), machine=one.machine), BLANK]
    name = list(STAGES)[order]
    return BarSeries(f"{STAGES[name]} alone", name, tuple(bars))


def _pipelined(shown: Sequence[Pipeline]) -> BarSeries:
    bars = []
    for one in shown:
        overlap = one.counter("overlap")
        said = f"{overlap:.2f}" if overlap is not None and len(one.stages) > 1 else ""
        p99 = one.counter("p99_batch_s")
        note = f"p99 {1e3 * p99:.3g} ms" if p99 else ""
        value = one.time.scaled(1e3)
        bars += [BLANK, Bar(value, said, one.flags, note, one.machine)]
    return BarSeries("as a pipeline", "pipelined", tuple(bars))


FIGURES = (
    Entry(
        "12",
        "figure_12_training",
        "Training by way to feed it: time, stages, bytes over the link",
        (pipelines.FAMILY,),
        "rows of several modes, or gathers of a sampled trace with hot rows,",
        build,
        beside=(gathers.FAMILY,),
    ),
)
