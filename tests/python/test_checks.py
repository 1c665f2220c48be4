"""Numbers of a file that contradict each other: of single rows, families, and things at once."""

import ast
import dataclasses
import re
from pathlib import Path
from string import Formatter

import pytest

import synthetic_links
import synthetic_machines
from grainscope_report import model, reader, resources, uncertainty
from planted import SITE, contradictions, departures, faults_of, linked_file
from synthetic import MIB, File, times
from synthetic_links import add_gather, add_piece, add_saturation


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
    row["real_time"] = row["median_s"] * 1e9
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


def elsewhere(row: dict) -> None:
    """A fault: a site without a link, in the name, too."""
    row["case"]["site"].update(gpu=3)
    row["name"] = row["name"].replace("gpu:0", "gpu:3")


def fewer_bytes(row: dict) -> None:
    """A fault: half of the bytes that the case asks for, with all that follows from them."""
    for field in ("bytes", "bandwidth_gb_s", "link_fraction"):
        row[field] /= 2
    row["bytes"] = int(row["bytes"])
    row["traffic"]["amplification"] *= 2


SLOWER = {
    "median_s": 1.001,
    "real_time": 1.001,
    "operation_s": 1.001,
    "bandwidth_gb_s": 1 / 1.001,
    "link_fraction": 1 / 1.001,
}
GIB_NOT_GB = {"bandwidth_gb_s": 1e9 / (1 << 30), "link_fraction": 1e9 / (1 << 30)}
FAULTS = [
    (scaled(**SLOWER), "median_s", "that of the visit in the middle is 0.008"),
    (scaled(mad_s=1.4826), "mad_s", "mad(samples_s) is"),
    (visit(within_s=[8.1e-3, 8.2e-3]), "visits[0].within_s", "not contain"),
    (visit(within_s=[7.9e-3, 8.1e-3]), "visits[0].within_s", "rank interval"),
    (visit(around_s=16e-3), "visits[0].median_s", "but 0.016 s passed around a sample by another clock"),
    (visit(around_s=4e-3), "visits[0].median_s", "but only 0.004 s passed around a sample"),
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
    (elsewhere, "link_fraction", "context.links has no peak"),
    (
        lambda row: row.update(name=row["name"].replace("gpu:0", "gpu:3")),
        "name",
        "says gpu:3, its case has 0",
    ),
    (lambda row: row["case"]["axes"].update(offset=64), "name", "says offset:32, its case has 64"),
    (lambda row: row["case"]["axes"].pop("offset"), "name", "has offset:32, and its case has no offset"),
    (lambda row: row["case"]["axes"].pop("access"), "name", "has 'merged', and no axis of its case is that"),
    (replaced(name="transfer/memcpy/read"), "name", "of another family than its case, 'transfer/zero_copy'"),
    (replaced(real_time=8008000.0), "real_time", "is 8008000.0, median_s is 8000000.0 ns"),
    (replaced(time_unit="us"), "real_time", "median_s is 8000.0 us"),
    (replaced(bytes_per_second=33.5e6), "bytes_per_second", "bytes / median_s is 3355"),
    (replaced(items_per_second=125.0), "items_per_second", "operations / median_s is 125000"),
    (fewer_bytes, "bytes", "bytes is 268435456"),
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


def test_a_question_is_asked_once_at_a_site():
    """Under another name, too."""
    document = good().document()
    row = document["benchmarks"][0]
    document["benchmarks"].append(row | {"name": row["name"].replace("gpu:0/numa:0", "numa:0/gpu:0")})
    document["context"]["run"]["counts"]["ok"] += 1
    [problem] = contradictions(document)
    assert problem.path == "$.benchmarks"
    assert problem.message == "ask one question at one site twice: [0] and again [2]"


PCIE = "PCIe 5.0 x16 before packet headers"
LIMITS = [
    (PCIE, 63.0),
    (f"2 times {PCIE}", 126.0),
    (f"{PCIE} + {PCIE}", 126.0),
    (f"{PCIE}, on each of 2 GPUs", 126.0),
    (f"{PCIE} + 18 NVLinks", 63.0 + 450.0),
    ("18 NVLinks of a GPU", 450.0),
    ("16 CPU thread(s), 128 bytes a cycle at 6 GHz", 16 * 128 * 6.0),
    ("132 multiprocessors, 128 bytes a cycle at 3 GHz each, of 2 GPUs", 132 * 128 * 3.0 * 2),
]


@pytest.mark.parametrize(("words", "limit"), LIMITS, ids=[words for words, _ in LIMITS])
@pytest.mark.parametrize("times", [3.0, 0.999])
def test_a_limit_is_what_its_words_say(words, limit, times):
    file = good()
    file.peer_link(0, 1, 394.0)
    file.rows[0] |= {"limit_gb_s": limit, "limit": words}
    assert faults_of(file) == []
    assert faults_of(file, lambda row: row.update(limit_gb_s=times * limit))[-1].startswith(
        f"$.benchmarks[0].limit_gb_s: is {times * limit}, {words!r} is {limit}"
    )


@pytest.mark.parametrize(
    "words", ["PCIe 6.0 x16 before packet headers", f"{PCIE}, with that of GPU 1", "the GPU's own memory"]
)
def test_a_limit_of_which_the_file_does_not_tell_the_rate_is_any(words):
    """A link that trained down is measured as what it negotiated."""
    file = good()
    file.rows[0] |= {"limit_gb_s": 777.0, "limit": words}
    assert faults_of(file) == []


@pytest.mark.parametrize("limit", [0, -63.0])
def test_a_limit_is_positive(limit):
    document = good().document()
    document["benchmarks"][0]["limit_gb_s"] = limit
    assert [str(one) for one in departures(document)] == [
        f"$.benchmarks[0].limit_gb_s: is {limit}, must be above 0"
    ]


def test_a_failed_row_may_beat_its_limit():
    document = good().document()
    row = document["benchmarks"][0]
    shift(row, 0.5)
    # Google Benchmark has no time of a row that failed, whatever was measured before.
    row.update(status="failed", reason="impossible", real_time=0.0)
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
    row["real_time"] = row["median_s"] * 1e9
    row["bandwidth_gb_s"] = row["bytes"] / row["median_s"] / 1e9
    [problem] = contradictions(document)
    assert str(problem) == ROW + "middle: is 0, the middle median is that of visit 1"


def test_each_visit_has_the_median_of_its_samples():
    document = several()
    document["benchmarks"][0]["visits"][2]["median_s"] = 10.5e-3
    found = [str(one) for one in contradictions(document)]
    assert any("visits[2].median_s: is 0.0105, the median of samples_s is 0.01" in one for one in found)


def test_a_busy_visit_was_disturbed_in_most_of_its_samples():
    document = several()
    visit = document["benchmarks"][0]["visits"][0]
    count = len(visit["samples_s"])
    for disturbed, wrong in ((count // 2, True), (count, False)):
        visit |= {"busy": True, "disturbed": disturbed}
        found = any("most samples were not disturbed" in str(one) for one in contradictions(document))
        assert found == wrong


def test_the_middle_visit_is_one_on_a_quiet_cpu():
    document = several()
    first = document["benchmarks"][0]
    first["visits"][first["middle"]]["busy"] = True
    assert any("the middle median is that of visit" in str(one) for one in contradictions(document))


def test_a_visit_is_far_where_a_line_took_much_longer_than_in_another():
    for lines, far, wrong in (
        ((40, 70, 101), (None, None, True), False),
        ((40, 70, 99), (None, None, True), True),
        ((40, 70, 101), (None, None, None), True),
        ((None, None, 101), (None, None, None), False),
        ((None, None, 101), (None, None, True), True),
        ((200, 200, 210), (None, None, None), False),
        ((10, 45, 60), (None, None, None), False),  # two halves of a core
    ):
        document = several()
        row = document["benchmarks"][0]
        for visit, line, mark in zip(row["visits"], lines, far, strict=True):
            visit["state"] = {"cache_line_ns": line} if line else {}
            if mark:
                visit["far"] = True
        found = any("lay far from each other" in str(one) for one in contradictions(document))
        assert found == wrong, (lines, far)


def test_the_program_and_its_readers_mean_the_same_by_far():
    source = (Path(__file__).parents[2] / "benchmarks/harness/row.cpp").read_text()
    for name, rule, value in (
        ("kFar", "FAR", uncertainty.FAR),
        ("kTwoCores_ns", "TWO_CORES", uncertainty.TWO_CORES),
    ):
        [written] = re.findall(rf"double {name} = ([\d.]+);", source)
        assert float(written) == reader.words()[rule] == value


def test_the_middle_visit_is_one_whose_cpus_lay_near():
    document = several()
    first = document["benchmarks"][0]
    for at, visit in enumerate(first["visits"]):
        visit["state"] = {"cache_line_ns": 200 if at == first["middle"] else 40}
    first["visits"][first["middle"]]["far"] = True
    assert any("the middle median is that of visit" in str(one) for one in contradictions(document))


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
    for record in (
        model.Row,
        model.Visit,
        model.Lane,
        model.Trial,
        model.Stage,
        model.Traffic,
        model.Counted,
        model.Link,
        model.Run,
    )
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
        "timeline",
    }


def gathered() -> File:
    file = linked_file()
    axes = {
        "memory": "host_alloc", "order": "sorted", "row": 128, "rows": 1 << 20, "span": 1 << 28,
        "locality": "local",
    }  # fmt: skip
    add_gather(file, axes, SITE, 2.5e-3, 800_000)
    return file


GATHER_FAULTS = [
    (
        lambda row: row.update(link_bytes_least=row["bytes"] + 1),
        "link_bytes_least",
        "more than the 134217728 bytes",
    ),
    (lambda row: row["counters"].update(unique_rows=900_000), "counters.unique_bytes", " is 115200000"),
    (lambda row: row["counters"].update(unique_gb_s=1.0), "counters.unique_gb_s", " is 40.96"),
    (lambda row: row["counters"].update(rows_per_granule=16), "counters.rows_per_granule", " is 256"),
    (
        lambda row: row.update(link_bytes_least=row["bytes"]),
        "link_bytes_least",
        "counters.unique_bytes is 102400000",
    ),
    (
        lambda row: row["case"]["axes"].update(span=1 << 26),
        "counters.unique_rows",
        "span // row) × readers(axes), which is 524288",
    ),
    (lambda row: row["case"]["axes"].update(row=256), "bytes", "row × rows × readers(axes) is 268435456"),
    (lambda row: row.update(limit_gb_s=40.0), "status", "40.96 GB/s beats limit_gb_s"),
]


@pytest.mark.parametrize(("spoil", "field", "message"), GATHER_FAULTS, ids=[m for *_, m in GATHER_FAULTS])
def test_a_gather_agrees_with_its_counters(spoil, field, message):
    assert faults_of(gathered()) == []
    found = faults_of(gathered(), spoil)
    assert any(one.startswith(ROW + field) and message in one for one in found), found


def test_repeated_rows_may_beat_the_limit():
    file = gathered()
    file.rows[0]["limit_gb_s"] = 50.0
    assert file.rows[0]["bandwidth_gb_s"] > 50
    assert faults_of(file) == []


def test_requests_in_flight_are_rate_times_latency_over_size():
    file = linked_file()
    add_piece(file, SITE, "host_to_gpu", "zero_copy_random", 4096, 50.0, 1.2e-6, 460.0)
    assert faults_of(file) == []
    [found] = faults_of(file, lambda row: row["counters"].update(requests_in_flight=14.6))
    assert "rate × latency / bytes of a request is 460" in found


def test_requests_in_flight_of_gpu_memory_are_of_pieces_up_to_a_line():
    file = linked_file()
    add_piece(file, SITE, "host_to_gpu", "zero_copy_random", 64, 50.0, 1.2e-6, 937.5)
    case = file.rows[-1]["case"]
    case["family"], case["axes"] = "grain/gpu_memory", {"direction": "read", "memory": "own", "grain": 64}
    counted = [text for text in faults_of(file) if "latency" in text]
    assert counted == []
    found = faults_of(file, lambda row: row["counters"].update(requests_in_flight=469.0))
    assert any("rate × latency / bytes of a request is 937.5" in text for text in found)


MOVED_FAULTS = [
    (lambda row: row.update(link_bytes_least=row["link_bytes_least"] - 1), "no multiple of a page"),
    (lambda row: row.update(link_bytes_least=4096), "less than the 2097152 bytes"),
    (lambda row: row["counters"].update(moved_bytes=7), "link_bytes_least is"),
    (
        lambda row: row["counters"].update(moved_bytes_per_piece=32.0),
        "link_bytes_least / operations is 65536",
    ),
    (lambda row: row.update(limit_gb_s=7.0), "8.192 GB/s beats limit_gb_s"),
]


@pytest.mark.parametrize(("spoil", "message"), MOVED_FAULTS, ids=[message for _, message in MOVED_FAULTS])
def test_pieces_on_demand_move_whole_pages_and_no_less_than_was_useful(spoil, message):
    file = linked_file()
    add_piece(file, SITE, "host_to_gpu", "managed_demand", 32, 8.0, 8e-6, 1.0)
    assert faults_of(file) == []
    assert any(message in found for found in faults_of(file, spoil))


HINT_FAULTS = [
    ("accessed_by", {"link_bytes_least": 4096}, {}, "less than the 1048576 bytes that were read"),
    ("accessed_by", {}, {"moved_bytes": 4096}, "pages that are to be read in place have left the host"),
    ("preferred_host", {}, {"moved_bytes": 4096}, "pages that are to be read in place have left the host"),
]


@pytest.mark.parametrize(("hint", "fields", "counters", "message"), HINT_FAULTS)
def test_pages_under_a_hint_are_read_and_stay_where_they_are_to(hint, fields, counters, message):
    file = linked_file()
    axes = {"method": "demand", "path": "host_to_gpu", "hint": hint, "bytes": MIB, "locality": "local"}
    file.add("transfer/managed", axes, SITE, 40e-6, link_bytes_least=MIB, counters={"moved_bytes": 0})
    assert faults_of(file) == []
    found = faults_of(file, lambda row: (row.update(fields), row["counters"].update(counters)))
    assert any(message in text for text in found)


def test_pages_that_migrate_under_a_hint_may_leave_the_host():
    file = linked_file()
    axes = {
        "method": "demand",
        "path": "host_to_gpu",
        "hint": "preferred_gpu",
        "bytes": MIB,
        "locality": "local",
    }
    file.add("transfer/managed", axes, SITE, 40e-6, link_bytes_least=MIB, counters={"moved_bytes": MIB})
    assert faults_of(file) == []


def test_discards_move_no_bytes():
    file = linked_file()
    axes = {"method": "discard", "path": "host_to_gpu", "bytes": MIB, "locality": "local"}
    row = file.add("transfer/managed", axes, SITE, 40e-6, counters={"dropped_share": 1.0}, operations=1)
    for field in ("bytes", "bandwidth_gb_s", "link_fraction"):
        row.pop(field, None)
    assert faults_of(file) == []
    assert any(
        "more than all" in text
        for text in faults_of(file, lambda row: row["counters"].update(dropped_share=2))
    )
    assert any("need not cross" in text for text in faults_of(file, lambda row: row.update(bytes=MIB)))


def saturated() -> File:
    file = linked_file()
    add_saturation(file, SITE, "read", 4, 32, 50.0)
    return file


def test_a_grid_that_was_named_has_not_been_looked_for():
    """Rows with `blocks` have the rate of that grid alone, and say how many multiprocessors it took."""
    for name in ("saturated_gb_s", "full_gb_s"):
        found = faults_of(saturated(), lambda row, name=name: row["counters"].pop(name))
        assert any(one.startswith(f"{ROW}counters.{name}: is missing") for one in found)

    def named(row: dict) -> None:
        row["case"]["axes"]["blocks"] = 32
        for name in ("saturated_gb_s", "full_gb_s", "threshold"):
            row["counters"].pop(name)

    assert not [one for one in faults_of(saturated(), named) if "counters" in one]


SMS = [
    ({"sms": 200}, "counters.sms", "the GPU has 132"),
    ({"saturated_gb_s": 46.0}, "counters.saturated_gb_s", "below counters.threshold × counters.full_gb_s"),
]


@pytest.mark.parametrize(("fault", "field", "message"), SMS)
def test_multiprocessors_that_fill_the_link(fault, field, message):
    assert faults_of(saturated()) == []
    [found] = faults_of(saturated(), lambda row: row["counters"].update(fault))
    assert found.startswith(ROW + field)
    assert message in found


def test_a_box_has_the_bytes_of_its_sides():
    file = linked_file()
    axes = {
        "path": "host_to_gpu", "method": "copy_2d", "width": 256, "rows": 64, "planes": 4, "pitch": 512,
        "bytes": 65536, "locality": "local",
    }  # fmt: skip
    file.add("shape/copy", axes, SITE, 1e-5)
    assert faults_of(file) == []
    found = faults_of(file, lambda row: row["case"]["axes"].update(planes=2))
    assert "says planes:4, its case has 2" in found[0]
    assert "width × rows × planes is 32768" in found[1]


LANES_SITE = {"gpu": 0, "numa": 0}


def lane(name: str, source: str, target: str, seconds: float = 2e-3, size: int = 64 * MIB, **more) -> dict:
    return {"name": name, "bytes": size, "from": source, "to": target, "seconds": seconds, **more}


def duplex() -> File:
    """A right row: 64 MiB each way in 2 ms, the lane to the host a little later."""
    file = linked_file()
    axes = {"between": "host_gpu", "method": "pinned", "bytes": 64 * MIB, "locality": "local"}
    lanes = [lane("to_gpu", "host:0", "gpu:0"), lane("to_host", "gpu:0", "host:0", 2.02e-3)]
    file.together("transfer/duplex", axes, LANES_SITE, lanes, overlap=0.97, median_s=2.05e-3)
    return file


def put(index: int, **values):
    """A fault: these fields of a lane."""
    return lambda row: row["lanes"][index].update(values)


def timed(row: dict, factor: float) -> None:
    """The same row in another time, its lanes as they were."""
    row |= times([one * factor for one in row["visits"][0]["samples_s"]])
    row["bandwidth_gb_s"] = row["bytes"] / row["median_s"] / 1e9
    row["link_fraction"] /= factor


def rushed(row: dict) -> None:
    """Everything three times as fast: above what both links can do."""
    timed(row, 1 / 3)
    for one in row["lanes"]:
        one["median_s"] /= 3
        one["within_s"] = [end / 3 for end in one["within_s"]]
        one["bandwidth_gb_s"] *= 3


def one_way(row: dict) -> None:
    """Half of the row is gone."""
    del row["lanes"][1]
    row["bytes"] //= 2
    row["bandwidth_gb_s"] /= 2
    row["link_fraction"] = row["bandwidth_gb_s"] / 55.0
    del row["overlap"]


def same_way(row: dict) -> None:
    row["lanes"][1] |= {"from": "host:0", "to": "gpu:0"}
    row["link_fraction"] = row["bandwidth_gb_s"] / 55.0


LANE_FAULTS = [
    (put(0, bandwidth_gb_s=40.0), "lanes[0].bandwidth_gb_s", "bytes / median_s / 1e9 is 33.55"),
    (lambda row: row["lanes"][0].pop("bandwidth_gb_s"), "lanes[0].bandwidth_gb_s", "is missing though"),
    (put(0, within_s=[2.1e-3, 2.2e-3]), "lanes[0].within_s", "does not contain median_s"),
    (put(0, **{"from": "node 0"}), "lanes[0].from", "not like `host:0`"),
    (put(0, alone_s=1e-3, alone_gb_s=1.0), "lanes[0].alone_gb_s", "bytes / alone_s / 1e9 is 67.1"),
    (lambda row: row.update(flags=["slower_alone"]), "flags: ", "no lane took longer alone"),
    (put(1, name="to_gpu"), "lanes: ", "two lanes of one name"),
    (one_way, "lanes: ", "has no lane to_host: one of the two directions is not there"),
    (same_way, "lanes[1].from", "to gpu:0 is host:0, not gpu:0 to host:0"),
    (same_way, "lanes: ", "to_gpu and to_host go the same way"),
    (lambda row: row.pop("lanes"), "lanes: ", "is missing though the row is about both directions"),
    (lambda row: row.pop("overlap"), "overlap: ", "is missing though the row has several lanes"),
    (lambda row: timed(row, 0.9), "lanes[1].median_s", "is 0.00202, but its row took only 0.001845"),
    (lambda row: timed(row, 2.0), "overlap: ", "but the shortest lane ran 0.495 of the time at most"),
    (put(0, background=True), "lanes[0].background", "the measured lane comes first"),
    (put(0, background=True), "bytes: ", "its measured lanes have 67108864 together"),
    (lambda row: row.update(link_fraction=0.6), "link_fraction: ", "its rate over the copy peak is 0.589"),
    (rushed, "lanes[0].bandwidth_gb_s", "above the link's theoretical 63: the row must be failed"),
    (rushed, "bandwidth_gb_s: ", "is 196.4, above the sum of its links' limits, 126"),
]


def test_a_right_row_of_two_lanes_passes():
    assert faults_of(duplex()) == []


@pytest.mark.parametrize(
    ("spoil", "field", "message"), LANE_FAULTS, ids=[f"{a} {b}" for _, a, b in LANE_FAULTS]
)
def test_a_fault_of_lanes_is_found(spoil, field, message):
    found = faults_of(duplex(), spoil)
    assert any(one.startswith(ROW + field) and message in one for one in found), found


@pytest.mark.parametrize(("overlap", "said"), [(1.2, "at most 1"), (-0.1, "must be at least 0")])
def test_an_overlap_is_a_share(overlap, said):
    document = duplex().document()
    document["benchmarks"][0]["overlap"] = overlap
    [problem] = departures(document)
    assert said in str(problem)


def test_a_lane_of_few_samples_has_no_interval():
    assert faults_of(duplex(), lambda row: row["lanes"][0].pop("within_s")) == []


def test_a_lane_that_moved_nothing_is_named():
    def spoil(row: dict) -> None:
        row["lanes"][1]["bytes"] = 0
        del row["lanes"][1]["bandwidth_gb_s"]

    assert any("this direction moved nothing" in one for one in faults_of(duplex(), spoil))


def test_a_lane_that_took_longer_alone_may_be_flagged():
    file = duplex()
    slow_s = 1.5 * file.rows[0]["lanes"][0]["median_s"]
    size = file.rows[0]["lanes"][0]["bytes"]
    file.rows[0]["lanes"][0] |= {"alone_s": slow_s, "alone_gb_s": size / slow_s / 1e9}
    assert faults_of(file) == []
    file.rows[0]["flags"] = ["slower_alone"]
    assert faults_of(file) == []


def test_background_lanes_are_not_counted():
    file = linked_file()
    axes = {"what": "opposite_copy", "path": "host_to_gpu", "bytes": 64 * MIB, "locality": "local"}
    other = lane("other", "gpu:0", "host:0", 9e-3, 256 * MIB, background=True)
    measured = lane("measured", "host:0", "gpu:0", alone_s=1.25e-3, alone_gb_s=64 * MIB / 1.25e-3 / 1e9)
    file.together("contention", axes, LANES_SITE, [measured, other], overlap=1.0)
    assert faults_of(file) == []
    assert file.rows[0]["link_fraction"] == pytest.approx(file.rows[0]["bandwidth_gb_s"] / 55.0)
    both = file.rows[0]["bandwidth_gb_s"] / (55.0 + 56.0)
    [found] = faults_of(file, lambda row: row.update(link_fraction=both))
    assert "link_fraction" in found


def test_a_computing_lane_has_no_bytes_and_no_rate():
    file = linked_file()
    axes = {"what": "beside_compute", "path": "host_to_gpu", "bytes": 64 * MIB, "locality": "local"}
    work = {
        "name": "compute",
        "bytes": 0,
        "from": "gpu:0",
        "to": "gpu:0",
        "seconds": 2e-3,
        "background": True,
    }
    file.together("contention", axes, LANES_SITE, [lane("measured", "host:0", "gpu:0"), work], overlap=1.0)
    assert faults_of(file) == []
    assert any("the lane has no bytes" in one for one in faults_of(file, put(1, bandwidth_gb_s=1.0)))


def test_streams_on_one_link_share_its_peak():
    file = linked_file()
    axes = {"what": "streams", "streams": 2, "path": "host_to_gpu", "bytes": 64 * MIB, "locality": "local"}
    lanes = [lane(f"stream_{order}", "host:0", "gpu:0", 2.6e-3) for order in range(2)]
    file.together("contention", axes, LANES_SITE, lanes, overlap=0.99)
    assert file.rows[0]["link_fraction"] == pytest.approx(2 * 64 * MIB / 2.6e-3 / 1e9 / 55.0)
    assert faults_of(file) == []


def test_both_ways_between_gpus_are_held_against_both_peaks():
    file = linked_file()
    synthetic_links.add_gpu_duplex(file, 0, 1, 390.0)
    assert faults_of(file) == []
    row = file.rows[0]
    assert row["link_fraction"] == pytest.approx(row["bandwidth_gb_s"] / 786.0)


@pytest.mark.parametrize(("direction", "peak"), [("read", 392.0), ("write", 394.0)])
def test_a_peer_row_is_a_share_of_its_own_direction(direction, peak):
    file = linked_file()
    axes = {"method": "kernel_copy", "direction": direction, "access": "on", "bytes": MIB, "link": "nvlink"}
    row = file.add("transfer/peer", axes, {"gpu": 0, "peer": 1}, 4e-6)
    row["link_fraction"] = row["bandwidth_gb_s"] / peak
    assert faults_of(file) == []
    row["link_fraction"] *= 1.001
    assert "link_fraction" in faults_of(file)[0]


LINKS = [
    ({"numa": 0}, "numa", "a link has one other end"),
    ({"peer": 0}, "peer", "is the GPU itself"),
    ({"peak_gb_s": 460.0, "within_gb_s": [459, 461]}, "peak_gb_s", "above the link's theoretical"),
]


@pytest.mark.parametrize(("fault", "field", "message"), LINKS)
def test_links_between_gpus_agree_with_themselves(fault, field, message):
    document = linked_file().document()
    document["context"]["links"][2].update(fault)
    found = [str(one) for one in contradictions(document)]
    assert any(one.startswith(f"$.context.links[2].{field}") and message in one for one in found)


def test_a_link_needs_a_node_or_a_peer():
    document = linked_file().document()
    del document["context"]["links"][0]["numa"]
    document["context"]["links"][2]["direction"] = "host_to_gpu"
    found = [str(one) for one in departures(document)]
    assert found[0] == "$.context.links[0].numa: is missing"
    assert 'must be "to_peer"' in found[1]


def test_no_rule_at_a_glance_says_time():
    """For a glance times are not made, so such a rule would never apply."""

    axes = Path(__file__).resolve().parents[2] / "docs/axes.md"
    families = re.findall(r"^## (\S+)$", axes.read_text(), re.MULTILINE)
    headings = [found for line in reader._lines() if (found := reader.HEADING.fullmatch(line))]
    kinds = {found[2] for found in headings} - {"words"}

    def saying(glance: bool) -> list[str]:
        rules = (one for kind in kinds for family in families for one in reader._rules(glance, kind, family))
        return [one.why for one in rules if "time" in one.pairs.co_names]

    assert saying(glance=True) == []
    assert saying(glance=False) != []
