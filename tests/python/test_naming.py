"""What cases are called, and which ends a case joins."""

import pytest

from grainscope_report import machine, naming, reader
from grainscope_report.model import Case
from planted import linked_file

PEER = {"gpu": 0, "peer": 1}
HOST = {"gpu": 1, "numa": 0}
ENDS = [
    ("transfer/peer", {"direction": "read"}, PEER, ("gpu:1", "gpu:0")),
    ("transfer/peer", {"direction": "write"}, PEER, ("gpu:0", "gpu:1")),
    ("transfer/peer", {"direction": "write", "access": "off"}, PEER | {"numa": 0}, ("gpu:0", "gpu:1")),
    ("shape/copy", {"path": "gpu_to_peer"}, PEER, ("gpu:0", "gpu:1")),
    ("shape/copy", {"path": "peer_to_gpu"}, PEER, ("gpu:1", "gpu:0")),
    ("shape/copy", {"path": "local"}, {"gpu": 0}, None),
    ("reach/gather", {"memory": "peer"}, PEER, ("gpu:1", "gpu:0")),
    ("reach/gather", {"memory": "hugetlb"}, HOST, ("host:0", "gpu:1")),
    ("latency/chase", {"to": "peer_memory"}, PEER, ("gpu:1", "gpu:0")),
    ("latency/chase", {"to": "own_memory"}, {"gpu": 0}, None),
    ("transfer/kernel_copy", {"path": "gpu_to_pinned"}, HOST, ("gpu:1", "host:0")),
    ("grain/pieces", {"path": "host_to_gpu"}, HOST, ("host:0", "gpu:1")),
    ("grain/saturation", {"direction": "write"}, HOST, ("gpu:1", "host:0")),
    ("transfer/duplex", {"between": "gpu_gpu"}, PEER, None),
    ("transfer/duplex", {"between": "gpu_gpu", "direction": "read"}, PEER, None),
    ("transfer/duplex", {"between": "host_gpu"}, HOST, None),
]


@pytest.mark.parametrize(("family", "axes", "site", "ends"), ENDS)
def test_a_case_knows_its_ends(family, axes, site, ends):
    assert Case(family, axes, site).ends == ends


PLACES = [
    ({"locality": "remote"}, "remote"),
    ({"link": "nvlink"}, "nvlink"),
    ({"link": "unknown"}, "link unknown"),
    ({"link": "nvlink", "locality": "local"}, "local"),
    ({}, "unknown"),
]


@pytest.mark.parametrize(("axes", "place"), PLACES)
def test_what_stands_between_the_ends(axes, place):
    assert Case("transfer/peer", axes, PEER).place == place


def test_names_say_the_link_and_keep_quiet_about_the_usual(tmp_path):
    file = linked_file()
    axes = {"method": "copy_engine", "direction": "read", "access": "on", "bytes": 1 << 20, "link": "pcie"}
    file.add("transfer/peer", axes, PEER, 1e-4)
    off = axes | {"access": "off", "locality": "local"}
    file.add("transfer/peer", off, PEER | {"numa": 0}, 1e-4)
    file.add("transfer/local", {"method": "copy_engine", "bytes": 1 << 20}, {"gpu": 0}, 1e-4)
    rows = reader.read(file.write(tmp_path / "result.json")).rows
    assert [naming.name(row) for row in rows] == [
        "copy_engine read, over PCIe",
        "copy_engine read peer access off",
        "copy_engine",
    ]


BETWEEN = [
    ({"virtual_machine": True, "hypervisor": "kvm"}, None, "In a virtual machine (kvm): whether the host's"),
    ({"virtual_machine": False, "iommu_units": []}, None, "On bare metal; no IOMMU shows."),
    ({"virtual_machine": False}, "identity", "On bare metal; the IOMMU lets the GPUs' addresses through"),
    ({"virtual_machine": False}, "DMA", "On bare metal; an IOMMU translates the GPUs' addresses (DMA)."),
    ({}, None, "Whether this is a virtual machine is unknown; whether an IOMMU translates is unknown."),
]


@pytest.mark.parametrize(("kernel", "iommu", "said"), BETWEEN)
def test_what_stands_between_gpus_and_memory(tmp_path, kernel, iommu, said):
    file = linked_file()
    file.context["environment"] |= {"kernel": kernel, "gpus": [{"name": "H200", "iommu": iommu}]}
    told = machine.between(reader.read(file.write(tmp_path / "result.json")))
    assert told.startswith(said)
    assert told.endswith(".")


def test_lanes_overlap_and_links_are_read(files):
    result = reader.read(files["linked"])
    row = result.of("transfer/duplex")[0]
    assert [(lane.name, lane.source, lane.target) for lane in row.lanes] == [
        ("to_gpu", "host:0", "gpu:0"),
        ("to_host", "gpu:0", "host:0"),
    ]
    assert row.overlap == 0.97
    assert not row.lanes[0].background
    assert row.lanes[0].alone_gb_s is None
    assert result.link(("gpu:1", "gpu:0")).negotiated == "NVLink ×18"
    assert result.link(("host:0", "gpu:0")).negotiated == "PCIe 5 ×16"
    assert result.link(("host:1", "gpu:0")) is None


def test_only_axes_of_bytes_are_said_in_bytes():
    assert naming.number("span", 4 << 30) == "span 4 GiB"
    assert naming.number("batch", 8000) == "batch 8000"
    assert naming.size("row", 512) == "512 B"
