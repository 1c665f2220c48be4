"""Rows that are compared one by one and not along an axis: the sessions of each case, at one site."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.figures.series import NEAREST, Where, select
from grainscope_report.machine import Machine
from grainscope_report.model import Case, Row
from grainscope_report.statistics import Estimate


@dataclass(frozen=True)
class Measured:
    """A case with its sessions, and their time combined; of several sites the first of the nearest."""

    case: Case
    rows: tuple[Row, ...]
    time_s: Estimate

    @property
    def flags(self) -> frozenset[str]:
        """The flags of any session."""
        return frozenset().union(*(row.flags for row in self.rows))

    def axis(self, name: str) -> str | float | None:
        """The value of an axis."""
        return self.case.axes.get(name)

    def lane(self, name: str) -> Estimate | None:
        """The time of a lane over the sessions."""
        lanes = [lane for row in self.rows for lane in row.lanes if lane.name == name]
        there = [lane for lane in lanes if lane.median_s and lane.ci95_s]
        if not there:
            return None
        return statistics.combine_sessions([lane.median_s for lane in there], [lane.ci95_s for lane in there])

    def alone_s(self, name: str) -> float | None:
        """The time of a lane by itself, the median over the sessions."""
        alone = [
            lane.alone_s for row in self.rows for lane in row.lanes if lane.name == name and lane.alone_s
        ]
        return statistics.median(alone) if alone else None


def measured(row: Row) -> Row | None:
    """The row, unless it was modelled or counted or has no time."""
    return row if row.label == "measured" and row.median_s and row.ci95_s else None


def cases(machine: Machine, family: str, where: Where | None = None) -> list[Measured]:
    """Every case of a family in the order of the file; localities but the nearest are left out."""
    rows = list(filter(None, map(measured, select(machine.result.of(family), where or {}))))
    there = {row.case.locality for row in rows}
    nearest = next((locality for locality in NEAREST if locality in there), "unknown")
    rows = [row for row in rows if "locality" not in row.case.axes or row.case.locality == nearest]
    asked: dict[tuple, dict[tuple, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        asked[row.case.without("locality")][tuple(sorted(row.case.site.items()))].append(row)
    return [_measured(sites[min(sites)]) for sites in asked.values()]


def _measured(rows: Sequence[Row]) -> Measured:
    medians, intervals = [row.median_s for row in rows], [row.ci95_s for row in rows]
    return Measured(rows[0].case, tuple(rows), statistics.combine_sessions(medians, intervals))
