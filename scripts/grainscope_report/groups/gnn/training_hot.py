"""Figure 12, tiers: what rows in the GPU's memory save of the bytes over the link and of the time."""

from collections.abc import Sequence

from grainscope_report import statistics
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, exact
from grainscope_report.groups.gather import gathers
from grainscope_report.groups.gather.gathers import Gather
from grainscope_report.groups.gnn import pipelines
from grainscope_report.groups.gnn.pipelines import Pipeline
from grainscope_report.machine import Machine

HEIGHT = 1.6
FEWEST = 2
# Without hot rows, the way that walks as the tiered one does, else another zero-copy one.
COLD = ("masked", "address_ordered", "circular_shift", "naive")
SAVED = "saved (%)"


NOTES = (
    "Saved: of the bytes over the link and of the time with none of the rows in the GPU's memory.",
    "The dissertation's “further reduce the training time by 42 %” may be of all or of what 5 % left.",
)


def panel(machine: Machine, found: Sequence[Pipeline], owner: str) -> BarPanel | None:
    """Bars by hot share of training, else of gathers of a sampled trace alone."""
    pair = _training(found) or _gathers(machine)
    if pair is None:
        return None
    bars, where = pair
    hot = sorted({percent for _, _, values in bars for percent in values})
    names = tuple(f"{percent:g} %" for percent in hot)
    series = tuple(
        BarSeries(name, method, tuple(_bar(values.get(percent), machine) for percent in hot))
        for name, method, values in bars
    )
    title = f"{owner}by share of hot rows in the GPU's memory: {where}"
    return BarPanel(title, names, series, SAVED, "%", upright=True, height=HEIGHT)


def _saved(left: statistics.Estimate) -> statistics.Estimate:
    """Percent that are saved where a share is left."""
    ends = (100 * (1 - share) for share in (left.value, left.high, left.low))
    return statistics.Estimate(*ends, left.visits)


def _bar(value: statistics.Estimate | None, machine: Machine) -> Bar:
    return Bar(value, f"{value.value:.3g}" if value else "", machine=machine)


Series = list[tuple[str, str, dict[float, statistics.Estimate]]]


def _training(found: Sequence[Pipeline]) -> tuple[Series, str] | None:
    kinds: dict = {}
    for one in found:
        if one.method == "tiered":
            kinds.setdefault(one.work, []).append(one)
    for work, every in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        ways = pipelines.fastest([one for one in found if one.work == work])
        mode = max({one.word("mode") for one in every}, key=lambda mode: _count(every, mode))
        tiered = [one for one in every if one.word("mode") == mode]
        cold = next((ways[method] for method in (mode, *COLD) if method in ways), None)
        if cold is None or len(tiered) < FEWEST:
            continue
        crossed = {
            one.hot: _saved(exact(one.link_bytes / cold.link_bytes))
            for one in tiered
            if one.link_bytes is not None and cold.link_bytes
        }
        times = {one.hot: _saved(statistics.ratio(one.time, cold.time)) for one in tiered}
        bars = [("bytes over the link", "link_left", crossed), ("time of a step", "pipelined", times)]
        return [one for one in bars if one[2]], f"training on {work.graph}"
    return None


def _count(found: Sequence[Pipeline], mode: str) -> tuple[int, str]:
    return sum(one.word("mode") == mode for one in found), mode


def _gathers(machine: Machine) -> tuple[Series, str] | None:
    """Gathers of the mini-batches of an epoch by the masked walk, of one graph and size of rows."""
    kinds: dict[tuple, list[Gather]] = {}
    for one in gathers.measured(machine):
        if (
            one.word("indices") == "sampled"
            and one.word("mode") == "masked"
            and one.store in ("tiered", "mapped")
        ):
            key = one.word("graph"), one.word("fanout"), one.number("batch"), one.row, one.number("width")
            kinds.setdefault(key, []).append(one)
    for key, there in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        cold = next((one for one in there if one.store == "mapped"), None)
        tiered = [one for one in there if one.store == "tiered"]
        size = cold.case_row.link_bytes_least if cold else None
        if not tiered or not size:
            continue
        crossed = {
            one.number("hot"): _saved(exact((one.case_row.link_bytes_least or 0) / size)) for one in tiered
        }
        times = {one.number("hot"): _saved(statistics.ratio(one.time, cold.time)) for one in tiered}
        bars = [("bytes over the link", "link_left", crossed), ("time of a gather", "pipelined", times)]
        return bars, f"gathers alone, {key[0]}, rows of {key[3]:g} B"
    return None
