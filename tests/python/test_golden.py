"""The figures of the reference results: golden CSVs, and the pictures and Markdown tables of docs/figures.

Numbers may differ in their last digits where another Python or numpy computed them; texts may not.
GRAINSCOPE_NEW_GOLDEN=1 writes them anew, but for the pictures.
"""

import csv
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import documents.figures
import stored
from grainscope_report.buying import verdict, workload
from grainscope_report.cli import main
from grainscope_report.commands import files
from grainscope_report.figures import csv_table, model, table
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.groups import topology
from grainscope_report.machine import machines
from grainscope_report.writing import Terminal

ROOT = Path(__file__).resolve().parents[2]
PICTURES, TABLES = ROOT / "docs" / "figures", ROOT / "tests" / "golden" / "figures"
NEW = bool(os.environ.get("GRAINSCOPE_NEW_GOLDEN"))
# Written by one process: the figures of a run are in one file.
pytestmark = [pytest.mark.xdist_group("figures")] if NEW else []
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
NUMBERS = {entry.stem.split("_")[1]: entry for entry in FIGURES}


def kept(folder: str) -> Path:
    """The tables of a run's figures, one behind the other."""
    return TABLES / f"{'quick' if folder == '.' else folder}.csv"


def drawn(folder: str) -> list[str]:
    """The numbers of the figures of which there are pictures."""
    return [path.stem.split("_")[1] for path in sorted((PICTURES / folder).glob("figure_*.png"))]


def by_figure(folder: str) -> dict[str, list[list[str]]]:
    """The rows of each figure of a run."""
    found: dict[str, list[list[str]]] = {}
    with kept(folder).open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(csv_table.COLUMNS)
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return found


KEPT = [
    (folder, number)
    for folder in SOURCES
    for number in (drawn(folder) if NEW else by_figure(folder))
    if number in NUMBERS
]
CANDIDATES = table.CANDIDATES_STEM.split("_")[1]
VERDICT = "gnn-training.toml"
HOW = "if the change is meant, draw the figures anew: docs/figures/README.md says how"


@cache
def shown(folder: str) -> tuple:
    """The machines of a folder's result files; of the halves of `full` one."""
    if folder == "full":
        return (documents.figures.of_full(),)
    return tuple(machines(files.right([ROOT / path for path in FILES[folder].split()])))


def check_same(made: list[list[str]], golden: list[list[str]], near: float = 1e-6) -> None:
    """Fails at the first cell that is not the golden one."""
    for line, (one, two) in enumerate(zip(made, golden, strict=False), 1):
        for name, cell, was in zip(csv_table.COLUMNS, one, two, strict=True):
            if cell != was:
                assert is_number(cell), f"row {line}: {name} is {cell!r}, was {was!r}; {HOW}"
                assert float(cell) == pytest.approx(float(was), rel=near, abs=1e-12), f"row {line}: {HOW}"
    assert len(made) == len(golden), HOW


def rows_of(figure: model.Figure) -> list[list[str]]:
    return list(csv.reader(csv_table.write(figure).splitlines()))[1:]


def write(path: Path, rows: Iterable[list[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([csv_table.COLUMNS, *rows])


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("folder", "number"), KEPT)
def test_a_figure_of_the_reference_results_is_the_golden_one(folder, number):
    made = figure(NUMBERS[number], shown(folder))
    if NEW:
        write(
            kept(folder),
            [row for rows in (by_figure(folder) | {number: rows_of(made)}).values() for row in rows],
        )
    check_same(rows_of(made), by_figure(folder).get(number, []))
    tables = [panel for panel in made.panels if isinstance(panel, model.TablePanel)]
    markdown = PICTURES / folder / f"{NUMBERS[number].stem}.md"
    if NEW and tables:
        markdown.write_text("\n".join(map(model.table_markdown, tables)))
    assert "\n".join(map(model.table_markdown, tables)) == (markdown.read_text() if tables else ""), HOW


@pytest.mark.parametrize("folder", SOURCES)
def test_every_kept_table_has_its_picture_and_the_command_that_made_it(folder):
    of_example = {CANDIDATES} if folder == "." else set()  # of the example workload, with a table of its own
    assert set(by_figure(folder)) | of_example == set(drawn(folder))
    command = "docs --draw docs/figures/full" if folder == "full" else f"plot {FILES[folder]} -o docs/figures"
    assert command in (PICTURES / "README.md").read_text()


def test_plot_has_the_intervals_of_the_table_at_hand(tmp_path):
    """The file's own knew no two H200."""
    run = str(ROOT / FILES["h200x2"])
    assert main(["plot", run, "--figures", "m", "--format", "svg", "-o", str(tmp_path)]) == 0
    [written] = tmp_path.glob("*.csv")
    _, *made = csv.reader(written.read_text().splitlines())
    check_same(made, by_figure("h200x2")["m"])


def test_the_tree_of_two_gpus_says_what_figure_d_draws():
    [machine] = shown("h200x2")
    stored.hold("tree_two-h200.txt", "\n".join(topology.tree(machine, Terminal(100))) + "\n")


def test_figure_15_of_the_example_workload_is_the_one_in_the_docs(monkeypatch):
    monkeypatch.chdir(ROOT)
    document, files = verdict.judge(workload.load(Path("docs/examples") / VERDICT), 10_000, 1)
    made = rows_of(table.build_candidates(document, files))
    kept = TABLES / "candidates.csv"
    if NEW:
        write(kept, made)
    # The resamples, and with them the ends of intervals, may change with numpy's random numbers.
    check_same(made, list(csv.reader(kept.read_text().splitlines()))[1:], near=0.02)
