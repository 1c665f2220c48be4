"""What every command does with the files that it is given."""

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from grainscope_report import loading, reader, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.result import Result
from grainscope_report.uncertainty import TypeB


def results(paths: Sequence[Path], tables: Sequence[TypeB] = ()) -> list[Result]:
    """Reads result files for showing; says on stderr where a file's numbers contradict each other.

    Of a machine that one of `tables` knows, uncertainties are by that table.
    """
    loaded = [reader.load(path) for path in paths]
    for _, document in loaded:
        uncertainty.renew(document, tables)
    return read(loaded)


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

    What is there and no file, as a pipe or a device, is written to and stays.
    """
    # A file name that is no UTF-8 must not keep what was measured from being written.
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path.resolve(), data)
    except OSError as error:
        raise ReportError(f"{path} cannot be written ({error.strerror}): choose another place") from None
    return len(data)


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{os.getpid()}.part")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
