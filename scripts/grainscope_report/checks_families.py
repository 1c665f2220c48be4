"""Checks of what single families state about their rows: sizes that multiply, requests, unique rows, SMs."""

import math

from grainscope_report.checks_parts import Raw, RowProblems, differ

GRANULE = 64 << 10
# What a row's bytes are made of.
PRODUCTS = {
    "shape/copy": ("width", "rows", "planes"),
    "shape/batch": ("piece", "pieces"),
    "reach/gather": ("row", "rows"),
}
# Kernels reach over the link in requests of a cache line; everything else asks for a whole piece.
LINE = 128
KERNELS = ("zero_copy_sequential", "zero_copy_random", "kernel_write_random")
DEMAND = "managed_demand"
LITTLE = 0.01
# The grid that was found to saturate is measured once more.
AGAIN = 0.05


def _product(row: Raw) -> RowProblems:
    axes = row["case"]["axes"]
    factors = PRODUCTS.get(row["case"]["family"], ())
    if "bytes" not in row or not factors or any(name not in axes for name in factors):
        return
    if row["bytes"] != (right := math.prod(axes[name] for name in factors)):
        yield "bytes", f"is {row['bytes']}, {' × '.join(factors)} is {right}"


def _unique(row: Raw) -> RowProblems:
    """Rows gathered at random: what was asked for, what of it is distinct, and where it lies."""
    axes, counters = row["case"]["axes"], row.get("counters", {})
    if row["case"]["family"] != "reach/gather" or row["status"] != "ok":
        return
    if "link_bytes" in row and "bytes" in row and row["link_bytes"] > row["bytes"]:
        yield "link_bytes", f"is {row['link_bytes']}, more than the {row['bytes']} bytes asked for"
    rows = counters.get("unique_rows")
    if rows is not None and rows > (most := min(axes["rows"], axes["span"] // axes["row"])):
        yield "counters.unique_rows", f"is {rows}, but at most {most} rows of the span can be asked for"
    rights = {
        "unique_bytes": rows * axes["row"] if rows is not None else None,
        "unique_gb_s": counters.get("unique_bytes", 0) / row["median_s"] / 1e9,
        "rows_per_granule": axes["rows"] / (axes["span"] / GRANULE),
    }
    for name, right in rights.items():
        if right is not None and name in counters and differ(counters[name], right):
            yield f"counters.{name}", f"is {counters[name]}, the row's other numbers make it {right}"
    crossed = row.get("link_bytes")
    if crossed is not None and "unique_bytes" in counters and differ(crossed, counters["unique_bytes"]):
        yield "link_bytes", f"is {crossed}, counters.unique_bytes is {counters['unique_bytes']}"


def _in_flight(row: Raw) -> RowProblems:
    axes, counters = row["case"]["axes"], row.get("counters", {})
    names = {"requests_in_flight", "latency_s"}
    if not names <= counters.keys() or "grain" not in axes or "bandwidth_gb_s" not in row:
        return
    by_kernel = axes.get("method", KERNELS[0]) in KERNELS
    size = min(axes["grain"], LINE) if by_kernel else axes["grain"]
    right = row["bandwidth_gb_s"] * 1e9 * counters["latency_s"] / size
    if differ(counters["requests_in_flight"], right, LITTLE):
        said = f"is {counters['requests_in_flight']}, rate × latency / {size} bytes is {right:.4g}"
        yield "counters.requests_in_flight", said


def _moved(row: Raw) -> RowProblems:
    """Managed pieces on demand: whole pages moved, and so no less than was useful."""
    axes, counters, moved = row["case"]["axes"], row.get("counters", {}), row.get("link_bytes")
    demand = row["case"]["family"] == "grain/pieces" and axes.get("method") == DEMAND
    if not demand or row["status"] != "ok" or moved is None:
        return
    if moved < row.get("bytes", 0):
        yield "link_bytes", f"is {moved}, less than the {row['bytes']} bytes that were read"
    if moved % counters.get("page_bytes", 1):
        yield "link_bytes", f"is {moved}, no multiple of a page of {counters['page_bytes']} bytes"
    pieces = row.get("operations", 0)
    rights = {"moved_bytes": moved, "moved_bytes_per_piece": moved / pieces if pieces else None}
    for name, right in rights.items():
        if right is not None and name in counters and differ(counters[name], right):
            yield f"counters.{name}", f"is {counters[name]}, link_bytes makes it {right}"


def _saturation(row: Raw) -> RowProblems:
    counters = row.get("counters", {})
    if row["case"]["family"] != "grain/saturation" or row["status"] != "ok":
        return
    if missing := [name for name in ("sms", "saturated_gb_s", "full_gb_s") if name not in counters]:
        yield f"counters.{missing[0]}", "is missing"
        return
    if counters["sms"] > counters.get("sms_available", math.inf):
        yield "counters.sms", f"is {counters['sms']}, the GPU has {counters['sms_available']}"
    least = counters.get("threshold", 0) * counters["full_gb_s"]
    if counters["saturated_gb_s"] < least * (1 - AGAIN):
        yield (
            "counters.saturated_gb_s",
            f"is {counters['saturated_gb_s']}, below threshold × full_gb_s = {least}",
        )


CHECKS = (_product, _unique, _in_flight, _moved, _saturation)
