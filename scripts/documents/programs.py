"""docs/model.md: programs predicted from microbenchmarks, and the constants that the package has for that."""

import csv
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from documents import (
    COUNTERS,
    FULL,
    NAMED_RUNS,
    QUICK,
    REFERENCE,
    Names,
    files_of,
    part,
    result,
    rows_of,
    table,
)
from grainscope_report.groups import programs as held
from grainscope_report.groups import programs_rates as rates
from grainscope_report.groups import programs_times as programs
from grainscope_report.groups.programs import Predictions, Quality
from grainscope_report.model import Row
from grainscope_report.statistics import median
from grainscope_report.units import format_percent

# The runs by kind of GPU that have programs beside the microbenchmarks of the same machine. What a machine
# measured one after the other is one run, and so are the halves of `full`, though each is of another machine
# of the kind.
RUNS: dict[str, tuple[Names, ...]] = {
    "H100": (
        "acceptance/h100-a.json.gz", "acceptance/h100-b1.json.gz", "acceptance/h100-b2.json.gz",
        "acceptance/h100-c1.json.gz", "acceptance/h100-c2.json.gz",
        QUICK[0], FULL,
        ("h100-kinds.json.gz", "h100-programs.json.gz"),
    ),
    "H200": (
        "acceptance/h200-a.json.gz", "acceptance/h200-b.json.gz", "acceptance/h200-c1.json.gz",
        "acceptance/h200-c2.json.gz", "acceptance/two-h200-1.json.gz", "acceptance/two-h200-2.json.gz",
        ("h200-programs.json.gz", "h200-programs-more.json.gz"),
    ),
}  # fmt: skip
# Programs in two kinds of memory and rows at random, of one machine. All other rates are of the same H100; of
# the H200 they are another machine's.
IN_OTHER_MEMORY = {
    "H100": ("h100-kinds.json.gz", "h100-programs.json.gz"),
    "H200": ("two-h200-tables.json.gz", "h200-host-memory.json.gz", "acceptance/two-h200-1.json.gz"),
}  # fmt: skip
# A whole run of `quick` that no constant is fitted to.
LATER = "h100-quick-short.json.gz"
# What several runs of the same cases say of rows that are predicted badly.
ADDITIONS = "h100-additions.csv"
SHIPPED = "scripts/grainscope_report/programs.json"
DIGITS = 3
PROMISED = 0.25  # nine in ten rows of a kind of GPU are within


def shipped() -> str:
    """The file of constants by kind of GPU, and of how far off rows of it are by those of the others."""
    constants = programs.fitted_on({gpu: seen_on(gpu) for gpu in RUNS})
    made = {"constants": constants, "errors": {gpu: errors_on(gpu, constants) for gpu in RUNS}}
    return json.dumps(made, indent=1) + "\n"


def seen_on(gpu: str) -> list:
    """The rows of programs on a kind of GPU, each with the rates of its own run."""
    return [one for names in RUNS[gpu] for one in _seen_in(names)]


def _seen_in(names: Names) -> list:
    found = []
    known = rates.by_row(result(names))
    for row in result(names).rows:
        if row.measured and programs.is_program(row) and row.case.locality != "remote":
            with suppress(programs.UnpredictedError):
                programs.predict(row, known(row), EVERYTHING)
                found.append((row, known(row)))
    return found


EVERYTHING = {name: 1.0 for group in programs.GROUPS for name in group.names}


def errors_on(gpu: str, constants: dict) -> dict[str, dict[str, float]]:
    rows = [one for names in RUNS[gpu] for one in held.of(result(names), constants).rows]
    found = [held.quality(group, rows, ()) for group in sorted(programs.FAMILIES)]
    return {
        one.group: {"rows": one.rows, "median": _digits(one.median), "ninth": _digits(one.ninth)}
        for one in found
    }


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


@cache
def predictions(gpu: str) -> Predictions:
    """All predicted rows of a kind of GPU, and the choices of each run."""
    runs = [held.of(result(names)) for names in RUNS[gpu]]
    every = Predictions(tuple(one for run in runs for one in run.rows))
    every.__dict__["choices"] = [choice for run in runs for choice in run.choices]
    return every


def qualities(gpu: str) -> list[Quality]:
    return predictions(gpu).qualities


@part("model.predicted")
def predicted() -> str:
    """A line for each kind of GPU and group of programs."""
    heads = ["GPU", "programs", "rows", "off by: median", "nine in ten", "beyond half", "same fastest way"]
    rows = [
        [
            gpu,
            f"`{one.group}`",
            str(one.rows),
            format_percent(one.median),
            format_percent(one.ninth),
            str(len(one.beyond)),
            f"{one.same} of {one.choices}",
        ]
        for gpu in RUNS
        for one in qualities(gpu)
    ]
    return table(heads, rows, right=True)


@part("model.beyond")
def beyond() -> str:
    """What explains the rows that are off by more than half: how many, and how far apart two runs are."""
    counts: dict[str, list[int]] = {}
    apart: dict[str, list[float]] = {}
    for at, gpu in enumerate(RUNS):
        for one in (far for quality in qualities(gpu) for far in quality.beyond):
            why = held.why(one) or "not explained"
            counts.setdefault(why, [0] * len(RUNS))[at] += 1
            apart.setdefault(why, []).extend(_run_to_run(gpu).get(one.row.name, ()))
    rows = [
        [why, *map(str, seen), f"{median(apart[why]):.2f}×" if apart[why] else ""]
        for why, seen in sorted(counts.items(), key=lambda one: -sum(one[1]))
    ]
    return table(["rows off by more than half", *RUNS, "one row from run to run"], rows, True)


@cache
def _run_to_run(gpu: str) -> dict[str, tuple[float]]:
    """How many times as long each row takes in one run as in another, of those that several have."""
    times: dict[str, list[float]] = {}
    for one in predictions(gpu).rows:
        times.setdefault(one.row.name, []).append(one.row.median_s)
    return {name: (max(seen) / min(seen),) for name, seen in times.items() if len(seen) > 1}


@part("model.again")
def again(gpu: str) -> str:
    """The median of all predicted rows."""
    return f"{median([times for (times,) in _run_to_run(gpu).values()]):.2f}"


@part("model.why")
def seen(what: str) -> str:
    """What was seen of the kinds of rows that are off by more than half."""
    return EVIDENCE[what]()


def _worst_subway() -> str:
    """How far off the worst row that gathers lists on the host is, of all runs on the H100."""
    rows = (one for one in predictions("H100").rows if one.row.case.axes.get("placement") == "subway")
    return format_percent(max(abs(one.error) for one in rows))


@cache
def additions() -> dict[str, dict[str, float]]:
    """What counters of an H100 saw of a sweep of pr over edges in its memory, by graph."""
    with (REFERENCE / ADDITIONS).open(newline="") as file:
        return {
            row.pop("graph"): {name: float(value) for name, value in row.items()}
            for row in csv.DictReader(file)
        }


def _crossed(graph: str) -> str:
    """The percent of what a naive search asks for that the caches did not answer."""
    (row,) = (
        row
        for row in rows_of(COUNTERS)
        if row.case.family == "traversal/bfs"
        and row.case.axes["access"] == "naive"
        and row.case.axes["graph"] == graph
    )
    return f"{100 * row.counted.requests / row.traffic.requests:.0f}"


def _line_loads(row_bytes: int) -> str:
    """Loads of its memory that a thread of the H100's host takes for a line of a row."""
    both = result(IN_OTHER_MEMORY["H100"])
    known = rates.of(both)
    asked = {"mode": "cpu_gather", "row": row_bytes, "span": 1 << 30}.items()
    (row,) = (row for row in both.of("gather") if row.measured and row.case.axes.items() >= asked)
    return f"{row.median_s * known.host_threads / (row.bytes / programs.HOST_LINE) / known.host_load_s:.2f}"


EVIDENCE: dict[str, Callable[[], str]] = {
    "worst_subway": _worst_subway,
    "additions": lambda: f"{additions()['web20']['edges_to_one_vertex']:,.0f}",
    "each_addition": lambda: (
        f"{1e3 * additions()['web20']['sweep_us'] / additions()['web20']['edges_to_one_vertex']:.1f}"
    ),
    "busy_web20": lambda: f"{100 * additions()['web20']['busy_mean']:.0f}",
    "busiest_web20": lambda: f"{100 * additions()['web20']['busy_busiest_slice']:.0f}",
    "busy_others": lambda: " and ".join(
        f"{100 * additions()[graph]['busy_mean']:.0f}" for graph in ("kron21", "urand21")
    ),
    "crossed_kron20": lambda: _crossed("kron20"),
    "crossed_web20": lambda: _crossed("web20"),
    "line_of_1KiB": lambda: _line_loads(1 << 10),
    "line_of_16KiB": lambda: _line_loads(1 << 14),
}


@part("model.miss")
def miss(run: str, memory: str, row: str) -> str:
    """Nanoseconds of a translation miss, and how many more the first of a batch at a granule takes."""
    seconds, more = rates.of(result(NAMED_RUNS.get(run, run)), memory=memory).misses.of(float(row))
    return f"{1e9 * seconds:.1f} and {1e9 * more:.1f} ns"


@part("model.what_if")
def what_if() -> str:
    """What was predicted of changes that rows emulate."""
    found: dict[tuple[str, str], list[float]] = {}
    for gpu in RUNS:
        changes = [
            one for names in RUNS[gpu] for one in held.what_ifs(result(names)) if one.what != held.OTHER
        ]
        changes += in_other_memory(gpu)
        for one in changes:
            found.setdefault((one.what, gpu), []).append(one.error)
    rows = [
        [what, gpu, str(len(errors)), *map(format_percent, (_off(errors), max(map(abs, errors))))]
        for (what, gpu), errors in sorted(found.items())
    ]
    return table(["changed", "GPU", "rows", "off by: median", "worst"], rows)


@part("model.other_memory")
def other_memory() -> str:
    """What was predicted of programs in another kind of memory, and of which kind is the faster."""
    rows = []
    for gpu in IN_OTHER_MEMORY:
        for group in programs.FAMILIES:
            errors = [one.error for one in in_other_memory(gpu) if _group(one.row) == group]
            apart = [ways for ways in between_kinds(gpu) if ways.fastest.group == group]
            told = [len([one for one in apart if said(one) == what]) for what in SAID]
            if errors:
                off = map(format_percent, (_off(errors), max(map(abs, errors))))
                rows.append([gpu, f"`{group}`", str(len(errors)), *off, str(len(apart)), *map(str, told)])
    heads = ["GPU", "programs", "rows", "off by: median", "worst", "kinds apart", *SAID]
    return table(heads, rows, right=True)


SAID = ("predicted so", "predicted alike", "the other faster")


def said(kinds: held.Choice) -> str:
    """What is predicted of two kinds of memory of which one is measured to be faster."""
    times = [one.per(one.prediction.seconds) for one in kinds.ways]
    if max(times) <= min(times) * (1 + held.ALIKE):
        return SAID[1]
    return SAID[0] if kinds.picked is kinds.fastest else SAID[2]


@cache
def in_other_memory(gpu: str) -> list[held.WhatIf]:
    return [one for one in held.what_ifs(result(IN_OTHER_MEMORY[gpu])) if one.what == held.OTHER]


@cache
def over_kinds(gpu: str) -> list[dict[str, held.Predicted]]:
    """Of each case its predicted rows by the kind of memory, empty for the usual one."""
    kinds: dict[tuple, dict[str, held.Predicted]] = {}
    for one in held.of(result(IN_OTHER_MEMORY[gpu])).rows:
        key = one.row.case.family, one.row.case.without(held.MEMORY), one.row.case.site_key
        kinds.setdefault(key, {}).setdefault(str(one.row.case.axes.get(held.MEMORY, "")), one)
    return [*kinds.values()]


@cache
def between_kinds(gpu: str) -> list[held.Choice]:
    """The kinds of each case that are measured further apart than their uncertainty."""
    return [choice for kinds in over_kinds(gpu) for choice in held.choices(kinds.values())]


@part("model.worst_usual")
def worst_over_the_usual(gpu: str) -> str:
    """How far off the row that is predicted worst in another kind of memory is over the usual one."""
    worst = max(in_other_memory(gpu), key=lambda one: abs(one.error)).row.case
    (kinds,) = (kinds for kinds in over_kinds(gpu) for one in kinds.values() if one.row.case == worst)
    return format_percent(abs(kinds[""].error))


def _group(row: Row) -> str:
    return row.case.family.partition("/")[0]


@part("model.later")
def later() -> str:
    """How well a run is predicted that took no part, group by group."""
    return ", ".join(
        f"`{one.group}` {format_percent(one.median)} and {format_percent(one.ninth)}" for one in later_run()
    )


@cache
def later_run() -> list[Quality]:
    return held.of(result(LATER)).qualities


@part("model.later_same")
def later_same() -> str:
    """In how many of its choices the same way is fastest."""
    return f"{sum(one.same for one in later_run())} of {sum(one.choices for one in later_run())}"


def _off(errors: list[float]) -> float:
    return median([abs(error) for error in errors])


@part("model.single")
def single() -> str:
    """The runs in which nine in ten rows of a group are not within what is promised of all runs together."""
    found = [
        f"{one.group} in `{'`, `'.join(files_of(names))}` ({format_percent(one.ninth)})"
        for names in (names for runs in RUNS.values() for names in runs)
        for one in held.of(result(names)).qualities
        if one.ninth > PROMISED
    ]
    return ", ".join(found) or "none"


@part("model.same")
def same(gpu: str) -> str:
    """The share of choices with the same fastest way, in percent."""
    found = qualities(gpu)
    return f"{100 * sum(one.same for one in found) / sum(one.choices for one in found):.0f}"
