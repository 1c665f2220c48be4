"""Figure h as CSV, from planted rows with answers worked out by hand."""

import pytest

from planted import only, table
from synthetic import GIB, KIB, MIB, File


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


def test_figure_h_names_the_base_page_by_its_size(tmp_path):
    file = File()
    for kind in ("transparent_huge", "64KiB"):
        axes = {"pages": kind, "bytes": MIB, "locality": "local"}
        file.add("host/latency", axes, {"cpu_node": 0, "memory_node": 0}, 1e-3, operations=4096, bytes=None)
        axes = {"pages": kind, "threads": 1, "bytes": MIB, "locality": "local"}
        file.add("host/first_touch", axes, {"node": 0}, 1e-3, operations=16)
    rows = table(tmp_path, "h", file)
    assert [row["series"] for row in only(rows, kind="point")] == [
        "loads, 64 KiB pages",
        "loads, transparent huge pages",
    ]
    assert [row["x"] for row in only(rows, kind="bar")] == ["64 KiB", "transparent huge"]


def test_figure_h_of_two_machines_keeps_them_apart(tmp_path):
    rows = table(tmp_path, "h", host_file(), host_file("node-b", 2.0))
    touched = only(rows, panel="first touch of 1 GiB by kind of page", series="1 thread")
    assert [(row["machine"], row["x"]) for row in touched] == [
        ("Intel Xeon (node-a)", "4 KiB"),
        ("Intel Xeon (node-b)", "4 KiB"),
    ]
    slow = only(rows, panel="memory latency of dependent loads", machine="Intel Xeon (node-b)", x="32768")
    assert float(slow[0]["y"]) == pytest.approx(3)
