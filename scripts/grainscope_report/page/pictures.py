"""Draws the figures of a page, several at a time where there are several CPUs."""

import gc
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from grainscope_report.errors import ReportError
from grainscope_report.figures.model import Figure
from grainscope_report.page import svg

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
    # Children live for seconds and draw a few pictures: to look for garbage would take a fifth of their time.
    fork = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(processes, mp_context=fork, initializer=gc.disable) as pool:
            with warnings.catch_warnings():
                # A fork is warned of where a library keeps threads; nothing here holds a lock of theirs.
                warnings.simplefilter("ignore", DeprecationWarning)
                made = pool.map(_nth, range(len(figures)))
            yield lambda: dict(zip(ids, made, strict=True))
    finally:
        _DRAWN.clear()


def _nth(order: int) -> str:
    return _picture(_DRAWN[order])


def _picture(figure: Figure) -> str:
    from grainscope_report.drawing import render

    drawn = render.save(render.draw(figure, framed=False), "svg", text="none")
    return svg.inline(drawn, f"f{figure.id}", f"Figure {figure.id}: {figure.title}")


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
