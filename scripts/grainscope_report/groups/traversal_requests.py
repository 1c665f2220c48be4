"""Figure 8: how the shape of zero-copy reads decides their bandwidth (EMOGI 3 and 4); then by graph sizes and
numbers of requests, rates and amplification in bfs (EMOGI 5, 7, 8 and 10), and what EMOGI states of them.

Requests are the model's or the hardware counters', each in panels of their own.
"""

from collections.abc import Iterable, Mapping, Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    WHOLE,
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    Entry,
    Figure,
    Level,
    Panel,
    exact,
)
from grainscope_report.figures.parts import NEAREST, curves, in_order
from grainscope_report.groups import traversal, traversal_speedup
from grainscope_report.groups.transfer_copies import ZERO_COPY
from grainscope_report.groups.traversal import TRAVERSAL, Run
from grainscope_report.groups.traversal_answers import COUNTER
from grainscope_report.machine import Machine
from grainscope_report.model import HOST_TO_GPU, MODEL, Row
from grainscope_report.resources import EMOGI, Number, paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, significant

# By graph.

SIZES = (32, 64, 96, 128)
MOST_BARS = 18
FAMILIES = (f"{TRAVERSAL}bfs", f"{MODEL}bfs")
SAME = 1e-3
# The papers' graphs of the same kind as ours.
LIKE = {
    "kron": ("GK", "requests_128_aligned_over_merged_gk"),
    "urand": ("GU", "requests_128_aligned_over_merged_gu"),
}
SAVED = ("requests_saved_by_merging", "requests_saved_by_aligning")
# What accesses are called under bars, which have little room.
SHORT = {
    "merged_aligned": "aligned",
    "merged_aligned_by_16": "by 16",
    "merged_aligned_by_8": "by 8",
    "merged_aligned_by_4": "by 4",
    "merged_aligned_chunked": "chunked",
    "block_mapped": "block-\nmapped",
    "merge_path": "merge\npath",
}
HEIGHT = 1.6
Rows = list[tuple[Panel, ...]]
# A run for each graph and access.
Asked = dict[tuple[str, str], Run]


def panels(machines: Sequence[Machine]) -> tuple[Rows, list[str]]:
    """The rows of panels and their notes; none where no traversal says what it asked of the link."""
    here = _of_one_algorithm([run for machine in machines for run in traversal.measured(machine)])
    here = [run for run in here if run.placement == "mapped" and run.order == "original"]
    model = _of_one_algorithm([run for machine in machines for run in traversal.modelled(machine)])
    rows: Rows = []
    notes: list[str] = []
    for label in ("modelled", "counted"):
        asked = _asked(here, model, label)
        if asked:
            rows += _requests(asked, label, notes)
    if held := held_against_counters(here):
        rows.append((held,))
        notes.append(
            "The model held against hardware counters: both of the same trial; naive: with no cache."
        )
    rates = rates_panel(machines, here)
    if rates:
        rows.append((rates, stated_rates()))
        notes += rates_notes(here)
        notes += traversal.unshared(_by_graph(here), machines, "Over the link")
        notes += parts.first_sites(machines, f"traversal/{here[0].work.algorithm}", "By graph")
    asked = _asked(here, model, "modelled")
    pages = _pressed(asked, machines)
    if amplified := _amplification(asked, pages):
        rows.append((amplified, stated_amplification()))
        notes += _amplification_notes(amplified, pages)
    if rows:
        work = (here or model)[0].work
        notes.insert(0, f"By graph: {work.algorithm}, {work.edge}-byte edges, original order of vertices.")
    return rows, list(dict.fromkeys(notes))


def _of_one_algorithm(runs: Sequence[Run]) -> list[Run]:
    """The runs of bfs, or else of the first algorithm, of one width of edge."""
    first = next(iter(traversal.algorithms(runs)), "")
    return traversal.like_the_paper([run for run in runs if run.work.algorithm == first])


def _asked(here: Sequence[Run], model: Sequence[Run], label: str) -> Asked:
    """For each graph and access a run that says its requests: measured, or where that has more, the model's.

    Requests follow from the graph and the access, so that any machine's or link's will do; traversals of
    many sources and the model's of one are not mixed. Graphs that were measured and modelled count alone.
    """
    both = {run.work.graph for run in traversal.of_both(here, model)}
    found = []
    for source in (here, model):
        own: Asked = {}
        for run in source:
            if both and run.work.graph not in both:
                continue
            if (traffic := run.traffic(label)) and traffic.requests:
                own.setdefault((run.work.graph, run.access), run)
        found.append(own)
    return max(found, key=len)


def _requests(asked: Asked, label: str, notes: list[str]) -> Rows:
    """The mix over the whole width; then how many there are, and what merging and aligning come to."""
    accesses = in_order({access for _, access in asked}, traversal.ACCESSES)
    if len(accesses) > 1 and _same(asked, label):
        accesses.remove("merged_aligned_chunked")
        notes.append("“aligned, chunked” asks for the same as “aligned”.")
    graphs = traversal.graphs(asked.values(), max(1, MOST_BARS // len(accesses)))
    more = [graph for graph in traversal.graphs(asked.values()) if graph not in graphs]
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
    ratios = [_aligned_over_merged(sized, label, graphs), stated_shares()]
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
        BarSeries(traversal.spoken(one), one, tuple(bar(graph, one) for graph in graphs), label=label)
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
    _, runs, _ = traversal_speedup.modelled(machines)
    if not runs:
        paged = [run for machine in machines for run in traversal.paged(machine)]
        runs = traversal.under_pressure(paged, traversal.one_link(paged)) if paged else []
    works = {run.work for run in asked.values()}
    return {run.work.graph: run for run in runs if run.work in works and run.counter(COUNTER) is not None}


def _amplification(asked: Mapping[tuple[str, str], Run], pages: Mapping[str, Run]) -> BarPanel | None:
    """Bytes over the link for each byte of the data set, by graph."""
    asked = {place: run for place, run in asked.items() if run.counter(COUNTER) is not None}
    if not asked:
        return None
    graphs = traversal.graphs(asked.values(), MOST_AMPLIFIED)
    accesses = in_order({access for _, access in asked}, traversal.ACCESSES)
    series = [
        BarSeries(
            traversal.spoken(one),
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
    sentences = [
        "Requests and amplification: with no cache; whiskers reach down to a cache that keeps everything. "
        "Of a naive walk the link sees something between."
    ]
    there = [pages[graph] for graph in drawn.categories if graph in pages]
    if there:
        cards = " and ".join(sorted({f"{significant(run.card)} %" for run in there}))
        size = " and ".join(sorted({format_bytes(run.page) for run in there}))
        lacking = ", ".join(graph for graph in drawn.categories if graph not in pages)
        sentences.append(
            f"Managed: modelled, not validated on hardware: the card holds {cards} of the edge list and a "
            f"fault brings {size}{f'; not modelled so: {lacking}' if lacking else ''}."
        )
    return sentences


def _amplified(run: Run | None) -> Bar:
    if run is None:
        return Bar(None)
    value = run.counter(COUNTER)
    traffic = run.traffic("modelled")
    cached = run.counter("cached_amplification")
    known = traffic and traffic.amplification and cached is not None
    least = min(value, value * cached / traffic.amplification) if known else value
    return Bar(Estimate(value, least, value), significant(value, 3))


def _by_graph(here: Sequence[Run]) -> traversal.Shown:
    """The graphs whose rates are drawn."""
    rated = [run for run in here if run.counter("link_gb_s") is not None]
    return traversal.to_show(rated, traversal.MOST_COLUMNS)


def rates_panel(machines: Sequence[Machine], here: Sequence[Run]) -> BarPanel | None:
    """Link bytes a second by graph and access, under the measured copy peaks."""
    found = {
        (run.machine.index, run.work.graph, run.access): run
        for run in here
        if run.counter("link_gb_s") is not None
    }
    if not found:
        return None
    own = [machine for machine in machines if any(index == machine.index for index, _, _ in found)]
    there = {(graph, index) for index, graph, _ in found}
    shown = traversal.columns(own, _by_graph(here), lambda graph, machine: (graph, machine.index) in there)
    accesses = in_order({access for _, _, access in found}, traversal.ACCESSES)

    def bar(column: traversal.Column, access: str) -> Bar:
        run = found.get((column.machine.index, column.graph, access))
        if run is None:
            return Bar(None, machine=column.machine)
        rate, share = run.counter("link_gb_s"), run.link_fraction
        text = f"{rate:.1f}" + (f", {100 * share:.0f} %" if share and len(own) == 1 else "")
        return Bar(run.of_time(rate), text, machine=column.machine)

    series = tuple(
        BarSeries(traversal.spoken(one), one, tuple(bar(column, one) for column in shown)) for one in accesses
    )
    names, groups = traversal.headings(shown, len(machines) > 1)
    algorithm = here[0].work.algorithm
    look = {
        "levels": _peaks(found.values()),
        "groups": groups,
        "upright": True,
        "width": 1.6,
        "height": HEIGHT,
    }
    title = f"bytes over the link in {algorithm} (measured)"
    return BarPanel(title, names, series, "over the link (GB/s)", "GB/s", **look)


def _peaks(runs: Iterable[Run]) -> tuple[Level, ...]:
    """The measured copy peak of the link of each machine's site."""
    found = {}
    for run in runs:
        link = run.machine.result.link(run.row.case.ends)
        if link and link.direction == HOST_TO_GPU:
            found[run.machine.index] = Level(
                "peak", "copy peak", link.peak_gb_s, run.machine, parts.place_of(link)
            )
    return tuple(found.values())


def held_against_counters(here: Sequence[Run]) -> BarPanel | None:
    """The model held against the hardware counters: requests counted over requests modelled, of one trial."""
    found = {}
    for run in here:
        counted, modelled = run.traffic("counted"), run.traffic("modelled")
        if counted and modelled and counted.requests and modelled.requests:
            found.setdefault((run.work.graph, run.access), (counted.requests / modelled.requests, run))
    if not found:
        return None
    graphs = traversal.graphs([run for _, run in found.values()], traversal.MOST_COLUMNS)

    def bar(graph: str, access: str) -> Bar:
        ratio, _ = found.get((graph, access), (None, None))
        return Bar(None) if ratio is None else Bar(exact(ratio), f"{ratio:.3f}")

    series = tuple(
        BarSeries(traversal.spoken(one), one, tuple(bar(graph, one) for graph in graphs), label="counted")
        for one in in_order({access for _, access in found}, traversal.ACCESSES)
    )
    look = {"levels": (Level("even", "", 1.0),), "upright": True, "width": 1.6, "height": HEIGHT}
    title = "the model held against counters: requests counted ÷ modelled"
    return BarPanel(title, tuple(graphs), series, "counted ÷ modelled", "ratio", **look)


def rates_notes(here: Sequence[Run]) -> list[str]:
    """Where the bytes of a rate come from: a time is measured, bytes are counted or the model's."""
    labels = {run.row.traffic.label for run in here if run.row.traffic and run.counter("link_gb_s")}
    if labels == {"counted"}:
        return [
            "Rates over the link: counted bytes in the measured time. Percent: of the measured copy peak."
        ]
    return [
        "Rates over the link: measured time, and bytes as each row has them, the model's where they were "
        "not counted. Percent: of the measured copy peak."
    ]


STATED = {"width": 0.8, "upright": True, "height": HEIGHT}  # how its panels look


def stated_shares() -> BarPanel:
    """Shares of requests that the text states."""
    source = paper(EMOGI)
    numbers = {
        "naive, FS,\nabove 32 B": source["requests_above_32_naive_fs"],
        "merged, mean,\n128 B": source["requests_128_merged"],
        "merged, ML,\n128 B": source["requests_128_merged_ml"],
    }
    bars = [(name, Bar(exact(100 * one.value), f"{100 * one.value:.3g} %")) for name, one in numbers.items()]
    scale = ("share of requests (%)", "%")
    return parts.stated(
        source, "shares of requests, as stated", bars, parts.sources(numbers.values()), scale, **STATED
    )


def stated_rates() -> BarPanel:
    """Rates over PCIe 3 in bfs."""
    source = paper(EMOGI)
    naive, merged, peak = (source[name] for name in ("naive_bfs", "merged_bfs", "memcpy_peak"))
    low, high = source["aligned_gain_least"], source["aligned_gain_most"]
    bars = [
        ("naive,\nup to", _of_peak(naive, peak, ", ")),
        ("merged,\nup to", _of_peak(merged, peak, ", ")),
        ("aligned", Bar(None, f"{low.value:g} to {high.value:g} more", note=low.text)),
    ]
    scale = ("over the link (GB/s)", "GB/s")
    look = STATED | {"levels": _stated_levels()}
    return parts.stated(
        source, "bfs on a V100, PCIe 3 ×16", bars, parts.sources([naive, merged, low]), scale, **look
    )


def stated_amplification() -> BarPanel:
    """Bytes over the link over the size of the data set, 16 GB on the card."""
    source = paper(EMOGI)
    numbers = {
        "UVM,\nFS": source["amplification_uvm_fs"],
        "UVM,\nML": source["amplification_uvm_ml"],
        "UVM,\nSK": source["amplification_uvm_sk"],
        "EMOGI,\nat most": source["amplification_emogi"],
    }
    bars = [(name, Bar(exact(one.value), f"{one.value:g}")) for name, one in numbers.items()]
    scale = ("link bytes ÷ data set", "ratio")
    return parts.stated(
        source, "bfs, a card of 16 GB", bars, parts.sources(numbers.values()), scale, **STATED
    )


def toy_rates() -> BarPanel:
    """Rates of the toy by access."""
    source = paper(EMOGI)
    naive, aligned, peak = (source[name] for name in ("naive_bfs", "merged_aligned", "memcpy_peak"))
    bars = [
        ("strided\n(BFS)", _of_peak(naive, peak, "\n", "BFS, naive; the text says as in figure 4a")),
        ("off by\n32 B", Bar(None, "lower,\nno number")),
        ("aligned", _of_peak(aligned, peak, "\n")),
    ]
    look = {"levels": _stated_levels(), "width": 0.62}
    scale = ("bandwidth (GB/s)", "GB/s")
    return parts.stated(source, "V100, PCIe 3 ×16", bars, parts.sources([naive, aligned]), scale, **look)


def _of_peak(number: Number, peak: Number, gap: str, note: str = "") -> Bar:
    text = f"{number.value:g}{gap}{100 * number.value / peak.value:.0f} %"
    return Bar(exact(number.value), text, note=note)


def _stated_levels() -> tuple[Level, ...]:
    source = paper(EMOGI)
    named = (("cudaMemcpy", source["memcpy_peak"]), ("UVM", source["uvm_peak"]))
    return tuple(Level("paper", name, number.value, source=number.source) for name, number in named)


def toy_mix() -> BarPanel:
    """Requests of the toy by size."""
    source = paper(EMOGI)
    numbers = [source[f"requests_{name}"] for name in ("strided", "merged_32", "merged_aligned")]
    series = tuple(
        BarSeries(
            f"{size} B",
            f"request {size}",
            tuple(Bar(exact(100 * one.value.get(str(size), 0))) for one in numbers),
            label="paper",
            source="; ".join(one.source for one in numbers),
        )
        for size in SIZES
    )
    return BarPanel(
        f"{source.name}, as observed",
        ("strided", "off by\n32 B", "aligned"),
        series,
        "share of requests (%)",
        "%",
        stacked=True,
        width=0.62,
    )


# Figure 8.

SHAPES = (
    ("strided", {"access": "strided"}),
    ("off by\n4 B", {"access": "merged", "offset": 4}),
    ("off by\n32 B", {"access": "merged", "offset": 32}),
    ("off by\n64 B", {"access": "merged", "offset": 64}),
    ("aligned", {"access": "merged_aligned"}),
)


def build(machines: Sequence[Machine]) -> Figure:
    """The toys, and under them the same questions asked of traversals by graph."""
    rows, notes = _toys(machines)
    more, further = panels(machines)
    return Figure(machines, (*rows, *more), (*notes, *further))


def _toys(machines: Sequence[Machine]) -> tuple[list[tuple[Panel, ...]], list[str]]:
    """Bandwidth by access beside the paper's; the requests and the amplification behind it below."""
    launch = _launch(machines)
    if not launch:
        return [], []
    drawn = {name: _shape(machines, {**launch, **axes}) for name, axes in SHAPES}
    there = [name for name, _ in SHAPES if drawn[name]]
    traffic = _of_one_label({name: _traffic(machines, {**launch, **dict(SHAPES)[name]}) for name in there})
    size, *rest = (launch.pop("bytes"), *(f"{axis} {value}" for axis, value in sorted(launch.items())))
    notes = [
        f"Zero-copy reads of {format_bytes(size)}; {', '.join(rest)}. “Off by”: merged, but not at 128 B.",
        "Percent: of the measured copy peak; in the paper's panel, of its cudaMemcpy.",
    ]
    notes += parts.first_sites(machines, ZERO_COPY, "Bandwidth")
    top = (_bandwidth(there, drawn), toy_rates())
    if not any(traffic.values()):
        return [top], notes
    notes += _without_cache(traffic)
    below = (_toy_mix(there, traffic), toy_mix(), _toy_amplification(there, traffic))
    return [top, below], notes


def _rows(machines: Sequence[Machine]) -> list[tuple[int, Row]]:
    return [
        (machine.index, row)
        for machine in machines
        for row in machine.result.of(ZERO_COPY)
        if row.ok and row.case.axes.get("direction") == "read" and row.median_s
    ]


def _launch(machines: Sequence[Machine]) -> dict[str, str | float]:
    """The size and launch (width, blocks, allocation, …) that most accesses on most machines share.

    Of several, 4 B a lane as in the paper, then the largest, then the fastest: accesses are only
    comparable where nothing else differs.
    """
    asked: dict[tuple, dict[tuple, float]] = {}
    for index, row in _rows(machines):
        axes = row.case.axes
        key = row.case.without("access", "offset", "direction", "locality")
        shapes = asked.setdefault(key, {})
        shape = (index, axes.get("access"), axes.get("offset"))
        shapes[shape] = max(shapes.get(shape, 0.0), row.bandwidth_gb_s or 0.0)
    usable = {key: shapes for key, shapes in asked.items() if len({access for _, access, _ in shapes}) > 1}
    if not usable:
        return {}

    def worth(key: tuple) -> tuple:
        axes = dict(key)
        return len(usable[key]), axes.get("width") == 4, axes.get("bytes", 0), max(usable[key].values()), key

    return dict(max(usable, key=worth))


def _shape(machines: Sequence[Machine], axes: dict) -> list[Curve]:
    where = {"direction": "read", "locality": NEAREST, **axes}
    all_curves = curves(machines, ZERO_COPY, where, name="zero-copy read", method="zero_copy").curves
    return [curve for curve in all_curves if curve.primary]


def _bandwidth(there: list[str], drawn: dict[str, list[Curve]]) -> BarPanel:
    every = [curve for name in there for curve in drawn[name]]
    levels = parts.levels(every, HOST_TO_GPU)
    owners = parts.machines_of(every)
    series = tuple(
        BarSeries(
            f"zero-copy read, {machine.letter}" if len(owners) > 1 else "zero-copy read",
            "zero_copy",
            tuple(_bar(drawn[name], machine, levels, len(owners) > 1) for name in there),
            machine,
        )
        for machine in owners
    )
    title = "zero-copy read, bandwidth by access"
    return BarPanel(title, tuple(there), series, "bandwidth (GB/s)", "GB/s", levels=levels)


def _bar(drawn: list[Curve], machine: Machine, levels: Sequence[Level], several: bool) -> Bar:
    curve = next((curve for curve in drawn if curve.machine.index == machine.index), None)
    if curve is None:
        return Bar(None, "no row")
    point = curve.points[0]
    site = dict(curve.site)
    own = [level for level in levels if level.kind == "peak" and level.machine is machine]
    peak = next(
        (level for level in own if dict(level.site) == {key: site.get(key) for key in ("gpu", "numa")}), None
    )
    share = f"\n{100 * point.y.value / peak.value:.0f} %" if peak else ""
    owner = f"{machine.letter}\n" if several else ""
    return Bar(point.y, f"{owner}{point.y.value:.1f}{share}", point.flags)


def _traffic(machines: Sequence[Machine], axes: dict) -> Row | None:
    """A row of this access with its requests, which follow from the access and are the same everywhere."""
    for _, row in _rows(machines):
        there = row.traffic and row.traffic.requests_by_size
        if there and all(row.case.axes.get(axis) == value for axis, value in axes.items()):
            return row
    return None


def _of_one_label(traffic: dict[str, Row | None]) -> dict[str, Row | None]:
    """Only what most rows are, modelled or counted: no comparison mixes them."""
    labels = [row.traffic.label for row in traffic.values() if row]
    common = max(sorted(set(labels)), key=labels.count, default="")
    return {name: row if row and row.traffic.label == common else None for name, row in traffic.items()}


def _without_cache(traffic: dict[str, Row | None]) -> list[str]:
    """What the model says of caches, where the file has its other bound: a strided walk depends on them."""
    more = {}
    for name, row in traffic.items():
        without = row.counters.get("requests_without_cache") if row else None
        if without and row.traffic.requests and without > 1.01 * row.traffic.requests:
            more[" ".join(name.split())] = without / row.traffic.requests
    if not more:
        return []
    said = ", ".join(f"{name} {significant(factor)} times as many" for name, factor in more.items())
    return [
        f"Modelled as if caches kept every sector; if they kept none, more requests: {said}.",
        "Whiskers of the amplification: if caches kept none.",
    ]


def _label(traffic: dict[str, Row | None]) -> str:
    return ", ".join(sorted({row.traffic.label for row in traffic.values() if row}))


def _toy_mix(there: list[str], traffic: dict[str, Row | None]) -> BarPanel:
    def share(name: str, size: int) -> Bar:
        row = traffic[name]
        if row is None:
            return Bar(None)
        total = sum(row.traffic.requests_by_size.values())
        return Bar(exact(100 * row.traffic.requests_by_size.get(size, 0) / total))

    label = _label(traffic)
    series = tuple(
        BarSeries(f"{size} B", f"request {size}", tuple(share(name, size) for name in there), label=label)
        for size in SIZES
    )
    return BarPanel(
        f"requests by size ({label})", tuple(there), series, "share of requests (%)", "%", stacked=True
    )


def _toy_amplification(there: list[str], traffic: dict[str, Row | None]) -> BarPanel:
    def bar(name: str) -> Bar:
        row = traffic[name]
        if row is None or row.traffic.amplification is None:
            return Bar(None, "not\ngiven")
        least = row.traffic.amplification
        most = max(least, row.counters.get("amplification_without_cache", least))
        text = significant(least) if most == least else f"{significant(least)} to\n{significant(most)}"
        return Bar(Estimate(least, least, most), text)

    label = _label(traffic)
    series = (
        BarSeries("bytes over the link ÷ bytes asked for", "traffic", tuple(map(bar, there)), label=label),
    )
    return BarPanel(f"amplification ({label})", tuple(there), series, "link bytes ÷ asked bytes", "ratio")


FIGURES = (
    Entry("8", "figure_8_requests", "Zero-copy reads by access: bandwidth, requests, amplification",
          (ZERO_COPY, *FAMILIES),
          "rows of one size with several accesses, or with requests by graph,", build),
)  # fmt: skip
