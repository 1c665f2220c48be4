"""Traversals over links, modelled and measured (figure 16), and edges of 4 bytes against edges of 8
(figure 17).
"""

from collections.abc import Sequence
from dataclasses import replace

from grainscope_report.figures import parts
from grainscope_report.figures.frame import in_order
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Entry, Figure, Level, exact
from grainscope_report.groups import traversal
from grainscope_report.groups.traversal import PAPER_WEIGHTS, Run, Work
from grainscope_report.groups.traversal_speedup import left_out_graphs
from grainscope_report.machine import Machine
from grainscope_report.resources import DISSERTATION, EMOGI, paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_time

ACCESS = "merged_aligned"
SLOW, FAST = "pcie3x16", "pcie4x16"
HEIGHT = 1.6
MOST_BARS = 54
# Counters that tell how much was done, the first that all runs of an application have: axis and unit.
MEASURES = {
    "teps": ("10⁹ traversed edges a second", "GTEPS"),
    "edges_read": ("10⁹ edges read a second", "G/s"),
}


def build_links(machines: Sequence[Machine]) -> Figure:
    """Traversed edges a second by application and graph: a hatched bar a link, a plain one a machine."""
    here = [run for machine in machines for run in traversal.measured(machine) if run.placement == "mapped"]
    here = _chosen([run for run in here if run.order == "original"])
    model = _chosen(_once([run for machine in machines for run in traversal.modelled(machine)]))
    links = in_order({run.link for run in model}, traversal.LINKS)
    series = [*(_Series.of_link(link, order, links, model) for order, link in enumerate(links))]
    series += [_Series.of_machine(machine, machines, here) for machine in machines]
    series = [one for one in series if one.runs]
    if not series:
        return Figure(machines, ())
    every = [run for one in series for run in one.runs.values()]
    graphs = traversal.graphs(every, max(1, MOST_BARS // len(series)))
    panels = [_panel(algorithm, graphs, series) for algorithm in traversal.algorithms(every)]
    rows = traversal.arranged(panel for panel in panels if panel.series)
    scaling = _scaling(machines, model)
    if scaling:
        rows.append((scaling,))
    notes = [
        "Traversed edges: those of the reached part, each undirected edge once; a model's by the time "
        "of its link. Edges read: those of every sweep, of which graphs need more or fewer. Upright: "
        "seconds, of a machine the median over trials, and what cut bars reach.",
        f"{_what(every)}, original order of vertices.",
        *left_out_graphs(every, graphs),
        *parts.first_sites(machines, "traversal/bfs", "Measured"),
    ]
    return Figure(machines, tuple(rows), tuple(notes))


def _chosen(runs: Sequence[Run]) -> list[Run]:
    """The runs of the merged and aligned access, with the paper's edges, of graphs whose size is known."""
    usable = [run for run in traversal.like_the_paper(runs) if run.counter("teps") or run.entries]
    return [run for run in usable if run.access == ACCESS]


def _once(runs: Sequence[Run]) -> list[Run]:
    """A named link is the same in every file; this machine's own is each file's."""
    found: dict[tuple, Run] = {}
    for run in runs:
        own = run.machine.index if run.link == traversal.HERE else -1
        found.setdefault((run.work, run.access, run.link, own), run)
    return list(found.values())


def _what(runs: Sequence[Run]) -> str:
    edges = sorted({run.work.edge for run in runs}, reverse=True)
    weights = sorted({run.work.weights for run in runs} - {""})
    said = f"Zero-copy, merged and aligned; {' and '.join(map(str, edges))}-byte edges"
    return f"{said}, weights {' and '.join(weights)}" if weights else said


class _Series:
    """The runs of a link or of a machine, by algorithm and graph."""

    def __init__(
        self, name: str, method: str, runs: Sequence[Run], hatched: bool, machine: Machine | None
    ) -> None:
        self.name, self.method, self.hatched, self.machine = name, method, hatched, machine
        self.runs: dict[tuple[str, str], Run] = {(run.work.algorithm, run.work.graph): run for run in runs}

    @classmethod
    def of_link(cls, link: str, order: int, links: Sequence[str], model: Sequence[Run]) -> "_Series":
        """What the model says of a link."""
        own = [run for run in model if run.link == link]
        return cls(f"{traversal.link_name(link)}, modelled", f"link {order} of {len(links)}", own, True, None)

    @classmethod
    def of_machine(cls, machine: Machine, machines: Sequence[Machine], here: Sequence[Run]) -> "_Series":
        """What a machine measured."""
        own = [run for run in here if run.machine.index == machine.index]
        link = own and machine.result.link(own[0].row.case.ends)
        over = link.negotiated if link and link.negotiated else "its link"
        owner = parts.owner(machine, len(machines) > 1)
        return cls(f"{owner}measured, {over}", ACCESS, own, False, machine)


def _panel(algorithm: str, graphs: Sequence[str], series: Sequence[_Series]) -> BarPanel:
    own = [graph for graph in graphs if any((algorithm, graph) in one.runs for one in series)]
    every = [run for one in series for (name, _), run in one.runs.items() if name == algorithm]
    # Sweeps until values settle differ from graph to graph: of pr the edges of all of them count.
    measure = next((one for one in MEASURES if all(run.counter(one) for run in every)), "")
    drawn = []
    for one in series:
        bars = tuple(_bar(one.runs.get((algorithm, graph)), measure) for graph in own)
        if any(bar.value for bar in bars):
            label = "modelled" if one.hatched else "measured"
            drawn.append(BarSeries(one.name, one.method, bars, one.machine, label=label, hatched=one.hatched))
    drawn, top = traversal.cut_far(drawn)
    look = {"upright": True, "height": HEIGHT, "y_top": top}
    label, unit = MEASURES.get(measure, ("10⁹ entries of the graph ÷ time", "G/s"))
    return BarPanel(algorithm, tuple(own), tuple(drawn), label, unit, **look)


def _bar(run: Run | None, measure: str) -> Bar:
    """The rate of a run: TEPS or edges read where all have them, else the graph's entries over the time."""
    if run is None or not (measure or run.entries):
        return Bar(None)
    count = run.counter(measure) if measure else run.entries
    rate = count if measure == "teps" else count / run.time.value
    return Bar(exact(rate / 1e9), format_time(run.time.value))


def _scaling(machines: Sequence[Machine], model: Sequence[Run]) -> BarPanel | None:
    """What a link twice as fast brings, modelled: accesses over the link, managed memory; the papers'."""
    paged = [run for machine in machines for run in traversal.like_the_paper(traversal.paged(machine))]
    pressed = [run for link in (SLOW, FAST) for run in traversal.under_pressure(paged, link)]
    ours = [_gain(model), _gain(pressed)]
    if not any(bar.value for bar in ours):
        return None
    series = [BarSeries("modelled", "traffic", tuple(ours), label="modelled", hatched=True)]
    for name in (EMOGI, DISSERTATION):
        source = paper(name)
        numbers = [source["scaling_emogi_pcie_4"], source["scaling_uvm_pcie_4"]]
        bars = tuple(Bar(exact(one.value), f"{source.name}: {one.value:g}") for one in numbers)
        cited = "; ".join(dict.fromkeys(one.source for one in numbers))
        series.append(BarSeries(source.name, "paper", bars, label="paper", source=f"{source.name}, {cited}"))
    return BarPanel(
        "PCIe 4 over PCIe 3, geometric mean; the papers': A100, mean",
        ("zero-copy,\naligned", "managed,\nunder pressure"),
        tuple(series),
        "times as fast",
        "ratio",
        upright=True,
        height=HEIGHT,
    )


def _gain(runs: Sequence[Run]) -> Bar:
    """The geometric mean over works of how much faster the faster link is."""
    by_link: dict[str, dict[Work, Run]] = {link: {} for link in (SLOW, FAST)}
    for run in runs:
        by_link.get(run.link, {}).setdefault(run.work, run)
    slow, fast = by_link[SLOW], by_link[FAST]
    ratios = [traversal.speedup(slow[work], fast[work]) for work in slow.keys() & fast.keys()]
    if not ratios:
        return Bar(None, "no rows")
    mean = traversal.geometric_mean(ratios)
    return Bar(mean, f"ours: {mean.value:.2f}", note=f"geometric mean of {len(ratios)}")


WIDE, NARROW = 8, 4
PLACEMENTS = ("mapped", "")
# The run with 8-byte edges, and the same with 4-byte ones.
Pair = tuple[Run, Run]


def build_edges(machines: Sequence[Machine]) -> Figure:
    """Measured panels, then the model's for one link, then the papers' mean beside ours."""
    here = _pairs([run for machine in machines for run in traversal.measured(machine)])
    every = [run for machine in machines for run in traversal.modelled(machine)]
    link = traversal.one_link(every) if every else ""
    model = _pairs(_first_file([run for run in every if run.link == link]))
    if not here and not model:
        return Figure(machines, ())
    graphs = traversal.graphs([pair[0] for pair in [*here, *model]], max(1, 5 // len(machines)))
    rows = traversal.arranged([*_panels(here, graphs, False), *_panels(model, graphs, True)])
    rows.append((_means(here, model, graphs),))
    notes = ["Speedup: time with 8-byte edges over time with 4-byte edges; upright: both times."]
    if here:
        notes.append(
            "Measured: median of the ratios of the same trials (whiskers of fewer than 8 span all of them); "
            "zero-copy, original order of vertices."
        )
    if model:
        notes.append(f"Modelled: bounds over {traversal.link_name(link)}.")
    notes.append("Weights of sssp have 4 bytes with either, so it gains less.")
    shown = set(graphs)
    more = [graph for graph in traversal.graphs([one for one, _ in [*here, *model]]) if graph not in shown]
    notes += [f"Not drawn: smaller graphs: {', '.join(more)}."] if more else []
    notes += parts.first_sites(machines, "traversal/bfs", "Measured")
    return Figure(machines, tuple(rows), tuple(notes))


def _first_file(runs: Sequence[Run]) -> list[Run]:
    """The model's rows of the first file that has any: they are the same in all, but for the own link."""
    first = min((run.machine.index for run in runs), default=0)
    return [run for run in runs if run.machine.index == first]


def _pairs(runs: Sequence[Run]) -> list[Pair]:
    """Runs with 8-byte edges and the same with 4-byte ones."""
    kept = [run for run in runs if run.placement in PLACEMENTS and run.order == "original"]
    weights = {run.work.weights for run in kept} - {""}
    chosen = {"", PAPER_WEIGHTS if PAPER_WEIGHTS in weights else min(weights, default="")}
    narrow = {_key(run): run for run in kept if run.work.edge == NARROW and run.work.weights in chosen}
    return [(run, narrow[_key(run)]) for run in kept if run.work.edge == WIDE and _key(run) in narrow]


def _key(run: Run) -> tuple:
    return run.machine.index, replace(run.work, edge=0), run.access, run.link


def _panels(pairs: Sequence[Pair], graphs: Sequence[str], hatched: bool) -> list[BarPanel]:
    panels = []
    for algorithm in traversal.algorithms([one for one, _ in pairs]):
        own = [pair for pair in pairs if pair[0].work.algorithm == algorithm and pair[0].work.graph in graphs]
        if own:
            panels.append(_edge_panel(algorithm, own, hatched))
    return panels


def _edge_panel(algorithm: str, pairs: Sequence[Pair], hatched: bool) -> BarPanel:
    machines = list({one.machine.index: one.machine for one, _ in pairs}.values())
    shown = traversal.columns(machines, traversal.graphs([one for one, _ in pairs]))
    by_place = {((one.work.graph, one.machine.index), one.access): (one, two) for one, two in pairs}
    label = "modelled" if hatched else "measured"
    series = tuple(
        BarSeries(
            traversal.spoken(access),
            access,
            tuple(_edge_bar(by_place.get((column.key, access)), column.machine) for column in shown),
            label=label,
            hatched=hatched,
        )
        for access in in_order({one.access for one, _ in pairs}, traversal.ACCESSES)
    )
    names, groups = traversal.headings(shown)
    look = {"levels": (Level("even", "", 1.0),), "groups": groups, "upright": True, "height": HEIGHT}
    return BarPanel(f"{algorithm} ({label})", names, series, "speedup of 4 B over 8 B", "ratio", **look)


def _edge_bar(pair: Pair | None, machine: Machine) -> Bar:
    if pair is None:
        return Bar(None, machine=machine)
    one, two = pair
    before, after = format_time(one.time.value), format_time(two.time.value)
    unit = after.rpartition(" ")[2]
    text = f"{before.removesuffix(f' {unit}')} → {after}"
    return Bar(traversal.speedup(one, two), text, note=f"{before} → {after}", machine=machine)


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
    ratios: list[Estimate] = [traversal.speedup(one, two) for one, two in pairs]
    if not ratios:
        return Bar(None, "no rows")
    mean = traversal.geometric_mean(ratios)
    return Bar(mean, f"{mean.value:.2f}", note=f"geometric mean of {len(ratios)}")


FIGURES = (
    Entry("16", "figure_16_links", "Graph traversal over links, modelled and measured", traversal.FAMILIES,
          "rows with access merged_aligned", build_links),
    Entry("17", "figure_17_edges", "Edges of 4 bytes against edges of 8", traversal.FAMILIES,
          "pairs of rows with edge 8 and 4", build_edges),
)  # fmt: skip
