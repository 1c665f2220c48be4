"""Draws a machine as boxes and lines; lengths are in points from the upper left corner of the panel.

A GPU has a row: the link to its node at the left, what it sends to other GPUs at the right. Columns are as
wide as their texts. Direct links are lines of their own from row to row, with a dot at each end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from grainscope_report.drawing import style
from grainscope_report.figures.model import DiagramPanel, Joint, Place, Said
from grainscope_report.units import filled

LINE, PAD, APART = 8.0, 4.0, 7.0
HEAD = 9.0  # the line of a place's name
# What the texts of a column may take at most, and the least that a link is long.
NODE, LINK, GPU, PEERS, LEAST = 110.0, 155.0, 95.0, 142.0, 46.0
# Of these where all columns together are too wide.
SHRUNK = (1.0, 0.9, 0.8, 0.7, 0.6)
BRACKET, TRACK, BAR = 12.0, 6.0, 13.0
THICKEST = 2.6
GAP = "\u00a0\u00a0"  # in HTML blanks would be one
NODE_FILL, GPU_FILL, EDGE = "#F3F3F3", "#E4EEF7", "#8A8A8A"
HOST, BETWEEN = style.METHODS["pinned"], style.METHODS["peer"]
WIDTH = (style.WIDTH - 2 * style.RIGHT) * 72


@dataclass(frozen=True)
class Row:
    """A place with its texts as lines, and where its box begins and ends."""

    place: Place
    said: tuple[str, ...]
    link: tuple[str, ...]
    peers: tuple[str, ...]
    top: float
    bottom: float

    @property
    def at(self) -> float:
        """Where lines to other places leave the box: under the first line of what is said of them."""
        return self.top + LINE + 1.5


@dataclass(frozen=True)
class Drawing:
    """Where everything stands: rows of nodes and GPUs, and the left edges of the columns."""

    nodes: tuple[Row, ...]
    gpus: tuple[Row, ...]
    node: tuple[float, float]
    gpu: tuple[float, float]
    joints: float
    height: float
    width: float


def height(panel: DiagramPanel) -> float:
    """The inches that the diagram takes."""
    return arrange(panel).height / 72


def arrange(panel: DiagramPanel) -> Drawing:
    """Lays the diagram out: as tall as its texts want, which are in narrower columns where it is too wide."""
    found = _arrange(panel, SHRUNK[0])
    for share in SHRUNK[1:]:
        if found.width <= WIDTH:
            break
        found = _arrange(panel, share)
    return found


def _arrange(panel: DiagramPanel, share: float) -> Drawing:
    said = {node.name: _lines(node.said, NODE * share) for node in panel.nodes}
    said |= {gpu.name: _lines(gpu.said, GPU * share) for gpu in panel.gpus}
    link = {gpu.name: _headed(gpu.link, LINK * share) for gpu in panel.gpus}
    peers = {gpu.name: _headed(gpu.peers, PEERS * share) for gpu in panel.gpus}
    nodes, gpus, top = [], [], 1.0
    for node in panel.nodes:
        first = top
        for gpu in (gpu for gpu in panel.gpus if gpu.at == node.name):
            texts = said[gpu.name], link[gpu.name], peers[gpu.name]
            bottom = top + max(_box(texts[0]), *(LINE * len(text) + PAD for text in texts[1:]))
            gpus.append(Row(gpu, *texts, top, bottom))
            top = bottom + APART
        bottom = max(top - APART, first + _box(said[node.name]))
        nodes.append(Row(node, said[node.name], (), (), first, bottom))
        top = bottom + 1.5 * APART
    left = BRACKET if len(panel.nodes) > 1 else 0.5
    node = left, left + _wide(nodes)
    if not gpus:
        return Drawing(tuple(nodes), (), node, (0.0, 0.0), 0.0, top - 1.5 * APART + 2.0, node[1])
    ways = max([LEAST, *(_text(line) for row in gpus for line in row.link)]) + 2 * PAD
    sent = max((_text(line) + 2 * PAD for row in gpus for line in row.peers), default=0.0)
    at_right = _at_right(panel.joints, gpus)
    own = _wide(gpus)
    width = node[1] + ways + own + sent + at_right
    begin = node[1] + ways + min(max(WIDTH - width, 0.0) / 2, LEAST)
    joints = begin + own + sent
    bottom = top - 1.5 * APART + 2.0
    return Drawing(tuple(nodes), tuple(gpus), node, (begin, begin + own), joints, bottom, width)


def _text(line: str) -> float:
    return style.text_width(line, style.FINE)


def _lines(said: Sequence[Said], room: float) -> tuple[str, ...]:
    return tuple(style.shorten(line, style.FINE, room) for line in filled(said, room, _text, gap=GAP))


def _headed(said: Sequence[Said], room: float) -> tuple[str, ...]:
    """The first words alone, since a line goes under them; then the others."""
    if not said:
        return ()
    (head, *rest), *more = said
    return _lines([(head,), *([tuple(rest)] if rest else []), *more], room)


def _box(said: Sequence[str]) -> float:
    return HEAD + LINE * len(said) + 2 * PAD - 2


def _wide(rows: Sequence[Row]) -> float:
    names = [style.text_width(row.place.name, style.SMALL, "bold") for row in rows]
    return max([*names, *(_text(line) for row in rows for line in row.said)]) + 2 * PAD


def tracks(joints: Sequence[Joint], order: dict[str, int]) -> list[tuple[Joint, int]]:
    """Each direct link with the track that it takes: those that share no row may share one."""
    placed: list[tuple[Joint, int]] = []
    taken: list[int] = []
    pairs = [joint for joint in joints if not joint.name]
    for joint in sorted(pairs, key=lambda joint: sorted(order[name] for name in joint.places)):
        first, last = sorted(order[name] for name in joint.places)
        track = next((at for at, end in enumerate(taken) if end < first), len(taken))
        taken[track : track + 1] = [last]
        placed.append((joint, track))
    return placed


def _at_right(joints: Sequence[Joint], gpus: Sequence[Row]) -> float:
    order = {row.place.name: at for at, row in enumerate(gpus)}
    used = 1 + max((track for _, track in tracks(joints, order)), default=-1)
    return used * TRACK + BAR * sum(bool(joint.name) for joint in joints) + (PAD if joints else 0.0)


def draw(axes: Axes, panel: DiagramPanel) -> None:
    """Lines first, then boxes and texts over them."""
    found = arrange(panel)
    axes.set_axis_off()
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(found.height, 0)
    if len(found.nodes) > 1:
        _bracket(axes, found)
    _to_nodes(axes, found)
    _between(axes, panel, found)
    for row, ends, fill in [
        *((row, found.node, NODE_FILL) for row in found.nodes),
        *((row, found.gpu, GPU_FILL) for row in found.gpus),
    ]:
        _place(axes, row, ends, fill)


def _bracket(axes: Axes, found: Drawing) -> None:
    """What joins the nodes, of which nothing more is known."""
    there = [row.top + HEAD for row in found.nodes if row.said]
    left, right = 3.0, found.node[0]
    for at in there:
        _line(axes, (left, right), (at, at), EDGE)
    _line(axes, (left, left), (there[0], there[-1]), EDGE)


def _to_nodes(axes: Axes, found: Drawing) -> None:
    for row in found.gpus:
        left, right = found.node[1], found.gpu[0]
        _line(axes, (left, right), (row.at, row.at), HOST, dash="-" if row.place.sure else (0, (3, 2)))
        _beside(axes, row.link, left + PAD, row)


def _between(axes: Axes, panel: DiagramPanel, found: Drawing) -> None:
    """What a GPU sends, and the lines between GPUs."""
    rows = {row.place.name: row for row in found.gpus}
    order = {name: at for at, name in enumerate(rows)}
    ends: dict[str, float] = {}
    placed = tracks(panel.joints, order)
    for joint, track in placed:
        x = found.joints + (track + 0.5) * TRACK
        there = [rows[name].at for name in joint.places]
        _line(axes, (x, x), there, BETWEEN, min(0.5 + 0.3 * joint.links, THICKEST))
        axes.plot([x, x], there, linestyle="none", marker="o", markersize=2.6, color=BETWEEN, gid="joint")
        ends |= {name: max(ends.get(name, 0.0), x) for name in joint.places}
    left = found.joints + TRACK * (1 + max((track for _, track in placed), default=-1)) + PAD
    for joint in (joint for joint in panel.joints if joint.name):
        _bar(axes, joint, left, [rows[name] for name in joint.places])
        ends |= dict.fromkeys(joint.places, left)
        left += BAR
    for row in found.gpus:
        if end := ends.get(row.place.name):
            _line(axes, (found.gpu[1], end), (row.at, row.at), BETWEEN)
        _beside(axes, row.peers, found.gpu[1] + PAD, row)


def _bar(axes: Axes, joint: Joint, left: float, rows: Sequence[Row]) -> None:
    top, bottom = rows[0].top, rows[-1].bottom
    axes.add_patch(_rounded(left, top, BAR - 3, bottom - top, "#E5E1F2", BETWEEN))
    middle = left + (BAR - 3) / 2, (top + bottom) / 2
    axes.text(
        *middle, joint.name, fontsize=style.FINE, rotation=90, ha="center", va="center", gid="joint"
    )  # fmt: skip


def _beside(axes: Axes, lines: Sequence[str], left: float, row: Row) -> None:
    """The first line above the line that it is about, the others under it."""
    for order, line in enumerate(lines):
        at = row.at - 1.5 - LINE / 2 if order == 0 else row.at + 1.0 + LINE * (order - 0.5)
        _say(axes, left, at, line, "link")


def _place(axes: Axes, row: Row, ends: tuple[float, float], fill: str) -> None:
    left, right = ends
    known = bool(row.said)
    patch = _rounded(left, row.top, right - left, row.bottom - row.top, fill if known else "white", EDGE)
    patch.set_linestyle("-" if known else (0, (3, 2)))
    axes.add_patch(patch)
    top = row.top + PAD - 1
    name = {"fontsize": style.SMALL, "weight": "bold", "va": "center", "gid": "place"}
    axes.text(left + PAD, top + HEAD / 2, row.place.name, **name)
    for order, line in enumerate(row.said):
        _say(axes, left + PAD, top + HEAD + LINE * (order + 0.5), line, "place")


def _rounded(left: float, top: float, wide: float, tall: float, fill: str, edge: str) -> FancyBboxPatch:
    look = {"facecolor": fill, "edgecolor": edge, "linewidth": 0.7, "zorder": 2}
    return FancyBboxPatch((left, top), wide, tall, boxstyle="round,pad=0,rounding_size=2.5", **look)


def _line(
    axes: Axes, x: Sequence[float], y: Sequence[float], colour: str, width: float = 1.1, dash: object = "-"
) -> None:
    axes.plot(
        x, y, color=colour, linewidth=width, linestyle=dash, zorder=1, solid_capstyle="butt", gid="line"
    )


def _say(axes: Axes, left: float, at: float, text: str, gid: str) -> None:
    axes.text(left, at, text, fontsize=style.FINE, ha="left", va="center", gid=gid)
