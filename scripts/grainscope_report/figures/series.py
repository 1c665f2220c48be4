"""Rows to curves: which rows belong to a curve, which configuration stands for it, rows to points."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grainscope_report import naming, statistics
from grainscope_report.figures.model import Curve, Point, Site
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate

# An axis must equal a value, or be one of a set; a tuple is a preference: the first value that has rows.
Where = Mapping[str, str | float | frozenset | tuple]
Measure = Callable[[Estimate, Row], Estimate | None]
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
        one = next((one for one in row.lanes if one.name == name), None)
        return one and _instead(row, one.median_s, one.within_s, bytes=one.bytes)

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


def select(rows: Sequence[Row], where: Where) -> list[Row]:
    """The `ok` rows with these axes."""
    chosen = [row for row in rows if row.ok]
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
    there = {row.case.axes.get(axis) for one in machines for row in one.result.of(family) if row.ok}
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


def nearest(found: Sequence[Curve]) -> list[Curve]:
    """Of each machine the curves of its nearest locality."""
    best = {
        machine: min((one.locality for one in found if one.machine.index == machine), key=NEAREST.index)
        for machine in {one.machine.index for one in found}
    }
    return [one for one in found if one.locality == best[one.machine.index]]


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
        places[PLACES.index(row.case.place), tuple(sorted(row.case.site.items()))].append(row)
    return [(PLACES[order], site, there) for (order, site), there in sorted(places.items())]


def _largest(rows: Sequence[Row], x: str, axis: str) -> Sequence[Row]:
    most: dict[float, float] = {}
    for row in rows:
        at, value = row.case.axes[x], row.case.axes.get(axis, 0.0)
        most[at] = max(most.get(at, value), value)
    return [row for row in rows if row.case.axes.get(axis, 0.0) == most[row.case.axes[x]]]


def _points(rows: Sequence[Row], x: str, measure: Measure) -> tuple[Point, ...]:
    measured = [(row, measure(row.time, row)) for row in sorted(rows, key=lambda row: row.case.axes[x])]
    return tuple(Point(row.case.axes[x], y, row.flags) for row, y in measured if y is not None)


def in_order(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """The known names in their order, then the others by name."""
    there = set(names)
    return [*(name for name in known if name in there), *sorted(there - set(known))]
