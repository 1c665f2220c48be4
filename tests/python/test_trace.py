"""`export trace`: what the events say, the rules of the trace event format, and what is refused."""

import itertools
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.cli import main
from grainscope_report.commands import exchange
from planted import SITE, copy, gpu_file
from planted_traversals import machine_file, steady, traverse
from synthetic import MIB, File
from synthetic_training import BYTES, add_pipeline, timeline

STORED = Path(__file__).resolve().parents[2] / "results/reference"
# What each phase must have beside a name, a phase and a process, and the types of all.
NEEDS = {"X": {"ts", "dur", "tid"}, "C": {"ts", "args"}, "i": {"ts", "tid", "s"}, "M": {"args"}}
TYPES = {"name": str, "cat": str, "ph": str, "s": str, "ts": (int, float), "dur": (int, float), "pid": int,
         "tid": int, "args": dict}  # fmt: skip
METADATA = {"process_name": "name", "thread_name": "name",
            "process_sort_index": "sort_index", "thread_sort_index": "sort_index"}  # fmt: skip


def broken(document: dict) -> list[str]:
    """The rules of the format, and of what Perfetto makes of it, that a trace breaks."""
    if set(document) - {"traceEvents", "displayTimeUnit", "otherData"}:
        return ["has keys that no viewer knows"]
    found, lanes, names = [], defaultdict(list), defaultdict(set)
    for event in document["traceEvents"]:
        phase = event.get("ph")
        lacking = {"name", "ph", "pid", *NEEDS.get(phase, ())} - event.keys()
        wrong = [key for key, value in event.items() if not isinstance(value, TYPES.get(key, ()))]
        if phase not in NEEDS or lacking or wrong:
            found.append(f"{event}: phase {phase}, lacks {lacking}, of another type {wrong}")
            continue
        if min(event.get("ts", 0), event.get("dur", 0), event["pid"] - 1, event.get("tid", 1) - 1) < 0:
            found.append(f"{event}: a negative time, or the number of an idle thread")
        if phase == "C" and not all(isinstance(value, (int, float)) for value in event["args"].values()):
            found.append(f"{event}: a counter counts")
        if phase == "M" and METADATA[event["name"]] not in event["args"]:
            found.append(f"{event}: names or sorts nothing")
        if phase == "M" and event["name"].endswith("_name"):
            names[event.get("tid", event["pid"])].add((event["pid"], event["args"]["name"]))
        if phase == "i" and event["s"] not in ("t", "p", "g"):
            found.append(f"{event}: of no scope")
        if phase == "X":
            lanes[event["pid"], event["tid"]].append((event["ts"], event["dur"]))
    found += [f"{number} is {of}" for number, of in names.items() if len(of) > 1]
    found += [f"thread {lane} has no name" for lane in lanes if lane[1] not in names]
    for lane, spans in lanes.items():
        for (begin, long), (after, _) in itertools.pairwise(spans):
            if begin + long > after + 1e-6:
                found.append(f"{lane}: steps overlap at {after}")
    return found


def traced(file: File, tmp_path: Path) -> list[dict]:
    text, _ = exchange.trace_text([reader.read(file.write(tmp_path / "result.json"))])
    document = json.loads(text)
    assert broken(document) == []
    return document["traceEvents"]


def named(events: list[dict], kind: str) -> list[str]:
    return [event["args"]["name"] for event in events if event["name"] == f"{kind}_name"]


def steps(events: list[dict], lane: str = "") -> list[dict]:
    return [event for event in events if event["ph"] == "X" and event["cat"] == (lane or event["cat"])]


def test_a_training_is_a_process_a_gpu_and_a_thread_a_stage(tmp_path):
    file = gpu_file()
    row = add_pipeline(file, "masked", gpus=2, bytes=2 * BYTES)
    row["counters"]["nodes"], row["link_bytes_least"] = 200_000.0, BYTES
    events = traced(file, tmp_path)
    places = ("GPU 0, NVIDIA H100 80GB HBM3", "GPU 1")
    assert named(events, "process") == [f"{place} · {row['name']}" for place in places]
    assert named(events, "thread") == ["sampling", "gathering", "training"] * 2
    third = steps(events, "gathering")[2]
    [_, gathering, _, *_] = row["timeline"]
    assert third["name"] == "mini-batch 2"
    assert third["ts"] == pytest.approx(1e6 * gathering["begin_s"][2])
    assert third["dur"] == pytest.approx(2200)
    assert third["args"] == {
        "seeds": 1000, "rows, on average": 200_000, "bytes, on average": BYTES,
        "bytes over the link, on average": BYTES // 2, "GB/s by these bytes": 46.545,
        "alone, median (µs)": 2200,
    }  # fmt: skip
    assert steps(events, "training")[0]["args"] == {"seeds": 1000, "alone, median (µs)": 1900}


def test_steps_of_windows_say_which_mini_batches_they_are(tmp_path):
    file = gpu_file()
    add_pipeline(file, "address_ordered", axes={"window": 5})
    events = traced(file, tmp_path)
    gathered = ["mini-batches 0 to 4", "mini-batches 5 to 9"]
    assert [step["name"] for step in steps(events, "gathering")] == gathered
    assert [step["name"] for step in steps(events, "training")] == [f"mini-batch {at}" for at in range(10)]
    assert steps(events, "gathering")[0]["args"]["seeds"] == 5000


def test_training_on_the_cpu_is_a_process_of_the_cpu(tmp_path):
    file = gpu_file()
    row = add_pipeline(file, "cpu_only")
    assert named(traced(file, tmp_path), "process") == [f"Intel Xeon · {row['name']}"]


def test_steps_that_overlap_by_rounding_touch(tmp_path):
    file = gpu_file()
    row = add_pipeline(file, "masked", timeline=timeline([1e-3] * 3))
    row["timeline"][2]["begin_s"][1] -= 0.9e-6
    first, second, *_ = steps(traced(file, tmp_path), "training")
    assert first["ts"] + first["dur"] == pytest.approx(second["ts"], abs=1e-6)


def test_a_stage_whose_steps_did_not_all_end_is_a_sentence(tmp_path, capsys):
    file = gpu_file()
    add_pipeline(file, "masked", timeline=timeline([1e-3] * 3))["timeline"][1]["end_s"].pop()
    run = file.write(tmp_path / "result.json")
    assert main(["export", "trace", str(run)]) == 2
    assert re.search(
        rf"{run}: in pipeline/\S+ \d+ steps of gathering began and \d+ ended: see all with ",
        capsys.readouterr().err,
    )


LEVELS = [
    {"level": 0, "active": 1, "edges": 1000, "seconds": 1e-5, "requests": 80.0, "link_bytes": 9000.0},
    {"level": 1, "active": 900, "edges": 500_000, "seconds": 1e-4, "requests": 33e3, "link_bytes": 4.1e6},
    {"level": 2, "active": 10, "edges": 20, "seconds": 2e-6, "requests": 2.0, "link_bytes": 200.0},
]


def traversed(levels: list[dict], **more) -> File:
    file = machine_file()
    traverse(file, steady(0.1, 3), levels=levels, **more)
    file.rows[0]["counters"]["edges_read"] = float(sum(level["edges"] for level in levels))
    file.rows[0]["bytes"] = 8 * sum(level["edges"] for level in levels)
    file.rows[0]["bandwidth_gb_s"] = file.rows[0]["bytes"] / file.rows[0]["median_s"] / 1e9
    return file


def test_a_traversal_is_a_lane_of_levels_with_counters(tmp_path):
    file = traversed(LEVELS)
    events = traced(file, tmp_path)
    assert named(events, "thread") == [f"levels of {file.rows[0]['trials'][0]['label']}"]
    assert [(step["name"], step["ts"], step["dur"]) for step in steps(events)] == [
        ("level 0", 0, 10), ("level 1", 10, 100), ("level 2", 110, 2)
    ]  # fmt: skip
    assert steps(events)[1]["args"] == {
        "vertices": 900, "edges": 500_000, "requests, modelled": 33_000, "bytes asked for": 4_000_000,
        "GB/s asked for": 40, "bytes over the link, modelled": 4_100_000,
        "GB/s over the link, modelled": 41,
    }  # fmt: skip
    curves = defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            [(unit, value)] = event["args"].items()
            curves[f"{event['name']} {unit}"].append((event["ts"], value))
    assert curves == {
        "frontier vertices": [(0, 1), (10, 900), (110, 10), (112, 0)],
        "asked for GB/s": [(0, 0.8), (10, 40), (110, 0.08), (112, 0)],
        "over the link, modelled GB/s": [(0, 0.9), (10, 41), (110, 0.1), (112, 0)],
    }


def test_what_a_level_does_not_know_is_not_drawn_as_nothing(tmp_path):
    levels = [dict(level) for level in LEVELS]
    levels[0].pop("seconds")
    levels[2].pop("link_bytes")
    events = traced(traversed(levels), tmp_path)
    [moment] = [event for event in events if event["ph"] == "i"]
    assert (moment["name"], moment["ts"], moment["s"]) == ("level 0", 0, "t")
    assert moment["args"]["edges"] == 1000
    assert {event["name"] for event in events if event["ph"] == "C"} == {"frontier", "asked for"}
    assert [step["ts"] for step in steps(events)] == [0, 100]


def test_rows_begin_together_and_say_what_was_modelled(tmp_path):
    file = traversed(LEVELS)
    traverse(file, steady(0.2, 3), algorithm="cc", levels=LEVELS)
    file.rows[1]["label"] = "modelled"
    failed = traverse(file, steady(0.2, 3), algorithm="sssp", levels=LEVELS)
    failed |= {"status": "failed", "reason": "the answer is wrong"}
    events = traced(file, tmp_path)
    measured, modelled = named(events, "process")
    assert modelled == f"modelled: {measured.split(' · ')[0]} · {file.rows[1]['name']}"
    assert [step["ts"] for step in steps(events)] == [0, 10, 110] * 2
    assert len({event["pid"] for event in events}) == 2


@pytest.mark.parametrize("name", ["traversing", "learning", "leaning", "predictable"])
def test_a_trace_of_every_machine_follows_the_format(files, name):
    text, rows = exchange.trace_text([reader.read(files[name])])
    assert rows > 3
    assert broken(json.loads(text)) == []


def test_a_trace_of_a_model_follows_the_format(capsys):
    assert main(["export", "trace", str(STORED / "no-gpu-quick.json"), "--filter", "model/bfs"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert broken(document) == []
    assert {name[:17] for name in named(document["traceEvents"], "process")} == {"modelled: no GPU "}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda event: event.pop("dur"),
        lambda event: event.update(dur=1e9),
        lambda event: event.update(ts="0"),
        lambda event: event.update(tid=0),
        lambda event: event.update(tid=999),
        lambda event: event.update(ph="x"),
    ],
)
def test_a_trace_off_the_format_would_be_seen(tmp_path, spoil):
    document = {"traceEvents": traced(traversed(LEVELS), tmp_path)}
    spoil(steps(document["traceEvents"])[0])
    assert broken(document) != []


@pytest.mark.parametrize("name", ["h100-quick-now.json.gz", "two-h100-processes.json.gz"])
def test_a_stored_run_with_timelines_is_traced_whole(tmp_path, capsys, name):
    rows = [row for row in reader.read(STORED / name).rows if row.timeline]
    out = tmp_path / "trace.json"
    assert main(["export", "trace", str(STORED / name), "--filter", "^pipeline", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"{out}: {len(rows)} rows; open it at ui.perfetto.dev or chrome://tracing\n" in said
    whole = json.loads(out.read_text())
    assert broken(whole) == []
    assert len(steps(whole["traceEvents"])) == sum(len(one.begin_s) for row in rows for one in row.timeline)
    assert "driver" in whole["otherData"]["A"]


def test_processes_have_the_lanes_of_their_own_gpus(tmp_path):
    out = tmp_path / "trace.json"
    run = str(STORED / "two-h100-processes.json.gz")
    assert main(["export", "trace", run, "--filter", "per_gpu", "-o", str(out)]) == 0
    events = json.loads(out.read_text())["traceEvents"]
    found = defaultdict(list)
    for event in events:
        if event["name"] in METADATA and event["name"].endswith("_name"):
            found[event["pid"]].append(event["args"]["name"])
    stages = ["sampling", "gathering", "training"]
    assert [lanes for _, *lanes in found.values()] == [stages] * len(found)
    gpus, cases = zip(*(name.split(" · ") for name, *_ in found.values()), strict=True)
    assert gpus == tuple(f"GPU {gpu}, NVIDIA H100 80GB HBM3" for gpu in (0, 1)) * 5
    assert all(case.endswith("/processes:per_gpu") for case in cases)
    # Steps of both end together, since each waits for the other's gradients.
    last = {
        pid: max(event["ts"] + event["dur"] for event in steps(events) if event["pid"] == pid)
        for pid in found
    }
    ends = [last[pid] for pid in sorted(last)]
    assert ends[::2] == pytest.approx(ends[1::2], rel=1e-3)


def test_several_files_are_told_apart(tmp_path, capsys):
    runs = {name: traversed(LEVELS) for name in "ab"}
    for name, file in runs.items():
        file.context["run"]["id"] = name
    paths = [str(file.write(tmp_path / name / "result.json")) for name, file in runs.items()]
    assert main(["export", "trace", *paths]) == 0
    document = json.loads(capsys.readouterr().out)
    assert broken(document) == []
    assert [name[:3] for name in named(document["traceEvents"], "process")] == ["A: ", "B: "]
    assert document["otherData"].keys() == {"A", "B"}


def copied() -> File:
    file = gpu_file()
    file.add("transfer/memcpy", copy("pinned_to_gpu", MIB), SITE, 20e-6)
    return file


NO_TIMES = (
    "a trace is made of a timeline or of the times of levels, and no ok row has any (of 1 row); "
    "rows of pipeline/graphsage have a timeline, rows of traversal/* and lean/* have levels"
)
NO_NAME = "none of 1 row has a name that matches 'memcopy'; no name has 'memcopy' (did you mean memcpy?)"
REFUSED = [
    (["trace"], NO_TIMES),
    (["trace", "--filter", "memcopy"], NO_NAME),
    (["csv", "--filter", "("], "--filter '(' is no regular expression"),
    (["bundle", "--filter", "x"], "a bundle is of a whole run: give no --filter"),
    (["digest", "--filter", "x"], "a digest is of a whole run: give no --filter"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_what_cannot_be_traced_is_a_sentence(tmp_path, capsys, words, message):
    run, out = copied().write(tmp_path / "result.json"), tmp_path / "out"
    out.write_text("kept")
    kind, *more = words
    assert main(["export", kind, str(run), *more, "-o", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert out.read_text() == "kept"


def test_a_trace_that_cannot_be_written_leaves_what_is_there(tmp_path, capsys):
    run = traversed(LEVELS).write(tmp_path / "run" / "result.json")
    before = run.read_bytes()
    assert main(["export", "trace", str(run), "-o", str(run)]) == 2
    assert "is also what is read" in capsys.readouterr().err
    assert main(["export", "trace", str(run), "-o", str(run / "trace.json")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert run.read_bytes() == before
    assert [path.name for path in run.parent.iterdir()] == ["result.json"]


@pytest.mark.parametrize("kind", ["csv", "md"])
def test_a_filter_leaves_rows_out_of_tables(tmp_path, capsys, kind):
    file = copied()
    file.add("transfer/memcpy", copy("gpu_to_pinned", MIB), SITE, 20e-6)
    run = file.write(tmp_path / "result.json")
    assert main(["export", kind, str(run), "--filter", "to_gpu/.*bytes:1MiB"]) == 0
    out = capsys.readouterr().out
    assert "pinned_to_gpu" in out
    assert "gpu_to_pinned" not in out
