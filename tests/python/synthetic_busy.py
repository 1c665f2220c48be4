"""Rows of shapes, pages, calls, neighbours and many GPUs, as a machine gives them; and a whole `full`."""

import synthetic_links
import synthetic_machines
import synthetic_traversals
from synthetic import KIB, MIB, File
from synthetic_links import NVLINK

WIDTHS = [32, 128, 512, 4 * KIB, 64 * KIB]
PAGE_SIZES = [256, 4 * KIB, 64 * KIB]
PATHS = ("host_to_gpu", "gpu_to_host", "local", "gpu_to_peer")
FACES = ((16, 508, 508), (480, 2, 508), (480, 508, 2))


def place(path: str, gpu: int = 0) -> tuple[dict, dict]:
    """The site of a path, and the axis that says what stands between its ends."""
    if path == "local":
        return {"gpu": gpu}, {}
    if path in ("gpu_to_peer", "peer_to_gpu"):
        return {"gpu": gpu, "peer": 1 - gpu}, {"link": "nvlink"}
    return {"numa": 0, "gpu": gpu}, {"locality": "local"}


def add_box(file: File, path: str, method: str, shape: tuple[int, int, int], pitch: int, gb_s: float) -> dict:
    """A box of width, rows and planes."""
    width, rows, planes = shape
    site, between = place(path)
    size = width * rows * planes
    axes = {
        "path": path, "method": method, "width": width, "rows": rows, "planes": planes, "pitch": pitch,
        "bytes": size, **between,
    }  # fmt: skip
    return file.add("shape/copy", axes, site, size / gb_s / 1e9)


def add_shapes(file: File, paths: tuple[str, ...]) -> None:
    """Boxes of 4 MiB by every method, a few of 256 KiB, and the faces of a volume."""
    for path in paths:
        top = {"local": 600.0, "gpu_to_peer": 230.0}.get(path, 49.0)
        for method, share in (
            ("copy_2d", 0.8),
            ("kernel_strided", 1.0),
            ("kernel_chunked", 0.97),
            ("pack", 0.14),
        ):
            for width in WIDTHS:
                gb_s = top * share * min(1.0, (width / 128) ** 0.5)
                add_box(file, path, method, (width, 4 * MIB // width, 1), max(512, 2 * width), gb_s)
            add_box(file, path, method, (512, 512, 1), 1024, top * share)
        for width in WIDTHS[-2:]:
            add_box(file, path, "row_copies", (width, 4 * MIB // width, 1), 2 * width, width / 2.3e-6 / 1e9)
        for method, share in (("copy_3d", 0.4), ("kernel_strided", 0.6), ("pack", 0.13)):
            for order, face in enumerate(FACES):
                add_box(file, path, method, face, 512, top * share * (1 + order))


def add_pages(file: File, path: str, method: str, page: int, pages: int, each_s: float, **more) -> dict:
    """Scattered pages, each in so many seconds; `more` are axes that are not the usual."""
    site, between = place(path)
    blocks = {"blocks": "usual"} if method in ("kernel", "bulk", "staged", "cpu_gather", "relay") else {}
    if method == "relay":
        site |= {"peer": 1 - site["gpu"]}
        between |= {"link": "nvlink", "neighbours": 1, "share": "found"}
    axes = {
        "path": path, "method": method, "page": page, "pages": pages, "order": "drawn", "pool": "usual",
        **blocks, "bytes": page * pages, **between, **more,
    }  # fmt: skip
    return file.add("shape/pages", axes, site, pages * each_s, operations=pages)


def add_all_pages(file: File, paths: tuple[str, ...]) -> None:
    """Every method on each path; the kernel and bulk loads tie, and of few large pages a batch is first."""
    for path in paths:
        top = {"local": 1000.0, "gpu_to_peer": 300.0}.get(path, 50.0) * 1e9
        for method, start_s, once_s in (
            ("one_by_one", 2.3e-6, 0.0),
            ("batch", 0.8e-6, 0.0),
            ("batch_merged", 0.85e-6, 0.0),
            ("graph", 1.6e-6, 5e-6),
            ("kernel", 0.05e-6, 20e-6),
            ("bulk", 0.0501e-6, 20e-6),
            ("staged", 0.3e-6, 20e-6),
            ("cpu_gather", 0.5e-6, 20e-6),
        ):
            for page in PAGE_SIZES:
                for pages in (16, 4096):
                    add_pages(file, path, method, page, pages, start_s + once_s / pages + page / top)
        add_pages(file, path, "batch_merged", 4 * KIB, 256, 0.2e-6, order="runs")


def add_call(file: File, what: str, each_s: float, operations: int = 1, **axes) -> dict:
    """What one call takes, of so many in a sample."""
    axes = {"what": what, **{name.rstrip("_"): value for name, value in axes.items()}, "locality": "local"}
    site = {"numa": 0, "gpu": 0}
    return file.add("call", axes, site, each_s * operations, operations=operations, bytes=None)


def add_calls(file: File, sizes: tuple[int, ...] = (4 * KIB, MIB, 64 * MIB, 1024 * MIB)) -> None:
    """Calls without a size, by nodes and by bytes."""
    for what, each_s in (("launch", 2.5e-6), ("event_record", 0.65e-6), ("stream_wait_event", 0.11e-6)):
        add_call(file, what, each_s, 128)
    for nodes in (1, 16, 256):
        add_call(file, "graph_instantiate", 2e-6 + nodes * 0.6e-6, nodes=nodes)
    for size in sizes:
        add_call(file, "malloc", 1.2e-6 + size * 1e-12, bytes_=size)
        add_call(file, "host_alloc", 400e-6 + size * 0.2e-9, bytes_=size)
    for pages in ("4KiB", "transparent_huge"):
        add_call(file, "host_register", 2.4e-3 if pages == "4KiB" else 1.4e-3, pages=pages, bytes_=64 * MIB)


def lane(name: str, ends: tuple[str, str], size: int, seconds: float, alone_s: float, **more) -> dict:
    """A lane that was also timed alone."""
    rate = {"alone_gb_s": size / alone_s / 1e9} if size else {}
    ends = {"from": ends[0], "to": ends[1]}
    return {"name": name, "bytes": size, "seconds": seconds, "alone_s": alone_s, **ends, **rate, **more}


def add_beside(
    file: File, what: str, path: str, method: str, kept: float, partner: float, size: int = 256 * MIB, **more
) -> dict:
    """A copy that keeps a share of its rate beside a partner that keeps a share of its own."""
    ends = ("host:0", "gpu:0") if path == "host_to_gpu" else ("gpu:0", "host:0")
    alone_s = size / 50e9
    lanes = [lane("copy", ends, size, alone_s / kept, alone_s)]
    counted = 0 if what == "beside_compute" else 3 * size
    # It took longer by what it lost while the copy ran.
    longer_s = 3 * alone_s + (1 - partner) * alone_s / kept
    back = lane("partner", ends[::-1], counted, longer_s, 3 * alone_s, background=True)
    axes = {"what": what, "path": path, "method": method, "bytes": size, "locality": "local", **more}
    return file.together("contention", axes, {"numa": 0, "gpu": 0}, [*lanes, back], overlap=1.0)


def add_streams(file: File, path: str, count: int, kept: float = 1.0, size: int = 256 * MIB) -> dict:
    """So many streams that share one direction, one copy after another."""
    ends = ("host:0", "gpu:0") if path == "host_to_gpu" else ("gpu:0", "host:0")
    share = size // count
    alone_s = share / 50e9
    lanes = [
        lane(f"stream_{order}", ends, share, alone_s * (order + 1) / kept, alone_s) for order in range(count)
    ]
    axes = {"what": "streams", "path": path, "streams": count, "bytes": size, "locality": "local"}
    return file.together("contention", axes, {"numa": 0, "gpu": 0}, lanes, overlap=1 / count)


def add_neighbours(file: File) -> None:
    """Every partner, both ways."""
    for path in ("host_to_gpu", "gpu_to_host"):
        for method, kept, partner in (("copy_engine", 0.94, 0.97), ("kernel_copy", 0.44, 0.81)):
            add_beside(file, "opposite_copy", path, method, kept, partner)
            add_beside(file, "beside_compute", path, method, 0.999, 0.99)
            add_beside(file, "beside_device_stream", path, method, 0.98, 0.7)
        for count in (1, 2, 8):
            add_streams(file, path, count)


def add_together(
    file: File,
    pattern: str,
    method: str,
    ends: list[tuple[str, str]],
    gb_s: float,
    site: dict,
    size: int = 256 * MIB,
) -> dict:
    """Copies between these ends, each at so many GB/s, the last a little slower."""
    last = len(ends) - 1
    lanes = [
        lane(
            f"{source}_{target}",
            (source, target),
            size,
            size / gb_s / 1e9 * (1 + 0.01 * (order == last)),
            1.0,
        )
        for order, (source, target) in enumerate(ends)
    ]
    gpus = {name for pair in ends for name in pair if name.startswith("gpu")}
    axes = {"pattern": pattern, "method": method, "gpus": len(gpus), "bytes": size}
    return file.together("transfer/collective", axes, site, lanes, overlap=0.99)


def add_many(file: File, count: int) -> None:
    """All patterns among so many GPUs, by both methods."""
    gpus = [f"gpu:{each}" for each in range(count)]
    pairs = [(one, two) for one in gpus for two in gpus if one != two]
    for method, share in (("copy_engine", 0.99), ("kernel_copy", 0.93)):
        add_together(
            file, "all_to_host", method, [(gpu, "host:0") for gpu in gpus], 55.4 * share, {"numa": 0}
        )
        add_together(
            file, "host_to_all", method, [("host:0", gpu) for gpu in gpus], 55.3 * share, {"numa": 0}
        )
        out = [pair for pair in pairs if pair[0] == gpus[0]]
        add_together(file, "one_to_all", method, out, 390.0 * share / len(out), {"gpu": 0})
        back = [pair[::-1] for pair in out]
        add_together(file, "all_to_one", method, back, 390.0 * share / len(out), {"gpu": 0})
        ring = [(gpus[each], gpus[(each + 1) % count]) for each in range(count)]
        add_together(file, "ring", method, ring, 385.0 * share, {})
        add_together(file, "all_pairs", method, pairs, 385.0 * share / (count - 1), {})


def busy(gpus: int = 2, **more) -> File:
    """A machine with every family of things that are not one plain copy."""
    file = File(**{"host": "node-e", "gpus": ("NVIDIA H200",) * gpus, **more})
    for gpu in range(gpus):
        file.link("host_to_gpu", 55.3, gpu=gpu)
        file.link("gpu_to_host", 55.4, gpu=gpu)
        for peer in range(gpus):
            if peer != gpu:
                file.peer_link(gpu, peer, 390.0, NVLINK)
    paths = PATHS if gpus > 1 else PATHS[:3]
    add_shapes(file, paths)
    add_all_pages(file, paths)
    add_calls(file)
    add_neighbours(file)
    if gpus > 1:
        add_many(file, gpus)
    return file


VISITS = 5000


def full() -> File:
    """The machine of `two_nodes` with the rows of all others, and second visits until there are enough."""
    file = synthetic_machines.two_nodes()
    file.context["host_name"] = "node-full"
    more = (
        synthetic_links.linked(),
        busy(),
        synthetic_traversals.traversing(
            names=("kron24", "urand24", "web20", "power"), trials=8, pages=(64 << 10,)
        ),
    )
    for other in more:
        _add(file, other)
    again = [_again(row) for row in file.rows if row["label"] == "measured" and row["status"] == "ok"]
    file.rows += again[: VISITS - len(file.rows)]
    return file


def _again(row: dict) -> dict:
    """A second visit with the same times."""
    return row | {"visits": [visit | {"round": 2} for visit in row["visits"]]}


def _add(file: File, other: File) -> None:
    """The rows of another machine as if they were of this one; its links where this one has none."""
    known = {_ends(link) for link in file.links}
    file.links += [link for link in other.links if _ends(link) not in known]
    there = {row["name"] for row in file.rows}
    for row in other.rows:
        if row["name"] not in there:
            row.pop("link_fraction", None)  # of another machine's peak
            file.rows.append(row)


def _ends(link: dict) -> tuple:
    return link["gpu"], link.get("numa"), link.get("peer"), link["direction"]
