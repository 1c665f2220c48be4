"""How far repeated measurements differ (visit, process, machine), and the table of type B that follows.

The data are medians of visits, with the sampling error of each. They come from result files, or from a file
of medians that an earlier study kept (`medians_json`), with the checksums of the results it was made of.

Components: a value is the logarithm of a visit's median, so a spread is relative. For one row, mean squares
of the nested design (visits in processes in machines) give a variance for each level; of a level that is not
there, or has one member, nothing is known. Variances are pooled over the rows of a family and clock before
the root is taken: those of single rows have too few degrees of freedom to mean anything.
Source: Searle, Casella, McCulloch, Variance Components (1992), section 3.6.

Type B: runs of one kind of machine (GPU and CPU model) are compared two by two. What their visits do not
explain of a difference is between runs: the least standard uncertainty with which 95 % of a family's rows on
a clock lie within the prediction interval of another run, together with some rows of all families on that
clock, since one family has few. What a visit alone differs by is found alike, from the visits of each run. A
few runs tell a spread to a quarter, which is worth 8 degrees of freedom (JCGM 100:2008, G.4.2).

Rows of a family do not all differ alike, so each row that was measured has its own part of both: its variance
is moderated by that of its family (Smyth, 2004), and the whole is fitted again. The standard library alone.
"""

import dataclasses
import hashlib
import json
import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from statistics import NormalDist, fmean, median
from typing import Any, NamedTuple

from grainscope_report import families, loading, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.loading import load, quoted
from grainscope_report.machine import machine_of
from grainscope_report.refusing import blamed
from grainscope_report.statistics import median_ranks
from grainscope_report.uncertainty import (
    FORMAT,
    TWO_CORES,
    Prior,
    TypeB,
    Uncertainty,
    clock_of,
    kind_of,
    lie_apart,
    line_ns,
    moderate,
    standing,
)
from grainscope_report.units import plural

MEDIANS_FORMAT = "grainscope medians 1"
LEVELS = ("sample", "visit", "process", "machine")
# A tenth of the rows varies so much more than the rest that it would stand for all of them.
TYPICAL = 0.9
ENOUGH_ROWS = 4  # that stand for a family's levels

Key = tuple[str, str]  # family and clock
Row = tuple[str, int, str, str]  # family, its version, clock, and uncertainty.axes_text of the case
Variances = dict[str, float]
# What a table has to cover of the runs that it is made of; of others it covers as much (docs/uncertainty.md,
# Held out).
COVERED = uncertainty.COVERAGE
FREEDOM = uncertainty.FREEDOM
# So many rows of its clock count beside a family's own, of what visits differ by and of what runs do; the
# latter, and as how many runs of a row's own what its family says counts, were chosen by runs held out
# (docs/uncertainty.md, Asked).
WEIGHT_OF_VISITS, WEIGHT = 200, 800
FAMILY_RUNS = 3.0
BUSY = {"quiet": "host", "host": "quiet"}
GRID = tuple(1e-4 * 1.15**step for step in range(60))  # standard uncertainties that are tried, to 40 %
DIGITS, DIGITS_OF_ROWS = 4, 3
_ROUNDING = 1e-6  # far more than what sums and quantiles are rounded by


@dataclass(frozen=True)
class Visit:
    """One visit to a case: seconds, and the standard error of their logarithm by sampling alone."""

    median_s: float
    error: float

    def __post_init__(self) -> None:
        if not self.median_s > 0:
            raise ValueError(f"a median of {self.median_s} s")


@dataclass(frozen=True, eq=False)
class Measured:
    """What one run measured: by question, its visits, in processes. What follows from it is kept for it."""

    source: str
    sha256: str
    started: str
    commit: str
    machine: str
    kind: tuple[str, str] | None  # names of its GPUs, if any, and of its CPU
    versions: Mapping[str, int]  # by family
    clocks: Mapping[str, Key]
    processes: Mapping[str, tuple[tuple[Visit, ...], ...]]
    narrow: bool = False  # of some families alone, so that it says nothing of the others on its clocks


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
    return json.dumps([family, uncertainty.comparable(axes), site, clock], sort_keys=True)


@cache
def _axes_of(question: str) -> str:
    return uncertainty.axes_text(json.loads(question)[1])


def read(path: Path) -> list[Measured]:
    """The runs in a file: a result, or medians that were kept."""
    found = loading.locate(path)
    text = loading.text(found)
    if text.lstrip()[:1] == "{" and MEDIANS_FORMAT in text[:200]:
        try:
            return [_from_kept(run) for run in json.loads(text)["runs"]]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ReportError(
                f"{found} has no medians that can be read ({error!r}): copy it again, or make it anew by "
                "`scripts/study RUN... --save FILE`"
            ) from None
    document = load(found)[1]
    with blamed(found, document):
        return [_from_result(found, document)]


def kept(runs: Iterable[Measured]) -> str:
    """The runs as text that `read` takes."""
    whole = {"format": MEDIANS_FORMAT, "runs": [_kept(run) for run in runs]}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False) + "\n"


def components(runs: Sequence[Measured]) -> list[Component]:
    """The spread of each family and clock at each level, on each kind of machine.

    Of the rows that two runs of it measured by one version of their family; of a single run, of all its rows.
    """
    kinds: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for run in runs:
        kinds[run.kind or ("", "")].append(run)
    found = []
    for (gpu, cpu), alike in sorted(kinds.items(), key=lambda each: (not each[0][0], each[0])):
        by_key: dict[Key, list[Variances]] = defaultdict(list)
        rows: dict[tuple[str, int], list[Measured]] = defaultdict(list)
        for run in alike:
            for question in run.processes:
                rows[question, _version(run, question)].append(run)
        for (question, _), measured in sorted(rows.items(), key=itemgetter(0)):
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


def _version(run: Measured, question: str) -> int:
    return run.versions.get(run.clocks[question][0], 1)


def components_table(found: Sequence[Component]) -> str:
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
    """Of the rows that tell visits from processes, where there are enough; of all rows otherwise."""
    telling = [row for row in rows if "visit" in row]
    rows = telling if len(telling) >= min(len(rows), ENOUGH_ROWS) else rows
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
    lines = [line_ns(visit) for row in document["benchmarks"] for visit in row.get("visits", ())]
    nearest = min((line for line in lines if line >= TWO_CORES), default=0.0)
    for row in document["benchmarks"]:
        if row.get("status") != "ok" or row.get("label") != "measured":
            continue
        case = row["case"]
        row = row | {"visits": standing([visit | {"busy": is_busy(visit)} for visit in row["visits"]])}
        row["visits"] = [visit for visit in row["visits"] if not lie_apart(nearest, line_ns(visit))]
        if not row["visits"]:
            continue
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
        hashlib.sha256(loading.raw(path)).hexdigest(),
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
    """Whether most of its samples found no quiet CPU: files from before the mark `busy` have the counts."""
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
        **({"narrow": True} if run.narrow else {}),
    }


def _short(value: float, digits: int = 5) -> float:
    return float(f"{value:.{digits}g}")


def _from_kept(run: Mapping[str, Any]) -> Measured:
    clocks, processes = {}, {}
    for case, clock, visits in run["rows"]:
        question = _question(*case, clock)
        clocks[question] = (case[0], clock)
        processes[question] = tuple(tuple(Visit(*visit) for visit in process) for process in visits)
    facts = (run[key] for key in ("source", "sha256", "started", "commit", "machine"))
    kind = tuple(run["kind"]) if run.get("kind") else None
    return Measured(*facts, kind, run.get("versions", {}), clocks, processes, run.get("narrow", False))


class Difference(NamedTuple):
    """One row in two runs: the logarithm of their ratio, and what the visits of each explain of it."""

    value: float
    first: Uncertainty
    second: Uncertainty
    of: Row
    share: float = 1.0  # of what runs differ by

    def between(self, run: float) -> tuple[Uncertainty, Uncertainty]:
        """Both runs' combined uncertainties where runs differ by so much."""
        more = Uncertainty(run * self.share, FREEDOM)
        return uncertainty.combined(self.first, more), uncertainty.combined(self.second, more)


@dataclass(frozen=True, eq=False)
class Spreads:
    """What runs of one kind of machine are known to differ by, and their visits."""

    visits: Mapping[Key, float]  # standard uncertainties of a family's rows
    runs: Mapping[Key, float]
    row_visits: Mapping[Row, float]  # the same of rows that are known
    middle_visits: Mapping[Key, float]  # of a family's rows that of the middle one
    row_runs: Mapping[Row, float] = field(default_factory=dict)
    standards: dict[Measured, dict[str, Uncertainty]] = field(default_factory=dict)  # as far as asked for

    def run(self, row: Difference) -> float | None:
        """What runs differ by in a row, else in its family."""
        family, _, clock, _ = row.of
        return self.row_runs.get(row.of, self.runs.get((family, clock)))

    def differences(self, one: Measured, other: Measured) -> Iterator[Difference]:
        """The rows that two runs share, those alone that their family measured by one version."""
        firsts, seconds = self._standards(one), self._standards(other)
        for question, first in firsts.items():
            row = _row(one, question)
            if question in seconds and row == _row(other, question):
                value = math.log(_middle(other, question) / _middle(one, question))
                yield Difference(value, first, seconds[question], row)

    def _standards(self, run: Measured) -> dict[str, Uncertainty]:
        if run not in self.standards:
            self.standards[run] = dict(_type_a(run, self._share_of))
        return self.standards[run]

    def _share_of(self, row: Row) -> float:
        """The variance of its visits over that of the middle row of its family."""
        own, middle = self.row_visits.get(row), self.middle_visits.get((row[0], row[2]))
        return (own / middle) ** 2 if own and middle else 1.0


def _row(run: Measured, question: str) -> Row:
    family, clock = run.clocks[question]
    return family, _version(run, question), clock, _axes_of(question)


def type_b_table(runs: Sequence[Measured]) -> dict[str, Any]:
    """The table of type B of runs of several visits: at least two runs of a kind of machine.

    ReportError where there are not, and where a run is given twice: it would differ by nothing from itself.
    """
    for one, other in combinations(runs, 2):
        if _is_same(one, other):
            raise ReportError(f"{one.source} and {other.source} are the same run: give each run once")
    kinds: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for run in as_today(runs, earlier=True):
        kinds[run.kind].append(run)
    # Those with a GPU first: of a kind that the table does not know, visits differ as those of its first do.
    order = sorted(kinds, key=lambda kind: (not kind[0], kind))
    kinds = {kind: sorted(kinds[kind], key=lambda run: run.started) for kind in order}
    used = [run for kind in kinds.values() for run in kind]
    if not any(len(kind) > 1 for kind in kinds.values()):
        single = len(runs) - len(used)
        which = f"{single} of these {plural(len(runs), 'run')}" if len(runs) > 1 else "this run"
        said = f"; {which} visited no case from two processes" if single else ""
        raise ReportError(
            f"type B needs at least two runs of several visits on one kind of machine{said}: "
            "`grainscope repeat 3 --benchmark_repetitions=3 --out DIR` makes them"
        )
    found = [_spreads(each) for each in kinds.values()]
    newer = [_stand_ins(each) for each in kinds.values()]
    return {
        "format": FORMAT,
        "date": max(run.started for run in used)[:10],
        "machines": [{"gpu": gpu, "cpu": cpu} for gpu, cpu in kinds],
        "families": [
            row for at, each in enumerate(zip(found, newer, strict=True)) for row in _families(at, *each)
        ],
        "rows": [*_rows([_with_newer(*each) for each in zip(found, newer, strict=True)])],
        "runs": [
            {"source": run.source, "sha256": run.sha256, "started": run.started, "commit": run.commit}
            | {"machine": run.machine}
            for run in used
        ],
    }


def _is_same(one: Measured, other: Measured) -> bool:
    """Whether both are of one run, whole or in part, as it was or kept with fewer digits.

    Machines without a GPU have names alike, and may begin at once; they do not measure the same.
    """
    common = one.processes.keys() & other.processes.keys()
    return (
        bool(common)
        and (one.machine, one.started) == (other.machine, other.started)
        and all(math.isclose(_middle(one, asked), _middle(other, asked), rel_tol=1e-4) for asked in common)
    )


def as_today(runs: Sequence[Measured], *, earlier: bool = False) -> list[Measured]:
    """The runs that visited cases from several processes, with those rows that are still timed as they were.

    Where one run had quiet CPUs for a case, its rows on the host's clock are left out: of runs that did not
    look for such CPUs, or found none. With `earlier` they stay in families that have no other on that clock.
    """

    def case(question: str) -> str:
        family, axes, _, _ = json.loads(question)
        return json.dumps([family, axes])

    today = [run for run in runs if any(clock == "quiet" for _, clock in run.clocks.values())]
    clocks = {(case(question), clock) for run in today for question, (_, clock) in run.clocks.items()}
    # What has no quiet CPU to choose, since several threads work: not what found none.
    still = {
        json.loads(each)[0] for each, clock in clocks if clock == "host" and (each, "quiet") not in clocks
    }
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
            found.append(run if len(kept) == len(run.processes) else dataclasses.replace(run, processes=kept))
    return found


def type_b_tables(paths: Iterable[Path]) -> list[TypeB]:
    """The tables that a user gives: files, and folders with repeated runs that one is made of."""
    return [_of_folder(path) if path.is_dir() else _of_file(path) for path in paths]


def _of_folder(path: Path) -> TypeB:
    deeper = (folder for folder in path.glob("*/**") if loading.is_run(folder))
    runs = sorted({*loading.runs_in(path), *deeper})
    if runs == [path] and not loading.is_run(path):
        command = f"grainscope repeat 3 --out {quoted(path)}"
        raise ReportError(f"{path} holds no runs: `{command}` makes them")
    try:
        return TypeB(type_b_text(type_b_table([run for each in runs for run in read(each)])).encode())
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


def type_b_text(made: Mapping[str, Any]) -> str:
    """A table as it is kept: a line a family, and a line a row."""
    lines = [f' "{key}": {json.dumps(value)}' for key, value in made.items() if not isinstance(value, list)]
    for key in ("machines", "families", "rows", "runs"):
        form = {"separators": (",", ":")} if key == "rows" else {}  # they are many
        rows = ",\n".join(f"  {json.dumps(row, **form)}" for row in made[key])
        lines.append(f' "{key}": [\n{rows}\n ]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def coverage(
    pairs: Iterable[Sequence[Measured]], made_of: Sequence[Measured], more: Mapping[str, float] | None = None
) -> dict[str, float]:
    """The share of rows, by clock, of which one run's 95 % prediction interval has the value of the other.

    By the table that is made of some runs, and what is `more` on a clock beside it.
    """
    known = spreads(made_of)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one, other in pairs:
        for row in known.differences(one, other):
            run = known.run(row)
            if run is not None:
                clock = row.of[2]
                both = row.between(math.hypot(run, (more or {}).get(clock, 0.0)))
                counts[clock][0] += abs(row.value) <= half_width(uncertainty.combined(*both))
                counts[clock][1] += 1
    return {clock: inside / of for clock, (inside, of) in counts.items()}


class _Coverage:
    """Rows, of which few must be looked at to count those that an uncertainty between runs covers.

    Of each the squares of that below which it surely lies outside, and from which on surely within: the
    factor of a standard uncertainty is no less than with infinite degrees of freedom, and no more than with
    the fewest of all parts.
    """

    def __init__(self, rows: Iterable[Difference]) -> None:
        bounds = sorted(((*self._bounds(row), row) for row in rows), key=itemgetter(0))
        self._outside = [low for low, _, _ in bounds]
        self._within = sorted(high for _, high, _ in bounds)
        self._rows = [(high, row) for _, high, row in bounds]

    @staticmethod
    def _bounds(row: Difference) -> tuple[float, float]:
        value, first, second, _, share = row
        own = first.standard**2 + second.standard**2
        # A freedom is rounded to three digits, which may make it less by half a percent.
        fewest = min(first.freedom, second.freedom, FREEDOM) * 0.99
        most, least = _quantile(float(f"{fewest:.3g}")) ** 2, _quantile(math.inf) ** 2
        low, high = value**2 / (most * (1 + _ROUNDING)), value**2 / (least * (1 - _ROUNDING))
        return (low - own) / (2 * share**2), (high - own) / (2 * share**2)

    def count(self, run: float) -> int:
        """How many lie within the interval where runs differ by so much."""
        square = run**2
        open_ = (row for high, row in self._rows[: bisect_right(self._outside, square)] if high > square)
        return bisect_right(self._within, square) + sum(
            abs(row.value) <= half_width(uncertainty.combined(*row.between(run))) for row in open_
        )


@cache
def _quantile(freedom: float) -> float:
    return uncertainty.expanded(Uncertainty(1.0, freedom))


def half_width(told: Uncertainty) -> float:
    """Half of the 95 % interval, to a thousandth; there are hundreds of thousands."""
    return told.standard * _quantile(float(f"{told.freedom:.3g}"))


def spreads(runs: Sequence[Measured], *, by_row: bool = True) -> Spreads:
    """What runs of one kind of machine differ by, two at least; of rows that are timed as they are today.

    Else by family alone.
    """
    return _spreads(sorted(as_today(runs, earlier=True), key=lambda run: run.started), by_row)


def _spreads(runs: Sequence[Measured], by_row: bool = True) -> Spreads:
    keys = {key for run in runs for key in run.clocks.values()}
    # A row of one run is on quiet CPUs, and of another that found none on the host's clock.
    keys |= {(family, BUSY[clock]) for family, clock in keys if clock in BUSY}
    whole = [run for run in runs if not run.narrow]
    shares = _visit_shares(runs) if by_row else {}
    visits, middle = (
        _between(keys, _visits(runs, by), _visits(whole, by), WEIGHT_OF_VISITS) for by in ({}, shares)
    )
    rows = {row: middle[row[0], row[2]] * share for row, share in shares.items()}
    found = Spreads(visits, {}, rows, middle)
    pairs = {pair: [*found.differences(*pair)] for pair in combinations(runs, 2)}

    def fitted() -> dict[Key, float]:
        of_whole = (rows for (one, other), rows in pairs.items() if not (one.narrow or other.narrow))
        return _between(keys, _by_key(pairs.values()), _by_key(of_whole), WEIGHT)

    families = fitted()
    if not by_row:
        return dataclasses.replace(found, runs=families)
    shares = _run_shares(families, pairs)
    pairs = {pair: [row._replace(share=shares[row.of]) for row in rows] for pair, rows in pairs.items()}
    of_rows = fitted()
    rows = {row: of_rows[row[0], row[2]] * share for row, share in shares.items()}
    return dataclasses.replace(found, runs=families, row_runs=rows)


def _by_key(rows: Iterable[Iterable[Difference]]) -> dict[Key, list[Difference]]:
    found: dict[Key, list[Difference]] = defaultdict(list)
    for each in rows:
        for row in each:
            family, _, clock, _ = row.of
            found[family, clock].append(row)
    return found


def _visit_shares(runs: Sequence[Measured]) -> dict[Row, float]:
    """What visits to each row differ by over that of the middle row of its family, drawn towards 1.

    By the mean logarithm of the variances in single runs, so that one visit that strayed is not the rule.
    """
    logs: dict[Row, list[float]] = defaultdict(list)
    for run in runs:
        for question, processes in run.processes.items():
            if len(medians := _medians(processes)) > 1:
                own = uncertainty.variance([*map(math.log, medians)])
                logs[_row(run, question)].append(uncertainty.log_of_variance(own, len(medians) - 1))
    families: dict[Key, list[float]] = defaultdict(list)
    for row, each in logs.items():
        families[row[0], row[2]].append(fmean(each))
    middle = {key: median(each) for key, each in families.items()}
    return {
        row: math.exp((fmean(each) - middle[row[0], row[2]]) * len(each) / (len(each) + FAMILY_RUNS) / 2)
        for row, each in logs.items()
    }


def _run_shares(
    families: Mapping[Key, float], pairs: Mapping[tuple[Measured, Measured], Sequence[Difference]]
) -> dict[Row, float]:
    """What runs differ by in each row over that of its family, drawn towards 1.

    Two runs differ once, and that once is what the family is fitted to: a row has its own from three runs on.
    """
    excess: dict[Row, list[float]] = defaultdict(list)
    runs: dict[Row, set[Measured]] = defaultdict(set)
    for pair, rows in pairs.items():
        for row in rows:
            # Of two runs of one spread, beside what their visits explain.
            own = row.first.standard**2 + row.second.standard**2
            excess[row.of].append((row.value**2 - own) / 2)
            runs[row.of].update(pair)
    found = {}
    for row, each in excess.items():
        prior = families[row[0], row[2]] ** 2
        moderated, _ = moderate(Prior(prior, FAMILY_RUNS), max(0.0, fmean(each)), len(runs[row]) - 2)
        found[row] = math.sqrt(moderated / prior)
    return found


def _rows(found: Sequence[Spreads]) -> Iterator[dict[str, Any]]:
    """A line for each row of any kind of machine; of those that do not have it null."""
    for row in sorted({row for each in found for row in (*each.row_visits, *each.row_runs)}):
        family, version, clock, axes = row
        told = {"family": family, "version": version, "clock": clock, "axes": json.loads(axes)}
        both = {
            "visit": [each.row_visits.get(row) for each in found],
            "run": [each.row_runs.get(row) for each in found],
        }
        yield told | {
            name: [value and _short(value, DIGITS_OF_ROWS) for value in values]
            for name, values in both.items()
        }


def _stand_ins(runs: Sequence[Measured]) -> dict[str, dict[int, int | None]]:
    """By family its versions, each with the one that stands for it until two runs of it are taken, if any."""
    measured = Counter((family, version) for run in runs for family, version in run.versions.items())
    found: dict[str, dict[int, int | None]] = {}
    for family in {family for run in runs for family, _ in run.clocks.values()}:
        versions = sorted(version for of, version in measured if of == family) or [1]
        known = [version for version in versions if measured[family, version] > 1] or versions[-1:]
        newer = families.TYPE_B_UNTIL.get(family, 0)
        every = [*versions, *([newer] if newer > versions[-1] else [])]
        found[family] = {version: None if version in known else known[-1] for version in every}
    return found


def _with_newer(spreads: Spreads, stand_ins: Mapping[str, Mapping[int, int | None]]) -> Spreads:
    """With rows of the versions for which others stand: what their own runs do not tell is of those."""

    def extended(rows: Mapping[Row, float]) -> dict[Row, float]:
        of_others = {
            (family, newer, clock, axes): value
            for (family, version, clock, axes), value in rows.items()
            for newer, older in stand_ins.get(family, {}).items()
            if older == version
        }
        return {**of_others, **rows}

    visits, runs = extended(spreads.row_visits), extended(spreads.row_runs)
    return dataclasses.replace(spreads, row_visits=visits, row_runs=runs)


def _families(
    at: int, spreads: Spreads, stand_ins: Mapping[str, Mapping[int, int | None]]
) -> Iterator[dict[str, Any]]:
    for key in sorted(spreads.visits):
        family, clock = key
        visit = {"standard": _short(spreads.visits[key], DIGITS), "freedom": FREEDOM}
        if middle := spreads.middle_visits.get(key):
            visit["middle"] = _short(middle, DIGITS)
        row: dict[str, Any] = {"visit": visit}
        if key in spreads.runs:
            row["run"] = {"standard": _short(spreads.runs[key], DIGITS), "freedom": FREEDOM}
        for version, older in stand_ins[family].items():
            told: dict[str, Any] = {"family": family, "version": version, "clock": clock}
            told |= ({"machine": at} if at else {}) | row
            yield told | ({"of_version": older} if "run" in row and older is not None else {})


def _visits(runs: Sequence[Measured], shares: Mapping[Row, float]) -> dict[Key, list[Difference]]:
    """What one visit differs by from another of its run, by family and clock."""
    found: dict[Key, list[Difference]] = defaultdict(list)
    exact = Uncertainty(0.0, math.inf)
    for run in runs:
        for question, processes in run.processes.items():
            logs = map(math.log, _medians(processes))
            row = _row(run, question)
            share = shares.get(row, 1.0)
            pairs = [Difference(two - one, exact, exact, row, share) for one, two in combinations(logs, 2)]
            found[run.clocks[question]] += pairs
    return {key: rows for key, rows in found.items() if rows}


def _between(
    keys: Iterable[Key],
    found: Mapping[Key, Sequence[Difference]],
    whole: Mapping[Key, Sequence[Difference]],
    weight: int,
) -> dict[Key, float]:
    """What a family's rows differ by together with all on its clock; where it has none, as these do.

    All are those of `whole`: what runs that were not narrowed to some families say of each other.
    """
    clocks: dict[str, list[Key]] = defaultdict(list)
    for key in whole:
        clocks[key[1]].append(key)
    own = {key: _Coverage(rows) for key, rows in found.items()}
    alike = {
        key: own[key] if len(rows) == len(found[key]) else _Coverage(rows) for key, rows in whole.items()
    }

    @cache
    def count(coverage: _Coverage, run: float) -> int:
        return coverage.count(run)

    @cache
    def usual(clock: str, run: float) -> float:
        keys = clocks[clock]
        return sum(count(alike[key], run) for key in keys) / sum(len(whole[key]) for key in keys)

    def enough(key: Key, run: float) -> bool:
        rows = found.get(key, ())
        inside = count(own[key], run) if rows else 0
        if key[1] not in clocks:
            share = inside / len(rows)
        else:
            share = (inside + weight * usual(key[1], run)) / (len(rows) + weight)
        return share >= COVERED

    # The larger it is, the more is covered.
    def least(key: Key) -> float:
        at = bisect_left(GRID, True, hi=len(GRID) - 1, key=lambda run: enough(key, run))
        return GRID[at]

    return {key: least(key) for key in keys if key[1] in clocks or key in found}


def _type_a(run: Measured, share_of: Callable[[Row], float]) -> Iterator[tuple[str, Uncertainty]]:
    """Of each question what the visits of the run tell."""
    questions = list(run.processes)
    found = uncertainty.type_a(
        [[*map(math.log, _medians(run.processes[question]))] for question in questions],
        [run.clocks[question] for question in questions],
        [share_of(_row(run, question)) for question in questions],
    )
    for question, (a, _) in zip(questions, found, strict=True):
        if a:
            yield question, a


def _medians(processes: Sequence[Sequence[Any]]) -> list[float]:
    return [visit.median_s for process in processes for visit in process]


def _middle(run: Measured, question: str) -> float:
    medians = _medians(run.processes[question])
    return medians[uncertainty.middle_visit(medians)]
