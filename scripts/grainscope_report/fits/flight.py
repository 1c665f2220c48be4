"""What keeps a link full: the fewest multiprocessors that do, and how many requests are under way."""

from collections import defaultdict
from dataclasses import dataclass

from grainscope_report.figures import parts
from grainscope_report.machine import spoken_site
from grainscope_report.model import Row
from grainscope_report.result import Result
from grainscope_report.units import format_bytes, format_time, significant

SATURATION = "grain/saturation"
PIECES = "grain/pieces"
CHASE = "latency/chase"
ZERO_COPY = "transfer/zero_copy"
ZERO = "zero_copy"
LINE = 128
# Kernels ask for a line at a time whatever the piece; the others ask for the piece.
KERNELS = ("zero_copy_sequential", "zero_copy_random", "kernel_write_random")
# Their pieces are asked for all at once, so that one does not wait for the one before.
AT_ONCE = ("batch", "graph", "managed_demand")
# Fewer than this are one after another.
SEVERAL = 1.5


@dataclass(frozen=True)
class Fewest:
    """The smallest grid of a kernel that fills the link; the rates are GB/s, `width` bytes a lane."""

    direction: str
    width: float
    site: tuple[tuple[str, int], ...]
    sms: float
    sms_available: float | None
    saturated_gb_s: float
    full_gb_s: float

    @property
    def text(self) -> str:
        """In words."""
        of = f" of {self.sms_available:g}" if self.sms_available else ""
        return (
            f"{self.direction}s of {format_bytes(self.width)} a lane fill the link with {self.sms:g}{of} "
            f"multiprocessors: {self.saturated_gb_s:.1f} GB/s, all of them {self.full_gb_s:.1f} "
            f"({spoken_site(self.site)})"
        )

    @property
    def short(self) -> str:
        """In few words."""
        of = f" of {self.sms_available:g}" if self.sms_available else ""
        return (
            f"{self.direction} of {format_bytes(self.width)} a lane {self.sms:g}{of} "
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
    """The fewest multiprocessors, by direction, width and site; of several sessions the most cautious."""
    found: dict[tuple, Fewest] = {}
    for row in result.of(SATURATION):
        if not row.ok or not {"sms", "saturated_gb_s", "full_gb_s"} <= row.counters.keys():
            continue
        direction, width = str(row.case.axes.get("direction")), row.case.axes.get("width", 0)
        site = tuple(sorted(row.case.site.items()))
        counters = row.counters
        one = Fewest(
            direction,
            float(width),
            site,
            counters["sms"],
            counters.get("sms_available"),
            counters["saturated_gb_s"],
            counters["full_gb_s"],
        )
        found[direction, width, site] = max(one, found.get((direction, width, site), one), key=_sms)
    return [found[key] for key in sorted(found)]


def _sms(one: Fewest) -> float:
    return one.sms


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
    return Flight(method, path, 1.0, float(row.case.axes.get("grain", 0.0)), row.operation_s or 0.0, False)


def _most(row: Row) -> tuple[float, float]:
    """By requests, and of as many by the grain: there the link and not the piece is the limit."""
    return float(f"{row.counters['requests_in_flight']:.3g}"), row.case.axes.get("grain", 0.0)


def _flight(method: str, path: str, row: Row) -> Flight:
    grain = float(row.case.axes.get("grain", 0.0))
    size = min(grain, LINE) if method in KERNELS else grain
    return Flight(method, path, row.counters["requests_in_flight"], size, row.counters["latency_s"], False)


def _derived(result: Result) -> list[Flight]:
    """Little's law: the rate of a zero-copy read times the latency of one load, in lines."""
    latencies: dict[tuple, float] = defaultdict(float)
    for row in result.of(CHASE):
        if row.ok and row.operation_s and row.case.axes.get("to") == "host_memory":
            site = tuple(sorted(row.case.site.items()))
            known = latencies.get(site, row.operation_s)
            latencies[site] = min(known, row.operation_s)
    reads = [
        row
        for row in result.of(ZERO_COPY)
        if row.ok
        and row.bandwidth_gb_s
        and row.case.axes.get("direction") == "read"
        and row.case.axes.get("access") == "merged_aligned"
        and tuple(sorted(row.case.site.items())) in latencies
    ]
    if not reads:
        return []
    top = max(reads, key=lambda row: row.bandwidth_gb_s)
    latency_s = latencies[tuple(sorted(top.case.site.items()))]
    requests = top.bandwidth_gb_s * 1e9 * latency_s / LINE
    return [Flight("zero_copy", "host_to_gpu", requests, LINE, latency_s, True)]
