"""Components that are predicted on every machine, since one of them ran `quick` only and has no such rows.

Then no machine's measured rows of the component are looked at: of each, the reference included, the same rows
are predicted from its own microbenchmarks. What the rows ask for is taken from the reference's file. So what
is predicted is compared with what is predicted, and never with what was measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grainscope_report import reader
from grainscope_report.buying.machines import Machine
from grainscope_report.buying.workload import Component, Workload
from grainscope_report.errors import ReportError
from grainscope_report.groups import programs_rates as rates
from grainscope_report.groups import programs_times as programs
from grainscope_report.groups.programs_times import UnpredictedError
from grainscope_report.model import Result, Row, Uncertainties, Uncertainty
from grainscope_report.statistics import Z_90
from grainscope_report.units import format_percent

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
