"""Figure 8 by graph: sizes and numbers of requests, rates, amplification in bfs (EMOGI 5, 7, 8 and 10).

Requests are the model's or the hardware counters', each in panels of their own.
"""

from collections.abc import Mapping, Sequence

from grainscope_report.cases import MODEL
from grainscope_report.figures import parts
from grainscope_report.figures.model import WHOLE, Bar, BarPanel, BarSeries, Level, Panel, exact
from grainscope_report.figures.series import in_order
from grainscope_report.groups.traversal import compare, requests_papers, requests_rates, runs, speedup
from grainscope_report.groups.traversal.pressure import COUNTER
from grainscope_report.groups.traversal.runs import TRAVERSAL, Run
from grainscope_report.machine import Machine
from grainscope_report.papers import EMOGI, paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, significant

SIZES = (32, 64, 96, 128)
MOST_BARS = 16
FAMILIES = (f"{TRAVERSAL}bfs", f"{MODEL}bfs")
SAME = 1e-3
# The papers' graphs of the same kind as ours.
LIKE = {
    "kron": ("GK", "requests_128_aligned_over_merged_gk"),
    "urand": ("GU", "requests_128_aligned_over_merged_gu"),
}
SAVED = ("requests_saved_by_merging", "requests_saved_by_aligning")
SHORT = {"merged_aligned": "aligned", "merged_aligned_chunked": "chunked"}
HEIGHT = 1.6
Rows = list[tuple[Panel, ...]]
# A run for each graph and access.
Asked = dict[tuple[str, str], Run]


def panels(machines: Sequence[Machine]) -> tuple[Rows, list[str]]:
    """The rows of panels and their notes; none where no traversal says what it asked of the link."""
    here = _of_one_algorithm([run for machine in machines for run in runs.measured(machine)])
    here = [run for run in here if run.placement == "mapped" and run.order == "original"]
    model = _of_one_algorithm([run for machine in machines for run in runs.modelled(machine)])
    rows: Rows = []
    notes: list[str] = []
    for label in ("modelled", "counted"):
        asked = _asked(here, model, label)
        if asked:
            rows += _requests(asked, label, notes)
    if held := requests_rates.held(here):
        rows.append((held,))
        notes.append(
            "The model held against hardware counters: both of the same trial; naive: with no cache."
        )
    rates = requests_rates.panel(machines, here)
    if rates:
        rows.append((rates, requests_papers.rates()))
        notes += requests_rates.notes(here)
        notes += parts.first_sites(machines, f"traversal/{here[0].work.algorithm}", "By graph")
    asked = _asked(here, model, "modelled")
    pages = _pressed(asked, machines)
    if amplified := _amplification(asked, pages):
        rows.append((amplified, requests_papers.amplification()))
        notes += _amplification_notes(amplified, pages)
    if rows:
        one = (here or model)[0].work
        notes.insert(0, f"By graph: {one.algorithm}, {one.edge}-byte edges, original order of vertices.")
    return rows, list(dict.fromkeys(notes))


def _of_one_algorithm(there: Sequence[Run]) -> list[Run]:
    """The runs of bfs, or else of the first algorithm, of one width of edge."""
    first = next(iter(runs.algorithms(there)), "")
    return runs.like_the_paper([run for run in there if run.work.algorithm == first])


def _asked(here: Sequence[Run], model: Sequence[Run], label: str) -> Asked:
    """For each graph and access a run that says its requests: measured, or where that has more, the model's.

    Requests follow from the graph and the access, so that any machine's or link's will do; traversals of
    many sources and the model's of one are not mixed.
    """
    found = []
    for source in (here, model):
        own: Asked = {}
        for run in source:
            if (traffic := run.traffic(label)) and traffic.requests:
                own.setdefault((run.work.graph, run.access), run)
        found.append(own)
    return max(found, key=len)


def _requests(asked: Asked, label: str, notes: list[str]) -> Rows:
    """The mix over the whole width; then how many there are, and what merging and aligning come to."""
    accesses = in_order({access for _, access in asked}, runs.ACCESSES)
    if len(accesses) > 1 and _same(asked, label):
        accesses.remove("merged_aligned_chunked")
        notes.append("“aligned, chunked” asks for the same as “aligned”.")
    graphs = runs.graphs(asked.values(), max(1, MOST_BARS // len(accesses)))
    more = [graph for graph in runs.graphs(asked.values()) if graph not in graphs]
    if more:
        notes.append(f"Requests of smaller graphs are not drawn: {', '.join(more)}.")
    sized = {place: run for place, run in asked.items() if any(_sizes(run, label).values())}
    saved = _saved(asked, label, graphs)
    if saved:
        merging, aligning = (significant(100 * paper(EMOGI)[one].value) for one in SAVED)
        notes.append(
            f"Dashed: the most that EMOGI 2020 saved, {merging} % by merging, {aligning} % by aligning."
        )
    small = [_counts(asked, label, graphs, accesses), saved]
    ratios = [_aligned_over_merged(sized, label, graphs), requests_papers.shares()]
    rows: Rows = [(_mix(sized, label, graphs, accesses),)] if sized else []
    rows += [tuple(filter(None, row)) for row in (small, ratios if ratios[0] else [])]
    return [row for row in rows if row]


def _same(asked: Asked, label: str) -> bool:
    """Whether chunks change nothing in the requests of any graph that has both."""
    pairs = [
        (run, asked[graph, "merged_aligned"])
        for (graph, access), run in asked.items()
        if access == "merged_aligned_chunked" and (graph, "merged_aligned") in asked
    ]
    return bool(pairs) and all(abs(_count(one, label) / _count(two, label) - 1) < SAME for one, two in pairs)


def _count(run: Run, label: str) -> float:
    return run.traffic(label).requests


def _sizes(run: Run, label: str) -> Mapping[int, float]:
    return run.traffic(label).requests_by_size


def _share(run: Run, label: str, size: int) -> float:
    sizes = _sizes(run, label)
    return sizes.get(size, 0) / sum(sizes.values())


def _mix(asked: Asked, label: str, graphs: Sequence[str], accesses: Sequence[str]) -> BarPanel:
    places = [(graph, access) for graph in graphs for access in accesses if (graph, access) in asked]
    series = tuple(
        BarSeries(
            f"{size} B",
            f"request {size}",
            tuple(Bar(exact(100 * _share(asked[place], label, size))) for place in places),
            label=label,
        )
        for size in SIZES
    )
    groups = tuple((graph, sum(one == graph for one, _ in places)) for graph in graphs)
    return BarPanel(
        f"requests by size, by graph ({label})",
        tuple(SHORT.get(access, access.removeprefix("edge_")) for _, access in places),
        series,
        "share of requests (%)",
        "%",
        stacked=True,
        width=WHOLE,
        groups=groups,
        height=HEIGHT,
    )


def _counts(asked: Asked, label: str, graphs: Sequence[str], accesses: Sequence[str]) -> BarPanel | None:
    """Requests for each edge read, so that graphs of any size compare; the number itself on the bar."""

    def bar(graph: str, access: str) -> Bar:
        run = asked.get((graph, access))
        read = run and (run.counter("edges_read") or (run.row.bytes or 0) / run.work.edge)
        if not read:
            return Bar(None)
        count = _count(run, label)
        return Bar(exact(count / read), _large(count), note=f"{significant(count, 6)} requests")

    series = tuple(
        BarSeries(runs.spoken(one), one, tuple(bar(graph, one) for graph in graphs), label=label)
        for one in accesses
    )
    if not any(bar.value for one in series for bar in one.bars):
        return None
    title = f"requests for each edge read; how many in all ({label})"
    return BarPanel(
        title, tuple(graphs), series, "requests ÷ edges read", "ratio", upright=True, height=HEIGHT
    )


def _large(count: float) -> str:
    """`520 M` for 520 million."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{significant(count / unit)} {name}"
    return significant(count)


def _saved(asked: Asked, label: str, graphs: Sequence[str]) -> BarPanel | None:
    """The share of requests that merging saves, and aligning further, beside the most that the paper saw."""
    steps = (("merged", "naive", "merging"), ("merged_aligned", "merged", "aligning further"))
    series = []
    for access, before, name in steps:
        bars = []
        for graph in graphs:
            one, two = asked.get((graph, access)), asked.get((graph, before))
            saved = 100 * (1 - _count(one, label) / _count(two, label)) if one and two else None
            bars.append(Bar(None) if saved is None else Bar(exact(max(0.0, saved)), f"{saved:.1f} %"))
        if any(bar.value for bar in bars):
            series.append(BarSeries(name, access, tuple(bars), label=label))
    if not series:
        return None
    source = paper(EMOGI)
    levels = tuple(Level("paper", "", 100 * source[one].value, source=source.cite(one)) for one in SAVED)
    title = f"requests saved ({label})"
    look = {"levels": levels, "upright": True, "height": HEIGHT}
    return BarPanel(title, tuple(graphs), tuple(series), "share of requests saved (%)", "%", **look)


def _aligned_over_merged(asked: Asked, label: str, graphs: Sequence[str]) -> BarPanel | None:
    """How aligning changes the share of 128-byte requests, beside what the papers' FPGA saw."""
    ours, theirs, cited = [], [], []
    for graph in graphs:
        one, two = asked.get((graph, "merged_aligned")), asked.get((graph, "merged"))
        usable = one and two and _share(two, label, 128)
        ratio = _share(one, label, 128) / _share(two, label, 128) if usable else None
        ours.append(Bar(exact(ratio), f"{ratio:.2f}") if ratio else Bar(None))
        name, number = next((like for kind, like in LIKE.items() if graph.startswith(kind)), ("", ""))
        found = paper(EMOGI)[number] if number else None
        theirs.append(Bar(exact(found.value), f"{name}: {found.value:.2f}") if found else Bar(None))
        cited += [found.source] if found else []
    if not any(bar.value for bar in ours):
        return None
    series = [BarSeries("share of 128 B, aligned ÷ merged", "request 128", tuple(ours), label=label)]
    if cited:
        where = "; ".join(dict.fromkeys(cited))
        series.append(BarSeries("EMOGI's FPGA", "paper", tuple(theirs), label="paper", source=where))
    title = f"128 B share, aligned ÷ merged ({label}), and EMOGI's FPGA"
    return BarPanel(
        title, tuple(graphs), tuple(series), "ratio of shares", "ratio", upright=True, height=HEIGHT
    )


MOST_AMPLIFIED = 5


def _pressed(asked: Mapping[tuple[str, str], Run], machines: Sequence[Machine]) -> dict[str, Run]:
    """By graph, managed memory under pressure in the work asked for: of the card and page of figure 9."""
    _, found, _ = speedup.modelled(machines)
    if not found:
        paged = [run for machine in machines for run in runs.paged(machine)]
        found = compare.under_pressure(paged, compare.one_link(paged)) if paged else []
    works = {run.work for run in asked.values()}
    return {run.work.graph: run for run in found if run.work in works and run.counter(COUNTER) is not None}


def _amplification(asked: Mapping[tuple[str, str], Run], pages: Mapping[str, Run]) -> BarPanel | None:
    """Bytes over the link for each byte of the data set, by graph."""
    asked = {place: run for place, run in asked.items() if run.counter(COUNTER) is not None}
    if not asked:
        return None
    graphs = runs.graphs(asked.values(), MOST_AMPLIFIED)
    accesses = in_order({access for _, access in asked}, runs.ACCESSES)
    series = [
        BarSeries(
            runs.spoken(one),
            one,
            tuple(_amplified(asked.get((graph, one))) for graph in graphs),
            label="modelled",
        )
        for one in accesses
    ]
    if any(graph in pages for graph in graphs):
        bars = tuple(_amplified(pages.get(graph)) for graph in graphs)
        series.append(BarSeries("managed", "managed", bars, label="modelled"))
    title = "amplification over the data set (modelled)"
    look = {"width": 1.6, "upright": True, "height": HEIGHT}
    return BarPanel(title, tuple(graphs), tuple(series), "link bytes ÷ data set", "ratio", **look)


def _amplification_notes(drawn: BarPanel, pages: Mapping[str, Run]) -> list[str]:
    """What the whiskers are, and what the managed bars assume."""
    said = [
        "Requests and amplification: with no cache; whiskers reach down to a cache that keeps everything. "
        "Of a naive walk the link sees something between."
    ]
    there = [pages[graph] for graph in drawn.categories if graph in pages]
    if there:
        cards = " and ".join(sorted({f"{significant(run.card)} %" for run in there}))
        size = " and ".join(sorted({format_bytes(run.page) for run in there}))
        lacking = ", ".join(graph for graph in drawn.categories if graph not in pages)
        said.append(
            f"Managed: modelled, not validated on hardware: the card holds {cards} of the edge list and a "
            f"fault brings {size}{f'; not modelled so: {lacking}' if lacking else ''}."
        )
    return said


def _amplified(run: Run | None) -> Bar:
    if run is None:
        return Bar(None)
    value = run.counter(COUNTER)
    traffic = run.traffic("modelled")
    cached = run.counter("cached_amplification")
    known = traffic and traffic.amplification and cached is not None
    least = min(value, value * cached / traffic.amplification) if known else value
    return Bar(Estimate(value, least, value), significant(value, 3))
