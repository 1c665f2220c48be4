"""Figure 19: traversals that move fewer bytes, by technique and by GPU memory, and its table.

Each is compared with the fastest walk over whole lists of the same graph in host memory, and with edges in
GPU memory: what a better algorithm buys beside a faster link. The table has every technique's time, bytes and
speedups, and how near the model comes to them.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Entry,
    Figure,
    Level,
    Panel,
    TableCell,
    TablePanel,
    TableRow,
    exact,
)
from grainscope_report.groups import lean, traversal
from grainscope_report.groups.lean import HOT, Lean
from grainscope_report.groups.traversal import HERE, Run, Work
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_time, plural

MOST_GRAPHS = 4
DEVICE = "device"
HEIGHT = 1.5
EMOGIS, IN_GPU = "EMOGI's best", "edges in GPU memory"
ALONE = "the algorithm alone"
TIERS = ("none", "heads", "lists", "reuse")
COMPRESSED = ("compressed lists",)
COLOURS = {
    **{((), tier): f"lean {tier}" for tier in TIERS},
    **{(COMPRESSED, tier): f"lean compressed {tier}" for tier in TIERS},
    (("hybrid",), "none"): "lean hybrid",
}
NOTES = (
    "Speedup over EMOGI's best: the fastest walk over whole lists of the same graph, its edges mapped in "
    "host memory, of any width, in their original order: by EMOGI's accesses or by GraphPEG's exchange (edge "
    "gather, emulated), as the table says; the median of the ratios of the same sources. Upright: time.",
    "Time: a mean trial's edges ÷ the harmonic mean of TEPS over all sources; its whiskers are 95 % of that "
    "mean, of fewer than 8 trials their range.",
    "Hot: so many percent of the edge list, beginnings of lists, are in GPU memory as well; which ones is "
    "said where it is not the fastest choice. Of several budgets the bars of speedup have the largest. "
    "Below the percent stands all GPU memory of the bar that takes most.",
)


def build(machines: Sequence[Machine]) -> Figure:
    """Speedups by technique, time by budget, then a table of every row."""
    every = {machine.index: lean.measured(machine) for machine in machines}
    if not any(every.values()):
        return Figure(machines, ())
    graphs = traversal.graphs([technique.run for there in every.values() for technique in there], MOST_GRAPHS)
    emogi = {machine.index: traversal.measured(machine) for machine in machines}
    bars, budgets = [], []
    for machine in machines:
        owner = parts.owner(machine, len(machines) > 1)
        there, others = every[machine.index], emogi[machine.index]
        bars += _speedups(machine, there, others, graphs, owner)
        budgets += _budgets(machine, there, others, graphs, owner)
    rows: list[tuple[Panel, ...]] = [*traversal.arranged(bars), *traversal.in_pairs(budgets)]
    rows += [(panel,) for panel in tables(machines, every, emogi)]
    more = [
        graph for graph in traversal.graphs([o.run for t in every.values() for o in t]) if graph not in graphs
    ]
    notes = [*(NOTES if bars or budgets else ()), *TABLE_NOTES]
    notes += [f"Not drawn, but in the table: smaller graphs: {', '.join(more)}."] if more else []
    notes += parts.first_sites(machines, "lean/bfs", "Measured")
    return Figure(machines, tuple(rows), tuple(notes))


def _works(chosen_techniques: Sequence[Lean], algorithm: str, graphs: Sequence[str]) -> list[Work]:
    """The works of an algorithm, the largest graph first."""
    works = lean.works(chosen_techniques)
    return [work for work in works if work.algorithm == algorithm and work.graph in graphs]


def _speedups(
    machine: Machine,
    chosen_techniques: Sequence[Lean],
    emogi: Sequence[Run],
    graphs: Sequence[str],
    owner: str,
) -> list[BarPanel]:
    """A panel for each algorithm: each technique alone and together over EMOGI's best."""
    panels = []
    for algorithm in traversal.algorithms(technique.run for technique in chosen_techniques):
        works = [
            one for one in _works(chosen_techniques, algorithm, graphs) if lean.base(emogi, one, "mapped")
        ]
        if not works:
            continue
        own = [technique for technique in chosen_techniques if technique.run.work in works]
        ways = techniques(own)
        series = [_device(machine, works, emogi)]
        series += [_technique(machine, works, own, emogi, way) for way in ways]
        kept = tuple(one for one in series if any(bar.value for bar in one.bars))
        look = {"levels": (Level("even", "", 1.0),), "upright": True, "height": HEIGHT}
        title = f"{owner}{algorithm}, {lean.spoken(own[0].strategy)}"
        names = tuple(work.text for work in works)
        panels.append(BarPanel(title, names, kept, "speedup over EMOGI's best", "ratio", **look))
    return panels


def techniques(chosen_techniques: Sequence[Lean]) -> list[tuple[str, ...]]:
    """Each technique and each combination, the simple ones first."""
    return sorted(
        {technique.techniques for technique in chosen_techniques}, key=lambda way: (len(way), HOT in way, way)
    )


def _device(machine: Machine, works: Sequence[Work], emogi: Sequence[Run]) -> BarSeries:
    bars = []
    for work in works:
        slow, fast = lean.base(emogi, work, "mapped"), lean.base(emogi, work, DEVICE)
        bars.append(_bar(slow, fast, machine, IN_GPU))
    return BarSeries(IN_GPU, DEVICE, tuple(bars))


def _technique(
    machine: Machine, works: Sequence[Work], own: Sequence[Lean], emogi: Sequence[Run], way: tuple[str, ...]
) -> BarSeries:
    bars = []
    for work in works:
        best = fastest(
            [technique for technique in own if technique.run.work == work and technique.techniques == way]
        )
        run = best.run if best else None
        bars.append(_bar(lean.base(emogi, work, "mapped"), run, machine, best.text if best else ""))
    more = [one for one in way if one != HOT]
    return BarSeries(said(way, own), method(more, TIERS[HOT in way]), tuple(bars))


def fastest(chosen_techniques: Sequence[Lean]) -> Lean | None:
    """Of those with the largest budget the fastest."""
    most = max((technique.hot for technique in chosen_techniques), default=0.0)
    return min(
        (technique for technique in chosen_techniques if technique.hot == most),
        key=lambda technique: technique.run.time.value,
        default=None,
    )


def said(way: Sequence[str], own: Sequence[Lean]) -> str:
    """`compressed lists, 25 % hot`; what has none of the techniques is the algorithm alone."""
    most = max((technique.hot for technique in own if technique.techniques == tuple(way)), default=0.0)
    words = [f"{most:.3g} % hot" if one == HOT else one for one in way]
    return ", ".join(words) or ALONE


def method(more: Sequence[str], tier: str) -> str:
    """The colour of a combination, the same wherever it is drawn; what is not known has one of three."""
    if (tuple(more), tier) in COLOURS:
        return COLOURS[tuple(more), tier]
    return f"lean {zlib.crc32(' '.join([*more, tier]).encode()) % 3}"


def _bar(slow: Run | None, fast: Run | None, machine: Machine, note: str) -> Bar:
    if slow is None or fast is None:
        return Bar(None, machine=machine)
    text = format_time(lean.mean_time(fast).value)
    return Bar(traversal.speedup(slow, fast), text, note=f"{text}, {note}", machine=machine)


def _budgets(
    machine: Machine,
    chosen_techniques: Sequence[Lean],
    emogi: Sequence[Run],
    graphs: Sequence[str],
    owner: str,
) -> list[BarPanel]:
    """Time against the budget, a panel for each work that was measured with any."""
    panels = []
    for algorithm in traversal.algorithms(technique.run for technique in chosen_techniques):
        for work in _works(chosen_techniques, algorithm, graphs):
            own = [technique for technique in chosen_techniques if technique.run.work == work]
            budgets = sorted({technique.hot for technique in own})
            if len(budgets) > 1:
                panels.append(_budget(machine, own, emogi, work, budgets, owner))
    return panels


def _budget(
    machine: Machine,
    own: Sequence[Lean],
    emogi: Sequence[Run],
    work: Work,
    budgets: Sequence[float],
    owner: str,
) -> BarPanel:
    ways = sorted(
        {(technique.more, technique.tier) for technique in own},
        key=lambda way: (len(way[0]), way[0], _place(way[1])),
    )
    levels = [
        Level("even", f"{name} {format_time(lean.mean_time(run).value)}", 1e3 * lean.mean_time(run).value)
        for placement, name in (("mapped", EMOGIS), (DEVICE, IN_GPU))
        if (run := lean.base(emogi, work, placement))
    ]
    by_place = {(technique.more, technique.tier, technique.hot): technique for technique in own}
    series = []
    for more, tier in ways:
        bars = tuple(_time(by_place.get((more, tier, hot)), machine) for hot in budgets)
        name = ", ".join([*more, *([] if tier == "none" else [f"hot {tier}"])]) or ALONE
        series.append(BarSeries(name, method(more, tier), bars))
    names = tuple(_budget_name(hot, own) for hot in budgets)
    title = f"{owner}{work.algorithm} {work.text}: time by GPU memory"
    look = {"levels": tuple(levels), "upright": True, "height": HEIGHT}
    return BarPanel(title, names, tuple(series), "time (ms)", "ms", **look)


def _place(tier: str) -> int:
    return TIERS.index(tier) if tier in TIERS else len(TIERS)


def _budget_name(hot: float, own: Sequence[Lean]) -> str:
    """Percent of the edges, and all GPU memory of the technique that takes most."""
    size = max((technique.gpu_bytes or 0.0 for technique in own if technique.hot == hot), default=0.0)
    return f"{hot:.3g} %" + (f"\n{format_bytes(size)}" if size else "")


def _time(technique: Lean | None, machine: Machine) -> Bar:
    if technique is None:
        return Bar(None, machine=machine, blank=True)
    time = lean.mean_time(technique.run)
    return Bar(time.scaled(1e3), note=technique.text, machine=machine)


COLUMNS = (
    "technique", "graph", "time", "link bytes", "GPU bytes", "× EMOGI", "× device", "pays after", "model",
    "off", "its bytes", "off by",
)  # fmt: skip
RIGHT = (False, *[True] * 10)
MEASURED, MODELLED = "measured", "modelled"
GPU_BOUND = 0.5  # of the time, that the link leaves idle at least
NONE = TableCell("–")
TABLE_NOTES = (
    "Table: link bytes are what the reads touch, in sectors of 32 bytes, the median over sources (of EMOGI's "
    "and GraphPEG's accesses each different sector of a level once); GPU bytes are all memory there: state, "
    "where lists lie, and edges; "
    "× EMOGI and × device: how many times faster than EMOGI's best, the first line of each graph, and than "
    "edges in GPU memory. Pays after: so many runs save as much time beside EMOGI's best as the host takes "
    "once before them, to number vertices by degree, compress lists and choose what is hot.",
    "The model is of the link alone: its time is an estimate of what the first source's requests take over "
    "this machine's. What the GPU computes meanwhile is not in it; it may also be too long, because it knows "
    "no cache, most where the lists fit the GPU's. Off: its time against that source's; (GPU): less than "
    "half of it, so that the traversal does not wait for the link. Its bytes: a row whose reads are not the "
    "model's fails, but of sssp, whose reads depend on who comes first.",
)


def tables(
    machines: Sequence[Machine], every: Mapping[int, Sequence[Lean]], emogi: Mapping[int, Sequence[Run]]
) -> list[TablePanel]:
    """A table for each algorithm."""
    panels = []
    for algorithm in traversal.algorithms(technique.run for there in every.values() for technique in there):
        rows: list[TableRow] = []
        strategy = ""
        for machine in machines:
            owner = parts.owner(machine, len(machines) > 1)
            own = [
                technique for technique in every[machine.index] if technique.run.work.algorithm == algorithm
            ]
            for work in lean.works(own):
                there = [technique for technique in own if technique.run.work == work]
                strategy = lean.spoken(there[0].strategy)
                rows += _lines(machine, there, emogi, work, owner)
        title = f"{algorithm}, {strategy}: every technique (measured, its model beside)"
        panels.append(TablePanel(title, COLUMNS, tuple(rows), RIGHT, width=2.0))
    return panels


def _lines(
    machine: Machine, own: Sequence[Lean], emogi: Mapping[int, Sequence[Run]], work: Work, owner: str
) -> list[TableRow]:
    """The base, edges in GPU memory, then the techniques: each alone, then together."""
    mapped, device = (lean.base(emogi[machine.index], work, place) for place in ("mapped", "device"))
    lines = []
    if mapped:
        lines.append(
            _whole(machine, mapped, f"{owner}{lean.whose(mapped)}: {_access(mapped)}", mapped, device)
        )
    if device:
        lines.append(_whole(machine, device, f"{owner}device: {_access(device)}", mapped, device))
    order = sorted(
        own, key=lambda technique: (len(technique.more), technique.more, technique.hot, technique.tier)
    )
    return [*lines, *(_line(machine, technique, owner, mapped, device) for technique in order)]


def _access(run: Run) -> str:
    return f"{traversal.spoken(run.access)}, {run.work.edge} B"


def _line(machine: Machine, technique: Lean, owner: str, mapped: Run | None, device: Run | None) -> TableRow:
    run = technique.run
    seconds, error = technique.modelled or (None, None)
    size, off = technique.modelled_bytes or (None, None)
    cells = (
        TableCell(run.work.text),
        _time_cell(lean.mean_time(run)),
        _bytes(run.row.link_bytes_least),
        _bytes(technique.gpu_bytes),
        _speedup(mapped, run),
        _speedup(device, run),
        _pays_after(technique, mapped),
        NONE if seconds is None else _time_cell(exact(seconds), MODELLED),
        _time_error(error),
        _bytes(size, MODELLED),
        _error(off),
    )
    return TableRow(f"{owner}{technique.technique.replace(' lists', '')}", cells, machine)


def _pays_after(technique: Lean, mapped: Run | None) -> TableCell:
    after = technique.pays_after(mapped)
    return NONE if after is None else TableCell(plural(after, "run"), exact(after), "runs", MEASURED)


def _whole(machine: Machine, run: Run, name: str, mapped: Run | None, device: Run | None) -> TableRow:
    inside = run.placement == "device"
    bound = None if inside else _bound(machine, run)
    traffic = None if inside else run.traffic("modelled")
    cells = (
        TableCell(run.work.text),
        _time_cell(lean.mean_time(run)),
        NONE if inside else _bytes(run.row.link_bytes_least),
        _bytes(run.counter("gpu_bytes")),
        _speedup(mapped, run),
        _speedup(device, run),
        NONE,
        _time_cell(exact(bound), MODELLED) if bound else NONE,
        _error(bound / run.time.value - 1 if bound else None),
        _bytes(traffic.bytes if traffic else None, MODELLED),
        NONE,
    )
    return TableRow(name, cells, machine)


def _bound(machine: Machine, run: Run) -> float | None:
    """What the model says of the same walk over this machine's own link."""
    there = [
        modelled
        for modelled in traversal.modelled(machine)
        if (modelled.work, modelled.access, modelled.link) == (run.work, run.access, HERE)
    ]
    return there[0].time.value if there else None


def _time_cell(time: Estimate, label: str = MEASURED) -> TableCell:
    return TableCell(format_time(time.value) if time.value else "0", time, "s", label)


def _bytes(size: float | None, label: str = MEASURED) -> TableCell:
    if size is None:
        return NONE
    return TableCell(format_bytes(size) if size else "0", exact(size), "bytes", label)


def _speedup(slow: Run | None, fast: Run) -> TableCell:
    if slow is None or slow is fast:
        return NONE
    ratio = traversal.speedup(slow, fast)
    return TableCell(f"{ratio.value:.2f}×", ratio, "ratio", MEASURED)


def _time_error(share: float | None) -> TableCell:
    error = _error(share)
    bound = share is not None and share < -GPU_BOUND
    return replace(error, text=f"{error.text} (GPU)") if bound else error


def _error(share: float | None) -> TableCell:
    if share is None:
        return NONE
    percent = 100 * share
    text = "0 %" if abs(percent) < 0.05 else f"{percent:+.0f} %".replace("-", "−")
    return TableCell(text, exact(percent), "%", MODELLED)


FIGURES = (
    Entry("19", "figure_19_fewer_bytes",
          "Traversals that move fewer bytes, by technique and GPU memory", lean.FAMILIES, "rows",
          build, beside=traversal.MEASURED_FAMILIES),
)  # fmt: skip
