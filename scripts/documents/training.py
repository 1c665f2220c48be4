"""Training that gathers feed: what a step takes, by what feeds it, its bounds, and where its lists lie."""

from functools import cache

from documents import FULL, QUICK, axes_of, clock, digits, is_plain, only, part, raw, rows_of, table
from grainscope_report.model import Row
from grainscope_report.units import format_bytes

FED_BY = {
    "`cpu_only`": "cpu_only/pageable",
    "`cpu_gather_dma`": "cpu_gather_dma/pinned",
    "`naive`": "naive/mapped",
    "`masked`": "masked/mapped",
    "`address_ordered`, window 2": "address_ordered/mapped",
    "`tiered`, 10 % hot": "masked/tiered",
    "all in the GPU": "masked/device",
}
PARETO = {
    "`cpu_gather_dma`": "cpu_gather_dma/pinned",
    "`naive`": "naive/mapped",
    "`circular_shift`": "circular_shift/mapped",
    "`masked`": "masked/mapped",
    "`address_ordered`, window 4": "address_ordered/mapped",
    "`tiered`, 10 % hot": "masked/tiered",
    "all in the GPU": "masked/device",
}


@cache
def kron19_steps(name: str) -> dict[str, dict]:
    """Rows of training on kron 19, by what feeds them."""
    return {
        f"{row['case']['axes']['mode']}/{row['case']['axes']['store']}": row
        for row in raw(name)
        if row["status"] == "ok" and row["case"]["family"] == "pipeline/graphsage"
        if row["case"]["axes"].get("gpus", 1) == 1 and is_plain(row["case"]["axes"])
    }


@part("pipeline.steps")
def pipeline_steps() -> str:
    """The time of a step and what of its stages is hidden."""
    runs = [kron19_steps(name) for name in QUICK]
    rows = []
    for name, key in FED_BY.items():
        rows.append([name, *(say(run[key]) for run in runs for say in (step, overlap))])
    return table(["fed by", "H100", "overlap", "H200", "overlap"], rows)


def step(row: dict) -> str:
    seconds = row["median_s"]
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} µs"


def overlap(row: dict) -> str:
    found = row["counters"].get("overlap")
    return "" if found is None else f"{found:.2f}"


@part("pipeline.pareto")
def pareto() -> str:
    """The time of a step of pareto 22, by size of rows."""
    times = {
        (row.case.axes["row"], f"{row.case.axes['mode']}/{row.case.axes['store']}"): row.median_s
        for row in rows_of(FULL)
        if row.ok
        and row.case.family == "pipeline/graphsage"
        and axes_of(row, "graph", "fanout", "batch", "processes") == ("pareto22", "10x25", 1000, None)
        and row.case.axes.get("window", 4) == 4
        and row.case.axes.get("hot", 10) == 10
        and is_plain(row.case.axes)
    }
    rows = [
        [
            f"{row} B",
            *(f"{1e3 * times[row, key]:.2f} ms" if (row, key) in times else "" for key in PARETO.values()),
        ]
        for row in (400, 512, 1260)
    ]
    return table(["rows", *PARETO], rows)


@part("pipeline.two_gpus")
def two_gpus() -> str:
    """A step of pareto 22 on one H200, and of two mini-batches on both."""
    usual = ("graph=pareto22", "fanout=10x25", "batch=1000", "row=512", "hidden=128")
    asked = (*usual, "processes=", "bounded=", "placement=")
    feeds = {
        "`masked`": ("mode=masked", "store=mapped"),
        "`tiered`, 10 % hot": ("mode=masked", "store=tiered", "hot=10"),
        "`cpu_gather_dma`": ("mode=cpu_gather_dma",),
    }
    rows = []
    for name, axes in feeds.items():
        one, two = (only(WAYS_RUN, "pipeline/graphsage", *asked, *axes, f"gpus={gpus}") for gpus in (1, 2))
        rows.append([name, clock(one.median_s), clock(two.median_s)])
    return table(["fed by", "one GPU", "two GPUs"], rows, right=True)


# Other ways: unbounded gathers, the CPU's sampler, lists and rows over several GPUs, long rows, other models.

WAYS_RUN = "two-h200-training.json.gz"
CPU_GATHERS = "cpu_gather_dma pinned"
NAMES = {
    CPU_GATHERS: "`cpu_gather_dma`",
    "naive mapped": "`naive`",
    "circular_shift mapped": "`circular_shift`",
    "masked mapped": "`masked`",
    "masked tiered": "`tiered`",
    "masked multi_gpu": "`multi_gpu`",
    "masked device": "all in the GPU",
}
HELD_BACK = tuple(NAMES)[1:4]  # gathers that are held to a part of the GPU unless `bounded` is off
USUAL = {"graph": "pareto22", "fanout": "10x25", "row": 512, "hidden": 128, "gpus": 1}
ASKED = ("mode", "store", "hot", *USUAL, "bounded", "placement", "processes", "percent")


@cache
def ways(run: str = WAYS_RUN) -> dict[tuple, Row]:
    """The measured rows, by what `ASKED` names."""
    return {axes_of(row, *ASKED): row for row in rows_of(run) if row.ok}


def trained(feed: str, run: str = WAYS_RUN, **axes) -> Row | None:
    """The row of a mode and a store with these axes, others as usual; none where it was not measured."""
    mode, store = feed.split()
    if store in ("tiered", "multi_gpu"):
        axes = {"hot": 10} | axes
    return ways(run).get(tuple((USUAL | axes | {"mode": mode, "store": store}).get(name) for name in ASKED))


def time_of(row: Row | None) -> str:
    """The time of a step, if there is one."""
    return clock(row.median_s) if row else ""


@part("pipeline.unbounded")
def unbounded() -> str:
    """The time of a step by gathers that are held to a part of the GPU, and by the same without a bound."""
    rows = []
    for row in (512, 1260):
        for gpus in (1, 2):
            cells = [time_of(trained(CPU_GATHERS, row=row, gpus=gpus))]
            for feed in HELD_BACK:
                both = (trained(feed, row=row, gpus=gpus, **more) for more in ({}, {"bounded": "off"}))
                cells += map(time_of, both)
            rows.append([f"{row} B", str(gpus), *cells])
    heads = [head for feed in HELD_BACK for head in (NAMES[feed], "no bound")]
    return table(["rows", "GPUs", NAMES[CPU_GATHERS], *heads], rows)


def loosened(*sizes: int) -> list[tuple[Row, Row]]:
    """Steps with rows of these sizes whose gathers are held, each with the same without a bound."""
    pairs = [
        (trained(feed, **axes), trained(feed, **axes, bounded="off"))
        for row in sizes
        for feed in HELD_BACK
        for gpus in (1, 2)
        for axes in [{"graph": graph_of(row), "row": row, "gpus": gpus}]
    ]
    return [(held, free) for held, free in pairs if held and free]


def graph_of(row: int) -> str:
    """The graph that rows of so many bytes were trained on."""
    return "pareto20" if row >= 4096 else "pareto22"


@part("pipeline.loosened")
def loses(*sizes: str) -> str:
    """How many times as long a step takes without a bound, from least to most."""
    times = [free.median_s / held.median_s for held, free in loosened(*map(int, sizes))]
    return f"{min(times):.2f} to {max(times):.2f}"


@part("pipeline.loosened_overlap")
def overlaps(which: str, *sizes: str) -> str:
    """The least and the most overlap of steps whose gathers are `held`, or of those without a bound."""
    at = ("held", "free").index(which)
    found = [
        pair[at].counters["overlap"] for pair in loosened(*map(int, sizes)) if "overlap" in pair[at].counters
    ]
    return f"{min(found):.2f} to {max(found):.2f}"


def over_cpu(row: int, gpus: int) -> float:
    """How many times as fast a step by naive gathers without a bound is as one by gathers of the CPU."""
    slow, fast = (
        trained(CPU_GATHERS, row=row, gpus=gpus),
        trained("naive mapped", row=row, gpus=gpus, bounded="off"),
    )
    return slow.median_s / fast.median_s


@part("pipeline.over_cpu")
def over_cpu_gathers(row: str, gpus: str) -> str:
    return f"{over_cpu(int(row), int(gpus)):.2f}"


LONG = (4096, 16384)


@part("pipeline.long_rows")
def long_rows() -> str:
    """The time of a step with rows of several KiB, and what crosses the links meanwhile."""
    rows = []
    for row in LONG:
        for gpus in (1, 2):
            axes = {"graph": "pareto20", "row": row, "gpus": gpus}
            feeds = [trained("naive mapped", **axes, **more) for more in ({}, {"bounded": "off"})]
            feeds += [trained(feed, **axes) for feed in ("masked mapped", "masked device")]
            rows.append(
                [format_bytes(row), str(gpus), *map(time_of, feeds), f"{feeds[2].bandwidth_gb_s:.1f}"]
            )
    heads = ["`naive`", "no bound", "`masked`", "all in the GPU", "GB/s of `masked`"]
    return table(["rows", "GPUs", *heads], rows)


@part("pipeline.long_rows_apart")
def long_rows_apart() -> str:
    """By how many percent, at most, mapped ways of one size and as many GPUs differ."""
    most = 0.0
    for row in LONG:
        for gpus in (1, 2):
            axes = {"graph": "pareto20", "row": row, "gpus": gpus}
            feeds = [trained("naive mapped", **axes, bounded="off")]
            feeds += [trained(feed, **axes) for feed in ("naive mapped", "masked mapped")]
            times = [feed.median_s for feed in feeds]
            most = max(most, max(times) / min(times) - 1)
    return f"{100 * most:.0f}"


SAMPLED_FOR = ("masked mapped", "masked tiered", CPU_GATHERS)


def by_both_samplers(feed: str, gpus: int) -> tuple[Row, Row]:
    """A step whose lists the GPU samples, and the same whose lists the CPU does."""
    return trained(feed, gpus=gpus), trained(feed, gpus=gpus, placement="host")


@part("pipeline.sampler")
def sampler() -> str:
    """A step by the GPU's sampler and by the CPU's, and what it loses beside what sampling takes."""
    rows = []
    for feed in SAMPLED_FOR:
        for gpus in (1, 2):
            by_gpu, by_cpu = by_both_samplers(feed, gpus)
            lost, sampling = by_cpu.median_s - by_gpu.median_s, by_cpu.counters["sample_s"]
            times = map(clock, (by_gpu.median_s, by_cpu.median_s, lost, sampling))
            rows.append([NAMES[feed], str(gpus), *times, f"{lost / sampling:.2f}"])
    heads = ["the GPU samples", "the CPU samples", "longer by", "sampling alone", "of it"]
    return table(["fed by", "GPUs", *heads], rows)


@part("pipeline.counter")
def counter_of(feed: str, gpus: str, placement: str, name: str) -> str:
    """A counter of a step of pareto 22: a time, or thousands a second. `feed` is `mode/store`."""
    where = {} if placement == "gpu" else {"placement": placement}
    value = trained(feed.replace("/", " "), gpus=int(gpus), **where).counters[name]
    return f"{value / 1e3:.0f}" if name.endswith("per_s") else clock(value)


@part("pipeline.preemptions")
def preemptions(placement: str) -> str:
    """How often threads of a step that the CPU gathers for lost their CPU, of one GPU, a visit."""
    where = {} if placement == "gpu" else {"placement": placement}
    visits = trained(CPU_GATHERS, **where).visits
    return f"{round(sum(visit.preemptions for visit in visits) / len(visits))}"


PLACED = (
    ("masked mapped", {}),
    ("masked mapped", {"placement": "interleaved"}),
    ("masked mapped", {"placement": "mapped"}),
    ("masked mapped", {"placement": "host"}),
    ("masked tiered", {}),
    ("masked multi_gpu", {}),
    ("masked multi_gpu", {"placement": "interleaved"}),
    ("masked multi_gpu", {"hot": 25}),
)
LISTS = {
    "": "in each GPU",
    "interleaved": "over both GPUs",
    "mapped": "on the host",
    "host": "with the CPU, which samples",
}


@part("pipeline.placed")
def placed() -> str:
    """A step on two GPUs, and what it takes of each GPU's memory, by where lists and hot rows lie."""
    rows = []
    for feed, more in PLACED:
        row = trained(feed, gpus=2, **more)
        hot = row.case.axes.get("hot")
        rows.append(
            [
                NAMES[feed] + (f", {hot} % hot" if hot else ""),
                LISTS[more.get("placement", "")],
                clock(row.median_s),
                f"{row.counters['gpu_bytes'] / 2**20:.0f} MiB",
            ]
        )
    return table(["rows", "lists", "step", "memory of each GPU"], rows)


MODELS = (("10x25", 16), ("10x25", 128), ("10x25", 512), ("25x15", 128), ("12x12x12", 128))
MODELS_FED_BY = ("masked mapped", "masked tiered", "masked device")


@part("pipeline.models")
def models() -> str:
    """The time of a step by fan-out and hidden size."""
    rows = [
        [
            fanout.replace("x", "×"),
            str(hidden),
            *(time_of(trained(feed, fanout=fanout, hidden=hidden)) for feed in MODELS_FED_BY),
        ]
        for fanout, hidden in MODELS
    ]
    heads = ["`masked`", "`tiered`, 10 % hot", "all in the GPU"]
    return table(["fan-out", "hidden size", *heads], rows)


# Of `paper`, on one GPU: what the run above has not.
PAPER_RUN = "h100-paper-training.json.gz"


@part("pipeline.paper_ms")
def paper_ms(feed: str, *axes: str) -> str:
    """The time of a step of `paper` by `MODE/STORE` and by `AXIS=VALUE`, others as usual."""
    numbers = {
        name: int(text) if text.isdigit() else text for name, _, text in (one.partition("=") for one in axes)
    }
    return clock(found.median_s) if (found := trained(feed.replace("/", " "), PAPER_RUN, **numbers)) else ""


@part("pipeline.shares")
def shares() -> str:
    """Of each share of the GPU that MPS gives to sampling and gathering the multiprocessors and the step."""
    of = {
        (float(row.case.axes["percent"]), row.case.axes["graph"]): row
        for row in rows_of(PAPER_RUN)
        if "percent" in row.case.axes
    }
    rows = [
        [
            f"{percent:g} %",
            f"{of[percent, 'kron22'].counters['asked_sms']:.0f}",
            *(time_of(of.get((percent, graph))) for graph in ("kron22", "pareto22")),
        ]
        for percent in sorted({percent for percent, _ in of})
    ]
    return table(["share", "multiprocessors", "kron 22", "pareto 22"], rows, right=True)


@part("pipeline.wide")
def wide() -> str:
    """How many rows of the run of other ways have wide intervals, of how many."""
    rows = rows_of(WAYS_RUN)
    return f"{sum('wide_interval' in row.flags for row in rows)} of {len(rows)}"


# A process for each GPU, beside one process that has all of them.

EACH_RUN = "two-h100-processes.json.gz"
HOST_RUN = "two-h100-ranks.json.gz"  # where the CPU samples
EACH = (
    ("masked device", {}),
    ("masked mapped", {}),
    ("masked multi_gpu", {"hot": 10}),
    (CPU_GATHERS, {}),
    ("masked mapped", {"placement": "host"}),
    (CPU_GATHERS, {"placement": "host"}),
)
BY_GPUS = EACH[:3]  # which sample and gather


def by_processes(feed: str, **more) -> tuple[Row, Row]:
    """A step on two GPUs by one process, and the same by a process for each."""
    mode, store = feed.split()
    wanted = (mode, store, more.get("hot"), more.get("placement"))
    found = {
        row.case.axes.get("processes"): row
        for row in rows_of(HOST_RUN if more.get("placement") else EACH_RUN)
        if axes_of(row, "mode", "store", "hot", "placement") == wanted
    }
    return found[None], found["per_gpu"]


def by_visit(row: Row) -> str:
    """The time of a step in each visit."""
    *first, last = (digits(1e3 * visit.median_s) for visit in row.visits)
    return f"{', '.join(first)} and {last} ms"


@part("pipeline.each")
def each() -> str:
    """The time of a step, visit by visit, and seeds a second in the middle one."""
    rows = []
    for feed, more in EACH:
        hot = f", {more['hot']} % hot" if "hot" in more else ""
        cells = [NAMES[feed] + hot, "the CPU" if more.get("placement") else "each GPU"]
        for row in by_processes(feed, **more):
            cells += [by_visit(row), f"{row.counters['seeds_per_s'] / 1e3:.0f}"]
        rows.append(cells)
    heads = ["one process: a step", "thousand seeds/s", "one for each: a step", "thousand seeds/s"]
    return table(["fed by", "lists sampled by", *heads], rows)


def each_over_one(feed: str, **more) -> float:
    """How many times as long a step takes with a process for each GPU."""
    one, several = by_processes(feed, **more)
    return several.median_s / one.median_s


@part("pipeline.each_over_one")
def of_each_over_one() -> str:
    """Where GPUs sample and gather, from least to most."""
    times = [each_over_one(feed, **more) for feed, more in BY_GPUS]
    return f"{min(times):.2f} to {max(times):.2f}"


@part("pipeline.each_faster")
def each_faster(mode: str) -> str:
    """Where the CPU samples: how many times as fast a step is with a process for each GPU."""
    (feed,) = (feed for feed, more in EACH if more.get("placement") and feed.startswith(mode))
    return f"{1 / each_over_one(feed, placement='host'):.2f}"


@part("pipeline.each_visit")
def of_each_visit(which: str, visit: str) -> str:
    """A step by gathers of the CPU in a visit by a process for `each`; `stolen`: the CPUs' time then."""
    chosen = by_processes(CPU_GATHERS)[1].visits[int(visit) - 1]
    return f"{digits(chosen.stolen_s)} s" if which == "stolen" else clock(chosen.median_s)


@part("pipeline.each_cpu")
def of_each_cpu(which: str) -> str:
    """CPU time of a step where GPUs sample and gather, by `one` process or `each`: the least and the most."""
    pairs = [by_processes(feed, **more) for feed, more in BY_GPUS]
    times = [1e3 * pair[which == "each"].counters["cpu_s"] for pair in pairs]
    return f"{digits(min(times), 2)} to {digits(max(times), 2)}"


@part("pipeline.each_alone")
def of_each_alone(which: str, counter: str) -> str:
    """What a stage takes alone where the CPU samples for gathers of GPUs, by `one` process or `each`."""
    return clock(by_processes("masked mapped", placement="host")[which == "each"].counters[counter])


@part("pipeline.tiled")
def tiled(graph: str, stage: str = "") -> str:
    """The time of a step on the CPU, or of its training alone, by tiles over that by plain loops."""
    plain, tiles = (
        row.counters["train_s"] if stage else row.median_s
        for products in (None, "tiled")
        for row in rows_of("no-gpu-products.json.gz")
        if axes_of(row, "graph", "products") == (graph, products)
    )
    return f"{tiles / plain:.2f}"
