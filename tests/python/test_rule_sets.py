"""The limits of the shipped sets: each says what the reference machines measured and what was taken off."""

import re
from functools import cache
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.acceptance import judge, rules
from grainscope_report.cli import main
from grainscope_report.result import Result

ROOT = Path(__file__).resolve().parents[2]
# `…: 96.3 to 98.3 % on PCIe 5, …; less 3 points of the lowest`, or `10 % above the slowest`.
MEASURED = re.compile(r"(results/reference/[^:;]*): ([\d.]+) (?:to|and) ([\d.]+) (%|GB/s|µs)")
TAKEN = re.compile(r"less (\d) (points|%)|(\d+) % above the slowest")
EARLIER = re.compile(r"earlier runs \(commit \w+\), ([\d.]+), which these keep")
SCALE = {"%": 100, "GB/s": 1, "µs": 1e6}
# What a run's row must not be: see the rule's source and docs/procurement.md.
LEFT_OUT = {
    ("both-ways", "h100-quick.json"),
    ("both-ways", "h100-full.json.gz"),
    ("pinned-16MiB-to-gpu", "h200x2-quick.json"),
    ("pinned-256MiB-to-gpu", "h200x2-full.json.gz"),
}
RULES = [
    pytest.param(name, rule, id=f"{name}-{rule.id}")
    for name in rules.shipped()
    for rule in rules.load(name).rules
    if MEASURED.search(rule.source)
]


@cache
def result(name: str) -> Result:
    return reader.read(ROOT / "results" / "reference" / name)


def measured(name: str, rule: rules.Rule, unit: str) -> list[float]:
    """What the files that a limit's source names measured, of all rules of the set with that source."""
    alike = [one for one in rules.load(name).rules if MEASURED.search(one.source) and same(one, rule)]
    found = []
    for one in alike:
        for file in re.findall(r"[\w-]+\.json(?:\.gz)?", MEASURED.search(one.source)[1]):
            alone = rules.RuleSet("one", Path("one"), rules.RunRules(), (one,))
            judged = judge.judge(result(file), [alone], None, any_run=True)
            there = [part.value for case in judged for part in case.measurements]
            found += [value * SCALE[unit] for value in there if value and (one.id, file) not in LEFT_OUT]
    return found


def same(one: rules.Rule, two: rules.Rule) -> bool:
    """Whether two rules have one limit for both sizes or both directions."""
    return MEASURED.search(one.source)[0] == MEASURED.search(two.source)[0] and one.metric == two.metric


@pytest.mark.parametrize(("name", "rule"), RULES)
def test_a_measured_limit_follows_from_the_reference_files_that_it_names(name, rule):
    _, low, high, unit = MEASURED.search(rule.source).groups()
    found = measured(name, rule, unit)
    near = 0.0051 if unit == "µs" else 0.051
    assert (float(low), float(high)) == pytest.approx((min(found), max(found)), abs=near)
    taken = TAKEN.search(rule.source)
    if taken is None:
        return  # the limit is the specification's; what was measured stands beside it
    low, high, scale = float(low), float(high), SCALE[unit]
    if earlier := EARLIER.search(rule.source):
        kept = (
            rule.limits.lower * scale <= low
            if rule.limits.upper is None
            else high <= rule.limits.upper * scale
        )
        assert kept
        low = high = float(earlier[1])
    if rule.limits.upper is not None:
        off = float(taken[3]) / 100 * high
        assert high + off - near <= rule.limits.upper * scale <= high + off + 0.03
        return
    off = float(taken[1]) * (low / 100 if taken[2] == "%" else 1)
    # Rounded down to whole percent, or to half a GB/s.
    rounding = 0.5 if unit == "GB/s" else 1.0
    assert low - off - rounding - near <= rule.limits.lower * scale <= low - off + near


def test_only_what_breaks_its_limit_is_left_out():
    files = ("h100-quick.json", "h100-full.json.gz", "h200x2-quick.json", "h200x2-full.json.gz")
    broken = {
        (one.rule, file): one.source
        for file in files
        for one in judge.judge(result(file), [rules.load("pcie5")], None, any_run=True)
        if one.status == judge.FAILED
    }
    assert set(broken) == LEFT_OUT
    assert all("and breaks this limit" in source for source in broken.values())


def test_the_reference_machines_keep_the_shipped_sets():
    reference = ROOT / "results" / "reference"
    h100, h200 = (str(reference / name) for name in ("h100-quick.json", "h200x2-quick.json"))
    # Both ways at once at 256 MiB: 81.3 %.
    assert main(["check", h100, "--rules", "pcie5", "--any-run"]) == 1
    assert main(["check", h200, "--rules", "nvlink", "--any-run"]) == 0
    # One GPU is not two, and `quick` is not `acceptance`.
    assert main(["check", h100, "--rules", "nvlink", "--any-run"]) == 1
    assert main(["check", h200, "--rules", "nvlink"]) == 1
