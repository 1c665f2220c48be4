"""Which rows are meant: by a rule's or a workload's family and axes, or by a filter on their names."""

import difflib
import re
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from grainscope_report import families
from grainscope_report.asking import sentence
from grainscope_report.errors import ReportError
from grainscope_report.model import Case, Row
from grainscope_report.naming import SIZES
from grainscope_report.toml_file import Table, Value, size
from grainscope_report.units import parse_bytes, some

_SHOWN = 8
ALIKE = 0.8  # of 1, for difflib: names that differ by a letter or two
SHOWN = 5
END = r"(?!\w)"
# A size; or letters in brackets, of which none is one.
_SIZE = re.compile(r"\[\^?.[^]]*\]|(?<![\w\\])(\d+) *([A-Za-z]\w*)")
_BETWEEN = re.compile(r"[/.*$^|()\\]+")
# Fewer names in a second are looked at only by expressions that try letters in ever more ways.
FEWEST_NAMES = 100
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Where:
    """A family, and for each axis the values that are meant."""

    family: str
    axes: Mapping[str, tuple[Value, ...]]

    def matches(self, case: Case) -> bool:
        """Whether the case is of the family and has one of the values on each axis."""
        return case.family == self.family and all(
            _has(case, axis, values) for axis, values in self.axes.items()
        )

    @property
    def text(self) -> str:
        """`transfer/memcpy with path pinned_to_gpu and bytes 1048576`."""
        said = [f"{axis} {' or '.join(map(as_written, values))}" for axis, values in self.axes.items()]
        return self.family + (f" with {' and '.join(said)}" if said else "")


def where(table: Table) -> Where:
    """Reads `{ family = …, axis = value or list of values, … }`; sizes may be written as `"64MiB"`."""
    family = table.text("family")
    by_algorithm = families.of(family).each_algorithm
    if by_algorithm and "/" not in family and "algorithm" in table:
        family = f"{family}/{table.text('algorithm')}"
    # What people write for what the file calls otherwise.
    names = families.of(family).aliases
    axes = {}
    for key in table.raw:
        if key == "family" or (key == "algorithm" and by_algorithm):
            continue
        said = table.take(key, (str, int, float, list), "a value, or a list of values")
        values = said if isinstance(said, list) else [said]
        if not values or not all(isinstance(value, (str, int, float)) for value in values):
            raise table.error(f"`{key}` must be a value, or a list of values, not {said!r}")
        axes[names.get(key, key)] = tuple(_value(key, value) for value in values)
    return Where(family, axes)


def why_none(wanted: Where, cases: Sequence[Case]) -> str:
    """Why no case is meant: the family that is not there, or the first axis that leaves none."""
    left = [case for case in cases if case.family == wanted.family]
    if not left:
        there = sorted({case.family for case in cases})
        return f"there are no rows of {wanted.family}; there are {_some(there) or 'none at all'}"
    for axis, values in wanted.axes.items():
        kept = [case for case in left if _has(case, axis, values)]
        if not kept:
            found = sorted({case.axes[axis] for case in left if axis in case.axes}, key=_order)
            asked = " or ".join(map(as_written, values))
            if not found:
                names = sorted({name for case in left for name in case.axes})
                return f"rows of {wanted.family} have no axis {axis}; they have {_some(names)}"
            return f"no such row of {wanted.family} has {axis} {asked}; there are {_some(found)}"
        left = kept
    return ""


def wrong_name(wanted: Where, cases: Sequence[Case], whole: bool) -> str:
    """A family that neither the suite nor the cases have, or an axis that no case of its family has.

    Where the cases are not the `whole` run, others may have the axis, unless it is nearly the name of one.
    """
    known = {*sentence.families(), *(case.family for case in cases)}
    if wanted.family not in known:
        near = difflib.get_close_matches(wanted.family, sorted(known), 1)
        hint = f"did you mean {near[0]!r}?" if near else "`grainscope --families` lists all"
        return f"there is no family {wanted.family!r}; {hint}"
    names = sorted({name for case in cases if case.family == wanted.family for name in case.axes})
    for axis in [axis for axis in wanted.axes if names and axis not in names]:
        near = difflib.get_close_matches(axis, names, 1, 0.6 if whole else ALIKE)
        hint = f"did you mean `{near[0]}`?" if near else f"they have {_some(names)}"
        if near or whole:
            return f"rows of {wanted.family} have no axis `{axis}`; {hint}"
    return ""


def differing(cases: Iterable[Case], ignored: Iterable[str]) -> dict[str, list[Value]]:
    """The axes in which cases differ, with their values."""
    values: dict[str, set[Value | None]] = {}
    listed = list(cases)
    for axis in {axis for case in listed for axis in case.axes} - set(ignored):
        values[axis] = {case.axes.get(axis) for case in listed}
    return {
        axis: sorted((value for value in found if value is not None), key=_order)
        for axis, found in sorted(values.items())
        if len(found) > 1
    }


def _has(case: Case, axis: str, values: Sequence[Value]) -> bool:
    return axis in case.axes and any(_same(case.axes[axis], value) for value in values)


def _same(found: Value, wanted: Value) -> bool:
    return isinstance(found, str) == isinstance(wanted, str) and found == wanted


def _value(axis: str, said: Value) -> Value:
    """Sizes in bytes where the axis is one."""
    return found if axis in SIZES and isinstance(said, str) and (found := size(said)) is not None else said


def as_written(value: Value) -> str:
    """A value as a flag and a rule may have it: `64`, `268435456`."""
    return value if isinstance(value, str) else f"{value:g}" if value < 1e6 else f"{value:.0f}"


def _order(value: Value) -> tuple:
    return (1, 0, value) if isinstance(value, str) else (0, value, "")


def _some(values: Sequence[Value]) -> str:
    return some(list(map(as_written, values)), _SHOWN)


def name_pattern(text: str) -> re.Pattern[str]:
    """A filter as an expression, in which `bytes:64MiB` also finds `bytes:67108864` and `bytes 64 MiB`.

    A size at its end ends there: `bytes:1KiB` does not find `bytes:10240`.
    """
    try:
        re.compile(text)
        return re.compile(_SIZE.sub(lambda found: _size(found, found.end() == len(text)), text))
    except (re.error, OverflowError, RecursionError) as error:
        raise ReportError(f"--filter {text!r} is no regular expression ({error})") from None


def matching(text: str, things: Iterable[Thing], name: Callable[[Thing], str]) -> list[Thing]:
    """The things with a name that a filter finds; ReportError where that takes as long as by `(a+)+$`."""
    pattern, names, seconds, found = name_pattern(text), 0, 0, []

    def each_second(*_: Any) -> None:
        nonlocal seconds
        seconds += 1
        if names < FEWEST_NAMES * seconds:
            raise ReportError(
                f"--filter {text!r} takes too long: its repeats match the same letters in too many ways, as "
                "those of (a+)+, (a|a)* or .*.*.* do; write it with fewer"
            )

    # Python looks for signals while it matches, too. The timer counts the processor's time, not the clock's.
    before = signal.signal(signal.SIGVTALRM, each_second)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1, 1)
    try:
        for thing in things:
            if pattern.search(name(thing)):
                found.append(thing)
            names += 1
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return found


def _size(found: re.Match[str], last: bool) -> str:
    size = parse_bytes(found[0]) if found[1] else None
    return found[0] if size is None else f"({found[1]} ?{found[2]}|{size}){END if last else ''}"


def why_no_name(text: str, rows: Sequence[Row]) -> str:
    """What to try where no name matches: what a word means in names, or the nearest parts of names."""
    names = [row.name for row in rows]
    lacking = [part for part in _parts([text]) if not any(part in name for name in names)]
    for part in lacking:
        if meant := _meant(part, rows):
            return f"no name has {part!r}, which as a word means {some(meant, SHOWN)}: `ask {part}` takes it"
    known = _parts(names)
    near = {part: best for part in lacking if (best := _nearest(part, known))}
    near |= {part: sizes for part in lacking if (sizes := _near_sizes(part, names))}
    return "; ".join(
        f"no name has {part!r}" + (f" (did you mean {near[part]}?)" if part in near else "")
        for part in lacking
    )


def _near_sizes(part: str, names: Iterable[str]) -> str:
    """The sizes next to that of `bytes:63MiB`, below and above."""
    key, _, said = part.partition(":")
    size = parse_bytes(said)
    if size is None:
        return ""
    there = {int(found[1]) for name in names if (found := re.search(rf"/{re.escape(key)}:(\d+)(?!\w)", name))}
    below, above = (sorted(filter(side, there)) for side in (size.__gt__, size.__lt__))
    next_to = [*below[-1:], *above[:1]]
    return " or ".join(f"{key}:{sentence.exact(one).replace(' ', '')}" for one in next_to)


def _meant(part: str, rows: Iterable[Row]) -> list[str]:
    """The beginnings of the names of the rows that a word means."""
    try:
        asked = sentence.understand(part)
    except ReportError:
        return []
    found = (row.name for row in rows if asked.matches(row.case))
    return list(dict.fromkeys(re.split(r"/[a-z_]+:", name)[0] for name in found))


def _parts(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(part for name in names for part in _BETWEEN.split(name) if part))


def _nearest(part: str, known: Sequence[str]) -> str:
    most = max(1, len(part) // 3)
    near = [one for one in known if abs(len(one) - len(part)) <= most]
    best = min(near, key=lambda one: sentence.distance(part, one), default="")
    return best if best and sentence.distance(part, best) <= most else ""
