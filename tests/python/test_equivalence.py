"""The tool that compares two programs, and the error rates of its verdicts."""

import argparse
import gzip
import importlib.machinery
import importlib.util
import json
import math
import random
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from fake_grainscope import calls, make
from grainscope_report import equivalence, uncertainty
from grainscope_report.equivalence import DIFFERS, SAME, Estimate, Family

ROOT = Path(__file__).parents[2]
STEPS = [f"{number}{side}-{part}" for number, side in enumerate("ABBAAB", 1) for part in ("named-1", "whole")]


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


def cubin(functions: dict[str, bytes]) -> bytes:
    """A file for the GPU with these functions, and with a section that is none."""
    names, table = b"\0.shstrtab\0", b""
    body, sections = b"", [(1, b"")]
    for name, code in functions.items():
        sections.append((len(names), code))
        names += f".text.{name}".encode() + b"\0"
    sections[0] = (1, names)
    for name, content in sections:
        table += struct.pack("<I20xQQ24x", name, 64 + len(body), len(content))
        body += content
    header = bytearray(64)
    header[:4] = b"\x7fELF"
    struct.pack_into("<Q", header, 0x28, 64 + len(body))
    struct.pack_into("<HH", header, 0x3C, len(sections), 0)
    return bytes(header) + body + table


UNNAMED = "_ZN3abc73_GLOBAL__N__{}_2_a_cu_{}4copyEv"
KERNELS = {UNNAMED.format("0123abcd", "4567cdef"): b"one", "sum": b"two"}


@pytest.mark.parametrize(
    ("others", "said"),
    [
        pytest.param(None, "Kernels: not compared", id="no cuobjdump"),
        pytest.param({}, "the machine code of 2 of 2 GPU functions of A is not in B", id="none in b"),
        pytest.param(
            {UNNAMED.format("99999999", "88888888"): b"one", "total": b"two"},
            "all 2 GPU functions is the same",
            id="other names",
        ),
        pytest.param(KERNELS | {"sum": b"owt"}, "1 of B have other code than A's, e.g. sum", id="other code"),
        pytest.param(KERNELS | {"more": b"6"}, "1 of B have other code than A's, e.g. more", id="one more"),
    ],
)
def test_the_machine_code_of_kernels_is_compared(compare, tmp_path, monkeypatch, others, said):
    for side, functions in (("A", KERNELS), ("B", others)):
        for at, (name, code) in enumerate((functions or {}).items()):
            (tmp_path / f"{side}.{at}.cubin").write_bytes(cubin({name: code}))
    tools = tmp_path / "tools"
    tools.mkdir()
    if others is not None:
        lines = ["#!/bin/sh", f'cp "{tmp_path}/$(basename "$3")".*.cubin .']
        (tools / "cuobjdump").write_text("\n".join(lines))
        (tools / "cuobjdump").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    status, text, _ = compare()
    assert status == 0
    assert said in text


def test_programs_without_gpu_functions_are_not_called_the_same(tool):
    assert "in neither program" in tool.kernels_text({"functions": 0, "a_only": [], "b_only": []})


def test_the_order_is_a_b_b_a_a_b_and_models_run_once_a_side(compare, tmp_path):
    compare()
    order = sorted((line.split()[1] for side in "AB" for line in calls(tmp_path / side)), key=str)
    assert order == sorted([*STEPS, "1A-model", "2B-model"])
    assert [line.split()[1][:2] for line in calls(tmp_path / "A")][1:] == ["1A", "1A", "4A", "4A", "5A", "5A"]


def test_an_interrupted_step_goes_on_and_finished_ones_are_not_run_again(compare, tmp_path):
    settings = {"stop": "2B-named-1"}
    status, text, found = compare({}, settings)
    assert (status, found) == (3, {})
    assert "call it again" in text
    status, *_ = compare({}, settings)
    assert status == 0
    assert calls(tmp_path / "B").count("resume 2B-named-1") == 1
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


def test_a_family_whose_second_runs_contradict_the_first_cannot_be_told(compare):
    """`same` by the second runs alone would be a second chance for what lies at the margin."""
    status, _, found = compare({}, {"disturbed": {"^transfer/memcpy": 1.03}})
    family = next(x for x in found["families"] if x["family"] == "transfer/memcpy")
    assert (family["verdict"], family["again"]["verdict"]) == ("cannot be told", "same")
    assert (status, found["rows_apart"]) == (4, [])


def test_visits_on_busy_cpus_stand_for_a_row_only_where_all_were(tool):
    def row(*visits: tuple[float, bool]) -> dict:
        told = [{"median_s": time, "samples_s": [time] * 4, "busy": busy} for time, busy in visits]
        case = {"family": "call", "axes": {}, "site": {}}
        return {"name": "call/x", "status": "ok", "label": "measured", "case": case, "visits": told}

    assert tool.digest(row((1.0, False), (5.0, True), (1.0, False)))["value"] == 0.0
    assert tool.digest(row((math.e, True), (math.e, True)))["value"] == pytest.approx(1.0)


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


def test_a_row_that_fails_when_run_again_leaves_the_verdict_open(compare):
    row = {"^contention.*bytes:7$": 1.3}
    status, text, found = compare({}, {"slow": row, "fails_again": "bytes:7$"})
    assert (status, found["left_out"]) == (4, ["contention/copy/gpu:0/numa:0/bytes:7"])
    assert "Without a time in some run: 1 rows" in text


@pytest.mark.parametrize(("steps", "clock"), [(".", "quiet"), ("^2B", "host"), ("^[^2]", "host")])
def test_rows_on_quiet_cpus_are_judged_apart_where_all_runs_had_them(compare, steps, clock):
    status, _, found = compare({"quiet": steps}, {"quiet": steps})
    call = next(x for x in found["families"] if x["family"] == "call")
    assert (status, call["clock"], call["margin"], call["rows"]) == (0, clock, 0.05, 10)


def test_rows_run_again_keep_the_clock_of_the_first_runs(compare):
    first = {"quiet": "^[1-6][AB]-[^a]"}
    status, _, found = compare(first, {"slow": {"^call/": 1.3}, **first})
    call = next(x for x in found["families"] if x["family"] == "call")
    assert (status, call["clock"], call["again"]["verdict"]) == (1, "quiet", "differs")


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


def test_a_filter_that_the_program_refuses_is_wrong_usage_and_nothing_is_kept(compare):
    status, text, _ = compare({}, {}, "--filter", "(")
    assert status == 2
    assert text.count("\n") == 1
    assert "/A refuses what it is to run: grainscope: missing ), unterminated subpattern" in text
    assert compare({}, {}, "--filter", "^con")[0] == 0, "not held against the filter that was refused"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--rounds", "0"), "--rounds and --shard-count are 1 or more"),
        (("--shard-count", "-1"), "--rounds and --shard-count are 1 or more"),
        (("--margin-gated", "nan"), "a margin is more than 0 and less than 100 percent"),
        (("--margin-host", "-5"), "a margin is more than 0 and less than 100 percent"),
        (("--max-time", "1.2.3"), "1.2.3 is not a time: write e.g. 90s, 9m or 1h"),
        (("-o", ""), "it is empty"),
    ],
)
def test_flags_that_make_no_sense_are_wrong_usage(tool, capsys, flags, says):
    with pytest.raises(SystemExit) as end:
        tool.main(["a", "b", *flags])
    assert end.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("place", ["/dev/full", "a file"])
def test_a_place_that_cannot_be_written_is_a_sentence_and_no_verdict(tool, tmp_path, capsys, place):
    out = tmp_path / "file" if place == "a file" else Path(place)
    (tmp_path / "file").touch()
    programs = [str(make(tmp_path / side)) for side in "AB"]
    assert tool.main([*programs, "-o", str(out)]) == 2
    assert re.fullmatch(f"equivalence: {out}/setup.json cannot be .*\n", capsys.readouterr().err)


def test_a_disk_that_fills_up_on_the_way_stops_it(compare, monkeypatch, tool):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tool, "call", full)
    status, text, _ = compare()
    assert status == 3
    assert (
        "the system refuses ([Errno 28] No space left on device): when that is fixed, call it again" in text
    )


def test_a_verdict_that_nobody_can_read_is_none(tmp_path):
    programs = [make(tmp_path / side) for side in "AB"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, ROOT / "scripts/equivalence", *programs, "-o", tmp_path / "out"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr.endswith("equivalence: standard output cannot be written (No space left on device)\n")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("setup.json", b"", "is empty"),
        ("setup.json", b"[]", "is not what this tool wrote: give another -o, or delete"),
        ("lists.json", b"{", "is not what this tool wrote: give another -o, or delete"),
        ("steps/1A-whole/result.json", b"{", "is cut off"),
        (
            "steps/1A-whole/result.json",
            b'{"context": {"schema_version": 2}, "benchmarks": [{}]}',
            "result format",
        ),
    ],
)
def test_what_an_earlier_call_left_damaged_is_named(compare, tmp_path, name, content, says):
    assert compare()[0] == 0
    (tmp_path / "out" / name).write_bytes(content)
    status, text, _ = compare()
    assert status == 2
    assert says in text.splitlines()[0]


def test_large_families_run_in_part_and_the_rest_whole(tool, tmp_path):
    lists = {side: {"quick": tool.listed(make(tmp_path / side), "quick", [])} for side in "AB"}
    parts = tool.parts_of(lists, argparse.Namespace(filter=None, shard_count=4, preset="quick"))
    [named] = parts.pop("named-1")
    assert parts == {
        "whole": ["--benchmark_filter=^(contention)/"],
        "model": ["--benchmark_filter=^(model/bfs)/"],
    }
    cases = [name for name in lists["A"]["quick"]["cases"] if re.search(named.partition("=")[2], name)]
    for family in ("transfer/memcpy/", "call/"):
        of_family = sorted(name for name in lists["A"]["quick"]["cases"] if name.startswith(family))
        assert [name for name in sorted(cases) if name.startswith(family)] == of_family[::4]


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


AGAIN = "status 3; build it again, or name another"


@pytest.mark.parametrize(("side", "content", "mode", "says"), [
    ("A", "x", 0o644, "does not run (Permission denied): build it, or name another"),
    ("B", "x", 0o644, "does not run (Permission denied): build it, or name another"),
    ("A", "#!/bin/sh\nexit 3\n", 0o755, f"does not answer --env json: {AGAIN}"),
    ("B", "#!/bin/sh\nexit 3\n", 0o755, f"does not answer --version: {AGAIN}"),
    ("A", "#!/bin/sh\necho x\n", 0o755, "prints no JSON by --env json: name the program grainscope"),
    ("A", "#!/bin/sh\necho [1]\n", 0o755, "prints no JSON by --env json: name the program grainscope"),
])  # fmt: skip
def test_a_program_that_is_none_is_a_sentence(tool, tmp_path, capsys, side, content, mode, says):
    programs = {one: make(tmp_path / one) for one in "AB"}
    programs[side].write_text(content)
    programs[side].chmod(mode)
    assert tool.main([*map(str, programs.values()), "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"equivalence: {programs[side]} {says}\n"


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


# Rows of the families of `quick` on one clock: gated ones on an H100, and those on the host's.
GATED = (22, 37, 14, 53, 4, 9, 24, 74, 11, 7, 20, 16, 52, 48, 2, 1, 3)
HOST = (61, 4, 26, 4, 12, 12, 10, 24, 1, 1, 36, 16, 9, 14, 15, 36, 2, 5)
# Noise of a typical row in one run, shift of a run, degrees of freedom of Student's t (None: normal), margin.
HEAVY = (GATED, 0.006, 0.002, 2, 0.01)
NORMAL = ((40,) * 12, 0.01, 0.002, None, 0.01)
SHIFTED = ((40,) * 12, 0.01, 0.01, None, 0.01)
SLOW_CLOCK = (HOST, 0.03, 0.02, 2, 0.05)
WORLDS = {"heavy": HEAVY, "normal": NORMAL, "shifted": SHIFTED, "host": SLOW_CLOCK}


class World:
    """Draws families: rows of unlike noise, runs that shift as a whole, tails as heavy as told."""

    def __init__(self, seed: int, noise: float, shift: float, tail: int | None) -> None:
        self.chance, self.noise, self.shift, self.tail = random.Random(seed), noise, shift, tail

    def draw(self) -> float:
        value = self.chance.gauss(0, 1)
        return (
            value / math.sqrt(self.chance.gammavariate(self.tail / 2, 2) / self.tail) if self.tail else value
        )

    def family(self, rows: int, ratio: float = 1.0, noise: float | None = None) -> list:
        runs = [
            [self.chance.gauss(0, self.shift) + apart for _ in range(3)] for apart in (0, math.log(ratio))
        ]
        spread = [noise or math.exp(self.chance.gauss(0, 0.7)) * self.noise for _ in range(rows)]
        return [tuple([run + own * self.draw() for run in side] for side in runs) for own in spread]


def estimates(world: World, counts: tuple[int, ...], ratio: float = 1.0) -> list[Estimate]:
    families = [Family(world.family(rows, ratio)) for rows in counts]
    prior = equivalence.fit_families(families)
    return [family.estimate(prior) for family in families]


@pytest.mark.parametrize("name", WORLDS)
def test_nothing_differs_where_nothing_does_and_the_interval_has_the_truth(name):
    counts, *noise, margin = WORLDS[name]
    world = World(3, *noise)
    found = [estimate for _ in range(100) for estimate in estimates(world, counts)]
    wrong = sum(estimate.verdict(margin) == DIFFERS for estimate in found) / len(found)
    covered = sum(low <= 1 <= high for low, high in (x.interval(0.9) for x in found)) / len(found)
    assert wrong <= 0.02
    assert 0.88 <= covered <= 0.96


@pytest.mark.parametrize("name", WORLDS)
def test_same_is_seldom_said_at_the_margin(name):
    counts, *noise, margin = WORLDS[name]
    world = World(4, *noise)
    found = [x for at in range(150) for x in estimates(world, counts, (1 + margin) ** (-1 if at % 2 else 1))]
    assert sum(estimate.verdict(margin) == SAME for estimate in found) / len(found) <= 0.06


@pytest.mark.parametrize("name", ["heavy", "normal"])
def test_the_power_is_what_it_is_said_to_be(name):
    counts, *noise, margin = WORLDS[name]
    world = World(5, *noise)
    found = [estimate for _ in range(100) for estimate in estimates(world, counts)]
    same = sum(estimate.verdict(margin) == SAME for estimate in found) / len(found)
    assert same == pytest.approx(sum(x.power(margin) for x in found) / len(found), abs=0.06)
    assert same > 0.5


def test_three_percent_in_a_family_of_forty_rows_is_found():
    found = 0
    for seed in range(60):
        world = World(seed, *HEAVY[1:4])
        planted = world.family(40, 1.03, noise=0.01)
        families = [Family(rows) for rows in (*map(world.family, GATED), planted)]
        found += families[-1].estimate(equivalence.fit_families(families)).verdict(0.01) == DIFFERS
    assert found >= 0.9 * 60


def test_rows_stand_out_where_they_differ_and_seldom_else():
    world, noise, chance_finds, found = World(6, 0.006, 0.002, 3), 0.006, 0, 0
    for _ in range(20):
        rows = [row for count in GATED for row in world.family(count)] + world.family(20, 1.08, noise)
        prior = uncertainty.fit_prior([equivalence.within(row)[0] for row in rows], 4)
        out = equivalence.false_discoveries([equivalence.row_estimate(row, prior).p for row in rows])
        found += sum(at >= len(rows) - 20 for at in out)
        chance_finds += sum(at < len(rows) - 20 for at in out)
    assert found >= 0.8 * 400
    assert chance_finds <= 0.1 * found


def test_a_few_rows_far_out_do_not_move_a_family():
    world = World(7, *NORMAL[1:4])
    rows = world.family(40)
    far = [(a, [x + 0.5 for x in b]) for a, b in rows[:4]]
    families = [Family(rows), Family(far + rows[4:])]
    assert families[1].apart == pytest.approx(families[0].apart, abs=0.003)


def test_one_row_and_rows_that_never_vary_are_judged():
    single = Family([([0.0, 0.01, 0.02], [0.01, 0.0, 0.03])])
    still = Family([([1.0] * 3, [1.0] * 3), ([2.0] * 3, [2.0] * 3)])
    for family in (single, still):
        estimate = family.estimate(equivalence.fit_families([family]))
        assert estimate.error > 0
        assert estimate.freedom == 4
    assert still.estimate(equivalence.fit_families([still])).verdict(0.01) == SAME


@pytest.mark.parametrize("freedom", [4, 10, 1e3])
def test_a_difference_within_the_margin_is_the_same_and_a_certain_one_is_beyond_half_of_it(freedom):
    assert Estimate(math.log(1.008), 0.0005, freedom).verdict(0.01) == SAME
    assert Estimate(math.log(1.02), 0.0005, freedom).verdict(0.01) == DIFFERS
    assert Estimate(math.log(1.02), 0.02, freedom).verdict(0.01) == equivalence.UNKNOWN
    certain = [
        estimate
        for at in range(1, 200)
        for error in (0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005)
        if (estimate := Estimate(at * 1e-4, error, freedom)).verdict(0.01) == DIFFERS
    ]
    assert len(certain) > 100
    assert all(estimate.beyond_half(0.01) for estimate in certain)


@pytest.mark.parametrize(
    ("chance", "freedom", "value"),
    [(0.95, 4, 2.13185), (0.975, 10, 2.22814), (0.995, 30, 2.75000), (0.95, 7, 1.89458), (0.05, 1, -6.31375)],
)
def test_student_s_t(chance, freedom, value):
    assert uncertainty.student_quantile(chance, freedom) == pytest.approx(value, abs=2e-5)
    above = chance if value < 0 else 1 - chance
    assert uncertainty.student_above(abs(value), freedom) == pytest.approx(above, abs=1e-6)


def test_the_prior_of_variances_is_found():
    chance = random.Random(8)
    # A scaled inverse chi-square of 6 degrees of freedom about 2, seen through 4.
    true = [2 * 6 / chance.gammavariate(3, 2) for _ in range(4000)]
    prior = uncertainty.fit_prior([value * chance.gammavariate(2, 2) / 4 for value in true], 4)
    assert prior.variance == pytest.approx(2, rel=0.1)
    assert prior.freedom == pytest.approx(6, rel=0.25)
    assert uncertainty.fit_prior([1.0, 2.0], 4).freedom == 0
