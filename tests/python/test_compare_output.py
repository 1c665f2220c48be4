"""`compare`: what it prints and writes, the reference runs, and what it needs installed."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compared import SIZES, compared, copies, node, verdicts, written
from grainscope_report import comparison
from grainscope_report.cli import main
from grainscope_report.comparison import sides
from planted import spoiled
from stored import PROJECT
from synthetic import MIB, File

REFERENCE = Path(__file__).resolve().parents[2] / "results" / "reference"

pytestmark = pytest.mark.usefixtures("known")


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
    order = (
        "## B is faster in 0 and slower in 1 of 8 questions",
        "## Compared",
        "## Faster",
        "## The environments",
    )
    assert sorted(order, key=text.index) == list(order)
    assert "590\\|1" in text
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in lines}) <= 1


def test_environments_are_told_by_what_may_be_the_cause(tmp_path, capsys):
    other = node("node-b", 2, driver="590.1")
    other.context["environment"]["kernel"] = {"release": "6.9.1"}
    other.context["environment"]["memory"] = {"total_bytes": 1 << 30}
    files = written(tmp_path, node(), other)
    assert main(["compare", *files]) == 0
    part = (
        capsys.readouterr().out.split("The environments differ in what may be the cause")[1].split("\n\n")[0]
    )
    text = " ".join(part.split())
    assert re.match(r"driver: \S+ → 590\.1; kernel: \S+ → 6\.9\.1\. 1 other fact differs: `", text), text
    assert "cpu.model" not in part
    facts = {one["fact"]: one["cause"] for one in compared(capsys, *files)["new"][0]["differences"]}
    assert facts == {"driver.version": "driver", "kernel.release": "kernel", "memory.total_bytes": None}


def test_the_command_that_shows_what_differs_has_both_paths(tmp_path, capsys):
    other = node("node-b", 2, driver="590.1")
    other.context["environment"]["memory"] = {"total_bytes": 1 << 30}
    files = written(tmp_path, node(), other)
    assert main(["compare", *files]) == 0
    command = f"`grainscope-report env diff {' '.join(files)}`"
    assert any(command in line for line in capsys.readouterr().out.splitlines())


def test_how_many_gpus_and_cores_there_are_is_no_matter_of_the_model(tmp_path, capsys):
    one, other = node(), node("node-b", 2)
    for file, gpus, cores in ((one, 2, 32), (other, 4, 64)):
        file.context["environment"]["gpus"] *= gpus
        file.context["environment"]["cpu"] |= {"cores": cores}
    assert main(["compare", *written(tmp_path, one, other)]) == 5
    assert "GPUs: 2 → 4; CPU cores: 32 → 64." in " ".join(capsys.readouterr().out.split())


def test_environments_that_are_alike_name_no_cause(tmp_path, capsys):
    other = node("node-b", 2)
    other.context["run"]["seed"] = 8
    assert main(["compare", *written(tmp_path, node(), other)]) == 0
    assert "The environments" not in capsys.readouterr().out


def many(host: str, seed: int, **more) -> File:
    """A node with copies of all sizes at many offsets, half of them slower where `slow` says."""
    file = node(host, seed, **more)
    for at in range(20):
        copies(
            file, 100 * seed + at, visits=3, slow=dict.fromkeys(SIZES, 1.5) if seed > 1 else None, offset=at
        )
    return file


def test_a_screen_and_everything_on_demand(tmp_path, capsys):
    other = many("node-b", 2, driver="590.1")
    other.rows = other.rows[9:]
    files = written(tmp_path, many("node-a", 1), other)
    main(["compare", *files])
    out = capsys.readouterr().out
    assert 25 < len(out.splitlines()) <= 30
    assert out.startswith("B is faster in 0 and slower in 160 of ")
    assert "the largest change of each family and the next (--full shows all 160)" in out
    assert re.search(r"\n  slower +160 of \d+ +1\.", out)
    assert "The smallest change that these runs could show" in out
    main(["compare", *files, "--all"])
    assert capsys.readouterr().out.count("flush on") == 160


@pytest.mark.parametrize(("kinds", "said"), [
    ("", "nothing is named; there are slower, faster, "),
    (" , ", "nothing is named"),
    ("none,slower", "'none,slower' asks for none and for others: say none alone"),
])  # fmt: skip
def test_a_gate_without_a_kind_is_refused(tmp_path, capsys, kinds, said):
    assert main(["compare", *written(tmp_path, node(), node("node-b", 2)), "--fail-on", kinds]) == 2
    assert said in capsys.readouterr().err


def test_what_chance_makes_likely_is_counted_and_not_shown(tmp_path, capsys):
    """One of eight questions is likely slower, which chance makes of as many where nothing differs."""
    files = written(tmp_path, node(), node("node-b", 2, slow={SIZES[2]: 1.008}))
    assert main(["compare", *files, "--threshold", "0.5%", "--fail-on", "none"]) == 0
    out = capsys.readouterr().out
    assert "Likely but not certain: " in out
    assert "by chance about 1 each way of 8" in out
    assert "Likely, not certain" not in out
    main(["compare", *files, "--threshold", "0.5%", "--all"])
    assert "Likely, not certain" in capsys.readouterr().out


def test_what_is_slower_comes_by_size(tmp_path, capsys):
    slow = {SIZES[at]: ratio for at, ratio in enumerate((1.2, 0.5, 1.7, 1.1))}
    main(["compare", *written(tmp_path, node(), node("node-b", 2, slow=slow))])
    part = capsys.readouterr().out.split("Faster or slower")[1].split("\n\n")[0]
    assert [float(line.split()[1]) for line in part.splitlines()[2:]] == pytest.approx(
        [0.5, 1.7, 1.2, 1.1], rel=0.02
    )


def test_a_fleet_is_counted_in_30_lines(tmp_path, capsys):
    slow = dict.fromkeys(SIZES, 1.5)
    files = written(
        tmp_path, *(node(f"n{at}", at, slow=slow if at in (3, 7) else None) for at in range(1, 13))
    )
    assert main(["compare", *files]) == 1
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 30
    assert out.startswith("Of 11 files 2 are slower than A in some question, 0 faster; of 0 nothing could be")
    assert "Slower: C, G." in out


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


@pytest.mark.parametrize("name", ["h200x2-quick.json.gz", "no-gpu-quick.json"])
def test_reference_runs_meet(capsys, name):
    """Of one visit a row, on machines that no table knows: nothing can be told."""
    document = compared(capsys, str(REFERENCE / "h100-quick.json"), str(REFERENCE / name), status=5)
    counts = document["new"][0]["counts"]
    assert counts["unclear"] >= 40
    assert document["new"][0]["decided"] == 0


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


def test_a_screen_shows_what_differs_before_what_may_be_the_cause(capsys, monkeypatch):
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv("COLUMNS", "100")
    runs = [f"results/reference/acceptance/{name}.json.gz" for name in ("h100-c2", "h200-c1")]
    assert main(["compare", *runs]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = {
        word: next(i for i, line in enumerate(lines) if line.startswith(word))
        for word in ("Faster or", "The env")
    }
    assert at["Faster or"] < at["The env"]
    shown = [line for line in lines[: at["The env"]] if line.startswith(("  faster ", "  slower "))]
    assert len(shown) >= 5
    assert len(lines) <= 30


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_a_screen_cuts_no_question_and_has_no_heading_without_lines(capsys, monkeypatch, columns):
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv("COLUMNS", str(columns))
    runs = [f"results/reference/acceptance/{name}.json.gz" for name in ("h100-c2", "h200-c2")]
    assert main(["compare", *runs]) == 1
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 30
    assert max(map(len, out.splitlines())) <= columns
    changed = out.split("Faster or slower")[1].split("\n\n")[0]
    assert "…" not in changed
    assert "transfer/local " in changed
    assert bool(re.search(r"  faster +\d+ of \d+ ", changed)) == (columns > 80)
    for part in out.split("\n\n")[1:-1]:
        # A heading, and a sentence or a table with its own.
        assert len(part.strip().splitlines()) > (1 if part.startswith("The environments") else 2), part
