"""`grainscope-report ask`: an answer to a question in words."""

import argparse

from grainscope_report import machine
from grainscope_report.asking import sentence
from grainscope_report.commands import asked, files
from grainscope_report.errors import EXIT_OK, EXIT_UNDECIDED
from grainscope_report.terminal import terminal

DESCRIPTION = """\
Answers a question in words from a run: the rows that are meant, a ranking with
uncertainties, a peak, or the size from which one way is faster than another.

  grainscope-report ask RUN h2d pinned 64MiB
  grainscope-report ask RUN best way for 4 KiB pieces
  grainscope-report ask RUN crossover copy zero-copy

Words stand in any order. Those about one thing are alternatives; those about
different things hold together. AXIS=VALUE is understood as well: flush=on."""


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "ask",
        help="answer a question in words",
        description=DESCRIPTION,
        epilog=sentence.grammar(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    asked.add_file(parser)
    parser.add_argument("question", nargs="+", metavar="WORD", help="words, sizes, AXIS=VALUE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the answer; 5 where the run has none."""
    # It reads the modules of every part of a run, which other commands need not wait for.
    from grainscope_report.asking import answering

    question = sentence.understand(" ".join(arguments.question))
    [result] = files.results([arguments.file])
    found = answering.answer(machine.machines([result])[0], question, terminal())
    for line in found.lines:
        print(line)
    return EXIT_OK if found.known else EXIT_UNDECIDED
