"""How long one call of the CUDA runtime takes (figure t), and one access: of a GPU by the memory that it
reads, of a copy, of a flag, of a CPU.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from grainscope_report import families
from grainscope_report.figures import parts
from grainscope_report.figures.model import Dot, DotPanel, DotRow, Entry, Figure
from grainscope_report.figures.parts import MachineRow, cases
from grainscope_report.groups import host, transfer_copies
from grainscope_report.groups.transfer import Path
from grainscope_report.machine import Machine
from grainscope_report.model import Result, Row
from grainscope_report.units import format_bytes, format_time

FAMILY = "call"
NAMES = {
    "launch": "kernel launch",
    "launch_with_arguments": "kernel launch",
    "launch_by_threads": "kernel launch",
    "launch_and_wait": "launch and wait",
    "stream_synchronize": "cudaStreamSynchronize",
    "device_synchronize": "cudaDeviceSynchronize",
    "device_synchronize_by_threads": "cudaDeviceSynchronize",
    "event_record": "cudaEventRecord",
    "event_synchronize": "cudaEventSynchronize",
    "stream_wait_event": "cudaStreamWaitEvent",
    "graph_instantiate": "cudaGraphInstantiate",
    "graph_launch": "cudaGraphLaunch",
    "graph_instantiate_copies": "cudaGraphInstantiate, copies",
    "graph_launch_copies": "cudaGraphLaunch, copies",
    "graph_launch_copies_3d": "cudaGraphLaunch, 3D copies",
    "malloc": "cudaMalloc",
    "free": "cudaFree",
    "malloc_async": "cudaMallocAsync",
    "free_async": "cudaFreeAsync",
    "host_alloc": "cudaHostAlloc",
    "host_free": "cudaFreeHost",
    "host_register": "cudaHostRegister",
    "host_unregister": "cudaHostUnregister",
    "malloc_managed": "cudaMallocManaged",
    "managed_free": "cudaFree, managed",
    "managed_first_touch": "first touch, managed",
    "managed_first_touch_by_host": "first touch by the CPU, managed",
}
# What a call may have a size by.
SIZES = ("bytes", "nodes", "arguments", "threads")
PAGES = {"transparent_huge": "huge", "hugetlb": "hugetlb"}
# Of calls with more sizes than this, these alone.
MOST = 4
USUAL = frozenset((4 << 10, 1 << 20, 64 << 20, 1 << 30))


def build(machines: Sequence[Machine]) -> Figure:
    """A row for each call and size, all on one axis."""
    found = {machine.index: cases(machine, FAMILY) for machine in machines}
    sizes = _by_call(found)
    more = {what: what.replace("_", " ") for what in sorted(sizes.keys() - NAMES.keys())}
    rows = tuple(
        row for what, name in (NAMES | more).items() for row in _rows(machines, found, what, name, sizes)
    )
    if not rows:
        return Figure(machines, ())
    notes = [
        "By the clock of the CPU that makes the call; a first touch is a kernel's, or the CPU's, of all the "
        "bytes, a kernel's by events. cudaStreamSynchronize and cudaEventSynchronize wait for what is done "
        "already.",
        *parts.first_sites(machines, FAMILY, "Calls", "dots"),
    ]
    if left_out := sum(len(_chosen(there)[1]) for there in sizes.values()):
        notes.append(f"{left_out} more sizes are not drawn; `grainscope-report list` shows them.")
    panel = DotPanel("one call, by size where there is one", rows, "time", "s", log=True)
    return Figure(machines, ((panel,),), tuple(notes))


def _by_call(found: Mapping[int, Sequence[MachineRow]]) -> dict[str, set]:
    """The sizes of each call on any machine."""
    sizes: dict[str, set] = defaultdict(set)
    for there in found.values():
        for row in there:
            sizes[str(row.axis("what"))].add(_size(row))
    return sizes


def _size(row: MachineRow) -> tuple[str, float]:
    """The kind of pages, base pages first, and the size: how the rows of a call are sorted."""
    pages = str(row.axis("pages") or "")
    return PAGES.get(pages, ""), float(next(filter(None, map(row.axis, SIZES)), 0.0))


def _chosen(sizes: set) -> tuple[set, set]:
    """Those that are drawn and those that are not."""
    if len(sizes) <= MOST + 1:
        return sizes, set()
    ends = {min(sizes), max(sizes)}
    drawn = {size for size in sizes if size in ends or size[1] in USUAL}
    return drawn, sizes - drawn


def _rows(
    machines: Sequence[Machine],
    found: Mapping[int, Sequence[MachineRow]],
    what: str,
    name: str,
    sizes: Mapping[str, set],
) -> list[DotRow]:
    """A row for each size of a call, with a dot for each machine."""
    rows = []
    for size in sorted(_chosen(sizes.get(what, set()))[0]):
        dots = tuple(
            _dot(machine, row)
            for machine in machines
            for row in found[machine.index]
            if row.axis("what") == what and _size(row) == size
        )
        rows.append(DotRow(name, _spoken(size, what), dots))
    return rows


def _spoken(size: tuple[str, float], what: str) -> str:
    pages, number = size
    if not number:
        return ""
    if what.startswith("graph"):
        return f"{number:g} node{'s' if number > 1 else ''}"
    if what.endswith("_by_threads"):
        return f"{number:g} threads"
    if what.endswith("_with_arguments"):
        return f"{format_bytes(number)} of arguments"
    return f"{format_bytes(number)}, {pages}" if pages else format_bytes(number)


def _dot(machine: Machine, row: MachineRow) -> Dot:
    operations = row.case_row.operations or 1
    return Dot(row.time.scaled(1 / operations), "single", machine, flags=row.flags)


CHASE, FLAG = "latency/chase", "latency/flag"
FAMILIES = ("latency/", transfer_copies.MEMCPY, host.LATENCY)
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
    all_paths = [
        path
        for path in paths
        if path.family == transfer_copies.MEMCPY and path.case.axes.get("path") == "pinned_to_gpu"
    ]
    if not all_paths or all_paths[0].line.latency_s.value <= 0:
        return ""
    latency = all_paths[0].line.latency_s
    least = min(all_paths[0].rows, key=lambda row: row.bytes)
    if latency.value > least.time.high:
        # Small copies go another way than large ones, through which the line goes.
        return f"A pinned copy of {format_bytes(least.bytes)} to the GPU takes {format_time(least.median_s)}"
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


def _fastest(rows: Sequence[Row], span: float) -> Row:
    return min((row for row in rows if _span(row) == span), key=lambda row: row.operation_s)


def _span(row: Row) -> float:
    size = row.case.axes.get("bytes")
    return float(size) if isinstance(size, (int, float)) else 0.0


def _timed(row: Row) -> bool:
    return bool(
        row.ok
        and row.label == "measured"
        and row.operation_s
        and families.in_usual_memory(row.case.family, row.case.axes)
    )


FIGURES = (
    Entry("t", "figure_t_time_of_calls", "The time of calls of the CUDA runtime", (FAMILY,), "rows", build),
)
