"""What may be the cause of a failure, as far as the file tells, and what to do about it.

A value beyond a limit may be explained by what was read around its row and by the machine report; a row that
is not there by its reason, by how the run was started, and by how it ended.
"""

from collections.abc import Collection
from typing import NamedTuple

from grainscope_report.acceptance import node_rules
from grainscope_report.acceptance.rules import LINK, POWERSAVE, REFERENCE, THEORETICAL, Rule
from grainscope_report.loading import JOURNAL, RESULT, quoted
from grainscope_report.machine import LONGEST_FILTER, concerns, short_commit
from grainscope_report.model import Result, Row
from grainscope_report.units import cut, plural

TICKS_S = 0.025
# CPUs that others took during a row: from so many on that may be why it is worse.
STOLEN_CPUS = 0.05
HELD_DOWN = ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
# Findings that can make a number worse, the likeliest first; what a machine merely is, none explains.
EXPLAIN = (
    "build", "gpu.link_generation", "gpu.link_width", "gpu.slowdown", "gpu.slot_generation",
    "gpu.pcie_replays", "driver.confidential_computing", "gpu.processes", "stolen_time", "load.average",
    "load.cpu_pressure", "load.memory_pressure", "cpu.governor", "cpu.frequency_cap", "cpu.quota",
    "gpu.clocks", "gpu.clocks_set", "memory.numa_balancing", "kernel.iommu", "memory.transparent_huge",
    "memory.nodes_unknown", "gpu.node_unknown", "kernel.clock_source", "gpu.mig",
)  # fmt: skip
NVLINKS = "nvlinks"
NEGOTIATED = ("generation", "width", NVLINKS)  # metrics of a link that are set before anything is measured
CONFINED = "a container or a batch system keeps the run on the memory of one node (`cpuset.mems`)"
# Flags by which a run of a whole preset may lack its cases, a GPU, a node, or visits.
OF_CASES = ("--min-bytes", "--max-bytes", "--graph", "--gpu-memory", "--transfer", "--gpu", "--numa")
OF_GPUS, OF_NODES, OF_VISITS = ("--gpu",), ("--numa",), ("--benchmark_repetitions",)
NOTHING = "nothing in the file tells"
NO_REASON = "the row gives no reason"
# Why a run stopped, by words of what it says of that.
STOPPED = {
    "--max-time": "the cases take longer than that",
    "interrupted by signal 2": "somebody pressed Ctrl-C",
    "interrupted by signal": "a batch system's time limit, or `kill`",
    "ended by signal 9": "memory ran out (`dmesg` names the process), or `kill -9`",
    "ended by signal": "a crash: the last case in the journal is where it happened",
    "GPU was lost": "a fault of the GPU (Xid in `dmesg`), or an illegal access of the case",
    "rank was lost": "another rank of the run ended, or its network did",
    "No space left": "the disk is full (`df -h`)",
}
# Where severe warnings of the machine report come from, by their names.
WARNED = {
    "build": "cmake was run with another build type than Release, or with a compiler's checks",
    "gpu.link_width": node_rules.SLOT,
    "gpu.link_generation": node_rules.SLOT,
    "gpu.slowdown": "too little cooling or power",
    "gpu.compute_mode": "somebody set it",
    "driver.confidential_computing": "the host was set up so",
}


class Cause(NamedTuple):
    """What may explain a failure, and what to do about it."""

    said: str
    next: str


def why_stopped(why: str) -> str:
    """Why a run ended before its end, by what it says of that."""
    known = next((cause for words, cause in STOPPED.items() if words in why), "")
    return known or f"{NOTHING} beyond that: see the terminal that it wrote to, and its journal"


def resume(result: Result) -> str:
    """The command that goes on with a run."""
    folder = result.path.parent
    here = result.path.name == RESULT and (folder / JOURNAL).is_file()
    return f"grainscope --resume {quoted(folder) if here else 'DIR'}"


def listed(result: Result, status: str) -> str:
    """The command that shows all rows of a status, with their reasons."""
    return f"grainscope-report list {quoted(result.path)} --status {status}"


def started_with(result: Result, names: tuple[str, ...], axes: Collection[str] = ()) -> str:
    """The flags of these names that a run was started with, and those that set one of these axes."""
    found = []
    for flag in result.run.flags:
        name, _, value = flag.partition("=")
        if (name in names and value != "all") or (name == "--axis" and value.partition("=")[0] in axes):
            found.append(flag)
    return " ".join(found)


def of_visits(result: Result) -> str:
    """Why a run came to its cases less often than was asked."""
    if flag := started_with(result, OF_VISITS):
        return f"the run was started with {flag}"
    return f"{result.run.preset} comes to each case {plural(result.run.visits, 'time')} by itself"


def of_part(result: Result) -> str:
    """Why a run is not the preset that was asked for, or not all of it."""
    flags = " ".join(cut(flag, LONGEST_FILTER) for flag in result.run.flags)
    return f"the run was started so{f': {flags}' if flags else ''}"


def of_nowhere(result: Result, names: tuple[str, ...], axes: Collection[str] = ()) -> Cause:
    """Why a whole run has no row or link; flags of these names and axes may be why."""
    if not result.run.complete:
        return Cause(f"the run ended before it came to it: {result.run.why_incomplete}", resume(result))
    if flags := started_with(result, names, axes):
        return Cause(f"the run was started with {flags}", "")
    version = f"version {result.version}, commit {short_commit(result)}"
    said = f"{NOTHING}: the suite that measured ({version}) may have no such case for this machine"
    return Cause(said, f"grainscope --preset {result.run.preset} --benchmark_list_tests")


def of_hidden(result: Result) -> Cause | None:
    """Why a GPU of the machine has no row or link, where CUDA did not show it to the run."""
    found = [concern for concern in concerns(result) if concern.id == "gpu.hidden"]
    return Cause(found[0].finding, found[0].remedy) if found and result.run.complete else None


def of_one_node(result: Result) -> str:
    """Why GPUs were measured with the memory of one node alone, or not with that of the nearest."""
    flags = started_with(result, OF_NODES)
    return f"the run was started with {flags}" if flags else CONFINED


def of_nothing(result: Result, rule: Rule, row: Row | None) -> Cause:
    """Why a row or a link has no value."""
    if row and not row.ok:
        return Cause(row.reason or NO_REASON, listed(result, row.status))
    if rule.metric == NVLINKS:
        return Cause("the machine did not tell how many NVLinks joined the two", node_rules.NVLINKED)
    if row is None or rule.relative_to == THEORETICAL:
        said = "the machine did not tell the link's generation and width while it carried a copy"
        return Cause(said, node_rules.LINKED)
    if rule.relative_to == LINK:
        there = result.link(row.case.ends)
        said = "the row is of more than this link" if there else "no copy peak of that link was measured"
        return Cause(said, "")
    if rule.relative_to == REFERENCE:
        said = "the reference is of another preset, of a part of it, or of another version of the suite"
        return Cause(said, "on the reference, too, measure all that the rules ask for")
    said = f"rows of {row.case.family} have no {rule.metric}, or this machine does not count it"
    return Cause(said, f"grainscope --explain={row.case.family}")


def of_negotiated(result: Result, metric: str) -> Cause:
    """Why a link has less of `NEGOTIATED` than it should: what else the machine does has no part in that."""
    if metric == NVLINKS:
        return Cause(
            "an NVLink of one of the GPUs, or of the switch between them, is down", node_rules.NVLINKED
        )
    warned = {concern.id: concern for concern in concerns(result)}
    known = [warned[name] for name in node_rules.EXPLAIN[f"link_{metric}"] if name in warned]
    said = "; ".join(concern.finding for concern in known) or node_rules.SLOT
    return Cause(said, known[0].remedy if known else node_rules.LINKED)


def of_missing_visits(result: Result) -> Cause:
    """Why a row has fewer visits than the run was to come to."""
    if not result.run.complete:
        return Cause(f"the run ended before them: {result.run.why_incomplete}", resume(result))
    return Cause(f"{NOTHING}: the run says that it is complete", "")


def of_value(result: Result, row: Row | None) -> list[Cause]:
    """What in the file may explain that a row, or a link, is worse than it should be: the likeliest first."""
    states = [visit.state for visit in row.visits] if row else []
    warned = {concern.id: concern for concern in concerns(result)}
    found = []
    lists = (state.get("throttle") for state in states)
    held = {name for one in lists if isinstance(one, list) for name in one if isinstance(name, str)}
    if hard := [name for name in HELD_DOWN if name in held]:
        found.append(
            Cause(f"the GPU's clocks were held down in this row: {', '.join(hard)}", node_rules.THROTTLED)
        )
    # A tick or two of 10 ms may be of any row.
    stolen = row.stolen_s or 0.0 if row else 0.0
    if stolen > TICKS_S and row.visit_s and stolen > STOLEN_CPUS * row.visit_s:
        said = f"neighbours: the hypervisor took {stolen:.2g} s in {row.visit_s:.2g} s of this row"
        found.append(Cause(said, "measure again when the host has less to do"))
        warned.pop("stolen_time", None)
    if row is None or (row.timing and row.timing.gated):
        # What CPUs lose leaves gated rows, and links by such copies, as long as they are.
        for name in ("stolen_time", "build"):
            warned.pop(name, None)
    if any(node_rules.numbers(states, "ecc_errors")):
        found.append(Cause("the GPU's memory had errors in this row", node_rules.MEMORY))
    if POWERSAVE in node_rules.governors(result) and "cpu.governor" not in warned:
        found.append(Cause("the CPUs' governor is powersave", node_rules.PERFORMANCE))
    found += [Cause(warned[name].finding, warned[name].remedy) for name in EXPLAIN if name in warned]
    if row and row.case.axes.get("locality") == "unknown":
        found.append(
            Cause("the memory's NUMA node is unknown: it may lie at another socket", "numactl --hardware")
        )
    return found
