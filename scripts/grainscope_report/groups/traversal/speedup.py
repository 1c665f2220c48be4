"""Figure 9: every way to traverse over managed memory, measured; the same under memory pressure, modelled.

EMOGI 9 and 11. Its graphs did not fit the card; graphs that fit a shared host do, so what is measured is
managed memory that is cold but not oversubscribed, and only the model says what pressure would do.
"""

from collections.abc import Sequence

from grainscope_report.figures import columns, parts
from grainscope_report.figures.columns import Way
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Figure, Level, exact
from grainscope_report.figures.series import in_order
from grainscope_report.groups.traversal import compare, runs
from grainscope_report.groups.traversal.runs import Run, Work
from grainscope_report.machine import Machine
from grainscope_report.papers import DISSERTATION, EMOGI, paper
from grainscope_report.units import format_bytes, significant

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
Index = dict[tuple[int, Work], list[Run]]


def build(machines: Sequence[Machine]) -> Figure:
    """Speedups over managed by algorithm, measured and modelled, and the papers' means beside ours."""
    here = _plain(machines, runs.measured)
    model, pressed, link = modelled(machines)
    graphs = _graphs([*here, *model], machines)
    top = _panels(machines, here, graphs, _measured_ways(here), _over(here), "")
    below = _panels(
        _of(machines, model), [*model, *pressed], graphs, _modelled_ways(model), _pages(pressed), link
    )
    if not top and not below:
        return Figure(machines, ())
    rows = [*columns.arranged(top), *columns.arranged(below)]
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
    return runs.like_the_paper(
        [run for machine in machines for run in of(machine) if run.order == "original"]
    )


def modelled(machines: Sequence[Machine]) -> tuple[list[Run], list[Run], str]:
    """The model's accesses and its managed memory under pressure, both over one link, and which."""
    model, paged = _plain(machines, runs.modelled), _plain(machines, runs.paged)
    if not model:
        return [], [], ""
    link = compare.one_link(model, paged)
    first = {}
    for run in model:
        # The model says the same of a named link wherever it runs.
        first.setdefault(run.work if link != runs.HERE else (run.work, run.machine.index), run.machine.index)
    kept = set(first.values())
    pressed = compare.under_pressure([run for run in paged if run.machine.index in kept], link)
    return [run for run in model if run.link == link and run.machine.index in kept], pressed, link


def _of(machines: Sequence[Machine], there: Sequence[Run]) -> list[Machine]:
    own = {run.machine.index for run in there}
    return [machine for machine in machines if machine.index in own]


def _graphs(there: Sequence[Run], machines: Sequence[Machine]) -> list[str]:
    return runs.graphs(there, max(1, (columns.MOST_COLUMNS - 1) // len(machines)))


def left_out_graphs(there: Sequence[Run], shown: Sequence[str]) -> list[str]:
    """A note on smaller graphs that are not drawn."""
    more = [graph for graph in runs.graphs(there) if graph not in shown]
    return [f"Not drawn: the smaller graph{'s' if len(more) > 1 else ''} {', '.join(more)}."] if more else []


def _kinds(there: Sequence[Run]) -> str:
    """`8-byte edges, weights 8-72`."""
    edges = sorted({run.work.edge for run in there}, reverse=True)
    weights = sorted({run.work.weights for run in there} - {""})
    said = f"{' and '.join(map(str, edges))}-byte edges"
    return f"{said}, weights {' and '.join(weights)}" if weights else said


def _index(there: Sequence[Run]) -> Index:
    found: Index = {}
    for run in there:
        found.setdefault((run.machine.index, run.work), []).append(run)
    return found


def _way(name: str, method: str, index: Index, **wanted: str) -> Way:
    def pick(machine: Machine, work: Work) -> Run | None:
        own = index.get((machine.index, work), ())
        return runs.fastest(
            run for run in own if all(getattr(run, key) == value for key, value in wanted.items())
        )

    return Way(name, method, pick)


def _measured_ways(here: Sequence[Run]) -> list[Way]:
    index = _index(here)
    accesses = in_order({run.access for run in here if run.placement == "mapped"}, runs.ACCESSES)
    return [
        *(_way(runs.spoken(one), one, index, placement="mapped", access=one) for one in accesses),
        _way(SUBWAY, "subway", index, placement="subway"),
        _way(MANAGED, "managed", index, placement="managed"),
        _way(DEVICE, "device", index, placement="device"),
    ]


def _over(here: Sequence[Run]) -> Way:
    return _way(MANAGED, "managed", _index(here), placement="managed")


def _modelled_ways(model: Sequence[Run]) -> list[Way]:
    index = _index(model)
    accesses = in_order({run.access for run in model}, runs.ACCESSES)
    return [_way(runs.spoken(one), one, index, access=one) for one in accesses]


def _pages(pressed: Sequence[Run]) -> Way:
    return _way(MANAGED, "managed", _index(pressed))


def _panels(
    machines: Sequence[Machine],
    there: Sequence[Run],
    graphs: Sequence[str],
    ways: Sequence[Way],
    base: Way,
    link: str,
) -> list[BarPanel]:
    """A panel for each algorithm that has anything over the base."""
    found = []
    for algorithm in runs.algorithms(there):
        works = {run.work.graph: run.work for run in there if run.work.algorithm == algorithm}
        own = [
            graph
            for graph in graphs
            if graph in works and any(base.pick(machine, works[graph]) for machine in machines)
        ]
        shown = columns.columns(machines, own, mean=len(own) > 1)
        series = columns.speedups(shown, ways, base, works.__getitem__, hatched=bool(link))
        if not series:
            continue
        names, groups = columns.headings(shown)
        kind = "modelled (managed: under memory pressure)" if link else MEASURED
        title = f"{algorithm}: {kind}"
        even = Level("even", "", 1.0)
        series, top = columns.cut(series)
        look = {"levels": (even,), "groups": groups, "upright": True, "y_top": top, "height": HEIGHT}
        found.append(BarPanel(title, names, tuple(series), "speedup over managed", "ratio", **look))
    return found


def _pressure(pressed: Sequence[Run], link: str) -> str:
    cards = " and ".join(sorted({f"{significant(run.card)} %" for run in pressed}))
    pages = " and ".join(sorted({format_bytes(run.page) for run in pressed}))
    return (
        f"Memory pressure is modelled, not validated on hardware: the card holds {cards} of the edge list, "
        f"the least recently used pages leave, {pages} come at a fault, over {compare.link_name(link)}."
    )


MEANS = (
    ("naive,\nbfs", "naive", ("bfs",), EMOGI, "speedup_naive_over_uvm_bfs"),
    ("merged,\nbfs", "merged", ("bfs",), EMOGI, "speedup_merged_over_uvm_bfs"),
    ("aligned, bfs,\nsssp, cc", "merged_aligned", ("bfs", "sssp", "cc"), EMOGI, "speedup_over_uvm"),
    ("aligned,\nall four", "merged_aligned", runs.ALGORITHMS, DISSERTATION, "speedup_over_uvm"),
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
    there: Sequence[Run], bases: Sequence[Run], graphs: Sequence[str], access: str, own: Sequence[str]
) -> Bar:
    """The geometric mean of the speedups of an access over all of these algorithms; None where one lacks."""
    found = []
    for run in there:
        wanted = run.access == access and run.placement in ("mapped", "") and run.work.graph in graphs
        base = runs.fastest(
            one for one in bases if (one.work, one.machine.index) == (run.work, run.machine.index)
        )
        if wanted and base and run.work.algorithm in own:
            found.append((run.work, compare.speedup(base, run)))
    if {work.algorithm for work, _ in found} != set(own):
        return Bar(None, "no rows")
    ratio = compare.geometric_mean([one for _, one in found])
    return Bar(ratio, f"{ratio.value:.2f}", note=f"geometric mean of {len(found)}")


FIGURES = (
    Entry(
        "9",
        "figure_9_speedup",
        "Graph traversal: every way over managed memory",
        runs.FAMILIES,
        "rows with placement managed and another",
        build,
    ),
)
