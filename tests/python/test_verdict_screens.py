"""The screens of `compare`, `check` and `evaluate`: the verdict first, in no more than 30 lines."""

import json

import pytest

from grainscope_report.cli import main
from references import PROJECT, ROOT

MOST = 30
RUNS = ROOT / "acceptance"
PAIRS = {
    "two visits to a machine": (RUNS / "h100-b1.json.gz", RUNS / "h100-b2.json.gz"),
    "two H100": (RUNS / "h100-a.json.gz", RUNS / "h100-b1.json.gz"),
    "H100 and H200": (ROOT / "h100-quick.json", ROOT / "h200x2-quick.json"),
    "no GPU": (ROOT / "no-gpu-quick.json", ROOT / "h100-quick.json"),
}


def shown(capsys, monkeypatch, width: int, *arguments) -> list[str]:
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([str(one) for one in arguments]) in (0, 1, 5)
    return capsys.readouterr().out.splitlines()


def height(lines: list[str], width: int) -> int:
    return sum(max(1, -(-len(line) // width)) for line in lines)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("width", [100, 160])
def test_a_comparison_is_one_screen(pair, width, capsys, monkeypatch):
    lines = shown(capsys, monkeypatch, width, "compare", *PAIRS[pair])
    assert height(lines, width) <= MOST
    assert max(map(len, lines)) <= width
    assert lines[0].startswith(("B is ", "Nothing could be decided"))
    # Files keep their names, however narrow.
    for path in PAIRS[pair]:
        assert any(str(path) in line for line in lines) or len(str(path)) > width - 40


@pytest.mark.parametrize("flag", ["--full", "--all"])
def test_the_rest_of_a_comparison_is_behind_a_flag_and_whole(flag, capsys, monkeypatch):
    pair = PAIRS["two visits to a machine"]
    short = shown(capsys, monkeypatch, 100, "compare", *pair)
    full = shown(capsys, monkeypatch, 100, "compare", *pair, flag)
    assert len(full) > 3 * len(short)
    assert full[0] == short[0]
    told = [line for line in full if "slower" in line and "host_to_gpu" in line]
    assert told
    assert not any("…" in line for line in told)


def test_the_json_of_a_comparison_does_not_depend_on_the_terminal(capsys, monkeypatch):
    pair = PAIRS["two visits to a machine"]
    narrow, wide = (
        "\n".join(shown(capsys, monkeypatch, width, "compare", *pair, "--format", "json"))
        for width in (40, 160)
    )
    assert narrow == wide
    assert json.loads(narrow)


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("file", ["acceptance/h100-a.json.gz", "h100-quick.json", "no-gpu-quick.json"])
def test_a_check_is_one_screen(file, width, capsys, monkeypatch):
    lines = shown(capsys, monkeypatch, width, "check", ROOT / file, "--rules", "pcie5")
    assert height(lines, width) <= MOST
    assert lines[0].startswith(("ACCEPTED", "NOT ACCEPTED"))
    assert max(map(len, lines[1:])) <= width


def test_an_evaluation_is_one_screen(tmp_path, capsys, monkeypatch):
    workload = PROJECT / "docs" / "examples" / "gnn-training.toml"
    lines = shown(capsys, monkeypatch, 100, "evaluate", workload, "--draws", 200, "-o", tmp_path)
    assert height(lines, 100) <= MOST
    assert lines[0].startswith("Speed: ")
    full = shown(capsys, monkeypatch, 100, "evaluate", workload, "--draws", 200, "-o", tmp_path, "--full")
    assert len(full) >= len(lines)
