"""The rows behind a component on one machine: the ways to do it, and each way's rows at each size."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grainscope_report import naming, selecting
from grainscope_report.buying.machines import LackingError, Machine, NotComparableError
from grainscope_report.buying.workload import Component
from grainscope_report.cases import Case
from grainscope_report.errors import ReportError
from grainscope_report.model import Row
from grainscope_report.toml_file import Value

# How a thing is done, of which a program may choose the fastest. Every other axis is what is asked.
HOW = {
    "access", "allocation", "blocks", "by", "edge", "element", "host_threads", "lists", "method", "mode",
    "offset", "pages", "percent", "placement", "processes", "sms", "store", "strategy", "streams", "threads",
    "tier", "width", "window",
}  # fmt: skip
# What goes without saying where it is left open: cold memory, near the GPU, and the copy itself.
DEFAULTS = {
    "flush": ("on",),
    "timed": ("copy",),
    "locality": ("local", "unknown", "remote"),
    "order": ("original", "as_asked"),
}
# What lies in a GPU's own memory already asks nothing of a link: it has to be asked for by name.
UNASKED = {"placement": "device", "store": "device"}
# Axes that follow from the one along which sizes go, because a sample has a fixed volume.
FOLLOWS = {"row": {"rows"}, "grain": {"bytes"}, "piece": {"pieces", "bytes"}, "width": {"rows"}}

Axes = tuple[tuple[str, Value], ...]
Points = tuple[tuple[tuple[tuple[str, Row], ...], ...], ...]  # by node and site, each run's id and row


@dataclass(frozen=True)
class Way:
    """One way to do a component: its axes but the size, and the rows at each measured size."""

    how: Axes
    points: Mapping[float | None, Points]

    @property
    def text(self) -> str:
        """The way in words."""
        return ", ".join(
            value if isinstance(value, str) else naming.number(axis, value) for axis, value in self.how
        )

    def around(self, size: float | None) -> tuple[float | None, float | None] | None:
        """The measured sizes on either side of this one, which may be one of them; None beyond them."""
        if size in self.points:
            return size, size
        if size is None:
            return None
        below = [at for at in self.points if at is not None and at < size]
        above = [at for at in self.points if at is not None and at > size]
        return (max(below), min(above)) if below and above else None


def ways(machine: Machine, component: Component) -> list[Way]:
    """Every way of a machine that has `ok` rows of the component; NotComparableError where there is none."""
    rows = [row for result in machine.results for row in result.rows if row.label == component.label]
    meant = [row for row in rows if component.where.matches(row.case)]
    usable = _unsaid(
        [row for row in meant if row.ok and (component.along or "") in ("", *row.case.axes)], component
    )
    if not usable:
        raise _lacking(machine, component, meant)
    found: dict[Axes, dict] = defaultdict(lambda: defaultdict(list))
    dropped = {component.along, *FOLLOWS.get(component.along or "", ())} - {None}
    for row in usable:
        key = tuple((axis, value) for axis, value in sorted(row.case.axes.items()) if axis not in dropped)
        found[key][row.case.axes.get(component.along)].append(row)
    _one_question(machine, component, usable, dropped)
    varying = {axis for axis in selecting.differing((row.case for row in usable), dropped) if axis in HOW}
    return [
        Way(
            tuple(one for one in key if one[0] in varying),
            {at: _points(machine, there) for at, there in sorted(points.items(), key=_size)},
        )
        for key, points in found.items()
    ]


def _size(point: tuple[float | None, list]) -> float:
    return point[0] or 0.0


def _lacking(machine: Machine, component: Component, meant: Sequence[Row]) -> NotComparableError:
    """Why nothing stands for the component: the machine could not, which is a gate, or nobody asked it."""
    said = f"{machine.name} has no rows of {component.name!r}: {_why(machine, component, meant)}"
    could_not = bool(meant) and not any(row.ok for row in meant)
    return (LackingError if could_not else NotComparableError)(said)


def needs_more(rows: Sequence[Row]) -> bool:
    """Whether rows need a remote node or a second GPU, which a machine may not have."""
    return any(
        row.case.locality == "remote" or "peer" in row.case.site or row.case.axes.get("between") == "gpu_gpu"
        for row in rows
    )


def _why(machine: Machine, component: Component, meant: Sequence[Row]) -> str:
    if meant and component.along and not any(component.along in row.case.axes for row in meant):
        return f"they have no axis {component.along}"
    if bad := next((row for row in meant if not row.ok), None):
        return f"{bad.name} was {bad.status}: {bad.reason}"
    said = selecting.why_none(component.where, machine.cases)
    return said or f"none of them is {component.label} and cold, near and not in the GPU's own memory"


def _unsaid(rows: list[Row], component: Component) -> list[Row]:
    """The rows with what goes without saying, on axes that the workload leaves open."""
    for axis, order in DEFAULTS.items():
        if axis in component.where.axes:
            continue
        there = {row.case.axes[axis] for row in rows if axis in row.case.axes}
        chosen = next((value for value in order if value in there), None)
        rows = [row for row in rows if row.case.axes.get(axis, chosen) == chosen]
    for axis, value in UNASKED.items():
        if axis not in component.where.axes:
            rows = [row for row in rows if row.case.axes.get(axis) != value]
    return rows


def _one_question(machine: Machine, component: Component, rows: Sequence[Row], dropped: set[str]) -> None:
    """Refuses rows that differ in what is asked: a machine must not choose the easier question."""
    by_way: dict[Axes, list[Case]] = defaultdict(list)
    for row in rows:
        by_way[tuple((axis, row.case.axes[axis]) for axis in sorted(HOW & row.case.axes.keys()))].append(
            row.case
        )
    open_axes = {}
    for cases in by_way.values():
        open_axes |= selecting.differing(cases, dropped | HOW)
    # Two volumes at one size would be two questions, too.
    for axis in dropped - {component.along}:
        sizes: dict[tuple, set] = defaultdict(set)
        for row in rows:
            sizes[row.case.without(axis)].add(row.case.axes.get(axis))
        if twice := next((found for found in sizes.values() if len(found) > 1), None):
            open_axes[axis] = sorted(twice)
    if open_axes:
        axis, values = next(iter(open_axes.items()))
        said = ", ".join(map(str, values[:6]))
        raise ReportError(
            f"component {component.name!r} leaves open what is asked: on {machine.name} its rows differ in "
            f"{axis} ({said}): say which in `where`{'' if component.along else ', or go `along` it'}"
        )


def _points(machine: Machine, rows: Sequence[Row]) -> Points:
    """By node and site the runs' rows, in the order of the files; nodes without such a row are refused."""
    here = {id(row) for row in rows}
    nodes = []
    for results in machine.nodes:
        sites: dict[tuple, list[tuple[str, Row]]] = defaultdict(list)
        for result in results:
            for row in result.rows:
                if id(row) in here:
                    sites[tuple(sorted(row.case.site.items()))].append((result.run.id, row))
        nodes.append(tuple(map(tuple, sites.values())))
    if not all(nodes):
        lacking = machine.nodes[nodes.index(())][0]
        raise NotComparableError(
            f"{lacking.path} has no row {rows[0].name} and another node of {machine.name} has: measure alike"
        )
    return tuple(nodes)


def out_of_range(machine: Machine, component: Component, found: Sequence[Way], size: float | None) -> str:
    """Why a size cannot be predicted: nothing is extrapolated."""
    sizes = sorted({at for way in found for at in way.points if at is not None})
    axis = component.along or ""
    low, high = naming.size(axis, sizes[0]), naming.size(axis, sizes[-1])
    return (
        f"{machine.name} measured {component.name!r} from {low} to {high}, and the workload asks for "
        f"{naming.number(axis, size or 0)}: nothing is extrapolated; measure that size, too"
    )


def inputs(row: Row) -> bool:
    """Whether the row's trials are different inputs (sources), not one input again."""
    return any(not trial.label.startswith("trial:") for trial in row.trials)
