"""The quick test of a schema against the one that says what is wrong: they must always agree."""

import copy
import json
import random

import pytest

import synthetic_busy
import synthetic_links
import synthetic_traversals
from grainscope_report import resources, schema, schema_accepts
from test_schema import KEYWORDS

SCHEMA = json.loads(resources.schema_path().read_text(encoding="utf-8"))
WRONG = [None, True, -1, 0, 0.5, 1e9, "", "x", [], {}, [1], {"a": 1}, [None, 2], [-1.0, 2.0], [1, 2, 3]]


@pytest.mark.parametrize(("rule", "good", "bad", "_message"), KEYWORDS)
def test_keyword(rule, good, bad, _message):
    accepts = schema_accepts.compile_schema(rule)
    assert accepts(good)
    assert not accepts(bad)


@pytest.mark.parametrize("rule", [rule for rule, *_ in KEYWORDS], ids=str)
@pytest.mark.parametrize("value", WRONG, ids=str)
def test_any_value_of_a_keyword(rule, value):
    assert schema_accepts.compile_schema(rule)(value) == (not list(schema.compile_schema(rule)(value, ())))


def spots(value, path=()):
    """The paths of everything within a document."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield from spots(item, (*path, step))


@pytest.mark.parametrize(
    "make", [synthetic_links.linked, synthetic_busy.busy, synthetic_traversals.modelling]
)
def test_files_spoiled_at_random(make):
    document = make().document()
    document["benchmarks"] = document["benchmarks"][::40]
    accepts, check = schema_accepts.compile_schema(SCHEMA), schema.compile_schema(SCHEMA)
    assert accepts(document)
    chance = random.Random(7)
    places = [path for path in spots(document) if path]
    refused = 0
    for path in chance.sample(places, min(600, len(places))):
        spoiled = copy.deepcopy(document)
        *way, last = path
        inner = spoiled
        for step in way:
            inner = inner[step]
        if chance.random() < 0.3:
            del inner[last]
        else:
            inner[last] = chance.choice(WRONG)
        wrong = list(check(spoiled, ()))
        assert accepts(spoiled) == (not wrong), path
        refused += bool(wrong)
    assert refused > 100
