"""The HTML report: one file that asks for nothing else, from any network.

What it says is worked out here; `report.html` lays it out and escapes what comes from a file.
"""

import base64
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from grainscope_report import analysis, findings, naming, resources
from grainscope_report.analysis import Analysis, Group, Reason, of_link
from grainscope_report.figures.model import why_not
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.fits import shape
from grainscope_report.groups import topology
from grainscope_report.groups.transfer import Path
from grainscope_report.loading import quoted
from grainscope_report.machine import (
    LINK_NAMES,
    LINK_RIGHT,
    Machine,
    asked_for,
    between,
    concerns,
    cpu,
    gpus,
    link_cells,
    short_commit,
    took,
)
from grainscope_report.model import Concern, Result, Row
from grainscope_report.page import parts
from grainscope_report.page.parts import Markup, Table
from grainscope_report.units import (
    format_bytes,
    format_error,
    format_interval,
    format_rate,
    format_time,
    time_unit,
)

SECTIONS = (("answers", "Answers"), ("figures", "Figures"), ("rows", "Every row"), ("skips", "Not measured"))
SEVERITIES = ("severe", "warning", "info")
PEAKS = ("family", "what", "peak GB/s", "95 % interval", "at", "of link", "rows")
LINES = ("family", "path", "latency", "95 % interval", "GB/s", "95 % interval", "off by: median, worst")
BARS = (
    "Bars are the 95 % interval by all uncertainties that are known; where none is, that of the median "
    "within one visit."
)
# Of every row: the name of a column, and whether it is sorted by a number.
COLUMNS = (
    ("case", False),
    ("median", True),
    ("95 % interval", True),
    ("one operation", True),
    ("GB/s", True),
    ("of link", True),
    ("samples", True),
    ("remarks", False),
)
# In this order, too: what failed is what a reader must see.
STATUSES = ("failed", "ok", "skipped")


def write(machines: Sequence[Machine]) -> str:
    """The whole document."""
    several = len(machines) > 1
    figures = [(entry, figure(entry, machines)) for entry in FIGURES]
    with parts.drawing([made for _, made in figures if made.rows]) as drawn:
        page = {
            "machines": [_machine(machine, several) for machine in machines],
            "answered": [_answers(machine, several) for machine in machines],
            "of_machine": topology.ID,
            "drawn": [
                {
                    "entry": entry,
                    "notes": (*made.subtitle, *made.notes),
                    "tables": parts.tables(made),
                    "families": " ".join((*made.families, *entry.beside)),
                }
                for entry, made in figures
                if made.rows
            ],
            "absent": _grouped(
                (f"{entry.id} {entry.title}", why_not(entry, machines))
                for entry, made in figures
                if not made.rows
            ),
            **_header(machines),
            **_every_row(machines),
            "skips": [
                {"heading": _heading(machine, several), "reasons": _reasons(machine)} for machine in machines
            ],
            "pictures": drawn(),
        }
    script = _asset("report.js")
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"{parts.template().render(page, digest=hashed, script=script, style=_asset('report.css'))}\n"


def _asset(name: str) -> str:
    return resources.asset(name).read_text(encoding="utf-8")


def _heading(machine: Machine, several: bool) -> str:
    return f"{machine.letter}: {machine.label}" if several else ""


def _grouped(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Names that share a text in one line: `name; name: text`."""
    named: dict[str, list[str]] = defaultdict(list)
    for name, text in pairs:
        named[text].append(name)
    return [f"{'; '.join(names)}: {text}" for text, names in named.items()]


def _header(machines: Sequence[Machine]) -> dict[str, Any]:
    dates = sorted({machine.result.date[:10] for machine in machines})
    names = dict.fromkeys(gpus(machine.result) or cpu(machine.result) for machine in machines)
    first = (f"machine-{machines[0].letter}", "Machines" if len(machines) > 1 else "Machine")
    several = [f"{machine.letter}: {machine.provenance}" for machine in machines]
    return {
        "title": f"GrainScope: {', '.join(machine.label for machine in machines)}",
        "when": dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
        "heading": " and ".join(names),
        "sections": (first, *SECTIONS),
        "bars": BARS,
        "provenance": several if len(machines) > 1 else [],
    }


def _machine(machine: Machine, several: bool) -> dict[str, Any]:
    """What machine this is and what is wrong with it, the worst first."""
    result = machine.result
    all_concerns = sorted(_concerns(machine), key=lambda concern: SEVERITIES.index(concern.severity))
    cells = [link_cells(result, link) for link in result.links]
    title = "Measured copy peaks of the links"
    return {
        "name": f"machine-{machine.letter}",
        "heading": _heading(machine, several) or "Machine",
        "loud": [concern for concern in all_concerns if concern.severity != "info"],
        "quiet": [concern for concern in all_concerns if concern.severity == "info"],
        "facts": list(_facts(result)),
        "links": Table(LINK_NAMES, cells, LINK_RIGHT, title) if cells else None,
    }


def _concerns(machine: Machine) -> Iterator[Concern]:
    """The machine's own warnings and what else spoils the file."""
    result = machine.result
    if not result.run.complete:
        yield Concern(
            "incomplete", "severe", f"the run is not complete: {result.run.why_incomplete}",
            "rows are missing, and figures and answers may be for lack of them",
            "finish it with `grainscope --resume DIR`",
        )  # fmt: skip
    if result.contradictions:
        count, first = len(result.contradictions), result.contradictions[0]
        yield Concern(
            "contradiction", "severe",
            f"the file contradicts itself ({count} problem{'s' * (count > 1)}, first {first})",
            "some numbers of this report are wrong",
            f"see all with `grainscope-report validate {quoted(result.path)}`",
        )  # fmt: skip
    failed = naming.counted_reasons(row.reason for row in result.rows if row.status == "failed")
    if failed:
        [(reason, most)] = failed.most_common(1)
        rows = f"{failed.total()} row{'s' * (failed.total() > 1)} failed"
        yield Concern(
            "failed", "severe", f"{rows}, {most} because: {reason}",
            "failed rows are in no figure and no answer",
            "see them below, under Not measured",
        )  # fmt: skip
    for concern in concerns(result):
        yield concern if concern.severity in SEVERITIES else replace(concern, severity="warning")
    flags = Counter(flag for row in result.rows for flag in row.flags)
    if flags["wide_interval"] or flags["bimodal"]:
        yield Concern(
            "unsteady", "info",
            f"{flags['wide_interval']} rows have a wider interval than asked for, {flags['bimodal']} are "
            "bimodal",
            "their medians are less certain; figures draw them hollow",
            "choose them under Every row; a longer run narrows them",
        )  # fmt: skip
    if slower := flags["slower_alone"]:
        yield Concern(
            "slower_alone", "info",
            f"{slower} {'row has' if slower == 1 else 'rows have'} a side that took longer alone than beside "
            "the other",
            "what it took alone was disturbed, or measures something else: no slowdown over it holds",
            "choose them under Every row; measure them again",
        )  # fmt: skip


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    yield "GPU", gpus(result) or "none"
    yield "CPU", cpu(result)
    yield "Host", result.host or "unknown"
    yield "Driver", result.environment.driver_version or "no NVIDIA driver"
    yield "CUDA", result.cuda or "built without CUDA"
    yield "GPU ↔ memory", between(result)
    yield "Suite", f"GrainScope {result.version} (commit {short_commit(result)})"
    run, length, counts = result.run, took(result), Counter(row.status for row in result.rows)
    said = [asked_for(run), f"started {run.started}", *([f"took {length}"] if length else [])]
    counted = (f"{counts[status]} {status}" for status in ("ok", "failed", "skipped") if counts[status])
    yield "Run", ", ".join([*said, *counted])
    yield "File", str(result.path)


def _answers(machine: Machine, several: bool) -> dict[str, Any]:
    """The answers, a sentence a line, and under them what the rows come to in full."""
    found = findings.of(Analysis(machine))
    known: list[findings.Answer] = []
    unknown: dict[str, list[str]] = defaultdict(list)
    for answer in findings.facts(found, "answers"):
        if answer.known:
            known.append(answer)
        else:
            unknown[answer.text].append(answer.question)
    return {
        "heading": _heading(machine, several),
        "known": known,
        "unknown": [
            f"{', '.join([names[0], *(name[0].lower() + name[1:] for name in names[1:])])}: "
            f"{text[0].lower()}{text[1:]}"
            for text, names in unknown.items()
        ],
        "details": list(_details(found, machine.result)),
    }


def _details(
    all_findings: Sequence[findings.Finding], result: Result
) -> Iterator[tuple[str, Table | list[str]]]:
    """What is folded under the answers: a summary, and a table or sentences."""
    peaks = [_peak(group) for group in findings.facts(all_findings, "groups") if group.peak]
    if peaks:
        right = (False, False, True, False, False, True, True)
        yield f"Peak of each path ({len(peaks)})", Table(PEAKS, peaks, right)
    fits = findings.fits(all_findings, result)
    if fits.paths:
        right = (False, False, True, False, True, False, False)
        lines = Table(LINES, [_line(path) for path in fits.paths], right)
        yield f"Latency and bandwidth of each path ({len(fits.paths)})", lines
    for heading, sentences in findings.fit_sections(fits):
        if sentences:
            yield f"{heading} ({len(sentences)})", list(sentences)
    odd = [
        f"{text}. Next: `{command}`" if command else f"{text}."
        for text, command in shape.paragraphs(findings.facts(all_findings, "shape"))
    ]
    if odd:
        yield f"Shape of the curves ({len(odd)})", odd


def _peak(group: Group) -> tuple[str, ...]:
    peak = group.peak
    rate, interval = format_interval(peak.rate.value, peak.rate.low, peak.rate.high)
    size = [format_bytes(peak.bytes)] if peak.bytes else []
    place = ", ".join(size + [naming.number(axis, value) for axis, value in peak.axes])
    return group.family, group.name or "all", rate, interval, place, peak.of_link, str(group.counts["ok"])


def _line(path: Path) -> tuple[str, ...]:
    rates, times = path.line.bandwidth_gb_s, path.line.latency_s
    rate, of_rate = format_interval(rates.value, rates.low, rates.high)
    scale, unit = time_unit(max(times.value, times.high, 1e-9))
    latency, of_latency = format_interval(times.value / scale, times.low / scale, times.high / scale)
    worst = f"{format_error(path.line.worst_error)} at {format_bytes(path.line.worst_bytes)}"
    off = f"{100 * path.line.median_error:.0f} %, {worst}"
    return path.family, path.name or "all", f"{latency} {unit}", of_latency, rate, of_rate, off


def _reasons(machine: Machine) -> list[tuple[str, Reason]]:
    """Why rows are not ok, the failed first, each with a name for its rows to refer to."""
    found = analysis.reasons_of(machine.result)
    return [(f"{machine.letter}{order}", reason) for order, reason in enumerate(found)]


def _every_row(machines: Sequence[Machine]) -> dict[str, Any]:
    """Every row, which the page's script sorts and filters, and what it filters by."""
    several = len(machines) > 1
    rows = [(machine, row) for machine in machines for row in machine.result.rows]
    rows.sort(key=lambda pair: STATUSES.index(pair[1].status))
    whys = {id(row): why for machine in machines for why, reason in _reasons(machine) for row in reason.rows}
    statuses = {row.status for _, row in rows}
    labels = list(dict.fromkeys(row.label for _, row in rows))
    flags = sorted({flag for _, row in rows for flag in row.flags})
    choices = [
        ("family", "all families", list(dict.fromkeys(row.case.family for _, row in rows))),
        ("status", "every status", [status for status in STATUSES if status in statuses]),
        *([("label", "measured and modelled", labels)] if len(labels) > 1 else []),
        *([("flag", "with and without flags", flags)] if flags else []),
    ]
    if several:
        choices.append(("file", "all files", list(dict.fromkeys(machine.letter for machine, _ in rows))))
    return {
        "several": several,
        "columns": [("file", False)] * several + list(COLUMNS),
        "choices": choices,
        "rows": [
            {
                "letter": machine.letter,
                "status": row.status,
                "why": whys.get(id(row), ""),
                "family": row.case.family,
                "label": row.label,
                "name": row.name,
                "cells": list(_cells(row)) if row.ok else (),
                "remarks": _remarks(row),
            }
            for machine, row in rows
        ],
    }


def _cells(row: Row) -> Iterator[tuple[str, str]]:
    """The numbers of a row that was measured or modelled: what it is sorted by, and its text."""
    yield _number(row.median_s, format_time)
    if (time_s := row.time) and time_s.high > time_s.low:
        half = (time_s.high - time_s.low) / 2 / time_s.value
        yield f"{half:.3g}", f"{format_time(time_s.low)} – {format_time(time_s.high)}"
    else:
        yield "", ""
    yield _number(row.operation_s, format_time)
    yield _number(row.bandwidth_gb_s, format_rate)
    yield _number(row.link_fraction, lambda _: of_link(row))
    yield "", str(len(row.samples_s) or "")


def _number(value: float | None, spell: Callable[[float], str]) -> tuple[str, str]:
    return (f"{value:.5g}", spell(value)) if value else ("", "")


def _remarks(row: Row) -> Markup:
    """What is not as usual: the status and why, the label, the flags."""
    remarks = [] if row.ok else [Markup("<b>{}</b> {}").format(row.status, parts.spoken(row.reason))]
    words = [*([row.label] if row.label != "measured" else []), *sorted(row.flags)]
    return Markup(" ").join([*remarks, *(Markup("<i>{}</i>").format(word) for word in words)])
