"""Judges a run by rules: a value fails with its whole interval, what is missing fails or is not decided.

A rule that no row answers is missing where the run is all that the rules ask for: the machine could not do
it. Of any other run, and of a GPU of which a run has no row, it is not decided, and nothing is accepted
before it is.

The interval is of both uncertainties. What the file does not tell of them, the rule set allows for the clock:
of one visit what visits differ by, and of a machine of which type B is unknown what runs differ by. A run is
judged by many limits at once. So of m judgements each leaves out 1/20 ÷ m beyond the end that faces the
limit, and no more than a 95 % interval does: at most one sound run in 20 fails (Bonferroni).

Noise is not rewarded. A value beyond a limit, which only visits that differ more than usual bring back to it,
is not decided. Neither is one whose visits lie apart by more than a factor of two, where one is beyond. The
same holds for the samples of a single visit. Of rows that are alike but for another GPU that reads, load
beside them or memory taken in another way, a rule means those without, unless it names the axis.
"""

import math
import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grainscope_report import families, metrics, selecting, statistics
from grainscope_report.acceptance import causes, node_rules
from grainscope_report.acceptance.rules import LINK, REFERENCE, THEORETICAL, Allowance, Rule, RuleSet
from grainscope_report.errors import ReportError
from grainscope_report.machine import (
    LONGEST_FILTER,
    VISITS_APART,
    concerns,
    object_of,
    objects_of,
    part_of,
    spoken_site,
)
from grainscope_report.model import Link, Result, Row
from grainscope_report.toml_file import Value
from grainscope_report.uncertainty import (
    Uncertainty,
    at_hand,
    clock_of,
    combined,
    expanded,
    middle_share,
    of_record,
    student_quantile,
)
from grainscope_report.units import cut, some

FILTER, VISITS = "--benchmark_filter", "--benchmark_repetitions"
PASSED, FAILED, MISSING, NOT_APPLICABLE = "passed", "failed", "missing", "not applicable"
UNDECIDED = "not decided"
UNTOLD = "the machine does not tell"
ACCEPT = "look for yourself, and accept that by `where_told = true` under [node]"
HIDDEN = "a virtual machine hides it from its guests"
UNREAD = "no row reads it, or neither the driver nor the system tells"
BROKEN = (FAILED, MISSING)
REJECTED = 0.05  # of sound runs, at most
LEAST = 0.975  # of one end of a 95 % interval
OWN_VISITS = {"acceptance": 5}  # of a preset, without a flag
LINK_CLOCK = "gated"  # of the copies that measure a link
EXACT = Uncertainty(0.0, math.inf)
# What visits differ by, by clock, where neither the suite's table nor the rules say: the table's middle.
USUAL = {"gated": 0.035, "open": 0.11, "quiet": 0.094, "host": 0.16}
LIST_GPUS = "nvidia-smi -L"
HIDDEN_GPU = "a GPU is lost, or hidden from the run (CUDA_VISIBLE_DEVICES, a container, a batch system)"
MORE_GPUS = "another kind of machine than the rules are for"
QUIETER = "measure again on a quiet machine"
_NORMAL = student_quantile(LEAST, math.inf)
# Of times that are no median, too, the row's uncertainty is the best that is known.
_TIMES = ("p5_s", "p95_s")


@dataclass(frozen=True)
class Measurement:
    """One visit: its value in the file's own unit, and why there is none."""

    visit: int
    value: float | None
    wrong: str


@dataclass(frozen=True)
class Judged:
    """What became of a rule at one question and site; `what` names them.

    `message` is what is wrong, `got` a value with its interval, `cause` its explanation, `remedy` what to do
    about that, `again` the command that measures it. `expected` is what no limit says, and `came` what there
    is in place of a value.
    """

    rule: str
    text: str
    what: str
    status: str
    message: str = ""
    measurements: tuple[Measurement, ...] = ()
    limits: str = ""
    unit: str = ""
    source: str = ""
    got: str = ""
    cause: str = ""
    remedy: str = ""
    again: str = ""
    expected: str = ""
    came: str = ""

    @property
    def next(self) -> str:
        """What to do."""
        return "; then ".join(filter(None, (self.remedy, self.again)))


@dataclass(frozen=True)
class _Value:
    """A value before it is held against its limits: None and why, or with its uncertainty.

    `usual` is that without what the run's own visits and samples differ by beyond what is usual. `visits` are
    the values of the visits that stand for it.
    """

    rule: Rule
    what: str
    measurements: tuple[Measurement, ...]
    value: float | None
    why: str = ""
    uncertainty: Uncertainty = EXACT
    row: Row | None = None
    usual: Uncertainty = EXACT
    visits: tuple[float, ...] = ()


def judge(
    result: Result, sets: Sequence[RuleSet], reference: Result | None, any_run: bool = False
) -> list[Judged]:
    """What the rule sets say of a run, in their order.

    `any_run` does without what the run need not be: its preset, its visits, and rules that it has no row for,
    as long as it has some. ReportError where a rule has a family or an axis that there is none of.
    """
    for rules in sets:
        _require_names(result, rules)
    drawn = []
    for rules in sets:
        mine = [one for rule in rules.rules for one in _rule(result, rule, rules, reference)]
        drawn += _run(result, rules, any_run)
        drawn += [_absent(one, result, rules, any_run and _answers(mine)) for one in mine]
    level = _level(drawn)
    found = [_decided(result, item, level) if isinstance(item, _Value) else item for item in drawn]
    return list(dict.fromkeys(found))


def _require_names(result: Result, rules: RuleSet) -> None:
    cases, whole = [row.case for row in result.rows], _is_whole(result, rules)
    for rule in rules.rules:
        if rule.where and (wrong := selecting.wrong_name(rule.where, cases, whole)):
            raise ReportError(f"{rules.path}, rule {rule.id!r}: {wrong}")


def _answers(drawn: Sequence["Judged | _Value"]) -> bool:
    return any(isinstance(one, _Value) for one in drawn)


def _absent(item: "Judged | _Value", result: Result, rules: RuleSet, left_out: bool) -> "Judged | _Value":
    """What no row answers, of a run that need not have had it: of no GPU at all, it may be left out."""
    if not isinstance(item, Judged) or item.status != MISSING or _is_whole(result, rules):
        return item
    status = NOT_APPLICABLE if left_out and not item.what else UNDECIDED
    return replace(item, status=status, cause=causes.of_part(result), remedy="")


def _is_whole(result: Result, rules: RuleSet) -> bool:
    """Whether a run is all of the preset that the rules ask for."""
    run = result.run
    return run.preset == (rules.run.preset or run.preset) and not run.filter and run.shard.count == 1


def values(result: Result, rules: RuleSet) -> list[tuple[Rule, float, float, int]]:
    """Each value that a run has for a set's rules, with half its interval as a logarithm, and its visits."""
    drawn = [one for rule in rules.rules for one in _rule(result, rule, rules, None)]
    level = _level(drawn)
    return [
        (item.rule, item.value, _half(item.usual, level), len(item.row.visits) if item.row else 1)
        for item in drawn
        if isinstance(item, _Value) and item.value is not None
    ]


def _level(drawn: Sequence["Judged | _Value"]) -> float:
    """The probability below the end of an interval that faces its limit."""
    compared = sum(isinstance(item, _Value) and item.uncertainty.standard > 0 for item in drawn)
    return max(LEAST, 1 - REJECTED / max(compared, 1))


def _half(known: Uncertainty, level: float) -> float:
    return student_quantile(level, known.freedom) * known.standard if known.standard else 0.0


def _run(result: Result, rules: RuleSet, any_run: bool) -> Iterator[Judged]:
    """The run itself: its end, its preset, its visits, the GPUs, failed rows, and the node."""
    asked, run = rules.run, result.run
    again = _again(result, rules)
    wrong = "" if run.complete else run.why_incomplete or "it does not say why"
    why = causes.why_stopped(wrong)
    yield _of_run("complete", "the run is complete", wrong, causes.resume(result), why)
    failed = [row for row in result.rows if row.status == "failed"]
    reasons = some(list(dict.fromkeys(row.reason for row in failed if row.reason)), 1)
    wrong, then = some([row.name for row in failed], 1), causes.listed(result, "failed")
    yield _of_run("no_failed_row", "no row of the run failed", wrong, then, reasons or causes.NO_REASON)
    if asked.preset and not any_run:
        wrong = [f"the preset is {run.preset}"] * (run.preset != asked.preset)
        wrong += [f"only part of it was run (filter {cut(run.filter, LONGEST_FILTER)!r})"] * bool(run.filter)
        wrong += [f"it is {part_of(run)}"] * bool(part_of(run))
        text = f"the run is all of the preset {asked.preset}"
        yield _of_run("preset", text, ", ".join(wrong), again, causes.of_part(result), UNDECIDED)
    if asked.visits and run.visits < asked.visits and not any_run:
        wrong = f"{run.visits} of {asked.visits} visits were asked for"
        text = f"the run comes to each case {asked.visits} times"
        yield _of_run("visits", text, wrong, again, causes.of_visits(result), UNDECIDED)
    nodes, seen = _nodes(result), _nodes_seen(result)
    if nodes > 1 and seen:
        wrong = _one_node(result, seen)
        text = f"each GPU was measured with the memory of one of the {nodes} nodes and of another"
        status = MISSING if _is_whole(result, rules) else UNDECIDED
        yield _of_run("remote_node", text, wrong, again, causes.of_one_node(result), status)
    gpus = len(result.environment.gpu_names)
    least = min((rule.needs_gpus for rule in rules.rules), default=0)
    if gpus < least:
        wrong = f"there is {gpus or 'none'}: no rule of {rules.name} is for this machine"
        text = f"the machine has {least} GPUs or more"
        yield _of_run("needs_gpus", text, wrong, LIST_GPUS, HIDDEN_GPU, UNDECIDED)
    if asked.gpus is not None:
        wrong = "" if gpus == asked.gpus else f"there are {gpus}"
        cause = HIDDEN_GPU if gpus < asked.gpus else MORE_GPUS
        yield _of_run("gpus", f"the machine has {asked.gpus} GPUs", wrong, LIST_GPUS, cause)
    if not asked.severe_warnings:
        severe = [concern for concern in concerns(result) if concern.severity == "severe"]
        then = "; ".join(dict.fromkeys(one.remedy for one in severe if one.remedy)) or "grainscope --env"
        wrong = "; ".join(one.finding for one in severe)
        cause = "; ".join(dict.fromkeys(causes.WARNED.get(one.id, one.finding) for one in severe))
        yield _of_run("severe_warnings", "the machine report has no severe warning", wrong, then, cause)
    asked_links = [link for link in result.links if any(rule.link == link.direction for rule in rules.rules)]
    if chosen := _chosen_by_rate(result, asked_links):
        gpus = some([f"GPU {gpu}" for gpu in chosen], node_rules.NAMED)
        text = f"The NUMA node nearest to {gpus}, of whose links the fastest counts"
        yield Judged("node.nearest", text, "node", NOT_APPLICABLE, UNTOLD)
    for verdict in node_rules.verdicts(result, rules.node):
        asked = not rules.node.where_told and (verdict.id != "governor" or bool(rules.node.governors))
        found = _of_node(result, verdict, asked)
        yield replace(found, again=again) if found.status == UNDECIDED else found


def _of_node(result: Result, verdict: node_rules.Verdict, asked: bool) -> Judged:
    """What is not told decides nothing where it was asked for."""
    found = Judged(f"node.{verdict.id}", verdict.text, "node", PASSED, limits=verdict.limits)
    if verdict.wrong:
        return replace(found, status=FAILED, message=verdict.wrong, cause=verdict.cause, again=verdict.next)
    if asked and (verdict.wrong is None or verdict.untold):
        virtual = (result.environment.kernel or {}).get("virtual_machine") is True
        hidden = virtual and verdict.id in node_rules.OF_CPUS
        of = f" of {verdict.untold}" if verdict.untold else ""
        return replace(
            found,
            status=UNDECIDED,
            message=f"{UNTOLD}{of}; {ACCEPT}",
            cause=HIDDEN if hidden else UNREAD,
            remedy=f"{verdict.look}{' on the host' * hidden}",
        )
    return replace(found, status=NOT_APPLICABLE, message=UNTOLD) if verdict.wrong is None else found


def _of_run(name: str, text: str, wrong: str, then: str, cause: str = "", status: str = FAILED) -> Judged:
    if not wrong:
        return Judged(f"run.{name}", text, "run", PASSED)
    return Judged(f"run.{name}", text, "run", status, wrong, cause=cause, again=then)


def _node_list(result: Result) -> list[Mapping]:
    return objects_of(object_of(result.environment.raw, "memory"), "nodes")


def _nodes(result: Result) -> int:
    """How many NUMA nodes have CPUs, and memory that may be used: a GPU's own is not measured."""
    return sum(
        bool(one.get("memory_bytes")) and one.get("memory_allowed") is not False and one.get("cpus") != []
        for one in _node_list(result)
    )


def _nodes_seen(result: Result) -> dict[int, set[int]]:
    """Of each GPU the nodes with whose memory its copies or loads were measured, if any."""
    sites = [row.case.site for row in result.rows if row.measured]
    pairs = {(site["gpu"], site["numa"]) for site in sites if {"gpu", "numa"} <= site.keys()}
    seen: dict[int, set[int]] = defaultdict(set)
    for gpu, node in sorted(pairs | {(link.gpu, link.numa) for link in result.links if link.peer is None}):
        seen[gpu].add(node)
    return seen


def _one_node(result: Result, seen: Mapping[int, set[int]]) -> str:
    """What is wrong where GPUs were measured with one node's memory alone."""
    near = _near_nodes(result)
    alone = [gpu for gpu, nodes in seen.items() if len(nodes) < 2]
    if len(alone) == len(seen) and all(near.get(gpu, node) == node for gpu in alone for node in seen[gpu]):
        return "no row is of a GPU and a node's memory far from it"
    gpus = some([f"GPU {gpu}" for gpu in alone], node_rules.NAMED)
    return f"no row of {gpus} is of a second node's memory" if alone else ""


def _near_nodes(result: Result) -> dict[int, int]:
    """The node nearest to each GPU: by the machine report, else the one that rows call local, if known."""
    local: dict[int, set[int]] = defaultdict(set)
    for row in result.rows:
        if row.case.locality == "local" and {"gpu", "numa"} <= row.case.site.keys():
            local[row.case.site["gpu"]].add(row.case.site["numa"])
    found = {gpu: min(nodes) for gpu, nodes in local.items() if len(nodes) == 1}
    told = [(number, gpu.get("numa_node")) for number, gpu in node_rules.gpus_of(result)]
    # The kernel's -1 is "not told", and of a node without memory no run measures a link.
    none = {-1, *(one.get("id") for one in _node_list(result) if one.get("memory_bytes") == 0)}
    return found | {gpu: node for gpu, node in told if type(node) is int and node not in none}


def _rule(result: Result, rule: Rule, rules: RuleSet, reference: Result | None) -> list[Judged | _Value]:
    gpus = len(result.environment.gpu_names)
    if gpus < rule.needs_gpus:
        why = f"for machines with {rule.needs_gpus} GPUs or more; this one has {gpus}"
        return [_judged(rule, "", NOT_APPLICABLE, why)]
    return _of_links(result, rule, rules) if rule.link else _of_rows(result, rule, rules, reference)


def _of_links(result: Result, rule: Rule, rules: RuleSet) -> list[Judged | _Value]:
    there = [link for link in result.links if link.direction == rule.link]
    links, near = _nearest(result, there), _near_nodes(result)
    found: list[Judged | _Value] = []
    for link in links:
        value = _link_value(link, rule)
        why = "the run does not tell" if value is None else ""
        measured = (Measurement(1, value, why),)
        drawn = _Value(rule, _link_name(link), measured, value, why)
        found.append(_of_peak(result, link, drawn, rules) if rule.metric == "peak_gb_s" else drawn)
    again = _again(result, rules)
    for gpu in sorted({link.gpu for link in there} - {link.gpu for link in links}):
        why = f"no link {rule.link} of GPU {gpu} and node {near[gpu]}, the nearest to it, was measured"
        cause = causes.Cause(causes.of_one_node(result), "numactl --show")
        found.append(_nowhere(rule, f"GPU {gpu}", why, cause, again, "no link"))
    why = f"no link {rule.link} was measured"
    return found + _missing_gpus(result, rule, {link.gpu for link in there}, why, again)


def _of_peak(result: Result, link: Link, drawn: _Value, rules: RuleSet) -> _Value:
    """A link's peak with the uncertainty of the row of the same copy; without one it is of one visit."""
    if row := metrics.peak_row(result, link):
        known = _uncertainty(row, drawn.rule, rules)
        usual = _uncertainty(row, drawn.rule, rules, result)
        longer = [visit.median_s / row.median_s for visit in row.standing]
        visits = () if drawn.value is None else tuple(drawn.value / one for one in longer)
        return replace(drawn, uncertainty=known, usual=usual, visits=visits)
    allowed, within = rules.allowance.get(LINK_CLOCK), _of_interval(link.within_gb_s)
    known, usual = (
        _known(None, None, one, allowed) for one in (within, _least(within, _by_clock(LINK_CLOCK, allowed)))
    )
    return replace(drawn, uncertainty=known, usual=usual)


def _nearest(result: Result, links: Sequence[Link]) -> list[Link]:
    """Of a GPU's links to several nodes' memory that of the nearest: a node farther away is slower by design.

    Where it is unknown which node that is, the fastest.
    """
    near = _near_nodes(result)
    best: dict[tuple, Link] = {}
    for link in links:
        pair = (link.gpu, link.peer)
        if link.peer is None and near.get(link.gpu, link.numa) != link.numa:
            continue
        if pair not in best or link.peak_gb_s > best[pair].peak_gb_s:
            best[pair] = link
    return list(best.values())


def _chosen_by_rate(result: Result, links: Sequence[Link]) -> list[int]:
    """The GPUs with links to several nodes of which the nearest is unknown."""
    near, nodes = _near_nodes(result), defaultdict(set)
    for link in links:
        if link.peer is None and link.gpu not in near:
            nodes[link.gpu].add(link.numa)
    return sorted(gpu for gpu, of in nodes.items() if len(of) > 1)


def _link_value(link: Link, rule: Rule) -> float | None:
    if rule.relative_to == THEORETICAL:
        return link.peak_gb_s / link.theoretical_gb_s if link.theoretical_gb_s else None
    return getattr(link, rule.metric)


def _link_name(link: Link) -> str:
    return f"link {' to '.join(link.ends)}"


def _of_rows(result: Result, rule: Rule, rules: RuleSet, reference: Result | None) -> list[Judged | _Value]:
    measured = [row for row in result.rows if row.label == "measured"]
    rows = [row for row in measured if rule.where.matches(row.case)]
    unusual = {*families.UNUSUAL} - rule.where.axes.keys()
    rows = [row for row in rows if unusual.isdisjoint(row.case.axes)] or rows
    if not rows:
        why = selecting.why_none(rule.where, [row.case for row in measured])
        cause = causes.of_nowhere(result, causes.OF_CASES, rule.where.axes)
        return [_nowhere(rule, "", why, cause, _again(result, rules, rule))]
    expected = _Reference(reference, rule) if rule.relative_to == REFERENCE else None
    found = [_case(result, rule, row, rules, expected) for row in rows]
    gpus = {row.case.site["gpu"] for row in rows if "gpu" in row.case.site}
    return found + (
        _missing_gpus(result, rule, gpus, "no such row", _again(result, rules, rule)) if gpus else []
    )


def _again(result: Result, rules: RuleSet, rule: Rule | None = None) -> str:
    """The command whose run is all that the rules ask for, or this one of them.

    Of rules without a preset it is the run itself without what may cut off their rows, and with the rule's
    values on axes.
    """
    preset, visits = rules.run.preset or result.run.preset, rules.run.visits or 0
    more = f" {VISITS}={visits}" if visits > OWN_VISITS.get(preset, 0) else ""
    if not rules.run.preset:
        wanted = rule.where.axes if rule and rule.where else {}
        without = (*causes.OF_CASES, *([FILTER] if rule else []), *([VISITS] if visits else []))
        more = _own_flags(result, without, wanted) + more
    return f"grainscope --preset {preset}{more} --out DIR"


def _own_flags(
    result: Result, without: Collection[str] = (), wanted: Mapping[str, Sequence[Value]] | None = None
) -> str:
    """The flags that a run was started with beside its preset, to be pasted, but for its part and for some.

    On `wanted` axes these values stand in place of those that the run asked for.
    """
    found = []
    for flag in result.run.flags:
        name, _, value = flag.partition("=")
        axis = value.partition("=")[0]
        if name == "--axis" and wanted and axis in wanted:
            flag = f"{name}={axis}={','.join(map(selecting.as_written, wanted[axis]))}"
        if name not in ("--preset", "--shard", *without):
            found.append(f" {shlex.quote(flag)}")
    return "".join(dict.fromkeys(found))


def _missing_gpus(result: Result, rule: Rule, there: set[int], why: str, then: str) -> list[Judged]:
    everyone = range(len(result.environment.gpu_names)) if rule.every_gpu else ()
    missing = [gpu for gpu in everyone if gpu not in there]
    cause = causes.of_hidden(result) or causes.of_nowhere(result, causes.OF_GPUS)
    came = "no link" if rule.link else "no row"
    if not there and not missing:
        return [_nowhere(rule, "", why, cause, then, came)]
    return [_nowhere(rule, f"GPU {gpu}", f"{why} of GPU {gpu}", cause, then, came) for gpu in missing]


def _nowhere(
    rule: Rule, what: str, why: str, cause: causes.Cause, again: str, came: str = "no row"
) -> Judged:
    """What no row or link answers."""
    lacking = _judged(rule, what, MISSING, why)
    return replace(lacking, cause=cause.said, remedy=cause.next, again=again, came=came)


class _Reference:
    """The same questions in the reference: the median over its sites, with the uncertainty of the worst."""

    def __init__(self, result: Result | None, rule: Rule) -> None:
        self.rule, self.result = rule, result
        self.versions = {row.case.family: row.case.version for row in result.rows} if result else {}
        self.found: Mapping[tuple, list[tuple[float, Row]]] = defaultdict(list)
        for row in result.rows if result else ():
            if row.ok and row.label == "measured" and rule.where.matches(row.case):
                value = metrics.value(row, rule.metric)
                if value is not None:
                    self.found[row.case.without()].append((value, row))

    def of(self, row: Row) -> tuple[float | None, str]:
        """Its value, or why there is none."""
        family = row.case.family
        theirs = self.versions.get(family, row.case.version)
        if theirs != row.case.version:
            return None, (
                f"{family} is version {row.case.version} here and {theirs} in the reference: they do not "
                "measure the same"
            )
        values = [value for value, _ in self.found.get(row.case.without(), ())]
        return statistics.median(values) if values else None, "the reference has no such row"

    def uncertainty(self, row: Row, rules: RuleSet, usual: bool) -> Uncertainty:
        of = self.result if usual else None
        rows = (other for _, other in self.found.get(row.case.without(), ()))
        return max((_uncertainty(other, self.rule, rules, of) for other in rows), key=expanded, default=EXACT)


def _case(result: Result, rule: Rule, row: Row, rules: RuleSet, expected: _Reference | None) -> _Value:
    site = spoken_site(sorted(row.case.site.items()))
    what = f"{_axes(row, rule)}{site}"
    measured = [_measurement(result, rule, one, expected) for one in metrics.by_visit(row)]
    stands = {visit.round for visit in row.standing}
    visits = tuple(one.value for one in measured if one.visit in stands and one.value is not None)
    asked = rules.run.visits or 0
    # Where the whole run came to its cases too seldom, that is one failure, not one a row.
    missing = range(len(measured) + 1, asked + 1) if row.ok and result.run.visits >= asked else ()
    measured += [Measurement(number, None, "the visit is missing") for number in missing]
    if not row.ok:
        return _Value(rule, what, tuple(measured), None, f"{row.status}: {row.reason}", row=row)
    value, why = _value(result, rule, row, expected)
    if missing:
        why = f"{len(missing)} of {asked} visits: the visit is missing"
    elif value is not None:
        why = ""
    parts = []
    for usual in (False, True):
        known = _uncertainty(row, rule, rules, result if usual else None)
        if rule.relative_to == LINK and (link := result.link(row.case.ends)):
            within = _of_interval(link.within_gb_s)
            allowed = _by_clock(LINK_CLOCK, rules.allowance.get(LINK_CLOCK))
            known = _together(known, _least(within, allowed) if usual else within)
        parts.append(_together(known, expected.uncertainty(row, rules, usual)) if expected else known)
    known, usual = parts
    return _Value(rule, what, tuple(measured), value, why, known, row, usual, visits)


def _uncertainty(row: Row, rule: Rule, rules: RuleSet, of: Result | None = None) -> Uncertainty:
    """What is known of a row's quantity; of one that does not follow its time nothing is.

    With the result that it is of, its visits and samples differ by no more than is usual.
    """
    if not metrics.follows_median(row, rule.metric) and rule.metric not in _TIMES:
        return EXACT
    a, b = (
        of_record(part) if part else None
        for part in ((row.uncertainty.a, row.uncertainty.b) if row.uncertainty else (None, None))
    )
    within, count = _of_interval(row.within_s) if row.within_s else EXACT, len(row.standing)
    told = {"timing": vars(row.timing)} if row.timing else {}
    clock = clock_of(told)
    allowance = rules.allowance.get(clock) or (rules.allowance.get("host") if clock == "quiet" else None)
    if of:
        # What its visits differ by, on machines of its kind or else on the table's first.
        told |= {"case": {"family": row.case.family, "version": row.case.version, "axes": row.case.axes}}
        prior, share = at_hand().between_visits(told, of.context.raw)
        usual = _by_clock(clock, allowance)
        if prior.freedom:
            usual = Uncertainty(math.sqrt(share * prior.variance), prior.freedom)
        within = _least(within, usual)
        if a and count > 1:
            a = _least(a, Uncertainty(usual.standard * math.sqrt(middle_share(count)), usual.freedom))
    elif a and count == 1:
        # What visits usually differ by says nothing of one whose own samples contradict each other.
        a = _together(a, within)
    return _known(a, b, within, allowance)


def _by_clock(clock: str, allowed: Allowance | None) -> Uncertainty:
    """What visits differ by where the suite's table does not say: by the rules, else by their clock."""
    return allowed.visit if allowed and allowed.visit.standard else Uncertainty(USUAL[clock], math.inf)


def _least(one: Uncertainty, other: Uncertainty) -> Uncertainty:
    return min(one, other, key=expanded)


def _known(
    a: Uncertainty | None, b: Uncertainty | None, within: Uncertainty, allowed: Allowance | None
) -> Uncertainty:
    """Both uncertainties together, the rules' where one is unknown; of one visit with that of its samples."""
    a = a or _together(within, allowed.visit if allowed else EXACT)
    return _together(a, b or (allowed.run if allowed else EXACT))


def _together(one: Uncertainty, other: Uncertainty) -> Uncertainty:
    return combined(one, other) if one.standard and other.standard else max(one, other)


def _of_interval(interval: tuple[float, float]) -> Uncertainty:
    low, high = interval
    return Uncertainty(math.log(high / low) / 2 / _NORMAL, math.inf) if low > 0 else EXACT


def _axes(row: Row, rule: Rule) -> str:
    """The axes that the rule leaves open."""
    said = [
        f"{axis} {value}" for axis, value in row.case.axes.items() if len(rule.where.axes.get(axis, ())) != 1
    ]
    return "".join(f"{one}, " for one in said)


def _measurement(result: Result, rule: Rule, row: Row, expected: _Reference | None) -> Measurement:
    number = row.visit.round if row.visit else 1
    if not row.ok:
        return Measurement(number, None, f"{row.status}: {row.reason}")
    value, why = _value(result, rule, row, expected)
    return Measurement(number, value, why if value is None else "")


def _value(result: Result, rule: Rule, row: Row, expected: _Reference | None) -> tuple[float | None, str]:
    """The value that the limits are for, or why there is none."""
    if rule.relative_to == LINK:
        return _of_link(row), "the run does not tell the share of the link"
    value = metrics.value(row, rule.metric)
    if value is None:
        return None, f"the row has no {rule.metric}"
    if rule.relative_to == THEORETICAL:
        link = result.link(row.case.ends)
        theory = link.theoretical_gb_s if link else None
        return (value / theory if theory else None), "the run does not tell what the link can do in theory"
    if expected:
        base, why = expected.of(row)
        return (value / base if base else None), why
    return value, ""


def _of_link(row: Row) -> float | None:
    """The rate over the copy peak, also where `link_fraction` is of what must cross: rows asked for again
    may come from a cache."""
    crossing = row.counters.get("link_gb_s")
    if row.link_fraction is None or not crossing or row.bandwidth_gb_s is None:
        return row.link_fraction
    return row.link_fraction * row.bandwidth_gb_s / crossing


def _decided(result: Result, value: _Value, level: float) -> Judged:
    """Passed where nothing is missing and the interval does not lie beyond a limit."""
    rule, half, shown = value.rule, _half(value.uncertainty, level), _half(value.uncertainty, LEAST)
    # Of too few visits none stands for the row.
    got = "" if value.value is None or value.why else rule.limits.around(value.value, shown)
    wrong = value.why or ("" if value.value is None else rule.limits.broken_by(value.value, half, shown))
    status = PASSED if not wrong else MISSING if value.value is None and _all_missing(value) else FAILED
    if not wrong and (wrong := _contradiction(value, min(half, _half(value.usual, level)), got)):
        status = UNDECIDED
    judged = _judged(rule, value.what, status, wrong, value.measurements)
    judged = replace(judged, got=got, limits=rule.limits.beside(value.value if got else None))
    return judged if status == PASSED else replace(judged, **_explained(result, value))


def _contradiction(value: _Value, usual: float, got: str) -> str:
    """Why a value that keeps its limits decides nothing: by noise alone, or with visits far apart."""
    if not value.uncertainty.standard or value.value is None:
        return ""
    limits, visits = value.rule.limits, value.visits or (value.value,)
    low, high = min(visits), max(visits)
    apart = high > VISITS_APART * low and any(limits.broken_by(one, usual, 0.0) for one in visits)
    if not apart and not limits.broken_by(value.value, usual, 0.0):
        return ""
    if high > low * math.exp(usual):
        spread = f"{limits.unit.number(low)} to {limits.unit.text(high)}"
        return f"its visits contradict each other: {spread}; {QUIETER}"
    return f"{got} reaches the limit only since it is known less well than is usual; {QUIETER}"


def _all_missing(value: _Value) -> bool:
    return all(part.value is None for part in value.measurements)


def _explained(result: Result, value: _Value) -> dict[str, str]:
    """What may be the cause of a value beyond its limit, and the next command."""
    again = f"grainscope --preset {result.run.preset}{_own_flags(result)} --out again"
    if value.row:
        name = re.sub(r"([][.^$*+?(){}|\\])", r"\\\1", value.row.name)
        only = shlex.quote(f"^{name}$")
        enough = OWN_VISITS["acceptance"]
        visits = f" {VISITS}={enough}" if value.row.ok and len(value.row.visits) == 1 else ""
        own = _own_flags(result, without=(FILTER, *([VISITS] if visits else [])))
        again = f"grainscope --preset {result.run.preset}{own} {FILTER}={only}{visits} --out again"
    if value.value is None:
        cause = causes.of_nothing(result, value.rule, value.row)
        return {"cause": cause.said, "remedy": cause.next, "again": again, "came": "no value"}
    if value.why:
        cause = causes.of_missing_visits(result)
        there, asked = (sum(one.value is not None for one in value.measurements), len(value.measurements))
        came = {"expected": f"{asked} visits to the row", "came": str(there)}
        return {"cause": cause.said, "remedy": cause.next, "again": again} | came
    if value.rule.link and value.rule.metric in causes.NEGOTIATED:
        cause = causes.of_negotiated(result, value.rule.metric)
        return {"cause": cause.said, "remedy": cause.next, "again": again}
    found = causes.of_value(result, value.row)[:2]
    if found:
        cause = "; ".join(dict.fromkeys(part.said for part in found))
        return {"cause": cause, "remedy": found[0].next, "again": again}
    virtual = (result.environment.kernel or {}).get("virtual_machine") is True
    hidden = ": a virtual machine does not see its neighbours" if virtual else ""
    alone = "; it is of one visit, which may have been disturbed" * bool(
        value.row and len(value.row.visits) == 1
    )
    return {"cause": f"{causes.NOTHING}{hidden}{alone}", "again": again}


def _judged(
    rule: Rule, what: str, status: str, message: str, measured: tuple[Measurement, ...] = ()
) -> Judged:
    return Judged(
        rule.id,
        rule.text,
        what,
        status,
        message,
        measured,
        rule.limits.beside(None),
        rule.limits.unit.name,
        rule.source,
    )
