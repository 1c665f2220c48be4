"""Whether the drawn figures can be read: labels, scales, legends, edges; the same bytes each time."""

import io
import itertools
from dataclasses import replace
from functools import cache

import matplotlib
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Page
from PIL import Image, ImageChops

from boxes import (
    check_bars,
    check_curves,
    check_diagram,
    check_dots,
    check_map,
    check_no_overlap,
    check_spans,
    check_table,
    check_told_apart,
    lay_out,
)
from grainscope_report import reader
from grainscope_report.commands import plot
from grainscope_report.drawing import render, scales, style
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    DiagramPanel,
    Dot,
    DotPanel,
    DotRow,
    Figure,
    Level,
    MapPanel,
    Point,
    Region,
    SpanPanel,
    TablePanel,
    exact,
)
from grainscope_report.figures.table import figure
from grainscope_report.groups import reach
from grainscope_report.machine import machines
from grainscope_report.statistics import Estimate
from planted import ENTRIES
from synthetic import GIB, KIB, MIB, File

SHOWN = {
    "h100": ("h100",),
    "two_nodes": ("two_nodes",),
    "cpu_only": ("cpu_only",),
    "linked": ("linked",),
    "alone": ("alone",),
    "two_files": ("h100", "two_nodes"),
    "two_linked": ("linked", "alone"),
    "three_files": ("h100", "two_nodes", "cpu_only"),
    "traversing": ("traversing",),
    "modelling": ("modelling",),
    "two_traversing": ("traversing", "faster"),
    "toys_too": ("h100", "traversing"),
    "busy": ("busy",),
    "crowded": ("crowded",),
    "two_busy": ("busy", "crowded"),
    "learning": ("learning",),
    "tiering": ("tiering",),
    "two_learning": ("learning", "slower"),
    "all_graphs": ("traversing", "learning"),
    "leaning": ("leaning",),
    "packing": ("packing",),
    "two_leaning": ("leaning", "packing"),
}
FIGURES_OF = {
    "h100": ("1", "2", "5", "6", "7", "8", "d", "h"),
    "two_nodes": ("1", "2", "5", "6", "7", "8", "d", "h"),
    "cpu_only": ("1", "h"),
    "linked": ("3", "4", "13", "14", "o"),
    "alone": ("3",),
    "two_files": ("1", "2", "5", "6", "7"),
    "two_linked": ("13", "14"),
    "three_files": ("8", "d", "h"),
    "traversing": ("8", "9", "10", "16", "17", "18", "22"),
    "modelling": ("8", "9", "10", "16", "17"),
    "two_traversing": ("8", "9", "10", "16", "17", "22"),
    "toys_too": ("8",),
    "busy": ("m", "n", "p", "s", "t"),
    "crowded": ("d", "m", "n"),
    "two_busy": ("m", "n", "p", "s", "t"),
    "learning": ("10", "11", "12", "13", "21", "o"),
    "tiering": ("10", "11"),
    "two_learning": ("10", "11", "12", "13", "21"),
    "all_graphs": ("10",),
    "leaning": ("19",),
    "packing": ("19",),
    "two_leaning": ("19",),
}
# Those of one figure go to one worker, which draws it once.
CASES = [
    pytest.param(shown, number, marks=pytest.mark.xdist_group(f"{shown} {number}"))
    for shown, numbers in FIGURES_OF.items()
    for number in numbers
]
LOW_DPI = 60


def unlike(one: str, two: str) -> float:
    """How far apart two colours are, of 255 in each of red, green and blue."""
    red, green, blue = (int(one[at : at + 2], 16) - int(two[at : at + 2], 16) for at in (1, 3, 5))
    return (red**2 + green**2 + blue**2) ** 0.5


@pytest.fixture(scope="session")
def drawn(show):
    """Gives a figure as data and as drawn, each combination once."""

    @cache
    def one(shown: str, number: str) -> tuple[Figure, Page]:
        made = figure(ENTRIES[number], show(*SHOWN[shown]))
        page = render.draw(made)
        page.set_dpi(LOW_DPI)
        lay_out(page)
        return made, page

    return one


@pytest.mark.parametrize(("shown", "number"), CASES)
def test_no_text_overlaps_another_and_all_of_it_is_on_the_page(drawn, shown, number):
    _, page = drawn(shown, number)
    found = check_no_overlap(page)
    assert len(found) > 15
    for one, box in found:
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= page.bbox.x1 and box.y1 <= page.bbox.y1
        assert inside, f"{one.get_text()!r} leaves the page"


@pytest.mark.parametrize(("shown", "number"), CASES)
def test_a_column_has_panels_below_each_other_and_nothing_overlaps(drawn, shown, number):
    made, _ = drawn(shown, number)
    narrow = render.of_column(made, plot.COLUMN)
    if not narrow.rows:
        assert all(isinstance(one, (TablePanel, DiagramPanel, BarPanel)) for one in made.panels)
        return
    assert all(len(row) == 1 for row in narrow.rows)
    page = render.draw(narrow, framed=False, width=plot.COLUMN)
    page.set_dpi(style.DPI)  # at fewer, text is wider by whole pixels than a column has room for
    lay_out(page)
    assert page.get_size_inches()[0] == pytest.approx(85 / 25.4)
    for one, box in check_no_overlap(page):
        assert 0 <= box.x0 < box.x1 <= page.bbox.x1, f"{one.get_text()!r} leaves the page"


@pytest.mark.parametrize(("shown", "number"), CASES)
def test_what_has_another_name_in_a_panel_looks_different(drawn, shown, number):
    made, _ = drawn(shown, number)
    for panel in made.panels:
        check_told_apart(panel)


@pytest.mark.parametrize(("shown", "number"), CASES)
def test_no_label_of_a_line_covers_a_measured_point(drawn, shown, number):
    _, page = drawn(shown, number)
    renderer = page.canvas.get_renderer()
    for axes in page.axes:
        labels = [one for one in axes.texts if one.get_gid() == "level"]
        points = [
            axes.transData.transform(point)
            for line in axes.lines
            if line.get_marker() not in ("None", "_", "|") and line.get_transform() == axes.transData
            for point in line.get_xydata()
        ]
        for label in labels:
            box = label.get_window_extent(renderer)
            assert not any(box.contains(*point) for point in points), f"{label.get_text()!r} covers a point"


@pytest.mark.parametrize(("shown", "number"), CASES)
def test_blocks_under_the_panels_stay_clear_of_them(drawn, shown, number):
    _, page = drawn(shown, number)
    renderer = page.canvas.get_renderer()
    lowest = min(axes.get_tightbbox(renderer).y0 for axes in page.axes)
    for one in page.texts:
        if one.get_gid() in ("legend", "note"):
            assert one.get_window_extent(renderer).y1 <= lowest + 0.5, one.get_text()


@pytest.mark.parametrize(("shown", "number"), CASES)
def test_every_panel_is_drawn_with_labels_units_and_scales(drawn, shown, number):
    made, page = drawn(shown, number)
    for axes, panel in zip(page.axes, render.without_long_tables(made).panels, strict=True):
        assert axes.get_ylabel() == panel.y_label
        if isinstance(panel, TablePanel):
            check_table(axes, panel)
            continue
        assert panel.y_unit in {"GB/s", "ns", "ms", "%", "ratio", "requests", "SMs", "s", "GTEPS"}
        if isinstance(panel, MapPanel):
            check_map(axes, panel)
            continue
        if isinstance(panel, DiagramPanel):
            check_diagram(axes, panel)
            continue
        if isinstance(panel, DotPanel):
            check_dots(axes, panel, len(made.machines) > 1)
            continue
        if isinstance(panel, SpanPanel):
            check_spans(axes, panel)
            continue
        assert "GB/s" in panel.y_label or panel.y_unit != "GB/s"
        if isinstance(panel, CurvePanel):
            check_curves(axes, panel)
        else:
            check_bars(axes, panel)


def test_tables_too_long_for_a_picture_are_left_out_and_it_says_where_they_are(drawn):
    made, page = drawn("two_leaning", "19")
    notes = " ".join(one.get_text() for one in page.texts if one.get_gid() == "note")
    lines = sum(len(panel.rows) for panel in made.panels if isinstance(panel, TablePanel))
    assert lines > render.MOST_LINES
    assert f"The table of {lines} lines is in figure_19_fewer_bytes.md" in notes
    short, _ = drawn("traversing", "18")
    assert render.without_long_tables(short) is short
    assert any(isinstance(panel, TablePanel) for panel in short.panels)


@pytest.mark.parametrize(("shown", "number"), CASES)
def test_legend_and_footer_explain_what_is_drawn(drawn, shown, number):
    made, page = drawn(shown, number)
    explained = {one.get_text() for one in page.texts if one.get_gid() == "legend"}
    notes = " ".join(one.get_text() for one in page.texts if one.get_gid() == "note")
    for panel in made.panels:
        if isinstance(panel, CurvePanel):
            names = {curve.name for curve in panel.curves}
            assert names <= explained
            assert (
                not any(point.flags for curve in panel.curves for point in curve.points)
                or render.HOLLOW in explained
            )
            assert all(f"({region.letter})" in notes for region in panel.regions)
        if isinstance(panel, DotPanel):
            dots = [dot for row in panel.rows for dot in row.dots]
            assert {dot.name for dot in dots if dot.name} <= explained
            assert (render.RING in explained) >= any(dot.label == "modelled" for dot in dots)
        kinds = {level.kind for level in panel.levels} & set(render.LEVEL_NAMES)
        assert {render.LEVEL_NAMES[kind] for kind in kinds} <= explained
    for machine in made.machines:
        for part in (machine.result.host, "commit 1a2b3c4d5e", "2026-11-20"):
            assert part in notes
    for said in made.subtitle:
        assert said in " ".join(one.get_text() for one in page.texts if one.get_gid() == "subtitle")
    if shown not in ("cpu_only", "modelling", "tiering"):
        assert "driver 580.159" in notes
    if shown == "h100":
        assert "severe warning: governor is powersave" in notes
    assert "95 % interval" in notes


def test_machines_of_several_files_are_told_apart(drawn):
    _, page = drawn("two_files", "5")
    explained = [one.get_text() for one in page.texts if one.get_gid() == "legend"]
    assert "A: NVIDIA H100 80GB HBM3 (node-a)" in explained
    assert "B: NVIDIA H200 ×2 (node-b)" in explained
    markers = {line.get_marker() for line in page.axes[0].lines if line.get_linestyle() == "None"}
    assert {"o", "s"} <= markers


def test_flagged_points_are_hollow(drawn):
    made, page = drawn("h100", "2")
    flagged = sum(bool(point.flags) for curve in made.panels[0].curves for point in curve.points)
    hollow = [
        len(line.get_xdata())
        for line in page.axes[0].lines
        if line.get_linestyle() == "None" and line.get_markerfacecolor() == "white"
    ]
    assert flagged == 2
    assert sum(hollow) == flagged


def test_what_was_slower_alone_is_hollow_and_said(show):
    made = figure(ENTRIES["2"], show("h100"))
    panel = made.panels[0]
    flagged = replace(panel.curves[0].points[0], flags=frozenset({"slower_alone"}))
    curve = replace(panel.curves[0], points=(flagged,))
    names = [
        name for name, _ in render.legend_entries(replace(made, rows=((replace(panel, curves=(curve,)),),)))
    ]
    assert render.SLOWER in names
    assert render.HOLLOW not in names


def test_a_method_has_one_colour_in_all_figures(drawn):
    colours = {}
    for number in ("1", "2", "5", "6", "7"):
        made, page = drawn("h100", number)
        for axes, panel in zip(page.axes, made.panels, strict=True):
            lines = [container.lines[0] for container in axes.containers if hasattr(container, "lines")]
            for line, curve in zip(lines, getattr(panel, "curves", ()), strict=False):
                colours.setdefault(curve.method, set()).add(line.get_color())
    assert all(len(found) == 1 for found in colours.values())
    assert len({next(iter(found)) for found in colours.values()}) == len(colours)


def test_error_bars_are_the_interval(drawn):
    made, page = drawn("h100", "6")
    curve = next(one for one in made.panels[0].curves if one.name == "demand")
    order = made.panels[0].curves.index(curve)
    _, _, [bars] = page.axes[0].containers[order].lines
    for segment, point in zip(bars.get_segments(), curve.points, strict=True):
        assert segment[0][1] == pytest.approx(point.y.low)
        assert segment[1][1] == pytest.approx(point.y.high)


def test_crossovers_and_dips_are_drawn_where_they_are(drawn):
    made, page = drawn("h100", "5")
    [crossing] = made.panels[0].regions
    spans = [
        patch.get_extents().transformed(page.axes[0].transData.inverted()) for patch in page.axes[0].patches
    ]
    assert any(
        span.x0 == pytest.approx(crossing.low) and span.x1 == pytest.approx(crossing.high) for span in spans
    )
    made, page = drawn("h100", "7")
    [dip] = [region for region in made.panels[1].regions if region.kind == "dip"]
    spans = [
        patch.get_extents().transformed(page.axes[1].transData.inverted()) for patch in page.axes[1].patches
    ]
    assert any(span.x0 < dip.low <= dip.high < span.x1 for span in spans)


def test_labels_of_lines_that_lie_close_are_on_neither(show):
    [machine] = show("h100")
    spans = [64 * MIB * 2 ** (step / 7) for step in range(64)]

    def falling(top: float) -> Curve:
        rates = [50 + (top - 50) * (spans[0] / span) ** 1.3 for span in spans]
        points = tuple(Point(x, Estimate(y, y, y)) for x, y in zip(spans, rates, strict=True))
        return Curve("rows", "pinned", machine, points, marked=False)

    levels = (("peak", "copy peak", 55.2), ("theoretical", "theoretical, PCIe 5 ×16", 63.0))
    panel = CurvePanel(
        "spans",
        (falling(207), falling(117), falling(46)),
        levels=tuple(Level(*one, machine) for one in levels),
        regions=(Region("knee", 10 * GIB, 10 * GIB, "", 10 * GIB, "a", method="pinned"),),
    )
    page = render.draw(Figure((machine,), ((panel, panel),), title="Lines"))
    page.canvas.draw()
    axes = page.axes[0]
    labels = [one for one in axes.texts if one.get_gid() == "level"]
    assert len(labels) == 2
    for label in labels:
        box = label.get_window_extent(page.canvas.get_renderer())
        for level in panel.levels:
            _, height = axes.transData.transform((GIB, level.value))
            assert not box.y0 < height < box.y1, f"{label.get_text()!r} lies on {level.name}"


@pytest.mark.parametrize(
    "kernels", [((44.9, 51.5, 1.06), (43.6, 51.1, 1.1)), ((46.5, 46.8, 1.0),)], ids=["interval", "marker"]
)
def test_labels_of_lines_cover_neither_markers_nor_intervals(show, kernels):
    pair = show("h100", "two_nodes")
    there = (*kernels, (10.1, 47.2, 1.36), (7.4, 39.9, 1.1))
    curves = tuple(
        Curve(f"way {at}", "pinned", pair[at % 2], tuple(
            Point(x, Estimate(y, y / factor, y * factor)) for x, y in ((4.0 * KIB, first), (64.0 * KIB, last))
        ))
        for at, (first, last, factor) in enumerate(there)
    )  # fmt: skip
    levels = [Level("peak", "copy peak", 55.1 + 0.1 * machine.index, machine) for machine in pair]
    levels += [Level("theoretical", "theoretical, PCIe 5 ×16", 63.0, machine) for machine in pair]
    panel = CurvePanel("pages", curves, y_log=True, levels=tuple(levels))
    page = render.draw(Figure(pair, ((panel, panel),), title="Pages"))
    page.canvas.draw()
    axes, renderer = page.axes[0], page.canvas.get_renderer()
    labels = [one for one in axes.texts if one.get_gid() == "level"]
    assert [one.get_text().partition(":")[0] for one in labels] == ["theoretical, PCIe 5 ×16", "copy peak"]
    radius = 1.9 * page.dpi / 72
    for label in labels:
        box = label.get_window_extent(renderer)
        for point in (point for curve in curves for point in curve.points):
            (x, low), (_, high) = (
                axes.transData.transform((point.x, y)) for y in (point.y.low, point.y.high)
            )
            _, middle = axes.transData.transform((point.x, point.y.value))
            low, high = min(low, middle - radius), max(high, middle + radius)
            across = box.x0 - radius < x < box.x1 + radius
            assert not (across and low < box.y1 and box.y0 < high), f"{label.get_text()!r} covers a point"


def test_a_label_of_many_machines_covers_no_curve(show):
    four = show("h100", "two_nodes", "linked", "alone")
    sizes = [256.0 * 4**step for step in range(11)]
    curves = tuple(
        Curve("copy", "pinned", machine, tuple(Point(x, exact(55 * x / (x + 2e5))) for x in sizes))
        for machine in four
    )
    levels = [Level("peak", "copy peak", 55.0 + 0.2 * machine.index, machine) for machine in four]
    levels += [Level("theoretical", "theoretical, PCIe 5 ×16", 63.0, machine) for machine in four]
    panel = CurvePanel("copies", curves, y_log=True, levels=tuple(levels))
    page = render.draw(Figure(four, ((panel, panel),), title="Copies"))
    page.canvas.draw()
    axes, renderer = page.axes[0], page.canvas.get_renderer()
    labels = [one for one in axes.texts if one.get_gid() == "level"]
    assert [one.get_text() for one in labels] == ["theoretical, PCIe 5 ×16: 63.0", "copy peak: 55.0–55.6"]
    points = [
        axes.transData.transform(
            (one.x * (two.x / one.x) ** share, one.y.value + share * (two.y.value - one.y.value))
        )
        for curve in curves
        for one, two in itertools.pairwise(curve.points)
        for share in np.linspace(0, 1, 50)
    ]
    for label in labels:
        box = label.get_window_extent(renderer)
        assert not any(box.contains(*point) for point in points), f"{label.get_text()!r} covers a curve"


def test_a_label_without_room_at_its_line_is_further_away_and_points_to_it(show):
    [machine] = show("h100")
    series = tuple(
        BarSeries(f"way {at}", f"component {at}", tuple(Bar(Estimate(8.0, 6.0, 10.0)) for _ in range(6)))
        for at in range(2)
    )
    level = Level("even", "edges in GPU memory 2.83 ms", 2.83, machine)
    panel = BarPanel("times", tuple("abcdef"), series, "time (ms)", "ms", levels=(level,), y_top=14.0)
    page = render.draw(Figure((machine,), ((panel, panel),), title="Times"))
    page.canvas.draw()
    axes = page.axes[0]
    [label] = [one for one in axes.texts if one.get_gid() == "level"]
    assert label.get_text() == "↓ edges in GPU memory 2.83 ms"
    _, highest = axes.transData.transform((0, 10.0))
    assert label.get_window_extent(page.canvas.get_renderer()).y0 > highest


def test_bars_of_several_machines_have_a_colour_each():
    for method in ("traffic", "zero_copy", "merged_aligned", "kernel"):
        shades = [style.colour(method, machine) for machine in range(8)]
        assert min(unlike(*pair) for pair in itertools.combinations(shades, 2)) > 12, shades
        assert min(unlike(*pair) for pair in itertools.combinations(shades[:4], 2)) > 25, shades


def test_kinds_of_memory_look_unlike_rows_of_any_size():
    for memory in reach.KINDS:
        for count in range(1, 7):
            for order in range(count):
                row = style.colour(f"row {order} of {count}")
                assert memory == "peer" or unlike(style.colour(memory), row) > 70, (memory, order, count)


def test_a_label_of_a_line_does_not_cover_the_whisker_of_a_stack(show):
    machine, other = show("h100", "two_nodes")
    series = tuple(
        BarSeries(f"part {at}", f"component {at}", (
            Bar(Estimate(0.495, 0.495, 0.495 + 0.02 * at), machine=machine), Bar(exact(0.5), machine=other),
        ))
        for at in range(2)
    )  # fmt: skip
    panel = BarPanel(
        "stacks", ("one", "two"), series, "time", "ratio", stacked=True,
        levels=(Level("even", "the reference", 1.0),), sums=(Estimate(0.99, 0.9, 1.1), exact(1.0)),
    )  # fmt: skip
    page = render.draw(Figure((machine, other), ((panel, panel),), title="Stacks"))
    page.canvas.draw()
    axes = page.axes[0]
    [label] = [one for one in axes.texts if one.get_gid() == "level"]
    box = label.get_window_extent(page.canvas.get_renderer())
    left, _ = axes.transData.transform((0.5, 1.0))
    assert box.x0 > left


def test_dots_of_several_machines_have_their_colour_in_the_legend(show):
    def handle(shown: list) -> Artist:
        points = (Point(1.0, exact(1.0)), Point(2.0, exact(2.0)))
        curves = tuple(Curve("bound by link", "pinned", one, points, dash="none") for one in shown)
        return dict(render.legend_entries(Figure(shown, ((CurvePanel("times", curves),),))))["bound by link"]

    alone = handle(show("h100"))
    assert (alone.get_marker(), alone.get_color()) == ("o", style.colour("pinned"))
    assert to_hex(handle(show("h100", "two_nodes")).get_facecolor()) == style.colour("pinned").lower()


def test_a_level_far_above_the_data_does_not_squash_it(drawn):
    made, page = drawn("h100", "6")
    assert page.axes[0].get_ylim()[1] < 20 < made.panels[0].levels[0].value
    assert any(one.get_text().startswith("↑ copy peak: 54.7") for one in page.axes[0].texts)


@pytest.mark.parametrize("bars", [False, True])
def test_a_level_that_the_axis_reaches_is_a_line_on_it(show, bars):
    [machine] = show("h100")
    levels = (Level("peak", "copy peak", 55.0, machine), Level("theoretical", "theoretical", 63.0, machine))
    if bars:
        only = BarSeries("copy", "pinned", (Bar(exact(28.0)),))
        panel = BarPanel("copies", ("one",), (only,), "bandwidth (GB/s)", "GB/s", levels=levels)
    else:
        points = tuple(Point(x, exact(28.0)) for x in (4.0 * KIB, 64.0 * KIB))
        panel = CurvePanel("copies", (Curve("copy", "pinned", machine, points),), levels=levels)
    page = render.draw(Figure((machine,), ((panel, panel),), title="Copies"))
    axes = page.axes[0]
    labels = [one.get_text() for one in axes.texts if one.get_gid() == "level"]
    assert sorted(labels) == ["copy peak: 55.0", "theoretical: 63.0"]
    assert axes.get_ylim()[1] > 63
    lines = [line.get_ydata()[0] for line in axes.lines if set(line.get_xdata()) == {0, 1}]
    assert {55.0, 63.0} <= set(lines)


def names_off_the_page(page: Page) -> list[str]:
    """Texts that overlap none but leave the page at a side."""
    page.set_dpi(style.DPI)
    lay_out(page)
    return [one.get_text() for one, box in check_no_overlap(page) if box.x0 < 0 or box.x1 > page.bbox.x1]


def in_a_column(made: Figure) -> Page:
    return render.draw(render.of_column(made, plot.COLUMN), framed=False, width=plot.COLUMN)


def test_long_numbers_beside_an_axis_leave_its_label_on_the_page(show):
    [machine] = show("h100")
    points = tuple(Point(x, exact(y)) for x, y in ((256.0, 2e-5), (64.0 * KIB, 0.02), (1.0 * GIB, 130.0)))
    curves = (Curve("malloc", "pinned", machine, points),)
    panel = CurvePanel("malloc", curves, "one operation (ms)", "ms", y_log=True)
    made = Figure((machine,), ((panel, panel),), title="Calls")
    for page in (render.draw(made), in_a_column(made)):
        assert names_off_the_page(page) == []
        ticks = {label.get_text() for label in page.axes[0].get_yticklabels()}
        assert {"1e-4", "0.001", "10"} <= ticks


def test_ticks_around_a_single_value_are_on_the_page(show):
    [machine] = show("h100")
    for size in (16.0 * KIB, 256.0 * MIB):
        panel = CurvePanel("copies", (Curve("copy", "pinned", machine, (Point(size, exact(5.0)),)),))
        made = Figure((machine,), ((panel, panel),), title="Copies")
        for page in (render.draw(made), in_a_column(made)):
            assert names_off_the_page(page) == []


def test_a_name_longer_than_a_column_goes_on_in_the_legend_s_next_line(show):
    [machine] = show("h100")
    name = "transfer/kernel_copy: pinned to gpu, blocks 1, chunk 6 KiB, bulk, stages 32"
    points = tuple(Point(x, exact(28.0)) for x in (4.0 * KIB, 64.0 * KIB))
    panel = CurvePanel("copies", (Curve(name, "pinned", machine, points),))
    page = in_a_column(Figure((machine,), ((panel,),), title="Copies"))
    assert names_off_the_page(page) == []
    said = [one.get_text() for one in page.texts if one.get_gid() == "legend"]
    assert len(said) == 2
    assert " ".join(said) == name


def test_an_endless_name_takes_two_lines_of_the_legend(show):
    one, two = show("h100", "two_nodes")
    points = tuple(Point(x, exact(28.0)) for x in (4.0 * KIB, 64.0 * KIB))
    curves = tuple(Curve("copy" + " and so on" * 90, "pinned", machine, points) for machine in (one, two))
    made = Figure((one, two), ((CurvePanel("copies", curves),),), title="Copies")
    for page in (render.draw(made), in_a_column(made)):
        assert names_off_the_page(page) == []
        said = [text.get_text() for text in page.texts if text.get_gid() == "legend"]
        assert [line.startswith("copy and so on") for line in said] == [True, False, False, False]
        assert said[1].endswith("…")


CALLS = ("copy engine", "kernel copy in bulk, 2 blocks"), ("",), ("64 B of arguments", "8 threads")


@pytest.mark.parametrize("log", [False, True])
def test_names_of_rows_in_a_column_leave_room_for_their_axis(show, log):
    [machine] = show("h100")
    rows = [
        DotRow(name, part, (Dot(Estimate(value, value * 0.9, value * 1.1), "pinned", machine),))
        for name, parts in zip(
            ("beside a kernel on GPU memory", "launch and wait", "first touch by the CPU, managed"),
            CALLS, strict=True,
        )
        for part, value in zip(parts, (2e-7, 0.09), strict=False)
    ]  # fmt: skip
    panel = DotPanel("one call", tuple(rows), "time", "s", log=log)
    page = in_a_column(Figure((machine,), ((panel,),), title="Calls"))
    assert names_off_the_page(page) == []
    [axes] = page.axes
    width, _ = scales.size_in_points(axes)
    assert width >= 72
    (left, _), (right, _) = (axes.transData.transform((at, 0)) for at in axes.get_xlim())
    assert left < right
    said = {one.get_text() for one in axes.texts if one.get_gid() == "row"}
    assert {name for row in rows for name in (row.name, row.part) if name} <= said
    dots = [line for line in axes.lines if line.get_gid() == "dot"]
    assert [line.get_xdata()[0] for line in dots] == [row.dots[0].value.value for row in rows]
    heads = [one for one in axes.texts if one.get_text().startswith(("beside", "first touch"))]
    assert all(one.get_position()[1] not in {line.get_ydata()[0] for line in dots} for one in heads)


def test_times_along_an_axis_have_decimal_ticks(show):
    [machine] = show("h100")
    points = tuple(Point(x, exact(x)) for x in (0.011, 2.0, 480.0))
    curves = (Curve("bound by link", "pinned", machine, points, dash="none"),)
    panel = CurvePanel("gather", curves, "predicted (ms)", "ms", "measured (ms)", "ms", y_log=True)
    page = render.draw(Figure((machine,), ((panel, panel),), title="Predicted"))
    ticks = [label.get_text() for label in page.axes[0].get_xticklabels()]
    assert [float(tick) for tick in ticks] == [0.01, 0.1, 1, 10, 100]


def test_one_point_alone_can_be_drawn(tmp_path):
    file = File(gpus=("H100",))
    axes = {"timed": "copy", "path": "pinned_to_gpu", "flush": "on", "bytes": MIB, "locality": "unknown"}
    file.add("transfer/memcpy", axes, {"gpu": 0, "numa": 0}, 20e-6)
    shown = machines([reader.read(file.write(tmp_path / "result.json"))])
    page = render.draw(figure(ENTRIES["2"], shown))
    page.canvas.draw()
    check_no_overlap(page)


def test_long_names_and_many_machines_stay_readable(tmp_path):
    files = []
    for order in range(5):
        file = File(
            host=f"a-very-long-host-name-{order}.cluster.example.org", gpus=("NVIDIA RTX PRO 6000 Blackwell",)
        )
        file.link("host_to_gpu", 40.0 + 4 * order)
        for size in (4 * KIB, MIB, 64 * MIB):
            axes = {
                "timed": "copy",
                "path": "pinned_to_gpu",
                "flush": "on",
                "bytes": size,
                "locality": "local",
            }
            file.add("transfer/memcpy", axes, {"gpu": 0, "numa": 0}, 2e-6 + size / (40e9 + 4e9 * order))
        files.append(file.write(tmp_path / str(order) / "result.json"))
    page = render.draw(figure(ENTRIES["2"], machines([reader.read(path) for path in files])))
    page.canvas.draw()
    found = check_no_overlap(page)
    assert all(box.x1 <= page.bbox.x1 for _, box in found)


def test_a_panel_spans_the_range_that_it_is_given(show):
    made = figure(ENTRIES["7"], show("h100"))
    top, [ratio, *others] = made.rows
    wider = replace(ratio, x_range=(256.0, 4.0 * KIB * MIB))
    page = render.draw(replace(made, rows=(top, (wider, *others))))
    low, high = page.axes[2].get_xlim()
    assert low <= 256
    assert high >= 4 * KIB * MIB


def test_svg_of_the_same_data_is_the_same(show):
    made = figure(ENTRIES["8"], show("h100"))
    first, second = (render.save(render.draw(made), "svg") for _ in range(2))
    assert first == second
    assert b"<svg" in first


@pytest.mark.parametrize(("number", "shown"), [("8", "h100"), ("10", "traversing"), ("p", "busy")])
def test_a_png_of_few_colours_looks_like_one_of_all(show, number, shown):
    page = render.draw(figure(ENTRIES[number], show(shown)))
    full = io.BytesIO()
    with matplotlib.rc_context(style.RC):
        page.savefig(full, format="png", dpi=style.DPI)
    saved = render.save(page, "png")
    few = Image.open(io.BytesIO(saved))
    assert few.mode == "P"
    unlike = ImageChops.difference(few.convert("RGB"), Image.open(full).convert("RGB"))
    assert max(most for _least, most in unlike.getextrema()) <= 20  # of 255
    assert len(saved) < len(full.getvalue()) / 2


def test_a_figure_without_data_is_never_drawn(show):
    with pytest.raises(ValueError, match="no data to draw"):
        render.draw(figure(ENTRIES["2"], show("cpu_only")))


def test_spread_keeps_order_and_distance():
    placed = style.spread([10, 11, 12], [4, 4, 4], 0, 100, 1)
    assert placed == sorted(placed)
    assert all(right - left >= 5 for left, right in itertools.pairwise(placed))
    assert style.spread([98], [10], 0, 100, 1) == [95]
    assert style.spread([10, 50], [4, 4], 0, 100, 1) == [10, 50]


def test_a_percent_sign_stays_with_its_number():
    room = style.text_width("stages at once 34", style.TEXT)
    assert style.wrap("stages at once 34 % of it", style.TEXT, room) == ["stages at once", "34 % of it"]
    assert style.wrap("stages at once (34 %) of it", style.TEXT, room) == ["stages at once", "(34 %) of it"]


def test_wrap_and_shorten_keep_to_the_room():
    lines = style.wrap("one two three " * 10 + "x" * 200, style.FINE, 120)
    assert all(style.text_width(line, style.FINE) <= 120 for line in lines)
    assert "".join(lines).replace(" ", "").endswith("x" * 200)
    assert style.text_width(style.shorten("a long label that does not fit", style.FINE, 50), style.FINE) <= 50
    assert style.shorten("short", style.FINE, 50) == "short"


def test_ink_reads_on_every_bar():
    assert style.ink_on("#000000") == "#FFFFFF"
    assert style.ink_on("#F0F0F0") == "#000000"


def test_labels_avoid_what_is_taken():
    one, two = scales.Rectangle(0, 0, 10, 5), scales.Rectangle(5, 4, 10, 5)
    assert one.meets(two)
    assert not one.meets(scales.Rectangle(11, 0, 5, 5))
    assert one.holds(np.array([(3, 3)])) == 1
    assert one.holds(np.array([(3, 6)])) == 0
