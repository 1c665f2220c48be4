"""The legend under the panels: methods, machines, localities, level lines, flags, regions."""

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.figure import Figure as Page
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from grainscope_report.drawing import style, text
from grainscope_report.figures.marks import Point
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, CurvePanel, Dot, DotPanel, Figure, Panel

HANDLE = 24.0
GAP = 14.0
ROW = style.SMALL * 1.45 / 72
PAD = 0.08
LEVEL_NAMES = {
    "peak": "measured copy peak",
    "double": "2× line: both measured copy peaks together",
    "theoretical": "theoretical peak of the link",
}
REGION_NAMES = {
    "crossover": "crossover and its 95 % interval",
    "knee": "knee of a curve, and the spans that it lies between",
    "dip": "dip",
    "slow": "prefetch at least 20 % slower",
    "paper": "range that the paper gives",
}
PARTS = "each of the copies that ran at once"
ROOF = "roof: requests in flight × size ÷ latency"
MODELLED = "hatched: modelled, nothing was measured"
PAPER = "hatched, grey: the paper's"
HOLLOW = "hollow: wide interval or bimodal"
SLOWER = "hollow: wide interval, bimodal, or slower alone than beside the other"

Entry = tuple[str, Artist]


def entries(figure: Figure) -> list[Entry]:
    """What needs explaining, each once."""
    found: dict[str, Artist] = {}
    curves = [panel for panel in figure.panels if isinstance(panel, CurvePanel)]
    several = len(figure.machines) > 1
    for panel in figure.panels:
        if isinstance(panel, BarPanel):
            _bar_entries(panel, found)
        elif isinstance(panel, CurvePanel):
            _curve_entries(panel, found, several)
        elif isinstance(panel, DotPanel):
            _dot_entries(panel, found, several)
    if several:
        _add_machines(figure, found)
    _add_hatches(figure, found)
    _add_flags(figure, found)
    _add_lines(figure, found)
    if any(not curve.primary for panel in curves for curve in panel.curves):
        thin = Line2D([], [], color=style.GREY, linewidth=0.6, marker="o", markersize=2)
        found["thin: the same on further GPUs or nodes"] = thin
    return list(found.items())


def _curve_entries(panel: CurvePanel, found: dict[str, Artist], several: bool) -> None:
    for curve in panel.curves:
        dash, colour = style.DASHES[curve.dash], style.colour(curve.method)
        line = Line2D([], [], color=colour, linestyle=dash, linewidth=1.3)
        if not several and curve.marked:
            line.set(marker=style.marker(0), markersize=3.4)
        known = found.setdefault(curve.name, line)
        if isinstance(known, Line2D) and known.get_color() != colour:
            # One name for lines that belong to several curves: their colours say to which.
            known.set_color(style.GREY)
    if panel.roofs:
        line = Line2D([], [], color=style.GREY, linestyle=style.DASHES["dotted"], linewidth=0.9)
        found.setdefault(ROOF, line)


def _dot_entries(panel: DotPanel, found: dict[str, Artist], several: bool) -> None:
    for dot in (dot for row in panel.rows for dot in row.dots if dot.name):
        shape = "o" if several else style.marker(0)
        found.setdefault(
            dot.name,
            Line2D([], [], color=style.colour(dot.method), linestyle="none", marker=shape, markersize=3.8),
        )


def _add_machines(figure: Figure, found: dict[str, Artist]) -> None:
    """Machines by their marker; where only bars are drawn their letters stand on the bars."""
    drawn = {
        one.machine.index: one.machine
        for panel in figure.panels
        for one in (*getattr(panel, "curves", ()), *_dots(panel))
        if getattr(one, "marked", True)
    }
    for _, machine in sorted(drawn.items()):
        shape = style.marker(machine.index)
        handle = Line2D([], [], color=style.GREY, marker=shape, markersize=4.4, linewidth=0)
        found[f"{machine.letter}: {machine.label}"] = handle


def _bar_entries(panel: BarPanel, found: dict[str, Artist]) -> None:
    if any(bar.parts for series in panel.series for bar in series.bars):
        found.setdefault(PARTS, Line2D([], [], color=style.GREY, linestyle="none", **style.PART))
    if len(panel.series) == 1:
        return
    for series in panel.series:
        if series.label != "paper":
            hatch = style.HATCHES["modelled"] if series.hatched else None
            edge = style.GREY if hatch else "none"
            found.setdefault(series.name, Patch(facecolor=_fill(series), edgecolor=edge, hatch=hatch))


def _fill(series: BarSeries) -> str:
    return style.colour(series.method, series.machine.index if series.machine else 0)


def _add_hatches(figure: Figure, found: dict[str, Artist]) -> None:
    """What hatching means, where modelled bars are hatched."""
    drawn = [series for panel in figure.panels if isinstance(panel, BarPanel) for series in panel.series]
    if not any(series.hatched for series in drawn):
        return
    edge = {"facecolor": "white", "edgecolor": style.GREY}
    found[MODELLED] = Patch(**edge, hatch=style.HATCHES["modelled"])
    if any(series.label == "paper" for series in drawn):
        found[PAPER] = Patch(
            facecolor=style.METHODS["paper"], edgecolor=style.GREY, hatch=style.HATCHES["paper"]
        )


def _dots(panel: Panel) -> list[Dot]:
    return [dot for row in panel.rows for dot in row.dots] if isinstance(panel, DotPanel) else []


def _values(panel: Panel) -> list[Point | Bar | Dot]:
    """All that may be hollow."""
    if isinstance(panel, CurvePanel):
        return [point for curve in panel.curves for point in curve.points]
    if isinstance(panel, BarPanel):
        return [bar for series in panel.series for bar in series.bars]
    return _dots(panel)


def _add_flags(figure: Figure, found: dict[str, Artist]) -> None:
    flags = {flag for panel in figure.panels for value in _values(panel) for flag in value.flags}
    if flags:
        found[SLOWER if "slower_alone" in flags else HOLLOW] = Line2D(
            [],
            [],
            linestyle="none",
            marker="o",
            markersize=4.2,
            markerfacecolor="white",
            markeredgecolor=style.GREY,
        )


def _add_lines(figure: Figure, found: dict[str, Artist]) -> None:
    for panel in figure.panels:
        for level in panel.levels:
            if level.kind in LEVEL_NAMES:
                colour, dash, width = style.LEVELS[level.kind]
                found.setdefault(
                    LEVEL_NAMES[level.kind], Line2D([], [], color=colour, linestyle=dash, linewidth=width)
                )
        for region in getattr(panel, "regions", ()):
            colour = style.REGIONS[region.kind]
            alpha = 1.0 if region.kind == "paper" else 0.25
            found.setdefault(
                REGION_NAMES[region.kind], Patch(facecolor=colour, alpha=alpha, edgecolor="none")
            )


def arrange(found: Sequence[Entry]) -> list[list[Entry]]:
    """Breaks the entries into lines that fit the page."""
    room = (style.WIDTH - 0.3) * 72
    lines: list[list[Entry]] = []
    used = room + 1
    for name, handle in found:
        wide = HANDLE + text.width(name, style.SMALL) + GAP
        if used + wide > room:
            lines.append([])
            used = 0.0
        lines[-1].append((name, handle))
        used += wide
    return lines


def height(lines: Sequence[Sequence[Entry]]) -> float:
    """The inches that the legend takes."""
    return len(lines) * ROW + PAD if lines else 0.0


def draw(page: Page, lines: Sequence[Sequence[Entry]], top: float) -> None:
    """Writes the lines of the legend from `top` inches down."""
    wide, tall = page.get_size_inches()
    for order, line in enumerate(lines):
        left = 0.12 * 72
        middle = (top - PAD / 2 - ROW * (order + 0.5)) / tall
        for name, handle in line:
            _handle(page, handle, left / 72 / wide, middle, (HANDLE - 6) / 72 / wide)
            page.text(
                (left + HANDLE) / 72 / wide,
                middle,
                name,
                fontsize=style.SMALL,
                va="center",
                ha="left",
                gid="legend",
            )
            left += HANDLE + text.width(name, style.SMALL) + GAP


def _handle(page: Page, handle: Artist, left: float, middle: float, wide: float) -> None:
    """Puts a line or a patch into the figure, in its coordinates."""
    if isinstance(handle, Patch):
        tall = 0.075 / page.get_size_inches()[1]
        handle = Rectangle(
            (left + wide * 0.15, middle - tall / 2),
            wide * 0.7,
            tall,
            facecolor=handle.get_facecolor(),
            edgecolor=handle.get_edgecolor(),
            hatch=handle.get_hatch(),
            alpha=handle.get_alpha(),
            linewidth=0,
        )
    else:
        single = handle.get_linestyle() in ("None", "none") or not handle.get_linewidth()
        x = [left + wide / 2] if single else [left, left + wide / 2, left + wide]
        handle.set_data(x, [middle] * len(x))
        handle.set_markevery(None if single else [1])
    handle.set_transform(page.transFigure)
    page.add_artist(handle)
