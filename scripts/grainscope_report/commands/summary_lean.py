"""What `summary` says of traversals that move fewer bytes: for each graph the fastest of each budget."""

from collections.abc import Iterator, Sequence

from grainscope_report.commands.summary_traversals import known
from grainscope_report.groups import lean
from grainscope_report.groups.lean import Gain
from grainscope_report.statistics import Estimate
from grainscope_report.terminal import Column, Terminal
from grainscope_report.units import format_bytes, format_time

COLUMNS = (
    Column("traversals that move fewer bytes"),
    Column("fastest"),
    Column("time", right=True),
    Column("over the link", right=True, optional=2),
    Column("in GPU memory", right=True, optional=1),
    Column("× EMOGI's best", right=True),
    Column("× device", right=True),
    Column("model", right=True, optional=3),
)
SAID = (
    "What a better algorithm buys beside EMOGI's best, the fastest walk over whole lists of the same graph "
    "by EMOGI's accesses or GraphPEG's exchange; each with so many percent of the edges in GPU memory. "
    "Times: means over trials after GAP; model: its time for the link, an estimate that knows no cache, "
    "against the measured one."
)


def lines(gains: Sequence[Gain], out: Terminal) -> Iterator[str]:
    """A line for each graph and budget; nothing without such rows."""
    if not gains:
        return
    first, *rest = out.table(*known(COLUMNS, [_cells(gain) for gain in gains]))
    yield out.paint(first, "bold")
    yield from rest
    yield out.paint(out.wrap(SAID, "  "), "dim")


def _cells(gain: Gain) -> tuple[str, ...]:
    best, work = gain.best, gain.work
    weights = f", weights {work.weights}" if work.weights else ""
    sent = best.run.row.link_bytes_least
    return (
        f"  {work.algorithm} {work.graph}{weights}",
        best.text,
        format_time(lean.mean_time(best.run).value),
        format_bytes(sent) if sent else "-",
        format_bytes(best.hot_bytes) if best.hot_bytes else "0",
        _times(gain.over.get("mapped")),
        _times(gain.over.get("device")),
        f"{100 * best.modelled[1]:+.0f} %" if best.modelled else "-",
    )


def _times(ratio: Estimate | None) -> str:
    return f"{ratio.value:.2f}" if ratio else "-"
