"""Both directions at once (figure 3) and copies between GPUs (figure 4), and what both bring.

Figure 4: peer access on and off, by pair and size, and all pairs (Comm|Scope 8).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from grainscope_report import naming, statistics
from grainscope_report.figures import parts
from grainscope_report.figures.model import Cell, Curve, CurvePanel, Entry, Figure, MapPanel
from grainscope_report.figures.parts import NEAREST, as_it_is, curves, grouped, lane, named, overlap
from grainscope_report.groups.transfer import PEER_WAYS
from grainscope_report.machine import Machine
from grainscope_report.model import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, TO_PEER, Ends, Result, Row
from grainscope_report.resources import COMM_SCOPE, paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, significant

DUPLEX = "transfer/duplex"
PEER = "transfer/peer"
MOST_PAIRS = 4
TWO_WAYS = 2


@dataclass(frozen=True)
class Duplex:
    """The best of one method both ways at once: GB/s together, share of both copy peaks, overlap.

    `over_one_way` is both together over the faster lane alone.
    """

    name: str
    site: tuple[tuple[str, int], ...]
    bytes: float
    rate: Estimate
    of_both_peaks: float | None
    overlap: float | None
    over_one_way: float | None
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @property
    def text(self) -> str:
        """In words."""
        name = self.name.replace("host_gpu", "host ↔ GPU").replace("gpu_gpu", "GPU ↔ GPU")
        share = f", {self.of_both_peaks:.2f} of both copy peaks together" if self.of_both_peaks else ""
        both = f"; both lanes ran {100 * self.overlap:.0f} % of the time" if self.overlap is not None else ""
        return (
            f"{name}: {self.rate.value:.1f} GB/s both ways at once "
            f"({format_bytes(self.bytes)} each way){share}{self._gain}{both}"
        )

    @property
    def _gain(self) -> str:
        """Two ways are no more than twice the faster one: where they seem so, that one varied."""
        if not self.over_one_way:
            return ""
        said = f"{self.over_one_way:.2f}"
        if float(said) <= TWO_WAYS:
            return f", {said} times one way alone"
        return f", more than {TWO_WAYS} times one way alone, whose rate varied"


@dataclass(frozen=True)
class Access:
    """What peer access brings a pair of GPUs at one size: rates with and without it, GB/s."""

    gpu: int
    peer: int
    direction: str
    bytes: float
    on: Estimate
    off: Estimate
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @property
    def text(self) -> str:
        """In words."""
        times = self.on.value / self.off.value
        return (
            f"GPU {self.gpu}, peer {self.peer}, {self.direction}: {self.on.value:.1f} GB/s with peer access, "
            f"{self.off.value:.1f} without, {times:.1f} times as fast at {format_bytes(self.bytes)}"
        )


def _usable(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.measured and row.bytes]


def duplexes(result: Result) -> list[Duplex]:
    """The best size of each duplex method, at the first site of each."""
    groups = grouped(_usable(result.of(DUPLEX)), lambda row: naming.name(row))
    all_duplexes = []
    for name, rows in groups.items():
        site = rows[0].case.site_key
        here = [row for row in rows if row.case.site_key == site]
        best = max(here, key=lambda row: row.bytes / row.median_s)
        rate = statistics.rate_gb_s(best.time, best.bytes)
        size = float(best.case.axes.get("bytes", best.bytes))
        all_duplexes.append(
            Duplex(name, site, size, rate, best.link_fraction, best.overlap, _over_one_way(best), (best,))
        )
    return all_duplexes


def _over_one_way(row: Row) -> float | None:
    """Both together over the faster lane alone, where the run has these."""
    rates = [one.alone_gb_s for one in row.lanes]
    return row.bytes / row.median_s / 1e9 / max(rates) if rates and all(rates) else None


def accesses_text(all_accesses: Sequence[Access]) -> list[str]:
    """A sentence for each pair, or for many pairs of how they spread and which is the slowest."""
    if len(all_accesses) <= MOST_PAIRS:
        return [access.text for access in all_accesses]
    sentences = []
    for direction in dict.fromkeys(access.direction for access in all_accesses):
        chosen_accesses = [access for access in all_accesses if access.direction == direction]
        slowest = min(chosen_accesses, key=lambda access: access.on.value)
        on, off = ([each(access).value for access in chosen_accesses] for each in (_on, _off))
        sentences.append(
            f"{direction}, {len(chosen_accesses)} pairs: {statistics.median(on):.1f} GB/s with peer access "
            f"({min(on):.1f} to {max(on):.1f}), {statistics.median(off):.1f} without "
            f"({min(off):.1f} to {max(off):.1f}); the slowest is GPU {slowest.gpu}, peer {slowest.peer}"
        )
    return sentences


def _on(access: Access) -> Estimate:
    return access.on


def _off(access: Access) -> Estimate:
    return access.off


def accesses(result: Result) -> list[Access]:
    """Each pair and direction with and without peer access, at the largest size that both have."""
    copies: dict[tuple, dict[str, dict[float, tuple[Estimate, Row]]]] = defaultdict(lambda: defaultdict(dict))
    for row in _usable(result.of(PEER)):
        axes, site = row.case.axes, row.case.site
        if axes.get("method") == "copy_engine" and axes.get("access") in ("on", "off"):
            key = (site.get("gpu"), site.get("peer"), str(axes.get("direction")))
            rate = statistics.rate_gb_s(row.time, row.bytes)
            known = copies[key][axes["access"]].get(row.bytes)
            if known is None or rate.value > known[0].value:
                copies[key][axes["access"]][row.bytes] = rate, row
    all_accesses = []
    for (gpu, peer, direction), there in sorted(copies.items()):
        if shared := there["on"].keys() & there["off"].keys():
            size = max(shared)
            (on, *with_it), (off, *without) = (there[access][size] for access in ("on", "off"))
            rows = (*with_it, *without)
            all_accesses.append(Access(gpu, peer, direction, size, on, off, rows))
    return all_accesses


DUPLEX = "transfer/duplex"
METHODS = {
    "pageable": "pageable",
    "pinned": "pinned",
    "copy_engine": "copy engine",
    "kernel_copy": "kernel copy",
    "zero_copy": "zero-copy",
    "demand": "demand",
    "prefetch": "prefetch",
}
# Remote memory is drawn for these; for the others the nearest alone, or nothing could be told apart.
BOTH_PLACES = ("pageable", "pinned")
# Between GPUs each sends, over the link: read, read_write and staged copies are for a table.
EACH_SENDS = {"direction": ("write", None), "access": ("on", None)}
EACH_SENDS_NOTE = (
    "Between GPUs each sends, with peer access; each reading, one doing both, and copies staged by the host "
    "are rows that are not drawn."
)
BETWEEN = {"host_gpu": "host ↔ GPU", "gpu_gpu": "GPU ↔ GPU"}
LANES = {
    "host_gpu": (("to_gpu", HOST_TO_GPU), ("to_host", GPU_TO_HOST)),
    "gpu_gpu": (("to_peer", TO_PEER), ("from_peer", FROM_PEER)),
}


def build_duplex(machines: Sequence[Machine]) -> Figure:
    """Both together, each lane, and how much they overlapped: a column for each kind of pair."""
    columns = [column for between in BETWEEN if (column := _column(machines, between))]
    if not columns:
        return Figure(machines, ())
    if len(columns) == 1:
        [(total, first, second, share)] = columns
        rows = ((total, share), (first, second))
    else:
        *curved, shares = zip(*columns, strict=True)
        rows = (*curved, tuple(replace(share, short=True) for share in shares))
    return Figure(machines, rows, tuple(_notes(machines, columns)))


def _column(machines: Sequence[Machine], between: str) -> tuple[CurvePanel, ...] | None:
    total = _drawn(machines, between)
    if not total:
        return None
    (first, way), (second, back) = LANES[between]
    return (
        CurvePanel(
            f"{BETWEEN[between]}, both ways together",
            tuple(total),
            x_label="size each way",
            levels=parts.both_ways(total, way),
        ),
        _lane(machines, between, first, way),
        _lane(machines, between, second, back),
        CurvePanel(
            f"{BETWEEN[between]}: share of the time in which both lanes ran",
            tuple(_drawn(machines, between, view=overlap, measure=as_it_is)),
            x_label="size each way",
            y_label="share of time",
            y_unit="ratio",
            y_top=1.0,
        ),
    )


def _lane(machines: Sequence[Machine], between: str, name: str, direction: str) -> CurvePanel:
    drawn = tuple(_drawn(machines, between, view=lane(name)))
    title = f"{parts.ARROWS[direction]}, while the other way runs"
    return CurvePanel(title, drawn, x_label="size each way", levels=parts.levels(drawn, direction))


def _drawn(machines: Sequence[Machine], between: str, **more) -> list[Curve]:
    all_curves: list[Curve] = []
    for method, name in named(machines, DUPLEX, METHODS).items():
        where = {"between": between, "method": method, "load": None}
        if between == "gpu_gpu":
            where |= EACH_SENDS
        elif method not in BOTH_PLACES:
            where["locality"] = NEAREST
        all_curves += curves(machines, DUPLEX, where, name=name, method=method, **more).curves
    return all_curves


def _notes(machines: Sequence[Machine], columns: Sequence[tuple[CurvePanel, ...]]) -> list[str]:
    source = paper(COMM_SCOPE)
    pinned, pageable = source["duplex_over_one_way_pinned"], source["duplex_over_one_way_pageable"]
    sites = parts.slow_sites([column[0] for column in columns], len(machines) > 1)
    between = any(column[0].title.startswith(BETWEEN["gpu_gpu"]) for column in columns)
    return [
        "Both together: the bytes of both lanes over the time in which either ran.",
        *([EACH_SENDS_NOTE] if between else []),
        *sites,
        f"{source.name} ({pinned.source}): both ways at once pinned copies are about {pinned.value:g} times "
        f"as fast as one way, pageable ones {pageable.bound} faster: their staging copies are serialised.",
    ]


PEER = "transfer/peer"
LOCAL = "transfer/local"
WAYS = {"read": FROM_PEER, "write": TO_PEER}
WHO = {"read": "read by the destination", "write": "written by the source"}
Sizes = dict[float, Estimate]


def build_peers(machines: Sequence[Machine]) -> Figure:
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
        drawn += curves(machines, PEER, where, name=name, method=method).curves
    return _panel(f"peer access on and off, {WHO[direction]}", drawn, direction)


def _methods(machines: Sequence[Machine], direction: str) -> CurvePanel | None:
    drawn: list[Curve] = []
    for name, method in PEER_WAYS:
        where = {"method": method, "direction": direction, "access": "on"}
        name = f"{name}, peer access on" if method == "copy_engine" else name
        drawn += curves(machines, PEER, where, name=name, method=method).curves
    return _panel(f"every method, {WHO[direction]}", drawn, direction)


def _panel(title: str, drawn: Sequence[Curve], direction: str) -> CurvePanel | None:
    if not drawn:
        return None
    # Without peer access the bytes go through the host: the link between the GPUs is no limit of theirs.
    crossing = [curve for curve in drawn if curve.method != "no_peer"]
    # Pairs by the dozen have few different peaks.
    every = parts.levels(crossing, WAYS[direction])
    levels = {(level.machine.index, level.name, f"{level.value:.1f}"): level for level in every}
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
        for row in machine.result.of(PEER)
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
    owner = parts.owner(machine, several)
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


FIGURES = (
    Entry("3", "figure_3_duplex", "Both directions at once", (DUPLEX,), "rows", build_duplex),
    Entry("4", "figure_4_peers", "Copies between GPUs", (PEER,), "rows", build_peers, beside=(LOCAL,)),
)
