"""What is worked out of a run, each part once and only where it is asked for.

So are the modules that do it: to read all of them takes a fifth of the time of a screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grainscope_report.digest import Group, Reason
    from grainscope_report.fits.everything import Fits
    from grainscope_report.fits.shape import Finding
    from grainscope_report.groups.lean import Gain
    from grainscope_report.groups.transfer import Choice
    from grainscope_report.groups.traversal_answers import Answer, Moved
    from grainscope_report.machine import Machine
    from grainscope_report.result import Result


@dataclass(frozen=True)
class Analysis:
    """A run in its parts; paths are fitted at `every` site or at the first of each."""

    machine: Machine
    every: bool = False

    @property
    def result(self) -> Result:
        """What the file says."""
        return self.machine.result

    @cached_property
    def groups(self) -> list[Group]:
        """Rows of a family that share their named axes."""
        from grainscope_report import digest

        return digest.groups(self.result)

    @cached_property
    def traversals(self) -> list[Answer]:
        """The best access to each graph."""
        from grainscope_report.groups import traversal_answers

        return traversal_answers.answers(self.machine)

    @cached_property
    def pressed(self) -> list[Moved]:
        """What managed memory would move on smaller cards."""
        from grainscope_report.groups import traversal_answers

        return traversal_answers.moved(self.machine)

    @cached_property
    def gains(self) -> list[Gain]:
        """What algorithms that move fewer bytes buy."""
        from grainscope_report.groups import lean

        return lean.gains(self.machine)

    @cached_property
    def networks(self) -> dict[str, list[dict[str, Any]]]:
        """What graph neural networks' rows come to, by question."""
        from grainscope_report.groups import gnn_answers

        return gnn_answers.of(self.machine)

    @cached_property
    def fits(self) -> Fits:
        """Lines, walls, crossovers, and what fills the link."""
        from grainscope_report.fits import everything

        return everything.of(self.machine, self.choices, self.every)

    @cached_property
    def choices(self) -> list[Choice]:
        """Which way of moving bytes is first at which size."""
        from grainscope_report.groups import transfer

        return transfer.choices(self.machine)

    @cached_property
    def shape(self) -> list[Finding]:
        """What is odd about curves."""
        from grainscope_report.fits import shape

        return shape.findings(self.result)

    @cached_property
    def reasons(self) -> list[Reason]:
        """Why rows have no numbers."""
        from grainscope_report import digest

        return digest.reasons(self.result)
