"""Refuses what cannot be judged or reckoned with, in the sentence that says what is wrong with the file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from grainscope_report import reader, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.model import Result


def require_right(result: Result, error: type[ReportError] = ReportError) -> None:
    """Refuses a result that contradicts itself in anything."""
    if wrong := reader.contradictions(result) or uncertainty.problems(result):
        raise error(reader.contradicts(replace(result, contradictions=wrong)))


@contextmanager
def blamed(found: Path, document: Mapping[str, Any]) -> Iterator[None]:
    """Where nothing can be made of a document within, says in what it is off the format or contradictory."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        require_right(reader.parse(found, document))
        raise
