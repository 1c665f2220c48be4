"""Rows of traversals that move fewer bytes as benchmarks/traversal/lean.cpp writes them,
with times near those of first drafts on an H100.
"""

import random

import synthetic_traversals
from synthetic import File
from synthetic_graphs import GRAPHS, graph_facts
from synthetic_traversals import SITE, best_s

STRATEGIES = {"bfs": "direction_optimising", "cc": "sampled", "pr": "pulled", "sssp": "near_far"}
STARTS = ("bfs", "sssp")
# What is read of the edge list, the time over that of EMOGI's best, what of the reads a budget holds.
READS = {"bfs": 0.16, "cc": 0.22, "pr": 5, "sssp": 1.1}
TIMES = {"bfs": 0.3, "cc": 0.33, "pr": 0.4, "sssp": 0.45}
HOT = {0: 0.0, 1: 0.22, 5: 0.45, 10: 0.6, 25: 0.8}
POLICIES = {"heads": 1.0, "lists": 0.7, "reuse": 1.08}
PEAK = 54.7
COMPRESSED = 0.6  # bytes of compressed lists over plain ones


def axes_of(algorithm: str, name: str, tier: str, hot: int, **more) -> dict:
    """The axes as benchmarks/traversal/lean.cpp has them."""
    weights = {"weights": "8-72"} if algorithm == "sssp" else {}
    locality = {"locality": "local"}
    axes = {"strategy": STRATEGIES[algorithm], "tier": tier, "lists": "plain", "segments": "read"}
    axes |= {**locality, "graph": name, "hot": hot}
    return axes | weights | more


def trials_of(algorithm: str, seconds: float, reads: tuple[int, int], entries: int, count: int) -> list[dict]:
    """One trial a source: the vertices that the traversals start at, by their new numbers."""
    sources, noise = random.Random(f"{algorithm} by degree"), random.Random(algorithm)
    found = []
    for order in range(count):
        time_s = seconds * (1 + 0.06 * noise.uniform(-1, 1))
        counters = {"edges_read": float(reads[0]), "hot_edges_read": float(reads[1])}
        counters |= {"teps": entries / 2 / time_s} if algorithm != "pr" else {}
        counters |= {"levels": 7.0} if algorithm != "cc" else {}
        label = f"source:{sources.randrange(1 << 20)}" if algorithm in STARTS else f"trial:{order}"
        if algorithm == "bfs":
            counters |= {"pulls": 3.0, "reached": 0.9 * entries / 30}
        found.append({"label": label, "samples_s": [time_s], "counters": counters})
    return found


def add_lean(
    file: File, algorithm: str, name: str, seconds: float, tier: str = "none", hot: int = 0, *,
    trials: int = 16, reads: float | None = None, site: dict = SITE, model_off: float = -0.2, **more,
) -> dict:  # fmt: skip
    """One measured row; `more` are further axes, such as `lists`."""
    graph, facts = GRAPHS[name], graph_facts(name)
    read = round(graph.entries * (READS[algorithm] if reads is None else reads))
    warm = round(read * HOT[hot] * POLICIES.get(tier, 0.0))
    made = trials_of(algorithm, seconds, (read, warm), graph.entries, trials)
    samples = [trial["samples_s"][0] for trial in made]
    packing = COMPRESSED if more.get("lists") == "compressed" else 1.0
    sectors = round((read - warm) * 4 * 1.3 * packing / 32)
    for trial in made:
        trial["counters"]["link_bytes"] = 32 * sectors / (1.04 if algorithm == "sssp" else 1)
    whole = sectors // 6
    traffic = {
        "label": "modelled",
        "requests": sectors - 3 * whole,
        "requests_by_size": {"32": sectors - 4 * whole, "64": 0, "96": 0, "128": whole},
        "bytes": 32 * sectors,
        "amplification": 32 * sectors / (4 * (read - warm)),
    }
    row = file.add(
        f"lean/{algorithm}", axes_of(algorithm, name, tier, hot, **more), site, seconds, bytes=4 * read,
        trials=made, graph=facts, traffic=traffic, link_bytes_least=32 * sectors,
        verification="depths of every vertex by certificate; every trial", flags=("wide_interval",),
    )  # fmt: skip
    row.update(synthetic_traversals.statistics_of(samples))
    row["bandwidth_gb_s"] = row["bytes"] / row["median_s"] / 1e9
    row["link_fraction"] = row["bandwidth_gb_s"] / PEAK
    row["limit_gb_s"], row["limit"] = 63.015, "PCIe 5 x16, the negotiated link of GPU 0"
    row["counters"] = counters_of(algorithm, made, graph, hot, read, warm, model_off)
    if more.get("lists") == "compressed":
        row["counters"]["compress_s"] = 0.5
    if algorithm != "cc":
        row["levels"] = levels_of(graph.entries, samples[0], sectors if algorithm == "bfs" else 0)
    return row


def counters_of(
    algorithm: str, made: list[dict], graph, hot: int, read: int, warm: int, model_off: float
) -> dict:
    """What summarise_lean and hold_against_model count."""
    first = made[0]["samples_s"][0]
    own = {"bfs": {"pulls": 3.0}, "cc": {"outside": 12.0}, "pr": {"modelled_sweeps": 5.0}}
    own = own.get(algorithm, {"delta": 3.0, "packed": 0.0})
    if algorithm == "sssp":
        own["modelled_edges_read"] = round(read * 1.04)
    hot_bytes = 4.0 * (graph.entries * hot // 100)
    return {
        "edges_read": float(read),
        "hot_edges_read": float(warm),
        **({} if algorithm == "pr" else {"teps": len(made) / sum(1 / t["counters"]["teps"] for t in made)}),
        "hot_bytes": hot_bytes,
        "gpu_bytes": hot_bytes + 32.0 * graph.vertices,
        "prepare_s": 3.1,
        "tier_s": 0.4 if hot else 0.0,
        "modelled_s": first * (1 + model_off),
        "modelled_over_measured": 1 + model_off,
        **own,
    }


def levels_of(entries: int, total_s: float, sectors: int) -> list[dict]:
    """Seven steps; of bfs each with what it reads."""
    shares = (1e-6, 0.002, 0.21, 0.62, 0.16, 0.0075, 0.0005)
    found = []
    for level, share in enumerate(shares):
        one = {"level": level, "active": max(1, round(entries * share / 31)), "edges": round(entries * share)}
        one["seconds"] = total_s * 0.97 * share + 1e-9
        if sectors:
            one |= {
                "requests": round(sectors * share / 2) or 1,
                "link_bytes": 32 * (round(sectors * share) or 1),
            }
        found.append(one)
    return found


def add_all(file: File, names: tuple[str, ...], *, trials: int = 16, compressed: bool = False) -> None:
    """Every case of a dense preset, and compressed lists where they are asked for."""
    for algorithm in STRATEGIES:
        for name in names:
            if algorithm == "cc" and GRAPHS[name].directed:
                why = f"{name} is directed, and label propagation finds components of undirected graphs only"
                file.lose("skipped", why, "lean/cc", axes_of(algorithm, name, "none", 0), SITE)
                continue
            alone = best_s(algorithm, name, 4) * TIMES[algorithm]
            for more in ({}, {"lists": "compressed"}) if compressed else ({},):
                add_budgets(file, algorithm, name, alone * (0.75 if more else 1.0), trials, more)


def add_budgets(file: File, algorithm: str, name: str, alone_s: float, trials: int, more: dict) -> None:
    """Nothing hot, then each budget by each policy."""
    own = more
    add_lean(file, algorithm, name, alone_s, trials=trials, **own)
    for hot in (1, 5, 10, 25):
        for tier in POLICIES if algorithm == "bfs" else ("heads",):
            saved = HOT[hot] * POLICIES[tier]
            add_lean(file, algorithm, name, alone_s * (1.06 - 0.8 * saved), tier, hot, trials=trials, **own)


def leaning(
    host: str = "node-l",
    gpu: str = "NVIDIA H100 80GB HBM3",
    names: tuple[str, ...] = ("kron24", "urand24"),
    *,
    trials: int = 8,
    compressed: bool = False,
) -> File:
    """A machine that ran EMOGI's traversals and those that move fewer bytes."""
    file = synthetic_traversals.traversing(host, gpu, names, trials=trials, pages=(64 << 10,))
    add_all(file, names, trials=trials, compressed=compressed)
    return file
