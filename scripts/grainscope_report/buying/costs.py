"""What speed costs: energy, cost per speed, speed per watt, the Pareto front, break-even prices, and the
shares at which the order by cost flips.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grainscope_report.buying import flips, sensitivity
from grainscope_report.buying.bootstrap import Array
from grainscope_report.buying.flips import Ranked, interval
from grainscope_report.buying.workload import Candidate, Workload


def add(document: dict[str, Any], ranked: Sequence[Any], shares: Array, workload: Workload) -> None:
    """Adds costs to the ranked candidates of a verdict, and `cost` with who is cheapest for its speed."""
    offers = {one.name: one for one in workload.candidates}
    entries = {one["name"]: one for one in document["candidates"]}
    names = [one.machine.name for one in ranked]
    energies = {name: _energy(offers[name], workload) for name in names}
    predictions = {one.machine.name: one.prediction for one in ranked}
    times = {name: one.time for name, one in predictions.items()}
    totals = {name: offers[name].price + energies[name] for name in names}
    order = sorted(names, key=lambda name: totals[name] * times[name].value)
    front = sensitivity.pareto([totals[name] for name in names], [times[name].value for name in names])
    drawn = np.array([totals[name] * times[name].draws for name in order]) if order else np.empty((0, 1))
    for name, on_front in zip(names, front, strict=True):
        rival = next((other for other in order if other != name), None)
        entries[name] |= {
            "price": offers[name].price,
            "watts": offers[name].watts,
            "watts_source": offers[name].watts_source,
            "energy_cost": energies[name],
            "total_cost": totals[name],
            "cost_per_speed": interval(totals[name] * times[name].value, totals[name] * times[name].draws),
            "speed_per_watt": _per_watt(offers[name], times[name]),
            "pareto": on_front,
            "break_even_price": _break_even(name, rival, totals, energies, times) if rival else None,
        }
    document["cost"] = {
        "order": order,
        "first": order[0] if order else None,
        "chance_first": dict(zip(order, _chances(drawn), strict=True)),
        "energy": workload.cost is not None,
        "flips": flips.of(
            [Ranked(name, predictions[name], totals[name]) for name in order],
            shares,
            [one.name for one in workload.components],
        ),
    }


def _chances(drawn: np.ndarray) -> list[float]:
    if not len(drawn):
        return []
    least = drawn == drawn.min(axis=0)
    return [float(share) for share in (least / least.sum(axis=0)).mean(axis=1)]


def _energy(offer: Candidate, workload: Workload) -> float:
    cost = workload.cost
    return sensitivity.energy_cost(offer.watts, cost.years, cost.per_kwh, cost.pue) if cost else 0.0


def _per_watt(offer: Candidate, time: Any) -> dict[str, float] | None:
    if offer.watts is None:
        return None
    return interval(1 / time.value / offer.watts, 1 / time.draws / offer.watts)


def _break_even(name: str, rival: str, totals: dict, energies: dict, times: dict) -> dict[str, Any]:
    """The price at which this one costs as much per speed as the best of the others."""
    value = sensitivity.break_even(totals[rival], times[rival].value, energies[name], times[name].value)
    draws = sensitivity.break_even(totals[rival], times[rival].draws, energies[name], times[name].draws)
    return interval(value, draws) | {"against": rival}
