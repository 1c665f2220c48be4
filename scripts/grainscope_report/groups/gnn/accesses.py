"""Figure 10, below: the share of accesses that the best rows take, by score and by depth of sampling.

Dissertation 4.8 and 4.10. Accesses are counted: the same on every machine.
"""

from collections.abc import Sequence
from dataclasses import replace

from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Curve, CurvePanel, Panel, Point, exact
from grainscope_report.groups.gnn import tiers
from grainscope_report.groups.gnn.tiers import SCORES, Scoring, Training
from grainscope_report.machine import Machine
from grainscope_report.papers import DISSERTATION, paper

USUAL, USUAL_LABELS = "10x25", 10
MOST_PANELS = 3
MOST_GRAPHS = 6
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


def panels(machines: Sequence[Machine]) -> tuple[list[tuple[Panel, ...]], list[str]]:
    """The rows of panels and their notes; none without hit rates."""
    found = _scorings(machines)
    if not found:
        return [], []
    usual = _usual(found)
    rows = [row for training in usual[:MOST_PANELS] if (row := _by_score(training, found))]
    deep = _by_depth(found)
    rows += [tuple(deep)] if deep else []
    rows.append((_bars(usual[:MOST_GRAPHS], found), _stated()))
    notes = [
        "Accesses: rows that the mini-batches of an epoch ask for, each row once a mini-batch; of long "
        "epochs the first mini-batches. Optimal knows them beforehand. Labels are spread at random.",
        *_runs(usual[:MOST_GRAPHS], found),
    ]
    more = [training.graph for training in usual[MOST_GRAPHS:]]
    return rows, notes + ([f"Not drawn: accesses to {', '.join(more)}."] if more else [])


def _scorings(machines: Sequence[Machine]) -> dict[tuple[Training, str], Scoring]:
    """Each score of each training run, of the first machine that has it."""
    found: dict[tuple[Training, str], Scoring] = {}
    for machine in machines:
        for one in tiers.scorings(machine):
            found.setdefault((one.training, one.score), one)
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
    names = tiers.scores([score for one, score in found if one == training])
    return [found[training, name] for name in names]


def _by_score(training: Training, found: dict[tuple[Training, str], Scoring]) -> tuple[CurvePanel, ...]:
    """The curves of all scores, and what each lacks of the optimal order: scores often lie together."""
    own = _of(training, found)
    curves = [_curve(one, SCORES.get(one.score, one.score), one.score) for one in own]
    said = f"{training.graph}, fan-out {training.fanout.replace('x', '×')}"
    first = _panel(f"accesses by score: {said}", list(filter(None, curves)))
    best = next((dict(one.curve) for one in own if one.score == tiers.OPTIMAL), {})
    lacks = [_lack(one, best) for one in own if one.score != tiers.OPTIMAL]
    second = _panel(f"what scores lack of the optimal order: {training.graph}", list(filter(None, lacks)))
    if second:
        second = replace(second, y_label="100 % − share of optimal (%)", y_top=None)
    return tuple(filter(None, (first, second)))


def _lack(one: Scoring, best: dict[float, float]) -> Curve | None:
    """How much of what the optimal order's first rows take those of the score do not."""
    shares = [(rows, 1 - accesses / best[rows]) for rows, accesses in one.curve if best.get(rows)]
    lacks = [(rows, max(0.0, lack)) for rows, lack in shares]
    return _line(one, lacks, SCORES.get(one.score, one.score), one.score)


def _by_depth(found: dict[tuple[Training, str], Scoring]) -> list[CurvePanel]:
    """A panel for each of two scores, of the graph that was sampled to most depths."""
    depths: dict[tuple, list[Training]] = {}
    for training, _ in found:
        key = training.graph, training.batch, training.labelled
        if training.depth and training not in depths.setdefault(key, []):
            depths[key].append(training)
    there = max(depths.values(), key=lambda one: (len(one), one[0].labelled), default=[])
    there = sorted(there, key=lambda one: one.depth)[-MOST_DEPTHS:]
    drawn = []
    for score in DEEP if len(there) > 1 else ():
        curves = [
            _curve(found[training, score], training.fanout.replace("x", "×"), f"step {at} of {len(there)}")
            for at, training in enumerate(there)
            if (training, score) in found
        ]
        title = f"accesses by depth: {there[0].graph}, {SCORES[score]}"
        drawn.append(_panel(title, list(filter(None, curves))))
    return [panel for panel in drawn if panel]


def _curve(one: Scoring, name: str, method: str) -> Curve | None:
    return _line(one, one.curve, name, method)


def _line(one: Scoring, shares: Sequence[tuple[float, float]], name: str, method: str) -> Curve | None:
    percents = [(100 * rows, 100 * share) for rows, share in shares]
    points = tuple(Point(x, exact(y)) for x, y in percents if x >= LEAST)
    dash = "dashed" if one.score == tiers.OPTIMAL else "solid"
    if not points:
        return None
    return Curve(name, method, one.machine, points, dash=dash, label="counted", marked=False)


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
    names = tiers.scores([score for training, score in found if training in trainings])
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


def _bar(one: Scoring | None) -> Bar:
    hits = one.hits(TOP) if one else None
    if one is None or hits is None:
        return Bar(None)
    share = one.of_optimal(TOP)
    text = f"{share:.2f}" if share is not None and one.score != tiers.OPTIMAL else ""
    note = f"{share:.4f} of optimal" if text else ""
    return Bar(exact(100 * hits), text, note=note)


def _stated() -> BarPanel:
    """What the dissertation's text states of its graphs."""
    source = paper(DISSERTATION)
    numbers = [source[name] for _, name in STATED]
    bars = tuple(Bar(exact(100 * one.value), f"{100 * one.value:g} %", note=one.text) for one in numbers)
    series = (BarSeries(source.name, "paper", bars, label="paper", source="section 4.4"),)
    names = tuple(name for name, _ in STATED)
    title = f"{source.name}: three graphs, and papers100M by depth"
    return BarPanel(title, names, series, "share of accesses (%)", "%", height=HEIGHT)


def _runs(trainings: Sequence[Training], found: dict[tuple[Training, str], Scoring]) -> list[str]:
    """How long the runs were that scores are judged by."""
    said = []
    for training in trainings:
        one = _of(training, found)[0]
        batches, accesses = one.counter("batches"), one.counter("accesses")
        length = f", {batches:g} mini-batch{'es' * (batches != 1)}" if batches else ""
        graph = one.case_row.graph
        if batches and accesses and graph:
            length += f", each of {100 * accesses / batches / graph.vertices:.2g} % of the rows"
        said.append(f"{training.spoken}{length}")
    return [f"Runs: {'; '.join(said)}. The more of the rows a mini-batch asks for, the flatter the curve."]
