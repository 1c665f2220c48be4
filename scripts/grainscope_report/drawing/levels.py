"""Level lines (measured peak, theoretical peak, a paper's number) and where their labels stand.

A label may stand above or below its line, at the left, the right or in the middle: it takes the
first place in which it covers no curve, no bar, no other line and no other label.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from grainscope_report.drawing import style, text
from grainscope_report.figures.model import Level

LABEL = style.FINE * 1.25
MARGIN = 3.0
# Beyond this much above the data a line would squash it: the label at the top says where the line is.
REACH, REACH_LOG = 2.2, 4.0

Point = tuple[float, float]
Points = NDArray[np.float64]


@dataclass(frozen=True)
class Rectangle:
    """A rectangle on the axes, points from their lower left corner."""

    left: float
    bottom: float
    width: float
    height: float = LABEL

    def holds(self, points: Points) -> int:
        """How many of the points are inside."""
        x, y = points[:, 0], points[:, 1]
        across = (self.left <= x) & (x <= self.left + self.width)
        return int((across & (self.bottom <= y) & (y <= self.bottom + self.height)).sum())

    def meets(self, other: "Rectangle") -> bool:
        """Whether the two overlap."""
        apart = self.left + self.width <= other.left or other.left + other.width <= self.left
        return (
            not apart
            and self.bottom < other.bottom + other.height
            and other.bottom < self.bottom + self.height
        )


def size_in_points(axes: Axes) -> tuple[float, float]:
    """The width and height of the axes, points."""
    box = axes.get_position()
    width, height = axes.figure.get_size_inches()
    return box.width * width * 72, box.height * height * 72


def on_scale(levels: Sequence[Level], top: float, log: bool) -> tuple[list[Level], list[Level]]:
    """Levels that the axis reaches for, and those too far above the data, which only their names show."""
    reach = top * (REACH_LOG if log else REACH)
    return [one for one in levels if one.value <= reach], [
        one for one in levels if one.value > reach and one.name
    ]


def room_above(axes: Axes, levels: Sequence[Level], beyond: Sequence[Level]) -> float:
    """The share of the axes to leave free at the top for labels."""
    _, height = size_in_points(axes)
    lines = len(_by_name(beyond)) + (0.9 if any(level.name for level in levels) else 0)
    return lines * LABEL / height + 0.05


def draw(
    axes: Axes, levels: Sequence[Level], beyond: Sequence[Level], several: bool, taken: Sequence[Point]
) -> None:
    """Draws the lines with their labels; `taken` are points, in data coordinates, to keep clear of."""
    for level in levels:
        colour, dash, line = style.LEVELS[level.kind]
        axes.axhline(level.value, color=colour, linestyle=dash, linewidth=line, zorder=1.5)
    width, height = size_in_points(axes)
    clear = in_points(axes, taken)
    lines = [_height_of(axes, level.value) for level in levels]
    placed: list[Rectangle] = []
    for order, group in enumerate(_by_name(beyond)):
        said = text.shorten(f"↑ {_said(group, several)}", style.FINE, width - 2 * MARGIN)
        spot = Rectangle(MARGIN, height - (order + 1) * LABEL, text.width(said, style.FINE))
        _write(axes, said, spot, style.GREY)
        placed.append(spot)
    for group in reversed(_groups(axes, [level for level in levels if level.name])):
        said = text.shorten(_said(group, several), style.FINE, width - 2 * MARGIN)
        spot = _best(_spots(axes, group, text.width(said, style.FINE), lines), clear, lines, placed, height)
        _write(axes, said, spot, style.LEVELS[group[0].kind][0])
        placed.append(spot)


def in_points(axes: Axes, points: Sequence[Point]) -> Points:
    """Data points as points from the lower left corner of the axes, a row each."""
    if not points:
        return np.empty((0, 2))
    found = axes.transAxes.inverted().transform(axes.transData.transform(points))
    return found * size_in_points(axes)


def _spots(axes: Axes, group: Sequence[Level], wide: float, lines: Sequence[float]) -> list[Rectangle]:
    """The places for a label, the preferred first: above its line, below it, above lines crowded there."""
    width, _ = size_in_points(axes)
    top = _height_of(axes, max(one.value for one in group))
    below = _height_of(axes, min(one.value for one in group)) - LABEL - 0.4
    crowd = top
    for line in sorted(lines):
        if crowd < line < crowd + LABEL * 1.3:
            crowd = line
    sides = (MARGIN, width - MARGIN - wide, (width - wide) / 2)
    heights = (top + 0.8, below, crowd + 0.8)
    return [Rectangle(left, bottom, wide) for left in sides for bottom in heights]


def _best(
    spots: Sequence[Rectangle], clear: Points, lines: Sequence[float], placed: Sequence[Rectangle], top: float
) -> Rectangle:
    def cost(spot: Rectangle) -> float:
        covered = spot.holds(clear) + 40 * sum(
            spot.bottom < line < spot.bottom + spot.height for line in lines
        )
        outside = spot.bottom < 0 or spot.bottom + spot.height > top + LABEL
        return covered + 1000 * outside + 1000 * any(map(spot.meets, placed))

    return min(spots, key=cost)


def _write(axes: Axes, said: str, spot: Rectangle, colour: str) -> None:
    width, height = size_in_points(axes)
    axes.text(
        spot.left / width,
        (spot.bottom + spot.height / 2) / height,
        said,
        transform=axes.transAxes,
        fontsize=style.FINE,
        color=colour,
        va="center_baseline",
        ha="left",
        zorder=4,
        gid="level",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3},
    )


def _height_of(axes: Axes, value: float) -> float:
    _, height = size_in_points(axes)
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        return height * math.log(value / low) / math.log(high / low)
    return height * (value - low) / (high - low)


def _by_name(levels: Sequence[Level]) -> list[list[Level]]:
    groups: dict[tuple[str, str], list[Level]] = {}
    for level in levels:
        groups.setdefault((level.kind, level.name), []).append(level)
    return list(groups.values())


def _groups(axes: Axes, levels: Sequence[Level]) -> list[list[Level]]:
    """Levels of one name whose lines are closer than a line of text share a label; lowest first."""
    groups: list[list[Level]] = []
    for same in _by_name(levels):
        started = False
        for level in sorted(same, key=lambda one: one.value):
            near = started and _height_of(axes, level.value) - _height_of(axes, groups[-1][-1].value) < LABEL
            if near:
                groups[-1].append(level)
            else:
                groups.append([level])
            started = True
    return sorted(groups, key=lambda group: group[0].value)


def _said(group: Sequence[Level], several: bool) -> str:
    """`copy peak: 54.7`, of several machines `copy peak: A 54.7, B 55.1`, of several links `54.7–55.1`."""
    if group[0].kind == "even":
        return group[0].name
    values: dict[str, list[float]] = {}
    for level in sorted(group, key=lambda one: one.machine.index if one.machine else 0):
        values.setdefault(level.machine.letter if several and level.machine else "", []).append(level.value)
    spoken = [f"{letter} {_span(there)}".strip() for letter, there in values.items()]
    if len(values) > 1 and len(set(map(_span, values.values()))) == 1:
        spoken = [_span(next(iter(values.values())))]
    return f"{group[0].name}: {', '.join(spoken)}"


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low}–{high}"
