"""From a result file to data: what is off the format is refused, what contradicts itself is noted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grainscope_report import checks, typed, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.loading import load
from grainscope_report.model import SCHEMA_VERSION, File
from grainscope_report.result import Result
from grainscope_report.typed import Problem


def read(path: str | Path) -> Result:
    """Reads a result file, or the one in a run directory."""
    return parse(*load(path))


def parse(found: Path, document: Mapping[str, Any]) -> Result:
    """Makes what `load` gave into data, with what a glance at it shows to be contradictory."""
    result, problems = parsed(found, document)
    if result is None:
        raise ReportError(_sentence(found, "does not follow the result format", problems))
    return replace(result, contradictions=checks.problems(result, glance=True))


def contradicts(result: Result) -> str:
    """The sentence on a result whose numbers contradict each other."""
    return _sentence(result.path, "contradicts itself", result.contradictions)


def _sentence(path: Path, what: str, problems: Sequence[Problem]) -> str:
    count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
    return f"{path} {what} ({count}, first {problems[0]}): see all with `grainscope-report validate {path}`"


def problems(found: Path, document: Mapping[str, Any]) -> list[Problem]:
    """Everything in which a file is off the format, or where nothing is, contradicts itself."""
    result, off = parsed(found, document)
    return off if result is None else _contradictions(result)


def require_right(found: Path, document: Mapping[str, Any]) -> None:
    """Refuses a file that is off the format or contradicts itself in anything."""
    if wrong := _contradictions(result := parse(found, document)):
        raise ReportError(contradicts(replace(result, contradictions=wrong)))


def _contradictions(result: Result) -> list[Problem]:  # of a whole file: uncertainties follow from all rows
    return checks.problems(result) or uncertainty.problems(result)


def parsed(found: Path, document: Mapping[str, Any]) -> tuple[Result | None, list[Problem]]:
    """The data, or everything in which the file is off the format."""
    file, off = typed.read(File, document)
    return (None, off) if off else (Result(found, file.context, file.benchmarks), [])


if __name__ == "__main__":
    print(typed.schema_text(File, f"GrainScope result file, schema version {SCHEMA_VERSION}"), end="")
