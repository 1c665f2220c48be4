"""Rows of training pipelines: a step's time by the way in which it is fed, and its stages alone.

In a step each GPU trains on a mini-batch of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import statistics
from grainscope_report.figures.series import in_order
from grainscope_report.groups.gather import gathers, machine_rows
from grainscope_report.groups.gather.machine_rows import MachineRow, slower
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import significant

FAMILY = "pipeline/graphsage"
STAGES = {"sample_s": "sampling", "gather_s": "gathering", "train_s": "training"}
# Modes, and modes with where the rows are where that makes another method of it.
METHODS = {
    "cpu_only": "training on the CPU",
    "cpu_gather_dma": "CPU gather, then copies",
    "naive": "naive",
    "circular_shift": "circular shift",
    "masked": "masked",
    "graphbolt": "GraphBolt",
    "address_ordered": "address-ordered",
    "processes": "two processes (MPS)",
    "tiered": "tiered",
    "device": "all in the GPU",
}
BASE = "cpu_gather_dma"
USUAL_HOT = 10.0
ON_CPU = ("cpu_only", "cpu_gather", "cpu")


@dataclass(frozen=True, order=True)
class Work:
    """What is trained: pipelines of the same one may be compared."""

    graph: str
    fanout: str
    batch: float
    row: float
    hidden: float
    gpus: float = 1

    @property
    def spoken(self) -> str:
        """`pareto22, fan-out 10×25, batch 1000, hidden 256`."""
        return (
            f"{self.graph}, fan-out {self.fanout.replace('x', '×')}, batch {self.batch:g}, "
            f"hidden {self.hidden:g}"
        )


@dataclass(frozen=True)
class Pipeline(MachineRow):
    """One way to feed a training."""

    @property
    def method(self) -> str:
        """The mode; `tiered` and `device` where the rows are there, `processes` where two share the GPU."""
        mode, store = self.word("mode"), self.word("store")
        if self.word("processes"):
            return "processes"
        if mode in ON_CPU:
            return "cpu_only"
        return store if store in ("tiered", "device") else mode

    @property
    def work(self) -> Work:
        """What is trained, and on how many GPUs."""
        sizes = (self.number(axis) for axis in ("batch", "row", "hidden"))
        return Work(self.word("graph"), self.word("fanout"), *sizes, self.number("gpus") or 1)

    @property
    def hot(self) -> float:
        """Percent of the rows in the GPU's memory."""
        return 100.0 if self.method == "device" else self.number("hot")

    @property
    def stages(self) -> list[float]:
        """Seconds of each stage alone; empty where one is not known."""
        found = [self.counter(name) for name in STAGES]
        return [one for one in found if one is not None] if None not in found else []

    @property
    def share(self) -> float | None:
        """Percent of the GPU's multiprocessors that the process which gathers was given."""
        given, there = self.counter("given_sms"), self.counter("available_sms")
        return 100 * given / there if given and there else None

    @property
    def link_bytes(self) -> float | None:
        """Bytes over the link, a mini-batch."""
        told = self.counter("link_bytes")
        return told if told is not None else self.case_row.link_bytes_least


def pipelines(machine: Machine) -> list[Pipeline]:
    """Every training that this machine did."""
    return [Pipeline(one.machine, one.case_row) for one in machine_rows.of(machine, FAMILY)]


def over(slow: Pipeline, fast: Pipeline) -> Estimate:
    """How many times faster `fast` is."""
    return statistics.ratio(slow.time, fast.time)


def fastest(found: Sequence[Pipeline]) -> dict[str, Pipeline]:
    """Of each method the fastest, of a tiered one with as many hot rows as the dissertation has."""
    best: dict[str, Pipeline] = {}

    def rank(one: Pipeline) -> tuple[float, float]:
        return abs(one.hot - USUAL_HOT) if one.method == "tiered" else 0.0, one.time.value

    for one in found:
        known = best.get(one.method)
        if known is None or rank(one) < rank(known):
            best[one.method] = one
    return best


def methods(found: Sequence[str]) -> list[str]:
    """Methods in the order in which they are shown."""
    return in_order(found, tuple(METHODS))


def spoken(method: str) -> str:
    """The name of a method."""
    return METHODS.get(method, gathers.spoken(method))


def _counted(row: Row) -> Iterator[str]:
    yield from slower(row, *(stage.removesuffix("_s") for stage in STAGES))
    if (overlap := row.counters.get("overlap")) is not None:
        yield f"overlap {overlap:.2f}"
    if (loss := row.counters.get("loss_last")) is not None:
        yield f"loss {significant(loss)}"


# What `list` says of a row beside its time, by family.
COUNTED = {FAMILY: _counted}
