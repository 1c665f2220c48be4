"""What is outside the package: the rules of results, the version, the numbers that papers state, and what
the program says.

In a checkout they are read where they are kept (`docs/`, `results/papers/`, `VERSION`). In an
installed package pyproject.toml has put the same files in the folders `_docs` and `_papers`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from grainscope_report.errors import ReportError

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parents[1]
DISTRIBUTION = "grainscope-report"
COMM_SCOPE = "comm_scope_2019"
EMOGI = "emogi_2020"
DISSERTATION = "dissertation_2022"
GRAPHPEG = "graphpeg_2021"


def in_checkout() -> bool:
    """True where the package runs from a checkout (an editable install included)."""
    return PACKAGE.parent.name == "scripts" and (CHECKOUT / "VERSION").is_file()


def rules_path() -> Path:
    """What numbers of a result file must agree with each other."""
    return _existing(_docs(), "result-rules.txt")


def coverage_path() -> Path:
    """Which case answers which benchmark of another tool."""
    return _existing(_docs(), "coverage.md")


def _docs() -> Path:
    return CHECKOUT / "docs" if in_checkout() else PACKAGE / "_docs"


def paper_path(name: str) -> Path:
    """The file with the numbers that the paper `name` states, e.g. `emogi_2020`."""
    folder = CHECKOUT / "results" / "papers" if in_checkout() else PACKAGE / "_papers"
    return _existing(folder, f"{name}.json")


def asset(name: str) -> Path:
    """A file that pages are made with, such as their style sheet; it lies beside the code that uses it."""
    return _existing(PACKAGE / "page", name)


def version() -> str:
    """The version of this package, which is the suite's version."""
    if in_checkout():
        return (CHECKOUT / "VERSION").read_text(encoding="utf-8").strip()
    # Not needed in a checkout, and slow to read.
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "unknown"


def told(program: Path, *words: str) -> str:
    """What the program prints; ReportError where it is none, does not run or fails."""
    import subprocess  # reading it takes long, and most of what needs this module asks no program

    if not program.is_file():
        what = "is a folder" if program.is_dir() else "is not there"
        raise ReportError(f"{program} {what}: build it, or name another")
    # With folders before it, since one without them is looked for on the PATH.
    command = [program.absolute(), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout
    except OSError as error:
        raise ReportError(f"{program} does not run ({error.strerror}): build it, or name another") from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip().splitlines() or [f"status {error.returncode}"])[-1]
        raise ReportError(
            f"{program} does not answer {' '.join(words)}: {said}; build it again, or name another"
        ) from None


def told_objects(program: Path, *words: str) -> list[dict[str, Any]]:
    """The objects that it prints as JSON, one or a list of them."""
    try:
        found = json.loads(told(program, *words))
    except ValueError:
        found = None
    objects = found if isinstance(found, list) and found else [found]
    if not all(isinstance(one, dict) for one in objects):
        raise ReportError(f"{program} prints no JSON by {' '.join(words)}: name the program grainscope")
    return objects


def _existing(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise ReportError(
            f"{path} is missing: this installation of {DISTRIBUTION} is broken; install it again"
        )
    return path


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
    document = json.loads(paper_path(name).read_text(encoding="utf-8"))
    numbers = {number["id"]: Number(**number) for number in document["numbers"]}
    return Paper(document["name"], numbers, document.get("tables", {}))
