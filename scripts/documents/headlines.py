"""What EMOGI, Comm|Scope, the dissertation and GraphPEG report, with the rows of ours that answer it.

`why` says what makes both differ, where they do; `absent` why no row answers.
"""

from collections.abc import Iterable

from documents import FULL, QUICK, Names
from documents.claims import Cell, Fewest, Headline, Ratio
from grainscope_report.resources import COMM_SCOPE, DISSERTATION, EMOGI, GRAPHPEG

SCORES = "no-gpu-scores.json.gz"
KRON24, MANAGED24, BFS24 = "h100-kron24.json.gz", "h100-kron24-managed.json.gz", "h100-bfs24.json.gz"
WAYS, WALKS = "two-h200-training.json.gz", "h100-walks.json.gz"
LARGEST = "acceptance/h100-a.json.gz"  # has zero-copy of 1 GiB


def cell(run: Names, family: str, axes: str, what: str = "GB/s") -> Cell:
    return Cell(run, family, tuple(axes.split()), what)


def walk(run: Names, algorithm: str, graph: str, how: str, what: str = "time") -> Cell:
    """A traversal: `how` is access, placement and bytes of an edge."""
    access, placement, edge = how.split()
    axes = f"graph={graph} access={access} placement={placement} edge={edge} order=original"
    return cell(run, f"traversal/{algorithm}", axes, what)


def faster(
    slow: str, fast: str, run: Names, graphs: str, algorithms: str = "bfs", what: str = "time"
) -> tuple[Ratio, ...]:
    """What one way of traversing takes or asks for over what another does."""
    return tuple(
        Ratio(walk(run, algorithm, graph, slow, what), walk(run, algorithm, graph, fast, what))
        for algorithm in algorithms.split()
        for graph in graphs.split()
    )


def copied(path: str = "pinned_to_gpu", run: Names = FULL, size: int = 256, flush: str = "on") -> Cell:
    """A copy of so many MiB."""
    axes = f"path={path} bytes={size << 20} flush={flush} timed=copy"
    return cell(run, "transfer/memcpy", axes)


def read_in_place(
    size: int = 256, run: Names = FULL, how: str = "access=merged_aligned offset=0", width: int = 4
):
    """Zero-copy reads of so many MiB by the whole GPU."""
    axes = f"direction=read allocation=host_alloc blocks=full bytes={size << 20} width={width} {how}"
    return cell(run, "transfer/zero_copy", axes)


def migrated(size: int, axes: str) -> Cell:
    return cell(FULL, "transfer/managed", f"bytes={size << 20} {axes}")


def both_ways(method: str, path: str, size: int) -> Ratio:
    """A copy each way at once over one alone."""
    duplex = cell(FULL, "transfer/duplex", f"between=host_gpu method={method} bytes={size << 20}")
    return Ratio(duplex, copied(path, size=size, flush="off"))


def rows_gathered(mode: str, row: int, width: int = 4) -> Cell:
    axes = f"mode={mode} store=mapped indices=uniform row={row} width={width} span={1 << 30} element=4"
    return cell(FULL, "gather", axes)


def mapped_memory(memory: str, what: str) -> Cell:
    return cell(
        "h100-memory-costs.json.gz", "call", f"what=take_mapped memory={memory} bytes={1 << 30}", what
    )


def share_of_gpu(percent: str, width: int) -> Cell:
    return cell(FULL, "sm_share/gather", f"by=mps_percentage percent={percent} width={width}")


def green(width: int, more: str = "") -> Cell:
    return cell(FULL, "sm_share/gather", f"by=green_context mode= width={width} {more}")


FEATURES = (400, 1260, 2312)  # bytes of rows that no way of shifting leaves as they are
ROWS_OF_TWO = (512, 1260)  # of those that two GPUs trained with


def step(
    feed: str,
    row: int,
    more: str = "gpus=1",
    run: Names = FULL,
    what: str = "time",
    batch: str = "10x25 1000",
):
    """A step of training on pareto 22; `feed` is a mode and a store."""
    mode, store = feed.split()
    fanout, size = batch.split()
    axes = (
        f"graph=pareto22 fanout={fanout} batch={size} row={row} processes= mode={mode} store={store} {more}"
    )
    return cell(run, "pipeline/graphsage", axes, what)


def sped(
    slow: str, fast: str, rows: Iterable[int], more: str = "gpus=1", run: Names = FULL
) -> tuple[Ratio, ...]:
    return tuple(Ratio(step(slow, row, more, run), step(fast, row, more, run)) for row in rows)


def unbounded(gpus: int) -> tuple[Ratio, ...]:
    """What naive gathers over the whole GPU gain on gathers by the CPU, of the rows that both have."""
    how = f"gpus={gpus} placement="
    return tuple(
        Ratio(
            step("cpu_gather_dma pinned", row, how, WAYS),
            step("naive mapped", row, f"{how} bounded=off", WAYS),
        )
        for row in ROWS_OF_TWO
    )


def kept(percent: int, what: str) -> Ratio:
    """What a step saves where so many percent of the rows are in the GPU's memory."""
    return Ratio(
        step("masked tiered", 512, f"gpus=1 hot={percent}", what=what),
        step("masked mapped", 512, what=what),
        saved=True,
    )


def hits(score: str, fanout: str, percent: int) -> Cell:
    return cell(
        SCORES,
        "tiering/score",
        f"graph=papers20 score={score} fanout={fanout}",
        f"hits of the first {percent} %",
    )


def modelled_walk(algorithm: str, graph: str, link: str) -> Cell:
    axes = f"graph={graph} access=merged_aligned edge=8 link={link}"
    return cell(FULL, f"model/{algorithm}", axes, "time")


def modelled_pages(algorithm: str, graph: str, link: str, what: str = "time") -> Cell:
    """Managed memory where the card holds half of the edge list and a fault brings 64 KiB."""
    axes = f"algorithm={algorithm} graph={graph} card=50 page=65536 edge=8 link={link}"
    return cell(FULL, "model/uvm", axes, what)


MODELLED = tuple(
    (name, graph) for name in ("bfs", "sssp", "cc") for graph in ("kron18", "urand18", "dense14")
)
EDGES = "merged_aligned mapped 8"
MANAGED = "merged_aligned managed 8"
CHUNKS = "merged_aligned_chunked mapped"
FITS = (
    "The card has 80 GB and holds every edge list here, so a page crosses once and stays. Theirs held a part."
)
FAULTS = "PCIe 5 carries four times what PCIe 3 did, and the time of a fault did not shrink with it."
PAPERS20 = "papers 20 is generated in the manner of papers100M, a hundredth of its size"
PARETO22 = "pareto 22 for papers100M; its accesses are less concentrated"
MODEL_OF_REQUESTS = "Requests are modelled without a cache; there an FPGA counted them."

OF_EMOGI = (
    Headline(
        EMOGI,
        "speedup_over_uvm",
        "zero-copy over managed memory, mean of bfs, sssp and cc",
        faster(MANAGED, EDGES, FULL, "kron21", "bfs sssp cc")
        + faster(MANAGED, EDGES, MANAGED24, "kron24", "bfs sssp cc"),
        FITS,
    ),
    Headline(
        EMOGI,
        "speedup_over_uvm",
        "the same with a card that holds half of the edge list, on PCIe 3",
        tuple(
            Ratio(modelled_pages(*work, "pcie3x16"), modelled_walk(*work, "pcie3x16")) for work in MODELLED
        ),
        "Nothing checks the model of managed memory against hardware under such pressure.",
    ),
    Headline(
        DISSERTATION,
        "speedup_over_uvm",
        "zero-copy over managed memory, mean of bfs, sssp, cc and pr",
        faster(MANAGED, EDGES, FULL, "kron21", "bfs sssp cc pr")
        + faster(MANAGED, EDGES, MANAGED24, "kron24", "bfs sssp cc pr"),
        f"{FITS} PageRank reads the list again and again: its pages are local from the second time on.",
    ),
    Headline(
        EMOGI,
        "speedup_lower_for_cc",
        "cc's gain over that of bfs",
        (Ratio(*(faster(MANAGED, EDGES, MANAGED24, "kron24", name)[0] for name in ("cc", "bfs"))),),
        side="below",
    ),
    Headline(
        EMOGI,
        "speedup_naive_over_uvm_bfs",
        "naive zero-copy over managed memory, bfs",
        faster(MANAGED, "naive mapped 8", FULL, "kron21 urand21"),
        f"{FITS} Naive reads come in requests of 32 bytes, whose number a second bounds them on a faster "
        "link too.",
    ),
    Headline(
        EMOGI,
        "speedup_merged_over_uvm_bfs",
        "merged zero-copy over managed memory, bfs",
        faster(MANAGED, "merged mapped 8", FULL, "kron21 urand21")
        + faster(MANAGED, "merged mapped 8", MANAGED24, "kron24"),
        FITS,
    ),
    Headline(
        EMOGI,
        "speedup_aligned_over_merged_bfs",
        "aligned over merged, bfs",
        faster("merged mapped 8", EDGES, BFS24, "kron24 urand24"),
    ),
    Headline(
        EMOGI,
        "merged_aligned",
        "rate of merged aligned reads over that of copies",
        (Ratio(read_in_place(), copied()),),
        over="memcpy_peak",
        even=None,
    ),
    Headline(
        EMOGI,
        "misaligned_below_aligned",
        "rate of reads 32 bytes off a line over that of aligned ones",
        (Ratio(read_in_place(how="access=merged offset=32"), read_in_place()),),
        side="below",
    ),
    Headline(
        EMOGI,
        "naive_bfs",
        "rate of naive bfs on the link over that of copies",
        tuple(
            Ratio(walk(FULL, "bfs", graph, "naive mapped 8", "GB/s on the link"), copied())
            for graph in ("kron21", "urand21")
        ),
        "Ours counts each sector once a level, the least that can have crossed; there the link's counters "
        "count "
        "sectors that cross again.",
        over="memcpy_peak",
        even=None,
    ),
    Headline(
        EMOGI,
        "merged_bfs_of_peak",
        "rate of merged bfs on the link over that of copies",
        tuple(
            Ratio(walk(FULL, "bfs", graph, "merged mapped 8", "GB/s on the link"), copied())
            for graph in ("kron21", "urand21")
        ),
        "These traversals take milliseconds, and their short levels do not fill a PCIe 5 link.",
        even=None,
    ),
    Headline(
        EMOGI,
        "uvm_peak",
        "rate of managed memory on demand over that of copies",
        (Ratio(migrated(256, "method=demand path=host_to_gpu"), copied()),),
        FAULTS,
        over="memcpy_peak",
        even=None,
    ),
    Headline(
        EMOGI,
        "requests_above_32_naive_fs",
        "share of naive requests above 32 bytes, bfs",
        tuple(
            walk(FULL, "bfs", graph, "naive mapped 8", "share of requests above 32 bytes")
            for graph in ("kron21",)
        ),
        f"{MODEL_OF_REQUESTS} kron 21 stands for Friendster.",
        even=None,
    ),
    Headline(
        EMOGI,
        "requests_128_merged",
        "share of requests of 128 bytes, merged",
        tuple(
            walk(BFS24, "bfs", graph, "merged mapped 8", "share of requests of 128 bytes")
            for graph in ("kron24", "urand24")
        ),
        MODEL_OF_REQUESTS,
        even=None,
    ),
    *(
        Headline(
            EMOGI,
            f"requests_128_aligned_over_merged_{name}",
            f"that share, aligned over merged, {graph}",
            faster(EDGES, "merged mapped 8", BFS24, graph, what="share of requests of 128 bytes"),
            f"{MODEL_OF_REQUESTS} Theirs is eight times as large.",
        )
        for name, graph in (("gk", "kron24"), ("gu", "urand24"))
    ),
    Headline(
        EMOGI,
        "requests_saved_by_merging",
        "requests that merging saves",
        tuple(
            Ratio(
                *(
                    walk(FULL, "bfs", graph, f"{access} mapped 8", "requests")
                    for access in ("merged", "naive")
                ),
                True,
            )
            for graph in ("kron21", "urand21")
        ),
        f"{MODEL_OF_REQUESTS} Neighbouring lanes of `naive` share lines in a cache, which the model leaves "
        "out.",
        even=None,
    ),
    Headline(
        EMOGI,
        "requests_saved_by_aligning",
        "requests that aligning saves of the merged ones",
        tuple(
            Ratio(
                walk(BFS24, "bfs", graph, EDGES, "requests"),
                walk(BFS24, "bfs", graph, "merged mapped 8", "requests"),
                True,
            )
            for graph in ("kron24", "urand24")
        ),
        f"{MODEL_OF_REQUESTS} Theirs is the most of six graphs.",
        even=None,
    ),
    Headline(
        EMOGI,
        "amplification_emogi",
        "bytes read over the edge list, zero-copy",
        tuple(
            walk(BFS24, "bfs", graph, EDGES, "bytes read over bytes of the edge list")
            for graph in ("kron24", "urand24")
        ),
        MODEL_OF_REQUESTS,
        side="up to",
        even=None,
    ),
    Headline(
        EMOGI,
        "amplification_uvm_ml",
        "bytes moved over the edge list, managed memory",
        tuple(
            modelled_pages("bfs", graph, "pcie3x16", "bytes read over bytes of the edge list")
            for graph in ("kron18", "urand18", "dense14", "web18")
        ),
        "What a fault brings, 64 KiB, and what is evicted are modelled. Friendster and MOLIERE are the "
        "ends there.",
        most="amplification_uvm_fs",
        even=None,
    ),
    Headline(
        EMOGI,
        "scaling_emogi_pcie_4",
        "zero-copy on PCIe 4 over PCIe 3",
        tuple(Ratio(modelled_walk(*work, "pcie3x16"), modelled_walk(*work, "pcie4x16")) for work in MODELLED),
        "No machine here has a link of either generation.",
    ),
    Headline(
        EMOGI,
        "scaling_uvm_pcie_4",
        "managed memory on PCIe 4 over PCIe 3",
        tuple(
            Ratio(modelled_pages(*work, "pcie3x16"), modelled_pages(*work, "pcie4x16")) for work in MODELLED
        ),
        "No machine here has a link of either generation.",
    ),
    Headline(
        DISSERTATION,
        "edge_4_over_8",
        "edges of 4 bytes over 8 bytes",
        faster(EDGES, "merged_aligned mapped 4", KRON24, "kron24", "bfs sssp cc")
        + faster(f"{CHUNKS} 8", f"{CHUNKS} 4", KRON24, "kron24", "pr"),
    ),
    Headline(
        DISSERTATION,
        "speedup_over_subway_least",
        "zero-copy over Subway's compaction, 4-byte edges",
        faster("compact subway 4", "merged_aligned mapped 4", FULL, "kron21 urand21", "bfs sssp cc"),
        "On kron 21 the times of the compaction differ much from visit to visit.",
        most="speedup_over_subway_most",
        stand_in="the compaction is our own, after Subway: the GPU finds the lists, and the host's threads "
        "gather them, beside copies and walks",
    ),
    Headline(
        DISSERTATION,
        "speedup_over_halo_least",
        "zero-copy over managed memory reordered after HALO, bfs",
        (
            Ratio(
                cell(
                    FULL,
                    "traversal/bfs",
                    "graph=kron21 access=merged_aligned placement=managed edge=8 order=halo_like",
                    "time",
                ),
                walk(FULL, "bfs", "kron21", EDGES),
            ),
        ),
        f"One ratio on one graph. {FITS}",
        most="speedup_over_halo_most",
        stand_in="the order is ours after HALO's paper, whose code is not public",
    ),
    Headline(
        EMOGI,
        "speedup_merged_over_uvm_bfs_sk",
        "merged over managed memory where the graph almost fits (sk-2005)",
        absent="sk-2005 is not among the graphs of any run here",
    ),
)

OF_COMM_SCOPE = (
    Headline(
        COMM_SCOPE,
        "pinned_to_gpu_local_ac922",
        "pinned copies over what the link can have",
        (
            Ratio(
                copied(),
                cell(
                    FULL,
                    "transfer/memcpy",
                    f"path=pinned_to_gpu bytes={256 << 20} flush=on timed=copy",
                    "GB/s that the link can have",
                ),
            ),
        ),
        over="link_theoretical_ac922",
        even=None,
    ),
    Headline(
        COMM_SCOPE,
        "pinned_to_gpu_local_ac922",
        "pinned copies, local over remote",
        over="pinned_to_gpu_remote_ac922",
        absent="every reference machine is one NUMA node",
    ),
    Headline(
        COMM_SCOPE,
        "pageable_below_pinned",
        "pageable copies over pinned ones",
        (Ratio(copied("pageable_to_gpu"), copied()),),
        side="below",
    ),
    Headline(
        COMM_SCOPE,
        "pageable_within_host_copy",
        "pageable copies to the GPU over copies from pageable to pinned memory",
        tuple(
            Ratio(
                copied("pageable_to_gpu", size=size),
                cell(FULL, "transfer/host_copy", f"path=pageable_to_pinned bytes={size << 20} flush=on"),
            )
            for size in (1, 64, 256)
        ),
        "Both are as fast as a thread copies the host's memory: at each size their intervals overlap.",
        side="below",
    ),
    Headline(
        COMM_SCOPE,
        "flush_slows_pageable",
        "pageable copies from the cache over flushed ones",
        (Ratio(copied("pageable_to_gpu", size=1, flush="off"), copied("pageable_to_gpu", size=1)),),
        side="above",
    ),
    Headline(
        COMM_SCOPE,
        "duplex_over_one_way_pinned",
        "pinned copies both ways over one way",
        (both_ways("pinned", "pinned_to_gpu", 256),),
        "Copies of that size share the host's memory.",
    ),
    Headline(
        COMM_SCOPE,
        "pageable_duplex_like_one_way",
        "pageable copies both ways over one way",
        tuple(both_ways("pageable", "pageable_to_gpu", size) for size in (1, 16, 64)),
        "Each way has a host thread of its own here, and the two copies overlap: the driver does not "
        "serialise them.",
    ),
    Headline(
        COMM_SCOPE,
        "zero_copy_matches_copies",
        "zero-copy reads over pinned copies, 1 to 4 MiB",
        tuple(Ratio(read_in_place(size), copied(size=size)) for size in (1, 4)),
    ),
    Headline(
        COMM_SCOPE,
        "zero_copy_drops_when_large",
        "zero-copy reads of 1 GiB over 64 MiB",
        (Ratio(read_in_place(1024, LARGEST), read_in_place(64, LARGEST)),),
        "The difference is within the intervals: reads in order do not slow down measurably up to 1 GiB "
        "here; larger ones were not measured.",
        side="below",
    ),
    Headline(
        COMM_SCOPE,
        "demand_above_pageable",
        "pages on demand to the host, 16 threads, over pageable copies",
        (Ratio(migrated(256, "method=demand path=gpu_to_host host_threads=16"), copied("gpu_to_pageable")),),
        side="above",
    ),
    Headline(
        COMM_SCOPE,
        "demand_above_pageable",
        "pages on demand to the GPU over pageable copies",
        (Ratio(migrated(256, "method=demand path=host_to_gpu"), copied("pageable_to_gpu")),),
        "Pages of the host have 4 KiB here and 64 KiB on the paper's POWER systems, whose links are "
        "faster, too.",
        side="above",
    ),
    Headline(
        COMM_SCOPE,
        "demand_needs_host_threads",
        "pages on demand to the host, 16 threads over one",
        (
            Ratio(
                *(migrated(256, f"method=demand path=gpu_to_host host_threads={count}") for count in (16, 1))
            ),
        ),
        side="above",
    ),
    Headline(
        COMM_SCOPE,
        "demand_without_locality",
        "pages on demand, local over remote",
        side="above",
        absent="every reference machine is one NUMA node",
    ),
    Headline(
        COMM_SCOPE,
        "prefetch_matches_when_large",
        "prefetches over pinned copies, 256 MiB",
        (Ratio(migrated(256, "method=prefetch path=host_to_gpu"), copied()),),
    ),
    Headline(
        COMM_SCOPE,
        "prefetch_slow_from",
        "prefetches over pinned copies, 64 KiB to 16 MiB",
        tuple(
            Ratio(
                cell(FULL, "transfer/managed", f"bytes={size} method=prefetch path=host_to_gpu"),
                cell(FULL, "transfer/memcpy", f"path=pinned_to_gpu bytes={size} flush=on timed=copy"),
            )
            for size in (1 << 16, 1 << 20, 1 << 24)
        ),
        side="below",
    ),
    Headline(
        COMM_SCOPE,
        "peer_access_gain_local",
        "copies between GPUs with peer access over without",
        (
            Ratio(
                *(
                    cell(
                        QUICK[1],
                        "transfer/peer",
                        f"access={access} method=copy_engine direction=read bytes={256 << 20} gpu=0",
                    )
                    for access in ("on", "off")
                )
            ),
        ),
        "The paper states a difference of 10 GB/s. NVLink of an H200 carries far more than its PCIe, over "
        "which copies go where there is no peer access.",
        side="above",
    ),
)

OF_DISSERTATION = (
    Headline(
        DISSERTATION,
        "mapping_gpu_memory",
        "memory of the GPU that mapped host memory takes",
        tuple(
            Ratio(*(mapped_memory(memory, what) for what in ("bytes of the GPU's memory", "bytes mapped")))
            for memory in ("host_alloc", "registered")
        ),
        even=None,
    ),
    Headline(
        DISSERTATION,
        "zero_copy_of_block_transfer",
        "zero-copy reads over copies, most",
        (Ratio(read_in_place(width=16), copied()),),
        even=None,
    ),
    Headline(
        DISSERTATION,
        "gather_aligned_of_memcpy",
        "gathers of rows of 1024 bytes over copies",
        tuple(Ratio(rows_gathered(mode, 1024), copied()) for mode in ("naive", "circular_shift")),
        even=None,
    ),
    Headline(
        DISSERTATION,
        "gather_naive_of_memcpy_least",
        "naive gathers of rows that lie across lines over copies",
        tuple(Ratio(rows_gathered("naive", row), copied()) for row in (1028, 1040)),
        "More requests a row weigh more on a link that is twice as fast: their number a second bounds it.",
        most="gather_naive_of_memcpy_most",
        even=None,
    ),
    Headline(
        DISSERTATION,
        "gather_shifted_of_memcpy_least",
        "the same rows with the circular shift",
        tuple(Ratio(rows_gathered("circular_shift", row), copied()) for row in (1028, 1040)),
        most="gather_shifted_of_memcpy_most",
        even=None,
    ),
    Headline(
        DISSERTATION,
        "gather_shifted_of_memcpy_least",
        "the circular shift over naive, the same rows",
        tuple(
            Ratio(rows_gathered("circular_shift", row), rows_gathered("naive", row)) for row in (1028, 1040)
        ),
        "The shift saves requests, and those bound a naive gather more on a faster link.",
        over="gather_naive_of_memcpy_least",
    ),
    Headline(
        DISSERTATION,
        "gather_dma_of_zero_copy",
        "gathers by the CPU and a copy over zero-copy",
        (
            Ratio(
                cell(
                    FULL,
                    "gather",
                    f"mode=cpu_gather_dma store=pinned row=1028 span={4 << 30} indices=uniform",
                ),
                rows_gathered("circular_shift", 1028),
            ),
        ),
        "Ours copies each 2 MiB as soon as they are gathered; PyTorch gathers the whole mini-batch first.",
    ),
    Headline(
        DISSERTATION,
        "sm_share_small_most",
        "what gathers lose on 10 % of the GPU, loads of 4 bytes",
        (Ratio(share_of_gpu("10", 4), share_of_gpu("100", 4)),),
        "A tenth of an H100 makes enough requests for a link that is twice as fast.",
        over="sm_share_full",
        even=None,
        lost=True,
    ),
    Headline(
        DISSERTATION,
        "sm_share_small_least",
        "the same on 2 and 4 of 132 multiprocessors; there 2.5 %",
        tuple(Ratio(green(4, f"sms={count}"), share_of_gpu("100", 4)) for count in (2, 4)),
        over="sm_share_full",
        stand_in="MPS rounds so small a share up, so green contexts stand for it: one of each side of 2.5 %",
        even=None,
        lost=True,
    ),
    Headline(
        DISSERTATION,
        "sm_share_int",
        "multiprocessors that loads of 4 bytes need to fill the link over those of 16 bytes",
        (Ratio(Fewest(green(4)), Fewest(green(16))),),
        "So few are needed of an H100 that steps of two multiprocessors are coarse.",
        over="sm_share_int4",
    ),
    Headline(
        DISSERTATION,
        "sm_share_best_training",
        "a step with 10 % to the gather over one with 50 %",
        (
            Ratio(
                *(
                    cell(
                        FULL,
                        "pipeline/graphsage",
                        f"graph=pareto22 processes=mps percent={percent} row=512 batch=1000",
                        "time",
                    )
                    for percent in (10, 50)
                )
            ),
        ),
        "The computation of a step is short on an H100: it starves for nothing that the gather takes.",
        side="below",
    ),
    Headline(
        DISSERTATION,
        "training_cpu_only_least",
        "training by the CPU alone, speed over gathers by the CPU",
        (
            Ratio(
                step("cpu_gather_dma pinned", 512, run="h200-training-cpu.json.gz"),
                cell(
                    "h200-training-cpu.json.gz",
                    "pipeline/graphsage",
                    "graph=pareto22 fanout=10x25 batch=1000 row=512 mode=cpu_only products=tiled",
                    "time",
                ),
            ),
        ),
        "An H200 computes many times faster than an RTX 3090, which shortens a step of the other way alone. "
        "The CPU multiplies by tiles in registers; by plain loops it takes longer still.",
        most="training_cpu_only_most",
    ),
    Headline(
        DISSERTATION,
        "training_naive_one_gpu_least",
        "naive zero-copy over the whole GPU, speed over gathers by the CPU, one GPU",
        unbounded(1),
        "Rows of 512 bytes are whole lines, of which a naive gather loses nothing. With rows of 1260 bytes, "
        "which are not, it is somewhat slower here, too.",
        most="training_naive_one_gpu_most",
    ),
    Headline(
        DISSERTATION,
        "training_one_gpu_least",
        "optimised zero-copy, speed over gathers by the CPU, one GPU",
        sped("cpu_gather_dma pinned", "circular_shift mapped", FEATURES),
        most="training_one_gpu_most",
    ),
    Headline(
        DISSERTATION,
        "training_two_gpus_least",
        "optimised zero-copy, speed over gathers by the CPU, two GPUs",
        sped("cpu_gather_dma pinned", "masked mapped", ROWS_OF_TWO, "gpus=2 placement= bounded=", WAYS),
        most="training_two_gpus_most",
    ),
    Headline(
        DISSERTATION,
        "training_dma_second_gpu_least",
        "gathers by the CPU: two GPUs over one",
        tuple(
            Ratio(
                *(
                    step("cpu_gather_dma pinned", row, f"gpus={count} placement= bounded=", WAYS, "GB/s")
                    for count in (2, 1)
                )
            )
            for row in ROWS_OF_TWO
        ),
        most="training_dma_second_gpu_most",
    ),
    Headline(
        DISSERTATION,
        "training_all_in_gpu",
        "all features in the GPU over optimised zero-copy, rows of 1260 bytes",
        (Ratio(step("circular_shift mapped", 1260), step("masked device", 1260)),),
        "An H100 computes a step in a fraction of the time that its features take to cross; on an RTX 3090 "
        "the computation hid them.",
    ),
    Headline(
        DISSERTATION,
        "training_naive_two_gpus_least",
        "naive zero-copy over the whole GPU, speed over gathers by the CPU, two GPUs",
        unbounded(2),
        most="training_naive_two_gpus_most",
    ),
    Headline(
        DISSERTATION,
        "training_features_4096",
        "zero-copy, speed over gathers by the CPU, 4096 features",
        (
            Ratio(
                *(
                    cell(
                        "two-h200-paper-large-rows.json.gz",
                        "pipeline/graphsage",
                        f"graph=pareto20 fanout=10x25 batch=1000 row=16384 gpus=1 {feed}",
                        "time",
                    )
                    for feed in ("mode=cpu_gather_dma store=pinned", "mode=masked store=mapped")
                )
            ),
        ),
        "32 CPUs gather into four buffers beside the copies; DGL's gather costs more.",
    ),
    Headline(
        DISSERTATION,
        "training_zero_copy_least",
        "zero-copy, speed over gathers by the CPU, rows of 512 bytes",
        (
            *sped("cpu_gather_dma pinned", "masked mapped", (512,)),
            Ratio(
                *(
                    step(feed, 512, batch="10x10x10 1000")
                    for feed in ("cpu_gather_dma pinned", "masked mapped")
                )
            ),
            Ratio(
                *(step(feed, 512, batch="10x25 8000") for feed in ("cpu_gather_dma pinned", "masked mapped"))
            ),
        ),
        "Our threads fill four buffers beside the copies; DGL's gather and its Python cost more.",
        most="training_zero_copy_most",
    ),
    Headline(
        DISSERTATION,
        "training_tiered_least",
        "10 % of the rows in the GPU, speed over zero-copy",
        tuple(
            Ratio(
                step("masked mapped", 512, batch=batch),
                step("masked tiered", 512, "gpus=1 hot=10", batch=batch),
            )
            for batch in ("10x25 1000", "10x10x10 1000", "10x25 8000")
        ),
        most="training_tiered_most",
    ),
    *(
        Headline(
            DISSERTATION,
            number,
            f"hits of the first 10 % of the rows by {words}, depth 5",
            (hits(score, "10x10x10x10x10", 10),),
            "Five steps reach a larger part of all rows there.",
            even=None,
            stand_in=PAPERS20,
        )
        for number, score, words in (
            ("hits_depth_5_pagerank", "weighted_reverse_pagerank", "weighted reverse PageRank"),
            ("hits_depth_5_degree", "degree", "degree"),
        )
    ),
    Headline(
        DISSERTATION,
        "hits_depth_5_pagerank",
        "weighted reverse PageRank over degree, depth 5",
        (
            Ratio(
                hits("weighted_reverse_pagerank", "10x10x10x10x10", 10), hits("degree", "10x10x10x10x10", 10)
            ),
        ),
        over="hits_depth_5_degree",
        stand_in=PAPERS20,
    ),
    *(
        Headline(
            DISSERTATION,
            f"hits_of_top_{percent}_percent",
            f"hits of the first {percent} % of the rows by the worst score, fan-out 12×12×12",
            (hits("degree", "12x12x12", percent),),
            side="from",
            even=None,
            stand_in=PAPERS20,
        )
        for percent in (10, 25)
    ),
    Headline(
        DISSERTATION,
        "traffic_saved_by_25_percent",
        "bytes over the link that 25 % of the rows in the GPU save",
        (kept(25, "bytes over the link"),),
        even=None,
        stand_in=PARETO22,
    ),
    *(
        Headline(
            DISSERTATION,
            f"time_saved_by_{percent}_percent",
            f"time of a step that {percent} % of the rows in the GPU save",
            (kept(percent, "time"),),
            even=None,
            stand_in=PARETO22,
        )
        for percent in (5, 25)
    ),
    Headline(
        DISSERTATION,
        "dma_row_break_even",
        "copies row by row over zero-copy, rows of 128 KiB",
        (
            Ratio(
                cell(FULL, "gather", f"mode=row_dma row={128 << 10} span={4 << 30}"),
                cell(
                    FULL,
                    "gather",
                    f"mode=masked store=mapped row={128 << 10} rows=512 span={4 << 30} width=16",
                ),
            ),
        ),
        "A copy's call still takes microseconds, in which this link carries twice as much: rows have to be "
        "larger.",
        side="above",
    ),
    Headline(
        DISSERTATION,
        "cpu_sampling_throttles",
        "training on two GPUs, speed with sampling by the GPU over sampling by the CPU",
        tuple(
            Ratio(
                *(
                    step(feed, 512, f"gpus=2 bounded= {more}", WAYS)
                    for more in ("placement=host", "placement=")
                )
            )
            for feed in ("masked mapped", "masked tiered")
        ),
        side="above",
    ),
)

UNIT = "a block does in software what the paper has a unit of hardware for"
OF_GRAPHPEG = (
    Headline(
        GRAPHPEG,
        "even_lanes",
        "use of lanes, gathered edges over a warp a list",
        faster("edge_gather mapped 8", EDGES, FULL, "kron21 urand21", "bfs", "use of lanes"),
        side="above",
        stand_in=UNIT,
    ),
    Headline(
        GRAPHPEG,
        "even_multiprocessors",
        "imbalance of blocks, gathered edges over a warp a list",
        faster("edge_gather mapped 8", EDGES, FULL, "kron21 urand21", "bfs", "imbalance of blocks"),
        "Blocks that gather for themselves are the less even ones, with an exchange between them, too.",
        side="above",
        stand_in=UNIT,
    ),
    Headline(
        GRAPHPEG,
        "faster_than_vertex_centric",
        "a warp a list over gathered edges, edges over the link, time",
        faster(EDGES, "edge_gather mapped 8", FULL, "kron21 urand21", "bfs"),
        "The link bounds both, so that the intervals overlap; the paper has edges in the GPU's memory.",
        side="above",
        stand_in=UNIT,
    ),
    Headline(
        GRAPHPEG,
        "overhead_of_gunrock",
        "Gunrock's load balancing on lists of two or three edges: merge path over a warp a list, time",
        faster("merge_path device 8", "merged_aligned device 8", WALKS, "road20"),
        side="above",
        stand_in="our own kernels after Gunrock's, over a generated road network",
    ),
)

PAPERS = {
    "emogi": OF_EMOGI,
    "comm_scope": OF_COMM_SCOPE,
    "dissertation": OF_DISSERTATION,
    "graphpeg": OF_GRAPHPEG,
}
HEADLINES = tuple(headline for part_of in PAPERS.values() for headline in part_of)
