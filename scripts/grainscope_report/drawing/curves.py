"""Draws a panel of curves."""

from matplotlib.axes import Axes

from grainscope_report.drawing import axes as shared
from grainscope_report.drawing import style
from grainscope_report.figures.model import Curve, CurvePanel, Region


def draw(axes: Axes, panel: CurvePanel, several: bool, banded: bool) -> None:
    """Curves with their intervals, level lines, cache marks, regions."""
    values = [point.y for curve in panel.curves for point in curve.points]
    x = [point.x for curve in panel.curves for point in curve.points]
    top, bottom = max(value.high for value in values), min(value.low for value in values)
    levels, beyond = shared.on_scale(panel.levels, max(top, panel.y_top or 0.0), panel.y_log)
    top = max([top, panel.y_top or 0.0, *(level.value for level in levels)])
    labelled = len({level.name for level in levels if level.kind != "even"})
    high = top * (2.2 if panel.y_log else 1.1 + 0.03 * labelled)
    shared.y_axis(axes, bottom / 1.6, high, panel.y_log)
    shared.log2_x(axes, x, panel.x_unit, *_limits(panel, x))
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.5)
    axes.set_axisbelow(True)
    for region in panel.regions:
        _region(axes, region)
    for curve in panel.curves:
        _curve(axes, curve)
    shared.draw_levels(axes, levels, beyond, several)
    labels = [_mark(axes, mark.x, mark.name, several, mark.machine.letter) for mark in panel.marks]
    labels = [label for label in labels if label]
    labels += [
        (region.at or (region.low * region.high) ** 0.5, f"({region.letter})", style.REGIONS[region.kind])
        for region in panel.regions
    ]
    shared.band_labels(axes, labels)
    shared.title(axes, panel.title, banded)


def _limits(panel: CurvePanel, x: list[float]) -> tuple[float, float]:
    reach = [*x, *(mark.x for mark in panel.marks if min(x) / 2 <= mark.x <= max(x) * 2)]
    low, high = min(reach), max(reach)
    if low == high:
        return low / 2, high * 2
    pad = (high / low) ** 0.03
    return low / pad, high * pad


def _curve(axes: Axes, curve: Curve) -> None:
    colour = style.colour(curve.method, curve.machine.index)
    size, line = (3.4, 1.15) if curve.primary else (2.0, 0.6)
    middle = [y.value for y in curve.y]
    below = [max(0.0, y.value - y.low) for y in curve.y]
    above = [max(0.0, y.high - y.value) for y in curve.y]
    dash = style.DASHES[curve.dash if curve.label == "measured" else "dotted"]
    axes.errorbar(
        curve.x,
        middle,
        yerr=[below, above],
        color=colour,
        linestyle=dash,
        linewidth=line,
        elinewidth=0.7,
        capsize=1.6,
        capthick=0.6,
        zorder=3,
    )
    for hollow in (False, True):
        chosen = [at for at, point in enumerate(curve.points) if bool(point.flags) == hollow]
        axes.plot(
            [curve.x[at] for at in chosen],
            [middle[at] for at in chosen],
            linestyle="none",
            marker=style.marker(curve.machine.index),
            markersize=size * (1.25 if hollow else 1),
            markerfacecolor="white" if hollow else colour,
            markeredgecolor=colour,
            markeredgewidth=0.9 if hollow else 0.3,
            zorder=3.5,
        )


def _mark(axes: Axes, x: float, name: str, several: bool, letter: str) -> tuple[float, str, str] | None:
    low, high = axes.get_xlim()
    if not low <= x <= high:
        return None
    axes.axvline(x, color="#999999", linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
    return x, f"{letter} {name}" if several else f"{name} {shared.format_bytes(x)}", style.GREY


def _region(axes: Axes, region: Region) -> None:
    colour = style.REGIONS[region.kind]
    low, high = axes.get_xlim()
    if region.kind == "paper":
        # A bracket along the bottom: someone else's machine, so nothing of ours is shaded.
        axes.plot(
            [max(region.low, low), min(region.high, high)],
            [0.035, 0.035],
            transform=axes.get_xaxis_transform(),
            color=colour,
            linewidth=2.4,
            solid_capstyle="butt",
            zorder=2,
        )
        return
    widen = 2**0.25 if region.kind in ("dip", "slow") else 1
    axes.axvspan(
        max(region.low / widen, low),
        min(region.high * widen, high),
        color=colour,
        alpha=0.13,
        linewidth=0,
        zorder=0.5,
    )
    if region.kind == "crossover":
        axes.axvline(region.at, color=colour, linewidth=0.9, zorder=1.2)
