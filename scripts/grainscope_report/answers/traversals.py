"""Which way to traverse a graph in host memory is first, and what it is against managed and GPU memory."""

from collections import Counter
from collections.abc import Sequence

from grainscope_report.fits.everything import Fits
from grainscope_report.machine import Machine
from grainscope_report.traversal import answers, compare, runs
from grainscope_report.traversal.answers import Answer
from grainscope_report.units import significant


def said(machine: Machine, _fits: Fits) -> list[str]:
    """A sentence on what was measured, or where nothing was, on what is modelled."""
    found = answers.answers(machine)
    measured = [answer for answer in found if answer.label == "measured"]
    there = measured or found
    if not there:
        return []
    counted = Counter(_way(answer) for answer in there)
    ways = ", ".join(f"{way} in {count}" for way, count in counted.most_common())
    what = "measured" if measured else f"modelled over {compare.link_name(there[0].best.link)}"
    works = f"{len(there)} {what} traversal{'s' if len(there) > 1 else ''} of edges in host memory"
    return [f"Of {works} the fastest access is {ways}{_against(there)}"]


def _way(answer: Answer) -> str:
    return "Subway" if answer.best.placement == "subway" else runs.spoken(answer.best.access)


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
            low, high = significant(ratios[0], 2), significant(ratios[-1], 2)
            parts.append(f"{low if low == high else f'{low} to {high}'} times {name}")
    return f"; its speed is {' and '.join(parts)}" if parts else ""
