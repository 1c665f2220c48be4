"""Figure 12: training time and bytes over the link by method, size of rows and hot share; stages and overlap.

Dissertation 3.12, 3.14, 3.15, 4.9, 4.11 and 4.12.
"""

from collections.abc import Callable, Sequence

from grainscope_report import statistics
from grainscope_report.figures import parts
from grainscope_report.figures.frame import exact_counter, lines
from grainscope_report.figures.model import (
    WHOLE,
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    Entry,
    Figure,
    Level,
    Panel,
    Point,
    exact,
)
from grainscope_report.groups import gather, gather_figure, gnn
from grainscope_report.groups.gather import Gather
from grainscope_report.groups.gnn import STAGES, Pipeline, Work
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
        owner = parts.owner(machine, len(machines) > 1)
        there = gnn.pipelines(machine)
        methods += _some(_methods(machine, there, owner))
        stages += _some(_stages_panel(there, owner))
        hot += _some(hot_panel(machine, there, owner))
        sizes += _some(_by_row(machine, there, owner))
        notes += [f"{owner}{note}" for note in _notes(there)]
    rows: list[tuple[Panel, ...]] = [(panel,) for panel in methods]
    rows += (
        [
            (
                gather_figure.stated(
                    "RTX 3090, PCIe 4", gather_figure.TRAINING, gather_figure.OVER, "ratio", upright=True
                ),
                gather_figure.stated("V100, PCIe 3, chapter 4", gather_figure.LATER, "speedup", "ratio"),
            )
        ]
        if methods
        else []
    )
    rows += [(panel,) for panel in stages]
    shared, more = share_panels(machines)
    rows += shared
    notes += more
    rows += [
        *_pairs(hot, gather_figure.stated("papers100M, V100", gather_figure.SAVED, "saved (%)")),
        *_pairs(
            sizes, gather_figure.stated("two RTX 3090", gather_figure.BY_ROW, gather_figure.OVER, "ratio")
        ),
    ]
    notes += [NOTE_ON_STAGES] if stages else []
    notes += HOT_NOTES if hot else []
    notes += [gather_figure.WHISKERS] if rows else []
    return Figure(machines, tuple(rows), tuple(dict.fromkeys(notes)))


def _some(panel: Panel | None) -> list[Panel]:
    return [panel] if panel else []


def _pairs(own: Sequence[Panel], stated: Panel) -> list[tuple[Panel, ...]]:
    """Our panels and the dissertation's, two in a row; nothing without ours."""
    there = [*own, stated] if own else []
    return parts.in_pairs(there)


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
    by_work = {work: gnn.fastest([one for one in found if one.work == work]) for work in shown}
    by_work = {work: ways for work, ways in by_work.items() if gnn.BASE in ways}
    if not by_work:
        return None
    methods = gnn.methods({method for ways in by_work.values() for method in ways})
    fastest = list(by_work.values())
    row = format_bytes(_usual_row(found))
    return parts.bars_by_way(
        f"{owner}training, rows of {row}; upright: time of a step",
        [_name(work, list(by_work)) for work in by_work],
        [(method, gnn.spoken(method)) for method in methods],
        lambda method, order: _bar(fastest[order].get(method), fastest[order][gnn.BASE], machine),
        (gather_figure.OVER, "ratio"),
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
    return Bar(gnn.over(base, one), said, one.flags, note=f"{said}{hot}", machine=machine)


def _by_row(machine: Machine, found: Sequence[Pipeline], owner: str) -> CurvePanel | None:
    """The time of a step by the size of rows, of the training that was done with most sizes."""
    kinds: dict[tuple, list[Pipeline]] = {}
    for one in found:
        work = one.work
        kinds.setdefault((work.graph, work.fanout, work.batch, work.hidden, work.gpus), []).append(one)
    there = max(kinds.values(), key=lambda own: len({one.work.row for one in own}), default=[])
    curves = []
    for method in gnn.methods({one.method for one in there}):
        by_row = {
            row: gnn.fastest([one for one in there if one.work.row == row]).get(method)
            for row in sorted({one.work.row for one in there})
        }
        points = tuple(Point(row, _ms(one), one.flags) for row, one in by_row.items() if one)
        if len(points) >= FEWEST_ROWS:
            curves.append(Curve(gnn.spoken(method), method, machine, points))
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
    tiered = [one.hot for one in gnn.fastest(found).values() if one.method == "tiered"]
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
    best = gnn.fastest(works[work])
    shown = [best[method] for method in gnn.methods(best)][:MOST_METHODS]
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
    said = gnn.spoken(one.method)
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


HOT_HEIGHT = 1.6
FEWEST = 2
# Without hot rows, the way that walks as the tiered one does, else another zero-copy one.
COLD = ("masked", "address_ordered", "circular_shift", "naive")
SAVED = "saved (%)"


HOT_NOTES = (
    "Saved: of the bytes over the link and of the time with none of the rows in the GPU's memory.",
    "The dissertation's “further reduce the training time by 42 %” may be of all or of what 5 % left.",
)


def hot_panel(machine: Machine, found: Sequence[Pipeline], owner: str) -> BarPanel | None:
    """Bars by hot share of training, else of gathers of a sampled trace alone."""
    pair = _training(found) or _gathers(machine)
    if pair is None:
        return None
    bars, where = pair
    hot = sorted({percent for _, _, values in bars for percent in values})
    names = tuple(f"{percent:g} %" for percent in hot)
    series = tuple(
        BarSeries(name, method, tuple(_hot_bar(values.get(percent), machine) for percent in hot))
        for name, method, values in bars
    )
    title = f"{owner}by share of hot rows in the GPU's memory: {where}"
    return BarPanel(title, names, series, SAVED, "%", upright=True, height=HOT_HEIGHT)


def _saved(left: statistics.Estimate) -> statistics.Estimate:
    """Percent that are saved where a share is left."""
    ends = (100 * (1 - share) for share in (left.value, left.high, left.low))
    return statistics.Estimate(*ends, left.visits)


def _hot_bar(value: statistics.Estimate | None, machine: Machine) -> Bar:
    return Bar(value, f"{value.value:.3g}" if value else "", machine=machine)


Series = list[tuple[str, str, dict[float, statistics.Estimate]]]


def _training(found: Sequence[Pipeline]) -> tuple[Series, str] | None:
    kinds: dict = {}
    for one in found:
        if one.method == "tiered":
            kinds.setdefault(one.work, []).append(one)
    for work, every in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        ways = gnn.fastest([one for one in found if one.work == work])
        mode = max({one.word("mode") for one in every}, key=lambda mode: _count(every, mode))
        tiered = [one for one in every if one.word("mode") == mode]
        cold = next((ways[method] for method in (mode, *COLD) if method in ways), None)
        if cold is None or len(tiered) < FEWEST:
            continue
        crossed = {
            one.hot: _saved(exact(one.link_bytes / cold.link_bytes))
            for one in tiered
            if one.link_bytes is not None and cold.link_bytes
        }
        times = {one.hot: _saved(statistics.ratio(one.time, cold.time)) for one in tiered}
        bars = [("bytes over the link", "link_left", crossed), ("time of a step", "pipelined", times)]
        return [one for one in bars if one[2]], f"training on {work.graph}"
    return None


def _count(found: Sequence[Pipeline], mode: str) -> tuple[int, str]:
    return sum(one.word("mode") == mode for one in found), mode


def _gathers(machine: Machine) -> tuple[Series, str] | None:
    """Gathers of the mini-batches of an epoch by the masked walk, of one graph and size of rows."""
    kinds: dict[tuple, list[Gather]] = {}
    for one in gather.measured(machine):
        if (
            one.word("indices") == "sampled"
            and one.word("mode") == "masked"
            and one.store in ("tiered", "mapped")
        ):
            key = one.word("graph"), one.word("fanout"), one.number("batch"), one.row, one.number("width")
            kinds.setdefault(key, []).append(one)
    for key, there in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        cold = next((one for one in there if one.store == "mapped"), None)
        tiered = [one for one in there if one.store == "tiered"]
        size = cold.case_row.link_bytes_least if cold else None
        if not tiered or not size:
            continue
        crossed = {
            one.number("hot"): _saved(exact((one.case_row.link_bytes_least or 0) / size)) for one in tiered
        }
        times = {one.number("hot"): _saved(statistics.ratio(one.time, cold.time)) for one in tiered}
        bars = [("bytes over the link", "link_left", crossed), ("time of a gather", "pipelined", times)]
        return bars, f"gathers alone, {key[0]}, rows of {key[3]:g} B"
    return None


SHARE = "share of the multiprocessors that gathering was given (%)"
SIDES = {
    "gather_slowdown": ("gathering", "gather_s", "solid"),
    "train_slowdown": ("training", "train_s", "dashed"),
}
METHOD = "processes"
NOTE = (
    "Two processes: one samples and gathers, one trains on the rest of the GPU (MPS); rows and lists by CUDA "
    "IPC. Slowdown: time of a gather or step while the other process works, over that alone with all of the "
    "GPU."
)
Measure = Callable[[Pipeline], Estimate | None]
# By machine and training, smaller shares first.
Found = dict[tuple[int, Work], list[Pipeline]]


def share_panels(machines: Sequence[Machine]) -> tuple[list[tuple[Panel, ...]], list[str]]:
    """Rate of the gather, time of a step, both slowdowns over the share, beside the paper's; notes."""
    found = _found(machines)
    rate = _panel(
        "gathers while training", _curves(found, exact_counter("gather_gb_s")), gather_figure.SM_GB_S, "GB/s"
    )
    steps = _curves(found, lambda one: one.time.scaled(1e3))
    pays = []
    for counter, (side, colour, dash) in SIDES.items():
        pays += _curves(found, exact_counter(counter), side, colour, dash)
    step = _panel("time of a step", steps, "time of a step (ms)", "ms")
    slower = _panel("what each process pays", pays, "slowdown over alone", "ratio")
    own = [panel for panel in (rate, step, slower) if panel]
    if not own:
        return [], []
    there = [*own, gather_figure.stated_sm_rates()]
    return parts.in_pairs(there), [NOTE, _best(machines, found)]


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
        for one in gnn.pipelines(machine):
            if one.method == METHOD and one.share:
                found.setdefault((order, one.work), []).append(one)
    return {key: sorted(own, key=lambda one: one.share) for key, own in found.items()}


def _curves(
    found: Found, measure: Measure, side: str = "", colour: str = METHOD, dash: str = "solid"
) -> list[Curve]:
    """A curve for each training of each machine."""
    several = len({work for _, work in found}) > 1
    drawn = []
    for (_, work), own in found.items():
        name = side or gnn.spoken(METHOD)
        name += f", {work.graph}, {work.row:g} B" if several else ""
        drawn += lines(own, lambda pipeline: pipeline.share, measure, name, colour, dash)
    return drawn


def _panel(title: str, curves: Sequence[Curve], y_label: str, y_unit: str) -> CurvePanel | None:
    return gather_figure.by_share(f"two processes: {title}", curves, y_label, y_unit, SHARE)


FIGURES = (
    Entry(
        "12",
        "figure_12_training",
        "Training by way to feed it: time, stages, bytes over the link",
        (gnn.FAMILY,),
        "rows of several modes, or gathers of a sampled trace with hot rows,",
        build,
        beside=(gather.FAMILY,),
    ),
)
