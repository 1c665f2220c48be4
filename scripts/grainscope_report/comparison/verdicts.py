"""Sides joined by question: same, faster, slower, likely or unclear, which machines stand out, and why not.

The ratio of two times is known as well as both logarithms together: variances add, and the degrees of freedom
are those of Welch and Satterthwaite. Faster and slower are claimed at a false discovery rate of ALPHA over
all questions of a pair of sides, same where the whole 95 % interval lies within the threshold. Where it is
not known what runs of a side differ by (type B), the interval is too narrow for any of these.
Sources: Welch, The generalization of Student's problem, Biometrika 34 (1947); Benjamini and Hochberg,
Controlling the false discovery rate, J. R. Statist. Soc. B 57 (1995).

Of many machines, nodes are the unit, each with its median for a question. For each question the node furthest
from the mean of the others is tested, left out, and so on for up to a third of the nodes (generalised extreme
Studentised deviate); the questions share the error by Bonferroni. A few nodes may happen to agree, so one has
to be as far beyond what its own time is known to differ by from run to run, where that is known.
Source: Rosner, Percentage points for a generalized ESD many-outlier procedure, Technometrics 25 (1983).
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from grainscope_report import naming, statistics, uncertainty
from grainscope_report.comparison import sides as sides_of
from grainscope_report.comparison.sides import MEASURED, Answer, Answers, Question, Side
from grainscope_report.errors import NotComparableError
from grainscope_report.loading import quoted
from grainscope_report.machine import LONGEST_FILTER, Difference, differences
from grainscope_report.uncertainty import Uncertainty, student_above
from grainscope_report.units import cut, plural

ALPHA = 0.05
LIKELY = 0.9  # a probability above it is worth a word
SAME, FASTER, SLOWER, UNCLEAR = "same", "faster", "slower", "unclear"
LIKELY_FASTER, LIKELY_SLOWER = "likely faster", "likely slower"
CERTAIN = (FASTER, SLOWER, SAME)
LIKELIES = (LIKELY_FASTER, LIKELY_SLOWER)
ALL = (*CERTAIN, *LIKELIES, UNCLEAR)
MOST_VISITS = 99  # nobody comes to a case more often
MOST_RUNS = 999  # nor takes more runs
TYPE_B_UNKNOWN = "type B unknown: what runs of this machine differ by"
NO_TYPE_A = "one visit, and nothing tells what visits differ by"
CROSSES = "the interval reaches over 1 and over the threshold"
A_SITE = "the middle one of its sites is not slower, but one is"
AMONG_MANY = "not certain among so many questions"
_LARGEST = 709.0  # of which there is an exponential

Pair = tuple[Answer, Answer]
Factors = tuple[float, float]  # of both sides of a pair
ALIKE = (1.0, 1.0)
FEWEST_NODES = 5
Nodes = Mapping[str, Mapping[Question, Sequence[Answer]]]
FAILED, MISSING, NOT_COMPARABLE, NEW_ONLY = "failed", "missing", "not comparable", "new"
Shared = tuple[Question, Answer, Answer]


@dataclass(frozen=True)
class Verdict:
    """What may be said of a question; `ratio` is the new side's time over the base's.

    `probability` is that of a change to the side on which the ratio lies, `p` that of a ratio so far from 1
    by chance, after Benjamini and Hochberg. `why` says what an unclear or likely row lacks. `behind` is how
    much farther than in the base the slowest of several sites fell behind the middle one, as a logarithm; 0
    where that may be chance. `site_slower`: it is slower than in the base, and the row does not say so.
    """

    verdict: str
    ratio: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    probability: float | None = None
    why: str = ""
    behind: float = 0.0
    site_slower: bool = False


@dataclass(frozen=True)
class Power:
    """What a pair of sides could have shown of the questions on one clock; medians over these.

    `shows` is the change, as a share of the time, that takes the interval beyond 1, `alone` the one that is
    certain though nothing else changes. `visits` a run, or `runs` a side, would show the threshold; None
    where no number of them would. All are lower bounds where type B is not `known`.
    """

    clock: str
    questions: int
    known: bool
    shows: float
    alone: float
    visits: int | None
    runs: int | None


def verdicts(pairs: Sequence[Pair], threshold: float) -> list[Verdict]:
    """The verdict on each pair of the base's and the new answer; `threshold` is a share of the time."""
    spreads = [_spread(pair) for pair in pairs]
    chances = [
        _p(_apart(pair), spread) if spread else 1.0 for pair, spread in zip(pairs, spreads, strict=True)
    ]
    # What is the same within the threshold is no discovery: as one it would lend its chance to others.
    tested = {
        at: 1.0 if _within(pair, spread, threshold) else chances[at]
        for at, (pair, spread) in enumerate(zip(pairs, spreads, strict=True))
        if known(pair)
    }
    adjusted = dict(zip(tested, benjamini_hochberg(list(tested.values())), strict=True))
    given = [
        _verdict(pair, spread, chance, adjusted.get(at), threshold)
        for at, (pair, spread, chance) in enumerate(zip(pairs, spreads, chances, strict=True))
    ]
    lone = ALPHA / max(1, sum(map(_several_sites, pairs)))
    return [
        told if spread is None else _of_sites(told, pair, spread, lone, threshold)
        for told, pair, spread in zip(given, pairs, spreads, strict=True)
    ]


def known(pair: Pair) -> bool:
    """Whether of both sides both uncertainties are known."""
    return all(side.a and side.b for side in pair)


def _verdict(
    pair: Pair, spread: Uncertainty | None, chance: float, p: float | None, threshold: float
) -> Verdict:
    apart = _apart(pair)
    if spread is None:
        return Verdict(UNCLEAR, math.exp(apart), why=NO_TYPE_A)
    half = uncertainty.expanded(spread)
    ends = (math.exp(min(end, _LARGEST)) for end in (apart, apart - half, apart + half))
    slower = apart > 0
    said, why = UNCLEAR, CROSSES
    if p is not None and _within(pair, spread, threshold):
        said, why = SAME, ""
    elif p is not None and p <= ALPHA:
        said, why = (SLOWER if slower else FASTER), ""
    elif 1 - chance / 2 > LIKELY:
        said, why = (LIKELY_SLOWER if slower else LIKELY_FASTER), AMONG_MANY if chance <= ALPHA else CROSSES
    return Verdict(said, *ends, p, 1 - chance / 2, TYPE_B_UNKNOWN if p is None else why)


def _within(pair: Pair, spread: Uncertainty, threshold: float) -> bool:
    return abs(_apart(pair)) + uncertainty.expanded(spread) <= math.log1p(threshold)


def _several_sites(pair: Pair) -> bool:
    """Whether both sides have as many sites, and more than one."""
    base, new = pair
    return base.sites == new.sites > 1


def _of_sites(told: Verdict, pair: Pair, spread: Uncertainty, lone: float, threshold: float) -> Verdict:
    """The verdict, with `behind` where the slowest of the new side's sites lies farther from the middle one
    than the base's does; no better than unclear where it is slower than in the base, too.

    The interval alone bounds what is to be the same. Of all others, `lone` is the chance of each.
    """
    base, new = pair
    far = new.worst - base.worst
    same = told.verdict == SAME
    half = uncertainty.expanded(spread)
    beyond = half if same else uncertainty.student_quantile(1 - lone / 2, spread.freedom) * spread.standard
    if not _several_sites(pair) or far <= beyond + math.log1p(threshold):
        return told
    told = replace(told, behind=far)
    if told.verdict in (SLOWER, LIKELY_SLOWER) or _apart(pair) + far <= half:
        return told
    return replace(told, verdict=UNCLEAR, why=A_SITE if known(pair) else told.why, site_slower=True)


def _apart(pair: Pair) -> float:
    base, new = pair
    return math.log(new.seconds / base.seconds)


def _spread(pair: Pair, a: Factors = ALIKE, b: Factors = ALIKE) -> Uncertainty | None:
    """What is known of the logarithm of the ratio, were both types of both sides so many times as large.

    None where a side tells nothing.
    """
    base, new = pair
    if not (base.a and new.a):
        return None
    both = uncertainty.combined(_times(base.a, a[0]), _times(new.a, a[1]))
    if parts := [_times(side.b, factor) for side, factor in zip(pair, b, strict=True) if side.b]:
        # Both come from one table, so that two of them are found with no more degrees of freedom than one.
        known = Uncertainty(
            math.hypot(*(part.standard for part in parts)), min(part.freedom for part in parts)
        )
        both = uncertainty.combined(both, known)
        if None not in (base.shared, new.shared) and base.shared != new.shared:
            hosts = uncertainty.between_hosts(base.clock, abs(base.shared - new.shared))
            both = uncertainty.combined(both, hosts)
    return both


def _times(part: Uncertainty, factor: float) -> Uncertainty:
    return Uncertainty(part.standard * factor, part.freedom)


def _p(apart: float, spread: Uncertainty) -> float:
    """The chance, to both sides, of a ratio so far from 1."""
    if not spread.standard:
        return 1.0 if apart == 0 else 0.0
    return min(1.0, 2 * uncertainty.student_above(abs(apart) / spread.standard, spread.freedom))


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Each p, in their order, as the false discovery rate at which it is claimed among all of them."""
    order = sorted(range(len(p)), key=p.__getitem__, reverse=True)
    stepped = (p[at] * len(p) / (len(p) - rank) for rank, at in enumerate(order))
    adjusted = dict(zip(order, itertools.accumulate(stepped, min), strict=True))
    return [min(1.0, adjusted[at]) for at in range(len(p))]


def by_chance(pairs: Sequence[Pair], threshold: float) -> float:
    """How many pairs would look likely faster or slower where nothing differs, to both sides together.

    One does where the ratio is beyond what LIKELY needs, and too far from 1 to be the same.
    """
    goal, found = math.log1p(threshold), 0.0
    for spread in filter(None, map(_spread, pairs)):
        if spread.standard:
            room = (goal - uncertainty.expanded(spread)) / spread.standard
            found += 2 * min(1 - LIKELY, student_above(room, spread.freedom) if room > 0 else 1)
    return found


def power(pairs: Sequence[Pair], threshold: float) -> list[Power]:
    """What the pairs could have shown, and what the threshold needs, by clock."""
    by_clock: dict[str, list[tuple[Pair, Uncertainty]]] = defaultdict(list)
    for pair in pairs:
        if spread := _spread(pair):
            by_clock[pair[0].clock].append((pair, spread))
    tests = sum(map(len, by_clock.values()))
    return [_power(clock, by_clock[clock], tests, threshold) for clock in sorted(by_clock)]


def _power(clock: str, found: Sequence[tuple[Pair, Uncertainty]], tests: int, threshold: float) -> Power:
    halves = [uncertainty.expanded(spread) for _, spread in found]
    lone = [
        uncertainty.student_quantile(1 - ALPHA / 2 / tests, spread.freedom) * spread.standard
        for _, spread in found
    ]
    goal = math.log1p(threshold)
    return Power(
        clock,
        len(found),
        all(known(pair) for pair, _ in found),
        *(math.expm1(min(statistics.median(each), _LARGEST)) for each in (halves, lone)),
        _fewest([partial(_with_visits, pair) for pair, _ in found], range(1, MOST_VISITS + 1, 2), goal),
        _fewest([partial(_with_runs, pair) for pair, _ in found], range(1, MOST_RUNS + 1), goal),
    )


def _fewest(spreads: Sequence[Callable[[int], Uncertainty]], counts: range, goal: float) -> int | None:
    """The least of these counts with which more than half of the intervals are as narrow as wanted."""
    low, high, enough, open_ = 0, len(counts), len(spreads) // 2 + 1, spreads
    while low < high:
        # Mostly few are enough, or none: the last is tried first, then those from the beginning.
        at = high - 1 if high == len(counts) else min((low + high) // 2, 2 * low)
        narrow, wide = [], []
        for spread in open_:
            (narrow if uncertainty.expanded(spread(counts[at])) <= goal else wide).append(spread)
        # More make every interval narrower: those that one count decides need not be looked at again.
        if len(narrow) >= enough:
            high, open_ = at, narrow
        else:
            low, enough, open_ = at + 1, enough - len(narrow), wide
    return counts[low] if low < len(counts) else None


def _with_visits(pair: Pair, count: int) -> Uncertainty:
    """The pair's spread if each of its runs came to the case so often."""
    then = uncertainty.middle_share(count)
    base, new = (
        math.sqrt(then / uncertainty.middle_share(round(len(side.visits) / side.runs))) for side in pair
    )
    return _spread(pair, a=(base, new))


def _with_runs(pair: Pair, count: int) -> Uncertainty:
    """The pair's spread if each side had so many runs, on the hosts that it has."""
    base, new = (math.sqrt(side.runs / count) for side in pair)
    return _spread(pair, a=(base, new), b=(base, new))


@dataclass(frozen=True)
class Outlier:
    """A node that stands out in a family: in how many of its questions, its median and worst time ratio to
    the other nodes, and the question where that is.
    """

    node: str
    family: str
    slower: bool
    rows: int
    of: int
    ratio: float
    worst: float
    question: str


def by_node(sides: Sequence[tuple[str, Answers]]) -> dict[str, dict[Question, list[Answer]]]:
    """The answers of each node, runs of one node together: a node that ran twice is one node."""
    found: dict[str, dict[Question, list[Answer]]] = {}
    for node, answers in sides:
        there = found.setdefault(node, defaultdict(list))
        for question, answer in answers.items():
            if answer.visits and question.label == MEASURED:
                there[question].append(answer)
    return found


def find_outliers(nodes: Nodes, threshold: float) -> list[Outlier]:
    """The nodes that stand out by more than `threshold`, the worst first; none among fewer than five."""
    asked = list(dict.fromkeys(question for node in nodes.values() for question in node))
    logs = {question: _logs(question, nodes) for question in asked}
    logs = {question: there for question, there in logs.items() if len(there) >= FEWEST_NODES}
    steps = max(1, (len(nodes) - 1) // 3)
    apart = {
        question: {node: far for node, far in out.items() if abs(far) > math.log1p(threshold)}
        for question, there in logs.items()
        if (out := _standing_out(there, ALPHA / (len(logs) * steps), partial(_known_of, nodes, question)))
    }
    found = [outlier for name in nodes for outlier in _of_node(name, logs, apart, nodes)]
    return sorted(found, key=lambda one: (not one.slower, -one.rows, one.node, one.family))


def _logs(question: Question, nodes: Nodes) -> dict[str, float]:
    """The logarithms of the times of the nodes that have any, of the kind of work that most of them did."""
    every = [answer for node in nodes.values() for answer in node.get(question, ())]
    counts = Counter(map(_kind, every))
    usual = max(every, key=lambda answer: counts[_kind(answer)])
    logs = {}
    for name, node in nodes.items():
        alike = [one for one in node.get(question, ()) if not sides_of.other_work(question, usual, one)]
        if alike and math.isfinite(seconds := statistics.median([one.seconds for one in alike])):
            logs[name] = math.log(seconds)
    return logs


def _kind(answer: Answer) -> tuple:
    return answer.each, answer.clock, answer.beside, answer.threads, answer.bytes


def _known_of(nodes: Nodes, question: Question, name: str) -> Uncertainty | None:
    """What a node's time is known to differ by from run to run; None where that is not known."""
    parts = [uncertainty.combined(one.a, one.b) for one in nodes[name][question] if one.a and one.b]
    return max(parts, key=uncertainty.expanded, default=None)


def _standing_out(
    logs: Mapping[str, float], level: float, known_of: Callable[[str], Uncertainty | None]
) -> dict[str, float]:
    """How far the nodes that stand out are from the mean of the others."""
    rest, order, outside = dict(logs), [], 0
    for step in range(max(1, (len(logs) - 1) // 3)):
        mean = fmean(rest.values())
        order.append(max(rest, key=lambda name: abs(rest[name] - mean)))
        spread = math.sqrt(sum((value - mean) ** 2 for value in rest.values()) / (len(rest) - 1))
        far = abs(rest[order[-1]] - mean)
        if _p_of_furthest(far, spread, len(rest)) <= level and (
            not (known := known_of(order[-1])) or _p_of_known(far, known, len(rest)) <= level
        ):
            outside = step + 1
        del rest[order[-1]]
    out = order[:outside]
    others = [value for name, value in logs.items() if name not in out]
    return {name: logs[name] - fmean(others) for name in out}


def _p_of_furthest(far: float, spread: float, count: int) -> float:
    """Grubbs' test of the furthest of `count` nodes, two-sided."""
    if spread < 1e-12:
        return 1.0
    g = (far / spread) ** 2
    # Nearer to its bound than digits can tell is not further than that.
    room = max((count - 1) ** 2 - count * g, 1e-9)
    return min(1.0, 2 * count * student_above(math.sqrt(count * (count - 2) * g / room), count - 2))


def _p_of_known(far: float, known: Uncertainty, count: int) -> float:
    """The chance, to both sides, that the furthest of `count` nodes that are known so well is so far off."""
    if not known.standard:
        return 0.0
    spread = known.standard * math.sqrt(1 - 1 / count)
    return min(1.0, 2 * count * student_above(far / spread, known.freedom))


def _of_node(
    name: str,
    logs: Mapping[Question, Mapping[str, float]],
    apart: Mapping[Question, Mapping[str, float]],
    nodes: Nodes,
) -> Iterator[Outlier]:
    has: dict[str, list[Question]] = defaultdict(list)
    for question, there in logs.items():
        if name in there:
            has[question.family if question.axes else "all"].append(question)
    for family, questions in has.items():
        far = {question: apart[question][name] for question in questions if name in apart.get(question, ())}
        for slower in (True, False):
            out = [question for question, value in far.items() if (value > 0) == slower]
            if out:
                worst = max(out, key=lambda question: abs(far[question]))
                yield Outlier(
                    name, family, slower, len(out), len(questions),
                    math.exp(statistics.median([far[question] for question in out])),
                    math.exp(far[worst]),
                    nodes[name][worst][0].spoken,
                )  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A question that both sides answer."""

    question: Question
    base: Answer
    new: Answer
    verdict: Verdict


@dataclass(frozen=True)
class Unmatched:
    """A question without a verdict of time.

    `kind` is `failed` or `missing` where the base alone answers it, `new` where the new side alone does, and
    `not comparable` where both do, but not of the same work.
    """

    question: Question
    kind: str
    reason: str
    spoken: str


@dataclass(frozen=True)
class Family:
    """The rows of one family: how many of each verdict, and the geometric mean of all their ratios."""

    name: str
    counts: Counter
    ratio: float


@dataclass(frozen=True)
class Against:
    """One new side against the base: measured rows, modelled or counted ones apart, and the unmatched."""

    new: Side
    rows: tuple[Row, ...]
    modelled: tuple[Row, ...]
    unmatched: tuple[Unmatched, ...]
    differences: tuple[Difference, ...]
    power: tuple[Power, ...]
    by_chance: float  # how many measured rows would look likely faster or slower where nothing differs

    @property
    def counts(self) -> Counter:
        """How many measured questions have each verdict, and how many are unmatched, by kind."""
        found = Counter(dict.fromkeys(ALL, 0))
        found.update(row.verdict.verdict for row in self.rows)
        found.update(one.kind for one in self.unmatched if one.question.label == MEASURED)
        return found

    @property
    def slower_at_a_site(self) -> bool:
        """Whether a GPU or node is slower in a row whose verdict does not say so."""
        return any(row.verdict.site_slower for row in self.rows)

    @property
    def unanswered(self) -> int:
        """How many of the base's questions the new side does not answer at any of its sites."""
        both = {row.question for row in self.rows}
        lost = {one.question for one in self.unmatched if one.kind in (FAILED, MISSING)} - both
        return sum(question.label == MEASURED for question in lost)

    @property
    def decided(self) -> int:
        """How many measured rows are certain to be faster, slower or the same."""
        return sum(row.verdict.verdict in CERTAIN for row in self.rows)

    @property
    def mostly_decided(self) -> bool:
        """Whether no more measured rows are left open than are decided."""
        return 2 * self.decided >= len(self.rows) > 0

    @property
    def families(self) -> list[Family]:
        """The measured rows by family."""
        named: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            named[row.question.family if row.question.axes else "all"].append(row)
        return [
            Family(
                name,
                Counter(row.verdict.verdict for row in rows),
                statistics.geometric_mean([row.verdict.ratio for row in rows]),
            )
            for name, rows in named.items()
        ]


@dataclass(frozen=True)
class Comparison:
    """All new sides against the base, and the machines that stand out among all."""

    base: Side
    against: tuple[Against, ...]
    threshold: float
    outliers: tuple[Outlier, ...]
    nodes: int

    @property
    def sides(self) -> list[Side]:
        """The base and the new sides, in the order of their letters."""
        return [self.base, *(one.new for one in self.against)]


def compare(sides: Sequence[Side], threshold: float) -> Comparison:
    """Joins the sides to the first; NotComparableError where one shares nothing with it.

    A family whose versions differ measures something else on each side: it is left out, with a sentence.
    """
    base, *others = sides
    others = [_warned(base, new, threshold) for new in others]
    parts = [(new, *_joined(base, new)) for new in others]
    for new, shared, unmatched in parts:
        if not shared:
            raise NotComparableError(_other_work(base, new, unmatched) or _why_not(base, new, unmatched))
    against = [_against(base, new, shared, unmatched, threshold) for new, shared, unmatched in parts]
    named = zip(sides_of.nodes(sides), _of_one_version(sides), strict=True)
    nodes = by_node(list(named))
    return Comparison(base, tuple(against), threshold, tuple(find_outliers(nodes, threshold)), len(nodes))


def _warned(base: Side, new: Side, threshold: float) -> Side:
    lost = sides_of.slower_links(base, new, threshold)
    links = (
        [
            f"links of {new.paths[0]} copy slower than those of {base.paths[0]}, also where no row says so: "
            f"{', '.join(lost)}"
        ]
        if lost
        else []
    )
    said = tuple(
        f"{family} is version {new.version(family)} in {new.paths[0]} and {base.version(family)} in "
        f"{base.paths[0]}: they do not measure the same, so its rows are not compared"
        for family in sides_of.changed(base, new)
    )
    return replace(new, warnings=(*links, *new.warnings, *said))


def _of_one_version(sides: Sequence[Side]) -> list[Answers]:
    """The answers of each side, without families of which any other has another version."""
    versions: dict[str, set[int]] = defaultdict(set)
    for side in sides:
        for family in {question.family for question in side.answers}:
            versions[family].add(side.version(family))
    mixed = {family for family, found in versions.items() if len(found) > 1}
    return [
        {question: answer for question, answer in side.answers.items() if question.family not in mixed}
        if mixed
        else side.answers
        for side in sides
    ]


def _against(
    base: Side, new: Side, shared: Sequence[Shared], unmatched: Sequence[Unmatched], threshold: float
) -> Against:
    measured = [pair for pair in shared if pair[0].label == MEASURED]
    pairs = [(one, two) for _, one, two in measured]
    given = verdicts(pairs, threshold)
    return Against(
        new=_warned_of_sites(new, pairs, given),
        rows=tuple(Row(*pair, verdict) for pair, verdict in zip(measured, given, strict=True)),
        modelled=tuple(
            Row(*pair, _computed(*pair[1:], threshold)) for pair in shared if pair[0].label != MEASURED
        ),
        unmatched=tuple(unmatched),
        differences=tuple(differences(base.facts, new.facts)),
        power=tuple(power(pairs, threshold)),
        by_chance=by_chance(pairs, threshold),
    )


def _warned_of_sites(new: Side, pairs: Sequence[Pair], given: Sequence[Verdict]) -> Side:
    """The side, with a warning where a GPU or node of it fell behind, which the middle one hides."""
    behind = [(told.behind, two.slowest) for (_, two), told in zip(pairs, given, strict=True) if told.behind]
    if not behind:
        return new
    [(site, often)] = Counter(site for _, site in behind).most_common(1)
    named = site if often == len(behind) else f"{site} in {often} of them"
    count, most = plural(len(behind), "question"), math.exp(max(far for far, _ in behind))
    said = (
        f"in {count} of {new.paths[0]} one of its sites fell behind the middle one, by up to "
        f"{most:.2f} times more than in the base ({named}): see "
        f"`grainscope-report summary {quoted(new.paths[0])}`"
    )
    return replace(new, warnings=(said, *new.warnings))


def _joined(base: Side, new: Side) -> tuple[list[Shared], list[Unmatched]]:
    shared, unmatched = [], []
    changed = set(sides_of.changed(base, new))
    for question, one in base.answers.items():
        two = new.answers.get(question)
        if not one.visits:
            if one.status == sides_of.MIXED and two and two.visits:
                unmatched.append(Unmatched(question, NOT_COMPARABLE, f"the base is {one.reason}", one.spoken))
        elif two is None:
            unmatched.append(Unmatched(question, MISSING, _absent(question, new), one.spoken))
        elif two.status == sides_of.MIXED:
            unmatched.append(Unmatched(question, NOT_COMPARABLE, two.reason, one.spoken))
        elif not two.visits:
            kind = FAILED if two.status == "failed" else MISSING
            unmatched.append(Unmatched(question, kind, f"{two.status}: {two.reason}", one.spoken))
        elif question.family in changed:
            before, now = base.version(question.family), new.version(question.family)
            said = f"version {now} of what {question.family} measures, {before} in the base"
            unmatched.append(Unmatched(question, NOT_COMPARABLE, said, one.spoken))
        elif other := sides_of.other_work(question, one, two):
            unmatched.append(Unmatched(question, NOT_COMPARABLE, other, one.spoken))
        else:
            shared.append((question, one, two))
            if two.failed:
                said = f"failed at {two.failed} of its sites or runs"
                unmatched.append(Unmatched(question, FAILED, said, one.spoken))
            elif two.sites < one.sites and base.alike(new):  # a machine of another kind may have fewer
                said = f"answered at {two.sites} of {one.sites} sites"
                unmatched.append(Unmatched(question, MISSING, said, one.spoken))
    return shared, [*unmatched, *_only_new(base, new)]


def _only_new(base: Side, new: Side) -> Iterator[Unmatched]:
    for question, two in new.answers.items():
        one = base.answers.get(question)
        # Mixed in the base it is listed already.
        if two.visits and not (one and (one.visits or one.status == sides_of.MIXED)):
            said = f"{one.status} in the base: {one.reason}" if one else "not in the base"
            yield Unmatched(question, NEW_ONLY, said, two.spoken)


def _absent(question: Question, new: Side) -> str:
    others = [
        answer.label
        for answer in new.answers
        if (answer.family, answer.axes) == (question.family, question.axes)
    ]
    return f"{' and '.join(others)} there, {question.label} in the base" if others else "no such row"


def _computed(one: Answer, two: Answer, threshold: float) -> Verdict:
    """The verdict on what was computed, which has no error that visits would show."""
    ratio = two.seconds / one.seconds
    if abs(math.log(ratio)) <= math.log1p(threshold):
        return Verdict(SAME, ratio)
    return Verdict(SLOWER if ratio > 1 else FASTER, ratio)


def _other_work(base: Side, new: Side, unmatched: Sequence[Unmatched]) -> str:
    """That what both answer is not of the same work, and why most of it is not; empty where none is so."""
    found = naming.counted_reasons(one.reason for one in unmatched if one.kind == NOT_COMPARABLE)
    if not found:
        return ""
    count, both = plural(found.total(), "question"), f"{base.paths[0]} and {new.paths[0]}"
    return f"none of {count} that both {both} answer can be compared: {found.most_common(1)[0][0]}"


def _why_not(base: Side, new: Side, unmatched: Sequence[Unmatched]) -> str:
    found = naming.counted_reasons(one.reason for one in unmatched if one.kind != NEW_ONLY)
    most = f"; of the base's {found.total()} most: {found.most_common(1)[0][0]}" if found else ""
    differ = [
        f"{difference.fact} {cut(difference.new or '-', LONGEST_FILTER)}, "
        f"not {cut(difference.base or '-', LONGEST_FILTER)}"
        for difference in differences(base.facts, new.facts)
        if difference.fact.startswith(("run.preset", "run.filter", "grainscope.version"))
    ]
    said = f" ({'; '.join(differ)})" if differ else ""
    kinds = " (one is Google Benchmark's own JSON, joined by name)" if base.foreign != new.foreign else ""
    return (
        f"{new.paths[0]} answers no question that {base.paths[0]} answers{kinds}{said}{most}: "
        "compare runs of the same cases"
    )
