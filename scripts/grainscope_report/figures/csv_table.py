"""A figure's CSV: one row for each thing drawn, in one layout for all figures."""

import csv
import io
from collections.abc import Iterator

from grainscope_report.figures.model import BarPanel, Curve, CurvePanel, Figure, Level, MapPanel, Panel
from grainscope_report.figures.text_table import TablePanel
from grainscope_report.machine import Machine
from grainscope_report.units import significant

COLUMNS = (
    "figure",
    "panel",
    "kind",
    "series",
    "machine",
    "locality",
    "site",
    "x",
    "x_unit",
    "y",
    "y_low",
    "y_high",
    "y_unit",
    "sessions",
    "flags",
    "label",
    "configuration",
    "note",
)
DIGITS = 9


def write(figure: Figure) -> str:
    """The CSV of a figure.

    `kind` is point, bar, cell, roof, peak, double, theoretical, paper, even, cache, reach, crossover,
    knee, dip or slow. A region (crossover, knee, dip, slow, paper's range) has its place in `x` and its
    ends in `y_low` and `y_high`, whose unit is then that of the x axis. A cell goes from `series` to `x`.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for panel in figure.panels:
        for row in _rows(panel):
            shown = {key: _cell(value) for key, value in row.items() if value is not None}
            writer.writerow({"figure": figure.id, "panel": panel.title or panel.y_label, **shown})
    return out.getvalue()


def _rows(panel: Panel) -> Iterator[dict]:
    if isinstance(panel, CurvePanel):
        return _curve_panel(panel)
    if isinstance(panel, TablePanel):
        return _table_panel(panel)
    return _map_panel(panel) if isinstance(panel, MapPanel) else _bar_panel(panel)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else significant(value, DIGITS)
    return " ".join(str(value).split())


def _who(machine: Machine | None) -> str | None:
    return machine.label if machine else None


def _flags(flags: frozenset[str]) -> str:
    return " ".join(sorted(flags))


def _site(site: tuple[tuple[str, int], ...]) -> str:
    return " ".join(f"{name}={value}" for name, value in site)


def _curve_panel(panel: CurvePanel) -> Iterator[dict]:
    for curve in panel.curves:
        yield from _curve(panel, curve)
    for level in panel.levels:
        yield _level(panel.y_unit, level)
    for mark in panel.marks:
        yield {
            "kind": mark.kind,
            "series": mark.name,
            "machine": _who(mark.machine),
            "x": mark.x,
            "x_unit": "bytes",
        }
    for roof in panel.roofs:
        for x, y in roof.points:
            yield {
                "kind": "roof",
                "series": roof.name,
                "machine": _who(roof.machine),
                "x": x,
                "x_unit": panel.x_unit,
                "y": y,
                "y_unit": panel.y_unit,
                "note": roof.note,
            }
    for region in panel.regions:
        yield {
            "kind": region.kind,
            "series": region.letter,
            "machine": _who(region.machine),
            "x": region.at,
            "x_unit": panel.x_unit,
            "y_low": region.low,
            "y_high": region.high,
            "y_unit": panel.x_unit,
            "note": region.text,
        }


def _curve(panel: CurvePanel, curve: Curve) -> Iterator[dict]:
    for point in curve.points:
        yield {
            "kind": "point",
            "series": curve.name,
            "machine": _who(curve.machine),
            "locality": curve.locality,
            "site": _site(curve.site),
            "x": point.x,
            "x_unit": panel.x_unit,
            "y": point.y.value,
            "y_low": point.y.low,
            "y_high": point.y.high,
            "y_unit": panel.y_unit,
            "sessions": point.y.sessions,
            "flags": _flags(point.flags),
            "label": curve.label,
            "configuration": curve.config,
        }


def _level(unit: str, level: Level) -> dict:
    return {
        "kind": level.kind,
        "series": level.name or level.kind,
        "machine": _who(level.machine),
        "site": _site(level.site),
        "y": level.value,
        "y_unit": unit,
        "note": level.source,
    }


def _map_panel(panel: MapPanel) -> Iterator[dict]:
    for source, row in zip(panel.names, panel.cells, strict=True):
        for target, cell in zip(panel.names, row, strict=True):
            told = {"series": source, "x": target, "machine": _who(panel.machine)}
            if cell.value is None:
                yield {"kind": "cell", **told, "y_unit": panel.y_unit, "note": cell.text}
                continue
            yield {
                "kind": "cell",
                **told,
                "y": cell.value.value,
                "y_low": cell.value.low,
                "y_high": cell.value.high,
                "y_unit": panel.y_unit,
                "sessions": cell.value.sessions,
                "label": "measured",
                "note": "within one GPU" if cell.own else None,
            }


def _table_panel(panel: TablePanel) -> Iterator[dict]:
    """The cells that are numbers; what a line is about in `series`, the column in `x`."""
    for row in panel.rows:
        for column, cell in zip(panel.columns[1:], row.cells, strict=True):
            if cell.value is not None:
                told = {"y": cell.value.value, "y_low": cell.value.low, "y_high": cell.value.high}
                yield {
                    "kind": "paper" if panel.paper else "cell",
                    "series": row.name,
                    "machine": _who(row.machine),
                    "x": column,
                    **told,
                    "y_unit": cell.unit,
                    "label": cell.label,
                }


def _categories(panel: BarPanel) -> list[str]:
    """What each bar stands for: the group where there are groups, else the category."""
    if not panel.groups:
        return list(panel.categories)
    return [name for name, count in panel.groups for _ in range(count)]


def _bar_panel(panel: BarPanel) -> Iterator[dict]:
    for series in panel.series:
        for category, bar in zip(_categories(panel), series.bars, strict=True):
            paper = series.label == "paper"
            row = {
                "kind": "paper" if paper else "bar",
                "series": series.name,
                "machine": _who(bar.machine or series.machine),
                "x": category,
                "y_unit": panel.y_unit,
                "flags": _flags(bar.flags),
                "label": series.label,
                "note": "; ".join(part for part in (series.source, bar.note) if part),
            }
            if bar.value is None:
                row["note"] = "; ".join(part for part in (bar.text or "no row", row["note"]) if part)
            elif paper or not (bar.machine or series.machine):
                row |= {"y": bar.value.value}
            else:
                value = bar.value
                row |= {
                    "y": value.value,
                    "y_low": value.low,
                    "y_high": value.high,
                    "sessions": value.sessions,
                }
            yield row
    for level in panel.levels:
        yield _level(panel.y_unit, level)
