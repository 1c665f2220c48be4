"""After how many epochs hot rows in GPU memory have paid for finding them and for bringing them there.

Once: scoring, ranking and renumbering (rows of `tiering/score` and `tiering/reorder` of the same training and
graph where the run has them, else what the pipeline itself took: `prepare_s`) and filling the GPU's part of
the table. Each epoch saves its steps' time against the same way to gather with all rows mapped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grainscope_report.groups.gather import machine_rows
from grainscope_report.groups.gnn import pipelines, tiers
from grainscope_report.groups.gnn.pipelines import Pipeline
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate

# What pipelines number rows by, and how they number the graph.
SCORE, LISTS = "presampled", "pasted"
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
    found = pipelines.pipelines(machine)
    scorings = tiers.scorings(machine)
    reorders = machine_rows.of(machine, tiers.REORDER)
    answers = []
    for tiered in found:
        mapped = _mapped(tiered, found)
        fill_s, batches = tiered.counter("fill_s"), tiered.counter("epoch_batches")
        if tiered.method != "tiered" or mapped is None or fill_s is None or not batches:
            continue
        parts = _finding(tiered, scorings, reorders) | {"fill_s": fill_s}
        answers.append(Payback(tiered, mapped, batches / tiered.work.gpus, parts))
    return answers


def _mapped(tiered: Pipeline, found: Sequence[Pipeline]) -> Pipeline | None:
    """The same way to gather, all rows on the host."""

    def way(one: Pipeline) -> tuple:
        return one.work, one.word("mode"), one.number("window"), one.word("features"), one.label

    same = (one for one in found if one.word("store") == "mapped" and way(one) == way(tiered))
    return next(same, None)


def _finding(
    tiered: Pipeline, scorings: Sequence[tiers.Scoring], reorders: Sequence[machine_rows.MachineRow]
) -> dict[str, float]:
    work = tiered.work
    score = next(
        (
            one
            for one in scorings
            if (one.score, one.training.graph, one.training.fanout, one.training.batch)
            == (SCORE, work.graph, work.fanout, work.batch)
        ),
        None,
    )
    reorder = next(
        (one for one in reorders if (one.word("lists"), one.word("graph")) == (LISTS, work.graph)), None
    )
    if score is not None and reorder is not None:
        known = {"score_s": score.counter("score_s"), "rank_s": score.counter("rank_s")}
        parts = known if None not in known.values() else {"score_s": score.time.value}
        return parts | {"reorder_s": reorder.time.value}
    prepare_s = tiered.counter("prepare_s")
    return {} if prepare_s is None else {"prepare_s": prepare_s}
