"""Same, faster, slower or unclear: the statistics of one side's sessions against the other's.

With x the logarithms of the sessions' times, the difference d = median(x new) − median(x base) has the
bootstrap's variance, made larger by n/(n−1) for what few sessions do not show, and no smaller than the
sessions' own intervals allow. p is the chance, by Student's t, that d lies so far on its side of the
threshold though the truth does not; degrees of freedom after Welch, at most twice those of the shorter
side. Faster and slower are claimed where p after Holm, over all rows of a pair of sides, is at most ALPHA;
same where the row's own p is. Either way the 95 % percentile interval has to agree. docs/compare.md says how
often that errs.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grainscope_report import statistics
from grainscope_report.comparison import bootstrap, student
from grainscope_report.comparison.bootstrap import Floats
from grainscope_report.comparison.questions import Session

FEWEST = 5
ALPHA = 0.05
SAME, FASTER, SLOWER, UNCLEAR = "same", "faster", "slower", "unclear"
# A median of normal values varies so much more than their mean.
_MEDIAN_OVER_MEAN = math.pi / 2
_TINY = 1e-12


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


Pair = tuple[Sequence[Session], Sequence[Session]]


def verdicts(pairs: Sequence[Pair], threshold: float) -> list[Verdict]:
    """The verdict on each pair of (base's sessions, new's sessions); `threshold` is a share of the time."""
    enough = [at for at, (base, new) in enumerate(pairs) if min(len(base), len(new)) >= FEWEST]
    ratios = compare([pairs[at] for at in enough], threshold)
    same = [region(ratio.value, ratio.value, threshold) == SAME for ratio in ratios]
    adjusted = holm([1.0 if inside else ratio.p for ratio, inside in zip(ratios, same, strict=True)])
    found = {
        at: _verdict(ratio, ratio.p if inside else p, threshold)
        for at, ratio, inside, p in zip(enough, ratios, same, adjusted, strict=True)
    }
    return [found.get(at) or _too_few(*pair) for at, pair in enumerate(pairs)]


def _too_few(base: Sequence[Session], new: Sequence[Session]) -> Verdict:
    ratio = _median(new) / _median(base)
    said = f"{_count(len(base))} against {len(new)}, {FEWEST} a side are needed"
    return Verdict(UNCLEAR, ratio, why=said)


def _count(sessions: int) -> str:
    return f"{sessions} session{'s' * (sessions != 1)}"


def _median(sessions: Sequence[Session]) -> float:
    return math.exp(statistics.median([math.log(session.seconds) for session in sessions]))


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


def compare(pairs: Sequence[Pair], threshold: float) -> list[Ratio]:
    """The ratio of each pair, all with at least two sessions a side; those of one shape at once."""
    shapes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for at, (base, new) in enumerate(pairs):
        shapes[len(base), len(new)].append(at)
    found: dict[int, Ratio] = {}
    for places in shapes.values():
        columns = _ratios(*(_sides([pairs[at][side] for at in places]) for side in (0, 1)), threshold)
        for at, *row in zip(places, *(column.tolist() for column in columns), strict=True):
            found[at] = Ratio(*row)
    return [found[at] for at in range(len(pairs))]


def _sides(sessions: Sequence[Sequence[Session]]) -> tuple[Floats, Floats]:
    """Sorted logarithms of the times, and the standard errors, a question a row."""
    flat = np.array([[(one.seconds, one.error) for one in side] for side in sessions])
    return np.sort(np.log(flat[..., 0]), axis=1), flat[..., 1]


def _ratios(
    base: tuple[Floats, Floats], new: tuple[Floats, Floats], threshold: float
) -> tuple[Floats, Floats, Floats, Floats]:
    apart = np.median(new[0], axis=1) - np.median(base[0], axis=1)
    parts = [_variance(*side) for side in (base, new)]
    counts = [side[0].shape[1] - 1 for side in (base, new)]
    error = np.sqrt(parts[0] + parts[1]) + _TINY
    welch = np.square(parts[0] + parts[1]) / sum(
        np.square(part) / count for part, count in zip(parts, counts, strict=True)
    )
    p = _p(apart, error, np.minimum(welch, 2 * min(counts)), math.log1p(threshold))
    low, high = bootstrap.difference(new[0], base[0])
    floor = _narrowest(base[1], new[1])
    low, high = np.minimum(low, apart - floor), np.maximum(high, apart + floor)
    return np.exp(apart), np.exp(low), np.exp(high), p


def _variance(ordered: Floats, errors: Floats) -> Floats:
    count = ordered.shape[1]
    between = bootstrap.variance(ordered) * count / (count - 1)
    return np.maximum(between, _own(errors)) + _TINY**2


def _own(errors: Floats) -> Floats:
    """The variance of the median of sessions that differ by no more than each one's own interval says."""
    return _MEDIAN_OVER_MEAN * np.mean(np.square(errors), axis=1) / errors.shape[1]


def _narrowest(base: Floats, new: Floats) -> Floats:
    """Half of the narrowest interval that the sessions' own errors allow."""
    return 1.96 * np.sqrt(_own(base) + _own(new))


def _p(apart: Floats, error: Floats, freedom: Floats, threshold: float) -> Floats:
    """The p of the claim that `apart` itself supports: beyond the threshold, or within it on both sides."""
    distance = np.where(np.abs(apart) > threshold, np.abs(apart) - threshold, threshold - np.abs(apart))
    return np.minimum(1.0, 2 * student.above(distance / error, freedom))


def holm(p: Sequence[float]) -> list[float]:
    """Each p after Holm's correction for all of them, in their order.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6 (1979).
    """
    values = np.asarray(p, float)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped)) if len(values) else stepped
    return adjusted.tolist()
