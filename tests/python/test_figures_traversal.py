"""Figures 3, 4, 9, 13, 16, 17 and 18 as CSV, from planted rows with answers worked out by hand."""

import pytest

from boxes import check_told_apart
from grainscope_report.cli import main
from grainscope_report.figures.model import Figure
from grainscope_report.figures.table import figure
from grainscope_report.groups import traversal_speedup
from grainscope_report.groups.traversal import graph_methods
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from planted import ENTRIES, FAR, SITE, around, linked_file, made, only, point, table
from planted_traversals import ENTRIES as GRAPH_ENTRIES
from planted_traversals import (
    KRON,
    URAND,
    add_ways,
    linked,
    machine_file,
    measured,
    model,
    pages,
    steady,
    traverse,
)
from synthetic import GIB, MIB, File
from synthetic_links import GRANULE, add_gather, add_pair, gathered

COLD = "bfs: measured (managed: cold, not oversubscribed)"
PRESSED = "bfs: modelled (managed: under memory pressure)"


def speeds(rows: list[dict], **wanted: str) -> dict[str, float]:
    return {row["series"]: float(row["y"]) for row in only(rows, **wanted) if row["y"]}


def test_figure_9_is_over_the_fastest_managed_row(tmp_path):
    rows = table(tmp_path, "9", measured())
    assert speeds(rows, panel=COLD, x=KRON, kind="bar") == pytest.approx(
        {"merged": 2, "aligned": 4, "managed": 1, "device memory": 10, "Subway": 1.25}
    )
    assert {row["label"] for row in only(rows, panel=COLD, kind="bar")} == {"measured"}
    [aligned] = only(rows, panel=COLD, series="aligned")
    assert aligned["note"] == "250 ms, merged_aligned"


def test_figure_9_has_the_geometric_mean_over_the_graphs_that_all_bars_have(tmp_path):
    file = measured()
    add_ways(file, URAND, 4.0)
    rows = table(tmp_path, "9", file)
    mean = only(rows, panel=COLD, x="geometric mean")
    found = {row["series"]: float(row["y"]) for row in mean}
    assert (found["merged"], found["aligned"]) == (pytest.approx(1.0), pytest.approx(2.0))
    assert {row["note"] for row in mean} == {f"geometric mean over {URAND}, {KRON}"}
    traverse(file, steady(0.9), graph="power", placement="managed")
    traverse(file, steady(0.1), graph="power")
    mean = only(table(tmp_path, "9", file), panel=COLD, x="geometric mean")
    assert {row["note"] for row in mean} == {f"geometric mean over {URAND}, {KRON}"}


def test_figure_9_says_cold_and_not_oversubscribed_unless_that_was_allowed(tmp_path):
    figure = made(tmp_path, "9", measured())
    assert "cold, not oversubscribed" in figure.subtitle[0]
    assert "modelled" not in figure.subtitle[0]
    file = measured()
    file.context["run"]["flags"] = ["--allow-managed-oversubscription"]
    assert "it may have been oversubscribed" in made(tmp_path, "9", file).subtitle[0]


def test_figure_9_models_memory_pressure_in_panels_of_its_own(tmp_path):
    file = measured()
    for link, slow in (("pcie3x16", 2.0), ("pcie4x16", 1.0)):
        model(file, 0.5 * slow, link=link)
        model(file, 4.0 * slow, link=link, access="naive")
    pages(file, 3.0)
    pages(file, 9.0, card=25)
    figure = made(tmp_path, "9", file)
    panel = next(one for one in figure.panels if one.title == PRESSED)
    assert all(series.hatched and series.label == "modelled" for series in panel.series)
    assert {series.name: series.bars[0].value.value for series in panel.series} == {
        "aligned": 3.0,
        "naive": 0.375,
    }
    assert not any(series.hatched for one in figure.panels if one.title == COLD for series in one.series)
    assert any("not validated on hardware: the card holds 50 %" in note for note in figure.notes)
    assert any("over PCIe 3 ×16" in note for note in figure.notes)


def test_figure_9_means_stand_beside_the_papers(tmp_path):
    rows = table(tmp_path, "9", measured())
    title = "means over applications and graphs; the papers': V100, PCIe 3, oversubscribed"
    paper = only(rows, panel=title, kind="paper")
    assert [row["y"] for row in paper] == ["0.73", "3.24", "2.92", "2.6"]
    ours = only(rows, panel=title, series="measured, cold")
    # Merged bfs is there; of the others some application or access is not.
    assert [row["y"] for row in ours] == ["", "2", "", ""]


def test_figure_9_of_two_machines_has_a_column_for_each(tmp_path):
    rows = table(tmp_path, "9", measured(), measured(factor=0.5, host="node-b"))
    aligned = only(rows, panel=COLD, series="aligned", x=KRON)
    assert [(row["machine"][-7:-1], float(row["y"])) for row in aligned] == [
        ("node-a", pytest.approx(4)),
        ("node-b", pytest.approx(8)),
    ]


def test_figure_9_has_no_column_for_a_graph_without_managed_memory(tmp_path):
    file = measured()
    traverse(file, steady(0.1), graph=URAND)
    assert {row["x"] for row in only(table(tmp_path, "9", file), panel=COLD, kind="bar")} == {KRON}
    said = f"Not drawn, without managed memory to compare with: {URAND}."
    assert said in made(tmp_path, "9", file).notes


def test_figure_9_needs_managed_memory(tmp_path):
    file = machine_file()
    traverse(file, steady(0.1))
    assert made(tmp_path, "9", file).rows == ()


def test_figure_16_has_modelled_links_hatched_and_machines_plain(tmp_path):
    file = linked(machine_file())
    traverse(file, steady(0.25), counters={"teps": 3e9})
    traverse(file, steady(0.2), access="merged_aligned_chunked", counters={"teps": 4e9})
    figure = made(tmp_path, "16", file)
    panel = figure.panels[0]
    assert [(one.name, one.hatched, one.label, one.bars[0].value.value) for one in panel.series] == [
        ("PCIe 3 ×16, modelled", True, "modelled", 1.0),
        ("PCIe 4 ×16, modelled", True, "modelled", 2.0),
        ("NVLink-C2C, modelled", True, "modelled", 4.0),
        ("measured, PCIe 5 ×16", False, "measured", 3.0),
    ]
    assert [one.bars[0].text for one in panel.series] == ["800 ms", "400 ms", "200 ms", "250 ms"]


def test_figures_8_and_16_draw_measured_rates_with_the_interval_of_their_times(tmp_path):
    file = linked(machine_file())
    traverse(file, [0.2, 0.25, 0.5], counters={"teps": 3e9, "link_gb_s": 40.0})
    *modelled, measured = made(tmp_path, "16", file).panels[0].series
    low, high = 3.0 * 0.25 / 0.5, 3.0 * 0.25 / 0.2
    assert measured.bars[0].value == Estimate(3.0, pytest.approx(low), pytest.approx(high), 1)
    assert all(one.bars[0].value.low == one.bars[0].value.high for one in modelled)
    [panel] = [one for one in made(tmp_path, "8", file).panels if one.title.startswith("bytes over the link")]
    [[bar]] = [one.bars for one in panel.series]
    assert bar.value == Estimate(40.0, pytest.approx(20.0), pytest.approx(50.0), 1)


def test_figure_16_of_an_application_without_teps_is_by_the_graph_s_entries(tmp_path):
    file = machine_file()
    model(file, 0.5, "pr", counters={"teps": 1e9})
    row = traverse(file, steady(0.25), "pr")
    row["counters"].pop("teps")
    for trial in row["trials"]:
        trial.pop("counters")
    [panel] = made(tmp_path, "16", file).panels
    assert (panel.y_label, panel.y_unit) == ("10⁹ entries of the graph ÷ time", "G/s")
    assert [one.bars[0].value.value for one in panel.series] == pytest.approx(
        [1e6 / 0.5 / 1e9, 1e6 / 0.25 / 1e9]
    )


def test_figure_16_counts_the_edges_of_every_sweep_where_all_runs_do(tmp_path):
    file = machine_file()
    model(file, 0.5, "pr", counters={"teps": 1e9, "edges_read": 44e6})
    row = traverse(file, steady(0.25), "pr")
    row["counters"] = {"edges_read": 8e6}
    for trial in row["trials"]:
        trial.pop("counters")
    [panel] = made(tmp_path, "16", file).panels
    assert (panel.y_label, panel.y_unit) == ("10⁹ edges read a second", "G/s")
    assert [one.bars[0].value.value for one in panel.series] == pytest.approx([0.088, 0.032])


def test_figure_10_tells_two_graphs_of_a_kind_apart():
    assert graph_methods(["kron20", "urand20", "kron16", "pgp"]) == [
        "graph 0",
        "graph 1",
        "graph 2",
        "graph 5",
    ]
    assert len(set(graph_methods([f"kron{scale}" for scale in range(8)]))) == 8


def test_figure_10_changes_the_dash_of_a_colour_that_is_used_again(tmp_path, monkeypatch):
    names = ("urand21", "kron21", "web20", "urand18", "kron18", "dense14", "web18", "pgp", "power")
    names += ("kron16", "kron15", "kron14")
    for order, name in enumerate(names):
        monkeypatch.setitem(GRAPH_ENTRIES, name, 10_000_000 >> order)
    file = machine_file()
    for name in names:
        traverse(file, steady(0.1), graph=name)
    panel = made(tmp_path, "10", file).panels[0]
    assert [curve.name for curve in panel.curves] == list(names)
    check_told_apart(panel)
    dashed = {curve.name for curve in panel.curves if curve.dash != "solid"}
    assert dashed == {"web18", "kron16", "kron15", "kron14"}


def test_figure_16_scaling_stands_beside_the_papers(tmp_path):
    rows = table(tmp_path, "16", linked(machine_file()))
    scaling = [row for row in rows if row["y_unit"] == "ratio"]
    assert [(row["series"], float(row["y"])) for row in scaling] == [
        ("modelled", pytest.approx(2.0)),
        ("modelled", pytest.approx(1.5)),
        ("EMOGI 2020", 1.9),
        ("EMOGI 2020", 1.53),
        ("dissertation 2022", 1.88),
        ("dissertation 2022", 1.53),
    ]


def test_figure_16_of_two_files_has_each_machine_and_each_link_once(tmp_path):
    files = []
    for order, host in enumerate(("node-a", "node-b")):
        file = linked(machine_file(host=host))
        traverse(file, steady(0.25), counters={"teps": 3e9 * (1 + order)})
        files.append(file)
    names = [one.name for one in made(tmp_path, "16", *files).panels[0].series]
    assert names[:3] == ["PCIe 3 ×16, modelled", "PCIe 4 ×16, modelled", "NVLink-C2C, modelled"]
    assert names[3:] == ["A: measured, PCIe 5 ×16", "B: measured, PCIe 5 ×16"]


def test_figure_16_of_two_files_has_each_machine_s_own_link(tmp_path):
    files = []
    for order, host in enumerate(("node-a", "node-b")):
        file = linked(machine_file(host=host))
        model(file, 0.3, link="measured", counters={"teps": 2e9 + 1e9 * order})
        files.append(file)
    own = [row for row in table(tmp_path, "16", *files) if "this machine's link" in row["series"]]
    assert [(row["series"], float(row["y"])) for row in own] == [
        ("A: this machine's link, modelled", 2.0),
        ("B: this machine's link, modelled", 3.0),
    ]
    assert [row["machine"].partition("(")[2] for row in own] == ["node-a)", "node-b)"]
    [alone] = [row for row in table(tmp_path, "16", files[1]) if "this machine's link" in row["series"]]
    assert (alone["series"], float(alone["y"])) == ("this machine's link, modelled", 3.0)


def test_figures_9_and_17_of_two_files_say_whose_link_is_modelled(tmp_path):
    files = []
    for host in ("node-a", "node-b"):
        file = machine_file(host=host)
        for edge in (8, 4):
            model(file, 0.1 * edge, edge=edge, link="measured")
        pages(file, 1.6, link="measured")
        files.append(file)
    assert "Modelled: bounds over each machine's link." in made(tmp_path, "17", *files).notes
    assert "Modelled: bounds over this machine's link." in made(tmp_path, "17", files[0]).notes
    [said] = [note for note in made(tmp_path, "9", *files).notes if "Memory pressure" in note]
    assert said.endswith("over each machine's link.")
    [said] = [note for note in made(tmp_path, "9", files[0]).notes if "Memory pressure" in note]
    assert said.endswith("over this machine's link.")


def test_figures_9_and_17_draw_what_is_modelled_although_larger_graphs_are_measured(tmp_path):
    files = []
    for host in ("node-a", "node-b"):
        file = measured(host=host)
        add_ways(file, URAND, 1.0)
        for graph in (KRON, URAND):
            traverse(file, steady(0.1), graph=graph, edge=4)
        for edge in (8, 4):
            model(file, 0.1 * edge, graph="power", edge=edge, link="measured")
        pages(file, 1.6, graph="power", link="measured")
        files.append(file)
    for number, title in (("9", PRESSED), ("17", "bfs (modelled)")):
        drawn = only(table(tmp_path, number, *files), panel=title, kind="bar")
        assert [(row["x"], row["machine"][-7:-1]) for row in drawn] == [
            ("power", "node-a"), ("power", "node-b"),
        ]  # fmt: skip
        assert any("odelled" in note for note in made(tmp_path, number, *files).notes)


def two_with_graphs(first: tuple[str, ...], second: tuple[str, ...]) -> list[File]:
    """Two machines that measured these graphs with both widths of edge, the second at twice the speed."""
    files = []
    for host, graphs, factor in (("node-a", first, 1.0), ("node-b", second, 0.5)):
        file = machine_file(host=host)
        for graph in graphs:
            add_ways(file, graph, factor)
            traverse(file, steady(0.125 * factor), graph=graph, edge=4)
        files.append(file)
    return files


def test_figures_9_and_17_show_each_machine_s_own_graphs_where_none_is_common(tmp_path):
    files = two_with_graphs((KRON,), (URAND,))
    for number, title in (("9", COLD), ("17", "bfs (measured)")):
        drawn = only(table(tmp_path, number, *files), panel=title, kind="bar")
        assert {(row["x"], row["machine"][-7:-1], bool(row["y"])) for row in drawn} == {
            (URAND, "node-b", True), (KRON, "node-a", True),
        }  # fmt: skip
        figure = made(tmp_path, number, *files)
        panel = next(one for one in figure.panels if one.title == title)
        assert (panel.categories, panel.groups) == (("B", "A"), ((URAND, 1), (KRON, 1)))
        assert "Measured: no graph is common to A, B; each shows its own largest." in figure.notes


def test_figures_9_and_17_show_the_largest_graphs_that_all_machines_have(tmp_path):
    files = two_with_graphs((URAND, KRON, "power"), (KRON, "power"))
    for number, title in (("9", COLD), ("17", "bfs (measured)")):
        drawn = only(table(tmp_path, number, *files), panel=title, kind="bar")
        assert {row["x"] for row in drawn} - {"geometric mean"} == {KRON, "power"}
        figure = made(tmp_path, number, *files)
        assert f"Not drawn, since not every run has them: {URAND} (A)." in figure.notes
        assert not any("no graph is common" in note for note in figure.notes)


def test_figures_9_and_17_name_a_machine_without_rows_of_what_is_drawn(tmp_path):
    files = two_with_graphs((KRON,), (KRON,))
    for edge in (8, 4):
        traverse(files[0], steady(0.1 * edge), "cc", edge=edge)
    traverse(files[0], steady(2.0), "cc", placement="managed")
    for number, title in (("9", "cc: measured (managed: cold, not oversubscribed)"), ("17", "cc (measured)")):
        figure = made(tmp_path, number, *files)
        [panel] = [one for one in figure.panels if one.title == title]
        assert (panel.categories, panel.groups) == (("A",), ((KRON, 1),))
        assert "B has no measured rows of what is drawn for cc." in figure.notes


@pytest.mark.parametrize(("number", "name", "means"), [("9", "measured, cold", (2.0, 4.0)),
                                                       ("17", "measured", (2.0, 2.0))])  # fmt: skip
def test_figures_9_and_17_have_one_mean_a_machine(tmp_path, number, name, means):
    files = two_with_graphs((KRON,), (URAND,))
    rows = [row for row in table(tmp_path, number, *files) if row["panel"].startswith("means ")]
    ours = [row for row in rows if row["kind"] == "bar" and row["y"]]
    assert [row["series"] for row in ours if row["x"] != "naive, bfs"] == [f"A: {name}", f"B: {name}"]
    assert [float(row["y"]) for row in ours] == pytest.approx(means)
    assert [row["note"] for row in ours] == [f"geometric mean of 1: {KRON}", f"geometric mean of 1: {URAND}"]
    assert [row["machine"][-7:-1] for row in ours] == ["node-a", "node-b"]
    assert all(row["y_low"] and row["y_high"] for row in ours)


def test_figure_9_takes_a_named_link_once_from_several_machines(tmp_path):
    files = []
    for host, graphs in (("node-a", (KRON,)), ("node-b", (KRON, "power"))):
        file = machine_file(host=host)
        for graph in graphs:
            model(file, 0.4, graph=graph)
            model(file, 0.8, graph=graph, access="merged")
            pages(file, 1.6, graph=graph)
        files.append(file)
    rows = table(tmp_path, "9", *files)
    drawn = only(rows, panel=PRESSED, kind="bar", series="aligned")
    assert [(row["x"], row["machine"][-7:-1]) for row in drawn] == [(KRON, "node-a"), ("power", "node-b")]
    [mean] = [row for row in rows if row["x"] == "merged, bfs" and row["kind"] == "bar"]
    assert (mean["series"], mean["note"]) == (
        "modelled, under pressure",
        f"geometric mean of 2: {KRON}, power",
    )
    assert not any("no graph is common" in note for note in made(tmp_path, "9", *files).notes)


def test_figure_8_has_no_place_for_a_graph_that_a_machine_did_not_walk(tmp_path):
    files = two_with_graphs((KRON,), (URAND,))
    for file in files:
        for row in file.rows:
            row["counters"]["link_gb_s"] = 40.0
    figure = made(tmp_path, "8", *files)
    [panel] = [one for one in figure.panels if one.title.startswith("bytes over the link")]
    assert (panel.categories, panel.groups) == (("B", "A"), ((URAND, 1), (KRON, 1)))
    assert "Over the link: no graph is common to A, B; each shows its own largest." in figure.notes


def test_figure_16_of_many_machines_has_room_for_what_is_modelled(tmp_path, monkeypatch):
    monkeypatch.setattr(traversal_speedup, "MOST_LINK_BARS", 14)
    files = two_with_graphs((URAND, KRON), (URAND, KRON))
    for file in files:
        for link in ("pcie3x16", "pcie4x16", "pcie5x16", "measured"):
            model(file, 0.5, graph="power", link=link, counters={"teps": 1e9})
    panel = made(tmp_path, "16", *files).panels[0]
    assert panel.categories == (URAND, "power")


def test_figure_17_is_narrow_over_wide_edges_by_access(tmp_path):
    file = machine_file()
    for access, wide, narrow in (("merged", 0.4, 0.25), ("merged_aligned", 0.3, 0.15)):
        traverse(file, steady(wide), access=access)
        traverse(file, steady(narrow), access=access, edge=4)
    traverse(file, steady(0.2), "cc")
    model(file, 0.6)
    model(file, 0.3, edge=4)
    rows = table(tmp_path, "17", file)
    assert speeds(rows, panel="bfs (measured)", kind="bar") == pytest.approx({"merged": 1.6, "aligned": 2.0})
    assert speeds(rows, panel="bfs (modelled)", kind="bar") == {"aligned": 2.0}
    [merged] = only(rows, panel="bfs (measured)", series="merged")
    assert merged["note"] == "400 ms → 250 ms"
    means = only(rows, panel="means of aligned; dissertation 2022: V100")
    assert [(row["series"], row["x"], row["y"]) for row in means if row["kind"] != "even"] == [
        ("measured", "all applications", "2"),
        ("measured", "cc", ""),
        ("modelled", "all applications", "2"),
        ("modelled", "cc", ""),
        ("dissertation 2022", "all applications", "1.57"),
        ("dissertation 2022", "cc", "2"),
    ]
    assert not [row for row in rows if row["panel"].startswith("cc")]


def test_figure_18_is_a_table_against_subway_and_reordered_vertices(tmp_path):
    file = machine_file()
    for edge in (8, 4):
        traverse(file, steady(0.2), edge=edge)
        traverse(file, steady(0.5), edge=edge, access="compact", placement="subway")
    traverse(file, steady(0.6), placement="managed", order="halo_like", counters={"prepare_s": 3.0})
    traverse(file, steady(0.7), placement="managed", access="merged", order="halo_like")
    rows = table(tmp_path, "18", file)
    ours = only(rows, kind="cell", x="speedup")
    assert [(row["series"], float(row["y"]), row["label"]) for row in ours] == [
        ("HALO stand-in, managed", pytest.approx(3.0), "measured"),
        ("Subway", pytest.approx(2.5), "measured"),
    ]
    [prepared] = only(rows, x="prepared in")
    assert (prepared["y"], prepared["y_unit"]) == ("3", "s")
    lines = made(tmp_path, "18", file).panels[0].rows
    assert [cell.text for cell in lines[1].cells][:3] == ["bfs", KRON, "4 B"]
    paper = only(rows, kind="paper", x="speedup")
    assert [row["y"] for row in paper][:2] == ["2.15", "3.19"]
    assert len(paper) == 14


def test_figure_18_is_written_as_markdown_too(tmp_path, capsys):
    file = machine_file()
    traverse(file, steady(0.2))
    traverse(file, steady(0.5), access="compact", placement="subway")
    path = file.write(tmp_path / "result.json")
    assert main(["plot", str(path), "-o", str(tmp_path), "--figures", "18", "--format", "svg"]) == 0
    assert "figure_18_systems.md" in capsys.readouterr().out
    written = (tmp_path / "figure_18_systems.md").read_text().splitlines()
    assert written[0].startswith("### zero-copy, merged and aligned")
    assert written[3].startswith("| :-- | :-- | :-- | --: |")
    assert "| Subway | bfs | kron24 | 8 B | 500 ms | – | 200 ms | 2.50× | [2.50, 2.50] |" in written


PAIR = {"gpu": 0, "peer": 1}


def duplex(
    file: File, method: str, gb_s: float, overlap: float, *, locality: str = "local", site=SITE
) -> None:
    """64 MiB each way: so many GB/s to the GPU, half of that back."""
    size = 64 * MIB
    ends = (f"host:{site['numa']}", f"gpu:{site['gpu']}")
    lanes = [
        {"name": "to_gpu", "bytes": size, "from": ends[0], "to": ends[1], "seconds": size / gb_s / 1e9},
        {"name": "to_host", "bytes": size, "from": ends[1], "to": ends[0], "seconds": 2 * size / gb_s / 1e9},
    ]
    axes = {"between": "host_gpu", "method": method, "bytes": size, "locality": locality}
    file.together("transfer/duplex", axes, site, lanes, overlap=overlap)


def test_figure_3_both_together_each_lane_and_the_2x_line(tmp_path):
    file = linked_file()
    duplex(file, "pinned", 50.0, 0.5)
    duplex(file, "pageable", 8.0, 0.0)
    duplex(file, "pinned", 40.0, 0.5, locality="remote", site=FAR)
    duplex(file, "zero_copy", 30.0, 0.5)
    duplex(file, "zero_copy", 20.0, 0.5, locality="remote", site=FAR)
    rows = table(tmp_path, "3", file)
    total = only(rows, panel="host ↔ GPU, both ways together", kind="point")
    assert point(total, series="pinned, local") == around(64 * MIB, 50)
    assert point(total, series="pageable") == around(64 * MIB, 8)
    assert {row["series"] for row in total} == {"pageable", "pinned, local", "pinned, remote", "zero-copy"}
    inward = only(rows, panel="host → GPU, while the other way runs", kind="point", series="pinned, local")
    outward = only(rows, panel="GPU → host, while the other way runs", kind="point", series="pinned, local")
    assert float(inward[0]["y"]) == pytest.approx(50)
    assert float(outward[0]["y"]) == pytest.approx(25)
    assert float(inward[0]["y_low"]) == pytest.approx(50 / 1.01)
    [double] = only(rows, kind="double")
    assert (double["y"], double["panel"]) == ("111", "host ↔ GPU, both ways together")
    peaks = {(row["panel"][:10], row["y"]) for row in only(rows, kind="peak")}
    assert peaks == {("host → GPU", "55"), ("GPU → host", "56")}
    shares = only(rows, y_unit="ratio", kind="point")
    assert {row["series"]: row["y"] for row in shares} == {
        "pageable": "0", "pinned, local": "0.5", "pinned, remote": "0.5", "zero-copy": "0.5",
    }  # fmt: skip
    assert "GPU ↔ GPU" not in str(rows)


def made_of(machines: list[Machine], number: str) -> Figure:
    return figure(ENTRIES[number], machines)


def test_figure_3_has_a_column_for_each_kind_of_pair(show):
    made_of_both = made_of(show("linked"), "3")
    assert [len(row) for row in made_of_both.rows] == [2, 2, 2, 2]
    assert [panel.short for panel in made_of_both.rows[-1]] == [True, True]
    [double] = made_of_both.rows[0][1].levels
    assert double.value == 788
    alone = made_of(show("alone"), "3")
    assert [len(row) for row in alone.rows] == [2, 2]


def test_figure_4_peer_access_by_size_and_a_map_of_two(tmp_path):
    file = linked_file()
    for gpu, peer, rate in ((0, 1, 394.0), (1, 0, 390.0)):
        for direction in ("read", "write"):
            add_pair(file, gpu, peer, direction, rate if direction == "read" else rate - 20, 38.0)
    for gpu in (0, 1):
        axes = {"method": "copy_engine", "bytes": GIB}
        file.add("transfer/local", axes, {"gpu": gpu}, GIB / (1490 + gpu) / 1e9)
    rows = table(tmp_path, "4", file)
    read = only(rows, panel="peer access on and off, read by the destination", kind="point", x=str(GIB))
    assert {row["series"].removeprefix("copy engine, ") for row in read} == {
        "peer access on", "peer access off, local", "peer access off, remote",
    }  # fmt: skip
    levels = only(rows, panel="peer access on and off, read by the destination", kind="peak")
    # GPU 0 reads from GPU 1 over the link from 1 to 0.
    assert [(row["site"], row["y"]) for row in levels] == [("gpu=1 peer=0", "392"), ("gpu=0 peer=1", "394")]
    cells = {
        (row["series"], row["x"]): row for row in only(rows, panel="all pairs, peer access on, 1 GiB (GB/s)")
    }
    whole = 4e-6 + GIB / 394e9
    assert float(cells["GPU 1", "GPU 0"]["y"]) == pytest.approx(GIB / whole / 1e9)
    assert float(cells["GPU 1", "GPU 1"]["y"]) == pytest.approx(1491)
    assert cells["GPU 0", "GPU 0"]["note"] == "within one GPU"
    assert len(only(rows, kind="cell")) == 8
    notes = " ".join(made(tmp_path, "4", file).notes)
    assert "Two GPUs make one pair: a map of two by two." in notes
    assert "On the diagonal, in grey: copies within one card" in notes


def test_figure_4_says_which_pairs_were_not_measured(tmp_path):
    file = linked_file()
    axes = {"method": "copy_engine", "direction": "write", "access": "on", "bytes": GIB, "link": "nvlink"}
    file.add("transfer/peer", axes, PAIR, GIB / 394e9)
    file.lose("failed", "the copy came back wrong", "transfer/peer", axes, {"gpu": 1, "peer": 0})
    [map_] = [panel for panel in made(tmp_path, "4", file).panels if hasattr(panel, "cells")]
    assert [[cell.text for cell in row] for row in map_.cells] == [["–", "394"], ["failed", "–"]]


def test_figure_4_draws_both_maps_on_one_scale(show):
    maps = [panel for panel in made_of(show("linked"), "4").panels if hasattr(panel, "cells")]
    assert len(maps) == 2
    assert maps[0].top == maps[1].top == pytest.approx(393.4, abs=0.1)


def wall_file(memories=("host_alloc",), **model) -> File:
    file = linked_file()
    file.context["environment"]["kernel"] = {"virtual_machine": False, "iommu_units": ["dmar0"]}
    for gpu in file.context["environment"]["gpus"]:
        gpu["iommu"] = "DMA-FQ"
    for memory in memories:
        for order in ("as_asked", "sorted"):
            for row in (128, 4096):
                for span in (256 * MIB, GIB, 4 * GIB, 16 * GIB):
                    axes = {
                        "memory": memory,
                        "order": order,
                        "row": row,
                        "rows": 128 * MIB // row,
                        "span": span,
                    }
                    known = {"misses_per_s": 32e6, "reach": 512 * MIB, "peak": 50.0} | model
                    seconds, unique = gathered(order, row, axes["rows"], span, **known)
                    add_gather(file, axes | {"locality": "local"}, SITE, seconds, unique, spread=0.001)
    return file


def test_figure_13_a_curve_for_each_row_knees_and_the_model(tmp_path):
    rows = table(tmp_path, "13", wall_file())
    asked = only(rows, panel="as asked, cudaHostAlloc", kind="point")
    # One row of 128 B misses with probability 1 − 512 MiB / 1 GiB: 64 million rows a second.
    by_span = {row["x"]: float(row["y"]) for row in only(asked, series="128 B rows")}
    assert by_span[str(GIB)] == pytest.approx(64e6 * 128 / 1e9)
    assert by_span[str(256 * MIB)] == pytest.approx(50)
    assert len(only(asked, series="4 KiB rows")) == 4
    sorted_rows = only(rows, panel="sorted by address, cudaHostAlloc", kind="point")
    at_once = {row["x"]: float(row["y"]) for row in only(sorted_rows, series="128 B rows")}
    granules = 16 * GIB / GRANULE
    assert at_once[str(16 * GIB)] == pytest.approx(
        128 * MIB / (granules * (1 - 2.718281828**-4) / 32e6) / 1e9
    )
    assert at_once[str(256 * MIB)] > 60
    [mark] = only(rows, kind="reach", panel="as asked, cudaHostAlloc")
    assert float(mark["x"]) == pytest.approx(512 * MIB, rel=0.1)
    modelled = only(rows, series="fitted model", label="modelled", panel="as asked, cudaHostAlloc")
    assert len(modelled) > 100
    [knee] = only(rows, kind="knee", panel="as asked, cudaHostAlloc")
    # Spans two octaves apart do not tell where between them.
    assert (knee["x"], knee["y_low"], knee["y_high"]) == ("", str(256 * MIB), str(GIB))
    note = "128 B rows as asked: the link is full up to a span between 256 MiB and 1 GiB"
    assert knee["note"] == note
    assert any(said.endswith(note) for said in made(tmp_path, "13", wall_file()).notes)


def test_figure_13_dashes_distinct_rows_only_where_rows_repeat(tmp_path):
    figure = made(tmp_path, "13", wall_file())
    distinct = [curve for curve in figure.panels[1].curves if curve.name == "distinct rows only"]
    assert {curve.dash for curve in distinct} == {"dashed"}
    small = next(curve for curve in distinct if dict(curve.axes)["row"] == 128)
    # A quarter of a GiB repeats 21 % of 1 Mi rows; 16 GiB hardly any, so the dashes end before that.
    assert small.x == (256 * MIB, GIB, 4 * GIB)
    assert small.points[0].y.value == pytest.approx(50, rel=0.01)


def test_figure_13_a_size_of_row_has_one_colour_in_all_panels(tmp_path):
    file = wall_file()
    axes = {"memory": "host_alloc", "order": "as_asked", "row": 8192, "rows": 16384, "span": GIB}
    add_gather(file, axes | {"locality": "local"}, SITE, 128 * MIB / 50e9, 15_000)
    panels = made(tmp_path, "13", file).panels
    methods = {one.method for panel in panels for one in panel.curves if one.name == "4 KiB rows"}
    assert methods == {"row 1 of 3"}


def test_figure_13_draws_another_batch_of_sorted_rows(tmp_path):
    file = wall_file()
    axes = {"memory": "host_alloc", "order": "sorted", "row": 128, "rows": 8 << 20, "span": 16 * GIB}
    add_gather(file, axes | {"locality": "local"}, SITE, GIB / 50e9, 8e6)
    rows = table(tmp_path, "13", file)
    batch = {"panel": "sorted by address, cudaHostAlloc", "series": "128 B rows, 8 Mi at a time"}
    assert point(rows, kind="point", **batch) == around(16 * GIB, 50)
    assert len(only(rows, series="128 B rows", panel="sorted by address, cudaHostAlloc", kind="point")) == 4
    assert all("8 Mi at a time" not in row["note"] for row in only(rows, kind="knee"))


def test_figure_13_tells_every_other_batch_apart(tmp_path):
    file = wall_file()
    for order, rows in enumerate((1 << 18, 1 << 21, 1 << 22, 1 << 23)):
        axes = {"memory": "host_alloc", "order": "sorted", "row": 128, "rows": rows, "span": 16 * GIB}
        add_gather(file, axes | {"locality": "local"}, SITE, 128 * rows / (10.0 + order) / 1e9, rows)
    panel = made(tmp_path, "13", file).panels[1]
    assert sum("at a time" in curve.name for curve in panel.curves) == 4
    check_told_apart(panel)


def test_figure_13_says_what_stands_between(tmp_path):
    figure = made(tmp_path, "13", wall_file())
    assert figure.subtitle == ("On bare metal; an IOMMU translates the GPUs' addresses (DMA-FQ).",)
    [model] = [note for note in figure.notes if note.startswith("Model, cudaHostAlloc, GPU 0, node 0")]
    assert "million translation misses a second at a granule of 64 KiB" in model
    assert "the model holds" in model


def test_figure_13_compares_kinds_of_memory_for_the_smallest_rows(tmp_path):
    rows = table(tmp_path, "13", wall_file(("registered", "hugetlb")))
    kinds = only(rows, panel="as asked, 128 B rows, kinds of memory", kind="point")
    assert {row["series"] for row in kinds} == {"registered pages", "hugetlb pages"}
    assert only(rows, panel="as asked, registered pages", kind="point")
