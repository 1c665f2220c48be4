"""Acceptance: which values, rows and runs the rules accept, and how it is said."""

import math
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

from grainscope_report import reader, uncertainty
from grainscope_report.acceptance import judge
from grainscope_report.acceptance.rules import load
from grainscope_report.cli import main
from planted import SITE, pinned_copy
from planted_checks import BIG, COPY, HOT, RUN, VISITS, add, machine, of, of_all, stopped
from synthetic import MIB


def test_a_machine_that_keeps_its_limits_is_accepted(check):
    status, said, document = check(RUN + COPY, machine())
    assert status == 0
    assert said.startswith("ACCEPTED: ")
    [one] = of(document, "to-gpu")
    assert [round(found["value"], 6) for found in one["measurements"]] == [55.0] * VISITS
    assert one["limits"] == "at least 50 GB/s, at most 63 GB/s, 55 GB/s expected"
    assert one["source"] == "planted"
    assert document["accepted"] is True


@pytest.mark.parametrize("at", range(VISITS))
def test_one_bad_visit_does_not_fail_whichever_it_is(check, at):
    rates = [55.0] * VISITS
    rates[at] = 45.0
    status, _, document = check(RUN + COPY, machine(rates))
    assert status == 0
    [one] = of(document, "to-gpu")
    assert [round(found["value"], 6) for found in one["measurements"]] == rates


@pytest.mark.parametrize("beyond", [1e-3, 1e-5, 1e-7])
def test_a_value_just_beyond_its_limit_does_not_read_as_the_limit(check, beyond):
    rule = COPY.partition("unit")[0] + 'metric = "cv"\nupper = '
    _, _, document = check(f"{rule}1e-9\n", machine())
    value = of(document, "to-gpu")[0]["measurements"][0]["value"]
    status, said, document = check(f"{rule}{value / (1 + beyond)!r}\n", machine())
    assert status == 1
    [expected, got] = re.search(r"expected at most (\S+); got (\S+)\n", said).groups()
    assert float(got) > float(expected)
    assert of(document, "to-gpu")[0]["message"] == f"{got} is above the upper limit {expected}"


def test_a_value_fails_only_with_its_whole_interval(check):
    assert check(RUN + COPY, machine([49.0, 49.5, 49.9, 50.3, 51.0]))[0] == 0
    status, said, document = check(RUN + COPY, machine([44.0, 44.5, 44.9, 45.3, 46.0]))
    assert status == 1
    [one] = of(document, "to-gpu")
    assert one["status"] == "failed"
    # By 0.282 of the variance of one, which is 1.69 % squared, and 2.776 of Student.
    assert one["message"] == "44.9 GB/s ± 2.5 % is below the lower limit 50 GB/s"
    assert "expected at least 50 GB/s, at most 63 GB/s, typically 55 GB/s; got 44.9 GB/s ± 2.5 %\n" in said
    status, said, _ = check(RUN + COPY, machine([70.0, 70.5, 71.0, 71.5, 72.0]))
    assert status == 1
    assert "got 71 GB/s" in said
    assert check(RUN + COPY, machine([62.5, 63.0, 63.2, 63.4, 64.0]))[0] == 0


QUIETER = "measure again on a quiet machine"


@pytest.mark.parametrize(("rates", "said"), [
    ([25.0, 12.0, 30.0, 40.0, 60.0], "its visits contradict each other: 12 to 60 GB/s"),
    ([55.0, 12.0, 30.0, 20.0, 110.0], "its visits contradict each other: 12 to 110 GB/s"),
    ([32.0, 38.0, 42.0, 48.0, 60.0], "its visits contradict each other: 32 to 60 GB/s"),
    # The middle keeps the limits, by chance.
    ([18.0, 55.0, 160.0], "its visits contradict each other: 18 to 160 GB/s"),
    ([55.0, 55.0, 55.0, 55.0, 27.0], "its visits contradict each other: 27 to 55 GB/s"),
])  # fmt: skip
def test_what_only_its_own_noise_saves_is_not_decided(check, rates, said):
    rules = COPY.replace("upper = 63.0\n", "")
    for arguments in ([], ["--any-run"]):
        status, text, document = check(rules, machine(rates), arguments=arguments)
        assert (status, text.partition(":")[0]) == (5, "NOT DECIDED")
        [one] = of(document, "to-gpu")
        assert (one["status"], one["message"]) == ("not decided", f"{said}; {QUIETER}")
        text = " ".join(text.split())
        assert f"not decided: to-gpu [timed copy, flush on, GPU 0, node 0]: {said}; {QUIETER} exp" in text
        assert "likely: nothing in the file tells next: grainscope --preset acceptance --bench" in text


def test_a_time_that_only_noise_saves_is_not_decided(check):
    times = COPY.replace('unit = "GB/s"\nlower = 50.0\ntarget = 55.0\nupper = 63.0', 'metric = "median_s"')
    rules = times + 'unit = "ms"\nupper = 5.4\n'
    assert check(rules, machine([50.0] * VISITS))[0] == 0
    assert check(rules, machine([30.0] * VISITS))[0] == 1
    assert check(rules, machine([25.0, 12.0, 30.0, 40.0, 60.0]))[0] == 5


def test_visits_on_busy_cpus_contradict_nothing(check):
    file = machine([56.0, 55.0, 130.0, 54.0, 53.0])
    assert check(COPY, file)[0] == 5
    file.rows[2]["visits"][0]["busy"] = True
    assert check(COPY, file)[0] == 0


def test_what_visits_usually_differ_by_saves_a_value(check):
    """By the table of what visits of the family differ by, though the rules say nothing."""
    rules = COPY.replace("upper = 63.0\n", "")
    assert check(rules, machine([49.2, 49.5, 49.7, 50.5, 51.0]))[0] == 0
    # As much as visits to its family differ by, and more than those to this row do.
    assert check(rules, machine([46.5, 47.9, 48.5, 50.5, 52.0]))[0] == 5
    # Of other rules for one visit; of several the table knows better.
    wide = "[allowance]\ngated = { visit = 50, run = 0 }\n"
    assert check(wide + rules, machine([30.0]))[0] == 0
    assert check(wide + rules, machine([25.0, 12.0, 30.0, 40.0, 60.0]))[0] == 5


def test_the_samples_of_one_visit_do_not_save_it_by_their_noise(check):
    for spread, status in ((0.01, 1), (0.99, 5)):
        file = machine([])
        file.add("transfer/memcpy", pinned_copy(BIG), SITE, BIG / 40e9, spread=spread)
        assert check(COPY, file)[0] == status
    assert "reaches the limit only since it is known less well than is usual; measure" in " ".join(
        check(COPY, file)[1].split()
    )


def test_a_peak_is_known_no_better_for_the_noise_of_its_copy(check):
    peak = '[[rule]]\nid = "peak"\nlink = "host_to_gpu"\nunit = "GB/s"\nlower = 52\n'
    assert check(peak, machine([40.0] * VISITS, peak=40.0))[0] == 1
    for rate in (40.0, 55.0):
        _, said, document = check(peak, machine([25.0, 12.0, 40.0, 44.0, 60.0], peak=rate))
        assert of_all(document, "peak") == ["not decided"], said
        low, high = (rate * 12 / 40, rate * 60 / 40)
        assert f"its visits contradict each other: {low:g} to {high:g} GB/s" in said


def test_the_noise_of_a_reference_saves_nothing(check, tmp_path):
    rule = COPY.replace('unit = "GB/s"\nlower = 50.0\ntarget = 55.0\nupper = 63.0', "lower = 0.9")
    for rates, status in (([52.0] * VISITS, 1), ([20.0, 30.0, 52.0, 90.0, 120.0], 5)):
        reference = machine(rates).write(tmp_path / "reference.json")
        more = ["--reference", str(reference)]
        found, said, _ = check(rule + 'relative_to = "reference"\n', machine([30.0] * 5), arguments=more)
        assert found == status, said


def test_what_contradicts_itself_is_said_beside_what_failed(check):
    rules = COPY.replace("upper = 63.0\n", "") + COPY.replace("to-gpu", "small").replace("256MiB", "1MiB")
    file = machine([25.0, 12.0, 30.0, 40.0, 60.0])
    for visit in range(1, VISITS + 1):
        add(file, 40.0, visit, size=MIB)
    status, said, _ = check(rules, file)
    assert status == 1
    assert said.index("failed: small") < said.index("not decided: to-gpu")
    assert "no row" not in said


def test_what_is_unknown_the_rules_allow_by_clock(check):
    rates = [48.0] * VISITS
    assert check(RUN + COPY, machine(rates))[0] == 1
    for clock, run, status in (("gated", 2, 1), ("gated", 2.2, 0), ("open", 20, 1), ("host", 20, 1)):
        allowance = f"[allowance]\n{clock} = {{ visit = 0, run = {run} }}\n"
        assert check(RUN + allowance + COPY, machine(rates))[0] == status, (clock, run)
    # One visit tells nothing of how visits differ.
    allowance = "[allowance]\ngated = { visit = 2.2, run = 0 }\n"
    assert check(allowance + COPY, machine([48.0]))[0] == 0
    assert check(allowance + COPY, machine(rates))[0] == 1


def test_a_known_type_b_stands_in_for_what_the_rules_allow(check):
    file = machine([48.0])
    file.context["type_b"] = {"date": "2026-11-20", "sha256": "0" * 64, "known": True}

    def knows(b: float) -> None:
        file.rows[0]["uncertainty"] = {"a": {"standard": 0.001}, "b": {"standard": b}}
        uncertainty.apply(file.rows, file.context, None)

    knows(0.03)
    assert check(COPY, file)[0] == 0
    knows(0.001)
    allowance = "[allowance]\ngated = { visit = 50, run = 50 }\n"
    assert check(allowance + COPY, file)[0] == 1


def test_more_limits_make_wider_intervals(check):
    alone = "[allowance]\ngated = { visit = 0, run = 2 }\n" + COPY
    assert check(alone, machine([48.0] * VISITS))[0] == 1
    others = "".join(COPY.replace("to-gpu", f"more-{at}").replace("50.0", "1.0") for at in range(40))
    assert check(alone + others, machine([48.0] * VISITS))[0] == 0


def test_of_sound_runs_one_in_twenty_fails_at_most(tmp_path):
    """Twenty rows whose true rate is at the limit, each off by what the rules allow, four hundred times."""
    random = Random(7)
    text = "[allowance]\ngated = { visit = 0, run = 3 }\n"
    text += "".join(
        COPY.replace("to-gpu", f"n{at}").replace('"256MiB"', str(BIG + at)).replace("upper = 63.0\n", "")
        for at in range(20)
    )
    (tmp_path / "rules.toml").write_text(text)
    rules = load(str(tmp_path / "rules.toml"))
    file = machine([])
    for at in range(20):
        for visit in (1, 2, 3):
            add(file, 50.0, visit, size=BIG + at)
    sound = reader.read(file.write(tmp_path / "r.json"))
    failed = 0
    for _ in range(400):
        rows = []
        for row in sound.rows:
            off = math.exp(random.gauss(0, 0.03))
            rows.append(replace(row, bandwidth_gb_s=row.bandwidth_gb_s * off, median_s=row.median_s / off))
        judged = judge.judge(replace(sound, rows=tuple(rows)), [rules], None)
        failed += any(one.status == judge.FAILED for one in judged)
    assert 4 <= failed <= 20 + 9  # of 400 one in twenty is 20, give or take two deviations


def test_missing_visits_are_not_accepted(check):
    status, said, document = check(RUN + COPY, machine([55.0] * 3))
    assert status == 5
    assert [one["rule"] for one in document["files"][0]["judged"] if one["status"] == "not decided"] == [
        "run.visits"
    ]
    assert (
        "not decided: 3 of 5 visits were asked for\n      next: grainscope --preset acceptance --out" in said
    )
    file = machine([55.0] * 3)
    for visit in range(1, VISITS + 1):
        add(file, 55.0, visit, size=MIB)
    status, said, _ = check(RUN + COPY, file)
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
    said = " ".join(said.split())
    assert (
        f"missing: to-gpu [timed copy, flush on, GPU 0, node 0]: {status} expected at least 50 GB/s" in said
    )
    assert "likely: the copy came back wrong next: grainscope-report list " in said


def test_a_failed_row_that_no_rule_names_fails(check):
    file = machine()
    file.lose("failed", "impossible", "transfer/memcpy", pinned_copy(MIB), SITE)
    status, said, document = check(RUN + COPY, file)
    assert status == 1
    assert of(document, "run.no_failed_row")[0]["status"] == "failed"
    assert "likely: impossible\n" in said


def test_modelled_rows_do_not_count(check):
    file = machine([])
    add(file, 55.0)["label"] = "modelled"
    assert check(COPY, file)[0] == 1


@pytest.mark.parametrize(("spoil", "rule"), [
    (stopped("interrupted by signal 15"), "run.complete"),
    (lambda context: context["environment"]["gpus"].clear(), "run.gpus"),
    (lambda context: context["environment"]["warnings"].append(HOT), "run.severe_warnings"),
])  # fmt: skip
def test_the_run_itself_is_judged(check, spoil, rule):
    text = RUN + "gpus = 1\nsevere_warnings = false\n" + COPY
    assert check(text, machine())[0] == 0
    file = machine()
    spoil(file.context)
    status, said, document = check(text, file)
    assert status == 1
    assert [one["rule"] for one in document["files"][0]["judged"] if one["status"] == "failed"] == [rule]
    assert all(word in said for word in ("(expected: the ", "\n      likely: ", "\n      next: "))


@pytest.mark.parametrize(("why", "likely"), [
    ("--max-time of 100 us reached", "the cases take longer than that"),
    ("interrupted by signal 2", "somebody pressed Ctrl-C"),
    ("interrupted by signal 15", "a batch system's time limit"),
    ("the process of round 2 was ended by signal 9 (Killed)", "memory ran out"),
    ("the process of round 2 was ended by signal 11 (Segmentation fault)", "a crash"),
    ("the GPU was lost while call/malloc ran", "a fault of the GPU (Xid in `dmesg`)"),
    ("a rank was lost while collective/broadcast ran", "another rank of the run ended"),
    ("could not write journal.jsonl (No space left on device)", "the disk is full"),
    ("something else", "nothing in the file tells beyond that"),
])  # fmt: skip
def test_a_run_that_is_not_complete_is_failed_with_its_likely_cause(check, why, likely):
    file = machine()
    stopped(why)(file.context)
    status, said, _ = check(RUN + COPY, file)
    assert status == 1
    assert f"failed: run.complete [run]: {why} (expected: the run is complete)" in " ".join(said.split())
    assert f"likely: {likely}" in said
    assert "next: grainscope --resume DIR" in said


@pytest.mark.parametrize("run", [
    {"preset": "quick"}, {"filter": "memcpy"}, {"shard": {"index": 1, "count": 2}},
])  # fmt: skip
def test_what_is_not_the_whole_preset_decides_by_the_rules_that_it_answers(check, run):
    """Any run can fail; only the run that the rules ask for can be accepted, and can lack a row."""
    rules = RUN + COPY + COPY.replace("to-gpu", "small").replace("256MiB", "1MiB")
    for rates, status, verdict in (([55.0] * VISITS, 5, "NOT DECIDED"), ([40.0] * VISITS, 1, "NOT ACCEPTED")):
        file = machine(rates)
        file.context["run"] |= run
        found, said, document = check(rules, file)
        assert (found, said.partition(":")[0]) == (status, verdict)
        assert of(document, "small")[0]["status"] == "not decided"
        assert of(document, "run.preset")[0]["status"] == "not decided"
        assert document["decided"] is (status == 1)
        assert "; no row answers small\n      next: grainscope --preset acceptance --out DIR\n" in said
    assert of(check(rules, machine())[2], "small")[0]["status"] == "missing"


def test_a_gpu_or_a_far_node_that_no_row_is_of_is_never_accepted(check):
    for arguments in ([], ["--any-run"]):
        status, said, _ = check(RUN + COPY, machine(gpus=2, preset="quick"), arguments=arguments)
        assert status == 5
        assert "no row of GPU 1 answers to-gpu\n" in said
        file = machine(preset="quick")
        file.context["environment"]["memory"] = {"nodes": [{"id": 0, "memory_bytes": 8}] * 2}
        status, said, _ = check(RUN + COPY, file, arguments=arguments)
        assert status == 5
        assert "no row is of a GPU and a node's memory far from it\n" in said
        add(file, 30.0, 1, {"gpu": 0, "numa": 1}, locality="remote")
        assert check(COPY, file, arguments=arguments)[0] == 0


def test_gpus_that_lack_rows_of_the_same_rules_share_a_sentence(check):
    _, said, _ = check(RUN + COPY, machine(gpus=4, preset="quick"))
    assert "no row of GPU 1, GPU 2, GPU 3 answers to-gpu\n" in said


def test_any_run_asks_neither_preset_nor_visits_and_says_so(check):
    status, said, _ = check(RUN + COPY, machine([55.0], preset="quick"), arguments=["--any-run"])
    assert status == 0
    assert "of any run" in " ".join(said.split())


def test_rows_relative_to_the_link_to_theory_and_to_a_reference(check, tmp_path):
    rule = COPY.replace('unit = "GB/s"\nlower = 50.0\ntarget = 55.0\nupper = 63.0', 'unit = "%"\nlower = LOW')
    linked = rule + 'relative_to = "link"\n'
    assert check(linked.replace("LOW", "99.6"), machine([55.0]))[0] == 0
    assert check(linked.replace("LOW", "100.2"), machine([55.0]))[0] == 1
    theory = rule + 'relative_to = "theoretical"\n'
    assert check(theory.replace("LOW", "87.3"), machine([55.0]))[0] == 0
    assert check(theory.replace("LOW", "87.8"), machine([55.0]))[0] == 1
    reference = machine([51.9, 52.0, 52.1]).write(tmp_path / "reference.json")
    more = ["--reference", str(reference)]
    relative = rule + 'relative_to = "reference"\n'
    assert check(relative.replace("LOW", "96.1"), machine([50.0]), arguments=more)[0] == 0
    assert check(relative.replace("LOW", "98"), machine([50.0]), arguments=more)[0] == 1
    assert check(relative.replace("LOW", "96.1"), machine([50.0]))[0] == 2
    empty = machine([]).write(tmp_path / "empty.json")
    status, said, _ = check(
        relative.replace("LOW", "96.1"), machine([50.0]), arguments=["--reference", str(empty)]
    )
    assert status == 1
    assert "the reference has no such row" in said
    newer = machine([52.0])
    for row in newer.rows:
        row["case"]["version"] = 2
    more = ["--reference", str(newer.write(tmp_path / "newer.json"))]
    status, said, _ = check(relative.replace("LOW", "96.1"), machine([52.0]), arguments=more)
    assert status == 1
    assert "is version 1 here and 2 in the reference" in " ".join(said.split())


def test_the_share_of_the_link_is_of_what_was_asked_where_rows_came_from_a_cache(check):
    file = machine([])
    axes = {"memory": "pinned", "order": "as_asked", "row": 1024, "rows": BIG // 1024, "span": BIG}
    row = file.add("reach/gather", axes, SITE, BIG / 55.2e9, bytes=BIG)
    row["link_fraction"], row["counters"] = 0.8, {"link_gb_s": 0.8 * 55.2}
    rule = '[[rule]]\nid = "to-gpu"\nwhere = { family = "reach/gather" }\nunit = "%"\nlower = 99.9\n'
    assert check(rule + 'relative_to = "link"\n', file)[0] == 0
    assert check(rule + 'metric = "link_fraction"\n', file)[0] == 1


def test_needs_gpus_leaves_a_rule_out_and_says_so(check):
    pairs = COPY.replace("to-gpu", "pair") + "needs_gpus = 2\n"
    status, said, document = check(COPY + pairs, machine(), arguments=["--all"])
    assert status == 0
    assert of(document, "pair")[0]["status"] == "not applicable"
    assert "for machines with 2 GPUs or more; this one has 1" in said
    # A set that leaves all its rules out has decided nothing.
    status, said, _ = check(pairs, machine())
    assert status == 5
    assert "there is 1: no rule of" in said


def test_every_file_must_pass_and_a_run_counts_once(check):
    other = machine([40.0] * VISITS, host="node-b")
    status, said, document = check(RUN + COPY, machine(), other)
    assert status == 1
    assert said.startswith("NOT ACCEPTED: 1 of 2 runs are accepted;")
    assert said.count("not accepted") == 1
    assert [one["accepted"] for one in document["files"]] == [True, False]
    status, said, _ = check(RUN + COPY, machine(), machine())
    assert status == 2
    assert "are the same run" in said


@pytest.mark.parametrize(("spoil", "said"), [
    (lambda row: row.update(bandwidth_gb_s=row["bandwidth_gb_s"] * 3), "bandwidth_gb_s: is 165"),
    (lambda row: row.update(uncertainty={"b": {"standard": 0.5}}), "benchmarks[0].uncertainty: is"),
])  # fmt: skip
def test_a_file_that_contradicts_itself_is_not_judged(check, tmp_path, spoil, said):
    file, sound = machine([55.0]), machine([55.0])
    spoil(file.rows[0])
    junit = tmp_path / "junit.xml"
    status, text, document = check(COPY, file, arguments=["--junit", str(junit)])
    assert (status, document) == (3, {})
    assert "0.json contradicts itself (" in text
    assert said in text
    assert text.count("\n") == 1
    assert not junit.exists()
    reference = str(file.write(tmp_path / "reference.json"))
    relative = COPY.replace('unit = "GB/s"\nlower = 50.0\ntarget = 55.0\nupper = 63.0', "lower = 0.9")
    more = ["--reference", reference]
    assert check(relative + 'relative_to = "reference"\n', sound, arguments=more)[0] == 3


def test_junit_is_read_back(check, tmp_path):
    file = machine([49.0] * VISITS)
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
    assert suite.get("skipped") == "2"  # a rule for eight GPUs, and the governor that is not told
    [one] = [case for case in failures if "node 0" in case.get("name")]
    assert one.find("system-out").text == "every visit: " + ", ".join(["49 GB/s"] * 5)
    assert "source of the limit: planted" in one.find("failure").text


def test_any_run_does_without_rows_but_not_without_all(check):
    rules = RUN + COPY + COPY.replace("to-gpu", "small").replace("256MiB", "1MiB")
    status, said, document = check(rules, machine([55.0], preset="quick"), arguments=["--any-run"])
    assert status == 0
    assert of(document, "small")[0]["status"] == "not applicable"
    assert "left out: no row answers small\n      next: grainscope --preset acceptance --out DIR\n" in said
    assert check(rules, machine(), arguments=["--any-run"])[0] == 1
    assert check(rules, machine([], preset="quick"), arguments=["--any-run"])[0] == 5


def test_the_verdict_comes_first_and_thirty_lines_are_enough(check, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    rules = RUN + "".join(COPY.replace("to-gpu", f"rule-{at}") for at in range(40))
    files = [machine([40.0] * VISITS, host=f"node-{at}") for at in range(20)]
    for count in (1, 2, 20):
        status, said, _ = check(rules, *files[:count])
        assert status == 1
        lines = said.splitlines()
        assert lines[0].startswith("NOT ACCEPTED: ")
        assert 20 <= len(lines) <= 30
        assert "(--full shows them)" in said
    _, said, _ = check(rules, files[0], arguments=["--all"])
    assert said.count("failed: rule-") == 40
    assert "source of the limit: planted" in said


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_verdict_is_wrapped_behind_its_path(capsys, monkeypatch, columns):
    run = Path("results/reference/acceptance/two-h200-1.json.gz")
    monkeypatch.chdir(Path(__file__).resolve().parents[2])
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["check", str(run), "--rules", "pcie5", "--rules", "nvlink"]) == 5
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"NOT DECIDED: {run}")
    assert max(map(len, lines)) <= max(columns, len(f"NOT DECIDED: {run}:"))


def test_a_failure_says_the_likely_cause_and_the_next_command(check):
    slow = [40.0] * VISITS
    _, said, _ = check(COPY, machine(slow))
    assert "likely: nothing in the file tells\n" in said
    assert "next: grainscope --preset acceptance --benchmark_filter='^transfer/memcpy/" in said
    file = machine(slow)
    file.context["environment"]["kernel"] = {"virtual_machine": True}
    assert (
        "likely: nothing in the file tells: a virtual machine does not see its neighbours"
        in check(COPY, file)[1]
    )
    hot = {
        "id": "gpu.slowdown",
        "severity": "severe",
        "finding": "clocks are held down",
        "effect": "",
        "remedy": "cool it",
    }
    file.context["environment"]["warnings"] += [
        {**hot, "id": "kernel.virtual_machine", "finding": "a guest"},
        hot,
    ]
    _, said, _ = check(COPY, file)
    assert "likely: clocks are held down\n" in said
    assert "next: cool it; then grainscope --preset" in said
    file = machine(slow)
    for row in file.rows:
        row["visits"][0] |= {"stolen_s": 0.004, "visit_s": 0.01}
    assert "neighbours" not in check(COPY, file)[1]
    for row in file.rows:
        row["visits"][0] |= {"stolen_s": 0.5, "visit_s": 1.0}
    assert "likely: neighbours: the hypervisor took 2.5 s in 5 s of this row" in check(COPY, file)[1]
    # What was read around other rows explains nothing of this one.
    held = {"throttle": ["hw_slowdown"], "ecc_errors": 3}
    for name, size in (("other", MIB), ("own", BIG)):
        file = machine(slow)
        for visit in range(1, VISITS + 1):
            add(file, 55.0, visit, size=MIB)
        for row in file.rows:
            if row["bytes"] == size:
                row["visits"][0]["state"] = held
        said = check(COPY, file)[1]
        assert ("held down in this row: hw_slowdown; the GPU's memory had errors" in said) == (name == "own")
