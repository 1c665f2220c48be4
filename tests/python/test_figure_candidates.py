"""Figure 15, the candidates of a workload: planted times, costs and flips; the picture can be read."""

import csv
import io
import json

import pytest

from boxes import check_bars, check_no_overlap, texts
from grainscope_report import uncertainty
from grainscope_report.buying import verdict, workload
from grainscope_report.cli import main
from grainscope_report.drawing import render
from grainscope_report.figures import candidates, csv_table
from planted import only, values
from planted_purchase import machine, table
from planted_purchase import workload as written

COST = "[cost]\nyears = 5\nper_kwh = 0.25\npue = 1.3\n"
FASTER = {"X": (2.0, 1.0), "Y": (1.0, 1.5), "Z": (1.2, 1.2), "V": (0.9, 1.0), "W": (1.0, 0.8)}


@pytest.fixture
def drawn(tmp_path):
    """The figure of a verdict on these candidates, and its CSV rows."""

    def run(offers: str, tail: str = "", noise: float = 1e-6):
        machine().write(tmp_path / "r.json")
        for name, (copies, kernels) in FASTER.items():
            machine(copies, kernels, f"node-{name}").write(tmp_path / f"{name}.json")
        (tmp_path / "w.toml").write_text(written((0.5, 0.5), offers, tail=tail))
        tables = [uncertainty.TypeB(json.dumps(table(run=noise)).encode())]
        document, files = verdict.judge(workload.load(tmp_path / "w.toml"), 300, 1, tables)
        made = candidates.build(document, files)
        return made, list(csv.DictReader(io.StringIO(csv_table.write(made))))

    return run


def test_stacks_are_the_components_and_their_sums(drawn):
    made, rows = drawn("X Y")
    times = only(rows, panel="predicted time by component")
    assert values(times, "x", kind="bar", series="copies") == pytest.approx({"X": 0.25, "Y": 0.5})
    assert values(times, "x", kind="bar", series="kernels") == pytest.approx({"X": 0.5, "Y": 1 / 3})
    assert values(times, "x", kind="sum") == pytest.approx({"X": 0.75, "Y": 5 / 6})
    assert [panel.title for panel in made.panels] == [
        "predicted time by component",
        "where X is no longer first",
    ]
    flips = only(rows, panel="where X is no longer first", x="flips at a share of")
    assert values(flips) == pytest.approx({candidates.LEAST: 0.1, "copies": 0.4, "kernels": 0.6})


def test_costs_stand_beside_in_their_own_order(drawn):
    made, rows = drawn("X=24000,1000 Y=18000,1000", COST)
    energy = 1 * 5 * 8766 * 0.25 * 1.3
    costs = only(rows, panel="cost for its speed, the least first")
    assert list(values(costs, "x", kind="sum")) == ["Y", "X"]
    assert values(costs, "x", kind="sum")["Y"] == pytest.approx((18000 + energy) * 5 / 6)
    assert values(costs, "x", series="energy × time")["X"] == pytest.approx(energy * 0.75)
    assert made.panels[-1].title == "where Y no longer costs least for its speed"


@pytest.mark.parametrize("offers", ["X Y", "X=2,9 Y=2,9", "X=20000,700 Y=18000,700 Z=17000,700 V=9,9 W=9,9"])
def test_the_picture_can_be_read(drawn, offers):
    made, _ = drawn(offers, COST if "=" in offers else "", noise=0.001)
    page = render.draw(made)
    page.canvas.draw()
    check_no_overlap(page)
    assert all(box.x0 >= 0 and box.x1 <= page.bbox.x1 for _, box in texts(page))
    for axes, panel in zip(page.axes, made.panels, strict=True):
        if hasattr(panel, "series"):
            check_bars(axes, panel)
            top = axes.get_ylim()[1]
            assert all(whole.high < top for whole in panel.sums)


def test_evaluate_draws_it_and_plot_says_so(tmp_path, capsys):
    for name in ("r", "X", "Y"):
        machine(*FASTER.get(name, (1.0, 1.0)), f"node-{name}").write(tmp_path / f"{name}.json")
    (tmp_path / "w.toml").write_text(written(candidates="X Y"))
    out = tmp_path / "out"
    (tmp_path / "b.table").write_text(json.dumps(table()))
    asked = ["evaluate", str(tmp_path / "w.toml"), "-o", str(out), "--draws", "200"]
    asked += ["--type-b", str(tmp_path / "b.table")]
    assert main(asked) == 0
    assert not list(out.glob("figure*"))
    assert main([*asked, "--format", "svg"]) == 0
    assert {path.name for path in out.glob("figure*")} == {
        f"{candidates.STEM}.{kind}" for kind in ("svg", "csv", "md")
    }
    assert "no longer first" in (out / f"{candidates.STEM}.md").read_text()
    capsys.readouterr()
    assert main(["plot", str(tmp_path / "r.json"), "--figures", "15"]) == 2
    assert "evaluate WORKLOAD --format png" in capsys.readouterr().err
