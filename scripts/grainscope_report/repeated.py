"""Type B from repeated runs: what values of a family on a clock differ by from run to run.

Runs of one kind of machine (GPU and CPU model) are held against each other, two by two. What their visits do
not explain of a difference is between runs: the least standard uncertainty with which 95 % of a family's rows
on a clock lie within the prediction interval of another run, together with some rows of all families on that
clock, since one family has few. What a visit alone differs by is found alike, from the visits of each run. A
few runs tell a spread to a quarter, which is worth 8 degrees of freedom (JCGM 100:2008, G.4.2). The standard
library alone.
"""

import json
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from grainscope_report import loading, uncertainty, visits
from grainscope_report.errors import ReportError
from grainscope_report.uncertainty import FORMAT, TypeB, Uncertainty
from grainscope_report.visits import Key, Measured

COVERED = 0.95
FREEDOM = 8.0
# So many rows of its clock count beside a family's own.
WEIGHT = 150
GRID = tuple(1e-4 * 1.15**step for step in range(60))  # standard uncertainties that are tried, to 40 %
DIGITS = 4
_NOWHERE = {"environment": {"gpus": [], "cpu": {"model": ""}}}


class Difference(NamedTuple):
    """One row in two runs: the logarithm of their ratio, and what the visits of each explain of it."""

    value: float
    first: Uncertainty
    second: Uncertainty

    def between(self, run: float) -> tuple[Uncertainty, Uncertainty]:
        """Both runs' combined uncertainties where runs differ by so much."""
        more = Uncertainty(run, FREEDOM)
        return uncertainty.combined(self.first, more), uncertainty.combined(self.second, more)


def table(runs: Sequence[Measured]) -> dict[str, Any]:
    """The table of type B of runs of several visits: at least two runs of a kind of machine."""
    kinds: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for run in runs:
        if run.kind and any(len(visits) > 1 for visits in map(_medians, run.processes.values())):
            kinds[run.kind].append(run)
    # Those with a GPU first: of a kind that the table does not know, visits differ as those of its first do.
    order = sorted(kinds, key=lambda kind: (not kind[0], kind))
    kinds = {kind: sorted(kinds[kind], key=lambda run: run.started) for kind in order}
    used = [run for each in kinds.values() for run in each]
    if not any(len(each) > 1 for each in kinds.values()):
        raise ReportError(
            "type B needs at least two runs of several visits on one kind of machine: "
            "`grainscope repeat 3 --out DIR` makes them"
        )
    return {
        "format": FORMAT,
        "date": max(run.started for run in used)[:10],
        "machines": [{"gpu": gpu, "cpu": cpu} for gpu, cpu in kinds],
        "families": [row for at, each in enumerate(kinds.values()) for row in _families(at, each)],
        "runs": [
            {"source": run.source, "sha256": run.sha256, "started": run.started, "commit": run.commit}
            | {"machine": run.machine}
            for run in used
        ],
    }


def tables(paths: Iterable[Path]) -> list[TypeB]:
    """The tables that a user gives: files, and folders with repeated runs that one is made of."""
    return [_of_folder(path) if path.is_dir() else _of_file(path) for path in paths]


def _of_folder(path: Path) -> TypeB:
    runs = sorted({*path.glob("*.json"), *path.glob("*.json.gz"), *path.glob(f"**/{loading.RESULT}")})
    if not runs:
        raise ReportError(f"{path} holds no runs: `grainscope repeat 3 --out {path}` makes them")
    try:
        return TypeB(text(table([run for each in runs for run in visits.read(each)])).encode())
    except ReportError as error:
        raise ReportError(f"{path}: {error}") from None


def _of_file(path: Path) -> TypeB:
    try:
        content = path.read_bytes()
        if json.loads(content)["format"] != FORMAT:
            raise ValueError
        return TypeB(content)
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}): give a table or a folder") from None
    except (LookupError, TypeError, ValueError):
        raise ReportError(
            f"{path} is no table of type B (`{FORMAT}`): give one, or the folder of repeated runs "
            "that `grainscope repeat 3 --out DIR` made"
        ) from None


def text(made: Mapping[str, Any]) -> str:
    """A table as it is kept: a line a family."""
    lines = [f' "{key}": {json.dumps(value)}' for key, value in made.items() if not isinstance(value, list)]
    for key in ("machines", "families", "runs"):
        rows = ",\n".join(f"  {json.dumps(row)}" for row in made[key])
        lines.append(f' "{key}": [\n{rows}\n ]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def differences(runs: Sequence[Measured]) -> dict[Key, list[Difference]]:
    """The rows that two runs share, by family and clock, of every two of these runs."""
    told = [(run, dict(_type_a(run))) for run in runs]
    found: dict[Key, list[Difference]] = defaultdict(list)
    for (one, a), (other, b) in combinations(told, 2):
        for question in a.keys() & b.keys():
            value = math.log(_middle(other, question) / _middle(one, question))
            found[one.clocks[question]].append(Difference(value, a[question], b[question]))
    return found


def covered(rows: Iterable[Difference], run: float) -> float:
    """The share of rows whose second value lies in the 95 % prediction interval of the first."""
    inside = [abs(row.value) <= uncertainty.expanded(uncertainty.combined(*row.between(run))) for row in rows]
    return fmean(inside)


class Held(NamedTuple):
    """How a table does on two runs' common rows of one clock, on one kind of machine."""

    machine: str
    clock: str
    rows: int
    covered: float  # share of the rows whose second value lies in the first's 95 % prediction interval
    apart: float  # share of the rows whose two intervals do not touch
    half: float  # the middle half-width of an interval
    sharp: float  # share of the rows that are known to 5 %


def held(runs: Sequence[Measured], made: Mapping[str, Any]) -> list[Held]:
    """What a table is worth on every two of these runs of one kind of machine."""
    found = []
    for at, machine in enumerate(made["machines"]):
        kind = (machine["gpu"], machine["cpu"])
        alike = [run for run in runs if run.kind == kind]
        told = {
            (one["family"], one["clock"]): one["run"]["standard"]
            for one in made["families"]
            if "run" in one and one.get("machine", 0) == at
        }
        found += [_held(kind[0] or kind[1], *each) for each in sorted(_halves(alike, told).items())]
    return found


def _halves(runs: Sequence[Measured], told: Mapping[Key, float]) -> dict[str, list[tuple[bool, bool, float]]]:
    """By clock of each pair of rows whether it is covered, whether apart, and half of the first interval."""
    clocks: dict[str, list[tuple[bool, bool, float]]] = defaultdict(list)
    for key, rows in differences(runs).items():
        for row in rows if key in told else ():
            one, other = row.between(told[key])
            half, others = uncertainty.expanded(one), uncertainty.expanded(other)
            inside = abs(row.value) <= uncertainty.expanded(uncertainty.combined(one, other))
            clocks[key[1]].append((inside, abs(row.value) > half + others, half))
    return clocks


def _held(machine: str, clock: str, found: Sequence[tuple[bool, bool, float]]) -> Held:
    inside, apart, halves = zip(*found, strict=True)
    sharp = fmean(half <= uncertainty.WIDE for half in halves)
    return Held(machine, clock, len(found), fmean(inside), fmean(apart), median(halves), sharp)


def _families(at: int, runs: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    visits, between = _visits(runs), _between(differences(runs))
    versions = {family: version for run in runs for family, version in run.versions.items()}
    for key in sorted(visits):
        family, clock = key
        row: dict[str, Any] = {"family": family, "version": versions.get(family, 1), "clock": clock}
        row |= {"machine": at} if at else {}
        row["visit"] = {"standard": _short(visits[key]), "freedom": FREEDOM}
        if key in between:
            row["run"] = {"standard": _short(between[key]), "freedom": FREEDOM}
        yield row


def _visits(runs: Sequence[Measured]) -> dict[Key, float]:
    """What one visit differs by from another of its run."""
    found: dict[Key, list[Difference]] = defaultdict(list)
    exact = Uncertainty(0.0, math.inf)
    for run in runs:
        for question, processes in run.processes.items():
            logs = map(math.log, _medians(processes))
            pairs = [Difference(other - one, exact, exact) for one, other in combinations(logs, 2)]
            found[run.clocks[question]] += pairs
    return _between({key: rows for key, rows in found.items() if rows})


def _between(found: Mapping[Key, Sequence[Difference]]) -> dict[Key, float]:
    clocks: dict[str, list[Difference]] = defaultdict(list)
    for (_, clock), rows in found.items():
        clocks[clock] += rows

    @cache
    def usual(clock: str, run: float) -> float:
        return covered(clocks[clock], run)

    def enough(key: Key, run: float) -> bool:
        rows = found[key]
        share = (len(rows) * covered(rows, run) + WEIGHT * usual(key[1], run)) / (len(rows) + WEIGHT)
        return share >= COVERED

    # The larger it is, the more is covered.
    def least(key: Key) -> float:
        at = bisect_left(GRID, True, hi=len(GRID) - 1, key=lambda run: enough(key, run))
        return GRID[at]

    return {key: least(key) for key in found}


def _type_a(run: Measured) -> Iterator[tuple[str, Uncertainty]]:
    questions = list(run.processes)
    rows = [_as_row(run, question) for question in questions]
    for question, made in zip(
        questions, uncertainty.derived(rows, _NOWHERE, uncertainty.TypeB()), strict=True
    ):
        if made and "uncertainty" in made:
            yield question, uncertainty.uncertainty_of(made["uncertainty"]["a"])


def _as_row(run: Measured, question: str) -> dict[str, Any]:
    family, clock = run.clocks[question]
    return {
        "case": {"family": family},
        "status": "ok",
        "label": "measured",
        "timing": {
            "clock": "steady" if clock in ("host", "quiet") else "event",
            "gated": clock == "gated",
            "quiet": clock == "quiet",
        },
        "visits": [{"median_s": median} for median in _medians(run.processes[question])],
        "middle": 0,
        "median_s": _middle(run, question),
    }


def _medians(processes: Sequence[Sequence[Any]]) -> list[float]:
    return [visit.median_s for process in processes for visit in process]


def _middle(run: Measured, question: str) -> float:
    medians = _medians(run.processes[question])
    return medians[uncertainty.middle_visit(medians)]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
