"""A result file as the rest of the package uses it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grainscope_report.cases import Ends
from grainscope_report.model import Context, Link, Row
from grainscope_report.typed import Problem


@dataclass(frozen=True)
class Result:
    """One result file as it is used; `contradictions` are those that a look at each row shows."""

    path: Path
    context: Context = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False)
    contradictions: Sequence[Problem] = ()

    host = property(lambda self: self.context.host_name)
    date = property(lambda self: self.context.date or self.run.started)
    version = property(lambda self: self.context.grainscope.version)
    commit = property(lambda self: self.context.grainscope.commit)
    cuda = property(lambda self: self.context.grainscope.cuda)
    run = property(lambda self: self.context.run)
    environment = property(lambda self: self.context.environment)
    links = property(lambda self: self.context.links)

    @cached_property
    def _by_family(self) -> Mapping[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.case.family, []).append(row)
        return found

    @cached_property
    def remote(self) -> set[tuple[int | None, int | None]]:
        """GPUs and nodes of which rows say that they are far apart."""
        return {
            (row.case.site.get("gpu"), row.case.site.get("numa"))
            for row in self.rows
            if row.case.locality == "remote"
        }

    def of(self, *families: str) -> list[Row]:
        """The rows of these families, in file order, whatever their status."""
        if len(families) == 1:
            return list(self._by_family.get(families[0], ()))
        there = self._by_family.keys() & set(families)
        return [row for row in self.rows if row.case.family in there] if there else []

    def link(self, between: Ends | None) -> Link | None:
        """The measured link between these ends in this direction."""
        return next((link for link in self.links if link.ends == between), None)
