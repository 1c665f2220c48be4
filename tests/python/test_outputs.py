"""What commands write: files, forms and differences, also of transfers that a user wrote down."""

import contextlib
import csv
import io
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from command_lines import PROGRAM
from compared import H100, node, written
from grainscope_report.cli import main
from grainscope_report.commands import files as command_files
from grainscope_report.commands import merge
from grainscope_report.machine import differences, facts
from planted import SITE, pinned_copy, spoiled
from planted_purchase import evaluate, machine, workload
from synthetic import GIB, KIB, MIB, File

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / "scripts" / "grainscope-report"
GOOD = workload(candidates="X")
FAMILY = "transfer/written"
WRITTEN_SITE = {"numa": 0, "gpu": 0}
PEERS = {"gpu": 0, "peer": 1}


def launched(*arguments: str | Path, **more) -> subprocess.CompletedProcess:
    """The launcher as a process of its own; nothing that it says is a traceback."""
    ended = subprocess.run(
        [sys.executable, LAUNCHER, *arguments],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "check": False} | more,
    )
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
    return ended


def said_once(err: str, words: str) -> bool:
    return words in err and err.count("\n") == 1 and "Traceback" not in err


@pytest.fixture
def runs(tmp_path) -> list[Path]:
    return [Path(one) for one in written(tmp_path, node(seed=1), node(seed=2))]


@pytest.mark.parametrize(("command", "option"), [
    ("compare", "-o"), ("merge", "-o"), ("report", "-o"), ("export", "-o"),
    ("check", "--json"), ("check", "--junit"),
])  # fmt: skip
@pytest.mark.parametrize("by", ["name", "folder", "link"])
def test_no_command_writes_over_what_it_reads(runs, tmp_path, capsys, monkeypatch, command, option, by):
    monkeypatch.setattr(merge, "merge", lambda _: {"benchmarks": [], "context": {}})
    out = runs[0]
    given = [out.parent if by == "folder" else out, runs[1]]
    if by == "link":
        out = tmp_path / "other.json"
        out.symlink_to(runs[0])
    before = runs[0].read_bytes()
    extra = {"export": ["csv"], "check": ["--any-run", "--rules", "pcie5"]}.get(command, [])
    assert main([command, *extra, *map(str, given), option, str(out)]) == 2
    assert said_once(capsys.readouterr().err, "is also what is read: choose another file")
    assert runs[0].read_bytes() == before


def test_a_backend_that_is_not_there_does_not_matter(small, tmp_path):
    """As a notebook exports one."""
    backend = {"MPLBACKEND": "module://that_is_not_there"}
    command = [sys.executable, Path(__file__).parents[2] / "scripts/grainscope-report", "report", small]
    subprocess.run([*command, "-o", tmp_path / "r.html"], env=os.environ | backend, check=True)
    assert (tmp_path / "r.html").stat().st_size > 1000


@pytest.mark.parametrize("name", ["-x.json", "-x y.json"])
def test_a_command_to_paste_names_no_file_that_begins_as_a_flag_does(
    small, tmp_path, capsys, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes((small / "result.json" if small.is_dir() else small).read_bytes())
    assert main(["summary", f"./{name}"]) == 0
    words = shlex.split(capsys.readouterr().out.partition("\nNext\n")[2])
    assert f"./{name}" in words
    assert name not in words
    assert main(["summary", f"./{name}", "--full"]) == 0


@pytest.mark.parametrize("own", ["journal.jsonl", "result.json", "fleet.jsonl.gz"])
def test_no_command_writes_over_a_file_of_a_run(small, tmp_path, capsys, own):
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "journal.jsonl").write_text("what it goes on from\n")
    before = (folder / own).read_bytes() if (folder / own).exists() else None
    assert main(["export", "csv", str(small), "-o", str(folder / own)]) == 2
    assert said_once(capsys.readouterr().err, "is a file of the run in that folder")
    assert ((folder / own).read_bytes() if (folder / own).exists() else None) == before
    assert main(["export", "csv", str(small), "-o", str(folder / "rows.csv")]) == 0


def test_rules_are_not_written_over(small, tmp_path, capsys):
    rules = tmp_path / "rules.toml"
    rule = 'id = "a"\ntext = "b"\nlink = "host_to_gpu"\nmetric = "peak_gb_s"\nlower = 1\nsource = "c"\n'
    rules.write_text(f"[[rule]]\n{rule}")
    before = rules.read_text()
    assert main(["check", str(small), "--rules", str(rules), "--json", str(rules)]) == 2
    assert "is also what is read" in capsys.readouterr().err
    assert rules.read_text() == before


@pytest.mark.parametrize("command", [["report"], ["export", "csv"]])
def test_a_pipe_is_written_to_and_stays(small, tmp_path, command):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert main([*command, str(small), "-o", str(pipe)]) == 0
    reader.join(10)
    assert pipe.is_fifo()
    assert len(got[0]) > 100
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_a_link_stays_a_link(small, tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "rows.csv")
    for _ in range(2):
        assert main(["export", "csv", str(small), "-o", str(tmp_path / "link.csv")]) == 0
        assert (tmp_path / "link.csv").is_symlink()
        assert (tmp_path / "rows.csv").read_text().startswith("file,")


@pytest.mark.parametrize(
    "command",
    [
        ["report", "{small}", "-o"],
        ["export", "csv", "{small}", "-o"],
        ["export", "digest", "{small}", "-o"],
        ["merge", "{small}", "-o"],
        ["check", "{small}", "--any-run", "--rules", "pcie5", "--junit"],
        ["evaluate", "--init"],
    ],
    ids=" ".join,
)
def test_a_link_that_leads_to_itself_is_neither_written_nor_replaced(small, tmp_path, capsys, command):
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    given = [word.format(small=small) for word in command]
    assert main([*given, str(tmp_path / "one")]) == 2
    said = capsys.readouterr().err
    assert "one cannot be written (Too many levels of symbolic links): choose another place" in said
    assert (tmp_path / "one").is_symlink()
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_a_link_that_leads_to_itself_is_no_run(small, tmp_path, capsys):
    (tmp_path / "one").symlink_to(tmp_path / "one")
    assert main(["compare", str(small), str(tmp_path / "one")]) == 2
    assert said_once(capsys.readouterr().err, "one cannot be read (Too many levels of symbolic links)")


@pytest.mark.parametrize("out", ["/", "{folder}/" + "x" * 300 + ".html"])
@pytest.mark.parametrize("command", [["report"], ["export", "csv"]])
def test_names_that_cannot_be_written(small, tmp_path, capsys, monkeypatch, command, out):
    monkeypatch.chdir(tmp_path)
    assert main([*command, str(small), "-o", out.format(folder=tmp_path)]) == 2
    assert said_once(capsys.readouterr().err, "cannot be written")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_name_as_long_as_the_disk_takes_is_written(small, tmp_path):
    out = tmp_path / ("x" * 250 + ".csv")
    assert main(["export", "csv", str(small), "-o", str(out)]) == 0
    assert out.is_file()


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt(), MemoryError()])
def test_a_write_that_is_cut_off_leaves_nothing(small, tmp_path, capsys, monkeypatch, error):
    def cut(path: Path, data: bytes) -> None:
        with path.open("wb") as out:
            out.write(data[:10])
        raise error

    out = tmp_path / "rows.csv"
    out.write_text("before")
    there = sorted(tmp_path.iterdir())
    monkeypatch.setattr(Path, "write_bytes", cut)
    status = main(["export", "csv", str(small), "-o", str(out)])
    assert status == (130 if isinstance(error, KeyboardInterrupt) else 2)
    assert capsys.readouterr().err.count("\n") == 1
    assert out.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == there


@contextlib.contextmanager
def small_disk(size: int):
    """No file becomes larger than this, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("command", ["plot", "compare", "check", "junit", "evaluate", "report", "export"])
def test_a_full_disk_leaves_no_part_of_a_file(runs, tmp_path, capsys, command):
    out = tmp_path / "out"
    out.mkdir()
    given = list(map(str, runs))
    rules = ["--any-run", "--rules", "pcie5"]
    if command == "evaluate":
        machine().write(tmp_path / "r.json")
        machine(2.0, 1.0, "node-x").write(tmp_path / "X.json")
        (tmp_path / "w.toml").write_text(GOOD)
    arguments = {
        "plot": ["plot", *given, "--format", "svg", "-o", str(out)],
        "compare": ["compare", *given, "--plots", str(out)],
        "check": ["check", *given, *rules, "--json", str(out / "checked.json")],
        "junit": ["check", *given, *rules, "--junit", str(out / "checked.xml")],
        "evaluate": ["evaluate", str(tmp_path / "w.toml"), "--draws", "100", "-o", str(out)],
        "report": ["report", given[0], "-o", str(out / "report.html")],
        "export": ["export", "csv", *given, "-o", str(out / "rows.csv")],
    }[command]
    with small_disk(500):
        assert main(arguments) == 2
    assert "cannot be written (File too large)" in capsys.readouterr().err
    assert all(path.stat().st_size < 500 for path in out.iterdir())
    assert not [path for path in out.iterdir() if path.name.endswith(".part")]


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt(), None])
@pytest.mark.parametrize("empty", [False, True])
def test_a_bundle_is_whole_or_not_there(small, tmp_path, capsys, monkeypatch, error, empty):
    """What is cut off after its first file would be read as a run."""
    out = tmp_path / "made"
    if empty:
        out.mkdir()
    there = sorted(tmp_path.iterdir())
    written, write = [], Path.write_bytes

    def cut(path: Path, data: bytes) -> None:
        if error and written:
            raise error
        written.append(path)
        write(path, data)
        assert not (out.is_dir() and any(out.iterdir()))

    monkeypatch.setattr(Path, "write_bytes", cut)
    status = main(["export", "bundle", str(small), "-o", str(out)])
    if error is None:
        assert status == 0
        assert {path.name for path in out.iterdir()} == {"result.json", "manifest.json", "SHA256SUMS"}
        assert sorted(tmp_path.iterdir()) == sorted({*there, out})
        return
    assert status == (130 if isinstance(error, KeyboardInterrupt) else 2)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert isinstance(error, KeyboardInterrupt) or f"{out} cannot be written (No space left)" in said
    assert sorted(tmp_path.iterdir()) == there
    assert not (out.is_dir() and any(out.iterdir()))


@pytest.mark.parametrize("name", ["made", "made.tar.gz"])
def test_a_full_disk_leaves_no_part_of_a_bundle(small, tmp_path, capsys, name):
    there = sorted(tmp_path.iterdir())
    with small_disk(500):
        assert main(["export", "bundle", str(small), "-o", str(tmp_path / name)]) == 2
    assert said_once(capsys.readouterr().err, f"{name} cannot be written (File too large)")
    assert sorted(tmp_path.iterdir()) == there


def test_a_bundle_does_not_replace_the_folder_that_one_is_in(small, tmp_path, capsys, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["export", "bundle", str(small), "-o", "."]) == 2
    assert said_once(capsys.readouterr().err, ". is there already: give a new folder")


def test_too_many_draws_are_refused(tmp_path, capsys):
    status, _ = evaluate(tmp_path, GOOD, "--draws", "1000000000000", X=machine(2.0, 1.0, "node-x"))
    assert status == 2
    assert said_once(capsys.readouterr().err, "--draws must be between 100 and 1000000")


@pytest.mark.parametrize("command", ["validate", "list", "summary", "compare"])
def test_a_path_that_is_too_long_is_a_sentence(small, capsys, command):
    more = [str(small)] if command == "compare" else []
    assert main([command, "x/" * 2500, *more]) == 2
    assert said_once(capsys.readouterr().err, "cannot be read (File name too long)")


def test_a_path_with_a_null_in_a_workload_is_a_sentence(tmp_path, capsys):
    assert evaluate(tmp_path, GOOD.replace('"X.json"', '"X\\u0000.json"'))[0] == 2
    assert said_once(capsys.readouterr().err, "is no path (embedded null byte)")


@pytest.mark.parametrize("command", [["validate"], ["list"], ["summary"], ["export", "csv"], ["--help"]])
def test_a_full_or_closed_standard_output_is_a_sentence(small, command):
    given = [] if command == ["--help"] else [small]
    with Path("/dev/full").open("w") as full:
        ended = launched(*command, *given, stdout=full)
    assert ended.returncode == 2
    assert said_once(ended.stderr, "standard output cannot be written (No space left")
    ended = launched(*command, *given, preexec_fn=lambda: os.close(1))
    assert ended.returncode == 2
    assert said_once(ended.stderr, "standard output is closed")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_letters_that_the_output_lacks_are_replaced(small, encoding):
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    ended = launched("list", small, env=environment, encoding="latin-1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ("20 us" if encoding == "ascii" else "20 µs") in ended.stdout


@pytest.mark.parametrize("command", [["validate"], ["list"], ["export", "csv"], ["export", "md"], ["report"]])
def test_file_names_that_are_no_text(small, tmp_path, command):
    named = os.fsencode(tmp_path) + b"/\xff.json"
    Path(os.fsdecode(named)).write_bytes(small.read_bytes())
    output = ["-o", tmp_path / "out"] if command[0] in ("report", "export") else []
    assert launched(*command, named, *output, encoding="latin-1").returncode == 0


def test_half_a_character_is_a_sentence(small, capsys):
    small.write_text(small.read_text().replace("node-a", "node-\\ud83d\\ude00"))
    assert main(["validate", str(small)]) == 0
    small.write_text(small.read_text().replace("\\ude00", ""))
    capsys.readouterr()
    for command in (["validate"], ["list"], ["export", "csv"]):
        assert main([*command, str(small)]) == 2
        assert said_once(capsys.readouterr().err, r"holds \ud83d, half a character")


def test_a_reader_that_has_gone_does_not_change_the_verdict(tmp_path):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.link("host_to_gpu", 54.7)
    for size in range(3000):
        file.add("transfer/memcpy", pinned_copy(1 << 20, walk=size), SITE, 20e-6)
    bad = file.write(tmp_path / "bad" / "result.json")
    spoiled(bad, lambda document: [row.update(mad_s=21e-6) for row in document["benchmarks"]])
    ended = subprocess.run(
        ["bash", "-c", f"{LAUNCHER} validate {bad} --all | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout == f"{bad}: 3000 problems\n"


@pytest.mark.parametrize(
    ("command", "status"),
    [("study results/reference/study/*.gz", 0), ("reference --missing quick --program PROGRAM", 0)],
)
def test_scripts_beside_the_command_line_meet_readers_that_go_and_full_disks(command, status):
    if "PROGRAM" in command and not PROGRAM:
        pytest.skip("needs the program")
    command = f"scripts/{command.replace('PROGRAM', PROGRAM or '')}"
    script = ["bash", "-c", f"cd {ROOT}; {command} | head -1; exit ${{PIPESTATUS[0]}}"]
    ended = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr, ended.stdout.count("\n")) == (status, "", 1)
    full = subprocess.run(
        ["bash", "-c", f"cd {ROOT}; {command} >/dev/full"], capture_output=True, text=True, check=False
    )
    assert full.returncode == 2
    assert said_once(full.stderr, "standard output cannot be written (No space left")


@pytest.mark.parametrize("script", ["docs", "grainscope-count", "manuals", "reference", "study"])
def test_help_of_a_script_on_a_full_disk_is_a_sentence(script):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, ROOT / "scripts" / script, "--help"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr == f"{script}: standard output cannot be written (No space left on device)\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("manuals -o /dev/full", "man1/grainscope-report.1 cannot be written (Not a directory)"),
        ("docs --draw /dev/full", "/dev/full/figure_8_requests.png cannot be written (File exists)"),
        ("reference --take results", "results is a directory without result.json"),
        ("reference --take BUNDLE", "bundle is a folder: name the file that the run is to replace"),
        ("reference --missing=", "there is no preset"),
        ("reference --missing smoke --measure /dev/full", "the system refuses ([Errno 17] File exists"),
    ],
)
def test_scripts_say_what_they_cannot_write_or_take(tmp_path, command, said):
    if "--missing" in command and not PROGRAM:
        pytest.skip("needs the program")
    if "BUNDLE" in command:
        run = ROOT / "results/reference/acceptance/no-gpu-1.json.gz"
        assert main(["export", "bundle", str(run), "-o", str(tmp_path / "bundle")]) == 0
    script, *words = command.replace("BUNDLE", str(tmp_path / "bundle")).split()
    ended = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, *words],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert ended.returncode == 2
    assert said_once(ended.stderr, said)
    assert ended.stderr.startswith(f"{script}: ")


def test_a_study_neither_writes_over_its_runs_nor_ends_with_a_traceback(tmp_path):
    run = tmp_path / "run.json.gz"
    run.write_bytes((ROOT / "results/reference/acceptance/no-gpu-1.json.gz").read_bytes())
    before = run.read_bytes()
    for flag, place, said in (
        ("--save", run, "is also what is read"),
        ("--save", "/dev/full", "cannot be written"),
        ("--save", "/proc/x/y", "cannot be written"),
        ("--table", tmp_path / "t.json", "at least two runs"),
    ):
        ended = subprocess.run(
            [sys.executable, ROOT / "scripts/study", run, flag, place],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 2
        assert said_once(ended.stderr, said)
    assert run.read_bytes() == before


@pytest.mark.parametrize("command", [
    ["summary", ""], ["compare", "", ""], ["fleet", ""], ["trend", ""], ["plot", "FILE", "-o", ""],
    ["compare", "FILE", "FILE", "--plots", ""], ["check", "FILE", "--json", ""], ["evaluate", ""],
])  # fmt: skip
def test_an_empty_path_is_of_a_variable_that_is_not_set(small, capsys, command):
    assert main([str(small) if word == "FILE" else word for word in command]) == 2
    assert "is it of a variable that is not set?" in capsys.readouterr().err


def test_not_enough_memory_is_a_sentence(small, capsys, monkeypatch):
    def none(*_) -> None:
        raise MemoryError

    monkeypatch.setattr(command_files, "results", none)
    assert main(["export", "csv", str(small)]) == 2
    assert said_once(capsys.readouterr().err, "not enough memory")


@pytest.fixture
def heeds_interrupts():
    """What is started meanwhile heeds Ctrl-C, also where these tests are a shell's background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU draws without further processes")
def test_an_interrupt_is_one_line(files, tmp_path):
    running = subprocess.Popen(
        [sys.executable, LAUNCHER, "report", files["two_nodes"], "-o", tmp_path / "x.html"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    while running.poll() is None and not children.read_text():
        time.sleep(0.02)
    time.sleep(0.3)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, "grainscope-report: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def lane(name: str, source: str, to: str, size: int, seconds: float, **more) -> dict:
    return {"name": name, "from": source, "to": to, "bytes": size, "seconds": seconds, **more}


def every_kind(day: int = 20) -> File:
    """One case of each kind, as the suite lists them."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",) * 2, date=f"2026-11-{day}T10:15:00+00:00")
    for direction in ("host_to_gpu", "gpu_to_host"):
        file.link(direction, 55.0)
    file.peer_link(0, 1, 390.0)
    file.peer_link(1, 0, 395.0)
    local = {"path": "host_to_gpu", "locality": "local"}
    for size in (64 * KIB, 1 * MIB, 64 * MIB):
        axes = {"from": "host_registered", "to": "gpu_device", "engine": "sm", **local, "bytes": size}
        file.add(FAMILY, axes, WRITTEN_SITE, 4e-6 + size / 50e9)
    walk = {"from": "host_mapped", "to": "gpu_registers", "engine": "sm", "flush": "on", "width": 16, **local}
    file.add(FAMILY, walk | {"bytes": MIB}, WRITTEN_SITE, 30e-6)
    submission = {"from": "host_pinned", "to": "gpu_device", "engine": "copy_engine", "submission": "on"}
    row = file.add(FAMILY, submission | local | {"bytes": MIB}, WRITTEN_SITE, 2e-6, operations=1)
    for field in ("bytes", "bandwidth_gb_s", "link_fraction"):
        row.pop(field, None)
    for direction, link, ends, more in (
        ("read", 395.0, ("peer_device", "gpu_device"), {}),
        ("write", 390.0, ("gpu_device", "peer_device"), {"by_source": "on"}),
    ):
        axes = {"from": ends[0], "to": ends[1], "engine": "copy_engine", **more}
        axes |= {"direction": direction, "link": "nvlink", "bytes": GIB}
        row = file.add(FAMILY, axes, PEERS, 2.9e-3)
        row["link_fraction"] = row["bandwidth_gb_s"] / link
    first = {"from": "host_registered", "to": "gpu_device", "engine": "sm", **local}
    second = {"from_2": "gpu_device", "to_2": "host_pageable", "engine_2": "copy_engine"}
    second |= {"path_2": "gpu_to_host", "locality_2": "local", "bytes_2": 4 * MIB}
    lanes = [
        lane("lane_1", "host:0", "gpu:0", MIB, 40e-6),
        lane("lane_2", "gpu:0", "host:0", 4 * MIB, 400e-6),
    ]
    file.together(FAMILY, first | second | {"bytes": MIB}, WRITTEN_SITE, lanes, overlap=0.1)
    beside = {"engine_2": "compute_gpu", "computing_ms_2": 5}
    lanes = [
        lane("lane_1", "host:0", "gpu:0", MIB, 40e-6),
        lane("lane_2", "gpu:0", "gpu:0", 0, 5e-3, background=True),
    ]
    file.together(FAMILY, first | beside | {"bytes": MIB}, WRITTEN_SITE, lanes, overlap=0.99)
    file.lose("skipped", "needs two GPUs", FAMILY, {"from": "peer_device", "to": "gpu_device"}, PEERS)
    return file


@pytest.fixture
def run(tmp_path):
    return every_kind().write(tmp_path / "run" / "result.json")


def test_rows_are_valid(run, capsys):
    assert main(["validate", str(run)]) == 0, capsys.readouterr().out


def test_a_wrong_share_of_the_link_is_seen(tmp_path, capsys):
    file = every_kind()
    read = next(row for row in file.rows if row["case"]["axes"].get("direction") == "read")
    read["link_fraction"] = read["bandwidth_gb_s"] / 390.0  # the other way's peak
    assert main(["validate", str(file.write(tmp_path / "result.json"))]) == 1
    assert "link_fraction" in capsys.readouterr().out


def test_rows_are_listed_and_named(run, capsys):
    assert main(["list", str(run)]) == 0
    assert capsys.readouterr().out.count(FAMILY) == len(every_kind().rows)


def test_the_summary_has_them(run, capsys):
    assert main(["summary", str(run)]) == 0
    out = capsys.readouterr().out
    assert FAMILY in out
    assert "host_registered" in out


@pytest.mark.parametrize(
    "command",
    [
        ["export", "csv", "RUN", "-o", "TMP/rows.csv"],
        ["export", "md", "RUN", "-o", "TMP/rows.md"],
        ["env", "diff", "RUN", "OTHER"],
        ["compare", "RUN", "OTHER"],
        ["report", "RUN", "-o", "TMP/report.html"],
    ],
    ids=lambda command: command[0],
)
def test_no_command_trips_over_them(command, run, tmp_path, capsys):
    other = str(every_kind(21).write(tmp_path / "other" / "result.json"))
    places = {"RUN": str(run), "OTHER": other}
    words = [places.get(word, word.replace("TMP", str(tmp_path))) for word in command]
    # Of one visit each nothing can be decided.
    assert main(words) == (5 if command[0] == "compare" else 0), capsys.readouterr().err


def test_compare_asks_the_same_question_of_both(run, tmp_path, capsys):
    other = every_kind(21).write(tmp_path / "other" / "result.json")
    assert main(["compare", str(run), str(other), "--format", "json"]) == 5
    compared = json.loads(capsys.readouterr().out)
    # One visit each: no verdict, but every measured row has its counterpart.
    assert {kind: count for kind, count in compared["new"][0]["counts"].items() if count} == {"unclear": 9}


def differ(base: dict, new: dict, passing: bool = False) -> dict[str, tuple[str | None, str | None]]:
    found = differences(facts({"environment": base}), facts({"environment": new}), passing)
    return {one.fact: (one.base, one.new) for one in found}


def test_facts_that_differ():
    base = {"driver": {"version": "580.1"}, "kernel": {"release": "6.1"}, "cpu": {"smt_active": True}}
    new = {"driver": {"version": "590.1"}, "kernel": {"release": "6.1"}, "cpu": {"smt_active": False}}
    assert differ(base, new) == {"driver.version": ("580.1", "590.1"), "cpu.smt_active": ("yes", "no")}


def test_lists_of_alike_things_are_one_fact():
    gpu = {"name": H100, "nvml": {"ecc": True}}
    assert differ({"gpus": [gpu] * 8}, {"gpus": [gpu] * 4}) == {"gpus.count": ("8", "4")}
    other = {"name": H100, "nvml": {"ecc": False}}
    assert differ({"gpus": [gpu] * 2}, {"gpus": [gpu, other]}) == {"gpus.nvml.ecc": ("yes", "yes, no")}


def test_cpus_are_written_as_ranges():
    assert differ({"cpu": {"online": [0, 1, 2, 3, 8]}}, {"cpu": {"online": [0]}}) == {
        "cpu.online": ("0-3, 8", "0")
    }


def test_masks_slices_and_refused_policies_differ():
    base = {
        "cpu": {"allowed": list(range(64))},
        "memory": {"policy_available": True, "nodes": [{"id": 0, "allowed_cpus": list(range(64))}]},
        "gpus": [{"name": H100, "nvml": {"mig": False}}],
        "cgroup": {"cpu_quota": None},
        "warnings": [],
    }
    new = {
        "cpu": {"allowed": [0, 1, 2, 3]},
        "memory": {"policy_available": False, "nodes": [{"id": 0, "allowed_cpus": [0, 1, 2, 3]}]},
        "gpus": [{"name": H100, "nvml": {"mig": True}}],
        "cgroup": {"cpu_quota": 1.5},
        "warnings": [{"id": "cpu.mask"}, {"id": "gpu.mig"}],
    }
    assert differ(base, new) == {
        "cpu.allowed": ("0-63", "0-3"),
        "memory.nodes.allowed_cpus": ("0-63", "0-3"),
        "memory.policy_available": ("yes", "no"),
        "gpus.nvml.mig": ("no", "yes"),
        "cgroup.cpu_quota": (None, "1.5"),
        "warnings": ("", "cpu.mask, gpu.mig"),
    }


def test_what_is_not_told_differs_from_what_is():
    assert differ({"cpu": {"boost": None}}, {"cpu": {"boost": True}}) == {"cpu.boost": (None, "yes")}


def test_what_passes_is_shown_on_demand():
    base, new = ({"load": {"one": one}, "gpus": [{"uuid": f"GPU-{one}"}]} for one in (0.1, 3.5))
    assert differ(base, new) == {}
    assert differ(base, new, passing=True).keys() == {"load.one", "gpus.uuid"}


def test_links_are_told_by_what_they_negotiated():
    link = {"direction": "host_to_gpu", "generation": 5, "width": 16, "theoretical_gb_s": 63.0, "gpu": 0}
    narrow = link | {"width": 8, "theoretical_gb_s": 31.5}
    found = differences(
        facts({"environment": {}, "links": [link, link | {"gpu": 1}]}),
        facts({"environment": {}, "links": [narrow]}),
    )
    assert [(one.fact, one.base, one.new) for one in found] == [
        ("links.host_to_gpu", "PCIe 5 ×16, 63 GB/s", "PCIe 5 ×8, 31.5 GB/s")
    ]


def test_warnings_that_one_has(tmp_path, capsys):
    other = node("node-b", 2)
    other.warn("warning", "governor is powersave")
    assert main(["env", "diff", *written(tmp_path, node(), other), "--json"]) == 1
    found = {one["fact"]: (one["base"], one["new"]) for one in json.loads(capsys.readouterr().out)}
    assert found == {"warnings": ("", "governor")}


def test_env_diff_exit_statuses(tmp_path, capsys):
    files = written(tmp_path, node(), node("node-b", 2), node("node-c", 3, driver="590.1"))
    assert main(["env", "diff", *files[:2]]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert main(["env", "diff", *files[:2], "--all"]) == 1
    assert "node-b" in capsys.readouterr().out
    assert main(["env", "diff", files[0], files[2]]) == 1
    assert "590.1" in capsys.readouterr().out
    assert main(["env", "diff", files[0], str(tmp_path / "no.json")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main(["env"]) == 2


def test_env_diff_takes_a_machine_report(tmp_path, capsys):
    [file] = written(tmp_path, node())
    report = tmp_path / "env.json"
    report.write_text(json.dumps(node(driver="590.1").context["environment"]))
    assert main(["env", "diff", file, str(report), "--json"]) == 1
    found = {one["fact"]: (one["base"], one["new"]) for one in json.loads(capsys.readouterr().out)}
    assert found["driver.version"] == ("580.159", "590.1")
    report.write_text('{"something": 1}')
    assert main(["env", "diff", file, str(report)]) == 2
    assert "says nothing of a machine" in capsys.readouterr().err


BROKEN_MACHINES = {
    "environment": ({"environment": [1]}, "$.context.environment: is an array of 1, not of type object"),
    "none": ({"environment": None}, "$.context.environment: is null, not of type object"),
    "links": ({"links": "x"}, '$.context.links: is "x", not of type array'),
    "speed": ({"links": [{"theoretical_gb_s": "x"}]}, "$.context.links[0]"),
    "version": ({"schema_version": 99}, "has schema version 99 and this grainscope-report reads up to"),
    "no version": ({"schema_version": "2"}, 'has schema_version "2", which is no version'),
}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("name", BROKEN_MACHINES)
def test_env_diff_says_which_file_is_off_the_format_and_in_what(tmp_path, capsys, name, swapped):
    change, says = BROKEN_MACHINES[name]
    sound, other = written(tmp_path, node(), node("node-b", 2))
    path = str(spoiled(Path(other), lambda document: document["context"].update(change)))
    assert main(["env", "diff", *([path, sound] if swapped else [sound, path])]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"grainscope-report: {path} ")
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("part", "says"),
    [("gpus", '$.gpus: is "x", not of type array'), ("warnings", '$.warnings: is "x", not of type array')],
)
def test_so_of_a_machine_report(tmp_path, capsys, part, says):
    [file] = written(tmp_path, node())
    report = tmp_path / "env.json"
    report.write_text(json.dumps(node().context["environment"] | {part: "x"}))
    assert main(["env", "diff", file, str(report)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"grainscope-report: {report} does not follow the result format (1 problem, ")
    assert says in said


def test_export_csv_has_every_row_and_number(small, tmp_path, capsys):
    out = tmp_path / "rows.csv"
    assert main(["export", "csv", str(small), "-o", str(out)]) == 0
    assert f"{out}: 3 rows" in capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["status"] for row in rows] == ["ok", "failed", "skipped"]
    document = json.loads(small.read_text())["benchmarks"][0]
    assert float(rows[0]["median_s"]) == document["median_s"]
    assert float(rows[0]["high_s"]) == document["visits"][0]["within_s"][1]
    assert (rows[0]["axis.bytes"], rows[0]["site.gpu"], rows[0]["axis.flush"]) == ("1048576", "0", "on")
    assert (rows[1]["median_s"], rows[1]["reason"]) == ("", "the copy came back wrong")


@pytest.mark.parametrize("kind", ["csv", "md"])
def test_export_of_no_row_is_a_sentence(kind, small, tmp_path, capsys):
    def without_rows(document: dict) -> None:
        document["benchmarks"] = []
        document["context"]["run"]["counts"] = {"ok": 0, "skipped": 0, "failed": 0}

    out = tmp_path / "rows"
    assert main(["export", kind, str(spoiled(small, without_rows)), "-o", str(out)]) == 2
    assert f"{small}: there is no row to write" in capsys.readouterr().err
    assert not out.exists()


def test_export_of_several_files(files, capsys):
    assert main(["export", "csv", str(files["cpu_only"]), str(files["busy"])]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 81 + 382
    assert len({row["file"] for row in rows}) == 2


def test_export_tells_machine_version_and_an_incomplete_run(small, capsys):
    def stop(document: dict) -> None:
        document["context"]["run"].update(complete=False, why_incomplete="signal 15 | <i>")
        for row in document["benchmarks"]:
            row["case"]["version"] = 3

    assert main(["export", "csv", str(small)]) == 0
    [row, *_] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["gpus"], row["cpu"]) == ("NVIDIA H100 80GB HBM3", "Intel Xeon")
    assert (row["complete"], row["family"], row["version"]) == ("True", "transfer/memcpy", "1")
    assert main(["export", "md", str(small)]) == 0
    text = capsys.readouterr().out
    assert "\n## transfer/memcpy, version 1\n" in text
    assert "not complete" not in text
    spoiled(small, stop)
    assert main(["export", "csv", str(small)]) == 0
    rows = [*csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert {(row["complete"], row["version"]) for row in rows} == {("False", "3")}
    assert main(["export", "md", str(small)]) == 0
    text = capsys.readouterr().out
    assert "\n## transfer/memcpy, version 3\n" in text
    assert "\nThe run is not complete: signal 15 \\| &lt;i>\n" in text


@pytest.mark.parametrize("kind", ["csv", "md", "trace"])
def test_export_takes_each_run_once(kind, small, tmp_path, capsys):
    """By whatever name: the rows would count twice, without a word in the table."""
    copied, out = tmp_path / "copy.json", tmp_path / "rows"
    copied.write_bytes(small.read_bytes())
    assert main(["export", kind, str(small), str(copied), "-o", str(out)]) == 2
    assert capsys.readouterr().err == (
        f"grainscope-report: {small} and {copied} are the same run: give each once\n"
    )
    assert not out.exists()


def test_export_markdown_has_a_table_a_family(small, capsys):
    assert main(["export", "md", str(small)]) == 0
    text = capsys.readouterr().out
    assert "## transfer/memcpy" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len(tables) == 2 + 3
    assert len({line.count("|") for line in tables}) == 1
    assert "1 MiB" in tables[2]
    assert "failed: the copy came back wrong" in tables[3]


@pytest.mark.parametrize("arguments", [["export", "html", "x"], ["export", "csv"], ["env", "diff", "x"]])
def test_usage(arguments, capsys):
    assert main(arguments) == 2
    assert "usage" in capsys.readouterr().err
