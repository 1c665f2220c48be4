"""Plain sentences: who reads and who writes, two GPUs, ranges of sizes, nodes, and what is no sentence."""

import re
from pathlib import Path

import pytest

from asked import RUNS, TWO_GPUS, told, why_not
from compared import H100
from grainscope_report.asking.sentence import understand
from synthetic import MIB, File


def two_nodes(tmp_path) -> Path:
    """Copies by the CPU within each of two nodes; the second takes 1.5 times as long."""
    file = File(gpus=(H100,))
    for node, seconds in ((0, 1e-3), (1, 1.5e-3)):
        axes = {"bytes": 64 * MIB, "threads": 1, "flush": "on", "locality": "local"}
        file.add("host/memcpy", axes, {"from_node": node, "to_node": node}, seconds, spread=0.001)
        chased = {"bytes": 64 * MIB, "pages": "4KiB", "locality": "local"}
        file.add("host/latency", chased, {"cpu_node": node, "memory_node": node}, seconds, spread=0.001)
    return file.write(tmp_path / "result.json")


@pytest.mark.parametrize(
    ("question", "direction"),
    [
        ("zero copy read", "read"),
        ("zero copy write", "write"),
        ("how fast can the gpu read host memory", "read"),
        ("how fast can the gpu write host memory", "write"),
        ("peer read", "read"),
        ("peer write", "write"),
    ],
)
def test_what_is_read_is_not_answered_by_what_is_written(capsys, question, direction):
    said = told(capsys, TWO_GPUS, question)
    other = {"read": "write", "write": "read"}[direction]
    assert "GB/s" in said
    assert not re.search(rf"\b{other}\b", said.partition("rows")[2]), said


def test_reading_and_writing_are_set_against_each_other(capsys):
    said = told(capsys, TWO_GPUS, "p2p read vs p2p write 64MiB")
    assert re.search(r"(reading|writing) (is faster than|and) (reading|writing)", said), said


def test_between_two_gpus_is_answered_by_what_joins_them(capsys):
    said = told(capsys, TWO_GPUS, "between gpu 0 and gpu 1 64MiB")
    assert said.startswith("transfer/peer, from GPU 0 to GPU 1, from GPU 1 to GPU 0, 64 MiB: ")
    assert "over NVLink, GPU 0, peer 1" in said


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "question",
    ["is gpu 1 faster than gpu 0", "is gpu 1 slower than gpu 0", "gpu 0 or gpu 1, which is better"],
)
def test_a_faster_gpu_is_one_of_two_places(capsys, question):
    assert understand(question).want == ""
    said = told(capsys, TWO_GPUS, question)
    assert "GPU 1 against GPU 0: " in said or "GPU 0 against GPU 1: " in said


def test_copies_without_peer_access_are_not_over_nvlink(capsys):
    """They go through host memory."""
    assert "peer access off" not in told(capsys, TWO_GPUS, "nvlink 256 MiB copy")
    assert "peer access off" in told(capsys, TWO_GPUS, "p2p 256 MiB copy")


# Words that stand for what people mean.


def test_emogi_is_a_way_that_others_stand_beside(capsys):
    """It reads edges in place, by merged and aligned accesses."""
    one = RUNS / "h100-full-after.json.gz"
    assert re.search(
        r"bfs, kron21: EMOGI is faster than managed memory in", told(capsys, one, "emogi vs uvm bfs")
    )
    assert "subway and EMOGI" in told(capsys, one, "subway vs emogi bfs kron21")
    rows = told(capsys, one, "emogi bfs kron21").partition("rows")[2]
    assert "naive" not in rows
    assert "managed" not in rows


def test_a_word_that_leaves_nothing_out_leaves_the_finding(capsys):
    assert "fill the link with reads of" in told(capsys, TWO_GPUS, "how many SMs saturate pcie")
    assert "fill the link with reads of" not in told(capsys, TWO_GPUS, "how many SMs saturate pcie h2d")


def test_a_node_is_one_whatever_a_family_calls_it(tmp_path, capsys):
    file = two_nodes(tmp_path)
    assert told(capsys, file, "memory bandwidth node 0").count("ms") == 1
    assert "host/latency" in told(capsys, file, "memory latency node 1")
    assert "none has numa 2: they have numa 0, 1." in told(capsys, file, "memory bandwidth node 2", 5)
    assert "node 1 against node 0: " in told(capsys, file, "memory bandwidth node 0 vs node 1")
    assert "of 1 question" in told(capsys, file, "memory bandwidth node 0 vs node 1")


@pytest.mark.parametrize("digit", ["²", "٣", "４"])
def test_only_plain_digits_are_numbers(capsys, digit):
    """As in the program."""
    for question in (f"gpu {digit}", f"h2d {digit}", f"gpu{digit} h2d"):
        assert "is not a word that is known here" in why_not(question), question
    told(capsys, TWO_GPUS, f"h2d gpu={digit}|1", 5)
