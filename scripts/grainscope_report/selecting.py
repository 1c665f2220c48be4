"""Which rows a rule or a workload means: by family and axes, never by name or by where they were measured."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grainscope_report import families
from grainscope_report.cases import Case
from grainscope_report.naming import SIZES
from grainscope_report.toml_file import Table, Value, size

_SHOWN = 8


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
        said = [f"{axis} {' or '.join(map(_plain, values))}" for axis, values in self.axes.items()]
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
        if not values or not all(isinstance(one, (str, int, float)) for one in values):
            raise table.error(f"`{key}` must be a value, or a list of values, not {said!r}")
        axes[names.get(key, key)] = tuple(_value(key, one) for one in values)
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
            asked = " or ".join(map(_plain, values))
            if not found:
                names = sorted({name for case in left for name in case.axes})
                return f"rows of {wanted.family} have no axis {axis}; they have {_some(names)}"
            return f"no such row of {wanted.family} has {axis} {asked}; there are {_some(found)}"
        left = kept
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


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}" if value < 1e6 else f"{value:.0f}"


def _order(value: Value) -> tuple:
    return (1, 0, value) if isinstance(value, str) else (0, value, "")


def _some(values: Sequence[Value]) -> str:
    said = list(map(_plain, values))
    return ", ".join(said[:_SHOWN]) + (f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else "")
