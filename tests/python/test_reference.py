"""Every committed reference run is valid and can be summarised."""

from pathlib import Path

import pytest

from grainscope_report import digest, reader
from grainscope_report.commands.validate import problems

ROOT = Path(__file__).resolve().parents[2] / "results" / "reference"
FILES = sorted(ROOT.glob("**/*.json"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_a_reference_run_is_valid(path):
    assert problems(reader.load(path)[1]) == []
    assert digest.groups(reader.read(path))
