"""Flip shares and break-even prices in closed form, against searches that know no formula."""

import itertools

import numpy as np
import pytest

from grainscope_report.buying import verdict

RANDOM = np.random.default_rng(5)


def cases(count: int, components: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Shares, and leads of a winner that is ahead."""
    found = []
    while len(found) < count:
        shares, lead = RANDOM.dirichlet(np.ones(components)), RANDOM.normal(size=components)
        if lead @ shares > 0.01:
            found.append((shares, lead))
    return found


@pytest.mark.parametrize("components", [2, 3, 5])
def test_the_lead_is_zero_at_the_flip_share_and_only_there(components):
    for shares, lead in cases(50, components):
        for at in range(components):
            found = float(verdict.flip_share(shares, lead, at))

            def mixed(share: float, at: int = at, shares: np.ndarray = shares) -> np.ndarray:
                others = shares * (1 - share) / (1 - shares[at])
                others[at] = share
                return others

            leads = [mixed(share) @ lead for share in np.linspace(0, 1, 1001)]
            changes = [one * two < 0 for one, two in itertools.pairwise(leads)]
            assert any(changes) == (not np.isnan(found))
            if any(changes):
                assert mixed(found) @ lead == pytest.approx(0, abs=1e-12)
                assert found == pytest.approx((changes.index(True) + 0.5) / 1000, abs=1e-3)


def test_the_smallest_change_of_three_shares_is_smaller_than_any_found_by_search():
    step = 0.01
    grid = np.array([(a, b, 1 - a - b) for a in np.arange(0, 1 + step / 2, step)
                     for b in np.arange(0, 1 - a + step / 2, step)])  # fmt: skip
    for shares, lead in cases(60, 3):
        least, after = verdict.smallest_change(shares, lead)
        flipped = grid[grid @ lead <= 0]
        assert np.isnan(least) == (not (lead <= 0).any())
        if np.isnan(least):
            assert not len(flipped)
            continue
        assert after.sum() == pytest.approx(1)
        assert (after >= -1e-12).all()
        assert after @ lead == pytest.approx(0, abs=1e-12)
        assert np.abs(after - shares).sum() / 2 == pytest.approx(float(least))
        if len(flipped):
            searched = (np.abs(flipped - shares).sum(axis=1) / 2).min()
            assert least <= searched + 1e-9
            assert searched - least < 2 * step


def test_nothing_has_to_move_where_there_is_no_lead():
    least, after = verdict.smallest_change(np.array([0.5, 0.5]), np.array([-1.0, 0.5]))
    assert least == 0
    assert after == pytest.approx([0.5, 0.5])


def test_resamples_are_the_same_as_one_by_one():
    shares = np.array([0.2, 0.3, 0.5])
    leads = RANDOM.normal(size=(200, 3))
    together, shares_then = verdict.smallest_change(shares, leads)
    for at, lead in enumerate(leads):
        alone, then = verdict.smallest_change(shares, lead)
        np.testing.assert_allclose(together[at], alone)
        np.testing.assert_allclose(shares_then[at], then)
        for component in range(3):
            np.testing.assert_allclose(
                verdict.flip_share(shares, leads, component)[at], verdict.flip_share(shares, lead, component)
            )


def test_one_component_has_no_flip_share():
    assert np.isnan(verdict.flip_share(np.array([1.0]), np.array([0.5]), 0))
    assert np.isnan(verdict.smallest_change(np.array([1.0]), np.array([0.5]))[0])


def test_at_the_break_even_price_speeds_cost_the_same():
    cost, time, energy, other = 30_000.0, 0.8, 4_000.0, 0.7
    price = verdict.break_even(cost, time, energy, other)
    assert (price + energy) * other == pytest.approx(cost * time)
    assert verdict.break_even(100.0, 0.5, 4_000.0, 1.0) < 0


def test_energy_of_a_kilowatt_for_a_year():
    assert verdict.energy_cost(1000, 1, 0.25, 1.0) == pytest.approx(8766 * 0.25)
    assert verdict.energy_cost(500, 4, 0.25, 1.5) == pytest.approx(3 * 8766 * 0.25)


def test_the_pareto_front_keeps_equals():
    assert verdict.pareto([1, 2, 2, 1], [2, 1, 3, 2]) == [True, True, False, True]
