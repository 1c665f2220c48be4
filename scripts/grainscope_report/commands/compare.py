"""`compare`: is the new side faster or slower than the base? `env diff`: in what do two runs differ?"""

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from grainscope_report import loading, reader, refusing, selecting, visits, writing
from grainscope_report.commands import files
from grainscope_report.comparison import document, sides, verdicts
from grainscope_report.comparison.sides import Side
from grainscope_report.comparison.verdicts import Comparison
from grainscope_report.errors import EXIT_FOUND, EXIT_INCONCLUSIVE, EXIT_OK, EXIT_UNDECIDED, ReportError
from grainscope_report.machine import Facts, differences, facts, machines, readings
from grainscope_report.uncertainty import TypeB
from grainscope_report.writing import Column, Terminal, json_text, terminal

FAIL_ON = ("slower", "faster", "unclear", "failed", "missing", "not comparable")
MOST_ROWS = 20
ROWS, FEWEST_ROWS = 5, 3  # of a screen: that other parts leave room for, and the fewest
MOST_LINES = 30
# Parts that are left out, the fewest rows, whether rows say of how many questions they are, and whether what
# could have been shown is a sentence.
TRIES = (
    (0, ROWS, True, False), (0, ROWS, True, True), (0, ROWS, False, True), (0, FEWEST_ROWS, True, True),
    (0, FEWEST_ROWS, False, True), (1, ROWS, True, True), (1, FEWEST_ROWS, False, True), (1, 0, False, True),
)  # fmt: skip
# More machines than this in one picture cannot be told apart.
MOST_DRAWN = 6
SIDE = f"{files.A_FILE}, or a folder of repeated ones, which count together"


def add_compare(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "compare",
        help="compare files with a base, with verdicts",
        description="Compares every NEW with BASE, question by question: family and axes join rows, not "
        "names or places. Faster and slower are certain beyond what visits and runs differ by, at a false "
        "discovery rate of 5 % over all questions. Google Benchmark's own JSON is compared by name.",
        epilog="Exit status: 0 most questions are decided and nothing of --fail-on found, 1 something of it, "
        "2 usage or an unreadable file, 3 a NEW answers no question that BASE answers, 4 questions that "
        "cannot be told where --fail-on has unclear, 5 most questions of a NEW cannot be told, or a run is "
        "not complete, where --fail-on has slower or faster.",
    )
    parser.add_argument("base", type=files.path, metavar="BASE", help=SIDE)
    parser.add_argument(
        "new", nargs="+", type=files.path, metavar="NEW", help="one or more to hold against it"
    )
    parser.add_argument(
        "--threshold",
        type=files.share,
        default=0.05,
        metavar="5%",
        help="what is the same, and what visits and runs are planned for (default: 5%%)",
    )
    parser.add_argument(
        "--fail-on",
        type=_kinds,
        default=("slower", "failed"),
        metavar="KINDS",
        help=f"any of {', '.join(FAIL_ON)}, or none (default: slower,failed)",
    )
    parser.add_argument(
        "--pool", action="store_true", help="take the mean of several runs of one machine as one side"
    )
    files.add_type_b(parser)
    parser.add_argument("--filter", metavar="REGEX", help="only questions whose family and words match")
    files.add_formats(parser)
    parser.add_argument(
        "--plots", type=files.path, metavar="DIR", help="draw the figures of all files over each other"
    )
    files.add_full(parser, f"everything there is to say, not {MOST_LINES} lines of it")
    return parser


def run_compare(arguments: argparse.Namespace) -> int:
    """Compares, writes and draws what was asked for, and prints."""
    given = [run for path in (arguments.base, *arguments.new) for run in loading.runs_in(path)]
    files.keep(given, arguments.out)
    tables = visits.type_b_tables(arguments.type_b)
    found = _chosen(sides.read(arguments.base, arguments.new, tables), arguments.filter)
    if arguments.pool:
        found = sides.pool(found)
        if len(found) < 2:
            raise ReportError("--pool makes one side of all these files: give files of another machine, too")
    comparison = verdicts.compare(found, arguments.threshold)
    kinds = dict.fromkeys([arguments.format, *(path.suffix[1:] for path in arguments.out)])
    made = {kind: _content(comparison, kind, arguments.full) for kind in kinds}
    for path in arguments.out:
        files.write(path, made[path.suffix[1:]])
    print(made[arguments.format], end="")
    sys.stdout.flush()
    if arguments.plots:
        _draw(comparison, arguments.plots, tables)
    return _status(comparison, arguments.fail_on)


def _content(comparison: Comparison, kind: str, everything: bool) -> str:
    most = None if everything else MOST_ROWS
    makers: dict[str, Callable[[], str]] = {
        "csv": lambda: document.as_csv(comparison),
        "json": lambda: document.as_json(comparison),
        "md": lambda: writing.sections_markdown(document.sections(comparison, most)),
        "text": lambda: _text(comparison, everything),
    }
    return makers[kind]()


def _text(comparison: Comparison, everything: bool) -> str:
    """Everything, or as many rows as MOST_LINES leave room for."""
    out = terminal()
    if everything:
        # Names of cases and files are whole: a narrow terminal wraps the tables.
        shown = writing.section_lines(document.sections(comparison, None), out, whole=True)
        return "\n".join(shown) + "\n"
    # The parts that matter least stand last, but for the line on what else there is: one goes before rows do,
    # then counts, then rows go down to the fewest.
    for gone, fewest, counted, brief in TRIES:
        for most in range(MOST_ROWS, fewest - 1, -1):
            parts = document.sections(comparison, most, counted, brief)
            del parts[max(2, len(parts) - 1 - gone) : -1]
            lines = _lines(parts, out)
            if sum(map(out.height, lines)) <= MOST_LINES:
                return "\n".join(lines) + "\n"
    # Reasons are not cut and may take several lines of the screen.
    heights = list(itertools.accumulate(map(out.height, lines)))
    kept = [line for line, height in zip(lines, heights, strict=True) if height < MOST_LINES]
    left = f"{len(lines) - len(kept)} lines more: --full shows everything."
    return "\n".join([*kept, left]) + "\n"


def _lines(parts: Sequence[writing.Section], out: Terminal) -> list[str]:
    return "\n".join(writing.section_lines(parts, out)).split("\n")


def _status(comparison: Comparison, kinds: Sequence[str]) -> int:
    counts = [against.counts for against in comparison.against]
    there = {kind for kind in kinds if any(count[kind] for count in counts)}
    if "slower" in kinds and any(against.slower_at_a_site for against in comparison.against):
        there.add("slower")
    if there - {"unclear"}:
        return EXIT_FOUND
    asks = {"slower", "faster"} & {*kinds}
    whole = all(side.complete for side in comparison.sides)
    if asks and not (whole and all(against.mostly_decided for against in comparison.against)):
        return EXIT_UNDECIDED
    return EXIT_INCONCLUSIVE if there else EXIT_OK


def _chosen(found: Sequence[Side], pattern: str | None) -> list[Side]:
    if pattern is None:
        return list(found)
    chosen = [
        replace(
            side,
            answers=dict(
                selecting.matching(
                    pattern, side.answers.items(), lambda item: f"{item[0].family} {item[1].spoken}"
                )
            ),
        )
        for side in found
    ]
    if not chosen[0].answers:
        raise ReportError(f"{chosen[0].paths[0]} has no question that matches --filter {pattern!r}")
    return chosen


def _draw(comparison: Comparison, folder: Path, tables: Sequence[TypeB]) -> None:
    """Overlays of the base and of the new sides that differ most."""
    # It reads the modules of every figure, which `env diff` and a comparison need not wait for.
    from grainscope_report.commands import plot

    ranked = sorted(
        comparison.against, key=lambda one: one.counts["slower"] + one.counts["faster"], reverse=True
    )
    # In the order of the comparison, so that up to MOST_DRAWN sides have its letters.
    chosen = ranked[: MOST_DRAWN - 1]
    sides_drawn = [
        comparison.base,
        *(one.new for one in comparison.against if any(one is other for other in chosen)),
    ]
    shown = [side for side in sides_drawn if not side.foreign]
    if not shown:
        print("Google Benchmark's own JSON has no figures to draw", file=sys.stderr)
        return
    if len(comparison.sides) > MOST_DRAWN:
        print(f"drawn are the base and the {MOST_DRAWN - 1} that differ most from it", file=sys.stderr)
    together = machines(files.results([side.paths[0] for side in shown], tables))
    for entry in plot.FIGURES:
        if written := plot.draw(entry, together, folder, ("svg", "png")):
            print(f"figure {entry.id}: {', '.join(written)}", file=sys.stderr)


def _kinds(text: str) -> tuple[str, ...]:
    asked = [part.strip() for part in text.split(",") if part.strip()]
    if wrong := [part for part in asked if part not in (*FAIL_ON, "none")]:
        raise argparse.ArgumentTypeError(f"no {', '.join(wrong)}; there are {', '.join(FAIL_ON)}, none")
    if not asked:
        raise argparse.ArgumentTypeError(f"nothing is named; there are {', '.join(FAIL_ON)}, none")
    if "none" in asked and len({*asked}) > 1:
        raise argparse.ArgumentTypeError(f"{text!r} asks for none and for others: say none alone")
    return tuple(part for part in asked if part != "none")


def add_env(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "env",
        help="what a run says of its machine and settings",
        description="What a run says of its machine and settings.",
    )
    parts = parser.add_subparsers(title="what", metavar="WHAT", required=True)
    diff = parts.add_parser(
        "diff",
        help="what differs between two runs",
        description="Shows every fact of machine, driver, suite and run in which two files differ, those "
        "that decide most numbers first.",
        epilog="Exit status: 0 none differs, 1 some do, 2 a file cannot be read.",
    )
    said = "a result file, a run directory, or what `grainscope --env json` printed"
    diff.add_argument("base", type=files.path, metavar="A", help=said)
    diff.add_argument("new", type=files.path, metavar="B", help="another one")
    diff.add_argument(
        "--all", action="store_true", help="also what passes: load, free memory, clocks, serial numbers"
    )
    diff.add_argument("--json", action="store_true", help="as JSON, a fact an entry")
    return parser


def run_env(arguments: argparse.Namespace) -> int:
    """Prints the differences."""
    found = differences(_facts(arguments.base), _facts(arguments.new), arguments.all)
    if arguments.json:
        print(json_text([vars(one) for one in found]))
    elif not found:
        print("no difference")
    else:
        # Nothing is cut or left out: a narrow terminal wraps the lines.
        out = replace(terminal(), width=sys.maxsize)
        columns = (Column("fact"), Column(str(arguments.base)), Column(str(arguments.new)))
        rows = [(one.fact, one.base or "-", one.new or "-") for one in found]
        print("\n".join(out.table(columns, rows)))
    return EXIT_FOUND if found else EXIT_OK


def _facts(path: Path) -> Facts:
    context = loading.load_environment(path)
    if {"schema_version", "environment"} & context.keys():  # what Google Benchmark says has no format
        refusing.require_context(path, context, refusing.MachineReport)
    if "schema_version" not in context:
        return facts(context)
    return facts(context) | readings(reader.read(path).rows)
