"""Findings in few lines: those of one kind and cause together, what is not known first and with a command."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from grainscope_report.shape.findings import Finding

SHOWN = 3


def paragraphs(found: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """For each kind and cause the curves with what was seen, and the next command where it is not known."""
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for one in found:
        groups[one.kind, one.why].append(one)
    for (kind, why), there in groups.items():
        yield f"{kind}: {_curves(there)}; {why}", "" if there[0].cause.known else there[0].cause.command


def _curves(there: Sequence[Finding]) -> str:
    said = [f"{one.name}{_where(one)} {one.seen}" for one in there[:SHOWN]]
    left = len(there) - SHOWN
    return ", and ".join(["; ".join(said), *([f"{left} more (--json has all)"] if left > 0 else [])])


def _where(one: Finding) -> str:
    return f" ({'; '.join(one.sites)})" if one.sites else ""
