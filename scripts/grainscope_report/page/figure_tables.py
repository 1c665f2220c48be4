"""The numbers of a figure as HTML tables, one a panel: what its CSV has, laid out for people."""

import csv
import io
from collections import defaultdict
from collections.abc import Sequence

from grainscope_report.figures import csv_table, text_table
from grainscope_report.figures.model import Figure
from grainscope_report.figures.text_table import TablePanel
from grainscope_report.page import markup
from grainscope_report.units import format_bytes, format_rate, significant

Cells = dict[str, str]
# Of the CSV's columns those that are shown, where they say anything; numbers stand right.
SHOWN = (
    "kind",
    "series",
    "machine",
    "locality",
    "site",
    "x",
    "y",
    "interval",
    "sessions",
    "flags",
    "label",
    "note",
)
RIGHT = {"x", "y", "sessions"}
# Said of every row they say nothing.
PLAIN = {"kind": {"point", "bar", "dot", "cell"}, "sessions": {"1"}, "label": {"measured"}}


def tables(figure: Figure) -> str:
    """All panels' tables behind one line to click."""
    rows = list(csv.DictReader(io.StringIO(csv_table.write(figure))))
    panels: dict[str, list[Cells]] = defaultdict(list)
    for row in rows:
        panels[row["panel"]].append(row)
    written = {panel.title: panel for panel in figure.panels if isinstance(panel, TablePanel)}
    parts = [_written(panel) for panel in written.values()]
    parts += [_panel(title, there) for title, there in panels.items() if title not in written]
    return markup.folded(f"Table ({len(rows)} values)", "".join(parts), "numbers") if parts else ""


def _written(panel: TablePanel) -> str:
    """A table that the figure itself is."""
    head, *lines = text_table.texts(panel)
    return markup.table(head, lines, (False, *panel.right), panel.title)


def _panel(title: str, rows: Sequence[Cells]) -> str:
    shown = [_cells(row) for row in rows]
    columns = [name for name in SHOWN if {row[name] for row in shown} - PLAIN.get(name, set()) - {""}]
    units = {row["y_unit"] for row in rows}
    named = [_heading(name, units) for name in columns]
    lines = [[row[name] for name in columns] for row in shown]
    return markup.table(named, lines, [name in RIGHT for name in columns], title)


def _heading(name: str, units: set[str]) -> str:
    if name == "y":
        return next(iter(units)) if len(units) == 1 else "value"
    return {"x": "at", "interval": "95 % interval"}.get(name, name)


def _cells(row: Cells) -> Cells:
    cells = {name: row.get(name, "") for name in SHOWN}
    unit = row["y_unit"]
    cells["x"] = _value(row["x"], row["x_unit"])
    cells["y"] = _value(row["y"], unit)
    if row["y_low"]:
        cells["interval"] = f"[{_value(row['y_low'], unit)}, {_value(row['y_high'], unit)}]"
    return cells


def _value(text: str, unit: str) -> str:
    """A number as people read it; what is no number as it is."""
    try:
        number = float(text)
    except ValueError:
        return text
    if unit == "bytes":
        return format_bytes(number)
    return format_rate(number) if unit == "GB/s" else significant(number, 4)
