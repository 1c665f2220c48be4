"""What another tool measured: each of its numbers by benchmark, place and size, in one form for all tools."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from grainscope_report.errors import ReportError
from grainscope_report.uncertainty import Uncertainty
from grainscope_report.units import format_bytes

RATE, TIME = "GB/s", "s"


class FormatError(ReportError):
    """A file that is of a tool, but not as any known version of it writes."""


@dataclass(frozen=True)
class Measured:
    """One number of theirs, in decimal GB/s or seconds; None where there is none, and then why.

    `benchmark` is its name in docs/coverage.md. `site` and `bytes` are where it was measured and of how many
    bytes, as a row of ours would say it, where the tool tells. `share` divides our rate where theirs is that
    of one GPU of several. `a` is what repetitions differ by.
    """

    benchmark: str
    quantity: str
    value: float | None
    site: Mapping[str, int] = field(default_factory=dict)
    ends: tuple[str, str] | None = None
    bytes: int | None = None
    axes: Mapping[str, str | float] = field(default_factory=dict)
    variant: str = ""
    share: float = 1
    runs: int = 1
    a: Uncertainty | None = None
    reason: str = ""

    @property
    def place(self) -> str:
        """`GPU 0 and 1, 64 MiB`, or what else tells it from others of its benchmark."""
        gpus = [f"{self.site[name]}" for name in ("gpu", "peer") if name in self.site]
        parts = [f"node {self.site['numa']}"] if "numa" in self.site else []
        parts += [f"GPU {' and '.join(gpus)}"] if gpus else []
        parts += [format_bytes(self.bytes)] if self.bytes else []
        return ", ".join([*parts, *([self.variant] if self.variant else [])])


@dataclass(frozen=True)
class Output:
    """What one file of another tool says; `gpus` are names and PCI addresses, `notes` what to know of it."""

    tool: str
    version: str
    rows: Sequence[Measured]
    host: str = ""
    gpus: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        """The tool with its version."""
        return f"{self.tool} {self.version}".rstrip()


def number(text: object) -> float | None:
    """A positive number, as a tool writes it; None for anything else."""
    try:
        value = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) and value > 0 else None


def changed(path: object, tool: str, where: str, found: str) -> NoReturn:
    """Refuses a file whose format is not known."""
    raise FormatError(
        f"{path} begins as {tool} writes it, but {where} {found}: its format is not one of those that are "
        f"read; give the whole output of {tool}, or one of a version that docs/coverage.md names"
    )


def cut_off(path: object, tool: str, missing: str) -> NoReturn:
    """Refuses a file that ends early."""
    raise FormatError(f"{path} is cut off: {missing}; copy it again, or run {tool} again to its end")
