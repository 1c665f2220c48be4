"""From which size of a row on a copy for each row is faster than the fastest kernel for the same rows."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from grainscope_report import statistics
from grainscope_report.groups.gather import gathers
from grainscope_report.groups.gather.gathers import Gather
from grainscope_report.machine import Machine
from grainscope_report.statistics import Crossover, Estimate
from grainscope_report.units import format_bytes

COPIES = "row_dma"
# They bring nothing by a kernel.
_OTHERS = (*gathers.COPIES, "cpu_gather")


@dataclass(frozen=True)
class RowCopies:
    """Mini-batches of one table: for each size of rows, ascending, copies of rows and the fastest kernel."""

    copies: tuple[Gather, ...]
    kernels: tuple[Gather, ...]

    @property
    def sizes(self) -> tuple[float, ...]:
        """Bytes of a row."""
        return tuple(one.row for one in self.copies)

    @cached_property
    def _swaps(self) -> list[Crossover]:
        copies, kernels = ([one.asked for one in there] for there in (self.copies, self.kernels))
        return statistics.crossovers(self.sizes, copies, kernels)

    @property
    def pays_from(self) -> Estimate | None:
        """Bytes of a row from which on copies are clearly ahead; None where they are not at the end."""
        if self._swaps:
            last = self._swaps[-1]
            return Estimate(last.x, last.low, last.high) if last.first_wins_above else None
        pairs = zip(self.copies, self.kernels, strict=True)
        ahead = [copy.row for copy, kernel in pairs if copy.asked.low > kernel.asked.high]
        return Estimate(ahead[0], ahead[0], ahead[0]) if ahead else None

    @property
    def spoken(self) -> str:
        """`from 85.5 KiB a row on [80 KiB, 91 KiB]`, `nowhere up to 128 KiB a row`."""
        pays, largest = self.pays_from, format_bytes(self.sizes[-1])
        if pays is None:
            return f"{'no longer at' if self._swaps else 'nowhere up to'} {largest} a row"
        between = f" [{format_bytes(pays.low)}, {format_bytes(pays.high)}]" if pays.low < pays.high else ""
        return f"from {format_bytes(pays.value)} a row on{between}"


def measured(machine: Machine) -> list[RowCopies]:
    """One for each table and number of rows that were gathered both ways."""
    by_copies: dict[tuple, dict[float, Gather]] = defaultdict(dict)
    by_kernels: dict[tuple, dict[float, Gather]] = defaultdict(dict)
    for one in _asked(gathers.measured(machine)):
        if one.way == COPIES:
            _keep_faster(by_copies[_batch(one)], one)
        elif one.way not in _OTHERS:
            _keep_faster(by_kernels[_batch(one)], one)
    found = []
    for batch, copies in by_copies.items():
        kernels = by_kernels[batch]
        if both := sorted(copies.keys() & kernels.keys()):
            found.append(RowCopies(tuple(copies[row] for row in both), tuple(kernels[row] for row in both)))
    return found


def _asked(found: Iterable[Gather]) -> list[Gather]:
    """Rows on the host that come to a GPU, one mini-batch at a time."""
    return [
        one for one in found if one.asked and one.store in gathers.PLAIN_STORES and one.number("window") <= 1
    ]


def _batch(one: Gather) -> tuple:
    """What is asked for, but for the size of a row."""
    return (
        *(one.number(axis) for axis in ("span", "element", "rows")),
        *(one.word(axis) for axis in ("indices", "graph")),
    )


def _keep_faster(there: dict[float, Gather], one: Gather) -> None:
    known = there.get(one.row)
    if known is None or one.asked.value > known.asked.value:
        there[one.row] = one
