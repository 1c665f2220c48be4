"""What documents say of families, axes and commands is what the programs say; what they link to is there."""

import math
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

import documents
from documents import (
    gather,
    lean,
    paging,
    papers,
    papers_stored,
    peers,
    programs,
    smaller,
    suite,
    training,
    transfers,
    traversal,
)
from grainscope_report.cli import parser
from planted import gpu_file
from synthetic_busy import add_pages

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = (
    gather,
    lean,
    paging,
    papers,
    papers_stored,
    peers,
    programs,
    smaller,
    suite,
    training,
    transfers,
    traversal,
)
GUIDES = sorted((ROOT / "docs").glob("*.md"))
REFERENCE = ROOT / "results" / "reference" / "README.md"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *GUIDES, ROOT / "docs" / "figures" / "README.md", REFERENCE]
NAMED = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
REPORT = "scripts/grainscope-report "
PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")


def test_parts_that_documents_ask_for_are_there_and_every_part_is_asked_for():
    asked = {words.split()[0] for path in documents.PAGES for words in documents.asked(path.read_text())}
    assert asked == set(documents.PARTS)


def test_packets_of_a_line_carry_less_than_larger_ones_and_writes_less_than_reads():
    rates = {
        (path, size): suite.packets_gb_s(path, size)
        for path in ("pinned_to_gpu", "gpu_to_pinned")
        for size in (128, 256)
    }
    assert list(rates.values()) == pytest.approx(
        [63.015 * 128 / 148, 63.015 * 256 / 276, 63.015 * 128 / 152, 63.015 * 256 / 280], rel=1e-4
    )
    assert suite.kernel_over_engine("pinned_to_gpu", "derived") == "0.93"


def test_a_table_and_a_number_between_markers_are_made_anew(monkeypatch):
    monkeypatch.setitem(documents.PARTS, "test.sum", lambda one, other: str(int(one) + int(other)))
    stale = "It takes <!-- n: test.sum 1 2 -->4<!-- /n --> ms.\n{}5\n6\n<!-- end: scripts/docs -->\n"
    stale = stale.format("<!-- begin: scripts/docs test.sum 3 4 -->\n")
    assert documents.filled(stale) == stale.replace("4<", "3<").replace("5\n6", "7")
    assert documents.asked(stale) == ["test.sum 1 2", "test.sum 3 4"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<!-- n: test.nothing -->1<!-- /n -->", id="no such part"),
        pytest.param("<!-- n: lean.link_share -->1", id="no end"),
        pytest.param("<!-- begin: scripts/docs -->\n<!-- end: scripts/docs -->", id="no name"),
    ],
)
def test_a_marker_that_asks_for_nothing_is_seen(text):
    with pytest.raises(ValueError, match=r"no part is called|lacks its name"):
        documents.filled(text)


def test_the_dispatch_table_of_documents_is_that_of_the_command(tmp_path, monkeypatch):
    file = gpu_file()
    add_pages(file, "host_to_gpu", "kernel", 4096, 16, 1e-7)
    add_pages(file, "host_to_gpu", "batch", 4096, 16, 1e-6)
    monkeypatch.setattr(gather, "PAGES_RUN", str(file.write(tmp_path / "result.json")))
    assert documents.PARTS["pages.dispatch"]().splitlines() == [
        "| path | page | pages | fastest | GB/s | next | as fast |",
        "|---|---|---|---|---|---|---|",
        "| host → GPU | 4 KiB | 16 | `kernel` | 40.96 ± 0.4 % | batch | 10 × |",
    ]
    assert documents.PARTS["pages.share"]("host_to_gpu", "4096", "16") == f"{40.96 / 54.7:.2f}"


@cache
def docs_script() -> ModuleType:
    loader = SourceFileLoader("docs_script", str(ROOT / "scripts/docs"))
    script = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(script)
    return script


def test_a_document_that_cites_a_run_that_is_not_there_stays_and_is_named(monkeypatch, capsys):
    script = docs_script()
    monkeypatch.setattr(gather, "PAGES_RUN", "of-no-machine.json")
    documents.made.cache_clear()
    assert script.page(ROOT / "docs/transfer.md") is None
    said = capsys.readouterr().err
    assert said.startswith("docs: docs/transfer.md stays as it is: ")
    assert "of-no-machine.json does not exist" in said
    assert script.page(ROOT / "docs/fleet.md") == (ROOT / "docs/fleet.md").read_text()


# Programs that are none, and what is said of each.
WRONG = {
    "": ("", "is a folder"),
    "missing": ("", "is not there"),
    "plain": ("x", "does not run (Permission denied)"),
    "other_system": ("\x7fELF", "does not run (Exec format error)"),
    "failing": ("#!/bin/sh\necho no GPU >&2\nexit 3\n", "does not answer --families=json: no GPU; build"),
    "talking": ("#!/bin/sh\necho hello\n", "prints no JSON by --families=json"),
    "no_text": ("#!/bin/sh\nprintf '\\377'\n", "prints no JSON by --families=json"),
    "older": ("#!/bin/sh\necho '[{}]'\n", "says other things of its families than are read here"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_program_that_is_none_is_a_sentence(tmp_path, capsys, name):
    content, says = WRONG[name]
    path = tmp_path / name
    if content:
        path.write_text(content)
        path.chmod(0o644 if name == "plain" else 0o755)
    assert docs_script().main(["--check", "--program", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"docs: {path} {says}")
    assert said.count("\n") == 1


# Without the program, what does not need it.
@pytest.mark.skipif(bool(PROGRAM), reason="the next test has it")
@pytest.mark.parametrize(
    "path", ["docs/lean.md", "docs/traversal.md", "docs/gather.md", "docs/pipeline.md", "docs/papers.md"]
)
def test_numbers_in_documents_are_those_of_the_result_files(path):
    text = (ROOT / path).read_text()
    assert documents.filled(text) == text, "run scripts/docs"


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
def test_no_document_is_stale():
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts/docs", "--check", "--program", PROGRAM],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, f"{checked.stdout}run scripts/docs"


def commands(text: str) -> list[list[str]]:
    """The words of each command of the scripts in a document's blocks of shell."""
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)).replace("\\\n", " ")
    lines = [line.strip() for line in blocks.splitlines()]
    return [
        shlex.split(line.removeprefix(REPORT), comments=True) for line in lines if line.startswith(REPORT)
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMED)
def test_commands_in_documents_are_of_the_command_line(path):
    for words in commands(path.read_text()):
        parser().parse_args(words)


def test_a_command_that_is_none_would_be_seen():
    [words] = commands("```sh\nscripts/grainscope-report plot one \\\n  --colours red  # no such flag\n```\n")
    with pytest.raises(SystemExit):
        parser().parse_args(words)


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMED)
def test_what_documents_link_to_is_there(path):
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "code", path.read_text(), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)#\s]+)", prose)
    assert not [link for link in links if "://" not in link and not (path.parent / link).exists()]


def test_readme_is_short_and_leads_to_every_document():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 160
    assert not [path.name for path in GUIDES if f"(docs/{path.name})" not in text]


# docs/coverage.md names cases that exist, and forgets nothing.

# The cases of `quick` on two H200, those that were skipped too.
CASES = [row["name"] for row in documents.raw("h200x2-quick.json.gz")]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "coverage.md").read_text().splitlines()
    if line.startswith("| `")
]
NVBANDWIDTH = 35  # single-node test cases of 0.8
NCCL_TESTS = 8  # of 2.19, those that move bytes one way or add them up on all ranks
COMM_SCOPE = 68  # benchmarks of 0.12 for CUDA, one with and one without a flush counted once


def spans(cell: str) -> list[str]:
    """What a cell has in code, but for abbreviations."""
    return [span for span in re.findall(r"`([^`]+)`", cell) if "…" not in span]


FILTERS = sorted({span for row in ROWS for span in spans(row[1])})
# Of families that are newer than the run: the program has their cases.
NEWER = ("shape/pages/", "collective/")
# Of families that the program has no more.
RETIRED = ("shape/batch/",)


def test_every_row_has_three_cells_and_begins_with_a_filter():
    for row in ROWS:
        assert len(row) == 3, row
        assert all(row), row
        assert row[1].startswith("`"), row


def test_nothing_of_theirs_is_missing_or_there_twice():
    theirs = [spans(row[0])[0] for row in ROWS]
    assert len(set(theirs)) == len(theirs)
    # nvbandwidth's are in lower case throughout.
    cases = [
        name for name in theirs if not name.startswith(("Comm_", "libc_")) and not name.endswith("_perf")
    ]
    assert len(cases) == NVBANDWIDTH
    assert sum(name.endswith("_perf") for name in theirs) == NCCL_TESTS
    assert len(theirs) - len(cases) - NCCL_TESTS == COMM_SCOPE
    for engine in ("ce", "sm"):
        assert sum(name.endswith(f"_{engine}") for name in cases) == {"ce": 16, "sm": 18}[engine]


@pytest.mark.parametrize("pattern", FILTERS)
def test_a_filter_matches_a_case_of_two_h200(pattern):
    assert pattern.startswith(NEWER) or any(re.search(pattern, name) for name in CASES)


def test_a_filter_that_matches_nothing_would_be_seen():
    assert not any(re.search("transfer/duplex/gpu_gpu/copy_engine/sideways", name) for name in CASES)


def words(name: str) -> str:
    """A name without its numbers: family, what and how."""
    return "/".join(word for word in name.split("/") if ":" not in word)


@cache
def known() -> frozenset[str]:
    """The cases of quick and full, as the program names them here, whether they run or are skipped."""
    told = [
        subprocess.run(
            [PROGRAM, f"--preset={preset}", flag, "--v=1"], capture_output=True, text=True, check=True
        )
        for preset in ("quick", "full")
        for flag in ("--benchmark_list_tests", "--plan")
    ]
    return frozenset(line.strip() for one in told for line in one.stdout.splitlines())


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM does not name the program")
@pytest.mark.parametrize("pattern", FILTERS)
def test_a_filter_matches_a_case_of_the_program(pattern):
    assert any(re.search(pattern, name) for name in known())


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM does not name the program")
def test_the_program_still_has_the_cases_of_the_run():
    there = [name for name in CASES if not name.startswith(RETIRED)]
    mapped = [name for name in there if any(re.search(pattern, name) for pattern in FILTERS)]
    assert {words(name) for name in mapped} <= {words(name) for name in known()}


def test_a_machine_that_slowly_changes_hides_nothing_of_runs_in_turns():
    """A planted percent is found where every run is a percent slower than the one before, and no other is."""
    drift = [0.01 * run for run in range(24)]
    noise = [0.0005 * math.sin(7 * run) for run in range(24)]

    def rows(planted: float) -> list[list[float]]:
        held = [planted if side == "16gib" else 0.0 for side in smaller.A_TURN * 6]
        return [[base + sum(parts) for parts in zip(drift, noise, held, strict=True)] for base in range(5)]

    low, high = smaller.between_halves(rows(0.01)).interval(0.95)
    assert 1.009 < low < math.exp(0.01) < high < 1.011
    low, high = smaller.between_halves(rows(0)).interval(0.95)
    assert 0.999 < low < 1 < high < 1.001
