"""`grainscope-report export`: every row as a table for other programs, or a run as a bundle to hand on."""

import argparse
import sys
from pathlib import Path

from grainscope_report import bundle, exporting, loading
from grainscope_report.commands import asked, files
from grainscope_report.errors import EXIT_OK, ReportError

PACKED = ".tar.gz"


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "export",
        help="write every row as CSV or Markdown, or a run as a bundle to hand on",
        description="csv and md write every row. CSV has a column for each axis, site and counter that "
        "occurs, in the file's units: seconds, bytes, decimal GB/s. Markdown has a table for each family, to "
        "read. bundle writes the raw file of one run with a manifest and check sums: packed where the name "
        "ends in .tar.gz, else a folder. Every command reads a bundle and refuses one that was altered.",
    )
    parser.add_argument("kind", choices=("csv", "md", "bundle"), help="the format")
    asked.add_files(parser)
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="where to write (default: print)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes or prints the table."""
    if arguments.out:
        files.keep(arguments.files, [arguments.out])
    if arguments.kind == "bundle":
        return _bundle(arguments)
    results = files.results(arguments.files)
    text = exporting.as_csv(results) if arguments.kind == "csv" else exporting.as_markdown(results)
    if arguments.out:
        files.write(arguments.out, text)
        rows = sum(len(result.rows) for result in results)
        print(f"{arguments.out}: {rows} rows")
    else:
        sys.stdout.write(text)
    return EXIT_OK


def _bundle(arguments: argparse.Namespace) -> int:
    """Writes the one file as a bundle."""
    if len(arguments.files) > 1 or not arguments.out:
        raise ReportError("a bundle is of one run: give one FILE, and -o OUT.tar.gz or -o DIR")
    found, document = loading.load(arguments.files[0])
    files.read([(found, document)])
    made = bundle.files_of(loading.raw(found), document, found.name)
    out: Path = arguments.out
    if out.name.endswith(PACKED):
        files.write(out, bundle.packed(made, out.name.removesuffix(PACKED) or "bundle"))
    else:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ReportError(f"{out} is there already: give a new folder, or a name that ends in {PACKED}")
        for name, content in made.items():
            files.write(out / name, content)
    print(f"{out}: {found} with its check sums")
    return EXIT_OK
