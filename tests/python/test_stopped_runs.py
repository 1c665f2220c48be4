"""What a stopped run leaves, and how it goes on: after SIGTERM, and from the journal of an older commit; and
how a round of visits waits for the run that started it.
"""

import json
import select
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from command_lines import MANY, PROGRAM, run
from stored import GOLDEN, hold, steady

pytestmark = pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")

COUNTS = ((r"grainscope: \d+ ok", "grainscope: N ok"),)
OLD = GOLDEN / "journal_328c8b4"


def journal_of(folder: Path) -> tuple[dict, list[dict]]:
    """The header and all rows."""
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    return lines[0], [row for line in lines[1:] for row in line.get("rows", [])]


def result_of(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())


def said(status: str, text: str, folder: Path, more: tuple[tuple[str, str], ...] = COUNTS) -> list[str]:
    """Status and standard error, in lines for a golden file."""
    return [f"status {status}", *("  " + line for line in steady(text, folder, more).splitlines())]


def samples(rows: list[dict]) -> list[tuple[str, list[float]]]:
    """Of each visit, as a row of its own in a journal, or as one of those of a result's row."""
    return sorted((row["name"], visit["samples_s"]) for row in rows for visit in row.get("visits", [row]))


def spread_of(visits: list[int]) -> str:
    """A round comes to each case once, so that none is more than a visit ahead."""
    return "alike, or one more" if visits[-1] - visits[0] <= 1 else f"{visits[0]} to {visits[-1]}"


def state_of(folder: Path) -> list[str]:
    """What journal and result of a run say of it, without its numbers."""
    header, rows = journal_of(folder)
    result = result_of(folder)
    about = result["context"]["run"]
    visits = sorted(Counter(row["name"] for row in rows).values())
    return [
        f"  journal: {', '.join(header)}",
        f"  visits to each case: {visits[0] if about['complete'] else spread_of(visits)}",
        f"  rows of the result: {'those' if samples(result['benchmarks']) == samples(rows) else 'not those'}"
        " of the journal",
        f"  states of rows: {', '.join(sorted({row['status'] for row in rows}))}",
        f"  complete: {about['complete']}, {about.get('why_incomplete') or 'for no reason against it'}",
        f"  files: {', '.join(sorted(path.name for path in folder.iterdir()))}",
    ]


def test_sigterm_leaves_whole_cases_and_the_run_goes_on(tmp_path):
    folder = tmp_path / "run"
    text = ["# SIGTERM while it measures"]
    text += said(*run(f"{MANY} --out=FOLDER/run # SIGTERM", tmp_path), tmp_path) + state_of(folder)
    _, before = journal_of(folder)
    first = result_of(folder)["context"]["run"]
    text += ["", "# the same run, resumed"]
    text += said(*run("--resume=FOLDER/run", tmp_path), tmp_path) + state_of(folder)
    _, after = journal_of(folder)
    then = result_of(folder)["context"]["run"]
    text += [
        f"  earlier rows: {'kept' if after[: len(before)] == before else 'not kept'}",
        f"  identity: {'kept' if all(first[key] == then[key] for key in ('id', 'started')) else 'new'}",
    ]
    run(f"{MANY} --out=FOLDER/whole", tmp_path)
    whole = sorted(row["name"] for row in result_of(tmp_path / "whole")["benchmarks"])
    alike = sorted(row["name"] for row in after) == whole
    text.append(f"  cases: {'those' if alike else 'not those'} of a run that nothing stopped")
    assert len(before) < len(after), "the signal came after the last case"
    hold("sigterm.txt", "\n".join(text) + "\n")


def test_a_journal_of_an_older_version_is_refused_and_left_as_it_was(tmp_path):
    old = tmp_path / "old"
    shutil.copytree(OLD, old)
    text = ["# as commit 328c8b4 wrote it: version 1, without check sums"]
    text += said(*run("--resume=FOLDER/old", tmp_path), tmp_path)
    kept = (old / "journal.jsonl").read_bytes() == (OLD / "journal.jsonl").read_bytes()
    text.append(f"  journal: {'as it was' if kept else 'changed'}")
    hold("old_journal.txt", "\n".join(text) + "\n")


def test_a_round_of_visits_waits_until_each_line_is_taken():
    """Else the run would write a row beside the samples of the next."""
    case = "host/memcpy/from_node:0/to_node:0/flush:off/threads:1/bytes:65536"
    words = [PROGRAM, "visit", "--preset=smoke", f"--benchmark_filter=^{case}$"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, bufsize=1, **pipes) as process:
        process.stdin.write(json.dumps({"round": 1, "names": [case], "links": []}) + "\n")
        said = []
        while "end" not in (line := json.loads(process.stdout.readline())):
            said += [key for key in ("starting", "rows") if key in line]
            assert not select.select([process.stdout], [], [], 0.3)[0], "it goes on by itself"
            process.stdin.write("taken\n")
        assert said == ["starting", "rows"]
        assert line == {"end": "", "status": 0, "late": 0}


def test_a_reader_that_leaves_ends_no_run(tmp_path):
    words = [PROGRAM, "--preset=smoke", "--benchmark_filter=^host/malloc", f"--out={tmp_path / 'run'}"]
    command = f"{shlex.join(words)} 2>&1 | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], check=False)
    assert done.returncode == 0
    assert result_of(tmp_path / "run")["context"]["run"]["complete"]
