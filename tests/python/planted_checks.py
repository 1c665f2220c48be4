"""Runs, rules and looks at verdicts that tests of acceptance share."""

from collections.abc import Callable

from planted import SITE, pinned_copy
from synthetic import MIB, File

BIG = 256 * MIB
VISITS = 5
COPY = """
[[rule]]
id = "to-gpu"
text = "a copy of 256 MiB"
where = { family = "transfer/memcpy", path = "pinned_to_gpu", bytes = "256MiB", locality = "local" }
unit = "GB/s"
lower = 50.0
target = 55.0
upper = 63.0
source = "planted"
"""
RUN = '[run]\npreset = "acceptance"\nvisits = 5\n'


def machine(rates=(55.0,) * VISITS, gpus: int = 1, host: str = "node-a", preset="acceptance", **peak) -> File:
    """A run whose copy of 256 MiB to GPU 0 reaches these rates, one a visit."""
    file = File(gpus=("NVIDIA H100 80GB HBM3",) * gpus, preset=preset, host=host)
    for gpu in range(gpus):
        file.link("host_to_gpu", peak.get("peak", 55.2), gpu=gpu, gen=peak.get("gen", 5))
    for visit, rate in enumerate(rates, 1):
        add(file, rate, visit)
    return file


def add(file: File, rate: float, visit: int = 1, site=SITE, size: int = BIG, **axes) -> dict:
    return file.add("transfer/memcpy", pinned_copy(size, **axes), site, size / rate / 1e9, visit=visit)


HOT = {
    "id": "gpu.slowdown", "severity": "severe", "finding": "hot", "effect": "slow", "remedy": "cool it"
}  # fmt: skip


def stopped(why: str) -> Callable[[dict], None]:
    """What makes a run one that stopped, for that reason."""
    return lambda context: context["run"].update(complete=False, why_incomplete=why)


def of(document: dict, rule: str, at: int = 0) -> list[dict]:
    return [one for one in document["files"][at]["judged"] if one["rule"] == rule]


def of_all(document: dict, rule: str) -> list[str]:
    return [one["status"] for one in of(document, rule)]
