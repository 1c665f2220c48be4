"""Digests of a fleet that nobody has: a committed run, and what its table says that runs differ by.

Each row of a run is the committed one times what this run, this node and this row differ by. Of the type B of
a row a quarter of the variance is shared by its family in that run, the rest is the row's own; type A is the
row's own. A node's own part is 0.3 %, by family. What is planted comes on top.
"""

import argparse
import gzip
import json
import math
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from multiprocessing import Pool
from pathlib import Path

from grainscope_report import loading, uncertainty
from grainscope_report.fleet import sources

BASE = Path(__file__).resolve().parents[2] / "results/reference/acceptance/h100-a.json.gz"
OF_NODES = 0.003
SHARED = 0.5  # of type B, as a standard deviation
START = datetime(2026, 11, 1, 6, tzinfo=UTC)
DRIVERS = ("580.159.04", "590.48.01")


@cache
def _base(families: frozenset[str]) -> tuple[dict, list[tuple]]:
    """The context, and of each row its family, its numbers and its text with holes."""
    _, document = loading.load(BASE)
    context = json.loads(next(sources.digest_lines(document)))["context"]
    rows = []
    for row in document["benchmarks"]:
        if families and row["case"]["family"] not in families:
            continue
        told = sources.row_of(row)
        varies = row["status"] == "ok" and row["label"] == "measured"
        numbers = {name: told[name] for name in ("bandwidth_gb_s", "median_s", "operation_s") if name in told}
        holes = told | {name: f"@{name}@" for name in numbers} if varies else told
        text = json.dumps(holes, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        for name in numbers if varies else ():
            text = text.replace(f'"@{name}@"', f"@{name}@")
        spread = {kind: told.get("uncertainty", {}).get(kind, {}).get("standard", 0.0) for kind in "ab"}
        clock = uncertainty.clock_of(row)
        parts = text.split("@") if varies else [text]
        rows.append((row["case"]["family"], clock, spread["a"], spread["b"], numbers, parts))
    return context, rows


def digest_of(
    node: int,
    run: int = 0,
    *,
    seed: int = 1,
    slow: Mapping[str, float] | None = None,
    everything: float = 1.0,
    day: float = 0,
    driver: str | None = None,
    width: int | None = None,
    families: frozenset[str] = frozenset(),
    context: Mapping[str, object] | None = None,
    level: int = 6,
) -> bytes:
    """A digest of a node's run; `slow` are factors on the times of families, `everything` one on all."""
    base, rows = _base(families)
    own = random.Random(f"{seed} {node}")
    drawn = random.Random(f"{seed} {node} {run}")
    of_node: dict[str, float] = {}
    of_run: dict[tuple[str, str], float] = {}
    out = []
    for family, clock, a, b, numbers, parts in rows:
        if len(parts) == 1:
            out.append(parts[0])
            continue
        if family not in of_node:
            of_node[family] = own.gauss(0, OF_NODES)
        if (family, clock) not in of_run:
            of_run[family, clock] = drawn.gauss(0, 1)
        far = of_node[family] + b * (
            SHARED * of_run[family, clock] + math.sqrt(1 - SHARED**2) * drawn.gauss(0, 1)
        )
        factor = math.exp(far + a * drawn.gauss(0, 1)) * everything * (slow or {}).get(family, 1.0)
        out.append("".join(
            part if at % 2 == 0
            else repr(numbers[part] / factor if part == "bandwidth_gb_s" else numbers[part] * factor)
            for at, part in enumerate(parts)
        ))  # fmt: skip
    head = json.dumps(
        {
            "context": _context(base, node, run, seed, day, driver, width) | (context or {}),
            "digest": sources.DIGEST_FORMAT,
            "rows": len(out),
        },
        sort_keys=True,
        separators=(",", ":"),
    )
    text = "".join(f"{line}\n" for line in (head, *out))
    return gzip.compress(text.encode(), level, mtime=0)


def _context(base, node, run, seed, day, driver, width):
    made = json.loads(json.dumps(base))
    started = START + timedelta(days=day, seconds=node % 3600)
    made["host_name"] = f"node-{node:05}"
    ended = started + timedelta(seconds=float(made["run"]["wall_s"]) + 1)
    made["run"] |= {
        "id": f"{random.Random(f'{seed} {node} {run} id').getrandbits(32):08x}-{node:08x}",
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "ended": ended.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    made["environment"]["driver"]["version"] = driver or DRIVERS[0]
    for at, gpu in enumerate(made["environment"]["gpus"]):
        gpu["uuid"] = f"GPU-{node:08x}-{at}"
    if width:
        for link in made["links"]:
            link |= {"width": width, "peak_gb_s": link["peak_gb_s"] * width / 16}
    return made


def write(folder: Path, node: int, *arguments, **more) -> Path:
    """Writes a digest where `scripts/fleet-run` has it."""
    path = folder / f"node-{node:05}" / sources.DIGEST
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(digest_of(node, *arguments, **more))
    return path


def altered(nodes: Path, node: int | str, alter: Callable[[dict, list], None]) -> None:
    """Writes the digest of a node, or of a folder, again, with what `alter` makes of its context and rows."""
    folder = node if isinstance(node, str) else f"node-{node:05}"
    path = nodes / folder / sources.DIGEST
    head, *rows = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    alter(head["context"], rows)
    head["rows"] = len(rows)
    lines = (json.dumps(line, sort_keys=True, separators=(",", ":")) for line in (head, *rows))
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), 1))


def planted(node: int) -> dict[str, object]:
    """Every hundredth node is 3 % slow in one family, one node has half of a link."""
    if node == 77:
        return {"width": 8}
    return {"slow": {"transfer/memcpy": 1.03}} if node % 100 == 50 else {}


def _planted(job: tuple[Path, int]) -> None:
    folder, node = job
    write(folder, node, level=1, **planted(node))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes the digests of a fleet with what is planted in it.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("nodes", type=int)
    given = parser.parse_args()
    with Pool() as pool:
        for _ in pool.imap_unordered(_planted, ((given.folder, node) for node in range(given.nodes)), 64):
            pass
