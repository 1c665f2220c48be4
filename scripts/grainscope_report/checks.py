"""Whether the numbers of a result agree with each other, by the rules of docs/result-rules.txt.

A load takes the rules for a glance, `validate` and `merge` take all: they work every number out anew.
"""

import ast
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from statistics import fmean, harmonic_mean
from types import CodeType
from typing import Any, NamedTuple

from grainscope_report import families, resources, statistics
from grainscope_report.cases import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, READERS, TO_PEER, WALKS, Ends, ends
from grainscope_report.model import Lane, Link, Row
from grainscope_report.result import Result
from grainscope_report.typed import Problem, Record

ROUNDING = 1e-6  # numbers that follow from others in the file may differ by what printing rounds away
MOST = 2**64 - 1  # the largest number that grainscope writes
KERNELS = (None, "zero_copy_sequential", "zero_copy_random", "kernel_write_random")
SHARED = frozenset(families.having("spread_links"))  # their rows may be a share of one of their links
WAYS = {"to_gpu": HOST_TO_GPU, "to_host": GPU_TO_HOST, "to_peer": TO_PEER, "from_peer": FROM_PEER}
BETWEEN = {"host_gpu": ("to_gpu", "to_host"), "gpu_gpu": ("to_peer", "from_peer")}
TIMES = ("samples_s", "median_s", "ci95_s", "mad_s", "p5_s", "p95_s", "bandwidth_gb_s", "operation_s")
HEADING = re.compile(r"\[(glance )?(\w+)(?: of (.*?))?(?: if (.*))?\]")
WORDS = ("if", "within", "apart")
SAYS = {
    ast.Eq: "is {left}, {words} is {right}",
    ast.LtE: "is {left}, above {words}, which is {right}",
    ast.GtE: "is {left}, below {words}, which is {right}",
}


def at_a_glance(result: Result) -> list[Problem]:
    """The contradictions that show without working anything out anew."""
    return list(_contradictions(result, glance=True))


def problems(result: Result) -> list[Problem]:
    """Everything in which a result contradicts itself."""
    return list(_contradictions(result, glance=False))


def same(one: float, other: float, within: float = ROUNDING, apart: float = 1e-15) -> bool:
    """Whether numbers are equal but for rounding."""
    return math.isclose(one, other, rel_tol=within, abs_tol=apart)


class Rule(NamedTuple):
    """A line of the rules; of a comparison `value` is both sides, and `words` say the right one."""

    field: str
    applies: CodeType
    value: CodeType
    sign: type | None
    words: str
    why: str
    within: float
    apart: float


@cache
def _lines() -> list[str]:
    return re.sub(r"\n +", " ", resources.rules_path().read_text(encoding="utf-8")).splitlines()


@cache
def _rules(glance: bool, each: str, family: str) -> list[Rule]:
    """The rules of rows of a family, or of what each of them holds."""
    found, mine, condition = [], False, ""
    for line in _lines():
        if heading := HEADING.fullmatch(line):
            early, what, families, condition = heading.groups(default="")
            named = any(
                family.startswith(one) if one[-1] == "/" else family == one for one in families.split()
            )
            mine = what == each and (named or not families) and bool(early or not glance)
        elif mine and line and line[0] != "#":
            found.append(_rule(line, condition))
    return found


@cache
def _rule(line: str, condition: str) -> Rule:
    text, *more = line.split(" | ")
    said = {one.split()[0]: one.partition(" ")[2] for one in more if one.split()[0] in WORDS}
    why = [one for one in more if one.split()[0] not in WORDS]
    field, _, rest = text.partition(": ")
    body, sign, words = ast.parse(rest or text, mode="eval").body, None, ""
    if isinstance(body, ast.Compare) and type(body.ops[0]) in SAYS:
        sign, right = type(body.ops[0]), body.comparators[0]
        words = (ast.get_source_segment(rest or text, right) or "").replace(" * ", " × ").replace("axes.", "")
        body = ast.Tuple([body.left, right], ast.Load())
    applies = ast.parse(f"({condition or True}) and ({said.get('if', True)})", mode="eval").body
    within = said.get("within", ROUNDING if sign is ast.Eq else 0)
    amounts = (float(within), float(said.get("apart", 1e-15)))
    why = why[0] if why else SAYS[sign]
    return Rule(field.split()[0], _compiled(applies), _compiled(body), sign, words, why, *amounts)


class _Keys(ast.NodeTransformer):
    """Makes every attribute one that may be a key."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(ast.Name("at", ast.Load()), [node.value, ast.Constant(node.attr)], [])


def _at(thing: Any, name: str) -> Any:
    """An attribute or a key; one that is not there is a LookupError."""
    value = thing[name] if isinstance(thing, dict) else getattr(thing, name)
    if value is None:
        raise LookupError(name)
    return value


def _compiled(body: ast.expr) -> CodeType:
    return compile(ast.fix_missing_locations(ast.Expression(_Keys().visit(body))), "a rule", "eval")


def _agree(left: Any, right: Any, rule: Rule) -> bool:
    if isinstance(left, tuple):
        return len(left) == len(right) and all(_agree(*pair, rule) for pair in zip(left, right, strict=True))
    if rule.sign is not ast.Eq:
        return (left - right if rule.sign is ast.LtE else right - left) <= rule.within * abs(right)
    exact = isinstance(left, str) or not rule.within
    return left == right if exact else same(left, right, rule.within, rule.apart)


def _broken(rules: Sequence[Rule], path: str, names: Mapping[str, Any]) -> Iterator[Problem]:
    for rule in rules:
        try:
            if not eval(rule.applies, FUNCTIONS, names):
                continue
            value = eval(rule.value, FUNCTIONS, names)
            left, right = value if rule.sign else (value, None)
            if _agree(left, right, rule) if rule.sign else value:
                continue
            left, right = (list(side) if isinstance(side, tuple) else side for side in (left, right))
            said = rule.why.format_map({**names, "left": left, "right": right, "words": rule.words})
        except (LookupError, NameError):
            continue
        except (ArithmeticError, TypeError, ValueError) as error:
            said = f"follows from numbers with which nothing can be reckoned ({error})"
        yield Problem(f"{path}.{rule.field}", said)


def _contradictions(result: Result, glance: bool) -> Iterator[Problem]:
    links = {link.ends: link for link in result.links}
    counts = Counter(row.status for row in result.rows)
    yield from _broken(_rules(glance, "result", ""), "$", {"rows": result.rows, "links": result.links})
    yield from _broken(_rules(glance, "run", ""), "$.context.run", _names(result.run, rows=counts))
    for index, link in enumerate(result.links):
        yield from _broken(_rules(glance, "link", ""), f"$.context.links[{index}]", _names(link))
    for index, row in enumerate(result.rows):
        path, names = f"$.benchmarks[{index}]", _of_row(row, links)
        yield from _broken(_rules(glance, "row", row.case.family), path, names)
        for each in ("traffic", "counted", "lanes", "trials"):
            parts, rules = getattr(row, each), _rules(glance, each, row.case.family)
            for at, part in (
                enumerate(parts if isinstance(parts, tuple) else [parts]) if parts and rules else ()
            ):
                where = f"{path}.{each}[{at}]" if isinstance(parts, tuple) else f"{path}.{each}"
                yield from _broken(rules, where, _names(part, row=names, links=links, index=at))


def _names(record: Record, **more: Any) -> dict[str, Any]:
    """What the rules of a record may use: the fields that it has, and what is made of them."""
    names = {name: value for name, value in (vars(record) | more).items() if value is not None}
    return names | {"self": record, "has": lambda *wanted: names.keys() >= {*wanted}}


def _of_row(row: Row, links: Mapping[Ends, Link]) -> dict[str, Any]:
    axes = row.case.axes
    more = {"ok": row.ok, "links": links, "axes": axes, "site": row.case.site, "store": axes.get("store")}
    more["crossed"] = row.bytes if row.link_bytes is None else row.link_bytes
    more["times"] = [name for name in TIMES if row.status == "skipped" and name in vars(row)]
    more["measured"] = [lane for lane in row.lanes if not lane.background]
    more["lane"] = {lane.name: lane for lane in row.lanes}
    more["alone"] = [lane.alone_s for lane in row.lanes if lane.alone_s]
    return _names(row, pairs=_pairs(row), **more)


def _pairs(row: Row) -> list[Ends]:
    """The links that the measured lanes cross, each once."""
    lanes = [lane for lane in row.lanes if lane.bytes and not lane.background]
    return list(dict.fromkeys((lane.source, lane.target) for lane in lanes if lane.source != lane.target))


def _rates(row: Row) -> list[float]:
    """The rates of which the share may be given: that over the link, too, where a family counts it."""
    counts = row.case.family.startswith(WALKS) or row.case.family in READERS
    both = (row.counters.get("link_gb_s") if counts else None, row.bandwidth_gb_s)
    return [rate for rate in both if rate is not None]


def shares(row: Row, links: Mapping[Ends, Link]) -> list[float]:
    """What a row may be of copy peaks: of all links of its lanes together, or of its own link."""
    crossed, case = _pairs(row), row.case
    peaks = [sum(links[pair].peak_gb_s for pair in crossed)] if crossed and links.keys() >= {*crossed} else []
    for pair, link in links.items() if not crossed or case.family in SHARED else ():
        alike = all(case.site.get(end) == getattr(link, end) for end in ("gpu", "numa", "peer"))
        peaks += [link.peak_gb_s] * (pair == case.ends if case.direction else alike)
    return [rate / peak for rate in _rates(row) for peak in peaks]


def _share(row: Row, links: Mapping[Ends, Link]) -> float:
    """The share that a row gives, where it is one that it may give, else the first that it may."""
    found = shares(row, links)
    return next((one for one in found if same(one, row.link_fraction)), found[0])


def _twice(keys: Sequence[Any]) -> str:
    """The first key that is there twice, and where."""
    key = next((key for key, count in Counter(keys).items() if count > 1), None)
    return (
        ""
        if key is None
        else f"{key}, first [{keys.index(key)}] and again [{keys.index(key, keys.index(key) + 1)}]"
    )


def _odd_axes(axes: Mapping[str, Any]) -> str:
    odd = [name for name, value in axes.items() if not isinstance(value, str) and not 0 <= value <= MOST]
    return ", ".join(f"{name} of {axes[name]:g}" for name in odd)


def _odd_hits(counters: Mapping[str, float], curve: Sequence[tuple[float, float]], optimal: bool) -> str:
    """What is wrong with the shares of accesses of a ranking, by percent of the rows and as a curve."""
    at = {round(100 * rows, 9): accesses for rows, accesses in curve}
    odd, before = [], 0.0
    for percent in sorted(int(name[9:]) for name in counters if re.fullmatch(r"hit_rate_\d+", name)):
        rate, best = counters[f"hit_rate_{percent}"], counters.get(f"of_optimal_{percent}", 1.0)
        odd += [f"hit_rate_{percent} of {rate}, more than all accesses"] * (rate > 1 + ROUNDING)
        there = at.get(percent, rate)
        odd += [f"hit_rate_{percent} of {rate}, hit_curve has {there}"] * (not same(rate, there))
        odd += [f"hit_rate_{percent} of {rate}, less than of fewer rows"] * (rate < before * (1 - ROUNDING))
        odd += [f"of_optimal_{percent} of {best}, better than the optimal order"] * (best > 1 + ROUNDING)
        odd += [f"of_optimal_{percent} of {best} in the optimal order"] * (optimal and best < 1 - ROUNDING)
        before = rate
    return "; ".join(odd)


def _asked(row: Row) -> float | None:
    """Bytes asked for of the host, where traffic is of those: of a table partly in GPU memory not all are."""
    per_row = row.counters.get("requests_per_row")
    if row.trials or row.case.axes.get("store") not in ("tiered", "multi_gpu") or not per_row:
        return None if row.trials else row.bytes
    return ((row.traffic and row.traffic.requests) or 0) / per_row * row.case.axes["row"]


def _saved(time_s: float, *stages: float) -> float:
    """What a pipeline saves of what it could save of its stages one after another."""
    return (sum(stages) - time_s) / _at({True: sum(stages) - max(stages)}, sum(stages) > max(stages))


def _mean_time(row: Row) -> float:
    times = [statistics.median(trial.samples_s) for trial in row.trials]
    return fmean(times or row.samples_s or [row.median_s])


def _span(timed: Row | Lane) -> tuple[float, float]:
    return timed.ci95_s or (timed.median_s, timed.median_s)


FUNCTIONS: dict[str, Any] = {
    "__builtins__": {one.__name__: one for one in (len, max, min, range, sum, tuple)},  # `bytes` is a field
    "WAYS": WAYS, "MOST": MOST, "at": _at, "get": dict.get, "ends": ends, "harmonic_mean": harmonic_mean,
    "shares": shares, "share": _share, "has_rate": _rates, "twice": _twice, "odd_axes": _odd_axes,
    "odd_hits": _odd_hits, "asked": _asked, "saved": _saved, "mean_time": _mean_time, "span": _span,
    "median": statistics.median, "mad": statistics.mad, "median_interval": statistics.median_interval,
    "percentile": statistics.percentile, "is_place": re.compile(r"(host|gpu):\d+").fullmatch,
    "contains": lambda ends, value: ends[0] * (1 - ROUNDING) <= value <= ends[1] * (1 + ROUNDING),
    "limits": lambda pairs, links: [_at(links[pair], "theoretical_gb_s") for pair in pairs],
    "differ": lambda found: len(set(found)) == len(found),
    "total": lambda sizes: sum(sizes.values()),
    "carried": lambda sizes: sum(size * count for size, count in sizes.items()),
    "absent": lambda between, lanes: ", ".join(way for way in BETWEEN.get(between, ()) if way not in lanes),
    "slower_alone": lambda lanes: any(lane.alone_s > _span(lane)[1] for lane in lanes if lane.alone_s),
    # Kernels reach over the link in requests of a cache line; everything else asks for a whole piece.
    "request": lambda axes: min(axes["grain"], 128 if axes.get("method") in KERNELS else math.inf),
    "rises": lambda curve: all(
        two[0] > one[0] and two[1] >= one[1] * (1 - ROUNDING) for one, two in itertools.pairwise(curve)
    ),
}  # fmt: skip
