"""A workload file: what a program spends its time on, who is considered, and what disqualifies.

docs/procurement.md describes its keys. Shares are of the workload's time on the reference machine.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from grainscope_report import metrics, selecting, toml_file
from grainscope_report.selecting import Where
from grainscope_report.toml_file import POSITIVE, Bounds, Bytes, Table

BEST, SAME = "best", "same"
NODE, GPU = "node", "gpu"
WATTS_SOURCES = ("measured", "nameplate", "estimated")
# Shares are written by people: thirds as 0.333 add up to less than one.
SHARES_OFF = 2e-3
START = """\
# What a program spends its time on, which machines are on offer, and what disqualifies one.
# `grainscope-report evaluate` reads it; docs/procurement.md describes every key. Sizes may be "64MiB".
name = "My program"
about = "Shares are of the time on the reference, from a profile of the program."

# The result file, or the folder of a run, of the machine on which the shares were found.
reference = "reference/result.json"

# What one pays for and runs the program on: a whole "node", or each "gpu" of it.
price_per = "node"

# A part of the program: its share of the time, and the rows that stand for it. Shares add up to 1.
[[component]]
name = "load"
share = 0.6
where = { family = "transfer/memcpy", path = "pinned_to_gpu", timed = "copy" }
along = "bytes"                                  # an axis, and how its values weigh
sizes = { "64KiB" = 0.3, "64MiB" = 0.7 }

[[component]]
name = "launches"
share = 0.4
where = { family = "call", what = "launch" }
metric = "operation_s"                           # otherwise the rate, else the time

# A candidate that breaks one of these is not ranked. Take away the # of those that matter.
[gates]
verified = true                                  # no row that a component means has failed
# gpus = 2                                       # so many in a node, a second one measured
# gpu_memory = "75GiB"                           # of each; a card of 80 GB tells 79.2 GiB
# host_memory = "512GiB"
# remote_node = true                             # a remote NUMA node was measured
# min_link_gb_s = 50                             # copy peak of each link to the host
# min_peer_gb_s = 300                            # and between GPUs
# min_link_fraction = 0.8                        # copy peak over what the negotiated link can do
# max_cv = 0.2                                   # standard deviation over mean of the visits to a case

# A machine on offer; `files` are of one node or several, one run or several. Several runs tell more.
[[candidate]]
name = "A"
files = ["a/result.json"]
# price_node = 250000                            # or price_gpu; for all candidates, or for none
# currency = "EUR"                               # the same for all: nothing is converted
# gpus = 8                                       # that the price is of (otherwise as many as were measured)
# watts = 5600                                   # of the node; else what `grainscope --power` read
# watts_source = "nameplate"                     # or "measured", "estimated"

[[candidate]]
name = "B"
files = ["b/result.json"]

# With prices: how long a machine is used, and what its power costs.
# [cost]
# years = 5
# per_kwh = 0.25
# pue = 1.3
# currency = "EUR"
"""


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
    min_link_fraction: Annotated[float | None, Bounds(0, 1)] = None
    max_cv: Annotated[float | None, POSITIVE] = None
    gpus: int | None = None
    gpu_memory: Bytes | None = None
    host_memory: Bytes | None = None
    min_link_gb_s: Annotated[float | None, POSITIVE] = None
    min_peer_gb_s: Annotated[float | None, POSITIVE] = None
    remote_node: bool = False


@dataclass(frozen=True)
class Candidate:
    """A machine on offer: result files of one or several nodes of it, and price and power of a node.

    `gpus` are those that the price is of; None: as many as the files say. `price_gpu` is a GPU's share.
    """

    name: str
    files: tuple[Path, ...]
    price_node: Annotated[float | None, POSITIVE] = None
    price_gpu: Annotated[float | None, POSITIVE] = None
    gpus: int | None = None
    currency: str | None = None
    watts: Annotated[float | None, POSITIVE] = None
    watts_source: Literal[WATTS_SOURCES] | None = None

    @property
    def priced(self) -> bool:
        """Whether there is a price."""
        return self.price_node is not None or self.price_gpu is not None


@dataclass(frozen=True)
class Cost:
    """How long a machine is used and what its power costs; energy is price per kWh times pue."""

    years: Annotated[float, POSITIVE]
    per_kwh: Annotated[float, Bounds(0)]
    pue: Annotated[float, Bounds(1)] = 1.0
    currency: str | None = None


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
    per: str = NODE


def load(path: Path) -> Workload:
    """Reads a workload; result files are named relative to it."""
    top = toml_file.load(path)
    found = Workload(
        path,
        top.text("name", path.stem),
        top.text("about", ""),
        top.paths("reference"),
        tuple(_component(table) for table in top.tables("component")),
        top.table("gates").read(Gates),
        tuple(_candidate(table) for table in top.tables("candidate")),
        top.table("cost").read(Cost) if "cost" in top else None,
        top.one_of("price_per", (NODE, GPU), NODE),
    )
    top.done()
    _consistent(top, found)
    return found


def _component(table: Table) -> Component:
    table.only("name", "share", "where", "metric", "better", "method", "along", "sizes", "label")
    metric = table.text("metric", None)
    said = table.one_of("better", (metrics.HIGHER, metrics.LOWER), None)
    along = table.text("along", None)
    if metric and not (said or metrics.better(metric)):
        raise table.error(
            f'`metric` {metric!r} does not say what is better: add better = "higher" or "lower"'
        )
    if metric and said and metrics.better(metric) not in (None, said):
        raise table.error(f"of `metric` {metric!r} {metrics.better(metric)} is better: leave `better` out")
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


def _candidate(table: Table) -> Candidate:
    found = table.read(Candidate)
    if (found.watts is None) != (found.watts_source is None):
        raise table.error(f"`watts` and `watts_source` ({', '.join(WATTS_SOURCES)}) go together")
    if found.price_node is not None and found.price_gpu is not None:
        raise table.error("`price_node` and `price_gpu` are two prices of one thing: give one of them")
    return found


def _consistent(top: Table, found: Workload) -> None:
    """Refuses what only shows in the whole: nothing to do, names twice, shares, prices of some."""
    for what, named in (("component", found.components), ("candidate", found.candidates)):
        if not named:
            raise top.error(f"there is no [[{what}]] in it")
        names = [one.name for one in named]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise top.error(f"two of [[{what}]] are named {twice[0]!r}")
    _add_up(
        top,
        "the shares of the components",
        {component.name: component.share for component in found.components},
    )
    if len({component.label for component in found.components}) > 1:
        raise top.error("some components are measured and some modelled: a verdict does not mix them")
    _of_all(top, "price_node", [candidate.priced for candidate in found.candidates], found.candidates)
    _of_all(top, "watts", [candidate.watts is not None for candidate in found.candidates], found.candidates)
    if found.cost and not found.candidates[0].priced:
        raise top.error("[cost] needs `price_node` or `price_gpu` of every candidate")
    _one_currency(top, found)


def _of_all(top: Table, key: str, given: Sequence[bool], candidates: Sequence[Candidate]) -> None:
    lacking = [one.name for one, value in zip(candidates, given, strict=True) if not value]
    if lacking and len(lacking) < len(candidates):
        raise top.error(
            f"candidate {lacking[0]!r} has no `{key}` and others have: give it for all or for none"
        )


def _one_currency(top: Table, found: Workload) -> None:
    """Refuses amounts of several currencies, or of which only some say theirs: nothing is converted."""
    told = {f"candidate {candidate.name!r}": candidate.currency for candidate in found.candidates}
    if found.cost:
        told["[cost]"] = found.cost.currency
    if len(set(told.values())) > 1:
        said = ", ".join(f"{what} in {currency or 'no currency'}" for what, currency in told.items())
        raise top.error(
            f"amounts are in different currencies ({said}): nothing is converted, give all in one"
        )


def shares(workload: Workload) -> list[float]:
    """The shares of the components, adding up to 1 exactly."""
    total = sum(component.share for component in workload.components)
    return [component.share / total for component in workload.components]
