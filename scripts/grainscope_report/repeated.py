"""Type B from repeated runs: what values of a family on a clock differ by from run to run.

Runs of one kind of machine (GPU and CPU model) are held against each other, two by two. What their visits do
not explain of a difference is between runs: the least standard uncertainty with which 95 % of a family's rows
on a clock lie within the prediction interval of another run, together with some rows of all families on that
clock, since one family has few. What a visit alone differs by is found alike, from the visits of each run. A
few runs tell a spread to a quarter, which is worth 8 degrees of freedom (JCGM 100:2008, G.4.2). The standard
library alone.
"""

import dataclasses
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

# What a table has to cover of the runs that it is made of: of others it covers less, and the less the more
# these depend on the host.
COVERED, COVERED_GATED = 0.96, 0.955
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
    for run in as_today(runs, earlier=True):
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


def as_today(runs: Sequence[Measured], *, earlier: bool = False) -> list[Measured]:
    """The runs that visited cases from several processes, with those rows that are still timed as they were.

    Where one run chose quiet CPUs for a case, the rows of runs that did not yet are left out; but with
    `earlier` not those of families of which a run of today has nothing else on the host's clock.
    """

    def case(question: str) -> str:
        family, axes, _, _ = json.loads(question)
        return json.dumps([family, axes])

    today = [run for run in runs if any(clock == "quiet" for _, clock in run.clocks.values())]
    clocks = {(case(question), clock) for run in today for question, (_, clock) in run.clocks.items()}
    still = {json.loads(each)[0] for each, clock in clocks if clock == "host"}
    found = []
    for run in runs:
        kept = {
            question: processes
            for question, processes in run.processes.items()
            if run.clocks[question][1] != "host"
            or (case(question), "quiet") not in clocks
            or (earlier and run.clocks[question][0] not in still)
        }
        if run.kind and any(len(processes) > 1 for processes in kept.values()):
            found.append(dataclasses.replace(run, processes=kept))
    return found


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
    return fmean(abs(row.value) <= _half(uncertainty.combined(*row.between(run))) for row in rows)


@cache
def _quantile(freedom: float) -> float:
    return uncertainty.expanded(Uncertainty(1.0, freedom))


def _half(told: Uncertainty) -> float:
    """Half of the 95 % interval, to a thousandth; there are hundreds of thousands."""
    return told.standard * _quantile(float(f"{told.freedom:.3g}"))


class Pair(NamedTuple):
    """A row in two runs, and what a table that may know neither says of it."""

    clock: str
    covered: bool  # the second value lies in the first's 95 % prediction interval
    apart: bool  # the two intervals do not touch
    half: float  # half-width of the first interval
    differs: float  # the logarithm of their ratio, without its sign

    @property
    def sharp(self) -> bool:
        """Whether both are said to be known to 5 %."""
        return self.half <= uncertainty.WIDE


class Held(NamedTuple):
    """How tables do on two runs' common rows of one clock, on one kind of machine."""

    machine: str
    runs: int  # pairs of them
    clock: str
    rows: int
    covered: float  # shares of rows
    apart: float
    half: float  # the middle half-width of an interval
    sharp: float
    further: float  # share of the sharp rows that are further apart than that


def held_out(runs: Sequence[Measured]) -> list[Held]:
    """What tables are worth on runs that they were not made of.

    A table is made without the runs of one GPU, and tried on every pair that has one of them; where less than
    two runs remain, without one run.
    """
    found = []
    runs = as_today(runs)
    for kind in sorted({run.kind for run in runs if run.kind}, key=lambda kind: (not kind[0], kind)):
        alike = [run for run in runs if run.kind == kind]
        pairs: list[Pair] = []
        tried = set()
        for out in _parts(alike):
            rest = [run for run in alike if all(run is not each for each in out)]
            if len(rest) < 2:
                continue
            told = _told(table(rest))
            for one, other in combinations(alike, 2):
                if any(one is each or other is each for each in out):
                    tried.add((id(one), id(other)))
                    pairs += _pairs((one, other), told)
        for clock in sorted({pair.clock for pair in pairs}):
            found.append(_held(kind[0] or kind[1], len(tried), clock, [p for p in pairs if p.clock == clock]))
    return found


def _parts(runs: Sequence[Measured]) -> list[list[Measured]]:
    """Those of each machine, if the others are two at least; else each run alone."""
    machines: dict[str, list[Measured]] = defaultdict(list)
    for run in runs:
        machines[run.machine].append(run)
    whole = len(machines) > 1 and all(len(runs) - len(each) > 1 for each in machines.values())
    return list(machines.values()) if whole else [[run] for run in runs]


def _told(made: Mapping[str, Any]) -> dict[Key, float]:
    return {(row["family"], row["clock"]): row["run"]["standard"] for row in made["families"] if "run" in row}


def _pairs(runs: tuple[Measured, Measured], told: Mapping[Key, float]) -> Iterator[Pair]:
    for key, rows in differences(runs).items():
        for row in rows if key in told else ():
            one, other = row.between(told[key])
            half, others = _half(one), _half(other)
            inside = abs(row.value) <= _half(uncertainty.combined(one, other))
            yield Pair(key[1], inside, abs(row.value) > half + others, half, abs(row.value))


def _held(machine: str, runs: int, clock: str, pairs: Sequence[Pair]) -> Held:
    sharp = [pair for pair in pairs if pair.sharp]
    return Held(
        machine,
        runs,
        clock,
        len(pairs),
        fmean(pair.covered for pair in pairs),
        fmean(pair.apart for pair in pairs),
        median(pair.half for pair in pairs),
        len(sharp) / len(pairs),
        fmean(pair.differs > uncertainty.WIDE for pair in sharp) if sharp else 0.0,
    )


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
        return share >= (COVERED_GATED if key[1] == "gated" else COVERED)

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
