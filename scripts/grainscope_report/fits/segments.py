"""Who is first where: stretches of an axis, each with the ways that nothing beats anywhere on it."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from grainscope_report.statistics import Estimate

# What is closer to the best than this is as good.
ALIKE = 0.02
Rates = Mapping[str, Mapping[float, Estimate]]
# Where the first of two ways overtakes the second: places with their intervals.
Overtaken = Callable[[str, str], Sequence[Estimate]]


@dataclass(frozen=True)
class Segment:
    """From `low` to `high`, both measured, nothing is clearly faster than each of `first`.

    Of no other way that holds, but of some from a place on: `later` has that place.
    """

    low: float
    high: float
    first: tuple[str, ...]
    later: tuple[tuple[str, float], ...] = ()


def segments(rates: Rates, half: bool = True) -> list[Segment]:
    """The fewest stretches with one answer each, where two ways, and of all `half`, were measured.

    Of two ways one is faster at a place where `clearly_faster` says so.
    """
    places = sorted({place for there in rates.values() for place in there})
    measured = [{name: there[place] for name, there in rates.items() if place in there} for place in places]
    enough = max(2.0, max(map(len, measured), default=0) / 2) if half else 2.0
    all_segments: list[Segment] = []
    for place, here in zip(places, measured, strict=True):
        if len(here) < enough:
            continue
        best = _best(here)
        still = tuple(name for name in all_segments[-1].first if name in best) if all_segments else ()
        if still:
            since = {name: place for name in best if name not in still} | dict(all_segments[-1].later)
            later = tuple(sorted((one for one in since.items() if one[0] in best), key=lambda one: one[1]))
            all_segments[-1] = Segment(all_segments[-1].low, place, still, later)
        else:
            all_segments.append(Segment(place, place, best))
    return all_segments


def _best(here: Mapping[str, Estimate]) -> tuple[str, ...]:
    return tuple(
        name for name, rate in here.items() if not any(clearly_faster(other, rate) for other in here.values())
    )


def clearly_faster(estimate: Estimate, other: Estimate) -> bool:
    """Whether the intervals say so and the other is not within `ALIKE` of it."""
    return estimate.low > other.high and other.value < (1 - ALIKE) * estimate.value


def bounded(all_segments: Sequence[Segment], overtaken: Overtaken) -> list[Segment]:
    """The stretches with ends as near as curves between the measured places tell them.

    A stretch ends before the first place where a way of the next may have overtaken one of its own that does
    not go on, and the next begins behind the last such place. Where nothing is overtaken, ends stay.
    """
    ends = list(all_segments)
    for at, (one, two) in enumerate(itertools.pairwise(all_segments)):
        gone = [name for name in one.first if name not in two.first]
        sizes = [size for old in gone for new in two.first for size in overtaken(new, old)]
        there = [size for size in sizes if one.low <= size.low and size.high <= two.high]
        if there:
            ends[at] = replace(ends[at], high=min(size.low for size in there))
            ends[at + 1] = replace(ends[at + 1], low=max(size.high for size in there))
    return ends


def text(all_segments: list[Segment], size: Callable[[float], str]) -> str:
    """`zero-copy read or kernel copy up to 2 MiB, pinned copy from 4 MiB on`."""
    as_fast = "".join(
        f" ({name} as fast from {size(place)} on)" for name, place in all_segments[-1].later[:1]
    )
    if len(all_segments) == 1:
        [one] = all_segments
        if one.low == one.high:
            return f"{_named(one)} at {size(one.low)}"
        return f"{_named(one)} at every size from {size(one.low)} to {size(one.high)}{as_fast}"
    said = [f"{_named(all_segments[0])} up to {size(all_segments[0].high)}"]
    said += [
        f"{_named(segment)} at {size(segment.low)}"
        if segment.low == segment.high
        else f"{_named(segment)} from {size(segment.low)} to {size(segment.high)}"
        for segment in all_segments[1:-1]
    ]
    return ", ".join([*said, f"{_named(all_segments[-1])} from {size(all_segments[-1].low)} on{as_fast}"])


def _named(segment: Segment) -> str:
    return " or ".join(segment.first)
