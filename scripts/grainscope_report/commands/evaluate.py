"""`grainscope-report evaluate`: which machine to buy for a workload, and how sure that is."""

import argparse
import json
from pathlib import Path

from grainscope_report.buying import markdown, page, workload
from grainscope_report.commands import asked, plot
from grainscope_report.commands.files import write
from grainscope_report.errors import EXIT_FOUND, EXIT_INCONCLUSIVE, EXIT_OK, ReportError
from grainscope_report.figures import candidates
from grainscope_report.result import Result
from grainscope_report.terminal import terminal

# More take gigabytes of memory, and change no digit that is said.
FEWEST_DRAWS, MOST_DRAWS = 100, 1_000_000


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "evaluate",
        help="choose between machines for a workload",
        description="Predicts how long a workload takes on each candidate from the shares of its components, "
        "and says which is first, how sure that is, at which share and price the choice flips, and what it "
        "costs. Writes verdict.json, verdict.md and verdict.html, and with --format figure 15.",
        epilog="Exit status: 0 a verdict, 1 a candidate did not pass the gates, 2 the workload or a file "
        "cannot be used, 3 the machines are not comparable, 4 a tie or an unsure verdict (--fail-on-tie). "
        "The keys of a workload are in docs/procurement.md.",
    )
    parser.add_argument(
        "workload", type=Path, metavar="WORKLOAD.toml", help="the workload and the candidates"
    )
    asked.add_output(parser, "verdict", "DIR")
    parser.add_argument(
        "--format",
        type=plot.formats,
        default=(),
        metavar="svg,png,pdf",
        help="draw figure 15, too, with its CSV and tables (needs matplotlib)",
    )
    parser.add_argument("--draws", type=int, default=10_000, metavar="N", help="resamples (default: 10000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the resamples (default: 1)")
    parser.add_argument(
        "--fail-on-tie", action="store_true", help="exit with 4 where the verdict is not sure"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Reaches the verdict, writes it three times over, and says it."""
    if not FEWEST_DRAWS <= arguments.draws <= MOST_DRAWS or arguments.seed < 0:
        raise ReportError(f"--draws must be between {FEWEST_DRAWS} and {MOST_DRAWS} and --seed at least 0")
    document, files = _verdict(arguments)
    texts = {
        "verdict.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n",
        "verdict.md": markdown.write(document),
        "verdict.html": page.write(document),
    }
    for name, text in texts.items():
        write(arguments.output / name, text)
    drawn = (
        plot.save(candidates.build(document, files), arguments.output, arguments.format)
        if arguments.format
        else []
    )
    out, said = terminal(), document["sentences"]
    print(out.paint(out.wrap(said["verdict"], ""), "bold"))
    for line in [*said["excluded"], *said["why"], *said["flips"], *said["cost"]]:
        print(out.wrap(line, "  "))
    for line in document["warnings"]:
        print(out.paint(out.wrap(f"warning: {line}", "  "), "yellow"))
    print(out.wrap(said["disclaimer"], ""))
    print(f"written: {', '.join([*(str(arguments.output / name) for name in texts), *drawn])}")
    return _status(document, arguments.fail_on_tie)


def _verdict(arguments: argparse.Namespace) -> tuple[dict, list[Result]]:
    found = workload.load(arguments.workload)
    try:
        from grainscope_report.buying import verdict
    except ModuleNotFoundError as error:
        raise ReportError(
            f"evaluate needs numpy, and Python finds no module {error.name}: python3 -m pip install numpy"
        ) from None
    return verdict.judge(found, arguments.draws, arguments.seed)


def _status(document: dict, fail_on_tie: bool) -> int:
    if fail_on_tie and document["verdict"]["kind"] != "none" and not document["verdict"]["certain"]:
        return EXIT_INCONCLUSIVE
    return EXIT_OK if all(one["passed"] for one in document["candidates"]) else EXIT_FOUND
