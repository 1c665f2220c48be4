"""The command line: `main(argv)` returns the exit status and never shows a traceback for a bad file."""

import argparse
import codecs
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from grainscope_report import resources
from grainscope_report.errors import EXIT_OK, EXIT_USAGE, ReportError
from grainscope_report.units import some
from grainscope_report.writing import for_terminal, terminal

# Files become millions of objects and no cycles: to look for these as often as usual takes a third of
# the time.
SELDOM = (1_000_000, 50, 100)

READ = ("file", "files", "base", "new", "paths", "run_file")  # arguments that are files to read
MOST_NAMED = 5

INTERRUPTED = 130  # as a shell says it of a program that Ctrl-C ended

# The module of each command: `add_` and its name adds the arguments, `run_` returns the exit status.
COMMANDS = {
    "summary": "summary", "ask": "ask", "list": "ask", "matrix": "ask", "dispatch": "dispatch",
    "plot": "plot", "report": "plot",
    "validate": "check", "merge": "merge", "compare": "compare", "check": "check", "evaluate": "evaluate",
    "fleet": "fleet", "store": "fleet", "trend": "fleet",
    "export": "exchange", "import": "exchange", "env": "compare",
}  # fmt: skip


def parser(names: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """The command line with these commands: to read all of them takes longer than most of them run."""
    top = argparse.ArgumentParser(
        prog="grainscope-report",
        description="Reads, checks, summarises and draws the result files of GrainScope.",
        epilog="A FILE is a result.json, also one packed by gzip, or the directory of a run that holds one.",
    )
    top.add_argument("--version", action="version", version=f"grainscope-report {resources.version()}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        module = import_module(f"grainscope_report.commands.{COMMANDS[name]}")
        getattr(module, f"add_{name}")(commands).set_defaults(run=getattr(module, f"run_{name}"))
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command: 0 fine, 1 it found something, 2 usage or an unreadable file, 3 not comparable,
    4 inconclusive, 5 nothing could be decided, 130 interrupted.
    """
    return ended("grainscope-report", lambda: _run(argv))


def ended(name: str, work: Callable[[], int]) -> int:
    """The exit status of a program's work; what ends it early is a sentence on stderr after its name."""
    if sys.stdout is None:
        return _failed(name, "standard output is closed: send it somewhere, if only to /dev/null")
    try:
        with plain_output(), collecting_seldom():
            try:
                return work()
            except SystemExit as end:
                return int(end.code or EXIT_OK)
    except ReportError as error:
        return _failed(name, str(error), error.status)
    except KeyboardInterrupt:
        return _failed(name, "interrupted", INTERRUPTED)
    except MemoryError:
        return _failed(name, "there is not enough memory for this: give fewer or smaller files")
    except OSError as error:
        return _failed(name, f"the system refuses ({error})")


def _run(argv: Sequence[str] | None) -> int:
    given = sys.argv[1:] if argv is None else argv
    names = given[:1] if given and given[0] in COMMANDS else COMMANDS
    arguments = argparse.Namespace()
    try:
        arguments = parser(names).parse_args(argv)
        return arguments.run(arguments)
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        # Numbers and words that no run has, but that the format does not rule out.
        wrong, paths = _wrong(arguments)
        raise wrong or _unusable(paths, error) from error
    except (AttributeError, LookupError) as error:
        # A fault of this program, unless a file lacks what every run has.
        if wrong := _wrong(arguments)[0]:
            raise wrong from error
        raise


def _wrong(arguments: argparse.Namespace) -> tuple[ReportError | None, list[Path]]:
    """In what a file that was given is off the format or contradicts itself; else which files may be."""
    # Help and usage errors need not wait for these.
    from grainscope_report import loading, reader, refusing

    given = [getattr(arguments, name, None) or [] for name in READ]
    paths = [path for one in given for path in (one if isinstance(one, list) else [one])]
    for path in paths:
        with suppress(ReportError):
            for run in loading.runs_in(path):
                found, document = loading.load(run)
                try:
                    refusing.require_right(reader.parse(found, document))
                except ReportError as wrong:
                    return wrong, paths
                except refusing.UNUSABLE:
                    return None, [run]
    return None, paths


def _unusable(paths: Sequence[Path], error: Exception) -> ReportError:
    names = some([str(path) for path in paths], MOST_NAMED) or "a file"
    return ReportError(
        f"{'one of ' * (len(paths) > 1)}{names} holds values that nothing can be made of ({error}): it was "
        "not written by grainscope or was edited; run the benchmark again"
    )


def _failed(name: str, said: str, status: int = EXIT_USAGE) -> int:
    with suppress(OSError):
        print(f"{name}: {for_terminal(said)}", file=sys.stderr)
    return status


@contextmanager
def plain_output() -> Iterator[None]:
    """What is printed of a file can do nothing to a terminal, and the reader of a pipe may go.

    ReportError where standard output cannot be written.
    """
    with redirect_stdout(_Output(sys.stdout)):
        if sys.stderr is None:
            yield
        else:
            with redirect_stderr(_Output(sys.stderr)):
                yield
        sys.stdout.flush()


# What an output without these letters has in their place.
PLAIN = str.maketrans(
    {"→": "->", "↔": "<->", "±": "+-", "µ": "u", "×": "x", "·": "-", "…": "...", "≥": ">=", "≤": "<="}
)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """For letters that an encoding lacks what stands for them, else `?`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].translate(PLAIN)
    return "".join(letter if letter.isascii() else "?" for letter in lacking), error.end


class _Output:
    """An output that shows letters which it lacks as others and control letters as escapes, and that may end
    before the command.

    Where the reader of a pipe has gone, as `| head` does, nothing is wrong: the command goes on to its
    verdict, unheard.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colour = terminal(stream).colour
        if isinstance(stream, TextIOWrapper):
            codecs.register_error("plain", _plain)
            stream.reconfigure(errors="plain")

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
def collecting_seldom() -> Iterator[None]:
    """Garbage of cycles is looked for seldom while a command runs."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
