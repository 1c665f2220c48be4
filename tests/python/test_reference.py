"""Every committed reference run is valid and can be summarised."""

from pathlib import Path

import pytest

from grainscope_report import digest, reader
from grainscope_report.commands.validate import problems

ROOT = Path(__file__).resolve().parents[2] / "results" / "reference"
FILES = sorted(ROOT.glob("**/*.json"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_a_reference_run_is_valid(path):
    assert problems(reader.load(path)[1]) == []
    assert digest.groups(reader.read(path))


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


def test_a_tenth_of_the_rows_saves_most_of_the_link():
    rows = {
        row.case.axes["score"]: row.counters for row in reader.read(ROOT / "no-gpu-kron24-tiers.json").rows
    }
    assert rows["presampled"]["hit_rate_10"] >= 0.85
    assert rows["presampled"]["of_optimal_10"] >= 0.95
