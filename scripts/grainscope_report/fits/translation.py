"""A model of the translation wall: misses a second at a granule, beyond a reach.

A GPU that reads far memory translates addresses a granule at a time. It keeps the translations of
`reach` bytes and fetches others at `misses_per_s`, all its threads together. Then rows at random, as
asked, miss with probability 1 − reach / span each; rows sorted by address miss once for each of the
G (1 − e^(−rows / G)) granules that they touch, G = span / granule, where the span is beyond the reach.
The time is that of the link or that of the misses, whichever is longer. The link moves every row that
is asked for where they come as asked, and distinct rows where they are sorted or smaller than a line:
then repeats, and neighbours in a line, hit in cache.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.statistics import Estimate

FAILS = 0.25
HOLDS = 0.15
SORTED = "sorted"
LINE = 128


@dataclass(frozen=True)
class Gather:
    """Rows gathered at random: bytes of a row, how many asked for and distinct, over how many bytes."""

    order: str
    row: float
    rows: float
    unique_rows: float
    span: float
    time_s: Estimate

    @property
    def crossing_rows(self) -> float:
        """The rows that have to cross the link."""
        return self.unique_rows if self.order == SORTED or self.row < LINE else self.rows

    @property
    def rate(self) -> Estimate:
        """GB/s of the rows that have to cross."""
        return statistics.rate_gb_s(self.time_s, self.crossing_rows * self.row)


@dataclass(frozen=True)
class Checked:
    """A gather beside what the model makes of it; `error` is measured over modelled rate, less one."""

    gather: Gather
    modelled_s: float
    in_the_wall: bool

    @property
    def error(self) -> float:
        """How much faster than the model, as a fraction."""
        return self.modelled_s / self.gather.time_s.value - 1


@dataclass(frozen=True)
class Translation:
    """The fitted model; errors are of the rows in the wall, absolute and relative."""

    granule: Estimate
    reach: Estimate
    misses_per_s: Estimate
    link_gb_s: float
    checked: tuple[Checked, ...]
    best: Mapping[tuple[str, float], float]

    def rate(self, order: str, row: float, rows: float, span: float) -> float:
        """GB/s of the rows asked for that the model gives for a gather."""
        still = Estimate(1.0, 1.0, 1.0)
        one = Gather(order, row, rows, expected_unique(rows, span / row), span, still)
        link = one.crossing_rows * row / self.best[order, row] / 1e9
        fetching = misses(one, self.granule.value, self.reach.value) / self.misses_per_s.value
        return rows * row / max(link, fetching) / 1e9

    @property
    def wall(self) -> list[Checked]:
        """The rows that misses slow down, by the model or by their rate."""
        return [one for one in self.checked if one.in_the_wall]

    @property
    def median_error(self) -> float:
        """The median of the absolute errors in the wall."""
        return statistics.median([abs(one.error) for one in self.wall])

    @property
    def worst(self) -> Checked:
        """The row that the model misses by most."""
        return max(self.checked, key=lambda one: abs(math.log1p(one.error)))

    @property
    def failing(self) -> list[Checked]:
        """The rows that it misses by more than a quarter."""
        return [one for one in self.checked if abs(one.error) > FAILS]

    @property
    def holds(self) -> bool:
        """Whether it describes the rows: most within 15 %, few beyond a quarter."""
        return self.median_error <= HOLDS and len(self.failing) <= len(self.wall) / 5

    @property
    def bytes_a_miss(self) -> float:
        """What each granule must give for the link to stay full, bytes."""
        return self.link_gb_s * 1e9 / self.misses_per_s.value


def misses(gather: Gather, granule: float, reach: float) -> float:
    """How many translations a gather has to fetch."""
    if gather.span <= reach:
        return 0.0
    touched = max(1.0, gather.row / granule)
    if gather.order != SORTED:
        return gather.rows * touched * (1 - reach / gather.span)
    granules = gather.span / granule
    return granules * -math.expm1(-gather.rows * touched / granules)


def expected_unique(asked: float, there: float) -> float:
    """How many different ones of `there` are among `asked` drawn at random, on average."""
    return there * -math.expm1(-asked / there)
