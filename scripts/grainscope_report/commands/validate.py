"""`grainscope-report validate`: does a file follow the format, and do its numbers agree with each other?"""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from grainscope_report import reader
from grainscope_report.commands import asked
from grainscope_report.errors import EXIT_FOUND, EXIT_OK, EXIT_USAGE, ReportError
from grainscope_report.typed import Problem

SHOWN = 20
_ROW = re.compile(r"^\$\.benchmarks\[(\d+)\]")


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
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
    asked.add_files(parser)
    asked.add_full(parser, f"show every problem, not the first {SHOWN} of a file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Says for each file that it is valid, or everything that is wrong with it."""
    return max(_one(path, arguments.full) for path in arguments.files)


def _one(path: Path, every: bool) -> int:
    try:
        found, document = reader.load(path)
    except ReportError as error:
        print(f"grainscope-report: {error}", file=sys.stderr)
        return EXIT_USAGE
    wrong = reader.problems(found, document)
    if not wrong:
        print(f"{found}: valid, {len(document['benchmarks'])} rows")
        return EXIT_OK
    print(f"{found}: {len(wrong)} problem{'s' if len(wrong) > 1 else ''}")
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
