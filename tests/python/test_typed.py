"""The engine that reads JSON by type hints: each word of a declaration on a value that keeps it and one that
breaks it, and the schema that is made of it.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest

import synthetic_machines
from grainscope_report import typed
from grainscope_report.model import SCHEMA_VERSION, File
from planted import departures

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
    assert docs.read_text(encoding="utf-8") == typed.schema_text(File, title)


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
