"""Acceptance: links, the nodes that are nearest to a GPU, and rows of each GPU and node."""

import pytest

from planted_checks import COPY, add, machine, of
from synthetic import File


def test_links_are_judged_by_the_nearest_node(check):
    text = '[[rule]]\nid = "generation"\nlink = "host_to_gpu"\nmetric = "generation"\nlower = 5\n'
    text += '[[rule]]\nid = "peak"\nlink = "host_to_gpu"\nunit = "GB/s"\nlower = 52\n'
    text += (
        '[[rule]]\nid = "theory"\nlink = "host_to_gpu"\nrelative_to = "theoretical"\nunit = "%"\nlower = 85\n'
    )
    file = machine()
    file.link("host_to_gpu", 30.0, numa=1)
    assert check(text, file)[0] == 0
    assert check(text, machine(gen=4))[0] == 1
    assert check(text, machine(peak=53.0))[0] == 1
    # By the row of the same copy: five visits that are alike, and what the rules allow of runs.
    allowed = text + "[allowance]\ngated = { visit = 50, run = 0.2 }\n"
    assert "got 84.13 % ± 0.4 %\n" in check(allowed, machine(peak=53.0))[1]
    assert check(allowed.replace("run = 0.2", "run = 3"), machine(peak=53.0))[0] == 0
    # Without such a row the peak is one visit of which nothing else is known.
    assert check(allowed, machine([], peak=53.0))[0] == 0


PEAK = '[[rule]]\nid = "peak"\nlink = "host_to_gpu"\nunit = "GB/s"\nlower = 52\n'
NEAREST_UNKNOWN = "and accepted: The NUMA node nearest to GPU 0, of whose links the fastest counts; The CPUs'"


def two_nodes(peaks: dict[int, float], near: int | None = None, **report) -> File:
    """A run of a machine with two nodes, to whose GPU these are the links by node."""
    file = machine([])
    environment = file.context["environment"]
    environment["memory"] = {"nodes": [{"id": node, "memory_bytes": 8} for node in (0, 1)]}
    environment["gpus"][0] |= {"numa_node": near} | report
    file.links.clear()
    for node, peak in peaks.items():
        file.link("host_to_gpu", peak, numa=node)
    return file


@pytest.mark.parametrize(("peaks", "found"), [
    ({0: 30.0, 1: 55.0}, 1), ({0: 55.0, 1: 30.0}, 0),
])  # fmt: skip
@pytest.mark.parametrize("by", ["report", "rows"])
def test_the_nearest_node_is_that_of_the_report_else_of_local_rows_however_fast(check, peaks, found, by):
    file = two_nodes(peaks, near=0 if by == "report" else None)
    for node in (0, 1) if by == "rows" else ():
        add(file, 55.0, site={"gpu": 0, "numa": node}, locality="remote" if node else "local")
    file.link("host_to_gpu", 55.0, gpu=0, numa=2)
    _, _, document = check(PEAK, file)
    assert [one["what"] for one in of(document, "peak")] == ["link host:0 to gpu:0"]
    assert of(document, "peak")[0]["status"] == ("failed" if found else "passed")
    assert of(document, "node.nearest") == []


def test_the_report_names_gpus_by_the_numbers_of_cuda(check):
    file = machine([], gpus=2)
    environment = file.context["environment"]
    environment["gpus"] = [
        {"name": name, "numa_node": near, "cuda": {"ordinal": ordinal}}
        for name, near, ordinal in (("NVIDIA H100", 1, 1), ("NVIDIA H100", 0, 0))
    ]
    file.links.clear()
    for gpu, near in ((0, 0), (1, 1)):
        file.link("host_to_gpu", 54.0, gpu=gpu, numa=near)
        file.link("host_to_gpu", 55.0, gpu=gpu, numa=1 - near)
    _, _, document = check(PEAK, file)
    assert [one["what"] for one in of(document, "peak")] == ["link host:0 to gpu:0", "link host:1 to gpu:1"]


@pytest.mark.parametrize("wrong", [{}, {"numa_node": -1}, {"numa_node": True}, {"cuda": "none"}])
def test_where_the_nearest_node_is_unknown_the_fastest_link_counts_and_is_said_to(check, wrong):
    status, said, document = check(PEAK, two_nodes({0: 30.0, 1: 55.0}, **wrong))
    assert status == 0
    assert [one["what"] for one in of(document, "peak")] == ["link host:1 to gpu:0"]
    assert NEAREST_UNKNOWN in " ".join(said.split())
    [one] = of(document, "node.nearest")
    assert (one["status"], one["message"]) == ("not applicable", "the machine does not tell")
    # With one link there is nothing to choose.
    assert of(check(PEAK, two_nodes({1: 55.0}, **wrong))[2], "node.nearest") == []
    # Nor is anything said where no rule asks for a link.
    assert of(check(COPY, two_nodes({0: 30.0, 1: 55.0}, **wrong))[2], "node.nearest") == []


@pytest.mark.parametrize("every", ["", "every_gpu = false\n"])
def test_a_link_of_a_farther_node_does_not_stand_in_for_the_nearest(check, every):
    status, said, document = check(PEAK + every, two_nodes({1: 55.0}, near=0))
    assert status == 1
    [one] = of(document, "peak")
    assert (one["status"], one["what"]) == ("missing", "GPU 0")
    assert "no link host_to_gpu of GPU 0 and node 0, the nearest to it, was measured" in said
    assert "next: numactl --show; then grainscope --preset acceptance --out DIR\n" in said
    part = two_nodes({1: 55.0}, near=0)
    part.context["run"]["filter"] = "memcpy"
    for arguments in ([], ["--any-run"]):
        assert check(PEAK + every, part, arguments=arguments)[0] == 5


def seen(*nodes: tuple[int, int], near: int | None = None, gpus: int = 2) -> File:
    """A run whose rows are of these GPUs and nodes."""
    file = machine([], gpus=gpus)
    file.links.clear()
    environment = file.context["environment"]
    environment["memory"] = {"nodes": [{"id": node, "memory_bytes": 8} for node in (0, 1)]}
    for gpu in environment["gpus"]:
        gpu["numa_node"] = near
    for gpu, node in nodes:
        add(file, 55.0, site={"gpu": gpu, "numa": node}, locality="local" if node == 0 else "remote")
    return file


EVERY = "no row is of a GPU and a node's memory far from it"


@pytest.mark.parametrize(("nodes", "said"), [
    ([(0, 0), (0, 1), (1, 0), (1, 1)], ""),
    ([(0, 0), (0, 1), (1, 0)], "no row of GPU 1 is of a second node's memory"),
    ([(0, 0), (0, 1), (1, 1)], "no row of GPU 1 is of a second node's memory"),
    ([(0, 0), (1, 1)], "no row of GPU 0, GPU 1 is of a second node's memory"),
    ([(0, 1), (1, 1)], "no row of GPU 0, GPU 1 is of a second node's memory"),
    ([(0, 0), (1, 0)], EVERY),
    ([(0, 0)], EVERY),
    ([(0, 0), (0, 1)], ""),  # of a GPU without any row the rules say so
])  # fmt: skip
def test_each_gpu_needs_rows_of_two_nodes(check, nodes, said):
    rules = COPY.replace(', locality = "local"', "") + "every_gpu = false\n"
    file = seen(*nodes, near=0)
    status, _, document = check(rules, file)
    assert status == (1 if said else 0)
    [one] = of(document, "run.remote_node")
    assert (one["status"], one["message"]) == ("missing" if said else "passed", said)
    file.context["run"]["filter"] = "memcpy"
    for arguments in ([], ["--any-run"]):
        assert check(rules, file, arguments=arguments)[0] == (5 if said else 0)


def test_a_nearest_node_without_memory_is_none_to_be_measured(check):
    """A socket without modules: the links of the other node are all there is."""
    file = two_nodes({0: 55.0}, near=1)
    rules = PEAK + "every_gpu = true\n"
    assert check(rules, file)[0] == 1
    nodes = [{"id": 0, "memory_bytes": 8}, {"id": 1, "memory_bytes": 0}]
    file.context["environment"]["memory"] = {"nodes": nodes}
    assert check(rules, file)[0] == 0


def test_a_node_without_cpus_is_none_to_be_measured(check):
    """As GPUs' own memory is one, and memory behind CXL."""
    rules = COPY.replace(', locality = "local"', "") + "every_gpu = false\n"
    file = seen((0, 0), (1, 0), near=0)
    assert check(rules, file)[0] == 1
    for node, cpus in zip(file.context["environment"]["memory"]["nodes"], ([0, 1], []), strict=True):
        node["cpus"] = cpus
    assert check(rules, file)[0] == 0


def test_of_a_gpu_whose_nearest_node_is_unknown_rows_of_two_nodes_are_needed(check):
    rules = COPY.replace(', locality = "local"', "") + "every_gpu = false\n"
    file = seen((0, 1), (1, 0), (1, 1))
    for row in file.rows:
        row["case"]["axes"]["locality"] = "unknown"
    status, said, _ = check(rules, file)
    assert status == 1
    assert "no row of GPU 0 is of a second node's memory" in said


def test_a_link_to_a_far_node_counts_as_a_row_of_it(check):
    rules = COPY.replace(', locality = "local"', "") + "every_gpu = false\n"
    file = seen((0, 0), (0, 1), (1, 0), near=0)
    assert check(rules, file)[0] == 1
    file.link("host_to_gpu", 30.0, gpu=1, numa=1)
    assert check(rules, file)[0] == 0
