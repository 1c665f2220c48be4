"""Figure 12: training time and bytes over the link by method, size of rows and hot share; stages and overlap;
two processes that share a GPU. Figure 21: when sampling, gathering and training worked in a pipeline, some
steps of each way to feed it.

In figure 21 a lane is a stage on one GPU. What is said of all the time is of the steps between filling and
draining the pipeline: from the end of the first window's training until a stage has nothing more to do.

Dissertation 3.11, 3.12, 3.14, 3.15, 4.9, 4.11 and 4.12.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from grainscope_report import statistics
from grainscope_report.figures import parts
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
    Span,
    SpanPanel,
    SpanRow,
    TableCell,
    exact,
)
from grainscope_report.figures.parts import exact_counter, grouped, in_order, lines
from grainscope_report.groups import gather, gather_figure, gnn
from grainscope_report.groups.gather import Gather
from grainscope_report.groups.gnn import METHODS, STAGES, Pipeline, Work
from grainscope_report.machine import Machine
from grainscope_report.model import Stage
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_time, plural, significant

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
        pipelines = gnn.pipelines(machine)
        methods += _some(_methods(machine, pipelines, owner))
        stages += _some(_stages_panel(pipelines, owner))
        hot += _some(hot_panel(machine, pipelines, owner))
        sizes += _some(_by_row(machine, pipelines, owner))
        notes += [f"{owner}{note}" for note in _notes(pipelines)]
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


def _usual_row(pipelines: Sequence[Pipeline]) -> float:
    """The size of rows of which most methods were trained, of several the smallest."""
    ways = {
        row: {pipeline.method for pipeline in pipelines if pipeline.work.row == row}
        for row in {pipeline.work.row for pipeline in pipelines}
    }
    return max(ways, key=lambda row: (len(ways[row]), -row), default=0.0)


def works(pipelines: Sequence[Pipeline]) -> list[Work]:
    """What most methods were trained on, of one size of rows; fewer GPUs first."""
    row = _usual_row(pipelines)
    counted = {
        work: len({pipeline.method for pipeline in pipelines if pipeline.work == work})
        for work in dict.fromkeys(pipeline.work for pipeline in pipelines if pipeline.work.row == row)
    }
    kept = sorted(
        (work for work in counted if counted[work] > 1), key=lambda work: (-counted[work], work.gpus)
    )
    return sorted(kept[:MOST_WORKS], key=lambda work: (work.gpus, kept.index(work)))


def _methods(machine: Machine, pipelines: Sequence[Pipeline], owner: str) -> BarPanel | None:
    """Speedups over the usual method, a CPU that gathers and copies; seconds upright."""
    shown = works(pipelines)
    by_work = {
        work: gnn.fastest([pipeline for pipeline in pipelines if pipeline.work == work]) for work in shown
    }
    by_work = {work: ways for work, ways in by_work.items() if gnn.BASE in ways}
    if not by_work:
        return None
    methods = gnn.methods({method for ways in by_work.values() for method in ways})
    fastest = list(by_work.values())
    row = format_bytes(_usual_row(pipelines))
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
    differs = [said[what] for what in said if len({getattr(pipeline, what) for pipeline in shown}) > 1]
    return "\n".join([f"{work.graph}, {work.fanout.replace('x', '×')}", *differs])


def _bar(pipeline: Pipeline | None, base: Pipeline, machine: Machine) -> Bar:
    if pipeline is None:
        return Bar(None, machine=machine)
    hot = f", {pipeline.hot:g} % hot" if pipeline.method == "tiered" else ""
    said = format_time(pipeline.time.value)
    return Bar(gnn.over(base, pipeline), said, pipeline.flags, note=f"{said}{hot}", machine=machine)


def _by_row(machine: Machine, pipelines: Sequence[Pipeline], owner: str) -> CurvePanel | None:
    """The time of a step by the size of rows, of the training that was done with most sizes."""
    kinds: dict[tuple, list[Pipeline]] = {}
    for pipeline in pipelines:
        work = pipeline.work
        kinds.setdefault((work.graph, work.fanout, work.batch, work.hidden, work.gpus), []).append(pipeline)
    there = max(kinds.values(), key=lambda own: len({pipeline.work.row for pipeline in own}), default=[])
    curves = []
    for method in gnn.methods({pipeline.method for pipeline in there}):
        by_row = {
            row: gnn.fastest([pipeline for pipeline in there if pipeline.work.row == row]).get(method)
            for row in sorted({pipeline.work.row for pipeline in there})
        }
        points = tuple(
            Point(row, _ms(pipeline), pipeline.flags) for row, pipeline in by_row.items() if pipeline
        )
        if len(points) >= FEWEST_ROWS:
            curves.append(Curve(gnn.spoken(method), method, machine, points))
    if not curves:
        return None
    work = there[0].work
    gpus = f"{work.gpus:g} GPU{'s' if work.gpus > 1 else ''}"
    title = f"{owner}by size of rows: {work.graph}, {gpus}"
    look = {"x_label": "bytes of a row", "y_log": True}
    return CurvePanel(title, tuple(curves), "time of a step (ms)", "ms", **look)


def _ms(pipeline: Pipeline) -> Estimate:
    return pipeline.time.scaled(1e3)


def _notes(pipelines: Sequence[Pipeline]) -> list[str]:
    if not pipelines:
        return []
    first = works(pipelines)
    sentences = [f"Trained: {'; '.join(dict.fromkeys(work.spoken for work in first))}."] if first else []
    sentences += _losses(pipelines)
    tiered = [pipeline.hot for pipeline in gnn.fastest(pipelines).values() if pipeline.method == "tiered"]
    if tiered:
        sentences.append(
            f"Tiered: {tiered[0]:g} % of the rows in the GPU's memory, where nothing else is said."
        )
    if any(pipeline.work.gpus > 1 for pipeline in pipelines):
        sentences.append("In a step each GPU trains on a mini-batch of its own.")
    return sentences


def _losses(pipelines: Sequence[Pipeline]) -> list[str]:
    """Whether the loss fell, and how near to each other all ways of one training ended."""
    ends: dict[Work, list[float]] = {}
    fell = True
    for pipeline in pipelines:
        first, last = pipeline.counter("loss_first"), pipeline.counter("loss_last")
        if first is None or last is None:
            return []
        fell = fell and last < first
        ends.setdefault(pipeline.work, []).append(last)
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


def _stages_panel(pipelines: Sequence[Pipeline], owner: str) -> BarPanel | None:
    """The stages of every method of the training that most methods were run on; none without stages.

    Training on the CPU is left out: one stage follows another there, and dwarfs all others.
    """
    works = grouped(
        (pipeline for pipeline in pipelines if pipeline.stages and pipeline.method != "cpu_only"),
        lambda pipeline: pipeline.work,
    )
    if not works:
        return None
    work = max(
        works, key=lambda each: (len({pipeline.method for pipeline in works[each]}), -each.gpus, -each.row)
    )
    best = gnn.fastest(works[work])
    shown = [best[method] for method in gnn.methods(best)][:MOST_METHODS]
    series = [_stage(order, shown) for order in range(len(STAGES))]
    series.append(_pipelined(shown))
    names = tuple(part for _ in shown for part in PAIR)
    groups = tuple((_stages_name(pipeline), len(PAIR)) for pipeline in shown)
    gpus = f"{work.gpus:g} GPU{'s' if work.gpus > 1 else ''}"
    title = (
        f"{owner}stages alone, and as a pipeline; in the bars its overlap: {work.graph}, "
        f"rows of {format_bytes(work.row)}, {gpus}"
    )
    look = {"stacked": True, "width": WHOLE, "groups": groups, "upright": True, "height": HEIGHT}
    return BarPanel(title, names, tuple(series), "time of a step (ms)", "ms", **look)


def _stages_name(pipeline: Pipeline) -> str:
    """The method, on two lines where it has several words."""
    said = gnn.spoken(pipeline.method)
    return said.replace(", then ", ",\n").replace(" ", "\n", 0 if "\n" in said or "," in said else 1)


def _stage(order: int, shown: Sequence[Pipeline]) -> BarSeries:
    bars = []
    for pipeline in shown:
        bars += [Bar(exact(1e3 * pipeline.stages[order]), machine=pipeline.machine), BLANK]
    name = list(STAGES)[order]
    return BarSeries(f"{STAGES[name]} alone", name, tuple(bars))


def _pipelined(shown: Sequence[Pipeline]) -> BarSeries:
    bars = []
    for pipeline in shown:
        overlap = pipeline.counter("overlap")
        said = f"{overlap:.2f}" if overlap is not None and len(pipeline.stages) > 1 else ""
        p99 = pipeline.counter("p99_batch_s")
        note = f"p99 {1e3 * p99:.3g} ms" if p99 else ""
        value = pipeline.time.scaled(1e3)
        bars += [BLANK, Bar(value, said, pipeline.flags, note, pipeline.machine)]
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


def hot_panel(machine: Machine, pipelines: Sequence[Pipeline], owner: str) -> BarPanel | None:
    """Bars by hot share of training, else of gathers of a sampled trace alone."""
    pair = _training(pipelines) or _gathers(machine)
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


def _training(pipelines: Sequence[Pipeline]) -> tuple[Series, str] | None:
    kinds = grouped(
        (pipeline for pipeline in pipelines if pipeline.method == "tiered"), lambda pipeline: pipeline.work
    )
    for work, every in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        ways = gnn.fastest([pipeline for pipeline in pipelines if pipeline.work == work])
        mode = max({pipeline.word("mode") for pipeline in every}, key=lambda mode: _count(every, mode))
        tiered = [pipeline for pipeline in every if pipeline.word("mode") == mode]
        cold = next((ways[method] for method in (mode, *COLD) if method in ways), None)
        if cold is None or len(tiered) < FEWEST:
            continue
        crossed = {
            pipeline.hot: _saved(exact(pipeline.link_bytes / cold.link_bytes))
            for pipeline in tiered
            if pipeline.link_bytes is not None and cold.link_bytes
        }
        times = {pipeline.hot: _saved(statistics.ratio(pipeline.time, cold.time)) for pipeline in tiered}
        bars = [("bytes over the link", "link_left", crossed), ("time of a step", "pipelined", times)]
        return [series for series in bars if series[2]], f"training on {work.graph}"
    return None


def _count(pipelines: Sequence[Pipeline], mode: str) -> tuple[int, str]:
    return sum(pipeline.word("mode") == mode for pipeline in pipelines), mode


def _gathers(machine: Machine) -> tuple[Series, str] | None:
    """Gathers of the mini-batches of an epoch by the masked walk, of one graph and size of rows."""
    kinds: dict[tuple, list[Gather]] = {}
    for batch in gather.measured(machine):
        if (
            batch.word("indices") == "sampled"
            and batch.word("mode") == "masked"
            and batch.store in ("tiered", "mapped")
        ):
            key = (
                batch.word("graph"),
                batch.word("fanout"),
                batch.number("batch"),
                batch.row,
                batch.number("width"),
            )
            kinds.setdefault(key, []).append(batch)
    for key, there in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        cold = next((batch for batch in there if batch.store == "mapped"), None)
        tiered = [batch for batch in there if batch.store == "tiered"]
        size = cold.case_row.link_bytes_least if cold else None
        if not tiered or not size:
            continue
        crossed = {
            batch.number("hot"): _saved(exact((batch.case_row.link_bytes_least or 0) / size))
            for batch in tiered
        }
        times = {batch.number("hot"): _saved(statistics.ratio(batch.time, cold.time)) for batch in tiered}
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
    all_found = _found(machines)
    rate = _panel(
        "gathers while training",
        _curves(all_found, exact_counter("gather_gb_s")),
        gather_figure.SM_GB_S,
        "GB/s",
    )
    steps = _curves(all_found, lambda pipeline: pipeline.time.scaled(1e3))
    pays = []
    for counter, (side, colour, dash) in SIDES.items():
        pays += _curves(all_found, exact_counter(counter), side, colour, dash)
    step = _panel("time of a step", steps, "time of a step (ms)", "ms")
    slower = _panel("what each process pays", pays, "slowdown over alone", "ratio")
    own = [panel for panel in (rate, step, slower) if panel]
    if not own:
        return [], []
    there = [*own, gather_figure.stated_sm_rates()]
    return parts.in_pairs(there), [NOTE, _best(machines, all_found)]


def _best(machines: Sequence[Machine], all_found: Found) -> str:
    said = []
    for (machine, work), own in all_found.items():
        best = min(own, key=lambda pipeline: pipeline.time.value)
        owner = f"{machines[machine].letter}: " if len(machines) > 1 else ""
        said.append(f"{owner}{work.graph}, rows of {work.row:g} B: {best.share:.3g} % for the gather")
    return f"Fastest share of two processes: {'; '.join(said)}. The dissertation's is 10 % (3.4.3)."


def _found(machines: Sequence[Machine]) -> Found:
    """The pipelines of two processes that say what they were given."""
    all_found: Found = {}
    for order, machine in enumerate(machines):
        for pipeline in gnn.pipelines(machine):
            if pipeline.method == METHOD and pipeline.share:
                all_found.setdefault((order, pipeline.work), []).append(pipeline)
    return {key: sorted(own, key=lambda pipeline: pipeline.share) for key, own in all_found.items()}


def _curves(
    all_found: Found, measure: Measure, side: str = "", colour: str = METHOD, dash: str = "solid"
) -> list[Curve]:
    """A curve for each training of each machine."""
    several = len({work for _, work in all_found}) > 1
    drawn = []
    for (_, work), own in all_found.items():
        name = side or gnn.spoken(METHOD)
        name += f", {work.graph}, {work.row:g} B" if several else ""
        drawn += lines(own, lambda pipeline: pipeline.share, measure, name, colour, dash)
    return drawn


def _panel(title: str, curves: Sequence[Curve], y_label: str, y_unit: str) -> CurvePanel | None:
    return gather_figure.by_share(f"two processes: {title}", curves, y_label, y_unit, SHARE)


# Figure 21: stages over time.

SHOWN = 6  # steps of a panel, and two windows at least
MOST_WAYS = 12
ALWAYS = 0.99  # of the time: ends are known to half a microsecond, and steps may take some tens
NONE = ""
COLOURS = {stage: name for name, stage in STAGES.items()}
Times = tuple[float, float]


@dataclass(frozen=True)
class Course:
    """A pipeline's run: its stages on each GPU, and what they did between filling and draining."""

    pipeline: Pipeline

    @property
    def name(self) -> str:
        """The method, its share of hot rows, of the GPU or its window, and what else sets it apart."""
        one = self.pipeline
        said = [gnn.spoken(one.method), f"{one.hot:g} % hot" if one.method in gnn.HOT else ""]
        said.append(f"{percent} % to gather" if (percent := one.word("percent")) else "")
        said.append(f"window {self.window}" if self.window > 1 else "")
        return ", ".join(filter(None, [*said, one.variant]))

    @cached_property
    def stages(self) -> list[Stage]:
        """By GPU, in the order in which a mini-batch passes them; other stages last."""
        order = [*STAGES.values()]
        return sorted(
            self.pipeline.case_row.timeline,
            key=lambda stage: (
                -1 if stage.gpu is None else stage.gpu,
                order.index(stage.lane) if stage.lane in order else len(order),
            ),
        )

    @property
    def window(self) -> int:
        """Mini-batches that are gathered together."""
        return int(self.pipeline.number("window")) or 1

    @cached_property
    def steps(self) -> int:
        """The steps of the longest stage."""
        return max(len(stage.end_s) for stage in self.stages)

    def trained(self, steps: int) -> float:
        """When so many steps are over on all GPUs, by the stages that go step by step."""
        single = [stage for stage in self.stages if len(stage.end_s) == self.steps]
        last = [stage for stage in single if stage.lane == STAGES["train_s"]] or single
        return max(stage.end_s[min(steps, self.steps) - 1] for stage in last)

    @cached_property
    def steady(self) -> Times:
        """From the first window's end until a stage has nothing more to do; of a short run all of it."""
        begin, end = self.trained(self.window), min(stage.end_s[-1] for stage in self.stages)
        whole = min(stage.begin_s[0] for stage in self.stages), self.trained(self.steps)
        return (begin, end) if begin < end else whole

    @cached_property
    def shown(self) -> Times:
        """The first steps of that."""
        return self.steady[0], self.trained(self.window + max(SHOWN, 2 * self.window))

    @property
    def lasts(self) -> bool:
        """Whether any time passes."""
        return all(begin < end for begin, end in (self.steady, self.shown))

    def working(self, stage: Stage) -> float:
        """The share of the steady time in which a stage works."""
        begin, end = self.steady
        return sum(two - one for one, two in _within(stage, begin, end)) / (end - begin)

    @cached_property
    def together(self) -> float:
        """The share of the steady time in which two stages or more work, on whichever GPU."""
        begin, end = self.steady
        edges = sorted(
            (at, by, stage.lane)
            for stage in self.stages
            for pair in _within(stage, begin, end)
            for at, by in zip(pair, (1, -1), strict=True)
        )
        at_work, length = dict.fromkeys((stage.lane for stage in self.stages), 0), 0.0
        for (at, by, lane), (after, _, _) in pairwise([*edges, (end, 0, "")]):
            at_work[lane] += by
            length += (after - at) * (sum(map(bool, at_work.values())) > 1)
        return length / (end - begin)


def _within(stage: Stage, begin: float, end: float) -> Iterator[Times]:
    """When a stage works between two times."""
    for one, two in zip(stage.begin_s, stage.end_s, strict=True):
        if two > begin and one < end:
            yield max(one, begin), min(two, end)


def build_timeline(machines: Sequence[Machine]) -> Figure:
    """A panel for each way to feed the training that was done in most ways, and which stages always work."""
    panels, notes = [], []
    for machine in machines:
        owner = parts.owner(machine, len(machines) > 1)
        courses = _courses(machine)
        panels += [_timeline_panel(course, machine, owner) for course in courses[:MOST_WAYS]]
        notes += [f"{owner}{note}" for note in _timeline_notes(courses)]
    notes += [TIMELINE_NOTE] if panels else []
    return Figure(machines, tuple(parts.in_pairs(panels)), tuple(notes))


TIMELINE_NOTE = (
    "Of the middle visit's run. Numbers in boxes are mini-batches. Behind a lane is the share of the time in "
    "which it works; stages are at once while two or more work. Both leave filling and draining out."
)


def _courses(machine: Machine) -> list[Course]:
    """The best of each way, of the training that most ways were timed on; few GPUs and short rows first."""
    there = [pipeline for pipeline in gnn.every_pipeline(machine) if pipeline.case_row.timeline]
    lasting = [pipeline for pipeline in there if Course(pipeline).lasts]
    works = {
        work: _best_course(own) for work, own in grouped(lasting, lambda pipeline: pipeline.work).items()
    }
    if not works:
        return []
    best = works[max(works, key=lambda work: (len(works[work]), -work.gpus, -work.row))]
    order = in_order([method for method, _ in best], tuple(METHODS))
    return [Course(best[way]) for way in sorted(best, key=lambda way: (order.index(way[0]), way[1]))]


def _best_course(pipelines: Sequence[Pipeline]) -> dict[tuple[str, str], Pipeline]:
    """The pipeline that stands for each way, by method and variant."""
    variants = grouped(pipelines, lambda pipeline: pipeline.variant)
    return {
        (method, variant): best
        for variant, own in variants.items()
        for method, best in gnn.fastest(own).items()
    }


def _timeline_panel(course: Course, machine: Machine, owner: str) -> SpanPanel:
    begin, end = course.shown
    step = format_time(course.pipeline.time.value)
    title = f"{owner}{course.name}: {step} a step, stages at once {100 * course.together:.0f} %"
    rows = tuple(_row(course, stage, machine) for stage in course.stages)
    return SpanPanel(title, rows, (1e3 * begin, 1e3 * end))


def _row(course: Course, stage: Stage, machine: Machine) -> SpanRow:
    begin, end = course.shown
    batches = gnn.mini_batches(course.pipeline.case_row, stage)
    spans = tuple(
        Span(of[0], of[-1], 1e3 * one, 1e3 * two)
        for of, one, two in zip(batches, stage.begin_s, stage.end_s, strict=True)
        if two > begin and one < end
    )
    share = 100 * course.working(stage)
    working = TableCell(f"{share:.0f} %", exact(share), "%", "measured")
    several = len({one.gpu for one in course.stages}) > 1
    place = "CPU" if stage.gpu is None else f"GPU {stage.gpu}"
    name, part = (place, stage.lane) if several else (stage.lane, "")
    return SpanRow(name, part, COLOURS.get(stage.lane, stage.lane), machine, spans, working)


def _timeline_notes(courses: Sequence[Course]) -> Iterator[str]:
    """What was trained, and which stages work all of the time or nearly so."""
    if not courses:
        return
    work = courses[0].pipeline.work
    on_gpu = any(stage.gpu is not None for course in courses for stage in course.stages)
    where = plural(int(work.gpus), "GPU") if on_gpu else "on the CPU"
    yield f"Trained: {work.spoken}, rows of {format_bytes(work.row)}, {where}."
    if work.gpus > 1:
        yield "In training is the wait for the other GPUs' gradients."
    at_work: dict[str, list[str]] = {}
    for course in courses:
        on_gpus = grouped(course.stages, lambda stage: stage.lane).items()
        always = [lane for lane, stages in on_gpus if min(map(course.working, stages)) > ALWAYS]
        for lane in always or [NONE]:
            at_work.setdefault(lane, []).append(course.name)
    none = at_work.pop(NONE, [])
    if at_work:
        said = "; ".join(f"{lane} ({'; '.join(names)})" for lane, names in at_work.items())
        yield f"At work for more than {100 * ALWAYS:.0f} % of the time: {said}."
    if none:
        yield f"No stage works for more than {100 * ALWAYS:.0f} % of the time: {'; '.join(none)}."
    if more := courses[MOST_WAYS:]:
        yield f"Not drawn: {'; '.join(course.name for course in more)}."


FIGURES = (
    Entry("12", "figure_12_training", "Training by way to feed it: time, stages, bytes over the link",
          (gnn.FAMILY,), "rows of several modes, or gathers of a sampled trace with hot rows,", build,
          beside=(gather.FAMILY,)),
    Entry("21", "figure_21_stages_over_time", "Stages of training over time, in a pipeline under way",
          (gnn.FAMILY,), "rows with a timeline", build_timeline),
)  # fmt: skip
