"""Whether two programs take the same time: family by family, then row by row. The standard library alone.

A row's value is the logarithm of its median in one run, so differences are logarithms of ratios. Runs of
one program differ, too: each run of a family is shifted as a whole, and each row strays by itself.

Family: every row is centred between the medians of its two sides, and a run's location is the mean of the
middle half of its centred rows (interquartile mean), since a few rows stray by far more than the rest. The
ratio is the difference of the mean locations of both sides. Its error comes from the spread of the
locations within the sides, which has few degrees of freedom: 4 of 3 + 3 runs. So it is moderated as limma
moderates variances: relative to what the rows' spread and the usual shift of a run predict, with a prior
from all families on one clock.
Row: the difference of the means of both sides, its variance moderated over the rows of the family.
Source: Smyth, Linear models and empirical Bayes methods, Stat. Appl. Genet. Mol. Biol. 3 (2004);
Schuirmann, two one-sided tests, J. Pharmacokinet. Biopharm. 15 (1987).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

SAME, DIFFERS, UNKNOWN = "same", "differs", "cannot be told"
TOST_LEVEL = 0.05
# A family that differs by chance in its first runs must do so again, so one in a hundred may be run again.
DIFFERS_LEVEL = 0.01
ROWS_LEVEL = 0.05
# Fewer rows than this have no prior of their own: it is taken over all rows on their clock.
FEWEST_FOR_PRIOR = 8
# Of the chi-square distribution with 4 degrees of freedom, over 4: the median spread where nothing adds to it.
_TINY = 1e-12
_MOST_FREEDOM = 1e6

# The runs of both sides: one list of logarithms a row, one value a run.
Table = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Prior:
    """What the families on one clock have in common: variances of logarithms, and what they are worth."""

    row_variance: float  # of one row in one run, where a family has too few rows to show its own
    run_variance: float  # by which a whole run is shifted, beyond what its rows explain
    scale: float = 1.0
    freedom: float = 0.0
    most: float = _MOST_FREEDOM  # degrees of freedom that all families together have


@dataclass(frozen=True)
class Estimate:
    """The logarithm of a ratio with its standard error and degrees of freedom."""

    value: float
    error: float
    freedom: float

    def interval(self, level: float) -> tuple[float, float]:
        """Both ends of the interval, as ratios."""
        half = t_quantile((1 + level) / 2, self.freedom) * self.error
        return math.exp(self.value - half), math.exp(self.value + half)

    @property
    def p(self) -> float:
        """How probable so large a difference is where there is none."""
        return 2 * (1 - t_chance(abs(self.value) / self.error, self.freedom))

    def reach(self) -> float:
        """The smallest margin, as a share, within which these data show equivalence."""
        return math.expm1(abs(self.value) + t_quantile(1 - TOST_LEVEL, self.freedom) * self.error)

    def power(self, margin: float) -> float:
        """The probability of `same` where nothing differs, for an error of this size."""
        room = math.log1p(margin) / self.error - t_quantile(1 - TOST_LEVEL, self.freedom)
        return max(0.0, 2 * t_chance(room, self.freedom) - 1)

    def verdict(self, margin: float) -> str:
        """`same` by two one-sided tests; else `differs` where certain and beyond half the margin."""
        if self.reach() < margin:
            return SAME
        return DIFFERS if self.p < DIFFERS_LEVEL and beyond_half(self.value, margin) else UNKNOWN


def beyond_half(value: float, margin: float) -> bool:
    """Whether a logarithm is further from 0 than half the margin: smaller differences do not matter."""
    return abs(value) > math.log1p(margin) / 2


def interquartile_mean(values: Sequence[float]) -> float:
    """The mean of the middle half; of fewer than three values the mean of all."""
    cut = round(len(values) / 4)
    return fmean(sorted(values)[cut : len(values) - cut])


def plain_ratio(base: Table, new: Table) -> float:
    """The geometric mean ratio of new to base over all rows, none of them trimmed."""
    return math.exp(fmean(fmean(b) - fmean(a) for a, b in zip(base, new, strict=True)))


@dataclass(frozen=True)
class _Spread:
    """A family in short: the locations of its runs and how its rows stray around them."""

    apart: float
    variance: float  # of a run's location, within the sides
    freedom: int
    weight: float  # variance of `apart` is the variance of a location times this
    row_variance: float  # of one row in one run, as the interquartile mean feels it
    rows: int

    def expected(self, prior: Prior) -> float:
        """The variance of a run's location that rows and the usual shift of a run explain."""
        row = (prior.row_variance + (self.rows - 1) * self.row_variance) / self.rows
        return max(row / self.rows + prior.run_variance, _TINY)


def _spread(base: Table, new: Table) -> _Spread:
    centred = []
    for a, b in zip(base, new, strict=True):
        centre = (fmean(a) + fmean(b)) / 2
        centred.append(([x - centre for x in a], [x - centre for x in b]))
    sides = [list(zip(*(row[side] for row in centred), strict=True)) for side in (0, 1)]
    places = [[interquartile_mean(run) for run in side] for side in sides]
    counts = [len(side) for side in places]
    squares = sum(sum((x - fmean(side)) ** 2 for x in side) for side in places)
    freedom = sum(counts) - 2
    # Centring takes one run's worth from the spread of each row.
    lost = sum(counts) / (sum(counts) - 1)
    rows = len(base)
    own = lost * fmean(_felt(run) for side in sides for run in side) if rows > 1 else 0.0
    return _Spread(
        fmean(places[1]) - fmean(places[0]), squares / freedom, freedom, sum(1 / n for n in counts), own, rows
    )


def _felt(run: Sequence[float]) -> float:
    """The variance of the interquartile mean of a run's rows, times their number (Tukey and McLaughlin)."""
    ordered, cut, count = sorted(run), round(len(run) / 4), len(run)
    winsorised = [ordered[min(max(at, cut), count - 1 - cut)] for at in range(count)]
    mean = fmean(winsorised)
    kept = count - 2 * cut
    squares = sum((x - mean) ** 2 for x in winsorised)
    return squares * count / (kept * max(kept - 1, 1))


def fit(families: Sequence[tuple[Table, Table]]) -> Prior:
    """The prior of one clock from (base, new) of all its families."""
    spreads = [_spread(*family) for family in families]
    own = [spread.row_variance for spread in spreads if spread.rows >= 4]
    alone = [spread.variance for spread in spreads if spread.rows < 4]
    prior = Prior(median(own or alone), 0.0)
    target = chi_median(spreads[0].freedom)

    def surplus(shift: float) -> float:
        wide = Prior(prior.row_variance, shift)
        return median([spread.variance / spread.expected(wide) for spread in spreads]) - target

    low, high = 0.0, max(spread.variance for spread in spreads) / target + _TINY
    if surplus(low) > 0:
        for _ in range(60):
            low, high = ((low + high) / 2, high) if surplus((low + high) / 2) > 0 else (low, (low + high) / 2)
        prior = Prior(prior.row_variance, high)
    ratios = [spread.variance / spread.expected(prior) for spread in spreads]
    scale, freedom = fit_variances(ratios, spreads[0].freedom)
    most = sum(spread.freedom for spread in spreads)
    return Prior(prior.row_variance, prior.run_variance, scale, freedom, most)


def family_estimate(base: Table, new: Table, prior: Prior) -> Estimate:
    """The ratio of a family, from one list a row and one logarithm a run in it."""
    spread = _spread(base, new)
    expected = spread.expected(prior)
    own = spread.variance / expected
    variance, freedom = moderated(own, spread.freedom, prior.scale, prior.freedom)
    error = math.sqrt(max(variance * expected, _TINY) * spread.weight)
    return Estimate(spread.apart, error, min(freedom, max(prior.most, spread.freedom)))


def row_variance(a: Sequence[float], b: Sequence[float]) -> float:
    """The variance of one run's value within the sides."""
    squares = sum(sum((x - fmean(side)) ** 2 for x in side) for side in (a, b))
    return max(squares / (len(a) + len(b) - 2), _TINY)


def row_estimate(a: Sequence[float], b: Sequence[float], prior: tuple[float, float]) -> Estimate:
    """The ratio of one row, its variance moderated by (scale, degrees of freedom) of its like."""
    freedom = len(a) + len(b) - 2
    variance, together = moderated(row_variance(a, b), freedom, *prior)
    return Estimate(fmean(b) - fmean(a), math.sqrt(variance * (1 / len(a) + 1 / len(b))), together)


def moderated(variance: float, freedom: float, scale: float, prior: float) -> tuple[float, float]:
    """A variance drawn towards `scale`, whose worth is `prior` degrees of freedom, and its own new worth."""
    together = freedom + prior
    return (prior * scale + freedom * variance) / together, together


def fit_variances(variances: Sequence[float], freedom: float) -> tuple[float, float]:
    """The scale and the worth (degrees of freedom) of the prior that these variances show (Smyth 2004)."""
    if len(variances) < 3:
        return 1.0, 0.0
    shift = digamma(freedom / 2) - math.log(freedom / 2)
    logs = [math.log(max(variance, _TINY)) - shift for variance in variances]
    mean = fmean(logs)
    excess = sum((x - mean) ** 2 for x in logs) / (len(logs) - 1) - trigamma(freedom / 2)
    worth = min(2 * trigamma_inverse(excess), freedom * len(logs)) if excess > 0 else freedom * len(logs)
    return math.exp(mean + digamma(worth / 2) - math.log(worth / 2)), worth


def false_discoveries(p: Sequence[float], level: float = ROWS_LEVEL) -> list[int]:
    """Which of these stand out at a false discovery rate of `level` (Benjamini and Hochberg)."""
    order = sorted(range(len(p)), key=p.__getitem__)
    count = max((at for at, which in enumerate(order, 1) if p[which] <= level * at / len(p)), default=0)
    return sorted(order[:count])


def digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function."""
    below = 0.0
    while x < 8:
        below, x = below + 1 / x, x + 1
    y = 1 / (x * x)
    return math.log(x) - 1 / (2 * x) - y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y / 240))) - below


def trigamma(x: float) -> float:
    """The derivative of digamma."""
    below = 0.0
    while x < 8:
        below, x = below + 1 / (x * x), x + 1
    y = 1 / (x * x)
    return 1 / x + y / 2 + (1 / x) * y * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y / 30))) + below


def trigamma_inverse(value: float) -> float:
    """Where trigamma, which falls, has this value."""
    low, high = 1e-4, 1e7
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle) > value else (low, middle)
    return math.sqrt(low * high)


def t_chance(t: float, freedom: float) -> float:
    """The probability that Student's t is below `t`."""
    tail = _beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
    return 1 - tail if t > 0 else tail


def t_quantile(chance: float, freedom: float) -> float:
    """The value below which Student's t is with this probability."""
    low, high = -1e4, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_chance(middle, freedom) < chance else (low, middle)
    return (low + high) / 2


def chi_median(freedom: float) -> float:
    """The median of chi-square over its degrees of freedom (Wilson and Hilferty)."""
    return (1 - 2 / (9 * freedom)) ** 3


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), 1e-300)
    result = d
    for m in range(1, 400):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + step * d or 1e-300)
            c = 1 + step / c or 1e-300
            result *= c * d
        if abs(c * d - 1) < 1e-13:
            break
    return front * result / a
