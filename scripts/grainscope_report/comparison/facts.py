"""A run's environment as flat facts, and in what two of them differ."""

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Facts = Mapping[str, str]

# What tells one moment or one board from another, and not one machine's kind from another's.
PASSING = (
    "run.id", "run.started", "run.ended", "run.wall_s", "run.counts.*", "run.complete", "run.why_incomplete",
    "host", "load.*", "*.uuid", "*.serial", "*pci_bus_id", "memory.available*", "memory.nodes*.free*",
    "*_usage_bytes", "*memory_used_bytes", "*clock_mhz", "*clock_event_reasons*", "*.temperature*",
    "*.power*_w", "*throttle*", "memory.*free*", "run.seed",
)  # fmt: skip
# What decides most numbers comes first, in this order.
FIRST = (
    "gpus.count", "gpus.name", "cpu.model", "cpu.sockets", "cpu.cores", "memory.nodes*", "driver.version",
    "grainscope.*", "run.preset", "run.filter", "run.flags", "links*", "kernel.*", "gpus.nvml.link*",
    "warnings", "driver.*", "cpu.frequency*", "cpu.*", "memory.*", "gpus.*",
)  # fmt: skip

# What is known to move times, and the facts that tell it.
CAUSES = {
    "GPU model": ("gpus.name", "gpus.count"),
    "GPU firmware": ("*vbios*", "*firmware*"),
    "GPU clocks": ("gpus.nvml.*clock_max_mhz", "gpus.cuda.memory_clock_hz"),
    "GPU power limit": ("gpus.nvml.power_limit_mw",),
    "GPU ECC": ("gpus.nvml.ecc",),
    "link": ("links.*", "gpus.nvml.*link_*_max"),
    "driver": ("driver.version", "driver.open_kernel_module", "driver.confidential_computing"),
    "CUDA": ("driver.cuda_*",),
    "the suite": ("grainscope.*",),
    "CPU model": ("cpu.model", "cpu.cores", "cpu.sockets", "cpu.smt_active"),
    "microcode": ("cpu.microcode",),
    "CPU clocks and governor": ("cpu.frequency*", "cpu.boost", "cpu.pstate*"),
    "kernel": ("kernel.release", "kernel.clock_source", "kernel.iommu*", "gpus.iommu"),
    "hypervisor": ("kernel.virtual_machine", "kernel.hypervisor"),
    "huge pages": ("memory.transparent_huge*", "memory.huge_pages*"),
    "NUMA balancing": ("memory.numa_balancing",),
}


@dataclass(frozen=True)
class Difference:
    """A fact that two runs do not share; None where a run does not have it."""

    fact: str
    base: str | None
    new: str | None

    @property
    def cause(self) -> str | None:
        """What it is about, where that is known to move times."""
        return next((what for what, patterns in CAUSES.items() if _is(self.fact, patterns)), None)


def facts(context: Mapping[str, Any]) -> dict[str, str]:
    """Every fact of a result's context, each under its path: `gpus.cuda.sm_count`.

    Of a list of objects a fact is one for all where they agree, else each one's in turn.
    """
    if "environment" not in context:
        return dict(_flat("", {key: value for key, value in context.items() if key != "date"}))
    environment = dict(context["environment"])
    environment["warnings"] = sorted(warning["id"] for warning in environment.get("warnings", ()))
    rest = {key: context[key] for key in ("grainscope", "run", "links") if key in context}
    rest["links"] = _links(rest.get("links", ()))
    return dict(_flat("", {"host": context.get("host_name"), **rest, **environment}))


def _links(links: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the links of each direction negotiated, once where they are alike."""
    found: dict[str, dict[str, None]] = {}
    for link in links:
        lanes = f"NVLink ×{link['nvlinks']}" if link.get("nvlinks") else ""
        if link.get("generation") and link.get("width"):
            lanes = f"PCIe {link['generation']} ×{link['width']}"
        most = f"{link['theoretical_gb_s']:g} GB/s" if link.get("theoretical_gb_s") else ""
        said = ", ".join(part for part in (lanes, most) if part) or "unknown"
        found.setdefault(str(link.get("direction")), {})[said] = None
    return {direction: "; ".join(kinds) for direction, kinds in found.items()}


def differences(base: Facts, new: Facts, passing: bool = False) -> list[Difference]:
    """The facts that differ, those that decide most numbers first; what passes only where asked for."""
    names = base.keys() | new.keys()
    found = [
        Difference(name, base.get(name), new.get(name))
        for name in names
        if base.get(name) != new.get(name) and (passing or not _is(name, PASSING))
    ]
    return sorted(found, key=lambda one: (_rank(one.fact), one.fact))


def _is(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _rank(name: str) -> int:
    return next((at for at, pattern in enumerate(FIRST) if fnmatch.fnmatchcase(name, pattern)), len(FIRST))


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(f"{path}.{key}" if path else str(key), item)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield f"{path}.count", str(len(value))
        parts = [dict(_flat("", item)) for item in value]
        for key in dict.fromkeys(key for part in parts for key in part):
            there = [part.get(key, "-") for part in parts]
            yield f"{path}.{key}", there[0] if len(set(there)) == 1 else ", ".join(there)
    elif value is not None:
        yield path, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        cpus = value and all(type(item) is int for item in value)
        return _ranges(value) if cpus else ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _ranges(numbers: Sequence[int]) -> str:
    """`0-15, 32`: a list of CPUs as people write it."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
