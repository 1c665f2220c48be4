"""Figure 10: the share of a graph's edges in lists up to a length (EMOGI 6): what merging can gain.

Below stands the share of accesses by score and depth (dissertation 4.8 and 4.10): what tiers can gain.
"""

import math
from collections.abc import Sequence

from grainscope_report.figures.columns import graph_methods
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Curve, CurvePanel, Figure, Point, Region, exact
from grainscope_report.groups.gnn import accesses, tiers
from grainscope_report.groups.traversal import runs
from grainscope_report.machine import Machine
from grainscope_report.model import Graph
from grainscope_report.papers import EMOGI, paper
from grainscope_report.units import format_large, significant

TITLES = ("edges by the length of the list that they are in", "accesses by the rank of rows")
LINE = 128  # bytes of the longest request
EDGES = (8, 4)
DASHES = ("solid", "dashed", "dotted")
MOST_GRAPHS = 12


def build(machines: Sequence[Machine]) -> Figure:
    """Edges by the length of their lists, then accesses by the rank of rows."""
    degrees, notes = _degrees(machines)
    rows, more = accesses.panels(machines)
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
        for run in [*runs.measured(machine), *runs.modelled(machine), *runs.paged(machine)]:
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
    said = []
    for edge in EDGES:
        fills = LINE // edge
        shares = ", ".join(f"{name} {100 * _below(found[name][1], fills):.0f} %" for name in drawn)
        said.append(
            f"Edges in lists of fewer than {fills}, which cannot fill {LINE} B with {edge}-byte edges, "
            f"about: {shares}."
        )
    return said


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


FIGURES = (
    Entry(
        "10",
        "figure_10_degrees",
        title(*TITLES),
        (*runs.FAMILIES, tiers.SCORE),
        "rows that describe their graph or have hit rates",
        build,
    ),
)
