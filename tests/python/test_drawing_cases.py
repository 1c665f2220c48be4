"""Figures at their edges: one point, many machines, given ranges, no data; and the same bytes each time."""

import io
from dataclasses import replace

import matplotlib
import pytest
from PIL import Image, ImageChops

from boxes import check_no_overlap, texts
from grainscope_report import reader
from grainscope_report.drawing import render, style
from grainscope_report.figures.table import figure
from grainscope_report.machine import machines
from planted import ENTRIES
from synthetic import KIB, MIB, File


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
    found = texts(page)
    check_no_overlap(page)
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
