"""A comparison as sections of paragraphs and tables, for the terminal and as Markdown."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import reasons
from grainscope_report.comparison import rows_text
from grainscope_report.comparison.joined import FAILED, MISSING, NEW_ONLY, Against, Comparison, Row
from grainscope_report.comparison.outliers import FEWEST_NODES
from grainscope_report.comparison.verdicts import FASTER, SAME, SLOWER, UNCLEAR
from grainscope_report.machine import letter
from grainscope_report.terminal import Column
from grainscope_report.units import format_percent

MOST_FACTS = 12
MOST_REASONS = 6
MOST_UNCLEAR = 10


@dataclass(frozen=True)
class Section:
    """A part of the report: a heading, paragraphs, and below them a table where there are columns."""

    title: str
    paragraphs: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def sections(comparison: Comparison, most: int | None) -> list[Section]:
    """The whole report, environments first; of rows that differ at most `most` a side, None for all."""
    several = len(comparison.against) > 1
    parts = [*_sides(comparison), *_differences(comparison), _counts(comparison), *_outliers(comparison)]
    for at, against in enumerate(comparison.against):
        where = f"{letter(at + 1)} ({against.new.label})" if several else ""
        parts += _changed(against, where, most)
        if most is None or not several:
            parts += _perhaps(against, where, comparison.threshold, most and MOST_UNCLEAR)
        parts += _families(against) if not several else ()
        parts += _unmatched(against, where)
    return [*parts, *_unclear(comparison), *_modelled(comparison)]


def _sides(comparison: Comparison) -> Iterator[Section]:
    columns = (Column(""), Column("runs", right=True, optional=1), Column("machine"), Column("file"))
    rows = tuple(
        (
            f"{letter(at)}{' (base)' if at == 0 else ''}",
            str(len(side.paths)),
            side.provenance,
            ", ".join(map(str, side.paths)),
        )
        for at, side in enumerate(comparison.sides)
    )
    warnings = tuple(f"Warning: {warning}." for side in comparison.sides for warning in side.warnings)
    yield Section("Compared", warnings, columns, rows)


def _differences(comparison: Comparison) -> Iterator[Section]:
    """Each fact that differs from the base's, with the new sides by what they have instead."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    base: dict[str, str] = {}
    for at, against in enumerate(comparison.against):
        for one in against.differences:
            base[one.fact] = one.base or "-"
            found[one.fact][one.new or "-"].append(letter(at + 1))
    if not found:
        yield Section("Environments", ("They do not differ in anything that the files tell.",))
        return
    several = len(comparison.against) > 1
    # Each side's differences are in order of weight, but not those of all sides together.
    weight = {
        fact: min(
            [at for side in comparison.against for at, one in enumerate(side.differences) if one.fact == fact]
        )
        for fact in found
    }
    shown = sorted(found, key=lambda fact: (weight[fact], fact))
    rows = tuple(
        (
            fact,
            _cut(base[fact]),
            "; ".join(
                f"{_cut(value)} ({', '.join(who)})" if several else _cut(value)
                for value, who in found[fact].items()
            ),
        )
        for fact in shown[:MOST_FACTS]
    )
    left = len(shown) - MOST_FACTS
    more = (f"{left} more: `grainscope-report env diff` shows them all.",) if left > 0 else ()
    new = "new" if several else letter(1)
    yield Section(
        "Environments differ", more, (Column("fact"), Column(f"{letter(0)} (base)"), Column(new)), rows
    )


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _counts(comparison: Comparison) -> Section:
    kinds = (SAME, FASTER, SLOWER, UNCLEAR, FAILED, MISSING, NEW_ONLY)
    names = (*kinds[:-1], "only new")
    columns = (Column(""), *(Column(name, right=True) for name in names), Column("time ×", right=True))
    rows = tuple(
        (
            f"{letter(at + 1)} {against.new.label}",
            *(str(against.counts[kind]) for kind in kinds),
            rows_text.overall(against.rows),
        )
        for at, against in enumerate(comparison.against)
    )
    shown = format_percent(comparison.threshold).replace(".0 %", " %")
    said = (
        f"Slower and faster: by more than {shown} of the time, certain at 95 % over all rows of a side "
        f"(Holm). Same: the row's own 95 % interval lies within {shown}. Time ×: geometric mean of the "
        "times of the rows that both have, over the base's."
    )
    return Section("Rows by verdict", (said,), columns, rows)


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


def _changed(against: Against, where: str, most: int | None) -> Iterator[Section]:
    changed = [row for row in against.rows if row.verdict.verdict in (SLOWER, FASTER)]
    for verdict in (SLOWER, FASTER):
        rows = [row for row in changed if row.verdict.verdict == verdict]
        rows.sort(key=lambda row: row.verdict.ratio, reverse=verdict == SLOWER)
        yield from _listed(rows, _title(where, verdict), most)


def _perhaps(against: Against, where: str, threshold: float, most: int | None) -> Iterator[Section]:
    """Unclear rows whose values differ by more than the threshold, the furthest apart first."""
    rows = [
        row
        for row in against.rows
        if row.verdict.verdict == UNCLEAR and abs(math.log(row.verdict.ratio)) > math.log1p(threshold)
    ]
    rows.sort(key=lambda row: -abs(math.log(row.verdict.ratio)))
    yield from _listed(rows, _title(where, "unclear, furthest apart"), most)


def _title(where: str, what: str) -> str:
    return f"{where}: {what}" if where else what[0].upper() + what[1:]


def _listed(rows: Sequence[Row], title: str, most: int | None) -> Iterator[Section]:
    if rows:
        shown = rows[:most]
        more = len(rows) - len(shown)
        said = (f"{more} more: --all shows them, --format csv every row.",) if more else ()
        yield Section(title, said, rows_text.COLUMNS, tuple(map(rows_text.cells, shown)))


def _families(against: Against) -> Iterator[Section]:
    names = (SAME, FASTER, SLOWER, UNCLEAR)
    columns = (Column("family"), *(Column(name, right=True) for name in names), Column("time ×", right=True))
    rows = tuple(
        (one.name, *(str(one.counts[name]) for name in names), f"{one.ratio:.3f}") for one in against.families
    )
    if rows:
        yield Section("By family", (), columns, rows)


def _unmatched(against: Against, where: str) -> Iterator[Section]:
    """Questions that one side alone answers, by family and reason, what failed first."""
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in against.unmatched:
        alike[one.kind, one.question.family].append(one.reason)
    found = {
        (*key, reason): count
        for key, there in alike.items()
        for reason, count in reasons.counted(there).items()
    }
    if not found:
        return
    kinds = (FAILED, MISSING, NEW_ONLY)
    ordered = sorted(found.items(), key=lambda one: (kinds.index(one[0][0]), -one[1], one[0]))
    shown = [one for one in ordered if one[0][0] == FAILED]
    for kind in (MISSING, NEW_ONLY):
        shown += [one for one in ordered if one[0][0] == kind][:MOST_REASONS]
    names = {FAILED: "failed", MISSING: "missing", NEW_ONLY: "only new"}
    rows = tuple((names[kind], str(count), family, reason) for (kind, family, reason), count in shown)
    left = len(ordered) - len(shown)
    more = (f"{left} more kinds: the JSON has every row.",) if left else ()
    columns = (Column("what"), Column("rows", right=True), Column("family"), Column("why"))
    yield Section(f"{where}: not on both sides" if where else "Not on both sides", more, columns, rows)


def _unclear(comparison: Comparison) -> Iterator[Section]:
    unclear = Counter(
        rows_text.reason(row)
        for against in comparison.against
        for row in against.rows
        if row.verdict.verdict == UNCLEAR
    )
    if unclear:
        few = any(row.verdict.low is None for one in comparison.against for row in one.rows)
        hint = ("`grainscope --benchmark_repetitions=5` visits every case five times.",) if few else ()
        rows = tuple((str(count), reason) for reason, count in unclear.most_common(MOST_REASONS))
        yield Section("Unclear", hint, (Column("rows", right=True), Column("why")), rows)


def _modelled(comparison: Comparison) -> Iterator[Section]:
    for at, against in enumerate(comparison.against):
        if against.modelled:
            counts = Counter(row.verdict.verdict for row in against.modelled)
            told = ", ".join(f"{counts[name]} {name}" for name in (SAME, FASTER, SLOWER) if counts[name])
            said = (
                f"{letter(at + 1)}: of {len(against.modelled)} rows that were computed and not measured "
                f"{told}. They are in no count above and in no exit status."
            )
            changed = [row for row in against.modelled if row.verdict.verdict != SAME]
            cells: Sequence[tuple[str, ...]] = [rows_text.cells(row) for row in changed[:MOST_REASONS]]
            yield Section("Modelled", (said,), rows_text.COLUMNS if cells else (), tuple(cells))
