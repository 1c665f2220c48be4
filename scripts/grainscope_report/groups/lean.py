"""Traversals that move fewer bytes (families `lean/`): what each technique is, takes and moves, what it buys
beside the fastest walk over whole lists of the same graph; and figure 19, by technique and by GPU memory,
with its table.

A technique is what is done beside the algorithm itself: beginnings of lists kept in GPU memory, compressed
lists, and whatever further axis says something else than that there is none of it.

In the figure each is compared with the fastest walk over whole lists of the same graph in host memory, and
with edges in GPU memory: what a better algorithm buys beside a faster link. The table has every technique's
time, bytes and speedups, what is prepared once for it, and how near the model comes to them.
"""

import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev
from typing import Any

from grainscope_report import naming, statistics
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
from grainscope_report.groups import lean_preparing, traversal
from grainscope_report.groups.lean_preparing import Line, Prepared
from grainscope_report.groups.traversal import HERE, LEAN, Run, Work
from grainscope_report.machine import Machine
from grainscope_report.statistics import FEWEST_FOR_INTERVAL, Z_95, Estimate, plain
from grainscope_report.units import format_bytes, format_time, plural

FAMILIES = tuple(f"{LEAN}{algorithm}" for algorithm in ("bfs", "cc", "pr", "sssp"))
# Axes that say what is computed and where, and those that are told in words of their own.
_OTHERS = {
    "graph",
    "weights",
    "locality",
    "strategy",
    "tier",
    "hot",
    "hot_budget",
    "lists",
    "segments",
    "gpus",
}
_NOT_THERE = {"none", "off", "no", "plain", "read", 0}
HOT = "hot"
EXCHANGE = "edge_gather"  # GraphPEG's, emulated
NEVER = "never"  # no number of runs saves what was prepared, for all that intervals tell


@dataclass(frozen=True)
class Lean:
    """One technique on one work: `tier` is which beginnings of lists are hot, `hot` percent of the edges.

    `more` are the other techniques in words: `compressed lists`.
    """

    run: Run
    strategy: str
    tier: str
    hot: float
    more: tuple[str, ...]

    @property
    def techniques(self) -> tuple[str, ...]:
        """What is done beside the algorithm, whatever is hot and how much."""
        return (*self.more, *([HOT] if self.hot else []))

    @property
    def technique(self) -> str:
        """`compressed lists, 25 % hot (heads)`, or `alone`."""
        hot = [f"{self.hot:.3g} % hot ({self.tier})"] if self.hot else []
        return ", ".join([*self.more, *hot]) or "alone"

    @property
    def short(self) -> str:
        """`compressed, 25 % hot (heads)`, or `alone`."""
        return self.technique.replace(" lists", "")

    @property
    def text(self) -> str:
        """`direction-optimising, compressed lists, 25 % hot (heads)`."""
        return ", ".join([spoken(self.strategy), *([] if self.technique == "alone" else [self.technique])])

    @property
    def brief(self) -> str:
        """`25 % hot (heads), compressed`, or `the algorithm alone`: what it is told apart by comes first."""
        hot = [f"{self.hot:.3g} % hot ({self.tier})"] if self.hot else []
        return ", ".join([*hot, *self.more]).replace(" lists", "") or ALONE

    @property
    def hot_bytes(self) -> float:
        """GPU memory for edges."""
        return self.run.counter("hot_bytes") or 0.0

    @property
    def gpu_bytes(self) -> float | None:
        """All GPU memory: state, where lists lie, edges; None of rows from before it was counted."""
        return self.run.counter("gpu_bytes")

    @property
    def prepared(self) -> Prepared | None:
        """What the host works out once, before every run."""
        return lean_preparing.prepared(self.run.row)

    def pays_after(self, walk: Run | None) -> int | None:
        """How many runs take as much less than those of a walk over whole lists as was prepared.

        None: no number does, for all that their intervals tell, or one of both is not known.
        """
        prepared = self.prepared
        if walk is None or prepared is None:
            return None
        own, whole = mean_time(self.run), mean_time(walk)
        return math.ceil(prepared.seconds / (whole.value - own.value)) if own.high < whole.low else None

    def paid(self, walk: Run | None) -> str:
        """`71 runs`, or `never`; nothing where it is not known."""
        if walk is None or self.prepared is None:
            return ""
        after = self.pays_after(walk)
        return NEVER if after is None else plural(after, "run")

    @property
    def crosses(self) -> bool:
        """Whether anything is read over the link; where nothing is, its model says nothing of the time."""
        return self.run.row.link_bytes_least != 0

    @property
    def modelled(self) -> tuple[float, float] | None:
        """The model's time of the first trial, seconds, and how far off it is, as a share of the measured."""
        seconds, share = self.run.counter("modelled_s"), self.run.counter("modelled_over_measured")
        known = seconds is not None and share is not None and self.crosses
        return (seconds, share - 1) if known else None

    @property
    def modelled_bytes(self) -> tuple[float, float | None] | None:
        """The model's bytes over the link in the first trial, and how far off what was moved they are.

        Rows whose reads are not the model's fail, but for sssp, whose reads depend on who comes first. Of
        nothing that was moved nothing is off.
        """
        traffic = self.run.traffic("modelled")
        if traffic is None or traffic.bytes is None:
            return None
        modelled = traffic.bytes + (self.run.counter("modelled_copied_bytes") or 0)
        first = self.run.row.trials[0].counters.get("link_bytes") if self.run.row.trials else None
        return modelled, modelled / first - 1 if first else None


def spoken(strategy: str) -> str:
    """`direction-optimising`, `near-far`."""
    return strategy.replace("_", "-")


def measured(machine: Machine) -> list[Lean]:
    """What this machine measured, at the site that most of its rows are of."""
    runs = traversal.of_family(machine, LEAN)
    usual = {
        algorithm: Counter(_strategy(run) for run in runs if run.work.algorithm == algorithm)
        for algorithm in traversal.algorithms(runs)
    }
    return [_lean(run, usual[run.work.algorithm].most_common(1)[0][0]) for run in runs]


def of(run: Run) -> Lean:
    """One run, by itself."""
    return _lean(run, _strategy(run))


def _strategy(run: Run) -> str:
    return str(run.row.case.axes.get("strategy", ""))


def _lean(run: Run, usual: str) -> Lean:
    """Another strategy than the usual one of the algorithm is a technique, too."""
    axes = run.row.case.axes
    lists, strategy = str(axes.get("lists", "plain")), _strategy(run)
    segments = str(axes.get("segments", "read"))
    more = [] if strategy == usual else [spoken(strategy)]
    more += [] if lists in _NOT_THERE else [f"{lists} lists"]
    more += [] if segments in _NOT_THERE else [segments]
    for axis, value in axes.items():
        if axis in ("packed", "answers"):
            more.append(naming.word(axis, str(value)))
        elif axis not in _OTHERS and value not in _NOT_THERE:
            more.append(axis if value in ("on", "yes", 1) else f"{axis} {value}")
    return Lean(run, usual, str(axes.get("tier", "none")), _hot(run), tuple(more))


def _hot(run: Run) -> float:
    """Percent of the edge list in GPU memory; of a budget in bytes, what it came to."""
    axes = run.row.case.axes
    return (run.counter("hot_percent") or 0.0) if "hot_budget" in axes else float(axes.get("hot", 0))


def like(run: Run, work: Work) -> bool:
    """Whether a run is of the same algorithm, graph and weights, whatever its edges' width."""
    one = run.work
    return (one.algorithm, one.graph) == (work.algorithm, work.graph) and one.weights == work.weights


def base(runs: Sequence[Run], work: Work, placement: str) -> Run | None:
    """The fastest walk over whole lists of a work, in the original order, with its edges in this placement.

    By EMOGI's accesses or GraphPEG's exchange.
    """
    return traversal.fastest(
        run
        for run in runs
        if like(run, work) and (run.placement, run.order) == (placement, traversal.ORDERS[0])
    )


def whose(run: Run) -> str:
    """Who walks whole lists so."""
    return "GraphPEG" if run.access == EXCHANGE else "EMOGI"


def mean_time(run: Run) -> Estimate:
    """Seconds, the mean over trials after GAP: a mean trial's edges over the harmonic mean of TEPS.

    So a source from which little is reached counts for little. Whiskers are 95 % of that mean, of fewer
    than 8 trials their range, and of one input nothing; what visits and runs differ by comes to that.
    """
    times, edges = run.trials, _edges(run)
    if not times:
        return run.time
    mean = fmean(edges.get(label, 1.0) for label in times)
    each = [time * mean / edges.get(label, 1.0) for label, time in times.items()]
    value, visits = fmean(each), run.time.visits
    told = [run.time] if run.row.interval_s else []
    if told and not run.row.of_inputs:
        interval = (value, value)
    elif len(each) < FEWEST_FOR_INTERVAL:
        interval = (min(each), max(each))
    else:
        off = Z_95 * stdev(each) / math.sqrt(len(each))
        interval = (value * math.exp(-off / value), value + off)
    return statistics.widened(Estimate(value, *interval, visits), *told)


def _edges(run: Run) -> dict[str, float]:
    """The edges that each trial's TEPS counts; nothing where any trial has none."""
    found = {
        trial.label: trial.counters.get("teps", 0.0) * median(trial.samples_s) for trial in run.row.trials
    }
    return found if all(found.values()) and found.keys() == run.trials.keys() else {}


@dataclass(frozen=True)
class Gain:
    """The fastest technique on a work, of those with this budget of GPU memory for edges.

    `over` by placement: how much faster it is than the fastest walk over whole lists there (`emogi`: by
    EMOGI's accesses or GraphPEG's exchange).
    """

    best: Lean
    emogi: Run | None
    over: dict[str, Estimate]

    @property
    def work(self) -> Work:
        """What is computed."""
        return self.best.run.work

    @property
    def bytes_over(self) -> float | None:
        """The bytes that the walk asks of the link for each of its own; None where either is not known.

        In sectors, as if no cache kept any: where one may, how many of the walk's cross is not known.
        """
        own, walk = self.best.run.row.link_bytes_least, self.emogi
        traffic = walk.traffic("modelled") if walk else None
        asked = traffic.bytes if traffic else walk.row.link_bytes_least if walk else None
        return asked / own if own and asked else None


def works_of(techniques: Sequence[Lean]) -> list[Work]:
    """What is computed, by algorithm, the largest graph first."""
    graphs = traversal.graphs([technique.run for technique in techniques])
    algorithms = traversal.algorithms(technique.run for technique in techniques)
    return sorted(
        {technique.run.work for technique in techniques},
        key=lambda work: (algorithms.index(work.algorithm), graphs.index(work.graph), work.weights),
    )


def gains(machine: Machine) -> list[Gain]:
    """For each work, the fastest without edges in GPU memory and the fastest of each budget."""
    there, emogi = measured(machine), traversal.measured(machine)
    all_gains = []
    for work in works_of(there):
        own = [one for one in there if one.run.work == work]
        for hot in sorted({one.hot for one in own}):
            all_gains.append(_gain([one for one in own if one.hot == hot], emogi, work))
    return all_gains


def _gain(own: Sequence[Lean], emogi: Sequence[Run], work: Work) -> Gain:
    best = min(own, key=lambda technique: technique.run.time.value)
    bases = {placement: base(emogi, work, placement) for placement in ("mapped", "device")}
    over = {name: traversal.speedup(run, best.run) for name, run in bases.items() if run}
    return Gain(best, bases["mapped"], over)


def as_json(gain: Gain) -> dict[str, Any]:
    """Everything, plain: seconds, bytes."""
    best, time = gain.best, mean_time(gain.best.run)
    prepared = best.prepared
    return {
        "algorithm": gain.work.algorithm,
        "graph": gain.work.graph,
        "weights": gain.work.weights or None,
        "strategy": best.strategy,
        "technique": best.technique,
        "hot_percent": best.hot,
        "time_s": plain(time),
        "link_bytes": best.run.row.link_bytes_least,
        "gpu_bytes": best.gpu_bytes,
        "gpu_bytes_for_edges": best.hot_bytes,
        "prepared_s": prepared.seconds if prepared else None,
        "prepared": prepared.parts if prepared else None,
        "prepared_untimed": list(prepared.untimed) if prepared else None,
        "pays_after_runs": best.pays_after(gain.emogi),
        "over_emogi": plain(gain.over.get("mapped")),
        "over_device": plain(gain.over.get("device")),
        "fewer_bytes_than_emogi": gain.bytes_over,
        "emogi_access": gain.emogi.access if gain.emogi else None,
        "modelled_s": best.modelled[0] if best.modelled else None,
        "modelled_off": best.modelled[1] if best.modelled else None,
    }


# Figure 19.

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
    "mean, of fewer than 8 trials their range, and of what visits and runs differ by.",
    "Hot: so many percent of the edge list, beginnings of lists, are in GPU memory as well; which ones is "
    "said where it is not the fastest choice. Of several budgets the bars of speedup have the largest. "
    "Below the percent stands all GPU memory of the bar that takes most.",
)


def build(machines: Sequence[Machine]) -> Figure:
    """Speedups by technique, time by budget, then a table of every row."""
    every = {machine.index: measured(machine) for machine in machines}
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
    rows += [(panel,) for panel in (*tables(machines, every, emogi), *_preparing(machines, every, emogi))]
    more = [
        graph for graph in traversal.graphs([o.run for t in every.values() for o in t]) if graph not in graphs
    ]
    notes = [*(NOTES if bars or budgets else ()), *TABLE_NOTES, *_said_of_preparing(every, emogi)]
    notes += [f"Not drawn, but in the table: smaller graphs: {', '.join(more)}."] if more else []
    notes += parts.first_sites(machines, "lean/bfs", "Measured")
    return Figure(machines, tuple(rows), tuple(notes))


def _works(chosen_techniques: Sequence[Lean], algorithm: str, graphs: Sequence[str]) -> list[Work]:
    """The works of an algorithm, the largest graph first."""
    works = works_of(chosen_techniques)
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
        works = [one for one in _works(chosen_techniques, algorithm, graphs) if base(emogi, one, "mapped")]
        if not works:
            continue
        own = [technique for technique in chosen_techniques if technique.run.work in works]
        ways = techniques(own)
        series = [_device(machine, works, emogi)]
        series += [_technique(machine, works, own, emogi, way) for way in ways]
        kept = tuple(one for one in series if any(bar.value for bar in one.bars))
        look = {"levels": (Level("even", "", 1.0),), "upright": True, "height": HEIGHT}
        title = f"{owner}{algorithm}, {spoken(own[0].strategy)}"
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
        slow, fast = base(emogi, work, "mapped"), base(emogi, work, DEVICE)
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
        bars.append(_bar(base(emogi, work, "mapped"), run, machine, best.text if best else ""))
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
    text = format_time(mean_time(fast).value)
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
        Level("even", f"{name} {format_time(mean_time(run).value)}", 1e3 * mean_time(run).value)
        for placement, name in (("mapped", EMOGIS), (DEVICE, IN_GPU))
        if (run := base(emogi, work, placement))
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
    time = mean_time(technique.run)
    return Bar(time.scaled(1e3), note=technique.text, machine=machine)


COLUMNS = (
    "technique", "graph", "time", "link bytes", "GPU bytes", "× EMOGI", "× device", "model", "off",
    "its bytes", "off by",
)  # fmt: skip
RIGHT = (False, *[True] * 9)
MEASURED, MODELLED = "measured", "modelled"
GPU_BOUND = 0.5  # of the time, that the link leaves idle at least
NONE = TableCell("–")
TABLE_NOTES = (
    "Table: link bytes are what the reads touch, in sectors of 32 bytes, the median over sources (of EMOGI's "
    "and GraphPEG's accesses each different sector of a level once); GPU bytes are all memory there: state, "
    "where lists lie, and edges; "
    "× EMOGI and × device: how many times faster than EMOGI's best, the first line of each graph, and than "
    "edges in GPU memory.",
    "Prepared: seconds that the host takes once before all runs, in none of their times. Saves a run: beside "
    "EMOGI's best. Pays after: so many runs save that; never: no number does, for all that intervals tell.",
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
            for work in works_of(own):
                there = [technique for technique in own if technique.run.work == work]
                strategy = spoken(there[0].strategy)
                rows += _lines(machine, there, emogi, work, owner)
        title = f"{algorithm}, {strategy}: every technique (measured, its model beside)"
        panels.append(TablePanel(title, COLUMNS, tuple(rows), RIGHT, width=2.0))
    return panels


def _preparing(
    machines: Sequence[Machine], every: Mapping[int, Sequence[Lean]], emogi: Mapping[int, Sequence[Run]]
) -> list[TablePanel]:
    """What is prepared once for each technique, and after how many runs that pays; none where no row says."""
    lines = []
    for machine in machines:
        owner = parts.owner(machine, len(machines) > 1)
        for work in works_of(every[machine.index]):
            own = [technique for technique in every[machine.index] if technique.run.work == work]
            walk = base(emogi[machine.index], work, "mapped")
            for technique in in_order(own):
                if prepared := technique.prepared:
                    name = f"{owner}{work.algorithm}, {technique.short}"
                    own_s = mean_time(technique.run)
                    after = technique.pays_after(walk)
                    saved = mean_time(walk).value - own_s.value if walk and after is not None else None
                    paid = technique.paid(walk)
                    lines.append(Line(name, work.text, machine, own_s, prepared, saved, after, paid))
    return [lean_preparing.table(lines)] if lines else []


def _said_of_preparing(every: Mapping[int, Sequence[Lean]], emogi: Mapping[int, Sequence[Run]]) -> list[str]:
    """What of it no row times, and what has no walk over whole lists to pay beside."""
    untimed = lean_preparing.not_timed(technique.prepared for own in every.values() for technique in own)
    works = [(work, index) for index, own in every.items() for work in works_of(own)]
    alone = [work for work, index in works if not base(emogi[index], work, "mapped")]
    return [*untimed, *lean_preparing.without_walk(alone, len(works))]


def _lines(
    machine: Machine, own: Sequence[Lean], emogi: Mapping[int, Sequence[Run]], work: Work, owner: str
) -> list[TableRow]:
    """The base, edges in GPU memory, then the techniques: each alone, then together."""
    mapped, device = (base(emogi[machine.index], work, place) for place in ("mapped", "device"))
    lines = []
    if mapped:
        lines.append(_whole(machine, mapped, f"{owner}{whose(mapped)}: {_access(mapped)}", mapped, device))
    if device:
        lines.append(_whole(machine, device, f"{owner}device: {_access(device)}", mapped, device))
    return [*lines, *(_line(machine, technique, owner, mapped, device) for technique in in_order(own))]


def in_order(own: Sequence[Lean]) -> list[Lean]:
    """Each technique alone, then together."""
    return sorted(
        own, key=lambda technique: (len(technique.more), technique.more, technique.hot, technique.tier)
    )


def _access(run: Run) -> str:
    return f"{traversal.spoken(run.access)}, {run.work.edge} B"


def _line(machine: Machine, technique: Lean, owner: str, mapped: Run | None, device: Run | None) -> TableRow:
    run = technique.run
    seconds, error = technique.modelled or (None, None)
    size, off = technique.modelled_bytes or (None, None)
    cells = (
        TableCell(run.work.text),
        _time_cell(mean_time(run)),
        _bytes(run.row.link_bytes_least),
        _bytes(technique.gpu_bytes),
        _speedup(mapped, run),
        _speedup(device, run),
        NONE if seconds is None else _time_cell(exact(seconds), MODELLED),
        _time_error(error),
        _bytes(size, MODELLED),
        _error(off),
    )
    return TableRow(f"{owner}{technique.short}", cells, machine)


def _whole(machine: Machine, run: Run, name: str, mapped: Run | None, device: Run | None) -> TableRow:
    inside = run.placement == "device"
    bound = None if inside else _bound(machine, run)
    traffic = None if inside else run.traffic("modelled")
    cells = (
        TableCell(run.work.text),
        _time_cell(mean_time(run)),
        NONE if inside else _bytes(run.row.link_bytes_least),
        _bytes(run.counter("gpu_bytes")),
        _speedup(mapped, run),
        _speedup(device, run),
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
          "Traversals that move fewer bytes, by technique and GPU memory", FAMILIES, "rows",
          build, beside=traversal.MEASURED_FAMILIES),
)  # fmt: skip
