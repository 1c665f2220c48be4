"""docs/lean.md: how many times fewer bytes compressed lists take, and where they are slower."""

import pytest

from references import rows_of, said
from references_lean import BESIDE_EMOGI, GRAPHS, LEAN, RUNS, lean, moved, told

# How many times fewer bytes compressed lists are to take.
FEWER = {"kron24": 1.5, "urand24": 1.25}


def test_compressed_lists_take_as_many_times_fewer_bytes_as_the_docs_say():
    numbers = told(
        r"takes ([\d.]+) and ([\d.]+) times fewer bytes of bfs, ([\d.]+) and ([\d.]+) of cc, "
        r"([\d.]+) and ([\d.]+) of sssp and ([\d.]+) and ([\d.]+) of pr"
    )
    gains = [
        (
            graph,
            moved(lean(name, graph, "none", "plain", 0)) / moved(lean(name, graph, "none", "compressed", 0)),
        )
        for name in ("bfs", "cc", "sssp", "pr")
        for graph in GRAPHS
    ]
    assert numbers == pytest.approx([gain for _, gain in gains], abs=0.051)
    assert all(gain >= FEWER[graph] for graph, gain in gains)
    assert told(r"gains least: sssp on `urand:24` ([\d.]+),") == pytest.approx(
        [dict(gains[4:6])["urand24"]], abs=0.0051
    )


def test_a_compressed_list_of_weights_takes_as_many_bytes_as_the_docs_say():
    numbers = told(r"sectors of 32: (\d+) bytes in the mean, where plain ones, [^|]*?, take (\d+)\.")
    a_list = [moved(lean("sssp", "urand24", "none", lists, 0)) / 2**24 for lists in ("compressed", "plain")]
    assert numbers == pytest.approx(a_list, abs=0.51)


def by_lists(rows_of_a_run: list) -> tuple[dict, dict]:
    """Plain rows and compressed ones, by what else they are."""
    return tuple(
        {
            (
                row.case.family,
                *(row.case.axes.get(name) for name in ("graph", "tier", "hot", "segments")),
            ): row
            for row in rows_of_a_run
            if row.case.axes.get("lists") == lists
        }
        for lists in ("plain", "compressed")
    )


def slower_compressed(rows_of_a_run: list, at_least: int) -> set:
    plain, compressed = by_lists(rows_of_a_run)
    both = plain.keys() & compressed.keys()
    assert len(both) >= at_least
    return {key for key in both if compressed[key].time.low > plain[key].time.high}


@pytest.mark.parametrize(
    ("name", "at_least"),
    [
        pytest.param(RUNS["kron24"], 15, id="kron 24"),
        pytest.param(RUNS["urand24"], 15, id="urand 24"),
        pytest.param(BESIDE_EMOGI["kron24"], 6, id="kron 24, beside EMOGI"),
        pytest.param(BESIDE_EMOGI["urand24"], 15, id="urand 24, beside EMOGI"),
        pytest.param("h100-lean27.json.gz", 3, id="scale 27"),
        pytest.param("h100-lean27-sssp.json.gz", 1, id="scale 27, sssp"),
    ],
)
def test_compressed_lists_are_slower_nowhere(name, at_least):
    assert not slower_compressed(rows_of(name), at_least)


def test_where_nothing_is_left_to_read_either_is_faster_as_the_docs_say():
    numbers = told(r"compressed took (\d+) µs against (\d+) with 5 % hot, and (\d+) against (\d+) with 10 % ")
    both = [
        lean("cc", "urand24", "heads", lists, hot, runs=BESIDE_EMOGI)
        for hot in (5, 10)
        for lists in ("compressed", "plain")
    ]
    assert numbers == pytest.approx([1e6 * row.median_s for row in both], abs=0.51)
    assert [moved(row) for row in both] == [0] * 4


def test_over_short_lists_compressed_hybrid_rows_took_longer_in_one_visit_as_the_docs_say():
    rows = [row for row in rows_of("h100-full.json.gz") if row.ok and row.case.family.startswith(LEAN)]
    short = ("lean/pr", "web20", "none", 0, "hybrid")
    assert not slower_compressed(rows, 25)
    plain, compressed = by_lists(rows)
    numbers = told(r"pr of `web:20` takes ([\d.]+) ms compressed and ([\d.]+) plain")
    assert numbers == pytest.approx([1e3 * lists[short].median_s for lists in (compressed, plain)], abs=0.051)
    assert all(lists[short].traffic.requests == 0 for lists in (compressed, plain))  # all is copied


def test_of_compressed_components_the_link_takes_less_than_half():
    assert "the link's time is less than half" in said("lean.md")
    assert lean("cc", "kron24", "none", "compressed", 0).counters["modelled_over_measured"] < 0.5
