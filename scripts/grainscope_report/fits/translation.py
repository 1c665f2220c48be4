"""A model of the translation wall: misses a second at a granule, beyond a reach.

A GPU that reads far memory translates addresses a granule at a time. It keeps the translations of
`reach` bytes and fetches others at `misses_per_s`, all its threads together. Then rows at random, as
asked, miss with probability 1 − reach / span each; rows sorted by address miss once for each of the
G (1 − e^(−rows / G)) granules that they touch, G = span / granule, where the span is beyond the reach.
The time is that of the link or that of the misses, whichever is longer. The link moves every row that
is asked for where they come as asked, and distinct rows where they are sorted: then repeats hit in
cache. Granule, reach and rate are those of the least squares in the logarithm of the time, over all
rows of one kind of memory; intervals hold every value that some fit with
squares ≤ least · e^(3.84 / rows in the wall) has (a profile likelihood, 95 %).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.statistics import Estimate

GRANULES = tuple(1 << power for power in range(12, 26))
REACH_STEPS = 8  # an octave
FEWEST_IN_THE_WALL = 4
CHI_SQUARED = 3.841
FAILS = 0.25
HOLDS = 0.15
METHOD = "least squares in log time; 95 % by profile likelihood"
SORTED = "sorted"


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
        return self.unique_rows if self.order == SORTED else self.rows

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


def best_rates(gathers: Sequence[Gather]) -> dict[tuple[str, float], float]:
    """What the link alone gives, GB/s: the best rate of each order and size of row."""
    best: dict[tuple[str, float], float] = {}
    for one in gathers:
        key = (one.order, one.row)
        best[key] = max(best.get(key, 0.0), one.rate.value)
    return best


def fit(gathers: Sequence[Gather]) -> Translation | None:
    """The model that fits these rows best; None where too few of them are slowed by misses."""
    rates = best_rates(gathers)
    link = [one.crossing_rows * one.row / rates[one.order, one.row] / 1e9 for one in gathers]
    if sum(_slow(one, time) for one, time in zip(gathers, link, strict=True)) < FEWEST_IN_THE_WALL:
        return None
    tried = [
        (granule, reach, part)
        for granule in GRANULES
        for reach in _reaches(gathers)
        for part in _parts(gathers, link, granule, reach)
    ]
    granule, reach, best = min(tried, key=lambda one: one[2].squares)
    spread = [_log_spread(one.time_s) for one, time in zip(gathers, link, strict=True) if _slow(one, time)]
    least = max(best.squares, sum(one * one for one in spread))
    allowed = least * math.exp(CHI_SQUARED / max(best.count, 1))
    fine = [(g, r, *ends) for g, r, part in tried if (ends := part.within(allowed))]
    modelled = [
        max(time, misses(one, granule, reach) / math.exp(best.log_rate))
        for one, time in zip(gathers, link, strict=True)
    ]
    checked = tuple(
        Checked(one, total, total > time or _slow(one, time))
        for one, time, total in zip(gathers, link, modelled, strict=True)
    )
    return Translation(
        granule=Estimate(granule, min(one[0] for one in fine), max(one[0] for one in fine)),
        reach=Estimate(reach, min(one[1] for one in fine), max(one[1] for one in fine)),
        misses_per_s=Estimate(
            math.exp(best.log_rate),
            math.exp(min(one[2] for one in fine)),
            math.exp(max(one[3] for one in fine)),
        ),
        link_gb_s=max(one.rate.value for one in gathers),
        checked=checked,
        best=rates,
    )


def _slow(gather: Gather, link_s: float) -> bool:
    """Whether a row is clearly slower than the link alone makes it."""
    return gather.time_s.value > link_s / 0.9


def _log_spread(time_s: Estimate) -> float:
    return math.log(time_s.high / time_s.low) / (2 * statistics.Z_95)


def _reaches(gathers: Sequence[Gather]) -> list[float]:
    """From a sixteenth of the smallest span to the largest."""
    low, high = min(one.span for one in gathers) / 16, max(one.span for one in gathers)
    steps = math.ceil(math.log2(high / low) * REACH_STEPS)
    return [low * 2 ** (step / REACH_STEPS) for step in range(steps)]


@dataclass(frozen=True)
class Part:
    """A stretch of log rates in which the same `count` rows are bound by misses, and its best fit.

    There the squares are `count` (log rate − `centre`)² + `rest`.
    """

    low: float
    high: float
    count: int
    centre: float
    rest: float

    @property
    def log_rate(self) -> float:
        """The logarithm of the best rate within the stretch."""
        return min(max(self.centre, self.low), self.high)

    @property
    def squares(self) -> float:
        """The least squares within the stretch."""
        return self.count * (self.log_rate - self.centre) ** 2 + self.rest

    def within(self, allowed: float) -> tuple[float, float] | None:
        """The log rates of the stretch with no more squares than that."""
        if self.squares > allowed:
            return None
        reach = math.sqrt(max(0.0, allowed - self.rest) / self.count)
        return max(self.low, self.centre - reach), min(self.high, self.centre + reach)


def _parts(gathers: Sequence[Gather], link: Sequence[float], granule: float, reach: float) -> Iterator[Part]:
    """The stretches, from the rate at which the first row is bound by misses down to all of them.

    With z = log(misses) − log(time) a bound row leaves (log rate − z)², another one its distance from
    the link's time; so the best rate of a stretch is a mean, and no search is needed.
    """
    rows, rest = [], 0.0
    for one, time in zip(gathers, link, strict=True):
        off = math.log(one.time_s.value / time) ** 2
        rest += off
        if count := misses(one, granule, reach):
            rows.append((math.log(count / time), math.log(count / one.time_s.value), off))
    rows.sort(reverse=True)
    total = squares = 0.0
    for at, (high, z, off) in enumerate(rows):
        total, squares, rest = total + z, squares + z * z, rest - off
        low = rows[at + 1][0] if at + 1 < len(rows) else -math.inf
        mean = total / (at + 1)
        inner = max(0.0, squares - (at + 1) * mean * mean)
        yield Part(low, high, at + 1, mean, max(0.0, rest) + inner)
