"""Grains: useful GB/s against the size of a piece under measured roofs (figure 14), and what fills the link:
the fewest multiprocessors that do, and how many requests are under way.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from grainscope_report.figures import parts
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Curve, CurvePanel, Entry, Figure, Roof
from grainscope_report.figures.parts import NEAREST, as_it_is, counter, crossed, curves, named, select
from grainscope_report.groups.latency import CHASE
from grainscope_report.groups.transfer_copies import ZERO_COPY
from grainscope_report.machine import Machine, spoken_site
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, Result, Row, ends
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_time, significant

SATURATION = "grain/saturation"
PIECES = "grain/pieces"
ZERO = "zero_copy"
LINE = 128
# Kernels ask for a line at a time whatever the piece; the others ask for the piece.
KERNELS = ("zero_copy_sequential", "zero_copy_random", "kernel_write_random")
# Their pieces are asked for all at once, so that one does not wait for the one before.
AT_ONCE = ("batch", "graph", "managed_prefetch_batch", "managed_demand")
# Fewer than this are one after another.
SEVERAL = 1.5


@dataclass(frozen=True)
class Fewest:
    """The smallest grid of a kernel that fills the link; the rates are GB/s, `width` bytes a lane.

    Where `bulk`, by bulk copies, which have no width.
    """

    direction: str
    bulk: bool
    width: float
    site: tuple[tuple[str, int], ...]
    sms: float
    sms_available: float | None
    saturated_gb_s: float
    full_gb_s: float
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @property
    def access(self) -> str:
        """How it reads or writes: `of 4 B a lane`."""
        return "in bulk" if self.bulk else f"of {format_bytes(self.width)} a lane"

    @property
    def text(self) -> str:
        """In words."""
        of = f" of {self.sms_available:g}" if self.sms_available else ""
        return (
            f"{self.direction}s {self.access} fill the link with {self.sms:g}{of} "
            f"multiprocessors: {self.saturated_gb_s:.1f} GB/s, all of them {self.full_gb_s:.1f} "
            f"({spoken_site(self.site)})"
        )

    @property
    def short(self) -> str:
        """In few words."""
        of = f" of {self.sms_available:g}" if self.sms_available else ""
        return (
            f"{self.direction} {self.access} {self.sms:g}{of} "
            f"({self.saturated_gb_s:.1f} of {self.full_gb_s:.1f} GB/s)"
        )


@dataclass(frozen=True)
class Flight:
    """The most requests of a method that were under way, of which size, with which latency.

    `derived` where they are worked out from the rate of one family and the latency of another.
    """

    method: str
    path: str
    requests: float
    size: float
    latency_s: float
    derived: bool
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @property
    def text(self) -> str:
        """In words."""
        who = f"{self.method.replace('_', ' ')}, {parts.ARROWS.get(self.path, self.path)}"
        if self.requests < SEVERAL:
            order = "asked for at once" if self.method in AT_ONCE else "one after another"
            return f"{who}: a piece every {format_time(self.latency_s / self.requests)}, {order}"
        source = ", from its rate and the latency of a dependent load" if self.derived else ""
        return (
            f"{who}: up to {significant(self.requests)} requests of {format_bytes(self.size)} in flight, "
            f"{format_time(self.latency_s)} each{source}"
        )


def fewest(result: Result) -> list[Fewest]:
    """The fewest multiprocessors, by direction, load, width and site."""
    found: dict[tuple, Fewest] = {}
    for row in result.of(SATURATION):
        if not row.ok or not {"sms", "saturated_gb_s", "full_gb_s"} <= row.counters.keys():
            continue
        direction, width = str(row.case.axes.get("direction")), row.case.axes.get("width", 0)
        bulk = row.case.axes.get("load") == "bulk"
        site = row.case.site_key
        counters = row.counters
        grid = Fewest(
            direction,
            bulk,
            float(width),
            site,
            counters["sms"],
            counters.get("sms_available"),
            counters["saturated_gb_s"],
            counters["full_gb_s"],
            (row,),
        )
        found[direction, bulk, width, site] = grid
    return [found[key] for key in sorted(found)]


def said(grids: Sequence[Fewest]) -> list[str]:
    """A sentence for each direction about the grid that needs fewest."""
    sentences = []
    for direction in dict.fromkeys(grid.direction for grid in grids):
        own = [grid for grid in grids if grid.direction == direction]
        grid = min(own, key=lambda grid: (grid.sms, -grid.saturated_gb_s))
        of = f" of {grid.sms_available:g}" if grid.sms_available else ""
        sentences.append(
            f"{grid.sms:g}{of} fill the link with {direction}s {grid.access} "
            f"({grid.saturated_gb_s:.1f} of {grid.full_gb_s:.1f} GB/s)"
        )
    return sentences


def flights(result: Result) -> list[Flight]:
    """The requests in flight of each method: as counted, or a piece at a time.

    Where nothing counts those of zero-copy reads, they are worked out.
    """
    best: dict[tuple[str, str], Row] = {}
    each: dict[tuple[str, str], Row] = {}
    for row in result.of(PIECES):
        key = (str(row.case.axes.get("method")), str(row.case.axes.get("path")))
        if row.ok and {"requests_in_flight", "latency_s"} <= row.counters.keys():
            best[key] = max(row, best.get(key, row), key=_most)
        elif row.ok and row.operation_s and key[0] not in KERNELS:
            each[key] = min(row, each.get(key, row), key=_shortest)
    found = [_flight(method, path, row) for (method, path), row in best.items()]
    found += [_one_by_one(*key, row) for key, row in each.items() if key not in best]
    counted = any(method.startswith(ZERO) for method, _ in best)
    return found if counted else [*found, *_derived(result)]


def _shortest(row: Row) -> float:
    return row.operation_s or 0.0


def _one_by_one(method: str, path: str, row: Row) -> Flight:
    """Nothing counts them: the shortest time of a piece is the cost of starting one."""
    return Flight(
        method, path, 1.0, float(row.case.axes.get("grain", 0.0)), row.operation_s or 0.0, False, (row,)
    )


def _most(row: Row) -> tuple[float, float]:
    """By requests, and of as many by the grain: there the link and not the piece is the limit."""
    return float(f"{row.counters['requests_in_flight']:.3g}"), row.case.axes.get("grain", 0.0)


def _flight(method: str, path: str, row: Row) -> Flight:
    grain = float(row.case.axes.get("grain", 0.0))
    size = min(grain, LINE) if method in KERNELS else grain
    return Flight(
        method, path, row.counters["requests_in_flight"], size, row.counters["latency_s"], False, (row,)
    )


def _derived(result: Result) -> list[Flight]:
    """Little's law: the rate of a zero-copy read times the latency of one load, in lines."""
    loads: dict[tuple, Row] = {}
    for row in result.of(CHASE):
        if row.ok and row.operation_s and row.case.axes.get("to") == "host_memory":
            site = row.case.site_key
            loads[site] = min(loads.get(site, row), row, key=_shortest)
    reads = [
        row
        for row in result.of(ZERO_COPY)
        if row.ok
        and row.bandwidth_gb_s
        and row.case.axes.get("direction") == "read"
        and row.case.axes.get("access") == "merged_aligned"
        and row.case.site_key in loads
    ]
    if not reads:
        return []
    top = max(reads, key=lambda row: row.bandwidth_gb_s)
    load = loads[top.case.site_key]
    latency_s = _shortest(load)
    requests = top.bandwidth_gb_s * 1e9 * latency_s / LINE
    return [Flight("zero_copy", "host_to_gpu", requests, LINE, latency_s, True, (top, load))]


METHODS = {
    "copy_engine": "a copy a piece",
    "pageable_copy": "a copy a piece, pageable",
    "batch": "batch of copies",
    "graph": "graph of copies",
    "zero_copy_sequential": "zero-copy, in order",
    "zero_copy_random": "zero-copy, at random",
    "kernel_write_random": "kernel writes, at random",
    "managed_prefetch": "managed, prefetch",
    "managed_prefetch_batch": "managed, batch of prefetches",
    "managed_demand": "managed, demand",
}
# Timed with their calls.
CALLED = {"pageable_copy", "batch", "graph"}
DEMAND = "managed_demand"
MOVED = "pages that moved on demand"
PATHS = (HOST_TO_GPU, GPU_TO_HOST)
# Where curves lie farthest apart: their order in the legend is their order there.
APART = 4096


def build(machines: Sequence[Machine]) -> Figure:
    """Rates under roofs above; requests in flight and the fewest multiprocessors below."""
    drawn = {path: _drawn(machines, path) for path in PATHS}
    roofs = {path: _roofs(curves, path) for path, curves in drawn.items()}
    top = [_panel(drawn[path], roofs[path], path) for path in PATHS]
    below = [_in_flight(machines), _fewest(machines)]
    rows = tuple(tuple(panel for panel in row if panel) for row in (top, below))
    if not any(top):
        return Figure(machines, ())
    several = len(machines) > 1
    notes = parts.slow_sites([panel for panel in top if panel], several)
    if any(curve.method in CALLED for there in drawn.values() for curve in there):
        notes.append(
            "Batches and graphs of copies, and copies of pageable memory: from the call until the last piece "
            "has arrived, by the host's clock; other copies: without the calls, which were made before."
        )
    for machine in machines:
        owner = parts.owner(machine, several)
        notes += _moved(machine, owner)
        if said := [grid.short for grid in fewest(machine.result)]:
            notes.append(f"{owner}Fewest multiprocessors that fill the link: {'; '.join(said)}.")
        for path in PATHS:
            there = [f"{roof.name}: {roof.note}" for roof in roofs[path] if roof.machine is machine]
            if there:
                notes.append(f"{owner}Roofs, {parts.ARROWS[path]}: {'; '.join(there)}.")
            if paced := _paced(machine, path):
                notes.append(f"{owner}At best, {parts.ARROWS[path]}: {'; '.join(paced)}.")
    return Figure(machines, tuple(row for row in rows if row), tuple(notes))


def _where(method: str, path: str) -> dict:
    return {"method": method, "path": path, "locality": NEAREST}


def _drawn(machines: Sequence[Machine], path: str) -> list[Curve]:
    all_curves: list[Curve] = []
    for method, name in named(machines, PIECES, METHODS).items():
        all_curves += curves(
            machines, PIECES, _where(method, path), name=name, method=method, x="grain", whatever="bytes"
        ).curves
        if method == DEMAND:
            all_curves += _moved_pages(machines, path)
    return _highest_first(all_curves)


def _highest_first(all_curves: Sequence[Curve]) -> list[Curve]:
    """By name in the order of the first curves of that name; those that begin further right come last."""
    order: dict[str, tuple[bool, float]] = {}
    for curve in all_curves:
        near = min(curve.points, key=lambda point: abs(math.log(point.x / APART)))
        order.setdefault(curve.name, (near.x > 2 * APART, -near.y.value))
    return sorted(all_curves, key=lambda curve: order[curve.name])


def _moved_pages(machines: Sequence[Machine], path: str) -> Sequence[Curve]:
    """What the driver moved for the pieces that were read: whole pages, and some around them."""
    return curves(
        machines,
        PIECES,
        _where(DEMAND, path),
        name=MOVED,
        method=DEMAND,
        x="grain",
        view=crossed,
        dash="dashed",
        whatever="bytes",
    ).curves


def _moved(machine: Machine, owner: str) -> list[str]:
    """How much moved for the smallest piece that was read on demand, against what was useful of it."""
    where = {"method": DEMAND}
    rows = [
        row for row in select(machine.result.of(PIECES), where) if row.link_bytes_least and row.operations
    ]
    if not rows:
        return []
    least = min(rows, key=lambda row: row.case.axes.get("grain", 0.0))
    useful, moved = least.bytes / least.operations, least.link_bytes_least / least.operations
    return [
        f"{owner}Managed, demand: a piece in each 2 MiB; of {format_bytes(useful)} each "
        f"{format_bytes(moved)} moved, {significant(moved / useful)} times what was useful (dashed)."
    ]


def _paced(machine: Machine, path: str) -> list[str]:
    """The shortest time of a piece where pieces are asked for all at once."""
    return [
        f"{METHODS.get(flight.method, flight.method)}, a piece every {format_time(flight.latency_s)}"
        for flight in flights(machine.result)
        if flight.method in AT_ONCE and flight.path == path
    ]


def _panel(drawn: Sequence[Curve], roofs: Sequence[Roof], path: str) -> CurvePanel | None:
    if not drawn:
        return None
    return CurvePanel(
        parts.ARROWS[path],
        tuple(drawn),
        x_label="grain",
        y_label="useful bytes (GB/s)",
        y_log=True,
        levels=parts.levels(drawn, path),
        roofs=tuple(roofs),
    )


def _roofs(drawn: Sequence[Curve], path: str) -> list[Roof]:
    """For each method whose requests were counted: as many as ever in flight, at every grain."""
    roofs = []
    for curve in drawn:
        known = [flight for flight in flights(curve.machine.result) if not flight.derived]
        most = next(
            (flight for flight in known if (flight.method, flight.path) == (curve.method, path)), None
        )
        if most and curve.primary and curve.marked and curve.method not in AT_ONCE:
            roofs += _roof(curve, most, path)
    return roofs


def _roof(curve: Curve, most: Flight, path: str) -> list[Roof]:
    link = curve.machine.result.link(ends(dict(curve.site), path))
    top = link.peak_gb_s if link else max(point.y.high for point in curve.points)
    low, high = min(curve.x), max(curve.x)
    request = LINE if curve.method in KERNELS else high
    # Beyond the size of a request more of them cannot be under way, and above the peak there is another roof.
    full = top * 1e9 * most.latency_s / most.requests
    bend = min(request, full, high)
    if bend <= low:
        return []
    slope = most.requests / most.latency_s / 1e9
    points = [(low, slope * low), (bend, slope * bend)]
    if bend < high and bend < full:
        points.append((high, slope * bend))
    note = f"{significant(most.requests)} in flight, {format_time(most.latency_s)} each"
    return [Roof(curve.name, curve.method, tuple(points), curve.machine, note)]


def _in_flight(machines: Sequence[Machine]) -> CurvePanel | None:
    """Of kernels: a copy is one request, and of those less than one is in flight as soon as they overlap."""
    drawn: list[Curve] = []
    for method in KERNELS[:2]:
        name = METHODS[method]
        drawn += curves(
            machines,
            PIECES,
            _where(method, HOST_TO_GPU),
            name=name,
            method=method,
            x="grain",
            view=counter("requests_in_flight"),
            measure=as_it_is,
            whatever="bytes",
        ).curves
    if not drawn:
        return None
    return CurvePanel(
        f"requests in flight, {parts.ARROWS[HOST_TO_GPU]}",
        tuple(drawn),
        x_label="grain",
        y_label="requests of 128 B or less",
        y_unit="requests",
    )


def _fewest(machines: Sequence[Machine]) -> BarPanel | None:
    """The fewest multiprocessors that fill the link, by direction and access, first site of each machine."""
    bars: dict[tuple[str, bool, float], dict[int, Bar]] = {}
    accesses: dict[tuple[str, bool, float], str] = {}
    several = len(machines) > 1
    available = {grid.sms_available for machine in machines for grid in fewest(machine.result)} - {None}
    for machine in machines:
        for grid in reversed(fewest(machine.result)):
            # Bars of several machines have no room for it: of all alike the axis says it.
            of = f"\nof {grid.sms_available:g}" if grid.sms_available and not several else ""
            letter = f"{machine.letter}\n" if several else ""
            value = Estimate(grid.sms, grid.sms, grid.sms)
            note = f"{spoken_site(grid.site)}: {grid.saturated_gb_s:.1f} of {grid.full_gb_s:.1f} GB/s"
            key = (grid.direction, grid.bulk, grid.width)
            accesses[key] = "in bulk" if grid.bulk else f"{format_bytes(grid.width)}\na lane"
            bars.setdefault(key, {})[machine.index] = Bar(value, f"{letter}{grid.sms:g}{of}", note=note)
    if not bars:
        return None
    keys = sorted(bars)
    owners = [machine for machine in machines if any(machine.index in there for there in bars.values())]
    series = tuple(
        BarSeries(
            f"fewest multiprocessors, {machine.letter}" if len(owners) > 1 else "fewest multiprocessors",
            "traffic",
            tuple(bars[key].get(machine.index, Bar(None, "no row")) for key in keys),
            machine,
        )
        for machine in owners
    )
    names = tuple(f"{key[0]}\n{accesses[key]}" for key in keys)
    alike = f" (of {min(available):g})" if several and len(available) == 1 else ""
    title = "fewest multiprocessors that fill the link"
    return BarPanel(title, names, series, f"multiprocessors{alike}", "SMs")


FIGURES = (
    Entry("14", "figure_14_link_roofline", "The link roofline: useful bytes by grain", (PIECES,), "rows",
          build, beside=(SATURATION,)),
)  # fmt: skip
