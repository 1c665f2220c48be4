"""From a result file to data: what is off the format is refused, what contradicts itself is noted."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from grainscope_report import checks
from grainscope_report.errors import ReportError
from grainscope_report.loading import load
from grainscope_report.model import SCHEMA_VERSION, File
from grainscope_report.result import Result
from grainscope_report.typed import Problem, schema_text, shape_of


def read(path: str | Path) -> Result:
    """Reads a result file, or the one in a run directory."""
    return parse(*load(path))


def parse(found: Path, document: Mapping[str, Any]) -> Result:
    """Makes what `load` gave into data."""
    result, problems = parsed(found, document)
    if result is None:
        count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
        raise ReportError(
            f"{found} does not follow the result format ({count}, first {problems[0]}): "
            f"see all with `grainscope-report validate {found}`"
        )
    return replace(result, contradictions=checks.at_a_glance(result))


def contradicts(result: Result) -> str:
    """The sentence on a result whose numbers contradict each other."""
    found, count = result.contradictions, len(result.contradictions)
    return (
        f"{result.path} contradicts itself ({count} problem{'s' * (count > 1)}, first {found[0]}): "
        f"see all with `grainscope-report validate {result.path}`"
    )


def problems(found: Path, document: Mapping[str, Any]) -> list[Problem]:
    """Everything in which a file is off the format, or where nothing is, contradicts itself."""
    result, off = parsed(found, document)
    return off if result is None else checks.problems(result)


def require_right(found: Path, document: Mapping[str, Any]) -> None:
    """Refuses a file that is off the format or contradicts itself in anything."""
    result = parse(found, document)
    if wrong := checks.problems(result):
        raise ReportError(contradicts(replace(result, contradictions=wrong)))


def parsed(found: Path, document: Mapping[str, Any]) -> tuple[Result | None, list[Problem]]:
    """The data, or everything in which the file is off the format."""
    problems: list[Problem] = []
    file: File = shape_of(File).read(document, (), problems)
    if problems:
        return None, problems
    return Result(found, file.context, file.benchmarks), []


if __name__ == "__main__":
    print(schema_text(File, f"GrainScope result file, schema version {SCHEMA_VERSION}"), end="")
