"""Panels of several ways to do one thing: a bar a way at each place, or a curve a way over sizes."""

from collections.abc import Callable, Sequence

from grainscope_report.figures.model import WHOLE, Bar, BarPanel, BarSeries, Level

HEIGHT = 1.7


def bars(
    title: str,
    places: Sequence[str],
    ways: Sequence[tuple[str, str]],
    bar: Callable[[str, int], Bar],
    scale: tuple[str, str],
    levels: Sequence[Level] = (),
) -> BarPanel:
    """A panel over the whole width: of each way (its name, what it is called) a bar at every place.

    `bar` makes the one of a way at the place of that order; `scale` is the axis' label and unit.
    """
    series = tuple(
        BarSeries(spoken, way, tuple(bar(way, order) for order in range(len(places)))) for way, spoken in ways
    )
    look = {"levels": tuple(levels), "width": WHOLE, "upright": True, "height": HEIGHT}
    return BarPanel(title, tuple(places), series, *scale, **look)
