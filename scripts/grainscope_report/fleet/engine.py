"""DuckDB, the engine that writes and reads data sets."""

from pathlib import Path
from typing import Any

from grainscope_report.errors import ReportError

INSTALL = "python3 -m pip install 'grainscope-report[fleet]'"
MEMORY = {"taking in": "400MB", "asking": "1GB"}


def engine() -> Any:
    """DuckDB, or the sentence that names it."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise ReportError(
            f"a data set is written and read by DuckDB, and Python finds no module duckdb: {INSTALL}"
        ) from None
    return duckdb


def connected(purpose: str, threads: int, spill: Path) -> Any:
    """A connection that takes no more than MEMORY has for its purpose, and goes to `spill` beyond that."""
    connection = engine().connect(":memory:")
    limit = MEMORY[purpose]
    connection.execute(f"SET memory_limit='{limit}'; SET threads={threads}; SET enable_progress_bar=false")
    connection.execute(f"SET temp_directory={quoted(spill)}")
    return connection


def quoted(text: object) -> str:
    """A text as SQL has it."""
    return "'" + str(text).replace("'", "''") + "'"
