"""What the links reach: one way, both ways, and where there is no GPU what the host's memory does."""

from collections.abc import Sequence

from grainscope_report.analysis import Analysis
from grainscope_report.cases import GPU_TO_HOST, HOST_TO_GPU, TO_PEER
from grainscope_report.figures.parts import ARROWS
from grainscope_report.groups import host
from grainscope_report.groups.transfer import copies
from grainscope_report.model import Link
from grainscope_report.result import Result
from grainscope_report.units import format_bytes, format_percent

FAMILIES = (copies.MEMCPY, "transfer/peer", host.MEMCPY)


def said(run: Analysis) -> list[str]:
    """A sentence for the host's links, one for those between GPUs, or one for the host's memory."""
    result = run.result
    ways = [part for way in (HOST_TO_GPU, GPU_TO_HOST) if (part := _way(result, way))]
    found = [f"A pinned copy reaches {' and '.join(ways)}{_both(run, 'host_gpu')}"] if ways else []
    if peers := _way(result, TO_PEER):
        found.append(f"Between GPUs a copy reaches {peers}{_both(run, 'gpu_gpu')}")
    return found or _host(run)


def _way(result: Result, direction: str) -> str:
    """`55.3 GB/s host → GPU (87.8 % of PCIe 5 ×16; remote 38.0)`; of several links the range."""
    there = [link for link in result.links if link.direction == direction]
    if not there:
        return ""
    near = [link for link in there if (link.gpu, link.numa) not in result.remote] or there
    far = [link for link in there if link not in near]
    arrow = "" if direction == TO_PEER else f" {ARROWS[direction]}"
    more = [*_of_theory(near), *([f"remote {_range(far)}"] if far else [])]
    return f"{_range(near)} GB/s{arrow}" + (f" ({'; '.join(more)})" if more else "")


def _range(links: Sequence[Link]) -> str:
    low, high = (f"{pick(link.peak_gb_s for link in links):.1f}" for pick in (min, max))
    return low if low == high else f"{low} to {high}"


def _of_theory(there: Sequence[Link]) -> list[str]:
    shares = {
        link.negotiated or "the theoretical peak": link.peak_gb_s / link.theoretical_gb_s
        for link in sorted(there, key=lambda link: link.peak_gb_s)
        if link.theoretical_gb_s
    }
    return [f"{format_percent(share)} of {name}" for name, share in shares.items()]


def _both(run: Analysis, between: str) -> str:
    found = [one for one in run.fits.duplexes if one.name.startswith(between)]
    if not found:
        return ""
    best = max(found, key=lambda one: one.rate.value)
    return f"; both ways at once {best.rate.value:.1f} GB/s"


def _host(run: Analysis) -> list[str]:
    groups = [group for group in run.groups if group.family == host.MEMCPY and group.peak]
    if not groups:
        return []
    best = max(groups, key=lambda group: group.peak.rate.value)
    peak, flushed = best.peak, " of flushed buffers" if best.flushed else ""
    axes = dict(peak.axes)
    threads = f" by {axes['threads']:g} threads" if axes.get("threads", 1) > 1 else ""
    size = f" {format_bytes(peak.bytes)}" if peak.bytes else ""
    rate = f"{peak.rate.value:.1f} GB/s"
    return [f"No link to a GPU was measured; the CPUs copy{size}{flushed}{threads} at {rate}"]
