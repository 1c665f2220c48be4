"""Where a series of values steps, by how much, and how well both are known.

The split that explains most is tested against chance among all places of a split, each half is split again,
and so on (binary segmentation). Of a step the place is known as well as other places explain it worse: their
likelihoods, as shares of all, that make up 95 %.

Values have standard uncertainties with degrees of freedom. Values may scatter more than these say. That shows
in two ways: by what neighbours differ by, whatever steps and outliers there are, and by what the values of
two levels differ by, which is worth more where values are few. The clearer one counts, as one of two tests.
Sources: Scott and Knott, A cluster analysis method for grouping means, Biometrics 30 (1974); Hinkley,
Inference about the change-point in a sequence of random variables, Biometrika 57 (1970).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist, median

from grainscope_report import uncertainty
from grainscope_report.uncertainty import Uncertainty

ALPHA = 0.001
COVERAGE = 0.95
FEWEST = 2  # values on each side: one alone is an outlier, and no new level
ABOVE = (1 + COVERAGE) / 2  # of a value: what the upper end of its interval is above
HALF = NormalDist().inv_cdf(ABOVE)  # of the interval of a normal value, of standard deviations
OF_MAD = 1 / NormalDist().inv_cdf(0.75)  # standard deviations in a median absolute deviation
MAD_WORTH = 0.37  # what a value is worth to the median absolute deviation, of what it is to the standard one
SCALES = 2  # ways to find how much values scatter


@dataclass(frozen=True)
class Step:
    """A change of level between two values; `first` and `last` are the values before which it may be.

    `size` is the difference of the levels, with the half width of its 95 % interval. Of values that are
    logarithms of times `ratio` is the change of these, and `low` and `high` are the ends of its interval.
    """

    at: int
    first: int
    last: int
    size: float
    half: float
    p: float

    ratio = property(lambda self: math.exp(self.size))
    low = property(lambda self: math.exp(self.size - self.half))
    high = property(lambda self: math.exp(self.size + self.half))


def find(
    values: Sequence[float], uncertainties: Sequence[float], tests: int = 1, freedom: float = math.inf
) -> list[Step]:
    """The steps of a series, in order; chance makes one in a thousand series, or in `tests` of them together.

    `freedom` is what the uncertainties were found with. Where it is 0 they are the least that values differ
    by, and how much they do is known by their scatter alone.
    """
    if len(values) < 2 * FEWEST:
        return []
    known = [max(one, 1e-9) for one in uncertainties]
    usual = median(known)
    scatter = OF_MAD * median(abs(one - other) for one, other in pairwise(values)) / math.sqrt(2)
    series = _Series(values, known if freedom else [usual] * len(known), freedom, (scatter / usual) ** 2)
    places = sorted(series.split(0, len(values), ALPHA / max(tests, 1)))
    edges = [0, *places, len(values)]
    return [series.step(low, at, high) for (low, at), (_, high) in pairwise(pairwise(edges))]


@dataclass(frozen=True)
class _Series:
    """Values, and what is known of each; `scatter` is by neighbours, over the variance that is known."""

    values: Sequence[float]
    known: Sequence[float]
    freedom: float
    scatter: float

    def split(self, low: int, high: int, alpha: float) -> Iterator[int]:
        places = [at for at in range(low + FEWEST, high - FEWEST + 1) if self._is_level(low, at, high)]
        if not places:
            return
        at = max(places, key=lambda at: abs(self._score(low, at, high)))
        if self._tested(low, at, high)[0] <= alpha:
            yield from self.split(low, at, alpha)
            yield at
            yield from self.split(at, high, alpha)

    def step(self, low: int, at: int, high: int) -> Step:
        before, after = self._level(low, at), self._level(at, high)
        p, scale = self._tested(low, at, high)
        size = after[0] - before[0]
        spread = scale.standard * math.hypot(before[1], after[1])
        # What a split leaves unexplained is less by the square of its score.
        scores = {one: (self._score(low, one, high) / scale.standard) ** 2 for one in range(low + 1, high)}
        most = max(scores.values())
        weights = {one: _likelihood(most - score, scale.freedom) for one, score in scores.items()}
        wanted = COVERAGE * math.fsum(weights.values())
        places: list[int] = []
        for one in sorted(weights, key=weights.__getitem__, reverse=True):
            places.append(one)
            wanted -= weights[one]
            if wanted <= 0:
                break
        half = uncertainty.student_quantile(ABOVE, scale.freedom) * spread
        return Step(at, min([*places, at]), max([*places, at]), size, half, p)

    def _tested(self, low: int, at: int, high: int) -> tuple[float, Uncertainty]:
        """How likely chance makes the split of a part, wherever in it, and by which of the scales."""
        score = abs(self._score(low, at, high))
        scales = (
            self._beyond(self.scatter, MAD_WORTH * (len(self.values) - 1)),
            self._beyond(*self._within(low, at, high)),
        )
        chances = [(2 * uncertainty.student_above(score / one.standard, one.freedom), one) for one in scales]
        least, scale = min(chances)
        return min(1.0, SCALES * least * (high - low - 2 * FEWEST + 1)), scale

    def _within(self, low: int, at: int, high: int) -> tuple[float, float]:
        """The variance of the values of both levels, over what is known, and its degrees of freedom."""
        squares = [
            ((self.values[one] - level) / self.known[one]) ** 2
            for first, last in ((low, at), (at, high))
            for level in [self._level(first, last)[0]]
            for one in range(first, last)
        ]
        return math.fsum(squares) / (high - low - 2), high - low - 2

    def _beyond(self, scatter: float, worth: float) -> Uncertainty:
        """By how much values are known worse where they scatter more, and with which degrees of freedom."""
        if not self.freedom:
            return Uncertainty(math.sqrt(max(1.0, scatter)), worth)
        known = Uncertainty(1.0, self.freedom + worth)
        if scatter <= 1:
            return known
        return uncertainty.combined(known, Uncertainty(math.sqrt(scatter - 1), worth))

    def _level(self, low: int, high: int) -> tuple[float, float]:
        weights = [1 / one**2 for one in self.known[low:high]]
        total = math.fsum(weights)
        mean = math.fsum(w * v for w, v in zip(weights, self.values[low:high], strict=True)) / total
        return mean, 1 / math.sqrt(total)

    def _score(self, low: int, at: int, high: int) -> float:
        """How many standard uncertainties the levels of both sides are apart."""
        before, after = self._level(low, at), self._level(at, high)
        return (after[0] - before[0]) / math.hypot(before[1], after[1])

    def _is_level(self, low: int, at: int, high: int) -> bool:
        """Whether most values of both sides differ: one alone that is far off makes no level."""
        means = self._level(at, high)[0] - self._level(low, at)[0]
        medians = median(self.values[at:high]) - median(self.values[low:at])
        return medians * means > 0 and abs(medians) >= abs(means) / 2


def _likelihood(unexplained: float, freedom: float) -> float:
    """Of a place that leaves so much more unexplained than the best; of a variance of so many degrees."""
    if freedom > uncertainty.AS_NORMAL:
        return math.exp(-unexplained / 2)
    return math.exp(-freedom / 2 * math.log1p(unexplained / freedom))
