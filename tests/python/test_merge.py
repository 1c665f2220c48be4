"""`merge`: shards of one run become the run; anything else is refused, and nothing is written."""

import json
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.cli import main
from planted import contradictions, spoiled
from synthetic import MIB, File

SITE = {"numa": 0, "gpu": 0}
AXES = {"timed": "copy", "path": "pinned_to_gpu", "flush": "on", "locality": "local"}
SIZES = [MIB << step for step in range(5)]


def shard(folder: Path, index: int, count: int = 2, peak: float = 55.0, **context) -> Path:
    """A shard's file: every `count`-th of five copies; what the machine has not is in the first."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.link("host_to_gpu", peak)
    if index == 1:
        file.lose("skipped", "needs two GPUs", "transfer/peer", {"bytes": MIB}, {"gpu": 0, "peer": 1})
    for position, size in enumerate(SIZES[index - 1 :: count]):
        file.add("transfer/memcpy", {**AXES, "bytes": size}, SITE, size / 50e9)["family_index"] = position
    file.context["run"] |= {"shard": {"index": index, "count": count}, "flags": ["--preset=full"]}
    file.context["run"]["flags"].append(f"--shard={index}/{count}")
    path = folder / f"shard{index}.json"
    file.write(path)
    document = json.loads(path.read_text())
    for where, value in context.items():
        part = document["context"]
        *names, last = where.split("__")
        for name in names:
            part = part[name]
        part[last] = value
    path.write_text(json.dumps(document))
    return path


def merged(tmp_path: Path, *shards: Path) -> dict:
    out = tmp_path / "merged.json"
    assert main(["merge", *map(str, shards), "-o", str(out)]) == 0
    return json.loads(out.read_text())


def test_rows_stand_as_in_one_piece(tmp_path):
    document = merged(tmp_path, shard(tmp_path, 2), shard(tmp_path, 1))
    rows = document["benchmarks"]
    assert rows[0]["status"] == "skipped"
    assert [row["case"]["axes"]["bytes"] for row in rows[1:]] == SIZES
    assert [row["family_index"] for row in rows[1:]] == [0, 1, 2, 3, 4]
    run = document["context"]["run"]
    assert run["shard"] == {"index": 1, "count": 1}
    assert run["counts"] == {"ok": 5, "skipped": 1, "failed": 0}
    assert run["flags"] == ["--preset=full"]
    assert contradictions(document) == []


def test_one_shard_of_one_is_the_run_itself(tmp_path):
    alone = shard(tmp_path, 1, count=1)
    assert merged(tmp_path, alone)["benchmarks"] == json.loads(alone.read_text())["benchmarks"]


def test_shares_are_of_the_best_peak_of_all_shards(tmp_path):
    document = merged(tmp_path, shard(tmp_path, 1, peak=54.0), shard(tmp_path, 2, peak=55.0))
    (link,) = document["context"]["links"]
    assert link["peak_gb_s"] == 55.0
    for row in document["benchmarks"][1:]:
        assert row["link_fraction"] == pytest.approx(row["bandwidth_gb_s"] / 55.0)
    assert contradictions(document) == []


def test_uncertainties_are_those_of_all_shards_together(tmp_path):
    paths = []
    for index in (1, 2):
        file = File(gpus=("NVIDIA H100 80GB HBM3",))
        for number in range(4):
            axes = {**AXES, "bytes": MIB << (2 * number + index)}
            for visit, factor in enumerate((1.0, 1.01 + number / 100, 0.99), 1):
                row = file.add("transfer/memcpy", axes, SITE, axes["bytes"] * factor / 50e9, visit=visit)
                row["family_index"] = number
        file.context["run"] |= {"shard": {"index": index, "count": 2}}
        paths.append(file.write(tmp_path / f"{index}.json"))
    document = merged(tmp_path, *paths)
    # Four rows are too few for a prior, eight are not.
    assert {row["uncertainty"]["a"]["freedom"] for row in json.loads(paths[0].read_text())["benchmarks"]} == {
        2
    }
    assert min(row["uncertainty"]["a"]["freedom"] for row in document["benchmarks"]) > 2
    assert contradictions(document) == []


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"host_name": "node-z"}, "machine 'node-z', not 'node-a'"),
        ({"run__preset": "quick"}, "preset 'quick', not 'full'"),
        ({"run__visits": 3}, "number of visits 3, not 1"),
        ({"run__filter": "memcpy"}, "filter 'memcpy', not ''"),
        ({"grainscope__commit": "ffff"}, "version"),
        ({"environment__driver": {"version": "1"}}, "driver '1'"),
        ({"run__shard": {"index": 2, "count": 3}}, "number of shards 3, not 2"),
        ({"run__shard": {"index": 1, "count": 2}}, "are both shard 1/2"),
        ({"run__complete": False, "run__why_incomplete": "signal 15"}, "is not complete (signal 15)"),
    ],
)
def test_what_is_no_shard_of_the_run_is_refused(tmp_path, capsys, context, says):
    out = tmp_path / "merged.json"
    shards = [shard(tmp_path, 1), shard(tmp_path, 2, **context)]
    assert main(["merge", *map(str, shards), "-o", str(out)]) == 3
    assert says in capsys.readouterr().err
    assert not out.exists()


def test_a_missing_shard_is_named(tmp_path, capsys):
    assert main(["merge", str(shard(tmp_path, 1, count=3)), "-o", str(tmp_path / "merged.json")]) == 3
    assert "shard 2/3, 3/3 is missing" in capsys.readouterr().err


def test_a_shard_that_contradicts_itself_is_refused(tmp_path, capsys):
    paths = [shard(tmp_path, index) for index in (1, 2)]
    spoiled(paths[1], lambda document: document["benchmarks"][0].update(mad_s=1.0))
    assert main(["merge", *map(str, paths), "-o", str(tmp_path / "merged.json")]) == 2
    assert "contradicts itself (1 problem, first $.benchmarks[0].mad_s" in capsys.readouterr().err
    assert not (tmp_path / "merged.json").exists()


def test_what_cannot_be_written_is_said(tmp_path, capsys):
    shards = [str(shard(tmp_path, index)) for index in (1, 2)]
    assert main(["merge", *shards, "-o", str(Path(shards[0]) / "merged.json")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_merged_file_reads_as_a_result(tmp_path):
    merged(tmp_path, shard(tmp_path, 1), shard(tmp_path, 2))
    assert len(reader.read(tmp_path / "merged.json").of("transfer/memcpy")) == 5
