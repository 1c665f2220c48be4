"""Files that most tests read: whole synthetic machines, written once."""

from pathlib import Path

import pytest

import synthetic_machines
from grainscope_report import reader
from grainscope_report.machine import Machine, machines


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A result file for each synthetic machine, by name."""
    root = tmp_path_factory.mktemp("results")
    made = {
        "h100": synthetic_machines.h100(),
        "two_nodes": synthetic_machines.two_nodes(),
        "cpu_only": synthetic_machines.cpu_only(),
    }
    return {name: file.write(root / name / "result.json") for name, file in made.items()}


@pytest.fixture(scope="session")
def show(files: dict[str, Path]):
    """Gives the named machines as they are shown together."""
    results = {name: reader.read(path) for name, path in files.items()}

    def named(*names: str) -> list[Machine]:
        return machines([results[name] for name in names])

    return named
