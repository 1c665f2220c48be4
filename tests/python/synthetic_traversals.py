"""Rows of traversals as a machine with a GPU would measure them, with numbers like those seen.

Times of kron24 and urand24 are near those of EMOGI's public code on an H100; everything else follows from
requests, so that pictures look as they will.
"""

import math
import random

from grainscope_report.statistics import percentile
from synthetic import File
from synthetic_graphs import (
    ACCESSES,
    ALGORITHMS,
    BALANCE,
    BEST,
    GRAPHS,
    PAGES,
    WORK,
    accesses,
    graph_facts,
    question,
    traffic,
)
from synthetic_models import add_models

SITE = {"numa": 0, "gpu": 0}
SLOWER = {
    "naive": 4.6,
    "merged": 1.42,
    "merged_aligned": 1.08,
    "merged_aligned_by_16": 1.12,
    "merged_aligned_by_8": 1.3,
    "merged_aligned_by_4": 1.75,
    "merged_aligned_chunked": 1.0,
    "block_mapped": 1.35,
    "merge_path": 1.5,
    "edge_gather": 1.2,
}
MANAGED = {"bfs": 3.1, "sssp": 1.6, "cc": 1.9, "pr": 1.05}


def best_s(algorithm: str, name: str, edge: int) -> float:
    """Seconds of the best access."""
    graph = GRAPHS[name]
    which = 1 if name == "urand24" else 0
    like = GRAPHS["urand24" if which else "kron24"]
    return 25e-6 * WORK[algorithm] + BEST[algorithm][edge][which] * 1e-3 * graph.entries / like.entries


def trials_of(algorithm: str, seconds: float, entries: int, read: int, count: int, seed: int) -> list[dict]:
    """So many sources, the same for every access, which differ by some percent."""
    sources, noise = random.Random(algorithm), random.Random(seed)
    made = []
    for order in range(count):
        time_s = seconds * (1 + 0.08 * sources.uniform(-1, 1)) * (1 + 0.01 * noise.uniform(-1, 1))
        label = f"source:{sources.randrange(1 << 24)}" if algorithm in ("bfs", "sssp") else f"trial:{order}"
        counters = {"teps": entries / 2 / time_s, "edges_read": float(read), "levels": 7.0}
        made.append({"label": label, "samples_s": [time_s], "counters": counters})
    return made


def levels_of(entries: int, read: int, total_s: float, requests: float, size: float) -> list[dict]:
    """Seven rounds, most of the edges in two of them, or sweeps; the last has what rounding leaves."""
    sweeps = math.ceil(read / entries)
    once = (1e-6, 0.002, 0.21, 0.62, 0.16, 0.0075, 0.0005)
    shares = once if sweeps == 1 else (1 / sweeps,) * sweeps
    edges = [round(read * share) for share in shares[:-1]]
    edges.append(read - sum(edges))
    return [
        {
            "level": level,
            "active": max(1, round(entries * share / 31)),
            "edges": edges[level],
            "seconds": total_s * 0.98 * share + 1e-9,
            "requests": round(requests * share),
            "link_bytes": round(size * share),
        }
        for level, share in enumerate(shares)
    ]


def add_traversal(
    file: File,
    algorithm: str,
    name: str,
    access: str,
    placement: str,
    seconds: float,
    *,
    edge: int = 8,
    order: str = "original",
    trials: int = 16,
    site: dict = SITE,
    peak: float = 54.7,
    label: str = "modelled",
    prepare_s: float = 0.0,
) -> dict:
    """One measured row: trials, levels, requests."""
    graph = GRAPHS[name]
    read = round(graph.entries * WORK[algorithm])
    made = trials_of(algorithm, seconds, graph.entries, read, trials, len(file.rows))
    samples = [trial["samples_s"][0] for trial in made]
    walk = access if access in ACCESSES else "merged_aligned"
    crossing = traffic(graph, walk, edge, read, label, weights=algorithm == "sssp")
    # A naive walk finds most of what it read before in a cache: what crosses is less than without one.
    crossed = read * edge * 1.9 if walk == "naive" else crossing["bytes"]
    rate = crossed / seconds / 1e9
    axes = question(algorithm, name, edge, access=access, placement=placement, order=order)
    lanes, imbalance, finding = BALANCE[walk]
    frontier_s = seconds * finding * (8 if placement == "device" else 1)
    counters = {
        "teps": len(made) / sum(1 / trial["counters"]["teps"] for trial in made),
        "amplification_data_set": crossing["amplification"] * read / graph.entries,
        "cached_amplification": crossing["amplification"] * (0.28 if walk == "naive" else 0.97),
        "lane_use": lanes,
        "block_imbalance": imbalance,
        "frontier_s": frontier_s,
        "edges_read": float(read),
        "entries": float(graph.entries),
        "vertices": float(graph.vertices),
        "gpu_bytes": 12.0 * graph.vertices,
        "prepare_s": prepare_s,
    }
    over_link = placement == "mapped"
    row = file.add(
        f"traversal/{algorithm}",
        axes | {"locality": "local"},
        site,
        seconds,
        trials=made,
        levels=levels_of(graph.entries, read, samples[0], crossing["requests"], crossing["bytes"]),
        graph=graph_facts(name),
        counters=counters | ({"link_gb_s": min(rate, 0.97 * peak)} if over_link else {}),
        **({"traffic": crossing, "counted": counted_of(crossing, walk)} if over_link else {}),
        flags=("wide_interval",),
    )
    row.update(statistics_of(samples))
    row.pop("link_fraction", None)
    if over_link:
        row["link_fraction"] = row["counters"]["link_gb_s"] / peak
    return row


def counted_of(crossing: dict, walk: str) -> dict:
    """What counters would say: nearly the model's, of a naive walk what a cache leaves."""
    share = 0.48 if walk == "naive" else 1.004
    sectors = round(crossing["bytes"] / 32 * share)
    requests = round(crossing["requests"] * share)
    told = {"requests": requests, "sectors": sectors, "bytes": 32 * sectors}
    return told | {"pcie_read_bytes": 32 * sectors + 12 * requests, "label": "counted"}


def statistics_of(samples: list[float]) -> dict:
    """The statistics of one time a trial, by ranks."""
    ordered, count = sorted(samples), len(samples)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    off = sorted(abs(one - middle) for one in samples)
    return {
        "visits": [{"round": 1, "samples_s": samples, "median_s": middle}],
        "median_s": middle,
        "mad_s": (off[(count - 1) // 2] + off[count // 2]) / 2,
        "p5_s": percentile(ordered, 5),
        "p95_s": percentile(ordered, 95),
    }


def add_all(file: File, names: tuple[str, ...], *, faster: float = 1.0, site: dict = SITE, **more) -> None:
    """Every way to run every algorithm on these graphs; `faster` scales the link."""
    for algorithm in ALGORITHMS:
        for name in names:
            if algorithm == "cc" and GRAPHS[name].directed:
                axes = question(
                    algorithm, name, 8, access="merged_aligned", placement="mapped", order="original"
                )
                why = f"{name} is directed, and label propagation finds components of undirected graphs only"
                file.lose("skipped", why, "traversal/cc", axes, site)
                continue
            for edge in (8, 4):
                best = best_s(algorithm, name, edge) / faster
                for access in accesses(algorithm):
                    seconds = best * SLOWER[access]
                    add_traversal(
                        file, algorithm, name, access, "mapped", seconds, edge=edge, site=site, **more
                    )
                add_others(file, algorithm, name, edge, best, faster, site, more)


def add_others(
    file: File, algorithm: str, name: str, edge: int, best: float, faster: float, site: dict, more: dict
) -> None:
    """The other placements, and orders of the vertices."""
    like = {"edge": edge, "site": site, **more}
    ways = (
        ("merged_aligned", "managed", "original", best * MANAGED[algorithm], 0.0),
        ("merged_aligned", "device", "original", best * faster * 0.26, 0.0),
        ("merged_aligned_chunked", "device", "original", best * faster * 0.25, 0.0),
        ("merge_path", "device", "original", best * faster * 0.27, 0.0),
        ("compact", "subway", "original", best * 2.3, 0.0),
        ("merged_aligned", "managed", "halo_like", best * MANAGED[algorithm] * 0.82, 3.4),
        ("merged_aligned", "managed", "degree", best * MANAGED[algorithm] * 0.9, 0.9),
        ("merged_aligned_chunked", "mapped", "halo_like", best * 0.97, 3.4),
    )
    for access, placement, order, seconds, prepare_s in ways:
        if edge == 8 or placement != "device":
            add_traversal(
                file, algorithm, name, access, placement, seconds, order=order, prepare_s=prepare_s, **like
            )


def traversing(
    host: str = "node-t",
    gpu: str = "NVIDIA H100 80GB HBM3",
    names: tuple[str, ...] = tuple(GRAPHS),
    faster: float = 1.0,
    models: bool = True,
    trials: int = 16,
    pages: tuple[int, ...] = PAGES,
) -> File:
    """A machine with a GPU that ran every traversal, and the model's rows of the same run."""
    file = File(host=host, gpus=(gpu,))
    file.link("host_to_gpu", 54.7 * faster, theoretical=63.0 * faster)
    file.link("gpu_to_host", 55.1 * faster, theoretical=63.0 * faster)
    add_all(file, names, faster=faster, peak=54.7 * faster, trials=trials)
    if models:
        add_models(file, names, measured=True, pages=pages)
    return file


def modelling(
    names: tuple[str, ...] = ("kron24", "urand24", "power", "pgp"), pages: tuple[int, ...] = PAGES
) -> File:
    """A machine without a GPU: the model's rows alone, the others skipped."""
    file = File(host="laptop", preset="quick")
    add_models(file, names, measured=False, pages=pages)
    for algorithm in ALGORITHMS:
        axes = question(algorithm, "kron24", 8, access="merged_aligned", placement="mapped", order="original")
        file.lose("skipped", "no NVIDIA driver", f"traversal/{algorithm}", axes, {})
    return file
