"""Figure d and the tree of `summary --full`: a machine as places and links with measured rates.

Comm|Scope's figures 3 to 5 draw such schematics with theoretical peaks. Nodes, GPUs and links are those of
the environment report. A rate is the highest of all rows that measured its pair of places; without a row, and
without a copy peak of the link, it says so. PCIe switches are in no result file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grainscope_report import families, machine, metrics
from grainscope_report.families import Best, Pairs
from grainscope_report.figures import parts
from grainscope_report.figures.model import DiagramPanel, Entry, Figure, Flow, Joint, Place, Said
from grainscope_report.figures.parts import grouped
from grainscope_report.machine import Machine, object_of, objects_of
from grainscope_report.metrics import Cell, Pair, matrix
from grainscope_report.model import Link, Result
from grainscope_report.statistics import Estimate
from grainscope_report.units import filled, format_bytes, format_rate, plural
from grainscope_report.writing import Terminal

ID = "d"
COPIES, PEERS, DUPLEX = "transfer/memcpy", "transfer/peer", "transfer/duplex"
BESIDE = ("transfer/local", "host/memcpy", DUPLEX)
HOST_BOTH_WAYS = Pairs(
    Best("both ways at once, pinned", DUPLEX, {"between": "host_gpu", "method": "pinned"}), "numa", "gpu"
)
NOT_MEASURED = "not measured"
NOWHERE = "near node unknown"
INTO, OUT_OF, BOTH = "→", "←", "↔"
# What is said of pairs that have no NVLink, or of which nothing is told.
WITHOUT = {"pcie": "over PCIe", "none": "no NVLink", "": ""}
# So many places are named one by one; of more their number is said.
MOST_NAMED = 3
RATES = "Rates in GB/s, each the highest of all rows of its pair, ± half of the 95 % interval:"
OF_GPUS = (
    "between pinned memory and GPUs, and between GPUs, by the copy engine; within a GPU by any copy of the "
    "largest buffers;"
)
OF_NODES = "within nodes and between them by CPUs, of the largest buffers, flushed."
ARROWS = (
    "→ to the GPU or to what is named, ← from the GPU, ↔ both ways at once, added up; specified is each way."
)
ALONE = "± is of this run alone."
SWITCHES = "PCIe switches are not in a result file."
ONE_NODE = (
    "A virtual machine of one node hides the host's: how near a GPU is to its memory is unknown (dashed)."
)
UNKNOWN = "To which node a GPU is near is unknown where its line is dashed."
Rates = Mapping[Pair, Cell]


@dataclass(frozen=True)
class Joined:
    """What joins two GPUs: NVLinks (to a `switch`, `direct`, or `nvlink`: how is unknown), `pcie`, `none`."""

    kind: str
    links: int = 0


@dataclass(frozen=True)
class Survey:
    """A run's machine and what the run measured between its places, by their numbers."""

    result: Result

    def report(self, topic: str) -> Mapping[str, Any]:
        """A part of the environment report as the file has it."""
        return object_of(self.result.environment.raw, topic)

    @cached_property
    def nodes(self) -> dict[int, Mapping[str, Any]]:
        """What the report says of each node, and nodes that only rows name."""
        listed = objects_of(self.report("memory"), "nodes")
        told = {node["id"]: node for node in listed if _count(node, "id") is not None}
        measured = {pair[0] for rates in (self.to_gpu, self.from_gpu) for pair in rates}
        measured |= {node for pair in self.between_nodes for node in pair}
        return {node: told.get(node, {}) for node in sorted(told.keys() | measured)}

    @cached_property
    def gpus(self) -> dict[int, Mapping[str, Any]]:
        """What the report says of each GPU by CUDA's number; where CUDA has none of them, by its place."""
        listed = objects_of(self.result.environment.raw, "gpus")
        numbers = [_count(object_of(gpu, "cuda"), "ordinal") for gpu in listed]
        if all(at is None for at in numbers):
            numbers = list(range(len(listed)))
        told = {at: gpu for at, gpu in zip(numbers, listed, strict=True) if at is not None}
        measured = {pair[1] for rates in (self.to_gpu, self.from_gpu) for pair in rates}
        measured |= {gpu for pair in self.between_gpus for gpu in pair}
        return {gpu: told.get(gpu, {}) for gpu in sorted(told.keys() | measured)}

    @cached_property
    def to_gpu(self) -> Rates:
        """From a node to a GPU."""
        return matrix(self.result, families.NODE_TO_GPU).cells

    @cached_property
    def from_gpu(self) -> Rates:
        """From a GPU to a node, by node and GPU."""
        return matrix(self.result, families.GPU_TO_NODE).cells

    @cached_property
    def both_ways(self) -> Rates:
        """Between a node and a GPU, both ways at once."""
        return matrix(self.result, HOST_BOTH_WAYS).cells

    @cached_property
    def between_gpus(self) -> Rates:
        """From one GPU to another: written by the one or read by the other."""
        best = dict(matrix(self.result, families.WRITES_TO_PEER).cells)
        for (reader, source), cell in matrix(self.result, families.READS_FROM_PEER).cells.items():
            known = best.get((source, reader))
            if known is None or cell.value.value > known.value.value:
                best[source, reader] = cell
        return best

    @cached_property
    def gpus_both_ways(self) -> Rates:
        """Between two GPUs both ways at once, in either order."""
        cells = matrix(self.result, families.PEERS_BOTH_WAYS).cells
        return {(two, one): cell for (one, two), cell in cells.items()} | cells

    @cached_property
    def between_nodes(self) -> Rates:
        """From one node to another, and within one."""
        return matrix(self.result, families.NODE_TO_NODE).cells

    @cached_property
    def within_gpu(self) -> dict[int, Cell]:
        """Copies within a GPU's own memory, of the most bytes: fewer lie in its caches."""
        rows = grouped(
            metrics.rows_for(self.result, families.WITHIN_GPU), lambda row: row.case.site.get("gpu")
        )
        best = {gpu: metrics.best_row(there, least=False) for gpu, there in rows.items() if gpu is not None}
        return {
            gpu: Cell(metrics.best_estimate(row, least=False), row.bytes, row.both_known, row.name)
            for gpu, row in best.items()
        }

    @property
    def one_node_of_many(self) -> bool:
        """Whether it is a virtual machine with one node, whose host may have several."""
        return len(self.nodes) == 1 and bool(self.report("kernel").get("virtual_machine"))

    def near(self, gpu: int) -> int | None:
        """The node that a GPU is near to, by the report or by its rows; None where neither tells."""
        if (told := _count(self.gpus[gpu], "numa_node")) in self.nodes:
            return told
        local = self._local.get(gpu, set())
        return next(iter(local)) if len(local) == 1 else None

    @cached_property
    def _local(self) -> dict[int | None, set[int | None]]:
        """The nodes that rows call local to each GPU."""
        found: dict[int | None, set[int | None]] = {}
        for row in self.result.of(COPIES):
            if row.case.locality == "local":
                found.setdefault(row.case.site.get("gpu"), set()).add(row.case.site.get("numa"))
        return found

    @cached_property
    def _said(self) -> dict[frozenset, set[str]]:
        """What rows call the link of each pair of GPUs."""
        found: dict[frozenset, set[str]] = {}
        for row in self.result.of(PEERS):
            pair = frozenset((row.case.site.get("gpu"), row.case.site.get("peer")))
            found.setdefault(pair, set()).add(str(row.case.axes.get("link")))
        return found

    def nvlinks(self, gpu: int) -> list[Mapping[str, Any]]:
        """The GPU's NVLinks that are up."""
        return [
            link for link in objects_of(object_of(self.gpus[gpu], "nvml"), "nvlinks") if link.get("active")
        ]

    def joined(self, one: int, two: int) -> Joined:
        """What joins two GPUs, by the report, else by what the run says of the pair."""
        links = self.nvlinks(one)
        address = self.gpus[two].get("pci_bus_id")
        direct = sum(bool(address) and link.get("remote_pci_bus_id") == address for link in links)
        if direct:
            return Joined("direct", direct)
        switched = [
            sum(link.get("remote_type") == "switch" for link in self.nvlinks(end)) for end in (one, two)
        ]
        if all(switched):
            return Joined("switch", min(switched))
        if (link := self.peer_link(one, two)) and link.nvlinks:
            return Joined("nvlink", link.nvlinks)
        said = self._said.get(frozenset((one, two)), set())
        told = all(object_of(self.gpus[end], "nvml").get("nvlinks") is not None for end in (one, two))
        if spoken := next((kind for kind in ("nvlink", "pcie") if kind in said), None):
            return Joined(spoken)
        return Joined("none" if told else "")

    def peer_link(self, one: int, two: int) -> Link | None:
        """The measured link between two GPUs, either way."""
        ends = (f"gpu:{one}", f"gpu:{two}")
        return self.result.link(ends) or self.result.link(ends[::-1])

    def refused(self, one: int, two: int) -> bool:
        """Whether a GPU cannot address the other's memory."""
        told = objects_of(self.result.environment.raw, "peers")
        return any(
            (peer.get("from"), peer.get("to"), peer.get("access")) == (one, two, False) for peer in told
        )


def _count(of: Mapping[str, Any], name: str) -> int | None:
    found = of.get(name)
    return found if type(found) is int and found >= 0 else None


def panel(of: Machine, owner: str = "") -> DiagramPanel | None:
    """The diagram of a machine; None where the file tells of no place."""
    survey = Survey(of.result)
    if not survey.nodes and not survey.gpus:
        return None
    gpus = [_gpu(survey, gpu) for gpu in survey.gpus]
    nodes = [_node(survey, node) for node in survey.nodes]
    if any(place.at == NOWHERE for place in gpus):
        nodes.append(Place(NOWHERE, ()))
    ordered = [place for node in nodes for place in gpus if place.at == node.name]
    title = f"{owner}{_title(survey)}"
    return DiagramPanel(
        title, tuple(nodes), tuple(ordered), tuple(_joints(survey)), tuple(_flows(survey)), of
    )


def _title(survey: Survey) -> str:
    """The CPU, and of what there are how many."""
    told = survey.report("cpu")
    counts = [(_count(told, f"{thing}s"), thing) for thing in ("socket", "core")]
    said = [plural(count, thing) for count, thing in counts if count]
    said += [plural(len(survey.nodes), "NUMA node")] if survey.nodes else []
    said.append(plural(len(survey.gpus), "GPU") if survey.gpus else "no GPU")
    return f"{machine.cpu(survey.result)}: {', '.join(said)}; GB/s"


def _name(kind: str, number: int) -> str:
    return f"{kind} {number}"


def _node(survey: Survey, node: int) -> Place:
    told = survey.nodes[node]
    cpus, allowed = told.get("cpus"), told.get("allowed_cpus")
    said: list[Said] = []
    if isinstance(cpus, list):
        less = isinstance(allowed, list) and len(allowed) < len(cpus)
        fewer = f", {len(allowed)} allowed" if less else ""
        said.append((plural(len(cpus), "CPU") + fewer,) if cpus else ("no CPUs",))
    # The memory of the only node is the machine's, which a virtual machine may tell apart.
    whole = _count(survey.report("memory"), "total_bytes") if len(survey.nodes) == 1 else None
    size = whole or _count(told, "memory_bytes")
    said += [(format_bytes(size),)] if size else []
    said.append((f"CPUs copy {_rate(survey.between_nodes.get((node, node)))}",))
    others = [two for two in survey.nodes if two != node]
    said += _together([(_name("node", two), survey.between_nodes.get((node, two))) for two in others])
    return Place(_name("node", node), tuple(said))


def _gpu(survey: Survey, gpu: int) -> Place:
    told = survey.gpus[gpu]
    name = str(told.get("name") or "").removeprefix("NVIDIA ")
    address = told.get("pci_bus_id")
    said: list[Said] = [(str(text),) for text in (name, address) if text]
    said.append((f"copies {_rate(survey.within_gpu.get(gpu))}",))
    near = survey.near(gpu)
    only = near if near is not None else next(iter(survey.nodes)) if len(survey.nodes) == 1 else None
    return Place(
        _name("GPU", gpu),
        tuple(said),
        NOWHERE if only is None else _name("node", only),
        near is not None and not survey.one_node_of_many,
        tuple(_to_host(survey, gpu, only)),
        tuple(_to_peers(survey, gpu)),
    )


def _to_host(survey: Survey, gpu: int, near: int | None) -> Iterator[Said]:
    """What the link to the host is and reaches, then what nodes reach that are farther away."""
    rates = {node: _ways(survey, node, gpu) for node in survey.nodes}
    yield _link(survey, gpu, near), *rates.get(near, ())
    far = [node for node in survey.nodes if node != near]
    if len(far) <= MOST_NAMED:
        for node in far:
            yield f"{_name('node', node)}:", *(way for way in rates[node] if not way.startswith(BOTH))
        return
    into, out = ([there.get((node, gpu)) for node in far] for there in (survey.to_gpu, survey.from_gpu))
    yield (
        f"{len(far)} {'other ' if near is not None else ''}nodes:",
        f"{INTO} {_range(into)}",
        f"{OUT_OF} {_range(out)}",
    )


def _ways(survey: Survey, node: int, gpu: int) -> Said:
    """Each way, and both at once where that was measured."""
    there = (node, gpu)
    into, out = survey.to_gpu.get(there), survey.from_gpu.get(there)
    if not into and not out:
        return (NOT_MEASURED,)
    both = survey.both_ways.get(there)
    return f"{INTO} {_rate(into)}", f"{OUT_OF} {_rate(out)}", *((f"{BOTH} {_rate(both)}",) if both else ())


def _link(survey: Survey, gpu: int, near: int | None) -> str:
    """What joins a GPU to the host: as it was under load, else what it was built for."""
    measured = [link for link in survey.result.links if link.gpu == gpu and link.numa is not None]
    measured.sort(key=lambda link: link.numa != near)
    each = next(
        (f", specified {link.theoretical_gb_s:.1f}" for link in measured if link.theoretical_gb_s), ""
    )
    chips = _count(object_of(survey.gpus[gpu], "nvml"), "c2c_links")
    to_cpu = sum(link.get("remote_type") == "cpu" for link in survey.nvlinks(gpu))
    for count, name in ((chips, "NVLink-C2C"), (to_cpu, "NVLink")):
        if count:
            return f"{name} ×{count}{each}"
    if negotiated := next((link.negotiated for link in measured if link.negotiated), None):
        return f"{negotiated}{each}"
    told = survey.gpus[gpu]
    generation, width = told.get("link_generation_built"), told.get("link_width_built")
    return f"built for PCIe {generation} ×{width}{each}" if generation and width else f"link unknown{each}"


def _to_peers(survey: Survey, gpu: int) -> Iterator[Said]:
    """For each kind of link to other GPUs: what it is, what this GPU sends, both ways at once."""
    others = [other for other in survey.gpus if other != gpu]
    kinds = grouped(others, lambda other: survey.joined(gpu, other))
    for joined, there in sorted(kinds.items(), key=lambda kind: -kind[0].links):
        pairs = [(gpu, other) for other in there]
        sent = [survey.between_gpus.get(pair) for pair in pairs]
        both = [survey.gpus_both_ways.get(pair) for pair in pairs]
        silent = not any(sent) and all(survey.refused(*pair) for pair in pairs)
        rate = "no peer access" if silent else _range(sent)
        kind = _kind(survey, joined, pairs[0])
        yield (
            *([kind] if kind else []),
            f"{INTO} {_listed('GPU', there)}: {rate}",
            *([f"{BOTH} {_range(both)}"] if any(both) else []),
        )


def _kind(survey: Survey, joined: Joined, pair: Pair) -> str:
    """`NVLink 4.0 ×18, specified 478.1`; empty where nothing tells."""
    if joined.kind in WITHOUT:
        return WITHOUT[joined.kind]
    version = next((f" {link['version']}" for link in survey.nvlinks(pair[0]) if link.get("version")), "")
    count = f" ×{joined.links}" if joined.links else ""
    link = survey.peer_link(*pair)
    each = f", specified {link.theoretical_gb_s:.1f}" if link and link.theoretical_gb_s else ""
    return f"NVLink{version}{count}{each}"


def _joints(survey: Survey) -> Iterator[Joint]:
    """What the diagram draws between GPUs: switches as one thing, direct links pair by pair."""
    pairs = [(one, two) for one in survey.gpus for two in survey.gpus if one < two]
    by_kind = grouped(pairs, lambda pair: survey.joined(*pair).kind)
    for pair in by_kind.get("direct", ()):
        yield Joint(tuple(_name("GPU", gpu) for gpu in pair), links=survey.joined(*pair).links)
    for kind, name in (("switch", "NVLink switch"), ("nvlink", "NVLink")):
        ends = sorted({gpu for pair in by_kind.get(kind, ()) for gpu in pair})
        if ends:
            yield Joint(tuple(_name("GPU", gpu) for gpu in ends), name)


def _flows(survey: Survey) -> Iterator[Flow]:
    """Every pair with its rate, and those that were not measured."""
    for node in survey.nodes:
        for other in survey.nodes:
            yield _flow("node", node, "node", other, survey.between_nodes.get((node, other)))
        for gpu in survey.gpus:
            yield _flow("node", node, "GPU", gpu, survey.to_gpu.get((node, gpu)))
            yield _flow("GPU", gpu, "node", node, survey.from_gpu.get((node, gpu)))
            if both := survey.both_ways.get((node, gpu)):
                yield _flow("both ways, node", node, "GPU", gpu, both)
    for gpu in survey.gpus:
        for other in survey.gpus:
            cell = survey.within_gpu.get(gpu) if gpu == other else survey.between_gpus.get((gpu, other))
            yield _flow("GPU", gpu, "GPU", other, cell)
            both = survey.gpus_both_ways.get((gpu, other))
            if both and gpu < other:
                yield _flow("both ways, GPU", gpu, "GPU", other, both)


def _flow(kind: str, source: int, other: str, target: int, cell: Cell | None) -> Flow:
    note = NOT_MEASURED if cell is None else cell.case or "copy peak of the link"
    return Flow(_name(kind, source), _name(other, target), cell and cell.value, note)


def _rate(cell: Cell | None) -> str:
    return metrics.with_error(format_rate(cell.value.value), cell.value) if cell else NOT_MEASURED


def _range(cells: Sequence[Cell | None]) -> str:
    """`385.1 to 397 ± 1.2 %`: from the slowest to the fastest, with the widest interval."""
    there = [cell for cell in cells if cell]
    if len(there) < 2:
        return _rate(there[0] if there else None)
    values = sorted(cell.value.value for cell in there)
    ends = dict.fromkeys(format_rate(value) for value in (values[0], values[-1]))
    widest: Estimate = max((cell.value for cell in there), key=metrics.half_width)
    return metrics.with_error(" to ".join(ends), widest)


def _together(others: Sequence[tuple[str, Cell | None]]) -> Iterator[Said]:
    """What goes to each of some nodes; one line where none was measured or there are many."""
    measured = [cell for _, cell in others if cell]
    if others and (not measured or len(others) > MOST_NAMED):
        name = others[0][0] if len(others) == 1 else f"{len(others)} other nodes"
        yield (f"{INTO} {name}: {_range(measured)}",)
        return
    for name, cell in others:
        yield (f"{INTO} {name}: {_rate(cell)}",)


def _listed(kind: str, numbers: Sequence[int]) -> str:
    if len(numbers) > MOST_NAMED:
        return f"{len(numbers)} {kind}s"
    return f"{kind} {', '.join(map(str, numbers))}"


def _reading(gpus: bool) -> list[str]:
    """How to read the rates."""
    about = " ".join((RATES, *([OF_GPUS] if gpus else []), OF_NODES))
    return [about, *([ARROWS, SWITCHES] if gpus else [])]


def _remarks(survey: Survey) -> Iterator[str]:
    """What is unknown of this machine."""
    if (hidden := len(survey.result.environment.gpus) - len(survey.gpus)) > 0:
        yield f"CUDA does not see {plural(hidden, 'more GPU')}."
    if survey.gpus and survey.one_node_of_many:
        yield ONE_NODE
    elif any(survey.near(gpu) is None for gpu in survey.gpus):
        yield UNKNOWN
    rates: Iterable[Rates] = (survey.to_gpu, survey.from_gpu, survey.between_gpus, survey.between_nodes)
    known = [cell.both_known for there in rates for cell in there.values()]
    if known and not all(known):
        yield ALONE


def build(machines: Sequence[Machine]) -> Figure:
    """A diagram for each machine of which any pair was measured."""
    several = len(machines) > 1
    rows, remarks = [], []
    for of in machines:
        owner = parts.owner(of, several)
        drawn = panel(of, owner)
        if drawn and any(flow.value for flow in drawn.flows):
            rows.append((drawn,))
            remarks += [f"{owner}{said}" for said in _remarks(Survey(of.result))]
    how = _reading(any(row[0].gpus for row in rows)) if rows else []
    return Figure(machines, tuple(rows), (*how, *remarks))


def tree(of: Machine, out: Terminal) -> Iterator[str]:
    """The same as text: a line for each place, under it its links; nothing where no place is known."""
    drawn = panel(of)
    if drawn is None:
        return
    yield out.paint(out.wrap(drawn.title, ""), "bold")
    for node in drawn.nodes:
        yield from filled([(node.name, *_flat(node.said))], out.width, len, "  ", "      ")
        there = [gpu for gpu in drawn.gpus if gpu.at == node.name]
        for gpu in there:
            last = gpu is there[-1]
            branch = ("└" if last else "├") + ("─" if gpu.sure else "╌")
            stem = "     " if last else "  │  "
            yield from filled([(gpu.name, *_flat(gpu.said))], out.width, len, f"  {branch} ", f"{stem}    ")
            yield from filled([*gpu.link, *gpu.peers], out.width, len, f"{stem}  ", f"{stem}    ")
    named = [(f"{joint.name}:", ", ".join(joint.places)) for joint in drawn.joints if joint.name]
    yield from filled(named, out.width, len, "  ", "      ")
    for note in (*_reading(bool(drawn.gpus)), *_remarks(Survey(of.result))):
        yield out.note(note)


def _flat(said: Iterable[Said]) -> Said:
    return tuple(words for one in said for words in one)


FIGURES = (
    Entry(
        ID, "figure_d_machine", "The machine: nodes, GPUs, links, and what they reach", (COPIES, PEERS),
        "copies between host and GPU or between GPUs", build, beside=BESIDE,
    ),
)  # fmt: skip
