"""Rates over the link by graph and access, as measured, under the measured copy peaks (EMOGI 8)."""

from collections.abc import Iterable, Sequence

from grainscope_report.cases import HOST_TO_GPU
from grainscope_report.figures import columns, parts
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Level, exact
from grainscope_report.figures.series import in_order
from grainscope_report.groups.traversal import runs
from grainscope_report.groups.traversal.runs import Run
from grainscope_report.machine import Machine

HEIGHT = 1.6


def panel(machines: Sequence[Machine], here: Sequence[Run]) -> BarPanel | None:
    """Link bytes a second by graph and access, under the measured copy peaks."""
    found = {
        (run.machine.index, run.work.graph, run.access): run
        for run in here
        if run.counter("link_gb_s") is not None
    }
    if not found:
        return None
    own = [machine for machine in machines if any(index == machine.index for index, _, _ in found)]
    shown = columns.columns(own, runs.graphs(found.values(), max(1, columns.MOST_COLUMNS // len(own))))
    accesses = in_order({access for _, _, access in found}, runs.ACCESSES)

    def bar(column: columns.Column, access: str) -> Bar:
        run = found.get((column.machine.index, column.graph, access))
        if run is None:
            return Bar(None, machine=column.machine)
        rate, share = run.counter("link_gb_s"), run.link_fraction
        text = f"{rate:.1f}" + (f", {100 * share:.0f} %" if share and len(own) == 1 else "")
        return Bar(exact(rate), text, machine=column.machine)

    series = tuple(
        BarSeries(runs.spoken(one), one, tuple(bar(column, one) for column in shown)) for one in accesses
    )
    names, groups = columns.headings(shown)
    algorithm = here[0].work.algorithm
    look = {
        "levels": _peaks(found.values()),
        "groups": groups,
        "upright": True,
        "width": 1.6,
        "height": HEIGHT,
    }
    title = f"bytes over the link in {algorithm} (measured)"
    return BarPanel(title, names, series, "over the link (GB/s)", "GB/s", **look)


def _peaks(there: Iterable[Run]) -> tuple[Level, ...]:
    """The measured copy peak of the link of each machine's site."""
    found = {}
    for run in there:
        link = run.machine.result.link(run.row.case.ends)
        if link and link.direction == HOST_TO_GPU:
            found[run.machine.index] = Level(
                "peak", "copy peak", link.peak_gb_s, run.machine, parts.place_of(link)
            )
    return tuple(found.values())


def held(here: Sequence[Run]) -> BarPanel | None:
    """The model held against the hardware counters: requests counted over requests modelled, of one trial."""
    found = {}
    for run in here:
        counted, modelled = run.traffic("counted"), run.traffic("modelled")
        if counted and modelled and counted.requests and modelled.requests:
            found.setdefault((run.work.graph, run.access), (counted.requests / modelled.requests, run))
    if not found:
        return None
    graphs = runs.graphs([run for _, run in found.values()], columns.MOST_COLUMNS)

    def bar(graph: str, access: str) -> Bar:
        ratio, _ = found.get((graph, access), (None, None))
        return Bar(None) if ratio is None else Bar(exact(ratio), f"{ratio:.3f}")

    series = tuple(
        BarSeries(runs.spoken(one), one, tuple(bar(graph, one) for graph in graphs), label="counted")
        for one in in_order({access for _, access in found}, runs.ACCESSES)
    )
    look = {"levels": (Level("even", "", 1.0),), "upright": True, "width": 1.6, "height": HEIGHT}
    title = "the model held against counters: requests counted ÷ modelled"
    return BarPanel(title, tuple(graphs), series, "counted ÷ modelled", "ratio", **look)


def notes(here: Sequence[Run]) -> list[str]:
    """Where the bytes of a rate come from: a time is measured, bytes are counted or the model's."""
    labels = {run.row.traffic.label for run in here if run.row.traffic and run.counter("link_gb_s")}
    if labels == {"counted"}:
        return [
            "Rates over the link: counted bytes in the measured time. Percent: of the measured copy peak."
        ]
    return [
        "Rates over the link: measured time, and bytes as each row has them, the model's where they were "
        "not counted. Percent: of the measured copy peak."
    ]
