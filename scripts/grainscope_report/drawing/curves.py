"""Draws a panel of curves."""

import itertools

from matplotlib.axes import Axes

from grainscope_report.drawing import scales, style
from grainscope_report.figures.model import Curve, CurvePanel, Level, Region
from grainscope_report.units import format_bytes

# Regions with a line where they are most likely.
LINED = ("crossover", "knee")


def draw(axes: Axes, panel: CurvePanel, several: bool) -> None:
    """Curves with their intervals, level lines, cache marks, regions."""
    x = [point.x for curve in panel.curves for point in curve.points]
    within, beyond = _scales(axes, panel)
    scales.log2_x(axes, x, panel.x_unit, *_limits(panel, x))
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.5)
    axes.set_axisbelow(True)
    for region in panel.regions:
        _region(axes, region)
    for curve in panel.curves:
        _curve(axes, curve, several)
    for roof in panel.roofs:
        x, y = zip(*roof.points, strict=True)
        dotted = style.DASHES["dotted"]
        axes.plot(x, y, color=style.colour(roof.method), linestyle=dotted, linewidth=0.9, gid="roof")
    taken = [*(point for curve in panel.curves for point in _along(curve)), *_uprights(axes, panel)]
    scales.draw_levels(axes, within, beyond, several, taken)
    labels = _marks(axes, panel, several)
    labels += [
        (region.at or (region.low * region.high) ** 0.5, f"({region.letter})", _shade(region))
        for region in panel.regions
    ]
    scales.band_labels(axes, labels)


def _scales(axes: Axes, panel: CurvePanel) -> tuple[list[Level], list[Level]]:
    """Sets the y axis; gives the levels on it and those beyond it."""
    values = [point.y for curve in panel.curves for point in curve.points]
    roofs = [y for roof in panel.roofs for _, y in roof.points]
    top = max([panel.y_top or 0.0, *(value.high for value in values), *roofs])
    bottom = min([*(value.low for value in values), *roofs])
    within, beyond = scales.on_scale(panel.levels, top, panel.y_log)
    top = max([top, *(level.value for level in within)])
    room = scales.room_above(axes, within, beyond)
    if panel.y_log:
        bottom /= 1.6
        high = bottom * (top / bottom) ** (1 / (1 - room))
    else:
        high = top / (1 - room)
    scales.y_axis(axes, bottom, high, panel.y_log)
    return within, beyond


def _along(curve: Curve, steps: int = 12) -> list[tuple[float, float]]:
    """Points close together along the drawn line, straight between measured ones as the axes draw it."""
    found = [(point.x, point.y.value) for point in curve.points]
    for one, two in itertools.pairwise(curve.points):
        for step in range(1, steps):
            share = step / steps
            y = one.y.value + share * (two.y.value - one.y.value)
            found.append((one.x * (two.x / one.x) ** share, y))
    return found


def _uprights(axes: Axes, panel: CurvePanel, steps: int = 60) -> list[tuple[float, float]]:
    """Points along the vertical lines of crossovers."""
    low, high = axes.get_ylim()
    spread = [low * (high / low) ** (at / steps) if panel.y_log else high * at / steps for at in range(steps)]
    return [(region.at, y) for region in panel.regions if _lined(region) for y in spread]


def _lined(region: Region) -> bool:
    """Whether a line shows where it most likely is; of some only the stretch is known."""
    return region.kind in LINED and region.at is not None


def _limits(panel: CurvePanel, x: list[float]) -> tuple[float, float]:
    reach = [*(panel.x_range or x), *(mark.x for mark in panel.marks if min(x) / 2 <= mark.x <= max(x) * 2)]
    low, high = min(reach), max(reach)
    if low == high:
        return low / 2, high * 2
    pad = (high / low) ** 0.03
    return low / pad, high * pad


def _curve(axes: Axes, curve: Curve, several: bool) -> None:
    colour = style.colour(curve.method)
    size, line = (4.2 if several else 3.4, 1.15) if curve.primary else (2.0, 0.6)
    # Further sites lie under the first: where all agree only that one is seen.
    level = 3.0 if curve.primary else 2.6
    outlined = several and curve.primary
    middle = [y.value for y in curve.y]
    below = [max(0.0, y.value - y.low) for y in curve.y]
    above = [max(0.0, y.high - y.value) for y in curve.y]
    modelled = curve.label == "modelled" and curve.marked and curve.dash != "none"
    dash = style.DASHES["dotted" if modelled else curve.dash]
    if not curve.marked:
        axes.plot(
            curve.x, middle, color=colour, linestyle=dash, linewidth=0.9, zorder=level - 0.2, gid="line"
        )
        return
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
        zorder=level,
    )
    for hollow in (False, True):
        chosen = [at for at, point in enumerate(curve.points) if bool(point.flags) == hollow]
        if not chosen:
            continue
        axes.plot(
            [curve.x[at] for at in chosen],
            [middle[at] for at in chosen],
            linestyle="none",
            marker=style.marker(curve.machine.index),
            markersize=size * (1.25 if hollow else 1),
            markerfacecolor="white" if hollow else colour,
            markeredgecolor="white" if outlined and not hollow else colour,
            markeredgewidth=0.9 if hollow else 0.3,
            zorder=level + 0.2,
        )


def _marks(axes: Axes, panel: CurvePanel, several: bool) -> list[tuple[float, str, str]]:
    """Draws the cache marks; gives a label for each size, which names the machines that share it."""
    low, high = axes.get_xlim()
    owners: dict[tuple[str, float], list[str]] = {}
    for mark in panel.marks:
        if low <= mark.x <= high:
            owners.setdefault((mark.name, mark.x), []).append(mark.machine.letter)
    every = {curve.machine.letter for curve in panel.curves}
    labels = []
    for (name, x), letters in owners.items():
        axes.axvline(x, color="#999999", linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
        whose = f"{', '.join(letters)}: " if several and set(letters) != every else ""
        size = "" if whose else f" {format_bytes(x)}"
        labels.append((x, f"{whose}{name}{size}", style.GREY))
    return labels


def _shade(region: Region) -> str:
    return style.colour(region.method) if region.method else style.REGIONS[region.kind]


def _region(axes: Axes, region: Region) -> None:
    colour = _shade(region)
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
    if _lined(region):
        knee = region.kind == "knee"
        line, dash = (0.7, (0, (4, 1.6))) if knee else (0.9, "-")
        axes.axvline(region.at, color=colour, linewidth=line, linestyle=dash, zorder=1.2)
