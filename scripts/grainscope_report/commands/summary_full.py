"""What `summary --full` prints: everything that a run says, the machine's warnings first."""

from collections.abc import Iterator, Sequence

from grainscope_report import findings, link_cells, machine, naming
from grainscope_report.analysis import Analysis
from grainscope_report.commands import (
    summary_fits,
    summary_gnn,
    summary_lean,
    summary_pressure,
    summary_traversals,
)
from grainscope_report.digest import Group
from grainscope_report.findings import Finding
from grainscope_report.fits import shape
from grainscope_report.result import Result
from grainscope_report.terminal import Column, Terminal
from grainscope_report.units import format_bytes, format_interval, format_time

SEVERITIES = ("severe", "warning", "info")
SHADES = {"severe": "red", "warning": "yellow", "info": "dim"}
OF_LINK = (
    "Peaks of gathers are of the rows asked for; of link is what must have crossed it at least, each "
    "different row once, and what did if no cache kept any."
)
FLUSHED = (
    "Peaks and times of {} are of flushed buffers alone; those that were not flushed may come from a cache: "
    "`list` has them."
)
STATUSES = ("ok", "failed", "skipped")
NAMES_SHOWN = 6
GROUP_COLUMNS = (
    Column("what"),
    Column("peak GB/s", right=True),
    Column("95 % interval", optional=2),
    Column("at", optional=1),
    Column("of link", right=True),
    Column("smallest → largest"),
    Column("rows"),
)
# What a narrow terminal leaves out first.
LINK_OPTIONAL = {"95 % interval": 2, "at": 3, "negotiated": 1}
LINK_COLUMNS = tuple(
    Column(name, right=right, optional=LINK_OPTIONAL.get(name, 0))
    for name, right in zip(link_cells.NAMES, link_cells.RIGHT, strict=True)
)


def lines(result: Result, out: Terminal) -> Iterator[str]:
    """The whole summary, line by line."""
    found = findings.of(Analysis(machine.machines([result])[0]), but=("answers",))
    for block in (
        _warnings,
        _machine,
        _links,
        _groups,
        _traversals,
        _pressed,
        _fewer_bytes,
        _networks,
        _fits,
        _shape,
        _reasons,
    ):
        shown = list(block(result, found, out))
        if shown:
            yield from shown
            if block is not _reasons:
                yield ""


def _warnings(result: Result, _found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    warnings = list(machine.concerns(result))
    for severity in SEVERITIES:
        for finding in (one for one in warnings if one.severity == severity):
            yield out.wrap(f"{severity}: {finding.finding}", "").replace(
                severity, out.paint(severity, SHADES[severity]), 1
            )
            yield out.wrap(f"effect: {finding.effect}", "    ")
            yield out.wrap(f"remedy: {finding.remedy}", "    ")
    if not result.run.complete:
        yield out.paint(out.wrap(f"The run is not complete: {result.run.why_incomplete}", ""), "red")


def _machine(result: Result, _found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    yield out.paint(str(result.path), "bold")
    yield out.wrap(" · ".join(machine.provenance(result)), "  ")
    wall = f", {took}" if (took := machine.took(result)) else ""
    asked = f", filter {result.run.filter}" if result.run.filter else ""
    yield out.wrap(f"preset {result.run.preset}{asked}, started {result.run.started}{wall}", "  ")


def _links(result: Result, _found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    if result.links:
        first, *rest = out.table(LINK_COLUMNS, [link_cells.cells(link) for link in result.links])
        yield out.paint(first, "bold")
        yield from rest


def _groups(_result: Result, found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    groups = findings.facts(found, "groups")
    if not groups:
        yield "The file has no rows."
        return
    families = dict.fromkeys(group.family for group in groups)
    cells = [row for family in families for row in _family(family, groups)]
    first, *rest = out.table(GROUP_COLUMNS, cells)
    yield out.paint(first, "bold")
    for line, row in zip(rest, cells, strict=True):
        yield out.paint(line, "red" if "failed" in row[-1] else "" if row[-1] else "bold")
    if any(group.peak and group.peak.most_of_link for group in groups):
        yield out.paint(out.wrap(OF_LINK, "  "), "dim")
    if flushed := dict.fromkeys(group.family for group in groups if group.flushed):
        yield out.paint(out.wrap(FLUSHED.format(" and ".join(flushed)), "  "), "dim")
    yield from _slow_sites(groups, out)


def _family(family: str, found: list[Group]) -> Iterator[tuple[str, ...]]:
    """The family's name, its groups, and those that were only skipped in one line: reasons stand below."""
    yield family, *[""] * (len(GROUP_COLUMNS) - 1)
    there = [group for group in found if group.family == family]
    idle = [group for group in there if not group.counts["ok"] and not group.counts["failed"]]
    folded = idle if len(idle) > 1 else []
    yield from (_cells(group) for group in there if group not in folded)
    if folded:
        count = sum(group.counts["skipped"] for group in folded)
        name = f"{len(folded)} more" if len(folded) < len(there) else f"all {len(folded)}"
        yield f"  {name}", "-", "", "", "-", "-", f"{count} skipped"


def _slow_sites(found: list[Group], out: Terminal) -> Iterator[str]:
    for group in found:
        for slow in group.slow:
            less = 100 * (1 - slow.peak_gb_s / slow.best_gb_s)
            said = (
                f"slow site: {group.family} {group.name}: {machine.spoken_site(slow.site)} peaks at "
                f"{slow.peak_gb_s:.1f} GB/s, {less:.0f} % below the best site's {slow.best_gb_s:.1f}"
            )
            yield out.paint(out.wrap(said, ""), "yellow")


def _cells(group: Group) -> tuple[str, ...]:
    peak = group.peak
    rate, interval = format_interval(peak.rate.value, peak.rate.low, peak.rate.high) if peak else ("-", "")
    return (
        f"  {group.name or 'all'}{_over(group)}",
        rate,
        interval,
        _at(group),
        (peak.of_link if peak else "") or "-",
        _timings(group),
        ", ".join(f"{group.counts[status]} {status}" for status in STATUSES if group.counts[status]),
    )


def _at(group: Group) -> str:
    if not group.peak:
        return ""
    size = [format_bytes(group.peak.bytes)] if group.peak.bytes else []
    return ", ".join(size + [naming.number(axis, value) for axis, value in group.peak.axes])


def _timings(group: Group) -> str:
    """The time of the smallest size; of equal operations, of one at the smallest and the largest."""
    small, large = group.smallest, group.largest
    if not small:
        return "-"
    if not small.each:
        size = f" ({format_bytes(small.bytes)})" if small.bytes else ""
        return f"{format_time(small.time_s)}{size}"
    if large and (large.bytes, large.of) != (small.bytes, small.of):
        low, high = format_time(small.time_s), format_time(large.time_s)
        return f"{low.removesuffix(high[-3:])} → {high} each"
    return f"{format_time(small.time_s)} each"


def _over(group: Group) -> str:
    """` (nodes 1 to 256)`: what the times are over where it is not bytes; an axis in the name is not said."""
    small, large = group.smallest, group.largest
    if not small or not small.of or not large or not large.of or small.of == large.of:
        return ""
    axis, least = small.of
    said = naming.size(axis, least) if axis in group.name else naming.number(axis, least)
    return f" ({said} to {naming.size(axis, large.of[1])})"


def _traversals(_result: Result, found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    yield from summary_traversals.lines(findings.facts(found, "traversals"), out)


def _pressed(_result: Result, found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    yield from summary_pressure.lines(findings.facts(found, "managed_under_pressure"), out)


def _fewer_bytes(_result: Result, found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    yield from summary_lean.lines(findings.facts(found, "fewer_bytes"), out)


def _networks(_result: Result, found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    questions = summary_gnn.TABLES
    yield from summary_gnn.lines({one: findings.facts(found, f"networks.{one}") for one in questions}, out)


def _fits(result: Result, found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    yield from summary_fits.lines(findings.fits(found, result), out)


def _shape(_result: Result, found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    said = list(shape.paragraphs(findings.facts(found, "shape")))
    if said:
        yield out.paint("Shape of the curves", "bold")
    for text, command in said:
        first, *rest = out.wrap(text, "    ").splitlines()
        yield from (f"  - {first.strip()}", *rest)
        if command:
            # Not wrapped: it is there to be copied.
            yield f"    next: {command}"


def _reasons(_result: Result, found: Sequence[Finding], out: Terminal) -> Iterator[str]:
    for reason in findings.facts(found, "reasons"):
        colour = "red" if reason.status == "failed" else "dim"
        rows = f"{reason.count} row{'s' if reason.count > 1 else ''}"
        said = f"{reason.status}: {rows} of {', '.join(reason.families)}: {reason.text}"
        yield out.wrap(said, "").replace(reason.status, out.paint(reason.status, colour), 1)
        if reason.status == "failed":
            yield from (f"    {name}" for name in reason.names[:NAMES_SHOWN])
            if reason.count > NAMES_SHOWN:
                yield f"    … and {reason.count - NAMES_SHOWN} more (`list --status failed` shows them)"
