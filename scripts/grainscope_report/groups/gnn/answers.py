"""What the rows of graph neural networks come to: the best way, row, score, share, and how good each is."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from grainscope_report import statistics
from grainscope_report.groups.gather import gathers, machine_rows, row_copies, shares
from grainscope_report.groups.gather.gathers import Gather
from grainscope_report.groups.gather.machine_rows import MachineRow
from grainscope_report.groups.gnn import payback, pipelines, tiers
from grainscope_report.groups.gnn.pipelines import Pipeline
from grainscope_report.groups.traversal import compare
from grainscope_report.groups.traversal.answers import SAME
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate

# Families that `summary` answers in tables of their own.
FAMILIES = (
    tiers.SCORE, tiers.REORDER, tiers.SAMPLING, shares.GATHER, shares.SPLIT, pipelines.FAMILY,
)  # fmt: skip
Answer = dict[str, Any]
BASES = ("cpu_gather_dma", "naive", "graphbolt")


def of(machine: Machine) -> dict[str, list[Answer]]:
    """Everything, by question; plain data: seconds, GB/s, shares."""
    return {name: answer(machine) for name, answer in QUESTIONS.items()}


def gathered(machine: Machine) -> list[Answer]:
    """For each table and size of rows on the host: the fastest way, and how it stands to others."""
    found = [
        one
        for one in gathers.measured(machine)
        if one.asked and one.store in gathers.PLAIN_STORES and "gpu" in one.case_row.case.site
    ]
    answers = []
    for there in _grouped(sorted(found, key=_table), _table):
        best = max(there, key=lambda one: one.asked.value)
        ways: dict[str, Gather] = {}
        for one in there:
            known = ways.get(one.way)
            if known is None or one.asked.value > known.asked.value:
                ways[one.way] = one
        if len(ways) < 2 or not set(ways) - set(gathers.COPIES):
            continue
        answers.append(
            {
                **_asked(best),
                "way": best.way,
                "window": best.number("window") or None,
                "width": best.number("width") or None,
                "gb_s": _estimate(best.asked),
                "of_peak": best.of_peak,
                "over": {
                    base: best.asked.value / ways[base].asked.value
                    for base in BASES
                    if base in ways and base != best.way
                },
                "ways": {way: _estimate(one.asked) for way, one in ways.items()},
            }
        )
    return answers


def bounded(machine: Machine) -> list[Answer]:
    """For each table and size of rows the way that asks least of one link, as the model has it."""
    found = gathers.modelled(machine)
    link = compare.one_link(found) if found else ""
    answers = []
    for there in _grouped(sorted((one for one in found if one.link == link), key=_table), _table):
        best = min(there, key=lambda one: one.time.value)
        naive = [one.time.value for one in there if one.way == "naive"]
        tied = [one for one in there if math.isclose(one.time.value, best.time.value, rel_tol=SAME)]
        answers.append(
            {
                **_asked(best),
                "link": link,
                "way": best.way,
                "tied": [one.way for one in tied if one is not best],
                "window": best.number("window") or None,
                "time_s": best.time.value,
                "requests_per_row": best.counter("requests_per_row"),
                "over": {"naive": min(naive) / best.time.value} if naive and best.way != "naive" else {},
            }
        )
    return answers


def _asked(one: Gather) -> Answer:
    """What is gathered, from where."""
    return {
        "row": one.row,
        "span": one.number("span"),
        "element": one.number("element"),
        "indices": one.word("indices"),
        "graph": one.word("graph") or None,
    }


def _table(one: Gather) -> tuple:
    return one.number("span"), one.row, one.word("indices"), one.word("graph"), one.number("element")


def copied(machine: Machine) -> list[Answer]:
    """For each table from which size of a row on a copy a row pays, and both rates at each size."""
    return [
        {
            "span": one.copies[0].number("span"),
            "element": one.copies[0].number("element"),
            "indices": one.copies[0].word("indices"),
            "graph": one.copies[0].word("graph") or None,
            "rows": one.copies[0].number("rows") or None,
            "pays_from": _estimate(one.pays_from),
            "spoken": one.spoken,
            "sizes": [
                {
                    "row": copy.row,
                    "gb_s": _estimate(copy.asked),
                    "kernel": kernel.way,
                    "kernel_gb_s": _estimate(kernel.asked),
                }
                for copy, kernel in zip(one.copies, one.kernels, strict=True)
            ],
        }
        for one in row_copies.measured(machine)
    ]


def tiered(machine: Machine) -> list[Answer]:
    """For each training run the best score that is known beforehand."""
    found = tiers.scorings(machine)
    answers = []
    for training in tiers.trainings(found):
        own = [one for one in found if one.training == training]
        best = tiers.best(own)
        if best is None:
            continue
        degree = next((one for one in own if one.score == "degree"), None)
        answers.append(
            {
                "graph": training.graph,
                "fanout": training.fanout,
                "batch": training.batch,
                "labelled": training.labelled,
                "score": best.score,
                "hits": {str(percent): best.hits(percent) for percent in tiers.PERCENTS},
                "of_optimal": {str(percent): best.of_optimal(percent) for percent in tiers.PERCENTS},
                "degree_hits": {str(percent): degree and degree.hits(percent) for percent in tiers.PERCENTS},
                "time_s": _estimate(best.time),
                "scores": {one.score: one.hits(10) for one in own},
            }
        )
    return answers


def edges(machine: Machine, family: str, axes: Sequence[str]) -> list[Answer]:
    """Edges a second of every way to sample or to reorder."""
    answers = []
    for one in machine_rows.of(machine, family):
        count = one.case_row.operations
        if count:
            named = {axis: one.word(axis) or None for axis in axes}
            rate = Estimate(
                *(count / value for value in (one.time.value, one.time.high, one.time.low)), one.time.visits
            )
            answers.append(named | {"time_s": _estimate(one.time), "edges_per_s": _estimate(rate)})
    return answers


def shared(machine: Machine) -> list[Answer]:
    """For each way and width of loads the fewest multiprocessors that are enough."""
    return [
        {
            "by": one.by,
            "width": one.number("width"),
            "asked_sms": one.asked_sms,
            "given_sms": one.given_sms,
            "share": one.percent and one.percent / 100,
            "gb_s": _estimate(one.gathered),
            "link_fraction": one.link_fraction,
        }
        for one in shares.fewest(shares.alone(machine))
    ]


def split(machine: Machine) -> list[Answer]:
    """For each computation and way the split with the shortest mini-batch."""
    answers = []
    for there in _grouped(shares.splits(machine), lambda one: (one.consumer, one.by)):
        one = min(there, key=lambda each: each.time.value)
        answers.append(
            {
                "by": one.by,
                "consumer": one.consumer,
                "given_sms": one.given_sms,
                "share": one.percent and one.percent / 100,
                "time_s": _estimate(one.time),
                "gather_slowdown": one.counter("gather_slowdown"),
                "compute_slowdown": one.counter("compute_slowdown"),
                "overlap": one.counter("pipeline_overlap"),
            }
        )
    return answers


def trained(machine: Machine) -> list[Answer]:
    """For each training the fastest method, and how it stands to others where there are any."""
    answers = []
    for there in _grouped(pipelines.pipelines(machine), lambda one: one.work):
        ways = pipelines.fastest(there)
        fed = [one for method, one in ways.items() if method != "device"]
        if not fed:
            continue
        best = min(fed, key=lambda one: one.time.value)
        work = best.work
        over = {base: ways[base] for base in (pipelines.BASE, "naive", "device") if base in ways}
        answers.append(
            {
                "graph": work.graph,
                "fanout": work.fanout,
                "batch": work.batch,
                "row": work.row,
                "hidden": work.hidden,
                "gpus": work.gpus,
                "method": best.method,
                "hot": best.hot if best.method == "tiered" else None,
                "share": best.share and best.share / 100,
                "time_s": _estimate(best.time),
                "overlap": best.counter("overlap"),
                "gpu_bytes": best.counter("gpu_bytes"),
                "cpu_s": best.counter("cpu_s"),
                "link_bytes": best.link_bytes,
                "over": {base: statistics.ratio(one.time, best.time).value for base, one in over.items()},
                "ways": {method: _pipeline(one) for method, one in ways.items()},
            }
        )
    return answers


def paid(machine: Machine) -> list[Answer]:
    """For each tiered training: what its hot rows cost once, save each epoch, and when they pay."""
    return [
        {
            "graph": one.tiered.work.graph,
            "fanout": one.tiered.work.fanout,
            "batch": one.tiered.work.batch,
            "row": one.tiered.work.row,
            "hidden": one.tiered.work.hidden,
            "gpus": one.tiered.work.gpus,
            "mode": one.tiered.word("mode"),
            "window": one.tiered.number("window") or None,
            "hot": one.tiered.hot,
            "epochs": one.epochs,
            "epochs_between": list(one.between),
            "cost_s": one.cost_s,
            "parts_s": one.parts,
            "saved_s": _estimate(one.saved),
            "steps": one.steps,
            "tiered_s": _estimate(one.tiered.time),
            "mapped_s": _estimate(one.mapped.time),
            "spoken": one.spoken,
        }
        for one in payback.paybacks(machine)
    ]


def _pipeline(one: Pipeline) -> Answer:
    names = (*pipelines.STAGES, "p99_batch_s", "overlap", "gpu_bytes", "cpu_s")
    return {"time_s": _estimate(one.time), **{name: one.counter(name) for name in names}}


def _grouped(found: Iterable[MachineRow], key: Callable) -> list[list]:
    kinds: dict[Any, list] = {}
    for one in found:
        kinds.setdefault(key(one), []).append(one)
    return list(kinds.values())


def _estimate(value: Estimate | None) -> dict[str, float] | None:
    return value and {"value": value.value, "low": value.low, "high": value.high}


QUESTIONS: dict[str, Callable[[Machine], list[Answer]]] = {
    "gathers": gathered,
    "modelled_gathers": bounded,
    "row_copies": copied,
    "tiers": tiered,
    "sampling": partial(edges, family=tiers.SAMPLING, axes=("graph", "fanout", "batch", "by", "placement")),
    "reordering": partial(edges, family=tiers.REORDER, axes=("graph", "lists", "score")),
    "shares": shared,
    "splits": split,
    "training": trained,
    "payback": paid,
}
