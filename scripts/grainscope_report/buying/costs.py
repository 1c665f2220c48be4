"""What speed costs: energy, cost per speed, speed per watt, the Pareto front, break-even prices, and the
shares at which the order by cost flips.

Prices and watts are of a node, or where the workload says `price_per = "gpu"` of each of its GPUs.
"""

from collections.abc import Sequence
from typing import Any

from grainscope_report.buying import flips, sensitivity
from grainscope_report.buying.deciding import decide
from grainscope_report.buying.flips import Ranked, interval
from grainscope_report.buying.words import NONE, UNKNOWN
from grainscope_report.buying.workload import GPU, Candidate, Workload
from grainscope_report.errors import ReportError

MEASURED = "measured"


def add(
    document: dict[str, Any], ranked: Sequence[Any], shares: Any, workload: Workload, known: bool
) -> None:
    """Adds power and costs to the ranked candidates of a verdict, `cost` and `power` with who is first."""
    offers = {one.name: _Offer(one, workload, _of(ranked, one.name)) for one in workload.candidates}
    entries = {one["name"]: one for one in document["candidates"]}
    there = [(offers[one.machine.name], one) for one in ranked]
    for offer, one in there:
        entries[one.machine.name] |= offer.facts() | {"speed_per_watt": _per_watt(offer, one.prediction.time)}
    document["power"] = _power(there, known)
    if workload.candidates[0].priced:
        _add_costs(document, there, shares, workload, known)


def _of(ranked: Sequence[Any], name: str) -> Any:
    return next((one for one in ranked if one.machine.name == name), None)


class _Offer:
    """What is paid for one unit, a node or a GPU: its price, power and energy."""

    def __init__(self, offer: Candidate, workload: Workload, judged: Any) -> None:
        self.name, self.offer = offer.name, offer
        self.gpus = offer.gpus or _gpus(judged)
        per_gpu = workload.per == GPU or offer.price_gpu is not None
        if judged and per_gpu and not self.gpus:
            raise ReportError(f"{workload.path}: candidate {offer.name!r} has no GPU to divide its price by")
        gpus = self.gpus or 1
        self.units = gpus if workload.per == GPU else 1
        self.price_node = offer.price_node if offer.price_gpu is None else offer.price_gpu * gpus
        self.watts, self.source, self.lacking = self._watts(judged, gpus)
        self.price = self.price_node / self.units if offer.priced else None
        self.energy = 0.0
        if workload.cost and judged:
            if self.watts is None:
                raise ReportError(
                    f"{workload.path}: [cost] needs the power of candidate {offer.name!r}, and "
                    f"{self.lacking}: give `watts` and `watts_source`"
                )
            cost = workload.cost
            self.energy = sensitivity.energy_cost(self.watts, cost.years, cost.per_kwh, cost.pue)
        self.total = (self.price or 0.0) + self.energy

    def _watts(self, judged: Any, gpus: int) -> tuple[float | None, str | None, str]:
        """Of a unit: what is written, else what the boards took in the rows, if all of them say."""
        if self.offer.watts is not None:
            return self.offer.watts / self.units, self.offer.watts_source, ""
        if judged is None:
            return None, None, "it is not ranked"
        parts = list(zip(judged.prediction.names, judged.prediction.parts, strict=True))
        lacking = [name for name, part in parts if part.watts is None]
        if lacking:
            return None, None, f"its rows of {', '.join(lacking)} have no energy"
        shares = [
            share * part.time.value for share, (_, part) in zip(judged.prediction.shares, parts, strict=True)
        ]
        board = sum(share * part.watts for share, (_, part) in zip(shares, parts, strict=True)) / sum(shares)
        return board * gpus / self.units, MEASURED, ""

    def facts(self) -> dict[str, Any]:
        """What a verdict says of the offer."""
        found = {"gpus": self.gpus, "watts": self.watts, "watts_source": self.source}
        if self.price is None:
            return found
        return found | {
            "price": self.price,
            "price_node": self.price_node,
            "price_gpu": self.price_node / self.gpus if self.gpus else None,
            "currency": self.offer.currency,
            "energy_cost": self.energy,
            "total_cost": self.total,
        }


def _gpus(judged: Any) -> int:
    """GPUs of a node, by its files."""
    return len(judged.machine.results[0].environment.gpus) if judged else 0


def _power(there: Sequence[tuple[_Offer, Any]], known: bool) -> dict[str, Any]:
    """Who does most for a watt; `why_not` where the watts are not there or do not compare."""
    nobody = {"kind": NONE, "first": None, "tied": [], "certain": False, "chance_first": {}}
    if lacking := next((offer for offer, _ in there if offer.watts is None), None):
        return nobody | {"why_not": f"{lacking.name} has no `watts`, and {lacking.lacking}"}
    if len(sources := sorted({offer.source for offer, _ in there})) > 1:
        return nobody | {"why_not": f"the watts of some are {sources[0]} and of others {sources[1]}"}
    scores = [Ranked(one.machine.name, one.prediction, offer.watts) for offer, one in there]
    return decide(scores, [one.machine for _, one in there], known=known) | {"why_not": None}


def _add_costs(
    document: dict[str, Any],
    there: Sequence[tuple[_Offer, Any]],
    shares: Any,
    workload: Workload,
    known: bool,
) -> None:
    entries = {one["name"]: one for one in document["candidates"]}
    times = {offer.name: one.prediction.time for offer, one in there}
    totals = {offer.name: offer.total for offer, _ in there}
    scores = [Ranked(offer.name, one.prediction, offer.total) for offer, one in there]
    found = decide(scores, [one.machine for _, one in there], known=known)
    decided = found["kind"] not in (UNKNOWN, NONE)
    names = [offer.name for offer, _ in there]
    order = sorted(names, key=lambda name: totals[name] * times[name].value) if decided else names
    front = sensitivity.pareto([totals[name] for name in names], [times[name].value for name in names])
    for (offer, _), on_front in zip(there, front, strict=True):
        name = offer.name
        rival = next((other for other in order if other != name), None) if decided else None
        entries[name] |= {
            "cost_per_speed": interval(totals[name] * times[name].value, totals[name] * times[name].draws),
            "pareto": on_front if decided else None,
            "break_even_price": _break_even(name, rival, totals, offer.energy, times) if rival else None,
        }
    ranked = {one.name: one for one in scores}
    document["cost"] = found | {
        "order": order,
        "per": workload.per,
        "currency": workload.candidates[0].currency,
        "energy": workload.cost is not None,
        "flips": flips.of([ranked[name] for name in order], shares, [one.name for one in workload.components])
        if decided
        else [],
    }


def _per_watt(offer: _Offer, time: Any) -> dict[str, Any] | None:
    if offer.watts is None:
        return None
    return interval(1 / time.value / offer.watts, 1 / time.draws / offer.watts)


def _break_even(name: str, rival: str, totals: dict, energy: float, times: dict) -> dict[str, Any]:
    """The price at which this one costs as much per speed as the best of the others."""
    value = sensitivity.break_even(totals[rival], times[rival].value, energy, times[name].value)
    draws = sensitivity.break_even(totals[rival], times[rival].draws, energy, times[name].draws)
    return interval(value, draws) | {"against": rival}
