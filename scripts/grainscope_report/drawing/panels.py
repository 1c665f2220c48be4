"""Draws a panel of curves, and panels of other kinds: rows of dots, lanes over time, a map of all pairs, a
table.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator
from matplotlib.transforms import blended_transform_factory

from grainscope_report.drawing import scales, style
from grainscope_report.drawing.scales import minor_ticks, size_in_points
from grainscope_report.figures.model import (
    Cell,
    Curve,
    CurvePanel,
    Dot,
    DotPanel,
    DotRow,
    Level,
    MapPanel,
    Region,
    Roof,
    SpanPanel,
    SpanRow,
    TablePanel,
    table_texts,
)
from grainscope_report.units import format_bytes, format_time, significant

# Curves.

# Regions with a line where they are most likely.
LINED = ("crossover", "knee")
MARKED = 2.0  # points that a marker reaches around its value


def draw_curves(axes: Axes, panel: CurvePanel, several: bool) -> None:
    """Curves with their intervals, level lines, cache marks, regions."""
    x = [point.x for curve in panel.curves for point in curve.points]
    within, beyond = _scales(axes, panel)
    scales.log2_x(axes, x, panel.x_unit, *_limits(panel, x))
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.5)
    axes.set_axisbelow(True)
    for region in panel.regions:
        _region(axes, region)
    for curve in panel.curves:
        _curve(axes, curve, several)
    for roof in panel.roofs:
        x, y = zip(*roof.points, strict=True)
        dotted = style.DASHES["dotted"]
        axes.plot(x, y, color=style.colour(roof.method), linestyle=dotted, linewidth=0.9, gid="roof")
    taken = [*(point for curve in panel.curves for point in _along(curve)), *_uprights(axes, panel)]
    taken += [point for curve in panel.curves for point in _intervals(curve)]
    taken += [point for roof in panel.roofs for point in _along_roof(roof)]
    scales.draw_levels(axes, within, beyond, several, taken, MARKED)
    labels = _marks(axes, panel, several)
    labels += [
        (region.at or (region.low * region.high) ** 0.5, f"({region.letter})", _shade(region))
        for region in panel.regions
    ]
    scales.band_labels(axes, labels)


def _scales(axes: Axes, panel: CurvePanel) -> tuple[list[Level], list[Level]]:
    """Sets the y axis; gives the levels on it and those beyond it."""
    values = [point.y for curve in panel.curves for point in curve.points]
    roofs = [y for roof in panel.roofs for _, y in roof.points]
    top = max([panel.y_top or 0.0, *(value.high for value in values), *roofs])
    bottom = min([*(value.low for value in values), *roofs])
    bottom /= 1.6

    def end(highest: float, room: float) -> float:
        if panel.y_log:
            return bottom * (highest / bottom) ** (1 / (1 - room))
        return highest / (1 - room)

    within, beyond, high = scales.fitted(axes, panel.levels, top, panel.y_log, end)
    scales.y_axis(axes, bottom, high, panel.y_log)
    return within, beyond


def _along(curve: Curve, steps: int = 12) -> list[tuple[float, float]]:
    """Points close together along the drawn line, straight between measured ones as the axes draw it."""
    found = [(point.x, point.y.value) for point in curve.points]
    for one, two in itertools.pairwise(curve.points):
        for step in range(1, steps):
            share = step / steps
            y = one.y.value + share * (two.y.value - one.y.value)
            found.append((one.x * (two.x / one.x) ** share, y))
    return found


def _intervals(curve: Curve, steps: int = 12) -> list[tuple[float, float]]:
    """Points along the intervals."""
    drawn = curve.points if curve.marked else ()
    return [
        (point.x, point.y.low + (point.y.high - point.y.low) * step / steps)
        for point in drawn
        for step in range(steps + 1)
    ]


def _along_roof(roof: Roof, steps: int = 40) -> list[tuple[float, float]]:
    """Points close together along a roof, which is straight where both axes are logarithmic."""
    return [
        (one[0] * (two[0] / one[0]) ** (step / steps), one[1] * (two[1] / one[1]) ** (step / steps))
        for one, two in itertools.pairwise(roof.points)
        for step in range(steps + 1)
    ]


def _uprights(axes: Axes, panel: CurvePanel, steps: int = 60) -> list[tuple[float, float]]:
    """Points along the vertical lines of crossovers."""
    low, high = axes.get_ylim()
    spread = [low * (high / low) ** (at / steps) if panel.y_log else high * at / steps for at in range(steps)]
    return [(region.at, y) for region in panel.regions if _lined(region) for y in spread]


def _lined(region: Region) -> bool:
    """Whether a line shows where it most likely is; of some only the stretch is known."""
    return region.kind in LINED and region.at is not None


def _limits(panel: CurvePanel, x: list[float]) -> tuple[float, float]:
    reach = [*(panel.x_range or x), *(mark.x for mark in panel.marks if min(x) / 2 <= mark.x <= max(x) * 2)]
    low, high = min(reach), max(reach)
    if low == high:
        low, high = low / 2, high * 2
    pad = (high / low) ** 0.03
    return low / pad, high * pad


def _curve(axes: Axes, curve: Curve, several: bool) -> None:
    colour = style.colour(curve.method)
    size, line = (4.2 if several else 3.4, 1.15) if curve.primary else (2.0, 0.6)
    # Further sites lie under the first: where all agree only that one is seen.
    level = 3.0 if curve.primary else 2.6
    outlined = several and curve.primary
    middle = [y.value for y in curve.y]
    below = [max(0.0, y.value - y.low) for y in curve.y]
    above = [max(0.0, y.high - y.value) for y in curve.y]
    modelled = curve.label == "modelled" and curve.marked and curve.dash != "none"
    dash = style.DASHES["dotted" if modelled else curve.dash]
    if not curve.marked:
        axes.plot(
            curve.x, middle, color=colour, linestyle=dash, linewidth=0.9, zorder=level - 0.2, gid="line"
        )
        return
    axes.errorbar(
        curve.x,
        middle,
        yerr=[below, above],
        color=colour,
        linestyle=dash,
        linewidth=line,
        elinewidth=0.7,
        capsize=1.6,
        capthick=0.6,
        zorder=level,
    )
    for hollow in (False, True):
        chosen = [at for at, point in enumerate(curve.points) if bool(point.flags) == hollow]
        if not chosen:
            continue
        axes.plot(
            [curve.x[at] for at in chosen],
            [middle[at] for at in chosen],
            linestyle="none",
            marker=style.marker(curve.machine.index),
            markersize=size * (1.25 if hollow else 1),
            markerfacecolor="white" if hollow else colour,
            markeredgecolor="white" if outlined and not hollow else colour,
            markeredgewidth=0.9 if hollow else 0.3,
            zorder=level + 0.2,
        )


def _marks(axes: Axes, panel: CurvePanel, several: bool) -> list[tuple[float, str, str]]:
    """Draws the cache marks; gives a label for each size, which names the machines that share it."""
    low, high = axes.get_xlim()
    owners: dict[tuple[str, float], list[str]] = {}
    for mark in panel.marks:
        if low <= mark.x <= high:
            owners.setdefault((mark.name, mark.x), []).append(mark.machine.letter)
    every = {curve.machine.letter for curve in panel.curves}
    labels = []
    for (name, x), letters in owners.items():
        axes.axvline(x, color="#999999", linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
        whose = f"{', '.join(letters)}: " if several and set(letters) != every else ""
        size = "" if whose else f" {format_bytes(x)}"
        labels.append((x, f"{whose}{name}{size}", style.GREY))
    return labels


def _shade(region: Region) -> str:
    return style.colour(region.method) if region.method else style.REGIONS[region.kind]


def _region(axes: Axes, region: Region) -> None:
    colour = _shade(region)
    low, high = axes.get_xlim()
    if region.kind == "paper":
        # A bracket along the bottom: someone else's machine, so nothing of ours is shaded.
        axes.plot(
            [max(region.low, low), min(region.high, high)],
            [0.035, 0.035],
            transform=axes.get_xaxis_transform(),
            color=colour,
            linewidth=2.4,
            solid_capstyle="butt",
            zorder=2,
        )
        return
    widen = 2**0.25 if region.kind in ("dip", "slow") else 1
    axes.axvspan(
        max(region.low / widen, low),
        min(region.high * widen, high),
        color=colour,
        alpha=0.13,
        linewidth=0,
        zorder=0.5,
    )
    if _lined(region):
        knee = region.kind == "knee"
        line, dash = (0.7, (0, (4, 1.6))) if knee else (0.9, "-")
        axes.axvline(region.at, color=colour, linewidth=line, linestyle=dash, zorder=1.2)


# Panels of other kinds.

GAP = 6.0
# What the names may take of the margin or the gutter to the left of their panel, points.
REACH = (min(style.LEFT, style.GUTTER) - 0.12) * 72
MARK = 3.6
FAINT = "#EDEDED"
APART = 0.24  # of a row, between the dots of several machines, and of what is aside
# Ticks of a decade, of every one or of each third: as many as have room.
TICKED = (((1, 2, 5), 1), ((1,), 1), ((1,), 3))
TIMES = 5  # ticks of a stretch of time, at most


def draw_dots(axes: Axes, panel: DotPanel, several: bool) -> None:
    """Dots with their intervals, a row for each line of the panel, the first row on top."""
    said = _numbers(panel, several)
    names = _make_room(axes, panel.rows if panel.named else (), said.values(), panel.headed)
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.set_yticks([])
    _x_axis(axes, panel)
    axes.set_xlabel(panel.x_label)
    _rows(axes, panel.rows, names, panel.headed)
    for level in panel.levels:
        colour, dash, line = style.LEVELS[level.kind]
        axes.axvline(level.value, color=colour, linestyle=dash, linewidth=line, zorder=1.5)
    there = [(dot, at + _shift(dot, row.dots)) for at, row in enumerate(panel.rows) for dot in row.dots]
    _whiskers(axes, there)
    for dot, at in there:
        _dot(axes, dot, at, several)
    for order, number in said.items():
        _label(axes, 1, GAP, order, number, "left", style.GREY)


def title_at(axes: Axes, left: float) -> float:
    """Where a title begins that stands over the names of a panel whose box begins `left` inches in."""
    width, _ = size_in_points(axes)
    page = axes.figure.get_size_inches()[0] * 72
    return (left * 72 - REACH - axes.get_position().x0 * page) / width


LEAST_AXIS = 72.0  # points of an axis of dots: on less nothing can be told apart


def of_column(panel: DotPanel, width: float, several: bool) -> DotPanel:
    """The panel with its names, alone in a column so many inches wide.

    Where these leave no room, names stand on lines of their own, then no number is behind a row.
    """
    panel = replace(panel, named=True)
    headed = replace(panel, rows=tuple(_headed(panel.rows)), headed=True)
    forms = (panel, headed, replace(headed, numbered=False))
    return next((one for one in forms if has_room(one, width, several)), forms[-1])


def has_room(panel: DotPanel | SpanPanel, width: float, several: bool) -> bool:
    """Whether names and numbers leave room for an axis in a column so many inches wide."""
    dotted = isinstance(panel, DotPanel)
    texts = _numbers(panel, several).values() if dotted else [row.working.text for row in panel.rows]
    left, right = _beside(panel.rows, texts, dotted and panel.headed)
    inner = (width - style.LEFT - style.RIGHT) * 72
    return inner - (left - REACH) - right >= LEAST_AXIS


def _headed(rows: Sequence[DotRow]) -> Iterable[DotRow]:
    """The rows below a line with the name that they share, where they have parts."""
    for name, run in itertools.groupby(rows, key=lambda row: row.name):
        first, *rest = run
        if first.part:
            yield DotRow(name, "", ())
        yield from (first, *rest)


def _numbers(panel: DotPanel, several: bool) -> dict[int, str]:
    """What is written behind rows, by their order."""
    if several or not panel.numbered:
        return {}
    return {order: _value(row, panel) for order, row in enumerate(panel.rows)}


def _value(row: DotRow, panel: DotPanel) -> str:
    if not row.dots:
        return ""
    value = row.dots[0].value.value
    if panel.y_unit == "s":
        return format_time(value)
    return significant(value) if panel.y_unit == "ratio" else f"{significant(value)} {panel.y_unit}"


def _beside(
    named: Sequence[DotRow | SpanRow], texts: Iterable[str], headed: bool = False
) -> tuple[float, float]:
    """The points that names take before an axis, 0 where no row is to be named, and numbers behind it.

    Where `headed`, a name stands in the column of the parts, and alone on its line it may be longer.
    """
    wide = [
        (style.text_width(row.name, style.SMALL), style.text_width(row.part, style.SMALL)) for row in named
    ]
    if headed:
        wide = [
            (0.0, part if row.part else name if row.dots else 0.0)
            for row, (name, part) in zip(named, wide, strict=True)
        ]
    names = max((name for name, _ in wide), default=0.0)
    parts = max((part for _, part in wide), default=0.0)
    numbers = max((style.text_width(one, style.SMALL) for one in texts), default=0.0)
    gaps = (2 * bool(named) + bool(names and parts)) * GAP
    return names + parts + gaps, numbers + GAP


def _make_room(
    axes: Axes, named: Sequence[DotRow | SpanRow], texts: Iterable[str], headed: bool = False
) -> float:
    """Moves the axes' edges in, so that the rows' names and numbers fit beside them; gives how far from the
    axes names begin, 0 where no row is to be named.
    """
    left, right = _beside(named, texts, headed)
    page = axes.figure.get_size_inches()[0] * 72
    box = axes.get_position()
    begin, end = box.x0 + (left - REACH) / page, box.x1 - right / page
    axes.set_position((begin, box.y0, end - begin, box.height))
    return left if named else 0.0


def _x_axis(axes: Axes, panel: DotPanel) -> None:
    values = [dot.value for row in panel.rows for dot in row.dots]
    lines = [level.value for level in panel.levels]
    low, high = min(value.low for value in values), max([*(value.high for value in values), *lines])
    if not panel.log:
        axes.set_xlim(0, high * 1.06)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value)))
        return
    axes.set_xscale("log")
    axes.set_xlim(min([low, *lines]) / 1.6, high * 1.6)
    spell: Callable[[float], str] = format_time if panel.y_unit == "s" else significant
    tried = (_ticks(axes, spell, *each) for each in TICKED)
    ticks = next(filter(None, tried), None) or _ends(axes, spell)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: spell(value)))
    minor_ticks(axes, _tenths(*axes.get_xlim()))


def _ends(axes: Axes, spell: Callable[[float], str]) -> list[float]:
    """Both ends of the axis, or the upper one where their names would touch."""
    width, _ = size_in_points(axes)
    ends = axes.get_xlim()
    names = sum(style.text_width(spell(end), style.SMALL) / 2 for end in ends)
    return list(ends) if width > names + GAP else [ends[1]]


def _tenths(low: float, high: float) -> list[float]:
    """1, 2, … 9 of every decade between the two."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    return [at for power in decades for sub in range(1, 10) if low <= (at := sub * 10.0**power) <= high]


def _ticks(axes: Axes, spell: Callable[[float], str], subs: tuple[int, ...], decades: int) -> list[float]:
    """Ticks at these places of a decade, each so many `decades`; none where their names would touch."""
    width, _ = size_in_points(axes)
    low, high = axes.get_xlim()
    ticks = [
        sub * 10.0**power
        for power in range(-12, 13, decades)
        for sub in subs
        if low <= sub * 10.0**power <= high
    ]
    places = [width * math.log(tick / low) / math.log(high / low) for tick in ticks]
    half = [style.text_width(spell(tick), style.SMALL) / 2 for tick in ticks]
    touch = any(
        right - left < one + two + GAP
        for (left, right), (one, two) in zip(
            itertools.pairwise(places), itertools.pairwise(half), strict=True
        )
    )
    return [] if touch or len(ticks) < 2 else ticks


def _rows(axes: Axes, rows: Sequence[DotRow | SpanRow], whole: float, headed: bool = False) -> None:
    """The names, each once, a line under each run of them, and a faint line through each row.

    Names begin `whole` points from the axes; where that is 0, the lines alone.
    """
    width, _ = size_in_points(axes)
    across = axes.get_yaxis_transform()
    there = [order for order, row in enumerate(rows) if not headed or row.dots]
    axes.hlines(there, 0, 1, transform=across, color=FAINT, linewidth=0.5, zorder=0.5)
    for order, row in enumerate(rows):
        begins = not order or rows[order - 1].name != row.name
        if whole:
            _label(axes, 0, -GAP, order, row.part, "right")
            _label(axes, 0, -whole, order, row.name if begins else "", "left", headed=headed)
        if order and begins:
            axes.plot(
                [-whole / width, 1],
                [order - 0.5] * 2,
                transform=axes.get_yaxis_transform(),
                color="#CCCCCC",
                linewidth=0.5,
                clip_on=False,
                zorder=0.6,
                gid="rule",
            )


def _label(
    axes: Axes,
    edge: float,
    by: float,
    order: int,
    text: str,
    side: str,
    colour: str = "black",
    headed: bool = False,
) -> None:
    """Writes beside the axes' edge at 0 or 1, so many points from it; what is `headed` may lie over it."""
    if not text:
        return
    width, _ = size_in_points(axes)
    axes.text(
        edge + by / width,
        order,
        text,
        transform=blended_transform_factory(axes.transAxes, axes.transData),
        fontsize=style.SMALL,
        color=colour,
        ha=side,
        va="center_baseline",
        gid="row",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3} if headed else None,
    )


def _shift(dot: Dot, dots: Sequence[Dot]) -> float:
    """Machines below one another within a row; what is of one machine on one line."""
    there = sorted({one.machine.index for one in dots})
    if dot.aside and len(there) == 1:
        return APART
    return APART * (there.index(dot.machine.index) - (len(there) - 1) / 2) if len(there) > 1 else 0.0


def _whiskers(axes: Axes, there: Sequence[tuple[Dot, float]]) -> None:
    """The dots' intervals, those of a colour at once."""
    alike: dict[tuple[str, bool], list[tuple[Dot, float]]] = defaultdict(list)
    for dot, at in there:
        if dot.value.high > dot.value.low:
            alike[dot.method, dot.aside].append((dot, at))
    for (method, aside), own in alike.items():
        values = [dot.value for dot, _ in own]
        axes.errorbar(
            [value.value for value in values],
            [at for _, at in own],
            xerr=[
                [max(0.0, value.value - value.low) for value in values],
                [max(0.0, value.high - value.value) for value in values],
            ],
            fmt="none",
            ecolor=style.colour(method),
            elinewidth=0.9,
            capsize=1.8,
            capthick=0.7,
            zorder=2.8 if aside else 3,
        )


def _dot(axes: Axes, dot: Dot, at: float, several: bool) -> None:
    colour = style.colour(dot.method)
    ring = dot.label == "modelled"
    size = style.RING["markersize"] if ring else MARK * (1.2 if dot.flags else 1)
    axes.plot(
        [dot.value.value],
        [at],
        linestyle="none",
        marker=style.marker(dot.machine.index),
        markersize=size * (0.9 if several else 1) * (0.8 if dot.aside else 1),
        markerfacecolor="white" if dot.flags or ring else colour,
        markeredgecolor=colour,
        markeredgewidth=0.9 if dot.flags or ring else 0.3,
        zorder=2.9 if dot.aside or ring else 3.2,
        gid="dot",
    )


THICK = 0.74  # of a row: a lane's boxes


def draw_spans(axes: Axes, panel: SpanPanel) -> None:
    """A box for each step of a lane, with its number where there is room; behind it how much it works."""
    names = _make_room(axes, panel.rows, [row.working.text for row in panel.rows])
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.set_yticks([])
    axes.set_xlim(*panel.x_range)
    axes.xaxis.set_major_locator(MaxNLocator(TIMES))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(panel.x_label)
    _rows(axes, panel.rows, names)
    for order, row in enumerate(panel.rows):
        _boxes(axes, row, order)
        _label(axes, 1, GAP, order, row.working.text, "left", style.GREY)


def _boxes(axes: Axes, row: SpanRow, order: int) -> None:
    colour, (width, _) = style.colour(row.method), size_in_points(axes)
    low, high = axes.get_xlim()
    for span in row.spans:
        place = (span.begin, order - THICK / 2), span.end - span.begin, THICK
        box = Rectangle(*place, facecolor=colour, edgecolor="white", linewidth=0.5, zorder=2, gid="span")
        axes.add_patch(box)
        begin, end = max(span.begin, low), min(span.end, high)
        if style.text_width(span.name, style.FINE) + 2 <= (end - begin) / (high - low) * width:
            said = {"ha": "center", "va": "center_baseline", "fontsize": style.FINE, "gid": "span"}
            axes.text((begin + end) / 2, order, span.name, color=style.ink_on(colour), zorder=3, **said)


OWN = "#DDDDDD"
EMPTY = "#FFFFFF"


def draw_map(axes: Axes, panel: MapPanel) -> None:
    """Cells coloured from nothing to the fastest pair, a GPU with itself in grey; sources go down.

    Cells of a method have its colour.
    """
    columns = panel.columns or panel.names
    top = panel.top or max(
        (cell.value.value for row in panel.cells for cell in row if _pair(cell)), default=1.0
    )
    axes.set_xlim(0, len(columns))
    axes.set_ylim(len(panel.names), 0)
    for down, row in enumerate(panel.cells):
        for right, cell in enumerate(row):
            _cell(axes, cell, right, down, top)
    names = panel.names if panel.columns else _names(axes, panel.names)
    for axis, set_ticks, said in (
        (axes.xaxis, axes.set_xticks, panel.columns or names),
        (axes.yaxis, axes.set_yticks, names),
    ):
        set_ticks([at + 0.5 for at in range(len(said))], said)
        axis.set_tick_params(length=0)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _pair(cell: Cell) -> bool:
    return cell.value is not None and not cell.own


def _names(axes: Axes, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, or where they do not fit beside each other only what differs in them."""
    width, _ = scales.size_in_points(axes)
    fits = all(style.text_width(name, style.SMALL) + 4 <= width / len(names) for name in names)
    return names if fits else tuple(name.split()[-1] for name in names)


def _cell(axes: Axes, cell: Cell, right: int, down: int, top: float) -> None:
    colour = OWN if cell.own else EMPTY
    if _pair(cell):
        colour = style.colour(cell.method) if cell.method else style.blend(style.MAP, cell.value.value / top)
    axes.add_patch(
        Rectangle((right, down), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.0, gid="cell")
    )
    width, _ = scales.size_in_points(axes)
    room = width / axes.get_xlim()[1] - 2
    axes.text(
        right + 0.5,
        down + 0.5,
        "\n".join(style.shorten(line, style.FINE, room) for line in cell.text.split("\n")),
        fontsize=style.FINE,
        color=style.ink_on(colour),
        linespacing=1.1,
        ha="center",
        va="center",
        gid="cell",
    )


CELL = 0.24  # inches, of two lines of text


def map_height(panel: MapPanel) -> float:
    """The inches that cells of two lines take."""
    return len(panel.names) * CELL if panel.columns else 0.0


LEAST_GAP = 4.0
SHADE = "#F3F3F3"
LINE = 11.0  # points


def table_height(panel: TablePanel) -> float:
    """The inches that the table takes."""
    return (len(panel.rows) + 1.3) * LINE / 72


def draw_table(axes: Axes, panel: TablePanel) -> None:
    """Writes the table from the top left; columns as wide as their widest text, spread over the panel."""
    axes.set_axis_off()
    axes.set_xticks([])
    axes.set_yticks([])
    width, tall = size_in_points(axes)
    axes.set_xlim(0, width)
    axes.set_ylim(tall, 0)
    lines = table_texts(panel)
    wide = [max(_width(line[at], at == 0) for line in lines) for at in range(len(panel.columns))]
    # A table that is too wide moves together, and loses the ends of its names.
    gap = max(LEAST_GAP, (width - sum(wide)) / max(1, len(wide) - 1))
    wide[0] = min(wide[0], width - sum(wide[1:]) - gap * (len(wide) - 1))
    ink = style.GREY if panel.paper else "#000000"
    for order, line in enumerate(lines):
        middle = (order + 0.5 + (0.3 if order else 0.0)) * LINE
        if order and order % 2 == 0:
            axes.add_patch(
                Rectangle((0, middle - LINE / 2), width, LINE, facecolor=SHADE, linewidth=0, gid="shade")
            )
        left = 0.0
        for at, said in enumerate(line):
            right = at > 0 and panel.right[at - 1]
            axes.text(
                left + (wide[at] if right else 0.0),
                middle,
                style.shorten(said, style.SMALL, wide[at] + 0.5),
                fontsize=style.SMALL,
                weight="bold" if order == 0 else "normal",
                color=ink,
                ha="right" if right else "left",
                va="center",
                gid="table",
            )
            left += wide[at] + gap
    axes.plot([0, width], [1.15 * LINE] * 2, color=style.GREY, linewidth=0.6, gid="rule")


def _width(text: str, first: bool) -> float:
    return max(style.text_width(text, style.SMALL), style.text_width(text, style.SMALL, "bold")) + (
        1 if first else 0
    )
