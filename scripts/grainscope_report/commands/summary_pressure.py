"""What `summary` says of managed memory under pressure: how often the data set crosses the link."""

from collections.abc import Iterator, Sequence

from grainscope_report.groups.traversal_answers import Moved
from grainscope_report.terminal import Column, Terminal
from grainscope_report.units import format_bytes, significant

MOST_LINES = 12
SAID = (
    "How many times the data set (edge list and weights) crosses the link where the card holds so many "
    "percent of it. Modelled and not validated on hardware; a fault brings {}."
)


def lines(found: Sequence[Moved], out: Terminal) -> Iterator[str]:
    """A line for each algorithm and graph; nothing without such rows."""
    if not found:
        return
    cards = sorted({card for one in found for card in one.times})
    columns = (
        Column("managed memory, modelled"),
        *(Column(f"card {card:g} %", right=True, optional=at) for at, card in enumerate(cards)),
    )
    first, *rest = out.table(columns, [_cells(one, cards) for one in found[:MOST_LINES]])
    yield out.paint(first, "bold")
    yield from rest
    if len(found) > MOST_LINES:
        yield f"  … and {len(found) - MOST_LINES} more (--json has all)"
    yield out.paint(out.wrap(SAID.format(format_bytes(found[0].page)), "  "), "dim")


def _cells(one: Moved, cards: Sequence[float]) -> tuple[str, ...]:
    work = one.work
    weights = f", weights {work.weights}" if work.weights else ""
    times = (f"{significant(one.times[card])} ×" if card in one.times else "-" for card in cards)
    return f"  {work.algorithm} {work.graph}, {work.edge} B{weights}", *times
