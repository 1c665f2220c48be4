"""The verdict in sentences, made once from the data for the terminal, Markdown and HTML alike."""

from collections.abc import Iterator, Sequence
from typing import Any

from grainscope_report.units import format_interval, format_percent, significant

WINNER, TIED, UNKNOWN, NONE = "winner", "tie", "unknown", "none"
# What may not be known of an uncertainty: what runs differ by, or any spread of a metric.
RUNS, SPREAD = "runs", "spread"
DISCLAIMER = (
    "Microbenchmarks explain a choice and do not replace the workload: run the program itself on the machine "
    "before it is bought."
)
METHOD = (
    "Predicted time is the sum of share ÷ ratio over the components, 1 on the reference; ratios are how many "
    "times faster than the reference, between measured sizes on lines in log-log, never beyond them. "
)
KNOWN = "Intervals are 95 % of draws from the rows' combined uncertainties."
BETWEEN_VISITS = (
    "Intervals are 95 % of draws from the type A uncertainty alone: what visits of one run differ by. Runs "
    "differ by more."
)


def add(document: dict[str, Any]) -> dict[str, Any]:
    """The verdict with `sentences`: the headline, why, how it flips, what it costs, what was excluded."""
    said = {
        "verdict": _sentence(document, _verdict(document)),
        "headline": list(_headline(document)),
        "buy": _buy(document),
        "why": list(_why(document)),
        "flips": list(_all_flips(document)),
        "cost": list(_cost(document)),
        "excluded": [
            f"{one['name']} is not ranked: {'; '.join(one['broken_gates'])}."
            for one in document["candidates"]
            if not one["passed"]
        ],
        "method": METHOD + (BETWEEN_VISITS if document["verdict"]["kind"] == UNKNOWN else KNOWN),
        "disclaimer": DISCLAIMER,
    }
    return document | {"sentences": said}


def interval(found: dict[str, Any]) -> str:
    """`0.94 [0.93, 0.95]`; without an interval where nothing tells one."""
    if found["low"] is None:
        return significant(found["value"], 4)
    return " ".join(format_interval(found["value"], found["low"], found["high"]))


def _ranked(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in document["candidates"] if one["passed"]]


def _verdict(document: dict[str, Any]) -> str:
    """What is said of speed."""
    found, ranked = document["verdict"], _ranked(document)
    if not ranked:
        return "no candidate passes the gates, there is nothing to choose from."
    if found["kind"] == UNKNOWN:
        return f"unknown, since {_lacking(document)}."
    first = found["first"]
    if len(ranked) == 1:
        faster = interval(ranked[0]["speed"])
        return f"{first} is the only candidate that is ranked: {faster} times as fast as the reference."
    if document["same_machine"]:
        return f"a tie: {_and([one['name'] for one in ranked])} are one machine."
    second = document["flips"][0]
    longer = f"{second['rival']} takes {interval(second['over_first'])} times as long"
    if found["kind"] == TIED:
        return f"{_tie(document, found)}: {longer} as {first}."
    return f"{first} is first: {longer}, and {first} is ahead in {_chance(found, first)} of draws."


def _sentence(document: dict[str, Any], said: str) -> str:
    """Said by itself, not behind `Speed:`."""
    if document["verdict"]["kind"] == UNKNOWN:
        return f"Which is faster is {said}"
    return said if document["verdict"]["kind"] == WINNER else said[0].upper() + said[1:]


def _tie(document: dict[str, Any], found: dict[str, Any]) -> str:
    """`A tie of X and Y`, and why it is one."""
    ranked = {one["name"]: one["time"]["value"] for one in _ranked(document)}
    times = [ranked[name] for name in found["tied"]]
    near = max(times) <= min(times) * (1 + document["tie"])
    why = f"within {format_percent(document['tie'])}" if near else "no further apart than runs may be"
    return f"a tie of {_and(found['tied'])}, {why}"


def _lacking(document: dict[str, Any]) -> str:
    """Whose uncertainty is not known, and what would tell it."""
    runs = [one["machine"] for one in document["unknown"] if one["what"] == RUNS]
    spread = [one for one in document["unknown"] if one["what"] == SPREAD]
    said = [f"nothing tells what runs of {_and(runs)} differ by"] if runs else []
    if spread:
        components = list(dict.fromkeys(name for one in spread for name in one["components"]))
        said.append(f"no spread is known for the metric of {_and(components)}")
    return ", and ".join(said)


def _headline(document: dict[str, Any]) -> Iterator[str]:
    """Speed, price-performance and performance per watt, each with its winner or a tie."""
    yield f"Speed: {_verdict(document)}"
    if not _ranked(document):
        return
    if document["verdict"]["kind"] == UNKNOWN:
        how = "by the visits of one run alone"
        for one in _ranked(document):
            if one["is_reference"]:
                yield f"{one['name']} is the reference."
                continue
            known = f", {how}" if one["time"]["low"] is not None else ", from one visit"
            yield f"{one['name']} takes {interval(one['time'])} times as long as the reference{known}."
        yield from _what_decides(document)
    cost, power = document.get("cost"), document["power"]
    if cost is None:
        yield "Price-performance: not judged, no candidate has a price."
    else:
        yield f"Price-performance: {_won(document, cost, 'costs least for its speed')}"
    if power["why_not"]:
        yield f"Performance per watt: not judged, {power['why_not']}."
    else:
        yield f"Performance per watt: {_won(document, power, 'does most for its power')}"


def _won(document: dict[str, Any], found: dict[str, Any], does: str) -> str:
    names = [one["name"] for one in _ranked(document)]
    if found["kind"] == UNKNOWN:
        return "unknown, as the speed is."
    if len(names) == 1:
        return f"{found['first']} alone is ranked."
    if found["kind"] == TIED:
        return f"a tie of {_and(found['tied'])}."
    chance = "" if document["same_machine"] else f", in {_chance(found, found['first'])} of draws"
    return f"{found['first']} {does}{chance}."


def _what_decides(document: dict[str, Any]) -> Iterator[str]:
    """The two commands after which there is a verdict."""
    machines = [one["machine"] for one in document["unknown"] if one["what"] == RUNS]
    if machines:
        yield (
            f"To decide, repeat the run on {_and(machines)}, then judge with what these runs differ by: "
            f"`grainscope repeat 3 --out DIR` on each, and `grainscope-report evaluate "
            f"{document['workload']['file']}{' --type-b DIR' * len(machines)}`."
        )
    if any(one["what"] == SPREAD for one in document["unknown"]):
        yield "Choose a `metric` that follows the time of the row, or leave it open."


def _buy(document: dict[str, Any]) -> str:
    """`Buy X for W, unless …`; nothing where nothing decides."""
    ranked = _ranked(document)
    if not ranked or document["verdict"]["kind"] == UNKNOWN:
        return ""
    what = document["workload"]["name"]
    speed, cost = document["verdict"], document.get("cost") or {"kind": NONE}
    by = cost if cost["kind"] == WINNER else speed
    if len(ranked) == 1:
        return ""
    if by["kind"] != WINNER:
        return f"Nothing here decides for {what}: choose by what is not measured."
    first = by["first"]
    flips = cost["flips"] if by is cost else document["flips"]
    unless = [f"{_nearest(flip)}, then {flip['rival']}" for flip in flips if _nearest(flip)]
    reason = "the least cost for its speed" if by is cost else "the least time"
    said = f"Buy {first} for {what} ({reason})"
    if by is cost and speed["kind"] == WINNER and speed["first"] != first:
        said += f", or {speed['first']} if only time counts"
    return f"{said}, unless {'; '.join(unless)}." if unless else f"{said}, at any mix of these components."


def _nearest(flip: dict[str, Any]) -> str:
    """The component whose share has to change least for a rival to come first."""
    there = [part for part in flip["components"] if part["flips_at"]["value"] is not None]
    if not there:
        change = flip["smallest_change"]["value"]
        return "" if change is None else f"{format_percent(change)} of the time moves between components"
    part = min(there, key=lambda part: round(abs(part["flips_at"]["value"] - part["share"]), 9))
    at = part["flips_at"]["value"]
    more = "more" if at > part["share"] else "less"
    here = format_percent(part["share"])
    return f"{part['name']} is {more} than {format_percent(at)} of the time (here {here})"


def _why(document: dict[str, Any]) -> Iterator[str]:
    """What each component gives the first over the second, the most first; nothing where nobody is first."""
    if document["verdict"]["kind"] != WINNER or not document["flips"]:
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


def _all_flips(document: dict[str, Any]) -> Iterator[str]:
    first = document["verdict"]["first"]
    for flip in document["flips"] if document["verdict"]["kind"] == WINNER else ():
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
    if not cost or cost["kind"] != WINNER or len(cost["order"]) == 1:
        return
    ranked = {one["name"]: one for one in _ranked(document)}
    first = cost["first"]
    per = "GPU" if cost["per"] == "gpu" else "node"
    for name in cost["order"]:
        even = ranked[name]["break_even_price"]
        if even is None:
            continue
        price = f"{money(even, cost['currency'])} a {per}"
        if name == first:
            then = f"beyond that {even['against']} does"
            yield f"{name} costs least for its speed up to a price of {price}; {then}."
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


def money(found: dict[str, Any], currency: str | None = None) -> str:
    """An amount with its interval, whole."""
    value = f"{found['value']:,.0f}" + (f" {currency}" if currency else "")
    return value if found["low"] is None else f"{value} [{found['low']:,.0f}, {found['high']:,.0f}]"


def _chance(found: dict[str, Any], name: str) -> str:
    """How often one is first, which is never quite always."""
    chance = found["chance_first"].get(name, 0.0)
    return "more than 99.9 %" if chance > 0.999 else format_percent(chance)


def _and(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
