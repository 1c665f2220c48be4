"""Where a series of values steps, by how much, and how well both are known.

Values have known standard uncertainties. The split that explains most is tested against chance among all
places of a split, each half is split again, and so on (binary segmentation). Of a step the place is known as
well as other places explain it worse: their likelihoods, as shares of all, that make up 95 %.
Sources: Scott and Knott, A cluster analysis method for grouping means, Biometrics 30 (1974); Hinkley,
Inference about the change-point in a sequence of random variables, Biometrika 57 (1970).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist, median

ALPHA = 0.001
COVERAGE = 0.95
FEWEST = 2  # values on each side: one alone is an outlier, and no new level
ABOVE = (1 + COVERAGE) / 2  # of a value: what the upper end of its interval is above
HALF = NormalDist().inv_cdf(ABOVE)  # of the interval of a normal value, of standard deviations
OF_MAD = 1 / NormalDist().inv_cdf(0.75)  # standard deviations in a median absolute deviation


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


def find(values: Sequence[float], uncertainties: Sequence[float], tests: int = 1) -> list[Step]:
    """The steps of a series, in order; chance makes one in a thousand series, or in `tests` of them together.

    What neighbours differ by says how much the values scatter: where that is more than is known of each, each
    is known no better.
    """
    known = _at_least(values, uncertainties)
    places = sorted(_split(values, known, 0, len(values), ALPHA / max(tests, 1)))
    edges = [0, *places, len(values)]
    return [_step(values, known, low, at, high) for (low, at), (_, high) in pairwise(pairwise(edges))]


def _at_least(values: Sequence[float], uncertainties: Sequence[float]) -> list[float]:
    apart = [abs(one - other) for one, other in pairwise(values)]
    if len(apart) < 2 * FEWEST:
        return list(uncertainties)
    scatter = OF_MAD * median(apart) / math.sqrt(2)
    usual = median(uncertainties)
    more = max(1.0, scatter / usual) if usual > 0 else 1.0
    return [max(one * more, 1e-9) for one in uncertainties]


def _split(
    values: Sequence[float], known: Sequence[float], low: int, high: int, alpha: float
) -> Iterator[int]:
    places = [at for at in range(low + FEWEST, high - FEWEST + 1) if _is_level(values, known, low, at, high)]
    if not places:
        return
    scores = {at: abs(_score(values, known, low, at, high)) for at in places}
    at = max(scores, key=scores.__getitem__)
    if 2 * NormalDist().cdf(-scores[at]) * (high - low) <= alpha:
        yield from _split(values, known, low, at, alpha)
        yield at
        yield from _split(values, known, at, high, alpha)


def _level(values: Sequence[float], known: Sequence[float], low: int, high: int) -> tuple[float, float]:
    weights = [1 / one**2 for one in known[low:high]]
    total = math.fsum(weights)
    return math.fsum(w * v for w, v in zip(weights, values[low:high], strict=True)) / total, 1 / math.sqrt(
        total
    )


def _score(values: Sequence[float], known: Sequence[float], low: int, at: int, high: int) -> float:
    """How many standard uncertainties the levels of both sides are apart."""
    before, after = _level(values, known, low, at), _level(values, known, at, high)
    return (after[0] - before[0]) / math.hypot(before[1], after[1])


def _is_level(values: Sequence[float], known: Sequence[float], low: int, at: int, high: int) -> bool:
    """Whether most values of both sides differ: one alone that is far off makes no level."""
    means = _level(values, known, at, high)[0] - _level(values, known, low, at)[0]
    medians = median(values[at:high]) - median(values[low:at])
    return medians * means > 0 and abs(medians) >= abs(means) / 2


def _step(values: Sequence[float], known: Sequence[float], low: int, at: int, high: int) -> Step:
    before, after = _level(values, known, low, at), _level(values, known, at, high)
    spread = math.hypot(before[1], after[1])
    size = after[0] - before[0]
    # What a split leaves unexplained is less by the square of its score.
    scores = {one: _score(values, known, low, one, high) ** 2 for one in range(low + 1, high)}
    most = max(scores.values())
    weights = {one: math.exp((score - most) / 2) for one, score in scores.items()}
    wanted = COVERAGE * math.fsum(weights.values())
    places: list[int] = []
    for one in sorted(weights, key=weights.__getitem__, reverse=True):
        places.append(one)
        wanted -= weights[one]
        if wanted <= 0:
            break
    p = min(1.0, 2 * NormalDist().cdf(-abs(size) / spread) * max(1, high - low - 2 * FEWEST + 1))
    return Step(at, min([*places, at]), max([*places, at]), size, HALF * spread, p)
