"""Rows of traversals as runs; figure 19 and the answers of traversals that move fewer bytes."""

import json
import math

import pytest

from grainscope_report import reader
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.commands import files
from grainscope_report.groups import lean, traversal, traversal_answers
from grainscope_report.groups.lean import method
from grainscope_report.groups.traversal import Run, Work
from grainscope_report.machine import Machine, machines
from grainscope_report.statistics import Estimate
from planted import made, only, table
from planted_traversals import KRON, URAND, machine_file, model, pages, steady, traverse
from stored import PROJECT
from synthetic_lean import add_lean

SPEEDUPS = "bfs, direction-optimising"
TABLE = "bfs, direction-optimising: every technique (measured, its model beside)"
BUDGETS = f"bfs {KRON}: time by GPU memory"


def planted():
    """EMOGI takes 100 ms, of 4-byte edges 80 ms, GPU memory 20 ms; fewer edges 40 ms, hot ones 10 ms."""
    file = machine_file()
    traverse(file, steady(0.1, 16), access="merged")
    traverse(
        file, steady(0.08, 16), edge=4, link_bytes_least=4_000_000_000, counters={"gpu_bytes": float(3 << 20)}
    )
    traverse(file, steady(0.02, 16), placement="device")
    traverse(file, steady(0.05, 16), placement="managed")
    add(file, 0.04)
    add(file, 0.02, "heads", 5)
    add(file, 0.016, "heads", 25)
    add(file, 0.01, "reuse", 25)
    return file


def add(file, seconds: float, tier: str = "none", hot: int = 0, **more) -> dict:
    """A lean row whose trials all take this long."""
    row = add_lean(file, "bfs", KRON, seconds, tier, hot, **more)
    for trial in row["trials"]:
        trial["counters"]["teps"] *= trial["samples_s"][0] / seconds
        trial["samples_s"] = [seconds]
    row["median_s"] = seconds
    row["visits"][0] |= {"samples_s": [seconds] * len(row["trials"]), "median_s": seconds}
    return row


def test_speedups_are_over_the_fastest_mapped_access_of_any_width(tmp_path):
    rows = table(tmp_path, "19", planted())
    found = {row["series"]: float(row["y"]) for row in only(rows, panel=SPEEDUPS, kind="bar")}
    assert found == pytest.approx(
        {"edges in GPU memory": 4.0, "the algorithm alone": 2.0, "25 % hot": 8.0}, rel=1e-6
    )
    [hot] = only(rows, panel=SPEEDUPS, series="25 % hot")
    assert hot["note"] == "10 ms, direction-optimising, 25 % hot (reuse)"
    assert {row["label"] for row in only(rows, kind="bar")} == {"measured"}


def test_time_by_budget_has_every_budget_and_policy(tmp_path):
    figure = made(tmp_path, "19", planted())
    panel = next(one for one in figure.panels if one.title == BUDGETS)
    assert [name.split("\n")[0] for name in panel.categories] == ["0 %", "5 %", "25 %"]
    assert panel.y_unit == "ms"
    found = {
        series.name: [bar.value.value if bar.value else None for bar in series.bars]
        for series in panel.series
    }
    assert found == {
        "the algorithm alone": [pytest.approx(40), None, None],
        "hot heads": [None, pytest.approx(20), pytest.approx(16)],
        "hot reuse": [None, None, pytest.approx(10)],
    }
    assert {level.name: level.value for level in panel.levels} == {
        "EMOGI's best 80 ms": pytest.approx(80),
        "edges in GPU memory 20 ms": pytest.approx(20),
    }


def test_a_budget_in_bytes_stands_among_the_shares_of_the_edge_list(tmp_path):
    file = planted()
    for seconds, budget, percent in ((0.018, 700 << 20, 12.34567), (0.017, 701 << 20, 12.36789)):
        row = add(file, seconds, "heads", 10)
        del row["case"]["axes"]["hot"]
        row["case"]["axes"]["hot_budget"] = budget
        row["counters"]["hot_percent"] = percent
    figure = made(tmp_path, "19", file)
    panel = next(one for one in figure.panels if one.title == BUDGETS)
    assert [name.split("\n")[0] for name in panel.categories] == ["0 %", "5 %", "12.3 %", "12.4 %", "25 %"]
    heads = next(series for series in panel.series if series.name == "hot heads")
    found = [bar.value.value if bar.value else None for bar in heads.bars]
    assert found == [None, pytest.approx(20), pytest.approx(18), pytest.approx(17), pytest.approx(16)]


def test_the_table_has_time_bytes_memory_speedups_and_the_model_with_its_error(tmp_path):
    figure = made(tmp_path, "19", planted())
    panel = next(one for one in figure.panels if one.title == TABLE)
    lines = {row.name: [cell.text for cell in row.cells] for row in panel.rows}
    assert list(lines) == [
        "EMOGI: aligned, 4 B",
        "device: aligned, 8 B",
        "alone",
        "5 % hot (heads)",
        "25 % hot (heads)",
        "25 % hot (reuse)",
    ]
    assert lines["EMOGI: aligned, 4 B"] == [KRON, "80 ms", "3.73 GiB", "3 MiB", "–", "0.25×", *["–"] * 4]
    assert lines["device: aligned, 8 B"][3:6] == ["–", "4.00×", "–"], "of a row that does not say it"
    alone = lines["alone"]
    assert alone[:2] == [KRON, "40 ms"]
    assert alone[3:] == ["512 MiB", "2.00×", "0.50×", alone[6], "−20 %", alone[2], "0 %"]
    hot = lines["25 % hot (reuse)"]
    assert hot[4:6] == ["8.00×", "2.00×"]
    assert hot[3] == "1009 MiB", "with 32 bytes a vertex"
    rows = table(tmp_path, "19", planted())
    [error] = [
        row for row in only(rows, panel=TABLE, series="alone") if row["y_unit"] == "%" and row["y"] != "0"
    ]
    assert (float(error["y"]), error["label"]) == (pytest.approx(-20), "modelled")


def test_the_model_of_emogi_s_walk_over_this_link_stands_beside_it(tmp_path):
    file = planted()
    model(file, 0.06, edge=4, link="measured")
    panel = next(one for one in made(tmp_path, "19", file).panels if one.title == TABLE)
    assert [cell.text for cell in panel.rows[0].cells][6:8] == ["60 ms", "−25 %"]


def test_the_base_is_called_by_whose_it_is_and_keeps_the_order_of_the_graph(tmp_path):
    file = planted()
    traverse(file, steady(0.07, 16), access="edge_gather", edge=4)
    traverse(file, steady(0.03, 16), edge=4, order="degree")
    panel = next(one for one in made(tmp_path, "19", file).panels if one.title == TABLE)
    assert [row.name for row in panel.rows][:2] == ["GraphPEG: edge gather, 4 B", "device: aligned, 8 B"]
    assert [cell.text for cell in panel.rows[1].cells][4] == "3.50×"


def test_a_traversal_that_does_not_wait_for_the_link_says_so_beside_the_error(tmp_path):
    file = machine_file()
    for hot, off in ((0, -0.5), (5, -0.99), (25, -1.0)):
        add_lean(file, "bfs", KRON, 0.1, "heads" if hot else "none", hot, model_off=off)
    panel = next(one for one in made(tmp_path, "19", file).panels if one.title == TABLE)
    found = [[cell.text for cell in row.cells][6:8] for row in panel.rows]
    assert [error for _, error in found] == ["−50 %", "−99 % (GPU)", "−100 % (GPU)"]
    assert found[-1][0] == "0"


def test_sssp_says_how_far_off_the_bytes_moved_are(tmp_path):
    file = machine_file()
    add_lean(file, "sssp", KRON, 0.1)
    panel, _ = made(tmp_path, "19", file).panels
    assert panel.rows[0].cells[-1].text == "+4 %"
    # Without EMOGI's rows there is nothing to be faster than: no bars, but the table.
    assert [cell.text for cell in panel.rows[0].cells][4:6] == ["–", "–"]


def test_compressed_lists_and_copied_segments_are_techniques_alone_and_together(tmp_path):
    file = planted()
    add(file, 0.032, lists="compressed")
    add(file, 0.008, "heads", 25, lists="compressed")
    add(file, 0.03, segments="hybrid")
    rows = table(tmp_path, "19", file)
    found = {row["series"]: float(row["y"]) for row in only(rows, panel=SPEEDUPS, kind="bar")}
    assert found["compressed lists"] == pytest.approx(2.5)
    assert found["compressed lists, 25 % hot"] == pytest.approx(10)
    assert found["hybrid"] == pytest.approx(8 / 3)
    assert list(found)[-1] == "compressed lists, 25 % hot"
    plain = add(file, 0.05, rounds="off")
    assert lean.measured(machines([reader.read(file.write(tmp_path / "x.json"))])[0])[-1].techniques == ()
    assert plain["case"]["axes"]["lists"] == "plain"


def test_another_strategy_is_a_technique(tmp_path):
    file = planted()
    add(file, 0.032)["case"]["axes"]["strategy"] = "hybrid"
    rows = table(tmp_path, "19", file)
    found = {row["series"]: float(row["y"]) for row in only(rows, panel=SPEEDUPS, kind="bar")}
    assert found["the algorithm alone"] == pytest.approx(2)
    assert found["hybrid"] == pytest.approx(2.5)


def test_a_combination_has_one_colour_and_a_policy_its_own():
    assert method((), "none") == "lean none"
    assert method(["compressed lists"], "heads") == "lean compressed heads"
    assert method(["something new"], "heads") == method(["something new"], "heads")


def test_the_mean_over_sources_is_that_of_the_harmonic_mean_of_teps(tmp_path):
    file = machine_file()
    row = traverse(file, [0.1, 0.2, 0.4])
    # 4, 4 and 1 edges: rates 40, 20 and 2.5; the mean trial's 3 edges over their harmonic mean.
    for trial, edges in zip(row["trials"], (4.0, 4.0, 1.0), strict=True):
        trial["counters"]["teps"] = edges / trial["samples_s"][0]
    [run] = traversal.measured(machines([reader.read(file.write(tmp_path / "r.json"))])[0])
    harmonic = 3 / (1 / 40 + 1 / 20 + 1 / 2.5)
    assert lean.mean_time(run).value == pytest.approx(3 / harmonic)
    row["trials"][0]["counters"] = {}
    [run] = traversal.measured(machines([reader.read(file.write(tmp_path / "r.json"))])[0])
    assert lean.mean_time(run).value == pytest.approx(0.7 / 3)


def test_the_same_source_has_another_number_in_another_order(tmp_path):
    file = machine_file()
    one = traverse(file, [0.1, 0.2, 0.4, 0.8])
    two = traverse(file, [0.05, 0.1, 0.2, 0.4], order="degree")
    # By chance a number is there twice, of different vertices.
    for trial, number in zip(two["trials"], (3, 70, 80, 90), strict=True):
        trial["label"] = f"source:{number}"
    assert one["trials"][3]["label"] == "source:3"
    path = file.write(tmp_path / "r.json")
    slow, fast = traversal.measured(machines([reader.read(path)])[0])
    ratio = traversal.speedup(slow, fast)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))


def test_a_better_algorithm_is_said_beside_emogi_s_access(tmp_path, capsys):
    path = planted().write(tmp_path / "result.json")
    [machine] = machines([reader.read(path)])
    access, fewer = traversal_answers.said(Analysis(machine))
    assert access.startswith("2 measured traversals of edges in host memory, each by one access;")
    assert fewer.startswith(
        "What an algorithm that moves fewer bytes buys beside the fastest walk over whole lists (EMOGI's or "
        "GraphPEG's), in speed and of the bytes asked over the link: bfs (direction-optimising) 2 times"
    )
    assert "with 25 % of the edges in GPU memory as well 8 times" in fewer
    assert fewer.endswith(". What is prepared once for that has paid after 50 to 78 runs")
    assert main(["summary", "--full", str(path)]) == 0
    out = capsys.readouterr().out
    [line] = [" ".join(line.split()) for line in out.splitlines() if "25 % hot" in line]
    assert line.startswith("bfs kron24 25 % hot (reuse) 10 ms")
    assert "8.00 2.00 3.5 s" in line
    assert line.endswith("50 runs")
    assert main(["summary", "--json", str(path)]) == 0
    gains = json.loads(capsys.readouterr().out)["fewer_bytes"]
    assert [gain["hot_percent"] for gain in gains] == [0, 5, 25]
    assert gains[0]["over_emogi"]["value"] == pytest.approx(2)
    assert gains[0]["fewer_bytes_than_emogi"] == pytest.approx(4e9 / gains[0]["link_bytes"])
    assert (gains[0]["prepared_s"], gains[0]["pays_after_runs"]) == (pytest.approx(3.1), 78)


def test_bytes_are_of_what_both_ask_for_whatever_a_cache_keeps(tmp_path):
    """A walk that comes to a list again may get it from the cache: that is no byte more of the other's."""
    file = planted()
    for row in file.rows:
        if row["case"]["family"] == "traversal/bfs":
            row["traffic"] = {"label": "modelled", "requests": 10**8, "requests_by_size": {"128": 10**8}}
            row["traffic"] |= {"bytes": 128 * 10**8, "amplification": 1.0}
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    gain = lean.gains(machine)[0]
    assert gain.bytes_over == pytest.approx(128e8 / gain.best.run.row.link_bytes_least)
    [_, fewer] = traversal_answers.said(Analysis(machine))
    share = 100 * gain.best.run.row.link_bytes_least / 128e8
    assert f"2 times ({share:.2g} % of the bytes)" in fewer


def test_what_is_not_faster_never_pays_and_without_a_walk_nobody_knows(tmp_path):
    file = machine_file()
    add_lean(file, "bfs", KRON, 0.1)
    traverse(file, steady(0.07, 16), edge=4)
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    [gain] = lean.gains(machine)
    assert gain.best.pays_after(gain.emogi) is None
    assert gain.best.pays_after(None) is None
    assert lean.as_json(gain)["pays_after_runs"] is None


def test_lean_rows_alone_say_that_there_is_nothing_beside_them(tmp_path):
    file = machine_file()
    add_lean(file, "cc", KRON, 0.03)
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert traversal_answers.said(Analysis(machine)) == [
        "1 traversal that moves fewer bytes has none of EMOGI's beside it"
    ]


def test_rows_as_the_suite_writes_them_are_valid_and_drawn_by_one_command(files, tmp_path, capsys):
    assert main(["validate", str(files["leaning"]), str(files["packing"])]) == 0
    assert (
        main(["plot", str(files["leaning"]), "-o", str(tmp_path), "--figures", "19", "--format", "svg"]) == 0
    )
    assert "figure_19_fewer_bytes.md" in capsys.readouterr().out
    assert "| alone | kron24 |" in (tmp_path / "figure_19_fewer_bytes.md").read_text()


def test_edges_read_may_differ_between_runs_that_are_compared(tmp_path, capsys):
    paths = []
    for order, read in enumerate((1.1, 1.2)):
        file = machine_file(host=f"node-{order}")
        add_lean(file, "sssp", KRON, 0.1, reads=read)
        paths.append(str(file.write(tmp_path / str(order) / "result.json")))
    assert main(["compare", *paths, "--all"]) == 5
    assert "other work" not in capsys.readouterr().out


@pytest.fixture
def load(tmp_path):
    """Gives the machine of a file."""

    def one(file) -> Machine:
        return machines([reader.read(file.write(tmp_path / "result.json"))])[0]

    return one


def test_a_run_says_what_its_row_says(load):
    file = machine_file()
    traverse(file, [0.3, 0.1, 0.2], "sssp", edge=4, access="naive", placement="managed", order="degree")
    [run] = traversal.measured(load(file))
    assert run.work == Work("sssp", KRON, 4, "8-72")
    assert (run.access, run.placement, run.order) == ("naive", "managed", "degree")
    assert run.trials == {"source:0": 0.3, "source:1": 0.1, "source:2": 0.2}
    assert run.time.value == 0.2
    assert run.counter("teps") == pytest.approx(5.0)
    assert run.counter("none") is None
    assert run.graph.degree_cdf[0] == (1, 0.1)
    assert run.entries == 1000000


def test_visits_of_a_run_are_one(load):
    file = machine_file()
    for visit, time_s in enumerate((0.1, 0.4, 0.2), 1):
        traverse(file, steady(time_s), visit=visit)
    [run] = traversal.measured(load(file))
    assert (run.time.value, run.time.visits) == (0.2, 3)
    # Twice and half as long: Student's t of two degrees of freedom, and the middle of three beside one.
    factor = math.exp(4.302652729911275 * math.log(2) * math.sqrt(math.pi / (4 + math.pi)))
    assert (run.time.low, run.time.high) == pytest.approx((0.2 / factor, 0.2 * factor))
    assert run.trials["source:3"] == 0.2


def test_measured_runs_are_of_the_site_with_most_rows_the_local_one_first(load):
    file = machine_file()
    traverse(file, steady(0.1), site={"numa": 0, "gpu": 1}, locality="remote")
    traverse(file, steady(0.2))
    traverse(file, steady(0.3), access="merged", locality="remote", site={"numa": 0, "gpu": 1})
    traverse(file, steady(0.4), access="merged")
    assert [run.time.value for run in traversal.measured(load(file))] == [0.2, 0.4]


def test_modelled_and_paged_runs_are_apart_and_failed_rows_are_none(load):
    file = machine_file()
    model(file, 0.5)
    pages(file, 2.0, card=25, page=4096)
    file.lose(
        "failed", "it came back wrong", "traversal/bfs", {"graph": KRON, "edge": 8}, {"gpu": 0, "numa": 0}
    )
    machine = load(file)
    [run], [page] = traversal.modelled(machine), traversal.paged(machine)
    assert (run.label, run.link, run.access) == ("modelled", "pcie3x16", "merged_aligned")
    assert (page.card, page.page, page.work.algorithm) == (25, 4096, "bfs")
    assert run.time == Estimate(0.5, 0.5, 0.5)
    assert traversal.measured(machine) == []


def test_orders_of_algorithms_graphs_and_what_is_like_the_paper(load):
    file = machine_file()
    for algorithm in ("pr", "bfs", "other"):
        for graph in ("power", URAND, KRON):
            traverse(file, steady(0.1), algorithm, graph)
    traverse(file, steady(0.1), "bfs", KRON, edge=4)
    there = traversal.measured(load(file))
    assert traversal.algorithms(there) == ["bfs", "pr", "other"]
    assert traversal.graphs(there) == [URAND, KRON, "power"]
    assert traversal.graphs(there, 1) == [URAND]
    assert {run.work.edge for run in traversal.like_the_paper(there)} == {8}
    narrow = [run for run in there if run.work.edge == 4]
    assert traversal.like_the_paper(narrow) == narrow


def test_speedup_pairs_the_trials(load):
    file = machine_file()
    # Sources differ by a hundred times, the ratio of the two ways by little.
    times = [0.001 * 1.9**at for at in range(9)]
    ratios = [2.0, 2.1, 1.9, 2.2, 2.0, 1.8, 2.0, 2.1, 1.95]
    traverse(file, times)
    traverse(file, [time_s * ratio for time_s, ratio in zip(times, ratios, strict=True)], access="naive")
    fast, slow = traversal.measured(load(file))
    ratio = traversal.speedup(slow, fast)
    assert ratio.value == pytest.approx(2.0)
    # Ranks 1 and 9 of nine.
    assert (ratio.low, ratio.high) == (pytest.approx(1.8), pytest.approx(2.2))


def test_speedup_of_few_trials_spans_all_of_them(load):
    file = machine_file()
    traverse(file, [0.1, 0.2, 0.3])
    traverse(file, [0.4, 0.4, 0.9], access="naive")
    fast, slow = traversal.measured(load(file))
    ratio = traversal.speedup(slow, fast)
    assert (ratio.value, ratio.low, ratio.high) == tuple(map(pytest.approx, (3, 2, 4)))


def test_speedup_without_trials_in_common_is_that_of_the_medians(load):
    file = machine_file()
    traverse(file, [0.1, 0.2, 0.3])
    row = traverse(file, [0.4, 0.4, 0.9], access="naive")
    for at, trial in enumerate(row["trials"]):
        trial["label"] = f"trial:{at}"
    fast, slow = traversal.measured(load(file))
    ratio = traversal.speedup(slow, fast)
    assert (ratio.value, ratio.low, ratio.high) == tuple(map(pytest.approx, (2, 0.4 / 0.3, 9)))


def test_geometric_mean_of_ratios():
    mean = traversal.geometric_mean([Estimate(2, 1, 4), Estimate(8, 4, 16)])
    assert (mean.value, mean.low, mean.high) == tuple(map(pytest.approx, (4, 2, 8)))


def test_the_link_that_the_model_is_asked_for(load):
    file = machine_file()
    for link in ("pcie4x16", "pcie3x16", "measured"):
        model(file, 0.5, link=link)
    pages(file, 2.0, link="pcie4x16")
    machine = load(file)
    assert traversal.one_link(traversal.modelled(machine)) == "measured"
    assert traversal.one_link(traversal.modelled(machine), traversal.paged(machine)) == "pcie4x16"
    assert [traversal.link_name(link) for link in ("pcie3x16", "measured", "nvlink-c2c", "other")] == [
        "PCIe 3 ×16",
        "this machine's link",
        "NVLink-C2C",
        "other",
    ]


def test_memory_pressure_is_of_one_page_that_most_works_have(load):
    file = machine_file()
    pages(file, 1.0, graph=KRON, page=65536)
    for graph in (KRON, URAND, "power"):
        pages(file, 1.0, graph=graph, page=4096)
    chosen = traversal.under_pressure(traversal.paged(load(file)), "pcie3x16")
    assert {(run.work.graph, run.page) for run in chosen} == {(KRON, 4096), (URAND, 4096), ("power", 4096)}


def test_memory_pressure_is_the_card_of_half_the_edges_by_groups_of_64_kib(load):
    file = machine_file()
    for card in (25, 50, 75):
        for page in (4096, 65536):
            pages(file, card + page, card=card, page=page)
    pages(file, 7.0, graph=URAND, card=100, page=4096)
    there = traversal.paged(load(file))
    chosen: list[Run] = traversal.under_pressure(there, "pcie3x16")
    assert {(run.work.graph, run.card, run.page) for run in chosen} == {(KRON, 50, 65536)}
    assert traversal.under_pressure(there, "pcie4x16") == []


@pytest.mark.parametrize(
    "runs", [("h100-c1", "h100-c2"), ("h200-c1", "h200-c2"), ("h200-g", "h200-h"), ("h200-j", "h200-k")]
)
def test_speedups_of_one_run_are_those_of_another_within_their_intervals(runs):
    """Trials of one visit say nothing of another run: by their spread alone one pr in five was covered."""
    found = []
    for name in runs:
        [result] = files.right([PROJECT / f"results/reference/acceptance/{name}.json.gz"])
        here = Analysis(machines([result])[0], True)
        walks = [(best.best.row.name, best.over) for best in here.traversals if best.label == "measured"]
        lean = [(gain.best.run.row.name, gain.over) for gain in here.gains]
        found.append({(name, base): ratio for name, over in walks + lean for base, ratio in over.items()})
    one, two = found
    covered = [
        abs(math.log(one[key].value / two[key].value))
        <= math.hypot(*(math.log(each[key].high / each[key].low) / 2 for each in found)) + 1e-12
        for key in one.keys() & two.keys()
    ]
    assert len(covered) > 20
    assert sum(covered) >= 0.95 * len(covered)
