"""Times of programs, predicted from what a machine's microbenchmarks say (`rates`) and what a row asks for.

What a row asks for is in its axes, its modelled traffic and its counts: requests and bytes over the link,
levels, edges, lists. Its times are not looked at. A prediction names the seconds of each resource, and the
largest is what bounds it.

What a kernel does for an edge or a list in the GPU follows from no microbenchmark. Each algorithm has a few
constants for it (`work`), in units of a rate of the machine: a load of the GPU's memory or of its cache, a
load of the host's, a fault. They are of the algorithm, not of the machine, and are fitted to rows of the
reference runs of one GPU (`fit`). A machine is predicted by constants that were fitted on other GPUs: its
own rows, and those of its kind, take no part.

The forms, L being what a host takes to submit a level, two resources side by side by `beside`:

- a gather by a kernel: its start, the sort if any, and beside each other link, translations and GPU memory;
- a gather by the host: what a thread waits for a row and for each line of it, beside the host's memory;
- a traversal: (levels + 1) L, and beside each other the link and the GPU's work for edges and lists;
- lists copied by the host (`subway`): levels, and gathering and copying beside each other, and the walk;
- managed edges: levels, and faults of every page;
- a lean run: steps, and beside each other the link and the GPU's work.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from grainscope_report import families, resources
from grainscope_report.groups.programs_rates import IN_PLACE, LINE, SECTOR, Rates, beside
from grainscope_report.model import Result, Row
from grainscope_report.statistics import median

FAMILIES = ("gather", "traversal", "lean")
ALGORITHMS = ("bfs", "cc", "pr", "sssp")
# Bags are drawn among other families, in figure o.
DRAWN = ("gather", *(f"{family}/{name}" for family in FAMILIES[1:] for name in ALGORITHMS))
# What a level of a traversal submits (src/graph/program.cuh): a clearing, count, two kernels of the scan,
# emit, settle and walk; two events. The first level clears the state before.
LAUNCHES, EVENTS, CLEARS = 7, 2, 4
IN_ORDER = ("graphbolt", "address_ordered")
SORT_BITS, SORTED_BYTES = 8, 8  # of a pass of the sort; a key and its place
SMALL_SORT, SMALL_SORT_KERNELS = 1 << 12, 3  # so few are sorted by one block
# Of rows that a block of address_ordered takes (src/gnn/gather_kernel.cu); GraphBolt's take 2 to 8 KiB.
BLOCK_BYTES = 4096
HOST_LINE, COPY_USES = 64, 3  # a copy reads, fetches what it overwrites, and writes
Work = Mapping[str, float]


class UnpredictedError(Exception):
    """Why a row is not predicted."""


class _Constants(dict[str, float]):
    def __missing__(self, name: str) -> float:
        raise UnpredictedError(f"no constant {name} was fitted on another kind of GPU")


@dataclass(frozen=True)
class Prediction:
    """Seconds, and those of each resource by its name."""

    seconds: float
    parts: Mapping[str, float]

    @property
    def bound(self) -> str:
        """The resource that takes longest."""
        return max(self.parts, key=self.parts.__getitem__)


def is_program(row: Row) -> bool:
    """Whether rows of its family are predicted."""
    return row.case.family.partition("/")[0] in FAMILIES


def kind(row: Row) -> str:
    """What is predicted alike, and constants are named by: `gather`, `traversal.bfs`, `lean.pr`."""
    group, _, rest = row.case.family.partition("/")
    return group if group == "gather" else f"{group}.{rest}"


def predict(row: Row, rates: Rates, work: Work) -> Prediction:
    """What a row takes on a machine of these rates; raises UnpredictedError."""
    group = row.case.family.partition("/")[0]
    forms = {"gather": _gather, "traversal": _traversal, "lean": _lean}
    parts, total = forms[group](row, rates, _Constants(work))
    return Prediction(total, {name: seconds for name, seconds in parts.items() if seconds > 0})


Parts = tuple[dict[str, float], float]


def _number(row: Row, axis: str, otherwise: float = 0.0) -> float:
    value = row.case.axes.get(axis, otherwise)
    return float(value) if isinstance(value, int | float) else otherwise


def _require_no_hint(row: Row) -> None:
    if row.case.axes.get("hint", "none") != "none":
        raise UnpredictedError("what hints to the driver save of faults is in no rate")


# Gathers


def _gather(row: Row, rates: Rates, work: Work) -> Parts:
    mode, store = row.case.axes.get("mode"), row.case.axes.get("store")
    if _number(row, "neighbours"):
        raise UnpredictedError("links of neighbours are not among a machine's rates")
    if mode in HOST_GATHERS:
        return HOST_GATHERS[mode](row, rates, work)
    if store == "device":
        # Of a bag no row is written, but a sum of many.
        seconds = rates.within_gpu(row.bytes) / (2 if row.case.family == "gather/bag" else 1)
        if mode not in IN_ORDER:
            return {"GPU memory": seconds}, seconds
        seconds, sort = seconds * work["gather.scatter"], _sort_s(row, rates)
        return {"GPU memory": seconds, "sort": sort}, seconds + sort
    if store == "managed" and row.case.axes.get("hint") in IN_PLACE:
        return _over_the_link(row, rates, work)
    if store == "managed":
        _require_no_hint(row)
        faults = work["gather.fault"] * rates.faults(_number(row, "span"))
        return {"faults": faults}, rates.kernel_s + faults
    if store not in ("mapped", "tiered"):
        raise UnpredictedError(f"rates of {store} tables are not among a machine's")
    return _over_the_link(row, rates, work)


def _over_the_link(row: Row, rates: Rates, work: Work) -> Parts:
    axes, size, span = row.case.axes, _number(row, "row"), _number(row, "span")
    requests, hosted, count = _rows_over_the_link(row, size, span)
    in_order = axes.get("mode") in IN_ORDER
    often = axes.get("indices") == "zipf" and (axes.get("mode") == "graphbolt" or axes["store"] == "tiered")
    if in_order and not often:
        # Rows that are asked for again stand side by side, and come once to each block; of a warp they are
        # counted so. Behind a hot part few such rows are left. Where rows are asked for thousands of times,
        # GraphBolt's kernel takes as long as if all came, though by the counters two thirds do.
        distinct = row.counters.get("unique_bytes", row.bytes) / row.bytes
        distinct += (1 - distinct) / max(1.0, BLOCK_BYTES / size)
        once = min(1.0, distinct / min(1.0, (row.traffic and row.traffic.amplification) or 1.0))
        requests, hosted, count = requests * once, hosted * once, count * once
    if in_order:
        misses = rates.misses.in_order(count, span)
    elif axes.get("indices") == "zipf":
        misses = rates.misses.as_asked_by_rank(size, count, span, _number(row, "hot") / 100)
    elif axes.get("indices") == "sampled":
        misses = 0.0  # which rows are asked for how often is not in the row
    else:
        misses = rates.misses.as_asked(size, count, span)
    parts = {"link": rates.link(requests, hosted), "translations": misses}
    if axes["store"] == "tiered":
        # Rows in the order of their addresses are written to scattered places.
        slower = work["gather.scatter"] if in_order else 1.0
        parts["GPU memory"] = slower * rates.within_gpu(max(row.bytes - hosted, 1.0))
    sort = _sort_s(row, rates) if in_order else 0.0
    return parts | {"sort": sort}, rates.kernel_s + sort + beside(*parts.values())


def _rows_over_the_link(row: Row, size: float, span: float) -> tuple[float, float, float]:
    """Requests, bytes and rows over the link: as modelled, or of rows of whole sectors by their lines.

    Of rows asked for as often as 1 / rank those behind the hot ones come, by the share of their ranks.
    """
    if row.traffic and row.traffic.requests is not None and row.traffic.bytes is not None:
        requests, hosted = row.traffic.requests, row.traffic.bytes
        each = row.counters.get("requests_per_row")
        return requests, hosted, requests / each if each else hosted / size
    tiered = row.case.axes["store"] == "tiered"
    if size % SECTOR or (LINE % size and size % LINE) or (tiered and row.case.axes.get("indices") != "zipf"):
        raise UnpredictedError("their requests are not modelled")
    rows = span / size / _number(row, "tables", 1)
    hot = math.log1p(rows * _number(row, "hot") / 100) / math.log1p(rows) if tiered else 0.0
    count = row.bytes / size * (1 - hot)
    return count * math.ceil(size / LINE), count * size, count


def _sort_s(row: Row, rates: Rates) -> float:
    """Passes over keys and places, a byte of the row's number each; a histogram and its sum before them."""
    rows = row.bytes / _number(row, "row")
    if rows <= SMALL_SORT:
        return SMALL_SORT_KERNELS * rates.within_gpu(0)
    passes = math.ceil(math.log2(max(2.0, _number(row, "span") / _number(row, "row"))) / SORT_BITS)
    # Each of them clears what it counts in.
    return 2 * (passes + 2) * rates.within_gpu(0) + passes * rows * SORTED_BYTES / rates.within_gpu.rate


def _cpu_gather(row: Row, rates: Rates, work: Work) -> Parts:
    """A thread waits for rows and their lines, of which some are under way at once.

    Where many threads gather, the memory decides: it is read once, and by a copy of as much used three times.
    """
    size = _number(row, "row")
    lines = work["gather.host_row"] + math.ceil(size / HOST_LINE) * work["gather.host_line"]
    waiting = row.bytes / size * lines * rates.host_load_s / rates.host_threads
    seconds = beside(waiting, row.bytes / (COPY_USES * rates.host_copy_rate))
    return {"host": seconds}, seconds


def _cpu_gather_dma(row: Row, rates: Rates, work: Work) -> Parts:
    """Batches gathered by the host's threads while others are copied: a copy waits for its batch's turn."""
    _, gathering = _cpu_gather(row, rates, work)
    copying = (1 + work["gather.turns"]) * row.bytes / rates.copy.rate
    return {"host": gathering, "copies": copying}, beside(gathering, copying)


def _row_dma(row: Row, rates: Rates, work: Work) -> Parts:
    """A copy a row; where it finds its row costs a look of the copy engine, too."""
    size, look = _number(row, "row"), work["gather.copy_row"] * rates.host_latency_s
    copies = row.bytes / size * (rates.copies(size) + look)
    return {"copies": copies}, copies


HOST_GATHERS: dict[str, Callable[[Row, Rates, Work], Parts]] = {
    "cpu_gather": _cpu_gather,
    "cpu_gather_dma": _cpu_gather_dma,
    "row_dma": _row_dma,
}


# Traversals


def _scale(row: Row) -> float:
    """The median of a row's trials over its first, by edges: traffic and levels are of the first."""
    first = sum(level.edges for level in row.levels)
    edges = row.counters.get("edges_read", first)
    return edges / first if first else 1.0


def _levels(row: Row) -> float:
    counted = [trial.counters["levels"] for trial in row.trials if "levels" in trial.counters]
    return median(counted) if counted else float(len(row.levels))


def launches_s(row: Row, rates: Rates) -> float:
    """Of all levels and the empty one at the end: the host's turn, and kernels with next to nothing to do."""
    kernel = rates.within_gpu(0)
    level = rates.launch_and_wait_s + LAUNCHES * kernel + EVENTS * rates.event_s
    return (_levels(row) + 1) * level + CLEARS * kernel


def _work_s(row: Row, rates: Rates, work: Work, name: str) -> float:
    """The GPU's own work: for edges, and for lists."""
    edges = row.counters.get("edges_read", 0.0)
    lists = sum(level.active for level in row.levels) * _scale(row)
    per_edge = work[f"{name}.edge"] * rates.cache_latency_s
    return edges * per_edge + lists * work[f"{name}.list"] * rates.gpu_latency_s


def _traversal(row: Row, rates: Rates, work: Work) -> Parts:
    placement = row.case.axes.get("placement")
    if not families.as_usual(row.case.axes):
        raise UnpredictedError("several GPUs share the work")
    if row.case.axes.get("direction") == "pull":
        raise UnpredictedError("vertices that ask their neighbours do other work")
    if not row.levels:
        raise UnpredictedError("their levels are not written")
    launches = launches_s(row, rates)
    if placement == "subway":
        return _subway(row, rates, work, launches)
    gpu = _work_s(row, rates, work, kind(row))
    if placement == "device":
        return {"GPU": gpu, "launches": launches}, launches + gpu
    if placement == "managed":
        _require_no_hint(row)
        faults = work["traversal.fault"] * rates.faults(_data_set(row))
        return {"faults": faults, "GPU": gpu, "launches": launches}, launches + gpu + faults
    if placement != "mapped" or "requests_with_cache" not in row.counters:
        raise UnpredictedError(f"their requests are not modelled ({placement} edges)")
    if row.case.axes.get("access") == "naive" and row.traffic:
        return _lanes_alone(row, rates, work, launches)
    requests, size = row.counters["requests_with_cache"], row.counters["bytes_with_cache"]
    link = _scale(row) * max(rates.link(requests, size), _granules_s(row, rates))
    return {"link": link, "GPU": gpu, "launches": launches}, launches + beside(link, gpu)


def _edge_bytes(row: Row) -> float:
    return _number(row, "edge", 8) + (4 if row.case.family.endswith("sssp") else 0)


def _data_set(row: Row) -> float:
    """Bytes of the edge list and the weights."""
    return _edge_bytes(row) * (row.graph.entries if row.graph else 0)


def _granules_s(row: Row, rates: Rates) -> float:
    """Misses of lists in ascending order, level by level."""
    span = _data_set(row)
    return sum(rates.misses.in_order(level.requests or 0, span) for level in row.levels) if span else 0.0


def _lanes_alone(row: Row, rates: Rates, work: Work, launches: float) -> Parts:
    """A lane walks a list of its own, a load after the other: so long takes the longest list at least.

    What caches keep of the sectors asked for is one factor on the time of all of them.
    """
    crossing = rates.link(row.traffic.requests, row.traffic.bytes) * work["traversal.naive"] * _scale(row)
    alone = longest(row) * rates.host_latency_s
    return {"link": crossing, "one list": alone, "launches": launches}, launches + max(crossing, alone)


def longest(row: Row) -> float:
    """Entries of the longest list, as far as the row says: those of the last step of its degrees."""
    if not row.graph or not row.graph.degree_cdf:
        raise UnpredictedError("the degrees of their graph are not written")
    curve = row.graph.degree_cdf
    before = curve[-2][1] if len(curve) > 1 else 0.0
    return min(curve[-1][0], (curve[-1][1] - before) * row.graph.entries)


def _subway(row: Row, rates: Rates, work: Work, launches: float) -> Parts:
    """Lists gathered by the host's threads while others are copied, and then walked."""
    if not row.link_bytes_least:
        raise UnpredictedError("what they copied is not written")
    lists = sum(level.active for level in row.levels) * _scale(row)
    edges = row.counters.get("edges_read", 0.0) * _edge_bytes(row)
    host = work["subway.byte"] * edges / rates.host_copy_rate
    host += work["subway.list"] * lists * rates.host_load_s / rates.host_threads
    copies = row.link_bytes_least / rates.copy.rate
    gpu = _work_s(row, rates, work, kind(row))
    submitted = work["subway.level"] * launches
    total = submitted + beside(host, copies) + gpu
    return {"host": host, "copies": copies, "GPU": gpu, "launches": submitted}, total


# Lean runs


def _lean(row: Row, rates: Rates, work: Work) -> Parts:
    if not row.traffic or row.traffic.requests is None:
        raise UnpredictedError("their requests are not modelled")
    name = kind(row)
    if row.case.axes.get("segments", "read") != "read":
        return _segments(row, rates, work)
    link = rates.link(*_asked(row))
    return _lean_parts(
        row, rates, work, link, {"lean.bfs": _search, "lean.cc": _components}.get(name, _sweeps)
    )


def _asked(row: Row) -> tuple[float, float]:
    """Requests and bytes over the link; whole lists that lie side by side share their boundary's sector once.

    A sweep of pr over plain lists reads every list. What is asked for beyond the edges themselves are sectors
    that two lists share; a quarter of them begin a line's request, which then is none.
    """
    requests, size = row.traffic.requests, row.traffic.bytes
    axes = row.case.axes
    first = row.trials[0].counters.get("edges_read", 0.0) if row.trials else 0.0
    read = [trial.counters.get("link_bytes", 0.0) for trial in row.trials]
    scale = median(read) / read[0] if read and read[0] else 1.0
    if row.case.family == "lean/pr" and axes.get("lists") == "plain" and not axes.get("hot"):
        shared = max(0.0, size - 4 * first) / SECTOR
        requests, size = requests - shared * SECTOR / LINE, size - shared * SECTOR
    return requests * scale, size * scale


def _lean_parts(row: Row, rates: Rates, work: Work, link: float, gpu: Callable) -> Parts:
    steps, own, more = gpu(row, rates, work)
    return {"link": link, "GPU": own + more, "steps": steps}, steps + beside(link, own) + more


def _steps(row: Row, rates: Rates, work: Work) -> float:
    """Steps between which all blocks wait for each other, and a chain of loads in each.

    A search's chain is short where most of what it reads is hot.
    """
    name, how = kind(row), "step"
    if name == "lean.bfs" and 2 * row.counters.get("hot_edges_read", 0.0) > row.counters.get(
        "edges_read", 0.0
    ):
        how = "step_hot"
    return _levels(row) * work[f"{name}.{how}"] * rates.host_latency_s


def _search(row: Row, rates: Rates, work: Work) -> tuple[float, float, float]:
    vertices = row.graph.vertices if row.graph else 0
    own = work["lean.bfs.vertex"] * vertices * rates.cache_latency_s
    # A look waits for its answer, so that fewer are under way than the link would carry.
    looks = work["lean.bfs.look"] * _asked(row)[0] * rates.host_latency_s
    return _steps(row, rates, work), beside(own, looks), 0.0


def _components(row: Row, rates: Rates, work: Work) -> tuple[float, float, float]:
    edges = row.counters.get("edges_read", 0.0)
    joins = work["lean.cc.edge"] * edges * rates.cache_latency_s
    joins += work["lean.cc.hot"] * row.counters.get("hot_edges_read", 0.0) * rates.cache_latency_s
    if row.counters.get("early_lists"):
        # Trees of few vertices each are joined with one another, whichever lists it takes.
        vertices = row.graph.vertices if row.graph else 0
        joins += work["lean.cc.early"] * vertices * rates.cache_latency_s
    return _steps(row, rates, work), 0.0, joins


def _sweeps(row: Row, rates: Rates, work: Work) -> tuple[float, float, float]:
    name, edges = kind(row), row.counters.get("edges_read", 0.0)
    how = "compressed" if row.case.axes.get("lists") == "compressed" else "plain"
    own = work[f"{name}.{how}"] * edges * rates.cache_latency_s
    hot = work[f"{name}.hot"] * row.counters.get("hot_edges_read", 0.0) * rates.cache_latency_s
    return _steps(row, rates, work), own, hot


def _segments(row: Row, rates: Rates, work: Work) -> Parts:
    """Segments copied whole, the rest read where it lies; the host chooses in every step."""
    copied = row.counters.get("modelled_copied_bytes")
    if copied is None:
        raise UnpredictedError("the bytes that they copy are not modelled")
    link = rates.link(row.traffic.requests, row.traffic.bytes)
    copies = copied / rates.copy.rate
    steps, own, hot = _sweeps(row, rates, work)
    waits = work["lean.segments.wait"] * _levels(row) * rates.launch_and_wait_s
    total = steps + waits + beside(link + copies, own) + hot
    return {"link": link, "copies": copies, "GPU": own + hot, "launches": waits, "steps": steps}, total


# The constants of algorithms.

# Which rows each group of constants is fitted to, one group after another.


@dataclass(frozen=True)
class Group:
    """Constants that are fitted together, and to which rows."""

    names: tuple[str, ...]
    rows: Callable[[Row], bool]


def _rows_with(family: str, **axes: str) -> Callable[[Row], bool]:
    return lambda row: (
        row.case.family.startswith(family)
        and all(row.case.axes.get(axis) == value for axis, value in axes.items())
    )


def _read_where_they_lie(family: str) -> Callable[[Row], bool]:
    return lambda row: row.case.family == family and row.case.axes.get("segments", "read") == "read"


GROUPS = (
    Group(("gather.fault",), _rows_with("gather", store="managed")),
    Group(("gather.host_row", "gather.host_line"), _rows_with("gather", mode="cpu_gather")),
    Group(("gather.turns",), _rows_with("gather", mode="cpu_gather_dma")),
    Group(
        ("gather.scatter",),
        lambda row: row.case.axes.get("store") == "device" and row.case.axes.get("mode") in IN_ORDER,
    ),
    Group(("gather.copy_row",), _rows_with("gather", mode="row_dma")),
    *(
        Group(
            (f"traversal.{name}.edge", f"traversal.{name}.list"),
            _rows_with(f"traversal/{name}", placement="device", access="merged_aligned"),
        )
        for name in ALGORITHMS
    ),
    Group(("traversal.naive",), _rows_with("traversal/", placement="mapped", access="naive")),
    Group(("traversal.fault",), _rows_with("traversal/", placement="managed")),
    Group(("subway.byte", "subway.list", "subway.level"), _rows_with("traversal/", placement="subway")),
    Group(
        ("lean.bfs.step", "lean.bfs.step_hot", "lean.bfs.vertex", "lean.bfs.look"),
        _read_where_they_lie("lean/bfs"),
    ),
    Group(("lean.cc.step", "lean.cc.edge", "lean.cc.hot", "lean.cc.early"), _read_where_they_lie("lean/cc")),
    *(
        Group(
            tuple(f"lean.{name}.{what}" for what in ("step", "plain", "compressed", "hot")),
            _read_where_they_lie(f"lean/{name}"),
        )
        for name in ("pr", "sssp")
    ),
    Group(("lean.segments.wait",), lambda row: row.case.axes.get("segments", "read") != "read"),
)
ROUNDS = 25
DIGITS = 3
NEAR = 0.03  # errors below this share weigh no more in a fit
STEP = 0.01
START = 0.1  # of a row's time


def fit(seen: Sequence[tuple[Row, Rates]]) -> dict[str, float]:
    """The constants by which these rows are predicted best: the least sum of errors of logarithms."""
    work: dict[str, float] = {}
    for group in GROUPS:
        own = [(row, rates) for row, rates in seen if row.measured and group.rows(row)]
        if own:
            work |= _fitted(group.names, own, work)
    return work


def _fitted(names: Sequence[str], seen: Sequence[tuple[Row, Rates]], known: Work) -> dict[str, float]:
    """Gauss and Newton's steps, errors weighed by one over their size; constants are not negative."""
    import numpy as np

    def errors(at: Sequence[float]) -> "np.ndarray":
        work = {**known, **dict(zip(names, at, strict=True))}
        predicted = [predict(row, rates, work).seconds for row, rates in seen]
        return np.array(
            [math.log(each / row.median_s) for each, (row, _) in zip(predicted, seen, strict=True)]
        )

    at = starts = np.array([_start(name, names, seen, known) for name in names])
    damping = 1e-3
    for _ in range(ROUNDS):
        now = errors(at)
        weights = 1 / np.sqrt(np.maximum(np.abs(now), NEAR))
        best = np.abs(now).sum()
        slopes = np.stack(
            [
                (errors(at + step) - now) / step.max()
                for step in np.diag(np.maximum(at, starts * STEP) * STEP)
            ],
            axis=1,
        )
        a, b = slopes * weights[:, None], -now * weights
        scale = np.maximum((a * a).sum(axis=0), 1e-12)
        while damping < 1e6:
            move = np.linalg.solve(a.T @ a + damping * np.diag(scale), a.T @ b)
            there = np.maximum(at + move, 0.0)
            if np.abs(errors(there)).sum() < best:
                at, damping = there, damping / 4
                break
            damping *= 4
        else:
            break
    return dict(zip(names, map(float, at), strict=True))


def _start(name: str, names: Sequence[str], seen: Sequence[tuple[Row, Rates]], known: Work) -> float:
    """The constant that makes a tenth of a row's time, where it matters."""
    none = {**known, **dict.fromkeys(names, 0.0)}
    shares = [
        (predict(row, rates, none | {name: 1.0}).seconds - predict(row, rates, none).seconds) / row.median_s
        for row, rates in seen
    ]
    there = [share for share in shares if share > 0]
    return START / median(there) if there else 0.0


def fitted_on(runs: Mapping[str, Sequence[tuple[Row, Rates]]]) -> dict[str, dict[str, float]]:
    """The constants by kind of GPU, each of its own rows, with as many digits as are worth keeping."""
    return {
        gpu: {name: float(f"{value:.{DIGITS}g}") for name, value in fit(seen).items()}
        for gpu, seen in runs.items()
    }


def held_out(gpu: str, fitted: Mapping[str, Work] | None = None) -> dict[str, float]:
    """The constants for a machine with this GPU: the means of those fitted on others."""
    fitted = shipped()["constants"] if fitted is None else fitted
    others = [work for name, work in fitted.items() if name not in gpu]
    names = {name for work in others for name in work}
    return {name: _mean([work[name] for work in others if name in work]) for name in sorted(names)}


def constants_for(result: Result, fitted: Mapping[str, Work] | None = None) -> dict[str, float]:
    """The constants for the machine of a run."""
    return held_out(" ".join(result.environment.gpu_names[:1]), fitted)


def _mean(values: Sequence[float]) -> float:
    """Geometric, unless one is nothing."""
    return (
        math.exp(sum(map(math.log, values)) / len(values)) if min(values) > 0 else sum(values) / len(values)
    )


@cache
def shipped() -> dict[str, Any]:
    """Constants by kind of GPU, and how far off rows of each were by those of the others, by group."""
    return json.loads((resources.PACKAGE / "programs.json").read_text(encoding="utf-8"))


def off_by(group: str) -> float:
    """The error within which nine in ten rows of a group were, on the kind of GPU on which that was most."""
    return max(errors[group]["ninth"] for errors in shipped()["errors"].values())
