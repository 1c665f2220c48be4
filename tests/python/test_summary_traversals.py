"""What `summary` says of traversals, in words and as JSON."""

import json

import pytest

from grainscope_report.cli import main
from planted_traversals import KRON, linked, machine_file, measured, steady, traverse


def test_summary_has_the_best_access_and_what_it_is_better_than(tmp_path, capsys):
    file = measured()
    traverse(file, steady(0.125), edge=4, counters={"link_gb_s": 27.35})
    path = file.write(tmp_path / "result.json")
    assert main(["summary", str(path)]) == 0
    out = capsys.readouterr().out
    [line] = [" ".join(line.split()) for line in out.splitlines() if "bfs kron24" in line]
    assert line == "bfs kron24, 8 B aligned 250 ms 125 ms 0.000000004 4.00 0.40"
    assert "cold, not oversubscribed" in " ".join(out.split())
    assert main(["summary", "--json", str(path)]) == 0
    wide, narrow = json.loads(capsys.readouterr().out)["traversals"]
    assert (wide["algorithm"], wide["graph"], wide["edge"], wide["label"]) == ("bfs", KRON, 8, "measured")
    assert (wide["best"]["access"], wide["best"]["placement"]) == ("merged_aligned", "mapped")
    assert wide["over_managed"]["value"] == pytest.approx(4.0)
    assert wide["over_device"]["value"] == pytest.approx(0.4)
    assert len(wide["ways"]) == 6
    assert narrow["best"]["link_gb_s"] == 27.35
    assert narrow["over_managed"] is None


def test_summary_of_a_model_alone_says_so(tmp_path, capsys):
    file = linked(machine_file())
    assert main(["summary", str(file.write(tmp_path / "result.json"))]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "traversals, modelled over PCIe 3 ×16" in out
    assert "bfs kron24, 8 B aligned 800 ms 1 2.00" in out
    assert "an estimate of the time that the link needs, which measured traversals may miss" in out
    assert "not validated on hardware" in out
