"""What limits sound runs suggest, how far their values differ, and how often they would be rejected.

A limit is 97 % of the median of all values (of a time 110 %), or what these leave: the middle value of a
machine that came to the case at least three times in all, or the far end of any run's interval. So every run
keeps it. Allowances are root mean squares of the logarithms of rows' values over the medians of their rules,
rounded up to whole percent: of values of one visit, and of runs of three and more.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median

from grainscope_report import metrics, reader
from grainscope_report.acceptance import judge, rules
from grainscope_report.acceptance.rules import LINK, Allowance, Limits, Rule, RuleSet
from grainscope_report.machine import machine_of
from grainscope_report.model import Result, Row
from grainscope_report.selecting import Where
from grainscope_report.uncertainty import Uncertainty

SEVERAL = 3  # visits of which the middle one is no accident
FASTEST = "pcie5"  # the set of which shares hold for slower links, too
FEWEST = 5  # runs that tell how far runs differ
RATE, TIME, POINTS = 0.97, 1.10, 2
MEASURED = "measured: "


@dataclass(frozen=True)
class Derived:
    """A limit with the values that it follows from."""

    rule: Rule
    limits: Limits
    values: tuple[float, ...]
    runs: int
    machines: int
    why: str

    @property
    def source(self) -> str:
        """What the rule file says of it."""
        unit = self.limits.unit
        low, high = unit.number(min(self.values)), unit.text(max(self.values))
        return (
            f"{MEASURED}{low} to {high} in {len(self.values)} rows of {self.runs} runs of {self.machines} "
            f"machines, in the middle {unit.text(median(self.values))}; the limit is {self.why}"
        )


class Drawn:
    """The values of runs for the rules of one set, each found once for what the set allows."""

    def __init__(self) -> None:
        self._found: dict[tuple, tuple[Result, list[tuple[Rule, float, float, int]]]] = {}

    def of(self, result: Result, asked: RuleSet) -> list[tuple[Rule, float, float, int]]:
        """The values, with half their intervals and their visits."""
        key = id(result), *sorted(asked.allowance.items())
        if key not in self._found:
            # The run is kept, so that no other has its identity.
            self._found[key] = result, judge.values(result, asked)
        return self._found[key][1]


@dataclass(frozen=True)
class Rejected:
    """How many of the runs break the limits that the others suggest, and which rules they break."""

    left_out: int
    broken: Mapping[str, tuple[str, ...]]


Read = Callable[[Path], Result]


def read(asked: RuleSet, root: Path, of: Read = reader.read) -> list[Result]:
    """The runs that a set rests on, with the rows that its rules ask for or that tell of the links."""
    found = (of(root / name) for name in asked.basis.files)
    wanted = [rule.where for rule in asked.rules if rule.where]
    return [replace(one, rows=tuple(_needed(one, wanted))) for one in found]


def _needed(result: Result, wanted: Sequence[Where]) -> Iterator[Row]:
    peaks = {row.name for link in result.links if (row := metrics.peak_row(result, link))}
    for row in result.rows:
        if row.name in peaks or any(where.matches(row.case) for where in wanted):
            yield row


def machines(results: Sequence[Result]) -> list[str]:
    """The machines of these runs, each once."""
    return list(dict.fromkeys(machine_of(result.context.raw) for result in results))


def measured(rule: Rule) -> bool:
    """Whether a rule's limit follows from what was measured; what a link is, it must be."""
    return rule.metric not in ("generation", "width", "nvlinks")


def allowances(asked: RuleSet, results: Sequence[Result], drawn: Drawn | None = None) -> dict[str, Allowance]:
    """What values differ by on the clock of the link, where there are runs enough; else as the set has it."""
    if len(results) < FEWEST:
        return dict(asked.allowance)
    squares: dict[bool, list[float]] = defaultdict(list)
    of_rows = {rule.id for rule in asked.rules if rule.where}
    for name, values in _values(asked, results, drawn).items():
        if name not in of_rows:
            continue
        middle = median(value for _, value, _, _ in values)
        for _, value, _, visits in values:
            squares[visits >= SEVERAL].append(math.log(value / middle) ** 2)
    found = asked.allowance[judge.LINK_CLOCK]
    visit, run = (
        Uncertainty(math.ceil(100 * math.sqrt(fmean(squares[several]))) / 100, math.inf)
        if squares[several]
        else found[several]
        for several in (False, True)
    )
    return {**asked.allowance, judge.LINK_CLOCK: Allowance(visit, run)}


def limits(asked: RuleSet, results: Sequence[Result], drawn: Drawn | None = None) -> dict[str, Derived]:
    """The limits of a set's measured rules by what these runs had."""
    by_id = {rule.id: rule for rule in asked.rules}
    return {name: _limit(by_id[name], values) for name, values in _values(asked, results, drawn).items()}


def derived(asked: RuleSet, results: Sequence[Result], drawn: Drawn | None = None) -> RuleSet:
    """The set with the allowances and limits that these runs suggest."""
    drawn = drawn or Drawn()
    widened = replace(asked, allowance=allowances(asked, results, drawn))
    found = limits(widened, results, drawn)
    new = [replace(rule, limits=found[rule.id].limits) if rule.id in found else rule for rule in asked.rules]
    return replace(widened, rules=tuple(new))


def rejected(
    asked: RuleSet, results: Sequence[Result], by_machine: bool = False, drawn: Drawn | None = None
) -> Rejected:
    """Leaves out each run, or each machine, and holds it against the limits of the others."""
    names = [machine_of(result.context.raw) if by_machine else str(result.path) for result in results]
    drawn = drawn or Drawn()
    broken = {}
    for name in dict.fromkeys(names):
        others = [one for one, of in zip(results, names, strict=True) if of != name]
        left = [one for one, of in zip(results, names, strict=True) if of == name]
        suggested = derived(asked, others, drawn)
        found = [failed for one in left for failed in failures(suggested, one)]
        if found:
            broken[name] = tuple(dict.fromkeys(found))
    return Rejected(len(set(names)), broken)


def failures(asked: RuleSet, result: Result) -> list[str]:
    """The measured rules whose limits a run breaks, whatever it did not measure."""
    ids = {rule.id for rule in asked.rules if measured(rule)}
    judged = judge.judge(result, [asked], None, any_run=True)
    return [
        judgement.rule for judgement in judged if judgement.status == judge.FAILED and judgement.rule in ids
    ]


def sets(root: Path, of: Read = reader.read) -> dict[Path, str]:
    """The shipped sets as they should be, by what the runs that they rest on say."""
    shipped = {name: rules.load(name) for name in rules.shipped()}
    widened, found, counts = {}, {}, {}
    for name, one in shipped.items():
        if one.basis.files:
            results = read(one, root, of)
            widened[name] = allowances(one, results)
            found[name] = limits(replace(one, allowance=widened[name]), results)
            counts[name] = {"runs": len(results), "machines": len(machines(results))}
    return {
        one.path: rewritten(
            one.path.read_text(encoding="utf-8"),
            found[name] if name in found else taken_over(one, found[FASTEST]),
            widened.get(name, widened[FASTEST]),
            counts.get(name, {}),
        )
        for name, one in shipped.items()
    }


def table(root: Path, of: Read = reader.read) -> str:
    """What each set rests on, how much of that it rejects where it was made without, and all that is kept."""
    lines = [
        "| set | runs | machines | rejected of runs | of one visit | of three and more | of machines |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    shipped = [rules.load(name) for name in rules.shipped()]
    for name, one in zip(rules.shipped(), shipped, strict=True):
        runs, of_machines, cells = one.basis.runs, one.basis.machines, [""] * 4
        if one.basis.files:
            results = read(one, root, of)
            runs, of_machines = len(results), len(machines(results))
            drawn = Drawn()
            by_run, by_machine = (rejected(one, results, apart, drawn) for apart in (False, True))
            counts = [*by_visits(results, by_run), (len(by_machine.broken), by_machine.left_out)]
            cells = [_of_many(few, many) if many > 1 else "" for few, many in counts]
        lines.append(f"| `{name}` | {runs} | {of_machines} | {' | '.join(cells)} |")
    lines += [
        "",
        "| set | committed runs | their values | runs rejected | not decided |",
        "|---|--:|--:|--:|--:|",
    ]
    kept = [of(path) for path in committed(root)]
    for name, one in zip(rules.shipped(), shipped, strict=True):
        if one.basis.files:
            lines.append(f"| `{name}` | {' | '.join(map('{:,}'.format, _judged(one, kept)))} |")
    return "\n".join(lines)


def committed(root: Path) -> list[Path]:
    """All results that the repository keeps."""
    folder = root / "results" / "reference"
    return sorted([*folder.rglob("*.json"), *folder.rglob("*.json.gz")])


def _judged(asked: RuleSet, results: Sequence[Result]) -> tuple[int, int, int, int]:
    """Runs with values for a set, these values, and the runs of which one fails, else is not decided."""
    statuses = [
        [one.status for one in judge.judge(result, [asked], None, any_run=True) if one.got]
        for result in results
    ]
    failed = sum(judge.FAILED in each for each in statuses)
    undecided = sum(judge.UNDECIDED in each and judge.FAILED not in each for each in statuses)
    return sum(map(bool, statuses)), sum(map(len, statuses)), failed, undecided


def _of_many(few: int, many: int) -> str:
    """`2 of 32, 6 % (up to 21 %)`: with the end of the exact interval of 95 %."""
    return f"{few} of {many}, {100 * few / many:.0f} % (up to {100 * most_share(few, many):.0f} %)"


def most_share(few: int, many: int) -> float:
    """The share by which so few of many, or fewer, come once in 40 times (Clopper and Pearson)."""
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        chance = sum(math.comb(many, n) * share**n * (1 - share) ** (many - n) for n in range(few + 1))
        low, high = (share, high) if chance > 0.025 else (low, share)
    return low


def by_visits(results: Sequence[Result], found: Rejected) -> list[tuple[int, int]]:
    """How many were rejected and left out: of all runs, of those of one visit, and of several."""
    visits = {str(result.path): result.run.visits for result in results}
    groups = (
        {*visits},
        {path for path, count in visits.items() if count == 1},
        {path for path, count in visits.items() if count >= SEVERAL},
    )
    return [(len(paths & found.broken.keys()), len(paths)) for paths in groups]


def rewritten(
    text: str, found: Mapping[str, Derived], widened: Mapping[str, Allowance], counts: Mapping[str, int]
) -> str:
    """The text of a rule file with these limits, sources, allowances and counts in place of its own."""
    head, *blocks = re.split(r"(?m)^(?=\[\[rule\]\]$)", text)
    for clock, (visit, run) in widened.items():
        said = f"{clock} = {{ visit = {100 * visit.standard:g}, run = {100 * run.standard:g} }}"
        head = re.sub(rf"(?m)^{clock} = .*$", said, head)
    for key, count in counts.items():
        head = re.sub(rf"(?m)^{key} = .*$", f"{key} = {count}", head)
    return head + "".join(_rewritten(block, found) for block in blocks)


def _rewritten(block: str, found: Mapping[str, Derived]) -> str:
    name = re.search(r'(?m)^id = "(.*)"$', block)
    if not name or name[1] not in found:
        return block
    one = found[name[1]]
    for key in ("lower", "target", "upper"):
        value = getattr(one.limits, key)
        if value is not None:
            block = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value / one.limits.unit.scale:.6g}", block)
    kept = one.rule.source.partition(MEASURED)[0]
    source = f"source = {json.dumps(kept + one.source, ensure_ascii=False)}"
    return re.sub(r"(?m)^source = .*$", lambda _: source, block)


def taken_over(asked: RuleSet, found: Mapping[str, Derived]) -> dict[str, Derived]:
    """For links of which no machine is at hand: the shares that a faster link gave, less two points."""
    shares = [rule for rule in asked.rules if rule.relative_to == LINK and rule.id in found]
    return {rule.id: _taken_over(rule, found[rule.id]) for rule in shares}


def _taken_over(rule: Rule, one: Derived) -> Derived:
    lower = _rounded(one.limits.lower / one.limits.unit.scale - POINTS, down=True) * one.limits.unit.scale
    why = f"two points below {one.why}, since these are of a faster link"
    return replace(one, rule=rule, limits=replace(one.limits, lower=lower), why=why)


def _values(
    asked: RuleSet, results: Sequence[Result], drawn: Drawn | None
) -> dict[str, list[tuple[Result, float, float, int]]]:
    drawn = drawn or Drawn()
    found: dict[str, list[tuple[Result, float, float, int]]] = defaultdict(list)
    for result in results:
        for rule, value, half, visits in drawn.of(result, asked):
            if measured(rule):
                found[rule.id].append((result, value, half, visits))
    return found


def _limit(rule: Rule, values: Sequence[tuple[Result, float, float, int]]) -> Derived:
    slower = metrics.better(rule.metric) == metrics.LOWER
    # Seen so that less is worse.
    sign = -1 if slower else 1
    middle = median(value for _, value, _, _ in values)
    candidates = [((TIME if slower else RATE) * middle, f"{100 * (TIME if slower else RATE):.0f} % of that")]
    by_machine: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for result, value, half, visits in values:
        candidates.append(
            (value * math.exp(sign * half), f"the far end of the interval of {result.path.name}")
        )
        by_machine[machine_of(result.context.raw)].append((value, visits))
    for each in by_machine.values():
        if sum(visits for _, visits in each) >= SEVERAL:
            worst = median(value for value, _ in each)
            candidates.append(
                (worst, f"the middle of {len(each)} runs of one machine" if len(each) > 1 else "one run")
            )
    bound, why = min(candidates, key=lambda candidate: sign * candidate[0])
    unit = rule.limits.unit
    bound = _rounded(bound / unit.scale, down=not slower) * unit.scale
    target = _rounded(middle / unit.scale, down=True) * unit.scale
    lower, upper = (None, bound) if slower else (bound, None)
    return Derived(
        rule,
        Limits(unit, lower, upper, target),
        tuple(value for _, value, _, _ in values),
        len({result.path for result, _, _, _ in values}),
        len(by_machine),
        why,
    )


def _rounded(value: float, down: bool) -> float:
    """Three digits."""
    places = 2 - math.floor(math.log10(value))
    # What lies within a rounding error of three digits has these.
    scaled = round(value * 10**places, 6)
    return (math.floor(scaled) if down else math.ceil(scaled)) / 10**places
