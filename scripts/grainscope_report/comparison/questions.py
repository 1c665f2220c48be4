"""What one side answers: for each question its time and how well that is known, or why there is none.

A question is a case's family and axes with the row's label; where it was asked, and by what name, plays
no part, so that machines with other GPUs and nodes meet, and modelled rows meet only modelled ones.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from grainscope_report import model, naming, statistics, uncertainty
from grainscope_report.model import Row
from grainscope_report.uncertainty import Uncertainty

MEASURED = "measured"
# Counters that say how much was done beside what is timed.
BESIDE = ("products", "steps")


@dataclass(frozen=True)
class Question:
    """What was asked: of a foreign file the benchmark's name alone, as `family`."""

    label: str
    family: str
    axes: tuple[tuple[str, str | float], ...] = ()


@dataclass(frozen=True)
class Answer:
    """The time of a question, or where it has none why: `absent`, `skipped` or `failed`, and the reason.

    `seconds` are the row's median, of several sites the middle one's, of several runs their geometric mean;
    `visits` the times of each visit, `a` and `b` the uncertainties of `seconds` where they are known. Times
    are those of one operation where `each`; `beside` is what else was done meanwhile: its name, and how
    often; `threads` are the numbers of CPU threads that rows count. `failed` counts rows, of several
    sites or runs, that failed beside good ones.
    """

    seconds: float | None = None
    visits: tuple[float, ...] = ()
    a: Uncertainty | None = None
    b: Uncertainty | None = None
    clock: str = "host"
    each: bool = False
    bytes: float | None = None
    beside: tuple[str, float] | None = None
    threads: tuple[float, ...] = ()
    sites: int = 1
    failed: int = 0
    status: str = "ok"
    reason: str = ""
    spoken: str = ""

    @property
    def gb_s(self) -> float | None:
        """Decimal GB/s, where the question is about bytes and not about single operations."""
        return self.bytes / self.seconds / 1e9 if self.bytes and not self.each else None


Answers = Mapping[Question, Answer]


def question(row: Row) -> Question:
    """The question that a row answers."""
    return Question(row.label, row.case.family, row.case.without())


def answers(rows: Iterable[Row]) -> dict[Question, Answer]:
    """Every question of a file with its answer."""
    asked: dict[Question, list[Row]] = defaultdict(list)
    for row in rows:
        asked[question(row)].append(row)
    return {one: _answer(there) for one, there in asked.items()}


def together(parts: Sequence[Answers]) -> Answers:
    """The answers of several runs of one machine as one side: the mean of runs is known better than each."""
    if len(parts) == 1:
        return parts[0]
    every = dict.fromkeys(one for part in parts for one in part)
    return {one: _pooled([part[one] for part in parts if one in part]) for one in every}


def _pooled(found: Sequence[Answer]) -> Answer:
    good = [answer for answer in found if answer.visits]
    if not good:
        return next((answer for answer in found if answer.status == "failed"), found[0])
    failed = sum(answer.failed + (answer.status == "failed") for answer in found)
    return replace(
        good[0],
        seconds=statistics.geometric_mean([answer.seconds for answer in good]),
        visits=tuple(visit for answer in good for visit in answer.visits),
        a=_of_mean([answer.a for answer in good]),
        b=_of_mean([answer.b for answer in good]),
        failed=failed,
    )


def _of_mean(parts: Sequence[Uncertainty | None]) -> Uncertainty | None:
    """The uncertainty of the mean of runs; its degrees of freedom are one run's, whose table all share."""
    if None in parts:
        return None
    standard = reduce(uncertainty.combined, parts).standard / len(parts)
    return Uncertainty(standard, min(part.freedom for part in parts))


def _answer(rows: Sequence[Row]) -> Answer:
    good = [row for row in rows if row.ok and row.median_s]
    failed = [row for row in rows if row.status == "failed"]
    if not good:
        told = (failed or rows)[0]
        return Answer(status=told.status, reason=told.reason, failed=len(failed), spoken=_spoken(told))
    each = all(row.operations for row in good)
    by_round: dict[int, list[float]] = defaultdict(list)
    for row in good:
        for number, seconds in [(one.round, one.median_s) for one in row.visits] or [(1, row.median_s)]:
            by_round[number].append(seconds / (row.operations if each else 1))
    return Answer(
        seconds=statistics.median([row.median_s / (row.operations if each else 1) for row in good]),
        visits=tuple(statistics.median(there) for _, there in sorted(by_round.items())),
        a=_largest([row.uncertainty and row.uncertainty.a for row in good]),
        b=_largest([row.uncertainty and row.uncertainty.b for row in good]),
        clock=uncertainty.clock_of({"timing": good[0].timing and vars(good[0].timing)}),
        each=each,
        bytes=statistics.median([row.bytes for row in good]) if all(row.bytes for row in good) else None,
        beside=_beside(good),
        threads=tuple(sorted({row.counters["threads"] for row in good if "threads" in row.counters})),
        sites=len({tuple(sorted(row.case.site.items())) for row in good}),
        failed=len(failed),
        spoken=_spoken(rows[0]),
    )


def _largest(parts: Sequence[model.Uncertainty | None]) -> Uncertainty | None:
    """That of the site of which least is known; None where of one nothing is."""
    if not all(parts):
        return None
    most = max(parts, key=lambda part: part.standard)
    return Uncertainty(most.standard, most.freedom or math.inf)


def _beside(rows: Sequence[Row]) -> tuple[str, float] | None:
    counts = [(name, row.counters[name]) for row in rows for name in BESIDE if name in row.counters]
    return sorted(counts)[len(counts) // 2] if counts else None


def _spoken(row: Row) -> str:
    """`pinned_to_gpu, flush on, bytes 1 MiB, remote`."""
    words = naming.words(row.case)
    flush = [f"flush {row.case.axes['flush']}"] if "flush" in row.case.axes else []
    numbers = [naming.number(axis, value) for axis, value in row.case.without() if not isinstance(value, str)]
    return ", ".join(part for part in [words, *flush, *numbers, *naming.place(row.case)] if part)
