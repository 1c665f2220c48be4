"""What the rows of graph neural networks come to: the best way, row, score and share, as data and as
sentences.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from grainscope_report import statistics
from grainscope_report.analysis import Analysis
from grainscope_report.figures.parts import MachineRow, best_of, grouped, machine_rows
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


class Answer(dict[str, Any]):
    """Plain data, and the rows that it rests on."""

    def __init__(self, said: Mapping[str, Any], *rows: MachineRow) -> None:
        super().__init__(said)
        self.rows = tuple(row.case_row for row in rows)


BASES = ("cpu_gather_dma", "naive", "graphbolt")


def of(machine: Machine) -> dict[str, list[Answer]]:
    """Everything, by question; plain data: seconds, GB/s, shares."""
    return {name: answer(machine) for name, answer in QUESTIONS.items()}


def gathered(machine: Machine) -> list[Answer]:
    """For each table and size of rows on the host: the fastest way, and how it stands to others."""
    found = [
        batch
        for batch in gather.measured(machine)
        if batch.asked and batch.store in gather.PLAIN_STORES and "gpu" in batch.case_row.case.site
    ]
    answers = []
    for there in grouped(sorted(found, key=_table), _table).values():
        best = max(there, key=lambda batch: batch.asked.value)
        ways = best_of(there, lambda batch: batch.way, lambda batch: batch.asked.value)
        if len(ways) < 2 or not set(ways) - set(gather.COPIES):
            continue
        answers.append(
            Answer(
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
                    "ways": {way: plain(batch.asked) for way, batch in ways.items()},
                },
                *ways.values(),
            )
        )
    return answers


def helped(machine: Machine) -> list[Answer]:
    """For each gather over neighbours' links how it stands to the same over one link."""
    return [
        Answer(
            {
                **_asked(shared),
                "way": shared.way,
                "memory": shared.word("memory") or "host_alloc",
                "neighbours": shared.number("neighbours"),
                "gb_s": plain(shared.asked),
                "alone_gb_s": plain(alone.asked),
                "over": plain(statistics.ratio(alone.time, shared.time)),
            },
            shared,
            alone,
        )
        for shared, alone in gather.helped(machine)
        if shared.asked and alone.asked
    ]


def bounded(machine: Machine) -> list[Answer]:
    """For each table and size of rows the way that asks least of one link, as the model has it."""
    found = gather.modelled(machine)
    link = traversal.one_link(found) if found else ""
    answers = []
    for there in grouped(
        sorted((batch for batch in found if batch.link == link), key=_table), _table
    ).values():
        best = min(there, key=lambda batch: batch.time.value)
        naive = [batch.time.value for batch in there if batch.way == "naive"]
        tied = [
            batch for batch in there if math.isclose(batch.time.value, best.time.value, rel_tol=SAME_TIME)
        ]
        answers.append(
            Answer(
                {
                    **_asked(best),
                    "link": link,
                    "way": best.way,
                    "tied": [batch.way for batch in tied if batch is not best],
                    "window": best.number("window") or None,
                    "time_s": best.time.value,
                    "requests_per_row": best.counter("requests_per_row"),
                    "over": {"naive": min(naive) / best.time.value} if naive and best.way != "naive" else {},
                },
                *tied,
            )
        )
    return answers


def _asked(batch: Gather) -> dict[str, Any]:
    """What is gathered, from where."""
    return {
        "row": batch.row,
        "span": batch.number("span"),
        "element": batch.number("element"),
        "indices": batch.word("indices"),
        "graph": batch.word("graph") or None,
    }


def _table(batch: Gather) -> tuple:
    return (
        batch.number("span"),
        batch.row,
        batch.word("indices"),
        batch.word("graph"),
        batch.number("element"),
    )


def copied(machine: Machine) -> list[Answer]:
    """For each table from which size of a row on a copy a row pays, and both rates at each size."""
    return [
        Answer(
            {
                "span": copies.copies[0].number("span"),
                "element": copies.copies[0].number("element"),
                "indices": copies.copies[0].word("indices"),
                "graph": copies.copies[0].word("graph") or None,
                "rows": copies.copies[0].number("rows") or None,
                "pays_from": plain(copies.pays_from),
                "spoken": copies.spoken,
                "sizes": [
                    {
                        "row": copy.row,
                        "gb_s": plain(copy.asked),
                        "kernel": kernel.way,
                        "kernel_gb_s": plain(kernel.asked),
                    }
                    for copy, kernel in zip(copies.copies, copies.kernels, strict=True)
                ],
            },
            *copies.copies,
            *copies.kernels,
        )
        for copies in gather.row_copies(machine)
    ]


def tiered(machine: Machine) -> list[Answer]:
    """For each training run the best score that is known beforehand."""
    scorings = gnn.scored(machine)
    answers = []
    for training in gnn.trainings(scorings):
        own = [scoring for scoring in scorings if scoring.training == training]
        best = gnn.best_score(own)
        if best is None:
            continue
        degree = next((scoring for scoring in own if scoring.score == "degree"), None)
        answers.append(
            Answer(
                {
                    "graph": training.graph,
                    "fanout": training.fanout,
                    "batch": training.batch,
                    "labelled": training.labelled or None,
                    "trained_on": training.trained_on,
                    "score": best.score,
                    "hits": {str(percent): best.hits(percent) for percent in gnn.PERCENTS},
                    "of_optimal": {str(percent): best.of_optimal(percent) for percent in gnn.PERCENTS},
                    "degree_hits": {
                        str(percent): degree and degree.hits(percent) for percent in gnn.PERCENTS
                    },
                    "time_s": plain(best.time),
                    "scores": {scoring.score: scoring.hits(10) for scoring in own},
                },
                *own,
            )
        )
    return answers


def edges(machine: Machine, family: str, axes: Sequence[str]) -> list[Answer]:
    """Edges a second of every way to sample or to reorder."""
    answers = []
    for row in machine_rows(machine, family):
        count = row.case_row.operations
        if count:
            named = {axis: row.word(axis) or None for axis in axes}
            rate = Estimate(
                *(count / value for value in (row.time.value, row.time.high, row.time.low)), row.time.visits
            )
            answers.append(Answer(named | {"time_s": plain(row.time), "edges_per_s": plain(rate)}, row))
    return answers


def shares_alone(machine: Machine) -> list[Answer]:
    """For each way and width of loads the fewest multiprocessors that are enough."""
    return [
        Answer(
            {
                "by": share.by,
                "width": share.number("width"),
                "asked_sms": share.asked_sms,
                "given_sms": share.given_sms,
                "share": share.percent and share.percent / 100,
                "gb_s": plain(share.gathered),
                "link_fraction": share.link_fraction,
            },
            share,
        )
        for share in gather.fewest(gather.alone(machine))
    ]


def split(machine: Machine) -> list[Answer]:
    """For each computation and way the split with the shortest mini-batch."""
    answers = []
    for there in grouped(gather.splits(machine), lambda share: (share.consumer, share.by)).values():
        best = min(there, key=lambda share: share.time.value)
        answers.append(
            Answer(
                {
                    "by": best.by,
                    "consumer": best.consumer,
                    "given_sms": best.given_sms,
                    "share": best.percent and best.percent / 100,
                    "time_s": plain(best.time),
                    "gather_slowdown": best.counter("gather_slowdown"),
                    "compute_slowdown": best.counter("compute_slowdown"),
                    "overlap": best.counter("pipeline_overlap"),
                },
                best,
            )
        )
    return answers


def trained(machine: Machine) -> list[Answer]:
    """For each training the fastest method, and how it stands to others where there are any."""
    answers = []
    for there in grouped(gnn.pipelines(machine), lambda pipeline: pipeline.work).values():
        ways = gnn.fastest(there)
        fed = [one for method, one in ways.items() if method != "device"]
        if not fed:
            continue
        best = min(fed, key=lambda one: one.time.value)
        work = best.work
        over = {base: ways[base] for base in (gnn.BASE, "naive", "device") if base in ways}
        answers.append(
            Answer(
                {
                    "graph": work.graph,
                    "fanout": work.fanout,
                    "batch": work.batch,
                    "row": work.row,
                    "hidden": work.hidden,
                    "gpus": work.gpus,
                    "method": best.method,
                    "hot": best.hot if best.method in ("tiered", "multi_gpu") else None,
                    "share": best.share and best.share / 100,
                    "time_s": plain(best.time),
                    "overlap": best.counter("overlap"),
                    "gpu_bytes": best.counter("gpu_bytes"),
                    "cpu_s": best.counter("cpu_s"),
                    "link_bytes": best.link_bytes,
                    "over": {base: statistics.ratio(one.time, best.time).value for base, one in over.items()},
                    "ways": {method: _pipeline(one) for method, one in ways.items()},
                },
                *ways.values(),
            )
        )
    return answers


def varied(machine: Machine) -> list[Answer]:
    """For each training in another way than its method's usual one how it stands to that."""
    return [
        Answer(
            {
                "graph": other.work.graph,
                "fanout": other.work.fanout,
                "batch": other.work.batch,
                "row": other.work.row,
                "hidden": other.work.hidden,
                "gpus": other.work.gpus,
                "method": other.method,
                "hot": other.hot or None,
                "variant": other.variant,
                "time_s": plain(other.time),
                "usual_s": plain(usual.time),
                "over": plain(gnn.over(other, usual)),
                "gpu_bytes": other.counter("gpu_bytes"),
            },
            other,
            usual,
        )
        for other, usual in gnn.variants(machine)
    ]


def paid(machine: Machine) -> list[Answer]:
    """For each tiered training: what its hot rows cost once, save each epoch, and when they pay."""
    return [
        Answer(
            {
                "graph": payback.tiered.work.graph,
                "fanout": payback.tiered.work.fanout,
                "batch": payback.tiered.work.batch,
                "row": payback.tiered.work.row,
                "hidden": payback.tiered.work.hidden,
                "gpus": payback.tiered.work.gpus,
                "mode": payback.tiered.word("mode"),
                "window": payback.tiered.number("window") or None,
                "hot": payback.tiered.hot,
                "epochs": payback.epochs,
                "epochs_between": list(payback.between),
                "cost_s": payback.cost_s,
                "parts_s": payback.parts,
                "saved_s": plain(payback.saved),
                "steps": payback.steps,
                "tiered_s": plain(payback.tiered.time),
                "mapped_s": plain(payback.mapped.time),
                "spoken": payback.spoken,
            },
            payback.tiered,
            payback.mapped,
            *payback.others,
        )
        for payback in gnn.paybacks(machine)
    ]


def _pipeline(pipeline: Pipeline) -> dict[str, Any]:
    names = (*gnn.STAGES, "p99_batch_s", "overlap", "gpu_bytes", "cpu_s")
    return {"time_s": plain(pipeline.time), **{name: pipeline.counter(name) for name in names}}


QUESTIONS: dict[str, Callable[[Machine], list[Answer]]] = {
    "gathers": gathered,
    "helped_gathers": helped,
    "modelled_gathers": bounded,
    "row_copies": copied,
    "tiers": tiered,
    "sampling": partial(edges, family=gnn.SAMPLING, axes=("graph", "fanout", "batch", "by", "placement")),
    "reordering": partial(edges, family=gnn.REORDER, axes=("graph", "lists", "score")),
    "shares": shares_alone,
    "splits": split,
    "training": trained,
    "training_variants": varied,
    "payback": paid,
}


TOP = "10"  # % of the rows
SAME_GATHER = (
    "row", "rows", "span", "indices", "graph", "fanout", "batch", "element", "width", "mode", "window",
)  # fmt: skip


def tiering(run: Analysis) -> list[str]:
    """The best score for each training, and what the hottest rows in the GPU's memory bring a gather."""
    said = []
    for answer in run.networks["tiers"]:
        hits, optimal = answer["hits"][TOP], answer["of_optimal"][TOP]
        if hits is None:
            continue
        best = f", {format_percent(optimal)} of what the best order could" if optimal is not None else ""
        score = gnn.SCORES.get(answer["score"], answer["score"])
        said.append(
            f"Of {answer['graph']} ({_sampled(answer)}, {answer['trained_on']}) the first {TOP} % "
            f"of the rows by {score} take {format_percent(hits)} of the accesses{best}"
        )
    return said + _tiered(gather.measured(run.machine))


def _tiered(gathers: Sequence[Gather]) -> list[str]:
    """How each gather with hot rows on the GPU stands to the same one without, by the share of them."""
    chosen_gathers = [row for row in gathers if "gpu" in row.case_row.case.site and row.asked]
    cold = {_same(row): row for row in chosen_gathers if row.store == "mapped"}
    hot = grouped(
        (batch for batch in chosen_gathers if batch.store == "tiered" and _same(batch) in cold),
        lambda batch: _same(batch),
    )
    sentences = []
    for same, own in hot.items():
        batch = own[0]
        own.sort(key=lambda each: each.number("hot"))
        percents = _listed([f"{each.number('hot'):g}" for each in own])
        times = _listed([f"{cold[same].time.value / each.time.value:.3g}" for each in own])
        window = f", window {batch.number('window'):g}" if batch.number("window") > 1 else ""
        sentences.append(
            f"With {percents} % of the rows in the GPU's memory a gather of {_indices(batch)} rows of "
            f"{batch.row:g} B ({gather.spoken(batch.way)}{window}) is {times} times as fast as with none"
        )
    return sentences


def _same(batch: Gather) -> tuple:
    """What is gathered and how, wherever the rows lie."""
    return tuple(batch.case_row.case.axes.get(axis) for axis in SAME_GATHER)


def _indices(batch: Gather) -> str:
    return f"{batch.word('graph')}'s" if batch.word("graph") else batch.word("indices")


def training(run: Analysis) -> list[str]:
    """For each training the fastest way to feed it whose rows are not all in the GPU."""
    sentences = []
    for answer in run.networks["training"]:
        hot = f" ({answer['hot']:g} % hot)" if answer["hot"] else ""
        gpus = f" on {answer['gpus']:g} GPUs" if answer["gpus"] > 1 else ""
        over = [
            f"{_times(answer, base)} {name}"
            for base, name in ((gnn.BASE, "with CPU gathers"), ("naive", "with naive zero-copy"),
                               ("device", "with all rows in the GPU"))
            if base in answer["over"] and base != answer["method"]
        ]  # fmt: skip
        step = format_time(answer["time_s"]["value"])
        alone = len(answer["ways"]) == 1
        fed = "was fed only by" if alone else "is fed fastest by"
        against = "" if alone else f", {_listed(over)}"
        sentences.append(
            f"GraphSAGE on {answer['graph']} ({_sampled(answer)}, hidden {answer['hidden']:g}), rows of "
            f"{answer['row']:g} B{gpus}, {fed} {gnn.spoken(answer['method'])}{hot}: {step} a "
            f"step{against}"
        )
    return sentences


def _times(answer: Answer, base: str) -> str:
    """How many times as fast as a base; just as fast where their intervals overlap."""
    own, other = answer["time_s"], answer["ways"][base]["time_s"]
    if own["low"] <= other["high"] and other["low"] <= own["high"]:
        return "as fast as"
    return f"{answer['over'][base]:.2f} times as fast as"


def shared(run: Analysis) -> list[str]:
    """The fewest multiprocessors for a gather alone, and the best split beside a computation."""
    sentences = []
    if alone := [answer for answer in run.networks["shares"] if answer["gb_s"]]:
        answer = min(alone, key=lambda each: (each["given_sms"], -each["gb_s"]["value"]))
        sentences.append(
            f"A gather alone needs {_sms(answer, gather.alone(run.machine))}, given by {_by(answer)}: "
            f"{answer['gb_s']['value']:.1f} GB/s with loads of {answer['width']:g} B"
        )
    if splits := [answer for answer in run.networks["splits"] if answer["given_sms"]]:
        answer = min(splits, key=lambda each: each["time_s"]["value"])
        slow = answer["compute_slowdown"]
        pays = f", the computation takes {slow:.2f} times as long as alone" if slow else ""
        sentences.append(
            f"Beside a computation both end soonest with {_sms(answer, gather.splits(run.machine))} for the "
            f"gather, by {_by(answer)} ({format_time(answer['time_s']['value'])}{pays})"
        )
    return sentences


def _sms(answer: Answer, tried: Sequence[Share]) -> str:
    """`8 multiprocessors (6.1 %, the fewest tried)`: fewer might do as well."""
    least = min((other.given_sms for other in tried if other.given_sms), default=0.0)
    said = [format_percent(answer["share"])] if answer["share"] else []
    said += ["the fewest tried"] if answer["given_sms"] <= least else []
    return f"{answer['given_sms']:g} multiprocessors" + (f" ({', '.join(said)})" if said else "")


def _by(answer: Answer) -> str:
    return gather.BY.get(answer["by"], answer["by"])


def _sampled(answer: Answer) -> str:
    return f"{str(answer['fanout'] or '').replace('x', '×')}, batch {answer['batch']:g}"


def _listed(parts: Sequence[str]) -> str:
    if not parts:
        return "nothing to hold it against"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def hot_rows(run: Analysis) -> list[str]:
    """A sentence for each training: the share of hot rows that pays first."""
    works = grouped(
        gnn.paybacks(run.machine), lambda payback: (payback.tiered.work, payback.tiered.word("mode"))
    )
    return [_hot_rows(there) for there in works.values()]


def _hot_rows(paybacks: Sequence[Payback]) -> str:
    paying = [payback for payback in paybacks if payback.epochs is not None]
    one = min(paying, key=lambda each: each.epochs) if paying else paybacks[0]
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
