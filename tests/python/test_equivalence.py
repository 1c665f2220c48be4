"""scripts/equivalence, with a stand-in for the program: what it runs, in which order, and what it says."""

import argparse
import gzip
import importlib.machinery
import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fake_grainscope import calls, make

ROOT = Path(__file__).parents[2]
STEPS = [f"{number}{side}-{part}" for number, side in enumerate("ABBAAB", 1) for part in ("shard", "whole")]


@pytest.fixture
def tool(monkeypatch):
    loader = importlib.machinery.SourceFileLoader("equivalence_script", str(ROOT / "scripts/equivalence"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    monkeypatch.setattr(module, "PRESETS", ("quick",))
    return module


@pytest.fixture
def compare(tool, tmp_path, capsys):
    """Compares two stand-ins by their settings; gives status, output and the folder's JSON."""

    def run(a: dict | None = None, b: dict | None = None, *flags: str) -> tuple[int, str, dict]:
        programs = [str(make(tmp_path / side, **(settings or {}))) for side, settings in (("A", a), ("B", b))]
        status = tool.main([*programs, "-o", str(tmp_path / "out"), *flags])
        told = capsys.readouterr()
        path = tmp_path / "out" / "equivalence.json"
        return status, told.out + told.err, json.loads(path.read_text()) if path.exists() else {}

    return run


def test_a_program_is_the_same_as_itself(compare, tmp_path):
    status, text, found = compare()
    assert (status, text.splitlines()[0].split(":")[0]) == (0, "SAME")
    assert {(x["family"], x["clock"], x["rows"]) for x in found["families"]} == {
        ("transfer/memcpy", "gated", 20), ("contention", "gated", 10), ("call", "host", 10),
    }  # fmt: skip
    assert all(x["low"] <= 1 <= x["high"] and x["power"] > 0.9 for x in found["families"])
    with gzip.open(tmp_path / "out" / "runs.json.gz") as packed:
        raw = json.load(packed)
    assert [len(raw["first"][side]) for side in "AB"] == [3, 3]
    row = next(iter(raw["first"]["A"][0].values()))
    assert row["n"] == 32
    assert len(row["quartiles"]) == 3


def test_the_order_is_a_b_b_a_a_b_and_models_run_once_a_side(compare, tmp_path):
    compare()
    order = sorted((line.split()[1] for side in "AB" for line in calls(tmp_path / side)), key=str)
    assert order == sorted([*STEPS, "1A-model", "2B-model"])
    assert [line.split()[1][:2] for line in calls(tmp_path / "A")][1:] == ["1A", "1A", "4A", "4A", "5A", "5A"]


def test_an_interrupted_step_goes_on_and_finished_ones_are_not_run_again(compare, tmp_path):
    settings = {"stop": "2B-shard"}
    status, text, found = compare({}, settings)
    assert (status, found) == (3, {})
    assert "call it again" in text
    status, *_ = compare({}, settings)
    assert status == 0
    assert calls(tmp_path / "B").count("resume 2B-shard") == 1
    assert len(calls(tmp_path / "A")) == 7
    assert compare({}, settings)[0] == 0
    assert len(calls(tmp_path / "A") + calls(tmp_path / "B")) == 15


def test_a_step_that_does_not_fit_is_not_begun(compare, tmp_path):
    status, text, _ = compare({}, {}, "--max-time", "9s")
    assert status == 3
    assert "call it again" in text
    # The stand-in says that a step takes 148 s.
    status, text, _ = compare({}, {}, "--max-time", "100s")
    assert (status, calls(tmp_path / "A"), calls(tmp_path / "B")) == (3, ["out 1A-model"], [])
    assert "about 148 s" in text


def test_another_list_of_cases_differs(compare):
    status, text, found = compare({}, {"extra": "transfer/memcpy"})
    assert status == 1
    assert "1 cases in B alone, e.g. transfer/memcpy/copy/gpu:0/numa:0/bytes:41" in text
    # A shard of unlike lists would have unlike cases.
    assert {x["family"]: x["rows"] for x in found["families"]}["transfer/memcpy"] == 40


def test_another_reason_for_skipping_differs(compare):
    status, text, found = compare({}, {"reason": "needs 2 GPUs"})
    assert status == 1
    assert len(found["lists"]) == 1
    assert "'needs two GPUs; this machine has one' / 'needs 2 GPUs'" in text
    assert "Facts: reason of 1 rows of transfer/peer always differs" in text


@pytest.mark.parametrize(("steps", "status"), [(".", 1), ("^2B-[sw]", 4)])
def test_another_verification_differs_where_every_run_has_it(compare, steps, status):
    found = compare({}, {"verified": {steps: "half the bytes"}})
    assert found[0] == status
    assert "every byte / half the bytes" in found[1]


def test_what_a_does_not_keep_itself_is_not_held(compare):
    status, text, found = compare({"varies": "contention"}, {"varies": "contention"})
    assert (status, found["facts"]["not_held"]) == (0, ["traffic.requests"])
    assert "does not keep itself: traffic.requests" in text
    # Of a family that A keeps, B must, too.
    assert compare({}, {"varies": "contention"}, "-o", found["setup"]["A"]["program"] + "-2")[0] == 1


def test_a_failed_row_differs(compare):
    status, text, found = compare({}, {"fails": "^contention.*bytes:3$"})
    assert status == 1
    assert "status of 1 rows of contention always differs" in text
    assert found["left_out"] == ["contention/copy/gpu:0/numa:0/bytes:3"]


def test_a_slower_family_differs_once_it_was_run_again(compare):
    status, _, found = compare({}, {"slow": {"^transfer/memcpy": 1.03}})
    family = next(x for x in found["families"] if x["family"] == "transfer/memcpy")
    assert (status, family["verdict"], family["again"]["verdict"]) == (1, "differs", "differs")
    assert family["again"]["ratio"] == pytest.approx(1.03, abs=0.002)
    assert {x["verdict"] for x in found["families"] if x is not family} == {"same"}


def test_a_slower_row_differs_once_it_was_run_again(compare):
    status, text, found = compare({}, {"slow": {"^contention.*bytes:7$": 1.3}})
    assert status == 1
    assert [row["name"] for row in found["rows_apart"]] == ["contention/copy/gpu:0/numa:0/bytes:7"]
    row = found["rows_apart"][0]
    assert row["low"] < 1.3 < row["high"]
    assert "contention/copy/gpu:0/numa:0/bytes:7" in text


def test_a_row_that_was_only_disturbed_does_not_differ(compare):
    status, _, found = compare({}, {"disturbed": {"^contention.*bytes:7$": 1.3}})
    assert (status, found["rows_that_stood_out"], found["rows_apart"]) == (0, 1, [])


def test_a_model_that_computes_another_number_differs(compare, tmp_path):
    status, text, _ = compare({}, {"slow": {"^model/.*bytes:2$": 1 + 1e-9}})
    assert status == 1
    assert "Models: counters.bytes_s of 1 rows of model/bfs always differs" in text
    assert "out 3A-model" in calls(tmp_path / "A")


def test_a_model_s_number_that_every_run_changes_is_not_held(compare):
    status, _, found = compare({"peak": 0.1}, {"peak": 0.1})
    assert (status, found["models"]["not_held"]) == (0, ["counters.bytes_s"])


def test_runs_of_two_gpus_are_refused(compare):
    status, text, _ = compare({}, {"uuid": "GPU-2"})
    assert status == 3
    assert "GPU-2" in text
    assert "they are not compared" in text


def test_runs_of_two_boots_or_builds_are_refused(compare, tmp_path):
    assert compare()[0] == 0
    status, text, _ = compare({}, {"seed": 2})
    assert status == 3
    assert "holds runs with another B" in text
    path = tmp_path / "out" / "setup.json"
    setup = json.loads(path.read_text())
    setup["machine"]["boot"] = "another"
    path.write_text(json.dumps(setup))
    status, text, _ = compare()
    assert status == 3
    assert "holds runs with another machine" in text


def test_more_rounds_go_on_from_those_that_there_are(compare, tmp_path):
    compare()
    narrow = compare({}, {}, "--rounds", "2")[2]
    assert len(calls(tmp_path / "A")) == 1 + 12
    assert narrow["rounds"] == 2
    assert all(x["freedom"] == 10 for x in narrow["families"])


def test_a_filter_picks_cases_and_shards_only_on_demand(compare):
    status, text, found = compare({}, {}, "--filter", "^con")
    assert (status, {x["family"]: x["rows"] for x in found["families"]}) == (0, {"contention": 10})
    assert "Models" not in text


def test_large_families_run_in_part_and_the_rest_whole(tool, tmp_path):
    lists = {side: {"quick": tool.listed(make(tmp_path / side), "quick", [])} for side in "AB"}
    assert tool.parts_of(lists, argparse.Namespace(filter=None, shard_count=4, preset="quick")) == {
        "shard": ["--benchmark_filter=^(transfer/memcpy|call)/", "--shard", "1/4"],
        "whole": ["--benchmark_filter=^(contention)/"],
        "model": ["--benchmark_filter=^(model/bfs)/"],
    }


def test_lists_in_another_order_run_in_part_by_name(tool, tmp_path):
    lists = {side: {"quick": tool.listed(make(tmp_path / side), "quick", [])} for side in "AB"}
    lists["B"]["quick"]["cases"].reverse()
    parts = tool.parts_of(lists, argparse.Namespace(filter=None, shard_count=4, preset="quick"))
    assert "shard" not in parts
    (picked,) = parts["named-1"]
    cases = lists["A"]["quick"]["cases"]
    taken = [name for name in cases if re.search(picked.split("=", 1)[1], name)]
    assert {name.split("/")[0] for name in taken} == {"transfer", "call"}
    assert 0 < len(taken) < len([name for name in cases if name.startswith(("transfer/", "call/"))]) / 3


def test_filters_pick_the_names_alone_and_stay_short(tool):
    names = [f"gather/a.b/axis-{at}/bytes:{at}" for at in range(400)]
    filters = [text.split("=", 1)[1] for text in tool.filters_of(names)]
    assert max(map(len, filters)) <= 4096
    assert [name for text in filters for name in names if re.search(text, name)] == names
    assert not re.search(filters[0], "gather/aXb/axis-0/bytes:0")


def test_an_unknown_build_says_what_to_do(tool, tmp_path, capsys):
    assert tool.main(["no-such-commit", ".", "-o", str(tmp_path / "out")]) == 2
    assert "git archive --prefix=no-such-commit/" in capsys.readouterr().err


@pytest.fixture
def checkout(tool, tmp_path, monkeypatch):
    """A checkout of one commit, with a stand-in for cmake that notes how it is called."""
    root = tmp_path / "checkout"
    (root / "scripts").mkdir(parents=True)
    (root / "CMakeLists.txt").write_text("project(x)")
    shutil.copy(ROOT / "scripts/common.sh", root / "scripts")
    git = ["git", "-C", root, "-c", "user.name=n", "-c", "user.email=e"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    tools = tmp_path / "bin"
    tools.mkdir()
    cmake = tools / "cmake"
    cmake.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/cmake.calls\n[ "$1" = --build ] || exit 0\n'
        'mkdir -p "$2/benchmarks" && touch "$2/benchmarks/grainscope"\n'
    )
    cmake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setattr(tool, "ROOT", root)
    return root


def test_a_commit_is_built_apart_from_the_checkout(tool, checkout, tmp_path):
    (checkout / "CMakeLists.txt").write_text("changed")
    program = tool.program_of("HEAD", tool.Clock(None))
    commit = program.parts[-4]
    source = checkout / "build/equivalence" / commit / "source"
    assert program.exists()
    assert (source / "CMakeLists.txt").read_text() == "project(x)"
    configured, built = (tmp_path / "cmake.calls").read_text().splitlines()
    for flag in (f"-S {source}", "Release", "GRAINSCOPE_TESTS=OFF", f"GRAINSCOPE_BUILD_COMMIT={commit}"):
        assert flag in configured
    assert "--target grainscope_program" in built


def test_the_worktree_and_a_source_folder_are_built_where_they_lie(tool, checkout, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(checkout / "scripts", other / "scripts")
    (other / "CMakeLists.txt").touch()
    assert tool.program_of(".", tool.Clock(None)).is_relative_to(checkout / "build/equivalence/worktree")
    folder = tool.program_of(str(other), tool.Clock(None))
    assert folder.is_relative_to(checkout / "build/equivalence")
    assert f"-S {checkout} " in (tmp_path / "cmake.calls").read_text()
    assert f"-S {other} " in (tmp_path / "cmake.calls").read_text()


@pytest.mark.usefixtures("checkout")
def test_a_build_that_fails_shows_why(tool, tmp_path, capsys):
    (tmp_path / "bin/cmake").write_text("#!/bin/sh\necho no compiler\nexit 1\n")
    assert tool.main([".", ".", "-o", str(tmp_path / "out")]) == 3
    assert "no compiler" in capsys.readouterr().err
