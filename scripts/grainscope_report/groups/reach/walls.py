"""The translation wall of a run: the gathers of each kind of memory, their knees, the model behind them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from grainscope_report import statistics
from grainscope_report.fits import knee, translation, translation_fit
from grainscope_report.fits.knee import Knee
from grainscope_report.fits.translation import SORTED, Gather, Translation
from grainscope_report.machine import spoken_site
from grainscope_report.model import Result, Row
from grainscope_report.units import format_bytes, format_count, format_error

FAMILY = "reach/gather"
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
    "peer": "another GPU's memory",
}
MEMORY = tuple(KINDS)
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
    gathers: tuple[Gather, ...]
    peak_gb_s: float | None

    @cached_property
    def model(self) -> Translation | None:
        """What translates addresses behind the wall, where it shows."""
        return translation_fit.fit(self.gathers, self.peak_gb_s)

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
        span = max(one.span for one in self.gathers)
        there = sorted(
            (one for one in self.gathers if one.span == span), key=lambda one: (one.order, one.row)
        )
        return [f"{gather_text(one)} {one.rate.value:.1f} GB/s" for one in there]


def walls(result: Result, memories: Sequence[str] = MEMORY) -> list[Wall]:
    """The walls of a run, one for each of these kinds of memory and each site."""
    found: dict[tuple[str, Site], list[Row]] = defaultdict(list)
    for row in result.of(FAMILY):
        if row.case.axes.get("memory") in memories and row.measured and row.bytes:
            key = (str(row.case.axes.get("memory")), tuple(sorted(row.case.site.items())))
            found[key].append(row)
    keys = sorted(found, key=lambda key: (MEMORY.index(key[0]), key[1]))
    return [_wall(result, memory, site, found[memory, site]) for memory, site in keys]


def _wall(result: Result, memory: str, site: Site, rows: Sequence[Row]) -> Wall:
    gathers = [gather(row) for row in rows]
    link = result.link(rows[0].case.ends)
    peak = link.peak_gb_s if link else None
    edges = _edges(memory, gathers, peak)
    return Wall(memory, site, tuple(edges), tuple(gathers), peak)


def gather(measured: Row) -> Gather:
    """A row as the model sees it."""
    axes: Mapping = measured.case.axes
    row, rows, span = float(axes["row"]), float(axes["rows"]), float(axes["span"])
    return Gather(
        order=str(axes["order"]),
        row=row,
        rows=rows,
        unique_rows=measured.counters.get("unique_rows") or translation.expected_unique(rows, span / row),
        span=span,
        time_s=measured.time,
    )


def _edges(memory: str, gathers: Sequence[Gather], peak: float | None) -> list[Edge]:
    curves: dict[tuple[str, float, float], list[Gather]] = defaultdict(list)
    for one in gathers:
        curves[one.order, one.row, one.rows].append(one)
    found = []
    most = translation_fit.ceiling(gathers, peak)
    for (order, row, rows), there in sorted(curves.items()):
        there.sort(key=lambda one: one.span)
        edge = knee.knee([one.span for one in there], [one.rate for one in there], most)
        if edge:
            full = edge.small.value >= FULL * peak if peak else None
            alone = sum(key[:2] == (order, row) for key in curves) == 1
            found.append(Edge(memory, order, row, rows, edge, full, alone))
    return found


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


def _how_far(one: Knee) -> str:
    if not one.reached:
        return f"beyond {format_bytes(one.span.value)}"
    return f"to {sizes(one.span) if one.known else somewhere(one.span)}"


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


def gather_text(one: Gather) -> str:
    """`128 B as asked over 4 GiB`."""
    return f"{format_bytes(one.row)} {one.order.replace('_', ' ')} over {format_bytes(one.span)}"


def said(found: Sequence[Wall]) -> list[str]:
    """A sentence for the first wall of the host's memory and one for that of another GPU's."""
    first: dict[str, Wall] = {}
    for one in found:
        if one.edges:
            first.setdefault(one.link, one)
    return [_sentence(one) for _, one in sorted(first.items())]


def _sentence(one: Wall) -> str:
    # Whose memory it is stands before all of them.
    knees = "; ".join(f"{edge.what} {_reach(edge)}" for edge in _nearest(one)).replace(" of another GPU", "")
    widest = max(gather.span for gather in one.gathers)
    there = [gather for gather in one.gathers if gather.span == widest]
    slowest = min(there, key=lambda gather: gather.rate.value)
    what = gather_text(slowest).partition(" over ")[0]
    whose = "another GPU's memory" if one.link == "peer" else "host memory"
    return (
        f"Random rows in {whose} keep the rate of small spans: {knees}. The slowest over "
        f"{format_bytes(widest)}, {what}, come at {slowest.rate.value:.1f} GB/s"
    )


def _nearest(one: Wall) -> Iterator[Edge]:
    """Of each order the smallest rows; then the first larger ones that meet no wall."""
    for order in ORDERS:
        there = sorted((edge for edge in one.edges if edge.order == order), key=lambda edge: edge.row)
        yield from there[:1]
        yield from [edge for edge in there[1:] if not edge.knee.reached][:1]


def _reach(edge: Edge) -> str:
    span = edge.knee.span
    if not edge.knee.reached:
        return f"at every span, up to {format_bytes(span.value)}"
    return f"up to {sizes(span) if edge.knee.known else somewhere(span)}"
