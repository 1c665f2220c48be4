"""Contradictions of gathers, grains and boxes, planted one by one."""

import pytest

from planted import SITE, faults_of, linked_file
from synthetic import File
from synthetic_links import add_gather, add_piece, add_saturation

ROW = "$.benchmarks[0]."


def gathered() -> File:
    file = linked_file()
    axes = {
        "memory": "host_alloc", "order": "sorted", "row": 128, "rows": 1 << 20, "span": 1 << 28,
        "locality": "local",
    }  # fmt: skip
    add_gather(file, axes, SITE, 2.5e-3, 800_000)
    return file


GATHER_FAULTS = [
    (
        lambda row: row.update(link_bytes_least=row["bytes"] + 1),
        "link_bytes_least",
        "more than the 134217728 bytes",
    ),
    (lambda row: row["counters"].update(unique_rows=900_000), "counters.unique_bytes", " is 115200000"),
    (lambda row: row["counters"].update(unique_gb_s=1.0), "counters.unique_gb_s", " is 40.96"),
    (lambda row: row["counters"].update(rows_per_granule=16), "counters.rows_per_granule", " is 256"),
    (
        lambda row: row.update(link_bytes_least=row["bytes"]),
        "link_bytes_least",
        "counters.unique_bytes is 102400000",
    ),
    (
        lambda row: row["case"]["axes"].update(span=1 << 26),
        "counters.unique_rows",
        "span // row), which is 524288",
    ),
    (lambda row: row["case"]["axes"].update(row=256), "bytes", "row × rows is 268435456"),
    (lambda row: row.update(limit_gb_s=40.0), "status", "40.96 GB/s beats limit_gb_s"),
]


@pytest.mark.parametrize(("spoil", "field", "message"), GATHER_FAULTS, ids=[m for *_, m in GATHER_FAULTS])
def test_a_gather_agrees_with_its_counters(spoil, field, message):
    assert faults_of(gathered()) == []
    found = faults_of(gathered(), spoil)
    assert any(one.startswith(ROW + field) and message in one for one in found), found


def test_repeated_rows_may_beat_the_limit():
    file = gathered()
    file.rows[0]["limit_gb_s"] = 50.0
    assert file.rows[0]["bandwidth_gb_s"] > 50
    assert faults_of(file) == []


def test_requests_in_flight_are_rate_times_latency_over_size():
    file = linked_file()
    add_piece(file, SITE, "host_to_gpu", "zero_copy_random", 4096, 50.0, 1.2e-6, 460.0)
    assert faults_of(file) == []
    [found] = faults_of(file, lambda row: row["counters"].update(requests_in_flight=14.6))
    assert "rate × latency / bytes of a request is 460" in found


def test_requests_in_flight_of_gpu_memory_are_of_pieces_up_to_a_line():
    file = linked_file()
    add_piece(file, SITE, "host_to_gpu", "zero_copy_random", 64, 50.0, 1.2e-6, 937.5)
    case = file.rows[-1]["case"]
    case["family"], case["axes"] = "grain/gpu_memory", {"direction": "read", "memory": "own", "grain": 64}
    counted = [text for text in faults_of(file) if "latency" in text]
    assert counted == []
    found = faults_of(file, lambda row: row["counters"].update(requests_in_flight=469.0))
    assert any("rate × latency / bytes of a request is 937.5" in text for text in found)


MOVED_FAULTS = [
    (lambda row: row.update(link_bytes_least=row["link_bytes_least"] - 1), "no multiple of a page"),
    (lambda row: row.update(link_bytes_least=4096), "less than the 2097152 bytes"),
    (lambda row: row["counters"].update(moved_bytes=7), "link_bytes_least is"),
    (
        lambda row: row["counters"].update(moved_bytes_per_piece=32.0),
        "link_bytes_least / operations is 65536",
    ),
    (lambda row: row.update(limit_gb_s=7.0), "8.192 GB/s beats limit_gb_s"),
]


@pytest.mark.parametrize(("spoil", "message"), MOVED_FAULTS, ids=[message for _, message in MOVED_FAULTS])
def test_pieces_on_demand_move_whole_pages_and_no_less_than_was_useful(spoil, message):
    file = linked_file()
    add_piece(file, SITE, "host_to_gpu", "managed_demand", 32, 8.0, 8e-6, 1.0)
    assert faults_of(file) == []
    assert any(message in found for found in faults_of(file, spoil))


SMS = [
    ({"sms": 200}, "counters.sms", "the GPU has 132"),
    ({"saturated_gb_s": 46.0}, "counters.saturated_gb_s", "below counters.threshold × counters.full_gb_s"),
]


@pytest.mark.parametrize(("fault", "field", "message"), SMS)
def test_multiprocessors_that_fill_the_link(fault, field, message):
    file = linked_file()
    add_saturation(file, SITE, "read", 4, 32, 50.0)
    assert faults_of(file) == []
    [found] = faults_of(file, lambda row: row["counters"].update(fault))
    assert found.startswith(ROW + field)
    assert message in found


def test_a_box_has_the_bytes_of_its_sides():
    file = linked_file()
    axes = {
        "path": "host_to_gpu", "method": "copy_2d", "width": 256, "rows": 64, "planes": 4, "pitch": 512,
        "bytes": 65536, "locality": "local",
    }  # fmt: skip
    file.add("shape/copy", axes, SITE, 1e-5)
    assert faults_of(file) == []
    found = faults_of(file, lambda row: row["case"]["axes"].update(planes=2))
    assert "width × rows × planes is 32768" in found[0]
