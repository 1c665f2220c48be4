"""Draws a whole figure and saves it: where everything stands, the panels, the legend under them, the notes.

The same data always gives the same bytes of SVG. Lengths are in inches where nothing else is said.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Page
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from PIL import Image

from grainscope_report.drawing import bars, diagram, panels, style
from grainscope_report.drawing.scales import is_banded
from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    CurvePanel,
    DiagramPanel,
    Dot,
    DotPanel,
    Figure,
    MapPanel,
    Panel,
    Point,
    SpanPanel,
    TablePanel,
)
from grainscope_report.machine import concerns
from grainscope_report.writing import in_xml

FORMATS = ("svg", "png", "pdf")
MOST_LINES = 46  # of tables in a picture
# Dates of drawing would make every picture differ; the footer carries the date of the measurement.
METADATA: Mapping[str, dict] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def draw(figure: Figure, framed: bool = True, width: float = style.WIDTH) -> Page:
    """The figure as a matplotlib figure; unless `framed`, without title, notes and footer."""
    if not figure.rows:
        raise ValueError(f"figure {figure.id} has no data to draw")
    if framed:
        figure = without_long_tables(figure)
    with matplotlib.rc_context(style.RC):
        found = arrange(legend_entries(figure), width)
        place = layout(figure, height_of_legend(found), framed, width)
        page = Page(figsize=(width, place.height), dpi=style.DPI)
        FigureCanvasAgg(page)
        if framed:
            _title(page, figure, place.height)
        _block(page, place.subtitle, place.height - TITLE_HEIGHT + 0.06, "#555555", "subtitle")
        several = len(figure.machines) > 1
        for row, boxes, titles in zip(figure.rows, place.boxes, place.titles, strict=True):
            banded = any(is_banded(panel) for panel in row)
            for panel, box, title in zip(row, boxes, titles, strict=True):
                axes = page.add_axes(box.relative(width, place.height))
                _panel(axes, panel, several)
                said = axes.set_title(title, loc="left", fontsize=style.TEXT, pad=14 if banded else 5)
                _fit(axes, width * 72)
                if isinstance(panel, (DotPanel, SpanPanel)):
                    said.set_x(panels.title_at(axes, box.left))
        draw_legend(page, found, place.legend_top)
        _block(page, place.notes, place.notes_top, "#222222")
        _block(page, place.footer, place.footer_top, "#777777")
    return page


def height(figure: Figure) -> float:
    """How tall the figure is without its frame, in inches."""
    with matplotlib.rc_context(style.RC):
        found = arrange(legend_entries(figure))
        return layout(figure, height_of_legend(found), framed=False).height


def of_column(figure: Figure, width: float) -> Figure:
    """The panels one below the other, in a column so wide: no tables, no diagrams, and no panel whose names
    would land on each other.
    """
    drawn = [one for one in figure.panels if not isinstance(one, (TablePanel, DiagramPanel))]
    several = len(figure.machines) > 1
    drawn = [panels.of_column(one, width, several) if isinstance(one, DotPanel) else one for one in drawn]
    return replace(figure, rows=tuple((one,) for one in drawn if _has_room(one, width, several)))


def _has_room(panel: Panel, width: float, several: bool) -> bool:
    """Whether the names under bars have room side by side, and those beside rows leave some for an axis."""
    if isinstance(panel, (DotPanel, SpanPanel)):
        return panels.has_room(panel, width, several)
    if not isinstance(panel, BarPanel):
        return True
    each = (width - style.LEFT - style.RIGHT) * 72 / (len(panel.categories) + 0.1)
    return all(
        style.text_width(line, style.SMALL) <= each * count - NAMES_APART
        for name, count in (*((name, 1) for name in panel.categories), *panel.groups)
        for line in name.split("\n")
    )


def caption(figure: Figure) -> str:
    """What a frame says around the panels, as text."""
    lines = [f"{figure.title}.", *figure.subtitle, *figure.notes, *footer_lines(figure)]
    return "\n".join(lines) + "\n"


def without_long_tables(figure: Figure) -> Figure:
    """Without tables that nobody reads in a picture: they stand beside it."""
    lines = sum(len(panel.rows) for panel in figure.panels if isinstance(panel, TablePanel))
    rows = [tuple(one for one in row if not isinstance(one, TablePanel)) for row in figure.rows]
    if lines <= MOST_LINES or not any(rows):
        return figure
    where = f"The table of {lines} lines is in {figure.stem}.md; in a report it is under the figure."
    return replace(figure, rows=tuple(row for row in rows if row), notes=(*figure.notes, where))


def save(page: Page, kind: str, text: str = "path") -> bytes:
    """The picture in one of `FORMATS`; of SVG the text as outlines or, as `none`, as text of the reader's."""
    out = io.BytesIO()
    with matplotlib.rc_context(style.RC | {"svg.fonttype": text}):
        if kind == "png":
            page.savefig(out, format="rgba", dpi=style.DPI)
            return in_few_colours(out.getvalue(), page)
        page.savefig(out, format=kind, dpi=style.DPI, metadata=METADATA[kind])
    # Names of a file may hold what XML cannot.
    return in_xml(out.getvalue().decode()).encode() if kind == "svg" else out.getvalue()


def in_few_colours(pixels: bytes, page: Page) -> bytes:
    """A PNG with a palette: a third of the bytes, and no pixel off by more than the eye sees."""
    width, height = (int(side * style.DPI) for side in page.get_size_inches())
    few = Image.frombytes("RGBA", (width, height), pixels).convert("RGB")
    few = few.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True, dpi=(style.DPI, style.DPI))
    return out.getvalue()


def _title(page: Page, figure: Figure, height: float) -> None:
    page.text(
        0.12 / page.get_size_inches()[0],
        1 - 0.09 / height,
        f"Figure {figure.id} · {figure.title}",
        fontsize=style.TITLE,
        weight="bold",
        va="top",
        ha="left",
        gid="title",
    )


def _fit(axes: Axes, page: float) -> None:
    """Makes the label of the x axis smaller where it would leave a page so many points wide."""
    label, place = axes.xaxis.label, axes.get_position()
    # A screen's hinting makes text a little wider than its outlines.
    room = page * (place.width + 2 * min(place.x0, 1 - place.x1)) * 0.95
    wide = style.text_width(label.get_text(), style.TEXT)
    label.set_fontsize(style.TEXT * min(1.0, room / max(wide, 1.0)))


def _panel(axes: Axes, panel: Panel, several: bool) -> None:
    if isinstance(panel, MapPanel):
        panels.draw_map(axes, panel)
    elif isinstance(panel, TablePanel):
        panels.draw_table(axes, panel)
    elif isinstance(panel, DotPanel):
        panels.draw_dots(axes, panel, several)
    elif isinstance(panel, SpanPanel):
        panels.draw_spans(axes, panel)
    elif isinstance(panel, DiagramPanel):
        diagram.draw(axes, panel)
    else:
        (panels.draw_curves if isinstance(panel, CurvePanel) else bars.draw)(axes, panel, several)


def _block(page: Page, lines: tuple[str, ...], top: float, colour: str, gid: str = "note") -> None:
    wide, tall = page.get_size_inches()
    for order, line in enumerate(lines):
        at = top - 0.03 - order * style.FINE * LINE
        page.text(
            0.12 / wide, at / tall, line, fontsize=style.FINE, color=colour, va="top", ha="left", gid=gid
        )


TITLE_HEIGHT = 0.26
PANEL_HEIGHT, SHORT_HEIGHT = 2.15, 0.95
DOT_ROW, DOT_MACHINE, SPAN_ROW = 0.135, 0.06, 0.17
TITLE_LINE, BAND, BETWEEN = 0.16, 0.13, 0.1
BELOW, BELOW_LINE = 0.16, 0.12
LINE = 1.28 / 72
HINTED = 0.98  # of the room for text: a screen's hinting makes it a little wider than its outlines
NAMES_APART = 3.0  # points between names under bars
WHOLE = 2.0  # a panel alone in its row that wants so much takes all of the width


@dataclass(frozen=True)
class Box:
    """A rectangle in inches from the lower left corner."""

    left: float
    bottom: float
    width: float
    height: float

    def relative(self, width: float, height: float) -> tuple[float, float, float, float]:
        """The rectangle in fractions of a page of this size."""
        return self.left / width, self.bottom / height, self.width / width, self.height / height


@dataclass(frozen=True)
class Layout:
    """The page: its height, a box and a title for each panel, and the tops of the blocks under them."""

    height: float
    boxes: tuple[tuple[Box, ...], ...]
    titles: tuple[tuple[str, ...], ...]
    legend_top: float
    notes_top: float
    footer_top: float
    notes: tuple[str, ...]
    footer: tuple[str, ...]
    subtitle: tuple[str, ...]


def layout(figure: Figure, legend_height: float, framed: bool = True, width: float = style.WIDTH) -> Layout:
    """Places a figure's panels and text on a page of this width.

    Unless `framed`, without title, notes and footer, which then stand in the text around the picture.
    """
    said = (figure.subtitle, figure.notes, footer_lines(figure)) if framed else ((), (), ())
    subtitle, notes, footer = (_wrapped(lines, width) for lines in said)
    widest = max(figure.rows, key=_share)
    widths = [_widths(row, widest, width) for row in figure.rows]
    titles = [_titles(row, there) for row, there in zip(figure.rows, widths, strict=True)]
    above = [_above(row, there) for row, there in zip(figure.rows, titles, strict=True)]
    below = [_below(row) for row in figure.rows]
    blocks = [one + _tall(row) + two for one, row, two in zip(above, figure.rows, below, strict=True)]
    under = legend_height + _lines(len(notes)) + _lines(len(footer)) + 0.08
    above_panels = (TITLE_HEIGHT if framed else 0.0) + _lines(len(subtitle))
    height = above_panels + sum(blocks) + under
    top = height - above_panels
    boxes = []
    for row, there, block, free in zip(figure.rows, widths, blocks, below, strict=True):
        left = width - style.RIGHT - sum(there) if _is_table(row) else style.LEFT
        boxes.append(_boxes(there, top - block + free, _tall(row), left))
        top -= block
    under_notes = top - legend_height - _lines(len(notes))
    tops = (top, top - legend_height, under_notes)
    return Layout(height, tuple(boxes), tuple(titles), *tops, notes, footer, subtitle)


def _wrapped(notes: Sequence[str], width: float) -> tuple[str, ...]:
    """The lines of notes across the page."""
    room = (width - 0.24) * 72 * HINTED
    return tuple(line for note in notes for line in style.wrap(note, style.FINE, room))


def footer_lines(figure: Figure) -> list[str]:
    """Machine, driver, commit and date of each file, its worst findings, and what the bars mean."""
    lines = [
        "Error bars: 95 % interval by all uncertainties that are known; where none is, that of the median "
        "within one visit."
    ]
    several = len(figure.machines) > 1
    for machine in figure.machines:
        result = machine.result
        lines.append(f"{machine.letter}: {machine.provenance}" if several else machine.provenance)
        severe = [finding.finding for finding in concerns(result) if finding.severity == "severe"]
        owner = parts.owner(machine, several)
        if severe:
            lines.append(f"{owner}severe warning{'s' if len(severe) > 1 else ''}: {'; '.join(severe)}")
        if not result.run.complete:
            lines.append(f"{owner}run not complete: {result.run.why_incomplete}")
    return lines


def _lines(count: int) -> float:
    return count * style.FINE * LINE + (0.06 if count else 0)


def _is_table(row: tuple[Panel, ...]) -> bool:
    """Whether a row has no axes: tables, or a diagram."""
    return all(isinstance(panel, (TablePanel, DiagramPanel)) for panel in row)


def _table_height(panel: Panel) -> float:
    return diagram.height(panel) if isinstance(panel, DiagramPanel) else panels.table_height(panel)


def _tall(row: tuple[Panel, ...]) -> float:
    """The height of the axes of a row."""
    if _is_table(row):
        return max(map(_table_height, row))
    if own := max((each_panel.height for each_panel in row if isinstance(each_panel, BarPanel)), default=0.0):
        return own
    if lanes := max((len(panel.rows) for panel in row if isinstance(panel, SpanPanel)), default=0):
        return lanes * SPAN_ROW
    if dotted := [panel for panel in row if isinstance(panel, DotPanel)]:
        return max(_dots_height(panel) for panel in dotted)
    mapped = max((panels.map_height(panel) for panel in row if isinstance(panel, MapPanel)), default=0.0)
    return max(
        mapped,
        SHORT_HEIGHT
        if all(isinstance(each_panel, CurvePanel) and each_panel.short for each_panel in row)
        else PANEL_HEIGHT,
    )


def _dots_height(panel: DotPanel) -> float:
    """A line of text for each row, and more where several machines share one."""
    machines = {dot.machine.index for row in panel.rows for dot in row.dots}
    return len(panel.rows) * (DOT_ROW + DOT_MACHINE * max(0, len(machines) - 1))


def _below(row: tuple[Panel, ...]) -> float:
    """The room for tick labels, groups of them and axis labels under a row of panels."""
    if _is_table(row):
        return 0.04
    return BELOW + BELOW_LINE * max(_tick_lines(panel) if isinstance(panel, BarPanel) else 2 for panel in row)


def _tick_lines(panel: BarPanel) -> int:
    lines = 1 + max(name.count("\n") for name in panel.categories)
    return lines + (1 + max(name.count("\n") for name, _ in panel.groups) if panel.groups else 0)


def _titles(row: tuple[Panel, ...], widths: list[float]) -> tuple[str, ...]:
    """The panels' titles in lines that do not reach the next panel."""
    free = [*[style.GUTTER * 0.6] * (len(row) - 1), style.RIGHT * 0.6]
    return tuple(
        "\n".join(style.wrap(panel.title, style.TEXT, (width + more) * 72))
        for panel, width, more in zip(row, widths, free, strict=True)
    )


def _above(row: tuple[Panel, ...], titles: tuple[str, ...]) -> float:
    """The room for titles and bands above a row of panels."""
    lines = max(title.count("\n") + bool(title) for title in titles)
    return BETWEEN + TITLE_LINE * lines + BAND * any(is_banded(panel) for panel in row)


def _share(row: tuple[Panel, ...]) -> float:
    """The room that a row of panels wants, in panels."""
    return sum(1.0 if isinstance(panel, CurvePanel) else panel.width for panel in row)


def _widths(row: tuple[Panel, ...], widest: tuple[Panel, ...], width: float) -> list[float]:
    """The widths of a row's panels; a single panel keeps the width that those of the widest row have."""
    if len(row) == 1 and _is_table(row):
        return [width - 2 * style.RIGHT]
    if len(row) == 1 and (_share(row) >= WHOLE or width < style.WIDTH):
        return [width - style.LEFT - style.RIGHT]
    like = row if len(row) > 1 or len(widest) == 1 else widest
    room = width - style.LEFT - style.RIGHT - style.GUTTER * (len(like) - 1)
    return [room / max(_share(like), 1.5) * _share((panel,)) for panel in row]


def _boxes(widths: list[float], bottom: float, tall: float, left: float) -> tuple[Box, ...]:
    boxes = []
    for wide in widths:
        boxes.append(Box(left, bottom, wide, tall))
        left += wide + style.GUTTER
    return tuple(boxes)


NAME_LINES = 2  # of a name in the legend; the footer has all of a machine's
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
RING = "ring: modelled, nothing was measured"
PAPER = "hatched, grey: the paper's"
HOLLOW = "hollow: wide interval or bimodal"
SLOWER = "hollow: wide interval, bimodal, or slower alone than beside the other"

Entry = tuple[str, Artist | None]  # a further line of a long name has nothing beside it


def legend_entries(figure: Figure) -> list[Entry]:
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
        elif isinstance(panel, MapPanel):
            named = {cell.name: cell.method for row in panel.cells for cell in row if cell.name}
            found |= {name: Patch(facecolor=style.colour(method)) for name, method in named.items()}
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
        handle: Artist = Line2D([], [], color=colour, linestyle=dash, linewidth=1.3)
        if not several and curve.marked:
            handle.set(marker=style.marker(0), markersize=3.4)
        elif curve.dash == "none":
            # A marker would be that of one machine.
            handle = Patch(facecolor=colour)
        known = found.setdefault(curve.name, handle)
        if isinstance(known, Line2D) and known.get_color() != colour:
            # One name for lines that belong to several curves: their colours say to which.
            known.set_color(style.GREY)
    if panel.roofs:
        line = Line2D([], [], color=style.GREY, linestyle=style.DASHES["dotted"], linewidth=0.9)
        found.setdefault(ROOF, line)


def _dot_entries(panel: DotPanel, found: dict[str, Artist], several: bool) -> None:
    if any(dot.label == "modelled" for row in panel.rows for dot in row.dots):
        found.setdefault(RING, Line2D([], [], color=style.GREY, linestyle="none", **style.RING))
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


def arrange(entries: Sequence[Entry], width: float = style.WIDTH) -> list[list[Entry]]:
    """Breaks the entries into lines that fit a page of this width; a longer name goes on in a second line."""
    room = (width - 0.3) * 72
    lines: list[list[Entry]] = []
    used = room + 1
    for name, handle in entries:
        first, *more = _broken(name, (room - HANDLE - GAP) * HINTED)
        for said, shown in ((first, handle), *((line, None) for line in more)):
            wide = HANDLE + style.text_width(said, style.SMALL) + GAP
            if shown is None or used + wide > room:
                lines.append([])
                used = 0.0
            lines[-1].append((said, shown))
            used += wide
    return lines


def _broken(name: str, room: float) -> list[str]:
    """The name in as many lines as it has room for, the last one cut where it has more to say."""
    lines = style.wrap(name, style.SMALL, room) or [""]
    last = " ".join(lines[NAME_LINES - 1 :])
    return [*lines[: NAME_LINES - 1], *([style.shorten(last, style.SMALL, room)] if last else [])]


def height_of_legend(lines: Sequence[Sequence[Entry]]) -> float:
    """The inches that the legend takes."""
    return len(lines) * ROW + PAD if lines else 0.0


def draw_legend(page: Page, lines: Sequence[Sequence[Entry]], top: float) -> None:
    """Writes the lines of the legend from `top` inches down."""
    wide, tall = page.get_size_inches()
    for order, line in enumerate(lines):
        left = 0.12 * 72
        middle = (top - PAD / 2 - ROW * (order + 0.5)) / tall
        for name, handle in line:
            if handle is not None:
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
            left += HANDLE + style.text_width(name, style.SMALL) + GAP


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
