"""The model of managed memory against a second, independent replay: traces that nobody recorded, given to
the program as graphs, and those of algorithms on small graphs.
"""

import csv
import json
import subprocess
from functools import cache
from pathlib import Path

import pytest

import page_replay
from command_lines import PROGRAM
from page_replay import BASE, BLOCK, Moves, driver, replay, reuse_faults

needs_program = pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")

PAGES, SLOTS = 40, 64
TRACES = {
    "sequential": page_replay.sequential(PAGES, 3),
    "cyclic": page_replay.cyclic(PAGES, 6),
    "uniform": page_replay.uniform(PAGES, 400),
    "zipf": page_replay.zipf(PAGES, 220),
    "alternating": page_replay.alternating(PAGES, 3),
}
PERCENTS = (1, 10, 25, 50, 75, 97, 100, 125)
# docs/model.md: what a page costs on pcie3x16 beside its bytes, and the link's rate.
FAULT_S, LINK = 2.0e-6, 12.3e9

every_trace = pytest.mark.parametrize("trace", TRACES.values(), ids=list(TRACES))


# The replay itself.


@every_trace
def test_two_ways_of_counting_faults_agree(trace):
    for capacity in (1, 2, 7, 20, 39, 40, 50):
        assert replay(trace, capacity).faults == reuse_faults(trace, capacity)


@every_trace
@pytest.mark.parametrize("policy", ["lru", "fifo"])
def test_a_card_that_holds_all_brings_each_page_once(trace, policy):
    touched = len(set(trace))
    assert replay(trace, PAGES, BASE, policy) == Moves(touched, 0, touched * BASE, touched)


@every_trace
def test_what_is_brought_and_does_not_go_is_held(trace):
    for capacity in (1, 7, 39, 50):
        moves = replay(trace, capacity)
        assert moves.faults - moves.evictions == min(capacity, moves.touched)


def held(trace: list[int], capacity: int, policy: str) -> list[frozenset[int]]:
    steps: list[frozenset[int]] = []
    replay(trace, capacity, policy=policy, seen=steps.append)
    return steps


@every_trace
def test_a_larger_card_holds_what_a_smaller_one_does(trace):
    for smaller, larger in ((1, 2), (7, 8), (10, 39)):
        pairs = zip(held(trace, smaller, "lru"), held(trace, larger, "lru"), strict=True)
        assert all(few <= many for few, many in pairs)


def test_without_use_in_its_order_a_larger_card_may_hold_less():
    belady = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]
    assert [replay(belady, capacity, policy="fifo").faults for capacity in (3, 4)] == [9, 10]
    assert [replay(belady, capacity).faults for capacity in (3, 4)] == [10, 8]


def test_a_cycle_of_one_page_more_than_the_card_holds_keeps_nothing():
    trace = page_replay.cyclic(11, 5)
    assert replay(trace, 10).faults == len(trace)
    assert replay(trace, 11).faults == 11


def test_working_sets_that_take_turns_come_back_whole():
    trace = page_replay.alternating(20, 4)
    assert replay(trace, 10).faults == 4 * 20
    assert replay(trace, 20).faults == 20
    assert replay(trace, 9).faults == len(trace)


# The driver, as its sources describe it.


def test_the_driver_brings_each_page_once_where_blocks_fit():
    pages = BLOCK // BASE
    assert driver(page_replay.sequential(4 * pages), 4 * BLOCK).moved_bytes == 4 * BLOCK
    assert driver(page_replay.sequential(4 * pages), 4 * BLOCK, prefetch=False).faults == 4 * pages


def test_the_driver_fills_what_is_more_than_half_there():
    pages = BLOCK // BASE
    # The first is 100 % of itself; the second fills the two, and so the third the four.
    assert page_replay.filled({0}, 0, pages) == {0}
    assert page_replay.filled({0, 1, 2}, 2, pages) == {0, 1, 2, 3}
    assert page_replay.filled(set(range(17)), 16, pages) == set(range(pages))
    assert driver(range(pages), BLOCK).faults < pages


def test_the_driver_does_not_see_hits():
    pages = BLOCK // BASE
    first, second, third = 0, pages, 2 * pages
    # The first block is used after the second one came, and goes before it all the same.
    assert driver([first, second, first, third, second], 2 * BLOCK).faults == 3
    assert driver([first, second, first, third, first], 2 * BLOCK).faults == 4
    assert replay([0, 1, 0, 2, 0], 2).faults == 3


def test_the_driver_needs_a_block():
    with pytest.raises(ValueError, match="holds no block"):
        driver([0], BLOCK - 1)


# The program.


def modelled(folder: Path, graph: Path, algorithm: str, *axes: str) -> list[dict]:
    """The rows of model/uvm on a graph's file."""
    asked = (f"--axis={axis}" for axis in (f"algorithm={algorithm}", "link=pcie3x16", *axes))
    words = ["--preset=smoke", f"--graph=file:{graph}", "--trials=8", f"--out={folder}", *asked]
    command = [PROGRAM, *words, "--benchmark_filter=^model/uvm/"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / "result.json").read_text())["benchmarks"]
    assert rows
    assert {row["status"] for row in rows} == {"ok"}, [row.get("reason") for row in rows]
    return rows


def sources(row: dict) -> list[int]:
    return [int(trial["label"].partition(":")[2]) for trial in row["trials"]]


def hold(row: dict, expected: list[Moves], page_bytes: int) -> None:
    """Fails unless a row says what was replayed, a `Moves` for each trial."""
    counters, count = row["counters"], len(expected)
    of_page = page_bytes / LINK + FAULT_S
    brought = [trial["samples_s"][0] / of_page for trial in row["trials"]]
    assert brought == pytest.approx([moves.faults for moves in expected], rel=1e-9)
    means = {
        "moved_pages": sum(moves.faults for moves in expected) / count,
        "evicted_pages": sum(moves.evictions for moves in expected) / count,
        "moved_bytes": sum(moves.moved_bytes for moves in expected) / count,
        "touched_bytes": sum(moves.touched for moves in expected) * page_bytes / count,
    }
    assert {name: counters[name] for name in means} == pytest.approx(means, rel=1e-12)


def capacity_of(row: dict, pages: int) -> int:
    """Pages that the card of a row holds: its share, rounded up."""
    return -(-pages * row["case"]["axes"]["card"] // 100)


def card_axis() -> str:
    return "card=" + ",".join(map(str, PERCENTS))


@cache
def chains(folder: Path) -> dict[str, tuple]:
    """Of each synthetic trace the neighbours in its graph, and the program's rows about it."""
    made = {}
    for name, trace in TRACES.items():
        path = folder / f"{name}.sg"
        following = page_replay.write_chain(trace, PAGES, SLOTS, path)
        rows = modelled(folder / name, path, "bfs", "edge=8", f"page={8 * SLOTS}", card_axis())
        assert len(rows) == len(PERCENTS)
        made[name] = following, rows
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def replayed(
    name: str, following, row: dict, policy: str = "lru", page_bytes: int = 8 * SLOTS
) -> list[Moves]:
    """What the second replay has of a synthetic trace, from each source of a row."""
    traces = [page_replay.chain_pages(following, source, SLOTS) for source in sources(row)]
    assert all(sorted(trace[-len(TRACES[name]) :]) == sorted(TRACES[name]) for trace in traces)
    return [replay(trace, capacity_of(row, PAGES), page_bytes, policy) for trace in traces]


@needs_program
@pytest.mark.parametrize("name", TRACES)
def test_the_program_replays_synthetic_traces_alike(name, folder):
    following, rows = chains(folder)[name]
    for row in rows:
        hold(row, replayed(name, following, row), 8 * SLOTS)


@needs_program
def test_another_order_or_another_page_is_noticed(folder):
    following, rows = chains(folder)["zipf"]
    (row,) = (each for each in rows if each["case"]["axes"]["card"] == 25)
    hold(row, replayed("zipf", following, row), 8 * SLOTS)
    with pytest.raises(AssertionError):
        hold(row, replayed("zipf", following, row, policy="fifo"), 8 * SLOTS)
    with pytest.raises(AssertionError):
        hold(row, replayed("zipf", following, row, page_bytes=16 * SLOTS), 8 * SLOTS)


# Each algorithm over a graph that the program made and wrote, which the second replay reads on its own.
RECORDED = [
    (name, algorithm, page, edge)
    for name, page, edge in (
        ("pgp", 1024, 8),
        ("kron:12", 4096, 8),
        ("kron:12", 4096, 4),
        ("web:11", 1024, 8),
    )
    for algorithm in page_replay.ALGORITHMS
    if (name, algorithm) != ("web:11", "cc")  # directed
]


@cache
def recorded(folder: Path, name: str) -> Path:
    return page_replay.written(PROGRAM, name, folder)


@needs_program
@pytest.mark.parametrize(("name", "algorithm", "page", "edge"), RECORDED)
def test_the_program_replays_algorithms_alike(name, algorithm, page, edge, folder):
    path = recorded(folder, name)
    graph = page_replay.read_graph(path)
    rows = modelled(
        folder / f"{path.stem}-{algorithm}-{edge}",
        path,
        algorithm,
        f"edge={edge}",
        f"page={page}",
        card_axis(),
    )
    assert len(rows) == len(PERCENTS)
    lists = page_replay.Lists(graph, page, edge, weighted=algorithm == "sssp")
    starts = sources(rows[0]) if algorithm in ("bfs", "sssp") else [0]
    traces = [lists.trace(page_replay.ALGORITHMS[algorithm](graph, start)) for start in starts]
    for row in rows:
        hold(row, [replay(trace, capacity_of(row, lists.pages), page) for trace in traces], page)


REPLAYED = Path(__file__).resolve().parents[2] / "results/reference/uvm-replay.csv"


@needs_program
def test_the_file_of_both_orders_is_what_they_give(folder):
    graph = page_replay.read_graph(recorded(folder, "kron:18"))
    again = [
        {name: str(cell) for name, cell in row.items()}
        for row in page_replay.compared("kron:18", graph, "bfs")
    ]
    with REPLAYED.open(newline="") as file:
        kept = [row for row in csv.DictReader(file) if (row["graph"], row["algorithm"]) == ("kron:18", "bfs")]
    assert again == kept
