"""A table as a panel: cells of text, those with a number also in the CSV; `markdown` writes it for people."""

from collections.abc import Iterator
from dataclasses import dataclass

from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.writing import in_markdown


@dataclass(frozen=True)
class TableCell:
    """The text of a cell and the number behind it, in `unit`; `label` says what it is where there is one."""

    text: str
    value: Estimate | None = None
    unit: str = ""
    label: str = ""


@dataclass(frozen=True)
class TableRow:
    """A line: what it is about, as words, then its cells; `machine` is the file that it comes from."""

    name: str
    cells: tuple[TableCell, ...]
    machine: Machine | None = None


@dataclass(frozen=True)
class TablePanel:
    """Lines under the names of the columns; the first column holds the rows' names.

    `right` says of each column but the first whether it is one of numbers, which stand right.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    right: tuple[bool, ...]
    paper: bool = False
    width: float = 1.0
    levels: tuple = ()
    y_label: str = ""
    y_unit: str = ""


def texts(panel: TablePanel) -> list[list[str]]:
    """Every line as its texts, the heading first."""
    return [list(panel.columns), *([row.name, *(cell.text for cell in row.cells)] for row in panel.rows)]


def markdown(panel: TablePanel) -> str:
    """The table in Markdown, its title above."""
    head, *lines = [[in_markdown(text) for text in line] for line in texts(panel)]
    marks = [":--", *("--:" if right else ":--" for right in panel.right)]
    written = [f"| {' | '.join(line)} |" for line in (head, marks, *lines)]
    return "\n".join([f"### {in_markdown(panel.title)}", "", *written, ""])


def numbers(panel: TablePanel) -> Iterator[dict]:
    """The cells that are numbers, as rows of the CSV: the line in `series`, the column in `x`."""
    for row in panel.rows:
        for column, cell in zip(panel.columns[1:], row.cells, strict=True):
            if cell.value is not None:
                yield {
                    "kind": "paper" if panel.paper else "cell",
                    "series": row.name,
                    "machine": row.machine.label if row.machine else None,
                    "x": column,
                    "y": cell.value.value,
                    "y_low": cell.value.low,
                    "y_high": cell.value.high,
                    "y_unit": cell.unit,
                    "label": cell.label,
                }
