"""What a stopped run leaves, and how it goes on: after SIGTERM, and from the journal of an older commit."""

import json
import shutil
from pathlib import Path

import pytest

from command_lines import FEW, MANY, PROGRAM, run
from golden_text import GOLDEN, hold, steady

pytestmark = pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")

COUNTS = ((r"grainscope: \d+ ok", "grainscope: N ok"),)
OLD = GOLDEN / "journal_328c8b4"


def journal_of(folder: Path) -> tuple[dict, list[dict]]:
    """The header and all rows."""
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    return lines[0], [row for line in lines[1:] for row in line["rows"]]


def result_of(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())


def said(status: str, text: str, folder: Path, more: tuple[tuple[str, str], ...] = COUNTS) -> list[str]:
    """Status and standard error, in lines for a golden file."""
    return [f"status {status}", *("  " + line for line in steady(text, folder, more).splitlines())]


def state_of(folder: Path) -> list[str]:
    """What journal and result of a run say of it, without its numbers."""
    header, rows = journal_of(folder)
    result = result_of(folder)
    sessions = [sum(other["name"] == row["name"] for other in rows) for row in rows]
    about = result["context"]["run"]
    return [
        f"  journal: {', '.join(header)}",
        f"  sessions of each case in it: {', '.join(str(count) for count in sorted(set(sessions)))}",
        f"  rows of the result: {'those' if result['benchmarks'] == rows else 'not those'} of the journal",
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


def test_a_journal_of_an_older_commit_is_refused_and_its_rows_are_still_read(tmp_path):
    old = tmp_path / "old"
    shutil.copytree(OLD, old)
    # Which commit this is, differs.
    now = (*COUNTS, (r'which is now "[^"]*"', 'which is now "COMMIT"'))
    text = ["# as it was written: by another commit"]
    text += said(*run("--resume=FOLDER/old", tmp_path), tmp_path, now)
    kept = (old / "journal.jsonl").read_bytes() == (OLD / "journal.jsonl").read_bytes()
    text.append(f"  journal: {'as it was' if kept else 'changed'}")

    # One thing after another is made that of this machine.
    run(f"{FEW} --out=FOLDER/new", tmp_path)
    mine, _ = journal_of(tmp_path / "new")
    header, rows = journal_of(old)
    header["fingerprint"] = {key: mine["fingerprint"][key] for key in header["fingerprint"]}
    header["fingerprint"]["host"] = "elsewhere"
    write(old, header, rows)
    text += ["", "# of this commit, and another host"]
    there = (*COUNTS, (r'which is now "[^"]*"', 'which is now "HOST"'))
    text += said(*run("--resume=FOLDER/old", tmp_path), tmp_path, there)

    header["fingerprint"]["host"] = mine["fingerprint"]["host"]
    write(old, header, rows)
    text += ["", "# of this commit and this machine: what remains are the rows as they were written"]
    text += said(*run("--resume=FOLDER/old", tmp_path), tmp_path) + state_of(old)
    _, after = journal_of(old)
    keys = set(after[1]) ^ set(rows[0])
    text += [
        f"  the old row: {'kept' if after[0] == rows[0] else 'not kept'}",
        f"  fields that only the old or the new row has: {', '.join(sorted(keys)) or 'none'}",
    ]
    hold("old_journal.txt", "\n".join(text) + "\n")


def write(folder: Path, header: dict, rows: list[dict]) -> None:
    lines = [header, {"rows": rows}]
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
