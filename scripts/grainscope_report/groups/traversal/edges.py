"""Figure 17: edges of 4 bytes against edges of 8 by algorithm, graph and access (dissertation 2.13)."""

from collections.abc import Sequence
from dataclasses import replace

from grainscope_report.figures import columns, parts
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Figure, Level, exact
from grainscope_report.figures.series import in_order
from grainscope_report.groups.traversal import compare, runs
from grainscope_report.groups.traversal.runs import PAPER_WEIGHTS, Run
from grainscope_report.machine import Machine
from grainscope_report.papers import DISSERTATION, paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_time

WIDE, NARROW = 8, 4
HEIGHT = 1.6
PLACEMENTS = ("mapped", "")
# The run with 8-byte edges, and the same with 4-byte ones.
Pair = tuple[Run, Run]


def build(machines: Sequence[Machine]) -> Figure:
    """Measured panels, then the model's for one link, then the papers' mean beside ours."""
    here = _pairs([run for machine in machines for run in runs.measured(machine)])
    every = [run for machine in machines for run in runs.modelled(machine)]
    link = compare.one_link(every) if every else ""
    model = _pairs(_first_file([run for run in every if run.link == link]))
    if not here and not model:
        return Figure(machines, ())
    graphs = runs.graphs([pair[0] for pair in [*here, *model]], max(1, 5 // len(machines)))
    rows = columns.arranged([*_panels(here, graphs, False), *_panels(model, graphs, True)])
    rows.append((_means(here, model, graphs),))
    notes = ["Speedup: time with 8-byte edges over time with 4-byte edges; upright: both times."]
    if here:
        notes.append(
            "Measured: median of the ratios of the same trials (whiskers of fewer than 8 span all of them); "
            "zero-copy, original order of vertices."
        )
    if model:
        notes.append(f"Modelled: bounds over {compare.link_name(link)}.")
    notes.append("Weights of sssp have 4 bytes with either, so it gains less.")
    shown = set(graphs)
    more = [graph for graph in runs.graphs([one for one, _ in [*here, *model]]) if graph not in shown]
    notes += [f"Not drawn: smaller graphs: {', '.join(more)}."] if more else []
    notes += parts.first_sites(machines, "traversal/bfs", "Measured")
    return Figure(machines, tuple(rows), tuple(notes))


def _first_file(there: Sequence[Run]) -> list[Run]:
    """The model's rows of the first file that has any: they are the same in all, but for the own link."""
    first = min((run.machine.index for run in there), default=0)
    return [run for run in there if run.machine.index == first]


def _pairs(there: Sequence[Run]) -> list[Pair]:
    """Runs with 8-byte edges and the same with 4-byte ones."""
    kept = [run for run in there if run.placement in PLACEMENTS and run.order == "original"]
    weights = {run.work.weights for run in kept} - {""}
    chosen = {"", PAPER_WEIGHTS if PAPER_WEIGHTS in weights else min(weights, default="")}
    narrow = {_key(run): run for run in kept if run.work.edge == NARROW and run.work.weights in chosen}
    return [(run, narrow[_key(run)]) for run in kept if run.work.edge == WIDE and _key(run) in narrow]


def _key(run: Run) -> tuple:
    return run.machine.index, replace(run.work, edge=0), run.access, run.link


def _panels(pairs: Sequence[Pair], graphs: Sequence[str], hatched: bool) -> list[BarPanel]:
    found = []
    for algorithm in runs.algorithms([one for one, _ in pairs]):
        own = [pair for pair in pairs if pair[0].work.algorithm == algorithm and pair[0].work.graph in graphs]
        if own:
            found.append(_panel(algorithm, own, hatched))
    return found


def _panel(algorithm: str, pairs: Sequence[Pair], hatched: bool) -> BarPanel:
    machines = list({one.machine.index: one.machine for one, _ in pairs}.values())
    shown = columns.columns(machines, runs.graphs([one for one, _ in pairs]))
    by_place = {((one.work.graph, one.machine.index), one.access): (one, two) for one, two in pairs}
    label = "modelled" if hatched else "measured"
    series = tuple(
        BarSeries(
            runs.spoken(access),
            access,
            tuple(_bar(by_place.get((column.key, access)), column.machine) for column in shown),
            label=label,
            hatched=hatched,
        )
        for access in in_order({one.access for one, _ in pairs}, runs.ACCESSES)
    )
    names, groups = columns.headings(shown)
    look = {"levels": (Level("even", "", 1.0),), "groups": groups, "upright": True, "height": HEIGHT}
    return BarPanel(f"{algorithm} ({label})", names, series, "speedup of 4 B over 8 B", "ratio", **look)


def _bar(pair: Pair | None, machine: Machine) -> Bar:
    if pair is None:
        return Bar(None, machine=machine)
    one, two = pair
    before, after = format_time(one.time.value), format_time(two.time.value)
    unit = after.rpartition(" ")[2]
    text = f"{before.removesuffix(f' {unit}')} → {after}"
    return Bar(compare.speedup(one, two), text, note=f"{before} → {after}", machine=machine)


def _means(here: Sequence[Pair], model: Sequence[Pair], graphs: Sequence[str]) -> BarPanel:
    """Geometric means over all applications and of cc alone, of the merged and aligned access."""
    names = ("all\napplications", "cc")
    series = []
    for name, pairs, hatched in (("measured", here, False), ("modelled", model, True)):
        aligned = [pair for pair in pairs if pair[0].access == "merged_aligned"]
        chosen = [pair for pair in aligned if pair[0].work.graph in graphs]
        bars = (_mean(chosen), _mean([pair for pair in chosen if pair[0].work.algorithm == "cc"]))
        if any(bar.value for bar in bars):
            series.append(BarSeries(name, "traffic", bars, label=name, hatched=hatched))
    source = paper(DISSERTATION)
    mean, nearly = source["edge_4_over_8"], source["edge_4_over_8_cc_gk"]
    bars = (Bar(exact(mean.value), f"{mean.value:g}"), Bar(exact(nearly.value), "GK, ML: nearly 2"))
    cited = f"{source.name}, {mean.source}"
    series.append(BarSeries(source.name, "paper", bars, label="paper", source=cited))
    title = f"means of aligned; {source.name}: V100"
    look = {"levels": (Level("even", "", 1.0),), "upright": True, "height": HEIGHT}
    return BarPanel(title, names, tuple(series), "speedup of 4 B over 8 B", "ratio", **look)


def _mean(pairs: Sequence[Pair]) -> Bar:
    ratios: list[Estimate] = [compare.speedup(one, two) for one, two in pairs]
    if not ratios:
        return Bar(None, "no rows")
    mean = compare.geometric_mean(ratios)
    return Bar(mean, f"{mean.value:.2f}", note=f"geometric mean of {len(ratios)}")


FIGURES = (
    Entry(
        "17",
        "figure_17_edges",
        "Edges of 4 bytes against edges of 8",
        runs.FAMILIES,
        "pairs of rows with edge 8 and 4",
        build,
    ),
)
