"""Statistics, units and uncertainties."""

import json
import math
import random
import statistics as plain_statistics

import pytest

from grainscope_report import statistics, uncertainty, units, visits
from grainscope_report.statistics import Estimate, widened
from grainscope_report.uncertainty import NO_PRIOR, Prior, TypeB, Uncertainty, student_quantile


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


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (32, "32 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1 << 20, "1 MiB"),
        (3 << 30, "3 GiB"),
        (1 << 40, "1 TiB"),
    ],
)
def test_sizes_are_binary(size, said):
    assert units.format_bytes(size) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1.6e-6, "1.6 µs"),
        (2.5e-9, "2.5 ns"),
        (0.0123, "12.3 ms"),
        (148, "148 s"),
        (1e-6, "1 µs"),
        (5e-13, "0.5 ps"),
    ],
)
def test_times_take_the_fitting_unit(seconds, said):
    assert units.format_time(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(90, "90 s"), (119.9, "120 s"), (848.35, "14 min 8 s"), (3599.9, "1 h 0 min"), (7380, "2 h 3 min")],
)
def test_what_goes_on_for_minutes_is_told_in_minutes(seconds, said):
    assert units.format_duration(seconds) == said


def test_an_interval_decides_the_decimals():
    assert units.format_interval(54.7312, 54.70, 54.76) == ("54.73", "[54.70, 54.76]")
    assert units.format_interval(7.7, 6.1, 9.9) == ("7.7", "[6.1, 9.9]")
    assert units.format_interval(150.0, 150.0, 150.0) == ("150.00", "[150.00, 150.00]")


def test_significant_never_uses_an_exponent():
    assert units.significant(0) == "0"
    assert units.significant(1234567) == "1234567"
    assert units.significant(0.000012345) == "0.0000123"


def test_percentages_have_one_decimal():
    assert units.format_percent(0.929) == "92.9 %"


@pytest.mark.parametrize(
    ("count", "said"), [(7.0, "7"), (65536, "65536"), (2239591, "2.24 million"), (3.2e9, "3.2 billion")]
)
def test_large_counts_are_in_words(count, said):
    assert units.format_large(count) == said


CONTEXT = {"environment": {"gpus": [{"name": "H100"}], "cpu": {"model": "Xeon"}}}
NOTHING = TypeB()


def row(*medians: float, family: str = "call", clock: str = "steady", **more) -> dict:
    """A measured row with a visit of each median."""
    middle = uncertainty.middle_visit(medians)
    return {
        "status": "ok",
        "label": "measured",
        "case": {"family": family, "version": 1},
        "timing": {"clock": clock, "gated": False},
        "visits": [{"round": at, "median_s": one} for at, one in enumerate(medians, 1)],
        "middle": middle,
        "median_s": medians[middle],
    } | more


def table(visit: dict | None = None, run: dict | None = None, **more) -> TypeB:
    """A table of one family on one kind of machine."""
    parts = {"visit": visit} | {"run": run}
    entry = {"family": "call", "version": 1, "clock": "host"} | {k: v for k, v in parts.items() if v} | more
    content = {
        "format": uncertainty.FORMAT,
        "date": "2026-11-25",
        "machines": [{"gpu": "H100", "cpu": "Xeon"}],
        "families": [entry],
    }
    return TypeB(json.dumps(content).encode())


def applied(rows: list[dict], type_b: TypeB | None = NOTHING) -> list[dict]:
    uncertainty.apply(rows, CONTEXT, type_b)
    return rows


@pytest.mark.parametrize("freedom", [1e6, 1e9, 1e200, math.inf])
def test_of_very_many_degrees_of_freedom_a_quantile_is_the_normal_one(freedom):
    assert uncertainty.student_quantile(0.975, freedom) == pytest.approx(1.959964, abs=1e-5)


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.999])
def test_quantiles_are_those_of_closed_forms(probability):
    centred = 2 * probability - 1
    assert student_quantile(probability, 1) == pytest.approx(math.tan(math.pi * centred / 2), rel=1e-11)
    two = centred * math.sqrt(2 / (1 - centred**2))
    assert student_quantile(probability, 2) == pytest.approx(two, rel=1e-11)
    alpha = 4 * probability * (1 - probability)
    cosine = math.cos(math.acos(math.sqrt(alpha)) / 3) / math.sqrt(alpha)
    assert student_quantile(probability, 4) == pytest.approx(2 * math.sqrt(cosine - 1), rel=1e-11)


@pytest.mark.parametrize(
    ("freedom", "value"),
    [(10, 2.228138851986274), (30, 2.0422724563012373), (100, 1.983971518523552), (1e6, 1.9599663972848),
     (math.inf, 1.959963984540054), (0.5, 164.55767348048761)],
)  # fmt: skip
def test_quantiles_are_those_of_tables(freedom, value):
    assert student_quantile(0.975, freedom) == pytest.approx(value, rel=1e-7)
    assert student_quantile(0.025, freedom) == -student_quantile(0.975, freedom)


def test_both_together_have_the_freedom_of_welch_and_satterthwaite():
    both = uncertainty.combined(Uncertainty(0.3, 4), Uncertainty(0.4, 9))
    assert both == pytest.approx((0.5, 0.5**4 / (0.3**4 / 4 + 0.4**4 / 9)))
    assert uncertainty.combined(Uncertainty(0.3, math.inf), Uncertainty(0.4, math.inf)).freedom == math.inf
    one_known = uncertainty.combined(Uncertainty(0.3, math.inf), Uncertainty(0.4, 9))
    assert one_known.freedom == pytest.approx(9 * (0.5 / 0.4) ** 4)


def drawn_variances(count: int, scale: float, worth: float, freedom: int, seed: int = 1) -> list[float]:
    """Sample variances of rows whose own variances come from an inverse chi-square distribution."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        own = scale * worth / draw.gammavariate(worth / 2, 2)
        found.append(own * draw.gammavariate(freedom / 2, 2) / freedom)
    return found


@pytest.mark.parametrize(("worth", "freedom"), [(4.0, 2), (8.0, 4), (3.0, 4)])
def test_a_prior_is_found_again(worth, freedom):
    prior = uncertainty.fit_prior(drawn_variances(20_000, 4e-4, worth, freedom), freedom)
    assert prior.freedom == pytest.approx(worth, rel=0.1)
    assert prior.variance == pytest.approx(4e-4, rel=0.05)


def test_rows_that_are_all_alike_make_a_prior_of_all_their_freedom():
    prior = uncertainty.fit_prior(drawn_variances(40, 4e-4, 1e6, 2, seed=3)[:8] * 5, 2)
    assert 0 < prior.freedom <= 80
    assert uncertainty.fit_prior([1e-4] * 40, 2).freedom == pytest.approx(80)
    assert uncertainty.fit_prior([1e-4] * 7, 2) == NO_PRIOR


def test_a_variance_is_drawn_towards_the_prior():
    assert uncertainty.moderate(Prior(1.0, 6.0), 4.0, 2.0) == (1.75, 8.0)
    assert uncertainty.moderate(NO_PRIOR, 4.0, 2.0) == (4.0, 2.0)
    assert uncertainty.moderate(Prior(1.0, math.inf), 4.0, 2.0) == (1.0, math.inf)
    assert uncertainty.moderate(NO_PRIOR, 0.0, 0.0) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("medians", "middle"), [((3, 1, 2), 2), ((1, 4, 2, 3), 2), ((2, 2, 1), 0), ((5,), 0), ((2, 1), 1)]
)
def test_the_middle_visit_has_the_middle_median(medians, middle):
    assert uncertainty.middle_visit(medians) == middle


def test_three_visits_stand_alone_where_nothing_is_known():
    [found] = applied([row(1.0, math.e**0.1, math.e**-0.1)])
    share = math.pi / (4 + math.pi)
    assert found["uncertainty"] == {"a": pytest.approx({"standard": 0.1 * math.sqrt(share), "freedom": 2})}
    factor = math.exp(student_quantile(0.975, 2) * 0.1 * math.sqrt(share))
    assert found["interval_s"] == pytest.approx([1 / factor, factor])


def test_one_visit_says_nothing_without_a_table():
    [found] = applied([row(1.0)])
    assert not {"uncertainty", "interval_s"} & found.keys()
    assert found["flags"] == ["wide_interval"]
    [found] = applied([row(1.0)], table(visit={"standard": 0.02, "freedom": 5}))
    assert found["uncertainty"] == {"a": pytest.approx({"standard": 0.02, "freedom": 5})}
    [found] = applied([row(1.0)], table(visit={"standard": 0.02}))
    assert found["uncertainty"] == {"a": pytest.approx({"standard": 0.02})}


def test_a_table_knows_families_by_version_and_clock_and_machines_by_name():
    known = table(run={"standard": 0.05, "freedom": 9})
    three = (1.0, 1.01, 0.99)
    assert "b" in applied([row(*three)], known)[0]["uncertainty"]
    assert "b" not in applied([row(*three, family="gather")], known)[0]["uncertainty"]
    assert "b" not in applied([row(*three, clock="event")], known)[0]["uncertainty"]
    other = row(*three, case={"family": "call", "version": 2})
    assert "b" not in applied([other], known)[0]["uncertainty"]
    elsewhere = {"environment": {"gpus": [], "cpu": {"model": "Xeon"}}}
    assert not known.knows(elsewhere)
    assert known.summary(elsewhere) == {"date": "2026-11-25", "sha256": known.sha256, "known": False}
    rows = [row(*three)]
    uncertainty.apply(rows, elsewhere, known)
    assert rows[0]["uncertainty"].keys() == {"a"}


def test_machines_with_one_gpu_and_with_two_are_of_two_kinds():
    def kind(*names: str) -> str:
        gpus = [{"name": name} for name in names]
        return uncertainty.kind_of({"environment": {"gpus": gpus, "cpu": {"model": "Xeon"}}})[0]

    assert [kind(), kind("H200"), kind("H200", "H200"), kind("H200", "L4")] == [
        "",
        "H200",
        "H200 ×2",
        "H200, L4",
    ]


def test_cpus_of_one_name_with_other_caches_are_of_two_kinds():
    """Of one name two generations differed by far more than the table of the older one says."""

    def kind(*caches: tuple[int, str, int]) -> str:
        told = [{"level": level, "type": name, "bytes": kib << 10} for level, name, kib in caches]
        return uncertainty.kind_of(
            {"environment": {"gpus": [], "cpu": {"model": "AMD EPYC", "caches": told}}}
        )[1]

    outer = (3, "unified", 32768), (1, "instruction", 32), (2, "unified", 1024)
    assert kind() == "AMD EPYC"
    assert kind(*outer, (1, "data", 32)) == "AMD EPYC 32/1024/32768 KiB"
    assert kind(*outer, (1, "data", 48)) == "AMD EPYC 48/1024/32768 KiB"


def test_busy_visits_stand_for_a_row_only_where_all_are_busy():
    quiet, with_busy = row(1.0, 1.01), row(1.0, 1.01, 1.4)
    with_busy["visits"][2]["busy"] = True
    known = table({"standard": 0.02, "freedom": 5})
    assert applied([quiet], known)[0]["uncertainty"] == applied([with_busy], known)[0]["uncertainty"]
    all_busy = row(1.0, 1.01, 1.4)
    for visit in all_busy["visits"]:
        visit["busy"] = True
    assert applied([all_busy], known) != applied([with_busy], known)


def test_of_type_b_alone_there_is_no_interval():
    [found] = applied([row(1.0)], table(run={"standard": 0.05, "freedom": 9}))
    assert found["uncertainty"] == {"b": {"standard": 0.05, "freedom": 9}}
    assert "interval_s" not in found


def test_what_only_a_table_tells_is_kept_where_the_table_is_not_at_hand():
    [found] = applied([row(1.0)], table({"standard": 0.02, "freedom": 5}, {"standard": 0.05, "freedom": 9}))
    before = json.loads(json.dumps(found))
    assert applied([found], None) == [before]
    assert applied([found], NOTHING)[0].get("uncertainty") is None


def noisy(draw: random.Random, sigma: float, visits: int = 3, centre: float = 0.0) -> list[float]:
    return [math.exp(centre + draw.gauss(0, sigma)) for _ in range(visits)]


def test_a_row_whose_visits_differ_more_than_others_is_marked():
    draw = random.Random(4)
    rows = [row(*noisy(draw, 0.01)) for _ in range(40)] + [row(1.0, 1.2, 0.8)]
    marked = [("visits_differ" in one["flags"]) for one in applied(rows)]
    assert marked == [False] * 40 + [True]


def test_few_rows_of_a_family_take_the_prior_of_all_on_that_clock():
    draw = random.Random(5)
    others = [row(*noisy(draw, 0.01), family=f"family {at % 3}") for at in range(21)]
    [found] = [one for one in applied([*others, row(1.0, 1.0, 1.0)]) if one["case"]["family"] == "call"]
    assert found["uncertainty"]["a"]["freedom"] > 2
    assert found["uncertainty"]["a"]["standard"] > 1e-4
    apart = row(1.0, 1.0, 1.0, clock="event")
    assert applied([*others, apart])[-1]["uncertainty"]["a"] == {"standard": 0.0, "freedom": 2}


@pytest.mark.parametrize("visits", [2, 3, 5])
def test_intervals_hold_the_truth_in_95_percent(visits):
    """Rows of a family whose spreads differ, in a run that has an error of its own for each row."""
    draw = random.Random(visits)
    rows, of_the_run = [], 0.03
    for _ in range(3000):
        sigma = math.sqrt(4e-4 * 5 / draw.gammavariate(2.5, 2))
        rows.append(row(*noisy(draw, sigma, visits, draw.gauss(0, of_the_run))))
    held = [low <= 1 <= high for low, high in (one["interval_s"] for one in applied(rows, table(
        run={"standard": of_the_run})))]  # fmt: skip
    assert 0.94 <= sum(held) / len(held) <= 0.965
    alone = [one["interval_s"] for one in applied(rows)]
    assert sum(low <= 1 <= high for low, high in alone) / len(alone) < 0.9


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6, 0.9])
def test_samples_that_follow_each_other_do_not_narrow_the_interval(correlation):
    """A visit's samples may be as alike as they like: visits are what an interval stands on."""
    draw = random.Random(round(10 * correlation))

    def median_of_a_visit() -> float:
        value, samples = draw.gauss(0, 1), []
        for _ in range(15):
            value = correlation * value + math.sqrt(1 - correlation**2) * draw.gauss(0, 1)
            samples.append(math.exp(0.02 * value))
        return plain_statistics.median(samples)

    rows = applied([row(*(median_of_a_visit() for _ in range(3))) for _ in range(2000)])
    held = [low <= 1 <= high for low, high in (one["interval_s"] for one in rows)]
    assert 0.93 <= sum(held) / len(held) <= 0.97


AXES = {"what": "launch", "locality": "local"}


def content_of_rows(*rows: dict, **parts) -> bytes:
    """A table with rows of its family, each `visit` and `run` of its one machine."""
    content = {
        "format": uncertainty.FORMAT,
        "date": "2026-11-25",
        "machines": [{"gpu": "H100", "cpu": "Xeon"}],
        "families": [{"family": "call", "version": 1, "clock": "host"} | parts],
        "rows": [{"family": "call", "version": 1, "clock": "host", "axes": AXES} | one for one in rows],
    }
    return json.dumps(content).encode()


def table_of_rows(*rows: dict, **parts) -> TypeB:
    return TypeB(content_of_rows(*rows, **parts))


def case(axes: dict, version: int = 1) -> dict:
    return {"case": {"family": "call", "version": version, "axes": axes}}


FAMILY = {
    "visit": {"standard": 0.02, "freedom": 40, "middle": 0.004},
    "run": {"standard": 0.03, "freedom": 8},
}


@pytest.mark.parametrize(
    ("rows", "asked", "a", "b"),
    [
        ([{"visit": [0.01], "run": [0.005]}], case(AXES), 0.01, 0.005),
        ([{"visit": [0.01], "run": [0.005]}], case(AXES | {"locality": "unknown"}), 0.01, 0.005),
        ([{"visit": [None], "run": [0.005]}], case(AXES), 0.02, 0.005),
        ([{"visit": [0.01], "run": [None]}], case(AXES), 0.01, 0.03),
        ([{"visit": [0.01], "run": [0.005]}], case(AXES | {"threads": 2}), 0.02, 0.03),
        ([{"visit": [0.01], "run": [0.005], "version": 2}], case(AXES), 0.02, 0.03),
        ([{"visit": [0.01], "run": [0.005], "clock": "quiet"}], case(AXES), 0.02, 0.03),
        ([], case(AXES), 0.02, 0.03),
    ],
)
def test_a_row_that_the_table_knows_has_its_own_and_another_that_of_its_family(rows, asked, a, b):
    [found] = applied([row(1.0, **asked)], table_of_rows(*rows, **FAMILY))
    assert found["uncertainty"]["a"] == pytest.approx({"standard": a, "freedom": 40})
    assert found["uncertainty"]["b"] == {"standard": b, "freedom": 8}


def test_rows_of_two_machines_have_each_its_own_and_a_third_visits_as_the_first():
    content = json.loads(content_of_rows({"visit": [0.01, 0.04], "run": [0.005, 0.007]}, **FAMILY))
    content["machines"].append({"gpu": "H200", "cpu": "Xeon"})
    content["families"].append(content["families"][0] | {"machine": 1})
    told = TypeB(json.dumps(content).encode())
    for gpu, a, b in (("H100", 0.01, 0.005), ("H200", 0.04, 0.007), ("L4", 0.01, None)):
        here = {"environment": {"gpus": [{"name": gpu}], "cpu": {"model": "Xeon"}}}
        rows = [row(1.0, **case(AXES))]
        uncertainty.apply(rows, here, told)
        assert rows[0]["uncertainty"]["a"]["standard"] == pytest.approx(a)
        assert rows[0]["uncertainty"].get("b", {}).get("standard") == b


@pytest.mark.parametrize(
    "rows", [{"visit": [], "run": [0.01]}, {"visit": [0.1, 0.1], "run": [0.1, 0.1]}, {"run": [1]}]
)
def test_a_table_whose_rows_are_not_of_its_machines_is_refused(tmp_path, rows):
    path = tmp_path / "table.json"
    path.write_bytes(content_of_rows(rows, **FAMILY))
    with pytest.raises(uncertainty.ReportError, match="is no table of type B"):
        visits.type_b_tables([path])


def test_what_the_table_says_of_rows_of_a_kind_is_by_axes_and_by_family_without():
    told = table_of_rows({"visit": [0.01], "run": [0.005]}, **FAMILY)
    kinds = dict(told.of_kind(("H100", "Xeon")))
    assert kinds == {
        ("call", 1, "host", ""): Uncertainty(0.03, 8),
        ("call", 1, "host", '{"locality":"local","what":"launch"}'): Uncertainty(0.005, 8),
    }
    assert dict(told.of_kind(("H200", "Xeon"))) == {}


def test_rows_of_which_some_are_known_to_vary_more_have_intervals_by_their_own():
    """Half vary ten times as much: pooled, the quiet ones would have intervals that are far too wide."""
    draw = random.Random(6)
    spreads = (0.002, 0.02)
    known = table_of_rows(
        *({"axes": {"what": what}, "visit": [what], "run": [None]} for what in spreads), visit=FAMILY["visit"]
    )
    rows = [row(*noisy(draw, what), **case({"what": what})) for what in spreads * 1000]
    halves = {}
    for at, what in enumerate(spreads):
        of_kind = [one["interval_s"] for one in applied(rows, known)[at::2]]
        assert 0.93 <= plain_statistics.fmean(low <= 1 <= high for low, high in of_kind) <= 0.97
        halves[what] = plain_statistics.median(math.log(high / low) / 2 for low, high in of_kind)
    assert halves[0.02] == pytest.approx(10 * halves[0.002], rel=0.1)
    unknown = [one["interval_s"] for one in applied(rows)[::2]]
    assert plain_statistics.median(math.log(high / low) / 2 for low, high in unknown) > 1.5 * halves[0.002]


def test_a_file_that_is_no_table_is_refused():
    with pytest.raises(uncertainty.ReportError, match="is no `grainscope type-b 2`"):
        TypeB(b'{"families": [], "machines": []}')


def test_an_estimate_is_widened_by_what_others_are_uncertain_by():
    exact = Estimate(2.0, 2.0, 2.0, 3)
    other = Estimate(10.0, 9.0, 12.0)
    alone = widened(exact, other)
    assert (alone.value, alone.visits) == (2.0, 3)
    assert alone.low == pytest.approx(2.0 * 0.9)
    assert alone.high == pytest.approx(2.0 * 1.2)
    both = widened(exact, other, other)
    assert both.high == pytest.approx(2.0 * 1.2 ** math.sqrt(2))
    assert widened(other).low == pytest.approx(other.low)


def test_uncertainties_beyond_all_measure_have_intervals():
    low, high = uncertainty.interval_around(1.0, Uncertainty(1e6, 3.0))
    assert 0 <= low < 1 < high
    assert student_quantile(0.975, 5e-324) == student_quantile(0.975, uncertainty.LEAST_FREEDOM) > 1e100
