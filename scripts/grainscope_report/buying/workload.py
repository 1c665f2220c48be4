"""A workload file: what a program spends its time on, who is considered, and what disqualifies.

docs/procurement.md describes its keys. Shares are of the workload's time on the reference machine.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path

from grainscope_report import metrics, selecting, toml_file
from grainscope_report.selecting import Where
from grainscope_report.toml_file import Table

BEST, SAME = "best", "same"
WATTS_SOURCES = ("measured", "nameplate", "estimated")
# Shares are written by people: thirds as 0.333 add up to less than one.
SHARES_OFF = 2e-3


@dataclass(frozen=True)
class Component:
    """A part of the workload: its share, the rows that stand for it, and how sizes weigh.

    `method` is `best` (each machine its own fastest way) or `same` (the reference's). `sizes` are weights
    along the axis `along`; without an axis there is one size, None.
    """

    name: str
    share: float
    where: Where
    metric: str | None
    better: str | None
    method: str
    along: str | None
    sizes: Mapping[float | None, float]
    label: str


@dataclass(frozen=True)
class Gates:
    """What a candidate must keep to be ranked; None asks nothing."""

    verified: bool = False
    min_link_fraction: float | None = None
    max_cv: float | None = None


@dataclass(frozen=True)
class Candidate:
    """A machine on offer: result files of one or several nodes of it, its price and power."""

    name: str
    files: tuple[Path, ...]
    price: float | None
    watts: float | None
    watts_source: str | None


@dataclass(frozen=True)
class Cost:
    """How long a machine is used and what its power costs; energy is price per kWh times pue."""

    years: float
    per_kwh: float
    pue: float


@dataclass(frozen=True)
class Workload:
    """The whole file."""

    path: Path
    name: str
    about: str
    reference: tuple[Path, ...]
    components: tuple[Component, ...]
    gates: Gates
    candidates: tuple[Candidate, ...]
    cost: Cost | None


def load(path: Path) -> Workload:
    """Reads a workload; result files are named relative to it."""
    top = toml_file.load(path)
    found = Workload(
        path,
        top.text("name", path.stem),
        top.text("about", ""),
        _files(top, "reference"),
        tuple(_component(table) for table in top.tables("component")),
        _gates(top.table("gates")),
        tuple(_candidate(table) for table in top.tables("candidate")),
        _cost(top.table("cost")) if "cost" in top else None,
    )
    top.done()
    _consistent(top, found)
    return found


def _files(table: Table, key: str) -> tuple[Path, ...]:
    folder = Path(table.file).parent
    return tuple(Path(normpath(folder / name)) for name in table.texts(key))


def _component(table: Table) -> Component:
    table.only("name", "share", "where", "metric", "better", "method", "along", "sizes", "label")
    metric = table.text("metric", None)
    said = table.one_of("better", (metrics.HIGHER, metrics.LOWER), None)
    along = table.text("along", None)
    if metric and not (said or metrics.better(metric)):
        raise table.error(
            f'`metric` {metric!r} does not say what is better: add better = "higher" or "lower"'
        )
    found = Component(
        name=table.text("name"),
        share=table.number("share", low=0, high=1, above=True),
        where=selecting.where(table.table("where")),
        metric=metric,
        better=said or (metrics.better(metric) if metric else None),
        method=table.one_of("method", (BEST, SAME), BEST),
        along=along,
        sizes=_sizes(table, along),
        label=table.one_of("label", ("measured", "modelled"), "measured"),
    )
    if along in found.where.axes:
        raise table.error(f"`along` {along!r} is also in `where`: leave it to `sizes`")
    return found


def _sizes(table: Table, along: str | None) -> Mapping[float | None, float]:
    if (along is not None) != ("sizes" in table):
        raise table.error("`along` and `sizes` go together")
    if along is None:
        return {None: 1.0}
    sizes = table.table("sizes")
    weights = {}
    for key in sizes.raw:
        at = toml_file.size(key)
        if at is None or at <= 0:
            raise sizes.error(f'{key!r} is no size: write 4096 or "4KiB"')
        if at in weights:
            raise sizes.error(f"{key!r} is there twice")
        weights[at] = sizes.number(key, low=0, high=1, above=True)
    return _add_up(sizes, "the weights of sizes", weights)


def _add_up(table: Table, what: str, weights: Mapping) -> Mapping:
    """The weights, made to add up to 1 exactly where they do but for rounding."""
    total = sum(weights.values())
    if not math.isclose(total, 1, abs_tol=SHARES_OFF):
        raise table.error(f"{what} add up to {total:g}, not to 1")
    return {key: weight / total for key, weight in weights.items()}


def _gates(table: Table) -> Gates:
    found = Gates(
        table.flag("verified", False),
        table.number("min_link_fraction", None, low=0, high=1),
        table.number("max_cv", None, low=0, above=True),
    )
    table.done()
    return found


def _candidate(table: Table) -> Candidate:
    found = Candidate(
        table.text("name"),
        _files(table, "files"),
        table.number("price", None, low=0, above=True),
        table.number("watts", None, low=0, above=True),
        table.one_of("watts_source", WATTS_SOURCES, None),
    )
    table.done()
    if (found.watts is None) != (found.watts_source is None):
        raise table.error(f"`watts` and `watts_source` ({', '.join(WATTS_SOURCES)}) go together")
    return found


def _cost(table: Table) -> Cost:
    found = Cost(
        table.number("years", low=0, above=True),
        table.number("per_kwh", low=0),
        table.number("pue", 1.0, low=1),
    )
    table.done()
    return found


def _consistent(top: Table, found: Workload) -> None:
    """Refuses what only shows in the whole: nothing to do, names twice, shares, prices of some."""
    for what, named in (("component", found.components), ("candidate", found.candidates)):
        if not named:
            raise top.error(f"there is no [[{what}]] in it")
        names = [one.name for one in named]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise top.error(f"two of [[{what}]] are named {twice[0]!r}")
    _add_up(top, "the shares of the components", {one.name: one.share for one in found.components})
    if len({one.label for one in found.components}) > 1:
        raise top.error("some components are measured and some modelled: a verdict does not mix them")
    _of_all(top, "price", [one.price for one in found.candidates], found.candidates)
    _of_all(top, "watts", [one.watts for one in found.candidates], found.candidates)
    if found.cost and any(one.price is None or one.watts is None for one in found.candidates):
        raise top.error("[cost] needs `price` and `watts` of every candidate")


def _of_all(top: Table, key: str, values: Sequence[float | None], candidates: Sequence[Candidate]) -> None:
    lacking = [one.name for one, value in zip(candidates, values, strict=True) if value is None]
    if lacking and len(lacking) < len(candidates):
        raise top.error(
            f"candidate {lacking[0]!r} has no `{key}` and others have: give it for all or for none"
        )


def shares(workload: Workload) -> list[float]:
    """The shares of the components, adding up to 1 exactly."""
    total = sum(one.share for one in workload.components)
    return [one.share / total for one in workload.components]
