"""`grainscope-report summary`: what a run says on one screen, or all of it, or of one family."""

import argparse
import difflib
import json
from dataclasses import replace

from grainscope_report.commands import asked, files
from grainscope_report.errors import EXIT_OK, ReportError
from grainscope_report.result import Result
from grainscope_report.terminal import terminal


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "summary",
        help="show one screen about a run",
        description="Shows a run on one screen: the machine and what is wrong with it, links against their "
        "specification, five numbers with their 95 % interval, which way is fastest from which size on, what "
        "is odd, and the next command. --full shows everything: every family's peaks and times, lines, "
        "walls, traversals, trainings, curves with dips or two speeds, and why rows have no numbers.",
        epilog="Colours only on a terminal; NO_COLOR turns them off, COLUMNS sets the width.",
    )
    asked.add_file(parser)
    parser.add_argument(
        "family",
        nargs="?",
        metavar="FAMILY",
        help="everything of one family or group alone: `transfer/peer`, `transfer`",
    )
    asked.add_full(parser, "everything, not one screen")
    parser.add_argument("--json", action="store_true", help="everything as JSON, every site, for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the summary."""
    [result] = files.results([arguments.file])
    if arguments.family:
        result = _of(result, arguments.family.strip("/"))
    if arguments.json:
        from grainscope_report.commands import summary_json

        print(json.dumps(summary_json.document(result), indent=1, ensure_ascii=False))
        return EXIT_OK
    if arguments.full or arguments.family:
        from grainscope_report.commands import summary_full as shown
    else:
        from grainscope_report.commands import summary_screen as shown
    for line in shown.lines(result, terminal()):
        print(line)
    return EXIT_OK


def _of(result: Result, name: str) -> Result:
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
