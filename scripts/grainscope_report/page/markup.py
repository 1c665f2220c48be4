"""Pieces of HTML. What comes from a file goes through `escaped`; end tags that HTML implies are left out."""

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"`([^`]+)`")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def escaped(text: object) -> str:
    """Text that means itself, in an element or a quoted attribute."""
    return str(text).translate(_ESCAPES)


def spoken(text: object) -> str:
    """Text in which `code` is set as code."""
    return _CODE.sub(r"<code>\1</code>", escaped(text))


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of text."""
    return f"<p{_class(kind)}>{spoken(text)}</p>"


def listed(texts: Iterable[str], kind: str = "") -> str:
    """A list of texts; nothing for none."""
    items = "".join(f"<li>{spoken(text)}" for text in texts)
    return f"<ul{_class(kind)}>{items}</ul>" if items else ""


def definitions(pairs: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Words and what is said of each; nothing for none."""
    return described(((word, spoken(said)) for word, said in pairs), kind)


def described(pairs: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Words and what belongs to each, which is HTML; nothing for none."""
    items = "".join(f"<dt>{escaped(word)}<dd>{content}" for word, content in pairs)
    return f"<dl{_class(kind)}>{items}</dl>" if items else ""


def folded(summary: str, content: str, kind: str = "") -> str:
    """What is shown when its summary is clicked; `content` is HTML."""
    return f"<details{_class(kind)}><summary>{escaped(summary)}</summary>{content}</details>"


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool] = (), caption: str = ""
) -> str:
    """A table of texts; columns that are `right` hold numbers."""
    numeric = [*right, *[False] * (len(columns) - len(right))]
    head = "".join(
        f"<th{_class('n' * is_right)}>{escaped(name)}"
        for name, is_right in zip(columns, numeric, strict=True)
    )
    body = "".join(f"<tr>{_cells(row, numeric)}" for row in rows)
    said = f"<caption>{escaped(caption)}</caption>" if caption else ""
    return f'<div class="wide"><table>{said}<thead><tr>{head}<tbody>{body}</table></div>'


def _cells(row: Sequence[str], numeric: Sequence[bool]) -> str:
    return "".join(
        f"<td{_class('n' * (is_right and bool(cell)))}>{escaped(cell)}"
        for cell, is_right in zip(row, numeric, strict=True)
    )


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
