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
        return not any(judgement.status in BROKEN for judgement in self.judged)


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
    counts = Counter(judgement.status for judgement in report.judged)
    return ", ".join(
        f"{counts[one]} {one}" for one in (FAILED, MISSING, PASSED, NOT_APPLICABLE) if counts[one]
    )


def _one(report: Report, out: Terminal, every: bool, alone: bool) -> tuple[list[str], list[list[str]]]:
    """A run's own lines, and those of each thing that is shown."""
    verdict = "accepted" if report.accepted else out.paint("not accepted", "red")
    head = [] if alone else [f"{report.result.path}: {verdict}, {_counts(report)}"]
    head += out.wrap(machine.provenance_line(report.result), "  ").split("\n")
    untold = [
        judgement.text
        for judgement in report.judged
        if judgement.status == NOT_APPLICABLE and judgement.what == "node"
    ]
    if untold and not every:
        head += out.wrap(f"not told by the machine, and accepted: {'; '.join(untold)}", "  ").split("\n")
    shown = [judgement for judgement in report.judged if every or judgement.status in BROKEN]
    # What failed with a value comes before what merely is not there.
    shown = shown if every else sorted(shown, key=lambda one: one.status == MISSING)
    return head, ["\n".join(_lines(one, out, every)).split("\n") for one in shown]


def _lines(judged: Judged, out: Terminal, every: bool) -> Iterator[str]:
    shade = "red" if judged.status in BROKEN else "dim" if judged.status == NOT_APPLICABLE else ""
    where = f" [{judged.what}]" if judged.what else ""
    told = f": {judged.message or judged.got}" if judged.status not in BROKEN or not judged.got else ""
    told += f" (expected {judged.limits})" * (judged.what == "node" and judged.status in BROKEN)
    yield out.wrap(f"{judged.status}: {judged.rule}{where}{told}", "  ").replace(
        judged.status, out.paint(judged.status, shade), 1
    )
    if judged.status in BROKEN:
        for said in explained(judged):
            yield out.wrap(said, "      ")
    if every:
        yield out.paint(out.wrap(judged.text, "      "), "dim")
        if judged.measurements:
            yield out.paint(out.wrap(f"visits: {values(judged)}", "      "), "dim")
        if judged.source:
            yield out.paint(out.wrap(f"source of the limit: {judged.source}", "      "), "dim")


def explained(judged: Judged) -> Iterator[str]:
    """What was expected of a failure and what came, what may be the cause, and the next command."""
    if judged.got:
        # A visit that is missing is no matter of the limits.
        more = f": {judged.message}" if not judged.cause else ""
        yield f"expected {_typical(judged.limits)}; got {judged.got}{more}"
    if judged.cause:
        yield f"likely: {judged.cause}"
    if judged.next:
        yield f"next: {judged.next}"


def _typical(limits: str) -> str:
    """Limits after the word `expected`."""
    return re.sub(r"([^,]+) expected$", r" typically\1", limits)


def values(judged: Judged) -> str:
    """Every visit's value, or why there is none."""
    if not judged.measurements:
        return ""
    unit = Unit(judged.unit, metrics.UNITS[judged.unit][1])
    said = ["none" if found.value is None else unit.text(found.value) for found in judged.measurements]
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
                "counts": dict(Counter(judgement.status for judgement in report.judged)),
                "judged": [
                    {name: value for name, value in asdict(judgement).items() if name not in TEXT_ONLY}
                    for judgement in report.judged
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
        failures=sum(judgement.status in BROKEN for judgement in report.judged),
        skipped=sum(judgement.status == NOT_APPLICABLE for judgement in report.judged),
        errors=0,
    )
    suite = ElementTree.SubElement(
        top, "testsuite", name=_xml(result.path), hostname=_xml(result.host or "unknown"),
        timestamp=_xml(result.date), time="0", **{name: str(count) for name, count in counts.items()},
    )  # fmt: skip
    properties = ElementTree.SubElement(suite, "properties")
    for name, said in (("machine", machine.provenance_line(result)), ("run", result.run.id)):
        ElementTree.SubElement(properties, "property", name=name, value=_xml(said))
    for judgement in report.judged:
        _testcase(suite, judgement)
    return counts


def _testcase(suite: ElementTree.Element, judged: Judged) -> None:
    name = f"{judged.rule} [{judged.what}]" if judged.what else judged.rule
    case = ElementTree.SubElement(
        suite, "testcase", classname="grainscope.acceptance", name=_xml(name), time="0"
    )
    if judged.status in BROKEN:
        found = ElementTree.SubElement(case, "failure", type=judged.status, message=_xml(judged.message))
        limits = f" ({judged.limits})" if judged.limits else ""
        source = f"\nsource of the limit: {judged.source}" if judged.source else ""
        more = "".join(f"\n{line}" for line in explained(judged))
        found.text = _xml(f"{judged.text}{limits}{source}{more}")
    if judged.status == NOT_APPLICABLE:
        ElementTree.SubElement(case, "skipped", message=_xml(judged.message))
    if judged.measurements:
        ElementTree.SubElement(case, "system-out").text = _xml(f"every visit: {values(judged)}")


def _xml(text: object) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_XML.sub("�", str(text))
