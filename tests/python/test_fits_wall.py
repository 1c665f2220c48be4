"""The translation wall: knees and the model, from planted walls and from measured ones."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.fits import translation
from grainscope_report.fits.translation import Rows, fit
from grainscope_report.groups import reach
from grainscope_report.statistics import Estimate
from synthetic import GIB, KIB, MIB
from synthetic_links import SPANS, gathered

FULL = Path(__file__).resolve().parents[2] / "results" / "reference" / "h100-full.json.gz"
# Measured on an H100 on PCIe 5 in a virtual machine, GB/s of rows asked for; copy peak 55.0 GB/s.
MEASURED_SPANS = (256 * MIB, GIB, 4 * GIB, 8 * GIB, 32 * GIB)
MEASURED = (
    ("as_asked", 128, 1 << 20, (50.7, 13.7, 5.9, 4.8, 3.75)),
    ("sorted", 128, 1 << 20, (64.0, 53.8, 51.6, 37.5, 8.7)),
    ("as_asked", 512, 1 << 19, (50.5, 50.8, 19.7, 16.3, 14.2)),
    ("sorted", 512, 1 << 19, (77.0, 56.6, 52.1, 51.7, 24.8)),
    ("as_asked", 4096, 1 << 17, (50.8, 50.9, 50.4, 47.8, 49.7)),
)


def gather(order: str, row: int, rows: int, span: int, seconds: float, width: float = 0.01) -> Rows:
    unique = translation.expected_unique(rows, span / row)
    return Rows(
        order, row, rows, unique, span, Estimate(seconds, seconds * (1 - width), seconds * (1 + width))
    )


def measured() -> list[Rows]:
    found = [
        gather(order, row, rows, span, rows * row / rate / 1e9)
        for order, row, rows, rates in MEASURED
        for span, rate in zip(MEASURED_SPANS, rates, strict=True)
    ]
    rows = 8 << 20
    return [*found, gather("sorted", 128, rows, 32 * GIB, rows * 128 / 50.5e9)]


def planted(misses_per_s: float, reach: float, noise: float = 0.0, seed: int = 1) -> list[Rows]:
    chance = random.Random(seed)
    found = []
    for order in ("as_asked", "sorted"):
        for row in (128, 512, 4096):
            for span in SPANS:
                rows = 128 * MIB // row
                model = {"misses_per_s": misses_per_s, "reach": reach, "peak": 50.8}
                seconds, unique = gathered(order, row, rows, span, **model)
                one = gather(order, row, rows, span, seconds * (1 + noise * chance.uniform(-1, 1)))
                found.append(replace(one, unique_rows=unique))
    return found


def test_the_measured_wall_is_misses_at_64_kib():
    found = fit(measured())
    assert found.granule == Estimate(64 * KIB, 64 * KIB, 64 * KIB)
    assert 30e6 < found.misses_per_s.value < 36e6
    assert 28e6 < found.misses_per_s.low < found.misses_per_s.high < 36e6
    assert 600 * MIB < found.reach.low <= found.reach.value <= found.reach.high < GIB
    assert found.holds
    assert found.median_error < 0.1
    assert found.failing == []
    assert (found.worst.gather.order, found.worst.gather.row, found.worst.gather.span) == (
        "as_asked",
        128,
        4 * GIB,
    )
    assert found.worst.error == pytest.approx(0.205, abs=0.02)
    assert found.bytes_a_miss == pytest.approx(1617, rel=0.02)


def test_the_measured_rows_that_are_many_a_granule_are_not_in_the_wall():
    checked = {(one.gather.rows, one.gather.span): one for one in fit(measured()).checked}
    assert not checked[8 << 20, 32 * GIB].in_the_wall
    assert checked[1 << 20, 32 * GIB].in_the_wall


WALLS = [(10 ** random.Random(seed).uniform(6.8, 8.2), 300 * MIB * 2 ** (seed / 2)) for seed in range(6)]


@pytest.mark.parametrize(("misses_per_s", "reach"), WALLS)
def test_a_planted_wall_is_recovered(misses_per_s, reach):
    found = fit(planted(misses_per_s, reach))
    assert found.granule.value == 64 * KIB
    assert found.misses_per_s.value == pytest.approx(misses_per_s, rel=0.05)
    assert found.reach.low / 1.1 <= reach <= found.reach.high * 1.1
    assert found.holds
    assert found.median_error < 0.05


@pytest.mark.parametrize("seed", range(4))
def test_a_noisy_wall_is_recovered_within_its_interval(seed):
    found = fit(planted(33e6, 700 * MIB, noise=0.05, seed=seed))
    assert found.granule.low <= 64 * KIB <= found.granule.high
    assert found.misses_per_s.low <= 33e6 <= found.misses_per_s.high
    assert found.misses_per_s.high / found.misses_per_s.low < 1.3
    assert found.reach.low / 1.1 <= 700 * MIB <= found.reach.high * 1.1


def test_rows_that_the_model_fails_for_are_named():
    rows = planted(33e6, 700 * MIB)
    at = next(i for i, one in enumerate(rows) if (one.order, one.row, one.span) == ("sorted", 128, 16 * GIB))
    rows[at] = replace(rows[at], time_s=rows[at].time_s.scaled(1.8))
    found = fit(rows)
    [failing] = found.failing
    assert (failing.gather.order, failing.gather.row, failing.gather.span) == ("sorted", 128, 16 * GIB)
    assert failing.error == pytest.approx(1 / 1.8 - 1, abs=0.1)
    assert found.worst is failing


def test_a_wall_of_another_kind_does_not_hold():
    """Rates that fall with the span whatever the size of a row: no translation does that."""
    rows = [
        gather("as_asked", row, 128 * MIB // row, span, 128 * MIB / 50e9 * (1 + 3 * at))
        for row in (128, 512, 4096)
        for at, span in enumerate(SPANS)
    ]
    assert not fit(rows).holds


def test_a_row_larger_than_a_granule_needs_several_translations():
    large = gather("as_asked", 256 * KIB, 1000, 8 * GIB, 1.0)
    assert translation.misses(large, 64 * KIB, 4 * GIB) == 1000 * 4 / 2
    assert translation.misses(large, 64 * KIB, 8 * GIB) == 0


def test_rows_as_asked_alone_do_not_tell_the_granule():
    rows = [one for one in planted(33e6, 700 * MIB, noise=0.02) if one.order == "as_asked" and one.row == 128]
    found = fit(rows)
    assert found.granule.low < 64 * KIB < found.granule.high
    assert "at a granule that these rows do not tell" in reach.model_text(found)[0]
    assert found.misses_per_s.low <= 33e6 <= found.misses_per_s.high


def test_without_a_wall_there_is_no_model():
    assert fit([gather("as_asked", 4096, 1 << 15, span, 128 * MIB / 50e9) for span in SPANS]) is None


def test_rows_that_caches_served_do_not_move_the_wall():
    rows = planted(33e6, 700 * MIB)
    small = [
        gather("as_asked", row, 128 * MIB // row, 64 * MIB, 128 * MIB / 90e9) for row in (128, 512, 4096)
    ]
    found = fit([*small, *rows])
    assert found == fit(rows)
    assert found.granule.value == 64 * KIB


def test_what_a_cache_adds_to_small_spans_is_not_the_rate_of_the_link():
    found = translation.knee([1, 2, 4, 8, 16], rates(90, 60, 50, 50, 10), most=51.0)
    assert found.small.value == 51
    assert found.holds_at == 8


def rates(*values: float, width: float = 0.0) -> list[Estimate]:
    return [Estimate(value, value * (1 - width), value * (1 + width)) for value in values]


def test_the_knee_is_interpolated_in_log_log():
    # 50 at 1 GiB and 12.5 at 4 GiB are a line of slope -1 in log-log: 45 at 1 GiB · 50 / 45.
    found = translation.knee([256 * MIB, GIB, 4 * GIB], rates(50, 50, 12.5))
    assert found.span.value == pytest.approx(GIB * 50 / 45)
    assert (found.holds_at, found.falls_at, found.reached) == (GIB, 4 * GIB, True)
    assert (found.span.low, found.span.high) == (GIB, 4 * GIB)


def test_the_interval_of_a_knee_reaches_as_far_as_the_points_intervals_leave_open():
    spans = [256 * MIB, 512 * MIB, GIB, 2 * GIB, 4 * GIB]
    found = translation.knee(spans, rates(50, 50, 46, 44, 12.5, width=0.05))
    assert (found.holds_at, found.falls_at) == (GIB, 2 * GIB)
    assert (found.span.low, found.span.high) == (512 * MIB, 4 * GIB)


def edge_over(spans, found: list[Estimate]) -> reach.Edge:
    return reach.Edge("registered", "as_asked", 128, 1 << 20, translation.knee(spans, found), True, True)


def test_a_knee_known_to_an_octave_or_worse_is_told_by_its_interval_alone():
    near = edge_over([256 * MIB, 512 * MIB, 640 * MIB, 768 * MIB], rates(50, 50, 45.5, 30))
    assert near.text.endswith(": the link is full for spans up to 643 MiB [640 MiB, 768 MiB]")
    far = edge_over([128 * MIB, 256 * MIB, 512 * MIB, GIB], rates(50, 50, 15, 7))
    assert far.text.endswith(": the link is full up to a span between 256 MiB and 512 MiB")
    short = [reach.Wall("registered", (), (one,), (), None).short for one in (near, far)]
    assert short[0].endswith("128 B rows as asked to 643 MiB [640 MiB, 768 MiB]")
    assert short[1].endswith("128 B rows as asked to a span between 256 MiB and 512 MiB")


def test_a_curve_that_never_falls_has_no_knee():
    found = translation.knee(SPANS, rates(*[50.0] * len(SPANS)))
    assert not found.reached
    assert found.span.value == SPANS[-1]
    assert found.falls_at is None


def test_a_dip_that_recovers_is_no_knee():
    found = translation.knee([1, 2, 4, 8, 16], rates(50, 23, 50, 50, 10))
    assert 8 < found.span.value < 16


def test_a_slow_first_span_is_not_the_rate_of_small_spans():
    found = translation.knee([1, 2, 4, 8], rates(30, 50, 50, 20, width=0.01))
    assert found.small.value == 50


def test_a_knee_needs_three_spans():
    assert translation.knee([1, 2], rates(50, 10)) is None


@pytest.mark.parametrize("reach", [300 * MIB, 700 * MIB, 3 * GIB])
def test_the_knee_of_a_planted_wall_lies_where_its_rate_falls(reach):
    """Between the last span at 90 % of the model's rate and the next: more the points do not tell."""
    for row in (128, 512):

        def rate(span, row=row):
            wall = {"misses_per_s": 33e6, "reach": reach, "peak": 50.8}
            return 128 * MIB / gathered("as_asked", row, 128 * MIB // row, span, **wall)[0] / 1e9

        found = translation.knee(SPANS, rates(*map(rate, SPANS)))
        holds = max(span for span in SPANS if rate(span) >= 0.9 * 50.8)
        assert found.holds_at == holds
        assert holds <= found.span.value <= 2 * holds
        fine = (SPANS[0] * 1.01**step for step in range(1000))
        true = next(span for span in fine if rate(span) < 0.9 * 50.8)
        assert found.span.low <= true <= found.span.high


def test_repeats_of_small_rows_and_of_sorted_ones_do_not_pass_for_the_link():
    """Rows smaller than a line find their neighbours' lines: what crosses is less than was asked for."""
    [host] = [one for one in reach.walls_of(reader.read(FULL), ["host_alloc"]) if one.memory == "host_alloc"]
    knees = {(edge.order, edge.row): edge.knee for edge in host.edges}
    for row in (32, 64, 128, 256):
        assert 256 * MIB <= knees["as_asked", row].span.low < knees["as_asked", row].span.high <= GIB
    assert host.model.holds
    assert all(one.gather.span > host.model.reach.value for one in host.model.wall)


def test_kinds_of_memory_that_differ_in_nothing_have_knees_that_may_be_one():
    spans = [
        edge.knee.span
        for one in reach.walls_of(reader.read(FULL))
        if one.link == "host"
        for edge in one.edges
        if (edge.order, edge.row) == ("as_asked", 128)
    ]
    assert len(spans) == 4
    assert max(span.low for span in spans) <= min(span.high for span in spans)
