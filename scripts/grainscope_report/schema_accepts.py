"""Says quickly whether a value follows a schema; only of one that does not need `schema` say what is wrong.

It knows the same keywords as `schema`, and a test holds the two against each other.
"""

from collections.abc import Callable, Mapping
from typing import Any

Accepts = Callable[[Any], bool]

_NUMBER = (int, float)
_CLASSES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "number": _NUMBER,
}
_OF_NUMBERS = {"type", "minimum", "exclusiveMinimum", "maximum"}
_ANNOTATIONS = {"$schema", "$defs", "title", "description"}


def compile_schema(schema: Mapping[str, Any]) -> Accepts:
    """Turns a schema into a test of a value as `json` parses it."""
    return _Compiler(schema).accepts(schema)


class _Compiler:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._defined: dict[str, Accepts] = {}

    def accepts(self, schema: Mapping[str, Any]) -> Accepts:
        keywords = {word: rule for word, rule in schema.items() if word not in _ANNOTATIONS}
        if simple := _simple(keywords):
            return simple
        tests = [_typed(keywords.pop("type"))] if "type" in keywords else []
        if keywords.keys() & {"properties", "additionalProperties"}:
            tests.append(
                self._properties(keywords.pop("properties", {}), keywords.pop("additionalProperties", True))
            )
        if "if" in keywords:
            tests.append(self._conditional(*(keywords.pop(word, {}) for word in ("if", "then", "else"))))
        tests += [self._keyword(word, rule) for word, rule in keywords.items()]
        return _all(tests)

    def _keyword(self, word: str, rule: Any) -> Accepts:
        if word == "$ref":
            return self._reference(rule)
        if word == "items":
            return self._items(rule)
        return _KEYWORDS[word](rule)

    def _reference(self, rule: str) -> Accepts:
        """Compiled when first used, as a schema may refer to itself."""

        def test(value: Any) -> bool:
            if rule not in self._defined:
                target = self._root
                for step in rule[2:].split("/"):
                    target = target[step]
                self._defined[rule] = self.accepts(target)
            return self._defined[rule](value)

        return test

    def _properties(self, known: Mapping[str, Any], others: Any) -> Accepts:
        tests = {name: self.accepts(rule) for name, rule in known.items()}
        fallback = self.accepts(others) if isinstance(others, dict) else lambda _: others is not False

        if not tests:
            return lambda value: type(value) is not dict or all(map(fallback, value.values()))

        def test(value: Any) -> bool:
            if type(value) is not dict:
                return True
            return False not in [tests.get(name, fallback)(item) for name, item in value.items()]

        return test

    def _items(self, rule: Mapping[str, Any]) -> Accepts:
        if rule.get("type") == "number" and rule.keys() <= _OF_NUMBERS:
            within = _all([_KEYWORDS[word](end) for word, end in rule.items() if word != "type"])
            return lambda value: (
                type(value) is not list
                or not value
                or (set(map(type, value)) <= {int, float} and within(min(value)) and within(max(value)))
            )
        one = self.accepts(rule)
        return lambda value: type(value) is not list or False not in [one(item) for item in value]

    def _conditional(self, condition: Any, then: Any, otherwise: Any) -> Accepts:
        holds, yes, no = (self.accepts(rule) for rule in (condition, then, otherwise))
        return lambda value: yes(value) if holds(value) else no(value)


def _all(tests: list[Accepts]) -> Accepts:
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda value: first(value) and second(value)
    if len(tests) == 3:
        first, second, third = tests
        return lambda value: first(value) and second(value) and third(value)
    return lambda value: False not in [test(value) for test in tests]


def _typed(rule: str | list[str]) -> Accepts:
    names = rule if isinstance(rule, list) else [rule]
    allowed = {one for name in names if name != "integer" for one in _CLASSES[name]}
    if "integer" not in names:
        return lambda value: type(value) in allowed
    return lambda value: (
        type(value) is int or type(value) in allowed or (type(value) is float and value.is_integer())
    )


def _simple(keywords: Mapping[str, Any]) -> Accepts | None:
    """One test for what most values are: numbers with a least value, words of a list."""
    if keywords.keys() == {"enum"} and all(isinstance(one, str) for one in keywords["enum"]):
        words = frozenset(keywords["enum"])
        return lambda value: type(value) is str and value in words
    if keywords.get("type") != "number" or len(keywords) != 2:
        return None
    if "minimum" in keywords:
        least = keywords["minimum"]
        return lambda value: type(value) in _NUMBER and value >= least
    if "exclusiveMinimum" in keywords:
        below = keywords["exclusiveMinimum"]
        return lambda value: type(value) in _NUMBER and value > below
    return None


def _same(left: Any, right: Any) -> bool:
    return (type(left) is bool) == (type(right) is bool) and left == right


def _required(rule: list[str]) -> Accepts:
    names = frozenset(rule)
    return lambda value: type(value) is not dict or names <= value.keys()


_KEYWORDS: dict[str, Callable[[Any], Accepts]] = {
    "const": lambda rule: lambda value: _same(value, rule),
    "enum": lambda rule: lambda value: any(_same(value, one) for one in rule),
    "minimum": lambda rule: lambda value: type(value) not in _NUMBER or value >= rule,
    "maximum": lambda rule: lambda value: type(value) not in _NUMBER or value <= rule,
    "exclusiveMinimum": lambda rule: lambda value: type(value) not in _NUMBER or value > rule,
    "minItems": lambda rule: lambda value: type(value) is not list or len(value) >= rule,
    "maxItems": lambda rule: lambda value: type(value) is not list or len(value) <= rule,
    "required": _required,
}
