"""Where commands write: never over what they read, whole or not at all, and a sentence where they cannot."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from compared import node, written
from grainscope_report.cli import main
from grainscope_report.commands import exchange
from grainscope_report.commands import files as command_files
from planted import SITE, pinned_copy, spoiled
from planted_purchase import evaluate, machine, workload
from synthetic import File

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / "scripts" / "grainscope-report"
GOOD = workload(candidates="X")


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
    monkeypatch.setattr(exchange, "merge", lambda _: {"benchmarks": [], "context": {}})
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


@pytest.mark.parametrize("out", ["", "/", "{folder}/" + "x" * 300 + ".html"])
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
