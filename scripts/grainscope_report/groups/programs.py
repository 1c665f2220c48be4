"""Programs predicted from the microbenchmarks of the same run, beside what was measured: how far off the
predictions are, what bounds each row, and whether the fastest way is the same. Figure 20.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grainscope_report.figures.model import Curve, CurvePanel, Entry, Figure, Point, exact
from grainscope_report.groups import programs_rates as rates
from grainscope_report.groups import programs_times as programs
from grainscope_report.groups.programs_rates import LackingRatesError
from grainscope_report.groups.programs_times import FAMILIES, Prediction, UnpredictedError
from grainscope_report.machine import Machine
from grainscope_report.model import Result, Row
from grainscope_report.statistics import median, percentile
from grainscope_report.units import format_percent, plural

NEAR, FAR = 0.10, 0.50
NINTH = 90.0
# Ways that are predicted this near to each other are predicted to be alike.
ALIKE = 0.02
# The uncertainty of a row of a single visit, as far as those of several tell.
ONE_VISIT = 0.02
SURELY = 2.0  # standard uncertainties
# How a thing is done: of these a program may take the fastest. All other axes are what is asked.
WAYS = {
    "access", "edge", "element", "lists", "memory", "mode", "placement", "segments", "store", "strategy",
    "tier", "width", "window",
}  # fmt: skip
MEMORY = "memory"
IN_THE_GPU = "device"
FEW_ROWS = 1 << 14


@dataclass(frozen=True)
class Predicted:
    """A measured row and what was predicted of it."""

    row: Row
    prediction: Prediction

    @property
    def group(self) -> str:
        """`gather`, `traversal` or `lean`."""
        return self.row.case.family.partition("/")[0]

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.prediction.seconds / self.row.median_s - 1

    @property
    def question(self) -> tuple:
        """Equal for rows between which a program may choose: what is asked, and how much is in the GPU."""
        axes = {axis: value for axis, value in self.row.case.without(*WAYS) if axis != "hot" or value}
        family, _, algorithm = self.row.case.family.partition("/")
        asked = f"{family}/{algorithm}" if self.group == "gather" else algorithm
        return asked, *sorted(axes.items()), self.row.case.site_key

    @property
    def way(self) -> str:
        """Its family and the axes that say how."""
        axes = self.row.case.axes
        return " ".join([self.row.case.family, *(str(axes[axis]) for axis in sorted(WAYS & axes.keys()))])

    @property
    def standard(self) -> float:
        """The relative standard uncertainty within the run; what runs differ by is common to its rows."""
        told = self.row.uncertainty
        return told.a.standard if told and told.a else ONE_VISIT

    def per(self, seconds: float) -> float:
        """Of gathers for each byte asked for, since several batches may stand in one row."""
        return seconds / self.row.bytes if self.group == "gather" and self.row.bytes else seconds


@dataclass(frozen=True)
class Choice:
    """Ways to one end of which the two fastest are further apart than their uncertainty."""

    ways: tuple[Predicted, ...]

    @cached_property
    def fastest(self) -> Predicted:
        """The fastest as measured."""
        return min(self.ways, key=lambda one: one.per(one.row.median_s))

    @cached_property
    def picked(self) -> Predicted:
        """The fastest as predicted."""
        return min(self.ways, key=lambda one: one.per(one.prediction.seconds))

    @property
    def same(self) -> bool:
        """Whether the fastest way is predicted to be so, alone or with those that are predicted alike."""
        most = self.picked.per(self.picked.prediction.seconds) * (1 + ALIKE)
        return self.fastest.per(self.fastest.prediction.seconds) <= most


@dataclass(frozen=True)
class Quality:
    """How well the rows of a group were predicted: absolute relative errors, and choices.

    `bounds` are how many rows each resource bounds; `beyond` are the rows that are off by more than half.
    """

    group: str
    rows: int
    median: float
    ninth: float
    beyond: tuple[Predicted, ...]
    bounds: tuple[tuple[str, int], ...]
    choices: int
    same: int
    predicted: tuple[Predicted, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True)
class Predictions:
    """What became of the programs of a run; without `rows`, `why_not` says which rates are lacking."""

    rows: tuple[Predicted, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    why_not: str = ""

    @cached_property
    def choices(self) -> list[Choice]:
        """Every choice that lies outside the uncertainty."""
        return list(choices(self.rows))

    @property
    def qualities(self) -> list[Quality]:
        """Group by group."""
        found = [quality(group, self.rows, self.choices) for group in FAMILIES]
        return [one for one in found if one.rows]


def of(result: Result, fitted: dict[str, programs.Work] | None = None) -> Predictions:
    """The programs of a run by its own microbenchmarks, and by constants fitted on other kinds of GPUs."""
    asked = [row for row in result.rows if row.measured and programs.is_program(row)]
    if not asked:
        return Predictions()
    found: list[Predicted] = []
    left_out: Counter[str] = Counter()
    known, work = rates.by_row(result), programs.constants_for(result, fitted)
    for row in asked:
        try:
            found.append(Predicted(row, programs.predict(row, known(row), work)))
        except UnpredictedError as error:
            left_out[str(error)] += 1
        except LackingRatesError as error:
            if MEMORY not in row.case.axes:
                return Predictions(why_not=str(error))
            left_out[str(error)] += 1
    return Predictions(tuple(found), tuple(left_out.most_common()))


@dataclass(frozen=True)
class WhatIf:
    """What was predicted of a change, beside a row in which it was emulated."""

    what: str
    row: Row
    seconds: float

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.seconds / self.row.median_s - 1


FEWER = "fewer multiprocessors"
SHARED = "the link shared with a second copy"
OTHER = "another kind of memory"


def what_ifs(result: Result) -> Iterator[WhatIf]:
    """Changes that rows of the run emulate, predicted from the microbenchmarks without the change."""
    for row in result.of("sm_share/gather"):
        seen = row.counters.get("seen_sms", 0)
        loads = "mode" not in row.case.axes  # of bulk copies no rate is by multiprocessors
        in_context = row.measured and loads and row.case.axes.get("by") == "green_context"
        if in_context and 0 < seen < row.counters.get("available_sms", 0):
            with suppress(LackingRatesError):
                yield WhatIf(FEWER, row, _by_few(result, row, seen))
    for row in result.of("contention"):
        if row.measured and (row.case.axes.get("what"), row.case.axes.get("path")) == TWO_COPIES:
            with suppress(LackingRatesError):
                yield WhatIf(SHARED, row, _beside_a_copy(result, row))
    yield from _in_other_memory(result)


def _in_other_memory(result: Result) -> Iterator[WhatIf]:
    """What rows over the usual kind ask for, by the misses of the other kind."""
    asked = [row for row in result.rows if row.measured and programs.is_program(row)]
    usual = {_without_memory(row): row for row in asked if MEMORY not in row.case.axes}
    known, work = rates.by_row(result), programs.constants_for(result)
    for row in asked:
        if MEMORY in row.case.axes and _without_memory(row) in usual:
            with suppress(UnpredictedError, LackingRatesError):
                seconds = programs.predict(usual[_without_memory(row)], known(row), work).seconds
                yield WhatIf(OTHER, row, seconds)


def _without_memory(row: Row) -> tuple:
    return row.case.family, row.case.without(MEMORY), row.case.site_key


TWO_COPIES = ("engine_and_kernel", "host_to_gpu")


def _by_few(result: Result, row: Row, multiprocessors: float) -> float:
    """Rows of whole lines, read by so many multiprocessors."""
    gpu, width = row.case.site.get("gpu", 0), float(row.case.axes["width"])
    known = rates.of(result, gpu)
    # Lanes of other widths are as walks of the widest that is narrower.
    walks = [narrow for narrow in (4.0, 16.0) if narrow <= width]
    slower = known.times_longer(rates.slower_by_few(result, multiprocessors, max(walks, default=4.0), gpu))
    return known.kernel_s + slower.link(row.bytes / rates.LINE, row.bytes)


def _beside_a_copy(result: Result, row: Row) -> float:
    """What crosses one link at once takes as long as one after the other."""
    known = rates.of(result, row.case.site.get("gpu", 0))
    copied, read = (sum(lane.bytes for lane in row.lanes if lane.name == name) for name in LANES)
    return known.copies(copied) + known.link(read / rates.LINE, read)


LANES = ("copy_engine", "kernel_copy")


def choices(rows: Iterable[Predicted]) -> Iterator[Choice]:
    """The choices outside the uncertainty; what lies in the GPU's memory already is no way to bring it."""
    questions: dict[tuple, list[Predicted]] = defaultdict(list)
    for one in rows:
        if IN_THE_GPU not in (one.row.case.axes.get("placement"), one.row.case.axes.get("store")):
            questions[one.question].append(one)
    for ways in questions.values():
        ranked = sorted(ways, key=lambda one: one.per(one.row.median_s))
        if len(ranked) < 2:
            continue
        first, second = ranked[:2]
        apart = math.log(second.per(second.row.median_s) / first.per(first.row.median_s))
        if apart > SURELY * math.hypot(first.standard, second.standard):
            yield Choice(tuple(ways))


def quality(group: str, rows: Iterable[Predicted], found: Iterable[Choice]) -> Quality:
    """The quality of one group; a choice between groups is counted with the group of its fastest way."""
    own = [one for one in rows if one.group == group]
    errors = [abs(one.error) for one in own]
    asked = [choice for choice in found if choice.fastest.group == group]
    return Quality(
        group,
        len(own),
        median(errors) if errors else 0.0,
        percentile(errors, NINTH) if errors else 0.0,
        tuple(sorted((one for one in own if abs(one.error) > FAR), key=lambda one: -abs(one.error))),
        tuple(Counter(one.prediction.bound for one in own).most_common()),
        len(asked),
        sum(choice.same for choice in asked),
        tuple(own),
    )


def as_json(one: Quality) -> dict[str, Any]:
    """A quality as plain data."""
    return {
        "group": one.group,
        "rows": one.rows,
        "median_error": one.median,
        "ninth_decile_error": one.ninth,
        "choices": one.choices,
        "same_fastest_way": one.same,
        "bounds": dict(one.bounds),
        "beyond_half": [
            {"row": far.row.name, "error": far.error, "bound": far.prediction.bound, "why": why(far)}
            for far in one.beyond
        ],
    }


# What a row beyond half of its time may be explained by: its name, and whether it is of that kind.
Reason = tuple[str, Callable[[Row], bool]]
REASONS: tuple[Reason, ...] = (
    (
        "threads of the host gather: how fast they are just then, and what each has under way, is in no rate",
        lambda row: (
            str(row.case.axes.get("mode", "")).startswith("cpu_gather")
            or row.case.axes.get("placement") == "subway"
        ),
    ),
    (
        "a short batch: too few rows to keep requests under way, or rows that are in the GPU still",
        lambda row: 0 < _rows_of(row) < FEW_ROWS,
    ),
    (
        "rows asked for thousands of times: how many of the copies cross is not modelled",
        lambda row: row.case.axes.get("indices") == "zipf",
    ),
    (
        "additions to the vertex to which most edges lead wait for one another",
        lambda row: row.case.family.endswith("/pr") and row.case.axes.get("placement") == "device",
    ),
    (
        "joins of hot neighbours: how long they take depends on the order in which a program joins them",
        lambda row: row.case.family.endswith("/cc") and "lists" in row.case.axes,
    ),
    (
        "lanes walk lists of their own: caches keep more of some graphs' lists than of others'",
        lambda row: row.case.axes.get("access") == "naive",
    ),
    (
        "teams of a few lanes or blocks that share lists: constants are of a warp a list",
        lambda row: str(row.case.axes.get("access")).startswith(("merged_aligned_by_", "block_", "merge_")),
    ),
    ("faults of scattered pages", lambda row: "managed" in (row.case.axes.get("store"), _placement(row))),
)


def _rows_of(row: Row) -> float:
    size = row.case.axes.get("row")
    return row.bytes / float(size) if size and row.bytes and row.case.family.startswith("gather") else 0.0


def _placement(row: Row) -> Any:
    return row.case.axes.get("placement")


def why(far: Predicted) -> str:
    """What explains a row that is far off, empty where nothing here does."""
    return next((reason for reason, holds in REASONS if holds(far.row)), "")


BANDS = ((NEAR, "dashed"), (FAR, "dotted"))
# The colour of each resource, by a method that has it.
COLOURS = {
    "link": "pinned",
    "translations": "demand",
    "copies": "prefetch",
    "faults": "write_combined",
    "host": "host",
    "GPU": "zero_copy",
    "GPU memory": "kernel_copy",
    "launches": "pageable",
    "steps": "registered",
    "one list": "zero_copy_random",
    "sort": "traffic",
}


def build(machines: Sequence[Machine]) -> Figure:
    """Predicted against measured time, a panel for each group, with bands of a tenth and of half."""
    made = {machine.index: of(machine.result) for machine in machines}
    panels = [panel for group in FAMILIES if (panel := _panel(machines, made, group))]
    if not panels:
        return Figure(machines, ())
    rows = (tuple(panels[:2]), tuple(panels[2:])) if len(panels) > 2 else (tuple(panels),)
    return Figure(machines, rows, tuple(_notes(machines, made)))


def _panel(machines: Sequence[Machine], made: dict[int, Predictions], group: str) -> CurvePanel | None:
    curves = []
    for machine in machines:
        bounds: dict[str, list[Predicted]] = defaultdict(list)
        for one in made[machine.index].rows:
            if one.group == group:
                bounds[one.prediction.bound].append(one)
        for bound, own in bounds.items():
            points = tuple(
                Point(1e3 * one.row.median_s, exact(1e3 * one.prediction.seconds))
                for one in sorted(own, key=lambda one: one.row.median_s)
            )
            name = f"bound by {bound}"
            colour = COLOURS[bound]
            curves.append(Curve(name, colour, machine, points, dash="none", config=name, label="modelled"))
    if not curves:
        return None
    x = [point.x for curve in curves for point in curve.points]
    low, high = min(x) / 1.5, max(x) * 1.5
    lines = [
        Curve(
            f"± {100 * share:.0f} %" if share else "equal",
            "partner",
            machines[0],
            tuple(Point(at, exact(at * factor)) for at in (low, high)),
            dash=dash,
            label="modelled",
            marked=False,
        )
        for share, dash in ((0.0, "solid"), *BANDS)
        for factor in sorted({1 - share, 1 + share})
    ]
    return CurvePanel(
        f"{group}: time in ms",
        (*curves, *lines),
        y_label="predicted (ms)",
        y_unit="ms",
        x_label="measured (ms)",
        x_unit="ms",
        y_log=True,
        x_range=(low, high),
    )


def _notes(machines: Sequence[Machine], made: dict[int, Predictions]) -> Iterator[str]:
    for machine in machines:
        owner = f"{machine.letter}: " if len(machines) > 1 else ""
        yield from (f"{owner}{sentence(one)}." for one in made[machine.index].qualities)
        for reason, count in made[machine.index].left_out:
            yield f"{owner}Not predicted: {plural(count, 'row')}: {reason}."
    yield (
        "Predicted from transfer, reach, grain, latency, call and host rows of the same run; constants of "
        "algorithms are fitted on other kinds of GPUs. Lines: equal, a tenth off, half off."
    )


def sentence(one: Quality) -> str:
    """`gather: off by 2 % at the median, within 15 % in nine of ten rows; 6 of 6 fastest ways the same`."""
    chosen = f"; the same fastest way in {one.same} of {one.choices} choices" if one.choices else ""
    return (
        f"{one.group}: {one.rows} rows, off by {format_percent(one.median)} at the median, within "
        f"{format_percent(one.ninth)} in nine of ten{chosen}"
    )


FIGURES = (
    Entry("20", "figure_20_predicted_programs", "Programs predicted from microbenchmarks",
          programs.DRAWN,
          "rows beside the microbenchmarks that they are predicted from", build),
)  # fmt: skip
