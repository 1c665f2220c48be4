"""Two words about one thing, as `pinned` and `pageable`: which is faster, and how many times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.asking.asked import Asked
from grainscope_report.asking.sentence import Word
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_interval

# What two words may be about for their rows to do the same work.
ABOUT = ("direction", "ends", "memory", "way", "load", "access", "law", "cache", "timed", "place")
# Of these the directions of the rows differ, so they are no part of the work.
TURNED = ("direction", "ends")
MOST = 4  # works, a sentence each


@dataclass(frozen=True)
class Meeting:
    """The fastest row of each word, alike but for what the words tell; `times` as fast is the first."""

    size: float
    first: Row
    second: Row
    times: Estimate
    alike: bool


def sentences(asked: Asked) -> list[str]:
    """One for each work that rows of both words do; empty where the question has no such pair of words."""
    pairs = [words for words in asked.sentence.subjects if len(words) == 2 and words[0].about in ABOUT]
    if len(pairs) != 1 or asked.places or asked.by_share or asked.sentence.want not in ("", "best"):
        return []
    [(one, other)] = pairs
    found = meetings(asked, one, other)
    said = [_sentence(asked, one, other, work, there) for work, there in found.items()]
    return [*said[:MOST], *([f"… and of {len(said) - MOST} more: name one."] if said[MOST:] else [])]


def meetings(asked: Asked, one: Word, other: Word) -> dict[str, list[Meeting]]:
    """By what rows work on where they meet, by rising size.

    Rows of one family meet where all axes are the same but those that the words tell. Where no family has
    rows of both, those that cross a link meet at each size.
    """
    told = {axis for word in (one, other) for meaning in word.means for axis in meaning} - {"in"}
    turned = one.about in TURNED
    sides = _sides(asked, one, other)
    common = set.intersection(*({row.case.family for row in side} for side in sides))
    pairs: dict[tuple, tuple[list[Row], list[Row]]] = {}
    for at, row in ((at, row) for at, side in enumerate(sides) for row in side):
        if row.case.family in common if common else row.link_fraction:
            rest = (
                (row.case.family, row.case.without(*told), *sorted(row.case.site.items())) if common else ()
            )
            key = (asked.work(row, told, turned), asked.size_of(row), asked.by_rate(row), rest)
            pairs.setdefault(key, ([], []))[at].append(row)
    found: dict[str, list[Meeting]] = {}
    for (work, size, *_), both in sorted(pairs.items(), key=lambda pair: pair[0][:2]):
        if all(both):
            first, second = (asked.top(rows) for rows in both)
            met = Meeting(size, first, second, _times(asked, first, second), asked.alike(first, second))
            found.setdefault(work, []).append(met)
    return found


def _sides(asked: Asked, one: Word, other: Word) -> tuple[list[Row], list[Row]]:
    """The rows of each word that are not of both."""
    rows = [(row, one.matches(row.case), other.matches(row.case)) for row in asked.exact or asked.nearest]
    return [row for row, a, b in rows if a and not b], [row for row, a, b in rows if b and not a]


def _times(asked: Asked, first: Row, second: Row) -> Estimate:
    if asked.by_rate(first):
        return statistics.ratio(*(statistics.rate_gb_s(row.time, row.bytes) for row in (first, second)))
    return statistics.ratio(*(row.time.scaled(1 / (row.operations or 1)) for row in (second, first)))


def _sentence(asked: Asked, one: Word, other: Word, work: str, found: Sequence[Meeting]) -> str:
    where = f"{work}: " if work else ""
    if len(found) == 1:
        return f"{where}{_of_one(asked, one, other, found[0])}"
    return f"{where}{'; '.join(_of_many(one, other, found))}."


def _of_one(asked: Asked, one: Word, other: Word, met: Meeting) -> str:
    """`pinned is 5.0 [3.2, 6.8] × as fast as pageable at 64 MiB: 54.9 GB/s against 11.0 GB/s.`"""
    sides = [(one, met.first), (other, met.second)]
    times = met.times
    if times.value < 1:
        sides, times = sides[::-1], Estimate(1 / times.value, 1 / times.high, 1 / times.low, times.visits)
    (fast, first), (slow, second) = sides
    at = f" at {format_bytes(met.size)}" if met.size else ""
    values = f"{asked.value(first)} against {asked.value(second)}"
    if met.alike:
        return f"{fast.says} and {slow.says} are as fast as each other{at}, within the uncertainty: {values}."
    return f"{fast.says} is {_text(times)} as fast as {slow.says}{at}: {values}."


def _of_many(one: Word, other: Word, found: Sequence[Meeting]) -> Iterator[str]:
    """In how many pairs each is faster, and how many times; in how many neither is."""
    told = [met for met in found if not met.alike]
    for fast, slow, faster in (
        (one, other, [met for met in told if met.times.value > 1]),
        (other, one, [met for met in told if met.times.value < 1]),
    ):
        if faster:
            yield f"{fast.says} is faster than {slow.says} in {_share(faster, found)}, {_ends(faster)}"
    if alike := [met for met in found if met.alike]:
        both = f"{one.says} and {other.says}" if len(alike) == len(found) else "they"
        yield f"{both} are as fast as each other, within the uncertainty, in {_share(alike, found)}"


def _share(some: Sequence[Meeting], found: Sequence[Meeting]) -> str:
    """`3 of 17 pairs of rows`, `both pairs of rows`."""
    all_of = "both" if len(found) == 2 else f"all {len(found)}"
    return f"{all_of if len(some) == len(found) else f'{len(some)} of {len(found)}'} pairs of rows"


def _ends(found: Sequence[Meeting]) -> str:
    """`1.7 × (at 256 B) to 4.3 × (at 1 MiB)`, `5.0 to 6.7 × at 64 MiB`."""
    by = sorted((max(met.times.value, 1 / met.times.value), met.size) for met in found)
    texts = [(f"{times:#.2g}".rstrip("."), format_bytes(size) if size else "") for times, size in by]
    (least, at), (most, there) = texts[0], texts[-1]
    if at == there:
        return " to ".join(dict.fromkeys((least, most))) + (f" × at {at}" if at else " ×")
    return f"{least} × (at {at}) to {most} × (at {there})"


def _text(times: Estimate) -> str:
    return " ".join((*format_interval(times.value, times.low, times.high), "×"))
