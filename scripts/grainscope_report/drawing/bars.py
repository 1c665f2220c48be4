"""Draws a panel of bars."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from grainscope_report.drawing import axes as shared
from grainscope_report.drawing import bar_texts, levels, style
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
    within, beyond = levels.on_scale(panel.levels, top, False)
    top = max([top, *(level.value for level in within)])
    room = levels.room_above(axes, within, beyond)
    if panel.stacked and not panel.levels:
        room = 0.0 if panel.y_unit in SHARES else ROOM_ABOVE_STACKS
    if any(bar.value and bar.value.high > 2 * bar.value.value for one in panel.series for bar in one.bars):
        room = max(room, ROOM_ABOVE_WHISKERS)
    axes.set_xlim(-0.55, len(panel.categories) - 0.45)
    shared.y_axis(axes, 0, top / (1 - room), False)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xticks(range(len(panel.categories)), panel.categories)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(panel.y_label)
    _groups(axes, panel)
    bases = [0.0] * len(panel.categories)
    taken = []
    for place, series in enumerate(panel.series):
        for category, bar in enumerate(series.bars):
            at, wide = _place(panel, category, place)
            beside = PART_WHISKER * wide if panel.sums else 0.0
            taken += _bar(axes, series, bar, at, wide, bases[category], panel.upright, beside)
            if bar.value:
                taken += _filled(at, wide, min(bar.value.high, top))
                if panel.y_top and bar.value.value > panel.y_top:
                    _cut(axes, at, wide)
                bases[category] += bar.value.value if panel.stacked else 0.0
    for category, whole in enumerate(panel.sums):
        _whisker(axes, category, whole, whole.value, "sum")
    levels.draw(axes, within, beyond, several, taken)


def _whisker(axes: Axes, at: float, value: Estimate, top: float, gid: str | None = None) -> None:
    """An interval around `top`, where the value ends that it is of."""
    axes.errorbar(
        at,
        top,
        yerr=[[value.value - value.low], [value.high - value.value]],
        color="#000000",
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
    _, height = levels.size_in_points(axes)
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


def _filled(at: float, wide: float, high: float, steps: int = 24) -> list[tuple[float, float]]:
    """Points all over a bar."""
    across = [at + wide * (part / 4 - 0.5) for part in range(5)]
    return [(x, high * step / steps) for x in across for step in range(steps + 1)]


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
    return category - FILLED / 2 + wide * (series + 0.5), wide


def _bar(
    axes: Axes,
    series: BarSeries,
    bar: Bar,
    at: float,
    wide: float,
    base: float,
    upright: bool = False,
    beside: float = 0.0,
) -> list[tuple[float, float]]:
    """Draws a bar with its interval and text; gives points of what it writes above itself."""
    colour = style.colour(series.method, series.machine.index if series.machine else 0)
    ink = style.GREY
    if bar.value is not None:
        exact = series.label == "measured"
        axes.bar(
            at,
            bar.value.value,
            wide * 0.94,
            bottom=base,
            color="white" if bar.flags else colour,
            edgecolor=colour if exact else style.GREY,
            linewidth=0.8 if bar.flags else 0.4,
            hatch=_hatch(series),
            zorder=2,
        )
        if bar.value.high > bar.value.low:
            _whisker(axes, at + beside, bar.value, base + bar.value.value)
        ink = style.GREY if bar.flags or series.label == "paper" else style.ink_on(colour)
        _parts(axes, bar, at, wide, colour)
    if bar.text and upright:
        hatch = _hatch(series)
        ground = "white" if series.label == "paper" else colour if hatch else None
        return bar_texts.upright(axes, bar, at, wide, ink, ground)
    if bar.text and bar_texts.room(axes, bar.text, wide):
        bar_texts.flat(axes, series, bar, at, ink)
    return []


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
