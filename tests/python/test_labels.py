"""Measuring, wrapping, spreading and placing of labels."""

import itertools

import numpy as np

from grainscope_report.drawing import levels, style, text


def test_spread_keeps_order_and_distance():
    placed = text.spread([10, 11, 12], [4, 4, 4], 0, 100, 1)
    assert placed == sorted(placed)
    assert all(right - left >= 5 for left, right in itertools.pairwise(placed))
    assert text.spread([98], [10], 0, 100, 1) == [95]
    assert text.spread([10, 50], [4, 4], 0, 100, 1) == [10, 50]


def test_wrap_and_shorten_keep_to_the_room():
    lines = text.wrap("one two three " * 10 + "x" * 200, style.FINE, 120)
    assert all(text.width(line, style.FINE) <= 120 for line in lines)
    assert "".join(lines).replace(" ", "").endswith("x" * 200)
    assert text.width(text.shorten("a long label that does not fit", style.FINE, 50), style.FINE) <= 50
    assert text.shorten("short", style.FINE, 50) == "short"


def test_ink_reads_on_every_bar():
    assert style.ink_on("#000000") == "#FFFFFF"
    assert style.ink_on("#F0F0F0") == "#000000"


def test_labels_avoid_what_is_taken():
    one, two = levels.Rectangle(0, 0, 10, 5), levels.Rectangle(5, 4, 10, 5)
    assert one.meets(two)
    assert not one.meets(levels.Rectangle(11, 0, 5, 5))
    assert one.holds(np.array([(3, 3)])) == 1
    assert one.holds(np.array([(3, 6)])) == 0
