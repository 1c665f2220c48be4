"""Figure 12, stages: what sampling, gathering and training take alone, and what all take as a pipeline."""

from collections.abc import Sequence

from grainscope_report.figures.columns import WHOLE, exact
from grainscope_report.figures.model import Bar, BarPanel, BarSeries
from grainscope_report.gnn import pipelines
from grainscope_report.gnn.pipelines import STAGES, Pipeline
from grainscope_report.units import format_bytes

HEIGHT = 1.9
MOST_METHODS = 9
# A pair of bars for each method: its stages on top of each other, and the pipeline.
PAIR = ("alone", "piped")
BLANK = Bar(None, blank=True)


NOTE = (
    "Alone: every stage waited for before the next; piped: overlapping. Overlap: (sum of stages − piped) ÷ "
    "(sum − longest stage). Training on the CPU alone has no pipeline."
)


def panel(found: Sequence[Pipeline], owner: str) -> BarPanel | None:
    """The stages of every method of the training that most methods were run on; none without stages.

    Training on the CPU is left out: one stage follows another there, and dwarfs all others.
    """
    works: dict = {}
    for one in found:
        if one.stages and one.method != "cpu_only":
            works.setdefault(one.work, []).append(one)
    if not works:
        return None
    work = max(works, key=lambda each: (len({one.method for one in works[each]}), -each.gpus, -each.row))
    best = pipelines.fastest(works[work])
    shown = [best[method] for method in pipelines.methods(best)][:MOST_METHODS]
    series = [_stage(order, shown) for order in range(len(STAGES))]
    series.append(_pipelined(shown))
    names = tuple(part for _ in shown for part in PAIR)
    groups = tuple((_name(one), len(PAIR)) for one in shown)
    gpus = f"{work.gpus:g} GPU{'s' if work.gpus > 1 else ''}"
    title = (
        f"{owner}stages alone, and as a pipeline; in the bars its overlap: {work.graph}, "
        f"rows of {format_bytes(work.row)}, {gpus}"
    )
    look = {"stacked": True, "width": WHOLE, "groups": groups, "upright": True, "height": HEIGHT}
    return BarPanel(title, names, tuple(series), "time of a step (ms)", "ms", **look)


def _name(one: Pipeline) -> str:
    """The method, on two lines where it has several words."""
    said = pipelines.spoken(one.method)
    return said.replace(", then ", ",\n").replace(" ", "\n", 0 if "\n" in said or "," in said else 1)


def _stage(order: int, shown: Sequence[Pipeline]) -> BarSeries:
    bars = []
    for one in shown:
        bars += [Bar(exact(1e3 * one.stages[order]), machine=one.machine), BLANK]
    name = list(STAGES)[order]
    return BarSeries(f"{STAGES[name]} alone", name, tuple(bars))


def _pipelined(shown: Sequence[Pipeline]) -> BarSeries:
    bars = []
    for one in shown:
        overlap = one.counter("overlap")
        said = f"{overlap:.2f}" if overlap is not None and len(one.stages) > 1 else ""
        p99 = one.counter("p99_batch_s")
        note = f"p99 {1e3 * p99:.3g} ms" if p99 else ""
        value = one.time.scaled(1e3)
        bars += [BLANK, Bar(value, said, one.flags, note, one.machine)]
    return BarSeries("as a pipeline", "pipelined", tuple(bars))
