"""What a run answers to a question: the ways that are fastest, where one overtakes another, or the rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from grainscope_report import metrics, naming, statistics
from grainscope_report.analysis import Analysis
from grainscope_report.asking.sentence import CROSSOVER, Sentence, exact, families
from grainscope_report.commands import summary
from grainscope_report.families import BYTES
from grainscope_report.figures import parts
from grainscope_report.figures.frame import select
from grainscope_report.fits import everything, segments
from grainscope_report.groups import transfer
from grainscope_report.machine import Machine, spoken_site
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, MODEL, Case, Row
from grainscope_report.statistics import Estimate
from grainscope_report.terminal import Column, Terminal, known
from grainscope_report.units import format_bytes, format_interval, format_percent, plural, some, time_unit

MOST = 12  # rows of an answer
# What rows must share to be ranked: what they work on, not how.
WORK = ("graph", "row", "rows", "span", "fanout", "batch", "weights", "planes", "tables", "pooling")
CLOSE = 1.1  # 64 MB are as good as 64 MiB, and 1 TB as 1 TiB
TABLES = 4  # of things that ways are ranked at
BOX = ("width", "pitch", "bytes")
PAGED = ("pages", "order", "pool")
# Values that go without saying.
PLAIN = {
    ("allocation", "host_alloc"), ("offset", 0), ("order", "original"), ("window", 1), ("element", 4),
    ("indices", "uniform"), ("planes", 1), ("order", "drawn"), ("pool", "usual"), ("blocks", "usual"),
}  # fmt: skip
LOCAL = "within a GPU"
DIRECTIONS = (HOST_TO_GPU, GPU_TO_HOST, "local")  # as paths, which the heading of a ranking says
COLUMNS = (
    Column("what"),
    Column("size", right=True, optional=1),
    Column("result", right=True),
    Column("time", right=True, optional=2),
    Column("of link", right=True, optional=3),
    Column("against the first", optional=4),
)


@dataclass(frozen=True)
class Answer:
    """Lines of an answer; `known` is false where they say why there is none."""

    lines: tuple[str, ...]
    known: bool = True


def answer(machine: Machine, sentence: Sentence, out: Terminal) -> Answer:
    """What the run says, what was understood first."""
    asked = _Asked(machine, sentence)
    head = out.paint(out.wrap(f"{sentence.text}: {plural(len(asked.rows), 'row')}", ""), "bold")
    if not asked.usable:
        return Answer((head, out.wrap(asked.why_nothing, "")), known=False)
    lines = list(_said(asked, out))
    if sentence.want == CROSSOVER and not lines:
        return Answer((head, out.wrap(_no_crossover(asked), "")), known=bool(asked.segments))
    return Answer((head, *(out.wrap(note, "") for note in asked.notes), *lines))


def _said(asked: "_Asked", out: Terminal) -> Iterator[str]:
    want, plain = asked.sentence.want, not asked.sentence.sizes
    if asked.by_links and plain and (table := summary.links(asked.machine.result, out)):
        yield from table
    elif want == CROSSOVER:
        yield from (_point(swap.text, out) for swap in asked.swaps)
    elif want == "best" and plain and (said := asked.stretches or asked.finding):
        yield from (_point(one, out) for one in said)
    else:
        if not want and plain:
            yield from (_point(one, out) for one in asked.finding)
        yield from _ranked(asked, out) if want else _table(asked, asked.chosen, out)


def _point(text: str, out: Terminal) -> str:
    return "- " + out.wrap(text, "  ")[2:]


def _ranked(asked: "_Asked", out: Terminal) -> Iterator[str]:
    """A table for each thing that ways are ranked at, the first named in a sentence."""
    found = asked.rankings
    each = max(3, MOST // min(len(found), TABLES))
    for title, rows in found[:TABLES]:
        yield out.wrap(f"{title}: {_verdict(asked, rows)}" if title else _verdict(asked, rows), "")
        yield from _table(asked, rows[:each], out, first=rows[0], left=len(rows) - each)
    if more := found[TABLES:]:
        shown = "; ".join(title for title, _ in more[:TABLES])
        yield out.wrap(f"… and for {len(more)} others, as {shown}: name one", "")


def _verdict(asked: "_Asked", rows: Sequence[Row]) -> str:
    """`fastest is batch, 27.4 GB/s ± 0.4 %; graph is as fast within the uncertainty.`"""
    first = rows[0]
    said = {"best": "fastest", "slowest": "slowest", "peak": "highest"}[asked.sentence.want]
    text = f"{said} is {asked.name(first)}, {asked.value(first)}"
    if size := asked.size(first):
        text += f" at {size}" if len({asked.size(row) for row in rows}) > 1 else ""
    alike = [asked.name(row) for row in rows[1:] if asked.alike(first, row)]
    if asked.sentence.want == "best" and alike:
        verb = "are" if len(alike) > 1 else "is"
        text += f"; {some(alike, 3)} {verb} as fast within the uncertainty"
    return f"{text}."


def _table(
    asked: "_Asked", rows: Sequence[Row], out: Terminal, first: Row | None = None, left: int = 0
) -> Iterator[str]:
    shown = rows if first else rows[:MOST]
    cells = [asked.cells(row, first) for row in shown]
    heading, *lines = out.table(*known(COLUMNS, cells, unknown=""))
    yield out.paint(heading, "dim")
    yield from lines
    if (more := left if first else len(rows) - len(shown)) > 0:
        yield out.wrap(f"… and {plural(more, 'row')} more: name a size or a value, or see `list`", "")


def _no_crossover(asked: "_Asked") -> str:
    names = [name for names in asked.ways.values() for name, _ in names]
    if not asked.segments:
        return (
            "A crossover is between two ways to move the same bytes, and the run has "
            f"{names[0] if names else 'none'} of these: name two, as in 'crossover copy zero-copy'."
        )
    said = "; ".join(
        f"{parts.ARROWS[direction]}: {segments.text(found, format_bytes)}"
        for direction, found in asked.segments.items()
    )
    return f"None of these ways overtakes another within the sizes measured. Fastest {said}."


class _Asked:
    """A run under a question: the rows that are meant, those of the sizes, and how they are called."""

    def __init__(self, machine: Machine, sentence: Sentence) -> None:
        self.machine, self.sentence = machine, sentence
        self.matching = [row for row in machine.result.rows if sentence.matches(row.case, sizes=False)]
        self.usable = [row for row in self.matching if row.ok and row.time]
        self.exact = [row for row in self.usable if sentence.matches_size(row.case)]
        said = {word.says for word in sentence.words}
        self.by_time = "latency" in said
        self.by_links = "links" in said
        self.by_share = "share of the link" in said
        if self.by_share:
            self.usable = [row for row in self.usable if row.link_fraction]

    @cached_property
    def rows(self) -> list[Row]:
        """What is meant, whatever became of it."""
        return [row for row in self.matching if self.sentence.matches_size(row.case)]

    @property
    def why_nothing(self) -> str:
        """Why no row has a number."""
        result = self.machine.result
        if told := naming.main_reason(row.reason for row in self.matching):
            return f"Not measured: {told}."
        there = [row for row in result.rows if row.case.family in self.sentence.families]
        asked = f", filter {result.run.filter}" if result.run.filter else ""
        run = f"preset {result.run.preset}{asked}"
        if not there:
            return f"Not part of this run ({run}): `grainscope ask` runs it."
        return f"The run ({run}) has {plural(len(there), 'row')} of these families, but none of that kind."

    @cached_property
    def curves(self) -> list[list[Row]]:
        """Rows that differ in their size alone, by rising size."""
        found: dict[tuple, list[Row]] = {}
        for row in self.usable:
            found.setdefault(self._but_size(row), []).append(row)
        return [sorted(rows, key=self._size) for rows in found.values()]

    @cached_property
    def chosen(self) -> list[Row]:
        """The rows of the sizes asked for, where there are none those of the sizes next to them.

        Of no size asked for, where that is much, the best of each curve.
        """
        if self.by_share:
            shares = [max(rows, key=_share) for rows in self.curves]
            return sorted(self.exact if self.sentence.sizes else shares, key=_share, reverse=True)
        if self.by_time and not self.sentence.sizes:
            least = [min(rows, key=_time) for rows in self.curves]
            return sorted(least, key=_time)
        if not self.sentence.sizes and len(self.exact) > MOST:
            return [self._top(rows) for rows in self.curves]
        return self.exact or self.nearest

    @cached_property
    def nearest(self) -> list[Row]:
        """The rows of the sizes next to those asked for, below and above, or of one that is as good as it."""
        found: dict[str, Row] = {}
        for (low, high), _ in self.sentence.sizes:
            there = {self._size(row) for row in self.usable}
            below = max((size for size in there if size < low), default=0.0)
            above = min((size for size in there if size > high), default=math.inf)
            meant = {size for size in (below, above) if low <= size * CLOSE and size <= high * CLOSE}
            wanted = {min(meant, key=lambda size: abs(size - low))} if meant else {below, above}
            found |= {row.name: row for row in self.usable if self._size(row) in wanted}
        return list(found.values())

    @property
    def notes(self) -> list[str]:
        """What to know of the sizes."""
        if self.sentence.want == CROSSOVER or (self.by_links and not self.sentence.sizes):
            return []
        if not self.sentence.sizes:
            best = "shortest time" if self.by_time else "highest rate or shortest time"
            best = "highest share of the link's copy peak" if self.by_share else best
            few = self.sentence.want or len(self.chosen) == len(self.exact)
            return [] if few else [f"Of each kind of row the {best}; name a size for others."]
        wanted = " and ".join(
            dict.fromkeys(
                exact(low) if low == high else f"{exact(low)} to {exact(high)}"
                for (low, high), _ in self.sentence.sizes
            )
        )
        if not self.exact:
            near = sorted({self._size(row) for row in self.nearest})
            verb = "are" if len(near) > 1 else "is"
            return [f"{wanted} was not measured; the nearest {verb} {_listed(near)}."]
        lacking = [rows for rows in self.curves if not any(self.sentence.matches_size(r.case) for r in rows)]
        names = dict.fromkeys(naming.words(rows[0].case) or rows[0].case.family for rows in lacking)
        if not names or not self.sentence.want:
            return []
        return [f"Not measured at {wanted}: {some(list(names), 4)}."]

    @cached_property
    def rankings(self) -> list[tuple[str, list[Row]]]:
        """Rows that do the same work, the first first."""
        if self.sentence.want == "best" or self.sentence.sizes:
            rows = self.chosen if self.sentence.sizes else [self._top(rows) for rows in self.curves]
        else:
            rows = [self._top(rows) for rows in self.curves]
        found: dict[str, list[Row]] = {}
        for row in rows:
            found.setdefault(self._work(row), []).append(row)
        turned = self.sentence.want == "slowest"
        ranked = [(title, sorted(there, key=self._order, reverse=turned)) for title, there in found.items()]
        return sorted(ranked, key=lambda one: len(one[1]) < 2)

    def _top(self, rows: Sequence[Row]) -> Row:
        return min(rows, key=self._order)

    def _order(self, row: Row) -> float:
        """The best first: highest shares where asked for, else highest rates, else shortest times."""
        if self.by_share:
            return -_share(row)
        return -row.bandwidth_gb_s if self._by_rate(row) else _time(row)

    def _by_rate(self, row: Row) -> bool:
        return bool(row.bandwidth_gb_s and row.bytes) and not self.by_time and not row.trials

    def _work(self, row: Row) -> str:
        """What a row works on: `host → GPU`, `graph kron20`, `host → GPU, 4 KiB`."""
        axes = row.case.axes
        if self._by_rate(row):
            said = [parts.ARROWS.get(row.case.direction or "", LOCAL if axes.get("path") == "local" else "")]
        else:
            said = [row.case.family.rpartition("/")[2]]
        if self.sentence.want != "peak":
            sized = self.sentence.sizes_of(row.case.family)
            said += [_axis_text(axis, axes[axis]) for axis in _work_of(row.case) if axis not in sized]
        if self.sentence.sizes and not self.exact:
            said.append(format_bytes(self._size(row)))
        # What is measured and what is modelled are never ranked together.
        said += [row.label] if row.label != "measured" else []
        return ", ".join(filter(None, said))

    @cached_property
    def ways(self) -> Mapping[str, list[tuple[str, transfer.Curve]]]:
        """By direction the ways of `methods` that the question means."""
        found = {}
        for direction in transfer.WAYS:
            there = [
                (curve.name, curve)
                for curve in transfer.ways(self.machine, direction)
                if self._means(direction, curve.name)
            ]
            if there:
                found[direction] = there
        return found

    def _means(self, direction: str, name: str) -> bool:
        [(_, _, family, axes)] = [way for way in transfer.WAYS[direction] if way[0] == name]
        rows = select([row for row in self.matching if row.case.family == family and row.ok], axes)
        return bool(rows)

    @cached_property
    def segments(self) -> Mapping[str, list[segments.Segment]]:
        """Which way is first at which size, by direction, where there are several."""
        found = {}
        for direction, ways in self.ways.items():
            rates = {name: dict(zip(curve.x, curve.y, strict=True)) for name, curve in ways}
            if len(rates) > 1 and (there := segments.segments(rates)):
                found[direction] = there
        return found

    @property
    def stretches(self) -> list[str]:
        """The same in sentences."""
        return [
            f"Fastest {parts.ARROWS[direction]}: {segments.text(found, format_bytes)}"
            for direction, found in self.segments.items()
        ]

    @property
    def swaps(self) -> list[transfer.Swap]:
        """Where a way overtakes another, both of them meant; of two words each of another."""
        names = {(direction, name) for direction, ways in self.ways.items() for name, _ in ways}
        return [
            swap
            for choice in transfer.choices(self.machine)
            for swap in choice.swaps
            if {(swap.direction, swap.faster), (swap.direction, swap.slower)} <= names
        ]

    @property
    def finding(self) -> list[str]:
        """What the run answers to the question of a whole family, where nothing else is asked."""
        if not all(word.about == "subject" for word in self.sentence.words) or self.sentence.axes:
            return []
        fitting = [
            question
            for question in everything.QUESTIONS
            if question.name.startswith(("Which", "Translation", "Fewest"))
            and all(name.startswith(question.families) for name in self.sentence.families)
        ]
        return [f"{said}." for one in fitting for said in one.answer(Analysis(self.machine))]

    @cached_property
    def _varying(self) -> Mapping[str, set[str]]:
        """The axes and sites in which rows of a family differ."""
        found: dict[str, set[str]] = {}
        for family in {row.case.family for row in self.usable}:
            cases = [row.case for row in self.usable if row.case.family == family]
            axes = {axis for case in cases for axis in case.axes}
            sites = {site for case in cases for site in case.site}
            found[family] = {axis for axis in axes if len({case.axes.get(axis) for case in cases}) > 1}
            found[family] |= {
                site for site in sites if len({case.site[site] for case in cases if site in case.site}) > 1
            }
        return found

    @cached_property
    def _families(self) -> bool:
        return len({row.case.family for row in self.usable}) > 1

    def name(self, row: Row) -> str:
        """What tells a row from the others."""
        ranked = self.sentence.want in ("best", "slowest")
        told = _work_of(row.case) if ranked else ()
        varying = self._varying[row.case.family] - set(told) - self._sizes(row)
        axes = {
            axis: value
            for axis, value in row.case.axes.items()
            if axis in varying and (axis, value) not in PLAIN and not (ranked and value in DIRECTIONS)
        }
        said = [row.case.family] if self._families else []
        said += [naming.words(replace(row.case, axes=axes))]
        said += [naming.number(axis, value) for axis, value in axes.items() if not isinstance(value, str)]
        said += [f"flush {axes['flush']}"] if "flush" in axes else []
        if row.case.family.startswith(MODEL):
            said += [str(axes.get("link", ""))]
        else:
            said += naming.place(row.case) if varying & {"locality", "link"} else []
        return " ".join(filter(None, said)) or naming.words(row.case) or row.case.family

    def _axis(self, row: Row) -> str:
        """The axis of a row's size: that asked for, else the first that it has; empty where it has none."""
        family = row.case.family
        there = (*self.sentence.sizes_of(family), *families().get(family, (BYTES,)))
        return next((axis for axis in there if isinstance(row.case.axes.get(axis), (int, float))), "")

    def _size(self, row: Row) -> float:
        axis = self._axis(row)
        return float(row.case.axes[axis]) if axis else 0.0

    def _sizes(self, row: Row) -> set[str]:
        """The axis of the size, and those that follow from it."""
        axis = self._axis(row)
        follow = {"rows"} if axis in ("span", "row") else set()
        return {axis} | follow | ({BYTES} - set(families().get(row.case.family, (BYTES,))))

    def _but_size(self, row: Row) -> tuple:
        site = tuple(sorted(row.case.site.items()))
        return row.case.family, row.case.without(*self._sizes(row)), site

    def size(self, row: Row) -> str:
        """The size of a row, where it has one."""
        axis = self._axis(row)
        return format_bytes(float(row.case.axes[axis])) if axis else ""

    def value(self, row: Row) -> str:
        """`27.4 GB/s ± 0.4 %`, or the time where rates do not count."""
        if self._by_rate(row):
            rate = statistics.rate_gb_s(row.time, row.bytes)
            return metrics.with_error(f"{_digits(rate)} GB/s", rate)
        return _time_text(row)

    def cells(self, row: Row, first: Row | None) -> tuple[str, ...]:
        """A row of the table."""
        rate = self._by_rate(row)
        against = ""
        if first is not None and first is not row:
            against = "alike" if self.alike(first, row) else _times(self._order(first), self._order(row))
        site = row.case.site if row.case.site.keys() & self._varying[row.case.family] else {}
        return (
            ", ".join(filter(None, (self.name(row), spoken_site(tuple(sorted(site.items())))))),
            self.size(row),
            self.value(row),
            _time_text(row) if rate else "",
            format_percent(row.link_fraction) if row.link_fraction and rate else "",
            against,
        )

    def alike(self, first: Row, row: Row) -> bool:
        """Whether the uncertainties or `ALIKE` cover the difference."""
        one, other = (_per_operation(each) for each in (first, row))
        if self._by_rate(first) and self._by_rate(row):
            one, other = (statistics.rate_gb_s(each.time, each.bytes) for each in (first, row))
        close = abs(one.value - other.value) <= segments.ALIKE * max(one.value, other.value)
        return close or (one.low <= other.high and other.low <= one.high)


def _work_of(case: Case) -> list[str]:
    """The axes of what a case works on; of boxes the shape, of pages how many there are and how they lie."""
    more = BOX if "planes" in case.axes else PAGED if "page" in case.axes else ()
    axes = case.axes
    return [
        axis
        for axis in (*WORK, *more)
        if axis in axes and (axis not in PAGED or (axis, axes[axis]) not in PLAIN)
    ]


def _axis_text(axis: str, value: str | float) -> str:
    if axis == "graph":
        return str(value)
    return f"{axis} {value}" if isinstance(value, str) else naming.number(axis, value)


def _per_operation(row: Row) -> Estimate:
    return row.time.scaled(1 / (row.operations or 1))


def _time(row: Row) -> float:
    return _per_operation(row).value


def _share(row: Row) -> float:
    return row.link_fraction or 0.0


def _time_text(row: Row) -> str:
    time_s = _per_operation(row)
    scale, unit = time_unit(time_s.value)
    each = " each" if row.operations else ""
    return metrics.with_error(f"{_digits(time_s.scaled(1 / scale))} {unit}{each}", time_s)


def _digits(value: Estimate) -> str:
    """A value with the decimals that its interval justifies."""
    return format_interval(value.value, value.low, value.high)[0]


def _times(first: float, other: float) -> str:
    """How many times as much as the first: rates are negative here."""
    ratio = other / first
    return f"{ratio:.2f} ×"


def _listed(sizes: Sequence[float]) -> str:
    said = [format_bytes(size) for size in sizes]
    return ", ".join(said[:-1]) + (" and " if len(said) > 1 else "") + said[-1] if said else "none"
