"""What cases are called in a table, and why rows are not ok: both in few words."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from grainscope_report.model import Case, Row
from grainscope_report.units import format_bytes, plural

# Axes that vary within a line of the summary rather than name it.
WITHIN = {"locality", "link", "flush"}
# The words of a case in the order in which they are spoken, whatever order the file has them in.
ORDER = (
    "timed", "between", "what", "pattern", "to", "by", "mode", "score", "lists", "store", "placement",
    "memory", "hint", "strategy", "tier", "method", "direction", "load", "path", "access", "order", "state",
    "pages", "allocation", "indices", "graph", "fanout",
)  # fmt: skip
_PLACE_OF = {axis: order for order, axis in enumerate(ORDER)}
# What goes without saying.
PLAIN = {
    ("timed", "copy"),
    ("blocks", "full"),
    ("blocks", "usual"),
    ("order", "drawn"),
    ("pool", "usual"),
    ("access", "on"),
}
SIZES = {
    "bytes", "row", "span", "grain", "piece", "page", "pool", "width", "pitch", "offset", "hot_budget",
    "arguments", "chunk", "free_pieces", "streamed",
}  # fmt: skip
PLACES = {
    "remote": "remote",
    "unknown": "locality unknown",
    "nvlink": "over NVLink",
    "pcie": "over PCIe",
    "none": "through the host",
    "link unknown": "link unknown",
}
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
# Numbers that name something are no amounts, nor is what stands within a word or a path.
_NAMED = r"(?:GPU|node|CPU|CUDA|error)s? \d+(?:(?:[.,-]|, | and )\d+)*"
_AMOUNT = re.compile(rf"{_NAMED}|(?<![\w.-])(-?\d+(?:\.\d+)?)( (?:[KMGT]i)?B\b)?(?!\.?\w|-)")


def name(row: Row) -> str:
    """The words of the case in speaking order, its place unless local, its label unless measured."""
    said = words(row.case)
    label = "" if row.label == "measured" else f" ({row.label})"
    return ", ".join([said, *place(row.case)] if said else place(row.case)) + label


def words(case: Case) -> str:
    """The words of the case in speaking order."""
    said = {
        axis: word(axis, value)
        for axis, value in case.axes.items()
        if isinstance(value, str) and axis not in WITHIN and (axis, value) not in PLAIN
    }
    return " ".join(said[axis] for axis in sorted(said, key=_place_of))


def _place_of(axis: str) -> tuple[int, str]:
    return _PLACE_OF.get(axis, len(ORDER)), axis


def place(case: Case) -> list[str]:
    """What stands between the ends, in words; nothing where that is as it should be."""
    spoken = case.axes.keys() & {"locality", "link"}
    return [PLACES[case.place]] if spoken and case.place in PLACES else []


def number(axis: str, value: float) -> str:
    """`span 4 GiB`, `threads 16`."""
    return f"{axis} {size(axis, value)}"


def size(axis: str, value: float) -> str:
    """`4 GiB` of an axis of bytes, else the plain number."""
    if axis in SIZES:
        return format_bytes(value)
    return f"{value:.0f}" if float(value).is_integer() else f"{value:g}"


# Words that say nothing without their axis.
_SAID = {
    ("access", "on"): "peer access on",
    ("access", "off"): "peer access off",
    ("packed", "off"): "weights apart",
    ("answers", "mapped"): "answers mapped back",
}


def word(axis: str, value: str) -> str:
    """A word of a case as it is said."""
    return _SAID.get((axis, value), value)


def told_reasons(reasons: Iterable[str]) -> dict[str, str]:
    """What to say of each reason: of those that are alike but for their amounts the one with the largest."""
    alike: dict[str, list[str]] = defaultdict(list)
    for reason in dict.fromkeys(reasons):
        alike[_AMOUNT.sub(_masked, reason)].append(reason)
    said = {}
    for there in alike.values():
        hint = f" (the largest of {len(there)} such)" if len(there) > 1 else ""
        said |= dict.fromkeys(there, max(there, key=_amounts) + hint)
    return said


def counted_reasons(reasons: Iterable[str]) -> Counter[str]:
    """How many rows have each reason, as it is told."""
    found = list(reasons)
    said = told_reasons(found)
    return Counter(said[reason] for reason in found)


def main_reason(reasons: Iterable[str]) -> str:
    """The reason of most rows, and how many more there are; nothing for none."""
    found = counted_reasons(reasons).most_common()
    hint = f" (and {more_reasons(len(found) - 1)})" if len(found) > 1 else ""
    return found[0][0] + hint if found else ""


def more_reasons(count: int) -> str:
    """`1 more reason`, `2 more reasons`."""
    return plural(count, "more reason")


def _masked(found: re.Match[str]) -> str:
    number, unit = found.groups()
    return found[0] if number is None else "# B" if unit else "#"


def _amounts(reason: str) -> list[float]:
    found = (one.groups() for one in _AMOUNT.finditer(reason))
    return [float(number) * _UNITS[(unit or "B").strip()] for number, unit in found if number]
