"""What every command does with the files that it is given."""

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from grainscope_report import checks, reader
from grainscope_report.errors import ReportError
from grainscope_report.model import Result
from grainscope_report.schema import Problem


def results(paths: Sequence[Path]) -> list[Result]:
    """Reads result files for showing; says on stderr where a file's numbers contradict each other."""
    return [result for result, _ in checked(paths)]


def checked(paths: Sequence[Path]) -> list[tuple[Result, list[Problem]]]:
    """The same, each with its contradictions."""
    return read([reader.load(path) for path in paths])


def read(loaded: Sequence[tuple[Path, dict]]) -> list[tuple[Result, list[Problem]]]:
    """The same of what was loaded already."""
    found = []
    for path, document in loaded:
        result = reader.parse(path, document)
        if problems := checks.problems(document):
            print(
                f"warning: {result.path} contradicts itself "
                f"({len(problems)} problem{'s' * (len(problems) > 1)}, "
                f"first {problems[0]}): see all with `grainscope-report validate {result.path}`",
                file=sys.stderr,
            )
        found.append((result, problems))
    return found


def write_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise ReportError(f"{path} cannot be written ({error.strerror}): choose another --out") from None
