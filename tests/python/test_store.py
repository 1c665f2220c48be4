"""A data set that stays one: names that are patterns, several at once, damaged files, a full disk."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import synthetic_fleet
from grainscope_report.cli import main
from grainscope_report.fleet import sources, store

pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install duckdb")
FAMILIES = frozenset({"host/memcpy"})
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def fleet(folder: Path, *nodes: int, **more) -> Path:
    for node in nodes:
        synthetic_fleet.write(folder, node, families=FAMILIES, level=1, **more)
    return folder


def nodes_of(place: Path) -> list[str]:
    with store.opened(place) as connection:
        return [node for (node,) in connection.execute("SELECT node FROM runs ORDER BY node").fetchall()]


@pytest.mark.parametrize(("name", "like"), [("n[1]", "n1"), ("n?", "n1"), ("n*", "n1")])
def test_a_name_that_is_a_pattern_stands_for_itself(tmp_path, capsys, name, like):
    """Also for what is added, and for what takes the place of a run that was cut off."""
    other, place = tmp_path / like, tmp_path / name
    cut = synthetic_fleet._context(synthetic_fleet._base(FAMILIES)[0], 1, 0, 1, 0, None, None)["run"]
    cut |= {"complete": False, "ended": cut["started"]}
    nodes = fleet(tmp_path / "nodes", 1, context={"run": cut})
    for one in (other, place):
        store.add(one, sources.found([nodes]))
    store.add(place, sources.found([fleet(tmp_path / "more", 1, 2)]))
    assert (nodes_of(other), nodes_of(place)) == (["node-00001"], ["node-00001", "node-00002"])
    assert main(["trend", str(other), "--openmetrics"]) == 0
    assert "node-00002" not in capsys.readouterr().out


def test_a_folder_for_temporary_files_that_is_a_pattern_stands_for_itself(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "T[1]?*"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert main(["fleet", str(fleet(tmp_path / "nodes", 1, 2))]) == 5
    assert "2 nodes" in capsys.readouterr().out
    assert list(folder.iterdir()) == []


def test_who_adds_waits_for_another_who_adds(tmp_path):
    place = tmp_path / "store"
    store.add(place, sources.found([fleet(tmp_path / "nodes", 1)]))
    program = [sys.executable, "-c", "from grainscope_report.cli import main; raise SystemExit(main())"]
    with (place / sources.MARK).open("a") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        adding = subprocess.Popen(
            [*program, "store", "add", place, fleet(tmp_path / "more", 2)],
            env=os.environ | {"PYTHONPATH": str(SCRIPTS)}, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        said = adding.stderr.readline()
        assert said == f"{place} is in use by another process: waiting until that ends\n"
        assert not any(path.name == "_staging" for path in place.iterdir())
    out, err = adding.communicate()
    assert (adding.returncode, err) == (0, "")
    assert "1 run taken in" in out
    assert nodes_of(place) == ["node-00001", "node-00002"]


def test_several_who_make_a_data_set_at_once_take_each_run_once(tmp_path):
    nodes, place = fleet(tmp_path / "nodes", *range(4)), tmp_path / "store"
    code = f"""if True:
        import sys
        from grainscope_report.fleet import sources, store
        store.engine()
        print("ready", flush=True)
        sys.stdin.read()
        added = store.add(store.Path({str(place)!r}), sources.found([{str(nodes)!r}]))
        print(added.runs, added.known)"""
    adding = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    assert [one.stdout.readline() for one in adding] == ["ready\n"] * 3
    for one in adding:
        one.stdin.close()
        one.stdin = None
    assert sorted(one.communicate()[0] for one in adding) == ["0 4\n", "0 4\n", "4 0\n"]
    assert [one.returncode for one in adding] == [0] * 3


def test_a_run_that_is_in_a_data_set_twice_counts_once(tmp_path):
    """Of two the one that came further."""
    cut = synthetic_fleet._context(synthetic_fleet._base(FAMILIES)[0], 1, 0, 1, 0, None, None)["run"]
    cut |= {"complete": False, "ended": cut["started"]}
    nodes = fleet(tmp_path / "nodes", 1, 2, 3)
    earlier = fleet(tmp_path / "earlier", 1, context={"run": cut})
    for name, given in (("one", nodes), ("other", nodes), ("cut", earlier)):
        store.add(tmp_path / name, sources.found([given]))
    with store.opened(tmp_path / "one") as connection:
        expected = [
            connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall() for table in store.TABLES
        ]
    for name in ("other", "cut"):
        shutil.copytree(tmp_path / name, tmp_path / "one", dirs_exist_ok=True)
    with store.opened(tmp_path / "one") as connection:
        found = [
            connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall() for table in store.TABLES
        ]
    assert found == expected


@pytest.mark.parametrize("table", store.TABLES)
@pytest.mark.parametrize("left", [0, 900])
def test_a_damaged_file_of_a_data_set_is_named(tmp_path, capsys, table, left):
    place = tmp_path / "store"
    store.add(place, sources.found([fleet(tmp_path / "nodes", 1)]))
    [file] = (place / table).rglob("*.parquet")
    [other] = [path for path in place.rglob("*.parquet") if path != file]
    file.write_bytes(file.read_bytes()[:left])
    said = f"{file} is missing, cut off or no Parquet file: delete it and {other}, and add their runs again"
    assert main(["fleet", str(place)]) == 2
    assert said in capsys.readouterr().err
    if table == "runs":
        assert main(["store", "add", str(place), str(fleet(tmp_path / "more", 2))]) == 2
        assert said in capsys.readouterr().err
    file.unlink()
    other.unlink()
    store.add(place, sources.found([tmp_path / "nodes"]))
    assert nodes_of(place) == ["node-00001"]


def test_rows_whose_runs_never_came_are_none(tmp_path):
    """As of a process that ended between the two files; their runs are taken in again."""
    place = tmp_path / "store"
    store.add(place, sources.found([fleet(tmp_path / "nodes", 1)]))
    [file] = (place / "runs").rglob("*.parquet")
    file.unlink()
    store.add(place, sources.found([tmp_path / "nodes"]))
    with store.opened(place) as connection:
        [(rows, once)] = connection.execute(
            "SELECT count(*), count(DISTINCT (question, site)) FROM cases"
        ).fetchall()
    assert rows == once > 0


@pytest.mark.parametrize("limit", [100, 1000, 4000])
def test_a_full_disk_is_said_with_what_to_do(tmp_path, limit):
    """A file that may grow no further stands for it."""
    code = f"""if True:
        import resource, sys
        from grainscope_report.cli import main
        from grainscope_report.fleet import store
        store.engine()
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        sys.exit(main(["fleet", {str(fleet(tmp_path / "nodes", 1))!r}]))"""
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS), "TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    [said] = done.stderr.splitlines()
    assert f"{tmp_path}/tmp/grainscope-fleet-" in said
    assert "cannot be written" in said
    assert "TMPDIR" in said
