"""Gates stand before ranks: why a candidate is not ranked at all."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from grainscope_report import metrics
from grainscope_report.buying import ways
from grainscope_report.buying.machines import Machine
from grainscope_report.buying.workload import Gates, Workload
from grainscope_report.model import Row
from grainscope_report.result import Result
from grainscope_report.units import format_bytes, format_percent


def of_machine(machine: Machine, workload: Workload) -> list[str]:
    """What the files tell before anything is predicted: failed rows, what the nodes have, and their links."""
    found, gates = [], workload.gates
    if gates.verified:
        failed = [
            row
            for result in machine.results
            for row in result.rows
            if row.status == "failed" and any(one.where.matches(row.case) for one in workload.components)
        ]
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        found += [f"verified: {failed[0].name} failed ({failed[0].reason}){more}"] if failed else []
    for result in machine.results:
        found += _hardware(result, gates)
    found += _evidence(machine, gates)
    if gates.min_link_fraction is not None:
        found += _links(machine, gates.min_link_fraction)
    if gates.min_link_gb_s is not None:
        found += _peaks(machine, "min_link_gb_s", gates.min_link_gb_s, between_gpus=False)
    if gates.min_peer_gb_s is not None:
        found += _peaks(machine, "min_peer_gb_s", gates.min_peer_gb_s, between_gpus=True)
    return list(dict.fromkeys(found))


def _hardware(result: Result, gates: Gates) -> Iterator[str]:
    """What a node has less of than is asked, or does not tell."""
    raw = result.environment.raw
    count = len(raw["gpus"])
    if gates.gpus is not None and count < gates.gpus:
        yield f"gpus: {result.path} has {count}, {gates.gpus} are needed"
    if gates.gpu_memory is not None:
        sizes = [(gpu.get("cuda") or {}).get("total_memory_bytes") for gpu in raw["gpus"]]
        yield from _enough("gpu_memory", f"a GPU of {result.path}", sizes, gates.gpu_memory)
    if gates.host_memory is not None:
        sizes = [(raw.get("memory") or {}).get("total_bytes")]
        yield from _enough("host_memory", str(result.path), sizes, gates.host_memory)


def _enough(gate: str, what: str, sizes: Sequence[float | None], least: float) -> Iterator[str]:
    if not sizes or None in sizes:
        yield f"{gate}: what {what} has is unknown"
    elif min(sizes) < least:
        yield f"{gate}: {what} has {format_bytes(min(sizes))}, {format_bytes(least)} are needed"


def _evidence(machine: Machine, gates: Gates) -> Iterator[str]:
    """What is asked for and was not measured: nothing says how well it works."""
    gpus = {case.site[end] for case in machine.cases for end in ("gpu", "peer") if end in case.site}
    has = all(len(result.environment.gpus) >= (gates.gpus or 0) for result in machine.results)
    if gates.gpus is not None and gates.gpus > 1 and has and len(gpus) < 2:
        yield "gpus: no row was measured on a second GPU; run `grainscope` on all of them"
    if gates.remote_node and not any(case.locality == "remote" for case in machine.cases):
        yield "remote_node: no row was measured from a remote NUMA node"


def _peaks(machine: Machine, gate: str, least: float, between_gpus: bool) -> Iterator[str]:
    """Copy peaks below a rate, of the links to the host or between GPUs."""
    there = [
        (result, link)
        for result in machine.results
        for link in result.links
        if (link.peer is not None) == between_gpus
    ]
    if not there:
        yield f"{gate}: no link {'between GPUs' if between_gpus else 'to the host'} was measured"
    for result, link in there:
        if link.peak_gb_s < least:
            yield (
                f"{gate}: {result.path}, {link.ends[0]} to {link.ends[1]} reaches "
                f"{link.peak_gb_s:.1f} GB/s, below {least:g}"
            )


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
        cases[row.case.family, row.case.without(), tuple(sorted(row.case.site.items()))][id(row)] = row
    broken = []
    for runs in cases.values():
        there = list(runs.values())
        visits = [visit.median_s for row in there for visit in row.visits]
        if len(visits) > 1:
            found = metrics.cv(visits)
        else:
            found = None if ways.inputs(there[0]) else metrics.cv(there[0].samples_s)
        if found is not None and found > gates.max_cv:
            broken.append((found, there[0].name))
    if not broken:
        return []
    worst, name = max(broken)
    more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
    return [f"max_cv: {name} varies by {format_percent(worst)}, above {format_percent(gates.max_cv)}{more}"]
