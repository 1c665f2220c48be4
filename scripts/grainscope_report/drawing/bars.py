"""Draws a panel of bars."""

from matplotlib.axes import Axes

from grainscope_report.drawing import axes as shared
from grainscope_report.drawing import levels, style, text
from grainscope_report.figures.model import Bar, BarPanel, BarSeries

FILLED = 0.78
UPRIGHT = 1.05  # of the font's size: the least width of a bar for text written upwards
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
            taken += _bar(axes, series, bar, at, wide, bases[category], panel.upright)
            if bar.value:
                taken += _filled(at, wide, min(bar.value.high, top))
                if panel.y_top and bar.value.value > panel.y_top:
                    _cut(axes, at, wide)
                bases[category] += bar.value.value if panel.stacked else 0.0
    levels.draw(axes, within, beyond, several, taken)


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
    if panel.y_top:
        return panel.y_top
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


def _bar(
    axes: Axes, series: BarSeries, bar: Bar, at: float, wide: float, base: float, upright: bool = False
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
    if bar.text and upright:
        hatch = _hatch(series)
        ground = "white" if series.label == "paper" else colour if hatch else None
        return _upright(axes, bar, at, wide, ink, ground)
    if bar.text and _room(axes, bar.text, wide):
        _text(axes, series, bar, at, ink)
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


def _ground(colour: str | None) -> dict | None:
    return {"facecolor": colour, "edgecolor": "none", "pad": 0.3} if colour else None


def _upright(axes: Axes, bar: Bar, at: float, wide: float, ink: str, ground: str | None) -> list:
    """The bar's text written upwards: within the bar where it is tall enough, on `ground`, else above it,
    and not at all where it fits neither there.

    Gives points along a text above the bar.
    """
    width, height = levels.size_in_points(axes)
    low, high = axes.get_xlim()
    if wide * width / (high - low) < style.FINE * UPRIGHT:
        return []
    top = axes.get_ylim()[1]
    needed = text.width(bar.text, style.FINE) / height + 0.05
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
