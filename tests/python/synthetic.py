"""Builds complete result files with known answers, so that every test knows what it must read back.

Statistics are computed here in the plainest way and not with the package under test.
"""

import json
import random
from pathlib import Path

SAMPLES = 32
LOWER, UPPER = 10, 23  # ranks of the interval of the median of 32 samples: ⌊(32 − 1.96 √32)/2⌋ and 33 − that
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def samples(median_s: float, spread: float = 0.01, count: int = SAMPLES, seed: int = 1) -> list[float]:
    """An even spread of ±`spread` about a median, in random order."""
    half = (count - 1) / 2
    found = [median_s * (1 + spread * (order - half) / half) for order in range(count)]
    random.Random(seed).shuffle(found)
    return found


def times(found: list[float], visit: int = 1) -> dict:
    """The statistics of a visit of 32 samples as the format has them."""
    ordered = sorted(found)
    middle = (ordered[15] + ordered[16]) / 2
    off = sorted(abs(one - middle) for one in found)
    within = [ordered[LOWER - 1], ordered[UPPER - 1]]
    return {
        "visits": [{"round": visit, "samples_s": found, "median_s": middle, "within_s": within}],
        "middle": 0,
        "median_s": middle,
        "mad_s": (off[15] + off[16]) / 2,
        "p5_s": ordered[1] + 0.55 * (ordered[2] - ordered[1]),
        "p95_s": ordered[29] + 0.45 * (ordered[30] - ordered[29]),
    }


def case_name(family: str, axes: dict, site: dict) -> str:
    """The name as the suite derives it: words first, then `key:value`."""
    words = [str(value) for axis, value in axes.items() if isinstance(value, str) and axis != "locality"]
    numbers = [f"{axis}:{value}" for axis, value in axes.items() if not isinstance(value, str)]
    where = [f"{axis}:{value}" for axis, value in site.items()]
    return "/".join([family, *words, *where, *numbers])


__all__ = ["GIB", "KIB", "MIB", "File", "samples", "times"]


def _lane(lane: dict) -> dict:
    seconds = lane.pop("seconds")
    found = {"median_s": seconds, "within_s": [seconds * 0.99, seconds * 1.01]}
    if lane["bytes"]:
        found["bandwidth_gb_s"] = lane["bytes"] / seconds / 1e9
    return lane | found


def merged(rows: list[dict]) -> list[dict]:
    """The visits to a case as one row, with their uncertainties; single ones stay the same objects."""
    cases: dict[str, list[dict]] = {}
    for at, row in enumerate(rows):
        rounds = [one["visits"][0]["round"] for one in cases.get(row["name"], ()) if "visits" in one]
        another = row["status"] == "ok" and "visits" in row and row["visits"][0]["round"] not in rounds
        cases.setdefault(row["name"] if another else f"{row['name']} {at}", []).append(row)
    if all(len(visits) == 1 for visits in cases.values()):
        return rows
    from grainscope_report import uncertainty  # not there for programs that write one visit

    found = [visits[0] if len(visits) == 1 else _merged(visits) for visits in cases.values()]
    uncertainty.apply(found, {"environment": {"gpus": [], "cpu": {"model": ""}}}, uncertainty.TypeB())
    return found


def _merged(rows: list[dict]) -> dict:
    order = sorted(range(len(rows)), key=lambda at: rows[at]["median_s"])
    middle = order[(len(rows) - 1) // 2]
    return rows[middle] | {"visits": [row["visits"][0] for row in rows], "middle": middle}


class File:
    """A result file in the making."""

    def __init__(
        self,
        *,
        host: str = "node-a",
        gpus: tuple[str, ...] = (),
        cpu: str = "Intel(R) Xeon(R) Processor @ 2.10GHz",
        caches: tuple[tuple[int, int], ...] = ((1, 48 * KIB), (2, 2 * MIB), (3, 105 * MIB)),
        driver: str | None = "580.159",
        date: str = "2026-11-20T10:15:00+00:00",
        preset: str = "full",
    ) -> None:
        self.rows: list[dict] = []
        self.links: list[dict] = []
        self.context = {
            "date": date,
            "host_name": host,
            "executable": "grainscope",
            "num_cpus": 16,
            "schema_version": 2,
            "grainscope": {
                "version": "0.1.0",
                "commit": "1a2b3c4d5e6f7890",
                "compiler": "GNU 12.2.0",
                "cuda": "13.0" if gpus else None,
                "benchmark_library": "1.7.1",
            },
            "run": {
                "id": f"{host}-{date}",
                "preset": preset,
                "filter": "",
                "flags": [],
                "started": date,
                "ended": date,
                "complete": True,
                "why_incomplete": None,
                "shard": {"index": 1, "count": 1},
                "ci_target": 0.02,
                "seed": 7,
                "wall_s": 148.0,
            },
            "environment": {
                "cpu": {
                    "model": cpu,
                    "caches": [
                        {
                            "level": level,
                            "type": "Data" if level == 1 else "Unified",
                            "bytes": size,
                            "shared_by": 1,
                        }
                        for level, size in caches
                    ]
                    + [{"level": 1, "type": "Instruction", "bytes": 32 * KIB, "shared_by": 1}],
                },
                "gpus": [{"name": name} for name in gpus],
                "driver": {"version": driver if gpus else None},
                "warnings": [],
            },
        }

    def warn(self, severity: str, finding: str) -> None:
        """Adds a finding about the machine."""
        self.context["environment"]["warnings"].append(
            {
                "id": finding.split()[0],
                "severity": severity,
                "finding": finding,
                "effect": "Times vary from run to run.",
                "remedy": "cpupower frequency-set --governor performance",
            }
        )

    def link(
        self,
        direction: str,
        peak: float,
        gpu: int = 0,
        numa: int = 0,
        theoretical: float = 63.0,
        gen: int = 5,
    ):
        """Adds a measured copy peak, GB/s."""
        self._link({"gpu": gpu, "numa": numa}, direction, peak, theoretical, generation=gen, width=16)

    def peer_link(
        self, gpu: int, peer: int, peak: float, theoretical: float = 450.0, nvlinks: int | None = 18
    ) -> None:
        """Adds a measured copy peak from one GPU to another, GB/s."""
        more = {"nvlinks": nvlinks} if nvlinks else {}
        self._link({"gpu": gpu, "peer": peer}, "to_peer", peak, theoretical, **more)

    def _link(self, ends: dict, direction: str, peak: float, theoretical: float, **more) -> None:
        self.links.append(
            {
                **ends,
                "direction": direction,
                "peak_gb_s": peak,
                "within_gb_s": [peak * 0.999, peak * 1.001],
                "bytes": 512 * MIB,
                "theoretical_gb_s": theoretical,
                **more,
            }
        )

    def add(
        self,
        family: str,
        axes: dict,
        site: dict,
        median_s: float,
        *,
        spread: float = 0.01,
        flags: tuple[str, ...] = (),
        visit: int = 1,
        **more,
    ) -> dict:
        """Adds an `ok` row of this median; `bytes` among the axes are the bytes asked for.

        What several visits to a case add, one each, is one row of the document.
        """
        row = self._row(family, axes, site)
        found = samples(median_s, spread, seed=len(self.rows))
        row |= {"status": "ok", **times(found, visit), "flags": list(flags), "verified": True}
        row |= {"timing": {"clock": "event", "gated": True, "timed": str(axes.get("timed", "all"))}}
        if size := more.pop("bytes", axes.get("bytes")):
            row |= {"bytes": size, "bandwidth_gb_s": size / row["median_s"] / 1e9}
        if operations := more.pop("operations", None):
            row |= {"operations": operations, "operation_s": row["median_s"] / operations}
        if (peak := self._peak(axes, site)) and "bandwidth_gb_s" in row:
            row["link_fraction"] = row["bandwidth_gb_s"] / peak
        row |= {
            "real_time": row["median_s"] * 1e9,
            "cpu_time": row["median_s"] * 1e9,
            "time_unit": "ns",
            **more,
        }
        self.rows.append(row)
        return row

    def together(
        self,
        family: str,
        axes: dict,
        site: dict,
        lanes: list[dict],
        *,
        overlap: float,
        median_s: float | None = None,
        **more,
    ) -> dict:
        """Adds an `ok` row of lanes at once; each lane has name, bytes, seconds, from, to and what else."""
        made = [_lane(dict(lane)) for lane in lanes]
        counted = [lane for lane in made if not lane.get("background")]
        total = sum(lane["bytes"] for lane in counted)
        whole = median_s or max(lane["median_s"] for lane in counted)
        if peak := self._peaks(counted):
            more["link_fraction"] = total / whole / 1e9 / peak
        return self.add(family, axes, site, whole, bytes=total, lanes=made, overlap=overlap, **more)

    def lose(self, status: str, reason: str, family: str, axes: dict, site: dict) -> dict:
        """Adds a `skipped` or `failed` row."""
        row = self._row(family, axes, site) | {"status": status, "reason": reason}
        self.rows.append(row)
        return row

    def _row(self, family: str, axes: dict, site: dict) -> dict:
        name = case_name(family, axes, site)
        return {
            "name": name,
            "run_name": name,
            "run_type": "iteration",
            "case": {"family": family, "version": 1, "axes": dict(axes), "site": dict(site)},
            "label": "measured",
        }

    def _peaks(self, lanes: list[dict]) -> float | None:
        """The peaks of the links that the lanes cross, together; None where one is not known."""
        known = {}
        for link in self.links:
            own = f"gpu:{link['gpu']}"
            other = f"gpu:{link['peer']}" if "peer" in link else f"host:{link['numa']}"
            pair = (other, own) if link["direction"] == "host_to_gpu" else (own, other)
            known[pair] = link["peak_gb_s"]
        crossed = {(lane["from"], lane["to"]) for lane in lanes if lane["bytes"]}
        return sum(known[pair] for pair in crossed) if crossed and crossed <= known.keys() else None

    def _peak(self, axes: dict, site: dict) -> float | None:
        if "peer" in site or "between" in axes:
            return None
        path = f"{axes.get('path', '')}{axes.get('direction', '')}"
        inward = path.endswith("_to_gpu") or path == "read" or "memory" in axes
        direction = "host_to_gpu" if inward else "gpu_to_host"
        for link in self.links:
            if "numa" in link and (link["gpu"], link["numa"], link["direction"]) == (
                site.get("gpu"),
                site.get("numa"),
                direction,
            ):
                return link["peak_gb_s"]
        return None

    def document(self) -> dict:
        """The whole file, counted."""
        rows = merged(self.rows)
        for row in rows:
            if "real_time" in row and isinstance(row.get("median_s"), float):  # which may be another by now
                row["real_time"] = row["median_s"] * 1e9
        counts = {
            status: sum(row["status"] == status for row in rows) for status in ("ok", "skipped", "failed")
        }
        visits = max((len(row.get("visits", ())) for row in rows), default=1)
        run = self.context["run"] | {"counts": counts, "visits": visits or 1}
        return {"context": self.context | {"run": run, "links": self.links}, "benchmarks": rows}

    def write(self, path: Path) -> Path:
        """Writes the file, its directory with it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.document()), encoding="utf-8")
        return path
