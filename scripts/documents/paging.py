"""docs/model.md and docs/traversal.md: what managed memory moves by the model, beside what was measured cold,
beside the driver's own order, and beside other ways to traverse a graph.
"""

import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from documents import (
    FULL,
    REFERENCE,
    axes_of,
    clock,
    digits,
    files_of,
    is_plain,
    part,
    programs,
    result,
    rows_of,
    table,
)
from grainscope_report.model import Result, Row
from grainscope_report.statistics import median

MODELLED = "no-gpu-uvm21.json.gz"
PAGE = 65536  # bytes of what a fault grows to
WEIGHT = 4
# By a kind of GPU a run whose rows have the driver's own count of what moved.
COUNTED = {"H100": (), "H200": ("h200-managed-counted.json.gz",)}
RUNS = {
    gpu: tuple(
        file for names in runs if names not in programs.IN_OTHER_MEMORY.values() for file in files_of(names)
    )
    for gpu, runs in programs.RUNS.items()
}
MOVED, BY_THE_DRIVER = "moved_bytes", "driver_to_gpu_bytes"
NEAR_BYTES, NEAR_TIME = 0.10, 0.25  # how near a modelled row is to be
SHORT = -0.10  # from which on a page names the rows that are modelled too short
FARTHEST = (-0.8, 1.5)  # what the page says of every traversal: a fifth to two and a half times as long
FIRST_SCHEMA = 1  # of files whose rows have no visits


def uvm(algorithm: str, graph: str, card: int) -> Row:
    """The model's row of a card that holds so many percent of the pages."""
    asked = (algorithm, graph, card, PAGE)
    (row,) = (
        row
        for row in rows_of(MODELLED)
        if row.ok and axes_of(row, "algorithm", "graph", "card", "page") == asked
    )
    return row


@cache
def fault_s() -> float:
    """What the driver takes for a page beside moving it, as the program's rows have it for PCIe 5."""
    counters = uvm("bfs", "kron21", 100).counters
    return counters["faults_s"] / counters["moved_pages"]


def over(size: float) -> int:
    return math.ceil(size / PAGE)


# Pages that a cold row brings, each once, by family.
def of_pieces(row: Row) -> int:
    """Each piece begins at a block of 2 MiB."""
    grain = row.case.axes["grain"]
    return row.bytes // grain * over(grain)


def of_a_buffer(row: Row) -> int:
    return over(row.case.axes["bytes"])


def of_a_traversal(row: Row) -> int:
    entries = row.graph.entries
    weights = over(entries * WEIGHT) if "weights" in row.case.axes else 0
    return over(entries * row.case.axes["edge"]) + weights


LARGE = 16 << 20  # of ranges of so many bytes the first fault is no large part


def by_pieces(row: Row) -> bool:
    axes = row.case.axes
    return row.case.family == "grain/pieces" and axes["method"] == "managed_demand"


def by_a_buffer(row: Row) -> bool:
    axes = row.case.axes
    asked = (axes.get("method"), axes.get("path"), axes.get("hint", "none"))
    return row.case.family == "transfer/managed" and asked == ("demand", "host_to_gpu", "none")


def by_a_traversal(row: Row) -> bool:
    axes = row.case.axes
    read_mostly = axes.get("hint", "read_mostly") == "read_mostly"
    return row.case.family.startswith("traversal/") and axes["placement"] == "managed" and read_mostly


@dataclass(frozen=True)
class Kind:
    """Cold rows of one sort, and the pages that each brings."""

    chosen: Callable[[Row], bool]
    pages: Callable[[Row], int]


TRAVERSALS = "traversals"
KINDS = {
    "pieces of less than 16 MiB in all": Kind(lambda row: by_pieces(row) and row.bytes < LARGE, of_pieces),
    "pieces of 16 MiB and more in all": Kind(lambda row: by_pieces(row) and row.bytes >= LARGE, of_pieces),
    "ranges of less than 16 MiB": Kind(lambda row: by_a_buffer(row) and row.bytes < LARGE, of_a_buffer),
    "ranges of 16 MiB and more": Kind(lambda row: by_a_buffer(row) and row.bytes >= LARGE, of_a_buffer),
    TRAVERSALS: Kind(by_a_traversal, of_a_traversal),
}


@dataclass(frozen=True)
class Held:
    """A cold row beside what the model has of it: shares by which the model is above it."""

    row: Row
    bytes_off: float | None
    time_off: float


@cache
def with_visits(gpu: str) -> tuple[str, ...]:
    """Every stored run of traversals on a kind of GPU, but those of schema 1, whose rows later ones have."""
    lines = [line for line in traversed() if gpu in line["gpus"]]
    return tuple(line["file"] for line in lines if line["schema"] > FIRST_SCHEMA)


def traversed() -> list[dict]:
    """What the manifest says of stored runs of traversals."""
    lines = map(json.loads, (REFERENCE / "manifest.jsonl").read_text().splitlines())
    return [line for line in lines if any(name.startswith("traversal/") for name in line["versions"])]


def held(gpu: str, kind: str) -> Iterator[Held]:
    """Cold rows of the runs that programs are predicted for; traversals, which are few, of every run."""
    for name in with_visits(gpu) if kind == TRAVERSALS else (*RUNS[gpu], *COUNTED[gpu]):
        for row in rows_of(name):
            if row.ok and row.measured and KINDS[kind].chosen(row):
                yield beside(result(name), row, KINDS[kind].pages(row))


def beside(run: Result, row: Row, pages: int) -> Held:
    moved = row.counters.get(BY_THE_DRIVER, row.counters.get(MOVED))
    seconds = pages * (PAGE / (run.link(row.case.ends).peak_gb_s * 1e9) + fault_s())
    return Held(row, pages * PAGE / moved - 1 if moved else None, seconds / row.median_s - 1)


def off(shares: list[float], near: float) -> list[str]:
    """The median with its side, the least and the most, and how many are near."""
    if not shares:
        return ["not counted", "", ""]
    within = sum(abs(share) <= near for share in shares)
    ends = dict.fromkeys((signed(min(shares)), signed(max(shares))))
    return [signed(median(shares)), " to ".join(ends), f"{within} of {len(shares)}"]


def signed(share: float) -> str:
    return f"{100 * share:+.0f} %" if round(100 * share) else "0 %"


@part("model.cold")
def cold() -> str:
    """By how much the model's bytes and times are above those of cold measured rows."""
    rows = []
    for kind in KINDS:
        for gpu in RUNS:
            found = list(held(gpu, kind))
            sizes = off([one.bytes_off for one in found if one.bytes_off is not None], NEAR_BYTES)
            times = off([one.time_off for one in found], NEAR_TIME)
            rows.append([kind, gpu, *sizes, *times])
    heads = ("", "GPU", "bytes: median", "all", "within 10 %", "time: median", "all", "within 25 %")
    return table(heads, rows, right=True)


def counted_twice() -> list[Row]:
    """Rows of which both are known: what left the host, and what the driver copied. Of read-mostly pages the
    host keeps its own."""
    rows = [row for names in COUNTED.values() for name in names for row in rows_of(name)]
    return [
        row for row in rows if {MOVED, BY_THE_DRIVER} <= set(row.counters) and not keeps_pages(row.case.axes)
    ]


def keeps_pages(axes: dict[str, object]) -> bool:
    return axes.get("hint") == "read_mostly"


@part("model.counted_twice")
def of_counted_twice(what: str) -> str:
    """How many such rows there are (`all`), of how many both agree (`equal`), and by how many percent the one
    differs (`apart`) of which they do not."""
    shares = [abs(row.counters[BY_THE_DRIVER] / row.counters[MOVED] - 1) for row in moving()]
    (apart,) = (share for share in shares if share > 0)
    every = len(counted_twice())
    return {"all": f"{every}", "equal": f"{every - 1}", "apart": digits(100 * apart)}[what]


def moving() -> list[Row]:
    """Of these rows those of which anything moved; where nothing left the host nothing was copied either."""
    rows = counted_twice()
    if any(row.counters[BY_THE_DRIVER] for row in rows if not row.counters[MOVED]):
        raise ValueError("the driver copied pages of a row that are all on the host")
    return [row for row in rows if row.counters[MOVED]]


@part("model.cold_median")
def cold_median(kind: str, gpu: str) -> str:
    """The median of times of one kind, as `traversals`, in percent above what was measured."""
    return f"{100 * median([one.time_off for one in held(gpu, kind)]):.0f}"


def too_short(gpu: str) -> list[Held]:
    """Traversals that the model has too short, the shortest last."""
    found = [one for one in held(gpu, TRAVERSALS) if one.time_off < SHORT]
    return sorted(found, key=lambda one: -one.time_off)


@part("model.cold_short")
def cold_short(gpu: str) -> str:
    """Which traversals are modelled too short: by graph and bytes of an edge, by how many percent."""
    found = defaultdict(list)
    for one in too_short(gpu):
        algorithm, (graph, edge) = one.row.case.family.partition("/")[2], axes_of(one.row, "graph", "edge")
        found[f"{algorithm} over {graph}"].append(f"{edge} bytes: {-100 * one.time_off:.0f} %")
    return "; ".join(f"{what} ({', '.join(each)})" for what, each in found.items())


# The driver's order beside that of the model: pages of 64 KiB by tests/python/page_replay.py.
@cache
def replayed() -> list[dict[str, str]]:
    with (REFERENCE / "uvm-replay.csv").open(newline="") as file:
        return list(csv.DictReader(file))


PRESSED = ("25", "50", "75")  # percent of the pages that the card holds


@part("model.driver")
def driver() -> str:
    """What both orders bring, over the data set, and how many faults the driver handles."""
    rows = []
    for work in dict.fromkeys((row["graph"], row["algorithm"]) for row in replayed()):
        of = {row["card"]: row for row in replayed() if (row["graph"], row["algorithm"]) == work}
        own = [int(of[card]["lru_pages"]) / int(of[card]["pages"]) for card in PRESSED]
        more = [int(of[card]["driver_pages"]) / int(of[card]["lru_pages"]) - 1 for card in PRESSED]
        faults = int(of["50"]["driver_faults"]) / int(of["50"]["driver_pages"])
        cells = [", ".join(digits(times) for times in own), ", ".join(signed(share) for share in more)]
        rows.append([f"{work[1]}, `{work[0]}`", *cells, f"{faults:.2f}"])
    heads = ("", "the model moves, data sets", "the driver's order", "its faults for each page")
    return table(heads, rows)


# Who needs how much of the GPU's memory for which time: bfs, whose frontiers are the same in every row.
GRAPHS = ("kron21", "urand21", "web20")
WHOLE = {"order": "original", "access": "merged_aligned"}
HALO = {"order": "halo_like", "access": "merged_aligned"}
SUBWAY = {"placement": "subway", "access": "compact"}
WAYS = {
    "zero-copy, 8-byte edges": {"placement": "mapped", "edge": 8} | WHOLE,
    "zero-copy, 4-byte edges": {"placement": "mapped", "edge": 4} | WHOLE,
    "zero-copy, vertices ordered after HALO": {"placement": "mapped", "edge": 8} | HALO,
    "Subway's compaction, 8-byte edges": {"edge": 8} | SUBWAY,
    "Subway's compaction, 4-byte edges": {"edge": 4} | SUBWAY,
    "fewer bytes": {"tier": "none", "lists": "plain"},
    "fewer bytes, compressed": {"tier": "none", "lists": "compressed"},
    "fewer bytes, 25 % of the edges in the GPU": {"tier": "heads", "lists": "plain", "hot": 25},
    "managed, all pages fit": {"placement": "managed", "edge": 8} | WHOLE,
    "managed, all pages fit, ordered after HALO": {"placement": "managed", "edge": 8} | HALO,
}
CARDS = {100: "all pages", 75: "75 % of the pages", 50: "50 % of the pages", 25: "25 % of the pages"}
IN_THE_GPU = {"all edges in the GPU, 8 bytes": {"placement": "device", "edge": 8} | WHOLE}


def searched(graph: str, axes: dict[str, object]) -> Row | None:
    """The measured bfs with these axes; the plain hint and memory where nothing else is said."""
    asked = (graph, *axes.values())
    family = "lean/bfs" if "tier" in axes else "traversal/bfs"
    found = [
        row
        for row in rows_of(FULL)
        if row.ok
        and row.case.family == family
        and axes_of(row, "graph", *axes) == asked
        and is_plain(row.case.axes)
    ]
    if len(found) > 1:
        raise ValueError(
            f"{FULL[0]} and the other half have {len(found)} rows of {family} on {graph} with {axes}"
        )
    return found[0] if found else None


def needed(row: Row) -> float:
    """Bytes of the GPU's memory: managed pages are there at the end, beside what a row counts."""
    pages = of_a_traversal(row) * PAGE if row.case.axes.get("placement") == "managed" else 0
    return row.counters["gpu_bytes"] + pages


def of_measured(graph: str, axes: dict[str, object]) -> str:
    row = searched(graph, axes)
    return taken(needed(row), row.median_s) if row else "not run"


def of_modelled(graph: str, card: int) -> str:
    """What a row of managed edges counts beside them, and the pages that the card holds."""
    model = uvm("bfs", graph, card)
    beside_them = searched(graph, WAYS["managed, all pages fit"]).counters["gpu_bytes"]
    return taken(beside_them + model.counters["card_bytes"], model.median_s)


def taken(size: float, seconds: float) -> str:
    return f"{digits(size / 1e6)} MB, {clock(seconds)}"


@part("traversal.memory")
def memory() -> str:
    """The GPU's memory and the time of a bfs by each way."""
    rows = [[name, *(of_measured(graph, axes) for graph in GRAPHS)] for name, axes in WAYS.items()]
    rows += [
        [f"managed, {fit} fit: *modelled*", *(of_modelled(graph, card) for graph in GRAPHS)]
        for card, fit in CARDS.items()
    ]
    rows += [[name, *(of_measured(graph, axes) for graph in GRAPHS)] for name, axes in IN_THE_GPU.items()]
    return table(["", *(f"`{graph[:-2]}:{graph[-2:]}`" for graph in GRAPHS)], rows)
