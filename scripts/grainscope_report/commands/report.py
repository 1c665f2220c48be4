"""`grainscope-report report`: one offline HTML file about one or several result files."""

import argparse

from grainscope_report.commands import asked, files
from grainscope_report.errors import EXIT_OK
from grainscope_report.machine import machines


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "report",
        help="write one HTML file with everything",
        description="Writes one HTML file that needs no network: the machine with its warnings, the answers, "
        "every figure with its table, every row to sort and filter, and what was not measured and why. Of "
        "several files the figures lie over each other.",
        epilog="Exit status: 0 written, 2 a file cannot be read or written.",
    )
    asked.add_files(parser)
    asked.add_output(parser, "report.html", "FILE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the page, whole or not at all."""
    from grainscope_report.page import page

    files.keep(arguments.files, [arguments.output])
    shown = machines(files.results(arguments.files))
    text = page.write(shown)
    size = files.write(arguments.output, text)
    rows = sum(len(machine.result.rows) for machine in shown)
    print(f"{arguments.output}: {rows} rows, {size / 1e6:.1f} MB")
    return EXIT_OK
