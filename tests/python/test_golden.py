"""The tables in docs/figures are what the reference results give: each figure's CSV is its golden file.

Numbers may differ in their last digits where another Python or numpy computed them; texts may not.
"""

import csv
from functools import cache
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.buying import verdict, workload
from grainscope_report.figures import candidates, csv_table
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.machine import machines

ROOT = Path(__file__).resolve().parents[2]
FIGURE_FOLDER = ROOT / "docs" / "figures"
# The folders and result files of docs/figures/README.md.
SOURCES = {
    ".": "h100-quick.json",
    "h200x2": "h200x2-quick.json",
    "full": "h100-full.json.gz",
    "scale24": "h100-scale24.json",
    "lean24": "h100-lean24-kron.json.gz h100-lean24-urand.json.gz",
    "lean24-emogi": "h100-lean24-emogi-kron.json.gz h100-lean24-emogi-urand.json.gz",
    "no-gpu": "no-gpu-quick.json",
}
FILES = {
    folder: " ".join(f"results/reference/{name}" for name in names.split())
    for folder, names in SOURCES.items()
}
STEMS = {entry.stem: entry for entry in FIGURES}
KEPT = [
    (folder, path.stem)
    for folder in SOURCES
    for path in sorted((FIGURE_FOLDER / folder).glob("*.csv"))
    if path.stem in STEMS
]
VERDICT = "gnn-training.toml"
HOW = "if the change is meant, draw docs/figures anew: docs/figures/README.md has the command"


@cache
def shown(folder: str) -> tuple:
    """The machines of a folder's result files."""
    return tuple(machines([reader.read(ROOT / path) for path in FILES[folder].split()]))


def check_same(made: str, kept: Path, near: float = 1e-6) -> None:
    """Fails at the first cell that is not the golden file's."""
    ours, theirs = list(csv.reader(made.splitlines())), list(csv.reader(kept.read_text().splitlines()))
    for line, (one, two) in enumerate(zip(ours, theirs, strict=False), 1):
        for name, cell, golden in zip(csv_table.COLUMNS, one, two, strict=True):
            if cell != golden:
                assert is_number(cell), f"{kept.name}:{line}: {name} is {cell!r}, was {golden!r}; {HOW}"
                assert float(cell) == pytest.approx(float(golden), rel=near, abs=1e-12), f"line {line}: {HOW}"
    assert len(ours) == len(theirs), HOW


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("folder", "stem"), KEPT)
def test_a_figure_of_the_reference_results_is_the_one_in_the_docs(folder, stem):
    made = csv_table.write(figure(STEMS[stem], shown(folder)))
    check_same(made, FIGURE_FOLDER / folder / f"{stem}.csv")


@pytest.mark.parametrize("folder", SOURCES)
def test_every_kept_table_has_its_picture_and_the_command_that_made_it(folder):
    there = FIGURE_FOLDER / folder
    assert {path.stem for path in there.glob("*.csv")} == {path.stem for path in there.glob("*.png")}
    said = (FIGURE_FOLDER / "README.md").read_text()
    assert f"plot {FILES[folder]} -o docs/figures" in said


def test_figure_15_of_the_example_workload_is_the_one_in_the_docs(monkeypatch):
    monkeypatch.chdir(ROOT)
    document, files = verdict.judge(workload.load(Path("docs/workloads") / VERDICT), 10_000, 1)
    made = csv_table.write(candidates.build(document, files))
    # The resamples, and with them the ends of intervals, may change with numpy's random numbers.
    check_same(made, FIGURE_FOLDER / f"{candidates.STEM}.csv", near=0.02)
