"""How a machine compares with the reference: ratios of its components, their draws, and predicted times; and
components that are predicted on every machine, since one of them ran `quick` only and has no such rows.

A row's error has two parts. Type A is drawn for each row by itself. Type B is common to a run: one draw of it
is shared by all rows of a family and clock in a run. Both are Student's t of their degrees of freedom, on the
logarithm. A draw belongs to its run and row, whoever asks, so a machine against itself is always exactly 1.
Rows that are predicted have the model's error in their place, one draw for a family on a machine. Which
nodes will be delivered is not known: the middle one of n is off by their spread, with n - 1 degrees of
freedom, alike for all components of a machine. (Nodes drawn anew would do with many; of two they cover half.)

Of a component that is predicted no machine's measured rows are looked at: of each, the reference included,
the same rows are predicted from its own microbenchmarks. What the rows ask for is taken from the reference's
file. So what is predicted is compared with what is predicted, and never with what was measured.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from grainscope_report import metrics, reader, uncertainty
from grainscope_report.buying import machines, workload
from grainscope_report.buying.machines import (
    LackingError,
    Machine,
    NotComparableError,
    Points,
    Way,
    differences,
)
from grainscope_report.buying.words import RUNS, SPREAD
from grainscope_report.buying.workload import SAME, Component, Workload
from grainscope_report.errors import ReportError
from grainscope_report.groups import programs_rates as rates
from grainscope_report.groups import programs_times as programs
from grainscope_report.groups.programs_times import UnpredictedError
from grainscope_report.model import Result, Row, Uncertainties, Uncertainty
from grainscope_report.statistics import Z_90
from grainscope_report.units import format_percent

# Components that are predicted on every machine.

MEASURED, PREDICTED = "measured", "predicted"
SHORT = ("smoke", "quick")


@dataclass(frozen=True)
class Substitute:
    """A component that is predicted: for whose sake, and how far off nine in ten such rows were."""

    component: str
    lacking: tuple[str, ...]
    off_by: float

    @property
    def text(self) -> str:
        """The sentence that a verdict has to carry."""
        return (
            f"{self.component!r} is predicted on every machine and measured on none, because of "
            f"{' and '.join(self.lacking)}: `quick` alone was run, and it has no such rows. Nine in ten rows "
            f"of the kind were predicted within "
            f"{format_percent(self.off_by)} on kinds of GPUs that took no part in the fit (docs/model.md)"
        )


def with_predictions(
    workload: Workload, reference: Machine, found: Sequence[Machine]
) -> tuple[Workload, Machine, list[Machine], list[Substitute]]:
    """The workload and its machines, with predicted rows where they are needed; else as they are."""
    every = [reference, *found]
    substitutes: dict[str, Substitute] = {}
    asked: dict[str, list[Row]] = {}
    for component in workload.components:
        lacking = [one.name for one in found if _may_be_predicted(component, one)]
        rows = _rows(reference, component)
        if lacking and rows and all(programs.is_program(row) for row in rows):
            off_by = programs.off_by(rows[0].case.family.partition("/")[0])
            substitutes[component.name] = Substitute(component.name, tuple(lacking), off_by)
            asked[component.name] = rows
    if not substitutes:
        return workload, reference, list(found), []
    made = [_machine(one, asked, substitutes) for one in every]
    components = tuple(
        replace(one, name=f"{one.name} ({PREDICTED})", label=PREDICTED) if one.name in substitutes else one
        for one in workload.components
    )
    return replace(workload, components=components), made[0], made[1:], list(substitutes.values())


def _may_be_predicted(component: Component, machine: Machine) -> bool:
    """Whether nobody asked the machine, in a short run: what was skipped or failed says something else."""
    short = all(result.run.preset in SHORT for result in machine.results)
    rows = [row for result in machine.results for row in result.rows]
    asked = any(component.where.matches(row.case) for row in rows)
    return component.label == MEASURED and short and not asked


def _rows(machine: Machine, component: Component) -> list[Row]:
    """The measured rows that a component means, each question once."""
    rows = {
        (row.case.family, row.case.without(), row.case.site_key): row
        for result in machine.results
        for row in result.rows
        if row.measured and component.where.matches(row.case)
    }
    return list(rows.values())


def _machine(
    machine: Machine, asked: Mapping[str, Sequence[Row]], substitutes: Mapping[str, Substitute]
) -> Machine:
    """The machine with the rows predicted by each of its runs."""
    nodes = tuple(tuple(_run(result, asked, substitutes) for result in node) for node in machine.nodes)
    return replace(machine, nodes=nodes)


def _run(result: Result, asked: Mapping[str, Sequence[Row]], substitutes: Mapping[str, Substitute]) -> Result:
    whole = reader.read(result.path)
    known, work = rates.by_row(whole), programs.constants_for(whole)
    made: dict[tuple, Row] = {}
    for name, rows in asked.items():
        told = Uncertainty(substitutes[name].off_by / Z_90)
        for row in rows:
            try:
                seconds = programs.predict(row, known(row), work).seconds
            except UnpredictedError as error:
                raise ReportError(f"component {name!r}: {row.name} cannot be predicted: {error}") from None
            made[row.case.family, row.case.without(), row.case.site_key] = _as_predicted(row, seconds, told)
    return replace(result, rows=(*result.rows, *made.values()))


def _as_predicted(row: Row, seconds: float, told: Uncertainty) -> Row:
    """The row with its predicted time, and without everything else that was measured."""
    return replace(
        row,
        label=PREDICTED,
        visits=(),
        uncertainty=Uncertainties(b=told, combined=told),
        interval_s=None,
        median_s=seconds,
        mad_s=None,
        p5_s=None,
        p95_s=None,
        flags=frozenset(),
        bandwidth_gb_s=row.bytes / seconds / 1e9 if row.bytes else None,
        link_fraction=None,
        operation_s=seconds / row.operations if row.operations else None,
        trials=(),
        levels=(),
        energy_j=None,
        power_w=None,
        lanes=(),
        counters={},
    )


# How machines compare.

Array = np.ndarray

# A variance of hardly any degrees of freedom draws what no number holds.
MOST = 20.0
DEFAULT_METRICS = ("bandwidth_gb_s", "operation_s", "median_s")
# A way chooses how many bytes lists of a graph take: the one of most bytes in its time is not the fastest.
LISTS = {"edge", "lists"}


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
    """Draws by run and row, of one seed; without `runs` of type A alone, as if runs did not differ.

    Runs whose hosts are `shared` by so many steps more than others' are off alike on each clock.
    """

    def __init__(
        self, count: int, seed: int, runs: bool = True, shared: Mapping[str, int] | None = None
    ) -> None:
        self.count, self._seed, self._runs, self._shared_hosts = count, seed, runs, shared or {}
        self._shared: dict[tuple, Array] = {}

    def estimates(self, points: Points, metric: str, machine: tuple) -> Estimates:
        """The quantity of a case: the median over nodes of medians over sites of medians over runs."""
        values = [_middle([_value(row, metric) for _, row in runs] for runs in sites) for sites in points]
        nodes = [
            _middle([self._row(run, row, metric, machine) for run, row in runs] for runs in sites)
            for sites in points
        ]
        draws = _median(nodes)
        if (n := len(nodes)) > 1:
            off = np.std(np.log(values), ddof=1) * math.sqrt(uncertainty.median_share(n))
            draws = _longer(draws, metric, self._error(Uncertainty(float(off), n - 1), "nodes", *machine))
        return Estimates(float(_median(values)), draws)

    def _row(self, run: str, row: Row, metric: str, machine: tuple) -> Array:
        """The quantity of one row of one run."""
        value = _value(row, metric)
        if row.label == PREDICTED:
            # The model is off alike in all runs and nodes of a machine: no median makes its error less.
            return _longer(
                value, metric, self._error(row.uncertainty.b, PREDICTED, *machine, row.case.family)
            )
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
            clock = uncertainty.clock_of_row(row)
            longer = longer + self._error(told.b, run, case.family, case.version, clock)
            if steps := self._shared_hosts.get(run):
                hosts = uncertainty.between_hosts(clock)
                longer = longer + steps * self._error(hosts, "shared hosts", clock)
        return _longer(value, metric, longer)

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


def _longer(value: float | Array, metric: str, error: Array) -> Array:
    """The quantity where its time is longer by this logarithm: a rate is lower then."""
    factor = np.exp(np.clip(error, -MOST, MOST))
    return value * factor if metrics.better(metric) == metrics.LOWER else value / factor


def _middle(by_site: Iterator[Sequence]) -> Array:
    return _median([_median(runs) for runs in by_site])


def _median(values: Sequence[float | Array]) -> Array:
    """Of logarithms, so that rates say the same as times where two are in the middle."""
    return values[0] if len(values) == 1 else np.exp(np.median(np.log(np.stack(values)), axis=0))


def _value(row: Row, metric: str) -> float:
    found = metrics.value(row, metric)
    return math.nan if found is None else float(found)


@dataclass(frozen=True)
class Part:
    """A component on one machine: its time over the reference's, and for each size ratio and way.

    `ratios` are how many times faster than the reference, as measured; `log_ratio` is their weighted mean
    logarithm. `rows` are all that were used, `base_rows` those of the reference. `unknown` is what is not
    known of whose uncertainty: by machine name `RUNS` or `SPREAD`. `left_out` says which rows do not count.
    `watts` is the mean power of a GPU's board over the component's time, where all rows have it.
    """

    time: Estimates
    log_ratio: Estimates
    ratios: dict[float | None, Estimates]
    ways: dict[float | None, Way]
    rows: tuple[Row, ...] = field(repr=False)
    base_rows: tuple[Row, ...] = field(default=(), repr=False)
    unknown: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()
    watts: float | None = None


@dataclass(frozen=True)
class Prediction:
    """One machine's components, and what they come to."""

    machine: Machine
    names: tuple[str, ...]  # of the components
    shares: Array
    parts: tuple[Part, ...]
    time: Estimates
    geometric: Estimates


def together(own: Prediction, same: Sequence[Prediction]) -> Prediction:
    """The prediction with the geometric means of what all these predictions of one machine say."""
    parts = tuple(
        replace(
            part,
            time=_geometric([one.parts[at].time for one in same]),
            log_ratio=_weighted(np.full(len(same), 1 / len(same)), [one.parts[at].log_ratio for one in same]),
        )
        for at, part in enumerate(own.parts)
    )
    time = _weighted(own.shares, [part.time for part in parts])
    return replace(own, parts=parts, time=time, geometric=_geometric([one.geometric for one in same]))


class Predictor:
    """Holds the reference's side and the draws that all machines share."""

    def __init__(
        self, found: Workload, reference: Machine, draws: Draws, candidates: Sequence[Machine] = ()
    ) -> None:
        self.workload, self.reference = found, reference
        self.draws = draws
        self.shares = np.array(workload.shares(found))
        self._cache: dict[tuple, Estimates] = {}
        self._ways = [self._of_reference(component) for component in found.components]
        every = [reference, *candidates]
        self._skips = [machines.skipped_alike(every, component) for component in found.components]
        self.metrics = [self._metric(at) for at in range(len(found.components))]
        for component, there in zip(found.components, self._ways, strict=True):
            for size in component.sizes:
                if not any(way.around(size) for way in there):
                    sizes = machines.known_sizes(there)
                    raise ReportError(machines.out_of_range(reference, component, sizes, size))

    def predict(self, machine: Machine) -> Prediction:
        """The machine's predicted time, 1 for the reference; NotComparableError where rows are lacking."""
        parts = tuple(self._part(machine, at) for at in range(len(self.workload.components)))
        time = _weighted(self.shares, [part.time for part in parts])
        mean = _weighted(self.shares, [part.log_ratio for part in parts])
        names = tuple(component.name for component in self.workload.components)
        return Prediction(
            machine, names, self.shares, parts, time, Estimates(float(np.exp(mean.value)), np.exp(mean.draws))
        )

    def _of_reference(self, component: Component) -> list[Way]:
        try:
            return machines.ways(self.reference, component)
        except NotComparableError as error:
            # What even the reference lacks, the workload asks for in vain.
            raise ReportError(str(error)) from None

    def _metric(self, at: int) -> str:
        component = self.workload.components[at]
        rows = [row for way in self._ways[at] for row in way.all_rows]
        usual = DEFAULT_METRICS[-1:] if all(LISTS & row.case.axes.keys() for row in rows) else DEFAULT_METRICS
        asked = [component.metric] if component.metric else usual
        for metric in asked:
            if all(metrics.value(row, metric) for row in rows):
                return metric
        raise ReportError(
            f"component {component.name!r}: {rows[0].name} has no {' or '.join(asked)}"
            + (f"; it has the counters {', '.join(sorted(rows[0].counters))}" if rows[0].counters else "")
        )

    def _part(self, machine: Machine, at: int) -> Part:
        component = self.workload.components[at]
        ratios, chosen, rows, base_rows = {}, {}, [], []
        lacking: dict[tuple[str, str], None] = {}
        left_out: list[tuple[str, Row]] = []
        there = self._candidate_ways(machine, at)
        among = machines.known_sizes(self._ways[at]) & machines.known_sizes(there)
        for size in component.sizes:
            base_way, base = self._fastest(self.reference, machine, self._ways[at], at, size, among)
            alike = self._by_the_same_way(machine, at, there, base_way)
            chosen[size], found = self._fastest(machine, machine, alike, at, size, among)
            ratios[size] = self._ratio(at, found, base)
            rows += [row for one in chosen[size].around(size, among) for row in chosen[size].rows(one)]
            base_rows += [row for one in base_way.around(size, among) for row in base_way.rows(one)]
            for one, way in ((self.reference, base_way), (machine, chosen[size])):
                used = way.around(size, among)
                left_out += [
                    (one.name, row) for row in way.left_out if row.case.axes.get(component.along) in used
                ]
                if machine.key != self.reference.key:
                    lacking |= {(one.name, what): None for what in self._unknown(way, at, used)}
        weights = np.array(list(component.sizes.values()))
        times = _weighted(weights, [Estimates(1 / ratio.value, 1 / ratio.draws) for ratio in ratios.values()])
        logs = _weighted(
            weights, [Estimates(float(np.log(ratio.value)), np.log(ratio.draws)) for ratio in ratios.values()]
        )
        watts = _watts(
            (weight / ratios[size].value * part, chosen[size].rows(one))
            for size, weight in component.sizes.items()
            for one, part in chosen[size].around(size, among).items()
        )
        more = tuple(lacking), tuple(_said(left_out)), watts
        return Part(times, logs, ratios, chosen, tuple(rows), tuple(base_rows), *more)

    def _unknown(self, way: Way, at: int, used: Iterable[float | None]) -> Iterator[str]:
        for one in used:
            yield from unknown(way.points[one], self.metrics[at])

    def _candidate_ways(self, machine: Machine, at: int) -> list[Way]:
        component, reference = self.workload.components[at], self._ways[at]
        try:
            there = machines.ways(machine, component, reference, self._skips[at])
        except LackingError:
            raise
        except NotComparableError as error:
            if machines.needs_more([row for way in reference for row in way.all_rows]):
                raise LackingError(str(error)) from None
            raise NotComparableError(f"{error}; {self._differences(machine)}") from None
        machines.same_question(component, reference, machine, there)
        return there

    def _by_the_same_way(self, machine: Machine, at: int, there: list[Way], base: Way) -> list[Way]:
        component = self.workload.components[at]
        if component.method != SAME:
            return there
        same = [way for way in there if way.by == base.by]
        if not same:
            raise NotComparableError(
                f"{machine.name} has no rows of {component.name!r} by the reference's way "
                f"({machines.in_words(base.by)}); {self._differences(machine)}"
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
        self,
        machine: Machine,
        candidate: Machine,
        there: Sequence[Way],
        at: int,
        size: float | None,
        among: Set[float | None],
    ) -> tuple[Way, Estimates]:
        """The way that measured best at a size, interpolated between sizes `among` those of both machines.

        `machine` is the candidate or the reference, whose ways are `there`.
        """
        found = [(way, one) for way in there if (one := self._at(machine, way, at, size, among)) is not None]
        bad = next((row for way in there if (row := way.lacking(size, among))), None)
        if not found and bad:
            name = self.workload.components[at].name
            raise LackingError(
                f"{machine.name} lacks rows of {name!r}: {bad.name} was {bad.status}: {bad.reason}"
            )
        if not found and (uneven := next((one for way in there if (one := way.unlike(size, among))), None)):
            raise NotComparableError(machines.why_unlike(machine, uneven))
        if not found:
            whose = self.reference.name if candidate is not self.reference else ""
            said = machines.out_of_range(candidate, self.workload.components[at], among, size, whose)
            raise NotComparableError(f"{said}; {self._differences(candidate)}")
        sign = 1 if self._better(at) == metrics.HIGHER else -1
        return max(found, key=lambda one: sign * one[1].value)

    def _at(
        self, machine: Machine, way: Way, at: int, size: float | None, among: Set[float | None]
    ) -> Estimates | None:
        """The quantity at a size, between two measured sizes on a line in log-log."""
        around = way.around(size, among)
        if not around or way.lacking(size, among) or way.unlike(size, among):
            return None
        found = [(part, self._measured(machine, way, at, one)) for one, part in around.items()]
        if len(found) == 1:
            return found[0][1]
        return Estimates(
            float(math.prod(one.value**part for part, one in found)),
            math.prod(one.draws**part for part, one in found),
        )

    def _measured(self, machine: Machine, way: Way, at: int, size: float | None) -> Estimates:
        key = (machine.key, at, way.axes, size)
        if key not in self._cache:
            metric = self.metrics[at]
            if bad := next((row for row in way.rows(size) if not metrics.value(row, metric)), None):
                raise NotComparableError(f"{machine.name}: {bad.name} has no {metric}")
            self._cache[key] = self.draws.estimates(way.points[size], metric, machine.key)
        return self._cache[key]


def _said(left_out: Sequence[tuple[str, Row]]) -> Iterator[str]:
    """A sentence for each machine on its rows that do not count."""
    for name in dict.fromkeys(name for name, _ in left_out):
        first, *rest = {id(row): row for of, row in left_out if of == name}.values()
        more = f", as are {len(rest)} more" if rest else ""
        yield f"{name}: {first.name} was {first.status} ({first.reason}) and is left out{more}"


def _watts(parts: Iterable[tuple[float, Sequence[Row]]]) -> float | None:
    """The mean power over parts of the time, each with its rows; None unless all of these have it."""
    shares, means = [], []
    for share, rows in parts:
        watts = [row.power_w for row in rows]
        if not watts or None in watts:
            return None
        shares.append(share)
        means.append(float(np.mean(watts)))
    return float(np.average(means, weights=shares))


def _weighted(weights: Array, found: Sequence[Estimates]) -> Estimates:
    """The weighted sum."""
    value = float(sum(weight * one.value for weight, one in zip(weights, found, strict=True)))
    return Estimates(value, sum(weight * one.draws for weight, one in zip(weights, found, strict=True)))


def _geometric(found: Sequence[Estimates]) -> Estimates:
    """The geometric mean."""
    values = np.log([one.value for one in found])
    return Estimates(
        float(np.exp(values.mean())), np.exp(np.mean([np.log(one.draws) for one in found], axis=0))
    )
