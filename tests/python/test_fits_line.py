"""The line behind a path: known latencies and bandwidths must come back, and what hides them must not."""

import math
import random

import pytest

from grainscope_report.groups import transfer
from grainscope_report.statistics import Estimate
from synthetic import GIB, KIB, MIB

SIZES = [4 * KIB << step for step in range(0, 19, 2)]


def planted(
    latency_s: float, gb_s: float, noise: float = 0.0, seed: int = 1, width: float = 0.01
) -> list[Estimate]:
    """Times of a line, off by a random share of up to `noise`."""
    chance = random.Random(seed)
    times = [(latency_s + size / gb_s / 1e9) * (1 + noise * chance.uniform(-1, 1)) for size in SIZES]
    return [Estimate(time, time * (1 - width), time * (1 + width)) for time in times]


CHANCE = random.Random(7)
LINES = [(10 ** CHANCE.uniform(-6.3, -3.5), 10 ** CHANCE.uniform(0.3, 3.2)) for _ in range(12)]


@pytest.mark.parametrize(("latency_s", "gb_s"), LINES)
def test_a_line_is_recovered(latency_s, gb_s):
    found = transfer.fit_line(SIZES, planted(latency_s, gb_s))
    assert found.latency_s.value == pytest.approx(latency_s, rel=1e-3)
    assert found.bandwidth_gb_s.value == pytest.approx(gb_s, rel=1e-3)
    assert found.half_bytes.value == pytest.approx(latency_s * gb_s * 1e9, rel=1e-3)
    assert found.median_error < 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_a_noisy_line_is_recovered_within_its_intervals_or_near(seed):
    found = transfer.fit_line(SIZES, planted(5e-6, 50.0, noise=0.04, seed=seed, width=0.03))
    for estimate, truth in ((found.latency_s, 5e-6), (found.bandwidth_gb_s, 50.0)):
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.low * 0.98 <= truth <= estimate.high * 1.02
        assert estimate.high / estimate.low < 1.35


def test_intervals_hold_the_truth_as_often_as_they_say():
    trials, held = 40, 0
    for seed in range(trials):
        found = transfer.fit_line(SIZES, planted(5e-6, 50.0, noise=0.05, seed=100 + seed, width=0.05))
        held += found.bandwidth_gb_s.low <= 50.0 <= found.bandwidth_gb_s.high
    assert held >= 0.85 * trials


@pytest.mark.parametrize("at", [0, 4, len(SIZES) - 2])
def test_one_size_that_is_far_off_does_not_bend_the_line(at):
    times = planted(5e-6, 50.0)
    times[at] = times[at].scaled(3.0)
    found = transfer.fit_line(SIZES, times)
    assert found.latency_s.value == pytest.approx(5e-6, rel=0.02)
    assert found.bandwidth_gb_s.value == pytest.approx(50.0, rel=0.02)
    assert found.worst_bytes == SIZES[at]
    assert found.worst_error == pytest.approx(1 / 3 - 1, abs=0.02)


def test_a_latency_is_never_negative():
    times = [Estimate(t, t, t) for size in SIZES if (t := size / 50e9 * (0.8 if size < MIB else 1.0))]
    found = transfer.fit_line(SIZES, times)
    assert found.latency_s.value >= 0
    assert found.latency_s.low >= 0


def test_the_same_times_give_the_same_line():
    times = planted(5e-6, 50.0, noise=0.05)
    assert transfer.fit_line(SIZES, times) == transfer.fit_line(SIZES, times)


def test_wider_times_give_wider_intervals():
    narrow, wide = (transfer.fit_line(SIZES, planted(5e-6, 50.0, width=width)) for width in (0.005, 0.1))
    assert (
        wide.bandwidth_gb_s.high / wide.bandwidth_gb_s.low
        > 2 * math.sqrt(narrow.bandwidth_gb_s.high / narrow.bandwidth_gb_s.low) - 1
    )


@pytest.mark.parametrize("sizes", [SIZES[:4], [MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB], [GIB] * 9])
def test_too_few_sizes_or_too_near_give_no_line(sizes):
    assert transfer.fit_line(sizes, [Estimate(1e-3, 1e-3, 1e-3)] * len(sizes)) is None
