"""What one side answers: for each question the time that every visit took, or why there is none.

A question is a case's family and axes with the row's label; where it was asked, and by what name, plays
no part, so that machines with other GPUs and nodes meet, and modelled rows meet only modelled ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from grainscope_report import metrics, naming, statistics
from grainscope_report.model import Row

MEASURED = "measured"
# From the half width of a 95 % interval to a standard deviation.
HALF_WIDTH = statistics.Z_95
# Counters that say how much was done beside what is timed.
BESIDE = ("products", "steps")


@dataclass(frozen=True)
class Question:
    """What was asked: of a foreign file the benchmark's name alone, as `family`."""

    label: str
    family: str
    axes: tuple[tuple[str, str | float], ...] = ()


@dataclass(frozen=True)
class Visit:
    """One visit to a question on one machine: seconds, of the middle one of its sites.

    `error` is the standard error of the logarithm of that time, from the visit's own interval; 0 where
    there is none.
    """

    seconds: float
    error: float


@dataclass(frozen=True)
class Answer:
    """All visits to a question, or with none why: `absent`, `skipped` or `failed`, and the reason.

    Times are those of one operation where `each`; `beside` is what else was done meanwhile: its name, and how
    often; `threads` are the numbers of CPU threads that rows count. `failed` counts rows, of several
    sites or runs, that failed beside good ones.
    """

    visits: tuple[Visit, ...] = ()
    each: bool = False
    bytes: float | None = None
    beside: tuple[str, float] | None = None
    threads: tuple[float, ...] = ()
    sites: int = 1
    failed: int = 0
    status: str = "ok"
    reason: str = ""
    spoken: str = ""

    @cached_property
    def seconds(self) -> float:
        """The median of the visits."""
        return statistics.median([visit.seconds for visit in self.visits])

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
    """The answers of several runs of one machine as one side: their visits count alike."""
    if len(parts) == 1:
        return parts[0]
    every = dict.fromkeys(one for part in parts for one in part)
    return {one: _pooled([part[one] for part in parts if one in part]) for one in every}


def _pooled(found: Sequence[Answer]) -> Answer:
    good = [answer for answer in found if answer.visits]
    if not good:
        return next((answer for answer in found if answer.status == "failed"), found[0])
    failed = sum(answer.failed + (answer.status == "failed") for answer in found)
    visits = tuple(visit for answer in good for visit in answer.visits)
    return replace(good[0], visits=visits, failed=failed)


def _answer(rows: Sequence[Row]) -> Answer:
    good = [row for row in rows if row.ok and row.median_s]
    failed = [row for row in rows if row.status == "failed"]
    if not good:
        told = (failed or rows)[0]
        return Answer(status=told.status, reason=told.reason, failed=len(failed), spoken=_spoken(told))
    each = all(row.operations for row in good)
    by_round: dict[int, list[Row]] = defaultdict(list)
    for one in (one for row in good for one in metrics.by_visit(row)):
        by_round[one.visit.round if one.visit else 1].append(one)
    return Answer(
        visits=tuple(_visit(there, each) for _, there in sorted(by_round.items())),
        each=each,
        bytes=statistics.median([row.bytes for row in good]) if all(row.bytes for row in good) else None,
        beside=_beside(good),
        threads=tuple(sorted({row.counters["threads"] for row in good if "threads" in row.counters})),
        sites=len({tuple(sorted(row.case.site.items())) for row in good}),
        failed=len(failed),
        spoken=_spoken(rows[0]),
    )


def _beside(rows: Sequence[Row]) -> tuple[str, float] | None:
    counts = [(name, row.counters[name]) for row in rows for name in BESIDE if name in row.counters]
    return sorted(counts)[len(counts) // 2] if counts else None


def _visit(rows: Sequence[Row], each: bool) -> Visit:
    """The sites of one round: the median of their times, and as error the middle one's."""
    times = [row.median_s / (row.operations if each else 1) for row in rows]
    errors = [_error(row) for row in rows]
    return Visit(statistics.median(times), statistics.median(errors))


def _error(row: Row) -> float:
    if not row.within_s:
        return 0.0
    low, high = row.within_s
    return (high - low) / 2 / HALF_WIDTH / row.median_s


def _spoken(row: Row) -> str:
    """`pinned_to_gpu, flush on, bytes 1 MiB, remote`."""
    words = naming.words(row.case)
    flush = [f"flush {row.case.axes['flush']}"] if "flush" in row.case.axes else []
    numbers = [naming.number(axis, value) for axis, value in row.case.without() if not isinstance(value, str)]
    return ", ".join(part for part in [words, *flush, *numbers, *naming.place(row.case)] if part)
