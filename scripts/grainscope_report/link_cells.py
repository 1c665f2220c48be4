"""The measured copy peak of a link as cells of a table, for the terminal and for pages."""

from grainscope_report.model import Link
from grainscope_report.units import format_bytes, format_interval, format_percent

NAMES = ("link", "copy peak GB/s", "95 % interval", "at", "theoretical GB/s", "reached", "negotiated")
RIGHT = (False, True, False, True, True, True, False)


def cells(link: Link) -> tuple[str, ...]:
    """One cell for each of `NAMES`; rates in GB/s."""
    peak, interval = format_interval(link.peak_gb_s, *link.within_gb_s)
    most = link.theoretical_gb_s
    way = link.direction.replace("_to_", " → ").replace("gpu", "GPU")
    return (
        f"GPU {link.gpu}, node {link.numa}, {way}"
        if link.peer is None
        else f"GPU {link.gpu} → GPU {link.peer}",
        peak,
        interval,
        format_bytes(link.bytes),
        f"{most:.1f}" if most else "unknown",
        format_percent(link.peak_gb_s / most) if most else "-",
        link.negotiated or "unknown",
    )
