"""A comparison's sections for the terminal, and as Markdown."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from grainscope_report.comparison.document import Section
from grainscope_report.escaping import in_markdown
from grainscope_report.terminal import Terminal

INDENT = "  "


def terminal_lines(sections: Sequence[Section], out: Terminal, whole: bool = False) -> Iterator[str]:
    """Aligned tables under bold headings, as wide as the terminal or, where `whole`, as they need."""
    inner = replace(out, width=sys.maxsize if whole else out.width - len(INDENT))
    for at, section in enumerate(sections):
        if at:
            yield ""
        yield out.paint(out.wrap(section.title, ""), "bold")
        for paragraph in section.paragraphs:
            yield out.paint(out.wrap(paragraph, "  "), "yellow" if paragraph.startswith("Warning") else "dim")
        if section.columns:
            yield from (f"{INDENT}{line}" for line in inner.table(section.columns, section.rows))


def markdown(sections: Sequence[Section], title: str = "Comparison") -> str:
    """The same as one Markdown document."""
    lines = [f"# {title}"]
    for section in sections:
        lines += ["", f"## {in_markdown(section.title)}"]
        for paragraph in section.paragraphs:
            lines += ["", in_markdown(paragraph)]
        if section.columns:
            lines += ["", _line([column.name for column in section.columns])]
            lines.append(_line(["---:" if column.right else "---" for column in section.columns]))
            lines += [_line(row) for row in section.rows]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(in_markdown, cells)) + " |"
