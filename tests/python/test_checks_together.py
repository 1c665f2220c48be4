"""Contradictions of rows of things at once and between GPUs, planted one by one."""

import pytest

import synthetic_links
from planted import contradictions, departures, faults_of, linked_file
from synthetic import MIB, File, times

SITE = {"gpu": 0, "numa": 0}
ROW = "$.benchmarks[0]."


def lane(name: str, source: str, target: str, seconds: float = 2e-3, size: int = 64 * MIB, **more) -> dict:
    return {"name": name, "bytes": size, "from": source, "to": target, "seconds": seconds, **more}


def duplex() -> File:
    """A right row: 64 MiB each way in 2 ms, the lane to the host a little later."""
    file = linked_file()
    axes = {"between": "host_gpu", "method": "pinned", "bytes": 64 * MIB, "locality": "local"}
    lanes = [lane("to_gpu", "host:0", "gpu:0"), lane("to_host", "gpu:0", "host:0", 2.02e-3)]
    file.together("transfer/duplex", axes, SITE, lanes, overlap=0.97, median_s=2.05e-3)
    return file


def put(index: int, **values):
    """A fault: these fields of a lane."""
    return lambda row: row["lanes"][index].update(values)


def timed(row: dict, factor: float) -> None:
    """The same row in another time, its lanes as they were."""
    row |= times([one * factor for one in row["visits"][0]["samples_s"]])
    row["bandwidth_gb_s"] = row["bytes"] / row["median_s"] / 1e9
    row["link_fraction"] /= factor


def rushed(row: dict) -> None:
    """Everything three times as fast: above what both links can do."""
    timed(row, 1 / 3)
    for one in row["lanes"]:
        one["median_s"] /= 3
        one["within_s"] = [end / 3 for end in one["within_s"]]
        one["bandwidth_gb_s"] *= 3


def one_way(row: dict) -> None:
    """Half of the row is gone."""
    del row["lanes"][1]
    row["bytes"] //= 2
    row["bandwidth_gb_s"] /= 2
    row["link_fraction"] = row["bandwidth_gb_s"] / 55.0
    del row["overlap"]


def same_way(row: dict) -> None:
    row["lanes"][1] |= {"from": "host:0", "to": "gpu:0"}
    row["link_fraction"] = row["bandwidth_gb_s"] / 55.0


FAULTS = [
    (put(0, bandwidth_gb_s=40.0), "lanes[0].bandwidth_gb_s", "bytes / median_s / 1e9 is 33.55"),
    (lambda row: row["lanes"][0].pop("bandwidth_gb_s"), "lanes[0].bandwidth_gb_s", "is missing though"),
    (put(0, within_s=[2.1e-3, 2.2e-3]), "lanes[0].within_s", "does not contain median_s"),
    (put(0, **{"from": "node 0"}), "lanes[0].from", "not like `host:0`"),
    (put(0, alone_s=1e-3, alone_gb_s=1.0), "lanes[0].alone_gb_s", "bytes / alone_s / 1e9 is 67.1"),
    (lambda row: row.update(flags=["slower_alone"]), "flags: ", "no lane took longer alone"),
    (put(1, name="to_gpu"), "lanes: ", "two lanes of one name"),
    (one_way, "lanes: ", "has no lane to_host: one of the two directions is not there"),
    (same_way, "lanes[1].from", "to gpu:0 is host:0, not gpu:0 to host:0"),
    (same_way, "lanes: ", "to_gpu and to_host go the same way"),
    (lambda row: row.pop("lanes"), "lanes: ", "is missing though the row is about both directions"),
    (lambda row: row.pop("overlap"), "overlap: ", "is missing though the row has several lanes"),
    (lambda row: timed(row, 0.9), "lanes[1].median_s", "is 0.00202, but its row took only 0.001845"),
    (lambda row: timed(row, 2.0), "overlap: ", "but the shortest lane ran 0.495 of the time at most"),
    (put(0, background=True), "lanes[0].background", "the measured lane comes first"),
    (put(0, background=True), "bytes: ", "its measured lanes have 67108864 together"),
    (lambda row: row.update(link_fraction=0.6), "link_fraction: ", "its rate over the copy peak is 0.589"),
    (rushed, "lanes[0].bandwidth_gb_s", "above the link's theoretical 63: the row must be failed"),
    (rushed, "bandwidth_gb_s: ", "is 196.4, above the sum of its links' limits, 126"),
]


def test_a_right_row_of_two_lanes_passes():
    assert faults_of(duplex()) == []


@pytest.mark.parametrize(("spoil", "field", "message"), FAULTS, ids=[f"{a} {b}" for _, a, b in FAULTS])
def test_a_fault_of_lanes_is_found(spoil, field, message):
    found = faults_of(duplex(), spoil)
    assert any(one.startswith(ROW + field) and message in one for one in found), found


@pytest.mark.parametrize(("overlap", "said"), [(1.2, "at most 1"), (-0.1, "must be at least 0")])
def test_an_overlap_is_a_share(overlap, said):
    document = duplex().document()
    document["benchmarks"][0]["overlap"] = overlap
    [problem] = departures(document)
    assert said in str(problem)


def test_a_lane_of_few_samples_has_no_interval():
    assert faults_of(duplex(), lambda row: row["lanes"][0].pop("within_s")) == []


def test_a_lane_that_moved_nothing_is_named():
    def spoil(row: dict) -> None:
        row["lanes"][1]["bytes"] = 0
        del row["lanes"][1]["bandwidth_gb_s"]

    assert any("this direction moved nothing" in one for one in faults_of(duplex(), spoil))


def test_a_lane_that_took_longer_alone_may_be_flagged():
    file = duplex()
    slow_s = 1.5 * file.rows[0]["lanes"][0]["median_s"]
    size = file.rows[0]["lanes"][0]["bytes"]
    file.rows[0]["lanes"][0] |= {"alone_s": slow_s, "alone_gb_s": size / slow_s / 1e9}
    assert faults_of(file) == []
    file.rows[0]["flags"] = ["slower_alone"]
    assert faults_of(file) == []


def test_background_lanes_are_not_counted():
    file = linked_file()
    axes = {"what": "opposite_copy", "path": "host_to_gpu", "bytes": 64 * MIB, "locality": "local"}
    other = lane("other", "gpu:0", "host:0", 9e-3, 256 * MIB, background=True)
    measured = lane("measured", "host:0", "gpu:0", alone_s=1.25e-3, alone_gb_s=64 * MIB / 1.25e-3 / 1e9)
    file.together("contention", axes, SITE, [measured, other], overlap=1.0)
    assert faults_of(file) == []
    assert file.rows[0]["link_fraction"] == pytest.approx(file.rows[0]["bandwidth_gb_s"] / 55.0)
    both = file.rows[0]["bandwidth_gb_s"] / (55.0 + 56.0)
    [found] = faults_of(file, lambda row: row.update(link_fraction=both))
    assert "link_fraction" in found


def test_a_computing_lane_has_no_bytes_and_no_rate():
    file = linked_file()
    axes = {"what": "beside_compute", "path": "host_to_gpu", "bytes": 64 * MIB, "locality": "local"}
    work = {
        "name": "compute",
        "bytes": 0,
        "from": "gpu:0",
        "to": "gpu:0",
        "seconds": 2e-3,
        "background": True,
    }
    file.together("contention", axes, SITE, [lane("measured", "host:0", "gpu:0"), work], overlap=1.0)
    assert faults_of(file) == []
    assert any("the lane has no bytes" in one for one in faults_of(file, put(1, bandwidth_gb_s=1.0)))


def test_streams_on_one_link_share_its_peak():
    file = linked_file()
    axes = {"what": "streams", "streams": 2, "path": "host_to_gpu", "bytes": 64 * MIB, "locality": "local"}
    lanes = [lane(f"stream_{order}", "host:0", "gpu:0", 2.6e-3) for order in range(2)]
    file.together("contention", axes, SITE, lanes, overlap=0.99)
    assert file.rows[0]["link_fraction"] == pytest.approx(2 * 64 * MIB / 2.6e-3 / 1e9 / 55.0)
    assert faults_of(file) == []


def test_both_ways_between_gpus_are_held_against_both_peaks():
    file = linked_file()
    synthetic_links.add_gpu_duplex(file, 0, 1, 390.0)
    assert faults_of(file) == []
    row = file.rows[0]
    assert row["link_fraction"] == pytest.approx(row["bandwidth_gb_s"] / 786.0)


@pytest.mark.parametrize(("direction", "peak"), [("read", 392.0), ("write", 394.0)])
def test_a_peer_row_is_a_share_of_its_own_direction(direction, peak):
    file = linked_file()
    axes = {"method": "kernel_copy", "direction": direction, "access": "on", "bytes": MIB, "link": "nvlink"}
    row = file.add("transfer/peer", axes, {"gpu": 0, "peer": 1}, 4e-6)
    row["link_fraction"] = row["bandwidth_gb_s"] / peak
    assert faults_of(file) == []
    row["link_fraction"] *= 1.001
    assert "link_fraction" in faults_of(file)[0]


LINKS = [
    ({"numa": 0}, "numa", "a link has one other end"),
    ({"peer": 0}, "peer", "is the GPU itself"),
    ({"peak_gb_s": 460.0, "within_gb_s": [459, 461]}, "peak_gb_s", "above the link's theoretical"),
]


@pytest.mark.parametrize(("fault", "field", "message"), LINKS)
def test_links_between_gpus_agree_with_themselves(fault, field, message):
    document = linked_file().document()
    document["context"]["links"][2].update(fault)
    found = [str(one) for one in contradictions(document)]
    assert any(one.startswith(f"$.context.links[2].{field}") and message in one for one in found)


def test_a_link_needs_a_node_or_a_peer():
    document = linked_file().document()
    del document["context"]["links"][0]["numa"]
    document["context"]["links"][2]["direction"] = "host_to_gpu"
    found = [str(one) for one in departures(document)]
    assert found[0] == "$.context.links[0].numa: is missing"
    assert 'must be "to_peer"' in found[1]
