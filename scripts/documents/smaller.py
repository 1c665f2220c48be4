"""docs/supported-systems.md: what memory costs that `--gpu-memory` holds, what a small card still does."""

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, reduce
from statistics import fmean, median, stdev

from documents import REFERENCE, clock, digits, part, raw, rows_of, table
from grainscope_report import equivalence, visits
from grainscope_report.uncertainty import Uncertainty, clock_of, combined

HELD_RUNS = ("smaller/h100-16gib-1.json.gz", "smaller/h100-16gib-2.json.gz")
WHOLE_RUNS = ("smaller/h100-whole-1.json.gz", "smaller/h100-whole-2.json.gz")
SMALL_RUN = "smaller/h100-4gib.json.gz"
MANAGED_RUN = "smaller/h200-16gib-managed.json.gz"
A_TURN = ("whole", "16gib", "16gib", "whole")
TURNS = A_TURN * 3
# Medians of runs on three machines, named 1-01-whole and so on.
COPIES_IN_TURNS = "smaller/h200-copies-turns.gz"
ON_THE_HOST = ("transfer/memcpy", "quiet")
SEARCH = "traversal/bfs"


def trials_of(run: str) -> dict[str, dict[str, float]]:
    """Seconds of each trial by its label, by row."""
    return {
        row.name: {trial.label: trial.samples_s[0] for trial in row.trials} for row in rows_of(run) if row.ok
    }


def change(one: dict[str, float], other: dict[str, float]) -> float:
    """The median ratio of the same trials."""
    return median(one[label] / other[label] for label in other)


def better(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    """The better of the runs, trial by trial."""
    return {label: min(run[label] for run in runs) for label in runs[0]}


def held_over_whole() -> dict[str, tuple[float, float, float]]:
    """By row: with memory held over without, the better of two runs each; and between two runs of a kind."""
    held, whole = ([trials_of(run) for run in runs] for runs in (HELD_RUNS, WHOLE_RUNS))
    found = {}
    for name in held[0]:
        sides = [[run[name] for run in runs] for runs in (held, whole)]
        found[name] = (change(*map(better, sides)), *(change(*side) for side in sides))
    return found


@part("smaller.held")
def of_held() -> str:
    """What memory that is held changes, and what runs differ by."""
    rows = []
    for name, (between, held, whole) in held_over_whole().items():
        family = "/".join(name.split("/")[:2])
        cells = [f"{100 * (one - 1):+.1f} %" for one in (between, held, whole)]
        rows.append([f"`{family}`", *cells])
    return table(
        ["", "held over whole", "one held over the other", "one whole over the other"], rows, right=True
    )


def runs_in_turns(gpu: str) -> list[dict[str, dict]]:
    """What each run in turns measured, by name."""
    return [
        {
            row["name"]: row
            for row in raw(f"smaller/{gpu}-turns-{side}-{turn}.json.gz")
            if row["status"] == "ok"
        }
        for turn, side in enumerate(TURNS, 1)
    ]


def of_turns(gpu: str) -> dict[tuple[str, str], tuple[int, equivalence.Estimate]]:
    """By family and clock of the runs in turns: rows, and what held memory changes."""
    runs = runs_in_turns(gpu)
    sides = [[run for run, of in zip(runs, TURNS, strict=True) if of == side] for side in ("whole", "16gib")]
    rows = defaultdict(list)
    for name in sorted(set.intersection(*map(set, runs))):
        times = tuple([math.log(run[name]["median_s"]) for run in side] for side in sides)
        rows[runs[0][name]["case"]["family"], clock_of(runs[0][name])].append(times)
    families = {key: equivalence.Family(of) for key, of in rows.items()}
    priors = {
        clock: equivalence.fit_families([family for (_, on), family in families.items() if on == clock])
        for _, clock in families
    }
    return {key: (family.rows, family.estimate(priors[key[1]])) for key, family in families.items()}


def of_both(one: equivalence.Estimate, other: equivalence.Estimate) -> equivalence.Estimate:
    """The mean of what two machines show, each as much as it is sure of."""
    weight = other.error**2 / (one.error**2 + other.error**2)
    parts = (
        Uncertainty(weight * one.error, one.freedom),
        Uncertainty((1 - weight) * other.error, other.freedom),
    )
    error = combined(*parts)
    value = weight * one.value + (1 - weight) * other.value
    return equivalence.Estimate(value, error.standard, error.freedom)


def in_percent(estimate: equivalence.Estimate) -> str:
    """A change with its 95 % interval."""
    ends = (f"{100 * (end - 1):+.1f}" for end in estimate.interval(0.95))
    # Adding 0 takes the sign from a zero.
    return f"{round(100 * math.expm1(estimate.value), 2) + 0.0:+.2f} % ({' to '.join(ends)})"


@part("smaller.families")
def of_families() -> str:
    """What held memory changes of `quick`, by family and clock: as scripts/equivalence estimates it."""
    first, second = map(of_turns, ("h100", "h200"))
    cells = []
    for (family, on), (rows, estimate) in sorted(first.items()):
        if (family, on) == ON_THE_HOST:
            continue
        line = [f"`{family}`", on, f"{rows}", in_percent(estimate)]
        if again := second.get((family, on)):
            line += [f"{again[0]}", in_percent(again[1]), in_percent(of_both(estimate, again[1]))]
        cells.append([*line, *[""] * (7 - len(line))])
    return table(["", "clock", "rows", "H100", "rows", "H200", "both"], cells, right=True)


def between_halves(rows: Sequence[Sequence[float]]) -> equivalence.Estimate:
    """What held memory changes, of logarithms of times by row and run, runs in turns: of each four runs the
    inner two less the outer two, so that a machine that slowly changes favours neither."""
    centred = [[time - sum(row) / len(row) for time in row] for row in rows]
    places = [equivalence.interquartile_mean(run) for run in zip(*centred, strict=True)]
    fours = [places[start : start + len(A_TURN)] for start in range(0, len(places), len(A_TURN))]
    apart = [(inner + other - first - last) / 2 for first, inner, other, last in fours]
    return equivalence.Estimate(fmean(apart), stdev(apart) / math.sqrt(len(apart)), len(apart) - 1)


@cache
def copies_in_turns() -> list[tuple[str, int, int, equivalence.Estimate]]:
    """By machine: its GPU, runs, rows, and what held memory changes of copies on the host's clock."""
    runs = runs_in_turns("h100")
    names = [name for name, row in runs[0].items() if (row["case"]["family"], clock_of(row)) == ON_THE_HOST]
    rows = [[math.log(run[name]["median_s"]) for run in runs] for name in names]
    found = [("H100", len(runs), len(rows), between_halves(rows))]
    machines = defaultdict(list)
    for run in visits.read(REFERENCE / COPIES_IN_TURNS):
        machines[run.machine].append(run)
    for of in machines.values():
        if [run.source.split("-")[2].split(".")[0] for run in of] != list(A_TURN) * (len(of) // len(A_TURN)):
            raise ValueError(f"{COPIES_IN_TURNS}: runs of {of[0].machine} are not in turns")
        # A row that a busy visit took is the same row.
        medians = [
            {
                json.dumps(json.loads(question)[:-1]): median(
                    visit.median_s for process in processes for visit in process
                )
                for question, processes in run.processes.items()
            }
            for run in of
        ]
        shared = sorted(set.intersection(*map(set, medians)))
        times = [[math.log(run[row]) for run in medians] for row in shared]
        found.append(("H200", len(of), len(shared), between_halves(times)))
    return found


def copies_together() -> equivalence.Estimate:
    """What held memory changes of them on all machines, each as much as it is sure of."""
    return reduce(of_both, (estimate for *_, estimate in copies_in_turns()))


@part("smaller.copies")
def of_copies() -> str:
    """What held memory changes of copies on the host's clock, by machine and of all."""
    found = copies_in_turns()
    cells = [[gpu, f"{runs}", f"{rows}", in_percent(estimate)] for gpu, runs, rows, estimate in found]
    cells.append(["all", f"{sum(runs for _, runs, _, _ in found)}", "", in_percent(copies_together())])
    return table(["GPU", "runs", "rows", "16 GiB left over the whole card"], cells, right=True)


@part("smaller.between")
def between_runs(name: str) -> str:
    """Percent by which two runs of a kind differ at most."""
    (row,) = (found for row, found in held_over_whole().items() if row.startswith(f"traversal/{name}/"))
    return f"{100 * max(max(one, 1 / one) - 1 for one in row[1:]):.0f}"


@part("smaller.ways")
def ways_left() -> str:
    """What a card of 4 GiB still does with a graph whose edges it does not hold."""
    return ways_of(SMALL_RUN, "bfs of kron 24")


@part("smaller.managed")
def ways_of_managed() -> str:
    """What a card of 16 GiB does with a graph whose edges are within the budget of managed memory."""
    return ways_of(MANAGED_RUN, "bfs of kron 23")


@part("smaller.moved")
def moved_by_the_driver() -> str:
    """GB that the driver copied to the GPU in a cold search, by its own count."""
    (row,) = (row for row in rows_of(MANAGED_RUN) if is_whole_managed(row.case.axes))
    if row.counters["driver_to_host_bytes"] != 0:
        raise ValueError(f"{MANAGED_RUN}: pages were evicted, and the page says that none is")
    return digits(row.counters["driver_to_gpu_bytes"] / 1e9)


def is_whole_managed(axes: dict[str, object]) -> bool:
    return axes.get("placement") == "managed" and axes["order"] == "original"


def ways_of(run: str, head: str) -> str:
    """A search by each way: its time, and what it takes of the GPU's memory, or why not."""
    rows = []
    for row in rows_of(run):
        axes = row.case.axes
        if row.case.family == SEARCH:
            way = f"`{axes['placement']}`" + (f", `{axes['order']}`" if axes["order"] != "original" else "")
        else:
            way = f"`{row.case.family}`, {axes['hot']} % hot"
        if row.ok:
            taken = row.counters["gpu_bytes"] + row.counters.get("driver_to_gpu_bytes", 0)
            rows.append([way, clock(row.median_s), f"{digits(taken / 1e6)} MB"])
        else:
            rows.append([way, "skipped", row.reason.removeprefix("skipped: ").split(";")[0]])
    return table([head, "time", "GPU memory, or why not"], rows)
