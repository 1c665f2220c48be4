"""Plain sentences: who reads and who writes, two GPUs, ranges of sizes, nodes, and what is no sentence."""

import copy
import re
import time
from pathlib import Path

import pytest

from compared import H100
from grainscope_report.asking import sentence
from grainscope_report.asking.sentence import understand
from grainscope_report.cli import main
from grainscope_report.errors import ReportError
from synthetic import MIB, File

RUNS = Path(__file__).resolve().parents[2] / "results/reference"
ONE_GPU = RUNS / "acceptance/h200-a.json.gz"
TWO_GPUS = RUNS / "acceptance/two-h200-1.json.gz"
BOTH_WAYS = ["from GPU 0 to GPU 1", "from GPU 1 to GPU 0"]


def ask(capsys, file: Path, question: str, status: int = 0) -> str:
    assert main(["ask", str(file), *question.split()]) == status
    return " ".join(capsys.readouterr().out.split())


def why_not(question: str) -> str:
    with pytest.raises(ReportError) as refused:
        understand(question)
    return str(refused.value)


def says(question: str, about: str) -> list[str]:
    return [word.says for word in understand(question).words if word.about == about]


# Who reads, who writes.


@pytest.mark.parametrize(
    ("question", "families"),
    [
        ("how fast can the gpu read host memory", ["transfer/zero_copy"]),
        ("how fast can the gpu write host memory", ["transfer/zero_copy"]),
        ("how fast does the cpu read host memory", ["host/memcpy", "host/latency"]),
        ("how fast can a kernel write to pinned host memory", ["transfer/kernel_copy"]),
        ("p2p read", ["transfer/peer"]),
        ("h2d write", ["transfer/memcpy"]),
        ("read mostly", ["transfer/managed"]),
    ],
)
def test_the_gpu_reads_other_memory_than_the_cpu_copies(question, families):
    assert understand(question).families == families


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
    said = ask(capsys, TWO_GPUS, question)
    other = {"read": "write", "write": "read"}[direction]
    assert "GB/s" in said
    assert not re.search(rf"\b{other}\b", said.partition("rows")[2]), said


def test_reading_and_writing_are_set_against_each_other(capsys):
    said = ask(capsys, TWO_GPUS, "p2p read vs p2p write 64MiB")
    assert re.search(r"(reading|writing) (is faster than|and) (reading|writing)", said), said


def test_reading_is_no_condition_where_nothing_else_is_known():
    """A family whose rows do not tell reading from writing keeps them all."""
    assert understand("gather reads").families == understand("gather").families
    assert understand("is it better to copy or to read in place").families == (
        understand("copy or in place, better").families
    )


# Two GPUs.


@pytest.mark.parametrize(
    "question",
    [
        "bandwidth between gpu 0 and gpu 1",
        "between GPUs 0 and 1",
        "between the gpu 0 and the gpu 1",
        "latency between gpu0 and gpu1",
    ],
)
def test_between_two_gpus_is_both_ways(question):
    asked = understand(question)
    assert says(question, "ends") == BOTH_WAYS
    assert not asked.axes
    assert "transfer/peer" in asked.families
    assert "transfer/memcpy" not in asked.families


def test_between_two_gpus_is_answered_by_what_joins_them(capsys):
    said = ask(capsys, TWO_GPUS, "between gpu 0 and gpu 1 64MiB")
    assert said.startswith("transfer/peer, from GPU 0 to GPU 1, from GPU 1 to GPU 0, 64 MiB: ")
    assert "over NVLink, GPU 0, peer 1" in said


@pytest.mark.parametrize(
    "question",
    [
        "difference between gpu 0 and gpu 1",
        "compare gpu 0 and gpu 1",
        "is there a difference between gpus 0 and 1",
    ],
)
def test_a_difference_between_two_gpus_is_no_transfer(question):
    assert understand(question).axes == {"gpu": ["0", "1"]}
    assert not says(question, "ends")


@pytest.mark.parametrize(
    ("question", "way"),
    [
        ("gpu 0 reads gpu 1", BOTH_WAYS[1]),
        ("how fast can gpu 0 read gpu 1's memory", BOTH_WAYS[1]),
        ("gpu 0 reads the memory of gpu 1", BOTH_WAYS[1]),
        ("gpu 0 writes into gpu 1", BOTH_WAYS[0]),
        ("gpu 0 writes gpu 1's memory", BOTH_WAYS[0]),
        ("gpu 1 reading from gpu 0", BOTH_WAYS[0]),
    ],
)
def test_what_a_gpu_reads_comes_from_the_other(question, way):
    assert says(question, "ends") == [way]


def test_loads_from_another_gpu_are_of_the_gpu_that_reads():
    """The bytes of a load go from the peer to the GPU."""
    [word] = understand("gpu 1 to gpu 0 pointer chase").words[:1]
    [loads] = [one for one in word.means if "latency/chase" in one["in"]]
    assert (loads["gpu"], loads["peer"]) == (["0"], ["1"])


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "question",
    ["is gpu 1 faster than gpu 0", "is gpu 1 slower than gpu 0", "gpu 0 or gpu 1, which is better"],
)
def test_a_faster_gpu_is_one_of_two_places(capsys, question):
    assert understand(question).want == ""
    assert "GPU 1 against GPU 0: " in ask(capsys, TWO_GPUS, question) or "GPU 0 against GPU 1: " in ask(
        capsys, TWO_GPUS, question
    )


def test_the_best_way_stays_one_whatever_gpus_are_named():
    assert understand("best way h2d gpu 0 gpu 1").want == "best"
    assert understand("is pinned faster than pageable gpu 0").want == "best"
    assert understand("is pinned faster than pageable gpu 0 gpu 1").want == "best"


def test_copies_without_peer_access_are_not_over_nvlink(capsys):
    """They go through host memory."""
    assert "peer access off" not in ask(capsys, TWO_GPUS, "nvlink 256 MiB copy")
    assert "peer access off" in ask(capsys, TWO_GPUS, "p2p 256 MiB copy")


# Ranges.


@pytest.mark.parametrize(
    ("question", "size"),
    [
        ("h2d up to 1 MiB", (1, MIB)),
        ("h2d at most 64KiB", (1, 64 << 10)),
        ("h2d between 1 MiB and 4 MiB", (MIB, 4 * MIB)),
        ("h2d between 1 and 4 MiB", (MIB, 4 * MIB)),
        ("h2d 1 to 4 KiB", (1 << 10, 4 << 10)),
        ("h2d 64 to 256MiB", (64 * MIB, 256 * MIB)),
        ("h2d 128 to 4 KiB", (128, 4 << 10)),
        ("h2d 1024 to 4096", (1024, 4096)),
        ("h2d 1KiB to 4096", (1024, 4096)),
    ],
)
def test_a_range_is_no_single_size(question, size):
    assert understand(question).sizes_of("transfer/memcpy") == {"bytes": [size]}


def test_a_number_of_something_is_no_bound():
    asked = understand("host memcpy up to 16 threads")
    assert (asked.axes, asked.sizes) == ({"threads": ["16"]}, [])
    assert understand("between gpu 0 and gpu 1 between 1 and 4 MiB").sizes == [((MIB, 4 * MIB), ())]
    assert "ends before it begins" in why_not("h2d between 4 MiB and 1 MiB")


# Words that stand for what people mean.


def test_emogi_is_a_way_that_others_stand_beside(capsys):
    """It reads edges in place, by merged and aligned accesses."""
    one = RUNS / "h100-full-after.json.gz"
    assert re.search(
        r"bfs, kron21: EMOGI is faster than managed memory in", ask(capsys, one, "emogi vs uvm bfs")
    )
    assert "subway and EMOGI" in ask(capsys, one, "subway vs emogi bfs kron21")
    rows = ask(capsys, one, "emogi bfs kron21").partition("rows")[2]
    assert "naive" not in rows
    assert "managed" not in rows


@pytest.mark.parametrize(
    ("question", "like"),
    [
        ("memory bandwidth of the gpu", "gpu memory"),
        ("memory latency of the gpu", "pointer chase gpu memory"),
        ("one gpu to another", "p2p"),
        ("between the cpu and the gpu", "pcie"),
        ("cudaMallocHost 1 MiB", "host alloc 1 MiB"),
        ("d2d within the gpu", "d2d gpu memory"),
        ("which access is best for bfs", "best bfs"),
    ],
)
def test_other_words_for_it_reach_the_same_families(question, like):
    assert understand(question).families == understand(like).families


def test_the_latency_between_cpu_and_gpu_is_not_that_of_the_cpu_alone():
    found = understand("latency between cpu and gpu").families
    assert "latency/chase" in found
    assert not [name for name in found if name.startswith("host/")]


def test_a_word_that_leaves_nothing_out_leaves_the_finding(capsys):
    assert "fill the link with reads of" in ask(capsys, TWO_GPUS, "how many SMs saturate pcie")
    assert "fill the link with reads of" not in ask(capsys, TWO_GPUS, "how many SMs saturate pcie h2d")


def two_nodes(tmp_path) -> Path:
    """Copies by the CPU within each of two nodes; the second takes 1.5 times as long."""
    file = File(gpus=(H100,))
    for node, seconds in ((0, 1e-3), (1, 1.5e-3)):
        axes = {"bytes": 64 * MIB, "threads": 1, "flush": "on", "locality": "local"}
        file.add("host/memcpy", axes, {"from_node": node, "to_node": node}, seconds, spread=0.001)
        chased = {"bytes": 64 * MIB, "pages": "4KiB", "locality": "local"}
        file.add("host/latency", chased, {"cpu_node": node, "memory_node": node}, seconds, spread=0.001)
    return file.write(tmp_path / "result.json")


def test_a_node_is_one_whatever_a_family_calls_it(tmp_path, capsys):
    file = two_nodes(tmp_path)
    assert ask(capsys, file, "memory bandwidth node 0").count("ms") == 1
    assert "host/latency" in ask(capsys, file, "memory latency node 1")
    assert "none has numa 2: they have numa 0, 1." in ask(capsys, file, "memory bandwidth node 2", 5)
    assert "node 1 against node 0: " in ask(capsys, file, "memory bandwidth node 0 vs node 1")
    assert "of 1 question" in ask(capsys, file, "memory bandwidth node 0 vs node 1")


# What is no sentence.


@pytest.mark.parametrize("question", ["a" * 100_000, "1," * 50_000, "x1" * 20_000, "h2d " * 1000])
def test_a_huge_question_is_refused_at_once(question):
    began = time.monotonic()
    assert f"a question of {len(question)} letters: ask in at most 2000" == why_not(question)
    assert time.monotonic() - began < 1


def test_a_long_word_is_no_riddle():
    began = time.monotonic()
    assert "is not a word that is known here" in why_not("a" * 2000)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("digit", ["²", "٣", "４"])
def test_only_plain_digits_are_numbers(capsys, digit):
    """As in the program."""
    for question in (f"gpu {digit}", f"h2d {digit}", f"gpu{digit} h2d"):
        assert "is not a word that is known here" in why_not(question), question
    ask(capsys, ONE_GPU, f"h2d gpu={digit}|1", 5)


def test_the_words_about_two_gpus_are_those_of_the_table(monkeypatch):
    table = copy.deepcopy(sentence.table())
    table["pair"]["reads"].append("fetches")
    table["ranges"]["most"].append("no more than")
    monkeypatch.setattr(sentence, "table", lambda: table)
    assert says("gpu 0 fetches from gpu 1", "ends") == [BOTH_WAYS[1]]
    assert understand("h2d no more than 4 KiB").sizes == [((1, 4 << 10), ())]
