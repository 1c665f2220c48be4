"""The figures of the reference results: golden CSVs, and the pictures and Markdown tables of docs/figures.

Numbers may differ in their last digits where another Python or numpy computed them; texts may not.
GRAINSCOPE_NEW_GOLDEN=1 writes them anew, but for the pictures.
"""

import csv
import os
from functools import cache
from pathlib import Path

import pytest

import documents
import golden_text
from grainscope_report import reader
from grainscope_report.buying import verdict, workload
from grainscope_report.figures import csv_table, model, table
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.groups import topology
from grainscope_report.machine import machines
from grainscope_report.writing import Terminal

ROOT = Path(__file__).resolve().parents[2]
PICTURES, TABLES = ROOT / "docs" / "figures", ROOT / "tests" / "golden" / "figures"
NEW = bool(os.environ.get("GRAINSCOPE_NEW_GOLDEN"))
# The folders and result files of docs/figures/README.md.
SOURCES = {
    ".": "h100-quick-now.json.gz",
    "h200x2": "acceptance/two-h200-1.json.gz",
    "full": " ".join(documents.FULL),
    "scale24": "h100-kron24.json.gz h100-urand24.json.gz",
    "no-gpu": "acceptance/no-gpu-1.json.gz",
    "two-h100": "two-h100-processes.json.gz",
}
FILES = {
    folder: " ".join(f"results/reference/{name}" for name in names.split())
    for folder, names in SOURCES.items()
}
STEMS = {entry.stem: entry for entry in FIGURES}
KEPT = [
    (folder, path.stem)
    for folder in SOURCES
    for path in sorted((TABLES / folder).glob("*.csv"))
    if path.stem in STEMS
]
VERDICT = "gnn-training.toml"
HOW = "if the change is meant, draw the figures anew: docs/figures/README.md says how"


@cache
def shown(folder: str) -> tuple:
    """The machines of a folder's result files; of the halves of `full` one."""
    if folder == "full":
        return (documents.machine_of(documents.FULL),)
    return tuple(machines([reader.read(ROOT / path) for path in FILES[folder].split()]))


def check_same(made: str, kept: Path, near: float = 1e-6) -> None:
    """Fails at the first cell that is not the golden file's."""
    if NEW:
        kept.write_text(made)
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
def test_a_figure_of_the_reference_results_is_the_golden_one(folder, stem):
    made = figure(STEMS[stem], shown(folder))
    check_same(csv_table.write(made), TABLES / folder / f"{stem}.csv")
    tables = [panel for panel in made.panels if isinstance(panel, model.TablePanel)]
    kept = PICTURES / folder / f"{stem}.md"
    if NEW and tables:
        kept.write_text("\n".join(map(model.table_markdown, tables)))
    assert "\n".join(map(model.table_markdown, tables)) == (kept.read_text() if tables else ""), HOW


@pytest.mark.parametrize("folder", SOURCES)
def test_every_kept_table_has_its_picture_and_the_command_that_made_it(folder):
    kept, drawn = (TABLES / folder).glob("*.csv"), (PICTURES / folder).glob("*.png")
    assert {path.stem for path in kept} == {path.stem for path in drawn}
    command = "docs --draw docs/figures/full" if folder == "full" else f"plot {FILES[folder]} -o docs/figures"
    assert command in (PICTURES / "README.md").read_text()


def test_the_tree_of_two_gpus_says_what_figure_d_draws():
    [machine] = shown("h200x2")
    golden_text.hold("tree_two-h200.txt", "\n".join(topology.tree(machine, Terminal(100))) + "\n")


def test_figure_15_of_the_example_workload_is_the_one_in_the_docs(monkeypatch):
    monkeypatch.chdir(ROOT)
    document, files = verdict.judge(workload.load(Path("docs/examples") / VERDICT), 10_000, 1)
    made = csv_table.write(table.build_candidates(document, files))
    # The resamples, and with them the ends of intervals, may change with numpy's random numbers.
    check_same(made, TABLES / f"{table.CANDIDATES_STEM}.csv", near=0.02)
