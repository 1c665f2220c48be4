"""What managed memory would move if a card held a part of the edge list: modelled, of one link and page."""

from dataclasses import dataclass
from typing import Any

from grainscope_report.groups.traversal import compare, runs
from grainscope_report.groups.traversal.runs import Run, Work
from grainscope_report.machine import Machine

COUNTER = "amplification_data_set"


@dataclass(frozen=True)
class Moved:
    """How often a work's data set crosses the link, by the percent of it that the card holds."""

    work: Work
    link: str
    page: float
    times: dict[float, float]


def moved(machine: Machine) -> list[Moved]:
    """Each work, of the link and page that figure 9 has."""
    paged = [run for run in runs.paged(machine) if run.counter(COUNTER) is not None]
    link = compare.one_link(paged, runs.modelled(machine)) if paged else ""
    pressed = compare.under_pressure(runs.like_the_paper(paged), link)
    by_work: dict[Work, list[Run]] = {}
    for run in paged:
        if pressed and (run.link, run.page) == (pressed[0].link, pressed[0].page):
            by_work.setdefault(run.work, []).append(run)
    return [
        Moved(
            work,
            there[0].link,
            there[0].page,
            {run.card: run.counter(COUNTER) for run in sorted(there, key=lambda run: run.card)},
        )
        for work, there in by_work.items()
    ]


def as_json(one: Moved) -> dict[str, Any]:
    """Everything, plain; the times by percent of the edge list that the card holds."""
    return {
        "algorithm": one.work.algorithm,
        "graph": one.work.graph,
        "edge": one.work.edge,
        "weights": one.work.weights or None,
        "link": one.link,
        "page": one.page,
        "data_set_times": {f"{card:g}": times for card, times in one.times.items()},
    }
