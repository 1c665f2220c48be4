"""Rows of traversals as runs, and what is faster than what, on rows whose answers are known."""

import math

import pytest

from grainscope_report import reader
from grainscope_report.groups import traversal
from grainscope_report.groups.traversal import Run, Work
from grainscope_report.machine import Machine, machines
from grainscope_report.statistics import Estimate
from planted_traversals import KRON, URAND, machine_file, model, pages, steady, traverse


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
