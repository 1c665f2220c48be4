"""Ways of moving bytes: the line behind each, which is first at which size, and what the links reach.

The line is t = a + b n: latency a, bandwidth 1/b, half of it reached at a/b. It has the least sum of
absolute relative errors, found by reweighting: a size that a cache or another protocol bends away counts
by how far off it is and not by its square, and a kilobyte counts as much as a gigabyte. Intervals are a
bootstrap: sizes drawn with replacement, each time drawn from its own interval, 2.5th to 97.5th percentile
of 200 such lines. What runs differ by (type B) is common to the sizes of a run: it widens latency and
bandwidth whole.
"""

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from grainscope_report import naming, statistics
from grainscope_report.analysis import Analysis
from grainscope_report.figures import parts
from grainscope_report.figures.model import Curve
from grainscope_report.figures.parts import ARROWS, NEAREST, Where, curves
from grainscope_report.fits import shape
from grainscope_report.fits.shape import Segment
from grainscope_report.groups import host, transfer_copies
from grainscope_report.groups.transfer_copies import COLD
from grainscope_report.machine import Machine
from grainscope_report.model import (
    FROM_PEER,
    GPU_TO_HOST,
    HOST_TO_GPU,
    OPPOSITE,
    TO_PEER,
    Case,
    Link,
    Result,
    Row,
    ends,
)
from grainscope_report.statistics import Estimate
from grainscope_report.uncertainty import expanded, interval_around, of_record
from grainscope_report.units import format_bytes, format_percent

FEWEST_SIZES = 5
# Sizes closer together than this tell latency from bandwidth by noise alone.
LEAST_RANGE = 32
DRAWS = 200
STEPS, STEPS_OF_A_DRAW = 40, 5
SMALLEST_ERROR = 0.005
METHOD = "least absolute relative errors; 95 % by bootstrap over sizes"


@dataclass(frozen=True)
class Line:
    """A fitted line: seconds before the first byte, GB/s of a long transfer, bytes at half of that.

    `median_error` and `worst_error` are relative, the latter with the size that it is at.
    """

    latency_s: Estimate
    bandwidth_gb_s: Estimate
    half_bytes: Estimate
    median_error: float
    worst_error: float
    worst_bytes: float
    sizes: int


def fit_line(sizes: Sequence[float], times: Sequence[Estimate]) -> Line | None:
    """The line through these sizes and times; None where there are too few sizes to tell."""
    if len(sizes) < FEWEST_SIZES or max(sizes) < LEAST_RANGE * min(sizes):
        return None
    middle = [time.value for time in times]
    best = _solve(sizes, middle, _start(sizes, middle), STEPS)
    if best[1] <= 0:
        return None
    drawn = _bootstrap(sizes, times, best)
    errors = [(best[0] + best[1] * n) / t - 1 for n, t in zip(sizes, middle, strict=True)]
    worst = max(range(len(sizes)), key=lambda at: abs(errors[at]))
    return Line(
        latency_s=_estimate(best[0], [a for a, _ in drawn]),
        bandwidth_gb_s=_estimate(1e-9 / best[1], [1e-9 / b for _, b in drawn]),
        half_bytes=_estimate(best[0] / best[1], [a / b for a, b in drawn]),
        median_error=statistics.median([abs(error) for error in errors]),
        worst_error=errors[worst],
        worst_bytes=sizes[worst],
        sizes=len(sizes),
    )


def _estimate(value: float, drawn: Sequence[float]) -> Estimate:
    low, high = statistics.percentile(drawn, 2.5), statistics.percentile(drawn, 97.5)
    return Estimate(value, min(value, low), max(value, high))


def _start(sizes: Sequence[float], times: Sequence[float]) -> tuple[float, float]:
    """The time of the smallest size and the rate of the largest."""
    return times[sizes.index(min(sizes))], times[sizes.index(max(sizes))] / max(sizes)


def _solve(
    sizes: Sequence[float], times: Sequence[float], line: tuple[float, float], steps: int
) -> tuple[float, float]:
    """Weighted least squares again and again, each weight one over the error that the last line left."""
    scaled = [(1 / time, size / time) for size, time in zip(sizes, times, strict=True)]
    for _ in range(steps):
        one = size = both = first = second = 0.0
        a, b = line
        for u, v in scaled:
            error = a * u + b * v - 1
            if error < 0:
                error = -error
            weighted = u / error if error > SMALLEST_ERROR else u / SMALLEST_ERROR
            first += weighted
            one += weighted * u
            both += weighted * v
            weighted *= v / u
            second += weighted
            size += weighted * v
        determinant = one * size - both * both
        if determinant <= 1e-12 * one * size:
            return line
        a, b = (first * size - second * both) / determinant, (second * one - first * both) / determinant
        # Nothing arrives before it was sent.
        line = (a, b) if a >= 0 else (0.0, second / size)
    return line


def _bootstrap(
    sizes: Sequence[float], times: Sequence[Estimate], best: tuple[float, float]
) -> list[tuple[float, float]]:
    """Lines through sizes drawn with replacement."""
    spread = [math.log(time.high / time.low) / (2 * statistics.Z_95) if time.low else 0.0 for time in times]
    values = [time.value for time in times]
    found = []
    for number in itertools.count():
        if len(found) == DRAWS:
            break
        drawn = _draw(len(sizes), number)
        there = [sizes[at] for at, _ in drawn]
        if max(there) < LEAST_RANGE * min(there):
            continue
        perturbed = [values[at] * math.exp(off * spread[at]) for at, off in drawn]
        line = _solve(there, perturbed, best, STEPS_OF_A_DRAW)
        found.append(line if line[1] > 0 else best)
    return found


@lru_cache(maxsize=4096)
def _draw(count: int, number: int) -> tuple[tuple[int, float], ...]:
    """So many sizes drawn with replacement, each with a normal number; the same for all paths."""
    chance = random.Random(1000 * count + number)
    return tuple((chance.randrange(count), chance.gauss(0, 1)) for _ in range(count))


PATH_FAMILIES = (
    "transfer/memcpy",
    "transfer/kernel_copy",
    "transfer/zero_copy",
    "transfer/managed",
    "transfer/duplex",
    "transfer/peer",
    "transfer/local",
)
Question = tuple[str, tuple[tuple[str, str | float], ...]]


@dataclass(frozen=True)
class Path:
    """One way of moving bytes at one site, and the line behind its times.

    `theoretical_gb_s` is what the link is negotiated for, both directions together where the path
    uses both; None where the run does not know.
    """

    family: str
    name: str
    case: Case
    line: Line
    theoretical_gb_s: float | None
    peak_gb_s: float | None
    negotiated: str | None
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @property
    def of_link(self) -> float | None:
        """The share of the negotiated link that long transfers reach."""
        return self.line.bandwidth_gb_s.value / self.theoretical_gb_s if self.theoretical_gb_s else None


@dataclass(frozen=True)
class Farther:
    """The same question asked of local and of remote memory: how much less comes, how much later."""

    name: str
    family: str
    rate: Estimate
    latency_s: float
    local_latency_s: float
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)


def paths(result: Result, every: bool = True) -> list[Path]:
    """The paths with enough sizes, in the order of `FAMILIES` and of the file.

    Unless `every` site is wanted, the first of each question and place.
    """
    all_paths = []
    for family in PATH_FAMILIES:
        all_paths += _of_family(result, [row for row in result.of(family) if _usable(row)], every)
    return all_paths


def _usable(row: Row) -> bool:
    return bool(row.measured and row.bytes) and row.case.axes.get("timed") in (None, "copy")


def _of_family(result: Result, rows: Sequence[Row], every: bool) -> list[Path]:
    groups: dict[tuple, list[Row]] = defaultdict(list)
    first: dict[tuple, tuple] = {}
    for row in rows:
        asked, site = row.case.without("bytes", "flush"), row.case.site_key
        if every or first.setdefault(asked, site) == site:
            groups[asked, site].append(row)
    cold = map(_cold, groups.values())
    fitted = [(there, line) for there in cold if (line := _line(there))]
    varying = _varying([there[0] for there, _ in fitted])
    return [_path(result, there, line, varying) for there, line in fitted]


def _cold(rows: Sequence[Row]) -> Sequence[Row]:
    """Flushed copies where there are any: a cache's speed is not the link's."""
    return [row for row in rows if row.case.axes.get("flush", "on") == "on"] or rows


def _line(rows: Sequence[Row]) -> Line | None:
    by_size = {row.bytes: row for row in sorted(rows, key=lambda row: row.bytes)}
    times = [row.time for row in by_size.values()]
    if not all(row.both_known for row in by_size.values()):
        return fit_line(list(by_size), times)
    # What runs differ by is common to all sizes of a run: the line moves by it whole.
    told = [row.uncertainty for row in by_size.values()]
    alone = [
        Estimate(time.value, *interval_around(time.value, of_record(each.a)))
        for time, each in zip(times, told, strict=True)
    ]
    line = fit_line(list(by_size), alone)
    runs = Estimate(1.0, *interval_around(1.0, max((of_record(each.b) for each in told), key=expanded)))
    return line and replace(
        line, latency_s=_moved(line.latency_s, runs), bandwidth_gb_s=_moved(line.bandwidth_gb_s, runs)
    )


def _moved(estimate: Estimate, runs: Estimate) -> Estimate:
    """The estimate where runs differ by so much beside; a time of nothing stays one."""
    if estimate.low > 0:
        return statistics.widened(estimate, runs)
    return replace(estimate, low=estimate.low / runs.high, high=estimate.high * runs.high)


def _varying(rows: Sequence[Row]) -> set[str]:
    """The numeric axes but the size in which these rows differ."""
    values: dict[str, set] = defaultdict(set)
    for row in rows:
        for axis, value in row.case.axes.items():
            if isinstance(value, (int, float)) and axis != "bytes":
                values[axis].add(value)
    return {axis for axis, there in values.items() if len(there) > 1}


def _path(result: Result, rows: Sequence[Row], line: Line, varying: set[str]) -> Path:
    row = rows[0]
    numbers = [
        naming.number(axis, value)
        for axis, value in row.case.axes.items()
        if axis in varying and isinstance(value, (int, float))
    ]
    links = [link for pair in _ends(row.case) if (link := result.link(pair))]
    whole = len(links) == len(_ends(row.case)) > 0
    known = whole and all(link.theoretical_gb_s for link in links)
    return Path(
        family=row.case.family,
        name=", ".join([naming.name(row), *numbers]),
        case=row.case,
        line=line,
        theoretical_gb_s=sum(link.theoretical_gb_s for link in links) if known else None,
        peak_gb_s=sum(link.peak_gb_s for link in links) if whole else None,
        negotiated=links[0].negotiated if whole else None,
        rows=tuple(rows),
    )


def _ends(case: Case) -> list:
    """The links of a path: its own, or both directions where it uses both."""
    if case.axes.get("access") == "off":
        return []  # the bytes go through the host, over links that the run knows apart
    if case.direction is not None:
        return [case.ends]
    if case.axes.get("between") not in ("host_gpu", "gpu_gpu"):
        return []
    first = "to_peer" if case.axes["between"] == "gpu_gpu" else "host_to_gpu"
    return [ends(case.site, first), ends(case.site, OPPOSITE[first])]


def question(path: Path) -> Question:
    """What is asked, wherever: equal for local and remote."""
    return path.family, path.case.without("bytes", "flush", "locality", "link")


def farther(all_paths: Sequence[Path]) -> list[Farther]:
    """Local against remote, where both are there."""
    places: dict[Question, dict[str, Path]] = defaultdict(dict)
    for path in all_paths:
        places[question(path)].setdefault(path.case.place, path)
    pairs = [there for there in places.values() if {"local", "remote"} <= there.keys()]
    return [
        Farther(
            there["local"].name,
            there["local"].family,
            statistics.ratio(there["remote"].line.bandwidth_gb_s, there["local"].line.bandwidth_gb_s),
            there["remote"].line.latency_s.value - there["local"].line.latency_s.value,
            there["local"].line.latency_s.value,
            there["local"].rows + there["remote"].rows,
        )
        for there in pairs
    ]


FLUSH = ("on", "off")
COPIES = {"timed": "copy", "flush": FLUSH}
ZERO = {
    "flush": COLD,
    "access": ("merged_aligned", "merged", "strided"),
    "allocation": ("host_alloc", "registered", "accessed_by"),
}
# Of kernel copies: an access of each thread, on a full grid.
USUAL = {"load": None, "blocks": None}
Way = tuple[str, str, str, Where]
PEER_WAYS = (
    ("copy engine", "copy_engine"),
    ("kernel copy", "kernel_copy"),
    ("zero-copy", "zero_copy"),
    ("demand", "demand"),
    ("prefetch", "prefetch"),
)


def _peer(direction: str) -> tuple[Way, ...]:
    return tuple(
        (f"peer {name}", method, "transfer/peer", {"method": method, "direction": direction, "access": "on"})
        for name, method in PEER_WAYS
    )


# Name, method, family, axes.
WAYS: dict[str, tuple[Way, ...]] = {
    HOST_TO_GPU: (
        ("pageable copy", "pageable", "transfer/memcpy", COPIES | {"path": "pageable_to_gpu"}),
        ("pinned copy", "pinned", "transfer/memcpy", COPIES | {"path": "pinned_to_gpu"}),
        ("kernel copy", "kernel_copy", "transfer/kernel_copy", USUAL | {"path": "pinned_to_gpu"}),
        ("zero-copy read", "zero_copy", "transfer/zero_copy", ZERO | {"direction": "read"}),
        ("demand", "demand", "transfer/managed", {"method": "demand", "path": "host_to_gpu"}),
        ("prefetch", "prefetch", "transfer/managed", {"method": "prefetch", "path": "host_to_gpu"}),
    ),
    GPU_TO_HOST: (
        ("pageable copy", "pageable", "transfer/memcpy", COPIES | {"path": "gpu_to_pageable"}),
        ("pinned copy", "pinned", "transfer/memcpy", COPIES | {"path": "gpu_to_pinned"}),
        ("kernel copy", "kernel_copy", "transfer/kernel_copy", USUAL | {"path": "gpu_to_pinned"}),
        ("zero-copy write", "zero_copy", "transfer/zero_copy", ZERO | {"direction": "write"}),
        ("demand", "demand", "transfer/managed", {"method": "demand", "path": "gpu_to_host"}),
        ("prefetch", "prefetch", "transfer/managed", {"method": "prefetch", "path": "gpu_to_host"}),
    ),
    FROM_PEER: _peer("read"),
    TO_PEER: _peer("write"),
}


@dataclass(frozen=True)
class Swap:
    """`faster` beats `slower` from a size on: that size with its interval.

    `until` is the last size of both before one at which it does not by the median, None where there is none.
    """

    direction: str
    faster: str
    slower: str
    size: Estimate
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)
    until: float | None = None

    @property
    def text(self) -> str:
        """In words."""
        return parts.crossing_text(self.faster, self.slower, True, self.size, self.until)


def ways(machine: Machine, direction: str) -> list[Curve]:
    """One curve for each way that the run measured, at the first site of the nearest memory."""
    all_curves = []
    for name, method, family, axes in WAYS[direction]:
        near = {} if family == "transfer/peer" else {"locality": NEAREST}
        drawn = curves([machine], family, {**axes, **near}, name=name, method=method).curves
        all_curves += [curve for curve in drawn if curve.primary][:1]
    return all_curves


@dataclass(frozen=True)
class Choice:
    """Which way is first at which size, in one direction, and where one overtakes another."""

    direction: str
    first: list[Segment]
    swaps: list[Swap]

    @property
    def text(self) -> str:
        """`kernel copy up to 1.2 MiB, pinned copy from 3.1 MiB on`; empty where nothing is known."""
        return shape.segments_text(self.first, format_bytes) if self.first else ""


def choices(machine: Machine) -> list[Choice]:
    """Every direction that the run measured."""
    drawn = {direction: ways(machine, direction) for direction in WAYS}
    return [_choice(direction, there) for direction, there in drawn.items() if there]


def fastest_ways(all_choices: Sequence[Choice]) -> list[str]:
    """A sentence for each direction: which way is first at which size."""
    return [
        f"Fastest {parts.ARROWS[choice.direction]}: {choice.text}" for choice in all_choices if choice.first
    ]


def _choice(direction: str, chosen_curves: Sequence[Curve]) -> Choice:
    swaps = [swap for pair in itertools.combinations(chosen_curves, 2) for swap in _between(direction, *pair)]

    def overtaken(faster: str, slower: str) -> list[Estimate]:
        return [one.size for one in swaps if (one.faster, one.slower) == (faster, slower)]

    rates = {curve.name: dict(zip(curve.x, curve.y, strict=True)) for curve in chosen_curves}
    return Choice(direction, shape.bounded(shape.segments(rates), overtaken), swaps)


def _between(direction: str, first: Curve, second: Curve) -> list[Swap]:
    """Where one of two ways overtakes the other, by the rule of the segments: none says more than they do."""
    crossings = parts.crossovers(first, second)
    rows = (*_rows(direction, first), *_rows(direction, second)) if crossings else ()
    swaps = []
    for crossing in crossings:
        size = Estimate(crossing.x, crossing.low, crossing.high)
        faster, slower = (first, second) if crossing.first_wins_above else (second, first)
        until = parts.until(faster, slower, crossing, crossings)
        swaps.append(Swap(direction, faster.name, slower.name, size, rows, until))
    return swaps


def _rows(direction: str, curve: Curve) -> Iterator[Row]:
    """The rows whose rates a way's curve is drawn through."""
    [family] = {family for name, _, family, _ in WAYS[direction] if name == curve.name}
    shared = dict(curve.axes).items()
    for row in curve.machine.result.of(family):
        if row.ok and row.case.site_key == curve.site and row.case.axes.items() >= shared:
            yield row


PEAK_FAMILIES = (transfer_copies.MEMCPY, "transfer/peer", host.MEMCPY)


def peaks(run: Analysis) -> list[str]:
    """A sentence for the host's links, one for those between GPUs, or one for the host's memory."""
    result = run.result
    ways = [part for way in (HOST_TO_GPU, GPU_TO_HOST) if (part := _way(result, way))]
    found = [f"A pinned copy reaches {' and '.join(ways)}{_both(run, 'host_gpu')}"] if ways else []
    if peers := _way(result, TO_PEER):
        found.append(f"Between GPUs a copy reaches {peers}{_both(run, 'gpu_gpu')}")
    return found or _host(run)


def _way(result: Result, direction: str) -> str:
    """`55.3 GB/s host → GPU (87.8 % of PCIe 5 ×16; remote 38.0)`; of several links the range."""
    there = [link for link in result.links if link.direction == direction]
    if not there:
        return ""
    near = [link for link in there if (link.gpu, link.numa) not in result.remote] or there
    far = [link for link in there if link not in near]
    arrow = "" if direction == TO_PEER else f" {ARROWS[direction]}"
    more = [*_of_theory(near), *([f"remote {_range(far)}"] if far else [])]
    return f"{_range(near)} GB/s{arrow}" + (f" ({'; '.join(more)})" if more else "")


def _range(links: Sequence[Link]) -> str:
    low, high = (f"{pick(link.peak_gb_s for link in links):.1f}" for pick in (min, max))
    return low if low == high else f"{low} to {high}"


def _of_theory(links: Sequence[Link]) -> list[str]:
    shares = {
        link.negotiated or "the theoretical peak": link.peak_gb_s / link.theoretical_gb_s
        for link in sorted(links, key=lambda link: link.peak_gb_s)
        if link.theoretical_gb_s
    }
    return [f"{format_percent(share)} of {name}" for name, share in shares.items()]


def _both(run: Analysis, between: str) -> str:
    duplexes = [duplex for duplex in run.fits.duplexes if duplex.name.startswith(between)]
    if not duplexes:
        return ""
    best = max(duplexes, key=lambda duplex: duplex.rate.value)
    return f"; both ways at once {best.rate.value:.1f} GB/s"


def _host(run: Analysis) -> list[str]:
    groups = [group for group in run.groups if group.family == host.MEMCPY and group.peak]
    if not groups:
        return []
    best = max(groups, key=lambda group: group.peak.rate.value)
    peak, flushed = best.peak, " of flushed buffers" if best.flushed else ""
    axes = dict(peak.axes)
    threads = f" by {axes['threads']:g} threads" if axes.get("threads", 1) > 1 else ""
    size = f" {format_bytes(peak.bytes)}" if peak.bytes else ""
    rate = f"{peak.rate.value:.1f} GB/s"
    return [f"No link to a GPU was measured; the CPUs copy{size}{flushed}{threads} at {rate}"]
