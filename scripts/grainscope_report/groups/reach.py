"""The translation wall: the gathers of each kind of memory, their knees, the model behind them, and figure
13.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

from grainscope_report import statistics
from grainscope_report.families import UNUSUAL, as_usual
from grainscope_report.figures import parts
from grainscope_report.figures.model import Curve, CurvePanel, Entry, Figure, Mark, Point, Region
from grainscope_report.figures.parts import NEAREST, best_of, curves, grouped, lines, select
from grainscope_report.fits import translation
from grainscope_report.fits.translation import SORTED, Knee, Rows, Translation
from grainscope_report.groups import gather
from grainscope_report.groups.gather import Gather
from grainscope_report.machine import Machine, between, spoken_site
from grainscope_report.model import FROM_PEER, HOST_TO_GPU, Result, Row
from grainscope_report.statistics import Estimate, rate_gb_s
from grainscope_report.units import format_bytes, format_count, format_error

FAMILY = "reach/gather"
ASKED = {"order", "row", "rows", "span"}  # axes that say what a row gathers
ORDERS = ("as_asked", SORTED)
# A rate this near the copy peak fills the link, as far as a kernel can.
FULL = 0.8
# A granule that may be this many times as large is not known.
UNKNOWN = 64
KINDS = {
    "host_alloc": "cudaHostAlloc",
    "registered": "registered pages",
    "transparent_huge": "transparent huge pages",
    "hugetlb": "hugetlb pages",
    "vmm_host": "cuMemCreate on the host",
    "managed_host": "managed memory on the host",
    "peer": "another GPU's memory",
}
MEMORY = tuple(KINDS)
HOST = tuple(kind for kind in MEMORY if kind != "peer")
LINE_BYTES = 128
# Figure 13 is of one GPU that reads alone: its levels are those of one link.
USUAL = dict.fromkeys(UNUSUAL)


Site = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Edge:
    """The knee of one size of row in one order, so many asked for; `full`: small spans fill the link.

    `alone` is false where the run has the same rows with another number of them, too.
    """

    memory: str
    order: str
    row: float
    rows: float
    knee: Knee
    full: bool | None
    alone: bool

    @property
    def what(self) -> str:
        """`128 B rows as asked`, with how many at a time where that varies."""
        count = "" if self.alone else f", {format_count(self.rows)} at a time"
        whose = " of another GPU" if self.memory == "peer" else ""
        return f"{format_bytes(self.row)} rows{whose} {self.order.replace('_', ' ')}{count}"

    @property
    def text(self) -> str:
        """`128 B rows as asked: the link is full for spans up to 645 MiB [640 MiB, 768 MiB]`."""
        span, small = self.knee.span, self.knee.small.value
        holds = "the link is full" if self.full else f"the {small:.1f} GB/s of small spans hold"
        if not self.knee.reached:
            return f"{self.what}: {holds} at every span, up to {format_bytes(span.value)}"
        if not self.knee.known:
            return f"{self.what}: {holds} up to {somewhere(span)}"
        return f"{self.what}: {holds} for spans up to {sizes(span)}"


@dataclass(frozen=True)
class Wall:
    """What one kind of memory at one site comes to; its model is fitted where it is asked for."""

    memory: str
    site: Site
    edges: tuple[Edge, ...]
    gathers: tuple[Rows, ...]
    peak_gb_s: float | None
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def model(self) -> Translation | None:
        """What translates addresses behind the wall, where it shows."""
        return translation.fit(self.gathers, self.peak_gb_s)

    @property
    def where(self) -> str:
        """`cudaHostAlloc, GPU 0, node 0`."""
        return f"{KINDS.get(self.memory, self.memory)}, {spoken_site(self.site)}"

    @property
    def link(self) -> str:
        """Whether it is the wall of the host's memory or of another GPU's."""
        return "peer" if self.memory == "peer" else "host"

    @property
    def short(self) -> str:
        """All of its knees in one line."""
        knees = [f"{edge.what} {_how_far(edge.knee)}" for edge in self.edges]
        if self.model:
            rate = self.model.misses_per_s.value / 1e6
            knees.append(f"{rate:.1f} million misses a second at {format_bytes(self.model.granule.value)}")
        return f"{self.where}: {'; '.join(knees or self._widest())}"

    def _widest(self) -> list[str]:
        """Where there are too few spans for a knee, the rates over the widest."""
        span = max(row.span for row in self.gathers)
        gathers = sorted(
            (row for row in self.gathers if row.span == span), key=lambda row: (row.order, row.row)
        )
        return [f"{gather_text(row)} {row.rate.value:.1f} GB/s" for row in gathers]


def walls_of(result: Result, memories: Sequence[str] = MEMORY) -> list[Wall]:
    """The walls of a run, one for each of these kinds of memory and each site."""
    found: dict[tuple[str, Site], list[Row]] = defaultdict(list)
    for row in result.of(FAMILY):
        if row.case.axes.get("memory") in memories and _asks_as_usual(row):
            key = (str(row.case.axes.get("memory")), row.case.site_key)
            found[key].append(row)
    keys = sorted(found, key=lambda key: (MEMORY.index(key[0]), key[1]))
    return [_wall(result, memory, site, found[memory, site]) for memory, site in keys]


def _asks_as_usual(row: Row) -> bool:
    """Whether a row was measured as usual and says what it gathers; `validate` refuses one that does not."""
    axes = row.case.axes
    return bool(row.measured and row.bytes and as_usual(axes) and axes.keys() >= ASKED)


def _wall(result: Result, memory: str, site: Site, rows: Sequence[Row]) -> Wall:
    gathers = [as_rows(row) for row in rows]
    link = result.link(rows[0].case.ends)
    peak = link.peak_gb_s if link else None
    edges = _edges(memory, gathers, peak)
    return Wall(memory, site, tuple(edges), tuple(gathers), peak, tuple(rows))


def as_rows(measured: Row) -> Rows:
    """A row as the model sees it."""
    axes: Mapping = measured.case.axes
    row, rows, span = float(axes["row"]), float(axes["rows"]), float(axes["span"])
    return Rows(
        order=str(axes["order"]),
        row=row,
        rows=rows,
        unique_rows=measured.counters.get("unique_rows") or translation.expected_unique(rows, span / row),
        span=span,
        time_s=measured.time,
    )


def _edges(memory: str, gathers: Sequence[Rows], peak: float | None) -> list[Edge]:
    curves = grouped(gathers, lambda one: (one.order, one.row, one.rows))
    edges = []
    most = translation.ceiling(gathers, peak)
    for (order, row, rows), there in sorted(curves.items()):
        there.sort(key=lambda one: one.span)
        edge = translation.knee([one.span for one in there], [one.rate for one in there], most)
        if edge:
            full = edge.small.value >= FULL * peak if peak else None
            alone = sum(key[:2] == (order, row) for key in curves) == 1
            edges.append(Edge(memory, order, row, rows, edge, full, alone))
    return edges


def model_text(model: Translation) -> list[str]:
    """What the model says and how well it holds, a sentence each."""
    rate, granule, reach = model.misses_per_s, model.granule, model.reach
    said = (
        f"{rate.value / 1e6:.1f} [{rate.low / 1e6:.1f}, {rate.high / 1e6:.1f}] million translation misses "
        f"a second at {_granule(granule)}, beyond a reach of {sizes(reach)}"
    )
    worst = model.worst
    how = (
        f"the model {'holds' if model.holds else 'does not hold'}: median error "
        f"{100 * model.median_error:.0f} % over the {len(model.wall)} rows in the wall, worst "
        f"{format_error(worst.error)} ({gather_text(worst.gather)})"
    )
    fails = [f"{gather_text(one.gather)} {format_error(one.error)}" for one in model.failing]
    more = [f"it fails by more than a quarter for {'; '.join(fails)}"] if fails else []
    need = f"each miss must bring {format_bytes(model.bytes_a_miss)} for the link to stay full"
    return [said, how, *more, need]


def _how_far(knee: Knee) -> str:
    if not knee.reached:
        return f"beyond {format_bytes(knee.span.value)}"
    return f"to {sizes(knee.span) if knee.known else somewhere(knee.span)}"


def somewhere(value: statistics.Estimate) -> str:
    """`a span between 256 MiB and 1 GiB`: of a knee that is known to an octave or worse."""
    return f"a span between {format_bytes(value.low)} and {format_bytes(value.high)}"


def sizes(value: statistics.Estimate) -> str:
    """`645 MiB [640 MiB, 768 MiB]`, without an interval where there is none."""
    if value.low == value.high:
        return format_bytes(value.value)
    return f"{format_bytes(value.value)} [{format_bytes(value.low)}, {format_bytes(value.high)}]"


def _granule(granule: statistics.Estimate) -> str:
    if granule.high > UNKNOWN * granule.low:
        return "a granule that these rows do not tell (sorted ones over wide spans would)"
    return f"a granule of {sizes(granule)}"


def gather_text(one: Rows) -> str:
    """`128 B as asked over 4 GiB`."""
    return _over(one.row, one.order, one.span)


def _over(row: float, order: str, span: float) -> str:
    return f"{format_bytes(row)} {order.replace('_', ' ')} over {format_bytes(span)}"


@dataclass(frozen=True)
class Remedy:
    """Another way to hold host memory with which rows come faster than from pinned memory, over one span."""

    memory: str
    pinned: Rows
    there: Rows
    small: Rows  # from pinned memory, over the smallest span

    @property
    def times(self) -> Estimate:
        """How many times as fast."""
        return statistics.ratio(self.there.rate, self.pinned.rate)

    @property
    def text(self) -> str:
        """`random 128 B rows over 32 GiB: pinned memory 4.4 GB/s (49.0 over 256 MiB), managed … 43.0`."""
        row, span = format_bytes(self.there.row), format_bytes(self.there.span)
        small = f"{self.small.rate.value:.1f} over {format_bytes(self.small.span)}"
        return (
            f"random {row} rows over {span}: pinned memory {self.pinned.rate.value:.1f} GB/s ({small}), "
            f"{KINDS[self.memory]} {self.there.rate.value:.1f}, {self.times.value:.1f}×: docs/host-memory.md"
        )


# The GPU maps memory by larger pages where rows come this many times as fast.
WORTH_TELLING = 1.25


def remedy(result: Result) -> Remedy | None:
    """What to hold a table in, where rows from pinned memory meet a wall: of the widest span."""
    near = [
        row
        for row in select(result.of(FAMILY), {"order": "as_asked", "locality": NEAREST})
        if _asks_as_usual(row)
    ]
    by_memory: dict[str, dict[tuple[float, float, float], Rows]] = defaultdict(dict)
    for row in near:
        there = as_rows(row)
        by_memory[str(row.case.axes["memory"])].setdefault((there.span, -there.row, there.rows), there)
    pinned = by_memory.pop("host_alloc", {})
    found = []
    for memory in HOST:
        common = sorted(set(pinned) & set(by_memory.get(memory, {})))
        if common:
            key = max(common, key=lambda one: (one[0], one[1] if one[1] <= -LINE_BYTES else -math.inf))
            alike = [one for two, one in pinned.items() if two[1:] == key[1:]]
            small = min(alike, key=lambda one: one.span)
            found.append(Remedy(memory, pinned[key], by_memory[memory][key], small))
    best = max(found, key=lambda one: (one.there.span, one.times.value), default=None)
    return best if best and best.times.low >= WORTH_TELLING else None


@dataclass(frozen=True)
class Readers:
    """Rows of one table that several GPUs ask for at once: GB/s together, and of one GPU alone."""

    gpus: int
    memory: str
    order: str
    row: float
    span: float
    rate_gb_s: float
    alone_gb_s: float
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @property
    def times(self) -> float:
        """How many times as much as one GPU gets."""
        return self.rate_gb_s / self.alone_gb_s

    @property
    def text(self) -> str:
        """`16.7 GB/s, 4.0 × one GPU (128 B as asked over 32 GiB of cudaHostAlloc)`."""
        what = f"{_over(self.row, self.order, self.span)} of {KINDS.get(self.memory, self.memory)}"
        return f"{self.rate_gb_s:.1f} GB/s, {self.times:.1f} × one GPU ({what})"


def readers(result: Result) -> list[Readers]:
    """All such rows with one GPU's beside them, in the order of the file."""
    unusual = set(UNUSUAL) - {"gpus"}
    rows = [
        row
        for row in result.of(FAMILY)
        if row.measured and row.bandwidth_gb_s and unusual.isdisjoint(row.case.axes)
    ]
    alone = {(row.case.without(), row.case.site_key): row for row in rows if "gpus" not in row.case.axes}
    found = []
    for row in (row for row in rows if "gpus" in row.case.axes):
        axes: Mapping = row.case.axes
        if one := alone.get((row.case.without("gpus"), row.case.site_key)):
            what = (str(axes["memory"]), str(axes["order"]), float(axes["row"]), float(axes["span"]))
            found.append(
                Readers(int(axes["gpus"]), *what, row.bandwidth_gb_s, one.bandwidth_gb_s, (row, one))
            )
    return found


def said_of_readers(found: Sequence[Readers]) -> list[str]:
    """A sentence for each number of GPUs, the most first: the most that they get, and rows at random."""
    sentences = []
    for gpus in sorted({one.gpus for one in found}, reverse=True):
        there = [one for one in found if one.gpus == gpus]
        shown = [max(there, key=lambda one: one.rate_gb_s)]
        for memory in MEMORY:
            at_random = [one for one in there if (one.memory, one.order) == (memory, ORDERS[0])]
            shown += [min(at_random, key=_widest_first)] if at_random else []
        rates = "; ".join(one.text for one in dict.fromkeys(shown))
        sentences.append(f"{gpus} GPUs that read one table: at most {rates}")
    return sentences


def _widest_first(one: Readers) -> tuple:
    """Rows over the widest span, of these the smallest that fill a line."""
    return -one.span, one.row < LINE_BYTES, one.row


def said(walls: Sequence[Wall]) -> list[str]:
    """A sentence for the first wall of the host's memory and one for that of another GPU's."""
    first: dict[str, Wall] = {}
    for wall in walls:
        if wall.edges:
            first.setdefault(wall.link, wall)
    return [_sentence(one) for _, one in sorted(first.items())]


def _sentence(wall: Wall) -> str:
    # Whose memory it is stands before all of them.
    knees = "; ".join(f"{edge.what} {_reach(edge)}" for edge in _nearest(wall)).replace(" of another GPU", "")
    widest = max(gather.span for gather in wall.gathers)
    gathers = [gather for gather in wall.gathers if gather.span == widest]
    slowest = min(gathers, key=lambda gather: gather.rate.value)
    what = gather_text(slowest).partition(" over ")[0]
    whose = "another GPU's memory" if wall.link == "peer" else "host memory"
    return (
        f"Random rows in {whose} keep the rate of small spans: {knees}. The slowest over "
        f"{format_bytes(widest)}, {what}, come at {slowest.rate.value:.1f} GB/s"
    )


def _nearest(wall: Wall) -> Iterator[Edge]:
    """Of each order the smallest rows; then the first larger ones that meet no wall."""
    for order in ORDERS:
        edges = sorted((edge for edge in wall.edges if edge.order == order), key=lambda edge: edge.row)
        yield from edges[:1]
        yield from [edge for edge in edges[1:] if not edge.knee.reached][:1]


def _reach(edge: Edge) -> str:
    span = edge.knee.span
    if not edge.knee.reached:
        return f"at every span, up to {format_bytes(span.value)}"
    return f"up to {sizes(span) if edge.knee.known else somewhere(span)}"


SPOKEN_ORDERS = {"as_asked": "as asked", "sorted": "sorted by address"}
UNIQUE = "distinct rows only"
# Fewer distinct bytes than this share of those asked for are worth a line of their own.
WORTH = 0.98
STEPS_OF_MODEL = 60


def build(machines: Sequence[Machine]) -> Figure:
    """A curve for each size of row, as asked and sorted; kinds of memory below; another GPU's memory last."""
    memory = next((kind for kind in HOST if _rows(machines, {"memory": kind})), None)
    shown = [one for one in (memory, "peer") if one]
    walls = {machine.index: walls_of(machine.result, shown) for machine in machines}
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
    return [row for machine in machines for row in select(machine.result.of(FAMILY), USUAL | where)]


def _values(machines: Sequence[Machine], axis: str, where: dict) -> list:
    return sorted({row.case.axes[axis] for row in _rows(machines, where) if axis in row.case.axes})


def _orders(machines: Sequence[Machine], memory: str, walls: dict) -> list[CurvePanel | None]:
    return [_by_row(machines, memory, order, walls) for order in SPOKEN_ORDERS]


def _near(memory: str) -> dict:
    near = {} if memory == "peer" else {"locality": NEAREST}
    return {**USUAL, "memory": memory, **near}


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
    title = f"{SPOKEN_ORDERS[order]}, {KINDS[memory]}"
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
    for curve in asked:
        same = [two for two in distinct if (two.machine, two.site) == (curve.machine, curve.site)]
        kept += [two for two in map(lambda two, one=curve: _where_fewer(one, two), same) if two]
    return [*asked, *kept]


def _other_batches(machines: Sequence[Machine], where: dict, main: set[float], name: str) -> list[Curve]:
    """The same rows with another number of them at a time, the more the darker: sorted, it decides."""
    others = [rows for rows in _values(machines, "rows", where) if rows not in main]
    all_curves: list[Curve] = []
    for order, rows in enumerate(others):
        method = f"step {order} of {len(others)}"
        said = f"{name}, {format_count(rows)} at a time"
        more = curves(machines, FAMILY, {**where, "rows": rows}, name=said, method=method, x="span").curves
        all_curves += [replace(curve, dash="dashed", config=said) for curve in more]
    return all_curves


def _unique(time_s: Estimate, row: Row) -> Estimate | None:
    there = row.counters.get("unique_bytes", row.link_bytes_least)
    return rate_gb_s(time_s, there) if there else None


def _where_fewer(asked: Curve, distinct: Curve) -> Curve | None:
    """The part of a curve of distinct rows in which it can be told from that of all, and one point more."""
    rates = dict(zip(asked.x, asked.y, strict=True))
    fewer = [
        at
        for at, point in enumerate(distinct.points)
        if point.x in rates and point.y.value < WORTH * rates[point.x].value
    ]
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


def _knee(edge: Edge, curve: Curve) -> Region:
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
    panels = []
    for order, spoken in SPOKEN_ORDERS.items():
        drawn: list[Curve] = []
        for kind in HOST:
            where = {**_near(kind), "order": order, "row": size}
            drawn += curves(machines, FAMILY, where, name=KINDS[kind], method=kind, x="span").curves
        title = f"{spoken}, {format_bytes(size)} rows, kinds of memory"
        levels = parts.levels(drawn, HOST_TO_GPU)
        panel = CurvePanel(
            title, tuple(drawn), x_label="span", y_label="rows asked for (GB/s)", levels=levels
        )
        panels.append(panel if drawn else None)
    return panels


def _models(machines: Sequence[Machine], walls: dict, memory: str | None) -> list[str]:
    notes = []
    for machine in machines:
        owner = parts.owner(machine, len(machines) > 1)
        first: dict[str, Wall] = {}
        for one in walls[machine.index]:
            if one.memory in (memory, "peer") and one.model:
                first.setdefault(one.memory, one)
        for one in first.values():
            notes.append(f"{owner}Model, {one.where}: {'; '.join(model_text(one.model))}.")
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
        for one in gather.measured(machine)
        if one.way in WAYS and one.store == "mapped" and one.word("indices") == "uniform" and one.asked
    ]
    rows = sorted({one.row for one in found})
    windows = sorted({one.number("window") for one in found if one.number("window") > 1})
    drawn = [_way_panel(row, [one for one in found if one.row == row], windows) for row in rows]
    return tuple(panel for panel in drawn if panel)[:MOST_PANELS]


def _way_panel(row: float, gathers: Sequence[Gather], windows: Sequence[float]) -> CurvePanel | None:
    """Looking ahead over more mini-batches at once is drawn dashed, the more the darker."""
    curves: list[Curve] = []
    reaching: set[str] = set()
    for way in WAYS:
        own = [batch for batch in gathers if batch.way == way]
        for window in sorted({batch.number("window") for batch in own}):
            chosen_gathers = [batch for batch in own if batch.number("window") == window]
            step = f"step {windows.index(window)} of {len(windows)}" if window > 1 else ""
            lines = _way_lines(chosen_gathers, way, window, step)
            reaching |= {way for line in lines if len(line.points) >= FEWEST_SPANS}
            curves += lines
    if len(reaching) < 2:
        return None
    levels = parts.levels(curves, HOST_TO_GPU)
    title = f"rows of {format_bytes(row)} by way to gather them, mapped memory"
    return CurvePanel(title, tuple(curves), "rows asked for (GB/s)", x_label="span", levels=levels)


def _way_lines(gathers: Sequence[Gather], way: str, window: float, step: str) -> list[Curve]:
    """A curve for each machine; of several sizes of batches at a span the largest."""
    name = f"{gather.spoken(way)}, window {window:g}" if window > 1 else gather.spoken(way)
    places = best_of(
        gathers, lambda row: (row.machine.index, row.number("span")), lambda row: row.number("rows")
    )
    dash = "dashed" if step else "solid"
    measure = attrgetter("asked")
    return lines(places.values(), lambda one: one.number("span"), measure, name, step or way, dash)


FIGURES = (
    Entry("13", "figure_13_translation_wall",
          "The translation wall: rows at random against the bytes they lie over", (FAMILY,), "rows", build,
          beside=(gather.FAMILY,)),
)  # fmt: skip
