"""`grainscope-report import`: numbers of other tools beside ours.

The files in tests/golden/others are in the form of the version in their names.
"""

import csv
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.cli import main
from grainscope_report.model import Result
from grainscope_report.others import beside, reading
from grainscope_report.others.beside import Measured, Output
from grainscope_report.uncertainty import Uncertainty

ROOT = Path(__file__).resolve().parents[2]
OTHERS = ROOT / "tests" / "golden" / "others"
FILES = sorted(OTHERS.iterdir())
RUN = ROOT / "results" / "reference" / "h200x2-full.json.gz"
QUICK = ROOT / "results" / "reference" / "h200x2-quick.json.gz"


@pytest.fixture(scope="module")
def run() -> Result:
    return reader.read(RUN)


def read(name: str) -> Output:
    return reading.read(OTHERS / name)


def of(output: Output, benchmark: str) -> list[Measured]:
    return [row for row in output.rows if row.benchmark == benchmark]


def paired(output: Output, run: Result, benchmark: str) -> list[beside.Pair]:
    return [pair for pair in beside.pairs(output, run) if pair.theirs.benchmark == benchmark and not pair.why]


def row_named(run: Result, name: str):
    return next(row for row in run.rows if row.name == name)


# What the tools say.


def test_nvbandwidth_text_is_read():
    output = read("nvbandwidth-0.8.txt")
    assert (output.tool, output.version) == ("nvbandwidth", "0.8")
    assert output.gpus == [("NVIDIA H200", "00000000:00:06"), ("NVIDIA H200", "00000000:00:07")]
    copies = of(output, "host_to_device_memcpy_ce")
    assert [(row.site, row.value, row.quantity) for row in copies] == [
        ({"gpu": 0}, 55.21, "GB/s"), ({"gpu": 1}, 55.31, "GB/s"),
    ]  # fmt: skip
    assert [row.site for row in of(output, "device_to_device_memcpy_read_ce")] == [
        {"gpu": 0, "peer": 1}, {"gpu": 1, "peer": 0},
    ]  # fmt: skip
    latency = of(output, "host_device_latency_sm")[0]
    assert (latency.value, latency.quantity, latency.bytes) == (pytest.approx(1181.2e-9), "s", 2 << 20)
    assert "1 test was waived" in output.notes[1]


def test_of_both_ways_the_total_counts_and_each_way_is_named():
    rows = of(read("nvbandwidth-0.8.txt"), "device_to_device_bidirectional_memcpy_read_ce")
    assert [row.value for row in rows if not row.reason] == [776.22, 776.40]
    assert [row.value for row in rows if row.reason == "part of a total"] == [388.01, 388.10, 388.21, 388.30]


def test_versions_before_0_6_have_one_way_of_both(run):
    output = read("nvbandwidth-0.4.txt")
    found = paired(output, run, "device_to_device_bidirectional_memcpy_write_ce")
    assert [pair.theirs.value for pair in found] == [389.02, 389.11]
    both = row_named(run, found[0].cases[0]).bandwidth_gb_s
    assert [pair.ours[0] for pair in found] == [pytest.approx(both / 2)] * 2
    reasons = {row.benchmark: row.reason for row in output.rows if row.reason}
    assert reasons["all_to_one_write_sm"].startswith("waived")
    assert reasons["device_to_moon_ce"].startswith("failed")


def test_nvbandwidth_json_is_read():
    output = read("nvbandwidth-0.8.json")
    assert (output.version, output.host) == ("0.8", "vm")
    both = of(output, "device_to_device_bidirectional_memcpy_write_sm")
    assert [row.value for row in both if not row.reason] == [738.1, 738.5]
    assert [row.reason for row in of(output, "one_to_all_read_sm")] == ["failed: Error"]
    assert of(output, "all_to_one_read_sm")[0].reason.startswith("waived")
    assert [row.reason for row in of(output, "device_to_device_memcpy_write_sm")] == [
        "no value of theirs",
        "",
    ]


def test_lines_that_newer_versions_add_are_no_numbers():
    output = read("nvbandwidth-0.9.txt")
    assert [row.value for row in output.rows] == [22.37, 22.48]


def test_nccl_tests_text_is_read():
    output = read("nccl-tests-2.19-sendrecv.txt")
    assert (output.tool, output.version, output.host) == ("nccl-tests", "2.19.6", "vm")
    kept = [row for row in output.rows if not row.reason]
    assert [(row.bytes, row.value) for row in kept] == [
        (1 << 20, 93.54), (16 << 20, 312.42), (64 << 20, 360.03), (512 << 20, 372.39),
    ]  # fmt: skip
    assert sum("in place" in row.reason for row in output.rows) == 4
    assert all(row.a is None for row in output.rows)


def test_rounds_and_iterations_of_nccl_tests_are_repetitions():
    rounds = [row for row in read("nccl-tests-2.19-all_gather-N3.txt").rows if not row.reason]
    assert [(row.bytes, row.runs) for row in rounds] == [(64 << 20, 3), (512 << 20, 3)]
    assert all(row.a for row in rounds)
    each = [row for row in read("nccl-tests-2.19-sendrecv-I.json").rows if not row.reason]
    assert [(row.bytes, row.runs) for row in each] == [(64 << 20, 4), (512 << 20, 4)]
    assert each[0].a.standard > each[1].a.standard > 0


def test_the_file_names_the_test_where_nccl_tests_do_not(tmp_path, capsys):
    output = read("nccl-tests-2.13-broadcast_perf.txt")
    assert {row.benchmark for row in output.rows} == {"broadcast_perf"}
    assert {tuple(row.site.items()) for row in output.rows} == {(("gpu", 0),)}
    unnamed = tmp_path / "out.txt"
    shutil.copy(OTHERS / "nccl-tests-2.13-broadcast_perf.txt", unnamed)
    assert main(["import", str(unnamed)]) == 2
    assert "name the file after the test" in capsys.readouterr().err


def test_wrong_values_of_nccl_tests_are_failures(tmp_path):
    path = tmp_path / "wrong.txt"
    text = (OTHERS / "nccl-tests-2.19-sendrecv.txt").read_text()
    path.write_text(text.replace("93.54   93.54       0", "93.54   93.54       3"))
    assert reading.read(path).rows[0].reason == "failed: its check found wrong values"


def test_comm_scope_is_read():
    output = read("comm_scope-0.12.json")
    copies = of(output, "Comm_cudaMemcpyAsync_PinnedToGPU")
    assert [(row.bytes, row.axes["flush"], row.runs) for row in copies] == [
        (1 << 12, "off", 3), (1 << 20, "off", 3), (1 << 28, "off", 3),
        (1 << 20, "on", 3), (1 << 13, "off", 3),
    ]  # fmt: skip
    assert copies[0].value == pytest.approx(4096 / 3.9e-6 / 1e9)
    assert of(output, "Comm_cudaMemcpyAsync_GPUToGPUPeer")[0].ends == ("gpu:1", "gpu:0")
    assert of(output, "Comm_cudaDeviceSynchronize")[0].quantity == "s"
    assert "failed to get elapsed time" in of(output, "Comm_UM_Demand_HostToGPU")[0].reason


# Beside ours.


def test_ours_is_of_the_same_place_and_the_largest_where_they_tell_no_size(run):
    found = paired(read("nvbandwidth-0.8.txt"), run, "device_to_device_memcpy_read_ce")
    assert [pair.cases for pair in found] == [
        (f"transfer/peer/copy_engine/read/gpu:{one}/peer:{1 - one}/access:on/bytes:4294967296",)
        for one in (0, 1)
    ]
    ours = row_named(run, found[0].cases[0]).bandwidth_gb_s
    assert found[0].ratio == pytest.approx(ours / 393.51)


def test_gpus_are_told_by_their_addresses(run):
    found = paired(read("nvbandwidth-0.8.json"), run, "host_to_device_memcpy_sm")
    assert [re.search(r"gpu:\d", pair.cases[0])[0] for pair in found] == ["gpu:1", "gpu:0"]


def test_a_lane_answers_where_theirs_is_of_one_of_several(run):
    found = paired(read("nvbandwidth-0.8.txt"), run, "all_to_host_memcpy_ce")
    row = row_named(run, found[0].cases[0])
    assert [pair.ours[0] for pair in found] == [lane.bandwidth_gb_s for lane in row.lanes]


def test_rates_of_one_gpu_are_held_against_a_share_of_ours(run):
    found = paired(read("nccl-tests-2.19-sendrecv.txt"), run, "sendrecv_perf")
    assert all(
        pair.ours[0] == pytest.approx(row_named(run, pair.cases[0]).bandwidth_gb_s / 2) for pair in found
    )
    assert [row_named(run, pair.cases[0]).case.axes["bytes"] for pair in found] == [
        pair.theirs.bytes for pair in found
    ]


def test_a_flush_meets_a_flush_and_a_size_that_is_not_there_is_told(run):
    pairs = beside.pairs(read("comm_scope-0.12.json"), run)
    copies = [pair for pair in pairs if pair.theirs.benchmark == "Comm_cudaMemcpyAsync_PinnedToGPU"]
    assert [re.search("flush:o[nf]+", pair.cases[0])[0] for pair in copies] == [
        "flush:off", "flush:off", "flush:off", "flush:on", "flush:off",
    ]  # fmt: skip
    odd = replace(copies[0].theirs, bytes=12345)
    output = Output("Comm|Scope", "", [odd])
    assert beside.pairs(output, run)[0].why == "the run has no such case of 12.1 KiB"
    elsewhere = replace(odd, site={"gpu": 7, "numa": 0})
    assert "of node 0, GPU 7" in beside.pairs(Output("Comm|Scope", "", [elsewhere]), run)[0].why


def test_an_interval_has_what_is_known_of_both_sides(run):
    [pair] = [
        one
        for one in paired(read("nvbandwidth-0.8.txt"), run, "device_local_copy")
        if one.theirs.site["gpu"] == 0
    ]
    low, high = pair.interval
    assert low < pair.ratio < high
    wider = replace(pair, theirs=replace(pair.theirs, a=Uncertainty(0.1, 10)))
    assert wider.interval[1] > high
    assert replace(pair, known=None).interval is None


def test_several_cases_of_ours_have_no_ratio(run):
    one = Measured("Comm_ZeroCopy_HostToGPU", "GB/s", 40.0, {"gpu": 0, "numa": 0}, bytes=1 << 28)
    [pair] = beside.pairs(Output("Comm|Scope", "", [one]), run)
    assert len(pair.cases) > 1
    assert pair.ratio is None
    assert pair.ours[0] < pair.ours[1]


def test_every_counterpart_says_what_differs_in_full():
    for tool in reading.TOOLS.values():
        known = beside.counterparts(tool)
        assert known
        for one in known.values():
            assert one.differs, one
            assert not re.search("^as (above|for)", one.differs), one
            re.compile(one.filter)


# Screens and files.


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_dropped(path, capsys):
    output = reading.read(path)
    assert main(["import", str(path), "--with", str(QUICK), "--format", "csv"]) in (0, 3)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == len(output.rows)
    assert all(bool(row["case"]) != bool(row["why"]) for row in rows)
    main(["import", str(path), "--with", str(QUICK)])
    screen = capsys.readouterr().out
    assert all(row["benchmark"] in screen for row in rows)


def test_what_stands_beside_nothing_is_named_with_its_gpu_where_others_do(capsys):
    run = QUICK.parent / "h100-full.json.gz"
    assert main(["import", str(OTHERS / "nvbandwidth-0.8.txt"), "--with", str(run)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The run has no such case: host_to_device_memcpy_ce (GPU 1), " in said


@pytest.mark.parametrize("columns", [40, 80, 100, 160])
def test_a_screen_fits_its_terminal(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    for beside_run in ((), ("--with", str(QUICK))):
        main(["import", *map(str, FILES), *beside_run])
        lines = capsys.readouterr().out.splitlines()
        wide = [line for line in lines if len(line) > columns and len(line.split()) > 1]
        assert not wide, wide[:3]


def test_json_csv_and_markdown_say_the_same(tmp_path, capsys):
    outs = [tmp_path / f"beside.{kind}" for kind in ("json", "csv", "md")]
    arguments = [word for out in outs for word in ("-o", str(out))]
    assert main(["import", str(OTHERS / "nvbandwidth-0.8.txt"), "--with", str(QUICK), *arguments]) == 0
    document = json.loads(outs[0].read_text())
    assert document["import_format"] == 1
    assert document["files"][0]["tool"] == "nvbandwidth"
    table = list(csv.DictReader(io.StringIO(outs[1].read_text())))
    assert [row["benchmark"] for row in document["rows"]] == [row["benchmark"] for row in table]
    first = document["rows"][0]
    assert first["ratio_low"] < first["ratio"] < first["ratio_high"]
    assert f"{first['ratio']:.3f}" in outs[2].read_text()
    assert "What differs" in outs[2].read_text()
    capsys.readouterr()


def test_another_machine_is_told(capsys):
    assert main(["import", str(OTHERS / "nvbandwidth-0.9.txt"), "--with", str(QUICK)]) == 0
    assert "theirs is of NVIDIA GeForce RTX 5060 Ti, ours of NVIDIA H200" in capsys.readouterr().out


def test_nothing_beside_a_run_is_status_3(capsys):
    assert main(["import", str(OTHERS / "nccl-tests-2.19-all_reduce.txt"), "--with", str(QUICK)]) == 3
    assert "run has no such case: all_reduce_perf" in capsys.readouterr().out


# Bad input.


def refused(path: Path, tmp_path: Path, capsys, *more: str) -> str:
    """The one sentence on a file that is refused, with nothing written."""
    out = tmp_path / "written.csv"
    assert main(["import", str(path), "-o", str(out), *more]) == 2, path.read_bytes()[-80:]
    said = capsys.readouterr()
    assert not out.exists()
    assert not said.out
    assert re.fullmatch("grainscope-report: .+\n", said.err)
    return said.err


@pytest.mark.parametrize(
    "path", [path for path in FILES if "0.4" not in path.name], ids=lambda path: path.name
)
def test_a_file_that_is_cut_off_is_refused(path, tmp_path, capsys):
    text = path.read_text()
    half = tmp_path / path.name
    end = re.search(r"^(NOTE|# Avg bus)", text, re.M)
    last = end.start() if end else len(text.rstrip()) - 1
    step = max(1, last // 60)
    for size in range(1, last + 1, step):
        half.write_text(text[:size])
        refused(half, tmp_path, capsys)


LOCAL = """memcpy local GPU(column) bandwidth (GB/s)
           0         1
 0   2140.11   2141.92

SUM device_local_copy 4282.03
"""
CHANGED = {
    "more columns": ("nvbandwidth-0.8.txt", " 0     55.21     55.31", " 0     55.21     55.31     1.00"),
    "another unit": ("nvbandwidth-0.8.txt", "bandwidth (GB/s)", "bandwidth (GiB/s)"),
    "words for numbers": ("nvbandwidth-0.8.txt", "55.21", "fast"),
    "two matrices": ("nvbandwidth-0.8.txt", LOCAL, 2 * LOCAL),
    "no description": ("nvbandwidth-0.8.json", '"bandwidth_description"', '"bandwidth_about"'),
    "no list": ("nvbandwidth-0.8.json", '"testcases": [', '"testcases": 1, "others": ['),
    "a number of another kind": ("nvbandwidth-0.8.json", '"50.8812"', '"-1"'),
    "another column": ("nccl-tests-2.19-sendrecv.txt", "  busbw  #wrong ", "  busbw  spread  #wrong "),
    "no bus bandwidth": ("nccl-tests-2.19-sendrecv.txt", "busbw", "buswb"),
    "a line of words": ("nccl-tests-2.19-sendrecv.txt", "93.54   93.54       0", "93.54   many       0"),
    "no size": ("nccl-tests-2.19-sendrecv-I.json", '"size"', '"bytes"'),
    "no list of times": (
        "nccl-tests-2.19-sendrecv-I.json",
        '"out_of_place_per_iter":',
        '"out_of_place_per_iter":"x","x":',
    ),
    "no list in it": ("nccl-tests-2.19-sendrecv-I.json", '"times_us":[', '"times_us":1,"x":['),
    "a time that nothing takes": ("nvbandwidth-0.8.txt", "55.21", "1e300"),
    "a huge time": ("comm_scope-0.12.json", '"real_time": ', '"real_time": 1e300, "x": '),
    "no times": ("comm_scope-0.12.json", '"real_time"', '"wall_time"'),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_format_that_changed_is_refused(case, tmp_path, capsys):
    name, before, after = CHANGED[case]
    text = (OTHERS / name).read_text()
    assert before in text
    path = tmp_path / name
    path.write_text(text.replace(before, after))
    assert any(word in refused(path, tmp_path, capsys) for word in ("its format is not one", "does not say"))


def test_nvbandwidth_that_ends_after_its_header_is_cut_off(tmp_path, capsys):
    path = tmp_path / "cut.txt"
    path.write_text("nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\n")
    assert f"{path} is cut off: it has no result of any test" in refused(path, tmp_path, capsys)


def test_what_is_no_output_of_another_tool_is_refused(tmp_path, capsys):
    path = tmp_path / "some.txt"
    said = {
        "": "is empty",
        "hello\n": "is not the output of nvbandwidth",
        "{}": "is JSON, but not",
        '{"context": {"schema_version": 2}, "benchmarks": []}': "GrainScope's own result",
        '{"context": {}, "benchmarks": [{"name": "BM_one"}]}': "grainscope-report compare",
        "Comm_cudart_kernel/0  3 ns\n": "--benchmark_out",
        '{"nvbandwidth": {"error": "no device"}}': "no device",
    }
    for text, wanted in said.items():
        path.write_text(text)
        assert wanted in refused(path, tmp_path, capsys)
    path.write_bytes(b"\x7fELF\xff\xfe")
    assert "is not text" in refused(path, tmp_path, capsys)
    assert main(["import", str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "none.txt")]) == 2
    assert "does not exist: give the output of" in capsys.readouterr().err


def test_as_holds_a_file_to_a_tool(tmp_path, capsys):
    path = OTHERS / "nvbandwidth-0.8.txt"
    assert main(["import", str(path), "--as", "nvbandwidth"]) == 0
    capsys.readouterr()
    assert "is of nvbandwidth, not of nccl-tests" in refused(path, tmp_path, capsys, "--as", "nccl-tests")


def test_what_is_read_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "nv.json"
    shutil.copy(OTHERS / "nvbandwidth-0.8.json", path)
    before = path.read_bytes()
    assert main(["import", str(path), "-o", str(path)]) == 2
    assert "also what is read" in capsys.readouterr().err
    assert path.read_bytes() == before
