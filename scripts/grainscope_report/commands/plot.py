"""`plot`: the figures of one or several result files; `report`: one offline HTML file about them."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from grainscope_report.commands import files
from grainscope_report.errors import EXIT_FOUND, EXIT_OK, ReportError
from grainscope_report.figures import candidates, csv_table, foreign, model
from grainscope_report.figures.model import Entry, Figure, TablePanel, why_absent
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.loading import is_foreign, load
from grainscope_report.machine import Machine, machines

FORMATS = ("svg", "png", "pdf")


def add_plot(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    listed = "\n".join(f"  {entry.id}  {entry.title}" for entry in FIGURES)
    parser = commands.add_parser(
        "plot",
        help="draw the figures, each with its CSV",
        description="Draws the figures of one result file, or of several laid over each other, and writes "
        "each as a picture and as CSV, tables as Markdown, too.\n\n"
        f"Figures:\n{listed}\n  {candidates.ID}  (by `evaluate`) {candidates.TITLE}",
        epilog="Of Google Benchmark's own JSON the rates are drawn (figure g).\n"
        "A figure that the files have no data for is not drawn; a line says which rows it lacks and "
        "why.\n"
        "Exit status: 0 drawn, 1 there was nothing to draw, 2 a file cannot be read.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files.add_files(parser)
    files.add_output(parser, "figures", "DIR")
    parser.add_argument(
        "--figures", type=_figures, default=FIGURES, metavar="1,2,…", help="only these (default: all)"
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
    shown = machines(files.read(loaded))
    drawn = 0
    for entry in arguments.figures:
        written = draw(entry, shown, arguments.output, arguments.format)
        print(f"figure {entry.id}: {', '.join(written)}" if written else why_absent(entry, shown))
        drawn += bool(written)
    return EXIT_OK if drawn else EXIT_FOUND


def _foreign(loaded: Sequence[tuple[Path, dict]], arguments: argparse.Namespace) -> int:
    """Draws the rates of Google Benchmark's own files."""
    made = foreign.build(loaded)
    if written := save(made, arguments.output, arguments.format):
        print(f"figure {foreign.ID}: {', '.join(written)}")
        return EXIT_OK
    print(f"figure {foreign.ID}: no benchmark there has real_time and bytes_per_second")
    return EXIT_FOUND


def draw(entry: Entry, shown: Sequence[Machine], folder: Path, formats: Sequence[str]) -> list[str]:
    """Writes a figure of these machines, its CSV and its tables; none where they have no data for it."""
    return save(figure(entry, shown), folder, formats)


def save(made: Figure, folder: Path, formats: Sequence[str]) -> list[str]:
    """Writes a figure, its CSV and its tables; none where it has no data."""
    if not made.rows:
        return []
    contents: dict[str, str | bytes] = {**_pictures(made, formats)}
    contents["csv"] = csv_table.write(made)
    if tables := [panel for panel in made.panels if isinstance(panel, TablePanel)]:
        contents["md"] = "\n".join(map(model.table_markdown, tables))
    paths = {folder / f"{made.stem}.{kind}": content for kind, content in contents.items()}
    for path, content in paths.items():
        files.write(path, content)
    return [str(path) for path in paths]


def _pictures(made: Figure, kinds: Sequence[str]) -> dict[str, bytes]:
    try:
        from grainscope_report.drawing import render
    except ModuleNotFoundError as error:
        raise ReportError(
            f"plotting needs matplotlib, and Python finds no module {error.name}: "
            "python3 -m pip install matplotlib"
        ) from None
    page = render.draw(made)
    return {kind: render.save(page, kind) for kind in kinds}


def _figures(text: str) -> tuple[Entry, ...]:
    known = {entry.id: entry for entry in FIGURES}
    asked = [part.strip() for part in text.split(",") if part.strip()]
    if candidates.ID in asked:
        raise argparse.ArgumentTypeError(
            f"figure {candidates.ID} is of a verdict: `evaluate WORKLOAD --format png` draws it"
        )
    if wrong := [part for part in asked if part not in known]:
        raise argparse.ArgumentTypeError(
            f"there is no figure {', '.join(wrong)}; there are {', '.join(known)}"
        )
    return tuple(known[part] for part in dict.fromkeys(asked)) or FIGURES


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
        epilog="Exit status: 0 written, 2 a file cannot be read or written.",
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
    print(f"{arguments.output}: {rows} rows, {size / 1e6:.1f} MB")
    return EXIT_OK
