"""What is odd about the curves of a run, each with its cause; the same at several sites is one finding."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from grainscope_report import families, naming, statistics
from grainscope_report.families import BYTES
from grainscope_report.machine import spoken_site
from grainscope_report.model import Result, Row
from grainscope_report.shape import causes
from grainscope_report.shape.causes import Cause
from grainscope_report.shape.curves import Curve, curves
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_percent, format_rate

# A curve is flat where its last sizes, this many of them or more, are this close to each other.
FLAT, FLAT_SIZES = 0.1, 3
BELOW = 0.8
FASTER = 0.05
# Along these axes a curve is to end at the link; spans, rows and grains have walls and roofs of their own.
PLATEAUS = (BYTES, "blocks", "sms", "percent")


@dataclass(frozen=True)
class Finding:
    """One oddity: its kind, the curve's name, sites and sizes, what was seen, and why that may be."""

    kind: str
    name: str
    sites: tuple[str, ...]
    low: int
    high: int
    seen: str
    cause: Cause
    axis: str = BYTES
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)

    @property
    def text(self) -> str:
        """What was seen and why, without the command."""
        where = f" ({'; '.join(self.sites)})" if self.sites else ""
        return f"{self.kind}: {self.name}{where} {self.seen}; {self.why}"

    @property
    def why(self) -> str:
        """The cause, and whether it is known or only likely."""
        return f"{'known' if self.cause.known else 'likely'}: {self.cause.text}"


def findings(result: Result) -> list[Finding]:
    """Everything that is odd, what is not known first."""
    found: list[Finding] = []
    there = curves(result)
    for curve in there:
        for one in (*_dips(curve, result), *_plateau(curve, result), *_two_speeds(curve)):
            found.append(one)
    found += [*_inversions(there), *_slow_middle(there)]
    return sorted(_merged(found), key=lambda one: one.cause.known)


def as_json(one: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    plain = {part.name: getattr(one, part.name) for part in fields(one) if part.name != "rows"}
    return plain | {"cause": asdict(one.cause), "text": one.text}


def _finding(kind: str, curve: Curve, low: int, high: int, seen: str, cause: Cause) -> Finding:
    site = spoken_site(sorted(curve.case.site.items()))
    rows = tuple(curve.points.values())
    return Finding(kind, curve.name, (site,) if site else (), low, high, seen, cause, curve.axis, rows)


def _dips(curve: Curve, result: Result) -> Iterator[Finding]:
    for dip in statistics.dips(curve.sizes, _of_link(curve, result)):
        low, high = int(dip.low), int(dip.high)
        after = "and recovers" if dip.recovers else "and stays there"
        seen = f"falls by {format_percent(dip.depth)} {between(low, high, curve.axis)} {after}"
        yield _finding(
            causes.DIP, curve, low, high, seen, causes.of_dip(curve, low, high, dip.recovers, result)
        )


def _of_link(curve: Curve, result: Result) -> list[Estimate]:
    """The rates, over spans none above the copy peak: there repeated rows come from a cache."""
    link = result.link(curve.case.ends)
    if curve.axis != "span" or link is None:
        return curve.rates
    peak = link.peak_gb_s
    return [
        replace(one, value=min(one.value, peak), low=min(one.low, peak), high=min(one.high, peak))
        for one in curve.rates
    ]


def _plateau(curve: Curve, result: Result) -> Iterator[Finding]:
    """A curve that is flat at its end, clearly below the copy peak, or of pinned copies below the theory."""
    if curve.axis not in PLATEAUS:
        return
    limit, what = _limit(curve, result)
    flat = _flat(curve)
    if limit is None or not flat:
        return
    top = max((curve.rates[at] for at in flat), key=lambda rate: rate.value)
    if top.high < BELOW * limit:
        low, high = curve.sizes[flat[0]], curve.sizes[-1]
        share = format_percent(top.value / limit)
        seen = f"is flat at {format_rate(top.value)} GB/s {between(low, high, curve.axis)}, {share} of {what}"
        yield _finding(causes.PLATEAU, curve, low, high, seen, causes.of_plateau(curve))


def _limit(curve: Curve, result: Result) -> tuple[float | None, str]:
    """What a curve should come near to: the copy peak, or for pinned copies, which make it, the theory."""
    link = result.link(curve.case.ends)
    known = families.of(curve.case.family)
    if link is None or known.no_peak:
        return None, ""
    if known.sets_peak and "pinned" in str(curve.case.axes.get("path")):
        return link.theoretical_gb_s, "what the negotiated link can do"
    return link.peak_gb_s, "the copy peak"


def _flat(curve: Curve) -> list[int]:
    """The places of the last sizes that are close to each other, if there are enough."""
    rates = curve.rates
    start = len(rates)
    low = high = rates[-1].value
    while start > 0:
        low, high = min(low, rates[start - 1].value), max(high, rates[start - 1].value)
        if low < (1 - FLAT) * high:
            break
        start -= 1
    return list(range(start, len(rates))) if len(rates) - start >= FLAT_SIZES else []


def _two_speeds(curve: Curve) -> Iterator[Finding]:
    sizes = [size for size, row in curve.points.items() if "bimodal" in row.flags]
    if sizes:
        low, high = sizes[0], sizes[-1]
        many = f"at {len(sizes)} of {len(curve.points)} sizes, {between(low, high, curve.axis)}"
        seen = f"has samples in two groups {many}"
        yield _finding(causes.TWO_SPEEDS, curve, low, high, seen, causes.of_two_speeds(curve, low, high))


def _inversions(there: Sequence[Curve]) -> Iterator[Finding]:
    """Remote memory that is clearly faster than local, at the same GPU or CPU."""
    near = {_without_place(curve): curve for curve in there if curve.case.place == "local"}
    for far in (curve for curve in there if curve.case.place == "remote"):
        local = near.get(_without_place(far))
        if local is None:
            continue
        sizes = [
            (size, far.rates[at].value / local.rates[local.sizes.index(size)].value)
            for at, size in enumerate(far.sizes)
            if size in local.points
            and far.rates[at].low > (1 + FASTER) * local.rates[local.sizes.index(size)].high
        ]
        if sizes:
            low, high = sizes[0][0], sizes[-1][0]
            most = max(ratio for _, ratio in sizes)
            seen = f"is up to {most:.2f} times as fast as local {between(low, high, far.axis)}"
            yield _finding(causes.INVERSION, far, low, high, seen, causes.of_inversion())


def _without_place(curve: Curve) -> tuple:
    kept = {name: value for name, value in curve.case.site.items() if name not in ("numa", "to_node")}
    return (
        curve.case.family,
        curve.axis,
        curve.case.without(curve.axis, *curve.follow, "locality", "link"),
        tuple(sorted(kept.items())),
    )


def _slow_middle(there: Sequence[Curve]) -> Iterator[Finding]:
    """Prefetches that stay behind pinned copies at some sizes and catch up at larger ones."""
    pinned = {
        (curve.case.direction, curve.case.place, tuple(sorted(curve.case.site.items()))): curve
        for curve in there
        if curve.axis == BYTES
        and families.of(curve.case.family).sets_peak
        and str(curve.case.axes.get("path")) in ("pinned_to_gpu", "gpu_to_pinned")
        and curve.case.axes.get("flush", "on") == "on"
    }
    for curve in there:
        if curve.axis != BYTES or curve.case.axes.get("method") != "prefetch":
            continue
        key = (curve.case.direction, curve.case.place, tuple(sorted(curve.case.site.items())))
        copy = pinned.get(key)
        shared = [size for size in curve.sizes if copy and size in copy.points]
        ratios = [
            statistics.ratio(curve.rates[curve.sizes.index(size)], copy.rates[copy.sizes.index(size)])
            for size in shared
        ]
        for low, high in statistics.stretches_below(shared, ratios, BELOW):
            if high < shared[-1]:
                worst = min(
                    ratio.value for ratio, size in zip(ratios, shared, strict=True) if low <= size <= high
                )
                seen = f"is as little as {worst:.2f} of a pinned copy {between(int(low), int(high))}"
                cause = causes.of_slow_middle(curve, int(low), int(high))
                yield _finding(causes.SLOW_MIDDLE, curve, int(low), int(high), seen, cause)


def _merged(found: Sequence[Finding]) -> list[Finding]:
    """Findings of one kind and question, over their sites: the first's words, all sites."""
    merged: dict[tuple, Finding] = {}
    for one in found:
        key = (one.kind, one.name, one.axis, one.low, one.high)
        same = merged.get(key)
        merged[key] = _joined(same, one) if same else one
    return list(merged.values())


def _joined(first: Finding, other: Finding) -> Finding:
    return replace(
        first, sites=tuple(dict.fromkeys(first.sites + other.sites)), rows=(*first.rows, *other.rows)
    )


def between(low: int, high: int, axis: str = BYTES) -> str:
    """`at 1 MiB`, `from 1 MiB to 4 MiB`, along another axis `from span 1 GiB to span 8 GiB`."""
    first, last = (format_bytes(at) if axis == BYTES else naming.number(axis, at) for at in (low, high))
    return f"at {first}" if low == high else f"from {first} to {last}"
