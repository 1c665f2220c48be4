"""docs/traversal.md: EMOGI's traversals over the link, their levels, and EMOGI's own code beside them."""

from documents import clock, digits, part, quick_rows, raw, rows_of, table

ALGORITHMS = ("bfs", "sssp", "cc", "pr")
COLUMNS = {("kron24", 8): "kron 24, 8 B", ("kron24", 4): "kron 24, 4 B"} | {
    ("urand24", 8): "urand 24, 8 B",
    ("urand24", 4): "urand 24, 4 B",
}
# Milliseconds of EMOGI's public code in its best variant, on an H100, in the order of COLUMNS: stated, since
# no result file of this suite has them.
EMOGI_MS = {
    "bfs": (115, 73, 98, 58),
    "sssp": (274, 209, 437, 356),
    "cc": (210, 129, 186, 104),
    "pr": (4607, 2818, 3159, 1792),
}
# Requests that hardware counters of an H100 had on kron 20 with 8-byte edges: stated with the model's beside
# them in `Emogi.counters_of_a_bfs_are_the_model_s`.
COUNTED = {"naive": 8724583, "merged": 3057041, "merged_aligned": 2436478, "edge_gather": 2395576}
PLACEMENTS = ("mapped", "managed", "subway", "device")
LEVELS = ((0, 1, 6), (2,), (3,), (4,), (5,))


@part("traversal.accesses")
def accesses() -> str:
    """What each access asks for, and how long it takes."""
    rows = []
    for access in ("naive", "merged", "merged_aligned", "merged_aligned_chunked", "edge_gather"):
        row = quick_rows()[f"traversal/bfs/{access}/mapped/numa:0/gpu:0/graph:kron20/edge:8"]
        traffic = row["traffic"]
        shared = millions(row["counters"]["requests_with_cache"])
        rows.append(
            [
                f"`{access}`",
                millions(traffic["requests"]),
                f"{100 * traffic['requests_by_size'].get('128', 0) / traffic['requests']:.1f} %",
                f"{traffic['amplification']:.2f}",
                f"at least {shared}" if access == "naive" else shared,
                millions(COUNTED[access]) if access in COUNTED else "not counted",
                clock(row["median_s"]),
            ]
        )
    heads = ("access", "requests, modelled without a cache", "of 128 bytes", "bytes for each byte asked for")
    return table([*heads, "requests, if neighbours share", "counted", "time"], rows)


def millions(count: float) -> str:
    return f"{digits(count / 1e6)} M"


@part("traversal.placements")
def placements() -> str:
    """Milliseconds on kron 21 by where the edges lie."""
    times = {
        (row.case.family.removeprefix("traversal/"), row.case.axes["placement"]): 1e3 * row.median_s
        for row in rows_of("h100-full.json.gz")
        if row.ok
        and row.case.family.startswith("traversal/")
        and [row.case.axes[axis] for axis in ("graph", "edge", "order")] == ["kron21", 8, "original"]
        and row.case.axes["access"] in ("merged_aligned", "compact")
    }
    rows = [[name, *(digits(times[name, place]) for place in PLACEMENTS)] for name in ALGORITHMS]
    return table(["", *(f"`{place}`" for place in PLACEMENTS)], rows)


@part("traversal.subway")
def subway(edge: str, run: str) -> str:
    """Milliseconds of subway's bfs on kron 20, in one of two runs."""
    return f"{kron20_ms(run)[f'traversal/bfs/compact/subway/numa:0/gpu:0/graph:kron20/edge:{edge}']:.1f}"


def kron20_ms(run: str) -> dict[str, float]:
    name = {"first": "h100-quick.json", "second": "h100-quick-after.json.gz"}[run]
    rows = (row for row in raw(name) if "/graph:kron20/" in row["name"] and row["status"] == "ok")
    return {row["name"]: 1e3 * row["median_s"] for row in rows}


def mapped_changes() -> list[float]:
    """How far times over mapped edges differ between the two runs."""
    one, other = kron20_ms("first"), kron20_ms("second")
    names = [name for name in one if name.startswith("traversal/") and "/mapped/" in name]
    return [abs(other[name] / one[name] - 1) for name in names]


@part("traversal.mapped_changes")
def most_of_mapped_changes() -> str:
    return f"{100 * max(mapped_changes()):.0f}"


def bfs24(graph: str, edge: int, access: str = "merged_aligned") -> dict:
    """The row of bfs from 64 of GAP's sources."""
    asked = [graph, edge, access]
    (row,) = (
        row
        for row in raw("h100-bfs24.json.gz")
        if [row["case"]["axes"][name] for name in ("graph", "edge", "access")] == asked
    )
    return row


@part("traversal.bfs24")
def bfs24_ms(graph: str, edge: str, decimals: str = "1") -> str:
    return f"{1e3 * bfs24(graph, int(edge))['median_s']:.{decimals}f}"


@part("traversal.over_toy")
def over_toy(graph: str, edge: str) -> str:
    """The share of plain reading's rate that the heaviest level reached."""
    return f"{heaviest_over_toy(graph, int(edge)):.3f}"


def heaviest_over_toy(graph: str, edge: int) -> float:
    return bfs24(graph, edge)["counters"]["heaviest_level_over_toy"]


@part("traversal.toy")
def toy() -> str:
    return f"{1e3 * bfs24('kron24', 8)['counters']['heaviest_level_toy_s']:.1f}"


@part("traversal.levels")
def levels() -> str:
    """Where a bfs of kron 24 spends its time, level by level."""
    of = {level["level"]: level for level in bfs24("kron24", 8)["levels"]}
    rows = []
    for numbers in LEVELS:
        there = [of[number] for number in numbers]
        took = sum(level["seconds"] for level in there)
        rate = f"{there[0]['link_bytes'] / took / 1e9:.1f} GB/s" if len(there) == 1 else ""
        lists, edges = (sum(level[what] for level in there) for what in ("active", "edges"))
        rows.append([", ".join(map(str, numbers)), amount(lists), amount(edges), clock(took), rate])
    return table(["level", "lists", "edges", "time", "link"], rows, right=True)


def amount(count: float) -> str:
    for unit, name in ((1e6, "million"), (1e3, "thousand")):
        if count >= unit:
            return f"{digits(count / unit, 2)} {name}"
    return str(count)


def ours_ms(algorithm: str, graph: str, edge: int) -> float:
    """The fastest walk over mapped edges from EMOGI's sources, or everywhere at once."""
    return 1e3 * min(
        row.median_s
        for name in ("h100-scale24.json", "h100-emogi24.json")
        for row in rows_of(name)
        if row.case.family == f"traversal/{algorithm}"
        and [row.case.axes[axis] for axis in ("placement", "graph", "edge")] == ["mapped", graph, edge]
        and (row.case.axes.get("sources") == "emogi") == (algorithm in ("bfs", "sssp"))
    )


@part("traversal.emogi")
def emogi() -> str:
    """Ours and EMOGI's milliseconds."""
    rows = [
        [name]
        + [
            f"{digits(ours_ms(name, *column))} (EMOGI {theirs})"
            for column, theirs in zip(COLUMNS, EMOGI_MS[name], strict=True)
        ]
        for name in ALGORITHMS
    ]
    return table(["", *COLUMNS.values()], rows)
