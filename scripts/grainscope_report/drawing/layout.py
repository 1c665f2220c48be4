"""Where everything stands, in inches: title, panels row by row, legend, notes, footer."""

from collections.abc import Sequence
from dataclasses import dataclass

from grainscope_report.drawing import style, tables, text
from grainscope_report.drawing.axes import is_banded
from grainscope_report.figures.model import BarPanel, CurvePanel, DotPanel, Figure, Panel
from grainscope_report.figures.text_table import TablePanel
from grainscope_report.machine import concerns

TITLE_HEIGHT = 0.26
PANEL_HEIGHT, SHORT_HEIGHT = 2.15, 0.95
DOT_ROW, DOT_MACHINE = 0.135, 0.06
TITLE_LINE, BAND, BETWEEN = 0.16, 0.13, 0.1
BELOW, BELOW_LINE = 0.16, 0.12
LINE = 1.28 / 72
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


def layout(figure: Figure, legend_height: float, framed: bool = True) -> Layout:
    """Places a figure's panels and text on a page of fixed width.

    Unless `framed`, without title, notes and footer, which then stand in the text around the picture.
    """
    subtitle = _wrapped(figure.subtitle if framed else ())
    notes, footer = _wrapped(figure.notes if framed else ()), _wrapped(footer_lines(figure) if framed else ())
    widest = max(figure.rows, key=_share)
    widths = [_widths(row, widest) for row in figure.rows]
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
        boxes.append(_boxes(there, top - block + free, _tall(row), _is_table(row)))
        top -= block
    under_notes = top - legend_height - _lines(len(notes))
    tops = (top, top - legend_height, under_notes)
    return Layout(height, tuple(boxes), tuple(titles), *tops, notes, footer, subtitle)


def _wrapped(notes: Sequence[str]) -> tuple[str, ...]:
    """The lines of notes across the page."""
    # A screen's hinting makes text a little wider than its outlines.
    room = (style.WIDTH - 0.24) * 72 * 0.98
    return tuple(line for note in notes for line in text.wrap(note, style.FINE, room))


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
        owner = f"{machine.letter}: " if several else ""
        if severe:
            lines.append(f"{owner}severe warning{'s' if len(severe) > 1 else ''}: {'; '.join(severe)}")
        if not result.run.complete:
            lines.append(f"{owner}run not complete: {result.run.why_incomplete}")
    return lines


def _lines(count: int) -> float:
    return count * style.FINE * LINE + (0.06 if count else 0)


def _is_table(row: tuple[Panel, ...]) -> bool:
    return all(isinstance(one, TablePanel) for one in row)


def _tall(row: tuple[Panel, ...]) -> float:
    """The height of the axes of a row."""
    if _is_table(row):
        return max(map(tables.height, row))
    if own := max((one.height for one in row if isinstance(one, BarPanel)), default=0.0):
        return own
    if dotted := [panel for panel in row if isinstance(panel, DotPanel)]:
        return max(_dots_height(panel) for panel in dotted)
    return SHORT_HEIGHT if all(isinstance(one, CurvePanel) and one.short for one in row) else PANEL_HEIGHT


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
        "\n".join(text.wrap(panel.title, style.TEXT, (width + more) * 72))
        for panel, width, more in zip(row, widths, free, strict=True)
    )


def _above(row: tuple[Panel, ...], titles: tuple[str, ...]) -> float:
    """The room for titles and bands above a row of panels."""
    lines = max(title.count("\n") + bool(title) for title in titles)
    return BETWEEN + TITLE_LINE * lines + BAND * any(is_banded(panel) for panel in row)


def _share(row: tuple[Panel, ...]) -> float:
    """The room that a row of panels wants, in panels."""
    return sum(1.0 if isinstance(panel, CurvePanel) else panel.width for panel in row)


def _widths(row: tuple[Panel, ...], widest: tuple[Panel, ...]) -> list[float]:
    """The widths of a row's panels; a single panel keeps the width that those of the widest row have."""
    if len(row) == 1 and _is_table(row):
        return [style.WIDTH - 2 * style.RIGHT]
    if len(row) == 1 and _share(row) >= WHOLE:
        return [style.WIDTH - style.LEFT - style.RIGHT]
    like = row if len(row) > 1 or len(widest) == 1 else widest
    room = style.WIDTH - style.LEFT - style.RIGHT - style.GUTTER * (len(like) - 1)
    return [room / max(_share(like), 1.5) * _share((panel,)) for panel in row]


def _boxes(widths: list[float], bottom: float, tall: float, table: bool) -> tuple[Box, ...]:
    boxes, left = [], style.WIDTH - style.RIGHT - sum(widths) if table else style.LEFT
    for wide in widths:
        boxes.append(Box(left, bottom, wide, tall))
        left += wide + style.GUTTER
    return tuple(boxes)
