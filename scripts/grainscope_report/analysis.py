"""What is worked out of a run, each part once and only where it is asked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grainscope_report import digest
from grainscope_report.fits import everything
from grainscope_report.groups.gnn import answers as networks
from grainscope_report.groups.transfer import methods
from grainscope_report.groups.traversal import answers, lean_answers, pressure
from grainscope_report.machine import Machine
from grainscope_report.result import Result
from grainscope_report.shape import findings as shape


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
    def groups(self) -> list[digest.Group]:
        """Rows of a family that share their named axes."""
        return digest.groups(self.result)

    @cached_property
    def traversals(self) -> list[answers.Answer]:
        """The best access to each graph."""
        return answers.answers(self.machine)

    @cached_property
    def pressed(self) -> list[pressure.Moved]:
        """What managed memory would move on smaller cards."""
        return pressure.moved(self.machine)

    @cached_property
    def gains(self) -> list[lean_answers.Gain]:
        """What algorithms that move fewer bytes buy."""
        return lean_answers.gains(self.machine)

    @cached_property
    def networks(self) -> dict[str, list[dict[str, Any]]]:
        """What graph neural networks' rows come to, by question."""
        return networks.of(self.machine)

    @cached_property
    def fits(self) -> everything.Fits:
        """Lines, walls, crossovers, and what fills the link."""
        return everything.of(self.machine, self.choices, self.every)

    @cached_property
    def choices(self) -> list[methods.Choice]:
        """Which way of moving bytes is first at which size."""
        return methods.choices(self.machine)

    @cached_property
    def shape(self) -> list[shape.Finding]:
        """What is odd about curves."""
        return shape.findings(self.result)

    @cached_property
    def reasons(self) -> list[digest.Reason]:
        """Why rows have no numbers."""
        return digest.reasons(self.result)
