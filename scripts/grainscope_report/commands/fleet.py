"""`fleet`: which of many nodes stand out? `store add`: keep their runs. `trend`: what changed over time?"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grainscope_report import writing
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_FOUND, EXIT_OK, EXIT_UNDECIDED, EXIT_USAGE, ReportError
from grainscope_report.fleet import document, screening, sources, store, trend
from grainscope_report.fleet.store import INSTALL, Added
from grainscope_report.writing import Section, json_text, terminal

THRESHOLD = 0.01
NEEDS = f"Needs DuckDB: {INSTALL}."
A_RUN = "a digest, a result file, a folder or an archive of them, or - for names on standard input"


def add_fleet(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "fleet",
        help="say which of many nodes stand out",
        description="Takes the results of any number of nodes into a Parquet data set and says which nodes "
        "are slow at what, which links trained down, what drivers and firmware change, and what drifts. "
        f"{NEEDS}",
        epilog="Exit status: 0 nothing stands out, 1 something does, 2 usage, or a file was refused (the "
        "others are taken in, and looked at), 5 nothing stands out, and no kind of machine has "
        f"{screening.FEWEST_NODES} nodes.",
    )
    parser.add_argument("paths", nargs="+", type=files.path, metavar="RUN", help=f"{A_RUN}; or one data set")
    parser.add_argument(
        "--store", type=files.path, metavar="DIR", help="keep the data set here, with what it holds already"
    )
    _add_answer(parser)
    return parser


def _add_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threshold",
        type=files.share,
        default=THRESHOLD,
        metavar=f"{THRESHOLD:.0%}",
        help=f"what is too little to say (default: {THRESHOLD:.0%}%)",
    )
    files.add_formats(parser, ("text", "md", "json"), ("md", "json", "html"))
    files.add_full(parser, f"everything there is to say, not {document.MOST_LINES} lines of it")


def run_fleet(arguments: argparse.Namespace) -> int:
    """Takes in what is new, looks at all of it, and prints."""
    paths: Sequence[Path] = arguments.paths
    if len(paths) == 1 and store.is_store(paths[0]) and not arguments.store:
        return _screened(arguments, paths[0], None)
    if arguments.store:
        return _screened(arguments, arguments.store, _taken(arguments.store, paths))
    with tempfile.TemporaryDirectory(prefix="grainscope-fleet-") as folder:
        return _screened(arguments, Path(folder), _taken(Path(folder), paths))


def _taken(place: Path, paths: Sequence[Path]) -> Added:
    """Takes runs into a data set, and says what could not be taken."""
    added = store.add(place, sources.found(paths))
    _tell(added)
    if not added.runs and not added.known:
        raise ReportError("none of these holds a run that can be taken in")
    return added


def _screened(arguments: argparse.Namespace, place: Path, added: Added | None) -> int:
    with store.opened(place) as connection:
        said = screening.screen(connection, arguments.threshold)
    _print(arguments, document.sections(said, added), document.as_json(said, added), "GrainScope fleet")
    if added and any(not one.kept for one in added.refused):
        return EXIT_USAGE
    if said.found or (added and (added.refused or added.twice)):
        return EXIT_FOUND
    return EXIT_OK if said.decided else EXIT_UNDECIDED


def _tell(added: Added | None) -> None:
    """What could not be taken, on standard error."""
    for one in (*added.refused, *added.twice) if added else ():
        print(f"{'warning: ' if one.kept else 'grainscope-report: '}{one.name} {one.why}", file=sys.stderr)


def _print(
    arguments: argparse.Namespace, sections: Sequence[Section], as_json: Mapping[str, Any], subject: str
) -> None:
    """What was asked for, and files to write it to as well."""
    screen = document.whole if arguments.full else document.fitted
    makers: dict[str, Callable[[], str]] = {
        "text": lambda: screen(sections, terminal()),
        "md": lambda: writing.sections_markdown(sections, subject),
        "html": lambda: document.page(subject, sections),
        "json": lambda: f"{json_text(as_json)}\n",
    }
    for path in arguments.out:
        files.write(path, makers[path.suffix[1:]]())
    print(makers[arguments.format](), end="")


def add_store(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "store",
        help="keep runs in a Parquet data set",
        description="Takes runs into a data set that `fleet` and `trend` answer from, and that Spark, DuckDB "
        f"and pandas open. A run that is there already is left. {NEEDS}",
        epilog="Exit status: 0 everything is in the data set, 2 usage, or a file was refused (the others are "
        "taken in).",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    adding = actions.add_parser("add", help="take runs in", description="Takes runs into a data set.")
    adding.add_argument(
        "store", type=files.path, metavar="DIR", help="the data set, made where there is none"
    )
    adding.add_argument("paths", nargs="+", type=files.path, metavar="RUN", help=A_RUN)
    return parser


def run_store(arguments: argparse.Namespace) -> int:
    """Takes in, and says how much."""
    added = store.add(arguments.store, sources.found(arguments.paths))
    _tell(added)
    print(f"{arguments.store}: {document.taken(added)}")
    return EXIT_USAGE if any(not one.kept for one in added.refused) else EXIT_OK


def add_trend(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "trend",
        help="say what changed on a machine over time",
        description="Says from the runs of a machine where its times changed level, by how much, and how "
        f"well both are known; or prints its history as OpenMetrics text. {NEEDS}",
        epilog="Exit status: 0 no change of level (or OpenMetrics was asked for), 1 there is one, 2 usage or "
        f"a file was refused, 5 fewer than {trend.FEWEST_RUNS} runs, or than {trend.FEWEST_ALONE} where what "
        "runs of the machine differ by (type B) is unknown.",
    )
    parser.add_argument("paths", nargs="+", type=files.path, metavar="RUN", help=f"{A_RUN}; or one data set")
    parser.add_argument("--node", metavar="NODE", help="the machine, where there are several")
    said = "print every number with its time, of all nodes without --node"
    parser.add_argument("--openmetrics", action="store_true", help=said)
    _add_answer(parser)
    return parser


def run_trend(arguments: argparse.Namespace) -> int:
    """Prints the history of a machine, of a data set or of runs."""
    paths: Sequence[Path] = arguments.paths
    if len(paths) == 1 and store.is_store(paths[0]):
        return _trend(arguments, paths[0])
    with tempfile.TemporaryDirectory(prefix="grainscope-fleet-") as folder:
        added = _taken(Path(folder), paths)
        status = _trend(arguments, Path(folder))
    return EXIT_USAGE if any(not one.kept for one in added.refused) else status


def _trend(arguments: argparse.Namespace, place: Path) -> int:
    with store.opened(place) as connection:
        if arguments.openmetrics:
            for line in trend.open_metrics(connection, arguments.node):
                print(line)
            return EXIT_OK
        said = trend.of(connection, arguments.node, arguments.threshold)
    _print(arguments, trend.sections(said), trend.as_json(said), f"GrainScope history of {said.node}")
    if said.steps:
        return EXIT_FOUND
    return EXIT_OK if said.decided else EXIT_UNDECIDED
