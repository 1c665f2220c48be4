"""Figure 16: each application over each link, modelled, and measured on the machines there are (EMOGI 12)."""

from collections.abc import Sequence

from grainscope_report.figures import columns, parts
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Figure, exact
from grainscope_report.figures.series import in_order
from grainscope_report.groups.traversal import compare, runs
from grainscope_report.groups.traversal.runs import Run, Work
from grainscope_report.groups.traversal.speedup import left_out_graphs
from grainscope_report.machine import Machine
from grainscope_report.papers import DISSERTATION, EMOGI, paper
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


def build(machines: Sequence[Machine]) -> Figure:
    """Traversed edges a second by application and graph: a hatched bar a link, a plain one a machine."""
    here = [run for machine in machines for run in runs.measured(machine) if run.placement == "mapped"]
    here = _chosen([run for run in here if run.order == "original"])
    model = _chosen(_once([run for machine in machines for run in runs.modelled(machine)]))
    links = in_order({run.link for run in model}, runs.LINKS)
    series = [*(_Series.of_link(link, order, links, model) for order, link in enumerate(links))]
    series += [_Series.of_machine(machine, machines, here) for machine in machines]
    series = [one for one in series if one.runs]
    if not series:
        return Figure(machines, ())
    every = [run for one in series for run in one.runs.values()]
    graphs = runs.graphs(every, max(1, MOST_BARS // len(series)))
    panels = [_panel(algorithm, graphs, series) for algorithm in runs.algorithms(every)]
    rows = columns.arranged(panel for panel in panels if panel.series)
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


def _chosen(there: Sequence[Run]) -> list[Run]:
    """The runs of the merged and aligned access, with the paper's edges, of graphs whose size is known."""
    usable = [run for run in runs.like_the_paper(there) if run.counter("teps") or run.entries]
    return [run for run in usable if run.access == ACCESS]


def _once(there: Sequence[Run]) -> list[Run]:
    """A named link is the same in every file; this machine's own is each file's."""
    found: dict[tuple, Run] = {}
    for run in there:
        own = run.machine.index if run.link == runs.HERE else -1
        found.setdefault((run.work, run.access, run.link, own), run)
    return list(found.values())


def _what(there: Sequence[Run]) -> str:
    edges = sorted({run.work.edge for run in there}, reverse=True)
    weights = sorted({run.work.weights for run in there} - {""})
    said = f"Zero-copy, merged and aligned; {' and '.join(map(str, edges))}-byte edges"
    return f"{said}, weights {' and '.join(weights)}" if weights else said


class _Series:
    """The runs of a link or of a machine, by algorithm and graph."""

    def __init__(
        self, name: str, method: str, there: Sequence[Run], hatched: bool, machine: Machine | None
    ) -> None:
        self.name, self.method, self.hatched, self.machine = name, method, hatched, machine
        self.runs: dict[tuple[str, str], Run] = {(run.work.algorithm, run.work.graph): run for run in there}

    @classmethod
    def of_link(cls, link: str, order: int, links: Sequence[str], model: Sequence[Run]) -> "_Series":
        """What the model says of a link."""
        own = [run for run in model if run.link == link]
        return cls(f"{compare.link_name(link)}, modelled", f"link {order} of {len(links)}", own, True, None)

    @classmethod
    def of_machine(cls, machine: Machine, machines: Sequence[Machine], here: Sequence[Run]) -> "_Series":
        """What a machine measured."""
        own = [run for run in here if run.machine.index == machine.index]
        link = own and machine.result.link(own[0].row.case.ends)
        over = link.negotiated if link and link.negotiated else "its link"
        owner = f"{machine.letter}: " if len(machines) > 1 else ""
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
    drawn, top = columns.cut(drawn)
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
    paged = [run for machine in machines for run in runs.like_the_paper(runs.paged(machine))]
    pressed = [run for link in (SLOW, FAST) for run in compare.under_pressure(paged, link)]
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


def _gain(there: Sequence[Run]) -> Bar:
    """The geometric mean over works of how much faster the faster link is."""
    by_link: dict[str, dict[Work, Run]] = {link: {} for link in (SLOW, FAST)}
    for run in there:
        by_link.get(run.link, {}).setdefault(run.work, run)
    slow, fast = by_link[SLOW], by_link[FAST]
    ratios = [compare.speedup(slow[work], fast[work]) for work in slow.keys() & fast.keys()]
    if not ratios:
        return Bar(None, "no rows")
    mean = compare.geometric_mean(ratios)
    return Bar(mean, f"ours: {mean.value:.2f}", note=f"geometric mean of {len(ratios)}")


FIGURES = (
    Entry(
        "16",
        "figure_16_links",
        "Graph traversal over links, modelled and measured",
        runs.FAMILIES,
        "rows with access merged_aligned",
        build,
    ),
)
