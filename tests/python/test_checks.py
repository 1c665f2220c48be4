"""Every contradiction that a schema cannot see, planted into a file that is right otherwise."""

import ast
import dataclasses
import re
from pathlib import Path
from string import Formatter

import pytest

import synthetic_machines
from grainscope_report import model, reader, resources
from planted import contradictions
from synthetic import MIB, File, times


def good() -> File:
    """One row that every check applies to, one skipped."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.link("host_to_gpu", 54.7)
    file.link("gpu_to_host", 55.1)
    axes = {"direction": "read", "access": "merged", "offset": 32, "bytes": 256 * MIB, "locality": "local"}
    traffic = synthetic_machines.traffic_of({"32": 0.5, "96": 0.5}, 256 * MIB, 1.0)
    site = {"gpu": 0, "numa": 0}
    file.add("transfer/zero_copy", axes, site, 8e-3, operations=1000, traffic=traffic, limit_gb_s=63.0)
    file.lose(
        "skipped", "no second node", "transfer/zero_copy", axes | {"locality": "remote"}, site | {"numa": 1}
    )
    return file


def shift(row: dict, factor: float) -> None:
    """Another median with everything that follows from it."""
    row |= times([one * factor for one in row["visits"][0]["samples_s"]])
    row["bandwidth_gb_s"] = row["bytes"] / row["median_s"] / 1e9
    row["operation_s"] = row["median_s"] / row["operations"]
    row["link_fraction"] = row["bandwidth_gb_s"] / 54.7


ROW = "$.benchmarks[0]."


def scaled(**factors: float):
    """A fault: these fields of the row times these factors."""

    def spoil(row: dict) -> None:
        for field, factor in factors.items():
            row[field] *= factor

    return spoil


def replaced(**values):
    """A fault: these fields of the row with these values, or what a function makes of the row."""

    def spoil(row: dict) -> None:
        row.update({field: value(row) if callable(value) else value for field, value in values.items()})

    return spoil


def visit(**values):
    """A fault: these fields of the row's visit."""
    return lambda row: row["visits"][0].update(values)


def traffic(**values):
    """A fault: these fields of the row's traffic."""
    return lambda row: row["traffic"].update(values)


SLOWER = {"median_s": 1.001, "operation_s": 1.001, "bandwidth_gb_s": 1 / 1.001, "link_fraction": 1 / 1.001}
GIB_NOT_GB = {"bandwidth_gb_s": 1e9 / (1 << 30), "link_fraction": 1e9 / (1 << 30)}
FAULTS = [
    (scaled(**SLOWER), "median_s", "that of the visit in the middle is 0.008"),
    (scaled(mad_s=1.4826), "mad_s", "mad(samples_s) is"),
    (visit(within_s=[8.1e-3, 8.2e-3]), "visits[0].within_s", "not contain"),
    (visit(within_s=[7.9e-3, 8.1e-3]), "visits[0].within_s", "rank interval"),
    (
        lambda row: row["visits"][0].pop("within_s"),
        "visits[0].within_s",
        "missing though there are 8 samples",
    ),
    (replaced(interval_s=[8.1e-3, 8.2e-3]), "interval_s", "not contain"),
    (replaced(flags=["unsettled"]), "flags", "moved no visit's median"),
    (visit(unsettled_s=[1.0] * 64), "flags", "lacks unsettled"),
    (replaced(p5_s=lambda row: row["median_s"] * 1.001), "p5_s", "percentile(samples_s, 5) is"),
    (replaced(p95_s=lambda row: row["median_s"] * 0.999), "p95_s", "percentile(samples_s, 95) is"),
    (
        scaled(bandwidth_gb_s=1.00001, link_fraction=1.00001),
        "bandwidth_gb_s",
        "bytes / median_s / 1e9 is 33.55",
    ),
    (scaled(**GIB_NOT_GB), "bandwidth_gb_s", "is 31.25"),
    (scaled(operation_s=1000), "operation_s", "median_s / operations is 8"),
    (lambda row: shift(row, 0.5), "status", "beats limit_gb_s 63.0: it must be failed"),
    (replaced(link_bytes_least=768 * MIB), "status", "100.7 GB/s beats limit_gb_s 63.0"),
    (replaced(link_fraction=0.9), "link_fraction", "its rate over the copy peak is 0.613"),
    (lambda row: row["case"]["site"].update(gpu=3), "link_fraction", "context.links has no peak"),
    (replaced(middle=1), "middle", "above the last of the visits, 0"),
    (traffic(requests=1), "traffic.requests", "requests_by_size add up to"),
    (traffic(bytes=256 * MIB * 1.02), "traffic.bytes", "requests_by_size carry 268435456"),
    (traffic(amplification=2), "traffic.amplification", "traffic.bytes / bytes asked for is 1.0"),
]


def test_a_good_file_has_no_problem():
    assert contradictions(good().document()) == []


@pytest.mark.parametrize("name", ["h100", "two_nodes", "cpu_only"])
def test_the_synthetic_machines_agree_with_themselves(name):
    assert contradictions(getattr(synthetic_machines, name)().document()) == []


@pytest.mark.parametrize(("spoil", "field", "message"), FAULTS, ids=[f"{f}: {m}" for _, f, m in FAULTS])
def test_a_contradiction_in_a_row_is_found_where_it_is(spoil, field, message):
    document = good().document()
    spoil(document["benchmarks"][0])
    [problem] = contradictions(document)
    assert problem.path == ROW + field
    assert message in problem.message


def test_a_failed_row_may_beat_its_limit():
    document = good().document()
    row = document["benchmarks"][0]
    shift(row, 0.5)
    row.update(status="failed", reason="impossible")
    document["context"]["run"]["counts"] = {"ok": 0, "skipped": 1, "failed": 1}
    assert contradictions(document) == []


def test_fewer_link_bytes_than_asked_for_may_beat_the_limit():
    document = good().document()
    shift(document["benchmarks"][0], 0.5)
    document["benchmarks"][0]["link_bytes_least"] = 128 * MIB
    assert contradictions(document) == []


def test_the_link_fraction_belongs_to_its_direction():
    document = good().document()
    row = document["benchmarks"][0]
    row["link_fraction"] = row["bandwidth_gb_s"] / 55.1
    assert [one.path for one in contradictions(document)] == [ROW + "link_fraction"]


def test_a_skipped_row_has_no_times():
    document = good().document()
    document["benchmarks"][1]["median_s"] = 1.0
    assert "status: is skipped, but median_s is given" in str(contradictions(document)[0])


def test_a_reason_says_something():
    document = good().document()
    document["benchmarks"][1]["reason"] = " "
    assert "is blank though the row is not ok" in str(contradictions(document)[0])


def test_counts_match_the_rows():
    document = good().document()
    document["context"]["run"]["counts"]["failed"] = 2
    [problem] = contradictions(document)
    assert str(problem) == "$.context.run.counts.failed: is 2, the file has 0 such rows"


def test_names_are_unique():
    document = good().document()
    document["benchmarks"].append(document["benchmarks"][0])
    document["context"]["run"]["counts"]["ok"] = 2
    [problem] = contradictions(document)
    assert problem.path == "$.benchmarks"
    assert "first [0] and again [2]" in problem.message


def several() -> dict:
    """A row of three visits, of which the second has the middle median."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    for number, seconds in enumerate((8e-3, 9e-3, 10e-3), 1):
        file.add("transfer/zero_copy", {"bytes": 256 * MIB}, {"numa": 0, "gpu": 0}, seconds, visit=number)
    return file.document()


def test_a_row_of_several_visits_is_fine():
    document = several()
    assert len(document["benchmarks"]) == 1
    assert contradictions(document) == []


def test_the_middle_is_that_of_the_middle_median():
    document = several()
    row = document["benchmarks"][0]
    first = row["visits"][0]
    row |= times(first["samples_s"]) | {"visits": row["visits"], "middle": 0}
    row["bandwidth_gb_s"] = row["bytes"] / row["median_s"] / 1e9
    [problem] = contradictions(document)
    assert str(problem) == ROW + "middle: is 0, the middle median is that of visit 1"


def test_each_visit_has_the_median_of_its_samples():
    document = several()
    document["benchmarks"][0]["visits"][2]["median_s"] = 10.5e-3
    found = [str(one) for one in contradictions(document)]
    assert any("visits[2].median_s: is 0.0105, the median of samples_s is 0.01" in one for one in found)


def test_uncertainties_follow_from_the_visits():
    document = several()
    document["benchmarks"][0]["uncertainty"]["a"]["standard"] *= 1.01
    [problem] = contradictions(document)
    assert problem.path == ROW + "uncertainty"
    assert "the visits of all rows make it" in problem.message


@pytest.mark.parametrize("spoil", [
    lambda row: row.update(interval_s=[row["interval_s"][0], row["interval_s"][1] * 1.01]),
    lambda row: row.pop("interval_s"),
    lambda row: row["flags"].append("visits_differ"),
    lambda row: row["uncertainty"].update(b={"standard": 0.1}, combined={"standard": 0.1}),
])  # fmt: skip
def test_what_follows_from_uncertainties_is_worked_out_anew(spoil):
    document = several()
    spoil(document["benchmarks"][0])
    assert contradictions(document)


def test_visits_are_in_the_order_of_rounds():
    document = several()
    row = document["benchmarks"][0]
    row["visits"][0]["round"] = 4
    [problem] = contradictions(document)
    assert str(problem) == ROW + "visits: are not in the order of rounds"


LINK_FAULTS = [
    ({"within_gb_s": [50.0, 51.0]}, "within_gb_s", "does not contain peak_gb_s 54.7"),
    ({"theoretical_gb_s": 50.0}, "peak_gb_s", "above the link's theoretical 50.0"),
]


@pytest.mark.parametrize(("fault", "field", "message"), LINK_FAULTS)
def test_links_agree_with_themselves(fault, field, message):
    document = good().document()
    document["context"]["links"][0].update(fault)
    [problem] = contradictions(document)
    assert problem.path == f"$.context.links[0].{field}"
    assert message in problem.message


def test_a_link_is_measured_once():
    document = good().document()
    document["context"]["links"].append(document["context"]["links"][0])
    assert "first [0] and again [2]" in str(contradictions(document)[0])


RUN_FAULTS = [
    ({"complete": False}, "why_incomplete", "no reason though the run is not complete"),
    ({"why_incomplete": "killed"}, "why_incomplete", "a reason though the run is complete"),
    ({"shard": {"index": 3, "count": 2}}, "shard.index", "above the count of 2"),
]


@pytest.mark.parametrize(("fault", "field", "message"), RUN_FAULTS)
def test_the_run_agrees_with_itself(fault, field, message):
    document = good().document()
    document["context"]["run"].update(fault)
    [problem] = contradictions(document)
    assert problem.path == f"$.context.run.{field}"
    assert message in problem.message


def rule_lines() -> list[str]:
    text = resources.rules_path().read_text(encoding="utf-8")
    lines = re.sub(r"\n +", " ", text).splitlines()
    return [line for line in lines if line and line[0] != "#"]


def names_of(expression: str) -> set[str]:
    """The names that an expression takes from its record."""
    nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    names = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    names -= {one.arg for one in nodes if isinstance(one, ast.arg)}
    return names - {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def expressions(line: str) -> list[str]:
    """What is worked out in a line of the rules."""
    if heading := reader.HEADING.fullmatch(line):
        return [heading[4]] if heading[4] else []
    if word := reader.WORD.fullmatch(line):
        return [f"lambda {word[2] or ''}: {word[3]}"]
    assert line[0] != "[", line
    text, *more = line.split(" | ")
    said = dict(one.split(" ", 1) for one in more if one.split()[0] in ("if", "for"))
    shown = [re.match(r"\w+", name)[0] for _, name, *_ in Formatter().parse(line) if name]
    test = f"({', '.join([text.partition(': ')[2] or text, said.get('if', 'True'), *shown])})"
    return [f"[{test} for {said.get('for', '_ in (0,)')}]"]


FIELDS = {
    field.name
    for record in (model.Row, model.Lane, model.Trial, model.Traffic, model.Counted, model.Link, model.Run)
    for field in dataclasses.fields(record)
}


def test_a_rule_takes_nothing_but_fields_and_what_is_made_of_them():
    """A rule with a misspelt name would never apply."""
    result = reader.parsed(Path("x"), good().document())[0]
    known = FIELDS | reader.words()["__builtins__"].keys() | {"row", "index", "rows", "left", "right"}
    known = known.union(*(names for *_, names in reader.parts(result)))
    for line in rule_lines():
        for part in expressions(line):
            assert names_of(part) <= known, line


def test_no_word_of_the_rules_is_a_field():
    assert reader.words().keys() & FIELDS == set()


def test_every_rule_is_of_something_that_is_looked_at():
    each = {match[2] for line in rule_lines() if (match := reader.HEADING.fullmatch(line))}
    assert each == {
        "words",
        "result",
        "run",
        "link",
        "row",
        "visits",
        "traffic",
        "counted",
        "lanes",
        "trials",
    }
