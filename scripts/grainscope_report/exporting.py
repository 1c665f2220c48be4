"""Rows as tables: one wide CSV for programs, Markdown by family for people."""

import csv
import io
from collections.abc import Iterator, Sequence

from grainscope_report.escaping import in_csv, in_markdown
from grainscope_report.machine import machines
from grainscope_report.model import Row
from grainscope_report.naming import SIZES
from grainscope_report.result import Result
from grainscope_report.units import format_bytes, format_percent, format_rate, format_time

FIXED = (
    "file", "host", "date", "run", "family", "name", "status", "reason", "label", "visits",
    "samples", "median_s", "low_s", "high_s", "both_known", "bytes", "link_bytes_asked", "link_bytes_least",
    "bandwidth_gb_s", "link_fraction", "operations", "operation_s", "overlap", "flags",
)  # fmt: skip


def as_csv(results: Sequence[Result]) -> str:
    """Every row of every file; a column `axis.…`, `site.…`, `counter.…` for each that occurs in any."""
    rows = [
        {in_csv(key): in_csv(value) for key, value in _record(result, row).items()}
        for result in results
        for row in result.rows
    ]
    more = sorted({key for row in rows for key in row} - set(FIXED), key=lambda key: (key.split(".")[0], key))
    out = io.StringIO()
    writer = csv.DictWriter(out, (*FIXED, *more), restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: "" if value is None else value for key, value in row.items()})
    return out.getvalue()


def _record(result: Result, row: Row) -> dict[str, object]:
    low, high = (row.time.low, row.time.high) if row.time else (None, None)
    return {
        "file": str(result.path),
        "host": result.host,
        "date": result.date,
        "run": result.run.id,
        "family": row.case.family,
        "name": row.name,
        "status": row.status,
        "reason": row.reason,
        "label": row.label,
        "visits": len(row.visits),
        "samples": len(row.samples_s),
        "median_s": row.median_s,
        "low_s": low,
        "high_s": high,
        "both_known": row.both_known,
        "bytes": row.bytes,
        "link_bytes_asked": row.link_bytes_asked,
        "link_bytes_least": row.link_bytes_least,
        "bandwidth_gb_s": row.bandwidth_gb_s,
        "link_fraction": row.link_fraction,
        "operations": row.operations,
        "operation_s": row.operation_s,
        "overlap": row.overlap,
        "flags": " ".join(sorted(row.flags)),
        **{f"axis.{name}": value for name, value in row.case.axes.items()},
        **{f"site.{name}": value for name, value in row.case.site.items()},
        **{f"counter.{name}": value for name, value in row.counters.items()},
    }


def as_markdown(results: Sequence[Result]) -> str:
    """A table for each family of each file, its axes as columns."""
    parts = []
    for machine in machines(results):
        parts.append(f"# {in_markdown(machine.label)}\n\n{in_markdown(machine.provenance)}\n")
        families: dict[str, list[Row]] = {}
        for row in machine.result.rows:
            families.setdefault(row.case.family, []).append(row)
        for family, rows in families.items():
            parts.append(f"## {in_markdown(family)}\n\n" + "\n".join(_table(rows)) + "\n")
    return "\n".join(parts)


def _table(rows: Sequence[Row]) -> Iterator[str]:
    axes = list(dict.fromkeys(axis for row in rows for axis in row.case.axes))
    sites = list(dict.fromkeys(site for row in rows for site in row.case.site))
    yield _line([*axes, *sites, "median", "95 % interval", "GB/s", "of link", "what else"])
    yield _line(["---"] * (len(axes) + len(sites)) + ["---:", "---", "---:", "---:", "---"])
    for row in rows:
        yield _line(
            [
                *(_axis(axis, row.case.axes.get(axis)) for axis in axes),
                *(str(row.case.site.get(site, "")) for site in sites),
                *_numbers(row),
            ]
        )


def _numbers(row: Row) -> list[str]:
    else_ = [
        "" if row.ok else f"{row.status}: {row.reason}",
        "" if row.label == "measured" else row.label,
        *sorted(row.flags),
    ]
    return [
        format_time(row.median_s) if row.median_s else "",
        f"[{format_time(row.time.low)}, {format_time(row.time.high)}]" if row.time else "",
        format_rate(row.bandwidth_gb_s) if row.bandwidth_gb_s else "",
        format_percent(row.link_fraction) if row.link_fraction else "",
        ", ".join(part for part in else_ if part),
    ]


def _axis(axis: str, value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return format_bytes(value) if axis in SIZES else f"{value:g}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(in_markdown, cells)) + " |"
