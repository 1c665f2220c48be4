"""Figure 14 as CSV, from planted rows with answers worked out by hand."""

import pytest

from grainscope_report.figures.table import figure
from planted import ENTRIES, SITE, around, linked_file, made, only, point, table
from synthetic import KIB, MIB
from synthetic_links import add_piece, add_saturation


def test_figure_14_methods_roofs_and_multiprocessors(tmp_path):
    file = linked_file()
    for grain in (32, 128, 64 * KIB, MIB):
        add_piece(file, SITE, "host_to_gpu", "copy_engine", grain, 54.0, 2e-6, 1.0)
        add_piece(file, SITE, "host_to_gpu", "zero_copy_random", grain, 50.0, 1.2e-6, 450.0)
    add_saturation(file, SITE, "read", 4, 32, 50.0)
    add_saturation(file, SITE, "read", 16, 16, 50.0)
    rows = table(tmp_path, "14", file)
    copies = only(rows, panel="host → GPU", kind="point", series="a copy a piece")
    assert [float(row["y"]) for row in copies] == [
        pytest.approx(one) for one in (32 / 2e3, 128 / 2e3, 65536 / 2e3, 54.0)
    ]
    # 450 requests of 32 B in 1.2 µs are 12 GB/s; from 128 B on the count no longer rises: 48 GB/s.
    roof = only(rows, kind="roof", series="zero-copy, at random")
    assert [(row["x"], float(row["y"])) for row in roof] == [
        ("32", pytest.approx(12)), ("128", pytest.approx(48)), (str(MIB), pytest.approx(48)),
    ]  # fmt: skip
    # The roof of copies, a piece each 2 µs, ends where it meets the copy peak of 55 GB/s: at 110 kB.
    roof = only(rows, kind="roof", series="a copy a piece")
    assert [(float(row["x"]), float(row["y"])) for row in roof] == [
        (32, pytest.approx(0.016)), (pytest.approx(110e3), pytest.approx(55)),
    ]  # fmt: skip
    flight = only(rows, y_unit="requests", kind="point")
    assert [float(row["y"]) for row in flight] == [pytest.approx(450)] * 4
    bars = {row["x"]: row["y"] for row in only(rows, kind="bar")}
    assert bars == {"read 4 B a lane": "32", "read 16 B a lane": "16"}
    notes = " ".join(made(tmp_path, "14", file).notes)
    assert "read of 4 B a lane 32 of 132 (49.2 of 50.0 GB/s)" in notes
    assert "zero-copy, at random: 450 in flight, 1.2 µs each" in notes


def test_figure_14_says_what_was_useful_and_what_moved_on_demand(tmp_path):
    file = linked_file()
    for grain in (32, 64 * KIB, MIB):
        add_piece(file, SITE, "host_to_gpu", "managed_demand", grain, 8.0, 8e-6, 1.0)
    rows = table(tmp_path, "14", file)
    useful = only(rows, kind="point", series="managed, demand")
    assert [float(row["y"]) for row in useful] == [
        pytest.approx(0.004), pytest.approx(8.0), pytest.approx(8.0),
    ]  # fmt: skip
    moved = only(rows, kind="point", series="pages that moved on demand")
    assert [float(row["y"]) for row in moved] == [
        pytest.approx(64 * KIB / 8e3, rel=1e-3), pytest.approx(8.0), pytest.approx(8.0),
    ]  # fmt: skip
    shown = made(tmp_path, "14", file)
    assert {curve.name: curve.dash for curve in shown.panels[0].curves} == {
        "managed, demand": "solid", "pages that moved on demand": "dashed",
    }  # fmt: skip
    notes = " ".join(shown.notes)
    assert "of 32 B each 64 KiB moved, 2048 times what was useful" in notes
    assert "At best, host → GPU: managed, demand, a piece every 8 µs." in notes
    assert shown.panels[0].roofs == ()


def test_figure_14_draws_no_pages_where_nobody_counted_them(tmp_path):
    file = linked_file()
    add_piece(file, SITE, "host_to_gpu", "managed_demand", 4096, 8.0, 8e-6, 1.0)
    file.rows[0].pop("link_bytes_least")
    shown = made(tmp_path, "14", file)
    assert [curve.name for curve in shown.panels[0].curves] == ["managed, demand"]
    assert not any("2 MiB" in note for note in shown.notes)


def test_figure_14_names_methods_in_the_order_in_which_they_lie(show):
    [left, right] = figure(ENTRIES["14"], show("linked")).rows[0]
    assert [curve.name for curve in left.curves] == [
        "zero-copy, in order", "zero-copy, at random", "batch of copies", "pages that moved on demand",
        "graph of copies", "a copy a piece", "a copy a piece, pageable", "managed, demand",
        "managed, prefetch",
    ]  # fmt: skip
    assert [curve.name for curve in right.curves][:2] == ["kernel writes, at random", "batch of copies"]


def test_figure_14_leaves_out_rows_that_failed_or_were_skipped(tmp_path):
    file = linked_file()
    for method in ("batch", "graph", "managed_demand"):
        add_piece(file, SITE, "host_to_gpu", method, 4096, 8.0, 8e-6, 1.0)
    file.rows[0] |= {"status": "failed", "reason": "the copy came back wrong"}
    file.rows[1] |= {"status": "skipped", "reason": "needs CUDA 12.8"}
    shown = made(tmp_path, "14", file)
    assert {curve.method for curve in shown.panels[0].curves} == {"managed_demand"}
    assert "Not drawn: 1 failed row: the copy came back wrong." in shown.notes
    assert "Not drawn: 1 skipped row: needs CUDA 12.8." in shown.notes


def test_figure_14_takes_the_largest_total_of_a_grain(tmp_path):
    file = linked_file()
    for total, gb_s in ((MIB, 10.0), (64 * MIB, 40.0)):
        axes = {"method": "batch", "path": "host_to_gpu", "grain": 4096, "bytes": total, "locality": "local"}
        file.add("grain/pieces", axes, SITE, total / gb_s / 1e9)
    assert point(table(tmp_path, "14", file), kind="point", series="batch of copies") == around(4096, 40)
