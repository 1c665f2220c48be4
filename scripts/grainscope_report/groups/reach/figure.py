"""Figure 13: the translation wall: rows gathered at random against the bytes that they lie over.

Below stand ways to gather by those bytes: what looking ahead buys back.
"""

from collections.abc import Sequence
from dataclasses import replace

from grainscope_report.figures import parts
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Curve, CurvePanel, Figure, Mark, Point, Region
from grainscope_report.figures.series import NEAREST, curves, select
from grainscope_report.fits.translation import SORTED, Translation
from grainscope_report.groups.gather import gathers
from grainscope_report.groups.gather.gathers import Gather
from grainscope_report.groups.reach import walls as wall
from grainscope_report.machine import Machine, between
from grainscope_report.model import FROM_PEER, HOST_TO_GPU, Row
from grainscope_report.statistics import Estimate, rate_gb_s
from grainscope_report.units import format_bytes, format_count

FAMILY = wall.FAMILY
ORDERS = {"as_asked": "as asked", "sorted": "sorted by address"}
HOST = tuple(kind for kind in wall.MEMORY if kind != "peer")
UNIQUE = "distinct rows only"
# Fewer distinct bytes than this share of those asked for are worth a line of their own.
WORTH = 0.98
STEPS_OF_MODEL = 60


def build(machines: Sequence[Machine]) -> Figure:
    """A curve for each size of row, as asked and sorted; kinds of memory below; another GPU's memory last."""
    memory = next((kind for kind in HOST if _rows(machines, {"memory": kind})), None)
    shown = [one for one in (memory, "peer") if one]
    walls = {machine.index: wall.walls(machine.result, shown) for machine in machines}
    panels = [_orders(machines, one, walls) for one in shown]
    ways = _ways(machines)
    if not ways and not any(panel for row in panels for panel in row):
        return Figure(machines, ())
    rows, letters = parts.lettered([*panels[:1], _kinds(machines), *panels[1:]], len(machines) > 1)
    notes = [*letters, *_models(machines, walls, memory), *(_explained(machines, rows) if rows else [])]
    rows, notes = ((*rows, ways), [*notes, NOTE_ON_WAYS]) if ways else (rows, notes)
    said = [f"{machine.letter}: {between(machine.result)}" for machine in machines]
    subtitle = said if len(machines) > 1 else [between(machines[0].result)]
    return Figure(machines, rows, tuple(notes), subtitle=tuple(subtitle))


def _rows(machines: Sequence[Machine], where: dict) -> list[Row]:
    return [row for machine in machines for row in select(machine.result.of(FAMILY), where)]


def _values(machines: Sequence[Machine], axis: str, where: dict) -> list:
    return sorted({row.case.axes[axis] for row in _rows(machines, where) if axis in row.case.axes})


def _orders(machines: Sequence[Machine], memory: str, walls: dict) -> list[CurvePanel | None]:
    return [_by_row(machines, memory, order, walls) for order in ORDERS]


def _near(memory: str) -> dict:
    return {"memory": memory} if memory == "peer" else {"memory": memory, "locality": NEAREST}


def _by_row(machines: Sequence[Machine], memory: str, order: str, walls: dict) -> CurvePanel | None:
    where = {**_near(memory), "order": order}
    # Of all rows, whatever their order and memory, so that a size has one colour in all panels.
    sizes = _values(machines, "row", {})
    drawn: list[Curve] = []
    for at, size in enumerate(sizes):
        name, method = f"{format_bytes(size)} rows", f"row {at} of {len(sizes)}"
        drawn += _asked_and_unique(machines, {**where, "row": size}, name, method)
        if order == SORTED:
            main = {dict(curve.axes)["rows"] for curve in drawn if curve.method == method}
            drawn += _other_batches(machines, {**where, "row": size}, main, name)
    if not drawn:
        return None
    found = [_fitted(walls, memory, curve) for curve in drawn]
    direction = FROM_PEER if memory == "peer" else HOST_TO_GPU
    title = f"{ORDERS[order]}, {wall.KINDS[memory]}"
    return CurvePanel(
        title,
        (*drawn, *(line for line, _, _ in found if line)),
        x_label="span",
        y_label="rows asked for (GB/s)",
        levels=parts.levels(drawn, direction),
        marks=tuple({mark.machine.index: mark for _, _, mark in found if mark}.values()),
        regions=tuple(region for _, region, _ in found if region),
    )


def _asked_and_unique(machines: Sequence[Machine], where: dict, name: str, method: str) -> list[Curve]:
    asked = curves(machines, FAMILY, where, name=name, method=method, x="span").curves
    distinct = curves(
        machines, FAMILY, where, name=UNIQUE, method=method, x="span", measure=_unique, dash="dashed"
    ).curves
    kept = []
    for one in asked:
        same = [two for two in distinct if (two.machine, two.site) == (one.machine, one.site)]
        kept += [two for two in map(lambda two, one=one: _where_fewer(one, two), same) if two]
    return [*asked, *kept]


def _other_batches(machines: Sequence[Machine], where: dict, main: set[float], name: str) -> list[Curve]:
    """The same rows with another number of them at a time, the more the darker: sorted, it decides."""
    others = [rows for rows in _values(machines, "rows", where) if rows not in main]
    found: list[Curve] = []
    for order, rows in enumerate(others):
        method = f"step {order} of {len(others)}"
        said = f"{name}, {format_count(rows)} at a time"
        more = curves(machines, FAMILY, {**where, "rows": rows}, name=said, method=method, x="span").curves
        found += [replace(curve, dash="dashed", config=said) for curve in more]
    return found


def _unique(time_s: Estimate, row: Row) -> Estimate | None:
    there = row.counters.get("unique_bytes", row.link_bytes_least)
    return rate_gb_s(time_s, there) if there else None


def _where_fewer(asked: Curve, distinct: Curve) -> Curve | None:
    """The part of a curve of distinct rows in which it can be told from that of all, and one point more."""
    rates = dict(zip(asked.x, asked.y, strict=True))
    fewer = [at for at, point in enumerate(distinct.points) if point.y.value < WORTH * rates[point.x].value]
    if not fewer:
        return None
    kept = distinct.points[fewer[0] : fewer[-1] + 2]
    return replace(distinct, points=kept, marked=len(kept) == 1)


def _fitted(walls: dict, memory: str, curve: Curve) -> tuple[Curve | None, Region | None, Mark | None]:
    """The model's line, the knee and the reach beside a measured curve."""
    if not curve.primary or curve.dash == "dashed":
        return None, None, None
    there = next(
        (one for one in walls[curve.machine.index] if (one.memory, one.site) == (memory, curve.site)), None
    )
    if there is None:
        return None, None, None
    axes = dict(curve.axes)
    key = axes["order"], axes["row"], axes["rows"]
    edge = next((one for one in there.edges if (one.order, one.row, one.rows) == key), None)
    region = _knee(edge, curve) if edge and edge.knee.reached else None
    if there.model is None:
        return None, region, None
    mark = Mark("reach", there.model.reach.value, curve.machine, "reach")
    return _line(there.model, key, curve), region, mark


def _knee(edge: wall.Edge, curve: Curve) -> Region:
    span, at = edge.knee.span, edge.knee.span.value if edge.knee.known else None
    return Region("knee", span.low, span.high, edge.text, at, machine=curve.machine, method=curve.method)


def _line(model: Translation, key: tuple[str, float, float], curve: Curve) -> Curve:
    low, high = min(curve.x), max(curve.x)
    spans = [low * (high / low) ** (step / STEPS_OF_MODEL) for step in range(STEPS_OF_MODEL + 1)]
    points = tuple(
        Point(span, Estimate(rate, rate, rate)) for span in spans if (rate := model.rate(*key, span))
    )
    return replace(curve, name="fitted model", points=points, dash="dotted", label="modelled", marked=False)


def _kinds(machines: Sequence[Machine]) -> list[CurvePanel | None]:
    """The kinds of host memory for one size of row: the smallest that most of them have."""
    counts = {
        size: len({kind for kind in _values(machines, "memory", {"row": size}) if kind in HOST})
        for size in _values(machines, "row", {})
    }
    if max(counts.values(), default=0) < 2:
        return []
    size = max(counts, key=lambda one: (counts[one], -one))
    found = []
    for order, spoken in ORDERS.items():
        drawn: list[Curve] = []
        for kind in HOST:
            where = {**_near(kind), "order": order, "row": size}
            drawn += curves(machines, FAMILY, where, name=wall.KINDS[kind], method=kind, x="span").curves
        title = f"{spoken}, {format_bytes(size)} rows, kinds of memory"
        levels = parts.levels(drawn, HOST_TO_GPU)
        panel = CurvePanel(
            title, tuple(drawn), x_label="span", y_label="rows asked for (GB/s)", levels=levels
        )
        found.append(panel if drawn else None)
    return found


def _models(machines: Sequence[Machine], walls: dict, memory: str | None) -> list[str]:
    notes = []
    for machine in machines:
        owner = f"{machine.letter}: " if len(machines) > 1 else ""
        first: dict[str, wall.Wall] = {}
        for one in walls[machine.index]:
            if one.memory in (memory, "peer") and one.model:
                first.setdefault(one.memory, one)
        for one in first.values():
            notes.append(f"{owner}Model, {one.where}: {'; '.join(wall.model_text(one.model))}.")
    return notes


def _explained(machines: Sequence[Machine], rows: Sequence[Sequence[CurvePanel]]) -> list[str]:
    counts = [
        f"{format_count(max(_values(machines, 'rows', {'row': size})))} of {format_bytes(size)}"
        for size in _values(machines, "row", {})
    ]
    drawn = [curve for row in rows for panel in row for curve in panel.curves]
    notes = [f"Rows asked for at a time, at most: {', '.join(counts)}."]
    if any(curve.name == UNIQUE for curve in drawn):
        notes.append(
            "Dashed, no markers: distinct rows only; repeated ones hit in cache and may beat the link."
        )
    return notes


WAYS = ("masked_wide", "graphbolt", "address_ordered")
FEWEST_SPANS = 2
MOST_PANELS = 2
NOTE_ON_WAYS = (
    "Ways: masked gathers rows as asked, GraphBolt sorts each mini-batch, address-ordered sorts those of a "
    "window together; sorting is in the time, and rows are delivered in the asked order."
)


def _ways(machines: Sequence[Machine]) -> tuple[CurvePanel, ...]:
    """A panel for each of the smallest sizes of row whose gathers reach over several spans."""
    found = [
        one
        for machine in machines
        for one in gathers.measured(machine)
        if one.way in WAYS and one.store == "mapped" and one.word("indices") == "uniform" and one.asked
    ]
    rows = sorted({one.row for one in found})
    windows = sorted({one.number("window") for one in found if one.number("window") > 1})
    drawn = [_way_panel(row, [one for one in found if one.row == row], windows) for row in rows]
    return tuple(panel for panel in drawn if panel)[:MOST_PANELS]


def _way_panel(row: float, found: Sequence[Gather], windows: Sequence[float]) -> CurvePanel | None:
    """Looking ahead over more mini-batches at once is drawn dashed, the more the darker."""
    curves: list[Curve] = []
    reaching: set[str] = set()
    for way in WAYS:
        own = [one for one in found if one.way == way]
        for window in sorted({one.number("window") for one in own}):
            there = [one for one in own if one.number("window") == window]
            step = f"step {windows.index(window)} of {len(windows)}" if window > 1 else ""
            lines = _way_lines(there, way, window, step)
            reaching |= {way for line in lines if len(line.points) >= FEWEST_SPANS}
            curves += lines
    if len(reaching) < 2:
        return None
    levels = parts.levels(curves, HOST_TO_GPU)
    title = f"rows of {format_bytes(row)} by way to gather them, mapped memory"
    return CurvePanel(title, tuple(curves), "rows asked for (GB/s)", x_label="span", levels=levels)


def _way_lines(found: Sequence[Gather], way: str, window: float, step: str) -> list[Curve]:
    """A curve for each machine; of several sizes of batches at a span the largest."""
    name = f"{gathers.spoken(way)}, window {window:g}" if window > 1 else gathers.spoken(way)
    drawn = []
    for machine in {one.machine.index: one.machine for one in found}.values():
        largest: dict[float, Gather] = {}
        for one in (one for one in found if one.machine is machine):
            span = one.number("span")
            if span not in largest or one.number("rows") > largest[span].number("rows"):
                largest[span] = one
        points = tuple(Point(span, one.asked, one.flags) for span, one in sorted(largest.items()))
        site = tuple(sorted(next(iter(largest.values())).case_row.case.site.items()))
        dash = "dashed" if step else "solid"
        drawn.append(Curve(name, step or way, machine, points, dash=dash, site=site))
    return drawn


FIGURES = (
    Entry(
        "13",
        "figure_13_translation_wall",
        "The translation wall: rows at random against the bytes they lie over",
        (FAMILY,),
        "rows",
        build,
        beside=(gathers.FAMILY,),
    ),
)
