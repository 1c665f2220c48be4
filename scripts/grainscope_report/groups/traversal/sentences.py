"""Which way to traverse a graph in host memory is first, and what it is against managed and GPU memory."""

from collections import Counter
from collections.abc import Sequence

from grainscope_report.analysis import Analysis
from grainscope_report.groups.traversal import compare, lean, runs
from grainscope_report.groups.traversal.answers import Answer
from grainscope_report.groups.traversal.lean_answers import Gain
from grainscope_report.model import MODEL
from grainscope_report.units import significant

FAMILIES = (runs.TRAVERSAL, runs.LEAN, f"{MODEL}bfs")


def said(run: Analysis) -> list[str]:
    """A sentence on what was measured, or where nothing was, on what is modelled."""
    found = run.traversals
    measured = [answer for answer in found if answer.label == "measured"]
    fewer = _fewer_bytes(run.gains)
    there = measured or found
    if not there:
        return fewer
    counted = Counter(_way(answer) for answer in there)
    ways = ", ".join(f"{way} in {count}" for way, count in counted.most_common())
    what = "measured" if measured else f"modelled over {compare.link_name(there[0].best.link)}"
    works = f"{len(there)} {what} traversal{'s' if len(there) > 1 else ''} of edges in host memory"
    return [f"Of {works} the fastest access is {ways}{_against(there)}", *fewer]


def _fewer_bytes(gains: Sequence[Gain]) -> list[str]:
    """What a better algorithm buys beside that access: without edges in GPU memory, then with the most."""
    said = []
    for algorithm in dict.fromkeys(gain.work.algorithm for gain in gains):
        own = [gain for gain in gains if gain.work.algorithm == algorithm]
        most = max(gain.best.hot for gain in own)
        parts = [_faster([gain for gain in own if not gain.best.hot])]
        if most and (hot := _faster([gain for gain in own if gain.best.hot == most])):
            parts.append(f"with {most:.3g} % of the edges in GPU memory as well {hot}")
        if any(parts):
            name = f"{algorithm} ({lean.spoken(own[0].best.strategy)})"
            said.append(f"{name} {', '.join(part for part in parts if part)}")
    if not said:
        works = len({gain.work for gain in gains})
        alone = (
            "1 traversal that moves fewer bytes has none of EMOGI's beside it"
            if works == 1
            else f"{works} traversals that move fewer bytes have none of EMOGI's beside them"
        )
        return [alone] if works else []
    return [
        "What an algorithm that moves fewer bytes buys beside the fastest walk over whole lists (EMOGI's or "
        "GraphPEG's), in speed: " + "; ".join(said)
    ]


def _faster(there: Sequence[Gain]) -> str:
    """`3.1 to 4.2 times with 7.3 to 8.0 times fewer bytes over the link`."""
    ratios = [gain.over["mapped"].value for gain in there if "mapped" in gain.over]
    fewer = [gain.bytes_over for gain in there if gain.bytes_over]
    if not ratios:
        return ""
    moved = f" (over the link {_range(fewer)} times fewer bytes)" if fewer else ""
    return f"{_range(ratios)} times{moved}"


def _range(values: Sequence[float]) -> str:
    low, high = significant(min(values), 2), significant(max(values), 2)
    return low if low == high else f"{low} to {high}"


def _way(answer: Answer) -> str:
    """`aligned`, or where several take the same time `merged = aligned (a tie)`."""
    names = [
        "Subway" if run.placement == "subway" else runs.spoken(run.access)
        for run in (answer.best, *answer.tied)
    ]
    return f"{' = '.join(names)} (a tie)" if answer.tied else names[0]


def _against(there: Sequence[Answer]) -> str:
    """The range of how many times faster than managed memory and than the GPU's own."""
    managed = (
        "that of managed memory under pressure"
        if there[0].label == "modelled"
        else "that of cold managed memory"
    )
    parts = []
    for base, name in (("managed", managed), ("device", "that of edges in the GPU's memory")):
        ratios = sorted(answer.over[base].value for answer in there if base in answer.over)
        if ratios:
            parts.append(f"{_range(ratios)} times {name}")
    return f"; its speed is {' and '.join(parts)}" if parts else ""
