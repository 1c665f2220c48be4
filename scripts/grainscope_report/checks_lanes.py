"""Checks of rows of operations that ran at once: each lane with itself, and all with the row."""

import re
from itertools import pairwise

from grainscope_report.checks_parts import ROUNDING, Raw, RowProblems, differ
from grainscope_report.model import GPU_TO_HOST, HOST_TO_GPU, OPPOSITE, TO_PEER, ends

_PLACE = re.compile(r"(host|gpu):\d+")
# A median of ratios is not the ratio of medians: overlap may exceed what the lanes' intervals allow by this.
SLACK = 1.25
# Lanes may be timed by other clocks than the row.
CLOCKS = 1e-3
BOTH_WAYS = {"host_gpu": ("to_gpu", "to_host"), "gpu_gpu": ("to_peer", "from_peer")}
FIRST_WAY = {
    "to_gpu": HOST_TO_GPU,
    "to_host": GPU_TO_HOST,
    "to_peer": TO_PEER,
    "from_peer": OPPOSITE[TO_PEER],
}


def _lane(row: Raw) -> RowProblems:
    for index, lane in enumerate(row.get("lanes", ())):
        for field, message in _of_lane(lane):
            yield f"lanes[{index}].{field}", message


def _interval(timed: Raw) -> tuple[float, float]:
    """In seconds, of a row or a lane; of one without an interval its median twice."""
    low, high = timed.get("ci95_s", (timed["median_s"],) * 2)
    return low, high


def _of_lane(lane: Raw) -> RowProblems:
    low, high = _interval(lane)
    if not low * (1 - ROUNDING) <= lane["median_s"] <= high * (1 + ROUNDING):
        yield "ci95_s", f"is [{low}, {high}], which does not contain median_s {lane['median_s']}"
    if lane["bytes"] and "bandwidth_gb_s" not in lane:
        yield "bandwidth_gb_s", "is missing though the lane moved bytes"
    if not lane["bytes"] and "bandwidth_gb_s" in lane:
        yield "bandwidth_gb_s", "is given though the lane has no bytes"
    for rate, time in (("bandwidth_gb_s", "median_s"), ("alone_gb_s", "alone_s")):
        if lane["bytes"] and rate in lane and time in lane:
            right = lane["bytes"] / lane[time] / 1e9
            if differ(lane[rate], right):
                yield rate, f"is {lane[rate]}, bytes / {time} / 1e9 is {right}"
    for end in ("from", "to"):
        if not _PLACE.fullmatch(lane[end]):
            yield end, f"is {lane[end]!r}, not like `host:0` or `gpu:1`"


def _measured(row: Raw) -> list[Raw]:
    return [lane for lane in row["lanes"] if not lane.get("background")]


def _together(row: Raw) -> RowProblems:
    """The row has the bytes of all measured lanes, and takes as long as any of them ran."""
    if "lanes" not in row:
        if "overlap" in row:
            yield "overlap", "is given without lanes"
        return
    measured = _measured(row)
    if row["lanes"][0].get("background"):
        yield "lanes[0].background", "is true, but the measured lane comes first"
    if len({lane["name"] for lane in row["lanes"]}) < len(row["lanes"]):
        yield "lanes", "has two lanes of one name"
    total = sum(lane["bytes"] for lane in measured)
    if measured and "bytes" in row and total != row["bytes"]:
        yield "bytes", f"is {row['bytes']}, its measured lanes have {total} together"
    if measured and "median_s" in row:
        longest = max(measured, key=lambda lane: lane["median_s"])
        if row["median_s"] < longest["median_s"] * (1 - CLOCKS):
            yield (
                "median_s",
                f"is {row['median_s']}, but its lane {longest['name']} alone took {longest['median_s']}",
            )


def _overlap(row: Raw) -> RowProblems:
    lanes = row.get("lanes", ())
    if len(lanes) < 2 or row["status"] != "ok":
        return
    if "overlap" not in row:
        yield "overlap", "is missing though the row has several lanes"
    elif len(_measured(row)) == len(lanes):
        most = min(_interval(lane)[1] for lane in lanes) / _interval(row)[0]
        if row["overlap"] > most * SLACK:
            yield "overlap", f"is {row['overlap']}, but the shortest lane ran {most:.3g} of the time at most"


def _both_ways(row: Raw) -> RowProblems:
    """A duplex row is two lanes of the same bytes in opposite directions between the ends of its site."""
    case = row["case"]
    if case["family"] != "transfer/duplex" or row["status"] != "ok":
        return
    if not (lanes := row.get("lanes", ())):
        yield "lanes", "is missing though the row is about both directions at once"
        return
    wanted = BOTH_WAYS.get(case["axes"].get("between"), ())
    there = {lane["name"]: (index, lane) for index, lane in enumerate(lanes)}
    for name in wanted:
        if name not in there:
            yield "lanes", f"has no lane {name}: one of the two directions is not there"
            continue
        index, lane = there[name]
        if not lane["bytes"]:
            yield f"lanes[{index}].bytes", "is 0: this direction moved nothing"
        elif lane["bytes"] != (size := case["axes"].get("bytes", lane["bytes"])):
            yield f"lanes[{index}].bytes", f"is {lane['bytes']}, the case asks for {size} each way"
        right = ends(case["site"], FIRST_WAY[name])
        if right and (lane["from"], lane["to"]) != right:
            yield f"lanes[{index}].from", f"to {lane['to']} is {lane['from']}, not {right[0]} to {right[1]}"
    for one, two in pairwise(lanes):
        if (one["from"], one["to"]) == (two["from"], two["to"]):
            yield "lanes", f"{one['name']} and {two['name']} go the same way"


def _slower_alone(row: Raw) -> RowProblems:
    """The flag follows from a lane; rows from before it have none."""
    if "slower_alone" not in row.get("flags", ()):
        return
    lanes = _measured(row) if "lanes" in row else []
    if not any(lane.get("alone_s", 0) > _interval(lane)[1] for lane in lanes):
        yield "flags", "has slower_alone, but no lane took longer alone than beside the others"


CHECKS = (_lane, _together, _overlap, _both_ways, _slower_alone)
