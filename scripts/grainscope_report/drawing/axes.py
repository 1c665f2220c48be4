"""Axes, level lines and the band of labels above a panel, shared by curve and bar panels."""

import itertools
import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, NullFormatter

from grainscope_report.drawing import style, text
from grainscope_report.figures.model import CurvePanel, Level, Panel
from grainscope_report.units import format_bytes, significant

TICK_GAP = 8.0
LEVEL_OFF_SCALE = 2.2


def size_in_points(axes: Axes) -> tuple[float, float]:
    """The width and height of the axes, points."""
    box = axes.get_position()
    width, height = axes.figure.get_size_inches()
    return box.width * width * 72, box.height * height * 72


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
    # Multiples of the step, so that panels with different ranges tick alike: 4 KiB, 64 KiB, 1 MiB.
    begin = first + (-first) % step if unit == "bytes" and (last - first) >= 2 * step else first
    ticks = [2.0**power for power in range(begin, last + 1, step)]
    if unit != "bytes" and len(set(values)) <= 6 and _fit_values(sorted(set(values)), spell, per_octave):
        ticks = sorted(set(values))
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([spell(tick) for tick in ticks]))
    axes.xaxis.set_minor_locator(FixedLocator([2.0**power for power in range(first, last + 1)]))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _fit(powers: Sequence[int], spell, per_octave: float) -> bool:
    return _fit_values([2.0**power for power in powers], spell, per_octave)


def _fit_values(values: Sequence[float], spell, per_octave: float) -> bool:
    widths = [text.width(spell(value), style.SMALL) for value in values]
    return all(
        math.log2(right / left) * per_octave >= (widths[at] + widths[at + 1]) / 2 + TICK_GAP
        for at, (left, right) in enumerate(itertools.pairwise(values))
    )


def y_axis(axes: Axes, low: float, high: float, log: bool) -> None:
    """A linear axis from zero, or a log one with plain numbers."""
    if not log:
        axes.set_ylim(0, high)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value)))
        return
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    decades = math.log10(high / low)
    subs = (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0) if decades > 0.7 else tuple(range(1, 10))
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def on_scale(levels: Sequence[Level], top: float, log: bool) -> tuple[list[Level], list[Level]]:
    """Levels that the axis reaches for, and those so far above the data that they would squash it."""
    reach = top * (4 if log else LEVEL_OFF_SCALE)
    return [one for one in levels if one.value <= reach], [one for one in levels if one.value > reach]


def draw_levels(axes: Axes, levels: Sequence[Level], beyond: Sequence[Level], several: bool) -> None:
    """Lines at the levels, near ones under one label; those off the scale as labels at the top."""
    for level in levels:
        colour, dash, line = style.LEVELS[level.kind]
        axes.axhline(level.value, color=colour, linestyle=dash, linewidth=line, zorder=1.5)
    width, height = size_in_points(axes)
    groups = _groups(axes, [level for level in levels if level.name], height)
    said = [text.shorten(_said(group, several), style.FINE, width - 4) for group in groups]
    for one, group, at in zip(said, groups, _level_labels(axes, groups, height), strict=True):
        _level_label(axes, one, at / height, style.LEVELS[group[0].kind][0])
    for order, group in enumerate(_by_name(beyond)):
        at = height - 5 - order * LABEL
        _level_label(
            axes, text.shorten(f"↑ {_said(group, several)}", style.FINE, width - 4), at / height, style.GREY
        )


LABEL = style.FINE * 1.25


def _level_labels(axes: Axes, groups: Sequence[Sequence[Level]], height: float) -> list[float]:
    """Where the labels stand, in points from the bottom: above their line, or below where another is near."""
    tops = [_height_of(axes, max(one.value for one in group), height) for group in groups]
    lows = [_height_of(axes, min(one.value for one in group), height) for group in groups]
    wanted = []
    for at, top in enumerate(tops):
        crowded = any(0 < other - top < LABEL * 1.1 for other in lows)
        wanted.append(lows[at] - LABEL * 0.6 if crowded and not wanted else top + LABEL * 0.6)
    return text.spread(wanted, [LABEL] * len(groups), 0, height * 1.2, 0.4)


def _level_label(axes: Axes, said: str, at: float, colour: str) -> None:
    axes.text(
        0.012,
        at,
        said,
        transform=axes.transAxes,
        fontsize=style.FINE,
        color=colour,
        va="center",
        ha="left",
        zorder=4,
        gid="level",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.4},
    )


def _height_of(axes: Axes, value: float, height: float) -> float:
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        return height * math.log(value / low) / math.log(high / low)
    return height * (value - low) / (high - low)


def _by_name(levels: Sequence[Level]) -> list[list[Level]]:
    groups: dict[tuple[str, str], list[Level]] = {}
    for level in levels:
        groups.setdefault((level.kind, level.name), []).append(level)
    return list(groups.values())


def _groups(axes: Axes, levels: Sequence[Level], height: float) -> list[list[Level]]:
    """Levels of one name whose lines are closer than a line of text share a label; lowest first."""
    groups: list[list[Level]] = []
    for same in _by_name(levels):
        started = False
        for level in sorted(same, key=lambda one: one.value):
            at = _height_of(axes, level.value, height)
            if started and at - _height_of(axes, groups[-1][-1].value, height) < LABEL:
                groups[-1].append(level)
            else:
                groups.append([level])
                started = True
    return sorted(groups, key=lambda group: group[0].value)


def _said(group: Sequence[Level], several: bool) -> str:
    """`copy peak: 54.7`, of several machines `copy peak: A 54.7, B 55.1`, of several links `54.7–55.1`."""
    values: dict[str, list[float]] = {}
    for level in group:
        values.setdefault(level.machine.letter if several and level.machine else "", []).append(level.value)
    spoken = [f"{letter} {_span(there)}".strip() for letter, there in values.items()]
    if len(set(map(_span, values.values()))) == 1 and len(values) > 1:
        spoken = [_span(next(iter(values.values())))]
    return f"{group[0].name}: {', '.join(spoken)}" if group[0].kind != "even" else group[0].name


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low}–{high}"


def band_labels(axes: Axes, labels: Sequence[tuple[float, str, str]]) -> None:
    """Short labels (x, text, colour) in a band just above the axes, spread so that none overlaps."""
    if not labels:
        return
    width, height = size_in_points(axes)
    low, high = axes.get_xlim()
    centres = [width * math.log(min(max(x, low), high) / low) / math.log(high / low) for x, _, _ in labels]
    sizes = [text.width(said, style.FINE) for _, said, _ in labels]
    placed = text.spread(centres, sizes, 0, width, 4)
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


def title(axes: Axes, said: str, banded: bool) -> None:
    """The panel's title at the left, above the band of labels where its row has one."""
    if said:
        axes.set_title(said, loc="left", fontsize=style.TEXT, pad=14 if banded else 5)


def is_banded(panel: Panel) -> bool:
    """Whether a panel has labels above its axes."""
    return isinstance(panel, CurvePanel) and bool(panel.marks or panel.regions)
