"""Pairs of files with planted differences for the tests of `compare`."""

import json
import random
from pathlib import Path

from grainscope_report.cli import main
from grainscope_report.uncertainty import FORMAT
from planted import SITE, pinned_copy
from synthetic import MIB, File

H100 = "NVIDIA H100 80GB HBM3"
AGGREGATES = ("mean", "median", "stddev")
XEON = "Intel(R) Xeon(R) Processor @ 2.10GHz 48/2048/107520 KiB"
FAMILIES = ("transfer/memcpy", "host/flush", "sm_share/split", "tiering/reorder", "latency/chase")
SIZES = [MIB << step for step in range(8)]


def type_b(families: tuple[str, ...] = FAMILIES, spread: float = 0.003, gpu: str = H100) -> bytes:
    """A table of what runs of those families differ by on machines with one or two of that GPU."""
    told = {"standard": spread, "freedom": 20}
    rows = [
        {"family": family, "version": version, "clock": "gated", "visit": told, "run": told, "machine": at}
        for family in families
        for version in (1, 2)
        for at in (0, 1)
    ]
    machines = [{"gpu": name, "cpu": XEON} for name in (gpu, f"{gpu} ×2")]
    table = {"format": FORMAT, "date": "2026-11-20", "machines": machines}
    return json.dumps(table | {"families": rows, "runs": []}).encode()


def node(
    host: str = "node-a", seed: int = 1, *, visits: int = 5, slow: dict[int, float] | None = None, **more
) -> File:
    """A node with a copy of each of SIZES at 50 GB/s in visits that differ by 0.3 %.

    `slow` multiplies the time of a size.
    """
    file = File(host=host, gpus=(H100,), date=f"2026-11-20T10:{seed:02d}:00+00:00", **more)
    file.link("host_to_gpu", 54.7)
    copies(file, seed, visits=visits, slow=slow)
    return file


def copies(
    file: File,
    seed: int = 1,
    *,
    site: dict = SITE,
    visits: int = 5,
    slow: dict[int, float] | None = None,
    **axes,
) -> None:
    """The copies of a node at one site."""
    chance = random.Random(seed)
    for size in SIZES:
        for visit in range(1, visits + 1):
            seconds = size / 50e9 * (1 + chance.gauss(0, 0.003)) * (slow or {}).get(size, 1.0)
            asked = pinned_copy(size, **axes)
            file.add("transfer/memcpy", asked, site, seconds, visit=visit, spread=0.003)


def written(folder: Path, *files: File) -> list[str]:
    """The files' paths, each in a folder of its own."""
    return [str(file.write(folder / f"run{at}" / "result.json")) for at, file in enumerate(files)]


def foreign(
    folder: Path, name: str, times: dict[str, list[float]], unit: str = "us", aggregates: bool = False, **more
) -> str:
    """Google Benchmark's own JSON: repetitions of each name, in `unit`."""
    rows = []
    for benchmark, seconds in times.items():
        for at, time in enumerate(seconds):
            kind = {"run_type": "aggregate", "aggregate_name": AGGREGATES[at % 3]}
            rows.append(
                {
                    "name": f"{benchmark}_{kind['aggregate_name']}" if aggregates else benchmark,
                    "run_name": benchmark,
                    "run_type": "iteration",
                    "repetitions": len(seconds),
                    "repetition_index": at,
                    "real_time": time,
                    "cpu_time": time,
                    "time_unit": unit,
                    **(kind if aggregates else {}),
                    **more,
                }
            )
    context = {
        "date": f"2026-11-20T10:00:00 {name}",
        "host_name": name,
        "executable": "./bench",
        "num_cpus": 8,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"context": context, "benchmarks": rows}))
    return str(path)


def compared(capsys, *arguments: str, status: int | None = None) -> dict:
    """The comparison as JSON."""
    found = main(["compare", *arguments, "--format", "json"])
    captured = capsys.readouterr()
    assert status is None or found == status, captured.err
    return json.loads(captured.out)


def verdicts(document: dict, at: int = 0) -> dict[int, str]:
    return {
        row["axes"]["bytes"]: row["verdict"] for row in document["new"][at]["rows"] if "bytes" in row["axes"]
    }
