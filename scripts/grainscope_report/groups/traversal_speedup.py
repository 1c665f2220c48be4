"""Figure 9: every way to traverse over managed memory, measured; the same under memory pressure, modelled.

EMOGI 9 and 11. Its graphs did not fit the card; graphs that fit a shared host do, so what is measured is
managed memory that is cold but not oversubscribed, and only the model says what pressure would do.

Figure 18, a table: zero-copy against Subway and against reordered vertices (EMOGI's table 3).
"""

from collections.abc import Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.frame import grouped, in_order
from grainscope_report.figures.model import (
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
from grainscope_report.groups import traversal
from grainscope_report.groups.traversal import ALGORITHMS, ORDERS, Run, Way, Work
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
Index = dict[tuple[int, Work], list[Run]]


def build(machines: Sequence[Machine]) -> Figure:
    """Speedups over managed by algorithm, measured and modelled, and the papers' means beside ours."""
    here = _plain(machines, traversal.measured)
    model, pressed, link = modelled(machines)
    most = max(len(_measured_ways(here)), len(_modelled_ways(model)), 1)
    graphs = _graphs([*here, *model], machines, min(traversal.MOST_COLUMNS, MOST_BARS // most))
    top = _panels(machines, here, graphs, _measured_ways(here), _over(here), "")
    below = _panels(
        _of(machines, model), [*model, *pressed], graphs, _modelled_ways(model), _pages(pressed), link
    )
    if not top and not below:
        return Figure(machines, ())
    rows = [*traversal.arranged(top), *traversal.arranged(below)]
    rows.append((_means(here, model, pressed, graphs),))
    notes = [
        "A bar is the median of the ratios of the same trials, of a model's the ratios of its times; "
        "whiskers of fewer than 8 trials span all of them. Upright: seconds, the median over trials, and "
        "what cut bars reach.",
        f"Original order of vertices; {_kinds([*here, *model])}.",
    ]
    if top:
        notes.append("Of managed memory, of device memory and of Subway the fastest access.")
    if pressed:
        notes.append(_pressure(pressed, link))
    notes += left_out_graphs([*here, *model], graphs)
    notes += parts.first_sites(machines, "traversal/bfs", "Measured")
    return Figure(machines, tuple(rows), tuple(notes), subtitle=(_caption(machines, bool(top), bool(below)),))


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
    """The model's accesses and its managed memory under pressure, both over one link, and which."""
    model, paged = _plain(machines, traversal.modelled), _plain(machines, traversal.paged)
    if not model:
        return [], [], ""
    link = traversal.one_link(model, paged)
    first = {}
    for run in model:
        # The model says the same of a named link wherever it runs.
        first.setdefault(
            run.work if link != traversal.HERE else (run.work, run.machine.index), run.machine.index
        )
    kept = set(first.values())
    pressed = traversal.under_pressure([run for run in paged if run.machine.index in kept], link)
    return [run for run in model if run.link == link and run.machine.index in kept], pressed, link


def _of(machines: Sequence[Machine], runs: Sequence[Run]) -> list[Machine]:
    own = {run.machine.index for run in runs}
    return [machine for machine in machines if machine.index in own]


def _graphs(runs: Sequence[Run], machines: Sequence[Machine], columns: int) -> list[str]:
    """The largest graphs: as many as there are columns for, beside that of the means."""
    return traversal.graphs(runs, max(1, (columns - 1) // len(machines)))


def left_out_graphs(runs: Sequence[Run], shown: Sequence[str]) -> list[str]:
    """A note on smaller graphs that are not drawn."""
    more = [graph for graph in traversal.graphs(runs) if graph not in shown]
    return [f"Not drawn: the smaller graph{'s' if len(more) > 1 else ''} {', '.join(more)}."] if more else []


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


def _panels(
    machines: Sequence[Machine],
    runs: Sequence[Run],
    graphs: Sequence[str],
    ways: Sequence[Way],
    base: Way,
    link: str,
) -> list[BarPanel]:
    """A panel for each algorithm that has anything over the base."""
    panels = []
    for algorithm in traversal.algorithms(runs):
        works = {run.work.graph: run.work for run in runs if run.work.algorithm == algorithm}
        own = [
            graph
            for graph in graphs
            if graph in works and any(base.pick(machine, works[graph]) for machine in machines)
        ]
        shown = traversal.columns(machines, own, mean=len(own) > 1)
        series = traversal.speedups(shown, ways, base, works.__getitem__, hatched=bool(link))
        if not series:
            continue
        names, groups = traversal.headings(shown)
        kind = "modelled (managed: under memory pressure)" if link else MEASURED
        title = f"{algorithm}: {kind}"
        even = Level("even", "", 1.0)
        series, top = traversal.cut_far(series)
        look = {"levels": (even,), "groups": groups, "upright": True, "y_top": top, "height": HEIGHT}
        panels.append(BarPanel(title, names, tuple(series), "speedup over managed", "ratio", **look))
    return panels


def _pressure(pressed: Sequence[Run], link: str) -> str:
    cards = " and ".join(sorted({f"{significant(run.card)} %" for run in pressed}))
    pages = " and ".join(sorted({format_bytes(run.page) for run in pressed}))
    return (
        f"Memory pressure is modelled, not validated on hardware: the card holds {cards} of the edge list, "
        f"the least recently used pages leave, {pages} come at a fault, over {traversal.link_name(link)}."
    )


MEANS = (
    ("naive,\nbfs", "naive", ("bfs",), EMOGI, "speedup_naive_over_uvm_bfs"),
    ("merged,\nbfs", "merged", ("bfs",), EMOGI, "speedup_merged_over_uvm_bfs"),
    ("aligned, bfs,\nsssp, cc", "merged_aligned", ("bfs", "sssp", "cc"), EMOGI, "speedup_over_uvm"),
    ("aligned,\nall four", "merged_aligned", traversal.ALGORITHMS, DISSERTATION, "speedup_over_uvm"),
)


def _means(
    here: Sequence[Run], model: Sequence[Run], pressed: Sequence[Run], graphs: Sequence[str]
) -> BarPanel:
    """Means over applications and graphs: ours measured, ours modelled, the papers'."""
    series = []
    kinds = (("measured, cold", here, [run for run in here if run.placement == "managed"], False),
             ("modelled, under pressure", model, pressed, True))  # fmt: skip
    for name, there, bases, hatched in kinds:
        bars = tuple(_mean(there, bases, graphs, access, own) for _, access, own, _, _ in MEANS)
        if any(bar.value for bar in bars):
            label = "modelled" if hatched else "measured"
            series.append(BarSeries(name, "traffic", bars, label=label, hatched=hatched))
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
    )


def _mean(
    runs: Sequence[Run], bases: Sequence[Run], graphs: Sequence[str], access: str, own: Sequence[str]
) -> Bar:
    """The geometric mean of the speedups of an access over all of these algorithms; None where one lacks."""
    found = []
    for run in runs:
        wanted = run.access == access and run.placement in ("mapped", "") and run.work.graph in graphs
        base = traversal.fastest(
            base for base in bases if (base.work, base.machine.index) == (run.work, run.machine.index)
        )
        if wanted and base and run.work.algorithm in own:
            found.append((run.work, traversal.speedup(base, run)))
    if {work.algorithm for work, _ in found} != set(own):
        return Bar(None, "no rows")
    ratio = traversal.geometric_mean([one for _, one in found])
    return Bar(ratio, f"{ratio.value:.2f}", note=f"geometric mean of {len(found)}")


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


FIGURES = (
    Entry("9", "figure_9_speedup", "Graph traversal: every way over managed memory", traversal.FAMILIES,
          "rows with placement managed and another", build),
    Entry("18", "figure_18_systems", "Zero-copy against Subway and reordered vertices",
          traversal.MEASURED_FAMILIES,
          "rows with placement subway, or with another order than original, beside merged_aligned mapped",
          build_systems),
)  # fmt: skip
