"""The table of all figures in the order of their numbers and letters: of each group, and of what is left."""

from collections.abc import Sequence
from dataclasses import replace

from grainscope_report.figures import others, parts
from grainscope_report.figures.entry import Entry, why_absent, why_not
from grainscope_report.figures.model import Figure
from grainscope_report.groups import call, contention, grain, host, shape
from grainscope_report.groups.gather import figure as gather_figure
from grainscope_report.groups.gnn import training
from grainscope_report.groups.reach import figure as reach_figure
from grainscope_report.groups.transfer import collective, copies, duplex, managed, peers, requests
from grainscope_report.groups.traversal import degrees, edges, lean_figure, links, speedup, systems
from grainscope_report.machine import Machine

__all__ = ["FIGURES", "Entry", "figure", "why_absent", "why_not"]

SOURCES = (
    copies, duplex, peers, managed, requests, collective, speedup, degrees, links, edges, systems,
    lean_figure, gather_figure, training, reach_figure, grain, host, contention, shape, call,
)  # fmt: skip


def _place(entry: Entry) -> tuple[bool, int, str]:
    """Numbers first, then letters."""
    return not entry.id.isdigit(), int(entry.id) if entry.id.isdigit() else 0, entry.id


OWN = [entry for one in SOURCES for entry in one.FIGURES]
SHOWN = frozenset(family for entry in OWN for family in (*entry.families, *entry.beside))
FIGURES: tuple[Entry, ...] = tuple(sorted([*OWN, others.entry(SHOWN)], key=_place))


def figure(entry: Entry, machines: Sequence[Machine]) -> Figure:
    """Computes a figure with its title and notes; without data for it, it has no panels."""
    made, families = entry.build(machines), entry.of(machines)
    notes = list(made.notes)
    owners: dict[str, list[str]] = {}
    for machine in machines if made.rows else ():
        for note in parts.left_out(machine.result.of(*families, *entry.beside)):
            owners.setdefault(note, []).append(machine.letter)
    for note, letters in owners.items():
        notes.append(f"{', '.join(letters)}: {note}" if len(machines) > 1 else note)
    return replace(
        made,
        id=entry.id,
        stem=entry.stem,
        title=made.title or entry.title,
        families=families,
        notes=tuple(notes),
    )
