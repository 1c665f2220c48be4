"""Rows of traversals as runs: an algorithm on a graph by an access, measured here or modelled for a link;
how much faster one run is than another; and bars by graph, a column for each graph and machine.

Runs may be compared where their `Work` is the same. Measured ones are those of one site of a machine.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from grainscope_report import families, statistics
from grainscope_report.figures import parts
from grainscope_report.figures.model import WHOLE, Bar, BarPanel, BarSeries, Panel, exact
from grainscope_report.figures.parts import NEAREST, grouped, in_order
from grainscope_report.machine import Machine
from grainscope_report.model import MODEL, Row, Traffic
from grainscope_report.statistics import FEWEST_FOR_INTERVAL, Estimate
from grainscope_report.units import format_time, significant

# Graph algorithms that read edges on the GPU, one family each; the latter move fewer bytes.
TRAVERSAL, LEAN = "traversal/", "lean/"
CARD = "card"  # the axis of modelled cards that hold a part of the edge list
ALGORITHMS = ("bfs", "sssp", "cc", "pr")
MEASURED_FAMILIES = tuple(f"{TRAVERSAL}{algorithm}" for algorithm in ALGORITHMS)
MODELLED_FAMILIES = tuple(f"{MODEL}{algorithm}" for algorithm in ALGORITHMS)
FAMILIES = (*MEASURED_FAMILIES, *MODELLED_FAMILIES)
# Every way to walk lists, in the order in which figures have them, and what it is called there.
SPOKEN = {
    "naive": "naive",
    "merged": "merged",
    "merged_aligned": "aligned",
    "merged_aligned_by_16": "aligned, by 16",
    "merged_aligned_by_8": "aligned, by 8",
    "merged_aligned_by_4": "aligned, by 4",
    "merged_aligned_chunked": "aligned, chunked",
    "block_mapped": "block-mapped",
    "merge_path": "merge path",
    "edge_gather": "edge gather",
    "compact": "compact",
}
ACCESSES = tuple(SPOKEN)
EMOGIS = "merged_aligned"
IN_GPUS = ("device", "peer", "interleaved")  # edges cross no link to the host
PUSH, PULL = DIRECTIONS = ("push", "pull")
ORDERS = ("original", "degree", "halo_like")
HERE = "measured"  # the link that this machine's own rows describe
LINKS = ("pcie3x16", "pcie4x16", "pcie5x16", "pcie6x16", "nvlink-c2c", HERE)
PAPER_EDGE, PAPER_WEIGHTS = 8, "8-72"
LEAN_EDGE = 4  # bytes of a neighbour in lists that are ordered by degree


@dataclass(frozen=True, order=True)
class Work:
    """What is computed: runs of the same work may be compared."""

    algorithm: str
    graph: str
    edge: int
    weights: str = ""

    @property
    def text(self) -> str:
        """`kron24`, and with weights other than usual or a file's own `kron24, weights 1-255`."""
        usual = self.weights in ("", "8-72", "own")
        return self.graph if usual else f"{self.graph}, weights {self.weights}"


@dataclass(frozen=True)
class Run:
    """One way to do a work; `link` of a modelled one, `card` and `page` where pages move."""

    machine: Machine
    row: Row
    work: Work
    access: str = ""
    placement: str = ""
    order: str = "original"
    link: str = ""
    card: float = 0.0
    page: float = 0.0

    label = property(lambda self: self.row.label)
    graph = property(lambda self: self.row.graph)
    site = property(lambda self: self.row.case.site)
    direction = property(lambda self: _direction(self.row))

    @property
    def time(self) -> Estimate:
        """The median over trials, seconds, with its interval, or of fewer than 8 trials their range."""
        return self.row.time

    def of_time(self, rate: float) -> Estimate:
        """A rate of the median time, such as TEPS, with the interval that the time gives it; a model's is
        exact.
        """
        if self.label != "measured":
            return exact(rate)
        time = self.time
        return Estimate(rate, rate * time.value / time.high, rate * time.value / time.low, time.visits)

    @cached_property
    def trials(self) -> Mapping[str, float]:
        """Seconds of each trial by its label."""
        return {trial.label: statistics.median(trial.samples_s) for trial in self.row.trials}

    def counter(self, name: str) -> float | None:
        """A counter; None where the row has none of it."""
        return self.row.counters.get(name)

    @property
    def link_fraction(self) -> float | None:
        """Link bytes a second over the measured copy peak of the same run."""
        link, rate = self.machine.result.link(self.row.case.ends), self.counter("link_gb_s")
        return rate / link.peak_gb_s if link and rate and self.label == "measured" else None

    def traffic(self, label: str) -> Traffic | None:
        """Requests over the link, `modelled` or `counted`."""
        row = self.row
        return next((one for one in (row.traffic, row.counted) if one and one.label == label), None)

    @property
    def entries(self) -> float:
        """Adjacency entries of the graph, 0 where nothing tells."""
        return self.graph.entries if self.graph else self.counter("entries") or 0.0


def measured(machine: Machine, directions: Sequence[str] = (PUSH,)) -> list[Run]:
    """What one GPU of this machine measured, at the site that most of its traversals were measured at.

    Rows from sources of their own (`sources:emogi`) are for the eye beside the papers' numbers: they are not
    of the same work as those from GAP's.
    """
    return of_family(machine, TRAVERSAL, directions)


def of_family(machine: Machine, prefix: str, directions: Sequence[str] = (PUSH,)) -> list[Run]:
    """What was measured of the families that begin so, at the site that most of them were measured at."""
    rows = [row for row in _own(machine, prefix, directions) if families.as_usual(row.case.axes)]
    places = grouped(rows, lambda row: (NEAREST.index(row.case.locality), row.case.site_key))
    home = max(places, key=lambda place: (len(places[place]), -place[0]), default=None)
    return _runs(machine, places[home]) if home else []


def together(machine: Machine) -> list[Run]:
    """What several GPUs did together, each a part of the vertices: whole lists, then fewer bytes."""
    rows = [row for prefix in (TRAVERSAL, LEAN) for row in _own(machine, prefix)]
    return _runs(machine, [row for row in rows if row.case.axes.get("gpus", 1) > 1])


def modelled(machine: Machine, directions: Sequence[str] = (PUSH,)) -> list[Run]:
    """What the model says of accesses over links."""
    rows = _usable(machine, MODEL, directions)
    return _runs(machine, [row for row in rows if row.case.family in MODELLED_FAMILIES])


def paged(machine: Machine) -> list[Run]:
    """What the model says of managed memory on a card that holds a part of the edge list."""
    return _runs(machine, [row for row in _usable(machine, MODEL) if CARD in row.case.axes])


def _own(machine: Machine, prefix: str, directions: Sequence[str] = (PUSH,)) -> list[Row]:
    rows = _usable(machine, prefix, directions)
    return [row for row in rows if row.label == "measured" and "sources" not in row.case.axes]


def _usable(machine: Machine, prefix: str, directions: Sequence[str] = (PUSH,)) -> list[Row]:
    return [
        row
        for row in machine.result.rows
        if row.case.family.startswith(prefix)
        and row.ok
        and row.median_s
        and _direction(row) in directions
        and families.in_usual_memory(row.case.family, row.case.axes)
    ]


def _direction(row: Row) -> str:
    """Whether the vertex of a list tells its neighbours or asks them; rows that do not say so tell."""
    return str(row.case.axes.get("direction", PUSH))


def _runs(machine: Machine, rows: Iterable[Row]) -> list[Run]:
    return [_run(machine, row) for row in rows]


def _run(machine: Machine, row: Row) -> Run:
    axes, family = row.case.axes, row.case.family
    algorithm = str(axes.get("algorithm") or family.partition("/")[2])
    reads_fewer = family.startswith(LEAN)
    edge = int(axes.get("edge", LEAN_EDGE if reads_fewer else PAPER_EDGE))
    return Run(
        machine,
        row,
        Work(algorithm, str(axes.get("graph", "")), edge, str(axes.get("weights", ""))),
        access=str(axes.get("access", "")),
        placement=str(axes.get("placement", "")),
        order=str(axes.get("order", "degree" if reads_fewer else "original")),
        link=str(axes.get("link", "")),
        card=float(axes.get(CARD, 0)),
        page=float(axes.get("page", 0)),
    )


def algorithms(runs: Iterable[Run]) -> list[str]:
    """The algorithms of these runs, the paper's first."""
    return in_order({run.work.algorithm for run in runs}, ALGORITHMS)


def graphs(runs: Iterable[Run], most: int = 0) -> list[str]:
    """The graphs of these runs, the largest first, at most so many."""
    sizes: dict[str, float] = defaultdict(float)
    for run in runs:
        sizes[run.work.graph] = max(sizes[run.work.graph], run.entries)
    named = sorted(sizes, key=lambda name: (-sizes[name], name))
    return named[:most] if most else named


def of_both(measured: Iterable[Run], modelled: Iterable[Run]) -> list[Run]:
    """The runs of graphs that both have."""
    ones, twos = list(measured), list(modelled)
    both = {run.work.graph for run in ones} & {run.work.graph for run in twos}
    return [run for run in (*ones, *twos) if run.work.graph in both]


def like_the_paper(runs: Sequence[Run]) -> list[Run]:
    """Of each algorithm the runs of one width of edge and one kind of weights: the paper's where there."""
    kept = []
    for algorithm in algorithms(runs):
        own = [run for run in runs if run.work.algorithm == algorithm]
        kinds = {(run.work.edge, run.work.weights) for run in own}
        chosen = max(kinds, key=lambda kind: (kind[0] == PAPER_EDGE, kind[1] == PAPER_WEIGHTS, kind))
        kept += [run for run in own if (run.work.edge, run.work.weights) == chosen]
    return kept


def fastest(runs: Iterable[Run]) -> Run | None:
    """The run with the shortest median time."""
    return min(runs, key=lambda run: run.time.value, default=None)


def spoken(access: str) -> str:
    """`aligned` for merged_aligned, `aligned, by 4` for the same by workers of 4 lanes."""
    return SPOKEN.get(access, access)


class Linked(Protocol):
    """A modelled run or row, over a link."""

    @property
    def link(self) -> str:
        """The link's name."""


# How much of the edge list a card holds where the papers' graphs meet their 16 GB, and what one fault brings.
PRESSURE_CARD, PRESSURE_PAGE = 50.0, 65536.0


def speedup(slow: Run, fast: Run) -> Estimate:
    """How many times faster `fast` is.

    Runs are compared trial by trial, because sources differ more than visits do: the median of the
    ratios of the same trials with its rank interval, or with fewer than 8 trials the range of these ratios;
    where trials are of one input, of the median alone. What visits and runs of both rows differ by comes to
    that, each by itself. Without trials in common it is the ratio of the median times, whose interval spans
    theirs.
    """
    visits = min(slow.time.visits, fast.time.visits)
    if slow.row is fast.row:
        return Estimate(1.0, 1.0, 1.0, visits)
    ratios = [one / two for one, two in _alike(slow, fast)]
    if not ratios:
        return statistics.ratio(slow.time, fast.time)
    middle = statistics.median(ratios)
    told = [run.time for run in (slow, fast) if run.row.interval_s]
    if told and not slow.row.of_inputs:
        interval = (middle, middle)
    elif len(ratios) < FEWEST_FOR_INTERVAL:
        interval = (min(ratios), max(ratios))
    else:
        interval = statistics.median_interval(ratios)
    return statistics.widened(Estimate(middle, *interval, visits), *told)


def _alike(slow: Run, fast: Run) -> list[tuple[float, float]]:
    """The times of the same trials.

    In another order of the vertices the same source has another number: there the first trial is of the
    same source as the first, and so on.
    """
    ones, twos = slow.trials, fast.trials
    if slow.order != fast.order:
        return list(zip(ones.values(), twos.values(), strict=False))
    return [(ones[label], twos[label]) for label in sorted(ones.keys() & twos.keys())]


def geometric_mean(ratios: Sequence[Estimate]) -> Estimate:
    """The geometric mean of ratios; its interval is that of all ratios at their ends, so it covers more."""

    def mean(values: Iterable[float]) -> float:
        return math.exp(math.fsum(map(math.log, values)) / len(ratios))

    return Estimate(
        mean(estimate.value for estimate in ratios),
        mean(estimate.low for estimate in ratios),
        mean(estimate.high for estimate in ratios),
    )


def one_link(runs: Sequence[Linked], others: Sequence[Linked] = ()) -> str:
    """The link to model for: this machine's own where it was measured, else the papers', else the first.

    Where there are `others`, one that both have.
    """
    there = {run.link for run in runs}
    shared = there & {run.link for run in others} if others else there
    order = [HERE, *LINKS]
    return min(shared or there, key=lambda link: (order.index(link) if link in order else len(order), link))


def under_pressure(paged: Sequence[Run], link: str) -> list[Run]:
    """Managed memory where the card holds about half of the edge list, over a link.

    One size of card for all, and what one fault brings is the same for all: what most works have, groups of
    64 KiB if as many have those.
    """
    runs = [run for run in paged if run.link == link]
    works: dict[tuple[float, float], set[Work]] = defaultdict(set)
    for run in runs:
        works[run.card, run.page].add(run.work)

    def off(kind: tuple[float, float]) -> tuple[float, ...]:
        card, page = kind
        return abs(card - PRESSURE_CARD), -len(works[kind]), abs(page - PRESSURE_PAGE), card

    chosen = min(works, key=off, default=None)
    return [run for run in runs if (run.card, run.page) == chosen]


def link_name(link: str) -> str:
    """`PCIe 3 ×16` for pcie3x16, `this machine's link` for its own."""
    if link == HERE:
        return "this machine's link"
    if link.startswith("pcie") and "x" in link:
        generation, _, width = link.removeprefix("pcie").partition("x")
        return f"PCIe {generation} ×{width}"
    return {"nvlink-c2c": "NVLink-C2C"}.get(link, link)


MEAN = "geometric\nmean"
# So many columns of bars stay readable, and so many bars with texts in half a row.
MOST_COLUMNS = 6
BARS_IN_HALF = 20
# A series this much above the next is cut, where there is this much room above the next.
FAR, ROOM = 1.8, 1.35
GRAPH_COLOURS = 8
KINDS = ("kron", "urand", "dense", "web", "power", "pgp", "pareto", "citation")


@dataclass(frozen=True)
class Column:
    """One place on the axis: a graph on a machine, or where the graph is empty the mean."""

    graph: str
    machine: Machine

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from other columns."""
        return self.graph, self.machine.index


@dataclass(frozen=True)
class Way:
    """One series: what it is called, its colour, and the run of it for a work, if any."""

    name: str
    method: str
    pick: Callable[[Machine, Work], Run | None]


Found = dict[tuple[str, tuple[str, int]], tuple[Estimate, Run]]


@dataclass(frozen=True)
class Shown:
    """The graphs that panels show: all of them, and those of each machine, by its index.

    They are the same of all machines where these are `shared`. The letters of `apart` say which machines have
    graphs that are left out because not all have them.
    """

    graphs: tuple[str, ...]
    of: Mapping[int, tuple[str, ...]]
    shared: bool
    apart: Mapping[str, str]


def to_show(runs: Iterable[Run], columns: int, first: Collection[str] = (), alike: bool = False) -> Shown:
    """The largest graphs that all machines with any of these runs have, else each machine's own largest.

    There are so many columns for all machines together. Graphs named `first` come before larger ones. Where
    runs say `alike` on any machine, each graph has one column, and all machines count as having it.
    """
    runs = list(runs)
    whole = {run.work.graph for run in runs}
    there = {
        machine.index: whole if alike else {run.work.graph for run in own}
        for machine, own in parts.by_machine(runs)
    }
    order = sorted(graphs(runs), key=lambda graph: graph not in first)
    common = [graph for graph in order if all(graph in own for own in there.values())]
    most = max(1, columns // (1 if alike else max(1, len(there))))
    of = {index: tuple([one for one in common or order if one in own][:most]) for index, own in there.items()}
    letters = {machine.index: machine.letter for machine, _ in parts.by_machine(runs)}
    apart = {
        graph: ", ".join(letters[index] for index in sorted(there) if graph in there[index])
        for graph in order
        if common and graph not in common
    }
    drawn = {graph for own in of.values() for graph in own}
    return Shown(tuple(one for one in order if one in drawn), of, bool(common), apart)


def unshared(shown: Shown, machines: Sequence[Machine], what: str) -> list[str]:
    """A note that no graph is common to all machines, where that is so."""
    letters = [machine.letter for machine in machines if machine.index in shown.of]
    if shown.shared or len(letters) < 2:
        return []
    return [f"{what}: no graph is common to {', '.join(letters)}; each shows its own largest."]


def columns(
    machines: Sequence[Machine], shown: Shown, has: Callable[[str, Machine], bool], mean: bool = False
) -> list[Column]:
    """Each graph on the machines that show it and have it, then the means of machines with several."""
    found = [
        Column(graph, machine)
        for graph in shown.graphs
        for machine in machines
        if graph in shown.of.get(machine.index, ()) and has(graph, machine)
    ]
    counts = Counter(column.machine.index for column in found)
    return found + [Column("", machine) for machine in machines if mean and counts[machine.index] > 1]


def headings(
    chosen_columns: Sequence[Column], several: bool
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """The names under the bars; of `several` machines their letters, and the names under those."""
    names = [column.graph or MEAN for column in chosen_columns]
    if not several:
        return tuple(names), ()
    return tuple(column.machine.letter for column in chosen_columns), tuple(Counter(names).items())


def graph_methods(graphs: Sequence[str]) -> list[str]:
    """Colours of graphs: the same for a kind in every figure; of two of a kind the second has a free one."""
    found: list[int | None] = []
    for graph in graphs:
        kind = next((at for at, kind in enumerate(KINDS) if graph.startswith(kind)), None)
        found.append(None if kind in found else kind)
    free = [at for at in range(GRAPH_COLOURS) if at not in found]
    rest = iter([*free, *range(GRAPH_COLOURS)] * len(found))
    return [f"graph {next(rest) if kind is None else kind}" for kind in found]


def speedups(
    chosen_columns: Sequence[Column],
    ways: Sequence[Way],
    base: Way,
    works: Callable[[str], Work],
    *,
    hatched: bool,
) -> list[BarSeries]:
    """Bars of how many times faster each way is than `base`, on each column; the mean where it is asked for.

    The geometric mean of a machine is over the graphs that all of these ways have there, else over none.
    """
    all_found: Found = {}
    for column in chosen_columns:
        under = base.pick(column.machine, works(column.graph)) if column.graph else None
        for way in ways if under else ():
            if run := way.pick(column.machine, works(column.graph)):
                all_found[way.name, column.key] = speedup(under, run), run
    drawn = [way for way in ways if any(name == way.name for name, _ in all_found)]
    series = []
    for way in drawn:
        bars = []
        for column in chosen_columns:
            if column.graph:
                bars.append(_bar(all_found.get((way.name, column.key)), column))
            else:
                bars.append(_mean(all_found, way, drawn, column, chosen_columns))
        label = "modelled" if hatched else "measured"
        series.append(BarSeries(way.name, way.method, tuple(bars), label=label, hatched=hatched))
    return series


def _bar(found: tuple[Estimate, Run] | None, column: Column) -> Bar:
    if found is None:
        return Bar(None, machine=column.machine)
    ratio, run = found
    seconds = format_time(run.time.value)
    return Bar(ratio, seconds, note=f"{seconds}, {run.access}".rstrip(", "), machine=column.machine)


def _mean(
    all_found: Found, way: Way, drawn: Sequence[Way], column: Column, chosen_columns: Sequence[Column]
) -> Bar:
    own = [one for one in chosen_columns if one.graph and one.machine.index == column.machine.index]
    shared = [one for one in own if all((other.name, one.key) in all_found for other in drawn)]
    if not shared:
        return Bar(None, machine=column.machine)
    ratio = geometric_mean([all_found[way.name, one.key][0] for one in shared])
    note = f"geometric mean over {', '.join(one.graph for one in shared)}"
    return Bar(ratio, f"{ratio.value:.2f}×", note=note, machine=column.machine)


def cut_far(series: Sequence[BarSeries]) -> tuple[list[BarSeries], float | None]:
    """Where one series dwarfs all others, the place to cut its bars, whose texts then say their values."""
    tops = sorted(max((bar.value.high for bar in bars.bars if bar.value), default=0.0) for bars in series)
    if len(tops) < 2 or not tops[-2] or tops[-1] <= tops[-2] * FAR:
        return list(series), None
    most = tops[-2] * ROOM
    return [replace(bars, bars=tuple(_told(bar, most) for bar in bars.bars)) for bars in series], most


def _told(bar: Bar, most: float) -> Bar:
    if bar.value is None or bar.value.value <= most or "×" in bar.text:
        return bar
    return replace(bar, text=f"{bar.text}, {significant(bar.value.value)}")


def arranged(panels: Iterable[BarPanel]) -> list[tuple[Panel, ...]]:
    """Panels with few bars two in a row; others one, over the whole width."""
    rows: list[tuple[BarPanel, ...]] = []
    for panel in panels:
        small = len(panel.categories) * len(panel.series) <= BARS_IN_HALF
        if small and rows and len(rows[-1]) == 1 and rows[-1][0].width == 1.0:
            rows[-1] = (*rows[-1], panel)
        else:
            rows.append((panel if small else replace(panel, width=WHOLE),))
    return list(rows)


def in_pairs(panels: Sequence[BarPanel]) -> list[tuple[Panel, ...]]:
    """Two panels in a row; a last one alone over the whole width."""
    rows = parts.in_pairs(panels)
    return [row if len(row) == 2 else (replace(row[0], width=WHOLE),) for row in rows]
