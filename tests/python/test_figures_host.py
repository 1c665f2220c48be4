"""Figures h, m, n, p, s, t and 14 as CSV, from planted rows with answers worked out by hand."""

import copy

import pytest

from boxes import check_told_apart
from grainscope_report.figures.model import DotPanel, why_absent
from grainscope_report.figures.table import figure
from grainscope_report.groups import contention
from grainscope_report.groups import shape as shapes
from grainscope_report.machine import machines
from grainscope_report.reader import read
from planted import ENTRIES, SITE, around, gpu_file, linked_file, made, only, point, table
from synthetic import GIB, KIB, MIB, File
from synthetic_busy import add_beside, add_box, add_call, add_pages, add_streams, add_together
from synthetic_links import add_piece, add_saturation


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


LETTERS = ("m", "n", "p", "s", "t")


def test_figure_s_a_curve_for_each_method_by_the_width_of_a_row(tmp_path):
    file = linked_file()
    for width, gb_s in ((32, 19.0), (512, 49.0)):
        add_box(file, "host_to_gpu", "copy_2d", (width, 4 * MIB // width, 1), max(512, 2 * width), gb_s)
        add_box(file, "host_to_gpu", "kernel_chunked", (width, 4 * MIB // width, 1), 1024, gb_s / 2)
    add_box(file, "local", "copy_2d", (32, 4 * MIB // 32, 1), 512, 131.0)
    rows = table(tmp_path, "s", file)
    direct = only(rows, panel="host → GPU", series="cudaMemcpy2D", kind="point")
    assert [(float(row["x"]), pytest.approx(float(row["y"]))) for row in direct] == [(32, 19), (512, 49)]
    assert point(rows, panel="within the GPU", kind="point") == around(32, 131)
    assert {row["y"] for row in only(rows, panel="host → GPU", kind="peak")} == {"55"}
    assert only(rows, panel="within the GPU", kind="peak") == []
    dashes = {curve.name: curve.dash for curve in made(tmp_path, "s", file).panels[0].curves}
    assert dashes == {"kernel, chunked": "dashed", "cudaMemcpy2D": "solid"}


def test_figure_s_tells_every_method_apart_in_curves_and_in_dots(tmp_path):
    file = linked_file()
    for order, method in enumerate(shapes.METHODS):
        for width in (32, 512):
            add_box(file, "local", method, (width, 4 * MIB // width, 1), 2 * width, 100.0 + order)
        add_box(file, "local", method, (480, 2, 508), 512, 10.0 + order)
    curves, dots = made(tmp_path, "s", file).panels
    assert {curve.name for curve in curves.curves} == set(shapes.METHODS.values())
    assert {dot.name for row in dots.rows for dot in row.dots} == set(shapes.METHODS.values())
    check_told_apart(curves)
    check_told_apart(dots)
    # Where both agree the one shows between the other's dashes.
    dashes = {curve.method: curve.dash for curve in curves.curves}
    assert dashes["copy_2d"] != dashes["copy_3d"]


def test_figure_s_compares_boxes_of_one_size(tmp_path):
    file = linked_file()
    for width in (128, 512):
        add_box(file, "local", "pack", (width, 4 * MIB // width, 1), 1024, 300.0)
    # Larger and faster, but of one width alone.
    add_box(file, "local", "pack", (512, 64 * MIB // 512, 1), 1024, 900.0)
    rows = only(table(tmp_path, "s", file), kind="point")
    assert [float(row["y"]) for row in rows] == [pytest.approx(300)] * 2


def test_figure_s_faces_are_rows_of_dots(tmp_path):
    file = linked_file()
    add_box(file, "host_to_gpu", "copy_3d", (16, 508, 508), 512, 10.5)
    add_box(file, "host_to_gpu", "pack", (16, 508, 508), 512, 5.2)
    add_box(file, "host_to_gpu", "copy_3d", (768 * 4, 768, 3), 3072, 50.0)
    [panel] = made(tmp_path, "s", file).panels
    assert isinstance(panel, DotPanel)
    [row] = panel.rows
    assert (row.name, row.part) == ("host → GPU", "16 B × 508 × 508")
    assert [dot.name for dot in row.dots] == ["cudaMemcpy3D", "pack, copy, unpack"]
    assert [dot.value.value for dot in row.dots] == [pytest.approx(10.5), pytest.approx(5.2)]


def test_figure_s_has_what_a_gpu_fetches_and_no_submission(tmp_path):
    file = linked_file()
    add_box(file, "peer_to_gpu", "kernel_strided", (512, 8192, 1), 1024, 210.0)
    add_box(file, "gpu_to_peer", "copy_3d", (16, 508, 508), 512, 10.5)
    submission = add_box(file, "gpu_to_peer", "copy_3d", (8, 8, 8), 64, 1.0)
    submission["case"]["axes"]["timed"] = "submission"
    fetched, faces = made(tmp_path, "s", file).panels
    assert fetched.title == "peer → GPU"
    assert [row.part for row in faces.rows] == ["16 B × 508 × 508"]
    rows = table(tmp_path, "s", file)
    assert {row["site"] for row in only(rows, panel="peer → GPU", kind="peak")} == {"gpu=1 peer=0"}


def test_figure_p_a_curve_for_each_method_and_what_a_page_costs(tmp_path):
    file = linked_file()
    for method, each_s in (("one_by_one", 2.3e-6), ("batch", 0.8e-6), ("kernel", 0.05e-6)):
        for page in (256, 4 * KIB):
            add_pages(file, "gpu_to_peer", method, page, 256, each_s)
    add_pages(file, "gpu_to_peer", "batch", 4 * KIB, 64, 1e-9)
    # Other orders and numbers of blocks are other questions.
    for page in (256, 4 * KIB):
        add_pages(file, "gpu_to_peer", "batch", page, 256, 1e-9, order="runs")
        add_pages(file, "gpu_to_peer", "kernel", page, 256, 1e-9, blocks=4)
    rows = table(tmp_path, "p", file)
    assert point(rows, series="one by one", x="256") == around(256, 256 / 2300)
    assert point(rows, series="cudaMemcpyBatchAsync", x="4096") == around(4096, 4096 / 800)
    assert point(rows, series="one kernel", x="256") == around(256, 256 / 50)
    assert {row["y"] for row in only(rows, kind="peak")} == {"394"}
    notes = made(tmp_path, "p", file).notes
    assert notes[1].startswith("Curves: 256 pages; from the first call")
    assert notes[2] == (
        "GPU → peer, a page of 256 B: one by one 2.3 µs, cudaMemcpyBatchAsync 800 ns, one kernel 50 ns."
    )


def test_figure_p_has_pages_that_a_neighbour_passes_on_beside_the_peak_of_the_link_to_the_host(tmp_path):
    file = linked_file()
    for page in (4 * KIB, 64 * KIB):
        add_pages(file, "host_to_gpu", "kernel", page, 1024, 1.6e-6)
        add_pages(file, "host_to_gpu", "relay", page, 1024, 0.8e-6)
        add_pages(file, "host_to_gpu", "relay", page, 1024, 0.1e-6, share=30)
        add_pages(file, "host_to_gpu", "relay", page, 1024, 0.1e-6, neighbours=3)
    rows = table(tmp_path, "p", file)
    assert point(rows, series="a kernel on each of several GPUs", x="4096") == around(4096, 4096 / 800)
    assert {row["y"] for row in only(rows, panel="host → GPU", kind="peak")} == {"55"}


def test_figure_p_maps_the_fastest_method_and_marks_ties(tmp_path):
    file = linked_file()
    for pages, kernel_s in ((16, 3e-6), (4096, 1e-7)):
        add_pages(file, "host_to_gpu", "batch", 4 * KIB, pages, 1e-6)
        add_pages(file, "host_to_gpu", "kernel", 4 * KIB, pages, kernel_s)
    add_pages(file, "host_to_gpu", "batch", 64 * KIB, 16, 1.5e-6)
    add_pages(file, "host_to_gpu", "graph", 64 * KIB, 16, 1.501e-6)
    # Faster, but of another question.
    add_pages(file, "host_to_gpu", "graph", 4 * KIB, 16, 1e-9, order="runs")
    panel = made(tmp_path, "p", file).panels[0]
    assert panel.title == "host → GPU, fastest method (GB/s)"
    assert (panel.names, panel.columns) == (("4 KiB", "64 KiB"), ("16", "4096"))
    assert [[cell.text for cell in row] for row in panel.cells] == [
        ["batch\n4.1", "kernel\n41"],
        ["≈ batch\n43.7", ""],
    ]
    rows = only(table(tmp_path, "p", file), kind="cell")
    assert [(row["series"], row["x"], row["note"]) for row in rows] == [
        ("4 KiB", "16", "cudaMemcpyBatchAsync; not measured here: graph of copies"),
        ("4 KiB", "4096", "one kernel; not measured here: graph of copies"),
        ("64 KiB", "16", "cudaMemcpyBatchAsync; as fast within the uncertainty: graph of copies"),
        ("64 KiB", "4096", ""),
    ]


def test_figure_p_says_where_no_other_method_was_measured(tmp_path):
    file = linked_file()
    add_pages(file, "host_to_gpu", "batch", 4 * KIB, 16, 1e-6)
    for method, time_s in (("batch", 1e-6), ("kernel", 3e-6)):
        add_pages(file, "host_to_gpu", method, 64 * KIB, 16, time_s)
    figure = made(tmp_path, "p", file)
    assert [cell.text.split("\n")[0] for row in figure.panels[0].cells for cell in row] == [
        "only batch", "batch",
    ]  # fmt: skip
    assert "as fast within the uncertainty; only: no other was measured. " in figure.notes[0]
    first, _ = only(table(tmp_path, "p", file), kind="cell")
    assert first["note"] == "cudaMemcpyBatchAsync; the only method measured"


def test_figure_t_a_row_for_each_call_and_size(tmp_path):
    file = linked_file()
    add_call(file, "malloc", 162e-6, bytes_=64 * MIB)
    add_call(file, "malloc", 1.2e-6, bytes_=4 * KIB)
    add_call(file, "launch", 2.5e-6, 128)
    add_call(file, "graph_launch", 1e-6, 16, nodes=1)
    add_call(file, "host_register", 1.4e-3, pages="transparent_huge", bytes_=64 * MIB)
    add_call(file, "host_register", 2.4e-3, pages="4KiB", bytes_=64 * MIB)
    add_call(file, "something_new", 5e-6)
    [panel] = made(tmp_path, "t", file).panels
    assert [(row.name, row.part) for row in panel.rows] == [
        ("kernel launch", ""), ("cudaGraphLaunch", "1 node"), ("cudaMalloc", "4 KiB"),
        ("cudaMalloc", "64 MiB"), ("cudaHostRegister", "64 MiB"), ("cudaHostRegister", "64 MiB, huge"),
        ("something new", ""),
    ]  # fmt: skip
    [dot] = panel.rows[0].dots
    assert dot.value.value == pytest.approx(2.5e-6)
    assert dot.value.low < dot.value.value < dot.value.high
    rows = table(tmp_path, "t", file)
    [row] = only(rows, series="cudaMalloc", x="64 MiB")
    assert (row["kind"], row["y_unit"], float(row["y"])) == ("dot", "s", pytest.approx(162e-6))


def test_figure_t_tells_arguments_and_threads_apart(tmp_path):
    file = linked_file()
    add_call(file, "launch", 2.5e-6, 128)
    add_call(file, "launch_and_wait", 9e-6, 128)
    for size in (64, 1024):
        add_call(file, "launch_with_arguments", 2.6e-6, 128, arguments=size)
    for threads in (2, 8):
        add_call(file, "launch_by_threads", 3e-6 * threads, 128, threads=threads)
    add_call(file, "graph_launch_copies", 1e-6, 16, nodes=16)
    [panel] = made(tmp_path, "t", file).panels
    assert [(row.name, row.part) for row in panel.rows] == [
        ("kernel launch", ""), ("kernel launch", "64 B of arguments"),
        ("kernel launch", "1 KiB of arguments"), ("kernel launch", "2 threads"),
        ("kernel launch", "8 threads"), ("launch and wait", ""), ("cudaGraphLaunch, copies", "16 nodes"),
    ]  # fmt: skip
    assert all(len(row.dots) == 1 for row in panel.rows)


def test_figure_t_of_many_sizes_draws_the_usual_ones_and_says_so(tmp_path):
    file = linked_file()
    for power in range(12, 31):
        add_call(file, "malloc", 1e-6 * (power - 11), bytes_=1 << power)
    shown = made(tmp_path, "t", file)
    assert [row.part for row in shown.panels[0].rows] == ["4 KiB", "1 MiB", "64 MiB", "1 GiB"]
    assert "15 more sizes are not drawn; `grainscope-report list` shows them." in shown.notes


def test_figure_n_what_a_copy_and_its_partner_keep(tmp_path):
    file = linked_file()
    add_beside(file, "opposite_copy", "host_to_gpu", "kernel_copy", 0.44, 0.81)
    add_beside(file, "beside_compute", "gpu_to_host", "copy_engine", 1.0, 0.5)
    rows = table(tmp_path, "n", file)
    first, partner = only(rows, panel="host → GPU", kind="dot")
    assert (first["series"], first["x"]) == ("beside a copy the other way", "kernel copy")
    assert float(first["y"]) == pytest.approx(44)
    assert float(first["y_low"]) < 44 < float(first["y_high"])
    assert float(partner["y"]) == pytest.approx(81)
    assert partner["note"] == "what runs beside; partner"
    copy, compute = only(rows, panel="GPU → host", kind="dot")
    assert (float(copy["y"]), float(compute["y"])) == (pytest.approx(100), pytest.approx(50))
    notes = made(tmp_path, "n", file).notes
    assert "host → GPU, kernel copy beside a copy the other way: 44 % [44, 44] are kept." in notes
    assert not any("computing" in note for note in notes)


def test_figure_n_tells_copies_in_bulk_and_by_few_blocks_apart(tmp_path):
    file = linked_file()
    bulk = {"load": "bulk", "chunk": 6144, "stages": 32}
    add_beside(file, "beside_compute", "host_to_gpu", "kernel_copy", 0.9, 0.5)
    add_beside(file, "beside_compute", "host_to_gpu", "kernel_copy", 0.8, 0.6, blocks=2)
    add_beside(file, "beside_compute", "host_to_gpu", "kernel_copy", 0.7, 0.7, blocks=2, **bulk)
    rows = only(table(tmp_path, "n", file), kind="dot", note="kernel copy")
    assert [(row["x"], float(row["y"])) for row in rows] == [
        ("kernel copy", pytest.approx(90)),
        ("kernel copy, 2 blocks", pytest.approx(80)),
        ("kernel copy in bulk, 2 blocks", pytest.approx(70)),
    ]


def test_figure_n_names_partners_that_waited(tmp_path):
    file = linked_file()
    add_beside(file, "beside_compute", "host_to_gpu", "kernel_copy", 1.0, 0.1)
    add_beside(file, "beside_compute", "host_to_gpu", "copy_engine", 1.0, 0.9)
    waited = [note for note in made(tmp_path, "n", file).notes if "mostly waited" in note]
    assert waited == [
        "The partner mostly waited until the copy had ended: "
        "host → GPU, kernel copy beside a computing kernel."
    ]


def test_figure_n_streams_are_held_together_against_the_fastest_alone(tmp_path):
    file = linked_file()
    for count, kept in ((1, 1.0), (4, 0.9)):
        add_streams(file, "host_to_gpu", count, kept)
    rows = only(table(tmp_path, "n", file), kind="dot")
    [row] = rows  # one stream has no neighbour
    assert (row["series"], row["x"]) == ("streams, same way", "4 streams")
    assert float(row["y"]) == pytest.approx(90)


def test_figure_n_a_partner_whose_time_varies_is_hollow(tmp_path):
    file = linked_file()
    row = add_beside(file, "opposite_copy", "host_to_gpu", "kernel_copy", 0.44, 0.81)
    lane = row["lanes"][1]
    lane["within_s"] = [lane["median_s"] * 0.9, lane["median_s"] * 1.1]
    [panel] = made(tmp_path, "n", file).panels
    copy, partner = panel.rows[0].dots
    assert not copy.flags
    assert partner.flags == {"wide_interval"}


def test_figure_n_without_the_rate_alone_has_nothing_to_say(tmp_path):
    file = linked_file()
    row = add_beside(file, "opposite_copy", "host_to_gpu", "kernel_copy", 0.44, 0.81)
    for lane in row["lanes"]:
        lane.pop("alone_gb_s")
        lane.pop("alone_s")
    assert made(tmp_path, "n", file).rows == ()


def test_figure_m_all_together_and_each_copy(tmp_path):
    file = linked_file()
    ends = [("gpu:0", "gpu:1"), ("gpu:1", "gpu:0")]
    add_together(file, "all_pairs", "copy_engine", ends, 390.0, {})
    rows = table(tmp_path, "m", file)
    [bar] = only(rows, panel="among the GPUs", kind="bar")
    assert (bar["series"], bar["x"]) == ("copy engine", "all pairs")
    assert float(bar["y"]) == pytest.approx(2 * 390 / 1.01)
    lanes = only(rows, panel="among the GPUs, each copy", kind="lane")
    assert [row["note"] for row in lanes] == [
        "gpu:0_gpu:1, gpu:0 → gpu:1", "gpu:1_gpu:0, gpu:1 → gpu:0",
    ]  # fmt: skip
    assert [float(row["y"]) for row in lanes] == [pytest.approx(390), pytest.approx(390 / 1.01)]
    [peak] = only(rows, kind="peak")
    assert (peak["y"], peak["site"]) == ("394", "gpu=0 peer=1")
    assert only(rows, x="host → all GPUs") == []


def test_figure_m_has_both_ways_with_the_host_and_what_is_fetched(tmp_path):
    file = linked_file()
    both = [("host:0", "gpu:0"), ("gpu:0", "host:0")]
    add_together(file, "all_host_duplex", "copy_engine", both, 50.0, {"numa": 0})
    add_together(file, "one_from_all", "kernel_copy", [("gpu:1", "gpu:0")], 380.0, {"gpu": 0})
    bars = only(table(tmp_path, "m", file), kind="bar")
    assert {row["x"] for row in bars} == {"both at once", "one fetches of all others"}


def test_figure_m_of_several_roots_draws_the_first_and_says_so(tmp_path):
    file = linked_file()
    for root, gb_s in ((1, 100.0), (0, 390.0)):
        ends = [(f"gpu:{root}", f"gpu:{1 - root}")]
        add_together(file, "one_to_all", "copy_engine", ends, gb_s, {"gpu": root})
    shown = made(tmp_path, "m", file)
    assert shown.panels[0].series[0].bars[0].value.value == pytest.approx(390 / 1.01)
    assert "Of several nodes or roots the first is drawn; `grainscope-report list` shows all." in shown.notes


TO_BOTH = [("host:0", "gpu:0"), ("host:0", "gpu:1")]
FROM_BOTH = [(gpu, host) for host, gpu in TO_BOTH]


def test_figure_m_of_several_sizes_draws_the_largest_that_all_machines_have(tmp_path):
    """What a pattern lacks of it has no bar, and the sizes of both columns are said."""
    one, other = linked_file(), linked_file()
    for file, sizes in ((one, (MIB, 64 * MIB, 512 * MIB)), (other, (MIB, 64 * MIB))):
        for size in sizes:
            add_together(file, "host_to_all", "copy_engine", TO_BOTH, 40.0 + size / GIB, {"numa": 0}, size)
        add_together(file, "all_to_host", "copy_engine", FROM_BOTH, 50.0, {"numa": 0}, MIB)
        add_together(file, "ring", "copy_engine", [("gpu:0", "gpu:1")], 390.0, {}, 256 * MIB)
    alone = made(tmp_path, "m", one)
    assert alone.notes[0].startswith(
        "2 GPUs, 512 MiB (host and all GPUs) and 256 MiB (among the GPUs) a copy. All together: "
    )
    [to, back] = alone.panels[0].series[0].bars
    assert to.value.value == pytest.approx(2 * 40.5 / 1.01)
    assert back.value is None
    both = made(tmp_path, "m", one, other)
    assert "64 MiB (host and all GPUs)" in both.notes[0]
    rates = [series.bars[0].value.value for series in both.panels[0].series]
    assert rates == [pytest.approx(2 * 40.0625 / 1.01)] * 2


def test_figure_m_says_where_copies_share_the_links_of_one_gpu(tmp_path):
    shared, apart = linked_file(), linked_file()
    pairs = [("gpu:0", "gpu:1"), ("gpu:0", "gpu:2")]
    add_together(shared, "one_to_all", "copy_engine", pairs, 195.0, {"gpu": 0})
    add_together(apart, "ring", "copy_engine", [("gpu:0", "gpu:1"), ("gpu:1", "gpu:0")], 390.0, {})
    assert [contention.SHARED in made(tmp_path, "m", file).notes for file in (shared, apart)] == [True, False]


def planted(letter: str) -> tuple[File, dict]:
    """A file with one row for a figure, and that row."""
    file = linked_file()
    rows = {
        "m": lambda: add_together(file, "ring", "copy_engine", [("gpu:0", "gpu:1")], 390.0, {}),
        "n": lambda: add_beside(file, "opposite_copy", "host_to_gpu", "copy_engine", 0.9, 0.9),
        "p": lambda: add_pages(file, "local", "graph", 256, 256, 1e-6),
        "s": lambda: add_box(file, "local", "pack", (512, 8192, 1), 1024, 300.0),
        "t": lambda: add_call(file, "launch", 2.5e-6, 128),
    }
    return file, rows[letter]()


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("fault", ["failed", "skipped", "modelled"])
def test_rows_that_were_not_measured_are_no_data(tmp_path, letter, fault):
    file, row = planted(letter)
    assert made(tmp_path, letter, file).rows
    if fault == "modelled":
        row["label"] = "modelled"
        why = "the 1 ok row there answers other questions"
    else:
        row |= {"status": fault, "reason": "this is the reason"}
        why = f"{fault}, this is the reason"
    assert made(tmp_path, letter, file).rows == ()
    shown = machines([read(file.write(tmp_path / "result.json"))])
    entry = ENTRIES[letter]
    assert why_absent(entry, shown) == f"figure {letter}: no rows of {entry.families[0]}: {why}"


@pytest.mark.parametrize("letter", LETTERS)
def test_what_is_left_out_is_named_beside_what_is_drawn(tmp_path, letter):
    file, row = planted(letter)
    lost = {**row, "status": "skipped", "reason": "needs another GPU"}
    file.rows.append({key: lost[key] for key in lost if key not in ("visits", "middle", "median_s")})
    assert "Not drawn: 1 skipped row: needs another GPU." in made(tmp_path, letter, file).notes


@pytest.mark.parametrize("letter", LETTERS)
def test_a_model_is_not_drawn_beside_what_was_measured(tmp_path, letter):
    file, row = planted(letter)
    before = table(tmp_path, letter, file)
    other = copy.deepcopy(row) | {"label": "modelled", "name": "another"}
    axes = other["case"]["axes"]
    axes |= {"what": "event_record"} if letter == "t" else {"method": "kernel_copy"}
    if letter in ("p", "s"):
        axes["method"] = {"p": "batch", "s": "copy_2d"}[letter]
    file.rows.append(other)
    assert table(tmp_path, letter, file) == before
    other["label"] = "measured"
    assert table(tmp_path, letter, file) != before


def test_figure_14_methods_roofs_and_multiprocessors(tmp_path):
    file = linked_file()
    for grain in (32, 128, 64 * KIB, MIB):
        add_piece(file, SITE, "host_to_gpu", "copy_engine", grain, 54.0, 2e-6, 1.0)
        add_piece(file, SITE, "host_to_gpu", "zero_copy_random", grain, 50.0, 1.2e-6, 450.0)
    add_saturation(file, SITE, "read", 4, 32, 50.0)
    add_saturation(file, SITE, "read", 16, 16, 50.0)
    rows = table(tmp_path, "14", file)
    copies = only(rows, panel="host → GPU", kind="point", series="a copy a piece")
    assert [float(row["y"]) for row in copies] == [
        pytest.approx(one) for one in (32 / 2e3, 128 / 2e3, 65536 / 2e3, 54.0)
    ]
    # 450 requests of 32 B in 1.2 µs are 12 GB/s; from 128 B on the count no longer rises: 48 GB/s.
    roof = only(rows, kind="roof", series="zero-copy, at random")
    assert [(row["x"], float(row["y"])) for row in roof] == [
        ("32", pytest.approx(12)), ("128", pytest.approx(48)), (str(MIB), pytest.approx(48)),
    ]  # fmt: skip
    # The roof of copies, a piece each 2 µs, ends where it meets the copy peak of 55 GB/s: at 110 kB.
    roof = only(rows, kind="roof", series="a copy a piece")
    assert [(float(row["x"]), float(row["y"])) for row in roof] == [
        (32, pytest.approx(0.016)), (pytest.approx(110e3), pytest.approx(55)),
    ]  # fmt: skip
    flight = only(rows, y_unit="requests", kind="point")
    assert [float(row["y"]) for row in flight] == [pytest.approx(450)] * 4
    bars = {row["x"]: row["y"] for row in only(rows, kind="bar")}
    assert bars == {"read 4 B a lane": "32", "read 16 B a lane": "16"}
    notes = " ".join(made(tmp_path, "14", file).notes)
    assert "read of 4 B a lane 32 of 132 (49.2 of 50.0 GB/s)" in notes
    assert "zero-copy, at random: 450 in flight, 1.2 µs each" in notes


def test_figure_14_says_of_how_many_multiprocessors_once_for_several_machines(tmp_path):
    files = []
    for host, sms in (("node-a", 6), ("node-b", 5)):
        file = gpu_file(host=host)
        add_piece(file, SITE, "host_to_gpu", "copy_engine", MIB, 54.0, 2e-6, 1.0)
        add_saturation(file, SITE, "read", 4, sms, 50.0)
        files.append(file)
    *_, panel = made(tmp_path, "14", *files).panels
    assert panel.y_label == "multiprocessors (of 132)"
    assert [bar.text for series in panel.series for bar in series.bars] == ["A\n6", "B\n5"]
    *_, panel = made(tmp_path, "14", files[0]).panels
    assert panel.y_label == "multiprocessors"
    assert [bar.text for series in panel.series for bar in series.bars] == ["6\nof 132"]


def test_figure_14_says_what_was_useful_and_what_moved_on_demand(tmp_path):
    file = linked_file()
    for grain in (32, 64 * KIB, MIB):
        add_piece(file, SITE, "host_to_gpu", "managed_demand", grain, 8.0, 8e-6, 1.0)
    rows = table(tmp_path, "14", file)
    useful = only(rows, kind="point", series="managed, demand")
    assert [float(row["y"]) for row in useful] == [
        pytest.approx(0.004), pytest.approx(8.0), pytest.approx(8.0),
    ]  # fmt: skip
    moved = only(rows, kind="point", series="pages that moved on demand")
    assert [float(row["y"]) for row in moved] == [
        pytest.approx(64 * KIB / 8e3, rel=1e-3), pytest.approx(8.0), pytest.approx(8.0),
    ]  # fmt: skip
    shown = made(tmp_path, "14", file)
    assert {curve.name: curve.dash for curve in shown.panels[0].curves} == {
        "managed, demand": "solid", "pages that moved on demand": "dashed",
    }  # fmt: skip
    notes = " ".join(shown.notes)
    assert "of 32 B each 64 KiB moved, 2048 times what was useful" in notes
    assert "At best, host → GPU: managed, demand, a piece every 8 µs." in notes
    assert shown.panels[0].roofs == ()


def test_figure_14_draws_no_pages_where_nobody_counted_them(tmp_path):
    file = linked_file()
    add_piece(file, SITE, "host_to_gpu", "managed_demand", 4096, 8.0, 8e-6, 1.0)
    file.rows[0].pop("link_bytes_least")
    shown = made(tmp_path, "14", file)
    assert [curve.name for curve in shown.panels[0].curves] == ["managed, demand"]
    assert not any("2 MiB" in note for note in shown.notes)


def test_figure_14_names_methods_in_the_order_in_which_they_lie(show):
    [left, right] = figure(ENTRIES["14"], show("linked")).rows[0]
    assert [curve.name for curve in left.curves] == [
        "zero-copy, in order", "zero-copy, at random", "batch of copies", "pages that moved on demand",
        "graph of copies", "a copy a piece", "a copy a piece, pageable", "managed, demand",
        "managed, prefetch",
    ]  # fmt: skip
    assert [curve.name for curve in right.curves][:2] == ["kernel writes, at random", "batch of copies"]


def test_figure_14_leaves_out_rows_that_failed_or_were_skipped(tmp_path):
    file = linked_file()
    for method in ("batch", "graph", "managed_demand"):
        add_piece(file, SITE, "host_to_gpu", method, 4096, 8.0, 8e-6, 1.0)
    file.rows[0] |= {"status": "failed", "reason": "the copy came back wrong"}
    file.rows[1] |= {"status": "skipped", "reason": "needs CUDA 12.8"}
    shown = made(tmp_path, "14", file)
    assert {curve.method for curve in shown.panels[0].curves} == {"managed_demand"}
    assert "Not drawn: 1 failed row: the copy came back wrong." in shown.notes
    assert "Not drawn: 1 skipped row: needs CUDA 12.8." in shown.notes


def test_figure_14_takes_the_largest_total_of_a_grain(tmp_path):
    file = linked_file()
    for total, gb_s in ((MIB, 10.0), (64 * MIB, 40.0)):
        axes = {"method": "batch", "path": "host_to_gpu", "grain": 4096, "bytes": total, "locality": "local"}
        file.add("grain/pieces", axes, SITE, total / gb_s / 1e9)
    assert point(table(tmp_path, "14", file), kind="point", series="batch of copies") == around(4096, 40)
