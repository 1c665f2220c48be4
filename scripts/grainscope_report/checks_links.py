"""Checks against the links of the run: their own numbers, shares of their peaks, rates above their limits."""

from collections.abc import Iterator

from grainscope_report.checks_parts import ROUNDING, Raw, RowProblems, differ
from grainscope_report.model import READERS, WALKS, Case, Ends, ends
from grainscope_report.schema import Problem

# Rows of these use the links of all of their lanes, and their share may be of one of them.
SHARED = {"transfer/collective", "contention"}


def of_links(links: list[Raw]) -> Iterator[Problem]:
    """Everything in which the links contradict themselves or each other."""
    seen = set()
    for index, link in enumerate(links):
        path, (low, high), peak = f"$.context.links[{index}]", link["ci95_gb_s"], link["peak_gb_s"]
        if not low <= peak <= high:
            yield Problem(f"{path}.ci95_gb_s", f"is [{low}, {high}], which does not contain peak_gb_s {peak}")
        if (most := link.get("theoretical_gb_s")) is not None and peak > most:
            yield Problem(f"{path}.peak_gb_s", f"is {peak}, above the link's theoretical {most}")
        if "peer" in link and "numa" in link:
            yield Problem(f"{path}.numa", "is given beside peer: a link has one other end")
        if link.get("peer") == link["gpu"]:
            yield Problem(f"{path}.peer", "is the GPU itself")
        if (key := (link["gpu"], link.get("numa"), link.get("peer"), link["direction"])) in seen:
            yield Problem(path, "is a second entry for the same gpu, node or peer, and direction")
        seen.add(key)


def of_row(row: Raw, links: list[Raw]) -> RowProblems:
    """The row's share of the copy peak, and whether its lanes beat what their links can do."""
    by_ends = {ends(link, link["direction"]): link for link in links}
    if "link_fraction" in row:
        for message in _fraction(row, by_ends):
            yield "link_fraction", message
    if row["status"] == "ok" and "lanes" in row:
        yield from _impossible(row, by_ends)


def _crossed(row: Raw) -> list[Ends]:
    """The links that the measured lanes cross, each once."""
    lanes = [lane for lane in row.get("lanes", ()) if lane["bytes"] and not lane.get("background")]
    return list(dict.fromkeys((lane["from"], lane["to"]) for lane in lanes if lane["from"] != lane["to"]))


def _fraction(row: Raw, links: dict[Ends | None, Raw]) -> Iterator[str]:
    case = Case(row["case"]["family"], row["case"]["axes"], row["case"]["site"])
    found = rates(row, case)
    if not found:
        yield "is given without bandwidth_gb_s"
        return
    of = peaks(row, case, links)
    if not of:
        yield "is given, but context.links has no peak for its gpu, node or peer, and direction"
    elif all(differ(row["link_fraction"], rate / peak) for peak in of for rate in found.values()):
        name, rate = next(iter(found.items()))
        what = "the sum of its links' peak_gb_s" if len(_crossed(row)) > 1 else "peak_gb_s"
        yield f"is {row['link_fraction']}, {name} / {what} is {rate / of[0]}"


def rates(row: Raw, case: Case) -> dict[str, float]:
    """The rates of which the share may be given: that over the link, too, where a family counts it."""
    found = {"bandwidth_gb_s": row.get("bandwidth_gb_s")}
    if case.family.startswith(WALKS) or case.family in READERS:
        found = {"counters.link_gb_s": row.get("counters", {}).get("link_gb_s")} | found
    return {name: rate for name, rate in found.items() if rate is not None}


def peaks(row: Raw, case: Case, links: dict[Ends | None, Raw]) -> list[float]:
    """What a row's rate may be a share of: the sum over the links of its lanes, or its own link's peak."""
    found = []
    crossed = _crossed(row)
    if crossed and all(pair in links for pair in crossed):
        found.append(sum(links[pair]["peak_gb_s"] for pair in crossed))
    if not crossed or case.family in SHARED:
        found += [link["peak_gb_s"] for pair, link in links.items() if _own(case, pair, link)]
    return found


def _own(case: Case, pair: Ends | None, link: Raw) -> bool:
    if case.direction is not None:
        return pair == case.ends
    return all(case.site.get(end) == link.get(end) for end in ("gpu", "numa", "peer"))


def _impossible(row: Raw, links: dict[Ends | None, Raw]) -> RowProblems:
    for index, lane in enumerate(row["lanes"]):
        most = links.get((lane["from"], lane["to"]), {}).get("theoretical_gb_s")
        if most and lane.get("bandwidth_gb_s", 0) > most * (1 + ROUNDING):
            yield (
                f"lanes[{index}].bandwidth_gb_s",
                f"is {lane['bandwidth_gb_s']:.4g}, above the link's theoretical {most:.4g}: "
                "the row must be failed",
            )
    crossed = _crossed(row)
    limits = [links.get(pair, {}).get("theoretical_gb_s") for pair in crossed]
    if limits and all(limits) and row.get("bandwidth_gb_s", 0) > sum(limits) * (1 + ROUNDING):
        yield (
            "bandwidth_gb_s",
            f"is {row['bandwidth_gb_s']:.4g}, above the sum of its links' limits, {sum(limits):.4g}: "
            "the row must be failed",
        )
