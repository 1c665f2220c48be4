"""Figure 8: how the shape of zero-copy reads decides their bandwidth (EMOGI 3 and 4), then bfs by graph."""

from collections.abc import Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.frame import NEAREST, curves
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    Entry,
    Figure,
    Level,
    Panel,
    exact,
)
from grainscope_report.groups import traversal_requests
from grainscope_report.groups.transfer_copies import ZERO_COPY
from grainscope_report.machine import Machine
from grainscope_report.model import HOST_TO_GPU, Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, significant

SHAPES = (
    ("strided", {"access": "strided"}),
    ("off by\n4 B", {"access": "merged", "offset": 4}),
    ("off by\n32 B", {"access": "merged", "offset": 32}),
    ("off by\n64 B", {"access": "merged", "offset": 64}),
    ("aligned", {"access": "merged_aligned"}),
)


def build(machines: Sequence[Machine]) -> Figure:
    """The toys, and under them the same questions asked of traversals by graph."""
    rows, notes = _toys(machines)
    more, further = traversal_requests.panels(machines)
    return Figure(machines, (*rows, *more), (*notes, *further))


def _toys(machines: Sequence[Machine]) -> tuple[list[tuple[Panel, ...]], list[str]]:
    """Bandwidth by access beside the paper's; the requests and the amplification behind it below."""
    launch = _launch(machines)
    if not launch:
        return [], []
    drawn = {name: _shape(machines, {**launch, **axes}) for name, axes in SHAPES}
    there = [name for name, _ in SHAPES if drawn[name]]
    traffic = _of_one_label({name: _traffic(machines, {**launch, **dict(SHAPES)[name]}) for name in there})
    size, *rest = (launch.pop("bytes"), *(f"{axis} {value}" for axis, value in sorted(launch.items())))
    notes = [
        f"Zero-copy reads of {format_bytes(size)}; {', '.join(rest)}. “Off by”: merged, but not at 128 B.",
        "Percent: of the measured copy peak; in the paper's panel, of its cudaMemcpy.",
    ]
    notes += parts.first_sites(machines, ZERO_COPY, "Bandwidth")
    top = (_bandwidth(there, drawn), traversal_requests.toy_rates())
    if not any(traffic.values()):
        return [top], notes
    notes += _without_cache(traffic)
    below = (_mix(there, traffic), traversal_requests.toy_mix(), _amplification(there, traffic))
    return [top, below], notes


def _rows(machines: Sequence[Machine]) -> list[tuple[int, Row]]:
    return [
        (machine.index, row)
        for machine in machines
        for row in machine.result.of(ZERO_COPY)
        if row.ok and row.case.axes.get("direction") == "read" and row.median_s
    ]


def _launch(machines: Sequence[Machine]) -> dict[str, str | float]:
    """The size and launch (width, blocks, allocation, …) that most accesses on most machines share.

    Of several, 4 B a lane as in the paper, then the largest, then the fastest: accesses are only
    comparable where nothing else differs.
    """
    asked: dict[tuple, dict[tuple, float]] = {}
    for index, row in _rows(machines):
        axes = row.case.axes
        key = row.case.without("access", "offset", "direction", "locality")
        shapes = asked.setdefault(key, {})
        shape = (index, axes.get("access"), axes.get("offset"))
        shapes[shape] = max(shapes.get(shape, 0.0), row.bandwidth_gb_s or 0.0)
    usable = {key: shapes for key, shapes in asked.items() if len({access for _, access, _ in shapes}) > 1}
    if not usable:
        return {}

    def worth(key: tuple) -> tuple:
        axes = dict(key)
        return len(usable[key]), axes.get("width") == 4, axes.get("bytes", 0), max(usable[key].values()), key

    return dict(max(usable, key=worth))


def _shape(machines: Sequence[Machine], axes: dict) -> list[Curve]:
    where = {"direction": "read", "locality": NEAREST, **axes}
    all_curves = curves(machines, ZERO_COPY, where, name="zero-copy read", method="zero_copy").curves
    return [curve for curve in all_curves if curve.primary]


def _bandwidth(there: list[str], drawn: dict[str, list[Curve]]) -> BarPanel:
    every = [curve for name in there for curve in drawn[name]]
    levels = parts.levels(every, HOST_TO_GPU)
    owners = parts.machines_of(every)
    series = tuple(
        BarSeries(
            f"zero-copy read, {machine.letter}" if len(owners) > 1 else "zero-copy read",
            "zero_copy",
            tuple(_bar(drawn[name], machine, levels, len(owners) > 1) for name in there),
            machine,
        )
        for machine in owners
    )
    title = "zero-copy read, bandwidth by access"
    return BarPanel(title, tuple(there), series, "bandwidth (GB/s)", "GB/s", levels=levels)


def _bar(drawn: list[Curve], machine: Machine, levels: Sequence[Level], several: bool) -> Bar:
    curve = next((curve for curve in drawn if curve.machine.index == machine.index), None)
    if curve is None:
        return Bar(None, "no row")
    point = curve.points[0]
    site = dict(curve.site)
    own = [level for level in levels if level.kind == "peak" and level.machine is machine]
    peak = next(
        (level for level in own if dict(level.site) == {key: site.get(key) for key in ("gpu", "numa")}), None
    )
    share = f"\n{100 * point.y.value / peak.value:.0f} %" if peak else ""
    owner = f"{machine.letter}\n" if several else ""
    return Bar(point.y, f"{owner}{point.y.value:.1f}{share}", point.flags)


def _traffic(machines: Sequence[Machine], axes: dict) -> Row | None:
    """A row of this access with its requests, which follow from the access and are the same everywhere."""
    for _, row in _rows(machines):
        there = row.traffic and row.traffic.requests_by_size
        if there and all(row.case.axes.get(axis) == value for axis, value in axes.items()):
            return row
    return None


def _of_one_label(traffic: dict[str, Row | None]) -> dict[str, Row | None]:
    """Only what most rows are, modelled or counted: no comparison mixes them."""
    labels = [row.traffic.label for row in traffic.values() if row]
    common = max(sorted(set(labels)), key=labels.count, default="")
    return {name: row if row and row.traffic.label == common else None for name, row in traffic.items()}


def _without_cache(traffic: dict[str, Row | None]) -> list[str]:
    """What the model says of caches, where the file has its other bound: a strided walk depends on them."""
    more = {}
    for name, row in traffic.items():
        without = row.counters.get("requests_without_cache") if row else None
        if without and row.traffic.requests and without > 1.01 * row.traffic.requests:
            more[" ".join(name.split())] = without / row.traffic.requests
    if not more:
        return []
    said = ", ".join(f"{name} {significant(factor)} times as many" for name, factor in more.items())
    return [
        f"Modelled as if caches kept every sector; if they kept none, more requests: {said}.",
        "Whiskers of the amplification: if caches kept none.",
    ]


def _label(traffic: dict[str, Row | None]) -> str:
    return ", ".join(sorted({row.traffic.label for row in traffic.values() if row}))


def _mix(there: list[str], traffic: dict[str, Row | None]) -> BarPanel:
    def share(name: str, size: int) -> Bar:
        row = traffic[name]
        if row is None:
            return Bar(None)
        total = sum(row.traffic.requests_by_size.values())
        return Bar(exact(100 * row.traffic.requests_by_size.get(size, 0) / total))

    label = _label(traffic)
    series = tuple(
        BarSeries(f"{size} B", f"request {size}", tuple(share(name, size) for name in there), label=label)
        for size in traversal_requests.SIZES
    )
    return BarPanel(
        f"requests by size ({label})", tuple(there), series, "share of requests (%)", "%", stacked=True
    )


def _amplification(there: list[str], traffic: dict[str, Row | None]) -> BarPanel:
    def bar(name: str) -> Bar:
        row = traffic[name]
        if row is None or row.traffic.amplification is None:
            return Bar(None, "not\ngiven")
        least = row.traffic.amplification
        most = max(least, row.counters.get("amplification_without_cache", least))
        text = significant(least) if most == least else f"{significant(least)} to\n{significant(most)}"
        return Bar(Estimate(least, least, most), text)

    label = _label(traffic)
    series = (
        BarSeries("bytes over the link ÷ bytes asked for", "traffic", tuple(map(bar, there)), label=label),
    )
    return BarPanel(f"amplification ({label})", tuple(there), series, "link bytes ÷ asked bytes", "ratio")


FIGURES = (
    Entry("8", "figure_8_requests", "Zero-copy reads by access: bandwidth, requests, amplification",
          (ZERO_COPY, *traversal_requests.FAMILIES),
          "rows of one size with several accesses, or with requests by graph,", build),
)  # fmt: skip
