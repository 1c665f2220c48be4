"""The straight line behind a transfer, t = a + b n: latency a, bandwidth 1/b, half of it reached at a/b.

The line has the least sum of absolute relative errors, found by reweighting: a size that a cache or
another protocol bends away counts by how far off it is and not by its square, and a kilobyte counts
as much as a gigabyte. Intervals are a bootstrap: sizes drawn with replacement, each time drawn from
its own interval, 2.5th to 97.5th percentile of 200 such lines.
"""

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from grainscope_report import statistics
from grainscope_report.statistics import Estimate

FEWEST_SIZES = 5
# Sizes closer together than this tell latency from bandwidth by noise alone.
LEAST_RANGE = 32
DRAWS = 200
STEPS, STEPS_OF_A_DRAW = 40, 5
SMALLEST_ERROR = 0.005
METHOD = "least absolute relative errors; 95 % by bootstrap over sizes"


@dataclass(frozen=True)
class Line:
    """A fitted line: seconds before the first byte, GB/s of a long transfer, bytes at half of that.

    `median_error` and `worst_error` are relative, the latter with the size that it is at.
    """

    latency_s: Estimate
    bandwidth_gb_s: Estimate
    half_bytes: Estimate
    median_error: float
    worst_error: float
    worst_bytes: float
    sizes: int


def fit(sizes: Sequence[float], times: Sequence[Estimate]) -> Line | None:
    """The line through these sizes and times; None where there are too few sizes to tell."""
    if len(sizes) < FEWEST_SIZES or max(sizes) < LEAST_RANGE * min(sizes):
        return None
    middle = [time.value for time in times]
    best = _solve(sizes, middle, _start(sizes, middle), STEPS)
    if best[1] <= 0:
        return None
    drawn = _bootstrap(sizes, times, best)
    errors = [(best[0] + best[1] * n) / t - 1 for n, t in zip(sizes, middle, strict=True)]
    worst = max(range(len(sizes)), key=lambda at: abs(errors[at]))
    return Line(
        latency_s=_estimate(best[0], [a for a, _ in drawn]),
        bandwidth_gb_s=_estimate(1e-9 / best[1], [1e-9 / b for _, b in drawn]),
        half_bytes=_estimate(best[0] / best[1], [a / b for a, b in drawn]),
        median_error=statistics.median([abs(error) for error in errors]),
        worst_error=errors[worst],
        worst_bytes=sizes[worst],
        sizes=len(sizes),
    )


def _estimate(value: float, drawn: Sequence[float]) -> Estimate:
    low, high = statistics.percentile(drawn, 2.5), statistics.percentile(drawn, 97.5)
    return Estimate(value, min(value, low), max(value, high))


def _start(sizes: Sequence[float], times: Sequence[float]) -> tuple[float, float]:
    """The time of the smallest size and the rate of the largest."""
    return times[sizes.index(min(sizes))], times[sizes.index(max(sizes))] / max(sizes)


def _solve(
    sizes: Sequence[float], times: Sequence[float], line: tuple[float, float], steps: int
) -> tuple[float, float]:
    """Weighted least squares again and again, each weight one over the error that the last line left."""
    scaled = [(1 / time, size / time) for size, time in zip(sizes, times, strict=True)]
    for _ in range(steps):
        one = size = both = first = second = 0.0
        a, b = line
        for u, v in scaled:
            error = a * u + b * v - 1
            if error < 0:
                error = -error
            weighted = u / error if error > SMALLEST_ERROR else u / SMALLEST_ERROR
            first += weighted
            one += weighted * u
            both += weighted * v
            weighted *= v / u
            second += weighted
            size += weighted * v
        determinant = one * size - both * both
        if determinant <= 1e-12 * one * size:
            return line
        a, b = (first * size - second * both) / determinant, (second * one - first * both) / determinant
        # Nothing arrives before it was sent.
        line = (a, b) if a >= 0 else (0.0, second / size)
    return line


def _bootstrap(
    sizes: Sequence[float], times: Sequence[Estimate], best: tuple[float, float]
) -> list[tuple[float, float]]:
    """Lines through sizes drawn with replacement."""
    spread = [math.log(time.high / time.low) / (2 * statistics.Z_95) if time.low else 0.0 for time in times]
    values = [time.value for time in times]
    found = []
    for number in itertools.count():
        if len(found) == DRAWS:
            break
        drawn = _draw(len(sizes), number)
        there = [sizes[at] for at, _ in drawn]
        if max(there) < LEAST_RANGE * min(there):
            continue
        perturbed = [values[at] * math.exp(off * spread[at]) for at, off in drawn]
        line = _solve(there, perturbed, best, STEPS_OF_A_DRAW)
        found.append(line if line[1] > 0 else best)
    return found


@lru_cache(maxsize=4096)
def _draw(count: int, number: int) -> tuple[tuple[int, float], ...]:
    """So many sizes drawn with replacement, each with a normal number; the same for all paths."""
    chance = random.Random(1000 * count + number)
    return tuple((chance.randrange(count), chance.gauss(0, 1)) for _ in range(count))
