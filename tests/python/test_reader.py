"""Reading result files: versions, damage, types, and values that no run has."""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Literal

import pytest

import synthetic_machines
from compared import node
from grainscope_report import reader, typed
from grainscope_report.cli import main
from grainscope_report.errors import ReportError
from grainscope_report.machine import caches, concerns, together
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, SCHEMA_VERSION, Case
from grainscope_report.model import File as FileRecord
from planted import SITE, departures, spoiled
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


def test_a_host_of_whose_cpus_others_took_some_is_warned_of(tmp_path):
    (warning,) = stolen(tmp_path, (2, 0.01), (8, 0.6))
    assert (warning.id, warning.severity) == ("stolen_time", "warning")
    assert warning.finding == "the hypervisor took 0.61 s of the CPUs' time in 10 s of measuring"


@pytest.mark.parametrize("far", [True, False])
def test_cpus_that_moved_are_warned_of(tmp_path, far):
    file = File()
    axes = {"locality": "local", "flush": "off", "threads": 2, "bytes": MIB}
    for number, line in enumerate((40.0, 200.0 if far else 60.0, 50.0), 1):
        row = file.add("host/memcpy", axes, {"from_node": 0, "to_node": 0}, 1e-3, visit=number)
        row["visits"][-1]["state"] = {"cache_line_ns": line}
    document = file.document()
    if far:
        document["benchmarks"][0]["visits"][1]["far"] = True
    (tmp_path / "result.json").write_text(json.dumps(document))
    warned = {one.id: one.finding for one in concerns(reader.read(tmp_path / "result.json"))}
    said = "the CPUs lay far from each other in 1 of 3 visits, and near in others of the same rows"
    assert warned == ({"cpus_moved": said} if far else {})


@pytest.mark.parametrize("rows", [[(2, 0), (8, 0.04)], [(1, 0)], [(1, None), (0.1, 0.0004)], []])
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


def first_row(**fields: object) -> Callable[[dict], object]:
    """Puts these fields into the first row; None takes one away."""

    def spoil(document: dict) -> None:
        row = document["benchmarks"][0]
        row.update(fields)
        for name in [name for name, value in fields.items() if value is None]:
            del row[name]

    return spoil


OFF = {
    "nothing": lambda document: document.update(context={"schema_version": 2}, benchmarks=[]),
    "no row": lambda document: document.update(benchmarks=["x"]),
    "no case": first_row(case=None),
    "true case": first_row(case=True),
    "no family": lambda document: document["benchmarks"][0]["case"].pop("family"),
    "no label": first_row(label=None),
    "no time": first_row(median_s=None),
    "time": first_row(median_s="x"),
    "visits": lambda document: document["benchmarks"][0]["visits"][0].update(median_s="x"),
    "timing": first_row(timing=[1]),
    "no cpu": lambda document: document["context"]["environment"].pop("cpu"),
    "gpus": lambda document: document["context"]["environment"].update(gpus=[1]),
    "type b": lambda document: document["context"].update(type_b=True),
    "null type b": lambda document: document["context"].update(type_b=None),
    "null interval": lambda document: document["benchmarks"][0].update(interval_s=None),
    "null uncertainty": lambda document: document["benchmarks"][0].update(uncertainty=None),
}
READING = {
    "summary": [], "summary --full": [], "ask": ["copy"], "list": [], "matrix": [], "dispatch": [],
    "plot": ["-o", "OUT"], "report": ["-o", "OUT"], "compare": ["SOUND"], "check": ["--rules", "pcie5"],
    "export csv": ["-o", "OUT"], "export trace": ["-o", "OUT"], "export digest": ["-o", "OUT"],
}  # fmt: skip


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("spoil", OFF.values(), ids=OFF)
def test_every_command_says_that_a_file_is_off_the_format(files, tmp_path, capsys, spoil):
    path = spoiled(node().write(tmp_path / "result.json"), spoil)
    places = {"OUT": str(tmp_path / "out"), "SOUND": str(files["h100"])}
    for command, more in READING.items():
        name, *rest = command.split()
        arguments = [places.get(word, word) for word in more]
        assert main([name, *rest, str(path), *arguments]) == 2, command
        said = capsys.readouterr().err
        assert said.startswith(f"grainscope-report: {path} does not follow the result format ("), command
        assert said.endswith(f": see all with `grainscope-report validate {path}`\n"), command


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


HINTS = [
    (int, 3, 3.5, "is 3.5, not of type integer"),
    (int, 3.0, True, "is true, not of type integer"),
    (float, 1.5, "1.5", 'is "1.5", not of type number'),
    (str | None, None, 3, "not of type string or null"),
    (tuple[int, ...], [], {}, "is an object, not of type array"),
    (bool, False, 0, "is 0, not of type boolean"),
    (Literal[1], 1, 2, "is 2, must be 1"),
    (Literal[1], 1, True, "is true, must be 1"),
    (Literal["a", 1], "a", "b", 'is "b", must be one of "a", 1'),
    (Annotated[int, ("minimum", 0)], 0, -1, "is -1, must be at least 0"),
    (Annotated[float, ("exclusiveMinimum", 0)], 0.1, 0, "is 0, must be above 0"),
    (Annotated[float, ("minimum", 0), ("maximum", 1)], 1, 2, "is 2, must be at least 0 and at most 1"),
    (Annotated[tuple[int, ...], ("minItems", 2)], [1, 2], [1], "has 1 items, must have at least 2"),
    (tuple[int, int], [1, 2], [1, 2, 3], "has 3 items, must have at most 2"),
    (tuple[float, ...], [1, 2], [1, "2"], "$.value[1]: is"),
    (frozenset[Literal["a", "b"]], ["a"], ["c"], '$.value[0]: is "c", must be one of "a", "b"'),
    (Mapping[str, float], {"x": 1}, {"x": "1"}, '$.value.x: is "1"'),
    (Mapping[str, str | float], {"x": "1"}, {"x": None}, "not of type string or number"),
    (Mapping[int, float], {"32": 1}, {"big": 1}, 'has the key "big", which is no size in bytes'),
    (Mapping[int, float], {"32": 1}, {"²": 1}, "no size in bytes"),
    (Mapping[int, float], {"32": 1}, {"9" * 5000: 1}, "no size in bytes"),
    (Annotated[Mapping[str, Any], ("required", ("a",))], {"a": 1}, {}, "$.value.a: is missing"),
]  # fmt: skip


def record(hint: Any, **more: Any) -> type[typed.Record]:
    """A class with one field of that hint."""
    return type("Holder", (typed.Record,), {"__annotations__": {"value": hint}} | more)


def read(kind: type[typed.Record], value: Any) -> tuple[Any, list[str]]:
    found, problems = typed.read(kind, value)
    return found, [str(one) for one in problems]


@pytest.mark.parametrize(("hint", "good", "bad", "message"), HINTS)
def test_a_hint(hint, good, bad, message):
    kind = record(hint)
    assert read(kind, {"value": good})[1] == []
    [problem] = read(kind, {"value": bad})[1]
    assert message in problem


class Inner(typed.Record):
    """What another record holds."""

    source: Annotated[str, ("name", "from")]
    sizes: Mapping[int, float] = field(default_factory=dict)
    far: Annotated[int | None, typed.NULLABLE] = None


class Outer(typed.Record):
    """A record of which unknown fields are taken."""

    OPEN = True
    NEEDS: ClassVar = {
        "if": {"properties": {"kind": {"const": "full"}}},
        "then": {"required": ["inner"]},
        "else": {"required": ["why"], "properties": {"why": {"const": "empty"}}},
    }
    kind: Literal["full", "none"]
    raw: Mapping[str, Any] = field(repr=False)
    inner: tuple[Inner, ...] = ()
    why: str | None = None


def test_what_is_read_is_typed():
    found, problems = read(Outer, {"kind": "full", "inner": [{"from": "a", "sizes": {"32": 1}}], "more": 1})
    assert problems == []
    assert found.inner == (Inner("a", {32: 1}),)
    assert (found.why, found.raw["more"], found.inner[0].far) == (None, 1, None)
    assert "why" not in vars(found)


def test_fields_need_each_other():
    assert read(Outer, {"kind": "full"})[1] == ["$.inner: is missing"]
    assert read(Outer, {"kind": "none"})[1] == ["$.why: is missing"]
    assert read(Outer, {"kind": "none", "why": "x"})[1] == ['$.why: is "x", must be "empty"']


def test_an_unknown_field_has_no_place_but_in_an_open_record():
    wrong = {"kind": "full", "inner": [{"from": "a", "to": "b", "far": None}]}
    assert read(Outer, wrong)[1] == ["$.inner[0].to: is not a field of the format"]


def test_null_is_only_where_it_is_said():
    assert read(Inner, {"from": "a", "far": None})[1] == []
    assert read(record(int | None, value=None), {"value": None})[1] == [
        "$.value: is null, not of type integer"
    ]


def test_the_schema_says_the_same():
    schema = json.loads(typed.schema_text(Outer, "title"))
    assert schema["$ref"] == "#/$defs/outer"
    inner, outer = schema["$defs"]["inner"], schema["$defs"]["outer"]
    assert inner["properties"]["from"] == {"type": "string"}
    assert inner["properties"]["far"] == {"type": ["integer", "null"]}
    assert (inner["required"], inner["additionalProperties"]) == (["from"], False)
    assert outer["properties"]["inner"] == {"type": "array", "items": {"$ref": "#/$defs/inner"}}
    assert "additionalProperties" not in outer
    assert {word: outer[word] for word in ("if", "then", "else")} == Outer.NEEDS


def test_paths_are_json_paths():
    path = ((((((), "benchmarks"), 3), "case"), "axes"), "odd name")
    assert typed.json_path(path) == '$.benchmarks[3].case.axes["odd name"]'


def test_the_schema_in_docs_is_that_of_the_declaration():
    """Stale? `cd scripts && python -m grainscope_report.reader > ../docs/result.schema.json`."""
    docs = Path(__file__).parents[2] / "docs" / "result.schema.json"
    title = f"GrainScope result file, schema version {SCHEMA_VERSION}"
    assert docs.read_text(encoding="utf-8") == typed.schema_text(FileRecord, title)


@pytest.mark.parametrize("name", ["h100", "two_nodes", "cpu_only"])
def test_the_synthetic_machines_follow_the_format(name):
    assert departures(getattr(synthetic_machines, name)().document()) == []


FAULTS = [
    (lambda d: d.pop("benchmarks"), "$.benchmarks: is missing"),
    (lambda d: d.update(extra=1), "$.extra: is not a field"),
    (lambda d: d["context"].pop("environment"), "$.context.environment: is missing"),
    (lambda d: d["context"]["run"].update(preset="huge"), "$.context.run.preset: is"),
    (lambda d: d["context"]["run"]["counts"].update(ok=-1), "$.context.run.counts.ok: is -1"),
    (lambda d: d["context"]["links"][0].update(direction="up"), "$.context.links[0].direction"),
    (
        lambda d: d["context"]["links"][0].update(within_gb_s=[1]),
        "$.context.links[0].within_gb_s: has 1 items",
    ),
    (lambda d: d["context"]["environment"]["warnings"][0].pop("remedy"), "warnings[0].remedy: is missing"),
    (lambda d: d["benchmarks"][0].update(status="fine", reason="so"), "$.benchmarks[0].status"),
    (lambda d: d["benchmarks"][0].update(verified=False), "$.benchmarks[0].verified: is false, must be true"),
    (lambda d: d["benchmarks"][0].pop("visits"), "$.benchmarks[0].visits: is missing"),
    (
        lambda d: d["benchmarks"][0].update(visits=[]),
        "$.benchmarks[0].visits: has 0 items, must have at least 1",
    ),
    (lambda d: d["benchmarks"][0].update(middle=-1), "$.benchmarks[0].middle: is -1, must be at least 0"),
    (
        lambda d: d["benchmarks"][0].update(uncertainty={"a": {"standard": 0.1, "freedom": -1}}),
        "$.benchmarks[0].uncertainty.a.freedom: is -1, must be above 0",
    ),
    (lambda d: d["benchmarks"][0].update(uncertainty={}), "$.benchmarks[0].uncertainty.b: is missing"),
    (
        lambda d: d["benchmarks"][0].update(uncertainty={"a": {"standard": 0.1}, "b": {"standard": 0.1}}),
        "$.benchmarks[0].uncertainty.combined: is missing",
    ),
    (lambda d: d["context"].update(schema_version=3), "$.context.schema_version: is 3, must be 2"),
    (
        lambda d: d["benchmarks"][0]["visits"][0]["samples_s"].append(0),
        "$.benchmarks[0].visits[0].samples_s[32]: is 0, must be above 0",
    ),
    (lambda d: d["benchmarks"][0]["case"]["site"].update(gpu="0"), "$.benchmarks[0].case.site.gpu"),
    (lambda d: d["benchmarks"][0].update(flags=["odd"]), "$.benchmarks[0].flags[0]"),
    (lambda d: d["benchmarks"][-1].pop("reason"), "reason: is missing"),
    (
        lambda d: d["benchmarks"][0].update(traffic={"label": "modelled", "requests_by_size": {"big": 1}}),
        "$.benchmarks[0].traffic.requests_by_size: has the key",
    ),
]


@pytest.fixture(scope="module")
def whole() -> str:
    return json.dumps(synthetic_machines.h100().document())


@pytest.mark.parametrize(("spoil", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_a_fault_in_a_file_is_found_where_it_is(whole, spoil, message):
    document = json.loads(whole)
    spoil(document)
    found = [str(problem) for problem in departures(document)]
    assert len(found) == 1
    assert message in found[0]


HUGE = 10**399
FIRST = "$.benchmarks[0]"


def row(document: dict, family: str, **counters: float) -> dict:
    """The first `ok` row of a family that has these counters."""
    return next(
        one
        for one in document["benchmarks"]
        if one["case"]["family"] == family
        and one["status"] == "ok"
        and counters.keys() <= one["counters"].keys()
    )


def fewer_sms(document: dict) -> None:
    one = row(document, "sm_share/gather", given_sms=0)
    one["counters"].pop("seen_sms", None)
    one["counters"]["available_sms"] = -1


def kernel(value: object) -> Callable[[dict], object]:
    return lambda document: document["context"]["environment"].update(kernel=value)


def memory(value: object) -> Callable[[dict], object]:
    return lambda document: document["context"]["environment"].update(memory=value)


def grain(value: object) -> Callable[[dict], object]:
    return lambda document: row(document, "grain/pieces")["case"]["axes"].update(grain=value)


def sizes(key: str) -> Callable[[dict], object]:
    traffic = {"label": "modelled", "requests_by_size": {key: 1}}
    return lambda document: document["benchmarks"][0].update(traffic=traffic)


def access(document: dict) -> None:
    row(document, "traversal/bfs")["case"]["axes"]["access"] = "sideways"


ODD = {
    "bytes": (
        "h100",
        lambda document: document["benchmarks"][0].update(bytes=HUGE),
        "which is no JSON number",
    ),
    "many bytes": (
        "h100",
        lambda document: document["benchmarks"][0].update(bytes=10**300),
        "more than any machine",
    ),
    "size": ("h100", sizes("9" * 5000), "requests_by_size: has the key"),
    "no digit": ("h100", sizes("²"), "requests_by_size: has the key"),
    "ended early": (
        "h100",
        lambda document: document["context"]["run"].update(
            started="2026-11-20T12:00:00Z", ended="2026-11-20T11:59:59Z"
        ),
        "ended: is 2026-11-20T11:59:59Z, before the run began at 2026-11-20T12:00:00Z",
    ),
    "kernel list": ("h100", kernel([1]), "environment.kernel: is an array of 1, not of type object"),
    "kernel number": ("h100", kernel(5), "environment.kernel: is 5, not of type object"),
    "memory number": ("h100", memory(5), ""),
    "sms": ("learning", fewer_sms, "the GPU has -1"),
    "no grain": ("linked", grain(0), "nothing can be reckoned"),
    "grain below": ("linked", grain(-5), "case.axes: has grain of -5, which no run was asked for"),
    "huge grain": ("linked", grain(1e308), "case.axes: has grain of 1e+308, which no run was asked for"),
    "grain in words": ("linked", grain("big"), "nothing can be reckoned"),
    "access": ("traversing", access, ""),
}


@pytest.fixture
def odd(files, tmp_path, request) -> tuple[Path, str]:
    name, spoil, says = ODD[request.param]
    path = tmp_path / "result.json"
    path.write_bytes(files[name].read_bytes())
    return spoiled(path, spoil), says


@pytest.mark.parametrize("odd", [name for name in ODD if ODD[name][2]], indirect=True)
def test_validate_names_it(odd, capsys):
    path, says = odd
    assert main(["validate", "--all", str(path)]) in (1, 2)
    said = capsys.readouterr()
    assert says in said.out + said.err


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("odd", ODD, indirect=True)
@pytest.mark.parametrize("command", ["summary", "list", "report", "compare"])
def test_other_commands_end_with_a_sentence(odd, files, tmp_path, capsys, command):
    path, _ = odd
    more = {"compare": [str(files["h100"])], "report": ["-o", str(tmp_path / "x.html")]}.get(command, [])
    status = main([command, str(path), *more])
    last = capsys.readouterr().err.splitlines()[-1:]
    assert status in (0, 1, 2, 3, 5)
    assert status in (0, 1, 5) or last[0].startswith("grainscope-report: ")


def last_said(capsys) -> str:
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_that_nothing_can_be_made_of_are_said_with_their_file(tmp_path, capsys):
    path = node().write(tmp_path / "result.json")
    contradicting = spoiled(path, lambda document: document["benchmarks"][1].update(bytes=10**308))
    assert main(["summary", "--full", str(contradicting)]) == 2
    said = last_said(capsys)
    assert said.startswith(f"grainscope-report: {path} contradicts itself (")
    assert said.endswith(f"see all with `grainscope-report validate {path}`")
    path = node().write(tmp_path / "other.json")
    right = spoiled(path, lambda document: document["context"]["environment"]["cpu"].update(model=[1]))
    assert main(["summary", str(right)]) == 2
    assert f"{path} holds values that nothing can be made of (" in last_said(capsys)


def test_a_row_that_lacks_an_axis_which_its_name_has_is_blamed_and_no_fault_of_ours(tmp_path, capsys):
    file = File(gpus=("NVIDIA H200",))
    axes = {"path": "host_to_gpu", "method": "kernel", "page": 4096, "pages": 16, "locality": "local"}
    file.add("shape/pages", axes, SITE, 1e-3, bytes=1 << 16)
    path = file.write(tmp_path / "result.json")
    assert main(["dispatch", str(path)]) == 0
    spoiled(path, lambda document: document["benchmarks"][0]["case"]["axes"].pop("page"))
    capsys.readouterr()
    assert main(["dispatch", str(path)]) == 2
    assert f"{path} contradicts itself (2 problems, first $.benchmarks[0].name: has page:4096" in last_said(
        capsys
    )


@pytest.mark.parametrize("fault", [AttributeError, KeyError])
def test_a_fault_of_ours_with_a_file_that_is_right_is_not_laid_on_the_file(tmp_path, monkeypatch, fault):
    def broken(_: object) -> int:
        raise fault("ours")

    path = node().write(tmp_path / "result.json")
    monkeypatch.setattr("grainscope_report.commands.summary.run_summary", broken)
    with pytest.raises(fault):
        main(["summary", str(path)])


def test_nesting_too_deep_for_a_comparison_is_said_with_the_files(tmp_path, capsys):
    deep: list = []
    for _ in range(700):
        deep = [deep]
    path = node().write(tmp_path / "result.json")
    spoiled(path, lambda document: document["context"]["environment"].update(odd=deep))
    other = node().write(tmp_path / "other.json")
    assert main(["env", "diff", str(other), str(path)]) == 2
    assert f": one of {other}, {path} holds values that nothing can be made of (" in last_said(capsys)


def test_an_unknown_way_is_drawn_in_the_colour_of_its_name(files, tmp_path, capsys):
    path = tmp_path / "result.json"
    path.write_bytes(files["traversing"].read_bytes())
    spoiled(path, access)
    assert main(["report", str(path), "-o", str(tmp_path / "x.html")]) == 0
    assert capsys.readouterr().err == ""
    assert "sideways" in (tmp_path / "x.html").read_text()


def test_caches_that_are_none_are_left_out(small):
    document = json.loads(small.read_text())
    document["context"]["environment"]["cpu"]["caches"] = [5, "L3"]
    small.write_text(json.dumps(document))
    assert main(["summary", str(small)]) == 0


def test_through_a_switch_a_gpu_has_the_same_links_for_all_others():
    peaks = {
        ("gpu:0", "gpu:1"): 400,
        ("gpu:0", "gpu:2"): 410,
        ("gpu:1", "gpu:0"): 390,
        ("host:0", "gpu:0"): 55,
    }
    links = {pair: SimpleNamespace(peak_gb_s=peak) for pair, peak in peaks.items()}
    # Apart all add up; at a switch neither more than GPUs 0 and 1 send nor more than each of three gets.
    assert together(list(links), links) == [1255, 55 + 410 + 390]
    one = [("gpu:0", "gpu:1"), ("host:0", "gpu:0")]
    assert together(one, links) == [455, 455]
    assert together(one[1:], links) == [55, 55]
