"""Axes, titles, the band of labels above a panel, and level lines with their labels.

A level line is a measured peak, a theoretical peak or a paper's number. Its label may stand above or below
the line, at the left, the right or in between: it takes the first place in which it covers no curve, no bar,
no interval, no other line and no other label.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import TICKDOWN
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from grainscope_report.drawing import style
from grainscope_report.figures.model import CurvePanel, Level, Panel
from grainscope_report.units import format_bytes, significant

TICK_GAP = 8.0


def log2_x(axes: Axes, values: Sequence[float], unit: str, low: float, high: float) -> None:
    """A base-2 axis ticked at powers of two: as many as fit without touching."""
    axes.set_xscale("log", base=2)
    axes.set_xlim(low, high)
    spell = format_bytes if unit == "bytes" else lambda value: f"{value:g}"
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    room, _ = size_in_points(axes)
    per_octave = room / math.log2(high / low)
    steps = (one for one in (1, 2, 4, 6, 8, 10) if _fit(range(first, last + 1, one), spell, per_octave))
    step = next(steps, max(1, last - first))
    if unit in DECIMAL and (tens := _decimals(axes, low, high)):
        axes.xaxis.set_major_locator(FixedLocator(tens))
        axes.xaxis.set_major_formatter(FixedFormatter([significant(tick) for tick in tens]))
        axes.xaxis.set_minor_locator(NullLocator())
        return
    # Multiples of the step, so that panels with different ranges tick alike: 4 KiB, 64 KiB, 1 MiB.
    begin = first + (-first) % step if unit == "bytes" and (last - first) >= 2 * step else first
    ticks = [2.0**power for power in range(begin, last + 1, step)]
    if unit != "bytes" and len(set(values)) <= 6 and _fit_values(sorted(set(values)), spell, per_octave):
        ticks = sorted(set(values))
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([spell(tick) for tick in ticks]))
    minor_ticks(axes, [2.0**power for power in range(first, last + 1)])


def minor_ticks(axes: Axes, values: Sequence[float]) -> None:
    """Short ticks without numbers along the bottom, as one line: each tick of an axis is five artists."""
    axes.xaxis.set_minor_locator(NullLocator())
    axes.plot(
        values,
        [0.0] * len(values),
        transform=axes.get_xaxis_transform(),
        clip_on=False,
        linestyle="none",
        marker=TICKDOWN,
        markersize=2.0,
        markeredgewidth=0.4,
        color="black",
        zorder=2.5,
        gid="minor",
    )


# Units of an x axis whose values are no powers of two.
DECIMAL = ("%", "ms")


def _decimals(axes: Axes, low: float, high: float) -> list[float]:
    """Ticks at 0.1, 0.2, 0.5, 1, …, or where they are too close at 0.1, 1, 10, …; none of fewer than two."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    room, _ = size_in_points(axes)
    if not _fit_values(ticks, significant, room / math.log2(high / low)):
        ticks = [tick for tick in ticks if significant(tick).strip("0.") == "1"]
    return ticks if len(ticks) > 1 else []


def _fit(powers: Sequence[int], spell, per_octave: float) -> bool:
    return _fit_values([2.0**power for power in powers], spell, per_octave)


def _fit_values(values: Sequence[float], spell, per_octave: float) -> bool:
    widths = [style.text_width(spell(value), style.SMALL) for value in values]
    return all(
        math.log2(right / left) * per_octave >= (widths[at] + widths[at + 1]) / 2 + TICK_GAP
        for at, (left, right) in enumerate(itertools.pairwise(values))
    )


def y_axis(axes: Axes, low: float, high: float, log: bool) -> None:
    """A linear axis from zero, or a log one with plain numbers."""
    if not log:
        axes.set_ylim(0, high)
        axes.yaxis.set_major_formatter(FuncFormatter(_spelled))
        return
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    decades = math.log10(high / low)
    subs = (1.0,) if decades > 3.2 else (1.0, 2.0, 5.0) if decades > 0.7 else tuple(range(1, 10))
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(_spelled))
    axes.yaxis.set_minor_locator(NullLocator())


# What numbers may take of the margin beside a panel, points: the ticks and the axis' label take the rest.
NUMBERS = style.LEFT * 72 - 21.0


def _spelled(value: float, _: int | None = None) -> str:
    """The number, or where it is so long that the axis' label would leave the page, such as `1e-5`."""
    text = significant(value)
    if style.text_width(text, style.SMALL) <= NUMBERS:
        return text
    digits, power = f"{value:.2e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def band_labels(axes: Axes, labels: Sequence[tuple[float, str, str]]) -> None:
    """Short labels (x, text, colour) in a band just above the axes, spread so that none overlaps."""
    if not labels:
        return
    width, height = size_in_points(axes)
    low, high = axes.get_xlim()
    centres = [width * math.log(min(max(x, low), high) / low) / math.log(high / low) for x, _, _ in labels]
    sizes = [style.text_width(said, style.FINE) for _, said, _ in labels]
    placed = style.spread(centres, sizes, 0, width, 4)
    for (_, said, colour), at in zip(labels, placed, strict=True):
        axes.text(
            at / width,
            1 + 3 / height,
            said,
            transform=axes.transAxes,
            fontsize=style.FINE,
            color=colour,
            ha="center",
            va="bottom",
            gid="band",
        )


def is_banded(panel: Panel) -> bool:
    """Whether a panel has labels above its axes."""
    return isinstance(panel, CurvePanel) and bool(panel.marks or panel.regions)


LABEL = style.FINE * 1.25
MARGIN = 3.0
# Beyond this much above the data a line would squash it: the label at the top says where the line is.
REACH, REACH_LOG = 2.2, 4.0
FAR = 2  # the last of these steps, in which a label may be further and further from its line
AWAY = FAR + 1

Point = tuple[float, float]
Points = NDArray[np.float64]


@dataclass(frozen=True)
class Rectangle:
    """A rectangle on the axes, points from their lower left corner."""

    left: float
    bottom: float
    width: float
    height: float = LABEL

    def holds(self, points: Points, around: float = 0.0) -> int:
        """How many of the points are inside, or as near as `around`."""
        x, y = points[:, 0], points[:, 1]
        across = (self.left - around <= x) & (x <= self.left + self.width + around)
        upright = (self.bottom - around <= y) & (y <= self.bottom + self.height + around)
        return int((across & upright).sum())

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
    return [level for level in levels if level.value <= reach], [
        level for level in levels if level.value > reach and level.name
    ]


def fitted(
    axes: Axes, levels: Sequence[Level], top: float, log: bool, end: Callable[[float, float], float]
) -> tuple[list[Level], list[Level], float]:
    """The levels on the axis, those beyond its end, and the end: `end` of the highest value and the share to
    leave free above it.

    That share may reach a level that lies too far above the data to be reached for: it is on the axis, too.
    """
    within, beyond = on_scale(levels, top, log)
    while True:
        highest = max([top, *(level.value for level in within)])
        high = end(highest, room_above(axes, within, beyond))
        reached = [level for level in beyond if level.value <= high]
        if not reached:
            return within, beyond, high
        within += reached
        beyond = [level for level in beyond if level.value > high]


def room_above(axes: Axes, levels: Sequence[Level], beyond: Sequence[Level]) -> float:
    """The share of the axes to leave free at the top for labels."""
    _, height = size_in_points(axes)
    lines = len(_by_name(beyond)) + (0.9 if any(level.name for level in levels) else 0)
    return lines * LABEL / height + 0.05


def draw_levels(
    axes: Axes,
    levels: Sequence[Level],
    beyond: Sequence[Level],
    several: bool,
    taken: Sequence[Point],
    around: float = 0.0,
) -> None:
    """Draws the lines with their labels; `taken` are points, in data coordinates, to keep clear of, and
    `around` is how far what is drawn there reaches.
    """
    for level in levels:
        colour, dash, line = style.LEVELS[level.kind]
        axes.axhline(level.value, color=colour, linestyle=dash, linewidth=line, zorder=1.5)
    width, height = size_in_points(axes)
    clear = in_points(axes, taken)
    lines = [_height_of(axes, level.value) for level in levels]
    placed: list[Rectangle] = []
    for order, group in enumerate(_by_name(beyond)):
        text = style.shorten(f"↑ {_said(group, several)}", style.FINE, width - 2 * MARGIN)
        spot = Rectangle(MARGIN, height - (order + 1) * LABEL, style.text_width(text, style.FINE))
        _write(axes, text, spot, style.GREY)
        placed.append(spot)
    for group in reversed(_groups(axes, [level for level in levels if level.name])):
        text, spot = _label(
            axes, group, several, lines, lambda spot: _cost(spot, clear, around, lines, placed, height)
        )
        _write(axes, text, spot, style.LEVELS[group[0].kind][0])
        placed.append(spot)


def in_points(axes: Axes, points: Sequence[Point]) -> Points:
    """Data points as points from the lower left corner of the axes, a row each."""
    if not points:
        return np.empty((0, 2))
    found = axes.transAxes.inverted().transform(axes.transData.transform(points))
    return found * size_in_points(axes)


def _label(
    axes: Axes,
    group: Sequence[Level],
    several: bool,
    lines: Sequence[float],
    cost: Callable[[Rectangle], tuple[float, int]],
) -> tuple[str, Rectangle]:
    """The text and the place of a label: the first that cover nothing, else those that cover least.

    Where the values of several machines are in the way, their range is written; then places further away,
    at last anywhere on the axes, with an arrow to where the line is.
    """
    width, _ = size_in_points(axes)
    texts = dict.fromkeys((_said(group, several), _said(group, False)))
    line = _height_of(axes, max(level.value for level in group))
    best: tuple[tuple[float, int], str, Rectangle] | None = None
    for away in range(AWAY):
        for said in texts:
            text = style.shorten(f"{'↓ ' * (away == FAR)}{said}", style.FINE, width - 2 * MARGIN)
            for spot in _spots(axes, group, style.text_width(text, style.FINE), lines, away):
                if best is None or cost(spot) < best[0]:
                    best = cost(spot), text if spot.bottom > line else text.replace("↓", "↑", 1), spot
            covered, _ = best[0]
            if not covered:
                return best[1:]
    return best[1:]


def _spots(
    axes: Axes, group: Sequence[Level], wide: float, lines: Sequence[float], away: int
) -> list[Rectangle]:
    """The places for a label, the preferred first: above its line, below it, above lines crowded there.

    Further `away` are places a line of text higher or lower, and more of them along the line; then those any
    number of lines away, the nearest first.
    """
    width, height = size_in_points(axes)
    top = _height_of(axes, max(level.value for level in group))
    below = _height_of(axes, min(level.value for level in group)) - LABEL - 0.4
    crowd = top
    for line in sorted(lines):
        if crowd < line < crowd + LABEL * 1.3:
            crowd = line
    shares = [step / 16 for step in range(17)] if away else [0.5, 0.75, 0.25]
    sides = (MARGIN, width - MARGIN - wide, *((width - wide) * share for share in shares))
    heights = [top + 0.8, below, crowd + 0.8]
    heights += [crowd + 0.8 + LABEL, below - LABEL] if away else []
    if away < FAR:
        return [Rectangle(left, bottom, wide) for left in sides for bottom in heights]
    far = range(2, math.ceil(height / LABEL))
    heights = [bottom for step in far for bottom in (crowd + 0.8 + step * LABEL, below - step * LABEL)]
    # Beside another line it would be read as that one's.
    clear = [
        bottom
        for bottom in heights
        if not any(bottom - MARGIN < line < bottom + LABEL + MARGIN for line in lines)
    ]
    return [Rectangle(left, bottom, wide) for bottom in clear for left in sides]


def _cost(
    spot: Rectangle,
    clear: Points,
    around: float,
    lines: Sequence[float],
    placed: Sequence[Rectangle],
    top: float,
) -> tuple[float, int]:
    """What a label there covers, and what it is near."""
    covered = spot.holds(clear) + 40 * sum(spot.bottom < line < spot.bottom + spot.height for line in lines)
    outside = spot.bottom < 0 or spot.bottom + spot.height > top + LABEL
    covered += 1000 * outside + 1000 * any(map(spot.meets, placed))
    return covered, spot.holds(clear, around)


def _write(axes: Axes, text: str, spot: Rectangle, colour: str) -> None:
    width, height = size_in_points(axes)
    axes.text(
        spot.left / width,
        (spot.bottom + spot.height / 2) / height,
        text,
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
    for level in sorted(group, key=lambda each_level: each_level.machine.index if each_level.machine else 0):
        values.setdefault(level.machine.letter if several and level.machine else "", []).append(level.value)
    spoken = [f"{letter} {_span(there)}".strip() for letter, there in values.items()]
    if len(values) > 1 and len(set(map(_span, values.values()))) == 1:
        spoken = [_span(next(iter(values.values())))]
    return f"{group[0].name}: {', '.join(spoken)}"


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low}–{high}"
