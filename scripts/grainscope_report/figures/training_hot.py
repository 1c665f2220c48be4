"""Figure 12, tiers: what is left of the link's bytes and of the time with hot rows in the GPU's memory."""

from collections.abc import Sequence

from grainscope_report import statistics
from grainscope_report.figures.columns import exact
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Level
from grainscope_report.gnn import gathers, pipelines
from grainscope_report.gnn.gathers import Gather
from grainscope_report.gnn.pipelines import Pipeline
from grainscope_report.machine import Machine

HEIGHT = 1.6
FEWEST = 2
# Without hot rows, the way that walks as the tiered one does, else another zero-copy one.
COLD = ("masked", "address_ordered", "circular_shift", "naive")
LEFT = "left, of none hot (%)"


NOTES = (
    "Hot rows: bytes over the link and time with none in the GPU's memory are 100 %.",
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
    title = f"{owner}by hot rows in the GPU's memory: {where}"
    levels = (Level("even", "", 100.0),)
    return BarPanel(title, names, series, LEFT, "%", levels=levels, upright=True, height=HEIGHT)


def _bar(value: statistics.Estimate | None, machine: Machine) -> Bar:
    return Bar(value, f"{value.value:.3g}" if value else "", machine=machine)


Series = list[tuple[str, str, dict[float, statistics.Estimate]]]


def _training(found: Sequence[Pipeline]) -> tuple[Series, str] | None:
    kinds: dict = {}
    for one in found:
        if one.method == "tiered":
            kinds.setdefault(one.work, []).append(one)
    for work, tiered in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        ways = pipelines.fastest([one for one in found if one.work == work])
        cold = next((ways[method] for method in COLD if method in ways), None)
        if cold is None or len(tiered) < FEWEST:
            continue
        crossed = {
            one.hot: exact(100 * one.link_bytes / cold.link_bytes)
            for one in tiered
            if one.link_bytes is not None and cold.link_bytes
        }
        times = {one.hot: statistics.ratio(one.time, cold.time).scaled(100) for one in tiered}
        bars = [("bytes over the link", "link_left", crossed), ("time of a mini-batch", "pipelined", times)]
        return [one for one in bars if one[2]], f"training on {work.graph}"
    return None


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
        size = cold.rows[0].link_bytes if cold else None
        if not tiered or not size:
            continue
        crossed = {one.number("hot"): exact(100 * (one.rows[0].link_bytes or 0) / size) for one in tiered}
        times = {one.number("hot"): statistics.ratio(one.time, cold.time).scaled(100) for one in tiered}
        bars = [("bytes over the link", "link_left", crossed), ("time of a gather", "pipelined", times)]
        return bars, f"gathers alone, {key[0]}, rows of {key[3]:g} B"
    return None
