"""Every committed reference run is valid, complete and as long as the docs say."""

from datetime import datetime, timedelta

import pytest

from grainscope_report import analysis, reader
from references import ROOT, quick_rows, raw, said

FILES = sorted([*ROOT.glob("**/*.json"), *ROOT.glob("**/*.json.gz")])
MOST_BYTES = 4 << 20


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_a_reference_run_is_valid(path):
    assert reader.problems(*reader.load(path)) == []
    assert analysis.groups_of(reader.read(path))
    assert path.stat().st_size < MOST_BYTES
    assert f"`{path.name}`" in (ROOT / "README.md").read_text()


def test_counters_are_the_model_s_to_the_last_request():
    """Sorted rows repeat side by side, where the GPU asks once for what the model counts twice."""
    rows = [row for row in raw("h100-counted.json") if row.get("counted")]
    assert len(rows) == 42
    for row in rows:
        counted, traffic = row["counted"], row["traffic"]
        without_cache = row["counters"].get("requests_without_cache", traffic["requests"])
        least = 0.98 if row["case"]["axes"].get("mode") in ("address_ordered", "graphbolt") else 1
        assert least * without_cache <= counted["requests"] <= without_cache, row["name"]
        assert least * traffic["bytes"] <= counted["bytes"] <= traffic["bytes"], row["name"]


def test_counters_of_unaligned_reads_are_the_model_s():
    """Within a hundredth, but of reads 4 bytes after a line: two warps share a sector, and which asks first
    is chance: 7.3 % fewer requests."""
    rows = {
        row["case"]["axes"]["offset"]: row
        for row in raw("h100-quick-after.json.gz")
        if row.get("counted") and row["case"]["axes"].get("access") == "merged"
    }
    assert set(rows) == {4, 32, 64}
    for offset, row in rows.items():
        counted, traffic, counters = row["counted"], row["traffic"], row["counters"]
        most = traffic["bytes"] * counters["amplification_without_cache"] / traffic["amplification"]
        assert traffic["bytes"] <= counted["bytes"] <= most
        least = 0.925 if offset == 4 else 0.99
        assert least <= counted["requests"] / counters["requests_without_cache"] <= 1


def test_what_streams_device_memory_keeps_most_of_its_rate():
    kept = [
        quick_rows()[f"contention/beside_device_stream/{path}/kernel_copy/numa:0/gpu:0/bytes:134217728"][
            "counters"
        ]["partner_kept"]
        for path in ("host_to_gpu", "gpu_to_host")
    ]
    told = "the stream then keeps {:.0f} % of its rate beside a copy to the GPU, and {:.0f} % beside one"
    assert told.format(*(100 * one for one in kept)) in said("method.md")


def is_slower_alone(lane: dict) -> bool:
    """As `benchmarks/harness/row.cpp` flags a row."""
    high = lane.get("within_s", (lane["median_s"],) * 2)[1]
    return not lane["background"] and lane.get("alone_s", 0) > 1.05 * high


def test_rows_that_were_slower_alone_are_as_many_as_told():
    counts, prefetches, most = [], [], 0.0
    for name in ("h100-full.json.gz", "h100-full-after.json.gz"):
        rows = [row for row in raw(name) if row["status"] == "ok"]
        asked = [row for row in rows if any("alone_s" in lane for lane in row.get("lanes", ()))]
        slower = [row for row in asked if any(map(is_slower_alone, row["lanes"]))]
        duplex = [row["lanes"] for row in slower if "/host_gpu/prefetch/" in row["name"]]
        counts.append((len(asked), len(slower)))
        prefetches.append(len(duplex))
        most = max(most, *(lanes[0]["alone_s"] / lanes[0]["median_s"] for lanes in duplex))
    (asked, first), (_, second) = counts
    text = said("method.md")
    assert f"Of {asked} rows with times alone in two runs of an H100, {first} and {second} were" in text
    assert "{} and {} of them are prefetches both ways".format(*prefetches) in text
    assert f"takes up to {most:.1f} times as long by itself" in text


def test_counters_of_fewer_bytes_are_within_what_the_model_asks_for():
    """What two lists share is read once, by the cache; hot beginnings leave nothing to share."""
    rows = [row for row in raw("h100-lean20.json.gz") if row.get("counted")]
    assert len(rows) == 8
    for row in rows:
        axes, counted, traffic = row["case"]["axes"], row["counted"], row["traffic"]
        least = 1 if axes["tier"] == "heads" else 0.82
        for what in ("requests", "bytes"):
            assert least <= counted[what] / traffic[what] <= 1, row["name"]


@pytest.mark.parametrize(
    ("name", "gpus", "limit"),
    [
        pytest.param("h100-full.json.gz", 1, timedelta(minutes=15), id="one"),
        pytest.param("h200x2-full.json.gz", 2, timedelta(minutes=20), id="two"),
    ],
)
def test_full_ends_in_time(name, gpus, limit):
    """Its pieces together; the H200's file says how long its last one took, and when both began and ended."""
    _, result = reader.load(ROOT / name)
    run = result["context"]["run"]
    assert run["complete"]
    assert len(result["context"]["environment"]["gpus"]) == gpus
    took = (
        timedelta(seconds=run["wall_s"])
        if gpus == 1
        else datetime.fromisoformat(run["ended"]) - datetime.fromisoformat(run["started"])
    )
    measured = timedelta(
        seconds=sum(visit["visit_s"] for row in result["benchmarks"] for visit in row.get("visits", ()))
    )
    assert measured < took < limit


def test_no_row_failed():
    for name in ("h200x2-full.json.gz", "h200x2-quick.json", "h100-full.json.gz", "h100-quick.json"):
        counts = reader.load(ROOT / name)[1]["context"]["run"]["counts"]
        assert counts["failed"] == 0
