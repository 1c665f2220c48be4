"""Who is first by a score, who is tied with it, and how often each is first in the draws."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grainscope_report.buying.draws import Array
from grainscope_report.buying.flips import Ranked
from grainscope_report.buying.machines import Machine
from grainscope_report.buying.words import NONE, TIED, UNKNOWN, WINNER

TIE = 0.02
# Of two machines that are the same one would be first in a verdict of 50, were uncertainties known exactly.
CERTAIN = 0.99


def decide(scores: Sequence[Ranked], machines: Sequence[Machine], *, known: bool) -> dict[str, Any]:
    """Who is first by factor × time, the least of which is best, or who is tied with it.

    One is before another where it is so by more than the tie and in nearly all draws. Runs of one machine
    have equal times by definition. Where uncertainties are not `known` nobody is first.
    """
    nobody = {"first": None, "tied": [], "certain": False, "chance_first": {}}
    if not scores:
        return {"kind": NONE} | nobody
    same = len(machines) > 1 and all(one.is_same(machines[0]) for one in machines)
    if not (known or same):
        return {"kind": UNKNOWN} | nobody
    times = [scores[0].prediction.time if same else one.prediction.time for one in scores]
    values = [one.factor * time.value for one, time in zip(scores, times, strict=True)]
    drawn = np.array([one.factor * time.draws for one, time in zip(scores, times, strict=True)])
    best = min(range(len(scores)), key=values.__getitem__)

    def is_beaten(at: int) -> bool:
        if machines[at].is_same(machines[best]):
            return scores[best].factor * (1 + TIE) < scores[at].factor
        ahead = ((drawn[best] < drawn[at]) + (drawn[best] == drawn[at]) / 2).mean()
        return values[best] * (1 + TIE) < values[at] and bool(ahead >= CERTAIN)

    names = [one.name for one in scores]
    tied = [
        names[at]
        for at in sorted(range(len(names)), key=values.__getitem__)
        if at == best or not is_beaten(at)
    ]
    chances = {} if np.isnan(drawn).any() else dict(zip(names, chance_first(drawn), strict=True))
    return {
        "kind": TIED if len(tied) > 1 else WINNER,
        "first": names[best],
        "tied": tied if len(tied) > 1 else [],
        "certain": len(tied) == 1,
        "chance_first": chances,
    }


def chance_first(times: Array) -> list[float]:
    """How often each of the rows is the smallest; equal ones share."""
    least = times == times.min(axis=0)
    return [float(share) for share in (least / least.sum(axis=0)).mean(axis=1)]
