"""What a run answers to a question: the ways that are fastest, where one overtakes another, whether GPUs
differ, how well rows are known, or the rows; and of two words about one thing, as `pinned` and `pageable`,
which is faster, and how many times.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grainscope_report import metrics, statistics
from grainscope_report.asking.asked import FEWEST_PLACES, MOST, PLACES, Asked
from grainscope_report.asking.sentence import CROSSOVER, UNCERTAINTY, Sentence, Word
from grainscope_report.commands import files, summary
from grainscope_report.comparison import document, verdicts
from grainscope_report.figures import parts
from grainscope_report.fits import shape
from grainscope_report.loading import quoted
from grainscope_report.machine import Machine, object_of, objects_of, spoken_site
from grainscope_report.model import Result, Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_interval, plural, some
from grainscope_report.writing import Column, Terminal, known

# Two words about one thing.

# What two words may be about whose rows differ in direction, which is no part of their work then.
TURNED = ("direction", "action", "ends", "by")
# What two words may be about for their rows to do the same work.
ABOUT = (*TURNED, "memory", "way", "load", "access", "law", "cache", "timed", "place")
MOST_WORKS = 4  # works, a sentence each


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
    return [
        *said[:MOST_WORKS],
        *([f"… and of {len(said) - MOST_WORKS} more: name one."] if said[MOST_WORKS:] else []),
    ]


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


# What a question comes to.

MOST_LINES = 40  # of an answer
MOST_GROUPS = 20  # of things that ways are ranked at, a line each
MOST_PLACES = 7  # sizes that stand side by side
SAME = 0.05  # what is the same, as in a comparison
TABLES = 4  # of things that ways are ranked at
COLUMNS = (
    Column("what"),
    Column("size", right=True, optional=1),
    Column("result", right=True),
    Column("time", right=True, optional=4),
    Column("of link", right=True, optional=3),
    Column("against the first", optional=2),
)
GROUP_COLUMNS = (
    Column("at", whole=True),
    Column("first"),
    Column("size", right=True, optional=2),
    Column("result", right=True),
    Column("as good"),
    Column("next", optional=3),
)
SURE_COLUMNS = (
    Column("what"),
    Column("size", right=True, optional=1),
    Column("result", right=True),
    Column("visits", right=True),
    Column("by visits", right=True),
    Column("by runs", right=True),
    Column("flags", optional=2),
)
SURE = (
    "The square of the ± (95 %) is the sum of the squares of both: by visits is what the visits of this run "
    "tell, by runs what runs of such a machine are known to differ by. docs/uncertainty.md has the method."
)


@dataclass(frozen=True)
class Answer:
    """Lines of an answer; `known` is false where they say why there is none."""

    lines: tuple[str, ...]
    known: bool = True


def answer(machine: Machine, sentence: Sentence, out: Terminal) -> Answer:
    """What the run says, what was understood first; at most MOST_LINES of it."""
    asked = Asked(machine, sentence)
    head = out.paint(out.wrap(f"{sentence.text}: {asked.counted}", ""), "bold")
    links = asked.by_links and not sentence.sizes and asked.machine.result.links
    if not asked.usable and not links:
        return Answer((head, out.wrap(asked.why_nothing, "")), known=False)
    points, table = _points(asked), list(_body(asked, out))
    if sentence.want == CROSSOVER and not points and not table:
        known_ways = bool(asked.segments) and not asked.one_is_left
        return Answer((head, out.wrap(_no_crossover(asked), "")), known=known_ways)
    dropped = [f"{asked.dropped_text}."] if asked.dropped else []
    said = [*sentences(asked), *dropped, *asked.notes, *asked.held_on_the_host]
    path = quoted(machine.result.path)
    full = f"`{files.program()} summary {path} --full`"
    notes = [head, *(out.wrap(note, "") for note in said)]
    under = [*asked.left_out, *asked.basis, *asked.from_caches] if table else []
    below = [*table, *(out.wrap(note, "") for note in under)]
    shown = len(points)
    while shown > 1 and _height([*notes, *_listed_points(points, shown, full, out), *below]) > MOST_LINES:
        shown -= 1
    return Answer((*notes, *_listed_points(points, shown, full, out), *below))


def _height(lines: Sequence[str]) -> int:
    return sum(line.count("\n") + 1 for line in lines)


def _points(asked: Asked) -> list[str]:
    """What is said in sentences."""
    want, plain = asked.sentence.want, not asked.sentence.sizes
    if asked.places or (asked.by_links and plain):
        return []
    if want == CROSSOVER:
        return [swap.text for swap in asked.swaps] or asked.finding
    if want == "best":
        return asked.remedy or (asked.stretches or asked.finding if plain else [])
    return asked.finding + asked.remedy if plain and not want else []


def _listed_points(points: Sequence[str], shown: int, full: str, out: Terminal) -> Iterator[str]:
    yield from ("- " + out.wrap(text, "  ")[2:] for text in points[:shown])
    if left := len(points) - shown:
        yield out.wrap(f"… and {left} more: {full}", "")


def _body(asked: Asked, out: Terminal) -> Iterator[str]:
    """What is said in a table."""
    want, plain = asked.sentence.want, not asked.sentence.sizes
    if asked.places:
        yield from _between(asked, out)
    elif asked.by_links and plain and (table := summary.links(asked.machine.result, out)):
        yield from table
    elif want == UNCERTAINTY:
        yield from _known_how_well(asked, out)
    elif want == CROSSOVER:
        yield from _grid(asked, out) if asked.across and not asked.swaps else ()
    elif want == "best" and plain and _points(asked) and not asked.remedy:
        return
    elif asked.across:
        yield from _grid(asked, out)
    elif want:
        yield from _ranked(asked, out)
    else:
        yield from _table(asked, asked.chosen, out)


def _between(asked: Asked, out: Terminal) -> Iterator[str]:
    """Whether places differ from the first of them, question by question, and where most."""
    place, (first, *others) = asked.places
    base, name = asked.answers(place, first), PLACES[place]
    for other in others:
        there = asked.answers(place, other)
        pairs = [(one, base[one], there[one]) for one in base if one in there]
        if not pairs:
            yield out.wrap(f"{name} {other} against {name} {first}: {_why_not_both(asked, place, other)}", "")
            continue
        told = verdicts.verdicts([pair[1:] for pair in pairs], SAME)
        rows = [verdicts.Row(*pair, verdict) for pair, verdict in zip(pairs, told, strict=True)]
        yield from _differences(rows, f"{name} {other}", f"{name} {first}", MOST // len(others), out)


def _why_not_both(asked: Asked, place: str, number: str) -> str:
    """Why nothing was asked of two places: the machine lacks one, or the run left it out."""
    result = asked.machine.result
    there = {"gpu": result.environment.gpus, "numa": _nodes(result)}[place]
    if len(there) == 1 or (place == "gpu" and int(number) >= len(there) > 0):
        name = PLACES[place]
        return f"the machine has {plural(len(there), name) if len(there) > 1 else f'one {name}'}."
    presets = "The presets acceptance and full ask every GPU; " if place == "gpu" else ""
    return (
        f"this run (preset {result.run.preset}) asked nothing of both. {presets}"
        "`matrix` has each link's copy peak."
    )


def _nodes(result: Result) -> Sequence[Mapping]:
    """The machine's NUMA nodes, where the run says."""
    return objects_of(object_of(result.environment.raw, "memory"), "nodes")


def _differences(
    rows: Sequence[verdicts.Row], new: str, base: str, most: int, out: Terminal
) -> Iterator[str]:
    """`GPU 1 against GPU 0: slower in 3 of 90 questions, …`, and those that differ most."""
    counts = Counter(row.verdict.verdict for row in rows)
    likely = [row for row in rows if row.verdict.verdict in verdicts.LIKELIES]
    shown = [row for row in rows if row.verdict.verdict in (verdicts.FASTER, verdicts.SLOWER)]
    chance = verdicts.by_chance([(row.base, row.new) for row in rows], SAME)
    ways = [f"{word} in {counts[word]}" for word in (verdicts.FASTER, verdicts.SLOWER) if counts[word]]
    left = len(rows) - sum(counts[one] for one in verdicts.CERTAIN)
    said = (
        f"{new} against {base}: {' and '.join(ways) or 'certainly faster or slower in none'} of "
        f"{plural(len(rows), 'question')}, the same within {document.share(SAME)} in "
        f"{counts[verdicts.SAME]}; {left} cannot be told."
    )
    if all(row.verdict.why == verdicts.TYPE_B_UNKNOWN for row in rows):
        said += " What runs of such a machine differ by is not known: `grainscope repeat 3 --out DIR` tells."
    elif likely:
        many = f"{len(likely)} {'is' if len(likely) == 1 else 'are'}"
        said += f" {many} likely to differ; where nothing does, about {chance:.0f} look so by chance."
    yield out.wrap(said, "")
    shown = shown or (likely if len(likely) > chance else [])
    if shown := sorted(shown, key=lambda row: -abs(math.log(row.verdict.ratio)))[:most]:
        names = {"base": base, "new": new}
        columns = [replace(one, name=names.get(one.name, one.name)) for one in document.ROW_COLUMNS]
        heading, *lines = out.table(columns, [document.row_cells(row) for row in shown])
        yield out.paint(heading, "dim")
        yield from lines


def _known_how_well(asked: Asked, out: Terminal) -> Iterator[str]:
    """What the ± of each row is made of."""
    cells = [asked.sure(row) for row in asked.chosen[:MOST]]
    heading, *lines = out.table(*known(SURE_COLUMNS, cells, unknown=""))
    yield out.paint(heading, "dim")
    yield from lines
    if (more := len(asked.chosen) - len(cells)) > 0:
        yield out.wrap(f"… and {plural(more, 'row')} more: name a size or a value, or see {_list(asked)}", "")
    yield out.wrap(SURE, "")


def _list(asked: Asked) -> str:
    """The command that shows every row of the file."""
    return f"`{files.program()} list {quoted(asked.machine.result.path)}`"


def _grid(asked: Asked, out: Terminal) -> Iterator[str]:
    """A line for rows that differ in one size alone, with a column for each of these sizes.

    Where the best is asked for, a star marks the first at each size, and what is as good.
    """
    across = asked.across
    by_line: dict[tuple, list[Row]] = {}
    for row in asked.exact:
        by_line.setdefault(asked.but(row, across), []).append(row)
    # Rows of most sizes first, of these what is as usual and so has the shortest name.
    every = sorted(by_line.values(), key=lambda rows: (-len(rows), len(asked.name(rows[0], across))))
    lines = every[:MOST]
    ranked = _ranked_sizes([_at_size(row, across) for rows in lines for row in rows])
    sizes = sorted(ranked)
    columns = [Column(f"{'GB/s' if asked.by_rate(lines[0][0]) else 'time'} by {across}")]
    columns += [Column(format_bytes(size), right=True, optional=_gives_way(ranked, size)) for size in sizes]
    best = asked.best_at(across) if asked.sentence.want == "best" else set()
    named = Counter(asked.name(rows[0], across) for rows in lines)
    cells = []
    for rows in lines:
        name, site = asked.name(rows[0], across), sorted(rows[0].case.site.items())
        name += f", {spoken_site(site)}" if named[name] > 1 and site else ""
        at = {_at_size(row, across): row for row in rows}
        stars = {size: "*" if row.name in best else " " if best else "" for size, row in at.items()}
        values = [f"{asked.short(at[size])}{stars[size]}" if size in at else "" for size in sizes]
        cells.append((name, *values))
    heading, *table = out.table(columns, cells)
    yield out.paint(heading, "dim")
    yield from table
    wide = sorted(metrics.half_width(row.time) for rows in lines for row in rows)
    middle, most = (metrics.side_text(one) for one in (wide[len(wide) // 2], wide[-1]))
    said = f"± {middle} in the middle, ± {most} at most"
    same = " and ".join(asked.starred_by(across))
    among = f" of several with the same {same}" if same else ""
    said = f"* first at this size{among}, or as good within the uncertainty; {said}" if best else said
    left = len(every) - MOST
    more = f"; {left} lines more: name a size or a value, or see {_list(asked)}" if left > 0 else ""
    yield out.wrap(f"{said}{more}", "")


def _at_size(row: Row, axis: str) -> float:
    return float(row.case.axes[axis])


def _ranked_sizes(sizes: Sequence[float]) -> list[float]:
    """The first, the last, then those between that most lines have, of these as evenly as it goes."""
    counts = Counter(sizes)
    there = sorted(counts)
    evenly = {there[round(step * (len(there) - 1) / MOST_PLACES)] for step in range(MOST_PLACES + 1)}
    ends = {there[0], there[-1]}
    ranked = sorted(there, key=lambda size: (size not in ends, -counts[size], size not in evenly))
    return ranked[:MOST_PLACES]


def _gives_way(ranked: Sequence[float], size: float) -> int:
    """How soon a size goes where there is no room; the first of them never."""
    at = ranked.index(size)
    return at if at >= FEWEST_PLACES else 0


def _ranked(asked: Asked, out: Terminal) -> Iterator[str]:
    """A table for each thing that ways are ranked at, the first named in a sentence; of many a line each."""
    found = asked.rankings
    if len(found) > TABLES:
        yield from _groups(asked, found, out)
        return
    each = max(3, MOST // min(len(found), TABLES))
    for title, rows in found:
        yield out.wrap(f"{title}: {_verdict(asked, rows)}" if title else _verdict(asked, rows), "")
        yield from _table(asked, rows[:each], out, first=rows[0], left=len(rows) - each)


def _groups(asked: Asked, found: Sequence[tuple[str, list[Row]]], out: Terminal) -> Iterator[str]:
    """A line for each thing that ways are ranked at: the first, those as good, and the next."""
    cells = []
    for title, (first, *others) in found[:MOST_GROUPS]:
        alike = [asked.name(row) for row in others if asked.alike(first, row)]
        behind = next((row for row in others if not asked.alike(first, row)), None)
        after = f"{asked.name(behind)} {asked.against(first, behind)}" if behind else ""
        size = "" if asked.sentence.sizes else asked.size(first)
        cells.append((title, asked.name(first), size, asked.value(first), some(alike, 1), after))
    heading, *lines = out.table(*known(GROUP_COLUMNS, cells, unknown=""))
    yield out.paint(heading, "dim")
    yield from lines
    if more := found[MOST_GROUPS:]:
        yield out.wrap(f"… and {len(more)} more, as {more[0][0]}: name one", "")


def _verdict(asked: Asked, rows: Sequence[Row]) -> str:
    """`fastest is batch, 27.4 GB/s ± 0.4 %; graph is as fast within the uncertainty.`"""
    first = rows[0]
    said = {"best": "fastest", "slowest": "slowest", "peak": "highest"}[asked.sentence.want]
    text = f"{said} is {asked.name(first)}, {asked.value(first)}"
    if size := asked.size(first):
        text += f" at {size}" if len({asked.size(row) for row in rows}) > 1 else ""
    alike = [asked.name(row) for row in rows[1:] if asked.alike(first, row)]
    if asked.sentence.want == "best" and alike:
        verb = "are" if len(alike) > 1 else "is"
        text += f"; {some(alike, 3)} {verb} as fast within the uncertainty"
    return f"{text}."


def _table(
    asked: Asked, rows: Sequence[Row], out: Terminal, first: Row | None = None, left: int = 0
) -> Iterator[str]:
    shown = rows if first else rows[:MOST]
    cells = [asked.cells(row, first) for row in shown]
    heading, *lines = out.table(*known(COLUMNS, cells, unknown=""))
    yield out.paint(heading, "dim")
    yield from lines
    if (more := left if first else len(rows) - len(shown)) > 0:
        yield out.wrap(f"… and {plural(more, 'row')} more: name a size or a value, or see {_list(asked)}", "")


def _no_crossover(asked: Asked) -> str:
    if asked.one_is_left:
        axes = " ".join(f"{axis}={'|'.join(values)}" for axis, values in asked.sentence.axes.items())
        return f"{asked.dropped_text}, so the run tells no crossover with it: leave {axes} out."
    names = [name for names in asked.ways.values() for name, _ in names]
    met = asked.segments
    if not met:
        return (
            "A crossover is between two ways to move the same bytes, and the run has "
            f"{names[0] if names else 'none'} of these: name two, as in 'crossover copy zero-copy'."
        )
    said = "; ".join(
        f"{parts.ARROWS[direction]}: {shape.segments_text(found, format_bytes)}"
        for direction, found in met.items()
    )
    lost = f"{asked.dropped_text}. " if asked.dropped else ""
    these = "the others" if lost else "these ways"
    return f"{lost}None of {these} overtakes another where both were measured. Fastest {said}."
