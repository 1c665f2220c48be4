"""A figure's CSV: one row for each thing drawn, in one layout for all figures."""

import csv
import io
from collections.abc import Iterator

from grainscope_report.escaping import in_csv
from grainscope_report.figures import model
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    DotPanel,
    Figure,
    Level,
    MapPanel,
    Panel,
    TablePanel,
)
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
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
    "visits",
    "flags",
    "label",
    "configuration",
    "note",
)
DIGITS = 9


def write(figure: Figure) -> str:
    """The CSV of a figure.

    `kind` is point, bar, sum, lane, dot, cell, roof, peak, double, theoretical, paper, even, cache, reach,
    crossover, knee, dip or slow. A region (crossover, knee, dip, slow, paper's range) has its place in `x`
    and its ends in `y_low` and `y_high`, whose unit is then that of the x axis. A cell goes from `series`
    to `x`.
    A sum is a whole of stacked bars with an interval of its own.
    A lane is one of the things at once that the bar before it is all of. A dot's value is in `y`, although
    it is drawn along the horizontal axis; its row is `series` and, of several, `x`.
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
    return _map_panel(panel) if isinstance(panel, MapPanel) else _bar_panel(panel)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else significant(value, DIGITS)
    words = " ".join(str(value).split())
    return str(in_csv(words)) if isinstance(value, str) else words


def _who(machine: Machine | None) -> str | None:
    return machine.label if machine else None


def _estimate(value: Estimate) -> dict:
    return {"y": value.value, "y_low": value.low, "y_high": value.high, "visits": value.visits}


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
            **_estimate(point.y),
            "y_unit": panel.y_unit,
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
                **_estimate(cell.value),
                "y_unit": panel.y_unit,
                "label": "measured",
                "note": "within one GPU" if cell.own else None,
            }


def _dot_panel(panel: DotPanel) -> Iterator[dict]:
    for row in panel.rows:
        for dot in row.dots:
            yield {
                "kind": "dot",
                "series": row.name,
                "machine": _who(dot.machine),
                "x": row.part,
                **_estimate(dot.value),
                "y_unit": panel.y_unit,
                "flags": _flags(dot.flags),
                "label": "measured",
                "note": "; ".join(part for part in (dot.name, dot.note) if part),
            }
    for level in panel.levels:
        yield _level(panel.y_unit, level)


def _categories(panel: BarPanel) -> list[str]:
    """What each bar stands for: the group where there are groups, else the category."""
    if not panel.groups:
        return list(panel.categories)
    return [name for name, count in panel.groups for _ in range(count)]


def _bar_panel(panel: BarPanel) -> Iterator[dict]:
    for series in panel.series:
        for category, bar in zip(_categories(panel), series.bars, strict=True):
            if bar.blank:
                continue
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
                if paper and bar.value.high > bar.value.value:
                    row |= {"y_low": bar.value.low, "y_high": bar.value.high}
            else:
                row |= _estimate(bar.value)
            yield row
            yield from _lanes(panel, series, bar, category)
    for category, whole in zip(_categories(panel), panel.sums, strict=False):
        yield {"kind": "sum", "x": category, **_estimate(whole), "y_unit": panel.y_unit}
    for level in panel.levels:
        yield _level(panel.y_unit, level)


def _lanes(panel: BarPanel, series: BarSeries, bar: Bar, category: str) -> Iterator[dict]:
    for part in bar.parts:
        yield {
            "kind": "lane",
            "series": series.name,
            "machine": _who(bar.machine or series.machine),
            "x": category,
            **_estimate(part.value),
            "y_unit": panel.y_unit,
            "label": series.label,
            "note": part.name,
        }
