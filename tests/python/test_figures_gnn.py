"""Figures 10 to 13 of gathers, tiers and training as CSV; which row pays for a copy, when hot rows pay."""

import json
from pathlib import Path

import pytest

from boxes import check_told_apart
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.figures.model import why_absent
from grainscope_report.groups import gather, gnn, gnn_answers
from grainscope_report.machine import machines
from grainscope_report.reader import read
from planted import ENTRIES, gpu_file, made, only, table, values
from synthetic import GIB, KIB, MIB, File, times
from synthetic_gnn import add_gather, add_model_gathers, add_scores, add_share, add_split, gather_axes
from synthetic_models import modelled
from synthetic_training import add_pipeline, add_processes


def test_figure_10_has_accesses_by_score_and_what_they_lack_of_optimal(tmp_path):
    file = File()
    add_scores(file, "kron18", "10x25", 0.25)
    rows = table(tmp_path, "10", file)
    panel = "accesses by score: kron18, fan-out 10×25"
    assert values(rows, panel=panel, x="1") == pytest.approx(
        {
            "degree": 93 * 0.01**0.25,
            "reverse page rank": 95.5 * 0.01**0.25,
            "weighted reverse page rank": 97 * 0.01**0.25,
            "presampled": 98.5 * 0.01**0.25,
            "optimal, by hindsight": 100 * 0.01**0.25,
        }
    )
    lack = "what scores lack of the optimal order: kron18"
    assert values(rows, panel=lack, x="10") == pytest.approx(
        {"degree": 7, "reverse page rank": 4.5, "weighted reverse page rank": 3, "presampled": 1.5}
    )
    bars = "accesses that the first 10 % of the rows take; upright: share of optimal"
    [degree] = only(rows, panel=bars, series="degree")
    assert float(degree["y"]) == pytest.approx(93 * 0.1**0.25)
    assert degree["note"] == "0.9300 of optimal"
    stated = only(rows, kind="paper")
    assert [row["y"] for row in stated if row["y"]] == ["35", "56", "52", "28"]


def test_figure_10_by_depth_has_fan_outs_that_are_alike(tmp_path):
    file = File()
    for fanout in ("10x25", "10x10", "10x10x10"):
        add_scores(file, "pareto18", fanout, 0.1 * len(fanout))
    rows = table(tmp_path, "10", file)
    panels = {row["panel"] for row in rows if row["panel"].startswith("accesses by depth")}
    assert panels == {
        "accesses by depth: pareto18, weighted reverse page rank",
        "accesses by depth: pareto18, degree",
    }
    assert {row["series"] for row in rows if row["panel"] in panels} == {"10×10", "10×10×10"}
    usual = {row["panel"] for row in rows if "by score" in row["panel"]}
    assert usual == {"accesses by score: pareto18, fan-out 10×25"}


def test_figure_10_says_how_much_of_the_table_a_mini_batch_asks_for(tmp_path):
    file = File()
    add_scores(file, "kron18", "10x25", 0.25)
    share = 40000 / (1 << 22)
    assert any(
        f"each of {100 * share:.2g} % of the rows" in note for note in made(tmp_path, "10", file).notes
    )


def gathered() -> File:
    file = gpu_file()
    for row, rates in ((1024, (50.0, 50.0, 50.5)), (1028, (30.0, 42.0, 46.0))):
        for mode, rate in zip(("naive", "circular_shift", "masked"), rates, strict=True):
            add_gather(file, gather_axes(mode, row), rate)
    axes = gather_axes("cpu_gather_dma", 1028, store="pinned", span=4 * GIB, rows=65280)
    add_gather(file, axes, 9.0)
    return file


BARS = "rows at random by every way, over 1 GiB"


def test_figure_11_has_every_way_by_row_with_the_copy_peak(tmp_path):
    rows = table(tmp_path, "11", gathered())
    assert values(rows, panel=BARS, kind="bar", x="1028 B") == pytest.approx(
        {"CPU gather, then copies": 9, "naive": 30, "circular shift": 42, "masked": 46}
    )
    assert values(rows, panel=BARS, kind="peak") == {"copy peak": 54.7}
    masked = next(row for row in only(rows, panel=BARS, series="masked") if row["x"] == "1028 B")
    assert masked["note"] == "mapped, 261123 rows, span 1 GiB, width 4"
    assert {row["label"] for row in only(rows, panel=BARS, kind="bar")} == {"measured"}


def test_figure_11_says_which_copies_are_of_another_table(tmp_path):
    said = "Measured over 4 GiB only: CPU gather, then copies."
    file = gathered()
    assert said in made(tmp_path, "11", file).notes
    axes = gather_axes("cpu_gather_dma", 1028, store="pinned", span=GIB, rows=65280)
    add_gather(file, axes, 10.0)
    assert said not in made(tmp_path, "11", file).notes


def test_figure_11_says_shares_of_the_copy_peak(tmp_path):
    panel = next(one for one in made(tmp_path, "11", gathered()).panels if one.title == BARS)
    masked = next(series for series in panel.series if series.name == "masked")
    assert [bar.text for bar in masked.bars] == ["92 %", "84 %"]


def test_figure_11_leaves_other_questions_out(tmp_path):
    file = gathered()
    for more in ({"indices": "zipf"}, {"store": "tiered", "hot": 10}, {"store": "managed"}, {"element": 2}):
        add_gather(file, gather_axes("masked", 1028) | more, 400.0)
    rows = table(tmp_path, "11", file)
    assert max(values(rows, panel=BARS, kind="bar", x="1028 B").values()) == pytest.approx(46)


def test_figure_11_takes_the_batch_of_most_rows(tmp_path):
    file = gathered()
    add_gather(file, gather_axes("masked", 1028, rows=512), 1.0)
    rows = table(tmp_path, "11", file)
    assert values(rows, panel=BARS, kind="bar", x="1028 B")["masked"] == pytest.approx(46)


def test_figure_11_leaves_out_short_batches_of_their_own_way_alone(tmp_path):
    file = gathered()
    for row, rows in ((512, 1 << 18), (1024, 1 << 18), (4096, 1 << 16)):
        add_gather(file, gather_axes("masked_wide", row, rows=rows), 50.0)
    for row, rows in ((4096, 512), (65536, 512), (1 << 20, 512)):
        add_gather(file, gather_axes("row_dma", row, store="pinned", rows=rows), 5.0)
    panel = "by size of rows, over 1 GiB"
    found = only(table(tmp_path, "11", file), panel=panel, series="masked, wide loads")
    assert [row["x"] for row in found] == ["512", "1024", "4096"]
    notes = made(tmp_path, "11", file).notes
    assert (
        "Not drawn by size of rows, since its start decides: 4 KiB by a copy a row (a mini-batch of 2 MiB); "
        "64 KiB by a copy a row (a mini-batch of 32 MiB)." in notes
    )


def test_figure_11_says_how_near_the_model_was_to_what_was_measured(tmp_path):
    file = gathered()
    add_model_gathers(file, measured=True)
    notes = made(tmp_path, "11", file).notes
    assert not any("cannot beat" in note for note in notes)
    assert any("an estimate of the rate that the link allows" in note for note in notes)
    assert not any("own link" in note for note in notes)
    for mode, share in (("masked", 1.29), ("naive", 0.9)):
        axes = gather_axes(mode, 128)
        seconds = add_gather(file, axes, 20.0)["median_s"]
        where = {name: value for name, value in axes.items() if name not in ("store", "locality")}
        modelled(file, "model/gather", where | {"link": "measured"}, share * seconds, bytes=128 << 20)
        modelled(file, "model/gather", where | {"link": "pcie5x16"}, 9 * seconds, bytes=128 << 20)
    said = "Modelled over this machine's own link, gathers take 0.90 to 1.29 of their measured times."
    assert said in made(tmp_path, "11", file).notes


def test_figure_11_without_a_gpu_has_requests_and_bounds_hatched(tmp_path):
    file = File()
    add_model_gathers(file, measured=False)
    figure = made(tmp_path, "11", file)
    titles = [panel.title for panel in figure.panels]
    assert titles[1:] == ["requests of a row (modelled)", "what PCIe 4 ×16 allows (modelled)"]
    assert titles[0].startswith("dissertation 2022: rows of 1024 to 1044 B")
    assert all(series.hatched for panel in figure.panels[1:] for series in panel.series)
    rows = table(tmp_path, "11", file)
    asked = values(rows, panel=titles[1], x="1028 B")
    assert asked["naive"] == pytest.approx(16.65, abs=0.01)
    assert asked["masked"] == pytest.approx(9.0)


def test_figure_11_of_two_files_has_what_each_machine_s_own_link_allows(tmp_path):
    files = []
    axes = {name: value for name, value in gather_axes("masked", 1028).items()
            if name not in ("store", "locality")}  # fmt: skip
    for order, host in enumerate(("node-a", "node-b")):
        file = File(host=host)
        add_model_gathers(file, measured=False)
        for mode in ("naive", "masked"):
            modelled(
                file, "model/gather", axes | {"mode": mode, "link": "measured"}, 1e-6,
                bytes=50_000 + 1_000 * order, counters={"requests_per_row": 9.0},
            )  # fmt: skip
        files.append(file)
    rows = table(tmp_path, "11", *files)
    for letter, host, rate in (("A", "node-a", 50.0), ("B", "node-b", 51.0)):
        own = only(rows, panel=f"{letter}: what this machine's link allows (modelled)")
        assert {row["machine"].partition("(")[2] for row in own} == {f"{host})"}
        assert [float(row["y"]) for row in own] == pytest.approx([rate] * 2)
    assert {row["machine"] for row in only(rows, panel="requests of a row (modelled)")} == {""}
    alone = made(tmp_path, "11", files[1])
    assert alone.rows[-1][1].title == "what this machine's link allows (modelled)"


def test_figure_11_states_the_dissertation_s_ranges(tmp_path):
    stated = only(table(tmp_path, "11", gathered()), kind="paper")
    assert [(row["y"], row["y_high"]) for row in stated] == [
        ("", ""),
        ("78", "82"),
        ("88", "93"),
        ("95.1", ""),
    ]


def shared() -> File:
    file = gpu_file()
    for width in (4, 16):
        for sms in (2, 4, 8, 16, 32, 64):
            add_share(file, "grid_cap", sms, width)
    for sms in (8, 16):
        add_share(file, "green_context", sms, 16)
    add_share(file, "unlimited", 132, 16)
    return file


def test_figure_11_has_gathers_by_loads_alone(tmp_path):
    file, other = shared(), shared()
    for sms in (8, 24):
        add_share(other, "green_context", sms, 16, axes={"mode": "bulk"}, seconds=1e-4)
    assert table(tmp_path, "11", other) == table(tmp_path, "11", file)


def test_figure_11_has_shares_by_way_and_by_width(tmp_path):
    rows = table(tmp_path, "11", shared())
    by_way = only(rows, panel="gather alone, loads of 16 B, by how the share is made", kind="point")
    assert {row["series"] for row in by_way} == {"grid cap", "green context", "all of the GPU"}
    green = [float(row["x"]) for row in by_way if row["series"] == "green context"]
    assert green == pytest.approx([100 * 8 / 132, 100 * 16 / 132])
    by_width = only(rows, panel="gather alone by width of loads, grid cap", kind="point")
    assert {row["series"] for row in by_width} == {"loads of 4 B", "loads of 16 B"}
    notes = " ".join(made(tmp_path, "11", shared()).notes)
    assert "loads of 4 B: grid cap 32; loads of 16 B: grid cap 8, green context 8" in notes


def test_figure_11_has_splits_with_both_sides(tmp_path):
    file = gpu_file()
    for percent in (5, 10, 50):
        add_split(file, "green_context", percent)
    rows = table(tmp_path, "11", file)
    slow = only(rows, panel="both at once: what each side pays", kind="point")
    assert {row["series"] for row in slow} == {"green context, gather", "green context, computation"}
    last = [float(row["y"]) for row in slow if row["series"].endswith("computation")][-1]
    assert last == pytest.approx(132 / (132 - 72))
    together = only(rows, panel="both at once: until the later has ended", kind="point")
    assert {row["y_unit"] for row in together} == {"ms"}


def test_figure_13_has_ways_to_gather_by_span_and_window(tmp_path):
    file = gpu_file()
    for span, rate in ((4, 6.0), (32, 4.0)):
        add_gather(file, gather_axes("masked_wide", 128, span=span * GIB), rate)
        for window in (1, 4):
            axes = gather_axes("address_ordered", 128, span=span * GIB, window=window)
            add_gather(file, axes, rate * (1 + window))
    rows = table(tmp_path, "13", file)
    ways = only(rows, panel="rows of 128 B by way to gather them, mapped memory", kind="point")
    assert [(row["series"], row["x"], float(row["y"])) for row in ways] == [
        ("masked, wide loads", str(4 * GIB), pytest.approx(6)),
        ("masked, wide loads", str(32 * GIB), pytest.approx(4)),
        ("address-ordered", str(4 * GIB), pytest.approx(12)),
        ("address-ordered", str(32 * GIB), pytest.approx(8)),
        ("address-ordered, window 4", str(4 * GIB), pytest.approx(30)),
        ("address-ordered, window 4", str(32 * GIB), pytest.approx(20)),
    ]


def test_figure_13_tells_every_window_apart(tmp_path):
    file = gpu_file()
    for row, windows in ((128, (1, 2, 4, 8, 16)), (512, (1, 4))):
        add_gather(file, gather_axes("masked_wide", row, span=4 * GIB), 6.0)
        add_gather(file, gather_axes("masked_wide", row, span=32 * GIB), 4.0)
        for window in windows:
            for span in (4, 32):
                axes = gather_axes("address_ordered", row, span=span * GIB, window=window)
                add_gather(file, axes, 12.0 + window)
    panels = [panel for panel in made(tmp_path, "13", file).panels if "by way to gather" in panel.title]
    for panel in panels:
        check_told_apart(panel)
    looks = [{curve.name: curve.method for curve in panel.curves} for panel in panels]
    assert looks[0]["address-ordered, window 4"] == looks[1]["address-ordered, window 4"]


def test_the_model_of_gathers_is_no_traversal(tmp_path):
    file = gpu_file()
    add_model_gathers(file, measured=True)
    for number in ("8", "9", "16", "17"):
        assert made(tmp_path, number, file).rows == ()


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


# GB/s by the size of a row.
OVERTAKES = {16 * KIB: (12.5, 50.0), 64 * KIB: (50.0, 50.0), 256 * KIB: (200.0, 50.0)}
NEVER = {4 * KIB: (1.3, 44.0), 128 * KIB: (23.4, 50.7)}


def planted_copies(rates: dict[int, tuple[float, float]], *, spread: float = 0.02, span: int = GIB) -> File:
    """Copies of 512 rows and kernels that gather as many."""
    file = gpu_file()
    for row, (copies, kernel) in rates.items():
        dma = gather_axes("row_dma", row, store="pinned", rows=512, span=span)
        for axes, gb_s in ((dma, copies), (gather_axes("masked_wide", row, rows=512, span=span), kernel)):
            one = add_gather(file, axes, gb_s)
            time_s = one["bytes"] / gb_s / 1e9
            one["median_s"] = time_s
            one["interval_s"] = [time_s * (1 - spread), time_s * (1 + spread)]
    return file


def copies_of(file: File, folder: Path) -> list[gather.RowCopies]:
    return gather.row_copies(machines([read(file.write(folder / "one.json"))])[0])


def test_copies_pay_from_where_the_curves_cross(tmp_path):
    [one] = copies_of(planted_copies(OVERTAKES), tmp_path)
    pays = one.pays_from
    assert pays.value == pytest.approx(64 * KIB)
    # The rate is proportional to the row, so 2 % of either time are some 4 % of the size.
    assert (pays.low / pays.value, pays.high / pays.value) == pytest.approx((0.98 / 1.02, 1.02 / 0.98))
    assert one.spoken == "from 64 KiB a row on [61.5 KiB, 66.6 KiB]"


def test_copies_that_never_lead_pay_nowhere(tmp_path):
    [one] = copies_of(planted_copies(NEVER), tmp_path)
    assert one.pays_from is None
    assert one.spoken == "nowhere up to 128 KiB a row"


def test_copies_that_are_not_clearly_ahead_do_not_pay(tmp_path):
    [one] = copies_of(planted_copies({4 * KIB: (1.3, 44.0), 128 * KIB: (51.0, 50.7)}), tmp_path)
    assert one.pays_from is None


def test_copies_that_lead_at_every_size_pay_from_the_smallest(tmp_path):
    [one] = copies_of(planted_copies({64 * KIB: (60.0, 50.0), 128 * KIB: (70.0, 50.0)}), tmp_path)
    assert one.spoken == "from 64 KiB a row on"
    [alone] = copies_of(planted_copies({64 * KIB: (60.0, 50.0)}), tmp_path)
    assert alone.spoken == "from 64 KiB a row on"


def test_copies_that_fall_back_pay_no_longer(tmp_path):
    [one] = copies_of(planted_copies({64 * KIB: (60.0, 50.0), 128 * KIB: (40.0, 50.0)}), tmp_path)
    assert one.spoken == "no longer at 128 KiB a row"


def test_only_the_fastest_kernel_for_the_same_rows_counts(tmp_path):
    file = planted_copies(NEVER)
    row = 128 * KIB
    add_gather(file, gather_axes("naive", row, rows=512), 20.0)
    add_gather(file, gather_axes("naive", row, rows=2048), 55.0)
    add_gather(file, gather_axes("address_ordered", row, rows=512, window=4), 60.0)
    add_gather(file, gather_axes("masked_wide", row, rows=512, span=4 * GIB), 52.0)
    add_gather(file, gather_axes("masked_wide", row, rows=512, store="device"), 2000.0)
    [one] = copies_of(file, tmp_path)
    assert [kernel.way for kernel in one.kernels] == ["masked_wide", "masked_wide"]
    assert one.kernels[-1].asked.value == pytest.approx(50.7)


def test_copies_without_a_kernel_beside_them_say_nothing(tmp_path):
    file = gpu_file()
    add_gather(file, gather_axes("row_dma", 4096, store="pinned", rows=512), 1.3)
    assert copies_of(file, tmp_path) == []


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        (OVERTAKES, "512 rows, 1 GiB, uniform from 64 KiB a row on [61.5 KiB, 66.6 KiB] 256 KiB 200.0 50.0"),
        (NEVER, "512 rows, 1 GiB, uniform nowhere up to 128 KiB a row 128 KiB 23.4 50.7"),
    ],
    ids=["overtakes", "never"],
)
def test_summary_says_from_which_row_on(tmp_path, capsys, rates, words):
    path = str(planted_copies(rates).write(tmp_path / "one.json"))
    assert main(["summary", "--full", path]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "a copy a row pays at GB/s fastest kernel" in lines
    assert words in lines
    assert main(["summary", "--json", path]) == 0
    [one] = json.loads(capsys.readouterr().out)["networks"]["row_copies"]
    assert (one["pays_from"] is None) == (rates is NEVER)
    assert [size["row"] for size in one["sizes"]] == list(rates)
    assert one["sizes"][-1]["kernel"] == "masked_wide"


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


def planted_training(**more) -> File:
    file = gpu_file()
    for store, step_s in STEP_S.items():
        add(file, store, step_s, **more)
    return file


def payback_of(file: File, folder: Path):
    path = file.write(folder / "one.json")
    return machines([read(path)])[0]


def test_gathers_over_neighbours_links_stand_beside_those_over_one(tmp_path, capsys):
    file = gpu_file()
    axes = gather_axes("masked", 128)
    alone = add_gather(file, axes, 40.0)
    add_gather(file, axes | {"neighbours": 1}, 78.0)
    large = axes | {"memory": "managed_host"}
    add_gather(file, large, 41.0)
    add_gather(file, large | {"neighbours": 1}, 80.0)
    add_gather(file, gather_axes("naive", 128) | {"neighbours": 1}, 60.0)  # without one to hold it against
    machine = machines([read(file.write(tmp_path / "one.json"))])[0]
    assert [one.case_row.name for one in gather.measured(machine)] == [alone["name"]]
    found = {answer["memory"]: answer["over"]["value"] for answer in gnn_answers.helped(machine)}
    assert found == pytest.approx({"host_alloc": 78 / 40, "managed_host": 80 / 41}, rel=0.01)
    assert main(["summary", str(tmp_path / "one.json"), "--full"]) == 0
    assert "gathers over neighbours' links" in capsys.readouterr().out


def test_another_way_stands_beside_the_usual_one_and_not_in_its_place(tmp_path, capsys):
    file = gpu_file()
    usual = add_pipeline(file, "naive")
    for axes, share in (({"bounded": "off"}, 0.8), ({"placement": "host"}, 1.5)):
        row = add_pipeline(file, "naive", axes=axes)
        row |= times([one * share for one in row["visits"][0]["samples_s"]])
    add_pipeline(file, "masked", axes={"placement": "mapped"})  # whose usual way did not run
    machine = machines([read(file.write(tmp_path / "one.json"))])[0]
    assert [pipeline.case_row.name for pipeline in gnn.pipelines(machine)] == [usual["name"]]
    found = {answer["variant"]: answer["over"]["value"] for answer in gnn_answers.varied(machine)}
    assert found == pytest.approx({"no bound": 0.8, "the CPU samples": 1.5}, rel=0.01)
    assert main(["summary", str(tmp_path / "one.json"), "--full"]) == 0
    out = capsys.readouterr().out
    assert "naive, no bound" in out
    assert "naive, the CPU samples" in out


def test_a_process_for_each_gpu_stands_beside_the_same_in_one_process(tmp_path, capsys):
    file = gpu_file()
    for axes, share in (({}, 1.2), ({"placement": "host"}, 0.8)):
        add_pipeline(file, "masked", gpus=2, axes=axes)
        row = add_pipeline(file, "masked", gpus=2, axes=axes | {"processes": "per_gpu"})
        row |= times([one * share for one in row["visits"][0]["samples_s"]])
    add_processes(file, 10)
    add_pipeline(file, "naive", gpus=2, axes={"processes": "per_gpu"})  # whose one process did not run
    path = file.write(tmp_path / "one.json")
    machine = machines([read(path)])[0]
    assert [pipeline.method for pipeline in gnn.pipelines(machine)] == ["masked", "processes"]
    found = {answer["variant"]: answer["over"]["value"] for answer in gnn_answers.varied(machine)}
    assert found == pytest.approx({
        "the CPU samples": 1.0,
        "a process for each GPU": 1.2,
        "the CPU samples, a process for each GPU": 0.8,
    }, rel=0.01)  # fmt: skip
    assert main(["summary", str(path), "--full"]) == 0
    assert "masked, the CPU samples, a process for each GPU" in capsys.readouterr().out
    titles = [panel.title for panel in made(tmp_path, "21", file).panels]
    assert any(title.startswith("masked, a process for each GPU: ") for title in titles)


def test_the_cost_once_over_what_an_epoch_saves(tmp_path):
    [one] = gnn.paybacks(payback_of(planted_training(), tmp_path))
    assert one.parts == {"prepare_s": PREPARE_S, "fill_s": FILL_S}
    assert one.saved.value == pytest.approx(BATCHES * 1e-3)
    assert one.epochs == pytest.approx((PREPARE_S + FILL_S) / 0.4)
    assert one.spoken == "after 2.0 epochs"
    soonest, latest = one.between
    assert soonest == pytest.approx(0.8 / (400 * (3.03e-3 - 1.98e-3)))
    assert latest == pytest.approx(0.8 / (400 * (2.97e-3 - 2.02e-3)))


def test_scores_and_reordering_of_the_same_training_count_where_they_are_there(tmp_path):
    file = planted_training()
    add_scores(file, "pareto22", "10x25", 0.3)
    entries = 31 << 22
    axes = {"lists": "pasted", "score": "degree", "graph": "pareto22"}
    file.add("tiering/reorder", axes, {}, 0.35, operations=entries, counters={"edges_per_s": entries / 0.35})
    [one] = gnn.paybacks(payback_of(file, tmp_path))
    assert one.parts == {"score_s": 0.3, "rank_s": 0.1, "reorder_s": 0.35, "fill_s": FILL_S}
    assert one.epochs == pytest.approx(2.0)


@pytest.mark.parametrize(("graph", "fanout"), [("kron22", "10x25"), ("pareto22", "5x5")])
def test_scores_of_another_training_do_not(tmp_path, graph, fanout):
    file = planted_training()
    add_scores(file, graph, fanout, 0.3)
    assert "prepare_s" in gnn.paybacks(payback_of(file, tmp_path))[0].parts


def test_where_a_step_is_no_shorter_it_never_pays(tmp_path):
    file = gpu_file()
    add(file, "mapped", 2e-3)
    add(file, "tiered", 2.1e-3)
    machine = payback_of(file, tmp_path)
    [one] = gnn.paybacks(machine)
    assert (one.epochs, one.spoken) == (None, "never")
    assert "they never pay" in gnn_answers.hot_rows(Analysis(machine))[0]


def test_an_interval_that_meets_nothing_has_no_latest_epoch(tmp_path):
    file = gpu_file()
    add(file, "mapped", 2.02e-3)
    add(file, "tiered", 2e-3)
    [one] = gnn.paybacks(payback_of(file, tmp_path))
    assert one.epochs is not None
    assert one.between[1] is None


def test_a_cheap_one_pays_within_the_first_epoch(tmp_path):
    [one] = gnn.paybacks(payback_of(planted_training(prepare_s=0.1), tmp_path))
    assert one.spoken == "within the first epoch"


def test_two_gpus_need_half_as_many_steps(tmp_path):
    [one] = gnn.paybacks(payback_of(planted_training(gpus=2), tmp_path))
    assert one.steps == BATCHES / 2


def test_the_same_way_to_gather_is_what_it_is_held_against(tmp_path):
    file = gpu_file()
    add(file, "mapped", 9e-3)
    add(file, "mapped", 3e-3, window=2)
    add(file, "tiered", 2e-3, window=2)
    [one] = gnn.paybacks(payback_of(file, tmp_path))
    assert one.mapped.time.value == pytest.approx(3e-3)


@pytest.mark.parametrize("name", ["fill_s", "epoch_batches"])
def test_a_file_that_does_not_know_one_of_them_has_no_answer(tmp_path, name):
    file = planted_training()
    file.rows[-1]["counters"].pop(name)
    machine = payback_of(file, tmp_path)
    assert gnn.paybacks(machine) == []
    assert gnn_answers.hot_rows(Analysis(machine)) == []


def test_without_the_same_way_mapped_there_is_no_answer(tmp_path):
    file = gpu_file()
    add(file, "tiered", 2e-3)
    assert gnn.paybacks(payback_of(file, tmp_path)) == []


def test_the_summary_has_a_line_and_its_parts(tmp_path, capsys):
    path = planted_training().write(tmp_path / "one.json")
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
    file = planted_training()
    row = add(file, "tiered", 1.5e-3)
    row["case"]["axes"]["hot"] = 25
    row["name"] += "/25"
    machine = payback_of(file, tmp_path)
    [said] = gnn_answers.hot_rows(Analysis(machine))
    assert said.startswith("pareto22, fan-out 10×25, batch 1000, hidden 256, rows of 512 B, masked: 25 % of")
    assert "pay after 1.3 epochs (presampling, ranking and renumbering 750 ms, filling 50 ms;" in said
    assert said.endswith("an epoch saves 600 ms)")
    assert len(gnn_answers.of(machine)["payback"]) == 2


def lane(name: str, *times: tuple[float, float], gpu: int = 0) -> dict:
    begin_s, end_s = ([at / 1000 for at in ends] for ends in zip(*times, strict=True))
    return {"lane": name, "gpu": gpu, "begin_s": begin_s, "end_s": end_s}


# Milliseconds. Between 4, where the first step ends, and 13, where sampling has nothing more to do, sampling
# works for 3, gathering for 7.5 and training for 6; two of them do for 7.5.
PLANTED = [
    lane("training", (2, 4), (4.5, 6.5), (7, 9), (10, 12), (14, 16)),
    lane("gathering", (1, 2), (2, 4.5), (5, 7), (8, 10), (10, 14)),
    lane("sampling", (0, 1), (1, 2), (4, 5), (7, 8), (12, 13)),
]


def timed(timeline: list[dict], method: str = "masked", **more) -> File:
    file = gpu_file()
    add_pipeline(file, method, timeline=timeline, **more)
    return file


def spans(rows: list[dict], series: str) -> list[tuple[str, float, float]]:
    found = only(rows, kind="span", series=series)
    return [(row["x"], float(row["y_low"]), float(row["y_high"])) for row in found]


def test_figure_21_has_lanes_in_their_order_from_the_end_of_the_first_step_on(tmp_path):
    rows = table(tmp_path, "21", timed(PLANTED))
    assert list(dict.fromkeys(row["series"] for row in rows)) == ["sampling", "gathering", "training"]
    assert spans(rows, "gathering") == [("1", 2, 4.5), ("2", 5, 7), ("3", 8, 10), ("4", 10, 14)]
    assert spans(rows, "training")[0] == ("1", 4.5, 6.5)
    assert {row["y_unit"] for row in only(rows, kind="span")} == {"ms"}
    [panel] = made(tmp_path, "21", timed(PLANTED)).panels
    assert panel.x_range == (4, 16)


def test_figure_21_counts_what_works_between_filling_and_draining(tmp_path):
    rows = table(tmp_path, "21", timed(PLANTED))
    working = {"sampling": 100 * 3 / 9, "gathering": 100 * 7.5 / 9, "training": 100 * 6 / 9}
    assert values(rows, kind="working") == pytest.approx(working)
    figure = made(tmp_path, "21", timed(PLANTED))
    assert figure.panels[0].title == "masked: 2.45 ms a step, stages at once 83 %"
    assert "No stage works for more than 99 % of the time: masked." in figure.notes


def test_figure_21_says_which_stage_works_for_more_than_99_percent(tmp_path):
    file = gpu_file()
    for method in ("naive", "masked", "device"):
        add_pipeline(file, method)
    add_pipeline(file, "masked", axes={"bounded": "off"})
    add_pipeline(file, "tiered", hot=10)
    figure = made(tmp_path, "21", file)
    said = "gathering (naive; masked); training (tiered, 10 % hot; all in the GPU)"
    assert f"At work for more than 99 % of the time: {said}." in figure.notes
    assert "No stage works for more than 99 % of the time: masked, no bound." in figure.notes
    none = next(panel for panel in figure.panels if panel.title.startswith("masked, no bound"))
    assert none.title.endswith("stages at once 0 %")


def test_figure_21_does_not_say_so_of_a_stage_that_works_for_98_percent(tmp_path):
    always = [lane("training", *((at, at + 1) for at in range(12))), lane("sampling", (0, 1), (10.9, 11))]
    always[1] = lane("sampling", *((at, at + 0.1) for at in range(12)))
    assert any("training (masked)" in note for note in made(tmp_path, "21", timed(always)).notes)
    other = [stage | {"gpu": 1, "end_s": list(stage["end_s"])} for stage in always]
    assert any("training (masked)" in note for note in made(tmp_path, "21", timed(always + other)).notes)
    for at in range(12):
        other[0]["end_s"][at] -= 2e-5
    assert (
        "No stage works for more than 99 % of the time: masked."
        in made(tmp_path, "21", timed(always + other)).notes
    )
    always[0]["end_s"] = other[0]["end_s"]
    assert (
        "No stage works for more than 99 % of the time: masked." in made(tmp_path, "21", timed(always)).notes
    )


def test_figure_21_has_stages_of_every_gpu(tmp_path):
    file = gpu_file()
    add_pipeline(file, "masked", gpus=2)
    rows = table(tmp_path, "21", file)
    lanes = [f"GPU {gpu}, {stage}" for gpu in (0, 1) for stage in ("sampling", "gathering", "training")]
    assert list(dict.fromkeys(row["series"] for row in rows)) == lanes


def test_figure_21_numbers_windows_by_their_mini_batches(tmp_path):
    file = gpu_file()
    add_pipeline(file, "address_ordered", axes={"window": 2})
    rows = table(tmp_path, "21", file)
    assert [name for name, *_ in spans(rows, "gathering")] == ["2", "4", "6", "8"]
    assert [row["note"] for row in only(rows, series="gathering")][:2] == ["steps 2–3", "steps 4–5"]
    assert [name for name, *_ in spans(rows, "training")] == ["2", "3", "4", "5", "6", "7"]
    assert rows[0]["panel"].startswith("address-ordered, window 2: ")


def test_figure_21_is_of_the_training_that_was_timed_in_most_ways(tmp_path):
    file = gpu_file()
    add_pipeline(file, "masked", row=128)
    for method in ("naive", "masked"):
        add_pipeline(file, method)
    for percent in (5, 10):
        add_processes(file, percent)
    figure = made(tmp_path, "21", file)
    assert [panel.title.split(":")[0] for panel in figure.panels] == [
        "naive", "masked", "two processes (MPS), 10 % to gather"
    ]  # fmt: skip
    assert figure.notes[0].endswith("rows of 512 B, 1 GPU.")


def test_figure_21_without_a_timeline_or_without_time_says_so(tmp_path):
    file = gpu_file()
    add_pipeline(file, "masked").pop("timeline")
    add_pipeline(file, "naive", timeline=[lane("training", (0, 0), (0, 0))])
    assert made(tmp_path, "21", file).rows == ()
    path = file.write(tmp_path / "run" / "result.json")
    said = why_absent(ENTRIES["21"], machines([read(path)]))
    assert said == (
        "figure 21: no rows with a timeline of pipeline/graphsage: the 2 ok rows there answer other questions"
    )


def test_figure_21_of_the_cpu_alone_names_no_gpu(tmp_path):
    file = gpu_file()
    add_pipeline(file, "cpu_only")
    assert made(tmp_path, "21", file).notes[0].endswith("rows of 512 B, on the CPU.")
