"""From a result file to data: what is off the format is refused, what contradicts itself is noted.

Numbers must agree by the rules of docs/result-rules.txt: a load takes those for a glance, `validate` all.
"""

import ast
import builtins
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean, harmonic_mean
from types import CodeType
from typing import Any, NamedTuple

from grainscope_report import families, machine, resources, typed, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.loading import load, nothing_collected, quoted
from grainscope_report.model import SCHEMA_VERSION, Ends, File, Link, Result, Row, ends
from grainscope_report.statistics import mad, median, median_interval, percentile
from grainscope_report.typed import Problem
from grainscope_report.uncertainty import middle_visit
from grainscope_report.units import plural

ROUNDING = 1e-6  # numbers that follow from others in the file may differ by what printing rounds away
PARTS = ("visits", "traffic", "counted", "lanes", "trials", "timeline")  # what rules are of within a row
HEADING = re.compile(r"\[(glance )?(\w+)(?: of (.*?))?(?: if (.*))?\]")
WORD = re.compile(r"(\w+)(?:\((.*?)\))? = (.*)")
# `bytes` is a field
BUILTINS = "abs all any enumerate int isinstance len max min range round set sorted str sum tuple"
SAYS = {
    ast.Eq: "is {left}, {words} is {right}",
    ast.LtE: "is {left}, above {words}, which is {right}",
    ast.GtE: "is {left}, below {words}, which is {right}",
}


def read(path: str | Path) -> Result:
    """Reads a result file, or the one in a run directory."""
    with nothing_collected():
        return parse(*load(path))


def parse(found: Path, document: Mapping[str, Any]) -> Result:
    """Makes what `load` gave into data, with what a glance at it shows to be contradictory."""
    result, problems = parsed(found, document)
    if result is None:
        raise ReportError(_sentence(found, "does not follow the result format", problems))
    return replace(result, contradictions=contradictions(result, glance=True))


def contradicts(result: Result) -> str:
    """The sentence on a result whose numbers contradict each other."""
    return _sentence(result.path, "contradicts itself", result.contradictions)


def _sentence(path: Path, what: str, problems: Sequence[Problem]) -> str:
    count, file = plural(len(problems), "problem"), quoted(path)
    return f"{path} {what} ({count}, first {problems[0]}): see all with `grainscope-report validate {file}`"


def problems(found: Path, document: Mapping[str, Any]) -> list[Problem]:
    """Everything in which a file is off the format, or where nothing is, contradicts itself."""
    result, off = parsed(found, document)
    return off if result is None else contradictions(result) or uncertainty.problems(result)


def parsed(found: Path, document: Mapping[str, Any]) -> tuple[Result | None, list[Problem]]:
    """The data, or everything in which the file is off the format."""
    file, off = typed.read(File, document)
    return (None, off) if off else (Result(found, file.context, file.benchmarks), [])


class Rule(NamedTuple):
    """A line of the rules: the pairs that it compares, or what must be true; `words` say the right side."""

    field: str
    pairs: CodeType
    sign: type | None
    words: str
    why: str
    within: float
    apart: float


class Names(dict):
    """Names and what they mean, which may be said as attributes, too."""

    __getattr__ = dict.__getitem__


def contradictions(result: Result, glance: bool = False) -> list[Problem]:
    """Everything in which a result contradicts itself, or what shows at a glance."""
    found = ((_rules(glance, what, family), *rest) for what, family, *rest in parts(result, glance))
    return [problem for rules, path, names in found for problem in _broken(rules, path, names)]


def same(one: float, other: float, within: float = ROUNDING, apart: float = 1e-15) -> bool:
    """Whether numbers are equal but for rounding."""
    return math.isclose(one, other, rel_tol=within, abs_tol=apart)


@cache
def _lines() -> list[str]:
    return re.sub(r"\n +", " ", resources.rules_path().read_text(encoding="utf-8")).splitlines()


@cache
def _rules(glance: bool, what: str, family: str) -> list[Rule]:
    """The rules of rows of a family, or of what each of them holds."""
    found, mine, condition = [], False, ""
    for line in _lines():
        if line[:1] == "[":
            early, each, families, condition = HEADING.fullmatch(line).groups(default="")
            mine = what == each and _is_of(family, families) and bool(early or not glance)
        elif mine and line and line[0] != "#":
            found.append(_rule(line, condition or "True"))
    return found


def _is_of(family: str, families: str) -> bool:
    """Whether it is one of these families or begins as one that ends in a slash; always where none is."""
    said = families.split()
    return not said or any(family == one or (one[-1] == "/" and family.startswith(one)) for one in said)


@cache
def _rule(line: str, condition: str) -> Rule:
    text, *more = line.split(" | ")
    said = {"if": "True", "apart": 1e-15}
    for one in more:
        word, _, rest = one.partition(" ")
        said |= {word: rest} if word in ("if", "for", "within", "apart") else {"why": one}
    field, _, test = text.partition(": ")
    body, sign, words = ast.parse(test or text, mode="eval").body, None, "None"
    left = test or text
    if isinstance(body, ast.Compare) and type(body.ops[0]) in SAYS:
        sign, words = type(body.ops[0]), ast.get_source_segment(left, body.comparators[0]) or ""
        left = ast.unparse(body.left)
    each = said.get("for")
    loops = ast.parse(f"[0 for {each}]", mode="eval").body.generators if each else ()
    targets = [one.id for loop in loops for one in ast.walk(loop.target) if isinstance(one, ast.Name)]
    names = ", ".join(f"{name!r}: {name}" for name in targets)
    sides, applies = f"[({left}, {words}, {{{names}}})", f"if ({condition}) and ({said['if']})"
    code = f"{sides} for {each} {applies}]" if each else f"{sides}] {applies} else ()"
    words = words.replace(" * ", " × ").replace("axes.", "")
    within = float(said.get("within", ROUNDING if sign is ast.Eq else 0))
    why = said.get("why") or SAYS[sign]
    return Rule(field.split()[0], compile(code, line, "eval"), sign, words, why, within, float(said["apart"]))


@cache
def words() -> dict[str, Any]:
    """What rules may say beside fields: a few functions, and what their file defines."""
    found: dict[str, Any] = {"get": dict.get, "limit_by_words": machine.limit_by_words}
    found |= {"ROUNDING": ROUNDING, "__builtins__": {name: vars(builtins)[name] for name in BUILTINS.split()}}
    found |= {one.__name__: one for one in (combinations, crossed, ends, harmonic_mean, pairwise, shares)}
    found |= {one.__name__: one for one in (fmean, mad, median, median_interval, middle_visit, percentile)}
    for name, arguments, means in (word.groups() for word in map(WORD.fullmatch, _lines()) if word):
        found[name] = eval(means if arguments is None else f"lambda {arguments}: {means}", found)
    # Looked for last, since it takes long to give all of them to each part of a result.
    found["__builtins__"] |= {name: one for name, one in found.items() if name != "__builtins__"}
    return found


def _agree(left: Any, right: Any, rule: Rule) -> bool:
    if isinstance(left, tuple):
        return len(left) == len(right) and all(_agree(*pair, rule) for pair in zip(left, right, strict=True))
    if rule.sign is not ast.Eq:
        return (left - right if rule.sign is ast.LtE else right - left) <= rule.within * abs(right)
    exact = isinstance(left, str) or not rule.within
    return left == right if exact else same(left, right, rule.within, rule.apart)


def _broken(rules: Sequence[Rule], path: str, names: dict[str, Any]) -> Iterator[Problem]:
    for rule in rules:
        try:
            for left, right, more in eval(rule.pairs, names):
                if not (_agree(left, right, rule) if rule.sign else left):
                    sides = {"left": left, "right": right, "words": rule.words}
                    shown = {of: list(one) if isinstance(one, tuple) else one for of, one in sides.items()}
                    yield Problem(f"{path}.{rule.field}", rule.why.format_map(words() | names | more | shown))
        except (LookupError, NameError):
            continue
        except (ArithmeticError, TypeError, ValueError) as error:
            said = f"follows from numbers with which nothing can be reckoned ({error})"
            yield Problem(f"{path}.{rule.field}", said)


def parts(result: Result, glance: bool = False) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """All that rules are of: its kind, its family, where it is, and what rules may say of it."""
    links, statuses = {link.ends: link for link in result.links}, [row.status for row in result.rows]
    counts = Names({status: statuses.count(status) for status in vars(result.run.counts)})
    yield "result", "", "$", _names(result, links=result.links)
    yield "run", "", "$.context.run", _names(result.run, rows=counts)
    for at, link in enumerate(result.links):
        yield "link", "", f"$.context.links[{at}]", _names(link)
    for at, row in enumerate(result.rows):
        family, path = row.case.family, f"$.benchmarks[{at}]"
        names = _names(
            row,
            ok=row.ok,
            links=links,
            samples_s=row.samples_s or None,
            within_s=row.within_s,
            time=None if glance else row.time,  # it takes long to make
            axes=Names(row.case.axes),
            counters=Names(row.counters),
            lane=Names({lane.name: lane for lane in row.lanes}),
            measured=[lane for lane in row.lanes if not lane.background],
        )
        yield "row", family, path, names
        for what in PARTS:
            held = (_rules(glance, what, family) and getattr(row, what)) or ()
            several, whole = isinstance(held, tuple), held and Names(names)
            for index, part in enumerate(held if several else [held]):
                where = f"{path}.{what}[{index}]" if several else f"{path}.{what}"
                yield what, family, where, _names(part, row=whole, links=links, index=index)


def _names(thing: Any, **more: Any) -> dict[str, Any]:
    """What the rules of a thing may say: its fields that are there, what is made of them, and all words."""
    there = {name: value for name, value in (vars(thing) | more).items() if value is not None}
    has = {"has": lambda *names: there.keys() >= {*names}}
    return {"__builtins__": words()["__builtins__"], **there, "self": thing, **has}


def crossed(row: Row) -> list[Ends]:
    """The links that the measured lanes of a row cross, each once."""
    lanes = [lane for lane in row.lanes if lane.bytes and not lane.background]
    return list(dict.fromkeys((lane.source, lane.target) for lane in lanes if lane.source != lane.target))


def shares(row: Row, links: Mapping[Ends, Link]) -> list[float]:
    """What a row may be of copy peaks: of all links of its lanes together, or of its own link."""
    pairs, case, known = crossed(row), row.case, families.of(row.case.family)
    peaks = machine.together(pairs, links) if pairs and links.keys() >= {*pairs} else []
    for pair, link in links.items() if not pairs or known.spread_links else ():
        alike = all(case.site.get(end) == getattr(link, end) for end in ("gpu", "numa", "peer"))
        peaks += [link.peak_gb_s] * (pair == case.ends if case.direction else alike)
    # The rate over the link, too, where a family counts it.
    counted = row.counters.get("link_gb_s") if known.reads or known.walks else None
    return [rate / peak for rate in (counted, row.bandwidth_gb_s) if rate is not None for peak in peaks]


if __name__ == "__main__":
    print(typed.schema_text(File, f"GrainScope result file, schema version {SCHEMA_VERSION}"), end="")
