"""Graphs, requests and links of synthetic traversals: what the measured and the modelled rows share."""

from dataclasses import dataclass

from synthetic import KIB, MIB

ALGORITHMS = ("bfs", "sssp", "cc", "pr")
ACCESSES = (
    "naive", "merged", "merged_aligned", "merged_aligned_by_16", "merged_aligned_by_8", "merged_aligned_by_4",
    "merged_aligned_chunked", "block_mapped", "merge_path", "edge_gather",
)  # fmt: skip
# Of a search of lists of many lengths: the share of lanes that have an edge, the most loaded block over the
# mean, and the share of the time that finding and cutting lists takes, measured.
BALANCE = {
    "naive": (0.076, 9.7, 0.002),
    "merged": (0.684, 1.08, 0.02),
    "merged_aligned": (0.66, 1.06, 0.021),
    "merged_aligned_by_16": (0.78, 1.05, 0.022),
    "merged_aligned_by_8": (0.87, 1.05, 0.021),
    "merged_aligned_by_4": (0.93, 1.04, 0.018),
    "merged_aligned_chunked": (0.66, 1.13, 0.02),
    "block_mapped": (0.97, 1.9, 0.019),
    "merge_path": (0.985, 1.02, 0.06),
    "edge_gather": (0.999, 1.26, 0.03),
}
MODELLED_IMBALANCE = 1.15  # over the measured one
WALKS = ("naive", "merged", "merged_aligned", "merged_aligned_chunked", "edge_gather")
CARDS = (25, 50, 75, 100, 125)
PAGES = (4 * KIB, 64 * KIB, 2 * MIB)
SIZES = ("32", "64", "96", "128")


@dataclass(frozen=True)
class Graph:
    """What a graph is like: its size, degrees, the share of 128-byte requests, merged and aligned."""

    vertices: int
    entries: int
    cdf: tuple[tuple[float, float], ...]
    merged: float
    aligned: float
    directed: bool = False


def _cdf(low: int, high: int, power: float, steps: int = 40) -> tuple[tuple[int, float], ...]:
    """Shares of edges in lists up to a degree, rising between `low` and `high` as a power of the position."""
    found: dict[int, float] = {}
    for step in range(steps + 1):
        share = step / steps
        found[round(low * (high / low) ** share)] = share**power
    found[max(found)] = 1.0
    return tuple(sorted(found.items()))


GRAPHS = {
    "kron24": Graph(16777212, 520753420, _cdf(1, 407000, 1.3), 0.406, 0.728),
    "urand24": Graph(16777216, 536870354, _cdf(12, 60, 1.8), 0.389, 0.489),
    "dense17": Graph(131072, 31400000, _cdf(60, 640, 1.6), 0.463, 0.931),
    "web20": Graph(1048576, 17100000, _cdf(1, 3100, 0.8), 0.214, 0.301, directed=True),
    "power": Graph(4941, 13188, _cdf(1, 19, 0.7), 0.004, 0.006),
    "pgp": Graph(10680, 48632, _cdf(1, 205, 0.8), 0.11, 0.17),
}
# Milliseconds of the best access, kron24 and urand24, 8-byte and 4-byte edges.
BEST = {
    "bfs": {8: (115, 98), 4: (73, 58)},
    "sssp": {8: (274, 437), 4: (209, 356)},
    "cc": {8: (210, 186), 4: (129, 104)},
    "pr": {8: (4607, 3159), 4: (2818, 1792)},
}
# GB/s of bulk copies, bytes of header, seconds of a round trip, requests in flight.
LINKS = {
    "pcie3x16": (12.3, 18, 1.3e-6, 256),
    "pcie4x16": (24.5, 18, 1.3e-6, 768),
    "pcie5x16": (54.7, 12, 1.19e-6, 740),
    "pcie6x16": (109.0, 12, 1.1e-6, 1500),
    "nvlink-c2c": (390.0, 8, 0.8e-6, 6000),
    "measured": (54.7, 12, 1.19e-6, 740),
}
WORK = {"bfs": 1.0, "sssp": 2.6, "cc": 1.9, "pr": 40.0}  # passes over the edges


def accesses(algorithm: str) -> tuple[str, ...]:
    """What presets have: of bfs every access, of others those of EMOGI and GraphPEG."""
    return ACCESSES if algorithm == "bfs" else WALKS


def share_128(graph: Graph, access: str, edge: int) -> float:
    """The share of the requests that are of 128 bytes."""
    if access == "naive":
        return 0.0
    found = graph.merged if access == "merged" else graph.aligned
    return found if edge == 8 else found * 0.75


def traffic(
    graph: Graph, access: str, edge: int, read: float, label: str = "modelled", weights: bool = False
) -> dict:
    """Requests of a walk that reads so many edges; of `weights` each has 4 bytes more."""
    if access == "naive":
        requests, mix = read, {"32": 1.0, "64": 0.0, "96": 0.0, "128": 0.0}
    else:
        full = share_128(graph, access, edge)
        rest = {"merged": (0.5, 0.2, 0.3)}.get(access, (0.4, 0.35, 0.25))
        mix = {size: (1 - full) * part for size, part in zip(SIZES, rest, strict=False)} | {"128": full}
        waste = {"merged": 1.16, "edge_gather": 1.07}.get(access, 1.05)
        requests = read * edge * waste / sum(int(size) * part for size, part in mix.items())
    counts = {size: round(requests * part) for size, part in mix.items()}
    total = sum(int(size) * count for size, count in counts.items())
    return {
        "label": label,
        "requests": sum(counts.values()),
        "requests_by_size": counts,
        "bytes": total,
        "amplification": total / (read * (edge + 4 * weights)),
    }


def graph_facts(name: str) -> dict:
    """The graph as a row describes it."""
    graph = GRAPHS[name]
    return {"vertices": graph.vertices, "entries": graph.entries, "degree_cdf": [list(p) for p in graph.cdf]}


def question(algorithm: str, name: str, edge: int, **more) -> dict:
    """The axes that say what is computed."""
    weights = {"weights": "8-72"} if algorithm == "sssp" else {}
    return {**more, "graph": name, "edge": edge, **weights}
