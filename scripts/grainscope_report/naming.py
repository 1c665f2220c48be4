"""What a case is called in a table: its words in speaking order, what stands between its ends, its label."""

from grainscope_report.cases import Case
from grainscope_report.model import Row
from grainscope_report.units import format_bytes

# Axes that vary within a line of the summary rather than name it.
WITHIN = {"locality", "link", "flush"}
# The words of a case in the order in which they are spoken, whatever order the file has them in.
ORDER = (
    "timed", "between", "what", "pattern", "to", "by", "mode", "score", "lists", "store", "placement",
    "memory", "strategy", "tier", "method", "direction", "path", "access", "order", "state", "pages",
    "allocation", "indices", "graph", "fanout",
)  # fmt: skip
_PLACE_OF = {axis: order for order, axis in enumerate(ORDER)}
# What goes without saying.
PLAIN = {("timed", "copy"), ("blocks", "full"), ("access", "on")}
SIZES = {"bytes", "row", "span", "grain", "piece", "width", "pitch", "offset", "hot_budget", "arguments"}
PLACES = {
    "remote": "remote",
    "unknown": "locality unknown",
    "nvlink": "over NVLink",
    "pcie": "over PCIe",
    "none": "through the host",
    "link unknown": "link unknown",
}


def name(row: Row) -> str:
    """The words of the case in speaking order, its place unless local, its label unless measured."""
    said = words(row.case)
    label = "" if row.label == "measured" else f" ({row.label})"
    return ", ".join([said, *place(row.case)] if said else place(row.case)) + label


def words(case: Case) -> str:
    """The words of the case in speaking order."""
    said = {
        axis: _word(axis, value)
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
    return format_bytes(value) if axis in SIZES else f"{value:g}"


def _word(axis: str, value: str) -> str:
    return f"peer access {value}" if axis == "access" and value in ("on", "off") else value
