"""The committed reference results, and the docs that tell of them."""

import re
from functools import cache
from pathlib import Path

from grainscope_report import reader
from grainscope_report.model import Result

PROJECT = Path(__file__).resolve().parents[2]
ROOT = PROJECT / "results" / "reference"


@cache
def raw(name: str) -> list[dict]:
    """The rows of a file as they stand in it."""
    return reader.load(ROOT / name)[1]["benchmarks"]


@cache
def result(name: str) -> Result:
    return reader.read(ROOT / name)


def rows_of(name: str) -> list:
    return result(name).rows


@cache
def said(page: str) -> str:
    """The text of a page of the docs."""
    return (PROJECT / "docs" / page).read_text()


@cache
def quick_rows() -> dict[str, dict]:
    """Of the H100's `quick` what was measured, by name."""
    return {row["name"]: row for row in raw("h100-quick.json") if row["status"] == "ok"}


def emogi_table():
    """Ours and EMOGI's milliseconds, as `docs/traversal.md` has them."""
    columns = [("kron24", 8), ("kron24", 4), ("urand24", 8), ("urand24", 4)]
    text = said("traversal.md")
    lines = re.findall(r"^\| (bfs|sssp|cc|pr) \| (\d.*\)) \|$", text, re.MULTILINE)
    for algorithm, cells in lines:
        for (graph, edge), cell in zip(columns, cells.split(" | "), strict=True):
            ours, theirs = re.findall(r"[\d.]+", cell)
            yield algorithm, graph, edge, float(ours), float(theirs)
