"""How far the order is from another one, of predicted times and of what speed costs.

Both are linear in the shares: T = Σ s_i a_i with a_i the time of component i over the reference's, and cost
per speed is (price + energy) × T, so the same closed forms answer both, of a_i and of (price + energy) a_i.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grainscope_report.buying import sensitivity
from grainscope_report.buying.draws import Array
from grainscope_report.buying.predict import Prediction


@dataclass(frozen=True)
class Ranked:
    """A candidate in the order that is asked about: what is predicted, and what its time is multiplied by."""

    name: str
    prediction: Prediction
    factor: float = 1.0


def of(order: Sequence[Ranked], shares: Array, names: Sequence[str]) -> list[dict[str, Any]]:
    """For each rival of the first the smallest change of shares, and each share, at which they flip.

    `lead` of a component is how much it gives the first, in the reference's time, or in money where factors
    are prices; `over_first` is the rival's sum over the first's.
    """
    return [_flip(order[0], rival, shares, names) for rival in order[1:]]


def _flip(first: Ranked, rival: Ranked, shares: Array, names: Sequence[str]) -> dict[str, Any]:
    pairs = list(zip(rival.prediction.parts, first.prediction.parts, strict=True))
    lead = np.array([rival.factor * one.time.value - first.factor * two.time.value for one, two in pairs])
    drawn = np.stack(
        [rival.factor * one.time.draws - first.factor * two.time.draws for one, two in pairs], axis=-1
    )
    least, after = sensitivity.smallest_change(shares, lead)
    many, _ = sensitivity.smallest_change(shares, drawn)
    times = rival.prediction.time, first.prediction.time
    dearer = rival.factor / first.factor
    return {
        "rival": rival.name,
        "over_first": interval(
            dearer * times[0].value / times[1].value, dearer * times[0].draws / times[1].draws
        ),
        "smallest_change": _maybe(float(least), many),
        "shares_then": None if np.isnan(least) else dict(zip(names, map(float, after), strict=True)),
        "components": [
            {
                "name": name,
                "share": float(shares[at]),
                "lead": float(shares[at] * lead[at]),
                "flips_at": _maybe(
                    float(sensitivity.flip_share(shares, lead, at)), sensitivity.flip_share(shares, drawn, at)
                ),
            }
            for at, name in enumerate(names)
        ],
    }


def interval(value: float, draws: Array) -> dict[str, Any]:
    """The value and the 2.5th and 97.5th percentile of its draws, None where nothing tells its spread."""
    if np.isnan(draws).any():
        return {"value": float(value), "low": None, "high": None}
    low, high = np.percentile(draws, (2.5, 97.5))
    return {"value": float(value), "low": float(low), "high": float(high)}


def _maybe(value: float, draws: Array) -> dict[str, Any]:
    """A value that may not be there, its interval over the draws where it is, and how often it is."""
    there = draws[~np.isnan(draws)]
    low, high = (float(one) for one in np.percentile(there, (2.5, 97.5))) if len(there) else (None, None)
    return {
        "value": None if np.isnan(value) else value,
        "low": low,
        "high": high,
        "exists": float(len(there) / len(draws)),
    }
