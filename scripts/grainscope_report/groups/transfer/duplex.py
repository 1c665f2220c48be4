"""Figure 3: both directions at once, each lane and both together, with the 2× line (Comm|Scope 7)."""

from collections.abc import Sequence
from dataclasses import replace

from grainscope_report.figures import parts
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Curve, CurvePanel, Figure
from grainscope_report.figures.series import NEAREST, as_it_is, curves, lane, named, overlap
from grainscope_report.machine import Machine
from grainscope_report.model import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, TO_PEER
from grainscope_report.resources import COMM_SCOPE, paper

FAMILY = "transfer/duplex"
METHODS = {
    "pageable": "pageable",
    "pinned": "pinned",
    "copy_engine": "copy engine",
    "kernel_copy": "kernel copy",
    "zero_copy": "zero-copy",
    "demand": "demand",
    "prefetch": "prefetch",
}
# Remote memory is drawn for these; for the others the nearest alone, or nothing could be told apart.
BOTH_PLACES = ("pageable", "pinned")
# Between GPUs each sends, over the link: read, read_write and staged copies are for a table.
EACH_SENDS = {"direction": ("write", None), "access": ("on", None)}
EACH_SENDS_NOTE = (
    "Between GPUs each sends, with peer access; each reading, one doing both, and copies staged by the host "
    "are rows that are not drawn."
)
BETWEEN = {"host_gpu": "host ↔ GPU", "gpu_gpu": "GPU ↔ GPU"}
LANES = {
    "host_gpu": (("to_gpu", HOST_TO_GPU), ("to_host", GPU_TO_HOST)),
    "gpu_gpu": (("to_peer", TO_PEER), ("from_peer", FROM_PEER)),
}


def build(machines: Sequence[Machine]) -> Figure:
    """Both together, each lane, and how much they overlapped: a column for each kind of pair."""
    columns = [column for between in BETWEEN if (column := _column(machines, between))]
    if not columns:
        return Figure(machines, ())
    if len(columns) == 1:
        [(total, first, second, share)] = columns
        rows = ((total, share), (first, second))
    else:
        *curved, shares = zip(*columns, strict=True)
        rows = (*curved, tuple(replace(share, short=True) for share in shares))
    return Figure(machines, rows, tuple(_notes(machines, columns)))


def _column(machines: Sequence[Machine], between: str) -> tuple[CurvePanel, ...] | None:
    total = _drawn(machines, between)
    if not total:
        return None
    (first, way), (second, back) = LANES[between]
    return (
        CurvePanel(
            f"{BETWEEN[between]}, both ways together",
            tuple(total),
            x_label="size each way",
            levels=parts.both_ways(total, way),
        ),
        _lane(machines, between, first, way),
        _lane(machines, between, second, back),
        CurvePanel(
            f"{BETWEEN[between]}: share of the time in which both lanes ran",
            tuple(_drawn(machines, between, view=overlap, measure=as_it_is)),
            x_label="size each way",
            y_label="share of time",
            y_unit="ratio",
            y_top=1.0,
        ),
    )


def _lane(machines: Sequence[Machine], between: str, name: str, direction: str) -> CurvePanel:
    drawn = tuple(_drawn(machines, between, view=lane(name)))
    title = f"{parts.ARROWS[direction]}, while the other way runs"
    return CurvePanel(title, drawn, x_label="size each way", levels=parts.levels(drawn, direction))


def _drawn(machines: Sequence[Machine], between: str, **more) -> list[Curve]:
    found: list[Curve] = []
    for method, name in named(machines, FAMILY, METHODS).items():
        where = {"between": between, "method": method}
        if between == "gpu_gpu":
            where |= EACH_SENDS
        elif method not in BOTH_PLACES:
            where["locality"] = NEAREST
        found += curves(machines, FAMILY, where, name=name, method=method, **more).curves
    return found


def _notes(machines: Sequence[Machine], columns: Sequence[tuple[CurvePanel, ...]]) -> list[str]:
    source = paper(COMM_SCOPE)
    pinned, pageable = source["duplex_over_one_way_pinned"], source["duplex_over_one_way_pageable"]
    sites = parts.slow_sites([column[0] for column in columns], len(machines) > 1)
    between = any(column[0].title.startswith(BETWEEN["gpu_gpu"]) for column in columns)
    return [
        "Both together: the bytes of both lanes over the time in which either ran.",
        *([EACH_SENDS_NOTE] if between else []),
        *sites,
        f"{source.name} ({pinned.source}): both ways at once pinned copies are about {pinned.value:g} times "
        f"as fast as one way, pageable ones {pageable.bound} faster: their staging copies are serialised.",
    ]


FIGURES = (Entry("3", "figure_3_duplex", "Both directions at once", (FAMILY,), "rows", build),)
