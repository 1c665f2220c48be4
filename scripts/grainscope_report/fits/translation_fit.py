"""Fits the model of the translation wall: granule, reach and misses a second of the least squares.

The squares are those of the logarithm of the time, over all rows of one kind of memory. What the link
alone gives is the best rate of each order and size of row. Intervals hold every value that some fit
with squares ≤ least · e^(3.84 / rows bound by misses) has (a profile likelihood, 95 %); the least is at
least what the rows' own intervals amount to.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.fits.translation import SORTED, Checked, Gather, Translation, misses
from grainscope_report.statistics import Estimate

GRANULES = tuple(1 << power for power in range(12, 26))
# Steps of the reach in an octave: a coarse look at every granule, a fine one at those that may be it.
COARSE, FINE = 2, 8
MAY_BE = 4.0
FEWEST_IN_THE_WALL = 4
CHI_SQUARED = 3.841
CACHED = 1.05
METHOD = "least squares in log time; 95 % by profile likelihood"


def ceiling(gathers: Sequence[Gather], peak: float | None = None) -> float:
    """What the link can give any rows, GB/s: the best of sorted, distinct ones, else the copy peak.

    Rows as asked repeat themselves, and over small spans caches serve some of them a second time.
    """
    distinct = [one.rate.value for one in gathers if one.order == SORTED]
    return max(distinct, default=peak or math.inf)


def best_rates(gathers: Sequence[Gather], most: float) -> dict[tuple[str, float], float]:
    """What the link alone gives, GB/s: the best rate of each order and size of row, up to `most`."""
    best: dict[tuple[str, float], float] = {}
    for one in gathers:
        key = (one.order, one.row)
        best[key] = max(best.get(key, 0.0), min(one.rate.value, most))
    return best


def fit(every: Sequence[Gather], peak: float | None = None) -> Translation | None:
    """The model that fits these rows best; None where too few of them are slowed by misses.

    Rows that beat what the link can give hit in caches, and sorted ones most of which repeat take the
    caches' time: of both the model knows nothing, they are left out.
    """
    most = ceiling(every, peak)
    gathers = [one for one in every if one.rate.value <= CACHED * most and not _mostly_repeats(one)]
    rates = best_rates(gathers, most)
    link = [one.crossing_rows * one.row / rates[one.order, one.row] / 1e9 for one in gathers]
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
        link_gb_s=max(one.rate.value for one in gathers),
        checked=checked,
        best=rates,
    )


def _mostly_repeats(gather: Gather) -> bool:
    return gather.order == SORTED and gather.rows > 2 * gather.unique_rows


def _slow(gather: Gather, link_s: float) -> bool:
    """Whether a row is clearly slower than the link alone makes it."""
    return gather.time_s.value > link_s / 0.9


def _log_spread(time_s: Estimate) -> float:
    return math.log(time_s.high / time_s.low) / (2 * statistics.Z_95)


def _likely(gathers: Sequence[Gather], link: Sequence[float]) -> list[int]:
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
    gathers: Sequence[Gather], link: Sequence[float], granules: Sequence[int]
) -> list[tuple[int, float, "Part"]]:
    return [
        (granule, reach, part)
        for granule in granules
        for reach in _reaches(gathers, FINE)
        for part in _parts(gathers, link, granule, reach)
    ]


def _reaches(gathers: Sequence[Gather], steps: int) -> list[float]:
    """From a sixteenth of the smallest span to the largest, so many steps an octave."""
    low, high = min(one.span for one in gathers) / 16, max(one.span for one in gathers)
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
