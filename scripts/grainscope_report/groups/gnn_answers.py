"""What the rows of graph neural networks come to: the best way, row, score, share, and how good each is."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from grainscope_report import statistics
from grainscope_report.analysis import Analysis
from grainscope_report.figures import frame
from grainscope_report.figures.frame import best_of, grouped
from grainscope_report.groups import gather, gnn, traversal
from grainscope_report.groups.gather import Gather, Share
from grainscope_report.groups.gnn import Payback, Pipeline
from grainscope_report.groups.traversal_answers import SAME_TIME
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate, plain
from grainscope_report.units import format_percent, format_time

# Families that `summary` answers in tables of their own.
FAMILIES = (
    gnn.SCORE, gnn.REORDER, gnn.SAMPLING, gather.GATHER, gather.SPLIT, gnn.FAMILY,
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
        for one in gather.measured(machine)
        if one.asked and one.store in gather.PLAIN_STORES and "gpu" in one.case_row.case.site
    ]
    answers = []
    for there in grouped(sorted(found, key=_table), _table).values():
        best = max(there, key=lambda one: one.asked.value)
        ways = best_of(there, lambda one: one.way, lambda one: one.asked.value)
        if len(ways) < 2 or not set(ways) - set(gather.COPIES):
            continue
        answers.append(
            {
                **_asked(best),
                "way": best.way,
                "window": best.number("window") or None,
                "width": best.number("width") or None,
                "gb_s": plain(best.asked),
                "of_peak": best.of_peak,
                "over": {
                    base: best.asked.value / ways[base].asked.value
                    for base in BASES
                    if base in ways and base != best.way
                },
                "ways": {way: plain(one.asked) for way, one in ways.items()},
            }
        )
    return answers


def bounded(machine: Machine) -> list[Answer]:
    """For each table and size of rows the way that asks least of one link, as the model has it."""
    found = gather.modelled(machine)
    link = traversal.one_link(found) if found else ""
    answers = []
    for there in grouped(sorted((one for one in found if one.link == link), key=_table), _table).values():
        best = min(there, key=lambda one: one.time.value)
        naive = [one.time.value for one in there if one.way == "naive"]
        tied = [one for one in there if math.isclose(one.time.value, best.time.value, rel_tol=SAME_TIME)]
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
            "pays_from": plain(one.pays_from),
            "spoken": one.spoken,
            "sizes": [
                {
                    "row": copy.row,
                    "gb_s": plain(copy.asked),
                    "kernel": kernel.way,
                    "kernel_gb_s": plain(kernel.asked),
                }
                for copy, kernel in zip(one.copies, one.kernels, strict=True)
            ],
        }
        for one in gather.row_copies(machine)
    ]


def tiered(machine: Machine) -> list[Answer]:
    """For each training run the best score that is known beforehand."""
    found = gnn.scored(machine)
    answers = []
    for training in gnn.trainings(found):
        own = [one for one in found if one.training == training]
        best = gnn.best_score(own)
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
                "hits": {str(percent): best.hits(percent) for percent in gnn.PERCENTS},
                "of_optimal": {str(percent): best.of_optimal(percent) for percent in gnn.PERCENTS},
                "degree_hits": {str(percent): degree and degree.hits(percent) for percent in gnn.PERCENTS},
                "time_s": plain(best.time),
                "scores": {one.score: one.hits(10) for one in own},
            }
        )
    return answers


def edges(machine: Machine, family: str, axes: Sequence[str]) -> list[Answer]:
    """Edges a second of every way to sample or to reorder."""
    answers = []
    for one in frame.machine_rows(machine, family):
        count = one.case_row.operations
        if count:
            named = {axis: one.word(axis) or None for axis in axes}
            rate = Estimate(
                *(count / value for value in (one.time.value, one.time.high, one.time.low)), one.time.visits
            )
            answers.append(named | {"time_s": plain(one.time), "edges_per_s": plain(rate)})
    return answers


def shares_alone(machine: Machine) -> list[Answer]:
    """For each way and width of loads the fewest multiprocessors that are enough."""
    return [
        {
            "by": one.by,
            "width": one.number("width"),
            "asked_sms": one.asked_sms,
            "given_sms": one.given_sms,
            "share": one.percent and one.percent / 100,
            "gb_s": plain(one.gathered),
            "link_fraction": one.link_fraction,
        }
        for one in gather.fewest(gather.alone(machine))
    ]


def split(machine: Machine) -> list[Answer]:
    """For each computation and way the split with the shortest mini-batch."""
    answers = []
    for there in grouped(gather.splits(machine), lambda one: (one.consumer, one.by)).values():
        one = min(there, key=lambda each: each.time.value)
        answers.append(
            {
                "by": one.by,
                "consumer": one.consumer,
                "given_sms": one.given_sms,
                "share": one.percent and one.percent / 100,
                "time_s": plain(one.time),
                "gather_slowdown": one.counter("gather_slowdown"),
                "compute_slowdown": one.counter("compute_slowdown"),
                "overlap": one.counter("pipeline_overlap"),
            }
        )
    return answers


def trained(machine: Machine) -> list[Answer]:
    """For each training the fastest method, and how it stands to others where there are any."""
    answers = []
    for there in grouped(gnn.pipelines(machine), lambda one: one.work).values():
        ways = gnn.fastest(there)
        fed = [one for method, one in ways.items() if method != "device"]
        if not fed:
            continue
        best = min(fed, key=lambda one: one.time.value)
        work = best.work
        over = {base: ways[base] for base in (gnn.BASE, "naive", "device") if base in ways}
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
                "time_s": plain(best.time),
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
            "saved_s": plain(one.saved),
            "steps": one.steps,
            "tiered_s": plain(one.tiered.time),
            "mapped_s": plain(one.mapped.time),
            "spoken": one.spoken,
        }
        for one in gnn.paybacks(machine)
    ]


def _pipeline(one: Pipeline) -> Answer:
    names = (*gnn.STAGES, "p99_batch_s", "overlap", "gpu_bytes", "cpu_s")
    return {"time_s": plain(one.time), **{name: one.counter(name) for name in names}}


QUESTIONS: dict[str, Callable[[Machine], list[Answer]]] = {
    "gathers": gathered,
    "modelled_gathers": bounded,
    "row_copies": copied,
    "tiers": tiered,
    "sampling": partial(edges, family=gnn.SAMPLING, axes=("graph", "fanout", "batch", "by", "placement")),
    "reordering": partial(edges, family=gnn.REORDER, axes=("graph", "lists", "score")),
    "shares": shares_alone,
    "splits": split,
    "training": trained,
    "payback": paid,
}


TOP = "10"  # % of the rows
SAME_GATHER = (
    "row", "rows", "span", "indices", "graph", "fanout", "batch", "element", "width", "mode", "window",
)  # fmt: skip


def tiering(run: Analysis) -> list[str]:
    """The best score for each training, and what the hottest rows in the GPU's memory bring a gather."""
    said = []
    for one in run.networks["tiers"]:
        hits, optimal = one["hits"][TOP], one["of_optimal"][TOP]
        if hits is None:
            continue
        best = f", {format_percent(optimal)} of what the best order could" if optimal is not None else ""
        score = gnn.SCORES.get(one["score"], one["score"])
        said.append(
            f"Of {one['graph']} ({_sampled(one)}, {one['labelled']:g} % labelled) the first {TOP} % of the "
            f"rows by {score} take {format_percent(hits)} of the accesses{best}"
        )
    return said + _tiered(gather.measured(run.machine))


def _tiered(found: Sequence[Gather]) -> list[str]:
    """How each gather with hot rows on the GPU stands to the same one without, by the share of them."""
    there = [one for one in found if "gpu" in one.case_row.case.site and one.asked]
    cold = {_same(one): one for one in there if one.store == "mapped"}
    hot: dict[tuple, list[Gather]] = defaultdict(list)
    for one in there:
        if one.store == "tiered" and _same(one) in cold:
            hot[_same(one)].append(one)
    said = []
    for same, own in hot.items():
        one = own[0]
        own.sort(key=lambda each: each.number("hot"))
        percents = _listed([f"{each.number('hot'):g}" for each in own])
        times = _listed([f"{cold[same].time.value / each.time.value:.3g}" for each in own])
        window = f", window {one.number('window'):g}" if one.number("window") > 1 else ""
        said.append(
            f"With {percents} % of the rows in the GPU's memory a gather of {_indices(one)} rows of "
            f"{one.row:g} B ({gather.spoken(one.way)}{window}) is {times} times as fast as with none"
        )
    return said


def _same(one: Gather) -> tuple:
    """What is gathered and how, wherever the rows lie."""
    return tuple(one.case_row.case.axes.get(axis) for axis in SAME_GATHER)


def _indices(one: Gather) -> str:
    return f"{one.word('graph')}'s" if one.word("graph") else one.word("indices")


def training(run: Analysis) -> list[str]:
    """For each training the fastest way to feed it whose rows are not all in the GPU."""
    said = []
    for one in run.networks["training"]:
        hot = f" ({one['hot']:g} % hot)" if one["hot"] else ""
        gpus = f" on {one['gpus']:g} GPUs" if one["gpus"] > 1 else ""
        over = [
            f"{_times(one, base)} {name}"
            for base, name in ((gnn.BASE, "with CPU gathers"), ("naive", "with naive zero-copy"),
                               ("device", "with all rows in the GPU"))
            if base in one["over"] and base != one["method"]
        ]  # fmt: skip
        step = format_time(one["time_s"]["value"])
        alone = len(one["ways"]) == 1
        fed = "was fed only by" if alone else "is fed fastest by"
        against = "" if alone else f", {_listed(over)}"
        said.append(
            f"GraphSAGE on {one['graph']} ({_sampled(one)}, hidden {one['hidden']:g}), rows of "
            f"{one['row']:g} B{gpus}, {fed} {gnn.spoken(one['method'])}{hot}: {step} a "
            f"step{against}"
        )
    return said


def _times(one: Answer, base: str) -> str:
    """How many times as fast as a base; just as fast where their intervals overlap."""
    own, other = one["time_s"], one["ways"][base]["time_s"]
    if own["low"] <= other["high"] and other["low"] <= own["high"]:
        return "as fast as"
    return f"{one['over'][base]:.2f} times as fast as"


def shared(run: Analysis) -> list[str]:
    """The fewest multiprocessors for a gather alone, and the best split beside a computation."""
    said = []
    if alone := [one for one in run.networks["shares"] if one["gb_s"]]:
        one = min(alone, key=lambda each: (each["given_sms"], -each["gb_s"]["value"]))
        said.append(
            f"A gather alone needs {_sms(one, gather.alone(run.machine))}, given by {_by(one)}: "
            f"{one['gb_s']['value']:.1f} GB/s with loads of {one['width']:g} B"
        )
    if splits := [one for one in run.networks["splits"] if one["given_sms"]]:
        one = min(splits, key=lambda each: each["time_s"]["value"])
        slow = one["compute_slowdown"]
        pays = f", the computation takes {slow:.2f} times as long as alone" if slow else ""
        said.append(
            f"Beside a computation both end soonest with {_sms(one, gather.splits(run.machine))} for the "
            f"gather, by {_by(one)} ({format_time(one['time_s']['value'])}{pays})"
        )
    return said


def _sms(one: Answer, tried: Sequence[Share]) -> str:
    """`8 multiprocessors (6.1 %, the fewest tried)`: fewer might do as well."""
    least = min((other.given_sms for other in tried if other.given_sms), default=0.0)
    said = [format_percent(one["share"])] if one["share"] else []
    said += ["the fewest tried"] if one["given_sms"] <= least else []
    return f"{one['given_sms']:g} multiprocessors" + (f" ({', '.join(said)})" if said else "")


def _by(one: Answer) -> str:
    return gather.BY.get(one["by"], one["by"])


def _sampled(one: Answer) -> str:
    return f"{str(one['fanout'] or '').replace('x', '×')}, batch {one['batch']:g}"


def _listed(parts: Sequence[str]) -> str:
    if not parts:
        return "nothing to hold it against"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def hot_rows(run: Analysis) -> list[str]:
    """A sentence for each training: the share of hot rows that pays first."""
    works: dict[tuple, list[Payback]] = {}
    for one in gnn.paybacks(run.machine):
        works.setdefault((one.tiered.work, one.tiered.word("mode")), []).append(one)
    return [_hot_rows(there) for there in works.values()]


def _hot_rows(there: Sequence[Payback]) -> str:
    paying = [one for one in there if one.epochs is not None]
    one = min(paying, key=lambda each: each.epochs) if paying else there[0]
    work, way = one.tiered.work, gather.spoken(one.tiered.word("mode"))
    gpus = f" on {work.gpus:g} GPUs" if work.gpus > 1 else ""
    what = f"{work.spoken}, rows of {work.row:g} B{gpus}, {way}"
    if one.epochs is None:
        return f"{what}: a step is no shorter with hot rows in GPU memory, so they never pay"
    parts = ", ".join(f"{gnn.PARTS[name]} {format_time(value)}" for name, value in one.parts.items())
    return (
        f"{what}: {one.tiered.hot:g} % of the rows in GPU memory pay {one.spoken} ({parts}; an epoch saves "
        f"{format_time(one.saved.value)})"
    )
