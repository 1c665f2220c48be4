"""Rows that are compared one by one and not along an axis: of each case the row of one site."""

from collections import defaultdict
from dataclasses import dataclass

from grainscope_report.figures.series import NEAREST, Where, select
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate


@dataclass(frozen=True)
class Measured:
    """A measured row; of several sites that of the first of the nearest."""

    row: Row

    case = property(lambda self: self.row.case)
    flags = property(lambda self: self.row.flags)
    time_s = property(lambda self: self.row.time)

    def axis(self, name: str) -> str | float | None:
        """The value of an axis."""
        return self.case.axes.get(name)

    def lane(self, name: str) -> Estimate | None:
        """The time of a lane."""
        lane = next((lane for lane in self.row.lanes if lane.name == name), None)
        if lane is None:
            return None
        return Estimate(lane.median_s, *(lane.within_s or (lane.median_s,) * 2), self.time_s.visits)

    def alone_s(self, name: str) -> float | None:
        """The time of a lane by itself."""
        return next((lane.alone_s for lane in self.row.lanes if lane.name == name), None)


def cases(machine: Machine, family: str, where: Where | None = None) -> list[Measured]:
    """Every case of a family in the order of the file; localities but the nearest are left out."""
    rows = list(filter(measured, select(machine.result.of(family), where or {})))
    there = {row.case.locality for row in rows}
    nearest = next((locality for locality in NEAREST if locality in there), "unknown")
    rows = [row for row in rows if "locality" not in row.case.axes or row.case.locality == nearest]
    asked: dict[tuple, dict[tuple, Row]] = defaultdict(dict)
    for row in rows:
        asked[row.case.without("locality")][tuple(sorted(row.case.site.items()))] = row
    return [Measured(sites[min(sites)]) for sites in asked.values()]


def measured(row: Row) -> Row | None:
    """The row, unless it was modelled or counted."""
    return row if row.measured else None
