"""Figures 1, 2, 3, 5, 6, 7, 8 and 10 as CSV, from planted rows with answers worked out by hand."""

import pytest

from grainscope_report.figures.table import figure
from planted import (
    ENTRIES,
    FAR,
    PART,
    SITE,
    add_copy,
    around,
    gpu_file,
    linked_file,
    made,
    only,
    point,
    table,
    zero_copy,
)
from planted_traversals import ENTRIES as GRAPH_ENTRIES
from planted_traversals import KRON, URAND, crossing, facts, machine_file, model, pages, steady, traverse
from synthetic import GIB, KIB, MIB, File
from synthetic_gnn import add_scores
from synthetic_machines import traffic_of


def test_figure_1_flushed_and_warm_with_cache_sizes(tmp_path):
    file = gpu_file()
    add_copy(file, 10.0, "pageable_to_gpu", MIB)
    add_copy(file, 20.0, "pageable_to_gpu", MIB, flush="off")
    add_copy(file, 50.0, "pinned_to_gpu", MIB)  # no warm partner: no panel
    for flush, gb_s in (("on", 8.0), ("off", 24.0)):
        for threads in (2, 4):
            axes = {"flush": flush, "threads": threads, "bytes": MIB, "locality": "local"}
            file.add("host/memcpy", axes, {"from_node": 0, "to_node": 0}, MIB / gb_s / 1e9 / threads * 2)
    rows = table(tmp_path, "1", file)
    assert {row["panel"] for row in rows} == {"pageable → GPU", "memcpy in host memory, 2 threads"}
    pageable = only(rows, panel="pageable → GPU")
    assert point(pageable, kind="point", series="pageable copy, caches flushed") == around(MIB, 10)
    assert point(pageable, kind="point", series="not flushed") == around(MIB, 20)
    host = only(rows, panel="memcpy in host memory, 2 threads", kind="point")
    assert [float(row["y"]) for row in host] == [pytest.approx(8), pytest.approx(24)]
    caches = [(row["series"], row["x"]) for row in only(pageable, kind="cache")]
    assert caches == [("L1", "49152"), ("L2", "2097152"), ("L3", "110100480")]
    assert [row["y"] for row in only(pageable, kind="peak")] == ["54.7"]


def test_figure_2_pageable_and_pinned_local_and_remote_both_directions(tmp_path):
    file = gpu_file()
    file.link("host_to_gpu", 38.0, numa=1)
    for locality, site, slow in (("local", SITE, 1), ("remote", FAR, 2)):
        add_copy(file, 12.0 / slow, "pageable_to_gpu", MIB, locality=locality, site=site)
        add_copy(file, 50.0 / slow, "pinned_to_gpu", MIB, locality=locality, site=site)
    add_copy(file, 51.0, "gpu_to_pinned", MIB)
    add_copy(file, 48.0, "registered_to_gpu", MIB)
    add_copy(file, 999.0, "pinned_to_gpu", MIB, timed="submission")
    add_copy(file, 999.0, "pinned_to_gpu", 2 * MIB, flush="off")
    rows = table(tmp_path, "2", file)
    inward = only(rows, panel="host → GPU", kind="point")
    assert len(inward) == 4
    assert point(inward, series="pinned, local") == around(MIB, 50)
    assert point(inward, series="pageable, remote") == around(MIB, 6)
    assert point(only(rows, panel="GPU → host", kind="point"), series="pinned") == around(MIB, 51)
    locked = only(rows, panel="host → GPU, kinds of page-locked memory", kind="point")
    assert [row["series"] for row in locked] == ["pinned, local", "registered"]
    assert not only(rows, panel="GPU → host, kinds of page-locked memory")
    levels = only(rows, panel="host → GPU")
    assert [row["y"] for row in only(levels, kind="peak", series="copy peak")] == ["54.7"]
    assert [row["y"] for row in only(levels, kind="peak", series="remote copy peak")] == ["38"]
    assert [row["y"] for row in only(levels, kind="theoretical")] == ["63"]
    paper = only(rows, panel="Comm|Scope 2019: AC922, NVLink 2 ×3", kind="paper")
    assert [row["y"] for row in paper] == ["72", "41", "75"]
    assert all("section 4.2" in row["note"] for row in paper)


def demand(size: int, path: str, **more) -> dict:
    return {"method": "demand", "path": path, "bytes": size, "locality": "local", **more}


def test_figure_6_demand_by_size_and_by_threads(tmp_path):
    file = gpu_file()
    for size in (MIB, 64 * MIB):
        file.add("transfer/managed", demand(size, "host_to_gpu"), SITE, size / 8e9)
        for threads in (1, 4):
            axes = demand(size, "gpu_to_host", host_threads=threads)
            file.add("transfer/managed", axes, SITE, size / (2e9 * threads))
    add_copy(file, 12.0, "pageable_to_gpu", MIB)
    rows = table(tmp_path, "6", file)
    assert [float(row["y"]) for row in only(rows, series="demand")] == [pytest.approx(8)] * 2
    assert point(rows, kind="point", series="demand, 4 host threads", x="67108864") == around(64 * MIB, 8)
    by_threads = only(rows, panel="host faults by threads: GPU → host", kind="point")
    assert {row["x_unit"] for row in by_threads} == {"threads"}
    assert [row["x"] for row in only(by_threads, series="demand of 64 MiB")] == ["1", "4"]
    assert point(by_threads, series="demand of 1 MiB", x="4") == around(4, 8)
    assert point(rows, kind="point", series="pageable copy") == around(MIB, 12)


def test_figure_6_draws_demand_without_a_hint(tmp_path):
    file = gpu_file()
    for size in (MIB, 64 * MIB):
        file.add("transfer/managed", demand(size, "host_to_gpu", hint="accessed_by"), SITE, size / 50e9)
        file.add("transfer/managed", demand(size, "host_to_gpu"), SITE, size / 8e9)
    rows = table(tmp_path, "6", file)
    assert [float(row["y"]) for row in only(rows, series="demand")] == [pytest.approx(8)] * 2


def test_figure_6_marks_where_demand_overtakes_a_pageable_copy(tmp_path):
    file = gpu_file()
    for size, gb_s in ((MIB, 4.0), (16 * MIB, 16.0)):
        file.add("transfer/managed", demand(size, "host_to_gpu"), SITE, size / gb_s / 1e9, spread=0.0)
        for threads in (1, 16):
            axes = demand(size, "gpu_to_host", host_threads=threads)
            file.add("transfer/managed", axes, SITE, size / (gb_s if threads > 1 else 1.0) / 1e9, spread=0.0)
        for path in ("pageable_to_gpu", "gpu_to_pageable"):
            add_copy(file, 8.0, path, size, spread=0.0)
    crossings = only(table(tmp_path, "6", file), kind="crossover")
    assert [row["note"] for row in crossings] == [
        "demand is faster than pageable copy above 4 MiB [4 MiB, 4 MiB]",
        "demand, 16 host threads is faster than pageable copy above 4 MiB [4 MiB, 4 MiB]",
    ]


def prefetch_file() -> File:
    file = gpu_file()
    for size, pinned, prefetch in (
        (64 * KIB, 20.0, 12.0),
        (MIB, 40.0, 30.0),
        (4 * MIB, 45.0, 9.0),
        (16 * MIB, 50.0, 48.0),
    ):
        add_copy(file, pinned, "pinned_to_gpu", size)
        axes = {"method": "prefetch", "path": "host_to_gpu", "bytes": size, "locality": "local"}
        file.add("transfer/managed", axes, SITE, size / prefetch / 1e9)
    return file


def test_figure_7_ratio_slow_range_and_dip(tmp_path):
    rows = table(tmp_path, "7", prefetch_file())
    ratios = only(rows, series="prefetch ÷ pinned", y_unit="ratio")
    assert [float(row["y"]) for row in ratios] == [pytest.approx(one) for one in (0.6, 0.75, 0.2, 0.96)]
    assert float(ratios[0]["y_low"]) == pytest.approx(0.6 * (1 - PART) / (1 + PART))
    [slow] = only(rows, kind="slow")
    assert (slow["y_low"], slow["y_high"]) == ("65536", "4194304")
    [dip] = only(rows, kind="dip")
    assert (dip["x"], dip["y_low"], dip["y_high"]) == ("4194304", "4194304", "4194304")
    assert dip["note"] == "prefetch dips at 4 MiB, 70 % down; recovers above"
    [paper] = only(rows, kind="paper")
    assert (paper["y_low"], paper["y_high"]) == ("4096", "33554432")
    assert "section 4.7" in paper["note"]


def test_figure_7_ratio_spans_the_sizes_of_the_curves_above(tmp_path):
    file = prefetch_file()
    add_copy(file, 0.1, "pinned_to_gpu", 256)
    [[top], [ratio]] = made(tmp_path, "7", file).rows
    assert min(top.curves[0].x) == 256
    assert ratio.x_range == (256, 16 * MIB)


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


def test_figure_5_has_zero_copy_over_the_pinned_copy_below(tmp_path):
    file = gpu_file()
    for size, gb_s in ((MIB, 10.0), (16 * MIB, 40.0), (64 * MIB, 41.0)):
        file.add("transfer/zero_copy", zero_copy(size), SITE, size / gb_s / 1e9, spread=0.0)
    for size in (4096, MIB, 16 * MIB):
        add_copy(file, 20.0, "pinned_to_gpu", size, spread=0.0)
    [[top], [ratio]] = made(tmp_path, "5", file).rows
    [curve] = ratio.curves
    assert [(point.x, point.y.value) for point in curve.points] == [
        (MIB, pytest.approx(0.5)),
        (16 * MIB, pytest.approx(2.0)),
    ]
    assert ratio.x_range == (4096, 64 * MIB)
    assert top.y_log


def test_figure_5_has_flushed_zero_copy_where_there_is_any(tmp_path):
    for flushes, name, rate in ((("", "off"), "zero-copy", 10.0), (("off",), "zero-copy, not flushed", 40.0)):
        file = gpu_file()
        for flush in flushes:
            more, gb_s = ({"flush": flush}, 40.0) if flush else ({}, 10.0)
            for size in (MIB, 16 * MIB):
                file.add("transfer/zero_copy", zero_copy(size, **more), SITE, size / gb_s / 1e9)
        [[top]] = made(tmp_path, "5", file).rows
        [curve] = top.curves
        assert (curve.name, curve.y[0].value) == (name, pytest.approx(rate))


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


PAIR = {"gpu": 0, "peer": 1}
SENT = ({"direction": "write", "access": "on"}, 300.0, PAIR)
FETCHED = ({"direction": "read", "access": "on"}, 350.0, PAIR)
STAGED = ({"direction": "write", "access": "off"}, 400.0, PAIR | {"numa": 0})
OLDER = ({}, 300.0, PAIR)  # of runs whose copies had one direction alone


@pytest.mark.parametrize("ways", [(SENT, FETCHED, STAGED), (OLDER,)])
def test_figure_3_draws_what_each_gpu_sends_and_not_what_it_fetches_or_the_host_stages(tmp_path, ways):
    file = linked_file()
    for way, gb_s, site in ways:
        axes = {"between": "gpu_gpu", "method": "copy_engine", "bytes": GIB, "link": "nvlink"} | way
        lanes = [
            {"name": name, "bytes": GIB, "from": source, "to": target, "seconds": GIB / gb_s / 1e9}
            for name, source, target in (("to_peer", "gpu:0", "gpu:1"), ("from_peer", "gpu:1", "gpu:0"))
        ]
        file.together("transfer/duplex", axes, site, lanes, overlap=1.0)
    rows = table(tmp_path, "3", file)
    [total] = only(rows, panel="GPU ↔ GPU, both ways together", kind="point")
    assert float(total["y"]) == pytest.approx(600)


# Requests of each size for 1000 edges read; 128-byte shares of 0 %, 40 % and 70 %.
MIXES = {
    "naive": {32: 1000},
    "merged": {32: 60, 64: 30, 96: 30, 128: 80},
    "merged_aligned": {32: 10, 64: 10, 96: 25, 128: 105},
}


def add_requests(file: File, graph: str = KRON, label: str = "modelled", scale: int = 1) -> None:
    """A measured row for each access, which read 1000 edges."""
    for access, mix in MIXES.items():
        counts = {size: scale * count for size, count in mix.items()}
        told = {
            "edges_read": 1000.0,
            "link_gb_s": 27.35,
            "amplification_data_set": 1.5,
            "cached_amplification": 0.5,
        }
        row = traverse(
            file,
            steady(0.1),
            graph=graph,
            access=access,
            traffic=crossing(counts, 1000, label=label),
            counters=told,
        )
        row["link_fraction"] = 0.9  # of the bytes asked for, say


def test_requests_by_size_and_graph(tmp_path):
    file = machine_file()
    add_requests(file)
    mix = only(table(tmp_path, "8", file), panel="requests by size, by graph (modelled)")
    assert {(row["x"], row["label"]) for row in mix} == {(KRON, "modelled")}
    assert [row["y"] for row in mix if row["series"] == "32 B"] == ["100", "30", "6.66666667"]
    assert [row["y"] for row in mix if row["series"] == "128 B"] == ["0", "40", "70"]


def test_numbers_of_requests_and_what_merging_and_aligning_save(tmp_path):
    file = machine_file()
    add_requests(file)
    rows = table(tmp_path, "8", file)
    counts = only(rows, panel="requests for each edge read; how many in all (modelled)")
    assert [(row["series"], row["y"]) for row in counts] == [
        ("naive", "1"),
        ("merged", "0.2"),
        ("aligned", "0.15"),
    ]
    assert counts[1]["note"] == "200 requests"
    saved = only(rows, panel="requests saved (modelled)", kind="bar")
    assert [(row["series"], row["y"]) for row in saved] == [("merging", "80"), ("aligning further", "25")]
    most = only(rows, panel="requests saved (modelled)", kind="paper")
    assert [row["y"] for row in most] == ["83.3", "28.8"]


def test_the_share_of_full_requests_stands_beside_the_papers(tmp_path):
    file = machine_file()
    add_requests(file)
    add_requests(file, URAND)
    rows = only(
        table(tmp_path, "8", file), panel="128 B share, aligned ÷ merged (modelled), and EMOGI's FPGA"
    )
    ours = [(row["x"], row["y"]) for row in rows if row["kind"] == "bar"]
    theirs = [(row["x"], row["y"]) for row in rows if row["kind"] == "paper"]
    assert ours == [(URAND, "1.75"), (KRON, "1.75")]
    assert theirs == [(URAND, "1.25"), (KRON, "1.86")]


def test_counted_and_modelled_requests_have_panels_of_their_own(tmp_path):
    file = machine_file()
    add_requests(file)
    counted = {access: crossing(mix, 1000, label="counted") for access, mix in MIXES.items()}
    for row in file.rows:
        row["counted"] = counted[row["case"]["axes"]["access"]]
    titles = {row["panel"] for row in table(tmp_path, "8", file)}
    for label in ("modelled", "counted"):
        assert f"requests by size, by graph ({label})" in titles
    only_counted = machine_file()
    add_requests(only_counted, label="counted")
    titles = {row["panel"] for row in table(tmp_path, "8", only_counted)}
    assert "requests by size, by graph (counted)" in titles
    assert not any("modelled" in title for title in titles)


def test_counters_without_sizes_hold_the_model_to_account(tmp_path):
    file = machine_file()
    add_requests(file)
    for row, requests in zip(file.rows, (700, 202, 150), strict=True):
        row["counted"] = {"label": "counted", "requests": requests, "sectors": 500, "bytes": 16000}
    rows = table(tmp_path, "8", file)
    held = only(rows, panel="the model held against counters: requests counted ÷ modelled", kind="bar")
    assert [(row["series"], row["y"], row["label"]) for row in held] == [
        ("naive", "0.7", "counted"),
        ("merged", "1.01", "counted"),
        ("aligned", "1", "counted"),
    ]
    counts = only(rows, panel="requests for each edge read; how many in all (counted)")
    assert [row["y"] for row in counts] == ["0.7", "0.202", "0.15"]
    assert not only(rows, panel="requests by size, by graph (counted)")
    assert only(rows, panel="requests by size, by graph (modelled)")


def test_chunks_that_change_nothing_are_said_not_drawn(tmp_path):
    file = machine_file()
    add_requests(file)
    same = crossing(MIXES["merged_aligned"], 1000)
    row = traverse(file, steady(0.1), access="merged_aligned_chunked", traffic=same)
    figure = made(tmp_path, "8", file)
    assert "“aligned, chunked” asks for the same as “aligned”." in figure.notes
    row["traffic"] = crossing({32: 10, 128: 105}, 1000)
    assert not any("asks for the same" in note for note in made(tmp_path, "8", file).notes)


def test_rates_stand_under_the_copy_peak(tmp_path):
    file = machine_file()
    add_requests(file)
    rows = only(table(tmp_path, "8", file), panel="bytes over the link in bfs (measured)")
    assert {(row["y"], row["label"]) for row in rows if row["kind"] == "bar"} == {("27.35", "measured")}
    assert [row["y"] for row in rows if row["kind"] == "peak"] == ["54.7"]
    panel = next(one for one in made(tmp_path, "8", file).panels if one.y_label == "over the link (GB/s)")
    assert panel.series[0].bars[0].text.endswith(", 50 %")


def test_amplification_is_that_of_the_data_set_with_managed_memory_under_pressure(tmp_path):
    file = machine_file()
    add_requests(file)
    pages(file, 2.0, counters={"amplification_data_set": 2.5})
    pages(file, 1.0, card=100, counters={"amplification_data_set": 1.0})
    figure = made(tmp_path, "8", file)
    panel = next(one for one in figure.panels if one.title == "amplification over the data set (modelled)")
    bars = {one.name: one.bars[0].value for one in panel.series}
    assert bars["managed"].value == 2.5
    # A cache that keeps everything leaves 0.5 of an amplification of 4, and so an eighth of 1.5.
    assert (bars["naive"].low, bars["naive"].value) == (pytest.approx(1.5 * 0.5 / 4), 1.5)
    assert any("the card holds 50 % of the edge list" in note for note in figure.notes)


def test_the_managed_bars_are_of_the_page_that_the_note_and_figure_9_say(tmp_path):
    file = machine_file()
    for graph in (KRON, URAND):
        add_requests(file, graph)
        model(file, 0.5, graph=graph)
        model(file, 0.5, "sssp", graph)
        # Of bfs most works have pages of 4 KiB, of all algorithms those of 64 KiB.
        pages(file, 2.0, graph=graph, page=4096, counters={"amplification_data_set": 4.0})
        pages(file, 2.0, "sssp", graph, counters={"amplification_data_set": 64.0})
    pages(file, 2.0, counters={"amplification_data_set": 64.0})
    figure = made(tmp_path, "8", file)
    panel = next(one for one in figure.panels if one.title == "amplification over the data set (modelled)")
    [managed] = [one for one in panel.series if one.name == "managed"]
    drawn = {
        graph: bar.value and bar.value.value
        for graph, bar in zip(panel.categories, managed.bars, strict=True)
    }
    assert drawn == {KRON: 64.0, URAND: None}
    [note] = [note for note in figure.notes if note.startswith("Managed: modelled")]
    assert note.endswith(f"a fault brings 64 KiB; not modelled so: {URAND}.")
    assert any("64 KiB come at a fault" in said for said in made(tmp_path, "9", file).notes)


def test_requests_of_the_model_alone_will_do(tmp_path):
    file = File(preset="quick")
    for access, mix in MIXES.items():
        for link in ("pcie3x16", "pcie4x16"):
            model(file, 0.5, access=access, link=link, traffic=crossing(mix, 1000))
    rows = table(tmp_path, "8", file)
    assert only(rows, panel="requests by size, by graph (modelled)")
    assert not only(rows, panel="bytes over the link in bfs (measured)")
    assert ENTRIES["8"].families[0] == "transfer/zero_copy"


def test_figure_10_is_the_share_of_edges_by_degree_once_a_graph(tmp_path):
    file, other = machine_file(), machine_file(host="node-b")
    for one in (file, other):
        traverse(one, steady(0.1))
        model(one, 0.5, graph=URAND)
    rows = table(tmp_path, "10", file, other)
    points = only(rows, kind="point", series=KRON)
    assert [(row["x"], row["y"]) for row in points] == [
        ("1", "10"),
        ("15", "25"),
        ("31", "50"),
        ("64", "100"),
    ]
    assert {row["label"] for row in points} == {"counted"}
    assert {row["series"] for row in only(rows, kind="point")} == {KRON, URAND}
    [paper] = only(rows, kind="paper")
    assert (paper["y_low"], paper["y_high"]) == ("16", "48")
    notes = made(tmp_path, "10", file).notes
    assert any("kron24 50000 vertices, 1 million entries, mean degree 20" in note for note in notes)
    assert any("fewer than 16" in note and "kron24 25 %" in note for note in notes)
    assert any("fewer than 32" in note and "kron24 50 %" in note for note in notes)


def test_figure_10_reads_a_share_between_points_as_the_line_is_drawn(tmp_path):
    file = machine_file()
    # On a logarithmic axis 15 lies half-way between 1 and 225.
    traverse(file, steady(0.1))["graph"] = facts(KRON, ((1, 0.2), (225, 0.6), (226, 1.0)))
    notes = made(tmp_path, "10", file).notes
    assert any("fewer than 16" in note and "kron24 40 %" in note for note in notes)


def test_figure_10_tells_two_graphs_of_one_name_apart(tmp_path):
    file, other = machine_file(), machine_file(host="node-b")
    traverse(file, steady(0.1))
    traverse(other, steady(0.1), graph=KRON)["graph"] = facts(KRON) | {"entries": GRAPH_ENTRIES[KRON] + 2}
    rows = table(tmp_path, "10", file, other)
    assert {row["series"] for row in only(rows, kind="point")} == {KRON, f"{KRON}, B"}


def test_the_title_of_figure_10_is_of_what_it_draws(tmp_path):
    edges, accesses = "Edges by the length of the list that they are in", "Accesses by the rank of rows"
    tiered, both = machine_file(), machine_file()
    for file in (tiered, both):
        add_scores(file, "kron22", "10x25", 0.18)
    traverse(both, steady(0.1))
    alone = machine_file()
    traverse(alone, steady(0.1))
    assert made(tmp_path, "10", tiered).title == accesses
    assert made(tmp_path, "10", alone).title == edges
    assert made(tmp_path, "10", both).title == f"{edges}; a{accesses[1:]}"
    assert ENTRIES["10"].title == f"{edges}; a{accesses[1:]}"
