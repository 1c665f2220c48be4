"""Times of programs, predicted from a machine's microbenchmarks."""

import json
import math
from dataclasses import replace

import pytest

import synthetic_programs
from documents import programs as documented
from grainscope_report import reader
from grainscope_report.analysis import Analysis
from grainscope_report.buying import machines as buying
from grainscope_report.buying import predict, verdict, workload
from grainscope_report.buying.machines import NotComparableError
from grainscope_report.cli import main
from grainscope_report.errors import ReportError
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.groups import programs
from grainscope_report.groups import programs_rates as rates
from grainscope_report.groups import programs_times as times
from grainscope_report.machine import machines
from grainscope_report.model import Result, Row
from stored import ROOT, TOGETHER
from synthetic_programs import GIB, MIB, SITE, WORK, Machine, predictable

TRUE = Machine()
FITTED = {"another": WORK}
ROWS = 14
QUICK = ROOT / "acceptance/h100-b1.json.gz"


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> Result:
    return reader.read(predictable().write(tmp_path_factory.mktemp("known") / "result.json"))


@pytest.fixture(scope="module")
def quick() -> Result:
    return reader.read(QUICK)


# Rates


def test_the_rates_of_a_machine_are_found_again(known):
    found = rates.of(known)
    for name in ("request_s", "byte_s", "kernel_s", "launch_and_wait_s", "event_s", "host_latency_s"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=1e-3), name
    assert found.gpu_latency_s == pytest.approx(TRUE.gpu_latency_s, rel=1e-3)
    assert found.cache_latency_s == pytest.approx(TRUE.cache_latency_s, rel=1e-3)
    assert found.misses.reach == pytest.approx(TRUE.reach, rel=0.02)
    miss_s, first_s = found.misses.of(128)
    assert miss_s == pytest.approx(TRUE.miss_s, rel=0.02)
    assert first_s == pytest.approx(TRUE.first_s, rel=0.05)
    assert found.copy.rate == pytest.approx(TRUE.copy_rate, rel=1e-3)
    assert found.host_copy_rate == pytest.approx(TRUE.host_rate, rel=1e-3)
    assert found.host_threads == 16


def test_another_kind_of_memory_has_its_own_reach_and_misses(known):
    found = rates.of(known, memory="managed_host")
    assert found.misses.reach == pytest.approx(TRUE.block_reach, rel=0.05)
    assert found.misses.of(128) == pytest.approx((TRUE.block_miss_s, 0.0), rel=0.02)
    assert found.misses.granule == synthetic_programs.BLOCK
    with pytest.raises(rates.LackingRatesError, match="no row of reach/gather memory:registered"):
        rates.of(known, memory="registered")


def gathered(tmp_path, change) -> Result:
    """The known machine with another time for each row at random, or none of it."""
    file = predictable()
    for row in [row for row in file.rows if row["case"]["family"] == "reach/gather"]:
        axes = row["case"]["axes"]
        file.rows.remove(row)
        for memory, factor in change(axes["memory"], axes["span"]).items():
            file.add("reach/gather", {**axes, "memory": memory}, SITE, factor * row["median_s"])
    return reader.read(file.write(tmp_path / "result.json"))


def test_memory_that_is_mapped_alike_has_the_reach_of_the_usual_kind_and_its_own_misses(tmp_path):
    def change(memory, span):
        alike = {256 * MIB: {"registered": 1.0}, 2 * GIB: {"registered": 1.2}}
        return {memory: 1.0} | (alike.get(span, {}) if memory == "host_alloc" else {})

    result = gathered(tmp_path, change)
    usual, found = rates.of(result).misses, rates.of(result, memory="registered").misses
    assert found.reach == usual.reach
    assert found.of(128)[0] == pytest.approx(1.2 * usual.of(128)[0], rel=0.05)


def test_one_span_in_the_wall_tells_a_miss_and_the_widest_before_it_the_reach(tmp_path):
    found = rates.of(gathered(tmp_path, lambda memory, span: {memory: 1.0} if span != 4 * GIB else {}))
    few = gathered(tmp_path, lambda memory, span: {memory: 1.0} if span in (256 * MIB, 32 * GIB) else {})
    few = rates.of(few).misses
    assert few.reach == 256 * MIB
    assert few.as_asked(128, 1 << 20, 32 * GIB) == pytest.approx(
        found.misses.as_asked(128, 1 << 20, 32 * GIB), rel=0.03
    )


def test_narrow_spans_do_not_tell_what_first_misses_take(quick):
    assert {more for _, more in rates.of(quick).misses.each.values()} == {0.0}


def test_slow_rows_before_the_wall_or_beside_cpus_are_no_part_of_it(tmp_path, known):
    file = predictable()
    usual = next(row for row in file.rows if row["case"]["axes"].get("span") == 4 * GIB)
    axes = {**usual["case"]["axes"], "beside": "host_read"}
    file.add("reach/gather", axes, SITE, 3 * usual["median_s"])
    for span, slower in ((8 * GIB, 1.3), (32 * GIB, 1.0)):
        axes = {"order": "as_asked", "row": 4096, "rows": 1 << 16, "span": span, "memory": "host_alloc"}
        read = TRUE.link(32 << 16, 4096 << 16)
        file.add("reach/gather", {"locality": "local", **axes}, SITE, slower * read)
    assert rates.of(reader.read(file.write(tmp_path / "result.json"))).misses == rates.of(known).misses


def test_a_run_without_a_rate_says_which_row_is_lacking(known):
    lacking = replace(known, rows=tuple(row for row in known.rows if row.case.family != "call"))
    with pytest.raises(rates.LackingRatesError, match="has no row of call"):
        rates.of(lacking)
    assert "no row of call" in programs.of(lacking).why_not


def test_a_kind_of_memory_without_rates_leaves_out_its_own_rows(tmp_path, known):
    found = programs.of(gathered(tmp_path, lambda memory, _: {memory: 1.0} if memory == "host_alloc" else {}))
    assert len(found.rows) == len(programs.of(known).rows) - 2
    ((why, count),) = found.left_out
    assert count == 2
    assert "no row of reach/gather memory:managed_host" in why


def test_few_multiprocessors_make_the_link_slower(known):
    assert rates.slower_by_few(known, 4, 4) == pytest.approx(1.25, rel=1e-3)
    assert 1.25 < rates.slower_by_few(known, 2, 4) < 4
    assert rates.slower_by_few(known, 32, 4) == 1


def test_ranks_that_are_asked_for_often_stay_within_reach(known):
    misses = rates.of(known).misses
    asked = misses.as_asked(128, 1000, 4 * GIB)
    assert 0 < misses.as_asked_by_rank(128, 1000, 4 * GIB) < asked / 3
    # Without the first ranks the rest are asked for nearly alike.
    assert misses.as_asked_by_rank(128, 1000, 4 * GIB, 0.25) > asked * 0.7
    assert misses.as_asked_by_rank(128, 1000, 256 * MIB) == 0


# Predictions


def test_programs_of_a_known_machine_are_predicted_back(known):
    found = programs.of(known, FITTED)
    assert len(found.rows) == ROWS
    assert not found.left_out
    for one in found.rows:
        assert abs(one.error) < 0.03, (one.row.name, one.error, one.prediction)
    bounds = {(one.row.case.axes.get("mode"), one.row.case.axes.get("span")): one for one in found.rows}
    assert bounds["masked", 8 * GIB].prediction.bound in ("translations", "link")
    assert bounds["masked", 256 * MIB].prediction.bound == "link"


def test_traversals_that_pull_are_not_predicted_by_those_that_push(tmp_path, known):
    file = predictable()
    pulled = [row for row in file.rows if row["case"]["family"].startswith("traversal/")]
    for row in pulled:
        row["case"]["axes"]["direction"] = "pull"
    found = programs.of(reader.read(file.write(tmp_path / "result.json")))
    assert found.left_out == (("vertices that ask their neighbours do other work", len(pulled)),)
    assert len(found.rows) == len(programs.of(known).rows) - len(pulled) > 0


def test_the_memory_of_a_table_is_the_one_that_is_asked(known):
    managed = [one for one in programs.of(known, FITTED).rows if "memory" in one.row.case.axes]
    pinned = rates.of(known)
    for one in managed:
        assert one.prediction.seconds < times.predict(one.row, pinned, WORK).seconds / 3
    assert {one.group for one in managed} == {"gather", "traversal"}


def gather(known: Result, size: int, **axes: object) -> Row:
    """A gather of 64 MiB in rows of this size, otherwise as the machine's rows of whole lines."""
    asked = {"mode": "masked", "span": 8 * GIB}.items()
    row = next(one for one in known.of("gather") if one.case.axes.items() >= asked)
    axes = {**row.case.axes, "row": size, **axes}
    axes.pop("memory", None)
    case = replace(row.case, axes=axes)
    counters = {"unique_bytes": 16.0 * MIB, "requests_per_row": size / 128}
    traffic = replace(row.traffic, requests=(64 * MIB) // 128, bytes=64 * MIB, amplification=1.0)
    return replace(row, case=case, bytes=64 * MIB, counters=counters, traffic=traffic)


HOST = WORK | {"gather.host_row": 0.05, "gather.host_line": 0.1, "gather.turns": 0.75}


def test_a_gather_by_the_host_takes_what_its_threads_wait_for_rows_and_lines(known):
    found = rates.of(known)

    def seconds(size: int, threads: float = 16) -> float:
        row = gather(known, size, mode="cpu_gather", store="pageable")
        return times.predict(row, replace(found, host_threads=threads), HOST).seconds

    for size, lines in ((32, 1), (128, 2), (4096, 64)):
        waits = (64 * MIB / size) * (0.05 + 0.1 * lines) * TRUE.host_load_s / 16
        assert seconds(size) == pytest.approx(waits, rel=0.05), size
    assert seconds(1024, threads=8) == pytest.approx(2 * seconds(1024), rel=0.05)
    # The memory's rate is the least that any number of threads takes: a third of a copy's time.
    assert seconds(1024, threads=1e6) == pytest.approx(64 * MIB / (3 * TRUE.host_rate), rel=0.01)
    copied = times.predict(gather(known, 32, mode="cpu_gather_dma", store="pinned"), found, HOST)
    assert copied.parts["copies"] == pytest.approx(1.75 * 64 * MIB / TRUE.copy_rate, rel=0.01)


def test_rows_in_order_come_once_to_each_block_of_a_kernel(known):
    """16 of 64 MiB differ: of short rows a block has many, and of a row of its own size one."""
    shares = {32: 1 / 4 + 3 / 4 / 128, 1024: 1 / 4 + 3 / 4 / 4, 4096: 1.0}
    for size, share in shares.items():
        row = gather(known, size, mode="address_ordered", indices="zipf")
        whole = times.predict(gather(known, size, mode="masked"), rates.of(known), WORK).parts["link"]
        assert times.predict(row, rates.of(known), WORK).parts["link"] == pytest.approx(share * whole), size
    often = gather(known, 1024, mode="graphbolt", indices="zipf")
    whole = times.predict(gather(known, 1024, mode="masked"), rates.of(known), WORK).parts["link"]
    assert times.predict(often, rates.of(known), WORK).parts["link"] == pytest.approx(whole)


def test_managed_memory_with_a_hint_is_not_predicted_by_faults(known):
    managed = gather(known, 512, store="managed", hint="read_mostly")
    with pytest.raises(times.UnpredictedError, match="hints to the driver"):
        times.predict(managed, rates.of(known), WORK | {"gather.fault": 1.0})
    # What is read in place is read as managed memory that prefers the host is.
    there = gather(known, 512, store="managed", hint="accessed_by")
    held = gather(known, 512, memory="managed_host")
    known_of = rates.by_row(known)
    assert known_of(there) == rates.of(known, memory="managed_host") != rates.of(known)
    assert times.predict(there, known_of(there), WORK) == times.predict(
        held, rates.of(known, memory="managed_host"), WORK
    )
    none = replace(managed, case=replace(managed.case, axes={**managed.case.axes, "hint": "none"}))
    assert times.predict(none, rates.of(known), WORK | {"gather.fault": 1.0}).bound == "faults"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"byte_s": TRUE.byte_s * 1.5, "request_s": TRUE.request_s * 1.5}, id="link"),
        pytest.param({"miss_s": TRUE.miss_s * 3}, id="misses"),
        pytest.param({"first_s": TRUE.first_s * 6}, id="first misses"),
        pytest.param({"block_miss_s": TRUE.miss_s}, id="misses of another kind of memory"),
        pytest.param({"launch_and_wait_s": 300e-6}, id="launches"),
    ],
)
def test_wrong_rates_are_seen(tmp_path, wrong):
    file = predictable(told=replace(TRUE, **wrong))
    found = programs.of(reader.read(file.write(tmp_path / "result.json")), FITTED)
    assert max(abs(one.error) for one in found.rows) > 0.25


def test_constants_of_an_algorithm_are_fitted_back(known):
    rate = rates.of(known)
    seen = [(row, rate) for row in known.of("traversal/bfs") if row.case.axes["placement"] == "device"]
    # Two rows of other shares of lists and edges, so that the two constants can be told apart.
    (row, _), many = seen[0], []
    for lists, edges in ((1_000, 30_000_000), (900_000, 1_000_000)):
        levels = (replace(row.levels[0], active=lists, edges=edges),)
        other = replace(row, levels=levels, counters={"edges_read": float(edges)}, trials=())
        many.append((replace(other, median_s=times.predict(other, rate, WORK).seconds), rate))
    found = times.fit([*seen, *many])
    assert found["traversal.bfs.edge"] == pytest.approx(WORK["traversal.bfs.edge"], rel=0.02)
    assert found["traversal.bfs.list"] == pytest.approx(WORK["traversal.bfs.list"], rel=0.02)


# What a prediction may look at


def slowed(result: Result, factor: float) -> Result:
    """Programs with every time in them this many times as long, and every rate as much lower."""

    def times_longer(counters):
        longer = {name: value * factor for name, value in counters.items() if name.endswith("_s")}
        less = {name: value / factor for name, value in counters.items() if name.endswith(("per_s", "teps"))}
        return {**counters, **longer, **less}

    rows = []
    for row in result.rows:
        if times.is_program(row) and row.measured:
            trials = tuple(
                replace(
                    one,
                    samples_s=tuple(factor * s for s in one.samples_s),
                    counters=times_longer(one.counters),
                )
                for one in row.trials
            )
            levels = tuple(replace(one, seconds=one.seconds and factor * one.seconds) for one in row.levels)
            changed = {"visits": (), "interval_s": None, "bandwidth_gb_s": 1.0, "link_fraction": None}
            row = replace(
                row, median_s=factor * row.median_s, trials=trials, levels=levels,
                counters=times_longer(row.counters), **changed,
            )  # fmt: skip
        rows.append(row)
    return replace(result, rows=tuple(rows))


def test_no_time_of_a_predicted_row_is_looked_at(quick):
    before, after = programs.of(quick), programs.of(slowed(quick, 3.0))
    assert len(before.rows) > 100
    for one, two in zip(before.rows, after.rows, strict=True):
        assert two.row.median_s == pytest.approx(3 * one.row.median_s)
        assert two.prediction == one.prediction, one.row.name


def test_rates_are_of_microbenchmarks_alone(quick):
    kept = tuple(row for row in quick.rows if row.case.family.startswith(rates.SOURCES))
    assert rates.of(replace(quick, rows=kept)) == rates.of(quick)
    assert not any(source.startswith(times.FAMILIES) for source in rates.SOURCES)


def test_a_machine_is_predicted_by_constants_of_other_gpus():
    shipped = times.shipped()["constants"]
    own = dict.fromkeys(shipped["H100"], 1000000.0)
    changed = {**shipped, "H100": own}
    assert times.held_out("NVIDIA H100 80GB HBM3", changed) == times.held_out(
        "NVIDIA H100 80GB HBM3", shipped
    )
    assert times.held_out("NVIDIA H200", changed) != times.held_out("NVIDIA H200", shipped)
    assert times.held_out("NVIDIA H200", shipped) == pytest.approx(shipped["H100"])
    other = times.held_out("AMD Instinct", shipped)
    name = "lean.bfs.step"
    assert other[name] == pytest.approx(math.sqrt(shipped["H100"][name] * shipped["H200"][name]))


# How good they are


@TOGETHER
@pytest.mark.parametrize("gpu", documented.RUNS)
def test_reference_runs_are_predicted_within_what_is_promised(gpu):
    found = documented.qualities(gpu)
    assert [one.group for one in found] == list(times.FAMILIES)
    for one in found:
        assert one.median <= 0.10, one
        assert one.ninth <= documented.PROMISED == 0.25, one
        assert all(programs.why(far) for far in one.beyond)
    assert sum(one.same for one in found) >= 0.9 * sum(one.choices for one in found)


@TOGETHER
def test_single_runs_are_predicted_as_well_as_all_together():
    far = [
        (names, one.group, one.ninth)
        for runs in documented.RUNS.values()
        for names in runs
        for one in programs.of(documented.result(names)).qualities
        if one.ninth > documented.PROMISED
    ]
    assert not far


@TOGETHER
def test_a_later_run_is_predicted_as_well_and_no_constant_is_fitted_to_it():
    assert documented.LATER not in [name for runs in documented.RUNS.values() for name in runs]
    found = documented.later_run()
    assert [one.group for one in found] == list(times.FAMILIES)
    assert all(one.median <= 0.10 and one.ninth <= documented.PROMISED for one in found)
    assert [one.same for one in found] == [one.choices for one in found]


@TOGETHER
@pytest.mark.parametrize("gpu", documented.RUNS)
def test_what_is_said_of_errors_is_what_they_are(gpu):
    for one in documented.qualities(gpu):
        said = times.shipped()["errors"][gpu][one.group]
        assert said["rows"] == one.rows
        assert said["ninth"] == pytest.approx(one.ninth, rel=0.02)
        assert times.off_by(one.group) >= said["ninth"]


def in_other_memory(result: Result) -> list[programs.WhatIf]:
    return [one for one in programs.what_ifs(result) if one.what == programs.OTHER]


SWAPPED = {"host_alloc": "managed_host", "managed_host": "host_alloc"}


@TOGETHER
def test_what_ifs_are_as_emulated():
    joined = documented.result(documented.IN_OTHER_MEMORY["H200"])
    # Other kinds of memory are compared within one machine, which the halves of `full` are not.
    wide = (documented.result(names) for runs in documented.RUNS.values() for names in runs)
    changed = [one for run in wide for one in programs.what_ifs(run) if one.what != programs.OTHER]
    found = [*in_other_memory(joined), *changed]
    for what in (programs.FEWER, programs.SHARED, programs.OTHER):
        errors = sorted(abs(one.error) for one in found if one.what == what)
        assert errors[len(errors) // 2] < 0.03, what
        assert errors[-1] < (0.06 if what == programs.OTHER else 0.40), what
    few = [one for one in found if one.row.counters.get("seen_sms", 0) >= 8]
    assert len(few) > 40
    assert max(abs(one.error) for one in few) < 0.06
    wrong = tuple(
        replace(
            row, case=replace(row.case, axes={**row.case.axes, "memory": SWAPPED[row.case.axes["memory"]]})
        )
        if row.case.axes.get("memory") in SWAPPED and row.case.family == "reach/gather"
        else row
        for row in joined.rows
    )
    assert max(one.error for one in in_other_memory(replace(joined, rows=wrong))) > 5


@TOGETHER
def test_programs_in_another_kind_of_memory_on_the_h100_are_as_predicted_but_for_single_rows():
    found = documented.in_other_memory("H100")
    assert {one.row.case.family.partition("/")[0] for one in found} == set(times.FAMILIES)
    errors = sorted(abs(one.error) for one in found)
    assert errors[len(errors) // 2] < 0.02
    assert errors[int(0.9 * len(errors))] < 0.11
    worst = max(found, key=lambda one: abs(one.error))
    assert worst.row.case.axes["access"] == "naive"
    # Joins of compressed lists, and rows that are asked for thousands of times.
    others = [one for one in found if abs(one.error) > 0.15 and one is not worst]
    assert {(one.row.case.family, one.row.case.axes.get("indices")) for one in others} == {
        ("lean/cc", None), ("gather", "zipf"),
    }  # fmt: skip
    assert len(others) == 2
    assert max(abs(one.error) for one in others) < 0.25
    assert (
        max(
            abs(one.error)
            for one in found
            if one.row.case.family.startswith("traversal/") and one is not worst
        )
        < 0.2
    )
    # Where kinds are apart by as much as a half, and more, that is predicted.
    apart = [ways for ways in documented.between_kinds("H100") if ratio(ways, measured) > 1.5]
    assert len(apart) == 3
    for ways in apart:
        assert documented.said(ways) == documented.SAID[0]
        assert ratio(ways, predicted_s) == pytest.approx(ratio(ways, measured), rel=0.1)


def measured(one: programs.Predicted) -> float:
    return one.row.median_s


def predicted_s(one: programs.Predicted) -> float:
    return one.prediction.seconds


def ratio(ways: programs.Choice, of) -> float:
    return max(map(of, ways.ways)) / min(map(of, ways.ways))


def test_another_kind_of_memory_is_predicted_from_rows_over_the_usual(known, tmp_path):
    found = in_other_memory(known)
    assert {one.row.case.family for one in found} == {"gather", "traversal/bfs"}
    assert max(abs(one.error) for one in found) < 0.05
    wrong = in_other_memory(gathered(tmp_path, lambda memory, _: {SWAPPED[memory]: 1.0}))
    assert min(one.error for one in wrong) > 0.1
    assert max(one.error for one in wrong) > 5
    # Times of the rows over the usual kind are not looked at, and where there are none nothing is said.
    assert [one.seconds for one in in_other_memory(slowed(known, 3.0))] == [one.seconds for one in found]
    others = tuple(row for row in known.rows if not times.is_program(row) or "memory" in row.case.axes)
    assert in_other_memory(replace(known, rows=others)) == []


def test_memory_is_a_way_to_hold_a_table(known):
    ways = [{one.row.case.axes.get("memory") for one in choice.ways} for choice in programs.of(known).choices]
    assert {None, "managed_host"} in ways


# Choices


def choices_of(tmp_path, *rows: tuple[str, int, float]) -> list[programs.Choice]:
    """Choices between traversals by access and edge; each takes so many times as long as predicted."""
    file = predictable()
    file.rows = [row for row in file.rows if times.FAMILIES[1] not in row["case"]["family"]]
    for access, edge, factor in rows:
        synthetic_programs.add_search(file, TRUE, "mapped", access)
        row = file.rows[-1]
        row["case"]["axes"]["edge"] = edge
        row["name"] += f"/edge:{edge}"
        row["median_s"] *= factor
    found = programs.of(reader.read(file.write(tmp_path / "result.json")), FITTED)
    return [choice for choice in found.choices if choice.fastest.group == "traversal"]


def test_the_same_way_is_fastest(tmp_path):
    (choice,) = choices_of(tmp_path, ("merged", 8, 1.0), ("merged_aligned", 8, 1.5))
    assert choice.fastest.row.case.axes["access"] == "merged"
    assert choice.same


def test_ways_that_are_predicted_alike_are_no_other_choice(tmp_path):
    (choice,) = choices_of(tmp_path, ("merged", 8, 1.2), ("merged_aligned", 8, 1.0))
    assert choice.same


def test_ways_within_their_uncertainty_are_no_choice(tmp_path):
    assert choices_of(tmp_path, ("merged", 8, 1.0), ("merged_aligned", 8, 1.01)) == []


# Where it shows


def test_the_summary_and_the_figure_have_it(known, capsys, tmp_path):
    path = predictable().write(tmp_path / "result.json")
    assert main(["summary", "--full", str(path)]) == 0
    out = capsys.readouterr().out
    assert "programs predicted from microbenchmarks" in out
    assert main(["summary", "--json", str(path)]) == 0
    groups = {one["group"]: one for one in json.loads(capsys.readouterr().out)["predicted"]}
    assert groups["gather"]["rows"] == 10
    assert groups["gather"]["median_error"] < 0.03
    (entry,) = [one for one in FIGURES if one.id == "20"]
    made = figure(entry, machines([known]))
    assert [panel.title.partition(":")[0] for panel in made.panels] == ["gather", "traversal"]
    points = [
        point for panel in made.panels for curve in panel.curves if curve.marked for point in curve.points
    ]
    assert len(points) == ROWS
    assert Analysis(machines([known])[0]).predictions.rows


# Buying


TOML = """
name = "searches"
reference = "{reference}"
[[component]]
name = "search"
share = 0.7
where = {{ family = "{family}", {where} }}
metric = "median_s"
[[component]]
name = "pieces"
share = 0.3
where = {{ family = "grain/pieces", method = "copy_engine", path = "host_to_gpu" }}
along = "grain"
sizes = {{ "1MiB" = 1 }}
[[candidate]]
name = "A"
files = ["{one}"]
[[candidate]]
name = "B"
files = ["{two}"]
"""
KRON19 = 'graph = "kron19", placement = "mapped", edge = 8'


def judged(tmp_path, reference, one, two, family="traversal/bfs", where=KRON19) -> dict:
    path = tmp_path / "workload.toml"
    path.write_text(TOML.format(reference=reference, one=one, two=two, family=family, where=where))
    return verdict.reach(workload.load(path), 200, 1)


def test_a_component_is_predicted_on_all_machines_where_one_ran_quick_only(tmp_path):
    lacking = ROOT / "acceptance/h100-a.json.gz"  # of scale 20
    said = judged(tmp_path, QUICK, QUICK, lacking)
    assert said["components"][0]["label"] == "predicted"
    assert said["components"][0]["name"] == "search (predicted)"
    assert "predicted on every machine and measured on none, because of B" in said["warnings"][0]
    by_name = {one["name"]: one for one in said["candidates"]}
    assert by_name["A"]["time"]["value"] == pytest.approx(1.0)
    assert by_name["A"]["time"]["low"] == by_name["A"]["time"]["high"] == pytest.approx(1.0)
    told = by_name["B"]["time"]
    # Another H100 takes about as long; how sure that is has the error of the model.
    assert told["value"] == pytest.approx(1.0, abs=0.1)
    assert told["high"] / told["low"] > 1.25
    assert said["components"][1]["label"] == "measured"


def test_what_is_predicted_is_not_mixed_with_what_was_measured(tmp_path):
    path = tmp_path / "workload.toml"
    lacking = ROOT / "acceptance/h100-a.json.gz"
    path.write_text(
        TOML.format(reference=QUICK, one=QUICK, two=lacking, family="traversal/bfs", where=KRON19)
    )
    asked = workload.load(path)
    reference, found = buying.read(asked)
    slow = replace(
        reference, nodes=tuple(tuple(slowed(one, 3.0) for one in node) for node in reference.nodes)
    )
    medians = []
    for one in (reference, slow):
        changed, *machines_of, substitutes = predict.with_predictions(asked, one, found)
        assert [component.label for component in changed.components] == ["predicted", "measured"]
        assert [each.component for each in substitutes] == ["search"]
        rows = [row for machine in (machines_of[0], *machines_of[1]) for row in machine.results[0].rows]
        made = [row for row in rows if row.label == "predicted"]
        assert {row.case.family for row in made} == {"traversal/bfs"}
        medians.append([row.median_s for row in made])
    assert len(medians[0]) > 3
    assert medians[0] == medians[1]


def test_rows_of_another_kind_are_asked_for_as_before(tmp_path):
    lacking = ROOT / "acceptance/h100-a.json.gz"
    with pytest.raises(NotComparableError):
        judged(tmp_path, QUICK, QUICK, lacking, "pipeline/graphsage", 'graph = "kron19", gpus = 1, row = 512')


def test_what_a_machine_could_not_measure_is_not_predicted(tmp_path):
    where = 'store = "mapped", mode = "masked", row = 128, span = "8GiB", indices = "uniform"'
    reference = predictable().write(tmp_path / "reference.json")
    file = predictable(date="2026-11-21T10:15:00+00:00")
    cases = [row["case"] for row in file.rows]
    beyond = [one for one in cases if one["family"] == "gather" and one["axes"]["span"] == 8 * GIB]
    file.rows = [row for row in file.rows if row["case"] not in beyond]
    for one in beyond:
        file.lose("skipped", "the table does not fit", one["family"], one["axes"], one["site"])
    other = file.write(tmp_path / "other.json")
    said = judged(tmp_path, reference, reference, other, "gather", where)
    assert [one["passed"] for one in said["candidates"]] == [True, False]
    assert said["components"][0]["label"] == "measured"


def test_what_cannot_be_predicted_is_refused(tmp_path):
    reference = ROOT / "h200x2-full.json.gz"
    where = 'store = "multi_gpu", indices = "uniform", row = 1028, hot = 100'
    with pytest.raises(ReportError, match="cannot be predicted: rates of multi_gpu"):
        judged(tmp_path, reference, reference, QUICK, "gather", where)
