"""Where everything stands, in inches: title, panels row by row, legend, notes, footer."""

from dataclasses import dataclass

from grainscope_report.drawing import style, text
from grainscope_report.drawing.axes import is_banded
from grainscope_report.figures.model import BarPanel, CurvePanel, Figure, Panel

LEFT, RIGHT, GUTTER = 0.58, 0.14, 0.62
TITLE_HEIGHT = 0.26
PANEL_HEIGHT, SHORT_HEIGHT = 2.15, 0.95
TITLE_LINE, BAND, BELOW_PANEL, BETWEEN = 0.16, 0.13, 0.40, 0.1
LINE = 1.28 / 72


@dataclass(frozen=True)
class Box:
    """A rectangle in inches from the lower left corner."""

    left: float
    bottom: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """The page: its height, a box for each panel, and the tops of the blocks under them."""

    height: float
    boxes: tuple[tuple[Box, ...], ...]
    legend_top: float
    notes_top: float
    footer_top: float
    notes: tuple[str, ...]
    footer: tuple[str, ...]


def layout(figure: Figure, legend_height: float) -> Layout:
    """Places a figure's panels and text on a page of fixed width."""
    room = (style.WIDTH - 0.24) * 72
    notes = tuple(line for note in figure.notes for line in text.wrap(note, style.FINE, room))
    footer = tuple(line for note in footer_lines(figure) for line in text.wrap(note, style.FINE, room))
    blocks = [_row_height(row) for row in figure.rows]
    under = legend_height + _lines(len(notes)) + _lines(len(footer)) + 0.08
    height = TITLE_HEIGHT + sum(blocks) + under
    top = height - TITLE_HEIGHT
    boxes = []
    widest = max(figure.rows, key=_share)
    for row, block in zip(figure.rows, blocks, strict=True):
        boxes.append(_row_boxes(row, top - block, block, widest))
        top -= block
    notes_top = top - legend_height
    return Layout(height, tuple(boxes), top, notes_top, notes_top - _lines(len(notes)), notes, footer)


def footer_lines(figure: Figure) -> list[str]:
    """Machine, driver, commit and date of each file, its worst findings, and what the bars mean."""
    lines = ["Error bars: 95 % interval of the median; of several sessions, the median of their medians."]
    several = len(figure.machines) > 1
    for machine in figure.machines:
        result = machine.result
        lines.append(f"{machine.letter}: {machine.provenance}" if several else machine.provenance)
        severe = [finding.finding for finding in result.environment.warnings if finding.severity == "severe"]
        owner = f"{machine.letter}: " if several else ""
        if severe:
            lines.append(f"{owner}severe warning{'s' if len(severe) > 1 else ''}: {'; '.join(severe)}")
        if not result.run.complete:
            lines.append(f"{owner}run not complete: {result.run.why_incomplete}")
    return lines


def _lines(count: int) -> float:
    return count * style.FINE * LINE + (0.06 if count else 0)


def _above(row: tuple[Panel, ...]) -> float:
    """The room for titles and bands above a row of panels."""
    lines = max(panel.title.count("\n") + bool(panel.title) for panel in row)
    return BETWEEN + TITLE_LINE * lines + BAND * any(is_banded(panel) for panel in row)


def _row_height(row: tuple[Panel, ...]) -> float:
    short = all(isinstance(panel, CurvePanel) and panel.short for panel in row)
    return _above(row) + (SHORT_HEIGHT if short else PANEL_HEIGHT) + BELOW_PANEL


def _share(row: tuple[Panel, ...]) -> float:
    """The room that a row of panels wants, in panels."""
    return sum(panel.width if isinstance(panel, BarPanel) else 1.0 for panel in row)


def _row_boxes(
    row: tuple[Panel, ...], bottom: float, block: float, widest: tuple[Panel, ...]
) -> tuple[Box, ...]:
    """Boxes for the panels of a row; a row with fewer panels than the widest keeps their width."""
    alone = len(widest) == 1
    like = row if len(row) > 1 or alone else widest
    room = style.WIDTH - LEFT - RIGHT - GUTTER * (len(like) - 1)
    unit = room / max(_share(like), 1.5)
    boxes, left = [], LEFT
    for panel in row:
        wide = unit * _share((panel,))
        boxes.append(Box(left, bottom + BELOW_PANEL, wide, block - _above(row) - BELOW_PANEL))
        left += wide + GUTTER
    return tuple(boxes)
