"""What documents say of families, axes and commands is what the programs say; what they link to is there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from grainscope_report.cli import parser

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
REPORT = "scripts/grainscope-report "
PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
def test_readme_and_the_reference_of_axes_are_what_the_program_says():
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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_documents_are_of_the_command_line(path):
    for words in commands(path.read_text()):
        parser().parse_args(words)


def test_a_command_that_is_none_would_be_seen():
    [words] = commands("```sh\nscripts/grainscope-report plot one \\\n  --colours red  # no such flag\n```\n")
    with pytest.raises(SystemExit):
        parser().parse_args(words)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_documents_link_to_is_there(path):
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "code", path.read_text(), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)#\s]+)", prose)
    assert not [link for link in links if "://" not in link and not (path.parent / link).exists()]


def test_readme_is_short_and_leads_to_every_document():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 160
    assert not [path.name for path in DOCUMENTS[1:] if f"(docs/{path.name})" not in text]
