"""`summary`: a run on one screen, what matters most first, what has no room behind `--full`."""

import argparse
import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grainscope_report import families, machine, metrics
from grainscope_report.analysis import Analysis, of_link
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_OK, ReportError
from grainscope_report.families import BYTES, HEADLINES, Best
from grainscope_report.groups import contention, grain, reach, traversal_answers
from grainscope_report.loading import JOURNAL, RESULT, quoted
from grainscope_report.model import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, TO_PEER, Link, Result, Row
from grainscope_report.naming import name, number
from grainscope_report.units import cut, format_bytes, format_percent, format_rate, format_time, plural
from grainscope_report.writing import Column, Terminal, json_text, terminal

MOST_LINES = 40
NUMBERS = 5
MOST_LINKS = 6
SHADES = {"severe": "red", "warning": "yellow"}
ARROWS = {
    HOST_TO_GPU: "host → GPU",
    GPU_TO_HOST: "GPU → host",
    TO_PEER: "GPU → GPU",
    FROM_PEER: "GPU → GPU, read",
}
SHOWN = ("gpus", "hot", "edge", "row", "span")
LINKS = (
    Column("Links"),
    Column("GB/s", right=True),
    Column("± 95 %", right=True, optional=1),
    Column("specified", right=True, optional=2),
    Column("reached", right=True),
    Column("negotiated", optional=3),
)
# Below so many columns there is no room for where a number is from; names of so many letters are not cut.
NARROW, NAME = 80, 40
FLAGS = {
    "unsettled": ("did not settle", "did not settle"),
    "visits_differ": ("differs by visit", "differ by visit"),
    "slower_alone": ("was slower alone", "were slower alone"),
    "bimodal": ("has two speeds", "have two speeds"),
    "wide_interval": ("is uncertain by more than 5 %", "are uncertain by more than 5 %"),
}
ALONE = "± is of this run alone, runs differ by more: `grainscope repeat 3 --out DIR` tells by how much"
# Letters of a sentence from elsewhere: two lines, or one.
LONG, SHORT = 180, 70
IN_VISIT = re.compile(r"^in visit \d+ of \d+: ")
Block = list[str]


def add_summary(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "summary",
        help="show one screen about a run",
        description="Shows a run on one screen: the machine and what is wrong with it, links against their "
        "specification, five numbers with their 95 % interval, which way is fastest from which size on, what "
        "is odd, and the next command. --full shows everything: every family's peaks and times, lines, "
        "walls, traversals, trainings, curves with dips or two speeds, and why rows have no numbers.",
        epilog="Colours only on a terminal; NO_COLOR turns them off, COLUMNS sets the width.",
    )
    files.add_file(parser)
    parser.add_argument(
        "family",
        nargs="?",
        metavar="FAMILY",
        help="everything of one family or group alone: `transfer/peer`, `transfer`",
    )
    files.add_full(parser, "everything, not one screen")
    parser.add_argument("--json", action="store_true", help="everything as JSON, every site, for programs")
    return parser


def run_summary(arguments: argparse.Namespace) -> int:
    """Prints the summary."""
    [result] = files.results([arguments.file])
    if arguments.family:
        # The interval of a link is that of the whole run. JSON has what the file says.
        whole = result if arguments.json else _with_intervals(result)
        result = _rows_of(whole, arguments.family.strip("/"))
    if not (arguments.json or arguments.full or arguments.family):
        print("\n".join(lines(result, terminal())))
        return EXIT_OK
    from grainscope_report.commands import summary_full

    if arguments.json:
        print(json_text(summary_full.document(result)))
    else:
        print("\n".join(summary_full.lines(result, terminal(), every=not arguments.family)))
    return EXIT_OK


def _rows_of(result: Result, name: str) -> Result:
    """The run with the rows of this family or group alone."""
    rows = tuple(row for row in result.rows if f"{row.case.family}/".startswith(f"{name}/"))
    if not rows:
        there = list(dict.fromkeys(row.case.family for row in result.rows))
        groups = dict.fromkeys(family.partition("/")[0] for family in there)
        near = difflib.get_close_matches(name, [*there, *groups], 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise ReportError(
            f"{result.path} has no family {name}: {meant}It has {', '.join(there) or 'no rows'}"
        )
    return replace(result, rows=rows)


def _with_intervals(result: Result) -> Result:
    """The run whose links have their copy peaks' intervals by its rows, so that these may be left out."""
    peaks = [metrics.peak_estimate(result, link) for link in result.links]
    links = tuple(
        replace(link, within_gb_s=(peak.low, peak.high))
        for link, peak in zip(result.links, peaks, strict=True)
    )
    return replace(result, context=replace(result.context, links=links))


@dataclass(frozen=True)
class Part:
    """A part of the screen: its head stays, of its entries the last go first where there is no room.

    Where `more`, it is said how many went.
    """

    head: Block
    entries: Sequence[Block]
    fewest: int = 0
    more: bool = True


def lines(result: Result, out: Terminal) -> Iterator[str]:
    """The screen, line by line: as many entries of each part as there is room for."""
    run = Analysis(machine.machines([result])[0])
    parts = [part for part in _parts(result, run, out) if part.head or part.entries]
    for at, (part, shown) in enumerate(zip(parts, _room(parts, out), strict=True)):
        if at:
            yield ""
        yield from part.head
        for entry in part.entries[:shown]:
            yield from entry
        if part.more and (left := len(part.entries) - shown):
            yield f"  and {left} more: --full"


def _room(parts: Sequence[Part], out: Terminal) -> list[int]:
    """How many entries of each part: the longest part that can gives way, until all fit."""
    shown = [len(part.entries) for part in parts]

    def length(at: int) -> int:
        part = parts[at]
        there = [*part.head, *(line for entry in part.entries[: shown[at]] for line in entry)]
        return sum(map(out.height, there)) + (part.more and shown[at] < len(part.entries))

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
    gpus, cpu, host, *more = machine.provenance(result)
    took = f", {length}" if (length := machine.took(result)) else ""
    head = [
        *(out.paint(line, "bold") for line in _wrapped(" · ".join((gpus, cpu, host)), out, "")),
        *_wrapped(" · ".join(more), out),
        *_wrapped(f"{result.path}: {machine.asked_for(result.run)}{took}; {_counted(result)}", out),
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
    return Part(head, entries, min(len(entries), 1))


def _counted(result: Result) -> str:
    """`1472 rows: 1146 measured, 315 modelled, 11 skipped`."""
    labels = Counter(row.label if row.ok else row.status for row in result.rows)
    kinds = ("measured", "counted", "modelled", "failed", "skipped")
    said = ", ".join(f"{labels[kind]} {kind}" for kind in kinds if labels[kind])
    return f"{plural(len(result.rows), 'row')}{f': {said}' if said else ''}"


def links(result: Result, out: Terminal) -> list[str]:
    """The links of a run with their copy peaks against what is specified; nothing where it has none."""
    part = _links(result, out)
    return [*part.head, *(line for entry in part.entries for line in entry)]


def _links(result: Result, out: Terminal) -> Part:
    if not result.links:
        return Part([], [])
    if len(result.links) <= MOST_LINKS:
        ordered = sorted(result.links, key=lambda link: (link.peer is not None, link.gpu))
        cells = [_link(machine.spoken_ends(link.ends), [link], result) for link in ordered]
    else:
        kinds: dict[tuple, list[Link]] = {}
        for link in result.links:
            far = "remote " if link.peer is None and (link.gpu, link.numa) in result.remote else ""
            kinds.setdefault((far + ARROWS[link.direction], link.negotiated), []).append(link)
        cells = [_link(f"{arrow}, {len(there)} links", there, result) for (arrow, _), there in kinds.items()]
    return _table(LINKS, cells, out)


def _link(name: str, there: Sequence[Link], result: Result) -> tuple[str, ...]:
    """A line for links of one kind; of several the slowest and the fastest."""
    ordered = sorted(there, key=lambda link: link.peak_gb_s)
    shares = [format_percent(link.peak_gb_s / most) for link in ordered if (most := link.theoretical_gb_s)]
    most = ordered[0].theoretical_gb_s
    peaks = [metrics.peak_estimate(result, link) for link in there]
    return (
        name,
        _range([f"{link.peak_gb_s:.1f}" for link in ordered]),
        metrics.plus_minus(max(peaks, key=metrics.half_width)),
        f"{most:.1f}" if most else "unknown",
        _range(shares) if shares else "-",
        ordered[0].negotiated or "unknown",
    )


def _range(ordered: Sequence[str]) -> str:
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0].removesuffix(' %')} to {ordered[-1]}"


def _numbers(result: Result, out: Terminal) -> Part:
    found = [
        (headline.text, row, headline.least) for headline in HEADLINES if (row := _best(result, headline))
    ]
    # A run may have a headline's family without its row.
    taken = {headline.family for headline in HEADLINES} if found else ()
    if len(found) < NUMBERS:
        others = dict.fromkeys(row.case.family for row in result.rows if row.ok)
        more = [_any(result, family) for family in others if family not in taken]
        # What was measured says more than what was modelled.
        more.sort(key=lambda one: one[1].label == "modelled")
        found += more
    shown = found[:NUMBERS]
    if not shown:
        return Part(["No row has a number."], [])
    places = {part for row in result.rows if row.ok for part in row.case.site.items()}
    alone = len(places) == len({site for site, _ in places})
    cells = [_number(*one, alone) for one in shown] + [*_power(result)]
    whole = out.width >= NARROW and max(len(cell[0]) for cell in cells) <= NAME
    columns = (
        Column("Numbers", whole=whole),
        Column("", right=True),
        Column("± 95 %", right=True),
        Column("at", optional=int(out.width < NARROW)),
    )
    return _table(columns, cells, out)


def _power(result: Result) -> Iterator[tuple[str, ...]]:
    """What a GPU's board takes at most, of runs that were to read it: others have it of few rows."""
    rows = [row for row in result.rows if row.ok and row.power_w]
    if rows and "--power=true" in result.run.flags:
        most = max(rows, key=lambda row: row.power_w)
        size = [format_bytes(most.case.axes[BYTES])] if BYTES in most.case.axes else []
        where = " ".join([most.case.family, name(most), *size])
        yield "GPU's board at most", f"{most.power_w:.0f} W", "", where


def _best(result: Result, wanted: Best) -> Row | None:
    return metrics.best_row(metrics.nearest_rows(metrics.rows_for(result, wanted)), wanted.least)


def _any(result: Result, family: str) -> tuple[str, Row, bool]:
    """The best row of a family that has no headline, and what it is."""
    rows = [row for row in result.of(family) if row.ok and row.median_s]
    measured = [row for row in rows if row.label != "modelled"] or rows
    measured = [row for row in measured if row.link_bytes_least] or measured
    # A walk that reads fewer bytes is better and not slower.
    rated = [] if families.of(family).walks else [row for row in measured if row.bandwidth_gb_s]
    row = metrics.best_row(metrics.nearest_rows(rated or measured), not rated)
    return f"{family} {name(row)}", row, not rated


def _number(text: str, row: Row, least: bool, alone: bool) -> tuple[str, ...]:
    """A line of the numbers; where it was measured goes without saying where all is at one place `alone`."""
    if least or not row.bandwidth_gb_s or not row.bytes:
        value = format_time(row.operation_s or row.median_s)
    else:
        value = f"{format_rate(row.bandwidth_gb_s)} GB/s"
    at = [
        format_bytes(value) if axis == BYTES else number(axis, value)
        for axis, value in row.case.axes.items()
        if isinstance(value, (int, float)) and axis in (BYTES, *SHOWN)
    ]
    where = "" if alone else machine.spoken_site(sorted(row.case.site.items()))
    share = f"{of_link(row)} of link" if row.link_fraction and not least else ""
    error = "modelled" if row.label == "modelled" else metrics.plus_minus(row.time)
    return text, value, error, ", ".join(filter(None, (*at, share, where)))


def _table(columns: Sequence[Column], cells: Sequence[tuple[str, ...]], out: Terminal) -> Part:
    first, *rest = out.headed(columns, cells)
    return Part([first], [[line] for line in rest], len(rest))


def _choices(result: Result, run: Analysis, out: Terminal) -> Part:
    if machine.part_of(result.run):  # other parts have the other ways
        return Part([], [])
    said = [f"{ARROWS[choice.direction]}: {choice.text}" for choice in run.choices if choice.first]
    for wall in reach.walls_of(result, reach.MEMORY[:1])[:1]:
        said += [f"random {edge.text}" for edge in wall.edges if edge.knee.reached][:1]
    if found := reach.remedy(result):
        said.append(found.text)
    said += reach.said_of_readers(reach.readers(result))[:1]
    said += [f"multiprocessors: {text}" for text in grain.said(grain.fewest(result))][:1]
    said += traversal_answers.said(run)[:1]
    said += traversal_answers.said_of_lanes(run.at_work)
    said += traversal_answers.said_together(run.together)[:1]
    said += contention.said(contention.at_once(result))[:1]
    head = [out.paint("Fastest by size, and where it changes", "bold")] if said else []
    return Part(head, [_item(text, out) for text in dict.fromkeys(said)], min(len(said), 1))


def _odd(result: Result, run: Analysis, out: Terminal) -> tuple[Part, str]:
    """What is odd, worst first, and the command that looks at the first curve of an unknown cause."""
    failed = [
        f"failed: {reason.count} of {', '.join(reason.families)}: {cut(reason.text, LONG)}"
        for reason in run.reasons
        if reason.status == "failed"
    ]
    slow = [
        f"slow: {machine.spoken_site(one.site)} peaks at {one.peak_gb_s:.1f} GB/s in {group.family} "
        f"{group.name}, the best site at {one.best_gb_s:.1f}"
        for group in run.groups
        for one in group.slow
    ]
    unknown = [one for one in run.shape if not one.cause.known]
    curves = [f"{one.kind}: {one.name}{_site(one.sites)} {one.seen}" for one in unknown]
    said = [*failed, *_uncertain(result), *_skipped(run), *slow, *curves]
    entries = [_item(text, out) for text in said]
    entries[: len(failed)] = [[out.paint(line, "red") for line in entry] for entry in entries[: len(failed)]]
    head = [out.paint("Odd", "bold")] if said else []
    return Part(head, entries, min(len(said), 1)), unknown[0].cause.command if unknown else ""


def _site(sites: Sequence[str]) -> str:
    return f" ({sites[0]})" if sites else ""


def _uncertain(result: Result) -> Iterator[str]:
    """What rows' flags come to, and whether their uncertainty is all of it."""
    measured = [row for row in result.rows if row.measured]
    flags = Counter(flag for row in measured for flag in row.flags)
    if said := ", ".join(plural(flags[flag], *texts) for flag, texts in FLAGS.items() if flags[flag]):
        yield f"of {plural(len(measured), 'measured row')} {said}"
    if measured and not any(row.both_known for row in measured):
        yield ALONE


def _skipped(run: Analysis) -> Iterator[str]:
    skipped = [reason for reason in run.reasons if reason.status == "skipped"]
    if skipped:
        count = sum(reason.count for reason in skipped)
        most = f"; {skipped[0].count} of them" if len(skipped) > 1 else ""
        why = _part(IN_VISIT.sub("", skipped[0].text), SHORT)
        yield f"skipped: {plural(count, 'row')}{most}: {why}"


def _next(result: Result, odd: str, out: Terminal) -> Part:
    """The next commands, the most useful first, not wrapped: they are there to be copied."""
    path, program = quoted(result.path), files.program()
    said = [("everything", f"{program} summary {path} --full")]
    if not result.run.complete and result.path.name == RESULT and (result.path.parent / JOURNAL).is_file():
        said.append(("the rest of the run", f"grainscope --resume {quoted(result.path.parent)}"))
    elif any(row.status == "failed" for row in result.rows):
        said.append(("what failed", f"{program} list {path} --status failed"))
    elif odd:
        said.append(("what is odd", odd))
    if any(row.measured and FLAGS.keys() & {*row.flags} for row in result.rows):
        said.append(("flags", f"{program} list {path} --flag"))
    if len(result.links) > 2:
        said.append(("pairs", f"{program} matrix {path}"))
    if rows := [row for row in result.rows if row.ok]:
        said.append(("one family", f"{program} summary {path} {rows[0].case.family}"))
    wide = max(len(what) for what, _ in said) + 1
    entries = [[f"  {f'{what}:'.ljust(wide)} {command}"] for what, command in said]
    return Part([out.paint("Next", "bold")], entries, min(len(entries), 2), more=False)


def _part(text: str, most: int) -> str:
    """At most so many letters of a sentence, cut between its parts where it has any."""
    end = max(text.rfind(mark, most // 3, most) for mark in ("; ", ", "))
    return text if len(text) <= most else f"{text[:end]} …" if end > 0 else cut(text, most)


def _item(text: str, out: Terminal) -> Block:
    return out.item(_part(text, LONG))


def _wrapped(text: str, out: Terminal, indent: str = "  ") -> Block:
    return out.wrap(text, indent).splitlines()
