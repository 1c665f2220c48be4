"""Rows of transfers that a user wrote down: every command takes them like those of any other family."""

import json

import pytest

from grainscope_report.cli import main
from synthetic import GIB, KIB, MIB, File

FAMILY = "transfer/written"
SITE = {"numa": 0, "gpu": 0}
PEERS = {"gpu": 0, "peer": 1}


def lane(name: str, source: str, to: str, size: int, seconds: float, **more) -> dict:
    return {"name": name, "from": source, "to": to, "bytes": size, "seconds": seconds, **more}


def written(day: int = 20) -> File:
    """One case of each kind, as the suite lists them."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",) * 2, date=f"2026-11-{day}T10:15:00+00:00")
    for direction in ("host_to_gpu", "gpu_to_host"):
        file.link(direction, 55.0)
    file.peer_link(0, 1, 390.0)
    file.peer_link(1, 0, 395.0)
    local = {"path": "host_to_gpu", "locality": "local"}
    for size in (64 * KIB, 1 * MIB, 64 * MIB):
        axes = {"from": "host_registered", "to": "gpu_device", "engine": "sm", **local, "bytes": size}
        file.add(FAMILY, axes, SITE, 4e-6 + size / 50e9)
    walk = {"from": "host_mapped", "to": "gpu_registers", "engine": "sm", "flush": "on", "width": 16, **local}
    file.add(FAMILY, walk | {"bytes": MIB}, SITE, 30e-6)
    submission = {"from": "host_pinned", "to": "gpu_device", "engine": "copy_engine", "submission": "on"}
    row = file.add(FAMILY, submission | local | {"bytes": MIB}, SITE, 2e-6, operations=1)
    for field in ("bytes", "bandwidth_gb_s", "link_fraction"):
        row.pop(field, None)
    for direction, link, ends, more in (
        ("read", 395.0, ("peer_device", "gpu_device"), {}),
        ("write", 390.0, ("gpu_device", "peer_device"), {"by_source": "on"}),
    ):
        axes = {"from": ends[0], "to": ends[1], "engine": "copy_engine", **more}
        axes |= {"direction": direction, "link": "nvlink", "bytes": GIB}
        row = file.add(FAMILY, axes, PEERS, 2.9e-3)
        row["link_fraction"] = row["bandwidth_gb_s"] / link
    first = {"from": "host_registered", "to": "gpu_device", "engine": "sm", **local}
    second = {"from_2": "gpu_device", "to_2": "host_pageable", "engine_2": "copy_engine"}
    second |= {"path_2": "gpu_to_host", "locality_2": "local", "bytes_2": 4 * MIB}
    lanes = [
        lane("lane_1", "host:0", "gpu:0", MIB, 40e-6),
        lane("lane_2", "gpu:0", "host:0", 4 * MIB, 400e-6),
    ]
    file.together(FAMILY, first | second | {"bytes": MIB}, SITE, lanes, overlap=0.1)
    beside = {"engine_2": "compute_gpu", "computing_ms_2": 5}
    lanes = [
        lane("lane_1", "host:0", "gpu:0", MIB, 40e-6),
        lane("lane_2", "gpu:0", "gpu:0", 0, 5e-3, background=True),
    ]
    file.together(FAMILY, first | beside | {"bytes": MIB}, SITE, lanes, overlap=0.99)
    file.lose("skipped", "needs two GPUs", FAMILY, {"from": "peer_device", "to": "gpu_device"}, PEERS)
    return file


@pytest.fixture
def run(tmp_path):
    return written().write(tmp_path / "run" / "result.json")


def test_rows_are_valid(run, capsys):
    assert main(["validate", str(run)]) == 0, capsys.readouterr().out


def test_a_wrong_share_of_the_link_is_seen(tmp_path, capsys):
    file = written()
    read = next(row for row in file.rows if row["case"]["axes"].get("direction") == "read")
    read["link_fraction"] = read["bandwidth_gb_s"] / 390.0  # the other way's peak
    assert main(["validate", str(file.write(tmp_path / "result.json"))]) == 1
    assert "link_fraction" in capsys.readouterr().out


def test_rows_are_listed_and_named(run, capsys):
    assert main(["list", str(run)]) == 0
    assert capsys.readouterr().out.count(FAMILY) == len(written().rows)


def test_the_summary_has_them(run, capsys):
    assert main(["summary", str(run)]) == 0
    out = capsys.readouterr().out
    assert FAMILY in out
    assert "host_registered" in out


@pytest.mark.parametrize(
    "command",
    [
        ["export", "csv", "RUN", "-o", "TMP/rows.csv"],
        ["export", "md", "RUN", "-o", "TMP/rows.md"],
        ["env", "diff", "RUN", "OTHER"],
        ["compare", "RUN", "OTHER"],
        ["report", "RUN", "-o", "TMP/report.html"],
    ],
    ids=lambda command: command[0],
)
def test_no_command_trips_over_them(command, run, tmp_path, capsys):
    other = str(written(21).write(tmp_path / "other" / "result.json"))
    places = {"RUN": str(run), "OTHER": other}
    words = [places.get(word, word.replace("TMP", str(tmp_path))) for word in command]
    # Of one visit each nothing can be decided.
    assert main(words) == (5 if command[0] == "compare" else 0), capsys.readouterr().err


def test_compare_asks_the_same_question_of_both(run, tmp_path, capsys):
    other = written(21).write(tmp_path / "other" / "result.json")
    assert main(["compare", str(run), str(other), "--format", "json"]) == 5
    compared = json.loads(capsys.readouterr().out)
    # One visit each: no verdict, but every measured row has its counterpart.
    assert {kind: count for kind, count in compared["new"][0]["counts"].items() if count} == {"unclear": 9}
