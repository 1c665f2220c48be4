"""Lanes at work and balance of blocks by every way to walk lists: figure 22, and what the summary says."""

import json

import pytest

from grainscope_report import findings, reader
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.drawing import render, style
from grainscope_report.figures.model import why_absent
from grainscope_report.groups import traversal, traversal_answers
from grainscope_report.machine import Machine, machines
from planted import ENTRIES, made, only, table, values
from planted_traversals import KRON, URAND, machine_file, model, pages, steady, traverse
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
    assert why_absent(ENTRIES["22"], shown).startswith("figure 22: no rows with lane_use of two accesses of ")


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
