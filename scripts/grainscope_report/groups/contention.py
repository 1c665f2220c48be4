"""Several transfers at once: beside something else (figure n), and of many GPUs (figure m).

Figure n: what a copy keeps of its rate when something else runs, and what that keeps of its own. Figure m:
each of the copies of many GPUs, and all of them together; how many copies alone these come to in sentences.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Dot,
    DotPanel,
    DotRow,
    Entry,
    Figure,
    Level,
    Part,
)
from grainscope_report.figures.parts import MachineRow, cases, grouped, named, select
from grainscope_report.machine import Machine
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, Lane, Link, Result, Row
from grainscope_report.statistics import Estimate, median, rate_gb_s
from grainscope_report.uncertainty import WIDE
from grainscope_report.units import format_bytes, format_rate, significant

FAMILY = "contention"
PATHS = (HOST_TO_GPU, GPU_TO_HOST)
PARTNERS = {
    "opposite_copy": "beside a copy the other way",
    "beside_device_stream": "beside a kernel on GPU memory",
    "beside_compute": "beside a computing kernel",
    "engine_and_kernel": "copy engine and kernel copy",
    "streams": "streams, same way",
}
METHODS = {"copy_engine": "copy engine", "kernel_copy": "kernel copy"}
TOGETHER = "traffic"
ALL = Level("even", "as alone", 100.0)


def build_neighbours(machines: Sequence[Machine]) -> Figure:
    """A panel for each direction, a row for each partner."""
    found = {machine.index: cases(machine, FAMILY) for machine in machines}
    panels = tuple(panel for path in PATHS if (panel := _panel(machines, found, path)))
    if not panels:
        return Figure(machines, ())
    sizes = sorted({float(row.axis("bytes") or 0) for there in found.values() for row in there})
    notes = [
        f"Copies of {', '.join(map(format_bytes, sizes))}. Kept: the rate beside the partner over the rate "
        "alone in the same visit; of several at once, all together over the fastest alone.",
        "A partner's share is of the time in which the copies ran, after which it goes on alone.",
        *_hardly_beside(panels),
        *_copies_slowed(panels, len(machines) > 1),
        *parts.first_sites(machines, FAMILY, "Neighbours", "dots"),
    ]
    return Figure(machines, tuple((panel,) for panel in panels), tuple(notes))


def _panel(machines: Sequence[Machine], found: dict[int, list[MachineRow]], path: str) -> DotPanel | None:
    rows: dict[tuple, list[Dot]] = {}
    for machine in machines:
        for row in found[machine.index]:
            if row.axis("path") == path and (key := _row(row)):
                rows.setdefault(key, []).extend(_dots(machine, row))
    lines = tuple(
        DotRow(name, part, tuple(dots)) for (_, name, _, part), dots in sorted(rows.items()) if dots
    )
    if not lines:
        return None
    return DotPanel(parts.ARROWS[path], lines, "kept of the rate alone (%)", "%", levels=(ALL,))


def _row(row: MachineRow) -> tuple | None:
    """Where a case stands and what it is called; None for one stream, which has no partner."""
    what, streams = str(row.axis("what")), float(row.axis("streams") or 0)
    if what == "streams" and streams < 2:
        return None
    place = list(PARTNERS).index(what) if what in PARTNERS else len(PARTNERS)
    method, load, blocks = (str(row.axis(axis) or "") for axis in ("method", "load", "blocks"))
    part = f"{streams:g} streams" if streams else METHODS.get(method, method.replace("_", " "))
    part = part or "together"
    part += f" in {load}" if load else ""
    part += f", {row.axis('blocks'):g} blocks" if blocks else ""
    return place, PARTNERS.get(what, what.replace("_", " ")), (streams, method, load, blocks), part


def _dots(machine: Machine, row: MachineRow) -> list[Dot]:
    """The copy's share first, then its partner's."""
    lanes = row.case_row.lanes
    alone = [lane.alone_gb_s for lane in lanes if not lane.background and lane.alone_gb_s]
    whole = row.case_row.bytes
    dots = []
    if alone and whole:
        ideal_s = whole / max(alone) / 1e9
        method = str(row.axis("method") or ("copy_engine" if row.axis("streams") else TOGETHER))
        name = METHODS.get(method, "both engines together")
        dots.append(Dot(_share(ideal_s, row.time), method, machine, name, row.flags))
    for lane in lanes:
        alone_s, time_s = row.alone_s(lane.name), row.lane(lane.name)
        if lane.background and alone_s and time_s:
            share = _kept_beside(alone_s, time_s, row.time.value)
            flags = _wide(time_s)
            dots.append(Dot(share, "partner", machine, "what runs beside", flags, lane.name, aside=True))
    return dots


def _wide(time_s: Estimate) -> frozenset[str]:
    """Lanes have no flags of their own: the rule for rows, held against a lane."""
    half = (time_s.high - time_s.low) / 2
    return frozenset({"wide_interval"}) if half > WIDE * time_s.value else frozenset()


def _share(alone_s: float, time_s: Estimate) -> Estimate:
    """In percent of the rate alone: the slow end of the time is the low end of the share."""
    scaled = (100 * alone_s / each for each in (time_s.value, time_s.high, time_s.low))
    return Estimate(*scaled, time_s.visits)


def _kept_beside(alone_s: float, time_s: Estimate, copies_s: float) -> Estimate:
    """In percent of the partner's rate alone, while the copies ran; medians may come out beyond 0 and 100."""
    kept = (100 * (1 - (each - alone_s) / copies_s) for each in (time_s.value, time_s.high, time_s.low))
    value, low, high = (min(max(each, 0.0), 100.0) for each in kept)
    return Estimate(value, low, high, time_s.visits)


def _hardly_beside(panels: Sequence[DotPanel], below: float = 25.0) -> list[str]:
    """Partners that waited: what the copy kept then is not what it keeps beside one."""
    found = [
        f"{panel.title}, {row.part} {row.name}"
        for panel in panels
        for row in panel.rows
        if any(dot.method == "partner" and dot.value.value < below for dot in row.dots)
    ]
    return [f"The partner mostly waited until the copy had ended: {'; '.join(found)}."] if found else []


def _copies_slowed(panels: Sequence[DotPanel], several: bool, below: float = 75.0) -> list[str]:
    """Which copies keep less than three quarters, a line for each with all machines on it."""
    notes = []
    for panel in panels:
        for row in panel.rows:
            slowed = [dot for dot in row.dots if dot.method != "partner" and dot.value.value < below]
            said = [
                f"{dot.machine.letter + ' ' if several else ''}{dot.value.value:.0f} % "
                f"[{dot.value.low:.0f}, {dot.value.high:.0f}]"
                for dot in slowed
            ]
            if said:
                notes.append(f"{panel.title}, {row.part} {row.name}: {', '.join(said)} are kept.")
    return notes


COLLECTIVE = "transfer/collective"
HOST = {
    "host_to_all": "host →\nall GPUs",
    "all_to_host": "all GPUs →\nhost",
    "all_host_duplex": "both at\nonce",
}
BETWEEN = {
    "one_to_all": "one →\nall others",
    "all_to_one": "all others\n→ one",
    "all_from_one": "all others\nfetch of one",
    "one_from_all": "one fetches\nof all others",
    "ring": "ring",
    "all_pairs": "all pairs",
}

Found = Mapping[int, Sequence[MachineRow]]


def build_collective(machines: Sequence[Machine]) -> Figure:
    """All together above, each of the copies below; the host on the left, GPUs among themselves right."""
    found = {machine.index: cases(machine, COLLECTIVE) for machine in machines}
    columns, drawn = [], []
    for patterns, title in ((HOST, "host and all GPUs"), (BETWEEN, "among the GPUs")):
        if panels := _panels(machines, found, patterns, title):
            columns.append(panels)
            rows = _of_one_size(found, patterns).values()
            drawn.append((title, [row for each in rows for row in each]))
    if not columns:
        return Figure(machines, ())
    counts = sorted({row.number("gpus") for _, rows in drawn for row in rows})
    notes = [
        f"{' and '.join(f'{count:g}' for count in counts)} GPUs, {_sizes_text(drawn)} "
        "a copy. All together: their bytes over the time in which any ran; percent: of the measured copy "
        "peaks of the links that were crossed, added up. Each copy: bars are the median of the copies.",
        *([SHARED] if any(shares_links(row.case_row) for _, rows in drawn for row in rows) else []),
        *_more_sites(machines),
    ]
    return Figure(machines, tuple(zip(*columns, strict=True)), tuple(notes))


# A share of the links' peaks, of copies from or to one GPU at a switch.
SHARED = (
    "Copies that one GPU sends to several others, or gets from them, count a link for each of these; at an "
    "NVLink switch they share the NVLinks of the one."
)


def shares_links(row: Row) -> bool:
    """Whether a GPU sends to several others in it, or gets from several."""
    lanes = [lane for lane in row.lanes if lane.source.startswith("gpu") and lane.target.startswith("gpu")]
    return any(len({end(lane) for lane in lanes}) < len(lanes) for end in (_source, _target))


def _source(lane: Lane) -> str:
    return lane.source


def _target(lane: Lane) -> str:
    return lane.target


def _of_one_size(found: Found, patterns: Mapping[str, str]) -> dict[int, list[MachineRow]]:
    """The rows of these patterns, all of the largest size that every machine has, each of its most GPUs."""
    of = {at: [row for row in rows if row.axis("pattern") in patterns] for at, rows in found.items()}
    sizes = [{row.number("bytes") for row in rows} for rows in of.values() if rows]
    size = max(set.intersection(*sizes) or set.union(*sizes)) if sizes else 0.0
    most = {at: max((row.number("gpus") for row in rows), default=0.0) for at, rows in of.items()}
    return {
        at: [row for row in rows if (row.number("bytes"), row.number("gpus")) == (size, most[at])]
        for at, rows in of.items()
    }


def _sizes_text(drawn: Sequence[tuple[str, Sequence[MachineRow]]]) -> str:
    """`256 MiB`, or of columns that differ `16 MiB (host and all GPUs) and 512 MiB (among the GPUs)`."""
    sizes = {title: max(row.number("bytes") for row in rows) for title, rows in drawn}
    if len(set(sizes.values())) == 1:
        return format_bytes(next(iter(sizes.values())))
    return " and ".join(f"{format_bytes(size)} ({title})" for title, size in sizes.items())


@dataclass(frozen=True)
class AtOnce:
    """Copies of many GPUs at once, of one pattern by one method: GB/s together, and of one copy alone.

    `most` is how many copies alone would come to if they shared nothing.
    """

    pattern: str
    method: str
    gpus: int
    bytes: float
    rate: Estimate
    alone_gb_s: float
    most: int
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @property
    def times(self) -> float:
        """How many copies alone they come to."""
        return self.rate.value / self.alone_gb_s

    @property
    def text(self) -> str:
        """`host → all GPUs 178 GB/s, as 3.2 of 4 copies alone`."""
        names = HOST | BETWEEN | {"all_host_duplex": "both ways"}
        name = names.get(self.pattern, self.pattern.replace("_", " ")).replace("\n", " ")
        rate = format_rate(self.rate.value)
        return f"{name} {rate} GB/s, as {self.times:.1f} of {self.most} copies alone"

    @property
    def is_less(self) -> bool:
        """Whether links to the host, each of another GPU, bring less together than alone."""
        return self.pattern in ONE_WAY and self.times < LESS * self.most


# Each GPU has a link of its own there; what these bring less together than alone is for something they share.
ONE_WAY = ("host_to_all", "all_to_host")
LESS = 0.9


def at_once(result: Result) -> list[AtOnce]:
    """The largest size of each pattern and method by most GPUs, at the first site, in the figure's order."""
    rows = [row for row in result.of(COLLECTIVE) if row.measured and row.bytes and row.lanes]
    found = []
    for (method, pattern), there in grouped(rows, _way).items():
        best = max(there, key=lambda row: (float(row.case.axes["gpus"]), float(row.case.axes["bytes"])))
        alone = [lane.alone_gb_s for lane in best.lanes if lane.alone_gb_s]
        if len(alone) == len(best.lanes) > 1:
            gpus, size = int(best.case.axes["gpus"]), float(best.case.axes["bytes"])
            rate = rate_gb_s(best.time, best.bytes)
            found.append(AtOnce(pattern, method, gpus, size, rate, median(alone), len(alone), (best,)))
    return sorted(found, key=_in_order)


def _way(row: Row) -> tuple[str, str]:
    return str(row.case.axes["method"]), str(row.case.axes["pattern"])


def _in_order(one: AtOnce) -> tuple[int, int]:
    methods, patterns = list(METHODS), [*HOST, *BETWEEN]
    return (
        methods.index(one.method) if one.method in methods else len(methods),
        patterns.index(one.pattern) if one.pattern in patterns else len(patterns),
    )


def said(found: Sequence[AtOnce]) -> list[str]:
    """A sentence for each method and side: with the host, then among the GPUs."""
    sentences = []
    for method, ways in grouped(found, lambda one: one.method).items():
        for side in (HOST, BETWEEN):
            there = [one for one in ways if one.pattern in side]
            for (gpus, size), alike in grouped(there, lambda one: (one.gpus, one.bytes)).items():
                name = METHODS.get(method, method.replace("_", " "))
                share = " share something on the host's side" * any(one.is_less for one in alike)
                what = f"{gpus} GPUs at once{share} ({name}, {format_bytes(size)} a copy)"
                sentences.append(f"{what}: {'; '.join(one.text for one in alike)}")
    return sentences


def _more_sites(machines: Sequence[Machine]) -> list[str]:
    """A note where a pattern was measured with several roots or nodes."""
    sites: dict[tuple, set] = defaultdict(set)
    for machine in machines:
        for row in select(machine.result.of(COLLECTIVE), {}):
            sites[machine.index, row.case.without()].add(row.case.site_key)
    if all(len(there) == 1 for there in sites.values()):
        return []
    return ["Of several nodes or roots the first is drawn; `grainscope-report list` shows all."]


def _panels(
    machines: Sequence[Machine], all_found: Found, patterns: Mapping[str, str], title: str
) -> tuple[BarPanel, BarPanel] | None:
    """All together, and each copy."""
    asked = {
        (str(row.axis("pattern")), str(row.axis("method"))) for each in all_found.values() for row in each
    }
    there = [pattern for pattern in patterns if any(pattern == each for each, _ in asked)]
    if not there:
        return None
    spoken = named(machines, COLLECTIVE, METHODS)
    methods = [method for method in spoken if any((pattern, method) in asked for pattern in there)]
    owners = [
        machine
        for machine in machines
        if any(row.axis("pattern") in there for row in all_found[machine.index])
    ]
    names = tuple(patterns[pattern] for pattern in there)
    width = 0.5 + 0.25 * len(there)
    drawn = _of_one_size(all_found, patterns)

    def series(bar: Callable[[MachineRow], Bar]) -> tuple[BarSeries, ...]:
        return tuple(
            BarSeries(
                f"{spoken[method]}, {machine.letter}" if len(owners) > 1 else spoken[method],
                method,
                tuple(_bar(drawn[machine.index], pattern, method, bar) for pattern in there),
                machine,
            )
            for machine in owners
            for method in methods
        )

    peaks = _peaks(owners, drawn, there)
    together = BarPanel(title, names, series(_together), "all together (GB/s)", "GB/s", width=width)
    each = BarPanel(
        f"{title}, each copy", names, series(_each), "each copy (GB/s)", "GB/s", levels=peaks, width=width
    )
    return together, each


def _bar(rows: Sequence[MachineRow], pattern: str, method: str, bar: Callable[[MachineRow], Bar]) -> Bar:
    wanted = (pattern, method)
    case = next((row for row in rows if (row.axis("pattern"), row.axis("method")) == wanted), None)
    return Bar(None, "no row") if case is None or not case.case_row.bytes else bar(case)


def _together(row: MachineRow) -> Bar:
    rate = rate_gb_s(row.time, row.case_row.bytes or 0)
    share = row.case_row.link_fraction
    percent = f"\n{100 * share:.0f} %" if share else ""
    return Bar(rate, f"{significant(rate.value)}{percent}", row.flags)


def _each(row: MachineRow) -> Bar:
    """The median of the copies, and all of them."""
    copies = tuple(
        Part(f"{lane.name}, {lane.source} → {lane.target}", rate_gb_s(time_s, lane.bytes))
        for lane in row.case_row.lanes
        if lane.bytes and (time_s := row.lane(lane.name))
    )
    if not copies:
        return Bar(None, "no row")
    rates = [copy.value.value for copy in copies]
    middle = median(rates)
    return Bar(Estimate(middle, middle, middle, row.time.visits), significant(middle), parts=copies)


def _peaks(owners: Sequence[Machine], all_found: Found, patterns: Sequence[str]) -> tuple[Level, ...]:
    """Of each machine the fastest of the links that the copies crossed."""
    levels = []
    for machine in owners:
        lanes = [
            lane
            for row in all_found[machine.index]
            if row.axis("pattern") in patterns
            for lane in row.case_row.lanes
        ]
        links = [link for lane in lanes if (link := _link(machine, lane))]
        if links:
            best = max(links, key=lambda link: link.peak_gb_s)
            levels.append(
                Level("peak", "copy peak of one link", best.peak_gb_s, machine, parts.place_of(best))
            )
    return tuple(levels)


def _link(machine: Machine, lane: Lane) -> Link | None:
    return machine.result.link((lane.source, lane.target))


FIGURES = (
    Entry("n", "figure_n_neighbours", "Neighbours: what a copy keeps of its rate beside something else",
          (FAMILY,), "rows", build_neighbours),
    Entry("m", "figure_m_many_gpus", "Many GPUs at once", (COLLECTIVE,), "rows", build_collective),
)  # fmt: skip
