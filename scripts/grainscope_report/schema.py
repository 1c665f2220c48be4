"""Validates JSON against the subset of JSON Schema that docs/result.schema.json is written in.

A schema is compiled once into nested checks. A keyword outside the subset is an error of the schema
and raised as such, so that a rule added there is never silently skipped here.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from grainscope_report import resources, schema_accepts
from grainscope_report.units import significant

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """Something wrong, and where: `path` is a JSON path, `$.benchmarks[3].median_s`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


Check = Callable[[Any, Path], Iterator[Problem]]

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ),
}
_ANNOTATIONS = {"$schema", "$defs", "title", "description"}


def problems(document: Any) -> list[Problem]:
    """Everything in which a parsed result file departs from docs/result.schema.json."""
    accepts, check = _result_check()
    return [] if accepts(document) else list(check(document, ()))


@cache
def _result_check() -> tuple[schema_accepts.Accepts, Check]:
    schema = json.loads(resources.schema_path().read_text(encoding="utf-8"))
    return schema_accepts.compile_schema(schema), compile_schema(schema)


def compile_schema(schema: Mapping[str, Any]) -> Check:
    """Turns a schema into a check of a value at a path."""
    return _compile(schema, schema)


def json_path(path: Path) -> str:
    """`("benchmarks", 3, "name")` as `$.benchmarks[3].name`."""
    return "$" + "".join(f".{step}" if str(step).isidentifier() else f"[{json.dumps(step)}]" for step in path)


def _compile(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    keywords = dict(schema)
    checks: list[Check] = []
    if "if" in keywords:
        checks.append(_conditional(*(keywords.pop(word, {}) for word in ("if", "then", "else")), root))
    if keywords.keys() & {"properties", "additionalProperties"}:
        checks.append(
            _properties(keywords.pop("properties", {}), keywords.pop("additionalProperties", True), root)
        )
    # The type comes first: where it is wrong, nothing else is worth saying.
    typed = _KEYWORDS["type"](keywords.pop("type"), root) if "type" in keywords else None
    for keyword, rule in keywords.items():
        if keyword in _ANNOTATIONS:
            continue
        if keyword not in _KEYWORDS:
            raise ValueError(f"the schema uses {keyword!r}, which this validator does not know")
        checks.append(_KEYWORDS[keyword](rule, root))

    def check(value: Any, path: Path) -> Iterator[Problem]:
        if typed and (wrong := list(typed(value, path))):
            yield from wrong
            return
        for one in checks:
            yield from one(value, path)

    return check


def _simple(test: Callable[[Any, Any], bool], says: Callable[[Any, Any], str]) -> Callable[[Any, Any], Check]:
    """A keyword that looks at the value alone: `test` is true where it is fine."""

    def build(rule: Any, _root: Any) -> Check:
        def check(value: Any, path: Path) -> Iterator[Problem]:
            if not test(value, rule):
                yield Problem(json_path(path), says(value, rule))

        return check

    return build


def _names(rule: Any) -> list[str]:
    return rule if isinstance(rule, list) else [rule]


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else f"an array of {len(value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def _same(left: Any, right: Any) -> bool:
    """Equality as JSON has it: true is not 1."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _is_number(value: Any) -> bool:
    return _TYPES["number"](value)


def _properties(known: Mapping[str, Any], others: Any, root: Any) -> Check:
    checks = {name: _compile(rule, root) for name, rule in known.items()}
    other = _compile(others, root) if isinstance(others, dict) else None

    def check(value: Any, path: Path) -> Iterator[Problem]:
        if not isinstance(value, dict):
            return
        for name, item in value.items():
            if rule := checks.get(name, other):
                yield from rule(item, (*path, name))
            elif name not in checks and others is False:
                yield Problem(json_path((*path, name)), "is not a field of the format")

    return check


def _items(rule: Any, root: Any) -> Check:
    inner = _compile(rule, root)

    def check(value: Any, path: Path) -> Iterator[Problem]:
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from inner(item, (*path, index))

    return check


def _required(rule: Any, _root: Any) -> Check:
    def check(value: Any, path: Path) -> Iterator[Problem]:
        if isinstance(value, dict):
            for name in rule:
                if name not in value:
                    yield Problem(json_path((*path, name)), "is missing")

    return check


def _reference(rule: str, root: Any) -> Check:
    """A `#/…` reference; compiled when first used, so that a schema may be listed before it is defined."""
    if not rule.startswith("#/"):
        raise ValueError(f"the schema refers to {rule!r}, outside itself")
    target = root
    for step in rule[2:].split("/"):
        target = target[step]
    compiled: list[Check] = []

    def check(value: Any, path: Path) -> Iterator[Problem]:
        if not compiled:
            compiled.append(_compile(target, root))
        yield from compiled[0](value, path)

    return check


def _conditional(condition: Any, then: Any, otherwise: Any, root: Any) -> Check:
    holds, yes, no = (_compile(rule, root) for rule in (condition, then, otherwise))

    def check(value: Any, path: Path) -> Iterator[Problem]:
        applies = next(holds(value, path), None) is None
        yield from (yes if applies else no)(value, path)

    return check


_KEYWORDS: dict[str, Callable[[Any, Any], Check]] = {
    "type": _simple(
        lambda value, rule: any(_TYPES[name](value) for name in _names(rule)),
        lambda value, rule: f"is {_shown(value)}, not of type {' or '.join(_names(rule))}",
    ),
    "const": _simple(_same, lambda value, rule: f"is {_shown(value)}, must be {_shown(rule)}"),
    "enum": _simple(
        lambda value, rule: any(_same(value, one) for one in rule),
        lambda value, rule: f"is {_shown(value)}, must be one of {', '.join(_shown(one) for one in rule)}",
    ),
    "minimum": _simple(
        lambda value, rule: not _is_number(value) or value >= rule,
        lambda value, rule: f"is {value}, must be at least {significant(rule)}",
    ),
    "maximum": _simple(
        lambda value, rule: not _is_number(value) or value <= rule,
        lambda value, rule: f"is {value}, must be at most {significant(rule)}",
    ),
    "exclusiveMinimum": _simple(
        lambda value, rule: not _is_number(value) or value > rule,
        lambda value, rule: f"is {value}, must be above {significant(rule)}",
    ),
    "minItems": _simple(
        lambda value, rule: not isinstance(value, list) or len(value) >= rule,
        lambda value, rule: f"has {len(value)} items, must have at least {rule}",
    ),
    "maxItems": _simple(
        lambda value, rule: not isinstance(value, list) or len(value) <= rule,
        lambda value, rule: f"has {len(value)} items, must have at most {rule}",
    ),
    "required": _required,
    "items": _items,
    "$ref": _reference,
}
