"""The table that says which case of ours answers a benchmark of another tool: docs/coverage.md."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from grainscope_report import resources
from grainscope_report.errors import ReportError

_CODE = re.compile(r"`([^`]+)`")
_LANE = re.compile(r"its lanes? `([^`]+)`")
_ABOVE = "as above"


@dataclass(frozen=True)
class Counterpart:
    """What answers a benchmark: a filter on the names of cases, and of their lanes the one that does.

    In a lane's name `…` stands for the number of the GPU.
    """

    theirs: str
    filter: str
    lane: str
    differs: str


@cache
def counterparts(tool: str) -> Mapping[str, Counterpart]:
    """By name, the benchmarks of a tool that have a counterpart."""
    text = resources.coverage_path().read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(tool)}$(.*?)(?=^## |\Z)", text, re.M | re.S)
    if section is None:
        raise ReportError(f"docs/coverage.md has no section on {tool}: install grainscope-report again")
    return {one.theirs: one for one in _rows(section[1])}


def _rows(section: str) -> Iterator[Counterpart]:
    differs = ""
    for line in section.splitlines():
        if not line.startswith("| `"):
            continue
        theirs, here, said = (cell.strip() for cell in line.strip("|").split("|"))
        # Each says what differs, or that it is as in the row above, perhaps with more.
        differs = differs + said.removeprefix(_ABOVE) if said.startswith(_ABOVE) else said
        lane = _LANE.search(here)
        yield Counterpart(
            _CODE.findall(theirs)[0], _CODE.findall(here)[0], lane[1] if lane else "", _plain(differs)
        )


def _plain(text: str) -> str:
    return text.replace("`", "")
