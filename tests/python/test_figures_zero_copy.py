"""Figures 5 and 8 as CSV, from planted rows with answers worked out by hand."""

import pytest

from grainscope_report.figures.table import figure
from planted import ENTRIES, PART, SITE, add_copy, gpu_file, made, only, table, zero_copy
from synthetic import GIB, MIB, File
from synthetic_machines import traffic_of


def test_figure_5_crossover_is_marked_with_its_interval(tmp_path):
    file = gpu_file()
    # Zero-copy rises from 10 to 40 while the pinned copy stays at 20: on log axes they meet half-way.
    for size, gb_s in ((MIB, 10.0), (16 * MIB, 40.0)):
        file.add("transfer/zero_copy", zero_copy(size), SITE, size / gb_s / 1e9, spread=0.0)
        add_copy(file, 20.0, "pinned_to_gpu", size, spread=0.0)
        add_copy(file, 5.0, "pageable_to_gpu", size, spread=0.0)
    file.add("transfer/zero_copy", zero_copy(MIB, width=16), SITE, MIB / 99e9)
    rows = table(tmp_path, "5", file)
    points = only(rows, panel="read (host → GPU)", kind="point")
    assert [row["y"] for row in only(points, series="zero-copy")] == ["10", "40"]
    assert [row["y"] for row in only(points, series="pinned copy")] == ["20", "20"]
    assert [row["y"] for row in only(points, series="pageable copy")] == ["5", "5"]
    assert {row["configuration"] for row in only(points, series="zero-copy")} == {"width 4"}
    [crossing] = only(rows, kind="crossover")
    assert (float(crossing["x"]), crossing["series"]) == (pytest.approx(4 * MIB), "a")
    assert float(crossing["y_low"]) == pytest.approx(4 * MIB)
    assert crossing["note"] == "zero-copy read is faster than pinned copy above 4 MiB [4 MiB, 4 MiB]"
    assert not only(rows, panel="write (GPU → host)")


def test_figure_5_interval_of_the_crossover_follows_the_measurements(tmp_path):
    file = gpu_file()
    for size, gb_s in ((MIB, 10.0), (16 * MIB, 40.0)):
        file.add("transfer/zero_copy", zero_copy(size), SITE, size / gb_s / 1e9, spread=0.2)
        add_copy(file, 20.0, "pinned_to_gpu", size, spread=0.0)
    [crossing] = only(table(tmp_path, "5", file), kind="crossover")
    # Rates of ±(20 · 6.5/15.5) % on a curve that doubles every two octaves.
    part = 0.2 * 6.5 / 15.5
    assert float(crossing["y_low"]) == pytest.approx(4 * MIB * (1 - part) ** 2, rel=1e-3)
    assert float(crossing["y_high"]) == pytest.approx(4 * MIB * (1 + part) ** 2, rel=1e-3)


def access_file(host: str = "node-a", factor: float = 1.0) -> File:
    file = gpu_file(host=host)
    shapes = (("strided", 0, 15.0), ("merged", 4, 34.0), ("merged", 32, 33.0), ("merged", 64, 40.0))
    mixes = ({"32": 1.0}, {"32": 0.5, "128": 0.5}, {"32": 0.5, "96": 0.5}, {"64": 1.0}, {"128": 1.0})
    for (access, offset, gb_s), mix in zip((*shapes, ("merged_aligned", 0, 50.0)), mixes, strict=True):
        traffic = traffic_of(mix, GIB, 8.0 if access == "strided" else 1.0)
        axes = zero_copy(GIB, access=access, offset=offset)
        file.add("transfer/zero_copy", axes, SITE, GIB / gb_s / 1e9 / factor, traffic=traffic)
    # Faster, but a launch that no other access was measured with.
    file.add("transfer/zero_copy", zero_copy(GIB, blocks=64, width=16), SITE, GIB / 53e9)
    return file


def test_figure_8_bandwidth_by_access_beside_the_paper(tmp_path):
    rows = table(tmp_path, "8", access_file())
    bars = only(rows, panel="zero-copy read, bandwidth by access", kind="bar")
    assert [row["x"] for row in bars] == ["strided", "off by 4 B", "off by 32 B", "off by 64 B", "aligned"]
    assert [float(row["y"]) for row in bars] == [pytest.approx(one) for one in (15, 34, 33, 40, 50)]
    assert float(bars[0]["y_low"]) == pytest.approx(15 / (1 + PART))
    paper = only(rows, panel="EMOGI 2020: V100, PCIe 3 ×16", kind="paper")
    assert [(row["x"] or row["series"], row["y"]) for row in paper] == [
        ("strided (BFS)", "4.7"),
        ("off by 32 B", ""),
        ("aligned", "12.23"),
        ("cudaMemcpy", "12.3"),
        ("UVM", "9"),
    ]


def test_figure_8_requests_and_amplification_are_labelled_modelled(tmp_path):
    rows = table(tmp_path, "8", access_file())
    mix = only(rows, panel="requests by size (modelled)")
    assert {row["label"] for row in mix} == {"modelled"}
    shares = {(row["series"], row["x"]): row["y"] for row in mix}
    assert shares["32 B", "strided"] == "100"
    assert (shares["32 B", "off by 32 B"], shares["96 B", "off by 32 B"]) == ("50", "50")
    assert (shares["64 B", "off by 64 B"], shares["128 B", "aligned"]) == ("100", "100")
    amplification = only(rows, panel="amplification (modelled)")
    assert [row["y"] for row in amplification] == ["8", "1", "1", "1", "1"]
    observed = only(rows, panel="EMOGI 2020, as observed", x="off by 32 B")
    assert {row["series"]: row["y"] for row in observed} == {
        "32 B": "50",
        "64 B": "0",
        "96 B": "50",
        "128 B": "0",
    }


def test_figure_8_spans_the_amplification_between_both_assumptions_of_caches(tmp_path):
    file = access_file()
    for row in file.rows:
        if row["case"]["axes"].get("access") == "strided":
            row["traffic"]["amplification"] = 1.0
            row["counters"] = {"amplification_without_cache": 8.0}
    panel = made(tmp_path, "8", file).rows[1][2]
    strided = panel.series[0].bars[0]
    assert (strided.value.value, strided.value.high) == (1, 8)
    assert strided.text == "1 to\n8"


def test_figure_8_of_two_machines_has_a_bar_for_each(tmp_path):
    rows = table(tmp_path, "8", access_file(), access_file("node-b", 0.5))
    aligned = only(rows, panel="zero-copy read, bandwidth by access", x="aligned", kind="bar")
    assert [(row["machine"], float(row["y"])) for row in aligned] == [
        ("NVIDIA H100 80GB HBM3 (node-a)", pytest.approx(50)),
        ("NVIDIA H100 80GB HBM3 (node-b)", pytest.approx(25)),
    ]


def test_figure_8_never_mixes_counted_and_modelled(tmp_path):
    file = access_file()
    file.rows[4]["traffic"]["label"] = "counted"
    rows = table(tmp_path, "8", file)
    [aligned] = only(rows, panel="amplification (modelled)", x="aligned")
    assert aligned["y"] == ""


def test_figure_8_tells_what_the_model_assumes_of_caches(tmp_path):
    file = access_file()
    for row in file.rows[:-1]:
        walked = row["case"]["axes"]["access"] == "strided"
        row["counters"] = {"requests_without_cache": row["traffic"]["requests"] * (8 if walked else 1)}
    notes = made(tmp_path, "8", file).notes
    said = (
        "Modelled as if caches kept every sector; if they kept none, more requests: strided 8 times as many."
    )
    assert said in notes
    assert not any("caches" in note for note in made(tmp_path, "8", access_file()).notes)


def test_figure_8_says_which_site_its_bars_are_for(show):
    assert (
        "Bandwidth: bars are for GPU 0, node 0; `grainscope-report list` shows 3 further sites."
        in figure(ENTRIES["8"], show("two_nodes")).notes
    )
    assert not any("bars are for" in note for note in figure(ENTRIES["8"], show("h100")).notes)
