"""Digests, the data set of a fleet, and what is said of it, with faults planted in fleets that nobody has."""

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import synthetic_fleet
from grainscope_report import loading, resources, uncertainty
from grainscope_report.cli import main
from grainscope_report.errors import ReportError
from grainscope_report.fleet import changes, sources, store
from grainscope_report.uncertainty import clock_of
from stored import ROOT as REFERENCE

PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")
ACCEPTANCE = REFERENCE / "acceptance"
QUICK = sorted(ACCEPTANCE.glob("*.json.gz"))
MOST_BYTES = 120_000
NODES = 1000  # so that one false alarm in a thousand nodes can be told
# Enough families on every clock, and few enough rows to draw hundreds of nodes.
FEW = frozenset({"transfer/memcpy", "transfer/zero_copy", "host/memcpy", "grain/pieces", "reach/gather"})
needs_engine = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("duckdb") is None,
    reason="DuckDB is not installed: pip install duckdb",
)


def fleet(folder: Path, nodes: int, seed: int = 1, **of: dict) -> Path:
    """Digests of so many nodes; `of` has what is planted, by `node_3`."""
    for node in range(nodes):
        synthetic_fleet.write(folder, node, families=FEW, level=1, seed=seed, **of.get(f"node_{node}", {}))
    return folder


def screened(capsys, *arguments) -> tuple[int, dict]:
    status = main(["fleet", *map(str, arguments), "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


def rows_of(place: Path, query: str) -> list[tuple]:
    with store.opened(place) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def alike(tmp_path_factory) -> Path:
    """A data set of 300 nodes in which nothing is planted."""
    place = tmp_path_factory.mktemp("alike")
    store.engine()
    store.add(place / "store", sources.found([fleet(place / "nodes", 300)]))
    return place / "store"


@pytest.mark.parametrize("path", QUICK, ids=lambda path: path.stem)
def test_a_digest_of_quick_is_small(path):
    _, document = loading.load(path)
    assert len(document["benchmarks"]) >= 826
    assert len(sources.packed_digest(document)) <= MOST_BYTES


def test_a_digest_is_exported_and_no_other_command_reads_it(tmp_path, capsys):
    out = tmp_path / sources.DIGEST
    assert main(["export", "digest", str(QUICK[0]), "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: {len(loading.load(QUICK[0])[1]['benchmarks'])} rows")
    assert out.read_bytes() == sources.packed_digest(loading.load(QUICK[0])[1])
    assert main(["summary", str(out)]) == 2
    assert "is a digest, which `fleet` reads: give the result.json of its run" in capsys.readouterr().err
    assert main(["export", "digest", str(QUICK[0]), str(QUICK[1])]) == 2


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
def test_the_program_writes_the_same_digest_as_this_package(tmp_path):
    out = tmp_path / "run"
    flags = ["--preset=smoke", "--benchmark_filter=host/|model/", "--benchmark_repetitions=2", f"--out={out}"]
    subprocess.run([PROGRAM, *flags], check=True, capture_output=True)
    _, document = loading.load(out)
    written = gzip.decompress((out / sources.DIGEST).read_bytes()).decode().splitlines()
    made = list(sources.digest_lines(document))
    assert [json.loads(line) for line in written] == [json.loads(line) for line in made]
    assert {row["status"] for row in document["benchmarks"]} >= {"ok"}
    assert len({json.loads(line).get("label") for line in written[1:]}) == 2


@needs_engine
def test_a_digest_and_its_result_file_make_the_same_rows(tmp_path):
    """Also where the file is laid out otherwise than the program does, and where its rows have no type B."""
    _, document = loading.load(QUICK[0])
    (tmp_path / "digest").mkdir()
    (tmp_path / "digest" / sources.DIGEST).write_bytes(sources.packed_digest(document))
    (tmp_path / "wide.json").write_text(json.dumps(document, indent=4))
    whole = "SELECT * EXCLUDE (date, kind) FROM cases ORDER BY ALL"
    for place in ("digest", "wide.json", QUICK[0]):
        added = store.add(tmp_path / "store" / Path(place).name, sources.found([tmp_path / place]))
        assert (added.runs, added.cases, added.refused) == (1, len(document["benchmarks"]), [])
    assert sources.read(sources.Source(str(QUICK[0]))).whole, "rows are read as they lie in the file"
    found = [rows_of(tmp_path / "store" / name, whole) for name in ("digest", "wide.json", QUICK[0].name)]
    assert found[0] == found[1] == found[2]
    [row] = [row for row in document["benchmarks"] if row["name"] == document["benchmarks"][900]["name"]]
    is_row = f"axes = '{_axes(row)}' AND family = '{row['case']['family']}'"
    asked = f"SELECT median_s, status, visits FROM cases WHERE {is_row}"
    assert (row.get("median_s"), row["status"], len(row.get("visits", ())) or None) in rows_of(
        tmp_path / "store" / "digest", asked
    )


@needs_engine
def test_rows_without_type_b_have_that_of_the_package_row_by_row(tmp_path):
    """A row that the table knows its own, and another that of its family, as one file alone has them."""
    result = json.loads(gzip.decompress((ACCEPTANCE / "h200-i.json.gz").read_bytes()))
    for row in result["benchmarks"]:
        row.get("uncertainty", {}).pop("b", None)
        # An axis that no run has had: what runs differ by in such a row nobody knows.
        if row["case"]["family"] == "gather":
            row["case"]["axes"]["unheard_of"] = 1
    path = tmp_path / "node" / "result.json.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(json.dumps(result).encode()))
    store.add(tmp_path / "store", sources.found([path.parent]))
    found = rows_of(
        tmp_path / "store",
        "SELECT family, axes, clock, b FROM cases WHERE status = 'ok' AND label = 'measured'",
    )
    right = [
        (row["case"]["family"], _axes(row), clock_of(row), round(told.standard, 9) if told else None)
        for row in result["benchmarks"]
        if row["status"] == "ok" and row["label"] == "measured"
        for told in [uncertainty.at_hand().between_runs(row, result["context"])]
    ]
    assert sorted((*key, b and round(b, 9)) for *key, b in found) == sorted(right)
    known = {b for family, _, clock, b in right if (family, clock) == ("gather", "gated")}
    assert len(known) == 1  # of the family
    assert len({b for family, _, _, b in right if family == "transfer/memcpy"}) > 10


def _axes(row: dict) -> str:
    return json.dumps(row["case"]["axes"], separators=(",", ":"), sort_keys=True)


@needs_engine
@pytest.mark.parametrize(("seed", "family"), [(1, "transfer/memcpy"), (2, "reach/gather")])
def test_what_is_planted_is_found(tmp_path, capsys, seed, family):
    """A hundredth of the nodes is 3 % slow in a family, one has half of a link; one alarm may be false."""
    planted = {f"node_{node}": {"slow": {family: 1.03}} for node in range(50, NODES, 100)}
    nodes = fleet(tmp_path / "nodes", NODES, seed, **planted, node_77={"width": 8})
    status, said = screened(capsys, nodes)
    assert status == 1
    slow = {f"node-{node:05}" for node in range(50, NODES, 100)}
    found = {one["node"]: one for one in said["slow"] if one["family"] == family}
    assert slow <= set(found)
    assert len({one["node"] for one in said["slow"]} - slow) <= NODES / 1000
    assert sum(found[name]["low"] < 1.03 < found[name]["high"] for name in slow) >= 0.8 * len(slow)
    [link] = said["links"]
    assert (link["node"], link["trained"], link["due"]) == ("node-00077", "PCIe 5 ×8", "PCIe 5 ×16")
    assert said["software"] == said["drift"] == said["odd"] == said["failed"] == []
    assert f"1 with a link that trained down, of {NODES:,} nodes" in said["verdict"]


@needs_engine
def test_nodes_that_are_alike_raise_no_alarm(alike, capsys):
    status, said = screened(capsys, alike)
    assert (status, said["slow"], said["links"], said["software"]) == (0, [], [], [])
    assert said["verdict"] == "Nothing stands out among 300 nodes."
    gated = ("transfer/memcpy", "gated")
    [memcpy] = [one for one in said["percentiles"] if (one["family"], one["clock"]) == gated]
    assert memcpy["ratios"] == sorted(memcpy["ratios"])
    assert 0.98 < memcpy["ratios"][0] < 1 < memcpy["ratios"][-1] < memcpy["slow_from"] < 1.03
    [noisy] = [one for one in said["percentiles"] if (one["family"], one["clock"]) == ("host/memcpy", "host")]
    assert noisy["slow_from"] > 1.03


@needs_engine
@pytest.mark.parametrize(("seed", "family"), [(1, "transfer/memcpy"), (2, "reach/gather")])
def test_what_a_driver_costs_is_found_on_nodes_that_ran_with_both(tmp_path, capsys, seed, family):
    for node in range(30):
        synthetic_fleet.write(tmp_path / "before", node, families=FEW, seed=seed)
        more = {"driver": synthetic_fleet.DRIVERS[1], "slow": {family: 1.02}, "day": 1}
        synthetic_fleet.write(tmp_path / "after", node, 1, families=FEW, seed=seed, **more)
    status, said = screened(capsys, tmp_path)
    assert status == 1
    told = {(one["family"], one["paired"], one["nodes"]) for one in said["software"]}
    assert told == {(family, True, 30)}
    [gated] = [one for one in said["software"] if one["clock"] == "gated"]
    assert gated["low"] < 1.02 < gated["high"] < 1.03
    assert (gated["before"], gated["after"]) == tuple(f"driver {one}" for one in synthetic_fleet.DRIVERS)
    assert said["slow"] == []


@needs_engine
def test_nodes_with_another_driver_are_not_called_slow_for_it(tmp_path, capsys):
    new = {"driver": synthetic_fleet.DRIVERS[1], "slow": {"transfer/memcpy": 1.04}}
    nodes = fleet(tmp_path, 120, **{f"node_{node}": new for node in range(0, 120, 12)})
    status, said = screened(capsys, nodes)
    assert (status, said["slow"]) == (1, [])
    assert {(one["family"], one["paired"]) for one in said["software"]} == {("transfer/memcpy", False)}


@needs_engine
def test_drift_is_found_between_the_right_dates(tmp_path, capsys):
    for node in range(12):
        for day in range(8):
            slow = {"reach/gather": 1.03} if day >= 5 else {}
            synthetic_fleet.write(tmp_path / f"day{day}", node, day, families=FEW, day=day, slow=slow)
    status, said = screened(capsys, tmp_path)
    assert status == 1
    assert {one["family"] for one in said["drift"]} == {"reach/gather"}
    assert {(one["first"], one["last"]) for one in said["drift"]} == {("2026-11-05", "2026-11-06")}
    assert all(one["low"] < 1.03 < one["high"] for one in said["drift"])


@needs_engine
def test_too_few_nodes_decide_nothing(tmp_path, capsys):
    status, said = screened(capsys, fleet(tmp_path, 4, node_3={"slow": {"transfer/memcpy": 1.5}}))
    assert (status, said["slow"]) == (5, [])
    assert said["verdict"].startswith("Too few to tell who is slow: 4 nodes")


@needs_engine
def test_the_screen_fits_and_begins_with_the_verdict(tmp_path, capsys):
    slow = {f"node_{node}": {"slow": {"transfer/memcpy": 1.1}, "width": 8, "day": -20} for node in range(20)}
    assert main(["fleet", str(fleet(tmp_path, 100, **slow))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert lines[0].startswith("20 slow in a family")
    assert any(line.startswith("Slow nodes, the first ") for line in lines)


@needs_engine
def test_bad_input_is_named_and_the_rest_is_kept(tmp_path, capsys):
    nodes = fleet(tmp_path, 12)
    name = sources.DIGEST
    good = (nodes / "node-00001" / name).read_bytes()
    (nodes / "node-00001" / name).write_bytes(good[: len(good) // 2])
    lines = gzip.decompress((nodes / "node-00002" / name).read_bytes()).splitlines(keepends=True)
    (nodes / "node-00002" / name).write_bytes(gzip.compress(b"".join(lines[:-3])))
    ruined = b"".join([*lines[:9], b"{ruined\n", *lines[10:]])
    (nodes / "node-00003" / name).write_bytes(gzip.compress(ruined))
    (nodes / "node-00004" / name).write_bytes(
        gzip.compress(lines[0].replace(b'"digest": 1', b'"digest":9').replace(b'"digest":1', b'"digest":9'))
    )
    (nodes / "node-00005" / name).write_bytes(b"nothing of the kind")
    later = re.sub(rb'"schema_version":\d+', b'"schema_version":99', lines[0])
    (nodes / "node-00006" / name).write_bytes(gzip.compress(later + b"".join(lines[1:])))
    half = (
        lines[0]
        .replace(b'"environment":{', b'"environment":{"half":"\\uD800",')
        .replace(b'"environment": {', b'"environment": {"half":"\\ud800",')
    )
    (nodes / "node-00007" / name).write_bytes(gzip.compress(half + b"".join(lines[1:])))
    with zipfile.ZipFile(nodes / "locked.zip", "w") as archive:
        archive.writestr(f"node/{name}", good)
    locked = bytearray((nodes / "locked.zip").read_bytes())
    for flags in (6, locked.index(b"PK\x01\x02") + 8):
        locked[flags] |= 1
    (nodes / "locked.zip").write_bytes(locked)
    (nodes / "empty").mkdir()
    (nodes / "unfinished").mkdir()
    (nodes / "unfinished" / "journal.jsonl").write_text("{}\n")
    given = [nodes, nodes / "gone", os.devnull]
    assert main(["fleet", *map(str, given), "--store", str(tmp_path / "store")]) == 2
    captured = capsys.readouterr()
    told = {Path(line.split()[1]).parent.name: line for line in captured.err.splitlines() if name in line}
    assert "is cut off after" in told["node-00001"]
    [(some, every)] = re.findall(r"has (\d+) of (\d+) rows: it is cut off", told["node-00002"])
    assert int(some) < int(every)
    assert "is damaged in line 10" in told["node-00003"]
    assert "is a digest of format 9" in told["node-00004"]
    assert "is not JSON" in told["node-00005"]
    assert "is an unfinished run" in captured.err
    assert "is a digest of format 1 and schema version 99" in told["node-00006"]
    assert "is damaged in its first line" in told["node-00007"]
    assert f"{nodes / 'gone'} does not exist" in captured.err
    assert f"{os.devnull} is neither a file nor a folder" in captured.err
    assert "locked.zip cannot be unpacked" in captured.err
    assert "5 runs taken in" in captured.out
    assert "11 refused" in captured.out
    assert {node for (node,) in rows_of(tmp_path / "store", "SELECT DISTINCT node FROM cases")} == {
        f"node-{node:05}" for node in (0, 8, 9, 10, 11)
    }


def taken_from_stdin(monkeypatch, capsys, data: bytes) -> tuple[int, list[str]]:
    stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="strict")
    monkeypatch.setattr(sys, "stdin", stdin)
    status = main(["fleet", "-"])
    return status, capsys.readouterr().err.splitlines()


@needs_engine
def test_a_bad_name_on_standard_input_is_said_and_the_rest_is_taken(tmp_path, capsys, monkeypatch):
    [good] = fleet(tmp_path / "nodes", 1).iterdir()
    odd = tmp_path / "odd.json"
    odd.write_text('{"context": {"schema_version": 2, "environment": [1]}, "benchmarks": []}')
    long = tmp_path / ("a" * 300)
    names = [os.fsencode(one) for one in (long, tmp_path / "none", odd, good)]
    status, said = taken_from_stdin(monkeypatch, capsys, b"\n".join([*names, b"-", b"no \xff", b""]))
    assert status == 2
    assert [line.split(" ", 1)[1] for line in said] == [
        f"{str(long)[:199]}… cannot be read (File name too long): check the path",
        f"{tmp_path / 'none'} does not exist",
        "- does not exist",
        "no ? does not exist",
        f"{odd} does not follow the result format (4 problems, first $.context.environment: is an array of "
        "1, not of type object): it was not written by grainscope or was edited; take it again",
    ]


@needs_engine
@pytest.mark.parametrize(("part", "value"), [("ok", "many"), ("ok", 10**30), ("driver", ["580"])])
def test_a_context_that_is_off_the_format_is_refused_with_its_file_alone(tmp_path, part, value):
    nodes = fleet(tmp_path / "nodes", 3)
    odd = nodes / "node-00001" / sources.DIGEST
    first, *rows = gzip.decompress(odd.read_bytes()).splitlines(keepends=True)
    head = json.loads(first)
    place = {"ok": head["context"]["run"]["counts"], "driver": head["context"]["environment"]["driver"]}[part]
    place["ok" if part == "ok" else "version"] = value
    first = json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    odd.write_bytes(gzip.compress(first + b"".join(rows)))
    added = store.add(tmp_path / "store", sources.found([nodes]))
    assert added.runs == 2
    assert [(one.name, one.why) for one in added.refused] == [
        (
            str(odd),
            "holds a context that is off the format: `grainscope-report validate` of its run says more",
        )
    ]


@needs_engine
@pytest.mark.parametrize("packed", [False, True])
def test_a_run_itself_on_standard_input_is_refused(capsys, monkeypatch, packed):
    data = b'{"context": {}, "benchmarks": []}'
    assert taken_from_stdin(monkeypatch, capsys, gzip.compress(data) if packed else data) == (
        2,
        [
            "grainscope-report: standard input holds a file, and - means names of files from there: give the "
            "file itself"
        ],
    )


@needs_engine
def test_a_name_that_is_no_text_is_taken(tmp_path):
    [node] = fleet(tmp_path / "nodes", 1).iterdir()
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    node.rename(odd)
    added = store.add(tmp_path / "store", sources.found([odd]))
    assert (added.runs, added.refused) == (1, [])
    [(source,)] = rows_of(tmp_path / "store", "SELECT source FROM runs")
    assert source == f"{tmp_path}/\ufffd/{sources.DIGEST}"


@pytest.mark.parametrize("damage", [
    lambda data: data[: len(data) // 2],
    lambda data: data[:-4],
    lambda data: data[:-8] + b"sum!" + data[-4:],
    lambda data: data[:1000] + b"\xff\0\xff" + data[1003:],
    lambda data: data + b"more",
])  # fmt: skip
def test_damage_is_said_alike_however_a_digest_is_unpacked(monkeypatch, damage):
    fast = pytest.importorskip("isal.igzip").decompress
    whole = synthetic_fleet.digest_of(0, families=FEW)
    said = []
    for unpack in (fast, gzip.decompress):
        monkeypatch.setattr(sources, "decompress", unpack)
        assert sources.read(sources.Source("n", whole)).count
        with pytest.raises(ReportError) as refused:
            sources.read(sources.Source("n", damage(whole)))
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert "copy it again" in said[0]


@needs_engine
@pytest.mark.parametrize("nodes", [1, 4])
def test_rows_that_are_off_the_format_are_refused_with_their_file_alone(tmp_path, nodes):
    for node in range(nodes):
        synthetic_fleet.write(tmp_path / "nodes", node, families=FEW)
    faults = (('"visits":"?\\w+"?', '"visits":"some"'), ('"status":"?\\w+"?', '"status":"fine"'))
    for node, (old, new) in enumerate((*faults, ('"site":{[^}]*}', '"site":false'))[:nodes]):
        path = tmp_path / "nodes" / f"node-{node:05}" / sources.DIGEST
        text = gzip.decompress(path.read_bytes()).decode()
        path.write_bytes(gzip.compress(re.sub(old, new, text).encode()))
    added = store.add(tmp_path / "store", sources.found([tmp_path / "nodes"]))
    assert added.runs == max(0, nodes - 3)
    told = ["holds rows that are off the format", *["holds rows without a time or a proper case"] * 2]
    assert [one.why.split(":")[0] for one in added.refused] == told[:nodes]


@needs_engine
def test_a_family_is_told_from_its_twin_of_another_clock_on_a_narrow_screen(tmp_path, capsys, monkeypatch):
    for node in range(6):
        synthetic_fleet.write(tmp_path / "nodes", node, families=FEW)
    monkeypatch.setenv("COLUMNS", "70")
    assert main(["fleet", str(tmp_path / "nodes")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines if line.startswith("  family")] == [
        ["family", "clock", "nodes"]
    ]
    assert max(map(len, lines)) <= 70


@needs_engine
def test_nodes_that_are_odd_are_named_and_kept(tmp_path, capsys):
    base = synthetic_fleet._base(FEW)[0]
    run = base["run"] | {"started": "2026-11-01T06:00:00Z", "ended": "2026-11-01T08:00:00Z"}
    odd = {
        "node_1": {"context": {"host_name": "node-00000"}},
        "node_2": {"day": -30},
        "node_3": {"day": 9999},
        "node_4": {"context": {"run": run | {"id": "4", "ended": "2026-11-01T05:00:00Z"}}},
        "node_5": {"context": {"run": run | {"id": "5", "flags": ["--preset=full"], "preset": "full"}}},
        "node_6": {"context": {"grainscope": base["grainscope"] | {"commit": "other"}}},
        # The preset is the same where a flag says it.
        "node_7": {"context": {"run": run | {"id": "7", "flags": [f"--preset={run['preset']}"]}}},
    }  # fmt: skip
    status, said = screened(capsys, fleet(tmp_path, 12, **odd))
    assert status == 1
    assert said["nodes"] == 12
    told = [f"{one['name']} {one['why']}" for one in said["odd"]]
    assert all(one["kept"] for one in said["odd"])
    for words in (
        "node-00000 is the name of 2 machines, which are kept apart",
        "node-00002 started 30 days before most: it is of another run, or its clock is off",
        "which is yet to come: its clock is ahead",
        "node-00004 ended 3600 s before it started: its clock was set back",
        "node-00005 is of another run: `full`",
        "node-00006 is of GrainScope 0.1.0 other",
    ):
        assert any(words in one for one in told), (words, told)
    assert len(told) == 6


@needs_engine
def test_hosts_that_are_all_called_alike_have_the_names_of_their_folders(tmp_path, capsys):
    of = {f"node_{node}": {"context": {"host_name": "vm"}} for node in range(60)}
    of["node_7"] |= {"slow": {"transfer/memcpy": 1.1}}
    status, said = screened(capsys, fleet(tmp_path, 60, **of))
    assert (status, said["odd"], said["nodes"]) == (1, [], 60)
    assert {one["node"] for one in said["slow"]} == {"vm (node-00007)"}


@needs_engine
def test_one_run_twice_is_taken_once(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 6)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / sources.DIGEST).write_bytes((nodes / "node-00003" / sources.DIGEST).read_bytes())
    status, said = screened(capsys, nodes, tmp_path / "again", "--store", tmp_path / "store")
    assert status == 1
    [twice] = said["odd"]
    assert (Path(twice["name"]).parent.name, twice["kept"]) == ("again", True)
    assert said["taken"]["runs"] == 6
    rows = rows_of(tmp_path / "store", "SELECT count(*) FROM cases")
    written = sorted((tmp_path / "store").rglob("*.parquet"))
    assert main(["store", "add", str(tmp_path / "store"), str(nodes)]) == 0
    assert "0 runs taken in (0 rows), 6 there already" in capsys.readouterr().out
    assert rows_of(tmp_path / "store", "SELECT count(*) FROM cases") == rows
    assert sorted((tmp_path / "store").rglob("*.parquet")) == written
    assert not (tmp_path / "store" / "_staging").exists()


@needs_engine
def test_one_name_twice_is_one_run(tmp_path):
    path = synthetic_fleet.write(tmp_path, 1, families=FEW)
    other = synthetic_fleet.write(tmp_path, 2, families=FEW)
    added = store.add(tmp_path / "store", sources.found([path, path, other]))
    assert (added.runs, added.known, added.twice) == (2, 1, [])
    assert rows_of(tmp_path / "store", "SELECT count(*) FROM runs") == [(2,)]


@needs_engine
def test_runs_beside_known_ones_are_added(tmp_path):
    place = tmp_path / "store"
    store.add(place, sources.found([fleet(tmp_path / "first", 3)]))
    added = store.add(place, sources.found([fleet(tmp_path / "more", 6)]))
    assert (added.runs, added.known) == (3, 3)
    assert rows_of(place, "SELECT count(*), count(DISTINCT run) FROM runs") == [(6, 6)]
    assert len({count for _, count in rows_of(place, "SELECT run, count(*) FROM cases GROUP BY run")}) == 1


@needs_engine
def test_archives_streams_and_folders_hold_the_same(tmp_path, monkeypatch):
    nodes = fleet(tmp_path / "nodes", 5)
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        archive.add(nodes, "fleet")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in sorted(nodes.rglob("*.gz")):
            archive.write(path, path.relative_to(nodes))
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{path}\n" for path in nodes.iterdir())))
    for at, given in enumerate((nodes, tmp_path / "all.tar.gz", tmp_path / "all.zip", "-")):
        added = store.add(tmp_path / f"store{at}", sources.found([given]))
        assert (added.runs, added.refused) == (5, []), given
    with tarfile.open(tmp_path / "both.tar", "w") as archive:
        for name, content in ((sources.DIGEST, b""), ("result.json", b"{}")):
            entry = tarfile.TarInfo(f"n/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    assert [one.name for one in sources.found([tmp_path / "both.tar"])] == [
        f"{tmp_path}/both.tar:n/{sources.DIGEST}"
    ]
    data = (tmp_path / "all.tar.gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(data[: len(data) // 2])
    added = store.add(tmp_path / "cut", sources.found([tmp_path / "cut.tar.gz"]))
    assert 0 < added.runs < 5
    assert "damaged archive" in added.refused[0].why


@needs_engine
def test_an_altered_bundle_is_refused(tmp_path):
    assert main(["export", "bundle", str(QUICK[0]), "-o", str(tmp_path / "good.tar.gz")]) == 0
    folder = tmp_path / "altered"
    with tarfile.open(tmp_path / "good.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    [result] = folder.rglob("result.json*")
    result.write_bytes(gzip.compress(gzip.decompress(result.read_bytes()) + b"\n"))
    with tarfile.open(tmp_path / "altered.tar.gz", "w:gz") as archive:
        archive.add(folder, "altered")
    good, packed, unpacked = (
        store.add(tmp_path / f"store{at}", sources.found([tmp_path / name]))
        for at, name in enumerate(("good.tar.gz", "altered.tar.gz", "altered"))
    )
    assert (good.runs, good.refused) == (1, [])
    assert (packed.runs, unpacked.runs) == (0, 0)
    assert "is not what SHA256SUMS beside it says" in packed.refused[0].why
    assert "was altered since it was bundled" in unpacked.refused[0].why


@needs_engine
def test_a_digest_that_is_not_of_the_result_beside_it_is_named(tmp_path):
    folder = tmp_path / "nodes" / "vm"
    folder.mkdir(parents=True)
    text = gzip.decompress(QUICK[0].read_bytes())
    (folder / "result.json").write_bytes(text)
    (folder / sources.DIGEST).write_bytes(synthetic_fleet.digest_of(3, families=FEW))
    added = store.add(tmp_path / "store", sources.found([tmp_path / "nodes"]))
    assert added.runs == 1
    assert "which result.json beside it is not of; that is taken" in added.refused[0].why
    assert rows_of(tmp_path / "store", "SELECT node FROM runs") == [("vm",)]
    (folder / sources.DIGEST).write_bytes(sources.packed_digest(json.loads(text)))
    again = store.add(tmp_path / "other", sources.found([tmp_path / "nodes"]))
    assert (again.runs, again.refused) == (1, [])
    assert rows_of(tmp_path / "other", "SELECT source FROM runs") == [(str(folder / sources.DIGEST),)]


@needs_engine
def test_runs_are_read_one_batch_after_another():
    """What is found is not gathered: so many nodes take no more memory than a batch of them."""
    asked = []

    def given():
        for node in range(10 * store.MOST_RUNS):
            asked.append(node)
            yield sources.Source(f"node-{node}")

    batches = store._batches(given(), store.Added())
    assert len(next(batches)) == store.MOST_RUNS
    assert len(asked) == store.MOST_RUNS


@needs_engine
def test_several_processes_take_in_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MOST_RUNS", 4)
    nodes = fleet(tmp_path / "nodes", 18)
    one = store.add(tmp_path / "one", sources.found([nodes]), processes=1)
    two = store.add(tmp_path / "two", sources.found([nodes]), processes=2)
    assert (one.runs, one.cases) == (two.runs, two.cases)
    whole = "SELECT * FROM cases ORDER BY ALL"
    assert rows_of(tmp_path / "one", whole) == rows_of(tmp_path / "two", whole)


@needs_engine
def test_too_little_memory_for_the_answer_is_said(alike, capsys, monkeypatch):
    monkeypatch.setitem(store.MEMORY, "asking", "1MB")
    assert main(["fleet", str(alike)]) == 2
    assert "has more nodes than can be looked at in 1MB of memory" in capsys.readouterr().err


@needs_engine
def test_a_folder_of_something_else_is_not_made_a_data_set(tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("mine")
    assert main(["store", "add", str(tmp_path), str(QUICK[0])]) == 2
    assert "is there and is no data set" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    assert main(["trend", str(tmp_path)]) == 2


def test_the_engine_is_named_where_it_is_absent(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for command in (["fleet", str(QUICK[0])], ["store", "add", str(tmp_path / "s"), str(QUICK[0])]):
        assert main(command) == 2
        assert "pip install duckdb" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


@needs_engine
def test_the_page_and_markdown_say_what_the_screen_says(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 60, node_5={"width": 4, "slow": {"reach/gather": 1.05}})
    out = [tmp_path / f"fleet.{kind}" for kind in ("html", "md", "json")]
    assert main(["fleet", str(nodes), *(word for path in out for word in ("-o", str(path)))]) == 1
    screen = capsys.readouterr().out.splitlines()
    page, markdown, document = (path.read_text() for path in out)
    assert "node-00005" in page
    assert "PCIe 5 ×4" in page
    assert "http" not in page.replace("http-equiv", "")
    assert screen[0] in markdown
    assert json.loads(document)["verdict"] == screen[0]


ODD = 'an "odd" name \\ of a host'


@pytest.fixture(scope="module")
def history(tmp_path_factory) -> Path:
    """A machine of 12 runs, from the eighth of which on a driver costs 4 %; and another one."""
    place = tmp_path_factory.mktemp("history")
    store.engine()
    for run in range(12):
        new = {"driver": synthetic_fleet.DRIVERS[1], "slow": {"transfer/memcpy": 1.04}} if run >= 7 else {}
        synthetic_fleet.write(place / f"run{run}", 1, run, families=FEW, day=run, **new)
    synthetic_fleet.write(place / "other", 2, families=FEW, context={"host_name": ODD})
    store.add(place / "store", sources.found([place]))
    return place / "store"


@needs_engine
def test_a_change_of_level_is_found_with_its_time_and_size(history, capsys):
    assert main(["trend", str(history), "--node", "node-00001", "--format", "json"]) == 1
    said = json.loads(capsys.readouterr().out)
    steps = {(one["family"], one["clock"]): one["steps"] for one in said["series"] if one["steps"]}
    assert {family for family, _ in steps} == {"transfer/memcpy"}
    [step] = steps["transfer/memcpy", "gated"]
    assert step["low"] < 1.04 < step["high"]
    assert (step["first"][:10], step["last"][:10]) == ("2026-11-07", "2026-11-08")
    assert main(["trend", str(history), "--node", "node-00001"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert "transfer/memcpy" in lines[0]
    assert any("580.159.04 → 590.48.01" in line for line in lines)
    assert main(["trend", str(history)]) == 2
    assert "2 nodes: choose one by --node" in capsys.readouterr().err
    assert main(["trend", str(history), "--node", ODD]) == 5


@needs_engine
def test_runs_have_a_history_without_a_data_set(tmp_path, capsys):
    for run in range(6):
        synthetic_fleet.write(tmp_path / f"run{run}", 4, run, families=FEW, day=run)
    runs = sorted(map(str, tmp_path.iterdir()))
    assert main(["trend", *runs]) == 0
    assert capsys.readouterr().out.startswith("No change of level in 6 runs of node-00004")
    assert sorted(map(str, tmp_path.iterdir())) == runs
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert main(["trend", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("No change of level in 6 runs")
    assert "broken.json" in said.err
    assert main(["trend", str(broken)]) == 2


@needs_engine
def test_machines_of_one_name_are_told_apart_by_what_chooses_them(capsys):
    """Guests of a cloud are all called alike."""
    runs = [str(path) for path in QUICK if path.name.startswith("h100")]
    assert main(["trend", *runs]) == 2
    said = capsys.readouterr().err
    assert "these are 4 nodes: choose one by --node (" in said
    machine = re.search(r"([0-9a-f]{12}) \(vm, 2 runs\)", said)[1]
    assert main(["trend", *runs, "--node", machine]) == 5
    assert capsys.readouterr().out.startswith("Too few to tell a change: 2 runs of vm ")


@needs_engine
def test_a_machine_that_does_not_change_has_no_steps(tmp_path, capsys):
    for run in range(20):
        synthetic_fleet.write(tmp_path / f"run{run}", 4, run, families=FEW, day=run)
    store.add(tmp_path / "store", sources.found([tmp_path]))
    assert main(["trend", str(tmp_path / "store")]) == 0
    assert capsys.readouterr().out.startswith("No change of level in 20 runs of node-00004")


def test_steps_are_where_they_are_as_well_as_can_be_known():
    small = changes.find([0.0] * 10 + [0.02] * 10, [0.01] * 20)
    assert [step.at for step in small] == [10]
    assert small[0].first < 10 < small[0].last
    [large] = changes.find([0.0] * 10 + [0.2] * 10, [0.01] * 20)
    assert (large.at, large.first, large.last) == (10, 10, 10)
    assert large.size == pytest.approx(0.2)
    assert large.half == pytest.approx(1.96 * 0.01 * (2 / 10) ** 0.5, rel=1e-3)
    assert [step.at for step in changes.find([0.0] * 8 + [0.1] * 8 + [0.0] * 8, [0.01] * 24)] == [8, 16]
    assert changes.find([0.0, 0.0, 0.5, 0.0, 0.0, 0.0], [0.01] * 6) == []
    assert changes.find([0.1], [0.01]) == changes.find([], []) == []


# A sample line: a name, labels, a value, a time.
SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} ([-+.e\d]+) (\d+)')


@needs_engine
def test_open_metrics_follow_the_text_format(history, capsys):
    assert main(["trend", str(history), "--openmetrics"]) == 0
    text = capsys.readouterr().out
    assert text.endswith("# EOF\n")
    families, seen, last, current = {}, set(), {}, None
    for line in text.splitlines()[:-1]:
        if line.startswith("#"):
            _, what, name, words = line.split(" ", 3)
            if name != current:
                assert name not in families, "a family is in one piece"
                families[name], current = {}, name
            assert what not in families[name]
            families[name][what] = words
            continue
        name, labels, value, moment = SAMPLE.fullmatch(line).groups()
        assert name == current
        float(value)
        key = name, labels
        if key != last.get("key"):
            assert key not in seen, "a series is in one piece"
            seen.add(key)
        else:
            assert int(moment) > last["moment"]
        last = {"key": key, "moment": int(moment)}
    assert {told["TYPE"] for told in families.values()} == {"gauge"}
    assert all(name.endswith("_" + told["UNIT"]) for name, told in families.items())
    assert {name for name, _ in seen} == set(families)
    assert len([key for key in seen if 'node="node-00001"' in key[1]]) > 200


@needs_engine
@pytest.mark.parametrize("module", ["duckdb", "pandas", "pyspark"])
def test_the_documents_snippets_open_the_data_set(alike, monkeypatch, tmp_path, module):
    """Every engine names the same nodes."""
    pytest.importorskip(module, reason=f"{module} is not installed")
    if module == "pandas":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    if module == "pyspark" and not shutil.which("java"):
        pytest.skip("Java is not installed")
    text = (resources.CHECKOUT / "docs/fleet.md").read_text()
    [block] = [one for one in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if module in one]
    (tmp_path / "fleet.store").symlink_to(alike)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(block, names)
    if "spark" in names:
        names["spark"].stop()
    slowest = names["slowest"].index if module == "pandas" else [node for node, _ in names["slowest"]]
    found = rows_of(
        alike,
        "SELECT node FROM cases WHERE family = 'transfer/memcpy' AND clock = 'gated' AND status = 'ok' "
        "GROUP BY node ORDER BY median(median_s) DESC LIMIT 5",
    )
    assert list(slowest) == [node for (node,) in found]


@needs_engine
@pytest.mark.parametrize("table", store.TABLES)
def test_the_documents_have_every_column(alike, table):
    text = (resources.CHECKOUT / "docs/fleet.md").read_text()
    [lines] = re.findall(rf"<!-- columns: {table} -->\n((?:\|.*\n)+)", text)
    told = [name for line in lines.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    there = [name for name, *_ in rows_of(alike, f"DESCRIBE {table}") if name not in ("date", "kind")]
    assert sorted(told) == sorted(there)


@needs_engine
@pytest.mark.parametrize("table", store.TABLES)
def test_columns_have_types_that_every_reader_of_parquet_has(alike, table):
    """Spark has no unsigned numbers, none of 128 bits and no times in nanoseconds."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    [first, *rest] = [parquet.read_schema(path) for path in (alike / table).rglob("*.parquet")]
    assert all(schema.equals(first) for schema in rest)
    plain = {"string", "int32", "int64", "double", "bool", "timestamp[us]"}
    types = {str(column.type) for column in first if column.name != "links"}
    assert types <= plain
    if table == "runs":
        assert {str(column.type) for column in first.field("links").type.value_type} <= plain
