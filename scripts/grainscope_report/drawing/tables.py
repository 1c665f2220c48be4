"""Draws a panel that is a table: aligned columns of text under a rule, every other line shaded."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from grainscope_report.drawing import style, text
from grainscope_report.drawing.levels import size_in_points
from grainscope_report.figures.text_table import TablePanel, texts

LEAST_GAP = 4.0
SHADE = "#F3F3F3"
LINE = 11.0  # points


def height(panel: TablePanel) -> float:
    """The inches that the table takes."""
    return (len(panel.rows) + 1.3) * LINE / 72


def draw(axes: Axes, panel: TablePanel) -> None:
    """Writes the table from the top left; columns as wide as their widest text, spread over the panel."""
    axes.set_axis_off()
    axes.set_xticks([])
    axes.set_yticks([])
    width, tall = size_in_points(axes)
    axes.set_xlim(0, width)
    axes.set_ylim(tall, 0)
    lines = texts(panel)
    wide = [max(_width(line[at], at == 0) for line in lines) for at in range(len(panel.columns))]
    # A table that is too wide moves together, and loses the ends of its names.
    gap = max(LEAST_GAP, (width - sum(wide)) / max(1, len(wide) - 1))
    wide[0] = min(wide[0], width - sum(wide[1:]) - gap * (len(wide) - 1))
    ink = style.GREY if panel.paper else "#000000"
    for order, line in enumerate(lines):
        middle = (order + 0.5 + (0.3 if order else 0.0)) * LINE
        if order and order % 2 == 0:
            axes.add_patch(
                Rectangle((0, middle - LINE / 2), width, LINE, facecolor=SHADE, linewidth=0, gid="shade")
            )
        left = 0.0
        for at, said in enumerate(line):
            right = at > 0 and panel.right[at - 1]
            axes.text(
                left + (wide[at] if right else 0.0),
                middle,
                text.shorten(said, style.SMALL, wide[at] + 0.5),
                fontsize=style.SMALL,
                weight="bold" if order == 0 else "normal",
                color=ink,
                ha="right" if right else "left",
                va="center",
                gid="table",
            )
            left += wide[at] + gap
    axes.plot([0, width], [1.15 * LINE] * 2, color=style.GREY, linewidth=0.6, gid="rule")


def _width(said: str, first: bool) -> float:
    return max(text.width(said, style.SMALL), text.width(said, style.SMALL, "bold")) + (1 if first else 0)
