"""Arguments that several commands have, each said once."""

import argparse
import shlex
import shutil
import sys
from pathlib import Path

PROGRAM = "grainscope-report"
A_FILE = "a result file or a run directory"
FORMATS = ("text", "md", "csv", "json")


def add_file(parser: argparse.ArgumentParser) -> None:
    """One FILE."""
    parser.add_argument("file", type=Path, metavar="FILE", help=A_FILE)


def add_files(parser: argparse.ArgumentParser, what: str = A_FILE) -> None:
    """FILE, one or more."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=what)


def add_full(parser: argparse.ArgumentParser, what: str) -> None:
    """Where a screen is not enough: `--full`; `--all` means the same."""
    parser.add_argument("--full", "--all", action="store_true", help=what)


def add_output(parser: argparse.ArgumentParser, default: str, kind: str) -> None:
    """Where to write: `-o`, a FILE or a DIR."""
    what = {"FILE": "the file to write", "DIR": "where to write"}[kind]
    said = f"{what} (default: {default})"
    names = ("-o", "--output", "--out")
    parser.add_argument(*names, type=Path, default=Path(default), metavar=kind, help=said)


def add_type_b(parser: argparse.ArgumentParser) -> None:
    """What runs of a machine differ by, where the suite does not know it."""
    parser.add_argument(
        "--type-b",
        action="append",
        type=Path,
        default=[],
        metavar="PATH",
        help="what runs of a machine differ by: a table, or a folder of repeated runs, one for each kind "
        "of machine that the suite does not know",
    )


def add_formats(parser: argparse.ArgumentParser) -> None:
    """What to print, and files to write it to as well."""
    parser.add_argument("--format", choices=FORMATS, default="text", help="what to print (default: text)")
    parser.add_argument(
        "-o", "--out", action="append", type=_out, default=[], metavar="FILE",
        help="write it, too, as .md, .csv or .json; may be given several times",
    )  # fmt: skip


def _out(text: str) -> Path:
    path = Path(text)
    if path.suffix[1:] not in FORMATS[1:]:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in .md, .csv or .json")
    return path


def program() -> str:
    """What starts this program again: its path where it was started by that and stands in no PATH."""
    started = Path(sys.argv[0])
    if started.name != PROGRAM or len(started.parts) == 1 or shutil.which(PROGRAM):
        return PROGRAM
    return shlex.quote(str(started))
