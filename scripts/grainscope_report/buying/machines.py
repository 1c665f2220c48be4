"""The machines of a workload: their files, the ways to do each component, and the gates before any rank."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grainscope_report import (
    families,
    machine,
    metrics,
    naming,
    reader,
    refusing,
    selecting,
    statistics,
    uncertainty,
)
from grainscope_report.buying.workload import Component, Gates, Workload
from grainscope_report.errors import NotComparableError, ReportError
from grainscope_report.loading import load, load_environment, quoted
from grainscope_report.machine import concerns
from grainscope_report.model import MODEL, Case, Counts, Result, Row
from grainscope_report.selecting import Where
from grainscope_report.toml_file import Value
from grainscope_report.uncertainty import TypeB, Uncertainty
from grainscope_report.units import format_bytes, format_percent, plural

REFERENCE = "the reference"
MOST_DIFFERENCES = 6
BEHIND = math.log(1.05)  # of what fell behind: less is not worth a word
Cache = dict[Path, tuple[Result, list[Case], bool | None]]
# Between sizes that are more times apart nothing is interpolated. Sizes of copies in `quick` are no further.
MOST_APART = 16
# How a thing is done, of which a program may choose the fastest. Every other axis is what is asked.
HOW = {
    "access", "allocation", "blocks", "by", "chunk", "edge", "element", "host_threads", "lists", "load",
    "method", "mode", "offset", "pages", "percent", "placement", "processes", "sms", "stages", "store",
    "strategy", "streams", "threads", "tier", "width", "window",
}  # fmt: skip
# What goes without saying where it is left open: cold memory, near the GPU, and the copy itself.
DEFAULTS = {
    "flush": ("on",),
    "timed": ("copy",),
    "locality": ("local", "unknown", "remote"),
    "order": ("original", "as_asked", "drawn"),
    "pool": ("usual",),
}
# Axes that rows lack that are of one GPU by itself, over host memory of the usual kind. Where a workload
# leaves them open, and there are such rows, these are meant.
USUALLY_LACKING = (*families.UNUSUAL, "neighbours", "memory")
# What lies in the memory of GPUs already asks nothing of a link to the host: it has to be asked for by name.
UNASKED = {"placement": ("device", "peer", "interleaved"), "store": ("device",)}
# Axes that follow from the one along which sizes go, because a sample has a fixed volume.
FOLLOWS = {
    "row": {"rows"},
    "grain": {"bytes"},
    "piece": {"pieces", "bytes"},
    "page": {"bytes"},
    "width": {"rows"},
}
# Where a machine does not tell which memory is near, nothing far is known of it either.
NEAR = {"unknown": "local"}
# Gates that are broken by what was not measured.
_UNMEASURED = re.compile(r"^evidence: |: no (row|link) .*was measured|: how much .* is unknown")
Axes = tuple[tuple[str, Value], ...]
Known = Callable[[Row], Uncertainty | None]
Skip = tuple[Axes, str]  # a question, and why it was skipped, less the numbers
Questions = list[dict[str, Value]]
Points = tuple[tuple[tuple[tuple[str, Row], ...], ...], ...]  # by node and site, each run's id and row
Uneven = tuple[Row, Result, Result]  # a row, and runs of nodes that lack it and that have it


class LackingError(NotComparableError):
    """A machine that could not measure what the workload needs: others may still be ranked."""


@dataclass(frozen=True)
class Machine:
    """The result files of one candidate, by node; `cases` are all that its files have `ok` rows of.

    `hosts` are, by run, whether others took CPUs of the host (`uncertainty.sharing`).
    """

    name: str
    nodes: tuple[tuple[Result, ...], ...]
    cases: tuple[Case, ...] = field(compare=False, default=(), repr=False)
    hosts: Mapping[str, int | None] = field(compare=False, default_factory=dict, repr=False)

    @property
    def results(self) -> list[Result]:
        """All runs of all nodes."""
        return [result for node in self.nodes for result in node]

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for machines that are the same runs."""
        return tuple(sorted(result.run.id for result in self.results))

    def is_same(self, other: "Machine") -> bool:
        """Whether it is the same runs, or by the GPUs' identifiers the same nodes, set up alike."""
        if self.key == other.key:
            return True
        pairs = [(one, two) for one in self.results for two in other.results if _gpus(one) == _gpus(two)]
        alike = (machine.set_up_alike(one.context.raw, two.context.raw) for one, two in pairs)
        return bool(self._gpus) and self._gpus == other._gpus and all(alike)

    @property
    def _gpus(self) -> frozenset[tuple[str, ...]]:
        """The identifiers of each node's GPUs, none where a node does not tell them."""
        found = {_gpus(result) for result in self.results}
        return frozenset(found) if all(of and all(of) for of in found) else frozenset()


def read(workload: Workload, tables: Sequence[TypeB] = ()) -> tuple[Machine, list[Machine]]:
    """The reference and the candidates; refuses runs given twice and files that are not comparable."""
    wanted = [component.where for component in workload.components]
    cache: Cache = {}
    reference = _machine(REFERENCE, workload.reference, wanted, tables, cache)
    found = [
        _machine(candidate.name, candidate.files, wanted, tables, cache) for candidate in workload.candidates
    ]
    _same_versions([reference, *found])
    return reference, found


def _machine(
    name: str, paths: Sequence[Path], wanted: Sequence[Where], tables: Sequence[TypeB], cache: Cache
) -> Machine:
    results: list[Result] = []
    cases: list[Case] = []
    hosts: dict[str, int | None] = {}
    for path in paths:
        if path not in cache:
            cache[path] = _result(path, wanted, tables)
        result, there, shared = cache[path]
        hosts[result.run.id] = shared
        cases += there
        results.append(result)
    refusing.require_each_once(results)
    _one_kind(name, results)
    return Machine(name, _nodes(results), tuple(cases), hosts)


def _one_kind(name: str, results: Sequence[Result]) -> None:
    """Refuses runs on other models of GPUs or CPUs: one time of all would be that of none."""
    for one, other in ((results[0], other) for other in results[1:]):
        models = {
            "GPU": [" and ".join(sorted({*each.environment.gpu_names})) or "none" for each in (one, other)],
            "CPU": [
                each.environment.cpu_model and uncertainty.kind_of(each.context.raw)[1]
                for each in (one, other)
            ],
        }
        for what, (mine, theirs) in models.items():
            if mine and theirs and mine != theirs:
                raise NotComparableError(
                    f"{name} has runs on machines of two kinds, {one.path} with {what} {mine} and "
                    f"{other.path} with {what} {theirs}: give the files of one kind only, and those of the "
                    "other to a candidate of its own"
                )


def counted_together(every: Sequence[Machine]) -> Iterator[list[Machine]]:
    """Those that are one machine by different runs."""
    left = list(every)
    while left:
        same = [one for one in left if one.is_same(left[0])]
        if len({one.key for one in same}) > 1:
            yield same
        left = [one for one in left if one not in same]


def _nodes(results: Sequence[Result]) -> tuple[tuple[Result, ...], ...]:
    """The runs of each node, told by its GPUs, and by its name where these have no identifiers."""
    nodes: dict[tuple, list[Result]] = {}
    for result in results:
        nodes.setdefault(machine.identity(result.context.raw), []).append(result)
    return tuple(map(tuple, nodes.values()))


def _gpus(result: Result) -> tuple[str, ...]:
    """Identifiers of the GPUs, in whatever order they were listed."""
    return tuple(sorted(str(gpu.get("uuid") or "") for gpu in result.environment.raw["gpus"]))


def _result(
    path: Path, wanted: Sequence[Where], tables: Sequence[TypeB]
) -> tuple[Result, list[Case], int | None]:
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
    if problems := reader.contradictions(kept):
        raise NotComparableError(reader.contradicts(replace(kept, contradictions=problems)))
    return result, cases, uncertainty.sharing(document["benchmarks"])


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
                    f"{row.name} was measured on CPUs without a neighbour in "
                    f"{path if before else result.path} and wherever the kernel put it in "
                    f"{result.path if before else path}: measure both alike, or leave such rows out of the "
                    "workload by the axes in `where`"
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
    found = machine.differences(*(machine.facts(load_environment(result.path)) for result in (one, other)))
    if not found:
        return "the environments are the same"
    said = [f"{each.fact} {each.base or '-'} / {each.new or '-'}" for each in found[:MOST_DIFFERENCES]]
    more = len(found) - len(said)
    paths = " ".join(quoted(result.path) for result in (one, other))
    rest = f"; and {more} more (`grainscope-report env diff {paths}`)" if more else ""
    return f"the environments differ in {'; '.join(said)}{rest}"


def on_busier_hosts(found: Sequence[Machine]) -> dict[str, int]:
    """Runs whose hosts were shared more than the least shared of all, each with its steps from there."""
    hosts = {run: of for one in found for run, of in one.hosts.items() if of is not None}
    least = min(hosts.values(), default=0)
    return {run: of - least for run, of in hosts.items() if of > least}


def cautions(named: Machine, said: Collection[str] = ()) -> Iterator[str]:
    """What the runs of a machine cannot show, and what its own report warns of.

    Of some files it is `said` elsewhere that they are not complete.
    """
    if len(named.nodes) == 1:
        yield "between-node variance not seen, one node was measured"
    yield from _set_up_apart(named.results)
    for result in named.results:
        if result.run.visits == 1 and {row.label for row in result.rows} != {"modelled"}:
            yield (
                f"{result.path} has one visit a row, as files of schema 1 mostly do: it does not tell what "
                "visits differ by"
            )
        if not result.run.complete and str(result.path) not in said:
            yield f"{result.path} is not complete ({result.run.why_incomplete})"
        for concern in concerns(result):
            if concern.severity in ("severe", "warning"):
                yield f"{'severe: ' if concern.severity == 'severe' else ''}{concern.finding}"


def behind(named: Machine, used: Iterable[Row]) -> Iterator[str]:
    """Sentences on the GPU or node of a run, and on the run's machine among several, that fell behind.

    It is of `used` rows. The verdict is of the middle one. What visits of both differ by may be chance, and
    of machines what runs differ by, in all rows at once; and less than BEHIND is not worth a word.
    """
    counted = {id(row) for row in used}
    for result in named.results:
        sites = [(machine.spoken_site(row.case.site_key), row) for row in result.rows if id(row) in counted]
        if said := _behind("site", sites, _of_visits):
            yield f"{result.path}: {said}"
    nodes = [
        (str(node[0].path), row) for node in named.nodes for result in node for row in result.rows
        if id(row) in counted
    ]  # fmt: skip
    if said := _behind("node", nodes, _of_runs):
        yield said


def _behind(what: str, found: Iterable[tuple[str, Row]], known: Known) -> str:
    """What is said of the slowest of several sites or nodes, by their names; empty where none is slow."""
    cases: dict[tuple, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for name, row in found:
        if known(row):
            cases[row.case.family, row.case.without(), row.label][name].append(row)
    several = [there for there in cases.values() if len(there) > 1]
    slow = [told for there in several if (told := _slowest(there, known, len(several)))]
    if not slow:
        return ""
    [(name, often)] = Counter(name for _, name in slow).most_common(1)
    where = name if often == len(slow) else f"{name} in {often}"
    return (
        f"in {len(slow)} of {plural(len(several), 'case')} that are used one {what} takes up to "
        f"{max(slow)[0]:.2f} times as long as its others ({where}), and the verdict is of the middle one: "
        "find out why before you buy"
    )


def _slowest(there: Mapping[str, Sequence[Row]], known: Known, cases: int) -> tuple[float, str] | None:
    """How many times as long as its others the slowest one takes, and which it is."""
    times = {name: statistics.median([row.median_s / (row.operations or 1) for row in rows])
             for name, rows in there.items()}  # fmt: skip
    slowest = max(times, key=times.__getitem__)
    others = statistics.median([time for name, time in times.items() if name != slowest])
    told = max((known(row) for rows in there.values() for row in rows), key=uncertainty.expanded)
    both = uncertainty.combined(told, told)
    chance = uncertainty.student_quantile(1 - 0.05 / 2 / cases / len(there), both.freedom) * both.standard
    far = math.log(times[slowest] / others)
    return (math.exp(far), slowest) if far > chance + BEHIND else None


def _of_visits(row: Row) -> Uncertainty | None:
    """What visits of a row differ by; None where that is not known."""
    return uncertainty.of_record(row.uncertainty.a) if row.uncertainty and row.uncertainty.a else None


def _of_runs(row: Row) -> Uncertainty | None:
    """What a row differs by from run to run; None where that is not known."""
    if not (visits := _of_visits(row)) or not row.uncertainty.b:
        return None
    return uncertainty.combined(visits, uncertainty.of_record(row.uncertainty.b))


def _set_up_apart(results: Sequence[Result]) -> Iterator[str]:
    """Sentences on the runs of a machine that were not set up as its first one, alike ones together."""
    alike: dict[str, list[str]] = defaultdict(list)
    for other in results[1:]:
        found = machine.set_apart(results[0].context.raw, other.context.raw, machine.SETUP)
        said = "; ".join(
            f"{each.cause} {machine.spoken_fact(each.fact, each.base)} / "
            f"{machine.spoken_fact(each.fact, each.new)}"
            for each in found
        )
        alike[said].append(str(other.path))
    for said, paths in alike.items():
        if said:
            yield (
                f"{results[0].path} and {', '.join(paths)} are of different set-ups ({said}), and what is "
                "predicted is of both: measure alike, or make two candidates of them"
            )


def may_pass(broken: Sequence[str]) -> bool:
    """Whether a candidate breaks gates only by what was not measured: a run that goes on may measure it."""
    return all(_UNMEASURED.search(one) for one in broken)


def gpus_at_work(row: Row) -> int:
    """How many GPUs a row keeps at work, as far as its axes and its site tell; 0 of a row of CPUs."""
    axes, site = row.case.axes, row.case.site
    pair = "peer" in site or axes.get("between") == "gpu_gpu"
    counts = (axes.get("gpus", 0), axes.get("over", 0), axes.get("neighbours", -1) + 1)
    return max("gpu" in site, 2 * pair, *counts)


@dataclass(frozen=True)
class Way:
    """One way to do a component: its axes but the size, and the rows at each measured size.

    `how` are the axes in which ways of the machine differ. `lost` are the sizes that were skipped or failed
    at some site or in some run, by one such row each: there the way does not stand for the machine.
    `left_out` are such rows that do not count against it. `uneven` are the sizes that only some nodes have.
    """

    axes: Axes
    how: Axes
    points: Mapping[float | None, Points]
    lost: Mapping[float | None, Row] = field(default_factory=dict, repr=False)
    left_out: tuple[Row, ...] = field(default=(), repr=False)
    uneven: Mapping[float | None, Uneven] = field(default_factory=dict, repr=False)

    @property
    def by(self) -> Axes:
        """All that a program may choose."""
        return tuple(one for one in self.axes if one[0] in HOW)

    @property
    def text(self) -> str:
        """In words that in which ways of the machine differ."""
        return in_words(self.how)

    @property
    def known(self) -> Set[float | None]:
        """Sizes with rows, be they lost or of some nodes alone."""
        return self.points.keys() | self.lost.keys() | self.uneven.keys()

    def around(self, size: float | None, among: Set[float | None] | None = None) -> dict[float | None, float]:
        """The sizes on either side of this one, or itself, with their shares of a line in log-log.

        Of those `among` which both of two machines have: the line between far sizes is not the one between
        near ones, and on lines of different ends equal machines would differ. None between sizes that are
        more than `MOST_APART` times apart.
        """
        known = self.known if among is None else self.known & among
        if size in known:
            return {size: 1.0}
        if size is None:
            return {}
        below, above = [at for at in known if 0 < at < size], [at for at in known if at > size]
        if not below or not above or min(above) > MOST_APART * max(below):
            return {}
        low, high = max(below), min(above)
        share = math.log(size / low) / math.log(high / low)
        return {low: 1 - share, high: share}

    def lacking(self, size: float | None, among: Set[float | None] | None = None) -> Row | None:
        """A row that this size needs and that was skipped or failed."""
        return next((self.lost[at] for at in self.around(size, among) if at in self.lost), None)

    def unlike(self, size: float | None, among: Set[float | None] | None = None) -> Uneven | None:
        """What this size needs and only some nodes have."""
        return next((self.uneven[at] for at in self.around(size, among) if at in self.uneven), None)

    def rows(self, at: float | None) -> list[Row]:
        """The rows of a measured size."""
        return [row for sites in self.points.get(at, ()) for runs in sites for _, row in runs]

    @property
    def all_rows(self) -> list[Row]:
        """The rows of all measured sizes."""
        return [row for at in self.points for row in self.rows(at)]


def in_words(axes: Axes) -> str:
    """`merged, threads 16`."""
    return ", ".join(value if isinstance(value, str) else naming.number(axis, value) for axis, value in axes)


def ways(
    machine: Machine,
    component: Component,
    reference: Sequence[Way] = (),
    skips: Collection[Skip] | None = None,
) -> list[Way]:
    """Every way of a machine that has rows of the component; NotComparableError where none is `ok`.

    What the workload leaves open is chosen as on the `reference`. Rows that were skipped or failed count
    against the machine but for `skips`, and none does where that is None.
    """
    meant = _meant(machine, component)
    chosen = [row for way in reference for row in way.all_rows]
    asked = _unsaid(
        [row for row in meant if (component.along or "") in ("", *row.case.axes)], component, chosen
    )
    usable = [row for row in asked if row.ok]
    if not usable:
        raise _lacking(machine, component, asked or meant)
    found: dict[Axes, dict] = defaultdict(lambda: defaultdict(list))
    dropped = _dropped(component)
    for row in asked:
        found[row.case.without(*dropped)][row.case.axes.get(component.along)].append(row)
    _one_question(machine, component, usable, dropped)
    varying = {axis for axis in selecting.differing((row.case for row in usable), dropped) if axis in HOW}
    made = [
        _way(machine, axes, varying, dict(sorted(points.items(), key=_size)), skips)
        for axes, points in found.items()
    ]
    return [way for way in made if way.known]


def _way(
    machine: Machine,
    axes: Axes,
    varying: Collection[str],
    points: Mapping[float | None, list[Row]],
    skips: Collection[Skip] | None,
) -> Way:
    lost = {
        at: bad
        for at, rows in points.items()
        if (bad := next((row for row in rows if not row.ok and _counts(row, skips)), None))
    }
    measured = {at: [row for row in rows if row.ok] for at, rows in points.items() if at not in lost}
    there = {at: _points(machine, rows) for at, rows in measured.items() if rows}
    return Way(
        axes,
        tuple(one for one in axes if one[0] in varying),
        {at: nodes for at, nodes in there.items() if all(nodes)},
        lost,
        tuple(row for at, rows in measured.items() if rows for row in points[at] if not row.ok),
        {at: _uneven(machine, nodes) for at, nodes in there.items() if not all(nodes)},
    )


def _counts(row: Row, skips: Collection[Skip] | None) -> bool:
    """Whether a row that was skipped or failed counts against its machine."""
    return skips is not None and (row.status != "skipped" or _skip(row) not in skips)


def _skip(row: Row) -> Skip:
    return row.case.without(), re.sub(r"\d+(\.\d+)?", "", row.reason)


def skipped_alike(found: Sequence[Machine], component: Component) -> frozenset[Skip]:
    """Rows that every machine which was asked skipped somewhere, for one reason: nobody gains by them."""
    asked: dict[Axes, set[str]] = defaultdict(set)
    skipped: dict[Skip, set[str]] = defaultdict(set)
    for one in found:
        for row in _meant(one, component):
            asked[row.case.without()].add(one.name)
            if row.status == "skipped":
                skipped[_skip(row)].add(one.name)
    return frozenset(skip for skip, names in skipped.items() if names == asked[skip[0]])


def _meant(machine: Machine, component: Component) -> list[Row]:
    rows = [row for result in machine.results for row in result.rows if row.label == component.label]
    return [row for row in rows if component.where.matches(row.case)]


def _dropped(component: Component) -> set[str]:
    """The axis along which sizes go, and those that follow from it."""
    return {component.along, *FOLLOWS.get(component.along or "", ())} - {None}


def _size(point: tuple[float | None, list]) -> float:
    return point[0] or 0.0


def _lacking(machine: Machine, component: Component, meant: Sequence[Row]) -> NotComparableError:
    """Why nothing stands for the component: the machine could not, which is a gate, or nobody asked it."""
    said = f"{machine.name} has no rows of {component.name!r}: {_why(machine, component, meant)}"
    could_not = bool(meant) and not any(row.ok for row in meant)
    return (LackingError if could_not else NotComparableError)(said)


def needs_more(rows: Sequence[Row]) -> bool:
    """Whether rows need a remote node or a second GPU, which a machine may not have."""
    return any(
        row.case.locality == "remote" or "peer" in row.case.site or row.case.axes.get("between") == "gpu_gpu"
        for row in rows
    )


def _why(machine: Machine, component: Component, meant: Sequence[Row]) -> str:
    if meant and component.along and not any(component.along in row.case.axes for row in meant):
        return f"they have no axis {component.along}"
    if bad := next((row for row in meant if not row.ok), None):
        return f"{bad.name} was {bad.status}: {bad.reason}"
    said = selecting.why_none(component.where, machine.cases)
    return said or f"none of them is {component.label} and cold, near and not in the GPU's own memory"


def _unsaid(rows: list[Row], component: Component, reference: Sequence[Row]) -> list[Row]:
    """The rows with what goes without saying, on axes that the workload leaves open."""
    for axis, order in DEFAULTS.items():
        if axis in component.where.axes:
            continue
        there = {row.case.axes[axis] for row in rows if axis in row.case.axes}
        before = [row.case.axes[axis] for row in reference if axis in row.case.axes]
        chosen = next((value for value in (*before, *order) if value in there), None)
        rows = [row for row in rows if row.case.axes.get(axis, chosen) == chosen]
    for axis in USUALLY_LACKING:
        if axis not in component.where.axes:
            has = any(axis in row.case.axes for row in reference)
            rows = [row for row in rows if (axis in row.case.axes) == has] or rows
    for axis, values in UNASKED.items():
        if axis not in component.where.axes:
            rows = [row for row in rows if row.case.axes.get(axis) not in values]
    return rows


def _one_question(machine: Machine, component: Component, rows: Sequence[Row], dropped: set[str]) -> None:
    """Refuses rows that differ in what is asked: a machine must not choose the easier question."""
    by_way: dict[Axes, list[Case]] = defaultdict(list)
    for row in rows:
        by_way[tuple((axis, row.case.axes[axis]) for axis in sorted(HOW & row.case.axes.keys()))].append(
            row.case
        )
    # A way may lack an axis of another, but has no other value on it.
    every = selecting.differing((row.case for row in rows), dropped | HOW)
    open_axes = {axis: values for axis, values in every.items() if len(values) > 1}
    for cases in by_way.values():
        open_axes |= selecting.differing(cases, dropped | HOW)
    # Two volumes at one size would be two questions, too.
    for axis in dropped - {component.along}:
        sizes: dict[tuple, set] = defaultdict(set)
        for row in rows:
            sizes[row.case.without(axis)].add(row.case.axes.get(axis))
        if twice := next((found for found in sizes.values() if len(found) > 1), None):
            open_axes[axis] = sorted(twice)
    if open_axes:
        axis, values = next(iter(open_axes.items()))
        said = ", ".join(map(str, values[:6]))
        raise ReportError(
            f"component {component.name!r} leaves open what is asked: on {machine.name} its rows differ in "
            f"{axis} ({said}): say which in `where`{'' if component.along else ', or go `along` it'}"
        )


def same_question(
    component: Component, reference: Sequence[Way], machine: Machine, found: Sequence[Way]
) -> None:
    """Refuses a machine whose rows answer another question than the reference's."""
    for base, other in _to_compare(component, reference, found):
        for axis in sorted({axis for one in (*base, *other) for axis in one}):
            mine, theirs = ({one.get(axis) for one in side} for side in (base, other))
            if mine.isdisjoint(theirs) or len((mine | theirs) - {None}) > 1:
                said = [_said(axis, side) for side in (mine, theirs)]
                raise NotComparableError(
                    f"component {component.name!r} is not the same question on all machines: "
                    f"{said[0]} on {REFERENCE} and {said[1]} on {machine.name}: say in `where` which is "
                    "meant, and measure that on both"
                )


def _to_compare(
    component: Component, reference: Sequence[Way], found: Sequence[Way]
) -> Iterator[tuple[Questions, Questions]]:
    """What has to be alike: each way's question, all ways' together, and what follows from sizes."""
    follow = sorted(_dropped(component) - {component.along})
    base, other = ([way for way in side if way.points] for side in (reference, found))
    for one, two in ((one, two) for one in base for two in other if one.by == two.by):
        yield [_question(component, one)], [_question(component, two)]
        for at in one.points.keys() & two.points.keys():
            yield tuple(
                [
                    {axis: row.case.axes[axis] for axis in follow if axis in row.case.axes}
                    for row in way.rows(at)
                ]
                for way in (one, two)
            )
    if other:
        yield tuple([_question(component, way) for way in side] for side in (base, other))


def _question(component: Component, way: Way) -> dict[str, Value]:
    """What a way answers; what joins two GPUs is a thing of the machine."""
    of_machine = () if component.where.family.startswith(MODEL) else ("link",)
    return {
        axis: NEAR.get(value, value) if axis == "locality" else value
        for axis, value in way.axes
        if axis not in HOW and axis not in of_machine
    }


def _said(axis: str, values: Collection[Value | None]) -> str:
    value = next((value for value in values if value is not None), None)
    if value is None:
        return f"there is no {axis}"
    return f"{axis} is {value if isinstance(value, str) else naming.size(axis, value)}"


def _points(machine: Machine, rows: Sequence[Row]) -> Points:
    """By node and site the runs' rows, in the order of the files; nothing of a node without such a row."""
    here = {id(row) for row in rows}
    nodes = []
    for results in machine.nodes:
        sites: dict[tuple, list[tuple[str, Row]]] = defaultdict(list)
        for result in results:
            for row in result.rows:
                if id(row) in here:
                    sites[tuple(sorted(row.case.site.items()))].append((result.run.id, row))
        nodes.append(tuple(map(tuple, sites.values())))
    return tuple(nodes)


def _uneven(machine: Machine, nodes: Points) -> Uneven:
    """A row that some nodes have, and the first runs of one that lacks it and of one that has it."""
    has = next(at for at, sites in enumerate(nodes) if sites)
    return nodes[has][0][0][1], machine.nodes[nodes.index(())][0], machine.nodes[has][0]


def why_unlike(machine: Machine, uneven: Uneven) -> str:
    """The sentence on what only some nodes of a machine have, with what these nodes differ in."""
    row, lacking, has = uneven
    return (
        f"{lacking.path} has no row {row.name} and another node of {machine.name} has: measure alike, as in "
        f"{has.path}; {differences(lacking, has)}"
    )


def known_sizes(found: Sequence[Way]) -> Set[float | None]:
    """Sizes that some way has."""
    return frozenset(at for way in found for at in way.known)


def out_of_range(
    machine: Machine, component: Component, sizes: Set[float | None], size: float | None, whose: str = ""
) -> str:
    """Why a size cannot be predicted: nothing is extrapolated, nor interpolated between sizes far apart.

    `whose` names the machine that has no other of the sizes.
    """
    axis = component.along or ""
    known = sorted(at for at in sizes if at is not None)
    who = f"{machine.name} and {whose} both" if whose else machine.name
    asked = f"and the workload asks for {naming.number(axis, size or 0)}"
    if not known:
        return f"there is no size at which {who} measured {component.name!r}: measure alike"
    below, above = [at for at in known if at < (size or 0)], [at for at in known if at > (size or 0)]
    if below and above:
        near = f"{naming.size(axis, max(below))} and {naming.size(axis, min(above))}"
        return (
            f"{who} measured {component.name!r} at {near} and at no size between, {asked}: these are too far "
            f"apart to tell what lies between; measure that size, too"
        )
    low, high = naming.size(axis, known[0]), naming.size(axis, known[-1])
    return (
        f"{who} measured {component.name!r} from {low} to {high}, {asked}: nothing is extrapolated; measure "
        f"that size, too"
    )


def of_machine(machine: Machine, workload: Workload) -> list[str]:
    """What the files tell before anything is predicted: failed rows, what the nodes have, and their links."""
    found, gates = [], workload.gates
    if gates.verified:
        failed = [
            row
            for result in machine.results
            for row in result.rows
            if row.status == "failed"
            and any(component.where.matches(row.case) for component in workload.components)
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
        sizes = [machine.object_of(gpu, "cuda").get("total_memory_bytes") for gpu in raw["gpus"]]
        yield from _enough("gpu_memory", f"a GPU of {result.path}", sizes, gates.gpu_memory)
    if gates.host_memory is not None:
        sizes = [machine.object_of(raw, "memory").get("total_bytes")]
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
    for result, link in there:
        if link.peak_gb_s < least:
            yield (
                f"{gate}: {result.path}, {link.ends[0]} to {link.ends[1]} reaches "
                f"{link.peak_gb_s:.1f} GB/s, below {least:g}"
            )
    yield from _unmeasured(machine, gate, between_gpus)


def _unmeasured(machine: Machine, gate: str, between_gpus: bool) -> Iterator[str]:
    """GPUs of which a node has no link, to the host or to another GPU: nothing says how fast theirs is."""
    to = "between GPUs" if between_gpus else "to the host"
    for runs in machine.nodes:
        links = [link for run in runs for link in run.links if (link.peer is not None) == between_gpus]
        seen = {gpu for link in links for gpu in (link.gpu, link.peer)}
        missing = set(range(max(len(run.environment.gpus) for run in runs))) - seen
        if not links:
            yield f"{gate}: no link {to} was measured in {runs[0].path}"
        elif missing:
            gpus = ", ".join(map(str, sorted(missing)))
            yield f"{gate}: no link {to} of GPU {gpus} was measured in {runs[0].path}"


def _links(machine: Machine, least: float) -> list[str]:
    """Links whose copy peak is below this share of what is negotiated, or of which that is unknown."""
    found = list(_unmeasured(machine, "min_link_fraction", between_gpus=False))
    for result in machine.results:
        for link in result.links:
            name = f"{result.path}, {link.ends[0]} to {link.ends[1]}"
            if not link.theoretical_gb_s:
                found.append(f"min_link_fraction: what the link of {name} can do is unknown")
                continue
            share = link.peak_gb_s / link.theoretical_gb_s
            if share < least:
                found.append(
                    f"min_link_fraction: {name} reaches {format_percent(share)} of "
                    f"{link.theoretical_gb_s:.1f} GB/s, below {format_percent(least)}"
                )
    return found


def of_rows(machine: Machine, rows: Sequence[Row], gates: Gates) -> list[str]:
    """Cases that vary more than `max_cv` on a node: over visits where there are several, else over samples.

    Trials are different inputs, whose times differ for other reasons: of one visit they say nothing, and a
    case of which nothing is known does not pass.
    """
    if gates.max_cv is None:
        return []
    here = {id(row) for row in rows}
    cases: dict[tuple, list[Row]] = defaultdict(list)
    for node, results in enumerate(machine.nodes):
        for row in (row for result in results for row in result.rows if id(row) in here):
            site = tuple(sorted(row.case.site.items()))
            cases[node, row.case.family, row.case.without(), site].append(row)
    broken, unknown = [], []
    for there in cases.values():
        visits = [visit.median_s for row in there for visit in row.standing]
        if len(visits) > 1:
            found = metrics.cv(visits)
        else:
            found = None if there[0].of_inputs else metrics.cv(there[0].samples_s)
        if found is None:
            unknown.append(there[0].name)
        elif found > gates.max_cv:
            broken.append((found, there[0].name))
    if unknown and not broken:
        more = f", and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        return [f"max_cv: how much {unknown[0]} varies is unknown, it has one visit{more}"]
    if not broken:
        return []
    worst, name = max(broken)
    more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
    return [f"max_cv: {name} varies by {format_percent(worst)}, above {format_percent(gates.max_cv)}{more}"]
