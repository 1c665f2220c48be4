"""What a quantity of a machine may be: the measured value, times draws from its uncertainty.

A row's error has two parts. Type A is drawn for each row by itself. Type B is common to a run: one draw of it
is shared by all rows of a family and clock in a run. Both are Student's t of their degrees of freedom, on the
logarithm. A draw belongs to its run and row, whoever asks, so a machine against itself is always exactly 1.
Of several nodes a draw also takes nodes anew, with replacement: which ones will be delivered is not known.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from grainscope_report import metrics, uncertainty
from grainscope_report.buying.ways import Points
from grainscope_report.buying.words import RUNS, SPREAD
from grainscope_report.model import Row, Uncertainty

Array = np.ndarray

# A variance of hardly any degrees of freedom draws what no number holds.
MOST = 20.0


@dataclass(frozen=True)
class Estimates:
    """A quantity: what was measured, and the draws; these are NaN where nothing tells how far it varies."""

    value: float
    draws: Array = field(repr=False)


def unknown(points: Points, metric: str) -> Iterator[str]:
    """What is not known of a quantity: what `RUNS` differ by, or any `SPREAD` of this metric."""
    rows = [row for sites in points for runs in sites for _, row in runs if row.label == "measured"]
    if not all(follows_time(row, metric) for row in rows):
        yield SPREAD
    elif not all(row.both_known for row in rows):
        yield RUNS


def follows_time(row: Row, metric: str) -> bool:
    """Whether the quantity varies as the row's time does: TEPS of trials are their edges over their times."""
    return metrics.follows_median(row, metric) or (metric == "teps" and bool(row.trials))


class Draws:
    """Draws by run and row, of one seed; without `runs` of type A alone, as if runs did not differ."""

    def __init__(self, count: int, seed: int, runs: bool = True) -> None:
        self.count, self._seed, self._runs = count, seed, runs
        self._shared: dict[tuple, Array] = {}

    def estimates(self, points: Points, metric: str, machine: tuple) -> Estimates:
        """The quantity of a case: the median over nodes of medians over sites of medians over runs."""
        value = float(np.median([_middle([_value(row, metric) for _, row in runs] for runs in sites)
                                 for sites in points]))  # fmt: skip
        nodes = np.stack(
            [
                _middle([self._row(run, row, metric) for run, row in runs] for runs in sites)
                for sites in points
            ]
        )
        if len(nodes) == 1:
            return Estimates(value, nodes[0])
        chosen = self._generator("nodes", *machine).integers(len(nodes), size=(len(nodes), self.count))
        return Estimates(value, np.median(np.take_along_axis(nodes, chosen, axis=0), axis=0))

    def _row(self, run: str, row: Row, metric: str) -> Array:
        """The quantity of one row of one run."""
        value = _value(row, metric)
        if row.label != "measured":
            return np.full(self.count, value)  # a model says the same each time
        if not follows_time(row, metric):
            return np.full(self.count, math.nan)
        told = row.uncertainty
        if not told or not told.a:
            return np.full(self.count, math.nan)
        longer = self._error(told.a, run, row.name, *sorted(row.case.site.items()))
        if self._runs and told.combined:
            case = row.case
            longer = longer + self._error(
                told.b, run, case.family, case.version, uncertainty.clock_of(row.raw)
            )
        factor = np.exp(np.clip(longer, -MOST, MOST))
        return value * factor if metrics.better(metric) == metrics.LOWER else value / factor

    def _error(self, part: Uncertainty, *of: object) -> Array:
        """Draws of a logarithm, the same for the same thing."""
        key = (part.standard, part.freedom, *of)
        if key not in self._shared:
            random = self._generator(*of)
            standard = (
                random.standard_normal(self.count)
                if part.freedom is None
                else random.standard_t(part.freedom, self.count)
            )
            self._shared[key] = part.standard * standard
        return self._shared[key]

    def _generator(self, *of: object) -> np.random.Generator:
        seed = hashlib.sha256(repr((self._seed, *of)).encode()).digest()
        return np.random.default_rng(int.from_bytes(seed[:16], "big"))


def _middle(by_site: Iterator[Sequence]) -> Array:
    return np.median(np.stack([np.median(np.array(runs), axis=0) for runs in by_site]), axis=0)


def _value(row: Row, metric: str) -> float:
    found = metrics.value(row, metric)
    return math.nan if found is None else float(found)
