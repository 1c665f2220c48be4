"""The rows of a family at one site of a machine; measured ones and modelled ones alike."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate

_PLACES = ("local", "unknown", "remote")


@dataclass(frozen=True)
class MachineRow:
    """The row of a case, and the machine that it is of."""

    machine: Machine
    case_row: Row

    label = property(lambda self: self.case_row.label)
    flags = property(lambda self: self.case_row.flags)
    link_fraction = property(lambda self: self.case_row.link_fraction)

    @property
    def time(self) -> Estimate:
        """The median time with its interval, seconds; a model's is exact."""
        return self.case_row.time

    @property
    def link(self) -> str:
        """The link that a modelled row is about; empty where it was measured."""
        return self.word("link") if self.label == "modelled" else ""

    def word(self, axis: str) -> str:
        """The value of an axis as text, empty without one."""
        return str(self.case_row.case.axes.get(axis, ""))

    def number(self, axis: str) -> float:
        """The value of an axis that is a number, 0 without one."""
        value = self.case_row.case.axes.get(axis, 0)
        return float(value) if isinstance(value, (int, float)) else 0.0

    def counter(self, name: str) -> float | None:
        """A counter; None where the row has none of it."""
        return self.case_row.counters.get(name)

    def rate(self, size: float | None) -> Estimate | None:
        """Decimal GB/s of so many bytes in the median time."""
        return statistics.rate_gb_s(self.time, size) if size else None


def of(machine: Machine, family: str) -> list[MachineRow]:
    """The rows of a family in the order of the file, at the site that most of them were measured at.

    Sites with a GPU and sites without one are apart: both answer.
    """
    rows = [row for row in machine.result.of(family) if row.ok and row.median_s]
    homes = {_home(kind) for kind in _split(rows, lambda row: "gpu" in row.case.site)}
    return [MachineRow(machine, row) for row in rows if _site(row) in homes]


def _split(rows: Iterable[Row], by: Callable[[Row], bool]) -> list[list[Row]]:
    kinds: dict[bool, list[Row]] = defaultdict(list)
    for row in rows:
        kinds[by(row)].append(row)
    return list(kinds.values())


def _home(rows: Sequence[Row]) -> tuple:
    """The nearest of the sites that have most rows."""
    counted = Counter(map(_site, rows))
    return min(counted, key=lambda site: (-counted[site], site))


def _site(row: Row) -> tuple:
    return _PLACES.index(row.case.locality), tuple(sorted(row.case.site.items()))


def slower(row: Row, *sides: str) -> Iterator[str]:
    """`gather × 1.20`: how many times as long as alone each of these sides takes, where a row says so."""
    for side in sides:
        if (slower := row.counters.get(f"{side}_slowdown")) is not None:
            yield f"{side} × {slower:.2f}"
