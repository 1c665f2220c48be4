"""Where the texts of a drawn figure stand, by the renderer's own boxes."""

import itertools

from matplotlib.figure import Figure as Page
from matplotlib.text import Text
from matplotlib.transforms import Bbox


def texts(page: Page) -> list[tuple[Text, Bbox]]:
    """Every text that is seen, with its box."""
    renderer = page.canvas.get_renderer()
    found = [(one, one.get_window_extent(renderer)) for one in page.texts]
    for axes in page.axes:
        seen = [*axes.texts, axes.title, axes._left_title, axes._right_title]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * abs(high)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if low - slack <= tick.get_loc() <= high + slack:
                    seen.append(tick.label1)
            seen.append(axis.label)
        found += [(one, one.get_window_extent(renderer)) for one in seen]
    return [(one, box) for one, box in found if one.get_text().strip() and one.get_visible()]


def overlap(one: Bbox, two: Bbox, slack: float = 0.7) -> bool:
    """Whether two boxes share more than a hair."""
    return (
        min(one.x1, two.x1) - max(one.x0, two.x0) > slack
        and min(one.y1, two.y1) - max(one.y0, two.y0) > slack
    )


def check_no_overlap(page: Page) -> None:
    """Fails where a text of the page lies upon another."""
    for (one, box), (two, other) in itertools.combinations(texts(page), 2):
        assert not overlap(box, other), f"{one.get_text()!r} overlaps {two.get_text()!r}"
