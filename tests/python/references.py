"""Where the committed reference results lie, and the mark of tests that read many of them."""

from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
ROOT = PROJECT / "results" / "reference"
# Tests of what many committed results say together: one worker takes them, which reads each file once.
TOGETHER = pytest.mark.xdist_group("committed results")
