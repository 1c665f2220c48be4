"""What the reader makes of good files, and the one sentence that it says about each bad one."""

import gzip
import json
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.cli import main
from grainscope_report.errors import ReportError
from grainscope_report.machine import caches, concerns
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, SCHEMA_VERSION, Case
from planted import departures
from synthetic import MIB, File


def small() -> File:
    """A file with one row of everything."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.link(HOST_TO_GPU, 54.7)
    axes = {"timed": "copy", "path": "pinned_to_gpu", "flush": "on", "bytes": MIB, "locality": "local"}
    file.add("transfer/memcpy", axes, {"gpu": 0, "numa": 0}, 20e-6, flags=("bimodal",))
    file.lose(
        "skipped", "no such node", "transfer/memcpy", axes | {"locality": "remote"}, {"gpu": 0, "numa": 1}
    )
    file.warn("severe", "governor is powersave")
    return file


def said(path) -> str:
    """What the reader says of a bad file: one sentence that names it."""
    with pytest.raises(ReportError) as caught:
        reader.read(path)
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.status == 2
    return message


def stolen(tmp_path, *rows: tuple[float, float | None]) -> list:
    """What is warned of where rows took so long, and so much of the CPUs' time was stolen meanwhile."""
    file = File()
    for size, (visit_s, stolen_s) in enumerate(rows, 1):
        row = file.add("host/flush", {"kind": "cached", "bytes": size * MIB, "locality": "local"}, {}, 1e-3)
        row["visits"][0]["visit_s"] = visit_s
        if stolen_s is not None:
            row["visits"][0]["stolen_s"] = stolen_s
    return list(concerns(reader.read(file.write(tmp_path / "result.json"))))


def test_a_hypervisor_that_took_more_than_a_twentieth_of_a_cpu_is_warned_of(tmp_path):
    (warning,) = stolen(tmp_path, (2, 0.01), (8, 0.6))
    assert (warning.id, warning.severity) == ("stolen_time", "warning")
    assert warning.finding == "the hypervisor took 0.61 s of the CPUs' time in 10 s of measuring"


@pytest.mark.parametrize("rows", [[(2, 0), (8, 0.5)], [(1, 0)], [(1, None), (0.1, 0.001)], []])
def test_less_is_not(tmp_path, rows):
    assert stolen(tmp_path, *rows) == []


def test_reads_what_the_file_says(tmp_path):
    result = reader.read(small().write(tmp_path / "result.json"))
    assert (result.host, result.version, result.commit, result.cuda) == (
        "node-a",
        "0.1.0",
        "1a2b3c4d5e6f7890",
        "13.0",
    )
    assert result.environment.gpu_names == ("NVIDIA H100 80GB HBM3",)
    assert result.environment.driver_version == "580.159"
    assert [(cache.level, cache.bytes) for cache in caches(result)] == [
        (1, 48 << 10), (2, 2 << 20), (3, 105 << 20),
    ]  # fmt: skip
    assert [finding.finding for finding in result.environment.warnings] == ["governor is powersave"]
    [link] = result.links
    assert (link.direction, link.peak_gb_s, link.generation, link.width) == (HOST_TO_GPU, 54.7, 5, 16)
    ok, skipped = result.rows
    assert ok.ok
    assert ok.median_s == pytest.approx(20e-6)
    assert len(ok.samples_s) == 32
    assert ok.flags == {"bimodal"}
    assert ok.case.site == {"gpu": 0, "numa": 0}
    assert (skipped.status, skipped.reason, skipped.median_s) == ("skipped", "no such node", None)


def test_a_run_directory_means_its_result(tmp_path):
    small().write(tmp_path / "run" / "result.json")
    assert reader.read(tmp_path / "run").path == tmp_path / "run" / "result.json"


def test_a_packed_file_is_read_as_it_was_whatever_its_name(tmp_path):
    path = small().write(tmp_path / "result.json")
    for name in ("result.json.gz", "packed"):
        packed = tmp_path / name
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert reader.read(packed).rows == reader.read(path).rows


def test_a_packed_file_that_is_cut_or_damaged_is_refused(tmp_path):
    packed = gzip.compress(small().write(tmp_path / "result.json").read_bytes())
    path = tmp_path / "result.json.gz"
    for end in (2, 9, 30, len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:end])
        assert f"is cut off after {end} bytes: copy it again" in said(path)
    for at in (3, 40, len(packed) // 2, len(packed) - 6):
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :])
        assert "copy it again" in said(path)
    path.write_bytes(gzip.compress(b""))
    assert "is empty" in said(path)


def test_data_is_frozen(tmp_path):
    result = reader.read(small().write(tmp_path / "result.json"))
    with pytest.raises(AttributeError):
        result.rows[0].median_s = 1.0


@pytest.mark.parametrize(
    ("axes", "direction"),
    [
        ({"path": "pinned_to_gpu"}, HOST_TO_GPU),
        ({"path": "gpu_to_pageable"}, GPU_TO_HOST),
        ({"path": "host_to_gpu"}, HOST_TO_GPU),
        ({"path": "gpu_to_host"}, GPU_TO_HOST),
        ({"direction": "read"}, HOST_TO_GPU),
        ({"direction": "write"}, GPU_TO_HOST),
        ({"threads": 2}, None),
    ],
)
def test_direction_over_the_link(axes, direction):
    assert Case("any", axes, {}).direction == direction


def test_known_version_is_the_schema_s():
    file = small()
    file.context["schema_version"] = SCHEMA_VERSION
    assert departures(file.document()) == []
    file.context["schema_version"] = SCHEMA_VERSION + 1
    assert departures(file.document())


def test_a_larger_version_is_refused(tmp_path):
    file = small()
    file.context["schema_version"] = 99
    message = said(file.write(tmp_path / "result.json"))
    assert "schema version 99" in message
    assert "update grainscope-report" in message


@pytest.mark.parametrize("version", [0, -1, 1.5, "1", True, []])
def test_a_version_that_is_none_is_refused(tmp_path, version):
    file = small()
    file.context["schema_version"] = version
    assert "which is no version" in said(file.write(tmp_path / "result.json"))


def test_truncated_anywhere_is_said_to_be_cut_off(tmp_path):
    text = small().write(tmp_path / "whole.json").read_bytes()
    path = tmp_path / "result.json"
    for size in [*range(1, 60), *range(60, len(text), 97), len(text) - 1]:
        path.write_bytes(text[:size])
        message = said(path)
        assert f"is cut off after {size} bytes" in message, text[max(0, size - 20) : size]
        assert "--resume" in message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-7.5E+309", "12e0310"])
def test_numbers_that_json_has_not_are_refused(tmp_path, number):
    path = small().write(tmp_path / "result.json")
    path.write_text(path.read_text().replace("54.7,", f"{number},", 1))
    assert f"holds {number}, which is no JSON number" in said(path)


def test_a_number_of_too_many_digits_is_refused_and_not_repeated(tmp_path):
    path = small().write(tmp_path / "result.json")
    path.write_text(path.read_text().replace("54.7,", f"{'9' * 400}.0,", 1))
    assert f"holds {'9' * 29}…, which is no JSON number" in said(path)


def test_great_and_small_numbers_that_are_finite_are_read(tmp_path):
    path = small().write(tmp_path / "result.json")
    path.write_text(path.read_text().replace("54.7,", "1e308,", 1))
    assert reader.read(path).links[0].peak_gb_s == 1e308


def test_rows_of_several_families_keep_the_order_of_the_file(tmp_path):
    result = reader.read(small().write(tmp_path / "result.json"))
    families = tuple(dict.fromkeys(row.case.family for row in result.rows))
    assert result.of(*families[::-1]) == list(result.rows)
    assert result.of("none/such") == result.of("none/such", "nor/this") == []


def test_foreign_google_benchmark_json_is_recognised(tmp_path):
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps({"context": {"date": "today"}, "benchmarks": [{"name": "BM_x"}]}))
    message = said(path)
    assert "is Google Benchmark's JSON but not GrainScope's" in message
    assert "compare.py" in message


@pytest.mark.parametrize(
    "text", ["[]", "{}", '"result"', "3", '{"context": {}}', '{"context": 1, "benchmarks": []}']
)
def test_other_json_is_no_result(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    assert "is JSON but no GrainScope result" in said(path)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_empty(tmp_path, text):
    path = tmp_path / "result.json"
    path.write_text(text)
    assert "is empty" in said(path)


def test_not_json(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("name,real_time\nBM_x,1\n")
    assert "is not JSON (line 1, column 1" in said(path)


def test_not_text(tmp_path):
    path = tmp_path / "result.json"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    assert "is not text" in said(path)


def test_missing(tmp_path):
    assert "does not exist" in said(tmp_path / "result.json")


def test_directory_without_a_result(tmp_path):
    assert "is a directory without result.json" in said(tmp_path)


def test_nested_too_deeply(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("[" * 100_000 + "]" * 100_000)
    assert "is no result file" in said(path)


def test_a_device_is_not_read(tmp_path):
    assert "/dev/zero is a device" in said(Path("/dev/zero"))
    link = tmp_path / "result.json"
    link.symlink_to("/dev/zero")
    assert "is a device" in said(link)


def test_unfinished_run_says_how_to_finish_it(tmp_path):
    journal = tmp_path / "journal.jsonl"
    lines = ['{"journal":2,"id":"x"}', '{"link":{}}', '{"rows":[{}]}', '{"rows":[{},{}]}', '{"rows":[{"cut']
    journal.write_text("\n".join(lines))
    for path in (tmp_path, journal):
        message = said(path)
        assert "2 finished cases" in message
        assert f"grainscope --resume {tmp_path}" in message


def test_the_journal_of_a_finished_run_points_to_its_result(tmp_path):
    (tmp_path / "journal.jsonl").write_text("{}\n")
    small().write(tmp_path / "result.json")
    assert f"give {tmp_path / 'result.json'}" in said(tmp_path / "journal.jsonl")


def test_a_file_off_the_schema_is_refused_with_the_first_problem(tmp_path):
    file = small()
    file.rows[0]["median_s"] = "fast"
    file.rows[0]["bytes"] = -1
    message = said(file.write(tmp_path / "result.json"))
    assert "2 problems, first $.benchmarks[0].median_s" in message
    assert "grainscope-report validate" in message


@pytest.mark.parametrize("command", ["validate", "summary", "list", "plot"])
@pytest.mark.parametrize(
    "text", ["", "{", "[]", "NaN", "\x00", '{"context": {"schema_version": 99}, "benchmarks": []}']
)
def test_no_command_shows_a_traceback(tmp_path, capsys, command, text):
    path = tmp_path / "result.json"
    path.write_text(text)
    assert main([command, str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"grainscope-report: {path} ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("command", ["validate", "summary"])
def test_a_key_that_is_there_twice_is_refused(tmp_path, capsys, command):
    path = small().write(tmp_path / "r.json")
    path.write_text(path.read_text().replace('"median_s":', '"median_s": 1.0, "median_s":', 1))
    assert main([command, str(path)]) == 2
    said = "".join(capsys.readouterr())
    assert 'has the key "median_s" twice in one object' in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("size", [0, -1, True, None, "32K", 1.5, 10**300, (1 << 36) + 1, [], {}])
def test_a_cache_of_no_size_or_of_an_absurd_one_is_none(tmp_path, size):
    file = small()
    file.context["environment"]["cpu"]["caches"][0]["bytes"] = size
    found = caches(reader.read(file.write(tmp_path / "r.json")))
    assert [cache.level for cache in found] == [2, 3]
    assert main(["summary", str(tmp_path / "r.json")]) == 0
