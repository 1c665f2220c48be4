"""The verdict: gates, ranks, ties, costs, and how far the choice is from another; all of it plain data.

A machine's predicted time is T = Σ s_i a_i, linear in the shares s, with a_i the time of component i over the
reference's. Of a winner and a rival with d_i = a_i(rival) − a_i(winner), the winner leads while Σ s_i d_i >
0. Cost per speed is (price + energy) × T, so the same closed forms answer for (price + energy) a_i. They work
on arrays whose last axis is the component, for the measured answer and for each draw's. Prices and watts are
of a node, or where the workload says `price_per = "gpu"` of each of its GPUs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grainscope_report import machine
from grainscope_report.acceptance import causes
from grainscope_report.buying import machines, words
from grainscope_report.buying.machines import LackingError, Machine
from grainscope_report.buying.predict import (
    Array,
    Draws,
    Estimates,
    Part,
    Prediction,
    Predictor,
    together,
    with_predictions,
)
from grainscope_report.buying.words import NONE, TIED, UNKNOWN, WINNER
from grainscope_report.buying.workload import GPU, NODE, Candidate, Workload
from grainscope_report.errors import NotComparableError, ReportError
from grainscope_report.model import Result, Row
from grainscope_report.uncertainty import TypeB

TIE = 0.02
# Of two machines that are the same one would be first in a verdict of 50, were uncertainties known exactly.
CERTAIN = 0.99
AT_AN_END = 1e-9  # of a share, and of a lead: no more than digits
MEASURED = "measured"
FORMAT = 1
SHARED_HOST = (
    "others took CPUs of its host while it was measured, and far fewer of another's: all rows of the two "
    "are less certain, most those on the host's clock"
)
ONE_MACHINE = "one machine, by its GPUs and settings: each is as fast as"
ALL_RUNS = "the runs of all say together"
THE_REFERENCE = "the reference, whose runs alone count"


@dataclass(frozen=True)
class Judged:
    """A candidate, why it is not ranked, or what is predicted for it."""

    machine: Machine
    broken: tuple[str, ...]
    prediction: Prediction | None


def reach(workload: Workload, count: int, seed: int, tables: Sequence[TypeB] = ()) -> dict[str, Any]:
    """Judges all candidates; NotComparableError where they cannot be compared."""
    return judge(workload, count, seed, tables)[0]


def judge(
    workload: Workload, count: int, seed: int, tables: Sequence[TypeB] = ()
) -> tuple[dict[str, Any], list[Result]]:
    """The verdict, and all files that it is of; `tables` of type B go before the one at hand."""
    reference, found = machines.read(workload, tables)
    try:
        return _reached(workload, reference, found, count, seed)
    except NotComparableError as error:
        ended = [words.goes_on(one) for one in unfinished([reference, *found])]
        if not ended:
            raise
        raise NotComparableError("; ".join([str(error), *ended])) from None


def _reached(
    workload: Workload, reference: Machine, found: Sequence[Machine], count: int, seed: int
) -> tuple[dict[str, Any], list[Result]]:
    workload, reference, found, substitutes = with_predictions(workload, reference, found)
    shared = machines.on_busier_hosts([reference, *found])
    predictor = Predictor(workload, reference, Draws(count, seed, shared=shared), found)
    judged = _judged(predictor, workload, found)
    unknown = _unknown(judged)
    if unknown:
        # What some machines' runs differ by does not mix with what others' visits do.
        shared = {}
        predictor = Predictor(workload, reference, Draws(count, seed, runs=False), found)
        judged = _judged(predictor, workload, found)
    ranked = [judgement for judgement in judged if judgement.prediction]
    times = [Ranked(one.machine.name, one.prediction) for one in ranked]
    speed = decide(times, [one.machine for one in ranked], known=not unknown)
    if speed["kind"] != UNKNOWN:
        ranked.sort(key=lambda one: one.prediction.time.value)
    ended = _ended(judged, ranked, reference)
    document = {
        "verdict_format": FORMAT,
        "workload": {"name": workload.name, "about": workload.about, "file": str(workload.path)},
        "label": workload.components[0].label,
        "reference": _machine(reference),
        "draws": count,
        "tie": TIE,
        "components": [
            {
                "name": one.name,
                "share": float(share),
                "rows": one.where.text,
                "along": one.along,
                "metric": metric,
                "label": one.label,
            }
            for one, share, metric in zip(
                workload.components, predictor.shares, predictor.metrics, strict=True
            )
        ],
        "verdict": speed,
        "unknown": unknown,
        "unfinished": ended,
        "same_machine": len(ranked) > 1 and all(one.machine.is_same(ranked[0].machine) for one in ranked),
        "candidates": [
            _candidate(one, at, speed, predictor.shares, workload)
            | {"is_reference": one.machine.key == reference.key}
            for at, one in enumerate(
                [*ranked, *(judgement for judgement in judged if judgement.prediction is None)], 1
            )
        ],
        "flips": []
        if speed["kind"] == UNKNOWN
        else flips_of(
            [Ranked(one.machine.name, one.prediction) for one in ranked],
            predictor.shares,
            [component.name for component in workload.components],
        ),
        "warnings": [
            *(one.text for one in substitutes),
            *_warnings(judged, ranked, reference, speed["kind"] == WINNER, shared, ended),
        ],
    }
    add_costs(document, ranked, predictor.shares, workload, known=not unknown)
    document["gpus_at_work"] = _gpus_at_work(document, ranked, workload)
    files = [result for one in (reference, *found) for result in one.results]
    return words.with_sentences(document), files


def _judged(predictor: Predictor, workload: Workload, found: Sequence[Machine]) -> list[Judged]:
    """Judges all candidates; those that are one machine have one time."""
    judged = [_judge(predictor, workload, one) for one in found]
    ranked = [one for one in judged if one.prediction]

    def with_all(one: Judged) -> Judged:
        same = [other for other in ranked if other.machine.is_same(one.machine)]
        if not one.prediction or len({other.machine.key for other in same}) < 2:
            return one
        # Where the reference is among them, they are all as fast as it.
        counted = [other for other in same if other.machine.key == predictor.reference.key] or same
        return replace(one, prediction=together(one.prediction, [other.prediction for other in counted]))

    return [with_all(one) for one in judged]


def _judge(predictor: Predictor, workload: Workload, one: Machine) -> Judged:
    broken = machines.of_machine(one, workload)
    if broken:
        return Judged(one, tuple(broken), None)
    try:
        prediction = predictor.predict(one)
    except LackingError as error:
        return Judged(one, (f"evidence: {error}",), None)
    used = [row for part in prediction.parts for row in part.rows]
    broken = machines.of_rows(prediction.machine, used, workload.gates)
    return Judged(one, tuple(broken), None if broken else prediction)


def _unknown(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Whose uncertainty is not known in full: for each machine what is not, and in which components."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for judgement in (judgement for judgement in judged if judgement.prediction):
        for part, component in zip(judgement.prediction.parts, judgement.prediction.names, strict=True):
            for key in part.unknown:
                found.setdefault(key, {})[component] = None
    return [
        {"machine": name, "what": what, "components": list(components)}
        for (name, what), components in found.items()
    ]


def _interval(found: Estimates) -> dict[str, Any]:
    return interval(found.value, found.draws)


def _candidate(judged: Judged, rank: int, first: dict, shares: Array, workload: Workload) -> dict[str, Any]:
    name = judged.machine.name
    found = _machine(judged.machine) | {"passed": not judged.broken, "broken_gates": list(judged.broken)}
    if not judged.prediction:
        return found | {"rank": None}
    prediction = judged.prediction
    return found | {
        "rank": None if first["kind"] == UNKNOWN else rank,
        "tied": name in first["tied"],
        "chance_first": first["chance_first"].get(name),
        "time": _interval(prediction.time),
        "speed": _interval(Estimates(1 / prediction.time.value, 1 / prediction.time.draws)),
        "geometric_mean": _interval(prediction.geometric),
        "components": [
            _part(part, component.name, float(share), component.sizes)
            for part, component, share in zip(prediction.parts, workload.components, shares, strict=True)
        ],
    }


def _part(part: Part, name: str, share: float, sizes: dict) -> dict[str, Any]:
    return {
        "name": name,
        "share": share,
        "time": _interval(Estimates(share * part.time.value, share * part.time.draws)),
        "ratio": _interval(Estimates(1 / part.time.value, 1 / part.time.draws)),
        "sizes": [
            {"size": size, "weight": sizes[size], "ratio": _interval(ratio), "way": part.ways[size].text}
            for size, ratio in part.ratios.items()
        ],
    }


def _machine(one: Machine) -> dict[str, Any]:
    return {
        "name": one.name,
        "machine": machine.provenance(one.results[0]),
        "files": [str(result.path) for result in one.results],
        "nodes": len(one.nodes),
    }


def _warnings(
    judged: Sequence[Judged],
    ranked: Sequence[Judged],
    reference: Machine,
    decided: bool,
    shared: Mapping[str, int],
    ended: Sequence[dict[str, Any]],
) -> list[str]:
    offered = [judgement.machine for judgement in judged]
    apart = [] if reference.key in {one.key for one in offered} else [reference]
    names: dict[str, dict[str, None]] = {}
    for one in [*apart, *offered]:
        for said in machines.cautions(one, [each["file"] for each in ended]):
            names.setdefault(said, {})[one.name] = None
    whose = {one.name: one for one in [*offered, reference]}
    for name, rows in _used(ranked, reference):
        for said in [*machines.behind(whose[name], rows), *machine.visits_apart(rows, " that are used")]:
            names.setdefault(said, {})[name] = None
    found = [f"{', '.join(of)}: {said}" for said, of in names.items()]
    for same in machines.counted_together([one.machine for one in ranked]):
        counted = THE_REFERENCE if reference.key in {one.key for one in same} else ALL_RUNS
        found.append(f"{', '.join(one.name for one in same)}: {ONE_MACHINE} {counted}")
    if of := [one.name for one in [*apart, *offered] if shared.keys() & one.hosts.keys()]:
        found.append(f"{', '.join(of)}: {SHARED_HOST}")
    found += [said for one in ranked for part in one.prediction.parts for said in part.left_out]
    for at, one in enumerate(ranked if decided else ()):
        for two in ranked[at + 1 :]:
            if two.prediction.geometric.value > one.prediction.geometric.value:
                found.append(
                    f"the orders differ: by predicted time {one.machine.name} is before {two.machine.name}, "
                    "by the weighted geometric mean behind it"
                )
    return list(dict.fromkeys(found))


def _ended(judged: Sequence[Judged], ranked: Sequence[Judged], reference: Machine) -> list[dict[str, Any]]:
    """Runs that ended before their end, of machines on which the verdict hangs.

    Of a candidate that is not ranked it does where that may be for the run's sake.
    """
    named = [one.machine for one in judged if one.prediction or machines.may_pass(one.broken)]
    parts = [part for one in ranked for part in one.prediction.parts]
    return unfinished([reference, *named], [row for part in parts for row in (*part.rows, *part.base_rows)])


def unfinished(every: Sequence[Machine], used: Sequence[Row] = ()) -> list[dict[str, Any]]:
    """Runs that ended before their end, whose they are, and the command that goes on with each.

    `short` of the rows of one that are `used` have fewer visits than it was to come to.
    """
    whose: dict[str, list[tuple[str, Result]]] = {}
    for one in every:
        for result in one.results:
            if not result.run.complete:
                whose.setdefault(str(result.path), []).append((one.name, result))
    wanted = {id(row): row for row in used}
    found = []
    for path, there in whose.items():
        run = there[0][1].run
        rows = [wanted[id(row)] for row in there[0][1].rows if id(row) in wanted]
        found.append(
            {
                "file": path,
                "machines": list(dict.fromkeys(name for name, _ in there)),
                "why": run.why_incomplete or "it does not say why",
                "resume": causes.resume(there[0][1]),
                "used": len(rows),
                "short": sum(0 < len(row.visits) < run.visits for row in rows),
            }
        )
    return found


def _used(ranked: Sequence[Judged], reference: Machine) -> Iterator[tuple[str, list[Row]]]:
    """The rows that are used of the reference, where it is not ranked itself, and of each candidate."""
    parts = {one.machine.name: one.prediction.parts for one in ranked}
    if all(one.machine.key != reference.key for one in ranked):
        yield reference.name, [row for every in parts.values() for part in every for row in part.base_rows]
    for name, every in parts.items():
        yield name, [row for part in every for row in part.rows]


def flip_share(shares: Array, lead: Array, component: int) -> Array:
    """The share of a component at which winner and rival change places, the others kept in proportion.

    With x for the component's share the lead is x d_i + (1 − x) R, where R is the others' mean lead; it is
    zero at x = R / (R − d_i). NaN where that is not between 0 and 1, or there is no other component: at an
    end they are equal, and neither comes before the other.
    """
    rest = 1 - shares[component]
    own = lead[..., component]
    if rest <= 0:
        return np.full(own.shape, np.nan)
    others = (lead @ shares - shares[component] * own) / rest
    with np.errstate(divide="ignore", invalid="ignore"):
        found = others / (others - own)
    return np.where((found > AT_AN_END) & (found < 1 - AT_AN_END) & (others != own), found, np.nan)


def with_share(shares: Array, component: int, share: float) -> Array:
    """The shares where one component has another share, the others kept in proportion."""
    then = shares * (1 - share) / (1 - shares[component])
    then[component] = share
    return then


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
    possible = (least[..., 0] < -AT_AN_END * np.abs(lead).max(axis=-1)) | (lead @ shares <= 0)
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


@dataclass(frozen=True)
class Ranked:
    """A candidate in the order that is asked about: what is predicted, and what its time is multiplied by."""

    name: str
    prediction: Prediction
    factor: float = 1.0


def flips_of(order: Sequence[Ranked], shares: Array, names: Sequence[str]) -> list[dict[str, Any]]:
    """For each rival of the first the smallest change of shares, and each share, at which they flip.

    `lead` of a component is how much it gives the first, in the reference's time, or in money where factors
    are prices; `over_first` is the rival's sum over the first's. `rival_first` is whether nobody else is
    before both where they flip.
    """
    return [_flip(order, rival, shares, names) for rival in order[1:]]


def _flip(order: Sequence[Ranked], rival: Ranked, shares: Array, names: Sequence[str]) -> dict[str, Any]:
    first = order[0]
    times_of = {one.name: np.array([part.time.value for part in one.prediction.parts]) for one in order}

    def rival_first(then: Array) -> bool:
        sums = {one.name: one.factor * float(times_of[one.name] @ then) for one in order}
        return bool(sums[rival.name] <= min(sums.values()) * (1 + AT_AN_END))

    pairs = list(zip(rival.prediction.parts, first.prediction.parts, strict=True))
    lead = np.array([rival.factor * one.time.value - first.factor * two.time.value for one, two in pairs])
    drawn = np.stack(
        [rival.factor * one.time.draws - first.factor * two.time.draws for one, two in pairs], axis=-1
    )
    least, after = smallest_change(shares, lead)
    many, _ = smallest_change(shares, drawn)
    times = rival.prediction.time, first.prediction.time
    dearer = rival.factor / first.factor
    flips = [float(flip_share(shares, lead, at)) for at in range(len(names))]
    return {
        "rival": rival.name,
        "over_first": interval(
            dearer * times[0].value / times[1].value, dearer * times[0].draws / times[1].draws
        ),
        "smallest_change": _maybe(float(least), many),
        "shares_then": None if np.isnan(least) else dict(zip(names, map(float, after), strict=True)),
        "rival_first": not np.isnan(least) and rival_first(after),
        "components": [
            {
                "name": name,
                "share": float(shares[at]),
                "lead": float(shares[at] * lead[at]),
                "flips_at": _maybe(flips[at], flip_share(shares, drawn, at)),
                "rival_first": not np.isnan(flips[at]) and rival_first(with_share(shares, at, flips[at])),
            }
            for at, name in enumerate(names)
        ],
    }


def interval(value: float, draws: Array) -> dict[str, Any]:
    """The value and the 2.5th and 97.5th percentile of its draws, None where nothing tells its spread."""
    if np.isnan(draws).any():
        return {"value": float(value), "low": None, "high": None}
    low, high = np.percentile(draws, (2.5, 97.5))
    return {"value": float(value), "low": float(low), "high": float(high)}


def _maybe(value: float, draws: Array) -> dict[str, Any]:
    """A value that may not be there, its interval over the draws where it is, and how often it is."""
    there = draws[~np.isnan(draws)]
    low, high = (float(one) for one in np.percentile(there, (2.5, 97.5))) if len(there) else (None, None)
    return {
        "value": None if np.isnan(value) else value,
        "low": low,
        "high": high,
        "exists": float(len(there) / len(draws)),
    }


def decide(scores: Sequence[Ranked], machines: Sequence[Machine], *, known: bool) -> dict[str, Any]:
    """Who is first by factor × time, the least of which is best, or who is tied with it.

    One is before another where it is so by more than the tie and in nearly all draws. Candidates of one
    machine have equal times. Where uncertainties are not `known` nobody is first.
    """
    nobody = {"first": None, "tied": [], "certain": False, "chance_first": {}}
    if not scores:
        return {"kind": NONE} | nobody
    same = len(machines) > 1 and all(one.is_same(machines[0]) for one in machines)
    if not (known or same):
        return {"kind": UNKNOWN} | nobody
    values = [one.factor * one.prediction.time.value for one in scores]
    drawn = np.array([one.factor * one.prediction.time.draws for one in scores])
    best = min(range(len(scores)), key=values.__getitem__)

    def is_beaten(at: int) -> bool:
        if machines[at].is_same(machines[best]):
            return scores[best].factor * (1 + TIE) < scores[at].factor
        ahead = ((drawn[best] < drawn[at]) + (drawn[best] == drawn[at]) / 2).mean()
        return values[best] * (1 + TIE) < values[at] and bool(ahead >= CERTAIN)

    names = [score.name for score in scores]
    tied = [
        names[at]
        for at in sorted(range(len(names)), key=values.__getitem__)
        if at == best or not is_beaten(at)
    ]
    chances = {} if np.isnan(drawn).any() else dict(zip(names, chance_first(drawn), strict=True))
    return {
        "kind": TIED if len(tied) > 1 else WINNER,
        "first": names[best],
        "tied": tied if len(tied) > 1 else [],
        "certain": len(tied) == 1,
        "chance_first": chances,
    }


def chance_first(times: Array) -> list[float]:
    """How often each of the rows is the smallest; equal ones share."""
    least = times == times.min(axis=0)
    return [float(share) for share in (least / least.sum(axis=0)).mean(axis=1)]


def add_costs(
    document: dict[str, Any], ranked: Sequence[Any], shares: Any, workload: Workload, known: bool
) -> None:
    """Adds power and costs to the ranked candidates of a verdict, `cost` and `power` with who is first."""
    offers = {
        candidate.name: _Offer(candidate, workload, _judged_of(ranked, candidate.name))
        for candidate in workload.candidates
    }
    entries = {candidate["name"]: candidate for candidate in document["candidates"]}
    there = [(offers[one.machine.name], one) for one in ranked]
    for offer, one in there:
        entries[one.machine.name] |= offer.facts() | {"speed_per_watt": _per_watt(offer, one.prediction.time)}
    given = workload.candidates[0].watts_source
    document["power"] = _power(there, known) | {"given": given}
    if workload.candidates[0].priced:
        _add_costs(document, there, shares, workload, known)


def _judged_of(ranked: Sequence[Any], name: str) -> Any:
    return next((one for one in ranked if one.machine.name == name), None)


class _Offer:
    """What is paid for one unit, a node or a GPU: its price, power and energy."""

    def __init__(self, offer: Candidate, workload: Workload, judged: Any) -> None:
        self.name, self.offer = offer.name, offer
        self.gpus = offer.gpus or _gpus(judged, workload)
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
                    f"{self.lacking}; or give `watts` and `watts_source`"
                )
            cost = workload.cost
            self.energy = energy_cost(self.watts, cost.years, cost.per_kwh, cost.pue)
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
            rows = f"its rows of {', '.join(lacking)}"
            return None, None, f"{rows} have no power, which `grainscope --power` reads"
        if gpus > self.units:
            return (
                None,
                None,
                (
                    f"its rows say what one of its {gpus} GPUs takes at work, and nothing of the others "
                    '(`price_per = "gpu"` counts each)'
                ),
            )
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


def _gpus(judged: Any, workload: Workload) -> int:
    """GPUs of a node, by its files; refused where these differ."""
    counts = sorted({len(result.environment.gpus) for result in judged.machine.results} if judged else {0})
    if len(counts) > 1:
        name = judged.machine.name
        raise NotComparableError(
            f"{workload.path}: nodes of candidate {name!r} have {counts[0]} to {counts[-1]} GPUs: give `gpus`"
        )
    return counts[0]


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
    entries = {candidate["name"]: candidate for candidate in document["candidates"]}
    times = {offer.name: one.prediction.time for offer, one in there}
    totals = {offer.name: offer.total for offer, _ in there}
    scores = [Ranked(offer.name, one.prediction, offer.total) for offer, one in there]
    found = decide(scores, [one.machine for _, one in there], known=known)
    decided = found["kind"] not in (UNKNOWN, NONE)
    names = [offer.name for offer, _ in there]
    order = sorted(names, key=lambda name: totals[name] * times[name].value) if decided else names
    front = pareto([totals[name] for name in names], [times[name].value for name in names])
    for (offer, _), on_front in zip(there, front, strict=True):
        name = offer.name
        rival = next((other for other in order if other != name), None) if decided else None
        entries[name] |= {
            "cost_per_speed": interval(totals[name] * times[name].value, totals[name] * times[name].draws),
            "pareto": on_front if decided else None,
            "break_even_price": _break_even(name, rival, totals, offer.energy, times) if rival else None,
            "wins_below": wins_below(offer, there) if rival else None,
        }
    ranked = {score.name: score for score in scores}
    document["cost"] = found | {
        "order": order,
        "per": workload.per,
        "currency": workload.candidates[0].currency,
        "energy": workload.cost is not None,
        "flips": flips_of(
            [ranked[name] for name in order], shares, [component.name for component in workload.components]
        )
        if decided
        else [],
    }


def _gpus_at_work(
    document: dict[str, Any], ranked: Sequence[Judged], workload: Workload
) -> dict[str, int] | None:
    """Where a price or the power is of nodes of unlike numbers of GPUs, how many of these the rows use.

    None where a verdict does not hang on it.
    """
    counts = [one["gpus"] for one in document["candidates"] if one["passed"]]
    rows = [row for one in ranked for part in one.prediction.parts for row in part.rows]
    at_work = max((machines.gpus_at_work(row) for row in rows), default=0)
    by_node = workload.per == NODE and ("cost" in document or not document["power"]["why_not"])
    if not by_node or len({*counts}) < 2 or not 0 < at_work < max(counts):
        return None
    return {"at_work": at_work, "fewest": min(counts), "most": max(counts)}


def _per_watt(offer: _Offer, time: Any) -> dict[str, Any] | None:
    if offer.watts is None:
        return None
    return interval(1 / time.value / offer.watts, 1 / time.draws / offer.watts)


def wins_below(offer: _Offer, there: Sequence[tuple[_Offer, Any]]) -> float | None:
    """The price below which this one is before every other by the rule of `decide`.

    None where nothing tells the spread of a time.
    """
    own = next(one for candidate, one in there if candidate is offer)
    limits = []
    for rival, other in there:
        if rival is offer:
            continue
        time, times = own.prediction.time, other.prediction.time
        value = break_even(rival.total, times.value, 0.0, time.value)
        if own.machine.is_same(other.machine):
            limits.append(min(value, rival.total / (1 + TIE)))
            continue
        draws = break_even(rival.total, times.draws, 0.0, time.draws)
        if np.isnan(draws).any():
            return None
        limits.append(min(value / (1 + TIE), float(np.quantile(draws, 1 - CERTAIN))))
    return float(min(limits)) - offer.energy


def _break_even(name: str, rival: str, totals: dict, energy: float, times: dict) -> dict[str, Any]:
    """The price at which this one costs as much per speed as the best of the others."""
    value = break_even(totals[rival], times[rival].value, energy, times[name].value)
    draws = break_even(totals[rival], times[rival].draws, energy, times[name].draws)
    return interval(value, draws) | {"against": rival}
