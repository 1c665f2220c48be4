"""A figure's CSV: one row for each thing drawn, in one layout for all figures."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from grainscope_report.figures import model
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    CurvePanel,
    DiagramPanel,
    DotPanel,
    Figure,
    Level,
    MapPanel,
    Panel,
    SpanPanel,
    TablePanel,
)
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.units import significant
from grainscope_report.writing import in_csv

COLUMNS = (
    "figure", "panel", "kind", "series", "machine", "locality", "site", "x", "x_unit", "y", "y_low", "y_high",
    "y_unit", "visits", "flags", "label", "configuration", "note",
)  # fmt: skip
DIGITS = 9


def write(figure: Figure) -> str:
    """The CSV of a figure.

    `kind` is point, bar, sum, lane, dot, cell, flow, span, working, roof, peak, double, theoretical, paper,
    even, cache, reach, crossover, knee, dip or slow. A region (crossover, knee, dip, slow, paper's range)
    has its place in `x` and its ends in `y_low` and `y_high`, whose unit is then that of the x axis. Cells
    and flows go from `series` to `x`.
    A sum is a whole of stacked bars with an interval of its own.
    A lane is one of the things at once that the bar before it is all of. A dot's value is in `y`, although
    it is drawn along the horizontal axis; its row is `series` and, of several, `x`.
    A span lies from `y_low` to `y_high` and is `y` long; `x` is its step, or the first of several. Working is
    the share of the time in which a lane works.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for panel in figure.panels:
        for row in _rows(panel):
            shown = {key: _cell(value) for key, value in row.items() if value is not None}
            writer.writerow({"figure": figure.id, "panel": in_csv(panel.title or panel.y_label), **shown})
    return out.getvalue()


def _rows(panel: Panel) -> Iterator[dict]:
    if isinstance(panel, CurvePanel):
        return _curve_panel(panel)
    if isinstance(panel, TablePanel):
        return model.table_numbers(panel)
    if isinstance(panel, DotPanel):
        return _dot_panel(panel)
    if isinstance(panel, DiagramPanel):
        return _diagram_panel(panel)
    if isinstance(panel, SpanPanel):
        return _span_panel(panel)
    return _map_panel(panel) if isinstance(panel, MapPanel) else _bar_panel(panel)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else significant(value, DIGITS)
    words = " ".join(str(value).split())
    return str(in_csv(words)) if isinstance(value, str) else words


def _line(kind: str, series: str | None, machine: Machine | None, **cells: Any) -> dict[str, Any]:
    """A row of the CSV; where it is about an interval, `value` is the estimate."""
    value: Estimate | None = cells.pop("value", None)
    estimate = {}
    if value is not None:
        estimate = {"y": value.value, "y_low": value.low, "y_high": value.high, "visits": value.visits}
    owner = machine.label if machine else None
    return {"kind": kind, "series": series, "machine": owner, **cells, **estimate}


def _flags(flags: frozenset[str]) -> str:
    return " ".join(sorted(flags))


def _site(site: tuple[tuple[str, int], ...]) -> str:
    return " ".join(f"{name}={value}" for name, value in site)


def _notes(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _curve_panel(panel: CurvePanel) -> Iterator[dict]:
    x, y = {"x_unit": panel.x_unit}, {"y_unit": panel.y_unit}
    for curve in panel.curves:
        place = {"locality": curve.locality, "site": _site(curve.site), **x, **y}
        more = {"label": curve.label, "configuration": curve.config}
        for point in curve.points:
            cells = {"x": point.x, "value": point.y, "flags": _flags(point.flags), **more}
            yield _line("point", curve.name, curve.machine, **place, **cells)
    for level in panel.levels:
        yield _level(panel.y_unit, level)
    for mark in panel.marks:
        yield _line(mark.kind, mark.name, mark.machine, x=mark.x, x_unit="bytes")
    for roof in panel.roofs:
        for at, rate in roof.points:
            yield _line("roof", roof.name, roof.machine, x=at, y=rate, **x, **y, note=roof.note)
    for region in panel.regions:
        ends = {"x": region.at, "y_low": region.low, "y_high": region.high, "y_unit": panel.x_unit}
        yield _line(region.kind, region.letter, region.machine, **ends, **x, note=region.text)


def _level(unit: str, level: Level) -> dict:
    cells = {"site": _site(level.site), "y": level.value, "y_unit": unit, "note": level.source}
    return _line(level.kind, level.name or level.kind, level.machine, **cells)


def _map_panel(panel: MapPanel) -> Iterator[dict]:
    for source, row in zip(panel.names, panel.cells, strict=True):
        for target, cell in zip(panel.columns or panel.names, row, strict=True):
            place = {"x": target, "y_unit": panel.y_unit}
            note = _notes(cell.name, cell.note) or ("within one GPU" if cell.own else None)
            more = {"value": cell.value, "label": "measured", "note": note}
            yield _line(
                "cell",
                source,
                panel.machine,
                **place,
                **({"note": cell.text} if cell.value is None else more),
            )


def _diagram_panel(panel: DiagramPanel) -> Iterator[dict]:
    for flow in panel.flows:
        label = "measured" if flow.value else None
        place = {"x": flow.target, "y_unit": panel.y_unit, "label": label, "note": flow.note}
        yield _line("flow", flow.source, panel.machine, value=flow.value, **place)


def _dot_panel(panel: DotPanel) -> Iterator[dict]:
    for row in panel.rows:
        for dot in row.dots:
            cells = {"value": dot.value, "y_unit": panel.y_unit, "flags": _flags(dot.flags)}
            more = {"label": dot.label, "note": _notes(dot.name, dot.note)}
            yield _line("dot", row.name, dot.machine, x=row.part, **cells, **more)
    for level in panel.levels:
        yield _level(panel.y_unit, level)


def _span_panel(panel: SpanPanel) -> Iterator[dict]:
    for row in panel.rows:
        lane = ", ".join(filter(None, [row.name, row.part]))
        for span in row.spans:
            value = Estimate(span.end - span.begin, span.begin, span.end)
            cells = {"x": span.first, "x_unit": "step", "value": value, "y_unit": panel.y_unit}
            note = f"steps {span.name}" if span.last > span.first else None
            yield _line("span", lane, row.machine, **cells, label="measured", note=note)
        cells = {"value": row.working.value, "y_unit": row.working.unit, "label": row.working.label}
        yield _line("working", lane, row.machine, **cells)


def _categories(panel: BarPanel) -> list[str]:
    """What each bar stands for: the group where there are groups, else the category."""
    if not panel.groups:
        return list(panel.categories)
    return [name for name, count in panel.groups for _ in range(count)]


def _bar_panel(panel: BarPanel) -> Iterator[dict]:
    y = {"y_unit": panel.y_unit}
    for series in panel.series:
        for category, bar in zip(_categories(panel), series.bars, strict=True):
            if bar.blank:
                continue
            owner = bar.machine or series.machine
            cells = {"x": category, **y, "flags": _flags(bar.flags), "label": series.label}
            yield _line(
                "paper" if series.label == "paper" else "bar",
                series.name,
                owner,
                **cells,
                **_bar(series, bar),
            )
            for part in bar.parts:
                more = {"value": part.value, "label": series.label, "note": part.name}
                yield _line("lane", series.name, owner, x=category, **y, **more)
    for category, whole in zip(_categories(panel), panel.sums, strict=False):
        yield _line("sum", None, None, x=category, value=whole, **y)
    for level in panel.levels:
        yield _level(panel.y_unit, level)


def _bar(series: BarSeries, bar: Bar) -> dict[str, Any]:
    """Its value and note; of papers and of what is no machine's own the value alone, or a paper's range."""
    note = _notes(series.source, bar.note)
    if bar.value is None:
        return {"note": _notes(bar.text or "no row", note)}
    if series.label != "paper" and (bar.machine or series.machine):
        return {"note": note, "value": bar.value}
    ends = {}
    if series.label == "paper" and bar.value.high > bar.value.value:
        ends = {"y_low": bar.value.low, "y_high": bar.value.high}
    return {"note": note, "y": bar.value.value, **ends}
