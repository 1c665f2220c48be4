"""What `summary` prints: a run on one screen, what matters most first, what has no room behind `--full`."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import machine, statistics
from grainscope_report.analysis import Analysis
from grainscope_report.cases import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, TO_PEER
from grainscope_report.families import HEADLINES, Headline
from grainscope_report.groups import grain
from grainscope_report.groups.reach import walls
from grainscope_report.groups.traversal import sentences
from grainscope_report.model import Link, Row
from grainscope_report.naming import name
from grainscope_report.result import Result
from grainscope_report.statistics import Estimate
from grainscope_report.terminal import Column, Terminal
from grainscope_report.units import format_bytes, format_percent, format_rate, format_time

MOST_LINES = 40
NUMBERS = 5
MOST_LINKS = 6
SHADES = {"severe": "red", "warning": "yellow"}
ARROWS = {HOST_TO_GPU: "host → GPU", GPU_TO_HOST: "GPU → host", TO_PEER: "GPU → GPU", FROM_PEER: "GPU → GPU"}
PLACES = ("local", "unknown", "remote")
LINKS = (
    Column("Links"),
    Column("GB/s", right=True),
    Column("± 95 %", right=True, optional=1),
    Column("specified", right=True, optional=2),
    Column("reached", right=True),
    Column("negotiated", optional=3),
)
VALUES = (
    Column("Numbers"),
    Column("", right=True),
    Column("± 95 %", right=True),
    Column("of link", right=True, optional=2),
    Column("at", optional=1),
)
FLAGS = {
    "unsettled": "never settled",
    "visits_differ": "differ between visits more than their family",
    "bimodal": "have two speeds",
    "slower_alone": "have a lane that was slower alone",
    "wide_interval": "are uncertain by more than 5 %",
}
WITHIN = "± of this run alone: what runs differ by is not known for this machine"
Block = list[str]


@dataclass(frozen=True)
class Part:
    """A part of the screen: its head stays, of its entries the last go first where there is no room."""

    head: Block
    entries: Sequence[Block]
    fewest: int = 0


def lines(result: Result, out: Terminal) -> Iterator[str]:
    """The screen, line by line: as many entries of each part as there is room for."""
    run = Analysis(machine.machines([result])[0])
    parts = [part for part in _parts(result, run, out) if part.head or part.entries]
    for at, (part, shown) in enumerate(zip(parts, _room(parts), strict=True)):
        if at:
            yield ""
        yield from part.head
        for entry in part.entries[:shown]:
            yield from entry
        if left := len(part.entries) - shown:
            yield f"  and {left} more: --full"


def _room(parts: Sequence[Part]) -> list[int]:
    """How many entries of each part: the longest part that can gives way, until all fit."""
    shown = [len(part.entries) for part in parts]

    def length(at: int) -> int:
        part = parts[at]
        cut = shown[at] < len(part.entries)
        return len(part.head) + sum(map(len, part.entries[: shown[at]])) + cut

    while sum(map(length, range(len(parts)))) + len(parts) - 1 > MOST_LINES:
        able = [at for at, part in enumerate(parts) if shown[at] > part.fewest]
        if not able:
            break
        shown[max(able, key=length)] -= 1
    return shown


def _parts(result: Result, run: Analysis, out: Terminal) -> Iterator[Part]:
    yield _machine(result, out)
    yield _links(result, out)
    yield _numbers(result, out)
    yield _choices(result, run, out)
    odd, command = _odd(result, run, out)
    yield odd
    yield _next(result, command, out)


def _machine(result: Result, out: Terminal) -> Part:
    first, *more = machine.provenance(result)
    took = f", {length}" if (length := machine.took(result)) else ""
    asked = f", filter {result.run.filter}" if result.run.filter else ""
    head = [
        *(out.paint(line, "bold") for line in _wrapped(first, out, "")),
        *_wrapped(" · ".join(more), out),
        *_wrapped(f"{result.path}: preset {result.run.preset}{asked}{took}; {_counted(result)}", out),
    ]
    if not result.run.complete:
        said = _wrapped(f"The run is not complete: {result.run.why_incomplete}", out, "")
        head += [out.paint(line, "red") for line in said]
    concerns = list(machine.concerns(result))
    entries = []
    for severity, shade in SHADES.items():
        for one in (concern for concern in concerns if concern.severity == severity):
            text = "\n".join(_wrapped(f"{severity}: {one.finding}; to do: {one.remedy}", out, ""))
            entries.append(text.replace(severity, out.paint(severity, shade), 1).split("\n"))
    return Part(head, entries, min(len(entries), 2))


def _counted(result: Result) -> str:
    """`1472 rows: 1146 measured, 315 modelled, 11 skipped`."""
    labels = Counter(row.label if row.ok else row.status for row in result.rows)
    kinds = ("measured", "counted", "modelled", "failed", "skipped")
    said = ", ".join(f"{labels[kind]} {kind}" for kind in kinds if labels[kind])
    return f"{len(result.rows)} row{'s' if len(result.rows) != 1 else ''}{f': {said}' if said else ''}"


def _links(result: Result, out: Terminal) -> Part:
    if not result.links:
        return Part([], [])
    if len(result.links) <= MOST_LINKS:
        cells = [_link(_ends(link), [link], result) for link in result.links]
    else:
        kinds: dict[tuple, list[Link]] = {}
        for link in result.links:
            kinds.setdefault((ARROWS[link.direction], link.negotiated), []).append(link)
        cells = [_link(f"{arrow}, {len(there)} links", there, result) for (arrow, _), there in kinds.items()]
    return _table(LINKS, cells, out)


def _ends(link: Link) -> str:
    if link.peer is not None:
        return f"GPU {link.gpu} → GPU {link.peer}"
    ends = (f"node {link.numa}", f"GPU {link.gpu}")
    return " → ".join(ends if link.direction == HOST_TO_GPU else ends[::-1])


def _link(name: str, there: Sequence[Link], result: Result) -> tuple[str, ...]:
    """A line for links of one kind; of several the slowest and the fastest."""
    ordered = sorted(there, key=lambda link: link.peak_gb_s)
    shares = [format_percent(link.peak_gb_s / most) for link in ordered if (most := link.theoretical_gb_s)]
    most = ordered[0].theoretical_gb_s
    rates = [f"{link.peak_gb_s:.1f}" for link in ordered]
    return (
        name,
        _range(rates),
        max((_plus_minus(_peak(link, result)) for link in there), key=_percent),
        f"{most:.1f}" if most else "unknown",
        _range(shares) if shares else "-",
        ordered[0].negotiated or "unknown",
    )


def _peak(link: Link, result: Result) -> Estimate:
    """The peak with the interval of the row that it is of, as far as the run knows it."""
    for row in result.rows:
        if row.bandwidth_gb_s == link.peak_gb_s and row.ok and row.bytes and row.case.ends == link.ends:
            return statistics.rate_gb_s(row.time, row.bytes)
    return Estimate(link.peak_gb_s, *link.within_gb_s)


def _range(ordered: Sequence[str]) -> str:
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0].removesuffix(' %')} to {ordered[-1]}"


def _numbers(result: Result, out: Terminal) -> Part:
    found = [(one.text, row, one.least) for one in HEADLINES if (row := _best(result, one))]
    taken = {one.family for one in HEADLINES}
    if len(found) < NUMBERS:
        others = [family for family in dict.fromkeys(row.case.family for row in result.rows if row.ok)]
        more = [_any(result, family) for family in others if family not in taken]
        # What was measured says more than what was modelled.
        more.sort(key=lambda one: one[1].label == "modelled")
        found += more
    shown = found[:NUMBERS]
    if not shown:
        return Part(["No row has a number."], [])
    table = _table(VALUES, [_number(*one) for one in shown], out)
    if all(row.both_known or row.label == "modelled" for _, row, _ in shown):
        return table
    return Part(table.head, [*table.entries, [out.paint(line, "dim") for line in _wrapped(WITHIN, out)]], 5)


def _best(result: Result, wanted: Headline) -> Row | None:
    there = [
        row
        for row in result.of(wanted.family)
        if row.measured
        and row.time
        and (row.operation_s if wanted.least and wanted.at is None else True)
        and all(row.case.axes.get(axis) == value for axis, value in wanted.axes.items())
    ]
    if wanted.at and there:
        axis, pick = wanted.at
        sizes = [size for row in there if isinstance(size := row.case.axes.get(axis), (int, float))]
        there = [row for row in there if sizes and row.case.axes.get(axis) == pick(sizes)]
    return _first(there, wanted.least)


def _any(result: Result, family: str) -> tuple[str, Row, bool]:
    """The best row of a family that has no headline, and what it is."""
    rows = [row for row in result.of(family) if row.ok and row.median_s]
    measured = [row for row in rows if row.label != "modelled"] or rows
    rated = [row for row in measured if row.bandwidth_gb_s]
    row = _first(rated or measured, not rated)
    return f"{family} {name(row)}", row, not rated


def _first(rows: Sequence[Row], least: bool) -> Row | None:
    """The best of the nearest: of rates the highest, of times the shortest."""
    place = min((PLACES.index(row.case.locality) for row in rows), default=0)
    near = [row for row in rows if PLACES.index(row.case.locality) == place]
    if least:
        return min(near, key=lambda row: row.operation_s or row.median_s, default=None)
    return max((row for row in near if row.bandwidth_gb_s), key=lambda row: row.bandwidth_gb_s, default=None)


def _number(text: str, row: Row, least: bool) -> tuple[str, ...]:
    if least or not row.bandwidth_gb_s or not row.bytes:
        value = format_time(row.operation_s or row.median_s)
    else:
        value = f"{format_rate(row.bandwidth_gb_s)} GB/s"
    size = row.case.axes.get("bytes")
    at = [format_bytes(size)] if isinstance(size, (int, float)) else []
    where = machine.spoken_site(sorted(row.case.site.items()))
    error = "modelled" if row.label == "modelled" else _plus_minus(row.time)
    link = format_percent(row.link_fraction) if row.link_fraction and not least else "-"
    return text, value, error, link, ", ".join([*at, *([where] if where else [])])


def _plus_minus(one: Estimate) -> str:
    """Half the interval in percent, by its wider side; `-` where nothing tells one."""
    half = max(one.high / one.value - 1, 1 - one.low / one.value)
    if half <= 0:
        return "-"
    return f"{100 * half:.1f} %" if half < 0.1 else f"{100 * half:.0f} %"


def _percent(said: str) -> float:
    return float(said.removesuffix(" %").replace("-", "0"))


def _table(columns: Sequence[Column], cells: Sequence[tuple[str, ...]], out: Terminal) -> Part:
    first, *rest = out.table(columns, cells)
    return Part([out.paint(first, "bold")], [[line] for line in rest], len(rest))


def _choices(result: Result, run: Analysis, out: Terminal) -> Part:
    said = [f"{ARROWS[one.direction]}{' (reads)' * (one.direction == FROM_PEER)}: {one.text}" for one in run.choices if one.first]
    for wall in walls.walls(result, walls.MEMORY[:1])[:1]:
        said += [edge.text for edge in wall.edges if edge.knee.reached][:1]
    said += [one.text for one in grain.fewest(result)][:1]
    said += sentences.said(run)[:1]
    head = [out.paint("Fastest by size, and where it changes", "bold")] if said else []
    return Part(head, [_item(text, out) for text in said], min(len(said), 4))


def _odd(result: Result, run: Analysis, out: Terminal) -> tuple[Part, str]:
    """What is odd, worst first, and the command that looks at the first curve of an unknown cause."""
    entries = []
    for reason in run.reasons:
        if reason.status == "failed":
            said = f"failed: {reason.count} of {', '.join(reason.families)}: {reason.text}"
            entries.append([out.paint(line, "red") for line in _item(said, out)])
    for group in run.groups:
        for slow in group.slow:
            entries.append(
                _item(
                    f"{machine.spoken_site(slow.site)} peaks at {slow.peak_gb_s:.1f} GB/s in {group.family} "
                    f"{group.name}, the best site at {slow.best_gb_s:.1f}",
                    out,
                )
            )
    unknown = [one for one in run.shape if not one.cause.known]
    for one in unknown:
        where = f" ({one.sites[0]})" if one.sites else ""
        entries.append(_item(f"{one.kind}: {one.name}{where} {one.seen}", out))
    measured = [row for row in result.rows if row.measured]
    flags = Counter(flag for row in measured for flag in row.flags)
    said = ", ".join(f"{flags[flag]} {text}" for flag, text in FLAGS.items() if flags[flag])
    last = [_item(f"of {len(measured)} measured rows {said}", out)] if said else []
    skipped = [reason for reason in run.reasons if reason.status == "skipped"]
    if skipped:
        count = sum(reason.count for reason in skipped)
        more = f", and {len(skipped) - 1} other reasons" if len(skipped) > 1 else ""
        last.append(_item(f"skipped: {count} rows; most ({skipped[0].count}): {skipped[0].text}{more}", out))
    entries = [*last, *entries]
    head = [out.paint("Odd", "bold")] if entries else []
    return Part(head, entries, min(len(entries), 3)), unknown[0].cause.command if unknown else ""


def _next(result: Result, odd: str, out: Terminal) -> Part:
    """The next commands, not wrapped: they are there to be copied."""
    path = shlex.quote(str(result.path))
    said = [f"grainscope-report summary {path} --full"]
    if not result.run.complete:
        said.insert(0, f"grainscope --resume {shlex.quote(str(result.path.parent))}")
    elif any(row.status == "failed" for row in result.rows):
        said.insert(0, f"grainscope-report list {path} --status failed")
    elif odd:
        said.append(odd)
    return Part([out.paint("Next", "bold"), *(f"  {command}" for command in said)], [])


def _item(text: str, out: Terminal) -> Block:
    first, *rest = out.wrap(text, "    ").splitlines()
    return [f"  - {first.strip()}", *rest]


def _wrapped(text: str, out: Terminal, indent: str = "  ") -> Block:
    return out.wrap(text, indent).splitlines()
