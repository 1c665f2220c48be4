"""Sides joined by question, with the verdict on each row and why the others have none."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grainscope_report import families, reasons, statistics
from grainscope_report.comparison import outliers, verdicts
from grainscope_report.comparison import sides as sides_of
from grainscope_report.comparison.facts import Difference, differences
from grainscope_report.comparison.outliers import Outlier
from grainscope_report.comparison.questions import MEASURED, Answer, Answers, Question
from grainscope_report.comparison.sides import Side
from grainscope_report.comparison.verdicts import CERTAIN, Power, Verdict
from grainscope_report.errors import EXIT_NOT_COMPARABLE, ReportError

FAILED, MISSING, NEW_ONLY = "failed", "missing", "new"
# Bytes of one question that differ by more are other work; of traversals they depend on the order of races.
SAME_WORK = 0.01


class NotComparableError(ReportError):
    """Files that share no question; exit status 3."""

    status = EXIT_NOT_COMPARABLE


Shared = tuple[Question, Answer, Answer]


@dataclass(frozen=True)
class Row:
    """A question that both sides answer."""

    question: Question
    base: Answer
    new: Answer
    verdict: Verdict


@dataclass(frozen=True)
class Unmatched:
    """A question that one side answers and the other does not.

    `kind` is `failed` or `missing` where the base has it, `new` where only the new side has.
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

    @property
    def counts(self) -> Counter:
        """How many measured rows have each verdict, and how many questions are unmatched, by kind."""
        found = Counter(dict.fromkeys(verdicts.ALL, 0))
        found.update(row.verdict.verdict for row in self.rows)
        found.update(one.kind for one in self.unmatched)
        return found

    @property
    def decided(self) -> int:
        """How many measured rows are certain to be faster, slower or the same."""
        return sum(row.verdict.verdict in CERTAIN for row in self.rows)

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
    others = [_warned(base, new) for new in others]
    parts = [(new, *_joined(base, new)) for new in others]
    for new, shared, unmatched in parts:
        if not shared:
            raise NotComparableError(_why_not(base, new, unmatched))
    against = [_against(base, new, shared, unmatched, threshold) for new, shared, unmatched in parts]
    named = zip(sides_of.nodes(sides), _of_one_version(sides), strict=True)
    nodes = outliers.by_node(list(named))
    return Comparison(base, tuple(against), threshold, tuple(outliers.find(nodes, threshold)), len(nodes))


def _warned(base: Side, new: Side) -> Side:
    said = tuple(
        f"{family} is version {new.version(family)} in {new.paths[0]} and {base.version(family)} in "
        f"{base.paths[0]}: they do not measure the same, so its rows are not compared"
        for family in sides_of.changed(base, new)
    )
    return replace(new, warnings=(*new.warnings, *said))


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
    given = verdicts.verdicts(pairs, threshold)
    return Against(
        new=new,
        rows=tuple(Row(*pair, verdict) for pair, verdict in zip(measured, given, strict=True)),
        modelled=tuple(
            Row(*pair, _computed(*pair[1:], threshold)) for pair in shared if pair[0].label != MEASURED
        ),
        unmatched=tuple(unmatched),
        differences=tuple(differences(base.facts, new.facts)),
        power=tuple(verdicts.power(pairs, threshold)),
    )


def _joined(base: Side, new: Side) -> tuple[list[Shared], list[Unmatched]]:
    shared, unmatched = [], []
    changed = set(sides_of.changed(base, new))
    for question, one in base.answers.items():
        if not one.visits:
            continue
        two = new.answers.get(question)
        if two is None:
            unmatched.append(Unmatched(question, MISSING, _absent(question, new), one.spoken))
        elif not two.visits:
            kind = FAILED if two.status == "failed" else MISSING
            unmatched.append(Unmatched(question, kind, f"{two.status}: {two.reason}", one.spoken))
        elif question.family in changed:
            before, now = base.version(question.family), new.version(question.family)
            said = f"version {now} of what {question.family} measures, {before} in the base"
            unmatched.append(Unmatched(question, MISSING, said, one.spoken))
        elif other := _other_work(question, one, two):
            unmatched.append(Unmatched(question, MISSING, other, one.spoken))
        else:
            shared.append((question, one, two))
            if two.failed:
                said = f"failed at {two.failed} of its sites or runs"
                unmatched.append(Unmatched(question, FAILED, said, one.spoken))
    return shared, [*unmatched, *_only_new(base, new)]


def _only_new(base: Side, new: Side) -> Iterator[Unmatched]:
    for question, two in new.answers.items():
        one = base.answers.get(question)
        if two.visits and not (one and one.visits):
            said = f"{one.status} in the base: {one.reason}" if one else "not in the base"
            yield Unmatched(question, NEW_ONLY, said, two.spoken)


def _absent(question: Question, new: Side) -> str:
    others = [one.label for one in new.answers if (one.family, one.axes) == (question.family, question.axes)]
    return f"{' and '.join(others)} there, {question.label} in the base" if others else "no such row"


def _other_work(question: Question, one: Answer, two: Answer) -> str:
    if one.each != two.each:
        return "timed by operation on one side only"
    if "quiet" in (one.clock, two.clock) and "host" in (one.clock, two.clock):
        return "on CPUs without a neighbour on one side only"
    if one.beside and two.beside and one.beside != two.beside:
        (name, count), (_, before) = two.beside, one.beside
        return f"other work: {count:.0f} {name} beside, {before:.0f} in the base"
    if one.threads and two.threads and one.threads != two.threads:
        return f"other work: {_listed(two.threads)} threads, {_listed(one.threads)} in the base"
    if one.each or families.of(question.family).walks or not one.bytes or not two.bytes:
        return ""
    if not question.axes or abs(two.bytes / one.bytes - 1) <= SAME_WORK:
        return ""
    return f"other work: {two.bytes:.0f} bytes, {one.bytes:.0f} in the base"


def _listed(counts: Sequence[float]) -> str:
    return " or ".join(f"{count:.0f}" for count in counts)


def _computed(one: Answer, two: Answer, threshold: float) -> Verdict:
    """The verdict on what was computed, which has no error that visits would show."""
    ratio = two.seconds / one.seconds
    if abs(math.log(ratio)) <= math.log1p(threshold):
        return Verdict(verdicts.SAME, ratio)
    return Verdict(verdicts.SLOWER if ratio > 1 else verdicts.FASTER, ratio)


def _why_not(base: Side, new: Side, unmatched: Sequence[Unmatched]) -> str:
    found = reasons.counted(one.reason for one in unmatched if one.kind != NEW_ONLY)
    most = f"; of the base's {found.total()} most: {found.most_common(1)[0][0]}" if found else ""
    differ = [
        f"{one.fact} {one.new or '-'}, not {one.base or '-'}"
        for one in differences(base.facts, new.facts)
        if one.fact.startswith(("run.preset", "run.filter", "grainscope.version"))
    ]
    said = f" ({'; '.join(differ)})" if differ else ""
    kinds = " (one is Google Benchmark's own JSON, joined by name)" if base.foreign != new.foreign else ""
    return (
        f"{new.paths[0]} answers no question that {base.paths[0]} answers{kinds}{said}{most}: "
        "compare runs of the same cases"
    )
