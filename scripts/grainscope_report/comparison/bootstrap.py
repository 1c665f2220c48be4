"""The bootstrap of a median over sessions, in closed form for many questions at once.

Resampling n sessions with replacement, the median of the resample is the k-th smallest session with a
chance that depends on n and k alone: what drawing without end would give. So nothing is drawn, there is
no seed, and the same files always give the same numbers. Of an even number of sessions the resample's
median is either middle one, each as likely.
Source: Maritz and Jarrett, A note on estimating the variance of the sample median, JASA 73 (1978);
Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 7 (1979).
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Elements that are held at once.
_CHUNK = 4_000_000


@cache
def weights(count: int) -> Floats:
    """The chance that the median of a resample of `count` sessions is the smallest, second smallest, …"""
    middle = {(count + 1) // 2, count // 2 + 1}
    return np.mean([np.diff([_reached(count, k, rank) for k in range(count + 1)]) for rank in middle], axis=0)


def _reached(count: int, k: int, rank: int) -> float:
    """The chance that at least `rank` of `count` draws are among the k smallest."""
    chance = k / count
    return sum(math.comb(count, j) * chance**j * (1 - chance) ** (count - j) for j in range(rank, count + 1))


def variance(ordered: Floats) -> Floats:
    """The bootstrap's variance of the median of each row of `ordered`, whose columns are sorted sessions."""
    chance = weights(ordered.shape[1])
    around = ordered - np.median(ordered, axis=1, keepdims=True)
    return np.square(around) @ chance - np.square(around @ chance)


def difference(ordered: Floats, base: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """The percentile interval of median(`ordered`) − median(`base`), row by row; both are sorted."""
    chance = np.outer(weights(ordered.shape[1]), weights(base.shape[1])).ravel()
    ends = [
        _percentiles(ordered[at : at + step], base[at : at + step], chance, level)
        for step in [max(1, _CHUNK // chance.size)]
        for at in range(0, len(ordered), step)
    ]
    low, high = zip(*ends, strict=True) if ends else ((np.empty(0),), (np.empty(0),))
    return np.concatenate(low), np.concatenate(high)


def _percentiles(ordered: Floats, base: Floats, chance: Floats, level: float) -> tuple[Floats, Floats]:
    tail = (1 - level) / 2
    apart = (ordered[:, :, None] - base[:, None, :]).reshape(len(ordered), -1)
    order = np.argsort(apart, axis=1)
    reached = np.cumsum(chance[order], axis=1)
    rows = np.arange(len(apart))
    places = [np.minimum((reached < end).sum(axis=1), apart.shape[1] - 1) for end in (tail, 1 - tail)]
    return apart[rows, order[rows, places[0]]], apart[rows, order[rows, places[1]]]
