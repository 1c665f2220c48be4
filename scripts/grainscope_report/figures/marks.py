"""What stands on a panel's axes, as data: curves of points, lines, marks, roofs, regions."""

from dataclasses import dataclass

from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate

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
