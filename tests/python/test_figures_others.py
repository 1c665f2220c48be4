"""Figure o: a family that nobody has heard of gives lines or dots by its axes alone."""

import pytest

from boxes import check_curves, check_dots, check_no_overlap, check_told_apart
from grainscope_report.drawing import render, style
from grainscope_report.figures.model import CurvePanel, DotPanel
from planted import ENTRIES, SITE, add_copy, around, gpu_file, linked_file, made, only, point, table
from synthetic import KIB, MIB, File

FAMILY = "toy/sum"
SIZES = (64 * KIB, MIB, 16 * MIB)


def sums(file: File, gb_s: float = 10.0, sizes=SIZES, **axes) -> File:
    for size in sizes:
        file.add(FAMILY, {"bytes": size, "locality": "local", **axes}, SITE, size / gb_s / 1e9)
    return file


def test_rates_stand_over_the_number_that_varies_a_line_a_combination(tmp_path):
    file = sums(sums(gpu_file(), 10.0, way="by_hand", flush="on"), 20.0, way="by_library", flush="off")
    rows = table(tmp_path, "o", file)
    slow, fast = f"{FAMILY}: by hand, flush on", f"{FAMILY}: by library, flush off"
    assert {row["series"] for row in only(rows, kind="point")} == {slow, fast}
    assert len(only(rows, series=slow)) == len(only(rows, series=fast)) == len(SIZES)
    assert point(rows, series=fast, x=str(MIB)) == around(MIB, 20.0)
    assert {(row["panel"], row["x_unit"], row["y_unit"]) for row in rows} == {(FAMILY, "bytes", "GB/s")}


def test_without_rates_times_of_an_operation_stand_in_a_unit_that_fits(tmp_path):
    file = gpu_file()
    for pieces in (1, 2, 4):
        axes = {"pieces": pieces, "locality": "local"}
        file.add(FAMILY, axes, SITE, pieces * 3e-6, operations=pieces, bytes=None)
    rows = table(tmp_path, "o", file)
    assert {(row["series"], row["x_unit"], row["y_unit"]) for row in rows} == {(FAMILY, "count", "µs")}
    assert [float(row["y"]) for row in rows] == [pytest.approx(3.0, rel=0.02)] * 3


def test_an_axis_that_follows_from_another_makes_no_line_of_its_own(tmp_path):
    file = gpu_file()
    for size in SIZES:
        axes = {"bytes": size, "rows": size // 128, "locality": "local"}
        file.add(FAMILY, axes, SITE, size / 1e10)
    assert {row["series"] for row in table(tmp_path, "o", file)} == {FAMILY}


def test_of_many_combinations_those_with_most_points_are_drawn_and_the_rest_counted(tmp_path):
    file = gpu_file()
    for threads in range(1, 13):
        sums(file, float(threads), SIZES[:2] if threads < 5 else SIZES, way=f"way_{threads}")
    figure = made(tmp_path, "o", file)
    [panel] = figure.panels
    assert {len(curve.points) for curve in panel.curves} == {len(SIZES)}
    assert f"{FAMILY}: 4 more combinations are not drawn." in figure.notes
    check_told_apart(panel)


def test_a_family_without_a_number_that_varies_has_a_dot_for_each_combination(tmp_path):
    file = gpu_file()
    for way in ("there", "back"):
        file.add("toy/ping", {"way": way, "locality": "local"}, SITE, 2e-6, bytes=None)
    sums(file, 5.0, (MIB,))
    rows = table(tmp_path, "o", file)
    assert {row["kind"] for row in rows} == {"dot"}
    assert {(row["series"], row["x"], row["y_unit"]) for row in rows} == {
        ("toy/ping", "there", "s"), ("toy/ping", "back", "s"), (FAMILY, "", "GB/s"),
    }  # fmt: skip


def test_families_of_other_figures_and_modelled_rows_are_left_to_them(tmp_path):
    file = gpu_file()
    add_copy(file, 50.0, "pinned_to_gpu", MIB)
    sums(file)
    assert made(tmp_path, "o", file).families == (FAMILY,)
    assert "transfer/memcpy" in ENTRIES["2"].families


def test_it_can_be_read(tmp_path):
    file = sums(sums(linked_file(), 10.0, way="by_hand"), 20.0, way="by_library")
    file.add("toy/ping", {"way": "there", "locality": "local"}, SITE, 2e-6, bytes=None)
    file.add("toy/ping", {"way": "back", "locality": "local"}, SITE, 3e-6, bytes=None)
    figure = made(tmp_path, "o", file)
    page = render.draw(figure)
    page.canvas.draw()
    check_no_overlap(page)
    curves, dots = figure.panels
    assert isinstance(curves, CurvePanel)
    assert isinstance(dots, DotPanel)
    check_curves(page.axes[0], curves)
    check_dots(page.axes[1], dots, several=False)


def test_a_method_without_a_colour_of_its_own_has_that_of_its_name():
    assert style.colour("by_hand") == style.colour("by_hand")
    assert style.colour("by_hand") in style.METHODS.values()
    assert len({style.colour(f"way_{at}") for at in range(40)}) == style.COMPONENTS
