"""Whether hot rows of a feature table in GPU memory pay for finding and bringing them, and when."""

from collections.abc import Sequence

from grainscope_report.analysis import Analysis
from grainscope_report.gnn import gathers, payback
from grainscope_report.gnn.payback import Payback
from grainscope_report.units import format_time


def said(run: Analysis) -> list[str]:
    """A sentence for each training: the share of hot rows that pays first."""
    works: dict[tuple, list[Payback]] = {}
    for one in payback.paybacks(run.machine):
        works.setdefault((one.tiered.work, one.tiered.word("mode")), []).append(one)
    return [_sentence(there) for there in works.values()]


def _sentence(there: Sequence[Payback]) -> str:
    paying = [one for one in there if one.epochs is not None]
    one = min(paying, key=lambda each: each.epochs) if paying else there[0]
    work, way = one.tiered.work, gathers.spoken(one.tiered.word("mode"))
    gpus = f" on {work.gpus:g} GPUs" if work.gpus > 1 else ""
    what = f"{work.spoken}, rows of {work.row:g} B{gpus}, {way}"
    if one.epochs is None:
        return f"{what}: a step is no shorter with hot rows in GPU memory, so they never pay"
    parts = ", ".join(f"{payback.PARTS[name]} {format_time(value)}" for name, value in one.parts.items())
    return (
        f"{what}: {one.tiered.hot:g} % of the rows in GPU memory pay {one.spoken} ({parts}; an epoch saves "
        f"{format_time(one.saved.value)})"
    )
