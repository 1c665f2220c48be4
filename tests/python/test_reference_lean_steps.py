"""docs/lean.md: what each step of the story takes off bytes and time, in words."""

import pytest

from references import rows_of, said
from references_lean import EVERY, GRAPHS, WHOLE, fastest, lean, mean_ms, moved, told


def steps(algorithm: str, graph: str, of) -> dict[str, float]:
    """How many times less of what `of` counts each step takes than the one before it."""
    eight, four = (
        of(fastest(WHOLE + algorithm, graph, {"placement": "mapped", "edge": edge})) for edge in (8, 4)
    )
    plain = of(lean(algorithm, graph, "none", "plain", 0))
    return {
        "half the edge": eight / four,
        "algorithm": four / plain,
        "compressed": plain / of(lean(algorithm, graph, "none", "compressed", 0)),
    }


def test_halving_the_edge_halves_bytes_and_takes_as_many_times_off_the_time_as_the_docs_say():
    others = [(name, graph) for name, graph in EVERY if name != "sssp"]
    for name, graph in others:
        assert steps(name, graph, moved)["half the edge"] == pytest.approx(2, abs=0.06)
    times = [steps(name, graph, mean_ms)["half the edge"] for name, graph in others]
    assert told(r"takes ([\d.]+) to ([\d.]+) times off the time") == pytest.approx(
        [min(times), max(times)], abs=0.0051
    )


@pytest.mark.parametrize(("name", "graph"), EVERY)
def test_the_algorithm_takes_the_most_bytes_off_but_of_pr(name, graph):
    found = steps(name, graph, moved)
    assert (max(found, key=found.get) == "algorithm") == (name != "pr")


def test_only_sssp_on_urand_gains_more_time_than_bytes_by_compression():
    def gain(name: str, graph: str, of) -> float:
        return steps(name, graph, of)["compressed"]

    more = {(name, graph) for name, graph in EVERY if gain(name, graph, mean_ms) > gain(name, graph, moved)}
    assert more == {("sssp", "urand24")}
    fewer = told(r"lists that keep to lines take ([\d.]+) times fewer requests")
    assert fewer == pytest.approx([gain("sssp", "urand24", lambda row: row.traffic.requests)], abs=0.0051)


@pytest.mark.parametrize("name", ["sssp", "pr"])
def test_lists_that_are_read_whole_gain_as_much_by_what_is_hot_as_the_docs_say(name):
    left = [
        100 * moved(lean(name, graph, "heads", "plain", 25)) / moved(lean(name, graph, "none", "plain", 0))
        for graph in GRAPHS
    ]
    assert told(r"with 25 % hot (\d+) and (\d+) % of the bytes are left") == pytest.approx(left, abs=0.51)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("lists", ["plain", "compressed"])
def test_with_10_percent_hot_as_many_bytes_cross_as_before_first_neighbours(graph, lists):
    assert "as many bytes cross as before" in said("lean.md")
    after, before = (
        moved(row)
        for name in ("h200-lean24.json.gz", "h200-lean24-before.json.gz")
        for row in rows_of(name)
        if (row.case.family, row.case.axes["graph"]) == ("lean/bfs", graph)
        and (row.case.axes["hot"], row.case.axes["lists"]) == (10, lists)
    )
    assert after == pytest.approx(before, rel=0.02)


def test_hybrid_rows_lose_and_gain_as_the_docs_say():
    times = {
        (name, graph, lists, segments): lean(name, graph, "none", lists, 0, segments).median_s
        for name, lists in (("sssp", "plain"), ("pr", "plain"), ("pr", "compressed"))
        for graph in GRAPHS
        for segments in ("read", "hybrid")
    }

    def longer(*key) -> float:
        return 100 * (times[*key, "hybrid"] / times[*key, "read"] - 1)

    sssp = told(r"sssp takes (\d+) and (\d+) % longer than without segments")
    assert sssp == pytest.approx([longer("sssp", graph, "plain") for graph in GRAPHS], abs=0.51)
    kron = told(r"pr on `kron:24` takes (\d+) % longer, (\d+) % compressed")
    assert kron == pytest.approx(
        [longer("pr", "kron24", lists) for lists in ("plain", "compressed")], abs=0.51
    )
    urand = told(r"all are alike long, takes (\d+) % less time, but compressed only (\d+) %\.")
    assert urand == pytest.approx(
        [-longer("pr", "urand24", lists) for lists in ("plain", "compressed")], abs=0.51
    )


def test_a_search_is_as_much_faster_than_one_inside_the_card_as_the_docs_say():
    inside = fastest("traversal/bfs", "kron24", {"placement": "device"})
    ours = lean("bfs", "kron24", "heads", "compressed", 25)
    assert "seven times faster than a walk of whole lists" in said("lean.md")
    assert mean_ms(inside) / mean_ms(ours) == pytest.approx(7, abs=0.5)
