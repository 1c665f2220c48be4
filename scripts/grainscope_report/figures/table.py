"""The table of all figures in the order of their numbers and letters, and the figures of no group of
families: o, which takes what is left, g and 15, which are not of rows.

Figure o shows rows of families that no other figure shows, by the axes of their cases alone. A family whose
cases differ in a number has a panel of its own: the rate, or where not every row has one the time, over the
axis with the most values, and a line for each combination of the others. Families without such an axis share
a panel of dots, a row for each combination.

Figure g: the rates of Google Benchmark's own JSON, by the number in a name where there are several. Such
files say nothing of a link or of intervals: repetitions are visits, and what is between them is the interval.

Figure 15: candidates for a workload: predicted times and costs by component, and where the order flips. It is
of a verdict of `evaluate` and not of the files alone, so `evaluate` draws it and `plot` does not.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from grainscope_report import naming, statistics
from grainscope_report.buying.words import BETWEEN_VISITS, KNOWN, UNKNOWN, WINNER, interval, money
from grainscope_report.comparison.sides import Answer, foreign_answers
from grainscope_report.figures import parts
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Curve,
    CurvePanel,
    Dot,
    DotPanel,
    DotRow,
    Entry,
    Figure,
    Level,
    Panel,
    Point,
    TableCell,
    TablePanel,
    TableRow,
)
from grainscope_report.figures.parts import MachineRow, bandwidth, cases, curves, measured
from grainscope_report.groups import (
    contention,
    gather_figure,
    gnn_figure,
    grain,
    host,
    latency,
    lean,
    programs,
    reach,
    shape,
    topology,
    transfer_copies,
    transfer_duplex,
    traversal_lists,
    traversal_requests,
    traversal_speedup,
)
from grainscope_report.machine import Machine, letter, machines
from grainscope_report.model import SCHEMA_VERSION, Context, Counts, Environment, Result, Row, Run, Shard
from grainscope_report.statistics import Estimate, rate_gb_s
from grainscope_report.units import format_percent, significant, time_unit

# Figure g.

FOREIGN_ID, FOREIGN_STEM, FOREIGN_TITLE = (
    "g",
    "figure_g_google_benchmark",
    "Rates of Google Benchmark's own files",
)
NUMBER = re.compile(r"/(\d+)(?=/|$)")
FOREIGN_METHODS = 8
MOST_CURVES, MOST_ROWS = 8, 60
# Such files do not say how they were asked for.
COMPLETE = Run("", "", "", (), "", "", True, None, Shard(1, 1), 0.0, Counts(0, 0, 0), 1)
Document = tuple[Path, Mapping[str, Any]]


class Foreign(Machine):
    """A file of Google Benchmark's own, which knows little of its machine."""

    @property
    def provenance(self) -> str:
        """What the file says of where and when it ran."""
        context = self.result.environment.raw
        cpus = f"{context['num_cpus']} CPUs" if context.get("num_cpus") else ""
        version = f"Google Benchmark {context['library_version']}" if context.get("library_version") else ""
        parts = (version or "Google Benchmark", self.result.host, cpus, self.result.date[:19])
        return " · ".join(part for part in parts if part)


def build_foreign(documents: Sequence[Document]) -> Figure:
    """Curves of benchmarks with a number in their names, rows of the others; only those with a rate."""
    found = [(machine, foreign_answers(document)) for machine, (_, document) in zip(
        _foreign_machines(documents), documents, strict=True)]  # fmt: skip
    rates: dict[str, dict[int, Estimate]] = defaultdict(dict)
    without: dict[str, str] = {}
    for machine, there in found:
        for question, answer in there.items():
            if answer.visits and answer.bytes:
                rates[question.family][machine.index] = _foreign_rate(answer)
            else:
                without[question.family] = answer.reason or "no bytes_per_second"
    shown = [machine for machine, _ in found]
    curves, rest = _foreign_curves(rates, shown)
    rows: list[tuple] = [(curves,)] if curves else []
    rows += [(_foreign_dots(rates, rest, shown),)] if rest else []
    notes = ["Repetitions are visits; bars span them, from 8 on they are the 95 % interval of the median."]
    if len(rest) > MOST_ROWS:
        notes.append(f"Not drawn: {len(rest) - MOST_ROWS} more benchmarks.")
    if left := without.keys() - rates.keys():
        first = min(left)
        notes.append(f"Not drawn: {len(left)} without a rate (first {first}: {without[first]}).")
    return Figure(shown, tuple(rows), tuple(notes) if rows else (), FOREIGN_ID, FOREIGN_STEM, FOREIGN_TITLE)


def _foreign_machines(documents: Sequence[Document]) -> list[Foreign]:
    shown = []
    for order, (path, document) in enumerate(documents):
        context = document["context"]
        environment = Environment(
            cpu={"model": ""}, gpus=(), driver={"version": ""}, warnings=(), raw=context
        )
        host, date = str(context.get("host_name") or ""), str(context.get("date", ""))
        result = Result(path, Context(SCHEMA_VERSION, None, COMPLETE, environment, (), date, host), ())
        shown.append(Foreign(order, letter(order), f"{host or 'host unknown'} ({path})", result))
    return shown


def _foreign_rate(answer: Answer) -> Estimate:
    return statistics.rate_gb_s(statistics.middle_of(answer.visits), answer.bytes)


def _foreign_curves(
    rates: Mapping[str, Mapping[int, Estimate]], shown: Sequence[Machine]
) -> tuple[CurvePanel | None, list[str]]:
    """Benchmarks that differ in the first number of their names alone, and the names that are left."""
    groups: dict[str, dict[int, str]] = defaultdict(dict)
    for name in rates:
        if (number := NUMBER.search(name)) and int(number[1]) > 0:
            groups[name[: number.start()] + "/N" + name[number.end() :]][int(number[1])] = name
    drawn = {group: names for group, names in groups.items() if len(names) > 1}
    drawn = dict(list(drawn.items())[:MOST_CURVES])
    used = {name for names in drawn.values() for name in names.values()}
    curves = []
    for order, (group, names) in enumerate(drawn.items()):
        for machine in shown:
            points = [
                Point(float(at), rates[name][machine.index])
                for at, name in sorted(names.items())
                if machine.index in rates[name]
            ]
            if points:
                method = f"component {order % FOREIGN_METHODS}"
                curves.append(Curve(group.removesuffix("/N"), method, machine, tuple(points)))
    rest = [name for name in rates if name not in used]
    if not curves:
        return None, rest
    values = [point.y.value for curve in curves for point in curve.points]
    wide = max(values) > 30 * min(values)
    label = "N, the first number in the benchmark's name"
    return CurvePanel("rates by the number in the name", tuple(curves), x_label=label, x_unit="count",
                      y_log=wide), rest  # fmt: skip


def _foreign_dots(
    rates: Mapping[str, Mapping[int, Estimate]], names: Sequence[str], shown: Sequence[Machine]
) -> DotPanel:
    rows = [
        DotRow(
            name,
            "",
            tuple(
                Dot(rates[name][machine.index], "single", machine)
                for machine in shown
                if machine.index in rates[name]
            ),
        )
        for name in names[:MOST_ROWS]
    ]
    values = [dot.value.value for row in rows for dot in row.dots]
    return DotPanel("rates", tuple(rows), "bandwidth (GB/s)", "GB/s", log=max(values) > 30 * min(values))


# Figure 15.

CANDIDATES_ID, CANDIDATES_STEM = "15", "figure_15_candidates"
CANDIDATES_TITLE = "Candidates compared: components, cost, and where the order flips"
COLOURS = 8
NAME_WIDTH = 18
IN_HALF = 3
WHOLE = 2.0
COLUMNS = ("component", "against", "share", "lead of the first", "flips at a share of", "in draws")
LEAST_CHANGE = "the least change of all"
TIMES = (
    "Predicted time: Σ share ÷ ratio, the reference is 1, less is better. Whiskers are on the left each "
    "component's, in the middle the sum's; of a machine with one node measured they hold for that node."
)
FLIPS = (
    "Flips: the share of a component at which the other comes first, the others in proportion; the least "
    "change: the time that must move between components. A lead below zero is the other's."
)


def build_candidates(document: dict[str, Any], results: Sequence[Result]) -> Figure:
    """The figure of a verdict; `results` are all files that it is of."""
    shown = machines(list({result.run.id: result for result in results}.values()))
    owners = {str(machine.result.path): machine for machine in shown}
    ranked = [candidate for candidate in document["candidates"] if candidate["passed"]]
    if not ranked:
        return Figure(shown, ())
    of = {candidate["name"]: owners[candidate["files"][0]] for candidate in ranked}
    cost = document.get("cost")
    panels = [_predicted_times(document, ranked, of)]
    if cost:
        panels.append(_costs(cost, ranked, of))
    # So many stacks want all of the width.
    rows = [tuple(panels)] if len(ranked) <= IN_HALF else [(replace(panel, width=WHOLE),) for panel in panels]
    rows_of_stacks = len(rows)
    if document["flips"] and document["verdict"]["kind"] == WINNER:
        first = document["verdict"]["first"]
        rows.append((_flips(f"where {first} is no longer first", document["flips"], of, False),))
    if cost and cost["flips"] and cost["kind"] == WINNER:
        title = f"where {cost['first']} no longer costs least for its speed"
        rows.append((_flips(title, cost["flips"], of, True),))
    whiskers = BETWEEN_VISITS if document["verdict"]["kind"] == UNKNOWN else KNOWN
    notes = [TIMES, whiskers, *[FLIPS] * (len(rows) > rows_of_stacks), *document["sentences"]["excluded"]]
    if document["label"] == "modelled":
        notes.insert(0, "All of this is modelled, nothing of it measured.")
    if len(shown) > 1:
        letters = [
            f"{candidate['name']}: {', '.join(owners[file].letter for file in candidate['files'])}"
            for candidate in ranked
        ]
        notes.append(f"Files of the candidates: {'; '.join(letters)}.")
    subtitle = (document["workload"]["name"], document["sentences"]["verdict"])
    return Figure(
        shown, tuple(rows), tuple(notes), CANDIDATES_ID, CANDIDATES_STEM, CANDIDATES_TITLE, subtitle=subtitle
    )


def _predicted_values(texts: Iterable[str]) -> tuple[str, ...]:
    """Each interval in a line of its own."""
    return tuple(text.replace(" [", "\n[") for text in texts)


def _groups(there: Sequence[dict]) -> tuple[tuple[str, int], ...]:
    """The candidates' names under their values."""
    return tuple(
        ("\n".join(textwrap.wrap(candidate["name"], NAME_WIDTH)) or candidate["name"], 1)
        for candidate in there
    )


def _estimate(found: dict[str, float]) -> Estimate:
    """With its interval; of what nothing tells one the value alone."""
    low, high = (found["value"] if found[end] is None else found[end] for end in ("low", "high"))
    return Estimate(found["value"], low, high)


def _predicted_times(document: dict[str, Any], ranked: Sequence[dict], of: dict[str, Machine]) -> BarPanel:
    """A stack a candidate, a part a component, in the order of the ranks."""
    modelled = document["label"] == "modelled"
    series = [
        BarSeries(
            component["name"],
            f"component {at % COLOURS}",
            tuple(
                Bar(_estimate(candidate["components"][at]["time"]), machine=of[candidate["name"]])
                for candidate in ranked
            ),
            label=document["label"],
            hatched=modelled,
        )
        for at, component in enumerate(document["components"])
    ]
    reference = Level("even", "the reference", 1.0)
    return BarPanel(
        "predicted time by component", _predicted_values(interval(candidate["time"]) for candidate in ranked),
        tuple(series),
        "time (the reference is 1)", "ratio", groups=_groups(ranked),
        stacked=True, levels=(reference,), sums=tuple(_estimate(candidate["time"]) for candidate in ranked),
        width=1.0 if document.get("cost") else WHOLE,
    )  # fmt: skip


def _costs(cost: dict[str, Any], ranked: Sequence[dict], of: dict[str, Machine]) -> BarPanel:
    """What each costs for its speed: price and energy, both times the predicted time."""
    named = {candidate["name"]: candidate for candidate in ranked}
    order = [named[name] for name in cost["order"]]
    kinds = [("price × time", "price", "component 6")]
    if cost["energy"]:
        kinds.append(("energy × time", "energy_cost", "component 7"))
    series = [
        BarSeries(
            name,
            colour,
            tuple(
                Bar(Estimate(amount, amount, amount), machine=of[candidate["name"]])
                for candidate in order
                for amount in [candidate[key] * candidate["time"]["value"]]
            ),
        )
        for name, key, colour in kinds
    ]
    return BarPanel(
        "cost for its speed" + ", the least first" * (cost["kind"] == WINNER),
        _predicted_values(money(candidate["cost_per_speed"]) for candidate in order),
        tuple(series), "(price + energy) × time", "money", groups=_groups(order),
        stacked=True, sums=tuple(_estimate(candidate["cost_per_speed"]) for candidate in order),
    )  # fmt: skip


def _flips(title: str, found: Sequence[dict], of: dict[str, Machine], by_cost: bool) -> TablePanel:
    """For each rival the least change of all shares, then each component's share."""
    unit = "money" if by_cost else "ratio"
    rows = []
    for flip in found:
        rows.append(_row(flip["rival"], of, LEAST_CHANGE, ("–", "–"), flip["smallest_change"], " moves"))
        for part in flip["components"]:
            told = (format_percent(part["share"]), _lead(part["lead"], by_cost))
            rows.append(_row(flip["rival"], of, part["name"], told, part["flips_at"], "", part, unit))
    return TablePanel(title, COLUMNS, tuple(rows), (False, True, True, True, True), width=WHOLE)


def _lead(value: float, by_cost: bool) -> str:
    """With its sign, as wide as a plus."""
    size = f"{abs(value):,.0f}" if by_cost else significant(abs(value), 3)
    return f"{'+' if value >= 0 else '−'}{size}"


def _row(
    rival: str, of: dict[str, Machine], name: str, told: tuple[str, str], found: dict[str, Any], more: str,
    part: dict[str, Any] | None = None, unit: str = "",
) -> TableRow:  # fmt: skip
    share, lead = told
    there = found["value"] is not None
    where = (
        f"{format_percent(found['value'])} [{format_percent(found['low'])}, {format_percent(found['high'])}]"
        if there and found["low"] is not None
        else "nowhere"
    )
    cells = (
        TableCell(rival),
        TableCell(share, _exact(part["share"]), "share") if part else TableCell(share),
        TableCell(lead, _exact(part["lead"]), unit) if part else TableCell(lead),
        TableCell(where + more * there, _estimate(found), "share") if there else TableCell(where),
        TableCell(format_percent(found["exists"])),
    )
    return TableRow(name, cells, of[rival])


def _exact(value: float) -> Estimate:
    return Estimate(value, value, value)


# The table, and figure o.

OTHERS = "Other families: rate or time by the axis that was varied"
OTHERS_NEED = "measured rows"
# As many colours as `component` has.
MOST_LINES = 8
# Values that differ by more need a logarithmic axis.
WIDE = 30
PLACES = ("locality", "link")


def other_families(but: frozenset[str]) -> Entry:
    """The figure of every family but these, which other figures show."""
    return Entry(
        "o", "figure_o_other_families", OTHERS, (), OTHERS_NEED, partial(build_others, but=but), but=but
    )


def build_others(machines: Sequence[Machine], but: frozenset[str] = frozenset()) -> Figure:
    """A panel for each family whose cases differ in a number, then dots for the others."""
    every = [machine.result for machine in machines]
    families = dict.fromkeys(
        row.case.family for result in every for row in result.rows if row.case.family not in but
    )
    notes: list[str] = []
    panels: list[Panel] = []
    dotted: dict[bool, list[str]] = {True: [], False: []}
    for family in families:
        rows = [row for result in every for row in result.of(family) if row.ok and measured(row)]
        if not rows:
            continue
        if axis := _varied(rows):
            panels.append(_lines(machines, family, rows, axis, notes))
        else:
            dotted[_rated(rows)].append(family)
    grid = parts.in_pairs(panels)
    grid += [(_dots(machines, there, rated),) for rated, there in dotted.items() if there]
    notes += parts.slow_sites(panels, len(machines) > 1)
    for family in (family for there in dotted.values() for family in there):
        notes += parts.first_sites(machines, family, family, "dots")
    return Figure(machines, tuple(grid), tuple(notes))


def _numbers(rows: Sequence[Row], axis: str) -> set[float]:
    values = {row.case.axes.get(axis) for row in rows}
    return {value for value in values if isinstance(value, (int, float))}


def _axes(rows: Sequence[Row]) -> list[str]:
    """All axes but those of the place, in the order of the file."""
    return [
        axis for axis in dict.fromkeys(axis for row in rows for axis in row.case.axes) if axis not in PLACES
    ]


def _varied(rows: Sequence[Row]) -> str:
    """The axis with the most numbers, of several one of bytes; empty where none has two above zero."""
    counts = {axis: len(values) for axis in _axes(rows) if min(values := _numbers(rows, axis), default=0) > 0}
    best = max(counts, key=lambda axis: (counts[axis], axis in naming.SIZES), default="")
    return best if counts.get(best, 0) > 1 else ""


def _rated(rows: Sequence[Row]) -> bool:
    """Whether every row has a rate; else times are drawn."""
    return all(row.bytes and row.bandwidth_gb_s for row in rows)


def _each(rows: Sequence[Row]) -> bool:
    """Whether every row says how many equal operations its time is of."""
    return all(row.operations for row in rows)


def _spoken(axes: dict[str, str | float], varying: Sequence[str]) -> str:
    """`gpu to pinned, threads 4`: the axes in which lines or dots differ."""
    return ", ".join(
        _word(axis, value) for axis, value in axes.items() if axis in varying and value is not None
    )


def _word(axis: str, value: str | float) -> str:
    """`pinned`; with the axis where a value alone says little: `flush on`, `threads 4`."""
    said = value.replace("_", " ") if isinstance(value, str) else naming.size(axis, value)
    alone = isinstance(value, str) and value not in ("on", "off")
    return said if alone else f"{axis.replace('_', ' ')} {said}"


def _lines(
    machines: Sequence[Machine], family: str, rows: Sequence[Row], x: str, notes: list[str]
) -> CurvePanel:
    """A line for each combination of the other axes; of many those with the most points."""
    axes = [axis for axis in _axes(rows) if axis != x]
    follow = tuple(axis for axis in axes if _follows(rows, axis, x))
    kept = [axis for axis in axes if axis not in follow]
    asked: dict[tuple, set[float]] = defaultdict(set)
    for row in rows:
        if isinstance(at := row.case.axes.get(x), (int, float)):
            asked[tuple(row.case.axes.get(axis) for axis in kept)].add(at)
    varying = [axis for place, axis in enumerate(kept) if len({values[place] for values in asked}) > 1]
    chosen = sorted(asked, key=lambda values: -len(asked[values]))[:MOST_LINES]
    rated, scale, unit = _scale(rows)
    drawn: list[Curve] = []
    for order, values in enumerate(values for values in asked if values in chosen):
        where = dict(zip(kept, values, strict=True))
        text = _spoken(where, varying)
        drawn += curves(
            machines,
            family,
            where,
            name=f"{family}: {text}" if text else family,
            method=f"component {order}",
            x=x,
            measure=bandwidth if rated else lambda time_s, row: _time(time_s, row, rows).scaled(1 / scale),
            view=measured,
            follows=follow,
        ).curves
    if len(asked) > MOST_LINES:
        notes.append(f"{family}: {len(asked) - MOST_LINES} more combinations are not drawn.")
    if without := sum(not isinstance(row.case.axes.get(x), (int, float)) for row in rows):
        notes.append(f"{family}: {without} rows without a number for {x} are not drawn.")
    return CurvePanel(
        family,
        tuple(drawn),
        y_label="bandwidth (GB/s)" if rated else f"{_what(rows)} ({unit})",
        y_unit=unit,
        x_label=x.replace("_", " "),
        x_unit=_unit(rows, x),
        y_log=_wide([point.y.value for curve in drawn for point in curve.points]),
    )


def _follows(rows: Sequence[Row], axis: str, x: str) -> bool:
    """Whether a number varies but has one value at each place of the axis."""
    pairs = {(row.case.axes.get(x), row.case.axes.get(axis)) for row in rows}
    return len(_numbers(rows, axis)) > 1 and len(pairs) == len({at for at, _ in pairs})


def _unit(rows: Sequence[Row], axis: str) -> str:
    """Bytes where the axis is known to have them, or is what the rows moved; percent by name."""
    if axis in naming.SIZES or all(row.bytes == row.case.axes.get(axis) for row in rows):
        return "bytes"
    return "%" if axis == "percent" else "count"


def _scale(rows: Sequence[Row]) -> tuple[bool, float, str]:
    """Whether rates are drawn, and the unit of what is: its size in GB/s or in seconds, and its name."""
    if _rated(rows):
        return True, 1.0, "GB/s"
    return False, *time_unit(max(row.median_s / (row.operations if _each(rows) else 1) for row in rows))


def _what(rows: Sequence[Row]) -> str:
    return "one operation" if _each(rows) else "time"


def _time(time_s: Estimate, row: Row, rows: Sequence[Row]) -> Estimate:
    return time_s.scaled(1 / row.operations) if _each(rows) else time_s


def _wide(values: Sequence[float]) -> bool:
    return max(values) > WIDE * min(values) > 0


def _dots(machines: Sequence[Machine], families: Sequence[str], rated: bool) -> DotPanel:
    """Rows of dots, each a combination of the axes of its family."""
    lines: list[DotRow] = []
    for family in families:
        found = [
            (machine, case)
            for machine in machines
            for case in cases(machine, family)
            if measured(case.case_row)
        ]
        rows = [case.case_row for _, case in found]
        varying = [axis for axis in _axes(rows) if len({row.case.axes.get(axis) for row in rows}) > 1]
        dots: dict[str, list[Dot]] = {}
        for machine, case in found:
            dots.setdefault(_spoken(dict(case.case.axes), varying), []).append(
                _dot(machine, case, rows, rated)
            )
        lines += [DotRow(family, said, tuple(there)) for said, there in dots.items()]
    values = [dot.value.value for line in lines for dot in line.dots]
    scale = ("bandwidth (GB/s)", "GB/s") if rated else ("time", "s")
    title = "families without a number that varies"
    return DotPanel(
        f"{title}: {'rates' if rated else 'times'}", tuple(lines), *scale, log=_wide(values), width=2.0
    )


def _dot(machine: Machine, case: MachineRow, rows: Sequence[Row], rated: bool) -> Dot:
    row = case.case_row
    value = rate_gb_s(case.time, row.bytes) if rated else _time(case.time, row, rows)
    return Dot(value, "single", machine, flags=case.flags)


SOURCES = (
    transfer_copies, transfer_duplex, traversal_requests, contention, traversal_speedup, traversal_lists,
    lean, programs, gather_figure, gnn_figure, reach, grain, host, shape, latency, topology,
)  # fmt: skip


def _place(entry: Entry) -> tuple[bool, int, str]:
    """Numbers first, then letters."""
    return not entry.id.isdigit(), int(entry.id) if entry.id.isdigit() else 0, entry.id


OWN = [entry for one in SOURCES for entry in one.FIGURES]
SHOWN = frozenset(family for entry in OWN for family in (*entry.families, *entry.beside))
FIGURES: tuple[Entry, ...] = tuple(sorted([*OWN, other_families(SHOWN)], key=_place))


def figure(entry: Entry, machines: Sequence[Machine]) -> Figure:
    """Computes a figure with its title and notes; without data for it, it has no panels."""
    made, families = entry.build(machines), entry.of(machines)
    notes = list(made.notes)
    owners: dict[str, list[str]] = {}
    for machine in machines if made.rows else ():
        for note in parts.left_out(machine.result.of(*families, *entry.beside)):
            owners.setdefault(note, []).append(machine.letter)
    for note, letters in owners.items():
        notes.append(f"{', '.join(letters)}: {note}" if len(machines) > 1 else note)
    return replace(
        made,
        id=entry.id,
        stem=entry.stem,
        title=made.title or entry.title,
        families=families,
        notes=tuple(notes),
    )
