"""Figures 1, 2, 6 and 7 as CSV, from planted rows with answers worked out by hand."""

import pytest

from planted import FAR, PART, SITE, add_copy, around, gpu_file, made, only, point, table
from synthetic import KIB, MIB, File


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
