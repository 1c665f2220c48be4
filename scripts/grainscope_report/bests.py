"""The one row that stands for many: the fastest of a family's rows with the axes that are asked for."""

from collections.abc import Iterable, Sequence

from grainscope_report import statistics
from grainscope_report.families import Best
from grainscope_report.model import Row
from grainscope_report.result import Result
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_percent

PLACES = ("local", "unknown", "remote")


def rows(result: Result, wanted: Best) -> list[Row]:
    """The measured rows that may be the best one."""
    there = [
        row
        for row in result.of(wanted.family)
        if row.measured
        and (row.operation_s or (row.time and wanted.at) if wanted.least else row.bandwidth_gb_s)
        and all(row.case.axes.get(axis) == value for axis, value in wanted.axes.items())
    ]
    if not wanted.at:
        return there
    axis, pick = wanted.at
    sizes = {row.name: size for row in there if isinstance(size := row.case.axes.get(axis), (int, float))}
    return [row for row in there if sizes.get(row.name) == pick(sizes.values())] if sizes else []


def best(found: Sequence[Row], least: bool) -> Row | None:
    """The one with the highest rate, or the shortest time of one operation."""
    if least:
        return min(found, key=_time_s, default=None)
    return max(found, key=lambda row: row.bandwidth_gb_s or 0.0, default=None)


def nearest(found: Iterable[Row]) -> list[Row]:
    """Of rows of several places the local ones, else those of an unknown place, else the remote ones."""
    there = list(found)
    place = min((PLACES.index(row.case.locality) for row in there), default=0)
    return [row for row in there if PLACES.index(row.case.locality) == place]


def estimate(row: Row, least: bool) -> Estimate:
    """Its rate in GB/s, or the time of one operation in seconds, with the interval of its time."""
    if not least:
        return statistics.rate_gb_s(row.time, row.bytes)
    times = _time_s(row) / row.median_s
    time_s = row.time
    return Estimate(time_s.value * times, time_s.low * times, time_s.high * times, time_s.visits)


def plus_minus(one: Estimate) -> str:
    """Half of the interval, by its wider side, in percent; `-` where nothing tells one."""
    side = half(one)
    if side <= 0:
        return "-"
    return "< 0.1 %" if side < 0.001 else format_percent(side) if side < 0.1 else f"{100 * side:.0f} %"


def half(one: Estimate) -> float:
    """Half of the interval, by its wider side, as a share of the value."""
    return max(one.high / one.value - 1, 1 - one.low / one.value)


def _time_s(row: Row) -> float:
    return row.operation_s or row.median_s
