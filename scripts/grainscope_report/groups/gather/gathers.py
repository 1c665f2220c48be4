"""Rows of gathers: which way, over which rows, how fast; measured here or modelled for a link."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grainscope_report import cases
from grainscope_report.figures.series import in_order
from grainscope_report.groups.gather import machine_rows
from grainscope_report.groups.gather.machine_rows import MachineRow
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_percent, significant

FAMILY = "gather"
MODEL = f"{cases.MODEL}{FAMILY}"
HERE = "measured"  # as a model's link: this machine's own
# Ways to gather in the order in which they are shown; `masked` with loads wider than an element is its own.
WAYS = {
    "cpu_gather": "CPU gather, host to host",
    "cpu_gather_dma": "CPU gather, then copies",
    "row_dma": "a copy a row",
    "naive": "naive",
    "circular_shift": "circular shift",
    "vector": "vector loads",
    "masked": "masked",
    "masked_wide": "masked, wide loads",
    "graphbolt": "GraphBolt",
    "address_ordered": "address-ordered",
}
COPIES = ("cpu_gather_dma", "row_dma")
# Where the rows of each way lie where nothing else is said.
PLAIN_STORES = ("mapped", "pinned")


@dataclass(frozen=True)
class Gather(MachineRow):
    """One gather."""

    @property
    def way(self) -> str:
        """The mode; `masked_wide` where a lane of the masked walk loads more than one element at once."""
        mode = self.word("mode")
        wide = mode == "masked" and self.number("width") > self.number("element")
        return f"{mode}_wide" if wide else mode

    @property
    def store(self) -> str:
        """Where the rows are; a modelled gather reads mapped memory."""
        return self.word("store") or "mapped"

    @property
    def row(self) -> float:
        """Bytes of a row."""
        return self.number("row")

    @property
    def asked(self) -> Estimate | None:
        """GB/s of the rows asked for."""
        return self.rate(self.case_row.bytes)

    @property
    def crossed(self) -> Estimate | None:
        """GB/s of what crossed the link at least: each different row on the host once."""
        return self.rate(self.case_row.link_bytes_least)

    @property
    def different(self) -> float | None:
        """The share of the bytes asked for that are of different rows."""
        size, unique = self.case_row.bytes, self.counter("unique_bytes")
        return unique / size if size and unique else None

    @property
    def of_peak(self) -> float | None:
        """The rows asked for, over the measured copy peak of the same run."""
        link = self.machine.result.link(self.case_row.case.ends)
        return self.asked.value / link.peak_gb_s if link and self.asked else None


def measured(machine: Machine) -> list[Gather]:
    """What this machine measured."""
    return _gathers(machine, FAMILY, "measured")


def modelled(machine: Machine) -> list[Gather]:
    """What the model says of kernels that read mapped rows over links."""
    return _gathers(machine, MODEL, "modelled")


def model_over_measured(machine: Machine) -> tuple[float, float] | None:
    """The least and the most that the model's time of a gather is of the measured one, over this link."""
    times = {_asked_alike(one): one.time.value for one in modelled(machine) if one.link == HERE}
    ratios = [
        times[_asked_alike(one)] / one.time.value
        for one in measured(machine)
        if one.store == "mapped" and _asked_alike(one) in times
    ]
    return (min(ratios), max(ratios)) if ratios else None


def _asked_alike(one: Gather) -> tuple:
    """Equal for the same rows, measured and modelled."""
    return one.case_row.case.without("store", "link", "locality")


def _gathers(machine: Machine, family: str, label: str) -> list[Gather]:
    return [
        Gather(one.machine, one.case_row) for one in machine_rows.of(machine, family) if one.label == label
    ]


def plain(found: Iterable[Gather]) -> list[Gather]:
    """Uniform rows of float32 on the host, one mini-batch at a time."""
    return [
        one
        for one in found
        if one.word("indices") == "uniform"
        and one.number("element") == 4
        and one.number("window") <= 1
        and one.store in PLAIN_STORES
    ]


def span_of(found: Sequence[Gather]) -> float:
    """The table's size of which there are most pairs of way and row, of several the smallest."""
    kernels = [one for one in found if one.way not in COPIES]
    pairs = {
        span: len({(one.way, one.row) for one in kernels if one.number("span") == span})
        for span in {one.number("span") for one in kernels}
    }
    return max(pairs, key=lambda span: (pairs[span], -span), default=0.0)


def by_way(found: Iterable[Gather], span: float) -> dict[tuple[str, float], Gather]:
    """For each way and row the gather of most rows over the span; of copies another's where it has none."""
    best: dict[tuple[str, float], Gather] = {}

    def rank(one: Gather) -> tuple:
        return one.number("span") == span, one.store == "pinned", one.number("rows"), one.number("width")

    for one in found:
        if one.number("span") != span and one.way not in COPIES:
            continue
        known = best.get((one.way, one.row))
        if known is None or rank(one) > rank(known):
            best[one.way, one.row] = one
    return best


def ways(found: Iterable[str]) -> list[str]:
    """Ways in the order in which they are shown."""
    return in_order(found, tuple(WAYS))


def spoken(way: str) -> str:
    """The name of a way."""
    return WAYS.get(way, way.replace("_", " "))


def _counted(row: Row) -> Iterator[str]:
    rate, share = row.counters.get("link_gb_s"), row.counters.get("host_share")
    if rate is not None and rate != row.bandwidth_gb_s:
        yield f"link {rate:.2f} GB/s"
    if share is not None:
        yield f"{format_percent(share)} from the host"
    if (requests := row.counters.get("requests_per_row")) is not None:
        yield f"{significant(requests)} requests a row"


# What `list` says of a row beside its time, by family.
COUNTED = dict.fromkeys((FAMILY, f"{FAMILY}/bag", MODEL), _counted)
