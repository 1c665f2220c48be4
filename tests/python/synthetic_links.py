"""Rows of things at once, between GPUs, over wide spans and of small grains, as a machine would give them."""

import math

from synthetic import GIB, KIB, MIB, File

SIZES = [4 * KIB << step for step in range(0, 19, 2)]  # 4 KiB to 1 GiB
SPANS = [256 * MIB << step for step in range(8)]  # 256 MiB to 32 GiB
GRANULE = 64 * KIB
NVLINK = 450.0


def add_duplex(file: File, site: dict, rate: float, locality: str = "local") -> None:
    """Both ways between host and GPU: pinned nearly doubles, pageable is serialised."""
    lanes = (("to_gpu", f"host:{site['numa']}", f"gpu:{site['gpu']}"),)
    lanes += (("to_host", lanes[0][2], lanes[0][1]),)
    for method, share, start_s, overlap in (
        ("pinned", 0.93, 3e-6, 0.97),
        ("pageable", 0.09, 12e-6, 0.0),
        ("kernel_copy", 0.85, 4e-6, 0.95),
        ("zero_copy", 0.80, 3e-6, 0.94),
        ("demand", 0.11, 60e-6, 0.4),
        ("prefetch", 0.30, 30e-6, 0.6),
    ):
        for size in SIZES:
            seconds = start_s + size / (rate * share * 1e9)
            axes = {"between": "host_gpu", "method": method, "bytes": size, "locality": locality}
            add_both(file, axes, site, lanes, seconds, overlap)


def add_gpu_duplex(file: File, gpu: int, peer: int, rate: float, link: str = "nvlink") -> None:
    """Both ways between two GPUs."""
    ends = (f"gpu:{gpu}", f"gpu:{peer}")
    lanes = (("to_peer", *ends), ("from_peer", *ends[::-1]))
    for method, share in (("copy_engine", 0.98), ("kernel_copy", 0.95), ("prefetch", 0.2)):
        for size in SIZES:
            axes = {"between": "gpu_gpu", "method": method, "bytes": size, "link": link}
            if method != "prefetch":
                axes |= {"direction": "write", "access": "on"}
            seconds = 6e-6 + size / (rate * share * 1e9)
            add_both(file, axes, {"gpu": gpu, "peer": peer}, lanes, seconds, 0.96)


def add_both(file: File, axes: dict, site: dict, lanes: tuple, seconds: float, overlap: float) -> None:
    """One duplex row; the second lane is a little slower, as on real machines."""
    size = axes["bytes"]
    # Where nothing overlaps one lane runs after the other.
    whole = seconds * 1.02 * (2 - overlap)
    made = [
        {"name": name, "bytes": size, "from": source, "to": target, "seconds": seconds * slow}
        for (name, source, target), slow in zip(lanes, (1.0, 1.02), strict=True)
    ]
    file.together("transfer/duplex", axes, site, made, overlap=overlap, median_s=whole)


def add_peers(file: File, count: int, rate: float = 394.0, far: float = 38.0) -> None:
    """Copies between all pairs of GPUs; the pair 0, 1 is slower both ways where there are more than two."""
    for gpu in range(count):
        for peer in range(count):
            if gpu == peer:
                continue
            slow = 0.5 if count > 2 and {gpu, peer} == {0, 1} else 1.0
            file.peer_link(gpu, peer, rate * slow, NVLINK)
            for direction in ("read", "write"):
                add_pair(file, gpu, peer, direction, rate * slow, far)
    for gpu in range(count):
        for method, share in (("copy_engine", 1490.0), ("kernel_copy", 1400.0)):
            for size in SIZES:
                axes = {"method": method, "bytes": size}
                file.add("transfer/local", axes, {"gpu": gpu}, 2e-6 + size / share / 1e9)


def add_pair(file: File, gpu: int, peer: int, direction: str, rate: float, far: float) -> None:
    """Every method from one GPU to or from another."""
    for method, share, start_s in (
        ("copy_engine", 1.0, 4e-6),
        ("kernel_copy", 0.955, 5e-6),
        ("zero_copy", 0.94, 5e-6),
        ("demand", 0.02, 80e-6),
        ("prefetch", 0.3, 40e-6),
    ):
        for size in SIZES:
            axes = {"method": method, "direction": direction, "access": "on", "bytes": size, "link": "nvlink"}
            seconds = start_s + size / (rate * share * 1e9)
            share_of_peak = size / seconds / 1e9 / rate
            site = {"gpu": gpu, "peer": peer}
            file.add("transfer/peer", axes, site, seconds, link_fraction=share_of_peak)
    for size in SIZES:
        axes = {"method": "copy_engine", "direction": direction, "access": "off", "bytes": size}
        site = {"gpu": gpu, "peer": peer, "numa": 0}
        more = {"link": "nvlink", "locality": "local" if gpu == 0 else "remote"}
        file.add("transfer/peer", axes | more, site, 20e-6 + size / far / 1e9)


def gathered(
    order: str, row: int, rows: int, span: int, *, misses_per_s: float, reach: float, peak: float
) -> tuple[float, float]:
    """Seconds and distinct rows by the model, written down here a second time, in the plainest way."""
    places = span / row
    unique = round(places * (1 - math.exp(-rows / places)))
    crossing = unique if order == "sorted" else rows
    granules = span / GRANULE
    touched = max(1, row / GRANULE)
    if span <= reach:
        missed = 0.0
    elif order == "sorted":
        missed = granules * (1 - math.exp(-rows * touched / granules))
    else:
        missed = rows * touched * (1 - reach / span)
    return max(crossing * row / (peak * 1e9), missed / misses_per_s), unique


def add_gather(file: File, axes: dict, site: dict, seconds: float, unique: float, **more) -> dict:
    """One row of gathered rows with the counters that follow."""
    asked = axes["row"] * axes["rows"]
    counters = {
        "unique_rows": unique,
        "unique_bytes": unique * axes["row"],
        "rows_per_granule": axes["rows"] / (axes["span"] / GRANULE),
    }
    row = file.add(
        "reach/gather", axes, site, seconds, bytes=asked, link_bytes_least=unique * axes["row"],
        counters=counters, limit_gb_s=NVLINK if "peer" in site else 63.0, **more,
    )  # fmt: skip
    counters["unique_gb_s"] = counters["unique_bytes"] / row["median_s"] / 1e9
    return row


def add_wall(
    file: File,
    site: dict,
    memory: str = "host_alloc",
    *,
    sizes: tuple[int, ...] = (128, 512, 4096),
    misses_per_s: float = 33e6,
    reach: float = 700 * MIB,
    peak: float = 50.8,
    spread: float = 0.01,
    noise: float = 0.0,
) -> None:
    """Gathers of a few sizes of row over all spans, in both orders; `noise` moves them off the model."""
    for order in ("as_asked", "sorted"):
        for row in sizes:
            for at, span in enumerate(SPANS):
                axes = {
                    "memory": memory, "order": order, "row": row, "rows": 128 * MIB // row, "span": span,
                    **({"link": "nvlink"} if memory == "peer" else {"locality": "local"}),
                }  # fmt: skip
                model = {"misses_per_s": misses_per_s, "reach": reach, "peak": peak}
                seconds, unique = gathered(order, row, axes["rows"], span, **model)
                off = 1 + noise * math.sin(12.9898 * at + 78.233 * row + (order == "sorted"))
                add_gather(file, axes, site, seconds * off, unique, spread=spread)


def add_grain(file: File, site: dict, peak: float) -> None:
    """Pieces from 32 B to 64 MiB by every method, and the multiprocessors that fill the link."""
    grains = [32 << step for step in range(22)]
    for path in ("host_to_gpu", "gpu_to_host"):
        for method, best, each_s, ahead, smallest in (
            ("copy_engine", 1.0, 1.9e-6, 1.0, 32),
            ("pageable_copy", 0.2, 4.0e-6, 1.0, 32),
            ("batch", 1.0, 0.35e-6, 1.0, 32),
            ("graph", 1.0, 1.5e-6, 1.0, 32),
            ("zero_copy_sequential", 0.92, 1.2e-6, 470.0, 32),
            ("zero_copy_random", 0.90, 1.2e-6, 460.0, 32),
            ("kernel_write_random", 0.93, 0.7e-6, 290.0, 32),
            ("managed_prefetch", 0.9, 30e-6, 1.0, 64 * KIB),
            ("managed_demand", 0.18, 9e-6, 1.0, 32),
        ):
            if path == "gpu_to_host" and method.startswith(("zero_copy", "managed_demand")):
                continue
            if method == "kernel_write_random" and path == "host_to_gpu":
                continue
            for grain in (one for one in grains if one >= smallest):
                add_piece(file, site, path, method, grain, peak * best, each_s, ahead)
    for direction in ("read", "write"):
        for width, sms in ((4, 32), (16, 16)):
            add_saturation(file, site, direction, width, sms, peak * 0.92)


def add_piece(
    file: File, site: dict, path: str, method: str, grain: int, best: float, each_s: float, ahead: float
) -> None:
    """Pieces of one grain: the slower of the link and of so many requests ahead, each of a latency."""
    total = min(64 * MIB, 65536 * grain)
    request = min(grain, 128) if method.startswith(("zero_copy", "kernel")) else grain
    rate = min(best, request * ahead / each_s / 1e9)
    axes = {"method": method, "path": path, "grain": grain, "bytes": total, "locality": "local"}
    if method in ("pageable_copy", "batch", "graph", "managed_demand"):
        add_at_once(file, axes, site, rate)
        return
    row = file.add("grain/pieces", axes, site, total / rate / 1e9, limit_gb_s=63.0)
    in_flight = row["bandwidth_gb_s"] * 1e9 * each_s / request
    row["counters"] = {"requests_in_flight": in_flight, "latency_s": each_s}


def add_at_once(file: File, axes: dict, site: dict, rate: float) -> None:
    """Pieces that are asked for at once; on demand each brings a granule of 64 KiB at least."""
    grain, total = axes["grain"], axes["bytes"]
    more = {"operations": total // grain, "limit_gb_s": 63.0}
    if axes["method"] == "managed_demand":
        moved = max(grain, GRANULE)
        counters = {"moved_bytes": moved * total // grain, "moved_bytes_per_piece": moved, "page_bytes": 4096}
        more |= {"link_bytes_least": moved * total // grain, "counters": counters}
    file.add("grain/pieces", axes, site, total / rate / 1e9, **more)


def add_saturation(file: File, site: dict, direction: str, width: int, sms: int, full: float) -> None:
    """The fewest multiprocessors that fill the link."""
    axes = {"direction": direction, "width": width, "bytes": 256 * MIB, "locality": "local"}
    counters = {
        "sms": sms,
        "sms_available": 132,
        "saturated_gb_s": full * 0.985,
        "full_gb_s": full,
        "threshold": 0.98,
    }
    file.add("grain/saturation", axes, site, 256 * MIB / full / 0.985e9, counters=counters, limit_gb_s=63.0)


def add_latency(file: File, site: dict) -> None:
    """Loads of the host's memory from the GPU, one after another."""
    for order, nanoseconds in (("stride", 1190), ("shuffled", 1240)):
        axes = {"to": "host_memory", "order": order, "bytes": 2 * MIB, "locality": "local"}
        file.add("latency/chase", axes, site, 16384 * nanoseconds * 1e-9, operations=16384, bytes=None)


def linked(gpus: int = 2, **more) -> File:
    """A machine with GPUs joined by NVLink, with every family of links."""
    file = File(**{"host": "node-c", "gpus": ("NVIDIA H200",) * gpus, **more})
    file.context["environment"]["kernel"] = {"virtual_machine": True, "hypervisor": None, "iommu_units": []}
    site = {"gpu": 0, "numa": 0}
    file.link("host_to_gpu", 55.3)
    file.link("gpu_to_host", 55.4)
    add_duplex(file, site, 55.3)
    if gpus > 1:
        add_peers(file, gpus)
        add_gpu_duplex(file, 0, 1, 394.0 * (0.5 if gpus > 2 else 1))
        add_wall(file, {"gpu": 0, "peer": 1}, "peer", misses_per_s=400e6, reach=8 * GIB, peak=370.0)
    for memory in ("host_alloc", "registered", "hugetlb"):
        add_wall(file, site, memory, noise=0.04)
    add_grain(file, site, 55.3)
    add_latency(file, site)
    return file
