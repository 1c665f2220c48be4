"""What the host works out once before all runs of a traversal that moves fewer bytes, in none of their times.

It numbers vertices by degree, compresses lists, sets first neighbours side by side, divides lists of cc into
phases, and chooses what is hot. A row has the seconds of each that it times. `compress_s` includes packed
first neighbours where the row has no `firsts_s`. Copying to the GPU is in none of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grainscope_report.figures.model import TableCell, TablePanel, TableRow, exact
from grainscope_report.groups.traversal import Work
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_time

ORDER, COMPRESSION, HOT = "order", "compression", "choosing hot"
FIRSTS, PHASES = "first neighbours", "list phases"
# Each part, by the counter of its seconds.
COUNTERS = {
    ORDER: "prepare_s",
    COMPRESSION: "compress_s",
    FIRSTS: "firsts_s",
    PHASES: "phases_s",
    HOT: "tier_s",
}
PARTS = tuple(COUNTERS)
_OF = {
    COMPRESSION: "compression (of bfs and cc with first neighbours)",
    FIRSTS: "first neighbours of plain lists",
    PHASES: "list phases of cc",
    HOT: "choosing what is hot",
}
LOOKED_AT_FIRST = ("lean/bfs", "lean/cc")  # where first neighbours lie side by side
IN_PHASES = "lean/cc"
MEASURED = "measured"


@dataclass(frozen=True)
class Prepared:
    """Seconds by part; `untimed` are the parts that the row needs and does not time."""

    parts: dict[str, float]
    untimed: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Of all parts that are timed."""
        return sum(self.parts.values())


def prepared(row: Row) -> Prepared | None:
    """What was prepared for a row; None of rows that say nothing of it."""
    counters = row.counters
    if COUNTERS[ORDER] not in counters:
        return None
    parts = {part: counters[name] for part, name in COUNTERS.items() if name in counters}
    if not counters.get("hot_bytes"):
        parts.pop(HOT, None)
    return Prepared(parts, tuple(part for part in needed(row) if part not in parts))


def needed(row: Row) -> list[str]:
    """The parts that compression does not cover: first neighbours of plain lists, phases of cc.

    A row that reads nothing over the link has no list of which nothing is hot.
    """
    plain = row.case.axes.get("lists", "plain") == "plain"
    reads = row.link_bytes_least != 0
    firsts = [FIRSTS] if plain and reads and row.case.family in LOOKED_AT_FIRST else []
    return [*firsts, *([PHASES] if row.case.family == IN_PHASES else [])]


def timed_parts(found: Iterable[Prepared | None]) -> list[str]:
    """The parts that any of these times."""
    there = {part for one in found if one for part in one.parts}
    return [part for part in PARTS if part in there]


@dataclass(frozen=True)
class Line:
    """One technique: the time of a run, what is prepared, and what a run saves beside whole lists.

    `saved` and `after` how many runs that pays are None where they are not known or no run saves anything;
    `paid` has it in words.
    """

    name: str
    graph: str
    machine: Machine
    time: Estimate
    prepared: Prepared
    saved: float | None
    after: int | None
    paid: str


TITLE = "prepared once before all runs, in none of their times (measured)"
NONE = TableCell("–")


def table(lines: Sequence[Line]) -> TablePanel:
    """What is prepared for each technique, part by part, and after how many runs that pays."""
    timed = timed_parts(line.prepared for line in lines)
    columns = ("technique", "graph", "time", "prepared", *timed, "saves a run", "pays after")
    rows = tuple(TableRow(line.name, _cells(line, timed), line.machine) for line in lines)
    return TablePanel(TITLE, columns, rows, (False, *[True] * (len(columns) - 2)), width=2.0)


def _cells(line: Line, timed: Sequence[str]) -> tuple[TableCell, ...]:
    after = NONE if not line.paid else TableCell(line.paid)
    if line.after is not None:
        after = TableCell(line.paid, exact(line.after), "runs", MEASURED)
    return (
        TableCell(line.graph),
        TableCell(format_time(line.time.value), line.time, "s", MEASURED),
        _seconds(line.prepared.seconds),
        *(_seconds(line.prepared.parts.get(part)) for part in timed),
        _seconds(line.saved),
        after,
    )


def _seconds(time_s: float | None) -> TableCell:
    return NONE if time_s is None else TableCell(format_time(time_s), exact(time_s), "s", MEASURED)


def spent(found: Iterable[Prepared | None]) -> str:
    """`order 2.75 s to 3.49 s, what is hot 51 ms`: the range of each part; nothing where none is timed."""
    known = [one for one in found if one]
    apart = any(FIRSTS in one.parts for one in known)
    said = []
    for part in timed_parts(known):
        times = [one.parts[part] for one in known if part in one.parts]
        low, high = format_time(min(times)), format_time(max(times))
        name = part if part == COMPRESSION and apart else _OF.get(part, part)
        said.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
    return ", ".join(said)


def not_timed(found: Iterable[Prepared | None]) -> list[str]:
    """A sentence on what any of these needs and does not time; none where all is timed."""
    there = {part for one in found if one for part in one.untimed}
    names = [_OF[part] for part in PARTS if part in there]
    return [f"Not timed by these rows, and not counted: {', '.join(names)}."] if names else []


def without_walk(works: Sequence[Work], count: int) -> list[str]:
    """A sentence on works that have no walk to pay beside, of so many that there are; none where all have."""
    if not works:
        return []
    names = "; ".join(dict.fromkeys(f"{work.algorithm} {work.text}" for work in works))
    which = "these graphs" if len(works) == count else names
    return [
        f"No walk over whole lists of {which} in host memory is there: how much faster these rows are, and "
        "after how many runs that pays, is not known."
    ]
