"""The ways of moving bytes in one direction, as curves over the size, and where one overtakes another."""

import itertools
from dataclasses import dataclass

from grainscope_report.answers import segments
from grainscope_report.cases import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, TO_PEER
from grainscope_report.figures import parts
from grainscope_report.figures.model import Curve
from grainscope_report.figures.series import NEAREST, Where, curves
from grainscope_report.machine import Machine
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes

FLUSH = ("on", "off")
COPIES = {"timed": "copy", "flush": FLUSH}
ZERO = {
    "access": ("merged_aligned", "merged", "strided"),
    "allocation": ("host_alloc", "registered", "accessed_by"),
}
Way = tuple[str, str, str, Where]
PEER = (
    ("copy engine", "copy_engine"),
    ("kernel copy", "kernel_copy"),
    ("zero-copy", "zero_copy"),
    ("demand", "demand"),
    ("prefetch", "prefetch"),
)


def _peer(direction: str) -> tuple[Way, ...]:
    return tuple(
        (f"peer {name}", method, "transfer/peer", {"method": method, "direction": direction, "access": "on"})
        for name, method in PEER
    )


# Name, method, family, axes.
WAYS: dict[str, tuple[Way, ...]] = {
    HOST_TO_GPU: (
        ("pageable copy", "pageable", "transfer/memcpy", COPIES | {"path": "pageable_to_gpu"}),
        ("pinned copy", "pinned", "transfer/memcpy", COPIES | {"path": "pinned_to_gpu"}),
        ("kernel copy", "kernel_copy", "transfer/kernel_copy", {"path": "pinned_to_gpu"}),
        ("zero-copy read", "zero_copy", "transfer/zero_copy", ZERO | {"direction": "read"}),
        ("demand", "demand", "transfer/managed", {"method": "demand", "path": "host_to_gpu"}),
        ("prefetch", "prefetch", "transfer/managed", {"method": "prefetch", "path": "host_to_gpu"}),
    ),
    GPU_TO_HOST: (
        ("pageable copy", "pageable", "transfer/memcpy", COPIES | {"path": "gpu_to_pageable"}),
        ("pinned copy", "pinned", "transfer/memcpy", COPIES | {"path": "gpu_to_pinned"}),
        ("kernel copy", "kernel_copy", "transfer/kernel_copy", {"path": "gpu_to_pinned"}),
        ("zero-copy write", "zero_copy", "transfer/zero_copy", ZERO | {"direction": "write"}),
        ("demand", "demand", "transfer/managed", {"method": "demand", "path": "gpu_to_host"}),
        ("prefetch", "prefetch", "transfer/managed", {"method": "prefetch", "path": "gpu_to_host"}),
    ),
    FROM_PEER: _peer("read"),
    TO_PEER: _peer("write"),
}


@dataclass(frozen=True)
class Swap:
    """`faster` beats `slower` from a size on: that size with its interval."""

    direction: str
    faster: str
    slower: str
    size: Estimate

    @property
    def text(self) -> str:
        """In words."""
        return parts.crossing_text(self.faster, self.slower, True, self.size)


def ways(machine: Machine, direction: str) -> list[Curve]:
    """One curve for each way that the run measured, at the first site of the nearest memory."""
    found = []
    for name, method, family, axes in WAYS[direction]:
        near = {} if family == "transfer/peer" else {"locality": NEAREST}
        drawn = curves([machine], family, {**axes, **near}, name=name, method=method).curves
        found += [curve for curve in drawn if curve.primary][:1]
    return found


def said(machine: Machine) -> list[str]:
    """A sentence for each direction: which way is first at which size."""
    sentences = []
    for direction in WAYS:
        rates = {curve.name: dict(zip(curve.x, curve.y, strict=True)) for curve in ways(machine, direction)}
        if found := segments.segments(rates):
            sentences.append(f"Fastest {parts.ARROWS[direction]}: {segments.text(found, format_bytes)}")
    return sentences


def swaps(machine: Machine) -> list[Swap]:
    """Every size at which one way overtakes another, direction by direction."""
    found = []
    for direction in WAYS:
        for first, second in itertools.combinations(ways(machine, direction), 2):
            found += _between(direction, first, second)
    return found


def _between(direction: str, first: Curve, second: Curve) -> list[Swap]:
    found = []
    for crossing in parts.crossovers(first, second):
        size = Estimate(crossing.x, crossing.low, crossing.high)
        faster, slower = (first, second) if crossing.first_wins_above else (second, first)
        found.append(Swap(direction, faster.name, slower.name, size))
    return found
