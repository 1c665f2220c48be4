"""The answers, a sentence a line, and under them what the rows come to in full."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from grainscope_report import findings, naming
from grainscope_report.analysis import Analysis
from grainscope_report.digest import Group
from grainscope_report.findings import Finding
from grainscope_report.fits import everything, shape
from grainscope_report.fits.everything import Answer
from grainscope_report.groups import transfer
from grainscope_report.machine import Machine
from grainscope_report.page import markup
from grainscope_report.units import format_bytes, format_error, format_interval, time_unit

SHOWN = 3  # sentences of an answer
PEAKS = ("family", "what", "peak GB/s", "95 % interval", "at", "of link", "rows")
LINES = ("family", "path", "latency", "95 % interval", "GB/s", "95 % interval", "off by: median, worst")


def part(machines: Sequence[Machine]) -> str:
    """The answers of each machine."""
    said = "".join(_of(machine, len(machines) > 1) for machine in machines)
    return f'<section id="answers"><h2>Answers</h2>{said}</section>'


def _of(machine: Machine, several: bool) -> str:
    heading = f"<h3>{markup.escaped(f'{machine.letter}: {machine.label}')}</h3>" if several else ""
    found = findings.of(Analysis(machine))
    answers = findings.facts(found, "answers")
    known = markup.described(((one.question, sentences(one)) for one in answers if one.known), "answers")
    unknown = "".join(markup.paragraph(text, "unknown") for text in _unknown(answers))
    fits = findings.fits(found, machine.result)
    return heading + known + unknown + _peaks(found) + _fits(fits) + _shape(found)


def sentences(answer: Answer) -> str:
    """The first few, and the others where they are asked for."""
    first, rest = answer.sentences[:SHOWN], answer.sentences[SHOWN:]
    more = markup.folded(f"{len(rest)} more", "".join(map(markup.paragraph, rest))) if rest else ""
    return "".join(map(markup.paragraph, first)) + more


def _unknown(found: Sequence[Answer]) -> Iterator[str]:
    """What has no answer, by the reason."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for one in found:
        if not one.known:
            reasons[one.text].append(one.question)
    for text, names in reasons.items():
        yield f"{', '.join([names[0], *map(str.lower, names[1:])])}: {text[0].lower()}{text[1:]}"


def _peaks(found: Sequence[Finding]) -> str:
    rows = [_peak(group) for group in findings.facts(found, "groups") if group.peak]
    right = (False, False, True, False, False, True, True)
    return markup.folded(f"Peak of each path ({len(rows)})", markup.table(PEAKS, rows, right)) if rows else ""


def _peak(group: Group) -> tuple[str, ...]:
    peak = group.peak
    rate, interval = format_interval(peak.rate.value, peak.rate.low, peak.rate.high)
    size = [format_bytes(peak.bytes)] if peak.bytes else []
    return (
        group.family,
        group.name or "all",
        rate,
        interval,
        ", ".join(size + [naming.number(axis, value) for axis, value in peak.axes]),
        peak.of_link,
        str(group.counts["ok"]),
    )


def _fits(fits: everything.Fits) -> str:
    right = (False, False, True, False, True, False, False)
    said = ""
    if fits.paths:
        lines = markup.table(LINES, map(_line, fits.paths), right)
        said = markup.folded(f"Latency and bandwidth of each path ({len(fits.paths)})", lines)
    for heading, sentences in everything.sections(fits):
        if sentences:
            said += markup.folded(f"{heading} ({len(sentences)})", markup.listed(sentences))
    return said


def _shape(found: Sequence[Finding]) -> str:
    """Dips, plateaus, two speeds and inversions, each with its cause and the next command."""
    paragraphs = shape.paragraphs(findings.facts(found, "shape"))
    said = [f"{text}. Next: `{command}`" if command else f"{text}." for text, command in paragraphs]
    if not said:
        return ""
    return markup.folded(f"Shape of the curves ({len(said)})", markup.listed(said))


def _line(path: transfer.Path) -> tuple[str, ...]:
    line = path.line
    rate, between = format_interval(
        line.bandwidth_gb_s.value, line.bandwidth_gb_s.low, line.bandwidth_gb_s.high
    )
    scale, unit = time_unit(max(line.latency_s.value, line.latency_s.high, 1e-9))
    latency, interval = format_interval(
        line.latency_s.value / scale, line.latency_s.low / scale, line.latency_s.high / scale
    )
    worst = f"{format_error(line.worst_error)} at {format_bytes(line.worst_bytes)}"
    off = f"{100 * line.median_error:.0f} %, {worst}"
    return path.family, path.name or "all", f"{latency} {unit}", interval, rate, between, off
