"""`plot` of Google Benchmark's own JSON: rates, by the number in a name where there are several."""

import csv

import pytest

from boxes import check_curves, check_no_overlap
from compared import foreign, node, written
from grainscope_report.cli import main
from grainscope_report.drawing import render
from grainscope_report.figures import foreign as figure
from grainscope_report.figures.model import CurvePanel
from grainscope_report.loading import load
from planted import only

EVEN = [10.0, 10.2, 9.8]


def test_rates_are_drawn_by_the_number_in_the_name(tmp_path):
    names = {f"BM_copy/{size}/real_time": EVEN for size in (64, 4096, 1 << 20)} | {"BM_fill": EVEN}
    path = foreign(tmp_path, "a", names, bytes_per_second=2e9)
    assert main(["plot", path, "-o", str(tmp_path / "out"), "--format", "svg"]) == 0
    rows = list(csv.DictReader((tmp_path / "out" / f"{figure.STEM}.csv").read_text().splitlines()))
    points = only(rows, kind="point", series="BM_copy/N/real_time")
    assert [float(row["x"]) for row in points] == [64, 4096, 1 << 20]
    assert float(points[0]["y"]) == pytest.approx(2.0)
    assert float(points[0]["y_low"]) == pytest.approx(2.0 * 10 / 10.2)
    [dot] = only(rows, kind="dot")
    assert (dot["series"], float(dot["y"])) == ("BM_fill", pytest.approx(2.0))
    made = figure.build([load(path, foreign=True)])
    assert made.machines[0].provenance == "Google Benchmark · a · 8 CPUs · 2026-11-20T10:00:00"
    page = render.draw(made)
    page.canvas.draw()
    check_no_overlap(page)
    check_curves(page.axes[0], next(panel for panel in made.panels if isinstance(panel, CurvePanel)))


def test_what_has_no_rate_is_said(tmp_path, capsys):
    assert main(["plot", foreign(tmp_path, "a", {"BM": EVEN}), "-o", str(tmp_path)]) == 1
    assert "no benchmark there has real_time and bytes_per_second" in capsys.readouterr().out
    broken = foreign(tmp_path, "b", {"BM": EVEN}, error_occurred=True, error_message="no device")
    assert main(["plot", broken, "-o", str(tmp_path)]) == 1


def test_two_kinds_of_files_are_not_drawn_together(tmp_path, capsys):
    own = written(tmp_path, node())
    assert main(["plot", *own, foreign(tmp_path, "a", {"BM": EVEN}, bytes_per_second=1e9)]) == 2
    assert "plot files of one kind" in capsys.readouterr().err
