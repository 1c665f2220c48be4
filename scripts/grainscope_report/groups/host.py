"""Figure h: the host's memory: latency, memcpy by threads, first touch by page kind, the cost of a flush."""

import re
from collections import Counter
from collections.abc import Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Curve, CurvePanel, Entry, Figure, Mark
from grainscope_report.figures.parts import NEAREST, curves, operation_ns, select
from grainscope_report.machine import Machine
from grainscope_report.units import format_bytes, format_time

LATENCY = "host/latency"
MEMCPY = "host/memcpy"
TOUCH = "host/first_touch"
FLUSH = "host/flush"
# Kinds of pages that are larger than the base page, which goes by its size (4KiB, on some machines 64KiB).
LARGE_PAGES = {"transparent_huge": "transparent huge", "hugetlb": "hugetlb"}
STATES = {"cached": ("cached lines", "solid"), "evicted": ("evicted lines", "dotted")}
MOST_THREADS = 3


def build(machines: Sequence[Machine]) -> Figure:
    """Up to four panels, as many as the files have rows for."""
    found = [_latency(machines), _by_threads(machines), _first_touch(machines), _flush(machines)]
    there = [panel for panel in found if panel]
    notes = parts.slow_sites(there, len(machines) > 1)
    if any(isinstance(panel, BarPanel) for panel in there):
        notes += parts.first_sites(machines, TOUCH, "First touch")
    rows = tuple(parts.in_pairs(there))
    return Figure(machines, rows, tuple(notes))


def _marks(drawn: Sequence[Curve]) -> tuple[Mark, ...]:
    return parts.cache_marks(parts.machines_of(drawn))


def _latency(machines: Sequence[Machine]) -> CurvePanel | None:
    """Loads by working set, a curve for each kind of page: small pages add the cost of translation."""
    drawn: list[Curve] = []
    kinds = _kinds(machines, LATENCY)
    for order, kind in enumerate(kinds):
        name = f"loads, {_page_name(kind)} pages" if kind else "dependent loads"
        method = f"step {order} of {len(kinds) + 1}" if order else "latency"
        drawn += curves(
            machines, LATENCY, {"pages": kind}, name=name, method=method, measure=operation_ns
        ).curves
    if not drawn:
        return None
    return CurvePanel(
        "memory latency of dependent loads",
        tuple(drawn),
        y_label="one load (ns)",
        y_unit="ns",
        x_label="working set",
        y_log=True,
        marks=_marks(drawn),
    )


def _kinds(machines: Sequence[Machine], family: str) -> list[str | None]:
    """The kinds of pages of the family's rows, base pages first; None for rows that do not say."""
    there = {row.case.axes.get("pages") for m in machines for row in select(m.result.of(family), {})}
    order = [None, *sorted(kind for kind in there if kind and kind not in LARGE_PAGES), *LARGE_PAGES]
    return [kind for kind in order if kind in there]


def _page_name(kind: str) -> str:
    """`4 KiB` for 4KiB, `transparent huge` for transparent_huge."""
    return LARGE_PAGES.get(kind) or re.sub(r"(\d)([KMG]iB)", r"\1 \2", kind)


def _sizes(machines: Sequence[Machine], family: str) -> list[float]:
    """The sizes of the family's rows, those that most machines have last, larger ones later."""
    seen: dict[float, set[int]] = {}
    for machine in machines:
        for row in select(machine.result.of(family), {}):
            if isinstance(size := row.case.axes.get("bytes"), (int, float)):
                seen.setdefault(size, set()).add(machine.index)
    return sorted(seen, key=lambda size: (len(seen[size]), size))


def _by_threads(machines: Sequence[Machine]) -> CurvePanel | None:
    if not (sizes := _sizes(machines, MEMCPY)):
        return None
    where = {"flush": ("on", "off"), "bytes": sizes[-1]}
    drawn = curves(machines, MEMCPY, where, name="memcpy", method="host", x="threads").curves
    if not any(len(curve.points) > 1 for curve in drawn):
        return None
    title = f"memcpy of {format_bytes(sizes[-1])} by threads"
    return CurvePanel(title, drawn, x_label="threads", x_unit="threads")


def _first_touch(machines: Sequence[Machine]) -> BarPanel | None:
    if not (sizes := _sizes(machines, TOUCH)):
        return None
    rows = [row for machine in machines for row in select(machine.result.of(TOUCH), {"bytes": sizes[-1]})]
    counts = sorted({row.case.axes["threads"] for row in rows if "threads" in row.case.axes})
    chosen = counts if len(counts) <= MOST_THREADS else [counts[0], counts[len(counts) // 2], counts[-1]]
    kinds = [kind for kind in _kinds(machines, TOUCH) if kind]
    where = [(kind, machine) for kind in kinds for machine in machines if _has(machine, kind, sizes[-1])]
    if not where:
        return None
    pages = {kind: _page_name(kind).replace(" huge", "\nhuge") for kind in kinds}
    several = len({machine.index for _, machine in where}) > 1
    names = tuple(machine.letter if several else pages[kind] for kind, machine in where)
    counted = Counter(pages[kind] for kind, _ in where)
    series = tuple(
        BarSeries(
            f"{count:g} thread{'s' if count > 1 else ''}",
            f"step {order} of {len(chosen)}",
            tuple(_touched(machine, kind, count, sizes[-1]) for kind, machine in where),
        )
        for order, count in enumerate(chosen)
    )
    return BarPanel(
        f"first touch of {format_bytes(sizes[-1])} by kind of page",
        names,
        series,
        "bytes touched (GB/s)",
        "GB/s",
        groups=tuple(counted.items()) if several else (),
    )


def _has(machine: Machine, kind: str, size: float) -> bool:
    return bool(select(machine.result.of(TOUCH), {"pages": kind, "bytes": size}))


def _touched(machine: Machine, kind: str, count: float, size: float) -> Bar:
    where = {"pages": kind, "threads": count, "bytes": size, "locality": NEAREST}
    all_curves = curves([machine], TOUCH, where, name="", method="").curves
    if not all_curves:
        return Bar(None, machine=machine)
    point = all_curves[0].points[0]
    return Bar(point.y, "", point.flags, _page_time(machine, where), machine)


def _page_time(machine: Machine, where: dict) -> str:
    rows = select(machine.result.of(TOUCH), where)
    return f"{format_time(rows[0].operation_s)} a page" if rows and rows[0].operation_s else ""


def _flush(machines: Sequence[Machine]) -> CurvePanel | None:
    drawn: list[Curve] = []
    for state, (name, dash) in STATES.items():
        where = {"state": state, "locality": NEAREST}
        drawn += curves(
            machines,
            FLUSH,
            where,
            name=name,
            method="host" if state == "cached" else "warm",
            measure=operation_ns,
            dash=dash,
        ).curves
    if not drawn:
        return None
    return CurvePanel(
        "cache flush, cost of a line", tuple(drawn), y_label="one line (ns)", y_unit="ns", marks=_marks(drawn)
    )


FIGURES = (Entry("h", "figure_h_host_memory", "Host memory", (LATENCY, MEMCPY, TOUCH, FLUSH), "rows", build),)
