"""Gathers of rows from host memory, scores of rows, shares of the GPU, ways to hold host memory; pages."""

import statistics
from functools import cache

from documents import (
    COUNTERS,
    QUICK,
    axes_of,
    beside,
    clock,
    is_plain,
    only,
    part,
    quick_rows,
    result,
    rows_of,
    table,
)
from grainscope_report.commands import dispatch
from grainscope_report.families import as_usual
from grainscope_report.groups import gnn, reach
from grainscope_report.groups import shape as pages
from grainscope_report.model import Row
from grainscope_report.resources import DISSERTATION, paper
from grainscope_report.units import format_bytes

IN_ORDER = ("address_ordered", "graphbolt")

WAYS = {
    "`naive`": ("naive", 4),
    "`circular_shift`": ("circular_shift", 4),
    "`vector`": ("vector", 16),
    "`masked`": ("masked", 4),
    "`masked`, 16 B": ("masked", 16),
    "`address_ordered`": ("address_ordered", 16),
}
TABLES = ((1024, 1), (1028, 1), (1040, 1), (2312, 1), (512, 2), (128, 2))


@cache
def mapped_rates(name: str) -> dict[tuple, float]:
    """GB/s of gathers of uniform mapped rows without a window, by way, row, table and width."""
    return {
        axes_of(row, "mode", "row", "span", "width"): row.bandwidth_gb_s
        for row in rows_of(name)
        if row.ok
        and row.case.family == "gather"
        and axes_of(row, "store", "indices") == ("mapped", "uniform")
        and row.case.axes.get("window", 1) == 1
        and is_plain(row.case.axes)
    }


@part("gather.ways")
def ways() -> str:
    """GB/s of the rows asked for, by way."""
    one, two = (mapped_rates(name) for name in QUICK)
    rows = []
    for row, span in TABLES:
        keys = [(mode, row, span << 30, width) for mode, width in WAYS.values()]
        rows.append([f"{row} B", f"{span} GiB", *(beside(one.get(key), two.get(key)) for key in keys)])
    return table(["rows", "table", *WAYS], rows)


@cache
def long_rows() -> dict[int, dict]:
    """GB/s of the best gather in the order asked and of the best sorted one, by bytes of a row."""
    found: dict[int, dict] = {}
    for row in rows_of("h100-rows.json.gz"):
        if row.ok and row.case.family == "gather":
            rates = found.setdefault(row.case.axes["row"], {"element": row.case.axes.get("element", 4)})
            kind = "sorted" if row.case.axes["mode"] == "address_ordered" else "asked"
            rates[kind] = max(rates.get(kind, 0), row.bandwidth_gb_s)
    return dict(sorted(found.items()))


@cache
def plain_rate() -> float:
    """GB/s of plain zero-copy reads in the same run."""
    rows = (row for row in rows_of("h100-rows.json.gz") if row.ok)
    return max(row.bandwidth_gb_s for row in rows if row.case.family == "transfer/zero_copy")


def bytes_of_sectors(row: int) -> float:
    """Bytes of the sectors that a row touches, on average over a table that begins with a sector."""
    places = range(32)
    return 32 * statistics.mean((i * row + row - 1) // 32 - i * row // 32 + 1 for i in places)


def share_of_sectors(row: int) -> float:
    """What a gather reaches of the rate that plain reads of its sectors leave to it."""
    return long_rows()[row]["asked"] / plain_rate() * bytes_of_sectors(row) / row


@part("gather.of_plain")
def of_plain(row: str) -> str:
    """What a sorted gather has by its different rows, of the rate of plain reads."""
    sorted_ones = only("h100-rows.json.gz", "gather", "mode=address_ordered", f"row={row}")
    return f"{sorted_ones.counters['link_gb_s'] / plain_rate():.2f}"


@part("gather.sectors")
def sectors() -> str:
    """Gathers of long rows beside plain reads of the sectors that they touch."""
    heads = ["rows", "element", "best in the order asked", "of the plain read", "of what their sectors leave"]
    rows = [
        [
            f"{row} B",
            f"float{8 * int(rates['element'])}",
            f"{rates['asked']:.1f}",
            f"{rates['asked'] / plain_rate():.2f}",
            f"{share_of_sectors(row):.2f}",
            f"{rates['sorted']:.1f}" if "sorted" in rates else "",
        ]
        for row, rates in long_rows().items()
    ]
    return table([*heads, "`address_ordered`"], rows)


@part("gather.plain_rate")
def plain() -> str:
    return f"{plain_rate():.1f}"


TABLES_RUN = "two-h200-tables.json.gz"


@cache
def over_two_links() -> list[tuple[Row, Row]]:
    """Gathers over one GPU's link, each with the same over a neighbour's, too."""
    rows = [row for row in rows_of(TABLES_RUN) if row.ok]
    alone = {row.case.without("neighbours"): row for row in rows if "neighbours" not in row.case.axes}
    return [(alone[row.case.without("neighbours")], row) for row in rows if "neighbours" in row.case.axes]


@part("gather.neighbours")
def with_a_neighbour() -> str:
    """GB/s of the rows asked for over one link and over two; times as fast."""
    lines = []
    for alone, both in over_two_links():
        mode, window, row, span, memory = axes_of(both, "mode", "window", "row", "span", "memory")
        way = f"`{mode}`" + (f", window {window}" if window else "")
        one, two = alone.bandwidth_gb_s, both.bandwidth_gb_s
        where = (f"`{memory or HELD[0]}`", format_bytes(span), format_bytes(row))
        lines.append([*where, way, f"{one:.1f}", f"{two:.1f}", f"{two / one:.2f}"])
    return table(["memory", "table", "rows", "way", "one link", "two", "times"], lines)


SHARES = {
    "green_context": "green context",
    "exec_affinity": "context with an SM count",
    "mps_percentage": "MPS",
    "grid_cap": "grid cap",
    "unlimited": "none",
}


def pairs_of_quick(family: str) -> list[tuple]:
    """The measured rows of a family of `quick`: the H100's, and the H200's of the same case."""
    one, two = ({row.name: row for row in rows_of(name) if row.ok} for name in QUICK)
    return [(row, two[name]) for name, row in one.items() if row.case.family == family and name in two]


def counter(pair: tuple, name: str, scale: float = 1, write: str = "{:.1f}") -> str:
    return beside(*(scale * row.counters[name] for row in pair), write.format)


@part("sm_share.alone")
def shares_alone() -> str:
    """Gathers on a part of the multiprocessors, by what makes the part."""
    rows = []
    for pair in pairs_of_quick("sm_share/gather"):
        how, sms, percent, width = axes_of(pair[0], "by", "sms", "percent", "width")
        asked = f"{sms} of 132" if sms else f"{percent} %" if percent else ""
        rates = beside(*(row.bandwidth_gb_s for row in pair))
        rows.append([SHARES[how], asked, f"{pair[0].counters['seen_sms']:.0f}", f"{width} B", rates])
    return table(["part", "asked for", "multiprocessors seen", "loads of", "GB/s"], rows)


@part("sm_share.split")
def splits() -> str:
    """A gather beside a computation, by the gather's part."""
    rows = []
    for pair in pairs_of_quick("sm_share/split"):
        how, percent, consumer = axes_of(pair[0], "by", "percent", "consumer")
        if consumer:
            continue
        counters = pair[0].counters
        rows.append(
            [
                f"{SHARES[how]}, {percent} %" if percent else SHARES[how],
                f"{counters['given_sms']:.0f}" if percent else "all",
                f"{beside(*(1e3 * row.median_s for row in pair), '{:.2f}'.format)} ms",
                f"× {counter(pair, 'gather_slowdown', write='{:.2f}')}",
                f"× {counter(pair, 'compute_slowdown', write='{:.2f}')}",
            ]
        )
    return table(["the gather's part", "multiprocessors", "together", "gather", "computation"], rows)


BULK = "h100-bulk-shares.json.gz"


def by_bulk(family: str, axis: str) -> list[tuple]:
    """Rows on green contexts by share: of loads, and of bulk copies."""
    rows = [row for row in rows_of(BULK) if row.ok and row.case.family == family]
    of = {(row.case.axes[axis], row.case.axes.get("mode", "")): row for row in rows}
    pairs = ((of[share, ""], of[share, "bulk"]) for share in {share for share, _ in of})
    return sorted(pairs, key=lambda pair: pair[0].counters["given_sms"])


@part("sm_share.bulk")
def bulk_shares() -> str:
    """Gathers alone on a green context, by loads and by bulk copies."""
    pairs = by_bulk("sm_share/gather", "sms")
    rows = [
        [
            f"{loads.counters['given_sms']:.0f}",
            *(
                cell
                for row in (loads, bulk)
                for cell in (f"{row.bandwidth_gb_s:.1f}", f"{row.counters['blocks']:.0f}")
            ),
        ]
        for loads, bulk in pairs
    ]
    heads = ("multiprocessors", "loads, GB/s", "blocks", "bulk, GB/s", "blocks")
    return table(heads, rows, right=True)


@part("sm_share.bulk_slowdown")
def bulk_slowdown(given: str, mode: str) -> str:
    """How many times as long as alone the computation takes beside a gather on so many multiprocessors."""
    (pair,) = (p for p in by_bulk("sm_share/split", "percent") if p[0].counters["given_sms"] == int(given))
    return f"{pair[mode == 'bulk'].counters['compute_slowdown']:.2f}"


@part("sm_share.bulk_in_turn")
def bulk_in_turn() -> str:
    """Milliseconds of the gather by bulk copies and of the computation, each alone, added up."""
    row = by_bulk("sm_share/split", "percent")[0][1]
    return f"{1e3 * sum(lane.alone_s for lane in row.lanes):.1f}"


@part("sm_share.bulk_split")
def bulk_splits() -> str:
    """Gathers beside a computation, by loads and by bulk copies."""
    rows = [
        [
            f"{loads.counters['given_sms']:.0f}",
            *(
                cell
                for row in (loads, bulk)
                for cell in (
                    f"{1e3 * row.median_s:.2f} ms",
                    f"× {row.counters['gather_slowdown']:.2f}",
                    f"× {row.counters['compute_slowdown']:.2f}",
                )
            ),
        ]
        for loads, bulk in by_bulk("sm_share/split", "percent")
    ]
    heads = (
        "multiprocessors",
        *(
            f"{what}: together" if not at else what_of
            for what in ("loads", "bulk")
            for at, what_of in enumerate(("", "gather", "computation"))
        ),
    )
    return table(heads, rows, right=True)


@part("sm_share.in_turn")
def in_turn() -> str:
    """Milliseconds of the gather and the computation one after the other."""
    row = quick_rows()["sm_share/split/unlimited/numa:0/gpu:0/width:16/row:1024/rows:131072/span:268435456"]
    return f"{1e3 * sum(lane['alone_s'] for lane in row['lanes']):.1f}"


@part("tiering.scores")
def scores() -> str:
    """What the first tenth of a ranking takes, and what the ranking costs: pareto 17."""
    rows = []
    for pair in pairs_of_quick("tiering/score"):
        costs = beside(*(1e3 * row.median_s for row in pair))
        rows.append([f"`{pair[0].case.axes['score']}`", share(pair[0], "hit_rate_10"), f"{costs} ms"])
    return table(["score", "accesses of the first 10 % of the rows", "time of score and ranking"], rows)


def share(row, name: str) -> str:
    return f"{100 * row.counters[name]:.1f} %"


@part("tiering.asked")
def asked_for() -> str:
    """The percent of the rows of pareto 17 that a mini-batch asks for."""
    row = pairs_of_quick("tiering/score")[0][0]
    return f"{100 * covered({**row.counters, 'vertices': row.graph.vertices}):.0f}"


@cache
def kron24_scores() -> dict[str, Row]:
    """What each score of the vertices of kron 24 serves."""
    rows = (row for row in rows_of("no-gpu-paper-part.json.gz") if row.ok)
    return {row.case.axes["score"]: row for row in rows if row.case.family == "tiering/score"}


@part("tiering.kron24")
def kron24_score(score: str) -> str:
    """The percent of the accesses that the first tenth of the rows of kron 24 takes."""
    return share(kron24_scores()[score], "hit_rate_10")


@part("tiering.kron24_left")
def kron24_left() -> str:
    """The percent that the order of today's default leaves."""
    return f"{100 * (1 - kron24_scores()['presampled'].counters['hit_rate_10']):.0f}"


@part("tiering.kron24_of_optimal")
def kron24_of_optimal() -> str:
    rates = {score: row.counters["hit_rate_10"] for score, row in kron24_scores().items()}
    return f"{rates['presampled'] / rates['optimal']:.2f}"


SCORES_RUN = "no-gpu-scores.json.gz"
TENTH_RUN = "no-gpu-scores-10.json.gz"  # where 10 % of the vertices are trained on
DEEPEST = "10x10x10x10x10"


@cache
def scored(graph: str, run: str = SCORES_RUN) -> dict[str, dict[str, dict]]:
    """Of a graph on which scores differ the counters of each score, by fan-out: the deepest last."""
    found: dict[str, dict[str, dict]] = {}
    for row in rows_of(run):
        if row.case.axes["graph"] == graph and row.ok:
            known = {**row.counters, "vertices": row.graph.vertices}
            found.setdefault(row.case.axes["fanout"], {})[row.case.axes["score"]] = known
    return dict(sorted(found.items(), key=lambda one: (one[0].split("x")[0], len(one[0]))))


def covered(counters: dict) -> float:
    """The share of a graph's rows that a mini-batch asks for."""
    return counters["accesses"] / counters["batches"] / counters["vertices"]


@part("tiering.depths")
def depths(graph: str) -> str:
    """What the first tenth of the rows takes, by fan-out and score."""
    rows = []
    for fanout, of in scored(graph).items():
        asked = f"{100 * covered(of['degree']):.2g} %"
        hits = [f"{100 * of[score]['hit_rate_10']:.1f} %" for score in gnn.SCORES]
        rows.append([fanout.replace("x", "×"), asked, *hits])
    if graph.startswith("papers"):
        stated = paper(DISSERTATION)
        by_score = {"degree": "hits_depth_5_degree", "weighted_reverse_pagerank": "hits_depth_5_pagerank"}
        said = {score: f"{100 * stated[number].value:g} %" for score, number in by_score.items()}
        hits = [said.get(score, "") for score in gnn.SCORES]
        rows.append([f"{DEEPEST.replace('x', '×')}, dissertation", "", *hits])
    heads = ["fan-out", "rows of a mini-batch", *(f"`{score}`" for score in gnn.SCORES)]
    return table(heads, rows, right=True)


@part("tiering.labelled")
def labelled() -> str:
    """What the first tenth of the rows takes where 1 % and where 10 % of the vertices are trained on."""
    rows = []
    for graph in ("citation20", "papers20"):
        for fanout, of in scored(graph, TENTH_RUN).items():
            for share, known in (("1 %", scored(graph)[fanout]), ("10 %", of)):
                hits = [f"{100 * known[score]['hit_rate_10']:.1f} %" for score in gnn.SCORES]
                rows.append([f"`{graph}`", fanout.replace("x", "×"), share, *hits])
    return table(
        ["graph", "fan-out", "trained on", *(f"`{score}`" for score in gnn.SCORES)], rows, right=True
    )


@part("tiering.shares")
def shares(graph: str) -> str:
    """What the first rows take with the deepest fan-out, by how many they are."""
    rows = [
        [f"`{score}`", *(f"{100 * counters[f'hit_rate_{percent}']:.1f} %" for percent in gnn.PERCENTS)]
        for score, counters in ((score, scored(graph)[DEEPEST][score]) for score in gnn.SCORES)
    ]
    return table(["score", *(f"{percent} %" for percent in gnn.PERCENTS)], rows, right=True)


@part("tiering.kron24_gathers")
def kron24_gathers() -> str:
    """Gathers of a mini-batch of kron 24, by the share of hot rows."""
    rows = []
    for row in rows_of("h100-kron24-tiers.json.gz"):
        if row.ok and row.case.family == "gather":
            crossed = row.link_bytes_least
            less = f"{100 * (1 - crossed / row.counters['unique_bytes']):.0f} %"
            hot = row.case.axes.get("hot", 0)
            rows.append([f"{hot} %", f"{crossed / 1e6:.1f} MB", less, clock(row.median_s)])
    return table(["hot rows", "over the link", "less", "time"], rows, right=True)


@part("tiering.kron24_step")
def kron24_step(store: str) -> str:
    """A step of training on kron 24 by batches of 1000."""
    axes = ("fanout=10x25", "batch=1000", f"store={store}")
    return clock(only("h100-kron24-tiers.json.gz", "pipeline/graphsage", *axes).median_s)


@part("sampling.rates")
def sampling_rates() -> str:
    """Millions of edges a second that kron 19 is sampled with."""
    rates = {
        axes_of(row, "by", "placement", "batch"): f"{row.counters['edges_per_s'] / 1e6:.0f}"
        for row in rows_of("acceptance/h100-d.json.gz")
        if row.measured and row.case.family == "sampling/neighbours" and "memory" not in row.case.axes
    }
    rows = [
        [f"{by.upper()}, `{place}` lists", *(rates[by, place, batch] for batch in (1000, 8000))]
        for by, place in dict.fromkeys(key[:2] for key in rates)
    ]
    return table(["sampled by", "batches of 1000", "batches of 8000"], rows, right=True)


@part("tiering.reorder")
def reorder(way: str) -> str:
    """Millions of entries a second that pareto 17 is reordered with."""
    (pair,) = (pair for pair in pairs_of_quick("tiering/reorder") if pair[0].case.axes["lists"] == way)
    return counter(pair, "edges_per_s", 1e-6, "{:.0f}")


@part("tiering.gain")
def tier_gain(indices: str) -> str:
    """How many times the speed a tenth of the rows on the GPU gives."""
    asked = ("mode=masked", "row=512", "width=16", f"indices={indices}")
    if indices == "zipf":
        stores = ("store=mapped",), ("store=tiered",)
    else:
        stores = ("store=mapped",), ("store=tiered", "hot=10")
    mapped, tiered = (only(QUICK[0], "gather", *asked, *store) for store in stores)
    return f"{tiered.bandwidth_gb_s / mapped.bandwidth_gb_s:.2f}"


# Ways to hold host memory.

MEMORY_RUN = "h100-host-memory.json.gz"
HELD = ("host_alloc", "transparent_huge", "managed_host")
SHARED_RUN = "two-h100-host-memory.json.gz"


COPIES_RUN = "h100-copies.json.gz"


@part("memory.copied")
def copied(family: str, path: str) -> str:
    """GB/s of copies of 64 MiB, by threads of their own alone: not in bulk."""
    return f"{only(COPIES_RUN, family, f'path={path}', 'bytes=67108864', 'load=').bandwidth_gb_s:.1f}"


@part("memory.touched")
def touched() -> str:
    """By how many percent, at most, rows of managed memory differ where one thread touched it."""
    rates = {
        axes_of(row, "row", "span", "touch_threads"): row.bandwidth_gb_s
        for row in rows_of(MEMORY_RUN)
        if row.ok and row.case.family == reach.FAMILY and row.case.axes["memory"] == "managed_host"
    }
    pairs = [(rate, rates[*key[:2], 1]) for key, rate in rates.items() if key[2] is None]
    return f"{100 * max(abs(one / many - 1) for many, one in pairs):.0f}"


@part("memory.pieces")
def pieces() -> str:
    """Rows of managed memory that was taken while free memory lay in pieces."""
    found = [row for row in rows_of("h100-free-pieces.json.gz") if row.ok]
    lines = []
    for row in sorted(found, key=lambda row: -row.case.axes.get("free_pieces", 1 << 62)):
        size = row.case.axes.get("free_pieces")
        whole = f"{100 * row.counters['contiguous_share']:.0f} %"
        cells = [whole, f"{row.bandwidth_gb_s:.1f}", f"{row.visits[0].visit_s:.0f} s"]
        lines.append([format_bytes(size) if size else "as found", *cells])
    return table(["free memory in pieces below", "blocks of 2 MiB in one piece", "GB/s", "visit"], lines)


@part("memory.reserved")
def reserved(span: str) -> str:
    """GB/s of rows of 128 B at random in reserved huge pages."""
    return f"{only('h200-paper-hugetlb.json.gz', reach.FAMILY, 'row=128', f'span={span}').bandwidth_gb_s:.1f}"


@part("memory.shared")
def shared_rows() -> str:
    """GB/s of rows of one memory that one GPU reads, and that two read at once; times as fast."""
    rates = {
        axes_of(row, "memory", "row", "span", "gpus"): row.bandwidth_gb_s
        for row in rows_of(SHARED_RUN)
        if row.ok and row.case.family == reach.FAMILY
    }
    widest = max(span for _, _, span, _ in rates)
    lines = []
    for memory in HELD:
        for size in sorted({row for _, row, _, _ in rates}):
            one, two = (rates.get((memory, size, widest, gpus)) for gpus in (None, 2))
            if one and two:
                rates_of_both = (f"{one:.1f}", f"{two:.1f}", f"{two / one:.2f}")
                lines.append([f"`{memory}`", format_bytes(size), *rates_of_both])
    span = format_bytes(widest)
    return table(["memory", "row", f"one H100, {span}", "two at once", "times"], lines)


FOUR_RUN = "four-h200-tables.json.gz"


@cache
def by_gpus() -> dict[tuple, float]:
    """GB/s of rows of one table in the order asked, by memory, row, span and GPUs, of four H200."""
    return {
        (*axes_of(row, "memory", "row", "span"), row.case.axes.get("gpus", 1)): row.bandwidth_gb_s
        for row in rows_of(FOUR_RUN)
        if row.ok and row.case.family == reach.FAMILY and row.case.axes["order"] == "as_asked"
    }


def times_of_one(memory: str, row: int, gpus: int) -> float:
    """How many times as much as one GPU so many get of a table of 32 GiB."""
    return by_gpus()[memory, row, 32 << 30, gpus] / by_gpus()[memory, row, 32 << 30, 1]


@part("memory.four")
def rows_by_four() -> str:
    """GB/s of rows of one table over 32 GiB by one, two and four GPUs; times as fast as one."""
    lines = []
    for memory, row, span, gpus in by_gpus():
        if span == 32 << 30 and gpus == 1:
            one, *several = (by_gpus()[memory, row, span, count] for count in (1, 2, 4))
            cells = [cell for rate in several for cell in (f"{rate:.1f}", f"{rate / one:.2f}")]
            lines.append(
                (memory == "managed_host", row, [f"`{memory}`", format_bytes(row), f"{one:.1f}", *cells])
            )
    heads = ["memory", "row", "one H200, 32 GiB", "two at once", "times", "four at once", "times"]
    return table(heads, [cells for _, _, cells in sorted(lines)])


@part("memory.four_times")
def of_four_times(memory: str, row: str) -> str:
    return f"{times_of_one(memory, int(row), 4):.1f}"


@part("memory.four_rate")
def of_four_rate(memory: str, row: str) -> str:
    return f"{by_gpus()[memory, int(row), 32 << 30, 4]:.0f}"


@part("memory.four_most")
def most_of_four() -> str:
    """The highest GB/s of four GPUs, in whatever order and memory."""
    rows = [row for row in rows_of(FOUR_RUN) if row.case.family == reach.FAMILY]
    return f"{max(row.bandwidth_gb_s for row in rows):.0f}"


def hot_over_four() -> list[float]:
    """How many times as fast rows of 128 bytes come with hot rows over four GPUs as with those over two."""
    rates = {
        axes_of(row, "row", "hot", "gpus"): row.bandwidth_gb_s
        for row in rows_of(FOUR_RUN)
        if row.ok and row.case.family == "gather"
    }
    return [rate / rates[row, hot, 2] for (row, hot, gpus), rate in rates.items() if gpus == 4]


@part("gather.hot_over_four")
def of_hot_over_four() -> str:
    """By how many percent at most, either way."""
    return f"{100 * max(abs(times - 1) for times in hot_over_four()):.0f}"


@part("memory.random")
def random_rows() -> str:
    """GB/s of random rows by span, size of row and way to hold host memory; the share of a copy."""
    [peak] = {link.peak_gb_s for link in result(MEMORY_RUN).links if link.ends == ("host:0", "gpu:0")}
    rates = {
        axes_of(row, "row", "span", "memory"): row.bandwidth_gb_s
        for row in rows_of(MEMORY_RUN)
        if row.ok and row.case.family == reach.FAMILY and as_usual(row.case.axes)
    }
    spans = sorted({span for _, span, _ in rates})
    lines = []
    for size in sorted({row for row, _, _ in rates}):
        for memory in HELD:
            cells = [rates.get((size, span, memory)) for span in spans]
            if any(cells):
                widest = next(rate for rate in reversed(cells) if rate)
                shown = [f"{rate:.1f}" if rate else "–" for rate in cells]
                lines.append([format_bytes(size), f"`{memory}`", *shown, f"{widest / peak:.2f}"])
    return table(["row", "memory", *map(format_bytes, spans), "of a pinned copy, widest span"], lines)


WIDE_RUN = "h200-host-memory.json.gz"


def wide_rates() -> dict[tuple, float]:
    """GB/s of random rows over spans beyond those of `MEMORY_RUN`, by memory and span."""
    return {
        axes_of(row, "memory", "span"): row.bandwidth_gb_s
        for row in rows_of(WIDE_RUN)
        if row.ok and row.case.family == reach.FAMILY
    }


def wide_peak() -> float:
    """GB/s of a pinned copy in the same run."""
    [link] = result(WIDE_RUN).links
    return link.peak_gb_s


@part("memory.wide")
def wide_spans() -> str:
    """GB/s of random rows of 128 bytes over tens of GiB by how host memory is held; the share of a copy."""
    rates = wide_rates()
    lines = []
    for span in sorted({span for _, span in rates}):
        pinned, managed = (rates[memory, span] for memory in ("host_alloc", "managed_host"))
        shown = (f"{pinned:.1f}", f"{managed:.1f}", f"{managed / pinned:.1f}", f"{managed / wide_peak():.2f}")
        lines.append([format_bytes(span), *shown])
    return table(["span", "`host_alloc`", "`managed_host`", "times", "of a pinned copy"], lines)


# What holding memory costs, and which kind is for which access.

COSTS_RUN = "h100-memory-costs.json.gz"
BESIDE_RUN = "h100-beside-cpus.json.gz"
STEPS = {"take_mapped": "take", "give_back_mapped": "give back", "fork_with_mapped": "fork beside it"}


@cache
def costs() -> dict[tuple, Row]:
    """Rows of calls of mapped memory, by call, kind of memory and size."""
    return {
        axes_of(row, "what", "memory", "bytes"): row
        for row in rows_of(COSTS_RUN)
        if row.ok and row.case.family == "call"
    }


def largest_of_costs() -> int:
    return max(size for _, _, size in costs())


@part("memory.costs")
def costs_of_memory() -> str:
    """Milliseconds to take, give back and fork beside a GiB of each kind, and GPU memory that it takes."""
    size = largest_of_costs()
    lines = []
    for memory in dict.fromkeys(memory for _, memory, _ in costs()):
        found = [costs()[what, memory, size] for what in STEPS]
        gpu_bytes = int(found[0].counters["gpu_memory_bytes"])
        cells = [f"{1e3 * row.median_s:.3g}" for row in found]
        lines.append([f"`{memory}`", *cells, format_bytes(gpu_bytes) if gpu_bytes else "0"])
    heads = [f"{text}, ms" for text in STEPS.values()]
    return table([f"{format_bytes(size)} of", *heads, "GPU memory for its mapping"], lines)


@part("memory.beside")
def rows_beside_cpus() -> str:
    """GB/s of random rows while CPUs read or write the same memory, and what the CPUs reach."""
    lines = []
    for row in rows_of(BESIDE_RUN):
        memory, span, beside = axes_of(row, "memory", "span", "beside")
        if beside is None:
            alone = row.bandwidth_gb_s
            continue
        cpus = f"{int(row.counters['threads'])} threads {'read' if beside == 'host_read' else 'write'}"
        rates = [f"{alone:.1f}", cpus, f"{row.counters['host_gb_s']:.0f}", f"{row.bandwidth_gb_s:.1f}"]
        lines.append([f"`{memory}`", format_bytes(span), *rates])
    return table(["memory", "span", "rows alone", "CPUs", "CPUs' GB/s", "rows beside them"], lines)


def walls_rate(memory: str, row: int) -> float:
    [rate] = {
        each.bandwidth_gb_s
        for each in rows_of(MEMORY_RUN)
        if each.ok
        and each.case.family == reach.FAMILY
        and as_usual(each.case.axes)
        and axes_of(each, "row", "span", "memory") == (row, 32 << 30, memory)
    }
    return rate


@part("memory.choice")
def choice_of_memory() -> str:
    """For each access the kind of memory that serves it fastest, of those measured, with both rates."""
    lines = []

    def add(access: str, rates: dict[str, float], unit: str = "GB/s") -> None:
        best = max(rates, key=lambda memory: rates[memory])
        close = [memory for memory in rates if rates[memory] > 0.95 * rates[best]]
        shown = ", ".join(f"{memory} {rate:.1f}" for memory, rate in rates.items())
        winner = " or ".join(f"`{memory}`" for memory in close)
        lines.append([access, winner, f"{shown} {unit}"])

    kinds = ("host_alloc", "managed_host")
    for row in (32, 128, 512):
        add(f"rows of {row} B at random over 32 GiB", {each: walls_rate(each, row) for each in kinds})
    names = {"host_alloc": "pinned", "managed_host": "managed_host"}
    for path, text in (("{}_to_gpu", "to the GPU"), ("gpu_to_{}", "to the host")):
        engines = (("transfer/memcpy", "copy engine", ["flush=off"]), ("transfer/kernel_copy", "kernel", []))
        for family, way, more in engines:
            found = {
                kind: only(
                    COPIES_RUN,
                    family,
                    f"path={path.format(name)}",
                    "bytes=67108864",
                    "load=",
                    "blocks=",
                    *more,
                ).bandwidth_gb_s
                for kind, name in names.items()
            }
            add(f"copies of 64 MiB {text} by the {way}", found)
    size = largest_of_costs()
    taken = {memory: size / 1e9 / costs()["take_mapped", memory, size].median_s for memory in kinds}
    add(f"taking {format_bytes(size)} until the GPU may read it", taken)
    return table(["access", "memory", "rates"], lines)


# Scattered pages.

PAGES_RUN = "h100-pages.json.gz"


def page_tables() -> list[pages.Table]:
    return pages.usual(pages.tables(result(PAGES_RUN)))


@part("pages.dispatch")
def page_methods() -> str:
    """The fastest method by size and number of pages, its GB/s, and how many times as fast as the next."""
    lines = []
    for found in page_tables():
        for point in found.points:
            page, count, method, rate, more, others, margin, *_ = dispatch.cells(point)
            title = pages.PAGE_PATHS[found.path][0]
            lines.append([title, page, count, f"`{method}`", f"{rate} ± {more}", others, margin])
    return table(["path", "page", "pages", "fastest", "GB/s", "next", "as fast"], lines)


@part("pages.share")
def page_share(path: str, page: str, count: str) -> str:
    """What share of a pinned copy's rate the fastest method has."""
    [fraction] = [
        point.ways[0].row.link_fraction
        for found in page_tables()
        for point in found.points
        if (found.path, point.page, point.pages) == (path, int(page), int(count))
    ]
    return f"{fraction:.2f}"


@part("gather.counted")
def counted(what: str) -> str:
    """Gathers whose requests and sectors counters found as modelled; shares of sorted ones; packets."""
    rows = [row for row in rows_of(COUNTERS) if row.case.family == "gather" and row.counted]
    in_order = [row for row in rows if row.case.axes["mode"] in IN_ORDER]
    as_asked = [row for row in rows if row not in in_order]
    assert all(
        (row.counted.requests, row.counted.bytes) == (row.traffic.requests, row.traffic.bytes)
        for row in as_asked
    ), "the text says that counters and model agree"
    often = [row for row in in_order if row.case.axes["indices"] == "zipf"]
    shares = [row.counted.requests / row.traffic.requests for row in often]
    blocks = [row.counted.bytes / row.counters["unique_bytes"] for row in often]
    packets = [row.counted.pcie_read_bytes / row.counted.bytes for row in rows]
    return {
        "as_asked": str(len(as_asked)),
        "often": f"{100 * min(shares):.0f} to {100 * max(shares):.0f}",
        "blocks": f"{min(blocks):.2f} to {max(blocks):.2f}",
        "packets": f"{min(packets):.2f} to {max(packets):.2f}",
    }[what]


@part("transfer.relayed_pages")
def relayed_pages() -> str:
    """Scattered pages by the GPU's own kernel, and by two GPUs' over both links."""
    found: dict[tuple, dict[str, Row]] = {}
    for row in rows_of("two-h100-relay-pages.json.gz"):
        method, path, page, pages, memory = axes_of(row, "method", "path", "page", "pages", "memory")
        found.setdefault((path, memory or "host_alloc", page, pages), {})[method] = row
    rows = []
    for (path, memory, page, pages), ways in sorted(found.items(), key=lambda one: (one[0][1], one[0])):
        rates = {method: ways[method].bytes / ways[method].median_s / 1e9 for method in ("kernel", "relay")}
        share = ways["relay"].counters["share"]
        rows.append(
            [
                f"{path.replace('_', ' ')}, `{memory}`",
                format_bytes(page),
                f"{pages:,}",
                *(f"{rates[method]:.1f}" for method in rates),
                f"{rates['relay'] / rates['kernel']:.2f}",
                f"{share:.0f} %",
            ]
        )
    heads = ["", "page", "pages", "by its own link, GB/s", "by both, GB/s", "times as fast", "relayed"]
    return table(heads, rows, right=True)
