"""Figure m: many GPUs at once: each of the copies, and all of them together."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.cases import Measured, cases
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Figure, Level, Part
from grainscope_report.figures.series import named, select
from grainscope_report.machine import Machine
from grainscope_report.model import Lane, Link
from grainscope_report.statistics import Estimate, median, rate_gb_s
from grainscope_report.units import format_bytes, significant

FAMILY = "transfer/collective"
HOST = {
    "host_to_all": "host →\nall GPUs",
    "all_to_host": "all GPUs →\nhost",
    "all_host_duplex": "both at\nonce",
}
BETWEEN = {
    "one_to_all": "one →\nall others",
    "all_to_one": "all others\n→ one",
    "all_from_one": "all others\nfetch of one",
    "one_from_all": "one fetches\nof all others",
    "ring": "ring",
    "all_pairs": "all pairs",
}
METHODS = {"copy_engine": "copy engine", "kernel_copy": "kernel copy"}

Found = Mapping[int, Sequence[Measured]]


def build(machines: Sequence[Machine]) -> Figure:
    """All together above, each of the copies below; the host on the left, GPUs among themselves right."""
    found = {machine.index: cases(machine, FAMILY) for machine in machines}
    columns = [
        panels
        for patterns, title in ((HOST, "host and all GPUs"), (BETWEEN, "among the GPUs"))
        if (panels := _panels(machines, found, patterns, title))
    ]
    if not columns:
        return Figure(machines, ())
    counts = sorted({float(one.axis("gpus") or 0) for there in found.values() for one in there})
    sizes = sorted({float(one.axis("bytes") or 0) for there in found.values() for one in there})
    notes = [
        f"{' and '.join(f'{count:g}' for count in counts)} GPUs, {', '.join(map(format_bytes, sizes))} "
        "a copy. All together: their bytes over the time in which any ran; percent: of the measured copy "
        "peaks of the links that were crossed, together. Each copy: bars are the median of the copies.",
        *_more_sites(machines),
    ]
    return Figure(machines, tuple(zip(*columns, strict=True)), tuple(notes))


def _more_sites(machines: Sequence[Machine]) -> list[str]:
    """A note where a pattern was measured with several roots or nodes."""
    sites: dict[tuple, set] = defaultdict(set)
    for machine in machines:
        for row in select(machine.result.of(FAMILY), {}):
            sites[machine.index, row.case.without()].add(tuple(sorted(row.case.site.items())))
    if all(len(there) == 1 for there in sites.values()):
        return []
    return ["Of several nodes or roots the first is drawn; `grainscope-report list` shows all."]


def _panels(
    machines: Sequence[Machine], found: Found, patterns: Mapping[str, str], title: str
) -> tuple[BarPanel, BarPanel] | None:
    """All together, and each copy."""
    asked = {(str(one.axis("pattern")), str(one.axis("method"))) for each in found.values() for one in each}
    there = [pattern for pattern in patterns if any(pattern == each for each, _ in asked)]
    if not there:
        return None
    spoken = named(machines, FAMILY, METHODS)
    methods = [method for method in spoken if any((pattern, method) in asked for pattern in there)]
    owners = [
        machine for machine in machines if any(one.axis("pattern") in there for one in found[machine.index])
    ]
    names = tuple(patterns[pattern] for pattern in there)
    width = 0.5 + 0.25 * len(there)

    def series(bar: Callable[[Measured], Bar]) -> tuple[BarSeries, ...]:
        return tuple(
            BarSeries(
                f"{spoken[method]}, {machine.letter}" if len(owners) > 1 else spoken[method],
                method,
                tuple(_bar(found[machine.index], pattern, method, bar) for pattern in there),
                machine,
            )
            for machine in owners
            for method in methods
        )

    peaks = _peaks(owners, found, there)
    together = BarPanel(title, names, series(_together), "all together (GB/s)", "GB/s", width=width)
    each = BarPanel(
        f"{title}, each copy", names, series(_each), "each copy (GB/s)", "GB/s", levels=peaks, width=width
    )
    return together, each


def _bar(found: Sequence[Measured], pattern: str, method: str, bar: Callable[[Measured], Bar]) -> Bar:
    wanted = (pattern, method)
    one = next((one for one in found if (one.axis("pattern"), one.axis("method")) == wanted), None)
    return Bar(None, "no row") if one is None or not one.row.bytes else bar(one)


def _together(one: Measured) -> Bar:
    rate = rate_gb_s(one.time_s, one.row.bytes or 0)
    share = one.row.link_fraction
    percent = f"\n{100 * share:.0f} %" if share else ""
    return Bar(rate, f"{significant(rate.value)}{percent}", one.flags)


def _each(one: Measured) -> Bar:
    """The median of the copies, and all of them."""
    copies = tuple(
        Part(f"{lane.name}, {lane.source} → {lane.target}", rate_gb_s(time_s, lane.bytes))
        for lane in one.row.lanes
        if lane.bytes and (time_s := one.lane(lane.name))
    )
    if not copies:
        return Bar(None, "no row")
    rates = [copy.value.value for copy in copies]
    middle = median(rates)
    return Bar(Estimate(middle, middle, middle, one.time_s.visits), significant(middle), parts=copies)


def _peaks(owners: Sequence[Machine], found: Found, patterns: Sequence[str]) -> tuple[Level, ...]:
    """Of each machine the fastest of the links that the copies crossed."""
    levels = []
    for machine in owners:
        lanes = [
            lane for one in found[machine.index] if one.axis("pattern") in patterns for lane in one.row.lanes
        ]
        links = [link for lane in lanes if (link := _link(machine, lane))]
        if links:
            best = max(links, key=lambda link: link.peak_gb_s)
            levels.append(
                Level("peak", "copy peak of one link", best.peak_gb_s, machine, parts.place_of(best))
            )
    return tuple(levels)


def _link(machine: Machine, lane: Lane) -> Link | None:
    return machine.result.link((lane.source, lane.target))


FIGURES = (Entry("m", "figure_m_many_gpus", "Many GPUs at once", (FAMILY,), "rows", build),)
