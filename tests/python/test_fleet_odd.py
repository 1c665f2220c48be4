"""Nodes that a screen names though none of their times is slow: cut off, without rows, short of GPUs."""

import json
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import synthetic_fleet
from grainscope_report.cli import main
from grainscope_report.fleet import store
from synthetic_fleet import altered

pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install duckdb")
FAMILIES = frozenset({"transfer/memcpy", "host/memcpy"})


def fleet(folder: Path, nodes: int) -> Path:
    """Digests of so many nodes that are alike."""
    for node in range(nodes):
        synthetic_fleet.write(folder, node, families=FAMILIES, level=1)
    return folder


def with_gpus(count: int):
    """What makes a node have so many GPUs of one model, each of its own identity."""

    def alter(context: dict, _: list) -> None:
        [gpu] = context["environment"]["gpus"]
        uuids = [f"{gpu['uuid']}-{at}" for at in range(count)]
        context["environment"]["gpus"] = [gpu | {"uuid": uuid} for uuid in uuids]

    return alter


def without(status: str, family: str):
    """What makes a node skip, or fail at, the rows of a family."""

    def alter(_: dict, rows: list) -> None:
        for row in rows:
            if row["case"]["family"] == family and row["status"] == "ok":
                kept = {name: row[name] for name in ("case", "label")}
                row.clear()
                row.update(kept, status=status, reason="too little memory")

    return alter


def screened(capsys, *arguments) -> tuple[int, dict]:
    status = main(["fleet", *map(str, arguments), "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


def odd_of(capsys, nodes: Path, *arguments) -> tuple[int, dict[str, str]]:
    """The exit status, and of odd nodes what is odd."""
    status, said = screened(capsys, nodes, *arguments)
    return status, {one["name"]: one["why"] for one in said["odd"]}


def rows_of(place: Path, table: str) -> list[tuple]:
    """All rows of a data set's table, but for where each came from."""
    apart = "EXCLUDE (source)" if table == "runs" else ""
    with store.opened(place) as connection:
        return connection.execute(f"SELECT * {apart} FROM {table} ORDER BY ALL").fetchall()


def test_a_node_whose_run_is_not_complete_is_odd(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 6)
    altered(nodes, 3, lambda context, _: context["run"].update(complete=False, why_incomplete="a signal"))
    page = tmp_path / "fleet.html"
    status, odd = odd_of(capsys, nodes, "-o", page)
    assert (status, list(odd)) == (1, ["node-00003"])
    said = "ended before its run was complete: `grainscope --resume` goes on with it"
    assert odd["node-00003"].startswith(said)
    assert said in page.read_text()
    assert main(["fleet", str(nodes)]) == 1
    screen = capsys.readouterr().out.splitlines()
    assert screen[0] == "1 odd in name, clock, run or GPUs, of 6 nodes."
    assert any(said in line for line in screen)


def test_a_run_that_went_on_takes_the_place_of_what_was_cut_off(tmp_path, capsys):
    """In a data set whose files have other runs, too, and where both come in one call, in either order."""
    whole = fleet(tmp_path / "whole", 3)
    cut = Path(shutil.copytree(whole, tmp_path / "cut"))

    def cut_off(context: dict, rows: list) -> None:
        context["run"] |= {
            "complete": False,
            "why_incomplete": "a signal",
            "ended": context["run"]["started"],
        }
        for row in rows:
            row["median_s"] *= 2

    altered(cut, 1, cut_off)
    expected, place = tmp_path / "expected", tmp_path / "store"
    screened(capsys, whole, "--store", expected)
    assert odd_of(capsys, cut, "--store", place)[1].keys() == {"node-00001"}
    assert rows_of(place, "cases") != rows_of(expected, "cases")
    _, said = screened(capsys, whole, "--store", place)
    rows = len(rows_of(expected, "cases")) // 3
    assert said["taken"] == {"runs": 1, "rows": rows, "gone_on": 1, "there_already": 2}
    assert said["odd"] == []
    # What was cut off does not come back.
    assert screened(capsys, cut, "--store", place)[1]["taken"]["there_already"] == 3
    for first, second in ((cut, whole), (whole, cut)):
        both = tmp_path / f"{first.name}-first"
        assert screened(capsys, first / "node-00001", second, "--store", both)[1]["taken"]["runs"] == 3
        for table in store.TABLES:
            assert rows_of(both, table) == rows_of(place, table) == rows_of(expected, table)


def test_a_run_that_was_cut_off_twice_is_kept_as_far_as_it_came(tmp_path, capsys):
    nodes, place = fleet(tmp_path / "nodes", 1), tmp_path / "store"
    for ended, gone_on in (("11:00", 0), ("12:00", 1), ("11:30", 0)):
        run = {"complete": False, "ended": f"2026-11-25T{ended}:00+00:00"}
        altered(nodes, 0, lambda context, _, run=run: context["run"].update(run))
        assert screened(capsys, nodes, "--store", place)[1]["taken"]["gone_on"] == gone_on
    with store.opened(place) as connection:
        [(ended,)] = connection.execute("SELECT ended FROM runs").fetchall()
    assert ended == datetime(2026, 11, 25, 12)


def test_a_node_that_skips_what_most_others_measure_is_odd(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 7)
    altered(nodes, 3, without("skipped", "transfer/memcpy"))
    for node in (4, 5):
        altered(nodes, node, without("skipped", "host/memcpy"))
    status, odd = odd_of(capsys, nodes)
    assert (status, list(odd)) == (1, ["node-00003", "node-00004", "node-00005"])
    said = r"skips \d+ rows that most nodes of its kind have \({}: too little memory\)"
    assert re.match(said.format("transfer/memcpy"), odd["node-00003"])
    assert re.match(said.format("host/memcpy"), odd["node-00004"])


def test_rows_that_half_of_the_nodes_skip_make_no_node_odd(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 6)
    for node in (0, 1, 2):
        altered(nodes, node, without("skipped", "transfer/memcpy"))
    assert odd_of(capsys, nodes) == (0, {})


def test_a_node_with_failed_rows_is_named_with_one_reason(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 6)
    altered(nodes, 3, without("failed", "transfer/memcpy"))
    status, said = screened(capsys, nodes)
    assert (status, [one["node"] for one in said["failed"]]) == (1, ["node-00003"])


@pytest.mark.parametrize(
    ("left", "why"),
    [
        (7, "has 7 GPUs where 5 others of the same GPU and CPU model have 8: it may have lost 1"),
        (1, "has 1 GPU where 5 others of the same GPU and CPU model have 8: it may have lost 7"),
        (0, "has no GPU where 5 others of the same CPU model have 8: it may have lost 8"),
    ],
)
def test_a_node_with_fewer_gpus_than_others_of_its_model_is_odd(tmp_path, capsys, left, why):
    nodes = fleet(tmp_path / "nodes", 6)
    for node in range(6):
        altered(nodes, node, with_gpus(left if node == 3 else 8))
    status, odd = odd_of(capsys, nodes)
    assert (status, list(odd)) == (1, ["node-00003"])
    assert odd["node-00003"].startswith(why)


def test_a_twentieth_of_a_fleet_with_fewer_gpus_is_odd(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 63)
    for node in range(63):
        altered(nodes, node, with_gpus(7 if node < 3 else 8))
    status, odd = odd_of(capsys, nodes)
    assert (status, list(odd)) == (1, ["node-00000", "node-00001", "node-00002"])


@pytest.mark.parametrize(("fewer", "more"), [(4, 4), (3, 9), (2, 5), (9, 1)])
def test_a_fleet_of_nodes_with_few_and_with_many_gpus_has_no_odd_ones(tmp_path, capsys, fewer, more):
    nodes = fleet(tmp_path / "nodes", fewer + more)
    for node in range(fewer + more):
        altered(nodes, node, with_gpus(4 if node < fewer else 8))
    assert odd_of(capsys, nodes)[1] == {}


def test_a_node_of_another_cpu_or_gpu_has_lost_no_gpu(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 8)
    for node in range(8):
        altered(nodes, node, with_gpus(4 if node in (3, 4) else 8))
    altered(nodes, 3, lambda context, _: context["environment"]["cpu"].update(model="Another CPU"))
    altered(nodes, 4, lambda context, _: [
        gpu.update(name="Another GPU") for gpu in context["environment"]["gpus"]
    ])  # fmt: skip
    assert odd_of(capsys, nodes) == (0, {})


def again(nodes: Path, node: int, days: int, count: int) -> Path:
    """Another run of a node so many days later, which sees so many of its GPUs; its folder."""
    folder = nodes / f"node-{node:05}"
    other = nodes / f"{folder.name}-{days:+}"
    shutil.copytree(folder, other)

    def alter(context: dict, _: list) -> None:
        run = context["run"]
        run["id"] += other.name
        for moment in ("started", "ended"):
            at = datetime.fromisoformat(run[moment]) + timedelta(days=days)
            run[moment] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
        context["environment"]["gpus"] = context["environment"]["gpus"][:count]

    altered(nodes, other.name, alter)
    return other


def lost(odd: dict[str, str]) -> list[str]:
    return [name for name, why in odd.items() if "it may have lost" in why]


@pytest.mark.parametrize("left", [0, 1, 7])
@pytest.mark.parametrize(("days", "names"), [(-1, []), (1, ["node-00003 (node-00003-+1)"])])
def test_gpus_that_a_later_run_of_a_node_has_are_not_lost(tmp_path, capsys, left, days, names):
    nodes = fleet(tmp_path / "nodes", 6)
    for node in range(6):
        altered(nodes, node, with_gpus(8))
    again(nodes, 3, days, left)
    assert lost(odd_of(capsys, nodes)[1]) == names


def test_gpus_of_a_later_machine_of_the_same_name_are_no_others(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 7)
    for node in range(7):
        altered(nodes, node, with_gpus(7 if node == 3 else 8))
    for node in range(7):
        altered(nodes, node, lambda context, _: context.update(host_name="localhost"))
    assert lost(odd_of(capsys, nodes)[1]) == ["localhost (node-00003)"]


def without_driver(context: dict, _: list) -> None:
    context["environment"] |= {"gpus": [], "driver": {"version": None}}
    context["links"] = []


def test_a_login_node_without_gpus_and_driver_has_lost_none(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 6)
    for node in range(6):
        altered(nodes, node, without_driver if node == 5 else with_gpus(8))
    assert odd_of(capsys, nodes) == (0, {})


def test_a_node_whose_driver_went_with_its_gpus_has_lost_them(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 6)
    for node in range(6):
        altered(nodes, node, with_gpus(8))
    altered(nodes, again(nodes, 3, 1, 0).name, without_driver)
    assert lost(odd_of(capsys, nodes)[1]) == ["node-00003 (node-00003-+1)"]


def test_login_nodes_of_one_name_have_lost_none(tmp_path, capsys):
    nodes = fleet(tmp_path / "nodes", 6)
    for node in range(6):
        altered(nodes, node, without_driver if node == 5 else with_gpus(8))
    for node in range(6):
        altered(nodes, node, lambda context, _: context.update(host_name="localhost"))
    assert odd_of(capsys, nodes) == (0, {})


def of_commits(tmp_path: Path, *commits: str) -> Path:
    """A fleet of so many nodes, each of its own version."""
    nodes = fleet(tmp_path / "nodes", len(commits))
    for node, commit in enumerate(commits):
        altered(nodes, node, lambda context, _, commit=commit: context["grainscope"].update(commit=commit))
    return nodes


def test_most_are_of_a_version_only_where_more_than_half_are(tmp_path, capsys):
    half = of_commits(tmp_path / "half", *["aaaaaaaaaaaa"] * 2, "bbbbbbbbbbbb", "cccccccccccc")
    why = "is of GrainScope 0.1.0 bbbbbbbbbbbb, the 4 nodes of its kind are of 3 different ones (run "
    assert odd_of(capsys, half)[1]["node-00002"].startswith(why)
    more = of_commits(tmp_path / "more", *["aaaaaaaaaaaa"] * 3, "bbbbbbbbbbbb", "cccccccccccc")
    why = "is of GrainScope 0.1.0 bbbbbbbbbbbb, most are of 0.1.0 aaaaaaaaaaaa (run "
    assert odd_of(capsys, more)[1]["node-00003"].startswith(why)


def test_a_commit_by_fewer_digits_is_no_other_one_but_changes_to_it_are(tmp_path, capsys):
    nodes = of_commits(tmp_path, *["b4b88b318606"] * 3, "b4b88b31", "b4b88b318606-dirty")
    status, odd = odd_of(capsys, nodes)
    assert (status, [*odd]) == (1, ["node-00004"])
    assert odd["node-00004"].startswith(
        "is of GrainScope 0.1.0 b4b88b318606-dirty, most are of 0.1.0 b4b88b318606 (run "
    )


def test_a_node_beyond_the_limit_of_others_by_its_own_visits_is_not_slow_and_the_table_says_so(
    tmp_path, capsys
):
    nodes = fleet(tmp_path / "nodes", 12)

    def uncertain(_: dict, rows: list) -> None:
        for row in rows:
            if row["case"]["family"] == "host/memcpy" and row["status"] == "ok":
                row["median_s"] *= 3
                row["uncertainty"]["a"]["standard"] = 20.0

    altered(nodes, 5, uncertain)
    _, said = screened(capsys, nodes)
    [of] = [one for one in said["percentiles"] if (one["family"], one["clock"]) == ("host/memcpy", "host")]
    assert said["slow"] == []
    assert of["ratios"][-1] > of["slow_from"]
    main(["fleet", str(nodes)])
    text = capsys.readouterr().out
    [line] = [line for line in text.splitlines() if line.split()[:2] == ["host/memcpy", "host"]]
    assert line.endswith(f"  ≥ {of['slow_from']:.3f}")
    assert "from which one is slow, later where its visits differ more." in " ".join(text.split())
