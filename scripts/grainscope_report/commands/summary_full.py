"""What `summary --full` and `--json` print: everything that a run says, the machine's warnings first.

Of traversals a line is for the widest edges, with the time of the narrower ones beside it; `--json` has all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from grainscope_report import findings, machine, naming
from grainscope_report.analysis import Analysis, Group, Reason
from grainscope_report.commands import summary_gnn
from grainscope_report.findings import Fits
from grainscope_report.fits import shape
from grainscope_report.groups import (
    contention,
    gnn_answers,
    lean,
    lean_preparing,
    topology,
    transfer,
    traversal,
    traversal_answers,
)
from grainscope_report.groups.lean import Gain
from grainscope_report.groups.programs import Quality
from grainscope_report.groups.traversal_answers import Answer, AtWork, Moved, Together
from grainscope_report.model import Result
from grainscope_report.statistics import Estimate
from grainscope_report.units import (
    format_bytes,
    format_error,
    format_interval,
    format_percent,
    format_time,
    plural,
    significant,
    time_unit,
)
from grainscope_report.writing import Column, Terminal, known

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
    for name, right in zip(machine.LINK_NAMES, machine.LINK_RIGHT, strict=True)
)
FORMAT = 1
LINE_COLUMNS = (
    Column("time = latency + bytes / bandwidth"),
    Column("latency", right=True),
    Column("95 % interval", optional=4),
    Column("GB/s", right=True),
    Column("95 % interval", optional=3),
    Column("half of it at", right=True, optional=1),
    Column("of theoretical", right=True),
    Column("off by: median, worst", right=True, optional=2),
)
# A latency below this share of the smallest time cannot be told from nothing.
NOTHING = 1e-12
MEASURED = (
    "Best: the fastest way that leaves the edges in host memory and needs no managed memory. × managed: how "
    "many times faster, where managed memory is cold, not oversubscribed unless "
    "--allow-managed-oversubscription was given; × device: against edges in the GPU's memory. Times: "
    "medians over trials."
)
MODELLED = (
    "Modelled: an estimate of the time that the link needs, which measured traversals may miss either way. "
    "× managed: where the card holds half of the edge list, modelled and not validated on hardware."
)
NARROW = "With narrower edges: the time of the same access."
TIED = "Tied: so many other accesses take exactly as long."
ALSO = "What the model says of the same is in --json and in figures 8, 9, 16 and 17."
TOGETHER_COLUMNS = (
    Column("traversals by several GPUs"),
    Column("GPUs", right=True),
    Column("alone", right=True, optional=1),
    Column("together", right=True),
    Column("× faster", right=True),
    Column("scaling", right=True),
    Column("edges read ×", right=True, optional=2),
)
TOGETHER_SAID = (
    "Alone: one GPU with the whole graph, from the first three sources; × faster and scaling, the share of "
    "what as many GPUs could do, are of these sources, together is the median of all. Edges read ×: over "
    "those of one GPU."
)
LEAN_COLUMNS = (
    Column("traversals that move fewer bytes"),
    Column("fastest"),
    Column("time", right=True),
    Column("over the link", right=True, optional=8),
    Column("GPU memory", right=True, optional=1),
    Column("× EMOGI", right=True),
    Column("× device", right=True, optional=2),
    Column("prepared", right=True),
    *(Column(part, right=True, optional=3 + at) for at, part in enumerate(lean_preparing.PARTS)),
    Column("pays after", right=True),
    Column("model", right=True, optional=9),
)
LEAN_COMPARED = (
    "What a better algorithm buys beside EMOGI's best, the fastest walk over whole lists of the same graph "
    "by EMOGI's accesses or GraphPEG's exchange."
)
LEAN_SAID = (
    "Hot: so many percent of the edges are in GPU memory as well. GPU memory: all of it, with state, where "
    "lists lie, and edges. Strategies: {strategies}. Times: means over trials after GAP. Prepared once "
    "before all runs, in none of their times: {spent}."
)
LEAN_PAYS = (
    "Pays after: so many runs save what was prepared; never: no number does, for all that intervals tell."
)
LEAN_MODEL = (
    "Model: its time for the link, an estimate that knows no cache, against the measured one; none where "
    "nothing crosses."
)
PREDICTED_COLUMNS = (
    Column("programs predicted from microbenchmarks"),
    Column("rows", right=True),
    Column("off by: median", right=True),
    Column("nine in ten", right=True),
    Column("beyond half", right=True, optional=1),
    Column("same fastest way", right=True),
    Column("bound by", optional=2),
)
BOUNDS_SHOWN = 3
PREDICTED_SAID = (
    "By transfer, reach, grain, latency, call and host rows of this run; constants of the algorithms are "
    "fitted on other kinds of GPUs, and no row is predicted by what was fitted to it. Of choices those "
    "whose two fastest ways are further apart than their uncertainty: docs/model.md."
)
MOST_LINES = 12
PRESSURE_SAID = (
    "How many times the data set (edge list and weights) crosses the link where the card holds so many "
    "percent of it. Modelled and not validated on hardware; a fault brings {}."
)


def lines(result: Result, out: Terminal, every: bool = True) -> Iterator[str]:
    """The whole summary, line by line; the machine's tree only where `every` row of the run is there."""
    [shown] = machine.machines([result])
    found = findings.of(Analysis(shown), but=("answers",))

    def facts(topic: str) -> list[Any]:
        return findings.facts(found, topic)

    blocks = (
        _warnings(result, out),
        _machine(result, out),
        topology.tree(shown, out) if every else (),
        _links(result, out),
        _groups(facts("groups"), out),
        _traversals(facts("traversals"), out),
        _lanes(facts("lanes_at_work"), out),
        _together(facts("several_gpus"), out),
        _pressed(facts("managed_under_pressure"), out),
        _fewer_bytes(facts("fewer_bytes"), out),
        traversal_answers.needs_lines(facts("gpu_memory"), out),
        _predicted(facts("predicted"), out),
        summary_gnn.lines({name: facts(f"networks.{name}") for name in summary_gnn.TABLES}, out),
        _fits(findings.fits(found, result), out),
        _shape(facts("shape"), out),
        _reasons(facts("reasons"), out),
    )
    for at, block in enumerate(blocks, 1):
        if shown := list(block):
            yield from shown if at == len(blocks) else (*shown, "")


def _warnings(result: Result, out: Terminal) -> Iterator[str]:
    warnings = list(machine.concerns(result))
    for severity in SEVERITIES:
        for finding in (warning for warning in warnings if warning.severity == severity):
            yield out.wrap(f"{severity}: {finding.finding}", "").replace(
                severity, out.paint(severity, SHADES[severity]), 1
            )
            yield out.wrap(f"effect: {finding.effect}", "    ")
            yield out.wrap(f"remedy: {finding.remedy}", "    ")
    if not result.run.complete:
        yield out.paint(out.wrap(f"The run is not complete: {result.run.why_incomplete}", ""), "red")


def _machine(result: Result, out: Terminal) -> Iterator[str]:
    yield out.paint(str(result.path), "bold")
    yield out.wrap(machine.provenance_line(result), "  ")
    wall = f", {took}" if (took := machine.took(result)) else ""
    yield out.wrap(f"{machine.asked_for(result.run)}, started {result.run.started}{wall}", "  ")


def _links(result: Result, out: Terminal) -> Iterator[str]:
    if result.links:
        yield from out.headed(LINK_COLUMNS, [machine.link_cells(result, link) for link in result.links])


def _groups(groups: Sequence[Group], out: Terminal) -> Iterator[str]:
    if not groups:
        yield "The file has no rows."
        return
    families = dict.fromkeys(group.family for group in groups)
    cells = [row for family in families for row in _family(family, groups)]
    shades = ["red" if "failed" in row[-1] else "" if row[-1] else "bold" for row in cells]
    yield from out.headed(GROUP_COLUMNS, cells, shades)
    if any(group.peak and group.peak.most_of_link for group in groups):
        yield out.note(OF_LINK)
    if any(contention.shares_links(row) for group in groups for row in group.rows if row.link_fraction):
        yield out.note(f"Of link: {contention.SHARED[0].lower()}{contention.SHARED[1:]}")
    if flushed := dict.fromkeys(group.family for group in groups if group.flushed):
        yield out.note(FLUSHED.format(" and ".join(flushed)))
    yield from _slow_sites(groups, out)


def _family(family: str, found: list[Group]) -> Iterator[tuple[str, ...]]:
    """The family's name, its groups, and those that were only skipped in one line: reasons stand below."""
    yield family, *[""] * (len(GROUP_COLUMNS) - 1)
    there = [group for group in found if group.family == family]
    idle = [group for group in there if not group.counts["ok"] and not group.counts["failed"]]
    folded = idle if len(idle) > 1 else []
    yield from (_group_cells(group) for group in there if group not in folded)
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


def _group_cells(group: Group) -> tuple[str, ...]:
    peak = group.peak
    rate, interval = format_interval(peak.rate.value, peak.rate.low, peak.rate.high) if peak else ("-", "")
    return (
        f"  {group.name or 'all'}{_over(group)}{', not flushed' * group.warm}",
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


def _shape(curves: Sequence[Any], out: Terminal) -> Iterator[str]:
    said = list(shape.paragraphs(curves))
    if said:
        yield out.paint("Shape of the curves", "bold")
    for text, command in said:
        yield from out.item(text)
        if command:
            # Not wrapped: it is there to be copied.
            yield f"    next: {command}"


def _reasons(reasons: Sequence[Reason], out: Terminal) -> Iterator[str]:
    for reason in reasons:
        colour = "red" if reason.status == "failed" else "dim"
        said = (
            f"{reason.status}: {plural(reason.count, 'row')} of {', '.join(reason.families)}: {reason.text}"
        )
        yield out.wrap(said, "").replace(reason.status, out.paint(reason.status, colour), 1)
        if reason.status == "failed":
            yield from (f"    {name}" for name in reason.names[:NAMES_SHOWN])
            if reason.count > NAMES_SHOWN:
                yield f"    … and {reason.count - NAMES_SHOWN} more (`list --status failed` shows them)"


def document(result: Result) -> dict[str, Any]:
    """The whole summary; what a run does not know is null."""
    found = findings.of(Analysis(machine.machines([result])[0], every=True), but=("answers",))

    def each(*topics: str) -> dict[str, Any]:
        return {topic.rpartition(".")[2]: findings.data(found, topic) for topic in topics}

    fits = each(*(f"fits.{name}" for name in findings.PLAIN_FITS))
    return {
        "summary_format": FORMAT,
        "file": str(result.path),
        "machine": machine.provenance(result),
        "complete": result.run.complete,
        "links": [
            asdict(link) | {"from": link.ends[0], "to": link.ends[1], "negotiated": link.negotiated}
            for link in result.links
        ],
        **each(
            "groups",
            "traversals",
            "lanes_at_work",
            "several_gpus",
            "managed_under_pressure",
            "fewer_bytes",
            "gpu_memory",
            "predicted",
        ),
        "networks": each(*(f"networks.{question}" for question in gnn_answers.QUESTIONS)),
        "fits": fits | findings.FIT_METHODS | {"between": machine.between(result)},
        **each("shape", "reasons"),
    }


def _fits(fits: Fits, out: Terminal) -> Iterator[str]:
    """The table and the sentences; nothing where there is nothing to fit."""
    if fits.paths:
        yield from _fit_table(fits.paths, out)
        yield out.note(_explained(fits.paths))
    said = bool(fits.paths)
    for heading, sentences in findings.fit_sections(fits):
        if sentences:
            yield from [""] * said
            said = True
            yield out.paint(heading, "bold")
            yield from (line for sentence in sentences for line in out.item(sentence))


def _explained(shown: Sequence[transfer.Path]) -> str:
    links = list(dict.fromkeys(path.negotiated for path in shown if path.of_link and path.negotiated))
    theory = f" Of theoretical: of {', '.join(links)}, as negotiated under load." if links else ""
    return (
        "Lines with the least absolute relative errors, intervals by bootstrap over sizes; the first site of "
        "each. Off by: how far the line is from the times, with the size of the worst." + theory
    )


def _fit_table(shown: Sequence[transfer.Path], out: Terminal) -> Iterator[str]:
    cells, family = [], ""
    for path in shown:
        if path.family != family:
            family = path.family
            cells.append((family, *[""] * (len(LINE_COLUMNS) - 1)))
        cells.append(_fit_cells(path))
    yield from out.headed(LINE_COLUMNS, cells, ["" if row[-1] else "bold" for row in cells])


def _fit_cells(path: transfer.Path) -> tuple[str, ...]:
    line = path.line
    rate = line.bandwidth_gb_s
    bandwidth, between = format_interval(rate.value, rate.low, rate.high)
    latency, interval = _latency(line.latency_s)
    worst = f"{format_error(line.worst_error)} at {format_bytes(line.worst_bytes)}"
    return (
        f"  {path.name or 'all'}",
        latency,
        interval,
        bandwidth,
        between,
        format_bytes(line.half_bytes.value) if line.latency_s.value > NOTHING else "-",
        format_percent(path.of_link) if path.of_link else "-",
        f"{100 * line.median_error:.0f} %, {worst}",
    )


def _latency(time_s: Estimate) -> tuple[str, str]:
    if time_s.value <= NOTHING:
        return "-", f"below {format_time(time_s.high)}"
    scale, unit = time_unit(time_s.value)
    value, interval = format_interval(time_s.value / scale, time_s.low / scale, time_s.high / scale)
    return f"{value} {unit}", interval


def _traversals(answers: Sequence[Answer], out: Terminal) -> Iterator[str]:
    """A table of what was measured, or where nothing was, of what is modelled; nothing without traversals."""
    measured = [answer for answer in answers if answer.label == "measured"]
    there = measured or list(answers)
    if not there:
        return
    link = there[0].best.link
    what = f"traversals, modelled over {traversal.link_name(link)}" if link else "traversals, measured"
    wide = [answer for answer in there if answer.work.edge == _widest(answer, there)]
    cells = [_traversal_cells(answer, there) for answer in wide]
    yield from out.headed(*known(_traversal_columns(what, there), cells))
    also = f" {NARROW}" if len(_edges(there)) > 1 else ""
    also += f" {TIED}" if any(answer.tied for answer in wide) else ""
    also += f" {ALSO}" if measured and len(measured) < len(answers) else ""
    yield out.note((MEASURED if measured else MODELLED) + also)


def _traversal_columns(what: str, there: Sequence[Answer]) -> tuple[Column, ...]:
    edges = _edges(there)
    narrow = f"with {edges[0]} B" if len(edges) > 1 else "narrower"
    return (
        Column(what),
        Column("best access"),
        Column("time", right=True),
        Column(narrow, right=True, optional=2),
        Column("GTEPS", right=True, optional=1),
        Column("GB/s", right=True, optional=5),
        Column("of link", right=True, optional=3),
        Column("amplification", right=True, optional=4),
        Column("× managed", right=True),
        Column("× device", right=True),
    )


def _edges(there: Sequence[Answer]) -> list[int]:
    return sorted({answer.work.edge for answer in there})


def _same(one: Answer, other: Answer) -> bool:
    """Whether they differ in the width of edges alone."""
    return replace(one.work, edge=0) == replace(other.work, edge=0)


def _widest(answer: Answer, there: Sequence[Answer]) -> int:
    return max(one.work.edge for one in there if _same(one, answer))


def _traversal_cells(answer: Answer, there: Sequence[Answer]) -> tuple[str, ...]:
    work, best = answer.work, answer.best
    teps, rate = best.counter("teps"), best.counter("link_gb_s")
    weights = f", weights {work.weights}" if work.weights else ""
    narrow = next((one for one in there if _same(one, answer) and one.work.edge < work.edge), None)
    alike = narrow.like(best) if narrow else None
    tied = f" (tied with {len(answer.tied)})" if answer.tied else ""
    return (
        f"  {work.algorithm} {work.graph}, {work.edge} B{weights}",
        (traversal.spoken(best.access) if best.placement != "subway" else "Subway") + tied,
        format_time(best.time.value),
        format_time(alike.time.value) if alike else "-",
        significant(teps / 1e9) if teps else "-",
        f"{rate:.1f}" if rate else "-",
        format_percent(best.link_fraction) if best.link_fraction else "-",
        f"{answer.amplification:.2f}" if answer.amplification else "-",
        _times(answer.over.get("managed")),
        _times(answer.over.get("device")),
    )


def _lanes(found: Sequence[AtWork], out: Terminal) -> Iterator[str]:
    """What lanes at work are worth; nothing where no rows tell."""
    for sentence in traversal_answers.said_of_lanes(found):
        yield out.wrap(f"{sentence}.", "")


def _together(found: Sequence[Together], out: Terminal) -> Iterator[str]:
    """A line for each traversal by several GPUs; nothing without such rows."""
    if not found:
        return
    yield from out.headed(TOGETHER_COLUMNS, [_together_cells(one) for one in found[:MOST_LINES]])
    if len(found) > MOST_LINES:
        yield f"  … and {len(found) - MOST_LINES} more (--json has all)"
    yield out.note(TOGETHER_SAID)


def _together_cells(one: Together) -> tuple[str, ...]:
    work = one.run.work
    weights = f", weights {work.weights}" if work.weights else ""
    return (
        f"  {work.algorithm} {work.graph}, {work.edge} B{weights}, {one.how}",
        str(one.gpus),
        format_time(one.alone_s),
        format_time(one.run.time.value),
        f"{one.faster:.2f}",
        format_percent(one.scaling),
        f"{one.edges:.2f}" if one.edges else "-",
    )


def _times(ratio: Estimate | None) -> str:
    return f"{ratio.value:.2f}" if ratio else "-"


def _fewer_bytes(gains: Sequence[Gain], out: Terminal) -> Iterator[str]:
    """A line for each graph and budget; nothing without such rows."""
    if not gains:
        return
    yield from out.headed(*known(LEAN_COLUMNS, [_lean_cells(gain) for gain in gains]))
    yield out.note(" ".join(_lean_said(gains)))


def _lean_said(gains: Sequence[Gain]) -> list[str]:
    """How to read the table, what was prepared before its runs, and what of that is not known."""
    prepared = [gain.best.prepared for gain in gains]
    ways = dict.fromkeys(f"{gain.work.algorithm} {lean.spoken(gain.best.strategy)}" for gain in gains)
    spent = lean_preparing.spent(prepared) or "no row says what"
    alone = {gain.work: gain for gain in gains if not gain.emogi}
    works = {gain.work for gain in gains}
    compared = len(alone) < len(works)
    return [
        *([LEAN_COMPARED] if compared else []),
        LEAN_SAID.format(strategies=", ".join(ways), spent=spent),
        *lean_preparing.not_timed(prepared),
        *([LEAN_PAYS] if compared else []),
        *lean_preparing.without_walk([*alone], len(works)),
        LEAN_MODEL,
    ]


def _lean_cells(gain: Gain) -> tuple[str, ...]:
    best, work, prepared = gain.best, gain.work, gain.best.prepared
    weights = f", weights {work.weights}" if work.weights else ""
    parts = prepared.parts if prepared else {}
    return (
        f"  {work.algorithm} {work.graph}{weights}",
        best.brief,
        format_time(lean.mean_time(best.run).value),
        _size(best.run.row.link_bytes_least),
        _size(best.gpu_bytes),
        _times(gain.over.get("mapped")),
        _times(gain.over.get("device")),
        format_time(prepared.seconds) if prepared else "-",
        *(format_time(parts[part]) if part in parts else "-" for part in lean_preparing.PARTS),
        best.paid(gain.emogi) or "-",
        f"{100 * best.modelled[1]:+.0f} %" if best.modelled else "-",
    )


def _size(count: float | None) -> str:
    return "-" if count is None else format_bytes(count) if count else "0"


def _predicted(qualities: Sequence[Quality], out: Terminal) -> Iterator[str]:
    """A line for each group of programs; nothing without such rows, or without what predicts them."""
    if not qualities:
        return
    yield from out.headed(PREDICTED_COLUMNS, [_quality_cells(one) for one in qualities])
    yield out.note(PREDICTED_SAID)


def _quality_cells(one: Quality) -> tuple[str, ...]:
    return (
        f"  {one.group}",
        str(one.rows),
        format_percent(one.median),
        format_percent(one.ninth),
        str(len(one.beyond)),
        f"{one.same} of {one.choices}" if one.choices else "-",
        ", ".join(f"{bound} {count}" for bound, count in one.bounds[:BOUNDS_SHOWN]),
    )


def _pressed(moved: Sequence[Moved], out: Terminal) -> Iterator[str]:
    """A line for each algorithm and graph; nothing without such rows."""
    if not moved:
        return
    cards = sorted({card for one in moved for card in one.times})
    columns = (
        Column("managed memory, modelled"),
        *(Column(f"card {card:g} %", right=True, optional=at) for at, card in enumerate(cards)),
    )
    yield from out.headed(columns, [_pressure_cells(one, cards) for one in moved[:MOST_LINES]])
    if len(moved) > MOST_LINES:
        yield f"  … and {len(moved) - MOST_LINES} more (--json has all)"
    yield out.note(PRESSURE_SAID.format(format_bytes(moved[0].page)))


def _pressure_cells(moved: Moved, cards: Sequence[float]) -> tuple[str, ...]:
    work = moved.work
    weights = f", weights {work.weights}" if work.weights else ""
    times = (f"{significant(moved.times[card])} ×" if card in moved.times else "-" for card in cards)
    return f"  {work.algorithm} {work.graph}, {work.edge} B{weights}", *times
