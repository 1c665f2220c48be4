"""Things at once: what both directions together bring, and what peer access does to a pair of GPUs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from grainscope_report import naming, statistics
from grainscope_report.model import Result, Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes

DUPLEX = "transfer/duplex"
PEER = "transfer/peer"
MOST_PAIRS = 4
WAYS = 2


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
        if float(said) <= WAYS:
            return f", {said} times one way alone"
        return f", more than {WAYS} times one way alone, whose rate varied"


@dataclass(frozen=True)
class Access:
    """What peer access brings a pair of GPUs at one size: rates with and without it, GB/s."""

    gpu: int
    peer: int
    direction: str
    bytes: float
    on: Estimate
    off: Estimate

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
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in _usable(result.of(DUPLEX)):
        groups[naming.name(row)].append(row)
    found = []
    for name, rows in groups.items():
        site = tuple(sorted(rows[0].case.site.items()))
        here = [row for row in rows if tuple(sorted(row.case.site.items())) == site]
        best = max(here, key=lambda row: row.bytes / row.median_s)
        rate = statistics.rate_gb_s(best.time, best.bytes)
        size = float(best.case.axes.get("bytes", best.bytes))
        found.append(Duplex(name, site, size, rate, best.link_fraction, best.overlap, _over_one_way(best)))
    return found


def _over_one_way(row: Row) -> float | None:
    """Both together over the faster lane alone, where the run has these."""
    rates = [one.alone_gb_s for one in row.lanes]
    return row.bytes / row.median_s / 1e9 / max(rates) if rates and all(rates) else None


def accesses_text(found: Sequence[Access]) -> list[str]:
    """A sentence for each pair, or for many pairs of how they spread and which is the slowest."""
    if len(found) <= MOST_PAIRS:
        return [one.text for one in found]
    said = []
    for direction in dict.fromkeys(one.direction for one in found):
        there = [one for one in found if one.direction == direction]
        slowest = min(there, key=lambda one: one.on.value)
        on, off = ([each(one).value for one in there] for each in (_on, _off))
        said.append(
            f"{direction}, {len(there)} pairs: {statistics.median(on):.1f} GB/s with peer access "
            f"({min(on):.1f} to {max(on):.1f}), {statistics.median(off):.1f} without "
            f"({min(off):.1f} to {max(off):.1f}); the slowest is GPU {slowest.gpu}, peer {slowest.peer}"
        )
    return said


def _on(one: Access) -> Estimate:
    return one.on


def _off(one: Access) -> Estimate:
    return one.off


def accesses(result: Result) -> list[Access]:
    """Each pair and direction with and without peer access, at the largest size that both have."""
    copies: dict[tuple, dict[str, dict[float, Estimate]]] = defaultdict(lambda: defaultdict(dict))
    for row in _usable(result.of(PEER)):
        axes, site = row.case.axes, row.case.site
        if axes.get("method") == "copy_engine" and axes.get("access") in ("on", "off"):
            key = (site.get("gpu"), site.get("peer"), str(axes.get("direction")))
            rate = statistics.rate_gb_s(row.time, row.bytes)
            known = copies[key][axes["access"]].get(row.bytes)
            if known is None or rate.value > known.value:
                copies[key][axes["access"]][row.bytes] = rate
    found = []
    for (gpu, peer, direction), there in sorted(copies.items()):
        if shared := there["on"].keys() & there["off"].keys():
            size = max(shared)
            found.append(Access(gpu, peer, direction, size, there["on"][size], there["off"][size]))
    return found
