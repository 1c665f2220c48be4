"""How tests put a question: what is understood of it, and what is answered."""

from functools import cache
from pathlib import Path

import pytest

from grainscope_report.asking.sentence import understand
from grainscope_report.cli import main
from grainscope_report.errors import ReportError
from grainscope_report.model import Case
from grainscope_report.reader import read
from stored import PROJECT

RUNS = PROJECT / "results/reference"
ONE_GPU = RUNS / "acceptance/h200-d.json.gz"
TWO_GPUS = RUNS / "acceptance/two-h200-1.json.gz"


def why_not(question: str) -> str:
    with pytest.raises(ReportError) as refused:
        understand(question)
    return str(refused.value)


def says(question: str, about: str) -> list[str]:
    return [word.says for word in understand(question).words if word.about == about]


def ask(capsys, file: Path, question: str, status: int = 0) -> str:
    assert main(["ask", str(file), *question.split()]) == status
    return capsys.readouterr().out


def told(capsys, run: Path, question: str, status: int = 0) -> str:
    """What a run answers, without its line breaks."""
    return " ".join(ask(capsys, run, question, status).split())


@cache
def full() -> list[Case]:
    return [row.case for row in read(RUNS / "h100-full.json.gz").rows]


def meant(question: str, family: str, *axes: str) -> set[tuple[str, ...]]:
    """The values of these axes of the family's cases that a question means, in a run of preset full."""
    of = understand(question)
    cases = (case for case in full() if case.family == family and of.matches(case))
    return {tuple(str(case.axes.get(axis)) for axis in axes) for case in cases}
