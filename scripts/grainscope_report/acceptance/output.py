"""What became of the rules, as text, as JSON and as JUnit's XML."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree import ElementTree

from grainscope_report import machine, metrics
from grainscope_report.acceptance.judge import BROKEN, FAILED, MISSING, NOT_APPLICABLE, PASSED, Judged
from grainscope_report.metrics import Unit
from grainscope_report.model import Result
from grainscope_report.terminal import Terminal

FORMAT = 1
MOST_LINES = 30
TEXT_ONLY = ("got", "cause", "next")  # what JSON does not have: it is for people
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Report:
    """A run and what became of the rules there."""

    result: Result
    judged: tuple[Judged, ...]

    @property
    def accepted(self) -> bool:
        """Whether nothing failed and nothing was missing."""
        return not any(one.status in BROKEN for one in self.judged)


def lines(reports: Sequence[Report], rules: str, out: Terminal, every: bool) -> list[str]:
    """The verdict, then what failed with the likely cause and the next command; all of it where `every`."""
    accepted = [report.accepted for report in reports]
    verdict, shade = ("ACCEPTED", "bold") if all(accepted) else ("NOT ACCEPTED", "red")
    alone = len(reports) == 1
    of = (
        f"{reports[0].result.path}: {_counts(reports[0])}"
        if alone
        else f"{sum(accepted)} of {len(reports)} runs"
    )
    first = f"{verdict}: {of}; rules: {rules}"
    found = [first.replace(verdict, out.paint(verdict, shade), 1)]
    shown = [_one(report, out, every, alone) for report in reports]
    # A run's own two lines come before any failure's.
    left = MOST_LINES - out.height(first) - sum(len(head) for head, _ in shown)
    for at, (head, parts) in enumerate(shown):
        if not every and left < 1 and len(found) + len(head) > MOST_LINES - (at + 1 < len(reports)):
            return [*found, f"… and {len(reports) - at} more runs (--full shows them)"]
        found += head
        for done, part in enumerate(parts):
            last = done + 1 == len(parts)
            if not every and len(part) + (not last) > left:
                if left > 0:
                    found.append(f"  … and {len(parts) - done} more (--full shows them)")
                    left -= 1
                break
            found += part
            left -= len(part)
    return found


def _counts(report: Report) -> str:
    counts = Counter(one.status for one in report.judged)
    return ", ".join(
        f"{counts[one]} {one}" for one in (FAILED, MISSING, PASSED, NOT_APPLICABLE) if counts[one]
    )


def _one(report: Report, out: Terminal, every: bool, alone: bool) -> tuple[list[str], list[list[str]]]:
    """A run's own lines, and those of each thing that is shown."""
    verdict = "accepted" if report.accepted else out.paint("not accepted", "red")
    head = [] if alone else [f"{report.result.path}: {verdict}, {_counts(report)}"]
    head += out.wrap(machine.provenance_line(report.result), "  ").split("\n")
    untold = [one.text for one in report.judged if one.status == NOT_APPLICABLE and one.what == "node"]
    if untold and not every:
        head += out.wrap(f"not told by the machine, and accepted: {'; '.join(untold)}", "  ").split("\n")
    shown = [one for one in report.judged if every or one.status in BROKEN]
    # What failed with a value comes before what merely is not there.
    shown = shown if every else sorted(shown, key=lambda one: one.status == MISSING)
    return head, ["\n".join(_lines(one, out, every)).split("\n") for one in shown]


def _lines(one: Judged, out: Terminal, every: bool) -> Iterator[str]:
    shade = "red" if one.status in BROKEN else "dim" if one.status == NOT_APPLICABLE else ""
    where = f" [{one.what}]" if one.what else ""
    told = f": {one.message or one.got}" if one.status not in BROKEN or not one.got else ""
    told += f" (expected {one.limits})" * (one.what == "node" and one.status in BROKEN)
    yield out.wrap(f"{one.status}: {one.rule}{where}{told}", "  ").replace(
        one.status, out.paint(one.status, shade), 1
    )
    if one.status in BROKEN:
        for said in explained(one):
            yield out.wrap(said, "      ")
    if every:
        yield out.paint(out.wrap(one.text, "      "), "dim")
        if one.measurements:
            yield out.paint(out.wrap(f"visits: {values(one)}", "      "), "dim")
        if one.source:
            yield out.paint(out.wrap(f"source of the limit: {one.source}", "      "), "dim")


def explained(one: Judged) -> Iterator[str]:
    """What was expected of a failure and what came, what may be the cause, and the next command."""
    if one.got:
        # A visit that is missing is no matter of the limits.
        more = f": {one.message}" if not one.cause else ""
        yield f"expected {_typical(one.limits)}; got {one.got}{more}"
    if one.cause:
        yield f"likely: {one.cause}"
    if one.next:
        yield f"next: {one.next}"


def _typical(limits: str) -> str:
    """Limits after the word `expected`."""
    return re.sub(r"([^,]+) expected$", r" typically\1", limits)


def values(one: Judged) -> str:
    """Every visit's value, or why there is none."""
    if not one.measurements:
        return ""
    unit = Unit(one.unit, metrics.UNITS[one.unit][1])
    said = ["none" if found.value is None else unit.text(found.value) for found in one.measurements]
    return ", ".join(said)


def as_json(reports: Sequence[Report], rules: Sequence[str]) -> dict[str, Any]:
    """Everything, plain: values in the file's own units (GB/s, seconds, fractions)."""
    return {
        "check_format": FORMAT,
        "rules": list(rules),
        "accepted": all(report.accepted for report in reports),
        "files": [
            {
                "file": str(report.result.path),
                "host": report.result.host,
                "run": report.result.run.id,
                "machine": machine.provenance(report.result),
                "accepted": report.accepted,
                "counts": dict(Counter(one.status for one in report.judged)),
                "judged": [
                    {name: value for name, value in asdict(one).items() if name not in TEXT_ONLY}
                    for one in report.judged
                ],
            }
            for report in reports
        ],
    }


def junit(reports: Sequence[Report]) -> bytes:
    """A suite for each file and a case for each rule, question and site; missing rows are failures."""
    top = ElementTree.Element("testsuites", name="grainscope acceptance")
    totals: Counter = Counter()
    for report in reports:
        totals += _suite(top, report)
    for name in ("tests", "failures", "errors", "skipped"):
        top.set(name, str(totals[name]))
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)


def _suite(top: ElementTree.Element, report: Report) -> Counter:
    result = report.result
    counts = Counter(
        tests=len(report.judged),
        failures=sum(one.status in BROKEN for one in report.judged),
        skipped=sum(one.status == NOT_APPLICABLE for one in report.judged),
        errors=0,
    )
    suite = ElementTree.SubElement(
        top, "testsuite", name=_xml(result.path), hostname=_xml(result.host or "unknown"),
        timestamp=_xml(result.date), time="0", **{name: str(count) for name, count in counts.items()},
    )  # fmt: skip
    properties = ElementTree.SubElement(suite, "properties")
    for name, said in (("machine", machine.provenance_line(result)), ("run", result.run.id)):
        ElementTree.SubElement(properties, "property", name=name, value=_xml(said))
    for one in report.judged:
        _testcase(suite, one)
    return counts


def _testcase(suite: ElementTree.Element, one: Judged) -> None:
    name = f"{one.rule} [{one.what}]" if one.what else one.rule
    case = ElementTree.SubElement(
        suite, "testcase", classname="grainscope.acceptance", name=_xml(name), time="0"
    )
    if one.status in BROKEN:
        found = ElementTree.SubElement(case, "failure", type=one.status, message=_xml(one.message))
        limits = f" ({one.limits})" if one.limits else ""
        source = f"\nsource of the limit: {one.source}" if one.source else ""
        more = "".join(f"\n{line}" for line in explained(one))
        found.text = _xml(f"{one.text}{limits}{source}{more}")
    if one.status == NOT_APPLICABLE:
        ElementTree.SubElement(case, "skipped", message=_xml(one.message))
    if one.measurements:
        ElementTree.SubElement(case, "system-out").text = _xml(f"every visit: {values(one)}")


def _xml(text: object) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_XML.sub("�", str(text))
