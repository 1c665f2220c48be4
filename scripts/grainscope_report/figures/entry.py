"""What a figure is called, which rows it needs, what computes it; and why one is absent."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from grainscope_report import naming
from grainscope_report.figures.model import Figure
from grainscope_report.machine import Machine
from grainscope_report.model import MODEL


@dataclass(frozen=True)
class Entry:
    """One figure: number, file stem, title, the families it is about, and what it needs of them in words.

    `beside` are families drawn beside the figure's own, which alone do not make it. A figure without families
    of its own takes all `but` these and what is modelled.
    """

    id: str
    stem: str
    title: str
    families: tuple[str, ...]
    needs: str
    build: Callable[[Sequence[Machine]], Figure]
    beside: tuple[str, ...] = ()
    but: frozenset[str] = frozenset()

    def of(self, machines: Iterable[Machine]) -> tuple[str, ...]:
        """The families that it is about on these machines."""
        if self.families:
            return self.families
        names = dict.fromkeys(row.case.family for machine in machines for row in machine.result.rows)
        return tuple(name for name in names if name not in self.but and not name.startswith(MODEL))


def why_absent(entry: Entry, machines: Sequence[Machine]) -> str:
    """One line: which rows a figure without data lacks, and why."""
    about = _listed(entry.families) if entry.families else "a family that no other figure shows"
    return f"figure {entry.id}: no {entry.needs} of {about}: {why_not(entry, machines)}"


def why_not(entry: Entry, machines: Sequence[Machine]) -> str:
    """Why a figure has no data: its rows are of other use, failed, were skipped or were not asked for."""
    rows = [row for machine in machines for row in machine.result.of(*entry.of(machines))]
    why = []
    if there := sum(row.ok for row in rows):
        why.append(
            "the 1 ok row there answers other questions"
            if there == 1
            else f"the {there} ok rows there answer other questions"
        )
    for status in ("failed", "skipped"):
        reason = naming.main_reason(row.reason for row in rows if row.status == status)
        why += [f"{status}, {reason}"] if reason else []
    if not rows:
        every = [machine.result.run for machine in machines]
        asked = dict.fromkeys(
            f"preset {run.preset}" + f", filter {run.filter}" * bool(run.filter) for run in every
        )
        why.append(f"not part of this run ({'; '.join(asked)})")
    return "; ".join(why)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
