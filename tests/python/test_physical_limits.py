"""Is a time that is half of what was measured impossible, in each family of runs of today's schema?

tests/unit/harness/row_test.cpp asks the same of an older run, by the program's own judgement.
"""

import re

import pytest

import documents
from documents import worth
from grainscope_report.model import Row
from stored import PROJECT, TOGETHER

pytestmark = TOGETHER

# Families whose limit lets half of their time pass in every row: what is caught once is taken out, and no
# family may come to these (docs/method.md, Physical limits).
NOT_CAUGHT = {
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
# Caught in one run and just not in the other.
NEAR = {"acceptance/h100-d.json.gz": set(), "acceptance/two-h200-4.json.gz": {"traversal/sssp"}}


def measured(name: str) -> list[Row]:
    return [row for row in documents.rows_of(name) if row.measured]


@pytest.mark.parametrize("name", worth.LIMITED)
def test_half_the_time_is_caught_in_all_families_but_those_that_are_named(name):
    assert {*worth.not_caught(name)} == NOT_CAUGHT | NEAR[name]


@pytest.mark.parametrize("name", worth.LIMITED)
def test_what_was_measured_is_possible_and_every_row_has_a_limit(name):
    assert [row.name for row in measured(name) if worth.is_impossible(row, 1.0)] == []
    assert [row.name for row in measured(name) if not (row.limit_gb_s or row.limit_operation_s)] == []


def test_a_hundredth_of_the_time_is_caught_but_for_what_is_named():
    assert {*worth.caught_in_none(1 / 100)} == {
        "call",
        "host/malloc",
        "sampling/neighbours",
        "tiering/reorder",
        "tiering/score",
    }


def test_the_page_names_them():
    assert {*re.findall(r"`([^`]+)`", worth.limits_caught("families"))} == NOT_CAUGHT
    assert int(worth.limits_caught("left")) == len(NOT_CAUGHT)


def test_a_clock_may_be_short_by_what_the_program_allows():
    source = (PROJECT / "src/core/operation.cpp").read_text()
    [allowed] = re.findall(r"kClockError_s = ([\d.e-]+);", source)
    assert float(allowed) == worth.CLOCK_ERROR_S
