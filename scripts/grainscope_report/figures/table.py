"""The table of all figures: what each is called, which rows it needs, what computes it."""

from collections.abc import Sequence
from dataclasses import replace

from grainscope_report.figures import (
    batches,
    calls,
    collective,
    contention,
    degrees,
    duplex,
    edges,
    explicit,
    flush,
    gathers,
    host,
    lean,
    links,
    migration,
    parts,
    peers,
    prefetch,
    requests,
    roofline,
    shapes,
    speedup,
    systems,
    training,
    wall,
    zero_copy,
)
from grainscope_report.figures.entry import Entry, why_absent, why_not
from grainscope_report.figures.model import Figure
from grainscope_report.gnn import gathers as gnn_gathers
from grainscope_report.gnn import pipelines, shares, tiers
from grainscope_report.machine import Machine
from grainscope_report.traversal import lean as lean_runs
from grainscope_report.traversal import runs

__all__ = ["FIGURES", "Entry", "figure", "why_absent", "why_not"]

FIGURES: tuple[Entry, ...] = (
    Entry(
        "1",
        "figure_1_cache_flush",
        "Cache flush: copies of flushed and of warm buffers",
        ("transfer/memcpy", "host/memcpy"),
        "pairs of rows with flush on and off",
        flush.build,
    ),
    Entry(
        "2",
        "figure_2_explicit_copies",
        "Explicit copies of pageable and pinned memory",
        ("transfer/memcpy",),
        "rows",
        explicit.build,
    ),
    Entry("3", "figure_3_duplex", "Both directions at once", ("transfer/duplex",), "rows", duplex.build),
    Entry(
        "4",
        "figure_4_peers",
        "Copies between GPUs",
        ("transfer/peer",),
        "rows",
        peers.build,
        beside=("transfer/local",),
    ),
    Entry(
        "5",
        "figure_5_zero_copy",
        "Explicit copies against zero-copy",
        ("transfer/zero_copy",),
        "rows",
        zero_copy.build,
        beside=("transfer/memcpy",),
    ),
    Entry(
        "6",
        "figure_6_demand_migration",
        "Demand migration of managed memory",
        ("transfer/managed",),
        "rows with method demand",
        migration.build,
        beside=("transfer/memcpy",),
    ),
    Entry(
        "7",
        "figure_7_prefetch",
        "Prefetch of managed memory against a pinned copy",
        ("transfer/managed",),
        "rows with method prefetch",
        prefetch.build,
        beside=("transfer/memcpy",),
    ),
    Entry(
        "8",
        "figure_8_requests",
        "Zero-copy reads by access: bandwidth, requests, amplification",
        ("transfer/zero_copy", "traversal/bfs", "model/bfs"),
        "rows of one size with several accesses, or with requests by graph,",
        requests.build,
    ),
    Entry(
        "9",
        "figure_9_speedup",
        "Graph traversal: every way over managed memory",
        runs.FAMILIES,
        "rows with placement managed and another",
        speedup.build,
    ),
    Entry(
        "10",
        "figure_10_degrees",
        degrees.title(*degrees.TITLES),
        (*runs.FAMILIES, tiers.SCORE),
        "rows that describe their graph or have hit rates",
        degrees.build,
    ),
    Entry(
        "11",
        "figure_11_gathers",
        "Gathers by way and size of rows, and by share of the multiprocessors",
        (gnn_gathers.FAMILY, gnn_gathers.MODEL, shares.GATHER, shares.SPLIT),
        "rows of one size by several modes, or by share,",
        gathers.build,
    ),
    Entry(
        "12",
        "figure_12_training",
        "Training by way to feed it: time, stages, bytes over the link",
        (pipelines.FAMILY,),
        "rows of several modes, or gathers of a sampled trace with hot rows,",
        training.build,
        beside=(gnn_gathers.FAMILY,),
    ),
    Entry(
        "13",
        "figure_13_translation_wall",
        "The translation wall: rows at random against the bytes they lie over",
        ("reach/gather",),
        "rows",
        wall.build,
        beside=(gnn_gathers.FAMILY,),
    ),
    Entry(
        "14",
        "figure_14_link_roofline",
        "The link roofline: useful bytes by grain",
        ("grain/pieces",),
        "rows",
        roofline.build,
        beside=("grain/saturation",),
    ),
    Entry(
        "16",
        "figure_16_links",
        "Graph traversal over links, modelled and measured",
        runs.FAMILIES,
        "rows with access merged_aligned",
        links.build,
    ),
    Entry(
        "17",
        "figure_17_edges",
        "Edges of 4 bytes against edges of 8",
        runs.FAMILIES,
        "pairs of rows with edge 8 and 4",
        edges.build,
    ),
    Entry(
        "18",
        "figure_18_systems",
        "Zero-copy against Subway and reordered vertices",
        runs.MEASURED_FAMILIES,
        "rows with placement subway, or with another order than original, beside merged_aligned mapped",
        systems.build,
    ),
    Entry(
        "19",
        "figure_19_fewer_bytes",
        "Traversals that move fewer bytes, by technique and GPU memory for edges",
        lean_runs.FAMILIES,
        "rows",
        lean.build,
        beside=runs.MEASURED_FAMILIES,
    ),
    Entry(
        "h",
        "figure_h_host_memory",
        "Host memory",
        ("host/latency", "host/memcpy", "host/first_touch", "host/flush"),
        "rows",
        host.build,
    ),
    Entry("m", "figure_m_many_gpus", "Many GPUs at once", ("transfer/collective",), "rows", collective.build),
    Entry(
        "n",
        "figure_n_neighbours",
        "Neighbours: what a copy keeps of its rate beside something else",
        ("contention",),
        "rows",
        contention.build,
    ),
    Entry(
        "p",
        "figure_p_pieces_at_once",
        "Pieces at once: many small copies by method",
        ("shape/batch",),
        "rows",
        batches.build,
    ),
    Entry(
        "s",
        "figure_s_shapes",
        "Shapes: copies that are not contiguous",
        ("shape/copy",),
        "rows",
        shapes.build,
    ),
    Entry(
        "t", "figure_t_time_of_calls", "The time of calls of the CUDA runtime", ("call",), "rows", calls.build
    ),
)


def figure(entry: Entry, machines: Sequence[Machine]) -> Figure:
    """Computes a figure with its title and notes; without data for it, it has no panels."""
    made = entry.build(machines)
    notes = list(made.notes)
    owners: dict[str, list[str]] = {}
    for machine in machines if made.rows else ():
        for note in parts.left_out(machine.result.of(*entry.families, *entry.beside)):
            owners.setdefault(note, []).append(machine.letter)
    for note, letters in owners.items():
        notes.append(f"{', '.join(letters)}: {note}" if len(machines) > 1 else note)
    return replace(
        made,
        id=entry.id,
        stem=entry.stem,
        title=made.title or entry.title,
        families=entry.families,
        notes=tuple(notes),
    )
