"""Version 1 of the result file is read as version 2: visits of a case are one row, and names are today's."""

import json

import pytest

from grainscope_report import loading, reader, visits
from grainscope_report.cli import main
from planted import contradictions
from stored import PROJECT
from synthetic import MIB, File

SITE = {"gpu": 0, "numa": 0}
AXES = {"path": "pinned_to_gpu", "bytes": MIB, "locality": "local"}


def older(file: File, counts: dict[str, int] | None = None) -> dict:
    """A document as version 1 has it: a row a visit, numbered by repetition_index."""
    document = json.loads(json.dumps(file.document() | {"benchmarks": file.rows}))
    context = document["context"]
    context["schema_version"] = 1
    for name in ("visits", "seed"):
        del context["run"][name]
    for link in document["context"]["links"]:
        link["ci95_gb_s"] = link.pop("within_gb_s")
    for row in document["benchmarks"]:
        row["case"].pop("version")
        for visit in row.pop("visits", []):
            row.pop("middle")
            row["repetition_index"] = visit.pop("round") - 1
            names = {"within_s": "ci95_s", "visit_s": "session_s"}
            row |= {names.get(name, name): value for name, value in visit.items()}
        row["repetitions"] = 3
        row |= {"link_bytes": row.pop("link_bytes_least")} if "link_bytes_least" in row else {}
        for lane in row.get("lanes", []):
            lane["ci95_s"] = lane.pop("within_s")
    statuses = [row["status"] for row in document["benchmarks"]]
    context["run"]["counts"] = counts or {one: statuses.count(one) for one in ("ok", "skipped", "failed")}
    return document


def upgraded(tmp_path, document: dict) -> dict:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(document))
    return loading.load(path)[1]


def machine() -> File:
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.link("host_to_gpu", 54.7)
    return file


def copied(file: File, *microseconds: float, **more) -> list[dict]:
    return [
        file.add("transfer/memcpy", AXES, SITE, one * 1e-6, visit=visit, **more)
        for visit, one in enumerate(microseconds, 1)
    ]


def test_several_repetitions_are_one_row_with_visits(tmp_path):
    file = machine()
    rows = copied(file, 25, 21, 22, link_bytes_least=MIB)
    for row, took in zip(rows, (1.0, 2.0, 4.0), strict=True):
        row["visits"][0] |= {"visit_s": took, "preemptions": 3, "stolen_s": 0.5}
    document = upgraded(tmp_path, older(file))
    assert contradictions(document) == []
    [row] = reader.read(tmp_path / "result.json").rows
    assert [visit.round for visit in row.visits] == [1, 2, 3]
    assert [visit.median_s for visit in row.visits] == [one["median_s"] for one in rows]
    assert (row.middle, row.median_s) == (2, rows[2]["median_s"])
    assert row.samples_s == tuple(rows[2]["visits"][0]["samples_s"])
    assert row.within_s == tuple(rows[2]["visits"][0]["within_s"])
    assert (row.visit_s, row.stolen_s, {visit.preemptions for visit in row.visits}) == (7.0, 1.5, {3})
    assert (row.link_bytes_least, row.case.version) == (MIB, 1)
    assert row.time.visits == 3
    assert (row.time.low, row.time.high) == row.interval_s
    assert row.uncertainty.a.freedom == 2 + visits.FREEDOM
    assert not row.both_known
    context = document["context"]
    assert (context["schema_version"], context["run"]["visits"]) == (2, 3)
    assert context["run"]["counts"] == {"ok": 1, "skipped": 0, "failed": 0}
    assert context["links"][0].keys() >= {"within_gb_s"}
    assert not {"repetitions", "repetition_index", "samples_s", "ci95_s", "session_s"} & row.raw.keys()


def test_versions_of_families_stand_in_cases(tmp_path):
    file = machine()
    copied(file, 20)
    file.add("host/flush", {"bytes": MIB}, {"node": 0}, 1e-3)
    document = older(file)
    document["context"]["family_versions"] = {"host/flush": 3}
    found = upgraded(tmp_path, document)
    assert [row["case"]["version"] for row in found["benchmarks"]] == [1, 3]
    assert "family_versions" not in found["context"]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_visit_that_failed_makes_the_row_fail(tmp_path, at):
    file = machine()
    rows = copied(file, 20, 21, 22)
    rows[at] |= {"status": "failed", "reason": "the copy came back wrong", "verified": False}
    found = upgraded(tmp_path, older(file))
    [row] = found["benchmarks"]
    assert (row["status"], row["reason"]) == ("failed", f"in visit {at + 1} of 3: the copy came back wrong")
    assert [visit["round"] for visit in row["visits"]] == [at + 1]
    assert found["context"]["run"]["counts"] == {"ok": 0, "skipped": 0, "failed": 1}
    assert contradictions(found) == []


def test_rows_that_were_skipped_stay_as_they_are(tmp_path):
    file = machine()
    copied(file, 20)
    file.lose("skipped", "no second GPU", "transfer/peer", {"bytes": MIB}, SITE)
    document = older(file)
    document["benchmarks"].append(document["benchmarks"][1] | {"repetition_index": 1})
    document["context"]["run"]["counts"]["skipped"] += 1
    found = upgraded(tmp_path, document)
    assert [row["status"] for row in found["benchmarks"]] == ["ok", "skipped"]
    assert "visits" not in found["benchmarks"][1]
    assert found["benchmarks"][1]["reason"] == "in visit 1 of 3: no second GPU"
    assert contradictions(found) == []


def test_lanes_keep_their_intervals(tmp_path):
    file = machine()
    lanes = [{"name": "a", "from": "host:0", "to": "gpu:0", "bytes": MIB, "seconds": 1e-3}]
    file.together("contention", {"what": "x", "bytes": MIB}, SITE, lanes, overlap=1.0)
    [row] = upgraded(tmp_path, older(file))["benchmarks"]
    assert row["lanes"][0]["within_s"] == [0.99e-3, 1.01e-3]
    assert "ci95_s" not in row["lanes"][0]


def test_trials_have_no_interval_within_a_visit(tmp_path):
    file = machine()
    file.add("traversal/bfs", {"graph": "kron20"}, SITE, 1e-3)
    document = older(file)
    row = document["benchmarks"][0]
    row["trials"] = [{"label": f"source:{at}", "samples_s": [one]} for at, one in enumerate(row["samples_s"])]
    found = upgraded(tmp_path, document)
    assert "within_s" not in found["benchmarks"][0]["visits"][0]
    assert contradictions(found) == []
    [row] = reader.read(tmp_path / "result.json").rows
    assert row.time.low < row.median_s < row.time.high


def test_what_is_modelled_has_no_visits(tmp_path):
    file = machine()
    row = file.add("model/bfs", {"graph": "kron20"}, {}, 1e-3)
    row["label"] = "modelled"
    [found] = upgraded(tmp_path, older(file))["benchmarks"]
    assert not {"visits", "middle", "samples_s", "ci95_s"} & found.keys()
    assert found["median_s"] == row["median_s"]


def test_a_row_that_is_there_twice_stays_twice(tmp_path):
    file = machine()
    copied(file, 20)
    document = older(file)
    document["benchmarks"] *= 2
    document["context"]["run"]["counts"]["ok"] = 2
    [problem] = contradictions(upgraded(tmp_path, document))
    assert "hold a row twice" in problem.message


def test_counts_that_were_wrong_stay_wrong(tmp_path):
    file = machine()
    copied(file, 20, 21, 22)
    [problem] = contradictions(upgraded(tmp_path, older(file, {"ok": 4, "skipped": 0, "failed": 0})))
    assert str(problem) == "$.context.run.counts.ok: is 2, the file has 1 such rows"


@pytest.mark.parametrize("spoil", [
    lambda row: row.update(samples_s=5),
    lambda row: row.update(median_s="fast"),
    lambda row: row.update(median_s=-1.0),
    lambda row: row.update(name=7),
    lambda row: row.update(case=[]),
    lambda row: row.update(status=[]),
    lambda row: row.update(timing=3),
    lambda row: row.update(repetition_index="first"),
    lambda row: row.update(flags=7),
])  # fmt: skip
def test_what_is_off_the_format_is_refused_in_one_sentence(tmp_path, capsys, spoil):
    file = machine()
    copied(file, 20, 21, 22)
    document = older(file)
    spoil(document["benchmarks"][1])
    (tmp_path / "result.json").write_text(json.dumps(document))
    assert main(["summary", str(tmp_path / "result.json")]) == 2
    assert "does not follow the result format" in capsys.readouterr().err


def test_a_link_or_a_context_that_is_none_is_refused(tmp_path, capsys):
    wrong = [("links", 5), ("links", [7]), ("run", []), ("environment", 1)]
    for where, value in [*wrong, ("family_versions", 2)]:
        document = older(machine())
        document["context"][where] = value
        (tmp_path / "result.json").write_text(json.dumps(document))
        status = main(["summary", str(tmp_path / "result.json")])
        assert status == (2 if (where, value) in wrong else 0)
        assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["h100-repeat.json", "h100-quick.json", "h100-lean25.json.gz"])
def test_the_reference_results_agree_with_themselves(name):
    assert contradictions(loading.load(PROJECT / "results" / "reference" / name)[1]) == []
