"""The verdict in sentences and tables, made once from the data, and as Markdown and one HTML page."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from grainscope_report import naming
from grainscope_report.loading import quoted
from grainscope_report.units import cut, format_interval, format_percent, plural, significant, some
from grainscope_report.writing import in_markdown, markdown_row

WINNER, TIED, UNKNOWN, NONE = "winner", "tie", "unknown", "none"
# What may not be known of an uncertainty: what runs differ by, or any spread of a metric.
RUNS, SPREAD = "runs", "spread"
ALL_MODELLED = "All of this is modelled, nothing of it measured."
DISCLAIMER = (
    "Microbenchmarks explain a choice and do not replace the workload: run the program itself on the machine "
    "before it is bought."
)
METHOD = (
    "Predicted time is the sum of share ÷ ratio over the components, 1 on the reference; ratios are how many "
    "times faster than the reference, between measured sizes on lines in log-log, never beyond them. "
)
KNOWN = (
    "Intervals are 95 % of draws from the rows' combined uncertainties, and of several nodes from what these "
    "differ by."
)
BETWEEN_VISITS = (
    "Intervals are 95 % of draws from the type A uncertainty alone: what visits of one run differ by. Runs "
    "differ by more."
)
MOST_ENDED = 2  # runs that are not complete and that have a line of their own
FAR = 2  # so many times as far as a tie reaches, an interval is no tie's
Table = tuple[str, list[str], list[list[str]]]
# Colour-blind safe, after Okabe and Ito.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999")
WIDTH, LEFT, BAR, GAP = 720, 150, 26, 16
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; color: #222; }
.verdict { font-size: 1.2rem; border-left: 4px solid #0072b2; padding-left: 1rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { border-bottom: 1px solid #ddd; padding: 0.25rem 0.75rem 0.25rem 0; text-align: left;
  vertical-align: top; }
svg { width: 100%; height: auto; }
@media print { body { margin: 0; max-width: none; } section { break-inside: avoid; } }
"""


def goes_on(ended: dict[str, Any], whose: str = "") -> str:
    """That a run is not complete, and the command that goes on with it."""
    return f"{ended['file']}{whose} is not complete ({ended['why']}): `{ended['resume']}` goes on with it"


def with_sentences(document: dict[str, Any]) -> dict[str, Any]:
    """The verdict with `sentences`: the headline, why, how it flips, what it costs, what was excluded."""
    document = document | {"warnings": [*_idle(document), *document["warnings"]]}
    provisional = "Provisional: " * bool(document["unfinished"])
    said = {
        "verdict": f"{provisional}{_sentence(document, _verdict(document))}",
        "headline": list(_headline(document)),
        "buy": _buy(document),
        "why": list(_why(document)),
        "flips": list(_all_flips(document)),
        "cost": list(_cost(document)),
        "excluded": [
            f"{candidate['name']} is not ranked: {'; '.join(candidate['broken_gates'])}."
            for candidate in document["candidates"]
            if not candidate["passed"]
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
    return [candidate for candidate in document["candidates"] if candidate["passed"]]


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
    most = 1 + FAR * document["tie"]
    over = [flip["over_first"] for flip in document["flips"] if flip["rival"] in found["tied"]]
    if not near:
        why = "no further apart than runs may be"
    elif any(one["low"] is not None and not 1 / most <= one["low"] <= one["high"] <= most for one in over):
        why = "which cannot be told apart"
    else:
        why = f"within {format_percent(document['tie'])}"
    return f"a tie of {_and(found['tied'])}, {why}"


def _if_idle(document: dict[str, Any], first: str | None = None) -> str:
    """`if only one of a node's 1 to 8 GPUs works`; nothing where nodes do not differ in it.

    Who is first and has the most GPUs is so even if the others of its node do nothing.
    """
    found = document["gpus_at_work"]
    if not found:
        return ""
    many = "one" if found["at_work"] == 1 else str(found["at_work"])
    work = "works" if found["at_work"] == 1 else "work"
    most = any(one["name"] == first and one["gpus"] == found["most"] for one in _ranked(document))
    start = "even if" if most else "if"
    return f"{start} only {many} of a node's {found['fewest']} to {found['most']} GPUs {work}"


def _idle(document: dict[str, Any]) -> Iterator[str]:
    """The warning of GPUs that are paid for and that no row keeps at work."""
    found = document["gpus_at_work"]
    if found:
        nodes = sorted(_ranked(document), key=lambda one: -one["gpus"])
        has = ", ".join(f"{one['name']} has {plural(one['gpus'], 'GPU')}" for one in nodes)
        many = "one" if found["at_work"] == 1 else str(found["at_work"])
        yield (
            f"{has}, and what is measured keeps {many} at work: the others of a node cost and do nothing; "
            'where the program uses all, set `price_per = "gpu"`'
        )


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
    """Speed, price-performance and performance per watt, each with its winner or a tie.

    Before these stands what makes them provisional.
    """
    unfinished = document["unfinished"]
    for ended in unfinished[:MOST_ENDED]:
        whose = f" of {_and(ended['machines'])}"
        yield f"Provisional: {goes_on(ended, whose)}.{_short(ended)}"
    if more := unfinished[MOST_ENDED:]:
        yield f"Provisional, too: {some([one['file'] for one in more], MOST_ENDED)}."
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
        won = _won(document, power, "does most for its power")
        yield f"Performance per watt: {_whose_watts(document)}{won}"


def _whose_watts(document: dict[str, Any]) -> str:
    """`by the watts that the workload gives (nameplate), `: nobody has to take these for measured rows."""
    power, watts = document["power"], {one["watts"] for one in _ranked(document)}
    if power["kind"] == UNKNOWN or len(_ranked(document)) == 1:
        return ""
    if not power["given"]:
        return "by what the GPUs' boards took in the rows, "
    alike = ", alike for all, so that it repeats the speed" if len(watts) == 1 else ""
    return f"by the watts that the workload gives ({power['given']}{alike}), "


def _short(ended: dict[str, Any]) -> str:
    """Whether the rows of a run that is not complete have all their visits."""
    if not ended["used"]:
        return ""
    if not ended["short"]:
        return " The rows of it that are used have all their visits; others may be faster ways."
    lack = "lacks" if ended["short"] == 1 else "lack"
    return f" Of {plural(ended['used'], 'row')} of it that are used, {ended['short']} {lack} visits."


def _won(document: dict[str, Any], found: dict[str, Any], does: str) -> str:
    names = [one["name"] for one in _ranked(document)]
    if found["kind"] == UNKNOWN:
        return "unknown, as the speed is."
    if len(names) == 1:
        return f"{found['first']} alone is ranked."
    first = found["first"] if found["kind"] == WINNER else None
    idle = f', {said}; `price_per = "gpu"` counts all' if (said := _if_idle(document, first)) else ""
    if found["kind"] == TIED:
        return f"a tie of {_and(found['tied'])}{_unless_cheaper(document, found)}{idle}."
    chance = "" if document["same_machine"] else f", in {_chance(found, found['first'])} of draws"
    return f"{found['first']} {does}{chance}{idle}."


def _unless_cheaper(document: dict[str, Any], found: dict[str, Any]) -> str:
    """`: H100 wins below 27,100 a node (here 30,000), H200 below …`; of a tie in price-performance alone."""
    if "order" not in found or document["same_machine"]:
        return ""
    ranked = {one["name"]: one for one in _ranked(document)}
    said = [
        f"{name} wins below {ranked[name]['wins_below']:,.0f} (here {ranked[name]['price']:,.0f})"
        for name in found["tied"]
        if ranked[name]["wins_below"] and ranked[name]["wins_below"] > 0
    ]
    currency = f" {found['currency']}" if found["currency"] else ""
    per = "GPU" if found["per"] == "gpu" else "node"
    return f": {', '.join(said)}{currency} a {per}" if said else ""


def _what_decides(document: dict[str, Any]) -> Iterator[str]:
    """The two commands after which there is a verdict."""
    machines = [one["machine"] for one in document["unknown"] if one["what"] == RUNS]
    if machines:
        yield (
            f"To decide, repeat the run on {_and(machines)}, then judge with what these runs differ by: "
            f"`grainscope repeat 3 --out DIR` on each, and `grainscope-report evaluate "
            f"{quoted(document['workload']['file'])}{' --type-b DIR' * len(machines)}`."
        )
    if any(one["what"] == SPREAD for one in document["unknown"]):
        yield "Choose a `metric` that follows the time of the row, or leave it open."


def _buy(document: dict[str, Any]) -> str:
    """What to buy, and what has to be done first where a run is not complete.

    Nothing where nothing decides.
    """
    said, ended = _choice(document), document["unfinished"]
    if not said or not ended:
        return said
    first = "that run has" if len(ended) == 1 else "those runs have"
    return f"Do not buy yet: {first} to be complete first. As it stands: {said[0].lower()}{said[1:]}"


def _choice(document: dict[str, Any]) -> str:
    """`Buy X for W, unless …`, behind an `if` where GPUs do nothing."""
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
    if idle := _if_idle(document, first):
        said = f"{idle[0].upper()}{idle[1:]}, b{said[1:]}"
    if by is cost and speed["kind"] == WINNER and speed["first"] != first:
        said += f", or {speed['first']} if only time counts"
    return f"{said}, unless {'; '.join(unless)}." if unless else f"{said}, at any mix of these components."


def _nearest(flip: dict[str, Any]) -> str:
    """The component whose share has to change least for a rival to come first of all, if any makes it so."""
    there = [part for part in flip["components"] if part["rival_first"]]
    if not there:
        change = flip["smallest_change"]["value"]
        alone = all(part["flips_at"]["value"] is None for part in flip["components"])
        if not (alone and flip["rival_first"]):
            return ""
        return f"{format_percent(change)} of the time moves between components"
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
    if not cost or cost["kind"] not in (WINNER, TIED) or len(cost["order"]) == 1 or document["same_machine"]:
        return
    ranked = {one["name"]: one for one in _ranked(document)}
    first = cost["first"]
    per = "GPU" if cost["per"] == "gpu" else "node"
    if idle := _if_idle(document):
        yield f"All of this holds {idle}."
    if cost["kind"] == TIED:
        for name in cost["tied"]:
            even = ranked[name]["break_even_price"]
            yield (
                f"{name} costs as much for its speed as {even['against']} at a price of "
                f"{money(even, cost['currency'])} a {per}, in place of {ranked[name]['price']:,.0f}."
            )
        return
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


def all_of(document: dict[str, Any]) -> Iterator[Table]:
    """Titles, columns and rows; only tables that have any."""
    tables = (
        _ranks(document),
        _components(document),
        _flips("Where the order flips (the other components in proportion)", document, "+.3f"),
        _costs(document),
        _flips(
            "Where the order by cost flips (the other components in proportion)",
            document.get("cost"),
            "+,.0f",
        ),
    )
    for title, columns, rows in tables:
        if rows:
            yield title, columns, rows


def _ranks(document: dict[str, Any]) -> Table:
    columns = [
        "rank",
        "candidate",
        "predicted time",
        "geometric mean of ratios",
        "chance to be first",
        "gates",
    ]
    rows = [
        [
            "unknown" if candidate["rank"] is None else f"{candidate['rank']}{' (tied)' * candidate['tied']}",
            candidate["name"],
            interval(candidate["time"]),
            interval(candidate["geometric_mean"]),
            "unknown" if candidate["chance_first"] is None else format_percent(candidate["chance_first"]),
            "passed",
        ]
        if candidate["passed"]
        else ["-", candidate["name"], "-", "-", "-", "; ".join(candidate["broken_gates"])]
        for candidate in document["candidates"]
    ]
    return "Ranks (predicted time: the reference is 1, less is better)", columns, rows


def _components(document: dict[str, Any]) -> Table:
    columns = ["component", "share", "candidate", "size", "weight", "times faster than the reference", "way"]
    rows = []
    for component in document["components"]:
        for one in _ranked(document):
            part = next(part for part in one["components"] if part["name"] == component["name"])
            rows += [
                [
                    component["name"],
                    format_percent(component["share"]),
                    one["name"],
                    "-" if size["size"] is None else naming.size(component["along"], size["size"]),
                    format_percent(size["weight"]),
                    interval(size["ratio"]),
                    size["way"] or "-",
                ]
                for size in part["sizes"]
            ]
    return "Components", columns, rows


def _flips(title: str, order: dict[str, Any] | None, number: str) -> Table:
    """The shares at which rivals come first, where one is first; leads as `number` says."""
    decided = order is not None and order.get("verdict", order)["kind"] == WINNER
    found = order["flips"] if order is not None and decided else []
    columns = ["rival", "component", "share", "first's lead", "flips at a share of", "in draws"]
    rows = [
        [
            flip["rival"],
            part["name"],
            format_percent(part["share"]),
            format(part["lead"], number),
            _share(part["flips_at"]),
            format_percent(part["flips_at"]["exists"]),
        ]
        for flip in found
        for part in flip["components"]
    ]
    return title, columns, rows


def _share(found: dict[str, Any]) -> str:
    if found["value"] is None:
        return "nowhere"
    low, high = format_percent(found["low"]), format_percent(found["high"])
    return f"{format_percent(found['value'])} [{low}, {high}]"


def _costs(document: dict[str, Any]) -> Table:
    cost = document.get("cost") or {"order": [], "currency": None, "per": "node"}
    unit = f" ({cost['currency']})" if cost["currency"] else ""
    per = "GPU" if cost["per"] == "gpu" else "node"
    columns = [
        "candidate",
        f"price of a node{unit}",
        "GPUs",
        f"price of a GPU{unit}",
        f"energy of a {per}",
        f"cost per speed of a {per}",
        "speed per kW",
        f"break-even price of a {per}",
        "Pareto front",
    ]
    named = {candidate["name"]: candidate for candidate in document["candidates"]}
    rows = []
    for name in cost["order"]:
        one = named[name]
        watts = one["speed_per_watt"]
        rows.append(
            [
                name,
                f"{one['price_node']:,.0f}",
                str(one["gpus"]),
                f"{one['price_gpu']:,.0f}" if one["price_gpu"] else "-",
                f"{one['energy_cost']:,.0f}" if cost["energy"] else "-",
                money(one["cost_per_speed"]),
                f"{1000 * watts['value']:.3g} ({one['watts']:.0f} W, {one['watts_source']})"
                if watts
                else "-",
                money(one["break_even_price"]) if one["break_even_price"] else "-",
                "unknown" if one["pareto"] is None else "yes" if one["pareto"] else "no",
            ]
        )
    title = "Cost, the cheapest for its speed first" if cost.get("kind") == WINNER else "Cost"
    return title, columns, rows


def _bold(document: dict[str, Any]) -> list[str]:
    return list(filter(None, [*document["sentences"]["headline"], document["sentences"]["buy"]]))


def _plain(document: dict[str, Any]) -> list[str]:
    said = document["sentences"]
    return list(filter(None, [*said["excluded"], said["disclaimer"], document["workload"]["about"]]))


def _lists(document: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Headings with their sentences, only those that have any."""
    said = document["sentences"]
    for heading, lines in (
        ("Warnings", document["warnings"]),
        ("Why", said["why"]),
        ("How it flips", said["flips"]),
        ("What it costs", said["cost"]),
    ):
        if lines:
            yield heading, lines


def _machines(document: dict[str, Any]) -> list[str]:
    return [
        f"{one['name']}: {' · '.join(one['machine'])} ({', '.join(one['files'])})"
        for one in [document["reference"], *document["candidates"]]
    ]


def as_markdown(document: dict[str, Any]) -> str:
    """The whole report."""
    parts = [f"# {in_markdown(document['workload']['name'])}"]
    parts += [f"**{in_markdown(line)}**" for line in _bold(document)]
    parts += [f"*{ALL_MODELLED}*"] if document["label"] == "modelled" else []
    parts += map(in_markdown, _plain(document))
    for heading, lines in _lists(document):
        parts += [f"## {heading}", "\n".join(f"- {in_markdown(line)}" for line in lines)]
    for title, columns, rows in all_of(document):
        parts += [f"## {title}", "\n".join(map(markdown_row, [columns, ["---"] * len(columns), *rows]))]
    parts += ["## Machines", "\n".join(f"- {in_markdown(line)}" for line in _machines(document))]
    return "\n\n".join([*parts, in_markdown(document["sentences"]["method"])]) + "\n"


def as_html(document: dict[str, Any]) -> str:
    """The whole page."""
    title = escape(document["workload"]["name"])
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        + "\n".join(_sections(document))
        + "\n</body>\n</html>\n"
    )


def _sections(document: dict[str, Any]) -> Iterator[str]:
    yield f'<p class="verdict">{"<br>".join(map(escape, _bold(document)))}</p>'
    if document["label"] == "modelled":
        yield f"<p><em>{ALL_MODELLED}</em></p>"
    yield from (f"<p>{escape(line)}</p>" for line in _plain(document))
    lists = dict(_lists(document))
    yield from _list("Warnings", lists.pop("Warnings", []))
    if ranked := _ranked(document):
        yield f"<section><h2>Predicted time</h2>{_bars(document, ranked)}</section>"
    for heading, lines in lists.items():
        yield from _list(heading, lines)
    for title, columns, rows in all_of(document):
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        yield (
            f'<section><h2>{escape(title)}</h2><div class="table"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div></section>"
        )
    yield from _list("Machines", _machines(document))
    yield f"<p>{escape(document['sentences']['method'])}</p>"


def _list(heading: str, lines: list[str]) -> Iterator[str]:
    if lines:
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        yield f"<section><h2>{heading}</h2><ul>{items}</ul></section>"


def _bars(document: dict[str, Any], ranked: list[dict[str, Any]]) -> str:
    """A stacked bar a candidate, a part a component, with the sum's interval; the reference is a line."""
    most = max(1.0, *(one["time"]["high"] or one["time"]["value"] for one in ranked)) * 1.05
    scale = (WIDTH - LEFT - 20) / most
    names = [component["name"] for component in document["components"]]
    legend = -(-len(names) // 3)  # rows of three
    top = 24 * legend + 20
    height = top + len(ranked) * (BAR + GAP) + 30
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" font-size="13" '
        'aria-label="Predicted time by component, the reference is 1">'
    ]
    for at, name in enumerate(names):
        x, y = LEFT + (at % 3) * 185, 4 + 24 * (at // 3)
        parts.append(f'<rect x="{x}" y="{y}" width="14" height="14" fill="{COLOURS[at % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 20}" y="{y + 12}">{escape(cut(name, 20))}</text>')
    for at, one in enumerate(ranked):
        parts += _bar(one, top + at * (BAR + GAP), scale)
    one_at, bottom = LEFT + scale, height - 22
    parts.append(
        f'<line x1="{one_at:.1f}" x2="{one_at:.1f}" y1="{top - 6}" y2="{bottom}" stroke="#222" '
        'stroke-dasharray="4 3"/>'
    )
    parts.append(
        f'<text x="{one_at:.1f}" y="{height - 6}" text-anchor="middle">1 (the reference)</text></svg>'
    )
    return "".join(parts)


def _bar(one: dict[str, Any], y: float, scale: float) -> Iterator[str]:
    name = escape(cut(one["name"], 20))
    yield f'<text x="{LEFT - 8}" y="{y + BAR / 2 + 5}" text-anchor="end">{name}</text>'
    x = float(LEFT)
    for at, part in enumerate(one["components"]):
        wide = part["time"]["value"] * scale
        title = f"{part['name']}: {part['time']['value']:.3f}"
        yield (
            f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BAR}" '
            f'fill="{COLOURS[at % len(COLOURS)]}"><title>{escape(title)}</title></rect>'
        )
        x += wide
    if one["time"]["low"] is None:
        return
    low, high = (LEFT + one["time"][end] * scale for end in ("low", "high"))
    middle = y + BAR / 2
    yield (
        f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 5}v10M{high:.1f} {middle - 5}v10" '
        'stroke="#222" stroke-width="1.5"/>'
    )
