"""Draws the figures of a page, several at a time where there are several CPUs."""

import multiprocessing
import os
from collections.abc import Mapping, Sequence

from grainscope_report.errors import ReportError
from grainscope_report.figures.model import Figure
from grainscope_report.page import svg

Pictures = Mapping[str, str]
# What a child process draws: it has inherited this and needs no copy of the rows.
_DRAWN: list[Figure] = []


def draw(figures: Sequence[Figure]) -> Pictures:
    """The picture of each figure as an SVG element, by the figure's id."""
    _need_matplotlib()
    processes = min(_cpus(), len(figures))
    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        return {one.id: _picture(one) for one in figures}
    _DRAWN[:] = figures
    try:
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            made = pool.map(_nth, range(len(figures)), chunksize=1)
    finally:
        _DRAWN.clear()
    return {one.id: picture for one, picture in zip(figures, made, strict=True)}


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
