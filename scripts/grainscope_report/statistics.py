"""All the statistics of the reports: medians with rank intervals, visits, rates, ratios, curve shapes.

An `Estimate` is a value with its 95 % interval. Curves are parallel sequences: `x` ascending, one
estimate for each. Visits, not samples, are the unit of comparison, because the samples of one visit are
correlated. Rates come from times and are never averaged.
"""

import bisect
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Z_90, Z_95 = 1.6448536269514722, 1.959963984540054
FEWEST_FOR_INTERVAL = 8
# What is closer to another than this is as good.
ALIKE = 0.02


@dataclass(frozen=True)
class Estimate:
    """A value, its 95 % interval and the number of visits behind it."""

    value: float
    low: float
    high: float
    visits: int = 1

    def scaled(self, factor: float) -> "Estimate":
        """The estimate in another unit."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.visits)


def plain(estimate: Estimate | None) -> dict[str, float] | None:
    """An estimate as JSON has it."""
    return estimate and {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def median_ranks(count: int) -> tuple[int, int]:
    """The 1-based ranks of the samples that bound the 95 % interval of the median of `count` samples.

    Lower rank ⌊(n − z√n)/2⌋, upper n + 1 − lower; below 8 samples there is no such pair.
    """
    if count < FEWEST_FOR_INTERVAL:
        raise ValueError(f"the rank interval of a median needs {FEWEST_FOR_INTERVAL} samples, not {count}")
    lower = math.floor((count - Z_95 * math.sqrt(count)) / 2)
    return lower, count + 1 - lower


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """The 95 % rank interval of the median of at least 8 samples."""
    lower, upper = median_ranks(len(samples))
    ordered = sorted(samples)
    return ordered[lower - 1], ordered[upper - 1]


def median(samples: Sequence[float]) -> float:
    """The middle sample, or the mean of the two in the middle."""
    ordered, half = sorted(samples), len(samples) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def mad(samples: Sequence[float]) -> float:
    """The median absolute deviation from the median, not scaled."""
    middle = median(samples)
    return median([abs(sample - middle) for sample in samples])


def percentile(samples: Sequence[float], percent: float) -> float:
    """The percentile, interpolated linearly between the two nearest samples."""
    ordered = sorted(samples)
    rank = (len(ordered) - 1) * percent / 100
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean of ratios, by which halving and doubling cancel."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def middle_of(medians: Sequence[float]) -> Estimate:
    """The median of visits: from 8 on with its rank interval, of fewer with their span."""
    enough = len(medians) >= FEWEST_FOR_INTERVAL
    low, high = median_interval(medians) if enough else (min(medians), max(medians))
    return Estimate(median(medians), low, high, len(medians))


def rate_gb_s(time_s: Estimate, size: float) -> Estimate:
    """Decimal GB/s of `size` bytes in that time: the slow end of the time is the low end of the rate."""
    return Estimate(
        size / time_s.value / 1e9, size / time_s.high / 1e9, size / time_s.low / 1e9, time_s.visits
    )


def ratio(over: Estimate, under: Estimate) -> Estimate:
    """`over / under`. The interval takes the ends that are furthest apart, so it covers more than 95 %."""
    low = over.low / under.high
    return Estimate(over.value / under.value, low, over.high / under.low, min(over.visits, under.visits))


def widened(estimate: Estimate, *others: Estimate) -> Estimate:
    """The estimate where all of these others are uncertain as well, each by itself: as logarithms."""

    def half(other: Estimate, up: bool) -> float:
        return math.log(other.high / other.value if up else other.value / other.low)

    down = math.hypot(half(estimate, False), *(half(other, False) for other in others))
    up = math.hypot(half(estimate, True), *(half(other, True) for other in others))
    value = estimate.value
    return Estimate(value, value * math.exp(-down), value * math.exp(up), estimate.visits)


@dataclass(frozen=True)
class Crossover:
    """Where two curves swap places: the interpolated `x`, its interval, and who wins above it."""

    x: float
    low: float
    high: float
    first_wins_above: bool


def clearly_more(estimate: Estimate, other: Estimate) -> bool:
    """Whether the intervals say so and the other is not within `ALIKE` of it."""
    return estimate.low > other.high and other.value < (1 - ALIKE) * estimate.value


def crossovers(x: Sequence[float], first: Sequence[Estimate], second: Sequence[Estimate]) -> list[Crossover]:
    """Where curve `first` crosses curve `second`, interpolated linearly in log-log.

    The interval of a crossover reaches from the last `x` where the intervals say that one curve is
    clearly ahead to the first where they say so of the other. Curves that only touch, or that never
    part again within the measured range, do not cross.
    """
    at = [math.log(place) for place in x]
    middle = [math.log(a.value / b.value) for a, b in zip(first, second, strict=True)]
    lower = [math.log(a.low / b.high) for a, b in zip(first, second, strict=True)]
    upper = [math.log(a.high / b.low) for a, b in zip(first, second, strict=True)]
    found = []
    clear: tuple[int, float] | None = None
    for begin, end, sign in _signs(at, lower, upper):
        if sign and clear and sign != clear[0]:
            zeros = [zero for zero in _zeros(at, middle) if clear[1] <= zero <= begin]
            centre = zeros[len(zeros) // 2] if zeros else (clear[1] + begin) / 2
            found.append(Crossover(math.exp(centre), math.exp(clear[1]), math.exp(begin), sign > 0))
        if sign:
            clear = (sign, end)
    return found


def _signs(
    at: Sequence[float], lower: Sequence[float], upper: Sequence[float]
) -> Iterator[tuple[float, float, int]]:
    """Stretches of the axis: +1 where `lower` is above zero, -1 where `upper` is below it, else 0."""
    edges = sorted({*at, *_zeros(at, lower), *_zeros(at, upper)})
    for begin, end in itertools.pairwise(edges):
        centre = (begin + end) / 2
        yield begin, end, int(_between(at, lower, centre) > 0) - int(_between(at, upper, centre) < 0)


def _between(at: Sequence[float], values: Sequence[float], place: float) -> float:
    """The piecewise linear function through the points, at a place within them."""
    right = min(max(bisect.bisect_right(at, place), 1), len(at) - 1)
    share = (place - at[right - 1]) / (at[right] - at[right - 1])
    return values[right - 1] + share * (values[right] - values[right - 1])


def _zeros(at: Sequence[float], values: Sequence[float]) -> list[float]:
    """Where the piecewise linear function through the points is zero."""
    zeros = [place for place, value in zip(at, values, strict=True) if value == 0]
    for index, (here, there) in enumerate(itertools.pairwise(values)):
        if here * there < 0:
            zeros.append(at[index] + here / (here - there) * (at[index + 1] - at[index]))
    return sorted(zeros)


@dataclass(frozen=True)
class Dip:
    """A stretch where a curve falls clearly below what it reached at a smaller `x`.

    `depth` is the fall at the lowest point as a fraction of the level before it; `recovers` tells
    whether the curve comes back within the measured range or stays down.
    """

    low: float
    high: float
    bottom: float
    depth: float
    recovers: bool


def dips(x: Sequence[float], curve: Sequence[Estimate], depth: float = 0.1) -> list[Dip]:
    """The stretches in which a curve is clearly down by more than `depth` from its best before."""
    found: list[Dip] = []
    begin: int | None = None
    best = 0
    for index, point in enumerate(curve):
        fallen = point.high < (1 - depth) * curve[best].low
        if fallen and begin is None:
            begin = index
        if not fallen and begin is not None:
            found.append(_dip(x, curve, best, begin, index, True))
            begin = None
        if begin is None and point.value > curve[best].value:
            best = index
    if begin is not None:
        found.append(_dip(x, curve, best, begin, len(curve), False))
    return found


def _dip(
    x: Sequence[float], curve: Sequence[Estimate], best: int, begin: int, end: int, recovers: bool
) -> Dip:
    lowest = min(range(begin, end), key=lambda index: curve[index].value)
    return Dip(
        low=x[begin],
        high=x[end - 1],
        bottom=x[lowest],
        depth=1 - curve[lowest].value / curve[best].value,
        recovers=recovers,
    )


def stretches_below(
    x: Sequence[float], curve: Sequence[Estimate], threshold: float
) -> list[tuple[float, float]]:
    """The first and last `x` of each run of points whose whole interval lies below the threshold."""
    found: list[tuple[float, float]] = []
    inside = False
    for at, point in zip(x, curve, strict=True):
        below = point.high < threshold
        if below:
            found.append((found.pop()[0], at) if inside else (at, at))
        inside = below
    return found
