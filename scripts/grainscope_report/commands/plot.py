"""`plot`: the figures of one or several result files; `report`: one offline HTML file about them."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from grainscope_report.commands import files
from grainscope_report.drawing import together
from grainscope_report.errors import EXIT_FOUND, EXIT_OK, ReportError
from grainscope_report.figures import csv_table, model, table
from grainscope_report.figures.model import Entry, Figure, TablePanel, why_absent
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.loading import is_foreign, load
from grainscope_report.machine import Machine, machines
from grainscope_report.units import plural

FORMATS = ("svg", "png", "pdf")
INCHES = {"mm": 1 / 25.4, "cm": 1 / 2.54, "in": 1.0, "pt": 1 / 72.27}
COLUMN, LEAST_COLUMN, MOST_COLUMN = 85 / 25.4, 2.5, 7.2
# A figure, and which of its panels; 0 is all of them.
Chosen = tuple[Entry, int]


def add_plot(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    listed = "\n".join(f"  {entry.id}  {entry.title}" for entry in FIGURES)
    parser = commands.add_parser(
        "plot",
        help="draw the figures, each with its CSV",
        description="Draws the figures of one result file, or of several laid over each other, and writes "
        "each as a picture and as CSV, tables as Markdown, too.\n\n"
        f"Figures:\n{listed}\n  {table.CANDIDATES_ID}  (by `evaluate`) {table.CANDIDATES_TITLE}",
        epilog="Of Google Benchmark's own JSON the rates are drawn (figure g).\n"
        "A figure that the files have no data for is not drawn; a line says which rows it lacks and "
        "why.\n"
        "Exit status: 0 drawn, 1 there was nothing to draw, 2 a file cannot be read, or Python finds no "
        "matplotlib.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files.add_files(parser)
    files.add_output(parser, "figures", "DIR")
    parser.add_argument(
        "--figures",
        type=_figures,
        default=tuple((entry, 0) for entry in FIGURES),
        metavar="1,2,…",
        help="only these (default: all); 5.2 is the second panel of figure 5",
    )
    parser.add_argument(
        "--column",
        type=_inches,
        nargs="?",
        const=COLUMN,
        metavar="WIDTH",
        help="for a paper's column: so wide (85mm if not given; or 3.5in, 240pt), the panels one below the "
        "other, without title, notes and footer, which are written beside as text",
    )
    parser.add_argument(
        "--format", type=formats, default=("svg", "png"), metavar="svg,png,pdf", help="default: svg,png"
    )
    return parser


def run_plot(arguments: argparse.Namespace) -> int:
    """Writes the figures and says what was written and what was not drawn."""
    loaded = [load(path, foreign=True) for path in arguments.files]
    own = [path for path, document in loaded if not is_foreign(document)]
    if not own:
        return _foreign(loaded, arguments)
    if len(own) < len(loaded):
        other = next(path for path, document in loaded if is_foreign(document))
        raise ReportError(
            f"{other} is Google Benchmark's own JSON and {own[0]} is GrainScope's: plot files of one kind"
        )
    shown = machines(files.read(files.renewed(loaded)))
    _renderer()
    drawn = False
    with together.drawing(lambda chosen: _drawn(*chosen, shown, arguments), arguments.figures) as told:
        for line, written in told:
            print(line, flush=True)
            drawn |= written
    return EXIT_OK if drawn else EXIT_FOUND


def _drawn(
    entry: Entry, panel: int, shown: Sequence[Machine], arguments: argparse.Namespace
) -> tuple[str, bool]:
    """Writes a figure; what was written, or why it was not drawn, and whether it was."""
    made = figure(entry, shown)
    if panel and made.rows:
        made = _panel(made, panel)
    written = save(made, arguments.output, arguments.format, arguments.column)
    absent = f"figure {entry.id} has no panel for a column" if made.rows else why_absent(entry, shown)
    left = _left_out(made, arguments.column) if written and arguments.column else ""
    return f"figure {entry.id}: {', '.join(written)}{left}" if written else absent, bool(written)


def _foreign(loaded: Sequence[tuple[Path, dict]], arguments: argparse.Namespace) -> int:
    """Draws the rates of Google Benchmark's own files."""
    made = table.build_foreign(loaded)
    if written := save(made, arguments.output, arguments.format, arguments.column):
        print(f"figure {table.FOREIGN_ID}: {', '.join(written)}")
        return EXIT_OK
    print(f"figure {table.FOREIGN_ID}: no benchmark there has real_time and bytes_per_second")
    return EXIT_FOUND


def _left_out(made: Figure, column: float) -> str:
    """How many panels are not in a column, whose files are written."""
    render = _renderer()
    left = len(made.panels) - len(render.of_column(made, column).panels)
    return f" ({left} of {len(made.panels)} panels have no room in a column)" if left else ""


def _panel(made: Figure, number: int) -> Figure:
    """The figure with one of its panels alone."""
    if number > len(made.panels):
        raise ReportError(f"figure {made.id} has {len(made.panels)} panels: there is no {made.id}.{number}")
    return replace(made, rows=((made.panels[number - 1],),), stem=f"{made.stem}_panel_{number}")


def draw(entry: Entry, shown: Sequence[Machine], folder: Path, formats: Sequence[str]) -> list[str]:
    """Writes a figure of these machines, its CSV and its tables; none where they have no data for it."""
    return save(figure(entry, shown), folder, formats)


def save(made: Figure, folder: Path, formats: Sequence[str], column: float | None = None) -> list[str]:
    """Writes a figure, its CSV and its tables; none where it has no data.

    Of a `column`, so many inches wide, the panels alone, and what else there is to say as text.
    """
    if not made.rows:
        return []
    contents: dict[str, str | bytes] = _pictures(made, formats, column)
    if not contents:
        return []
    contents["csv"] = csv_table.write(made)
    if tables := [panel for panel in made.panels if isinstance(panel, TablePanel)]:
        contents["md"] = "\n".join(map(model.table_markdown, tables))
    stem = f"{made.stem}_column" if column else made.stem
    paths = {folder / f"{stem}.{kind}": content for kind, content in contents.items()}
    for path, content in paths.items():
        files.write(path, content)
    return [str(path) for path in paths]


def _pictures(made: Figure, kinds: Sequence[str], column: float | None) -> dict[str, str | bytes]:
    """The pictures, with the caption of those for a column; none where a figure has no panel for one."""
    render = _renderer()
    if not column:
        page = render.draw(made)
        return {kind: render.save(page, kind) for kind in kinds}
    narrow = render.of_column(made, column)
    if not narrow.rows:
        return {}
    page = render.draw(narrow, framed=False, width=column)
    return {kind: render.save(page, kind) for kind in kinds} | {"txt": render.caption(narrow)}


def _renderer() -> ModuleType:
    """What draws; ReportError where there is no matplotlib."""
    try:
        from grainscope_report.drawing import render
    except ModuleNotFoundError as error:
        raise ReportError(
            f"plotting needs matplotlib, and Python finds no module {error.name}: "
            "python3 -m pip install matplotlib"
        ) from None
    return render


def _figures(text: str) -> tuple[Chosen, ...]:
    known = {entry.id: entry for entry in FIGURES}
    asked = [part.strip() for part in text.split(",") if part.strip()]
    if table.CANDIDATES_ID in asked:
        raise argparse.ArgumentTypeError(
            f"figure {table.CANDIDATES_ID} is of a verdict: `evaluate WORKLOAD --format png` draws it"
        )
    found = {part: re.fullmatch(r"(\w+)(?:\.([1-9]\d*))?", part) for part in asked}
    if wrong := [part for part, parts in found.items() if not parts or parts[1] not in known]:
        raise argparse.ArgumentTypeError(
            f"there is no figure {', '.join(wrong)}; there are {', '.join(known)}"
        )
    chosen = tuple((known[parts[1]], int(parts[2] or 0)) for parts in found.values() if parts)
    return chosen or tuple((entry, 0) for entry in FIGURES)


def _inches(text: str) -> float:
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) ?(mm|cm|in|pt)", text.strip())
    if not parts or not LEAST_COLUMN <= (inches := float(parts[1]) * INCHES[parts[2]]) <= MOST_COLUMN:
        least, most = f"{LEAST_COLUMN:g}in", f"{MOST_COLUMN:g}in"
        raise argparse.ArgumentTypeError(f"{text!r} is no width from {least} to {most}, as 85mm or 240pt")
    return inches


def formats(text: str) -> tuple[str, ...]:
    asked = [part.strip() for part in text.split(",") if part.strip()]
    if wrong := [part for part in asked if part not in FORMATS]:
        raise argparse.ArgumentTypeError(f"no format {', '.join(wrong)}; there are {', '.join(FORMATS)}")
    return tuple(dict.fromkeys(asked))


def add_report(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "report",
        help="write one HTML file with everything",
        description="Writes one HTML file that needs no network: the machine with its warnings, the answers, "
        "every figure with its table, every row to sort and filter, and what was not measured and why. Of "
        "several files the figures lie over each other.",
        epilog="Exit status: 0 written, 2 a file cannot be read or written, or Python finds no jinja2 or "
        "matplotlib.",
    )
    files.add_files(parser)
    files.add_output(parser, "report.html", "FILE")
    return parser


def run_report(arguments: argparse.Namespace) -> int:
    """Writes the page, whole or not at all."""
    from grainscope_report.page import page

    files.keep(arguments.files, [arguments.output])
    shown = machines(files.results(arguments.files))
    text = page.write(shown)
    size = files.write(arguments.output, text)
    rows = sum(len(machine.result.rows) for machine in shown)
    amount = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} KB"
    print(f"{arguments.output}: {plural(rows, 'row')}, {amount}")
    return EXIT_OK
