"""Rows of traversals as runs: an algorithm on a graph by an access, measured here or modelled for a link.

Runs may be compared where their `Work` is the same. Measured ones are those of one site of a machine.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from grainscope_report import statistics
from grainscope_report.cases import MODEL
from grainscope_report.figures.series import in_order
from grainscope_report.machine import Machine
from grainscope_report.model import Row, Traffic
from grainscope_report.statistics import Estimate

# Graph algorithms that read edges on the GPU, one family each; the latter move fewer bytes.
TRAVERSAL, LEAN = "traversal/", "lean/"
CARD = "card"  # the axis of modelled cards that hold a part of the edge list
ALGORITHMS = ("bfs", "sssp", "cc", "pr")
MEASURED_FAMILIES = tuple(f"{TRAVERSAL}{algorithm}" for algorithm in ALGORITHMS)
MODELLED_FAMILIES = tuple(f"{MODEL}{algorithm}" for algorithm in ALGORITHMS)
FAMILIES = (*MEASURED_FAMILIES, *MODELLED_FAMILIES)
ACCESSES = ("naive", "merged", "merged_aligned", "merged_aligned_chunked", "edge_gather", "compact")
PLACEMENTS = ("mapped", "subway", "managed", "device")
ORDERS = ("original", "degree", "halo_like")
HERE = "measured"  # the link that this machine's own rows describe
LINKS = ("pcie3x16", "pcie4x16", "pcie5x16", "pcie6x16", "nvlink-c2c", HERE)
PAPER_EDGE, PAPER_WEIGHTS = 8, "8-72"
LEAN_EDGE = 4  # bytes of a neighbour in lists that are ordered by degree
_PLACES = ("local", "unknown", "remote")


@dataclass(frozen=True, order=True)
class Work:
    """What is computed: runs of the same work may be compared."""

    algorithm: str
    graph: str
    edge: int
    weights: str = ""


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

    @property
    def time(self) -> Estimate:
        """The median over trials, seconds, with its interval, or of fewer than 8 trials their range."""
        return self.row.time

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


def measured(machine: Machine) -> list[Run]:
    """What this machine measured, at the site that most of its traversals were measured at.

    Rows from sources of their own (`sources:emogi`) are for the eye beside the papers' numbers: they are not
    of the same work as those from GAP's.
    """
    return of_family(machine, TRAVERSAL)


def of_family(machine: Machine, prefix: str) -> list[Run]:
    """What was measured of the families that begin so, at the site that most of them were measured at."""
    rows = [
        row for row in _usable(machine, prefix) if row.label == "measured" and "sources" not in row.case.axes
    ]
    places: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        places[_PLACES.index(row.case.locality), tuple(sorted(row.case.site.items()))].append(row)
    home = max(places, key=lambda place: (len(places[place]), -place[0]), default=None)
    return _runs(machine, places[home]) if home else []


def modelled(machine: Machine) -> list[Run]:
    """What the model says of accesses over links."""
    return _runs(machine, [row for row in _usable(machine, MODEL) if row.case.family in MODELLED_FAMILIES])


def paged(machine: Machine) -> list[Run]:
    """What the model says of managed memory on a card that holds a part of the edge list."""
    return _runs(machine, [row for row in _usable(machine, MODEL) if CARD in row.case.axes])


def _usable(machine: Machine, prefix: str) -> list[Row]:
    return [
        row for row in machine.result.rows if row.ok and row.median_s and row.case.family.startswith(prefix)
    ]


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
    """`merged, aligned` for merged_aligned, `aligned, chunked` for the longest."""
    return {
        "merged_aligned": "aligned",
        "merged_aligned_chunked": "aligned, chunked",
        "edge_gather": "edge gather",
    }.get(access, access)
