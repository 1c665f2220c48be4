"""Same, faster, slower or unclear: the statistics of one side's visits against the other's.

With x the logarithms of the visits' times, the difference d = median(x new) − median(x base) has the
bootstrap's variance, made larger by n/(n−1) for what few visits do not show, and no smaller than the
visits' own intervals allow. p is the chance, by Student's t, that d lies so far on its side of the
threshold though the truth does not; degrees of freedom after Welch, at most twice those of the shorter
side. Faster and slower are claimed where p after Holm, over all rows of a pair of sides, is at most ALPHA;
same where the row's own p is. Either way the 95 % percentile interval has to agree. docs/compare.md says how
often that errs.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.comparison import bootstrap, student
from grainscope_report.comparison.questions import Visit

FEWEST = 5
ALPHA = 0.05
SAME, FASTER, SLOWER, UNCLEAR = "same", "faster", "slower", "unclear"
# A median of normal values varies so much more than their mean.
_MEDIAN_OVER_MEAN = math.pi / 2
_TINY = 1e-12
_LARGEST = 709.0  # of which there is an exponential


@dataclass(frozen=True)
class Ratio:
    """Time of the new side over that of the base: value, 95 % interval, and p of what the value claims."""

    value: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Verdict:
    """What may be said of a row; `p` of a difference is after Holm. `why` says what an unclear row lacks."""

    verdict: str
    ratio: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    why: str = ""


Pair = tuple[Sequence[Visit], Sequence[Visit]]


def verdicts(pairs: Sequence[Pair], threshold: float) -> list[Verdict]:
    """The verdict on each pair of (base's visits, new's visits); `threshold` is a share of the time."""
    enough = [at for at, (base, new) in enumerate(pairs) if min(len(base), len(new)) >= FEWEST]
    ratios = [compare(pairs[at], threshold) for at in enough]
    same = [region(ratio.value, ratio.value, threshold) == SAME for ratio in ratios]
    adjusted = holm([1.0 if inside else ratio.p for ratio, inside in zip(ratios, same, strict=True)])
    found = {
        at: _verdict(ratio, ratio.p if inside else p, threshold)
        for at, ratio, inside, p in zip(enough, ratios, same, adjusted, strict=True)
    }
    return [found.get(at) or _too_few(*pair) for at, pair in enumerate(pairs)]


def _too_few(base: Sequence[Visit], new: Sequence[Visit]) -> Verdict:
    ratio = _median(new) / _median(base)
    said = f"{_count(len(base))} against {len(new)}, {FEWEST} a side are needed"
    return Verdict(UNCLEAR, ratio, why=said)


def _count(visits: int) -> str:
    return f"{visits} visit{'s' * (visits != 1)}"


def _median(visits: Sequence[Visit]) -> float:
    return math.exp(statistics.median([math.log(visit.seconds) for visit in visits]))


def _verdict(ratio: Ratio, p: float, threshold: float) -> Verdict:
    claim = region(ratio.value, ratio.value, threshold)
    agreed = claim == region(ratio.low, ratio.high, threshold)
    if p <= ALPHA and agreed:
        return Verdict(claim, ratio.value, ratio.low, ratio.high, p)
    among = "" if claim == SAME else " among so many rows"
    why = f"not certain{among} (p {p:.2g})" if agreed else "the interval crosses the threshold"
    return Verdict(UNCLEAR, ratio.value, ratio.low, ratio.high, p, why)


def region(low: float, high: float, threshold: float) -> str:
    """Which claim ratios from `low` to `high` support: `unclear` where they reach into two."""
    if low > 1 + threshold:
        return SLOWER
    if high < 1 / (1 + threshold):
        return FASTER
    return SAME if 1 / (1 + threshold) <= low and high <= 1 + threshold else UNCLEAR


def compare(pair: Pair, threshold: float) -> Ratio:
    """The ratio of new to base, with at least two visits a side."""
    base, new = (sorted(math.log(visit.seconds) for visit in side) for side in pair)
    apart = statistics.median(new) - statistics.median(base)
    parts = [_variance(side, visits) for side, visits in zip((base, new), pair, strict=True)]
    freedom = [len(side) - 1 for side in pair]
    error = math.sqrt(sum(parts)) + _TINY
    welch = sum(parts) ** 2 / sum(part**2 / count for part, count in zip(parts, freedom, strict=True))
    p = _p(apart, error, min(welch, 2 * min(freedom)), math.log1p(threshold))
    low, high = bootstrap.difference(new, base)
    # No interval is narrower than the visits' own errors allow.
    floor = 1.96 * math.sqrt(sum(map(_own, pair)))
    ends = (apart, min(low, apart - floor), max(high, apart + floor))
    return Ratio(*(math.exp(min(end, _LARGEST)) for end in ends), p)


def _variance(ordered: Sequence[float], visits: Sequence[Visit]) -> float:
    between = bootstrap.variance(ordered) * len(ordered) / (len(ordered) - 1)
    return max(between, _own(visits)) + _TINY**2


def _own(visits: Sequence[Visit]) -> float:
    """The variance of the median of visits that differ by no more than each one's own interval says."""
    return _MEDIAN_OVER_MEAN * sum(visit.error**2 for visit in visits) / len(visits) ** 2


def _p(apart: float, error: float, freedom: float, threshold: float) -> float:
    """The p of the claim that `apart` itself supports: beyond the threshold, or within it on both sides."""
    return min(1.0, 2 * student.above(abs(abs(apart) - threshold) / error, freedom))


def holm(p: Sequence[float]) -> list[float]:
    """Each p after Holm's correction for all of them, in their order.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6 (1979).
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    stepped = (p[at] * (len(p) - rank) for rank, at in enumerate(order))
    adjusted = dict(zip(order, itertools.accumulate(stepped, max), strict=True))
    return [min(1.0, adjusted[at]) for at in range(len(p))]
