"""Figure d and the tree of `summary --full`: places, links and rates of machines, most of them made up."""

import csv
import io
import itertools
import re
from functools import cache

import pytest

import synthetic_topologies as stored
from boxes import check_diagram, check_no_overlap, lay_out
from grainscope_report import reader
from grainscope_report.cli import main
from grainscope_report.drawing import diagram, render
from grainscope_report.figures import csv_table
from grainscope_report.figures.model import DiagramPanel, Figure, Joint, Place
from grainscope_report.figures.table import figure
from grainscope_report.groups import topology
from grainscope_report.machine import Machine, machines
from grainscope_report.writing import Terminal
from planted import ENTRIES

# Those of which a pair of places was measured.
MEASURED = [name for name, board in stored.BOARDS.items() if board().rates]


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """Gives a stored machine as read from its file, each once."""
    root = tmp_path_factory.mktemp("boards")

    @cache
    def one(name: str) -> Machine:
        path = stored.machine(stored.BOARDS[name]()).write(root / name / "result.json")
        return machines([reader.read(path)])[0]

    return one


def drawn(machine: Machine) -> Figure:
    return figure(ENTRIES["d"], [machine])


def places(panel: DiagramPanel) -> dict[str, Place]:
    return {place.name: place for place in (*panel.nodes, *panel.gpus)}


def tree(machine: Machine, width: int = 120) -> list[str]:
    return "\n".join(topology.tree(machine, Terminal(width))).splitlines()


@pytest.mark.parametrize("name", MEASURED)
def test_a_diagram_is_within_its_page_and_no_text_lies_upon_another(board, name):
    made = drawn(board(name))
    page = render.draw(made)
    lay_out(page)
    for one, box in check_no_overlap(page):
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= page.bbox.x1 and box.y1 <= page.bbox.y1
        assert inside, f"{one.get_text()!r} leaves the page"
    [panel], [axes] = made.panels, page.axes
    check_diagram(axes, panel)
    lines = [line.get_xdata().max() for line in axes.lines if line.get_gid() in ("line", "joint")]
    assert max(lines, default=0.0) <= diagram.WIDTH


@pytest.mark.parametrize("name", MEASURED)
def test_texts_stay_between_the_boxes_that_they_are_between(board, name):
    [panel] = drawn(board(name)).panels
    found = diagram.arrange(panel)
    for row in found.gpus:
        assert all(diagram._text(line) <= found.gpu[0] - found.node[1] for line in row.link)
        assert all(diagram._text(line) <= found.joints - found.gpu[1] for line in row.peers)
    for row in (*found.nodes, *found.gpus):
        texts_of = (row.said, *((row.link, row.peers) if row.place.at else ()))
        assert max(map(len, texts_of)) * diagram.LINE <= row.bottom - row.top
    for column in (found.nodes, found.gpus):
        assert all(one.bottom < two.top for one, two in itertools.pairwise(column))


@pytest.mark.parametrize("name", MEASURED)
def test_every_rate_is_that_of_the_fastest_row_and_no_pair_is_left_out(board, name):
    machine = board(name)
    [panel] = drawn(machine).panels
    best = {row.name: row for row in machine.result.rows}
    for flow in panel.flows:
        if flow.value is not None:
            row = best[flow.note]
            assert flow.value.value == pytest.approx(row.bandwidth_gb_s)
            ends = [
                name.lower().replace("node", "host").replace(" ", ":") for name in (flow.source, flow.target)
            ]
            assert row.case.ends in (None, tuple(ends))
            assert flow.value.low <= flow.value.value <= flow.value.high
        else:
            assert flow.note == "not measured"
    told = [(flow.source, flow.target) for flow in panel.flows if not flow.source.startswith("both")]
    names = [place.name for place in (*panel.nodes, *panel.gpus) if place.name != topology.NOWHERE]
    assert sorted(told) == sorted(itertools.product(names, names))


def test_a_slower_row_of_a_pair_changes_nothing(board, tmp_path):
    file = stored.machine(stored.BOARDS["one_gpu"]())
    axes = {"timed": "copy", "path": "pinned_to_gpu", "flush": "on", "bytes": 4096, "locality": "local"}
    file.add("transfer/memcpy", axes, {"numa": 0, "gpu": 0}, 3e-6)
    slower = machines([reader.read(file.write(tmp_path / "result.json"))])[0]
    assert drawn(slower).panels[0].gpus == drawn(board("one_gpu")).panels[0].gpus
    axes["bytes"] = 1 << 30
    file.add("transfer/memcpy", axes, {"numa": 0, "gpu": 0}, (1 << 30) / 60e9)
    faster = machines([reader.read(file.write(tmp_path / "result.json"))])[0]
    assert "→ 60 ± " in str(drawn(faster).panels[0].gpus)


def test_what_a_gpu_reads_is_what_the_other_sends(tmp_path):
    file = stored.machine(stored.BOARDS["two_gpus_nvlink"]())
    axes = {"method": "copy_engine", "direction": "read", "access": "on", "bytes": 1 << 30, "link": "nvlink"}
    file.add("transfer/peer", axes, {"gpu": 0, "peer": 1}, (1 << 30) / 420e9)
    machine = machines([reader.read(file.write(tmp_path / "result.json"))])[0]
    sent = {(flow.source, flow.target): flow.value for flow in drawn(machine).panels[0].flows}
    assert sent["GPU 1", "GPU 0"].value == pytest.approx(420.0)
    assert sent["GPU 0", "GPU 1"].value == pytest.approx(396.0)


def test_what_was_not_measured_says_so_and_makes_no_figure(board):
    machine = board("two_gpus_no_rates")
    assert drawn(machine).rows == ()
    said = "\n".join(tree(machine))
    assert said.count("not measured") == 7
    assert "±" not in said.split("Rates in GB/s")[0]
    assert "built for PCIe 5 ×16  not measured" in said
    assert "NVLink switch:  GPU 0, GPU 1" in said


def test_one_way_that_was_not_measured_says_so(tmp_path):
    file = stored.machine(stored.BOARDS["one_gpu"]())
    file.links = [link for link in file.links if link["direction"] != "gpu_to_host"]
    file.rows = [row for row in file.rows if row["case"]["axes"].get("path") != "gpu_to_pinned"]
    machine = machines([reader.read(file.write(tmp_path / "result.json"))])[0]
    assert "→ 55.3 ± 0.4 %  ← not measured" in "\n".join(tree(machine))


def test_a_link_without_rows_has_its_copy_peak(tmp_path):
    file = stored.machine(stored.BOARDS["one_gpu"]())
    file.rows = [row for row in file.rows if row["case"]["family"] != "transfer/memcpy"]
    machine = machines([reader.read(file.write(tmp_path / "result.json"))])[0]
    flows = {(flow.source, flow.target): flow for flow in drawn(machine).panels[0].flows}
    assert flows["node 0", "GPU 0"].note == "copy peak of the link"
    assert flows["node 0", "GPU 0"].value.value == pytest.approx(55.3)


@pytest.mark.parametrize(("name", "sure"), [("one_gpu", True), ("virtual", False)])
def test_in_a_virtual_machine_of_one_node_near_is_unknown(board, name, sure):
    made = drawn(board(name))
    [gpu] = made.panels[0].gpus
    assert (gpu.at, gpu.sure) == ("node 0", sure)
    assert (topology.ONE_NODE in made.notes) == (not sure)
    assert any("└─ GPU 0" in line for line in tree(board(name))) == sure
    [line] = [
        line for line in render.draw(made).axes[0].lines if line.get_gid() == "line"
    ]  # the only one is that to the node
    assert (line.get_linestyle() == "-") == sure


def test_gpus_hang_where_the_stored_topology_has_them(board):
    panel = drawn(board("xml_two_sockets")).panels[0]
    there = places(panel)
    assert ("0000:81:00.0",) in there["GPU 0"].said
    assert (there["GPU 0"].at, there["GPU 0"].sure) == ("node 1", True)
    assert ("0000:02:00.0",) in there["GPU 1"].said
    assert (there["GPU 1"].at, there["GPU 1"].sure) == (topology.NOWHERE, False)
    assert [words[0] for words in there["GPU 1"].link] == ["PCIe 5 ×16, specified 63.0", "node 0:", "node 1:"]
    assert topology.UNKNOWN in drawn(board("xml_two_sockets")).notes


def test_a_node_without_cpus_is_a_place(board):
    panel = drawn(board("xml_memory_only_node")).panels[0]
    assert places(panel)["node 1"].said[0] == ("no CPUs",)
    assert "→ node 0: not measured" in str(places(panel)["node 1"].said)
    assert panel.title.endswith("2 NUMA nodes, no GPU; GB/s")
    assert not any("GPU" in note for note in drawn(board("xml_memory_only_node")).notes[:2])


def test_nodes_farther_away_are_named_or_counted(board):
    far = {name: drawn(board(name)).panels[0].gpus[0].link[1:] for name in ("eight_nodes", "power9")}
    assert far["power9"] == (("node 1:", "→ 24 ± 0.4 %", "← 23.52 ± 0.4 %"),)
    assert far["eight_nodes"] == (("7 other nodes:", "→ 24 ± 0.4 %", "← 23.52 ± 0.4 %"),)


def test_direct_links_are_drawn_pair_by_pair_and_switches_once(board):
    cube = drawn(board("hybrid_cube")).panels[0].joints
    found = {tuple(int(name.split()[1]) for name in joint.places): joint.links for joint in cube}
    assert found == stored.HYBRID_CUBE
    [switch] = drawn(board("eight_gpus_switch")).panels[0].joints
    assert switch == Joint(tuple(f"GPU {gpu}" for gpu in range(8)), "NVLink switch")
    assert drawn(board("two_sockets_four_gpus_pcie")).panels[0].joints == ()


def test_a_gpu_says_what_it_sends_by_kind_of_link_the_widest_first(board):
    gpus = places(drawn(board("hybrid_cube")).panels[0])
    assert gpus["GPU 4"].peers == (
        ("NVLink 4.0 ×2, specified 50.0", "→ GPU 0, 7: 44 ± 0.4 %"),
        ("NVLink 4.0 ×1, specified 25.0", "→ GPU 5, 6: 22 ± 0.4 %"),
        ("over PCIe", "→ GPU 1, 2, 3: 26.4 ± 0.4 %"),
    )
    power = places(drawn(board("power9")).panels[0])
    assert power["GPU 0"].link[0][0] == "NVLink ×3"


def test_a_gpu_that_cuda_does_not_see_takes_no_other_s_number(tmp_path):
    file = stored.machine(stored.Board(stored.cpus(1, 16), (0, 0), rates=False))
    hidden, seen = file.context["environment"]["gpus"]
    hidden["cuda"], seen["cuda"] = None, {"ordinal": 0}
    file.link("host_to_gpu", 55.0)
    machine = machines([reader.read(file.write(tmp_path / "result.json"))])[0]
    made = drawn(machine)
    [gpu] = made.panels[0].gpus
    assert gpu.name == "GPU 0"
    assert (stored.address(1),) in gpu.said
    assert "CUDA does not see 1 more GPU." in made.notes


@pytest.mark.parametrize(
    "wrong", [None, "", 7, [], {}, [7], {"nodes": [{"id": "0"}, 7], "total_bytes": "all"}]
)
def test_a_report_that_says_nonsense_is_left_out(tmp_path, wrong):
    file = stored.machine(stored.BOARDS["two_gpus_nvlink"]())
    environment = file.context["environment"]
    environment |= {"memory": wrong, "peers": wrong}
    for gpu in environment["gpus"]:
        gpu |= dict.fromkeys(("cuda", "nvml", "numa_node", "link_width_built"), wrong)
    machine = machines([reader.read(file.write(tmp_path / "result.json"))])[0]
    said = "\n".join(tree(machine))
    assert "PCIe 5 ×16, specified 63.0  → 55.3 ± 0.4 %" in said
    assert "NVLink ×18, specified 450.0  → GPU 1: 396 ± 0.4 %" in said
    assert "node 0  CPUs copy 190" in said


def test_chip_to_chip_links_are_named(tmp_path):
    file = stored.machine(stored.Board(stored.cpus(1, 72), (0,), "NVIDIA GH200 480GB", "Neoverse-V2"))
    file.context["environment"]["gpus"][0]["nvml"]["c2c_links"] = 10
    machine = machines([reader.read(file.write(tmp_path / "result.json"))])[0]
    assert drawn(machine).panels[0].gpus[0].link[0][0] == "NVLink-C2C ×10, specified 63.0"


def test_gpus_without_peer_access_say_so(tmp_path):
    file = stored.machine(stored.Board(stored.cpus(1, 16), (0, 0)))
    file.rows = [row for row in file.rows if row["case"]["family"] != "transfer/peer"]
    pairs = ((0, 1), (1, 0))
    file.context["environment"]["peers"] = [
        {"from": one, "to": two, "access": False, "native_atomics": False} for one, two in pairs
    ]
    machine = machines([reader.read(file.write(tmp_path / "result.json"))])[0]
    assert drawn(machine).panels[0].gpus[0].peers == (("no NVLink", "→ GPU 1: no peer access"),)


@pytest.mark.parametrize("name", MEASURED)
def test_no_two_lines_share_a_place_of_a_track(board, name):
    panel = drawn(board(name)).panels[0]
    order = {place.name: at for at, place in enumerate(panel.gpus)}
    placed = diagram.tracks(panel.joints, order)
    assert len(placed) == sum(not joint.name for joint in panel.joints)
    for (one, track), (two, other) in itertools.combinations(placed, 2):
        if track == other:
            (_, last), (first, _) = sorted(sorted(order[end] for end in joint.places) for joint in (one, two))
            assert last < first


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("name", ["hybrid_cube", "eight_gpus_switch", "no_gpu", "virtual", "nothing_near"])
def test_the_tree_has_every_place_and_keeps_to_the_width(board, name, width):
    lines = tree(board(name), width)
    assert max(map(len, lines)) <= width
    for place in places(drawn(board(name)).panels[0]).values():
        begun = [line for line in lines if re.match(rf"[ │├└─╌]*{place.name}(  |$)", line)]
        assert len(begun) == 1
        for words in (*place.said, *place.link, *place.peers):
            assert all(any(word in line for line in lines) for word in words)


def test_the_table_of_the_figure_has_every_pair(board):
    made = drawn(board("two_gpus_nvlink"))
    rows = list(csv.DictReader(io.StringIO(csv_table.write(made))))
    assert {row["kind"] for row in rows} == {"flow"}
    rates = {(row["series"], row["x"]): float(row["y"]) for row in rows if row["y"]}
    assert rates["GPU 0", "GPU 1"] == pytest.approx(396.0)
    assert rates["node 0", "GPU 1"] == pytest.approx(55.3)
    assert rates["both ways, node 0", "GPU 1"] == pytest.approx(94.7, abs=0.1)


def test_several_machines_have_a_diagram_each(board):
    shown = machines([board(name).result for name in ("one_gpu", "no_gpu", "two_gpus_no_rates")])
    made = figure(ENTRIES["d"], shown)
    assert [panel.title[:2] for panel in made.panels] == ["A:", "B:"]
    assert len(made.notes) == len(set(made.notes))


def test_the_tree_is_of_the_whole_run_alone(board, capsys):
    path = str(board("one_gpu").result.path)
    assert main(["summary", "--full", path]) == 0
    assert "└─ GPU 0" in capsys.readouterr().out
    assert main(["summary", path, "transfer/local"]) == 0
    assert "└─ GPU 0" not in capsys.readouterr().out


def test_a_report_shows_the_machine_before_its_answers(board, tmp_path):
    out = tmp_path / "report.html"
    assert main(["report", str(board("eight_gpus_switch").result.path), "-o", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert page.count('id="fd"') == 1
    assert page.index('id="machine-A"') < page.index('id="fd"') < page.index('id="answers"')
    assert "<summary>Measured copy peaks of the links (88)</summary>" in page
