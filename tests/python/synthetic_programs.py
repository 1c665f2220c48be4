"""A machine that is all known: microbenchmarks and programs whose times follow from a few parameters.

Times are computed here from the parameters in the plainest way and not with the package under test.
"""

import math
from dataclasses import dataclass

from synthetic import GIB, MIB, File
from synthetic_traversals import statistics_of

SITE = {"gpu": 0, "numa": 0}
HERE = {"locality": "local"}
GPU = "NVIDIA H100 80GB HBM3"
GRANULE = 64 << 10
BLOCK = 2 * MIB
# By which the synthetic programs take their time in the GPU; of a kind of GPU that the machine is not.
WORK = {"traversal.bfs.edge": 4e-5, "traversal.bfs.list": 9e-4}


@dataclass(frozen=True)
class Machine:
    """Seconds and rates of a machine."""

    request_s: float = 0.9e-9
    byte_s: float = 12.5e-12
    kernel_s: float = 5e-6
    reach: float = 640 * MIB
    miss_s: float = 25e-9
    first_s: float = 18e-9  # more, for the first miss at a granule
    block_reach: float = 1 * GIB
    block_miss_s: float = 2.8e-9
    launch_and_wait_s: float = 9e-6
    event_s: float = 0.8e-6
    host_latency_s: float = 1.25e-6
    gpu_latency_s: float = 345e-9
    cache_latency_s: float = 142e-9
    gpu_rate: float = 1.4e12
    gpu_kernel_s: float = 3.6e-6
    copy_rate: float = 55e9
    copies_s: float = 2.5e-6
    fault_rate: float = 8e9
    host_rate: float = 45e9
    host_load_s: float = 150e-9

    def link(self, requests: float, size: float) -> float:
        return requests * self.request_s + size * self.byte_s

    def misses(self, count: float, span: float) -> float:
        first = self.first_s * touched(count, span / GRANULE)
        return (count * self.miss_s + first) * max(0.0, 1 - self.reach / span)

    def in_order(self, count: float, span: float) -> float:
        return self.miss_s * touched(count, span / GRANULE) if span > self.reach else 0.0

    def in_blocks(self, count: float, span: float) -> float:
        return count * self.block_miss_s * max(0.0, 1 - self.block_reach / span)

    def blocks_in_order(self, count: float, span: float) -> float:
        return self.block_miss_s * touched(count, span / BLOCK) if span > self.block_reach else 0.0

    def level(self) -> float:
        """Seven kernels that have next to nothing to do, two events, and the host's turn."""
        return self.launch_and_wait_s + 7 * self.gpu_kernel_s + 2 * self.event_s


def touched(count: float, granules: float) -> float:
    """Of so many granules, by so many requests at random."""
    return granules * (1 - math.exp(-count / granules))


def beside(*seconds: float) -> float:
    """Of things that are done at once."""
    return sum(one**4 for one in seconds) ** 0.25


def add_microbenchmarks(file: File, true: Machine) -> None:
    """Every row from which a rate follows."""

    def add(family: str, axes: dict, seconds: float, **more) -> None:
        file.add(family, {**HERE, **axes}, SITE, seconds, **more)

    for grain, requests in ((32, 1), (128, 1), (512, 4)):
        axes = {"method": "zero_copy_random", "path": "host_to_gpu", "grain": grain, "bytes": 64 * MIB}
        count = 64 * MIB / grain
        add("grain/pieces", axes, true.link(requests * count, 64 * MIB), operations=int(count))
    for grain in (4096, 1 * MIB):
        axes = {"method": "copy_engine", "path": "host_to_gpu", "grain": grain, "bytes": 256 * grain}
        seconds = 256 * (true.copies_s + grain / true.copy_rate)
        add("grain/pieces", axes, seconds, operations=256)
    walk = {"direction": "read", "allocation": "host_alloc", "width": 4, "threads": 1024}
    for size, seconds in ((4096, true.kernel_s), (256 * MIB, true.link(2 * MIB, 256 * MIB))):
        axes = {**walk, "access": "merged_aligned", "offset": 0, "blocks": "full", "bytes": size}
        add("transfer/zero_copy", axes, seconds)
    for offset in (32, 64):
        axes = {**walk, "access": "merged", "offset": offset, "blocks": "full", "bytes": 64 * MIB}
        add("transfer/zero_copy", axes, true.link(2 * 64 * MIB / 128, 64 * MIB))
    for blocks, slower in ((1, 4.0), (4, 1.25), (16, 1.0)):
        axes = {**walk, "access": "merged_aligned", "offset": 0, "blocks": blocks, "bytes": 64 * MIB}
        add("transfer/zero_copy", axes, slower * true.link(64 * MIB / 128, 64 * MIB))
    count = 1 << 20
    for span in (256 * MIB, 1 * GIB, 2 * GIB, 4 * GIB, 32 * GIB):
        asked = {"order": "as_asked", "row": 128, "rows": count, "span": span}
        read = true.link(count, 128 * count)
        for memory, missing in (("host_alloc", true.misses), ("managed_host", true.in_blocks)):
            add("reach/gather", {**asked, "memory": memory}, beside(read, missing(count, span)))
    for what, seconds in (("launch_and_wait", true.launch_and_wait_s), ("event_record", true.event_s)):
        add("call", {"what": what}, 64 * seconds, operations=64)
    loads = (
        ("host_memory", 256 * MIB, true.host_latency_s),
        ("own_memory", 2 * MIB, true.cache_latency_s),
        ("own_memory", 256 * MIB, true.gpu_latency_s),
    )
    for to, size, seconds in loads:
        axes = {"to": to, "order": "shuffled", "bytes": size}
        add("latency/chase", axes, 4096 * seconds, operations=4096)
    for size in (64 << 10, 16 * MIB, 1 * GIB):
        axes = {"method": "kernel_copy", "bytes": size}
        add("transfer/local", axes, max(true.gpu_kernel_s, size / true.gpu_rate))
    for size in (1 * MIB, 256 * MIB):
        axes = {"path": "pinned_to_gpu", "flush": "on", "bytes": size}
        add("transfer/memcpy", axes, size / true.copy_rate)
        axes = {"method": "demand", "path": "host_to_gpu", "bytes": size}
        add("transfer/managed", axes, size / true.fault_rate)
    for threads in (1, 16):
        axes = {"flush": "on", "threads": threads, "bytes": 64 * MIB}
        add("host/memcpy", axes, 64 * MIB / true.host_rate * 16 / threads)
    add("host/latency", {"pages": "4KiB", "bytes": 256 * MIB}, 4096 * true.host_load_s, operations=4096)


def add_gather(file: File, true: Machine, mode: str, size: int, span: float, **more) -> None:
    """Rows of whole lines, as asked or sorted; each asked for once."""
    count, lines = 1 << 19, size // 128
    requests, total = count * lines, count * size
    if more.get("memory") == "managed_host":
        missing = true.in_blocks(count, span)
    else:
        missing = true.in_order(count, span) if mode == "address_ordered" else true.misses(count, span)
    passes = math.ceil(math.log2(span / size) / 8)
    sort = 2 * (passes + 2) * true.gpu_kernel_s + passes * count * 8 / true.gpu_rate
    seconds = true.kernel_s + beside(true.link(requests, total), missing)
    axes = {"mode": mode, "store": "mapped", "row": size, "rows": count, "span": span, "indices": "uniform"}
    axes |= {"element": 4, "width": 16, **HERE, **more}
    file.add(
        "gather", axes, SITE, seconds + (sort if mode == "address_ordered" else 0.0), bytes=total,
        traffic={"label": "modelled", "requests": requests, "bytes": total, "amplification": 1.0,
                 "requests_by_size": {"32": 0, "64": 0, "96": 0, "128": requests}},
        counters={"requests_per_row": float(lines), "unique_bytes": float(total)},
    )  # fmt: skip


def add_search(
    file: File, true: Machine, placement: str, access: str = "merged_aligned", wide: bool = False, **more
) -> None:
    """A bfs of three levels with edges of eight bytes over the link or in the GPU; few of a wide graph."""
    levels = ((1, 1000), (20_000, 20_000_000), (400_000, 4_000_000))
    if wide:
        levels = ((1, 1000), (20_000, 200_000), (20_000, 200_000))
    lists, edges = (sum(column) for column in zip(*levels, strict=True))
    entries = GIB // 2 if wide else edges
    work = edges * WORK["traversal.bfs.edge"] * true.cache_latency_s
    work += lists * WORK["traversal.bfs.list"] * true.gpu_latency_s
    requests, size = edges / 12, 8.5 * edges
    missing = true.blocks_in_order if more else true.in_order
    misses = sum(missing(found / 12, 8 * entries) for _, found in levels)
    read = max(true.link(requests, size), misses) if placement == "mapped" else 0.0
    seconds = 4 * true.level() + 4 * true.gpu_kernel_s + beside(read, work)
    counters = {"edges_read": float(edges)}
    if placement == "mapped":
        counters |= {"requests_with_cache": requests, "bytes_with_cache": size}
    graph = {"graph": "wide", "order": "degree"} if wide else {"graph": "kron20", "order": "original"}
    row = file.add(
        "traversal/bfs", {"access": access, "placement": placement, "edge": 8, **graph, **HERE, **more},
        SITE, seconds, bytes=8 * edges, counters=counters,
        levels=[
            {"level": at, "active": active, "edges": found, "requests": found / 12, "seconds": seconds / 3}
            for at, (active, found) in enumerate(levels)
        ],
        trials=[{"label": f"source:{source}", "samples_s": [seconds],
                 "counters": {"levels": 3.0, "edges_read": float(edges)}} for source in range(4)],
        graph={"vertices": 1 << 20, "entries": entries, "degree_cdf": [[1, 0.1], [1024, 1.0]]},
    )  # fmt: skip
    row.update(statistics_of([seconds] * 4))
    row["bandwidth_gb_s"] = row["bytes"] / row["median_s"] / 1e9
    row["link_fraction"] = row["bandwidth_gb_s"] / (true.copy_rate / 1e9)


def add_programs(file: File, true: Machine) -> None:
    """Gathers within and beyond the reach, as asked and sorted, and searches."""
    for size in (128, 1024):
        for span in (256 * MIB, 8 * GIB):
            for mode in ("masked", "address_ordered"):
                add_gather(file, true, mode, size, span)
    for more in ({}, {"memory": "managed_host"}):
        add_gather(file, true, "masked", 128, 32 * GIB, **more)
        add_search(file, true, "mapped", wide=True, **more)
    for placement in ("mapped", "device"):
        add_search(file, true, placement)


def predictable(
    true: Machine = Machine(), told: Machine | None = None, preset: str = "quick", **more
) -> File:
    """The machine; its microbenchmarks are those of `told` where that is another."""
    file = File(host="node-m", gpus=(GPU,), preset=preset, **more)
    file.link("host_to_gpu", true.copy_rate / 1e9)
    add_microbenchmarks(file, told or true)
    add_programs(file, true)
    return file
