"""The forms that commands write: JSON, CSV, Markdown, and sections of paragraphs and tables.

Text of a result file could be more than text there: a formula, a link, a control letter.
"""

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grainscope_report.terminal import Column, Terminal

# Colours of our own, as `terminal` writes them.
_COLOUR = r"\x1b\[(?:0|1|2|31|33)m"
# What moves a cursor, rings, hides or turns the order of letters; of JSON's text these are escapes of it.
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_PLAIN = re.compile(_CONTROLS)
_BUT_COLOURS = re.compile(f"({_COLOUR})|{_CONTROLS}")
# With these a spreadsheet begins a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
INDENT = "  "


def for_terminal(text: str, colour: bool = False) -> str:
    """Control letters as `\\u001b`; where `colour`, those of our colours stay."""
    if colour:
        return _BUT_COLOURS.sub(lambda match: match[1] or _escape(match[0]), text)
    return _PLAIN.sub(lambda match: _escape(match[0]), text)


def _escape(letter: str) -> str:
    return f"\\u{ord(letter):04x}"


def in_markdown(text: str) -> str:
    """On one line, with no markup or link of its own."""
    words = " ".join(for_terminal(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return words.replace("](", "]\\(").replace("|", "\\|")


def markdown_row(cells: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(map(in_markdown, cells))} |"


def in_csv(value: object) -> object:
    """A text that a spreadsheet would take for a formula stands behind an apostrophe; numbers stay."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """The columns' names and the rows as CSV; None is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(in_csv, row) for row in rows)
    return out.getvalue()


def json_text(document: Any, *, allow_nan: bool = True) -> str:
    """JSON to read, without a line's end; ValueError of what is no number where that is not allowed."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=allow_nan)


def laid_out(value: Any, margin: str = "\n") -> str:
    """JSON of which what fits on a line stands on one; `margin` is how a new one begins."""
    text = json.dumps(value)
    if len(margin + text) < 100 or not isinstance(value, dict):
        return text
    inner = (
        f"{margin}{INDENT}{json.dumps(name)}: {laid_out(one, margin + INDENT)}" for name, one in value.items()
    )
    return f"{{{','.join(inner)}{margin}}}"


@dataclass(frozen=True)
class Section:
    """A part of a report: a heading, paragraphs, and below them a table where there are columns."""

    title: str
    paragraphs: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def section_lines(sections: Sequence[Section], out: Terminal, whole: bool = False) -> Iterator[str]:
    """Aligned tables under bold headings, as wide as the terminal or, where `whole`, as they need."""
    inner = replace(out, width=sys.maxsize if whole else out.width - len(INDENT))
    for at, section in enumerate(sections):
        if at:
            yield ""
        yield out.paint(out.wrap(section.title, ""), "bold")
        for paragraph in section.paragraphs:
            shade = "yellow" if paragraph.startswith("Warning") else "dim"
            yield out.paint(out.wrap(paragraph, INDENT), shade)
        if section.columns:
            table = "\n".join(inner.table(section.columns, section.rows))
            yield from (f"{INDENT}{line}" for line in table.split("\n"))


def sections_markdown(sections: Iterable[Section], title: str = "Comparison") -> str:
    """The same as one Markdown document."""
    lines = [f"# {title}"]
    for section in sections:
        lines += ["", f"## {in_markdown(section.title)}"]
        for paragraph in section.paragraphs:
            lines += ["", in_markdown(paragraph)]
        if section.columns:
            lines += ["", markdown_row(column.name for column in section.columns)]
            lines.append(markdown_row("---:" if column.right else "---" for column in section.columns))
            lines += map(markdown_row, section.rows)
    return "\n".join(lines) + "\n"
