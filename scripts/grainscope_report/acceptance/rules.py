"""Acceptance rules as data: what is asked of which rows or links, within which limits, and where from.

A rule file is TOML and is never evaluated as code. docs/procurement.md describes its keys.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from grainscope_report import metrics, selecting, toml_file
from grainscope_report.errors import ReportError
from grainscope_report.metrics import Unit
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, TO_PEER
from grainscope_report.resources import PACKAGE
from grainscope_report.selecting import Where
from grainscope_report.statistics import Estimate
from grainscope_report.toml_file import Bounds, Table
from grainscope_report.uncertainty import Uncertainty
from grainscope_report.units import plural

SETS = PACKAGE / "acceptance" / "sets"
MOST_DIGITS = 12
LINK, THEORETICAL, REFERENCE = "link", "theoretical", "reference"
PRESETS = ("smoke", "quick", "full", "paper", "acceptance")
# What a run knows of a link, beside its peak.
LINK_METRICS = ("peak_gb_s", "generation", "width", "nvlinks")
CLOCKS = ("gated", "open", "host")
# What NVML names as holding clocks down (src/system/nvml.cpp).
REASONS = (
    "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clock_setting",
    "board_limit", "reliability",
)  # fmt: skip
# A governor that keeps the CPU slow until it is busy; only rules that name it accept it.
POWERSAVE = "powersave"


@dataclass(frozen=True)
class Limits:
    """What a value must not go below or above, in the file's own unit, and what is expected of it."""

    unit: Unit
    lower: float | None
    upper: float | None
    target: float | None

    def broken_by(self, value: float, half: float, shown: float) -> str:
        """How a value breaks the limits, where its whole interval lies beyond; empty where it keeps them.

        The interval reaches by the factor exp(half) to either side; what is said has that of exp(shown).
        """
        digits, said = self.digits(value), self.around(value, shown)
        if self.lower is not None and not value * math.exp(half) >= self.lower:
            return f"{said} is below the lower limit {self.unit.text(self.lower, digits)}"
        if self.upper is not None and not value * math.exp(-half) <= self.upper:
            return f"{said} is above the upper limit {self.unit.text(self.upper, digits)}"
        return ""

    def digits(self, value: float) -> int:
        """As many as show that a value is no limit, which it may lie just beyond."""
        limits = [limit for limit in (self.lower, self.upper) if limit not in (None, value)]
        number = self.unit.number
        enough = (
            digits
            for digits in range(metrics.DIGITS, MOST_DIGITS)
            if all(number(value, digits) != number(limit, digits) for limit in limits)
        )
        return next(enough, MOST_DIGITS)

    def around(self, value: float, half: float) -> str:
        """`49.9 GB/s ± 3.7 %`."""
        factor, said = math.exp(half), self.unit.text(value, self.digits(value))
        return metrics.with_error(said, Estimate(value, value / factor, value * factor))

    def beside(self, value: float | None) -> str:
        """`at least 50 GB/s, 54.7 GB/s expected`, with as many digits as a value beside it has."""
        digits = metrics.DIGITS if value is None else self.digits(value)
        said = [] if self.lower is None else [f"at least {self.unit.text(self.lower, digits)}"]
        said += [] if self.upper is None else [f"at most {self.unit.text(self.upper, digits)}"]
        said += [] if self.target is None else [f"{self.unit.text(self.target)} expected"]
        return ", ".join(said)


@dataclass(frozen=True)
class Rule:
    """One limit: `where` selects rows, or `link` links by direction; `source` says where the limit is from.

    `relative_to` makes the value a share of the link's copy peak, of what it can do in theory, or of the
    same question in a reference file. `every_gpu` asks for a row of each GPU, `needs_gpus` for so many.
    """

    id: str
    text: str
    where: Where | None
    link: str | None
    metric: str
    limits: Limits
    relative_to: str | None
    every_gpu: bool
    needs_gpus: int
    source: str


@dataclass(frozen=True)
class RunRules:
    """What the run itself must be; None asks nothing."""

    preset: Literal[PRESETS] | None = None
    visits: int | None = None
    gpus: int | None = None
    severe_warnings: bool = True


@dataclass(frozen=True)
class NodeRules:
    """What the node must be, by its report and by what was read around visits; None and () ask nothing.

    `governors` are those accepted; without them any but powersave is. `throttle` are reasons that must not
    hold clocks down. Clocks are the least that the middle reading may be. What the machine does not tell is
    not decided, except with `where_told`; a governor that is not named is accepted then.
    """

    governors: Annotated[tuple[str, ...], Bounds(key="governor")] = ()
    throttle: tuple[str, ...] = ()
    cpu_mhz: Annotated[float | None, Bounds(0)] = None
    gpu_sm_mhz: Annotated[float | None, Bounds(0)] = None
    gpu_memory_mhz: Annotated[float | None, Bounds(0)] = None
    link_generation: int | None = None
    link_width: int | None = None
    ecc: bool | None = None
    ecc_errors: Annotated[int | None, Bounds(0)] = None
    where_told: bool = False


class Allowance(NamedTuple):
    """What values differ by where the file does not tell: of one visit, and of runs."""

    visit: Uncertainty
    run: Uncertainty


class Basis(NamedTuple):
    """What the limits rest on: result files below the repository, and how many runs and machines they are."""

    files: tuple[str, ...] = ()
    runs: Annotated[int | None, Bounds(0)] = None
    machines: Annotated[int | None, Bounds(0)] = None

    @property
    def text(self) -> str:
        """`18 runs of 8 machines`; empty where it says nothing."""
        if self.runs is None or self.machines is None:
            return ""
        parts = (("run", self.runs), ("machine", self.machines))
        return " of ".join(plural(count, what) for what, count in parts)


@dataclass(frozen=True)
class RuleSet:
    """The rules of one file."""

    name: str
    path: Path
    run: RunRules
    rules: tuple[Rule, ...]
    node: NodeRules = NodeRules()
    allowance: Mapping[str, Allowance] = field(default_factory=dict)
    basis: Basis = field(default_factory=Basis)


def shipped() -> list[str]:
    """The names of the rule sets that come with the package."""
    return sorted(path.stem for path in SETS.glob("*.toml"))


def load(name: str) -> RuleSet:
    """Reads a rule file, or the rule set of that name."""
    path = Path(name)
    if not path.exists():
        if name not in shipped():
            raise ReportError(f"--rules {name} is neither a file nor one of the sets {', '.join(shipped())}")
        path = SETS / f"{name}.toml"
    top = toml_file.load(path)
    title = top.text("name", path.stem)
    run = top.table("run").read(RunRules)
    rules = tuple(_rule(table) for table in top.tables("rule"))
    node, basis = _node(top.table("node")), top.table("basis").read(Basis)
    allowance = _allowance(top.table("allowance"))
    top.done()
    if not rules:
        raise top.error("there is no [[rule]] in it")
    ids = [rule.id for rule in rules]
    if twice := sorted({one for one in ids if ids.count(one) > 1}):
        raise top.error(f"two rules have the id {twice[0]!r}")
    return RuleSet(title, path, run, rules, node, allowance, basis)


def _node(table: Table) -> NodeRules:
    found = table.read(NodeRules)
    # A bit that has no name yet is `bit_12`.
    if wrong := [one for one in found.throttle if one not in REASONS and not re.fullmatch(r"bit_\d+", one)]:
        raise table.error(f"`throttle`: there is no reason {wrong[0]!r}; there are {', '.join(REASONS)}")
    return found


def _allowance(table: Table) -> dict[str, Allowance]:
    """Standard uncertainties by clock, in percent."""
    found = {}
    for clock in CLOCKS:
        each = table.table(clock)
        if each.raw:
            parts = (each.number(key, low=0, high=100) / 100 for key in Allowance._fields)
            found[clock] = Allowance(*(Uncertainty(part, math.inf) for part in parts))
            each.done()
    table.done()
    return found


def _rule(table: Table) -> Rule:
    name = table.text("id")
    where, link = _subject(table)
    metric = table.text("metric", "bandwidth_gb_s" if where else "peak_gb_s")
    if link and metric not in LINK_METRICS:
        raise table.error(f"`metric` of a link must be one of {', '.join(LINK_METRICS)}, not {metric!r}")
    relative_to = table.one_of("relative_to", (LINK, THEORETICAL, REFERENCE), None)
    rate = "peak_gb_s" if link else "bandwidth_gb_s"
    if relative_to in (LINK, THEORETICAL) and (metric != rate or (link and relative_to == LINK)):
        raise table.error(
            "only a row's bandwidth_gb_s can be relative to the link, and only that or a link's peak_gb_s to "
            f"theory, not {metric!r}"
        )
    found = Rule(
        id=name,
        text=table.text("text", name),
        where=where,
        link=link,
        metric=metric,
        limits=_limits(table, metrics.SHARE if relative_to else metrics.kind(metric)),
        relative_to=relative_to,
        every_gpu=table.flag("every_gpu", True),
        needs_gpus=table.count("needs_gpus", 0, low=0),
        source=table.text("source", ""),
    )
    table.done()
    return found


def _subject(table: Table) -> tuple[Where | None, str | None]:
    if ("where" in table) == ("link" in table):
        raise table.error("it needs either `where` (rows) or `link` (a direction)")
    if "link" in table:
        return None, table.one_of("link", (HOST_TO_GPU, GPU_TO_HOST, TO_PEER))
    return selecting.where(table.table("where")), None


def _limits(table: Table, kind: str) -> Limits:
    name = table.text("unit", metrics.OWN[kind])
    if name not in metrics.UNITS:
        raise table.error(f"there is no unit {name!r}; there are {', '.join(metrics.UNITS)}")
    of, scale = metrics.UNITS[name]
    if of != kind:
        there = ", ".join(one for one, (which, _) in metrics.UNITS.items() if which == kind)
        raise table.error(f"`unit` of a {kind} must be one of {there}, not {name!r}")
    lower, upper, target = (
        None if (said := table.number(key, None)) is None else said * scale
        for key in ("lower", "upper", "target")
    )
    if lower is None and upper is None:
        raise table.error("it needs `lower` or `upper`, or both; `target` alone decides nothing")
    bounds = [one for one in (lower, target, upper) if one is not None]
    if list(bounds) != sorted(bounds):
        raise table.error("`lower`, `target` and `upper` must not fall")
    return Limits(Unit(name, scale), lower, upper, target)


def titled(sets: Sequence[RuleSet]) -> str:
    """The names of several sets, each with what it rests on."""
    return ", ".join(one.name + (f" ({one.basis.text})" if one.basis.text else "") for one in sets)
