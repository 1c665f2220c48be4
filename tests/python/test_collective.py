"""Rows of collective operations: what their numbers must agree in, and how they are read."""

import pytest

from planted import faults_of, gpu_file
from synthetic import MIB, File

ROW = "$.benchmarks[0]."
# Bus bandwidth over algorithm bandwidth, and what a rank must take in or give away, of eight ranks.
KINDS = {
    "all_reduce": (1.75, 1.0),
    "all_gather": (0.875, 0.875),
    "reduce_scatter": (0.875, 0.875),
    "broadcast": (1.0, 1.0),
    "all_to_all": (0.875, 0.875),
    "send_receive": (1.0, 1.0),
}


def collective(kind: str, size: int = 256 * MIB, gb_s: float = 100.0) -> File:
    file = gpu_file()
    bus, least = KINDS[kind]
    axes = {"place": "out", "timed": "loop", "processes": "one", "type": "uint32", "registered": "off"}
    axes |= {"gpus": 8, "bytes": size, "link": "nvlink"}
    row = file.add(
        f"collective/{kind}", axes, {"gpu": 0}, size / gb_s / 1e9, link_bytes_least=int(size * least)
    )
    row["counters"] = {
        "bus_bandwidth_gb_s": row["bandwidth_gb_s"] * bus,
        "link_gb_s": row["link_bytes_least"] / row["median_s"] / 1e9,
        "launches": 20,
    }
    row["library"] = {"name": "NCCL", "version": "2.28.9", "path": "/usr/lib/libnccl.so.2", "hosts": 1}
    return file


@pytest.mark.parametrize("kind", KINDS)
def test_bus_bandwidth_is_by_the_factors_of_nccl_tests(kind):
    file = collective(kind)
    assert faults_of(file) == []
    found = faults_of(file, lambda row: row["counters"].update(bus_bandwidth_gb_s=99.0))
    assert any(one.startswith(f"{ROW}counters.bus_bandwidth_gb_s:") for one in found), found


@pytest.mark.parametrize("kind", KINDS)
def test_no_fewer_bytes_cross_a_link_than_others_need(kind):
    found = faults_of(collective(kind), lambda row: row.update(link_bytes_least=row["link_bytes_least"] // 2))
    assert any(one.startswith(f"{ROW}link_bytes_least:") for one in found), found


def test_a_row_is_of_no_more_bytes_than_its_axis():
    found = faults_of(collective("all_reduce"), lambda row: row["case"]["axes"].update(bytes=1024))
    assert any("more than the 1024 bytes asked for" in one for one in found), found
