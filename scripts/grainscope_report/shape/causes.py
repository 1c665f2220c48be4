"""Why a curve has the shape that it has, as far as its case tells, and what to run next."""

from collections.abc import Sequence
from dataclasses import dataclass

from grainscope_report import families
from grainscope_report.families import BYTES
from grainscope_report.machine import Cache, caches
from grainscope_report.model import Result
from grainscope_report.resources import COMM_SCOPE, paper
from grainscope_report.shape.curves import Curve
from grainscope_report.units import format_bytes

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
