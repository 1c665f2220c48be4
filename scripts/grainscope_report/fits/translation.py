"""A model of the translation wall, its fit, and the knee of a wall.

A GPU that reads far memory translates addresses a granule at a time. It keeps the translations of `reach`
bytes and fetches others at `misses_per_s`, all its threads together. Then rows at random, as asked, miss
with probability 1 − reach / span each; rows sorted by address miss once for each of the G (1 − e^(−rows /
G)) granules that they touch, G = span / granule, where the span is beyond the reach. The time is that of
the link or that of the misses, whichever is longer. The link moves every row that is asked for where they
come as asked, and distinct rows where they are sorted or smaller than a line: then repeats, and neighbours
in a line, hit in cache.

Granule, reach and misses a second are those of the least squares of the logarithm of the time, over all
rows of one kind of memory. What the link alone gives is the best rate of each order and size of row.
Intervals hold every value that some fit with squares ≤ least · e^(3.84 / rows bound by misses) has (a
profile likelihood, 95 %); the least is at least what the rows' own intervals amount to.

The knee is the largest span at which rows still come at 90 % of the rate of small spans.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.statistics import Estimate

FAILS = 0.25
HOLDS = 0.15
SORTED = "sorted"
LINE = 128


@dataclass(frozen=True)
class Rows:
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

    gather: Rows
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
        gather = Rows(order, row, rows, expected_unique(rows, span / row), span, still)
        link = gather.crossing_rows * row / self.best[order, row] / 1e9
        fetching = misses(gather, self.granule.value, self.reach.value) / self.misses_per_s.value
        return rows * row / max(link, fetching) / 1e9

    @property
    def wall(self) -> list[Checked]:
        """The rows that misses slow down, by the model or by their rate."""
        return [checked for checked in self.checked if checked.in_the_wall]

    @property
    def median_error(self) -> float:
        """The median of the absolute errors in the wall."""
        return statistics.median([abs(gather.error) for gather in self.wall])

    @property
    def worst(self) -> Checked:
        """The row that the model misses by most."""
        return max(self.checked, key=lambda checked: abs(math.log1p(checked.error)))

    @property
    def failing(self) -> list[Checked]:
        """The rows that it misses by more than a quarter."""
        return [checked for checked in self.checked if abs(checked.error) > FAILS]

    @property
    def holds(self) -> bool:
        """Whether it describes the rows: most within 15 %, few beyond a quarter."""
        return self.median_error <= HOLDS and len(self.failing) <= len(self.wall) / 5

    @property
    def bytes_a_miss(self) -> float:
        """What each granule must give for the link to stay full, bytes."""
        return self.link_gb_s * 1e9 / self.misses_per_s.value


def misses(gather: Rows, granule: float, reach: float) -> float:
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


GRANULES = tuple(1 << power for power in range(12, 26))
# Steps of the reach in an octave: a coarse look at every granule, a fine one at those that may be it.
COARSE, FINE = 2, 8
MAY_BE = 4.0
FEWEST_IN_THE_WALL = 4
CHI_SQUARED = 3.841
CACHED = 1.05
METHOD = "least squares in log time; 95 % by profile likelihood"


def ceiling(gathers: Sequence[Rows], peak: float | None = None) -> float:
    """What the link can give any rows, GB/s: the best of sorted, distinct ones, else the copy peak.

    Rows as asked repeat themselves, and over small spans caches serve some of them a second time.
    """
    distinct = [gather.rate.value for gather in gathers if gather.order == SORTED]
    return max(distinct, default=peak or math.inf)


def best_rates(gathers: Sequence[Rows], most: float) -> dict[tuple[str, float], float]:
    """What the link alone gives, GB/s: the best rate of each order and size of row, up to `most`."""
    best: dict[tuple[str, float], float] = {}
    for gather in gathers:
        key = (gather.order, gather.row)
        best[key] = max(best.get(key, 0.0), min(gather.rate.value, most))
    return best


def fit(every: Sequence[Rows], peak: float | None = None) -> Translation | None:
    """The model that fits these rows best; None where too few of them are slowed by misses.

    Rows that beat what the link can give hit in caches, and sorted ones most of which repeat take the
    caches' time: of both the model knows nothing, they are left out.
    """
    most = ceiling(every, peak)
    gathers = [
        gather for gather in every if gather.rate.value <= CACHED * most and not _mostly_repeats(gather)
    ]
    rates = best_rates(gathers, most)
    link = [gather.crossing_rows * gather.row / rates[gather.order, gather.row] / 1e9 for gather in gathers]
    if sum(_slow(one, time) for one, time in zip(gathers, link, strict=True)) < FEWEST_IN_THE_WALL:
        return None
    tried = _try(gathers, link, _likely(gathers, link))
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
        Checked(one, total, total > time or (one.span > reach and _slow(one, time)))
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
        link_gb_s=max(gather.rate.value for gather in gathers),
        checked=checked,
        best=rates,
    )


def _mostly_repeats(gather: Rows) -> bool:
    return gather.order == SORTED and gather.rows > 2 * gather.unique_rows


def _slow(gather: Rows, link_s: float) -> bool:
    """Whether a row is clearly slower than the link alone makes it."""
    return gather.time_s.value > link_s / 0.9


def _log_spread(time_s: Estimate) -> float:
    return math.log(time_s.high / time_s.low) / (2 * statistics.Z_95)


def _likely(gathers: Sequence[Rows], link: Sequence[float]) -> list[int]:
    """The granules whose squares over a coarse grid come near the least."""
    best = {
        granule: min(
            (
                part.squares
                for reach in _reaches(gathers, COARSE)
                for part in _parts(gathers, link, granule, reach)
            ),
            default=math.inf,
        )
        for granule in GRANULES
    }
    return [granule for granule in GRANULES if best[granule] <= MAY_BE * min(best.values())]


def _try(
    gathers: Sequence[Rows], link: Sequence[float], granules: Sequence[int]
) -> list[tuple[int, float, "Part"]]:
    return [
        (granule, reach, part)
        for granule in granules
        for reach in _reaches(gathers, FINE)
        for part in _parts(gathers, link, granule, reach)
    ]


def _reaches(gathers: Sequence[Rows], steps: int) -> list[float]:
    """From a sixteenth of the smallest span to the largest, so many steps an octave."""
    low, high = min(gather.span for gather in gathers) / 16, max(gather.span for gather in gathers)
    return [low * 2 ** (step / steps) for step in range(math.ceil(math.log2(high / low) * steps))]


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


def _parts(gathers: Sequence[Rows], link: Sequence[float], granule: float, reach: float) -> Iterator[Part]:
    """The stretches, from the rate at which the first row is bound by misses down to all of them.

    With z = log(misses) − log(time) a bound row leaves (log rate − z)², another one its distance from
    the link's time; so the best rate of a stretch is a mean, and no search is needed.
    """
    rows, rest = [], 0.0
    for gather, time in zip(gathers, link, strict=True):
        off = math.log(gather.time_s.value / time) ** 2
        rest += off
        if count := misses(gather, granule, reach):
            rows.append((math.log(count / time), math.log(count / gather.time_s.value), off))
    rows.sort(reverse=True)
    total = squares = 0.0
    for at, (high, z, off) in enumerate(rows):
        total, squares, rest = total + z, squares + z * z, rest - off
        low = rows[at + 1][0] if at + 1 < len(rows) else -math.inf
        mean = total / (at + 1)
        inner = max(0.0, squares - (at + 1) * mean * mean)
        yield Part(low, high, at + 1, mean, max(0.0, rest) + inner)


SHARE = 0.9
OCTAVE = 2


@dataclass(frozen=True)
class Knee:
    """Where a curve falls below `SHARE` of its small-span rate, interpolated in log-log.

    Where it never does the span is the largest measured, and nothing is `reached`. How a curve gets from
    one measured span to the next is not known: the interval is from the last span at which the lower ends
    of the points' intervals are above the share to the first at which the upper ends are below it.
    """

    span: Estimate
    small: Estimate
    holds_at: float
    falls_at: float | None

    @property
    def reached(self) -> bool:
        """Whether the curve falls within the measured spans."""
        return self.falls_at is not None

    @property
    def known(self) -> bool:
        """Whether it is known to less than an octave; else only the interval says anything."""
        return self.span.high < OCTAVE * self.span.low


def knee(spans: Sequence[float], rates: Sequence[Estimate], most: float = math.inf) -> Knee | None:
    """The knee of a curve over ascending spans; None for fewer than three of them.

    The link gives no more than `most`: what small spans have above it comes from caches.
    """
    if len(spans) < 3:
        return None
    small = _small(rates)
    small = small.scaled(min(1.0, most / small.value))
    least = SHARE * small.value
    middle = _last(spans, [rate.value for rate in rates], least)
    above = [span for span in spans if span > middle]
    holds = max((span for span in spans if span <= middle), default=spans[0])
    surely = _at(rates, least, lambda rate: rate.low)
    maybe = _at(rates, least, lambda rate: rate.high)
    low, high = spans[max(surely, 0)], spans[min(maybe + 1, len(spans) - 1)]
    return Knee(Estimate(middle, min(low, middle), max(high, middle)), small, holds, min(above, default=None))


def _small(rates: Sequence[Estimate]) -> Estimate:
    """The rate of the smallest span, or the best one where a larger span is clearly faster."""
    best = max(rates, key=lambda rate: rate.value)
    return best if best.low > rates[0].high else rates[0]


def _at(rates: Sequence[Estimate], least: float, end: Callable[[Estimate], float]) -> int:
    """The last point whose end is at `least`, −1 where none is."""
    return max((at for at, rate in enumerate(rates) if end(rate) >= least), default=-1)


def _last(spans: Sequence[float], rates: Sequence[float], least: float) -> float:
    """The last place where the curve is at `least`; the smallest span where it is never."""
    there = [at for at, rate in enumerate(rates) if rate >= least]
    if not there:
        return spans[0]
    at = there[-1]
    if at == len(spans) - 1:
        return spans[at]
    share = math.log(rates[at] / least) / math.log(rates[at] / rates[at + 1])
    return spans[at] * (spans[at + 1] / spans[at]) ** share
