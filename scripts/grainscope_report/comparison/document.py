"""A comparison as sections of paragraphs and tables, for the terminal and as Markdown."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import reasons
from grainscope_report.comparison import rows_text, sentences
from grainscope_report.comparison.joined import FAILED, MISSING, NEW_ONLY, Against, Comparison
from grainscope_report.comparison.outliers import FEWEST_NODES
from grainscope_report.comparison.verdicts import ALL, FASTER, LIKELIES, SAME, SLOWER, UNCLEAR, Power
from grainscope_report.machine import letter
from grainscope_report.terminal import Column
from grainscope_report.units import format_percent

MOST_WARNINGS = 3
MOST_REASONS = 6
MOST_SIDES = 6  # of more the verdicts are counted
NO_CAUSE = "The environments differ in nothing that is known to move times"
CLOCKS = {
    "gated": "gated (events behind a gate)",
    "open": "open (events)",
    "host": "host (CPU's clock)",
    "quiet": "quiet (CPU's clock, on CPUs without a neighbour)",
}


@dataclass(frozen=True)
class Section:
    """A part of the report: a heading, paragraphs, and below them a table where there are columns."""

    title: str
    paragraphs: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def sections(comparison: Comparison, most: int | None) -> list[Section]:
    """The report, verdict first; at most `most` of the rows that differ, None for all there is to say."""
    several = len(comparison.against) > 1
    parts = [_verdicts(comparison), _sides(comparison, most), *_outliers(comparison)]
    parts += _differences(comparison, most)
    for against in comparison.against if not several or most is None else ():
        where = f"{_letter(comparison, against)}: " if several else ""
        parts += _changed(comparison, against, where, most)
        parts += _power(comparison, against, where)
        if most is not None:
            parts += _unmatched(against, where, (FAILED,))
    if most is None:
        parts.append(_counts(comparison))
        for against in comparison.against:
            where = f"{_letter(comparison, against)}: " if several else ""
            parts += _families(against, where)
            parts += _unmatched(against, where, (FAILED, MISSING, NEW_ONLY))
        parts += [*_unclear(comparison), *_modelled(comparison)]
    else:
        parts += _rest(comparison)
    return parts


def _letter(comparison: Comparison, against: Against) -> str:
    return letter(comparison.sides.index(against.new))


def _verdicts(comparison: Comparison) -> Section:
    """The verdict on each side; of many sides how many of them are slower, faster and undecided."""
    if len(comparison.against) == 1:
        [against] = comparison.against
        return Section(sentences.verdict(against, comparison), tuple(sentences.likely(against, comparison)))
    said = [sentences.verdict(against, comparison) for against in comparison.against]
    if len(said) <= MOST_SIDES:
        return Section(said[0], tuple(said[1:]))
    slower, faster, none = (
        [_letter(comparison, one) for one in comparison.against if wanted(one)]
        for wanted in (
            lambda one: one.counts[SLOWER],
            lambda one: one.counts[FASTER],
            lambda one: not one.decided,
        )
    )
    first = (
        f"Of {len(said)} files {len(slower)} are slower than A in some question, {len(faster)} faster; of "
        f"{len(none)} nothing could be decided."
    )
    listed = [
        f"{what}: {', '.join(names)}." for what, names in (("Slower", slower), ("Faster", faster)) if names
    ]
    why = next((one for one in comparison.against if not one.decided), None)
    return Section(first, (*listed, *([sentences.verdict(why, comparison)] if why else [])))


def _sides(comparison: Comparison, most: int | None) -> Section:
    columns = (
        Column("file"),
        Column("runs", right=True, optional=1),
        Column("path", whole=True),
        Column("machine"),
    )
    rows = tuple(
        (
            f"{letter(at)}{' (base)' if at == 0 else ''}",
            str(len(side.paths)),
            ", ".join(map(str, side.paths)),
            side.provenance,
        )
        for at, side in enumerate(comparison.sides)
    )
    warnings = [f"Warning: {warning}." for side in comparison.sides for warning in side.warnings]
    shown = warnings if most is None else warnings[:MOST_WARNINGS]
    if len(shown) < len(warnings):
        shown = [*shown, f"Warning: {len(warnings) - len(shown)} more, which --full shows."]
    return Section("Compared", tuple(shown), columns, rows)


def _differences(comparison: Comparison, most: int | None) -> Iterator[Section]:
    """Facts that differ from the base's and are known to move times; the others by name, or all of them."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    base: dict[str, str] = {}
    causes: dict[str, str] = {}
    for against in comparison.against:
        for one in against.differences:
            base[one.fact] = one.base or "-"
            causes[one.fact] = one.cause or ""
            found[one.fact][one.new or "-"].append(_letter(comparison, against))
    if not found:
        return
    several = len(comparison.against) > 1
    shown = [fact for fact in found if causes[fact]]
    others = [fact for fact in found if not causes[fact]]
    title = "The environments differ in what may be the cause" if shown else NO_CAUSE
    said = []
    if others and most is not None:
        too = ", too" if shown else ""
        said.append(f"They differ in {_named(others)}{too}: `grainscope-report env diff` shows all.")
    elif others:
        shown += others
    rows = tuple(
        (
            causes[fact] or "-",
            fact,
            _cut(base[fact]),
            "; ".join(
                f"{_cut(value)} ({', '.join(who)})" if several else _cut(value)
                for value, who in found[fact].items()
            ),
        )
        for fact in shown
    )
    columns = (
        Column("likely cause"), Column("fact"), Column(f"{letter(0)} (base)"),
        Column("others" if several else letter(1)),
    )  # fmt: skip
    yield Section(title, tuple(said), columns if rows else (), rows)


def _named(facts: Sequence[str], most: int = 4) -> str:
    more = f" and {len(facts) - most} more" if len(facts) > most else ""
    return ", ".join(facts[:most]) + more


def _cut(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _counts(comparison: Comparison) -> Section:
    kinds = (*ALL, FAILED, MISSING, NEW_ONLY)
    names = (*kinds[:-1], "only new")
    columns = (Column(""), *(Column(name, right=True) for name in names), Column("time ×", right=True))
    rows = tuple(
        (
            f"{_letter(comparison, against)} {against.new.label}",
            *(str(against.counts[kind]) for kind in kinds),
            rows_text.overall(against.rows),
        )
        for against in comparison.against
    )
    said = (
        "Time ×: geometric mean of the times of the questions that both answer, over the base's. "
        "unclear: it cannot be told."
    )
    return Section("Questions by verdict", (said,), columns, rows)


def _outliers(comparison: Comparison) -> Iterator[Section]:
    if comparison.nodes < FEWEST_NODES:
        return
    if not comparison.outliers:
        yield Section("Machines that stand out", (f"None of the {comparison.nodes}.",))
        return
    columns = (
        Column("machine"), Column("is"), Column("family"), Column("rows", right=True),
        Column("time ×", right=True), Column("worst", right=True), Column("in"),
    )  # fmt: skip
    rows = tuple(
        (
            one.node,
            SLOWER if one.slower else FASTER,
            one.family,
            f"{one.rows} of {one.of}",
            f"{one.ratio:.2f}",
            f"{one.worst:.2f}",
            one.question,
        )
        for one in comparison.outliers
    )
    said = f"Against the other machines of {comparison.nodes}, beyond what these differ by among themselves."
    yield Section("Machines that stand out", (said,), columns, rows)


def _changed(comparison: Comparison, against: Against, where: str, most: int | None) -> Iterator[Section]:
    """What is certain, then what is likely, each by the size of the change."""
    left = most
    for kinds, title in (((SLOWER, FASTER), "faster or slower"), (LIKELIES, "likely, not certain")):
        rows = [row for row in against.rows if row.verdict.verdict in kinds]
        if kinds is LIKELIES and most is not None and not sentences.more_than_chance(against):
            continue
        rows.sort(key=lambda row: -abs(math.log(row.verdict.ratio)))
        shown = rows[:left]
        if shown:
            more = (
                f", the {len(shown)} largest of {len(rows)} (--full shows every one)" if shown != rows else ""
            )
            heading = f"{where}{title}" if where else title[0].upper() + title[1:]
            cells = tuple((row.verdict.verdict, *rows_text.cells(row)) for row in shown)
            yield Section(
                f"{heading}{more}", (), (Column(_letter(comparison, against)), *rows_text.COLUMNS), cells
            )
        left = None if left is None else left - len(shown)


def _power(comparison: Comparison, against: Against, where: str) -> Iterator[Section]:
    """What this pair could have shown, and what the threshold needs."""
    if not against.power:
        return
    goal = sentences.share(comparison.threshold)
    columns = (
        Column("clock"), Column("questions", right=True), Column("change", right=True),
        Column("a lone one", right=True), Column(f"visits for {goal}", right=True),
        Column(f"or runs a side for {goal}", right=True),
    )  # fmt: skip
    rows = tuple(_power_cells(one) for one in against.power)
    bound = "" if all(one.known for one in against.power) else " (≥: type B is not known and adds to it)"
    title = f"The smallest change that these runs could show, in half of the questions{bound}"
    yield Section(f"{where}{title}", (), columns, rows)


def _power_cells(one: Power) -> tuple[str, ...]:
    least = "" if one.known else "≥ "
    counts = ("none" if count is None else f"{least}{count}" for count in (one.visits, one.runs))
    changes = (f"{least}{format_percent(size)}" for size in (one.shows, one.alone))
    return CLOCKS[one.clock], str(one.questions), *changes, *counts


def _rest(comparison: Comparison) -> Iterator[Section]:
    """One line on everything that --full would show."""
    counts: Counter[str] = Counter()
    for against in comparison.against:
        counts.update(one.kind for one in against.unmatched)
    names = {FAILED: "failed", MISSING: "missing", NEW_ONLY: "only new"}
    told = [f"{counts[kind]} {name}" for kind, name in names.items() if counts[kind]]
    told += [
        f"{len(against.modelled)} modelled and not measured ({_modelled_verdicts(against)})"
        for against in comparison.against
        if against.modelled
    ]
    left = f"Beside these {', '.join(told)}; --full" if told else "--full"
    yield Section(f"{left} shows every row by family with its reason, --format json all numbers.")


def _families(against: Against, where: str) -> Iterator[Section]:
    columns = (Column("family"), *(Column(name, right=True) for name in ALL), Column("time ×", right=True))
    rows = tuple(
        (one.name, *(str(one.counts[name]) for name in ALL), f"{one.ratio:.3f}") for one in against.families
    )
    if rows:
        yield Section(f"{where}by family" if where else "By family", (), columns, rows)


def _unmatched(against: Against, where: str, kinds: Sequence[str]) -> Iterator[Section]:
    """Questions of these kinds, which one side alone answers, by family and reason, what failed first."""
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in (one for one in against.unmatched if one.kind in kinds):
        alike[one.kind, one.question.family].append(one.reason)
    found = {
        (*key, reason): count
        for key, there in alike.items()
        for reason, count in reasons.counted(there).items()
    }
    if not found:
        return
    ordered = sorted(found.items(), key=lambda one: (kinds.index(one[0][0]), -one[1], one[0]))
    names = {FAILED: "failed", MISSING: "missing", NEW_ONLY: "only new"}
    rows = tuple((names[kind], str(count), family, reason) for (kind, family, reason), count in ordered)
    columns = (Column("what"), Column("rows", right=True), Column("family"), Column("why", whole=True))
    yield Section(f"{where}not on both sides" if where else "Not on both sides", (), columns, rows)


def _unclear(comparison: Comparison) -> Iterator[Section]:
    unclear = Counter(
        row.verdict.why
        for against in comparison.against
        for row in against.rows
        if row.verdict.verdict == UNCLEAR
    )
    if unclear:
        rows = tuple((str(count), reason) for reason, count in unclear.most_common())
        yield Section(
            "Cannot be told", (), (Column("questions", right=True), Column("why", whole=True)), rows
        )


def _modelled(comparison: Comparison) -> Iterator[Section]:
    for against in comparison.against:
        if against.modelled:
            said = (
                f"{_letter(comparison, against)}: of {len(against.modelled)} rows that were computed and not "
                f"measured {_modelled_verdicts(against)}. They are in no count above and in no exit status."
            )
            changed = [row for row in against.modelled if row.verdict.verdict != SAME]
            cells: Sequence[tuple[str, ...]] = [rows_text.cells(row) for row in changed[:MOST_REASONS]]
            yield Section("Modelled", (said,), rows_text.COLUMNS if cells else (), tuple(cells))


def _modelled_verdicts(against: Against) -> str:
    counts = Counter(row.verdict.verdict for row in against.modelled)
    return ", ".join(f"{counts[name]} {name}" for name in (SLOWER, FASTER, SAME) if counts[name])
