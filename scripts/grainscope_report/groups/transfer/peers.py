"""Figure 4: copies between GPUs, peer access on and off, by pair and size, and all pairs (Comm|Scope 8)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from grainscope_report import statistics
from grainscope_report.figures import parts
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Cell, Curve, CurvePanel, Figure, MapPanel
from grainscope_report.figures.series import curves
from grainscope_report.groups.transfer.methods import PEER
from grainscope_report.machine import Machine
from grainscope_report.model import FROM_PEER, TO_PEER, Ends, Row
from grainscope_report.resources import COMM_SCOPE, paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, significant

FAMILY = "transfer/peer"
LOCAL = "transfer/local"
WAYS = {"read": FROM_PEER, "write": TO_PEER}
WHO = {"read": "read by the destination", "write": "written by the source"}
Sizes = dict[float, Estimate]


def build(machines: Sequence[Machine]) -> Figure:
    """On and off by size above, every method below, then a map of all pairs for each machine."""
    access = [_access(machines, direction) for direction in WAYS]
    methods = [_methods(machines, direction) for direction in WAYS]
    several = len(machines) > 1
    maps = [_maps(machine, several) for machine in machines]
    if not any(access) and not any(methods) and not any(maps):
        return Figure(machines, ())
    worth = any(panel and len({curve.method for curve in panel.curves}) > 1 for panel in methods)
    rows, letters = parts.lettered([access, methods if worth else [], *maps], several)
    source = paper(COMM_SCOPE)
    gain = source["peer_access_gain_local"]
    notes = [
        *letters,
        *parts.slow_sites(filter(None, access), several),
        *_said_of_maps([panel for row in maps for panel in row]),
        f"{source.name} ({gain.source}): peer access gains around {gain.value:g} {gain.unit}, local GPUs.",
    ]
    return Figure(machines, rows, tuple(notes))


def _access(machines: Sequence[Machine], direction: str) -> CurvePanel | None:
    """Copies by the copy engine, with and without peer access."""
    drawn: list[Curve] = []
    for access, method in (("on", "copy_engine"), ("off", "no_peer")):
        where = {"method": "copy_engine", "direction": direction, "access": access}
        name = f"copy engine, peer access {access}"
        drawn += curves(machines, FAMILY, where, name=name, method=method).curves
    return _panel(f"peer access on and off, {WHO[direction]}", drawn, direction)


def _methods(machines: Sequence[Machine], direction: str) -> CurvePanel | None:
    drawn: list[Curve] = []
    for name, method in PEER:
        where = {"method": method, "direction": direction, "access": "on"}
        name = f"{name}, peer access on" if method == "copy_engine" else name
        drawn += curves(machines, FAMILY, where, name=name, method=method).curves
    return _panel(f"every method, {WHO[direction]}", drawn, direction)


def _panel(title: str, drawn: Sequence[Curve], direction: str) -> CurvePanel | None:
    if not drawn:
        return None
    # Without peer access the bytes go through the host: the link between the GPUs is no limit of theirs.
    crossing = [curve for curve in drawn if curve.method != "no_peer"]
    # Pairs by the dozen have few different peaks.
    every = parts.levels(crossing, WAYS[direction])
    levels = {(one.machine.index, one.name, f"{one.value:.1f}"): one for one in every}
    return CurvePanel(title, tuple(drawn), levels=tuple(levels.values()))


def _rates(rows: Sequence[Row]) -> dict[tuple, Sizes]:
    """The rate of each pair and size, from → to, the better of read and write."""
    found: dict[tuple, Sizes] = defaultdict(dict)
    for row in rows:
        if row.measured and row.bytes:
            pair = row.case.ends or (f"gpu:{row.case.site.get('gpu')}",) * 2
            rate = statistics.rate_gb_s(row.time, row.bytes)
            known = found[pair].get(row.bytes)
            if known is None or rate.value > known.value:
                found[pair][row.bytes] = rate
    return found


def _maps(machine: Machine, several: bool) -> list[MapPanel]:
    """With and without peer access on one scale of colours."""
    found = [panel for access in ("on", "off") if (panel := _map(machine, access, several))]
    rates = [cell.value.value for panel in found for row in panel.cells for cell in row if _is_pair(cell)]
    return [replace(panel, top=max(rates, default=0.0)) for panel in found]


def _is_pair(cell: Cell) -> bool:
    return cell.value is not None and not cell.own


def _map(machine: Machine, access: str, several: bool) -> MapPanel | None:
    """All pairs at the largest size that all measured pairs have; local copies on the diagonal."""
    asked = [
        row
        for row in machine.result.of(FAMILY)
        if row.case.axes.get("method") == "copy_engine" and row.case.axes.get("access") == access
    ]
    pairs = _rates(asked)
    if not pairs:
        return None
    shared = set.intersection(*(set(sizes) for sizes in pairs.values()))
    size = max(shared or {max(max(sizes) for sizes in pairs.values())})
    local = [row for row in machine.result.of(LOCAL) if row.case.axes.get("method") == "copy_engine"]
    own = _rates(local)
    gpus = sorted({end for pair in [*pairs, *(row.case.ends for row in asked)] if pair for end in pair})
    cells = tuple(
        tuple(
            _own(own.get((one, one), {}), size) if one == two else _pair(pairs, (one, two), size, asked)
            for two in gpus
        )
        for one in gpus
    )
    owner = f"{machine.letter}: " if several else ""
    title = f"{owner}all pairs, peer access {access}, {format_bytes(size)} (GB/s)"
    return MapPanel(title, tuple(_gpu(name) for name in gpus), cells, machine)


def _gpu(end: str) -> str:
    return end.replace("gpu:", "GPU ")


def _pair(pairs: dict[tuple, Sizes], pair: Ends, size: float, asked: Sequence[Row]) -> Cell:
    rate = pairs.get(pair, {}).get(size)
    if rate is None:
        lost = {row.status for row in asked if not row.ok and row.case.ends == pair}
        return Cell(None, "failed" if "failed" in lost else "skipped" if lost else "no row")
    return Cell(rate, significant(rate.value))


def _own(sizes: Sizes, size: float) -> Cell:
    """A copy within the card: of the same size, or of the one next to it."""
    if not sizes:
        return Cell(None, "–", own=True)
    rate = sizes[min(sizes, key=lambda one: abs(one - size))]
    return Cell(rate, significant(rate.value), own=True)


def _said_of_maps(maps: Sequence[MapPanel]) -> list[str]:
    if not maps:
        return []
    notes = ["Maps: the better of read and write by the copy engine; rows are sources, columns destinations."]
    if any(cell.own and cell.value for panel in maps for row in panel.cells for cell in row):
        notes.append(
            "On the diagonal, in grey: copies within one card, bytes counted once; no link is in them, and "
            "they are outside the colour scale."
        )
    two = [panel for panel in maps if len(panel.names) == 2]
    return [*notes, *(["Two GPUs make one pair: a map of two by two."] if two else [])]


FIGURES = (Entry("4", "figure_4_peers", "Copies between GPUs", (FAMILY,), "rows", build, beside=(LOCAL,)),)
