"""A result file as a reader of a picture or table knows it: a letter, a label, a line of provenance."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from grainscope_report.model import Concern
from grainscope_report.result import Result
from grainscope_report.units import format_duration

# Visits that took so many times a run's time were not all of its last part.
SEVERAL_PARTS = 1.01
# CPUs that a hypervisor took on average: from so many on it is said.
STOLEN_CPUS = 0.05
# No cache has more bytes: what says so was not read right.
LARGEST_CACHE = 1 << 36
_NOISE = re.compile(r"\((?:R|TM)\)|\s+CPU\b|\s+Processor\b|@.*$|\b\d+-Core\b")


@dataclass(frozen=True)
class Machine:
    """One result file among those shown together."""

    index: int
    letter: str
    label: str
    result: Result
    file: str = ""

    @property
    def provenance(self) -> str:
        """Machine, driver, suite and date, for the footer of a figure; `file` where another has the same."""
        return " · ".join(filter(None, [*provenance(self.result), self.file]))


def machines(results: Sequence[Result]) -> list[Machine]:
    """Letters and labels for files that are shown together, no two labels alike."""
    labels = [_label(result) for result in results]
    files = _files(results)
    for more in (map(_date, results), files):
        twice = Counter(labels)
        labels = [
            f"{label}, {said}" if twice[label] > 1 else label
            for label, said in zip(labels, more, strict=True)
        ]
    alike = Counter(tuple(provenance(result)) for result in results)
    return [
        Machine(index, letter(index), label, result, file if alike[tuple(provenance(result))] > 1 else "")
        for index, (label, result, file) in enumerate(zip(labels, results, files, strict=True))
    ]


def provenance(result: Result) -> list[str]:
    """What identifies a measurement: GPU, CPU, host, driver, CUDA, suite with commit, date."""
    driver = result.environment.driver_version
    commit = "commit unknown" if result.commit in ("", "unknown") else f"commit {result.commit[:10]}"
    parts = [
        gpus(result) or "no GPU",
        cpu(result),
        result.host or "host unknown",
        f"driver {driver}" if driver else "no NVIDIA driver",
        f"CUDA {result.cuda}" if result.cuda else "built without CUDA",
        f"GrainScope {result.version} ({commit})",
        _date(result),
    ]
    return [part for part in parts if part]


def took(result: Result) -> str:
    """How long the run took; at least how long where the file has the time of its last part only."""
    wall = result.run.wall_s
    if not wall:
        return ""
    visits = math.fsum(row.visit_s or 0.0 for row in result.rows)
    if visits > SEVERAL_PARTS * wall:
        return f"{format_duration(visits)} at least, in several parts"
    return format_duration(wall)


def gpus(result: Result) -> str | None:
    """The GPUs by name, each with its number: `NVIDIA H200 ×2`."""
    counted = Counter(result.environment.gpu_names)
    return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counted.items()) or None


def cpu(result: Result) -> str:
    """The CPU's model without its trademarks and nominal clock."""
    model = result.environment.cpu_model
    return re.sub(r"\s+", " ", _NOISE.sub("", model)).strip() if model else "CPU unknown"


def spoken_site(site: Sequence[tuple[str, int]]) -> str:
    """`GPU 1, node 1`, or the site's own names where it has others."""
    names = {"gpu": "GPU", "numa": "node"}
    return ", ".join(f"{names.get(name, name.replace('_', ' '))} {value}" for name, value in site)


def between(result: Result) -> str:
    """What stands between the GPUs and the host's memory: a virtual machine, an IOMMU, or neither."""
    kernel = result.environment.raw.get("kernel") or {}
    iommu = _iommu(result.environment.raw.get("gpus") or [], kernel)
    virtual = kernel.get("virtual_machine")
    if virtual:
        hypervisor = f" ({kernel['hypervisor']})" if kernel.get("hypervisor") else ""
        return (
            f"In a virtual machine{hypervisor}: whether the host's IOMMU translates addresses, too, "
            f"cannot be seen from inside; {iommu} in the guest."
        )
    where = "On bare metal" if virtual is False else "Whether this is a virtual machine is unknown"
    return f"{where}; {iommu}."


def _iommu(found: Sequence[Mapping[str, Any]], kernel: Mapping[str, Any]) -> str:
    kinds = sorted({str(gpu["iommu"]) for gpu in found if gpu.get("iommu")})
    if any(kind.startswith("DMA") for kind in kinds):
        return f"an IOMMU translates the GPUs' addresses ({', '.join(kinds)})"
    if kinds:
        return f"the IOMMU lets the GPUs' addresses through ({', '.join(kinds)})"
    if kernel.get("iommu_units") == []:
        return "no IOMMU shows"
    return "whether an IOMMU translates is unknown"


def _label(result: Result) -> str:
    name = gpus(result) or cpu(result)
    return f"{name} ({result.host})" if result.host else name


def _date(result: Result) -> str:
    return result.date[:10]


def _files(results: Sequence[Result]) -> list[str]:
    """As much of the end of each path as tells them apart."""
    paths = [result.path.parts for result in results]
    for parts in range(1, max(map(len, paths), default=0)):
        ends = ["/".join(path[-parts:]) for path in paths]
        if len(set(ends)) == len(ends):
            return ends
    return [str(result.path) for result in results]


def letter(index: int) -> str:
    """What stands for a file among those shown together: A, B, …, and numbers beyond Z."""
    return ascii_uppercase[index] if index < len(ascii_uppercase) else f"{index + 1}"


def concerns(result: Result) -> Iterator[Concern]:
    """What can spoil numbers: what the machine report says, and what a hypervisor took meanwhile."""
    yield from result.environment.warnings
    told = [row for row in result.rows if row.stolen_s is not None and row.visit_s]
    stolen = math.fsum(row.stolen_s for row in told)
    measured = math.fsum(row.visit_s for row in told)
    if stolen > STOLEN_CPUS * measured:
        yield Concern(
            id="stolen_time",
            severity="warning",
            finding=f"the hypervisor took {stolen:.3g} s of the CPUs' time in {measured:.3g} s of measuring",
            effect="rows in which the CPUs have a part are slower than the hardware, and vary; "
            "those of several threads most",
            remedy="measure again when the host has less to do, or on a host of one's own; `stolen_s` says "
            "which rows were hit",
        )


@dataclass(frozen=True)
class Cache:
    """A data or unified cache of the CPU."""

    level: int
    bytes: int


def caches(result: Result) -> list[Cache]:
    """Data and unified caches, once for each level and size, smallest first."""
    listed = result.environment.cpu["caches"]
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    data = [one for one in found if str(one.get("type", "")).lower() != "instruction"]
    sizes = [(one.get("level"), one.get("bytes")) for one in data]
    known = [
        size for size in sizes if all(type(part) is int for part in size) and 0 < size[1] <= LARGEST_CACHE
    ]
    return [Cache(*size) for size in sorted(set(known))]
