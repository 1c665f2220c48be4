"""The verdict as Markdown."""

from collections.abc import Iterator
from typing import Any

from grainscope_report.buying import tables
from grainscope_report.escaping import in_markdown


def write(document: dict[str, Any]) -> str:
    """The whole report."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: dict[str, Any]) -> Iterator[str]:
    said = document["sentences"]
    yield f"# {_text(document['workload']['name'])}"
    yield ""
    yield f"**{_text(said['headline'][0])}**"
    for line in (*said["headline"][1:], *filter(None, [said["buy"]])):
        yield from ("", f"**{_text(line)}**")
    if document["label"] == "modelled":
        yield from ("", "*All of this is modelled, nothing of it measured.*")
    for line in [*said["excluded"], said["disclaimer"]]:
        yield from ("", _text(line))
    if document["workload"]["about"]:
        yield from ("", _text(document["workload"]["about"]))
    for heading, lines in (
        ("Warnings", document["warnings"]),
        ("Why", said["why"]),
        ("How it flips", said["flips"]),
        ("What it costs", said["cost"]),
    ):
        if lines:
            yield from ("", f"## {heading}", "", *(f"- {_text(line)}" for line in lines))
    for title, columns, rows in tables.all_of(document):
        yield from ("", f"## {title}", "", _row(columns), _row(["---"] * len(columns)), *map(_row, rows))
    yield from ("", "## Machines", "")
    for one in [document["reference"], *document["candidates"]]:
        machine, files = " · ".join(one["machine"]), ", ".join(one["files"])
        yield f"- {_text(one['name'])}: {_text(machine)} ({_text(files)})"
    yield from ("", _text(said["method"]))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(map(_text, cells))} |"


def _text(said: str) -> str:
    """Text that Markdown takes as it is."""
    return in_markdown(said)
