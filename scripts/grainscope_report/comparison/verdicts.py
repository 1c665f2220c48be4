"""Same, faster, slower, likely or unclear: what two sides' uncertainties let be said of each question.

The ratio of two times is known as well as both logarithms together: variances add, and the degrees of freedom
are those of Welch and Satterthwaite. Faster and slower are claimed at a false discovery rate of ALPHA over
all questions of a pair of sides, same where the whole 95 % interval lies within the threshold. Where it is
not known what runs of a side differ by (type B), the interval is too narrow for any of these.
Sources: Welch, The generalization of Student's problem, Biometrika 34 (1947); Benjamini and Hochberg,
Controlling the false discovery rate, J. R. Statist. Soc. B 57 (1995).
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import statistics, uncertainty
from grainscope_report.comparison.questions import Answer
from grainscope_report.uncertainty import Uncertainty

ALPHA = 0.05
LIKELY = 0.9  # a probability above it is worth a word
SAME, FASTER, SLOWER, UNCLEAR = "same", "faster", "slower", "unclear"
LIKELY_FASTER, LIKELY_SLOWER = "likely faster", "likely slower"
CERTAIN = (FASTER, SLOWER, SAME)
LIKELIES = (LIKELY_FASTER, LIKELY_SLOWER)
ALL = (*CERTAIN, *LIKELIES, UNCLEAR)
MOST_VISITS = 99  # nobody comes to a case more often
TYPE_B_UNKNOWN = "type B unknown: what runs of this machine differ by"
NO_TYPE_A = "one visit, and nothing tells what visits differ by"
CROSSES = "the interval reaches over 1 and over the threshold"
AMONG_MANY = "not certain among so many questions"
_LARGEST = 709.0  # of which there is an exponential

Pair = tuple[Answer, Answer]


@dataclass(frozen=True)
class Verdict:
    """What may be said of a question; `ratio` is the new side's time over the base's.

    `probability` is that of a change to the side on which the ratio lies, `p` that of a ratio so far from 1
    by chance, after Benjamini and Hochberg. `why` says what an unclear or likely row lacks.
    """

    verdict: str
    ratio: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    probability: float | None = None
    why: str = ""


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
    tested = [at for at, pair in enumerate(pairs) if known(pair)]
    adjusted = dict(zip(tested, benjamini_hochberg([chances[at] for at in tested]), strict=True))
    return [
        _verdict(pair, spread, chance, adjusted.get(at), threshold)
        for at, (pair, spread, chance) in enumerate(zip(pairs, spreads, chances, strict=True))
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
    if p is not None and abs(apart) + half <= math.log1p(threshold):
        said, why = SAME, ""
    elif p is not None and p <= ALPHA:
        said, why = (SLOWER if slower else FASTER), ""
    elif 1 - chance / 2 > LIKELY:
        said, why = (LIKELY_SLOWER if slower else LIKELY_FASTER), AMONG_MANY if chance <= ALPHA else CROSSES
    return Verdict(said, *ends, p, 1 - chance / 2, TYPE_B_UNKNOWN if p is None else why)


def _apart(pair: Pair) -> float:
    base, new = pair
    return math.log(new.seconds / base.seconds)


def _spread(pair: Pair) -> Uncertainty | None:
    """What is known of the logarithm of the ratio; None where a side tells nothing."""
    base, new = pair
    if not (base.a and new.a):
        return None
    both = uncertainty.combined(base.a, new.a)
    if parts := [side.b for side in pair if side.b]:
        # Both come from one table, so that two of them are found with no more degrees of freedom than one.
        b = Uncertainty(math.hypot(*(part.standard for part in parts)), min(part.freedom for part in parts))
        both = uncertainty.combined(both, b)
    return both


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
        _middle(
            [next(_visits(pair, half, goal), None) for (pair, _), half in zip(found, halves, strict=True)]
        ),
        _middle([math.ceil((half / goal) ** 2) or 1 if goal else None for half in halves]),
    )


def _visits(pair: Pair, half: float, goal: float) -> Iterator[int]:
    """The numbers of visits a run, on both sides, that make the interval as narrow as wanted."""
    now = sum(part.standard**2 for side in pair for part in (side.a, side.b) if part)
    for count in range(1, MOST_VISITS + 1, 2):
        share = uncertainty.middle_share(count)
        then = sum(
            side.a.standard**2 * share / uncertainty.middle_share(len(side.visits))
            + (side.b.standard**2 if side.b else 0.0)
            for side in pair
        )
        if half * math.sqrt(then / now if now else 0.0) <= goal:
            yield count


def _middle(counts: Sequence[int | None]) -> int | None:
    """The upper median, where None is more than any number."""
    ordered = sorted(counts, key=lambda count: math.inf if count is None else count)
    return ordered[len(ordered) // 2]
