"""What documents say of families and axes is what the program says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
def test_readme_and_the_reference_of_axes_are_what_the_program_says():
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts/docs", "--check", "--program", PROGRAM],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, f"{checked.stdout}run scripts/docs"
