"""`check`: every visit of every row must keep its limits, and what is missing fails."""

from xml.etree import ElementTree

import pytest

from planted import SITE, pinned_copy
from planted_check import BIG, COPY, RUN, VISITS, add, check, machine
from synthetic import MIB

__all__ = ["check"]  # a fixture
HOT = {"id": "x", "severity": "severe", "finding": "hot", "effect": "", "remedy": ""}


def of(document: dict, rule: str, at: int = 0) -> list[dict]:
    return [one for one in document["files"][at]["judged"] if one["rule"] == rule]


def test_a_machine_that_keeps_its_limits_is_accepted(check):
    status, said, document = check(RUN + COPY, machine())
    assert status == 0
    assert ": ACCEPTED (" in said
    [one] = of(document, "to-gpu")
    assert [round(found["value"], 6) for found in one["measurements"]] == [55.0] * VISITS
    assert one["limits"] == "at least 50 GB/s, at most 63 GB/s, 55 GB/s expected"
    assert one["source"] == "planted"
    assert document["accepted"] is True


@pytest.mark.parametrize("at", range(VISITS))
def test_one_bad_visit_fails_whichever_it_is(check, at):
    rates = [55.0] * VISITS
    rates[at] = 49.9
    status, said, document = check(RUN + COPY, machine(rates))
    assert status == 1
    [one] = of(document, "to-gpu")
    assert one["status"] == "failed"
    assert one["message"] == "1 of 5 visits: 49.9 GB/s is below the lower limit 50 GB/s"
    assert one["message"] in said


def test_a_value_above_the_upper_limit_fails(check):
    status, said, _ = check(RUN + COPY, machine([55.0] * 4 + [63.1]))
    assert status == 1
    assert "63.1 GB/s is above the upper limit 63 GB/s" in said


@pytest.mark.parametrize("rate", [50.0, 63.0])
def test_a_value_at_a_limit_passes(check, rate):
    text = COPY.replace("50.0", repr(rate - 1e-9)).replace("63.0", repr(rate + 1e-9))
    assert check(text.replace("target = 55.0\n", ""), machine([rate]))[0] == 0


def test_missing_visits_fail(check):
    status, said, _ = check(RUN + COPY, machine([55.0] * 3))
    assert status == 1
    assert "2 of 5 visits: the visit is missing" in said


def test_a_missing_row_fails_and_says_what_there_is(check):
    status, said, document = check(RUN + COPY.replace("256MiB", "64MiB"), machine())
    assert status == 1
    assert of(document, "to-gpu")[0]["status"] == "missing"
    assert "has bytes 67108864; there are 268435456" in said


def test_a_row_of_another_gpu_does_not_stand_in(check):
    status, said, _ = check(RUN + COPY, machine(gpus=2))
    assert status == 1
    assert "to-gpu [GPU 1]: no such row of GPU 1" in said
    both = machine(gpus=2)
    for visit in range(1, VISITS + 1):
        add(both, 55.0, visit, {"gpu": 1, "numa": 0})
    assert check(RUN + COPY, both)[0] == 0
    assert check(RUN + COPY + "every_gpu = false\n", machine(gpus=2))[0] == 0


@pytest.mark.parametrize("status", ["failed", "skipped"])
def test_a_row_that_is_not_ok_fails(check, status):
    file = machine([])
    file.lose(status, "the copy came back wrong", "transfer/memcpy", pinned_copy(BIG), SITE)
    found, said, _ = check(RUN + COPY, file)
    assert found == 1
    assert f"{status}: the copy came back wrong" in said


def test_a_failed_row_that_no_rule_names_fails(check):
    file = machine()
    file.lose("failed", "impossible", "transfer/memcpy", pinned_copy(MIB), SITE)
    status, _, document = check(RUN + COPY, file)
    assert status == 1
    assert of(document, "run.no_failed_row")[0]["status"] == "failed"


def test_modelled_rows_do_not_count(check):
    file = machine([])
    add(file, 55.0)["label"] = "modelled"
    assert check(COPY, file)[0] == 1


@pytest.mark.parametrize(("spoil", "rule"), [
    (lambda context: context["run"].update(preset="quick"), "run.preset"),
    (lambda context: context["run"].update(filter="memcpy"), "run.preset"),
    (lambda context: context["run"].update(complete=False, why_incomplete="lost GPU"), "run.complete"),
    (lambda context: context["environment"]["gpus"].clear(), "run.gpus"),
    (lambda context: context["environment"]["warnings"].append(HOT), "run.severe_warnings"),
])  # fmt: skip
def test_the_run_itself_is_judged(check, spoil, rule):
    text = RUN + "gpus = 1\nsevere_warnings = false\n" + COPY
    assert check(text, machine())[0] == 0
    file = machine()
    spoil(file.context)
    status, _, document = check(text, file)
    assert status == 1
    assert [one["rule"] for one in document["files"][0]["judged"] if one["status"] == "failed"] == [rule]


def test_any_run_asks_neither_preset_nor_visits_and_says_so(check):
    status, said, _ = check(RUN + COPY, machine([55.0], preset="quick"), arguments=["--any-run"])
    assert status == 0
    assert "of any run" in said


def test_links_are_judged_by_the_nearest_node(check):
    text = '[[rule]]\nid = "generation"\nlink = "host_to_gpu"\nmetric = "generation"\nlower = 5\n'
    text += '[[rule]]\nid = "peak"\nlink = "host_to_gpu"\nunit = "GB/s"\nlower = 52\n'
    text += (
        '[[rule]]\nid = "theory"\nlink = "host_to_gpu"\nrelative_to = "theoretical"\nunit = "%"\nlower = 85\n'
    )
    file = machine()
    file.link("host_to_gpu", 30.0, numa=1)
    assert check(text, file)[0] == 0
    assert check(text, machine(gen=4))[0] == 1
    status, said, _ = check(text, machine(peak=53.0))
    assert status == 1
    assert "84.13 % is below the lower limit 85 %" in said


def test_rows_relative_to_the_link_to_theory_and_to_a_reference(check, tmp_path):
    rule = COPY.replace('unit = "GB/s"\nlower = 50.0\ntarget = 55.0\nupper = 63.0', 'unit = "%"\nlower = LOW')
    linked = rule + 'relative_to = "link"\n'
    assert check(linked.replace("LOW", "99.6"), machine([55.0]))[0] == 0
    assert check(linked.replace("LOW", "99.7"), machine([55.0]))[0] == 1
    theory = rule + 'relative_to = "theoretical"\n'
    assert check(theory.replace("LOW", "87.3"), machine([55.0]))[0] == 0
    assert check(theory.replace("LOW", "87.4"), machine([55.0]))[0] == 1
    reference = machine([50.0, 52.0, 60.0]).write(tmp_path / "reference.json")
    more = ["--reference", str(reference)]
    relative = rule + 'relative_to = "reference"\n'
    assert check(relative.replace("LOW", "96.1"), machine([50.0]), arguments=more)[0] == 0
    assert check(relative.replace("LOW", "96.2"), machine([50.0]), arguments=more)[0] == 1
    assert check(relative.replace("LOW", "96.1"), machine([50.0]))[0] == 2
    empty = machine([]).write(tmp_path / "empty.json")
    status, said, _ = check(
        relative.replace("LOW", "96.1"), machine([50.0]), arguments=["--reference", str(empty)]
    )
    assert status == 1
    assert "the reference has no such row" in said


def test_the_share_of_the_link_is_of_what_was_asked_where_rows_came_from_a_cache(check):
    file = machine([])
    row = add(file, 55.2)
    row["link_fraction"], row["counters"] = 0.8, {"link_gb_s": 0.8 * 55.2}
    rule = COPY.replace(
        'unit = "GB/s"\nlower = 50.0\ntarget = 55.0\nupper = 63.0', 'unit = "%"\nlower = 99.9'
    )
    assert check(rule + 'relative_to = "link"\n', file)[0] == 0
    assert check(rule + 'metric = "link_fraction"\n', file)[0] == 1


def test_needs_gpus_leaves_a_rule_out_and_says_so(check):
    status, said, document = check(COPY + "needs_gpus = 2\n", machine(), arguments=["--all"])
    assert status == 0
    assert of(document, "to-gpu")[0]["status"] == "not applicable"
    assert "for machines with 2 GPUs or more; this one has 1" in said


def test_every_file_must_pass_and_a_run_counts_once(check):
    other = machine([55.0] * 4 + [40.0], host="node-b")
    status, said, document = check(RUN + COPY, machine(), other)
    assert status == 1
    assert said.count("NOT ACCEPTED") == 1
    assert [one["accepted"] for one in document["files"]] == [True, False]
    status, said, _ = check(RUN + COPY, machine(), machine())
    assert status == 2
    assert "are the same run" in said


def test_junit_is_read_back(check, tmp_path):
    file = machine([55.0] * 4 + [49.0])
    file.lose("failed", "wrong \x07 & <byte>", "transfer/memcpy", pinned_copy(BIG), {"gpu": 0, "numa": 1})
    text = RUN + COPY + COPY.replace("to-gpu", "apart").replace("256MiB", "1MiB")
    text += COPY.replace("to-gpu", "many") + "needs_gpus = 8\n"
    out = tmp_path / "junit.xml"
    status, _, document = check(text, file, arguments=["--junit", str(out)])
    assert status == 1
    top = ElementTree.parse(out).getroot()
    [suite] = top
    cases = suite.findall("testcase")
    assert top.get("tests") == suite.get("tests") == str(len(cases))
    assert len(cases) == len(document["files"][0]["judged"])
    failures = [case for case in cases if case.find("failure") is not None]
    assert suite.get("failures") == str(len(failures)) == "4"
    kinds = {case.get("name"): case.find("failure").get("type") for case in failures}
    assert kinds["apart"] == "missing"
    assert kinds["to-gpu [timed copy, flush on, GPU 0, node 0]"] == "failed"
    [bad] = [case for case in failures if "node 1" in case.get("name")]
    assert bad.find("failure").get("message") == "failed: wrong � & <byte>"
    assert suite.get("skipped") == "1"
    [one] = [case for case in failures if "node 0" in case.get("name")]
    assert one.find("system-out").text == "every visit: 55 GB/s, 55 GB/s, 55 GB/s, 55 GB/s, 49 GB/s"
    assert "source of the limit: planted" in one.find("failure").text
