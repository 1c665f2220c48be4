"""How much faster traversals are: every way over managed memory, measured and under memory pressure (figure
9); over links, modelled and measured (figure 16); edges of 4 bytes against edges of 8 (figure 17); and a
table, zero-copy against Subway and against reordered vertices (figure 18).

Figure 9 is EMOGI 9 and 11. Its graphs did not fit the card; graphs that fit a shared host do, so what is
measured is managed memory that is cold but not oversubscribed, and only the model says what pressure would
do.

Figure 18 is EMOGI's table 3.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    WHOLE,
    Bar,
    BarPanel,
    BarSeries,
    Entry,
    Figure,
    Level,
    TableCell,
    TablePanel,
    TableRow,
    exact,
)
from grainscope_report.figures.parts import grouped, in_order
from grainscope_report.groups import traversal
from grainscope_report.groups.traversal import ALGORITHMS, ORDERS, PAPER_WEIGHTS, Run, Shown, Way, Work
from grainscope_report.machine import Machine
from grainscope_report.resources import DISSERTATION, EMOGI, paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_time, significant

CAPTION = (
    "Managed memory as measured is cold, not oversubscribed: nothing is on the card at the start of each "
    "trial, and all of the edge list fits there."
)
LIFTED = "--allow-managed-oversubscription"
CAPTION_LIFTED = f"Managed memory as measured is cold; with {LIFTED} it may have been oversubscribed, too."
CAPTION_MODELLED = "Managed memory under pressure is modelled (hatched)."
SUBWAY, MANAGED, DEVICE = "Subway", "managed", "device memory"
MEASURED = "measured (managed: cold, not oversubscribed)"
HEIGHT = 1.6
MOST_BARS = 48  # that have room for their seconds
MOST_MEANS = 3  # series of means that fit beside another panel
Index = dict[tuple[int, Work], list[Run]]


def build(machines: Sequence[Machine]) -> Figure:
    """Speedups over managed by algorithm, measured and modelled, and the papers' means beside ours."""
    here = _plain(machines, traversal.measured)
    model, pressed, link = modelled(machines)
    cold = _Kind(here, _measured_ways(here), _over(here), "")
    under = _Kind([*model, *pressed], _modelled_ways(model), _pages(pressed), link)
    both = traversal.graphs(traversal.of_both(here, model))
    most = MOST_BARS // max(len(cold.ways), len(under.ways), 1)
    fits = min(traversal.MOST_COLUMNS, most) - 1  # beside the means
    cold_shown, under_shown = (
        traversal.to_show(kind.drawable, fits, both, alike=kind.named) for kind in (cold, under)
    )
    top = _panels(machines, cold, cold_shown)
    below = _panels(machines, under, under_shown)
    if not top and not below:
        return Figure(machines, ())
    rows = [*traversal.arranged(top), *traversal.arranged(below)]
    rows.append((_means(machines, [(cold, cold_shown), (under, under_shown)]),))
    notes = [
        "A bar is the median of the ratios of the same trials, of a model's the ratios of its times; "
        "whiskers cover what trials, visits and runs differ by. Upright: seconds, the median over trials, "
        "and what cut bars reach.",
        f"Original order of vertices; {_kinds([*here, *model])}.",
    ]
    if top:
        notes.append("Of managed memory, of device memory and of Subway the fastest access.")
        notes += [*traversal.unshared(cold_shown, machines, "Measured"), *_lacking(machines, top, "measured")]
    if below:
        notes.append(_pressure(pressed, link))
        notes += traversal.unshared(under_shown, machines, "Modelled")
        notes += _lacking(machines, below, "modelled") if link == traversal.HERE else []
    drawn = {*cold_shown.graphs, *under_shown.graphs}
    there = [*cold.drawable, *under.drawable]
    notes += left_out_graphs(there, drawn, {**cold_shown.apart, **under_shown.apart})
    compared = traversal.graphs(there)
    if bare := [graph for graph in traversal.graphs([*here, *model]) if graph not in compared]:
        notes.append(f"Not drawn, without managed memory to compare with: {', '.join(bare)}.")
    notes += parts.first_sites(machines, "traversal/bfs", "Measured")
    return Figure(machines, tuple(rows), tuple(notes), subtitle=(_caption(machines, bool(top), bool(below)),))


@dataclass(frozen=True)
class _Kind:
    """What is measured, or modelled over a link: its runs, the ways that are drawn, and their base."""

    runs: Sequence[Run]
    ways: Sequence[Way]
    base: Way
    link: str

    @property
    def drawable(self) -> list[Run]:
        """The runs of works whose machine has the base, too."""
        return [run for run in self.runs if self.base.pick(run.machine, run.work)]

    @property
    def named(self) -> bool:
        """Whether it is of a named link, which is no machine's own."""
        return self.link not in ("", traversal.HERE)


def _caption(machines: Sequence[Machine], measured: bool, model: bool) -> str:
    """What managed memory stands for in the panels that there are."""
    lifted = any(LIFTED in flag for machine in machines for flag in machine.result.run.flags)
    said = [CAPTION_LIFTED if lifted else CAPTION] if measured else []
    return " ".join([*said, CAPTION_MODELLED] if model else said)


def _plain(machines: Sequence[Machine], of) -> list[Run]:
    """The runs of all machines in the original order of vertices, of one width of edge an algorithm."""
    return traversal.like_the_paper(
        [run for machine in machines for run in of(machine) if run.order == "original"]
    )


def modelled(machines: Sequence[Machine]) -> tuple[list[Run], list[Run], str]:
    """The model's accesses and its managed memory under pressure, both over one link, and which.

    Where works were modelled both ways and measured, the link is one of theirs.
    """
    model, paged = _plain(machines, traversal.modelled), _plain(machines, traversal.paged)
    if not model:
        return [], [], ""
    works = {run.work for run in _plain(machines, traversal.measured)}
    works &= {run.work for run in model} & {run.work for run in paged}
    alike = [[run for run in runs if run.work in works] or runs for runs in (model, paged)]
    link = traversal.one_link(*alike)
    model = [run for run in model if run.link == link]
    kept, first = {run.machine.index for run in model}, {}
    for run in model if link != traversal.HERE else ():
        # The model says the same of a named link wherever it runs.
        first.setdefault(run.work, run.machine.index)

    def counts(run: Run) -> bool:
        return run.machine.index in kept and first.get(run.work, run.machine.index) == run.machine.index

    pressed = traversal.under_pressure([run for run in paged if counts(run)], link)
    return [run for run in model if counts(run)], pressed, link


def left_out_graphs(
    runs: Sequence[Run], shown: Collection[str], apart: Mapping[str, str] | None = None
) -> list[str]:
    """Notes on graphs that are not drawn: where some were measured and modelled, on why.

    `apart` are those that only some machines have, with their letters.
    """
    more = [graph for graph in traversal.graphs(runs) if graph not in shown]
    if not more:
        return []
    measured = [run for run in runs if run.label == "measured"]
    both = traversal.graphs(traversal.of_both(measured, [run for run in runs if run.label != "measured"]))
    lone = [graph for graph in more if both and graph not in both]
    notes = _not_drawn([graph for graph in more if graph not in lone], apart or {})
    why = "Not drawn, since they are not both measured and modelled:"
    return notes + ([f"{why} {', '.join(lone)}."] if lone else [])


def _not_drawn(graphs: Sequence[str], apart: Mapping[str, str]) -> list[str]:
    smaller = [graph for graph in graphs if graph not in apart]
    owned = [f"{graph} ({apart[graph]})" for graph in graphs if graph in apart]
    notes = []
    if smaller:
        notes.append(f"Not drawn: the smaller graph{'s' * (len(smaller) > 1)} {', '.join(smaller)}.")
    if owned:
        notes.append(f"Not drawn, since not every run has them: {', '.join(owned)}.")
    return notes


def _lacking(machines: Sequence[Machine], panels: Sequence[BarPanel], kind: str) -> list[str]:
    """Notes on machines of which some of these panels, an algorithm each, have no bar."""
    notes = []
    for machine in machines if len(machines) > 1 else ():
        without = [panel.title.split()[0].rstrip(":") for panel in panels if machine not in _drawn(panel)]
        if without:
            notes.append(f"{machine.letter} has no {kind} rows of what is drawn for {', '.join(without)}.")
    return notes


def _drawn(panel: BarPanel) -> list[Machine | None]:
    return [bar.machine for series in panel.series for bar in series.bars if bar.value]


def _kinds(runs: Sequence[Run]) -> str:
    """`8-byte edges, weights 8-72`."""
    edges = sorted({run.work.edge for run in runs}, reverse=True)
    weights = sorted({run.work.weights for run in runs} - {""})
    said = f"{' and '.join(map(str, edges))}-byte edges"
    return f"{said}, weights {' and '.join(weights)}" if weights else said


def _index(runs: Sequence[Run]) -> Index:
    return grouped(runs, lambda run: (run.machine.index, run.work))


def _way(name: str, method: str, index: Index, **wanted: str) -> Way:
    def pick(machine: Machine, work: Work) -> Run | None:
        own = index.get((machine.index, work), ())
        return traversal.fastest(
            run for run in own if all(getattr(run, key) == value for key, value in wanted.items())
        )

    return Way(name, method, pick)


def _measured_ways(here: Sequence[Run]) -> list[Way]:
    index = _index(here)
    accesses = in_order({run.access for run in here if run.placement == "mapped"}, traversal.ACCESSES)
    return [
        *(_way(traversal.spoken(one), one, index, placement="mapped", access=one) for one in accesses),
        _way(SUBWAY, "subway", index, placement="subway"),
        _way(MANAGED, "managed", index, placement="managed"),
        _way(DEVICE, "device", index, placement="device"),
    ]


def _over(here: Sequence[Run]) -> Way:
    return _way(MANAGED, "managed", _index(here), placement="managed")


def _modelled_ways(model: Sequence[Run]) -> list[Way]:
    index = _index(model)
    accesses = in_order({run.access for run in model}, traversal.ACCESSES)
    return [_way(traversal.spoken(one), one, index, access=one) for one in accesses]


def _pages(pressed: Sequence[Run]) -> Way:
    return _way(MANAGED, "managed", _index(pressed))


def _panels(machines: Sequence[Machine], kind: _Kind, graphs: Shown) -> list[BarPanel]:
    """A panel for each algorithm that has anything over the base."""
    panels = []
    for algorithm in traversal.algorithms(kind.runs):
        works = {run.work.graph: run.work for run in kind.runs if run.work.algorithm == algorithm}

        def has(graph: str, machine: Machine, works: Mapping[str, Work] = works) -> bool:
            return graph in works and kind.base.pick(machine, works[graph]) is not None

        shown = traversal.columns(machines, graphs, has, mean=True)
        series = traversal.speedups(shown, kind.ways, kind.base, works.__getitem__, hatched=bool(kind.link))
        if not series:
            continue
        # What is said of a named link is the same wherever it ran.
        owners = {column.machine.index for column in shown} if kind.named else machines
        names, groups = traversal.headings(shown, len(owners) > 1)
        what = "modelled (managed: under memory pressure)" if kind.link else MEASURED
        title = f"{algorithm}: {what}"
        even = Level("even", "", 1.0)
        series, top = traversal.cut_far(series)
        look = {"levels": (even,), "groups": groups, "upright": True, "y_top": top, "height": HEIGHT}
        panels.append(BarPanel(title, names, tuple(series), "speedup over managed", "ratio", **look))
    return panels


def _pressure(pressed: Sequence[Run], link: str) -> str:
    cards = " and ".join(sorted({f"{significant(run.card)} %" for run in pressed}))
    pages = " and ".join(sorted({format_bytes(run.page) for run in pressed}))
    several = link == traversal.HERE and len({run.machine.index for run in pressed}) > 1
    over = "each machine's link" if several else traversal.link_name(link)
    return (
        f"Memory pressure is modelled, not validated on hardware: the card holds {cards} of the edge list, "
        f"the least recently used pages leave, {pages} come at a fault, over {over}."
    )


MEANS = (
    ("naive,\nbfs", "naive", ("bfs",), EMOGI, "speedup_naive_over_uvm_bfs"),
    ("merged,\nbfs", "merged", ("bfs",), EMOGI, "speedup_merged_over_uvm_bfs"),
    ("aligned, bfs,\nsssp, cc", "merged_aligned", ("bfs", "sssp", "cc"), EMOGI, "speedup_over_uvm"),
    ("aligned,\nall four", "merged_aligned", traversal.ALGORITHMS, DISSERTATION, "speedup_over_uvm"),
)


def _means(machines: Sequence[Machine], kinds: Sequence[tuple[_Kind, Shown]]) -> BarPanel:
    """Means over applications and graphs: each machine's measured and modelled ones, and the papers'."""
    series = []
    for kind, shown in kinds:
        name = "modelled, under pressure" if kind.link else "measured, cold"
        for machine in (None,) if kind.named else machines:
            runs = [run for run in kind.runs if machine in (None, run.machine)]
            bars = tuple(_mean(runs, kind.base, shown, *which) for _, *which, _, _ in MEANS)
            series += _of_machine(machine, machines, name, bars, bool(kind.link))
    numbers = [paper(source)[number] for *_, source, number in MEANS]
    bars = tuple(Bar(exact(one.value), f"{one.value:.2f}") for one in numbers)
    cited = "; ".join(dict.fromkeys(paper(source).cite(number) for *_, source, number in MEANS))
    series.append(BarSeries("the papers", "paper", bars, label="paper", source=cited))
    return BarPanel(
        "means over applications and graphs; the papers': V100, PCIe 3, oversubscribed",
        tuple(name for name, *_ in MEANS),
        tuple(series),
        "speedup over managed",
        "ratio",
        levels=(Level("even", "", 1.0),),
        upright=True,
        height=HEIGHT,
        width=_width(series),
    )


def _width(series: Sequence[BarSeries]) -> float:
    """The width of a panel of means: whole where several machines have theirs."""
    return WHOLE if len(series) > MOST_MEANS else 1.0


def _of_machine(
    machine: Machine | None, machines: Sequence[Machine], name: str, bars: tuple[Bar, ...], hatched: bool
) -> list[BarSeries]:
    """The means of a machine, or of a named link, which is no machine's; nothing where it has none."""
    if not any(bar.value for bar in bars):
        return []
    said = f"{parts.owner(machine, len(machines) > 1)}{name}" if machine else name
    label = "modelled" if hatched else "measured"
    return [BarSeries(said, "traffic", bars, machine, label=label, hatched=hatched)]


def _mean(runs: Sequence[Run], over: Way, shown: Shown, access: str, own: Sequence[str]) -> Bar:
    """The geometric mean of the speedups of an access over all of these algorithms; None where one lacks."""
    found = []
    for run in runs:
        wanted = run.access == access and run.placement in ("mapped", "") and run.work.algorithm in own
        base = over.pick(run.machine, run.work)
        if wanted and base and run.work.graph in shown.of[run.machine.index]:
            found.append((run.work, traversal.speedup(base, run)))
    if {work.algorithm for work, _ in found} != set(own):
        return Bar(None, "no rows")
    return _geometric(found)


def _geometric(found: Sequence[tuple[Work, Estimate]]) -> Bar:
    """The mean of the ratios of several works, with their graphs as a note."""
    mean = traversal.geometric_mean([ratio for _, ratio in found])
    graphs = ", ".join(sorted({work.graph for work, _ in found}))
    return Bar(mean, f"{mean.value:.2f}", note=f"geometric mean of {len(found)}: {graphs}")


COLUMNS = (
    "against", "application", "graph", "edges", "its time", "prepared in", "zero-copy, aligned", "speedup",
    "95 % interval",
)  # fmt: skip
PAPER_COLUMNS = ("against", "application", "graph", "edges", "its time", "EMOGI", "speedup", "GPU")
# Subway's public code has 4-byte edges only; HALO's results are of 8-byte ones.
SUBWAY_EDGE = 4
TITLE = "zero-copy, merged and aligned, against other systems (measured)"
LABEL = "measured"


def build_systems(machines: Sequence[Machine]) -> Figure:
    """A line for each other system and work, and the paper's lines beneath."""
    rows = [row for machine in machines for row in _rows(machine, len(machines) > 1)]
    if not rows:
        return Figure(machines, ())
    right = (False, False, True, True, True, True, True, True)
    ours = TablePanel(TITLE, COLUMNS, tuple(rows), right, width=2.0)
    notes = [
        "Speedup: of zero-copy (merged, aligned, vertices in their original order) over the other, by the "
        "median of the ratios of the same trials. Times: medians over trials.",
        "Prepared in: reordering the vertices, once a graph and not in the times; Subway prepares in every "
        "iteration, and that is in its time.",
        "HALO stand-in: vertices by the sum of 1 ÷ depth over sampled bfs, over managed memory, after HALO's "
        "pseudo-code; its own code is not public. Managed memory is cold, not oversubscribed: HALO's regime, "
        "a graph larger than the card, is the model's (figure 9).",
    ]
    notes += parts.first_sites(machines, "traversal/bfs", "Measured")
    return Figure(machines, ((ours,), (_paper(),)), tuple(notes))


def _rows(machine: Machine, several: bool) -> list[TableRow]:
    there = traversal.measured(machine)
    bases = {
        run.work: run
        for run in there
        if (run.placement, run.access, run.order) == ("mapped", traversal.EMOGIS, ORDERS[0])
    }
    found: dict[tuple, Run] = {}
    for run in there:
        name = _name(run)
        if name and run.work in bases:
            key = name, run.work
            found[key] = min(found.get(key, run), run, key=lambda one: one.time.value)
    chosen = sorted(found, key=_place)
    edges = {name: {work.edge for one, work in chosen if one == name} for name, _ in chosen}
    return [
        _row(name, found[name, work], bases[work], machine if several else None)
        for name, work in chosen
        if work.edge == _edge(name, edges[name])
    ]


def _name(run: Run) -> str:
    """What the other system is called; nothing where it is none."""
    if run.placement == "subway" and run.order == ORDERS[0]:
        return "Subway"
    if run.order == ORDERS[0] or run.placement not in ("managed", "mapped"):
        return ""
    how = {"managed": "managed", "mapped": "zero-copy"}[run.placement]
    return {"halo_like": "HALO stand-in", "degree": "degree order"}.get(run.order, run.order) + f", {how}"


def _edge(name: str, there: set[int]) -> int:
    """The width of edges to show: of Subway 4 bytes, of others the papers' 8, where there."""
    wanted = SUBWAY_EDGE if name == "Subway" else traversal.PAPER_EDGE
    return wanted if wanted in there else max(there)


def _place(key: tuple) -> tuple:
    name, work = key
    order = ("HALO stand-in, managed", "degree order, managed", "Subway")
    known = order.index(name) if name in order else len(order)
    algorithm = ALGORITHMS.index(work.algorithm) if work.algorithm in ALGORITHMS else len(ALGORITHMS)
    return known, name, algorithm, work


def _row(name: str, run: Run, base: Run, machine: Machine | None) -> TableRow:
    ratio = traversal.speedup(run, base)
    prepared = run.counter("prepare_s") if run.order != ORDERS[0] else None
    work = run.work
    application = work.algorithm + (f" ({work.weights})" if work.weights else "")
    owner = f"{machine.letter}: " if machine else ""
    cells = (
        TableCell(application),
        TableCell(work.graph),
        TableCell(f"{work.edge} B"),
        _time(run.time),
        TableCell(format_time(prepared), exact(prepared), "s", LABEL) if prepared else TableCell("–"),
        _time(base.time),
        TableCell(f"{ratio.value:.2f}×", ratio, "ratio", LABEL),
        TableCell(f"[{ratio.low:.2f}, {ratio.high:.2f}]"),
    )
    return TableRow(f"{owner}{name}", cells, run.machine)


def _time(time_s: Estimate) -> TableCell:
    return TableCell(format_time(time_s.value), time_s, "s", LABEL)


def _paper() -> TablePanel:
    """EMOGI's table 3."""
    source = paper(EMOGI)
    table = source.tables["comparison"]
    rows = []
    for row in table["rows"]:
        edge = SUBWAY_EDGE if row["work"] == "Subway" else traversal.PAPER_EDGE
        cells = (
            TableCell(row["application"].lower()),
            TableCell(row["graph"]),
            TableCell(f"{edge} B"),
            *(
                TableCell(f"{significant(row[name], 4)} s", exact(row[name]), "s", "paper")
                for name in ("time_s", "emogi_s")
            ),
            TableCell(f"{row['speedup']:.2f}×", exact(row["speedup"]), "ratio", "paper"),
            TableCell(row["gpu"]),
        )
        rows.append(TableRow(row["work"], cells))
    right = (False, False, True, True, True, True, False)
    title = f"{source.name}, {table['source']}: graphs larger than the card"
    return TablePanel(title, PAPER_COLUMNS, tuple(rows), right, paper=True, width=2.0)


# Figures 16 and 17.

ACCESS = "merged_aligned"
SLOW, FAST = "pcie3x16", "pcie4x16"
MOST_LINK_BARS = 54
LEVELS = (
    "Modelled frontiers are level by level. sssp, cc and pr of a GPU see changes within a level and need "
    "fewer, so that a measured bar of theirs may be above that of its own link."
)
# Counters that tell how much was done, the first that all runs of an application have: axis and unit.
MEASURES = {
    "teps": ("10⁹ traversed edges a second", "GTEPS"),
    "edges_read": ("10⁹ edges read a second", "G/s"),
}


def build_links(machines: Sequence[Machine]) -> Figure:
    """Traversed edges a second by application and graph: a hatched bar a link, a plain one a machine.

    Each machine has a hatched bar for its own link, too. Where graphs were measured and modelled, they alone
    are drawn; else some of either.
    """
    here = [run for machine in machines for run in traversal.measured(machine) if run.placement == "mapped"]
    here = _chosen([run for run in here if run.order == "original"])
    model = _chosen(_once([run for machine in machines for run in traversal.modelled(machine)]))
    links = in_order({run.link for run in model}, traversal.LINKS)
    names = [f"link {order} of {len(links)}" for order in range(len(links))]
    series = [
        _Series.of_link(link, name, model, machine, machines)
        for link, name in zip(links, names, strict=True)
        for machine in (machines if link == traversal.HERE else (None,))
    ]
    series += [_Series.of_machine(machine, machines, here) for machine in machines]
    series = [one for one in series if one.runs]
    if not series:
        return Figure(machines, ())
    every = [run for one in series for run in one.runs.values()]
    both = traversal.of_both(here, model)
    most = max(1, MOST_LINK_BARS // len(series))
    own = _own_graphs(here, most - bool(model))
    graphs = traversal.graphs(both, most) if both else _of_each(own.graphs, model, every, most)
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
        *([LEVELS] if both else []),
        *([] if both else traversal.unshared(own, machines, "Measured")),
        *left_out_graphs(every, graphs, {} if both else own.apart),
        *parts.first_sites(machines, "traversal/bfs", "Measured"),
    ]
    return Figure(machines, tuple(rows), tuple(notes))


def _own_graphs(here: Sequence[Run], most: int) -> Shown:
    """As many of the measured graphs of each machine as are at most so many together."""
    owners = len(parts.by_machine(here))
    each = (traversal.to_show(here, count * owners) for count in range(max(1, most), 0, -1))
    shown = next((one for one in each if len(one.graphs) <= most), None)
    return shown or traversal.to_show(here, 1)


def _of_each(own: Sequence[str], model: Sequence[Run], every: Sequence[Run], most: int) -> list[str]:
    """These graphs, and in what room is left the largest that were modelled."""
    left = max(most - len(own), 0)
    kept = {*own, *traversal.graphs(model)[:left]}
    return [graph for graph in traversal.graphs(every) if graph in kept]


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
    def of_link(
        cls,
        link: str,
        method: str,
        model: Sequence[Run],
        machine: Machine | None,
        machines: Sequence[Machine],
    ) -> "_Series":
        """What the model says of a link, or of a machine's own."""
        own = [run for run in model if run.link == link and machine in (None, run.machine)]
        owner = parts.owner(machine, len(machines) > 1) if machine else ""
        return cls(f"{owner}{traversal.link_name(link)}, modelled", method, own, True, machine)

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
    return Bar(run.of_time(rate / 1e9), format_time(run.time.value))


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
MOST_EDGE_COLUMNS = 5
# The run with 8-byte edges, and the same with 4-byte ones.
Pair = tuple[Run, Run]


def build_edges(machines: Sequence[Machine]) -> Figure:
    """Measured panels, then the model's for one link, then the papers' mean beside ours."""
    here = _pairs([run for machine in machines for run in traversal.measured(machine)])
    every = [run for machine in machines for run in traversal.modelled(machine)]
    link = traversal.one_link(every) if every else ""
    of_link = [run for run in every if run.link == link]
    own = link == traversal.HERE
    model = _pairs(of_link if own else _first_file(of_link))
    if not here and not model:
        return Figure(machines, ())
    several = len(machines) > 1
    kinds = [(pairs, _pairs_shown(pairs)) for pairs in (here, model)]
    top = _edge_panels(machines, *kinds[0], "measured", several)
    below = _edge_panels(machines, *kinds[1], "modelled", several and own)
    rows = traversal.arranged([*top, *below])
    rows.append((_edge_means(machines, kinds, own),))
    notes = ["Speedup: time with 8-byte edges over time with 4-byte edges; upright: both times."]
    if top:
        notes.append(
            "Measured: median of the ratios of the same trials, whiskers cover what trials, visits and runs "
            "differ by; zero-copy, original order of vertices."
        )
        notes += traversal.unshared(kinds[0][1], machines, "Measured") + _lacking(machines, top, "measured")
    if below:
        notes.append(_bounds(model, link, several))
        notes += traversal.unshared(kinds[1][1], machines, "Modelled")
        notes += _lacking(machines, below, "modelled") if own else []
    notes.append("Weights of sssp have 4 bytes with either, so it gains less.")
    drawn = {graph for _, shown in kinds for graph in shown.graphs}
    apart = {graph: letters for _, shown in kinds for graph, letters in shown.apart.items()}
    more = [graph for graph in traversal.graphs([one for one, _ in [*here, *model]]) if graph not in drawn]
    notes += _not_drawn(more, apart)
    notes += parts.first_sites(machines, "traversal/bfs", "Measured")
    return Figure(machines, tuple(rows), tuple(notes))


def _bounds(model: Sequence[Pair], link: str, several: bool) -> str:
    """Over which link the bounds are, and whose it is."""
    owners = {one.machine.index: one.machine for one, _ in model}
    if link == traversal.HERE and len(owners) > 1:
        return "Modelled: bounds over each machine's link."
    owner = parts.owner(model[0][0].machine, several) if link == traversal.HERE else ""
    return f"{owner}Modelled: bounds over {traversal.link_name(link)}."


def _pairs_shown(pairs: Sequence[Pair]) -> Shown:
    return traversal.to_show([one for one, _ in pairs], MOST_EDGE_COLUMNS)


def _first_file(runs: Sequence[Run]) -> list[Run]:
    """The model's rows of the first file that has any: of a named link they are the same in all."""
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


def _edge_panels(
    machines: Sequence[Machine], pairs: Sequence[Pair], graphs: Shown, label: str, several: bool
) -> list[BarPanel]:
    panels = []
    for algorithm in traversal.algorithms([one for one, _ in pairs]):
        own = [pair for pair in pairs if pair[0].work.algorithm == algorithm]
        by_place = {((one.work.graph, one.machine.index), one.access): (one, two) for one, two in own}
        places = {place for place, _ in by_place}
        shown = traversal.columns(
            machines, graphs, lambda graph, machine, places=places: (graph, machine.index) in places
        )
        if shown:
            panels.append(_edge_panel(algorithm, by_place, shown, label, several))
    return panels


def _edge_panel(
    algorithm: str,
    by_place: Mapping[tuple[tuple[str, int], str], Pair],
    shown: Sequence[traversal.Column],
    label: str,
    several: bool,
) -> BarPanel:
    keys = {column.key for column in shown}
    series = tuple(
        BarSeries(
            traversal.spoken(access),
            access,
            tuple(_edge_bar(by_place.get((column.key, access)), column.machine) for column in shown),
            label=label,
            hatched=label == "modelled",
        )
        for access in in_order({access for place, access in by_place if place in keys}, traversal.ACCESSES)
    )
    names, groups = traversal.headings(shown, several)
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


def _edge_means(
    machines: Sequence[Machine], kinds: Sequence[tuple[Sequence[Pair], Shown]], own: bool
) -> BarPanel:
    """Each machine's geometric means over all applications and of cc alone, of merged and aligned access.

    The model's are a machine's where they are over its `own` link.
    """
    names = ("all\napplications", "cc")
    series = []
    for (pairs, shown), name in zip(kinds, ("measured", "modelled"), strict=True):
        aligned = [pair for pair in pairs if pair[0].access == ACCESS]
        chosen = [pair for pair in aligned if pair[0].work.graph in shown.of[pair[0].machine.index]]
        for machine in machines if own or name == "measured" else (None,):
            there = [pair for pair in chosen if machine in (None, pair[0].machine)]
            bars = (_edge_mean(there), _edge_mean([pair for pair in there if pair[0].work.algorithm == "cc"]))
            series += _of_machine(machine, machines, name, bars, name == "modelled")
    source = paper(DISSERTATION)
    mean, nearly = source["edge_4_over_8"], source["edge_4_over_8_cc_gk"]
    bars = (Bar(exact(mean.value), f"{mean.value:g}"), Bar(exact(nearly.value), "GK, ML: nearly 2"))
    cited = f"{source.name}, {mean.source}"
    series.append(BarSeries(source.name, "paper", bars, label="paper", source=cited))
    title = f"means of aligned; {source.name}: V100"
    look = {"levels": (Level("even", "", 1.0),), "upright": True, "height": HEIGHT, "width": _width(series)}
    return BarPanel(title, names, tuple(series), "speedup of 4 B over 8 B", "ratio", **look)


def _edge_mean(pairs: Sequence[Pair]) -> Bar:
    if not pairs:
        return Bar(None, "no rows")
    return _geometric([(one.work, traversal.speedup(one, two)) for one, two in pairs])


FIGURES = (
    Entry("9", "figure_9_speedup", "Graph traversal: every way over managed memory", traversal.FAMILIES,
          "rows with placement managed and another", build),
    Entry("18", "figure_18_systems", "Zero-copy against Subway and reordered vertices",
          traversal.MEASURED_FAMILIES,
          "rows with placement subway, or with another order than original, beside merged_aligned mapped",
          build_systems),
    Entry("16", "figure_16_links", "Graph traversal over links, modelled and measured", traversal.FAMILIES,
          "rows with access merged_aligned", build_links),
    Entry("17", "figure_17_edges", "Edges of 4 bytes against edges of 8", traversal.FAMILIES,
          "pairs of rows with edge 8 and 4", build_edges),
)  # fmt: skip
