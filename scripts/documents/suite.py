"""Parts that are of no one family: README's screen and numbers, words, uncertainties, lanes, verdicts."""

import contextlib
import csv
import gzip
import io
import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median, quantiles

import documents
from documents import COUNTERS, FULL, PROJECT, QUICK, Names, part, quick_rows, raw, table, worth
from grainscope_report import cli, equivalence, statistics, uncertainty, visits
from grainscope_report.acceptance import deriving
from grainscope_report.asking import sentence
from grainscope_report.buying import verdict, words, workload
from grainscope_report.commands import evaluate, files
from grainscope_report.model import Row
from grainscope_report.statistics import Estimate
from grainscope_report.uncertainty import TABLE
from grainscope_report.units import format_bytes, format_interval

MOST_FAMILIES = 4  # of a word of `ask`

# README's screen: so many lines of the summary of this run, so wide.
SHOWN, LINES, WIDTH = "results/reference/acceptance/h100-c2.json.gz", 14, 100

# README's numbers: what, the file, and a row's rate or how many times as long a row takes as another.
A, H = "numa:0/gpu:0", "results/reference"
WALL = f"reach/gather/host_alloc/{{}}/{A}/row:128/rows:1048576/span:4294967296"
HELD = f"reach/gather/{{}}/as_asked/{A}/row:128/rows:1048576/span:34359738368"
KRON = f"{A}/graph:kron24"
STEP = f"pipeline/graphsage/masked/{{}}/{KRON}/fanout:10x25/batch:1000/row:512/hidden:128/{{}}gpus:1"
COPY = f"transfer/memcpy/pinned_to_gpu/{A}/flush:on/bytes:268435456"
READ = (
    f"transfer/zero_copy/read/merged_aligned/{A}/allocation:host_alloc/offset:0/width:4/blocks:full/"
    "threads:1024/bytes:268435456"
)


def wall(order: str) -> str:
    """The half of `full` that has these rows."""
    name = WALL.format(order)
    return f"{H}/" + next(file for file in FULL if any(row.name == name for row in documents.rows_of(file)))


PEER = "transfer/peer/copy_engine/read/gpu:0/peer:1/access:on/bytes:4294967296"
HEADLINES = (
    ("H100, PCIe 5: a pinned copy of 256 MiB to the GPU", SHOWN, COPY, ""),
    ("the same bytes read in place by a kernel", SHOWN, READ, ""),
    ("128-byte rows at random over 4 GiB of host memory", wall("as_asked"), WALL.format("as_asked"), ""),
    ("the same rows asked for in the order of their addresses", wall("sorted"), WALL.format("sorted"), ""),
    (
        "128-byte rows at random over 32 GiB of pinned memory",
        f"{H}/h100-host-memory.json.gz",
        HELD.format("host_alloc"),
        "",
    ),
    (
        "the same rows from managed memory that stays on the host",
        f"{H}/h100-host-memory.json.gz",
        HELD.format("managed_host"),
        "",
    ),
    ("two H200, 18 NVLinks: a copy of 4 GiB from the peer", f"{H}/acceptance/two-h200-1.json.gz", PEER, ""),
    (
        "H100, BFS over kron 19, 8-byte edges: time in managed memory that the GPU could hold, over "
        "EMOGI's zero-copy reads",
        SHOWN,
        f"traversal/bfs/merged_aligned/managed/{A}/graph:kron19/edge:8",
        f"traversal/bfs/merged_aligned/mapped/{A}/graph:kron19/edge:8",
    ),
    (
        "H100, BFS over kron 24 by EMOGI's reads of 4-byte edges: time, over a BFS that reads fewer, "
        "compressed edges",
        f"{H}/h100-kron24.json.gz",
        f"traversal/bfs/merged_aligned/mapped/{KRON}/edge:4",
        f"lean/bfs/direction_optimising/none/compressed/{KRON}/hot:0",
    ),
    (
        "H100, a GraphSAGE step over kron 24, rows of 512 B from host memory: time, over 10 % of the rows "
        "kept on the GPU",
        f"{H}/h100-kron24-tiers.json.gz",
        STEP.format("mapped", ""),
        STEP.format("tiered", "hot:10/"),
    ),
)


@part("suite.quick")
def quick(what: str) -> str:
    """How many seconds `quick` took on one GPU, or how many rows it measured."""
    ran = documents.result(worth.QUIETEST)
    measured = [row for row in ran.rows if row.ok and row.label != "modelled"]
    return f"{ran.context.run.wall_s:.0f}" if what == "took" else str(len(measured))


@part("suite.minutes")
def minutes(which: str) -> str:
    """Minutes that the shorter and the longer half of `full` took on one GPU each, or that a run took."""
    runs = documents.FULL if which in ("shorter", "longer") else [which]
    took = sorted(documents.result(name).context.run.wall_s / 60 for name in runs)
    return f"{took[-1 if which == 'longer' else 0]:.0f}"


@part("readme.screen")
def screen() -> str:
    """The head of a run's summary, as a terminal shows it."""
    os.environ["COLUMNS"] = str(WIDTH)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        cli.main(["summary", SHOWN])
    lines = out.getvalue().splitlines()[:LINES]
    return "\n".join(["```console", f"$ grainscope-report summary {SHOWN}", *lines, "…", "```"])


@part("readme.headlines")
def headlines() -> str:
    """README's numbers with their 95 % intervals, and the files that they are of."""
    rows = [
        [what, amount(path, name, under), known(path, name, under), f"[`{Path(path).name}`]({path})"]
        for what, path, name, under in HEADLINES
    ]
    return table(["what", "measured, 95 % interval", "interval of", "run"], rows)


@cache
def rows_of(path: str) -> dict:
    (result,) = files.results([PROJECT / path])  # by what is known of its machine today
    return {row.name: row for row in result.rows}


def amount(path: str, name: str, under: str) -> str:
    """The rate of a row, or its time over that of another."""
    row = rows_of(path)[name]
    if under:
        return f"{interval(statistics.ratio(row.time, rows_of(path)[under].time))} ×"
    return f"{interval(statistics.rate_gb_s(row.time, row.bytes))} GB/s"


def known(path: str, *names: str) -> str:
    """What the intervals of rows are made of: visits, runs, both; where neither is known, one visit."""
    told = [rows_of(path)[name].uncertainty for name in names if name]
    parts = [
        what for what, at in (("visits", "a"), ("runs", "b")) if all(one and getattr(one, at) for one in told)
    ]
    return " and ".join(parts) or "one visit"


def interval(estimate: Estimate) -> str:
    return " ".join(format_interval(estimate.value, estimate.low, estimate.high))


@part("glossary.words")
def words_table() -> str:
    """What `ask` understands: a word a row, with its other spellings and the families that it is of."""
    rows = [
        f"| {entry['about']} | {', '.join(entry['words'])} | {entry['says']} | "
        f"{', '.join(usual_families(entry))} |"
        for entry in sentence.table()["words"]
    ]
    return "\n".join(["| about | words | meaning | families |", "|---|---|---|---|", *rows])


def usual_families(entry: dict) -> list[str]:
    """The families that a word usually means."""
    named = [name for meaning in entry["means"] for name in meaning["in"]]
    found = [f"`{name}`" for name in dict.fromkeys(entry.get("usually") or named)]
    return found[:MOST_FAMILIES] + [f"{len(found) - MOST_FAMILIES} more"] * (len(found) > MOST_FAMILIES)


def study_table() -> str:
    """How far medians of the same case differ between processes and machines, in percent."""
    found = visits.components(worth.studied())
    levels = [level for level in visits.LEVELS if any(level in each.typical for each in found)]
    heads = [f"| machine | family | clock | rows | {' | '.join(levels)} |"]
    heads += ["|---|---|---|" + "--:|" * (1 + len(levels))]
    rows = [
        f"| {each.machine or 'H100, one visit'} | `{each.key[0]}` | {each.key[1]} | {each.rows} | "
        + " | ".join(
            f"{100 * each.typical[level]:.1f} ({100 * each.whole[level]:.1f})"
            if level in each.typical
            else "–"
            for level in levels
        )
        + " |"
        for each in found
    ]
    return "\n".join([*heads, *rows])


def type_b_table() -> str:
    """What the suite knows of type B: by family, and from what to what in its rows."""
    made = json.loads(TABLE.read_text())
    machines = [one["gpu"] or one["cpu"] for one in made["machines"]]
    rows = [
        [
            machines[at],
            f"`{one['family']}`",
            one["clock"],
            *(f"{100 * one[name]['standard']:.2g}" for name in ("visit", "run")),
            *(worth.of_rows(made, one, name, at) for name in ("visit", "run")),
        ]
        for one in made["families"]
        for at in [one.get("machine", 0)]
        if "run" in one and "of_version" not in one
    ]
    return table(["machine", "family", "clock", "visit", "run", "its rows: visit", "run"], rows, right=True)


def unsettled_table() -> str:
    """How often values were set aside, in the runs that are kept whole."""
    parts = ["| run | visits | with values set aside | rows flagged `unsettled` |", "|---|" + "--:|" * 3]
    for path in sorted((PROJECT / "results/reference/acceptance").glob("*.json.gz")):
        rows = [row for row in documents.read(path).rows if row.measured]
        each = [visit for row in rows for visit in row.visits]
        aside = sum(bool(visit.unsettled_s) for visit in each)
        flagged = sum("unsettled" in row.flags for row in rows)
        parts.append(f"| `{path.name}` | {len(each)} | {aside} | {flagged} of {len(rows)} |")
    return "\n".join(parts)


def neighbours_table() -> str:
    """What a busy neighbour on the core does to calls, copies and arithmetic."""
    content = gzip.decompress((PROJECT / "results/reference/h100-neighbours.csv.gz").read_bytes())
    rows = list(csv.DictReader(content.decode().splitlines()))
    columns = {name: [float(row[f"{name}_us"]) for row in rows] for name in ("calls", "copy", "arithmetic")}
    # The best is what one in twenty does not reach.
    best = {name: quantiles(each, n=20)[0] for name, each in columns.items()}
    scaled = {name: [x / best[name] for x in each] for name, each in columns.items()}
    parts = ["| system calls take | share of the time | a copy of 1 MiB takes | arithmetic takes |"]
    parts += ["|---|--:|--:|--:|"]
    for low, high in pairwise((0.0, 1.05, 1.1, 1.2, 1.4, math.inf)):
        at = [i for i, calls in enumerate(scaled["calls"]) if low <= calls < high]
        said = f"up to {high:g} times as long" if math.isfinite(high) else "longer"
        copy, arithmetic = (median(scaled[name][i] for i in at) for name in ("copy", "arithmetic"))
        parts.append(f"| {said} | {len(at) / len(rows):.0%} | {copy:.2f} | {arithmetic:.2f} |")
    return "\n".join(parts)


FEW = 0.1  # of the samples of a visit
SHORT_S = 10e-6


def busy_table() -> str:
    """How far visits with and without quiet CPUs lie above the least of their row, in runs kept whole."""
    parts = ["| run | visits that sought quiet CPUs | busy | < 10 % disturbed lie above | ≥ 90 % disturbed |"]
    parts += ["|---|" + "--:|" * 4]
    for path in sorted((PROJECT / "results/reference/acceptance").glob("*.json.gz")):
        above: list[tuple[float, float]] = []  # share of disturbed samples, and how far above the least visit
        for row in documents.read(path).rows:
            each = [visit for visit in row.visits if visit.disturbed is not None] if row.measured else []
            least = min((visit.median_s for visit in each), default=0.0)
            above += [(visit.disturbed / len(visit.samples_s), visit.median_s / least - 1) for visit in each]
        if above:
            quiet = fmean([over for share, over in above if share < FEW])
            disturbed = [over for share, over in above if share >= 1 - FEW]
            above_least = f"{fmean(disturbed):.0%}" if disturbed else "–"
            busy = sum(share > 1 / 2 for share, _ in above) / len(above)
            parts.append(f"| `{path.name}` | {len(above)} | {busy:.0%} | {quiet:.0%} | {above_least} |")
    return "\n".join(parts)


@part("uncertainty.second_gpu")
def second_gpu() -> str:
    """How many microseconds longer short copies by a kernel took beside a second H200."""
    alone, beside = (
        {
            row.name: row.median_s
            for row in documents.rows_of(f"acceptance/{name}.json.gz")
            if row.measured and row.timing.gated and row.case.family == "transfer/kernel_copy"
        }
        for name in ("h200-c1", "h200-a")
    )
    longer_us = [1e6 * (beside[name] - seconds) for name, seconds in alone.items() if seconds < SHORT_S]
    return f"{min(longer_us):.1f} to {max(longer_us):.1f}"


SCATTERED = {
    "H100": (*worth.ON_ONE_H100, "h100-quick-now.json.gz", "h100-full-2of2.json.gz"),
    "H200": tuple(
        f"acceptance/{run}.json.gz"
        for run in (
            "h200-a",
            "h200-b",
            "h200-c1",
            "h200-c2",
            "h200-d",
            "h200-e",
            "h200-f",
            "h200-g",
            "h200-h",
            "h200-i",
            "h200-j",
            "h200-k",
            "two-h200-1",
            "two-h200-2",
            "two-h200-3",
            "two-h200-4",
            "two-h200-5",
            "two-h200-6",
            "two-h200-7",
        )
    ),
}


@part("uncertainty.scattered_reads")
def scattered_reads(name: str) -> str:
    """How long scattered reads of 64 bytes of own memory take, GPU by GPU: a range for each kind."""
    by_gpu: dict[str, list[float]] = defaultdict(list)
    for file in SCATTERED[name]:
        gpus = documents.result(file).context.raw["environment"]["gpus"]
        for row in documents.rows_of(file):
            asked = [row.case.axes.get(axis) for axis in ("memory", "grain", "direction")]
            if row.measured and row.case.family == "grain/gpu_memory" and asked == ["own", 64, "read"]:
                by_gpu[gpus[row.case.site["gpu"]]["uuid"]].append(1e6 * row.median_s)
    kinds: list[list[float]] = [[]]
    for value in sorted(map(median, by_gpu.values())):
        if kinds[-1] and value > 1.05 * kinds[-1][-1]:
            kinds.append([])
        kinds[-1].append(value)
    ends = [dict.fromkeys(f"{end:.0f}" for end in (kind[0], kind[-1])) for kind in kinds]
    return " and ".join(
        f"{' to '.join(two)} µs on {len(kind)}" for two, kind in zip(ends, kinds, strict=True)
    )


def _cpus_taken(rows: Iterable[Row]) -> float:
    had, measured = uncertainty.stolen(row.raw for row in rows)
    return had / measured


def stolen_table() -> str:
    """How much longer rows took where the hypervisor took more CPUs."""
    quietest = {row.name: row for row in documents.rows_of(worth.QUIETEST) if row.measured}
    found = []
    for name in worth.ON_ONE_H100:
        rows = [row for row in documents.rows_of(name) if row.measured]
        taken = _cpus_taken(rows)
        longer: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            beside, clock = quietest.get(row.name), uncertainty.clock_of_row(row)
            if beside and (row.case.version, clock) == (
                beside.case.version, uncertainty.clock_of_row(beside)
            ):  # fmt: skip
                longer[clock].append(row.median_s / beside.median_s)
        gated, host = longer["gated"], longer["host"] + longer["quiet"]
        further = sum(abs(math.log(times)) > uncertainty.WIDE for times in gated) / len(gated)
        cells = [f"`{Path(name).name}`", f"{taken:.3f}", f"{median(host):.2f}", f"{median(gated):.2f}"]
        found.append((taken, [*cells, f"{further:.0%}"]))
    heads = ["run", "CPUs taken, mean", "host's clock, times as long", "gated, times as long"]
    rows = [cells for _, cells in sorted(found)]
    return table([*heads, "gated rows further than 5 %"], rows, right=True)


@cache
def covered_between_hosts(which: str) -> dict[str, float]:
    """The share of rows, by clock, that intervals cover between runs on quiet hosts and on shared ones.

    `without` and `with` what is added for hosts that differ, of the runs that it was chosen by, and by it of
    a `later` one; `crowded` and `crowded_without` of the run on a crowded host and all others of its kind.
    """
    added = {} if which.endswith("without") else uncertainty.BETWEEN_HOSTS
    if which.startswith("crowded"):
        every = visits.as_today([*worth.studied(), *visits.read(documents.REFERENCE / worth.CROWDED)])
        alike = [run for run in every if run.kind == every[-1].kind and not run.narrow]
        return visits.coverage([(one, alike[-1]) for one in alike[:-1]], alike[:-1], added)
    quiet, shared = worth.runs_by_host()
    others = shared
    if which == "later":
        others = visits.as_today([*worth.studied(), *visits.read(documents.REFERENCE / QUICK[0])])[-1:]
    return visits.coverage([(one, other) for one in quiet for other in others], shared, added)


@part("uncertainty.cpus_taken")
def cpus_taken(which: str) -> str:
    """So many CPUs a host that is `quiet`, `shared` or `crowded` gave to others; or that of a run did."""
    if which not in ("quiet", "shared", "crowded"):
        return f"{_cpus_taken(documents.rows_of(_file(which))):.1f}"
    return str(
        {
            "quiet": uncertainty.QUIET_CPUS,
            "shared": uncertainty.SHARED_CPUS,
            "crowded": uncertainty.CROWDED_CPUS,
        }[which]
    )


@part("uncertainty.on_quiet_hosts")
def on_quiet_hosts() -> str:
    """The percents of rows of two hosts that were not shared that the table covers, clock by clock."""
    quiet, shared = worth.runs_by_host()
    found = visits.coverage([tuple(quiet)], shared).values()
    return f"{100 * min(found):.0f} to {100 * max(found):.0f}"


@part("uncertainty.between_hosts")
def between_hosts(what: str, of: str) -> str:
    """What is added for hosts that differ on a clock, or the percent of rows that are covered."""
    if what == "more":
        return f"{100 * uncertainty.BETWEEN_HOSTS[of]:.3g}"
    found = covered_between_hosts(what)
    return (
        f"{100 * {'least': min, 'most': max}[of](found.values()):.0f}"
        if of not in found
        else (f"{100 * found[of]:.0f}")
    )


@part("uncertainty.far")
def far(what: str, family: str = "", *axes: str) -> str:
    """Of CPUs that the hypervisor moved while a run went on: a line's nanoseconds near and far, or times.

    `what` is `near`, `far`, `share` (percent of the visits), `stolen` (percent of the time of the near and of
    the far) or `times`: far over near, of a row or several.
    """
    rows = [row for row in documents.rows_of("acceptance/no-gpu-4.json.gz") if row.measured]
    lines = [(visit, uncertainty.line_ns(vars(visit))) for row in rows for visit in row.visits]
    told = [(bool(visit.far), line) for visit, line in lines if line]
    if what == "stolen":
        parts = [[visit for visit, line in lines if line and bool(visit.far) == one] for one in (False, True)]
        shares = [sum(v.stolen_s for v in part) / sum(v.visit_s for v in part) for part in parts]
        return " and ".join(f"{100 * share:.2f}" for share in shares)
    if what == "share":
        return f"{100 * sum(is_far for is_far, _ in told) / len(told):.0f}"
    if what in ("near", "far"):
        those = [line for is_far, line in told if is_far == (what == "far")]
        return f"{min(those):.0f} to {max(those):.0f}"
    wanted = dict(axis.split("=") for axis in axes)
    times = []
    for row in rows:
        there = [visit.median_s for visit in row.visits if visit.far]
        if (
            row.case.family == family
            and there
            and wanted.items() <= {(key, str(value)) for key, value in row.case.axes.items()}
        ):
            near = median(visit.median_s for visit in row.standing)
            times.append(median(there) / near)
    low, high = f"{min(times):.1f}", f"{max(times):.1f}"
    return low if low == high else f"{low} to {high}"


# Whole runs on CPUs of one name, by kind of machine; rows stand beside those of the first of each.
CLOCKED = (
    ("h200-i", "h200-g", "h200-h", "h200-j", "h200-k", "h200-f", "h200-e", "h200-d", "h200-c1", "h200-c2"),
    ("two-h200-7", "two-h200-3", "two-h200-4", "two-h200-5", "two-h200-6"),
)
FIRST_LEVEL_CYCLES = 5  # that these cores take to load from their first cache


def _file(run: str) -> str:
    return f"acceptance/{run}.json.gz"


def _mhz_told(run: str) -> list[float]:
    """The clocks that visits of rows on the host's clock tell."""
    rows = [row for row in documents.rows_of(_file(run)) if row.measured and row.timing.clock == "steady"]
    told = (visit.state.get("cpu_mhz") for row in rows for visit in row.visits if visit.state)
    return [mhz for mhz in told if mhz]


def _mhz_by_loads(run: str) -> list[float]:
    """The same by visits to a chase within the first cache."""
    rows = [
        row for row in documents.rows_of(_file(run)) if row.measured and row.case.family == "host/latency"
    ]
    return [
        1e-6 * FIRST_LEVEL_CYCLES * (row.operations or 1) / visit.median_s
        for row in rows
        if row.case.axes["bytes"] == 16384
        for visit in row.visits
    ]


def _times_as_long(run: str, first: str, clock: str) -> list[float]:
    """Of rows that both have on a clock the time over that in the first run."""
    beside = {row.name: row for row in documents.rows_of(_file(first)) if row.measured}
    pairs = [(row, beside[row.name]) for row in documents.rows_of(_file(run)) if row.name in beside]
    return [
        row.median_s / other.median_s
        for row, other in pairs
        if row.measured and {uncertainty.clock_of_row(row), uncertainty.clock_of_row(other)} == {clock}
    ]


def clocks_table() -> str:
    """Clocks of the CPUs in whole runs, and how long rows took beside those of the first of their kind."""
    clocks = ("quiet", "host", "open", "gated")
    rows = []
    for first, *others in CLOCKED:
        for run in (first, *others):
            told = _mhz_told(run)
            cells = [
                f"`{run}.json.gz`",
                f"{median(told):.0f}" if told else "–",
                f"{median(_mhz_by_loads(run)):.0f}",
            ]
            rows.append([*cells, *(f"{median(_times_as_long(run, first, clock)):.2f}" for clock in clocks)])
    return table(["run", "MHz, measured", "MHz, by loads", *clocks], rows, right=True)


@part("uncertainty.cpu_clock")
def cpu_clock(what: str, one: str = "", other: str = "", clock: str = "") -> str:
    """The clocks of CPUs: `ghz` of the middle visit of a run; of another run's by how many percent its clock
    is `slower` or its rows on a clock take `longer`, and how far half of these are `apart`, in percent."""
    if what == "ghz":
        return f"{1e-3 * median(_mhz_told(one)):.1f}"
    if what == "slower":
        return f"{100 * (1 - median(_mhz_told(other)) / median(_mhz_told(one))):.0f}"
    times = _times_as_long(other, one, clock)
    if what == "longer":
        return f"{100 * (median(times) - 1):.0f}"
    return f"{100 * median(abs(math.log(each)) for each in times):.0f}"


UNCERTAINTY = {
    "Asked": worth.asked_table,
    "Held out": worth.held_out_table,
    "Planted": worth.planted_table,
    "Stolen time": stolen_table,
    "A neighbour": neighbours_table,
    "Clocks": clocks_table,
    "Busy visits": busy_table,
    "Values set aside": unsettled_table,
    "Levels": study_table,
    "Type B": type_b_table,
}


@part("uncertainty.tables")
def uncertainty_tables() -> str:
    return "\n\n".join(f"### {name}\n\n{table()}" for name, table in UNCERTAINTY.items())


@part("procurement.power")
def power(*families: str) -> str:
    """From how many to how many watts a GPU's board takes, of rows of these families, long copies alone."""
    watts = [
        row.power_w
        for row in documents.rows_of("h200-power.json.gz")
        if row.power_w and row.case.family.startswith(families) and not _is_short_copy(row)
    ]
    return f"{min(watts):.0f} to {max(watts):.0f}"


def _is_short_copy(row: Row) -> bool:
    return row.case.family.startswith("transfer/") and row.bytes < 256 << 20


@part("procurement.sound_runs")
def sound_runs() -> str:
    """How far values of sound runs differ, and how often a set would reject them."""
    return deriving.table(PROJECT, documents.read)


# What `scripts/equivalence` found of a change: what ran, and the file.
COMPARED = {
    "frame": {
        "one H100, `quick`": "frame-h100.gz",
        "another H100, gated families that six runs leave open": "frame-h100-small.gz",
        "two H100, cases with both": "frame-two-h100.gz",
        "no GPU, 2 CPUs, other work beside": "frame-no-gpu.gz",
    },
    "operations": {
        "one H100, `quick`": "operations-h100.gz",
        "two H100, flags and touches": "operations-two-h100.gz",
    },
    "build": {"one H100, `quick`": "build-h100.gz"},
}


@cache
def compared(change: str) -> dict[str, dict]:
    folder = documents.REFERENCE / "equivalence"
    return {
        what: json.loads(gzip.decompress((folder / name).read_bytes()))
        for what, name in COMPARED[change].items()
    }


@part("equivalence.frame")
def frame_table() -> str:
    return compared_table("frame")


@part("equivalence.operations")
def operations_table() -> str:
    return compared_table("operations")


@part("equivalence.build")
def build_table() -> str:
    return compared_table("build")


@part("equivalence.of_build")
def of_build(what: str) -> str:
    """A count of functions, rows or families, or how the row of training on the CPU alone came out."""
    (found,) = compared("build").values()
    kernels, families = found["kernels"], found["families"]
    apart = (found[which] for which in ("lists", "rows_that_stood_out", "rows_apart"))
    if any(apart) or any(kernels[which] for which in ("a_only", "b_only")):
        raise ValueError("the text says that lists and kernels are the same, and that no row stands out")
    untold = [family for family in families if family["verdict"] == equivalence.UNKNOWN]
    training, bags = (
        next(family for family in families if (family["family"], family["clock"]) == which)
        for which in (("pipeline/graphsage", "host"), ("gather/bag", "gated"))
    )
    if bags["verdict"] != equivalence.UNKNOWN or contains_one(bags):
        raise ValueError("the text says that gather/bag cannot be told though its interval leaves out 1")
    return {
        "functions": str(kernels["functions"]),
        "rows": str(sum(family["rows"] for family in families)),
        "untold": str(len(untold)),
        "hopeless": str(sum(family["power"] < 0.005 for family in untold)),
        "training": f"{training['ratio']:.2f}",
        "interval": f"{training['low']:.2f} to {training['high']:.2f}",
        "bags": f"{bags['low']:.3f} to {bags['high']:.3f}",
        "left_out": str(sum(not contains_one(family) for family in families)),
        "families": str(len(families)),
    }[what]


def contains_one(family: dict) -> bool:
    """Whether the interval of a family's ratio has 1."""
    return family["low"] <= 1 <= family["high"]


@part("equivalence.apart")
def apart_table() -> str:
    """Families that differ between the two programs of the operations' comparisons."""
    return families_table(
        [
            (what, one["again"] or one)
            for what, found in compared("operations").items()
            for one in found["families"]
            if one["verdict"] == equivalence.DIFFERS
        ]
    )


def compared_table(change: str) -> str:
    """Of each comparison and clock how many families are the same, cannot be told, and differ."""
    rows = []
    for what, found in compared(change).items():
        for clock in dict.fromkeys(family["clock"] for family in found["families"]):
            families = [family for family in found["families"] if family["clock"] == clock]
            verdicts = [family["verdict"] for family in families]
            count = sum(family["rows"] for family in families)
            mean = sum(family["rows"] * math.log(family["ratio"]) for family in families) / count
            said = [
                str(verdicts.count(one))
                for one in (equivalence.SAME, equivalence.UNKNOWN, equivalence.DIFFERS)
            ]
            rows.append([what, f"{6 * found['rounds']}", clock, str(count), f"{math.exp(mean):.4f}", *said])
    return table(
        ("compared", "runs", "clock", "rows", "ratio of all", "families: same", "cannot be told", "differ"),
        rows,
    )


@part("equivalence.untold")
def untold_table() -> str:
    """Families that no comparison shows to be the same: each in the one that knows it best."""
    best: dict[tuple, tuple[str, dict]] = {}
    for what, found in compared("frame").items():
        for family in found["families"]:
            key = family["clock"], family["family"]
            if key not in best or family["smallest_margin"] < best[key][1]["smallest_margin"]:
                best[key] = what, family
    return families_table([best[key] for key in sorted(best) if best[key][1]["verdict"] != equivalence.SAME])


def families_table(found: list[tuple[str, dict]]) -> str:
    return table(
        ("family", "clock", "rows", "ratio", "90 % interval", "power", "compared"),
        [
            [
                f"`{one['family']}`", one["clock"], str(one["rows"]), f"{one['ratio']:.3f}",
                f"{one['low']:.3f} to {one['high']:.3f}", f"{100 * one['power']:.0f} %", what,
            ]
            for what, one in found
        ],
    )  # fmt: skip


@part("equivalence.kernels")
def frame_kernels() -> str:
    """GPU functions of the old program; of each the new one has the machine code, and no other."""
    kernels = [found["kernels"] for found in compared("frame").values()]
    if any(one["a_only"] or one["b_only"] or one != kernels[0] for one in kernels):
        raise ValueError("kernels of the two programs differ")
    return str(kernels[0]["functions"])


@part("equivalence.placement")
def placement_table() -> str:
    """The shortest step of all runs by how far the library's code was shifted when it was linked, in ms."""
    steps: dict[tuple[str, int], list[float]] = defaultdict(list)
    with (documents.REFERENCE / "equivalence/placement.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            steps[row["aligned"], int(row["shift_bytes"])].append(1e3 * float(row["shortest_step_s"]))
    shifts = sorted({shift for _, shift in steps})
    rows = [
        [words, *(f"{min(steps[aligned, shift]):.1f}" for shift in shifts)]
        for aligned, words in (("no", "loops where they fall"), ("yes", "loops that begin with a line"))
    ]
    return table(["shifted by", *(f"{shift} B" for shift in shifts)], rows, right=True)


@part("equivalence.operations_kernels")
def operations_kernels() -> str:
    """GPU functions of the program before; each is in the one after, which has more."""
    (found,) = (one["kernels"] for one in compared("operations").values() if one["kernels"])
    if found["a_only"]:
        raise ValueError("kernels of the program before are not in the one after")
    return str(found["functions"])


COPIED = [(method, way) for method in ("copy_engine", "kernel_copy") for way in ("read", "write")]
COPIED_BYTES = (256 << 20, 1 << 30, 4 << 30)


def copied_from_peer(method: str, way: str, size: int) -> float:
    """GB/s of one copy between two H200, by the first."""
    axes = ("access=on", "gpu=0", f"method={method}", f"direction={way}", f"bytes={size}")
    return documents.only(documents.QUICK[1], "transfer/peer", *axes).bandwidth_gb_s


@part("coverage.copies")
def copies_by_size() -> str:
    """One copy between two H200 by its size, engine and way, in GB/s."""
    rows = [
        [format_bytes(size), *(f"{copied_from_peer(*how, size):.1f}" for how in COPIED)]
        for size in COPIED_BYTES
    ]
    heads = (f"{'engine' if method == 'copy_engine' else 'kernel'}, {way}" for method, way in COPIED)
    return table(["one copy of", *heads], rows)


@part("coverage.gains")
def gains_of_size(method: str) -> str:
    """The most that a copy of the largest size gains on one of the next, in percent."""
    *_, next_one, largest = COPIED_BYTES
    ways = [way for by, way in COPIED if by == method]
    rates = [
        (copied_from_peer(method, way, largest), copied_from_peer(method, way, next_one)) for way in ways
    ]
    return f"{100 * max(one / other - 1 for one, other in rates):.1f}"


# PCIe 5 with 16 lanes, GB/s: 32 Gbit/s a lane, of which 128 bits of 130 are data.
WIRE_GB_S = 32 * 16 / 8 * 128 / 130
# Bytes of a packet beside its data: a symbol of four that begins it, its header, its checksum. A completion
# has a header of three double words, a write to a 64-bit address one of four.
START, CHECK = 4, 4
HEADERS = {"pinned_to_gpu": 12, "gpu_to_pinned": 16}
LINE, LARGEST = 128, 256  # bytes of a packet: of a kernel's requests, of a copy engine's
BY_PACKETS = {
    "kernel": (LINE, f"transfer/kernel_copy/{{}}/{A}/bytes:268435456"),
    "copy engine": (LARGEST, f"transfer/memcpy/{{}}/{A}/flush:on/bytes:268435456"),
}

# A `quick` in which none of these rows has a wide interval.
PACKETS_RUN = "h100-quick-short.json.gz"


def packets_row(path: str, name: str):
    """The row of a way and engine."""
    (row,) = (row for row in documents.rows_of(PACKETS_RUN) if row.name == name.format(path))
    return row


def packets_gb_s(path: str, payload: int) -> float:
    """What a link of PCIe 5 carries of data where every packet has so many bytes of it."""
    return WIRE_GB_S * payload / (payload + START + HEADERS[path] + CHECK)


@part("method.packets")
def packets_table() -> str:
    """Each way and engine: what packets alone allow, and what was measured."""
    lines = []
    for path, way in (("pinned_to_gpu", "to the GPU"), ("gpu_to_pinned", "back")):
        for engine, (payload, name) in BY_PACKETS.items():
            allowed, measured = packets_gb_s(path, payload), packets_row(path, name).bandwidth_gb_s
            lines.append(
                (
                    f"{engine}, {way}",
                    f"{payload}",
                    f"{payload + START + HEADERS[path] + CHECK}",
                    f"{allowed:.1f}",
                    f"{measured:.1f}",
                    f"{measured / allowed:.2f}",
                )
            )
    heads = ("", "data", "with the rest", "GB/s that packets allow", "measured", "share of that")
    return table(heads, lines, right=True)


@part("method.kernel_over_engine")
def kernel_over_engine(path: str, source: str) -> str:
    """A kernel's rate over the copy engine's, `derived` from packets or `measured`."""
    rates = [
        packets_gb_s(path, payload) if source == "derived" else packets_row(path, name).bandwidth_gb_s
        for payload, name in BY_PACKETS.values()
    ]
    return f"{rates[0] / rates[1]:.2f}"


@part("method.kept")
def kept(path: str) -> str:
    """The percent of its rate that a stream of device memory keeps beside a copy."""
    return f"{100 * kept_share(path):.0f}"


def kept_share(path: str) -> float:
    name = f"contention/beside_device_stream/{path}/kernel_copy/numa:0/gpu:0/bytes:67108864"
    return quick_rows()[name]["counters"]["partner_kept"]


@cache
def lanes_alone(name: Names) -> tuple[int, int, tuple[float, ...]]:
    """Rows with times alone, those slower alone, and how much slower prefetches both ways were of these."""
    asked = [row for row in raw(name) if row["status"] == "ok"]
    asked = [row for row in asked if any("alone_s" in lane for lane in row.get("lanes", ()))]
    slower = [row for row in asked if any(map(is_slower_alone, row["lanes"]))]
    duplex = [row["lanes"][0] for row in slower if "/host_gpu/prefetch/" in row["name"]]
    return len(asked), len(slower), tuple(lane["alone_s"] / lane["median_s"] for lane in duplex)


def is_slower_alone(lane: dict) -> bool:
    """As `benchmarks/harness/row.cpp` flags a row."""
    high = lane.get("within_s", (lane["median_s"],) * 2)[1]
    return not lane["background"] and lane.get("alone_s", 0) > 1.05 * high


@part("method.alone")
def alone(what: str) -> str:
    """A count of rows of `full`, or the most that a prefetch was slower alone."""
    asked, slower, prefetches = lanes_alone(FULL)
    if what == "most":
        return f"{max(prefetches):.1f}"
    return str({"rows": asked, "slower": slower, "prefetches": len(prefetches)}[what])


def counted_reads(name: str, **axes: object) -> list[dict]:
    """The zero-copy reads of a run that were counted, of these axes."""
    return [
        row
        for row in raw(name)
        if "counted" in row
        and row["case"]["family"] == "transfer/zero_copy"
        and axes.items() <= row["case"]["axes"].items()
    ]


def fewer_requests(row: dict) -> float:
    """The percent of the modelled requests that were not counted."""
    return 100 * (1 - row["counted"]["requests"] / row["traffic"]["requests"])


@part("method.counted")
def counted(what: str) -> str:
    """What counters say of zero-copy reads, and the model."""
    whole = counted_reads("h100-counted.json.gz", access="merged_aligned", bytes=64 << 20)
    (one,) = {(row["counted"]["requests"], row["traffic"]["requests"]) for row in whole}
    shifted = {offset: counted_reads(COUNTERS, access="merged", offset=offset)[0] for offset in (4, 32, 64)}
    sectors = shifted[4]["traffic"]["bytes"] / 32 / 1e6
    lines = sorted(fewer_requests(shifted[offset]) for offset in (32, 64))
    assert one[0] == one[1], "the text says that counters and model agree"
    assert all(
        shifted[at]["counted"]["sectors"] * 32 == shifted[at]["traffic"]["bytes"] for at in (32, 64)
    ), "the text says that sectors are the model's to the last one"
    return {
        "aligned": f"{one[0]:,}",
        "line": f"{lines[0]:.1f} to {lines[1]:.1f}",
        "least": f"{sectors:.1f}",
        "most": f"{sectors * 5 / 4:.1f}",  # a warp's 128 bytes begin within one sector and end within a fifth
        "sectors": f"{shifted[4]['counted']['sectors'] / 1e6:.1f}",
        "word": f"{fewer_requests(shifted[4]):.1f}",
    }[what]


def verdict_on(path: Path) -> str:
    """The verdict of an example workload, as `evaluate` writes it."""
    # Files are named as from here.
    found = workload.load(path.relative_to(PROJECT))
    return words.as_markdown(verdict.reach(found, evaluate.DRAWS, evaluate.SEED))
