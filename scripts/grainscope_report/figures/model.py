"""A figure as data. Each figure is computed to this, written as CSV from this and drawn from this,
so that a picture and its table cannot disagree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from grainscope_report.figures.marks import Curve, Level, Mark, Region, Roof
from grainscope_report.figures.text_table import TablePanel
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate

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
    """One cell of a map; `own` where it is a GPU with itself; without a value its `text` says why."""

    value: Estimate | None
    text: str = ""
    own: bool = False


@dataclass(frozen=True)
class MapPanel:
    """A square of all pairs: rows are where bytes come from, columns where they go to.

    `top` is the value of the strongest colour, 0 for the map's own largest.
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


@dataclass(frozen=True)
class Dot:
    """A value in a row; `name` says what of the row it is where there is more than one kind.

    What is `aside` stands a little lower, so that it does not cover what the row is about.
    """

    value: Estimate
    method: str
    machine: Machine
    name: str = ""
    flags: frozenset[str] = frozenset()
    note: str = ""
    aside: bool = False


@dataclass(frozen=True)
class DotRow:
    """A line of dots: what it is, and which of several (`cudaMalloc`, `64 MiB`)."""

    name: str
    part: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class DotPanel:
    """Rows of dots along a horizontal axis; rows of one name follow one another and show it once.

    Where `numbered`, of one machine the value of each row's first dot is written behind it.
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


Panel = CurvePanel | BarPanel | MapPanel | DotPanel | TablePanel


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
