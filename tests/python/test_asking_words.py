"""What is understood of a question: as the program does, whatever words say it, and what is refused."""

import copy
import json
import re
import string
import subprocess
import time
from types import SimpleNamespace

import pytest

from asked import meant, says, why_not
from command_lines import PROGRAM
from grainscope_report.asking import sentence
from grainscope_report.asking.sentence import understand
from grainscope_report.errors import ReportError
from stored import PROJECT, hold
from synthetic import MIB

GOLDEN = json.loads((PROJECT / "tests/golden/questions.json").read_text())
needs_program = pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
# One sentence of ordinary words for each family.
REACHED = {
    "host/memcpy": "how fast does the cpu copy host memory",
    "host/latency": "memory latency",
    "host/first_touch": "first touch huge pages",
    "host/malloc": "malloc",
    "host/flush": "cache flush",
    "transfer/memcpy": "h2d",
    "transfer/host_copy": "staging copy",
    "transfer/kernel_copy": "kernel copy d2h",
    "transfer/zero_copy": "zero-copy",
    "transfer/managed": "unified memory",
    "transfer/duplex": "bidirectional",
    "transfer/local": "d2d",
    "transfer/peer": "p2p",
    "transfer/collective": "ring",
    "transfer/relay": "borrowed links",
    "collective/all_reduce": "allreduce",
    "collective/all_gather": "all gather",
    "collective/reduce_scatter": "reduce scatter",
    "collective/broadcast": "broadcast",
    "collective/all_to_all": "all to all",
    "collective/send_receive": "send and receive",
    "transfer/written": "written transfers",
    "latency/chase": "pointer chase",
    "latency/managed_touch": "page fault latency",
    "latency/flag": "ping-pong",
    "call": "kernel launch",
    "contention": "interference",
    "grain/pieces": "4 KiB pieces",
    "grain/gpu_memory": "pieces in gpu memory",
    "grain/saturation": "how many SMs fill the link",
    "reach/gather": "random access",
    "gather": "feature gathering",
    "gather/bag": "embedding bags",
    "sm_share/gather": "green contexts",
    "sm_share/split": "gather and compute",
    "shape/copy": "halo",
    "shape/pages": "paged copies",
    "traversal/bfs": "bfs kron",
    "traversal/cc": "connected components",
    "traversal/pr": "pagerank",
    "traversal/sssp": "shortest paths",
    "lean/bfs": "direction-optimising bfs",
    "lean/cc": "compressed connected components",
    "lean/pr": "compressed pagerank",
    "lean/sssp": "lean sssp",
    "sampling/neighbours": "neighbor sampling",
    "tiering/score": "hot rows",
    "tiering/reorder": "renumbering",
    "pipeline/graphsage": "graphsage training",
    "model/bfs": "modelled bfs",
    "model/cc": "modelled connected components",
    "model/pr": "predicted pagerank",
    "model/sssp": "modelled sssp",
    "model/uvm": "modelled uvm",
    "model/gather": "modelled gather",
}
BOTH_WAYS = ["from GPU 0 to GPU 1", "from GPU 1 to GPU 0"]


def as_written(question: str) -> tuple[str, dict]:
    try:
        return "understood", {"question": question, **understand(question).as_json()}
    except ReportError as refused:
        return "refused", {"question": question, "why": str(refused)}


@pytest.mark.parametrize("each", GOLDEN["understood"], ids=lambda each: each["question"])
def test_a_question_is_understood_as_the_program_does(each):
    assert {"question": each["question"]} | understand(each["question"]).as_json() == each


@pytest.mark.parametrize("each", GOLDEN["refused"], ids=lambda each: each["question"])
def test_a_question_is_refused_as_the_program_does(each):
    assert why_not(each["question"]) == each["why"]


def test_the_golden_questions_are_written_as_they_are_understood():
    """A new question is a line with `question` alone; GRAINSCOPE_NEW_GOLDEN=1 writes the rest."""
    made: dict[str, list[str]] = {"understood": [], "refused": []}
    for each in GOLDEN["understood"] + GOLDEN["refused"]:
        part, told = as_written(each["question"])
        made[part].append(json.dumps(told, ensure_ascii=False))
    between = ",\n  "
    parts = (f' "{name}": [\n  {between.join(lines)}\n ]' for name, lines in made.items())
    hold("questions.json", "{\n" + ",\n".join(parts) + "\n}\n")


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ("64KiB", True),
        ("65536", True),
        ("all", True),
        ("4KiB..64KiB", True),
        ("64KiB..x4..1MiB", True),
        ("4KiB..32KiB", False),
        ("128KiB..1MiB", False),
        ("..64KiB", False),
        ("most", False),
    ],
)
def test_an_axis_of_numbers_has_what_lies_in_a_range(value, holds):
    case = SimpleNamespace(axes={"bytes": 65536}, site={})
    assert sentence.has(case, "bytes", [value]) is holds


@needs_program
def test_words_that_are_values_too_follow_their_axis_behind_a_comma():
    listed = subprocess.run([PROGRAM, "--families=json"], capture_output=True, text=True, check=True).stdout
    taken = {
        (axis["key"], value)
        for family in json.loads(listed)
        for axis in family["axes"]
        if not re.search("number|size", axis["takes"])
        for value in re.split(", | or ", axis["takes"])
        if value in sentence.phrases() or value in sentence.wants()
    }
    assert len(taken) > 40
    for axis, value in taken:
        assert list(sentence._words(f"{axis}=other,{value}")) == [f"{axis}=other,{value}"]


@needs_program
@pytest.mark.parametrize("value", ["bytes=4KiB..x4..64KiB", "threads=all", "bytes=4KiB,64KiB"])
def test_the_program_runs_what_an_axis_is_given(value):
    asked = ["ask", "host", "memcpy", value, "--benchmark_list_tests"]
    names = subprocess.run([PROGRAM, *asked], capture_output=True, text=True, check=True).stdout.split()
    assert names
    assert all(name.startswith("host/memcpy/") for name in names)


@needs_program
def test_a_question_that_is_no_question_is_refused():
    done = subprocess.run([PROGRAM, "ask", "1" * 60_000, "--plan"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "60000 letters" in done.stderr


def test_the_golden_questions_say_something():
    assert len(GOLDEN["understood"]) > 50
    assert len(GOLDEN["refused"]) > 10
    assert {each["want"] for each in GOLDEN["understood"]} == {"", *sentence.table()["wants"]}


@pytest.mark.parametrize("family", sentence.families())
def test_ordinary_words_reach_every_family(family):
    assert family in understand(REACHED[family]).families


def test_no_sentence_reaches_all():
    for family, question in REACHED.items():
        assert len(understand(question).families) <= 4, (family, question)


def test_every_phrase_is_understood_and_of_one_word():
    phrases = [phrase for entry in sentence.table()["words"] for phrase in entry["words"]]
    assert len(phrases) == len(set(phrases)) > 200
    letters = set(string.ascii_lowercase + string.digits + " /")
    for phrase in phrases:
        assert understand(phrase).families, phrase
        assert set(phrase) <= letters, phrase


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("h2d pinned 64MiB", "HtoD, page-locked, 64 mib"),
        ("h2d pinned 64MiB", "64M from host to device? pinned."),
        ("h2d pinned 64MiB", "pinned_to_gpu bytes 67108864"),
        ("unified memory", "UVM"),
        ("p2p 1MiB", "peer-to-peer 1048576"),
        ("zero-copy", "zero_copy"),
    ],
)
def test_words_for_the_same_thing_are_understood_alike(one, other):
    first, second = understand(one).as_json(), understand(other).as_json()
    assert first.pop("text").split(", ")[0] == second.pop("text").split(", ")[0]
    assert first == second


def test_words_about_one_thing_are_alternatives_and_about_two_hold_together(show):
    [machine] = show("traversing")
    cases = [row.case for row in machine.result.rows]

    def count(question: str) -> int:
        return sum(map(understand(question).matches, cases))

    assert count("bfs sssp kron") == count("bfs kron") + count("sssp kron")
    assert 0 < count("bfs kron") < count("bfs")


def test_a_size_belongs_to_the_word_beside_it():
    sizes = understand("rows of 512 B from a 4 GiB table").sizes_of("gather")
    assert sizes == {"row": [(512, 512)], "span": [(4 << 30, 4 << 30)]}


@pytest.mark.parametrize(
    ("question", "axes", "sizes"),
    [
        ("bandwidth from gpu 0 to gpu 1", {}, []),
        ("h2d to gpu 1", {"gpu": ["1"]}, []),
        ("pinned host to gpu 1 at 64 MiB", {"gpu": ["1"]}, [64 * MIB]),
        ("pinned to gpu 64 MiB", {}, [64 * MIB]),
        ("h2d gpu 64 MiB", {}, [64 * MIB]),
        ("host to gpu with 2 streams", {"streams": ["2"]}, []),
        ("h2d streams 4", {"streams": ["4"]}, []),
        ("host memcpy threads 16 4096", {"threads": ["16"]}, [4096]),
        ("host memcpy 16 threads 4096", {"threads": ["16"]}, [4096]),
        ("peer 1 zero-copy", {"peer": ["1"]}, []),
        ("p2p 4096", {}, [4096]),
    ],
)
def test_a_number_belongs_to_the_word_that_takes_one(question, axes, sizes):
    understood = understand(question)
    assert understood.axes == axes
    assert [low for (low, _), _ in understood.sizes] == sizes


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("h2d 0", "'0' is not a size: write e.g. 4096, 64KiB, 16MiB or 2GiB"),
        ("h2d 0 KiB", "'0' is not a size: write e.g. 4096, 64KiB, 16MiB or 2GiB"),
        ("h2d 1,024 KiB", "'1,024' may be one number or several: write 1024, or a space after each comma"),
        ("h2d 50GB/s", "'50GB/s' is a rate, which is what a run answers: ask for a size or a way"),
        ("faster than 50 GB/s", "'50 GB/s' is a rate, which is what a run answers: ask for a size or a way"),
        ("h2d 400 Gbps", "'400 Gbps' is a rate, which is what a run answers: ask for a size or a way"),
    ],
)
def test_a_number_that_is_no_size_says_so(question, why):
    assert why_not(question) == why


def test_several_sizes_may_stand_behind_commas():
    assert [low for (low, _), _ in understand("h2d 64KiB,128KiB, 4096").sizes] == [64 << 10, 128 << 10, 4096]


@pytest.mark.parametrize(
    ("question", "family", "axis", "places"),
    [
        ("gather host memory", "gather", "store", {"pageable", "pinned", "mapped", "managed"}),
        ("embedding bags in host memory", "gather/bag", "store", {"mapped"}),
        ("training host memory", "pipeline/graphsage", "store", {"pageable", "pinned", "mapped"}),
        ("neighbour sampling host memory", "sampling/neighbours", "placement", {"host", "mapped"}),
        ("bfs host memory", "traversal/bfs", "placement", {"mapped", "managed", "subway"}),
    ],
)
def test_host_memory_is_where_the_bytes_lie_whoever_reads_them(question, family, axis, places):
    assert meant(question, family, axis) == {(place,) for place in places}
    assert meant(question.replace("host memory", "cpu memory"), family, axis) == {(x,) for x in places}


@pytest.mark.parametrize(
    ("question", "family", "axis", "ways"),
    [
        ("gather cpu", "gather", "mode", {"cpu_gather", "cpu_gather_dma"}),
        ("training cpu", "pipeline/graphsage", "mode", {"cpu_only"}),
        ("neighbour sampling cpu", "sampling/neighbours", "by", {"cpu"}),
        ("bfs cpu", "traversal/bfs", "placement", {"subway"}),
    ],
)
def test_the_cpu_is_who_does_it_wherever_the_bytes_lie(question, family, axis, ways):
    assert meant(question, family, axis) == {(way,) for way in ways}


def test_who_does_it_and_where_the_bytes_lie_hold_together():
    both = meant("how fast does the cpu gather from host memory pinned", "gather", "mode", "store")
    assert both == {("cpu_gather_dma", "pinned")}
    assert "mapped" not in {store for (store,) in meant("gather cpu host memory", "gather", "store")}


@pytest.mark.parametrize("places", ["cpu or gpu memory", "gpu memory or cpu"])
@pytest.mark.parametrize(
    ("family", "axis"),
    [("sampling", "placement"), ("bfs", "placement"), ("training", "store"), ("gather", "store")],
)
def test_the_cpu_beside_another_place_is_host_memory(family, axis, places):
    named = understand(family).families[0]
    host = places.replace("cpu", "host memory")
    assert meant(f"{family} {places}", named, axis) == meant(f"{family} {host}", named, axis)


def test_host_memory_is_said_once_where_the_cpu_is_meant_as_well():
    said = understand("embedding bags cpu, host memory or gpu memory").text
    assert said == "gather/bag, embedding bags, host memory, the GPU's own memory"


def test_to_the_device_is_every_gather_but_the_one_that_brings_nothing_there():
    everything = {mode for (mode,) in meant("gather", "gather", "mode")}
    assert {mode for (mode,) in meant("gather h2d", "gather", "mode")} == everything - {"cpu_gather"}
    trained = {mode for (mode,) in meant("training", "pipeline/graphsage", "mode")}
    assert {mode for (mode,) in meant("training h2d", "pipeline/graphsage", "mode")} == trained - {"cpu_only"}


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


def test_the_best_way_stays_one_whatever_gpus_are_named():
    assert understand("best way h2d gpu 0 gpu 1").want == "best"
    assert understand("is pinned faster than pageable gpu 0").want == "best"
    assert understand("is pinned faster than pageable gpu 0 gpu 1").want == "best"


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


def test_the_words_about_two_gpus_are_those_of_the_table(monkeypatch):
    table = copy.deepcopy(sentence.table())
    table["pair"]["reads"].append("fetches")
    table["ranges"]["most"].append("no more than")
    monkeypatch.setattr(sentence, "table", lambda: table)
    assert says("gpu 0 fetches from gpu 1", "ends") == [BOTH_WAYS[1]]
    assert understand("h2d no more than 4 KiB").sizes == [((1, 4 << 10), ())]
