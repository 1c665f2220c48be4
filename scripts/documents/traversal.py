"""docs/traversal.md: EMOGI's traversals over the link, their levels, and EMOGI's own code beside them."""

import csv
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from statistics import median

import documents
from documents import COUNTERS, FULL, clock, digits, is_plain, only, part, raw, rows_of, table
from grainscope_report.groups.traversal import ACCESSES

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
PLACEMENTS = ("mapped", "managed", "subway", "device")
LEVELS = ((0, 1, 6), (2,), (3,), (4,), (5,))


@part("traversal.accesses")
def accesses() -> str:
    """What each access asks for, what of it counters saw, and how long it takes."""
    rows = []
    of = {row["case"]["axes"]["access"]: row for row in counted_rows("bfs", "kron20")}
    for access in (access for access in ACCESSES if access in of):
        row = of[access]
        traffic = row["traffic"]
        shared = millions(row["counters"]["requests_with_cache"])
        rows.append(
            [
                f"`{access}`",
                millions(traffic["requests"]),
                f"{100 * traffic['requests_by_size'].get('128', 0) / traffic['requests']:.1f} %",
                f"{traffic['amplification']:.2f}",
                f"at least {shared}" if access == "naive" else shared,
                millions(row["counted"]["requests"]),
                clock(row["median_s"]),
            ]
        )
    heads = ("access", "requests, modelled without a cache", "of 128 bytes", "bytes for each byte asked for")
    return table([*heads, "requests, if neighbours share", "counted", "time"], rows)


@part("traversal.counted24")
def counted24() -> str:
    """Requests that counters saw on kron 24, and the share of the model's without a cache and with one."""
    rows = []
    for algorithm in ALGORITHMS:
        for row in counted_rows(algorithm, "kron24"):
            counted = row["counted"]["requests"]
            of = (row["traffic"]["requests"], row["counters"]["requests_with_cache"])
            access = f"`{row['case']['axes']['access']}`"
            shares = (f"{100 * counted / modelled:.1f} %" for modelled in of)
            rows.append([algorithm, access, millions(counted), *shares])
    heads = ["kron 24, 8 B", "access", "requests counted", "of the model's without a cache"]
    return table([*heads, "of those if neighbours share"], rows)


def counted_rows(algorithm: str, graph: str) -> list[dict]:
    """Traversals of a graph whose requests were counted."""
    return [
        row
        for row in raw(COUNTERS)
        if row["case"]["family"] == f"traversal/{algorithm}"
        and row["case"]["axes"]["graph"] == graph
        and "counted" in row
    ]


def millions(count: float) -> str:
    return f"{digits(count / 1e6)} M"


def walked(name: str, graph: str, placement: str, *, algorithm: str = "bfs", direction: str = "push") -> dict:
    """Rows of a run by access, of 8-byte edges as they are and one GPU."""
    of = {}
    for row in raw(name):
        axes = row["case"]["axes"]
        asked = (
            axes["graph"],
            axes["placement"],
            axes["edge"],
            axes.get("direction", "push"),
            axes.get("order", "original"),
            axes.get("gpus", 1),
        )
        wanted = (graph, placement, 8, direction, "original", 1)
        if row["case"]["family"] == f"traversal/{algorithm}" and asked == wanted:
            of[axes["access"]] = row
    return of


WALKED = {"kron22": "kron 22", "urand22": "urand 22", "road20": "road 20"}
# Of `paper`: what stands for MOLIERE and for the crawls SK and UK.
WEBS = {"dense18": "dense 18", "web22": "web 22"}
WALKED_IN = dict.fromkeys(WALKED, "h100-walks.json.gz") | dict.fromkeys(WEBS, "h100-paper-webs.json.gz")


def by_access(heads: Sequence[str], cells: Callable[[dict, dict], list[str]], graphs=WALKED) -> str:
    """Cells of every access and graph, by its rows over the link and in the GPU's memory."""
    runs = {
        graph: [walked(WALKED_IN[graph], graph, place) for place in ("mapped", "device")] for graph in graphs
    }
    rows = [
        [
            f"`{access}`",
            *(cell for mapped, device in runs.values() for cell in cells(mapped[access], device[access])),
        ]
        for access in walked(WALKED_IN["kron22"], "kron22", "mapped")
    ]
    return table(
        ["access", *(f"{graph}: {head}" for graph in graphs.values() for head in heads)], rows, right=True
    )


@part("traversal.balance")
def balance() -> str:
    """Lanes and blocks of every access, over edges in the GPU."""

    def cells(_: dict, device: dict) -> list[str]:
        counters = device["counters"]
        return [f"{100 * counters['lane_use']:.0f} %", digits(counters["block_imbalance"])]

    return by_access(("lanes", "blocks"), cells)


@part("traversal.walks")
def walks() -> str:
    """Milliseconds of bfs by every access."""
    return by_access(("`mapped`", "`device`"), lambda *rows: [digits(1e3 * row["median_s"]) for row in rows])


@part("traversal.webs")
def webs() -> str:
    """Milliseconds and GB/s of bfs by every access over a dense graph and a web."""
    heads = ("`mapped`, ms", "GB/s", "`device`, ms", "GB/s")

    def cells(*rows: dict) -> list[str]:
        return [digits(number) for row in rows for number in (1e3 * row["median_s"], row["bandwidth_gb_s"])]

    return by_access(heads, cells, WEBS)


@part("traversal.webs_by_pr")
def webs_by_pr() -> str:
    """Milliseconds of pr over a dense graph and a web, by where edges lie, access and bytes of an edge."""
    times: dict[tuple[str, str], dict[tuple[str, int], str]] = defaultdict(dict)
    for row in raw("h100-paper-pr.json.gz"):
        axes = row["case"]["axes"]
        if axes["graph"] in WEBS:
            times[axes["placement"], axes["access"]][axes["graph"], axes["edge"]] = digits(
                1e3 * row["median_s"]
            )
    rows = [
        [f"`{placement}`", f"`{access}`", *(of.get((graph, edge), "") for graph in WEBS for edge in (8, 4))]
        for placement in ("mapped", "subway", "managed", "device")
        for (where, access), of in times.items()
        if where == placement
    ]
    heads = [f"{graph}, {edge} B" for graph in WEBS.values() for edge in (8, 4)]
    return table(["edges in", "access", *heads], rows, right=True)


@part("traversal.webs_of_peers")
def webs_of_peers() -> str:
    """Milliseconds over edges that lie in the other GPU or in both, by one GPU and by both."""
    columns = {"`peer`": ("peer", 1), "`interleaved`": ("interleaved", 1), "by both": ("interleaved", 2)}
    times: dict[tuple[str, str], dict[tuple[str, str], str]] = defaultdict(dict)
    for row in raw("two-h200-webs.json.gz"):
        axes = row["case"]["axes"]
        if row["status"] == "ok" and row["case"]["site"]["gpu"] == 0:
            line = (row["case"]["family"].removeprefix("traversal/"), axes["access"])
            column = (axes["placement"], axes.get("gpus", 1))
            times[line][axes["graph"], column] = digits(1e3 * row["median_s"])
    rows = [
        [
            algorithm,
            f"`{access}`",
            *(of.get((graph, column), "") for graph in WEBS for column in columns.values()),
        ]
        for (algorithm, access), of in times.items()
    ]
    return table(
        ["", "access", *(f"{graph}: {head}" for graph in WEBS.values() for head in columns)], rows, right=True
    )


@part("traversal.fastest")
def fastest(graph: str, placement: str) -> str:
    """The access that takes the least time."""
    rows = walked(WALKED_IN[graph], graph, placement)
    return f"`{min(rows, key=lambda access: rows[access]['median_s'])}`"


@part("traversal.lanes")
def lanes(graph: str, access: str) -> str:
    """The percent of lanes that have an edge."""
    return f"{100 * walked(WALKED_IN[graph], graph, 'device')[access]['counters']['lane_use']:.0f}"


@part("traversal.list")
def mean_list(graph: str) -> str:
    """Edges of a list on average."""
    of = walked(WALKED_IN[graph], graph, "device")["merged_aligned"]["graph"]
    return digits(of["entries"] / of["vertices"])


@part("traversal.share_of")
def share_of(graph: str, placement: str, access: str) -> str:
    """Time between the walks of one search over the median of all, in percent."""
    row = walked(WALKED_IN[graph], graph, placement)[access]
    return f"{100 * row['counters']['frontier_s'] / row['median_s']:.0f}"


@part("traversal.faster_than")
def faster_than(graph: str, placement: str, access: str, other: str) -> str:
    """Percent by which a search by one access, or by the `fastest`, takes less time than by another."""
    rows = walked(WALKED_IN[graph], graph, placement)
    rows["fastest"] = min(rows.values(), key=lambda row: row["median_s"])
    return f"{100 * (1 - rows[access]['median_s'] / rows[other]['median_s']):.0f}"


ROUNDS = ("h100-card-walks-1.json.gz", "h100-card-walks-2.json.gz", "h100-card-walks-3.json.gz")
GUNROCK = ("merge_path", "block_mapped", "thread_mapped")


@cache
def beside_gunrock() -> dict[str, dict[str, float]]:
    """Milliseconds by graph, of ours and of Gunrock's: the median of three sources, each of three rounds."""
    times: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (documents.REFERENCE / "gunrock-bfs.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            times[line["graph"], "Gunrock " + line["balance"]][line["source"]].append(
                float(line["median_ms"])
            )
    sources = {(graph, source) for (graph, _), each in times.items() for source in each}
    for run in ROUNDS:
        for row in raw(run):
            graph = row["case"]["axes"]["graph"]
            for trial in row["trials"]:
                source = trial["label"].split(":")[1]
                if (graph, source) in sources:
                    times[graph, row["case"]["axes"]["access"]][source] += [1e3 * trial["samples_s"][0]]
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (graph, what), each in times.items():
        found[graph][what] = median(median(values) for values in each.values())
    return found


@part("traversal.gunrock")
def gunrock() -> str:
    """bfs in the GPU's memory, ours and Gunrock's."""
    ours = ("merge_path", "block_mapped", "merged_aligned", "merged_aligned_by_16")
    rows = []
    for graph, of in beside_gunrock().items():
        theirs = [digits(of[f"Gunrock {what}"]) if f"Gunrock {what}" in of else "" for what in GUNROCK]
        rows.append([graph, *(digits(of[what]) for what in ours), *theirs])
    return table(
        ["", *(f"`{what}`" for what in ours), *(f"Gunrock, {what}" for what in GUNROCK)], rows, right=True
    )


@part("traversal.over_gunrock")
def over_gunrock(which: str) -> str:
    """Our merge path's time over Gunrock's, the least or the most of all graphs."""
    ratios = [of["merge_path"] / of["Gunrock merge_path"] for of in beside_gunrock().values()]
    return f"{(min if which == 'least' else max)(ratios):.2f}"


@part("traversal.pulls")
def pulls() -> str:
    """Push and pull, by walks of whole lists and by edges handed out."""
    rows = []
    for algorithm in ("bfs", "pr"):
        for graph in ("kron22", "urand22"):
            for access in ("merged_aligned", "edge_gather"):
                cells = [algorithm, graph, f"`{access}`"]
                for place in ("mapped", "device"):
                    for direction in ("push", "pull"):
                        of = walked(
                            "h100-pulls.json.gz", graph, place, algorithm=algorithm, direction=direction
                        )
                        cells.append(digits(1e3 * of[access]["median_s"]))
                edges = [
                    walked("h100-pulls.json.gz", graph, "device", algorithm=algorithm, direction=direction)[
                        access
                    ]["counters"]["edges_read"]
                    for direction in ("push", "pull")
                ]
                rows.append([*cells, f"{edges[1] / edges[0]:.2f}"])
    heads = ["`mapped`, push", "pull", "`device`, push", "pull", "edges read, pull over push"]
    return table(["", "", "access", *heads], rows, right=True)


@part("traversal.placements")
def placements() -> str:
    """Milliseconds on kron 21 by where the edges lie."""
    times = {
        (row.case.family.removeprefix("traversal/"), row.case.axes["placement"]): 1e3 * row.median_s
        for row in rows_of(FULL)
        if row.ok
        and row.case.family.startswith("traversal/")
        and [row.case.axes[axis] for axis in ("graph", "edge", "order")] == ["kron21", 8, "original"]
        and row.case.axes["access"] in ("merged_aligned", "compact")
        and is_plain(row.case.axes)
    }
    rows = [[name, *(digits(times[name, place]) for place in PLACEMENTS)] for name in ALGORITHMS]
    return table(["", *(f"`{place}`" for place in PLACEMENTS)], rows)


# Runs of `quick` on machines of one kind, several of them on one GPU.
QUICK_RUNS = (
    *(f"acceptance/h100-{name}.json.gz" for name in ("b1", "b2", "c1", "c2")),
    "h100-quick-now.json.gz",
    "h100-quick-short.json.gz",
)


@part("traversal.quick_gpus")
def quick_gpus() -> str:
    """How many GPUs these runs are of."""
    return str(len({documents.result(name).environment.gpus[0]["uuid"] for name in QUICK_RUNS}))


def quick_ms(family: str, placement: str) -> dict[str, list[float]]:
    """Milliseconds of rows over kron 19, in each run that has them."""
    found = defaultdict(list)
    for name in QUICK_RUNS:
        for row in rows_of(name):
            if not row.ok or row.case.family != family or not is_plain(row.case.axes):
                continue
            if (row.case.axes["graph"], row.case.axes["placement"]) == ("kron19", placement):
                found[row.name].append(1e3 * row.median_s)
    return found


@part("traversal.subway")
def subway(edge: str, end: str) -> str:
    """Milliseconds of subway's bfs of kron 19 in the fastest or slowest of these runs."""
    of = quick_ms("traversal/bfs", "subway")
    (times,) = (times for name, times in of.items() if name.endswith(f"/edge:{edge}"))
    return f"{(min if end == 'least' else max)(times):.1f}"


def changes(placement: str) -> dict[str, float]:
    """By how much the slowest of these runs is above the fastest, of each row over edges that lie there."""
    rows = (row for name in ALGORITHMS for row in quick_ms(f"traversal/{name}", placement).items())
    return {name: max(times) / min(times) - 1 for name, times in rows}


@part("traversal.changes")
def most_of_changes(placement: str) -> str:
    return f"{100 * max(changes(placement).values()):.0f}"


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


@part("traversal.of_levels")
def of_levels(what: str, *numbers: str) -> str:
    """Of levels of that search: edges of a list, billions of requests a second, percent of the whole time."""
    levels = bfs24("kron24", 8)["levels"]
    asked = [level for level in levels if str(level["level"]) in numbers]
    lists, edges, requests, took = (
        sum(level[field] for level in asked) for field in ("active", "edges", "requests", "seconds")
    )
    return {
        "edges": f"{edges / lists:.1f}",
        "requests": f"{requests / took / 1e9:.2f}",
        "time": f"{100 * took / sum(level['seconds'] for level in levels):.0f}",
    }[what]


def amount(count: float) -> str:
    for unit, name in ((1e6, "million"), (1e3, "thousand")):
        if count >= unit:
            return f"{digits(count / unit, 2)} {name}"
    return str(count)


def ours_ms(algorithm: str, graph: str, edge: int) -> float:
    """The fastest walk over mapped edges from EMOGI's sources, or everywhere at once."""
    return 1e3 * min(
        row.median_s
        for row in rows_of(f"h100-{graph}.json.gz")
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


# Several GPUs, and where edges lie: two H100 of one host, and of these one with less memory.
TRAVERSED = {"kron24": "two-h100-kron24.json.gz", "urand24": "two-h100-urand24.json.gz"} | {
    "kron26": "two-h100-kron26.json.gz"
}
TOGETHER = {"kron24": "kron 24, 8 B", "urand24": "urand 24, 8 B", "kron26": "kron 26, 4 B"}
# kron 24 with 8-byte edges again, by one, two and four H200.
FOUR = "four"
TRAVERSED[FOUR] = "four-h200-traversal.json.gz"
# sssp and cc again, by the program of today: what lowers is seen within a level.
LOWERED = dict.fromkeys(("kron24", "urand24"), "two-h100-lower24.json.gz") | {
    "kron26": "two-h100-lower26.json.gz"
}
LOWERED_BY_ONE = ("kron24", "urand24")  # that one GPU walked in the same run, too
LOWERING = ("sssp", "cc")
HELD = "mapped, managed_host"
PLACED = ("mapped", HELD, "peer", "interleaved", "device")


def traversed(name: str, graph: str, placement: str = "mapped", gpus: int = 1, memory: str | None = None):
    """The one row of an algorithm over a graph by so many GPUs."""
    wanted = (placement, gpus if gpus > 1 else None, memory)
    (row,) = (
        row
        for row in rows_of(TRAVERSED[graph])
        if row.ok
        and row.case.family == f"traversal/{name}"
        and tuple(row.case.axes.get(axis) for axis in ("placement", "gpus", "memory")) == wanted
    )
    return row


def placed(name: str, where: str, graph: str = "kron24"):
    """The row of one GPU over edges that lie there."""
    return traversed(name, graph, *((where,) if where != HELD else ("mapped", 1, "managed_host")))


def times_faster(name: str, graph: str, gpus: int = 2, placement: str = "mapped") -> float:
    """How many times as fast so many GPUs are as one, from the same sources."""
    return gpus * traversed(name, graph, placement, gpus).counters["scaling"]


def newest(name: str, graph: str, gpus: int = 2):
    """The row over mapped edges, of sssp and cc by the program of today where they were measured again."""
    if name not in LOWERING or graph not in LOWERED:
        return traversed(name, graph, gpus=gpus)
    axes = ["gpus="] if gpus == 1 else [f"gpus={gpus}"]
    return only(LOWERED[graph], f"traversal/{name}", f"graph={graph}", *axes)


def newest_times(name: str, graph: str) -> float:
    """How many times as fast two GPUs are as one, from the same sources."""
    return 2 * newest(name, graph).counters["scaling"]


@part("traversal.together")
def together() -> str:
    """One GPU alone, two together, from the same three sources."""
    rows = []
    for name in ALGORITHMS:
        cells = []
        for graph in TOGETHER:
            alone_s = newest(name, graph).counters["alone_s"]
            times = newest_times(name, graph)
            cells += [clock(alone_s), clock(alone_s / times), f"{times:.2f}"]
        rows.append([name, *cells])
    heads = (one for graph in TOGETHER.values() for one in (f"{graph}: alone", "together", "×"))
    return table(["", *heads], rows, right=True)


@part("traversal.times")
def of_times(name: str, graph: str) -> str:
    """The same in a run in which a GPU saw what another lowered in the next level alone."""
    return f"{times_faster(name, graph):.2f}"


@part("traversal.least_times")
def least_times(names: str, graphs: str = ",".join(TOGETHER)) -> str:
    return f"{min(newest_times(name, graph) for name in names.split(',') for graph in graphs.split(',')):.2f}"


@part("traversal.most_times")
def most_times(names: str, graphs: str = ",".join(TOGETHER)) -> str:
    return f"{max(newest_times(name, graph) for name in names.split(',') for graph in graphs.split(',')):.2f}"


@part("traversal.edges_read")
def edges_read(name: str, graph: str, gpus: str, which: str = "newest") -> str:
    """Billions of edges in the lists that were walked; `older`: in the run before."""
    row = (newest if which == "newest" else traversed)(name, graph, gpus=int(gpus))
    return f"{row.counters['edges_read'] / 1e9:.2f}"


def more_edges(name: str, graph: str) -> float:
    """How many times as many edges two GPUs read as one."""
    one, two = (newest(name, graph, gpus).counters["edges_read"] for gpus in (1, 2))
    return two / one


@part("traversal.more_edges")
def most_more_edges() -> str:
    """By how many percent two GPUs read more edges or fewer, at most."""
    apart = [abs(more_edges(name, graph) - 1) for name in LOWERING for graph in LOWERED_BY_ONE]
    return f"{100 * max(apart):.1f}"


def rate_over_one(name: str, gpus: int) -> float:
    """How many times as many edges a second so many GPUs read as one."""
    one, several = (traversed(name, FOUR, gpus=count) for count in (1, gpus))
    return several.bandwidth_gb_s / one.bandwidth_gb_s


@part("traversal.four")
def by_four() -> str:
    """One GPU alone, two and four together, from the same sources; what they read, over all sources."""
    rows = []
    for name in ALGORITHMS:
        cells = []
        for gpus in (2, 4):
            row = traversed(name, FOUR, gpus=gpus)
            if not cells:
                cells.append(clock(row.counters["alone_s"]))
            times = times_faster(name, FOUR, gpus)
            cells += [clock(row.counters["alone_s"] / times), f"{times:.2f}"]
        one = traversed(name, FOUR)
        rates = [f"{each.bandwidth_gb_s:.1f}" for each in (one, row)]
        more = row.counters["edges_read"] / one.counters["edges_read"]
        rows.append([name, *cells, f"{more:.2f}", *rates, f"{rate_over_one(name, 4):.2f}"])
    heads = ("alone", "two", "×", "four", "×", "edges read ×", "GB/s by one", "by four", "×")
    return table(["", *heads], rows, right=True)


@part("traversal.four_times")
def of_four_times(name: str, gpus: str, placement: str = "mapped") -> str:
    return f"{times_faster(name, FOUR, int(gpus), placement):.2f}"


@part("traversal.four_rates")
def of_four_rates() -> str:
    """GB/s that four GPUs read, by the algorithm the least and the most."""
    rates = [traversed(name, FOUR, gpus=4).bandwidth_gb_s for name in ALGORITHMS]
    return f"{min(rates):.0f} to {max(rates):.0f}"


@part("traversal.rates_over_one")
def of_rates_over_one(gpus: str) -> str:
    """How many times as much as one GPU so many read, by the algorithm the least and the most."""
    times = [rate_over_one(name, int(gpus)) for name in ALGORITHMS]
    return f"{min(times):.1f} to {max(times):.1f}"


@part("traversal.placed")
def where_they_lie() -> str:
    """Milliseconds on kron 24 by where the edges lie."""
    rows = [[name, *(digits(1e3 * placed(name, where).median_s) for where in PLACED)] for name in ALGORITHMS]
    return table(["", *(f"`{where.replace(', ', '`, `')}`" for where in PLACED)], rows, right=True)


def peer_link() -> float:
    """GB/s of a copy from the peer."""
    (link,) = (link for link in documents.result(TRAVERSED["kron24"]).links if link.direction == "to_peer")
    return link.peak_gb_s


@part("traversal.peer_link")
def of_peer_link() -> str:
    return f"{peer_link():.0f}"


def over_peer_link(name: str, where: str) -> float:
    """Bytes of edges read a second over the rate of the peer's link."""
    return placed(name, where).bandwidth_gb_s / peer_link()


@part("traversal.peers")
def from_peers() -> str:
    """GB/s of edges in a peer and over both GPUs, and that over the link's."""
    rows = [
        [name, *(cell for where in ("peer", "interleaved") for cell in (
            digits(placed(name, where).bandwidth_gb_s), f"{over_peer_link(name, where):.2f}"
        ))]
        for name in ALGORITHMS
    ]  # fmt: skip
    heads = ("`peer`, GB/s", "of the link's", "`interleaved`, GB/s", "of the link's")
    return table(["", *heads], rows, right=True)


PEERS_RUN = "two-h100-paper-peers.json.gz"
PEERS_GRAPHS = {"kron24": "kron 24", "urand24": "urand 24"}


PEERS_ACCESSES = ("naive", "merged", "merged_aligned", "merged_aligned_chunked", "edge_gather")


def over_peers(name: str, access: str, where: str, graph: str, gpus: str = ""):
    """The row of GPU 0, which is the first of its GPUs, by an access over edges in its peer or over both."""
    axes = (f"access={access}", f"placement={where}", f"graph={graph}", "gpu=0", f"gpus={gpus}")
    return only(PEERS_RUN, f"traversal/{name}", *axes)


@part("traversal.peer_accesses")
def peer_accesses() -> str:
    """Milliseconds of bfs by every access over edges in a peer and over both GPUs."""
    rows = [
        [f"`{access}`", *(
            digits(1e3 * over_peers("bfs", access, where, graph).median_s)
            for graph in PEERS_GRAPHS for where in ("peer", "interleaved")
        )]
        for access in PEERS_ACCESSES
    ]  # fmt: skip
    heads = (f"{name}, `{where}`" for name in PEERS_GRAPHS.values() for where in ("peer", "interleaved"))
    return table(["", *heads], rows, right=True)


@part("traversal.peer_access_spread")
def peer_access_spread() -> str:
    """By how many percent times of accesses other than `naive` differ at most, over the same edges."""
    spreads = []
    for graph in PEERS_GRAPHS:
        for where in ("peer", "interleaved"):
            times = [over_peers("bfs", access, where, graph).median_s for access in PEERS_ACCESSES[1:]]
            spreads.append(max(times) / min(times) - 1)
    return f"{100 * max(spreads):.0f}"


@part("traversal.two_over_peers")
def two_over_peers() -> str:
    """How many times as fast two GPUs are as one, over edges interleaved over both."""
    rows = []
    for name in ALGORITHMS:
        cells = []
        for graph in PEERS_GRAPHS:
            try:
                row = over_peers(name, "merged_aligned", "interleaved", graph, "2")
            except ValueError:  # this run ended before it
                cells.append("not run")
            else:
                cells.append(f"{2 * row.counters['scaling']:.2f}")
        rows.append([name, *cells])
    return table(["", *PEERS_GRAPHS.values()], rows, right=True)


def held_over_pinned(name: str, graph: str) -> float:
    """The time over managed memory that stays on the host, over that over pinned memory."""
    return placed(name, HELD, graph).median_s / placed(name, "mapped", graph).median_s


@part("traversal.held_over_pinned")
def of_held_over_pinned(name: str, graph: str) -> str:
    return f"{100 * (held_over_pinned(name, graph) - 1):.1f}"


@part("traversal.held_later")
def held_later(name: str, scale: str = "24") -> str:
    """By how many percent the time over managed memory is above that over pinned memory, in visits."""
    pinned, held = sorted(_held_rows(name, scale), key=lambda row: "memory" in row.case.axes)
    return f"{100 * (held.median_s / pinned.median_s - 1):.1f}"


@part("traversal.held_visits")
def held_visits() -> str:
    """Of pr over pinned edges: the slowest visit over the fastest, in percent."""
    pinned = next(row for row in _held_rows("pr") if "memory" not in row.case.axes)
    medians = [visit.median_s for visit in pinned.visits]
    return f"{100 * (max(medians) / min(medians) - 1):.0f}"


HELD_BY_SCALE = {"24": "h100-kron24-held.json.gz", "27": "h100-kron27-held.json.gz"}


def _held_rows(name: str, scale: str = "24") -> list:
    return [row for row in rows_of(HELD_BY_SCALE[scale]) if row.case.family == f"traversal/{name}"]


@part("traversal.vertices")
def by_vertices(name: str) -> str:
    """How many times as fast two GPUs are as one by parts of as many vertices."""
    row = only("two-h100-vertices.json.gz", f"traversal/{name}", "divide=vertices")
    return f"{2 * row.counters['scaling']:.2f}"


@part("traversal.held_most")
def most_of_held(graph: str) -> str:
    return f"{max(100 * abs(held_over_pinned(name, graph) - 1) for name in ALGORITHMS):.1f}"


@part("traversal.road_level")
def road_level(name: str) -> str:
    """Microseconds of a level of the first trial."""
    first = only("h100-road20.json.gz", f"traversal/{name}", "placement=mapped").trials[0]
    return f"{1e6 * first.samples_s[0] / first.counters['levels']:.0f}"


@part("traversal.roads")
def roads() -> str:
    """Levels and times on a road graph."""
    rows = []
    for name in ALGORITHMS:
        mapped, device = (
            only("h100-road20.json.gz", f"traversal/{name}", f"placement={where}")
            for where in ("mapped", "device")
        )
        levels = mapped.trials[0].counters["levels"]
        rows.append(
            [
                name,
                f"{levels:.0f}",
                clock(mapped.median_s),
                clock(device.median_s),
                f"{road_level(name)} µs",
                digits(mapped.bandwidth_gb_s, 2),
            ]
        )
    heads = ("levels", "`mapped`", "`device`", "a level, `mapped`", "edges read, GB/s")
    return table(["", *heads], rows, right=True)
