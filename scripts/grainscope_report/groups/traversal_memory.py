"""Who needs how much of the GPU's memory for which time: each way to traverse a graph, side by side.

Whole lists are of the edges that the papers have, in the original order; the fewest bytes are of the fastest
technique that keeps no edges in the GPU. Modelled managed memory stands beside rows of bfs alone, since
other algorithms need fewer levels on a GPU than in the model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grainscope_report.groups import lean, traversal
from grainscope_report.groups.traversal import ORDERS, PRESSURE_CARD, Run, Work
from grainscope_report.machine import Machine
from grainscope_report.statistics import plain
from grainscope_report.terminal import Column, Terminal
from grainscope_report.units import format_bytes, format_time

WEIGHT_BYTES = 4
FEWER, PRESSED = "fewer bytes", "half managed"
# What each way is called, in the order of columns; what a narrow screen leaves out first.
WAYS = {
    "mapped": ("zero-copy", 0),
    "subway": ("Subway", 2),
    FEWER: (FEWER, 0),
    "managed": ("managed", 0),
    PRESSED: ("half managed, modelled", 3),
    "device": ("in the GPU", 1),
}
MOST_LINES = 12
SAID = (
    "GPU memory and the median time of each way, edges as in the first column; fewer bytes: lists by degree, "
    "edges of 4 bytes, none of them in the GPU. Managed: cold, with all pages at the end."
)
SAID_MODELLED = (
    "Half managed: moving and faults where the card holds half of the pages, not validated on hardware."
)


@dataclass(frozen=True)
class Need:
    """The GPU's memory that a way takes, bytes, and its run."""

    gpu_bytes: float
    run: Run


@dataclass(frozen=True)
class Needs:
    """What each way takes to do a work."""

    work: Work
    ways: dict[str, Need]


def needs(machine: Machine) -> list[Needs]:
    """Each work that two ways do at least, by algorithm, the largest graph first."""
    whole = [run for run in traversal.measured(machine) if run.order == ORDERS[0]]
    whole = [run for run in traversal.like_the_paper(whole) if run.counter("gpu_bytes") is not None]
    fewer = [one.run for one in lean.measured(machine) if not one.hot and one.run.counter("gpu_bytes")]
    paged = traversal.paged(machine)
    algorithms, graphs = traversal.algorithms(whole), traversal.graphs(whole)
    works = sorted({run.work for run in whole}, key=lambda work: _place(work, algorithms, graphs))
    found = [Needs(work, _ways(work, whole, fewer, paged)) for work in works]
    return [one for one in found if len(one.ways) > 1]


def _place(work: Work, algorithms: Sequence[str], graphs: Sequence[str]) -> tuple:
    return algorithms.index(work.algorithm), graphs.index(work.graph), work.weights


def _ways(work: Work, whole: Sequence[Run], fewer: Sequence[Run], paged: Sequence[Run]) -> dict[str, Need]:
    own = [run for run in whole if run.work == work]
    ways = {
        placement: fastest
        for placement in WAYS
        if (fastest := traversal.fastest(run for run in own if run.placement == placement))
    }
    less = (run for run in fewer if _same(run.work, work))
    if best := traversal.fastest(less):
        ways[FEWER] = best
    made = {name: Need(_gpu_bytes(run), run) for name, run in ways.items()}
    if "managed" in ways and work.algorithm == "bfs" and (half := _half(work, paged)):
        beside = ways["managed"].counter("gpu_bytes")
        made[PRESSED] = Need(beside + half.counter("card_bytes"), half)
    return {name: made[name] for name in WAYS if name in made}


def _same(one: Work, other: Work) -> bool:
    return (one.algorithm, one.graph, one.weights) == (other.algorithm, other.graph, other.weights)


def _half(work: Work, paged: Sequence[Run]) -> Run | None:
    """The model's row of this machine's own link, where the card holds half of the pages."""
    own = [run for run in paged if run.work == work and run.card == PRESSURE_CARD]
    own = [run for run in own if run.link == traversal.HERE and run.page == traversal.PRESSURE_PAGE]
    return next((run for run in own if run.counter("card_bytes")), None)


def _gpu_bytes(run: Run) -> float:
    """What a row counts, and of managed edges (and weights) the pages, which are there at the end."""
    beside = run.counter("gpu_bytes")
    if run.placement != "managed":
        return beside
    element = run.work.edge + (WEIGHT_BYTES if run.work.weights else 0)
    return beside + run.entries * element


def as_json(one: Needs) -> dict[str, Any]:
    """Everything, plain: bytes, seconds."""
    return {
        "algorithm": one.work.algorithm,
        "graph": one.work.graph,
        "edge": one.work.edge,
        "weights": one.work.weights or None,
        "ways": {
            name: {"gpu_bytes": need.gpu_bytes, "time_s": plain(need.run.time), "label": need.run.label}
            for name, need in one.ways.items()
        },
    }


def lines(found: Sequence[Needs], out: Terminal) -> Iterator[str]:
    """A line for each algorithm and graph; nothing without such rows."""
    if not found:
        return
    there = [name for name in WAYS if any(name in one.ways for one in found)]
    columns = [Column(WAYS[name][0], right=True, optional=WAYS[name][1]) for name in there]
    cells = [_cells(one, there) for one in found[:MOST_LINES]]
    yield from out.headed((Column("GPU memory for which time"), *columns), cells)
    if len(found) > MOST_LINES:
        yield f"  … and {len(found) - MOST_LINES} more (--json has all)"
    yield out.note(f"{SAID} {SAID_MODELLED}" if PRESSED in there else SAID)


def _cells(one: Needs, there: Sequence[str]) -> tuple[str, ...]:
    weights = f", weights {one.work.weights}" if one.work.weights else ""
    cells = (_cell(one.ways[name]) if name in one.ways else "-" for name in there)
    return f"  {one.work.algorithm} {one.work.graph}, {one.work.edge} B{weights}", *cells


def _cell(need: Need) -> str:
    return f"{format_bytes(need.gpu_bytes)}, {format_time(need.run.time.value)}"
