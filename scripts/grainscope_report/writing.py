"""The forms that commands write: tables and paragraphs for a terminal, aligned, within its width, coloured
only where wanted; JSON, CSV, Markdown, and sections of paragraphs and tables.

Text of a result file could be more than text there: a formula, a link, a control letter.
"""

import csv
import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, TextIO

from grainscope_report.units import cut

# What a terminal shows.

COLOURS = {"red": "31", "yellow": "33", "bold": "1", "dim": "2"}
PIPE_WIDTH = 140
FEWEST_LETTERS = 12  # of a text that is cut
_COMMAND = re.compile(r"`[^`]+`")
_AMOUNT = re.compile(r"(\d) ((?:[KMGT]i)?B\b|%)")
NARROWEST, WRAPPED = 18, 24  # letters of a text that wraps: the fewest, and what others give way for


@dataclass(frozen=True)
class Terminal:
    """How wide the output may be and whether it may be coloured."""

    width: int = PIPE_WIDTH
    colour: bool = False

    def paint(self, text: str, colour: str) -> str:
        """The text in a colour, where colours are wanted."""
        return f"\033[{COLOURS[colour]}m{text}\033[0m" if self.colour and colour else text

    def wrap(self, text: str, indent: str) -> str:
        """A paragraph, all of its lines indented; a command in backticks stays on one, to be copied."""
        filled = textwrap.fill(
            _COMMAND.sub(lambda match: match[0].replace(" ", "\u00a0"), text),
            max(self.width, 40),
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return filled.replace("\u00a0", " ")

    def height(self, line: str) -> int:
        """How many lines of the screen a line takes, whatever its colours."""
        return max(1, -(-len(re.sub(_COLOUR, "", line)) // max(self.width, 1)))

    def table(self, columns: Sequence["Column"], rows: Sequence[Sequence[str]]) -> list[str]:
        """Aligned lines; where they are too wide, optional columns go, then texts are cut, numbers never.

        A last column that `wraps` goes on below itself, within the same string.
        """
        kept = list(range(len(columns)))
        while self._width(columns, rows, kept, WRAPPED) > self.width:
            least = max(kept, key=lambda at: columns[at].optional)
            if not columns[least].optional:
                break
            kept.remove(least)
        widths = {at: self._column(columns, rows, at) for at in kept}
        if (over := self._width(columns, rows, kept) - self.width) > 0:
            self._cut(columns, widths, over)
        lines = [self._line(columns, [column.name for column in columns], widths)]
        return [*lines, *(self._line(columns, row, widths) for row in rows)]

    def headed(
        self, columns: Sequence["Column"], rows: Sequence[Sequence[str]], shades: Sequence[str] = ()
    ) -> list[str]:
        """A table under bold names of columns; `shades` are the colours of its lines."""
        lines = self.table(columns, rows)
        return [self.paint(*pair) for pair in zip_longest(lines, ("bold", *shades), fillvalue="")]

    def note(self, text: str) -> str:
        """How to read what stands above."""
        return self.paint(self.wrap(text, "  "), "dim")

    def item(self, text: str) -> list[str]:
        """An entry of a list: `  - …`, further lines below its text."""
        first, *rest = self.wrap(text, "    ").splitlines()
        return [f"  - {first.strip()}", *rest]

    def _cut(self, columns: Sequence["Column"], widths: dict[int, int], over: int) -> None:
        """Makes texts narrower by `over` altogether: the widest first, none below its fewest letters."""
        fewest = {
            at: NARROWEST if columns[at].wraps else FEWEST_LETTERS
            for at in widths
            if not columns[at].right and not columns[at].whole
        }
        while over > 0 and (wide := [at for at, least in fewest.items() if widths[at] > least]):
            widths[max(wide, key=widths.__getitem__)] -= 1
            over -= 1

    def _column(self, columns: Sequence["Column"], rows: Sequence[Sequence[str]], at: int) -> int:
        return max([len(columns[at].name), *(len(row[at]) for row in rows)])

    def _width(
        self,
        columns: Sequence["Column"],
        rows: Sequence[Sequence[str]],
        kept: Sequence[int],
        wrapped: int = sys.maxsize,
    ) -> int:
        """What all take, texts that wrap no more than `wrapped`."""
        wide = {at: self._column(columns, rows, at) for at in kept}
        fewer = (min(width, wrapped) if columns[at].wraps else width for at, width in wide.items())
        return sum(fewer) + 2 * (len(kept) - 1)

    def _line(self, columns: Sequence["Column"], row: Sequence[str], widths: dict[int, int]) -> str:
        cells, below = [], []
        for at, wide in widths.items():
            cell = row[at]
            if columns[at].wraps and at == len(columns) - 1 and len(cell) > wide:
                cell, *below = _wrapped(cell, wide)
            cell = cut(cell, wide)
            cells.append(cell.rjust(wide) if columns[at].right else cell.ljust(wide))
        left = " " * (sum(map(len, cells[:-1])) + 2 * (len(cells) - 1))
        return "\n".join(["  ".join(cells).rstrip(), *(left + line for line in below)])


def _wrapped(text: str, wide: int) -> list[str]:
    """Lines of a text; a number stays beside its unit."""
    lines = textwrap.wrap(_AMOUNT.sub("\\1\u00a0\\2", text), wide, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]


@dataclass(frozen=True)
class Column:
    """A column: numbers stand right; the highest `optional` goes first where there is no room, 0 never.

    Texts are cut, but none that are `whole`; those of a last column that `wraps` go on below.
    """

    name: str
    right: bool = False
    optional: int = 0
    whole: bool = False
    wraps: bool = False


def known(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], unknown: str = "-", only: Sequence[str] = ()
) -> tuple[list[Column], list[list[str]]]:
    """The columns of which any cell is known; where `only` some may go, all others as well."""
    kept = [
        at
        for at, column in enumerate(columns)
        if (only and column.name not in only) or any(row[at] != unknown for row in cells)
    ]
    return [columns[at] for at in kept], [[row[at] for at in kept] for row in cells]


def terminal(stream: TextIO | None = None) -> Terminal:
    """What the output stream is: colours only on a terminal and without NO_COLOR."""
    stream = stream or sys.stdout
    tty = stream.isatty()
    colour = tty and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    asked = os.environ.get("COLUMNS", "")
    width = shutil.get_terminal_size().columns if tty or asked.isdigit() else PIPE_WIDTH
    return Terminal(width, colour)


# What files have.

# Colours of our own, as `Terminal` writes them.
_COLOUR = r"\x1b\[(?:0|1|2|31|33)m"
# What moves a cursor, rings, hides or turns the order of letters; of JSON's text these are escapes of it.
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_PLAIN = re.compile(_CONTROLS)
_BUT_COLOURS = re.compile(f"({_COLOUR})|{_CONTROLS}")
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
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


def in_xml(text: object) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_XML.sub("�", str(text))


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
