"""Draws the figures of a page, several at a time where there are several CPUs, as SVG within HTML.

Styles that repeat become classes, numbers lose digits that nobody sees, and groups that only structured
the drawing go. Text stays text, so that a reader can search and copy it.
"""

import gc
import multiprocessing
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from xml.etree import ElementTree

from grainscope_report import errors
from grainscope_report.errors import ReportError
from grainscope_report.figures.model import Figure

# What is left of an A4 page below a heading, at the width of the page.
TALLEST_IN = 9.0
# A hundredth of a point; pictures are some 500 points wide.
PLACES = 2
_NUMBER = re.compile(r"-?\d*\.\d+(?:e-?\d+)?")
_SPACE = re.compile(r"\s+")
_AROUND_LETTER = re.compile(r" ?([A-Za-z]) ?")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"font-family:[^;]*;? ?")
_UPRIGHT = re.compile(r"rotate\(-?0 [^)]*\)")
_NUMERIC = {"x", "y", "width", "height", "r", "cx", "cy", "transform", "points"}
Pictures = Mapping[str, str]
# What a child process draws: it has inherited this and needs no copy of the rows.
_DRAWN: list[Figure] = []


@contextmanager
def drawing(figures: Sequence[Figure]) -> Iterator[Callable[[], Pictures]]:
    """Begins to draw; calling what it gives waits for the pictures: SVG elements by their figures' ids."""
    _need_matplotlib()
    ids = [figure.id for figure in figures]
    processes = min(_cpus(), len(figures))
    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield lambda: dict(zip(ids, map(_picture, figures), strict=True))
        return
    _DRAWN[:] = figures
    fork = multiprocessing.get_context("fork")
    try:
        # Children live for seconds and draw a few pictures: looking for garbage would be a fifth of that.
        pool = ProcessPoolExecutor(processes, mp_context=fork, initializer=gc.disable)
        with pool, errors.no_further_work(pool):
            with errors.starting_processes(), warnings.catch_warnings():
                # A fork is warned of where a library keeps threads; nothing here holds a lock of theirs.
                warnings.simplefilter("ignore", DeprecationWarning)
                made = pool.map(_nth, range(len(figures)))
            yield lambda: dict(zip(ids, made, strict=True))
    except BrokenProcessPool:
        raise ReportError(
            "a process that draws was ended from outside, most likely for its memory: give fewer files"
        ) from None
    finally:
        _DRAWN.clear()


def _nth(order: int) -> str:
    return _picture(_DRAWN[order])


def _picture(figure: Figure) -> str:
    """The figure as one SVG element, or as several below each other where it is taller than a sheet."""
    from grainscope_report.drawing import render

    parts = []
    for order, part in enumerate(_sheets(render.without_long_tables(figure), render.height)):
        drawn = render.save(render.draw(part, framed=False), "svg", text="none")
        more = f", part {order + 1}" if order else ""
        parts.append(inline(drawn, f"f{figure.id}p{order}", f"Figure {figure.id}: {figure.title}{more}"))
    return "".join(parts)


def _sheets(figure: Figure, height: Callable[[Figure], float]) -> list[Figure]:
    """The figure's rows of panels in as few figures as are no taller than a sheet."""
    sheets: list[Figure] = []
    for row in figure.rows:
        longer = replace(figure, rows=(*sheets[-1].rows, row)) if sheets else None
        if longer and height(longer) <= TALLEST_IN:
            sheets[-1] = longer
        else:
            sheets.append(replace(figure, rows=(row,)))
    return sheets


def _need_matplotlib() -> None:
    """Imports it once, before there are several processes."""
    try:
        from grainscope_report.drawing import render  # noqa: F401
    except ModuleNotFoundError as error:
        raise ReportError(
            f"a report has figures and needs matplotlib, and Python finds no module {error.name}: "
            "python3 -m pip install matplotlib"
        ) from None


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def inline(picture: bytes, name: str, title: str) -> str:
    """The picture as an element of HTML; `name` begins its classes and ids, `title` says what it shows."""
    root = ElementTree.fromstring(picture)
    box = root.get("viewBox", "")
    page = _Page(name)
    children = [kept for child in root for kept in page.keep(child)]
    svg = ElementTree.Element("svg", {"viewBox": box, "role": "img", "aria-label": title})
    styles = ElementTree.SubElement(svg, "style")
    svg.extend(children)
    styles.text = "".join(f".{known}{{{style}}}" for style, known in page.styles.items())
    return ElementTree.tostring(svg, encoding="unicode")


class _Page:
    """The names given so far within one picture."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.styles: dict[str, str] = {}
        self.ids: dict[str, str] = {}

    def keep(self, element: ElementTree.Element) -> list[ElementTree.Element]:
        """The element made small, or what is left of it: its children, or nothing."""
        tag = element.tag.rpartition("}")[2]
        if tag in ("metadata", "style"):
            return []
        children = [kept for child in element for kept in self.keep(child)]
        attributes = dict(self._attributes(tag, element))
        if tag in ("g", "defs") and not attributes.keys() - {"id"} and (tag == "g" or not children):
            return children
        small = ElementTree.Element(tag, attributes)
        small.text = element.text if tag == "text" else None
        small.extend(children)
        return [small]

    def _attributes(self, tag: str, element: ElementTree.Element) -> list[tuple[str, str]]:
        kept = []
        for spelled, value in element.items():
            name = spelled.rpartition("}")[2]
            if name == "id":
                if tag != "g":
                    kept.append((name, self._id(value)))
            elif name == "href":
                kept.append((name, f"#{self._id(value[1:])}"))
            elif name == "style":
                kept.append(("class", self._class(value)))
            elif name == "d":
                kept.append((name, _path(value)))
            elif name == "clip-path":
                kept.append((name, self._referring(value)))
            elif name in _NUMERIC:
                if not _UPRIGHT.fullmatch(value):
                    kept.append((name, _rounded(value)))
            else:
                kept.append((name, value))
        return kept

    def _id(self, text: str) -> str:
        return self.ids.setdefault(text, f"{self.name}i{len(self.ids)}")

    def _referring(self, text: str) -> str:
        """The text with the new names of what it refers to: clips, and patterns of hatched bars."""
        return _REFERENCE.sub(lambda found: f"url(#{self._id(found[1])})", text)

    def _class(self, style: str) -> str:
        small = _FONT.sub("", self._referring(style)).replace(": ", ":").replace("; ", ";").strip()
        return self.styles.setdefault(small, f"{self.name}c{len(self.styles)}")


def _path(data: str) -> str:
    return _AROUND_LETTER.sub(r"\1", _SPACE.sub(" ", _rounded(data)).strip())


def _rounded(text: str) -> str:
    return _NUMBER.sub(_shorter, text)


def _shorter(found: re.Match[str]) -> str:
    return (
        f"{float(found[0]):.{PLACES}f}".rstrip("0").rstrip(".").replace("-0.", "-.").removeprefix("0") or "0"
    )
