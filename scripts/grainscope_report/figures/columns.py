"""Bars by graph: a column for each graph and machine, a mean at the end, colours of graphs and ways."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from grainscope_report.figures.model import WHOLE, Bar, BarPanel, BarSeries, Panel
from grainscope_report.groups.traversal import compare
from grainscope_report.groups.traversal.runs import Run, Work
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_time, significant

MEAN = "geometric\nmean"
# So many columns of bars stay readable, and so many bars with texts in half a row.
MOST_COLUMNS = 6
BARS_IN_HALF = 20
# A series this much above the next is cut, where there is this much room above the next.
FAR, ROOM = 1.8, 1.35
GRAPH_COLOURS = 8
KINDS = ("kron", "urand", "dense", "web", "power", "pgp", "pareto")


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


def columns(machines: Sequence[Machine], graphs: Sequence[str], mean: bool = False) -> list[Column]:
    """The graphs, each on every machine, then the means."""
    found = [Column(graph, machine) for graph in graphs for machine in machines]
    return found + ([Column("", machine) for machine in machines] if mean else [])


def headings(there: Sequence[Column]) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """The names under the bars, and where there are several machines the groups under those."""
    names = [column.graph or MEAN for column in there]
    if len({column.machine.index for column in there}) == 1:
        return tuple(names), ()
    return tuple(column.machine.letter for column in there), tuple(Counter(names).items())


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
    there: Sequence[Column], ways: Sequence[Way], base: Way, works: Callable[[str], Work], *, hatched: bool
) -> list[BarSeries]:
    """Bars of how many times faster each way is than `base`, on each column; the mean where it is asked for.

    The geometric mean of a machine is over the graphs that all of these ways have there, else over none.
    """
    found: Found = {}
    for column in there:
        under = base.pick(column.machine, works(column.graph)) if column.graph else None
        for way in ways if under else ():
            if run := way.pick(column.machine, works(column.graph)):
                found[way.name, column.key] = compare.speedup(under, run), run
    drawn = [way for way in ways if any(name == way.name for name, _ in found)]
    series = []
    for way in drawn:
        bars = []
        for column in there:
            if column.graph:
                bars.append(_bar(found.get((way.name, column.key)), column))
            else:
                bars.append(_mean(found, way, drawn, column, there))
        label = "modelled" if hatched else "measured"
        series.append(BarSeries(way.name, way.method, tuple(bars), label=label, hatched=hatched))
    return series


def _bar(found: tuple[Estimate, Run] | None, column: Column) -> Bar:
    if found is None:
        return Bar(None, machine=column.machine)
    ratio, run = found
    seconds = format_time(run.time.value)
    return Bar(ratio, seconds, note=f"{seconds}, {run.access}".rstrip(", "), machine=column.machine)


def _mean(found: Found, way: Way, drawn: Sequence[Way], column: Column, there: Sequence[Column]) -> Bar:
    own = [one for one in there if one.graph and one.machine.index == column.machine.index]
    shared = [one for one in own if all((other.name, one.key) in found for other in drawn)]
    if not shared:
        return Bar(None, machine=column.machine)
    ratio = compare.geometric_mean([found[way.name, one.key][0] for one in shared])
    note = f"geometric mean over {', '.join(one.graph for one in shared)}"
    return Bar(ratio, f"{ratio.value:.2f}×", note=note, machine=column.machine)


def cut(series: Sequence[BarSeries]) -> tuple[list[BarSeries], float | None]:
    """Where one series dwarfs all others, the place to cut its bars, whose texts then say their values."""
    tops = sorted(max((bar.value.high for bar in one.bars if bar.value), default=0.0) for one in series)
    if len(tops) < 2 or not tops[-2] or tops[-1] <= tops[-2] * FAR:
        return list(series), None
    most = tops[-2] * ROOM
    return [replace(one, bars=tuple(_told(bar, most) for bar in one.bars)) for one in series], most


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


def pairs(panels: Sequence[BarPanel]) -> list[tuple[Panel, ...]]:
    """Two panels in a row; a last one alone over the whole width."""
    rows = [tuple(panels[at : at + 2]) for at in range(0, len(panels), 2)]
    return [row if len(row) == 2 else (replace(row[0], width=WHOLE),) for row in rows]
