"""The machines of a workload: the runs of each node, and of these only the rows that a component means."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grainscope_report import checks, reader
from grainscope_report.buying.workload import Workload
from grainscope_report.cases import Case
from grainscope_report.comparison import facts
from grainscope_report.errors import EXIT_NOT_COMPARABLE, ReportError
from grainscope_report.loading import load, load_environment
from grainscope_report.machine import concerns
from grainscope_report.model import Counts
from grainscope_report.result import Result
from grainscope_report.selecting import Where

REFERENCE = "the reference"
MOST_DIFFERENCES = 6


class NotComparableError(ReportError):
    """Machines that the workload cannot be held against alike; exit status 3."""

    status = EXIT_NOT_COMPARABLE


@dataclass(frozen=True)
class Machine:
    """The result files of one candidate, by node; `cases` are all that its files have rows of."""

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


def read(workload: Workload) -> tuple[Machine, list[Machine]]:
    """The reference and the candidates; refuses runs given twice and files that are not comparable."""
    wanted = [component.where for component in workload.components]
    cache: dict[Path, tuple[Result, list[Case]]] = {}
    reference = _machine(REFERENCE, workload.reference, wanted, cache)
    found = [_machine(one.name, one.files, wanted, cache) for one in workload.candidates]
    _no_run_twice(found)
    _same_version([reference, *found])
    return reference, found


def _machine(
    name: str, paths: Sequence[Path], wanted: Sequence[Where], cache: dict[Path, tuple[Result, list[Case]]]
) -> Machine:
    nodes: dict[tuple, list[Result]] = {}
    cases: list[Case] = []
    seen: dict[str, Path] = {}
    for path in paths:
        if path not in cache:
            cache[path] = _result(path, wanted)
        result, there = cache[path]
        if other := seen.get(result.run.id):
            raise ReportError(f"{other} and {path} are the same run: give each once")
        seen[result.run.id] = path
        cases += there
        nodes.setdefault(_node(result), []).append(result)
    return Machine(name, tuple(map(tuple, nodes.values())), tuple(cases))


def _node(result: Result) -> tuple:
    """What tells one node from another: its name and its GPUs."""
    return result.host, *(str(gpu.get("uuid") or "") for gpu in result.environment.raw["gpus"])


def _result(path: Path, wanted: Sequence[Where]) -> tuple[Result, list[Case]]:
    """The file with only the rows that are wanted, which must be right by the format and in themselves."""
    found, document = load(path)
    rows = [row for row in document["benchmarks"] if _wanted(row, wanted)]
    cases = [case for row in document["benchmarks"] if (case := _case(row))]
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
    return Case(case["family"], case["axes"], {}) if isinstance(case.get("axes"), dict) else None


def _wanted(row: Any, wanted: Sequence[Where]) -> bool:
    """Whether a component means the row; what is no row is kept, for the schema to refuse."""
    case = _case(row)
    return case is None or any(where.matches(case) for where in wanted)


def _no_run_twice(found: Sequence[Machine]) -> None:
    seen: dict[str, Machine] = {}
    for one in found:
        for result in one.results:
            if other := seen.get(result.run.id):
                raise ReportError(
                    f"{result.path} is of candidate {other.name} and of candidate {one.name}: give it to one"
                )
            seen[result.run.id] = one


def _same_version(found: Sequence[Machine]) -> None:
    first = found[0].results[0]
    for one in found:
        for result in one.results:
            if result.version != first.version:
                raise NotComparableError(
                    f"{result.path} is of GrainScope {result.version} and {first.path} of {first.version}: "
                    f"measure both with one version; {differences(first, result)}"
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
    visits = [max((len(row.visits) for row in result.rows), default=1) for result in named.results]
    if sum(visits) == len(named.nodes):
        yield f"{named.name}: between-run variance not seen, each node was measured once"
    for result in named.results:
        if not result.run.complete:
            yield f"{named.name}: {result.path} is not complete ({result.run.why_incomplete})"
        for one in concerns(result):
            if one.severity in ("severe", "warning"):
                yield f"{named.name}: {one.severity}: {one.finding}"
