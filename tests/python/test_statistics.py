"""The statistics against answers worked out by hand."""

import math

import pytest

from grainscope_report import statistics
from grainscope_report.statistics import Estimate


def exact(*values: float) -> list[Estimate]:
    """Estimates without uncertainty."""
    return [Estimate(value, value, value) for value in values]


def within(share: float, *values: float) -> list[Estimate]:
    """Estimates with an interval of so much to either side."""
    return [Estimate(value, value * (1 - share), value * (1 + share)) for value in values]


# Lower rank ⌊(n − 1.96 √n)/2⌋, upper n + 1 − lower, worked out by hand.
@pytest.mark.parametrize(
    ("count", "lower", "upper"), [(8, 1, 8), (9, 1, 9), (16, 4, 13), (20, 5, 16), (32, 10, 23), (100, 40, 61)]
)
def test_median_ranks_follow_the_formula(count, lower, upper):
    assert statistics.median_ranks(count) == (lower, upper)


@pytest.mark.parametrize("count", [1, 6, 7])
def test_no_interval_of_the_median_below_eight_samples(count):
    with pytest.raises(ValueError, match="needs 8 samples"):
        statistics.median_interval(range(count))


def test_interval_of_the_median_takes_samples_by_rank_whatever_their_order():
    samples = [float(one) for one in range(1, 17)]
    assert statistics.median_interval(samples[::-1]) == (4.0, 13.0)


@pytest.mark.parametrize(("samples", "middle"), [([3, 1, 2], 2), ([4, 1, 3, 2], 2.5), ([7], 7)])
def test_median(samples, middle):
    assert statistics.median(samples) == middle


def test_mad_is_not_scaled():
    assert statistics.mad([1, 1, 2, 2, 4, 6, 9]) == 1


def test_percentile_interpolates_between_neighbours():
    assert statistics.percentile([10, 20, 30, 40, 50], 50) == 30
    assert statistics.percentile([10, 20, 30, 40, 50], 5) == pytest.approx(12)
    assert statistics.percentile([10], 95) == 10


def test_few_visits_give_the_median_and_their_span():
    assert statistics.middle_of([5, 1, 2]) == Estimate(2, 1, 5, 3)


def test_from_eight_visits_on_there_is_a_rank_interval():
    medians = [float(one) for one in range(1, 10)]
    assert statistics.middle_of(medians) == Estimate(5, 1, 9, 9)


def test_a_rate_turns_the_interval_of_the_time_round():
    assert statistics.rate_gb_s(Estimate(2.0, 1.0, 4.0, 3), 8e9) == Estimate(4.0, 2.0, 8.0, 3)


def test_a_ratio_takes_the_ends_furthest_apart():
    assert statistics.ratio(Estimate(4, 2, 8, 5), Estimate(2, 1, 4, 3)) == Estimate(2, 0.5, 8, 3)


def test_crossover_is_interpolated_in_log_log():
    # y = x and y = 8 cross at 8, which lies at three quarters between 1 and 16 on a log axis.
    [found] = statistics.crossovers([1, 16], exact(1, 16), exact(8, 8))
    assert found.x == pytest.approx(8)
    assert (found.low, found.high) == (pytest.approx(8), pytest.approx(8))
    assert found.first_wins_above


def test_crossover_says_who_wins_above():
    [found] = statistics.crossovers([1, 16], exact(8, 8), exact(1, 16))
    assert not found.first_wins_above


def test_interval_of_a_crossover_reaches_to_where_the_intervals_part():
    # y = x ± 20 % against y = 8: clear below until x · 1.2 = 8, clear above from x · 0.8 = 8 on.
    x = [2.0**power for power in range(7)]
    [found] = statistics.crossovers(x, within(0.2, *x), exact(*[8.0] * 7))
    assert found.x == pytest.approx(8)
    assert found.low == pytest.approx(8 / 1.2)
    assert found.high == pytest.approx(8 / 0.8)


def test_noise_between_equal_curves_is_no_crossover():
    wiggle = within(0.05, 1.01, 0.99, 1.01, 0.99, 1.01)
    assert statistics.crossovers([1, 2, 4, 8, 16], wiggle, within(0.05, 1, 1, 1, 1, 1)) == []


def test_curves_that_meet_at_the_end_of_the_range_have_not_crossed():
    assert statistics.crossovers([1, 2, 4], within(0.01, 1, 2, 4), within(0.01, 2, 3, 4)) == []


def test_curves_that_touch_and_part_again_have_not_crossed():
    assert statistics.crossovers([1, 2, 4], exact(2, 1, 2), exact(1, 1, 1)) == []


def test_two_crossovers_are_both_found_in_order():
    first = exact(4, 1, 4)
    found = statistics.crossovers([1, 16, 256], first, exact(2, 2, 2))
    assert [one.first_wins_above for one in found] == [False, True]
    assert [one.x for one in found] == [pytest.approx(4), pytest.approx(64)]


def test_a_noisy_stretch_around_one_crossing_is_one_crossover():
    first = within(0.05, 0.5, 0.98, 1.02, 0.98, 2)
    [found] = statistics.crossovers([1, 2, 4, 8, 16], first, exact(1, 1, 1, 1, 1))
    assert found.first_wins_above
    assert 1 < found.low < 2
    assert 8 < found.high < 16
    assert found.low < found.x < found.high


def test_dip_is_found_with_its_depth_and_recovery():
    [found] = statistics.dips([1, 2, 4, 8, 16], within(0.01, 10, 20, 12, 15, 30))
    assert (found.low, found.high, found.bottom) == (4, 8, 4)
    assert found.depth == pytest.approx(0.4)
    assert found.recovers


def test_a_curve_that_stays_down_does_not_recover():
    [found] = statistics.dips([1, 2, 4], within(0.01, 10, 20, 12))
    assert (found.low, found.high, found.recovers) == (4, 4, False)


def test_a_fall_within_the_intervals_is_no_dip():
    assert statistics.dips([1, 2, 4], within(0.15, 10, 20, 14)) == []


def test_a_small_fall_is_no_dip():
    assert statistics.dips([1, 2, 4], exact(10, 20, 18.5)) == []


def test_stretches_below_a_threshold_want_the_whole_interval_below():
    curve = within(0.1, 0.5, 0.6, 0.75, 0.9, 0.5)
    assert statistics.stretches_below([1, 2, 4, 8, 16], curve, 0.8) == [(1, 2), (16, 16)]


def test_estimates_scale():
    assert Estimate(1, 0.5, 2, 4).scaled(1e9) == Estimate(1e9, 0.5e9, 2e9, 4)
    assert math.isclose(statistics.Z_95, 1.959964, rel_tol=1e-6)
