"""Checks of networks, traversals and collective operations: what their numbers must agree in."""

import pytest

from grainscope_report.errors import ReportError
from grainscope_report.reader import read
from planted import departures, faults_of, gpu_file
from planted_traversals import crossing, machine_file, model, steady, traverse
from synthetic import GIB, MIB, File, times
from synthetic_gnn import add_gather, add_scores, add_share, add_split, gather_axes
from synthetic_lean import add_lean
from synthetic_models import modelled
from synthetic_training import add_pipeline, add_processes
from synthetic_traversals import add_traversal

ROW = "$.benchmarks[0]."


def counters(**more):
    return lambda row: row["counters"].update(more)


def check(file: File, spoil, field: str, message: str) -> None:
    """No fault before, this one after."""
    assert faults_of(file) == []
    found = faults_of(file, spoil)
    assert any(one.startswith(f"{ROW}{field}:") and message in one for one in found), found


def gathered(**more) -> File:
    file = gpu_file()
    add_gather(file, gather_axes("address_ordered", 128, window=4) | more, 40.0)
    return file


GATHERS = [
    (lambda row: row["case"]["axes"].update(window=2), "bytes", "row × rows × window is 268435456"),
    (counters(unique_bytes=1e12), "counters.unique_bytes", "more than the 536870912 bytes asked for"),
    (counters(unique_rows=7.0), "counters.unique_bytes", " is 896"),
    (counters(unique_gb_s=9.0), "counters.unique_gb_s", " is 35.1"),
    (counters(link_gb_s=9.0), "counters.link_gb_s", " is 35.1"),
    (counters(rows_per_s=9.0), "counters.rows_per_s", " is 3125"),
    (lambda row: row.update(link_bytes_least=row["bytes"]), "link_bytes_least", "bytes of different rows"),
    (lambda row: row.update(link_fraction=0.99), "link_fraction", "its rate over the copy peak is 0.64"),
]


@pytest.mark.parametrize(("spoil", "field", "message"), GATHERS, ids=[m for *_, m in GATHERS])
def test_a_gather_agrees_with_its_counters(spoil, field, message):
    check(gathered(), spoil, field, message)


@pytest.mark.parametrize("mode", ["cpu_gather_dma", "row_dma"])
def test_copies_bring_a_row_as_often_as_it_is_asked_for_and_no_more(mode):
    file = gpu_file()
    row = add_gather(file, gather_axes(mode, 128, store="pinned"), 40.0)
    assert row["link_bytes_least"] == row["bytes"] > row["counters"]["unique_bytes"]
    more = 2 * row["bytes"]
    check(file, lambda row: row.update(link_bytes_least=more), "link_bytes_least", "bytes asked for")


def test_the_peak_of_rows_that_neighbours_gather_too_is_that_of_their_links_together():
    file = gathered(neighbours=2)
    for gpu, peak in ((1, 50.0), (2, 40.0), (3, 30.0)):
        file.link("host_to_gpu", peak, gpu=gpu)
    row = file.rows[0]
    for others in (50.0 + 40.0, 50.0 + 30.0, 40.0 + 30.0):
        row["link_fraction"] = row["counters"]["link_gb_s"] / (54.7 + others)
        assert faults_of(file) == []
    row["link_fraction"] = row["counters"]["link_gb_s"] / 54.7
    assert any("its rate over the copy peak is 0.24" in one for one in faults_of(file))


def traversed(placement: str, **axes) -> tuple[File, dict]:
    file = gpu_file()
    row = add_traversal(file, "bfs", "kron24", "merged_aligned", placement, 0.1)
    row["case"]["axes"].update(axes)
    row["bytes"] = 8 * int(row["counters"]["edges_read"])
    row["bandwidth_gb_s"] = row["bytes"] / row["median_s"] / 1e9
    return file, row


OTHER_LINKS = [
    ("mapped", {"gpus": 2}, (54.7 + 50.0,)),
    ("peer", {}, (390.0,)),
    ("interleaved", {"over": 2}, (2 * 390.0, 390.0)),  # the latter in older files
    ("interleaved", {"over": 2, "gpus": 2}, (2 * (390.0 + 380.0),)),
]


@pytest.mark.parametrize(("placement", "axes", "peaks"), OTHER_LINKS)
def test_traversals_have_the_peak_of_the_links_that_they_cross(placement, axes, peaks):
    file, row = traversed(placement, **axes)
    file.link("host_to_gpu", 50.0, gpu=1)
    file.peer_link(1, 0, 390.0)
    file.peer_link(0, 1, 380.0)
    rate = row["counters"].get("link_gb_s", row.get("bandwidth_gb_s"))
    for peak in peaks:
        row["link_fraction"] = rate / peak
        assert faults_of(file) == []
    row["link_fraction"] = rate / 54.7
    assert any("its rate over the copy peak is" in one for one in faults_of(file))


def test_of_a_tiered_table_the_host_has_its_share():
    file = gpu_file()
    axes = gather_axes("masked_wide", 512, store="tiered", span=4 * GIB, hot=10)
    add_gather(file, axes, 90.0, host=0.5)
    check(file, counters(host_share=0.9), "counters.host_share", " is 0.49")


def test_managed_memory_may_move_more_than_was_asked_for():
    file = gathered(store="managed")
    assert faults_of(file) == []
    row = file.rows[0]
    row["link_bytes_least"] = 2 * row["bytes"]
    row["counters"]["link_gb_s"] = row["link_bytes_least"] / row["median_s"] / 1e9
    row["link_fraction"] = row["counters"]["link_gb_s"] / 54.7
    assert faults_of(file) == []


def scored(at: int = 0) -> File:
    file = File()
    add_scores(file, "kron18", "10x25", 0.25)
    file.rows = [file.rows[at]]
    return file


def point(at: int, *value: float):
    def spoil(row: dict) -> None:
        row["hit_curve"][at] = list(value)

    return spoil


HITS = [
    (0, counters(hit_rate_50=1.01), "counters", "hit_rate_50 of 1.01, more than all accesses"),
    (0, counters(hit_rate_20=0.01), "counters", "hit_rate_20 of 0.01, hit_curve has 0."),
    (0, counters(hit_rate_20=0.01), "counters", "hit_rate_20 of 0.01, less than of fewer rows"),
    (0, counters(of_optimal_10=1.001), "counters", "of_optimal_10 of 1.001, better than the optimal order"),
    (-1, counters(of_optimal_10=0.9), "counters", "of_optimal_10 of 0.9 in the optimal order"),
    (0, point(-1, 1.0, 0.99), "hit_curve", "ends at [1.0, 0.99]"),
    (0, point(3, 0.0001, 0.3), "hit_curve", "does not rise"),
]


@pytest.mark.parametrize(("at", "spoil", "field", "message"), HITS, ids=[m for *_, m in HITS])
def test_hit_rates_are_shares_that_rise(at, spoil, field, message):
    check(scored(at), spoil, field, message)


def test_the_share_of_optimal_may_be_one_but_for_rounding():
    assert faults_of(scored(), counters(of_optimal_10=1 + 1e-9)) == []


def test_edges_a_second_follow_from_the_time():
    file = File()
    axes = {"lists": "pasted", "score": "degree", "graph": "kron18"}
    file.add("tiering/reorder", axes, {}, 0.5, operations=1000, counters={"edges_per_s": 2000.5})
    check(file, counters(edges_per_s=1900.0), "counters.edges_per_s", " is 2000")


def shared(by: str = "green_context", sms: int = 12) -> File:
    file = gpu_file()
    add_share(file, by, sms, 16)
    return file


GIVEN = [
    (
        "green_context",
        counters(asked_sms=8.0),
        "counters.given_sms",
        "only 8.0 were asked for, and no reason",
    ),
    ("grid_cap", counters(given_sms=13.0), "counters.given_sms", "is 13.0, only 12.0 were asked for"),
    ("grid_cap", counters(seen_sms=133.0), "counters.seen_sms", "the GPU has 132"),
    ("grid_cap", counters(given_share=0.5), "counters.given_share", " is 0.0909"),
]


@pytest.mark.parametrize(("by", "spoil", "field", "message"), GIVEN, ids=[m for *_, m in GIVEN])
def test_no_more_multiprocessors_are_given_than_asked_for(by, spoil, field, message):
    check(shared(by), spoil, field, message)


def test_more_may_be_given_in_whole_groups_or_with_a_reason():
    file = shared(sms=12)
    assert file.rows[0]["counters"]["given_sms"] == 16
    assert faults_of(file) == []
    file = shared("green_context", 8)
    file.rows[0]["counters"] |= {"asked_sms": 2.0, "given_sms": 16.0, "given_share": 16 / 132}
    assert len(faults_of(file)) == 1
    file.rows[0]["reason"] = "the driver gives no fewer"
    assert faults_of(file) == []


def test_a_split_beside_training_steps_is_checked_like_any():
    file = gpu_file()
    add_split(file, "green_context", 10, "graphsage")
    check(file, counters(compute_slowdown=0.5), "counters.compute_slowdown", " is 1.13")


SPLITS = [
    (counters(gather_slowdown=9.0), "counters.gather_slowdown", " is 1.02"),
    (counters(compute_slowdown=0.5), "counters.compute_slowdown", " is 1.13"),
    (counters(pipeline_overlap=0.2), "counters.pipeline_overlap", "alone(lanes)) is 0.86"),
]


@pytest.mark.parametrize(("spoil", "field", "message"), SPLITS, ids=[m for *_, m in SPLITS])
def test_sides_of_a_split_agree_with_themselves_alone(spoil, field, message):
    file = gpu_file()
    add_split(file, "green_context", 10)
    check(file, spoil, field, message)


STAGES = [
    (counters(overlap=0.5), "counters.overlap", "stages' times alone make it 0.9"),
    (counters(train_s=5e-3), "counters.overlap", "alone make it 1"),
    (counters(overlap=1.5), "counters.overlap", "alone make it 0.9"),
    (counters(p99_batch_s=1e-3), "counters.p99_batch_s", "below median_s"),
]


@pytest.mark.parametrize(("spoil", "field", "message"), STAGES, ids=[m for *_, m in STAGES])
def test_stages_and_overlap_of_a_pipeline_agree(spoil, field, message):
    file = gpu_file()
    add_pipeline(file, "masked")
    check(file, spoil, field, message)


def test_a_pipeline_that_is_faster_than_its_slowest_stage_hides_all_and_in_older_files_more():
    file = gpu_file()
    add_pipeline(file, "masked")
    row = file.rows[0]
    row["counters"]["gather_s"] = 1.05 * row["median_s"]
    stages = [row["counters"][name] for name in ("sample_s", "gather_s", "train_s")]
    more = (sum(stages) - row["median_s"]) / (sum(stages) - max(stages))
    assert more > 1.01
    for overlap in (1.0, more):
        row["counters"]["overlap"] = overlap
        assert faults_of(file) == []


PROCESSES = [
    (counters(gather_slowdown=3.0), "counters.gather_slowdown", " is 1.08"),
    (counters(train_slowdown=0.5), "counters.train_slowdown", " is 1.1"),
    (counters(gather_gb_s=50.0), "counters.gather_gb_s", " is 44.7"),
    (counters(given_sms=33.0), "counters.given_sms", "only 14.0 were asked for, and no reason"),
    (counters(rest_sms=133.0), "counters.rest_sms", "the GPU has 132"),
    (counters(given_share=0.5), "counters.given_share", " is 0.106"),
    (counters(overlap=0.1), "counters.overlap", "alone make it 0.9"),
    (lambda row: row["case"]["axes"].pop("percent"), "case.axes", "the share belongs to two processes"),
]


@pytest.mark.parametrize(("spoil", "field", "message"), PROCESSES, ids=[m for *_, m in PROCESSES])
def test_two_processes_of_a_pipeline_agree_with_themselves_alone(spoil, field, message):
    file = gpu_file()
    add_processes(file, 10)
    check(file, spoil, field, message)


def test_a_process_for_each_gpu_has_no_share():
    file = gpu_file()
    row = add_pipeline(file, "masked", gpus=2, axes={"processes": "per_gpu"})
    assert faults_of(file) == []
    row["case"]["axes"]["percent"] = "10"
    assert any("the share belongs to two processes" in fault for fault in faults_of(file))


def test_only_tables_that_gpus_keep_a_part_of_are_filled():
    file = gpu_file()
    add_pipeline(file, "masked")
    check(file, counters(fill_s=0.1), "counters.fill_s", "of a mapped table no part is filled")
    file = gpu_file()
    add_pipeline(file, "tiered", hot=10)
    check(file, counters(fill_s=0.0), "counters.fill_s", "filling takes time")
    file = gathered()
    check(file, counters(fill_s=0.1), "counters.fill_s", "of a mapped table no part is filled")


@pytest.mark.parametrize("batches", [0.0, 41.5])
def test_an_epoch_has_whole_mini_batches(batches):
    file = gpu_file()
    add_pipeline(file, "masked")
    check(file, counters(epoch_batches=batches), "counters.epoch_batches", "whole mini-batches, one at least")


def step(field: str, at: int, seconds: float):
    def spoil(row: dict) -> None:
        row["timeline"][1][field][at] = seconds

    return spoil


def cut(row: dict) -> None:
    for end in ("begin_s", "end_s"):
        row["timeline"][1][end].pop()


# Gathering, the second stage, takes 2.2 ms a step from 0.6 ms on.
STEPS = [
    (lambda row: row["timeline"][1]["end_s"].pop(), "timeline[1].end_s", "has 11 times, begin_s has 12"),
    (step("end_s", 3, 0.001), "timeline[1].end_s", "of step 3 is 0.001, before begin_s 0.00"),
    (step("begin_s", 2, 0.003), "timeline[1].begin_s", "of step 2 is 0.003, before the step before it ends"),
    (lambda row: row["timeline"][1].update(lane=" "), "timeline[1].lane", "is blank"),
    (lambda row: row["timeline"][1].update(lane="training"), "timeline", "has a stage twice on one GPU"),
    (cut, "timeline", "has a stage 'gathering' whose steps are neither mini-batches nor windows"),
]


@pytest.mark.parametrize(("spoil", "field", "message"), STEPS, ids=[m for *_, m in STEPS])
def test_steps_of_a_stage_follow_one_another(spoil, field, message):
    file = gpu_file()
    add_pipeline(file, "masked")
    check(file, spoil, field, message)


def test_ends_of_steps_are_known_to_half_a_microsecond():
    file = gpu_file()
    begin_s = add_pipeline(file, "masked")["timeline"][1]["begin_s"]
    begin_s[2] -= 0.9e-6
    assert faults_of(file) == []
    begin_s[2] -= 0.2e-6
    assert len(faults_of(file)) == 1


def test_stages_of_several_gpus_and_of_windows_are_no_fault():
    file = gpu_file()
    add_pipeline(file, "masked", gpus=2)
    add_pipeline(file, "address_ordered", axes={"window": 4})
    add_pipeline(file, "cpu_only")
    assert faults_of(file) == []
    assert [len(row["timeline"]) for row in file.rows] == [6, 3, 3]


OFF = [
    ({"begin_s": []}, "timeline[0].begin_s: has 0 items, must have at least 1"),
    ({"begin_s": [-1e-9]}, "timeline[0].begin_s[0]: is -1e-09, must be at least 0"),
    ({"end_s": ["1"]}, 'timeline[0].end_s[0]: is "1", not of type number'),
    ({"gpu": -1}, "timeline[0].gpu: is -1, must be at least 0"),
    ({"gpu": None}, "timeline[0].gpu: is null, not of type integer"),
    ({"stream": 1}, "timeline[0].stream: is not a field of the format"),
]


@pytest.mark.parametrize(("wrong", "message"), OFF, ids=[message for _, message in OFF])
def test_a_timeline_has_times_from_zero_on(wrong, message):
    file = gpu_file()
    add_pipeline(file, "masked")
    document = file.document()
    assert departures(document) == []
    document["benchmarks"][0]["timeline"][0].update(wrong)
    assert f"{ROW}{message}" in [str(problem) for problem in departures(document)]


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_time_of_a_step_that_is_no_number_is_refused(tmp_path, number):
    file = gpu_file()
    add_pipeline(file, "masked")["timeline"][1]["end_s"][3] = 12345.0
    path = file.write(tmp_path / "result.json")
    path.write_text(path.read_text().replace("12345.0", number))
    with pytest.raises(ReportError, match=f"holds {number}, which is no JSON number"):
        read(path)


OWN = [
    ({"columns": 127}, "case.axes.row", "features.columns × features.element is 508"),
    ({"element": 2}, "case.axes.row", "features.element is 256"),
    ({"rows": 4096}, "features.rows", "the graph has 4097 vertices"),
]


@pytest.mark.parametrize(("wrong", "field", "message"), OWN, ids=[m for *_, m in OWN])
def test_a_table_of_ones_own_fits_the_row_and_the_graph(wrong, field, message):
    file = gpu_file()
    row = add_pipeline(file, "masked")
    row["features"] = {"rows": 4097, "columns": 128, "element": 4}
    row["graph"] = {"vertices": 4097, "entries": 10}
    check(file, lambda row: row["features"].update(wrong), field, message)


def test_a_gather_from_ones_own_table_spans_all_of_it():
    file = gathered(span=4097 * 128)
    file.rows[0]["features"] = {"rows": 4097, "columns": 32, "element": 4}
    check(file, lambda row: row["case"]["axes"].update(span=1 << 30), "case.axes.span", "is 524416")


def traversal_file(**more):
    file = machine_file()
    levels = [{"level": at, "active": 5, "edges": 10, "seconds": 0.01} for at in range(3)]
    traverse(file, [0.1, 0.2, 0.4], levels=levels, traffic=crossing({32: 10, 128: 5}, 100), **more)
    return file


def test_a_right_row_has_no_faults():
    assert faults_of(traversal_file()) == []


@pytest.mark.parametrize(("placement", "faults"), [("mapped", 1), ("managed", 0)])
def test_managed_edges_come_once_and_are_read_again_faster_than_the_link(placement, faults):
    def beat_the_link(row: dict) -> None:
        row["case"]["axes"]["placement"] = placement
        row.update(bytes=1 << 30, bandwidth_gb_s=(1 << 30) / row["median_s"] / 1e9, limit_gb_s=1.0)

    found = faults_of(traversal_file(), beat_the_link)
    assert len([one for one in found if "beats limit_gb_s" in one]) == faults


def levels(*numbers: int, seconds: float = 0.01):
    def spoil(row: dict) -> None:
        row["levels"] = [{"level": at, "active": 1, "edges": 1, "seconds": seconds} for at in numbers]

    return spoil


def cdf(*points):
    def spoil(row: dict) -> None:
        row["graph"]["degree_cdf"] = [list(point) for point in points]

    return spoil


FAULTS = [
    (lambda row: row["trials"].append(dict(row["trials"][0])), "trials: has a trial twice"),
    (lambda row: row["trials"].pop(), "samples_s: has 3 times for 2 trials"),
    (
        lambda row: row["trials"][1].update(samples_s=[0.25]),
        "trials[1].samples_s: have the median 0.25, but the row has 0.2",
    ),
    (lambda row: row["counters"].update(teps=9.0), "counters.teps: is 9.0, the harmonic mean"),
    (levels(0, 2), "levels: are not counted from 0"),
    (levels(0, 1, seconds=0.09), "levels: take 0.18 s together, the first trial 0.1 s"),
    (cdf((1, 0.5), (1, 1.0)), "graph.degree_cdf: does not rise"),
    (cdf((1, 0.5), (2, 0.4), (3, 1.0)), "graph.degree_cdf: does not rise"),
    (cdf((1, 0.5), (2, 0.9)), "graph.degree_cdf: ends at 0.9"),
    (
        lambda row: row.update(counted=crossing({32: 3}, 1, label="counted") | {"bytes": 90}),
        "counted.bytes: is 90",
    ),
    (
        lambda row: row.update(counted={"label": "counted", "requests": 9, "sectors": 10, "bytes": 330}),
        "counted.bytes: is 330, its sectors of 32 bytes are 320",
    ),
    (lambda row: row.update(link_fraction=0.5), "link_fraction: is given without bandwidth_gb_s"),
]


@pytest.mark.parametrize(("spoil", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_a_fault_in_a_traversal_is_found(spoil, message):
    found = [one for one in faults_of(traversal_file(), spoil) if message in one]
    assert len(found) == 1


def walked() -> File:
    """Three trials that read 30 edges each, in three levels."""
    file = traversal_file(counters={"edges_read": 30.0, "edges_per_s": 30 / 0.2})
    row = file.rows[0] | {"bytes": 240, "bandwidth_gb_s": 240 / 0.2 / 1e9, "traffic": crossing({32: 10}, 30)}
    row["counters"]["amplification_data_set"] = 320 / (8 * row["graph"]["entries"])
    for trial in row["trials"]:
        trial["counters"]["edges_read"] = 30.0
    file.rows[0].update(row)
    return file


def with_levels(*edges: int, active: int = 5):
    """Levels with so many edges, as the first trial read them."""

    def spoil(row: dict) -> None:
        row["levels"] = [{"level": at, "active": active, "edges": one} for at, one in enumerate(edges)]
        row["trials"][0]["counters"]["edges_read"] = float(sum(edges))

    return spoil


WALKED = [
    (counters(edges_read=90.0), "counters.edges_read", "is 90.0, the median of the trials' is 30.0"),
    (counters(edges_read=-30.0), "counters.edges_read", "is -30.0, the median"),
    (lambda row: row.update(bytes=720), "bytes", " is 240"),
    (counters(edges_per_s=450.0), "counters.edges_per_s", " is 150.0"),
    (
        lambda row: row["levels"][1].update(edges=30),
        "levels",
        "have 50 edges together, the first trial read 30",
    ),
    (with_levels(1 << 40), "levels", "has 1099511627776 edges in level 0, the graph has"),
    (with_levels(30, active=1 << 40), "levels", "has 1099511627776 vertices in level 0, the graph has"),
    (lambda row: row["traffic"].update(amplification=4.0), "traffic.amplification", "asked for is 1.3333"),
    (lambda row: row["traffic"].update(amplification=0.0), "traffic.amplification", "asked for is 1.3333"),
    (lambda row: row.update(link_bytes_asked=2400), "traffic.amplification", "asked for is 0.1333"),
    (counters(amplification_data_set=1.0), "counters.amplification_data_set", "graph.entries"),
]


@pytest.mark.parametrize(("spoil", "field", "message"), WALKED, ids=[m for *_, m in WALKED])
def test_edges_of_a_traversal_agree_with_its_trials_levels_and_graph(spoil, field, message):
    check(walked(), spoil, field, message)


@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_edges_and_amplification_of_a_model_are_the_mean_over_its_trials(algorithm):
    file = machine_file()
    size = 12 if algorithm == "sssp" else 8
    trials = [
        {"label": f"source:{at}", "samples_s": [0.5], "counters": {"edges_read": edges, "teps": 2.0}}
        for at, edges in enumerate((10.0, 50.0))
    ]
    made = {"label": "modelled", "requests": 20, "requests_by_size": {"32": 20}, "bytes": 640}
    more = {"trials": trials, "traffic": made | {"amplification": 640 / 30 / size}}
    model(file, 0.5, algorithm, counters={"edges_read": 30.0, "teps": 2.0}, **more)
    check(file, counters(edges_read=50.0), "counters.edges_read", "the mean of the trials' is 30.0")
    found = faults_of(file, lambda row: row["traffic"].update(amplification=640 / 30 / 4))
    assert any("traffic.amplification: is 5.33" in one for one in found)


@pytest.mark.parametrize(("segments", "faults"), [({}, 1), ({"segments": "hybrid"}, 0)])
def test_the_amplification_of_a_lean_run_is_of_the_edges_that_are_not_hot(segments, faults):
    file = gpu_file()
    row = add_lean(file, "bfs", "kron24", 0.1, "heads", 25, **segments)
    assert faults_of(file) == []
    row["traffic"]["amplification"] *= 1.2  # a model in another order
    assert faults_of(file) == []
    row["traffic"]["amplification"] *= 2
    assert sum("traffic.amplification: is" in one for one in faults_of(file)) == faults


def relayed() -> File:
    file = gpu_file()
    axes = {"method": "kernel_copy", "path": "pinned_to_gpu", "bytes": GIB, "link": "borrowed"}
    row = file.add(
        "transfer/relay", axes | {"locality": "local"}, {"gpu": 0, "numa": 0, "peer": 1}, GIB / 80e9
    )
    rate = row["bandwidth_gb_s"]
    row["counters"] = {
        "alone_gb_s": 50.0,
        "at_once_gb_s": 100.0,
        "of_alone": rate / 50,
        "of_at_once": rate / 100,
    }
    row.pop("link_fraction", None)
    return file


@pytest.mark.parametrize("name", ["of_alone", "of_at_once"])
@pytest.mark.parametrize("value", [-1.6, 0.0, 4.8])
def test_a_relay_over_another_rate_is_their_ratio(name, value):
    check(relayed(), counters(**{name: value}), f"counters.{name}", f"is {value}, bandwidth_gb_s / counters.")


def test_a_numbered_trial_is_there_once():
    def number_alike(row: dict) -> None:
        for trial in row["trials"]:
            trial["label"] = "trial:0"

    assert [one for one in faults_of(traversal_file(), number_alike) if "trials: has a label twice" in one]


def test_a_source_may_be_searched_from_twice():
    """EMOGI's sources in turns, or those drawn of a small graph."""
    assert (
        faults_of(traversal_file(), lambda row: row["trials"][1].update(label=row["trials"][0]["label"]))
        == []
    )


def test_the_share_of_the_copy_peak_is_that_of_the_bytes_over_the_link():
    file = traversal_file(counters={"link_gb_s": 27.35})
    file.rows[0]["link_fraction"] = 0.5
    assert faults_of(file) == []
    file.rows[0] |= {"bytes": 547 * 10**7, "bandwidth_gb_s": 5.47 / 0.2, "link_fraction": 0.5}
    assert faults_of(file) == []
    file.rows[0]["link_fraction"] = 0.6
    assert any("its rate over the copy peak is 0.5" in one for one in faults_of(file))


def test_a_family_that_only_models_says_so():
    file = machine_file()
    model(file, 0.5)
    assert faults_of(file) == []
    found = faults_of(file, lambda row: row.update(label="measured", **times([0.5] * 32)))
    assert any("label: is measured, but a model only models" in one for one in found)


@pytest.mark.parametrize("name", ["bytes_s", "requests_s", "translations_s"])
def test_no_cause_of_a_modelled_time_takes_longer_than_the_mean_over_the_trials(name):
    file = machine_file()
    times, mean = [0.1, 0.1, 0.4], 0.2
    row = model(file, 0.1, counters={name: mean})
    row["trials"] = [
        {"label": f"source:{at}", "samples_s": [time_s], "counters": {}} for at, time_s in enumerate(times)
    ]
    assert faults_of(file) == []
    [found] = faults_of(file, lambda row: row["counters"].update({name: mean * 1.00001}))
    assert f"counters.{name}: is 0.200002, above mean_time(self), which is 0.2" in found


def test_no_cause_of_a_modelled_gather_takes_longer_than_it():
    file = machine_file()
    axes = {"mode": "naive", "row": 128, "link": "pcie4x16"}
    modelled(file, "model/gather", axes, 0.1, counters={"bytes_s": 0.1})
    assert faults_of(file) == []
    assert len(faults_of(file, lambda row: row["counters"].update(bytes_s=0.11))) == 1


def test_what_a_row_must_have_depends_on_its_label():
    """A measurement has visits and how they were timed; a model has neither."""
    file = machine_file()
    model(file, 0.5)
    traverse(file, steady(0.1, 3))
    file.add("transfer/memcpy", {"path": "pinned_to_gpu", "bytes": 1}, {"gpu": 0, "numa": 0}, 1e-6)
    document = file.document()
    document["benchmarks"][0].pop("timing")
    assert departures(document) == []
    for name in ("visits", "middle", "timing"):
        document["benchmarks"][1].pop(name)
    found = [str(problem) for problem in departures(document)]
    assert found == [f"$.benchmarks[1].{name}: is missing" for name in ("visits", "middle", "timing")]


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
