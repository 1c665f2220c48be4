"""The bootstrap of a median over visits, in closed form.

Resampling n visits with replacement, the median of the resample is the k-th smallest visit with a
chance that depends on n and k alone: what drawing without end would give. So nothing is drawn, there is
no seed, and the same files always give the same numbers. Of an even number of visits the resample's
median is either middle one, each as likely.
Source: Maritz and Jarrett, A note on estimating the variance of the sample median, JASA 73 (1978);
Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 7 (1979).
"""

import itertools
import math
from collections.abc import Sequence
from functools import cache
from statistics import fmean

from grainscope_report.statistics import median


@cache
def weights(count: int) -> tuple[float, ...]:
    """The chance that the median of a resample of `count` visits is the smallest, second smallest, …"""
    middle = {(count + 1) // 2, count // 2 + 1}
    reached = [fmean(_reached(count, k, rank) for rank in middle) for k in range(count + 1)]
    return tuple(above - below for below, above in itertools.pairwise(reached))


def _reached(count: int, k: int, rank: int) -> float:
    """The chance that at least `rank` of `count` draws are among the k smallest."""
    chance = k / count
    return sum(math.comb(count, j) * chance**j * (1 - chance) ** (count - j) for j in range(rank, count + 1))


def variance(ordered: Sequence[float]) -> float:
    """The bootstrap's variance of the median of sorted visits."""
    middle, chances = median(ordered), weights(len(ordered))
    mean = sum(chance * (one - middle) for chance, one in zip(chances, ordered, strict=True))
    square = sum(chance * (one - middle) ** 2 for chance, one in zip(chances, ordered, strict=True))
    return square - mean * mean


@cache
def _chances(count: int, base: int) -> list[float]:
    """The chance of each pair of medians."""
    return [one * two for one in weights(count) for two in weights(base)]


def difference(ordered: Sequence[float], base: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """The percentile interval of median(`ordered`) − median(`base`), both sorted."""
    apart = [one - two for one in ordered for two in base]
    atoms = sorted(zip(apart, _chances(len(ordered), len(base)), strict=True))
    low, high = (1 - level) / 2, (1 + level) / 2
    reached, ends = 0.0, []
    for value, chance in atoms:
        reached += chance
        ends += [value] * ((reached >= low) + (reached >= high) - len(ends))
    return ends[0], ends[1] if len(ends) > 1 else atoms[-1][0]
