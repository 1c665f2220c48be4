"""Rows of shared GPUs: a gather on some of the multiprocessors, alone or beside a computation on the rest."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grainscope_report.figures.series import in_order
from grainscope_report.groups.gather import machine_rows
from grainscope_report.groups.gather.machine_rows import MachineRow, slower
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate

GATHER, SPLIT = "sm_share/gather", "sm_share/split"
BY = {
    "grid_cap": "grid cap",
    "green_context": "green context",
    "mps_percentage": "MPS percentage",
    "exec_affinity": "context with an SM count (MPS)",
    "unlimited": "all of the GPU",
}
WHOLE = "unlimited"
# What a split computes beside the gather; rows that say nothing multiply matrices.
PRODUCTS, STEPS = "products", "graphsage"
CONSUMERS = {PRODUCTS: "products of matrices", STEPS: "GraphSAGE training steps"}
# What is fast enough, of the rate with all of the GPU.
ENOUGH = 0.95


@dataclass(frozen=True)
class Share(MachineRow):
    """A gather on a share."""

    @property
    def by(self) -> str:
        """How the share is made."""
        return self.word("by")

    @property
    def consumer(self) -> str:
        """What is computed beside the gather."""
        return self.word("consumer") or PRODUCTS

    @property
    def asked_sms(self) -> float | None:
        """Multiprocessors asked for; None where all are free to use."""
        return self.counter("asked_sms")

    @property
    def given_sms(self) -> float | None:
        """Multiprocessors that the driver says it gave."""
        return self.counter("given_sms")

    @property
    def percent(self) -> float | None:
        """What was given, in percent of the GPU."""
        given, there = self.given_sms, self.counter("available_sms")
        return 100 * given / there if given and there else None

    @property
    def gathered(self) -> Estimate | None:
        """GB/s of the rows asked for; of a split while both sides ran."""
        lane = next((one for one in self.case_row.lanes if one.name == "gather" and one.median_s), None)
        if lane is None:
            return self.rate(self.case_row.bytes)
        low, high = lane.within_s or (lane.median_s, lane.median_s)
        rates = (lane.bytes / time_s / 1e9 for time_s in (lane.median_s, high, low))
        return Estimate(*rates, self.time.visits)


def alone(machine: Machine) -> list[Share]:
    """Gathers with the GPU to themselves."""
    return [Share(one.machine, one.case_row) for one in machine_rows.of(machine, GATHER)]


def splits(machine: Machine) -> list[Share]:
    """Gathers beside a computation, with the widest loads that were tried."""
    found = [Share(one.machine, one.case_row) for one in machine_rows.of(machine, SPLIT)]
    widest = max((one.number("width") for one in found), default=0)
    return [one for one in found if one.number("width") == widest]


def ways(found: Sequence[Share]) -> list[str]:
    """How shares are made, in the order in which they are shown."""
    return in_order({one.by for one in found}, tuple(BY))


def fewest(found: Sequence[Share], enough: float = ENOUGH) -> list[Share]:
    """For each machine, width and way the fewest multiprocessors that reach `enough` of that width's best."""
    there = [one for one in found if one.given_sms and one.gathered]
    least: dict[tuple, Share] = {}
    tops: dict[tuple, float] = defaultdict(float)
    for one in there:
        key = one.machine.index, one.number("width")
        tops[key] = max(tops[key], one.gathered.value)
    for one in there:
        key = one.machine.index, one.number("width")
        known = least.get((*key, one.by))
        full = one.by != WHOLE and one.gathered.value >= enough * tops[key]
        if full and (known is None or one.given_sms < known.given_sms):
            least[(*key, one.by)] = one
    return list(least.values())


def _counted(row: Row) -> Iterator[str]:
    given, there = row.counters.get("given_sms"), row.counters.get("available_sms")
    asked = row.counters.get("asked_sms")
    if given is not None:
        of = f" of {there:g}" if there else ""
        yield f"{given:g}{of} SMs" + (f" for {asked:g} asked" if asked not in (None, given) else "")
    yield from slower(row, "gather", "compute")


# What `list` says of a row beside its time, by family.
COUNTED = dict.fromkeys((GATHER, SPLIT), _counted)
