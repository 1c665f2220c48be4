"""docs/coverage.md: of which machines stored rows of the preset `paper` are, and from how many sources."""

import json
from functools import cache

from documents import REFERENCE, part, rows_of

PRESET_FLAG = "--preset=paper"
SOURCES = 64  # that the preset starts bfs and sssp from
NO_GPU = "none"


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
