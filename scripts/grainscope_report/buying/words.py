"""The verdict in sentences, made once from the data for the terminal, Markdown and HTML alike."""

from collections.abc import Iterator
from typing import Any

from grainscope_report.units import format_interval, format_percent, significant

DISCLAIMER = (
    "Microbenchmarks explain a choice and do not replace the workload: run the program itself on the machine "
    "before it is bought."
)
METHOD = (
    "Predicted time is the sum of share ÷ ratio over the components, 1 on the reference; ratios are how many "
    "times faster than the reference, between measured sizes on lines in log-log, never beyond them. "
    "Intervals are 95 % of resamples over node, run and sample."
)


def add(document: dict[str, Any]) -> dict[str, Any]:
    """The verdict with `sentences`: the verdict, why, how it flips, what it costs, and what was excluded."""
    said = {
        "verdict": _verdict(document),
        "why": list(_why(document)),
        "flips": list(_flips(document)),
        "cost": list(_cost(document)),
        "excluded": [
            f"{one['name']} is not ranked: {'; '.join(one['broken_gates'])}."
            for one in document["candidates"]
            if not one["passed"]
        ],
        "method": METHOD,
        "disclaimer": DISCLAIMER,
    }
    return document | {"sentences": said}


def interval(found: dict[str, float]) -> str:
    """`0.94 [0.93, 0.95]`."""
    return " ".join(format_interval(found["value"], found["low"], found["high"]))


def _ranked(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in document["candidates"] if one["passed"]]


def _verdict(document: dict[str, Any]) -> str:
    found, ranked = document["verdict"], _ranked(document)
    if not ranked:
        return "No candidate passes the gates: there is nothing to choose from."
    first = ranked[0]["name"]
    if len(ranked) == 1:
        faster = interval(ranked[0]["speed"])
        return f"{first} is the only candidate that is ranked: {faster} times as fast as the reference."
    ahead = f"{first} is ahead in {format_percent(found['chance_first'][first])} of resamples"
    if found["kind"] == "tie":
        *others, last = found["tied"]
        near = f"within {format_percent(document['tie'])} of the fastest"
        return f"A tie: {', '.join(others)} and {last} are {near}; {ahead}."
    second = document["flips"][0]
    longer = f"{second['rival']} takes {interval(second['over_first'])} times as long"
    sure = "" if found["certain"] else " That is not enough to be sure: measure more runs and nodes."
    return f"{first} is first: {longer}, and {ahead}.{sure}"


def _why(document: dict[str, Any]) -> Iterator[str]:
    """What each component gives the first over the second, the most first."""
    if not document["flips"]:
        return
    first, second = document["verdict"]["first"], document["flips"][0]
    parts = {
        one["name"]: {part["name"]: part["ratio"] for part in one["components"]} for one in _ranked(document)
    }
    for part in sorted(second["components"], key=lambda part: -part["lead"]):
        name = part["name"]
        ratios = " and ".join(f"{who} {interval(parts[who][name])}" for who in (first, second["rival"]))
        gives = "gains" if part["lead"] >= 0 else "loses"
        lead = f"{gives} {significant(abs(part['lead']))} of the reference's time"
        share = format_percent(part["share"])
        yield f"{name} ({share} of the time): {first} {lead}; times faster than the reference: {ratios}."


def _flips(document: dict[str, Any]) -> Iterator[str]:
    first = document["verdict"]["first"]
    for flip in document["flips"]:
        yield from _flip(flip, f"{flip['rival']} overtakes {first}")


def _flip(flip: dict[str, Any], event: str) -> Iterator[str]:
    """At which shares a rival comes before the first; `event` says what happens then."""
    change = flip["smallest_change"]
    if change["value"] is None:
        yield f"{event} at no mix of these components."
        return
    shares = [f"{name} {format_percent(share)}" for name, share in flip["shares_then"].items()]
    moved = f"{format_percent(change['value'])}{_between(change)}"
    yield (f"{event} when {moved} of the time moves between components, at the least: {', '.join(shares)}.")
    for part in flip["components"]:
        at = part["flips_at"]
        if at["value"] is not None:
            yield (
                f"{event} where {part['name']} is {format_percent(at['value'])}{_between(at)} of the time "
                f"in place of {format_percent(part['share'])}, the others in proportion."
            )


def _between(found: dict[str, Any]) -> str:
    if found["low"] is None:
        return ""
    return f" [{format_percent(found['low'])}, {format_percent(found['high'])}]"


def _cost(document: dict[str, Any]) -> Iterator[str]:
    cost = document.get("cost")
    if not cost or not cost["order"]:
        return
    ranked = {one["name"]: one for one in _ranked(document)}
    first = cost["first"]
    chance = format_percent(cost["chance_first"][first])
    yield f"{first} costs least for its speed, in {chance} of resamples."
    for name in cost["order"]:
        even = ranked[name]["break_even_price"]
        if even is None:
            continue
        price = money(even)
        if name == first:
            yield f"{name} stays so up to a price of {price}; beyond that {even['against']} costs less."
        elif even["value"] <= 0:
            yield f"{name} would cost more for its speed than {first} at any price."
        else:
            yield f"{name} would cost as little for its speed as {first} at a price of {price}."
    for flip in cost["flips"]:
        yield from _flip(flip, f"{flip['rival']} costs less for its speed than {first}")
    front = [name for name in cost["order"] if ranked[name]["pareto"]]
    beaten = [name for name in cost["order"] if name not in front]
    behind = (
        f"; {', '.join(beaten)} cost{'s' if len(beaten) == 1 else ''} more and no faster" if beaten else ""
    )
    yield f"On the Pareto front of cost and time: {', '.join(front)}{behind}."


def money(found: dict[str, float]) -> str:
    """An amount with its interval, whole."""
    return f"{found['value']:,.0f} [{found['low']:,.0f}, {found['high']:,.0f}]"
