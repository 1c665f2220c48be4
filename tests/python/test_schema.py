"""The validator of the schema subset, each keyword on a value that keeps it and one that breaks it."""

import json

import pytest

import synthetic_machines
from grainscope_report import resources, schema

KEYWORDS = [
    ({"type": "integer"}, 3, 3.5, "is 3.5, not of type integer"),
    ({"type": "integer"}, 3.0, True, "is true, not of type integer"),
    ({"type": "number"}, 1.5, "1.5", 'is "1.5", not of type number'),
    ({"type": ["string", "null"]}, None, 3, "not of type string or null"),
    ({"type": "array"}, [], {}, "is an object, not of type array"),
    ({"type": "boolean"}, False, 0, "is 0, not of type boolean"),
    ({"const": 1}, 1, 2, "is 2, must be 1"),
    ({"const": 1}, 1, True, "is true, must be 1"),
    ({"enum": ["a", 1]}, "a", "b", 'is "b", must be one of "a", 1'),
    ({"minimum": 0}, 0, -1, "is -1, must be at least 0"),
    ({"exclusiveMinimum": 0}, 0.1, 0, "is 0, must be above 0"),
    ({"minItems": 2}, [1, 2], [1], "has 1 items, must have at least 2"),
    ({"maxItems": 2}, [1, 2], [1, 2, 3], "has 3 items, must have at most 2"),
    ({"required": ["a"]}, {"a": 1}, {}, "$.a: is missing"),
    ({"properties": {"a": {"type": "string"}}}, {"a": ""}, {"a": 1}, "$.a: is 1"),
    ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, {"b": 1}, "$.b: is not a field"),
    ({"additionalProperties": {"type": "number"}}, {"x": 1}, {"x": "1"}, '$.x: is "1"'),
    ({"items": {"type": "number"}}, [1, 2], [1, "2"], "$[1]: is"),
    ({"$ref": "#/$defs/x", "$defs": {"x": {"type": "null"}}}, None, 1, "is 1, not of type null"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "good", "bad", "message"), KEYWORDS)
def test_keyword(rule, good, bad, message):
    check = schema.compile_schema(rule)
    assert list(check(good, ())) == []
    [problem] = check(bad, ())
    assert message in str(problem)


def test_if_then_else():
    rule = {
        "if": {"properties": {"a": {"const": 1}}},
        "then": {"required": ["b"]},
        "else": {"required": ["c"]},
    }
    check = schema.compile_schema(rule)
    assert not list(check({"a": 1, "b": 0}, ()))
    assert not list(check({"a": 2, "c": 0}, ()))
    assert [str(one) for one in check({"a": 1, "c": 0}, ())] == ["$.b: is missing"]
    assert [str(one) for one in check({"a": 2, "b": 0}, ())] == ["$.c: is missing"]


def test_a_wrong_type_is_said_once():
    check = schema.compile_schema({"type": "number", "minimum": 0, "enum": [1, 2]})
    assert len(list(check("x", ()))) == 1


def test_an_unknown_keyword_of_the_schema_is_an_error():
    with pytest.raises(ValueError, match="'pattern', which this validator does not know"):
        schema.compile_schema({"properties": {"a": {"pattern": "x"}}})


def test_paths_are_json_paths():
    assert (
        schema.json_path(("benchmarks", 3, "case", "axes", "odd name"))
        == '$.benchmarks[3].case.axes["odd name"]'
    )


@pytest.mark.parametrize("name", ["h100", "two_nodes", "cpu_only"])
def test_the_synthetic_machines_follow_the_schema(name):
    assert schema.problems(getattr(synthetic_machines, name)().document()) == []


FAULTS = [
    (lambda d: d.pop("benchmarks"), "$.benchmarks: is missing"),
    (lambda d: d.update(extra=1), "$.extra: is not a field"),
    (lambda d: d["context"].pop("environment"), "$.context.environment: is missing"),
    (lambda d: d["context"]["run"].update(preset="huge"), "$.context.run.preset: is"),
    (lambda d: d["context"]["run"]["counts"].update(ok=-1), "$.context.run.counts.ok: is -1"),
    (lambda d: d["context"]["links"][0].update(direction="up"), "$.context.links[0].direction"),
    (lambda d: d["context"]["links"][0].update(ci95_gb_s=[1]), "$.context.links[0].ci95_gb_s: has 1 items"),
    (lambda d: d["context"]["environment"]["warnings"][0].pop("remedy"), "warnings[0].remedy: is missing"),
    (lambda d: d["benchmarks"][0].update(status="fine", reason="so"), "$.benchmarks[0].status"),
    (lambda d: d["benchmarks"][0].update(verified=False), "$.benchmarks[0].verified: is false, must be true"),
    (lambda d: d["benchmarks"][0].pop("samples_s"), "$.benchmarks[0].samples_s: is missing"),
    (
        lambda d: d["benchmarks"][0]["samples_s"].append(0),
        "$.benchmarks[0].samples_s[32]: is 0, must be above 0",
    ),
    (lambda d: d["benchmarks"][0]["case"]["site"].update(gpu="0"), "$.benchmarks[0].case.site.gpu"),
    (lambda d: d["benchmarks"][0].update(flags=["odd"]), "$.benchmarks[0].flags[0]"),
    (lambda d: d["benchmarks"][-1].pop("reason"), "reason: is missing"),
]


@pytest.fixture(scope="module")
def whole() -> str:
    return json.dumps(synthetic_machines.h100().document())


@pytest.mark.parametrize(("spoil", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_a_fault_in_a_file_is_found_where_it_is(whole, spoil, message):
    document = json.loads(whole)
    spoil(document)
    found = [str(problem) for problem in schema.problems(document)]
    assert len(found) == 1
    assert message in found[0]


def test_the_schema_is_found_and_compiles():
    assert resources.schema_path().name == "result.schema.json"
    schema.compile_schema(json.loads(resources.schema_path().read_text()))
