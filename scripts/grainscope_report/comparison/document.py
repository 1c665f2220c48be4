"""A comparison as sentences, as sections of paragraphs and tables, and for programs as CSV and JSON."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from grainscope_report import naming, statistics
from grainscope_report.commands import files
from grainscope_report.comparison import verdicts
from grainscope_report.comparison.sides import MEASURED, Answer, Question, Side
from grainscope_report.comparison.verdicts import (
    ALL,
    FAILED,
    FASTER,
    FEWEST_NODES,
    LIKELIES,
    MISSING,
    NEW_ONLY,
    NOT_COMPARABLE,
    SAME,
    SLOWER,
    UNCLEAR,
    Against,
    Comparison,
    Power,
    Row,
    Unmatched,
)
from grainscope_report.loading import quoted
from grainscope_report.machine import letter, spoken_fact
from grainscope_report.units import cut, format_percent, format_rate, format_time, some
from grainscope_report.writing import Column, Section, csv_text, json_text

ROW_COLUMNS = (
    Column("time ×", right=True),
    Column("95 %", optional=2),
    Column("base", right=True),
    Column("new", right=True),
    Column("visits", right=True, optional=3),
    Column("probability", right=True, optional=4),
    Column("family", whole=True),
    Column("question", wraps=True),
)
MOST_WARNINGS = 3
MOST_REASONS = 6
FACT = 40  # letters of a fact
ONE_MACHINE = "that machine"
MOST_CAUSES = 3
MOST_SIDES = 6  # of more the verdicts are counted
NO_CAUSE = "The environments differ in nothing that is known to move times"
CLOCKS = {
    "gated": "gated (events behind a gate)",
    "open": "open (events)",
    "host": "host (CPU's clock)",
    "quiet": "quiet (CPU's clock, on CPUs without a neighbour)",
}
FORMAT = 3
# Of questions that have no verdict of time, in this order.
UNMATCHED = {FAILED: "failed", MISSING: "missing", NOT_COMPARABLE: "not comparable", NEW_ONLY: "only new"}
CSV_COLUMNS = (
    "new", "verdict", "label", "family", "question", "axes", "ratio", "low", "high", "probability", "p",
    "clock", "base_s", "new_s", "each", "base_gb_s", "new_gb_s", "base_visits", "new_visits", "base_sites",
    "new_sites", "why",
)  # fmt: skip


def verdict(against: Against, comparison: Comparison) -> str:
    """Faster in so many questions, slower in so many; or why that cannot be told."""
    name = letter(comparison.sides.index(against.new))
    if not against.decided:
        about = "" if len(comparison.against) == 1 else f" of {name}"
        return f"Nothing could be decided{about}, because {undecided(against, comparison)}"
    counts, asked, left = against.counts, len(against.rows), _not_compared(against, name)
    if counts[SAME] == asked:
        return f"{name} is the same within {share(comparison.threshold)} in all of {asked} questions{left}."
    rest = (
        f"{counts[SAME]} are the same within {share(comparison.threshold)}, "
        f"{asked - against.decided} cannot be told{left}"
    )
    if counts[FASTER] or counts[SLOWER]:
        faster, slower = counts[FASTER], counts[SLOWER]
        return f"{name} is faster in {faster} and slower in {slower} of {asked} questions; {rest}."
    return f"{name} is certainly faster or slower in none of {asked} questions; {rest}."


def _not_compared(against: Against, name: str) -> str:
    """How many of the base's questions are in no count of the verdict, or nothing where all are."""
    lacks, other = against.unanswered, against.counts[NOT_COMPARABLE]
    said = [f"{name} does not answer {lacks} of {letter(0)}'s questions"] if lacks else []
    said += [f"{other} {'is' if other == 1 else 'are'} not comparable"] if other else []
    return f"; {', '.join(said)}" if said else ""


def undecided(against: Against, comparison: Comparison) -> str:
    """Why nothing was decided, and the command that would decide."""
    if not against.rows and against.counts[NOT_COMPARABLE]:
        there = [one for one in against.unmatched if one.question.label == verdicts.MEASURED]
        reasons = Counter(one.reason for one in there if one.kind == NOT_COMPARABLE)
        return f"no measured question of both can be compared: {reasons.most_common(1)[0][0]}."
    if not against.rows:
        return "no measured question is in both; this would: `grainscope --preset=quick --out DIR` on both."
    why, _ = Counter(row.verdict.why for row in against.rows).most_common(1)[0]
    if why == verdicts.TYPE_B_UNKNOWN:
        return unknown_type_b(against, comparison)
    if why == verdicts.NO_TYPE_A:
        names = _letters(against, comparison, lambda answer: not answer.a)
        return (
            f"{names} came to each case once and nothing tells what visits differ by; this would: "
            f"`grainscope --benchmark_repetitions=3 --out DIR` in place of {names}."
        )
    if why == verdicts.A_SITE:
        return (
            f"a GPU or node of the new machine fell behind its others; `{files.program()} summary "
            f"{quoted(against.new.paths[0])}` names it."
        )
    said = f"whatever changed is smaller than these runs can show; {share(comparison.threshold)} or less"
    visits = [one.visits for one in against.power]
    runs = [one.runs for one in against.power]
    if None not in visits:
        return f"{said}, this would: `grainscope --benchmark_repetitions={max(visits)} --out DIR` on both."
    if None not in runs and comparison.base.setup == against.new.setup:
        # `--pool` would make one side of them.
        return (
            f"{said}, this would: `grainscope repeat {max(runs)} --out DIR` before and after what changed on "
            "the machine, and the two folders compared."
        )
    if None not in runs:
        return f"{said}, this would: {max(runs)} runs of each side, compared with `--pool`."
    return f"{said}, no number of runs would: give a larger `--threshold`."


def unknown_type_b(against: Against, comparison: Comparison) -> str:
    """Whose runs differ by nobody knows what, and the command that would tell."""
    if comparison.base.foreign:
        return (
            "Google Benchmark's own JSON does not tell what runs differ by, and no table of type B knows it; "
            "runs of `grainscope` would."
        )
    names = _letters(against, comparison, lambda answer: not answer.b)
    where = _unknown_machines(against, comparison)
    paths = " ".join(quoted(side.paths[0]) for side in (comparison.base, against.new))
    return (
        f"what runs on the machine{'' if where == ONE_MACHINE else 's'} of {names} differ by (type B) is "
        "not known; this would: "
        f"`grainscope repeat 3 --out DIR` on {where}, then `{files.program()} compare {paths} --type-b DIR`."
    )


def _unknown_machines(against: Against, comparison: Comparison) -> str:
    """Which machines' runs differ by nobody knows what, in a sentence."""
    names = _letters(against, comparison, lambda answer: not answer.b)
    same = comparison.base.machine == against.new.machine
    return ONE_MACHINE if same or len(names) == 1 else "each of the two machines"


def likely(against: Against, comparison: Comparison) -> list[str]:
    """What is likely and not certain, with what chance makes of that; and what type B keeps open."""
    counts, asked, unknown = against.counts, len(against.rows), _unknown(against)
    said = []
    if any(counts[name] for name in LIKELIES):
        source = (
            "two runs of one machine may differ as much"
            if unknown == asked
            else f"by chance about {against.by_chance / 2:.0f} each way of {asked}"
        )
        faster, slower = (counts[name] for name in LIKELIES)
        said.append(f"Likely but not certain: {faster} faster, {slower} slower; {source}.")
    if unknown and against.decided:
        where = "it" if _unknown_machines(against, comparison) == ONE_MACHINE else "each"
        hint = f"`grainscope repeat 3 --out DIR` on {where}, `--type-b DIR` here."
        said.append(
            f"Of {unknown} questions {unknown_type_b(against, comparison)}"
            if comparison.base.foreign
            else f"Type B of {unknown} questions is unknown: {hint}"
        )
    return said


def more_than_chance(against: Against) -> bool:
    """Whether what is likely is worth a look: nobody knows what chance makes so, or it hardly makes so many.

    Chance makes about as many faster as slower. More than two roots above that are seldom by chance, but for
    rows that one run makes slower together.
    """
    usual = against.by_chance / 2
    most = max(against.counts[name] for name in LIKELIES)
    return _unknown(against) > 0 or most > usual + 2 * math.sqrt(usual)


def _unknown(against: Against) -> int:
    return sum(row.verdict.why == verdicts.TYPE_B_UNKNOWN for row in against.rows)


def share(threshold: float) -> str:
    """A threshold in percent."""
    return format_percent(threshold).replace(".0 %", " %")


def _letters(against: Against, comparison: Comparison, lacks: Callable[[Answer], bool]) -> str:
    """The sides of which most answers lack something."""
    sides: Sequence[tuple[Side, list]] = [
        (comparison.base, [row.base for row in against.rows]),
        (against.new, [row.new for row in against.rows]),
    ]
    found = [
        letter(comparison.sides.index(side))
        for side, answers in sides
        if 2 * sum(map(lacks, answers)) > len(answers)
    ]
    return " and ".join(found) or "a side"


def row_cells(row: Row) -> tuple[str, ...]:
    """The row's cells under COLUMNS; rates where both sides have one, else times."""
    found = row.verdict
    rates = row.base.gb_s and row.new.gb_s
    label = "" if row.question.label == MEASURED else f" ({row.question.label})"
    return (
        f"{found.ratio:.3f}",
        f"[{found.low:.3f}, {found.high:.3f}]" if found.low is not None else "-",
        _quantity(row.base, bool(rates)),
        _quantity(row.new, bool(rates)),
        f"{len(row.base.visits)}, {len(row.new.visits)}",
        f"{min(found.probability, 0.999):.1%}".replace("%", " %") if found.probability else "-",
        row.question.family if row.question.axes else "-",
        row.base.spoken + label,
    )


def _quantity(answer: Answer, rate: bool) -> str:
    return f"{format_rate(answer.gb_s)} GB/s" if rate else format_time(answer.seconds)


def overall(rows: Sequence[Row]) -> str:
    """The geometric mean of the ratios of all rows."""
    return f"{statistics.geometric_mean([row.verdict.ratio for row in rows]):.3f}" if rows else "-"


def sections(
    comparison: Comparison, most: int | None, counted: bool = True, brief: bool = False
) -> list[Section]:
    """The report, verdict first; at most `most` of the rows that differ, None for all there is to say.

    `counted`: a row that stands for its family says for how many of its questions. `brief`: what could have
    been shown is a sentence, not a table, and what else differs is a number alone.
    """
    several = len(comparison.against) > 1
    if most is not None and not several:
        # One screen: what differs first, then what may be the cause.
        (against,) = comparison.against
        changed = _changed(comparison, against, "", most, counted)
        first = _verdicts(comparison)
        if brief:
            first = replace(first, paragraphs=(*first.paragraphs, *_power_said(comparison, against)))
        parts = [first, _sides(comparison, most), *changed, *_differences(comparison, most, brief)]
        parts += [] if brief else _power(comparison, against, "")
        return [*parts, *_unmatched(against, "", (FAILED,)), *_rest(comparison)]
    parts = [_verdicts(comparison), _sides(comparison, most), *_outliers(comparison)]
    parts += _differences(comparison, most)
    if most is None:
        for against in comparison.against:
            where = f"{_letter(comparison, against)}: " if several else ""
            parts += _changed(comparison, against, where, most)
            parts += _power(comparison, against, where)
        parts.append(_counts(comparison))
        for against in comparison.against:
            where = f"{_letter(comparison, against)}: " if several else ""
            parts += _families(against, where)
            parts += _unmatched(against, where, tuple(UNMATCHED))
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
        return Section(verdict(against, comparison), tuple(likely(against, comparison)))
    said = [verdict(against, comparison) for against in comparison.against]
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
    return Section(first, (*listed, *([verdict(why, comparison)] if why else [])))


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


def _differences(comparison: Comparison, most: int | None, brief: bool = False) -> Iterator[Section]:
    """Facts that differ from the base's and are known to move times; the others by name, or all of them.

    `brief`: the command that shows the others is left to --full, which shows them itself.
    """
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    base: dict[str, str] = {}
    causes: dict[str, str] = {}
    for against in comparison.against:
        for difference in against.differences:
            base[difference.fact] = spoken_fact(difference.fact, difference.base)
            causes[difference.fact] = difference.cause or ""
            new = spoken_fact(difference.fact, difference.new)
            found[difference.fact][new].append(_letter(comparison, against))
    if not found:
        return
    several = len(comparison.against) > 1
    shown = [fact for fact in found if causes[fact]]
    others = [fact for fact in found if not causes[fact]]
    if most is not None:
        shown, others = shown[:MOST_CAUSES], [*shown[MOST_CAUSES:], *others]
    title = "The environments differ in what may be the cause" if shown else NO_CAUSE
    said = []
    if shown and most is not None and not several:
        # A screen has no room for a table beside that of what changed.
        news = {fact: next(iter(found[fact])) for fact in shown}
        text = "; ".join(f"{causes[fact]}: {base[fact]} → {news[fact]}" for fact in shown) + "."
        facts = "1 other fact differs" if len(others) == 1 else f"{len(others)} other facts differ"
        more = f" {facts}{'' if brief else f': {_env_diff(comparison)}'}." if others else ""
        yield Section(title, (text + more,), (), ())
        return
    if others and most is not None:
        too = ", too" if shown else ""
        of = f" of {letter(1)}" if several else ""
        said.append(f"They differ in {some(others, 4)}{too}: {_env_diff(comparison)} shows all{of}.")
    elif others:
        shown += others
    rows = tuple(
        (
            causes[fact] or "-",
            fact,
            cut(base[fact], FACT),
            "; ".join(
                f"{cut(value, FACT)} ({', '.join(who)})" if several else cut(value, FACT)
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


def _env_diff(comparison: Comparison) -> str:
    """The command that shows in what the base and the first of the others differ."""
    paths = (quoted(side.paths[0]) for side in comparison.sides[:2])
    return f"`{files.program()} env diff {' '.join(paths)}`"


def _counts(comparison: Comparison) -> Section:
    kinds = (*ALL, *UNMATCHED)
    names = (*ALL, *UNMATCHED.values())
    columns = (Column(""), *(Column(name, right=True) for name in names), Column("time ×", right=True))
    rows = tuple(
        (
            f"{_letter(comparison, against)} {against.new.label}",
            *(str(against.counts[kind]) for kind in kinds),
            overall(against.rows),
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
            outlier.node,
            SLOWER if outlier.slower else FASTER,
            outlier.family,
            f"{outlier.rows} of {outlier.of}",
            f"{outlier.ratio:.2f}",
            f"{outlier.worst:.2f}",
            outlier.question,
        )
        for outlier in comparison.outliers
    )
    said = f"Against the other machines of {comparison.nodes}, beyond what these differ by among themselves."
    yield Section("Machines that stand out", (said,), columns, rows)


def _changed(
    comparison: Comparison, against: Against, where: str, most: int | None, counted: bool = True
) -> Iterator[Section]:
    """What is certain, then what is likely, each by the size of the change.

    Where one screen has no room for all, the largest change of each family stands for the others.
    """
    left = most
    for kinds, title in (((SLOWER, FASTER), "faster or slower"), (LIKELIES, "likely, not certain")):
        rows = [row for row in against.rows if row.verdict.verdict in kinds]
        if kinds is LIKELIES and most is not None and not more_than_chance(against):
            continue
        rows.sort(key=lambda row: -abs(math.log(row.verdict.ratio)))
        heading = f"{where}{title}" if where else title[0].upper() + title[1:]
        columns, lines = ROW_COLUMNS, tuple((row.verdict.verdict, *row_cells(row)) for row in rows)
        if left is not None and len(rows) > left:
            shown, families = _by_family(rows, against.rows, left)
            heading += _how_many(len(shown), families, len(rows))
            lines = tuple((row.verdict.verdict, *row_cells(row)) for row, _ in shown)
            if counted:
                columns = (Column("questions", right=True, optional=1), *ROW_COLUMNS)
                lines = tuple((row.verdict.verdict, count, *row_cells(row)) for row, count in shown)
        if lines:
            yield Section(heading, (), (Column(_letter(comparison, against)), *columns), lines)
        left = None if left is None else max(0, left - len(lines))


def _by_family(rows: Sequence[Row], of: Sequence[Row], most: int) -> tuple[list[tuple[Row, str]], int]:
    """The first row of each family and verdict, and how many there are of the family's questions.

    Where there is room for more, the next rows by size stand among them. The number is that of such firsts.
    """
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault((row.verdict.verdict, row.question.family), row)
    there = Counter((row.verdict.verdict, row.question.family) for row in rows)
    asked = Counter(row.question.family for row in of)
    counts = {id(row): f"{there[key]} of {asked[key[1]]}" for key, row in first.items()}
    chosen = [*first.values(), *(row for row in rows if id(row) not in counts)][:most]
    kept = {id(row) for row in chosen}
    return [(row, counts.get(id(row), "")) for row in rows if id(row) in kept], len(first)


def _how_many(shown: int, families: int, rows: int) -> str:
    some_of = f", the {shown} largest" if shown < families else ""
    more = " and the next" if shown > families else ""
    return f", the largest change of each family{more}{some_of} (--full shows all {rows})"


def _power_said(comparison: Comparison, against: Against) -> Iterator[str]:
    """What this pair could have shown, and what the threshold needs, in a sentence."""
    goal, parts = f"{share(comparison.threshold)}: ", []
    for one in against.power:
        _, _, change, _, visits, runs = _power_cells(one)
        takes = f"{runs} runs" if runs != "none" else "no number of runs"
        takes = takes if visits == "none" else "1 visit" if visits == "1" else f"{visits} visits"
        parts.append(f"{one.clock} {change} ({goal if not parts else ''}{takes})")
    if parts:
        yield f"Half of the questions could show {', '.join(parts)}."


def _power(comparison: Comparison, against: Against, where: str) -> Iterator[Section]:
    """What this pair could have shown, and what the threshold needs."""
    if not against.power:
        return
    goal = share(comparison.threshold)
    columns = (
        Column("clock"), Column("questions", right=True), Column("change", right=True),
        Column("a lone one", right=True), Column(f"visits for {goal}", right=True),
        Column(f"or runs a side for {goal}", right=True),
    )  # fmt: skip
    rows = tuple(_power_cells(one) for one in against.power)
    bound = "" if all(one.known for one in against.power) else " (≥: type B is not known and adds to it)"
    title = f"The smallest change that these runs could show, in half of the questions{bound}"
    yield Section(f"{where}{title}", (), columns, rows)


def _power_cells(power: Power) -> tuple[str, ...]:
    least = "" if power.known else "≥ "
    counts = ("none" if count is None else f"{least}{count}" for count in (power.visits, power.runs))
    changes = (f"{least}{format_percent(size)}" for size in (power.shows, power.alone))
    return CLOCKS[power.clock], str(power.questions), *changes, *counts


def _rest(comparison: Comparison) -> Iterator[Section]:
    """One line on everything that --full would show."""
    counts: Counter[str] = Counter()
    for against in comparison.against:
        counts.update({kind: against.counts[kind] for kind in UNMATCHED})
    told = [f"{counts[kind]} {name}" for kind, name in UNMATCHED.items() if counts[kind]]
    told += [
        f"{len(against.modelled)} modelled ({_modelled_verdicts(against)})"
        for against in comparison.against
        if against.modelled
    ]
    left = f"Beside these {', '.join(told)}; --full" if told else "--full"
    yield Section(f"{left} shows every row with its reason.")


def _families(against: Against, where: str) -> Iterator[Section]:
    columns = (Column("family"), *(Column(name, right=True) for name in ALL), Column("time ×", right=True))
    rows = tuple(
        (family.name, *(str(family.counts[name]) for name in ALL), f"{family.ratio:.3f}")
        for family in against.families
    )
    if rows:
        yield Section(f"{where}by family" if where else "By family", (), columns, rows)


def _unmatched(against: Against, where: str, kinds: Sequence[str]) -> Iterator[Section]:
    """Questions of these kinds, which have no verdict of time, by family and reason, what failed first."""
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in (one for one in against.unmatched if one.kind in kinds):
        alike[one.kind, one.question.family].append(one.reason)
    found = {
        (*key, reason): count
        for key, there in alike.items()
        for reason, count in naming.counted_reasons(there).items()
    }
    if not found:
        return
    ordered = sorted(found.items(), key=lambda one: (kinds.index(one[0][0]), -one[1], one[0]))
    rows = tuple((UNMATCHED[kind], str(count), family, reason) for (kind, family, reason), count in ordered)
    columns = (Column("what"), Column("rows", right=True), Column("family"), Column("why", whole=True))
    yield Section(f"{where}not compared" if where else "Not compared", (), columns, rows)


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
            lines = tuple(row_cells(row) for row in changed[:MOST_REASONS])
            yield Section("Modelled", (said,), ROW_COLUMNS if lines else (), lines)


def _modelled_verdicts(against: Against) -> str:
    counts = Counter(row.verdict.verdict for row in against.modelled)
    return ", ".join(f"{counts[name]} {name}" for name in (SLOWER, FASTER, SAME) if counts[name])


def as_csv(comparison: Comparison) -> str:
    """Every row of every new side, those that have no verdict of time with `failed`, `missing`,
    `not comparable` or `new`.
    """
    axes: dict[Question, str] = {}

    def lines() -> Iterator[list[Any]]:
        for against in comparison.against:
            for question, entry in _entries(against):
                if question not in axes:
                    axes[question] = json.dumps(entry["axes"], ensure_ascii=False)
                entry |= {"new": against.new.label, "axes": axes[question]}
                yield [entry.get(column) for column in CSV_COLUMNS]

    return csv_text(CSV_COLUMNS, lines())


def as_json(comparison: Comparison) -> str:
    """The whole comparison; what is not known is null."""
    document = {
        "comparison_format": FORMAT,
        "threshold": comparison.threshold,
        "alpha": verdicts.ALPHA,
        "likely": verdicts.LIKELY,
        "base": _side_entry(comparison.base),
        "new": [
            _side_entry(against.new)
            | {
                "verdict": verdict(against, comparison),
                "decided": against.decided,
                "counts": dict(against.counts),
                "differences": [
                    vars(difference) | {"cause": difference.cause} for difference in against.differences
                ],
                "power": [vars(one) for one in against.power],
                "families": [
                    {"family": family.name, "counts": dict(family.counts), "ratio": family.ratio}
                    for family in against.families
                ],
                "rows": [entry for _, entry in _entries(against)],
            }
            for against in comparison.against
        ],
        "nodes": comparison.nodes,
        "outliers": [vars(outlier) for outlier in comparison.outliers],
    }
    return json_text(document, allow_nan=False) + "\n"


def _side_entry(side: Side) -> dict[str, Any]:
    return {
        "label": side.label,
        "files": [str(path) for path in side.paths],
        "machine": side.provenance,
        "date": side.date,
        "warnings": list(side.warnings),
    }


def _entries(against: Against) -> Iterator[tuple[Question, dict[str, Any]]]:
    """Every row with its question."""
    for one in (*against.rows, *against.modelled):
        yield one.question, _row_entry(one)
    for one in against.unmatched:
        yield one.question, _unmatched_entry(one)


def _question_entry(question: Question, spoken: str) -> dict[str, Any]:
    return {
        "label": question.label,
        "family": question.family,
        "question": spoken,
        "axes": dict(question.axes),
    }


def _row_entry(row: Row) -> dict[str, Any]:
    found = row.verdict
    return {
        "verdict": found.verdict,
        **_question_entry(row.question, row.base.spoken),
        "ratio": found.ratio,
        "low": found.low,
        "high": found.high,
        "probability": found.probability,
        "p": found.p,
        "clock": row.base.clock,
        "each": row.base.each,
        **_answer_entry("base", row.base),
        **_answer_entry("new", row.new),
        "why": found.why,
    }


def _answer_entry(side: str, answer: Answer) -> dict[str, Any]:
    return {
        f"{side}_s": answer.seconds,
        f"{side}_gb_s": answer.gb_s,
        f"{side}_visits": len(answer.visits),
        f"{side}_sites": answer.sites,
    }


def _unmatched_entry(unmatched: Unmatched) -> dict[str, Any]:
    return {
        "verdict": unmatched.kind,
        **_question_entry(unmatched.question, unmatched.spoken),
        "why": unmatched.reason,
    }
