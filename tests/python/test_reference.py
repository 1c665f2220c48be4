"""Every committed reference run is valid and can be summarised."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from grainscope_report import digest, reader
from grainscope_report.commands.validate import problems

ROOT = Path(__file__).resolve().parents[2] / "results" / "reference"
FILES = sorted([*ROOT.glob("**/*.json"), *ROOT.glob("**/*.json.gz")])
MOST_BYTES = 4 << 20


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_a_reference_run_is_valid(path):
    assert problems(reader.load(path)[1]) == []
    assert digest.groups(reader.read(path))
    assert path.stat().st_size < MOST_BYTES
    assert f"`{path.name}`" in (ROOT / "README.md").read_text()


def test_counters_are_the_model_s_to_the_last_request():
    """Sorted rows repeat side by side, where the GPU asks once for what the model counts twice."""
    rows = [row for row in reader.load(ROOT / "h100-counted.json")[1]["benchmarks"] if row.get("counted")]
    assert len(rows) == 42
    for row in rows:
        counted, traffic = row["counted"], row["traffic"]
        without_cache = row["counters"].get("requests_without_cache", traffic["requests"])
        least = 0.98 if row["case"]["axes"].get("mode") in ("address_ordered", "graphbolt") else 1
        assert least * without_cache <= counted["requests"] <= without_cache, row["name"]
        assert least * traffic["bytes"] <= counted["bytes"] <= traffic["bytes"], row["name"]


def test_counters_of_unaligned_reads_are_the_model_s():
    """Within a hundredth, but of reads 4 bytes after a line: two warps share a sector, and which asks first
    is chance."""
    rows = {
        row["case"]["axes"]["offset"]: row
        for row in reader.load(ROOT / "h100-quick.json")[1]["benchmarks"]
        if row.get("counted") and row["case"]["family"] == "transfer/zero_copy"
    }
    assert set(rows) == {4, 32, 64}
    for offset, row in rows.items():
        counted, traffic, counters = row["counted"], row["traffic"], row["counters"]
        most = traffic["bytes"] * counters["amplification_without_cache"] / traffic["amplification"]
        assert traffic["bytes"] <= counted["bytes"] <= most
        least = 0.93 if offset == 4 else 0.99
        assert least <= counted["requests"] / counters["requests_without_cache"] <= 1


def test_a_tenth_of_the_rows_saves_most_of_the_link():
    rows = {
        row.case.axes["score"]: row.counters for row in reader.read(ROOT / "no-gpu-kron24-tiers.json").rows
    }
    assert rows["presampled"]["hit_rate_10"] >= 0.85
    assert rows["presampled"]["of_optimal_10"] >= 0.95


def emogi_table():
    """Ours and EMOGI's milliseconds, as `docs/traversal.md` has them."""
    columns = [("kron24", 8), ("kron24", 4), ("urand24", 8), ("urand24", 4)]
    text = (ROOT.parents[1] / "docs" / "traversal.md").read_text()
    lines = re.findall(r"^\| (bfs|sssp|cc|pr) \| (\d.*\)) \|$", text, re.MULTILINE)
    for algorithm, cells in lines:
        for (graph, edge), cell in zip(columns, cells.split(" | "), strict=True):
            ours, theirs = re.findall(r"[\d.]+", cell)
            yield algorithm, graph, edge, float(ours), float(theirs)


def test_the_table_of_placements_is_the_reference_s():
    rows = {
        (row.case.family.removeprefix("traversal/"), row.case.axes["placement"]): 1e3 * row.median_s
        for row in reader.read(ROOT / "h100-full.json.gz").rows
        if row.ok
        and row.case.family.startswith("traversal/")
        and (row.case.axes["graph"], row.case.axes["edge"], row.case.axes["order"])
        == ("kron21", 8, "original")
        and row.case.axes["access"] in ("merged_aligned", "compact")
    }
    text = (ROOT.parents[1] / "docs" / "traversal.md").read_text()
    lines = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text, re.MULTILINE)
    assert [line[0] for line in lines] == ["bfs", "sssp", "cc", "pr"]
    for algorithm, *cells in lines:
        for placement, cell in zip(("mapped", "managed", "subway", "device"), cells, strict=True):
            assert float(cell) == float(f"{rows[algorithm, placement]:.3g}"), (algorithm, placement)


def test_no_traversal_is_slower_than_emogis_own_code():
    rows = [
        row
        for name in ("h100-scale24.json", "h100-emogi24.json")
        for row in reader.read(ROOT / name).rows
        if row.case.family.startswith("traversal/") and row.case.axes["placement"] == "mapped"
    ]
    table = list(emogi_table())
    assert len(table) == 16
    for algorithm, graph, edge, said, emogi in table:
        best = 1e3 * min(
            row.median_s
            for row in rows
            if row.case.family == f"traversal/{algorithm}"
            and (row.case.axes["graph"], row.case.axes["edge"]) == (graph, edge)
            and (row.case.axes.get("sources") == "emogi") == (algorithm in ("bfs", "sssp"))
        )
        assert float(f"{best:.3g}") == said, f"{algorithm} {graph} {edge}"
        assert best < emogi, f"{algorithm} {graph} {edge}"


def test_full_ends_within_a_quarter_of_an_hour_on_one_gpu():
    """From its beginning to its end, with a pause between two pieces."""
    run = reader.load(ROOT / "h100-full.json.gz")[1]["context"]["run"]
    assert run["complete"]
    took = datetime.fromisoformat(run["ended"]) - datetime.fromisoformat(run["started"])
    assert took < timedelta(minutes=15)
