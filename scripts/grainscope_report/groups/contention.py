"""Figure n: what a copy keeps of its rate when something else runs, and what that keeps of its own."""

from collections.abc import Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.cases import Measured, cases
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Dot, DotPanel, DotRow, Figure, Level
from grainscope_report.machine import Machine
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.statistics import Estimate
from grainscope_report.uncertainty import WIDE
from grainscope_report.units import format_bytes

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


def build(machines: Sequence[Machine]) -> Figure:
    """A panel for each direction, a row for each partner."""
    found = {machine.index: cases(machine, FAMILY) for machine in machines}
    panels = tuple(panel for path in PATHS if (panel := _panel(machines, found, path)))
    if not panels:
        return Figure(machines, ())
    sizes = sorted({float(one.axis("bytes") or 0) for there in found.values() for one in there})
    notes = [
        f"Copies of {', '.join(map(format_bytes, sizes))}. Kept: the rate beside the partner over the rate "
        "alone in the same visit; of several at once, all together over the fastest alone.",
        "A partner's share is of the time in which the copies ran, after which it goes on alone.",
        *_hardly_beside(panels),
        *_copies_slowed(panels, len(machines) > 1),
        *parts.first_sites(machines, FAMILY, "Neighbours", "dots"),
    ]
    return Figure(machines, tuple((panel,) for panel in panels), tuple(notes))


def _panel(machines: Sequence[Machine], found: dict[int, list[Measured]], path: str) -> DotPanel | None:
    rows: dict[tuple, list[Dot]] = {}
    for machine in machines:
        for one in found[machine.index]:
            if one.axis("path") == path and (key := _row(one)):
                rows.setdefault(key, []).extend(_dots(machine, one))
    lines = tuple(
        DotRow(name, part, tuple(dots)) for (_, name, _, part), dots in sorted(rows.items()) if dots
    )
    if not lines:
        return None
    return DotPanel(parts.ARROWS[path], lines, "kept of the rate alone (%)", "%", levels=(ALL,))


def _row(one: Measured) -> tuple | None:
    """Where a case stands and what it is called; None for one stream, which has no partner."""
    what, streams = str(one.axis("what")), float(one.axis("streams") or 0)
    if what == "streams" and streams < 2:
        return None
    place = list(PARTNERS).index(what) if what in PARTNERS else len(PARTNERS)
    method = str(one.axis("method") or "")
    part = f"{streams:g} streams" if streams else METHODS.get(method, method.replace("_", " "))
    part = part or "together"
    return place, PARTNERS.get(what, what.replace("_", " ")), (streams, method), part


def _dots(machine: Machine, one: Measured) -> list[Dot]:
    """The copy's share first, then its partner's."""
    lanes = one.row.lanes
    alone = [lane.alone_gb_s for lane in lanes if not lane.background and lane.alone_gb_s]
    whole = one.row.bytes
    found = []
    if alone and whole:
        ideal_s = whole / max(alone) / 1e9
        method = str(one.axis("method") or ("copy_engine" if one.axis("streams") else TOGETHER))
        name = METHODS.get(method, "both engines together")
        found.append(Dot(_share(ideal_s, one.time_s), method, machine, name, one.flags))
    for lane in lanes:
        alone_s, time_s = one.alone_s(lane.name), one.lane(lane.name)
        if lane.background and alone_s and time_s:
            share = _kept_beside(alone_s, time_s, one.time_s.value)
            flags = _wide(time_s)
            found.append(Dot(share, "partner", machine, "what runs beside", flags, lane.name, aside=True))
    return found


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


FIGURES = (
    Entry(
        "n",
        "figure_n_neighbours",
        "Neighbours: what a copy keeps of its rate beside something else",
        (FAMILY,),
        "rows",
        build,
    ),
)
