"""`grainscope-report env diff`: in what do the machines and settings of two runs differ?"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from grainscope_report import loading
from grainscope_report.comparison.facts import Facts, differences, facts
from grainscope_report.errors import EXIT_FOUND, EXIT_OK
from grainscope_report.terminal import Column, terminal


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "env",
        help="what a run says of its machine and settings",
        description="What a run says of its machine and settings.",
    )
    parts = parser.add_subparsers(title="what", metavar="WHAT", required=True)
    diff = parts.add_parser(
        "diff",
        help="what differs between two runs",
        description="Shows every fact of machine, driver, suite and run in which two files differ, those "
        "that decide most numbers first.",
        epilog="Exit status: 0 none differs, 1 some do, 2 a file cannot be read.",
    )
    said = "a result file, a run directory, or what `grainscope --env json` printed"
    diff.add_argument("base", type=Path, metavar="A", help=said)
    diff.add_argument("new", type=Path, metavar="B", help="another one")
    diff.add_argument(
        "--all", action="store_true", help="also what passes: load, free memory, clocks, serial numbers"
    )
    diff.add_argument("--json", action="store_true", help="as JSON, a fact an entry")
    diff.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the differences."""
    found = differences(_facts(arguments.base), _facts(arguments.new), arguments.all)
    if arguments.json:
        print(json.dumps([vars(one) for one in found], indent=1, ensure_ascii=False))
    elif not found:
        print("no difference")
    else:
        # Nothing is cut or left out: a narrow terminal wraps the lines.
        out = replace(terminal(), width=sys.maxsize)
        columns = (Column("fact"), Column(str(arguments.base)), Column(str(arguments.new)))
        rows = [(one.fact, one.base or "-", one.new or "-") for one in found]
        print("\n".join(out.table(columns, rows)))
    return EXIT_FOUND if found else EXIT_OK


def _facts(path: Path) -> Facts:
    return facts(loading.load_environment(path))
