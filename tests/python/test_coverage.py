"""docs/coverage.md names cases that exist, and forgets nothing.

The cases are those of the preset `quick` on two H200, those that were skipped too.
"""

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RESULT = HERE.parents[1] / "results" / "reference" / "h200x2-quick.json"
CASES = [row["name"] for row in json.loads(RESULT.read_text())["benchmarks"]]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (HERE.parents[1] / "docs" / "coverage.md").read_text().splitlines()
    if line.startswith("| `")
]
PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")
NVBANDWIDTH = 35  # single-node test cases of 0.8
NCCL_TESTS = 6  # of 2.19, those that only move bytes
COMM_SCOPE = 68  # benchmarks of 0.12 for CUDA, one with and one without a flush counted once


def spans(cell: str) -> list[str]:
    """What a cell has in code, but for abbreviations."""
    return [span for span in re.findall(r"`([^`]+)`", cell) if "…" not in span]


FILTERS = sorted({span for row in ROWS for span in spans(row[1])})


def test_every_row_has_three_cells_and_begins_with_a_filter():
    for row in ROWS:
        assert len(row) == 3, row
        assert all(row), row
        assert row[1].startswith("`"), row


def test_nothing_of_theirs_is_missing_or_there_twice():
    theirs = [spans(row[0])[0] for row in ROWS]
    assert len(set(theirs)) == len(theirs)
    # nvbandwidth's are in lower case throughout.
    cases = [
        name for name in theirs if not name.startswith(("Comm_", "libc_")) and not name.endswith("_perf")
    ]
    assert len(cases) == NVBANDWIDTH
    assert sum(name.endswith("_perf") for name in theirs) == NCCL_TESTS
    assert len(theirs) - len(cases) - NCCL_TESTS == COMM_SCOPE
    for engine in ("ce", "sm"):
        assert sum(name.endswith(f"_{engine}") for name in cases) == {"ce": 16, "sm": 18}[engine]


@pytest.mark.parametrize("pattern", FILTERS)
def test_a_filter_matches_a_case_of_two_h200(pattern):
    assert any(re.search(pattern, name) for name in CASES)


def test_a_filter_that_matches_nothing_would_be_seen():
    assert not any(re.search("transfer/duplex/gpu_gpu/copy_engine/sideways", name) for name in CASES)


def words(name: str) -> str:
    """A name without its numbers: family, what and how."""
    return "/".join(word for word in name.split("/") if ":" not in word)


@cache
def known() -> frozenset[str]:
    """The cases of the program, as it names them here, whether they run or are skipped."""
    runs, plan = (
        subprocess.run([PROGRAM, flag, "--v=1"], capture_output=True, text=True, check=True).stdout
        for flag in ("--benchmark_list_tests", "--plan")
    )
    skipped = {line.strip() for line in plan.splitlines() if line.startswith("  ")}
    return frozenset(runs.split()) | skipped


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM does not name the program")
@pytest.mark.parametrize("pattern", FILTERS)
def test_a_filter_matches_a_case_of_the_program(pattern):
    assert any(re.search(pattern, name) for name in known())


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM does not name the program")
def test_the_program_still_has_the_cases_of_the_run():
    mapped = [name for name in CASES if any(re.search(pattern, name) for pattern in FILTERS)]
    assert {words(name) for name in mapped} <= {words(name) for name in known()}
