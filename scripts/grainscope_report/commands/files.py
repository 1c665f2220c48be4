"""Arguments that several commands have, and what every command does with the files that it is given."""

import argparse
import contextlib
import errno
import gzip
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from grainscope_report import loading, reader, refusing, uncertainty
from grainscope_report.errors import NotComparableError, ReportError
from grainscope_report.model import Result
from grainscope_report.uncertainty import TypeB

PROGRAM = "grainscope-report"
A_FILE = "a result file or a run directory"
FORMATS = ("text", "md", "csv", "json")
OF_A_RUN = ("journal.jsonl", "result.json", "fleet.jsonl.gz")


def path(text: str) -> Path:
    """A path on the command line; an empty one would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: is it of a variable that is not set?")
    return Path(text)


def add_file(parser: argparse.ArgumentParser) -> None:
    """One FILE."""
    parser.add_argument("file", type=path, metavar="FILE", help=A_FILE)


def add_files(parser: argparse.ArgumentParser, what: str = A_FILE) -> None:
    """FILE, one or more."""
    parser.add_argument("files", nargs="+", type=path, metavar="FILE", help=what)


def add_full(parser: argparse.ArgumentParser, what: str) -> None:
    """Where a screen is not enough: `--full`; `--all` means the same."""
    parser.add_argument("--full", "--all", action="store_true", help=what)


def add_output(parser: argparse.ArgumentParser, default: str, kind: str) -> None:
    """Where to write: `-o`, a FILE or a DIR."""
    what = {"FILE": "the file to write", "DIR": "where to write"}[kind]
    said = f"{what} (default: {default})"
    names = ("-o", "--output", "--out")
    parser.add_argument(*names, type=path, default=Path(default), metavar=kind, help=said)


def add_type_b(parser: argparse.ArgumentParser) -> None:
    """What runs of a machine differ by, where the suite does not know it."""
    parser.add_argument(
        "--type-b",
        action="append",
        type=path,
        default=[],
        metavar="PATH",
        help="what runs of a machine differ by: a table, or a folder of repeated runs, one for each kind "
        "of machine that the suite does not know",
    )


def add_formats(
    parser: argparse.ArgumentParser, printed: Sequence[str] = FORMATS, written: Sequence[str] = FORMATS[1:]
) -> None:
    """What to print, and files to write it to as well."""
    *first, last = (f".{name}" for name in written)
    suffixes = f"{', '.join(first)} or {last}"

    def out(text: str) -> Path:
        path = Path(text)
        if path.suffix not in (*first, last):
            raise argparse.ArgumentTypeError(f"{text!r} does not end in {suffixes}")
        return path

    parser.add_argument("--format", choices=printed, default="text", help="what to print (default: text)")
    parser.add_argument(
        "-o", "--out", action="append", type=out, default=[], metavar="FILE",
        help=f"write it, too, as {suffixes}; may be given several times",
    )  # fmt: skip


def share(text: str) -> float:
    """A share as `5%` or `0.05`, from 0 to less than 1."""
    said = text.strip()
    try:
        value = float(said.removesuffix("%")) / (100 if said.endswith("%") else 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no share: say 5% or 0.05") from None
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0% and 100%: say 5% or 0.05")
    return value


def program() -> str:
    """What starts this program again: its path where it was started by that and stands in no PATH."""
    started = Path(sys.argv[0])
    ours = PROGRAM in (started.name, started.resolve().name)
    if not ours or len(started.parts) == 1 or shutil.which(PROGRAM):
        return PROGRAM
    return shlex.quote(str(started))


def results(paths: Sequence[Path], tables: Sequence[TypeB] = ()) -> list[Result]:
    """Reads result files for showing; says on stderr where a file's numbers contradict each other.

    Of a machine that one of `tables` knows, uncertainties are by that table.
    """
    return read(_renewed(paths, tables))


def renewed(loaded: Sequence[tuple[Path, dict]], tables: Sequence[TypeB] = ()) -> list[tuple[Path, dict]]:
    """What was loaded, with uncertainties by the first table that knows the machine."""
    for path, document in loaded:
        with refusing.blamed(path, document):
            uncertainty.renew(document, tables)
    return list(loaded)


def right(paths: Sequence[Path], tables: Sequence[TypeB] = ()) -> list[Result]:
    """The same for judging: refuses a file whose numbers contradict each other in anything."""
    found = [reader.parse(path, document) for path, document in _renewed(paths, tables)]
    for result in found:
        refusing.require_right(result, NotComparableError)
    return found


def _renewed(paths: Sequence[Path], tables: Sequence[TypeB]) -> list[tuple[Path, dict]]:
    return renewed([reader.load(path) for path in paths], tables)


def read(loaded: Sequence[tuple[Path, dict]]) -> list[Result]:
    """The same of what was loaded already."""
    found = [reader.parse(path, document) for path, document in loaded]
    for result in found:
        if result.contradictions:
            print(f"warning: {reader.contradicts(result)}", file=sys.stderr)
    return found


def keep(inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Refuses an output that is one of the inputs, by whatever name; of a run's folder its result file."""
    kept = [loading.locate(path) for path in inputs]
    for output in outputs:
        for path in kept:
            with contextlib.suppress(OSError):
                if path.samefile(output):
                    raise ReportError(f"{output} is also what is read: choose another file to write")


def write(path: Path, content: str | bytes) -> int:
    """Writes a file whole or not at all, and the folders above it; how many bytes it has.

    What is there and no file, as a pipe or a device, is written to and stays. A name that ends in .gz has it
    packed. Files that a run keeps in its folder are refused: it may go on with them.
    """
    if path.name in OF_A_RUN and path.with_name("journal.jsonl").is_file():
        raise ReportError(f"{path} is a file of the run in that folder: choose another file to write")
    # A file name that is no UTF-8 must not keep what was measured from being written.
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if path.suffix == ".gz" and not data.startswith(b"\x1f\x8b"):
        data = gzip.compress(data, mtime=0)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            target = Path(os.path.realpath(path))
            if target.is_symlink():  # one that leads nowhere, but to itself
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            _replace(target, data)
    except OSError as error:
        raise _not_written(path, error) from None
    return len(data)


def write_folder(path: Path, contents: Mapping[str, bytes]) -> None:
    """Writes a folder of files whole or not at all, and the folders above it; an empty one is replaced."""
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{os.getpid()}.part")
    try:
        partial.mkdir(parents=True)
        for name, data in contents.items():
            (partial / name).write_bytes(data)
        partial.replace(target)
    except OSError as error:
        raise _not_written(path, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _not_written(path: Path, error: OSError) -> ReportError:
    return ReportError(f"{path} cannot be written ({error.strerror}): choose another place")


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{os.getpid()}.part")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
