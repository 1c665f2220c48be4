"""`env diff` and `export`: what differs between two machines, and every row as a table."""

import csv
import io
import json

import pytest

from compared import H100, node, written
from grainscope_report.cli import main
from grainscope_report.machine import differences, facts


def differ(base: dict, new: dict, passing: bool = False) -> dict[str, tuple[str | None, str | None]]:
    found = differences(facts({"environment": base}), facts({"environment": new}), passing)
    return {one.fact: (one.base, one.new) for one in found}


def test_facts_that_differ():
    base = {"driver": {"version": "580.1"}, "kernel": {"release": "6.1"}, "cpu": {"smt_active": True}}
    new = {"driver": {"version": "590.1"}, "kernel": {"release": "6.1"}, "cpu": {"smt_active": False}}
    assert differ(base, new) == {"driver.version": ("580.1", "590.1"), "cpu.smt_active": ("yes", "no")}


def test_lists_of_alike_things_are_one_fact():
    gpu = {"name": H100, "nvml": {"ecc": True}}
    assert differ({"gpus": [gpu] * 8}, {"gpus": [gpu] * 4}) == {"gpus.count": ("8", "4")}
    other = {"name": H100, "nvml": {"ecc": False}}
    assert differ({"gpus": [gpu] * 2}, {"gpus": [gpu, other]}) == {"gpus.nvml.ecc": ("yes", "yes, no")}


def test_cpus_are_written_as_ranges():
    assert differ({"cpu": {"online": [0, 1, 2, 3, 8]}}, {"cpu": {"online": [0]}}) == {
        "cpu.online": ("0-3, 8", "0")
    }


def test_masks_slices_and_refused_policies_differ():
    base = {
        "cpu": {"allowed": list(range(64))},
        "memory": {"policy_available": True, "nodes": [{"id": 0, "allowed_cpus": list(range(64))}]},
        "gpus": [{"name": H100, "nvml": {"mig": False}}],
        "cgroup": {"cpu_quota": None},
        "warnings": [],
    }
    new = {
        "cpu": {"allowed": [0, 1, 2, 3]},
        "memory": {"policy_available": False, "nodes": [{"id": 0, "allowed_cpus": [0, 1, 2, 3]}]},
        "gpus": [{"name": H100, "nvml": {"mig": True}}],
        "cgroup": {"cpu_quota": 1.5},
        "warnings": [{"id": "cpu.mask"}, {"id": "gpu.mig"}],
    }
    assert differ(base, new) == {
        "cpu.allowed": ("0-63", "0-3"),
        "memory.nodes.allowed_cpus": ("0-63", "0-3"),
        "memory.policy_available": ("yes", "no"),
        "gpus.nvml.mig": ("no", "yes"),
        "cgroup.cpu_quota": (None, "1.5"),
        "warnings": ("", "cpu.mask, gpu.mig"),
    }


def test_what_is_not_told_differs_from_what_is():
    assert differ({"cpu": {"boost": None}}, {"cpu": {"boost": True}}) == {"cpu.boost": (None, "yes")}


def test_what_passes_is_shown_on_demand():
    base, new = ({"load": {"one": one}, "gpus": [{"uuid": f"GPU-{one}"}]} for one in (0.1, 3.5))
    assert differ(base, new) == {}
    assert differ(base, new, passing=True).keys() == {"load.one", "gpus.uuid"}


def test_links_are_told_by_what_they_negotiated():
    link = {"direction": "host_to_gpu", "generation": 5, "width": 16, "theoretical_gb_s": 63.0, "gpu": 0}
    narrow = link | {"width": 8, "theoretical_gb_s": 31.5}
    found = differences(
        facts({"environment": {}, "links": [link, link | {"gpu": 1}]}),
        facts({"environment": {}, "links": [narrow]}),
    )
    assert [(one.fact, one.base, one.new) for one in found] == [
        ("links.host_to_gpu", "PCIe 5 ×16, 63 GB/s", "PCIe 5 ×8, 31.5 GB/s")
    ]


def test_warnings_that_one_has(tmp_path, capsys):
    other = node("node-b", 2)
    other.warn("warning", "governor is powersave")
    assert main(["env", "diff", *written(tmp_path, node(), other), "--json"]) == 1
    found = {one["fact"]: (one["base"], one["new"]) for one in json.loads(capsys.readouterr().out)}
    assert found == {"warnings": ("", "governor")}


def test_env_diff_exit_statuses(tmp_path, capsys):
    files = written(tmp_path, node(), node("node-b", 2), node("node-c", 3, driver="590.1"))
    assert main(["env", "diff", *files[:2]]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert main(["env", "diff", *files[:2], "--all"]) == 1
    assert "node-b" in capsys.readouterr().out
    assert main(["env", "diff", files[0], files[2]]) == 1
    assert "590.1" in capsys.readouterr().out
    assert main(["env", "diff", files[0], str(tmp_path / "no.json")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main(["env"]) == 2


def test_env_diff_takes_a_machine_report(tmp_path, capsys):
    [file] = written(tmp_path, node())
    report = tmp_path / "env.json"
    report.write_text(json.dumps(node(driver="590.1").context["environment"]))
    assert main(["env", "diff", file, str(report), "--json"]) == 1
    found = {one["fact"]: (one["base"], one["new"]) for one in json.loads(capsys.readouterr().out)}
    assert found["driver.version"] == ("580.159", "590.1")
    report.write_text('{"something": 1}')
    assert main(["env", "diff", file, str(report)]) == 2
    assert "says nothing of a machine" in capsys.readouterr().err


def test_export_csv_has_every_row_and_number(small, tmp_path, capsys):
    out = tmp_path / "rows.csv"
    assert main(["export", "csv", str(small), "-o", str(out)]) == 0
    assert f"{out}: 3 rows" in capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["status"] for row in rows] == ["ok", "failed", "skipped"]
    document = json.loads(small.read_text())["benchmarks"][0]
    assert float(rows[0]["median_s"]) == document["median_s"]
    assert float(rows[0]["high_s"]) == document["visits"][0]["within_s"][1]
    assert (rows[0]["axis.bytes"], rows[0]["site.gpu"], rows[0]["axis.flush"]) == ("1048576", "0", "on")
    assert (rows[1]["median_s"], rows[1]["reason"]) == ("", "the copy came back wrong")


def test_export_of_several_files(files, capsys):
    assert main(["export", "csv", str(files["cpu_only"]), str(files["busy"])]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 81 + 250
    assert len({row["file"] for row in rows}) == 2


def test_export_markdown_has_a_table_a_family(small, capsys):
    assert main(["export", "md", str(small)]) == 0
    text = capsys.readouterr().out
    assert "## transfer/memcpy" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len(tables) == 2 + 3
    assert len({line.count("|") for line in tables}) == 1
    assert "1 MiB" in tables[2]
    assert "failed: the copy came back wrong" in tables[3]


@pytest.mark.parametrize("arguments", [["export", "html", "x"], ["export", "csv"], ["env", "diff", "x"]])
def test_usage(arguments, capsys):
    assert main(arguments) == 2
    assert "usage" in capsys.readouterr().err
