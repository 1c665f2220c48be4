"""The committed reference results, and the docs that tell of them."""

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
