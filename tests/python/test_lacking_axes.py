"""A row that lacks an axis, in its case and its name: it is said which, or what is shown does without it."""

import json
from functools import cache
from pathlib import Path

import pytest

from grainscope_report import loading
from grainscope_report.cli import main
from stored import ROOT

RUN, OF_PAGES = "h200x2-quick.json.gz", "h200-pages-cached-1.json.gz"
# By family and axis; where a row may do without the axis, nothing is wrong with the file.
ASKED = [
    ("call", "what"),
    ("gather", "mode"),
    ("gather", "row"),
    ("reach/gather", "memory"),
    ("reach/gather", "rows"),
    ("shape/pages", "page"),
    ("transfer/memcpy", "bytes"),
    ("traversal/bfs", "graph"),
]
OPEN = [("pipeline/graphsage", "gpus"), ("reach/gather", "link")]
COMMANDS = [
    "summary FILE",
    "summary --full FILE",
    "summary FILE FAMILY",
    "list FILE",
    "matrix FILE",
    "dispatch FILE",
    "ask FILE FAMILY",
    "compare FILE FILE",
    "export csv -o OUT.csv FILE",
    "export md -o OUT.md FILE",
    "plot --figures 13 --format svg -o OUT FILE",
]


@cache
def stored(name: str) -> dict:
    return loading.load(ROOT / name)[1]


def lacking(path: Path, family: str, axis: str) -> Path:
    """The stored rows of the family, of which the first that is ok and has the axis lacks it."""
    run = stored(OF_PAGES if family == "shape/pages" else RUN)
    rows = json.loads(json.dumps([row for row in run["benchmarks"] if row["case"]["family"] == family]))
    row = next(row for row in rows if row["status"] == "ok" and axis in row["case"]["axes"])
    value = row["case"]["axes"].pop(axis)
    words = row["name"].removeprefix(f"{family}/").split("/")
    row["name"] = "/".join([family, *(word for word in words if word not in (f"{axis}:{value}", value))])
    rows.insert(0, rows.pop(rows.index(row)))
    statuses = [row["status"] for row in rows]
    counts = {status: statuses.count(status) for status in ("ok", "skipped", "failed")}
    context = run["context"] | {"run": run["context"]["run"] | {"counts": counts}}
    path.write_text(json.dumps({"context": context, "benchmarks": rows}))
    return path


@pytest.mark.parametrize(("family", "axis"), ASKED + OPEN)
def test_no_command_fails_on_a_row_that_lacks_an_axis(tmp_path, capsys, family, axis):
    path = lacking(tmp_path / "r.json", family, axis)
    named = {"FILE": str(path), "FAMILY": family}
    for line in COMMANDS:
        words = [named.get(word, word.replace("OUT", str(tmp_path / "out"))) for word in line.split()]
        status = main(words)
        said = capsys.readouterr().err
        if status == 2 and "contradicts itself" in said:
            assert f"{path} contradicts itself" in said, line
            assert f"$.benchmarks[0].case.axes: lacks {axis})" in said, line
        else:
            assert status in (0, 1, 2), line
            assert "nothing can be made of" not in said, line


@pytest.mark.parametrize(("family", "axis"), ASKED)
def test_validate_names_the_row_and_the_axis_and_check_judges_nothing(tmp_path, capsys, family, axis):
    path = lacking(tmp_path / "r.json", family, axis)
    assert main(["validate", str(path)]) == 1
    assert f"  $.benchmarks[0].case.axes: lacks {axis}  ({family}/" in capsys.readouterr().out
    assert main(["check", "--rules", "pcie5", "--any-run", str(path)]) == 3
    assert "contradicts itself" in capsys.readouterr().err


def test_folders_of_repeated_runs_that_lack_an_axis_are_named_as_one_run_is(tmp_path, capsys):
    folders = [tmp_path / side for side in ("before", "after")]
    for number, path in enumerate(folder / name for folder in folders for name in ("1.json", "2.json")):
        path.parent.mkdir(exist_ok=True)
        run = json.loads(lacking(path, "shape/pages", "page").read_text())
        run["context"]["run"]["id"] = f"a-{number}"
        path.write_text(json.dumps(run))
    assert main(["compare", *map(str, folders), "--plots", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"{folders[0] / '1.json'} contradicts itself" in said
    assert "$.benchmarks[0].case.axes: lacks page)" in said
