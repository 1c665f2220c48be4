"""Draws a map of all pairs: a square of cells, each with its number."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from grainscope_report.drawing import levels, style, text
from grainscope_report.figures.model import Cell, MapPanel

OWN = "#DDDDDD"
EMPTY = "#FFFFFF"


def draw(axes: Axes, panel: MapPanel) -> None:
    """Cells coloured from nothing to the fastest pair, a GPU with itself in grey; sources go down."""
    count = len(panel.names)
    top = panel.top or max(
        (cell.value.value for row in panel.cells for cell in row if _pair(cell)), default=1.0
    )
    axes.set_xlim(0, count)
    axes.set_ylim(count, 0)
    for down, row in enumerate(panel.cells):
        for right, cell in enumerate(row):
            _cell(axes, cell, right, down, top)
    for axis, set_ticks in ((axes.xaxis, axes.set_xticks), (axes.yaxis, axes.set_yticks)):
        set_ticks([at + 0.5 for at in range(count)], _names(axes, panel.names))
        axis.set_tick_params(length=0)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _pair(cell: Cell) -> bool:
    return cell.value is not None and not cell.own


def _names(axes: Axes, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, or where they do not fit beside each other only what differs in them."""
    width, _ = levels.size_in_points(axes)
    fits = all(text.width(name, style.SMALL) + 4 <= width / len(names) for name in names)
    return names if fits else tuple(name.split()[-1] for name in names)


def _cell(axes: Axes, cell: Cell, right: int, down: int, top: float) -> None:
    colour = OWN if cell.own else EMPTY
    if _pair(cell):
        colour = style.blend(style.MAP, cell.value.value / top)
    axes.add_patch(
        Rectangle((right, down), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.0, gid="cell")
    )
    width, _ = levels.size_in_points(axes)
    room = width / axes.get_xlim()[1] - 2
    axes.text(
        right + 0.5,
        down + 0.5,
        text.shorten(cell.text, style.FINE, room),
        fontsize=style.FINE,
        color=style.ink_on(colour),
        ha="center",
        va="center",
        gid="cell",
    )
