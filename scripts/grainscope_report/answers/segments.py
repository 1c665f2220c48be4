"""Who is first where: stretches of an axis, each with the ways that nothing beats anywhere on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grainscope_report.statistics import Estimate

# What is closer to the best than this is as good.
ALIKE = 0.02
Rates = Mapping[str, Mapping[float, Estimate]]


@dataclass(frozen=True)
class Segment:
    """From `low` to `high`, both measured, nothing is clearly faster than each of `first`."""

    low: float
    high: float
    first: tuple[str, ...]


def segments(rates: Rates, half: bool = True) -> list[Segment]:
    """The fewest stretches with one answer each, where two ways, and of all `half`, were measured.

    Ways are alike at a place where their intervals overlap the best one's or they are within `ALIKE` of it.
    """
    places = sorted({place for there in rates.values() for place in there})
    measured = [{name: there[place] for name, there in rates.items() if place in there} for place in places]
    enough = max(2.0, max(map(len, measured), default=0) / 2) if half else 2.0
    found: list[Segment] = []
    for place, here in zip(places, measured, strict=True):
        if len(here) < enough:
            continue
        best = _best(here)
        still = tuple(name for name in found[-1].first if name in best) if found else ()
        if still:
            found[-1] = Segment(found[-1].low, place, still)
        else:
            found.append(Segment(place, place, best))
    return found


def _best(here: Mapping[str, Estimate]) -> tuple[str, ...]:
    top = max(here.values(), key=lambda rate: rate.value)
    return tuple(
        name for name, rate in here.items() if rate.high >= top.low or rate.value >= (1 - ALIKE) * top.value
    )


def text(found: list[Segment], size: Callable[[float], str]) -> str:
    """`zero-copy read or kernel copy up to 2 MiB, pinned copy from 4 MiB on`."""
    if len(found) == 1:
        [one] = found
        if one.low == one.high:
            return f"{_named(one)} at {size(one.low)}"
        return f"{_named(one)} at every size from {size(one.low)} to {size(one.high)}"
    said = [f"{_named(found[0])} up to {size(found[0].high)}"]
    said += [
        f"{_named(one)} at {size(one.low)}"
        if one.low == one.high
        else f"{_named(one)} from {size(one.low)} to {size(one.high)}"
        for one in found[1:-1]
    ]
    return ", ".join([*said, f"{_named(found[-1])} from {size(found[-1].low)} on"])


def _named(one: Segment) -> str:
    return " or ".join(one.first)
