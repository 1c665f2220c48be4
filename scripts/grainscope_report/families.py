"""What holds of the rows of a family without standing in them: the one table that other modules read.

A family that is not here needs nothing of it: it is listed, summarised, compared and drawn by its axes alone.
What is particular to one group of families (its figures, its fits, its answers) is in `groups`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

BYTES = "bytes"


@dataclass(frozen=True)
class Along:
    """An axis along which rates of a family are a curve, and the axes that follow from it."""

    axis: str
    follow: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """What is known of a family, or of all families of an algorithm each: `traversal/bfs`, `traversal/cc`.

    `reads`: its kernels only read what is far away, and so name no direction. `walks`: it reads the edges of
    a graph over the link, and how many may differ from run to run. `staged`: its rows have a timeline of
    stages. `each_algorithm`: the family's name ends in the algorithm. `spread_links`: a row may be a share of
    one of the links that its lanes cross. `aliases` are axes that people call otherwise. `counted_by`: what a
    time goes by where it has no bytes.

    Of rates: `curves` are looked at for their shape. `sets_peak`: pinned copies, which make the copy peak;
    `no_peak`: no single copy peak is its limit. `in_gpu` and `in_host`: what it copies stays in the memory of
    one GPU, of the host. `odd_requests`: some of its cases ask for short or few
    requests on purpose, by their access, offset or blocks, of which its curves are not named.
    `asks_memory`: what kind of memory does is its question. `cached`: cases with these axes work on so many
    bytes again and again, and caches hold small ones: of memory the most bytes tell.
    """

    reads: bool = False
    walks: bool = False
    staged: bool = False
    each_algorithm: bool = False
    spread_links: bool = False
    aliases: Mapping[str, str] = field(default_factory=dict)
    counted_by: tuple[str, ...] = ()
    curves: tuple[Along, ...] = ()
    sets_peak: bool = False
    no_peak: bool = False
    in_gpu: bool = False
    in_host: bool = False
    odd_requests: bool = False
    asks_memory: bool = False
    cached: Mapping[str, str] | None = None


SIZES = (Along(BYTES),)
TABLE_OF_ROWS = {"placement": "store"}

FAMILIES: Mapping[str, Family] = {
    "host/memcpy": Family(in_host=True, cached={}, curves=(*SIZES, Along("threads"))),
    "host/latency": Family(cached={}),
    "transfer/memcpy": Family(sets_peak=True, curves=SIZES),
    "transfer/host_copy": Family(curves=SIZES),
    "transfer/kernel_copy": Family(curves=(*SIZES, Along("blocks"))),
    "transfer/zero_copy": Family(odd_requests=True, curves=(*SIZES, Along("blocks"))),
    "transfer/managed": Family(curves=SIZES),
    "transfer/duplex": Family(no_peak=True, curves=SIZES),
    "transfer/peer": Family(curves=SIZES),
    "transfer/relay": Family(no_peak=True, curves=SIZES),
    "transfer/local": Family(in_gpu=True, cached={}, curves=SIZES),
    "transfer/collective": Family(spread_links=True),
    "collective": Family(no_peak=True, each_algorithm=True, curves=SIZES),
    "latency/chase": Family(reads=True, cached={"to": "own_memory"}),
    "call": Family(counted_by=("nodes", "threads", "arguments")),
    "contention": Family(spread_links=True),
    "grain/saturation": Family(curves=(Along("blocks"),)),
    "grain/gpu_memory": Family(asks_memory=True),
    "grain/pieces": Family(curves=(Along("grain", (BYTES,)),)),
    "reach/gather": Family(reads=True, asks_memory=True, curves=(Along("span", ("rows",)),)),
    "gather": Family(
        reads=True, aliases=TABLE_OF_ROWS, curves=(Along("span", ("rows",)), Along("row", ("rows",)))
    ),
    "gather/bag": Family(reads=True, aliases=TABLE_OF_ROWS),
    "sm_share/gather": Family(reads=True, curves=(Along("sms"), Along("percent"))),
    "sm_share/split": Family(reads=True),
    "pipeline/graphsage": Family(reads=True, staged=True),
    "traversal": Family(walks=True, each_algorithm=True),
    "lean": Family(walks=True, each_algorithm=True),
    "model": Family(each_algorithm=True),
}
UNKNOWN = Family()

# Up to which version type B of a family's older runs stands for it, until runs of that are taken: it still
# goes over the same links and waits for the same host.
TYPE_B_UNTIL = {
    "call": 2,
    "grain/pieces": 2,
    "lean/sssp": 2,
    "sampling/neighbours": 2,
    "shape/copy": 2,
    "shape/pages": 2,
}


@dataclass(frozen=True)
class Best:
    """What stands for a family in few words: of its rows with these axes the best one.

    The best has the highest rate or, where `least`, the shortest time of one operation. Where `at` names an
    axis, only rows with its least or its largest value count.
    """

    text: str
    family: str
    axes: Mapping[str, str] = field(default_factory=dict)
    least: bool = False
    at: tuple[str, Callable[..., float]] | None = None


WITHIN_GPU = Best("GPU copies its own memory", "transfer/local", at=(BYTES, max))

# The most telling first: a screen has room for five.
HEADLINES = (
    Best("GPU loads from host memory", "latency/chase", {"to": "host_memory"}, least=True),
    Best("GPU loads from a peer's memory", "latency/chase", {"to": "peer_memory"}, least=True),
    Best(
        "smallest pinned copy to the GPU",
        "transfer/memcpy",
        {"timed": "copy", "path": "pinned_to_gpu"},
        least=True,
        at=(BYTES, min),
    ),
    Best("kernel reads host memory in place", "transfer/zero_copy", {"direction": "read"}),
    Best("kernel launched and waited for", "call", {"what": "launch_and_wait"}, least=True),
    Best(
        "pageable copy to the GPU",
        "transfer/memcpy",
        {"timed": "copy", "path": "pageable_to_gpu", "flush": "on"},
    ),
    WITHIN_GPU,
    Best("CPUs copy memory", "host/memcpy", {"flush": "on"}, at=(BYTES, max)),
    Best("CPU loads, largest array", "host/latency", least=True, at=(BYTES, max)),
    Best("CPU loads from its nearest cache", "host/latency", least=True, at=(BYTES, min)),
    Best("CPUs' first touch of memory", "host/first_touch"),
    Best("malloc and fill, the largest", "host/malloc", {"what": "malloc_and_fill"}, True, (BYTES, max)),
    Best("taking host memory that a GPU reads", "call", {"what": "take_mapped"}, True, (BYTES, max)),
    Best("copies over a neighbour's link, too", "transfer/relay", {"path": "pinned_to_gpu"}),
)


@dataclass(frozen=True)
class Pairs:
    """Pairs of places that rows of a family tell of: what their sites call the two."""

    best: Best
    rows: str
    columns: str


def _peers(text: str, method: str, direction: str) -> Pairs:
    axes = {"method": method, "direction": direction, "access": "on"}
    return Pairs(Best(text, "transfer/peer", axes), "gpu", "peer")


NODE_TO_GPU = Pairs(
    Best("pinned copy, node to GPU", "transfer/memcpy", {"timed": "copy", "path": "pinned_to_gpu"}),
    "numa",
    "gpu",
)
GPU_TO_NODE = Pairs(
    Best("pinned copy, GPU to node", "transfer/memcpy", {"timed": "copy", "path": "gpu_to_pinned"}),
    "numa",
    "gpu",
)
WRITES_TO_PEER = _peers("copy engine, GPU writes to peer", "copy_engine", "write")
READS_FROM_PEER = _peers("copy engine, GPU reads from peer", "copy_engine", "read")
PEERS_BOTH_WAYS = Pairs(
    Best(
        "copy engine, both ways at once",
        "transfer/duplex",
        {"between": "gpu_gpu", "method": "copy_engine", "direction": "write", "access": "on"},
    ),
    "gpu",
    "peer",
)
NODE_TO_NODE = Pairs(
    Best("CPUs copy, node to node", "host/memcpy", {"flush": "on"}, at=(BYTES, max)), "from_node", "to_node"
)
PAIRS = (
    NODE_TO_GPU,
    GPU_TO_NODE,
    Pairs(
        Best("loads by the GPU from the node", "latency/chase", {"to": "host_memory"}, True), "numa", "gpu"
    ),
    WRITES_TO_PEER,
    READS_FROM_PEER,
    _peers("kernel copy, GPU writes to peer", "kernel_copy", "write"),
    _peers("kernel copy, GPU reads from peer", "kernel_copy", "read"),
    PEERS_BOTH_WAYS,
    Pairs(
        Best("loads by the GPU from the peer", "latency/chase", {"to": "peer_memory"}, True), "gpu", "peer"
    ),
    NODE_TO_NODE,
    Pairs(
        Best("loads by the CPU from the node", "host/latency", least=True, at=(BYTES, max)),
        "cpu_node",
        "memory_node",
    ),
)


@cache
def of(name: str) -> Family:
    """What is known of a family by its name, or by that of its group where each algorithm is a family."""
    group = FAMILIES.get(name.partition("/")[0], UNKNOWN)
    return FAMILIES.get(name) or (group if group.each_algorithm else UNKNOWN)


def may_be_cached(name: str, axes: Mapping[str, str | float]) -> bool:
    """Whether caches hold what a case works on unless it is large."""
    cached = of(name).cached
    return cached is not None and all(axes.get(axis) == value for axis, value in cached.items())


def in_usual_memory(name: str, axes: Mapping[str, str | float]) -> bool:
    """Whether a case's host memory is of the usual kind, or its kind is the question.

    Managed memory of which the driver was told something unusual is not: its case names the hint.
    """
    if "hint" in axes:
        return False
    return of(name).asks_memory or axes.get("memory", "host_alloc") == "host_alloc"


# Axes of rows at random places that more than one GPU reads, or of memory taken or touched in another way.
UNUSUAL = ("touch_threads", "free_pieces", "gpus", "beside")


def as_usual(axes: Mapping[str, str | float]) -> bool:
    """Whether one GPU reads alone, of memory that was taken and touched first as a program would do it."""
    return axes.keys().isdisjoint(UNUSUAL)


def having(part: str) -> tuple[str, ...]:
    """The families of which this is known, in the order of the table."""
    return tuple(name for name, family in FAMILIES.items() if getattr(family, part))
