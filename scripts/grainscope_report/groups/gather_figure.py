"""Figure 11: gathers by way and size of rows, what each asks of the link, shares of a GPU.

Dissertation 3.10, 3.12 and 3.13. Measured rates are of the rows asked for; requests and bounds are the
model's, and hatched. What the dissertation states of gathers, shares and training stands beside ours.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    Entry,
    Figure,
    Level,
    Panel,
    Point,
    exact,
)
from grainscope_report.figures.parts import by_machine, exact_counter, lines
from grainscope_report.groups import gather, traversal
from grainscope_report.groups.gather import Gather, Share
from grainscope_report.machine import Machine
from grainscope_report.model import HOST_TO_GPU
from grainscope_report.resources import DISSERTATION, Number, paper
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
    notes += [WHISKERS] if rows or curves or model else []
    stated = [stated_gathers()] if rows or curves or model else []
    small = [*curves, *stated]
    rows += parts.in_pairs(small)
    rows += model
    below, more = share_panels(machines)
    return Figure(machines, (*rows, *below), (*dict.fromkeys(notes), *more))


def _measured(machine: Machine, several: bool, notes: list[str]) -> tuple[BarPanel | None, CurvePanel | None]:
    """Bars of rows that several ways gather, and curves over rows that are powers of two."""
    gathers = gather.plain(gather.measured(machine))
    on_gpu = [row for row in gathers if "gpu" in row.case_row.case.site]
    span = gather.span_of(on_gpu)
    found = gather.by_way(on_gpu, span)
    owner = parts.owner(machine, several)
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


def _about(all_found: Found, owner: str) -> list[str]:
    """How many rows there were, and how many of them were different."""
    shares = [batch.different for batch in all_found.values() if batch.different]
    batches = [batch.case_row.bytes for batch in all_found.values() if batch.case_row.bytes]
    said = f"{owner}A mini-batch asks for {_range(batches, format_bytes)} of rows at random"
    if shares:
        percents = _range([100 * batch for batch in shares], lambda batch: f"{batch:.0f}")
        said += f", of which {percents} % are different ones"
    return [f"{said}; repeated ones may be found in a cache."]


def _elsewhere(all_found: Found, span: float, owner: str) -> list[str]:
    """Which copies are of another table than the panels' titles say."""
    tables: dict[str, set[float]] = defaultdict(set)
    for (way, _), batch in all_found.items():
        if batch.number("span") != span:
            tables[way].add(batch.number("span"))
    return [
        f"{owner}Measured over {' and '.join(map(format_bytes, sorted(tables[way])))} only: "
        f"{gather.spoken(way)}."
        for way in gather.ways(tables)
    ]


def _sites(machine: Machine, owner: str) -> list[str]:
    rows = [row for row in machine.result.of(gather.FAMILY) if row.ok and "gpu" in row.case.site]
    sites = sorted({row.case.site_key for row in rows})
    if len(sites) < 2:
        return []
    return [f"{owner}Gathers of one GPU and node of {len(sites)}; `grainscope-report list` shows all."]


def _range(values: Sequence[float], spell: Callable[[float], str]) -> str:
    low, high = spell(min(values)), spell(max(values))
    return low if low == high else f"{low} to {high}"


def _levels(machine: Machine, batch: Gather) -> tuple[Level, ...]:
    curve = Curve("", "", machine, (), site=batch.case_row.case.site_key)
    return parts.levels([curve], HOST_TO_GPU)


def _most_ways(all_found: Found, most: int) -> list[float]:
    """The rows that most kernels gather, then those nearest to a KiB: figure 3.10's; ascending."""
    ways = defaultdict(set)
    for way, row in all_found:
        if way not in gather.COPIES:
            ways[row].add(way)
    shared = [row for row in ways if len(ways[row]) > 1]
    return sorted(sorted(shared, key=lambda row: (-len(ways[row]), abs(row - 1024)))[:most])


def _bars(all_found: Found, machine: Machine, title: str) -> BarPanel | None:
    ways = gather.ways({way for way, _ in all_found})
    rows = _most_ways(all_found, max(2, min(MOST_ROWS, MOST_BARS // max(1, len(ways)))))
    if not rows:
        return None
    ways = [way for way in ways if any((way, row) in all_found for row in rows)]
    return parts.bars_by_way(
        title,
        [f"{row:g} B" for row in rows],
        [(way, gather.spoken(way)) for way in ways],
        lambda way, order: _bar(all_found.get((way, rows[order])), machine),
        (GB_S, "GB/s"),
        _levels(machine, next(iter(all_found.values()))),
    )


def _bar(batch: Gather | None, machine: Machine) -> Bar:
    if batch is None or batch.asked is None:
        return Bar(None, machine=machine)
    text = f"{100 * batch.of_peak:.0f} %" if batch.of_peak else significant(batch.asked.value)
    return Bar(batch.asked, text, batch.flags, note=_config(batch), machine=machine)


def _config(batch: Gather) -> str:
    """What of the gather is not in its way and row."""
    width = f", width {batch.number('width'):g}" if batch.number("width") else ""
    return f"{batch.store}, {batch.number('rows'):g} rows, span {format_bytes(batch.number('span'))}{width}"


def _curves(all_found: Found, machine: Machine, title: str) -> tuple[CurvePanel | None, str]:
    """Rates by size of rows, and which are not drawn: of mini-batches so short that their start decides."""
    drawn: list[Curve] = []
    short: dict[tuple[float, int], list[str]] = defaultdict(list)
    for way in gather.ways({way for way, _ in all_found}):
        own = {row: batch for (other, row), batch in sorted(all_found.items()) if other == way}
        there = [batch for row, batch in own.items() if _power(row) and batch.asked]
        longest = max((batch.case_row.bytes or 0 for batch in there), default=0)
        for batch in (batch for batch in there if batch.case_row.bytes * SHORT < longest):
            short[batch.row, batch.case_row.bytes].append(gather.spoken(way))
        there = [batch for batch in there if batch.case_row.bytes * SHORT >= longest]
        if len(there) >= FEWEST_SIZES:
            points = tuple(Point(batch.row, batch.asked, batch.flags) for batch in there)
            site = there[0].case_row.case.site_key
            drawn.append(Curve(gather.spoken(way), way, machine, points, site=site, config=there[0].store))
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


def _modelled(machines: Sequence[Machine], notes: list[str]) -> list[tuple[Panel, ...]]:
    """Requests of a row, and the rate that a link allows, of rows within the reach of translations.

    Each machine's own link has a panel.
    """
    there = [row for machine in machines for row in gather.plain(gather.modelled(machine))]
    there = [batch for batch in there if batch.way in MODELLED]
    if not there:
        return []
    link = traversal.one_link(there)
    by_owner = [
        (machine, gather.by_way(own, gather.span_of(own)))
        for machine, own in by_machine([batch for batch in there if batch.link == link])
    ]
    by_owner = [(machine, found) for machine, found in by_owner if _most_ways(found, MOST_ROWS)]
    if not by_owner:
        return []
    notes.append(
        "Modelled: requests of up to 128 bytes for rows of float32 at random places, without a cache, and "
        "an estimate of the rate that the link allows; masked asks for as few as there can be."
    )
    notes += filter(None, (_how_near(machine, len(machines) > 1) for machine in machines))
    asked = _model_bars(
        by_owner[0][1], "requests of a row (modelled)", "requests of a row", "requests", _requests
    )
    title = f"what {traversal.link_name(link)} allows (modelled)"
    rate = (GB_S, "GB/s", lambda batch: batch.asked)
    if link != traversal.HERE:
        # The model says the same of a named link wherever it runs.
        return [(asked, _model_bars(by_owner[0][1], title, *rate))]
    several = len(machines) > 1
    rates = [
        _model_bars(found, f"{parts.owner(machine, several)}{title}", *rate, machine)
        for machine, found in by_owner
    ]
    return [(asked, *rates)] if len(rates) == 1 else [(asked,), *parts.in_pairs(rates)]


def _how_near(machine: Machine, several: bool) -> str:
    """What the model's times were of the measured ones, where the file has both."""
    found = gather.model_over_measured(machine)
    if not found:
        return ""
    low, high = (f"{ratio:.2f}" for ratio in found)
    said = low if low == high else f"{low} to {high}"
    owner = parts.owner(machine, several)
    return f"{owner}Modelled over this machine's own link, gathers take {said} of their measured times."


def _requests(batch: Gather) -> Estimate | None:
    count = batch.counter("requests_per_row")
    return exact(count) if count else None


def _model_bars(
    all_found: Found, title: str, y_label: str, y_unit: str, measure: Callable, machine: Machine | None = None
) -> BarPanel:
    rows = _most_ways(all_found, MOST_ROWS)
    series = []
    for way in gather.ways({way for way, _ in all_found}):
        values = [measure(all_found[way, row]) if (way, row) in all_found else None for row in rows]
        bars = tuple(Bar(value, f"{value.value:.1f}" if value else "", machine=machine) for value in values)
        series.append(BarSeries(gather.spoken(way), way, bars, label="modelled", hatched=True))
    names = tuple(f"{row:g} B" for row in rows)
    return BarPanel(title, names, tuple(series), y_label, y_unit, upright=True, height=parts.WAY_HEIGHT)


SHARE = "share of the multiprocessors that was given (%)"
SIDES = {"gather_slowdown": "gather", "compute_slowdown": "computation"}
DASHES = {"gather_slowdown": "solid", "compute_slowdown": "dashed"}
FEWEST_POINTS = 2
BESIDE = (
    "Beside a computation on the rest, one of each at once: the computation alone takes about as long as the "
    "gather alone. Slowdown: time over that alone with all of the GPU; two of both is no overlap."
)
# As they stand in titles.
BOTH = {gather.PRODUCTS: "both at once", gather.STEPS: "beside training steps, both at once"}
Measure = Callable[[Share], Estimate | None]


def share_panels(machines: Sequence[Machine]) -> tuple[list[tuple[Panel, ...]], list[str]]:
    """The rows of panels and their notes; none without rows of shares."""
    alone = [share for machine in machines for share in gather.alone(machine) if share.percent]
    beside = [share for machine in machines for share in gather.splits(machine) if share.percent]
    rows: list[tuple[Panel, ...]] = []
    notes: list[str] = []
    gathered = tuple(filter(None, (_by_way(alone), _by_width(alone))))
    if gathered:
        rows += [
            gathered,
            (
                stated_sm_rates(),
                stated("SMs that fill PCIe 4, by width of loads", WIDTHS, "share of SMs (%)"),
            ),
        ]
        notes.append(
            "Shares: what the driver says that it gave; of a grid cap the multiprocessors that its blocks "
            "fill."
        )
        notes += _fewest(alone, len(machines) > 1)
    for consumer in gather.CONSUMERS:
        own = [share for share in beside if share.consumer == consumer]
        split = tuple(filter(None, (_batch(own, consumer), _slowdowns(own, consumer))))
        if split:
            rows.append(split)
            notes.append(BESIDE)
            notes += _best(own, consumer, len(machines) > 1)
    return rows, list(dict.fromkeys(notes))


def _widest(shares: Sequence[Share]) -> float:
    """The width of loads of which there are most shares, of several the widest."""
    widths = {share.number("width") for share in shares}

    def rank(width: float) -> tuple[int, float]:
        return sum(share.number("width") == width for share in shares), width

    return max(widths, key=rank, default=0.0)


def _by_way(shares: Sequence[Share]) -> CurvePanel | None:
    width = _widest(shares)
    chosen_shares = [share for share in shares if share.number("width") == width]
    curves = _ways(chosen_shares, lambda share: share.gathered)
    return _share_panel(f"gather alone, loads of {width:g} B, by how the share is made", curves)


def _by_width(shares: Sequence[Share]) -> CurvePanel | None:
    """The widths of loads, of the way that has most of them."""
    kinds = {by: {row.number("width") for row in shares if row.by == by} for by in gather.share_ways(shares)}
    kinds = {by: widths for by, widths in kinds.items() if len(widths) > 1 and by != gather.WHOLE}
    by = max(kinds, key=lambda by: (len(kinds[by]), sum(share.by == by for share in shares)), default="")
    if not by:
        return None
    widths = sorted(kinds[by])
    curves = []
    for at, width in enumerate(widths):
        chosen_shares = [
            row for row in shares if row.number("width") == width and row.by in (by, gather.WHOLE)
        ]
        name, method = f"loads of {width:g} B", f"step {at} of {len(widths)}"
        curves += _lines(chosen_shares, name, method, lambda share: share.gathered)
    return _share_panel(f"gather alone by width of loads, {gather.BY[by]}", curves)


def _batch(shares: Sequence[Share], consumer: str) -> CurvePanel | None:
    curves = _ways(shares, lambda share: share.time.scaled(1e3))
    return _share_panel(
        f"{BOTH[consumer]}: until the later has ended", curves, "time of a mini-batch (ms)", "ms"
    )


def _slowdowns(shares: Sequence[Share], consumer: str) -> CurvePanel | None:
    curves = []
    for counter, side in SIDES.items():
        curves += _ways(shares, exact_counter(counter), DASHES[counter], f", {side}")
    return _share_panel(f"{BOTH[consumer]}: what each side pays", curves, "slowdown over alone", "ratio")


def _ways(shares: Sequence[Share], measure: Measure, dash: str = "solid", more: str = "") -> list[Curve]:
    drawn = []
    for by in gather.share_ways(shares):
        chosen_shares = [share for share in shares if share.by == by]
        drawn += _lines(chosen_shares, f"{gather.BY.get(by, by)}{more}", by, measure, dash)
    return drawn


def _lines(
    shares: Sequence[Share], name: str, method: str, measure: Measure, dash: str = "solid"
) -> list[Curve]:
    """A curve for each machine."""
    return lines(shares, lambda share: share.percent, measure, name, method, dash)


def _share_panel(
    title: str, curves: Sequence[Curve], y_label: str = "rows gathered (GB/s)", y_unit: str = "GB/s"
) -> CurvePanel | None:
    return by_share(title, curves, y_label, y_unit, SHARE)


def by_share(
    title: str, curves: Sequence[Curve], y_label: str, y_unit: str, x_label: str
) -> CurvePanel | None:
    """A panel over a share of the multiprocessors; None without two points of any curve."""
    if not curves or max(len(curve.points) for curve in curves) < FEWEST_POINTS:
        return None
    levels = parts.levels(curves, HOST_TO_GPU) if y_unit == "GB/s" else ()
    return CurvePanel(title, tuple(curves), y_label, y_unit, x_label, "%", levels=levels)


def _fewest(shares: Sequence[Share], several: bool) -> list[str]:
    """The fewest multiprocessors that are enough, by machine, way and width."""
    kinds: dict[str, list[str]] = {}
    for share in gather.fewest(shares):
        owner = f"{share.machine.letter}, " if several else ""
        kinds.setdefault(f"{owner}loads of {share.number('width'):g} B", []).append(
            f"{gather.BY.get(share.by, share.by)} {share.given_sms:g}"
        )
    if not kinds:
        return []
    said = [f"{kind}: {', '.join(ways)}" for kind, ways in kinds.items()]
    enough = f"{100 * gather.ENOUGH:.0f} %"
    return [f"Fewest multiprocessors with {enough} of the best rate of their width: {'; '.join(said)}."]


def _best(shares: Sequence[Share], consumer: str, several: bool) -> list[str]:
    beside = " beside training steps" if consumer == gather.STEPS else ""
    said = []
    for machine, own in by_machine(shares):
        best = min(own, key=lambda share: share.time.value)
        owner = parts.owner(machine, several)
        said.append(f"{owner}{best.percent:.3g} % for the gather, by {gather.BY.get(best.by, best.by)}")
    return [
        f"Fastest together{beside}: {'; '.join(said)}. The dissertation's best share is 10 % (section 3.4.3)."
    ]


HEIGHT = 1.5
# A bar for each: its name, the number or the ends of its range, and how it is written.
Stated = tuple[str, tuple[str, ...]]
GATHERS: tuple[Stated, ...] = (
    ("CPU\ngather", ("gather_dma_of_zero_copy",)),
    ("naive", ("gather_naive_of_memcpy_least", "gather_naive_of_memcpy_most")),
    ("circular\nshift", ("gather_shifted_of_memcpy_least", "gather_shifted_of_memcpy_most")),
    ("rows of\n1024 B", ("gather_aligned_of_memcpy",)),
)
SHARES: tuple[Stated, ...] = (
    ("2.5 %\nof SMs", ("sm_share_small_least",)),
    ("10 %", ("sm_share_small_most",)),
    ("15 % and\nmore, about", ("sm_share_full",)),
)
WIDTHS: tuple[Stated, ...] = (("4 B,\nabout", ("sm_share_int",)), ("16 B,\nabout", ("sm_share_int4",)))
TRAINING: tuple[Stated, ...] = (
    ("CPU only,\n1 GPU", ("training_cpu_only_least", "training_cpu_only_most")),
    ("naive,\n1 GPU", ("training_naive_one_gpu_least", "training_naive_one_gpu_most")),
    ("shifted,\n1 GPU", ("training_one_gpu_least", "training_one_gpu_most")),
    ("naive,\n2 GPUs", ("training_naive_two_gpus_least", "training_naive_two_gpus_most")),
    ("shifted,\n2 GPUs", ("training_two_gpus_least", "training_two_gpus_most")),
)
LATER: tuple[Stated, ...] = (
    ("zero-copy\nover CPU", ("training_zero_copy_least", "training_zero_copy_most")),
    ("tiered over\nzero-copy", ("training_tiered_least", "training_tiered_most")),
)
BY_ROW: tuple[Stated, ...] = (
    ("small rows", ("training_small_features_least", "training_small_features_most")),
    ("16 KiB,\nabout", ("training_features_4096",)),
)
SAVED: tuple[Stated, ...] = (
    ("link bytes,\n25 % hot", ("traffic_saved_by_25_percent",)),
    ("time,\n5 % hot", ("time_saved_by_5_percent",)),
    ("time,\n25 % hot", ("time_saved_by_25_percent",)),
)


WHISKERS = "Whiskers of the dissertation's bars: to the upper end of the range that it states."
SM_GB_S = "rows gathered (GB/s)"
OVER = "speedup over CPU gather"


def stated_sm_rates() -> BarPanel:
    """Rates by the share of the multiprocessors."""
    return stated("MPS shares, RTX 3090", SHARES, SM_GB_S, "GB/s")


def stated_gathers() -> BarPanel:
    """Gathers as shares of a copy's rate."""
    peak = paper(DISSERTATION)["gather_memcpy_peak"]
    title = f"rows of 1024 to 1044 B, RTX 3090, PCIe 4; 100 %: cudaMemcpy, {peak.value:g} GB/s"
    return stated(title, GATHERS, "share of cudaMemcpy (%)", height=0.0)


def stated(title: str, numbers: Sequence[Stated], y_label: str, y_unit: str = "%", **look: Any) -> BarPanel:
    """What the dissertation states, a bar for each number or range."""
    source = paper(DISSERTATION)
    ends = [[source[name] for name in names] for _, names in numbers]
    scale = 100.0 if y_unit == "%" else 1.0
    bars = [(name, _stated_bar(of, scale, y_unit)) for (name, _), of in zip(numbers, ends, strict=True)]
    cited = parts.sources(number for of in ends for number in of)
    return parts.stated(
        source, title, bars, cited, (y_label, y_unit), source.name, **{"height": HEIGHT} | look
    )


def _stated_bar(ends: Sequence[Number], scale: float, unit: str) -> Bar:
    """A bar to a number, or of a range to its lower end, with a whisker to the upper."""
    if ends[0].id == "gather_dma_of_zero_copy":
        return Bar(None, "about half of\nzero-copy", note=ends[0].text)
    low, high = scale * ends[0].value, scale * ends[-1].value
    said = f"{low:.3g}" if len(ends) == 1 else f"{low:.3g}–{high:.3g}"
    value = exact(low) if len(ends) == 1 else Estimate(low, low, high)
    return Bar(value, said + (" %" if unit == "%" else "×" if unit == "ratio" else ""), note=ends[0].text)


FIGURES = (
    Entry("11", "figure_11_gathers",
          "Gathers by way and size of rows, and by share of the multiprocessors",
          (gather.FAMILY, gather.MODEL, gather.GATHER, gather.SPLIT),
          "rows of one size by several modes, or by share,", build),
)  # fmt: skip
