"""What `summary` says of traversals: for each algorithm and graph the best access and how good it is.

A line is for the widest edges, with the time of the narrower ones beside it; `--json` has all of them.
"""

from collections.abc import Iterator, Sequence

from grainscope_report.groups import traversal
from grainscope_report.groups.traversal_answers import Answer
from grainscope_report.statistics import Estimate
from grainscope_report.terminal import Column, Terminal
from grainscope_report.units import format_percent, format_time, significant

MEASURED = (
    "Best: the fastest way that leaves the edges in host memory and needs no managed memory. × managed: how "
    "many times faster, where managed memory is cold, not oversubscribed unless "
    "--allow-managed-oversubscription was given; × device: against edges in the GPU's memory. Times: "
    "medians over trials."
)
MODELLED = (
    "Modelled: an estimate of the time that the link needs, which measured traversals may miss either way. "
    "× managed: where the card holds half of the edge list, modelled and not validated on hardware."
)
NARROW = "With narrower edges: the time of the same access."
TIED = "Tied: so many other accesses take exactly as long."
ALSO = "What the model says of the same is in --json and in figures 8, 9, 16 and 17."


def lines(answers: Sequence[Answer], out: Terminal) -> Iterator[str]:
    """A table of what was measured, or where nothing was, of what is modelled; nothing without traversals."""
    measured = [answer for answer in answers if answer.label == "measured"]
    there = measured or list(answers)
    if not there:
        return
    link = there[0].best.link
    what = f"traversals, modelled over {traversal.link_name(link)}" if link else "traversals, measured"
    wide = [answer for answer in there if answer.work.edge == _widest(answer, there)]
    first, *rest = out.table(*known(_columns(what, there), [_cells(answer, there) for answer in wide]))
    yield out.paint(first, "bold")
    yield from rest
    also = f" {NARROW}" if len(_edges(there)) > 1 else ""
    also += f" {TIED}" if any(answer.tied for answer in wide) else ""
    also += f" {ALSO}" if measured and len(measured) < len(answers) else ""
    yield out.paint(out.wrap((MEASURED if measured else MODELLED) + also, "  "), "dim")


def _columns(what: str, there: Sequence[Answer]) -> tuple[Column, ...]:
    edges = _edges(there)
    narrow = f"with {edges[0]} B" if len(edges) > 1 else "narrower"
    return (
        Column(what),
        Column("best access"),
        Column("time", right=True),
        Column(narrow, right=True, optional=2),
        Column("GTEPS", right=True, optional=1),
        Column("GB/s", right=True, optional=5),
        Column("of link", right=True, optional=3),
        Column("amplification", right=True, optional=4),
        Column("× managed", right=True),
        Column("× device", right=True),
    )


def _edges(there: Sequence[Answer]) -> list[int]:
    return sorted({answer.work.edge for answer in there})


def known(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> tuple[list[Column], list[list[str]]]:
    """The columns of which any cell is known."""
    kept = [at for at in range(len(columns)) if any(row[at] != "-" for row in cells)]
    return [columns[at] for at in kept], [[row[at] for at in kept] for row in cells]


def _same(one: Answer, two: Answer) -> bool:
    """Whether they differ in the width of edges alone."""
    return (one.work.algorithm, one.work.graph, one.work.weights) == (
        two.work.algorithm,
        two.work.graph,
        two.work.weights,
    )


def _widest(answer: Answer, there: Sequence[Answer]) -> int:
    return max(one.work.edge for one in there if _same(one, answer))


def _cells(answer: Answer, there: Sequence[Answer]) -> tuple[str, ...]:
    work, best = answer.work, answer.best
    teps, rate = best.counter("teps"), best.counter("link_gb_s")
    weights = f", weights {work.weights}" if work.weights else ""
    narrow = next((one for one in there if _same(one, answer) and one.work.edge < work.edge), None)
    alike = narrow.like(best) if narrow else None
    tied = f" (tied with {len(answer.tied)})" if answer.tied else ""
    return (
        f"  {work.algorithm} {work.graph}, {work.edge} B{weights}",
        (traversal.spoken(best.access) if best.placement != "subway" else "Subway") + tied,
        format_time(best.time.value),
        format_time(alike.time.value) if alike else "-",
        significant(teps / 1e9) if teps else "-",
        f"{rate:.1f}" if rate else "-",
        format_percent(best.link_fraction) if best.link_fraction else "-",
        f"{answer.amplification:.2f}" if answer.amplification else "-",
        _times(answer.over.get("managed")),
        _times(answer.over.get("device")),
    )


def _times(ratio: Estimate | None) -> str:
    return f"{ratio.value:.2f}" if ratio else "-"
