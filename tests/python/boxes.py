"""Where the texts of a drawn figure stand, by the renderer's own boxes, and whether panels are all there."""

import itertools
from collections import defaultdict

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Page
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from grainscope_report.drawing import panels, style
from grainscope_report.figures import model
from grainscope_report.figures.model import (
    BarPanel,
    CurvePanel,
    DiagramPanel,
    DotPanel,
    MapPanel,
    Panel,
    SpanPanel,
    TablePanel,
)

SLACK = 0.7  # pixels that boxes may share


def lay_out(page: Page) -> None:
    """Places everything as drawing does, without the pixels: they take longer than all the rest."""
    page.draw_without_rendering()


def texts(page: Page) -> list[tuple[Text, Bbox]]:
    """Every text that is seen, with its box."""
    renderer = page.canvas.get_renderer()
    found = [(one, one.get_window_extent(renderer)) for one in page.texts]
    for axes in page.axes:
        seen = [*axes.texts, axes.title, axes._left_title, axes._right_title]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * abs(high)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if low - slack <= tick.get_loc() <= high + slack:
                    seen.append(tick.label1)
            seen.append(axis.label)
        found += [(one, one.get_window_extent(renderer)) for one in seen]
    return [(one, box) for one, box in found if one.get_text().strip() and one.get_visible()]


def check_no_overlap(page: Page) -> list[tuple[Text, Bbox]]:
    """Fails where a text of the page lies upon another; gives the texts."""
    found = texts(page)
    edges = np.array([box.extents for _, box in found])
    low, high = edges[:, None, :2], edges[:, None, 2:]
    shared = np.minimum(high, edges[:, 2:]) - np.maximum(low, edges[:, :2])
    for one, two in np.argwhere(np.triu((shared > SLACK).all(axis=2), 1)):
        raise AssertionError(f"{found[one][0].get_text()!r} overlaps {found[two][0].get_text()!r}")
    return found


def check_told_apart(panel: Panel) -> None:
    """Fails where curves, dots or bars of one machine that have different names look alike."""
    names = defaultdict(set)
    for curve in getattr(panel, "curves", ()):
        dash = "dotted" if curve.label == "modelled" else curve.dash
        names[curve.machine.index, style.colour(curve.method), dash, curve.marked].add(curve.name)
    for dot in (dot for row in getattr(panel, "rows", ()) for dot in getattr(row, "dots", ())):
        names[dot.machine.index, style.colour(dot.method), dot.aside, dot.label].add(dot.name)
    for series in getattr(panel, "series", ()):
        # Papers' bars have their names in them.
        if series.label != "paper":
            fill = style.colour(series.method, series.machine.index if series.machine else 0)
            names[fill, series.hatched].add(series.name)
    for look, alike in names.items():
        assert len(alike) == 1, f"{panel.title}: {alike} all are {look}"


def check_map(axes: Axes, panel: MapPanel) -> None:
    """Cells with their texts, the diagonal of pairs in grey; what has a method in its colour."""
    assert "GB/s" in panel.title
    said = [one.get_text() for one in axes.texts if one.get_gid() == "cell"]
    assert said == [cell.text for row in panel.cells for cell in row]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(panel.names)
    assert [label.get_text() for label in axes.get_xticklabels()] == list(panel.columns or panel.names)
    shades = [to_hex(patch.get_facecolor()) for patch in axes.patches if patch.get_gid() == "cell"]
    cells = [cell for row in panel.cells for cell in row]
    grey = {panels.OWN.lower()} if not panel.columns else set()
    assert {shade for shade, cell in zip(shades, cells, strict=True) if cell.own} == grey
    for shade, cell in zip(shades, cells, strict=True):
        assert not cell.method or shade == style.colour(cell.method).lower()
    assert panels.OWN.lower() not in {
        shade for shade, cell in zip(shades, cells, strict=True) if not cell.own
    }


def check_table(axes: Axes, panel: TablePanel) -> None:
    """Fails where a cell is not written as it is."""
    said = [one.get_text() for one in axes.texts if one.get_gid() == "table"]
    assert said == [cell for line in model.table_texts(panel) for cell in line]


def check_diagram(axes: Axes, panel: DiagramPanel) -> None:
    """Fails where a place, or a word of what is said of it, is not written."""
    said = " ".join(one.get_text().replace("\u00a0", " ") for one in axes.texts).split()
    for place in (*panel.nodes, *panel.gpus):
        for words in ((place.name,), *place.said, *place.link, *place.peers):
            assert set(" ".join(words).split()) <= set(said), words
    assert [one.get_text() for one in axes.texts if one.get_gid() == "joint"] == [
        joint.name for joint in panel.joints if joint.name
    ]


def check_dots(axes: Axes, panel: DotPanel, several: bool) -> None:
    """Every dot on the axis, every name and number once."""
    assert axes.get_xlabel() == panel.x_label
    assert axes.get_xscale() == ("log" if panel.log else "linear")
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert len(ticks) >= 2
    dots = [dot for row in panel.rows for dot in row.dots]
    drawn = [line for line in axes.lines if line.get_gid() == "dot"]
    assert [line.get_xdata()[0] for line in drawn] == [dot.value.value for dot in dots]
    low, high = axes.get_xlim()
    assert all(low <= dot.value.low and dot.value.high <= high for dot in dots)
    said = [one.get_text() for one in axes.texts if one.get_gid() == "row"]
    # Names once for a run of rows, parts for each, and of one machine a number for each that has a value.
    begins = sum(one.name != two.name for one, two in itertools.pairwise(panel.rows)) + 1
    names = begins + sum(bool(row.part) for row in panel.rows) if panel.named else 0
    numbers = 0 if several or not panel.numbered else sum(bool(row.dots) for row in panel.rows)
    assert len(said) == names + numbers
    for row in panel.rows if panel.named else ():
        assert row.name in said
        assert row.part in ("", *said)
    assert sum(line.get_gid() == "rule" for line in axes.lines) == begins - 1


def check_spans(axes: Axes, panel: SpanPanel) -> None:
    """A box for each step within the range, none upon another of its lane; names, and how much each works."""
    assert axes.get_xlabel() == panel.x_label
    assert axes.get_xlim() == panel.x_range
    assert len([label for label in axes.get_xticklabels() if label.get_text()]) >= 2
    drawn = [patch for patch in axes.patches if patch.get_gid() == "span"]
    spans = [span for row in panel.rows for span in row.spans]
    assert [(patch.get_x(), patch.get_width()) for patch in drawn] == [
        (span.begin, span.end - span.begin) for span in spans
    ]
    low, high = panel.x_range
    assert all(span.end > low and span.begin < high for span in spans)
    for row in panel.rows:
        assert all(one.end <= two.begin + 1e-3 for one, two in itertools.pairwise(row.spans))
        assert 0 <= row.working.value.value <= 100 + 1e-6
    said = [one.get_text() for one in axes.texts if one.get_gid() == "row"]
    assert {text for row in panel.rows for text in (row.name, row.part, row.working.text)} <= {"", *said}
    assert {one.get_text() for one in axes.texts if one.get_gid() == "span"} <= {span.name for span in spans}


def check_curves(axes: Axes, panel: CurvePanel) -> None:
    """Scales, ticks, points and lines of a panel of curves."""
    assert axes.get_xscale() == "log"
    assert axes.xaxis.get_transform().base == 2
    assert axes.get_yscale() == ("log" if panel.y_log else "linear")
    if not panel.y_log:
        assert axes.get_ylim()[0] == 0
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert len(ticks) >= 2
    if panel.x_unit == "bytes":
        assert all(tick.split()[1] in ("B", "KiB", "MiB", "GiB") for tick in ticks)
    points = sum(
        len(line.get_xdata())
        for line in axes.lines
        if line.get_linestyle() == "None" and line.get_gid() is None
    )
    assert points >= sum(len(curve.points) for curve in panel.curves if curve.marked)
    assert sum(line.get_gid() == "line" for line in axes.lines) == sum(not one.marked for one in panel.curves)
    assert sum(line.get_gid() == "roof" for line in axes.lines) == len(panel.roofs)
    low, high = axes.get_xlim()
    assert all(low <= x <= high for curve in panel.curves for x in curve.x)
    bottom, top = axes.get_ylim()
    assert all(bottom <= y.low and y.high <= top for curve in panel.curves for y in curve.y)
    for level in panel.levels:
        assert any(level.name in one.get_text() for one in axes.texts if one.get_gid() == "level")


def check_bars(axes: Axes, panel: BarPanel) -> None:
    """From zero, every bar and every part of one."""
    assert axes.get_ylim()[0] == 0
    parts = sum(line.get_gid() == "part" for line in axes.lines)
    assert parts == sum(len(bar.parts) for series in panel.series for bar in series.bars)
    check_upright(axes)
    if panel.stacked and panel.y_unit not in ("%", "share"):
        stacks = zip(*(series.bars for series in panel.series), strict=True)
        tallest = max(sum(bar.value.value for bar in stack if bar.value) for stack in stacks)
        assert tallest < 0.99 * axes.get_ylim()[1], "a stack reaches the edge of its panel"
    bars = sum(len(container) for container in axes.containers if hasattr(container, "patches"))
    assert bars == sum(bar.value is not None for series in panel.series for bar in series.bars)


def check_upright(axes: Axes) -> None:
    """No text written upwards is wider than the bar that it stands on."""
    widths = [patch.get_window_extent().width for patch in axes.patches if patch.get_height()]
    renderer = axes.figure.canvas.get_renderer()
    for one in axes.texts:
        if one.get_gid() == "bar" and one.get_rotation() == 90:
            letters = one.get_window_extent(renderer).width
            assert letters <= 1.05 * min(widths), f"{one.get_text()!r} is wider than its bar"
