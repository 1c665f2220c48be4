"""How far random rows reach before translating addresses decides: the smallest rows, which it meets first."""

from collections.abc import Iterator

from grainscope_report.analysis import Analysis
from grainscope_report.fits import wall
from grainscope_report.fits.wall import Edge, Wall
from grainscope_report.units import format_bytes


def said(run: Analysis) -> list[str]:
    """A sentence for the first wall of the host's memory and one for that of another GPU's."""
    first: dict[str, Wall] = {}
    for one in run.fits.walls:
        if one.edges:
            first.setdefault(one.link, one)
    return [_wall(one) for _, one in sorted(first.items())]


def _wall(one: Wall) -> str:
    # Whose memory it is stands before all of them.
    knees = "; ".join(f"{edge.what} {_reach(edge)}" for edge in _nearest(one)).replace(" of another GPU", "")
    widest = max(gather.span for gather in one.gathers)
    there = [gather for gather in one.gathers if gather.span == widest]
    slowest = min(there, key=lambda gather: gather.rate.value)
    what = wall.gather_text(slowest).partition(" over ")[0]
    whose = "another GPU's memory" if one.link == "peer" else "host memory"
    return (
        f"Random rows in {whose} keep the rate of small spans: {knees}. The slowest over "
        f"{format_bytes(widest)}, {what}, come at {slowest.rate.value:.1f} GB/s"
    )


def _nearest(one: Wall) -> Iterator[Edge]:
    """Of each order the smallest rows; then the first larger ones that meet no wall."""
    for order in wall.ORDERS:
        there = sorted((edge for edge in one.edges if edge.order == order), key=lambda edge: edge.row)
        yield from there[:1]
        yield from [edge for edge in there[1:] if not edge.knee.reached][:1]


def _reach(edge: Edge) -> str:
    span = edge.knee.span
    if not edge.knee.reached:
        return f"at every span, up to {format_bytes(span.value)}"
    return f"up to {wall.sizes(span) if edge.knee.known else wall.somewhere(span)}"
