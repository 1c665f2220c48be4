"""The answers of a run and the shape of its curves: what was planted is found, and nothing else is."""

import pytest

from grainscope_report import findings, reader
from grainscope_report.analysis import Analysis
from grainscope_report.fits import shape
from grainscope_report.fits.shape import Segment
from grainscope_report.groups import latency, transfer
from grainscope_report.machine import machines
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes
from planted import FAR, SITE, add_copy, gpu_file, pinned_copy, zero_copy
from synthetic import GIB, KIB, MIB, File
from synthetic_gnn import add_gather, add_scores, gather_axes
from synthetic_training import add_pipeline

GPU = {"gpus": ("NVIDIA H100 80GB HBM3",)}


def about(value: float, off: float = 0.01) -> Estimate:
    """A value with an interval of ±`off`."""
    return Estimate(value, value * (1 - off), value * (1 + off))


def answered(tmp_path, file: File) -> dict[str, str]:
    """Each question's answer."""
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    found = findings.answers(Analysis(machine))
    return {one.question: one.text for one in found}


def test_the_faster_way_is_first_on_its_side_of_a_crossing():
    rates = {
        "one": {1.0: about(10), 2.0: about(10), 4.0: about(10)},
        "two": {1.0: about(5), 2.0: about(20), 4.0: about(40)},
    }
    assert shape.segments(rates) == [Segment(1, 1, ("one",)), Segment(2, 4, ("two",))]


def test_ways_whose_intervals_overlap_or_that_are_within_two_percent_are_alike():
    rates = {"one": {1.0: about(10, 0.1), 2.0: about(100, 0)}, "two": {1.0: about(9), 2.0: about(98.5, 0)}}
    assert shape.segments(rates) == [Segment(1, 2, ("one", "two"))]
    rates["two"][2.0] = about(97.5, 0)
    assert shape.segments(rates) == [Segment(1, 2, ("one",))]


def test_a_way_that_ties_here_and_there_makes_no_stretches_of_its_own():
    rates = {
        "one": {1.0: about(10), 2.0: about(10), 4.0: about(10)},
        "two": {1.0: about(10), 2.0: about(9), 4.0: about(10)},
    }
    assert shape.segments(rates) == [Segment(1, 4, ("one",), (("two", 4),))]


def test_where_less_than_half_of_the_ways_were_measured_nobody_is_first():
    rates = {
        "one": {1.0: about(10), 2.0: about(1), 4.0: about(1)},
        "two": {1.0: about(9), 2.0: about(2), 4.0: about(2)},
        "three": {2.0: about(3), 4.0: about(3)},
        "four": {2.0: about(4), 4.0: about(4)},
        "five": {2.0: about(5), 4.0: about(5)},
    }
    assert shape.segments(rates) == [Segment(2, 4, ("five",))]
    assert shape.segments({"one": {1.0: about(10)}}) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([Segment(KIB, MIB, ("a", "b"))], "a or b at every size from 1 KiB to 1 MiB"),
        ([Segment(1, KIB, ("a",)), Segment(2 * KIB, MIB, ("b",))], "a up to 1 KiB, b from 2 KiB on"),
        (
            [Segment(1, KIB, ("a",)), Segment(2 * KIB, 2 * KIB, ("b",)), Segment(4 * KIB, MIB, ("a",))],
            "a up to 1 KiB, b at 2 KiB, a from 4 KiB on",
        ),
    ],
)
def test_stretches_are_said_in_words(found, said):
    assert shape.segments_text(found, format_bytes) == said


def test_the_peak_is_that_of_local_links_with_remote_ones_beside(tmp_path):
    file = File(**GPU)
    file.link("host_to_gpu", 55.0)
    file.link("host_to_gpu", 38.0, numa=1)
    file.link("gpu_to_host", 54.0)
    file.add("transfer/memcpy", pinned_copy(), SITE, 20e-6)
    file.add("transfer/memcpy", pinned_copy(locality="remote"), FAR, 30e-6)
    assert answered(tmp_path, file)["Peak"] == (
        "A pinned copy reaches 55.0 GB/s host → GPU (87.3 % of PCIe 5 ×16; remote 38.0) and "
        "54.0 GB/s GPU → host (85.7 % of PCIe 5 ×16)."
    )


def test_loads_are_told_by_the_memory_that_they_come_from(tmp_path):
    file = File(**GPU)
    for order, size, each in (("stride", 2 * MIB, 143e-9), ("shuffled", GIB, 349e-9)):
        axes = {"to": "own_memory", "order": order, "bytes": size}
        file.add("latency/chase", axes, {"gpu": 0}, each * 1000, operations=1000)
    for locality, site, each in (("local", SITE, 1.2e-6), ("remote", FAR, 1.9e-6)):
        axes = {"to": "host_memory", "order": "stride", "bytes": 2 * MIB, "locality": locality}
        file.add("latency/chase", axes, site, each * 1000, operations=1000)
    axes = {"between": "cpu_gpu", "locality": "local"}
    file.add("latency/flag", axes, SITE, 2.5e-3, operations=1000)
    assert answered(tmp_path, file)["Latency"] == (
        "A load by the GPU takes 1.2 µs (remote 1.9 µs) from host memory, 349 ns from its own. "
        "A flag goes from CPU to GPU and back in 2.5 µs."
    )


def copies_that(start_s: float, first_s: float):
    """Copies that begin after so long, but for the smallest, which takes another way."""
    file = gpu_file()
    for power in range(8, 29, 2):
        time_s = first_s if power == 8 else start_s + (1 << power) / 55e9
        add_copy(file, (1 << power) / time_s / 1e9, "pinned_to_gpu", 1 << power)
    return file


@pytest.mark.parametrize(
    ("start_s", "first_s", "said"),
    [
        (4e-6, 4e-6, "A pinned copy to the GPU takes 4 µs beyond"),
        (9e-6, 5e-6, "A pinned copy of 256 B to the GPU takes 5 µs"),
    ],
)
def test_what_a_copy_takes_beyond_its_bytes_is_no_more_than_one_takes(tmp_path, start_s, first_s, said):
    result = reader.read(copies_that(start_s, first_s).write(tmp_path / "r.json"))
    [copy] = [
        one for one in latency.said(result, transfer.paths(result, every=False)) if "pinned copy" in one
    ]
    assert said in copy


def test_the_best_gather_is_found_by_the_size_of_a_row(tmp_path):
    file = File(**GPU)
    # GB/s by mode and row: masked is first for long rows, address_ordered for short ones.
    rates = {
        "masked": {128: 5.0, 1024: 30.0, 4096: 50.0},
        "address_ordered": {128: 12.0, 1024: 25.0, 4096: 40.0},
    }
    for mode, by_row in rates.items():
        for row, rate in by_row.items():
            gather(file, mode, "mapped", row, rate)
    gather(file, "masked", "device", 128, 2000.0)
    gather(file, "cpu_gather", "pageable", 128, 500.0)
    assert answered(tmp_path, file)["Which gather"] == (
        "From host memory, uniform rows over 4 GiB come fastest by address ordered "
        "(mapped) up to 128 B, masked (mapped) from 1 KiB on (12.0 GB/s at 128 B, 50.0 GB/s at 4 KiB)."
    )


def test_few_rows_of_a_size_and_one_size_alone_make_no_nonsense(tmp_path):
    file = File(**GPU)
    for mode, rate in (("masked", 50.0), ("naive", 30.0)):
        gather(file, mode, "mapped", 1024, rate)
    axes = {"mode": "masked", "store": "mapped", "row": 4096, "rows": 16, "span": 4 * GIB, "element": 4}
    for mode in ("masked", "row_dma"):
        file.add("gather", axes | {"mode": mode, "indices": "uniform", "locality": "local"}, SITE, 1e-5,
                 bytes=1 << 16)  # fmt: skip
    assert answered(tmp_path, file)["Which gather"] == (
        "From host memory, uniform rows over 4 GiB come fastest by masked (mapped) at "
        "1 KiB (50.0 GB/s at 1 KiB)."
    )


def test_networks_are_answered(show):
    [machine] = show("learning")
    found = findings.answers(Analysis(machine))
    said = {one.question: one.text for one in found if one.known}
    assert "the first 10 % of the rows by" in said["Which rows in the GPU's memory"]
    assert "is fed fastest by" in said["Which way to feed a training"]
    assert "A gather alone needs" in said["Which share of the GPU"]
    assert "Beside a computation both end soonest with" in said["Which share of the GPU"]


def test_answers_name_what_trainings_and_gathers_differ_in(tmp_path):
    file = File(**GPU)
    file.link("host_to_gpu", 54.7)
    for labelled in (1, 10):
        add_scores(file, "pareto18", "10x25", 0.3 / labelled, labelled)
    add_scores(file, "pareto18", "10x25", 0.2, 0, train_ids="arxiv")
    add_scores(file, "pareto18", "10x25", 0.2, 10, labels="fields")
    for batch in (1000, 8000):
        for method in ("masked", "cpu_gather_dma"):
            add_pipeline(file, method, axes={"batch": batch})
    for mode in ("masked", "address_ordered"):
        for hot, gb_s in ((0, 10.0), (25, 40.0), (1, 20.0)):
            store = {"store": "tiered", "hot": hot} if hot else {"store": "mapped"}
            add_gather(file, gather_axes(mode, 1028, indices="zipf", **store), gb_s)
    said = answered(tmp_path, file)
    rows = said["Which rows in the GPU's memory"]
    assert "Of pareto18 (10×25, batch 1000, 1 % labelled) the first" in rows
    assert "Of pareto18 (10×25, batch 1000, 10 % labelled) the first" in rows
    assert "Of pareto18 (10×25, batch 1000, training ids of arxiv) the first" in rows
    assert "Of pareto18 (10×25, batch 1000, 10 % labelled by fields) the first" in rows
    assert rows.count("With 1 and 25 % of the rows in the GPU's memory a gather of zipf rows of 1028 B") == 2
    for way in ("masked", "address-ordered"):
        assert f"of 1028 B ({way}) is 2 and 4 times as fast as with none" in rows
    training = said["Which way to feed a training"]
    for batch in (1000, 8000):
        assert f"pareto22 (10×25, batch {batch}, hidden 256), rows of 512 B, is fed fastest" in training


def gather(file: File, mode: str, store: str, row: int, rate: float) -> None:
    """A row of `gather` that comes at so many GB/s."""
    axes = {"mode": mode, "store": store, "row": row, "rows": MIB, "span": 4 * GIB, "indices": "uniform"}
    size = MIB * row
    file.add("gather", axes | {"element": 4, "locality": "local"}, SITE, size / rate / 1e9, bytes=size)


def test_the_smallest_rows_tell_of_the_wall(show):
    [machine] = show("linked")
    found = {one.question: one for one in findings.answers(Analysis(machine))}
    host, peer = found["Translation wall"].text.split(". Random rows in another")
    assert host.startswith(
        "Random rows in host memory keep the rate of small spans: 128 B rows as asked up to a span between "
        "512 MiB and 1 GiB; "
    )
    assert "512 B" not in host
    assert "4 KiB rows as asked at every span, up to 32 GiB" in host
    assert "of another GPU as asked" not in peer


def test_the_traversals_are_counted_by_their_best_access(show):
    [machine] = show("traversing")
    found = {one.question: one.text for one in findings.answers(Analysis(machine))}
    assert found["Which traversal"].startswith(
        "Of 30 measured traversals of edges in host memory the fastest"
    )
    [machine] = show("modelling")
    found = {one.question: one.text for one in findings.answers(Analysis(machine))}
    assert "modelled over" in found["Which traversal"]
    assert "managed memory under pressure" in found["Which traversal"]


def test_what_has_no_answer_says_why(tmp_path):
    file = File(**GPU)
    axes = {"direction": "read", "width": 4, "bytes": MIB, "locality": "local"}
    file.lose("skipped", "the GPU is held by another process", "grain/saturation", axes, SITE)
    found = answered(tmp_path, file)
    assert found["Fewest multiprocessors"] == "Not measured: the GPU is held by another process."
    assert found["Which gather"] == "Not part of this run (preset full)."


def test_without_a_gpu_the_host_answers(show):
    [machine] = show("cpu_only")
    found = findings.answers(Analysis(machine))
    known = {one.question: one.text for one in found if one.known}
    assert set(known) == {"Peak", "Latency"}
    assert known["Peak"].startswith("No link to a GPU was measured; the CPUs copy")
    assert " of flushed buffers by 16 threads at " in known["Peak"]
    assert known["Latency"].startswith("A load by a CPU takes")


def test_a_load_from_memory_is_of_the_fastest_pages(tmp_path):
    def told(*kinds: tuple[str, float]) -> str:
        file = File()
        for pages, nanoseconds in kinds:
            for size, time_ns in ((MIB, 1.5), (256 * MIB, nanoseconds)):
                axes = {"pages": pages, "bytes": size, "locality": "local"}
                site = {"cpu_node": 0, "memory_node": 0}
                file.add("host/latency", axes, site, 4096e-9 * time_ns, operations=4096, bytes=None)
        return answered(tmp_path, file)["Latency"]

    several = told(("4KiB", 221.0), ("transparent_huge", 101.0))
    assert several.endswith("1.5 ns from its nearest cache and 101 ns from memory (pages: transparent huge).")
    assert told(("4KiB", 221.0)).endswith("221 ns from memory.")


SIZES = [4 * KIB << step for step in range(0, 18, 2)]  # 4 KiB to 256 MiB
PEAK = {"pinned_to_gpu": 54.0, "gpu_to_pinned": 54.5, "pageable_to_gpu": 11.0}


def rate(peak: float, size: int) -> float:
    """A transfer that needs 2 µs before it begins."""
    return size / (2e-6 + size / peak / 1e9) / 1e9


def copies(file: File, path: str, peak: float | None = None, lower: dict | None = None, **more) -> None:
    """A curve of copies, at some sizes lower by a factor."""
    for size in SIZES:
        factor = (lower or {}).get(size, 1.0)
        add_copy(file, factor * rate(peak or PEAK[path], size), path, size, **more)


def prefetches(file: File, lower: dict, path: str = "host_to_gpu", peak: float = 50.0) -> None:
    for size in SIZES:
        axes = {"method": "prefetch", "path": path, "bytes": size, "locality": "local"}
        seconds = size / (lower.get(size, 1.0) * rate(peak, size)) / 1e9
        file.add("transfer/managed", axes, SITE, seconds)


def found(tmp_path, file: File) -> list[shape.Finding]:
    return shape.findings(reader.read(file.write(tmp_path / "result.json")))


def test_a_sound_machine_has_nothing_odd(tmp_path):
    file = gpu_file()
    copies(file, "pinned_to_gpu")
    copies(file, "gpu_to_pinned")
    assert found(tmp_path, file) == []


def test_a_dip_is_found_where_it_is_with_the_command_that_looks_closer(tmp_path):
    file = gpu_file()
    copies(file, "pinned_to_gpu", lower={4 * MIB: 0.6, 16 * MIB: 0.7})
    [one] = found(tmp_path, file)
    assert (one.kind, one.low, one.high) == ("dip", 4 * MIB, 16 * MIB)
    assert one.cause.known is False
    assert "falls by 3" in one.text
    assert "from 4 MiB to 16 MiB and recovers; likely: something else" in one.text
    assert "--min-bytes=2MiB --max-bytes=32MiB --benchmark_repetitions=5" in one.cause.command
    assert "--benchmark_filter='^transfer/memcpy/copy/pinned_to_gpu/on/gpu:0/numa:0/'" in one.cause.command


def test_a_small_fall_is_no_dip(tmp_path):
    file = gpu_file()
    copies(file, "pinned_to_gpu", lower={256 * MIB: 0.93})
    assert found(tmp_path, file) == []


def test_a_fall_beyond_a_cache_is_known_of_what_is_not_flushed(tmp_path):
    file = gpu_file()  # 105 MiB of level 3
    copies(file, "pageable_to_gpu", lower={64 * MIB: 0.5, 256 * MIB: 0.5}, flush="off")
    [one] = found(tmp_path, file)
    assert (one.kind, one.low, one.cause.known) == ("dip", 64 * MIB, True)
    assert "beyond the CPU's level-3 cache of 105 MiB" in one.text
    assert one.name.endswith("not flushed")


@pytest.mark.parametrize(("threads", "rates", "said"), [
    (1, {4 * KIB: 90, 16 * KIB: 90, 64 * KIB: 50, 256 * KIB: 50},
     "beyond the CPU's level-1 cache of 48 KiB its level-2 cache decides"),
    (32, {MIB: 900, 4 * MIB: 900, 16 * MIB: 500},
     "beyond the CPU's level-1 cache of 48 KiB a core its level-2 cache decides"),
    (32, {MIB: 900, 16 * MIB: 500, 256 * MIB: 90},
     "beyond the CPU's level-1 cache of 48 KiB a core its level-2 cache decides, then its level-3 cache, "
     "then the memory"),
    (1, {MIB: 90, 16 * MIB: 50}, "beyond the CPU's level-2 cache of 2 MiB its level-3 cache decides"),
    (1, {16 * MIB: 90, 256 * MIB: 9}, "beyond the CPU's level-3 cache of 105 MiB the memory decides"),
])  # fmt: skip
def test_beyond_a_cache_the_next_level_decides_and_memory_beyond_the_last(tmp_path, threads, rates, said):
    file = gpu_file()  # 48 KiB, 2 MiB and 105 MiB
    for size, gb_s in rates.items():
        axes = {"threads": threads, "flush": "off", "bytes": size}
        file.add("host/memcpy", axes, {"from_node": 0, "to_node": 0}, size / gb_s / 1e9)
    [one] = [one for one in found(tmp_path, file) if one.kind == "dip"]
    assert one.text.endswith(f"; known: {said}")


def test_of_flushed_buffers_only_what_is_written_is_in_a_cache(tmp_path):
    file = gpu_file()  # 48 KiB, 2 MiB and 105 MiB
    # Of buffers that were not flushed source and destination together are 2 MiB at 1 MiB, at 64 MiB 128.
    for size, gb_s in {MIB: 90, 16 * MIB: 50, 64 * MIB: 50}.items():
        axes = {"threads": 1, "flush": "on", "bytes": size}
        file.add("host/memcpy", axes, {"from_node": 0, "to_node": 0}, size / gb_s / 1e9)
    [one] = [one for one in found(tmp_path, file) if one.kind == "dip"]
    assert one.text.endswith(
        "; likely: beyond the CPU's level-2 cache of 2 MiB its level-3 cache decides: of what is written, "
        "since what is read was flushed and comes from memory"
    )


@pytest.mark.parametrize(("path", "peak", "known", "words"), [
    ("pinned_to_gpu", 26.0, False, "of what the negotiated link can do; likely: a link that trained down"),
    ("pageable_to_gpu", 11.0, True, "of the copy peak; known: the CPU copies pageable memory"),
])  # fmt: skip
def test_a_plateau_below_the_link(tmp_path, path, peak, known, words):
    file = gpu_file()
    copies(file, path, peak)
    [one] = found(tmp_path, file)
    assert (one.kind, one.cause.known) == ("plateau", known)
    assert words in one.text
    assert one.high == 256 * MIB


def test_a_curve_that_still_rises_is_no_plateau(tmp_path):
    file = gpu_file()
    for size in SIZES:
        add_copy(file, 20.0 * (size / GIB) ** 0.3, "pinned_to_gpu", size)
    assert found(tmp_path, file) == []


def test_samples_in_two_groups_are_said_once_for_a_curve(tmp_path):
    file = gpu_file()
    copies(file, "pinned_to_gpu")
    for row in file.rows[2:4]:
        row["flags"] = ["bimodal"]
    [one] = found(tmp_path, file)
    assert (one.kind, one.low, one.high) == ("two speeds", SIZES[2], SIZES[3])
    assert "at 2 of 9 sizes, from 64 KiB to 256 KiB" in one.text


def test_remote_memory_that_is_faster_than_local(tmp_path):
    file = gpu_file()
    file.link("host_to_gpu", 54.7, numa=1)
    copies(file, "pinned_to_gpu", 52.0)
    copies(file, "pinned_to_gpu", 54.0, locality="remote", site=FAR)
    assert found(tmp_path, file) == []
    file = gpu_file()
    copies(file, "pinned_to_gpu", 45.0)
    copies(file, "pinned_to_gpu", 54.0, locality="remote", site=FAR)
    kinds = {one.kind: one for one in found(tmp_path, file)}
    one = kinds["inversion"]
    assert one.sites == ("GPU 0, node 1",)
    assert "as fast as local" in one.text
    assert "nvidia-smi topo -m" in one.cause.command


def test_slow_prefetches_at_middle_sizes_are_known_where_they_have_been_seen(tmp_path):
    def machine(lower: dict) -> File:
        file = gpu_file()
        copies(file, "pinned_to_gpu")
        prefetches(file, lower)
        return file

    [one] = found(tmp_path, machine({256 * KIB: 0.55, MIB: 0.5}))
    assert (one.kind, one.low, one.high, one.cause.known) == ("slow middle", 256 * KIB, MIB, True)
    assert "0.47 of a pinned copy" in one.text
    assert "Comm|Scope (section 4.7, figure 11)" in one.text
    there = found(tmp_path, machine({64 * MIB: 0.5}))
    assert {one.kind for one in there} == {"slow middle", "dip"}
    assert not any(one.cause.known for one in there)


def test_the_same_at_several_sites_is_one_finding(tmp_path):
    file = gpu_file()
    for gpu in (0, 1):
        if gpu:
            file.link("host_to_gpu", 54.7, gpu=1)
        copies(file, "pinned_to_gpu", lower={MIB: 0.5}, site={"gpu": gpu, "numa": 0})
    [one] = found(tmp_path, file)
    assert one.sites == ("GPU 0, node 0", "GPU 1, node 0")


def test_a_site_of_several_sizes_is_named_once(tmp_path):
    file = gpu_file()
    for size in (MIB, 64 * MIB, 256 * MIB):
        for threads, gb_s in ((1, 8.0), (4, 30.0), (16, 9.0)):
            axes = {"threads": threads, "flush": "on", "bytes": size}
            site = {"from_node": 0, "to_node": 0}
            file.add("host/memcpy", axes, site, size / gb_s / 1e9)
    [one] = [one for one in found(tmp_path, file) if one.axis == "threads"]
    assert one.sites == ("from node 0, to node 0",)


def test_paragraphs_put_one_cause_together_and_what_is_known_last(tmp_path):
    file = gpu_file()
    copies(file, "pinned_to_gpu", lower={MIB: 0.5})
    copies(file, "gpu_to_pinned", lower={MIB: 0.5})
    prefetches(file, {MIB: 0.4})
    copies(file, "pageable_to_gpu")
    there = found(tmp_path, file)
    assert [one.cause.known for one in there] == sorted(one.cause.known for one in there)
    said = list(shape.paragraphs(there))
    assert said[0][0].startswith("dip: transfer/memcpy pinned_to_gpu")
    assert "; transfer/memcpy gpu_to_pinned" in said[0][0]
    assert said[0][1].startswith("grainscope ")
    assert said[-1][1] == ""
    assert shape.as_json(there[0])["cause"]["command"] == said[0][1]


def gathers(file: File, rates: dict, order: str = "as_asked", row: int = 128) -> None:
    for span, gb_s in rates.items():
        axes = {"memory": "host_alloc", "order": order, "row": row, "rows": 1 << 20, "span": span,
                "locality": "local"}  # fmt: skip
        file.add("reach/gather", axes, SITE, (row << 20) / gb_s / 1e9, bytes=row << 20)


def test_the_wall_is_a_known_dip_over_spans(tmp_path):
    file = gpu_file()
    gathers(file, {256 * MIB: 50.0, 512 * MIB: 49.0, GIB: 13.0, 2 * GIB: 7.0})
    [one] = found(tmp_path, file)
    assert (one.kind, one.axis, one.low, one.high, one.cause.known) == ("dip", "span", GIB, 2 * GIB, True)
    assert "reach/gather host_alloc as_asked, row 128 B (GPU 0, node 0) falls by 86.0 %" in one.text
    assert "from span 1 GiB to span 2 GiB and stays there" in one.text
    assert "--min-bytes" not in one.cause.command


def test_repeated_rows_above_the_link_are_no_level_to_fall_from(tmp_path):
    file = gpu_file()
    gathers(file, {64 * MIB: 117.0, 256 * MIB: 63.0, GIB: 53.0, 4 * GIB: 52.0}, "sorted")
    assert found(tmp_path, file) == []
    gathers(file, {8 * GIB: 33.0}, "sorted")
    [one] = found(tmp_path, file)
    assert (one.low, one.high) == (8 * GIB, 8 * GIB)


def test_a_dip_over_blocks_is_looked_into(tmp_path):
    file = gpu_file()
    for blocks, gb_s in ((1, 20.0), (4, 50.0), (16, 50.0), (64, 30.0)):
        file.add("transfer/zero_copy", zero_copy(256 * MIB, blocks=blocks), SITE, 256 * MIB / gb_s / 1e9)
    there = {one.kind: one for one in found(tmp_path, file)}
    assert (there["dip"].axis, there["dip"].low, there["dip"].cause.known) == ("blocks", 64, False)
    assert "at blocks 64" in there["dip"].text


def batch(file: File, span: int, rows: int, gb_s: float, row: int = 128) -> None:
    axes = {"mode": "masked", "store": "mapped", "indices": "uniform", "row": row, "rows": rows,
            "span": span, "element": 4, "width": 16, "locality": "local"}  # fmt: skip
    file.add("gather", axes, SITE, row * rows / gb_s / 1e9, bytes=row * rows)


def test_a_span_at_which_batches_of_many_sizes_were_tried_is_no_dip(tmp_path):
    file = gpu_file()
    for span in (256 * MIB, GIB, 4 * GIB, 8 * GIB):
        batch(file, span, 1 << 20, 50.0)
    for rows, gb_s in ((1 << 10, 8.0), (1 << 12, 20.0), (1 << 14, 35.0)):
        batch(file, 4 * GIB, rows, gb_s)
    result = reader.read(file.write(tmp_path / "result.json"))
    [over_spans] = [curve for curve in shape.curves(result) if curve.axis == "span"]
    assert {row.bytes for row in over_spans.points.values()} == {128 << 20}
    assert [rate.value for rate in over_spans.rates] == pytest.approx([50.0] * 4)
    assert shape.findings(result) == []


def test_of_batches_of_many_sizes_a_curve_over_rows_takes_the_largest_of_each(tmp_path):
    file = gpu_file()
    for row in (128, 256, 512, 1024):
        batch(file, GIB, (128 << 20) // row, 50.0, row)
    for rows, gb_s in ((1 << 10, 8.0), (1 << 18, 30.0), (1 << 21, 51.0)):
        batch(file, GIB, rows, gb_s, 256)
    result = reader.read(file.write(tmp_path / "result.json"))
    [over_rows] = [curve for curve in shape.curves(result) if curve.axis == "row"]
    bytes_at = {at: row.bytes for at, row in over_rows.points.items()}
    assert bytes_at == {128: 128 << 20, 256: 512 << 20, 512: 128 << 20, 1024: 128 << 20}
    assert shape.findings(result) == []


def test_rows_that_fill_no_whole_requests_and_short_batches_are_other_questions(tmp_path):
    file = gpu_file()
    for row, rows, gb_s in ((512, 1 << 19, 50.0), (1024, 1 << 18, 51.0), (1028, 1 << 18, 30.0),
                            (2048, 1 << 17, 50.0), (4096, 512, 35.0)):  # fmt: skip
        axes = {"mode": "masked", "store": "mapped", "indices": "uniform", "row": row, "rows": rows,
                "span": GIB, "element": 4, "width": 16, "locality": "local"}  # fmt: skip
        file.add("gather", axes, SITE, row * rows / gb_s / 1e9, bytes=row * rows)
    assert found(tmp_path, file) == []
