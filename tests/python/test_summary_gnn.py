"""What `summary` and `list` say of gathers, tiers, shares and training."""

import json

import pytest

from grainscope_report import reader
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.groups import gnn_answers
from grainscope_report.machine import machines
from planted_traversals import KRON, pages
from synthetic import File
from synthetic_models import modelled


def said(files, capsys, command: str, name: str, *more: str) -> str:
    assert main([command, *more, str(files[name])]) == 0
    return capsys.readouterr().out


def line(out: str, begin: str) -> str:
    found = [" ".join(one.split()) for one in out.splitlines()]
    return next(one for one in found if one.startswith(begin))


LINES = [
    ("gather", None),
    # CPU gathers were measured over 4 GiB only.
    ("rows of 1028 B, 1 GiB, uniform", "masked 45.8 83.7 % - 1.53 1.02"),
    ("rows of 128 B, 4 GiB, uniform", "address-ordered 48.4 88.4 % 15.37 - 1.01"),
    ("kron22, 10×25, 10 % labelled", "presampled 43.0 % 65.1 % 76.7 % 0.985 61.4 % 400 ms"),
    ("kron22, 10×25, batch 1000 GPU", ", lists in mapped memory 400 645 µs"),
    ("kron22 pasted", "164 793 ms"),
    ("green context 16 B", "8 6.1 % 50.9 93.0 %"),
    ("green context 8 6.1", "% 2.81 ms 1.02 1.06 0.94"),
    ("pareto22, 10×25, batch 1000, rows of 512 B tiered", ", 10 % hot 1.99 ms 0.90 572 MiB 5.05 1.83 0.99"),
]


@pytest.mark.parametrize(("begin", "rest"), LINES, ids=[begin for begin, _ in LINES])
def test_summary_has_a_table_for_each_question(files, capsys, begin, rest):
    found = line(said(files, capsys, "summary", "learning", "--full"), begin)
    assert rest is None or found == f"{begin}{'' if rest.startswith(',') else ' '}{rest}"


def test_summary_says_why_a_gather_may_beat_the_link(files, capsys):
    out = " ".join(said(files, capsys, "summary", "learning", "--full").split())
    assert (
        "Above 100 % rows came that had come before: those that several mini-batches of a window share, and "
        "with GraphBolt and others that sort those that one mini-batch asks for twice"
    ) in out


def test_summary_without_a_gpu_has_tiers_alone(files, capsys):
    out = said(files, capsys, "summary", "tiering", "--full")
    assert line(out, "kron18, 10×25").endswith("0.985 52.3 % 400 ms")
    for absent in ("fastest way", "shares of the GPU", "splits", "M edges/s"):
        assert absent not in out


def test_summary_counts_these_rows_in_one_line_of_each_family(files, capsys):
    out = said(files, capsys, "summary", "learning", "--full").splitlines()
    at = next(order for order, one in enumerate(out) if one == "tiering/score")
    assert out[at + 1].split() == ["all", "-", "-", "-", "35", "ok"]


def test_summary_json_has_every_answer(files, capsys):
    found = json.loads(said(files, capsys, "summary", "learning", "--json"))["networks"]
    assert set(found) == {
        "gathers",
        "modelled_gathers",
        "row_copies",
        "tiers",
        "sampling",
        "reordering",
        "shares",
        "splits",
        "training",
        "payback",
    }
    table = next(one for one in found["gathers"] if (one["row"], one["span"]) == (128, 1 << 35))
    assert (table["way"], table["window"]) == ("address_ordered", 4)
    assert table["over"]["graphbolt"] == pytest.approx(4.2, abs=0.01)
    assert {one["score"] for one in found["tiers"]} == {"presampled"}
    assert found["tiers"][0]["of_optimal"]["10"] == 0.985
    [two] = [one for one in found["training"] if one["gpus"] == 2]
    assert two["method"] == "masked"
    assert two["over"]["cpu_gather_dma"] == pytest.approx(6.99, abs=0.01)
    assert set(two["ways"]) == {"cpu_gather_dma", "naive", "masked", "device"}


def test_list_says_what_rows_count(files, capsys):
    out = said(files, capsys, "list", "learning").splitlines()
    assert out[0].split()[-3:] == ["counted", "name", "why"]

    def row(*words: str) -> str:
        return next(one for one in out if all(word in one for word in words))

    assert "first 10 %: 46.6 % of accesses, 0.930 of optimal" in row("score/degree/pareto22/10x25")
    assert "22.5 % from the host" in row("tiered", "hot:25")
    assert "16.7 requests a row" in row("model/gather/naive", "pcie4x16", "row:1028")
    assert "72 of 132 SMs for 66 asked, gather × 1.02, compute × 2.20" in row(
        "sm_share/split/green", "sms:66"
    )
    assert "overlap 0.90, loss 0.9" in row("pipeline/graphsage/masked/mapped")
    assert "2100 M edges/s" in row("sampling/neighbours/gpu/device")


def test_list_has_no_such_column_where_nothing_is_counted(small, capsys):
    assert main(["list", str(small)]) == 0
    assert "counted" not in capsys.readouterr().out


def test_without_a_gpu_each_family_has_a_line_with_a_number(tmp_path, capsys):
    file = File()
    axes = {"mode": "cpu_only", "store": "pageable", "graph": "kron20", "fanout": "10x25", "batch": 1000}
    axes |= {"row": 512, "hidden": 128, "locality": "local"}
    file.add("pipeline/graphsage", axes, {"numa": 0}, 34.5e-3, spread=0.0, counters={"cpu_s": 0.07})
    for mode, time_s, requests in (("naive", 4e-3, 16.0), ("masked", 2e-3, 9.0), ("vector", 2e-3, 9.0)):
        axes = {"mode": mode, "row": 1028, "rows": 65536, "span": 1 << 29, "indices": "uniform", "element": 4}
        more = {"bytes": 1028 * 65536, "counters": {"requests_per_row": requests}}
        modelled(file, "model/gather", axes | {"width": 4, "link": "pcie4x16"}, time_s, **more)
    for card, times in ((25, 3.5), (50, 3.25), (100, 1.0)):
        pages(file, 1.0, card=card, counters={"amplification_data_set": times})
    path = file.write(tmp_path / "result.json")
    assert main(["summary", "--full", str(path)]) == 0
    out = capsys.readouterr().out
    train = "kron20, 10×25, batch 1000, rows of 512 B training on the CPU 34.5 ms"
    assert line(out, "kron20, 10×25") == train
    gathered = "rows of 1028 B, 512 MiB, uniform masked (tied with 1) 2 ms PCIe 4 ×16 9 2.00"
    assert line(out, "rows of 1028 B") == gathered
    assert line(out, "managed memory, modelled").endswith("card 25 % card 50 % card 100 %")
    assert line(out, f"bfs {KRON}") == f"bfs {KRON}, 8 B 3.5 × 3.25 × 1 ×"
    assert "a fault brings 64 KiB" in out
    assert main(["summary", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["managed_under_pressure"][0]["data_set_times"] == {"25": 3.5, "50": 3.25, "100": 1.0}
    [machine] = machines([reader.read(path)])
    [said] = gnn_answers.training(Analysis(machine))
    assert said.endswith("rows of 512 B, was fed only by training on the CPU: 34.5 ms a step")
