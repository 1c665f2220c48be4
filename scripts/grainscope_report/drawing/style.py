"""How things look: one colour a method in every figure, one marker a machine, one dash a locality; and how
text is measured, wrapped and spread, so that no label lands on another.

The colours are Okabe and Ito's and two of Paul Tol's, told apart with any colour vision. Lengths of text
are in points.
"""

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, takewhile

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

METHODS = {
    "pageable": "#D55E00",
    "pinned": "#0072B2",
    "registered": "#56B4E9",
    "write_combined": "#882255",
    "zero_copy": "#009E73",
    "demand": "#E69F00",
    "prefetch": "#CC79A7",
    "host": "#333333",
    "latency": "#333333",
    "warm": "#999999",
    "paper": "#B8B8B8",
    "traffic": "#44AA99",
    "kernel_copy": "#332288",
    "copy_engine": "#0072B2",
    "no_peer": "#999999",
    "pageable_copy": "#D55E00",
    "batch": "#56B4E9",
    "graph": "#117733",
    "zero_copy_sequential": "#009E73",
    "zero_copy_random": "#999933",
    "kernel_write_random": "#882255",
    "managed_prefetch": "#CC79A7",
    "managed_prefetch_batch": "#AA4499",
    "managed_demand": "#E69F00",
    "copy_2d": "#0072B2",
    "copy_3d": "#009E73",
    "kernel_strided": "#332288",
    "kernel_chunked": "#AA4499",
    "pack": "#E69F00",
    "row_copies": "#D55E00",
    "one_by_one": "#0072B2",
    "batch_merged": "#44AA99",
    "staged": "#E69F00",
    "relay": "#D55E00",
    "kernel": "#332288",
    "partner": "#999999",
    "single": "#0072B2",
    "host_alloc": "#0072B2",
    "transparent_huge": "#999933",
    "hugetlb": "#999999",
    "vmm_host": "#117733",
    "peer": "#332288",
    "naive": "#882255",
    "merged": "#56B4E9",
    "merged_aligned": "#009E73",
    "merged_aligned_by_16": "#45B592",
    "merged_aligned_by_8": "#83CDB4",
    "merged_aligned_by_4": "#B5E2D2",
    "merged_aligned_chunked": "#B2B240",
    "block_mapped": "#CC79A7",
    "merge_path": "#0072B2",
    "edge_gather": "#332288",
    "subway": "#D55E00",
    "managed": "#E69F00",
    "device": "#777777",
    "cpu_only": "#333333",
    "cpu_gather": "#999999",
    "cpu_gather_dma": "#D55E00",
    "row_dma": "#E69F00",
    "circular_shift": "#56B4E9",
    "vector": "#999933",
    "masked": "#44AA99",
    "masked_wide": "#009E73",
    "bulk": "#882255",
    "graphbolt": "#CC79A7",
    "address_ordered": "#0072B2",
    "tiered": "#332288",
    "processes": "#CC3311",
    "degree": "#999933",
    "reverse_pagerank": "#88CCEE",
    "weighted_reverse_pagerank": "#44AA99",
    "presampled": "#AA4499",
    "optimal": "#555555",
    "grid_cap": "#E69F00",
    "green_context": "#009E73",
    "mps_percentage": "#0072B2",
    "exec_affinity": "#CC79A7",
    "unlimited": "#777777",
    "lean none": "#0072B2",
    "lean heads": "#E69F00",
    "lean lists": "#999933",
    "lean reuse": "#AA4499",
    "lean compressed none": "#56B4E9",
    "lean compressed heads": "#882255",
    "lean compressed lists": "#117733",
    "lean compressed reuse": "#332288",
    "lean hybrid": "#CC79A7",
    "lean 0": "#44AA99",
    "lean 1": "#D55E00",
    "lean 2": "#6A4C93",
    "sample_s": "#F0E0A0",
    "gather_s": "#A6CEE3",
    "train_s": "#D4B9DA",
    "pipelined": "#6A4C93",
    "link_left": "#B5D99C",
    "graph 0": "#0072B2",
    "graph 1": "#D55E00",
    "graph 2": "#009E73",
    "graph 3": "#CC79A7",
    "graph 4": "#E69F00",
    "graph 5": "#332288",
    "graph 6": "#882255",
    "graph 7": "#333333",
    "component 0": "#0072B2",
    "component 1": "#E69F00",
    "component 2": "#009E73",
    "component 3": "#CC79A7",
    "component 4": "#56B4E9",
    "component 5": "#D55E00",
    "component 6": "#6A4C93",
    "component 7": "#999999",
    "request 32": "#F3D9B1",
    "request 64": "#DDA15E",
    "request 96": "#A65E2E",
    "request 128": "#4F2A14",
}
# Ordered steps (thread counts, sizes), light to dark, readable in grey.
STEPS = ("#C7B3E0", "#9A79C6", "#6B44A0", "#371560")
SIZE_STEPS = ("#8CC5E3", "#3C8DBC", "#123F63")
# Sizes of rows, of which there may be many: between these colours the scale is continuous. Kinds of memory,
# which stand beside them in figure 13, are none of these colours.
ROW_STEPS = ("#F2B233", "#E0701E", "#B8336A", "#5C3A93", "#16193B")
# Links, slow to fast.
LINK_STEPS = ("#CFE3F2", "#6FA8D6", "#2C6CA8", "#0B2A4A")
# A map's colours from nothing to the most.
MAP = ("#F7FBFF", "#9CC8E2", "#3C8DBC", "#123F63")
# The backslashes lean the other way than the papers' strokes.
HATCHES = {"paper": "////", "modelled": "\\\\\\\\"}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# One of several things at once, on the bar of all of them.
PART = {"marker": "o", "markersize": 3.4, "markerfacecolor": "white", "markeredgewidth": 0.8}
# What is modelled, around the dot of what was measured.
RING = {"marker": "o", "markersize": 6.4, "markerfacecolor": "white", "markeredgewidth": 0.9}
DASHES = {"none": "none", "solid": "-", "dashed": (0, (4, 1.8)), "dotted": (0, (1.2, 1.4))}
LEVELS = {
    "peak": ("#000000", (0, (6, 2)), 0.8),
    "double": ("#000000", (0, (1.2, 1.2)), 1.1),
    "theoretical": ("#777777", (0, (1, 1.5)), 0.9),
    "paper": ("#555555", (0, (6, 2)), 0.8),
    "even": ("#777777", "-", 0.6),
}
REGIONS = {"crossover": "#009E73", "knee": "#333333", "dip": "#D55E00", "slow": "#CC79A7", "paper": "#999999"}

WIDTH = 7.2
LEFT, RIGHT, GUTTER = 0.58, 0.14, 0.62  # inches beside and between panels
DPI = 200
TITLE, TEXT, SMALL, FINE = 9.0, 7.5, 6.5, 6.0
FONT = "DejaVu Sans"
GREY = "#444444"

RC = {
    "font.family": FONT,
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    # Titles stay where they are put: to look for a free place every tick is laid out once more.
    "axes.titley": 1.0,
    "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "svg.fonttype": "path",
    "svg.hashsalt": "grainscope",
    "axes.unicode_minus": False,
}

# How far the bars of the second, the third and further machines are from their method's colour, and whether
# towards white or black.
SHADES = ((0.5, 255), (0.4, 0), (0.72, 255), (0.68, 0), (0.26, 255), (0.2, 0), (0.9, 255))
COMPONENTS = 8  # the colours `component 0` to `component 7`
_STEP = re.compile(r"\w+ \d+ of \d+")


def colour(method: str, machine: int = 0) -> str:
    """The colour of a method; bars of further machines are lighter or darker."""
    base = METHODS.get(method) or (_step(method) if _STEP.fullmatch(method) else _by_name(method))
    if machine == 0:
        return base
    share, towards = SHADES[(machine - 1) % len(SHADES)]
    parts = (int(base[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + share * (towards - part)):02x}" for part in parts)


def _by_name(method: str) -> str:
    """A colour for what has none of its own: the same in every figure and file, since it follows its name."""
    return METHODS[f"component {zlib.crc32(method.encode()) % COMPONENTS}"]


def _step(method: str) -> str:
    """`step 1 of 4`: the place in an ordered scale."""
    kind, order, _, count = method.split()
    if kind in ("row", "link"):
        return blend(ROW_STEPS if kind == "row" else LINK_STEPS, int(order) / max(1, int(count) - 1))
    scale = SIZE_STEPS if kind == "size" else STEPS
    place = len(scale) - 1 if int(count) == 1 else round(int(order) * (len(scale) - 1) / (int(count) - 1))
    return scale[place]


def blend(scale: tuple[str, ...], share: float) -> str:
    """The colour at a share of a scale, blended from the two that it lies between."""
    place = min(max(share, 0.0), 1.0) * (len(scale) - 1)
    below = min(int(place), len(scale) - 2)
    pairs = ((int(scale[below][at : at + 2], 16), int(scale[below + 1][at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(low + (place - below) * (high - low)):02x}" for low, high in pairs)


def marker(machine: int) -> str:
    """The marker of a machine."""
    return MARKERS[machine % len(MARKERS)]


def ink_on(background: str) -> str:
    """Black or white, whichever reads better on a bar of this colour."""
    red, green, blue = (int(background[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "#FFFFFF"


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """The width of one line of text, points."""
    if not text.strip():
        return 0.0
    font = FontProperties(family=FONT, weight=weight, size=size)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def wrap(text: str, size: float, room: float) -> list[str]:
    """The text in lines no wider than `room` points, no `%` without its number; a longer word is cut."""
    lines: list[str] = []
    words = re.findall(r"\S*\d\s%\S*|\S+", text)
    while words:
        if lines and (count := _joining(lines[-1], words, size, room)):
            lines[-1] = " ".join((lines[-1], *words[:count]))
            words = words[count:]
            continue
        word = words.pop(0)
        while text_width(word, size) > room and len(word) > 1:
            fits = max(1, int(len(word) * room / text_width(word, size)))
            lines.append(word[:fits])
            word = word[fits:]
        lines.append(word)
    return lines


def _joining(line: str, words: Sequence[str], size: float, room: float) -> int:
    """How many words fit behind a line: few widths are looked up, since each takes long to find."""

    def fit(count: int) -> bool:
        return text_width(" ".join((line, *words[:count])), size) <= room

    letters = len(line) * room / max(text_width(line, size), 1.0)
    ends = accumulate((1 + len(word) for word in words), initial=len(line))
    count = max(sum(1 for _ in takewhile(lambda end: end <= letters, ends)) - 1, 0)
    if fit(count):
        while count < len(words) and fit(count + 1):
            count += 1
        return count
    while count and not fit(count):
        count -= 1
    return count


def shorten(text: str, size: float, room: float) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
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
