"""What `list` says of a row beside its time: the counters that answer its family's question."""

from collections.abc import Callable, Iterable

from grainscope_report.model import Row
from grainscope_report.units import format_percent, significant


def said(row: Row) -> str:
    """`hits 60.1 % of 10 %, 0.978 of optimal`; empty where the family has nothing of the kind."""
    told = SAID.get(row.case.family)
    return ", ".join(told(row)) if told and row.ok else ""


def _gather(row: Row) -> Iterable[str]:
    rate, share = row.counters.get("link_gb_s"), row.counters.get("host_share")
    if rate is not None and rate != row.bandwidth_gb_s:
        yield f"link {rate:.2f} GB/s"
    if share is not None:
        yield f"{format_percent(share)} from the host"
    if (requests := row.counters.get("requests_per_row")) is not None:
        yield f"{significant(requests)} requests a row"


def _score(row: Row) -> Iterable[str]:
    if (hits := row.counters.get("hit_rate_10")) is not None:
        yield f"first 10 %: {format_percent(hits)} of accesses"
    if (share := row.counters.get("of_optimal_10")) is not None:
        yield f"{share:.3f} of optimal"


def _edges(row: Row) -> Iterable[str]:
    if (rate := row.counters.get("edges_per_s")) is not None:
        yield f"{significant(rate / 1e6)} M edges/s"


def _share(row: Row) -> Iterable[str]:
    given, there = row.counters.get("given_sms"), row.counters.get("available_sms")
    asked = row.counters.get("asked_sms")
    if given is not None:
        of = f" of {there:g}" if there else ""
        yield f"{given:g}{of} SMs" + (f" for {asked:g} asked" if asked not in (None, given) else "")
    yield from _slower(row, "gather", "compute")


def _slower(row: Row, *sides: str) -> Iterable[str]:
    for side in sides:
        if (slower := row.counters.get(f"{side}_slowdown")) is not None:
            yield f"{side} × {slower:.2f}"


def _pipeline(row: Row) -> Iterable[str]:
    yield from _slower(row, "gather", "train")
    if (overlap := row.counters.get("overlap")) is not None:
        yield f"overlap {overlap:.2f}"
    if (loss := row.counters.get("loss_last")) is not None:
        yield f"loss {significant(loss)}"


SAID: dict[str, Callable[[Row], Iterable[str]]] = {
    "gather": _gather,
    "gather/bag": _gather,
    "model/gather": _gather,
    "tiering/score": _score,
    "tiering/reorder": _edges,
    "sampling/neighbours": _edges,
    "sm_share/gather": _share,
    "sm_share/split": _share,
    "pipeline/graphsage": _pipeline,
}
