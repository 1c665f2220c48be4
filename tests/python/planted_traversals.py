"""Rows of traversals with a few planted numbers, so that answers can be worked out by hand."""

from planted import gpu_file
from synthetic import File
from synthetic_models import modelled

SITE = {"numa": 0, "gpu": 0}
CDF = ((1, 0.1), (15, 0.25), (31, 0.5), (64, 1.0))
KRON, URAND = "kron24", "urand24"
ENTRIES = {KRON: 1000000, URAND: 2000000, "power": 1000}


def axes_of(algorithm: str, graph: str, edge: int = 8, **more) -> dict:
    """The axes that name a work, and more."""
    weights = {"weights": "8-72"} if algorithm == "sssp" else {}
    return {**more, "graph": graph, "edge": edge, **weights}


def facts(graph: str, cdf: tuple = CDF) -> dict:
    """What a row says of its graph."""
    return {
        "vertices": ENTRIES[graph] // 20,
        "entries": ENTRIES[graph],
        "degree_cdf": [list(one) for one in cdf],
    }


def crossing(counts: dict[int, int], read: float, edge: int = 8, label: str = "modelled") -> dict:
    """The traffic of so many requests of each size, of a walk that reads so many edges."""
    total = sum(size * count for size, count in counts.items())
    return {
        "label": label,
        "requests": sum(counts.values()),
        "requests_by_size": {str(size): count for size, count in counts.items()},
        "bytes": total,
        "amplification": total / (read * edge),
    }


def traverse(
    file: File,
    times: list[float],
    algorithm: str = "bfs",
    graph: str = KRON,
    access: str = "merged_aligned",
    placement: str = "mapped",
    *,
    edge: int = 8,
    order: str = "original",
    site: dict = SITE,
    locality: str = "local",
    visit: int = 1,
    counters: dict | None = None,
    **more,
) -> dict:
    """A measured row whose trials take these times."""
    axes = axes_of(algorithm, graph, edge, access=access, placement=placement, order=order)
    trials = [
        {"label": f"source:{at}", "samples_s": [time_s], "counters": {"teps": 1.0 / time_s}}
        for at, time_s in enumerate(times)
    ]
    row = file.add(
        f"traversal/{algorithm}", axes | {"locality": locality}, site, times[0], visit=visit,
        trials=trials, graph=facts(graph), **more,
    )  # fmt: skip
    for name in ("mad_s", "p5_s", "p95_s", "link_fraction"):
        row.pop(name, None)
    ordered, count = sorted(times), len(times)
    row["median_s"] = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    row["visits"] = [{"round": visit, "samples_s": times, "median_s": row["median_s"]}]
    teps = count / sum(times)
    row["counters"] = {"teps": teps, "entries": float(ENTRIES[graph])} | (counters or {})
    return row


def model(
    file: File, seconds: float, algorithm: str = "bfs", graph: str = KRON, access: str = "merged_aligned", *,
    edge: int = 8, link: str = "pcie3x16", **more,
) -> dict:  # fmt: skip
    """A bound of the model."""
    axes = axes_of(algorithm, graph, edge, access=access, link=link)
    return modelled(file, f"model/{algorithm}", axes, seconds, **({"graph": facts(graph)} | more))


def pages(
    file: File, seconds: float, algorithm: str = "bfs", graph: str = KRON, *, card: float = 50,
    page: int = 65536, link: str = "pcie3x16", edge: int = 8, **more,
) -> dict:  # fmt: skip
    """Managed memory on a card of so many percent of the edge list."""
    axes = {
        "algorithm": algorithm,
        **axes_of(algorithm, graph, edge),
        "card": card,
        "page": page,
        "link": link,
    }
    return modelled(file, "model/uvm", axes, seconds, **({"graph": facts(graph)} | more))


def machine_file(**more) -> File:
    """A file with one GPU and its link's copy peak of 54.7 GB/s."""
    return gpu_file(**more)


def steady(time_s: float, count: int = 8) -> list[float]:
    """Trials that all take this long."""
    return [time_s] * count


def measured(graph: str = KRON, factor: float = 1.0, **more) -> File:
    """Managed memory takes 1 s; merged 0.5 s, aligned 0.25 s, device memory 0.1 s, all times `factor`."""
    file = machine_file(**more)
    add_ways(file, graph, factor)
    return file


def add_ways(file: File, graph: str, factor: float) -> None:
    """The ways of `measured`, managed memory always in 1 s."""
    traverse(file, steady(1.0), graph=graph, placement="managed")
    traverse(file, steady(1.5), graph=graph, access="naive", placement="managed")
    traverse(file, steady(0.5 * factor), graph=graph, access="merged")
    traverse(file, steady(0.25 * factor), graph=graph)
    traverse(file, steady(0.1 * factor), graph=graph, placement="device")
    traverse(file, steady(0.8 * factor), graph=graph, access="compact", placement="subway")


def linked(file: File, factor: float = 1.0) -> File:
    """Three links, each twice as fast as the one before; managed memory gains half as much."""
    for order, link in enumerate(("pcie3x16", "pcie4x16", "nvlink-c2c")):
        model(file, 0.8 * factor / 2**order, link=link, counters={"teps": 1e9 * 2**order / factor})
        pages(file, 1.6 / 1.5**order, link=link)
    return file
