"""After how many epochs hot rows pay: planted times, and what they must come to."""

import json
from pathlib import Path

import pytest

from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.groups import gnn, gnn_answers
from grainscope_report.machine import machines
from grainscope_report.reader import read
from planted import gpu_file
from synthetic import File, times
from synthetic_gnn import add_scores
from synthetic_training import add_pipeline

STEP_S = {"mapped": 3e-3, "tiered": 2e-3}
BATCHES, FILL_S, PREPARE_S = 400.0, 0.05, 0.75


def add(file: File, store: str, step_s: float, *, window: int = 0, gpus: int = 1, **counters: float) -> dict:
    row = add_pipeline(file, "tiered" if store == "tiered" else "masked", hot=10, gpus=gpus)
    row["case"]["axes"]["mode"] = "address_ordered" if window else "masked"
    if window:
        row["case"]["axes"]["window"] = window
    row["name"] += f"/{store}{window}{gpus}"
    factor = step_s / row["median_s"]
    row |= times([one * factor for one in row["visits"][0]["samples_s"]])
    row["interval_s"] = [step_s * 0.99, step_s * 1.01]
    row["counters"] |= {"epoch_batches": BATCHES, "prepare_s": PREPARE_S} | counters
    if store == "tiered":
        row["counters"]["fill_s"] = counters.get("fill_s", FILL_S)
    return row


def planted(**more) -> File:
    file = gpu_file()
    for store, step_s in STEP_S.items():
        add(file, store, step_s, **more)
    return file


def of(file: File, folder: Path):
    path = file.write(folder / "one.json")
    return machines([read(path)])[0]


def test_the_cost_once_over_what_an_epoch_saves(tmp_path):
    [one] = gnn.paybacks(of(planted(), tmp_path))
    assert one.parts == {"prepare_s": PREPARE_S, "fill_s": FILL_S}
    assert one.saved.value == pytest.approx(BATCHES * 1e-3)
    assert one.epochs == pytest.approx((PREPARE_S + FILL_S) / 0.4)
    assert one.spoken == "after 2.0 epochs"
    soonest, latest = one.between
    assert soonest == pytest.approx(0.8 / (400 * (3.03e-3 - 1.98e-3)))
    assert latest == pytest.approx(0.8 / (400 * (2.97e-3 - 2.02e-3)))


def test_scores_and_reordering_of_the_same_training_count_where_they_are_there(tmp_path):
    file = planted()
    add_scores(file, "pareto22", "10x25", 0.3)
    entries = 31 << 22
    axes = {"lists": "pasted", "score": "degree", "graph": "pareto22"}
    file.add("tiering/reorder", axes, {}, 0.35, operations=entries, counters={"edges_per_s": entries / 0.35})
    [one] = gnn.paybacks(of(file, tmp_path))
    assert one.parts == {"score_s": 0.3, "rank_s": 0.1, "reorder_s": 0.35, "fill_s": FILL_S}
    assert one.epochs == pytest.approx(2.0)


@pytest.mark.parametrize(("graph", "fanout"), [("kron22", "10x25"), ("pareto22", "5x5")])
def test_scores_of_another_training_do_not(tmp_path, graph, fanout):
    file = planted()
    add_scores(file, graph, fanout, 0.3)
    assert "prepare_s" in gnn.paybacks(of(file, tmp_path))[0].parts


def test_where_a_step_is_no_shorter_it_never_pays(tmp_path):
    file = gpu_file()
    add(file, "mapped", 2e-3)
    add(file, "tiered", 2.1e-3)
    machine = of(file, tmp_path)
    [one] = gnn.paybacks(machine)
    assert (one.epochs, one.spoken) == (None, "never")
    assert "they never pay" in gnn_answers.hot_rows(Analysis(machine))[0]


def test_an_interval_that_meets_nothing_has_no_latest_epoch(tmp_path):
    file = gpu_file()
    add(file, "mapped", 2.02e-3)
    add(file, "tiered", 2e-3)
    [one] = gnn.paybacks(of(file, tmp_path))
    assert one.epochs is not None
    assert one.between[1] is None


def test_a_cheap_one_pays_within_the_first_epoch(tmp_path):
    [one] = gnn.paybacks(of(planted(prepare_s=0.1), tmp_path))
    assert one.spoken == "within the first epoch"


def test_two_gpus_need_half_as_many_steps(tmp_path):
    [one] = gnn.paybacks(of(planted(gpus=2), tmp_path))
    assert one.steps == BATCHES / 2


def test_the_same_way_to_gather_is_what_it_is_held_against(tmp_path):
    file = gpu_file()
    add(file, "mapped", 9e-3)
    add(file, "mapped", 3e-3, window=2)
    add(file, "tiered", 2e-3, window=2)
    [one] = gnn.paybacks(of(file, tmp_path))
    assert one.mapped.time.value == pytest.approx(3e-3)


@pytest.mark.parametrize("name", ["fill_s", "epoch_batches"])
def test_a_file_that_does_not_know_one_of_them_has_no_answer(tmp_path, name):
    file = planted()
    file.rows[-1]["counters"].pop(name)
    machine = of(file, tmp_path)
    assert gnn.paybacks(machine) == []
    assert gnn_answers.hot_rows(Analysis(machine)) == []


def test_without_the_same_way_mapped_there_is_no_answer(tmp_path):
    file = gpu_file()
    add(file, "tiered", 2e-3)
    assert gnn.paybacks(of(file, tmp_path)) == []


def test_the_summary_has_a_line_and_its_parts(tmp_path, capsys):
    path = planted().write(tmp_path / "one.json")
    assert main(["summary", "--full", str(path)]) == 0
    out = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    line = next(one for one in out if one.startswith("pareto22, 10×25, batch 1000, rows of 512 B masked, 10"))
    assert line.endswith("% hot after 2.0 epochs 800 ms 400 ms 3 ms 2 ms")
    assert main(["summary", "--json", str(path)]) == 0
    [one] = json.loads(capsys.readouterr().out)["networks"]["payback"]
    assert one["epochs"] == pytest.approx(2.0)
    assert one["parts_s"] == {"prepare_s": PREPARE_S, "fill_s": FILL_S}
    assert one["saved_s"]["value"] == pytest.approx(0.4)


def test_the_report_says_which_share_pays_first(tmp_path):
    file = planted()
    row = add(file, "tiered", 1.5e-3)
    row["case"]["axes"]["hot"] = 25
    row["name"] += "/25"
    machine = of(file, tmp_path)
    [said] = gnn_answers.hot_rows(Analysis(machine))
    assert said.startswith("pareto22, fan-out 10×25, batch 1000, hidden 256, rows of 512 B, masked: 25 % of")
    assert "pay after 1.3 epochs (presampling, ranking and renumbering 750 ms, filling 50 ms;" in said
    assert said.endswith("an epoch saves 600 ms)")
    assert len(gnn_answers.of(machine)["payback"]) == 2
