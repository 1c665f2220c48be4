"""`grainscope-report export`: every row of one or several files as a table for other programs."""

import argparse
import sys
from pathlib import Path

from grainscope_report import exporting
from grainscope_report.commands import asked, files
from grainscope_report.errors import EXIT_OK


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "export",
        help="write every row as CSV or Markdown",
        description="Writes every row. CSV has a column for each axis, site and counter that occurs, in the "
        "file's units: seconds, bytes, decimal GB/s. Markdown has a table for each family, to read.",
    )
    parser.add_argument("kind", choices=("csv", "md"), help="the format")
    asked.add_files(parser)
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="where to write (default: print)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes or prints the table."""
    if arguments.out:
        files.keep(arguments.files, [arguments.out])
    results = files.results(arguments.files)
    text = exporting.as_csv(results) if arguments.kind == "csv" else exporting.as_markdown(results)
    if arguments.out:
        files.write(arguments.out, text)
        rows = sum(len(result.rows) for result in results)
        print(f"{arguments.out}: {rows} rows")
    else:
        sys.stdout.write(text)
    return EXIT_OK
