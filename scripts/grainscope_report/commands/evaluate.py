"""`grainscope-report evaluate`: which machine to buy for a workload, and how sure that is."""

import argparse
from pathlib import Path

from grainscope_report import visits
from grainscope_report.buying import words, workload
from grainscope_report.commands import files, plot
from grainscope_report.commands.files import write
from grainscope_report.errors import EXIT_FOUND, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_UNDECIDED, ReportError
from grainscope_report.figures import table
from grainscope_report.loading import quoted
from grainscope_report.model import Result
from grainscope_report.writing import json_text, terminal

# More take gigabytes of memory, and change no digit that is said.
FEWEST_DRAWS, DRAWS, MOST_DRAWS = 100, 10_000, 1_000_000
SEED = 1
MOST_LINES = 24  # of sentences: with what follows no more than 30


def add_evaluate(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "evaluate",
        help="choose between machines for a workload",
        description="Predicts how long a workload takes on each candidate from the shares of its components, "
        "and says which is first in speed, in price-performance and per watt, or that it is a tie, and at "
        "which share and price the choice flips. Writes verdict.json, verdict.md and verdict.html, and with "
        "--format figure 15.",
        epilog="Exit status: 0 judged, 1 a candidate did not pass the gates, 2 the workload or a file "
        "cannot be used, 3 the machines are not comparable, 4 with --fail-on-tie nobody is first in speed, "
        "5 unknown, since nothing tells what runs, or values of a metric, differ by, or provisional, since a "
        "run is not complete. The keys of a workload are in docs/procurement.md.",
    )
    parser.add_argument(
        "workload",
        type=files.path,
        nargs="?",
        metavar="WORKLOAD.toml",
        help="the workload and the candidates",
    )
    parser.add_argument(
        "--init",
        nargs="?",
        type=files.path,
        const=Path("workload.toml"),
        metavar="FILE",
        help="write a commented workload to start from, no more (- prints it; default: workload.toml)",
    )
    files.add_output(parser, "verdict", "DIR")
    parser.add_argument(
        "--format",
        type=plot.formats,
        default=(),
        metavar="svg,png,pdf",
        help="draw figure 15, too, with its CSV and tables (needs matplotlib)",
    )
    files.add_type_b(parser)
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N", help="draws (default: 10000)")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help="of the draws (default: 1)")
    parser.add_argument(
        "--fail-on-tie", action="store_true", help="exit with 4 where nobody is first in speed"
    )
    files.add_full(parser, "print all sentences, not the first of them")
    return parser


def run_evaluate(arguments: argparse.Namespace) -> int:
    """Reaches the verdict, writes it three times over, and says it."""
    if not FEWEST_DRAWS <= arguments.draws <= MOST_DRAWS or arguments.seed < 0:
        raise ReportError(f"--draws must be between {FEWEST_DRAWS} and {MOST_DRAWS} and --seed at least 0")
    if arguments.init:
        return _init(arguments.init)
    if not arguments.workload:
        raise ReportError("evaluate needs a WORKLOAD.toml: `--init` writes one to start from")
    document, files = _verdict(arguments)
    try:
        verdict_json = json_text(document, allow_nan=False) + "\n"
    except ValueError:
        raise ReportError(
            f"{arguments.workload}: with such amounts the verdict has values that are no numbers: see "
            "whether prices, watts, years and numbers of GPUs are meant so"
        ) from None
    texts = {
        "verdict.json": verdict_json,
        "verdict.md": words.as_markdown(document),
        "verdict.html": words.as_html(document),
    }
    for name, text in texts.items():
        write(arguments.output / name, text)
    drawn = (
        plot.save(table.build_candidates(document, files), arguments.output, arguments.format)
        if arguments.format
        else []
    )
    _say(document, arguments.full)
    print(f"written: {', '.join([*(str(arguments.output / name) for name in texts), *drawn])}")
    return _status(document, arguments.fail_on_tie)


def _say(document: dict, everything: bool) -> None:
    """Prints the headline, then as much of the rest as fits on a screen."""
    out, said = terminal(), document["sentences"]
    head = [out.paint(out.wrap(line, ""), "bold") for line in filter(None, [*said["headline"], said["buy"]])]
    rest = [out.wrap(line, "  ") for line in [*said["excluded"], *said["why"], *said["flips"], *said["cost"]]]
    rest += [out.paint(out.wrap(f"warning: {line}", "  "), "yellow") for line in document["warnings"]]
    left = MOST_LINES - sum(text.count("\n") + 1 for text in head)
    for at, text in enumerate(rest):
        left -= text.count("\n") + 1
        if left < 0 and not everything:
            print("\n".join([*head, *rest[:at]]))
            print(f"  and {len(rest) - at} more sentences: --full prints them")
            break
    else:
        print("\n".join([*head, *rest]))
    print(out.wrap(said["disclaimer"], ""))


def _init(path: Path) -> int:
    if str(path) == "-":
        print(workload.START, end="")
        return EXIT_OK
    if path.exists():
        raise ReportError(f"{path} is there already: give --init another FILE")
    write(path, workload.START)
    command = f"grainscope-report evaluate {quoted(path)}"
    print(f"{path}: name your machines' files in it, then `{command}`")
    return EXIT_OK


def _verdict(arguments: argparse.Namespace) -> tuple[dict, list[Result]]:
    found = workload.load(arguments.workload)
    try:
        import numpy as np

        from grainscope_report.buying import verdict
    except ModuleNotFoundError as error:
        raise ReportError(
            f"evaluate needs numpy, and Python finds no module {error.name}: python3 -m pip install numpy"
        ) from None
    tables = visits.type_b_tables(arguments.type_b)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # run_evaluate() says so once
        return verdict.judge(found, arguments.draws, arguments.seed, tables)


def _status(document: dict, fail_on_tie: bool) -> int:
    if fail_on_tie and document["verdict"]["kind"] != "none" and not document["verdict"]["certain"]:
        return EXIT_INCONCLUSIVE
    if document["verdict"]["kind"] == words.UNKNOWN or document["unfinished"]:
        return EXIT_UNDECIDED
    return EXIT_OK if all(candidate["passed"] for candidate in document["candidates"]) else EXIT_FOUND
