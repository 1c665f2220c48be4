"""Figure 2: copies of pageable and pinned memory, local and remote, both directions (Comm|Scope 6)."""

from collections.abc import Sequence

from grainscope_report.cases import GPU_TO_HOST, HOST_TO_GPU
from grainscope_report.figures import parts
from grainscope_report.figures.model import Bar, BarPanel, BarSeries, CurvePanel, Figure, Level
from grainscope_report.figures.series import Curves, curves, nearest
from grainscope_report.machine import Machine
from grainscope_report.papers import COMM_SCOPE, paper
from grainscope_report.statistics import Estimate

FAMILY = "transfer/memcpy"
PATHS = {HOST_TO_GPU: "{}_to_gpu", GPU_TO_HOST: "gpu_to_{}"}
MEMORY = {"pageable": "pageable", "pinned": "pinned"}
LOCKED = {"pinned": "pinned", "registered": "registered", "write_combined": "write-combined"}


def build(machines: Sequence[Machine]) -> Figure:
    """Pageable and pinned above; the kinds of page-locked memory, local, below; the paper's system beside."""
    main = [_panel(machines, direction, MEMORY) for direction in PATHS]
    if any(main):
        main.append(_paper())
    locked = [_panel(machines, direction, LOCKED, title="kinds of page-locked memory") for direction in PATHS]
    rows, notes = parts.lettered(
        [main, [panel if _worth(panel) else None for panel in locked]], len(machines) > 1
    )
    return Figure(machines, rows, (*notes, *parts.slow_sites(filter(None, main), len(machines) > 1)))


def copies(machines: Sequence[Machine], memory: str, direction: str, name: str, **where) -> Curves:
    """Timed copies of one kind of host memory in one direction, flushed where there is a choice."""
    wanted = {"timed": "copy", "path": PATHS[direction].format(memory), "flush": ("on", "off"), **where}
    return curves(machines, FAMILY, wanted, name=name, method=memory)


def _panel(
    machines: Sequence[Machine], direction: str, kinds: dict[str, str], title: str = ""
) -> CurvePanel | None:
    drawn = [
        one for memory, name in kinds.items() for one in copies(machines, memory, direction, name).curves
    ]
    if title:
        drawn = nearest(drawn)
    if not drawn:
        return None
    arrow = parts.ARROWS[direction]
    return CurvePanel(
        f"{arrow}, {title}" if title else arrow, tuple(drawn), levels=parts.levels(drawn, direction)
    )


def _worth(panel: CurvePanel | None) -> bool:
    """Pinned memory alone is already in the panel above."""
    return panel is not None and {curve.method for curve in panel.curves} != {"pinned"}


def _paper() -> BarPanel:
    source = paper(COMM_SCOPE)
    numbers = [source["pinned_to_gpu_local_ac922"], source["pinned_to_gpu_remote_ac922"]]
    bars = tuple(Bar(Estimate(one.value, one.value, one.value), f"{one.value:g}") for one in numbers)
    top = source["link_theoretical_ac922"]
    return BarPanel(
        f"{source.name}: AC922, NVLink 2 ×3",
        ("pinned\nlocal", "pinned\nremote"),
        (BarSeries("paper", "paper", bars, label="paper", source="; ".join(one.source for one in numbers)),),
        "bandwidth (GB/s)",
        "GB/s",
        levels=(Level("paper", "theoretical", top.value, source=top.source),),
        width=0.5,
    )
