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
from grainscope_report.result import Result
from grainscope_report.terminal import Terminal

FORMAT = 1
SHOWN = 20
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


def lines(report: Report, out: Terminal, every: bool) -> Iterator[str]:
    """The verdict, then what failed, each with its limit's source; all of it where `every`."""
    counts = Counter(one.status for one in report.judged)
    verdict = "ACCEPTED" if report.accepted else "NOT ACCEPTED"
    said = ", ".join(
        f"{counts[one]} {one}" for one in (PASSED, FAILED, MISSING, NOT_APPLICABLE) if counts[one]
    )
    yield out.paint(f"{report.result.path}: {verdict} ({said})", "bold" if report.accepted else "red")
    yield out.wrap(" · ".join(machine.provenance(report.result)), "  ")
    shown = [one for one in report.judged if every or one.status in BROKEN]
    for one in shown if every else shown[:SHOWN]:
        yield from _line(one, out)
    if not every and len(shown) > SHOWN:
        yield f"  … and {len(shown) - SHOWN} more (--all shows them)"


def _line(one: Judged, out: Terminal) -> Iterator[str]:
    shade = "red" if one.status in BROKEN else "dim" if one.status == NOT_APPLICABLE else ""
    where = f" [{one.what}]" if one.what else ""
    message = one.message or values(one)
    yield out.wrap(f"{one.status}: {one.rule}{where}: {message}", "  ").replace(
        one.status, out.paint(one.status, shade), 1
    )
    if one.status in BROKEN:
        yield out.wrap(one.text + (f" ({one.limits})" if one.limits else ""), "      ")
        if one.source:
            yield out.paint(out.wrap(f"source of the limit: {one.source}", "      "), "dim")


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
                "judged": [asdict(one) for one in report.judged],
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
    for name, said in (("machine", " · ".join(machine.provenance(result))), ("run", result.run.id)):
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
        found.text = _xml(f"{one.text}{limits}{source}")
    if one.status == NOT_APPLICABLE:
        ElementTree.SubElement(case, "skipped", message=_xml(one.message))
    if one.measurements:
        ElementTree.SubElement(case, "system-out").text = _xml(f"every visit: {values(one)}")


def _xml(text: object) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_XML.sub("�", str(text))
