"""What a run comes to: shares of links, overtaking, walls and what fills a link, in words and as JSON."""

import json

import pytest

from grainscope_report import reader
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.fits import everything
from grainscope_report.groups import grain, transfer, transfer_duplex
from grainscope_report.machine import machines
from planted import FAR, SITE, add_copy, linked_file, zero_copy
from synthetic import GIB, KIB, MIB, File
from synthetic_links import add_gather, add_latency, add_pair

SIZES = [4 * KIB << step for step in range(0, 19, 2)]


def read(tmp_path, file: File):
    return machines([reader.read(file.write(tmp_path / "result.json"))])[0]


def copies(
    file: File, path: str, latency_s: float, gb_s: float, *, site=SITE, locality: str = "local"
) -> None:
    for size in SIZES:
        rate = size / (latency_s + size / gb_s / 1e9) / 1e9
        add_copy(file, rate, path, size, site=site, locality=locality, spread=0.001)


def test_a_path_has_its_share_of_the_negotiated_link(tmp_path):
    file = linked_file()
    copies(file, "pinned_to_gpu", 2e-6, 50.0)
    add_copy(file, 999.0, "pinned_to_gpu", 8 * KIB, flush="off")
    [found] = transfer.paths(read(tmp_path, file).result)
    assert found.name == "pinned_to_gpu"
    assert found.line.latency_s.value == pytest.approx(2e-6, rel=0.01)
    assert found.of_link == pytest.approx(50 / 63, rel=0.01)
    assert found.negotiated == "PCIe 5 ×16"
    assert found.line.half_bytes.value == pytest.approx(1e5, rel=0.01)


def test_paths_between_gpus_and_both_ways_have_their_own_links(show):
    [machine] = show("linked")
    found = {(path.family, path.name): path for path in transfer.paths(machine.result, every=False)}
    write = found["transfer/peer", "copy_engine write, over NVLink"]
    assert (write.theoretical_gb_s, write.negotiated) == (450, "NVLink ×18")
    assert write.line.bandwidth_gb_s.value == pytest.approx(394, rel=0.01)
    assert found["transfer/peer", "copy_engine write peer access off"].theoretical_gb_s is None
    both = found["transfer/duplex", "host_gpu pinned"]
    assert both.theoretical_gb_s == pytest.approx(126)
    assert found["transfer/local", "copy_engine"].theoretical_gb_s is None


def test_every_site_or_the_first_of_each_place(tmp_path):
    file = linked_file()
    for gpu in range(2):
        copies(file, "pinned_to_gpu", 2e-6, 50.0, site={"gpu": gpu, "numa": gpu})
        copies(file, "pinned_to_gpu", 2e-6, 40.0, site={"gpu": gpu, "numa": 1 - gpu}, locality="remote")
    result = read(tmp_path, file).result
    every, first = (transfer.paths(result, every=one) for one in (True, False))
    assert [path.case.site["gpu"] for path in every] == [0, 0, 1, 1]
    assert [(path.case.place, path.case.site["gpu"]) for path in first] == [("local", 0), ("remote", 0)]


def test_remote_memory_is_held_against_local(tmp_path):
    file = linked_file()
    copies(file, "pinned_to_gpu", 2e-6, 50.0)
    copies(file, "pinned_to_gpu", 2.5e-6, 40.0, site=FAR, locality="remote")
    [found] = transfer.farther(transfer.paths(read(tmp_path, file).result))
    assert found.rate.value == pytest.approx(0.8, rel=0.01)
    assert found.latency_s == pytest.approx(0.5e-6, rel=0.05)
    said = dict(everything.sections(Analysis(read(tmp_path, file)).fits))["Remote memory against local"]
    assert said[0].startswith("transfer/memcpy pinned_to_gpu: 0.80 [")
    assert said[0].endswith("of the local bandwidth, 500 ns later")


def test_the_size_from_which_one_way_beats_another(tmp_path):
    file = linked_file()
    copies(file, "pinned_to_gpu", 4e-6, 55.0)
    for size in SIZES:
        file.add("transfer/zero_copy", zero_copy(size), SITE, 2e-6 + size / 50e9, spread=0.001)
    [choice] = transfer.choices(read(tmp_path, file))
    [found] = choice.swaps
    assert (found.faster, found.slower, found.direction) == ("pinned copy", "zero-copy read", "host_to_gpu")
    # 4 µs + n / 55 = 2 µs + n / 50
    assert found.size.value == pytest.approx(2e-6 / (1 / 50e9 - 1 / 55e9), rel=0.1)
    assert found.size.low < found.size.value < found.size.high
    assert found.text.startswith("pinned copy is faster than zero-copy read above 1.0")


def both_ways(file: File, alone_gb_s: float) -> None:
    lanes = [
        {"name": name, "bytes": GIB, "from": source, "to": target, "seconds": 0.025, "alone_gb_s": alone_gb_s}
        for name, source, target in (("to_gpu", "host:0", "gpu:0"), ("to_host", "gpu:0", "host:0"))
    ]
    axes = {"between": "host_gpu", "method": "pinned", "bytes": GIB, "locality": "local"}
    file.together("transfer/duplex", axes, SITE, lanes, overlap=0.9)


def test_both_ways_over_one_way_alone(tmp_path):
    file = linked_file()
    both_ways(file, 54.0)
    [found] = transfer_duplex.duplexes(read(tmp_path, file).result)
    assert found.over_one_way == pytest.approx(2 * GIB / 0.025 / 1e9 / 54)
    assert found.text == (
        "host ↔ GPU pinned: 85.9 GB/s both ways at once (1 GiB each way), 0.77 of both copy peaks together, "
        "1.59 times one way alone; both lanes ran 90 % of the time"
    )


def test_both_ways_are_never_more_than_twice_one_way(tmp_path):
    file = linked_file()
    both_ways(file, 38.0)  # 2.26 times
    [found] = transfer_duplex.duplexes(read(tmp_path, file).result)
    assert "more than 2 times one way alone, whose rate varied; both lanes" in found.text


def test_peer_access_of_a_pair_and_of_many(tmp_path):
    file = linked_file()
    add_pair(file, 0, 1, "read", 394.0, 38.0)
    [found] = transfer_duplex.accesses(read(tmp_path, file).result)
    assert found.text == (
        "GPU 0, peer 1, read: 393.4 GB/s with peer access, 38.0 without, 10.4 times as fast at 1 GiB"
    )
    many = transfer_duplex.accesses_text(
        [found] * 3 + [transfer_duplex.Access(1, 0, "read", GIB, found.off, found.off)] * 2
    )
    assert many == [
        "read, 5 pairs: 393.4 GB/s with peer access (38.0 to 393.4), 38.0 without (38.0 to 38.0); "
        "the slowest is GPU 1, peer 0"
    ]


def test_requests_in_flight_from_rate_and_latency_where_nothing_counts_them(tmp_path):
    file = linked_file()
    add_latency(file, SITE)
    file.add("transfer/zero_copy", zero_copy(256 * MIB), SITE, 256 * MIB / 50e9)
    [found] = grain.flights(read(tmp_path, file).result)
    assert found.derived
    assert found.requests == pytest.approx(50e9 * 1190e-9 / 128)
    assert found.text == (
        "zero copy, host → GPU: up to 465 requests of 128 B in flight, 1.19 µs each, from its rate and the "
        "latency of a dependent load"
    )


def test_copies_start_one_after_another(tmp_path):
    file = linked_file()
    for piece, each_s in ((32, 2.1e-6), (4 * KIB, 2e-6), (MIB, 20e-6)):
        axes = {"method": "copy_engine", "path": "host_to_gpu", "grain": piece, "bytes": 64 * piece}
        axes["locality"] = "local"
        file.add("grain/pieces", axes, SITE, 64 * each_s, operations=64)
    [found] = grain.flights(read(tmp_path, file).result)
    assert found.text == "copy engine, host → GPU: a piece every 2 µs, one after another"


def test_pieces_of_a_batch_are_asked_for_at_once(tmp_path):
    file = linked_file()
    axes = {"method": "batch", "path": "gpu_to_host", "grain": 128, "bytes": 32768, "locality": "local"}
    file.add("grain/pieces", axes, SITE, 256 * 0.4e-6, operations=256)
    [found] = grain.flights(read(tmp_path, file).result)
    assert found.text == "batch, GPU → host: a piece every 400 ns, asked for at once"


def test_two_spans_of_a_kind_of_memory_give_rates_and_no_knee(tmp_path):
    file = linked_file()
    for order, gb_s in (("as_asked", 6.0), ("sorted", 50.0)):
        for span in (256 * MIB, 4 * GIB):
            axes = {"memory": "hugetlb", "order": order, "row": 128, "rows": 1 << 20, "span": span}
            unique = 1 << 20 if span > GIB else 800_000
            add_gather(file, axes | {"locality": "local"}, SITE, 128 * MIB / gb_s / 1e9, unique)
    said = dict(everything.sections(Analysis(read(tmp_path, file)).fits))
    assert said["Translation wall, hugetlb pages, GPU 0, node 0"][:2] == [
        "hugetlb pages, GPU 0, node 0: 128 B as asked over 4 GiB 6.0 GB/s; 128 B sorted over 4 GiB 50.0 GB/s",
        "too few rows in the wall to fit a model",
    ]


def test_the_summary_speaks_of_what_the_rows_come_to(files, capsys):
    assert main(["summary", "--full", str(files["linked"])]) == 0
    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines()]
    assert "- 512 B rows as asked: the link is full up to a span between 1 GiB and 2 GiB" in out
    assert "- 4 KiB rows as asked: the link is full at every span, up to 32 GiB" in lines
    assert "million translation misses a second at a granule of 64 KiB, beyond a reach of" in out
    assert "- the model holds: median error 2 % over the" in out
    assert out.count("In a virtual machine: whether the host's IOMMU translates") == 1
    assert (
        "- reads of 4 B a lane fill the link with 32 of 132 multiprocessors: 50.1 GB/s, all of them 50.9"
        in out
    )
    assert "- zero copy random, host → GPU: up to 460 requests of 128 B in flight, 1.2 µs each" in lines
    assert lines.index("Translation wall, cudaHostAlloc, GPU 0, node 0") < lines.index(
        "Translation wall, another GPU's memory, GPU 0, peer 1"
    )


def test_the_summary_as_json_has_the_same(files, capsys):
    assert main(["summary", "--json", str(files["linked"])]) == 0
    document = json.loads(capsys.readouterr().out)
    fits = document["fits"]
    assert document["links"][2] | {"from": "gpu:0", "to": "gpu:1"} == document["links"][2]
    walls = {wall["memory"]: wall for wall in fits["walls"]}
    assert set(walls) == {"host_alloc", "registered", "hugetlb", "peer"}
    model = walls["host_alloc"]["model"]
    assert model["granule_bytes"] == {"value": 65536, "low": 65536, "high": 65536}
    assert model["misses_per_s"]["low"] <= 33e6 <= model["misses_per_s"]["high"] * 1.01
    knees = {(one["order"], one["row"]): one for one in walls["host_alloc"]["knees"]}
    assert knees["as_asked", 4096]["reached"] is False
    assert knees["as_asked", 128]["link_full"] is True
    path = next(one for one in fits["paths"] if one["family"] == "transfer/peer")
    assert set(path["latency_s"]) == {"value", "low", "high"}
    assert path["site"] == {"gpu": 0, "peer": 1}
    assert fits["path_method"]
    assert fits["wall_method"]
    assert len(fits["fewest_multiprocessors"]) == 4


def test_a_run_without_such_rows_has_no_fits(files, capsys):
    assert main(["summary", "--full", str(files["cpu_only"])]) == 0
    out = capsys.readouterr().out
    assert "time = latency" not in out
    assert "Translation wall" not in out
    assert main(["summary", "--json", str(files["cpu_only"])]) == 0
    fits = json.loads(capsys.readouterr().out)["fits"]
    assert [fits[name] for name in ("paths", "crossovers", "walls", "requests_in_flight")] == [[]] * 4


def test_both_ways_through_the_host_are_no_share_of_the_link_between_the_gpus(tmp_path):
    file = linked_file()
    for size in (MIB << step for step in range(6)):
        axes = {"between": "gpu_gpu", "method": "copy_engine", "direction": "write", "access": "off"}
        lanes = [
            {"name": name, "bytes": size, "from": source, "to": target, "seconds": size / 30e9}
            for name, source, target in (("to_peer", "gpu:0", "gpu:1"), ("from_peer", "gpu:1", "gpu:0"))
        ]
        site = {"gpu": 0, "peer": 1, "numa": 0}
        file.together("transfer/duplex", axes | {"bytes": size}, site, lanes, overlap=1.0)
    [found] = transfer.paths(read(tmp_path, file).result)
    assert found.theoretical_gb_s is None
