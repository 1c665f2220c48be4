"""How often the statistics of scripts/equivalence err, on runs that are drawn from a seed."""

import math
import random

import pytest

from grainscope_report import equivalence, uncertainty
from grainscope_report.equivalence import DIFFERS, SAME, Estimate, Family

# Rows of the families of `quick` on one clock: gated ones on an H100, and those on the host's.
GATED = (22, 37, 14, 53, 4, 9, 24, 74, 11, 7, 20, 16, 52, 48, 2, 1, 3)
HOST = (61, 4, 26, 4, 12, 12, 10, 24, 1, 1, 36, 16, 9, 14, 15, 36, 2, 5)
# Noise of a typical row in one run, shift of a run, degrees of freedom of Student's t (None: normal), margin.
HEAVY = (GATED, 0.006, 0.002, 2, 0.01)
NORMAL = ((40,) * 12, 0.01, 0.002, None, 0.01)
SHIFTED = ((40,) * 12, 0.01, 0.01, None, 0.01)
SLOW_CLOCK = (HOST, 0.03, 0.02, 2, 0.05)
WORLDS = {"heavy": HEAVY, "normal": NORMAL, "shifted": SHIFTED, "host": SLOW_CLOCK}


class World:
    """Draws families: rows of unlike noise, runs that shift as a whole, tails as heavy as told."""

    def __init__(self, seed: int, noise: float, shift: float, tail: int | None) -> None:
        self.chance, self.noise, self.shift, self.tail = random.Random(seed), noise, shift, tail

    def draw(self) -> float:
        value = self.chance.gauss(0, 1)
        return (
            value / math.sqrt(self.chance.gammavariate(self.tail / 2, 2) / self.tail) if self.tail else value
        )

    def family(self, rows: int, ratio: float = 1.0, noise: float | None = None) -> list:
        runs = [
            [self.chance.gauss(0, self.shift) + apart for _ in range(3)] for apart in (0, math.log(ratio))
        ]
        spread = [noise or math.exp(self.chance.gauss(0, 0.7)) * self.noise for _ in range(rows)]
        return [tuple([run + own * self.draw() for run in side] for side in runs) for own in spread]


def estimates(world: World, counts: tuple[int, ...], ratio: float = 1.0) -> list[Estimate]:
    families = [Family(world.family(rows, ratio)) for rows in counts]
    prior = equivalence.fit_families(families)
    return [family.estimate(prior) for family in families]


@pytest.mark.parametrize("name", WORLDS)
def test_nothing_differs_where_nothing_does_and_the_interval_has_the_truth(name):
    counts, *noise, margin = WORLDS[name]
    world = World(3, *noise)
    found = [estimate for _ in range(100) for estimate in estimates(world, counts)]
    wrong = sum(estimate.verdict(margin) == DIFFERS for estimate in found) / len(found)
    covered = sum(low <= 1 <= high for low, high in (x.interval(0.9) for x in found)) / len(found)
    assert wrong <= 0.02
    assert 0.88 <= covered <= 0.96


@pytest.mark.parametrize("name", WORLDS)
def test_same_is_seldom_said_at_the_margin(name):
    counts, *noise, margin = WORLDS[name]
    world = World(4, *noise)
    found = [x for at in range(150) for x in estimates(world, counts, (1 + margin) ** (-1 if at % 2 else 1))]
    assert sum(estimate.verdict(margin) == SAME for estimate in found) / len(found) <= 0.06


@pytest.mark.parametrize("name", ["heavy", "normal"])
def test_the_power_is_what_it_is_said_to_be(name):
    counts, *noise, margin = WORLDS[name]
    world = World(5, *noise)
    found = [estimate for _ in range(100) for estimate in estimates(world, counts)]
    same = sum(estimate.verdict(margin) == SAME for estimate in found) / len(found)
    assert same == pytest.approx(sum(x.power(margin) for x in found) / len(found), abs=0.06)
    assert same > 0.5


def test_three_percent_in_a_family_of_forty_rows_is_found():
    found = 0
    for seed in range(60):
        world = World(seed, *HEAVY[1:4])
        planted = world.family(40, 1.03, noise=0.01)
        families = [Family(rows) for rows in (*map(world.family, GATED), planted)]
        found += families[-1].estimate(equivalence.fit_families(families)).verdict(0.01) == DIFFERS
    assert found >= 0.9 * 60


def test_rows_stand_out_where_they_differ_and_seldom_else():
    world, noise, chance_finds, found = World(6, 0.006, 0.002, 3), 0.006, 0, 0
    for _ in range(20):
        rows = [row for count in GATED for row in world.family(count)] + world.family(20, 1.08, noise)
        prior = uncertainty.fit_prior([equivalence.within(row)[0] for row in rows], 4)
        out = equivalence.false_discoveries([equivalence.row_estimate(row, prior).p for row in rows])
        found += sum(at >= len(rows) - 20 for at in out)
        chance_finds += sum(at < len(rows) - 20 for at in out)
    assert found >= 0.8 * 400
    assert chance_finds <= 0.1 * found


def test_a_few_rows_far_out_do_not_move_a_family():
    world = World(7, *NORMAL[1:4])
    rows = world.family(40)
    far = [(a, [x + 0.5 for x in b]) for a, b in rows[:4]]
    families = [Family(rows), Family(far + rows[4:])]
    assert families[1].apart == pytest.approx(families[0].apart, abs=0.003)


def test_one_row_and_rows_that_never_vary_are_judged():
    single = Family([([0.0, 0.01, 0.02], [0.01, 0.0, 0.03])])
    still = Family([([1.0] * 3, [1.0] * 3), ([2.0] * 3, [2.0] * 3)])
    for family in (single, still):
        estimate = family.estimate(equivalence.fit_families([family]))
        assert estimate.error > 0
        assert estimate.freedom == 4
    assert still.estimate(equivalence.fit_families([still])).verdict(0.01) == SAME


@pytest.mark.parametrize("freedom", [4, 10, 1e3])
def test_a_difference_within_the_margin_is_the_same_and_a_certain_one_is_beyond_half_of_it(freedom):
    assert Estimate(math.log(1.008), 0.0005, freedom).verdict(0.01) == SAME
    assert Estimate(math.log(1.02), 0.0005, freedom).verdict(0.01) == DIFFERS
    assert Estimate(math.log(1.02), 0.02, freedom).verdict(0.01) == equivalence.UNKNOWN
    certain = [
        estimate
        for at in range(1, 200)
        for error in (0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005)
        if (estimate := Estimate(at * 1e-4, error, freedom)).verdict(0.01) == DIFFERS
    ]
    assert len(certain) > 100
    assert all(estimate.beyond_half(0.01) for estimate in certain)


@pytest.mark.parametrize(
    ("chance", "freedom", "value"),
    [(0.95, 4, 2.13185), (0.975, 10, 2.22814), (0.995, 30, 2.75000), (0.95, 7, 1.89458), (0.05, 1, -6.31375)],
)
def test_student_s_t(chance, freedom, value):
    assert uncertainty.student_quantile(chance, freedom) == pytest.approx(value, abs=2e-5)
    above = chance if value < 0 else 1 - chance
    assert uncertainty.student_above(abs(value), freedom) == pytest.approx(above, abs=1e-6)


def test_the_prior_of_variances_is_found():
    chance = random.Random(8)
    # A scaled inverse chi-square of 6 degrees of freedom about 2, seen through 4.
    true = [2 * 6 / chance.gammavariate(3, 2) for _ in range(4000)]
    prior = uncertainty.fit_prior([value * chance.gammavariate(2, 2) / 4 for value in true], 4)
    assert prior.variance == pytest.approx(2, rel=0.1)
    assert prior.freedom == pytest.approx(6, rel=0.25)
    assert uncertainty.fit_prior([1.0, 2.0], 4).freedom == 0
