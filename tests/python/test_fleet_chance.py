"""How often chance is called a change: fleets and histories in which nothing changes, and some that do."""

import contextlib
import math
import random
from collections import defaultdict
from itertools import pairwise
from statistics import fmean, median

import pytest

from grainscope_report.cli import main
from grainscope_report.fleet import changes, screening, store, trend

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install duckdb")


def table(connection, name: str, columns: str, values: list[float]) -> None:
    """Makes a table of a row a value; columns are made of the value, `x`, and of its `place`."""
    drawn = "SELECT unnest(range(?)) AS place, unnest(CAST(? AS DOUBLE[])) AS x"
    connection.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM ({drawn})", [len(values), values])


def fleet(nodes: int, dates: int, values: list[float], software: str = "'driver 1'", gpus: int = 1):
    """What a screen makes of runs: values by family, node, date and GPU; `software` by `node` and `day`."""
    connection = duckdb.connect()
    runs = f"""'r' || place AS run, 'k' AS kind, place // {dates} AS node, place % {dates} AS day,
        'm' || node AS machine, DATE '2026-11-01' + CAST(day AS INTEGER) AS started,
        CAST(started AS VARCHAR) AS date, {software} AS software, if(day = {dates - 1}, 1, 2) AS back,
        {dates} AS runs"""
    table(connection, "chosen", runs, [0.0] * nodes * dates)
    effects = f"""'r' || (place // {gpus} % {nodes * dates}) AS run, 'k' AS kind, 'gated' AS clock, x,
        place % {gpus} AS gpu, 'f' || (place // {nodes * dates * gpus}) AS family"""
    table(connection, "effect", effects, values)
    connection.execute(screening._NODES)
    return connection


def history(runs: int, values: list[float], b: str = "NULL"):
    """The runs of a machine: values by family and run, known to 0.2 % within a run; `b` by `run`."""
    connection = duckdb.connect()
    started = """place AS run, DATE '2026-11-01' + CAST(place AS INTEGER) AS started, 'm' AS machine,
        'n' AS node, '1' AS driver, '1' AS firmware, '1' AS kernel, '1' AS version, '1' AS "commit",
        '{}' AS environment"""
    table(connection, "runs", started, [0.0] * runs)
    cases = f"""place % {runs} AS run, 'f' || (place // {runs}) AS family, 'gated' AS clock, 0 AS gpu,
        family AS question, 1 AS version, '{{}}' AS site, exp(x) AS median_s,
        CAST(NULL AS DOUBLE) AS operation_s,
        CAST(0.002 AS DOUBLE) AS a, CAST({b} AS DOUBLE) AS b,
        if(b IS NULL, NULL, CAST(8 AS DOUBLE)) AS b_freedom, 'ok' AS status, 'measured' AS label"""
    table(connection, "cases", cases, values)
    return connection


def noise(seed: int, count: int, spread: float) -> list[float]:
    drawn = random.Random(seed)
    return [drawn.gauss(0, spread) for _ in range(count)]


@pytest.mark.parametrize("nodes", [5, 7])
def test_chance_on_few_nodes_is_not_what_a_driver_costs(nodes):
    families = 1000
    both = fleet(nodes, 2, noise(1, families * nodes * 2, 0.3), "'driver ' || day")
    assert screening._software(both, 0.03) == []
    beside = fleet(2 * nodes, 1, noise(2, families * nodes * 2, 0.3), "'driver ' || node % 2")
    assert screening._software(beside, 0.03) == []


@pytest.mark.parametrize(("nodes", "dates"), [(3, 4), (3, 10), (5, 20)])
def test_chance_on_few_nodes_is_no_drift(nodes, dates):
    families = 300
    assert list(screening._drift(fleet(nodes, dates, noise(3, families * nodes * dates, 0.08)), 0.05)) == []


def test_days_that_differ_for_all_nodes_are_no_drift():
    """Nodes agree better than days do, so what they differ by says nothing of days."""
    days = [one for one in noise(4, 300 * 10, 0.1) for _ in range(20)]
    values = [day + own for day, own in zip(days, noise(5, len(days), 0.05), strict=True)]
    by_node = [values[(family * 10 + day) * 20 + node] for family in range(300) for node in range(20)
               for day in range(10)]  # fmt: skip
    assert list(screening._drift(fleet(20, 10, by_node), 0.05)) == []


def test_drift_on_few_nodes_is_found():
    nodes, dates = 5, 10
    values = noise(6, 300 * nodes * dates, 0.08)
    for at in range(7 * nodes * dates, 8 * nodes * dates):
        values[at] += 0.4 * (at % dates >= 6)
    [step] = screening._drift(fleet(nodes, dates, values), 0.05)
    assert (step.family, step.first.day, step.last.day) == ("f7", 6, 7)
    assert step.low < math.exp(0.4) < step.high


def test_levels_of_days_are_as_plain_sums_make_them():
    """Of nodes with two GPUs each and one date that some nodes lack."""
    nodes, dates, gpus = 7, 5, 2
    values = noise(7, nodes * dates * gpus, 0.08)
    connection = fleet(nodes, dates, values, "'driver ' || (day > 2)", gpus)
    connection.execute("DELETE FROM chosen WHERE day = 1 AND node < 3")
    there = {
        (node, day, gpu): values[(node * dates + day) * gpus + gpu]
        for node in range(nodes) for day in range(dates) for gpu in range(gpus) if day != 1 or node >= 3
    }  # fmt: skip
    own = {
        (node, day, gpu): x - fmean(y for (other, _, g), y in there.items() if (other, g) == (node, gpu))
        for (node, day, gpu), x in there.items()
    }
    soft = {new: median(d for (_, day, _), d in own.items() if (day > 2) == new) for new in (False, True)}
    of_day: dict[int, dict[int, float]] = defaultdict(dict)
    for node, day, _ in own:
        of_day[day][node] = fmean(own[node, day, gpu] - soft[day > 2] for gpu in range(gpus))
    free = {node: 1 - 1 / sum(node in there for there in of_day.values()) for node in range(nodes)}
    pairs = [
        (node, day[node] / math.sqrt(free[node]) - day[before] / math.sqrt(free[before]))
        for day in of_day.values()
        for before, node in pairwise(sorted(day, key="m{}".format))
    ]
    spread = changes.OF_MAD * median(abs(apart) for _, apart in pairs) / math.sqrt(2)
    worth = changes.MAD_WORTH * math.fsum(free[node] for node, _ in pairs)
    expected = [
        (median(nodes.values()), screening.MEDIAN_SPREAD * spread / math.sqrt(len(nodes)), worth)
        for _, nodes in sorted(of_day.items())
    ]
    found = connection.execute(screening._SERIES).fetchall()
    assert [row[4:] for row in found] == [pytest.approx(row) for row in expected]


@pytest.mark.parametrize("runs", [4, 5, 8, 20])
def test_chance_is_no_change_of_level_where_type_b_is_unknown(runs):
    found = trend.of(history(runs, noise(8, 200 * runs, 0.06)), None, 0.05)
    assert found.steps == []
    assert found.decided == (runs >= trend.FEWEST_ALONE)
    few = trend.verdict(found).endswith("It takes 8, since type B of the machine is unknown.")
    assert few == (runs < trend.FEWEST_ALONE)
    assert {series["type_b_known"] for series in trend.as_json(found)["series"]} == {False}


@pytest.mark.parametrize(("runs", "status"), [(4, 5), (7, 5), (8, 0)])
def test_too_few_runs_without_type_b_are_undecided(monkeypatch, capsys, runs, status):
    connection = history(runs, noise(12, 10 * runs, 0.06))
    monkeypatch.setattr(store, "is_store", lambda _: True)
    monkeypatch.setattr(store, "opened", lambda _: contextlib.nullcontext(connection))
    assert main(["trend", "store"]) == status
    assert capsys.readouterr().out.startswith("Too few to tell" if status else "No change of level")


def test_a_change_of_level_is_found_where_type_b_is_unknown():
    runs = 12
    values = noise(9, 50 * runs, 0.02)
    for at in range(7 * runs, 8 * runs):
        values[at] += 0.2 * (at % runs >= 5)
    [(series, step)] = trend.of(history(runs, values), None, 0.05).steps
    assert (series.family, step.at) == ("f7", 5)
    assert step.low < math.exp(0.2) < step.high


def test_runs_without_type_b_have_that_of_the_other_runs():
    found = trend.of(history(6, noise(10, 6, 0.06), "if(run < 4, NULL, 0.06)"), None, 0.05)
    [series] = found.series
    assert series.freedom == 8
    assert [one.uncertainty for one in series.points] == [pytest.approx(math.hypot(0.002, 0.06))] * 6
    assert found.decided


@pytest.mark.parametrize(("truth", "most"), [(1.0, 2), (1.5, 6)])
def test_a_type_b_that_is_too_small_by_half_makes_few_changes(truth, most):
    drawn = random.Random(11)
    series = ([drawn.gauss(0, 0.06 * truth) for _ in range(12)] for _ in range(2000))
    assert sum(bool(changes.find(values, [0.06] * 12, freedom=8)) for values in series) <= most


def test_several_steps_are_found_by_scatter_alone():
    values = [x + 0.1 * (8 <= at < 16) for at, x in enumerate(noise(12, 24, 0.005))]
    assert [step.at for step in changes.find(values, [0.0001] * 24, freedom=0)] == [8, 16]
