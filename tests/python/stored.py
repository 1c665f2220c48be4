"""What the checkout stores for tests: committed results, and texts that the program is held to.

The texts are files below tests/golden, without what differs from run to run. GRAINSCOPE_NEW_GOLDEN=1 writes
them anew; `git diff` then shows what changed.
"""

import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
ROOT = PROJECT / "results" / "reference"
# Tests of what many committed results say together: one worker takes them, which reads each file once.
TOGETHER = pytest.mark.xdist_group("committed results")


GOLDEN = Path(__file__).resolve().parent.parent / "golden"
_TIMES = re.compile(r"\b[0-9.e+-]+ (ns|us|ms|s|min|h)\b")


def steady(text: str, folder: Path, more: Iterable[tuple[str, str]] = ()) -> str:
    """The text with FOLDER for the test's folder, TIME for times, and other replacements by pattern."""
    text = _TIMES.sub("TIME", text.replace(str(folder), "FOLDER"))
    for pattern, instead in more:
        text = re.sub(pattern, instead, text)
    return text


def hold(name: str, text: str) -> None:
    """Fails, with the difference, unless tests/golden/`name` is this text."""
    path = GOLDEN / name
    if os.environ.get("GRAINSCOPE_NEW_GOLDEN"):
        path.write_text(text)
    was = path.read_text() if path.exists() else ""
    lines = difflib.unified_diff(was.splitlines(), text.splitlines(), "before", "now", lineterm="")
    difference = "\n".join(lines)
    assert not difference, f"{path.name} is not what is said now:\n{difference}"
