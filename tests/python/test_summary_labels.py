"""Every line of a table of `summary` has a name of its own, whatever a run has several of."""

import copy
import re
from collections import Counter

import pytest

import synthetic_full
import synthetic_training
from grainscope_report.cli import main
from grainscope_report.commands import summary_gnn
from synthetic import File

# Of these tables two columns name a line; what stands in the second of others is an answer.
NAMED_BY_TWO = ("sampling", "reordering", "shares of the GPU", "hot rows", "traversals that move fewer bytes")
FAMILIES = ("gather", "tiering/", "sampling/", "sm_share/", "pipeline/")
OTHER = {
    "graph": "web21",
    "fanout": "5x5",
    "indices": "clustered",
    "lists": "shuffled",
    "placement": "managed",
    "score": "presampled",
    "by": "exec_affinity",
    "consumer": "dlrm",
    "percent": "33",
}


def names(path, capsys, monkeypatch) -> Counter:
    """Table, family and name of every line."""
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(summary_gnn, "MOST_LINES", 1000)
    assert main(["summary", "--full", str(path)]) == 0
    found: Counter = Counter()
    table = family = ""
    for line in capsys.readouterr().out.splitlines():
        cells = re.split(r" {2,}", line.strip())
        if line.startswith("  ") and len(cells) > 2:
            found[table, family, *cells[: 1 + (table in NAMED_BY_TWO)]] += 1
        elif len(cells) > 2:
            table, family = cells[0], ""
        elif not line.startswith(" "):
            family = line
    return found


def with_another(axis: str) -> File:
    """A machine that ran all of graph neural networks, and the same with another value of an axis."""
    file = synthetic_training.learning()
    for row in [row for row in file.rows if row["case"]["family"].startswith(FAMILIES)]:
        if axis in row["case"]["axes"]:
            again = copy.deepcopy(row)
            value = again["case"]["axes"][axis]
            again["case"]["axes"][axis] = OTHER[axis] if isinstance(value, str) else 2 * value
            again["name"] += "/again"
            if all(again["case"] != row["case"] for row in file.rows):
                file.rows.append(again)
    return file


def check(found: Counter) -> None:
    assert len(found) > 10
    assert [line for line, count in found.items() if count > 1] == []


@pytest.mark.parametrize("name", ["h100", "linked", "busy", "traversing", "learning", "leaning"])
def test_no_two_lines_of_a_machine_s_tables_have_one_name(files, capsys, monkeypatch, name):
    check(names(files[name], capsys, monkeypatch))


def test_no_two_lines_of_a_whole_run_s_tables_have_one_name(tmp_path, capsys, monkeypatch):
    check(names(synthetic_full.full().write(tmp_path / "result.json"), capsys, monkeypatch))


@pytest.mark.parametrize("axis", [
    *OTHER, "batch", "element", "gpus", "hidden", "hot", "labelled", "row", "rows", "sms", "span",
    "width", "window",
])  # fmt: skip
def test_lines_that_differ_in_one_thing_name_it(tmp_path, capsys, monkeypatch, axis):
    check(names(with_another(axis).write(tmp_path / "result.json"), capsys, monkeypatch))


def test_what_tells_nothing_apart_is_not_named(files, capsys, monkeypatch):
    found = " ".join(str(line) for line in names(files["learning"], capsys, monkeypatch))
    for word in ("hidden", "elements of", "by degree"):
        assert word not in found
