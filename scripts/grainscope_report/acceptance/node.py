"""What a file tells of the node: governor, clocks, links, memory errors, and what may explain a failure.

The machine report is of the run's start; `state` of a visit is what was read around it: `governor`,
`cpu_mhz`, `gpu_sm_mhz`, `gpu_memory_mhz`, `throttle` (a list), `link_generation`, `link_width`, `ecc_errors`,
each where the machine tells. What it does not tell, as many virtual machines, is said and accepted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median_low
from typing import Any, NamedTuple

from grainscope_report.acceptance.rules import POWERSAVE, NodeRules
from grainscope_report.machine import STOLEN_CPUS, concerns
from grainscope_report.model import Row
from grainscope_report.result import Result

TICKS_S = 0.025
PERFORMANCE = "sudo cpupower frequency-set --governor performance"
THROTTLED = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"
LINKED = "sudo lspci -vv | grep -e LnkCap: -e LnkSta:"
MEMORY = "nvidia-smi -q -d ECC,ROW_REMAPPER"
CLOCKS = {
    "cpu_mhz": ("the CPU's clock", PERFORMANCE),
    "gpu_sm_mhz": ("the GPU's clock", THROTTLED),
    "gpu_memory_mhz": ("the clock of the GPU's memory", THROTTLED),
}
HELD_DOWN = ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
# Findings that can make a number worse, the likeliest first; what a machine merely is, none explains.
EXPLAIN = (
    "gpu.link_generation", "gpu.link_width", "gpu.slowdown", "gpu.slot_generation", "gpu.pcie_replays",
    "driver.confidential_computing", "gpu.processes", "stolen_time", "load.average", "load.cpu_pressure",
    "load.memory_pressure", "cpu.governor", "cpu.frequency_cap", "cpu.quota", "gpu.clocks", "gpu.clocks_set",
    "memory.numa_balancing", "kernel.iommu", "memory.transparent_huge", "memory.nodes_unknown",
    "gpu.node_unknown", "kernel.clock_source", "gpu.mig",
)  # fmt: skip


class Verdict(NamedTuple):
    """What became of a rule about the node: `wrong` is None where the machine does not tell."""

    id: str
    text: str
    wrong: str | None
    limits: str
    next: str


class Cause(NamedTuple):
    """What may explain a failure, and what to do about it."""

    said: str
    next: str


def judge(result: Result, rules: NodeRules) -> Iterator[Verdict]:
    """What the rules say of the node."""
    states = [visit.state for row in result.rows for visit in row.visits if visit.state]
    accepted = rules.governors
    limits = f"one of {', '.join(accepted)}" if accepted else f"not {POWERSAVE}"
    found = governors(result)
    wrong = [name for name in found if (name not in accepted if accepted else name == POWERSAVE)]
    said = f"the governor is {', '.join(wrong)}" if wrong else ""
    yield Verdict("governor", "The CPUs' frequency governor", said if found else None, limits, PERFORMANCE)
    if rules.throttle:
        known, held = throttled(result, states)
        reasons = [f"{name} ({held[name]})" for name in rules.throttle if name in held]
        said = f"clocks were held down: {', '.join(reasons)}" if reasons else ""
        text = "What must not hold the GPU's clocks down"
        yield Verdict(
            "throttle", text, said if known else None, f"none of {', '.join(rules.throttle)}", THROTTLED
        )
    for key, (what, then) in CLOCKS.items():
        if (least := getattr(rules, key)) is not None:
            read = _numbers(states, key)
            middle = median_low(read) if read else None
            said = f"the middle of {len(read)} readings is {middle:g} MHz" if read and middle < least else ""
            capital = what[0].upper() + what[1:]
            yield Verdict(key, capital, said if read else None, f"at least {least:g} MHz", then)
    for key, what in (("link_generation", "generation"), ("link_width", "width")):
        if (least := getattr(rules, key)) is not None:
            links = (getattr(link, what) for link in result.links if link.peer is None)
            read = [one for one in links if one is not None] + _numbers(states, key)
            said = f"it was {min(read):g}" if read and min(read) < least else ""
            text = f"The {what} of the GPUs' links under load"
            yield Verdict(key, text, said if read else None, f"at least {least}", LINKED)
    if rules.ecc is not None:
        modes = [mode for gpu in result.environment.gpus if (mode := _ecc(gpu)) is not None]
        words = {True: "on", False: "off"}
        said = f"it is {words[not rules.ecc]}" if (not rules.ecc) in modes else ""
        text = "ECC of the GPUs' memory"
        yield Verdict("ecc", text, said if modes else None, words[rules.ecc], MEMORY)
    if rules.ecc_errors is not None:
        read = _numbers(states, "ecc_errors")
        said = f"there were {max(read):g}" if read and max(read) > rules.ecc_errors else ""
        text = "Memory errors of the GPUs"
        yield Verdict("ecc_errors", text, said if read else None, f"at most {rules.ecc_errors}", MEMORY)


def causes(result: Result, row: Row | None) -> list[Cause]:
    """What in the file may explain that a row, or a link, is worse than it should be: the likeliest first."""
    states = [visit.state for visit in row.visits] if row else []
    warned = {one.id: one for one in concerns(result)}
    found = []
    _, held = throttled(result, states, report=False)
    if hard := [name for name in HELD_DOWN if name in held]:
        found.append(Cause(f"the GPU's clocks were held down in this row: {', '.join(hard)}", THROTTLED))
    # A tick or two of 10 ms may be of any row.
    stolen = row.stolen_s or 0.0 if row else 0.0
    if stolen > TICKS_S and row.visit_s and stolen > STOLEN_CPUS * row.visit_s:
        said = f"neighbours: the hypervisor took {stolen:.2g} s in {row.visit_s:.2g} s of this row"
        found.append(Cause(said, "measure again when the host has less to do"))
        warned.pop("stolen_time", None)
    if any(_numbers(states, "ecc_errors")):
        found.append(Cause("the GPU's memory had errors in this row", MEMORY))
    if POWERSAVE in governors(result) and "cpu.governor" not in warned:
        found.append(Cause("the CPUs' governor is powersave", PERFORMANCE))
    found += [Cause(warned[name].finding, warned[name].remedy) for name in EXPLAIN if name in warned]
    if row and row.case.axes.get("locality") == "unknown":
        found.append(
            Cause("the memory's NUMA node is unknown: it may lie at another socket", "numactl --hardware")
        )
    return found


def governors(result: Result) -> list[str]:
    """The governors of the CPUs, each once; empty where the machine does not tell."""
    policies = result.environment.cpu.get("frequency_policies")
    told = (
        [one.get("governor") for one in policies if isinstance(one, Mapping)]
        if isinstance(policies, list)
        else []
    )
    told += [visit.state.get("governor") for row in result.rows for visit in row.visits]
    return list(dict.fromkeys(one for one in told if isinstance(one, str) and one))


def throttled(
    result: Result, states: Sequence[Mapping[str, Any]], report: bool = True
) -> tuple[bool, Counter]:
    """Whether the reasons that hold clocks down are known, and how often each was read."""
    nvml = [gpu.get("nvml") for gpu in result.environment.gpus] if report else []
    lists = [one.get("clock_event_reasons") for one in nvml if isinstance(one, Mapping)]
    lists = [one for one in [*lists, *(state.get("throttle") for state in states)] if isinstance(one, list)]
    return bool(lists), Counter(str(name) for one in lists for name in one)


def _ecc(gpu: Mapping[str, Any]) -> bool | None:
    for part, name in (("nvml", "ecc"), ("cuda", "ecc_enabled")):
        told = gpu.get(part)
        if isinstance(told, Mapping) and isinstance(told.get(name), bool):
            return told[name]
    return None


def _numbers(states: Sequence[Mapping[str, Any]], key: str) -> list[float]:
    told = (state.get(key) for state in states)
    return [one for one in told if isinstance(one, (int, float)) and not isinstance(one, bool)]
