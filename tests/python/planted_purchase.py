"""Machines and workloads for `evaluate` with answers worked out by hand.

A machine has two components, copies of 64 MiB by engine (`copies`) and by kernel (`kernels`), at 10 GB/s
on the reference. A candidate is given by how many times faster it is in each. Visits and runs differ by as
much as the table of type B says, next to nothing where a test does not care.
"""

import json
from pathlib import Path

from grainscope_report.cli import main
from planted import SITE, pinned_copy
from synthetic import MIB, File

SIZE = 64 * MIB
COPIES = '{ family = "transfer/memcpy", path = "pinned_to_gpu", bytes = "64MiB" }'
GPU, CPU = "NVIDIA H100 80GB HBM3", "Intel(R) Xeon(R) Processor @ 2.10GHz"
FAMILIES = ("transfer/memcpy", "transfer/kernel_copy", "gather")
KERNELS = '{ family = "transfer/kernel_copy", path = "pinned_to_gpu" }'

# X twice as fast in copies, Y 1.5 times in kernels: T of X is 0.25 + 0.5, of Y 0.5 + 0.5 / 1.5.
X, Y = {"copies": 2.0, "kernels": 1.0, "host": "node-x"}, {"copies": 1.0, "kernels": 1.5, "host": "node-y"}


def machine(
    copies: float = 1.0, kernels: float = 1.0, host: str = "node-r", spread: float = 0.0, peak=55.0, **more
) -> File:
    """A machine so many times faster than the reference."""
    file = File(gpus=(GPU,), host=host, **more)
    file.link("host_to_gpu", peak)
    visit(file, copies, kernels, spread)
    return file


def visit(file: File, copies: float, kernels: float, spread: float = 0.0, number: int = 1) -> None:
    """One more visit to both components."""
    file.add("transfer/memcpy", pinned_copy(SIZE), SITE, seconds(copies), spread=spread, visit=number)
    axes = {"path": "pinned_to_gpu", "bytes": SIZE, "locality": "local"}
    file.add("transfer/kernel_copy", axes, SITE, seconds(kernels), spread=spread, visit=number)


def seconds(ratio: float) -> float:
    return SIZE / 10e9 / ratio


def workload(shares=(0.5, 0.5), candidates: str = "", head: str = "", tail: str = "") -> str:
    """A workload of the two components; `candidates` as `X=price,watts Y` are files `X.json`."""
    text = f'{head}\nreference = "r.json"\n'
    for name, share, where in zip(("copies", "kernels"), shares, (COPIES, KERNELS), strict=True):
        text += f'[[component]]\nname = "{name}"\nshare = {share}\nwhere = {where}\n'
    for one in candidates.split():
        name, _, offer = one.partition("=")
        text += f'[[candidate]]\nname = "{name}"\nfiles = ["{name}.json"]\n'
        price, _, watts = offer.partition(",")
        text += f"price_node = {price}\n" if price else ""
        text += f'watts = {watts}\nwatts_source = "measured"\n' if watts else ""
    return text + tail


def sized(ratio: float, host: str, sizes=(MIB, 4 * MIB, 16 * MIB), cost: float = 1.0) -> object:
    """Copies whose rate is a power of the size, which a line in log-log meets exactly."""
    file = machine(host=host)
    for size in sizes:
        rate = ratio * 1e9 * (size / MIB) ** (0.5 * cost)
        file.add("transfer/memcpy", pinned_copy(size), SITE, size / rate)
    return file


def along(sizes: str) -> str:
    """A workload of copies alone, with these weights of their sizes."""
    where = '{ family = "transfer/memcpy", path = "pinned_to_gpu" }'
    return (
        f'reference = "r.json"\n[[component]]\nname = "c"\nshare = 1\nwhere = {where}\nalong = "bytes"\n'
        f'sizes = {{ {sizes} }}\n[[candidate]]\nname = "X"\nfiles = ["X.json"]\n'
    )


def table(run: float = 1e-6, visit: float = 1e-6, families=FAMILIES, gpu: str = GPU, **more) -> dict:
    """A table of type B for the machines here: what runs and visits of each family differ by."""
    rows = [
        {"family": family, "version": 1, "clock": clock, "machine": at}
        | {"visit": {"standard": visit} | more, "run": {"standard": run} | more}
        for family in families
        for clock in ("gated", "open", "host")
        for at in range(3)
    ]
    machines = [{"gpu": name, "cpu": f"{CPU} 48/2048/107520 KiB"} for name in (gpu, f"{gpu} ×2", f"{gpu} ×3")]
    return {"format": "grainscope type-b 2", "date": "2026-11-25", "machines": machines, "families": rows}


KNOWN = table()


def evaluate(
    folder: Path, text: str, *arguments: str, type_b: dict | None = KNOWN, **files: File
) -> tuple[int, dict]:
    """Runs `evaluate`; gives the exit status and verdict.json. The reference `r` has a default."""
    if type_b:
        (folder / "b.table").write_text(json.dumps(type_b))
        arguments = ("--type-b", str(folder / "b.table"), *arguments)
    for name, file in ({"r": machine()} | files).items():
        file.write(folder / f"{name}.json")
    (folder / "w.toml").write_text(text)
    out = folder / "out"
    status = main(["evaluate", str(folder / "w.toml"), "-o", str(out), "--draws", "500", *arguments])
    verdict = out / "verdict.json"
    return status, json.loads(verdict.read_text()) if verdict.exists() else {}


def candidate(document: dict, name: str) -> dict:
    [found] = [one for one in document["candidates"] if one["name"] == name]
    return found
