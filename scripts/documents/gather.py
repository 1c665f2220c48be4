"""docs/gather.md and docs/pipeline.md: gathers of rows from host memory, and training that is fed by them."""

import statistics
from functools import cache

from documents import axes_of, part, quick_rows, raw, rows_of, table

APART = 0.05  # above which a second machine's number stands beside the first's
WAYS = {
    "`naive`": ("naive", 4),
    "`circular_shift`": ("circular_shift", 4),
    "`vector`": ("vector", 16),
    "`masked`": ("masked", 4),
    "`masked`, 16 B": ("masked", 16),
    "`address_ordered`": ("address_ordered", 16),
}
TABLES = ((1024, 1), (1028, 1), (1040, 1), (2312, 1), (512, 8), (128, 8))
FED_BY = {
    "`cpu_only`": "cpu_only/pageable",
    "`cpu_gather_dma`": "cpu_gather_dma/pinned",
    "`naive`": "naive/mapped",
    "`masked`": "masked/mapped",
    "`address_ordered`, window 2": "address_ordered/mapped",
    "`tiered`, 10 % hot": "masked/tiered",
    "all in the GPU": "masked/device",
    "`masked`, two processes, 10 % to the one that gathers": "masked/mapped, processes",
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
def mapped_rates(name: str) -> dict[tuple, float]:
    """GB/s of gathers of uniform mapped rows without a window, by way, row, table and width."""
    return {
        axes_of(row, "mode", "row", "span", "width"): row.bandwidth_gb_s
        for row in rows_of(name)
        if row.ok
        and row.case.family == "gather"
        and axes_of(row, "store", "indices") == ("mapped", "uniform")
        and row.case.axes.get("window", 1) == 1
    }


def beside(one: float | None, two: float | None) -> str:
    """A number, and in brackets that of a second machine where they are apart."""
    if one is None:
        return ""
    return f"{one:.1f}" + (f" [{two:.1f}]" if two and abs(two / one - 1) > APART else "")


@part("gather.ways")
def ways() -> str:
    """GB/s of the rows asked for, by way."""
    one, two = (mapped_rates(name) for name in ("h100-quick.json", "h200x2-quick.json"))
    rows = []
    for row, span in TABLES:
        keys = [(mode, row, span << 30, width) for mode, width in WAYS.values()]
        rows.append([f"{row} B", f"{span} GiB", *(beside(one.get(key), two.get(key)) for key in keys)])
    return table(["rows", "table", *WAYS], rows)


@cache
def long_rows() -> dict[int, dict]:
    """GB/s of the best gather in the order asked and of the best sorted one, by bytes of a row."""
    found: dict[int, dict] = {}
    for row in rows_of("h100-rows.json.gz"):
        if row.ok and row.case.family == "gather":
            rates = found.setdefault(row.case.axes["row"], {"element": row.case.axes.get("element", 4)})
            kind = "sorted" if row.case.axes["mode"] == "address_ordered" else "asked"
            rates[kind] = max(rates.get(kind, 0), row.bandwidth_gb_s)
    return dict(sorted(found.items()))


@cache
def plain_rate() -> float:
    """GB/s of plain zero-copy reads in the same run."""
    rows = (row for row in rows_of("h100-rows.json.gz") if row.ok)
    return max(row.bandwidth_gb_s for row in rows if row.case.family == "transfer/zero_copy")


def bytes_of_sectors(row: int) -> float:
    """Bytes of the sectors that a row touches, on average over a table that begins with a sector."""
    places = range(32)
    return 32 * statistics.mean((i * row + row - 1) // 32 - i * row // 32 + 1 for i in places)


def share_of_sectors(row: int) -> float:
    """What a gather reaches of the rate that plain reads of its sectors leave to it."""
    return long_rows()[row]["asked"] / plain_rate() * bytes_of_sectors(row) / row


@part("gather.sectors")
def sectors() -> str:
    """Gathers of long rows beside plain reads of the sectors that they touch."""
    heads = ["rows", "element", "best in the order asked", "of the plain read", "of what their sectors leave"]
    rows = [
        [
            f"{row} B",
            f"float{8 * int(rates['element'])}",
            f"{rates['asked']:.1f}",
            f"{rates['asked'] / plain_rate():.2f}",
            f"{share_of_sectors(row):.2f}",
            f"{rates['sorted']:.1f}" if "sorted" in rates else "",
        ]
        for row, rates in long_rows().items()
    ]
    return table([*heads, "`address_ordered`"], rows)


@part("gather.plain_rate")
def plain() -> str:
    return f"{plain_rate():.1f}"


@cache
def kron20_steps(name: str) -> dict[str, dict]:
    """Rows of training on kron 20, by what feeds them."""
    rows = quick_rows() if name == "h100-quick.json" else {row["name"]: row for row in raw(name)}
    prefix = "pipeline/graphsage/"
    return {
        name.removeprefix(prefix).split("/numa")[0] + ", processes" * ("/processes" in name): row
        for name, row in rows.items()
        if name.startswith(prefix) and "/graph:kron20/" in name and row["status"] == "ok"
        if "/gpus:1" in name or name.startswith(prefix + "cpu_only")
    }


@part("pipeline.steps")
def pipeline_steps() -> str:
    """The time of a step and what of its stages is hidden."""
    runs = [kron20_steps(name) for name in ("h100-quick.json", "h200x2-quick.json")]
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
        for row in rows_of("h100-full.json.gz")
        if row.ok
        and row.case.family == "pipeline/graphsage"
        and axes_of(row, "graph", "fanout", "batch", "processes") == ("pareto22", "10x25", 1000, None)
        and row.case.axes.get("window", 4) == 4
        and row.case.axes.get("hot", 10) == 10
    }
    rows = [
        [
            f"{row} B",
            *(f"{1e3 * times[row, key]:.2f} ms" if (row, key) in times else "" for key in PARETO.values()),
        ]
        for row in (400, 512, 1260)
    ]
    return table(["rows", *PARETO], rows)
