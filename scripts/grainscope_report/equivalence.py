"""Whether two programs take the same time, family by family and row by row. The standard library alone.

A row's value is the logarithm of its median in one run, so a difference is the logarithm of a ratio. Runs of
one program differ, too: in each run a family is shifted as a whole, and each row strays by itself.

Family: rows are centred, and a run's location is the interquartile mean of its rows, since a few rows stray
by far more than the rest. The estimate is the difference of the mean locations of both sides. Its error
comes from the spread of the locations within the sides (4 degrees of freedom of 3 + 3 runs), moderated as
limma moderates variances: relative to what the spread of the rows and the usual shift of a run predict, with
a prior from all families on one clock.
Row: the difference of the means of both sides, its variance moderated over the rows of the family.
Source: Smyth, Linear models and empirical Bayes methods, Stat. Appl. Genet. Mol. Biol. 3 (2004);
Schuirmann, two one-sided tests, J. Pharmacokinet. Biopharm. 15 (1987).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from grainscope_report.comparison.verdicts import benjamini_hochberg
from grainscope_report.uncertainty import (
    NO_PRIOR,
    Prior,
    fit_prior,
    moderate,
    student_above,
    student_quantile,
)

SAME, DIFFERS, UNKNOWN = "same", "differs", "cannot be told"
TOST_LEVEL = 0.05
# What differs in the first runs must do so again, so one family in a hundred may run again by chance.
DIFFERS_LEVEL = 0.01
ROWS_LEVEL = 0.05
# Fewer rows have no middle half, and stray more than a family whose far ones are left out.
FEWEST_ROWS = 4
_TINY = 1e-12

Sides = tuple[Sequence[float], Sequence[float]]  # one row: its logarithms in the runs of A, and of B


@dataclass(frozen=True)
class Estimate:
    """The logarithm of a ratio with its standard error and degrees of freedom."""

    value: float
    error: float
    freedom: float

    def interval(self, level: float) -> tuple[float, float]:
        """Both ends of the interval, as ratios."""
        half = student_quantile((1 + level) / 2, self.freedom) * self.error
        return math.exp(self.value - half), math.exp(self.value + half)

    @property
    def p(self) -> float:
        """The probability of so large a difference where there is none."""
        return 2 * student_above(abs(self.value) / self.error, self.freedom)

    def reach(self) -> float:
        """The smallest margin, as a share, within which these data show equivalence."""
        return math.expm1(abs(self.value) + student_quantile(1 - TOST_LEVEL, self.freedom) * self.error)

    def power(self, margin: float) -> float:
        """The probability of `same` where nothing differs, with an error of this size."""
        room = math.log1p(margin) / self.error - student_quantile(1 - TOST_LEVEL, self.freedom)
        return 1 - 2 * student_above(room, self.freedom) if room > 0 else 0.0

    def beyond_half(self, margin: float) -> bool:
        """Whether the value is further from 0 than half the margin: what is nearer does not matter."""
        return abs(self.value) > math.log1p(margin) / 2

    def verdict(self, margin: float) -> str:
        """`same` by two one-sided tests, else `differs` where significant: then beyond half the margin."""
        if self.reach() < margin:
            return SAME
        return DIFFERS if self.p < DIFFERS_LEVEL else UNKNOWN


@dataclass(frozen=True)
class FamilyPrior:
    """What the families on one clock have in common."""

    run_variance: float = 0.0  # of the shift of a run, beyond what its rows explain
    inflation: Prior = NO_PRIOR


class Family:
    """The locations of a family's runs and how its rows stray around them."""

    def __init__(self, rows: Sequence[Sides]) -> None:
        centres = [fmean(map(fmean, row)) for row in rows]
        runs = [
            [[x - centre for x, centre in zip(run, centres, strict=True)] for run in zip(*side, strict=True)]
            for side in zip(*rows, strict=True)
        ]
        places = tuple([interquartile_mean(run) for run in side] for side in runs)
        self.apart = fmean(places[1]) - fmean(places[0])
        self.variance, self.freedom = within(places)
        self.weight = sum(1 / len(side) for side in places)  # of a location's variance in that of `apart`
        self.rows = len(rows)
        # Centring takes one run's worth from the spread of each row.
        count = self.freedom + 2
        self.row_variance = count / (count - 1) * fmean(_felt_variance(run) for side in runs for run in side)

    def expected(self, prior: FamilyPrior) -> float:
        """The variance of a run's location that rows and the usual shift of a run explain."""
        return max(self.row_variance / self.rows + prior.run_variance, _TINY)

    def inflation(self, prior: FamilyPrior) -> float:
        """How much more the locations vary than expected."""
        return self.variance / self.expected(prior)

    def estimate(self, prior: FamilyPrior) -> Estimate:
        """The ratio of the family."""
        kind = prior.inflation if self.rows >= FEWEST_ROWS else NO_PRIOR
        inflation, freedom = moderate(kind, self.inflation(prior), self.freedom)
        variance = max(inflation * self.expected(prior), _TINY) * self.weight
        return Estimate(self.apart, math.sqrt(variance), freedom)


def fit_families(families: Sequence[Family]) -> FamilyPrior:
    """The prior of one clock from its families; those of a few rows stand alone."""
    families = [family for family in families if family.rows >= FEWEST_ROWS]
    if not families:
        return FamilyPrior()
    freedom = families[0].freedom
    # The shift of a run at which the median family varies as much as expected (Wilson and Hilferty).
    target = (1 - 2 / (9 * freedom)) ** 3
    low, high = 0.0, 2 * max(family.variance for family in families) / target
    for _ in range(60):
        shift = (low + high) / 2
        wide = median(family.inflation(FamilyPrior(shift)) for family in families) > target
        low, high = (shift, high) if wide else (low, shift)
    prior = FamilyPrior(low)
    inflation = fit_prior([family.inflation(prior) for family in families], freedom)
    return FamilyPrior(low, inflation)


def row_estimate(row: Sides, prior: Prior) -> Estimate:
    """The ratio of one row."""
    variance, freedom = moderate(prior, *within(row))
    return Estimate(
        fmean(row[1]) - fmean(row[0]), math.sqrt(variance * sum(1 / len(side) for side in row)), freedom
    )


def within(sides: Sides) -> tuple[float, int]:
    """The variance within the sides, and its degrees of freedom."""
    freedom = sum(map(len, sides)) - 2
    squares = sum((x - mean) ** 2 for side in sides for mean in [fmean(side)] for x in side)
    return max(squares / freedom, _TINY), freedom


def interquartile_mean(values: Sequence[float]) -> float:
    """The mean of the middle half; of fewer than three values the mean of all."""
    cut = round(len(values) / 4)
    return fmean(sorted(values)[cut : len(values) - cut])


def _felt_variance(run: Sequence[float]) -> float:
    """The variance of the interquartile mean of a run's rows, times their number (Tukey and McLaughlin)."""
    ordered, cut, count = sorted(run), round(len(run) / 4), len(run)
    winsorised = [ordered[min(max(at, cut), count - 1 - cut)] for at in range(count)]
    mean, kept = fmean(winsorised), count - 2 * cut
    return sum((x - mean) ** 2 for x in winsorised) * count / (kept * max(kept - 1, 1))


def false_discoveries(p: Sequence[float]) -> list[int]:
    """Which of these stand out at a false discovery rate of ROWS_LEVEL (Benjamini and Hochberg)."""
    claimed = benjamini_hochberg(p)
    return [at for at in sorted(range(len(p)), key=p.__getitem__) if claimed[at] <= ROWS_LEVEL]
