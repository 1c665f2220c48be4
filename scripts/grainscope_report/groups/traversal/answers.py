"""What the traversals of one run come to: the best access to each graph, and what it is better than.

`best` is the fastest way that leaves the edges in host memory and needs no managed memory, vertices in their
original order. Managed memory as measured is cold and not oversubscribed; modelled, it is under pressure.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grainscope_report.groups.traversal import compare, runs
from grainscope_report.groups.traversal.runs import ORDERS, Run, Work
from grainscope_report.machine import Machine
from grainscope_report.model import Level
from grainscope_report.statistics import Estimate

BASES = ("managed", "device")

# Times that differ by less than this share are one: a model says the same of accesses that ask for the same.
SAME = 1e-9

COLD = "cold, not oversubscribed unless --allow-managed-oversubscription was given"


@dataclass(frozen=True)
class Answer:
    """The best way to do a work; `over` by placement, how much faster it is than the fastest way there.

    Of several that take the same time `best` is the first.
    """

    work: Work
    best: Run
    ways: tuple[Run, ...]
    over: dict[str, Estimate]

    @property
    def label(self) -> str:
        """`measured` or `modelled`."""
        return self.best.label

    @property
    def tied(self) -> tuple[Run, ...]:
        """The ways that take just as long as the best."""
        return tuple(
            run
            for run in self.ways
            if run is not self.best
            and run.placement not in BASES
            and math.isclose(run.time.value, self.best.time.value, rel_tol=SAME)
        )

    def like(self, way: Run) -> Run | None:
        """The way here with the same access and placement."""
        alike = (way.access, way.placement)
        return next((run for run in self.ways if (run.access, run.placement) == alike), None)

    @property
    def amplification(self) -> float | None:
        """Bytes over the link for each byte of the edges read."""
        traffic = self.best.traffic("counted") or self.best.traffic("modelled")
        return traffic.amplification if traffic else None

    @property
    def busiest(self) -> Level | None:
        """The level of the first trial that took longest."""
        timed = [level for level in self.best.row.levels if level.seconds]
        return max(timed, key=lambda level: level.seconds, default=None)


def answers(machine: Machine) -> list[Answer]:
    """The measured answers, then the modelled ones, by algorithm and graph."""
    here = [run for run in runs.measured(machine) if run.order == ORDERS[0]]
    model = runs.modelled(machine)
    pressed: list[Run] = []
    if model:
        paged = runs.paged(machine)
        link = compare.one_link(model, paged)
        model = [run for run in model if run.link == link]
        pressed = compare.under_pressure(paged, link)
    return [*_answers(here, here), *_answers(model, pressed)]


def _answers(there: Sequence[Run], bases: Iterable[Run]) -> list[Answer]:
    found = []
    for work in _in_order({run.work for run in there}, there):
        ways = sorted((run for run in there if run.work == work), key=lambda run: run.time.value)
        best = next((run for run in ways if run.placement not in BASES), None)
        if best is None:
            continue
        over = {}
        for placement in BASES:
            own = [run for run in bases if run.work == work and (run.placement or "managed") == placement]
            if slow := runs.fastest(own):
                over[placement] = compare.speedup(slow, best)
        found.append(Answer(work, best, tuple(ways), over))
    return found


def _in_order(works: Iterable[Work], there: Sequence[Run]) -> list[Work]:
    """Algorithm by algorithm, the largest graph first, wide edges first."""
    algorithms, graphs = runs.algorithms(there), runs.graphs(there)

    def place(work: Work) -> tuple:
        return algorithms.index(work.algorithm), graphs.index(work.graph), -work.edge, work.weights

    return sorted(works, key=place)


def as_json(answer: Answer) -> dict[str, Any]:
    """Everything, plain: seconds, edges a second, GB/s."""
    best, busiest = answer.best, answer.busiest
    return {
        "algorithm": answer.work.algorithm,
        "graph": answer.work.graph,
        "edge": answer.work.edge,
        "weights": answer.work.weights or None,
        "label": answer.label,
        "link": best.link or None,
        "best": _way(best),
        "tied": [_way(run) for run in answer.tied],
        "over_managed": _estimate(answer.over.get("managed")),
        "over_device": _estimate(answer.over.get("device")),
        "managed": "under pressure, modelled" if answer.label == "modelled" else COLD,
        "busiest_level": busiest and {
            "level": busiest.level,
            "seconds": busiest.seconds,
            "edges": busiest.edges,
            "link_gb_s": busiest.link_bytes / busiest.seconds / 1e9 if busiest.link_bytes else None,
        },
        "amplification": answer.amplification,
        "ways": [_way(run) for run in answer.ways],
    }  # fmt: skip


def _way(run: Run) -> dict[str, Any]:
    return {
        "access": run.access,
        "placement": run.placement or None,
        "time_s": _estimate(run.time),
        "trials": len(run.trials) or None,
        "teps": run.counter("teps"),
        "link_gb_s": run.counter("link_gb_s"),
        "link_fraction": run.link_fraction,
    }


def _estimate(value: Estimate | None) -> dict[str, float] | None:
    return value and {"value": value.value, "low": value.low, "high": value.high}
