"""docs/lean.md, "Beside EMOGI's own access": its table, and which access is how much faster."""

import pytest

from references import result, rows_of
from references_lean import (
    BESIDE_EMOGI,
    GRAPHS,
    LEAN,
    RUNS,
    WHOLE,
    check,
    fastest,
    lean,
    mean_ms,
    moved,
    table,
    told,
)

EMOGI = "merged_aligned"
EXCHANGE = "edge_gather"
BOTH = [(algorithm, graph) for algorithm in ("bfs", "sssp", "cc") for graph in GRAPHS]
# What a line of the table is made of.
LINES = {
    "EMOGI's access, 8-byte edges": (WHOLE, {"access": EMOGI, "placement": "mapped", "edge": 8}),
    "EMOGI's access, 4-byte edges": (WHOLE, {"access": EMOGI, "placement": "mapped", "edge": 4}),
    "GraphPEG's exchange, 8-byte edges": (WHOLE, {"access": EXCHANGE, "placement": "mapped", "edge": 8}),
    "GraphPEG's exchange, 4-byte edges": (WHOLE, {"access": EXCHANGE, "placement": "mapped", "edge": 4}),
    "the algorithm": (LEAN, {"tier": "none", "lists": "plain", "segments": "read"}),
    "and compressed": (LEAN, {"tier": "none", "lists": "compressed", "segments": "read"}),
    "25 % hot": (LEAN, {"tier": "heads", "lists": "plain", "hot": 25}),
    "25 % hot, compressed": (LEAN, {"tier": "heads", "lists": "compressed", "hot": 25}),
    "whole lists, all edges in the card": (WHOLE, {"placement": "device"}),
}
CELLS = table(1, len(LINES))


def whole(algorithm: str, graph: str, access: str, edge: int, runs=BESIDE_EMOGI):
    """The row that reads whole lists over the link."""
    axes = {"access": access, "placement": "mapped", "edge": edge}
    return fastest(WHOLE + algorithm, graph, axes, runs)


def slower(algorithm: str, graph: str, edge: int, of=mean_ms) -> float:
    """How many times as much the exchange takes as EMOGI's access."""
    return of(whole(algorithm, graph, EXCHANGE, edge)) / of(whole(algorithm, graph, EMOGI, edge))


@pytest.mark.parametrize(("line", "algorithm", "graph", "cell"), CELLS)
def test_a_cell_is_the_mean_of_its_row(line, algorithm, graph, cell):
    kind, axes = LINES[line]
    row = fastest(kind + algorithm, graph, axes, BESIDE_EMOGI)
    if row is None:
        assert (cell, algorithm, graph) == ("", "sssp", "urand24")
        return
    check(cell, row)


def test_every_line_of_the_table_is_held():
    assert {param.values[0] for param in CELLS} == set(LINES)


def test_the_runs_are_of_one_commit_and_only_what_the_docs_say_is_lacking():
    assert all(row.ok for name in BESIDE_EMOGI.values() for row in rows_of(name))
    runs = {graph: result(name) for graph, name in BESIDE_EMOGI.items()}
    assert len({run.commit for run in runs.values()}) == 1
    assert {graph for graph, run in runs.items() if not run.run.complete} == {"urand24"}
    there, here = (
        {(row.case.family, *sorted(map(str, row.case.axes.items()))): row.case.axes for row in rows_of(name)}
        for name in (RUNS["urand24"], BESIDE_EMOGI["urand24"])
    )
    lacking = [(case[0], axes["tier"], axes["hot"]) for case, axes in there.items() if case not in here]
    assert lacking == [(LEAN + "sssp", "heads", 25)] * 2


def test_the_exchange_is_faster_and_slower_as_the_docs_say():
    fewer, faster = told(r"exchange reads ([\d.]+) times fewer bytes and takes ([\d.]+) times less time")
    assert 1 / slower("cc", "kron24", 4, moved) == pytest.approx(fewer, abs=0.0051)
    assert 1 / slower("cc", "kron24", 4) == pytest.approx(faster, abs=0.0051)
    assert told(r"it reads the same and takes (\d+) and (\d+) % longer") == pytest.approx(
        [100 * (slower("sssp", "urand24", edge) - 1) for edge in (8, 4)], abs=0.51
    )
    assert all(slower("sssp", "urand24", edge, moved) == pytest.approx(1, abs=0.005) for edge in (4, 8))
    (most,) = told(r"Elsewhere neither is faster by more than (\d+) %")
    for algorithm, graph in BOTH:
        if (algorithm, graph) not in (("cc", "kron24"), ("sssp", "urand24")):
            assert all(abs(slower(algorithm, graph, edge) - 1) <= most / 100 for edge in (4, 8))


def test_whole_lists_of_the_story_are_read_by_the_fastest_access_but_where_the_docs_say():
    (within,) = told(r"or within (\d+) % of it, but for sssp on `urand:24`")
    for algorithm, graph in BOTH:
        if (algorithm, graph) != ("sssp", "urand24"):
            assert all(slower(algorithm, graph, edge) <= 1 + within / 100 for edge in (4, 8))
        of_the_story = fastest(WHOLE + algorithm, graph, {"placement": "mapped", "edge": 4})
        assert of_the_story.case.axes["access"] == EXCHANGE
    for graph in GRAPHS:
        for edge in (4, 8):
            times = {
                row.case.axes["access"]: row.median_s
                for row in rows_of("h100-scale24.json")
                if row.ok
                and (row.case.family, row.case.axes["graph"]) == (WHOLE + "pr", graph)
                and (row.case.axes["edge"], row.case.axes["placement"]) == (edge, "mapped")
            }
            assert len(times) == 2
            assert min(times, key=times.get) == "merged_aligned_chunked"
            assert whole("pr", graph, "merged_aligned_chunked", edge, RUNS) is not None


def test_the_algorithm_alone_is_as_many_times_as_fast_as_the_docs_say():
    numbers = told(
        r"the algorithm alone is ([\d.]+) and ([\d.]+) times as fast for bfs on `kron:24` and `urand:24`, "
        r"([\d.]+) and ([\d.]+) times for sssp, ([\d.]+) and ([\d.]+) times for cc"
    )
    times = [
        min(mean_ms(whole(algorithm, graph, access, 4)) for access in (EMOGI, EXCHANGE))
        / mean_ms(lean(algorithm, graph, "none", "plain", 0, runs=BESIDE_EMOGI))
        for algorithm, graph in BOTH
    ]
    assert numbers == pytest.approx(times, rel=0.02)
    assert told(r"their figure says ([\d.]+) for sssp on `urand:24`") == pytest.approx(
        [
            mean_ms(whole("sssp", "urand24", EXCHANGE, 4, RUNS))
            / mean_ms(lean("sssp", "urand24", "none", "plain", 0))
        ],
        abs=0.051,
    )


def test_sssp_with_10_percent_hot_takes_as_long_as_the_docs_say():
    numbers = told(r"With 10 % hot sssp takes (\d+) and (\d+) ms, compressed (\d+) and (\d+) ms")
    assert numbers == pytest.approx(
        [
            mean_ms(lean("sssp", graph, "heads", lists, 10, runs=BESIDE_EMOGI))
            for lists in ("plain", "compressed")
            for graph in GRAPHS
        ],
        abs=0.51,
    )
