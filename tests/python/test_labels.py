"""Measuring, wrapping, spreading and placing of labels."""

import itertools

import numpy as np

from grainscope_report.drawing import scales, style


def test_spread_keeps_order_and_distance():
    placed = style.spread([10, 11, 12], [4, 4, 4], 0, 100, 1)
    assert placed == sorted(placed)
    assert all(right - left >= 5 for left, right in itertools.pairwise(placed))
    assert style.spread([98], [10], 0, 100, 1) == [95]
    assert style.spread([10, 50], [4, 4], 0, 100, 1) == [10, 50]


def test_wrap_and_shorten_keep_to_the_room():
    lines = style.wrap("one two three " * 10 + "x" * 200, style.FINE, 120)
    assert all(style.text_width(line, style.FINE) <= 120 for line in lines)
    assert "".join(lines).replace(" ", "").endswith("x" * 200)
    assert style.text_width(style.shorten("a long label that does not fit", style.FINE, 50), style.FINE) <= 50
    assert style.shorten("short", style.FINE, 50) == "short"


def test_ink_reads_on_every_bar():
    assert style.ink_on("#000000") == "#FFFFFF"
    assert style.ink_on("#F0F0F0") == "#000000"


def test_labels_avoid_what_is_taken():
    one, two = scales.Rectangle(0, 0, 10, 5), scales.Rectangle(5, 4, 10, 5)
    assert one.meets(two)
    assert not one.meets(scales.Rectangle(11, 0, 5, 5))
    assert one.holds(np.array([(3, 3)])) == 1
    assert one.holds(np.array([(3, 6)])) == 0
