"""Figure 10: the share of a graph's edges in lists up to a length (EMOGI 6): what merging can gain.

Below stands the share of accesses that the best rows take, by score and by depth of sampling (dissertation
4.8 and 4.10): what tiers can gain. Accesses are counted: the same on every machine.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    Entry,
    Figure,
    Panel,
    Point,
    Region,
    exact,
)
from grainscope_report.groups import gnn, traversal
from grainscope_report.groups.gnn import SCORES, Scoring, Training
from grainscope_report.groups.traversal import graph_methods
from grainscope_report.machine import Machine
from grainscope_report.model import Graph
from grainscope_report.resources import DISSERTATION, EMOGI, paper
from grainscope_report.units import format_large, significant

TITLES = ("edges by the length of the list that they are in", "accesses by the rank of rows")
LINE = 128  # bytes of the longest request
EDGES = (8, 4)
DASHES = ("solid", "dashed", "dotted")
MOST_GRAPHS = 12


def build(machines: Sequence[Machine]) -> Figure:
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


FIGURES = (
    Entry("10", "figure_10_degrees", title(*TITLES), (*traversal.FAMILIES, gnn.SCORE),
          "rows that describe their graph or have hit rates", build),
)  # fmt: skip
