"""docs/lean.md, "The story of the bytes": its tables, and how long a traversal may take."""

import re

import pytest

from references import result, rows_of, said
from references_lean import BESIDE_EMOGI, GRAPHS, LEAN, RUNS, WHOLE, fastest, lean, mean_ms, moved, told

# What a line of the first table is made of: of several rows the fastest.
LINES = {
    "whole lists, 8-byte edges": (WHOLE, {"placement": "mapped", "edge": 8}),
    "whole lists, 4-byte edges": (WHOLE, {"placement": "mapped", "edge": 4}),
    "the algorithm": (LEAN, {"tier": "none", "lists": "plain", "segments": "read"}),
    "and compressed": (LEAN, {"tier": "none", "lists": "compressed", "segments": "read"}),
    "the algorithm, 1 % hot": (LEAN, {"tier": "heads", "lists": "plain", "hot": 1}),
    "1 % hot, compressed": (LEAN, {"tier": "heads", "lists": "compressed", "hot": 1}),
    "25 % hot": (LEAN, {"tier": "heads", "lists": "plain", "hot": 25}),
    "25 % hot, compressed": (LEAN, {"tier": "heads", "lists": "compressed", "hot": 25}),
    "whole lists, all edges in the card": (WHOLE, {"placement": "device"}),
}
# The second table, beside EMOGI's own access.
LINES_BESIDE_EMOGI = {
    f"{name}, {edge}-byte edges": (WHOLE, {"access": access, "placement": "mapped", "edge": edge})
    for name, access in (("EMOGI's access", "merged_aligned"), ("GraphPEG's exchange", "edge_gather"))
    for edge in (8, 4)
} | {
    line: LINES[line]
    for line in (
        "the algorithm",
        "and compressed",
        "25 % hot",
        "25 % hot, compressed",
        "whole lists, all edges in the card",
    )
}
# The third: the file and what it takes of it.
CHANGE = {
    "before": ("h200-lean24-before.json.gz", "none", "plain", 0),
    "before, compressed": ("h200-lean24-before.json.gz", "none", "compressed", 0),
    "first neighbours": ("h200-lean24.json.gz", "none", "plain", 0),
    "first neighbours, compressed": ("h200-lean24.json.gz", "none", "compressed", 0),
    "before, 1 % hot": ("h200-lean24-before.json.gz", "heads", "plain", 1),
    "first neighbours, 1 % hot": ("h200-lean24.json.gz", "heads", "plain", 1),
    "first neighbours, 1 % hot, compressed": ("h200-lean24.json.gz", "heads", "compressed", 1),
}
# How long a traversal of kron 24 and of urand 24 may take, in ms: with nothing hot, and with 25 % of the edge
# list.
MOST_MS = {
    ("bfs", "none", 0): (20, 25),
    ("bfs", "heads", 25): (6, 8),
    ("cc", "none", 0): (40, 40),
    ("sssp", "none", 0): (80, 150),
    ("pr", "none", 0): (600, 400),
}
CELL = re.compile(r"(?:([\d.]+) (GB|MB)|0), ([\d.]+) ms")


def table(nth: int, lines: int) -> list:
    """Of the story's tables the `nth`, cell by cell: the line, the algorithm, the graph, and the text."""
    text = said("lean.md")
    story = text[text.index("## The story of the bytes") :]
    head = [found.start() for found in re.finditer(r"^\| \|", story, re.MULTILINE)][nth]
    split = [[cell.strip() for cell in line.strip("|").split("|")] for line in story[head:].split("\n")]
    columns = [re.fullmatch(r"(\w+) `(\w+):(\d+)`", cell).groups() for cell in split[0][1:]]
    return [
        pytest.param(line, algorithm, f"{kind}{scale}", cell, id=f"{line}-{algorithm}-{kind}")
        for line, *cells in split[2 : 2 + lines]
        for (algorithm, kind, scale), cell in zip(columns, cells, strict=True)
    ]


STORY = table(0, len(LINES))
BESIDE = table(1, len(LINES_BESIDE_EMOGI))
CHANGES = table(2, len(CHANGE))


def rounding(cell: str) -> float:
    return 0.51 * 10.0 ** -len(cell.partition(".")[2])


def check(cell: str, row) -> None:
    """That a cell tells the row's bytes and time."""
    amount, unit, time = CELL.fullmatch(cell).groups()
    assert float(time) == pytest.approx(mean_ms(row), abs=rounding(time))
    scale = 1e9 if unit == "GB" else 1e6
    assert float(amount or 0) == pytest.approx(moved(row) / scale, abs=rounding(amount or "0"))


@pytest.mark.parametrize(
    ("runs", "lines", "line", "algorithm", "graph", "cell"),
    [
        pytest.param(runs, lines, *param.values, id=f"{name}-{param.id}")
        for name, runs, lines, cells in (
            ("story", RUNS, LINES, STORY),
            ("beside EMOGI", BESIDE_EMOGI, LINES_BESIDE_EMOGI, BESIDE),
        )
        for param in cells
    ],
)
def test_a_cell_is_the_mean_of_the_fastest_row(runs, lines, line, algorithm, graph, cell):
    kind, axes = lines[line]
    row = fastest(kind + algorithm, graph, axes, runs)
    if row is None:
        assert cell == ""
        return
    check(cell, row)


@pytest.mark.parametrize(("line", "algorithm", "graph", "cell"), CHANGES)
def test_a_cell_of_what_first_neighbours_change_is_the_mean_of_its_row(line, algorithm, graph, cell):
    name, *axes = CHANGE[line]
    (row,) = (
        row
        for row in rows_of(name)
        if (row.case.family, row.case.axes["graph"]) == (LEAN + algorithm, graph)
        and [row.case.axes[axis] for axis in ("tier", "lists", "hot")] == axes
    )
    check(cell, row)


def test_beside_emogis_access_only_what_was_cut_has_no_cell():
    blank = {
        (line, algorithm, graph) for line, algorithm, graph, cell in (p.values for p in BESIDE) if not cell
    }
    assert blank == {(line, "sssp", "urand24") for line in ("25 % hot", "25 % hot, compressed")}


def test_every_line_of_the_tables_is_held():
    assert {param.values[0] for param in STORY} == set(LINES)
    assert {param.values[0] for param in BESIDE} == set(LINES_BESIDE_EMOGI)
    assert {param.values[0] for param in CHANGES} == set(CHANGE)


@pytest.mark.parametrize(
    ("runs", "algorithm", "tier", "hot"),
    [(RUNS, *bound) for bound in MOST_MS] + [(BESIDE_EMOGI, *bound) for bound in MOST_MS if bound[0] != "pr"],
)
@pytest.mark.parametrize("nth", [0, 1], ids=GRAPHS)
def test_a_traversal_takes_no_longer_than_it_may(runs, algorithm, tier, hot, nth):
    row = lean(algorithm, GRAPHS[nth], tier, "plain", hot, runs=runs)
    assert len(row.samples_s) == (64 if algorithm in ("bfs", "sssp") else 16)
    assert mean_ms(row) <= MOST_MS[algorithm, tier, hot][nth]


def test_the_runs_are_whole_and_of_one_commit():
    assert all(row.ok for name in RUNS.values() for row in rows_of(name))
    runs = [result(name) for name in RUNS.values()]
    assert all(run.run.complete for run in runs)
    assert len({run.commit for run in runs}) == 1


def test_times_of_scale_27_are_as_the_docs_say():
    paths = {
        row.case.axes.get("lists", "whole"): mean_ms(row) / 1e3 for row in rows_of("h100-lean27-sssp.json.gz")
    }
    assert told(
        r"sssp ([\d.]+) s by whole lists, ([\d.]+) near and far, ([\d.]+) compressed"
    ) == pytest.approx([paths[lists] for lists in ("whole", "plain", "compressed")], abs=0.0051)
    of = {
        (
            row.case.family,
            *(row.case.axes.get(axis) for axis in ("edge", "hot", "lists") if axis in row.case.axes),
        ): mean_ms(row)
        for row in rows_of("h100-lean27.json.gz")
    }
    numbers = told(
        r"whole lists (\d+) ms with 8-byte and (\d+) ms with 4-byte edges; direction-optimising ([\d.]+) ms, "
        r"compressed ([\d.]+) ms, with 25 % hot ([\d.]+) ms, both ([\d.]+) ms; cc ([\d.]+) and ([\d.]+) ms; "
        r"pr ([\d.]+) and ([\d.]+) s"
    )
    assert numbers[:8] == pytest.approx(
        [
            of["traversal/bfs", 8],
            of["traversal/bfs", 4],
            of["lean/bfs", 0, "plain"],
            of["lean/bfs", 0, "compressed"],
            of["lean/bfs", 25, "plain"],
            of["lean/bfs", 25, "compressed"],
            of["lean/cc", 0, "plain"],
            of["lean/cc", 0, "compressed"],
        ],
        abs=0.51,
    )
    assert numbers[8:] == pytest.approx(
        [of["lean/pr", 0, lists] / 1e3 for lists in ("plain", "compressed")], abs=0.0051
    )
