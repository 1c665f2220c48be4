"""The table of docs/lean.md, "The story of the bytes", says what the reference results have."""

import re
import statistics
from functools import cache

import pytest

from references import rows_of, said

FILES = ("h100-lean24.json", "h100-scale24.json")
WHOLE = "traversal/"
LEAN = "lean/"
# What a row of the table is made of: of several the fastest.
LINES = {
    "whole lists, 8-byte edges": (WHOLE, {"placement": "mapped", "edge": 8}),
    "whole lists, 4-byte edges": (WHOLE, {"placement": "mapped", "edge": 4}),
    "the algorithm": (LEAN, {"tier": "none", "lists": "plain", "segments": "read"}),
    "and compressed": (LEAN, {"tier": "none", "lists": "compressed", "segments": "read"}),
    "the algorithm, 1 % hot": (LEAN, {"tier": "heads", "lists": "plain", "hot": 1}),
    "25 % hot": (LEAN, {"tier": "heads", "lists": "plain", "hot": 25}),
    "25 % hot, compressed": (LEAN, {"tier": "heads", "lists": "compressed", "hot": 25}),
    "whole lists, all edges in the card": (WHOLE, {"placement": "device"}),
}
# The second table: the file and what it takes of it.
CHANGE = {
    "before": ("h200-lean24-before.json.gz", "none", "plain", 0),
    "before, compressed": ("h200-lean24-before.json.gz", "none", "compressed", 0),
    "first neighbours": ("h200-lean24.json.gz", "none", "plain", 0),
    "first neighbours, compressed": ("h200-lean24.json.gz", "none", "compressed", 0),
    "before, 1 % hot": ("h200-lean24-before.json.gz", "heads", "plain", 1),
    "first neighbours, 1 % hot": ("h200-lean24.json.gz", "heads", "plain", 1),
    "first neighbours, 1 % hot, compressed": ("h200-lean24.json.gz", "heads", "compressed", 1),
}
# The third: the same without a tier, of all sources.
ALL_SOURCES = {
    line: ("h100-lean24-firsts.json.gz", *axes)
    for line, (file, *axes) in CHANGE.items()
    if file == "h200-lean24.json.gz" and axes[0] == "none"
}
# The fourth: what one number an edge and joins in spans that double come to.
EDGES_FILE = "h100-lean24-edges.json.gz"
EDGES = {
    f"{line}{', compressed' if lists == 'compressed' else ''}": (EDGES_FILE, tier, lists, hot)
    for line, tier, hot in (
        ("nothing hot", "none", 0),
        ("1 % hot", "heads", 1),
        ("5 % hot", "heads", 5),
        ("25 % hot", "heads", 25),
    )
    for lists in ("plain", "compressed")
}
CELL = re.compile(r"(?:([\d.]+) (GB|MB)|0), ([\d.]+) ms")


@cache
def rows() -> list:
    return [
        row for name in FILES for row in rows_of(name) if row.ok and row.case.axes.get("sources") != "emogi"
    ]


def fastest(family: str, graph: str, axes: dict):
    found = [
        row
        for row in rows()
        if row.case.family == family
        and row.case.axes["graph"] == graph
        and all(row.case.axes.get(axis) == value for axis, value in axes.items())
    ]
    return min(found, key=lambda row: statistics.mean(row.samples_s), default=None)


def table(nth: int, lines: int) -> list:
    """Cells: the line, the algorithm, the graph, and the text."""
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
CHANGES = table(1, len(CHANGE))
OF_ALL_SOURCES = table(2, len(ALL_SOURCES))
OF_EDGES = table(3, len(EDGES))


def rounding(cell: str) -> float:
    return 0.51 * 10.0 ** -len(cell.partition(".")[2])


def moved(row) -> float:
    """Bytes over the link, of all trials the mean."""
    counted = [trial.counters["link_bytes"] for trial in row.trials if "link_bytes" in trial.counters]
    return statistics.mean(counted) if counted else row.link_bytes or 0


def check(cell: str, row) -> None:
    amount, unit, time = CELL.fullmatch(cell).groups()
    assert float(time) == pytest.approx(1e3 * statistics.mean(row.samples_s), abs=rounding(time))
    scale = 1e9 if unit == "GB" else 1e6
    assert float(amount or 0) == pytest.approx(moved(row) / scale, abs=rounding(amount or "0"))


@pytest.mark.parametrize(("line", "algorithm", "graph", "cell"), STORY)
def test_a_cell_is_the_mean_of_the_fastest_row(line, algorithm, graph, cell):
    kind, axes = LINES[line]
    row = fastest(kind + algorithm, graph, axes)
    if row is None:
        assert cell == ""
        return
    check(cell, row)


@pytest.mark.parametrize(
    ("lines", "line", "algorithm", "graph", "cell"),
    [
        pytest.param(lines, *param.values, id=f"{nth}-{param.id}")
        for nth, lines, cells in (
            (2, CHANGE, CHANGES),
            (3, ALL_SOURCES, OF_ALL_SOURCES),
            (4, EDGES, OF_EDGES),
        )
        for param in cells
    ],
)
def test_a_cell_of_what_is_newer_is_the_mean_of_its_row(lines, line, algorithm, graph, cell):
    name, *axes = lines[line]
    found = [
        row
        for row in rows_of(name)
        if (row.case.family, row.case.axes["graph"]) == (LEAN + algorithm, graph)
        and [row.case.axes[axis] for axis in ("tier", "lists", "hot")] == axes
    ]
    if not found:
        assert cell == ""
        return
    (row,) = found
    check(cell, row)


def test_compression_of_first_neighbours_takes_as_many_times_fewer_bytes_as_the_docs_say():
    of = {
        (row.case.family, row.case.axes["graph"], row.case.axes["lists"]): moved(row)
        for row in rows_of("h200-lean24.json.gz")
        if row.case.axes["tier"] == "none"
    }
    gains = {
        (family[5:], graph): of[family, graph, "plain"] / of[family, graph, "compressed"]
        for family, graph, _ in of
    }
    told = re.search(
        r"take ([\d.]+) and ([\d.]+) times fewer bytes of bfs and ([\d.]+) and ([\d.]+) of cc",
        said("lean.md"),
    )
    assert [float(one) for one in told.groups()] == pytest.approx(
        [gains[name, graph] for name in ("bfs", "cc") for graph in ("kron24", "urand24")], abs=0.051
    )
    # What compression is asked for.
    assert all(gain >= {"kron24": 1.5, "urand24": 1.25}[graph] for (_, graph), gain in gains.items())


def test_every_line_of_the_tables_is_held():
    assert {param.values[0] for param in STORY} == set(LINES)
    assert {param.values[0] for param in CHANGES} == set(CHANGE)
    assert {param.values[0] for param in OF_ALL_SOURCES} == set(ALL_SOURCES)
    assert {param.values[0] for param in OF_EDGES} == set(EDGES)


def test_the_row_that_was_reached_later_is_as_the_docs_say():
    (row,) = (
        row
        for row in rows_of("h100-lean24-firsts.json.gz")
        if row.case.family == "lean/sssp" and row.case.axes["hot"] == 25
    )
    told = f"which took {moved(row) / 1e9:.2f} GB and {1e3 * statistics.mean(row.samples_s):.1f} ms later"
    assert told in said("lean.md")


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


def interval(row) -> tuple[float, float]:
    """Of the median; of few samples all of them."""
    return row.ci95_s or (min(row.samples_s), max(row.samples_s))


def slower_compressed(rows_of_a_run: list, at_least: int) -> set:
    plain, compressed = by_lists(rows_of_a_run)
    both = plain.keys() & compressed.keys()
    assert len(both) >= at_least
    return {key for key in both if interval(compressed[key])[0] > interval(plain[key])[1]}


def test_compressed_lists_were_slower_only_where_the_docs_say_so():
    assert slower_compressed(rows(), 30) == {("lean/cc", "urand24", "heads", hot, "read") for hot in (5, 10)}
    text = said("lean.md")
    plain, compressed = by_lists(rows())
    for lists, told in ((compressed, "1.31 and 1.33 ms"), (plain, "1.19 and 1.21")):
        assert told in text
        medians = [1e3 * lists["lean/cc", "urand24", "heads", hot, "read"].median_s for hot in (5, 10)]
        assert [float(one) for one in re.findall(r"[\d.]+", told)] == pytest.approx(medians, abs=0.006)


def test_compressed_lists_are_slower_only_where_the_docs_say_so():
    slower = ("lean/cc", "kron24", "heads", 10, "read")
    assert slower_compressed(rows_of(EDGES_FILE), 14) == {slower}
    assert slower_compressed(rows_of("h100-lean27-sssp.json.gz"), 1) == set()
    plain, compressed = by_lists(rows_of(EDGES_FILE))
    told = re.search(r"(\d+) µs against (\d+)\. When hot", said("lean.md"))
    assert [int(one) for one in told.groups()] == [
        round(1e6 * lists[slower].median_s) for lists in (compressed, plain)
    ]


def test_over_short_lists_compressed_hybrid_rows_are_slower_as_the_docs_say():
    rows = [row for row in rows_of("h100-full.json.gz") if row.ok and row.case.family.startswith(LEAN)]
    short = ("lean/pr", "web20", "none", 0, "hybrid")
    assert slower_compressed(rows, 25) == {short}
    plain, compressed = by_lists(rows)
    told = re.search(r"pr of `web:20` takes ([\d.]+) ms compressed and ([\d.]+) plain", said("lean.md"))
    assert [float(one) for one in told.groups()] == pytest.approx(
        [1e3 * lists[short].median_s for lists in (compressed, plain)], abs=0.051
    )
    assert all(lists[short].traffic.requests == 0 for lists in (compressed, plain))  # all is copied


def test_compressed_paths_read_as_many_times_fewer_bytes_as_the_docs_say():
    text = said("lean.md")
    found = re.search(
        r"reads ([\d.]+) and ([\d.]+) times fewer bytes than plain, ([\d.]+) and ([\d.]+) before", text
    )
    gains = [
        moved(plain["lean/sssp", graph, "none", 0, "read"])
        / moved(compressed["lean/sssp", graph, "none", 0, "read"])
        for plain, compressed in (by_lists(rows_of(EDGES_FILE)), by_lists(rows()))
        for graph in ("kron24", "urand24")
    ]
    assert [float(one) for one in found.groups()] == pytest.approx(gains, abs=0.0051)
    # What compression is asked for.
    assert gains[0] >= 1.5
    assert gains[1] >= 1.25
    a_list = {
        lists: moved(of["lean/sssp", "urand24", "none", 0, "read"]) / 2**24
        for lists, of in zip(("plain", "compressed"), by_lists(rows_of(EDGES_FILE)), strict=True)
    }
    told = re.search(r"sectors of 32: (\d+) bytes in the mean, where plain ones, .*?, take (\d+)", text)
    assert [int(one) for one in told.groups()] == pytest.approx(
        [a_list["compressed"], a_list["plain"]], abs=0.51
    )


def test_cc_of_hot_neighbours_was_slower_as_the_docs_say():
    text = said("lean.md")
    told = re.search(
        r"took ([\d.]+) to ([\d.]+) ms on `kron:24` and ([\d.]+) to ([\d.]+) on `urand:24`; and", text
    )
    means = {
        graph: [
            1e3 * statistics.mean(row.samples_s)
            for row in rows()
            if row.case.family == "lean/cc" and row.case.axes["graph"] == graph and row.case.axes["hot"] >= 5
        ]
        for graph in ("kron24", "urand24")
    }
    assert [len(of) for of in means.values()] == [6, 6]
    assert [float(one) for one in told.groups()] == pytest.approx(
        [bound for of in means.values() for bound in (min(of), max(of))], abs=0.0051
    )
    told = re.search(r"such a commit took ([\d.]+) ms with 25 % hot, and ([\d.]+) with nothing hot", text)
    of = {
        row.case.axes["hot"]: 1e3 * row.median_s
        for row in rows_of("h100-full.json.gz")
        if row.case.family == "lean/cc"
        and row.case.axes["graph"] == "kron21"
        and row.case.axes["lists"] == "plain"
    }
    assert [float(one) for one in told.groups()] == pytest.approx([of[25], of[0]], abs=0.0051)


def test_the_machine_of_the_newer_run_was_as_slow_as_the_docs_say():
    of_cc = [row for row in rows_of(EDGES_FILE) if row.case.family == "lean/cc"]
    wide = sum("wide_interval" in row.flags for row in of_cc)
    assert f"Of {len(of_cc)} rows of cc {wide} vary by more than 1 %" in said("lean.md")
    told = re.search(r"sssp of plain lists took (\d+) and (\d+) % longer", said("lean.md"))
    newer, older = (
        [
            statistics.mean(by_lists(run)[0]["lean/sssp", graph, "none", 0, "read"].samples_s)
            for graph in ("kron24", "urand24")
        ]
        for run in (rows_of(EDGES_FILE), rows())
    )
    assert [int(one) for one in told.groups()] == [
        round(100 * (one / other - 1)) for one, other in zip(newer, older, strict=True)
    ]


def test_times_of_scale_27_are_as_the_docs_say():
    times = {
        row.case.axes.get("lists", "whole"): statistics.mean(row.samples_s)
        for row in rows_of("h100-lean27-sssp.json.gz")
    }
    told = re.search(
        r"sssp ([\d.]+) s by whole lists, ([\d.]+) near and far, ([\d.]+) compressed", said("lean.md")
    )
    assert [float(one) for one in told.groups()] == pytest.approx(
        [times["whole"], times["plain"], times["compressed"]], abs=0.0051
    )
