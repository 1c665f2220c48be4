"""What rules say of the node: its CPUs' governor, and of each GPU clocks, link and memory.

The machine report tells the run's start; `state` of a visit is what was read around it: `governor`,
`cpu_mhz`, `gpu_sm_mhz`, `gpu_memory_mhz`, `throttle` (a list), `link_generation`, `link_width`, `ecc_errors`,
each where the machine tells. What it does not tell, as many virtual machines, is not decided where rules name
it, and else said and accepted.

Each GPU is judged by itself. A state is of the worst of the GPUs at the site of its row, so a clock is that
of rows of one GPU alone as far as there are any, and what is wrong at two may be of either.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median_low
from typing import Any, NamedTuple

from grainscope_report.acceptance.rules import POWERSAVE, NodeRules
from grainscope_report.machine import concerns
from grainscope_report.model import Result
from grainscope_report.units import some

PERFORMANCE = "sudo cpupower frequency-set --governor performance"
THROTTLED = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"
LINKED = "sudo lspci -vv | grep -e LnkCap: -e LnkSta:"
NVLINKED = "nvidia-smi nvlink --status"
MEMORY = "nvidia-smi -q -d ECC,ROW_REMAPPER"
OF_CPUS = ("governor", "cpu_mhz")
SPEEDS = "cpupower frequency-info"
CLOCKS = {"gpu_sm_mhz": "The GPU's clock", "gpu_memory_mhz": "The clock of the GPU's memory"}
WHY_HELD = {
    "gpu_idle": "the GPU had nothing to do when it was read",
    "applications_clocks_setting": "someone set its clocks (nvidia-smi -ac or -lgc)",
    "sw_power_cap": "the GPU is at its power limit",
    "hw_slowdown": "the GPU is too hot, or the node's power supply holds it down",
    "sync_boost": "it keeps the clocks of another GPU (sync boost)",
    "sw_thermal_slowdown": "the GPU or its memory is too hot: fans, airflow or the room",
    "hw_thermal_slowdown": "the GPU is far too hot: fans, airflow or the room",
    "hw_power_brake_slowdown": "the node's power supply asks it for less power",
    "display_clock_setting": "a display holds its clocks",
    "board_limit": "the board is at its limit of power or voltage",
    "reliability": "the GPU's voltage is at its limit",
}
IDLE = "gpu_idle"
CLOCKS_SET = "its clocks were set or capped, or it had nothing to do when they were read"
SLOT = "the card or its riser sits badly, or the slot and the firmware's settings allow no more"
NAMED = 6  # GPUs that are named in a sentence
# Of whom a reading is: the GPUs of a row's site, the one that the row is of first; of some rows none is told.
Gpus = tuple[int, ...]


class Verdict(NamedTuple):
    """What became of a rule about the node: `wrong` is None where the machine does not tell.

    `untold` are GPUs of which it does not, and `look` is the command that may.
    """

    id: str
    text: str
    wrong: str | None
    limits: str
    cause: str
    next: str
    untold: str = ""

    @property
    def look(self) -> str:
        """The command by which a person sees what the file does not tell."""
        return SPEEDS if self.id in OF_CPUS else self.next


class Reading(NamedTuple):
    """What was read around a visit, or of a GPU in the machine report, as a state has it."""

    gpus: Gpus
    state: Mapping[str, Any]


def verdicts(result: Result, rules: NodeRules) -> Iterator[Verdict]:
    """What the rules say of the node."""
    read, count = _readings(result), len(result.environment.gpu_names)
    warned = {concern.id: concern.finding for concern in concerns(result)}
    yield _governor(result, rules)
    if rules.throttle:
        yield _throttle(_reported(result) + read, rules.throttle, count)
    if rules.cpu_mhz is not None:
        yield _cpu_clock(result, [one.state for one in read], rules.cpu_mhz, warned)
    for key, text in CLOCKS.items():
        if (least := getattr(rules, key)) is not None:
            yield _gpu_clock(key, text, read, least, count, warned)
    for key, what in (("link_generation", "generation"), ("link_width", "width")):
        if (least := getattr(rules, key)) is not None:
            links = [(link.gpu, getattr(link, what)) for link in result.links if link.peer is None]
            found = [((gpu,), value) for gpu, value in links if value is not None] + _told(read, key)
            low = {gpus: f"it was {min(few):g}" for gpus, few in _blamed(found, lambda one: one < least)}
            cause = "; ".join(warned[one] for one in EXPLAIN[key] if one in warned) or SLOT
            text = f"The {what} of the GPUs' links under load"
            told = [gpus for gpus, _ in found]
            yield _verdict(key, text, low, told, f"at least {least}", cause, LINKED, count)
    if rules.ecc is not None:
        words = {True: "on", False: "off"}
        modes = [((number,), mode) for number, gpu in gpus_of(result) if (mode := _ecc(gpu)) is not None]
        off = {gpus: f"it is {words[not rules.ecc]}" for gpus, mode in modes if mode != rules.ecc}
        cause = f"someone switched it {words[not rules.ecc]}, or it came that way"
        text = "ECC of the GPUs' memory"
        told = [gpus for gpus, _ in modes]
        yield _verdict("ecc", text, off, told, words[rules.ecc], cause, MEMORY, count)
    if (most := rules.ecc_errors) is not None:
        found = _told(read, "ecc_errors")
        errors = {gpus: f"there were {max(few):g}" for gpus, few in _blamed(found, lambda one: one > most)}
        cause = "memory of the GPU fails, if their number grows"
        text = "Memory errors of the GPUs"
        told = [gpus for gpus, _ in found]
        yield _verdict("ecc_errors", text, errors, told, f"at most {most}", cause, MEMORY, count)


# Findings of the machine report that explain a value, and are more than the value itself.
EXPLAIN = {
    "cpu_mhz": ("cpu.frequency_cap",),
    "gpu_sm_mhz": ("gpu.slowdown", "gpu.clocks", "gpu.clocks_set"),
    "gpu_memory_mhz": ("gpu.slowdown", "gpu.clocks", "gpu.clocks_set"),
    "link_generation": ("gpu.link_generation", "gpu.slot_generation"),
    "link_width": ("gpu.link_width",),
}


def _verdict(
    name: str,
    text: str,
    wrong: Mapping[Gpus, str],
    told: Iterable[Gpus],
    limits: str,
    cause: str,
    then: str,
    count: int,
) -> Verdict:
    """With what is wrong at which GPU, where there are several, and of which nothing is told."""
    read = set(told)
    if not read:
        return Verdict(name, text, None, limits, "", then)
    said = [f"{_name(gpus)}{one.removeprefix('the ')}" if count > 1 else one for gpus, one in wrong.items()]
    seen = {gpu for gpus in read for gpu in gpus}
    # A reading that names no GPU may be of any.
    untold = [f"GPU {gpu}" for gpu in range(count) if gpu not in seen and () not in read]
    return Verdict(name, text, some(said, NAMED), limits, cause, then, some(untold, NAMED))


def _name(gpus: Gpus) -> str:
    return f"{' or '.join(f'GPU {gpu}' for gpu in gpus)}: " if gpus else ""


def _governor(result: Result, rules: NodeRules) -> Verdict:
    accepted = rules.governors
    limits = f"one of {', '.join(accepted)}" if accepted else f"not {POWERSAVE}"
    found = governors(result)
    wrong = [name for name in found if (name not in accepted if accepted else name == POWERSAVE)]
    said = f"the governor is {', '.join(wrong)}" if wrong else ""
    cause = "the system's default, or a power profile (tuned, power-profiles-daemon)"
    text = "The CPUs' frequency governor"
    return Verdict("governor", text, said if found else None, limits, cause, PERFORMANCE)


def _throttle(read: Sequence[Reading], asked: Sequence[str], count: int) -> Verdict:
    found = _reasons(read)
    held: dict[Gpus, list[str]] = defaultdict(list)
    causes = []
    for name in asked:
        for gpus, few in _blamed(found, lambda one, name=name: one == name):
            held[gpus].append(f"{name} ({len(few)})")
            causes.append(_why_held(name))
    wrong = {gpus: f"clocks were held down: {', '.join(few)}" for gpus, few in sorted(held.items())}
    told = [one.gpus for one in read if isinstance(one.state.get("throttle"), list)]
    text, limits = "What must not hold the GPU's clocks down", f"none of {', '.join(asked)}"
    cause = "; ".join(dict.fromkeys(causes))
    return _verdict("throttle", text, wrong, told, limits, cause, THROTTLED, count)


def _why_held(name: str) -> str:
    return WHY_HELD.get(name, f"the driver's reason {name}, which has no name yet")


def _cpu_clock(
    result: Result, states: Sequence[Mapping[str, Any]], least: float, warned: Mapping[str, str]
) -> Verdict:
    read = numbers(states, "cpu_mhz")
    slow = "the CPUs' governor is powersave" if POWERSAVE in governors(result) else ""
    capped = [warned[one] for one in EXPLAIN["cpu_mhz"] if one in warned]
    cause = slow or "; ".join(capped) or "a cap on the CPUs' frequency, heat, or a power profile of the host"
    said = _middle(read, least) if read else None
    return Verdict("cpu_mhz", "The CPU's clock", said, f"at least {least:g} MHz", cause, PERFORMANCE)


def _gpu_clock(
    key: str, text: str, read: Sequence[Reading], least: float, count: int, warned: Mapping[str, str]
) -> Verdict:
    by_gpu = _by_gpu(_told(read, key))
    wrong = {gpus: said for gpus, few in by_gpu.items() if (said := _middle(few, least))}
    slow = {gpu for gpus in wrong for gpu in gpus}
    held = Counter(name for gpus, name in _reasons(read) if name != IDLE and (slow & {*gpus} or not gpus))
    found = [f"clocks were held down ({name}): {_why_held(name)}" for name, _ in held.most_common(2)]
    found = found or [warned[one] for one in EXPLAIN[key] if one in warned]
    limits, cause = f"at least {least:g} MHz", "; ".join(found) or CLOCKS_SET
    return _verdict(key, text, wrong, by_gpu, limits, cause, THROTTLED, count)


def _middle(read: Sequence[float], least: float) -> str:
    """What is wrong with the middle one of these readings, if so."""
    middle = median_low(read)
    return f"the middle of {len(read)} readings is {middle:g} MHz" if middle < least else ""


def _readings(result: Result) -> list[Reading]:
    """Those around visits, of the GPUs of the row's site."""
    found = []
    for row in result.rows:
        gpus = tuple(row.case.site[name] for name in ("gpu", "peer") if name in row.case.site)
        found += [Reading(gpus, visit.state) for visit in row.visits if visit.state]
    return found


def _reported(result: Result) -> list[Reading]:
    """The reasons that the machine report has, as states have them."""
    told = ((number, gpu.get("nvml")) for number, gpu in gpus_of(result))
    return [
        Reading((number,), {"throttle": nvml.get("clock_event_reasons")})
        for number, nvml in told
        if isinstance(nvml, Mapping)
    ]


def gpus_of(result: Result) -> list[tuple[int, Mapping[str, Any]]]:
    """What the report says of each GPU, with its number: CUDA's, else its place."""
    gpus = result.environment.gpus
    told = [cuda.get("ordinal") if isinstance(cuda := gpu.get("cuda"), Mapping) else None for gpu in gpus]
    return [(at if type(told[at]) is not int else told[at], gpu) for at, gpu in enumerate(gpus)]


def _told(read: Iterable[Reading], key: str) -> list[tuple[Gpus, float]]:
    return [(one.gpus, value) for one in read for value in numbers([one.state], key)]


def _reasons(read: Iterable[Reading]) -> list[tuple[Gpus, str]]:
    """Every reason for clocks that are held down that was read."""
    lists = [(one.gpus, one.state.get("throttle")) for one in read]
    return [(gpus, str(name)) for gpus, names in lists if isinstance(names, list) for name in names]


def _by_gpu(told: Iterable[tuple[Gpus, float]]) -> dict[Gpus, list[float]]:
    """Of each GPU what was read around rows of it alone; without such, around those that are of it first."""
    near: dict[Gpus, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for gpus, value in told:
        for at, gpu in enumerate(gpus):
            near[gpu,][0 if len(gpus) == 1 else 1 + at].append(value)
        if not gpus:
            near[()][0].append(value)
    return {gpus: by_rank[min(by_rank)] for gpus, by_rank in sorted(near.items())}


def _blamed(told: Iterable[tuple[Gpus, Any]], is_wrong: Callable[[Any], bool]) -> list[tuple[Gpus, list]]:
    """What is wrong, by GPU; what was read at two is of the one that has it alone, too, if one has."""
    wrong = [(gpus, value) for gpus, value in told if is_wrong(value)]
    alone = {gpus[0] for gpus, _ in wrong if len(gpus) == 1}
    found: dict[Gpus, list] = defaultdict(list)
    for gpus, value in wrong:
        mine = next(((gpu,) for gpu in gpus if gpu in alone), tuple(sorted(gpus)))
        found[mine].append(value)
    return sorted(found.items())


def governors(result: Result) -> list[str]:
    """The governors of the CPUs, each once; empty where the machine does not tell."""
    policies = result.environment.cpu.get("frequency_policies")
    told = (
        [policy.get("governor") for policy in policies if isinstance(policy, Mapping)]
        if isinstance(policies, list)
        else []
    )
    told += [visit.state.get("governor") for row in result.rows for visit in row.visits]
    return list(dict.fromkeys(one for one in told if isinstance(one, str) and one))


def _ecc(gpu: Mapping[str, Any]) -> bool | None:
    for part, name in (("nvml", "ecc"), ("cuda", "ecc_enabled")):
        told = gpu.get(part)
        if isinstance(told, Mapping) and isinstance(told.get(name), bool):
            return told[name]
    return None


def numbers(states: Iterable[Mapping[str, Any]], key: str) -> list[float]:
    """What these states tell of a key, where it is a number."""
    told = (state.get(key) for state in states)
    return [one for one in told if isinstance(one, (int, float)) and not isinstance(one, bool)]
