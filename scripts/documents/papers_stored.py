"""docs/coverage.md: of which machines stored rows of the preset `paper` are, and from how many sources."""

import json
from functools import cache
from statistics import median

from documents import REFERENCE, part, rows_of

PRESET_FLAG = "--preset=paper"
SOURCES = 64  # that the preset starts bfs and sssp from
NO_GPU = "none"
# Parts that ran two at a time, each on one GPU of a pair.
BESIDE = tuple(f"h200-paper-{part}of12.json.gz" for part in (1, 2, 3, 4))


@cache
def runs() -> dict[str, str]:
    """The stored runs of the preset, and the kind of GPU that each ran on."""
    lines = map(json.loads, (REFERENCE / "manifest.jsonl").read_text().splitlines())
    return {
        line["file"]: line["gpus"].split()[1] if line["gpus"] else NO_GPU
        for line in lines
        if PRESET_FLAG in line["flags"]
    }


def measured(name: str) -> list:
    return [row for row in rows_of(name) if row.ok and row.measured]


@part("coverage.paper_runs")
def of_machines(kind: str, what: str) -> str:
    """How many runs on a kind of GPU there are, or how many measured rows they have."""
    names = [name for name, ran_on in runs().items() if ran_on == kind]
    return str(len(names) if what == "runs" else sum(len(measured(name)) for name in names))


def sources(algorithm: str) -> list[int]:
    """From how many sources each stored row of an algorithm is."""
    families = (f"traversal/{algorithm}", f"lean/{algorithm}")
    return [len(row.trials) for name in runs() for row in measured(name) if row.case.family in families]


@part("coverage.paper_sources")
def of_sources(algorithm: str) -> str:
    """How many rows of an algorithm are from fewer sources than the preset asks for, of how many."""
    return f"{sum(count < SOURCES for count in sources(algorithm))} of {len(sources(algorithm))}"


@part("coverage.paper_fewest")
def fewest() -> str:
    return str(min(sources("bfs") + sources("sssp")))


@cache
def slower(run: str) -> dict[str, list[float]]:
    """The times of rows that ran beside another part over those of a whole run, by family."""
    alone = {(row.name, row.case.version): row.median_s for row in measured(run)}
    found: dict[str, list[float]] = {}
    for row in (row for name in BESIDE for row in measured(name)):
        if time_s := alone.get((row.name, row.case.version)):
            found.setdefault(row.case.family, []).append(row.median_s / time_s)
    return found


@part("coverage.paper_beside")
def beside(run: str, what: str) -> str:
    """How many rows a run has, too; by how many percent the middle one is slower; the slowest of a family."""
    families = slower(run)
    ratios = [ratio for of_family in families.values() for ratio in of_family]
    if what == "rows":
        return str(len(ratios))
    return f"{100 * median(ratios) - 100:.0f}" if what == "middle" else f"{max(families[what]):.1f}"
