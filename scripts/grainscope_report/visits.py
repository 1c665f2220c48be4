"""How far repeated measurements differ, and at which level: visit, process, machine.

The data are medians of visits, with the sampling error of each. They come from result files, or from a file
of medians that an earlier study kept (`medians_json`), with the checksums of the results it was made of.

A value is the logarithm of a visit's median, so a spread is relative. For one row, mean squares of the nested
design (visits in processes in machines) give a variance for each level; of a level that is not there, or has
one member, nothing is known. Variances are pooled over the rows of a family and clock before the root is
taken: those of single rows have too few degrees of freedom to mean anything.
Source: Searle, Casella, McCulloch, Variance Components (1992), section 3.6. The standard library alone.
"""

import gzip
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any

from grainscope_report.errors import ReportError
from grainscope_report.loading import load
from grainscope_report.statistics import median_ranks
from grainscope_report.uncertainty import clock_of, kind_of, standing

FORMAT = "grainscope medians 1"
LEVELS = ("sample", "visit", "process", "machine")
# A tenth of the rows varies so much more than the rest that it would stand for all of them.
TYPICAL = 0.9

Key = tuple[str, str]  # family and clock
Variances = dict[str, float]


@dataclass(frozen=True)
class Visit:
    """One visit to a case: seconds, and the standard error of their logarithm by sampling alone."""

    median_s: float
    error: float


@dataclass(frozen=True)
class Measured:
    """What one run measured: by question, its visits, in processes."""

    source: str
    sha256: str
    started: str
    commit: str
    machine: str
    kind: tuple[str, str] | None  # names of its GPUs, if any, and of its CPU
    versions: Mapping[str, int]  # by family
    clocks: Mapping[str, Key]
    processes: Mapping[str, tuple[tuple[Visit, ...], ...]]


@dataclass(frozen=True)
class Component:
    """The spread at each level of a family on a clock, as standard deviations relative to the value."""

    machine: str  # GPU or CPU model; empty of files that do not tell
    key: Key
    rows: int
    whole: Variances  # of all rows
    typical: Variances  # without the tenth of rows that varies most


def _question(family: str, axes: Mapping[str, Any], site: Mapping[str, int], clock: str) -> str:
    """A case and how it is timed, as text that is equal where both are."""
    return json.dumps([family, axes, site, clock], sort_keys=True)


def read(path: Path) -> list[Measured]:
    """The runs in a file: a result, or medians that were kept."""
    content = path.read_bytes() if path.is_file() else b""
    text = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    if text.lstrip()[:1] == b"{" and FORMAT.encode() in text[:200]:
        return [_from_kept(run) for run in json.loads(text)["runs"]]
    found, document = load(path)
    return [_from_result(found, document)]


def kept(runs: Iterable[Measured]) -> str:
    """The runs as text that `read` takes."""
    whole = {"format": FORMAT, "runs": [_kept(run) for run in runs]}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False) + "\n"


def components(runs: Sequence[Measured]) -> list[Component]:
    """The spread of each family and clock at each level, on each kind of machine.

    Of the rows that two runs of it measured; of a single run, of all its rows.
    """
    kinds: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for run in runs:
        kinds[run.kind or ("", "")].append(run)
    found = []
    for (gpu, cpu), alike in sorted(kinds.items(), key=lambda each: (not each[0][0], each[0])):
        by_key: dict[Key, list[Variances]] = defaultdict(list)
        for question in sorted({question for run in alike for question in run.processes}):
            measured = [run for run in alike if question in run.processes]
            if len(measured) < min(2, len(alike)):
                continue
            machines: dict[str, list[tuple[Visit, ...]]] = defaultdict(list)
            for run in measured:
                machines[run.machine].extend(run.processes[question])
            by_key[measured[0].clocks[question]].append(row_variances(list(machines.values())))
        found += [_pooled(gpu or cpu, key, rows) for key, rows in sorted(by_key.items())]
    return found


def row_variances(machines: Sequence[Sequence[Sequence[Visit]]]) -> Variances:
    """The variances of one row at each level; each may be negative, since only their means are unbiased."""
    values = [
        [[math.log(visit.median_s) for visit in process] for process in machine] for machine in machines
    ]
    errors = [visit.error**2 for machine in machines for process in machine for visit in process]
    variances = {"sample": fmean(errors)}
    processes = [process for machine in values for process in machine]
    within = _mean_square(processes)
    if within is not None:
        variances["visit"] = within - variances["sample"]
    means = [[fmean(process) for process in machine] for machine in values]
    between = _mean_square(means)
    if between is not None:
        visits = 1 / fmean(1 / len(process) for process in processes)
        # Of one visit a process, what visits and processes add cannot be told apart.
        variances["process"] = between - (within / visits if within is not None else variances["sample"])
    if len(values) > 1:
        each = 1 / fmean(1 / len(machine) for machine in values)
        top = _mean_square([[fmean(machine) for machine in means]]) or 0.0
        variances["machine"] = top - (between / each if between is not None else 0.0)
    return variances


def table(found: Sequence[Component]) -> str:
    """The components as a table of percent, the typical rows first."""
    lines = [f"{'family':26}{'clock':7}{'rows':>5}  {'of nine rows in ten, %':^32}  {'of all rows, %':^32}"]
    heads = "".join(f"{level:>8}" for level in LEVELS)
    lines.append(f"{'':38}  {heads}  {heads}")
    machine = ""
    for component in found:
        family, clock = component.key
        if component.machine != machine:
            machine = component.machine
            lines.append(f"{machine}:")
        cells = "  ".join(_cells(part) for part in (component.typical, component.whole))
        lines.append(f"{family:26}{clock:7}{component.rows:5}  {cells}".rstrip())
    return "\n".join(lines) + "\n"


def _cells(spread: Variances) -> str:
    return "".join(f"{100 * spread[level]:8.2f}" if level in spread else f"{'-':>8}" for level in LEVELS)


def _mean_square(groups: Sequence[Sequence[float]]) -> float | None:
    """The variance within groups; None where none has two members."""
    freedom = sum(len(group) - 1 for group in groups)
    if freedom == 0:
        return None
    return sum((x - mean) ** 2 for group in groups for mean in [fmean(group)] for x in group) / freedom


def _pooled(machine: str, key: Key, rows: Sequence[Variances]) -> Component:
    ordered = sorted(rows, key=lambda row: sum(row.values()))
    typical = ordered[: max(1, math.ceil(TYPICAL * len(ordered)))]
    return Component(machine, key, len(rows), _roots(rows), _roots(typical))


def _roots(rows: Sequence[Variances]) -> Variances:
    levels = [level for level in LEVELS if all(level in row for row in rows)]
    return {level: math.sqrt(max(0.0, fmean(row[level] for row in rows))) for level in levels}


def _from_result(path: Path, document: Mapping[str, Any]) -> Measured:
    context = document["context"]
    one_process = "--one-process=true" in context["run"]["flags"]
    visits: dict[str, list[Visit]] = {}
    clocks: dict[str, Key] = {}
    versions: dict[str, int] = {}
    for row in document["benchmarks"]:
        if row.get("status") != "ok" or row.get("label") != "measured":
            continue
        case = row["case"]
        row = row | {"visits": standing([visit | {"busy": is_busy(visit)} for visit in row["visits"]])}
        if row["visits"][0]["busy"]:
            row["timing"] = row["timing"] | {"quiet": False}
        clock = clock_of(row)
        question = _question(case["family"], case["axes"], case["site"], clock)
        clocks[question] = (case["family"], clock)
        versions[case["family"]] = case["version"]
        visits[question] = [Visit(visit["median_s"], _sampling_error(visit)) for visit in row["visits"]]
    if not visits:
        raise ReportError(f"{path} has no measured row: give runs that were not cut at once")
    return Measured(
        path.name if path.name != "result.json" else path.parent.name,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        context["run"]["started"],
        context["grainscope"]["commit"],
        machine_of(context),
        kind_of(context),
        versions,
        clocks,
        {
            question: (tuple(each),) if one_process else tuple((visit,) for visit in each)
            for question, each in visits.items()
        },
    )


def is_busy(visit: Mapping[str, Any]) -> bool:
    """Whether most of its samples found no quiet CPU, as the program marks it since visits are told apart."""
    return 2 * visit.get("disturbed", 0) > len(visit["samples_s"])


def _sampling_error(visit: Mapping[str, Any]) -> float:
    """The standard error of a median's logarithm, from its rank interval; 0 of trials, which differ."""
    if "within_s" not in visit:
        return 0.0
    low, high = visit["within_s"]
    return (high - low) / (2 * _deviations(len(visit["samples_s"])) * visit["median_s"])


@cache
def _deviations(n: int) -> float:
    """How many standard errors the rank interval of a median reaches to each side, by its exact coverage."""
    low, _ = median_ranks(n)
    outside = sum(math.comb(n, k) for k in range(low)) / 2**n
    return -NormalDist().inv_cdf(outside)


def machine_of(context: Mapping[str, Any]) -> str:
    """GPUs by UUID where there are any, else the host: what tells machines apart."""
    uuids = [gpu["uuid"] for gpu in context["environment"]["gpus"] if gpu.get("uuid")]
    return " ".join(uuids) or f"{context['host_name']} {context['environment']['cpu']['model']}"


def _kept(run: Measured) -> dict[str, Any]:
    return {
        "source": run.source,
        "sha256": run.sha256,
        "started": run.started,
        "commit": run.commit,
        "machine": run.machine,
        "kind": run.kind,
        "versions": run.versions,
        "rows": [
            [
                json.loads(question)[:-1],
                run.clocks[question][1],
                [
                    [[_short(visit.median_s), _short(visit.error)] for visit in process]
                    for process in processes
                ],
            ]
            for question, processes in run.processes.items()
        ],
    }


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _from_kept(run: Mapping[str, Any]) -> Measured:
    clocks, processes = {}, {}
    for case, clock, visits in run["rows"]:
        question = _question(*case, clock)
        clocks[question] = (case[0], clock)
        processes[question] = tuple(tuple(Visit(*visit) for visit in process) for process in visits)
    facts = (run[key] for key in ("source", "sha256", "started", "commit", "machine"))
    kind = tuple(run["kind"]) if run.get("kind") else None
    return Measured(*facts, kind, run.get("versions", {}), clocks, processes)
