"""docs/transfer.md and docs/collective.md: borrowed links, copies of all GPUs at once, NCCL."""

import csv
from collections import defaultdict
from collections.abc import Callable, Container
from functools import cache
from statistics import median

import documents
from documents import axes_of, digits, part, table
from grainscope_report.units import format_bytes, parse_bytes

RELAY_RUN = "two-h100-relay.json.gz"
RELAY = "transfer/relay"


@part("relay.sizes")
def relayed_copies() -> str:
    """GB/s of copies alone and with a neighbour's link, by size and way, and the share that it passed on."""
    lines = []
    for row in documents.rows_of(RELAY_RUN):
        if row.case.family != RELAY or row.case.axes["share"] != "found":
            continue
        method, path, size = axes_of(row, "method", "path", "bytes")
        counters = row.counters
        cells = [f"{counters['alone_gb_s']:.1f}", f"{row.bandwidth_gb_s:.1f}", f"{counters['of_alone']:.2f}"]
        of_both = f"{counters['of_at_once']:.2f}"
        share = f"{counters['share']:.0f} %"
        lines.append([PATHS_OF_RELAY[path], f"`{method}`", format_bytes(size), *cells, of_both, share])
    heads = [
        "path",
        "method",
        "size",
        "alone",
        "with the neighbour",
        "times",
        "of both links at once",
        "share",
    ]
    return table(heads, lines)


PATHS_OF_RELAY = {"pinned_to_gpu": "host to GPU", "gpu_to_pinned": "GPU to host"}


# In turns with nccl-tests, a file a round.
COLLECTIVE_RUNS = (
    "two-h100-collective-1.json.gz",
    "two-h100-collective-2.json.gz",
    "two-h100-collective-3.json.gz",
    "two-h100-collective-4.json.gz",
    "two-h100-collective-5.json.gz",
)
SIZES_OF_COLLECTIVES = (8 << 10, 1 << 20, 8 << 20, 64 << 20, 256 << 20)
# The same of one size, where rounds differ more than the two programs.
MANY_ROUNDS = tuple(
    f"collective/{path.name}"
    for path in sorted((documents.REFERENCE / "collective").glob("two-h200-1mib-*.json.gz"))
)


@cache
def beside_nccl_tests(
    runs: tuple[str, ...] = COLLECTIVE_RUNS, theirs: str = "nccl-tests.csv"
) -> dict[tuple[str, str, int], tuple[list[float], list[float]]]:
    """Microseconds in each round, by the suite and by nccl-tests, by kind, place and bytes."""
    found: dict[tuple[str, str, int], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for name in runs:
        for row in documents.rows_of(name):
            place, size = axes_of(row, "place", "bytes")
            found[row.case.family.removeprefix("collective/"), place, size][0].append(1e6 * row.median_s)
    with (documents.REFERENCE / theirs).open(newline="") as file:
        for line in csv.DictReader(file):
            key = (line["operation"], line["place"], int(line["bytes"]))
            if key in found:
                found[key][1].append(float(line["time_us"]))
    return found


@part("collective.beside")
def collectives_beside() -> str:
    """Medians of the rounds, by the suite and by nccl-tests."""
    lines = []
    for kind, place in dict.fromkeys(key[:2] for key in beside_nccl_tests()):
        cells = [f"`{kind}`", place]
        for size in SIZES_OF_COLLECTIVES:
            ours, theirs = (median(times) for times in beside_nccl_tests()[kind, place, size])
            cells += [digits(ours), digits(theirs), f"{ours / theirs:.3f}"]
        lines.append(cells)
    heads = ["", "place"]
    for size in map(format_bytes, SIZES_OF_COLLECTIVES):
        heads += [f"{size}: µs", "nccl-tests", "×"]
    return table(heads, lines, right=True)


def many_rounds() -> dict[tuple[str, str, int], tuple[list[float], list[float]]]:
    return beside_nccl_tests(MANY_ROUNDS, "collective/nccl-tests-1mib.csv")


@part("collective.many_rounds")
def many_rounds_table() -> str:
    """Medians of many rounds of one size with the fastest and the slowest, and their ratio."""
    lines = []
    for (kind, place, _), both in many_rounds().items():
        said = [f"{median(times):.1f} ({min(times):.1f} to {max(times):.1f})" for times in both]
        lines.append([f"`{kind}`", place, *said, f"{median(both[0]) / median(both[1]):.3f}"])
    return table(["", "place", "µs", "nccl-tests", "×"], lines, right=True)


@part("collective.of_many")
def of_many_rounds(which: str) -> str:
    """The least or the most of the ratios in that table."""
    times = [median(ours) / median(theirs) for ours, theirs in many_rounds().values()]
    return f"{(min if which == 'least' else max)(times):.2f}"


def sizes_of(text: str) -> Container[int]:
    """Of a size in bytes that size, of `..SIZE` all below it."""
    return range(int(text.removeprefix(".."))) if text.startswith("..") else (int(text),)


# Of the rounds, and to how many digits.
ROUNDS: dict[str, tuple[Callable[[list[float]], float], int]] = {"medians": (median, 3), "fastest": (min, 2)}


@part("collective.over")
def collectives_over(rounds: str, sizes: str, which: str) -> str:
    """The suite's time over that of nccl-tests, the least or the most of all operations of these sizes."""
    summed, places = ROUNDS[rounds]
    times = [
        summed(ours) / summed(theirs)
        for (_, _, size), (ours, theirs) in beside_nccl_tests().items()
        if size in sizes_of(sizes) and theirs
    ]
    return f"{(min if which == 'least' else max)(times):.{places}f}"


@part("collective.spread")
def spread_of_nccl_tests(sizes: str) -> str:
    """The slowest round of nccl-tests over its fastest, the most of all operations of these sizes."""
    small = [
        theirs for key, (_, theirs) in beside_nccl_tests().items() if theirs and key[2] in sizes_of(sizes)
    ]
    return f"{max(max(times) / min(times) for times in small):.1f}"


@part("collective.bound")
def bound_of_collectives() -> str:
    """What carries the bytes of the operations, and how much of them, as their rows say."""
    [bound] = {(row.limit, row.limit_gb_s) for row in documents.rows_of(COLLECTIVE_RUNS[0])}
    return f"{bound[0]}, {bound[1]:.0f} GB/s"


@part("collective.bus")
def bus_of_collectives(size: str) -> str:
    """The operations with their bus bandwidths at a size, out of place, the median of the rounds."""
    rates: dict[str, list[float]] = defaultdict(list)
    for name in COLLECTIVE_RUNS:
        for row in documents.rows_of(name):
            if axes_of(row, "place", "bytes") == ("out", int(size)):
                rates[row.case.family.removeprefix("collective/")].append(row.counters["bus_bandwidth_gb_s"])
    return ", ".join(f"`{kind}` {median(each):.0f}" for kind, each in rates.items())


MANY_RUN = "four-h200-transfers.json.gz"
MANY = {"host_to_all": "host → GPUs", "all_to_host": "GPUs → host", "all_host_duplex": "both ways"}
SIZES_OF_MANY = (8 << 20, 512 << 20)


@cache
def many() -> dict[tuple[str, str, int], tuple[float, float, int]]:
    """Copies of four GPUs at once, by pattern, method and size: GB/s, of one alone, how many they are."""
    found = {}
    for row in documents.rows_of(MANY_RUN):
        if row.case.family == "transfer/collective":
            alone = [lane.alone_gb_s for lane in row.lanes]
            key = axes_of(row, "pattern", "method", "bytes")
            found.setdefault(key, (row.bandwidth_gb_s, median(alone), len(alone)))
    return found


@part("many.host")
def many_with_the_host() -> str:
    """GB/s of copies of four GPUs at once by size, beside one alone, and how many copies alone that is."""
    lines = []
    for pattern, name in MANY.items():
        for method in ("copy_engine", "kernel_copy"):
            cells = []
            for size in SIZES_OF_MANY:
                if (pattern, method, size) in many():
                    rate, alone, _ = many()[pattern, method, size]
                    cells += [f"{alone:.1f}", f"{rate:.1f}", f"{rate / alone:.2f}"]
                else:
                    cells += ["not run", "", ""]
            _, _, copies = many()[pattern, method, SIZES_OF_MANY[0]]
            lines.append([name, f"`{method}`", str(copies), *cells])
    heads = ["", "method", "copies"]
    for size in map(format_bytes, SIZES_OF_MANY):
        heads += [f"{size} each: one alone", "at once", "times"]
    return table(heads, lines)


@part("many.rate")
def many_rate(pattern: str, method: str, size: str) -> str:
    return f"{many()[pattern, method, int(size)][0]:.0f}"


@part("many.times")
def many_times(pattern: str, method: str, size: str) -> str:
    rate, alone, _ = many()[pattern, method, int(size)]
    return f"{rate / alone:.1f}"


@part("many.cache")
def cache_of_many() -> str:
    """The largest cache of the CPU."""
    return format_bytes(max(each["bytes"] for each in documents.result(MANY_RUN).environment.cpu["caches"]))


@part("many.one_gpu")
def many_of_one_gpu(which: str) -> str:
    """The `least` or the `most` GB/s that one GPU sends to the others or gets of them, 512 MiB a copy."""
    patterns = ("one_to_all", "all_to_one", "all_from_one", "one_from_all")
    rates = [many()[pattern, "copy_engine", SIZES_OF_MANY[1]][0] for pattern in patterns]
    return f"{(min if which == 'least' else max)(rates):.0f}"


def by_each_neighbour(path: str, of: str = "of_alone") -> list[float]:
    """How many times as fast 1 GiB is with the link of each neighbour, too, or of both links at once."""
    return [
        row.counters[of]
        for row in documents.rows_of(MANY_RUN)
        if row.case.family == RELAY and axes_of(row, "path", "bytes") == (path, 1 << 30)
    ]


@part("relay.by_each")
def of_each_neighbour(*path_and_of: str) -> str:
    times = by_each_neighbour(*path_and_of)
    least, most = f"{min(times):.2f}", f"{max(times):.2f}"
    return least if least == most else f"{least} to {most}"


@part("relay.pays")
def relay_pays(method: str) -> str:
    """The smallest size measured from which on a neighbour's link helps by more than a tenth, both ways."""
    gains: dict[int, list[float]] = {}
    for row in documents.rows_of(RELAY_RUN):
        if row.case.family == RELAY and row.case.axes["share"] == "found":
            found, size = axes_of(row, "method", "bytes")
            if found == method:
                gains.setdefault(size, []).append(row.counters["of_alone"])
    slow = [size for size, times in gains.items() if min(times) < 1.1]
    return format_bytes(min(size for size in gains if size > max(slow, default=0)))


@part("unflushed.apart")
def unflushed_apart(least: str, most: str) -> str:
    """By how many percent times of zero-copy with and without a flush differ at most, of sizes in a range."""
    sizes = range(parse_bytes(least), parse_bytes(most) + 1)
    times: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for row in documents.rows_of("h200-unflushed.json.gz"):
        direction, size = axes_of(row, "direction", "bytes")
        if size in sizes:
            times[direction, size][row.case.axes.get("flush", "on")] = row.median_s
    return f"{100 * max(abs(each['off'] / each['on'] - 1) for each in times.values()):.1f}"
