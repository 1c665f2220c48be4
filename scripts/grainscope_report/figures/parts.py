"""What several figures share: which rows belong together, which stand for others, and rows to curves; and
peak lines, cache marks, crossovers as regions, what papers state, bars by way, and notes on what is not
drawn.

`select` takes the rows with given axes, `grouped`, `best_of` and `by_machine` divide them, `cases` and
`machine_rows` give those of one site, `curves` and `lines` make curves of them.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any, TypeVar

from grainscope_report import families, naming, statistics
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
    Point,
    Region,
    Site,
    exact,
)
from grainscope_report.machine import Machine, caches, spoken_site
from grainscope_report.model import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, OPPOSITE, TO_PEER, Link, Row, ends
from grainscope_report.resources import Number, Paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes

# Rows that belong together, and rows to curves.

# An axis must equal a value, or be one of a set; a tuple is a preference: the first value that has rows.
# None: it is not among the row's axes.
Where = Mapping[str, str | float | frozenset | tuple | None]
Measure = Callable[[Estimate, Row], Estimate | None]
Item, Key = TypeVar("Item"), TypeVar("Key")
# A row as another question sees it, such as one lane of several; None where it has nothing to say.
View = Callable[[Row], Row | None]

NEAREST = ("local", "unknown", "remote")
PLACES = ("local", "remote", "unknown", "nvlink", "pcie", "none", "link unknown")


def bandwidth(time_s: Estimate, row: Row) -> Estimate | None:
    """Decimal GB/s of the bytes asked for."""
    return statistics.rate_gb_s(time_s, row.bytes) if row.bytes else None


def operation_ns(time_s: Estimate, row: Row) -> Estimate | None:
    """Nanoseconds for one of the row's equal operations."""
    return time_s.scaled(1e9 / row.operations) if row.operations else None


def as_it_is(time_s: Estimate, _row: Row) -> Estimate:
    """What a view has put in the place of the time."""
    return time_s


def lane(name: str) -> View:
    """One lane of rows of several at once: its own time and bytes."""

    def view(row: Row) -> Row | None:
        lane = next((lane for lane in row.lanes if lane.name == name), None)
        return lane and _instead(row, lane.median_s, lane.within_s, bytes=lane.bytes)

    return view


def crossed(row: Row) -> Row | None:
    """What crossed the link in the place of what was asked for."""
    return replace(row, bytes=row.link_bytes_least) if row.link_bytes_least else None


def overlap(row: Row) -> Row | None:
    """The share of the time in which all lanes ran, in the place of the time."""
    return None if row.overlap is None else _instead(row, row.overlap)


def counter(name: str) -> View:
    """A counter of the row in the place of the time."""

    def view(row: Row) -> Row | None:
        return None if (value := row.counters.get(name)) is None else _instead(row, value)

    return view


def _instead(row: Row, value: float, interval: tuple[float, float] | None = None, **more: Any) -> Row:
    """A row with another value in the place of its time."""
    return replace(row, median_s=value, interval_s=interval or (value, value), **more)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by their keys, both in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def best_of(
    items: Iterable[Item], key: Callable[[Item], Key], rank: Callable[[Item], Any]
) -> dict[Key, Item]:
    """Of each key the item that ranks highest, the first of several."""
    return {of: max(group, key=rank) for of, group in grouped(items, key).items()}


def by_machine(items: Iterable[Item]) -> list[tuple[Machine, list[Item]]]:
    """The machines that any of these items are of, each with its own."""
    groups = grouped(items, lambda item: item.machine.index).values()
    return [(group[0].machine, group) for group in groups]


def select(rows: Sequence[Row], where: Where) -> list[Row]:
    """The `ok` rows with these axes; of the usual kind of host memory where the axes do not tell."""
    chosen = [
        row
        for row in rows
        if row.ok
        and ("memory" in where or "hint" in where or families.in_usual_memory(row.case.family, row.case.axes))
    ]
    for axis, wanted in where.items():
        if isinstance(wanted, tuple):
            there = {row.case.axes.get(axis) for row in chosen}
            wanted = next((value for value in wanted if value in there), None)
        allowed = wanted if isinstance(wanted, frozenset) else {wanted}
        chosen = [row for row in chosen if row.case.axes.get(axis) in allowed]
    return chosen


def named(
    machines: Sequence[Machine], family: str, known: Mapping[str, str], axis: str = "method"
) -> dict[str, str]:
    """What the values of an axis are called: known ones in their order, then others in their own words."""
    there = {row.case.axes.get(axis) for machine in machines for row in machine.result.of(family) if row.ok}
    more = sorted(value for value in there - known.keys() if isinstance(value, str))
    return {**known, **{value: value.replace("_", " ") for value in more}}


@dataclass(frozen=True)
class Curves:
    """The curves of one method on all machines, all of one configuration; `others` were left out."""

    curves: tuple[Curve, ...]
    others: int = 0


Config = tuple[str, tuple[tuple[str, str | float], ...]]


def curves(
    machines: Sequence[Machine],
    family: str,
    where: Where,
    *,
    name: str,
    method: str,
    x: str = "bytes",
    measure: Measure = bandwidth,
    view: View = lambda row: row,
    dash: str | None = None,
    whatever: str = "",
    follows: tuple[str, ...] = (),
) -> Curves:
    """Curves of `measure` over the axis `x`: for each machine one for each site, of one configuration.

    Rows that differ in another axis than locality are different questions and never share a curve.
    The configuration that most machines have, then that with most points, then the fastest, is taken
    on every machine, because different ones cannot be compared. Remote curves are dashed, and names
    say the locality, or what joins two GPUs, where there is more than one. An axis that may differ along
    a curve is `whatever`: of several rows at one `x` those with the largest value of it are taken. Axes
    that follow from `x` make no other question: the rows that a box of so many bytes has at a width.
    """
    found: dict[Config, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for machine in machines:
        for row in filter(None, map(view, select(machine.result.of(family), where))):
            if isinstance(row.case.axes.get(x), (int, float)) and row.time:
                key = row.label, row.case.without(x, "locality", "link", whatever, *follows)
                found[key][machine.index].append(row)
    if not found:
        return Curves(())
    config = max(found, key=lambda key: _preference(key, found[key], x))
    said = ", ".join(f"{axis} {value}" for axis, value in _varying(config, found))
    places = {row.case.place for rows in found[config].values() for row in rows}
    spelled = len(places) > 1 or places <= {"remote", "pcie", "none"}
    known = {machine.index: machine for machine in machines}
    drawn: list[Curve] = []
    for index, rows in sorted(found[config].items()):
        for locality, site, there in _by_place(rows):
            if not (points := _points(_largest(there, x, whatever), x, measure)):
                continue
            first = not any(c.machine.index == index and c.locality == locality for c in drawn)
            drawn.append(
                Curve(
                    name=", ".join([name, *([_spoken(locality)] if spelled else [])]) + _modelled(config[0]),
                    method=method,
                    machine=known[index],
                    points=points,
                    site=site,
                    locality=locality,
                    dash=dash or ("dashed" if locality == "remote" else "solid"),
                    config=said,
                    axes=config[1],
                    label=config[0],
                    primary=first,
                )
            )
    return Curves(tuple(drawn), len(found) - 1)


def lines(
    rows: Iterable["MachineRow"],
    x: Callable[["MachineRow"], float],
    measure: Callable[["MachineRow"], Estimate | None],
    name: str,
    method: str,
    dash: str = "solid",
) -> list[Curve]:
    """A curve of `measure` over `x` for each machine; of several rows at one place the last."""
    drawn = []
    for machine, own in by_machine(rows):
        own.sort(key=x)
        values = {x(row): (measure(row), row.flags) for row in own}
        points = tuple(Point(at, y, flags) for at, (y, flags) in values.items() if y)
        if points:
            drawn.append(Curve(name, method, machine, points, dash=dash, site=own[0].case.site_key))
    return drawn


def exact_counter(name: str) -> Callable[["MachineRow"], Estimate | None]:
    """A measure: a counter of the row; None where it has none of it or the counter is 0."""
    return lambda row: exact(value) if (value := row.counter(name)) else None


def nearest(all_curves: Sequence[Curve]) -> list[Curve]:
    """Of each machine the curves of its nearest locality."""
    near = {
        machine.index: min((curve.locality for curve in own), key=NEAREST.index)
        for machine, own in by_machine(all_curves)
    }
    return [curve for curve in all_curves if curve.locality == near[curve.machine.index]]


def _spoken(place: str) -> str:
    return naming.PLACES.get(place, place)


def _modelled(label: str) -> str:
    return "" if label == "measured" else f" ({label})"


def _preference(config: Config, rows: Mapping[int, list[Row]], x: str) -> tuple:
    flat = [row for there in rows.values() for row in there]
    best = max((row.bandwidth_gb_s or 0.0) for row in flat)
    return config[0] == "measured", len(rows), len({row.case.axes[x] for row in flat}), best, config


def _varying(config: Config, found: Mapping[Config, object]) -> list[tuple[str, str | float]]:
    """The axes of the chosen configuration in which it differs from one that was left out."""
    return [pair for pair in config[1] if any(pair not in other[1] for other in found)]


def _by_place(rows: Sequence[Row]) -> list[tuple[str, Site, list[Row]]]:
    """The rows of each locality and site, local ones first."""
    places: dict[tuple[int, Site], list[Row]] = defaultdict(list)
    for row in rows:
        places[PLACES.index(row.case.place), row.case.site_key].append(row)
    return [(PLACES[order], site, there) for (order, site), there in sorted(places.items())]


def _largest(rows: Sequence[Row], x: str, axis: str) -> Sequence[Row]:
    groups = grouped(rows, lambda row: row.case.axes[x]).values()
    most = {group[0].case.axes[x]: max(row.case.axes.get(axis, 0.0) for row in group) for group in groups}
    return [row for row in rows if row.case.axes.get(axis, 0.0) == most[row.case.axes[x]]]


def _points(rows: Sequence[Row], x: str, measure: Measure) -> tuple[Point, ...]:
    measured = [(row, measure(row.time, row)) for row in sorted(rows, key=lambda row: row.case.axes[x])]
    return tuple(Point(row.case.axes[x], y, row.flags) for row, y in measured if y is not None)


def in_order(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """The known names in their order, then the others by name."""
    there = set(names)
    return [*(name for name in known if name in there), *sorted(there - set(known))]


@dataclass(frozen=True)
class MachineRow:
    """The row of a case, and the machine that it is of."""

    machine: Machine
    case_row: Row

    case = property(lambda self: self.case_row.case)
    label = property(lambda self: self.case_row.label)
    flags = property(lambda self: self.case_row.flags)
    link_fraction = property(lambda self: self.case_row.link_fraction)

    @property
    def time(self) -> Estimate:
        """The median time with its interval, seconds; a model's is exact."""
        return self.case_row.time

    @property
    def link(self) -> str:
        """The link that a modelled row is about; empty where it was measured."""
        return self.word("link") if self.label == "modelled" else ""

    def axis(self, name: str) -> str | float | None:
        """The value of an axis."""
        return self.case.axes.get(name)

    def word(self, axis: str) -> str:
        """The value of an axis as text, empty without one."""
        return str(self.case.axes.get(axis, ""))

    def number(self, axis: str) -> float:
        """The value of an axis that is a number, 0 without one."""
        value = self.case.axes.get(axis, 0)
        return float(value) if isinstance(value, (int, float)) else 0.0

    def counter(self, name: str) -> float | None:
        """A counter; None where the row has none of it."""
        return self.case_row.counters.get(name)

    def rate(self, size: float | None) -> Estimate | None:
        """Decimal GB/s of so many bytes in the median time."""
        return statistics.rate_gb_s(self.time, size) if size else None

    def lane(self, name: str) -> Estimate | None:
        """The time of a lane."""
        lane = next((lane for lane in self.case_row.lanes if lane.name == name), None)
        if lane is None:
            return None
        return Estimate(lane.median_s, *(lane.within_s or (lane.median_s,) * 2), self.time.visits)

    def alone_s(self, name: str) -> float | None:
        """The time of a lane by itself."""
        return next((lane.alone_s for lane in self.case_row.lanes if lane.name == name), None)


def cases(machine: Machine, family: str, where: Where | None = None) -> list[MachineRow]:
    """Every case of a family in the order of the file; localities but the nearest are left out."""
    rows = list(filter(measured, select(machine.result.of(family), where or {})))
    near = min((row.case.locality for row in rows), key=NEAREST.index, default="unknown")
    rows = [row for row in rows if "locality" not in row.case.axes or row.case.locality == near]
    asked: dict[tuple, dict[tuple, Row]] = defaultdict(dict)
    for row in rows:
        asked[row.case.without("locality")][row.case.site_key] = row
    return [MachineRow(machine, sites[min(sites)]) for sites in asked.values()]


def measured(row: Row) -> Row | None:
    """The row, unless it was modelled or counted."""
    return row if row.measured else None


Kind = TypeVar("Kind", bound=MachineRow)


def beside(others: Iterable[Kind], usual: Iterable[Kind], *axes: str) -> list[tuple[Kind, Kind]]:
    """Each of the others with the usual one, if any, that differs from it in nothing but these axes."""

    def alike(row: Kind) -> tuple:
        return row.case.without(*axes), row.case.site_key

    known = {alike(row): row for row in usual}
    return [(row, known[alike(row)]) for row in others if alike(row) in known]


def machine_rows(machine: Machine, family: str, kind: type[Kind] = MachineRow) -> list[Kind]:
    """The rows of a family in the order of the file, at the site that most of them were measured at.

    Sites with a GPU and sites without one are apart: both answer.
    """
    rows = [
        row
        for row in machine.result.of(family)
        if row.ok and row.median_s and families.in_usual_memory(row.case.family, row.case.axes)
    ]
    sides = grouped(rows, lambda row: "gpu" in row.case.site)
    homes = {_home(side) for side in sides.values()}
    return [kind(machine, row) for row in rows if _site(row) in homes]


def _home(rows: Sequence[Row]) -> tuple:
    """The nearest of the sites that have most rows."""
    counted = Counter(map(_site, rows))
    return min(counted, key=lambda site: (-counted[site], site))


def _site(row: Row) -> tuple:
    return NEAREST.index(row.case.locality), row.case.site_key


def slower(row: Row, *sides: str) -> Iterator[str]:
    """`gather × 1.20`: how many times as long as alone each of these sides takes, where a row says so."""
    for side in sides:
        if (slower := row.counters.get(f"{side}_slowdown")) is not None:
            yield f"{side} × {slower:.2f}"


# What figures are made of.

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
        for crossing in (found := crossovers(one, two)):
            size = Estimate(crossing.x, crossing.low, crossing.high)
            above = crossing.first_wins_above
            end = until(one, two, crossing, found) if above else None
            text = crossing_text(f"{one.name}{doing}", two.name, above, size, end)
            regions.append(Region("crossover", size.low, size.high, text, size.value, machine=one.machine))
    return regions


def crossovers(curve: Curve, two: Curve) -> list[statistics.Crossover]:
    """Where two curves swap places, over the sizes that both have, by the rule of the segments."""
    x, ones, twos = shared_points(curve, two)
    clear = [_unless_alike(*points) for points in zip(ones, twos, strict=True)]
    return statistics.crossovers(x, *zip(*clear, strict=True)) if len(x) > 1 else []


def _unless_alike(estimate: Estimate, two: Estimate) -> tuple[Estimate, Estimate]:
    """Both as they are where one is clearly faster, else with one interval, which says nothing of either."""
    if statistics.clearly_more(estimate, two) or statistics.clearly_more(two, estimate):
        return estimate, two
    low, high = min(estimate.low, two.low), max(estimate.high, two.high)
    return replace(estimate, low=low, high=high), replace(two, low=low, high=high)


def until(
    faster: Curve, slower: Curve, crossing: statistics.Crossover, all_of_them: Sequence[statistics.Crossover]
) -> float | None:
    """The last size of both at which what is faster from a crossing on clearly is.

    Looked for up to the next crossing. None where it is clearly faster at the last size before that, or at
    none: then the crossing is all that can be said.
    """
    end = min((other.low for other in all_of_them if other.low > crossing.low), default=math.inf)
    there = [
        (place, statistics.clearly_more(one, two))
        for place, one, two in zip(*shared_points(faster, slower), strict=True)
        if crossing.high <= place < end
    ]
    ahead = [place for place, clear in there if clear]
    return ahead[-1] if ahead and not there[-1][1] else None


def crossing_text(faster: str, slower: str, above: bool, size: Estimate, end: float | None = None) -> str:
    """`zero-copy is faster than pinned copy below 180 KiB [150 KiB, 210 KiB]`.

    Where it stays so up to `end` alone: `from 1.6 MiB [288 KiB, 2.7 MiB] to 16 MiB; beyond …`.
    """
    side = "below" if not above else "above" if end is None else "from"
    said = (
        f"{faster} is faster than {slower} {side} {format_bytes(size.value)} "
        f"[{format_bytes(size.low)}, {format_bytes(size.high)}]"
    )
    return said if end is None else f"{said} to {format_bytes(end)}; beyond that it cannot be told"


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
