"""Amplification by graph, modelled: of accesses, and of managed memory under pressure (EMOGI 10)."""

from collections.abc import Mapping, Sequence

from grainscope_report.figures import speedup
from grainscope_report.figures.model import Bar, BarPanel, BarSeries
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.traversal import compare, runs
from grainscope_report.traversal.pressure import COUNTER
from grainscope_report.traversal.runs import Run
from grainscope_report.units import format_bytes, significant

HEIGHT = 1.6
MOST_GRAPHS = 5


def pressed(asked: Mapping[tuple[str, str], Run], machines: Sequence[Machine]) -> dict[str, Run]:
    """By graph, managed memory under pressure in the work asked for: of the card and page of figure 9."""
    _, found, _ = speedup.modelled(machines)
    if not found:
        paged = [run for machine in machines for run in runs.paged(machine)]
        found = compare.under_pressure(paged, compare.one_link(paged)) if paged else []
    works = {run.work for run in asked.values()}
    return {run.work.graph: run for run in found if run.work in works and run.counter(COUNTER) is not None}


def panel(asked: Mapping[tuple[str, str], Run], pages: Mapping[str, Run]) -> BarPanel | None:
    """Bytes over the link for each byte of the data set, by graph."""
    asked = {place: run for place, run in asked.items() if run.counter(COUNTER) is not None}
    if not asked:
        return None
    graphs = runs.graphs(asked.values(), MOST_GRAPHS)
    accesses = runs.in_order({access for _, access in asked}, runs.ACCESSES)
    series = [
        BarSeries(
            runs.spoken(one), one, tuple(_bar(asked.get((graph, one))) for graph in graphs), label="modelled"
        )
        for one in accesses
    ]
    if any(graph in pages for graph in graphs):
        bars = tuple(_bar(pages.get(graph)) for graph in graphs)
        series.append(BarSeries("managed", "managed", bars, label="modelled"))
    title = "amplification over the data set (modelled)"
    look = {"width": 1.6, "upright": True, "height": HEIGHT}
    return BarPanel(title, tuple(graphs), tuple(series), "link bytes ÷ data set", "ratio", **look)


def notes(drawn: BarPanel, pages: Mapping[str, Run]) -> list[str]:
    """What the whiskers are, and what the managed bars assume."""
    said = [
        "Requests and amplification: with no cache; whiskers reach down to a cache that keeps everything. "
        "Of a naive walk the link sees something between."
    ]
    there = [pages[graph] for graph in drawn.categories if graph in pages]
    if there:
        cards = " and ".join(sorted({f"{significant(run.card)} %" for run in there}))
        size = " and ".join(sorted({format_bytes(run.page) for run in there}))
        lacking = ", ".join(graph for graph in drawn.categories if graph not in pages)
        said.append(
            f"Managed: modelled, not validated on hardware: the card holds {cards} of the edge list and a "
            f"fault brings {size}{f'; not modelled so: {lacking}' if lacking else ''}."
        )
    return said


def _bar(run: Run | None) -> Bar:
    if run is None:
        return Bar(None)
    value = run.counter(COUNTER)
    traffic = run.traffic("modelled")
    cached = run.counter("cached_amplification")
    known = traffic and traffic.amplification and cached is not None
    least = min(value, value * cached / traffic.amplification) if known else value
    return Bar(Estimate(value, least, value), significant(value, 3))
