"""Lines behind paths, translation walls, and what a run comes to: planted answers must come back."""

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from grainscope_report import findings, reader, uncertainty
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.commands import files
from grainscope_report.fits import translation
from grainscope_report.fits.translation import Rows, fit
from grainscope_report.groups import contention, grain, reach, transfer, transfer_duplex
from grainscope_report.machine import machines
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes
from planted import FAR, SITE, add_copy, linked_file, zero_copy
from stored import PROJECT
from synthetic import GIB, KIB, MIB, File
from synthetic_links import SPANS, add_gather, add_latency, add_pair, add_saturation, gathered

SIZES = [4 * KIB << step for step in range(0, 19, 2)]


def planted_line(
    latency_s: float, gb_s: float, noise: float = 0.0, seed: int = 1, width: float = 0.01
) -> list[Estimate]:
    """Times of a line, off by a random share of up to `noise`."""
    chance = random.Random(seed)
    times = [(latency_s + size / gb_s / 1e9) * (1 + noise * chance.uniform(-1, 1)) for size in SIZES]
    return [Estimate(time, time * (1 - width), time * (1 + width)) for time in times]


CHANCE = random.Random(7)
LINES = [(10 ** CHANCE.uniform(-6.3, -3.5), 10 ** CHANCE.uniform(0.3, 3.2)) for _ in range(12)]


@pytest.mark.parametrize(("latency_s", "gb_s"), LINES)
def test_a_line_is_recovered(latency_s, gb_s):
    found = transfer.fit_line(SIZES, planted_line(latency_s, gb_s))
    assert found.latency_s.value == pytest.approx(latency_s, rel=1e-3)
    assert found.bandwidth_gb_s.value == pytest.approx(gb_s, rel=1e-3)
    assert found.half_bytes.value == pytest.approx(latency_s * gb_s * 1e9, rel=1e-3)
    assert found.median_error < 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_a_noisy_line_is_recovered_within_its_intervals_or_near(seed):
    found = transfer.fit_line(SIZES, planted_line(5e-6, 50.0, noise=0.04, seed=seed, width=0.03))
    for estimate, truth in ((found.latency_s, 5e-6), (found.bandwidth_gb_s, 50.0)):
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.low * 0.98 <= truth <= estimate.high * 1.02
        assert estimate.high / estimate.low < 1.35


def test_intervals_hold_the_truth_as_often_as_they_say():
    trials, held = 40, 0
    for seed in range(trials):
        found = transfer.fit_line(SIZES, planted_line(5e-6, 50.0, noise=0.05, seed=100 + seed, width=0.05))
        held += found.bandwidth_gb_s.low <= 50.0 <= found.bandwidth_gb_s.high
    assert held >= 0.85 * trials


@pytest.mark.parametrize("at", [0, 4, len(SIZES) - 2])
def test_one_size_that_is_far_off_does_not_bend_the_line(at):
    times = planted_line(5e-6, 50.0)
    times[at] = times[at].scaled(3.0)
    found = transfer.fit_line(SIZES, times)
    assert found.latency_s.value == pytest.approx(5e-6, rel=0.02)
    assert found.bandwidth_gb_s.value == pytest.approx(50.0, rel=0.02)
    assert found.worst_bytes == SIZES[at]
    assert found.worst_error == pytest.approx(1 / 3 - 1, abs=0.02)


def test_a_latency_is_never_negative():
    times = [Estimate(t, t, t) for size in SIZES if (t := size / 50e9 * (0.8 if size < MIB else 1.0))]
    found = transfer.fit_line(SIZES, times)
    assert found.latency_s.value >= 0
    assert found.latency_s.low >= 0


def test_the_same_times_give_the_same_line():
    times = planted_line(5e-6, 50.0, noise=0.05)
    assert transfer.fit_line(SIZES, times) == transfer.fit_line(SIZES, times)


def test_wider_times_give_wider_intervals():
    narrow, wide = (transfer.fit_line(SIZES, planted_line(5e-6, 50.0, width=width)) for width in (0.005, 0.1))
    assert (
        wide.bandwidth_gb_s.high / wide.bandwidth_gb_s.low
        > 2 * math.sqrt(narrow.bandwidth_gb_s.high / narrow.bandwidth_gb_s.low) - 1
    )


@pytest.mark.parametrize("sizes", [SIZES[:4], [MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB], [GIB] * 9])
def test_too_few_sizes_or_too_near_give_no_line(sizes):
    assert transfer.fit_line(sizes, [Estimate(1e-3, 1e-3, 1e-3)] * len(sizes)) is None


RUN_SIZES = [4 * KIB << step for step in range(0, 19, 2)]


def read(tmp_path, file: File):
    return machines([reader.read(file.write(tmp_path / "result.json"))])[0]


def copies(
    file: File, path: str, latency_s: float, gb_s: float, *, site=SITE, locality: str = "local"
) -> None:
    for size in RUN_SIZES:
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
    said = dict(findings.fit_sections(Analysis(read(tmp_path, file)).fits))["Remote memory against local"]
    assert said[0].startswith("transfer/memcpy pinned_to_gpu: 0.80 [")
    assert said[0].endswith("of the local bandwidth, 500 ns later")


def test_the_size_from_which_one_way_beats_another(tmp_path):
    file = linked_file()
    copies(file, "pinned_to_gpu", 4e-6, 55.0)
    for size in RUN_SIZES:
        file.add("transfer/zero_copy", zero_copy(size), SITE, 2e-6 + size / 50e9, spread=0.001)
    [choice] = transfer.choices(read(tmp_path, file))
    [found] = choice.swaps
    assert (found.faster, found.slower, found.direction) == ("pinned copy", "zero-copy read", "host_to_gpu")
    # 4 µs + n / 55 = 2 µs + n / 50
    assert found.size.value == pytest.approx(2e-6 / (1 / 50e9 - 1 / 55e9), rel=0.1)
    assert found.size.low < found.size.value < found.size.high
    assert found.text.startswith("pinned copy is faster than zero-copy read above 1.0")


def swapped(tmp_path, gb_s, spread=lambda _: 0.001) -> list[transfer.Swap]:
    """Where pinned copies and zero-copy reads overtake each other, of these rates and spreads by size."""
    file = linked_file()
    copies(file, "pinned_to_gpu", 4e-6, 55.0)
    for size in RUN_SIZES:
        file.add(
            "transfer/zero_copy", zero_copy(size), SITE, 6e-6 + size / gb_s(size) / 1e9, spread=spread(size)
        )
    [choice] = transfer.choices(read(tmp_path, file))
    return [*choice.swaps]


def as_slow_at(odd: int) -> dict:
    """Zero-copy is the faster way, but for one size, at which it cannot be told."""
    return {
        "gb_s": lambda size: 53 if size == odd else 65,
        "spread": lambda size: 0.3 if size == odd else 0.001,
    }


def test_a_way_that_falls_behind_at_the_largest_size_has_an_end(tmp_path):
    """By the median alone: its interval there reaches over that of the other way."""
    [found] = swapped(tmp_path, **as_slow_at(RUN_SIZES[-1]))
    assert (found.faster, found.until) == ("zero-copy read", RUN_SIZES[-2])
    begin, end = "zero-copy read is faster than pinned copy from", format_bytes(RUN_SIZES[-2])
    assert re.fullmatch(rf"{begin} .* \[.*\] to {end}; beyond that it cannot be told", found.text)


def test_a_way_that_is_clearly_faster_at_the_largest_size_has_no_end(tmp_path):
    """Though one size before that cannot be told."""
    assert {one.until for one in swapped(tmp_path, **as_slow_at(RUN_SIZES[-2]))} == {None}


def test_a_way_that_another_overtakes_again_has_no_such_end(tmp_path):
    found = swapped(tmp_path, lambda size: 40 if size >= RUN_SIZES[-2] else 65)
    assert [(one.faster, one.until) for one in found] == [("zero-copy read", None), ("pinned copy", None)]


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


def together(file: File, pattern: str, ends: list[tuple[str, str]], of_alone: float, size: int) -> None:
    """Copies at once, each at such a share of the 50 GB/s that one alone has."""
    seconds = size / 50e9 / of_alone
    copy = {"bytes": size, "seconds": seconds, "alone_gb_s": 50.0}
    lanes = [{"name": f"{one}_{two}", "from": one, "to": two, **copy} for one, two in ends]
    axes = {"pattern": pattern, "method": "copy_engine", "gpus": 4, "bytes": size}
    file.together("transfer/collective", axes, {"numa": 0}, lanes, overlap=0.99)


def test_links_that_bring_less_together_than_alone_share_something(tmp_path, capsys):
    file = linked_file()
    to_gpus = [("host:0", f"gpu:{gpu}") for gpu in range(4)]
    back = [(gpu, host) for host, gpu in to_gpus]
    together(file, "host_to_all", to_gpus, 0.99, MIB)
    together(file, "host_to_all", to_gpus, 0.8, 512 * MIB)
    together(file, "all_host_duplex", [*to_gpus, *back], 0.4, 512 * MIB)
    together(file, "one_to_all", [("gpu:0", f"gpu:{gpu}") for gpu in (1, 2, 3)], 1 / 3, 512 * MIB)
    said = contention.said(contention.at_once(read(tmp_path, file).result))
    assert said == [
        "4 GPUs at once share something on the host's side (copy engine, 512 MiB a copy): host → all GPUs "
        "160 GB/s, as 3.2 of 4 copies alone; both ways 160 GB/s, as 3.2 of 8 copies alone",
        "4 GPUs at once (copy engine, 512 MiB a copy): one → all others 50 GB/s, as 1.0 of 3 copies alone",
    ]
    assert main(["summary", str(file.write(tmp_path / "r.json"))]) == 0
    assert "- 4 GPUs at once share something" in capsys.readouterr().out


def test_links_that_share_nothing_are_not_said_to(tmp_path):
    file = linked_file()
    together(file, "all_to_host", [(f"gpu:{gpu}", "host:0") for gpu in range(4)], 0.98, 512 * MIB)
    [said] = contention.said(contention.at_once(read(tmp_path, file).result))
    assert said.startswith("4 GPUs at once (copy engine, 512 MiB a copy): all GPUs → host 196 GB/s")
    for lane in file.rows[-1]["lanes"]:
        del lane["alone_gb_s"]
    assert contention.at_once(read(tmp_path, file).result) == []


def test_zero_copy_that_was_not_flushed_makes_no_line_beside_what_was(tmp_path):
    def lines(*flushes: dict) -> list[float]:
        file = linked_file()
        for more, gb_s in zip(flushes, (50.0, 80.0), strict=False):
            for size in SIZES:
                file.add("transfer/zero_copy", zero_copy(size, **more), SITE, 2e-6 + size / gb_s / 1e9)
        return [path.line.bandwidth_gb_s.value for path in transfer.paths(read(tmp_path, file).result)]

    assert lines({}, {"flush": "off"}) == [pytest.approx(50, rel=0.01)]
    assert lines({"flush": "off"}) == [pytest.approx(50, rel=0.01)]


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


def test_bulk_copies_that_fill_the_link_have_no_width_and_grids_that_were_asked_for_do_not_count(tmp_path):
    file = linked_file()
    add_saturation(file, SITE, "read", 16, 3, 50.0)
    bulk = {"direction": "read", "load": "bulk", "chunk": 6144, "stages": 32}
    whole = {"bytes": 256 * MIB, "locality": "local"}
    counters = {"sms": 2, "sms_available": 132}
    file.add("grain/saturation", {**bulk, "blocks": 1, **whole}, SITE, 256 * MIB / 40e9, counters=counters)
    counters |= {"saturated_gb_s": 49.0, "full_gb_s": 50.0, "threshold": 0.95}
    file.add("grain/saturation", {**bulk, **whole}, SITE, 256 * MIB / 49e9, counters=counters)
    found = grain.fewest(read(tmp_path, file).result)
    assert [grid.short for grid in found] == [
        "read of 16 B a lane 3 of 132 (49.2 of 50.0 GB/s)",
        "read in bulk 2 of 132 (49.0 of 50.0 GB/s)",
    ]
    assert grain.said(found) == ["2 of 132 fill the link with reads in bulk (49.0 of 50.0 GB/s)"]


def test_a_kernel_copy_in_bulk_or_by_few_blocks_is_not_the_way_that_kernels_copy(tmp_path):
    file = linked_file()
    for size in (MIB, 16 * MIB, 256 * MIB):
        for more, gb_s in (
            ({}, 50.0),
            ({"load": "bulk", "chunk": 6144, "stages": 32}, 52.0),
            ({"blocks": 2}, 53.0),
        ):
            axes = {"path": "pinned_to_gpu", **more, "bytes": size, "locality": "local"}
            file.add("transfer/kernel_copy", axes, SITE, size / gb_s / 1e9)
    [curve] = transfer.ways(read(tmp_path, file), "host_to_gpu")
    assert [point.y.value for point in curve.points] == pytest.approx([50.0] * 3)


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
    said = dict(findings.fit_sections(Analysis(read(tmp_path, file)).fits))
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


FULL = Path(__file__).resolve().parents[2] / "results" / "reference" / "h100-full.json.gz"
# Measured on an H100 on PCIe 5 in a virtual machine, GB/s of rows asked for; copy peak 55.0 GB/s.
MEASURED_SPANS = (256 * MIB, GIB, 4 * GIB, 8 * GIB, 32 * GIB)
MEASURED = (
    ("as_asked", 128, 1 << 20, (50.7, 13.7, 5.9, 4.8, 3.75)),
    ("sorted", 128, 1 << 20, (64.0, 53.8, 51.6, 37.5, 8.7)),
    ("as_asked", 512, 1 << 19, (50.5, 50.8, 19.7, 16.3, 14.2)),
    ("sorted", 512, 1 << 19, (77.0, 56.6, 52.1, 51.7, 24.8)),
    ("as_asked", 4096, 1 << 17, (50.8, 50.9, 50.4, 47.8, 49.7)),
)


def gather(order: str, row: int, rows: int, span: int, seconds: float, width: float = 0.01) -> Rows:
    unique = translation.expected_unique(rows, span / row)
    return Rows(
        order, row, rows, unique, span, Estimate(seconds, seconds * (1 - width), seconds * (1 + width))
    )


def measured() -> list[Rows]:
    found = [
        gather(order, row, rows, span, rows * row / rate / 1e9)
        for order, row, rows, rates in MEASURED
        for span, rate in zip(MEASURED_SPANS, rates, strict=True)
    ]
    rows = 8 << 20
    return [*found, gather("sorted", 128, rows, 32 * GIB, rows * 128 / 50.5e9)]


def planted_wall(misses_per_s: float, reach: float, noise: float = 0.0, seed: int = 1) -> list[Rows]:
    chance = random.Random(seed)
    found = []
    for order in ("as_asked", "sorted"):
        for row in (128, 512, 4096):
            for span in SPANS:
                rows = 128 * MIB // row
                model = {"misses_per_s": misses_per_s, "reach": reach, "peak": 50.8}
                seconds, unique = gathered(order, row, rows, span, **model)
                one = gather(order, row, rows, span, seconds * (1 + noise * chance.uniform(-1, 1)))
                found.append(replace(one, unique_rows=unique))
    return found


def test_the_measured_wall_is_misses_at_64_kib():
    found = fit(measured())
    assert found.granule == Estimate(64 * KIB, 64 * KIB, 64 * KIB)
    assert 30e6 < found.misses_per_s.value < 36e6
    assert 28e6 < found.misses_per_s.low < found.misses_per_s.high < 36e6
    assert 600 * MIB < found.reach.low <= found.reach.value <= found.reach.high < GIB
    assert found.holds
    assert found.median_error < 0.1
    assert found.failing == []
    assert (found.worst.gather.order, found.worst.gather.row, found.worst.gather.span) == (
        "as_asked",
        128,
        4 * GIB,
    )
    assert found.worst.error == pytest.approx(0.205, abs=0.02)
    assert found.bytes_a_miss == pytest.approx(1617, rel=0.02)


def test_the_measured_rows_that_are_many_a_granule_are_not_in_the_wall():
    checked = {(one.gather.rows, one.gather.span): one for one in fit(measured()).checked}
    assert not checked[8 << 20, 32 * GIB].in_the_wall
    assert checked[1 << 20, 32 * GIB].in_the_wall


WALLS = [(10 ** random.Random(seed).uniform(6.8, 8.2), 300 * MIB * 2 ** (seed / 2)) for seed in range(6)]


@pytest.mark.parametrize(("misses_per_s", "reach"), WALLS)
def test_a_planted_wall_is_recovered(misses_per_s, reach):
    found = fit(planted_wall(misses_per_s, reach))
    assert found.granule.value == 64 * KIB
    assert found.misses_per_s.value == pytest.approx(misses_per_s, rel=0.05)
    assert found.reach.low / 1.1 <= reach <= found.reach.high * 1.1
    assert found.holds
    assert found.median_error < 0.05


@pytest.mark.parametrize("seed", range(4))
def test_a_noisy_wall_is_recovered_within_its_interval(seed):
    found = fit(planted_wall(33e6, 700 * MIB, noise=0.05, seed=seed))
    assert found.granule.low <= 64 * KIB <= found.granule.high
    assert found.misses_per_s.low <= 33e6 <= found.misses_per_s.high
    assert found.misses_per_s.high / found.misses_per_s.low < 1.3
    assert found.reach.low / 1.1 <= 700 * MIB <= found.reach.high * 1.1


def test_rows_that_the_model_fails_for_are_named():
    rows = planted_wall(33e6, 700 * MIB)
    at = next(i for i, one in enumerate(rows) if (one.order, one.row, one.span) == ("sorted", 128, 16 * GIB))
    rows[at] = replace(rows[at], time_s=rows[at].time_s.scaled(1.8))
    found = fit(rows)
    [failing] = found.failing
    assert (failing.gather.order, failing.gather.row, failing.gather.span) == ("sorted", 128, 16 * GIB)
    assert failing.error == pytest.approx(1 / 1.8 - 1, abs=0.1)
    assert found.worst is failing


def test_a_wall_of_another_kind_does_not_hold():
    """Rates that fall with the span whatever the size of a row: no translation does that."""
    rows = [
        gather("as_asked", row, 128 * MIB // row, span, 128 * MIB / 50e9 * (1 + 3 * at))
        for row in (128, 512, 4096)
        for at, span in enumerate(SPANS)
    ]
    assert not fit(rows).holds


def test_a_row_larger_than_a_granule_needs_several_translations():
    large = gather("as_asked", 256 * KIB, 1000, 8 * GIB, 1.0)
    assert translation.misses(large, 64 * KIB, 4 * GIB) == 1000 * 4 / 2
    assert translation.misses(large, 64 * KIB, 8 * GIB) == 0


def test_rows_as_asked_alone_do_not_tell_the_granule():
    rows = [
        one for one in planted_wall(33e6, 700 * MIB, noise=0.02) if one.order == "as_asked" and one.row == 128
    ]
    found = fit(rows)
    assert found.granule.low < 64 * KIB < found.granule.high
    assert "at a granule that these rows do not tell" in reach.model_text(found)[0]
    assert found.misses_per_s.low <= 33e6 <= found.misses_per_s.high


def test_without_a_wall_there_is_no_model():
    assert fit([gather("as_asked", 4096, 1 << 15, span, 128 * MIB / 50e9) for span in SPANS]) is None


def test_rows_that_caches_served_do_not_move_the_wall():
    rows = planted_wall(33e6, 700 * MIB)
    small = [
        gather("as_asked", row, 128 * MIB // row, 64 * MIB, 128 * MIB / 90e9) for row in (128, 512, 4096)
    ]
    found = fit([*small, *rows])
    assert found == fit(rows)
    assert found.granule.value == 64 * KIB


def test_what_a_cache_adds_to_small_spans_is_not_the_rate_of_the_link():
    found = translation.knee([1, 2, 4, 8, 16], rates(90, 60, 50, 50, 10), most=51.0)
    assert found.small.value == 51
    assert found.holds_at == 8


def rates(*values: float, width: float = 0.0) -> list[Estimate]:
    return [Estimate(value, value * (1 - width), value * (1 + width)) for value in values]


def test_the_knee_is_interpolated_in_log_log():
    # 50 at 1 GiB and 12.5 at 4 GiB are a line of slope -1 in log-log: 45 at 1 GiB · 50 / 45.
    found = translation.knee([256 * MIB, GIB, 4 * GIB], rates(50, 50, 12.5))
    assert found.span.value == pytest.approx(GIB * 50 / 45)
    assert (found.holds_at, found.falls_at, found.reached) == (GIB, 4 * GIB, True)
    assert (found.span.low, found.span.high) == (GIB, 4 * GIB)


def test_the_interval_of_a_knee_reaches_as_far_as_the_points_intervals_leave_open():
    spans = [256 * MIB, 512 * MIB, GIB, 2 * GIB, 4 * GIB]
    found = translation.knee(spans, rates(50, 50, 46, 44, 12.5, width=0.05))
    assert (found.holds_at, found.falls_at) == (GIB, 2 * GIB)
    assert (found.span.low, found.span.high) == (512 * MIB, 4 * GIB)


def edge_over(spans, found: list[Estimate]) -> reach.Edge:
    return reach.Edge("registered", "as_asked", 128, 1 << 20, translation.knee(spans, found), True, True)


def test_a_knee_known_to_an_octave_or_worse_is_told_by_its_interval_alone():
    near = edge_over([256 * MIB, 512 * MIB, 640 * MIB, 768 * MIB], rates(50, 50, 45.5, 30))
    assert near.text.endswith(": the link is full for spans up to 643 MiB [640 MiB, 768 MiB]")
    far = edge_over([128 * MIB, 256 * MIB, 512 * MIB, GIB], rates(50, 50, 15, 7))
    assert far.text.endswith(": the link is full up to a span between 256 MiB and 512 MiB")
    short = [reach.Wall("registered", (), (one,), (), None).short for one in (near, far)]
    assert short[0].endswith("128 B rows as asked to 643 MiB [640 MiB, 768 MiB]")
    assert short[1].endswith("128 B rows as asked to a span between 256 MiB and 512 MiB")


def test_a_curve_that_never_falls_has_no_knee():
    found = translation.knee(SPANS, rates(*[50.0] * len(SPANS)))
    assert not found.reached
    assert found.span.value == SPANS[-1]
    assert found.falls_at is None


def test_a_dip_that_recovers_is_no_knee():
    found = translation.knee([1, 2, 4, 8, 16], rates(50, 23, 50, 50, 10))
    assert 8 < found.span.value < 16


def test_a_slow_first_span_is_not_the_rate_of_small_spans():
    found = translation.knee([1, 2, 4, 8], rates(30, 50, 50, 20, width=0.01))
    assert found.small.value == 50


def test_a_knee_needs_three_spans():
    assert translation.knee([1, 2], rates(50, 10)) is None


@pytest.mark.parametrize("reach", [300 * MIB, 700 * MIB, 3 * GIB])
def test_the_knee_of_a_planted_wall_lies_where_its_rate_falls(reach):
    """Between the last span at 90 % of the model's rate and the next: more the points do not tell."""
    for row in (128, 512):

        def rate(span, row=row):
            wall = {"misses_per_s": 33e6, "reach": reach, "peak": 50.8}
            return 128 * MIB / gathered("as_asked", row, 128 * MIB // row, span, **wall)[0] / 1e9

        found = translation.knee(SPANS, rates(*map(rate, SPANS)))
        holds = max(span for span in SPANS if rate(span) >= 0.9 * 50.8)
        assert found.holds_at == holds
        assert holds <= found.span.value <= 2 * holds
        fine = (SPANS[0] * 1.01**step for step in range(1000))
        true = next(span for span in fine if rate(span) < 0.9 * 50.8)
        assert found.span.low <= true <= found.span.high


def test_repeats_of_small_rows_and_of_sorted_ones_do_not_pass_for_the_link():
    """Rows smaller than a line find their neighbours' lines: what crosses is less than was asked for."""
    [host] = [one for one in reach.walls_of(reader.read(FULL), ["host_alloc"]) if one.memory == "host_alloc"]
    knees = {(edge.order, edge.row): edge.knee for edge in host.edges}
    for row in (32, 64, 128, 256):
        assert 256 * MIB <= knees["as_asked", row].span.low < knees["as_asked", row].span.high <= GIB
    assert host.model.holds
    assert all(one.gather.span > host.model.reach.value for one in host.model.wall)


def test_kinds_of_memory_that_differ_in_nothing_have_knees_that_may_be_one():
    spans = [
        edge.knee.span
        for one in reach.walls_of(reader.read(FULL))
        if one.link == "host"
        for edge in one.edges
        if (edge.order, edge.row) == ("as_asked", 128)
    ]
    assert len(spans) == 4
    assert max(span.low for span in spans) <= min(span.high for span in spans)


@pytest.mark.parametrize("name", ["h100-c1", "h200-c2"])
def test_a_line_is_known_no_better_than_what_runs_differ_by(name):
    """That is common to all sizes of a run, so that no number of them makes it less."""
    [result] = files.right([PROJECT / f"results/reference/acceptance/{name}.json.gz"])
    seen = 0
    for path in transfer.paths(result):
        told = [uncertainty.of_record(row.uncertainty.b) for row in path.rows if row.both_known]
        if len(told) < len(path.rows):
            continue
        seen += 1
        least = max(map(uncertainty.expanded, told)) * (1 - 1e-9)
        rate = path.line.bandwidth_gb_s
        assert min(math.log(rate.high / rate.value), math.log(rate.value / rate.low)) >= least
        if path.line.latency_s.low:
            latency = path.line.latency_s
            assert min(math.log(latency.high / latency.value), math.log(latency.value / latency.low)) >= least
    assert seen > 10
