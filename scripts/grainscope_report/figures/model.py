"""A figure as data: marks, panels, tables, and the entry that says which rows a figure needs.

Each figure is computed to this, written as CSV from this and drawn from this, so that a picture and its table
cannot disagree.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from grainscope_report import naming
from grainscope_report.machine import Machine, asked_for
from grainscope_report.model import MODEL
from grainscope_report.statistics import Estimate
from grainscope_report.writing import in_markdown

Site = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Point:
    """A measured value at `x`, with the flags of its rows (`wide_interval`, `bimodal`, `slower_alone`)."""

    x: float
    y: Estimate
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Curve:
    """Points of one method on one machine and site; `primary` is false for further sites of the same.

    `axes` are those that all points share. Without `marked` the line alone is drawn: what follows from
    measured points, or a model's.
    """

    name: str
    method: str
    machine: Machine
    points: tuple[Point, ...]
    dash: str = "solid"
    locality: str = ""
    site: Site = ()
    config: str = ""
    axes: tuple[tuple[str, str | float], ...] = ()
    label: str = "measured"
    primary: bool = True
    marked: bool = True

    @property
    def x(self) -> tuple[float, ...]:
        """The positions of the points."""
        return tuple(point.x for point in self.points)

    @property
    def y(self) -> tuple[Estimate, ...]:
        """The estimates of the points."""
        return tuple(point.y for point in self.points)


@dataclass(frozen=True)
class Level:
    """A horizontal line: a measured copy peak or two, a theoretical peak, or a number of a paper."""

    kind: str
    name: str
    value: float
    machine: Machine | None = None
    site: Site = ()
    source: str = ""


@dataclass(frozen=True)
class Mark:
    """A vertical line with a short name: a cache's size, the reach of translations."""

    name: str
    x: float
    machine: Machine
    kind: str = "cache"


@dataclass(frozen=True)
class Roof:
    """What a method cannot beat: so many requests in flight, each of a grain and a latency.

    `points` are grain and GB/s; the line between them is straight in log-log.
    """

    name: str
    method: str
    points: tuple[tuple[float, float], ...]
    machine: Machine
    note: str


@dataclass(frozen=True)
class Region:
    """A stretch of the x axis, explained in the notes under its `letter`: a crossover, a dip, a range.

    A `method` lends it the colour of that method's curve.
    """

    kind: str
    low: float
    high: float
    text: str
    at: float | None = None
    letter: str = ""
    machine: Machine | None = None
    source: str = ""
    method: str = ""


@dataclass(frozen=True)
class TableCell:
    """The text of a cell and the number behind it, in `unit`; `label` says what it is where there is one."""

    text: str
    value: Estimate | None = None
    unit: str = ""
    label: str = ""


@dataclass(frozen=True)
class TableRow:
    """A line: what it is about, as words, then its cells; `machine` is the file that it comes from."""

    name: str
    cells: tuple[TableCell, ...]
    machine: Machine | None = None


@dataclass(frozen=True)
class TablePanel:
    """Lines under the names of the columns; the first column holds the rows' names.

    `right` says of each column but the first whether it is one of numbers, which stand right.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    right: tuple[bool, ...]
    paper: bool = False
    width: float = 1.0
    levels: tuple = ()
    y_label: str = ""
    y_unit: str = ""


def table_texts(panel: TablePanel) -> list[list[str]]:
    """Every line as its texts, the heading first."""
    return [list(panel.columns), *([row.name, *(cell.text for cell in row.cells)] for row in panel.rows)]


def table_markdown(panel: TablePanel) -> str:
    """The table in Markdown, its title above."""
    head, *lines = [[in_markdown(text) for text in line] for line in table_texts(panel)]
    marks = [":--", *("--:" if right else ":--" for right in panel.right)]
    written = [f"| {' | '.join(line)} |" for line in (head, marks, *lines)]
    return "\n".join([f"### {in_markdown(panel.title)}", "", *written, ""])


def table_numbers(panel: TablePanel) -> Iterator[dict]:
    """The cells that are numbers, as rows of the CSV: the line in `series`, the column in `x`."""
    for row in panel.rows:
        for column, cell in zip(panel.columns[1:], row.cells, strict=True):
            if cell.value is not None:
                yield {
                    "kind": "paper" if panel.paper else "cell",
                    "series": row.name,
                    "machine": row.machine.label if row.machine else None,
                    "x": column,
                    "y": cell.value.value,
                    "y_low": cell.value.low,
                    "y_high": cell.value.high,
                    "y_unit": cell.unit,
                    "label": cell.label,
                }


WHOLE = 2.0  # the width of a panel alone in its row, in panels


def exact(value: float) -> Estimate:
    """A number without an interval."""
    return Estimate(value, value, value)


@dataclass(frozen=True)
class CurvePanel:
    """Curves over sizes or counts."""

    title: str
    curves: tuple[Curve, ...]
    y_label: str = "bandwidth (GB/s)"
    y_unit: str = "GB/s"
    x_label: str = "size"
    x_unit: str = "bytes"
    y_log: bool = False
    levels: tuple[Level, ...] = ()
    marks: tuple[Mark, ...] = ()
    regions: tuple[Region, ...] = ()
    roofs: tuple[Roof, ...] = ()
    short: bool = False
    y_top: float | None = None
    x_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Part:
    """One of several things at once whose bar is all of them together: `gpu0_to_host`, its rate."""

    name: str
    value: Estimate


@dataclass(frozen=True)
class Bar:
    """One bar; without a value only its `text` is written where it would stand.

    A `blank` one has no place: a series that has nothing to do with this category.
    """

    value: Estimate | None
    text: str = ""
    flags: frozenset[str] = frozenset()
    note: str = ""
    machine: Machine | None = None
    parts: tuple[Part, ...] = ()
    blank: bool = False


@dataclass(frozen=True)
class BarSeries:
    """One bar for each category of the panel; `method` gives the colour.

    Modelled bars beside measured ones, or in the same figure, are `hatched`.
    """

    name: str
    method: str
    bars: tuple[Bar, ...]
    machine: Machine | None = None
    label: str = "measured"
    source: str = ""
    hatched: bool = False


@dataclass(frozen=True)
class BarPanel:
    """Bars side by side, or on top of each other where `stacked`.

    `groups` names runs of categories, with how many each, in a second line under the axis. Where `upright`
    the bars' texts are written upwards, so that narrow bars can have them. Bars beyond `y_top` are cut;
    `height` is that of the axes in inches, 0 for the usual. `sums` are the wholes of stacked bars with their
    own intervals, which do not follow from the parts'.
    """

    title: str
    categories: tuple[str, ...]
    series: tuple[BarSeries, ...]
    y_label: str
    y_unit: str
    stacked: bool = False
    levels: tuple[Level, ...] = ()
    width: float = 1.0
    groups: tuple[tuple[str, int], ...] = ()
    upright: bool = False
    y_top: float | None = None
    height: float = 0.0
    sums: tuple[Estimate, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One cell of a map; `own` where it is a GPU with itself; without a value its `text` says why.

    A `method` lends it its colour, and `name` says what it is called.
    """

    value: Estimate | None
    text: str = ""
    own: bool = False
    method: str = ""
    name: str = ""
    note: str = ""


@dataclass(frozen=True)
class MapPanel:
    """A square of all pairs: rows are where bytes come from, columns where they go to.

    `top` is the value of the strongest colour, 0 for the map's own largest. Where `columns` has names, rows
    and columns are of different things.
    """

    title: str
    names: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    machine: Machine
    y_label: str = "from"
    x_label: str = "to"
    y_unit: str = "GB/s"
    width: float = 1.0
    top: float = 0.0
    levels: tuple[Level, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dot:
    """A value in a row; `name` says what of the row it is where there is more than one kind.

    What is `aside` stands a little lower, so that it does not cover what the row is about. What is modelled
    is a ring, which goes around the dot of the same value.
    """

    value: Estimate
    method: str
    machine: Machine
    name: str = ""
    flags: frozenset[str] = frozenset()
    note: str = ""
    aside: bool = False
    label: str = "measured"


@dataclass(frozen=True)
class DotRow:
    """A line of dots: what it is, and which of several (`cudaMalloc`, `64 MiB`)."""

    name: str
    part: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class DotPanel:
    """Rows of dots along a horizontal axis; rows of one name follow one another and show it once.

    Where `numbered`, of one machine the value of each row's first dot is written behind it. Unless `named`,
    the rows are those of the panel to the left, which has their names. Where `headed`, names of rows with
    parts stand above them, on lines without dots.
    """

    title: str
    rows: tuple[DotRow, ...]
    x_label: str
    y_unit: str
    log: bool = False
    numbered: bool = True
    levels: tuple[Level, ...] = ()
    width: float = 1.5
    y_label: str = ""
    named: bool = True
    headed: bool = False


@dataclass(frozen=True)
class Span:
    """A stretch of time in the unit of its panel, and which steps are done in it, first and last."""

    first: int
    last: int
    begin: float
    end: float

    name = property(lambda self: f"{self.first}" + (f"–{self.last}" if self.last > self.first else ""))


@dataclass(frozen=True)
class SpanRow:
    """A lane and when it worked, as far as it is drawn; `working` is its share of all the time, with a text.

    Of several lanes of one `name`, such as a GPU, `part` tells which.
    """

    name: str
    part: str
    method: str
    machine: Machine
    spans: tuple[Span, ...]
    working: TableCell


@dataclass(frozen=True)
class SpanPanel:
    """Lanes below each other over a stretch of time, `x_range`; rows of one name follow one another."""

    title: str
    rows: tuple[SpanRow, ...]
    x_range: tuple[float, float]
    x_label: str = "time from the beginning of the run (ms)"
    y_label: str = ""
    y_unit: str = "ms"
    width: float = 1.0
    levels: tuple[Level, ...] = ()


# What is said of one thing: words that stay together, on one line where they have room.
Said = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """A node or a GPU of a diagram: its name, and what is said of it within its box.

    A GPU hangs at the node of the name `at`, for certain where `sure`. `link` is said of that link, `peers`
    of those to other GPUs; the first words of both are what the link is.
    """

    name: str
    said: tuple[Said, ...]
    at: str = ""
    sure: bool = True
    link: tuple[Said, ...] = ()
    peers: tuple[Said, ...] = ()


@dataclass(frozen=True)
class Joint:
    """What joins GPUs: all at one thing that has a name, or two by so many `links`."""

    places: tuple[str, ...]
    name: str = ""
    links: int = 1


@dataclass(frozen=True)
class Flow:
    """What goes from one place to another, in GB/s; none where it was not measured. `note`: by which case."""

    source: str
    target: str
    value: Estimate | None
    note: str = ""


@dataclass(frozen=True)
class DiagramPanel:
    """A machine as boxes and lines: nodes at the left, GPUs beside theirs, what joins GPUs at the right."""

    title: str
    nodes: tuple[Place, ...]
    gpus: tuple[Place, ...]
    joints: tuple[Joint, ...]
    flows: tuple[Flow, ...]
    machine: Machine
    y_label: str = ""
    y_unit: str = "GB/s"
    width: float = WHOLE
    levels: tuple[Level, ...] = ()


Panel = CurvePanel | BarPanel | MapPanel | DotPanel | SpanPanel | TablePanel | DiagramPanel


@dataclass(frozen=True)
class Figure:
    """The panels, row by row, and the notes printed under them; without a `title` it has its entry's."""

    machines: Sequence[Machine]
    rows: tuple[tuple[Panel, ...], ...]
    notes: tuple[str, ...] = ()
    id: str = ""
    stem: str = ""
    title: str = ""
    families: tuple[str, ...] = field(default=())
    subtitle: tuple[str, ...] = ()

    @property
    def panels(self) -> list[Panel]:
        """All panels in reading order."""
        return [panel for row in self.rows for panel in row]


@dataclass(frozen=True)
class Entry:
    """One figure: number, file stem, title, the families it is about, and what it needs of them in words.

    `beside` are families drawn beside the figure's own, which alone do not make it. A figure without families
    of its own takes all `but` these and what is modelled.
    """

    id: str
    stem: str
    title: str
    families: tuple[str, ...]
    needs: str
    build: Callable[[Sequence[Machine]], Figure]
    beside: tuple[str, ...] = ()
    but: frozenset[str] = frozenset()

    def of(self, machines: Iterable[Machine]) -> tuple[str, ...]:
        """The families that it is about on these machines."""
        if self.families:
            return self.families
        names = dict.fromkeys(row.case.family for machine in machines for row in machine.result.rows)
        return tuple(name for name in names if name not in self.but and not name.startswith(MODEL))


def why_absent(entry: Entry, machines: Sequence[Machine]) -> str:
    """One line: which rows a figure without data lacks, and why."""
    about = _listed(entry.families) if entry.families else "a family that no other figure shows"
    return f"figure {entry.id}: no {entry.needs} of {about}: {why_not(entry, machines)}"


def why_not(entry: Entry, machines: Sequence[Machine]) -> str:
    """Why a figure has no data: its rows are of other use, failed, were skipped or were not asked for."""
    rows = [row for machine in machines for row in machine.result.of(*entry.of(machines))]
    why = []
    if there := sum(row.ok for row in rows):
        why.append(
            "the 1 ok row there answers other questions"
            if there == 1
            else f"the {there} ok rows there answer other questions"
        )
    for status in ("failed", "skipped"):
        reason = naming.main_reason(row.reason for row in rows if row.status == status)
        why += [f"{status}, {reason}"] if reason else []
    if not rows:
        asked = dict.fromkeys(asked_for(machine.result.run) for machine in machines)
        why.append(f"not part of this run ({'; '.join(asked)})")
    return "; ".join(why)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
