"""What docs/coverage.md says of the papers: what is missing is missing, what no preset or stored run has
is in none, and no cell is empty. Where a test fails here, a sentence there is out of date.
"""

import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from command_lines import PROGRAM
from documents import PROJECT, raw

needs_program = pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
PAGE = (PROJECT / "docs/coverage.md").read_text()
SECTION = PAGE[PAGE.index("\n## The four papers") :]
TABLES = re.findall(r"^\| in the paper .*?(?=\n\n)", SECTION, re.M | re.S)
RUNS = [
    json.loads(line)["file"]
    for line in (PROJECT / "results/reference/manifest.jsonl").read_text().splitlines()
]


def test_each_paper_has_a_table_without_blanks():
    assert len(TABLES) == 4
    for line in "\n".join(TABLES).splitlines():
        if line.startswith("|---"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        assert len(cells) == 3, line
        assert all(cells), line


def test_families_that_the_tables_name_are_there():
    families = set(re.findall(r"^## (\S+)$", (PROJECT / "docs/axes.md").read_text(), re.M))
    groups = {name.partition("/")[0] for name in families}
    named = set(re.findall(r"`((?!docs/)[a-z_]+/[a-z_]+)`", SECTION))
    assert named
    # Names within a family: lean/bfs of lean, call/take_mapped of call.
    assert not [name for name in named if name not in families and name.partition("/")[0] not in groups]


@cache
def axes(family: str) -> dict[str, str]:
    """What the values of each axis of a family may be, by name."""
    listed = subprocess.run([PROGRAM, "--families=json"], capture_output=True, text=True, check=True).stdout
    (found,) = (each for each in json.loads(listed) if each["name"] == family)
    return {axis["key"]: axis["takes"] for axis in found["axes"]}


@needs_program
def test_axes_that_are_said_to_be_missing_are():
    assert axes("traversal")["placement"] == "mapped, managed, device, peer, interleaved or subway"
    assert "row_dma" not in axes("pipeline/graphsage")["mode"]


@needs_program
def test_the_flag_that_is_said_to_be_missing_is():
    assert subprocess.run([PROGRAM, "--trace=x", "--plan"], capture_output=True, check=False).returncode == 2


def test_the_memory_of_the_gpu_is_not_counted():
    assert "dram__" not in (PROJECT / "scripts/grainscope-count").read_text()


@cache
def planned(*words: str) -> str:
    """The cases of a plan, whether they run or are skipped here."""
    command = [PROGRAM, *words, "--plan", "--full"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout


ALGORITHMS, PEERS = ("bfs", "sssp", "cc", "pr"), ("peer", "interleaved")
# What no other preset than paper has.
IN_PAPER = (
    "pipeline/graphsage/(naive|circular_shift)/.*gpus:2",
    "pipeline/graphsage/naive/.*bounded:off",
    "pipeline/graphsage/masked/.*row:16384",
    "pipeline/graphsage/cpu_gather_dma/.*row:16384",
    "pipeline/graphsage/.*(fanout:12x12x12|fanout:25x15)",
    "pipeline/graphsage/.*hidden:256",
    "pipeline/graphsage/.*placement:host",
    "pipeline/graphsage/.*placement:interleaved",
    "pipeline/graphsage/.*multi_gpu",
    "transfer/zero_copy/.*flush:off",
    "traversal/bfs/.*graph:road",
    *(f"traversal/{name}/(naive|merged|edge_gather)/{place}" for name in ALGORITHMS for place in PEERS),
    "transfer/memcpy/.*bytes:17179869184",
    *(f"sm_share/gather/mps_percentage/.*percent:{share}/" for share in ("7.5", "15", "20", "30", "40")),
    "traversal/(sssp|cc|pr)/(merge_path|block_mapped|merged_aligned_by_4)/device",
    "gather/.*neighbours:1",
)


@needs_program
@pytest.mark.parametrize("name", IN_PAPER)
def test_what_paper_is_said_to_have_it_has_alone(name):
    assert re.search(name, planned("--preset=paper"))
    assert not re.search(name, planned("--preset=full"))


# Rows that no stored run has, by a look at each row's case.
ABSENT = {
    "remote": lambda case: case["axes"].get("locality") == "remote",
    "hints of traversals other than bfs": lambda case: (
        case["family"].startswith("traversal/")
        and case["axes"].get("hint", "none") not in ("none", *HINTS_OF.get(case["family"], ()))
    ),
    "real graphs on a GPU": lambda case: (
        case["axes"].get("graph") in ("power", "pgp") and case["family"].startswith(("traversal/", "lean/"))
    ),
    "traversals by more than four GPUs, or over more than two": lambda case: (
        case["family"].startswith("traversal/")
        and (case["axes"].get("gpus", 1) > 4 or case["axes"].get("over", 2) > 2)
    ),
    "the papers' fan-outs by gathers of the CPU": lambda case: (
        case["family"] == "pipeline/graphsage"
        and case["axes"]["fanout"] in ("12x12x12", "25x15")
        and "cpu" in case["axes"]["mode"]
    ),
    "training on more than two GPUs": lambda case: (
        case["family"] == "pipeline/graphsage" and case["axes"].get("gpus", 1) > 2
    ),
    "gathers and copies of several neighbours": lambda case: (
        case["family"] in ("gather", "transfer/relay", "shape/pages")
        and case["axes"].get("neighbours", 0) > 1
    ),
    "scores of large archives with a tenth labelled": lambda case: (
        case["family"] == "tiering/score"
        and case["axes"]["graph"] in ("citation24", "papers24")
        and case["axes"].get("labelled") == 10
    ),
}


HINTS_OF = {"traversal/bfs": ("accessed_by", "preferred_gpu", "preferred_host", "prefetch")}


@cache
def cases() -> list[dict]:
    """What was measured, of every stored run."""
    return [row["case"] for name in RUNS for row in raw(name) if row["status"] == "ok"]


@pytest.mark.parametrize("name", ABSENT)
def test_what_no_stored_run_is_said_to_have_is_in_none(name):
    assert not [case for case in cases() if ABSENT[name](case)]


def test_zero_copy_that_was_not_flushed_is_in_one_run_beside_the_same_that_was():
    intervals: dict[str, dict[tuple, dict[str, list[float]]]] = {}
    for name in RUNS:
        for row in (row for row in raw(name) if row["case"]["family"] == "transfer/zero_copy"):
            if row["status"] != "ok":
                continue
            axes = dict(row["case"]["axes"])
            flush = axes.pop("flush", "on")
            of = intervals.setdefault(name, {}).setdefault(tuple(sorted(axes.items())), {})
            of[flush] = row.get("interval_s") or row["ci95_s"]
    unflushed = {name for name, cases in intervals.items() if any("off" in of for of in cases.values())}
    assert unflushed == {
        "h200-unflushed.json.gz",
        "h200-paper-1of12.json.gz",
        "h200-paper-2of12.json.gz",
        "h200-paper-3of12.json.gz",
        "h200-paper-4of12.json.gz",
        "h200-paper-5of12.json.gz",
    }  # the others: a part, so one alone
    name = "h200-unflushed.json.gz"
    assert all(of.keys() == {"on", "off"} for of in intervals[name].values())
    small = [of for axes, of in intervals[name].items() if dict(axes)["bytes"] < 16 << 10]
    assert len(small) == 4
    assert all(of["off"][0] < of["on"][1] and of["on"][0] < of["off"][1] for of in small)


def test_large_rows_are_trained_on_by_zero_copy_and_by_gathers_of_the_cpu_in_one_run():
    modes: dict[str, set[str]] = {}
    for name in RUNS:
        for row in raw(name):
            axes = row["case"]["axes"]
            if row["status"] == "ok" and row["case"]["family"] == "pipeline/graphsage" and axes["row"] > 2312:
                modes.setdefault(name, set()).add(axes["mode"])
    assert {name for name, of in modes.items() if "cpu_gather_dma" in of} == {
        "h200-paper-sampling.json.gz",
        "two-h200-paper-large-rows.json.gz",
    }
    assert modes.pop("two-h200-paper-large-rows.json.gz") == {"cpu_gather_dma", "masked"}
    assert modes.pop("h200-paper-sampling.json.gz") == {"cpu_gather_dma"}
    # Of parts of the preset those cases that each happens to have.
    assert [modes.pop(f"h200-paper-{part}of12.json.gz") for part in (1, 4, 5)] == [{"naive"}] * 3
    assert all("masked" in of for of in modes.values())
    assert modes.keys() >= {"h100-paper-training.json.gz"}


HINTS = {"read_mostly", "preferred_gpu", "preferred_host", "accessed_by", "prefetch"}


def test_stored_runs_have_copies_by_all_hints_and_some_of_gathers():
    of: dict[str, dict[str, set[str]]] = {}
    for name in RUNS:
        for row in raw(name):
            axes = row["case"]["axes"]
            if row["status"] == "ok" and "hint" in axes:
                of.setdefault(row["case"]["family"], {}).setdefault(name, set()).add(axes["hint"])
    assert of.keys() == {"transfer/managed", "gather", "traversal/bfs"}
    assert of["transfer/managed"] == {
        "h100-quick-now.json.gz": HINTS,
        "h100-quick-short.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/h100-d.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/h200-d.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/h200-e.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/h200-f.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/h200-g.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/h200-h.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/h200-i.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/h200-j.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/h200-k.json.gz": {"read_mostly", "accessed_by"},
        "h200-quick-unseen.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/two-h200-3.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/two-h200-4.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/two-h200-5.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/two-h200-6.json.gz": {"read_mostly", "accessed_by"},
        "acceptance/two-h200-7.json.gz": {"read_mostly", "accessed_by"},
        "h100-kinds.json.gz": {"read_mostly", "accessed_by"},
        "h100-full-1of2.json.gz": HINTS,
        "h100-full-2of2.json.gz": HINTS,
        "h200-full-1of3.json.gz": HINTS - {"none"},
        "h200-managed-counted.json.gz": HINTS - {"none"},
        "h200-programs.json.gz": HINTS,
    }
    assert of["gather"]["h100-quick-now.json.gz"] == {"read_mostly", "accessed_by"}
    assert of["traversal/bfs"]["h100-quick-now.json.gz"] == {"none", "accessed_by"}


def test_moved_bytes_of_stored_traversals_are_of_hints_under_which_pages_leave():
    of = {
        (row["case"]["family"], row["case"]["axes"]["graph"], row["case"]["axes"].get("hint", "read_mostly"))
        for name in RUNS
        for row in raw(name)
        if row["status"] == "ok" and row.get("counters", {}).get("moved_bytes")
        if row["case"]["family"].startswith("traversal/")
    }
    kron21 = {("traversal/bfs", "kron21", hint) for hint in ("none", "preferred_gpu", "prefetch")}
    assert of == kron21 | {("traversal/bfs", "kron19", "none")}


def test_stored_runs_have_timelines_of_one_gpu_and_of_two_by_one_process_and_by_one_for_each():
    assert "figure 3.11) | `pipeline/graphsage`" in PAGE
    found = {
        (name, len({stage.get("gpu") for stage in row["timeline"]}), row["case"]["axes"].get("processes"))
        for name in RUNS
        for row in raw(name)
        if "timeline" in row
    }
    assert found == {
        ("h100-full-1of2.json.gz", 1, None),
        ("h100-full-2of2.json.gz", 1, None),
        ("h200-full-1of3.json.gz", 1, None),
        ("h100-kron24-tiers.json.gz", 1, None),
        ("h100-paper-training.json.gz", 1, None),
        ("h100-quick-now.json.gz", 1, None),
        ("h100-quick-short.json.gz", 1, None),
        ("acceptance/h100-d.json.gz", 1, None),
        ("acceptance/h200-d.json.gz", 1, None),
        ("acceptance/h200-e.json.gz", 1, None),
        ("acceptance/h200-f.json.gz", 1, None),
        ("acceptance/h200-g.json.gz", 1, None),
        ("acceptance/h200-h.json.gz", 1, None),
        ("acceptance/h200-i.json.gz", 1, None),
        ("acceptance/h200-j.json.gz", 1, None),
        ("acceptance/h200-k.json.gz", 1, None),
        ("h200-power.json.gz", 1, None),
        ("acceptance/two-h200-3.json.gz", 1, None),
        ("acceptance/two-h200-3.json.gz", 2, None),
        ("acceptance/two-h200-4.json.gz", 1, None),
        ("acceptance/two-h200-4.json.gz", 2, None),
        ("acceptance/two-h200-5.json.gz", 1, None),
        ("acceptance/two-h200-5.json.gz", 2, None),
        ("acceptance/two-h200-6.json.gz", 1, None),
        ("acceptance/two-h200-6.json.gz", 2, None),
        ("acceptance/two-h200-7.json.gz", 1, None),
        ("acceptance/two-h200-7.json.gz", 2, None),
        ("h200-paper-1of12.json.gz", 1, None),
        ("h200-paper-2of12.json.gz", 1, None),
        ("h200-paper-3of12.json.gz", 1, None),
        ("h200-paper-4of12.json.gz", 1, None),
        ("h200-paper-5of12.json.gz", 1, None),
        ("h200-paper-sampling.json.gz", 1, None),
        ("h200-training-cpu.json.gz", 1, None),
        ("h200-quick-unseen.json.gz", 1, None),
        ("acceptance/no-gpu-4.json.gz", 1, None),
        ("no-gpu-products.json.gz", 1, None),
        ("two-h200-paper-large-rows.json.gz", 1, None),
        ("two-h100-processes.json.gz", 2, None),
        ("two-h100-processes.json.gz", 2, "per_gpu"),
        ("two-h100-ranks.json.gz", 2, None),
        ("two-h100-ranks.json.gz", 2, "per_gpu"),
        ("two-h200-paper-training.json.gz", 2, None),
    }


def test_paths_in_the_tables_are_there():
    for path in re.findall(r"`((?:scripts|docs)/[a-z_/-]+)`", SECTION):
        assert Path(PROJECT / path).exists()


# Axes of training that stored runs are said to have, of what no preset but paper lists.
MEASURED = (
    {"mode": "naive", "bounded": "off", "gpus": 1, "row": 512},
    {"mode": "naive", "bounded": "off", "gpus": 2, "row": 1260},
    {"mode": "circular_shift", "bounded": "off", "gpus": 2},
    {"row": 4096},
    {"row": 8192},
    {"row": 16384},
    {"hidden": 16},
    *({"hidden": size} for size in (32, 64, 256, 512)),
    *({"percent": share, "processes": "mps"} for share in ("7.5", "15", "20", "30", "40")),
    {"fanout": "12x12x12"},
    {"fanout": "25x15"},
    {"placement": "host", "gpus": 1},
    {"placement": "host", "gpus": 2},
    {"placement": "interleaved", "gpus": 2},
    *({"store": "multi_gpu", "hot": percent} for percent in (1, 5, 10, 25, 50)),
    {"store": "multi_gpu", "hot": 10, "processes": "per_gpu"},
    {"mode": "cpu_gather_dma", "placement": "host", "processes": "per_gpu"},
)


@pytest.mark.parametrize("axes", MEASURED, ids=str)
def test_training_that_is_said_to_be_measured_is(axes):
    of_training = [case["axes"] for case in cases() if case["family"] == "pipeline/graphsage"]
    assert any(axes.items() <= case.items() for case in of_training)
