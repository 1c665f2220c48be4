"""Checks of a result file that a schema cannot say: whether its numbers agree with each other."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from grainscope_report import statistics
from grainscope_report.model import Case
from grainscope_report.schema import Problem

Raw = Mapping[str, Any]

# Numbers that follow from others in the file may differ by what printing rounds away.
ROUNDING = 1e-6
# The model counts whole periods of a walk: what is left of a small buffer is not in its requests.
MODEL_ROUNDING = 0.05
TIMES = ("samples_s", "median_s", "ci95_s", "mad_s", "p5_s", "p95_s", "bandwidth_gb_s", "operation_s")


def problems(document: Raw) -> list[Problem]:
    """Everything in which a file that follows the schema contradicts itself."""
    context, rows = document["context"], document["benchmarks"]
    found = [*_counts(context["run"], rows), *_run(context["run"]), *_links(context["links"]), *_unique(rows)]
    for index, row in enumerate(rows):
        path = f"$.benchmarks[{index}]"
        for check in ROW_CHECKS:
            found += [Problem(f"{path}.{field}", message) for field, message in check(row)]
        found += [
            Problem(f"{path}.link_fraction", message) for message in _link_fraction(row, context["links"])
        ]
    return found


def _differ(left: float, right: float, tolerance: float = ROUNDING) -> bool:
    return not math.isclose(left, right, rel_tol=tolerance, abs_tol=1e-15)


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


def _links(links: list[Raw]) -> Iterator[Problem]:
    seen = set()
    for index, link in enumerate(links):
        path, (low, high), peak = f"$.context.links[{index}]", link["ci95_gb_s"], link["peak_gb_s"]
        if not low <= peak <= high:
            yield Problem(f"{path}.ci95_gb_s", f"is [{low}, {high}], which does not contain peak_gb_s {peak}")
        if (most := link.get("theoretical_gb_s")) is not None and peak > most:
            yield Problem(f"{path}.peak_gb_s", f"is {peak}, above the link's theoretical {most}")
        if (key := (link["gpu"], link["numa"], link["direction"])) in seen:
            yield Problem(path, "is a second entry for the same gpu, node and direction")
        seen.add(key)


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


RowProblems = Iterator[tuple[str, str]]


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
    if _differ(row["median_s"], right := statistics.median(samples)):
        yield "median_s", f"is {row['median_s']}, the median of samples_s is {right}"
    if "mad_s" in row and _differ(row["mad_s"], right := statistics.mad(samples)):
        yield "mad_s", f"is {row['mad_s']}, that of samples_s is {right}"


def _interval(row: Raw) -> RowProblems:
    if "ci95_s" not in row or "median_s" not in row:
        return
    low, high = row["ci95_s"]
    if not low * (1 - ROUNDING) <= row["median_s"] <= high * (1 + ROUNDING):
        yield "ci95_s", f"is [{low}, {high}], which does not contain median_s {row['median_s']}"
    elif len(samples := row.get("samples_s", ())) >= statistics.FEWEST_FOR_INTERVAL:
        right_low, right_high = statistics.median_interval(samples)
        if _differ(low, right_low) or _differ(high, right_high):
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
    elif _differ(row["bandwidth_gb_s"], right := row["bytes"] / row["median_s"] / 1e9):
        yield "bandwidth_gb_s", f"is {row['bandwidth_gb_s']}, bytes / median_s / 1e9 is {right}"


def _operation(row: Raw) -> RowProblems:
    if "operation_s" in row and "operations" in row and "median_s" in row:
        right = row["median_s"] / row["operations"]
        if _differ(row["operation_s"], right):
            yield "operation_s", f"is {row['operation_s']}, median_s / operations is {right}"


def _limit(row: Raw) -> RowProblems:
    if row["status"] != "ok" or "limit_gb_s" not in row or "median_s" not in row:
        return
    crossed = row.get("link_bytes", row.get("bytes"))
    if crossed is not None and (rate := crossed / row["median_s"] / 1e9) > row["limit_gb_s"] * (1 + ROUNDING):
        yield "status", f"is ok, but {rate:.4g} GB/s beats limit_gb_s {row['limit_gb_s']}: it must be failed"


def _repetition(row: Raw) -> RowProblems:
    if row.get("repetition_index", 0) >= row.get("repetitions", math.inf) > 0:
        yield (
            "repetition_index",
            f"is {row['repetition_index']}, but there are {row['repetitions']} repetitions",
        )


def _traffic(row: Raw) -> RowProblems:
    traffic = row.get("traffic", {})
    by_size = traffic.get("requests_by_size", {})
    if bad := [size for size in by_size if not size.isdigit()]:
        yield "traffic.requests_by_size", f"has the key {bad[0]!r}, which is no size in bytes"
        return
    if by_size and "requests" in traffic and _differ(traffic["requests"], total := sum(by_size.values())):
        yield "traffic.requests", f"is {traffic['requests']}, requests_by_size add up to {total}"
    if by_size and "bytes" in traffic:
        total = sum(int(size) * count for size, count in by_size.items())
        if _differ(traffic["bytes"], total):
            yield "traffic.bytes", f"is {traffic['bytes']}, requests_by_size carry {total}"
    if row.get("bytes") and "bytes" in traffic and "amplification" in traffic:
        right = traffic["bytes"] / row["bytes"]
        if _differ(traffic["amplification"], right, MODEL_ROUNDING):
            yield "traffic.amplification", f"is {traffic['amplification']}, traffic.bytes / bytes is {right}"


ROW_CHECKS: tuple[Callable[[Raw], RowProblems], ...] = (
    _status,
    _median,
    _interval,
    _percentiles,
    _bandwidth,
    _operation,
    _limit,
    _repetition,
    _traffic,
)


def _link_fraction(row: Raw, links: list[Raw]) -> Iterator[str]:
    if "link_fraction" not in row:
        return
    case = Case(row["case"]["family"], row["case"]["axes"], row["case"]["site"])
    if "bandwidth_gb_s" not in row:
        yield "is given without bandwidth_gb_s"
        return
    peaks = [
        link["peak_gb_s"]
        for link in links
        if (link["gpu"], link["numa"]) == (case.site.get("gpu"), case.site.get("numa"))
        and case.direction in (None, link["direction"])
    ]
    if not peaks:
        yield "is given, but context.links has no peak for its gpu, node and direction"
    elif all(_differ(row["link_fraction"], row["bandwidth_gb_s"] / peak) for peak in peaks):
        yield f"is {row['link_fraction']}, bandwidth_gb_s / peak_gb_s is {row['bandwidth_gb_s'] / peaks[0]}"
