"""The texts of bars: at a bar's foot or above it, lying or written upwards."""

from matplotlib.axes import Axes

from grainscope_report.drawing import levels, style, text
from grainscope_report.figures.model import Bar, BarSeries

UPRIGHT = 1.2  # of the font's size: the least width of a bar for text written upwards


def flat(axes: Axes, series: BarSeries, bar: Bar, at: float, ink: str) -> None:
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


def room(axes: Axes, said: str, wide: float) -> bool:
    """Whether the text is narrow enough for its bar."""
    width, _ = levels.size_in_points(axes)
    low, high = axes.get_xlim()
    most = max(text.width(line, style.FINE) for line in said.split("\n"))
    return most <= wide * width / (high - low)


def _ground(colour: str | None) -> dict | None:
    return {"facecolor": colour, "edgecolor": "none", "pad": 0.3} if colour else None


def upright(axes: Axes, bar: Bar, at: float, wide: float, ink: str, ground: str | None) -> list:
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
