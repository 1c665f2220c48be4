"""The statistics of a comparison on numbers with known answers: weights, coverage, Holm, false positives."""

import itertools
import math

import numpy as np
import pytest

from grainscope_report.comparison import bootstrap, outliers, student, verdicts
from grainscope_report.comparison.questions import Answer, Question, Visit
from grainscope_report.comparison.verdicts import FASTER, SAME, SLOWER, UNCLEAR

QUESTION = Question("measured", "transfer/memcpy", (("bytes", 1),))


def visits(times, error=0.0):
    return [Visit(float(time), error) for time in times]


def drawn(seed, rows, count, spread=0.01, kind="normal"):
    """Times about 1 s, a question a row."""
    chance = np.random.default_rng(seed)
    noise = {
        "normal": lambda: chance.normal(size=(rows, count)),
        "heavy": lambda: chance.standard_t(3, size=(rows, count)),
        "skewed": lambda: chance.exponential(size=(rows, count)),
        "outliers": lambda: (
            chance.normal(size=(rows, count)) * np.where(chance.random((rows, count)) < 0.1, 8, 1)
        ),
    }[kind]()
    return np.exp(spread * noise)


def pairs(base, new):
    return [(visits(one), visits(two)) for one, two in zip(base, new, strict=True)]


# Tables of Student's t: t, degrees of freedom, the chance above.
@pytest.mark.parametrize(
    ("t", "freedom", "chance"),
    [
        (2.776445, 4, 0.025),
        (4.604095, 4, 0.005),
        (1.859548, 8, 0.05),
        (5.041305, 8, 0.0005),
        (1.984, 100, 0.025),
        (0.0, 3, 0.5),
        (-2.776445, 4, 0.975),
        (6.313752, 1, 0.05),
    ],
)
def test_student(t, freedom, chance):
    assert float(student.above(t, freedom)) == pytest.approx(chance, rel=2e-4)


def test_student_far_out():
    # With 4 degrees of freedom the tail is 3/8 · 2^5/t^4 · … → 12/t⁴.
    assert float(student.above(1e3, 4)) == pytest.approx(3e-12, rel=1e-3)
    assert float(student.above(math.inf, 4)) == 0.0
    assert float(student.above(1e200, 4)) == 0.0


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_weights_are_those_of_every_resample(count):
    found = np.zeros(count)
    for resample in itertools.product(range(count), repeat=count):
        ordered = sorted(resample)
        for middle in (ordered[(count - 1) // 2], ordered[count // 2]):
            found[middle] += 0.5
    np.testing.assert_allclose(bootstrap.weights(count), found / count**count, atol=1e-12)


def test_interval_is_that_of_drawn_resamples():
    chance = np.random.default_rng(3)
    base, new = np.sort(chance.normal(size=7)), np.sort(chance.normal(size=9) + 1)
    picks = [side[chance.integers(0, len(side), (200_000, len(side)))] for side in (new, base)]
    expected = np.percentile(np.median(picks[0], axis=1) - np.median(picks[1], axis=1), (2.5, 97.5))
    low, high = bootstrap.difference(new, base)
    # Of a finite number of atoms, so that a percentile may fall on the next one.
    assert abs(low - expected[0]) < 0.1
    assert abs(high - expected[1]) < 0.1


@pytest.mark.parametrize("kind", ["normal", "heavy", "skewed", "outliers"])
@pytest.mark.parametrize(("one", "two"), [(5, 5), (6, 9), (10, 10), (5, 20)])
def test_coverage_is_near_95_percent(kind, one, two):
    both = pairs(drawn(11, 4000, one, kind=kind), drawn(12, 4000, two, kind=kind))
    found = [verdicts.compare(pair, 0.0) for pair in both]
    covered = np.mean([ratio.low <= 1 <= ratio.high for ratio in found])
    assert 0.94 <= covered <= 0.99


@pytest.mark.parametrize("kind", ["normal", "heavy", "skewed", "outliers"])
@pytest.mark.parametrize(("one", "two", "wider"), [(5, 5, 1), (5, 5, 4), (5, 20, 1), (10, 10, 1)])
def test_false_positives_of_one_row_stay_below_the_level(kind, one, two, wider):
    if kind == "skewed" and wider != 1:
        pytest.skip("another spread of a skewed distribution is another median, and no null")
    both = pairs(drawn(21, 20_000, one, 0.01 * wider, kind), drawn(22, 20_000, two, kind=kind))
    p = np.array([verdicts.compare(pair, 0.0).p for pair in both])
    for level in (0.05, 0.01, 0.001):
        assert np.mean(p <= level) <= level


@pytest.mark.parametrize("threshold", [0.0, 0.01])
@pytest.mark.parametrize("kind", ["normal", "heavy", "outliers"])
def test_false_positives_of_a_comparison_stay_below_the_level(kind, threshold):
    """400 comparisons of 50 rows without a difference: how many claim any?"""
    wrong = 0
    for seed in range(400):
        base, new = drawn(2 * seed, 50, 5, kind=kind), drawn(2 * seed + 1, 50, 5, kind=kind)
        said = verdicts.verdicts(pairs(base, new), threshold)
        wrong += any(one.verdict in (SLOWER, FASTER) for one in said)
    assert wrong / 400 <= verdicts.ALPHA


def test_false_positives_at_the_edge_of_the_threshold():
    """Rows that are slower by just the threshold: neither `slower` nor `same` is certain of more than few."""
    base, new = drawn(31, 5000, 6), 1.05 * drawn(32, 5000, 6)
    said = [one.verdict for pair in pairs(base, new) for one in verdicts.verdicts([pair], 0.05)]
    assert said.count(SLOWER) / 5000 <= 0.05
    assert said.count(SAME) / 5000 <= 0.05
    assert said.count(FASTER) == 0


def test_planted_differences_are_found_among_many_rows():
    base, new = drawn(41, 1000, 5, 0.003), drawn(42, 1000, 5, 0.003)
    new[:50] *= 1.12
    new[50:80] /= 1.2
    said = [one.verdict for one in verdicts.verdicts(pairs(base, new), 0.05)]
    assert said[:50].count(SLOWER) >= 45
    assert said[50:80].count(FASTER) >= 28
    assert set(said[80:]) <= {SAME, UNCLEAR}
    assert said[80:].count(SAME) > 900


def test_holm_by_hand():
    assert verdicts.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert verdicts.holm([0.9, 0.8]) == [1.0, 1.0]
    assert verdicts.holm([]) == []


def test_what_is_lost_among_many_rows_is_claimed_alone():
    # p of about 0.01 by itself.
    row = (visits([1, 1.01, 0.99, 1.005, 0.995]), visits([1.09, 1.12, 1.06, 1.10, 1.08]))
    noise = pairs(drawn(1, 200, 5), drawn(2, 200, 5))
    [alone] = verdicts.verdicts([row], 0.02)
    assert alone.verdict == SLOWER
    among = verdicts.verdicts([row, *noise], 0.02)[0]
    assert among.verdict == UNCLEAR
    assert "among so many rows" in among.why
    assert (among.ratio, among.low) == (alone.ratio, alone.low)


@pytest.mark.parametrize(("one", "two"), [(4, 5), (5, 4), (1, 1), (4, 40)])
def test_fewer_than_five_visits_a_side_are_unclear(one, two):
    [said] = verdicts.verdicts([(visits([1.0] * one), visits([2.0] * two))], 0.05)
    assert (said.verdict, said.ratio, said.low) == (UNCLEAR, 2.0, None)
    assert f"{one} visit" in said.why
    assert f"against {two}, 5 a side" in said.why


def test_five_visits_a_side_are_enough():
    [said] = verdicts.verdicts([(visits([1.0, 1.01, 0.99, 1, 1]), visits([2.0, 2.01, 1.99, 2, 2]))], 0.05)
    assert said.verdict == SLOWER
    assert said.ratio == pytest.approx(2.0)


def test_no_interval_is_narrower_than_the_visits_own():
    # The visits agree by luck; each one's own interval is ±20 %.
    [said] = verdicts.verdicts([(visits([1.0] * 5, 0.1), visits([1.08] * 5, 0.1))], 0.05)
    assert said.verdict == UNCLEAR
    assert said.low < 1 < said.high


def test_equal_times_are_the_same_and_do_not_divide_by_zero():
    [said] = verdicts.verdicts([(visits([1.0] * 5), visits([1.0] * 5))], 0.05)
    assert (said.verdict, said.low, said.high) == (SAME, 1.0, 1.0)
    [said] = verdicts.verdicts([(visits([1.0] * 5), visits([1.0] * 5))], 0.0)
    assert said.verdict == UNCLEAR


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.06, 1.1, SLOWER),
        (0.9, 0.94, FASTER),
        (0.98, 1.04, SAME),
        (1.04, 1.06, UNCLEAR),
        (0.9, 1.1, UNCLEAR),
    ],
)
def test_regions(low, high, said):
    assert verdicts.region(low, high, 0.05) == said


def fleet(times):
    """Nodes from a table of times, a question a row and a node a column."""
    found = {}
    for at, column in enumerate(np.atleast_2d(times).T):
        found[f"n{at}"] = {
            Question("measured", "transfer/memcpy", (("bytes", row),)): [Answer(tuple(visits([time])))]
            for row, time in enumerate(column)
            if np.isfinite(time)
        }
    return found


def test_a_slow_node_is_named_and_no_other():
    times = drawn(51, 300, 12, 0.01)
    times[:40, 7] *= 1.5
    [found] = outliers.find(fleet(times), 0.05)
    assert (found.node, found.slower, found.rows, found.of) == ("n7", True, 40, 300)
    assert found.ratio == pytest.approx(1.5, rel=0.02)


def test_two_slow_nodes_do_not_hide_each_other():
    times = drawn(52, 300, 12, 0.01)
    times[:, [2, 9]] *= 1.5
    assert [one.node for one in outliers.find(fleet(times), 0.05)] == ["n2", "n9"]


def test_a_fast_node_is_named_as_fast():
    times = drawn(53, 300, 8, 0.01)
    times[:, 3] /= 2
    [found] = outliers.find(fleet(times), 0.05)
    assert (found.node, found.slower) == ("n3", False)
    assert found.ratio == pytest.approx(0.5, rel=0.02)


def test_alike_nodes_are_rarely_called_outliers():
    named = [bool(outliers.find(fleet(drawn(seed, 40, 8, 0.02)), 0.0)) for seed in range(300)]
    assert np.mean(named) <= verdicts.ALPHA


def test_small_or_few_is_no_outlier():
    times = drawn(54, 300, 12, 0.0001)
    times[:, 7] *= 1.02
    assert outliers.find(fleet(times), 0.05) == []
    times[:, 7] *= 2
    assert outliers.find(fleet(times[:, 5:9]), 0.05) == []
    times[:, :8] = math.nan
    assert outliers.find(fleet(times), 0.05) == []


def test_nodes_without_some_rows():
    times = drawn(55, 300, 12, 0.01)
    times[:, 7] *= 2
    times[::2, 3] = math.nan
    [found] = outliers.find(fleet(times), 0.05)
    assert (found.node, found.rows) == ("n7", 300)
