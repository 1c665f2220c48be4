"""What each figure holds, as its CSV, from planted rows with answers worked out by hand."""

import csv
import io

import pytest

from grainscope_report import reader
from grainscope_report.figures import csv_table
from grainscope_report.figures.table import FIGURES, figure, why_absent
from grainscope_report.machine import machines
from synthetic import GIB, KIB, MIB, File
from synthetic_machines import traffic_of

SITE = {"gpu": 0, "numa": 0}
FAR = {"gpu": 0, "numa": 1}
ENTRIES = {entry.id: entry for entry in FIGURES}
PART = 0.01 * 6.5 / 15.5  # what the interval of 32 even samples of ±1 % reaches to either side


def table(tmp_path, number: str, *files: File) -> list[dict[str, str]]:
    """The CSV rows of a figure of these files."""
    paths = [file.write(tmp_path / str(order) / "result.json") for order, file in enumerate(files)]
    made = figure(ENTRIES[number], machines([reader.read(path) for path in paths]))
    return list(csv.DictReader(io.StringIO(csv_table.write(made))))


def only(rows: list[dict[str, str]], **wanted: str) -> list[dict[str, str]]:
    """The rows with these cells."""
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


def point(rows: list[dict[str, str]], **wanted: str) -> tuple[float, float, float, float]:
    """The x and the y with its interval of the only such row."""
    [row] = only(rows, **wanted)
    return tuple(float(row[column]) for column in ("x", "y", "y_low", "y_high"))


def around(x: float, y: float) -> tuple:
    """What `point` gives for a rate `y` planted with samples of ±1 % of its time."""
    return tuple(map(pytest.approx, (x, y, y / (1 + PART), y / (1 - PART))))


def gpu_file(**more) -> File:
    file = File(gpus=("NVIDIA H100 80GB HBM3",), **more)
    file.link("host_to_gpu", 54.7)
    file.link("gpu_to_host", 55.1)
    return file


def copy(path: str, size: int, flush: str = "on", locality: str = "local", timed: str = "copy") -> dict:
    return {"timed": timed, "path": path, "flush": flush, "bytes": size, "locality": locality}


def add_copy(file: File, gb_s: float, *case, site=SITE, spread: float = 0.01, **more) -> None:
    axes = copy(*case, **more)
    file.add("transfer/memcpy", axes, site, axes["bytes"] / gb_s / 1e9, spread=spread)


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


def zero_copy(
    size: int, direction: str = "read", access: str = "merged_aligned", offset: int = 0, **more
) -> dict:
    launch = {"width": 4, "blocks": "full", "threads": 1024, "allocation": "host_alloc"} | more
    return {
        "direction": direction,
        "access": access,
        "offset": offset,
        **launch,
        "bytes": size,
        "locality": "local",
    }


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


def host_file(host: str = "node-a", factor: float = 1.0) -> File:
    file = File(host=host)
    for kind, size, nanoseconds in (
        ("4KiB", 32 * KIB, 1.5),
        ("4KiB", GIB, 120.0),
        ("transparent_huge", GIB, 90.0),
    ):
        axes = {"pages": kind, "bytes": size, "locality": "local"}
        site = {"cpu_node": 0, "memory_node": 0}
        file.add("host/latency", axes, site, nanoseconds * factor * 4096e-9, operations=4096, bytes=None)
    for threads in (1, 8):
        axes = {"flush": "on", "threads": threads, "bytes": GIB, "locality": "local"}
        file.add("host/memcpy", axes, {"from_node": 0, "to_node": 0}, GIB / threads / 10e9)
        axes = {"pages": "4KiB", "threads": threads, "bytes": GIB, "locality": "local"}
        file.add("host/first_touch", axes, {"node": 0}, GIB / threads / 3e9, operations=GIB // 4096)
    for state, cost in (("cached", 8e-9), ("evicted", 3e-9)):
        axes = {"state": state, "bytes": MIB, "locality": "local"}
        file.add("host/flush", axes, {"node": 0}, 16384 * cost, operations=16384, bytes=None)
    return file


def test_figure_h_latency_memcpy_first_touch_and_flush(tmp_path):
    rows = table(tmp_path, "h", host_file())
    latency = only(rows, panel="memory latency of dependent loads", kind="point")
    assert [(row["series"], float(row["y"]), row["y_unit"]) for row in latency] == [
        ("loads, 4 KiB pages", pytest.approx(1.5), "ns"),
        ("loads, 4 KiB pages", pytest.approx(120), "ns"),
        ("loads, transparent huge pages", pytest.approx(90), "ns"),
    ]
    copies = only(rows, panel="memcpy of 1 GiB by threads", kind="point")
    assert [(row["x"], float(row["y"])) for row in copies] == [
        ("1", pytest.approx(10)),
        ("8", pytest.approx(80)),
    ]
    touched = only(rows, panel="first touch of 1 GiB by kind of page")
    assert [(row["series"], row["x"], float(row["y"])) for row in touched] == [
        ("1 thread", "4 KiB", pytest.approx(3)),
        ("8 threads", "4 KiB", pytest.approx(24)),
    ]
    assert touched[0]["note"] == "1.37 µs a page"
    flush = only(rows, panel="cache flush, cost of a line", kind="point")
    assert [float(row["y"]) for row in flush] == [pytest.approx(8), pytest.approx(3)]


def test_figure_h_of_two_machines_keeps_them_apart(tmp_path):
    rows = table(tmp_path, "h", host_file(), host_file("node-b", 2.0))
    touched = only(rows, panel="first touch of 1 GiB by kind of page", series="1 thread")
    assert [(row["machine"], row["x"]) for row in touched] == [
        ("Intel Xeon (node-a)", "4 KiB"),
        ("Intel Xeon (node-b)", "4 KiB"),
    ]
    slow = only(rows, panel="memory latency of dependent loads", machine="Intel Xeon (node-b)", x="32768")
    assert float(slow[0]["y"]) == pytest.approx(3)


def test_flags_are_in_the_table(tmp_path):
    file = gpu_file()
    axes = copy("pinned_to_gpu", MIB)
    file.add("transfer/memcpy", axes, SITE, 20e-6, flags=("wide_interval", "bimodal"))
    [row] = only(table(tmp_path, "2", file), kind="point")
    assert row["flags"] == "bimodal wide_interval"


@pytest.mark.parametrize("number", [entry.id for entry in FIGURES])
def test_every_figure_of_every_machine_is_labelled_in_full(show, number):
    made = figure(ENTRIES[number], show("h100", "two_nodes", "cpu_only"))
    assert made.rows
    for row in csv.DictReader(io.StringIO(csv_table.write(made))):
        assert row["figure"] == number
        assert row["panel"]
        assert row["kind"]
        if row["kind"] == "point":
            assert float(row["y_low"]) <= float(row["y"]) <= float(row["y_high"])
            assert row["label"] == "measured"
            assert row["machine"]


ABSENT = {
    "2": "figure 2: no rows of transfer/memcpy: skipped, no NVIDIA driver",
    "5": "figure 5: no rows of transfer/zero_copy: skipped, no NVIDIA driver",
    "6": "figure 6: no rows with method demand of transfer/managed: skipped, no NVIDIA driver",
}


@pytest.mark.parametrize(("number", "line"), ABSENT.items())
def test_a_figure_without_data_says_which_rows_it_lacks_and_why(show, number, line):
    shown = show("cpu_only")
    assert figure(ENTRIES[number], shown).rows == ()
    assert why_absent(ENTRIES[number], shown) == line


@pytest.mark.parametrize("number", [entry.id for entry in FIGURES])
def test_an_empty_file_has_no_figure(tmp_path, number):
    file = File(preset="quick")
    file.context["run"]["filter"] = "^host"
    shown = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert figure(ENTRIES[number], shown).rows == ()
    assert why_absent(ENTRIES[number], shown).endswith("not part of this run (preset quick, filter ^host)")


def test_failed_rows_are_no_data_but_are_named(tmp_path):
    file = gpu_file()
    file.lose("failed", "the copy came back wrong", "transfer/memcpy", copy("pinned_to_gpu", MIB), SITE)
    add_copy(file, 999.0, "pinned_to_gpu", MIB, timed="submission")
    shown = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert figure(ENTRIES["2"], shown).rows == ()
    assert why_absent(ENTRIES["2"], shown) == (
        "figure 2: no rows of transfer/memcpy: the 1 ok row there answers other questions; "
        "failed, the copy came back wrong"
    )


def test_failed_and_skipped_rows_are_counted_in_the_notes(show):
    notes = figure(ENTRIES["7"], show("h100")).notes
    assert "Not drawn: 1 failed row: impossible: 37197 GB/s over a link of 63 GB/s." in notes
    assert "Not drawn: 1 skipped row: this machine has one NUMA node." in notes
