"""What a result file says, as frozen data: `Result` holds `Row`s, a `Row` answers one `Case`.

Units are the file's: seconds, bytes, decimal GB/s. What the file does not tell is `None`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOST_TO_GPU = "host_to_gpu"
GPU_TO_HOST = "gpu_to_host"
_DIRECTIONS = {"read": HOST_TO_GPU, "write": GPU_TO_HOST}

Interval = tuple[float, float]


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
    def direction(self) -> str | None:
        """`host_to_gpu` or `gpu_to_host` where the case crosses that link, else None."""
        if (direction := self.axes.get("direction")) in _DIRECTIONS:
            return _DIRECTIONS[direction]
        path = str(self.axes.get("path", ""))
        if path.endswith("_to_gpu"):
            return HOST_TO_GPU
        return GPU_TO_HOST if path.startswith("gpu_to_") else None

    def without(self, *axes: str) -> tuple[tuple[str, str | float], ...]:
        """The axes but these, sorted: equal for rows that differ in nothing else."""
        return tuple(sorted((name, value) for name, value in self.axes.items() if name not in axes))


@dataclass(frozen=True)
class Traffic:
    """Requests and bytes over the link in one sample; `label` is `modelled` or `counted`."""

    label: str
    requests: float | None
    requests_by_size: Mapping[int, float]
    bytes: float | None
    amplification: float | None


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
    bandwidth_gb_s: float | None
    link_fraction: float | None
    operations: int | None
    operation_s: float | None
    traffic: Traffic | None
    counters: Mapping[str, float]

    @property
    def ok(self) -> bool:
        """Measured, checked and right."""
        return self.status == "ok"


@dataclass(frozen=True)
class Link:
    """The measured copy peak of one GPU, node and direction in this run, GB/s."""

    gpu: int
    numa: int
    direction: str
    peak_gb_s: float
    ci95_gb_s: Interval
    bytes: int
    theoretical_gb_s: float | None
    generation: int | None
    width: int | None


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

    def of(self, *families: str) -> list[Row]:
        """The rows of these families, in file order, whatever their status."""
        return [row for row in self.rows if row.case.family in families]
