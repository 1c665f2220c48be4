"""scripts/fleet-run, with local processes in the place of nodes, each with an output of its own."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from compared import SIZES, node
from grainscope_report.cli import main
from grainscope_report.fleet import sources

LAUNCHER = Path(__file__).resolve().parents[2] / "scripts" / "fleet-run"
PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")
# Writes its journal and result as grainscope does, and what it was called with.
STUB = """#!/usr/bin/env bash
set -eu
echo "$*" >>"$STUB_CALLS/$GRAINSCOPE_NODE"
out=$2
mkdir -p "$out"
echo header >"$out/journal.jsonl"
sleep "${STUB_SLEEP:-0}"
cp "$STUB_RESULTS/$GRAINSCOPE_NODE.json" "$out/result.json"
exit "${STUB_STATUS:-0}"
"""


@pytest.fixture
def stub(tmp_path):
    """A program that gives each node a result of its own; node-3 is twice as slow."""
    program = tmp_path / "grainscope"
    program.write_text(STUB)
    program.chmod(0o755)
    for folder in ("results", "calls", "locks"):
        (tmp_path / folder).mkdir()
    for at in range(6):
        slow = dict.fromkeys(SIZES, 2.0) if at == 3 else None
        node(f"node-{at}", at, slow=slow).write(tmp_path / "results" / f"node-{at}.json")
    return program


def start(tmp_path: Path, program: Path | str, name: str, *flags: str, **more: str) -> subprocess.Popen:
    environment = os.environ | {
        "GRAINSCOPE_NODE": name,
        "STUB_RESULTS": str(tmp_path / "results"),
        "STUB_CALLS": str(tmp_path / "calls"),
        "TMPDIR": str(tmp_path / "locks") if (tmp_path / "locks").is_dir() else str(tmp_path),
        **more,
    }
    return subprocess.Popen(
        [LAUNCHER, tmp_path / "fleet", program, *flags],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen) -> tuple[int, str]:
    _, err = process.communicate(timeout=120)
    return process.returncode, err


@pytest.mark.usefixtures("known")
def test_every_node_has_an_output_of_its_own_and_the_slow_one_is_named(tmp_path, stub, capsys):
    running = [start(tmp_path, stub, f"node-{at}", "--preset", "quick") for at in range(6)]
    assert [ended(process)[0] for process in running] == [0] * 6
    outputs = sorted((tmp_path / "fleet").iterdir())
    assert [path.name for path in outputs] == [f"node-{at}" for at in range(6)]
    call = (tmp_path / "calls" / "node-0").read_text()
    assert call == f"--out {tmp_path}/fleet/node-0 --preset quick\n"
    assert main(["compare", str(outputs[0]), *map(str, outputs), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["nodes"] == 6
    assert [one["node"] for one in document["outliers"]] == ["node-3"]
    slower = [new["counts"]["slower"] for new in document["new"]]
    assert slower == [0, 0, len(SIZES), 0, 0]


def test_a_second_task_on_a_node_is_refused(tmp_path, stub):
    first = start(tmp_path, stub, "node-0", STUB_SLEEP="3")
    until = time.monotonic() + 10
    while not (tmp_path / "fleet" / "node-0" / "journal.jsonl").exists() and time.monotonic() < until:
        time.sleep(0.02)
    status, err = ended(start(tmp_path, stub, "node-0"))
    assert status == 2
    assert "start one a node" in err
    assert ended(first)[0] == 0


def test_a_run_that_was_cut_off_goes_on(tmp_path, stub):
    assert ended(start(tmp_path, stub, "node-0", "--preset", "quick", STUB_STATUS="130"))[0] == 130
    assert ended(start(tmp_path, stub, "node-0", "--preset", "quick"))[0] == 0
    calls = (tmp_path / "calls" / "node-0").read_text().splitlines()
    assert calls[1] == f"--resume {tmp_path}/fleet/node-0"


@pytest.mark.parametrize("status", ["0", "130"])
def test_a_run_with_other_flags_is_refused_and_kept(tmp_path, stub, status):
    assert ended(start(tmp_path, stub, "node-0", "--preset", "quick", STUB_STATUS=status))[0] == int(status)
    for flags in (["--preset", "full"], [], ["--preset quick"], ["--preset", "quick", "--numa=0"]):
        code, err = ended(start(tmp_path, stub, "node-0", *flags))
        assert code == 2, flags
        assert "holds a run with other flags: --preset quick" in err
        assert "another DIR" in err
    assert len((tmp_path / "calls" / "node-0").read_text().splitlines()) == 1


@pytest.mark.parametrize("name", ["..", ".", "../elsewhere", "a/b", "/abs", "a\nb"])
def test_a_node_writes_nowhere_else(tmp_path, stub, name):
    (tmp_path / "calls" / "a").mkdir()
    status, err = ended(start(tmp_path, stub, name))
    assert status == 2
    assert "is no name of a folder below" in err
    assert not (tmp_path / "fleet").exists()


@pytest.mark.parametrize("journal", ["", '{"journal":2,"fla'])
def test_a_run_that_was_ended_in_its_first_write_begins_anew(tmp_path, stub, journal):
    (tmp_path / "fleet" / "node-0").mkdir(parents=True)
    (tmp_path / "fleet" / "node-0" / "journal.jsonl").write_text(journal)
    assert ended(start(tmp_path, stub, "node-0", "--preset", "quick")) == (0, "")
    call = (tmp_path / "calls" / "node-0").read_text()
    assert call == f"--out {tmp_path}/fleet/node-0 --preset quick\n"


def test_a_lock_that_is_another_s_is_said(tmp_path, stub):
    (tmp_path / "locks" / "grainscope-fleet-node-0.lock").mkdir()
    status, err = ended(start(tmp_path, stub, "node-0"))
    assert status == 2
    assert err.startswith("fleet-run: ")
    assert "grainscope-fleet-node-0.lock cannot be written" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["--help"], ["only-a-folder"]])
def test_usage(arguments):
    run = subprocess.run([LAUNCHER, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == (0 if arguments == ["--help"] else 2)
    assert "srun" in run.stdout


def test_a_program_that_is_not_there_is_said(tmp_path):
    status, err = ended(start(tmp_path, "/no/such/grainscope", "node-0"))
    assert status == 2
    assert "is no program" in err


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM does not name the program")
def test_the_program_itself(tmp_path, capsys):
    flags = ["--preset", "smoke", "--benchmark_filter=host/flush", "--benchmark_repetitions=5"]
    running = [start(tmp_path, str(PROGRAM), f"node-{at}", *flags) for at in range(3)]
    ends = [ended(process) for process in running]
    assert [status for status, _ in ends] == [0] * 3, [err for _, err in ends]
    outputs = sorted(map(str, (tmp_path / "fleet").iterdir()))
    assert main(["compare", outputs[0], *outputs, "--fail-on", "failed", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    # Whether a run finds CPUs without a neighbour depends on what else the host does.
    lost = [row["why"] for new in document["new"] for row in new["rows"] if row["verdict"] == "missing"]
    assert not [why for why in lost if why != "on CPUs without a neighbour on one side only"]
    # Runs that the launcher finds ended keep their rows.
    before = [Path(path, "result.json").read_bytes() for path in outputs]
    assert ended(start(tmp_path, str(PROGRAM), "node-0", *flags))[0] == 0
    assert (
        json.loads(before[0])["benchmarks"]
        == json.loads(Path(outputs[0], "result.json").read_text())["benchmarks"]
    )
    # One that was ended in its first write is begun by the program, too.
    Path(outputs[1], "result.json").unlink()
    Path(outputs[1], "journal.jsonl").write_text('{"journal":2,"fla')
    assert ended(start(tmp_path, str(PROGRAM), "node-1", *flags))[0] == 0
    assert Path(outputs[1], "result.json").is_file()


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path):
    (tmp_path / "n").mkdir()
    os.mkfifo(tmp_path / "n" / "result.json")
    [refused] = sources.found([tmp_path])
    assert isinstance(refused, sources.Refused)
