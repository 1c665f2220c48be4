"""A figure as data. Each figure is computed to this, written as CSV from this and drawn from this,
so that a picture and its table cannot disagree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from grainscope_report.figures.text_table import TablePanel
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate

Site = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Point:
    """A measured value at `x`, with the flags of its rows (`wide_interval`, `bimodal`)."""

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
class Bar:
    """One bar; without a value only its `text` is written where it would stand."""

    value: Estimate | None
    text: str = ""
    flags: frozenset[str] = frozenset()
    note: str = ""
    machine: Machine | None = None


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
    `height` is that of the axes in inches, 0 for the usual.
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


Panel = CurvePanel | BarPanel | MapPanel | TablePanel


@dataclass(frozen=True)
class Figure:
    """The panels, row by row, and the notes printed under them."""

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
