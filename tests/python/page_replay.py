"""A second replay of managed memory that does not fit the card, to hold `model/uvm` against.

It shares nothing with the program but what docs/model.md says: of each level the lists of active vertices in
ascending order, of each list the pages of its edges and then those of its weights; a page that is not on the
card is brought, and the one that was used the longest ago goes. `driver` replays what NVIDIA's open kernel
module says of itself instead (comments of uvm_pmm_gpu.c and uvm_perf_prefetch.c). All of it is slow and
serial.

    python tests/python/page_replay.py PROGRAM > results/reference/uvm-replay.csv

has the program write the graphs of `COMPARED` and replays both orders over every algorithm on them.
"""

import csv
import itertools
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BASE, BLOCK = 64 << 10, 2 << 20  # bytes that a fault grows to, and that the driver evicts


@dataclass(frozen=True)
class Moves:
    """What a trace moved: pages, and bytes of them."""

    faults: int
    evictions: int
    moved_bytes: int
    touched: int  # different pages


# One page after another, by a policy that says who goes.


def replay(
    trace: Iterable[int],
    capacity: int,
    page_bytes: int = BASE,
    policy: str = "lru",
    seen: Callable | None = None,
) -> Moves:
    """Pages brought to a card that holds `capacity` of them and is empty at first.

    `policy` is `lru`, or `fifo`: the page brought the longest ago goes. `seen` is told the pages held after
    each touch.
    """
    ages: dict[int, int] = {}  # of each page held: when it was used or brought
    faults = evictions = 0
    touched = set()
    for now, page in enumerate(trace):
        touched.add(page)
        if page not in ages:
            faults += 1
            if len(ages) == capacity:
                del ages[min(ages, key=ages.__getitem__)]
                evictions += 1
            ages[page] = now
        elif policy == "lru":
            ages[page] = now
        if seen:
            seen(frozenset(ages))
    return Moves(faults, evictions, faults * page_bytes, len(touched))


def reuse_faults(trace: Sequence[int], capacity: int) -> int:
    """The same by reuse distances (Mattson et al., 1970): a touch faults unless fewer than `capacity`
    different pages were touched since the last touch of its page. Nothing is held, nothing goes.
    """
    last: dict[int, int] = {}
    faults = 0
    for now, page in enumerate(trace):
        before = last.get(page)
        faults += before is None or len(set(trace[before + 1 : now])) >= capacity
        last[page] = now
    return faults


def driver(trace: Iterable[int], capacity_bytes: int, prefetch: bool = True) -> Moves:
    """Pages of 64 KiB by the driver's own description. It does not see hits: a block of 2 MiB becomes the
    newest when something of it is brought, and the oldest block goes as a whole. With `prefetch` the largest
    part of a block, halved again and again, of which more than 51 % are there or on their way is filled.
    """
    blocks, each = capacity_bytes // BLOCK, BLOCK // BASE
    if blocks == 0:
        raise ValueError(f"a card of {capacity_bytes} bytes holds no block of {BLOCK}")
    held: dict[int, set[int]] = {}  # by block, the one that goes first ahead
    faults = brought = evictions = 0
    touched = set()
    for page in trace:
        touched.add(page)
        block, place = divmod(page, each)
        if place in held.get(block, ()):
            continue
        faults += 1
        pages = held.pop(block, set())
        if len(held) == blocks:
            evictions += len(held.pop(next(iter(held))))
        before = len(pages)
        pages.add(place)
        if prefetch:
            pages |= filled(pages, place, each)
        brought += len(pages) - before
        held[block] = pages
    return Moves(faults, evictions, brought * BASE, len(touched))


def filled(pages: set[int], place: int, each: int) -> set[int]:
    """The largest aligned part around `place`, a power of two of pages, that is more than 51 % there."""
    size = each
    while size > 1:
        part = set(range(place // size * size, place // size * size + size))
        if 100 * len(pages & part) > 51 * size:
            return part
        size //= 2
    return {place}


# Traces that nobody recorded.


def sequential(pages: int, touches: int = 1) -> list[int]:
    """Each page `touches` times in a row, in order."""
    return [page for page in range(pages) for _ in range(touches)]


def cyclic(pages: int, rounds: int) -> list[int]:
    return list(range(pages)) * rounds


def uniform(pages: int, touches: int, seed: int = 1) -> list[int]:
    draw = random.Random(seed)
    return [draw.randrange(pages) for _ in range(touches)]


def zipf(pages: int, touches: int, seed: int = 2) -> list[int]:
    """Page i of a random order with probability ∝ 1 / (i + 1)."""
    draw = random.Random(seed)
    order = draw.sample(range(pages), pages)
    return draw.choices(order, [1 / (place + 1) for place in range(pages)], k=touches)


def alternating(pages: int, rounds: int) -> list[int]:
    """The lower half three times over, then the upper half three times, and so on."""
    half = pages // 2
    return [page for _ in range(rounds) for part in (0, half) for page in [*range(part, part + half)] * 3]


# A trace as a graph whose bfs from any of its vertices touches just these pages.


def write_chain(trace: Sequence[int], pages: int, slots: int, path: Path) -> np.ndarray:
    """Writes a directed .sg and gives the neighbour that each vertex has.

    Every vertex has one edge, so that page p is where the edges of vertices p·slots to p·slots + slots − 1
    are. The n-th touch of a page is the n-th of these, and its edge leads to the next touch; the last one
    leads to the first. Vertices left over lead there, too.
    """
    counts: dict[int, int] = {}
    chain = []
    for page in trace:
        chain.append(page * slots + counts.get(page, 0))
        counts[page] = counts.get(page, 0) + 1
    if max(counts.values()) > slots:
        raise ValueError(f"a page is touched {max(counts.values())} times and has {slots} edges")
    following = np.full(pages * slots, chain[0], dtype=np.int32)
    following[chain] = chain[1:] + chain[:1]
    ends = np.arange(len(following) + 1, dtype=np.int64)
    into = np.concatenate([[0], np.cumsum(np.bincount(following, minlength=len(following)))]).astype(np.int64)
    with path.open("wb") as file:
        file.write(b"\x01" + np.array([len(following)] * 2, dtype=np.int64).tobytes())
        file.write(ends.tobytes() + following.tobytes())
        file.write(into.tobytes() + np.argsort(following, kind="stable").astype(np.int32).tobytes())
    return following


def chain_pages(following: np.ndarray, source: int, slots: int) -> list[int]:
    """The pages that a bfs from `source` touches."""
    seen: dict[int, None] = {}
    while source not in seen:
        seen[source] = None
        source = int(following[source])
    return [vertex // slots for vertex in seen]


# Traces of algorithms: a level at a time, over a graph as GAP's .sg and .wsg have it.


@dataclass(frozen=True)
class Graph:
    offsets: np.ndarray  # i64[V + 1]
    neighbours: np.ndarray  # i64[E]
    weights: np.ndarray | None  # i64[E]
    directed: bool

    @property
    def vertices(self) -> int:
        return len(self.offsets) - 1


def read_graph(path: Path) -> Graph:
    """A .sg or .wsg: u8 directed, i64 entries and vertices, i64 offsets, then i32 neighbours with weights."""
    data = path.read_bytes()
    entries, vertices = np.frombuffer(data, np.int64, 2, 1)
    offsets = np.frombuffer(data, np.int64, vertices + 1, 17)
    width = 2 if path.suffix == ".wsg" else 1
    body = np.frombuffer(data, np.int32, entries * width, 17 + 8 * (vertices + 1)).astype(np.int64)
    return Graph(offsets, body[::width], body[1::2] if width == 2 else None, data[0] == 1)


def edges_of(graph: Graph, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Who an edge is of, and its place in the list of all, for each edge of these vertices."""
    starts, degrees = graph.offsets[vertices], np.diff(graph.offsets)[vertices]
    ends = np.cumsum(degrees)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - degrees, degrees)
    return np.repeat(vertices, degrees), np.repeat(starts, degrees) + within


def bfs(graph: Graph, source: int) -> Iterator[np.ndarray]:
    reached = np.zeros(graph.vertices, dtype=bool)
    level = np.array([source])
    while len(level):
        yield level
        reached[level] = True
        level = np.unique(graph.neighbours[edges_of(graph, level)[1]])
        level = level[~reached[level]]


def falling(graph: Graph, values: np.ndarray, level: np.ndarray, further: bool) -> Iterator[np.ndarray]:
    """Levels of values that only fall along edges: who fell in a level is active in the next."""
    while len(level):
        yield level
        owners, places = edges_of(graph, level)
        offers = values[owners] + (graph.weights[places] if further else 0)
        before = values.copy()
        np.minimum.at(values, graph.neighbours[places], offers)
        level = np.flatnonzero(values < before)


def sssp(graph: Graph, source: int) -> Iterator[np.ndarray]:
    """Bellman and Ford, a round a level."""
    distances = np.full(graph.vertices, np.iinfo(np.int64).max // 2)
    distances[source] = 0
    yield from falling(graph, distances, np.array([source]), further=True)


def cc(graph: Graph, _: int = 0) -> Iterator[np.ndarray]:
    """Lowest labels, from every vertex at once."""
    everyone = np.arange(graph.vertices)
    yield from falling(graph, everyone.copy(), everyone, further=False)


def pr(graph: Graph, _: int = 0) -> Iterator[np.ndarray]:
    """PageRank by pushing: damping 0.85, until residuals come to less than 1e-4 in all; who has more than
    1e-4 / 2V of it pushes.
    """
    residuals = np.full(graph.vertices, 0.15 / graph.vertices)
    degrees = np.diff(graph.offsets)
    while residuals.sum() >= 1e-4:
        level = np.flatnonzero(residuals > 1e-4 / (2 * graph.vertices))
        yield level
        pushed = np.zeros(graph.vertices)
        owners, places = edges_of(graph, level)
        np.add.at(pushed, graph.neighbours[places], 0.85 * residuals[owners] / degrees[owners])
        residuals[level] = 0
        residuals += pushed


ALGORITHMS = {"bfs": bfs, "sssp": sssp, "cc": cc, "pr": pr}


@dataclass(frozen=True)
class Lists:
    """Lists of neighbours on pages, with weights of 4 bytes on pages of their own behind them."""

    graph: Graph
    page_bytes: int
    edge_bytes: int = 8
    weighted: bool = False

    @property
    def edge_pages(self) -> int:
        return -(-len(self.graph.neighbours) * self.edge_bytes // self.page_bytes)

    @property
    def pages(self) -> int:
        weights = -(-len(self.graph.neighbours) * 4 // self.page_bytes)
        return self.edge_pages + (weights if self.weighted else 0)

    def trace(self, levels: Iterable[np.ndarray]) -> list[int]:
        """The pages that these vertices' lists lie on, in the order of their touches."""
        pages: list[int] = []
        for level in levels:
            for first, end in zip(self.graph.offsets[level], self.graph.offsets[level + 1], strict=True):
                if first < end:
                    pages += self.under(0, self.edge_bytes, int(first), int(end))
                    if self.weighted:
                        pages += self.under(self.edge_pages, 4, int(first), int(end))
        return pages

    def under(self, behind: int, width: int, first: int, end: int) -> range:
        """The pages of some elements of an array that begins `behind` pages."""
        last = (end * width - 1) // self.page_bytes
        return range(behind + first * width // self.page_bytes, behind + last + 1)


# Both orders side by side, on graphs of hundreds of pages.

COMPARED = ("kron:18", "urand:18")
CARDS = (25, 50, 75, 100)  # percent of the pages, rounded up to whole blocks
COLUMNS = ("graph", "algorithm", "card", "pages", "lru_pages", "driver_pages", "driver_faults")


def written(program: str, name: str, folder: Path) -> Path:
    """A graph by name, made and written by the program, with weights of 8 to 72."""
    path = folder / f"{name.replace(':', '')}.wsg"
    command = [program, "graph", "convert", name, str(path), "--draw-weights", "8-72"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return path


def compared(name: str, graph: Graph, algorithm: str) -> list[dict[str, object]]:
    """What each order brings to each card, in pages of 64 KiB; searches start at the first vertex that has a
    neighbour.
    """
    lists = Lists(graph, BASE, weighted=algorithm == "sssp")
    start = int(np.flatnonzero(np.diff(graph.offsets))[0])
    trace = [page for page, _ in itertools.groupby(lists.trace(ALGORITHMS[algorithm](graph, start)))]
    rows = []
    for card in CARDS:
        blocks = -(-lists.pages * card * BASE // (100 * BLOCK))
        own, other = replay(trace, blocks * BLOCK // BASE), driver(trace, blocks * BLOCK)
        cells = (name, algorithm, card, lists.pages, own.faults, other.moved_bytes // BASE, other.faults)
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return rows


def main(program: str) -> None:
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    with tempfile.TemporaryDirectory() as folder:
        for name in COMPARED:
            graph = read_graph(written(program, name, Path(folder)))
            for algorithm in ALGORITHMS:
                writer.writerows(compared(name, graph, algorithm))


if __name__ == "__main__":
    main(sys.argv[1])
