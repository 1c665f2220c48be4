"""What is said of traversals: how lanes share lists, and who needs how much GPU memory for which time."""

import json
from pathlib import Path

import pytest

from grainscope_report import findings, reader
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.drawing import render, style
from grainscope_report.figures.model import why_absent
from grainscope_report.groups import lean, traversal, traversal_answers
from grainscope_report.groups.traversal_answers import FEWER, PRESSED
from grainscope_report.machine import Machine, machines
from planted import ENTRIES as SHOWN
from planted import made, only, table, values
from planted_traversals import ENTRIES, KRON, URAND, machine_file, model, pages, steady, traverse
from synthetic import File

# Lanes at work, the most loaded block over the mean, and seconds of every access to one graph.
PLANTED = {
    "naive": (0.08, 9.7, 1.0),
    "merged": (0.68, 1.08, 0.13),
    "merged_aligned": (0.66, 1.06, 0.10),
    "merged_aligned_by_16": (0.78, 1.05, 0.11),
    "merged_aligned_by_8": (0.87, 1.05, 0.12),
    "merged_aligned_by_4": (0.93, 1.04, 0.15),
    "merged_aligned_chunked": (0.66, 1.13, 0.10),
    "block_mapped": (0.97, 1.9, 0.13),
    "merge_path": (0.985, 1.02, 0.14),
    "edge_gather": (0.95, 1.26, 0.11),
}
SPOKEN = [
    "naive", "merged", "aligned", "aligned, by 16", "aligned, by 8", "aligned, by 4", "aligned, chunked",
    "block-mapped", "merge path", "edge gather",
]  # fmt: skip
MAPPED, BALANCE, TIME = "mapped: lane use", "mapped: imbalance of blocks", "mapped: time to find lists"


def walk(file: File, access: str, time_s: float | None = None, **more) -> dict:
    """A measured row of an access, with its planted lanes and blocks."""
    lanes, blocks, seconds = PLANTED[access]
    counters = {"lane_use": lanes, "block_imbalance": blocks} | more.pop("counters", {})
    return traverse(file, steady(time_s or seconds), access=access, counters=counters, **more)


def replay(file: File, access: str, **more) -> dict:
    """What the model says of an access: the same lanes, blocks half as much out of balance again."""
    lanes, blocks, _ = PLANTED[access]
    counters = {"lane_use": lanes, "block_imbalance": 1.5 * blocks}
    return model(file, 0.1, access=access, counters=counters, **more)


def walked(*accesses: str, **more) -> File:
    file = machine_file()
    for access in accesses or PLANTED:
        walk(file, access, **more)
    return file


def test_figure_22_has_every_access_in_its_order(tmp_path):
    file = walked(*reversed(PLANTED))
    rows = table(tmp_path, "22", file)
    assert [row["x"] for row in only(rows, panel=MAPPED)] == SPOKEN
    assert {row["series"] for row in only(rows, panel=MAPPED)} == {f"bfs {KRON}"}
    percent = [100 * lanes for lanes, _, _ in PLANTED.values()]
    assert list(values(rows, "x", panel=MAPPED).values()) == pytest.approx(percent)
    blocks = [blocks for _, blocks, _ in PLANTED.values()]
    assert list(values(rows, "x", kind="dot", panel=BALANCE).values()) == pytest.approx(blocks)
    assert {row["label"] for row in only(rows, kind="dot")} == {"measured"}
    assert not only(rows, panel=TIME)


def test_figure_22_has_the_share_of_the_time_that_finding_lists_takes(tmp_path):
    file = machine_file()
    walk(file, "merged_aligned")
    walk(file, "merge_path", counters={"frontier_s": 0.021})
    assert values(table(tmp_path, "22", file), "x", panel=TIME) == pytest.approx({"merge path": 15.0})
    figure = made(tmp_path, "22", file)
    # A row that does not say stays a row: panels side by side have the same.
    assert [[row.part for row in panel.rows] for panel in figure.panels] == [["aligned", "merge path"]] * 3
    assert [panel.named for panel in figure.panels] == [True, False, False]
    assert any(note.startswith("Time to find lists: ") for note in figure.notes)


def test_figure_22_has_the_model_beside_what_was_measured(tmp_path):
    file = walked("naive", "merged_aligned")
    for access in ("naive", "merge_path"):
        for link in ("pcie3x16", "pcie4x16"):
            replay(file, access, link=link)
    replay(file, "edge_gather", graph=URAND)
    replay(file, "edge_gather", algorithm="pr")
    replay(file, "edge_gather", edge=4)
    rows = table(tmp_path, "22", file)
    assert values(rows, "x", panel=MAPPED, label="modelled") == {"naive": 8, "merge path": 98.5}
    replayed = values(rows, "x", kind="dot", panel=BALANCE, label="modelled")
    assert replayed == pytest.approx({"naive": 1.5 * 9.7, "merge path": 1.5 * 1.02})
    assert len(only(rows, panel=MAPPED, label="modelled")) == 2
    assert [row["label"] for row in only(rows, panel=MAPPED, x="naive")] == ["measured", "modelled"]


def test_figure_22_is_of_graphs_with_two_measured_accesses(tmp_path):
    file = walked("naive", "merged_aligned")
    walk(file, "merged_aligned", graph=URAND)
    replay(file, "naive", graph=URAND)
    walk(file, "merged_aligned", algorithm="pr")
    walk(file, "merge_path", algorithm="pr")
    rows = table(tmp_path, "22", file)
    assert {row["series"] for row in only(rows, kind="dot")} == {f"bfs {KRON}", f"pr {KRON}"}


def test_figure_22_needs_two_accesses_that_say_what_their_lanes_did(tmp_path):
    file = machine_file()
    walk(file, "merged_aligned")
    traverse(file, steady(0.1), access="naive")
    replay(file, "naive")
    assert made(tmp_path, "22", file).rows == ()
    shown = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert why_absent(SHOWN["22"], shown).startswith("figure 22: no rows with lane_use of two accesses of ")


def test_figure_22_leaves_out_what_is_no_walk_of_the_same_kind(tmp_path):
    file = walked("naive", "merged_aligned")
    walk(file, "merge_path", order="degree")
    row = walk(file, "block_mapped")
    row["case"]["axes"]["gpus"] = 2
    row = walk(file, "edge_gather")
    row["case"]["axes"]["memory"] = "managed_host"
    walk(file, "merged", edge=4)
    assert [row["x"] for row in only(table(tmp_path, "22", file), panel=MAPPED)] == ["naive", "aligned"]


def test_figure_22_is_of_the_edges_with_most_accesses(tmp_path):
    file = walked("naive", "merged_aligned", "merge_path", edge=4)
    for access in ("naive", "merged_aligned"):
        walk(file, access)
    figure = made(tmp_path, "22", file)
    assert len(figure.panels[0].rows) == 3
    assert any(note.startswith("4-byte edges, ") for note in figure.notes)


def test_figure_22_has_panels_for_each_placement(tmp_path):
    file = walked("naive", "merged_aligned")
    for access in ("merged_aligned", "merge_path"):
        walk(file, access, placement="device", counters={"block_imbalance": 1.0})
    for access in ("merge_path", "edge_gather"):
        replay(file, access)
    figure = made(tmp_path, "22", file)
    assert [panel.title.split(":")[0] for panel in figure.panels] == ["mapped", "mapped", "device", "device"]
    # What the model alone has stands once.
    assert [row.part for row in figure.panels[0].rows] == ["naive", "aligned", "merge path", "edge gather"]
    assert [row.part for row in figure.panels[2].rows] == ["aligned", "merge path"]
    assert [row.dots[0].value.value for row in figure.panels[3].rows] == [1.0, 1.0]
    said = "mapped: edges in host memory, read over the link; device: edges in the GPU's memory."
    assert any(note.endswith(said) for note in figure.notes)


def pulled(file: File, access: str, time_s: float) -> dict:
    row = walk(file, access, time_s, counters={"lane_use": 0.5})
    row["case"]["axes"]["direction"] = "pull"
    return row


def test_figure_22_alone_has_vertices_that_ask_their_neighbours(tmp_path):
    file = walked("naive", "merged_aligned")
    pulled(file, "merged_aligned", 0.001)
    row = walk(file, "merge_path")
    row["case"]["axes"]["direction"] = "push"
    rows = table(tmp_path, "22", file)
    lanes = {"naive": 8, "aligned": 66, "merge path": 98.5, "aligned, pull": 50}
    assert values(rows, "x", panel=MAPPED) == pytest.approx(lanes)
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert {run.time.value for run in traversal.measured(machine)} == {1.0, 0.1, 0.14}
    assert "fastest access is aligned in 1" in traversal_answers.said(Analysis(machine))[0]


def test_figure_22_says_which_graphs_it_has_no_room_for(tmp_path):
    file = machine_file()
    for algorithm in ("bfs", "sssp", "cc", "pr"):
        for graph in (KRON, URAND):
            for access in PLANTED:
                walk(file, access, algorithm=algorithm, graph=graph)
    for access in ("naive", "merged_aligned"):
        walk(file, access, placement="device", algorithm="sssp", graph=KRON)
    figure = made(tmp_path, "22", file)
    assert len(figure.panels[0].rows) == 40
    names = list(dict.fromkeys(row.name for row in figure.panels[0].rows))
    assert names == [f"bfs {URAND}", f"bfs {KRON}", f"sssp {URAND}", f"sssp {KRON}"]
    left_out = f"Not drawn: sssp of {KRON} (device); cc of {URAND}, {KRON}; pr of {URAND}, {KRON}."
    assert left_out in figure.notes


def test_figure_22_of_two_machines_has_the_model_once(tmp_path):
    one, other = walked("naive", "merged_aligned"), walked("naive", "merged_aligned", "merge_path")
    for file in (one, other):
        replay(file, "naive")
    lanes = only(table(tmp_path, "22", one, other), panel=MAPPED)
    assert [(row["x"], row["label"]) for row in lanes] == [
        ("naive", "measured"), ("naive", "measured"), ("naive", "modelled"), ("aligned", "measured"),
        ("aligned", "measured"), ("merge path", "measured"),
    ]  # fmt: skip
    assert len({row["machine"] for row in lanes}) == 2


def test_what_is_modelled_is_a_ring_around_the_dot(tmp_path):
    file = walked("naive", "merged_aligned")
    replay(file, "merged_aligned")
    figure = made(tmp_path, "22", file)
    page = render.draw(figure)
    naive, aligned, ring = (line for line in page.axes[0].lines if line.get_gid() == "dot")
    assert [line.get_markerfacecolor() for line in (naive, aligned, ring)] == [
        style.colour("naive"), style.colour("merged_aligned"), "white",
    ]  # fmt: skip
    assert ring.get_markersize() > 1.5 * aligned.get_markersize()
    assert ring.get_zorder() < aligned.get_zorder()
    assert render.RING in [name for name, _ in render.legend_entries(figure)]
    alone = made(tmp_path, "22", walked("naive", "merged_aligned"))
    assert render.RING not in [name for name, _ in render.legend_entries(alone)]


def test_names_of_rows_stand_once_beside_panels_of_the_same_rows(tmp_path):
    figure = made(tmp_path, "22", walked(counters={"frontier_s": 0.001}))
    page = render.draw(figure)
    names = [[one.get_text() for one in axes.texts if one.get_text() in SPOKEN] for axes in page.axes]
    assert names == [SPOKEN, [], []]
    column = render.draw(render.of_column(figure, 3.3), framed=False, width=3.3)
    assert all("merge path" in [one.get_text() for one in axes.texts] for axes in column.axes)


def test_every_access_has_a_colour_and_words_of_its_own():
    walks = [access for access in traversal.ACCESSES if access != "compact"]
    assert walks == list(PLANTED)
    assert len({style.METHODS[access] for access in walks}) == len(walks)
    assert [traversal.spoken(access) for access in walks] == SPOKEN


def judged(file: File, tmp_path, part: float = 0.02) -> Machine:
    """The file's machine; times are known to this part, by type A and B."""
    for row in file.rows:
        if row["label"] == "measured":
            known = {"standard": part / 2.8, "freedom": 1e6}
            row["uncertainty"] = {"a": known, "b": known, "combined": known | {"standard": part / 2}}
            row["interval_s"] = [row["median_s"] * (1 - part), row["median_s"] * (1 + part)]
    [machine] = machines([reader.read(file.write(tmp_path / "judged.json"))])
    return machine


def said(file: File, tmp_path, part: float = 0.02) -> list[str]:
    return traversal_answers.said_of_lanes(traversal_answers.at_work(judged(file, tmp_path, part)))


def test_an_access_with_more_lanes_at_work_that_is_slower_is_told(tmp_path):
    assert said(walked(), tmp_path) == [
        f"In bfs of {KRON} over the link merge path has 98.5 % of lanes at work where aligned has 66.0 %, "
        "and takes 1.4 times as long"
    ]


def test_emogi_s_access_is_told_where_it_is_as_fast_as_the_fastest(tmp_path):
    for time_s, fastest in ((0.099, "aligned"), (0.08, "aligned, chunked")):
        file = walked("merged_aligned", "merge_path")
        walk(file, "merged_aligned_chunked", time_s)
        assert f"where {fastest} has 66.0 %, and takes" in said(file, tmp_path)[0]


def test_where_more_lanes_are_faster_the_fewest_are_told(tmp_path):
    file = walked("naive", "merged_aligned")
    for access, time_s in (("naive", 0.09), ("merged_aligned", 0.04), ("merge_path", 0.02)):
        walk(file, access, time_s, placement="device")
    assert said(file, tmp_path) == [
        f"In bfs of {KRON} over the link aligned has 66.0 % of lanes at work where naive has 8.0 %, and is "
        f"10 times as fast; in bfs of {KRON} in the GPU's memory merge path has 98.5 % of lanes at work "
        "where naive has 8.0 %, and is 4.5 times as fast"
    ]


def test_lanes_of_accesses_that_take_as_long_are_not_told(tmp_path):
    file = machine_file()
    walk(file, "merged_aligned", 0.100)
    walk(file, "merge_path", 0.105)
    assert said(file, tmp_path, 0.03) == []
    assert len(said(file, tmp_path, 0.02)) == 1


def test_as_many_lanes_at_work_are_not_told(tmp_path):
    file = walked("merged", "merged_aligned")
    assert PLANTED["merged"][2] > PLANTED["merged_aligned"][2]
    assert said(file, tmp_path) == []


def test_lanes_are_told_by_measured_rows_of_known_uncertainty_alone(tmp_path):
    file = walked()
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert not machine.result.rows[0].both_known
    assert traversal_answers.at_work(machine) == []
    file = machine_file()
    for access in PLANTED:
        replay(file, access)
    pages(file, 1.0)
    assert said(file, tmp_path) == []


def test_lanes_of_another_order_of_vertices_are_not_told(tmp_path):
    file = walked("naive")
    walk(file, "merged_aligned", order="degree")
    assert said(file, tmp_path) == []


def test_lanes_stand_with_the_traversals_of_the_summary(tmp_path, capsys):
    file = walked()
    machine = judged(file, tmp_path)
    run = Analysis(machine)
    access, lanes = traversal_answers.said(run)
    assert access.startswith("Of 1 measured traversal of edges in host memory")
    assert lanes.endswith("takes 1.4 times as long")
    [answer] = [one for one in findings.answers(run) if one.question == "Which traversal"]
    assert lanes in answer.text
    path = str(tmp_path / "judged.json")
    for asked in ([], ["--full"]):
        assert main(["summary", path, *asked]) == 0
        assert lanes in " ".join(capsys.readouterr().out.split())
    assert main(["summary", path, "--json"]) == 0
    [one] = json.loads(capsys.readouterr().out)["lanes_at_work"]
    assert (one["placement"], one["more"]["access"], one["fewer"]["access"]) == (
        "mapped", "merge_path", "merged_aligned",
    )  # fmt: skip
    assert (one["more"]["lane_use"], one["fewer"]["lane_use"]) == (0.985, 0.66)
    assert one["more_over_fewer"]["value"] == pytest.approx(1.4)


BESIDE = 12e6  # bytes of offsets, state, frontier and items
HALF = {"amplification_data_set": 3.0, "card_bytes": 4e6}


def needed(tmp_path, file) -> dict[tuple[str, str], dict[str, tuple[float, float]]]:
    """Of each algorithm and graph the bytes and seconds of each way."""
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    return {
        (one.work.algorithm, one.work.graph): {
            name: (need.gpu_bytes, need.run.time.value) for name, need in one.ways.items()
        }
        for one in traversal_answers.needs(machine)
    }


def way(file, time_s: float, placement: str, algorithm: str = "bfs", size: float = BESIDE, **more):
    traverse(file, [time_s], algorithm, placement=placement, counters={"gpu_bytes": size}, **more)


def fewer(file, time_s: float, hot: int, lists: str, algorithm: str = "bfs"):
    """A row of lean/*, made of one of traversal/*."""
    axes = {
        "strategy": "direction_optimising",
        "tier": "heads" if hot else "none",
        "lists": lists,
        "hot": hot,
    }
    row = traverse(file, [time_s], algorithm, counters={"gpu_bytes": 7e6, "hot_bytes": 4.0 * hot})
    row["case"]["family"] = f"lean/{algorithm}"
    kept = {name: row["case"]["axes"][name] for name in ("graph", "locality")}
    row["case"]["axes"] = axes | {"segments": "read"} | kept
    row["name"] = row["run_name"] = f"lean/{algorithm}/{'/'.join(map(str, axes.values()))}/graph:{KRON}"


def test_managed_pages_are_added_to_what_a_row_counts(tmp_path):
    file = machine_file()
    way(file, 0.010, "mapped")
    way(file, 0.012, "mapped", access="merged")
    way(file, 0.030, "managed")
    way(file, 0.001, "device", size=BESIDE + 8 * ENTRIES[KRON])
    found = needed(tmp_path, file)["bfs", KRON]
    assert found == {
        "mapped": (BESIDE, 0.010),
        "managed": (BESIDE + 8 * ENTRIES[KRON], 0.030),
        "device": (BESIDE + 8 * ENTRIES[KRON], 0.001),
    }


def test_weights_are_pages_too(tmp_path):
    file = machine_file()
    way(file, 0.010, "mapped", "sssp")
    way(file, 0.030, "managed", "sssp")
    assert needed(tmp_path, file)["sssp", KRON]["managed"] == (BESIDE + 12 * ENTRIES[KRON], 0.030)


def test_of_fewer_bytes_the_fastest_without_edges_in_the_gpu_stands_there(tmp_path):
    file = machine_file()
    way(file, 0.010, "mapped")
    fewer(file, 0.004, 0, "plain")
    fewer(file, 0.003, 0, "compressed")
    fewer(file, 0.001, 25, "plain")
    assert needed(tmp_path, file)["bfs", KRON][FEWER] == (7e6, 0.003)


def test_modelled_rows_stand_beside_bfs_alone_and_over_the_link_that_is_there(tmp_path):
    file = machine_file()
    for algorithm in ("bfs", "cc"):
        way(file, 0.010, "mapped", algorithm)
        way(file, 0.030, "managed", algorithm)
        pages(file, 0.5, algorithm, link="measured", counters=HALF)
        pages(file, 0.9, algorithm, link="pcie3x16", counters=HALF)
        pages(file, 0.4, algorithm, link="measured", card=75, counters=HALF)
    found = needed(tmp_path, file)
    assert found["bfs", KRON][PRESSED] == (BESIDE + 4e6, 0.5)
    assert PRESSED not in found["cc", KRON]


def test_one_way_alone_is_no_comparison(tmp_path):
    file = machine_file()
    way(file, 0.010, "mapped")
    way(file, 0.011, "mapped", order="degree")
    assert needed(tmp_path, file) == {}


@pytest.mark.parametrize("width", [60, 140])
def test_the_summary_has_a_line_for_each_algorithm_and_graph(tmp_path, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    file = machine_file()
    way(file, 0.010, "mapped")
    way(file, 0.030, "managed")
    way(file, 0.020, "subway", access="compact", size=20e6)
    path = str(file.write(tmp_path / "result.json"))
    assert main(["summary", "--full", path]) == 0
    out = capsys.readouterr().out
    table = out[out.index("GPU memory") :]
    assert max(map(len, table.splitlines())) <= width
    [line] = [line for line in out.splitlines() if "11.4 MiB, 10 ms" in line]
    assert "19.1 MiB, 30 ms" in line
    assert ("19.1 MiB, 20 ms" in line) == (width == 140)
    assert "Half managed" not in out
    assert main(["summary", path, "--json"]) == 0
    [one] = json.loads(capsys.readouterr().out)["gpu_memory"]
    assert one["ways"]["managed"]["gpu_bytes"] == BESIDE + 8 * ENTRIES[KRON]
    assert list(one["ways"]) == ["mapped", "subway", "managed"]
    assert {each["label"] for each in one["ways"].values()} == {"measured"}


def shared(file, time_s: float, scaling: float, edges: float = 3e6, gpus: int = 2, **axes):
    """A row of several GPUs."""
    alone = scaling * gpus * time_s
    counters = {"gpu_bytes": 3 * BESIDE, "alone_s": alone, "scaling": scaling, "edges_read": edges}
    row = traverse(file, [time_s], axes.pop("algorithm", "bfs"), counters=counters)
    row["case"]["axes"] |= {"gpus": gpus} | axes
    row["name"] = row["run_name"] = f"{row['name']}/gpus:{gpus}{''.join(f'/{a}:{axes[a]}' for a in axes)}"


def several(file) -> None:
    """Rows of one GPU, and faster ones of several GPUs and of edges in the memory of GPUs."""
    for algorithm, edges in (("bfs", 2e6), ("cc", 9e6)):
        row = traverse(file, [0.010], algorithm, counters={"gpu_bytes": BESIDE, "edges_read": edges})
        assert row["case"]["axes"]["placement"] == "mapped"
    way(file, 0.030, "managed")
    way(file, 0.001, "peer")
    way(file, 0.0005, "interleaved")
    shared(file, 0.006, 0.9)
    shared(file, 0.007, 0.8, divide="vertices")
    shared(file, 0.005, 0.5, gpus=4)


def test_rows_of_several_gpus_and_of_edges_in_gpus_are_no_walk_of_one_over_its_link(tmp_path):
    file = machine_file()
    several(file)
    assert needed(tmp_path, file)["bfs", KRON] == {
        "mapped": (BESIDE, 0.010),
        "managed": (BESIDE + 8 * ENTRIES[KRON], 0.030),
    }
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert not [run for run in traversal.measured(machine) if "gpus" in run.row.case.axes]
    [best] = [one.best for one in traversal_answers.answers(machine) if one.work.algorithm == "bfs"]
    assert (best.placement, best.time.value) == ("mapped", 0.010)


def test_several_gpus_stand_beside_one(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    file = machine_file()
    several(file)
    shared(file, 0.008, 0.7, algorithm="cc", edges=9.9e6)
    shared(file, 0.008, 0.7, algorithm="pr")  # without a row of one GPU
    path = str(file.write(tmp_path / "result.json"))
    assert main(["summary", path, "--json"]) == 0
    found = {
        (one["algorithm"], one["gpus"], one["divide"]): one
        for one in json.loads(capsys.readouterr().out)["several_gpus"]
    }
    assert len(found) == 5
    assert found["bfs", 2, "edges"]["scaling"] == 0.9
    assert found["bfs", 4, "edges"]["alone_s"] == pytest.approx(0.010)
    assert found["bfs", 2, "vertices"]["edges_over_alone"] == pytest.approx(1.5)
    assert found["cc", 2, "edges"]["edges_over_alone"] == pytest.approx(1.1)
    assert found["pr", 2, "edges"]["edges_over_alone"] is None
    assert main(["summary", "--full", path]) == 0
    out = capsys.readouterr().out
    [line] = [line for line in out.splitlines() if line.startswith("  bfs") and "of as many vertices" in line]
    assert line.split()[-6:] == ["7", "ms", "1.60", "80.0", "%", "1.50"]
    assert main(["summary", path]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "8 B, mapped: by 4 GPUs bfs 2.0 times as fast as by one" in said
    assert "traversal/cc mapped merged_aligned original kron24 8 ms - edge 8, gpus 2" in said


def test_several_gpus_that_read_fewer_edges_stand_beside_one_of_their_way(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    path = str(Path(__file__).parents[2] / "results/reference/two-h100-lean-kron24.json.gz")
    assert main(["validate", path]) == 0
    capsys.readouterr()
    assert main(["summary", path, "--json"]) == 0
    found = {
        (one["algorithm"], one["how"]): one for one in json.loads(capsys.readouterr().out)["several_gpus"]
    }
    assert len(found) == 8
    assert found["pr", "pulled, compressed lists"]["scaling"] > 0.93
    assert found["cc", "sampled"]["divide"] is None
    assert main(["summary", "--full", path]) == 0
    out = capsys.readouterr().out
    [line] = [line for line in out.splitlines() if "sssp kron24" in line and "compressed lists" in line]
    assert "near-far" in line
    [machine] = machines([reader.read(path)])
    assert not lean.measured(machine), "what one GPU does is not told by rows of two"
