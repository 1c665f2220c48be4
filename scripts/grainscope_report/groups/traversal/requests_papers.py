"""What EMOGI states of requests, rates and amplification, of its toy and of bfs, as panels beside ours."""

from grainscope_report.figures.model import Bar, BarPanel, BarSeries, Level, exact
from grainscope_report.papers import EMOGI, Number, paper

HEIGHT = 1.6
NARROW = 0.8
SIZES = (32, 64, 96, 128)


def shares() -> BarPanel:
    """Shares of requests that the text states."""
    source = paper(EMOGI)
    numbers = [
        source[name]
        for name in ("requests_above_32_naive_fs", "requests_128_merged", "requests_128_merged_ml")
    ]
    names = ("naive, FS,\nabove 32 B", "merged, mean,\n128 B", "merged, ML,\n128 B")
    bars = tuple(Bar(exact(100 * one.value), f"{100 * one.value:.3g} %") for one in numbers)
    return _panel("shares of requests, as stated", names, bars, numbers, "share of requests (%)", "%")


def rates() -> BarPanel:
    """Rates over PCIe 3 in bfs."""
    source = paper(EMOGI)
    naive, merged, peak, uvm = (
        source[name] for name in ("naive_bfs", "merged_bfs", "memcpy_peak", "uvm_peak")
    )
    low, high = source["aligned_gain_least"], source["aligned_gain_most"]
    bars = (
        *(
            Bar(exact(one.value), f"{one.value:g}, {100 * one.value / peak.value:.0f} %")
            for one in (naive, merged)
        ),
        Bar(None, f"{low.value:g} to {high.value:g} more", note=low.text),
    )
    levels = tuple(
        Level("paper", name, one.value, source=one.source)
        for name, one in (("cudaMemcpy", peak), ("UVM", uvm))
    )
    names = ("naive,\nup to", "merged,\nup to", "aligned")
    return _panel(
        "bfs on a V100, PCIe 3 ×16", names, bars, [naive, merged, low], "over the link (GB/s)", "GB/s", levels
    )


def amplification() -> BarPanel:
    """Bytes over the link over the size of the data set, 16 GB on the card."""
    source = paper(EMOGI)
    named = (
        ("UVM,\nFS", "uvm_fs"),
        ("UVM,\nML", "uvm_ml"),
        ("UVM,\nSK", "uvm_sk"),
        ("EMOGI,\nat most", "emogi"),
    )
    numbers = [source[f"amplification_{number}"] for _, number in named]
    bars = tuple(Bar(exact(one.value), f"{one.value:g}") for one in numbers)
    names = tuple(name for name, _ in named)
    return _panel("bfs, a card of 16 GB", names, bars, numbers, "link bytes ÷ data set", "ratio")


def _panel(
    title: str,
    names: tuple[str, ...],
    bars: tuple[Bar, ...],
    numbers: list[Number],
    y_label: str,
    y_unit: str,
    levels: tuple[Level, ...] = (),
) -> BarPanel:
    source = paper(EMOGI)
    cited = "; ".join(dict.fromkeys(one.source for one in numbers))
    series = (BarSeries("paper", "paper", bars, label="paper", source=cited),)
    look = {"levels": levels, "width": NARROW, "upright": True, "height": HEIGHT}
    return BarPanel(f"{source.name}: {title}", names, series, y_label, y_unit, **look)


def toy_rates() -> BarPanel:
    """Rates of the toy by access."""
    source = paper(EMOGI)
    naive, aligned, peak, uvm = (
        source[name] for name in ("naive_bfs", "merged_aligned", "memcpy_peak", "uvm_peak")
    )
    bars = (
        Bar(
            exact(naive.value),
            _share(naive.value, peak.value),
            note="BFS, naive; the text says as in figure 4a",
        ),
        Bar(None, "lower,\nno number"),
        Bar(exact(aligned.value), _share(aligned.value, peak.value)),
    )
    where = "; ".join(one.source for one in (naive, aligned))
    return BarPanel(
        f"{source.name}: V100, PCIe 3 ×16",
        ("strided\n(BFS)", "off by\n32 B", "aligned"),
        (BarSeries("paper", "paper", bars, label="paper", source=where),),
        "bandwidth (GB/s)",
        "GB/s",
        levels=tuple(
            Level("paper", name, one.value, source=one.source)
            for name, one in (("cudaMemcpy", peak), ("UVM", uvm))
        ),
        width=0.62,
    )


def toy_mix() -> BarPanel:
    """Requests of the toy by size."""
    source = paper(EMOGI)
    numbers = [source[f"requests_{name}"] for name in ("strided", "merged_32", "merged_aligned")]
    series = tuple(
        BarSeries(
            f"{size} B",
            f"request {size}",
            tuple(Bar(exact(100 * one.value.get(str(size), 0))) for one in numbers),
            label="paper",
            source="; ".join(one.source for one in numbers),
        )
        for size in SIZES
    )
    return BarPanel(
        f"{source.name}, as observed",
        ("strided", "off by\n32 B", "aligned"),
        series,
        "share of requests (%)",
        "%",
        stacked=True,
        width=0.62,
    )


def _share(value: float, peak: float) -> str:
    return f"{value:g}\n{100 * value / peak:.0f} %"
