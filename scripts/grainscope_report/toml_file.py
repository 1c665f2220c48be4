"""Reads TOML that people write: every wrong key, kind or value is one sentence that says where it stands."""

import difflib
import math
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from os.path import normpath
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from grainscope_report.errors import ReportError
from grainscope_report.units import parse_bytes

Value = str | float
Kind = TypeVar("Kind")
Bytes = NewType("Bytes", float)


class Bounds(NamedTuple):
    """What a number must keep (`above` low, else also at it), and its key where that is not the field."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    key: str = ""


LEAST_MEMORY = 1 << 20
POSITIVE = Bounds(low=0, above=True)


def load(path: Path) -> "Table":
    """The whole file as a table; ReportError where it cannot be read or is no TOML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ReportError(f"{path} does not exist: give a TOML file") from None
    except UnicodeDecodeError:
        raise ReportError(f"{path} is not text in UTF-8: give a TOML file") from None
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}): give a TOML file") from None
    try:
        return Table(str(path), "", tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ReportError(f"{path} is no TOML ({error})") from None


class Table:
    """A table of a TOML file whose keys are taken one by one; `done` refuses those that nobody took."""

    def __init__(self, file: str, name: str, raw: Mapping[str, Any]) -> None:
        self.file, self.name, self.raw = file, name, raw
        self._known: list[str] = []

    def error(self, said: str) -> ReportError:
        """What is wrong with this table, with the file and the table's name before it."""
        return ReportError(f"{self.file}{f', {self.name}' if self.name else ''}: {said}")

    def __contains__(self, key: str) -> bool:
        return key in self.raw

    def take(self, key: str, kind: type | tuple[type, ...], what: str, default: Any = ...) -> Any:
        """The value of a key, of this kind; the default where it is not there, if there is one."""
        self._known.append(key)
        if key not in self.raw:
            if default is ...:
                raise self.error(f"`{key}` is missing ({what})")
            return default
        value = self.raw[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.error(f"`{key}` must be {what}, not {value!r}")
        return value

    def text(self, key: str, default: Any = ...) -> Any:
        """A string that says something."""
        value = self.take(key, str, "text", default)
        if value == "" and key in self.raw:
            raise self.error(f"`{key}` is empty")
        return value

    def one_of(self, key: str, allowed: Sequence[str], default: Any = ...) -> Any:
        """One of these words."""
        value = self.take(key, str, f"one of {', '.join(allowed)}", default)
        if key in self.raw and value not in allowed:
            raise self.error(f"`{key}` must be one of {', '.join(allowed)}, not {value!r}")
        return value

    def flag(self, key: str, default: Any = ...) -> Any:
        """true or false."""
        return self.take(key, bool, "true or false", default)

    def number(
        self,
        key: str,
        default: Any = ...,
        *,
        low: float = -math.inf,
        high: float = math.inf,
        above: bool = False,
    ) -> Any:
        """A finite number within `low` and `high`, or `above` low."""
        value = self.take(key, (int, float), "a number", default)
        if key not in self.raw:
            return value
        if abs(value) > sys.float_info.max:  # a whole number may be larger than any other
            value = math.inf if value > 0 else -math.inf
        if not math.isfinite(value) or not low <= value <= high or (above and value <= low):
            bounds = [f"{'above' if above else 'at least'} {low:g}"] * (low > -math.inf)
            bounds += [f"at most {high:g}"] * (high < math.inf)
            must = " and ".join(bounds) if math.isfinite(value) else "finite"
            raise self.error(f"`{key}` must be {must}, not {value!r}")
        return float(value)

    def count(self, key: str, default: Any = ..., low: int = 1) -> Any:
        """A whole number."""
        value = self.take(key, int, "a whole number", default)
        if key in self.raw and value < low:
            raise self.error(f"`{key}` must be at least {low}, not {value}")
        return value

    def table(self, key: str) -> "Table":
        """A table within; empty where it is not there."""
        return Table(self.file, self._named(key), self.take(key, dict, "a table", {}))

    def tables(self, key: str) -> list["Table"]:
        """An array of tables within, each named by its `name` or `id`."""
        found = self.take(key, list, f"tables, each headed [[{key}]]", [])
        if wrong := [one for one in found if not isinstance(one, dict)]:
            raise self.error(f"`{key}` must hold tables, each headed [[{key}]], not {wrong[0]!r}")
        return [
            Table(self.file, self._named(f"{key} {_label(one, at)}"), one) for at, one in enumerate(found)
        ]

    def texts(self, key: str) -> list[str]:
        """A list of strings, or a single one."""
        found = self.take(key, (list, str), "text or a list of texts")
        found = [found] if isinstance(found, str) else found
        if not found or not all(isinstance(one, str) and one for one in found):
            raise self.error(f"`{key}` must be text or a list of texts, not {found!r}")
        return found

    def only(self, *keys: str) -> None:
        """Refuses all other keys, before anything else is said of the table."""
        self._known += keys
        self.done()

    def done(self) -> None:
        """Refuses keys that nobody took."""
        for key in self.raw:
            if key not in self._known:
                close = difflib.get_close_matches(key, self._known, 1)
                hint = (
                    f"did you mean `{close[0]}`?"
                    if close
                    else f"there are {', '.join(dict.fromkeys(self._known))}"
                )
                raise self.error(f"there is no key `{key}`; {hint}")

    def read(self, kind: type[Kind]) -> Kind:
        """The whole table as a dataclass or named tuple, key by key of its fields; other keys are refused.

        A hint is `bool`, `int`, `float`, `str`, a `Literal`, a tuple of texts, or `Bytes`, each perhaps with
        `| None`; `Annotated[hint, Bounds(…)]` bounds numbers and gives the key another name than the field.
        """
        defaults = getattr(kind, "_field_defaults", None)
        if defaults is None:
            defaults = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
        hints = get_type_hints(kind, include_extras=True)
        made = {name: self._field(name, hint, defaults.get(name, ...)) for name, hint in hints.items()}
        self.done()
        return kind(**made)

    def _field(self, name: str, hint: Any, default: Any) -> Any:
        bounds, parts = Bounds(), get_args(hint)
        if get_origin(hint) is Annotated:
            hint, bounds = parts[:2]
            parts = get_args(hint)
        if get_origin(hint) in (Union, UnionType):
            hint = next(part for part in parts if part is not type(None))
        key = bounds.key or name
        if get_origin(hint) is Literal:
            return self.one_of(key, get_args(hint), default)
        if get_origin(hint) is tuple:
            listed = self.paths if Path in get_args(hint) else self.texts
            return (
                tuple(listed(key)) if key in self.raw or default is ... else self.take(key, list, "", default)
            )
        if hint is int:
            return self.count(key, default, 1 if bounds.low == -math.inf else int(bounds.low))
        if hint is float:
            return self.number(key, default, low=bounds.low, high=bounds.high, above=bounds.above)
        return {bool: self.flag, str: self.text, Bytes: self.bytes}[hint](key, default)

    def paths(self, key: str) -> tuple[Path, ...]:
        """Files that are named relative to this one."""
        return tuple(Path(normpath(Path(self.file).parent / name)) for name in self.texts(key))

    def bytes(self, key: str, default: Any = ...) -> Any:
        """A number of bytes of a memory: one of less than 1 MiB lacks its unit."""
        said = self.take(key, (str, int, float), 'bytes, as "80GiB"', default)
        amount = size(said) if key in self.raw else said
        if key in self.raw and (amount is None or amount <= 0):
            raise self.error(f'`{key}` must be bytes, as "80GiB", not {said!r}')
        if key in self.raw and amount < LEAST_MEMORY:
            digits = re.match(r"[\d.]*", str(said))[0]
            raise self.error(f'`{key}`: {said} is {amount:.0f} bytes: write "{digits}GiB"')
        return amount

    def _named(self, key: str) -> str:
        return f"{self.name}, {key}" if self.name else key


def _label(raw: Mapping[str, Any], at: int) -> str:
    return repr(raw.get("name", raw.get("id", at + 1)))


def size(said: Value) -> float | None:
    """A number of bytes from `4096`, `"4096"` or `"4KiB"`; None where it is none."""
    if isinstance(said, bool):
        return None
    if isinstance(said, (int, float)):
        return float(said) if abs(said) <= sys.float_info.max else None
    found = parse_bytes(said)
    return None if found is None else float(found)
