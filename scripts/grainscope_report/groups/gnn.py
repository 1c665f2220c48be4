"""Rows of graph neural networks: training pipelines, scores of tiers, and when hot rows pay.

A pipeline is a step's time by the way in which it is fed, and its stages alone; in a step each GPU trains
on a mini-batch of its own. A score says how much of the accesses the best rows take. Hot rows pay after so
many epochs as it takes to save what finding and bringing them cost.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.figures.parts import MachineRow, beside, best_of, in_order, machine_rows, slower
from grainscope_report.groups import gather
from grainscope_report.machine import Machine
from grainscope_report.model import Row, Stage
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_percent, significant

FAMILY = "pipeline/graphsage"
STAGES = {"sample_s": "sampling", "gather_s": "gathering", "train_s": "training"}
# Modes, and modes with where the rows are where that makes another method of it.
METHODS = {
    "cpu_only": "training on the CPU",
    "cpu_gather_dma": "CPU gather, then copies",
    "naive": "naive",
    "circular_shift": "circular shift",
    "masked": "masked",
    "graphbolt": "GraphBolt",
    "address_ordered": "address-ordered",
    "processes": "two processes (MPS)",
    "tiered": "tiered",
    "device": "all in the GPU",
    "multi_gpu": "hot rows on all GPUs",
}
PLACED = ("tiered", "device", "multi_gpu")
HOT = ("tiered", "multi_gpu")
# Where lists lie, but for each GPU's own memory, where they usually do.
PLACEMENTS = {"host": "the CPU samples", "mapped": "lists on the host", "interleaved": "lists on all GPUs"}
# Two processes that share a GPU are a method; a process for each GPU is a way to do any.
SHARED, EACH = "mps", "per_gpu"
BASE = "cpu_gather_dma"
USUAL_HOT = 10.0
ON_CPU = ("cpu_only", "cpu_gather", "cpu")


@dataclass(frozen=True, order=True)
class Work:
    """What is trained: pipelines of the same one may be compared."""

    graph: str
    fanout: str
    batch: float
    row: float
    hidden: float
    gpus: float = 1

    @property
    def spoken(self) -> str:
        """`pareto22, fan-out 10×25, batch 1000, hidden 256`."""
        return (
            f"{self.graph}, fan-out {self.fanout.replace('x', '×')}, batch {self.batch:g}, "
            f"hidden {self.hidden:g}"
        )


@dataclass(frozen=True)
class Pipeline(MachineRow):
    """One way to feed a training."""

    @property
    def method(self) -> str:
        """The mode; `tiered` and `device` where the rows are there, `processes` where two share the GPU."""
        mode, store = self.word("mode"), self.word("store")
        if self.word("processes") == SHARED:
            return "processes"
        if mode in ON_CPU:
            return "cpu_only"
        return store if store in PLACED else mode

    @property
    def variant(self) -> str:
        """What sets it apart from the usual way of its method; empty where it is that."""
        said = ["no bound"] if self.word("bounded") == "off" else []
        if placement := self.word("placement"):
            said.append(PLACEMENTS.get(placement, placement))
        if self.word("processes") == EACH:
            said.append("a process for each GPU")
        return ", ".join(said)

    @property
    def work(self) -> Work:
        """What is trained, and on how many GPUs."""
        sizes = (self.number(axis) for axis in ("batch", "row", "hidden"))
        return Work(self.word("graph"), self.word("fanout"), *sizes, self.number("gpus") or 1)

    @property
    def hot(self) -> float:
        """Percent of the rows in the GPU's memory."""
        return 100.0 if self.method == "device" else self.number("hot")

    @property
    def stages(self) -> list[float]:
        """Seconds of each stage alone; empty where one is not known."""
        found = [self.counter(name) for name in STAGES]
        return [one for one in found if one is not None] if None not in found else []

    @property
    def share(self) -> float | None:
        """Percent of the GPU's multiprocessors that the process which gathers was given."""
        given, there = self.counter("given_sms"), self.counter("available_sms")
        return 100 * given / there if given and there else None

    @property
    def link_bytes(self) -> float | None:
        """Bytes over the link, a mini-batch."""
        told = self.counter("link_bytes")
        return told if told is not None else self.case_row.link_bytes_least


def pipelines(machine: Machine) -> list[Pipeline]:
    """Every training that this machine did in the usual way of its method."""
    return [pipeline for pipeline in every_pipeline(machine) if not pipeline.variant]


def variants(machine: Machine) -> list[tuple[Pipeline, Pipeline]]:
    """Trainings in another way, each with the usual one that is the same otherwise.

    With a process for each GPU usual is the same in one process, whatever its bounds and lists.
    """
    others = [pipeline for pipeline in every_pipeline(machine) if pipeline.variant]
    each, one = (
        [row for row in others if (row.word("processes") == EACH) == which] for which in (True, False)
    )
    usual = pipelines(machine)
    return beside(one, usual, "bounded", "placement") + beside(each, usual + one, "processes")


def every_pipeline(machine: Machine) -> list[Pipeline]:
    """Every training that this machine did, in whatever way."""
    return machine_rows(machine, FAMILY, Pipeline)


def mini_batches(row: Row, stage: Stage) -> list[range]:
    """Which mini-batches each step of a stage of a timeline is of: one, or those of a window."""
    last, window = max(len(one.begin_s) for one in row.timeline), row.case.axes.get("window")
    each = int(window) if len(stage.begin_s) < last and isinstance(window, (int, float)) else 1
    firsts = (at * each for at, _ in enumerate(stage.begin_s))
    return [range(first, max(first + 1, min(first + each, last))) for first in firsts]


def over(slow: Pipeline, fast: Pipeline) -> Estimate:
    """How many times faster `fast` is."""
    return statistics.ratio(slow.time, fast.time)


def fastest(all_pipelines: Sequence[Pipeline]) -> dict[str, Pipeline]:
    """Of each method the fastest, of a tiered one with as many hot rows as the dissertation has."""

    def rank(pipeline: Pipeline) -> tuple[float, float]:
        off = abs(pipeline.hot - USUAL_HOT) if pipeline.method in HOT else 0.0
        return -off, -pipeline.time.value

    return best_of(all_pipelines, lambda pipeline: pipeline.method, rank)


def methods(found: Sequence[str]) -> list[str]:
    """Methods in the order in which they are shown."""
    return in_order(found, tuple(METHODS))


def spoken(method: str) -> str:
    """The name of a method."""
    return METHODS.get(method, gather.spoken(method))


def _counted(row: Row) -> Iterator[str]:
    yield from slower(row, *(stage.removesuffix("_s") for stage in STAGES))
    if (overlap := row.counters.get("overlap")) is not None:
        yield f"overlap {overlap:.2f}"
    if (loss := row.counters.get("loss_last")) is not None:
        yield f"loss {significant(loss)}"


SCORE, REORDER, SAMPLING = "tiering/score", "tiering/reorder", "sampling/neighbours"
SCORES = {
    "degree": "degree",
    "reverse_pagerank": "reverse page rank",
    "weighted_reverse_pagerank": "weighted reverse page rank",
    "presampled": "presampled",
    "optimal": "optimal, by hindsight",
}
OPTIMAL = "optimal"
PERCENTS = (1, 2, 5, 10, 20, 25, 50)


@dataclass(frozen=True, order=True)
class Training:
    """The training run that accesses are of: scores of the same one may be compared."""

    graph: str
    fanout: str
    batch: float
    labelled: float
    own: str = ""

    @property
    def spoken(self) -> str:
        """`pareto18, fan-out 10×25, batch 1000, 10 % labelled`."""
        return (
            f"{self.graph}, fan-out {self.fanout.replace('x', '×')}, batch {self.batch:g}, {self.trained_on}"
        )

    @property
    def trained_on(self) -> str:
        """`10 % labelled`, of one's own files `10 % labelled by NAME` or `training ids of NAME`."""
        share = f"{self.labelled:g} %"
        if not self.own:
            return f"{share} labelled"
        return f"{share} labelled by {self.own}" if self.labelled else f"training ids of {self.own}"

    @property
    def depth(self) -> int:
        """How many hops are sampled, 0 where their fan-outs differ."""
        hops = self.fanout.split("x")
        return len(hops) if len(set(hops)) == 1 else 0


@dataclass(frozen=True)
class Scoring(MachineRow):
    """One score on one training run."""

    @property
    def score(self) -> str:
        """The name of the score as cases have it."""
        return self.word("score")

    @property
    def training(self) -> Training:
        """What the accesses are of."""
        return Training(
            self.word("graph"),
            self.word("fanout"),
            self.number("batch"),
            self.number("labelled"),
            self.word("train_ids") or self.word("labels"),
        )

    @property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Shares of rows with the shares of accesses that they take."""
        return self.case_row.hit_curve

    def hits(self, percent: int) -> float | None:
        """The share of accesses that the first so many percent of rows take."""
        return self.counter(f"hit_rate_{percent}")

    def of_optimal(self, percent: int) -> float | None:
        """That share over the optimal order's."""
        return self.counter(f"of_optimal_{percent}")


def scored(machine: Machine) -> list[Scoring]:
    """Every score that this machine computed."""
    return machine_rows(machine, SCORE, Scoring)


def trainings(scorings: Sequence[Scoring]) -> list[Training]:
    """The training runs, in the order of the file."""
    return list(dict.fromkeys(scoring.training for scoring in scorings))


def scores(found: Sequence[str]) -> list[str]:
    """Scores in the order in which they are shown."""
    return in_order(found, tuple(SCORES))


def best_score(scorings: Sequence[Scoring], percent: int = 10) -> Scoring | None:
    """The score, known beforehand, whose first rows take most."""
    chosen_scorings = [
        scoring for scoring in scorings if scoring.score != OPTIMAL and scoring.hits(percent) is not None
    ]
    return max(chosen_scorings, key=lambda scoring: scoring.hits(percent), default=None)


def _score(row: Row) -> Iterator[str]:
    if (hits := row.counters.get("hit_rate_10")) is not None:
        yield f"first 10 %: {format_percent(hits)} of accesses"
    if (share := row.counters.get("of_optimal_10")) is not None:
        yield f"{share:.3f} of optimal"


def _edges(row: Row) -> Iterator[str]:
    if (rate := row.counters.get("edges_per_s")) is not None:
        yield f"{significant(rate / 1e6)} M edges/s"


# What `list` says of a row beside its time, by family.
COUNTED = {FAMILY: _counted, SCORE: _score, REORDER: _edges, SAMPLING: _edges}


# What pipelines number rows by, and how they number the graph.
CHEAP_SCORE, LISTS = "presampled", "pasted"
PARTS = {
    "score_s": "scoring",
    "rank_s": "ranking",
    "reorder_s": "renumbering",
    "prepare_s": "presampling, ranking and renumbering",
    "fill_s": "filling",
}


@dataclass(frozen=True)
class Payback:
    """A tiered pipeline against the same one with all rows mapped."""

    tiered: Pipeline
    mapped: Pipeline
    steps: float
    parts: dict[str, float]
    others: tuple[MachineRow, ...] = ()  # that parts are of

    @property
    def cost_s(self) -> float:
        """Seconds once."""
        return sum(self.parts.values())

    @property
    def saved(self) -> Estimate:
        """Seconds an epoch, below 0 where tiering is slower; the interval is as wide as both times allow."""
        slow, fast = self.mapped.time, self.tiered.time
        return Estimate(
            self.steps * (slow.value - fast.value),
            self.steps * (slow.low - fast.high),
            self.steps * (slow.high - fast.low),
            min(slow.visits, fast.visits),
        )

    @property
    def epochs(self) -> float | None:
        """After how many epochs it pays; None: never."""
        return self._after(self.saved.value)

    @property
    def between(self) -> tuple[float | None, float | None]:
        """The same by both ends of the interval, the soonest first."""
        return self._after(self.saved.high), self._after(self.saved.low)

    def _after(self, saved: float) -> float | None:
        return self.cost_s / saved if saved > 0 else None

    @property
    def spoken(self) -> str:
        """`after 6.2 epochs`, or what stands against it."""
        if self.epochs is None:
            return "never"
        return "within the first epoch" if self.epochs <= 1 else f"after {_short(self.epochs)} epochs"


def _short(epochs: float) -> str:
    return f"{epochs:.1f}" if epochs < 10 else f"{math.ceil(epochs)}"


def paybacks(machine: Machine) -> list[Payback]:
    """Of each tiered pipeline whose filling was timed, in the order of the file."""
    all_pipelines = pipelines(machine)
    scorings = scored(machine)
    reorders = machine_rows(machine, REORDER)
    answers = []
    for tiered in all_pipelines:
        mapped = _mapped(tiered, all_pipelines)
        fill_s, batches = tiered.counter("fill_s"), tiered.counter("epoch_batches")
        if tiered.method != "tiered" or mapped is None or fill_s is None or not batches:
            continue
        parts, others = _finding(tiered, scorings, reorders)
        steps = batches / tiered.work.gpus
        answers.append(Payback(tiered, mapped, steps, parts | {"fill_s": fill_s}, others))
    return answers


def _mapped(tiered: Pipeline, all_pipelines: Sequence[Pipeline]) -> Pipeline | None:
    """The same way to gather, all rows on the host."""

    def way(one: Pipeline) -> tuple:
        return one.work, one.word("mode"), one.number("window"), one.word("features"), one.label

    same = (
        pipeline
        for pipeline in all_pipelines
        if pipeline.word("store") == "mapped" and way(pipeline) == way(tiered)
    )
    return next(same, None)


def _finding(
    tiered: Pipeline, scorings: Sequence[Scoring], reorders: Sequence[MachineRow]
) -> tuple[dict[str, float], tuple[MachineRow, ...]]:
    """What finding the hot rows costs, and the other rows that say so."""
    work = tiered.work
    score = next(
        (
            scoring
            for scoring in scorings
            if (scoring.score, scoring.training.graph, scoring.training.fanout, scoring.training.batch)
            == (CHEAP_SCORE, work.graph, work.fanout, work.batch)
        ),
        None,
    )
    reorder = next(
        (row for row in reorders if (row.word("lists"), row.word("graph")) == (LISTS, work.graph)), None
    )
    if score is not None and reorder is not None:
        known = {"score_s": score.counter("score_s"), "rank_s": score.counter("rank_s")}
        parts = known if None not in known.values() else {"score_s": score.time.value}
        return parts | {"reorder_s": reorder.time.value}, (score, reorder)
    prepare_s = tiered.counter("prepare_s")
    return ({} if prepare_s is None else {"prepare_s": prepare_s}), ()
