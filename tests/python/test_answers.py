"""The answers of a run, from rows with known ones."""

import pytest

from grainscope_report import reader
from grainscope_report.analysis import Analysis
from grainscope_report.fits import everything, segments
from grainscope_report.fits.segments import Segment
from grainscope_report.machine import machines
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes
from planted import FAR, SITE, pinned_copy
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
    found = everything.answers(Analysis(machine))
    return {one.question: one.text for one in found}


def test_the_faster_way_is_first_on_its_side_of_a_crossing():
    rates = {
        "one": {1.0: about(10), 2.0: about(10), 4.0: about(10)},
        "two": {1.0: about(5), 2.0: about(20), 4.0: about(40)},
    }
    assert segments.segments(rates) == [Segment(1, 1, ("one",)), Segment(2, 4, ("two",))]


def test_ways_whose_intervals_overlap_or_that_are_within_two_percent_are_alike():
    rates = {"one": {1.0: about(10, 0.1), 2.0: about(100, 0)}, "two": {1.0: about(9), 2.0: about(98.5, 0)}}
    assert segments.segments(rates) == [Segment(1, 2, ("one", "two"))]
    rates["two"][2.0] = about(97.5, 0)
    assert segments.segments(rates) == [Segment(1, 2, ("one",))]


def test_a_way_that_ties_here_and_there_makes_no_stretches_of_its_own():
    rates = {
        "one": {1.0: about(10), 2.0: about(10), 4.0: about(10)},
        "two": {1.0: about(10), 2.0: about(9), 4.0: about(10)},
    }
    assert segments.segments(rates) == [Segment(1, 4, ("one",), (("two", 4),))]


def test_where_less_than_half_of_the_ways_were_measured_nobody_is_first():
    rates = {
        "one": {1.0: about(10), 2.0: about(1), 4.0: about(1)},
        "two": {1.0: about(9), 2.0: about(2), 4.0: about(2)},
        "three": {2.0: about(3), 4.0: about(3)},
        "four": {2.0: about(4), 4.0: about(4)},
        "five": {2.0: about(5), 4.0: about(5)},
    }
    assert segments.segments(rates) == [Segment(2, 4, ("five",))]
    assert segments.segments({"one": {1.0: about(10)}}) == []


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
    assert segments.text(found, format_bytes) == said


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
    found = everything.answers(Analysis(machine))
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
    found = {one.question: one for one in everything.answers(Analysis(machine))}
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
    found = {one.question: one.text for one in everything.answers(Analysis(machine))}
    assert found["Which traversal"].startswith(
        "Of 30 measured traversals of edges in host memory the fastest"
    )
    [machine] = show("modelling")
    found = {one.question: one.text for one in everything.answers(Analysis(machine))}
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
    found = everything.answers(Analysis(machine))
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
