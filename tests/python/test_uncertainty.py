"""Uncertainties: quantiles with known values, priors that are found again, intervals that hold the truth."""

import json
import math
import random
import statistics

import pytest

from grainscope_report import uncertainty
from grainscope_report.uncertainty import NO_PRIOR, Prior, TypeB, Uncertainty, student_quantile

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

    assert [kind(), kind("H200"), kind("H200", "H200"), kind("H200", "L4")] == ["", "H200", "H200 ×2", "H200"]


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
        return statistics.median(samples)

    rows = applied([row(*(median_of_a_visit() for _ in range(3))) for _ in range(2000)])
    held = [low <= 1 <= high for low, high in (one["interval_s"] for one in rows)]
    assert 0.93 <= sum(held) / len(held) <= 0.97


def test_a_file_that_is_no_table_is_refused():
    with pytest.raises(uncertainty.ReportError, match="is no `grainscope type-b 1`"):
        TypeB(b'{"families": [], "machines": []}')
