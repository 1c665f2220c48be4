"""Rows of the model: what each access asks of a link, how long that takes at least, which pages move."""

from synthetic import File
from synthetic_graphs import (
    ALGORITHMS,
    BALANCE,
    CARDS,
    GRAPHS,
    LINKS,
    MODELLED_IMBALANCE,
    PAGES,
    WORK,
    accesses,
    graph_facts,
    question,
    traffic,
)

# How often a page is brought where the card holds 25, 50, 75, 100 and 125 % of the edge list.
AGAIN = (3.4, 2.3, 1.6, 1.03, 1.0)


def bound(link: str, crossing: dict) -> dict[str, float]:
    """Seconds by each cause."""
    gb_s, header, round_trip_s, in_flight = LINKS[link]
    return {
        "bytes_s": (crossing["bytes"] + header * crossing["requests"]) / gb_s / 1e9,
        "requests_s": crossing["requests"] * round_trip_s / in_flight,
        "translations_s": crossing["bytes"] / 65536 / 33e6,
    }


def modelled(file: File, family: str, axes: dict, seconds: float, **more) -> dict:
    """A row that nothing was measured for: one time, without an interval."""
    row = file.add(family, axes, {}, seconds, spread=0.0, **more)
    row |= {"label": "modelled", "median_s": seconds}
    for name in ("visits", "middle", "mad_s", "p5_s", "p95_s"):
        row.pop(name)
    row["timing"] = {"clock": "steady", "gated": False, "timed": "nothing: the link's bound"}
    return row


def add_models(file: File, names: tuple[str, ...], *, measured: bool, pages: tuple[int, ...] = PAGES) -> None:
    """Every access over every link, and managed memory on cards of every size."""
    links = [link for link in LINKS if measured or link != "measured"]
    for algorithm in ALGORITHMS:
        for name in names:
            if algorithm == "cc" and GRAPHS[name].directed:
                continue
            for edge in (8, 4):
                for link in links:
                    for access in accesses(algorithm):
                        add_access(file, algorithm, name, access, edge, link)
            for link in ("pcie3x16", "pcie4x16", *(["measured"] if measured else [])):
                add_paging(file, algorithm, name, link, pages)


def add_access(file: File, algorithm: str, name: str, access: str, edge: int, link: str) -> dict:
    """What a walk asks of a link and how long that takes at least."""
    graph = GRAPHS[name]
    read = round(graph.entries * WORK[algorithm])
    crossing = traffic(graph, access, edge, read, weights=algorithm == "sssp")
    causes = bound(link, crossing)
    seconds = max(causes.values())
    counters = causes | {
        "teps": graph.entries / 2 / seconds,
        "amplification_data_set": crossing["amplification"] * read / graph.entries,
        "cached_amplification": crossing["amplification"] * (0.26 if access == "naive" else 0.95),
        "lane_use": BALANCE[access][0],
        "block_imbalance": BALANCE[access][1] * MODELLED_IMBALANCE,
        "edges_read": float(read),
        "entries": float(graph.entries),
        "vertices": float(graph.vertices),
    }
    axes = question(algorithm, name, edge, access=access) | {"link": link}
    facts = {"graph": graph_facts(name), "traffic": crossing, "counters": counters}
    return modelled(file, f"model/{algorithm}", axes, seconds, **facts)


def add_paging(file: File, algorithm: str, name: str, link: str, pages: tuple[int, ...]) -> None:
    """Pages that move to cards that hold a part of the edge list."""
    graph = GRAPHS[name]
    size = graph.entries * (12 if algorithm == "sssp" else 8)
    gb_s = LINKS[link][0]
    for card, again in zip(CARDS, AGAIN, strict=True):
        for page in pages:
            passes = 1 + (min(WORK[algorithm], 4.0) - 1) * (card < 100)
            moved = size * again * passes * (1.0 + 0.02 * (page > 65536))
            seconds = moved / (0.73 * gb_s * 1e9) + moved / page * (2e-6 if page < 65536 else 5e-6)
            counters = {
                "moved_bytes": moved,
                "moved_pages": moved / page,
                "evicted_pages": max(0.0, moved - size * card / 100) / page,
                "touched_bytes": float(size),
                "amplification_data_set": moved / size,
            }
            weights = {"weights": "8-72"} if algorithm == "sssp" else {}
            axes = {"algorithm": algorithm, "graph": name, "edge": 8, **weights}
            more = {"card": card, "page": page, "link": link}
            modelled(file, "model/uvm", axes | more, seconds, counters=counters, graph=graph_facts(name))
