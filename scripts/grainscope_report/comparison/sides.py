"""Reads the files of a comparison, several at a time, and keeps each question with its answer.

A question is a case's family and axes with the row's label; where it was asked, and by what name, plays
no part, so that machines with other GPUs and nodes meet, and modelled rows meet only modelled ones.

Google Benchmark's own JSON is joined by name. A repetition is a visit, and what visits differ by is moderated
over all benchmarks of the file. Where a file has aggregates only, its median (or else its mean) is one visit,
which is too few to say anything of. No table of type B knows what its runs differ by. A rate is
`bytes_per_second`.
"""

import itertools
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from statistics import fmean
from typing import Any

from grainscope_report import errors, loading, machine, model, naming, reader, statistics, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.families import of as family_of
from grainscope_report.machine import Facts, facts
from grainscope_report.model import Link, Result, Row, Uncertainties
from grainscope_report.refusing import blamed
from grainscope_report.uncertainty import TypeB, Uncertainty, lie_apart, line_ns

MEASURED = "measured"
MIXED, QUIET = "mixed", "quiet"
# Bytes of one question that differ by more are other work; of traversals they depend on the order of races.
SAME_WORK = 0.01
# Counters that say how much was done beside what is timed.
BESIDE = ("products", "steps")
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
LEAST, MOST = 1e-12, 1e15  # that a time or a rate may be in any unit: no machine takes longer
_AGGREGATES = ("median", "mean")
_NOWHERE = {"environment": {"gpus": (), "cpu": {"model": ""}}}
# Below so many bytes of files starting processes takes longer than reading.
WORTH_PROCESSES = 16 << 20
MOST_PROCESSES = 16


@dataclass(frozen=True)
class Question:
    """What was asked: of a foreign file the benchmark's name alone, as `family`."""

    label: str
    family: str
    axes: tuple[tuple[str, str | float], ...] = ()


@dataclass(frozen=True)
class Answer:
    """The time of a question, or where it has none why: `absent`, `skipped` or `failed`, and the reason.

    `seconds` are the row's median, of several sites the middle one's, of several runs their geometric mean;
    `visits` the times of each visit, `a` and `b` the uncertainties of `seconds` where they are known. Times
    are those of one operation where `each`; `beside` is what else was done meanwhile: its name, and how
    often; `threads` are the numbers of CPU threads that rows count, `line_ns` what a cache line takes between
    their CPUs, 0 where they do not say, and `cpu` of which kind these are. `runs` are those of `visits`.
    `failed` counts rows, of several sites or runs, that failed beside good ones; `worst` is how many times
    the time of the slowest of several sites, `slowest`, is that of the middle one, as a logarithm. Where runs
    did not all do the same work there is none: `mixed`. `shared` is whether others took CPUs of the host
    (`uncertainty.sharing`), of several runs the mean of those of which it is clear; None where it is not
    clear of any.
    """

    seconds: float | None = None
    visits: tuple[float, ...] = ()
    a: Uncertainty | None = None
    b: Uncertainty | None = None
    clock: str = "host"
    each: bool = False
    bytes: float | None = None
    beside: tuple[str, float] | None = None
    threads: tuple[float, ...] = ()
    line_ns: float = 0.0
    cpu: str = ""
    sites: int = 1
    worst: float = 0.0
    slowest: str = ""
    runs: int = 1
    shared: float | None = None
    failed: int = 0
    status: str = "ok"
    reason: str = ""
    spoken: str = ""

    @property
    def gb_s(self) -> float | None:
        """Decimal GB/s, where the question is about bytes and not about single operations."""
        return self.bytes / self.seconds / 1e9 if self.bytes and not self.each else None


Answers = Mapping[Question, Answer]


def question(row: Row, hidden: bool = False) -> Question:
    """The question that a row answers; `hidden` where a virtual machine hides which node is near to a GPU.

    Files of before that was known call such rows local.
    """
    axes = row.case.without()
    if hidden and "gpu" in row.case.site:
        axes = tuple((axis, "unknown" if axis == "locality" else value) for axis, value in axes)
    return Question(row.label, row.case.family, axes)


def answers(rows: Iterable[Row], hidden: bool = False) -> dict[Question, Answer]:
    """Every question of a file with its answer; `hidden` as of `question`."""
    asked: dict[Question, list[Row]] = defaultdict(list)
    for row in rows:
        asked[question(row, hidden)].append(row)
    return {one: _answer(there) for one, there in asked.items()}


def together(parts: Sequence[Answers]) -> Answers:
    """The answers of several runs of one machine as one side: the mean of runs is known better than each."""
    if len(parts) == 1:
        return parts[0]
    every = dict.fromkeys(one for part in parts for one in part)
    return {one: _pooled_answer(one, [part[one] for part in parts if one in part]) for one in every}


def _pooled_answer(asked: Question, found: Sequence[Answer]) -> Answer:
    good = [answer for answer in found if answer.visits]
    if not good:
        return next((answer for answer in found if answer.status == "failed"), found[0])
    failed = sum(answer.failed + (answer.status == "failed") for answer in found)
    clear = [answer.shared for answer in good if answer.shared is not None]
    clock = _clock([answer.clock for answer in good])
    first, *others = [replace(answer, clock=clock) for answer in good]
    for answer in others:
        if why := other_work(asked, first, answer, "in some of its runs only", "in another run"):
            return Answer(status=MIXED, reason=why, failed=failed, spoken=first.spoken)
    return replace(
        first,
        seconds=statistics.geometric_mean([answer.seconds for answer in good]),
        visits=tuple(visit for answer in good for visit in answer.visits),
        a=_of_mean([answer.a for answer in good]),
        b=_of_mean([answer.b for answer in good]),
        sites=min(answer.sites for answer in good),
        worst=fmean(answer.worst for answer in good),
        slowest=max(good, key=lambda answer: answer.worst).slowest,
        runs=len(good),
        shared=fmean(clear) if clear else None,
        failed=failed,
    )


def _clock(clocks: Sequence[str]) -> str:
    """That of rows together: where some found no CPU without a neighbour, as if none had."""
    return "host" if "host" in clocks and QUIET in clocks else clocks[0]


def other_work(
    asked: Question, one: Answer, two: Answer, only: str = "on one side only", there: str = "in the base"
) -> str:
    """Why two answers to a question are not of the same work, or empty; `there` is where the first is."""
    if one.each != two.each:
        return f"timed by operation {only}"
    if {one.clock, two.clock} == {QUIET, "host"}:
        return f"on CPUs without a neighbour {only}"
    if one.cpu == two.cpu and lie_apart(*sorted((one.line_ns, two.line_ns))):
        return f"on CPUs far from each other {only}"
    if one.beside and two.beside and one.beside != two.beside:
        (name, count), (_, before) = two.beside, one.beside
        return f"other work: {count:.0f} {name} beside, {before:.0f} {there}"
    if one.threads and two.threads and one.threads != two.threads:
        return f"other work: {_listed(two.threads)} threads, {_listed(one.threads)} {there}"
    if one.each or family_of(asked.family).walks or not one.bytes or not two.bytes:
        return ""
    if not asked.axes or abs(two.bytes / one.bytes - 1) <= SAME_WORK:
        return ""
    return f"other work: {two.bytes:.0f} bytes, {one.bytes:.0f} {there}"


def _listed(counts: Sequence[float]) -> str:
    return " or ".join(f"{count:.0f}" for count in counts)


def _of_mean(parts: Sequence[Uncertainty | None]) -> Uncertainty | None:
    """The uncertainty of the mean of runs; its degrees of freedom are one run's, whose table all share."""
    if None in parts:
        return None
    standard = reduce(uncertainty.combined, parts).standard / len(parts)
    return Uncertainty(standard, min(part.freedom for part in parts))


def _answer(rows: Sequence[Row]) -> Answer:
    good = [row for row in rows if row.ok and row.median_s]
    failed = [row for row in rows if row.status == "failed"]
    if not good:
        told = (failed or rows)[0]
        return Answer(status=told.status, reason=told.reason, failed=len(failed), spoken=_spoken(told))
    each = all(row.operations for row in good)
    by_round: dict[int, list[float]] = defaultdict(list)
    for row in good:
        for number, seconds in [(visit.round, visit.median_s) for visit in row.visits] or [(1, row.median_s)]:
            by_round[number].append(seconds / (row.operations if each else 1))
    times = [row.median_s / (row.operations if each else 1) for row in good]
    middle = statistics.median(times)
    slowest, longest = max(zip(good, times, strict=True), key=lambda timed: timed[1])
    return Answer(
        seconds=middle,
        visits=tuple(statistics.median(there) for _, there in sorted(by_round.items())),
        a=_largest([row.uncertainty and row.uncertainty.a for row in good]),
        b=_largest([row.uncertainty and row.uncertainty.b for row in good]),
        clock=_clock([uncertainty.clock_of_row(row) for row in good]),
        each=each,
        bytes=statistics.median([row.bytes for row in good]) if all(row.bytes for row in good) else None,
        beside=_beside(good),
        threads=tuple(sorted({row.counters["threads"] for row in good if "threads" in row.counters})),
        line_ns=statistics.median([line_ns(vars(row.visit)) if row.visit else 0.0 for row in good]),
        sites=len({tuple(sorted(row.case.site.items())) for row in good}),
        worst=math.log(longest / middle),
        slowest=machine.spoken_site(slowest.case.site_key),
        failed=len(failed),
        spoken=_spoken(rows[0]),
    )


def _largest(parts: Sequence[model.Uncertainty | None]) -> Uncertainty | None:
    """That of the site of which least is known; None where of one nothing is."""
    if not all(parts):
        return None
    known = map(uncertainty.of_record, parts)
    return max(known, key=uncertainty.expanded)


def _beside(rows: Sequence[Row]) -> tuple[str, float] | None:
    counts = [(name, row.counters[name]) for row in rows for name in BESIDE if name in row.counters]
    return sorted(counts)[len(counts) // 2] if counts else None


def _spoken(row: Row) -> str:
    """`pinned_to_gpu, flush on, bytes 1 MiB, remote`."""
    words = naming.words(row.case)
    flush = [f"flush {row.case.axes['flush']}"] if "flush" in row.case.axes else []
    numbers = [naming.number(axis, value) for axis, value in row.case.without() if not isinstance(value, str)]
    return ", ".join(part for part in [words, *flush, *numbers, *naming.place(row.case)] if part)


def foreign_answers(document: Mapping[str, Any]) -> dict[Question, Answer]:
    """Every benchmark of a file with its answer."""
    asked: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in document["benchmarks"]:
        if isinstance(row, dict) and isinstance(name := row.get("run_name", row.get("name")), str):
            asked[name].append(row)
    there = {name: answer for name, rows in asked.items() if (answer := _foreign_answer(name, rows))}
    return {Question(MEASURED, name): answer for name, answer in with_spread(there).items()}


def with_spread(there: Mapping[str, Answer]) -> dict[str, Answer]:
    """The answers of one file by name, with what their visits differ by."""
    measured = [
        {"status": "ok", "label": MEASURED, "case": {"family": name}}
        | {"median_s": one.seconds, "middle": 0, "visits": [{"median_s": visit} for visit in one.visits]}
        for name, one in there.items()
        if one.visits
    ]
    found = dict(there)
    for row, told in zip(measured, uncertainty.derived(measured, _NOWHERE, uncertainty.TypeB()), strict=True):
        if a := told.get("uncertainty", {}).get("a"):
            name = row["case"]["family"]
            found[name] = replace(found[name], a=uncertainty.uncertainty_of(a))
    return found


def _foreign_answer(name: str, rows: Sequence[Mapping[str, Any]]) -> Answer | None:
    single = [row for row in rows if row.get("run_type", "iteration") == "iteration"]
    if not single:
        by_kind = [[row for row in rows if row.get("aggregate_name") == kind] for kind in _AGGREGATES]
        single = next(filter(None, by_kind), [])
    if not single:
        return None
    good = [row for row in single if not _fault(row)]
    if not good:
        status, reason = _fault(single[0]) or ("failed", "")
        return Answer(status=status, reason=reason, spoken=name)
    visits = [row["real_time"] * _UNITS[row.get("time_unit", "ns")] for row in good]
    rates = list(_foreign_bytes(good, visits))
    return Answer(
        statistics.median(visits),
        tuple(visits),
        bytes=sorted(rates)[len(rates) // 2] if len(rates) == len(good) else None,
        failed=len(single) - len(good),
        spoken=name,
    )


def _fault(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Why a row cannot be compared: its status and reason."""
    if row.get("error_occurred"):
        return "failed", str(row.get("error_message", "error_occurred"))
    if row.get("skipped"):
        return "skipped", str(row.get("skip_message", "skipped"))
    time = row.get("real_time")
    if not _positive(time) or row.get("time_unit", "ns") not in _UNITS:
        return "failed", "it has no real_time that is a positive number with a known time_unit"
    if not LEAST <= time <= MOST:
        return "failed", f"its real_time is {time:g}, which nothing takes"
    return None


def _positive(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value > 0


def _foreign_bytes(rows: Sequence[Mapping[str, Any]], visits: Sequence[float]) -> Iterator[float]:
    for row, visit in zip(rows, visits, strict=True):
        if _positive(rate := row.get("bytes_per_second")):
            yield rate * visit


@dataclass(frozen=True)
class Side:
    """One run, or several of one machine counted together.

    `machine` identifies the machine, `software` what runs on it that may change its numbers; runs that
    share both may be counted together. `warnings` are sentences about the files, `versions` those of what
    families measure: 1 where a file does not say. `shared` is whether others took CPUs of its host
    (`uncertainty.sharing`), None where that is not clear. `complete`: none of its runs ended before its end.
    `links` are the copy peaks of its links in GB/s by direction, the slowest first, each with its ends.
    """

    paths: tuple[Path, ...]
    runs: tuple[str, ...]
    label: str
    date: str
    provenance: str
    host: str
    machine: tuple[str, ...]
    software: tuple[str, ...]
    foreign: bool
    facts: Facts
    warnings: tuple[str, ...]
    answers: Answers
    versions: Mapping[str, int] = field(default_factory=dict)
    shared: int | None = None
    complete: bool = True
    links: Mapping[str, tuple[tuple[float, str], ...]] = field(default_factory=dict)

    @property
    def setup(self) -> tuple:
        """Equal for runs that may be counted together."""
        return self.foreign, self.machine, self.software

    def alike(self, other: "Side") -> bool:
        """Whether both have one kind of CPU and as many GPUs, so that what one has the other should have."""
        return self.machine[1:2] == other.machine[1:2] and len(self.machine) == len(other.machine)

    def version(self, family: str) -> int:
        """The version of what a family measures."""
        return self.versions.get(family, 1)


def nodes(sides: Sequence[Side]) -> list[str]:
    """The name of each side's machine: its host's, or where different machines share that, its label."""
    first = {side.machine: side for side in reversed(sides)}
    hosts = [side.host for side in first.values()]
    names = {
        key: side.host if side.host and hosts.count(side.host) == 1 else side.label
        for key, side in first.items()
    }
    return [names[side.machine] for side in sides]


def read(base: Path, others: Sequence[Path], tables: Sequence[TypeB] = ()) -> list[Side]:
    """Reads every file, the base first; a run that is given twice is refused.

    Of a machine that one of `tables`, or else the package's own, knows, uncertainties are by that table.
    The base among the others, as `fleet/*` has it, is left out there. Files of one run that differ, as
    before and after `--resume` or where one was edited, are taken with a warning. A folder of repeated runs
    (`grainscope repeat`) is one side, of which all runs count together.
    """
    first, *rest = ((path, loading.runs_in(path)) for path in (base, *others))
    given = [each for each in rest if _located(each[1]) != _located(first[1])]
    if not given:
        raise ReportError(f"{base} is all there is to compare with itself: give another run, too")
    every = [first, *given]
    found = iter(_all([run for _, runs in every for run in runs], tables))
    whole = [_of_folder(path, list(itertools.islice(found, len(runs)))) for path, runs in every]
    sides = _of_hosts(_distinct(whole))
    for at, side in enumerate(sides):
        twins = [one for one in sides[:at] if set(one.runs) & set(side.runs)]
        if same := next((twin for twin in twins if twin.answers == side.answers), None):
            raise ReportError(f"{same.paths[0]} and {side.paths[0]} are the same run: give each run once")
        if twins and max(len(side.paths), len(twins[0].paths)) > 1:
            raise ReportError(f"a run of {twins[0].paths[0]} is also of {side.paths[0]}: give each run once")
        if twins:
            said = f"{side.paths[0]} is of the same run as {twins[0].paths[0]}, but their numbers differ"
            sides[at] = replace(side, warnings=(*side.warnings, said))
    return sides


def _located(runs: Sequence[Path]) -> list[str]:
    return [os.path.realpath(loading.locate(run)) for run in runs]


def _of_folder(path: Path, runs: Sequence[Side]) -> Side:
    """The runs of a folder as one side; ReportError where they cannot count together."""
    if any(run.setup != runs[0].setup for run in runs):
        raise ReportError(
            f"{path} holds runs of several machines, or of several versions of what runs on one: "
            f"give each by itself ({path}/*)"
        )
    return _pooled_side(runs)


def _of_hosts(sides: list[Side]) -> list[Side]:
    """The sides, with a warning of each that is compared with one whose host was shared less."""
    base, *new = sides
    known = [side for side in new if None not in (base.shared, side.shared)]
    busier = [side for side in known if side.shared > base.shared]
    if any(side.shared < base.shared for side in known):
        busier.append(base)
    return [_on_a_shared_host(side) if side in busier else side for side in sides]


def _on_a_shared_host(side: Side) -> Side:
    fewer = "hardly any" if side.shared == uncertainty.SHARED else "far fewer"
    said = (
        f"others took CPUs of the host of {side.paths[0]} while it ran, and {fewer} of the other's: all "
        "rows of the two are less certain, most those on the host's clock"
    )
    return replace(side, warnings=(*side.warnings, said))


def slower_links(base: Side, new: Side, threshold: float) -> list[str]:
    """What the new side's links lack of the base's copy peaks, those of each direction by their order.

    Short runs have no rows of most GPUs, so that their links alone tell. Nothing is said of machines of two
    kinds, whose links differ as a matter of course.
    """
    found = []
    for direction, there in new.links.items() if base.alike(new) else ():
        before = base.links.get(direction, ())
        if len(before) != len(there):
            continue
        lost = [
            (was / now, f"{ends} at {now:.1f} GB/s for {was:.1f}")
            for (was, _), (now, ends) in zip(before, there, strict=True)
            if was > now * (1 + threshold)
        ]
        if lost:
            found.append(max(lost)[1] + (f" (worst of {len(lost)})" if len(lost) > 1 else ""))
    return found


def _links(links: Iterable[Link]) -> dict[str, tuple[tuple[float, str], ...]]:
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for link in links:
        found[link.direction].append((link.peak_gb_s, machine.spoken_ends(link.ends)))
    return {direction: tuple(sorted(there)) for direction, there in found.items()}


def _all(paths: Sequence[Path], tables: Sequence[TypeB]) -> list[Side]:
    sizes = [found.stat().st_size for path in paths if (found := loading.locate(path)).is_file()]
    workers = min(len(os.sched_getaffinity(0)), len(paths), MOST_PROCESSES)
    if workers < 2 or sum(sizes) < WORTH_PROCESSES:
        return [read_one(path, tables) for path in paths]
    try:
        with ProcessPoolExecutor(workers) as pool, errors.no_further_work(pool):
            with errors.starting_processes():
                read = pool.map(read_one, paths, itertools.repeat(tables))
            return list(read)
    except BrokenProcessPool:
        # One was ended from outside, most likely for the memory that all of them together take.
        return [read_one(path, tables) for path in paths]


def read_one(path: Path, tables: Sequence[TypeB]) -> Side:
    """Reads one file, GrainScope's or Google Benchmark's own."""
    with loading.nothing_collected():
        found, document = loading.load(path, foreign=True)
        if loading.is_foreign(document):
            return _of_foreign(found, document)
        with blamed(found, document):
            return _of_result(reader.parse(found, document), tables)


def _of_result(result: Result, tables: Sequence[TypeB]) -> Side:
    path, context = result.path, result.context.raw
    warnings = [reader.contradicts(result)] if result.contradictions else []
    if {len(row.visits) for row in result.rows if row.measured} == {1}:
        warnings.append(
            f"{path} has one visit a row, as files of schema 1 mostly do: it does not tell what visits "
            "differ by"
        )
    # In up to one row of fifty they do on machines of which nothing is wrong.
    warnings += [f"{path}: {said}" for said in machine.visits_apart(result.rows, often=0.1)]
    if not result.run.complete:
        warnings.append(f"{path} is not complete ({result.run.why_incomplete})")
    kernel = context["environment"].get("kernel") or {}
    shared = uncertainty.sharing([row.raw for row in result.rows])
    return Side(
        paths=(path,),
        runs=machine.run_ids(result.run.id),
        label=machine.machines([result])[0].label,
        date=result.date,
        provenance=machine.provenance_line(result),
        host=result.host or "",
        machine=machine.identity(context),
        software=(
            result.environment.driver_version or "",
            f"{result.version} {result.commit} {result.cuda}",
            str(kernel.get("release", "")),
        ),
        foreign=False,
        facts=facts(context) | machine.readings(result.rows),
        warnings=tuple(warnings),
        answers={
            asked: replace(answer, shared=shared, cpu=uncertainty.kind_of(context)[1])
            for asked, answer in answers(_by_table(result, tables), machine.hides_nodes(context)).items()
        },
        versions={row.case.family: row.case.version for row in result.rows},
        shared=shared,
        complete=result.run.complete,
        links=_links(result.links),
    )


def _by_table(result: Result, tables: Sequence[TypeB]) -> Sequence[Row]:
    """The rows with the uncertainties of the table that knows the machine best, else with their own."""
    context = result.context.raw
    table = uncertainty.best_table(context, tables)
    if table is None:
        return result.rows
    told = uncertainty.derived([row.raw for row in result.rows], context, table)
    return [_with(row, found) if found else row for row, found in zip(result.rows, told, strict=True)]


def _with(row: Row, found: Mapping[str, Any]) -> Row:
    parts = {name: model.Uncertainty(**part) for name, part in found.get("uncertainty", {}).items()}
    return replace(row, uncertainty=Uncertainties(**parts) if parts else None)


def _of_foreign(path: Path, document: dict[str, Any]) -> Side:
    context = document["context"]
    host, date = (str(context.get(key) or "") for key in ("host_name", "date"))
    program = Path(str(context.get("executable", ""))).name
    warnings = [f"{path} is Google Benchmark's own JSON: rows are joined by name, times are not verified"]
    if str(context.get("library_build_type", "")).lower() == "debug":
        warnings.append(f"{path} was taken with a debug build of Google Benchmark")
    return Side(
        paths=(path,),
        runs=(f"{host} {program} {date}",) if date else (),
        label=f"{program or path.name} ({host})" if host else program or path.name,
        date=date,
        provenance=" · ".join(part for part in (program, host, date[:10]) if part),
        host=host,
        machine=(host,),
        software=(program,),
        foreign=True,
        facts=facts(context),
        warnings=tuple(warnings),
        answers=foreign_answers(document),
    )


def pool(sides: Sequence[Side]) -> list[Side]:
    """Runs of one machine, driver and version as one side, in the order of their first files."""
    groups: dict[tuple, list[Side]] = {}
    for side in sides:
        groups.setdefault(side.setup, []).append(side)
    return _distinct([_pooled_side(group) for group in groups.values()])


def _pooled_side(group: Sequence[Side]) -> Side:
    first = group[0]
    if len(group) == 1:
        return first
    if len(every := [run for side in group for run in side.runs]) > len(set(every)):
        names = ", ".join(str(side.paths[0]) for side in group)
        raise ReportError(f"{names} hold one run twice: give each run once")
    for one, two in itertools.combinations(group, 2):
        for family in changed(one, two):
            raise ReportError(
                f"{two.paths[0]} has version {two.version(family)} of {family}, {one.paths[0]} version "
                f"{one.version(family)}, which do not measure the same: leave out --pool, give each by itself"
            )
    shared = {side.shared for side in group}
    return replace(
        first,
        facts=first.facts | machine.worst_readings([side.facts for side in group]),
        shared=shared.pop() if len(shared) == 1 else None,
        paths=tuple(path for side in group for path in side.paths),
        runs=tuple(run for side in group for run in side.runs),
        warnings=tuple(warning for side in group for warning in side.warnings),
        answers=together([side.answers for side in group]),
        versions={name: one for side in group for name, one in side.versions.items()},
        complete=all(side.complete for side in group),
        links=_slowest_run([side.links for side in group]),
    )


def _slowest_run(
    links: Sequence[Mapping[str, tuple[tuple[float, str], ...]]],
) -> dict[str, tuple[tuple[float, str], ...]]:
    """Of each direction the peaks of the run whose slowest link is the slowest."""
    return {
        direction: min(there[direction] for there in links if direction in there)
        for direction in dict.fromkeys(name for there in links for name in there)
    }


def changed(one: Side, two: Side) -> list[str]:
    """The families that both have rows of and whose versions differ: they do not measure the same."""
    shared = {answer.family for answer in one.answers} & {answer.family for answer in two.answers}
    return sorted(family for family in shared if one.version(family) != two.version(family))


def _distinct(sides: Sequence[Side]) -> list[Side]:
    """The sides with labels of which no two are alike."""
    labels = [side.label for side in sides]
    for more in (lambda side: side.date[:10], lambda side: side.date[11:16], lambda side: str(side.paths[0])):
        labels = [
            f"{label}, {more(side)}" if labels.count(label) > 1 and more(side) else label
            for label, side in zip(labels, sides, strict=True)
        ]
    return [replace(side, label=label) for label, side in zip(labels, sides, strict=True)]
