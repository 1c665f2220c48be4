"""`check`: does a machine keep what the rules ask of it? `validate`: is a file right?"""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from grainscope_report import reader, visits
from grainscope_report.acceptance import judge, output, rules
from grainscope_report.acceptance.rules import REFERENCE, RuleSet
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_FOUND, EXIT_OK, EXIT_UNDECIDED, EXIT_USAGE, ReportError
from grainscope_report.model import Result
from grainscope_report.terminal import terminal
from grainscope_report.typed import Problem
from grainscope_report.units import plural
from grainscope_report.writing import json_text

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
        "--reference", type=Path, metavar="FILE", help="for rules relative to a reference file"
    )
    files.add_type_b(parser)
    parser.add_argument(
        "--any-run",
        action="store_true",
        help="accept by those rules that the run has rows for, whatever its preset and visits: the others "
        "are left out and named; a GPU or a far node without rows stays not decided",
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit's XML there")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write everything as JSON there; - is stdout"
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
    _no_run_twice(found)
    reports = [
        output.Report(result, tuple(judge.judge(result, sets, reference, arguments.any_run)))
        for result in found
    ]
    if arguments.junit:
        files.write(arguments.junit, output.junit(reports))
    said = json_text(output.as_json(reports, [str(one.path) for one in sets]))
    if arguments.json == Path("-"):
        print(said)
    else:
        if arguments.json:
            files.write(arguments.json, f"{said}\n")
        titles = f"{rules.titled(sets)}{', of any run' * arguments.any_run}"
        print("\n".join(output.lines(reports, titles, terminal(), arguments.full)))
    if any(report.broken for report in reports):
        return EXIT_FOUND
    return EXIT_OK if all(report.decided for report in reports) else EXIT_UNDECIDED


def _reference(sets: list[RuleSet], path: Path | None) -> Result | None:
    asked = [rule.id for one in sets for rule in one.rules if rule.relative_to == REFERENCE]
    if asked and path is None:
        raise ReportError(f"rule {asked[0]!r} is relative to a reference: give one with --reference FILE")
    return files.right([path])[0] if path else None


def _no_run_twice(found: list[Result]) -> None:
    seen: dict[str, Result] = {}
    for result in found:
        if other := seen.get(result.run.id):
            raise ReportError(f"{other.path} and {result.path} are the same run: give each once")
        seen[result.run.id] = result


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
    wrong = reader.problems(found, document)
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
