"""docs/lean.md: what traversals that move fewer bytes read over the link, and how long they take."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from documents import COUNTERS, FULL, axes_of, clock, digits, part, rows_of, table
from grainscope_report.groups.lean_preparing import COMPRESSION, HOT, ORDER, prepared

WHOLE, LEAN = "traversal/", "lean/"
RUNS = {"kron24": "h100-kron24.json.gz", "urand24": "h100-urand24.json.gz"}
GRAPHS = tuple(RUNS)
ALGORITHMS = ("bfs", "sssp", "cc", "pr")
EVERY = [(algorithm, graph) for algorithm in ALGORITHMS for graph in GRAPHS]
BOTH_ACCESSES = [(algorithm, graph) for algorithm, graph in EVERY if algorithm != "pr"]
EMOGI, EXCHANGE, CHUNKS = "merged_aligned", "edge_gather", "merged_aligned_chunked"
Line = tuple[str, Mapping[str, object]]


def by_fewer(tier: str, lists: str, **more) -> Line:
    return LEAN, {"tier": tier, "lists": lists, **more}


def over_the_link(edge: int, **more) -> Line:
    return WHOLE, {"placement": "mapped", "edge": edge, **more}


# What the lines of the tables are of: of several rows the fastest.
INSIDE = (WHOLE, {"placement": "device"})
STORY = {
    f"{name}, {edge}-byte edges": over_the_link(edge, access=access)
    for name, access in (
        ("EMOGI's access", EMOGI),
        ("GraphPEG's exchange", EXCHANGE),
        ("whole lists in chunks", CHUNKS),
    )
    for edge in (8, 4)
} | {
    "the algorithm": by_fewer("none", "plain", segments="read"),
    "and compressed": by_fewer("none", "compressed", segments="read"),
    "the algorithm, 1 % hot": by_fewer("heads", "plain", hot=1),
    "1 % hot, compressed": by_fewer("heads", "compressed", hot=1),
    "25 % hot": by_fewer("heads", "plain", hot=25),
    "25 % hot, compressed": by_fewer("heads", "compressed", hot=25),
    "whole lists, all edges in the card": INSIDE,
}
KRON20 = "acceptance/h100-a.json.gz"  # `quick` of today has kron 19


def found(rows: Iterable, family: str, graph: str, axes: Mapping[str, object]) -> list:
    """The rows of a family over a graph with these axes."""
    asked = (graph, *axes.values())
    return [row for row in rows if row.case.family == family and axes_of(row, "graph", *axes) == asked]


def fastest(family: str, graph: str, axes: Mapping[str, object]):
    """The fastest row with these axes in its graph's run, from GAP's sources, if it has one."""
    of = found(rows_of(RUNS[graph]), family, graph, axes)
    return min((row for row in of if "sources" not in row.case.axes), key=mean_s, default=None)


def lean(algorithm: str, graph: str, tier: str, lists: str, hot: int, segments="read"):
    """The row of a technique in its graph's run."""
    axes = {"tier": tier, "lists": lists, "hot": hot, "segments": segments}
    (row,) = found(rows_of(RUNS[graph]), LEAN + algorithm, graph, axes)
    return row


def whole(algorithm: str, graph: str, access: str, edge: int):
    """The row that reads whole lists over the link."""
    return fastest(WHOLE + algorithm, graph, {"access": access, "placement": "mapped", "edge": edge})


def moved(row) -> float:
    """Bytes over the link, the mean over trials."""
    counted = [trial.counters["link_bytes"] for trial in row.trials if "link_bytes" in trial.counters]
    return statistics.mean(counted) if counted else row.link_bytes_least or 0


def mean_s(row) -> float:
    """The mean over trials, of each the median over visits: one trial in so many is disturbed."""
    return statistics.mean(
        map(statistics.median, zip(*(visit.samples_s for visit in row.visits), strict=True))
    )


def asked_for(row) -> float:
    return row.traffic.requests


def steps(algorithm: str, graph: str, of: Callable) -> dict[str, float]:
    """How many times less of what `of` counts each step takes than the one before it."""
    eight, four = (of(fastest(WHOLE + algorithm, graph, over_the_link(edge)[1])) for edge in (8, 4))
    plain, compressed = (of(lean(algorithm, graph, "none", lists, 0)) for lists in ("plain", "compressed"))
    return {"half the edge": eight / four, "the algorithm": four / plain, "compression": plain / compressed}


def cell(row) -> str:
    """A row's bytes over the link and time."""
    if row is None:
        return ""
    size = moved(row)
    said = f"{digits(size / 1e9)} GB" if size >= 1e9 else f"{digits(size / 1e6)} MB" if size else "0"
    return f"{said}, {clock(mean_s(row))}"


def heads(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return ["", *(f"{algorithm} `{graph[:-2]}:{graph[-2:]}`" for algorithm, graph in pairs)]


@part("lean.story")
def story() -> str:
    cells = [
        [name, *(cell(fastest(kind + algorithm, graph, axes)) for algorithm, graph in EVERY)]
        for name, (kind, axes) in STORY.items()
    ]
    return table(heads(EVERY), cells)


@part("lean.pays")
def pays() -> str:
    """What is prepared once for each line of the story, and how many runs save as much time."""
    rows = [
        [name, *(f"{digits(paid[0], 2)} s: {paid[1]}" if paid else "" for paid in found)]
        for name, found in paid_after().items()
    ]
    return table(heads(EVERY), rows, right=True)


@part("lean.pays_least")
def pays_least() -> str:
    """The fewest runs of them all."""
    return str(min(paid[1] for found in paid_after().values() for paid in found if paid))


@cache
def paid_after() -> dict[str, list[tuple[float, int] | None]]:
    """Seconds that are taken once, and after how many runs they are saved, by line; None without rows."""
    kind, axes_of_walk = over_the_link(4)
    return {
        name: [
            _paid(fastest(LEAN + algorithm, graph, axes), fastest(kind + algorithm, graph, axes_of_walk))
            for algorithm, graph in EVERY
        ]
        for name, (family, axes) in STORY.items()
        if family == LEAN
    }


def _paid(row, walk, more_s: float = 0.0) -> tuple[float, int] | None:
    """With so many seconds more than the row has."""
    if row is None:
        return None
    seconds, saved = seconds_before(row) + more_s, mean_s(walk) - mean_s(row)
    assert saved > 0, f"{row.name} is slower than whole lists"
    return seconds, math.ceil(seconds / saved)


def seconds_before(row, part: str = "") -> float:
    """What is prepared before the time begins: all of it, or a part."""
    known = prepared(row)
    assert known, f"{row.name} does not say what was prepared"
    return known.parts.get(part, 0.0) if part else known.seconds


@part("lean.once")
def once(group: str, which: str = "") -> str:
    """`2.8 to 3.5 s`: what is prepared before the runs of a table, all of it or a part."""
    named = {"": "", "order": ORDER, "compression": COMPRESSION, "hot": HOT}[which]
    times = [seconds_before(row, named) for row in prepared_rows(group)]
    known = [time_s for time_s in times if time_s]
    low, high = (digits(of(known), 2) for of in (min, max))
    return f"{low} to {high} s"


def prepared_rows(group: str) -> list:
    """The measured rows of a table that move fewer bytes."""
    if group == "story":
        kinds = [axes for family, axes in STORY.values() if family == LEAN]
        found_rows = [fastest(LEAN + algorithm, graph, axes) for algorithm, graph in EVERY for axes in kinds]
        return [row for row in found_rows if row]
    runs = {
        "answers": tuple(ANSWERS.values()),
        "scale25": (SCALE25,),
        "scale27": ("h100-kron27.json.gz",),
        "together24": (TOGETHER["kron24"], TOGETHER["urand24"]),
        "together26": (TOGETHER["kron26"], TOGETHER_CC["kron26"]),
    }
    rows = [row for name in runs[group] for row in rows_of(name)]
    return [row for row in rows if row.ok and row.case.family.startswith(LEAN)]


# A later run over kron 24, whose rows have two parts of the preparation that the story's have not.
PARTS_RUN = "h200-lean24.json.gz"
LATER_PARTS = {"firsts": "firsts_s", "phases": "phases_s"}


def part_s(which: str) -> list[float]:
    """Seconds of a part, in order: first neighbours of plain lists, or list phases of cc."""
    counter = LATER_PARTS[which]
    return sorted(row.counters[counter] for row in rows_of(PARTS_RUN) if row.ok and counter in row.counters)


@part("lean.later_part")
def later_part(which: str) -> str:
    """`12 to 36 ms`."""
    low, high = (digits(1e3 * time_s, 2) for time_s in (part_s(which)[0], part_s(which)[-1]))
    return f"{low} to {high} ms"


@part("lean.paid_later")
def paid_later() -> str:
    """How many runs later at most a line of the story pays with these parts, too."""
    later = []
    for algorithm, graph in EVERY:
        more_s = {"bfs": part_s("firsts")[-1], "cc": part_s("firsts")[-1] + part_s("phases")[-1]}
        walk = fastest(WHOLE + algorithm, graph, over_the_link(4)[1])
        for family, axes in STORY.values():
            row = fastest(LEAN + algorithm, graph, axes) if family == LEAN and algorithm in more_s else None
            if row is not None:
                later.append(_paid(row, walk, more_s[algorithm])[1] - _paid(row, walk)[1])
    return str(max(later))


@part("lean.over_the_card_once")
def over_the_card_once(what: str) -> str:
    """What is prepared for the fastest search of kron 24, and how many runs pay beside the card's walk."""
    row, inside = (
        lean("bfs", "kron24", "heads", "compressed", 25),
        fastest("traversal/bfs", "kron24", INSIDE[1]),
    )
    seconds, runs = _paid(row, inside)
    return digits(seconds, 2) if what == "seconds" else str(runs)


@part("lean.steps")
def steps_table() -> str:
    """How many times less each step takes than the one before it."""
    rows = [
        [f"{step}: {what}", *(digits(steps(*pair, of)[step]) for pair in EVERY)]
        for step in ("half the edge", "the algorithm", "compression")
        for what, of in (("bytes", moved), ("time", mean_s))
    ]
    requests = [compression(*pair, asked_for) for pair in EVERY]
    return table(heads(EVERY), [*rows, ["compression: requests", *map(digits, requests)]], right=True)


def compression(algorithm: str, graph: str, of: Callable) -> float:
    plain, compressed = (of(lean(algorithm, graph, "none", lists, 0)) for lists in ("plain", "compressed"))
    return plain / compressed


@part("lean.halving")
def halving(which: str) -> str:
    """How many times less time edges of four bytes take, least and most, sssp aside."""
    times = [steps(*pair, mean_s)["half the edge"] for pair in EVERY if pair[0] != "sssp"]
    return f"{ {'least': min, 'most': max}[which](times):.2f}"


@part("lean.compressed_requests")
def compressed_requests(algorithm: str, graph: str) -> str:
    return digits(compression(algorithm, graph, asked_for))


@part("lean.compressed_bytes")
def compressed_bytes(algorithm: str, graph: str) -> str:
    return digits(compression(algorithm, graph, moved))


@part("lean.bytes_of_a_list")
def bytes_of_a_list(lists: str) -> str:
    """Bytes of one list of sssp on urand 24, which reads each about once."""
    return f"{moved(lean('sssp', 'urand24', 'none', lists, 0)) / 2**24:.0f}"


@part("lean.left")
def left(algorithm: str, graph: str) -> str:
    """The percent of the bytes that are left with 25 % hot."""
    return f"{100 * hot_share(algorithm, graph):.0f}"


def hot_share(algorithm: str, graph: str) -> float:
    return moved(lean(algorithm, graph, "heads", "plain", 25)) / moved(
        lean(algorithm, graph, "none", "plain", 0)
    )


@part("lean.link_share")
def link_share() -> str:
    """The link's share of compressed cc on kron 24."""
    return f"{lean('cc', 'kron24', 'none', 'compressed', 0).counters['modelled_over_measured']:.2f}"


@part("lean.over_the_card")
def over_the_card() -> str:
    """How many times faster the fastest search is than a walk of whole lists inside the card."""
    inside = fastest("traversal/bfs", "kron24", INSIDE[1])
    return f"{mean_s(inside) / mean_s(lean('bfs', 'kron24', 'heads', 'compressed', 25)):.1f}"


@part("lean.hybrid")
def hybrid() -> str:
    """How much longer hybrid rows take than rows without segments."""
    rows = [
        [f"{algorithm}, {lists}", *(percent(longer(algorithm, graph, lists)) for graph in GRAPHS)]
        for algorithm, lists in (("sssp", "plain"), ("pr", "plain"), ("pr", "compressed"))
    ]
    return table(["time of hybrid rows", "`kron:24`", "`urand:24`"], rows, right=True)


def longer(algorithm: str, graph: str, lists: str) -> float:
    hybrid, read = (lean(algorithm, graph, "none", lists, 0, segments) for segments in ("hybrid", "read"))
    return hybrid.median_s / read.median_s - 1


def percent(change: float) -> str:
    return f"{100 * change:+.0f} %".replace("-", "−")


@part("lean.short_lists")
def short_lists(lists: str) -> str:
    """Milliseconds of hybrid pr over a web graph."""
    return f"{1e3 * web_pr(lists).median_s:.1f}"


def web_pr(lists: str):
    axes = {"tier": "none", "lists": lists, "hot": 0, "segments": "hybrid"}
    (row,) = (row for row in found(rows_of(FULL), "lean/pr", "web20", axes) if row.ok)
    return row


@part("lean.counted")
def counted() -> str:
    """What the GPU's counters have of the model's requests and bytes."""
    rows = []
    for row in (row for row in rows_of(COUNTERS) if row.case.family.startswith(LEAN) and row.counted):
        if not row.traffic.requests:
            continue
        shares = (row.counted.requests / row.traffic.requests, row.counted.bytes / row.traffic.bytes)
        graph, lists, hot = axes_of(row, "graph", "lists", "hot")
        name = (
            f"{row.case.family.removeprefix(LEAN)} `{graph[:-2]}:{graph[-2:]}`, {lists}"
            + f", {hot} % hot" * (hot > 0)
        )
        rows.append([name, *(f"{100 * share:.1f} %" for share in shares)])
    return table(["", "requests counted, of the model's", "bytes"], rows, right=True)


@part("lean.scale27")
def scale27() -> str:
    """Times over kron 27."""
    rows = rows_of("h100-kron27.json.gz")
    kinds = {
        "whole lists, 8-byte edges": over_the_link(8),
        "whole lists, 4-byte edges": over_the_link(4),
        "the algorithm": by_fewer("none", "plain"),
        "and compressed": by_fewer("none", "compressed"),
        "25 % hot": STORY["25 % hot"],
        "25 % hot, compressed": STORY["25 % hot, compressed"],
    }
    cells = [
        [name, *(time_of(found(rows, kind + algorithm, "kron27", axes)) for algorithm in ALGORITHMS)]
        for name, (kind, axes) in kinds.items()
    ]
    return table(["`kron:27`", *ALGORITHMS], cells, right=True)


@part("lean.sources27")
def sources27() -> str:
    """Milliseconds of a bfs of kron 27 that reads fewer bytes, from the fastest source to the slowest."""
    [row] = found(rows_of("h100-kron27.json.gz"), LEAN + "bfs", "kron27", by_fewer("none", "plain")[1])
    samples = sorted(row.visits[0].samples_s)
    return f"{1e3 * samples[0]:.1f} to {1e3 * samples[-1]:.1f}"


# What a whole answer takes beside the algorithm: lists in host memory, but for the line that says otherwise.
ANSWERS = {"kron24": "h100-lean24-answers-kron.json.gz", "urand24": "h100-lean24-answers-urand.json.gz"}
_WHOLE = {"tier": "none", "lists": "plain", "hot": 0, "packed": None, "answers": None}
SCALE25 = "h100-lean25.json.gz"
ASKED = {
    "the algorithm": {},
    "and its answer under the caller's numbers": {"answers": "mapped"},
    "parents, under the caller's numbers": {"answers": "parents"},
    "weights of 1 to 255": {"weights": "1-255"},
    "these in an array of their own": {"weights": "1-255", "packed": "off"},
    "all edges in the card": {"tier": "lists", "hot": 100},
}


# Runs of two GPUs by graph: two H100, and two pairs of H200.
TOGETHER = {
    "kron24": "two-h100-lean-kron24.json.gz",
    "urand24": "two-h100-lean-urand24.json.gz",
    "kron26": "two-h200-lean-kron26.json.gz",
}
# For cc, whose newer code tells first neighbours by stores.
TOGETHER_CC = TOGETHER | {"kron26": "two-h200-lean-cc26.json.gz"}


def by_two(algorithm: str, lists: str, graph: str):
    """The row of two GPUs over pinned memory."""
    axes = {"lists": lists, "gpus": 2, "memory": None}
    run = (TOGETHER_CC if algorithm == "cc" else TOGETHER)[graph]
    (row,) = found(rows_of(run), LEAN + algorithm, graph, axes)
    return row


# cc of one GPU by either code, in turns.
BY_JOINS = ("h200-cc22-joins-1.json.gz", "h200-cc22-joins-2.json.gz")
BY_STORES = ("h200-cc22-stores-1.json.gz", "h200-cc22-stores-2.json.gz")


@part("lean.by_stores")
def by_stores(which: str) -> str:
    """How many times as long rows of cc take whose vertices hang by stores, or how many `rows` there are."""
    logs = {}
    for runs in (BY_JOINS, BY_STORES):
        for row in (row for run in runs for row in rows_of(run) if row.ok):
            sign = 1 if runs is BY_STORES else -1
            logs[row.name] = logs.get(row.name, 0) + sign * math.log(row.median_s) / len(runs)
    if which == "rows":
        return str(len(logs))
    of = {"mean": statistics.fmean, "least": min, "most": max}[which]
    return f"{math.exp(of(logs.values())):.3f}"


@part("lean.together")
def together() -> str:
    """What two GPUs take beside one."""
    cells = []
    for graph in TOGETHER:
        for algorithm in ALGORITHMS:
            line = [f"{graph[:-2]} {graph[-2:]}, {algorithm}"]
            for lists in ("plain", "compressed"):
                counters = by_two(algorithm, lists, graph).counters
                times = 2 * counters["scaling"]
                line += [clock(counters["alone_s"]), clock(counters["alone_s"] / times), f"{times:.2f}"]
            cells.append(line)
    heading = ["", "plain: alone", "two", "×", "compressed: alone", "two", "×"]
    return table(heading, cells, right=True)


@part("lean.together_later")
def together_later() -> str:
    """By how many percent these rows' other visit was from the one in the table: the least and the most."""
    later = []
    for graph in TOGETHER:
        for algorithm in ALGORITHMS:
            for lists in ("plain", "compressed"):
                row = by_two(algorithm, lists, graph)
                one, other = (visit.median_s for visit in row.visits)
                later.append(100 * ((other if row.middle == 0 else one) / row.median_s - 1))
    return f"{min(later):.0f} to {max(later):.0f}"


@part("lean.together_steps")
def together_steps(algorithm: str, graph: str) -> str:
    return f"{by_two(algorithm, 'plain', graph).counters['levels']:.0f}"


def asked_of(algorithm: str, graph: str, what: Mapping[str, object]) -> list:
    axes = _WHOLE | ({"weights": "8-72"} if algorithm == "sssp" else {"weights": None}) | what
    return found(rows_of(ANSWERS[graph]), LEAN + algorithm, graph, axes)


@part("lean.steps_before")
def steps_before(graph: str) -> str:
    """Of sssp of version 1."""
    (row,) = asked_of("sssp", graph, ASKED["the algorithm"])
    return f"{row.counters['levels']:.0f}"


@part("lean.answers")
def answers() -> str:
    """What whole answers, other weights and a card that holds all edges take."""
    pairs = [(algorithm, graph) for algorithm in ALGORITHMS for graph in ANSWERS]
    cells = [
        [name, *(cell(next(iter(asked_of(*pair, what)), None)) for pair in pairs)]
        for name, what in ASKED.items()
    ]
    return table(heads(pairs), cells)


def took(algorithm: str, graph: str, name: str) -> float:
    """How many times as long as the algorithm alone."""
    (row,), (alone_row,) = (asked_of(algorithm, graph, ASKED[line]) for line in (name, "the algorithm"))
    return mean_s(row) / mean_s(alone_row)


@part("lean.took")
def took_text(algorithm: str, graph: str, *name: str) -> str:
    return f"{took(algorithm, graph, ' '.join(name)):.2f}"


@part("lean.requests_apart")
def requests_apart(graph: str) -> str:
    """How many times as many requests sssp makes where weights lie apart."""
    names = ("these in an array of their own", "weights of 1 to 255")
    apart, beside = (asked_for(row) for name in names for row in asked_of("sssp", graph, ASKED[name]))
    return f"{apart / beside:.2f}"


@part("lean.mapping_ms")
def mapping_ms(graph: str, answers: str) -> str:
    """The longest of the kernels that bring such an answer back."""
    rows = [row for algorithm in ALGORITHMS for row in asked_of(algorithm, graph, {"answers": answers})]
    return digits(1e3 * max(row.counters["mapping_s"] for row in rows))


@part("lean.in_the_card")
def in_the_card(which: str) -> str:
    """How many times faster with all edges in the card: the least and the most of all."""
    times = [
        1 / took(algorithm, graph, "all edges in the card") for algorithm in ALGORITHMS for graph in ANSWERS
    ]
    return f"{min(times) if which == 'least' else max(times):.1f}"


@part("lean.sweeps")
def sweeps(graph: str, segments: str) -> str:
    """Of pr over a graph of scale 25: the median over its runs."""
    (row,) = found(rows_of(SCALE25), LEAN + "pr", graph, {"segments": segments})
    return f"{statistics.median(trial.counters['levels'] for trial in row.trials):.0f}"


@part("lean.scale25")
def scale25() -> str:
    """Bytes and times over graphs of scale 25."""
    rows = rows_of(SCALE25)
    kinds = {"the algorithm": {"segments": "read"}, "hybrid segments": {"segments": "hybrid"}}
    pairs = [(algorithm, graph) for algorithm in ALGORITHMS for graph in ("kron25", "urand25")]
    cells = [
        [
            name,
            *(
                cell(next(iter(found(rows, LEAN + algorithm, graph, axes)), None))
                for algorithm, graph in pairs
            ),
        ]
        for name, axes in kinds.items()
    ]
    return table(heads(pairs), cells)


def time_of(rows: list) -> str:
    return clock(mean_s(rows[0])) if rows else ""


def slower(algorithm: str, graph: str, edge: int, of: Callable = mean_s) -> float:
    """How many times as much the exchange takes as EMOGI's access."""
    return of(whole(algorithm, graph, EXCHANGE, edge)) / of(whole(algorithm, graph, EMOGI, edge))


@part("lean.exchange")
def exchange() -> str:
    """What the exchange takes over EMOGI's access, and the algorithm over the faster of both."""
    rows = [
        [f"{what} of the exchange over EMOGI's, {edge}-byte edges"]
        + [digits(slower(*pair, edge, of)) for pair in BOTH_ACCESSES]
        for what, of in (("bytes", moved), ("time", mean_s))
        for edge in (8, 4)
    ]
    gains = ["the faster of both over the algorithm alone: time, 4-byte edges"]
    gains += [digits(alone(*pair)) for pair in BOTH_ACCESSES]
    return table(heads(BOTH_ACCESSES), [*rows, gains], right=True)


def alone(algorithm: str, graph: str) -> float:
    """How many times as fast the algorithm alone is as the faster walk of whole lists."""
    both = [mean_s(whole(algorithm, graph, access, 4)) for access in (EMOGI, EXCHANGE)]
    return min(both) / mean_s(lean(algorithm, graph, "none", "plain", 0))


@part("lean.nothing_to_read")
def nothing_to_read(lists: str) -> str:
    """Microseconds of cc on urand 24 where a quarter of the edges is hot, which leaves nothing to read."""
    return f"{1e6 * lean('cc', 'urand24', 'heads', lists, 25).median_s:.0f}"


@part("lean.decoding")
def decoding(lists: str) -> str:
    """Microseconds of bfs on kron 20 with 25 % hot, where next to nothing is read."""
    return f"{1e6 * search_of_kron20(lists):.0f}"


def search_of_kron20(lists: str) -> float:
    name = f"lean/bfs/direction_optimising/heads/{lists}/numa:0/gpu:0/graph:kron20/hot:25"
    (row,) = (row for row in rows_of(KRON20) if row.name == name)
    return row.median_s
