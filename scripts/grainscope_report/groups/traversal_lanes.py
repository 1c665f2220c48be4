"""Figure 22: how many lanes each way to walk lists keeps busy, how evenly it loads blocks, and what that
costs (EMOGI 4.3.1; GraphPEG; Gunrock).

A row is a way, an access and the direction of its walk, over a graph that was walked in two ways at least.
Dots are measured, rings modelled: the same walk replayed on the CPU.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from grainscope_report.figures import parts
from grainscope_report.figures.frame import in_order
from grainscope_report.figures.model import Dot, DotPanel, DotRow, Entry, Figure, Level, exact
from grainscope_report.groups import traversal
from grainscope_report.groups.traversal import ACCESSES, DIRECTIONS, ORDERS, PULL, Run, Work
from grainscope_report.machine import Machine

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


def build(machines: Sequence[Machine]) -> Figure:
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
    Entry("22", "figure_22_lanes", "Lanes at work and balance of blocks, by every way to walk lists",
          traversal.FAMILIES, "rows with lane_use of two accesses", build),
)  # fmt: skip
