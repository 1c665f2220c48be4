"""The table of all figures in the order of their numbers and letters, and figure o, which takes what is
left.

Figure o shows rows of families that no other figure shows, by the axes of their cases alone. A family
whose cases differ in a number has a panel of its own: the rate, or where not every row has one the time,
over the axis with the most values, and a line for each combination of the others. Families without such an
axis share a panel of dots, a row for each combination.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from grainscope_report import naming
from grainscope_report.figures import parts
from grainscope_report.figures.frame import MachineRow, bandwidth, cases, curves, measured
from grainscope_report.figures.model import Curve, CurvePanel, Dot, DotPanel, DotRow, Entry, Figure, Panel
from grainscope_report.groups import (
    contention,
    gather_figure,
    gnn_figure,
    grain,
    host,
    latency,
    lean,
    programs,
    reach,
    shape,
    topology,
    transfer_copies,
    transfer_duplex,
    traversal_lists,
    traversal_requests,
    traversal_speedup,
)
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate, rate_gb_s
from grainscope_report.units import time_unit

OTHERS = "Other families: rate or time by the axis that was varied"
OTHERS_NEED = "measured rows"
# As many colours as `component` has.
MOST_LINES = 8
# Values that differ by more need a logarithmic axis.
WIDE = 30
PLACES = ("locality", "link")


def other_families(but: frozenset[str]) -> Entry:
    """The figure of every family but these, which other figures show."""
    return Entry(
        "o", "figure_o_other_families", OTHERS, (), OTHERS_NEED, partial(build_others, but=but), but=but
    )


def build_others(machines: Sequence[Machine], but: frozenset[str] = frozenset()) -> Figure:
    """A panel for each family whose cases differ in a number, then dots for the others."""
    every = [machine.result for machine in machines]
    families = dict.fromkeys(
        row.case.family for result in every for row in result.rows if row.case.family not in but
    )
    notes: list[str] = []
    panels: list[Panel] = []
    dotted: dict[bool, list[str]] = {True: [], False: []}
    for family in families:
        rows = [row for result in every for row in result.of(family) if row.ok and measured(row)]
        if not rows:
            continue
        if axis := _varied(rows):
            panels.append(_lines(machines, family, rows, axis, notes))
        else:
            dotted[_rated(rows)].append(family)
    grid = parts.in_pairs(panels)
    grid += [(_dots(machines, there, rated),) for rated, there in dotted.items() if there]
    notes += parts.slow_sites(panels, len(machines) > 1)
    for family in (family for there in dotted.values() for family in there):
        notes += parts.first_sites(machines, family, family, "dots")
    return Figure(machines, tuple(grid), tuple(notes))


def _numbers(rows: Sequence[Row], axis: str) -> set[float]:
    values = {row.case.axes.get(axis) for row in rows}
    return {value for value in values if isinstance(value, (int, float))}


def _axes(rows: Sequence[Row]) -> list[str]:
    """All axes but those of the place, in the order of the file."""
    return [
        axis for axis in dict.fromkeys(axis for row in rows for axis in row.case.axes) if axis not in PLACES
    ]


def _varied(rows: Sequence[Row]) -> str:
    """The axis with the most numbers, of several one of bytes; empty where none has two above zero."""
    counts = {axis: len(values) for axis in _axes(rows) if min(values := _numbers(rows, axis), default=0) > 0}
    best = max(counts, key=lambda axis: (counts[axis], axis in naming.SIZES), default="")
    return best if counts.get(best, 0) > 1 else ""


def _rated(rows: Sequence[Row]) -> bool:
    """Whether every row has a rate; else times are drawn."""
    return all(row.bytes and row.bandwidth_gb_s for row in rows)


def _each(rows: Sequence[Row]) -> bool:
    """Whether every row says how many equal operations its time is of."""
    return all(row.operations for row in rows)


def _spoken(axes: dict[str, str | float], varying: Sequence[str]) -> str:
    """`gpu to pinned, threads 4`: the axes in which lines or dots differ."""
    return ", ".join(
        _word(axis, value) for axis, value in axes.items() if axis in varying and value is not None
    )


def _word(axis: str, value: str | float) -> str:
    """`pinned`; with the axis where a value alone says little: `flush on`, `threads 4`."""
    said = value.replace("_", " ") if isinstance(value, str) else naming.size(axis, value)
    alone = isinstance(value, str) and value not in ("on", "off")
    return said if alone else f"{axis.replace('_', ' ')} {said}"


def _lines(
    machines: Sequence[Machine], family: str, rows: Sequence[Row], x: str, notes: list[str]
) -> CurvePanel:
    """A line for each combination of the other axes; of many those with the most points."""
    axes = [axis for axis in _axes(rows) if axis != x]
    follow = tuple(axis for axis in axes if _follows(rows, axis, x))
    kept = [axis for axis in axes if axis not in follow]
    asked: dict[tuple, set[float]] = defaultdict(set)
    for row in rows:
        if isinstance(at := row.case.axes.get(x), (int, float)):
            asked[tuple(row.case.axes.get(axis) for axis in kept)].add(at)
    varying = [axis for place, axis in enumerate(kept) if len({values[place] for values in asked}) > 1]
    chosen = sorted(asked, key=lambda values: -len(asked[values]))[:MOST_LINES]
    rated, scale, unit = _scale(rows)
    drawn: list[Curve] = []
    for order, values in enumerate(values for values in asked if values in chosen):
        where = dict(zip(kept, values, strict=True))
        text = _spoken(where, varying)
        drawn += curves(
            machines,
            family,
            where,
            name=f"{family}: {text}" if text else family,
            method=f"component {order}",
            x=x,
            measure=bandwidth if rated else lambda time_s, row: _time(time_s, row, rows).scaled(1 / scale),
            view=measured,
            follows=follow,
        ).curves
    if len(asked) > MOST_LINES:
        notes.append(f"{family}: {len(asked) - MOST_LINES} more combinations are not drawn.")
    if without := sum(not isinstance(row.case.axes.get(x), (int, float)) for row in rows):
        notes.append(f"{family}: {without} rows without a number for {x} are not drawn.")
    return CurvePanel(
        family,
        tuple(drawn),
        y_label="bandwidth (GB/s)" if rated else f"{_what(rows)} ({unit})",
        y_unit=unit,
        x_label=x.replace("_", " "),
        x_unit=_unit(rows, x),
        y_log=_wide([point.y.value for curve in drawn for point in curve.points]),
    )


def _follows(rows: Sequence[Row], axis: str, x: str) -> bool:
    """Whether a number varies but has one value at each place of the axis."""
    pairs = {(row.case.axes.get(x), row.case.axes.get(axis)) for row in rows}
    return len(_numbers(rows, axis)) > 1 and len(pairs) == len({at for at, _ in pairs})


def _unit(rows: Sequence[Row], axis: str) -> str:
    """Bytes where the axis is known to have them, or is what the rows moved; percent by name."""
    if axis in naming.SIZES or all(row.bytes == row.case.axes.get(axis) for row in rows):
        return "bytes"
    return "%" if axis == "percent" else "count"


def _scale(rows: Sequence[Row]) -> tuple[bool, float, str]:
    """Whether rates are drawn, and the unit of what is: its size in GB/s or in seconds, and its name."""
    if _rated(rows):
        return True, 1.0, "GB/s"
    return False, *time_unit(max(row.median_s / (row.operations if _each(rows) else 1) for row in rows))


def _what(rows: Sequence[Row]) -> str:
    return "one operation" if _each(rows) else "time"


def _time(time_s: Estimate, row: Row, rows: Sequence[Row]) -> Estimate:
    return time_s.scaled(1 / row.operations) if _each(rows) else time_s


def _wide(values: Sequence[float]) -> bool:
    return max(values) > WIDE * min(values) > 0


def _dots(machines: Sequence[Machine], families: Sequence[str], rated: bool) -> DotPanel:
    """Rows of dots, each a combination of the axes of its family."""
    lines: list[DotRow] = []
    for family in families:
        found = [
            (machine, case)
            for machine in machines
            for case in cases(machine, family)
            if measured(case.case_row)
        ]
        rows = [case.case_row for _, case in found]
        varying = [axis for axis in _axes(rows) if len({row.case.axes.get(axis) for row in rows}) > 1]
        dots: dict[str, list[Dot]] = {}
        for machine, case in found:
            dots.setdefault(_spoken(dict(case.case.axes), varying), []).append(
                _dot(machine, case, rows, rated)
            )
        lines += [DotRow(family, said, tuple(there)) for said, there in dots.items()]
    values = [dot.value.value for line in lines for dot in line.dots]
    scale = ("bandwidth (GB/s)", "GB/s") if rated else ("time", "s")
    title = "families without a number that varies"
    return DotPanel(
        f"{title}: {'rates' if rated else 'times'}", tuple(lines), *scale, log=_wide(values), width=2.0
    )


def _dot(machine: Machine, case: MachineRow, rows: Sequence[Row], rated: bool) -> Dot:
    row = case.case_row
    value = rate_gb_s(case.time, row.bytes) if rated else _time(case.time, row, rows)
    return Dot(value, "single", machine, flags=case.flags)


SOURCES = (
    transfer_copies, transfer_duplex, traversal_requests, contention, traversal_speedup, traversal_lists,
    lean, programs, gather_figure, gnn_figure, reach, grain, host, shape, latency, topology,
)  # fmt: skip


def _place(entry: Entry) -> tuple[bool, int, str]:
    """Numbers first, then letters."""
    return not entry.id.isdigit(), int(entry.id) if entry.id.isdigit() else 0, entry.id


OWN = [entry for one in SOURCES for entry in one.FIGURES]
SHOWN = frozenset(family for entry in OWN for family in (*entry.families, *entry.beside))
FIGURES: tuple[Entry, ...] = tuple(sorted([*OWN, other_families(SHOWN)], key=_place))


def figure(entry: Entry, machines: Sequence[Machine]) -> Figure:
    """Computes a figure with its title and notes; without data for it, it has no panels."""
    made, families = entry.build(machines), entry.of(machines)
    notes = list(made.notes)
    owners: dict[str, list[str]] = {}
    for machine in machines if made.rows else ():
        for note in parts.left_out(machine.result.of(*families, *entry.beside)):
            owners.setdefault(note, []).append(machine.letter)
    for note, letters in owners.items():
        notes.append(f"{', '.join(letters)}: {note}" if len(machines) > 1 else note)
    return replace(
        made,
        id=entry.id,
        stem=entry.stem,
        title=made.title or entry.title,
        families=families,
        notes=tuple(notes),
    )
