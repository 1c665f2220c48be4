"""Draws a panel of bars."""

from matplotlib.axes import Axes

from grainscope_report.drawing import axes as shared
from grainscope_report.drawing import levels, style, text
from grainscope_report.figures.model import Bar, BarPanel, BarSeries

FILLED = 0.78
MOST_WIDE = 8  # parts that a bar has room for at their full size
GROUP_DROP = 14.0
ROOM_ABOVE_WHISKERS = 0.16  # of the panel: the text of a bar far below its whisker stands above it


def draw(axes: Axes, panel: BarPanel, several: bool) -> None:
    """Bars with their intervals and texts, level lines, one group for each category."""
    top = _top(panel)
    within, beyond = levels.on_scale(panel.levels, top, False)
    top = max([top, *(level.value for level in within)])
    room = 0.0 if panel.stacked else levels.room_above(axes, within, beyond)
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
            _bar(axes, series, bar, at, wide, bases[category])
            if bar.value:
                taken += _filled(at, wide, bar.value.high)
                bases[category] += bar.value.value if panel.stacked else 0.0
    levels.draw(axes, within, beyond, several, taken)


def _groups(axes: Axes, panel: BarPanel) -> None:
    """The names of runs of categories, under the categories."""
    _, height = levels.size_in_points(axes)
    begin = 0
    for name, count in panel.groups:
        axes.text(
            begin + (count - 1) / 2,
            -GROUP_DROP / height,
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
    columns = zip(*(series.bars for series in panel.series), strict=True)
    if panel.stacked:
        return max(sum(bar.value.value for bar in column if bar.value) for column in columns)
    bars = [bar for column in columns for bar in column if bar.value]
    return max([*(bar.value.high for bar in bars), *(part.value.high for bar in bars for part in bar.parts)])


def _place(panel: BarPanel, category: int, series: int) -> tuple[float, float]:
    """The centre and width of a bar."""
    if panel.stacked:
        return category, FILLED
    wide = FILLED / len(panel.series)
    return category - FILLED / 2 + wide * (series + 0.5), wide


def _bar(axes: Axes, series: BarSeries, bar: Bar, at: float, wide: float, base: float) -> None:
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
            hatch=None if exact else "////" if series.label == "paper" else None,
            zorder=2,
        )
        if bar.value.high > bar.value.low:
            below, above = bar.value.value - bar.value.low, bar.value.high - bar.value.value
            axes.errorbar(
                at,
                base + bar.value.value,
                yerr=[[below], [above]],
                color="#000000",
                elinewidth=0.8,
                capsize=2,
                capthick=0.7,
                zorder=3,
            )
        ink = style.GREY if bar.flags or series.label == "paper" else style.ink_on(colour)
        _parts(axes, bar, at, wide, colour)
    if bar.text and _room(axes, bar.text, wide):
        _text(axes, series, bar, at, ink)


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


def _text(axes: Axes, series: BarSeries, bar: Bar, at: float, ink: str) -> None:
    """The bar's text at its foot, or above it where the bar is too short to hold it."""
    _, height = levels.size_in_points(axes)
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


def _room(axes: Axes, said: str, wide: float) -> bool:
    """Whether the text is narrow enough for its bar."""
    width, _ = levels.size_in_points(axes)
    low, high = axes.get_xlim()
    most = max(text.width(line, style.FINE) for line in said.split("\n"))
    return most <= wide * width / (high - low)
