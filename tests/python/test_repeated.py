"""Type B from repeated runs: fitted to runs whose spreads are known, and the table that the suite has."""

import math
import operator
from pathlib import Path
from random import Random
from statistics import median

import pytest

from grainscope_report import reader, uncertainty, visits
from grainscope_report.errors import ReportError
from grainscope_report.visits import Measured, Visit
from references import PROJECT

RUNS = PROJECT / "results/reference/acceptance"
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
    (row,) = visits.type_b_table(runs)["families"]
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
    rows = visits.differences(planted(3, 0.03, seed=3))[FAMILY]
    assert visits.covered(rows, run) == pytest.approx(0.95, abs=0.02)
    assert visits.covered(rows, run / 4) < 0.8


def test_one_run_or_one_visit_tells_nothing():
    one_visit = [
        Measured(*list(vars(run).values())[:-1], {row: each[:1] for row, each in run.processes.items()})
        for run in planted(3, 0.03)
    ]
    for runs in (planted(1, 0.03), one_visit, []):
        with pytest.raises(ReportError, match="at least two runs of several visits"):
            visits.type_b_table(runs)


def test_kinds_of_machines_are_not_held_against_each_other():
    with_gpu, without = planted(3, 0.01, rows=40), planted(3, 0.1, rows=40, seed=5)
    without = [
        Measured(*[("", "CPU") if value == ("GPU", "CPU") else value for value in vars(run).values()])
        for run in without
    ]
    made = visits.type_b_table([*without, *with_gpu])
    assert made["machines"] == [{"gpu": "GPU", "cpu": "CPU"}, {"gpu": "", "cpu": "CPU"}]
    first, second = made["families"]
    assert second["machine"] == 1
    assert second["run"]["standard"] > 4 * first["run"]["standard"]
    found = visits.held_out([*without, *with_gpu])
    assert [(one.machine, one.runs, one.rows) for one in found] == [("GPU", 3, 240), ("CPU", 3, 240)]
    assert all(one.covered >= 0.9 for one in found)


def test_the_table_of_the_suite_is_what_the_study_says():
    made = visits.type_b_table([run for path in STUDY for run in visits.read(path)])
    assert uncertainty.TABLE.read_text() == visits.type_b_text(made), (
        "run `scripts/study results/reference/study/*.gz --table scripts/grainscope_report/type_b.json`"
    )


def test_what_the_suite_says_holds_for_runs_that_it_was_not_made_of():
    """Calibrated and still sharp: at least ten pairs of runs, held out by GPU where there are GPUs enough."""
    found = visits.held_out([run for path in STUDY for run in visits.read(path)])
    assert sum({one.machine: one.runs for one in found}.values()) >= 10
    assert {one.machine for one in found} >= {"NVIDIA H100 80GB HBM3", "NVIDIA H200", "AMD EPYC"}

    def share(name: str, of: str, clocks: tuple[str, ...] = ("gated", "open", "host", "quiet")) -> float:
        chosen = [one for one in found if one.clock in clocks]
        weights = [one.rows * (one.sharp if of == "sharp" else 1) for one in chosen]
        shares = [getattr(one, name) for one in chosen]
        return sum(map(operator.mul, weights, shares)) / sum(weights)

    assert share("apart", "rows") <= 0.02
    for clocks in (("gated",), ("open",), ("host", "quiet")):
        assert 0.93 <= share("covered", "rows", clocks) <= 0.98, clocks
    assert share("further", "sharp") <= 0.03
    assert share("sharp", "rows", ("gated",)) >= 0.8
    assert share("sharp", "rows") >= 0.4
    assert share("half", "rows", ("gated",)) <= 0.03


@pytest.mark.parametrize(("clocks", "most"), [({"gated"}, 0.03), ({"host", "quiet"}, 0.15)])
def test_intervals_of_todays_runs_are_narrow(clocks, most):
    """Of an H100; on CPUs alone, whose neighbours come and go, rows of all threads reach 15 to 22 %."""
    runs = [reader.read(RUNS / f"{name}.json.gz") for name in ("h100-c1", "h100-c2")]
    halves = [
        row.interval_s[1] / row.median_s - 1
        for run in runs
        for row in run.rows
        if row.measured and row.interval_s and uncertainty.clock_of({"timing": vars(row.timing)}) in clocks
    ]
    assert median(halves) <= most


def test_a_folder_of_runs_and_a_file_are_tables(tmp_path: Path):
    kept = tmp_path / "table.json"
    kept.write_text(uncertainty.TABLE.read_text())
    (table,) = visits.type_b_tables([kept])
    assert table.sha256 == uncertainty.at_hand().sha256
    with pytest.raises(ReportError, match="holds no runs"):
        visits.type_b_tables([tmp_path / "."] if not kept.unlink() else [])
