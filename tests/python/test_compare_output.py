"""`compare`: what it prints and writes, the reference runs, and what it needs installed."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from compared import SIZES, compared, node, verdicts, written
from grainscope_report import comparison
from grainscope_report.cli import main
from grainscope_report.comparison import sides
from planted import spoiled
from synthetic import MIB

REFERENCE = Path(__file__).resolve().parents[2] / "results" / "reference"


def test_csv_has_every_row(tmp_path):
    other = node("node-b", 2, slow={SIZES[2]: 1.2})
    other.rows = [row for row in other.rows if row["case"]["axes"]["bytes"] != SIZES[0]]
    out = tmp_path / "out.csv"
    assert main(["compare", *written(tmp_path, node(), other), "-o", str(out)]) == 1
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["verdict"] for row in rows].count("same") == 6
    assert [row["verdict"] for row in rows].count("slower") == 1
    [missing] = [row for row in rows if row["verdict"] == "missing"]
    assert (json.loads(missing["axes"])["bytes"], missing["ratio"]) == (SIZES[0], "")
    assert all(float(row["low"]) <= float(row["ratio"]) <= float(row["high"]) for row in rows if row["ratio"])


def test_markdown_is_one_table_a_section(tmp_path, capsys):
    files = written(tmp_path, node(), node("node-b", 2, slow={SIZES[2]: 1.2}, driver="590|1"))
    out = tmp_path / "out.md"
    assert main(["compare", *files, "-o", str(out), "--format", "md"]) == 1
    text = out.read_text()
    assert text == capsys.readouterr().out
    assert text.index("## Environments differ") < text.index("## Rows by verdict") < text.index("## Slower")
    assert "590\\|1" in text
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in lines}) <= 1


def test_environments_that_differ_come_first(tmp_path, capsys):
    files = written(tmp_path, node(), node("node-b", 2, driver="590.1"))
    assert main(["compare", *files]) == 0
    out = capsys.readouterr().out
    assert out.index("Environments differ") < out.index("Rows by verdict")
    assert "driver.version" in out
    assert "590.1" in out


def test_rows_are_cut_and_shown_on_demand(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("grainscope_report.commands.compare.MOST_ROWS", 3)
    files = written(tmp_path, node(), node("node-b", 2, slow=dict.fromkeys(SIZES, 1.5)))
    main(["compare", *files])
    out = capsys.readouterr().out
    assert (out.count("flush on"), "5 more: --all shows them" in out) == (3, True)
    main(["compare", *files, "--all"])
    assert capsys.readouterr().out.count("flush on") == 8


def test_filter_takes_the_question(tmp_path, capsys):
    files = written(tmp_path, node(), node("node-b", 2))
    document = compared(capsys, *files, "--filter", "memcpy.*bytes 1 MiB")
    assert list(verdicts(document)) == [MIB]


def test_a_file_that_contradicts_itself_is_said(tmp_path, capsys):
    files = written(tmp_path, node(), node("node-b", 2))
    spoiled(Path(files[1]), lambda document: document["benchmarks"][0].update(bandwidth_gb_s=1.0))
    document = compared(capsys, *files)
    assert "contradicts itself" in document["new"][0]["warnings"][0]


def test_an_unfinished_run_is_said(tmp_path, capsys):
    other = node("node-b", 2)
    other.context["run"] |= {"complete": False, "why_incomplete": "signal 15"}
    document = compared(capsys, *written(tmp_path, node(), other))
    assert "is not complete (signal 15)" in document["new"][0]["warnings"][0]


def test_many_files_are_read_by_processes(tmp_path, monkeypatch, capsys):
    files = written(tmp_path, *(node(f"node-{at}", at) for at in range(1, 7)))
    one = compared(capsys, *files)
    monkeypatch.setattr(sides, "WORTH_PROCESSES", 0)
    assert compared(capsys, *files) == one
    Path(files[3]).write_text("{")
    assert main(["compare", *files]) == 2
    assert "is cut off" in capsys.readouterr().err


def test_overlays_are_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    files = written(tmp_path, node(), node("node-b", 2, slow=dict.fromkeys(SIZES, 1.5)))
    assert main(["compare", *files, "--plots", str(tmp_path / "plots")]) == 1
    assert "figure 2:" in capsys.readouterr().err
    table = (tmp_path / "plots" / "figure_2_explicit_copies.csv").read_text()
    assert "node-a" in table
    assert "node-b" in table


@pytest.mark.parametrize("name", ["h200x2-quick.json", "no-gpu-quick.json"])
def test_reference_runs_meet(capsys, name):
    document = compared(capsys, str(REFERENCE / "h100-quick.json"), str(REFERENCE / name), status=0)
    counts = document["new"][0]["counts"]
    assert counts["unclear"] >= 40
    assert counts["same"] == counts["slower"] == counts["faster"] == 0


WITHOUT_NUMPY = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from grainscope_report.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("blocked", "arguments", "status"),
    [(("numpy", "matplotlib"), ["env", "diff"], 1), (("numpy", "matplotlib"), ["export", "csv"], 0)],
)
def test_only_drawing_needs_matplotlib(tmp_path, blocked, arguments, status):
    files = written(tmp_path, node(), node("node-b", 2, driver="590.1"))
    package = Path(comparison.__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", f"BLOCKED = {blocked!r}\n{WITHOUT_NUMPY}", *arguments, *files],
        capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(package), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert ended.returncode == status, ended.stderr
    assert "Traceback" not in ended.stderr
