"""`check`: does a machine keep what the rules ask of it, as text, as JSON and as JUnit's XML? `validate`: is
a file right?
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from grainscope_report import machine, metrics, reader, refusing, visits
from grainscope_report.acceptance import judge, rules
from grainscope_report.acceptance.judge import (
    BROKEN,
    FAILED,
    MISSING,
    NOT_APPLICABLE,
    PASSED,
    UNDECIDED,
    Judged,
)
from grainscope_report.acceptance.rules import REFERENCE, RuleSet
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_FOUND, EXIT_OK, EXIT_UNDECIDED, EXIT_USAGE, ReportError
from grainscope_report.metrics import Unit
from grainscope_report.model import Result
from grainscope_report.typed import Problem
from grainscope_report.units import plural, some
from grainscope_report.writing import Terminal, in_xml, json_text, terminal

# What became of the rules.

FORMAT = 1
MOST_LINES = 30
# What JSON does not have: it is for people.
TEXT_ONLY = ("got", "cause", "remedy", "again", "expected", "came")
NAMED = 6  # things of one cause that are named in its sentence
SHADES = {"ACCEPTED": "bold", "NOT ACCEPTED": "red", "NOT DECIDED": "yellow"}


@dataclass(frozen=True)
class Report:
    """A run and what became of the rules there."""

    result: Result
    judged: tuple[Judged, ...]

    @property
    def broken(self) -> bool:
        """Whether something failed or was missing."""
        return any(judgement.status in BROKEN for judgement in self.judged)

    @property
    def decided(self) -> bool:
        """Whether something is broken, or every rule was answered."""
        return self.broken or not any(judgement.status == UNDECIDED for judgement in self.judged)

    @property
    def accepted(self) -> bool:
        """Whether every rule was answered and nothing is broken."""
        return self.decided and not self.broken


def verdict(reports: Sequence[Report]) -> str:
    """Of all runs together: the worst of them, and what failed is worse than what is not decided."""
    if any(report.broken for report in reports):
        return "NOT ACCEPTED"
    return "ACCEPTED" if all(report.decided for report in reports) else "NOT DECIDED"


def lines(reports: Sequence[Report], rules: str, out: Terminal, every: bool) -> list[str]:
    """The verdict, then what failed with the likely cause and the next command; all of it where `every`."""
    said, alone = verdict(reports), len(reports) == 1
    of = (
        f"{reports[0].result.path}: {_counts(reports[0])}"
        if alone
        else f"{sum(report.accepted for report in reports)} of {len(reports)} runs are accepted"
    )
    # However long a path is, it stands behind the verdict.
    start = f"{said}: ".replace(" ", "\u00a0")
    first = out.wrap(f"{start}{of}; rules: {rules}", "").replace("\u00a0", " ")
    found = first.replace(said, out.paint(said, SHADES[said]), 1).split("\n")
    shown = [_one(report, out, every, alone) for report in reports]
    # A run's own two lines come before any failure's.
    left = MOST_LINES - len(found) - sum(len(head) for head, _ in shown)
    for at, (head, parts) in enumerate(shown):
        if not every and left < 1 and len(found) + len(head) > MOST_LINES - (at + 1 < len(reports)):
            return [*found, f"… and {len(reports) - at} more runs (--full shows them)"]
        found += head
        for done, (_, part) in enumerate(parts):
            last = done + 1 == len(parts)
            if not every and len(part) + (not last) > left:
                if left > 0:
                    more = sum(count for count, _ in parts[done:])
                    found.append(f"  … and {more} more (--full shows them)")
                    left -= 1
                break
            found += part
            left -= len(part)
    return found


def _counts(report: Report) -> str:
    counts = Counter(judgement.status for judgement in report.judged)
    return ", ".join(
        f"{counts[one]} {one}" for one in (FAILED, MISSING, UNDECIDED, PASSED, NOT_APPLICABLE) if counts[one]
    )


def _one(
    report: Report, out: Terminal, every: bool, alone: bool
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """A run's own lines, and those of things that are shown together with how many these are."""
    said = verdict([report])
    head = (
        [] if alone else [f"{report.result.path}: {out.paint(said.lower(), SHADES[said])}, {_counts(report)}"]
    )
    head += out.wrap(machine.provenance_line(report.result), "  ").split("\n")
    untold = [
        judgement.text
        for judgement in report.judged
        if judgement.status == NOT_APPLICABLE and judgement.what == "node"
    ]
    if untold and not every:
        head += out.wrap(f"not told by the machine, and accepted: {'; '.join(untold)}", "  ").split("\n")
    if not every and not report.broken:
        head += _unjudged(report, out)
    if every:
        return head, [(1, "\n".join(_alone(one, out)).split("\n")) for one in report.judged]
    shown = [judgement for judgement in report.judged if judgement.status in BROKEN or _is_read(judgement)]
    # What failed with a value comes before what merely is not there, and that before what is not decided.
    order = [FAILED, MISSING, UNDECIDED]
    parts = [
        (len(there), "\n".join(_together(there, out)).split("\n"))
        for there in sorted(_by_cause(shown), key=lambda there: order.index(there[0].status))
    ]
    if report.broken and (said := _unjudged(report, out)):
        left = sum(one.status == UNDECIDED and not _is_read(one) for one in report.judged)
        parts.append((left, said))
    return head, parts


def _is_read(judged: Judged) -> bool:
    """Whether something that is not decided is no matter of rows: a value, or what a node does not tell."""
    return judged.status == UNDECIDED and (bool(judged.got) or judged.what == "node")


def _unjudged(report: Report, out: Terminal) -> list[str]:
    """What no row answers, in a sentence for what is not decided and one for what is left out."""
    found = []
    for word, status in ((UNDECIDED, UNDECIDED), ("left out", NOT_APPLICABLE)):
        there = [
            one
            for one in report.judged
            if one.status == status and one.again and one.what != "node" and not one.got
        ]
        if there:
            said = [one.message for one in there if one.what == "run"]
            places: dict[tuple[str, ...], list[str]] = {}
            for place in sorted({one.what for one in there if one.what != "run"}):
                names = tuple(dict.fromkeys(one.rule for one in there if one.what == place))
                places.setdefault(names, []).append(place)
            for names, of in places.items():
                whose = f" of {some(of, NAMED)}" if any(of) else ""
                said.append(f"no row{whose} answers {some(names, NAMED)}")
            text = out.wrap(f"{word}: {'; '.join(said)}", "  ")
            found += text.replace(word, out.paint(word, SHADES["NOT DECIDED"]), 1).split("\n")
            commands = list(dict.fromkeys(one.again for one in there))
            # Of several it is seen where one ends.
            said = commands if len(commands) == 1 else [f"`{command}`" for command in commands]
            found += out.wrap(f"next: {' and '.join(said)}", "      ").split("\n")
    return found


def _by_cause(broken: Sequence[Judged]) -> list[list[Judged]]:
    """What has one cause, or one sentence, together."""
    found: dict[tuple, list[Judged]] = {}
    for at, one in enumerate(broken):
        # A value beyond its limit has limits and a value of its own; what is not there has only a sentence.
        limits = one.limits if _is_of_run(one) and one.status in BROKEN else ""
        said = (
            (one.message, one.cause, one.remedy, _whole(one.again), limits)
            if not one.got
            else (one.cause, one.remedy)
        )
        said = said if one.cause or not one.got else (at,)
        found.setdefault((one.status, *said), []).append(one)
    return list(found.values())


def _together(there: Sequence[Judged], out: Terminal) -> Iterator[str]:
    """What has one cause: each with its value, then the cause and the next command once."""
    first = there[0]
    if len(there) == 1:
        yield _headline(first, out)
        yield from _wrapped(first, out)
        return
    if first.got:
        for one in there[:NAMED]:
            yield _headline(one, out, f": {one.message if _is_read(one) else _expected(one)}")
        if left := [f"{one.rule}{_where(one)}" for one in there[NAMED:]]:
            yield out.wrap(f"{first.status}, too: {some(left, NAMED)} (--full shows them)", "  ")
    else:
        alike = len({one.what for one in there}) == 1
        names = [one.rule if alike else f"{one.rule}{_where(one)}" for one in there]
        name = f"{some(names, NAMED)}{_where(first) if alike else ''}"
        yield _headline(first, out, f": {_brief(first)}", name)
        if first.status in BROKEN and not _is_of_run(first):
            what = first.expected or "of each a value within its limits"
            yield out.wrap(f"expected {what}; got {first.came}", "      ")
    if first.cause:
        yield out.wrap(f"likely, of all {len(there)}: {first.cause}", "      ")
    remedies = dict.fromkeys(one.remedy for one in there)
    if then := "; then ".join(filter(None, (*remedies, _whole(first.again)))):
        yield out.wrap(f"next: {then}", "      ")


def _whole(command: str) -> str:
    """A command without the filter that asks for one row."""
    return re.sub(r" --benchmark_filter='\^[^']*\$'", "", command)


def _headline(judged: Judged, out: Terminal, told: str | None = None, name: str = "") -> str:
    shade = (
        "red"
        if judged.status in BROKEN
        else {NOT_APPLICABLE: "dim", UNDECIDED: "yellow"}.get(judged.status, "")
    )
    if told is None:
        told = f": {_brief(judged) or judged.got}" if judged.status not in BROKEN or not judged.got else ""
    if judged.status in BROKEN and _is_of_run(judged):
        told += f" (expected{_asked(judged)})"
    line = out.wrap(f"{judged.status}: {name or f'{judged.rule}{_where(judged)}'}{told}", "  ")
    return line.replace(judged.status, out.paint(judged.status, shade), 1)


def _is_of_run(judged: Judged) -> bool:
    """Whether something is of the run or the node, and not of a row or a link."""
    return judged.what in ("run", "node")


def _asked(judged: Judged) -> str:
    """What a run or a node was to be, after the word `expected`."""
    return f" {judged.limits}" if judged.limits else f": {judged.text}"


def _brief(judged: Judged) -> str:
    """What is wrong, without the reason where that is the likely cause."""
    return judged.message.removesuffix(f": {judged.cause}") if judged.cause else judged.message


def _where(judged: Judged) -> str:
    return f" [{judged.what}]" if judged.what else ""


def _alone(judged: Judged, out: Terminal) -> Iterator[str]:
    """All of one."""
    yield _headline(judged, out)
    if judged.status in BROKEN or judged.status == UNDECIDED:
        yield from _wrapped(judged, out)
    yield out.paint(out.wrap(judged.text, "      "), "dim")
    if judged.measurements:
        yield out.paint(out.wrap(f"visits: {values(judged)}", "      "), "dim")
    if judged.source:
        yield out.paint(out.wrap(f"source of the limit: {judged.source}", "      "), "dim")


def _wrapped(judged: Judged, out: Terminal) -> Iterator[str]:
    """What stands below a headline, which says of a run or a node what was expected."""
    for said in list(explained(judged))[_is_of_run(judged) :]:
        yield out.wrap(said, "      ")


def explained(judged: Judged) -> Iterator[str]:
    """What was expected of a failure and what came, what may be the cause, and the next command."""
    yield _expected(judged)
    if judged.cause:
        yield f"likely: {judged.cause}"
    if judged.next:
        yield f"next: {judged.next}"


def _expected(judged: Judged) -> str:
    if _is_of_run(judged):
        return f"expected{_asked(judged)}; got: {judged.message}"
    return f"expected {judged.expected or _typical(judged.limits)}; got {judged.got or judged.came}"


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
        "decided": verdict(reports) != "NOT DECIDED",
        "files": [
            {
                "file": str(report.result.path),
                "host": report.result.host,
                "run": report.result.run.id,
                "machine": machine.provenance(report.result),
                "accepted": report.accepted,
                "decided": report.decided,
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
    """A suite for each file and a case for each rule, question and site.

    Missing rows are failures, and what is not decided is an error: it could not be tested.
    """
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
        errors=sum(judgement.status == UNDECIDED for judgement in report.judged),
    )
    suite = ElementTree.SubElement(
        top, "testsuite", name=in_xml(result.path), hostname=in_xml(result.host or "unknown"),
        timestamp=in_xml(result.date), time="0", **{name: str(count) for name, count in counts.items()},
    )  # fmt: skip
    properties = ElementTree.SubElement(suite, "properties")
    for name, said in (("machine", machine.provenance_line(result)), ("run", result.run.id)):
        ElementTree.SubElement(properties, "property", name=name, value=in_xml(said))
    for judgement in report.judged:
        _testcase(suite, judgement)
    return counts


def _testcase(suite: ElementTree.Element, judged: Judged) -> None:
    name = f"{judged.rule} [{judged.what}]" if judged.what else judged.rule
    case = ElementTree.SubElement(
        suite, "testcase", classname="grainscope.acceptance", name=in_xml(name), time="0"
    )
    if judged.status in BROKEN or judged.status == UNDECIDED:
        kind = "error" if judged.status == UNDECIDED else "failure"
        found = ElementTree.SubElement(case, kind, type=judged.status, message=in_xml(judged.message))
        limits = f" ({judged.limits})" if judged.limits else ""
        source = f"\nsource of the limit: {judged.source}" if judged.source else ""
        more = "".join(f"\n{line}" for line in explained(judged))
        found.text = in_xml(f"{judged.text}{limits}{source}{more}")
    if judged.status == NOT_APPLICABLE:
        ElementTree.SubElement(case, "skipped", message=in_xml(judged.message))
    if judged.measurements:
        ElementTree.SubElement(case, "system-out").text = in_xml(f"every visit: {values(judged)}")


SHOWN = 20
_ROW = re.compile(r"^\$\.benchmarks\[(\d+)\]")


def add_check(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "check",
        help="hold a run against acceptance rules",
        description="Holds runs against rules: limits as data, from a TOML file or a set that comes with the "
        f"suite ({', '.join(rules.shipped())}). A value fails where its whole interval lies beyond a limit. "
        "A rule that no row of the run answers is not decided, and the command that measures it is named; in "
        "a whole run of the preset that the rules ask for (`acceptance`) it fails. Each file must pass.",
        epilog="Exit status: 0 accepted, 1 not accepted, 2 a file or the rules cannot be used, 3 a file "
        "contradicts itself, 5 nothing failed, but not every rule is decided. The keys of a rule file are in "
        "docs/procurement.md.",
    )
    files.add_files(parser)
    parser.add_argument(
        "--rules",
        action="append",
        required=True,
        metavar="RULES",
        help="a rule file or set; may be given again",
    )
    parser.add_argument(
        "--reference", type=files.path, metavar="FILE", help="for rules relative to a reference file"
    )
    files.add_type_b(parser)
    parser.add_argument(
        "--any-run",
        action="store_true",
        help="accept by those rules that the run has rows for, whatever its preset and visits: the others "
        "are left out and named; a GPU or a far node without rows stays not decided",
    )
    parser.add_argument("--junit", type=files.path, metavar="FILE", help="write JUnit's XML there")
    parser.add_argument(
        "--json", type=files.path, metavar="FILE", help="write everything as JSON there; - is stdout"
    )
    files.add_full(parser, "show everything, with sources and visits, not 30 lines")
    return parser


def run_check(arguments: argparse.Namespace) -> int:
    """Judges every file, writes what was asked for, and says what failed."""
    sets = [rules.load(name) for name in dict.fromkeys(arguments.rules)]
    read = [*arguments.files, *([arguments.reference] if arguments.reference else [])]
    files.keep([*read, *(one.path for one in sets)], filter(None, (arguments.junit, arguments.json)))
    reference = _reference(sets, arguments.reference)
    found = files.right(arguments.files, visits.type_b_tables(arguments.type_b))
    refusing.require_each_once(found)
    reports = [
        Report(result, tuple(judge.judge(result, sets, reference, arguments.any_run))) for result in found
    ]
    if arguments.junit:
        files.write(arguments.junit, junit(reports))
    said = json_text(as_json(reports, [str(one.path) for one in sets]))
    if arguments.json == Path("-"):
        print(said)
    else:
        if arguments.json:
            files.write(arguments.json, f"{said}\n")
        titles = f"{rules.titled(sets)}{', of any run' * arguments.any_run}"
        print("\n".join(lines(reports, titles, terminal(), arguments.full)))
    if any(report.broken for report in reports):
        return EXIT_FOUND
    return EXIT_OK if all(report.decided for report in reports) else EXIT_UNDECIDED


def _reference(sets: list[RuleSet], path: Path | None) -> Result | None:
    asked = [rule.id for one in sets for rule in one.rules if rule.relative_to == REFERENCE]
    if asked and path is None:
        raise ReportError(f"rule {asked[0]!r} is relative to a reference: give one with --reference FILE")
    return files.right([path])[0] if path else None


def add_validate(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "validate",
        help="check files against the result format",
        description="Checks result files against docs/result.schema.json and for contradictions: medians "
        "and intervals against the samples, bandwidth against bytes and time, link fractions against the "
        "measured peaks, counts, duplicates, rates above the physical limit, and in rows of things at once "
        "each lane and all of them together; of gathers, rankings, shares of a GPU and training what their "
        "counters say of each other.",
        epilog="Exit status: 0 all valid, 1 problems found, 2 a file cannot be read.",
    )
    files.add_files(parser)
    files.add_full(parser, f"show every problem, not the first {SHOWN} of a file")
    return parser


def run_validate(arguments: argparse.Namespace) -> int:
    """Says for each file that it is valid, or everything that is wrong with it."""
    return max(_validated(path, arguments.full) for path in arguments.files)


def _validated(path: Path, every: bool) -> int:
    try:
        found, document = reader.load(path)
    except ReportError as error:
        print(f"grainscope-report: {error}", file=sys.stderr)
        return EXIT_USAGE
    try:
        wrong = reader.problems(found, document)
    except refusing.UNUSABLE as error:
        wrong = [Problem("$", f"holds values that nothing can be made of ({error})")]
    if not wrong:
        print(f"{found}: valid, {len(document['benchmarks'])} rows")
        return EXIT_OK
    print(f"{found}: {plural(len(wrong), 'problem')}")
    shown = wrong if every else wrong[:SHOWN]
    for problem in shown:
        print(f"  {problem}{_named(problem, document)}")
    if len(shown) < len(wrong):
        print(f"  … and {len(wrong) - len(shown)} more (--full shows them)")
    return EXIT_FOUND


def _named(problem: Problem, document: dict[str, Any]) -> str:
    """The name of the row that a problem is in."""
    if match := _ROW.match(problem.path):
        row = document["benchmarks"][int(match[1])]
        if isinstance(row, dict) and isinstance(row.get("name"), str):
            return f"  ({row['name']})"
    return ""
