"""What the dissertation's text states of gathers, shares of a GPU and training, as panels beside ours."""

from collections.abc import Sequence
from dataclasses import replace

from grainscope_report.figures.model import Bar, BarPanel, BarSeries, exact
from grainscope_report.papers import DISSERTATION, Number, paper
from grainscope_report.statistics import Estimate

HEIGHT = 1.5
# A bar for each: its name, the number or the ends of its range, and how it is written.
Stated = tuple[str, tuple[str, ...]]
GATHERS: tuple[Stated, ...] = (
    ("CPU\ngather", ("gather_dma_of_zero_copy",)),
    ("naive", ("gather_naive_of_memcpy_least", "gather_naive_of_memcpy_most")),
    ("circular\nshift", ("gather_shifted_of_memcpy_least", "gather_shifted_of_memcpy_most")),
    ("rows of\n1024 B", ("gather_aligned_of_memcpy",)),
)
SHARES: tuple[Stated, ...] = (
    ("2.5 %\nof SMs", ("sm_share_small_least",)),
    ("10 %", ("sm_share_small_most",)),
    ("15 % and\nmore, about", ("sm_share_full",)),
)
WIDTHS: tuple[Stated, ...] = (("4 B,\nabout", ("sm_share_int",)), ("16 B,\nabout", ("sm_share_int4",)))
TRAINING: tuple[Stated, ...] = (
    ("CPU only,\n1 GPU", ("training_cpu_only_least", "training_cpu_only_most")),
    ("naive,\n1 GPU", ("training_naive_one_gpu_least", "training_naive_one_gpu_most")),
    ("shifted,\n1 GPU", ("training_one_gpu_least", "training_one_gpu_most")),
    ("naive,\n2 GPUs", ("training_naive_two_gpus_least", "training_naive_two_gpus_most")),
    ("shifted,\n2 GPUs", ("training_two_gpus_least", "training_two_gpus_most")),
)
LATER: tuple[Stated, ...] = (
    ("zero-copy\nover CPU", ("training_zero_copy_least", "training_zero_copy_most")),
    ("tiered over\nzero-copy", ("training_tiered_least", "training_tiered_most")),
)
BY_ROW: tuple[Stated, ...] = (
    ("small rows", ("training_small_features_least", "training_small_features_most")),
    ("16 KiB,\nabout", ("training_features_4096",)),
)
SAVED: tuple[Stated, ...] = (
    ("link bytes,\n25 % hot", ("traffic_saved_by_25_percent",)),
    ("time,\n5 % hot", ("time_saved_by_5_percent",)),
    ("time,\n25 % hot", ("time_saved_by_25_percent",)),
)


def shares() -> BarPanel:
    """Gathers as shares of a copy's rate."""
    peak = paper(DISSERTATION)["gather_memcpy_peak"]
    title = f"rows of 1024 to 1044 B, RTX 3090, PCIe 4; 100 %: cudaMemcpy, {peak.value:g} GB/s"
    return replace(_percent(title, GATHERS, "share of cudaMemcpy (%)"), height=0.0)


def sm_rates() -> BarPanel:
    """Rates by the share of the multiprocessors."""
    return _panel("MPS shares, RTX 3090", SHARES, GB_S, "GB/s", 1.0)


def sm_widths() -> BarPanel:
    """What share of the multiprocessors fills the link, by the width of loads."""
    return _percent("SMs that fill PCIe 4, by width of loads", WIDTHS, "share of SMs (%)")


def training() -> BarPanel:
    """Training over the method with CPU gathers."""
    return replace(_panel("RTX 3090, PCIe 4", TRAINING, OVER, "ratio", 1.0), upright=True)


def later() -> BarPanel:
    """Training with tiers."""
    return _panel("V100, PCIe 3, chapter 4", LATER, "speedup", "ratio", 1.0)


def by_row() -> BarPanel:
    """Training over the method with CPU gathers by size of rows."""
    return _panel("two RTX 3090", BY_ROW, OVER, "ratio", 1.0)


def saved() -> BarPanel:
    """What hot rows in the GPU's memory save."""
    return _percent("papers100M, V100", SAVED, "saved (%)")


WHISKERS = "Whiskers of the dissertation's bars: to the upper end of the range that it states."
GB_S = "rows gathered (GB/s)"
OVER = "speedup over CPU gather"


def _percent(title: str, stated: Sequence[Stated], y_label: str) -> BarPanel:
    return _panel(title, stated, y_label, "%", 100.0)


def _panel(title: str, stated: Sequence[Stated], y_label: str, y_unit: str, scale: float) -> BarPanel:
    source = paper(DISSERTATION)
    numbers = [[source[name] for name in names] for _, names in stated]
    bars = tuple(_bar(ends, scale, y_unit) for ends in numbers)
    cited = "; ".join(dict.fromkeys(one.source for ends in numbers for one in ends))
    series = (BarSeries(source.name, "paper", bars, label="paper", source=cited),)
    names = tuple(name for name, _ in stated)
    return BarPanel(f"{source.name}: {title}", names, series, y_label, y_unit, height=HEIGHT)


def _bar(ends: Sequence[Number], scale: float, unit: str) -> Bar:
    """A bar to a number, or of a range to its lower end, with a whisker to the upper."""
    if ends[0].id == "gather_dma_of_zero_copy":
        return Bar(None, "about half of\nzero-copy", note=ends[0].text)
    low, high = scale * ends[0].value, scale * ends[-1].value
    said = f"{low:.3g}" if len(ends) == 1 else f"{low:.3g}–{high:.3g}"
    value = exact(low) if len(ends) == 1 else Estimate(low, low, high)
    return Bar(value, said + (" %" if unit == "%" else "×" if unit == "ratio" else ""), note=ends[0].text)
