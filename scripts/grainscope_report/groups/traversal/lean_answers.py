"""What algorithms that move fewer bytes buy beside the fastest walk over whole lists of the same graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grainscope_report.groups.traversal import compare, lean, runs
from grainscope_report.groups.traversal.lean import Lean
from grainscope_report.groups.traversal.runs import Run, Work
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate


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


def gains(machine: Machine) -> list[Gain]:
    """For each work, the fastest without edges in GPU memory and the fastest of each budget."""
    there, emogi = lean.measured(machine), runs.measured(machine)
    names = runs.graphs([one.run for one in there])
    algorithms = runs.algorithms(one.run for one in there)
    works = sorted(
        {one.run.work for one in there},
        key=lambda work: (algorithms.index(work.algorithm), names.index(work.graph), work.weights),
    )
    found = []
    for work in works:
        own = [one for one in there if one.run.work == work]
        for hot in sorted({one.hot for one in own}):
            found.append(_gain([one for one in own if one.hot == hot], emogi, work))
    return found


def _gain(own: Sequence[Lean], emogi: Sequence[Run], work: Work) -> Gain:
    best = min(own, key=lambda one: one.run.time.value)
    bases = {placement: lean.base(emogi, work, placement) for placement in ("mapped", "device")}
    over = {name: compare.speedup(run, best.run) for name, run in bases.items() if run}
    return Gain(best, bases["mapped"], over)


def as_json(gain: Gain) -> dict[str, Any]:
    """Everything, plain: seconds, bytes."""
    best, time = gain.best, lean.mean_time(gain.best.run)
    return {
        "algorithm": gain.work.algorithm,
        "graph": gain.work.graph,
        "weights": gain.work.weights or None,
        "strategy": best.strategy,
        "technique": best.technique,
        "hot_percent": best.hot,
        "time_s": _estimate(time),
        "link_bytes": best.run.row.link_bytes_least,
        "gpu_bytes_for_edges": best.hot_bytes,
        "over_emogi": _estimate(gain.over.get("mapped")),
        "over_device": _estimate(gain.over.get("device")),
        "fewer_bytes_than_emogi": gain.bytes_over,
        "emogi_access": gain.emogi.access if gain.emogi else None,
        "modelled_s": best.modelled[0] if best.modelled else None,
        "modelled_off": best.modelled[1] if best.modelled else None,
    }


def _estimate(value: Estimate | None) -> dict[str, float] | None:
    return value and {"value": value.value, "low": value.low, "high": value.high}
