"""Traversals that move fewer bytes (families `lean/`): what each technique is, takes and moves, and what
it buys beside the fastest walk over whole lists of the same graph.

A technique is what is done beside the algorithm itself: beginnings of lists kept in GPU memory, compressed
lists, and whatever further axis says something else than that there is none of it.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Any

from grainscope_report import naming
from grainscope_report.groups import traversal
from grainscope_report.groups.traversal import LEAN, Run, Work
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import FEWEST_FOR_INTERVAL, Z_95, Estimate, plain

FAMILIES = tuple(f"{LEAN}{algorithm}" for algorithm in ("bfs", "cc", "pr", "sssp"))
# Axes that say what is computed and where, and those that are told in words of their own.
_OTHERS = {
    "graph",
    "weights",
    "locality",
    "strategy",
    "tier",
    "hot",
    "hot_budget",
    "lists",
    "segments",
    "gpus",
}
_NOT_THERE = {"none", "off", "no", "plain", "read", 0}
HOT = "hot"
EXCHANGE = "edge_gather"  # GraphPEG's, emulated


@dataclass(frozen=True)
class Lean:
    """One technique on one work: `tier` is which beginnings of lists are hot, `hot` percent of the edges.

    `more` are the other techniques in words: `compressed lists`.
    """

    run: Run
    strategy: str
    tier: str
    hot: float
    more: tuple[str, ...]

    @property
    def techniques(self) -> tuple[str, ...]:
        """What is done beside the algorithm, whatever is hot and how much."""
        return (*self.more, *([HOT] if self.hot else []))

    @property
    def technique(self) -> str:
        """`compressed lists, 25 % hot (heads)`, or `alone`."""
        hot = [f"{self.hot:.3g} % hot ({self.tier})"] if self.hot else []
        return ", ".join([*self.more, *hot]) or "alone"

    @property
    def text(self) -> str:
        """`direction-optimising, compressed lists, 25 % hot (heads)`."""
        return ", ".join([spoken(self.strategy), *([] if self.technique == "alone" else [self.technique])])

    @property
    def hot_bytes(self) -> float:
        """GPU memory for edges."""
        return self.run.counter("hot_bytes") or 0.0

    @property
    def gpu_bytes(self) -> float | None:
        """All GPU memory: state, where lists lie, edges; None of rows from before it was counted."""
        return self.run.counter("gpu_bytes")

    @property
    def prepared_s(self) -> float | None:
        """As of its row."""
        return prepared_s(self.run.row)

    def pays_after(self, walk: Run | None) -> int | None:
        """How many runs take as much less than those of a walk over whole lists as was prepared.

        None: no number does, for all that their intervals tell, or one of both is not known.
        """
        if walk is None or self.prepared_s is None:
            return None
        own, whole = mean_time(self.run), mean_time(walk)
        return math.ceil(self.prepared_s / (whole.value - own.value)) if own.high < whole.low else None

    @property
    def modelled(self) -> tuple[float, float] | None:
        """The model's time of the first trial, seconds, and how far off it is, as a share of the measured."""
        seconds, share = self.run.counter("modelled_s"), self.run.counter("modelled_over_measured")
        return (seconds, share - 1) if seconds is not None and share is not None else None

    @property
    def modelled_bytes(self) -> tuple[float, float] | None:
        """The model's bytes over the link in the first trial, and how far off what was moved they are.

        Rows whose reads are not the model's fail, but for sssp, whose reads depend on who comes first.
        """
        traffic = self.run.traffic("modelled")
        if traffic is None or traffic.bytes is None:
            return None
        modelled = traffic.bytes + (self.run.counter("modelled_copied_bytes") or 0)
        first = self.run.row.trials[0].counters.get("link_bytes") if self.run.row.trials else None
        return modelled, modelled / first - 1 if first else 0.0


def prepared_s(row: Row) -> float | None:
    """Seconds that the host takes once, before every run.

    To number vertices, compress lists and choose what is hot; copying to the GPU and first neighbours of
    plain lists are not in it.
    """
    numbered = row.counters.get("prepare_s")
    more = (row.counters.get(name, 0.0) for name in ("compress_s", "tier_s"))
    return None if numbered is None else numbered + sum(more)


def spoken(strategy: str) -> str:
    """`direction-optimising`, `near-far`."""
    return strategy.replace("_", "-")


def measured(machine: Machine) -> list[Lean]:
    """What this machine measured, at the site that most of its rows are of."""
    runs = traversal.of_family(machine, LEAN)
    usual = {
        algorithm: Counter(_strategy(run) for run in runs if run.work.algorithm == algorithm)
        for algorithm in traversal.algorithms(runs)
    }
    return [_lean(run, usual[run.work.algorithm].most_common(1)[0][0]) for run in runs]


def of(run: Run) -> Lean:
    """One run, by itself."""
    return _lean(run, _strategy(run))


def _strategy(run: Run) -> str:
    return str(run.row.case.axes.get("strategy", ""))


def _lean(run: Run, usual: str) -> Lean:
    """Another strategy than the usual one of the algorithm is a technique, too."""
    axes = run.row.case.axes
    lists, strategy = str(axes.get("lists", "plain")), _strategy(run)
    segments = str(axes.get("segments", "read"))
    more = [] if strategy == usual else [spoken(strategy)]
    more += [] if lists in _NOT_THERE else [f"{lists} lists"]
    more += [] if segments in _NOT_THERE else [segments]
    for axis, value in axes.items():
        if axis in ("packed", "answers"):
            more.append(naming.word(axis, str(value)))
        elif axis not in _OTHERS and value not in _NOT_THERE:
            more.append(axis if value in ("on", "yes", 1) else f"{axis} {value}")
    return Lean(run, usual, str(axes.get("tier", "none")), _hot(run), tuple(more))


def _hot(run: Run) -> float:
    """Percent of the edge list in GPU memory; of a budget in bytes, what it came to."""
    axes = run.row.case.axes
    return (run.counter("hot_percent") or 0.0) if "hot_budget" in axes else float(axes.get("hot", 0))


def like(run: Run, work: Work) -> bool:
    """Whether a run is of the same algorithm, graph and weights, whatever its edges' width."""
    one = run.work
    return (one.algorithm, one.graph) == (work.algorithm, work.graph) and one.weights == work.weights


def base(runs: Sequence[Run], work: Work, placement: str) -> Run | None:
    """The fastest walk over whole lists of a work, in the original order, with its edges in this placement.

    By EMOGI's accesses or GraphPEG's exchange.
    """
    return traversal.fastest(
        run
        for run in runs
        if like(run, work) and (run.placement, run.order) == (placement, traversal.ORDERS[0])
    )


def whose(run: Run) -> str:
    """Who walks whole lists so."""
    return "GraphPEG" if run.access == EXCHANGE else "EMOGI"


def mean_time(run: Run) -> Estimate:
    """Seconds, the mean over trials after GAP: a mean trial's edges over the harmonic mean of TEPS.

    So a source from which little is reached counts for little. Whiskers are 95 % of that mean, of fewer
    than 8 trials their range.
    """
    times, edges = run.trials, _edges(run)
    if not times:
        return run.time
    mean = fmean(edges.get(label, 1.0) for label in times)
    each = [time * mean / edges.get(label, 1.0) for label, time in times.items()]
    value, visits = fmean(each), run.time.visits
    if len(each) < FEWEST_FOR_INTERVAL:
        return Estimate(value, min(each), max(each), visits)
    off = Z_95 * stdev(each) / math.sqrt(len(each))
    return Estimate(value, value - off, value + off, visits)


def _edges(run: Run) -> dict[str, float]:
    """The edges that each trial's TEPS counts; nothing where any trial has none."""
    found = {
        trial.label: trial.counters.get("teps", 0.0) * median(trial.samples_s) for trial in run.row.trials
    }
    return found if all(found.values()) and found.keys() == run.trials.keys() else {}


@dataclass(frozen=True)
class Gain:
    """The fastest technique on a work, of those with this budget of GPU memory for edges.

    `over` by placement: how much faster it is than the fastest walk over whole lists there (`emogi`: by
    EMOGI's accesses or GraphPEG's exchange). `bytes_over` how many times fewer bytes cross the link than
    with that walk.
    """

    best: Lean
    emogi: Run | None
    over: dict[str, Estimate]

    @property
    def work(self) -> Work:
        """What is computed."""
        return self.best.run.work

    @property
    def bytes_over(self) -> float | None:
        """That walk's bytes over the link for each of its own; None where either is not known."""
        own, theirs = (_link_bytes(run) for run in (self.best.run, self.emogi))
        return theirs / own if own and theirs else None


def _link_bytes(run: Run | None) -> float | None:
    return run.row.link_bytes_least if run else None


def works(techniques: Sequence[Lean]) -> list[Work]:
    """What is computed, by algorithm, the largest graph first."""
    graphs = traversal.graphs([technique.run for technique in techniques])
    algorithms = traversal.algorithms(technique.run for technique in techniques)
    return sorted(
        {technique.run.work for technique in techniques},
        key=lambda work: (algorithms.index(work.algorithm), graphs.index(work.graph), work.weights),
    )


def gains(machine: Machine) -> list[Gain]:
    """For each work, the fastest without edges in GPU memory and the fastest of each budget."""
    there, emogi = measured(machine), traversal.measured(machine)
    all_gains = []
    for work in works(there):
        own = [one for one in there if one.run.work == work]
        for hot in sorted({one.hot for one in own}):
            all_gains.append(_gain([one for one in own if one.hot == hot], emogi, work))
    return all_gains


def _gain(own: Sequence[Lean], emogi: Sequence[Run], work: Work) -> Gain:
    best = min(own, key=lambda technique: technique.run.time.value)
    bases = {placement: base(emogi, work, placement) for placement in ("mapped", "device")}
    over = {name: traversal.speedup(run, best.run) for name, run in bases.items() if run}
    return Gain(best, bases["mapped"], over)


def as_json(gain: Gain) -> dict[str, Any]:
    """Everything, plain: seconds, bytes."""
    best, time = gain.best, mean_time(gain.best.run)
    return {
        "algorithm": gain.work.algorithm,
        "graph": gain.work.graph,
        "weights": gain.work.weights or None,
        "strategy": best.strategy,
        "technique": best.technique,
        "hot_percent": best.hot,
        "time_s": plain(time),
        "link_bytes": best.run.row.link_bytes_least,
        "gpu_bytes": best.gpu_bytes,
        "gpu_bytes_for_edges": best.hot_bytes,
        "prepared_s": best.prepared_s,
        "pays_after_runs": best.pays_after(gain.emogi),
        "over_emogi": plain(gain.over.get("mapped")),
        "over_device": plain(gain.over.get("device")),
        "fewer_bytes_than_emogi": gain.bytes_over,
        "emogi_access": gain.emogi.access if gain.emogi else None,
        "modelled_s": best.modelled[0] if best.modelled else None,
        "modelled_off": best.modelled[1] if best.modelled else None,
    }
