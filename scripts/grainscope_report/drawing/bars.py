"""Draws a panel of bars, with the bars' texts at their foot or above them, lying or written upwards."""

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes

from grainscope_report.drawing import scales, style
from grainscope_report.figures.model import Bar, BarPanel, BarSeries
from grainscope_report.statistics import Estimate

FILLED = 0.78
MOST_WIDE = 8  # parts that a bar has room for at their full size
GROUP_DROP = 14.0
SHARES = ("%", "share")  # stacks of these fill their panel
ROOM_ABOVE_STACKS = 0.05
PART_WHISKER = -0.3  # of a bar's width: where a part's interval stands beside that of the sum
ROOM_ABOVE_WHISKERS = 0.16  # of the panel: the text of a bar far below its whisker stands above it


def draw(axes: Axes, panel: BarPanel, several: bool) -> None:
    """Bars with their intervals and texts, level lines, one group for each category."""
    top = _top(panel)
    within, beyond, high = scales.fitted(axes, panel.levels, top, False, partial(_end, panel))
    top = max([top, *(level.value for level in within)])
    axes.set_xlim(-0.55, len(panel.categories) - 0.45)
    scales.y_axis(axes, 0, high, False)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xticks(range(len(panel.categories)), panel.categories)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(panel.y_label)
    _groups(axes, panel)
    bases = [0.0] * len(panel.categories)
    taken, intervals = [], []
    for place, series in enumerate(panel.series):
        _filled_in(axes, panel, series, place, bases)
        for category, bar in enumerate(series.bars):
            at, wide = _place(panel, category, place)
            taken += _bar(axes, series, bar, at, wide, panel.upright)
            if bar.value:
                if bar.value.high > bar.value.low:
                    beside = PART_WHISKER * wide if panel.sums else 0.0
                    intervals.append((at + beside, bar.value, bases[category] + bar.value.value))
                taken += _all_over(at, wide, min(bases[category] + bar.value.value, top))
                if panel.y_top and bar.value.value > panel.y_top:
                    _cut(axes, at, wide)
                bases[category] += bar.value.value if panel.stacked else 0.0
    sums = [(at, whole, whole.value) for at, whole in enumerate(panel.sums)]
    _whiskers(axes, intervals)
    _whiskers(axes, sums, "sum")
    taken += [point for whisker in (*intervals, *sums) for point in _along(*whisker)]
    scales.draw_levels(axes, within, beyond, several, taken)


def _end(panel: BarPanel, highest: float, room: float) -> float:
    """The end of the axis, so that above the highest value there is room for labels of lines and of bars."""
    if panel.stacked and not panel.levels:
        room = 0.0 if panel.y_unit in SHARES else ROOM_ABOVE_STACKS
    if any(bar.value and bar.value.high > 2 * bar.value.value for bars in panel.series for bar in bars.bars):
        room = max(room, ROOM_ABOVE_WHISKERS)
    return highest / (1 - room)


def _filled_in(axes: Axes, panel: BarPanel, series: BarSeries, place: int, bases: Sequence[float]) -> None:
    """The bars of a series, all at once: a call each takes twice as long."""
    there = [at for at, bar in enumerate(series.bars) if bar.value]
    if not there:
        return
    colour = _colour(series)
    exact = series.label == "measured"
    flagged = [bool(series.bars[at].flags) for at in there]
    axes.bar(
        [_place(panel, at, place)[0] for at in there],
        [series.bars[at].value.value for at in there],
        _place(panel, 0, place)[1] * 0.94,
        bottom=[bases[at] for at in there],
        color=["white" if one else colour for one in flagged],
        edgecolor=colour if exact else style.GREY,
        linewidth=[0.8 if one else 0.4 for one in flagged],
        hatch=_hatch(series),
        zorder=2,
    )


def _whiskers(axes: Axes, there: Sequence[tuple[float, Estimate, float]], gid: str | None = None) -> None:
    """Intervals at places along the axis, each around where the value ends that it is of."""
    if not there:
        return
    at, values, tops = zip(*there, strict=True)
    axes.errorbar(
        at,
        tops,
        yerr=[[one.value - one.low for one in values], [one.high - one.value for one in values]],
        fmt="none",
        ecolor="#000000",
        elinewidth=0.8,
        capsize=2,
        capthick=0.7,
        zorder=3,
        gid=gid,
    )


def _cut(axes: Axes, at: float, wide: float) -> None:
    """Two slanted white strokes across a bar that goes on beyond the axes."""
    for foot in (0.86, 0.90):
        axes.plot(
            [at - wide * 0.6, at + wide * 0.6],
            [foot, foot + 0.03],
            transform=axes.get_xaxis_transform(),
            color="white",
            linewidth=1.4,
            zorder=4,
            gid="cut",
        )


def _groups(axes: Axes, panel: BarPanel) -> None:
    """The names of runs of categories, under the categories."""
    _, height = scales.size_in_points(axes)
    drop = GROUP_DROP + style.SMALL * 1.25 * max(name.count("\n") for name in panel.categories)
    begin = 0
    for name, count in panel.groups:
        axes.text(
            begin + (count - 1) / 2,
            -drop / height,
            name,
            transform=axes.get_xaxis_transform(),
            fontsize=style.SMALL,
            ha="center",
            va="top",
            linespacing=1.1,
            gid="group",
        )
        begin += count


def _all_over(at: float, wide: float, high: float, steps: int = 24) -> list[tuple[float, float]]:
    """Points all over a bar."""
    across = [at + wide * (part / 4 - 0.5) for part in range(5)]
    return [(x, high * step / steps) for x in across for step in range(steps + 1)]


def _along(at: float, value: Estimate, end: float, steps: int = 24) -> list[tuple[float, float]]:
    """Points along a whisker."""
    low, high = end - value.value + value.low, end - value.value + value.high
    return [(at, low + (high - low) * step / steps) for step in range(steps + 1)]


def _top(panel: BarPanel) -> float:
    if panel.y_top:
        return panel.y_top
    columns = zip(*(series.bars for series in panel.series), strict=True)
    if panel.stacked:
        return max([*map(_stack_top, columns), *(whole.high for whole in panel.sums)])
    bars = [bar for column in columns for bar in column if bar.value]
    return max([*(bar.value.high for bar in bars), *(part.value.high for bar in bars for part in bar.parts)])


def _stack_top(column: Sequence[Bar]) -> float:
    """How far a stack reaches, with the whiskers of its parts."""
    base = top = 0.0
    for bar in column:
        if bar.value:
            top = max(top, base + bar.value.high)
            base += bar.value.value
    return max(top, base)


def _place(panel: BarPanel, category: int, series: int) -> tuple[float, float]:
    """The centre and width of a bar."""
    if panel.stacked:
        return category, FILLED
    wide = FILLED / len(panel.series)
    there = [order for order, one in enumerate(panel.series) if not one.bars[category].blank]
    place = there.index(series) if series in there else series
    return category + wide * (place - (len(there) - 1) / 2), wide


def _bar(
    axes: Axes, series: BarSeries, bar: Bar, at: float, wide: float, upright: bool
) -> list[tuple[float, float]]:
    """Writes a bar's text and what ran at once in it; gives points of what it writes above itself."""
    colour = _colour(series)
    ink = style.GREY
    if bar.value is not None:
        ink = style.GREY if bar.flags or series.label == "paper" else style.ink_on(colour)
        _parts(axes, bar, at, wide, colour)
    if bar.text and upright:
        hatch = _hatch(series)
        ground = "white" if series.label == "paper" else colour if hatch else None
        return upright_text(axes, bar, at, wide, ink, ground)
    if bar.text and has_room(axes, bar.text, wide):
        flat_text(axes, series, bar, at, ink)
    return []


def _colour(series: BarSeries) -> str:
    return style.colour(series.method, series.machine.index if series.machine else 0)


def _hatch(series: BarSeries) -> str | None:
    if series.label == "paper":
        return style.HATCHES["paper"]
    return style.HATCHES["modelled"] if series.hatched else None


def _parts(axes: Axes, bar: Bar, at: float, wide: float, colour: str) -> None:
    """What ran at once, side by side over the width of the bar."""
    count = len(bar.parts)
    for order, part in enumerate(bar.parts):
        axes.plot(
            [at + wide * 0.7 * ((order + 0.5) / count - 0.5)],
            [part.value.value],
            linestyle="none",
            markeredgecolor=colour,
            zorder=4,
            gid="part",
            **style.PART | {"markersize": style.PART["markersize"] * (1 if count <= MOST_WIDE else 0.6)},
        )


UPRIGHT = 1.2  # of the font's size: the least width of a bar for text written upwards


def flat_text(axes: Axes, series: BarSeries, bar: Bar, at: float, ink: str) -> None:
    """The bar's text at its foot, or above it where the bar is too short to hold it."""
    _, height = scales.size_in_points(axes)
    top = axes.get_ylim()[1]
    needed = (1 + bar.text.count("\n")) * style.FINE * 1.2 / height + 0.05
    foot = 0.025
    if bar.value is not None and bar.value.value / top < needed:
        highest = max([bar.value.high, *(part.value.high for part in bar.parts)])
        foot, ink = highest / top + 0.02, style.GREY
    boxed = series.label == "paper" and bar.value is not None and foot == 0.025
    axes.text(
        at,
        foot,
        bar.text,
        transform=axes.get_xaxis_transform(),
        fontsize=style.FINE,
        color=ink,
        ha="center",
        va="bottom",
        linespacing=1.1,
        zorder=5,
        gid="bar",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6} if boxed else None,
    )


def has_room(axes: Axes, text: str, wide: float) -> bool:
    """Whether the text is narrow enough for its bar."""
    width, _ = scales.size_in_points(axes)
    low, high = axes.get_xlim()
    most = max(style.text_width(line, style.FINE) for line in text.split("\n"))
    return most <= wide * width / (high - low)


def _ground(colour: str | None) -> dict | None:
    return {"facecolor": colour, "edgecolor": "none", "pad": 0.3} if colour else None


def upright_text(axes: Axes, bar: Bar, at: float, wide: float, ink: str, ground: str | None) -> list:
    """The bar's text written upwards: within the bar where it is tall enough, on `ground`, else above it,
    and not at all where it fits neither there.

    Gives points along a text above the bar.
    """
    width, height = scales.size_in_points(axes)
    low, high = axes.get_xlim()
    if wide * width / (high - low) < style.FINE * UPRIGHT:
        return []
    top = axes.get_ylim()[1]
    needed = style.text_width(bar.text, style.FINE) / height + 0.05
    foot = 0.02
    inside = bar.value is not None and bar.value.low / top >= needed
    if bar.value is not None and not inside:
        foot, ink = bar.value.high / top + 0.03, style.GREY
    if foot + needed > 1.05:
        return []
    axes.text(
        at,
        foot,
        bar.text,
        transform=axes.get_xaxis_transform(),
        fontsize=style.FINE,
        color=ink,
        rotation=90,
        ha="center",
        va="bottom",
        zorder=5,
        gid="bar",
        bbox=_ground(ground if inside else "white"),
    )
    if inside:
        return []
    return [(at, top * (foot + (needed - 0.05) * step / 12)) for step in range(13)]
