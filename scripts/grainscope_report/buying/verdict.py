"""The verdict: gates, ranks, ties, costs, and how far the choice is from another; all of it plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grainscope_report import machine
from grainscope_report.buying import costs, flips, gates, machines, words
from grainscope_report.buying.bootstrap import Array, Estimates
from grainscope_report.buying.flips import Ranked
from grainscope_report.buying.machines import Machine
from grainscope_report.buying.predict import Part, Prediction, Predictor
from grainscope_report.buying.workload import Workload
from grainscope_report.result import Result

FORMAT = 1
TIE = 0.02
CERTAIN = 0.95
WINNER, TIED, NONE = "winner", "tie", "none"


@dataclass(frozen=True)
class Judged:
    """A candidate, why it is not ranked, or what is predicted for it."""

    machine: Machine
    broken: tuple[str, ...]
    prediction: Prediction | None


def reach(workload: Workload, draws: int, seed: int) -> dict[str, Any]:
    """Judges all candidates; NotComparableError where they cannot be compared."""
    return judge(workload, draws, seed)[0]


def judge(workload: Workload, draws: int, seed: int) -> tuple[dict[str, Any], list[Result]]:
    """The verdict, and all files that it is of."""
    reference, found = machines.read(workload)
    predictor = Predictor(workload, reference, draws, seed)
    judged = [_judge(predictor, workload, one) for one in found]
    ranked = sorted((one for one in judged if one.prediction), key=lambda one: one.prediction.time.value)
    names = [one.machine.name for one in ranked]
    first = _first(ranked)
    document = {
        "verdict_format": FORMAT,
        "workload": {"name": workload.name, "about": workload.about, "file": str(workload.path)},
        "label": workload.components[0].label,
        "reference": _machine(reference),
        "draws": draws,
        "tie": TIE,
        "components": [
            {
                "name": one.name,
                "share": float(share),
                "rows": one.where.text,
                "along": one.along,
                "metric": metric,
            }
            for one, share, metric in zip(
                workload.components, predictor.shares, predictor.metrics, strict=True
            )
        ],
        "verdict": first,
        "candidates": [
            _candidate(one, names, first, predictor.shares, workload) for one in [*ranked, *_unranked(judged)]
        ],
        "flips": flips.of(
            [Ranked(one.machine.name, one.prediction) for one in ranked],
            predictor.shares,
            [one.name for one in workload.components],
        ),
        "warnings": list(_warnings(judged, ranked, predictor)),
    }
    if workload.candidates[0].price is not None:
        costs.add(document, ranked, predictor.shares, workload)
    files = [result for one in (reference, *found) for result in one.results]
    return words.add(document), files


def _judge(predictor: Predictor, workload: Workload, one: Machine) -> Judged:
    broken = gates.of_machine(one, workload)
    if broken:
        return Judged(one, tuple(broken), None)
    prediction = predictor.predict(one)
    broken = gates.of_rows([row for part in prediction.parts for row in part.rows], workload.gates)
    return Judged(one, tuple(broken), None if broken else prediction)


def _unranked(judged: Sequence[Judged]) -> list[Judged]:
    return [one for one in judged if one.prediction is None]


def _first(ranked: Sequence[Judged]) -> dict[str, Any]:
    """Who is first, who is tied with it, and how often each is first in the resamples."""
    if not ranked:
        return {"kind": NONE, "first": None, "tied": [], "certain": False, "chance_first": {}}
    times = np.array([one.prediction.time.draws for one in ranked])
    chances = chance_first(times)
    best = ranked[0].prediction.time.value
    tied = [one.machine.name for one in ranked if one.prediction.time.value <= best * (1 + TIE)]
    return {
        "kind": TIED if len(tied) > 1 else WINNER,
        "first": ranked[0].machine.name,
        "tied": tied if len(tied) > 1 else [],
        "certain": len(tied) == 1 and chances[0] >= CERTAIN,
        "chance_first": {one.machine.name: chance for one, chance in zip(ranked, chances, strict=True)},
    }


def chance_first(times: Array) -> list[float]:
    """How often each of the rows is the smallest; equal ones share."""
    least = times == times.min(axis=0)
    return [float(share) for share in (least / least.sum(axis=0)).mean(axis=1)]


def _interval(found: Estimates) -> dict[str, float]:
    return flips.interval(found.value, found.draws)


def _candidate(
    one: Judged, names: Sequence[str], first: dict, shares: Array, workload: Workload
) -> dict[str, Any]:
    name = one.machine.name
    found = _machine(one.machine) | {"passed": not one.broken, "broken_gates": list(one.broken)}
    if not one.prediction:
        return found | {"rank": None}
    prediction = one.prediction
    return found | {
        "rank": names.index(name) + 1,
        "tied": name in first["tied"],
        "chance_first": first["chance_first"][name],
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


def _warnings(judged: Sequence[Judged], ranked: Sequence[Judged], predictor: Predictor) -> list[str]:
    reference = predictor.reference
    offered = [one.machine for one in judged]
    apart = [] if reference.key in {one.key for one in offered} else [reference]
    found = [said for one in [*apart, *offered] for said in machines.cautions(one)]
    found += [
        f"{name}: no spread is known for this metric ({metric} of {component.name!r}), so intervals and "
        "chances are as if it were exact"
        for one in ranked
        for part, component, metric in zip(
            one.prediction.parts, predictor.workload.components, predictor.metrics, strict=True
        )
        for name in part.no_spread
    ]
    for at, one in enumerate(ranked):
        for two in ranked[at + 1 :]:
            if two.prediction.geometric.value > one.prediction.geometric.value:
                found.append(
                    f"the orders differ: by predicted time {one.machine.name} is before {two.machine.name}, "
                    "by the weighted geometric mean behind it"
                )
    return list(dict.fromkeys(found))
