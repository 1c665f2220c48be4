"""`grainscope-report import`: results of nvbandwidth, nccl-tests or Comm|Scope beside those of a run."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from grainscope_report import repeated
from grainscope_report.commands import asked, files
from grainscope_report.comparison import as_text
from grainscope_report.errors import EXIT_NOT_COMPARABLE, EXIT_OK
from grainscope_report.others import beside, reading, shown
from grainscope_report.others.reading import TOOLS
from grainscope_report.others.shown import Import
from grainscope_report.terminal import terminal


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "import",
        help="show results of nvbandwidth, nccl-tests or Comm|Scope beside ours",
        description="Reads what nvbandwidth (text or --json), nccl-tests (text or -J) or Comm|Scope (Google "
        "Benchmark's JSON) wrote, and shows which case of GrainScope answers each of its numbers. With a run "
        "it shows our number beside theirs, their ratio, and what differs between the two measurements.",
        epilog="docs/coverage.md has the whole table of counterparts. Exit status: 0 shown, 2 usage or a "
        "file that cannot be read, 3 no number of theirs has one of the run beside it.",
    )
    asked.add_files(parser, "the output of another tool, also packed by gzip")
    parser.add_argument("--with", dest="run_file", type=Path, metavar="RUN", help=asked.A_FILE)
    parser.add_argument(
        "--as", dest="tool", choices=TOOLS, help="which tool it must be of (default: as the file says)"
    )
    asked.add_type_b(parser)
    asked.add_formats(parser)
    parser.add_argument("--all", action="store_true", help="every number, and all of what differs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Reads everything, then writes and prints."""
    given = [*arguments.files, *([arguments.run_file] if arguments.run_file else [])]
    outputs = [reading.read(path, arguments.tool) for path in arguments.files]
    files.keep(given, arguments.out)
    result = (
        files.results([arguments.run_file], repeated.tables(arguments.type_b))[0]
        if arguments.run_file
        else None
    )
    imports = [
        Import(path, output, beside.pairs(output, result), result)
        for path, output in zip(arguments.files, outputs, strict=True)
    ]
    for path in arguments.out:
        files.write(path, _content(imports, path.suffix[1:], arguments.all))
    print(_content(imports, arguments.format, arguments.all), end="")
    nothing = result is not None and not any(pair.ours for one in imports for pair in one.pairs)
    return EXIT_NOT_COMPARABLE if nothing else EXIT_OK


def _content(imports: Sequence[Import], kind: str, everything: bool) -> str:
    if kind == "csv":
        return shown.as_csv(imports)
    if kind == "json":
        return shown.as_json(imports)
    if kind == "md":
        return as_text.markdown([*shown.sections(imports, None)], "Results of other tools")
    out = terminal()
    parts = [*shown.sections(imports, None if everything else out.width)]
    return "\n".join(as_text.terminal_lines(parts, out)) + "\n"
