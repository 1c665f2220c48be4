"""Amplification by graph, modelled: of accesses, and of managed memory under pressure (EMOGI 10)."""

from collections.abc import Mapping, Sequence

from grainscope_report.figures.model import Bar, BarPanel, BarSeries
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.traversal import compare, runs
from grainscope_report.traversal.runs import Run
from grainscope_report.units import format_bytes, significant

HEIGHT = 1.6
MOST_GRAPHS = 5
COUNTER = "amplification_data_set"


def panel(asked: Mapping[tuple[str, str], Run], machines: Sequence[Machine]) -> BarPanel | None:
    """Bytes over the link for each byte of the data set, by graph."""
    pages = {run.work.graph: run for run in _pressed(asked, machines)}
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


def notes(machines: Sequence[Machine]) -> list[str]:
    """What the whiskers are, and what the managed bars assume."""
    said = [
        "Requests and amplification: with no cache; whiskers reach down to a cache that keeps everything. "
        "Of a naive walk the link sees something between."
    ]
    pages = _pressed(None, machines)
    if pages:
        cards = " and ".join(sorted({f"{significant(run.card)} %" for run in pages}))
        size = " and ".join(sorted({format_bytes(run.page) for run in pages}))
        said.append(
            f"Managed: modelled, not validated on hardware: the card holds {cards} of the edge list and a "
            f"fault brings {size}."
        )
    return said


def _pressed(asked: Mapping[tuple[str, str], Run] | None, machines: Sequence[Machine]) -> list[Run]:
    """Managed memory under pressure, of the algorithm and width of edge that was asked for, over any link."""
    paged = [run for machine in machines for run in runs.paged(machine) if run.counter(COUNTER) is not None]
    if asked is not None:
        works = {run.work for run in asked.values()}
        paged = [run for run in paged if run.work in works]
    return compare.under_pressure(paged, compare.one_link(paged)) if paged else []


def _bar(run: Run | None) -> Bar:
    if run is None:
        return Bar(None)
    value = run.counter(COUNTER)
    traffic = run.traffic("modelled")
    cached = run.counter("cached_amplification")
    known = traffic and traffic.amplification and cached is not None
    least = min(value, value * cached / traffic.amplification) if known else value
    return Bar(Estimate(value, least, value), significant(value, 3))
