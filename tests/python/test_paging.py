"""What documents say of managed memory by the model, beside the reference runs."""

import re
from dataclasses import replace

import pytest

from documents import paging, rows_of

EVERY = {name for gpu in paging.RUNS for name in paging.with_visits(gpu)}
TRAVERSALS = [row for row in rows_of(paging.FULL) if row.ok and paging.by_a_traversal(row)]


def test_each_page_of_a_cold_traversal_is_brought_once_by_the_program_too():
    plain = [row for row in TRAVERSALS if row.case.axes["order"] == "original"]
    assert len(plain) == 6
    for row in plain:
        algorithm = row.case.family.partition("/")[2]
        counters = paging.uvm(algorithm, row.case.axes["graph"], 100).counters
        assert (
            counters["moved_pages"] == counters["touched_bytes"] / paging.PAGE == paging.of_a_traversal(row)
        )


@pytest.mark.parametrize("gpu", paging.RUNS)
def test_every_piece_on_demand_moved_the_bytes_that_the_model_says(gpu):
    found = {
        kind: [one.bytes_off for one in paging.held(gpu, kind) if one.bytes_off is not None]
        for kind in paging.KINDS
    }
    of_searches = found.pop(paging.TRAVERSALS)
    whole = [share for shares in found.values() for share in shares]
    assert len(whole) > 40
    assert set(whole) == {0.0}
    # The last page of a list is not whole, and the driver copies what there is of it.
    assert all(0 <= share < 0.001 for share in of_searches)
    assert bool(of_searches) == bool(paging.COUNTED[gpu])


def test_pages_of_another_size_would_be_seen(monkeypatch):
    monkeypatch.setattr(paging, "PAGE", 2 << 20)
    monkeypatch.setattr(paging, "fault_s", lambda: 4.8e-6)
    (kind, *_) = paging.KINDS
    assert max(one.bytes_off for one in paging.held("H100", kind)) > paging.NEAR_BYTES


@pytest.mark.parametrize("gpu", paging.RUNS)
def test_every_cold_traversal_is_modelled_as_far_off_as_the_page_says(gpu):
    shares = [one.time_off for one in paging.held(gpu, paging.TRAVERSALS)]
    least, most = paging.FARTHEST
    assert least < min(shares)
    assert max(shares) < most
    (line,) = (line for line in paging.cold().splitlines() if f"| {paging.TRAVERSALS} | {gpu} |" in line)
    assert f"| {paging.signed(min(shares))} to {paging.signed(max(shares))} |" in line


@pytest.mark.parametrize("gpu", paging.RUNS)
def test_cold_traversals_that_are_modelled_too_short_are_of_pr_and_named(gpu):
    assert {one.row.case.family for one in paging.too_short(gpu)} <= {"traversal/pr"}
    for one in paging.too_short(gpu):
        [said] = re.findall(rf"over {one.row.case.axes['graph']} \((.+?)\)", paging.cold_short(gpu))
        assert f"{one.row.case.axes['edge']} bytes: {-100 * one.time_off:.0f} %" in said


def test_cold_traversals_are_of_every_stored_run_with_visits():
    assert {"h100-paper-pr.json.gz", "h100-kron24-managed.json.gz"} <= set(paging.with_visits("H100"))
    assert "h200-paper-bfs.json.gz" in paging.with_visits("H200")
    left = [line for line in paging.traversed() if line["file"] not in EVERY]
    assert {line["schema"] for line in left if line["gpus"]} == {paging.FIRST_SCHEMA}
    assert {one.row.case.axes["graph"] for one in paging.too_short("H100")} == {"kron24", "urand24", "web22"}


def test_the_driver_brings_no_fewer_pages_than_the_model_and_each_once_where_all_fit():
    for row in paging.replayed():
        assert int(row["driver_pages"]) >= int(row["lru_pages"]), row
        if row["card"] == "100":
            assert int(row["lru_pages"]) == int(row["pages"])


def test_a_card_of_fewer_pages_needs_less_memory_and_more_time_in_the_table():
    lines = [line.strip("| ").split(" | ") for line in paging.memory().splitlines()[2:]]
    cells = {name: [float(part.split()[0]) for part in one.split(", ")] for name, one, *_ in lines}
    modelled = [cells[name] for name in cells if "modelled" in name]
    assert [size for size, _ in modelled] == sorted((size for size, _ in modelled), reverse=True)
    assert [time for _, time in modelled] == sorted(time for _, time in modelled)
    everything = [name for name, *others in lines if "not run" in others]
    assert everything == [name for name in cells if "HALO" in name]


def test_managed_pages_are_part_of_the_memory_that_is_needed():
    managed = paging.searched("kron21", paging.WAYS["managed, all pages fit"])
    device = paging.searched("kron21", paging.IN_THE_GPU["all edges in the GPU, 8 bytes"])
    assert paging.needed(managed) == pytest.approx(paging.needed(device), rel=1e-3)
    moved = replace(managed, case=device.case)
    assert paging.needed(moved) == managed.counters["gpu_bytes"]
