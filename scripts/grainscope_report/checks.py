"""Checks of a result file that a schema cannot say: whether its numbers agree with each other."""

import math
from collections import Counter
from collections.abc import Callable, Iterator

from grainscope_report import (
    checks_families,
    checks_gnn,
    checks_lanes,
    checks_links,
    checks_traversals,
    statistics,
)
from grainscope_report.checks_parts import ROUNDING, Raw, RowProblems, differ
from grainscope_report.schema import Problem

# The model counts whole periods of a walk: what is left of a small buffer is not in its requests.
MODEL_ROUNDING = 0.05
# The largest number that grainscope writes: of 64 bits.
MOST = 2**64 - 1
TIMES = ("samples_s", "median_s", "ci95_s", "mad_s", "p5_s", "p95_s", "bandwidth_gb_s", "operation_s")


def problems(document: Raw) -> list[Problem]:
    """Everything in which a file that follows the schema contradicts itself."""
    context, rows = document["context"], document["benchmarks"]
    links, run = context["links"], context["run"]
    found = [*_counts(run, rows), *_run(run), *checks_links.of_links(links), *_unique(rows)]
    for index, row in enumerate(rows):
        path = f"$.benchmarks[{index}]"
        for check in ROW_CHECKS:
            found += [Problem(f"{path}.{field}", message) for field, message in _answers(check, row)]
        found += [Problem(f"{path}.{field}", message) for field, message in checks_links.of_row(row, links)]
    return found


def _answers(check: Callable[[Raw], RowProblems], row: Raw) -> RowProblems:
    """What a check says; one that fails says that the row's numbers are none to reckon with."""
    try:
        yield from check(row)
    except (ArithmeticError, TypeError, ValueError) as error:
        yield "case", f"has numbers with which nothing can be reckoned ({error})"


def of_times(document: Raw) -> list[Problem]:
    """Only whether medians and intervals are those of the samples, which is all that a comparison uses."""
    return [
        Problem(f"$.benchmarks[{index}].{field}", message)
        for index, row in enumerate(document["benchmarks"])
        if "samples_s" in row
        for check in (_median, _interval)
        for field, message in check(row)
    ]


def _counts(run: Raw, rows: list[Raw]) -> Iterator[Problem]:
    counted = Counter(row["status"] for row in rows)
    for status, said in run["counts"].items():
        if said != counted[status]:
            yield Problem(
                f"$.context.run.counts.{status}", f"is {said}, the file has {counted[status]} such rows"
            )


def _run(run: Raw) -> Iterator[Problem]:
    if run["complete"] and run["why_incomplete"] is not None:
        yield Problem("$.context.run.why_incomplete", "gives a reason though the run is complete")
    if not run["complete"] and not run["why_incomplete"]:
        yield Problem("$.context.run.why_incomplete", "gives no reason though the run is not complete")
    if run["shard"]["index"] > run["shard"]["count"]:
        yield Problem("$.context.run.shard.index", f"is above the count of {run['shard']['count']}")


def _unique(rows: list[Raw]) -> Iterator[Problem]:
    first: dict[tuple[str, int], int] = {}
    for index, row in enumerate(rows):
        key = (row["name"], row.get("repetition_index", 0))
        if key in first:
            yield Problem(
                f"$.benchmarks[{index}].name",
                f"{key[0]!r} with repetition_index {key[1]} is already $.benchmarks[{first[key]}]",
            )
        first.setdefault(key, index)


def _status(row: Raw) -> RowProblems:
    if row["status"] == "skipped" and (times := [name for name in TIMES if name in row]):
        yield times[0], "is given though the row was skipped"
    if row["status"] != "ok" and not row["reason"].strip():
        yield "reason", "is blank though the row is not ok"


def _median(row: Raw) -> RowProblems:
    if not (samples := row.get("samples_s")) or "median_s" not in row:
        if "samples_s" in row and row["status"] == "ok":
            yield "samples_s", "is empty though the row is ok"
        return
    if differ(row["median_s"], right := statistics.median(samples)):
        yield "median_s", f"is {row['median_s']}, the median of samples_s is {right}"
    if "mad_s" in row and differ(row["mad_s"], right := statistics.mad(samples)):
        yield "mad_s", f"is {row['mad_s']}, that of samples_s is {right}"


def _interval(row: Raw) -> RowProblems:
    if "ci95_s" not in row or "median_s" not in row:
        return
    low, high = row["ci95_s"]
    if not low * (1 - ROUNDING) <= row["median_s"] <= high * (1 + ROUNDING):
        yield "ci95_s", f"is [{low}, {high}], which does not contain median_s {row['median_s']}"
    elif len(samples := row.get("samples_s", ())) >= statistics.FEWEST_FOR_INTERVAL:
        right_low, right_high = statistics.median_interval(samples)
        if differ(low, right_low) or differ(high, right_high):
            yield (
                "ci95_s",
                f"is [{low}, {high}], the rank interval of samples_s is [{right_low}, {right_high}]",
            )


def _percentiles(row: Raw) -> RowProblems:
    samples = row.get("samples_s")
    if not samples or "median_s" not in row:
        return
    slack = 1 + ROUNDING
    if "p5_s" in row and not min(samples) <= row["p5_s"] * slack <= row["median_s"] * slack**2:
        yield "p5_s", f"is {row['p5_s']}, not between the smallest sample and the median"
    if "p95_s" in row and not row["median_s"] <= row["p95_s"] * slack <= max(samples) * slack**2:
        yield "p95_s", f"is {row['p95_s']}, not between the median and the largest sample"


def _bandwidth(row: Raw) -> RowProblems:
    if "bandwidth_gb_s" not in row:
        return
    if "bytes" not in row or "median_s" not in row:
        yield "bandwidth_gb_s", "is given without bytes and median_s"
    elif differ(row["bandwidth_gb_s"], right := row["bytes"] / row["median_s"] / 1e9):
        yield "bandwidth_gb_s", f"is {row['bandwidth_gb_s']}, bytes / median_s / 1e9 is {right}"


def _operation(row: Raw) -> RowProblems:
    if "operation_s" in row and "operations" in row and "median_s" in row:
        right = row["median_s"] / row["operations"]
        if differ(row["operation_s"], right):
            yield "operation_s", f"is {row['operation_s']}, median_s / operations is {right}"


def _limit(row: Raw) -> RowProblems:
    if row["status"] != "ok" or "limit_gb_s" not in row or "median_s" not in row:
        return
    crossed = row.get("link_bytes", row.get("bytes"))
    if crossed is not None and (rate := crossed / row["median_s"] / 1e9) > row["limit_gb_s"] * (1 + ROUNDING):
        yield "status", f"is ok, but {rate:.4g} GB/s beats limit_gb_s {row['limit_gb_s']}: it must be failed"


def _axes(row: Raw) -> RowProblems:
    for name, value in row["case"]["axes"].items():
        if not isinstance(value, str) and not 0 <= value <= MOST:
            yield f"case.axes.{name}", f"is {value:g}, which no run was asked for"
    for name in ("bytes", "link_bytes", "operations"):
        if row.get(name, 0) > MOST:
            yield name, f"is {row[name]:g}, more than any machine counts"


def _repetition(row: Raw) -> RowProblems:
    if row.get("repetition_index", 0) >= row.get("repetitions", math.inf) > 0:
        yield (
            "repetition_index",
            f"is {row['repetition_index']}, but there are {row['repetitions']} repetitions",
        )


def _traffic(row: Raw) -> RowProblems:
    for field in ("traffic", "counted"):
        # The requests of a row with trials may be those of one trial, its bytes those of the middle one.
        asked = None if "trials" in row else _asked_over_link(row)
        for part, message in _requests(row.get(field, {}), asked):
            yield f"{field}.{part}", message


def _asked_over_link(row: Raw) -> float | None:
    """Bytes asked for of the host: all, but of a table whose rows are partly in GPU memory."""
    axes, per_row = row["case"]["axes"], row.get("counters", {}).get("requests_per_row")
    if axes.get("store") not in ("tiered", "multi_gpu") or not per_row:
        return row.get("bytes")
    return row.get("traffic", {}).get("requests", 0) / per_row * axes["row"]


def _requests(traffic: Raw, asked: float | None) -> RowProblems:
    by_size = traffic.get("requests_by_size", {})
    if bad := [size for size in by_size if not (size.isdecimal() and len(size) < 20)]:
        yield "requests_by_size", f"has the key {bad[0]!r}, which is no size in bytes"
        return
    if by_size and "requests" in traffic and differ(traffic["requests"], total := sum(by_size.values())):
        yield "requests", f"is {traffic['requests']}, requests_by_size add up to {total}"
    if by_size and "bytes" in traffic:
        total = sum(int(size) * count for size, count in by_size.items())
        if differ(traffic["bytes"], total):
            yield "bytes", f"is {traffic['bytes']}, requests_by_size carry {total}"
    if asked and "bytes" in traffic and "amplification" in traffic:
        right = traffic["bytes"] / asked
        if differ(traffic["amplification"], right, MODEL_ROUNDING):
            yield (
                "amplification",
                f"is {traffic['amplification']}, traffic.bytes / bytes asked for is {right}",
            )


ROW_CHECKS: tuple[Callable[[Raw], RowProblems], ...] = (
    _status,
    _median,
    _interval,
    _percentiles,
    _bandwidth,
    _operation,
    _limit,
    _axes,
    _repetition,
    _traffic,
    *checks_lanes.CHECKS,
    *checks_families.CHECKS,
    *checks_gnn.CHECKS,
    *checks_traversals.CHECKS,
)
