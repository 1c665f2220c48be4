"""The numbers that the papers' texts state, from results/papers/*.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from grainscope_report import resources

COMM_SCOPE = "comm_scope_2019"
EMOGI = "emogi_2020"
DISSERTATION = "dissertation_2022"


@dataclass(frozen=True)
class Number:
    """One number, or shares by name, as a paper states it; `text` is the sentence, `source` its place."""

    id: str
    value: float | Mapping[str, float] | None
    unit: str
    bound: str
    source: str
    text: str
    system: str = ""
    figure: str = ""
    note: str = ""
    case: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Paper:
    """A paper's numbers by id, and its tables by name, each with `source` and `rows`."""

    name: str
    numbers: Mapping[str, Number]
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __getitem__(self, number: str) -> Number:
        return self.numbers[number]

    def cite(self, number: str) -> str:
        """The paper and where in it, e.g. `EMOGI 2020, section 3.3, figure 4b`."""
        return f"{self.name}, {self.numbers[number].source}"


@cache
def paper(name: str) -> Paper:
    """Reads a paper's numbers, e.g. `paper(EMOGI)["memcpy_peak"].value` in GB/s."""
    document = json.loads(resources.paper_path(name).read_text(encoding="utf-8"))
    numbers = {number["id"]: Number(**number) for number in document["numbers"]}
    return Paper(document["name"], numbers, document.get("tables", {}))
