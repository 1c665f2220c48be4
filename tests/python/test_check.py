"""Acceptance: rule files and sets, what a run and a node keep of them, and how it is said."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

import documents
from documents import worth
from grainscope_report import reader, uncertainty
from grainscope_report.acceptance import deriving, judge, rules
from grainscope_report.acceptance.rules import load
from grainscope_report.cli import main
from planted import SITE, pinned_copy
from stored import TOGETHER
from synthetic import MIB, File

BIG = 256 * MIB
VISITS = 5
COPY = """
[[rule]]
id = "to-gpu"
text = "a copy of 256 MiB"
where = { family = "transfer/memcpy", path = "pinned_to_gpu", bytes = "256MiB", locality = "local" }
unit = "GB/s"
lower = 50.0
target = 55.0
upper = 63.0
source = "planted"
"""
RUN = '[run]\npreset = "acceptance"\nvisits = 5\n'


def machine(rates=(55.0,) * VISITS, gpus: int = 1, host: str = "node-a", preset="acceptance", **peak) -> File:
    """A run whose copy of 256 MiB to GPU 0 reaches these rates, one a visit."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",) * gpus, preset=preset, host=host)
    for gpu in range(gpus):
        file.link("host_to_gpu", peak.get("peak", 55.2), gpu=gpu, gen=peak.get("gen", 5))
    for visit, rate in enumerate(rates, 1):
        add(file, rate, visit)
    return file


def add(file: File, rate: float, visit: int = 1, site=SITE, size: int = BIG, **axes) -> dict:
    return file.add("transfer/memcpy", pinned_copy(size, **axes), site, size / rate / 1e9, visit=visit)


@pytest.fixture
def check(tmp_path: Path, capsys):
    """Runs `check` on files with these rules; gives the exit status, what was said, and the JSON."""

    def run(text: str, *files: File, arguments=()) -> tuple[int, str, dict]:
        (tmp_path / "rules.toml").write_text(text)
        paths = [str(file.write(tmp_path / f"{at}.json")) for at, file in enumerate(files)]
        out = tmp_path / "out.json"
        out.unlink(missing_ok=True)
        status = main(
            ["check", *paths, "--rules", str(tmp_path / "rules.toml"), "--json", str(out), *arguments]
        )
        said = capsys.readouterr()
        return status, said.out + said.err, json.loads(out.read_text()) if out.exists() else {}

    return run


HOT = {
    "id": "gpu.slowdown", "severity": "severe", "finding": "hot", "effect": "slow", "remedy": "cool it"
}  # fmt: skip


def stopped(why: str) -> Callable[[dict], None]:
    """What makes a run one that stopped, for that reason."""
    return lambda context: context["run"].update(complete=False, why_incomplete=why)


def of(document: dict, rule: str, at: int = 0) -> list[dict]:
    return [one for one in document["files"][at]["judged"] if one["rule"] == rule]


def of_all(document: dict, rule: str) -> list[str]:
    return [one["status"] for one in of(document, rule)]


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
    for of in (40.0, 55.0):
        _, said, document = check(peak, machine([25.0, 12.0, 40.0, 44.0, 60.0], peak=of))
        assert of_all(document, "peak") == ["not decided"], said
        low, high = (of * 12 / 40, of * 60 / 40)
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
    assert check(text, machine(peak=53.0))[0] == 1
    # By the row of the same copy: five visits that are alike, and what the rules allow of runs.
    allowed = text + "[allowance]\ngated = { visit = 50, run = 0.2 }\n"
    assert "got 84.13 % ± 0.4 %\n" in check(allowed, machine(peak=53.0))[1]
    assert check(allowed.replace("run = 0.2", "run = 3"), machine(peak=53.0))[0] == 0
    # Without such a row the peak is one visit of which nothing else is known.
    assert check(allowed, machine([], peak=53.0))[0] == 0


PEAK = '[[rule]]\nid = "peak"\nlink = "host_to_gpu"\nunit = "GB/s"\nlower = 52\n'
NEAREST_UNKNOWN = "and accepted: The NUMA node nearest to GPU 0, of whose links the fastest counts; The CPUs'"


def two_nodes(peaks: dict[int, float], near: int | None = None, **report) -> File:
    """A run of a machine with two nodes, to whose GPU these are the links by node."""
    file = machine([])
    environment = file.context["environment"]
    environment["memory"] = {"nodes": [{"id": node, "memory_bytes": 8} for node in (0, 1)]}
    environment["gpus"][0] |= {"numa_node": near} | report
    file.links.clear()
    for node, peak in peaks.items():
        file.link("host_to_gpu", peak, numa=node)
    return file


@pytest.mark.parametrize(("peaks", "found"), [
    ({0: 30.0, 1: 55.0}, 1), ({0: 55.0, 1: 30.0}, 0),
])  # fmt: skip
@pytest.mark.parametrize("by", ["report", "rows"])
def test_the_nearest_node_is_that_of_the_report_else_of_local_rows_however_fast(check, peaks, found, by):
    file = two_nodes(peaks, near=0 if by == "report" else None)
    for node in (0, 1) if by == "rows" else ():
        add(file, 55.0, site={"gpu": 0, "numa": node}, locality="remote" if node else "local")
    file.link("host_to_gpu", 55.0, gpu=0, numa=2)
    _, _, document = check(PEAK, file)
    assert [one["what"] for one in of(document, "peak")] == ["link host:0 to gpu:0"]
    assert of(document, "peak")[0]["status"] == ("failed" if found else "passed")
    assert of(document, "node.nearest") == []


def test_the_report_names_gpus_by_the_numbers_of_cuda(check):
    file = machine([], gpus=2)
    environment = file.context["environment"]
    environment["gpus"] = [
        {"name": name, "numa_node": near, "cuda": {"ordinal": ordinal}}
        for name, near, ordinal in (("NVIDIA H100", 1, 1), ("NVIDIA H100", 0, 0))
    ]
    file.links.clear()
    for gpu, near in ((0, 0), (1, 1)):
        file.link("host_to_gpu", 54.0, gpu=gpu, numa=near)
        file.link("host_to_gpu", 55.0, gpu=gpu, numa=1 - near)
    _, _, document = check(PEAK, file)
    assert [one["what"] for one in of(document, "peak")] == ["link host:0 to gpu:0", "link host:1 to gpu:1"]


@pytest.mark.parametrize("wrong", [{}, {"numa_node": -1}, {"numa_node": True}, {"cuda": "none"}])
def test_where_the_nearest_node_is_unknown_the_fastest_link_counts_and_is_said_to(check, wrong):
    status, said, document = check(PEAK, two_nodes({0: 30.0, 1: 55.0}, **wrong))
    assert status == 0
    assert [one["what"] for one in of(document, "peak")] == ["link host:1 to gpu:0"]
    assert NEAREST_UNKNOWN in " ".join(said.split())
    [one] = of(document, "node.nearest")
    assert (one["status"], one["message"]) == ("not applicable", "the machine does not tell")
    # With one link there is nothing to choose.
    assert of(check(PEAK, two_nodes({1: 55.0}, **wrong))[2], "node.nearest") == []
    # Nor is anything said where no rule asks for a link.
    assert of(check(COPY, two_nodes({0: 30.0, 1: 55.0}, **wrong))[2], "node.nearest") == []


@pytest.mark.parametrize("every", ["", "every_gpu = false\n"])
def test_a_link_of_a_farther_node_does_not_stand_in_for_the_nearest(check, every):
    status, said, document = check(PEAK + every, two_nodes({1: 55.0}, near=0))
    assert status == 1
    [one] = of(document, "peak")
    assert (one["status"], one["what"]) == ("missing", "GPU 0")
    assert "no link host_to_gpu of GPU 0 and node 0, the nearest to it, was measured" in said
    assert "next: numactl --show; then grainscope --preset acceptance --out DIR\n" in said
    part = two_nodes({1: 55.0}, near=0)
    part.context["run"]["filter"] = "memcpy"
    for arguments in ([], ["--any-run"]):
        assert check(PEAK + every, part, arguments=arguments)[0] == 5


def seen(*nodes: tuple[int, int], near: int | None = None, gpus: int = 2) -> File:
    """A run whose rows are of these GPUs and nodes."""
    file = machine([], gpus=gpus)
    file.links.clear()
    environment = file.context["environment"]
    environment["memory"] = {"nodes": [{"id": node, "memory_bytes": 8} for node in (0, 1)]}
    for gpu in environment["gpus"]:
        gpu["numa_node"] = near
    for gpu, node in nodes:
        add(file, 55.0, site={"gpu": gpu, "numa": node}, locality="local" if node == 0 else "remote")
    return file


EVERY = "no row is of a GPU and a node's memory far from it"


@pytest.mark.parametrize(("nodes", "said"), [
    ([(0, 0), (0, 1), (1, 0), (1, 1)], ""),
    ([(0, 0), (0, 1), (1, 0)], "no row of GPU 1 is of a second node's memory"),
    ([(0, 0), (0, 1), (1, 1)], "no row of GPU 1 is of a second node's memory"),
    ([(0, 0), (1, 1)], "no row of GPU 0, GPU 1 is of a second node's memory"),
    ([(0, 1), (1, 1)], "no row of GPU 0, GPU 1 is of a second node's memory"),
    ([(0, 0), (1, 0)], EVERY),
    ([(0, 0)], EVERY),
    ([(0, 0), (0, 1)], ""),  # of a GPU without any row the rules say so
])  # fmt: skip
def test_each_gpu_needs_rows_of_two_nodes(check, nodes, said):
    rules = COPY.replace(', locality = "local"', "") + "every_gpu = false\n"
    file = seen(*nodes, near=0)
    status, _, document = check(rules, file)
    assert status == (1 if said else 0)
    [one] = of(document, "run.remote_node")
    assert (one["status"], one["message"]) == ("missing" if said else "passed", said)
    file.context["run"]["filter"] = "memcpy"
    for arguments in ([], ["--any-run"]):
        assert check(rules, file, arguments=arguments)[0] == (5 if said else 0)


def test_a_nearest_node_without_memory_is_none_to_be_measured(check):
    """A socket without modules: the links of the other node are all there is."""
    file = two_nodes({0: 55.0}, near=1)
    rules = PEAK + "every_gpu = true\n"
    assert check(rules, file)[0] == 1
    nodes = [{"id": 0, "memory_bytes": 8}, {"id": 1, "memory_bytes": 0}]
    file.context["environment"]["memory"] = {"nodes": nodes}
    assert check(rules, file)[0] == 0


def test_a_node_without_cpus_is_none_to_be_measured(check):
    """As GPUs' own memory is one, and memory behind CXL."""
    rules = COPY.replace(', locality = "local"', "") + "every_gpu = false\n"
    file = seen((0, 0), (1, 0), near=0)
    assert check(rules, file)[0] == 1
    for node, cpus in zip(file.context["environment"]["memory"]["nodes"], ([0, 1], []), strict=True):
        node["cpus"] = cpus
    assert check(rules, file)[0] == 0


def test_of_a_gpu_whose_nearest_node_is_unknown_rows_of_two_nodes_are_needed(check):
    rules = COPY.replace(', locality = "local"', "") + "every_gpu = false\n"
    file = seen((0, 1), (1, 0), (1, 1))
    for row in file.rows:
        row["case"]["axes"]["locality"] = "unknown"
    status, said, _ = check(rules, file)
    assert status == 1
    assert "no row of GPU 0 is of a second node's memory" in said


def test_a_link_to_a_far_node_counts_as_a_row_of_it(check):
    rules = COPY.replace(', locality = "local"', "") + "every_gpu = false\n"
    file = seen((0, 0), (0, 1), (1, 0), near=0)
    assert check(rules, file)[0] == 1
    file.link("host_to_gpu", 30.0, gpu=1, numa=1)
    assert check(rules, file)[0] == 0


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


HELD = "the governor is powersave"


def node(policies=None, nvml=None, **state):
    """A machine whose report has these policies and this of NVML, and around whose visits this was read."""
    file = machine()
    environment = file.context["environment"]
    environment["cpu"]["frequency_policies"] = policies
    environment["gpus"][0]["nvml"] = nvml
    for row in file.rows:
        row["visits"][0]["state"] = dict(state)
    return file


def ruled(text: str) -> str:
    return f"[node]\n{text}\n{COPY}"


def of_node(document: dict, name: str) -> dict:
    [one] = [one for one in document["files"][0]["judged"] if one["rule"] == f"node.{name}"]
    return one


@pytest.mark.parametrize("where", ["report", "state"])
def test_powersave_is_accepted_only_where_the_rules_say_so(check, where):
    file = node([{"governor": "powersave"}]) if where == "report" else node(governor="powersave")
    status, said, document = check(COPY, file)
    assert status == 1
    assert of_node(document, "governor")["message"] == HELD
    assert f"{HELD} (expected not powersave)" in said
    assert "next: sudo cpupower frequency-set --governor performance" in said
    assert check(ruled('governor = ["performance", "powersave"]'), file)[0] == 0
    assert check(ruled('governor = "performance"'), node([{"governor": "schedutil"}]))[0] == 1
    assert check(COPY, node([{"governor": "schedutil"}]))[0] == 0


def test_one_cpu_of_many_with_powersave_fails(check):
    assert check(COPY, node([{"governor": "performance"}, {"governor": "powersave"}]))[0] == 1


def test_what_the_machine_does_not_tell_is_said_and_accepted(check):
    text = 'throttle = "hw_slowdown"\ngpu_sm_mhz = 1\nlink_width = 16\necc = true\necc_errors = 0'
    text = ruled(f"{text}\nwhere_told = true")
    status, said, document = check(text, node([{"governor": None}]))
    assert status == 0
    assert of_node(document, "governor")["status"] == "not applicable"
    assert "not told by the machine, and accepted: The CPUs' frequency governor; " in said
    assert of_node(document, "link_width")["status"] == "passed"
    untold = ("throttle", "gpu_sm_mhz", "ecc", "ecc_errors")
    assert {of_node(document, name)["message"] for name in untold} == {"the machine does not tell"}


@pytest.mark.parametrize(("rule", "good", "bad", "message"), [
    ('throttle = ["hw_slowdown", "sw_power_cap"]', node(throttle=["gpu_idle"]),
     node(throttle=["sw_power_cap"]), "clocks were held down: sw_power_cap (5)"),
    ('throttle = ["hw_slowdown"]', node(nvml={"clock_event_reasons": []}),
     node(nvml={"clock_event_reasons": ["hw_slowdown"]}), "clocks were held down: hw_slowdown (1)"),
    ("gpu_sm_mhz = 1900", node(gpu_sm_mhz=1980), node(gpu_sm_mhz=1200),
     "the middle of 5 readings is 1200 MHz"),
    ("gpu_memory_mhz = 2600", node(gpu_memory_mhz=2619), node(gpu_memory_mhz=1300),
     "the middle of 5 readings is 1300 MHz"),
    ("cpu_mhz = 3000", node(cpu_mhz=3000), node(cpu_mhz=800.5), "the middle of 5 readings is 800.5 MHz"),
    ("link_generation = 5", node(), machine(gen=4), "it was 4"),
    ("link_generation = 5", node(link_generation=5), node(link_generation=3), "it was 3"),
    ("link_width = 16", node(link_width=16), node(link_width=8), "it was 8"),
    ("ecc = true", node(nvml={"ecc": True}), node(nvml={"ecc": False}), "it is off"),
    ("ecc_errors = 0", node(ecc_errors=0), node(ecc_errors=2), "there were 2"),
])  # fmt: skip
def test_a_node_is_ruled_on(check, rule, good, bad, message):
    assert check(ruled(rule), good)[0] == 0
    status, said, document = check(ruled(rule), bad)
    assert status == 1
    assert of_node(document, rule.split()[0])["message"] == message
    assert message in said
    # Without the rule nothing is asked.
    assert check(COPY, bad)[0] == 0


UNTOLD = "the machine does not tell; look for yourself, and accept that by `where_told = true` under [node]"


@pytest.mark.parametrize(("rule", "look"), [
    ('governor = ["performance"]', "cpupower frequency-info"), ("cpu_mhz = 2000", "cpupower frequency-info"),
    ("gpu_sm_mhz = 1500", "nvidia-smi -q -d PERF"), ("gpu_memory_mhz = 1500", "nvidia-smi -q -d PERF"),
    ("ecc = true", "nvidia-smi -q -d ECC"), ("ecc_errors = 0", "nvidia-smi -q -d ECC"),
    ('throttle = ["hw_slowdown"]', "nvidia-smi -q -d PERF"),
])  # fmt: skip
def test_what_rules_name_and_a_machine_does_not_tell_is_not_decided(check, rule, look):
    for arguments in ([], ["--any-run"]):
        status, said, document = check(ruled(rule), machine(), arguments=arguments)
        assert (status, said.partition(":")[0]) == (5, "NOT DECIDED")
        one = of_node(document, rule.split()[0])
        assert (one["status"], one["message"]) == ("not decided", UNTOLD)
        said = " ".join(said.split())
        assert f"not decided: {one['rule']} [node]: {UNTOLD} likely: no row reads it" in said
        assert f"next: {look}" in said
        assert check(ruled(f"{rule}\nwhere_told = true"), machine(), arguments=arguments)[0] == 0
    slow = machine([40.0] * VISITS)
    status, said, _ = check(ruled(rule), slow)
    assert status == 1
    assert said.index("failed: to-gpu") < said.index("not decided: node.")


def test_a_virtual_machine_hides_what_its_cpus_do(check):
    file = machine()
    file.context["environment"]["kernel"] = {"virtual_machine": True}
    said = " ".join(check(ruled('governor = ["performance"]\ncpu_mhz = 2000'), file)[1].split())
    assert f"not decided: node.governor, node.cpu_mhz [node]: {UNTOLD}" in said
    assert "likely, of all 2: a virtual machine hides it from its guests" in said
    assert "next: cpupower frequency-info on the host; then grainscope --preset acceptance --out DIR" in said


def test_one_gpu_that_nothing_is_told_of_is_not_decided_and_named(check):
    read = {"gpu_sm_mhz": 1980, "throttle": [], "ecc_errors": 0}
    states = [({"gpu": gpu, "numa": 0}, read) for gpu in (0, 2)]
    for rule in ("gpu_sm_mhz = 1500", 'throttle = ["hw_slowdown"]', "ecc_errors = 0"):
        status, _, document = check(ruled(rule), several(3, states))
        assert status == 5
        assert of_node(document, rule.split()[0])["message"] == UNTOLD.replace("tell;", "tell of GPU 1;")
        assert check(ruled(f"{rule}\nwhere_told = true"), several(3, states))[0] == 0
        assert check(ruled(rule), several(3, [*states, ({"gpu": 1, "numa": 0}, read)]))[0] == 0
    slow = [*states, ({"gpu": 0, "numa": 0}, {"ecc_errors": 1})]
    assert of_node(check(ruled("ecc_errors = 0"), several(3, slow))[2], "ecc_errors")["status"] == "failed"


def test_the_shipped_sets_ask_of_a_node_what_it_tells():
    assert all(load(name).node.where_told for name in rules.shipped())


def several(gpus: int, states: list[tuple[dict, dict]], nvml=()) -> File:
    """A machine with rows of each GPU, beside these sites with what was read around their visits."""
    file = machine([], gpus=gpus)
    for gpu, told in enumerate(nvml):
        file.context["environment"]["gpus"][gpu]["nvml"] = told
    for gpu in range(gpus):
        add(file, 55.0, 1, {"gpu": gpu, "numa": 0})
    for at, (site, state) in enumerate(states):
        for visit in (1, 2, 3):
            row = add(file, 50.0, visit, site, size=MIB + at)
            row["visits"][0]["state"] = state
    return file


@pytest.mark.parametrize(("rule", "good", "bad", "message"), [
    ("gpu_sm_mhz = 1500", {"gpu_sm_mhz": 1980}, {"gpu_sm_mhz": 345},
     "GPU 1: middle of 3 readings is 345 MHz"),
    ("gpu_memory_mhz = 1500", {"gpu_memory_mhz": 1980}, {"gpu_memory_mhz": 345},
     "GPU 1: middle of 3 readings is 345 MHz"),
    ('throttle = ["hw_slowdown", "sw_power_cap"]', {"throttle": []}, {"throttle": ["hw_slowdown"]},
     "GPU 1: clocks were held down: hw_slowdown (3)"),
    ("link_width = 16", {"link_width": 16}, {"link_width": 8}, "GPU 1: it was 8"),
    ("link_generation = 4", {"link_generation": 5}, {"link_generation": 3}, "GPU 1: it was 3"),
    ("ecc_errors = 0", {"ecc_errors": 0}, {"ecc_errors": 2}, "GPU 1: there were 2"),
])  # fmt: skip
def test_each_gpu_is_judged_by_itself_and_named(check, rule, good, bad, message):
    """Readings of many sound GPUs do not hide one that is slow."""
    sites = [{"gpu": gpu, "numa": 0} for gpu in (0, 2, 3, 1)]
    assert check(ruled(rule), several(4, [(site, good) for site in sites]))[0] == 0
    states = [(site, bad if site["gpu"] == 1 else good) for site in sites]
    status, said, document = check(ruled(rule), several(4, states))
    assert status == 1
    assert of_node(document, rule.split()[0])["message"] == message
    assert f"{message} (expected" in " ".join(said.split())
    # What is read of two is of the one that is so alone, or of either.
    shared = [({"gpu": 0, "peer": 1}, bad), *states]
    assert "GPU 0" not in of_node(check(ruled(rule), several(4, shared))[2], rule.split()[0])["message"]
    both = [(site, good) for site in sites] + [({"gpu": 2, "peer": 1}, bad)]
    found = of_node(check(ruled(rule), several(4, both))[2], rule.split()[0])
    of_both = message.replace("GPU 1", "GPU 1 or GPU 2")
    assert found["message"] == ("" if rule.startswith("gpu_") else of_both)
    # Without rows of a GPU alone its clock is that of rows of it first.
    pairs = [({"gpu": 0, "peer": 1}, good), ({"gpu": 1, "peer": 0}, bad)]
    found = of_node(check(ruled(rule), several(2, pairs))[2], rule.split()[0])
    assert found["message"] == (message if rule.startswith("gpu_") else message.replace("1:", "0 or GPU 1:"))


def test_what_the_report_says_of_gpus_is_said_of_each(check):
    sound = {"clock_event_reasons": [], "ecc": True}
    file = several(3, [], [sound, sound, {"clock_event_reasons": ["hw_slowdown"], "ecc": False}])
    _, _, document = check(ruled('throttle = ["hw_slowdown"]\necc = true'), file)
    assert of_node(document, "throttle")["message"] == "GPU 2: clocks were held down: hw_slowdown (1)"
    assert of_node(document, "ecc")["message"] == "GPU 2: it is off"
    file.links.clear()
    for gpu, width in enumerate((16, 16, 8)):
        file.link("host_to_gpu", 55.2, gpu=gpu, gen=5)
        file.links[-1]["width"] = width
    _, _, document = check(ruled("link_width = 16"), file)
    assert of_node(document, "link_width")["message"] == "GPU 2: it was 8"


@pytest.mark.parametrize(("rule", "bad", "likely"), [
    ("", node([{"governor": "powersave"}]), "the system's default, or a power profile ("),
    ('throttle = ["hw_thermal_slowdown"]', node(throttle=["hw_thermal_slowdown"]), "the GPU is far too hot"),
    ('throttle = ["bit_12"]', node(throttle=["bit_12"]), "the driver's reason bit_12, which has no name yet"),
    ("gpu_sm_mhz = 1900", node(gpu_sm_mhz=1200), "its clocks were set or capped, or it had nothing to do"),
    ("gpu_sm_mhz = 1900", node(gpu_sm_mhz=1200, throttle=["gpu_idle", "sw_power_cap"]),
     "clocks were held down (sw_power_cap): the GPU is at its power limit"),
    ("cpu_mhz = 3000", node(cpu_mhz=800), "a cap on the CPUs' frequency, heat, or a power profile"),
    ('governor = ["powersave"]\ncpu_mhz = 3000', node(cpu_mhz=800, governor="powersave"),
     "the CPUs' governor is powersave"),
    ("link_generation = 5", machine(gen=4), "the card or its riser sits badly, or the slot"),
    ("link_width = 16", node(link_width=8), "the card or its riser sits badly, or the slot"),
    ("ecc = true", node(nvml={"ecc": False}), "someone switched it off, or"),
    ("ecc_errors = 0", node(ecc_errors=2), "memory of the GPU fails"),
])  # fmt: skip
def test_what_is_wrong_with_a_node_has_a_likely_cause_and_a_command(check, rule, bad, likely):
    status, said, _ = check(ruled(rule), bad)
    assert status == 1
    [failure] = re.findall(r"failed: node\.\S+ \[node\]: .*?next: \S+", said, re.DOTALL)
    assert f"likely: {likely}" in " ".join(failure.split())


@pytest.mark.parametrize(("rule", "name", "bad"), [
    ("link_width = 16", "gpu.link_width", node(link_width=8)),
    ("gpu_sm_mhz = 1900", "gpu.clocks_set", node(gpu_sm_mhz=1200)),
    ("cpu_mhz = 3000", "cpu.frequency_cap", node(cpu_mhz=800)),
])  # fmt: skip
def test_a_likely_cause_of_a_node_is_what_its_report_finds(check, rule, name, bad):
    bad.context["environment"]["warnings"] = [{**HOT, "id": name, "severity": "warning"}]
    assert "likely: hot\n" in check(ruled(rule), bad)[1]


@pytest.mark.parametrize("state", [
    {"governor": 3, "throttle": "hw_slowdown", "gpu_sm_mhz": "fast", "link_width": None, "ecc_errors": True},
    {"unheard_of": {"of": []}},
])  # fmt: skip
def test_a_state_of_other_kinds_is_as_if_it_told_nothing(check, state):
    text = 'throttle = "hw_slowdown"\ngpu_sm_mhz = 1\nlink_width = 16\necc_errors = 0'
    status, _, document = check(ruled(f"{text}\nwhere_told = true"), node(policies="none", **state))
    assert status == 0
    assert of_node(document, "ecc_errors")["status"] == "not applicable"
    status, _, document = check(ruled(text), node(policies="none", **state))
    assert status == 5
    assert of_node(document, "ecc_errors")["status"] == "not decided"


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
