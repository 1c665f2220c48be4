"""What several figures share: peak lines, cache marks, crossovers as regions, what papers state, bars by way,
and notes on what is not drawn.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

from grainscope_report import naming, statistics
from grainscope_report.figures.frame import grouped
from grainscope_report.figures.model import (
    WHOLE,
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    Level,
    Mark,
    Panel,
    Region,
    Site,
)
from grainscope_report.machine import Machine, caches, spoken_site
from grainscope_report.model import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, OPPOSITE, TO_PEER, Link, Row, ends
from grainscope_report.resources import Number, Paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes

ARROWS = {
    HOST_TO_GPU: "host → GPU",
    GPU_TO_HOST: "GPU → host",
    TO_PEER: "GPU → peer",
    FROM_PEER: "peer → GPU",
}
MOST_NOTES = 4
MOST_SITES = 6


def owner(machine: Machine, several: bool) -> str:
    """`A: ` before what is said of one of several machines."""
    return f"{machine.letter}: " if several else ""


def in_pairs(panels: Sequence[Panel]) -> list[tuple[Panel, ...]]:
    """Two panels in a row."""
    return [tuple(panels[at : at + 2]) for at in range(0, len(panels), 2)]


def levels(curves: Iterable[Curve], direction: str) -> tuple[Level, ...]:
    """The measured copy peak and the theoretical peak of the links that these curves crossed."""
    found: dict[tuple, Level] = {}
    for curve in curves:
        link = curve.machine.result.link(ends(dict(curve.site), direction))
        if link is None:
            continue
        remote = "remote " if curve.locality == "remote" else ""
        place = place_of(link)
        peak = Level("peak", f"{remote}copy peak", link.peak_gb_s, curve.machine, place)
        found[curve.machine.index, place] = peak
        if link.theoretical_gb_s:
            name = theoretical_name(link)
            most = Level("theoretical", name, link.theoretical_gb_s, curve.machine)
            found[curve.machine.index, name, link.theoretical_gb_s] = most
    return tuple(found.values())


def place_of(link: Link) -> Site:
    """The GPU and the node or peer of a link."""
    other = ("numa", link.numa) if link.peer is None else ("peer", link.peer)
    return (("gpu", link.gpu), other)


def theoretical_name(link: Link) -> str:
    """`theoretical, PCIe 5 ×16` where the run sampled the link under load."""
    return f"theoretical, {link.negotiated}" if link.negotiated else "theoretical"


def both_ways(curves: Iterable[Curve], direction: str) -> tuple[Level, ...]:
    """The sum of the measured copy peaks of both directions of the links that these curves crossed."""
    found: dict[tuple, Level] = {}
    for curve in curves:
        site, result = dict(curve.site), curve.machine.result
        there = [result.link(ends(site, way)) for way in (direction, OPPOSITE[direction])]
        if all(there):
            remote = "remote " if curve.locality == "remote" else ""
            total = sum(link.peak_gb_s for link in there)
            level = Level("double", f"{remote}both copy peaks together", total, curve.machine, curve.site)
            found[curve.machine.index, curve.site] = level
    return tuple(found.values())


def sources(numbers: Iterable[Number]) -> str:
    """Where in the paper these numbers stand, each place once."""
    return "; ".join(dict.fromkeys(number.source for number in numbers))


def stated(
    source: Paper,
    title: str,
    bars: Sequence[tuple[str, Bar]],
    cited: str,
    scale: tuple[str, str],
    name: str = "paper",
    **look: Any,
) -> BarPanel:
    """What a paper states, each bar with its name; `scale` is the axis' label and unit."""
    names, shown = zip(*bars, strict=True)
    series = (BarSeries(name, "paper", shown, label="paper", source=cited),)
    return BarPanel(f"{source.name}: {title}", names, series, *scale, **look)


def cache_marks(machines: Iterable[Machine]) -> tuple[Mark, ...]:
    """The CPU's caches by level, at their sizes."""
    return tuple(
        Mark(f"L{cache.level}", cache.bytes, machine)
        for machine in machines
        for cache in caches(machine.result)
    )


def machines_of(curves: Iterable[Curve]) -> list[Machine]:
    """The machines that have any of these curves."""
    return list({curve.machine.index: curve.machine for curve in curves}.values())


def pairs(first: Iterable[Curve], second: Iterable[Curve]) -> list[tuple[Curve, Curve]]:
    """The primary curves of the same machine and locality."""
    other = {(curve.machine.index, curve.locality): curve for curve in second if curve.primary}
    keyed = [((curve.machine.index, curve.locality), curve) for curve in first if curve.primary]
    return [(curve, other[key]) for key, curve in keyed if key in other]


def shared_points(curve: Curve, two: Curve) -> tuple[list[float], list, list]:
    """The sizes that both curves have, and both curves' estimates there."""
    ones, twos = dict(zip(curve.x, curve.y, strict=True)), dict(zip(two.x, two.y, strict=True))
    x = sorted(ones.keys() & twos.keys())
    return x, [ones[at] for at in x], [twos[at] for at in x]


def crossings(first: Sequence[Curve], second: Sequence[Curve], what: str = "") -> list[Region]:
    """Where curves of `first` and `second` on the same machine and locality swap places, doing `what`."""
    regions = []
    doing = f" {what}" if what else ""
    for one, two in pairs(first, second):
        for crossing in crossovers(one, two):
            size = Estimate(crossing.x, crossing.low, crossing.high)
            text = crossing_text(f"{one.name}{doing}", two.name, crossing.first_wins_above, size)
            regions.append(Region("crossover", size.low, size.high, text, size.value, machine=one.machine))
    return regions


def crossovers(curve: Curve, two: Curve) -> list[statistics.Crossover]:
    """Where two curves swap places, over the sizes that both have."""
    x, ones, twos = shared_points(curve, two)
    return statistics.crossovers(x, ones, twos) if len(x) > 1 else []


def crossing_text(faster: str, slower: str, above: bool, size: Estimate) -> str:
    """`zero-copy is faster than pinned copy below 180 KiB [150 KiB, 210 KiB]`."""
    return (
        f"{faster} is faster than {slower} {'above' if above else 'below'} {format_bytes(size.value)} "
        f"[{format_bytes(size.low)}, {format_bytes(size.high)}]"
    )


def lettered(rows: Sequence[Sequence[Panel | None]], several: bool) -> tuple[tuple, tuple[str, ...]]:
    """Gives each region of the panels its letter, and the notes that explain them."""
    notes: list[str] = []

    def letter(region: Region) -> Region:
        name = ascii_lowercase[len(notes) % 26] * (1 + len(notes) // 26)
        where = f"{region.machine.letter}: " if several and region.machine else ""
        notes.append(f"({name}) {where}{region.text}")
        return replace(region, letter=name)

    def panel(one: Panel) -> Panel:
        if not isinstance(one, CurvePanel):
            return one
        return replace(one, regions=tuple(letter(region) for region in one.regions))

    kept = tuple(tuple(panel(one) for one in row if one is not None) for row in rows)
    return tuple(row for row in kept if row), tuple(notes)


def slow_sites(panels: Iterable[Panel], several: bool, share: float = 0.05) -> list[str]:
    """Notes on sites whose best rate is clearly below that of another by more than `share`."""
    notes: list[str] = []
    for panel in panels:
        if isinstance(panel, CurvePanel) and panel.y_unit == "GB/s":
            notes += _slow_sites(panel, several, share)
    notes = list(dict.fromkeys(notes))
    more = len(notes) - MOST_SITES
    return notes if more <= 0 else [*notes[:MOST_SITES], f"Slower sites: {more} more like these."]


def _slow_sites(panel: CurvePanel, several: bool, share: float) -> list[str]:
    groups = grouped(panel.curves, lambda curve: (curve.machine.index, curve.name, curve.method))
    notes = []
    for group in groups.values():
        tops = [(max(curve.y, key=lambda y: y.value), curve) for curve in group]
        best, _ = max(tops, key=lambda top: top[0].value)
        for top, curve in tops:
            if top.high < best.low and top.value < (1 - share) * best.value:
                letter = owner(curve.machine, several)
                less = f"{100 * (1 - top.value / best.value):.0f} %"
                notes.append(
                    f"{letter}{spoken_site(curve.site)} is {less} slower than the best for {curve.name} "
                    f"({panel.title}): {top.value:.1f} against {best.value:.1f} GB/s."
                )
    return notes


def first_sites(machines: Iterable[Machine], family: str, what: str, marks: str = "bars") -> list[str]:
    """A note that bars or dots are for the first of several GPUs and nodes, where a machine has more."""
    for machine in machines:
        sites = sorted({row.case.site_key for row in machine.result.of(family) if row.ok})
        if len(sites) > 1:
            more = f"{len(sites) - 1} further site{'s' if len(sites) > 2 else ''}"
            return [
                f"{what}: {marks} are for {spoken_site(sites[0])}; `grainscope-report list` shows {more}."
            ]
    return []


def left_out(rows: Sequence[Row]) -> list[str]:
    """Notes on rows that are not drawn, failed and skipped apart, with their reasons counted."""
    notes = []
    for status in ("failed", "skipped"):
        counted = naming.counted_reasons(row.reason for row in rows if row.status == status)
        total = counted.total()
        if not total:
            continue
        shown = [
            f"{reason} ({count})" if count < total else reason
            for reason, count in counted.most_common(MOST_NOTES)
        ]
        more = f"; and {naming.more_reasons(len(counted) - MOST_NOTES)}" if len(counted) > MOST_NOTES else ""
        notes.append(f"Not drawn: {total} {status} row{'s' if total > 1 else ''}: {'; '.join(shown)}{more}.")
    return notes


WAY_HEIGHT = 1.7


def bars_by_way(
    title: str,
    places: Sequence[str],
    ways: Sequence[tuple[str, str]],
    bar: Callable[[str, int], Bar],
    scale: tuple[str, str],
    levels: Sequence[Level] = (),
) -> BarPanel:
    """A panel over the whole width: of each way (its name, what it is called) a bar at every place.

    `bar` makes the one of a way at the place of that order; `scale` is the axis' label and unit.
    """
    series = tuple(
        BarSeries(spoken, way, tuple(bar(way, order) for order in range(len(places)))) for way, spoken in ways
    )
    look = {"levels": tuple(levels), "width": WHOLE, "upright": True, "height": WAY_HEIGHT}
    return BarPanel(title, tuple(places), series, *scale, **look)
