"""Rows of gathers, tiers, shares of a GPU and training as a machine with a GPU would give them."""

import math

from synthetic import GIB, KIB, MIB, File
from synthetic_models import modelled

SITE = {"numa": 0, "gpu": 0}
PEAK = 54.7
ROWS = (1024, 1028, 1040, 1260, 2312)
SIZES = (64, 128, 256, 512, 1024, 4096, 16384)
# Share of the copy peak that a way reaches of aligned and of unaligned rows.
REACHES = {
    "naive": (0.92, 0.55),
    "circular_shift": (0.92, 0.78),
    "masked": (0.92, 0.84),
    "vector": (0.93, 0.7),
    "masked_wide": (0.93, 0.86),
    "graphbolt": (0.9, 0.82),
    "address_ordered": (0.91, 0.83),
}
SCORES = {"degree": 0.93, "reverse_pagerank": 0.955, "weighted_reverse_pagerank": 0.97, "presampled": 0.985,
          "optimal": 1.0}  # fmt: skip
PERCENTS = (1, 2, 5, 10, 20, 25, 50)
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 1.0)
SMS = (2, 4, 8, 16, 32, 64, 96)


def requests(mode: str, row: int) -> float:
    """About what a way asks of a row, by hand for rows of 1024 bytes."""
    least = row / 128 + (31 / 32 if row % 128 else 0)
    return least * {"naive": 1.85, "circular_shift": 1.14}.get(mode, 1.0) if row % 128 else least


COPIES = ("cpu_gather", "cpu_gather_dma", "row_dma")


def gather_axes(mode: str, row: int, **more) -> dict:
    """The axes of a gather of uniform float32 rows."""
    way, rows = mode.removesuffix("_wide"), min(1 << 20, 256 * MIB // row)
    axes = {"mode": way, "store": "mapped", "locality": "local", "row": row, "rows": rows, "span": GIB,
            "indices": "uniform", "element": 4}  # fmt: skip
    wide = mode in ("masked_wide", "vector", "graphbolt", "address_ordered")
    if way not in COPIES:
        axes["width"] = 16 if wide and row % 16 == 0 else 8 if wide and row % 8 == 0 else 4
    if way == "address_ordered":
        axes["window"] = 1
    return axes | more


def add_gather(file: File, axes: dict, gb_s: float, site: dict = SITE, host: float = 1.0, **more) -> dict:
    """A measured gather at so many GB/s of rows asked for; `host` is the share of different rows there."""
    asked = int(axes["row"] * axes["rows"] * axes.get("window", 1))
    unique = axes["row"] * int(axes["rows"] * axes.get("window", 1) * 0.88)
    copied = axes["mode"] in COPIES and axes["store"] != "tiered"  # a row that comes twice is copied twice
    crossed = asked if copied else axes["row"] * round(unique / axes["row"] * host)
    row = file.add("gather", axes, site, asked / gb_s / 1e9, bytes=asked, link_bytes_least=crossed, **more)
    row["counters"] = {
        "unique_rows": unique / axes["row"],
        "unique_bytes": float(unique),
        "unique_gb_s": unique / row["median_s"] / 1e9,
        "rows_per_s": asked / axes["row"] / row["median_s"],
        "link_gb_s": crossed / row["median_s"] / 1e9,
    }
    if axes["store"] == "tiered":
        row["counters"]["host_share"] = crossed / unique
    row.pop("link_fraction", None)
    if "gpu" in site:
        row["link_fraction"] = row["counters"]["link_gb_s"] / PEAK
    return row


def add_gathers(file: File, faster: float = 1.0) -> None:
    """Figure 3.10's rows, sizes, copies, the wall, tiers."""
    for mode, (aligned, unaligned) in REACHES.items():
        for row in dict.fromkeys((*ROWS, *SIZES)):
            if mode == "vector" and row in SIZES and row != 1024:
                continue
            if mode == "masked_wide" and row % 8:
                continue
            reach = (unaligned if row % 128 else aligned) * min(1.0, 0.55 + row / 2300)
            add_gather(file, gather_axes(mode, row), PEAK * reach * faster)
    for row in (128, 1028, 1024, 4096, 16384):
        for store, rate in (("pinned", 9.5), ("pageable", 8.0)):
            axes = gather_axes("cpu_gather_dma", row, store=store, rows=64 * MIB // row, span=4 * GIB)
            add_gather(file, axes, rate * min(1.0, 0.3 + row / 4096))
        add_gather(file, gather_axes("row_dma", row, store="pinned", rows=512), row / 1.9e-6 / 1e9)
    for span, rate in ((4, 5.9), (8, 4.8), (32, 3.75)):
        add_gather(file, gather_axes("masked_wide", 128, span=span * GIB), rate)
        add_gather(file, gather_axes("graphbolt", 128, span=span * GIB), rate * 8.1 if span < 32 else 8.2)
        for window in (1, 4):
            sorted_gb_s = min(51.0, rate * (8.2 if span < 32 else 2.3 * window))
            add_gather(file, gather_axes("address_ordered", 128, span=span * GIB, window=window), sorted_gb_s)
    for hot in (1, 10, 25):
        axes = gather_axes("masked_wide", 512, store="tiered", indices="zipf", span=4 * GIB, hot=hot)
        add_gather(file, axes, 60.0 + 6 * hot, host=0.6 - 0.015 * hot)
    cpu = gather_axes("cpu_gather", 1028, store="pageable", rows=65280, span=256 * MIB)
    add_gather(file, cpu, 21.0, {"numa": 0})


def add_model_gathers(file: File, measured: bool) -> None:
    """What each way asks of links."""
    for link, gb_s in (("pcie4x16", 24.0), ("pcie5x16", 54.7), *([("measured", PEAK)] if measured else [])):
        for row in (480, *ROWS):
            for mode in ("naive", "circular_shift", "masked"):
                count, rows = requests(mode, row), 1 << 16
                crossing = rows * max(row, 32 * count)
                axes = gather_axes(mode, row, rows=rows, span=512 * MIB) | {"link": link}
                for name in ("store", "locality"):
                    axes.pop(name)
                bound = (crossing + 12 * rows * count) / gb_s / 1e9
                modelled(
                    file, "model/gather", axes, bound, bytes=row * rows, link_bytes_least=int(crossing),
                    counters={"requests_per_row": count, "bytes_s": bound},
                )  # fmt: skip


def curve_of(steepness: float, quality: float) -> list[list[float]]:
    """A hit curve: the share of accesses is a power of that of rows, but for what the score misses."""
    return [[x, 1.0 if x == 1 else quality * x**steepness] for x in SHARES]


def add_scores(file: File, graph: str, fanout: str, steepness: float, labelled: int = 10, **own: str) -> None:
    """All scores of a training run; `own`: labels or training ids by the name of their file."""
    for score, quality in SCORES.items():
        axes = {"score": score, "graph": graph, "fanout": fanout, "batch": 1000}
        axes |= ({"labelled": labelled} if labelled else {}) | own
        hits = {f"hit_rate_{x}": quality * (x / 100) ** steepness for x in PERCENTS}
        shares = {f"of_optimal_{x}": quality for x in PERCENTS}
        known = {"score_s": 0.3, "rank_s": 0.1, "batches": 420.0, "accesses": 420 * 40000.0, "threads": 16.0}
        file.add(
            "tiering/score", axes, {}, 0.4, hit_curve=curve_of(steepness, quality),
            counters=hits | shares | known, graph={"vertices": 1 << 22, "entries": 31 << 22},
        )  # fmt: skip


def add_tiers(file: File) -> None:
    """Three graphs, and one of them by depth; sampling and reordering."""
    for graph, steepness in (("kron22", 0.18), ("pareto22", 0.3), ("web20", 0.22)):
        add_scores(file, graph, "10x25", steepness)
        for lists, each_s in (("pasted", 6.1e-9), ("sorted", 8.7e-9)):
            entries = 31 << 22
            axes = {"lists": lists, "score": "degree", "graph": graph}
            counters = {"edges_per_s": 1 / each_s, "threads": 16.0}
            file.add("tiering/reorder", axes, {}, entries * each_s, operations=entries, counters=counters)
    for depth in (2, 3, 4, 5):
        add_scores(file, "pareto22", "x".join(["10"] * depth), 0.25 + 0.03 * depth)
    for by, placement, site, rate in (
        ("cpu", "host", {}, 60e6),
        ("gpu", "mapped", SITE, 400e6),
        ("gpu", "device", SITE, 2.1e9),
    ):
        axes = {"by": by, "placement": placement, "graph": "kron22", "fanout": "10x25", "batch": 1000}
        counters = {"edges_per_s": rate, "nodes": 190000.0, "sampled_edges": 258000.0}
        more = {"locality": "local"} if site else {}
        seconds = 258000 / rate
        file.add("sampling/neighbours", axes | more, site, seconds, operations=258000, counters=counters)


def add_share(file: File, by: str, sms: int, width: int, family: str = "sm_share/gather", **more) -> dict:
    """A gather on so many multiprocessors, alone or beside a computation."""
    given = max(8, 8 * math.ceil(sms / 8)) if by == "green_context" else sms
    reach = min(1.0, given * width / 90) * {"grid_cap": 0.97, "mps_percentage": 0.985}.get(by, 1.0)
    rows = 1 << (16 if family == "sm_share/gather" else 17)
    axes = {"by": by, "locality": "local"} | ({"sms": sms} if by != "unlimited" else {})
    axes |= more.pop("axes", {}) | {"width": width, "row": KIB, "rows": rows, "span": GIB}
    seconds = rows * KIB / (PEAK * 0.93 * reach * 1e9)
    counters = {"given_sms": float(given), "available_sms": 132.0, "given_share": given / 132}
    if by != "unlimited":
        counters["asked_sms"] = float(sms)
    counters |= more.pop("counters", {})
    size = rows * KIB
    row = file.add(family, axes, SITE, more.pop("seconds", seconds), bytes=size, counters=counters, **more)
    row["link_fraction"] = row["bandwidth_gb_s"] / PEAK
    return row


def add_shares(file: File) -> None:
    """Three ways, three widths, and splits."""
    for width in (4, 8, 16):
        for by in ("grid_cap", "green_context", "mps_percentage"):
            for sms in SMS:
                if by != "green_context" or sms >= 8:
                    add_share(file, by, sms, width)
        add_share(file, "unlimited", 132, width)
    for by in ("grid_cap", "green_context", "unlimited"):
        for percent in (2.5, 5, 10, 15, 25, 50) if by != "unlimited" else (100,):
            add_split(file, by, percent)
            add_split(file, by, percent, "graphsage")


def add_split(file: File, by: str, percent: float, consumer: str = "") -> dict:
    """Both at once: the gather is slow on few multiprocessors, the computation on the rest."""
    sms = math.ceil(1.32 * percent)
    gather_alone = (KIB << 17) / (PEAK * 0.93 * 1e9)
    given = 8 * math.ceil(sms / 8) if by == "green_context" else sms
    whole = by == "unlimited"
    gather_s = gather_alone * (1.7 if whole else max(1.02, 90 / (16 * given)))
    compute_s = gather_alone * (1.85 if whole else 132 / (132 - given))
    total = max(gather_s, compute_s)
    counters = {
        "gather_slowdown": gather_s / gather_alone,
        "compute_slowdown": compute_s / gather_alone,
        "pipeline_overlap": (2 * gather_alone - total) / gather_alone,
        "rest_sms": 132.0 - given,
    }
    lanes = [
        {"name": "gather", "bytes": KIB << 17, "from": "host:0", "to": "gpu:0", "median_s": gather_s,
         "within_s": [gather_s * 0.99, gather_s * 1.01], "bandwidth_gb_s": (KIB << 17) / gather_s / 1e9,
         "background": False, "alone_s": gather_alone},
        {"name": "compute", "bytes": 0, "from": "gpu:0", "to": "gpu:0", "median_s": compute_s,
         "within_s": [compute_s * 0.99, compute_s * 1.01], "background": False, "alone_s": gather_alone},
    ]  # fmt: skip
    overlap = min(gather_s, compute_s) / total
    return add_share(
        file, by, sms, 16, "sm_share/split", counters=counters, lanes=lanes, overlap=overlap, seconds=total,
        axes={"consumer": consumer} if consumer else {},
    )  # fmt: skip
