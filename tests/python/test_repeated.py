"""Type B from repeated runs: fitted to runs whose spreads are known, and the table that the suite has."""

import json
import math
from pathlib import Path
from random import Random

import pytest

from grainscope_report import repeated, uncertainty, visits
from grainscope_report.errors import ReportError
from grainscope_report.visits import Measured, Visit
from references import PROJECT

STUDY = sorted((PROJECT / "results/reference/study").glob("*.gz"))
FAMILY = ("fake", "gated")


def planted(
    runs: int, between: float, *, rows: int = 300, visit: float = 0.01, seed: int = 1
) -> list[Measured]:
    """Runs of three visits, which differ by `visit`, and whose rows differ by `between` from run to run."""
    draw = Random(seed).gauss
    found = []
    for run in range(runs):
        shifts = [draw(0, between) for _ in range(rows)]
        medians = {
            str(row): tuple((Visit(math.exp(shift + draw(0, visit)), 0.0),) for _ in range(3))
            for row, shift in enumerate(shifts)
        }
        clocks = dict.fromkeys(medians, FAMILY)
        started = f"2026-01-0{run + 1}"
        found.append(
            Measured("run", "0" * 64, started, "c", "m", ("GPU", "CPU"), {"fake": 2}, clocks, medians)
        )
    return found


def family(runs: list[Measured]) -> dict:
    (row,) = repeated.table(runs)["families"]
    return row


def test_planted_spreads_are_found():
    row = family(planted(4, 0.03))
    assert (row["family"], row["version"], row["clock"]) == ("fake", 2, "gated")
    # What is matched is the interval with 8 degrees of freedom for each run: somewhat less is enough.
    assert row["run"]["standard"] == pytest.approx(0.03, rel=0.25)
    assert row["visit"]["standard"] == pytest.approx(0.01, rel=0.25)


def test_runs_that_differ_by_their_visits_alone_ask_for_little_more():
    assert family(planted(3, 0.0))["run"]["standard"] < 0.006


def test_a_fitted_table_covers_other_runs():
    run = family(planted(4, 0.03, seed=2))["run"]["standard"]
    rows = repeated.differences(planted(3, 0.03, seed=3))[FAMILY]
    assert repeated.covered(rows, run) == pytest.approx(0.95, abs=0.02)
    assert repeated.covered(rows, run / 4) < 0.8


def test_one_run_or_one_visit_tells_nothing():
    one_visit = [
        Measured(*list(vars(run).values())[:-1], {row: each[:1] for row, each in run.processes.items()})
        for run in planted(3, 0.03)
    ]
    for runs in (planted(1, 0.03), one_visit, []):
        with pytest.raises(ReportError, match="at least two runs of several visits"):
            repeated.table(runs)


def test_kinds_of_machines_are_not_held_against_each_other():
    with_gpu, without = planted(3, 0.01, rows=40), planted(3, 0.1, rows=40, seed=5)
    without = [
        Measured(*[("", "CPU") if value == ("GPU", "CPU") else value for value in vars(run).values()])
        for run in without
    ]
    made = repeated.table([*without, *with_gpu])
    assert made["machines"] == [{"gpu": "GPU", "cpu": "CPU"}, {"gpu": "", "cpu": "CPU"}]
    first, second = made["families"]
    assert second["machine"] == 1
    assert second["run"]["standard"] > 4 * first["run"]["standard"]
    found = repeated.held([*without, *with_gpu], made)
    assert [(one.machine, one.rows) for one in found] == [("GPU", 120), ("CPU", 120)]
    assert all(one.covered >= 0.93 for one in found)


def test_the_table_of_the_suite_is_what_the_study_says():
    made = repeated.table([run for path in STUDY for run in visits.read(path)])
    assert uncertainty.TABLE.read_text() == repeated.text(made), (
        "run `scripts/study results/reference/study/*.gz --table scripts/grainscope_report/type_b.json`"
    )


def test_the_table_of_the_suite_covers_its_own_runs_and_stays_sharp():
    """Not held out, since two GPUs are too few for that."""
    runs = [run for path in STUDY for run in visits.read(path) if run.kind]
    found = {one.clock: one for one in repeated.held(runs, json.loads(uncertainty.TABLE.read_text()))}
    assert set(found) == {"gated", "open", "host"}
    rows = sum(one.rows for one in found.values())
    for one in found.values():
        assert 0.93 <= one.covered <= 0.985, one
    assert sum(one.apart * one.rows for one in found.values()) <= 0.02 * rows
    assert found["gated"].sharp >= 0.8
    assert sum(one.sharp * one.rows for one in found.values()) >= 0.4 * rows
    assert found["gated"].half <= 0.035


def test_a_folder_of_runs_and_a_file_are_tables(tmp_path: Path):
    kept = tmp_path / "table.json"
    kept.write_text(uncertainty.TABLE.read_text())
    (table,) = repeated.tables([kept])
    assert table.sha256 == uncertainty.at_hand().sha256
    with pytest.raises(ReportError, match="holds no runs"):
        repeated.tables([tmp_path / "."] if not kept.unlink() else [])
