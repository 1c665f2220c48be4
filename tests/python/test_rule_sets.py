"""The shipped sets: limits follow from the runs that they name, and each of these runs keeps its set."""

from functools import cache
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.acceptance import deriving, judge, rules
from grainscope_report.cli import main

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "results" / "reference"
RESTING = [(name, file) for name in rules.shipped() for file in rules.load(name).basis.files]


@cache
def runs(name: str):
    return deriving.read(rules.load(name), ROOT)


def test_limits_sources_and_allowances_are_what_the_runs_say():
    stale = [path.name for path, text in deriving.sets(ROOT).items() if path.read_text("utf-8") != text]
    assert stale == [], "run scripts/docs"


@pytest.mark.parametrize("name", rules.shipped())
def test_a_set_says_how_many_runs_and_machines_it_rests_on(name):
    basis = rules.load(name).basis
    assert (basis.runs, basis.machines) == (len(runs(name)), len(deriving.machines(runs(name))))


@pytest.mark.parametrize(("name", "file"), RESTING)
def test_every_run_that_a_set_rests_on_keeps_it(name, file):
    judged = judge.judge(reader.read(ROOT / file), [rules.load(name)], None, any_run=True)
    assert [one for one in judged if one.status in judge.BROKEN] == []
    assert sum(one.status == judge.PASSED for one in judged) > 5


def test_no_committed_run_of_a_whole_preset_is_left_out():
    """A set that is for a run rests on it: runs of all of `quick` or `full` on PCIe 5."""
    named = {ROOT / file for _, file in RESTING}
    for path in [*REFERENCE.glob("*.json*"), *(REFERENCE / "acceptance").iterdir()]:
        run = reader.read(path)
        if run.links and not run.run.filter and run.run.complete:
            assert path in named


def test_of_runs_of_several_visits_none_is_rejected_by_the_others():
    found = deriving.rejected(rules.load("pcie5"), runs("pcie5"))
    several = {str(one.path) for one in runs("pcie5") if one.run.visits >= deriving.SEVERAL}
    assert len(several) >= 4
    assert not several & found.broken.keys()
    assert len(found.broken) <= 2  # each with one disturbed visit, where a set asks for five


def test_a_run_that_is_worse_than_all_others_is_rejected_and_moves_the_limit():
    asked = rules.load("pcie5")
    whole = runs("pcie5")
    [bad] = [one for one in whole if one.path.name == "h100-b1.json.gz"]
    slow = [
        deriving.replace(row, bandwidth_gb_s=row.bandwidth_gb_s * 0.8) if row.bandwidth_gb_s else row
        for row in bad.rows
    ]
    others = [one for one in whole if one is not bad]
    spoiled = deriving.replace(bad, rows=tuple(slow))
    assert "pinned-256MiB-to-gpu" in deriving.failures(deriving.derived(asked, others), spoiled)
    moved = deriving.derived(asked, [*others, spoiled])
    assert deriving.failures(moved, spoiled) == []
    limits = {rule.id: rule.limits.lower for rule in asked.rules}
    assert (
        next(rule.limits.lower for rule in moved.rules if rule.id == "pinned-256MiB-to-gpu")
        < limits["pinned-256MiB-to-gpu"]
    )


def test_the_reference_machines_keep_the_shipped_sets():
    h100, h200 = (str(REFERENCE / name) for name in ("h100-quick.json", "h200x2-quick.json"))
    assert main(["check", h100, "--rules", "pcie5", "--any-run"]) == 0
    assert main(["check", h200, "--rules", "pcie5", "--rules", "nvlink", "--any-run"]) == 0
    # One GPU is not two, `quick` is not `acceptance`, and no GPU is none.
    assert main(["check", h100, "--rules", "nvlink", "--any-run"]) == 1
    assert main(["check", h200, "--rules", "nvlink"]) == 1
    assert main(["check", str(REFERENCE / "no-gpu-quick.json"), "--rules", "pcie5", "--any-run"]) == 1
