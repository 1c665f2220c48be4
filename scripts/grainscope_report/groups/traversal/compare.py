"""How much faster one run is than another of the same work, and means of such ratios."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

from grainscope_report import statistics
from grainscope_report.groups.traversal.runs import HERE, LINKS, Run, Work
from grainscope_report.statistics import FEWEST_FOR_INTERVAL, Estimate


class Linked(Protocol):
    """A modelled run or row, over a link."""

    @property
    def link(self) -> str:
        """The link's name."""


# How much of the edge list a card holds where the papers' graphs meet their 16 GB, and what one fault brings.
PRESSURE_CARD, PRESSURE_PAGE = 50.0, 65536.0


def speedup(slow: Run, fast: Run) -> Estimate:
    """How many times faster `fast` is.

    Runs are compared trial by trial, because sources differ more than visits do: the median of the
    ratios of the same trials with its rank interval, or with fewer than 8 trials the range of these ratios.
    Without trials in common it is the ratio of the median times, whose interval spans theirs.
    """
    visits = min(slow.time.visits, fast.time.visits)
    ratios = [one / two for one, two in _alike(slow, fast)]
    if not ratios:
        return statistics.ratio(slow.time, fast.time)
    few = len(ratios) < FEWEST_FOR_INTERVAL
    interval = (min(ratios), max(ratios)) if few else statistics.median_interval(ratios)
    return Estimate(statistics.median(ratios), *interval, visits)


def _alike(slow: Run, fast: Run) -> list[tuple[float, float]]:
    """The times of the same trials.

    In another order of the vertices the same source has another number: there the first trial is of the
    same source as the first, and so on.
    """
    ones, twos = slow.trials, fast.trials
    if slow.order != fast.order:
        return list(zip(ones.values(), twos.values(), strict=False))
    return [(ones[label], twos[label]) for label in sorted(ones.keys() & twos.keys())]


def geometric_mean(ratios: Sequence[Estimate]) -> Estimate:
    """The geometric mean of ratios; its interval is that of all ratios at their ends, so it covers more."""

    def mean(values: Iterable[float]) -> float:
        return math.exp(math.fsum(map(math.log, values)) / len(ratios))

    return Estimate(
        mean(one.value for one in ratios), mean(one.low for one in ratios), mean(one.high for one in ratios)
    )


def one_link(runs: Sequence[Linked], others: Sequence[Linked] = ()) -> str:
    """The link to model for: this machine's own where it was measured, else the papers', else the first.

    Where there are `others`, one that both have.
    """
    there = {run.link for run in runs}
    shared = there & {run.link for run in others} if others else there
    order = [HERE, *LINKS]
    return min(shared or there, key=lambda link: (order.index(link) if link in order else len(order), link))


def under_pressure(paged: Sequence[Run], link: str) -> list[Run]:
    """Managed memory where the card holds about half of the edge list, over a link.

    One size of card for all, and what one fault brings is the same for all: what most works have, groups of
    64 KiB if as many have those.
    """
    there = [run for run in paged if run.link == link]
    works: dict[tuple[float, float], set[Work]] = defaultdict(set)
    for run in there:
        works[run.card, run.page].add(run.work)

    def off(kind: tuple[float, float]) -> tuple[float, ...]:
        card, page = kind
        return abs(card - PRESSURE_CARD), -len(works[kind]), abs(page - PRESSURE_PAGE), card

    chosen = min(works, key=off, default=None)
    return [run for run in there if (run.card, run.page) == chosen]


def link_name(link: str) -> str:
    """`PCIe 3 ×16` for pcie3x16, `this machine's link` for its own."""
    if link == HERE:
        return "this machine's link"
    if link.startswith("pcie") and "x" in link:
        generation, _, width = link.removeprefix("pcie").partition("x")
        return f"PCIe {generation} ×{width}"
    return {"nvlink-c2c": "NVLink-C2C"}.get(link, link)
