"""Lists of edges: how long they are and what merging can gain (figure 10: the share of a graph's edges in
lists up to a length, EMOGI 6); how many lanes each way to walk them keeps busy, how evenly it loads blocks,
and what that costs (figure 22: EMOGI 4.3.1; GraphPEG; Gunrock).

Below in figure 10 stands the share of accesses that the best rows take, by score and by depth of sampling
(dissertation 4.8 and 4.10): what tiers can gain. Accesses are counted: the same on every machine.

In figure 22 a row is a way, an access and the direction of its walk, over a graph that was walked in two ways
at least. Dots are measured, rings modelled: the same walk replayed on the CPU.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    Dot,
    DotPanel,
    DotRow,
    Entry,
    Figure,
    Level,
    Panel,
    Point,
    Region,
    exact,
)
from grainscope_report.figures.parts import in_order
from grainscope_report.groups import gnn, traversal
from grainscope_report.groups.gnn import SCORES, Scoring, Training
from grainscope_report.groups.traversal import ACCESSES, DIRECTIONS, ORDERS, PULL, Run, Work, graph_methods
from grainscope_report.machine import Machine
from grainscope_report.model import Graph
from grainscope_report.resources import DISSERTATION, EMOGI, paper
from grainscope_report.units import format_large, significant

TITLES = ("edges by the length of the list that they are in", "accesses by the rank of rows")
LINE = 128  # bytes of the longest request
EDGES = (8, 4)
DASHES = ("solid", "dashed", "dotted")
MOST_GRAPHS = 12


def build_degrees(machines: Sequence[Machine]) -> Figure:
    """Edges by the length of their lists, then accesses by the rank of rows."""
    degrees, notes = _degrees(machines)
    rows, more = access_panels(machines)
    drawn = [name for name, there in zip(TITLES, (degrees, rows), strict=True) if there]
    return Figure(
        machines,
        (*([(degrees,)] if degrees else []), *rows),
        (*notes, *more),
        title=title(*drawn) if drawn else "",
    )


def title(first: str, *others: str) -> str:
    """What is drawn, as a title."""
    return "; ".join([first[0].upper() + first[1:], *others])


def _degrees(machines: Sequence[Machine]) -> tuple[CurvePanel | None, list[str]]:
    """A curve for each graph, with the lengths that fill one request."""
    found = _graphs(machines)
    if not found:
        return None, []
    drawn = sorted(found, key=lambda name: (-found[name][1].entries, name))[:MOST_GRAPHS]
    methods = graph_methods(drawn)
    # Another dash for each graph that has a colour again.
    dashes = [DASHES[methods[:order].count(method)] for order, method in enumerate(methods)]
    curves = tuple(
        _curve(name, *found[name], method, dash)
        for name, method, dash in zip(drawn, methods, dashes, strict=True)
    )
    source = paper(EMOGI)
    low, high = source["gu_degree_least"], source["gu_degree_most"]
    region = Region(
        "paper", low.value, high.value,
        f"{source.cite(low.id)}: all edges of GU (GAP's urand) are in lists of {low.value} to {high.value}.",
        letter="a", source=low.source,
    )  # fmt: skip
    panel = CurvePanel(
        "share of edges in lists up to a length",
        curves,
        y_label="share of edges (%)",
        y_unit="%",
        x_label="degree: neighbours in a list",
        x_unit="neighbours",
        regions=(region,),
        y_top=100.0,
    )
    notes = [f"(a) {region.text}", *_sizes(drawn, found), *_full(drawn, found)]
    notes.append("Counted over the whole graph: exact, and the same on every machine.")
    return panel, notes


def _graphs(machines: Sequence[Machine]) -> dict[str, tuple[Machine, Graph]]:
    """The graphs that any row describes, by name; of a name that means two graphs both."""
    found: dict[str, tuple[Machine, Graph]] = {}
    for machine in machines:
        for run in [*traversal.measured(machine), *traversal.modelled(machine), *traversal.paged(machine)]:
            if not (run.graph and run.graph.degree_cdf):
                continue
            name = run.work.graph
            if name in found and found[name][1].entries != run.graph.entries:
                name = f"{name}, {machine.letter}"
            found.setdefault(name, (machine, run.graph))
    return found


def _curve(name: str, machine: Machine, graph: Graph, method: str, dash: str) -> Curve:
    points = tuple(Point(max(degree, 1.0), exact(100 * share)) for degree, share in graph.degree_cdf)
    return Curve(name, method, machine, points, dash=dash, label="counted", marked=False)


def _sizes(drawn: Sequence[str], found: dict[str, tuple[Machine, Graph]]) -> list[str]:
    """Vertices, adjacency entries and mean degree of each graph."""
    said = []
    for name in drawn:
        graph = found[name][1]
        mean = graph.entries / graph.vertices if graph.vertices else 0.0
        said.append(
            f"{name} {format_large(graph.vertices)} vertices, {format_large(graph.entries)} entries, mean "
            f"degree {significant(mean)}"
        )
    return [f"{'; '.join(said)}. The papers' graphs: mean degree 38, MOLIERE 222."]


def _full(drawn: Sequence[str], found: dict[str, tuple[Machine, Graph]]) -> list[str]:
    """How many edges are in lists too short to fill one request of 128 bytes."""
    sentences = []
    for edge in EDGES:
        fills = LINE // edge
        shares = ", ".join(f"{name} {100 * _below(found[name][1], fills):.0f} %" for name in drawn)
        sentences.append(
            f"Edges in lists of fewer than {fills}, which cannot fill {LINE} B with {edge}-byte edges, "
            f"about: {shares}."
        )
    return sentences


def _below(graph: Graph, degree: float) -> float:
    """The share of entries in lists shorter than `degree`; between points as the line is drawn."""
    points = [(max(at, 1.0), share) for at, share in graph.degree_cdf]
    shorter = degree - 1
    below = max((point for point in points if point[0] <= shorter), default=None)
    above = min((point for point in points if point[0] >= shorter), default=None)
    if below is None or above is None:
        return below[1] if below else 0.0
    if above[0] == below[0]:
        return below[1]
    part = math.log(shorter / below[0]) / math.log(above[0] / below[0])
    return below[1] + part * (above[1] - below[1])


USUAL, USUAL_LABELS = "10x25", 10
MOST_PANELS = 3
MOST_BARS = 6
MOST_DEPTHS = 4
# The scores whose depths the dissertation compares.
DEEP = ("weighted_reverse_pagerank", "degree")
LEAST = 0.1  # percent of the rows: where the axis begins
TOP = 10  # percent of the rows that bars are about
HEIGHT = 1.5
FIVE_STEPS = "10x10x10x10x10"
STATED = (
    ("10 %,\nat least", "hits_of_top_10_percent"),
    ("25 %,\nat least", "hits_of_top_25_percent"),
    ("10 %, (10)⁵,\npage rank", "hits_depth_5_pagerank"),
    ("10 %, (10)⁵,\ndegree", "hits_depth_5_degree"),
)


def access_panels(machines: Sequence[Machine]) -> tuple[list[tuple[Panel, ...]], list[str]]:
    """The rows of panels and their notes; none without hit rates."""
    found = _scorings(machines)
    if not found:
        return [], []
    usual = _usual(found)
    rows = [row for training in usual[:MOST_PANELS] if (row := _by_score(training, found))]
    deep = _by_depth(found)
    rows += [tuple(deep)] if deep else []
    rows.append((_bars(usual[:MOST_BARS], found), _stated()))
    notes = [
        "Accesses: rows that the mini-batches of an epoch ask for, each row once a mini-batch; of long "
        "epochs the first mini-batches. Optimal knows them beforehand. Labels are spread at random, in "
        "citation and papers they are those of an archive.",
        *_runs(usual[:MOST_BARS], found),
        *_unlike(usual[:MOST_BARS]),
    ]
    more = [training.graph for training in usual[MOST_BARS:]]
    return rows, notes + ([f"Not drawn: accesses to {', '.join(more)}."] if more else [])


def _scorings(machines: Sequence[Machine]) -> dict[tuple[Training, str], Scoring]:
    """Each score of each training run, of the first machine that has it."""
    found: dict[tuple[Training, str], Scoring] = {}
    for machine in machines:
        for scoring in gnn.scored(machine):
            found.setdefault((scoring.training, scoring.score), scoring)
    return found


def _usual(found: dict[tuple[Training, str], Scoring]) -> list[Training]:
    """One training run of each graph: of the usual fan-out and share of labels where there is such a one."""
    best: dict[str, Training] = {}

    def rank(one: Training) -> tuple:
        return one.fanout == USUAL, one.labelled == USUAL_LABELS

    for training, _ in found:
        known = best.get(training.graph)
        if known is None or rank(training) > rank(known):
            best[training.graph] = training
    return list(best.values())


def _of(training: Training, found: dict[tuple[Training, str], Scoring]) -> list[Scoring]:
    names = gnn.scores([score for one, score in found if one == training])
    return [found[training, name] for name in names]


def _by_score(training: Training, found: dict[tuple[Training, str], Scoring]) -> tuple[CurvePanel, ...]:
    """The curves of all scores, and what each lacks of the optimal order: scores often lie together."""
    own = _of(training, found)
    curves = [
        _score_curve(scoring, SCORES.get(scoring.score, scoring.score), scoring.score) for scoring in own
    ]
    said = f"{training.graph}, fan-out {training.fanout.replace('x', '×')}"
    first = _panel(f"accesses by score: {said}", list(filter(None, curves)))
    best = next((dict(scoring.curve) for scoring in own if scoring.score == gnn.OPTIMAL), {})
    lacks = [_lack(scoring, best) for scoring in own if scoring.score != gnn.OPTIMAL]
    second = _panel(f"what scores lack of the optimal order: {training.graph}", list(filter(None, lacks)))
    if second:
        second = replace(second, y_label="100 % − share of optimal (%)", y_top=None)
    return tuple(filter(None, (first, second)))


def _lack(scoring: Scoring, best: dict[float, float]) -> Curve | None:
    """How much of what the optimal order's first rows take those of the score do not."""
    shares = [(rows, 1 - accesses / best[rows]) for rows, accesses in scoring.curve if best.get(rows)]
    lacks = [(rows, max(0.0, lack)) for rows, lack in shares]
    return _line(scoring, lacks, SCORES.get(scoring.score, scoring.score), scoring.score)


def _by_depth(found: dict[tuple[Training, str], Scoring]) -> list[CurvePanel]:
    """A panel for each of two scores, of the graph that was sampled to most depths."""
    depths: dict[tuple, list[Training]] = {}
    for training, _ in found:
        key = training.graph, training.batch, training.labelled, training.own
        if training.depth and training not in depths.setdefault(key, []):
            depths[key].append(training)
    there = max(depths.values(), key=lambda one: (len(one), one[0].labelled), default=[])
    there = sorted(there, key=lambda one: one.depth)[-MOST_DEPTHS:]
    drawn = []
    for score in DEEP if len(there) > 1 else ():
        curves = [
            _score_curve(
                found[training, score], training.fanout.replace("x", "×"), f"step {at} of {len(there)}"
            )
            for at, training in enumerate(there)
            if (training, score) in found
        ]
        title = f"accesses by depth: {there[0].graph}, {SCORES[score]}"
        drawn.append(_panel(title, list(filter(None, curves))))
    return [panel for panel in drawn if panel]


def _score_curve(scoring: Scoring, name: str, method: str) -> Curve | None:
    return _line(scoring, scoring.curve, name, method)


def _line(scoring: Scoring, shares: Sequence[tuple[float, float]], name: str, method: str) -> Curve | None:
    percents = [(100 * rows, 100 * share) for rows, share in shares]
    points = tuple(Point(x, exact(y)) for x, y in percents if x >= LEAST)
    dash = "dashed" if scoring.score == gnn.OPTIMAL else "solid"
    if not points:
        return None
    return Curve(name, method, scoring.machine, points, dash=dash, label="counted", marked=False)


def _panel(title: str, curves: list[Curve]) -> CurvePanel | None:
    if not curves:
        return None
    return CurvePanel(
        title,
        tuple(curves),
        y_label="share of accesses (%)",
        y_unit="%",
        x_label="first rows of the ranking (%)",
        x_unit="%",
        y_top=100.0,
        x_range=(LEAST, 100.0),
    )


def _bars(trainings: Sequence[Training], found: dict[tuple[Training, str], Scoring]) -> BarPanel:
    names = gnn.scores([score for training, score in found if training in trainings])
    series = tuple(
        BarSeries(
            SCORES.get(name, name),
            name,
            tuple(_bar(found.get((training, name))) for training in trainings),
            label="counted",
        )
        for name in names
    )
    title = f"accesses that the first {TOP} % of the rows take; upright: share of optimal"
    graphs = tuple(training.graph for training in trainings)
    look = {"width": 1.3, "upright": True, "height": HEIGHT}
    return BarPanel(title, graphs, series, "share of accesses (%)", "%", **look)


def _bar(scoring: Scoring | None) -> Bar:
    hits = scoring.hits(TOP) if scoring else None
    if scoring is None or hits is None:
        return Bar(None)
    share = scoring.of_optimal(TOP)
    text = f"{share:.2f}" if share is not None and scoring.score != gnn.OPTIMAL else ""
    note = f"{share:.4f} of optimal" if text else ""
    return Bar(exact(100 * hits), text, note=note)


def _unlike(trainings: Sequence[Training]) -> list[str]:
    """A note where bars of ours are not of the five steps that the dissertation's last two are of."""
    fanouts = dict.fromkeys(one.fanout.replace("x", "×") for one in trainings if one.fanout != FIVE_STEPS)
    if not fanouts:
        return []
    return [
        f"Bars of ours are of fan-out {' and '.join(fanouts)}; the dissertation's with (10)⁵ are of five "
        "steps of ten neighbours each, which reach more rows: compare the order of scores, not the heights."
    ]


def _stated() -> BarPanel:
    """What the dissertation's text states of its graphs."""
    source = paper(DISSERTATION)
    numbers = {name: source[number] for name, number in STATED}
    bars = [
        (name, Bar(exact(100 * one.value), f"{100 * one.value:g} %", note=one.text))
        for name, one in numbers.items()
    ]
    title, scale = "three graphs, and papers100M by depth", ("share of accesses (%)", "%")
    return parts.stated(source, title, bars, "section 4.4", scale, source.name, height=HEIGHT)


def _runs(trainings: Sequence[Training], found: dict[tuple[Training, str], Scoring]) -> list[str]:
    """How long the runs were that scores are judged by."""
    said = []
    for training in trainings:
        scoring = _of(training, found)[0]
        batches, accesses = scoring.counter("batches"), scoring.counter("accesses")
        length = f", {batches:g} mini-batch{'es' * (batches != 1)}" if batches else ""
        graph = scoring.case_row.graph
        if batches and accesses and graph:
            length += f", each of {100 * accesses / batches / graph.vertices:.2g} % of the rows"
        said.append(f"{training.spoken}{length}")
    return [f"Runs: {'; '.join(said)}. The more of the rows a mini-batch asks for, the flatter the curve."]


# Figure 22.

LANES, IMBALANCE, FRONTIER = "lane_use", "block_imbalance", "frontier_s"
# Of edges, and what they are called in a note.
PLACEMENTS = {
    "mapped": "edges in host memory, read over the link",
    "device": "edges in the GPU's memory",
    "peer": "edges in another GPU's memory",
    "interleaved": "edges in the memory of several GPUs",
}
FEWEST = 2  # ways that are worth a comparison
MOST_ROWS = 40  # of one machine; rows of several are taller
LOGARITHMIC = 1.25  # an imbalance from which on a logarithmic axis has more than one tick
NAMED, PLAIN = 2.0, 1.2  # the width of a panel with names, and of one without
BALANCED = ("block_mapped", "merge_path")
Way = tuple[str, str]  # a direction and an access


@dataclass
class Block:
    """A work at a placement of its edges: each machine's measured runs by way, and the model's.

    The model is the same for all machines and knows no placement: a way that it alone has stands in the
    `first` block of the work.
    """

    work: Work
    placement: str
    measured: dict[tuple[int, Way], Run] = field(default_factory=dict)
    modelled: dict[Way, Run] = field(default_factory=dict)
    first: bool = True

    name = property(lambda self: f"{self.work.algorithm} {self.work.graph}")

    @property
    def ways(self) -> list[Way]:
        """Those that push first, each by accesses in the order of all figures."""
        there = {way for _, way in self.measured} | (self.modelled.keys() if self.first else set())
        return in_order(there, [(direction, access) for direction in DIRECTIONS for access in ACCESSES])

    def runs(self, way: Way) -> list[Run]:
        """The measured runs of a way, then the modelled one."""
        measured = [run for (_, own), run in self.measured.items() if own == way]
        return [*measured, *([self.modelled[way]] if way in self.modelled else [])]

    @property
    def compares(self) -> bool:
        """Whether enough ways were measured."""
        return len({way for _, way in self.measured}) >= FEWEST


@dataclass(frozen=True)
class Measure:
    """What a panel shows: its title, axis and unit, and the value of a run that has it."""

    title: str
    x_label: str
    unit: str
    of: Callable[[Run], float | None]


def _time_to_find(run: Run) -> float | None:
    spent = run.counter(FRONTIER)
    return None if spent is None else 100 * spent / run.time.value


MEASURES = (
    Measure("lane use", "lanes with an edge (%)", "%", lambda run: 100 * run.counter(LANES)),
    Measure("imbalance of blocks", "most loaded block ÷ mean", "ratio", lambda run: run.counter(IMBALANCE)),
    Measure("time to find lists", "share of the time (%)", "%", _time_to_find),
)


def build_lanes(machines: Sequence[Machine]) -> Figure:
    """A row of panels for each placement: lane use, imbalance, and the time that finding lists takes."""
    found = _blocks(machines)
    shown = _within(found, MOST_ROWS * 2 // (len(machines) + 1))
    rows = [
        tuple(_panels(place, [block for block in shown if block.placement == place]))
        for place in in_order({block.placement for block in shown}, tuple(PLACEMENTS))
    ]
    return Figure(machines, tuple(rows), tuple(_notes(machines, found, shown)) if rows else ())


def _blocks(machines: Sequence[Machine]) -> list[Block]:
    """What can be compared: bfs first, then the largest graph, then edges in host memory."""
    here = [run for machine in machines for run in traversal.measured(machine, DIRECTIONS) if _tells(run)]
    here = _most_compared([run for run in here if run.order == ORDERS[0]])
    blocks: dict[tuple[Work, str], Block] = {}
    for run in here:
        block = blocks.setdefault((run.work, run.placement), Block(run.work, run.placement))
        block.measured.setdefault((run.machine.index, _way(run)), run)
    found = [block for block in blocks.values() if block.compares]
    replayed = [run for machine in machines for run in traversal.modelled(machine, DIRECTIONS)]
    for run in filter(_tells, replayed):
        # What a walk does is the same over every link.
        for block in (block for block in found if block.work == run.work):
            block.modelled.setdefault(_way(run), run)
    algorithms, graphs = traversal.algorithms(here), traversal.graphs(here)
    places = in_order({block.placement for block in found}, tuple(PLACEMENTS))

    def place(block: Block) -> tuple[int, ...]:
        work = block.work
        return algorithms.index(work.algorithm), graphs.index(work.graph), places.index(block.placement)

    found.sort(key=place)
    for one, two in pairwise(found):
        two.first = two.work != one.work
    return found


def _tells(run: Run) -> bool:
    return run.counter(LANES) is not None and run.counter(IMBALANCE) is not None


def _way(run: Run) -> Way:
    return run.direction, run.access


def _most_compared(runs: Sequence[Run]) -> list[Run]:
    """Of each algorithm the runs of the edges and weights with most ways; of equals, those of the paper."""
    kept = []
    for algorithm in traversal.algorithms(runs):
        own = [run for run in runs if run.work.algorithm == algorithm]
        ways: dict[tuple[int, str], set[Way]] = {}
        for run in own:
            ways.setdefault((run.work.edge, run.work.weights), set()).add(_way(run))
        most = max(map(len, ways.values()))
        kept += traversal.like_the_paper(
            [run for run in own if len(ways[run.work.edge, run.work.weights]) == most]
        )
    return kept


def _within(found: Sequence[Block], most: int) -> list[Block]:
    """The first, as many as have so many rows together, and one at least."""
    shown: list[Block] = []
    for block in found:
        if shown and sum(len(one.ways) for one in (*shown, block)) > most:
            break
        shown.append(block)
    return shown


def _panels(place: str, blocks: Sequence[Block]) -> list[DotPanel]:
    """A panel for each measure that any run has; the first has the names of all."""
    made: list[DotPanel] = []
    for measure in MEASURES:
        rows = tuple(_row(block, way, measure) for block in blocks for way in block.ways)
        values = [dot.value.value for row in rows for dot in row.dots]
        if not values:
            continue
        title, ratio = f"{place}: {measure.title}", measure.unit == "ratio"
        look = {
            "log": ratio and max(values) >= LOGARITHMIC,
            "levels": (Level("even", "", 1.0),) if ratio else (),
            "width": PLAIN if made else NAMED,
            "named": not made,
        }
        made.append(DotPanel(title, rows, measure.x_label, measure.unit, **look))
    return made


def _row(block: Block, way: Way, measure: Measure) -> DotRow:
    direction, access = way
    values = [(run, measure.of(run)) for run in block.runs(way)]
    dots = [Dot(exact(one), access, run.machine, label=run.label) for run, one in values if one is not None]
    spoken = traversal.spoken(access)
    return DotRow(block.name, f"{spoken}, pull" if direction == PULL else spoken, tuple(dots))


def _notes(machines: Sequence[Machine], found: Sequence[Block], shown: Sequence[Block]) -> list[str]:
    ways = {way for block in shown for way in block.ways}
    accesses = {access for _, access in ways}
    notes = [
        "Lane use: lanes that had an edge over 32 times the warp-wide loads of neighbours, of edge gather "
        "over its hand-outs. Imbalance: the loads of the most loaded block over the mean of all blocks."
    ]
    if any(_time_to_find(run) is not None for block in shown for run in block.measured.values()):
        notes.append(
            "Time to find lists: between the walks of one traversal, while lists are counted and cut, "
            "of merge path summed, too, and the host is waited for; over the median time of all traversals."
        )
    if any("aligned_by" in access for access in accesses):
        notes.append("By 16, 8 and 4: workers of so many lanes walk a list each (EMOGI 4.3.1).")
    if not accesses.isdisjoint(BALANCED):
        notes.append(
            "Block-mapped: a block shares the edges of 256 lists. Merge path: equal shares of lists and "
            "edges. Both in the manner of Gunrock."
        )
    if any(direction == PULL for direction, _ in ways):
        notes.append("Pull: the vertex of a list asks its neighbours; else it tells them.")
    if any(block.modelled for block in shown):
        notes.append("Modelled imbalance is over a grid of the model's own: docs/traversal.md.")
    edges = " and ".join(map(str, sorted({block.work.edge for block in shown}, reverse=True)))
    there = {block.placement for block in shown}
    said = [f"{place}: {where}" for place, where in PLACEMENTS.items() if place in there]
    notes.append(f"{'; '.join([f'{edges}-byte edges, original order of vertices', *said])}.")
    if more := _left_out(found[len(shown) :]):
        notes.append(f"Not drawn: {more}.")
    return notes + parts.first_sites(machines, f"traversal/{shown[0].work.algorithm}", "Measured", "dots")


def _left_out(blocks: Sequence[Block]) -> str:
    """`bfs of web20, power; pr of kron24`; with its placement what is drawn with another."""
    graphs: dict[str, list[str]] = {}
    for block in blocks:
        there, graph = graphs.setdefault(block.work.algorithm, []), block.work.graph
        if graph not in there:
            there.append(graph if block.first else f"{graph} ({block.placement})")
    return "; ".join(f"{algorithm} of {', '.join(there)}" for algorithm, there in graphs.items())


FIGURES = (
    Entry("10", "figure_10_degrees", title(*TITLES), (*traversal.FAMILIES, gnn.SCORE),
          "rows that describe their graph or have hit rates", build_degrees),
    Entry("22", "figure_22_lanes", "Lanes at work and balance of blocks, by every way to walk lists",
          traversal.FAMILIES, "rows with lane_use of two accesses", build_lanes),
)  # fmt: skip
