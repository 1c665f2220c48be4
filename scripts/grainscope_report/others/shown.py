"""Numbers of another tool beside ours as sections for a screen and Markdown, as CSV and as JSON."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grainscope_report import machine, statistics
from grainscope_report.comparison.document import Section
from grainscope_report.escaping import in_csv
from grainscope_report.others.beside import Pair
from grainscope_report.others.output import RATE, Output
from grainscope_report.result import Result
from grainscope_report.terminal import Column
from grainscope_report.units import format_rate, format_time, significant

FORMAT = 1
_SHORTEST = 20  # letters of a name, at least
_FEWEST = 24  # letters of what differs, below which it is left to --all


@dataclass(frozen=True)
class Import:
    """One file of theirs with its pairs, and the run that they stand beside."""

    path: Path
    output: Output
    pairs: Sequence[Pair]
    result: Result | None


def sections(imports: Sequence[Import], width: int | None) -> Iterator[Section]:
    """A line a benchmark, what differs cut to a width; where that is None a line a number, and all of it."""
    for one in imports:
        yield Section(_title(one), tuple(_notes(one)), *_table(one, width))
        yield from _differs(one) if width is None else ()
        yield from _without(one, width is None)


def _title(one: Import) -> str:
    who = f"{one.output.title}{_on(one.output.gpus)}"
    if one.result is None:
        answered = {pair.theirs.benchmark for pair in one.pairs if pair.counterpart}
        every = {pair.theirs.benchmark for pair in one.pairs}
        return (
            f"{who}: {len(answered)} of {len(every)} benchmarks have a counterpart; --with RUN shows our "
            "numbers beside them."
        )
    ratios = [pair.ratio for pair in one.pairs if pair.ratio]
    beside = f"beside {one.result.path} ({machine.gpus(one.result) or 'no GPU'})"
    if not ratios:
        return f"{who} {beside}: no number of theirs has one of ours beside it."
    middle = statistics.median(ratios)
    return (
        f"{who} {beside}: of {len(one.pairs)} numbers {len(ratios)} stand beside one of ours, which is "
        f"{min(ratios):.2f} to {max(ratios):.2f} of theirs, {middle:.2f} in the middle."
    )


def _on(gpus: Sequence[tuple[str, str]]) -> str:
    names = list(dict.fromkeys(name for name, _ in gpus))
    if not names:
        return ""
    return f" on {', '.join(names)}{f' ×{len(gpus)}' if len(gpus) > 1 else ''}"


def _notes(one: Import) -> Iterator[str]:
    if one.result:
        theirs = {name for name, _ in one.output.gpus}
        ours = {*one.result.environment.gpu_names}
        if theirs and ours and not theirs & ours:
            yield f"Warning: theirs is of {', '.join(sorted(theirs))}, ours of {', '.join(sorted(ours))}."
        if one.output.host and one.result.host and one.output.host != one.result.host:
            yield f"Warning: theirs is of the host {one.output.host}, ours of {one.result.host}."
    for note in one.output.notes:
        yield f"{note[0].upper()}{note[1:]}."


def _table(one: Import, width: int | None) -> tuple[tuple[Column, ...], tuple[tuple[str, ...], ...]]:
    """Theirs, ours and the ratio of what has a counterpart; without a run the filter that runs ours."""
    shown = [
        pair
        for pair in one.pairs
        if pair.counterpart and (pair.ours or (one.result is None and not pair.why))
    ]
    groups = _by_benchmark(shown) if width else [[pair] for pair in shown]
    if not groups:
        return (), ()
    lines = [_line(group, one.result is not None, width is None) for group in groups]
    if one.result is None:
        columns = (
            Column("theirs"), Column("numbers", True, 2) if width else Column("where"),
            Column("value", True, 1), Column("our filter"),
        )  # fmt: skip
        both = sum(_width(columns, lines, at) for at in (2, 3))
        room = width is None or width - 2 - both >= _SHORTEST
        return columns, _fitted(columns, lines, width, (2, 3) if room else (3,))
    columns = (
        Column("theirs"), Column("numbers", True, 4) if width else Column("where"), Column("theirs", True, 2),
        Column("ours", True, 1), Column("ours / theirs", True), Column("95 %", True, 3),
    )  # fmt: skip
    if width is None:
        return columns, tuple(lines)
    lines = _fitted(columns, lines, width, (2, 3, 4))
    used = sum(_width(columns, lines, at) for at in range(len(columns)))
    left = width - 2 - used
    if left < _FEWEST:
        return columns, tuple(lines)
    said = [_cut(group[0].counterpart.differs, left) for group in groups if group[0].counterpart]
    return (*columns, Column("what differs")), tuple(
        (*line, what) for line, what in zip(lines, said, strict=True)
    )


def _width(columns: Sequence[Column], lines: Sequence[tuple[str, ...]], at: int) -> int:
    """How wide a column is, with the gap beside it."""
    return 2 + max(len(columns[at].name), *(len(line[at]) for line in lines))


def _fitted(
    columns: Sequence[Column], lines: Sequence[tuple[str, ...]], width: int | None, kept: Sequence[int]
) -> tuple[tuple[str, ...], ...]:
    """Lines whose names give way to the columns that are to be kept, then the last column too."""
    if width is None:
        return tuple(lines)
    needed = sum(_width(columns, lines, at) for at in kept)
    room = max(width - 2 - needed, _SHORTEST)
    return tuple(
        (_shortened(line[0], room), *line[1:-1], _cut(line[-1], max(width - _SHORTEST - 4, 1)))
        for line in lines
    )


def _shortened(name: str, most: int) -> str:
    """A name without its middle: how it ends tells it from others."""
    tail = 2 * most // 3
    return name if len(name) <= most else f"{name[: most - tail - 1]}…{name[-tail:]}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _by_benchmark(pairs: Iterable[Pair]) -> list[list[Pair]]:
    groups: dict[tuple[str, str, bool], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.theirs.benchmark, _flushed(pair), len(pair.cases) > 1].append(pair)
    return list(groups.values())


def _flushed(pair: Pair) -> str:
    return ", flushed" if pair.theirs.axes.get("flush") == "on" else ""


def _line(group: Sequence[Pair], beside: bool, single: bool) -> tuple[str, ...]:
    first = group[0]
    name = f"{first.theirs.benchmark}{_flushed(first)}"
    where = first.theirs.place if single else str(len(group))
    value = _values([pair.theirs.value for pair in group if pair.theirs.value], first)
    if not beside:
        return name, where, value, first.counterpart.filter if first.counterpart else ""
    ours = _values([each for pair in group for each in pair.ours or ()], first)
    ratios = [pair.ratio for pair in group if pair.ratio]
    if not ratios:
        cases = max(len(pair.cases) for pair in group)
        return name, where, value, ours, f"{cases} cases", ""
    return (
        name,
        where,
        value,
        ours,
        _range([f"{ratio:.3f}" for ratio in (min(ratios), max(ratios))]),
        _interval(group),
    )


def _interval(group: Sequence[Pair]) -> str:
    """How far the intervals reach to a side, in percent; the widest of several."""
    found = [(pair.ratio, pair.interval) for pair in group if pair.ratio]
    if any(interval is None for _, interval in found):
        return "not known"
    widest = max(interval[1] / ratio - 1 for ratio, interval in found if interval)
    return f"±{significant(100 * widest, 2)} %"


def _values(values: Sequence[float], first: Pair) -> str:
    if not values:
        return "–"
    said = format_rate if first.theirs.quantity == RATE else format_time
    unit = f" {RATE}" if first.theirs.quantity == RATE else ""
    return _range([said(each) for each in (min(values), max(values))]) + unit


def _range(ends: Sequence[str]) -> str:
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} … {ends[1]}"


def _differs(one: Import) -> Iterator[Section]:
    found = {pair.theirs.benchmark: pair.counterpart for pair in one.pairs if pair.counterpart}
    if found:
        said = tuple(f"{name}: {each.differs}." for name, each in found.items() if each)
        yield Section("What differs", said)


def _without(one: Import, everything: bool) -> Iterator[Section]:
    """What stands beside nothing, by name and why."""
    groups: dict[str, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for pair in one.pairs:
        if not pair.ours and pair.why:
            groups[_reason(pair)][pair.theirs.benchmark].append(pair)
    if not groups:
        return
    said = []
    for reason, names in groups.items():
        listed = [
            f"{name}{f' ({len(found)})' if len(found) > 1 else ''}"
            if not everything
            else f"{name} ({'; '.join(dict.fromkeys(pair.theirs.place or 'as a whole' for pair in found))})"
            for name, found in names.items()
        ]
        said.append(f"{reason[0].upper()}{reason[1:]}: {', '.join(listed)}.")
    count = sum(len(found) for names in groups.values() for found in names.values())
    yield Section(f"{count} number{'s' * (count > 1)} without one of ours", tuple(said))


def _reason(pair: Pair) -> str:
    place = f" of {pair.theirs.place}"
    return pair.why.removesuffix(place) if pair.why.startswith("the run has no such case") else pair.why


def records(imports: Sequence[Import]) -> Iterator[dict[str, Any]]:
    """Every number of theirs with ours, None where something is not known."""
    for one in imports:
        for pair in one.pairs:
            theirs, site, answer = pair.theirs, pair.theirs.site, pair.counterpart
            low, high = pair.interval or (None, None)
            yield {
                "file": str(one.path), "tool": one.output.tool, "version": one.output.version,
                "benchmark": theirs.benchmark, "gpu": site.get("gpu"), "peer": site.get("peer"),
                "numa": site.get("numa"), "bytes": theirs.bytes, "variant": theirs.variant,
                "quantity": theirs.quantity, "theirs": theirs.value, "runs": theirs.runs,
                "counterpart": answer and answer.filter, "case": " ".join(pair.cases) or None,
                "ours": pair.ours[0] if pair.ours and len(pair.cases) == 1 else None,
                "ratio": pair.ratio, "ratio_low": low, "ratio_high": high,
                "differs": answer and answer.differs, "why": pair.why or None,
            }  # fmt: skip


def as_csv(imports: Sequence[Import]) -> str:
    """Every number as a line."""
    rows = [*records(imports)]
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: in_csv(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def as_json(imports: Sequence[Import]) -> str:
    """Every number as an object, under the files that they are of."""
    files = [
        {
            "file": str(one.path),
            "tool": one.output.tool,
            "version": one.output.version,
            "notes": [*one.output.notes],
        }
        | {"with": str(one.result.path) if one.result else None}
        for one in imports
    ]
    document = {"import_format": FORMAT, "files": files, "rows": [*records(imports)]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
