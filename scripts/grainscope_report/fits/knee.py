"""The knee of a wall: the largest span at which rows still come at 90 % of the rate of small spans."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grainscope_report.statistics import Estimate

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
