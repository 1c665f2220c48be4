"""Rows of tiering and sampling: how much of the accesses the best rows take, and what finding them costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report.figures.series import in_order
from grainscope_report.groups.gather import machine_rows
from grainscope_report.groups.gather.machine_rows import MachineRow
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.units import format_percent, significant

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

    @property
    def spoken(self) -> str:
        """`pareto18, fan-out 10×25, batch 1000, 10 % labelled`."""
        return (
            f"{self.graph}, fan-out {self.fanout.replace('x', '×')}, batch {self.batch:g}, "
            f"{self.labelled:g} % labelled"
        )

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
            self.word("graph"), self.word("fanout"), self.number("batch"), self.number("labelled")
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


def scorings(machine: Machine) -> list[Scoring]:
    """Every score that this machine computed."""
    return [Scoring(one.machine, one.case_row) for one in machine_rows.of(machine, SCORE)]


def trainings(found: Sequence[Scoring]) -> list[Training]:
    """The training runs, in the order of the file."""
    return list(dict.fromkeys(one.training for one in found))


def scores(found: Sequence[str]) -> list[str]:
    """Scores in the order in which they are shown."""
    return in_order(found, tuple(SCORES))


def best(found: Sequence[Scoring], percent: int = 10) -> Scoring | None:
    """The score, known beforehand, whose first rows take most."""
    there = [one for one in found if one.score != OPTIMAL and one.hits(percent) is not None]
    return max(there, key=lambda one: one.hits(percent), default=None)


def _score(row: Row) -> Iterator[str]:
    if (hits := row.counters.get("hit_rate_10")) is not None:
        yield f"first 10 %: {format_percent(hits)} of accesses"
    if (share := row.counters.get("of_optimal_10")) is not None:
        yield f"{share:.3f} of optimal"


def _edges(row: Row) -> Iterator[str]:
    if (rate := row.counters.get("edges_per_s")) is not None:
        yield f"{significant(rate / 1e6)} M edges/s"


# What `list` says of a row beside its time, by family.
COUNTED = {SCORE: _score, REORDER: _edges, SAMPLING: _edges}
