"""A run's machine as people know it: a letter, a label, provenance, links, concerns; and in what two differ.

The environment is also a list of flat facts, each under its path: `gpus.cuda.sm_count`.
"""

import fnmatch
import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from grainscope_report import metrics
from grainscope_report.model import Concern, Ends, Link, Result, Row, Run
from grainscope_report.statistics import median
from grainscope_report.uncertainty import CROWDED_CPUS, SHARED_CPUS, data_caches, kind_of, line_ns
from grainscope_report.units import (
    cut,
    format_bytes,
    format_duration,
    format_interval,
    format_percent,
    plural,
)

# Visits that took so many times a run's time were not all of its last part.
SEVERAL_PARTS = 1.01
LONGEST_FILTER = 70  # letters of one that are shown
_NOISE = re.compile(r"\((?:R|TM)\)|\s+CPU\b|\s+Processor\b|@.*$|\b\d+-Core\b")
LINK_NAMES = ("link", "copy peak GB/s", "95 % interval", "at", "theoretical GB/s", "reached", "negotiated")
LINK_RIGHT = (False, True, False, True, True, True, False)
# How the suite words a limit.
LOADS = re.compile(
    r"(\d+) (?:CPU thread\(s\)|multiprocessors), (\d+) bytes a cycle at (\d+) GHz"
    r"(?: each(?:, of (\d+) GPUs)?)?"
)
LINKS = re.compile(
    r"(?:(?P<times>\d+) times )?(?P<link>PCIe \S+ x\d+|\d+ NVLinks)(?: before packet headers| of a GPU)?"
    r"(?:, on each of (?P<gpus>\d+) GPUs)?"
)
Facts = Mapping[str, str]
# What tells one moment or one board from another, and not one machine's kind from another's.
PASSING = (
    "run.id", "run.started", "run.ended", "run.wall_s", "run.counts.*", "run.complete", "run.why_incomplete",
    "host", "load.*", "*.uuid", "*.serial", "*pci_bus_id", "memory.available*", "memory.nodes*.free*",
    "*_usage_bytes", "*memory_used_bytes", "*clock_mhz", "*clock_event_reasons*", "*.temperature*",
    "*.power*_w", "*throttle*", "memory.*free*", "memory.huge_pages.reserved", "*_now_khz",
    "run.seed",
)  # fmt: skip
# What decides most numbers comes first, in this order.
FIRST = (
    "gpus.count", "gpus.name", "cpu.model", "visits.*", "cpu.sockets", "cpu.cores", "memory.nodes*",
    "driver.version", "grainscope.*", "run.preset", "run.filter", "run.flags", "links*", "kernel.*",
    "gpus.nvml.link*", "warnings", "driver.*", "cpu.frequency*", "cpu.*", "memory.*", "gpus.*",
)  # fmt: skip
HELD_DOWN, NOTHING = "visits.held_down", "nothing"
# What is known to move times, and the facts that tell it.
CAUSES = {
    "what held clocks down": (HELD_DOWN,),
    "GPU clock while measured": ("visits.gpu_sm_mhz",),
    "GPU memory clock while measured": ("visits.gpu_memory_mhz",),
    "CPU clock while measured": ("visits.cpu_mhz",),
    "GPUs": ("gpus.count",),
    "GPU model": ("gpus.name",),
    "GPU firmware": ("*vbios*", "*firmware*"),
    "GPU memory clock": ("gpus.nvml.memory_clock_max_mhz", "gpus.cuda.memory_clock_hz"),
    "GPU clocks": ("gpus.nvml.*clock_max_mhz",),
    "GPU power limit": ("gpus.nvml.power_limit_mw",),
    "GPU ECC": ("gpus.nvml.ecc",),
    "link": ("links.*", "gpus.nvml.*link_*_max"),
    "driver": ("driver.version", "driver.open_kernel_module", "driver.confidential_computing"),
    "CUDA": ("driver.cuda_*",),
    "the suite": ("grainscope.version", "grainscope.commit", "grainscope.compiler", "grainscope.cuda"),
    "Google Benchmark": ("grainscope.benchmark_library",),
    "CPU model": ("cpu.model",),
    "CPU caches": ("cpu.caches.*",),
    "CPU cores": ("cpu.cores",),
    "CPU sockets": ("cpu.sockets",),
    "hardware threads": ("cpu.smt_active",),
    "microcode": ("cpu.microcode",),
    "CPU clocks and governor": ("cpu.frequency*", "cpu.boost", "cpu.pstate*"),
    "kernel": ("kernel.release", "kernel.clock_source", "kernel.iommu*", "gpus.iommu"),
    "hypervisor": ("kernel.virtual_machine", "kernel.hypervisor"),
    "huge pages": ("memory.transparent_huge*", "memory.huge_pages*"),
    "NUMA balancing": ("memory.numa_balancing",),
}

CLOCKS_APART = 0.03
VISITS_APART = 2  # visits to one case that differ by more than this factor contradict each other
SETUP = {"GPU memory clock", "GPU clocks", "GPU power limit", "GPU ECC", "driver", "CPU model", "CPU cores"}
UNITS = {"_hz": (1e-6, "MHz"), "_mhz": (1, "MHz"), "_mw": (1e-3, "W")}


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
        return provenance_line(self.result, self.file)


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
    parts = [
        gpus(result) or "no GPU",
        cpu(result),
        result.host or "host unknown",
        f"driver {driver}" if driver else "no NVIDIA driver",
        f"CUDA {result.cuda}" if result.cuda else "built without CUDA",
        f"GrainScope {result.version} (commit {short_commit(result)})",
        _date(result),
    ]
    return [part for part in parts if part]


def short_commit(result: Result) -> str:
    """The first ten digits, with `-dirty` where the code had changes beyond it; or `unknown`."""
    return re.sub(r"^([0-9a-f]{10})[0-9a-f]+", r"\1", result.commit) or "unknown"


def provenance_line(result: Result, *more: str) -> str:
    """The same as one line, with what else there is to say."""
    return " · ".join(filter(None, [*provenance(result), *more]))


def run_ids(run: str) -> tuple[str, ...]:
    """The runs that a run was merged of: `merge` joins the ids of shards by a plus."""
    parts = run.split("+")
    return tuple(parts) if all(re.fullmatch(r"[0-9a-f]+-[0-9a-f]+", part) for part in parts) else (run,)


def asked_for(run: Run) -> str:
    """The preset, which part of it, and the start of the filter: `preset quick, filter ^transfer/`."""
    chosen = f"filter {cut(run.filter, LONGEST_FILTER)}" * bool(run.filter)
    return ", ".join(filter(None, [f"preset {run.preset}", part_of(run), chosen]))


def part_of(run: Run) -> str:
    """`part 2 of 3`; empty of a whole run."""
    return f"part {run.shard.index} of {run.shard.count}" * (run.shard.count > 1)


def not_whole(run: Run) -> str:
    """Why what is fastest in a run may not be so of all that it was to measure; empty where it has all."""
    if part := part_of(run):
        return (
            f"This is {part} of a run: what is fastest here may not be the fastest of all. "
            "`grainscope-report merge` joins the parts."
        )
    return "" if run.complete else f"The run is not complete: {run.why_incomplete}"


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
    """The GPUs by name, each with its number: `NVIDIA H200 ×2`; `(1 of 2)` where one was hidden from the run.

    CUDA_VISIBLE_DEVICES, a container or a batch system hides some. Where CUDA has none, nothing tells it.
    """
    there = result.environment.gpus
    seen = [gpu for gpu in there if gpu.get("cuda")]
    counted = Counter(result.environment.gpu_names)
    used = Counter(str(gpu["name"]) for gpu in seen or there)
    return ", ".join(_numbered(name, used[name], count) for name, count in counted.items()) or None


def _numbered(name: str, used: int, count: int) -> str:
    if used < count:
        return f"{name} ({used} of {count})"
    return f"{name} ×{count}" if count > 1 else name


def cpu(result: Result) -> str:
    """The CPU's model without its trademarks and nominal clock."""
    model = result.environment.cpu_model
    return re.sub(r"\s+", " ", _NOISE.sub("", model)).strip() if model else "CPU unknown"


def spoken_site(site: Sequence[tuple[str, int]]) -> str:
    """`GPU 1, node 1`, or the site's own names where it has others."""
    names = {"gpu": "GPU", "numa": "node"}
    return ", ".join(f"{names.get(name, name.replace('_', ' '))} {value}" for name, value in site)


def spoken_ends(pair: Ends) -> str:
    """`node 0 → GPU 1`."""
    return " → ".join(end.replace("gpu:", "GPU ").replace("host:", "node ") for end in pair)


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
    if part := part_of(result.run):
        yield Concern(
            id="part_of_run",
            severity="warning",
            finding=f"this is {part} of a run",
            effect="other parts have other methods and sizes, so what is fastest here may not be the fastest",
            remedy="join all parts by `grainscope-report merge`",
        )
    told = [row for row in result.rows if row.stolen_s is not None and row.visit_s]
    stolen = math.fsum(row.stolen_s for row in told)
    measured = math.fsum(row.visit_s for row in told)
    if stolen >= SHARED_CPUS * measured > 0:
        yield Concern(
            id="stolen_time",
            severity="warning",
            finding=f"the hypervisor took {stolen:.3g} s of the CPUs' time in {measured:.3g} s of measuring",
            effect=("the host is crowded: " if stolen >= CROWDED_CPUS * measured else "")
            + "rows in which the CPUs have a part are slower than the hardware, and vary; "
            "those of several threads most",
            remedy="measure again when the host has less to do, or on a host of one's own; `stolen_s` says "
            "which rows were hit",
        )
    visits = [visit for row in result.rows for visit in row.visits if line_ns(vars(visit))]
    if moved := sum(bool(visit.far) for visit in visits):
        yield Concern(
            id="cpus_moved",
            severity="warning",
            finding=f"the CPUs lay far from each other in {moved} of {plural(len(visits), 'visit')}, and "
            "near in others of the same rows",
            effect="what several threads do takes much longer or shorter meanwhile; such visits do not stand "
            "for their rows",
            remedy="measure on a host of one's own, or where each virtual CPU is pinned; `far` says which "
            "visits",
        )


@dataclass(frozen=True)
class Cache:
    """A data or unified cache of the CPU."""

    level: int
    bytes: int


def caches(result: Result) -> list[Cache]:
    """Data and unified caches, once for each level and size, smallest first."""
    return [Cache(*size) for size in data_caches(result.environment.cpu)]


def link_cells(result: Result, link: Link) -> tuple[str, ...]:
    """One cell for each of `LINK_NAMES`; rates in GB/s."""
    known = metrics.peak_estimate(result, link)
    peak, interval = format_interval(known.value, known.low, known.high)
    most = link.theoretical_gb_s
    way = link.direction.replace("_to_", " → ").replace("gpu", "GPU")
    return (
        f"GPU {link.gpu}, node {link.numa}, {way}"
        if link.peer is None
        else f"GPU {link.gpu} → GPU {link.peer}",
        peak,
        interval,
        format_bytes(link.bytes),
        f"{most:.1f}" if most else "unknown",
        format_percent(link.peak_gb_s / most) if most else "-",
        link.negotiated or "unknown",
    )


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


def readings(rows: Iterable[Row]) -> dict[str, str]:
    """What was read around visits: the clocks of the slowest GPU and of the CPUs, and what held them down.

    A clock is the middle of a GPU's readings; a reason counts where a visit in twenty gives it.
    """
    clocks: dict[str, dict[int | None, list[float]]] = defaultdict(lambda: defaultdict(list))
    reasons, told = Counter[str](), 0
    for row in rows:
        for state in (visit.state for visit in row.visits if visit.state):
            if isinstance(held := state.get("throttle"), list):
                told += 1
                reasons.update(map(str, held))
            for name in ("gpu_sm_mhz", "gpu_memory_mhz", "cpu_mhz"):
                if isinstance(mhz := state.get(name), int | float) and mhz > 0:
                    clocks[name][row.case.site.get("gpu")].append(mhz)
    found = {f"visits.{name}": f"{min(map(median, gpus.values())):.0f}" for name, gpus in clocks.items()}
    if told:
        held = sorted(one for one, times in reasons.items() if one != "gpu_idle" and 20 * times >= told)
        found[HELD_DOWN] = ", ".join(held) or NOTHING
    return found


def worst_readings(found: Sequence[Facts]) -> dict[str, str]:
    """Of the readings of several runs the lowest clocks, and all that held clocks down."""
    told: dict[str, list[str]] = defaultdict(list)
    for name, value in (item for facts in found for item in facts.items() if item[0].startswith("visits.")):
        told[name].append(value)
    worst = {name: min(values, key=float) for name, values in told.items() if name.endswith("_mhz")}
    if HELD_DOWN in told:
        held = {one for value in told[HELD_DOWN] for one in value.split(", ")} - {NOTHING}
        worst[HELD_DOWN] = ", ".join(sorted(held)) or NOTHING
    return worst


def visits_apart(rows: Iterable[Row], what: str = "", often: float = 0.0) -> Iterator[str]:
    """A sentence where of more than such a share of the rows visits lie too far apart, but for busy ones.

    `what` says which rows these are.
    """
    used = {id(row): row for row in rows if row.visits}.values()
    apart = []
    for row in used:
        medians = [visit.median_s for visit in row.standing]
        apart.append((max(medians) / min(medians), row.name))
    if len(found := [one for one in apart if one[0] > VISITS_APART]) > often * len(used):
        factor, name = max(found)
        yield (
            f"visits contradict each other in {len(found)} of {plural(len(used), 'row')}{what}, most in "
            f"{name}, where one takes {factor:.3g} times as long as another: measure again on a quiet machine"
        )


def set_up_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether contexts of one machine agree in what is known to move its times and can be set otherwise.

    That is driver, CPUs, clocks, limits.
    """
    return not set_apart(one, other, SETUP)


def set_apart(
    one: Mapping[str, Any], other: Mapping[str, Any], causes: Container[str] = CAUSES
) -> list[Difference]:
    """The facts about these causes in which two contexts differ, but for what passes.

    What only one of them tells, as of a GPU that CUDA was not shown, is no difference.
    """

    def told(value: str | None) -> set[str]:
        return {*(value or "").split(", ")} - {"-", "unknown"}

    mine, theirs = facts(one), facts(other)
    return [
        each
        for each in differences(mine, theirs)
        if each.cause in causes
        and None not in (each.base, each.new)
        and not (told(each.base) <= told(each.new) or told(each.new) <= told(each.base))
    ]


def machine_of(context: Mapping[str, Any]) -> str:
    """GPUs by UUID where there are any, whichever comes first, else the host: what tells machines apart.

    A virtual machine may have another name each day.
    """
    uuids = sorted(gpu["uuid"] for gpu in context["environment"]["gpus"] if gpu.get("uuid"))
    return " ".join(uuids) or f"{context['host_name']} {kind_of(context)[1]}"


def identity(context: Mapping[str, Any]) -> tuple[str, ...]:
    """Which machine it is, with its CPU and GPU models: equal only where nothing was changed for another."""
    models = sorted(str(gpu["name"]) for gpu in context["environment"]["gpus"])
    return machine_of(context), str(kind_of(context)[1]), *models


def object_of(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a machine report; empty where it is not told, or nonsense."""
    found = report.get(name)
    return found if isinstance(found, dict) else {}


def objects_of(report: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The same of several."""
    found = report.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, (list, tuple)) else []


def hides_nodes(context: Mapping[str, Any]) -> bool:
    """Whether it is a virtual machine with one node, which does not tell which node of its host is near."""
    environment = context["environment"]
    nodes = objects_of(object_of(environment, "memory"), "nodes")
    return len(nodes) == 1 and object_of(environment, "kernel").get("virtual_machine") is True


def spoken_fact(fact: str, value: str | None) -> str:
    """A fact's value with its unit, which else its name tells; `-` where a run does not have it."""
    for end, (scale, unit) in UNITS.items():
        if fact.endswith(end) and value and value.isdigit():
            return f"{int(value) * scale:g} {unit}"
    return value or "-"


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
    for kind, model in (("gpu", "gpus.name"), ("cpu", "cpu.model")):
        if base.get(model) != new.get(model):  # another model has other clocks
            names -= {name for name in names if name.startswith(f"visits.{kind}_")}
    found = [
        Difference(name, base.get(name), new.get(name))
        for name in names
        if _apart(name, base.get(name), new.get(name)) and (passing or not _is(name, PASSING))
    ]
    return sorted(found, key=lambda one: (_rank(one.fact), one.fact))


def _apart(name: str, one: str | None, two: str | None) -> bool:
    """Whether a fact differs; of readings, which a run of other cases may lack, by more than they scatter."""
    if not name.startswith("visits.") or one == two:
        return one != two
    if one is None or two is None:
        return False
    return not name.endswith("_mhz") or abs(math.log(float(one) / float(two))) > CLOCKS_APART


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


def together(pairs: list[Ends], links: Mapping[Ends, Link]) -> list[float]:
    """The copy peaks of links at once: with links of their own for all pairs of GPUs, or with a switch,
    through which each GPU has the same for all others."""
    gpus = [pair for pair in pairs if all(end.startswith("gpu:") for end in pair)]
    peaks = {pair: links[pair].peak_gb_s for pair in pairs}
    of_gpus = [
        sum(max(peaks[pair] for pair in gpus if pair[end] == gpu) for gpu in {pair[end] for pair in gpus})
        for end in (0, 1)
    ]
    alone = sum(peak for pair, peak in peaks.items() if pair not in gpus)
    return [alone + sum(peaks[pair] for pair in gpus), alone + min(of_gpus)]


def limit_by_words(limit: str, links: Mapping[Ends, Link]) -> list[float]:
    """The one limit that these words come to, GB/s: of loads by their numbers, of links by those measured.

    Empty where they say something else, or a link that the run did not measure, as one whose lanes are fewer
    under load.
    """
    if loads := LOADS.fullmatch(limit):
        return [math.prod(float(number) for number in loads.groups() if number)]
    known: dict[str, set[float]] = {}
    for link in links.values():
        name = f"{link.nvlinks} NVLinks" if link.nvlinks else f"PCIe {link.generation}.0 x{link.width}"
        if link.theoretical_gb_s:
            known.setdefault(name, set()).add(link.theoretical_gb_s)
    parts = [LINKS.fullmatch(part) for part in limit.split(" + ")]
    if not all(part and len(known.get(part["link"], ())) == 1 for part in parts):
        return []
    times = [int(part["times"] or 1) * int(part["gpus"] or 1) for part in parts]
    return [sum(many * min(known[part["link"]]) for many, part in zip(times, parts, strict=True))]
