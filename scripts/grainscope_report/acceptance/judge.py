"""Holds a run against rules: every visit to every case counts, and what is missing fails."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grainscope_report import metrics, selecting, statistics
from grainscope_report.acceptance.rules import LINK, REFERENCE, THEORETICAL, Rule, RuleSet
from grainscope_report.machine import concerns, spoken_site
from grainscope_report.model import Link, Row
from grainscope_report.result import Result

PASSED, FAILED, MISSING, NOT_APPLICABLE = "passed", "failed", "missing", "not applicable"
BROKEN = (FAILED, MISSING)
Site = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Measurement:
    """One visit: its value in the file's own unit, and what is wrong with it."""

    visit: int
    value: float | None
    wrong: str


@dataclass(frozen=True)
class Judged:
    """What became of a rule at one question and site; `what` names them."""

    rule: str
    text: str
    what: str
    status: str
    message: str = ""
    measurements: tuple[Measurement, ...] = ()
    limits: str = ""
    unit: str = ""
    source: str = ""


def judge(
    result: Result, sets: Sequence[RuleSet], reference: Result | None, any_run: bool = False
) -> list[Judged]:
    """What the rule sets say of a run, in their order; `any_run`: whatever its preset and visits."""
    found = []
    for rules in sets:
        if any_run:
            rules = replace(rules, run=replace(rules.run, preset=None, visits=None))
        found += _run(result, rules)
        for rule in rules.rules:
            found += _rule(result, rule, rules.run.visits, reference)
    return list(dict.fromkeys(found))


def _run(result: Result, rules: RuleSet) -> Iterator[Judged]:
    """The run itself: its end, its preset, the GPUs, the machine's severe warnings, failed rows."""
    asked, run = rules.run, result.run
    yield _of_run("complete", "the run is complete", "" if run.complete else str(run.why_incomplete))
    failed = [row.name for row in result.rows if row.status == "failed"]
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    yield _of_run("no_failed_row", "no row of the run failed", f"{failed[0]}{more}" if failed else "")
    if asked.preset:
        wrong = [f"the preset is {run.preset}"] * (run.preset != asked.preset)
        wrong += [f"only part of it was run (filter {run.filter!r})"] * bool(run.filter)
        yield _of_run("preset", f"the run is all of the preset {asked.preset}", ", ".join(wrong))
    if asked.gpus is not None:
        there = len(result.environment.gpu_names)
        wrong = "" if there == asked.gpus else f"there are {there}"
        yield _of_run("gpus", f"the machine has {asked.gpus} GPUs", wrong)
    if asked.severe_warnings:
        severe = [one.finding for one in concerns(result) if one.severity == "severe"]
        yield _of_run("severe_warnings", "the machine report has no severe warning", "; ".join(severe))


def _of_run(name: str, text: str, wrong: str) -> Judged:
    return Judged(f"run.{name}", text, "run", FAILED if wrong else PASSED, wrong)


def _rule(result: Result, rule: Rule, visits: int | None, reference: Result | None) -> list[Judged]:
    gpus = len(result.environment.gpu_names)
    if gpus < rule.needs_gpus:
        why = f"for machines with {rule.needs_gpus} GPUs or more; this one has {gpus}"
        return [_judged(rule, "", NOT_APPLICABLE, why)]
    return _of_links(result, rule) if rule.link else _of_rows(result, rule, visits, reference)


def _of_links(result: Result, rule: Rule) -> list[Judged]:
    links = _nearest([link for link in result.links if link.direction == rule.link])
    found = []
    for link in links:
        value = _link_value(link, rule)
        wrong = "the run does not tell" if value is None else rule.limits.broken_by(value)
        found.append(_decided(rule, _link_name(link), [Measurement(1, value, wrong)]))
    return found + _missing_gpus(
        result, rule, {link.gpu for link in links}, f"no link {rule.link} was measured"
    )


def _nearest(links: list[Link]) -> list[Link]:
    """Of the links of a GPU to several nodes' memory the fastest: a node farther away is slower by design."""
    best: dict[tuple, Link] = {}
    for link in links:
        pair = (link.gpu, link.peer)
        if pair not in best or link.peak_gb_s > best[pair].peak_gb_s:
            best[pair] = link
    return list(best.values())


def _link_value(link: Link, rule: Rule) -> float | None:
    if rule.relative_to == THEORETICAL:
        return link.peak_gb_s / link.theoretical_gb_s if link.theoretical_gb_s else None
    return getattr(link, rule.metric)


def _link_name(link: Link) -> str:
    return f"link {' to '.join(link.ends)}"


def _of_rows(result: Result, rule: Rule, visits: int | None, reference: Result | None) -> list[Judged]:
    measured = [row for row in result.rows if row.label == "measured"]
    rows = [row for row in measured if rule.where.matches(row.case)]
    if not rows:
        why = selecting.why_none(rule.where, [row.case for row in measured])
        return [_judged(rule, "", MISSING, why)]
    expected = _Reference(reference, rule) if rule.relative_to == REFERENCE else None
    found = [_case(result, rule, row, visits, expected) for row in rows]
    gpus = {row.case.site["gpu"] for row in rows if "gpu" in row.case.site}
    return found + (_missing_gpus(result, rule, gpus, "no such row") if gpus else [])


def _missing_gpus(result: Result, rule: Rule, there: set[int], why: str) -> list[Judged]:
    everyone = range(len(result.environment.gpu_names)) if rule.every_gpu else ()
    missing = [gpu for gpu in everyone if gpu not in there]
    if not there and not missing:
        return [_judged(rule, "", MISSING, why)]
    return [_judged(rule, f"GPU {gpu}", MISSING, f"{why} of GPU {gpu}") for gpu in missing]


class _Reference:
    """The same questions in the reference: the median over its sites."""

    def __init__(self, result: Result | None, rule: Rule) -> None:
        self.rule = rule
        self.found: Mapping[tuple, list[float]] = defaultdict(list)
        for row in result.rows if result else ():
            if row.ok and row.label == "measured" and rule.where.matches(row.case):
                value = metrics.value(row, rule.metric)
                if value is not None:
                    self.found[row.case.without()].append(value)

    def of(self, row: Row) -> float | None:
        values = self.found.get(row.case.without())
        return statistics.median(values) if values else None


def _case(result: Result, rule: Rule, row: Row, visits: int | None, expected: _Reference | None) -> Judged:
    site = spoken_site(sorted(row.case.site.items()))
    what = f"{_axes(row, rule)}{site}"
    measured = [_measurement(result, rule, one, expected) for one in metrics.by_visit(row)]
    if visits and row.ok:
        left = range(len(measured) + 1, visits + 1)
        measured += [Measurement(number, None, "the visit is missing") for number in left]
    return _decided(rule, what, measured)


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
    return Measurement(number, value, why if value is None else rule.limits.broken_by(value))


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
        base = expected.of(row)
        return (value / base if base else None), "the reference has no such row"
    return value, ""


def _of_link(row: Row) -> float | None:
    """The rate over the copy peak, also where `link_fraction` is of what must cross: rows asked for again
    may come from a cache."""
    crossing = row.counters.get("link_gb_s")
    if row.link_fraction is None or not crossing or row.bandwidth_gb_s is None:
        return row.link_fraction
    return row.link_fraction * row.bandwidth_gb_s / crossing


def _decided(rule: Rule, what: str, measured: list[Measurement]) -> Judged:
    """Passed where every measurement is right: one that is not decides, whatever the others are."""
    wrong = [one for one in measured if one.wrong]
    if not wrong:
        return _judged(rule, what, PASSED, "", tuple(measured))
    count = f"{len(wrong)} of {len(measured)} visits: " if len(measured) > 1 else ""
    said = "; ".join(dict.fromkeys(one.wrong for one in wrong))
    status = FAILED if any(one.value is not None for one in measured) else MISSING
    return _judged(rule, what, status, f"{count}{said}", tuple(measured))


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
        rule.limits.text,
        rule.limits.unit.name,
        rule.source,
    )
