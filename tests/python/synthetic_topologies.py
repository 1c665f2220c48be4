"""Machines that are not at hand, with made-up rates: stored topologies of the unit tests, and known boards.

`xml_…` are the hwloc exports of `tests/unit/fixtures`; the others have the nodes, GPUs and links of such
boards, as `lscpu` and `nvidia-smi topo -m` show them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from synthetic import GIB, MIB, File
from synthetic_links import add_both

FIXTURES = Path(__file__).resolve().parents[1] / "unit" / "fixtures"
H100, A100, V100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-16GB"
# NVLinks of a DGX-1 by pair of GPUs: two to some neighbours, one to others, none to the rest.
HYBRID_CUBE = {
    (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 5): 2, (2, 3): 2, (4, 7): 2, (5, 6): 2, (6, 7): 2,
    (0, 1): 1, (0, 2): 1, (1, 3): 1, (2, 6): 1, (3, 7): 1, (4, 5): 1, (4, 6): 1, (5, 7): 1,
}  # fmt: skip
PCIE = 26.0


@dataclass(frozen=True)
class Board:
    """What a machine has: CPUs of each node, and of each GPU the node, None where nothing tells it."""

    nodes: tuple[tuple[int, ...], ...]
    near: tuple[int | None, ...] = ()
    name: str = H100
    cpu: str = "Intel(R) Xeon(R) Platinum 8480+"
    direct: Mapping[tuple[int, int], int] | None = None
    switched: int = 0
    to_cpu: int = 0
    virtual: bool = False
    generation: int = 5
    rates: bool = True
    addresses: tuple[str, ...] = ()
    sockets: int = 0


def address(gpu: int) -> str:
    return f"0000:{0x1A + 0x11 * gpu:02x}:00.0"


def cpus(count: int, each: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(node * each, (node + 1) * each)) for node in range(count))


def from_xml(name: str) -> Board:
    """Nodes, their CPUs, and GPUs of an hwloc export; a GPU at the whole machine is near to no node."""
    nodes, near, addresses = {}, [], []
    root = ElementTree.parse(FIXTURES / f"{name}.hwloc.xml").getroot()
    parents = {child: parent for parent in root.iter() for child in parent}
    taken: set[int] = set()
    for node in root.iter("object"):
        if node.get("type") == "NUMANode":
            bits = int(node.get("cpuset"), 16)
            own = tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1 and cpu not in taken)
            taken |= set(own)
            nodes[int(node.get("os_index"))] = own
    for device in root.iter("object"):
        if device.get("type") == "PCIDev":
            package = parents[parents[device]]
            addresses.append(device.get("pci_busid"))
            near.append(int(package.get("os_index")) if package.get("type") == "Package" else None)
    return Board(tuple(nodes[node] for node in sorted(nodes)), tuple(near), addresses=tuple(addresses))


def nvlinks(board: Board, gpu: int) -> list[dict]:
    """The NVLinks of a GPU as NVML lists them."""
    ends = [("switch", "ffffffff:ff:ff.0")] * board.switched + [("cpu", "")] * board.to_cpu
    for pair, count in (board.direct or {}).items():
        if gpu in pair:
            ends += [("gpu", address(sum(pair) - gpu))] * count
    return [
        {"link": at, "active": True, "version": "4.0", "speed_mb_s": 25000, "remote_type": kind,
         "remote_pci_bus_id": to}
        for at, (kind, to) in enumerate(ends)
    ]  # fmt: skip


def machine(board: Board) -> File:
    """The file of a run on it: its report, and where it has rates, those of every pair that can have one."""
    file = File(gpus=(board.name,) * len(board.near), cpu=board.cpu, host="node-t")
    environment = file.context["environment"]
    environment["cpu"] |= {"sockets": board.sockets or len(board.nodes), "cores": sum(map(len, board.nodes))}
    environment["kernel"] = {"virtual_machine": board.virtual}
    environment["memory"] = {
        "total_bytes": 256 * GIB * len(board.nodes),
        "nodes": [
            {"id": node, "cpus": list(own), "allowed_cpus": list(own), "memory_bytes": 256 * GIB}
            for node, own in enumerate(board.nodes)
        ],
    }
    for gpu, report in enumerate(environment["gpus"]):
        report |= {
            "cuda": {"ordinal": gpu},
            "numa_node": board.near[gpu],
            "pci_bus_id": board.addresses[gpu] if board.addresses else address(gpu),
            "link_generation_built": board.generation,
            "link_width_built": 16,
            "nvml": {"nvlinks": nvlinks(board, gpu), "c2c_links": None},
        }
    if board.rates:
        _add_rates(file, board)
    return file


def _add_rates(file: File, board: Board) -> None:
    with_cpus = [node for node, own in enumerate(board.nodes) if own]
    for node in with_cpus:
        for other in range(len(board.nodes)):
            rate = 190.0 if node == other else 88.0 + other
            axes = {"flush": "on", "threads": 16, "bytes": GIB, "locality": "local"}
            file.add("host/memcpy", axes, {"from_node": node, "to_node": other}, GIB / rate / 1e9)
    for gpu, near in enumerate(board.near):
        for node in with_cpus:
            far = near not in (None, node)
            _add_host(file, board, node, gpu, 24.0 if far else 55.3, "remote" if far else "local")
        file.add("transfer/local", {"method": "copy_engine", "bytes": GIB}, {"gpu": gpu}, GIB / 1290e9)
        for peer in range(len(board.near)):
            if peer != gpu:
                _add_peer(file, board, gpu, peer)


def _add_host(file: File, board: Board, node: int, gpu: int, rate: float, locality: str) -> None:
    site = {"numa": node, "gpu": gpu}
    if board.near[gpu] is None:
        locality = "unknown"
    for path, share, way in (("pinned_to_gpu", 1.0, "host_to_gpu"), ("gpu_to_pinned", 0.98, "gpu_to_host")):
        if not board.to_cpu:
            file.link(way, rate * share, gpu, node, 63.0, board.generation)
        axes = {"timed": "copy", "path": path, "flush": "on", "bytes": 256 * MIB, "locality": locality}
        file.add("transfer/memcpy", axes, site, 256 * MIB / (rate * share) / 1e9)
    axes = {"between": "host_gpu", "method": "pinned", "bytes": 256 * MIB, "locality": locality}
    ends = (f"host:{node}", f"gpu:{gpu}")
    lanes = (("to_gpu", *ends), ("to_host", *ends[::-1]))
    add_both(file, axes, site, lanes, 256 * MIB / (0.9 * rate) / 1e9, 0.97)


def _add_peer(file: File, board: Board, gpu: int, peer: int) -> None:
    links = board.switched or (board.direct or {}).get((min(gpu, peer), max(gpu, peer)), 0)
    rate = 22.0 * links if links else PCIE + gpu / 10
    axes = {"method": "copy_engine", "direction": "write", "access": "on", "bytes": GIB}
    axes |= {"link": "nvlink" if links else "pcie"}
    file.add("transfer/peer", axes, {"gpu": gpu, "peer": peer}, GIB / rate / 1e9)
    if links:
        file.peer_link(gpu, peer, rate, 25.0 * links, links)


ALL_PAIRS = {(one, two): 4 for two in range(4) for one in range(two)}
BOARDS: Mapping[str, Callable[[], Board]] = {
    "one_gpu": lambda: Board(cpus(1, 16), (0,)),
    "virtual": lambda: Board(cpus(1, 16), (0,), virtual=True),
    "two_gpus_nvlink": lambda: Board(cpus(1, 32), (0, 0), direct={(0, 1): 18}),
    "two_gpus_no_rates": lambda: Board(cpus(1, 32), (0, 0), switched=18, rates=False),
    "two_sockets_four_gpus": lambda: Board(cpus(2, 64), (0, 0, 1, 1), A100, direct=ALL_PAIRS, generation=4),
    "two_sockets_four_gpus_pcie": lambda: Board(cpus(2, 64), (0, 0, 1, 1), "NVIDIA L40S", generation=4),
    "eight_gpus_switch": lambda: Board(cpus(2, 56), (0,) * 4 + (1,) * 4, switched=18),
    "hybrid_cube": lambda: Board(cpus(2, 20), (0,) * 4 + (1,) * 4, V100, direct=HYBRID_CUBE, generation=3),
    "four_sockets_eight_gpus": lambda: Board(cpus(4, 4), (0, 0, 1, 1, 2, 2, 3, 3), switched=18),
    "power9": lambda: Board(
        cpus(2, 80), (0, 0, 1, 1), V100, "IBM POWER9", direct={(0, 1): 3, (2, 3): 3}, to_cpu=3
    ),
    "eight_nodes": lambda: Board(
        cpus(8, 16), (3, 1, 7, 5), A100, "AMD EPYC 7763", direct=ALL_PAIRS, sockets=2
    ),
    "no_gpu": lambda: Board(cpus(2, 4)),
    "xml_two_sockets": lambda: from_xml("two_sockets"),
    "xml_memory_only_node": lambda: from_xml("memory_only_node"),
    "nothing_near": lambda: Board(cpus(2, 8), (None, None), switched=18),
}
