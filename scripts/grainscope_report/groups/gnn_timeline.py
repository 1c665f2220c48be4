"""Figure 21: when sampling, gathering and training worked in a pipeline, some steps of each way to feed it.

A lane is a stage on one GPU. What is said of all the time is of the steps between filling and draining the
pipeline: from the end of the first window's training until a stage has nothing more to do.

Dissertation 3.11.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from grainscope_report.figures import parts
from grainscope_report.figures.frame import grouped, in_order
from grainscope_report.figures.model import Entry, Figure, Span, SpanPanel, SpanRow, TableCell, exact
from grainscope_report.groups import gnn
from grainscope_report.groups.gnn import METHODS, STAGES, Pipeline
from grainscope_report.machine import Machine
from grainscope_report.model import Stage
from grainscope_report.units import format_bytes, format_time, plural

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


def build(machines: Sequence[Machine]) -> Figure:
    """A panel for each way to feed the training that was done in most ways, and which stages always work."""
    panels, notes = [], []
    for machine in machines:
        owner = parts.owner(machine, len(machines) > 1)
        courses = _courses(machine)
        panels += [_panel(course, machine, owner) for course in courses[:MOST_WAYS]]
        notes += [f"{owner}{note}" for note in _notes(courses)]
    notes += [NOTE] if panels else []
    return Figure(machines, tuple(parts.in_pairs(panels)), tuple(notes))


NOTE = (
    "Of the middle visit's run. Numbers in boxes are mini-batches. Behind a lane is the share of the time in "
    "which it works; stages are at once while two or more work. Both leave filling and draining out."
)


def _courses(machine: Machine) -> list[Course]:
    """The best of each way, of the training that most ways were timed on; few GPUs and short rows first."""
    there = [pipeline for pipeline in gnn.every_pipeline(machine) if pipeline.case_row.timeline]
    lasting = [pipeline for pipeline in there if Course(pipeline).lasts]
    works = {work: _best(own) for work, own in grouped(lasting, lambda pipeline: pipeline.work).items()}
    if not works:
        return []
    best = works[max(works, key=lambda work: (len(works[work]), -work.gpus, -work.row))]
    order = in_order([method for method, _ in best], tuple(METHODS))
    return [Course(best[way]) for way in sorted(best, key=lambda way: (order.index(way[0]), way[1]))]


def _best(pipelines: Sequence[Pipeline]) -> dict[tuple[str, str], Pipeline]:
    """The pipeline that stands for each way, by method and variant."""
    variants = grouped(pipelines, lambda pipeline: pipeline.variant)
    return {
        (method, variant): best
        for variant, own in variants.items()
        for method, best in gnn.fastest(own).items()
    }


def _panel(course: Course, machine: Machine, owner: str) -> SpanPanel:
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


def _notes(courses: Sequence[Course]) -> Iterator[str]:
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
    Entry("21", "figure_21_stages_over_time", "Stages of training over time, in a pipeline under way",
          (gnn.FAMILY,), "rows with a timeline", build),
)  # fmt: skip
