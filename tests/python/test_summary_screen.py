"""`summary` is one screen, of every kind of run, and its sentences do not contradict each other."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import golden_text
from grainscope_report import reader, uncertainty
from grainscope_report.cli import main
from grainscope_report.groups import transfer
from grainscope_report.machine import machines
from planted import SITE, add_copy, linked_file, pinned_copy
from references import PROJECT, ROOT
from synthetic import KIB, MIB, File

LAUNCHER = PROJECT / "scripts" / "grainscope-report"
COMMITTED = sorted(path for pattern in ("*.json", "*.json.gz") for path in ROOT.rglob(pattern))
RUNS = [
    path
    for path in COMMITTED
    if path.parent in (ROOT, ROOT / "acceptance") and not path.name.startswith("manifest")
]
MADE = ("h100", "two_nodes", "cpu_only", "linked", "crowded", "modelling", "learning", "leaning")
MOST = 40


def screen(path: Path, capsys, monkeypatch, width: int) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["summary", str(path)]) == 0
    return capsys.readouterr().out.splitlines()


def height(lines: list[str], width: int) -> int:
    """How many lines of a terminal they take."""
    return sum(max(1, -(-len(line) // width)) for line in lines)


def wrapped(lines: list[str]) -> list[str]:
    """Without the commands, which are there to be copied, and without words that no line can hold."""
    return [line for line in lines[: lines.index("Next")] if " " in line.strip()]


def numbers(lines: list[str]) -> list[str]:
    """The five numbers with their units."""
    head = next(at for at, line in enumerate(lines) if line.startswith("Numbers"))
    return re.findall(r"[0-9.]+ (?:GB/s|[µnm]?s)\b", " ".join(lines[head + 1 :][:5]))


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_a_committed_run_is_one_screen(path, capsys, monkeypatch):
    lines = screen(path, capsys, monkeypatch, 100)
    assert height(lines, 100) <= MOST
    assert max(map(len, wrapped(lines))) <= 100
    assert any(line.startswith("Numbers") for line in lines)
    assert lines[lines.index("Next") + 1].endswith(f"summary {path} --full")


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_run_of_any_kind_is_one_screen(name, width, files, capsys, monkeypatch):
    lines = screen(files[name], capsys, monkeypatch, width)
    assert height(lines, width) <= (MOST if width >= 100 else MOST + 6)
    assert max(map(len, wrapped(lines))) <= width


@pytest.mark.parametrize("name", MADE)
def test_40_columns_wrap_and_cut_no_number(name, files, capsys, monkeypatch):
    narrow = screen(files[name], capsys, monkeypatch, 40)
    wide = screen(files[name], capsys, monkeypatch, 160)
    assert numbers(narrow) == numbers(wide) != []


def test_a_smoke_of_one_row_is_a_screen(tmp_path, capsys, monkeypatch):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.add("transfer/memcpy", pinned_copy(MIB), SITE, 20e-6)
    lines = screen(file.write(tmp_path / "result.json"), capsys, monkeypatch, 100)
    assert "1 row: 1 measured" in " ".join(lines[:4])
    assert any("smallest pinned copy to the GPU" in line and "20 µs" in line for line in lines)


def test_a_run_without_rows_is_a_screen(tmp_path, capsys, monkeypatch):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    lines = screen(file.write(tmp_path / "result.json"), capsys, monkeypatch, 100)
    assert "No row has a number." in lines


def test_modelled_rows_are_called_modelled(files, capsys, monkeypatch):
    lines = screen(files["modelling"], capsys, monkeypatch, 100)
    start = next(at for at, line in enumerate(lines) if line.startswith("Numbers"))
    modelled = [line for line in lines[start + 1 : start + 6] if line.startswith("model/")]
    assert modelled
    assert all("modelled" in line for line in modelled)


def test_what_failed_comes_first_with_the_command_that_lists_it(tmp_path, capsys, monkeypatch):
    file = linked_file()
    add_copy(file, 50.0, "pinned_to_gpu", MIB)
    file.lose("failed", "bytes differ at 17", "transfer/memcpy", pinned_copy(2 * MIB), SITE)
    path = file.write(tmp_path / "result.json")
    lines = screen(path, capsys, monkeypatch, 100)
    assert lines[lines.index("Odd") + 1] == "  - failed: 1 of transfer/memcpy: bytes differ at 17"
    assert lines[lines.index("Next") + 2].endswith(f"list {path} --status failed")


def test_a_run_that_is_not_complete_says_so_and_how_to_go_on(tmp_path, capsys, monkeypatch):
    file = linked_file()
    add_copy(file, 50.0, "pinned_to_gpu", MIB)
    path = file.write(tmp_path / "result.json")
    document = json.loads(path.read_text())
    document["context"]["run"] |= {"complete": False, "why_incomplete": "stopped by SIGTERM"}
    path.write_text(json.dumps(document))
    lines = screen(path, capsys, monkeypatch, 100)
    assert "The run is not complete: stopped by SIGTERM" in lines
    assert lines[lines.index("Next") + 2].endswith(f"grainscope --resume {tmp_path}")


def test_one_family_is_shown_alone(files, capsys):
    assert main(["summary", str(files["h100"]), "host"]) == 0
    out = capsys.readouterr().out
    assert "host/memcpy" in out
    assert "transfer/memcpy" not in out.replace("of transfer/memcpy", "")
    assert main(["summary", str(files["h100"]), "transfer/memcpy/"]) == 0
    assert "\nhost/memcpy" not in capsys.readouterr().out


def test_a_family_that_is_not_there_is_a_sentence_with_the_nearest(files, capsys):
    assert main(["summary", str(files["h100"]), "tranfser/memcpy"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "has no family tranfser/memcpy: did you mean transfer/memcpy? It has " in said.err


def test_a_tie_that_one_interval_decides_is_not_told_in_two_ways(tmp_path):
    """Of two ways of which one leads by less than what counts, none overtakes the other there."""
    file = linked_file()
    for size, pinned, kernel in (
        (MIB, 30.0, 40.0),
        (2 * MIB, 40.0, 46.0),
        (4 * MIB, 48.4, 48.0),
        (16 * MIB, 54.0, 50.0),
        (64 * MIB, 55.0, 51.0),
    ):
        add_copy(file, pinned, "pinned_to_gpu", size, spread=1e-5)
        axes = {"path": "pinned_to_gpu", "bytes": size, "locality": "local"}
        file.add("transfer/kernel_copy", axes, SITE, size / kernel / 1e9, spread=1e-5)
    [choice] = transfer.choices(machines([reader.read(file.write(tmp_path / "result.json"))])[0])
    [swap] = choice.swaps
    low, high = choice.first
    assert (low.first, high.first) == (("kernel copy",), ("pinned copy",))
    # The stretches end where the crossing may be, and 4 MiB belongs to neither.
    assert low.high == pytest.approx(swap.size.low)
    assert high.low == pytest.approx(swap.size.high)
    assert 2 * MIB < swap.size.low < 4 * MIB < swap.size.high < 16 * MIB
    assert re.fullmatch(r"kernel copy up to [0-9.]+ MiB, pinned copy from [0-9.]+ MiB on", choice.text)


@pytest.mark.parametrize("path", [path for path in RUNS if "quick" in path.name or "h100-" in path.name])
def test_no_crossover_contradicts_who_is_first(path):
    [machine] = machines([reader.read(path)])
    for choice in transfer.choices(machine):
        for swap in choice.swaps:
            for one in choice.first:
                if (swap.faster in one.first) != (swap.slower in one.first):
                    assert not one.low < swap.size.value < one.high, (choice.text, swap.text)


@pytest.mark.parametrize("command", [["summary"], ["matrix"]])
def test_without_utf_8_arrows_and_units_are_spelled(files, command):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "100"}
    ended = subprocess.run(
        [sys.executable, LAUNCHER, *command, files["linked"]],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "?" not in ended.stdout
    assert "+-" in ended.stdout
    assert "\033" not in ended.stdout
    assert ("node 0 -> GPU 0" in ended.stdout) == (command == ["summary"])


@pytest.mark.parametrize("command", ["summary", "summary --full", "matrix"])
def test_a_pipe_that_closes_ends_quietly(files, command):
    ended = subprocess.run(
        ["bash", "-c", f"{LAUNCHER} {command} {files['linked']} | head -1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("\n") == 1


@pytest.mark.parametrize("name", ["h200x2-quick.json", "no-gpu-quick.json", "h100-lean24-kron.json.gz"])
def test_the_screen_is_the_golden_one(name, capsys, monkeypatch):
    # A new table of type B changes intervals and no screen.
    monkeypatch.setattr(uncertainty, "at_hand", uncertainty.TypeB)
    monkeypatch.chdir(PROJECT)
    lines = screen(Path("results/reference") / name, capsys, monkeypatch, 100)
    golden_text.hold(f"screen_{name.partition('.')[0]}.txt", "\n".join(lines) + "\n")


def test_many_links_are_a_line_a_kind_and_remote_ones_apart(files, capsys, monkeypatch):
    lines = screen(files["two_nodes"], capsys, monkeypatch, 100)
    start = next(at for at, line in enumerate(lines) if line.startswith("Links"))
    assert [line.split("  ")[0] for line in lines[start + 1 : start + 5]] == [
        "host → GPU, 2 links",
        "GPU → host, 2 links",
        "remote host → GPU, 2 links",
        "remote GPU → host, 2 links",
    ]


def test_sizes_on_the_screen_have_units(tmp_path, capsys, monkeypatch):
    file = linked_file()
    add_copy(file, 10.0, "pinned_to_gpu", 256 * KIB)
    lines = screen(file.write(tmp_path / "result.json"), capsys, monkeypatch, 100)
    assert any("256 KiB, GPU 0, node 0" in line for line in lines)
