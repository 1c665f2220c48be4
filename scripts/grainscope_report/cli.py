"""The command line: `main(argv)` returns the exit status and never shows a traceback for a bad file."""

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import TextIOWrapper
from typing import Any, TextIO

from grainscope_report import resources
from grainscope_report.commands import (
    ask,
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
from grainscope_report.errors import EXIT_OK, EXIT_USAGE, ReportError
from grainscope_report.escaping import for_terminal
from grainscope_report.terminal import terminal

# Files become millions of objects and no cycles: to look for these as often as usual takes a third of
# the time.
SELDOM = (200_000, 50, 100)

INTERRUPTED = 130  # as a shell says it of a program that Ctrl-C ended

COMMANDS = (summary, ask, list_rows, plot, report, validate, merge, compare, check, evaluate, export, env)


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
    4 inconclusive, 5 nothing could be decided, 130 interrupted.
    """
    if sys.stdout is None:
        return _failed("standard output is closed: send it somewhere, if only to /dev/null")
    try:
        with _plain_output(), _collecting_seldom():
            status = _run(argv)
            sys.stdout.flush()
            return status
    except ReportError as error:
        return _failed(str(error), error.status)
    except KeyboardInterrupt:
        return _failed("interrupted", INTERRUPTED)
    except MemoryError:
        return _failed("there is not enough memory for this: give fewer or smaller files")
    except (ArithmeticError, TypeError, ValueError) as error:
        # Numbers and words that no run has, but that the format does not rule out.
        return _failed(
            f"a file holds values that nothing can be made of ({error}): see what `validate` says of it, or "
            "run the benchmark again"
        )
    except OSError as error:
        return _failed(f"the system refuses ({error})")


def _run(argv: Sequence[str] | None) -> int:
    try:
        arguments = parser().parse_args(argv)
        return arguments.run(arguments)
    except SystemExit as end:
        return int(end.code or EXIT_OK)


def _failed(said: str, status: int = EXIT_USAGE) -> int:
    with suppress(OSError):
        print(f"grainscope-report: {for_terminal(said)}", file=sys.stderr)
    return status


@contextmanager
def _plain_output() -> Iterator[None]:
    """What is printed of a file can do nothing to a terminal."""
    with redirect_stdout(_Output(sys.stdout)):
        if sys.stderr is None:
            yield
        else:
            with redirect_stderr(_Output(sys.stderr)):
                yield


class _Output:
    """An output that shows what it has no letters for as `?` and control letters as escapes, and that may end
    before the command.

    Where the reader of a pipe has gone, as `| head` does, nothing is wrong: the command goes on to its
    verdict, unheard.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colour = terminal(stream).colour
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._may_end():
            self._stream.write(for_terminal(text, self._colour))
        return len(text)

    def flush(self) -> None:
        with self._may_end():
            self._stream.flush()

    @contextmanager
    def _may_end(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # What waits to be written would else be tried again when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if not isinstance(error, BrokenPipeError):
                raise ReportError(f"standard output cannot be written ({error.strerror})") from None


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Garbage of cycles is looked for seldom while a command runs."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
