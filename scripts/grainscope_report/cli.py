"""The command line: `main(argv)` returns the exit status and never shows a traceback for a bad file."""

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from grainscope_report import resources
from grainscope_report.commands import (
    check,
    compare,
    env,
    evaluate,
    export,
    list_rows,
    merge,
    plot,
    report,
    summary,
    validate,
)
from grainscope_report.errors import EXIT_OK, ReportError

# Files become millions of objects and no cycles: to look for these as often as usual takes a third of
# the time.
SELDOM = (200_000, 50, 100)

COMMANDS = (summary, list_rows, plot, report, validate, merge, compare, check, evaluate, export, env)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="grainscope-report",
        description="Reads, checks, summarises and draws the result files of GrainScope.",
        epilog="A FILE is a result.json, also one packed by gzip, or the directory of a run that holds one.",
    )
    top.add_argument("--version", action="version", version=f"grainscope-report {resources.version()}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.register(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command: 0 fine, 1 it found something, 2 usage or an unreadable file, 3 not comparable,
    4 inconclusive.
    """
    try:
        arguments = parser().parse_args(argv)
        with _collecting_seldom():
            status = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except SystemExit as end:
        return int(end.code or EXIT_OK)
    except ReportError as error:
        print(f"grainscope-report: {error}", file=sys.stderr)
        return error.status
    except BrokenPipeError:
        # The reader of a pipe has gone, as `| head` does: nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Garbage of cycles is looked for seldom while a command runs."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
