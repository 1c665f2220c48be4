"""What `summary` says of traversals, in words and as JSON."""

import json

import pytest

from grainscope_report import reader
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.fits import everything
from grainscope_report.machine import machines
from planted_traversals import KRON, linked, machine_file, measured, model, steady, traverse


def test_summary_has_the_best_access_and_what_it_is_better_than(tmp_path, capsys):
    file = measured()
    traverse(file, steady(0.125), edge=4, counters={"link_gb_s": 27.35})
    path = file.write(tmp_path / "result.json")
    assert main(["summary", "--full", str(path)]) == 0
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
    assert main(["summary", "--full", str(file.write(tmp_path / "result.json"))]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "traversals, modelled over PCIe 3 ×16" in out
    assert "bfs kron24, 8 B aligned 800 ms 1 2.00" in out
    assert "an estimate of the time that the link needs, which measured traversals may miss" in out
    assert "not validated on hardware" in out


def table_line(out: str, begin: str) -> str:
    [line] = [" ".join(line.split()) for line in out.splitlines() if line.strip().startswith(begin)]
    return line


def test_both_widths_of_edges_are_of_the_same_access(tmp_path, capsys):
    file = machine_file()
    for edge, access, time_s in ((8, "merged", 0.5), (8, "merged_aligned", 0.25),
                                 (4, "merged", 0.1), (4, "merged_aligned", 0.125)):  # fmt: skip
        traverse(file, steady(time_s), access=access, edge=edge)
    assert main(["summary", "--full", str(file.write(tmp_path / "result.json"))]) == 0
    out = capsys.readouterr().out
    assert table_line(out, "bfs kron24").startswith("bfs kron24, 8 B aligned 250 ms 125 ms")
    assert "With narrower edges: the time of the same access." in " ".join(out.split())


def test_ties_are_told_as_ties(tmp_path, capsys):
    file = machine_file()
    for algorithm, times in (("bfs", (0.5, 0.5)), ("pr", (0.5, 0.25))):
        for access, time_s in zip(("merged", "merged_aligned"), times, strict=True):
            model(file, time_s, algorithm, access=access)
    path = file.write(tmp_path / "result.json")
    assert main(["summary", "--full", str(path)]) == 0
    out = capsys.readouterr().out
    assert table_line(out, "bfs kron24").startswith("bfs kron24, 8 B merged (tied with 1) 500 ms")
    assert table_line(out, "pr kron24").startswith("pr kron24, 8 B aligned 250 ms")
    assert main(["summary", "--json", str(path)]) == 0
    found = {one["algorithm"]: one for one in json.loads(capsys.readouterr().out)["traversals"]}
    assert [way["access"] for way in found["bfs"]["tied"]] == ["merged_aligned"]
    assert found["pr"]["tied"] == []
    [machine] = machines([reader.read(path)])
    said = {one.question: one.text for one in everything.answers(Analysis(machine))}
    assert "the fastest access is merged = aligned (a tie) in 1, aligned in 1" in said["Which traversal"]
