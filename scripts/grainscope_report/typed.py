"""Reads JSON into dataclasses and makes the JSON Schema that says the same: their type hints are the format.

A hint is a scalar, `Any`, a `Literal`, a tuple, a frozenset, a mapping or another `Record`;
`Annotated[hint, ("minimum", 0)]` adds keywords of JSON Schema. A field without a default must be there.
`| None` means null where there is no default, else absent; with `NULLABLE` both. `("name", "from")` is the
name in the file where Python cannot have it. A class with `OPEN` takes unknown fields and keeps the whole
object as `raw`. `NEEDS` are the `if`, `then` and `else` of the schema: which fields need each other.
"""

import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args, get_origin

from grainscope_report.units import significant
from grainscope_report.writing import laid_out

Path = tuple[Any, ...]  # the way to what holds a value, and the step from there
Fault = tuple[Path, str]
Schema = Mapping[str, Any]
NULLABLE = ("null", True)
_LONG = 20  # more digits than a number of 64 bits has
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_TYPES |= {Mapping: "object", tuple: "array", frozenset: "array"}
_CLASSES = {name: {kind} for kind, name in _TYPES.items()} | {"object": {dict}, "array": {list}}
_CLASSES["number"] = {int, float}
_ENDS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}


class Problem(NamedTuple):
    """Something wrong, and where: `path` is a JSON path, `$.benchmarks[3].median_s`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@typing.dataclass_transform(frozen_default=True)
class Record:
    """An object of the format: every class of it is a frozen dataclass."""

    OPEN: ClassVar[bool] = False
    NEEDS: ClassVar[Schema] = {}

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class _Shape(NamedTuple):
    """A hint as schema and as what reads a value; a scalar that `fits` stays as it is."""

    schema: Schema
    read: Callable[[Any, Path, list[Fault]], Any]
    fits: Callable[[Any], bool] = lambda _value: False


def read(kind: type[Record], value: Any) -> tuple[Any, list[Problem]]:
    """A record of parsed JSON, and everything in which that is off the format."""
    faults: list[Fault] = []
    return _record(kind).read(value, (), faults), [Problem(json_path(path), why) for path, why in faults]


def schema_text(root: type[Record], title: str) -> str:
    """The JSON Schema of a file that is a `root`, whose classes are its definitions."""
    top = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return laid_out(top | _shape(root).schema | {"$defs": _definitions(root)}) + "\n"


def _definitions(hint: Any) -> dict[str, Schema]:
    """The schemas of all records in a hint."""
    record = isinstance(hint, type) and issubclass(hint, Record)
    found = {hint.__name__.lower(): _record(hint).schema} if record else {}
    for one in typing.get_type_hints(hint).values() if record else get_args(hint):
        found |= _definitions(one)
    return found


@cache
def _record(kind: type[Record]) -> _Shape:
    hints = typing.get_type_hints(kind, include_extras=True)
    properties, known, required, makers = {}, {}, [], {}
    for one in (field for field in fields(kind) if field.name != "raw"):
        must = one.default is one.default_factory is MISSING
        name, shape = _resolved(hints[one.name])[1].get("name", one.name), _shape(hints[one.name], must)
        properties[name], known[name] = shape.schema, (one.name, shape.read, shape.fits)
        required += [name] * must
        makers |= {} if one.default_factory is MISSING else {one.name: one.default_factory}
    needs = {"required": required} | kind.NEEDS
    tested, met = re.findall(r'"(\w+)": {"(?:const|enum)"', json.dumps(kind.NEEDS)), set()

    def read(value: Any, path: Path, faults: list[Fault]) -> Any:
        if type(value) is not dict:
            return faults.append((path, _fault(value, {"type": "object"})))
        found = {"raw": value} if kind.OPEN else {}
        found |= {name: make() for name, make in makers.items()} if makers else {}
        for name, item in value.items():
            if name in known:
                attribute, read_one, fits = known[name]
                found[attribute] = item if fits(item) else read_one(item, (path, name), faults)
            elif not kind.OPEN:
                faults.append(((path, name), "is not a field of the format"))
        # Objects with the same fields and words need the same.
        if (key := (*value, *map(repr, map(value.get, tested)))) not in met:
            unmet = [*_unmet(needs, value, path)]
            (faults.extend if unmet else met.add)(unmet or key)
        # What is absent gets no attribute of its own, but the class's default: checks see what is there.
        made = object.__new__(kind)
        object.__setattr__(made, "__dict__", found)
        return made

    closed = {} if kind.OPEN else {"additionalProperties": False}
    return _Shape({"type": "object", "properties": properties} | closed | needs, read)


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


def _shape(hint: Any, must: bool = False) -> _Shape:
    """The shape of a hint; where a field `must` be there, `| None` means null."""
    kinds, words = _resolved(hint)
    if not (must or "null" in words):
        kinds = [kind for kind in kinds if kind is not type(None)]
    kind, origin, parts = kinds[0], get_origin(kinds[0]), get_args(kinds[0])
    if kind is Any:
        return _Shape({}, lambda value, _path, _faults: value, lambda _value: True)
    if origin is Literal:
        return _scalar({"const": parts[0]} if len(parts) == 1 else {"enum": parts}, [])
    if origin is None and issubclass(kind, Record):
        return _Shape({"$ref": f"#/$defs/{kind.__name__.lower()}"}, _record(kind).read)
    names = [_TYPES[get_origin(kind) or kind] for kind in kinds]
    rule = {"type": names if len(names) > 1 else names[0]}
    rule |= {word: one for word, one in words.items() if word not in ("null", "name")}
    if origin is None:
        return _scalar(rule, names)
    inner = _shape(parts[origin is Mapping])
    if origin is Mapping:
        rule |= {"additionalProperties": inner.schema} if inner.schema else {}
        return _container(rule, dict, _by_size if parts[0] is int else dict, inner)
    rule |= {"items": inner.schema}
    rule |= {"minItems": 2, "maxItems": 2} if origin is tuple and ... not in parts else {}
    return _container(rule, list, origin, inner)


def _scalar(rule: Schema, names: list[str]) -> _Shape:
    classes = frozenset(one for name in names for one in _CLASSES[name])
    words = frozenset(rule.get("enum", [rule.get("const")]))
    low, high = rule.get("minimum", -math.inf), rule.get("maximum", math.inf)
    low = math.nextafter(rule["exclusiveMinimum"], math.inf) if "exclusiveMinimum" in rule else low

    def within(value: Any) -> bool:
        return type(value) in classes and (value is None or low <= value <= high)

    def read(value: Any, path: Path, faults: list[Fault]) -> Any:
        if fits(value):
            return value
        if type(value) is float and value.is_integer() and "integer" in names:
            return read(int(value), path, faults)
        return faults.append((path, why)) if (why := _fault(value, rule)) else value

    known = within if (low, high) != (-math.inf, math.inf) else lambda value: type(value) in classes
    fits = known if names else lambda value: type(value) is str and value in words
    return _Shape(rule, read, fits)


def _container(rule: Schema, holder: type, make: Callable[[Any], Any], inner: _Shape) -> _Shape:
    """What is made of an array's values, or of a mapping, whose values are all of a shape."""
    few, many = rule.get("minItems", 0), rule.get("maxItems", math.inf)

    def read(value: Any, path: Path, faults: list[Fault]) -> Any:
        if type(value) is not holder or not few <= len(value) <= many:
            return faults.append((path, why)) if (why := _fault(value, rule)) else value
        if "required" in rule:
            faults += _unmet(rule, value, path)
        if not all(map(inner.fits, value.values() if holder is dict else value)):
            steps = value.items() if holder is dict else enumerate(value)
            read = [inner.read(item, (path, step), faults) for step, item in steps]
            value = dict(zip(value, read, strict=True)) if holder is dict else read
        try:
            return make(value)
        except ValueError as error:
            return faults.append((path, str(error)))

    return _Shape(rule, read)


def _by_size(amounts: Mapping[str, Any]) -> dict[int, Any]:
    if bad := [name for name in amounts if not (name.isdecimal() and len(name) < _LONG)]:
        raise ValueError(f"has the key {_shown(bad[0])}, which is no size in bytes")
    return {int(name): amount for name, amount in amounts.items()}


def _unmet(needs: Schema, value: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    """Where the fields of an object do not go together."""
    for name in needs.get("required", ()):
        if name not in value:
            yield (path, name), "is missing"
    for name, rule in needs.get("properties", {}).items():
        if name in value and (why := _fault(value[name], rule)):
            yield (path, name), why
    if "if" in needs:
        branch = "else" if any(_unmet(needs["if"], value, path)) else "then"
        yield from _unmet(needs.get(branch, {}), value, path)


def _fault(value: Any, rule: Schema) -> str:
    """What of a rule a value breaks, if anything; equal is as JSON has it: true is not 1."""
    if words := rule.get("enum", [rule["const"]] if "const" in rule else ()):
        if value in words and type(value) in map(type, words):
            return ""
        return f"is {_shown(value)}, must be {'one of ' * ('enum' in rule)}{', '.join(map(_shown, words))}"
    names = [said] if isinstance(said := rule.get("type", []), str) else said
    if not any(type(value) in _CLASSES[name] for name in names):
        return f"is {_shown(value)}, not of type {' or '.join(names)}"
    if type(value) is list:
        few = len(value) < rule.get("minItems", 0)
        if few or len(value) > rule.get("maxItems", math.inf):
            most = f"least {rule['minItems']}" if few else f"most {rule['maxItems']}"
            return f"has {len(value)} items, must have at {most}"
    ends = [f"{said} {significant(rule[word])}" for word, said in _ENDS.items() if word in rule]
    return f"is {value}, must be {' and '.join(ends)}" if ends and value is not None else ""


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
