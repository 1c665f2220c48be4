"""Figure 8 by graph and figure 10 as CSV, from planted rows with answers worked out by hand."""

import pytest

from planted import ENTRIES as FIGURES
from planted import made, only, table
from planted_traversals import (
    ENTRIES,
    KRON,
    URAND,
    crossing,
    facts,
    machine_file,
    model,
    pages,
    steady,
    traverse,
)
from synthetic import File
from synthetic_gnn import add_scores

# Requests of each size for 1000 edges read; 128-byte shares of 0 %, 40 % and 70 %.
MIXES = {
    "naive": {32: 1000},
    "merged": {32: 60, 64: 30, 96: 30, 128: 80},
    "merged_aligned": {32: 10, 64: 10, 96: 25, 128: 105},
}


def add_requests(file: File, graph: str = KRON, label: str = "modelled", scale: int = 1) -> None:
    """A measured row for each access, which read 1000 edges."""
    for access, mix in MIXES.items():
        counts = {size: scale * count for size, count in mix.items()}
        told = {
            "edges_read": 1000.0,
            "link_gb_s": 27.35,
            "amplification_data_set": 1.5,
            "cached_amplification": 0.5,
        }
        row = traverse(
            file,
            steady(0.1),
            graph=graph,
            access=access,
            traffic=crossing(counts, 1000, label=label),
            counters=told,
        )
        row["link_fraction"] = 0.9  # of the bytes asked for, say


def test_requests_by_size_and_graph(tmp_path):
    file = machine_file()
    add_requests(file)
    mix = only(table(tmp_path, "8", file), panel="requests by size, by graph (modelled)")
    assert {(row["x"], row["label"]) for row in mix} == {(KRON, "modelled")}
    assert [row["y"] for row in mix if row["series"] == "32 B"] == ["100", "30", "6.66666667"]
    assert [row["y"] for row in mix if row["series"] == "128 B"] == ["0", "40", "70"]


def test_numbers_of_requests_and_what_merging_and_aligning_save(tmp_path):
    file = machine_file()
    add_requests(file)
    rows = table(tmp_path, "8", file)
    counts = only(rows, panel="requests for each edge read; how many in all (modelled)")
    assert [(row["series"], row["y"]) for row in counts] == [
        ("naive", "1"),
        ("merged", "0.2"),
        ("aligned", "0.15"),
    ]
    assert counts[1]["note"] == "200 requests"
    saved = only(rows, panel="requests saved (modelled)", kind="bar")
    assert [(row["series"], row["y"]) for row in saved] == [("merging", "80"), ("aligning further", "25")]
    most = only(rows, panel="requests saved (modelled)", kind="paper")
    assert [row["y"] for row in most] == ["83.3", "28.8"]


def test_the_share_of_full_requests_stands_beside_the_papers(tmp_path):
    file = machine_file()
    add_requests(file)
    add_requests(file, URAND)
    rows = only(
        table(tmp_path, "8", file), panel="128 B share, aligned ÷ merged (modelled), and EMOGI's FPGA"
    )
    ours = [(row["x"], row["y"]) for row in rows if row["kind"] == "bar"]
    theirs = [(row["x"], row["y"]) for row in rows if row["kind"] == "paper"]
    assert ours == [(URAND, "1.75"), (KRON, "1.75")]
    assert theirs == [(URAND, "1.25"), (KRON, "1.86")]


def test_counted_and_modelled_requests_have_panels_of_their_own(tmp_path):
    file = machine_file()
    add_requests(file)
    counted = {access: crossing(mix, 1000, label="counted") for access, mix in MIXES.items()}
    for row in file.rows:
        row["counted"] = counted[row["case"]["axes"]["access"]]
    titles = {row["panel"] for row in table(tmp_path, "8", file)}
    for label in ("modelled", "counted"):
        assert f"requests by size, by graph ({label})" in titles
    only_counted = machine_file()
    add_requests(only_counted, label="counted")
    titles = {row["panel"] for row in table(tmp_path, "8", only_counted)}
    assert "requests by size, by graph (counted)" in titles
    assert not any("modelled" in title for title in titles)


def test_counters_without_sizes_hold_the_model_to_account(tmp_path):
    file = machine_file()
    add_requests(file)
    for row, requests in zip(file.rows, (700, 202, 150), strict=True):
        row["counted"] = {"label": "counted", "requests": requests, "sectors": 500, "bytes": 16000}
    rows = table(tmp_path, "8", file)
    held = only(rows, panel="the model held against counters: requests counted ÷ modelled", kind="bar")
    assert [(row["series"], row["y"], row["label"]) for row in held] == [
        ("naive", "0.7", "counted"),
        ("merged", "1.01", "counted"),
        ("aligned", "1", "counted"),
    ]
    counts = only(rows, panel="requests for each edge read; how many in all (counted)")
    assert [row["y"] for row in counts] == ["0.7", "0.202", "0.15"]
    assert not only(rows, panel="requests by size, by graph (counted)")
    assert only(rows, panel="requests by size, by graph (modelled)")


def test_chunks_that_change_nothing_are_said_not_drawn(tmp_path):
    file = machine_file()
    add_requests(file)
    same = crossing(MIXES["merged_aligned"], 1000)
    row = traverse(file, steady(0.1), access="merged_aligned_chunked", traffic=same)
    figure = made(tmp_path, "8", file)
    assert "“aligned, chunked” asks for the same as “aligned”." in figure.notes
    row["traffic"] = crossing({32: 10, 128: 105}, 1000)
    assert not any("asks for the same" in note for note in made(tmp_path, "8", file).notes)


def test_rates_stand_under_the_copy_peak(tmp_path):
    file = machine_file()
    add_requests(file)
    rows = only(table(tmp_path, "8", file), panel="bytes over the link in bfs (measured)")
    assert {(row["y"], row["label"]) for row in rows if row["kind"] == "bar"} == {("27.35", "measured")}
    assert [row["y"] for row in rows if row["kind"] == "peak"] == ["54.7"]
    panel = next(one for one in made(tmp_path, "8", file).panels if one.y_label == "over the link (GB/s)")
    assert panel.series[0].bars[0].text.endswith(", 50 %")


def test_amplification_is_that_of_the_data_set_with_managed_memory_under_pressure(tmp_path):
    file = machine_file()
    add_requests(file)
    pages(file, 2.0, counters={"amplification_data_set": 2.5})
    pages(file, 1.0, card=100, counters={"amplification_data_set": 1.0})
    figure = made(tmp_path, "8", file)
    panel = next(one for one in figure.panels if one.title == "amplification over the data set (modelled)")
    bars = {one.name: one.bars[0].value for one in panel.series}
    assert bars["managed"].value == 2.5
    # A cache that keeps everything leaves 0.5 of an amplification of 4, and so an eighth of 1.5.
    assert (bars["naive"].low, bars["naive"].value) == (pytest.approx(1.5 * 0.5 / 4), 1.5)
    assert any("the card holds 50 % of the edge list" in note for note in figure.notes)


def test_the_managed_bars_are_of_the_page_that_the_note_and_figure_9_say(tmp_path):
    file = machine_file()
    for graph in (KRON, URAND):
        add_requests(file, graph)
        model(file, 0.5, graph=graph)
        model(file, 0.5, "sssp", graph)
        # Of bfs most works have pages of 4 KiB, of all algorithms those of 64 KiB.
        pages(file, 2.0, graph=graph, page=4096, counters={"amplification_data_set": 4.0})
        pages(file, 2.0, "sssp", graph, counters={"amplification_data_set": 64.0})
    pages(file, 2.0, counters={"amplification_data_set": 64.0})
    figure = made(tmp_path, "8", file)
    panel = next(one for one in figure.panels if one.title == "amplification over the data set (modelled)")
    [managed] = [one for one in panel.series if one.name == "managed"]
    drawn = {
        graph: bar.value and bar.value.value
        for graph, bar in zip(panel.categories, managed.bars, strict=True)
    }
    assert drawn == {KRON: 64.0, URAND: None}
    [note] = [note for note in figure.notes if note.startswith("Managed: modelled")]
    assert note.endswith(f"a fault brings 64 KiB; not modelled so: {URAND}.")
    assert any("64 KiB come at a fault" in said for said in made(tmp_path, "9", file).notes)


def test_requests_of_the_model_alone_will_do(tmp_path):
    file = File(preset="quick")
    for access, mix in MIXES.items():
        for link in ("pcie3x16", "pcie4x16"):
            model(file, 0.5, access=access, link=link, traffic=crossing(mix, 1000))
    rows = table(tmp_path, "8", file)
    assert only(rows, panel="requests by size, by graph (modelled)")
    assert not only(rows, panel="bytes over the link in bfs (measured)")
    assert FIGURES["8"].families[0] == "transfer/zero_copy"


def test_figure_10_is_the_share_of_edges_by_degree_once_a_graph(tmp_path):
    file, other = machine_file(), machine_file(host="node-b")
    for one in (file, other):
        traverse(one, steady(0.1))
        model(one, 0.5, graph=URAND)
    rows = table(tmp_path, "10", file, other)
    points = only(rows, kind="point", series=KRON)
    assert [(row["x"], row["y"]) for row in points] == [
        ("1", "10"),
        ("15", "25"),
        ("31", "50"),
        ("64", "100"),
    ]
    assert {row["label"] for row in points} == {"counted"}
    assert {row["series"] for row in only(rows, kind="point")} == {KRON, URAND}
    [paper] = only(rows, kind="paper")
    assert (paper["y_low"], paper["y_high"]) == ("16", "48")
    notes = made(tmp_path, "10", file).notes
    assert any("kron24 50000 vertices, 1 million entries, mean degree 20" in note for note in notes)
    assert any("fewer than 16" in note and "kron24 25 %" in note for note in notes)
    assert any("fewer than 32" in note and "kron24 50 %" in note for note in notes)


def test_figure_10_reads_a_share_between_points_as_the_line_is_drawn(tmp_path):
    file = machine_file()
    # On a logarithmic axis 15 lies half-way between 1 and 225.
    traverse(file, steady(0.1))["graph"] = facts(KRON, ((1, 0.2), (225, 0.6), (226, 1.0)))
    notes = made(tmp_path, "10", file).notes
    assert any("fewer than 16" in note and "kron24 40 %" in note for note in notes)


def test_figure_10_tells_two_graphs_of_one_name_apart(tmp_path):
    file, other = machine_file(), machine_file(host="node-b")
    traverse(file, steady(0.1))
    traverse(other, steady(0.1), graph=KRON)["graph"] = facts(KRON) | {"entries": ENTRIES[KRON] + 2}
    rows = table(tmp_path, "10", file, other)
    assert {row["series"] for row in only(rows, kind="point")} == {KRON, f"{KRON}, B"}


def test_the_title_of_figure_10_is_of_what_it_draws(tmp_path):
    edges, accesses = "Edges by the length of the list that they are in", "Accesses by the rank of rows"
    tiered, both = machine_file(), machine_file()
    for file in (tiered, both):
        add_scores(file, "kron22", "10x25", 0.18)
    traverse(both, steady(0.1))
    alone = machine_file()
    traverse(alone, steady(0.1))
    assert made(tmp_path, "10", tiered).title == accesses
    assert made(tmp_path, "10", alone).title == edges
    assert made(tmp_path, "10", both).title == f"{edges}; a{accesses[1:]}"
    assert FIGURES["10"].title == f"{edges}; a{accesses[1:]}"
