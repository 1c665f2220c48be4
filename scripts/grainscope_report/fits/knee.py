"""The knee of a wall: the largest span at which rows still come at 90 % of the rate of small spans."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grainscope_report.statistics import Estimate

SHARE = 0.9


@dataclass(frozen=True)
class Knee:
    """Where a curve falls below `SHARE` of its small-span rate, interpolated in log-log.

    Where it never does the span is the largest measured, and nothing is `reached`. The interval comes
    from the ends of the points' intervals: the span at which the lower ends fall below the share, and
    that at which the upper ends do; where between `holds_at` and `falls_at`, both measured, the knee
    really is only more spans would tell.
    """

    span: Estimate
    small: Estimate
    holds_at: float
    falls_at: float | None

    @property
    def reached(self) -> bool:
        """Whether the curve falls within the measured spans."""
        return self.falls_at is not None


def knee(spans: Sequence[float], rates: Sequence[Estimate], most: float = math.inf) -> Knee | None:
    """The knee of a curve over ascending spans; None for fewer than three of them.

    The link gives no more than `most`: what small spans have above it comes from caches.
    """
    if len(spans) < 3:
        return None
    small = _small(rates)
    small = small.scaled(min(1.0, most / small.value))
    middle = _last(spans, [rate.value for rate in rates], SHARE * small.value)
    low = _last(spans, [rate.low for rate in rates], SHARE * small.value)
    high = _last(spans, [rate.high for rate in rates], SHARE * small.value)
    above = [span for span in spans if span > middle]
    holds = max((span for span in spans if span <= middle), default=spans[0])
    return Knee(Estimate(middle, min(low, middle), max(high, middle)), small, holds, min(above, default=None))


def _small(rates: Sequence[Estimate]) -> Estimate:
    """The rate of the smallest span, or the best one where a larger span is clearly faster."""
    best = max(rates, key=lambda rate: rate.value)
    return best if best.low > rates[0].high else rates[0]


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
