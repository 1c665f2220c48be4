"""Figures 10, 11 and 13 of gathers, tiers and shares of a GPU as CSV, from planted rows."""

import pytest

from boxes import check_told_apart
from planted import gpu_file, made, only, table, values
from synthetic import GIB, File
from synthetic_gnn import add_gather, add_model_gathers, add_scores, add_share, add_split, gather_axes
from synthetic_models import modelled


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
