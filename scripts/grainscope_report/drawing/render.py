"""Draws a whole figure and saves it; the same data always gives the same bytes of SVG."""

import io
from collections.abc import Mapping
from dataclasses import replace

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Page
from PIL import Image

from grainscope_report.drawing import bars, curves, dots, layout, legend, maps, style, tables
from grainscope_report.drawing.axes import is_banded
from grainscope_report.figures.model import CurvePanel, DotPanel, Figure, MapPanel, Panel
from grainscope_report.figures.text_table import TablePanel

FORMATS = ("svg", "png", "pdf")
MOST_LINES = 46  # of tables in a picture
# Dates of drawing would make every picture differ; the footer carries the date of the measurement.
METADATA: Mapping[str, dict] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}


def draw(figure: Figure, framed: bool = True) -> Page:
    """The figure as a matplotlib figure; unless `framed`, without title, notes and footer."""
    if not figure.rows:
        raise ValueError(f"figure {figure.id} has no data to draw")
    if framed:
        figure = without_long_tables(figure)
    with matplotlib.rc_context(style.RC):
        found = legend.arrange(legend.entries(figure))
        place = layout.layout(figure, legend.height(found), framed)
        page = Page(figsize=(style.WIDTH, place.height), dpi=style.DPI)
        FigureCanvasAgg(page)
        if framed:
            _title(page, figure, place.height)
        _block(page, place.subtitle, place.height - layout.TITLE_HEIGHT + 0.06, "#555555", "subtitle")
        several = len(figure.machines) > 1
        for row, boxes, titles in zip(figure.rows, place.boxes, place.titles, strict=True):
            banded = any(is_banded(panel) for panel in row)
            for panel, box, title in zip(row, boxes, titles, strict=True):
                axes = page.add_axes(box.relative(style.WIDTH, place.height))
                _panel(axes, panel, several)
                said = axes.set_title(title, loc="left", fontsize=style.TEXT, pad=14 if banded else 5)
                if isinstance(panel, DotPanel):
                    said.set_x(dots.title_at(axes, box.left))
        legend.draw(page, found, place.legend_top)
        _block(page, place.notes, place.notes_top, "#222222")
        _block(page, place.footer, place.footer_top, "#777777")
    return page


def height(figure: Figure) -> float:
    """How tall the figure is without its frame, in inches."""
    with matplotlib.rc_context(style.RC):
        found = legend.arrange(legend.entries(figure))
        return layout.layout(figure, legend.height(found), framed=False).height


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
        page.savefig(out, format=kind, dpi=style.DPI, metadata=METADATA[kind])
    return in_few_colours(out.getvalue()) if kind == "png" else out.getvalue()


def in_few_colours(picture: bytes) -> bytes:
    """The PNG with a palette: a third of the bytes, and no pixel off by more than the eye sees."""
    few = Image.open(io.BytesIO(picture)).convert("RGB")
    few = few.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True, dpi=(style.DPI, style.DPI))
    return out.getvalue()


def _title(page: Page, figure: Figure, height: float) -> None:
    page.text(
        0.12 / style.WIDTH,
        1 - 0.09 / height,
        f"Figure {figure.id} · {figure.title}",
        fontsize=style.TITLE,
        weight="bold",
        va="top",
        ha="left",
        gid="title",
    )


def _panel(axes: Axes, panel: Panel, several: bool) -> None:
    if isinstance(panel, MapPanel):
        maps.draw(axes, panel)
    elif isinstance(panel, TablePanel):
        tables.draw(axes, panel)
    elif isinstance(panel, DotPanel):
        dots.draw(axes, panel, several)
    else:
        (curves if isinstance(panel, CurvePanel) else bars).draw(axes, panel, several)


def _block(page: Page, lines: tuple[str, ...], top: float, colour: str, gid: str = "note") -> None:
    wide, tall = page.get_size_inches()
    for order, line in enumerate(lines):
        at = top - 0.03 - order * style.FINE * layout.LINE
        page.text(
            0.12 / wide, at / tall, line, fontsize=style.FINE, color=colour, va="top", ha="left", gid=gid
        )
