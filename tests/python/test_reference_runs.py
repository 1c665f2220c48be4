"""`scripts/reference`: the manifest of committed runs, what is stale, and how a run is taken again."""

import gzip
import importlib.machinery
import importlib.util
import json
import stat
from collections import Counter
from pathlib import Path

import pytest

from references import PROJECT
from synthetic import File

loader = importlib.machinery.SourceFileLoader("reference", str(PROJECT / "scripts/reference"))
reference = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference", loader))
loader.exec_module(reference)


def test_the_manifest_is_of_the_files_that_are_there():
    told = reference.kept()
    assert told == reference.manifest(reference.FOLDER), "run scripts/reference --write"
    assert all(run["cited_by"] for run in told)


# Families with rows that had no limit before each row got one, and how many rows of the runs that are kept
# still lack it. A run that is taken again has none.
WITHOUT_LIMIT = Counter(
    {
        "call": 693,
        "gather": 11,
        "grain/gpu_memory": 154,
        "host/flush": 180,
        "host/latency": 180,
        "host/malloc": 75,
        "latency/chase": 107,
        "latency/flag": 15,
        "latency/managed_touch": 26,
        "pipeline/graphsage": 90,
        "sampling/neighbours": 78,
        "shape/batch": 132,
        "shape/copy": 376,
        "tiering/reorder": 30,
        "tiering/score": 75,
        "transfer/local": 110,
        "transfer/memcpy": 66,
        "traversal/bfs": 66,
        "traversal/cc": 44,
        "traversal/pr": 44,
        "traversal/sssp": 44,
    }
)


def without_limit(run: dict) -> Counter[str]:
    """By family, the measured rows of a run that have no physical limit."""
    return Counter(
        row["case"]["family"]
        for row in run["benchmarks"]
        if row["status"] == "ok"
        and row["label"] == "measured"
        and not ("limit_gb_s" in row or "limit_operation_s" in row)
    )


def test_rows_without_a_physical_limit_are_of_older_runs_alone():
    folder = reference.FOLDER
    paths = [*folder.glob("acceptance/*.gz"), folder / "no-gpu-quick.json"]
    found: Counter[str] = Counter()
    for path in sorted(paths):
        text = path.read_bytes()
        run = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)
        limited = any("limit_operation_s" in row for row in run["benchmarks"])
        lacking = without_limit(run)
        assert not (limited and lacking), f"{path.name}: {dict(lacking)}"
        found += lacking
    assert found <= WITHOUT_LIMIT


def test_runs_of_another_version_or_without_visits_are_stale():
    run = {"schema": 2, "versions": {"call": 1, "lean/bfs": 2}}
    assert reference.stale(run, {"call": 1, "lean": 2}) == []
    assert reference.stale(run, {"call": 2, "lean": 2}) == ["call is of version 1, now 2"]
    assert reference.stale(run, {"call": 1}) == ["lean/bfs is gone"]
    assert reference.stale(run | {"schema": 1}, {"call": 1, "lean": 2}) == ["schema 1: one visit a case"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch):
    """A folder with one run, and a program that measures the same again, or what is asked of it."""
    folder = tmp_path / "reference"
    folder.mkdir()
    file = File(gpus=("NVIDIA H100",))
    file.add("transfer/memcpy", {"path": "pinned_to_gpu", "bytes": 1 << 20}, {"gpu": 0}, 1e-3)
    run = file.document()
    run["context"]["run"]["flags"] = ["--preset=quick", "--out=run1", "--max-time=500s"]
    (folder / "a.json").write_text(json.dumps(run))
    again = json.loads(json.dumps(run))
    again["context"]["run"]["id"] = "again"
    (tmp_path / "again.json").write_text(json.dumps(again))
    (tmp_path / "env.json").write_text(json.dumps(again["context"]["environment"]))
    (tmp_path / "status").write_text("0")
    program = tmp_path / "grainscope"
    program.write_text(f"""#!/bin/sh
case "$1" in
  --families=json) echo '[{{"name": "transfer/memcpy", "version": 1}}]' ;;
  --env=json) cat {tmp_path}/env.json ;;
  *) echo "$@" >> {tmp_path}/asked
     for last; do :; done
     mkdir -p "$last"; : > "$last/journal.jsonl"; cp {tmp_path}/again.json "$last/result.json"
     exit $(cat {tmp_path}/status) ;;
esac
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(reference, "FOLDER", folder)
    monkeypatch.setattr(reference, "MANIFEST", folder / "manifest.jsonl")
    monkeypatch.setattr(reference, "citations", lambda _: {"a.json": ["docs/a.md"]})
    assert reference.main(["--write"]) == 0
    return tmp_path


def main(place: Path, *arguments: str) -> int:
    return reference.main(["--program", str(place / "grainscope"), *arguments])


def test_a_file_that_changed_is_told(place, capsys):
    assert main(place) == 0
    (place / "reference/a.json").write_text((place / "again.json").read_text())
    assert main(place) == 1
    assert "a.json" in capsys.readouterr().out
    (place / "reference/a.json").unlink()
    assert main(place) == 1
    assert "a.json: is in the manifest, but not there" in capsys.readouterr().out


def test_a_run_is_taken_again_by_its_flags_and_goes_on_where_it_was_cut(place, capsys):
    path = place / "reference/a.json"
    (place / "status").write_text("1")
    assert main(place, "--take", str(path)) == 1
    assert "is not complete: the same command goes on" in capsys.readouterr().err
    assert json.loads(path.read_text())["context"]["run"]["id"] != "again"
    (place / "status").write_text("0")
    assert main(place, "--take", str(path)) == 0
    first, second = (place / "asked").read_text().splitlines()
    assert first.startswith("--preset=quick --out ")
    assert second.startswith("--resume ")
    assert json.loads(path.read_text())["context"]["run"]["id"] == "again"
    assert [each.name for each in path.parent.iterdir()] == ["a.json", "manifest.jsonl"]
    assert main(place) == 0


def test_a_run_of_another_machine_is_not_taken_here(place, capsys):
    environment = json.loads((place / "env.json").read_text())
    environment["gpus"] = environment["gpus"] * 2
    (place / "env.json").write_text(json.dumps(environment))
    assert main(place, "--take", str(place / "reference/a.json")) == 3
    assert "take it there" in capsys.readouterr().err
    assert not (place / "asked").exists()


def test_without_a_program_it_is_said_how_to_get_one(place, capsys):
    assert reference.main(["--program", str(place / "none")]) == 2
    assert "build it, or name one by --program" in capsys.readouterr().err
