"""Acceptance: files of rules, the sets that come with the suite, and the runs that these rest on."""

import re
from functools import cache
from pathlib import Path

import pytest

import documents
from documents import worth
from grainscope_report.acceptance import deriving, judge, rules
from grainscope_report.acceptance.rules import load
from grainscope_report.cli import main
from planted_checks import COPY, VISITS, machine
from stored import TOGETHER


@pytest.mark.parametrize(("text", "message"), [
    ("rule = [", "is no TOML"),
    ("[[rule]]\nid = 1\n", "`id` must be text, not 1"),
    (COPY + "lowr = 1\n", "there is no key `lowr`; did you mean `lower`?"),
    (COPY + "[rules]\n", "there is no key `rules`; did you mean `rule`?"),
    (COPY + COPY, "two rules have the id 'to-gpu'"),
    (COPY.replace("lower = 50.0", 'lower = "50"'), "`lower` must be a number, not '50'"),
    (COPY.replace("lower = 50.0", "lower = nan"), "`lower` must be finite, not nan"),
    (COPY.replace("lower = 50.0", "lower = 64.0"), "must not fall"),
    (COPY.replace('"GB/s"', '"GiB/s"'), "there is no unit 'GiB/s'"),
    (COPY.replace('"GB/s"', '"ms"'), "`unit` of a rate must be one of GB/s, MB/s, TB/s, not 'ms'"),
    (COPY.replace("where", "were"), "it needs either `where` (rows) or `link`"),
    (COPY.replace("lower = 50.0\n", "").replace("upper = 63.0\n", ""), "`target` alone decides nothing"),
    (COPY.replace('"pinned_to_gpu"', "[]"), "must be a value, or a list of values"),
    (COPY.replace('"pinned_to_gpu"', "true"), "`path` must be a value"),
    ('[node]\nthrottle = ["nonsense"]\n' + COPY, "there is no reason 'nonsense'; there are gpu_idle, "),
    (COPY.replace("fer/mem", "fer/mam"), "there is no family 'transfer/mamcpy'; did you mean 'transfer/mem"),
    (COPY.replace("transfer/memcpy", "x"), "there is no family 'x'; `grainscope --families` lists all"),
    (COPY.replace("bytes", "byte"), "rows of transfer/memcpy have no axis `byte`; did you mean `bytes`?"),
    (COPY.replace("bytes", "size"), "rows of transfer/memcpy have no axis `size`; they have bytes, "),
    (COPY + 'relative_to = "moon"\n', "must be one of link, theoretical, reference"),
    (COPY + 'metric = "median_s"\nrelative_to = "link"\n', "only a row's bandwidth_gb_s"),
    ('[[rule]]\nid = "x"\nlink = "up"\nlower = 1\n', "`link` must be one of host_to_gpu"),
    ("", "there is no [[rule]] in it"),
    ("rule = 3\n", "`rule` must be tables, each headed [[rule]], not 3"),
    ("rule = [3]\n", "`rule` must hold tables, each headed [[rule]], not 3"),
    ("[run]\npreset = 'fast'\n" + COPY, "`preset` must be one of smoke"),
    ("[run]\nvisits = 0\n" + COPY, "`visits` must be at least 1, not 0"),
    ("[run]\nvisits = true\n" + COPY, "`visits` must be a whole number, not True"),
    ("[node]\ngovernor = 3\n" + COPY, "`governor` must be text or a list of texts, not 3"),
    ("[node]\ngovernors = 'x'\n" + COPY, "there is no key `governors`; did you mean `governor`?"),
    ("[node]\necc = 1\n" + COPY, "`ecc` must be true or false, not 1"),
    ("[node]\nlink_width = 0\n" + COPY, "`link_width` must be at least 1, not 0"),
    ("[allowance]\nwarm = 1\n" + COPY, "there is no key `warm`"),
    ("[allowance]\ngated = 1\n" + COPY, "`gated` must be a table, not 1"),
    ("[allowance]\ngated = { visit = 1 }\n" + COPY, "`run` is missing"),
    ("[allowance]\ngated = { visit = -1, run = 1 }\n" + COPY, "`visit` must be at least 0 and at most 100"),
    ("[basis]\nruns = -1\n" + COPY, "`runs` must be at least 0, not -1"),
])  # fmt: skip
def test_bad_rules_are_one_sentence(check, text, message):
    status, said, _ = check(text, machine())
    assert status == 2
    assert message in said
    assert said.count("\n") == 1


def test_rules_that_are_not_there(tmp_path, capsys):
    path = machine().write(tmp_path / "x.json")
    assert main(["check", str(path), "--rules", "pcie9"]) == 2
    assert "one of the sets nvlink, pcie3, pcie4, pcie5" in capsys.readouterr().err
    assert main(["check", str(path), "--rules", str(tmp_path)]) == 2


def test_every_limit_of_the_shipped_sets_has_a_source():
    assert rules.shipped() == ["nvlink", "pcie3", "pcie4", "pcie5"]
    for name in rules.shipped():
        found = rules.load(name)
        assert (found.run.preset, found.run.visits) == ("acceptance", VISITS)
        assert all(len(rule.source) > 20 for rule in found.rules)
        assert "gated" in found.allowance


ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "results" / "reference"
RESTING = [(name, file) for name in rules.shipped() for file in rules.load(name).basis.files]


@cache
def runs(name: str):
    return deriving.read(rules.load(name), ROOT, documents.read)


@TOGETHER
def test_limits_sources_and_allowances_are_what_the_runs_say():
    stale = [
        path.name
        for path, text in deriving.sets(ROOT, documents.read).items()
        if path.read_text("utf-8") != text
    ]
    assert stale == [], "run scripts/docs"


@TOGETHER
@pytest.mark.parametrize("name", rules.shipped())
def test_a_set_says_how_many_runs_and_machines_it_rests_on(name):
    basis = rules.load(name).basis
    assert (basis.runs, basis.machines) == (len(runs(name)), len(deriving.machines(runs(name))))


@TOGETHER
@pytest.mark.parametrize(("name", "file"), RESTING)
def test_every_run_that_a_set_rests_on_keeps_it(name, file):
    judged = judge.judge(documents.read(ROOT / file), [rules.load(name)], None, any_run=True)
    assert [one for one in judged if one.status in judge.BROKEN] == []
    assert {one.status for one in judged if one.got} == {judge.PASSED}
    assert sum(one.status == judge.PASSED for one in judged) > 5


@TOGETHER
def test_no_committed_run_of_a_whole_preset_is_left_out():
    """A set that is for a run rests on it: runs of all of `quick` or `full` on PCIe 5.

    But for the one that nothing is made of, which keeps the rules all the same.
    """
    unseen = REFERENCE / worth.UNSEEN
    judged = judge.judge(documents.read(unseen), [rules.load("pcie5")], None, any_run=True)
    assert {one.status for one in judged if one.got} == {judge.PASSED}
    named = {ROOT / file for _, file in RESTING} | {unseen}
    for path in [*REFERENCE.rglob("*.json"), *REFERENCE.rglob("*.json.gz")]:
        run = documents.read(path)
        if run.links and not run.run.filter and run.run.complete and run.run.shard.count == 1:
            assert path in named


@TOGETHER
def test_of_runs_of_several_visits_none_is_rejected_by_the_others():
    found = deriving.rejected(rules.load("pcie5"), runs("pcie5"))
    several = {str(one.path) for one in runs("pcie5") if one.run.visits >= deriving.SEVERAL}
    assert len(several) >= 4
    assert not several & found.broken.keys()
    assert len(found.broken) <= 2  # each with one disturbed visit, where a set asks for five


@TOGETHER
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


def test_the_reference_machines_keep_the_shipped_sets(capsys):
    h100, h200 = (str(REFERENCE / name) for name in ("h100-quick.json", "h200x2-quick.json.gz"))
    assert main(["check", h100, "--rules", "pcie5", "--any-run"]) == 0
    assert main(["check", h200, "--rules", "nvlink", "--any-run"]) == 0
    # Of GPU 1 `quick` has links and rows between GPUs, no others.
    assert main(["check", h200, "--rules", "pcie5", "--any-run"]) == 5
    # One GPU is not two, `quick` is not `acceptance`, and no GPU is none.
    assert main(["check", h100, "--rules", "nvlink", "--any-run"]) == 5
    assert "there is 1: no rule of NVLink is for this machine" in " ".join(capsys.readouterr().out.split())
    assert main(["check", h200, "--rules", "nvlink"]) == 5
    assert main(["check", str(REFERENCE / "no-gpu-quick.json"), "--rules", "pcie5", "--any-run"]) == 1


def test_reasons_that_hold_clocks_down_are_those_that_the_program_writes():
    source = (ROOT / "src/system/nvml.cpp").read_text()
    [listed] = re.findall(r"kEventReasons\[\] = {(.*?)}", source, re.DOTALL)
    assert tuple(re.findall(r'"(\w+)"', listed)) == rules.REASONS


def test_a_reason_without_a_name_is_one(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[node]\nthrottle = ["bit_12"]\n' + COPY)
    assert load(str(path)).node.throttle == ("bit_12",)
