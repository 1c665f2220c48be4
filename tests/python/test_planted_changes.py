"""What `compare` says of runs on real machines: nothing of two runs of one, and changes that were planted."""

import gzip
import json
from pathlib import Path

import pytest

from grainscope_report.cli import main
from references import PROJECT

RUNS = PROJECT / "results/reference/acceptance"
# One GPU twice, and two GPUs of one kind.
PAIRS = [("h100-b1", "h100-b2"), ("h100-c1", "h100-c2"), ("h200-a", "h200-b")]
TIMES = ("median_s", "real_time", "operation_s", "interval_s", "samples_s", "unsettled_s", "within_s")
RATES = ("bandwidth_gb_s", "items_per_second", "bytes_per_second")


def slowed(name: str, factor: float, folder: Path) -> Path:
    """The run with every measured row slower by a factor."""

    def scale(record: dict) -> None:
        for key in TIMES:
            if key in record:
                value = record[key]
                record[key] = [x * factor for x in value] if isinstance(value, list) else value * factor
        for key in RATES:
            if key in record:
                record[key] /= factor

    document = json.loads(gzip.decompress((RUNS / f"{name}.json.gz").read_bytes()))
    for row in document["benchmarks"]:
        if row["status"] == "ok" and row["label"] == "measured":
            for record in (row, *row["visits"]):
                scale(record)
    path = folder / f"{name}-{factor}.json"
    path.write_text(json.dumps(document))
    return path


def shares(pair: tuple[str, str], factor: float, folder: Path, clocks=None) -> dict[str, float]:
    """The share of each verdict among the questions on these clocks."""
    out = folder / "compared.json"
    main(["compare", str(RUNS / f"{pair[0]}.json.gz"), str(slowed(pair[1], factor, folder)), "-o", str(out)])
    rows = [
        row["verdict"]
        for row in json.loads(out.read_text())["new"][0]["rows"]
        if row["label"] == "measured" and (clocks is None or row["clock"] in clocks)
    ]
    return {
        verdict: rows.count(verdict) / len(rows) for verdict in {*rows, "slower", "faster", "likely slower"}
    }


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_of_one_machine_next_to_nothing_is_called_different(pair, tmp_path):
    found = shares(pair, 1.0, tmp_path)
    assert found["slower"] + found["faster"] <= 0.01


@pytest.mark.parametrize("pair", PAIRS[1:], ids="-".join)
def test_ten_percent_are_found_in_gated_rows(pair, tmp_path):
    found = shares(pair, 1.1, tmp_path, {"gated"})
    assert found["slower"] >= 0.8
    assert found["faster"] == 0


@pytest.mark.parametrize("pair", PAIRS[1:], ids="-".join)
def test_twenty_percent_are_found_in_all_rows(pair, tmp_path):
    """Certain or likely: on the host's clock few rows are certain by three visits."""
    found = shares(pair, 1.2, tmp_path)
    assert found["slower"] + found["likely slower"] >= 0.8
    assert found["slower"] >= 0.6
