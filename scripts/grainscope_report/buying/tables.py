"""The verdict's tables as rows of text, which Markdown and HTML write each in its own way."""

from collections.abc import Iterator
from typing import Any

from grainscope_report import naming
from grainscope_report.buying.words import WINNER, interval, money
from grainscope_report.units import format_percent

Table = tuple[str, list[str], list[list[str]]]


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


def _ranked(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in document["candidates"] if one["passed"]]


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
            "unknown" if one["rank"] is None else f"{one['rank']}{' (tied)' * one['tied']}",
            one["name"],
            interval(one["time"]),
            interval(one["geometric_mean"]),
            "unknown" if one["chance_first"] is None else format_percent(one["chance_first"]),
            "passed",
        ]
        if one["passed"]
        else ["-", one["name"], "-", "-", "-", "; ".join(one["broken_gates"])]
        for one in document["candidates"]
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
    named = {one["name"]: one for one in document["candidates"]}
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
