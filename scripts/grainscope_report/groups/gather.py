"""Rows of gathers: which way, over which rows, how fast, measured here or modelled for a link; on a share
of the multiprocessors, alone or beside a computation; from which row on a copy a row pays; which way is
first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from grainscope_report import families, metrics, model, statistics
from grainscope_report.analysis import Analysis
from grainscope_report.figures import parts
from grainscope_report.figures.parts import MachineRow, best_of, grouped, in_order, slower
from grainscope_report.fits import shape
from grainscope_report.machine import Machine
from grainscope_report.model import Row
from grainscope_report.statistics import Crossover, Estimate
from grainscope_report.units import format_bytes, format_percent, significant

FAMILY = "gather"
MODEL = f"{model.MODEL}{FAMILY}"
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
    "bulk": "bulk copies (TMA)",
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
    """What this machine measured, by one GPU or the CPU."""
    return [gather for gather in _gathers(machine, FAMILY, "measured") if not gather.number("neighbours")]


def helped(machine: Machine) -> list[tuple[Gather, Gather]]:
    """Gathers of which neighbours bring a share over their own links, each with the same by one GPU alone."""
    # Of every kind of memory: large pages are what many links are for.
    there = [Gather(machine, row) for row in machine.result.of(FAMILY) if row.ok and row.median_s]
    return parts.beside(
        [gather for gather in there if gather.number("neighbours")],
        [gather for gather in there if not gather.number("neighbours")],
        "neighbours",
    )


def modelled(machine: Machine) -> list[Gather]:
    """What the model says of kernels that read mapped rows over links."""
    return _gathers(machine, MODEL, "modelled")


def model_over_measured(machine: Machine) -> tuple[float, float] | None:
    """The least and the most that the model's time of a gather is of the measured one, over this link."""
    times = {_asked_alike(gather): gather.time.value for gather in modelled(machine) if gather.link == HERE}
    ratios = [
        times[_asked_alike(gather)] / gather.time.value
        for gather in measured(machine)
        if gather.store == "mapped" and _asked_alike(gather) in times
    ]
    return (min(ratios), max(ratios)) if ratios else None


def _asked_alike(gather: Gather) -> tuple:
    """Equal for the same rows, measured and modelled."""
    return gather.case_row.case.without("store", "link", "locality")


def _gathers(machine: Machine, family: str, label: str) -> list[Gather]:
    return [row for row in parts.machine_rows(machine, family, Gather) if row.label == label]


def plain(gathers: Iterable[Gather]) -> list[Gather]:
    """Uniform rows of float32 on the host, one mini-batch at a time."""
    return [
        gather
        for gather in gathers
        if gather.word("indices") == "uniform"
        and gather.number("element") == 4
        and gather.number("window") <= 1
        and gather.store in PLAIN_STORES
    ]


def span_of(gathers: Sequence[Gather]) -> float:
    """The table's size of which there are most pairs of way and row, of several the smallest."""
    kernels = [gather for gather in gathers if gather.way not in COPIES]
    pairs = {
        span: len({(gather.way, gather.row) for gather in kernels if gather.number("span") == span})
        for span in {gather.number("span") for gather in kernels}
    }
    return max(pairs, key=lambda span: (pairs[span], -span), default=0.0)


def by_way(gathers: Iterable[Gather], span: float) -> dict[tuple[str, float], Gather]:
    """For each way and row the gather of most rows over the span; of copies another's where it has none."""

    def rank(one: Gather) -> tuple:
        return one.number("span") == span, one.store == "pinned", one.number("rows"), one.number("width")

    kept = [gather for gather in gathers if gather.number("span") == span or gather.way in COPIES]
    return best_of(kept, lambda gather: (gather.way, gather.row), rank)


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
        lane = next(
            (gather for gather in self.case_row.lanes if gather.name == "gather" and gather.median_s), None
        )
        if lane is None:
            return self.rate(self.case_row.bytes)
        low, high = lane.within_s or (lane.median_s, lane.median_s)
        rates = (lane.bytes / time_s / 1e9 for time_s in (lane.median_s, high, low))
        return Estimate(*rates, self.time.visits)


def alone(machine: Machine) -> list[Share]:
    """Gathers by loads with the GPU to themselves."""
    return _by_loads(machine, GATHER)


def splits(machine: Machine) -> list[Share]:
    """Gathers by loads beside a computation, with the widest that were tried."""
    found = _by_loads(machine, SPLIT)
    widest = max((gather.number("width") for gather in found), default=0)
    return [gather for gather in found if gather.number("width") == widest]


def _by_loads(machine: Machine, family: str) -> list[Share]:
    return [share for share in parts.machine_rows(machine, family, Share) if not share.word("mode")]


def share_ways(shares: Sequence[Share]) -> list[str]:
    """How shares are made, in the order in which they are shown."""
    return in_order({share.by for share in shares}, tuple(BY))


def fewest(shares: Sequence[Share], enough: float = ENOUGH) -> list[Share]:
    """For each machine, width and way the fewest multiprocessors that reach `enough` of that width's best."""

    def loads(share: Share) -> tuple:
        return share.machine.index, share.number("width")

    known = [share for share in shares if share.given_sms and share.gathered]
    tops = best_of(known, loads, lambda share: share.gathered.value)
    full = [
        share
        for share in known
        if share.by != WHOLE and share.gathered.value >= enough * tops[loads(share)].gathered.value
    ]
    return list(
        best_of(full, lambda share: (*loads(share), share.by), lambda share: -share.given_sms).values()
    )


def _counted_share(row: Row) -> Iterator[str]:
    given, there = row.counters.get("given_sms"), row.counters.get("available_sms")
    asked = row.counters.get("asked_sms")
    if given is not None:
        of = f" of {there:g}" if there else ""
        yield f"{given:g}{of} SMs" + (f" for {asked:g} asked" if asked not in (None, given) else "")
    yield from slower(row, "gather", "compute")


# What `list` says of a row beside its time, by family.
COUNTED = dict.fromkeys((FAMILY, f"{FAMILY}/bag", MODEL), _counted) | dict.fromkeys(
    (GATHER, SPLIT), _counted_share
)


ROW_COPIES = "row_dma"
# They bring nothing by a kernel.
_OTHERS = (*COPIES, "cpu_gather")


@dataclass(frozen=True)
class RowCopies:
    """Mini-batches of one table: for each size of rows, ascending, copies of rows and the fastest kernel."""

    copies: tuple[Gather, ...]
    kernels: tuple[Gather, ...]

    @property
    def sizes(self) -> tuple[float, ...]:
        """Bytes of a row."""
        return tuple(gather.row for gather in self.copies)

    @cached_property
    def _swaps(self) -> list[Crossover]:
        copies, kernels = ([gather.asked for gather in there] for there in (self.copies, self.kernels))
        return statistics.crossovers(self.sizes, copies, kernels)

    @property
    def pays_from(self) -> Estimate | None:
        """Bytes of a row from which on copies are clearly ahead; None where they are not at the end."""
        if self._swaps:
            last = self._swaps[-1]
            return Estimate(last.x, last.low, last.high) if last.first_wins_above else None
        pairs = zip(self.copies, self.kernels, strict=True)
        ahead = [copy.row for copy, kernel in pairs if copy.asked.low > kernel.asked.high]
        return Estimate(ahead[0], ahead[0], ahead[0]) if ahead else None

    @property
    def spoken(self) -> str:
        """`from 85.5 KiB a row on [80 KiB, 91 KiB]`, `nowhere up to 128 KiB a row`."""
        pays, largest = self.pays_from, format_bytes(self.sizes[-1])
        if pays is None:
            return f"{'no longer at' if self._swaps else 'nowhere up to'} {largest} a row"
        between = f" [{format_bytes(pays.low)}, {format_bytes(pays.high)}]" if pays.low < pays.high else ""
        return f"from {format_bytes(pays.value)} a row on{between}"


def row_copies(machine: Machine) -> list[RowCopies]:
    """One for each table and number of rows that were gathered both ways."""
    asked = _asked(measured(machine))
    by_copies = grouped((gather for gather in asked if gather.way == ROW_COPIES), _batch)
    by_kernels = grouped((gather for gather in asked if gather.way not in _OTHERS), _batch)
    all_copies = []
    for batch, copied in by_copies.items():
        copies, kernels = _fastest_by_row(copied), _fastest_by_row(by_kernels.get(batch, ()))
        if both := sorted(copies.keys() & kernels.keys()):
            all_copies.append(
                RowCopies(tuple(copies[row] for row in both), tuple(kernels[row] for row in both))
            )
    return all_copies


def _asked(gathers: Iterable[Gather]) -> list[Gather]:
    """Rows on the host that come to a GPU, one mini-batch at a time."""
    return [
        gather
        for gather in gathers
        if gather.asked and gather.store in PLAIN_STORES and gather.number("window") <= 1
    ]


def _batch(gather: Gather) -> tuple:
    """What is asked for, but for the size of a row."""
    return (
        *(gather.number(axis) for axis in ("span", "element", "rows")),
        *(gather.word(axis) for axis in ("indices", "graph")),
    )


def _fastest_by_row(gathers: Iterable[Gather]) -> dict[float, Gather]:
    return best_of(gathers, lambda gather: gather.row, lambda gather: gather.asked.value)


# Tables that lie in host memory altogether; what keeps a part on a GPU answers another question.
STORES = ("pageable", "pinned", "mapped", "managed")
# It brings nothing to a GPU.
NOT_TO_GPU = "cpu_gather"
# How a way does it is its own affair: the best of each is taken.
OWN = ("mode", "store", "row", "rows", "width", "window", "element", "locality")
REQUEST = 128
LEAST = 8 << 20  # bytes; of a shorter mini-batch its start decides
Question = tuple[tuple[str, str | float], ...]


def fastest(run: Analysis) -> list[str]:
    """A sentence about the work that most ways and sizes of row were measured for."""
    works = grouped(filter(_usable, run.result.of(FAMILY)), lambda row: row.case.without(*OWN))
    if not works:
        return []
    most = max(works.items(), key=_most)
    # Beyond the reach of translations another way may be first.
    widest = max(works.items(), key=lambda gather: (_span(gather[0]), len(gather[1])))
    found = [
        _answer(*gather) for gather in ([most] if _span(widest[0]) <= _span(most[0]) else [most, widest])
    ]
    return [gather for gather in found if gather]


def _span(work: Question) -> float:
    span = dict(work).get("span")
    return float(span) if isinstance(span, (int, float)) else 0.0


def _answer(work: Question, rows: list[Row]) -> str:
    """Which way is first at which size of row; nothing where there is one way."""
    rates = _rates([row for row in metrics.nearest_rows(rows) if row.bytes >= LEAST])
    all_segments = shape.segments(rates, half=False)
    if not all_segments:
        return ""
    best = {
        segment: max((rates[name][segment.high].value, name) for name in segment.first)
        for segment in all_segments
    }
    rate = ", ".join(f"{best[segment][0]:.1f} GB/s at {_size(segment.high)}" for segment in all_segments)
    ways = shape.segments_text(all_segments, _size)
    return f"From host memory, {_spoken(dict(work))} come fastest by {ways} ({rate})"


def _size(row: float) -> str:
    """Rows that are no round number of bytes stand as they are."""
    return format_bytes(row) if row % REQUEST == 0 else f"{row:g} B"


def _most(gather: tuple[Question, list[Row]]) -> tuple[int, float]:
    """By how many rows, and of as many by the larger table."""
    return len(gather[1]), _span(gather[0])


def _usable(row: Row) -> bool:
    axes = row.case.axes
    return bool(
        row.measured
        and row.bytes
        and families.in_usual_memory(row.case.family, row.case.axes)
        and axes.get("store") in STORES
        and axes.get("mode") != NOT_TO_GPU
        and isinstance(axes.get("row"), (int, float))
    )


def _rates(rows: list[Row]) -> dict[str, dict[float, Estimate]]:
    """By mode and store, the best over what is its own affair."""
    by_way = grouped(
        rows, lambda row: f"{row.case.axes['mode']} ({row.case.axes['store']})".replace("_", " ")
    )
    return {
        name: {
            size: max(
                (statistics.rate_gb_s(row.time, row.bytes) for row in group), key=lambda rate: rate.value
            )
            for size, group in grouped(own, lambda row: row.case.axes["row"]).items()
        }
        for name, own in by_way.items()
    }


def _spoken(axes: Mapping[str, str | float]) -> str:
    numbers = {name: value for name, value in axes.items() if isinstance(value, (int, float))}
    kind = f"{axes['indices']} " if "indices" in axes else ""
    over = f" over {format_bytes(numbers['span'])}" if "span" in numbers else ""
    graph = f" of {axes['graph']}" if "graph" in axes else ""
    return f"{kind}rows{over}{graph}"
