"""How a machine's components compare with the reference's: ratios, their resamples, and predicted times."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grainscope_report import metrics
from grainscope_report.buying import bootstrap, ways, workload
from grainscope_report.buying.bootstrap import Array, Estimates
from grainscope_report.buying.machines import Machine, NotComparableError, differences
from grainscope_report.buying.ways import Way
from grainscope_report.buying.workload import SAME, Component, Workload
from grainscope_report.errors import ReportError
from grainscope_report.model import Row

DEFAULT_METRICS = ("bandwidth_gb_s", "operation_s", "median_s")


@dataclass(frozen=True)
class Part:
    """A component on one machine: its time over the reference's, and for each size ratio and way.

    `ratios` are how many times faster than the reference, as measured; `log_ratio` is their weighted mean
    logarithm. `rows` are all visits that were used, `no_spread` the machines of which nothing tells how far
    the metric varies.
    """

    time: Estimates
    log_ratio: Estimates
    ratios: dict[float | None, Estimates]
    ways: dict[float | None, Way]
    rows: tuple[Row, ...] = field(repr=False)
    no_spread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """One machine's components, and what they come to."""

    machine: Machine
    parts: tuple[Part, ...]
    time: Estimates
    geometric: Estimates


class Predictor:
    """Holds the reference's side and the resampling that all machines share."""

    def __init__(self, found: Workload, reference: Machine, draws: int, seed: int) -> None:
        self.workload, self.reference = found, reference
        self.draws, self.seed = draws, seed
        self.shares = np.array(workload.shares(found))
        self._plans: dict[tuple, bootstrap.Resampling] = {}
        self._trials: dict[tuple, Array] = {}
        self._cache: dict[tuple, Estimates] = {}
        self._ways = [self._of_reference(component) for component in found.components]
        self.metrics = [self._metric(at) for at in range(len(found.components))]

    def predict(self, machine: Machine) -> Prediction:
        """The machine's predicted time, 1 for the reference; NotComparableError where rows are lacking."""
        parts = tuple(self._part(machine, at) for at in range(len(self.workload.components)))
        time = _weighted(self.shares, [part.time for part in parts])
        mean = _weighted(self.shares, [part.log_ratio for part in parts])
        return Prediction(machine, parts, time, Estimates(float(np.exp(mean.value)), np.exp(mean.draws)))

    def _of_reference(self, component: Component) -> list[Way]:
        try:
            return ways.ways(self.reference, component)
        except NotComparableError as error:
            # What even the reference lacks, the workload asks for in vain.
            raise ReportError(str(error)) from None

    def _metric(self, at: int) -> str:
        component = self.workload.components[at]
        rows = [row for way in self._ways[at] for row in _rows(way)]
        asked = [component.metric] if component.metric else DEFAULT_METRICS
        for metric in asked:
            if all(metrics.value(row, metric) for row in rows):
                return metric
        raise ReportError(
            f"component {component.name!r}: {rows[0].name} has no {' or '.join(asked)}"
            + (f"; it has the counters {', '.join(sorted(rows[0].counters))}" if rows[0].counters else "")
        )

    def _part(self, machine: Machine, at: int) -> Part:
        component = self.workload.components[at]
        ratios, chosen, rows = {}, {}, []
        no_spread: dict[str, None] = {}
        for size in component.sizes:
            base_way, base = self._fastest(self.reference, self._ways[at], at, size)
            there = self._candidate_ways(machine, at, base_way)
            chosen[size], found = self._fastest(machine, there, at, size)
            ratios[size] = self._ratio(at, found, base)
            rows += _rows(chosen[size], size)
            for one, way in ((self.reference, base_way), (machine, chosen[size])):
                if not self._spread_known(way, at, size):
                    no_spread[one.name] = None
        weights = np.array(list(component.sizes.values()))
        times = _weighted(weights, [Estimates(1 / one.value, 1 / one.draws) for one in ratios.values()])
        logs = _weighted(
            weights, [Estimates(float(np.log(one.value)), np.log(one.draws)) for one in ratios.values()]
        )
        return Part(times, logs, ratios, chosen, tuple(rows), tuple(no_spread))

    def _spread_known(self, way: Way, at: int, size: float | None) -> bool:
        points = set(way.around(size) or ())
        return all(bootstrap.spread_known(way.points[one], self.metrics[at]) for one in points)

    def _candidate_ways(self, machine: Machine, at: int, base: Way) -> list[Way]:
        component = self.workload.components[at]
        if machine.key == self.reference.key:
            there = self._ways[at]
        else:
            try:
                there = ways.ways(machine, component)
            except NotComparableError as error:
                raise NotComparableError(f"{error}; {self._differences(machine)}") from None
        if component.method != SAME:
            return there
        same = [way for way in there if len(there) == 1 or way.how == base.how]
        if not same:
            raise NotComparableError(
                f"{machine.name} has no rows of {component.name!r} by the reference's way ({base.text}); "
                f"{self._differences(machine)}"
            )
        return same

    def _differences(self, machine: Machine) -> str:
        return differences(self.reference.results[0], machine.results[0])

    def _ratio(self, at: int, found: Estimates, base: Estimates) -> Estimates:
        """How many times better than the reference."""
        if self._better(at) == metrics.HIGHER:
            return Estimates(found.value / base.value, found.draws / base.draws)
        return Estimates(base.value / found.value, base.draws / found.draws)

    def _better(self, at: int) -> str:
        return self.workload.components[at].better or metrics.better(self.metrics[at]) or metrics.HIGHER

    def _fastest(
        self, machine: Machine, there: Sequence[Way], at: int, size: float | None
    ) -> tuple[Way, Estimates]:
        """The way that measured best at a size, interpolated between measured sizes."""
        found = [(way, one) for way in there if (one := self._at(machine, way, at, size)) is not None]
        if not found:
            said = ways.out_of_range(machine, self.workload.components[at], there, size)
            raise NotComparableError(f"{said}; {self._differences(machine)}")
        sign = 1 if self._better(at) == metrics.HIGHER else -1
        return max(found, key=lambda one: sign * one[1].value)

    def _at(self, machine: Machine, way: Way, at: int, size: float | None) -> Estimates | None:
        """The quantity at a size, between two measured sizes on a line in log-log."""
        around = way.around(size)
        if around is None:
            return None
        low, high = (self._measured(machine, way, at, one) for one in around)
        if around[0] == around[1]:
            return low
        share = (np.log(size) - np.log(around[0])) / (np.log(around[1]) - np.log(around[0]))
        return Estimates(
            float(low.value ** (1 - share) * high.value**share), low.draws ** (1 - share) * high.draws**share
        )

    def _measured(self, machine: Machine, way: Way, at: int, size: float | None) -> Estimates:
        key = (machine.key, at, way.how, size)
        if key not in self._cache:
            if machine.key not in self._plans:
                # The same machine is resampled alike wherever it stands; another's draws are its own.
                seed = (self.seed, len(self._plans))
                self._plans[machine.key] = bootstrap.resampling(machine, self.draws, seed)
            metric = self.metrics[at]
            if bad := next((row for row in _rows(way, size) if not metrics.value(row, metric)), None):
                raise NotComparableError(f"{machine.name}: {bad.name} has no {metric}")
            stream = (at, len(self._cache))
            self._cache[key] = bootstrap.estimates(
                way.points[size], metric, self._plans[machine.key], self._trials, stream
            )
        return self._cache[key]


def _rows(way: Way, size: float | None = -1) -> list[Row]:
    """The visits of a way: all, or those around a size."""
    points = way.points if size == -1 else set(way.around(size) or ())
    return [row for at in points for sites in way.points[at] for visits in sites for row in visits]


def _weighted(weights: Array, found: Sequence[Estimates]) -> Estimates:
    """The weighted sum."""
    value = float(sum(weight * one.value for weight, one in zip(weights, found, strict=True)))
    return Estimates(value, sum(weight * one.draws for weight, one in zip(weights, found, strict=True)))
