"""Is a time that is half of what was measured impossible, in each family of runs of today's schema?

tests/unit/harness/row_test.cpp asks the same of an older run, by the program's own judgement.
"""

import gzip
import json
import re

import pytest

import documents
from documents import worth
from grainscope_report import reader
from grainscope_report.model import Row
from stored import PROJECT, ROOT, TOGETHER

pytestmark = TOGETHER

# Families whose limit lets half of their time pass in every row, of runs without a second clock: what is
# caught once is taken out, and no family may come to these (docs/method.md, Physical limits).
BY_LIMITS_ALONE = {
    "call",
    "host/first_touch",
    "host/flush",
    "host/malloc",
    "host/memcpy",
    "latency/chase",
    "latency/flag",
    "latency/managed_touch",
    "lean/bfs",
    "lean/cc",
    "sampling/neighbours",
    "sm_share/split",
    "tiering/reorder",
    "tiering/score",
    "transfer/host_copy",
}
NOT_CAUGHT = {
    "acceptance/h100-d.json.gz": BY_LIMITS_ALONE,
    "acceptance/two-h200-4.json.gz": BY_LIMITS_ALONE | {"traversal/sssp"},  # just not, there
    "acceptance/h200-f.json.gz": set(),
}


def measured(name: str) -> list[Row]:
    return [row for row in documents.rows_of(name) if row.measured]


@pytest.mark.parametrize("name", worth.LIMITED)
def test_half_the_time_is_caught_in_all_families_but_those_that_are_named(name):
    assert {*worth.not_caught(name)} == NOT_CAUGHT[name]


@pytest.mark.parametrize("name", worth.LIMITED)
def test_what_was_measured_is_possible_and_every_row_has_a_limit(name):
    assert [row.name for row in measured(name) if worth.is_impossible(row, 1.0)] == []
    assert [row.name for row in measured(name) if not (row.limit_gb_s or row.limit_operation_s)] == []


def test_half_the_time_is_caught_in_every_family_of_some_run():
    assert worth.caught_in_none(0.5) == []


def test_the_page_names_those_that_their_limits_alone_let_pass():
    assert {*re.findall(r"`([^`]+)`", worth.limits_caught("families"))} == BY_LIMITS_ALONE
    assert int(worth.limits_caught("left")) == len(BY_LIMITS_ALONE)


@pytest.mark.parametrize("times", [0.5, 2.0])
def test_a_time_that_another_clock_contradicts_fails_the_file(times):
    """A fault: all times of one visit, as a clock of another rate would tell them."""
    run = json.loads(gzip.decompress((ROOT / "acceptance/h200-f.json.gz").read_bytes()))
    rows = [row for row in run["benchmarks"] if row["name"].startswith("latency/chase/")]
    row = next(row for row in rows if row["status"] == "ok")
    row["visits"][row["middle"]]["median_s"] *= times
    said = [str(problem) for problem in reader.problems(ROOT / "planted.json", run)]
    assert sum("by another clock" in problem for problem in said) == 1, said


def test_a_clock_may_be_short_by_what_the_program_allows():
    source = (PROJECT / "src/core/operation.cpp").read_text()
    [allowed] = re.findall(r"kClockError_s = ([\d.e-]+);", source)
    assert float(allowed) == worth.CLOCK_ERROR_S
    for name, value in (
        ("kLeastOfAround", worth.LEAST_OF_AROUND),
        ("kMostOfAround", worth.MOST_OF_AROUND),
        ("kBeside_s", worth.BESIDE_S),
    ):
        [written] = re.findall(rf"{name} = ([\d.e-]+);", source)
        assert float(written) == value
