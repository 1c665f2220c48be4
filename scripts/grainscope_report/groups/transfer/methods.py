"""The ways of moving bytes in one direction, as curves over the size, and where one overtakes another."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grainscope_report import statistics
from grainscope_report.answers import segments
from grainscope_report.answers.segments import Segment
from grainscope_report.figures import parts
from grainscope_report.figures.model import Curve
from grainscope_report.figures.series import NEAREST, Where, curves
from grainscope_report.machine import Machine
from grainscope_report.model import FROM_PEER, GPU_TO_HOST, HOST_TO_GPU, TO_PEER
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


@dataclass(frozen=True)
class Choice:
    """Which way is first at which size, in one direction, and where one overtakes another."""

    direction: str
    first: list[Segment]
    swaps: list[Swap]

    @property
    def text(self) -> str:
        """`kernel copy up to 1.2 MiB, pinned copy from 3.1 MiB on`; empty where nothing is known."""
        return segments.text(self.first, format_bytes) if self.first else ""


def choices(machine: Machine) -> list[Choice]:
    """Every direction that the run measured."""
    drawn = {direction: ways(machine, direction) for direction in WAYS}
    return [_choice(direction, there) for direction, there in drawn.items() if there]


def said(found: Sequence[Choice]) -> list[str]:
    """A sentence for each direction: which way is first at which size."""
    return [f"Fastest {parts.ARROWS[one.direction]}: {one.text}" for one in found if one.first]


def _choice(direction: str, there: Sequence[Curve]) -> Choice:
    swaps = [swap for pair in itertools.combinations(there, 2) for swap in _between(direction, *pair)]

    def overtaken(faster: str, slower: str) -> list[Estimate]:
        return [one.size for one in swaps if (one.faster, one.slower) == (faster, slower)]

    rates = {curve.name: dict(zip(curve.x, curve.y, strict=True)) for curve in there}
    return Choice(direction, segments.bounded(segments.segments(rates), overtaken), swaps)


def _between(direction: str, first: Curve, second: Curve) -> list[Swap]:
    """Where one of two ways overtakes the other, by the rule of the segments: none says more than they do."""
    x, ones, twos = parts.shared_points(first, second)
    clear = [_unless_alike(one, two) for one, two in zip(ones, twos, strict=True)]
    crossings = statistics.crossovers(x, *zip(*clear, strict=True)) if len(x) > 1 else []
    found = []
    for crossing in crossings:
        size = Estimate(crossing.x, crossing.low, crossing.high)
        faster, slower = (first, second) if crossing.first_wins_above else (second, first)
        found.append(Swap(direction, faster.name, slower.name, size))
    return found


def _unless_alike(one: Estimate, two: Estimate) -> tuple[Estimate, Estimate]:
    """Both as they are where one is clearly faster, else with one interval, which says nothing of either."""
    if segments.clearly_faster(one, two) or segments.clearly_faster(two, one):
        return one, two
    low, high = min(one.low, two.low), max(one.high, two.high)
    return replace(one, low=low, high=high), replace(two, low=low, high=high)
