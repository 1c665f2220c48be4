"""How long comparing and deciding take, by the processors' time: other work on the machine counts little.

It counts a little, since processors share caches, memory and often a core: so the best of a few tries counts.
`report` has its own in test_report.py. Limits are twice what issue and docs promise on two processors.
"""

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import synthetic_busy
import synthetic_fleet
from grainscope_report import reader
from grainscope_report.cli import main
from planted_purchase import machine, visit, workload
from stored import PROJECT
from stored import ROOT as REFERENCE

DIGESTS = 256  # two batches
NODES = 100
FILES = 8  # a quarter of the 32 that are promised in 20 s
TRIES = 3
CANDIDATES = {"V": 1.0, "W": 1.05, "X": 1.1, "Y": 1.15, "Z": 1.2}


def cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def least_s(limit_s: float, work: Callable[[int], None]) -> float:
    """The least time of a few tries, or the first within the limit."""
    least = float("inf")
    for number in range(TRIES):
        before = cpu_s()
        work(number)
        least = min(least, cpu_s() - before)
        if least <= limit_s:
            break
    return least


@pytest.fixture
def fleet(tmp_path):
    """Runs of 5,000 rows, each of a machine of its own."""
    path = synthetic_busy.full().write(tmp_path / "n0" / "result.json")
    document = json.loads(path.read_text())
    paths = [str(path)]
    for at in range(1, FILES):
        document["context"]["host_name"] = f"node-{at}"
        document["context"]["run"]["id"] = f"run-{at}"
        for gpu in document["context"]["environment"]["gpus"]:
            gpu["uuid"] = f"GPU-{at}-{gpu.get('index', 0)}"
        folder = tmp_path / f"n{at}"
        folder.mkdir()
        (folder / "result.json").write_text(json.dumps(document))
        paths.append(str(folder / "result.json"))
    return paths


@pytest.mark.parametrize(
    ("file", "rows"), [("h100-quick.json", 1371), ("acceptance/h100-a.json.gz", 1367)], ids=["older", "today"]
)
def test_a_quick_run_is_loaded_at_once(file, rows):
    """Promised: 1,371 rows in a quarter of a second, of the older schema as of today's."""

    def load(_: int) -> None:
        assert len(reader.read(REFERENCE / file).rows) == rows

    assert least_s(2 * 0.25, load) <= 2 * 0.25


def test_the_screen_of_a_quick_run_is_there_at_once():
    """Promised: half a second for the whole command."""
    launcher = PROJECT / "scripts" / "grainscope-report"

    def show(_: int) -> None:
        command = [sys.executable, launcher, "summary", REFERENCE / "h100-quick.json"]
        assert subprocess.run(command, capture_output=True, check=True).stdout

    assert least_s(2 * 0.5, show) <= 2 * 0.5


def test_many_full_runs_are_compared_soon(fleet, tmp_path, capsys):
    limit_s = 2 * 2 * 20 * FILES / 32

    def compare(_: int) -> None:
        assert main(["compare", *fleet, "--format", "csv", "-o", str(tmp_path / "all.csv")]) == 5

    assert least_s(limit_s, compare) <= limit_s
    capsys.readouterr()
    assert (tmp_path / "all.csv").read_text().count("\n") > FILES * 1000


def test_digests_of_many_nodes_are_taken_in_soon(tmp_path):
    """Promised: 400 a second on two processors. The start of a process is in their time, too."""
    pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install duckdb")
    from grainscope_report.fleet import sources, store

    for at in range(DIGESTS):
        synthetic_fleet.write(tmp_path / "nodes", at, level=1)
    limit_s = 2 * 2 / 400 * DIGESTS

    def add(number: int) -> None:
        found = sources.found([tmp_path / "nodes"])
        assert store.add(tmp_path / f"store-{number}", found, processes=1).runs == DIGESTS

    assert least_s(limit_s, add) <= limit_s


def test_the_screen_of_many_nodes_is_there_soon(tmp_path):
    """Promised: 5 s on two processors for 10,000 nodes; here are fewer, many of them the same but in name."""
    pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install duckdb")
    from grainscope_report.fleet import screening, sources, store

    place, times = tmp_path / "store", 10
    for at in range(NODES):
        synthetic_fleet.write(tmp_path / "nodes", at, level=1)
    store.add(place, sources.found([tmp_path / "nodes"]), processes=1)
    with store.opened(place) as connection:
        for table, name in (("cases", "node"), ("runs", "machine")):
            [file] = (place / table).rglob("*.parquet")
            renamed = f"{name} || '-' || more AS {name}, run || '-' || more AS run"
            connection.execute(
                f"COPY (SELECT * EXCLUDE (more) REPLACE ({renamed}) FROM read_parquet('{file}'), "
                f"range(1, {times}) each(more)) TO '{file.with_name('more.parquet')}' (FORMAT parquet)"
            )
    limit_s = 2 * 5 * times * NODES / 10_000

    def ask(_: int) -> None:
        with store.opened(place) as connection:
            assert screening.screen(connection, 0.01).nodes == times * NODES

    assert least_s(limit_s, ask) <= limit_s


def test_full_files_of_many_nodes_are_taken_in_soon(tmp_path):
    """Promised: 40 a second on two processors."""
    pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install duckdb")
    from grainscope_report.fleet import sources, store

    paths = list(of_other_nodes(sorted((REFERENCE / "acceptance").glob("h*00-*.json.gz")), tmp_path))
    limit_s = 2 * 2 / 40 * len(paths)

    def add(number: int) -> None:
        assert store.add(tmp_path / f"store-{number}", sources.found(paths), processes=1).runs == len(paths)

    assert least_s(limit_s, add) <= limit_s


def of_other_nodes(files: Sequence[Path], folder: Path) -> Iterator[Path]:
    """Each file as three nodes measured it: the first files of each kind of machine are taken in longer."""
    for file in files:
        text = gzip.decompress(file.read_bytes()).decode()
        context = json.loads(text)["context"]
        for node in range(3):
            new = text.replace(f'"{context["host_name"]}"', f'"{context["host_name"]}-{node}"')
            new = new.replace(f'"{context["run"]["id"]}"', f'"{context["run"]["id"]}-{node}"')
            path = folder / f"{node}-{file.name}"
            path.write_bytes(gzip.compress(new.encode(), compresslevel=6))
            yield path


def test_10000_draws_over_five_candidates_are_evaluated_soon(tmp_path):
    machine(spread=0.1).write(tmp_path / "r.json")
    for name, ratio in CANDIDATES.items():
        file = machine(ratio, 2 - ratio, f"node-{name}", 0.1)
        for number in range(2, 6):
            visit(file, ratio, 2 - ratio, 0.1, number)
        file.write(tmp_path / f"{name}.json")
    offers = " ".join(f"{name}={price},700" for price, name in enumerate(CANDIDATES, 100))
    tail = "[cost]\nyears = 5\nper_kwh = 0.25\npue = 1.3\n"
    (tmp_path / "w.toml").write_text(workload(candidates=offers, tail=tail))

    def decide(_: int) -> None:
        # Nothing tells what runs of such machines differ by.
        assert main(["evaluate", str(tmp_path / "w.toml"), "-o", str(tmp_path / "out")]) == 5

    assert least_s(2 * 10, decide) <= 2 * 10
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert verdict["draws"] == 10_000
    assert len(verdict["candidates"]) == 5
