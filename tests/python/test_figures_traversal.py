"""Figures 9, 16, 17 and 18 as CSV, from planted rows with answers worked out by hand."""

import pytest

from boxes import check_told_apart
from grainscope_report.cli import main
from grainscope_report.groups.traversal import graph_methods
from planted import made, only, table
from planted_traversals import (
    ENTRIES,
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
        monkeypatch.setitem(ENTRIES, name, 10_000_000 >> order)
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
