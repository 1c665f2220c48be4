"""The commands: exit statuses, what they print, and that they need no matplotlib but for plotting."""

import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import synthetic_links
import synthetic_machines
from grainscope_report import reader
from grainscope_report.buying import machines, words
from grainscope_report.cli import main
from grainscope_report.commands import plot
from grainscope_report.commands.ask import FLAGS
from grainscope_report.drawing import render
from grainscope_report.fleet import store
from planted import SITE, add_copy, gpu_file, pinned_copy, spoiled
from synthetic import MIB, File
from synthetic_training import add_pipeline, timeline

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / "scripts" / "grainscope-report"


def test_a_list_of_no_rows_says_that_there_are_none(tmp_path, capsys):
    path = File(gpus=()).write(tmp_path / "result.json")
    assert main(["list", str(path)]) == 2
    said = f"grainscope-report: {path} has no rows: the run ended before its first case; run it again\n"
    assert capsys.readouterr().err == said


def test_validate_of_good_files(files, capsys):
    assert main(["validate", *map(str, files.values())]) == 0
    assert [line.split(": ")[1] for line in capsys.readouterr().out.splitlines()] == [
        "valid, 513 rows",
        "valid, 1867 rows",
        "valid, 81 rows",
        "valid, 854 rows",
        "valid, 496 rows",
        "valid, 382 rows",
        "valid, 382 rows",
        "valid, 1751 rows",
        "valid, 924 rows",
        "valid, 584 rows",
        "valid, 325 rows",
        "valid, 325 rows",
        "valid, 49 rows",
        "valid, 980 rows",
        "valid, 51 rows",
        "valid, 930 rows",
    ]


def test_validate_shows_problems_with_the_row_s_name_and_exits_1(small, capsys):
    spoiled(small, lambda document: document["benchmarks"][0].update(mad_s=21e-6))
    assert main(["validate", str(small)]) == 1
    out = capsys.readouterr().out
    assert f"{small}: 1 problem\n" in out
    assert "$.benchmarks[0].mad_s: is 2.1e-05" in out
    assert "(transfer/memcpy/copy/pinned_to_gpu/on/gpu:0/numa:0/bytes:1048576)" in out


def test_validate_shows_the_first_problems_and_all_on_demand(small, capsys):
    spoiled(small, lambda document: document["benchmarks"][0]["visits"][0].update(samples_s=[-1.0] * 30))
    assert main(["validate", str(small)]) == 1
    out = capsys.readouterr().out
    assert out.count("must be above 0") == 20
    assert "… and 10 more (--full shows them)" in out
    assert main(["validate", "--all", str(small)]) == 1
    assert capsys.readouterr().out.count("must be above 0") == 30


def test_validate_of_several_files_exits_with_the_worst(files, small, tmp_path, capsys):
    good, bad, missing = (
        files["cpu_only"],
        spoiled(small, lambda document: document.pop("benchmarks") and document.update(benchmarks=[])),
        tmp_path / "no.json",
    )
    assert main(["validate", str(good), str(bad)]) == 1
    assert main(["validate", str(good), str(missing), str(bad)]) == 2
    captured = capsys.readouterr()
    assert "does not exist" in captured.err
    assert captured.out.count("valid, 81 rows") == 2


def test_validate_goes_on_after_a_file_that_cannot_be_read(files, tmp_path, capsys):
    good = files["cpu_only"]
    text, bad = good.read_text(), []
    for name, content in (
        ("great", text.replace('"bytes": ', '"bytes": 1e999, "was": ', 1)),
        ("long", text.replace('"bytes": ', f'"bytes": {"9" * 5000}, "was": ', 1)),
        ("cut", text[:2000]),
        ("list", "[1, 2]"),
    ):
        bad.append(tmp_path / f"{name}.json")
        bad[-1].write_text(content)
    odd = tmp_path / "odd.json"
    odd.write_bytes(good.read_bytes())
    spoiled(odd, lambda document: document["context"]["environment"]["cpu"].update(model=[1]))
    assert main(["validate", *map(str, [*bad, tmp_path, odd, good])]) == 2
    captured = capsys.readouterr()
    assert captured.out == (
        f"{odd}: 1 problem\n  $: holds values that nothing can be made of (unhashable type: 'list')\n"
        f"{good}: valid, 81 rows\n"
    )
    said = captured.err.splitlines()
    assert len(said) == 5
    for path, line in zip([*bad, tmp_path], said, strict=True):
        assert line.startswith(f"grainscope-report: {path} ")
    assert main(["validate", str(odd), str(good)]) == 1


def test_list_shows_every_row_once(small, capsys):
    assert main(["list", str(small)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert [line.split()[0] for line in lines[1:]] == ["ok", "failed", "skipped"]
    assert "20 µs" in lines[1]
    assert "52.43" in lines[1]
    assert "95.8 %" in lines[1]
    assert lines[2].endswith("the copy came back wrong")


def test_list_has_one_line_a_case(tmp_path, capsys):
    file = File()
    for visit in (1, 2, 3):
        file.add("transfer/memcpy", pinned_copy(), SITE, 20e-6 * (1 + visit / 1000), visit=visit)
    assert main(["list", str(file.write(tmp_path / "result.json"))]) == 0
    [line] = capsys.readouterr().out.splitlines()[1:]
    assert "[20 µs, 20.1 µs]" in line


def test_list_gives_the_time_of_each_where_it_is_of_many(tmp_path, capsys):
    file = File()
    for visit in (1, 2, 3):
        file.add("call", {"what": "launch"}, SITE, 400e-6 * (1 + visit / 1000), operations=128, visit=visit)
    assert main(["list", str(file.write(tmp_path / "result.json"))]) == 0
    [line] = capsys.readouterr().out.splitlines()[1:]
    assert "3.13 µs each  [3.12 µs, 3.14 µs]" in line


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [(["--filter", "bytes:2"], 1), (["--status", "skipped"], 1), (["--filter", "memcpy"], 3)],
)
def test_list_filters(small, capsys, arguments, rows):
    assert main(["list", str(small), *arguments]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + rows


def test_list_says_which_rows_have_a_flag_and_what_it_says(capsys, monkeypatch):
    run = str(ROOT / "results/reference/acceptance/h100-c2.json.gz")
    for columns in (80, 100, 160):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["list", run, "--flag"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= 40
        assert max(map(len, lines)) <= columns
    counts = {words[0]: int(words[1]) for line in lines if (words := line.split())[0] in FLAGS}
    assert counts.keys() == set(FLAGS)
    for flag, count in counts.items():
        assert main(["list", run, "--flag", flag]) == 0
        rows = capsys.readouterr().out.splitlines()[1:]
        assert len(rows) == count
        assert all(flag in row for row in rows)
    assert main(["list", run, "--flag", "odd"]) == 2
    assert "no flag 'odd'; there are unsettled, " in capsys.readouterr().err


def test_list_of_a_run_without_flags_says_so(tmp_path, capsys):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.add("transfer/memcpy", pinned_copy(), SITE, 20e-6, spread=0.001)
    assert main(["list", str(file.write(tmp_path / "result.json")), "--flag"]) == 0
    assert capsys.readouterr().out.startswith("Of 1 measured rows ")


@pytest.mark.parametrize(("arguments", "message"), [
    (["--filter", "no such"], "none with a name that matches 'no such'"),
    (["--filter", "("], "is no regular expression"),
    (["--filter", "memcpy", "--status", "ok", "--filter", "bytes:2"], "and status ok"),
])  # fmt: skip
def test_list_of_nothing_is_a_usage_error(small, capsys, arguments, message):
    assert main(["list", str(small), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_plot_writes_pictures_and_tables_and_says_what_is_missing(files, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["plot", str(files["cpu_only"]), "-o", str(out), "--format", "svg", "--figures", "h,2"]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "figure_h_host_memory.csv",
        "figure_h_host_memory.svg",
    ]
    assert (out / "figure_h_host_memory.svg").read_text().startswith("<?xml")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("figure h: ")
    assert lines[1] == "figure 2: no rows of transfer/memcpy: skipped, no NVIDIA driver"


def test_plot_of_several_files_and_formats(files, tmp_path):
    out = tmp_path / "out"
    chosen = [str(files["h100"]), str(files["two_nodes"])]
    assert main(["plot", *chosen, "-o", str(out), "--figures", "5", "--format", "svg,png,pdf"]) == 0
    kinds = {path.suffix: path.read_bytes()[:4] for path in out.iterdir()}
    assert kinds[".png"] == b"\x89PNG"
    assert kinds[".pdf"] == b"%PDF"
    assert set(kinds) == {".svg", ".png", ".pdf", ".csv"}


def test_plot_for_a_column_has_its_width_and_a_caption(files, tmp_path, capsys):
    out = tmp_path / "out"
    chosen = ["plot", str(files["h100"]), "-o", str(out), "--figures", "5.1,d"]
    assert main([*chosen, "--format", "svg,png", "--column", "3.5in"]) == 0
    said = capsys.readouterr().out.splitlines()
    stem = "figure_5_zero_copy_panel_1_column"
    written = {path.suffix: path.stem for path in out.iterdir()}
    assert written == dict.fromkeys([".csv", ".png", ".svg", ".txt"], stem)
    assert said[1] == "figure d has no panel for a column"
    assert 'width="252pt"' in (out / f"{stem}.svg").read_text()
    caption = (out / f"{stem}.txt").read_text()
    assert caption.startswith("Explicit copies against zero-copy.\n")
    assert "Error bars: 95 % interval" in caption
    whole = ["plot", str(files["h100"]), "-o", str(tmp_path / "whole"), "--format", "svg", "--figures", "5.1"]
    assert main(whole) == 0
    assert (tmp_path / "whole" / "figure_5_zero_copy_panel_1.svg").is_file()


def test_plot_without_anything_to_draw_exits_1(files, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["plot", str(files["cpu_only"]), "-o", str(out), "--figures", "2,5"]) == 1
    assert not out.exists()
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["--figures", "99"], ["--figures", "5.0"], ["--column", "3"], ["--column", "99in"],
        ["--format", "gif"], ["--no-such"], [],
    ],
)  # fmt: skip
def test_plot_usage_errors(files, arguments, capsys):
    files_given = [str(files["cpu_only"])] if arguments else []
    assert main(["plot", *files_given, *arguments]) == 2
    assert "usage" in capsys.readouterr().err


def test_plot_says_where_it_cannot_write(files, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["plot", str(files["cpu_only"]), "-o", str(tmp_path / "file"), "--format", "svg"]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_formats_offered_are_the_formats_drawn():
    assert set(plot.FORMATS) == set(render.FORMATS)


@pytest.mark.parametrize(
    ("argv", "status"), [([], 2), (["--help"], 0), (["--version"], 0), (["fly"], 2), (["plot", "--help"], 0)]
)
def test_exit_status_of_the_command_line(argv, status, capsys):
    assert main(argv) == status
    captured = capsys.readouterr()
    assert "Traceback" not in captured.out + captured.err


def test_version_is_the_suite_s(capsys):
    main(["--version"])
    assert capsys.readouterr().out.strip().endswith((ROOT / "VERSION").read_text().strip())


WITHOUT_MATPLOTLIB = """
import sys
import tomllib
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("matplotlib", "numpy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from grainscope_report.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("command", "status"), [("list", 0), ("plot", 2), ("report", 2)])
def test_only_drawing_needs_matplotlib(files, tmp_path, command, status):
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_MATPLOTLIB, command, str(files["cpu_only"])],
        capture_output=True, text=True, cwd=tmp_path, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "scripts")},
    )  # fmt: skip
    assert ended.returncode == status, ended.stderr
    assert "Traceback" not in ended.stderr
    if status:
        assert "needs matplotlib" in ended.stderr


# What a command is given, and what it names to go on with; the paths of both have a blank.
NAMED = {
    "off the format": (["summary", "off.json"], ["grainscope-report", "validate", "off.json"]),
    "unfinished": (["summary", "begun"], ["grainscope", "--resume", "begun"]),
    "no runs": (["check", "one.json", "--rules", "pcie5", "--type-b", "empty"],
                ["grainscope", "repeat", "3", "--out", "empty"]),
    "steps": (["export", "trace", "steps.json"], ["grainscope-report", "validate", "steps.json"]),
    "part": (["merge", "part.json", "-o", "whole.json"], ["grainscope", "--resume", "."]),
    "workload": (["evaluate", "--init", "new.toml"], ["grainscope-report", "evaluate", "new.toml"]),
    "page": (["report", "wrong.json", "-o", "page.html"], ["grainscope-report", "validate", "wrong.json"]),
    "unfinished node": (["fleet", "nodes"], ["grainscope", "--resume", "nodes/begun"]),
    "empty data set": (["fleet", "data"], ["grainscope-report", "store", "add", "data", "RUN"]),
}  # fmt: skip


def with_a_copy() -> File:
    file = gpu_file()
    add_copy(file, 50.0, "pinned_to_gpu", MIB)
    return file


@pytest.fixture
def blank(tmp_path) -> Path:
    """A folder with a blank in its name and with what is wrong in each way of NAMED."""
    folder = tmp_path / "two words"
    for name in ("empty", "data"):
        (folder / name).mkdir(parents=True)
    (folder / "data" / store.MARK).write_text(json.dumps({"format": store.FORMAT}))
    for name in ("begun", "nodes/begun"):
        (folder / name).mkdir(parents=True)
        (folder / name / "journal.jsonl").write_text("{}\n")
    cut = {"complete": False, "why_incomplete": "signal 2"}
    with_a_copy().write(folder / "one.json")
    for name, spoil in {
        "off": lambda document: document["benchmarks"][0].update(median_s="fast"),
        "wrong": lambda document: document["benchmarks"][0].update(bytes=1),
        "part": lambda document: document["context"]["run"].update(cut),
    }.items():
        spoiled(with_a_copy().write(folder / f"{name}.json"), spoil)
    steps = gpu_file()
    add_pipeline(steps, "masked", timeline=timeline([1e-3] * 3))["timeline"][1]["end_s"].pop()
    steps.write(folder / "steps.json")
    return folder


@pytest.mark.parametrize("name", NAMED)
def test_a_command_that_is_named_can_be_pasted(name, blank, capsys):
    if name in ("unfinished node", "empty data set"):
        pytest.importorskip("duckdb")

    def placed(words: list[str]) -> list[str]:
        return [str(blank / word) if "." in word or (blank / word).exists() else word for word in words]

    given, command = map(placed, NAMED[name])
    main(given)
    said = "".join(capsys.readouterr())
    page = blank / "page.html"
    said += html.unescape(page.read_text()) if page.exists() else ""
    assert command in [shlex.split(text) for text in re.findall(r"`(grainscope[^`]+)`", said)]


def test_commands_of_a_verdict_can_be_pasted(blank):
    path = str(blank / "w.toml")
    unknown = {"what": words.RUNS, "machine": "A"}
    [said] = words._what_decides({"unknown": [unknown], "workload": {"file": path}})
    assert f"`grainscope-report evaluate {shlex.quote(path)} --type-b DIR`" in said
    stored = ROOT / "results/reference"
    paths = [shutil.copy(stored / name, blank) for name in ("h100-quick.json", "no-gpu-quick.json")]
    said = machines.differences(*map(reader.read, paths))
    assert f"`grainscope-report env diff {shlex.join(map(str, paths))}`" in said


def test_the_launcher_runs_from_anywhere(files, tmp_path):
    ended = subprocess.run(
        [LAUNCHER, "validate", files["cpu_only"]], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_closed_pipe_is_no_error(files):
    ended = subprocess.run(
        f"set -o pipefail; {LAUNCHER} list {files['two_nodes']} | head -1",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


def test_synthetic_machines_have_all_families():
    families = {one["case"]["family"] for one in synthetic_machines.h100().rows}
    assert len(families) == 7
    families = {one["case"]["family"] for one in synthetic_links.linked().rows}
    assert len(families) == 7


def test_a_wheel_has_every_package():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {path.parent for path in (ROOT / "scripts" / "grainscope_report").rglob("__init__.py")}
    there = {".".join(folder.relative_to(ROOT / "scripts").parts) for folder in folders}
    assert there <= set(listed)


def test_a_wheel_has_every_file_that_packages_read():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    package = ROOT / "scripts" / "grainscope_report"
    data = [path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
    assert data
    for path in data:
        # Patterns are of the nearest package above: a folder without modules is none.
        home = next(folder for folder in path.parents if (folder / "__init__.py").is_file())
        name = ".".join(home.relative_to(ROOT / "scripts").parts)
        assert any(path.relative_to(home).match(one) for one in settings["package-data"].get(name, ())), path
