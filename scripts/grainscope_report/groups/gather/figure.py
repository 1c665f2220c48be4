"""Figure 11: gathers by way and size of rows, what each asks of the link, shares of a GPU.

Dissertation 3.10, 3.12 and 3.13. Measured rates are of the rows asked for; requests and bounds are the
model's, and hatched.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

from grainscope_report.cases import HOST_TO_GPU
from grainscope_report.figures import by_way, parts
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    Figure,
    Level,
    Panel,
    Point,
    exact,
)
from grainscope_report.groups.gather import figure_shares as sm_shares
from grainscope_report.groups.gather import gathers, shares
from grainscope_report.groups.gather import papers as gather_papers
from grainscope_report.groups.gather.gathers import Gather
from grainscope_report.groups.traversal import compare
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, significant

MOST_BARS = 54
MOST_ROWS = 6
SHORT = 8  # times shorter than the longest: a mini-batch whose start decides
FEWEST_SIZES = 3
MODELLED = ("naive", "circular_shift", "masked")
GB_S = "rows asked for (GB/s)"
Found = dict[tuple[str, float], Gather]


def build(machines: Sequence[Machine]) -> Figure:
    """Rates by row, then requests, then shares of the GPU, each beside what the dissertation states."""
    rows: list[tuple[Panel, ...]] = []
    notes: list[str] = []
    curves: list[Panel] = []
    for machine in machines:
        bars, curve = _measured(machine, len(machines) > 1, notes)
        rows += [(bars,)] if bars else []
        curves += [curve] if curve else []
    model = _modelled(machines, notes)
    notes += [gather_papers.WHISKERS] if rows or curves or model else []
    stated = [gather_papers.shares()] if rows or curves or model else []
    small = [*curves, *stated]
    rows += [tuple(small[at : at + 2]) for at in range(0, len(small), 2)]
    rows += [model] if model else []
    below, more = sm_shares.panels(machines)
    return Figure(machines, (*rows, *below), (*dict.fromkeys(notes), *more))


def _measured(machine: Machine, several: bool, notes: list[str]) -> tuple[BarPanel | None, CurvePanel | None]:
    """Bars of rows that several ways gather, and curves over rows that are powers of two."""
    there = gathers.plain(gathers.measured(machine))
    on_gpu = [one for one in there if "gpu" in one.case_row.case.site]
    span = gathers.span_of(on_gpu)
    found = gathers.by_way(on_gpu, span)
    owner = f"{machine.letter}: " if several else ""
    where = f"over {format_bytes(span)}"
    bars = _bars(found, machine, f"{owner}rows at random by every way, {where}")
    curves, short = _curves(found, machine, f"{owner}by size of rows, {where}")
    if bars or curves:
        notes += ["Upright: share of the measured copy peak."] if bars else []
        notes += _about(found, owner)
        notes += _elsewhere(found, span, owner)
        notes += [f"{owner}{short}"] if short and curves else []
        notes += _sites(machine, owner)
    return bars, curves


def _about(found: Found, owner: str) -> list[str]:
    """How many rows there were, and how many of them were different."""
    shares = [one.different for one in found.values() if one.different]
    batches = [one.case_row.bytes for one in found.values() if one.case_row.bytes]
    said = f"{owner}A mini-batch asks for {_range(batches, format_bytes)} of rows at random"
    if shares:
        percents = _range([100 * one for one in shares], lambda one: f"{one:.0f}")
        said += f", of which {percents} % are different ones"
    return [f"{said}; repeated ones may be found in a cache."]


def _elsewhere(found: Found, span: float, owner: str) -> list[str]:
    """Which copies are of another table than the panels' titles say."""
    tables: dict[str, set[float]] = defaultdict(set)
    for (way, _), one in found.items():
        if one.number("span") != span:
            tables[way].add(one.number("span"))
    return [
        f"{owner}Measured over {' and '.join(map(format_bytes, sorted(tables[way])))} only: "
        f"{gathers.spoken(way)}."
        for way in gathers.ways(tables)
    ]


def _sites(machine: Machine, owner: str) -> list[str]:
    rows = [row for row in machine.result.of(gathers.FAMILY) if row.ok and "gpu" in row.case.site]
    sites = sorted({tuple(sorted(row.case.site.items())) for row in rows})
    if len(sites) < 2:
        return []
    return [f"{owner}Gathers of one GPU and node of {len(sites)}; `grainscope-report list` shows all."]


def _range(values: Sequence[float], spell: Callable[[float], str]) -> str:
    low, high = spell(min(values)), spell(max(values))
    return low if low == high else f"{low} to {high}"


def _levels(machine: Machine, one: Gather) -> tuple[Level, ...]:
    curve = Curve("", "", machine, (), site=tuple(sorted(one.case_row.case.site.items())))
    return parts.levels([curve], HOST_TO_GPU)


def _most_ways(found: Found, most: int) -> list[float]:
    """The rows that most kernels gather, then those nearest to a KiB: figure 3.10's; ascending."""
    ways = defaultdict(set)
    for way, row in found:
        if way not in gathers.COPIES:
            ways[row].add(way)
    shared = [row for row in ways if len(ways[row]) > 1]
    return sorted(sorted(shared, key=lambda row: (-len(ways[row]), abs(row - 1024)))[:most])


def _bars(found: Found, machine: Machine, title: str) -> BarPanel | None:
    ways = gathers.ways({way for way, _ in found})
    rows = _most_ways(found, max(2, min(MOST_ROWS, MOST_BARS // max(1, len(ways)))))
    if not rows:
        return None
    ways = [way for way in ways if any((way, row) in found for row in rows)]
    return by_way.bars(
        title,
        [f"{row:g} B" for row in rows],
        [(way, gathers.spoken(way)) for way in ways],
        lambda way, order: _bar(found.get((way, rows[order])), machine),
        (GB_S, "GB/s"),
        _levels(machine, next(iter(found.values()))),
    )


def _bar(one: Gather | None, machine: Machine) -> Bar:
    if one is None or one.asked is None:
        return Bar(None, machine=machine)
    text = f"{100 * one.of_peak:.0f} %" if one.of_peak else significant(one.asked.value)
    return Bar(one.asked, text, one.flags, note=_config(one), machine=machine)


def _config(one: Gather) -> str:
    """What of the gather is not in its way and row."""
    width = f", width {one.number('width'):g}" if one.number("width") else ""
    return f"{one.store}, {one.number('rows'):g} rows, span {format_bytes(one.number('span'))}{width}"


def _curves(found: Found, machine: Machine, title: str) -> tuple[CurvePanel | None, str]:
    """Rates by size of rows, and which are not drawn: of mini-batches so short that their start decides."""
    drawn: list[Curve] = []
    short: dict[tuple[float, int], list[str]] = defaultdict(list)
    for way in gathers.ways({way for way, _ in found}):
        own = {row: one for (other, row), one in sorted(found.items()) if other == way}
        there = [one for row, one in own.items() if _power(row) and one.asked]
        longest = max((one.case_row.bytes or 0 for one in there), default=0)
        for one in (one for one in there if one.case_row.bytes * SHORT < longest):
            short[one.row, one.case_row.bytes].append(gathers.spoken(way))
        there = [one for one in there if one.case_row.bytes * SHORT >= longest]
        if len(there) >= FEWEST_SIZES:
            points = tuple(Point(one.row, one.asked, one.flags) for one in there)
            site = tuple(sorted(there[0].case_row.case.site.items()))
            drawn.append(Curve(gathers.spoken(way), way, machine, points, site=site, config=there[0].store))
    said = [
        f"{format_bytes(row)} by {' and '.join(ways)} (a mini-batch of {format_bytes(size)})"
        for (row, size), ways in sorted(short.items())
    ]
    note = f"Not drawn by size of rows, since its start decides: {'; '.join(said)}." if said else ""
    if not drawn:
        return None, note
    levels = parts.levels(drawn, HOST_TO_GPU)
    return CurvePanel(title, tuple(drawn), GB_S, x_label="bytes of a row", levels=levels), note


def _power(row: float) -> bool:
    return row.is_integer() and int(row) & (int(row) - 1) == 0


def _modelled(machines: Sequence[Machine], notes: list[str]) -> tuple[Panel, ...]:
    """Requests of a row, and the rate that a link allows, of rows within the reach of translations."""
    there = [one for machine in machines for one in gathers.plain(gathers.modelled(machine))]
    there = [one for one in there if one.way in MODELLED]
    if not there:
        return ()
    link = compare.one_link(there)
    of_link = [one for one in there if one.link == link and one.machine is there[0].machine]
    found = gathers.by_way(of_link or there, gathers.span_of(of_link or there))
    rows = _most_ways(found, MOST_ROWS)
    if not rows:
        return ()
    notes.append(
        "Modelled: requests of up to 128 bytes for rows of float32 at random places, without a cache, and "
        "an estimate of the rate that the link allows; masked asks for as few as there can be."
    )
    notes += filter(None, (_how_near(machine, len(machines) > 1) for machine in machines))
    asked = _model_bars(
        found, rows, "requests of a row (modelled)", "requests of a row", "requests", _requests
    )
    rate_title = f"what {compare.link_name(link)} allows (modelled)"
    return asked, _model_bars(found, rows, rate_title, GB_S, "GB/s", lambda one: one.asked)


def _how_near(machine: Machine, several: bool) -> str:
    """What the model's times were of the measured ones, where the file has both."""
    found = gathers.model_over_measured(machine)
    if not found:
        return ""
    low, high = (f"{ratio:.2f}" for ratio in found)
    said = low if low == high else f"{low} to {high}"
    owner = f"{machine.letter}: " if several else ""
    return f"{owner}Modelled over this machine's own link, gathers take {said} of their measured times."


def _requests(one: Gather) -> Estimate | None:
    count = one.counter("requests_per_row")
    return exact(count) if count else None


def _model_bars(
    found: Found, rows: Sequence[float], title: str, y_label: str, y_unit: str, measure: Callable
) -> BarPanel:
    series = []
    for way in gathers.ways({way for way, _ in found}):
        values = [measure(found[way, row]) if (way, row) in found else None for row in rows]
        bars = tuple(Bar(value, f"{value.value:.1f}" if value else "") for value in values)
        series.append(BarSeries(gathers.spoken(way), way, bars, label="modelled", hatched=True))
    names = tuple(f"{row:g} B" for row in rows)
    return BarPanel(title, names, tuple(series), y_label, y_unit, upright=True, height=by_way.HEIGHT)


FIGURES = (
    Entry(
        "11",
        "figure_11_gathers",
        "Gathers by way and size of rows, and by share of the multiprocessors",
        (gathers.FAMILY, gathers.MODEL, shares.GATHER, shares.SPLIT),
        "rows of one size by several modes, or by share,",
        build,
    ),
)
