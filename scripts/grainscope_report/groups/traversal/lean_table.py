"""Figure 19's table: every technique's time, bytes and speedups, and how near the model comes to them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from grainscope_report.figures.model import exact
from grainscope_report.figures.text_table import TableCell, TablePanel, TableRow
from grainscope_report.groups.traversal import compare, lean, runs
from grainscope_report.groups.traversal.lean import Lean
from grainscope_report.groups.traversal.runs import HERE, Run, Work
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_time

COLUMNS = (
    "technique", "graph", "time", "link bytes", "GPU bytes", "× EMOGI", "× device", "model's time", "off",
    "its bytes", "off by",
)  # fmt: skip
RIGHT = (False, *[True] * 9)
MEASURED, MODELLED = "measured", "modelled"
GPU_BOUND = 0.5  # of the time, that the link leaves idle at least
NONE = TableCell("–")
NOTES = (
    "Table: link bytes are what the reads touch, in sectors of 32 bytes, the median over sources (of EMOGI's "
    "and GraphPEG's accesses each different sector of a level once); GPU bytes are the memory for edges; "
    "× EMOGI and × device: how many times faster than EMOGI's best, the first line of each graph, and than "
    "edges in GPU memory.",
    "The model is of the link alone: its time is an estimate of what the first source's requests take over "
    "this machine's. What the GPU computes meanwhile is not in it; it may also be too long, because it knows "
    "no cache, most where the lists fit the GPU's. Off: its time against that source's; (GPU): less than "
    "half of it, so that the traversal does not wait for the link. Its bytes: a row whose reads are not the "
    "model's fails, but of sssp, whose reads depend on who comes first.",
)


def panels(
    machines: Sequence[Machine], every: Mapping[int, Sequence[Lean]], emogi: Mapping[int, Sequence[Run]]
) -> list[TablePanel]:
    """A table for each algorithm."""
    found = []
    for algorithm in runs.algorithms(one.run for there in every.values() for one in there):
        rows: list[TableRow] = []
        strategy = ""
        for machine in machines:
            owner = f"{machine.letter}: " if len(machines) > 1 else ""
            own = [one for one in every[machine.index] if one.run.work.algorithm == algorithm]
            for work in _works(own):
                there = [one for one in own if one.run.work == work]
                strategy = lean.spoken(there[0].strategy)
                rows += _lines(machine, there, emogi, work, owner)
        title = f"{algorithm}, {strategy}: every technique (measured, its model beside)"
        found.append(TablePanel(title, COLUMNS, tuple(rows), RIGHT, width=2.0))
    return found


def _works(own: Sequence[Lean]) -> list[Work]:
    graphs = runs.graphs([one.run for one in own])
    works = {one.run.work for one in own}
    return sorted(works, key=lambda work: (graphs.index(work.graph), work.weights))


def _lines(
    machine: Machine, own: Sequence[Lean], emogi: Mapping[int, Sequence[Run]], work: Work, owner: str
) -> list[TableRow]:
    """The base, edges in GPU memory, then the techniques: each alone, then together."""
    mapped, device = (lean.base(emogi[machine.index], work, place) for place in ("mapped", "device"))
    lines = []
    if mapped:
        lines.append(
            _whole(machine, mapped, f"{owner}{lean.whose(mapped)}: {_access(mapped)}", mapped, device)
        )
    if device:
        lines.append(_whole(machine, device, f"{owner}device: {_access(device)}", mapped, device))
    order = sorted(own, key=lambda one: (len(one.more), one.more, one.hot, one.tier))
    return [*lines, *(_line(machine, one, owner, mapped, device) for one in order)]


def _access(run: Run) -> str:
    return f"{runs.spoken(run.access)}, {run.work.edge} B"


def _line(machine: Machine, one: Lean, owner: str, mapped: Run | None, device: Run | None) -> TableRow:
    run = one.run
    seconds, error = one.modelled or (None, None)
    size, off = one.modelled_bytes or (None, None)
    cells = (
        TableCell(run.work.graph),
        _time(lean.mean_time(run)),
        _bytes(run.row.link_bytes_least),
        _bytes(one.hot_bytes),
        _speedup(mapped, run),
        _speedup(device, run),
        NONE if seconds is None else _time(exact(seconds), MODELLED),
        _time_error(error),
        _bytes(size, MODELLED),
        _error(off),
    )
    return TableRow(f"{owner}{one.technique}", cells, machine)


def _whole(machine: Machine, run: Run, name: str, mapped: Run | None, device: Run | None) -> TableRow:
    inside = run.placement == "device"
    bound = None if inside else _bound(machine, run)
    traffic = None if inside else run.traffic("modelled")
    cells = (
        TableCell(run.work.graph),
        _time(lean.mean_time(run)),
        NONE if inside else _bytes(run.row.link_bytes_least),
        _bytes(lean.edge_bytes(run) if inside else 0.0),
        _speedup(mapped, run),
        _speedup(device, run),
        _time(exact(bound), MODELLED) if bound else NONE,
        _error(bound / run.time.value - 1 if bound else None),
        _bytes(traffic.bytes if traffic else None, MODELLED),
        NONE,
    )
    return TableRow(name, cells, machine)


def _bound(machine: Machine, run: Run) -> float | None:
    """What the model says of the same walk over this machine's own link."""
    there = [
        one
        for one in runs.modelled(machine)
        if (one.work, one.access, one.link) == (run.work, run.access, HERE)
    ]
    return there[0].time.value if there else None


def _time(time: Estimate, label: str = MEASURED) -> TableCell:
    return TableCell(format_time(time.value) if time.value else "0", time, "s", label)


def _bytes(size: float | None, label: str = MEASURED) -> TableCell:
    if size is None:
        return NONE
    return TableCell(format_bytes(size) if size else "0", exact(size), "bytes", label)


def _speedup(slow: Run | None, fast: Run) -> TableCell:
    if slow is None or slow is fast:
        return NONE
    ratio = compare.speedup(slow, fast)
    return TableCell(f"{ratio.value:.2f}×", ratio, "ratio", MEASURED)


def _time_error(share: float | None) -> TableCell:
    error = _error(share)
    bound = share is not None and share < -GPU_BOUND
    return replace(error, text=f"{error.text} (GPU)") if bound else error


def _error(share: float | None) -> TableCell:
    if share is None:
        return NONE
    percent = 100 * share
    text = "0 %" if abs(percent) < 0.05 else f"{percent:+.0f} %".replace("-", "−")
    return TableCell(text, exact(percent), "%", MODELLED)
