"""Google Benchmark's own JSON, as far as it can be compared: names, repetitions, real times.

A repetition is a visit, and what visits differ by is moderated over all benchmarks of the file. Where a file
has aggregates only, its median (or else its mean) is one visit, which is too few to say anything of. What
its runs differ by (type B) no table knows. A rate is `bytes_per_second`.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grainscope_report import statistics, uncertainty
from grainscope_report.comparison.questions import MEASURED, Answer, Question

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_AGGREGATES = ("median", "mean")
_NOWHERE = {"environment": {"gpus": (), "cpu": {"model": ""}}}


def answers(document: Mapping[str, Any]) -> dict[Question, Answer]:
    """Every benchmark of a file with its answer."""
    asked: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in document["benchmarks"]:
        if isinstance(row, dict) and isinstance(name := row.get("run_name", row.get("name")), str):
            asked[name].append(row)
    there = {name: answer for name, rows in asked.items() if (answer := _answer(name, rows))}
    return {Question(MEASURED, name): answer for name, answer in with_spread(there).items()}


def with_spread(there: Mapping[str, Answer]) -> dict[str, Answer]:
    """The answers of one file by name, with what their visits differ by."""
    measured = [
        {"status": "ok", "label": MEASURED, "case": {"family": name}}
        | {"median_s": one.seconds, "middle": 0, "visits": [{"median_s": visit} for visit in one.visits]}
        for name, one in there.items()
        if one.visits
    ]
    found = dict(there)
    for row, told in zip(measured, uncertainty.derived(measured, _NOWHERE, uncertainty.TypeB()), strict=True):
        if a := told.get("uncertainty", {}).get("a"):
            name = row["case"]["family"]
            found[name] = replace(found[name], a=uncertainty.uncertainty_of(a))
    return found


def _answer(name: str, rows: Sequence[Mapping[str, Any]]) -> Answer | None:
    single = [row for row in rows if row.get("run_type", "iteration") == "iteration"]
    if not single:
        by_kind = [[row for row in rows if row.get("aggregate_name") == kind] for kind in _AGGREGATES]
        single = next(filter(None, by_kind), [])
    if not single:
        return None
    good = [row for row in single if not _fault(row)]
    if not good:
        status, reason = _fault(single[0]) or ("failed", "")
        return Answer(status=status, reason=reason, spoken=name)
    visits = [row["real_time"] * _UNITS[row.get("time_unit", "ns")] for row in good]
    rates = list(_bytes(good, visits))
    return Answer(
        statistics.median(visits),
        tuple(visits),
        bytes=sorted(rates)[len(rates) // 2] if len(rates) == len(good) else None,
        failed=len(single) - len(good),
        spoken=name,
    )


def _fault(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Why a row cannot be compared: its status and reason."""
    if row.get("error_occurred"):
        return "failed", str(row.get("error_message", "error_occurred"))
    if row.get("skipped"):
        return "skipped", str(row.get("skip_message", "skipped"))
    time = row.get("real_time")
    if not _positive(time) or row.get("time_unit", "ns") not in _UNITS:
        return "failed", "it has no real_time that is a positive number with a known time_unit"
    return None


def _positive(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value > 0


def _bytes(rows: Sequence[Mapping[str, Any]], visits: Sequence[float]) -> Iterator[float]:
    for row, visit in zip(rows, visits, strict=True):
        if _positive(rate := row.get("bytes_per_second")):
            yield rate * visit
