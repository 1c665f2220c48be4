"""Runs of nodes that are not alike: more questions, parts of a run, several GPUs, one name, damaged times."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import synthetic_fleet
from grainscope_report.cli import main
from grainscope_report.fleet import sources, store
from synthetic_fleet import altered

pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install duckdb")
FAMILIES = frozenset({"transfer/memcpy", "host/memcpy"})
SLOW = {"slow": {"transfer/memcpy": 1.3}}
Alter = Callable[[dict, list], None]


def written(folder: Path, node: int, *alters: Alter, **more) -> Path:
    """The digest of a node, with what is altered of its context and rows; its folder."""
    path = synthetic_fleet.write(folder, node, families=FAMILIES, level=1, **more).parent
    for alter in alters:
        altered(folder, path.name, alter)
    return path


def said_of(capsys, command: str, *arguments) -> dict:
    main([command, *map(str, arguments), "--format", "json"])
    return json.loads(capsys.readouterr().out)


def some(count: int) -> Alter:
    """What leaves of each family and clock every so many rows."""

    def alter(_: dict, rows: list) -> None:
        rows.sort(key=lambda row: (row["case"]["family"], str(row.get("timing"))))
        rows[:] = rows[::count]

    return alter


def of_preset(name: str) -> Alter:
    return lambda context, _: context["run"].update(preset=name, flags=[f"--preset={name}"])


@pytest.mark.parametrize("others", [[], [some(8)]])
def test_a_node_with_more_questions_than_others_is_as_slow_as_in_those_that_all_have(
    tmp_path, capsys, others
):
    for node in range(8):
        if node == 3:
            written(tmp_path, node, **SLOW)
        else:
            written(tmp_path, node, *others)
    slow = said_of(capsys, "fleet", tmp_path)["slow"]
    assert {one["node"] for one in slow} == {"node-00003"}
    assert all(1.25 < one["ratio"] < 1.35 for one in slow)
    assert all(one["low"] < 1.3 < one["high"] for one in slow if one["clock"] == "gated")


def test_more_questions_with_a_new_driver_make_its_cost_no_smaller(tmp_path, capsys):
    for node in range(16):
        if node % 2:
            written(tmp_path, node, driver=synthetic_fleet.DRIVERS[1], **SLOW)
        else:
            written(tmp_path, node, some(8))
    [gated] = [
        one
        for one in said_of(capsys, "fleet", tmp_path)["software"]
        if (one["family"], one["clock"]) == ("transfer/memcpy", "gated")
    ]
    assert gated["low"] < 1.3 < gated["high"]


def test_a_node_without_most_questions_takes_them_from_no_other(tmp_path, capsys):
    for node in range(8):
        written(tmp_path, node, *[some(8)] * (node == 5), **(SLOW if node == 3 else {}))
    slow = said_of(capsys, "fleet", tmp_path)["slow"]
    assert {one["node"] for one in slow} == {"node-00003"}
    assert max(one["questions"] for one in slow) > 20


def history(folder: Path, presets: list[list[Alter]], slow_from: int) -> Path:
    """Runs of one machine, of which those from a place on are slow."""
    for run, alters in enumerate(presets):
        more = SLOW if run >= slow_from else {}
        written(folder / f"run{run}", 1, *alters, run=run, day=run, **more)
    return folder


def steps_of(said: dict) -> dict[tuple[str, str], list[dict]]:
    return {(one["family"], one["clock"]): one["steps"] for one in said["series"] if one["steps"]}


@pytest.mark.parametrize("before", [[], [some(8)]])
def test_more_questions_after_a_change_make_it_no_smaller(tmp_path, capsys, before):
    said = said_of(capsys, "trend", history(tmp_path, [before] * 5 + [[]] * 5, 5))
    [step] = steps_of(said)["transfer/memcpy", "gated"]
    assert step["low"] < 1.3 < step["high"]
    assert 1.28 < step["ratio"] < 1.32


def test_questions_that_only_later_runs_have_are_no_change(tmp_path, capsys):
    said = said_of(capsys, "trend", history(tmp_path, [[some(8)]] * 5 + [[]] * 5, 10))
    assert steps_of(said) == {}


def test_a_question_that_a_run_lacks_moves_no_run(tmp_path, capsys):
    """Its level is that of the runs that have it, of which fewer are before the change than of others."""

    def with_questions(count: int) -> Alter:
        def alter(_: dict, rows: list) -> None:
            gated = [
                row
                for row in rows
                if row["case"]["family"] == "transfer/memcpy" and row.get("timing", {}).get("gated")
            ]
            rows[:] = gated[:count]

        return alter

    runs = [[with_questions(1)], *[[with_questions(2)]] * 11]
    said = said_of(capsys, "trend", history(tmp_path, runs, 6))
    [series] = [
        one for one in said["series"] if (one["family"], one["clock"]) == ("transfer/memcpy", "gated")
    ]
    assert [one["questions"] for one in series["points"]] == [1] + [2] * 11
    before = [one["value"] for one in series["points"][:6]]
    assert max(before) - min(before) < 0.05


def of_part(at: int, count: int, hour: int = 0) -> Alter:
    """What is measured with `--shard AT/COUNT`, so many hours later."""

    def alter(context: dict, rows: list) -> None:
        run = context["run"]
        first, _, last = run["id"].partition("-")
        run |= {
            "id": f"{first}-{int(last, 16) + (at << 20):08x}",
            "shard": {"index": at, "count": count},
            "flags": [*run["flags"], f"--shard={at}/{count}"],
        }
        for moment in ("started", "ended"):
            run[moment] = f"{run[moment][:11]}{6 + hour + (moment == 'ended'):02}{run[moment][13:]}"
        rows[:] = rows[at - 1 :: count]

    return alter


def in_parts(folder: Path, node: int, *alters: Alter, merged: bool = False, **more) -> list[str]:
    """A run in two parts, in folders of their own, with what `merge` makes of them where asked; the ids."""
    ids = []
    for at in (1, 2):
        path = written(folder / f"part{at}", node, of_part(at, 2, at), *alters[at - 1 : at], **more)
        head = gzip.decompress((path / sources.DIGEST).read_bytes()).splitlines()[0]
        ids.append(json.loads(head)["context"]["run"]["id"])
    if merged:
        written(folder / "merged", node, lambda context, _: context["run"].update(id="+".join(ids)), **more)
    return ids


def failing(_: dict, rows: list) -> None:
    for row in rows:
        if row["status"] == "ok":
            kept = {name: row[name] for name in ("case", "label")}
            row.clear()
            row.update(kept, status="failed", reason="wrong result")


def test_the_parts_of_a_run_count_as_one(tmp_path, capsys):
    """What failed in the first part alone is said, though the node ran the second part later."""
    for node in range(6):
        in_parts(tmp_path, node, *[failing] * (node == 2))
    said = said_of(capsys, "fleet", tmp_path)
    assert [one["node"] for one in said["failed"]] == ["node-00002"]
    assert [(one["nodes"], one["runs"]) for one in said["kinds"]] == [(6, 6)]
    assert said["odd"] == []


@pytest.mark.parametrize("merged", [False, True])
def test_a_node_that_is_slow_in_its_first_part_is_found(tmp_path, capsys, merged):
    def slow(_: dict, rows: list) -> None:
        for row in rows:
            if row["case"]["family"] == "transfer/memcpy" and row["status"] == "ok":
                row["median_s"] *= 1.6

    for node in range(8):
        in_parts(tmp_path, node, *[slow] * (node == 3), merged=merged)
    if merged:
        altered(tmp_path / "merged", 3, slow)
    said = said_of(capsys, "fleet", tmp_path)
    assert {one["node"] for one in said["slow"]} == {"node-00003"}
    assert [(one["nodes"], one["runs"]) for one in said["kinds"]] == [(8, 8)]
    assert said["odd"] == []


def test_a_part_of_a_run_without_the_others_is_odd(tmp_path, capsys):
    for node in range(6):
        written(tmp_path, node, *[of_part(at, 4) for at in [2 if node == 4 else 1]] * (node > 3))
    odd = {one["name"]: one["why"] for one in said_of(capsys, "fleet", tmp_path)["odd"]}
    first, second = "`--shard 1/4` and so on", "`--shard 2/4` and so on"
    words = "is part {} of 4 of a run: give the others, too, or measure them by {} (run "
    assert set(odd) == {"node-00004", "node-00005"}
    assert odd["node-00004"].startswith(words.format(2, first))
    assert odd["node-00005"].startswith(words.format(1, second))


def test_a_history_counts_parts_and_what_was_made_of_them_once(tmp_path, capsys):
    for run in range(4):
        for folder in [tmp_path / f"run{run}"]:
            in_parts(folder, 1, merged=run < 2, run=run, day=run)
    said = said_of(capsys, "trend", tmp_path)
    assert said["runs"] == 4
    assert {len(one["points"]) for one in said["series"]} == {4}
    assert len({one["points"][-1]["questions"] for one in said["series"]}) > 1


def with_second_gpu(factor: float = 1.0, *, first: float = 1.0, widths=(16, 16), most=(16, 16)) -> Alter:
    """A second GPU beside the first, with its rows and links; factors on the times of both."""

    def alter(context: dict, rows: list) -> None:
        [gpu] = context["environment"]["gpus"]
        context["environment"]["gpus"] = [
            gpu
            | {
                "uuid": f"{gpu['uuid']}-{at}",
                "cuda": gpu["cuda"] | {"ordinal": at},
                "nvml": gpu["nvml"] | {"link_width_max": most[at]},
            }
            for at in (0, 1)
        ]
        links = context["links"]
        context["links"] = [link | {"gpu": at, "width": widths[at]} for at in (0, 1) for link in links]
        for row in [row for row in rows if row["case"]["site"].get("gpu") == 0]:
            rows.append(json.loads(json.dumps(row)))
            rows[-1]["case"]["site"]["gpu"] = 1
            for one, by in ((row, first), (rows[-1], factor)):
                for name in ("median_s", "operation_s"):
                    if name in one:
                        one[name] *= by

    return alter


def test_gpus_that_are_slower_on_every_node_hide_no_slow_one_and_are_none(tmp_path, capsys):
    for node in range(8):
        written(tmp_path, node, with_second_gpu(1.5, first=1.4 if node == 3 else 1.0))
    slow = said_of(capsys, "fleet", tmp_path)["slow"]
    assert {(one["node"], one["gpu"]) for one in slow} == {("node-00003", 0)}


def test_a_slot_of_fewer_lanes_on_every_node_is_none_that_trained_down(tmp_path, capsys):
    for node in range(6):
        widths = (8 if node == 3 else 16, 8)
        written(tmp_path, node, with_second_gpu(widths=widths, most=(16, 8)))
    links = said_of(capsys, "fleet", tmp_path)["links"]
    assert [(one["node"], one["gpu"], one["due"]) for one in links] == [("node-00003", 0, "PCIe 5 ×16")]


def test_a_link_below_what_its_slot_can_is_named_though_most_are(tmp_path, capsys):
    for node in range(6):
        written(tmp_path, node, with_second_gpu(widths=(8, 8) if node else (16, 16)))
    links = said_of(capsys, "fleet", tmp_path)["links"]
    assert [(one["node"], one["gpu"]) for one in links] == [
        (f"node-{node:05}", gpu) for node in range(1, 6) for gpu in (0, 1)
    ]


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.5, ["gpu_to_host", "host_to_gpu"]), (0.93, ["gpu_to_host", "host_to_gpu"]), (0.97, [])],
)
def test_a_link_slower_than_on_most_nodes_is_named_though_it_trained_well(tmp_path, capsys, share, said):
    """The second GPU has no rows of its own: what tells is the copy peak."""
    plain = with_second_gpu()

    def alter(context: dict, rows: list) -> None:
        plain(context, rows)
        rows[:] = [row for row in rows if row["case"]["site"].get("gpu") != 1]
        for link in context["links"]:
            link["peak_gb_s"] *= share if link["gpu"] == 1 else 1.0

    for node in range(6):
        written(tmp_path, node, alter if node == 3 else plain)
    screen = said_of(capsys, "fleet", tmp_path)
    assert [(one["node"], one["gpu"], one["direction"]) for one in screen["weak"]] == [
        ("node-00003", 1, direction) for direction in said
    ]
    assert ("1 with a link slower than usual" in screen["verdict"]) == bool(said)
    assert screen["links"] == []


def test_copy_peaks_that_differ_from_node_to_node_are_none_that_are_slow(tmp_path, capsys):
    for node in range(6):
        peak = 55.0 * (1 - 0.03 * node)

        def alter(context: dict, _: list, peak: float = peak) -> None:
            for link in context["links"]:
                link["peak_gb_s"] = peak

        written(tmp_path, node, alter)
    assert said_of(capsys, "fleet", tmp_path)["weak"] == []


def test_gpus_with_unequal_links_between_them_have_trained_to_them(tmp_path, capsys):
    """As in a cube mesh, where some pairs have two links and others one."""

    def mesh(context: dict, _: list) -> None:
        peak = {"direction": "to_peer", "peak_gb_s": 20.0}
        context["links"] += [
            {**peak, "gpu": one, "peer": two, "nvlinks": 1 + (one + two) % 2}
            for one in range(4) for two in range(4) if one != two
        ]  # fmt: skip

    written(tmp_path, 0, mesh)
    assert said_of(capsys, "fleet", tmp_path)["links"] == []


def test_a_history_follows_a_card_and_not_its_number(tmp_path, capsys):
    """The second card is slower; from the fifth run on the cards are counted the other way round."""

    def swapped(context: dict, rows: list) -> None:
        gpus = context["environment"]["gpus"]
        gpus[0]["uuid"], gpus[1]["uuid"] = gpus[1]["uuid"], gpus[0]["uuid"]
        for row in rows:
            if "gpu" in row["case"]["site"]:
                row["case"]["site"]["gpu"] = 1 - row["case"]["site"]["gpu"]

    for run in range(8):
        alters = [with_second_gpu(1.2), *[swapped] * (run > 3)]
        written(tmp_path / f"run{run}", 1, *alters, run=run, day=run)
    said = said_of(capsys, "trend", tmp_path)
    assert steps_of(said) == {}
    numbers = {
        one["card"]: [point["gpu"] for point in one["points"]]
        for one in said["series"]
        if (one["family"], one["clock"]) == ("transfer/memcpy", "gated")
    }
    assert numbers == {"GPU-00000001-0-0": [0] * 4 + [1] * 4, "GPU-00000001-0-1": [1] * 4 + [0] * 4}


def without_gpu(host: str) -> Alter:
    def alter(context: dict, rows: list) -> None:
        context["host_name"], context["links"] = host, []
        context["environment"]["gpus"] = []
        rows[:] = [row for row in rows if "gpu" not in row["case"]["site"]]

    return alter


def test_folders_of_one_host_name_without_a_gpu_are_named(tmp_path, capsys):
    for node in range(6):
        written(tmp_path, node, without_gpu("localhost"))
    [odd] = said_of(capsys, "fleet", tmp_path)["odd"]
    assert (odd["name"], odd["kept"]) == ("localhost", True)
    assert odd["why"].startswith("is the host of 6 runs in 6 folders, of which the last alone is looked at")
    assert odd["why"].endswith("give each a host name of its own and measure them again")


def test_several_runs_below_a_folder_of_the_hosts_name_are_of_one_node(tmp_path, capsys):
    for run in range(3):
        path = written(tmp_path, 1, without_gpu("node-00001"), run=run, day=run)
        (tmp_path / "nodes" / "node-00001").mkdir(parents=True, exist_ok=True)
        path.rename(tmp_path / "nodes" / "node-00001" / f"run{run}")
    assert said_of(capsys, "fleet", tmp_path)["odd"] == []


def test_a_digest_that_is_not_of_the_packed_result_beside_it_is_named(tmp_path):
    folder = written(tmp_path / "nodes", 1)
    other = (Path(__file__).parents[2] / "results/reference/acceptance/h100-d.json.gz").read_bytes()
    (folder / "result.json.gz").write_bytes(other)
    added = store.add(tmp_path / "store", sources.found([tmp_path / "nodes"]))
    assert (added.runs, len(added.refused)) == (1, 1)
    assert "which result.json.gz beside it is not of; that is taken" in added.refused[0].why
    with store.opened(tmp_path / "store") as connection:
        [(source,)] = connection.execute("SELECT source FROM runs").fetchall()
    assert source == str(folder / "result.json.gz")
    (folder / sources.DIGEST).write_bytes(sources.packed_digest(json.loads(gzip.decompress(other))))
    [digest] = sources.found([tmp_path / "nodes"])
    assert digest.name == str(folder / sources.DIGEST)


def test_folders_of_nodes_that_are_links_are_looked_into_once(tmp_path):
    elsewhere = written(tmp_path / "elsewhere", 1)
    nodes = tmp_path / "nodes"
    here = written(nodes, 2)
    for name, target in (
        ("a", elsewhere), ("again", elsewhere.parent), ("self", nodes), ("up", tmp_path), ("latest", here)
    ):  # fmt: skip
        (nodes / name).symlink_to(target)
    (elsewhere / "back").symlink_to(nodes)
    (nodes / "nowhere").symlink_to(tmp_path / "gone")
    (nodes / "ring").symlink_to(nodes / "ring")
    assert [os.path.relpath(one.name, nodes) for one in sources.found([nodes])] == [
        f"a/{sources.DIGEST}",
        f"node-00002/{sources.DIGEST}",
    ]


@pytest.mark.parametrize("operation_s", [0.0, -1e-6])
def test_a_row_without_a_time_of_an_operation_is_refused_with_its_file(tmp_path, capsys, operation_s):
    def alter(_: dict, rows: list) -> None:
        rows[0]["operation_s"] = operation_s

    for node in range(6):
        written(tmp_path, node, *[alter] * (node == 2))
    said = said_of(capsys, "fleet", tmp_path)
    assert said["nodes"] == 5
    [odd] = said["odd"]
    assert "holds rows without a time or a proper case" in odd["why"]
