"""How long one access takes: of a GPU by the memory it reads, of a copy, of a flag, of a CPU."""

from collections.abc import Sequence

from grainscope_report.groups import host
from grainscope_report.groups.transfer import copies
from grainscope_report.groups.transfer.paths import Path
from grainscope_report.model import Result, Row
from grainscope_report.units import format_time

CHASE, FLAG = "latency/chase", "latency/flag"
FAMILIES = ("latency/", copies.MEMCPY, host.LATENCY)
PLACES = {"host_memory": "host memory", "peer_memory": "a peer's memory", "own_memory": "its own"}

WIDE = 1.5  # an upper end this many times the value is said


def said(result: Result, paths: Sequence[Path]) -> list[str]:
    """A sentence about loads and one about copies and flags; without a GPU one about the CPU."""
    loads = [f"{time} from {name}" for to, name in PLACES.items() if (time := _load(result, to))]
    found = [f"A load by the GPU takes {', '.join(loads)}"] if loads else []
    rest = [part for part in (_copy(paths), _flag(result)) if part]
    if rest:
        found += rest
    return found or _host(result)


def _load(result: Result, to: str) -> str:
    """Over the smallest span of far memory; of its own over the largest, which no cache holds."""
    there = [row for row in result.of(CHASE) if _timed(row) and row.case.axes.get("to") == to]
    if not there:
        return ""
    if to == "own_memory":
        widest = max(map(_span, there))
        there = [row for row in there if _span(row) == widest]
    near = [row for row in there if row.case.locality != "remote"]
    time = format_time(min(row.operation_s for row in near or there))
    far = [row.operation_s for row in there if row.case.locality == "remote"]
    return f"{time} (remote {format_time(min(far))})" if far and near else time


def _copy(paths: Sequence[Path]) -> str:
    found = [
        path
        for path in paths
        if path.family == copies.MEMCPY and path.case.axes.get("path") == "pinned_to_gpu"
    ]
    if not found or found[0].line.latency_s.value <= 0:
        return ""
    latency = found[0].line.latency_s
    start = format_time(latency.value)
    if latency.high > WIDE * latency.value:
        start += f" (up to {format_time(latency.high)} by its interval)"
    return f"A pinned copy to the GPU takes {start} beyond the time of its bytes"


def _flag(result: Result) -> str:
    there = [
        row.operation_s
        for row in result.of(FLAG)
        if _timed(row) and row.case.axes.get("between") == "cpu_gpu"
    ]
    return f"A flag goes from CPU to GPU and back in {format_time(min(there))}" if there else ""


def _host(result: Result) -> list[str]:
    """Over the smallest span and the largest, each with the pages that are fastest there.

    Others include walks of page tables.
    """
    there = [row for row in result.of(host.LATENCY) if _timed(row) and row.case.locality != "remote"]
    if not there:
        return []
    small, large = (_fastest(there, pick(map(_span, there))) for pick in (min, max))
    kinds = {row.case.axes.get("pages") for row in there if _span(row) == _span(large)}
    pages = f" (pages: {str(large.case.axes.get('pages')).replace('_', ' ')})" if len(kinds) > 1 else ""
    return [
        f"A load by a CPU takes {format_time(small.operation_s)} from its nearest cache and "
        f"{format_time(large.operation_s)} from memory{pages}"
    ]


def _fastest(there: Sequence[Row], span: float) -> Row:
    return min((row for row in there if _span(row) == span), key=lambda row: row.operation_s)


def _span(row: Row) -> float:
    size = row.case.axes.get("bytes")
    return float(size) if isinstance(size, (int, float)) else 0.0


def _timed(row: Row) -> bool:
    return bool(row.ok and row.label == "measured" and row.operation_s)
