"""What graph neural networks' rows come to in sentences: tiers, ways to feed a training, shares of a GPU, and
whether hot rows in GPU memory pay for finding and bringing them.
"""

from collections import defaultdict
from collections.abc import Sequence

from grainscope_report.analysis import Analysis
from grainscope_report.groups.gather import gathers, shares
from grainscope_report.groups.gather.gathers import Gather
from grainscope_report.groups.gather.shares import Share
from grainscope_report.groups.gnn import payback, pipelines, tiers
from grainscope_report.groups.gnn.answers import Answer
from grainscope_report.groups.gnn.payback import Payback
from grainscope_report.units import format_percent, format_time

TOP = "10"  # % of the rows
SAME = (
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
        score = tiers.SCORES.get(one["score"], one["score"])
        said.append(
            f"Of {one['graph']} ({_sampled(one)}, {one['labelled']:g} % labelled) the first {TOP} % of the "
            f"rows by {score} take {format_percent(hits)} of the accesses{best}"
        )
    return said + _tiered(gathers.measured(run.machine))


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
            f"{one.row:g} B ({gathers.spoken(one.way)}{window}) is {times} times as fast as with none"
        )
    return said


def _same(one: Gather) -> tuple:
    """What is gathered and how, wherever the rows lie."""
    return tuple(one.case_row.case.axes.get(axis) for axis in SAME)


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
            for base, name in ((pipelines.BASE, "with CPU gathers"), ("naive", "with naive zero-copy"),
                               ("device", "with all rows in the GPU"))
            if base in one["over"] and base != one["method"]
        ]  # fmt: skip
        step = format_time(one["time_s"]["value"])
        alone = len(one["ways"]) == 1
        fed = "was fed only by" if alone else "is fed fastest by"
        against = "" if alone else f", {_listed(over)}"
        said.append(
            f"GraphSAGE on {one['graph']} ({_sampled(one)}, hidden {one['hidden']:g}), rows of "
            f"{one['row']:g} B{gpus}, {fed} {pipelines.spoken(one['method'])}{hot}: {step} a "
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
            f"A gather alone needs {_sms(one, shares.alone(run.machine))}, given by {_by(one)}: "
            f"{one['gb_s']['value']:.1f} GB/s with loads of {one['width']:g} B"
        )
    if splits := [one for one in run.networks["splits"] if one["given_sms"]]:
        one = min(splits, key=lambda each: each["time_s"]["value"])
        slow = one["compute_slowdown"]
        pays = f", the computation takes {slow:.2f} times as long as alone" if slow else ""
        said.append(
            f"Beside a computation both end soonest with {_sms(one, shares.splits(run.machine))} for the "
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
    return shares.BY.get(one["by"], one["by"])


def _sampled(one: Answer) -> str:
    return f"{str(one['fanout'] or '').replace('x', '×')}, batch {one['batch']:g}"


def _listed(parts: Sequence[str]) -> str:
    if not parts:
        return "nothing to hold it against"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def hot_rows(run: Analysis) -> list[str]:
    """A sentence for each training: the share of hot rows that pays first."""
    works: dict[tuple, list[Payback]] = {}
    for one in payback.paybacks(run.machine):
        works.setdefault((one.tiered.work, one.tiered.word("mode")), []).append(one)
    return [_hot_rows(there) for there in works.values()]


def _hot_rows(there: Sequence[Payback]) -> str:
    paying = [one for one in there if one.epochs is not None]
    one = min(paying, key=lambda each: each.epochs) if paying else there[0]
    work, way = one.tiered.work, gathers.spoken(one.tiered.word("mode"))
    gpus = f" on {work.gpus:g} GPUs" if work.gpus > 1 else ""
    what = f"{work.spoken}, rows of {work.row:g} B{gpus}, {way}"
    if one.epochs is None:
        return f"{what}: a step is no shorter with hot rows in GPU memory, so they never pay"
    parts = ", ".join(f"{payback.PARTS[name]} {format_time(value)}" for name, value in one.parts.items())
    return (
        f"{what}: {one.tiered.hot:g} % of the rows in GPU memory pay {one.spoken} ({parts}; an epoch saves "
        f"{format_time(one.saved.value)})"
    )
