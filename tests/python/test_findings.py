"""The one list of what a run says: each finding once, with the rows that it rests on."""

import json

import pytest

from grainscope_report import findings
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main


@pytest.mark.parametrize("name", ["h100", "linked", "traversing", "leaning", "learning", "tiering"])
def test_every_finding_is_plain_data_and_its_rows_are_in_the_file(show, name):
    [machine] = show(name)
    names = {row.name for row in machine.result.rows}
    found = findings.of(Analysis(machine))
    assert found
    for one in found:
        json.dumps(one.data)
        assert set(one.evidence) <= names


def test_what_is_told_of_curves_and_graphs_names_its_rows(show):
    [machine] = show("traversing")
    said = [one for one in findings.of(Analysis(machine)) if one.id == "traversals"]
    assert said
    for one in said:
        assert one.evidence == [one.fact.best.row.name]
        assert one.figure == "16"


def test_a_run_is_worked_out_once(show, monkeypatch):
    [machine] = show("traversing")
    asked = []
    run = Analysis(machine)
    monkeypatch.setattr(
        "grainscope_report.groups.traversal_answers.answers", lambda one: asked.append(one) or []
    )
    findings.of(run)
    assert len(asked) == 1


def test_topics_may_be_left_out(show):
    [machine] = show("h100")
    found = findings.of(Analysis(machine), but=("answers", "groups"))
    assert not findings.facts(found, "answers") + findings.facts(found, "groups")


def test_the_json_of_a_summary_is_that_of_the_findings(show, files, capsys):
    [machine] = show("h100")
    assert main(["summary", "--json", str(files["h100"])]) == 0
    document = json.loads(capsys.readouterr().out)
    found = findings.of(Analysis(machine, every=True))
    for topic in ("groups", "shape", "reasons"):
        assert document[topic] == json.loads(json.dumps(findings.data(found, topic)))
