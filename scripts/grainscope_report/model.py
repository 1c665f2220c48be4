"""What a result file says, as frozen data: `Result` holds `Row`s, a `Row` answers one `Case`.

Units are the file's: seconds, bytes, decimal GB/s. What the file does not tell is `None`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from grainscope_report.row_parts import Graph, Interval, Lane, Level, Traffic, Trial

HOST_TO_GPU = "host_to_gpu"
GPU_TO_HOST = "gpu_to_host"
# Between GPUs, as seen by the one that issues the transfer: the site's `gpu`; the other is its `peer`.
TO_PEER = "to_peer"
FROM_PEER = "from_peer"
OPPOSITE = {HOST_TO_GPU: GPU_TO_HOST, GPU_TO_HOST: HOST_TO_GPU, TO_PEER: FROM_PEER, FROM_PEER: TO_PEER}
_DIRECTIONS = {"read": HOST_TO_GPU, "write": GPU_TO_HOST}
# Families whose kernels only read what is far away, and so name no direction.
READERS = {
    "reach/gather",
    "latency/chase",
    "gather",
    "gather/bag",
    "sm_share/gather",
    "sm_share/split",
    "pipeline/graphsage",
}
# Graph algorithms that read edges on the GPU, one family each, and what only a model answers.
TRAVERSAL, LEAN, MODEL = "traversal/", "lean/", "model/"
# Edges are read over the link, and how many may differ from run to run.
WALKS = (TRAVERSAL, LEAN)
JOINED = {"nvlink", "pcie", "none"}

Ends = tuple[str, str]


def ends(site: Mapping[str, int], direction: str | None) -> Ends | None:
    """Where bytes come from and go to, `("host:0", "gpu:1")`; None where the site does not say."""
    near, far = site.get("gpu"), site.get("peer")
    if direction in (TO_PEER, FROM_PEER):
        pair = (f"gpu:{near}", f"gpu:{far}")
        known = near is not None and far is not None
        return (pair if direction == TO_PEER else pair[::-1]) if known else None
    pair = (f"host:{site.get('numa')}", f"gpu:{near}")
    known = direction is not None and near is not None and "numa" in site
    return (pair if direction == HOST_TO_GPU else pair[::-1]) if known else None


@dataclass(frozen=True)
class Case:
    """A named point: `family` and `axes` are the question, `site` says where it was asked."""

    family: str
    axes: Mapping[str, str | float]
    site: Mapping[str, int]

    @property
    def locality(self) -> str:
        """`local`, `remote` or `unknown`."""
        return str(said) if (said := self.axes.get("locality")) in ("local", "remote") else "unknown"

    @property
    def place(self) -> str:
        """What stands between the ends: the locality of the host, or between GPUs what joins them."""
        if "link" not in self.axes or "locality" in self.axes or self.family.startswith(MODEL):
            return self.locality
        return str(said) if (said := self.axes["link"]) in JOINED else "link unknown"

    @property
    def direction(self) -> str | None:
        """Which way bytes cross the link to the host or to the peer; None where both or neither."""
        said = self.axes.get("direction")
        reads = self.family in READERS or self.family.startswith(WALKS)
        if "peer" in self.site:
            if self.axes.get("between"):
                return None
            fetched = said == "read" or reads or self.axes.get("path") == "peer_to_gpu"
            return FROM_PEER if fetched else TO_PEER
        if said in _DIRECTIONS:
            return _DIRECTIONS[said]
        path = str(self.axes.get("path", ""))
        if path.endswith("_to_gpu") or (reads and "gpu" in self.site):
            return HOST_TO_GPU
        return GPU_TO_HOST if path.startswith("gpu_to_") else None

    @property
    def ends(self) -> Ends | None:
        """Where bytes come from and go to, where the case has one direction."""
        return ends(self.site, self.direction)

    def without(self, *axes: str) -> tuple[tuple[str, str | float], ...]:
        """The axes but these, sorted: equal for rows that differ in nothing else."""
        return tuple(sorted((name, value) for name, value in self.axes.items() if name not in axes))


@dataclass(frozen=True)
class Row:
    """One session of one case. Only `ok` rows may be drawn or compared."""

    name: str
    case: Case
    status: str
    label: str
    reason: str
    repetition: int
    samples_s: tuple[float, ...] = field(repr=False)
    median_s: float | None
    ci95_s: Interval | None
    flags: frozenset[str]
    bytes: int | None
    link_bytes: int | None
    bandwidth_gb_s: float | None
    link_fraction: float | None
    operations: int | None
    operation_s: float | None
    traffic: Traffic | None
    counters: Mapping[str, float]
    lanes: tuple[Lane, ...] = ()
    overlap: float | None = None
    counted: Traffic | None = None
    trials: tuple[Trial, ...] = ()
    levels: tuple[Level, ...] = ()
    graph: Graph | None = None
    hit_curve: tuple[tuple[float, float], ...] = ()
    session_s: float | None = None
    stolen_s: float | None = None

    @property
    def ok(self) -> bool:
        """Measured, checked and right."""
        return self.status == "ok"

    @property
    def interval_s(self) -> Interval:
        """The interval of the median, of a row that has one; all samples where they are too few for it."""
        samples = self.samples_s or (self.median_s,)
        return self.ci95_s or (min(samples), max(samples))


@dataclass(frozen=True)
class Link:
    """The measured copy peak of one GPU, one node or peer, and direction in this run, GB/s."""

    gpu: int
    numa: int | None
    peer: int | None
    direction: str
    peak_gb_s: float
    ci95_gb_s: Interval
    bytes: int
    theoretical_gb_s: float | None
    generation: int | None
    width: int | None
    nvlinks: int | None

    @property
    def ends(self) -> Ends:
        """Where the copied bytes come from and go to."""
        numa = {} if self.numa is None else {"numa": self.numa}
        peer = {} if self.peer is None else {"peer": self.peer}
        return ends({"gpu": self.gpu, **numa, **peer}, self.direction) or ("", "")

    @property
    def negotiated(self) -> str | None:
        """`PCIe 5 ×16` or `NVLink ×18`, as sampled under load; None where that is not known."""
        if self.nvlinks:
            return f"NVLink ×{self.nvlinks}"
        return f"PCIe {self.generation} ×{self.width}" if self.generation and self.width else None


@dataclass(frozen=True)
class Cache:
    """A data or unified cache of the CPU."""

    level: int
    bytes: int


@dataclass(frozen=True)
class Finding:
    """A finding about the machine that can spoil a number."""

    id: str
    severity: str
    finding: str
    effect: str
    remedy: str


@dataclass(frozen=True)
class Environment:
    """The machine report; `raw` keeps every field of it."""

    cpu_model: str | None
    caches: tuple[Cache, ...]
    gpu_names: tuple[str, ...]
    driver: str | None
    warnings: tuple[Finding, ...]
    raw: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Run:
    """How the run was asked for and how it ended."""

    id: str
    preset: str
    filter: str
    flags: tuple[str, ...]
    started: str
    complete: bool
    why_incomplete: str | None
    ci_target: float
    wall_s: float | None


@dataclass(frozen=True)
class Result:
    """One result file."""

    path: Path
    host: str | None
    date: str
    version: str
    commit: str
    cuda: str | None
    run: Run
    environment: Environment
    links: tuple[Link, ...]
    rows: tuple[Row, ...] = field(repr=False)

    @cached_property
    def _by_family(self) -> Mapping[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.case.family, []).append(row)
        return found

    def of(self, *families: str) -> list[Row]:
        """The rows of these families, in file order, whatever their status."""
        if len(families) == 1:
            return list(self._by_family.get(families[0], ()))
        there = self._by_family.keys() & set(families)
        return [row for row in self.rows if row.case.family in there] if there else []

    def link(self, between: Ends | None) -> Link | None:
        """The measured link between these ends in this direction."""
        return next((link for link in self.links if link.ends == between), None)
