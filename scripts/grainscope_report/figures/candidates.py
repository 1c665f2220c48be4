"""Figure 15: candidates for a workload: predicted times and costs by component, and where the order flips.

It is of a verdict of `evaluate` and not of the files alone, so `evaluate` draws it and `plot` does not.
"""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from grainscope_report.buying.words import BETWEEN_VISITS, KNOWN, UNKNOWN, WINNER, interval, money
from grainscope_report.figures.model import (
    Bar,
    BarPanel,
    BarSeries,
    Figure,
    Level,
    TableCell,
    TablePanel,
    TableRow,
)
from grainscope_report.machine import Machine, machines
from grainscope_report.model import Result
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_percent, significant

ID, STEM = "15", "figure_15_candidates"
TITLE = "Candidates compared: components, cost, and where the order flips"
COLOURS = 8
NAME_WIDTH = 18
IN_HALF = 3
WHOLE = 2.0
COLUMNS = ("component", "against", "share", "lead of the first", "flips at a share of", "in draws")
LEAST = "the least change of all"
TIMES = (
    "Predicted time: Σ share ÷ ratio, the reference is 1, less is better. Whiskers are on the left each "
    "component's, in the middle the sum's; they hold for the nodes that were measured."
)
FLIPS = (
    "Flips: the share of a component at which the other comes first, the others in proportion; the least "
    "change: the time that must move between components. A lead below zero is the other's."
)


def build(document: dict[str, Any], results: Sequence[Result]) -> Figure:
    """The figure of a verdict; `results` are all files that it is of."""
    shown = machines(list({result.run.id: result for result in results}.values()))
    owners = {str(machine.result.path): machine for machine in shown}
    ranked = [candidate for candidate in document["candidates"] if candidate["passed"]]
    if not ranked:
        return Figure(shown, ())
    of = {candidate["name"]: owners[candidate["files"][0]] for candidate in ranked}
    cost = document.get("cost")
    panels = [_times(document, ranked, of)]
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
    return Figure(shown, tuple(rows), tuple(notes), ID, STEM, TITLE, subtitle=subtitle)


def _values(texts: Iterable[str]) -> tuple[str, ...]:
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


def _times(document: dict[str, Any], ranked: Sequence[dict], of: dict[str, Machine]) -> BarPanel:
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
        "predicted time by component", _values(interval(candidate["time"]) for candidate in ranked),
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
        _values(money(candidate["cost_per_speed"]) for candidate in order),
        tuple(series), "(price + energy) × time", "money", groups=_groups(order),
        stacked=True, sums=tuple(_estimate(candidate["cost_per_speed"]) for candidate in order),
    )  # fmt: skip


def _flips(title: str, found: Sequence[dict], of: dict[str, Machine], by_cost: bool) -> TablePanel:
    """For each rival the least change of all shares, then each component's share."""
    unit = "money" if by_cost else "ratio"
    rows = []
    for flip in found:
        rows.append(_row(flip["rival"], of, LEAST, ("–", "–"), flip["smallest_change"], " moves"))
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
