"""Figure 5: explicit copies against zero-copy access by a kernel, read and write (Comm|Scope 9)."""

from collections.abc import Sequence

from grainscope_report.cases import GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.figures import parts
from grainscope_report.figures.explicit import copies
from grainscope_report.figures.model import CurvePanel, Figure
from grainscope_report.figures.series import NEAREST, Curves, curves
from grainscope_report.machine import Machine
from grainscope_report.papers import COMM_SCOPE, paper

FAMILY = "transfer/zero_copy"
ACCESSES = {"read": HOST_TO_GPU, "write": GPU_TO_HOST}
# Preferences: the access that a copy should use, the plainest way to allocate.
ACCESS = ("merged_aligned", "merged", "strided")
ALLOCATION = ("host_alloc", "registered", "accessed_by")


def build(machines: Sequence[Machine]) -> Figure:
    """Read on the left, write on the right, with the sizes where the methods swap places."""
    panels, notes = [], []
    for access, direction in ACCESSES.items():
        where = {"direction": access, "access": ACCESS, "allocation": ALLOCATION, "locality": NEAREST}
        zero = curves(machines, FAMILY, where, name="zero-copy", method="zero_copy")
        notes += _configuration(zero, access)
        panels.append(_panel(machines, access, direction, zero) if zero.curves else None)
    rows, letters = parts.lettered([panels], len(machines) > 1)
    if rows:
        source = paper(COMM_SCOPE)
        number = source["zero_copy_read_behind_copy_s822lc"]
        notes.append(
            f"{source.name} ({number.source}), {number.system}: zero-copy read about {number.value} GB/s "
            "slower than the copy."
        )
    return Figure(machines, rows, (*letters, *notes))


def _panel(machines: Sequence[Machine], access: str, direction: str, zero: Curves) -> CurvePanel:
    near = {"locality": NEAREST}
    pinned = copies(machines, "pinned", direction, "pinned copy", **near).curves
    pageable = copies(machines, "pageable", direction, "pageable copy", **near).curves
    drawn = (*pageable, *pinned, *zero.curves)
    regions = (*parts.crossings(zero.curves, pinned, access), *parts.crossings(zero.curves, pageable, access))
    return CurvePanel(
        f"{access} ({parts.ARROWS[direction]})",
        drawn,
        y_log=True,
        levels=parts.levels(drawn, direction),
        regions=regions,
    )


def _configuration(zero: Curves, access: str) -> list[str]:
    """A note on what of several configurations is drawn."""
    if not zero.others:
        return []
    said = next(curve.config for curve in zero.curves)
    more = f"{zero.others} other configuration{'s' if zero.others > 1 else ''}"
    return [
        f"Zero-copy {access}: drawn for {said}; {more} not drawn (`grainscope-report list` shows all rows)."
    ]
