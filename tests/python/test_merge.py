"""Shards become one run; a run becomes a bundle."""

import gzip
import io
import json
import subprocess
import tarfile
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest

from grainscope_report import loading, reader
from grainscope_report.cli import main
from grainscope_report.commands import merge
from grainscope_report.machine import identity
from grainscope_report.model import ends
from grainscope_report.uncertainty import kind_of
from planted import contradictions, spoiled
from planted_purchase import evaluate, machine, workload
from stored import ROOT
from synthetic import MIB, File
from synthetic_traversals import add_traversal

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


def test_rows_of_uneven_shards_stand_family_by_family(tmp_path):
    """Parts of a run take equally long: one may have a case alone."""

    def part(index: int, *names: str) -> list[dict]:
        path = shard(tmp_path, index)
        document = json.loads(path.read_text())
        rows = [row for row in document["benchmarks"] if "family_index" in row]
        made = []
        for at, name in enumerate(names):
            row = json.loads(json.dumps(rows[0]))
            row["case"]["family"] = name.rpartition("/")[0]
            made.append(row | {"name": f"{name}/bytes:{at + index}", "family_index": at})
        return made

    first = part(1, "transfer/memcpy/a", "transfer/memcpy/b", "gather/a")
    second = part(2, "host/flush/a", "transfer/memcpy/c")
    rows = [row for _, row in merge._rows([{"benchmarks": first}, {"benchmarks": second}])]
    assert [row["name"].partition("/bytes")[0] for row in rows] == [
        "host/flush/a",
        "transfer/memcpy/a",
        "transfer/memcpy/c",
        "transfer/memcpy/b",
        "gather/a",
    ]
    assert [row["family_index"] for row in rows] == [0, 1, 2, 3, 4]


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


def test_one_shard_of_one_is_the_run_itself(tmp_path, capsys):
    alone = shard(tmp_path, 1, count=1)
    assert merged(tmp_path, alone)["benchmarks"] == json.loads(alone.read_text())["benchmarks"]
    assert capsys.readouterr().out == f"{tmp_path / 'merged.json'}: 1 shard, 5 ok, 1 skipped, 0 failed\n"


@pytest.mark.parametrize("command", ["export csv", "check --rules pcie5 --any-run"])
def test_a_whole_and_a_part_of_it_are_one_run(tmp_path, capsys, command):
    """The rows of the part would count twice."""
    part = shard(tmp_path, 1, run__id="0a-1b")
    merged(tmp_path, part, shard(tmp_path, 2, run__id="0a-2c"))
    whole = tmp_path / "merged.json"
    assert main([*command.split(), str(whole), str(part)]) == 2
    assert f"{whole} and {part} are the same run: give each once" in capsys.readouterr().err


def test_shares_are_of_the_best_peak_of_all_shards(tmp_path):
    document = merged(tmp_path, shard(tmp_path, 1, peak=54.0), shard(tmp_path, 2, peak=55.0))
    (link,) = document["context"]["links"]
    assert link["peak_gb_s"] == 55.0
    for row in document["benchmarks"][1:]:
        assert row["link_fraction"] == pytest.approx(row["bandwidth_gb_s"] / 55.0)
    assert contradictions(document) == []


def test_copy_peaks_of_stored_links_lie_within_a_percent():
    """From run to run of a machine, and from machine to machine of a kind: what slow links are told by."""
    peaks: dict[tuple, dict[tuple, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted((ROOT / "acceptance").glob("*.json.gz")):
        context = loading.load(path)[1]["context"]
        for link in context["links"]:
            pair = ends(link, link["direction"])
            peaks[kind_of(context), pair][identity(context)].append(link["peak_gb_s"])
    runs = [max(own) / min(own) for there in peaks.values() for own in there.values() if len(own) > 1]
    kinds = [[median(own) for own in there.values()] for there in peaks.values() if len(there) > 2]
    assert (len(runs), len(kinds)) > (5, 5)
    assert max(runs) < 1.01
    assert max(median(own) / min(own) for own in kinds) < 1.01


@pytest.mark.parametrize(("peak", "told"), [(52.5, False), (40.0, True)])
def test_a_link_that_one_shard_found_slow_is_told(tmp_path, capsys, peak, told):
    """The whole has the best peak, so that nothing else tells it."""
    paths = [shard(tmp_path, 1, peak=55.0), shard(tmp_path, 2, peak=peak)]
    merged(tmp_path, *paths)
    said = (
        f"warning: the link node 0 → GPU 0 copies at 55.0 GB/s in {paths[0]} and at 40.0 GB/s in {paths[1]}: "
        "something held it up in that shard, and perhaps the shard's rows; run it again\n"
    )
    assert capsys.readouterr().err == said * told


@pytest.mark.parametrize("lacking", [1, 2])
def test_links_are_those_of_all_shards(tmp_path, lacking):
    """A shard whose cases cross no link has measured none."""
    paths = [shard(tmp_path, index, peak=54.0) for index in (1, 2)]

    def unlinked(document: dict) -> None:
        document["context"]["links"] = []
        for row in document["benchmarks"]:
            row.pop("link_fraction", None)

    spoiled(paths[lacking - 1], unlinked)
    document = merged(tmp_path, *paths)
    assert [link["peak_gb_s"] for link in document["context"]["links"]] == [54.0]
    assert contradictions(document) == []


@pytest.mark.parametrize(("started", "days"), [("2027-11-20T10:15:00Z", 365), ("2026-11-22T00:05:00Z", 2)])
def test_shards_that_began_days_apart_are_told(tmp_path, capsys, started, days):
    paths = [shard(tmp_path, 1, run__started=started, run__ended=started), shard(tmp_path, 2)]
    assert merged(tmp_path, *paths)
    assert capsys.readouterr().err == (
        f"warning: {paths[1]} began on 2026-11-20 and {paths[0]} {days} days later: the machine may have "
        "changed in what its report does not tell; where rows of both are compared, run the shards within a "
        "day\n"
    )


@pytest.mark.parametrize("started", ["2026-11-21T23:55:00Z", "one day"])
def test_shards_of_a_day_and_the_next_are_no_concern(tmp_path, capsys, started):
    assert merged(tmp_path, shard(tmp_path, 1, run__started=started, run__ended=started), shard(tmp_path, 2))
    assert capsys.readouterr().err == ""


def traversing(folder: Path, index: int, peaks: tuple[float, float]) -> Path:
    """A shard with a traversal by two GPUs, each over its own link."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    for gpu, peak in enumerate(peaks):
        file.link("host_to_gpu", peak, gpu=gpu)
    row = add_traversal(file, "bfs", ("kron24", "urand24")[index - 1], "merged_aligned", "mapped", 0.1)
    row["case"]["axes"]["gpus"] = 2
    row["link_fraction"] = row["counters"]["link_gb_s"] / sum(peaks)
    row["family_index"] = index - 1
    flags = ["--preset=full", f"--shard={index}/2"]
    file.context["run"] |= {"shard": {"index": index, "count": 2}, "flags": flags}
    return file.write(folder / f"shard{index}.json")


def test_shares_of_several_links_are_of_the_best_peaks_of_all_shards(tmp_path):
    document = merged(tmp_path, traversing(tmp_path, 1, (54.0, 50.0)), traversing(tmp_path, 2, (53.0, 51.0)))
    assert [link["peak_gb_s"] for link in document["context"]["links"]] == [54.0, 51.0]
    for row in document["benchmarks"]:
        assert row["link_fraction"] == pytest.approx(row["counters"]["link_gb_s"] / (54.0 + 51.0))
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
        ({"run__ci_target": 0.05}, "target of the interval 0.05, not 0.02"),
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


def of_version(path: Path, version: int) -> Path:
    """The file with its copies by another version of their family."""

    def newer(document: dict) -> None:
        for row in document["benchmarks"]:
            if row["case"]["family"] == "transfer/memcpy":
                row["case"]["version"] = version

    return spoiled(path, newer)


@pytest.mark.parametrize("commit", ["1a2b3c4d5e6f", "unknown"])
def test_shards_by_two_versions_of_a_family_are_refused(tmp_path, capsys, commit):
    shards = [shard(tmp_path, index, grainscope__commit=commit) for index in (1, 2)]
    of_version(shards[1], 2)
    out = tmp_path / "merged.json"
    assert main(["merge", *map(str, shards), "-o", str(out)]) == 3
    assert capsys.readouterr().err == (
        f"grainscope-report: transfer/memcpy is of version 1 in {shards[0]} and of version 2 in "
        f"{shards[1]}: the two do not measure the same; measure all shards with one program\n"
    )
    assert not out.exists()
    of_version(shards[0], 2)
    assert {row["case"]["version"] for row in merged(tmp_path, *shards)["benchmarks"][1:]} == {2}


# What a machine may be set up by, and what it tells of the moment.
POLICY = {"cpus": "0-15", "governor": "performance", "scaling_max_khz": 3_500_000, "slowest_now_khz": 800_000}
NVML = {"ecc": True, "power_limit_mw": 700_000, "sm_clock_max_mhz": 1980, "sm_clock_mhz": 345}
POOL = {"page_bytes": 2 * MIB, "total": 0, "free": 0, "reserved": 0}
SET_UP = {
    "kernel": {"release": "6.8.0", "clock_source": "tsc"},
    "cpu": {"model": "A CPU", "caches": [], "microcode": "0x1", "frequency_policies": [POLICY]},
    "memory": {"numa_balancing": 0, "transparent_huge": "madvise", "huge_pages": [POOL]},
    "gpus": [{"name": "NVIDIA H100 80GB HBM3", "nvml": NVML}],
}


def of_set_up(folder: Path, index: int, where: str = "", value: object = None) -> Path:
    """A shard's file with what a machine is set up by, one thing of it otherwise."""
    environment = json.loads(json.dumps(SET_UP))
    *names, last = where.split("/")
    part = environment
    for name in names:
        part = part[name]
        part = part[0] if isinstance(part, list) else part
    if where:
        part[last] = value
    return shard(folder, index, **{f"environment__{name}": value for name, value in environment.items()})


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        ("kernel/release", "6.9.0", "kernel (kernel.release) is 6.9.0, not 6.8.0"),
        ("cpu/microcode", "0x2", "microcode (cpu.microcode) is 0x2, not 0x1"),
        (
            "cpu/frequency_policies/governor",
            "powersave",
            "CPU clocks and governor (cpu.frequency_policies.gov",
        ),
        ("cpu/frequency_policies/scaling_max_khz", 2_000_000, "scaling_max_khz) is 2000000, not 3500000"),
        ("memory/numa_balancing", 1, "NUMA balancing (memory.numa_balancing) is 1, not 0"),
        ("memory/transparent_huge", "never", "huge pages (memory.transparent_huge) is never, not madvise"),
        ("memory/huge_pages/total", 512, "huge pages (memory.huge_pages.total) is 512, not 0"),
        ("gpus/nvml/ecc", False, "GPU ECC (gpus.nvml.ecc) is no, not yes"),
        (
            "gpus/nvml/power_limit_mw",
            500_000,
            "GPU power limit (gpus.nvml.power_limit_mw) is 500 W, not 700 W",
        ),
        (
            "gpus/nvml/sm_clock_max_mhz",
            1500,
            "GPU clocks (gpus.nvml.sm_clock_max_mhz) is 1500 MHz, not 1980 MHz",
        ),
    ],
)
def test_shards_of_a_machine_that_was_set_up_otherwise_are_refused(tmp_path, capsys, where, value, says):
    out = tmp_path / "merged.json"
    shards = [of_set_up(tmp_path, 1), of_set_up(tmp_path, 2, where, value)]
    assert main(["merge", *map(str, shards), "-o", str(out)]) == 3
    assert says in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("cpu/frequency_policies/slowest_now_khz", 3_000_000),
        ("memory/huge_pages/free", 5),
        ("memory/huge_pages/reserved", 5),
        ("memory/available", {"meminfo_bytes": 10**9}),
        ("gpus/nvml/sm_clock_mhz", 1980),
        ("gpus/nvml/temperature_c", 70),
        ("gpus/nvml/ecc", None),
        ("load", {"average_1": 9.0}),
    ],
)
def test_shards_of_another_hour_are_one_run(tmp_path, where, value):
    assert merged(tmp_path, of_set_up(tmp_path, 1), of_set_up(tmp_path, 2, where, value))


def test_a_missing_shard_is_named(tmp_path, capsys):
    assert main(["merge", str(shard(tmp_path, 1, count=3)), "-o", str(tmp_path / "merged.json")]) == 3
    assert "shard 2/3, 3/3 is missing" in capsys.readouterr().err


def test_cases_that_no_shard_has_are_missed(tmp_path, capsys):
    def with_cases(count: int) -> list[str]:
        return [
            str(shard(tmp_path, index, run__shard={"index": index, "count": 2, "cases": count}))
            for index in (1, 2)
        ]

    out = tmp_path / "merged.json"
    assert main(["merge", *with_cases(8), "-o", str(out)]) == 3
    assert "the shards have 6 of 8 cases" in capsys.readouterr().err
    assert main(["merge", *with_cases(6), "-o", str(out)]) == 0
    assert reader.read(out).run.shard.cases == 6


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


GRAPH = {"vertices": 500, "entries": 5000, "degree_cdf": [[8, 0.25], [16, 1.0]]}
TABLE = {"rows": 500, "columns": 32, "element": 4}


@pytest.mark.parametrize(
    ("what", "was", "now", "said"),
    [
        ("graph", GRAPH, GRAPH | {"vertices": 9000, "entries": 90000},
         "its graph mine has 9000 vertices and 90000 entries, not 500 vertices and 5000 entries"),
        ("graph", GRAPH, GRAPH | {"degree_cdf": [[8, 0.5], [16, 1.0]]},
         "its lists of graph mine, by their lengths, differ"),
        ("features", TABLE, TABLE | {"columns": 16},
         "its table of features has 500 rows of 16 columns of 4 bytes, not 500 rows of 32 columns of 4"),
    ],
)  # fmt: skip
def test_shards_over_two_files_of_one_name_are_no_run(tmp_path, what, was, now, said):
    """Somebody has written the file of the graph or of the features anew between them."""
    paths = [shard(tmp_path, index) for index in (1, 2)]

    def written(facts: dict, path: Path) -> tuple[Path, dict]:
        document = json.loads(path.read_text())
        row = next(row for row in document["benchmarks"] if row["status"] == "ok")
        row["case"]["axes"]["graph"] = "mine"
        row[what] = facts
        return path, document

    merge.merge([written(was, path) for path in paths])
    with pytest.raises(merge.NotOneRunError, match=said):
        merge.merge([written(facts, path) for facts, path in zip((was, now), paths, strict=True)])


def test_a_merged_file_is_packed_where_its_name_says_so(tmp_path):
    out = tmp_path / "merged.json.gz"
    assert main(["merge", *(str(shard(tmp_path, index)) for index in (1, 2)), "-o", str(out)]) == 0
    assert len(json.loads(gzip.decompress(out.read_bytes()))["benchmarks"]) == 6
    assert len(reader.read(out).of("transfer/memcpy")) == 5


def test_the_merged_file_reads_as_a_result(tmp_path):
    merged(tmp_path, shard(tmp_path, 1), shard(tmp_path, 2))
    assert len(reader.read(tmp_path / "merged.json").of("transfer/memcpy")) == 5


X = {"copies": 2.0, "kernels": 1.0, "host": "node-x"}


@pytest.fixture(params=["folder", "packed"])
def bundled(tmp_path, request):
    """A run's file and its bundle."""
    raw = machine(**X).write(tmp_path / "run" / "result.json")
    out = tmp_path / ("made" if request.param == "folder" else "made.tar.gz")
    assert main(["export", "bundle", str(raw.parent), "-o", str(out)]) == 0
    return raw, out


def unpacked(out: Path, tmp_path: Path) -> Path:
    """The bundle as a folder."""
    if out.is_dir():
        return out
    with tarfile.open(out) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    return tmp_path / "unpacked" / "made"


def altered(out: Path, name: str, old: bytes, new: bytes) -> None:
    """Changes a file within a bundle, of an archive by packing it again."""
    if out.is_dir():
        files = {path.name: path.read_bytes() for path in out.iterdir()}
    else:
        with tarfile.open(out) as archive:
            files = {Path(one.name).name: archive.extractfile(one).read() for one in archive}
    assert old in files[name]
    files[name] = files[name].replace(old, new)
    if out.is_dir():
        (out / name).write_bytes(files[name])
    else:
        out.write_bytes(loading.packed_bundle(files, "made"))


def test_it_holds_the_raw_file_and_sums_that_others_can_check(bundled, tmp_path):
    raw, out = bundled
    folder = unpacked(out, tmp_path)
    assert (folder / "result.json").read_bytes() == raw.read_bytes()
    checked = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["run"] == json.loads(raw.read_text())["context"]["run"]["id"]


def test_it_is_read_as_the_file_itself(bundled, tmp_path, capsys):
    raw, out = bundled
    capsys.readouterr()
    said = []
    for path in (raw, out):
        assert main(["export", "csv", str(path)]) == 0
        said.append(capsys.readouterr().out.replace(str(path), "FILE"))
    assert said[0] == said[1]
    other = machine(host="node-r").write(tmp_path / "r.json")
    assert main(["compare", str(other), str(out)]) in (0, 1, 5)
    text = workload(candidates="X").replace("X.json", out.name)
    assert evaluate(tmp_path, text)[1]["verdict"]["first"] == "X"


@pytest.mark.parametrize(("name", "old", "new"), [
    ("result.json", b'"median_s": 0.00', b'"median_s": 0.01'),
    ("manifest.json", b"node-x", b"node-y"),
    ("SHA256SUMS", b"result.json", b"other.json"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["summary", "compare", "evaluate"])
def test_an_altered_one_is_refused(bundled, tmp_path, capsys, command, name, old, new):
    raw, out = bundled
    altered(out, name, old, new)
    capsys.readouterr()
    if command == "evaluate":
        status, document = evaluate(tmp_path, workload(candidates="X").replace("X.json", out.name))
        assert not document
    else:
        status = main([command, str(out), *([str(raw)] if command == "compare" else [])])
    assert status == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "was altered since it was bundled" in said


def test_the_result_of_an_altered_folder_is_refused_by_its_own_name(tmp_path, capsys):
    raw = machine(**X).write(tmp_path / "result.json")
    out = tmp_path / "made"
    assert main(["export", "bundle", str(raw), "-o", str(out)]) == 0
    assert main(["summary", str(out / "result.json")]) == 0
    altered(out, "result.json", b"node-x", b"node-y")
    assert main(["summary", str(out / "result.json")]) == 2
    assert "was altered" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["result.json", "manifest.json", "SHA256SUMS"])
def test_what_is_missing_is_named(tmp_path, capsys, name):
    raw = machine(**X).write(tmp_path / "result.json")
    out = tmp_path / "made"
    main(["export", "bundle", str(raw), "-o", str(out)])
    (out / name).unlink()
    assert main(["summary", str(out)]) == 2
    assert f"({name} is missing)" in capsys.readouterr().err


def test_an_archive_of_something_else_or_cut_off_is_a_sentence(tmp_path, capsys):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x/y"), io.BytesIO())
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(out.getvalue()))
    assert main(["summary", str(tmp_path / "a.tar.gz")]) == 2
    assert "is no whole bundle" in capsys.readouterr().err
    whole = gzip.compress(loading.packed_bundle({"a": bytes(5000)}, "a"))
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(gzip.decompress(gzip.decompress(whole))[:900]))
    assert main(["summary", str(tmp_path / "b.tar.gz")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["r.json"], ["r.json", "r.json", "-o", "x"], ["r.json", "-o", "full"]])
def test_a_bundle_is_of_one_run_and_goes_to_a_new_place(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    machine(**X).write(Path("r.json"))
    Path("full").mkdir()
    Path("full/file").write_text("kept")
    assert main(["export", "bundle", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert Path("full/file").read_text() == "kept"
