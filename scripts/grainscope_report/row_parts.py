"""What a row may hold beside its own time: traffic, lanes, trials, levels, and the graph it ran on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Interval = tuple[float, float]


@dataclass(frozen=True)
class Traffic:
    """Requests and bytes over the link in one sample; `label` is `modelled` or `counted`.

    Counters tell no sizes of requests, but of the bytes that PCIe carried, headers among them.
    """

    label: str
    requests: float | None
    requests_by_size: Mapping[int, float]
    bytes: float | None
    amplification: float | None
    pcie_read_bytes: float | None = None


@dataclass(frozen=True)
class Lane:
    """One of several operations that ran at once: its bytes, its own time, and how it does alone.

    `background` lanes only load the link or the GPU; lanes of a computing kernel have no bytes.
    """

    name: str
    bytes: int
    source: str
    target: str
    median_s: float | None
    ci95_s: Interval | None
    bandwidth_gb_s: float | None
    background: bool
    alone_gb_s: float | None
    alone_s: float | None


@dataclass(frozen=True)
class Trial:
    """One of several runs of a program on different inputs, such as a traversal from one source."""

    label: str
    samples_s: tuple[float, ...] = field(repr=False)
    counters: Mapping[str, float]


@dataclass(frozen=True)
class Level:
    """One round of the first trial: active vertices, edges in their lists, what was timed and asked for."""

    level: int
    active: int
    edges: int
    seconds: float | None
    requests: float | None
    link_bytes: float | None


@dataclass(frozen=True)
class Graph:
    """The graph that a program ran on; `degree_cdf` are degrees with the share of entries in lists up to it.

    `entries` are adjacency entries: an undirected edge has two.
    """

    vertices: int
    entries: int
    degree_cdf: tuple[tuple[float, float], ...] = ()
