"""Draws the figures of a page, several at a time where there are several CPUs."""

import gc
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace

from grainscope_report import errors
from grainscope_report.errors import ReportError
from grainscope_report.figures.model import Figure
from grainscope_report.page import svg

# What is left of an A4 page below a heading, at the width of the page.
TALLEST_IN = 9.0
Pictures = Mapping[str, str]
# What a child process draws: it has inherited this and needs no copy of the rows.
_DRAWN: list[Figure] = []


@contextmanager
def drawing(figures: Sequence[Figure]) -> Iterator[Callable[[], Pictures]]:
    """Begins to draw; calling what it gives waits for the pictures: SVG elements by their figures' ids."""
    _need_matplotlib()
    ids = [one.id for one in figures]
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
        parts.append(svg.inline(drawn, f"f{figure.id}p{order}", f"Figure {figure.id}: {figure.title}{more}"))
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
