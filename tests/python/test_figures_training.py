"""Figure 12, training, as CSV, from planted rows."""

import pytest

from planted import gpu_file, made, only, table, values
from synthetic import MIB, File
from synthetic_gnn import add_gather, gather_axes
from synthetic_training import add_pipeline, add_processes


def trained() -> File:
    file = gpu_file()
    for method in ("cpu_only", "cpu_gather_dma", "naive", "masked", "device"):
        add_pipeline(file, method)
    for hot in (5, 25):
        add_pipeline(file, "tiered", hot=hot, gather_s=1e-3)
    return file


def test_figure_12_is_over_the_way_with_cpu_gathers(tmp_path):
    rows = table(tmp_path, "12", trained())
    panel = "training, rows of 512 B; upright: time of a step"
    found = values(rows, panel=panel, kind="bar")
    assert found["CPU gather, then copies"] == pytest.approx(1)
    assert found["masked"] == pytest.approx((12.3 - 0.9 * 2.5) / (4.7 - 0.9 * 2.5))
    assert found["training on the CPU"] < 1
    stated = [row for row in only(rows, kind="paper") if "RTX 3090, PCIe 4" in row["panel"]]
    assert [(row["y"], row["y_high"]) for row in stated] == [
        ("0.32", "0.43"), ("0.83", "0.98"), ("1.16", "1.44"), ("1.3", "1.41"), ("1.65", "1.92"),
    ]  # fmt: skip


def test_figure_12_tells_two_sizes_of_mini_batches_apart(tmp_path):
    file = trained()
    for method in ("cpu_gather_dma", "masked"):
        add_pipeline(file, method, axes={"batch": 8000})
    panel = next(one for one in made(tmp_path, "12", file).panels if one.title.startswith("training, rows"))
    assert panel.categories == ("pareto22, 10×25\nbatch 1000", "pareto22, 10×25\nbatch 8000")
    alone = next(one for one in made(tmp_path, "12", trained()).panels if one.title.startswith("training"))
    assert alone.categories == ("pareto22, 10×25",)


def test_figure_12_has_stages_beside_the_pipeline(tmp_path):
    rows = table(tmp_path, "12", trained())
    staged = [row for row in rows if "stages alone" in row["panel"] and row["x"] == "masked"]
    assert {row["series"]: float(row["y"]) for row in staged} == pytest.approx(
        {"sampling alone": 0.6, "gathering alone": 2.2, "training alone": 1.9, "as a pipeline": 2.45}
    )
    assert not [row for row in rows if "stages alone" in row["panel"] and "CPU\n" in row["x"]]
    panel = next(one for one in made(tmp_path, "12", trained()).panels if "stages" in one.title)
    assert {bar.text for bar in panel.series[-1].bars if not bar.blank} == {"0.90"}
    assert "training" not in {name.split("\n")[0] for name, _ in panel.groups}


def test_figure_12_has_what_hot_rows_save(tmp_path):
    rows = table(tmp_path, "12", trained())
    panel = "by share of hot rows in the GPU's memory: training on pareto22"
    assert values(rows, "x", panel=panel, series="bytes over the link") == pytest.approx(
        {"5 %": 100 - 100 * 0.2 * (1 - 5 / 30), "25 %": 100 - 100 * 0.2 * (1 - 25 / 30)}
    )


def test_figure_12_of_gathers_alone_has_what_hot_rows_save(tmp_path):
    file = gpu_file()
    more = {"indices": "sampled", "graph": "pareto20", "fanout": "10x25", "batch": 1000, "span": 512 * MIB}
    add_gather(file, gather_axes("masked_wide", 512) | more, 50.0)
    add_gather(
        file, gather_axes("masked_wide", 512) | more | {"store": "tiered", "hot": 10}, 100.0, host=0.25
    )
    rows = table(tmp_path, "12", file)
    panel = "by share of hot rows in the GPU's memory: gathers alone, pareto20, rows of 512 B"
    assert values(rows, panel=panel, kind="bar") == pytest.approx(
        {"bytes over the link": 75, "time of a gather": 50}, rel=1e-4
    )


def test_figure_12_says_whether_losses_fell_and_agree(tmp_path):
    file = trained()
    assert any(
        "fell in every row; ways of one training ended the same" in n
        for n in made(tmp_path, "12", file).notes
    )
    file.rows[1]["counters"]["loss_last"] = 0.99
    assert any("ended within 10 %" in note for note in made(tmp_path, "12", file).notes)
    file.rows[1]["counters"]["loss_last"] = 2.4
    assert any("did not fall in some row" in note for note in made(tmp_path, "12", file).notes)


def test_figure_12_by_size_of_rows(tmp_path):
    file = gpu_file()
    for row in (128, 512, 2048):
        for method in ("cpu_gather_dma", "masked"):
            add_pipeline(file, method, row=row)
    rows = table(tmp_path, "12", file)
    masked = only(rows, panel="by size of rows: pareto22, 1 GPU", series="masked", kind="point")
    assert [row["x"] for row in masked] == ["128", "512", "2048"]
    assert float(masked[1]["y"]) == pytest.approx(2.45)


def test_figure_12_has_shares_of_two_processes(tmp_path):
    file = trained()
    for percent in (2.5, 10, 25, 50):
        add_processes(file, percent)
    rows = table(tmp_path, "12", file)
    gathered = only(rows, panel="two processes: gathers while training", kind="point")
    assert [float(row["x"]) for row in gathered] == pytest.approx([100 * n / 132 for n in (4, 14, 34, 66)])
    assert float(gathered[1]["y"]) == pytest.approx(200_000 * 512 / (1.04 * 2.2e-3) / 1e9)
    steps = only(rows, panel="two processes: time of a step", kind="point")
    assert float(steps[1]["y"]) == pytest.approx(2.45)
    pays = [row for row in rows if row["panel"] == "two processes: what each process pays"]
    assert {row["series"] for row in pays if row["kind"] == "point"} == {"gathering", "training"}
    assert float(next(row for row in pays if row["series"] == "training")["y"]) == pytest.approx(132 / 128)
    stated = [row for row in only(rows, kind="paper") if "MPS shares" in row["panel"]]
    assert len(stated) == 3
    notes = made(tmp_path, "12", file).notes
    assert any("Fastest share of two processes: pareto22, rows of 512 B" in note for note in notes)


def test_figure_12_of_one_share_has_its_bar_alone(tmp_path):
    file = trained()
    add_processes(file, 10)
    rows = table(tmp_path, "12", file)
    found = values(rows, panel="training, rows of 512 B; upright: time of a step", kind="bar")
    assert found["two processes (MPS)"] == pytest.approx(found["masked"])
    assert not [row for row in rows if row["panel"].startswith("two processes:")]
