"""Gates stand before ranks: why a candidate is not ranked at all."""

from collections import defaultdict
from collections.abc import Sequence

from grainscope_report import metrics, statistics
from grainscope_report.buying import ways
from grainscope_report.buying.machines import Machine
from grainscope_report.buying.workload import Gates, Workload
from grainscope_report.model import Row
from grainscope_report.units import format_percent


def of_machine(machine: Machine, workload: Workload) -> list[str]:
    """What the files tell before anything is predicted: failed rows, and links below their theory."""
    found = []
    if workload.gates.verified:
        failed = [
            row
            for result in machine.results
            for row in result.rows
            if row.status == "failed" and any(one.where.matches(row.case) for one in workload.components)
        ]
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        found += [f"verified: {failed[0].name} failed ({failed[0].reason}){more}"] if failed else []
    least = workload.gates.min_link_fraction
    return found + ([] if least is None else _links(machine, least))


def _links(machine: Machine, least: float) -> list[str]:
    """Links whose copy peak is below this share of what is negotiated, or of which that is unknown."""
    found, known = [], False
    for result in machine.results:
        for link in result.links:
            name = f"{result.path}, {link.ends[0]} to {link.ends[1]}"
            if not link.theoretical_gb_s:
                found.append(f"min_link_fraction: what the link of {name} can do is unknown")
                continue
            known = True
            share = link.peak_gb_s / link.theoretical_gb_s
            if share < least:
                found.append(
                    f"min_link_fraction: {name} reaches {format_percent(share)} of "
                    f"{link.theoretical_gb_s:.1f} GB/s, below {format_percent(least)}"
                )
    return found if found or known else ["min_link_fraction: no link was measured"]


def of_rows(rows: Sequence[Row], gates: Gates) -> list[str]:
    """Cases that vary more than `max_cv`: over visits where there are several, else over samples.

    Trials are different inputs, whose times differ for other reasons: of one visit they say nothing.
    """
    if gates.max_cv is None:
        return []
    cases: dict[tuple, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        cases[row.case.family, row.case.without(), tuple(sorted(row.case.site.items()))][
            id(row.visit or row)
        ] = row
    broken = []
    for visits in cases.values():
        there = list(visits.values())
        if len(there) > 1:
            found = metrics.cv([statistics.median(row.samples_s) for row in there if row.samples_s])
        else:
            found = None if ways.inputs(there[0]) else metrics.cv(there[0].samples_s)
        if found is not None and found > gates.max_cv:
            broken.append((found, there[0].name))
    if not broken:
        return []
    worst, name = max(broken)
    more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
    return [f"max_cv: {name} varies by {format_percent(worst)}, above {format_percent(gates.max_cv)}{more}"]
