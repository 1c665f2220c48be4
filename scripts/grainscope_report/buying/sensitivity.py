"""How far a choice is from another one: the shares and the price at which it flips, in closed form.

A machine's predicted time is T = Σ s_i a_i, linear in the shares s, with a_i the time of component i over
the reference's. Of a winner and a rival with d_i = a_i(rival) − a_i(winner), the winner leads while
Σ s_i d_i > 0. All functions work on arrays whose last axis is the component, so that the same code gives
the measured answer and each draw's.
"""

import numpy as np

Array = np.ndarray


def flip_share(shares: Array, lead: Array, component: int) -> Array:
    """The share of a component at which winner and rival change places, the others kept in proportion.

    With x for the component's share the lead is x d_i + (1 − x) R, where R is the others' mean lead; it is
    zero at x = R / (R − d_i). NaN where that is outside 0 to 1, or there is no other component.
    """
    rest = 1 - shares[component]
    own = lead[..., component]
    if rest <= 0:
        return np.full(own.shape, np.nan)
    others = (lead @ shares - shares[component] * own) / rest
    with np.errstate(divide="ignore", invalid="ignore"):
        found = others / (others - own)
    return np.where((found >= 0) & (found <= 1) & (others != own), found, np.nan)


def smallest_change(shares: Array, lead: Array) -> tuple[Array, Array]:
    """The least share that must move between components for the lead to end, and the shares then.

    Share moves to the component in which the winner leads least (or the rival leads most), from those in
    which it leads most, since each unit from component j takes d_j − min d from the lead. NaN where no
    shares end it; 0 where there is no lead.
    """
    least = lead.min(axis=-1, keepdims=True)
    order = np.argsort(-lead, axis=-1, kind="stable")
    gain = np.take_along_axis(lead, order, -1) - least
    room = np.broadcast_to(shares, lead.shape)[..., :]
    room = np.take_along_axis(room, order, -1)
    before = np.cumsum(gain * room, axis=-1) - gain * room
    left = np.clip((lead @ shares)[..., None] - before, 0, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(gain > 0, np.minimum(left / gain, room), 0.0)
    possible = (least[..., 0] <= 0) | (lead @ shares <= 0)
    total = np.where(possible, moved.sum(axis=-1), np.nan)
    after = np.broadcast_to(shares, lead.shape).copy()
    np.put_along_axis(after, order, room - moved, -1)
    target = np.expand_dims(np.argmin(lead, axis=-1), -1)
    np.put_along_axis(
        after, target, np.take_along_axis(after, target, -1) + moved.sum(axis=-1, keepdims=True), -1
    )
    return total, np.where(possible[..., None], after, np.nan)


def break_even(cost: float, time: Array, energy: float, other_time: Array) -> Array:
    """The price of another machine at which its cost per speed is that of one of this cost and time.

    Cost per speed is (price + energy) × T, so the price is cost × T / T_other − energy_other; below zero
    no price is low enough.
    """
    return cost * time / other_time - energy


def energy_cost(watts: float, years: float, per_kwh: float, pue: float) -> float:
    """What a machine's power costs over its years, of 8766 hours each."""
    return watts / 1000 * years * 8766 * per_kwh * pue


def pareto(costs: Array, times: Array) -> list[bool]:
    """Which machines no other beats in one of cost and time without losing in the other."""
    return [
        not any(
            costs[two] <= costs[one]
            and times[two] <= times[one]
            and (costs[two] < costs[one] or times[two] < times[one])
            for two in range(len(costs))
        )
        for one in range(len(costs))
    ]
