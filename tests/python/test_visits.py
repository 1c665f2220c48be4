"""Variance components of repeated measurements, on runs with planted spreads."""

import dataclasses
import gzip
import json
import math
import random
import subprocess
import sys

import pytest

from grainscope_report import visits
from grainscope_report.errors import ReportError
from grainscope_report.visits import Measured, Visit
from references import PROJECT

PLANTED = {"sample": 0.01, "visit": 0.02, "process": 0.05, "machine": 0.10}


def planted(
    machines: int, processes: int, visits_each: int, rows: int = 400, seed: int = 1
) -> list[Measured]:
    """Runs whose medians stray by PLANTED at each level; a run is a process."""
    draw = random.Random(seed).gauss
    of_machine = [[draw(0, PLANTED["machine"]) for _ in range(rows)] for _ in range(machines)]
    runs = []
    for machine in range(machines):
        for _ in range(processes):
            measured = {}
            for row in range(rows):
                process = of_machine[machine][row] + draw(0, PLANTED["process"])
                measured[str(row)] = (
                    tuple(
                        Visit(
                            math.exp(process + draw(0, PLANTED["visit"]) + draw(0, PLANTED["sample"])),
                            PLANTED["sample"],
                        )
                        for _ in range(visits_each)
                    ),
                )
            clocks = dict.fromkeys(measured, ("fake", "gated"))
            runs.append(
                Measured(
                    "run", "0" * 64, "2026", "c", f"m{machine}", ("GPU", "CPU"), {"fake": 1}, clocks, measured
                )
            )
    return runs


def test_planted_spreads_are_found_at_their_levels() -> None:
    (found,) = visits.components(planted(3, 3, 3))
    assert found.rows == 400
    for level, spread in PLANTED.items():
        assert found.whole[level] == pytest.approx(spread, rel=0.15), level


def test_a_level_with_one_member_is_not_told() -> None:
    (found,) = visits.components(planted(1, 3, 3))
    assert set(found.whole) == {"sample", "visit", "process"}
    (found,) = visits.components(planted(1, 1, 3))
    assert set(found.whole) == {"sample", "visit"}


def test_with_one_visit_a_process_the_two_levels_are_one() -> None:
    (found,) = visits.components(planted(1, 6, 1))
    both = math.hypot(PLANTED["visit"], PLANTED["process"])
    assert set(found.whole) == {"sample", "process"}
    assert found.whole["process"] == pytest.approx(both, rel=0.1)


def test_what_does_not_vary_has_no_spread() -> None:
    one = Visit(1.0, 0.0)
    assert visits.row_variances([[[one, one], [one, one]]]) == {"sample": 0, "visit": 0, "process": 0}


def test_typical_rows_leave_out_the_tenth_that_strays() -> None:
    runs = planted(1, 3, 3, rows=50)
    for run in runs:
        for row in range(3):
            ((first, *others),) = run.processes[str(row)]
            run.processes[str(row)] = ((Visit(first.median_s * 5, first.error), *others),)
    (found,) = visits.components(runs)
    assert found.typical["visit"] < 0.03 < 0.1 < found.whole["visit"]


def test_only_rows_of_all_runs_are_compared() -> None:
    first, second = planted(1, 2, 2, rows=10)
    del second.processes["3"]
    (found,) = visits.components([first, second])
    assert found.rows == 9


def test_kept_medians_give_the_same_components(tmp_path) -> None:
    runs = planted(2, 2, 2, rows=20)

    def named(each: dict) -> dict:
        return {json.dumps(["fake", {"n": q}, {}, "gated"], sort_keys=True): v for q, v in each.items()}

    named_runs = [
        dataclasses.replace(run, clocks=named(run.clocks), processes=named(run.processes)) for run in runs
    ]
    path = tmp_path / "kept.json.gz"
    path.write_bytes(gzip.compress(visits.kept(named_runs).encode()))
    (before,), (after,) = visits.components(named_runs), visits.components(visits.read(path))
    for level in PLANTED:
        assert after.whole[level] == pytest.approx(before.whole[level], rel=1e-2, abs=1e-4)


def test_the_interval_of_8_samples_reaches_further_than_that_of_many() -> None:
    assert visits._deviations(8) == pytest.approx(2.66, abs=0.01)
    assert visits._deviations(512) == pytest.approx(1.96, abs=0.15)


def test_a_result_is_read_and_the_command_prints_a_table(tmp_path, files) -> None:
    path = files["h100"]
    (run,) = visits.read(path)
    assert all(len(each) >= 1 for each in run.processes.values())
    assert run.processes
    out = subprocess.run(
        [sys.executable, PROJECT / "scripts/study", path, path, "--save", tmp_path / "kept.gz"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert out.startswith("2 runs, ")
    again = subprocess.run(
        [sys.executable, PROJECT / "scripts/study", tmp_path / "kept.gz"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert again.splitlines()[0] == out.splitlines()[0]


def test_what_is_no_result_is_refused(tmp_path) -> None:
    path = tmp_path / "result.json"
    path.write_text("{}")
    with pytest.raises(ReportError):
        visits.read(path)
