"""Axes, titles and the band of labels above a panel, shared by curve and bar panels."""

import itertools
import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import TICKDOWN
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, NullLocator

from grainscope_report.drawing import style, text
from grainscope_report.drawing.levels import size_in_points
from grainscope_report.figures.model import CurvePanel, Panel
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
    if unit == "%":
        _percents(axes, low, high)
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


def _percents(axes: Axes, low: float, high: float) -> None:
    """Ticks at 0.1, 0.2, 0.5, 1, …: percent are no powers of two."""
    ticks = [step * 10.0**power for power in range(-4, 4) for step in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    room, _ = size_in_points(axes)
    if not _fit_values(ticks, significant, room / math.log2(high / low)):
        ticks = [tick for tick in ticks if significant(tick).strip("0.") == "1"]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([significant(tick) for tick in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())


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
    subs = (1.0,) if decades > 3.2 else (1.0, 2.0, 5.0) if decades > 0.7 else tuple(range(1, 10))
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value)))
    axes.yaxis.set_minor_locator(NullLocator())


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


def is_banded(panel: Panel) -> bool:
    """Whether a panel has labels above its axes."""
    return isinstance(panel, CurvePanel) and bool(panel.marks or panel.regions)
