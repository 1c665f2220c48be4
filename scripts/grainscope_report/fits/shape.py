"""The shape of curves: dips, plateaus, two speeds and inversions, each with a likely cause and the next
command; and who is first where: stretches of an axis, each with the ways that nothing beats anywhere on it.

A curve is the rates over sizes, spans, rows, blocks or shares of one question at one site.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from grainscope_report import families, naming, statistics
from grainscope_report.families import BYTES, FAMILIES, Along
from grainscope_report.figures.parts import grouped
from grainscope_report.machine import Cache, caches, spoken_site
from grainscope_report.model import Result, Row
from grainscope_report.resources import COMM_SCOPE, paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_bytes, format_percent, format_rate

# Who is first where.

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

    Of two ways one is faster at a place where `statistics.clearly_more` says so.
    """
    places = sorted({place for there in rates.values() for place in there})
    measured = [{name: there[place] for name, there in rates.items() if place in there} for place in places]
    enough = max(2.0, max(map(len, measured), default=0) / 2) if half else 2.0
    all_segments: list[Segment] = []
    for place, here in zip(places, measured, strict=True):
        if len(here) < enough:
            continue
        best = _first_here(here)
        still = tuple(name for name in all_segments[-1].first if name in best) if all_segments else ()
        if still:
            since = {name: place for name in best if name not in still} | dict(all_segments[-1].later)
            later = tuple(sorted((one for one in since.items() if one[0] in best), key=lambda one: one[1]))
            all_segments[-1] = Segment(all_segments[-1].low, place, still, later)
        else:
            all_segments.append(Segment(place, place, best))
    return all_segments


def _first_here(here: Mapping[str, Estimate]) -> tuple[str, ...]:
    return tuple(
        name
        for name, rate in here.items()
        if not any(statistics.clearly_more(other, rate) for other in here.values())
    )


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


def segments_text(all_segments: list[Segment], size: Callable[[float], str]) -> str:
    """`zero-copy read or kernel copy up to 2 MiB, pinned copy from 4 MiB on`."""
    as_fast = "".join(
        f" ({name} as fast from {size(place)} on)" for name, place in all_segments[-1].later[:1]
    )
    if len(all_segments) == 1:
        [one] = all_segments
        if one.low == one.high:
            return f"{_named_ways(one)} at {size(one.low)}"
        return f"{_named_ways(one)} at every size from {size(one.low)} to {size(one.high)}{as_fast}"
    said = [f"{_named_ways(all_segments[0])} up to {size(all_segments[0].high)}"]
    said += [
        f"{_named_ways(segment)} at {size(segment.low)}"
        if segment.low == segment.high
        else f"{_named_ways(segment)} from {size(segment.low)} to {size(segment.high)}"
        for segment in all_segments[1:-1]
    ]
    return ", ".join(
        [*said, f"{_named_ways(all_segments[-1])} from {size(all_segments[-1].low)} on{as_fast}"]
    )


def _named_ways(segment: Segment) -> str:
    return " or ".join(segment.first)


# Dips, plateaus, two speeds and inversions.

FEWEST = 3  # points that make a curve along another axis
REQUEST = 128  # bytes; rows of other multiples ask for more than they are long, which is no oddity
SHORT = 8  # times fewer bytes than the most along a curve: what takes so little is another question
UNSAID = {"element", "rows", "bytes"}


@dataclass(frozen=True)
class Curve:
    """The rows of one question at one site along an axis, ascending."""

    points: dict[int, Row]
    axis: str = BYTES
    follow: tuple[str, ...] = ()

    @cached_property
    def rates(self) -> list[Estimate]:
        """GB/s at each place."""
        return [
            statistics.rate_gb_s(row.time, size if self.axis == BYTES else row.bytes)
            for size, row in self.points.items()
        ]

    @property
    def sizes(self) -> list[int]:
        """The places on the axis: of `bytes`, spans, rows and grains bytes."""
        return list(self.points)

    @property
    def first(self) -> Row:
        """The row of the smallest size, which stands for the case."""
        return next(iter(self.points.values()))

    case = property(lambda self: self.first.case)

    @property
    def name(self) -> str:
        """The question in words: the family, the words of the case, the flush and the threads where given."""
        if self.axis != BYTES:
            return self._name_along()
        numbers = [
            naming.number(axis, self.case.axes[axis])
            for axis in ("threads", "host_threads", "blocks")
            if isinstance(self.case.axes.get(axis), (int, float))
            and not families.of(self.case.family).odd_requests
        ]
        flush = {"off": ["not flushed"]}.get(str(self.case.axes.get("flush")), [])
        words = naming.name(self.first)
        return ", ".join([f"{self.case.family} {words}" if words else self.case.family, *numbers, *flush])

    def _name_along(self) -> str:
        """The same along another axis: every number but those that change along it."""
        axes = self.case.axes
        numbers = [
            naming.number(axis, axes[axis])
            for axis in sorted(axes)
            if isinstance(axes[axis], (int, float)) and axis not in {self.axis, *self.follow, *UNSAID}
        ]
        words = naming.name(self.first)
        return ", ".join([f"{self.case.family} {words}" if words else self.case.family, *numbers])


def curves(result: Result) -> list[Curve]:
    """Every measured curve of a run, family by family."""
    sized = [family for family, known in FAMILIES.items() if Along(BYTES) in known.curves]
    found: dict[tuple, dict[int, Row]] = defaultdict(dict)
    for family in sized:
        for row in result.of(family):
            if _usable(row):
                site = row.case.site_key
                found[family, row.case.without("bytes"), site][int(row.case.axes["bytes"])] = row
    return [Curve(dict(sorted(there.items()))) for there in found.values()] + [
        curve
        for family, known in FAMILIES.items()
        for along in known.curves
        if along.axis != BYTES
        for curve in _along(result, family, along)
    ]


def _along(result: Result, family: str, along: Along) -> Iterator[Curve]:
    """The curves of a family along another axis than size."""
    axis, follow = along.axis, along.follow
    found: dict[tuple, dict[float, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in result.of(family):
        at = row.case.axes.get(axis)
        whole = isinstance(at, (int, float)) and (axis != "row" or at % REQUEST == 0)
        if whole and row.measured and row.bytes:
            found[row.case.without(axis, *follow), row.case.site_key][at].append(row)
    for mixed in found.values():
        there = _alike(mixed, axis)
        most = max(row.bytes for row in there.values())
        points = {int(at): there[at] for at in sorted(there) if there[at].bytes * SHORT >= most}
        if len(points) >= FEWEST:
            yield Curve(points, axis, follow)


def _alike(there: dict[float, list[Row]], axis: str) -> dict[float, Row]:
    """A row at each place: over spans of the bytes that most places have, else of the most there."""
    if axis == "span":
        places = Counter(size for rows in there.values() for size in {row.bytes for row in rows})
        wanted = max(places, key=lambda size: (places[size], size))
        kept = {at: [row for row in rows if row.bytes == wanted] for at, rows in there.items()}
        return {at: rows[0] for at, rows in kept.items() if rows}
    return {at: max(rows, key=lambda row: row.bytes) for at, rows in there.items()}


def _usable(row: Row) -> bool:
    rated = bool(row.bytes and row.case.axes.get("bytes"))
    return row.measured and rated and row.case.axes.get("timed") in (None, "copy")


DIP, PLATEAU, TWO_SPEEDS, INVERSION, SLOW_MIDDLE = "dip", "plateau", "two speeds", "inversion", "slow middle"
OWN = 2  # the last level of which each core has a cache of its own; the next is shared


@dataclass(frozen=True)
class Cause:
    """A likely cause, whether that is how such systems are known to behave, and the next command."""

    text: str
    known: bool
    command: str


def of_dip(curve: Curve, low: int, high: int, recovers: bool, result: Result) -> Cause:
    """Why a curve falls."""
    axes, command = curve.case.axes, again(curve, low, high)
    if curve.axis != BYTES:
        return _of_dip_along(curve, command)
    if axes.get("method") == "prefetch" and recovers:
        return of_slow_middle(curve, low, high)
    if not recovers and (cache := _cache(curve, low, high, result)):
        # A buffer that was not flushed is in the cache by design; else the cache only takes what is written.
        return Cause(cache, axes.get("flush") == "off", command)
    if axes.get("method") in ("demand", "prefetch"):
        return Cause("how much the driver moves at a time changes with the size", False, command)
    if _pageable(curve):
        text = (
            "the CPU stages pageable memory: another load on its cores, the driver's chunks, or memory of "
            "another node or with other pages"
        )
        return Cause(text, False, command)
    text = "something else used the link, the memory or the clocks meanwhile, or the driver changes its way"
    return Cause(text, False, command)


def _of_dip_along(curve: Curve, command: str) -> Cause:
    """Why a curve falls along another axis than size."""
    if curve.axis == "span" and curve.case.axes.get("memory") != "peer":
        text = (
            "the rows lie further apart than the GPU's address translations reach (figure 13 has the wall); "
            "rows sorted by address, or taken from a smaller table, stay fast"
        )
        return Cause(text, True, command)
    if curve.axis in ("blocks", "sms", "percent", "threads"):
        text = "more at once than the link needs wait for each other, or share memory and caches"
        return Cause(text, False, command)
    text = "something else used the link or the memory meanwhile, or the way to fetch changes with the length"
    return Cause(text, False, command)


def _pageable(curve: Curve) -> bool:
    return "pageable" in str(curve.case.axes.get("path", "")) or curve.case.axes.get("method") == "pageable"


def _cache(curve: Curve, low: int, high: int, result: Result) -> str:
    """The cache that source and destination together outgrow, and what decides from there on.

    Of flushed buffers only what is written is in a cache, what is read comes from memory.
    """
    known = families.of(curve.case.family)
    if known.in_gpu:
        return "beyond the GPU's second-level cache its memory decides"
    flushed = curve.case.axes.get("flush") != "off"
    if flushed and not known.in_host:
        return ""
    threads = curve.case.axes.get("threads", 1)
    share = threads if isinstance(threads, (int, float)) else 1
    found = caches(result)
    first, last = (_outgrown(found, share, size if flushed else 2 * size) for size in (low, high))
    if not first:
        return ""
    outgrown = found[first - 1]
    each = " a core" if share > 1 and outgrown.level <= OWN else ""
    levels = dict.fromkeys(f"its level-{cache.level} cache" for cache in found[first : last + 1])
    decides = [*levels, *(["the memory"] if last == len(found) else [])]
    written = ": of what is written, since what is read was flushed and comes from memory" if flushed else ""
    return (
        f"beyond the CPU's level-{outgrown.level} cache of {format_bytes(outgrown.bytes)}{each} "
        f"{decides[0]} decides{''.join(f', then {after}' for after in decides[1:])}{written}"
    )


def _outgrown(caches: Sequence[Cache], threads: float, size: float) -> int:
    """How many of the caches cannot hold so much; of the first levels each thread's core has its own."""
    holds = (cache.bytes * (threads if cache.level <= OWN else 1) > size for cache in caches)
    return next((at for at, held in enumerate(holds) if held), len(caches))


def of_plateau(curve: Curve) -> Cause:
    """Why long transfers stay below what the link carries."""
    axes = curve.case.axes
    if _pageable(curve):
        return Cause("the CPU copies pageable memory to pinned memory and back", True, _explain(curve))
    if axes.get("method") == "demand":
        return Cause("pages come one fault after another", True, _explain(curve))
    if axes.get("method") == "prefetch":
        return Cause("the driver's own work on pages", False, _explain(curve))
    if axes.get("access") == "off":
        return Cause("without peer access the host stages the copy", True, "nvidia-smi topo -p2p r")
    if families.of(curve.case.family).odd_requests and _short_requests(curve):
        text = "requests are short, not aligned or too few in flight: that is what this case asks for"
        return Cause(text, True, _explain(curve))
    if curve.case.place == "remote":
        text = "what joins the CPUs is slower than the link to the GPU"
        return Cause(text, True, "numactl --hardware; nvidia-smi topo -m")
    fields = "index,pcie.link.gen.current,pcie.link.width.current,clocks.sm"
    query = f"nvidia-smi --query-gpu={fields} --format=csv -l 1"
    text = (
        "a link that trained down under load, an IOMMU or access control services that send packets the long "
        "way, small packets set by the firmware, or slow memory"
    )
    return Cause(text, False, f"{query}  # while the case runs")


def _short_requests(curve: Curve) -> bool:
    axes = curve.case.axes
    return axes.get("access") == "strided" or bool(axes.get("offset")) or axes.get("blocks", "full") != "full"


def of_two_speeds(curve: Curve, low: int, high: int) -> Cause:
    """Why samples fall into two groups."""
    text = (
        "a clock that changes, another process, pages that migrate between nodes, a neighbour on the same "
        "machine, or a driver that works in two ways; the median stands for neither group"
    )
    return Cause(text, False, again(curve, low, high))


def of_inversion() -> Cause:
    """Why memory that is called far is faster."""
    text = (
        "the machine tells another node for the GPU than the one that its slot hangs on, or the node that is "
        "called near is loaded or has fewer memory channels filled"
    )
    return Cause(text, False, "nvidia-smi topo -m; numactl --hardware; grainscope --env")


def of_slow_middle(curve: Curve, low: int, high: int) -> Cause:
    """Why prefetches stay behind at middle sizes: known of the sizes at which Comm|Scope saw it."""
    first, last = (paper(COMM_SCOPE)[name] for name in ("prefetch_slow_from", "prefetch_slow_to"))
    text = "the driver's own work on pages, which only large prefetches hide"
    if first.value <= low and high <= last.value:
        seen = f"from {format_bytes(first.value)} to {format_bytes(last.value)}"
        return Cause(f"{text}: seen {seen} by Comm|Scope ({first.source})", True, again(curve, low, high))
    return Cause(text, False, again(curve, low, high))


def again(curve: Curve, low: int, high: int) -> str:
    """The command that measures a curve again, five times; of sizes the octaves around them, too."""
    sizes = f" --min-bytes={_size(low // 2)} --max-bytes={_size(high * 2)}" if curve.axis == BYTES else ""
    return (
        f"grainscope --preset=full --benchmark_filter='{_filter(curve)}'{sizes} --benchmark_repetitions=5 "
        "--out again"
    )


def _explain(curve: Curve) -> str:
    return f"grainscope --explain {_filter(curve).removeprefix('^').removesuffix('/')}"


def _filter(curve: Curve) -> str:
    """The names of the curve's cases, as a regular expression."""
    return f"^{curve.first.name.rsplit(f'/{curve.axis}:', 1)[0]}/"


def _size(size: int) -> str:
    return format_bytes(max(size, 1)).replace(" ", "")


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
    all_findings: list[Finding] = []
    chosen_curves = curves(result)
    for curve in chosen_curves:
        for one in (*_dips(curve, result), *_plateau(curve, result), *_two_speeds(curve)):
            all_findings.append(one)
    all_findings += [*_inversions(chosen_curves), *_slow_middle(chosen_curves)]
    return sorted(_merged(all_findings), key=lambda finding: finding.cause.known)


def as_json(finding: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    plain = {part.name: getattr(finding, part.name) for part in fields(finding) if part.name != "rows"}
    return plain | {"cause": asdict(finding.cause), "text": finding.text}


def _finding(kind: str, curve: Curve, low: int, high: int, seen: str, cause: Cause) -> Finding:
    site = spoken_site(curve.case.site_key)
    rows = tuple(curve.points.values())
    return Finding(kind, curve.name, (site,) if site else (), low, high, seen, cause, curve.axis, rows)


def _dips(curve: Curve, result: Result) -> Iterator[Finding]:
    for dip in statistics.dips(curve.sizes, _of_link(curve, result)):
        low, high = int(dip.low), int(dip.high)
        after = "and recovers" if dip.recovers else "and stays there"
        seen = f"falls by {format_percent(dip.depth)} {between(low, high, curve.axis)} {after}"
        yield _finding(DIP, curve, low, high, seen, of_dip(curve, low, high, dip.recovers, result))


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
        yield _finding(PLATEAU, curve, low, high, seen, of_plateau(curve))


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
        yield _finding(TWO_SPEEDS, curve, low, high, seen, of_two_speeds(curve, low, high))


def _inversions(chosen_curves: Sequence[Curve]) -> Iterator[Finding]:
    """Remote memory that is clearly faster than local, at the same GPU or CPU."""
    near = {_without_place(curve): curve for curve in chosen_curves if curve.case.place == "local"}
    for far in (curve for curve in chosen_curves if curve.case.place == "remote"):
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
            yield _finding(INVERSION, far, low, high, seen, of_inversion())


def _without_place(curve: Curve) -> tuple:
    kept = {name: value for name, value in curve.case.site.items() if name not in ("numa", "to_node")}
    return (
        curve.case.family,
        curve.axis,
        curve.case.without(curve.axis, *curve.follow, "locality", "link"),
        tuple(sorted(kept.items())),
    )


def _slow_middle(chosen_curves: Sequence[Curve]) -> Iterator[Finding]:
    """Prefetches that stay behind pinned copies at some sizes and catch up at larger ones."""
    pinned = {
        (curve.case.direction, curve.case.place, curve.case.site_key): curve
        for curve in chosen_curves
        if curve.axis == BYTES
        and families.of(curve.case.family).sets_peak
        and str(curve.case.axes.get("path")) in ("pinned_to_gpu", "gpu_to_pinned")
        and curve.case.axes.get("flush", "on") == "on"
    }
    for curve in chosen_curves:
        if curve.axis != BYTES or curve.case.axes.get("method") != "prefetch":
            continue
        key = (curve.case.direction, curve.case.place, curve.case.site_key)
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
                cause = of_slow_middle(curve, int(low), int(high))
                yield _finding(SLOW_MIDDLE, curve, int(low), int(high), seen, cause)


def _merged(all_findings: Sequence[Finding]) -> list[Finding]:
    """Findings of one kind and question, over their sites: the first's words, all sites."""
    merged: dict[tuple, Finding] = {}
    for finding in all_findings:
        key = (finding.kind, finding.name, finding.axis, finding.low, finding.high)
        same = merged.get(key)
        merged[key] = _joined(same, finding) if same else finding
    return list(merged.values())


def _joined(first: Finding, other: Finding) -> Finding:
    return replace(
        first, sites=tuple(dict.fromkeys(first.sites + other.sites)), rows=(*first.rows, *other.rows)
    )


def between(low: int, high: int, axis: str = BYTES) -> str:
    """`at 1 MiB`, `from 1 MiB to 4 MiB`, along another axis `from span 1 GiB to span 8 GiB`."""
    first, last = (format_bytes(at) if axis == BYTES else naming.number(axis, at) for at in (low, high))
    return f"at {first}" if low == high else f"from {first} to {last}"


SHOWN = 3


def paragraphs(all_findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """For each kind and cause the curves with what was seen, and the next command where it is not known."""
    groups = grouped(all_findings, lambda finding: (finding.kind, finding.why))
    for (kind, why), there in groups.items():
        yield f"{kind}: {_curves(there)}; {why}", "" if there[0].cause.known else there[0].cause.command


def _curves(chosen_findings: Sequence[Finding]) -> str:
    said = [f"{finding.name}{_where(finding)} {finding.seen}" for finding in chosen_findings[:SHOWN]]
    left = len(chosen_findings) - SHOWN
    return ", and ".join(["; ".join(said), *([f"{left} more (--json has all)"] if left > 0 else [])])


def _where(finding: Finding) -> str:
    return f" ({'; '.join(finding.sites)})" if finding.sites else ""
