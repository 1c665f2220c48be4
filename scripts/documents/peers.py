"""docs/traversal.md: edges in turns in two GPUs' memory, against what a copy from the peer brings."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from documents import digits, is_plain, part, result, rows_of, table
from documents.paging import traversed
from documents.traversal import ALGORITHMS, PEERS_GRAPHS, WEBS
from grainscope_report.model import Row

GOAL = 0.9  # of the peer's link, which interleaved edges are to be read at
GRAPHS = PEERS_GRAPHS | WEBS | {"web23_38": "the denser web 23"}
WALK = "merged_aligned"
# The same edges in the GPU's own memory; where the pair of a graph did not run them, by one GPU of the kind
# that did.
OWN = (
    "two-h200-paper-pull.json.gz",
    "two-h200-webs-38.json.gz",
    "two-h100-kron24.json.gz",
    "h100-paper-webs.json.gz",
    "h100-paper-pr.json.gz",
    "h200-paper-bfs.json.gz",
    "h200-paper-walks.json.gz",
    "h200-paper-sssp-rest.json.gz",
    "h200-paper-dense.json.gz",
)


@dataclass(frozen=True)
class Walked:
    """A row of one GPU that reads interleaved edges, and the rate of a copy from the peer in its run."""

    run: str
    row: Row
    link_gb_s: float

    graph = property(lambda self: self.row.case.axes["graph"])
    algorithm = property(lambda self: algorithm_of(self.row))
    access = property(lambda self: self.row.case.axes["access"])
    rate = property(lambda self: self.row.bandwidth_gb_s)
    of_link = property(lambda self: self.rate / self.link_gb_s)
    gpu = property(lambda self: gpu_of(self.run))


def algorithm_of(row: Row) -> str:
    """`bfs`, or `pr by pull`."""
    by = row.case.axes.get("direction")
    return row.case.family.partition("/")[2] + (f" by {by}" if by else "")


def gpu_of(run: str) -> str:
    """`H100`."""
    return result(run).environment.gpus[0]["name"].split()[1]


def walks(run: str, placement: str) -> Iterator[Row]:
    """Rows of one GPU over 8-byte edges that lie there, in their original order."""
    for row in rows_of(run):
        axes = row.case.axes
        asked = (axes.get("placement"), axes.get("edge"), axes.get("order", "original"), axes.get("gpus", 1))
        if (
            row.ok
            and row.case.family.startswith("traversal/")
            and asked == (placement, 8, "original", 1)
            and is_plain(axes, ["direction"])
            and axes.get("direction", "pull") == "pull"
        ):
            yield row


@cache
def interleaved() -> tuple[Walked, ...]:
    """All stored rows of one GPU over edges in turns in its own memory and a peer's."""
    found = []
    for run in runs():
        rows = list(walks(run, "interleaved"))
        if rows:
            rate = round(max(link.peak_gb_s for link in result(run).links if link.direction == "to_peer"))
            found += [Walked(run, row, rate) for row in rows]
    return tuple(found)


def runs() -> list[str]:
    """Every stored run of traversals on a machine with several GPUs."""
    return [line["file"] for line in traversed() if "×" in line["gpus"]]


@cache
def own(graph: str, algorithm: str) -> tuple[float, str]:
    """GB/s of the same walk over edges in the GPU's own memory, and the kind of GPU."""
    for run in OWN:
        for row in walks(run, "device"):
            axes = row.case.axes
            if (algorithm_of(row), axes["graph"], axes["access"]) == (algorithm, graph, WALK):
                return row.bandwidth_gb_s, gpu_of(run)
    raise ValueError(f"no stored run has {algorithm} over {graph} in the GPU's own memory")


@cache
def works() -> dict[tuple[str, str], list[Walked]]:
    """The rows of each graph and algorithm by the walk that all have, of every run and GPU."""
    found: dict[tuple[str, str], list[Walked]] = {}
    for graph in GRAPHS:
        for algorithm in (*ALGORITHMS, "pr by pull"):
            own_rows = [one for one in interleaved() if (one.graph, one.algorithm) == (graph, algorithm)]
            if own_rows:
                found[graph, algorithm] = own_rows
    assert sum(map(len, found.values())) == len(interleaved()), "a graph has no line"
    return found


def by_walk(rows: list[Walked], access: str = WALK) -> list[Walked]:
    return [one for one in rows if one.access == access]


def spread(values: list[float], count: int) -> str:
    """The least and the most, once where they are written alike."""
    ends = (f"{end(values):.{count}f}" for end in (min, max))
    return "–".join(dict.fromkeys(ends))


def shares(values: list[float]) -> str:
    """The same of parts of the link's rate, in as many digits as tell on which side of the goal each is."""
    least = min(values)
    return spread(values, next(n for n in range(2, 9) if (float(f"{least:.{n}f}") < GOAL) == (least < GOAL)))


def met(rows: list[Walked]) -> bool:
    return min(one.of_link for one in by_walk(rows)) >= GOAL


@part("traversal.interleaved")
def table_of_interleaved() -> str:
    """Rates by graph and algorithm, and whether the goal is met; other accesses beside."""
    lines = []
    for (graph, algorithm), rows in works().items():
        walk = by_walk(rows)
        local, gpu = own(graph, algorithm)
        (kind,) = {one.gpu for one in walk}
        others = dict.fromkeys(one.access for one in rows if one.access != WALK)
        said = (f"`{name}` {shares([one.of_link for one in by_walk(rows, name)])}" for name in others)
        lines.append(
            [
                f"{GRAPHS[graph]}, {algorithm}",
                spread([one.rate for one in walk], 0),
                shares([one.of_link for one in walk]),
                "yes" if met(rows) else "no",
                digits(local) + ("" if gpu == kind else f" ({gpu})"),
                f"{100 * walk[0].row.counters['lane_use']:.0f} %",
                ", ".join(said),
            ]
        )
    heads = ("GB/s", "of the link's", f"at least {GOAL}", "own memory, GB/s", "lanes at work")
    heads += ("other accesses, of the link's",)
    return table(["", *heads], lines, right=True)


def named(wanted: bool) -> str:
    """The algorithms of each graph that meet the goal, or that do not."""
    of = {graph: [name for (at, name), rows in works().items() if at == graph and met(rows) == wanted]
          for graph in GRAPHS}  # fmt: skip
    said = [f"{joined(names)} of {GRAPHS[graph]}" for graph, names in of.items() if names]
    return "; ".join(said)


def joined(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


@part("traversal.interleaved_met")
def where_met(which: str) -> str:
    return named({"met": True, "not": False}[which])


@part("traversal.interleaved_count")
def how_many_met() -> str:
    of = [met(rows) for rows in works().values()]
    return f"{sum(of)} of {len(of)}"


def meeting(rows: list[Walked]) -> list[str]:
    """The accesses of which all rows meet the goal."""
    accesses = dict.fromkeys(one.access for one in rows)
    return [access for access in accesses if min(one.of_link for one in by_walk(rows, access)) >= GOAL]


@part("traversal.interleaved_by_another")
def by_another() -> str:
    """Where the walk that all have misses the goal, those that meet it: "cc of urand 24 by `merged`"."""
    return ", ".join(
        f"{algorithm} of {GRAPHS[graph]} by {joined([f'`{access}`' for access in meeting(rows)])}"
        for (graph, algorithm), rows in works().items()
        if not met(rows) and meeting(rows)
    )


@part("traversal.interleaved_some")
def by_some_walk() -> str:
    """The graphs of which some walk of every algorithm meets the goal."""
    found = {
        (graph, algorithm.partition(" ")[0])  # pulled or not
        for (graph, algorithm), rows in works().items()
        if meeting(rows)
    }
    return joined([said for graph, said in GRAPHS.items() if {(graph, name) for name in ALGORITHMS} <= found])


@part("traversal.interleaved_own_most")
def most_of_own(graph: str, what: str) -> str:
    """The fastest walk over a graph in own memory: its `name`, `gpu`, GB/s, or share of the link."""
    run, row = max(
        ((run, row) for run in OWN for row in walks(run, "device") if row.case.axes["graph"] == graph),
        key=lambda found: found[1].bandwidth_gb_s,
    )
    if what == "gpu":
        return gpu_of(run)
    if what == "name":
        return f"{algorithm_of(row)} by `{row.case.axes['access']}`"
    (link,) = {one.link_gb_s for one in interleaved() if one.graph == graph}
    return digits(row.bandwidth_gb_s) if what == "rate" else f"{row.bandwidth_gb_s / link:.2f}"


@part("traversal.interleaved_own")
def own_of_link(which: str, end: str) -> str:
    """Own memory's rate over the link's where the goal is met or not: the least or the most."""
    shares = [
        own(*place)[0] / rows[0].link_gb_s for place, rows in works().items() if met(rows) == (which == "met")
    ]
    return f"{ {'least': min, 'most': max}[end](shares):.2f}"


@part("traversal.interleaved_lanes")
def lanes_of(graph: str) -> str:
    """The percent of lanes that have an edge, of bfs."""
    (walk, *_) = by_walk(works()[graph, "bfs"])
    return f"{100 * walk.row.counters['lane_use']:.0f}"


@part("traversal.interleaved_links")
def links_of(graph: str) -> str:
    """How many lead from a page, the mean."""
    (walk, *_) = works()[graph, "bfs"]
    return f"{walk.row.graph.entries / walk.row.graph.vertices:.0f}"


@part("traversal.interleaved_between")
def between_walks(graph: str, algorithm: str, what: str) -> str:
    """Of its time the percent that passes between walks, by the `least` or the `most` of all accesses."""
    shares = [one.row.counters["frontier_s"] / one.row.median_s for one in works()[graph, algorithm]]
    return f"{100 * {'least': min, 'most': max}[what](shares):.0f}"


@part("traversal.interleaved_walking")
def while_walking(graph: str, algorithm: str) -> str:
    """The most of the link's rate at which a walk reads, what passes between walks left out."""
    rates = (
        one.of_link / (1 - one.row.counters["frontier_s"] / one.row.median_s)
        for one in works()[graph, algorithm]
    )
    return f"{max(rates):.2f}"
