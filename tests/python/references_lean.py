"""The rows behind docs/lean.md, and its numbers."""

import re
import statistics

from references import rows_of, said

WHOLE = "traversal/"
LEAN = "lean/"
# A run a graph.
RUNS = {"kron24": "h100-lean24-kron.json.gz", "urand24": "h100-lean24-urand.json.gz"}
# Runs with EMOGI's own access over the link, too.
BESIDE_EMOGI = {"kron24": "h100-lean24-emogi-kron.json.gz", "urand24": "h100-lean24-emogi-urand.json.gz"}
GRAPHS = tuple(RUNS)
ALGORITHMS = ("bfs", "sssp", "cc", "pr")
EVERY = [(algorithm, graph) for algorithm in ALGORITHMS for graph in GRAPHS]


def lean(algorithm: str, graph: str, tier: str, lists: str, hot: int, segments: str = "read", runs=RUNS):
    """The row of its graph's run."""
    (row,) = (
        row
        for row in rows_of(runs[graph])
        if (row.case.family, row.case.axes["graph"]) == (LEAN + algorithm, graph)
        and [row.case.axes[axis] for axis in ("tier", "lists", "hot", "segments")]
        == [tier, lists, hot, segments]
    )
    return row


def fastest(family: str, graph: str, axes: dict, runs=RUNS):
    """Of its graph's run the fastest row with these axes, if it has one."""
    found = [
        row
        for row in rows_of(runs[graph])
        if row.case.family == family
        and row.case.axes["graph"] == graph
        and all(row.case.axes.get(axis) == value for axis, value in axes.items())
    ]
    return min(found, key=lambda row: statistics.mean(row.samples_s), default=None)


def moved(row) -> float:
    """Bytes over the link, of all trials the mean."""
    counted = [trial.counters["link_bytes"] for trial in row.trials if "link_bytes" in trial.counters]
    return statistics.mean(counted) if counted else row.link_bytes_least or 0


def mean_ms(row) -> float:
    return 1e3 * statistics.mean(row.samples_s)


def told(pattern: str) -> list[float]:
    """The numbers in the one place of the docs that reads like this."""
    found = re.findall(pattern, said("lean.md"))
    assert len(found) == 1, f"{len(found)} places read like {pattern!r}"
    return [float(one) for one in (found[0] if isinstance(found[0], tuple) else found)]
