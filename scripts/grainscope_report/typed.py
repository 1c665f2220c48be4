"""Reads JSON into dataclasses and makes the JSON Schema that says the same: their type hints are the format.

A hint is a scalar, `Any`, a `Literal`, a tuple, a frozenset, a mapping or another `Record`;
`Annotated[hint, ("minimum", 0)]` adds keywords of JSON Schema. A field without a default must be there.
`| None` means null where there is no default, else absent; with `NULLABLE` both. `("name", "from")` is the
name in the file where Python cannot have it. A class with `OPEN` takes unknown fields; a field `raw` holds
the whole object. `NEEDS` are the `if`, `then` and `else` of the schema: which fields need each other.
"""

import json
import math
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args, get_origin

from grainscope_report.units import significant

Path = tuple[Any, ...]  # the way to what holds a value, and the step from there
Schema = Mapping[str, Any]
NULLABLE = ("null", True)
_OURS = ("null", "name")  # words that JSON Schema does not have
_LONG = 20  # more digits than a number of 64 bits has
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_TYPES |= {Mapping: "object", tuple: "array", frozenset: "array"}
_CLASSES = {name: {kind} for kind, name in _TYPES.items()} | {"object": {dict}, "array": {list}}
_CLASSES["number"] = {int, float}


class Problem(NamedTuple):
    """Something wrong, and where: `path` is a JSON path, `$.benchmarks[3].median_s`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Shape(NamedTuple):
    """A hint as a schema and as what reads a value; which values are fine as they are, and which classes."""

    schema: Schema
    read: Callable[[Any, Path, list[Problem]], Any]
    are_fine: Callable[[Collection[Any]], bool] = lambda _values: False
    classes: Collection[type] = ()


@typing.dataclass_transform(frozen_default=True)
class Record:
    """An object of the format: every class of it is a frozen dataclass."""

    OPEN: ClassVar[bool] = False
    NEEDS: ClassVar[Schema] = {}

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


def schema_text(root: type[Record], title: str) -> str:
    """The JSON Schema of a file that is a `root`, whose classes are its definitions."""
    top = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return _laid_out(top | {"$ref": _reference(root), "$defs": _definitions(root)}, "\n") + "\n"


def _reference(kind: type[Record]) -> str:
    return f"#/$defs/{kind.__name__.lower()}"


def _definitions(hint: Any) -> dict[str, Schema]:
    """The schemas of all records in a hint."""
    record = isinstance(hint, type) and issubclass(hint, Record)
    found = {hint.__name__.lower(): shape_of(hint).schema} if record else {}
    for one in typing.get_type_hints(hint).values() if record else get_args(hint):
        found |= _definitions(one)
    return found


def _laid_out(value: Any, margin: str) -> str:
    """JSON of which what fits on a line stands on one."""
    text = json.dumps(value)
    if len(margin + text) < 100 or not isinstance(value, dict):
        return text
    inner = (f"{margin}  {json.dumps(name)}: {_laid_out(one, margin + '  ')}" for name, one in value.items())
    return f"{{{','.join(inner)}{margin}}}"


@cache
def shape_of(kind: type[Record]) -> Shape:
    """The shape of a record."""
    hints = typing.get_type_hints(kind, include_extras=True)
    shapes, readers, required, makers = {}, {}, [], {}
    for one in (field for field in fields(kind) if field.name != "raw"):
        absent = one.default is not MISSING or one.default_factory is not MISSING
        name, inner = _resolved(hints[one.name])[1].get("name", one.name), _shape(hints[one.name], absent)
        shapes[name], readers[name] = inner.schema, (one.name, inner.read, inner.classes)
        required += [] if absent else [name]
        makers |= {} if one.default_factory is MISSING else {one.name: one.default_factory}
    needs = {"required": required} | kind.NEEDS
    closed = {} if kind.OPEN else {"additionalProperties": False}

    def read(value: Any, path: Path, problems: list[Problem]) -> Any:
        if type(value) is not dict:
            return _wrong(value, {"type": "object"}, path, problems)
        found = {name: make() for name, make in makers.items()}
        for name, item in value.items():
            if known := readers.get(name):
                attribute, read_one, classes = known
                found[attribute] = item if type(item) in classes else read_one(item, (path, name), problems)
            elif not kind.OPEN:
                problems.append(Problem(json_path((path, name)), "is not a field of the format"))
        _check_needs(needs, value, path, problems)
        # What is absent gets no attribute of its own, but the class's default: checks see what is there.
        made = object.__new__(kind)
        object.__setattr__(made, "__dict__", found | ({"raw": value} if "raw" in hints else {}))
        return made

    return Shape({"type": "object", "properties": shapes} | closed | needs, read)


def _check_needs(needs: Schema, value: Mapping[str, Any], path: Path, problems: list[Problem]) -> None:
    for name in needs.get("required", ()):
        if name not in value:
            problems.append(Problem(json_path((path, name)), "is missing"))
    for name, rule in needs.get("properties", {}).items():
        if name in value and not _is_one_of(value[name], rule):
            _wrong(value[name], rule, (path, name), problems)
    if "if" in needs:
        given = needs["if"].get("properties", {})
        broken = [name for name in given if name in value and not _is_one_of(value[name], given[name])]
        broken += [name for name in needs["if"].get("required", ()) if name not in value]
        _check_needs(needs.get("else" if broken else "then", {}), value, path, problems)


def _resolved(hint: Any) -> tuple[list[Any], dict[str, Any]]:
    """The kinds of which a value may be one, and the keywords that bound it."""
    inner, kinds, words = get_args(hint), [], {}
    if get_origin(hint) is Annotated:
        inner, words = inner[:1], dict(inner[1:])
    elif get_origin(hint) not in (typing.Union, types.UnionType):
        return [hint], words
    for found, more in map(_resolved, inner):
        kinds, words = kinds + found, more | words
    return kinds, words


def _shape(hint: Any, absent: bool = True) -> Shape:
    """The shape of a hint; where a field may be `absent`, `| None` alone does not mean null."""
    kinds, words = _resolved(hint)
    if absent and "null" not in words:
        kinds = [one for one in kinds if one is not type(None)]
    kind, origin, parts = kinds[0], get_origin(kinds[0]), get_args(kinds[0])
    if kind is Any:
        return Shape({}, lambda value, _path, _problems: value)
    if origin is Literal:
        return _leaf({"const": parts[0]} if len(parts) == 1 else {"enum": list(parts)})
    if origin is None and issubclass(kind, Record):
        return Shape({"$ref": _reference(kind)}, shape_of(kind).read)
    names = [_TYPES[get_origin(one) or one] for one in kinds]
    plain = {word: list(one) if isinstance(one, tuple) else one for word, one in words.items()}
    rule = {"type": names if len(names) > 1 else names[0]}
    rule |= {word: one for word, one in plain.items() if word not in _OURS}
    if origin is None:
        return _leaf(rule)
    return _mapping(rule, *parts) if origin is Mapping else _array(rule, origin, *parts)


def _leaf(rule: Schema) -> Shape:
    names = _listed(rule.get("type", []))
    classes = {one for name in names for one in _CLASSES[name]}
    low, above = rule.get("minimum", -math.inf), rule.get("exclusiveMinimum", -math.inf)
    high = rule.get("maximum", math.inf)
    bounded = max(low, above, -high) > -math.inf

    def read(value: Any, path: Path, problems: list[Problem]) -> Any:
        if type(value) in classes:
            if not bounded or value is None or (low <= value <= high and value > above):
                return value
        elif type(value) is float and value.is_integer() and "integer" in names:
            return read(int(value), path, problems)
        elif not names and _is_one_of(value, rule):
            return value
        return _wrong(value, rule, path, problems)

    def are_fine(values: Collection[Any]) -> bool:
        if not values or not set(map(type, values)) <= classes:
            return False
        return not bounded or (low <= min(values) > above and max(values) <= high)

    return Shape(rule, read, are_fine, () if bounded else classes)


def _mapping(rule: Schema, key: type, hint: Any) -> Shape:
    inner = _shape(hint)

    def read(value: Any, path: Path, problems: list[Problem]) -> Any:
        if type(value) is not dict:
            return None if value is None and "null" in rule["type"] else _wrong(value, rule, path, problems)
        _check_needs(rule, value, path, problems)
        if key is int and (bad := [name for name in value if not (name.isdecimal() and len(name) < _LONG)]):
            said = f"has the key {_shown(bad[0])}, which is no size in bytes"
            return problems.append(Problem(json_path(path), said))
        if key is str and inner.are_fine(value.values()):
            return value
        return {key(name): inner.read(item, (path, name), problems) for name, item in value.items()}

    return Shape(rule | ({"additionalProperties": inner.schema} if inner.schema else {}), read)


def _array(rule: dict[str, Any], kind: type, hint: Any, last: Any = ...) -> Shape:
    inner = _shape(hint)
    rule |= {"items": inner.schema} | ({} if last is ... else {"minItems": 2, "maxItems": 2})

    def read(value: Any, path: Path, problems: list[Problem]) -> Any:
        if type(value) is not list or not rule.get("minItems", 0) <= len(value) <= rule.get(
            "maxItems", math.inf
        ):
            return _wrong(value, rule, path, problems)
        if inner.are_fine(value):
            return kind(value)
        return kind([inner.read(item, (path, at), problems) for at, item in enumerate(value)])

    return Shape(rule, read)


def _is_one_of(value: Any, rule: Schema) -> bool:
    """Whether a value is among its words, equal as JSON has it: true is not 1."""
    words = rule["enum"] if "enum" in rule else [rule["const"]]
    return value in words and type(value) in map(type, words)


def _wrong(value: Any, rule: Schema, path: Path, problems: list[Problem]) -> None:
    """Says what of a rule a value breaks."""
    names = _listed(rule.get("type", []))
    if not names:
        words = ", ".join(map(_shown, rule.get("enum", [rule.get("const")])))
        said = f"is {_shown(value)}, must be {'one of ' * ('enum' in rule)}{words}"
    elif not any(type(value) in _CLASSES[name] for name in names):
        said = f"is {_shown(value)}, not of type {' or '.join(names)}"
    elif isinstance(value, list):
        word, few = ("minItems", "least") if len(value) < rule.get("minItems", 0) else ("maxItems", "most")
        said = f"has {len(value)} items, must have at {few} {rule[word]}"
    else:
        ends = (("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"))
        end = " and ".join(f"{words} {significant(rule[word])}" for word, words in ends if word in rule)
        said = f"is {value}, must be {end}"
    problems.append(Problem(json_path(path), said))


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else f"an array of {len(value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def json_path(path: Path) -> str:
    """`((((), "benchmarks"), 3), "name")` as `$.benchmarks[3].name`."""
    if not path:
        return "$"
    above, step = path
    return json_path(above) + (f".{step}" if str(step).isidentifier() else f"[{json.dumps(step)}]")
