"""What a machine's microbenchmarks say of its parts: the rates from which times of programs are predicted.

Every number is of rows of `transfer`, `reach`, `grain`, `latency`, `call` and `host`, of one GPU and one
placement of the host's memory. No row of a program (`gather`, `traversal`, `lean`) is looked at.

- The link. A request of B bytes over the link takes request + B × byte seconds where many are under way. The
  two follow from random reads of 128 bytes, whose time is taken as it is, and from all visits to rows of
  smaller requests: random ones of 32 bytes, and walks that begin 32 and 64 bytes beside a line.
- Translations. Beyond the reach a row at random misses with probability 1 − reach / span. Each miss takes a
  time, and the first of a batch at each granule more. All follow from rows as asked over several spans in the
  wall, for each kind of memory and each size of row.
- Copies, faults, the GPU's own memory and the host's are curves over bytes, on a line in log-log between
  measured sizes and at the rate of the nearest beyond them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise, takewhile
from operator import itemgetter

from grainscope_report import families
from grainscope_report.errors import ReportError
from grainscope_report.fits.translation import expected_unique
from grainscope_report.model import Result, Row
from grainscope_report.statistics import median

# The families that a prediction may look at.
SOURCES = ("transfer/", "reach/", "grain/", "latency/", "call", "host/")
LINE = 128
SECTOR = 32
# Translations of pinned memory come a line of sixteen entries of a page at a time (docs/method.md); the
# unified-memory driver maps a whole block by one (docs/host-memory.md).
GRANULE = 64 << 10
GRANULES = {"managed_host": 2 << 20}
# A row as asked this many times slower than its link alone is in the wall; spans of so many reaches tell the
# time of a miss, and shares of first misses that are so far apart what these take more.
IN_THE_WALL, BEYOND_REACH = 1.1, 1.5
SHARES_APART = 0.2
ROUNDS, SINGULAR = 8, 1e-9
# Two resources at work at once take a little longer than the longer of them alone.
BESIDE = 4
USUAL_MEMORY = "host_alloc"
# Hints by which managed memory stays on the host and is read there, as `managed_host` is.
IN_PLACE = ("preferred_host", "accessed_by")
# Steps of ranks, and how near a cache's own time is sought.
RANKS, NEAR = 64, 0.01
# A chase over so many bytes stays in the L2 cache and not in a multiprocessor's.
IN_CACHE = 2 << 20
# Copies of the host from so many bytes on come from its memory; of several the median says their rate.
IN_HOST_MEMORY = 4 << 20


class LackingRatesError(ReportError):
    """A run without the rows from which a rate follows."""


@dataclass(frozen=True)
class Curve:
    """Seconds of an operation by its bytes."""

    points: tuple[tuple[float, float], ...]

    def __call__(self, size: float) -> float:
        """On a line in log-log between sizes; below them the first's time, beyond them the last's rate."""
        (least, at_least), (most, at_most) = self.points[0], self.points[-1]
        if size <= least:
            return at_least
        if size >= most:
            return at_most * size / most
        (x, y), (x2, y2) = next((a, b) for a, b in pairwise(self.points) if a[0] <= size <= b[0])
        return y * (y2 / y) ** (math.log(size / x) / math.log(x2 / x))

    @property
    def rate(self) -> float:
        """Bytes a second at best."""
        return max(size / seconds for size, seconds in self.points)


def beside(*seconds: float) -> float:
    """The time of resources that work at once."""
    most = max(seconds)
    return most * sum((one / most) ** BESIDE for one in seconds) ** (1 / BESIDE) if most > 0 else 0.0


def apart(both: float, one: float) -> float:
    """The time of one of two resources that work at once, from that of both and of the other."""
    return (both**BESIDE - one**BESIDE) ** (1 / BESIDE)


@dataclass(frozen=True)
class Misses:
    """What rows at random cost in translations: the reach, and by size of row seconds a miss.

    The first miss of a batch at a granule takes more: the entry is not in the GPU's cache yet.
    """

    reach: float = math.inf
    each: Mapping[float, tuple[float, float]] = field(default_factory=dict)
    granule: float = GRANULE

    def of(self, row: float) -> tuple[float, float]:
        """Seconds a miss, and how many more the first takes, of the size of row that is nearest."""
        nearest = min(self.each, key=lambda one: abs(math.log(one / row)), default=0.0)
        return self.each.get(nearest, (0.0, 0.0))

    def as_asked(self, row: float, count: float, span: float) -> float:
        """Seconds of misses of rows in the order in which they are asked for."""
        seconds, more = self.of(row)
        count *= max(1.0, row / self.granule)
        granules = expected_unique(count, span / self.granule)
        return (count * seconds + granules * more) * max(0.0, 1 - self.reach / span)

    def in_order(self, count: float, span: float) -> float:
        """Seconds of misses of requests in the order of their addresses: once for each granule touched."""
        return self.of(LINE)[0] * expected_unique(count, span / self.granule) if span > self.reach else 0.0

    def as_asked_by_rank(self, row: float, count: float, span: float, first: float = 0.0) -> float:
        """The same of rows that are asked for as often as 1 / rank, those behind a share `first` of them.

        Granules that are asked for again within a time of the cache's own are there still: that time is what
        fills the reach (Che, Tung and Wang, IEEE JSAC 2002).
        """
        granules, kept = span / self.granule, self.reach / self.granule
        at = first * granules
        if granules - at <= kept:
            return 0.0
        edges = [
            at,
            *(max(at, 1.0) * (granules / max(at, 1.0)) ** (step / RANKS) for step in range(RANKS + 1)),
        ]
        weights = [math.log1p(edge * self.granule / row) for edge in edges]
        whole = weights[-1] - weights[0]
        parts = [
            (upper - lower, (heavier - lighter) / whole)
            for (lower, upper), (lighter, heavier) in zip(pairwise(edges), pairwise(weights), strict=True)
            if upper > lower
        ]
        short, long = 1.0, 1e15
        while long > short * (1 + NEAR):
            time = math.sqrt(short * long)
            held = sum(expected_unique(share * time, many) for many, share in parts)
            short, long = (time, long) if held < kept else (short, time)
        seconds, more = self.of(row)
        count *= max(1.0, row / self.granule)
        return sum(
            (count * share * seconds + expected_unique(count * share, many) * more)
            * math.exp(-share / many * short)
            for many, share in parts
        )


@dataclass(frozen=True)
class Rates:
    """The rates of one machine; times in seconds, rates in bytes a second."""

    request_s: float
    byte_s: float
    misses: Misses
    kernel_s: float  # a kernel that reads next to nothing over the link
    launch_and_wait_s: float
    event_s: float
    host_latency_s: float  # of a GPU's load from host memory
    gpu_latency_s: float  # and from its own
    cache_latency_s: float  # and from what its L2 cache holds
    within_gpu: Curve  # to read as much of the GPU's memory and write it there
    copy: Curve  # one copy to the GPU
    copies: Curve  # each of many copies to the GPU, submitted one after another
    faults: Curve  # managed memory, read by the GPU in ascending order
    host_copy_rate: float  # of all threads of the host
    host_load_s: float  # a load of the host from its memory
    host_threads: float

    def link(self, requests: float, size: float) -> float:
        """Seconds of so many requests of so many bytes together."""
        return requests * self.request_s + size * self.byte_s

    def times_longer(self, factor: float) -> "Rates":
        """With a link whose requests and bytes take so many times as long."""
        return replace(self, request_s=self.request_s * factor, byte_s=self.byte_s * factor)


def of(result: Result, gpu: int = 0, memory: str = USUAL_MEMORY, remote: bool = False) -> Rates:
    """The rates of a run for one GPU; raises LackingRatesError where rows are lacking."""
    return _Rows(result, gpu, remote).rates(memory)


def by_row(result: Result) -> Callable[[Row], Rates]:
    """The rates of a run for any row: of its GPU, near or far memory, and kind of memory."""
    known = cache(partial(of, result))

    def found(row: Row) -> Rates:
        memory = str(row.case.axes.get("memory", USUAL_MEMORY))
        if row.case.axes.get("hint") in IN_PLACE:
            memory = "managed_host"
        return known(row.case.site.get("gpu", 0), memory, row.case.locality == "remote")

    return found


def slower_by_few(result: Result, multiprocessors: float, width: float, gpu: int = 0) -> float:
    """How many times as long the link takes where so few multiprocessors read, `width` bytes a lane.

    A walk with as many blocks as there are multiprocessors has one on each.
    """
    rows = _Rows(result, gpu, remote=False).few(width)
    best = min(seconds for _, seconds in rows.points)
    return max(1.0, rows(multiprocessors) / best) if multiprocessors < rows.points[-1][0] else 1.0


class _Rows:
    """The rows of microbenchmarks of one GPU, near its memory or far from it."""

    def __init__(self, result: Result, gpu: int, remote: bool) -> None:
        self._name, self._gpu, self._remote = result.path.name, gpu, remote
        self._rows: dict[str, list[Row]] = {}
        for family in dict.fromkeys(row.case.family for row in result.rows):
            if family.startswith(SOURCES) and (rows := [row for row in result.of(family) if row.measured]):
                self._rows[family] = rows

    def rates(self, memory: str) -> Rates:
        request, byte = self._requests()
        calls = self._calls()
        threads, host_rate = self._host_copies()
        return Rates(
            request,
            byte,
            self._misses(memory, request, byte),
            min(row.median_s for row in self._walks(access="merged_aligned", blocks="full")),
            calls["launch_and_wait"],
            calls["event_record"],
            self._chase("host_memory"),
            self._chase("own_memory"),
            self._one("latency/chase", to="own_memory", order="shuffled", bytes=IN_CACHE).operation_s,
            self._curve("transfer/local", "bytes", method="kernel_copy"),
            self._curve("transfer/memcpy", "bytes", path="pinned_to_gpu", flush="on", timed="copy"),
            self._curve("grain/pieces", "grain", method="copy_engine", path="host_to_gpu"),
            self._curve("transfer/managed", "bytes", path="host_to_gpu", method="demand"),
            host_rate,
            self._host_load(),
            threads,
        )

    def _find(self, family: str, **axes: object) -> list[Row]:
        """Rows with these axes, of this GPU and of its far memory where there are any."""
        found = [
            row
            for row in self._rows.get(family, [])
            if all(row.case.axes.get(axis, value) == value for axis, value in axes.items())
            and families.in_usual_memory(family, row.case.axes)
            and "peer" not in row.case.site
        ]
        far = [row for row in found if row.case.locality == "remote"]
        placed = far if self._remote and far else [row for row in found if row.case.locality != "remote"]
        return [row for row in placed if row.case.site.get("gpu", self._gpu) == self._gpu] or placed

    def _need(self, family: str, **axes: object) -> list[Row]:
        found = self._find(family, **axes)
        if not found:
            said = " ".join(f"{axis}:{value}" for axis, value in axes.items())
            raise LackingRatesError(f"{self._name} has no row of {family} {said}, from which a rate follows")
        return found

    def _one(self, family: str, **axes: object) -> Row:
        return self._need(family, **axes)[0]

    def _curve(self, family: str, along: str, **axes: object) -> Curve:
        by_size: dict[float, list[float]] = {}
        for row in self._need(family, **axes):
            if isinstance(row.case.axes[along], str):
                continue
            size = float(row.case.axes[along])
            by_size.setdefault(size, []).append(row.operation_s or row.median_s)
        return Curve(tuple((size, min(times)) for size, times in sorted(by_size.items())))

    def few(self, width: float) -> Curve:
        """Seconds of a walk by its blocks."""
        walk = {"direction": "read", "access": "merged_aligned", "allocation": USUAL_MEMORY}
        return self._curve("transfer/zero_copy", "blocks", **walk, width=width, offset=0, threads=1024)

    def _walks(self, **axes: object) -> list[Row]:
        return self._need(
            "transfer/zero_copy", direction="read", width=4, allocation=USUAL_MEMORY, threads=1024, **axes
        )

    def _requests(self) -> tuple[float, float]:
        """Seconds a request and a byte: relative least squares over visits, through lines as measured."""
        pieces = {"method": "zero_copy_random", "path": "host_to_gpu"}
        line = _each(self._one("grain/pieces", grain=LINE, **pieces))
        seen = [(1, SECTOR, s) for s in _visits(self._one("grain/pieces", grain=SECTOR, **pieces), SECTOR)]
        for offset in (SECTOR, 2 * SECTOR):
            rows = self._find("transfer/zero_copy", direction="read", access="merged", offset=offset, width=4)
            seen += [(2, LINE, s) for row in rows for s in _visits(row, LINE)]
        x = [(count - size / LINE) / seconds for count, size, seconds in seen]
        y = [1 - line * size / LINE / seconds for count, size, seconds in seen]
        request = sum(a * b for a, b in zip(x, y, strict=True)) / sum(a * a for a in x)
        request = min(max(request, 0.0), line)
        return request, (line - request) / LINE

    def _misses(self, memory: str, request: float, byte: float) -> Misses:
        """Of each size of row the spans from the first on beyond which all are in the wall.

        Rows of up to a line tell the reach, as larger ones wait for the link too. Where they do not, kinds
        that are mapped alike have the same, and else it is the widest span before the wall.
        """
        granule = GRANULES.get(memory, GRANULE)
        by_row: dict[float, list[tuple[float, float, float]]] = {}
        for row in self._need("reach/gather", memory=memory, order="as_asked"):
            axes = row.case.axes
            if families.as_usual(axes):
                size, count, span = float(axes["row"]), float(axes["rows"]), float(axes["span"])
                link = count * (math.ceil(size / LINE) * request + max(size, SECTOR) * byte)
                missing = apart(row.median_s, link) if row.median_s > IN_THE_WALL * link else 0.0
                count *= max(1.0, size / granule)
                first = expected_unique(count, span / granule) / count
                by_row.setdefault(size, []).append((span, missing / count, first))
        walls = {
            size: list(takewhile(itemgetter(1), sorted(seen, reverse=True))) for size, seen in by_row.items()
        }
        short = [size for size in walls if size <= LINE]
        if reaches := [reach for size in short if (reach := _reach(walls[size]))]:
            reach = median(reaches)
        elif memory in (USUAL_MEMORY, *GRANULES):
            before = [span for size in short for span, seconds, _ in by_row[size] if not seconds]
            reach = max(before, default=0.0)
        else:
            reach = self._misses(USUAL_MEMORY, request, byte).reach
        each = {size: costs for size, wall in walls.items() if (costs := _costs(wall, reach))[0]}
        return Misses(reach, each, granule)

    def _calls(self) -> dict[str, float]:
        rows = {row.case.axes["what"]: row.operation_s for row in self._need("call")}
        for what in ("launch_and_wait", "event_record"):
            if not rows.get(what):
                raise LackingRatesError(f"{self._name} has no row of call {what}, from which a rate follows")
        return rows

    def _chase(self, where: str) -> float:
        """Of the widest: far beyond every cache."""
        rows = self._need("latency/chase", to=where, order="shuffled")
        return max(rows, key=lambda row: row.case.axes["bytes"]).operation_s

    def _host_copies(self) -> tuple[float, float]:
        rows = self._need("host/memcpy", flush="on")
        most = max(row.case.axes["threads"] for row in rows)
        wide = [row for row in rows if row.case.axes["threads"] == most and row.bytes >= IN_HOST_MEMORY]
        if not wide:
            raise LackingRatesError(
                f"{self._name} has no copies of the host of {IN_HOST_MEMORY >> 20} MiB or more"
            )
        return float(most), median([row.bytes / row.median_s for row in wide])

    def _host_load(self) -> float:
        rows = self._need("host/latency", pages="4KiB")
        return max(rows, key=lambda row: row.case.axes["bytes"]).operation_s


def _each(row: Row) -> float:
    return row.median_s / (row.case.axes["bytes"] / row.case.axes["grain"])


def _visits(row: Row, size: float) -> Iterable[float]:
    """Seconds of so many bytes, visit by visit."""
    return [visit.median_s / (row.case.axes["bytes"] / size) for visit in row.visits]


Wall = Sequence[tuple[float, float, float]]  # spans, seconds a row beside the link's, shares of first misses


def _reach(wall: Wall) -> float | None:
    """The reach by which seconds go as 1 − reach / span, beside what first misses add."""
    reach = None
    for _ in range(ROUNDS):
        found = _factors(wall, reach or 0.0, lambda span, first: (1.0, -LINE / span, first))
        if len(found) < 2:
            break
        reach = LINE * found[1] / found[0]
    return reach


def _costs(wall: Wall, reach: float) -> tuple[float, float]:
    """Seconds of a miss, and more of them for the first."""
    found = _factors(wall, reach, lambda span, first: (1 - reach / span, first * (1 - reach / span)))
    return (*found, 0.0, 0.0)[:2]


def _factors(wall: Wall, reach: float, columns: Callable[[float, float], tuple[float, ...]]) -> list[float]:
    """The positive factors by which columns add up to the seconds best, in relative error.

    The last column, of first misses, takes part where their shares are apart enough.
    """
    beyond = [one for one in wall if one[0] > BEYOND_REACH * reach]
    rows = [[one / seconds for one in columns(span, first)] for span, seconds, first in beyond]
    shares = [first for _, _, first in beyond] or [0.0]
    most = len(rows[0]) if rows else 0
    for used in range(most - (max(shares) - min(shares) < SHARES_APART), 0, -1):
        found = _least_squares([row[:used] for row in rows])
        if found and min(found) > 0:
            return found
    return []


def _least_squares(rows: Sequence[Sequence[float]]) -> list[float] | None:
    """The factors by which the columns add up to one best; None where the rows do not tell them apart."""
    size = range(len(rows[0]))
    sums = [[sum(row[i] * one for row, one in zip(rows, column, strict=True))
             for column in (*zip(*rows, strict=True), [1.0] * len(rows))] for i in size]  # fmt: skip
    for i in size:
        if sums[i][i] <= SINGULAR * sum(row[i] ** 2 for row in rows):
            return None
        sums[i] = [one / sums[i][i] for one in sums[i]]
        for j in size:
            if j != i:
                sums[j] = [one - sums[j][i] * two for one, two in zip(sums[j], sums[i], strict=True)]
    return [row[-1] for row in sums]
