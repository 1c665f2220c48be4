"""Reads the files of a comparison, several at a time, and keeps of each what a comparison needs."""

import gc
import itertools
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grainscope_report import loading, machine, model, processes, reader, uncertainty
from grainscope_report.comparison import foreign, questions
from grainscope_report.comparison.facts import Facts, facts
from grainscope_report.comparison.questions import Answers
from grainscope_report.errors import ReportError
from grainscope_report.model import Row, Uncertainties
from grainscope_report.result import Result
from grainscope_report.uncertainty import TypeB

# Below so many bytes of files starting processes takes longer than reading.
WORTH_PROCESSES = 16 << 20
MOST_PROCESSES = 16
_RUN = re.compile(r"[0-9a-f]+-[0-9a-f]+")


@dataclass(frozen=True)
class Side:
    """One run, or several of one machine counted together.

    `machine` identifies the machine, `software` what runs on it that may change its numbers; runs that
    share both may be counted together. `warnings` are sentences about the files, `versions` those of what
    families measure: 1 where a file does not say.
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
    before and after `--resume` or where one was edited, are taken with a warning.
    """
    first = loading.locate(base).resolve()
    rest = [path for path in others if loading.locate(path).resolve() != first]
    if not rest:
        raise ReportError(f"{base} is all there is to compare with itself: give another run, too")
    sides = _distinct(_all([base, *rest], (*tables, uncertainty.at_hand())))
    for at, side in enumerate(sides):
        twins = [one for one in sides[:at] if set(one.runs) & set(side.runs)]
        if same := next((one for one in twins if one.answers == side.answers), None):
            raise ReportError(f"{same.paths[0]} and {side.paths[0]} are the same run: give each run once")
        if twins:
            said = f"{side.paths[0]} is of the same run as {twins[0].paths[0]}, but their numbers differ"
            sides[at] = replace(side, warnings=(*side.warnings, said))
    return sides


def _all(paths: Sequence[Path], tables: Sequence[TypeB]) -> list[Side]:
    sizes = [found.stat().st_size for path in paths if (found := loading.locate(path)).is_file()]
    workers = min(len(os.sched_getaffinity(0)), len(paths), MOST_PROCESSES)
    if workers < 2 or sum(sizes) < WORTH_PROCESSES:
        return [read_one(path, tables) for path in paths]
    try:
        with ProcessPoolExecutor(workers) as pool, processes.no_further_work(pool):
            with processes.starting():
                read = pool.map(read_one, paths, itertools.repeat(tables))
            return list(read)
    except BrokenProcessPool:
        # One was ended from outside, most likely for the memory that all of them together take.
        return [read_one(path, tables) for path in paths]


def read_one(path: Path, tables: Sequence[TypeB]) -> Side:
    """Reads one file, GrainScope's or Google Benchmark's own."""
    # Parsing makes millions of objects and no cycles: looking for these takes a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        found, document = loading.load(path, foreign=True)
        if loading.is_foreign(document):
            return _of_foreign(found, document)
        return _of_result(reader.parse(found, document), tables)
    finally:
        if collecting:
            gc.enable()


def _of_result(result: Result, tables: Sequence[TypeB]) -> Side:
    path, context = result.path, result.context.raw
    warnings = [reader.contradicts(result)] if result.contradictions else []
    if {len(row.visits) for row in result.rows if row.measured} == {1}:
        warnings.append(
            f"{path} has one visit a row, as files of schema 1 mostly do: it does not tell what visits "
            "differ by"
        )
    if not result.run.complete:
        warnings.append(f"{path} is not complete ({result.run.why_incomplete})")
    gpus = [str(gpu.get("uuid") or gpu.get("name")) for gpu in context["environment"]["gpus"]]
    kernel = context["environment"].get("kernel") or {}
    return Side(
        paths=(path,),
        runs=_runs(result.run.id),
        label=machine.machines([result])[0].label,
        date=result.date,
        provenance=" · ".join(machine.provenance(result)),
        host=result.host or "",
        machine=(result.host or "", machine.cpu(result), *gpus),
        software=(
            result.environment.driver_version or "",
            f"{result.version} {result.commit} {result.cuda}",
            str(kernel.get("release", "")),
        ),
        foreign=False,
        facts=facts(context),
        warnings=tuple(warnings),
        answers=questions.answers(_by_table(result, tables)),
        versions={row.case.family: row.case.version for row in result.rows},
    )


def _by_table(result: Result, tables: Sequence[TypeB]) -> Sequence[Row]:
    """The rows with the uncertainties of the first table that knows the machine, else with their own."""
    context = result.context.raw
    table = next((one for one in tables if one.knows(context)), None)
    if table is None:
        return result.rows
    told = uncertainty.derived([row.raw for row in result.rows], context, table)
    return [_with(row, found) if found else row for row, found in zip(result.rows, told, strict=True)]


def _with(row: Row, found: Mapping[str, Any]) -> Row:
    parts = {name: model.Uncertainty(**part) for name, part in found.get("uncertainty", {}).items()}
    return replace(row, uncertainty=Uncertainties(**parts) if parts else None)


def _runs(run_id: str) -> tuple[str, ...]:
    """The runs that a file holds: `merge` joins the ids of shards by a plus."""
    parts = run_id.split("+")
    return tuple(parts) if all(_RUN.fullmatch(part) for part in parts) else (run_id,)


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
        answers=foreign.answers(document),
    )


def pool(sides: Sequence[Side]) -> list[Side]:
    """Runs of one machine, driver and version as one side, in the order of their first files."""
    groups: dict[tuple, list[Side]] = {}
    for side in sides:
        groups.setdefault((side.foreign, side.machine, side.software), []).append(side)
    return _distinct([_pooled(group) for group in groups.values()])


def _pooled(group: Sequence[Side]) -> Side:
    first = group[0]
    if len(group) == 1:
        return first
    if len(every := [run for side in group for run in side.runs]) > len(set(every)):
        names = ", ".join(str(side.paths[0]) for side in group)
        raise ReportError(f"{names} hold one run twice: give each run once, or leave out --pool")
    for one, two in itertools.combinations(group, 2):
        for family in changed(one, two):
            raise ReportError(
                f"{two.paths[0]} has version {two.version(family)} of {family}, {one.paths[0]} version "
                f"{one.version(family)}, which do not measure the same: leave out --pool"
            )
    return replace(
        first,
        paths=tuple(path for side in group for path in side.paths),
        runs=tuple(run for side in group for run in side.runs),
        warnings=tuple(warning for side in group for warning in side.warnings),
        answers=questions.together([side.answers for side in group]),
        versions={name: one for side in group for name, one in side.versions.items()},
    )


def changed(one: Side, two: Side) -> list[str]:
    """The families that both have rows of and whose versions differ: they do not measure the same."""
    shared = {each.family for each in one.answers} & {each.family for each in two.answers}
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
