"""The verdict: gates, ranks, ties, costs, and how far the choice is from another; all of it plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grainscope_report import machine
from grainscope_report.buying import costs, flips, gates, machines, words
from grainscope_report.buying.deciding import TIE, decide
from grainscope_report.buying.draws import Array, Draws, Estimates
from grainscope_report.buying.flips import Ranked
from grainscope_report.buying.machines import LackingError, Machine
from grainscope_report.buying.predict import Part, Prediction, Predictor
from grainscope_report.buying.words import UNKNOWN, WINNER
from grainscope_report.buying.workload import Workload
from grainscope_report.result import Result
from grainscope_report.uncertainty import TypeB

FORMAT = 1


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
    predictor = Predictor(workload, reference, Draws(count, seed))
    judged = [_judge(predictor, workload, one) for one in found]
    unknown = _unknown(judged)
    if unknown:
        # What some machines' runs differ by does not mix with what others' visits do.
        predictor = Predictor(workload, reference, Draws(count, seed, runs=False))
        judged = [_judge(predictor, workload, one) for one in found]
    ranked = [one for one in judged if one.prediction]
    times = [Ranked(one.machine.name, one.prediction) for one in ranked]
    speed = decide(times, [one.machine for one in ranked], known=not unknown)
    if speed["kind"] != UNKNOWN:
        ranked.sort(key=lambda one: one.prediction.time.value)
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
            }
            for one, share, metric in zip(
                workload.components, predictor.shares, predictor.metrics, strict=True
            )
        ],
        "verdict": speed,
        "unknown": unknown,
        "same_machine": len(ranked) > 1 and all(one.machine.is_same(ranked[0].machine) for one in ranked),
        "candidates": [
            _candidate(one, at, speed, predictor.shares, workload)
            | {"is_reference": one.machine.key == reference.key}
            for at, one in enumerate([*ranked, *(one for one in judged if one.prediction is None)], 1)
        ],
        "flips": []
        if speed["kind"] == UNKNOWN
        else flips.of(
            [Ranked(one.machine.name, one.prediction) for one in ranked],
            predictor.shares,
            [one.name for one in workload.components],
        ),
        "warnings": list(_warnings(judged, ranked, predictor, speed["kind"] == WINNER)),
    }
    costs.add(document, ranked, predictor.shares, workload, known=not unknown)
    files = [result for one in (reference, *found) for result in one.results]
    return words.add(document), files


def _judge(predictor: Predictor, workload: Workload, one: Machine) -> Judged:
    broken = gates.of_machine(one, workload)
    if broken:
        return Judged(one, tuple(broken), None)
    try:
        prediction = predictor.predict(one)
    except LackingError as error:
        return Judged(one, (f"evidence: {error}",), None)
    broken = gates.of_rows([row for part in prediction.parts for row in part.rows], workload.gates)
    return Judged(one, tuple(broken), None if broken else prediction)


def _unknown(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Whose uncertainty is not known in full: for each machine what is not, and in which components."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for one in (one for one in judged if one.prediction):
        for part, component in zip(one.prediction.parts, one.prediction.names, strict=True):
            for key in part.unknown:
                found.setdefault(key, {})[component] = None
    return [
        {"machine": name, "what": what, "components": list(components)}
        for (name, what), components in found.items()
    ]


def _interval(found: Estimates) -> dict[str, Any]:
    return flips.interval(found.value, found.draws)


def _candidate(one: Judged, rank: int, first: dict, shares: Array, workload: Workload) -> dict[str, Any]:
    name = one.machine.name
    found = _machine(one.machine) | {"passed": not one.broken, "broken_gates": list(one.broken)}
    if not one.prediction:
        return found | {"rank": None}
    prediction = one.prediction
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
    judged: Sequence[Judged], ranked: Sequence[Judged], predictor: Predictor, decided: bool
) -> list[str]:
    reference = predictor.reference
    offered = [one.machine for one in judged]
    apart = [] if reference.key in {one.key for one in offered} else [reference]
    found = [said for one in [*apart, *offered] for said in machines.cautions(one)]
    for at, one in enumerate(ranked if decided else ()):
        for two in ranked[at + 1 :]:
            if two.prediction.geometric.value > one.prediction.geometric.value:
                found.append(
                    f"the orders differ: by predicted time {one.machine.name} is before {two.machine.name}, "
                    "by the weighted geometric mean behind it"
                )
    return list(dict.fromkeys(found))
