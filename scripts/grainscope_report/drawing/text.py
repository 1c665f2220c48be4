"""Measures, wraps and spreads text, so that no label lands on another. Lengths are in points."""

from collections.abc import Sequence
from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from grainscope_report.drawing.style import FONT


@lru_cache(maxsize=4096)
def width(text: str, size: float, weight: str = "normal") -> float:
    """The width of one line of text, points."""
    if not text.strip():
        return 0.0
    font = FontProperties(family=FONT, weight=weight, size=size)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def wrap(text: str, size: float, room: float) -> list[str]:
    """The text in lines no wider than `room` points; a word longer than that is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
            continue
        while width(word, size) > room and len(word) > 1:
            fits = max(1, int(len(word) * room / width(word, size)))
            lines.append(word[:fits])
            word = word[fits:]
        lines.append(word)
    return lines


def shorten(text: str, size: float, room: float) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    if width(text, size) <= room:
        return text
    while text and width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def spread(
    centres: Sequence[float], sizes: Sequence[float], low: float, high: float, gap: float
) -> list[float]:
    """Moves labels of these sizes along a line, as little as needed, until none overlaps within [low, high].

    Keeps their order. Where they do not all fit they are packed from `low` on.
    """
    order = sorted(range(len(centres)), key=lambda index: centres[index])
    placed = list(centres)
    edge = low
    for index in order:
        placed[index] = max(placed[index], edge + sizes[index] / 2)
        edge = placed[index] + sizes[index] / 2 + gap
    edge = high
    for index in reversed(order):
        placed[index] = min(placed[index], edge - sizes[index] / 2)
        edge = placed[index] - sizes[index] / 2 - gap
    edge = low
    for index in order:
        placed[index] = max(placed[index], edge + sizes[index] / 2)
        edge = placed[index] + sizes[index] / 2 + gap
    return placed
