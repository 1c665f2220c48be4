"""Refuses what cannot be judged or reckoned with, in the sentence that says what is wrong with the file."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from grainscope_report import reader, typed, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.machine import run_ids
from grainscope_report.model import Context, Environment, Link, Result
from grainscope_report.typed import Record
from grainscope_report.units import plural

# What is raised where nothing can be made of values that the format does not rule out.
UNUSABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def require_right(result: Result, error: type[ReportError] = ReportError) -> None:
    """Refuses a result that contradicts itself in anything."""
    if wrong := reader.contradictions(result) or uncertainty.problems(result):
        raise error(reader.contradicts(replace(result, contradictions=wrong)))


def require_each_once(found: Sequence[Result]) -> None:
    """Refuses files of one run, whose rows would count several times."""
    seen: dict[str, Path] = {}
    for result in found:
        for run in run_ids(result.run.id):
            if other := seen.get(run):
                raise ReportError(f"{other} and {result.path} are the same run: give each once")
            seen[run] = result.path


class MachineReport(Record):
    """What a context says of a machine."""

    OPEN = True
    environment: Environment
    links: tuple[Link, ...] = ()


def require_context(path: Path, context: Mapping[str, Any], kind: type[Record] = Context) -> None:
    """Refuses what a file says beside its rows, or a machine report as that, where it is off the format."""
    _, off = typed.read(kind, context)
    if off:
        result = "schema_version" in context
        within = off[0].path.removeprefix("$" if result else "$.environment")
        first = off[0]._replace(path=f"{'$.context' if result else '$'}{within}")
        raise ReportError(
            f"{path} does not follow the result format ({plural(len(off), 'problem')}, first {first}): it "
            "was not written by grainscope or was edited; take it again"
        )


@contextmanager
def blamed(found: Path, document: Mapping[str, Any]) -> Iterator[None]:
    """Where nothing can be made of a document within, says in what it is off the format or contradictory."""
    try:
        yield
    except UNUSABLE:
        require_right(reader.parse(found, document))
        raise
