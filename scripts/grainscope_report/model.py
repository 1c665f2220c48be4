"""The result format, declared: what a result file may say, as frozen data that `typed` reads a file into.

Units are the file's: seconds, bytes, decimal GB/s. What the file does not tell is `None`. The schema in
docs/ is made of this: `python -m grainscope_report.reader > docs/result.schema.json` from `scripts/`.
`Result` is a file as the rest of the package uses it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from grainscope_report import families
from grainscope_report.statistics import FEWEST_FOR_INTERVAL, Estimate, median_interval
from grainscope_report.typed import NULLABLE, Problem, Record

HOST_TO_GPU = "host_to_gpu"
GPU_TO_HOST = "gpu_to_host"
# Between GPUs, as seen by the one that issues the transfer: the site's `gpu`; the other is its `peer`.
TO_PEER = "to_peer"
FROM_PEER = "from_peer"
OPPOSITE = {HOST_TO_GPU: GPU_TO_HOST, GPU_TO_HOST: HOST_TO_GPU, TO_PEER: FROM_PEER, FROM_PEER: TO_PEER}
_DIRECTIONS = {"read": HOST_TO_GPU, "write": GPU_TO_HOST}
MODEL = "model/"  # what only a model answers

Ends = tuple[str, str]
SCHEMA_VERSION = 2
Positive = Annotated[float, ("exclusiveMinimum", 0)]
Amount = Annotated[float, ("minimum", 0)]
Count = Annotated[int, ("minimum", 0)]
Ordinal = Annotated[int, ("minimum", 1)]
SOME = ("minItems", 1)
Interval = tuple[Amount, Amount]
Curve = Annotated[tuple[Interval, ...], SOME]
Raw = Mapping[str, Any]
Flag = Literal["wide_interval", "bimodal", "slower_alone", "unsettled", "visits_differ"]


def ends(site: Mapping[str, int], direction: str | None) -> Ends | None:
    """Where bytes come from and go to, `("host:0", "gpu:1")`; None where the site does not say."""
    peers = direction in (TO_PEER, FROM_PEER)
    near, far = site.get("gpu"), site.get("peer" if peers else "numa")
    if None in (near, far, direction):
        return None
    pair = (f"gpu:{near}", f"gpu:{far}") if peers else (f"host:{far}", f"gpu:{near}")
    return pair if direction in (TO_PEER, HOST_TO_GPU) else pair[::-1]


class Case(Record):
    """A named point: `family` and `axes` are the question, `site` says where it was asked.

    `version` is of what the family measures: rows of two versions are not compared.
    """

    family: str
    axes: Mapping[str, str | float]
    site: Mapping[str, int]
    version: Annotated[int, ("minimum", 1)] = 1

    @property
    def locality(self) -> str:
        """`local`, `remote` or `unknown`."""
        return str(said) if (said := self.axes.get("locality")) in ("local", "remote") else "unknown"

    @property
    def place(self) -> str:
        """What stands between the ends: the locality of the host, or between GPUs what joins them."""
        if "link" not in self.axes or "locality" in self.axes or self.family.startswith(MODEL):
            return self.locality
        return str(said) if (said := self.axes["link"]) in ("nvlink", "pcie", "none") else "link unknown"

    @property
    def direction(self) -> str | None:
        """Which way bytes cross the link to the host or to the peer; None where both or neither."""
        said, path = self.axes.get("direction"), str(self.axes.get("path", ""))
        reads = (known := families.of(self.family)).reads or known.walks
        peers = "peer" in self.site and (not path or "peer" in path)  # else a neighbour that passes bytes on
        if peers:
            reads = said == "read" or reads or path == "peer_to_gpu"
            return None if self.axes.get("between") else FROM_PEER if reads else TO_PEER
        if said in _DIRECTIONS:
            return _DIRECTIONS[said]
        if path.endswith("_to_gpu") or (reads and "gpu" in self.site):
            return HOST_TO_GPU
        return GPU_TO_HOST if path.startswith("gpu_to_") else None

    @property
    def site_key(self) -> tuple[tuple[str, int], ...]:
        """The site, sorted: equal for rows that were measured at one place."""
        return tuple(sorted(self.site.items()))

    @property
    def ends(self) -> Ends | None:
        """Where bytes come from and go to, where the case has one direction."""
        return ends(self.site, self.direction)

    def without(self, *axes: str) -> tuple[tuple[str, str | float], ...]:
        """The axes but these, sorted: equal for rows that differ in nothing else."""
        return tuple(sorted((name, value) for name, value in self.axes.items() if name not in axes))


class Suite(Record):
    """The program that measured."""

    version: str
    commit: str
    compiler: str
    cuda: str | None
    benchmark_library: str


class Shard(Record):
    """Which part of a run a file holds, and how many cases all parts have."""

    index: Ordinal
    count: Ordinal
    cases: Count | None = None


class Counts(Record):
    """Rows by status."""

    ok: Count
    skipped: Count
    failed: Count


class Run(Record):
    """How the run was asked for and how it ended."""

    id: str
    preset: Literal["smoke", "quick", "full", "paper", "acceptance"]
    filter: str
    flags: tuple[str, ...]
    started: str
    ended: str
    complete: bool
    why_incomplete: str | None
    shard: Shard
    ci_target: Positive
    counts: Counts
    visits: Ordinal
    seed: Count | None = None
    wall_s: Amount | None = None


class Concern(Record):
    """What the machine has that can spoil a number."""

    id: str
    severity: Literal["info", "warning", "severe"]
    finding: str
    effect: str
    remedy: str


class Environment(Record):
    """The machine report; `raw` keeps every field of it."""

    OPEN = True
    cpu: Annotated[Raw, ("required", ("model", "caches"))]
    gpus: tuple[Annotated[Raw, ("required", ("name",))], ...]
    driver: Annotated[Raw, ("required", ("version",))]
    warnings: tuple[Concern, ...]
    raw: Raw = field(repr=False)
    kernel: Annotated[Raw | None, NULLABLE] = None

    cpu_model = property(lambda self: str(self.cpu["model"] or "") or None)
    driver_version = property(lambda self: str(self.driver["version"] or "") or None)
    gpu_names = property(lambda self: tuple(str(gpu["name"]) for gpu in self.gpus))


class Link(Record):
    """The measured copy peak of one GPU, one node or peer, and direction in this run, GB/s."""

    gpu: int
    direction: str
    peak_gb_s: Positive
    within_gb_s: Interval
    bytes: int
    numa: int | None = None
    peer: int | None = None
    theoretical_gb_s: Annotated[float | None, NULLABLE] = None
    generation: Annotated[int | None, NULLABLE] = None
    width: Annotated[int | None, NULLABLE] = None
    nvlinks: Annotated[Ordinal | None, NULLABLE] = None

    NEEDS: ClassVar = {
        "if": {"required": ["peer"]},
        "then": {"properties": {"direction": {"const": TO_PEER}}},
        "else": {"required": ["numa"], "properties": {"direction": {"enum": [HOST_TO_GPU, GPU_TO_HOST]}}},
    }

    @property
    def ends(self) -> Ends:
        """Where the copied bytes come from and go to."""
        return ends(vars(self), self.direction) or ("", "")

    @property
    def negotiated(self) -> str | None:
        """`PCIe 5 ×16` or `NVLink ×18`, as sampled under load; None where that is not known."""
        if self.nvlinks:
            return f"NVLink ×{self.nvlinks}"
        return f"PCIe {self.generation} ×{self.width}" if self.generation and self.width else None


class TypeBTable(Record):
    """The table that uncertainties of type B come from; `known`: it knows machines like this one."""

    date: str
    sha256: str
    known: bool


class Context(Record):
    """Everything in a file that is not a row."""

    OPEN = True
    schema_version: Literal[2]
    grainscope: Suite
    run: Run
    environment: Environment
    links: tuple[Link, ...]
    date: str | None = None
    host_name: str | None = None
    type_b: TypeBTable | None = None


class Lane(Record):
    """One of several operations that ran at once: its bytes, its own time, and how it does alone.

    `background` lanes only load the link or the GPU; lanes of a computing kernel have no bytes.
    """

    name: str
    bytes: Count
    source: Annotated[str, ("name", "from")]
    target: Annotated[str, ("name", "to")]
    median_s: Positive
    within_s: Interval | None = None
    bandwidth_gb_s: Positive | None = None
    background: bool = False
    alone_gb_s: Positive | None = None
    alone_s: Positive | None = None


class Trial(Record):
    """One of several runs of a program on different inputs, such as a traversal from one source."""

    label: str
    samples_s: Annotated[tuple[Positive, ...], SOME] = field(repr=False)
    counters: Mapping[str, float] = field(default_factory=dict)


class Level(Record):
    """One round of the first trial: active vertices, edges in their lists, what was timed and asked for."""

    level: Count
    active: Count
    edges: Count
    seconds: Positive | None = None
    requests: Amount | None = None
    link_bytes: Amount | None = None


class Stage(Record):
    """When a stage of a pipeline began and ended each step, seconds from the beginning of a run.

    A stage that takes a window of mini-batches at once has a pair a window. Without `gpu` it is the CPU's.
    """

    lane: str
    begin_s: Annotated[tuple[Amount, ...], SOME] = field(repr=False)
    end_s: Annotated[tuple[Amount, ...], SOME] = field(repr=False)
    gpu: Count | None = None


class Graph(Record):
    """The graph that a program ran on; `degree_cdf` are degrees with the share of entries in lists up to it.

    `entries` are adjacency entries: an undirected edge has two.
    """

    vertices: Count
    entries: Count
    degree_cdf: Curve = ()


class Features(Record):
    """A feature table of one's own; `element` in bytes."""

    rows: Ordinal
    columns: Ordinal
    element: Literal[2, 4]


class Timing(Record):
    """How a sample was timed, and what of it."""

    clock: Literal["event", "steady"]
    gated: bool
    timed: str
    quiet: bool = False  # each sample on a CPU whose core nobody else used, where there was one


class Traffic(Record):
    """Requests and bytes over the link in one sample, as a model or counters have them."""

    label: Literal["modelled", "counted"]
    requests: Amount | None = None
    requests_by_size: Mapping[int, float] = field(default_factory=dict)
    bytes: Amount | None = None
    amplification: Amount | None = None


class Counted(Traffic):
    """What counters say. They tell no sizes of requests, but bytes that PCIe carried, headers among them."""

    label: Literal["counted"]
    sectors: Amount | None = None
    pcie_read_bytes: Amount | None = None


class Visit(Record):
    """One stay at a case: its samples, those set aside before them, and what went on meanwhile."""

    round: Ordinal
    samples_s: Annotated[tuple[Positive, ...], SOME] = field(repr=False)
    median_s: Positive
    unsettled_s: tuple[Positive, ...] = field(default=(), repr=False)
    within_s: Interval | None = None
    visit_s: Amount | None = None
    around_s: Positive | None = None
    cpu_s: Amount | None = None
    preemptions: Count | None = None
    stolen_s: Amount | None = None
    disturbed: Count | None = None
    busy: bool | None = None
    far: bool | None = None
    state: Raw = field(default_factory=dict, repr=False)


class Uncertainty(Record):
    """A relative standard uncertainty; without `freedom` its degrees of freedom are infinite."""

    standard: Amount
    freedom: Positive | None = None


class Uncertainties(Record):
    """Of type A from the visits of the run, of type B from what runs are known to differ by, and of both."""

    a: Uncertainty | None = None
    b: Uncertainty | None = None
    combined: Uncertainty | None = None

    NEEDS: ClassVar = {
        "if": {"required": ["a", "b"]},
        "then": {"required": ["combined"]},
        "else": {"if": {"required": ["a"]}, "else": {"required": ["b"]}},
    }


class Row(Record):
    """What a run says of one case, by its middle visit where not visit by visit. Only `ok` rows count."""

    OPEN = True
    name: str
    run_type: Literal["iteration"]
    case: Case
    status: Literal["ok", "skipped", "failed"]
    label: Literal["measured", "counted", "modelled"]
    run_name: str | None = None
    real_time: float | None = None
    cpu_time: float | None = None
    time_unit: Literal["ns", "us", "ms", "s"] | None = None
    reason: str = ""
    visits: Annotated[tuple[Visit, ...], SOME] = ()
    middle: Count = 0
    uncertainty: Uncertainties | None = None
    interval_s: Interval | None = None
    median_s: Positive | None = None
    mad_s: Amount | None = None
    p5_s: Positive | None = None
    p95_s: Positive | None = None
    flags: frozenset[Flag] = frozenset()
    timing: Timing | None = None
    bytes: Count | None = None
    link_bytes_asked: Count | None = None
    link_bytes_least: Count | None = None
    bandwidth_gb_s: Positive | None = None
    limit_gb_s: Positive | None = None
    limit_operation_s: Positive | None = None
    limit: str | None = None
    link_fraction: Positive | None = None
    operations: Ordinal | None = None
    operation_s: Positive | None = None
    verified: bool | None = None
    verification: str | None = None
    traffic: Traffic | None = None
    counted: Counted | None = None
    trials: Annotated[tuple[Trial, ...], SOME] = ()
    levels: Annotated[tuple[Level, ...], SOME] = ()
    timeline: Annotated[tuple[Stage, ...], SOME] = ()
    graph: Graph | None = None
    features: Features | None = None
    hit_curve: Curve = ()
    energy_j: Amount | None = None
    power_w: Amount | None = None
    lanes: Annotated[tuple[Lane, ...], SOME] = ()
    overlap: Annotated[float | None, ("minimum", 0), ("maximum", 1)] = None
    counters: Mapping[str, float] = field(default_factory=dict)

    NEEDS: ClassVar = {
        "if": {"properties": {"status": {"const": "ok"}}},
        "then": {"required": ["median_s", "verified"], "properties": {"verified": {"const": True}}}
        | {
            "if": {"properties": {"label": {"const": "modelled"}}},
            "else": {"required": ["visits", "middle", "timing"]},
        },
        "else": {"required": ["reason"]},
    }

    ok = property(lambda self: self.status == "ok")
    measured = property(lambda self: self.ok and self.label == "measured")
    # Whether its trials are of different inputs (sources), not of one input again.
    of_inputs = property(lambda self: any(not trial.label.startswith("trial:") for trial in self.trials))
    both_known = property(lambda self: bool(self.uncertainty and self.uncertainty.combined))
    # The visits that stand for it: those that are neither busy nor far where there is any, else all.
    standing = property(lambda self: [one for one in self.visits if not (one.busy or one.far)] or self.visits)
    samples_s = property(lambda self: self.visit.samples_s if self.visit else ())
    within_s = property(lambda self: self.visit.within_s if self.visit else None)
    visit_s = property(lambda self: self._sum("visit_s"))
    stolen_s = property(lambda self: self._sum("stolen_s"))

    @property
    def visit(self) -> Visit | None:
        """The visit with the middle median, of which the row's other numbers are."""
        return self.visits[self.middle] if self.middle < len(self.visits) else None

    @cached_property
    def time(self) -> Estimate | None:
        """The median with the interval to show: of both uncertainties, else of type A, else within the visit.

        A row without any of these has the interval of its trials' median, or where they are few, all of them.
        """
        if self.median_s is None:
            return None
        times = self.samples_s or (self.median_s,)
        trials = median_interval(times) if len(times) >= FEWEST_FOR_INTERVAL else (min(times), max(times))
        return Estimate(self.median_s, *(self.interval_s or self.within_s or trials), len(self.visits) or 1)

    def _sum(self, what: str) -> float | None:
        """What all visits took together; None where one does not tell."""
        parts = [getattr(visit, what) for visit in self.visits]
        return sum(parts) if parts and None not in parts else None


class File(Record):
    """A result file as it is."""

    context: Context
    benchmarks: tuple[Row, ...]


@dataclass(frozen=True)
class Result:
    """One result file as it is used; `contradictions` are those that a look at each row shows."""

    path: Path
    context: Context = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False)
    contradictions: Sequence[Problem] = ()

    host = property(lambda self: self.context.host_name)
    date = property(lambda self: self.context.date or self.run.started)
    version = property(lambda self: self.context.grainscope.version)
    commit = property(lambda self: self.context.grainscope.commit)
    cuda = property(lambda self: self.context.grainscope.cuda)
    run = property(lambda self: self.context.run)
    environment = property(lambda self: self.context.environment)
    links = property(lambda self: self.context.links)

    @cached_property
    def _by_family(self) -> Mapping[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.case.family, []).append(row)
        return found

    @cached_property
    def remote(self) -> set[tuple[int | None, int | None]]:
        """GPUs and nodes of which rows say that they are far apart."""
        sites = (row.case.site for row in self.rows if row.case.locality == "remote")
        return {(site.get("gpu"), site.get("numa")) for site in sites}

    def of(self, *families: str) -> list[Row]:
        """The rows of these families, in file order, whatever their status."""
        if len(families) == 1:
            return list(self._by_family.get(families[0], ()))
        return [row for row in self.rows if row.case.family in families]

    def link(self, between: Ends | None) -> Link | None:
        """The measured link between these ends in this direction."""
        return next((link for link in self.links if link.ends == between), None)
