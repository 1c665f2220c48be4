"""`grainscope-report check`: does a machine keep what the rules ask of it?"""

import argparse
import json
from pathlib import Path

from grainscope_report import repeated
from grainscope_report.acceptance import judge, output, rules
from grainscope_report.acceptance.rules import REFERENCE, RuleSet
from grainscope_report.commands import asked, files
from grainscope_report.errors import EXIT_FOUND, EXIT_OK, ReportError
from grainscope_report.result import Result
from grainscope_report.terminal import terminal


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "check",
        help="hold a run against acceptance rules",
        description="Holds runs of the `acceptance` preset against rules: limits as data, from a TOML file "
        f"or a set that comes with the suite ({', '.join(rules.shipped())}). A value fails where its whole "
        "interval lies beyond a limit, and so does a row that a rule asks for and the run lacks. Each file "
        "must pass.",
        epilog="Exit status: 0 accepted, 1 not accepted, 2 a file or the rules cannot be used. The keys of a "
        "rule file are in docs/procurement.md.",
    )
    asked.add_files(parser)
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
    asked.add_type_b(parser)
    parser.add_argument("--any-run", action="store_true", help="whatever preset, number of visits and cases")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit's XML there")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write everything as JSON there; - is stdout"
    )
    asked.add_full(parser, "show everything, with sources and visits, not 30 lines")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Judges every file, writes what was asked for, and says what failed."""
    sets = [rules.load(name) for name in dict.fromkeys(arguments.rules)]
    read = [*arguments.files, *([arguments.reference] if arguments.reference else [])]
    files.keep([*read, *(one.path for one in sets)], filter(None, (arguments.junit, arguments.json)))
    reference = _reference(sets, arguments.reference)
    found = files.results(arguments.files, repeated.tables(arguments.type_b))
    _no_run_twice(found)
    reports = [
        output.Report(result, tuple(judge.judge(result, sets, reference, arguments.any_run)))
        for result in found
    ]
    if arguments.junit:
        files.write(arguments.junit, output.junit(reports))
    said = json.dumps(output.as_json(reports, [str(one.path) for one in sets]), indent=1, ensure_ascii=False)
    if arguments.json == Path("-"):
        print(said)
    else:
        if arguments.json:
            files.write(arguments.json, f"{said}\n")
        titles = f"{rules.titled(sets)}{', of any run' * arguments.any_run}"
        print("\n".join(output.lines(reports, titles, terminal(), arguments.full)))
    return EXIT_OK if all(report.accepted for report in reports) else EXIT_FOUND


def _reference(sets: list[RuleSet], path: Path | None) -> Result | None:
    asked = [rule.id for one in sets for rule in one.rules if rule.relative_to == REFERENCE]
    if asked and path is None:
        raise ReportError(f"rule {asked[0]!r} is relative to a reference: give one with --reference FILE")
    return files.results([path])[0] if path else None


def _no_run_twice(found: list[Result]) -> None:
    seen: dict[str, Result] = {}
    for result in found:
        if other := seen.get(result.run.id):
            raise ReportError(f"{other.path} and {result.path} are the same run: give each once")
        seen[result.run.id] = result
