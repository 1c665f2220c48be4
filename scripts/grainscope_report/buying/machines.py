"""The machines of a workload: the runs of each node, and of these only the rows that a component means."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grainscope_report import checks, reader, uncertainty
from grainscope_report.buying.workload import Workload
from grainscope_report.cases import Case
from grainscope_report.comparison import facts
from grainscope_report.errors import EXIT_NOT_COMPARABLE, ReportError
from grainscope_report.loading import load, load_environment
from grainscope_report.machine import concerns
from grainscope_report.model import Counts
from grainscope_report.result import Result
from grainscope_report.selecting import Where
from grainscope_report.uncertainty import TypeB

REFERENCE = "the reference"
MOST_DIFFERENCES = 6


class NotComparableError(ReportError):
    """Machines that the workload cannot be held against alike; exit status 3."""

    status = EXIT_NOT_COMPARABLE


class LackingError(NotComparableError):
    """A machine that could not measure what the workload needs: others may still be ranked."""


@dataclass(frozen=True)
class Machine:
    """The result files of one candidate, by node; `cases` are all that its files have `ok` rows of."""

    name: str
    nodes: tuple[tuple[Result, ...], ...]
    cases: tuple[Case, ...] = field(compare=False, default=(), repr=False)

    @property
    def results(self) -> list[Result]:
        """All runs of all nodes."""
        return [result for node in self.nodes for result in node]

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for machines that are the same runs."""
        return tuple(sorted(result.run.id for result in self.results))

    def is_same(self, other: "Machine") -> bool:
        """Whether it is the same runs, or by its GPUs' identifiers the same nodes under the same driver."""
        return self.key == other.key or bool(self._hardware and self._hardware == other._hardware)

    @property
    def _hardware(self) -> frozenset[tuple[str, ...]] | None:
        found = {(result.environment.driver_version, *_gpus(result)) for result in self.results}
        return frozenset(found) if all(len(one) > 1 and all(one[1:]) for one in found) else None


Cache = dict[Path, tuple[Result, list[Case]]]


def read(workload: Workload, tables: Sequence[TypeB] = ()) -> tuple[Machine, list[Machine]]:
    """The reference and the candidates; refuses runs given twice and files that are not comparable."""
    wanted = [component.where for component in workload.components]
    cache: Cache = {}
    reference = _machine(REFERENCE, workload.reference, wanted, tables, cache)
    found = [_machine(one.name, one.files, wanted, tables, cache) for one in workload.candidates]
    _same_versions([reference, *found])
    return reference, found


def _machine(
    name: str, paths: Sequence[Path], wanted: Sequence[Where], tables: Sequence[TypeB], cache: Cache
) -> Machine:
    nodes: dict[tuple, list[Result]] = {}
    cases: list[Case] = []
    seen: dict[str, Path] = {}
    for path in paths:
        if path not in cache:
            cache[path] = _result(path, wanted, tables)
        result, there = cache[path]
        if other := seen.get(result.run.id):
            raise ReportError(f"{other} and {path} are the same run: give each once")
        seen[result.run.id] = path
        cases += there
        nodes.setdefault(_node(result), []).append(result)
    return Machine(name, tuple(map(tuple, nodes.values())), tuple(cases))


def _node(result: Result) -> tuple:
    """What tells one node from another: its name and its GPUs."""
    return result.host, *_gpus(result)


def _gpus(result: Result) -> tuple[str, ...]:
    return tuple(str(gpu.get("uuid") or "") for gpu in result.environment.raw["gpus"])


def _result(path: Path, wanted: Sequence[Where], tables: Sequence[TypeB]) -> tuple[Result, list[Case]]:
    """The file with only the rows that are wanted, which must be right by the format and in themselves."""
    found, document = load(path)
    # A file that is off the format is told so by the reader.
    with suppress(AttributeError, LookupError, TypeError, ValueError):
        uncertainty.renew(document, tables)
    rows = [row for row in document["benchmarks"] if _wanted(row, wanted)]
    cases = [case for row in document["benchmarks"] if (case := _case(row)) and row.get("status") == "ok"]
    result = reader.parse(found, document | {"benchmarks": rows})
    counted = Counter(row.status for row in result.rows)
    counts = Counts(*(counted[status] for status in ("ok", "skipped", "failed")))
    run = replace(result.run, counts=counts)
    kept = replace(result, context=replace(result.context, run=run))
    if problems := checks.problems(kept):
        raise NotComparableError(reader.contradicts(replace(kept, contradictions=problems)))
    return result, cases


def _case(row: Any) -> Case | None:
    """The question of a row, before anything of it is checked."""
    case = row.get("case") if isinstance(row, dict) else None
    if not isinstance(case, dict) or not isinstance(case.get("family"), str):
        return None
    if not isinstance(case.get("axes"), dict):
        return None
    return Case(case["family"], case["axes"], site if isinstance(site := case.get("site"), dict) else {})


def _wanted(row: Any, wanted: Sequence[Where]) -> bool:
    """Whether a component means the row; what is no row is kept, for the schema to refuse."""
    case = _case(row)
    return case is None or any(where.matches(case) for where in wanted)


def _same_versions(found: Sequence[Machine]) -> None:
    """Refuses rows of a family that measures something else in one file than in another."""
    seen: dict[str, tuple[int, Path]] = {}
    quiet: dict[tuple[str, Any], tuple[bool, Path]] = {}
    for result in (result for one in found for result in one.results):
        for row in (row for row in result.rows if row.timing and row.timing.clock == "steady"):
            told = (row.timing.quiet, result.path)
            before, path = quiet.setdefault((row.case.family, tuple(sorted(row.case.axes.items()))), told)
            if before != row.timing.quiet:
                raise NotComparableError(
                    f"{row.case.family} was measured on CPUs without a neighbour in "
                    f"{path if before else result.path} and wherever the kernel put it in "
                    f"{result.path if before else path}: measure both alike, or leave the family out of the "
                    "workload"
                )
        for case in (row.case for row in result.rows):
            version, path = seen.setdefault(case.family, (case.version, result.path))
            if version != case.version:
                raise NotComparableError(
                    f"{case.family} is of version {version} in {path} and of version {case.version} in "
                    f"{result.path}: the two do not measure the same; measure both with one version of "
                    "GrainScope, or leave the family out of the workload"
                )


def differences(one: Result, other: Result) -> str:
    """In what two runs' environments differ, in words: what decides most numbers, as `env diff` orders it."""
    found = facts.differences(*(facts.facts(load_environment(result.path)) for result in (one, other)))
    if not found:
        return "the environments are the same"
    said = [f"{each.fact} {each.base or '-'} / {each.new or '-'}" for each in found[:MOST_DIFFERENCES]]
    more = len(found) - len(said)
    rest = f"; and {more} more (`grainscope-report env diff {one.path} {other.path}`)" if more else ""
    return f"the environments differ in {'; '.join(said)}{rest}"


def cautions(named: Machine) -> Iterator[str]:
    """What the runs of a machine cannot show, and what its own report warns of."""
    if len(named.nodes) == 1:
        yield f"{named.name}: between-node variance not seen, one node was measured"
    for result in named.results:
        if not result.run.complete:
            yield f"{named.name}: {result.path} is not complete ({result.run.why_incomplete})"
        for one in concerns(result):
            if one.severity in ("severe", "warning"):
                yield f"{named.name}: {one.severity}: {one.finding}"
