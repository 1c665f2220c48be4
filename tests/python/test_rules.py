"""Rule files: bad ones are one sentence, and those that come with the suite fit the reference machines."""

import pytest

from grainscope_report.acceptance import rules
from grainscope_report.cli import main
from planted_check import COPY, VISITS, check, machine

__all__ = ["check"]  # a fixture


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
