"""Whole machines with realistic curves: one node with an H100, two nodes with two H200, one without a GPU."""

from collections.abc import Callable, Iterator

from synthetic import GIB, KIB, MIB, File, times

SIZES = [4 * KIB << step for step in range(19)]  # 4 KiB to 1 GiB
FEW = SIZES[::2]
H100 = "NVIDIA H100 80GB HBM3"
H200 = "NVIDIA H200"
IN, OUT = "host_to_gpu", "gpu_to_host"
Curve = Callable[[float], float]


def linear(start_s: float, peak_gb_s: float) -> Curve:
    """Seconds for a size: a start-up time and a rate."""
    return lambda size: start_s + size / peak_gb_s / 1e9


def staged(start_s: float, near: float, far: float, cache: float = 64 * MIB) -> Curve:
    """A copy whose rate falls from `near` to `far` where it outgrows a cache."""
    return lambda size: start_s + size / 1e9 / (far + (near - far) / (1 + (size / cache) ** 2))


def places(nodes: int, gpus: int) -> Iterator[tuple[str, dict]]:
    """Locality and site of each GPU and node; GPU i hangs on node i."""
    for gpu in range(gpus):
        for numa in range(nodes):
            yield "local" if numa == gpu % nodes else "remote", {"gpu": gpu, "numa": numa}


def gpu_machine(
    *,
    name: str = H100,
    host: str = "node-a",
    nodes: int = 1,
    gpus: int = 1,
    peak: float = 54.7,
    far: float = 38.0,
    **more,
) -> File:
    """A machine with GPUs; the copy peak is `peak` GB/s to local and `far` to remote memory."""
    file = File(host=host, gpus=(name,) * gpus, **more)
    for locality, site in places(nodes, gpus):
        rate = peak if locality == "local" else far
        file.link(IN, rate, **site)
        file.link(OUT, rate * 1.007, **site)
        add_copies(file, locality, site, rate)
        add_zero_copy(file, locality, site, rate)
        add_managed(file, locality, site, rate)
    add_host(file, nodes)
    return file


def add_copies(file: File, locality: str, site: dict, rate: float) -> None:
    """Copies of every path, flushed and warm, and what submitting one costs."""
    slow = 0.8 if locality == "remote" else 1.0
    curves = {
        "pageable_to_gpu": (
            staged(6e-6, 13.5 * slow, 7.7 * slow),
            staged(5e-6, 19 * slow, 7.9 * slow, 24 * MIB),
        ),
        "gpu_to_pageable": (staged(9e-6, 11 * slow, 15 * slow), staged(8e-6, 14.5 * slow, 15 * slow)),
        "pinned_to_gpu": (linear(1.7e-6, rate), linear(1.6e-6, rate)),
        "gpu_to_pinned": (linear(1.6e-6, rate * 1.006), linear(1.6e-6, rate * 1.006)),
        "registered_to_gpu": (linear(1.9e-6, rate * 0.985), None),
        "gpu_to_registered": (linear(1.8e-6, rate * 0.985), None),
        "write_combined_to_gpu": (linear(1.6e-6, rate * 0.997), None),
        "gpu_to_write_combined": (linear(1.6e-6, rate * 1.004), None),
    }
    for path, pair in curves.items():
        for flush, curve in zip(("on", "off"), pair, strict=True):
            for size in SIZES if curve else []:
                axes = {"timed": "copy", "path": path, "flush": flush, "bytes": size, "locality": locality}
                flags = ("bimodal",) if path == "pageable_to_gpu" and size in (32 * MIB, 64 * MIB) else ()
                file.add("transfer/memcpy", axes, site, curve(size), flags=flags, limit_gb_s=63.0)
    for size in FEW:
        axes = {
            "timed": "submission",
            "path": "pinned_to_gpu",
            "flush": "on",
            "bytes": size,
            "locality": locality,
        }
        file.add("transfer/memcpy", axes, site, 2.1e-6, bytes=None)


SHAPES = (  # access, offset, share of the copy peak that a large read reaches, shares of requests by size
    ("strided", 0, 0.283, {"32": 1.0}),
    ("merged", 4, 0.622, {"32": 0.5, "128": 0.5}),
    ("merged", 32, 0.601, {"32": 0.5, "96": 0.5}),
    ("merged", 64, 0.728, {"64": 1.0}),
    ("merged_aligned", 0, 0.927, {"128": 1.0}),
)


def add_zero_copy(file: File, locality: str, site: dict, rate: float) -> None:
    """Zero-copy reads and writes; large aligned ones fall off, as on real machines."""
    for access, offset, share, mix in SHAPES:
        for direction in ("read", "write") if access == "merged_aligned" else ("read",):
            for size in SIZES if access == "merged_aligned" else (SIZES[-1],):
                curve = linear(1.6e-6 if direction == "read" else 0.9e-6, rate * share)
                late = 1.06 if size >= GIB else 1.0
                axes = {
                    "direction": direction, "access": access, "offset": offset, "width": 4, "blocks": 256,
                    "threads": 256, "allocation": "host_alloc", "bytes": size, "locality": locality,
                }  # fmt: skip
                traffic = traffic_of(mix, size, 8.0 if access == "strided" else 1.0)
                file.add(
                    "transfer/zero_copy", axes, site, curve(size) * late, traffic=traffic, limit_gb_s=63.0
                )
    axes = {
        "direction": "read", "access": "merged_aligned", "offset": 0, "width": 16, "blocks": 256,
        "threads": 256, "allocation": "host_alloc", "bytes": 256 * MIB, "locality": locality,
    }  # fmt: skip
    file.add("transfer/zero_copy", axes, site, 256 * MIB / (0.9 * rate) / 1e9)


def traffic_of(mix: dict[str, float], size: int, amplification: float) -> dict:
    """Modelled requests that carry `size` bytes that many times over."""
    mean = sum(int(one) * share for one, share in mix.items())
    total = size * amplification / mean
    return {
        "label": "modelled",
        "requests": total,
        "requests_by_size": {one: share * total for one, share in mix.items()},
        "bytes": size * amplification,
        "amplification": amplification,
    }


def add_managed(file: File, locality: str, site: dict, rate: float) -> None:
    """Demand migration and prefetch, prefetch slow to start and with a dip at 512 KiB."""
    for size in SIZES:
        axes = {"method": "demand", "path": IN, "bytes": size, "locality": locality}
        file.add("transfer/managed", axes, site, linear(40e-6, 8.3)(size), spread=0.06)
        for threads in (1, 2, 4, 8, 16):
            most = 2.2 * threads / (1 + 0.22 * threads)
            axes = {
                "method": "demand",
                "path": OUT,
                "host_threads": threads,
                "bytes": size,
                "locality": locality,
            }
            flags = ("wide_interval",) if threads == 16 and size < 64 * KIB else ()
            file.add("transfer/managed", axes, site, linear(30e-6, most)(size), spread=0.08, flags=flags)
        dip = 1.7 if size in (512 * KIB, MIB) else 1.0
        for path, best, start in ((IN, rate * 0.93, 12e-6), (OUT, 15.5, 20e-6)):
            axes = {"method": "prefetch", "path": path, "bytes": size, "locality": locality}
            file.add("transfer/managed", axes, site, linear(start, best)(size) * dip, spread=0.03)


def add_host(file: File, nodes: int) -> None:
    """Latency, memcpy, first touch and flush of the host's memory."""
    for far in range(nodes):
        locality, slow = ("remote", 1.6) if far else ("local", 1.0)
        for size in SIZES:
            add_latency(file, size, far, locality, slow)
        for threads in (1, 2, 4, 8, 16):
            for size in SIZES[4:] if threads == 1 else (SIZES[-1],):
                for flush in ("on", "off"):
                    near = 14 if flush == "on" else 26
                    curve = staged(0.2e-6, near * threads**0.75 / slow, 11 * threads**0.75 / slow, 40 * MIB)
                    axes = {"flush": flush, "threads": threads, "bytes": size, "locality": locality}
                    file.add("host/memcpy", axes, {"from_node": 0, "to_node": far}, curve(size))
    for kind, page, cost in (("4KiB", 4 * KIB, 0.25e-6), ("transparent_huge", 2 * MIB, 90e-6)):
        for threads in (1, 4, 16):
            axes = {"pages": kind, "threads": threads, "bytes": 256 * MIB, "locality": "local"}
            pages = 256 * MIB // page
            file.add("host/first_touch", axes, {"node": 0}, pages * cost / threads**0.8, operations=pages)
    axes = {"pages": "hugetlb", "threads": 1, "bytes": 256 * MIB, "locality": "local"}
    file.lose("skipped", "no free hugetlb pages of 2 MiB", "host/first_touch", axes, {"node": 0})
    for state, cost in (("cached", 7.9e-9), ("evicted", 3.4e-9)):
        for size in FEW[:7]:
            axes = {"state": state, "bytes": size, "locality": "local"}
            file.add("host/flush", axes, {"node": 0}, size / 64 * cost, operations=size // 64, bytes=None)


def add_latency(file: File, size: int, far: int, locality: str, slow: float) -> None:
    """A load from L1, L2, L3 or memory."""
    steps = ((48 * KIB, 1.3), (2 * MIB, 4.1), (105 * MIB, 28.0 * slow))
    nanoseconds = next((cost for reach, cost in steps if size <= reach), 112.0 * slow)
    axes = {"bytes": size, "locality": locality}
    site = {"cpu_node": 0, "memory_node": far}
    file.add("host/latency", axes, site, 4096 * nanoseconds * 1e-9, operations=4096, bytes=None)


def h100(**more) -> File:
    """One H100, one node: the usual virtual machine."""
    file = gpu_machine(**more)
    file.warn("severe", "governor is powersave on 16 of 16 CPUs")
    file.warn("info", "turbo: unknown (not exposed)")
    axes = {"timed": "copy", "path": "pinned_to_gpu", "flush": "on", "bytes": MIB, "locality": "remote"}
    for _ in range(1):
        file.lose("skipped", "this machine has one NUMA node", "transfer/memcpy", axes, {"gpu": 0, "numa": 1})
    axes = {"method": "prefetch", "path": IN, "bytes": 2 * GIB, "locality": "local"}
    file.lose(
        "failed",
        "impossible: 37197 GB/s over a link of 63 GB/s",
        "transfer/managed",
        axes,
        {"gpu": 0, "numa": 0},
    )
    return file


def two_nodes(**more) -> File:
    """Two H200 on two nodes, the second with a slower link."""
    file = gpu_machine(**{"name": H200, "host": "node-b", "nodes": 2, "gpus": 2, "peak": 55.3, **more})
    for row in file.rows:
        if (
            row["case"]["site"] == {"gpu": 1, "numa": 1}
            and row["case"]["axes"].get("path") == "gpu_to_pinned"
        ):
            row |= times([one * 1.25 for one in row["visits"][0]["samples_s"]])
            row |= {
                "bandwidth_gb_s": row["bandwidth_gb_s"] / 1.25,
                "link_fraction": row["link_fraction"] / 1.25,
            }
    return file


def cpu_only(**more) -> File:
    """A machine without a driver: every GPU family is skipped."""
    file = File(**{"host": "laptop", "preset": "quick", **more})
    add_host(file, 1)
    for family, axes in (
        ("transfer/memcpy", {"timed": "copy", "path": "pinned_to_gpu", "flush": "on", "bytes": MIB}),
        ("transfer/zero_copy", {"direction": "read", "access": "merged_aligned", "bytes": MIB}),
        ("transfer/managed", {"method": "demand", "path": IN, "bytes": MIB}),
    ):
        file.lose("skipped", "no NVIDIA driver", family, {**axes, "locality": "unknown"}, {})
    return file
