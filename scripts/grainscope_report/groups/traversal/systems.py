"""Figure 18, a table: zero-copy against Subway and against reordered vertices (EMOGI's table 3)."""

from collections.abc import Sequence

from grainscope_report.figures import parts
from grainscope_report.figures.entry import Entry
from grainscope_report.figures.model import Figure, exact
from grainscope_report.figures.text_table import TableCell, TablePanel, TableRow
from grainscope_report.groups.traversal import compare, runs
from grainscope_report.groups.traversal.runs import ALGORITHMS, ORDERS, Run
from grainscope_report.machine import Machine
from grainscope_report.papers import EMOGI, paper
from grainscope_report.statistics import Estimate
from grainscope_report.units import format_time, significant

EMOGIS = "merged_aligned"
COLUMNS = (
    "against", "application", "graph", "edges", "its time", "prepared in", "zero-copy, aligned", "speedup",
    "95 % interval",
)  # fmt: skip
PAPER_COLUMNS = ("against", "application", "graph", "edges", "its time", "EMOGI", "speedup", "GPU")
# Subway's public code has 4-byte edges only; HALO's results are of 8-byte ones.
SUBWAY_EDGE = 4
TITLE = "zero-copy, merged and aligned, against other systems (measured)"
MEASURED = "measured"


def build(machines: Sequence[Machine]) -> Figure:
    """A line for each other system and work, and the paper's lines beneath."""
    rows = [row for machine in machines for row in _rows(machine, len(machines) > 1)]
    if not rows:
        return Figure(machines, ())
    right = (False, False, True, True, True, True, True, True)
    ours = TablePanel(TITLE, COLUMNS, tuple(rows), right, width=2.0)
    notes = [
        "Speedup: of zero-copy (merged, aligned, vertices in their original order) over the other, by the "
        "median of the ratios of the same trials. Times: medians over trials.",
        "Prepared in: reordering the vertices, once a graph and not in the times; Subway prepares in every "
        "iteration, and that is in its time.",
        "HALO stand-in: vertices by the sum of 1 ÷ depth over sampled bfs, over managed memory, after HALO's "
        "pseudo-code; its own code is not public. Managed memory is cold, not oversubscribed: HALO's regime, "
        "a graph larger than the card, is the model's (figure 9).",
    ]
    notes += parts.first_sites(machines, "traversal/bfs", "Measured")
    return Figure(machines, ((ours,), (_paper(),)), tuple(notes))


def _rows(machine: Machine, several: bool) -> list[TableRow]:
    there = runs.measured(machine)
    bases = {
        run.work: run
        for run in there
        if (run.placement, run.access, run.order) == ("mapped", EMOGIS, ORDERS[0])
    }
    found: dict[tuple, Run] = {}
    for run in there:
        name = _name(run)
        if name and run.work in bases:
            key = name, run.work
            found[key] = min(found.get(key, run), run, key=lambda one: one.time.value)
    chosen = sorted(found, key=_place)
    edges = {name: {work.edge for one, work in chosen if one == name} for name, _ in chosen}
    return [
        _row(name, found[name, work], bases[work], machine if several else None)
        for name, work in chosen
        if work.edge == _edge(name, edges[name])
    ]


def _name(run: Run) -> str:
    """What the other system is called; nothing where it is none."""
    if run.placement == "subway" and run.order == ORDERS[0]:
        return "Subway"
    if run.order == ORDERS[0] or run.placement not in ("managed", "mapped"):
        return ""
    how = {"managed": "managed", "mapped": "zero-copy"}[run.placement]
    return {"halo_like": "HALO stand-in", "degree": "degree order"}.get(run.order, run.order) + f", {how}"


def _edge(name: str, there: set[int]) -> int:
    """The width of edges to show: of Subway 4 bytes, of others the papers' 8, where there."""
    wanted = SUBWAY_EDGE if name == "Subway" else runs.PAPER_EDGE
    return wanted if wanted in there else max(there)


def _place(key: tuple) -> tuple:
    name, work = key
    order = ("HALO stand-in, managed", "degree order, managed", "Subway")
    known = order.index(name) if name in order else len(order)
    algorithm = ALGORITHMS.index(work.algorithm) if work.algorithm in ALGORITHMS else len(ALGORITHMS)
    return known, name, algorithm, work


def _row(name: str, run: Run, base: Run, machine: Machine | None) -> TableRow:
    ratio = compare.speedup(run, base)
    prepared = run.counter("prepare_s") if run.order != ORDERS[0] else None
    work = run.work
    application = work.algorithm + (f" ({work.weights})" if work.weights else "")
    owner = f"{machine.letter}: " if machine else ""
    cells = (
        TableCell(application),
        TableCell(work.graph),
        TableCell(f"{work.edge} B"),
        _time(run.time),
        TableCell(format_time(prepared), exact(prepared), "s", MEASURED) if prepared else TableCell("–"),
        _time(base.time),
        TableCell(f"{ratio.value:.2f}×", ratio, "ratio", MEASURED),
        TableCell(f"[{ratio.low:.2f}, {ratio.high:.2f}]"),
    )
    return TableRow(f"{owner}{name}", cells, run.machine)


def _time(time_s: Estimate) -> TableCell:
    return TableCell(format_time(time_s.value), time_s, "s", MEASURED)


def _paper() -> TablePanel:
    """EMOGI's table 3."""
    source = paper(EMOGI)
    table = source.tables["comparison"]
    rows = []
    for row in table["rows"]:
        edge = SUBWAY_EDGE if row["work"] == "Subway" else runs.PAPER_EDGE
        cells = (
            TableCell(row["application"].lower()),
            TableCell(row["graph"]),
            TableCell(f"{edge} B"),
            *(
                TableCell(f"{significant(row[name], 4)} s", exact(row[name]), "s", "paper")
                for name in ("time_s", "emogi_s")
            ),
            TableCell(f"{row['speedup']:.2f}×", exact(row["speedup"]), "ratio", "paper"),
            TableCell(row["gpu"]),
        )
        rows.append(TableRow(row["work"], cells))
    right = (False, False, True, True, True, True, False)
    title = f"{source.name}, {table['source']}: graphs larger than the card"
    return TablePanel(title, PAPER_COLUMNS, tuple(rows), right, paper=True, width=2.0)


FIGURES = (
    Entry(
        "18",
        "figure_18_systems",
        "Zero-copy against Subway and reordered vertices",
        runs.MEASURED_FAMILIES,
        "rows with placement subway, or with another order than original, beside merged_aligned mapped",
        build,
    ),
)
