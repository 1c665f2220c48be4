"""Figure t: what calls of the CUDA runtime cost the CPU that makes them, by size where there is one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.cases import Measured, cases
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Dot, DotPanel, DotRow, Figure
from grainscope_report.machine import Machine
from grainscope_report.units import format_bytes

FAMILY = "call"
NAMES = {
    "launch": "kernel launch",
    "launch_and_wait": "launch and wait",
    "launch_with_arguments": "kernel launch",
    "launch_by_threads": "kernel launch",
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


def _by_call(found: Mapping[int, Sequence[Measured]]) -> dict[str, set]:
    """The sizes of each call on any machine."""
    sizes: dict[str, set] = defaultdict(set)
    for there in found.values():
        for one in there:
            sizes[str(one.axis("what"))].add(_size(one))
    return sizes


def _size(one: Measured) -> tuple[str, float]:
    """The kind of pages, base pages first, and the size: how the rows of a call are sorted."""
    pages = str(one.axis("pages") or "")
    return PAGES.get(pages, ""), float(next(filter(None, map(one.axis, SIZES)), 0.0))


def _chosen(sizes: set) -> tuple[set, set]:
    """Those that are drawn and those that are not."""
    if len(sizes) <= MOST + 1:
        return sizes, set()
    ends = {min(sizes), max(sizes)}
    drawn = {size for size in sizes if size in ends or size[1] in USUAL}
    return drawn, sizes - drawn


def _rows(
    machines: Sequence[Machine],
    found: Mapping[int, Sequence[Measured]],
    what: str,
    name: str,
    sizes: Mapping[str, set],
) -> list[DotRow]:
    """A row for each size of a call, with a dot for each machine."""
    rows = []
    for size in sorted(_chosen(sizes.get(what, set()))[0]):
        dots = tuple(
            _dot(machine, one)
            for machine in machines
            for one in found[machine.index]
            if one.axis("what") == what and _size(one) == size
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


def _dot(machine: Machine, one: Measured) -> Dot:
    operations = one.row.operations or 1
    return Dot(one.time_s.scaled(1 / operations), "single", machine, flags=one.flags)


FIGURES = (
    Entry("t", "figure_t_time_of_calls", "The time of calls of the CUDA runtime", (FAMILY,), "rows", build),
)
