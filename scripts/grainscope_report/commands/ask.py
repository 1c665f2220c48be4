"""`ask` answers a question in words; `list` shows every row, one a line; `matrix` shows each pair of places,
a row and a column for each place.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from grainscope_report import machine, metrics, selecting
from grainscope_report.analysis import of_link
from grainscope_report.asking import sentence
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_OK, EXIT_UNDECIDED, ReportError
from grainscope_report.families import PAIRS
from grainscope_report.groups import gather, gnn
from grainscope_report.metrics import Matrix, matrices, place_kind
from grainscope_report.model import Result, Row
from grainscope_report.units import format_bytes, format_rate, format_time, significant
from grainscope_report.writing import Column, Terminal, csv_text, json_text, known, terminal

DESCRIPTION = """\
Answers a question in words from a run: rows, a ranking, a peak or a crossover.

  grainscope-report ask RUN h2d pinned 64MiB
  grainscope-report ask RUN best way for 4 KiB pieces
  grainscope-report ask RUN crossover copy zero-copy

Words stand in any order. Those about one thing are alternatives; those about
different things hold together. AXIS=VALUE,… is understood as well: flush=on."""
COLUMNS = (
    Column("status"),
    Column("median", right=True),
    Column("95 % interval"),
    Column("GB/s", right=True),
    Column("of link", right=True),
    Column("flags"),
    Column("counted"),
    Column("name"),
    Column("why"),
)
# What a flag says of its row; docs/result-format.md has when each is set.
FLAGS = {
    "unsettled": "in a visit the first half of the samples was set aside, since the operation had not "
    "settled yet, and it would have moved the median by more than its interval",
    "visits_differ": "its visits differ three times as much as those of other rows of its family",
    "slower_alone": "one of several things at once took a twentieth longer alone than beside the others, so "
    "its time alone was disturbed",
    "bimodal": "the samples fall into two groups, and the median stands for neither",
    "wide_interval": "half of the 95 % interval is more than 5 %",
}
FLAG_COLUMNS = (
    Column("flag", whole=True),
    Column("rows", right=True),
    Column("most in", whole=True),
    Column("what it says of a row", wraps=True),
)
# What the counters of a row come to, which answer its family's question.
COUNTED = gather.COUNTED | gnn.COUNTED


def add_ask(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "ask",
        help="answer a question in words",
        description=DESCRIPTION,
        epilog=sentence.grammar(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files.add_file(parser)
    parser.add_argument("question", nargs="+", metavar="WORD", help="words, sizes, AXIS=VALUE")
    return parser


def run_ask(arguments: argparse.Namespace) -> int:
    """Prints the answer; 5 where the run has none."""
    # It reads the modules of every part of a run, which other commands need not wait for.
    from grainscope_report.asking import answering

    question = sentence.understand(" ".join(arguments.question))
    [result] = files.results([arguments.file])
    found = answering.answer(machine.machines([result])[0], question, terminal())
    for line in found.lines:
        print(line)
    if lacking := machine.not_whole(result.run):
        print(terminal().note(lacking))
    return EXIT_OK if found.known else EXIT_UNDECIDED


def add_list(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "list",
        help="show every row, one a line",
        description="Shows every row of a result file, one a line: status, median time with its 95 % "
        "interval (of each, where the time is of many operations), bandwidth, share of the measured copy "
        "peak, flags, name, and why a row is not ok.",
        epilog=f"Flags: {', '.join(FLAGS)}.",
    )
    files.add_file(parser)
    parser.add_argument("--filter", metavar="REGEX", help="only rows whose name contains a match")
    parser.add_argument("--status", choices=("ok", "skipped", "failed"), help="only rows of this status")
    parser.add_argument(
        "--flag",
        nargs="?",
        const="",
        type=_flag,
        metavar="NAME",
        help="only rows with this flag; without NAME how many rows have each, where, and what it says",
    )
    return parser


def _flag(text: str) -> str:
    if text and text not in FLAGS:
        raise argparse.ArgumentTypeError(f"no flag {text!r}; there are {', '.join(FLAGS)}")
    return text


def run_list(arguments: argparse.Namespace) -> int:
    """Prints the rows."""
    if arguments.filter is not None:
        selecting.name_pattern(arguments.filter)  # refuses what is none before the file is read
    [result] = files.results([arguments.file])
    rows = [
        row
        for row in result.rows
        if arguments.status in (None, row.status) and (not arguments.flag or arguments.flag in row.flags)
    ]
    if arguments.filter is not None:
        rows = selecting.matching(arguments.filter, rows, lambda row: row.name)
    if rows and arguments.flag == "":
        print("\n".join(_flags(rows)))
        return EXIT_OK
    if not result.rows:
        raise ReportError(f"{result.path} has no rows: the run ended before its first case; run it again")
    if not rows:
        asked = " and ".join(
            part
            for part in (
                f"a name that matches {arguments.filter!r}" if arguments.filter else "",
                f"status {arguments.status}" if arguments.status else "",
                f"the flag {arguments.flag}" if arguments.flag else "",
            )
            if part
        )
        why = selecting.why_no_name(arguments.filter or "", result.rows)
        raise ReportError(
            f"{result.path} has {len(result.rows)} rows but none with {asked}" + (f"; {why}" if why else "")
        )
    # Nothing is cut or left out, names least of all: a narrow terminal wraps the lines.
    out = replace(terminal(), width=sys.maxsize)
    columns, cells = known(COLUMNS, [_cells(row) for row in rows], only=("counted",))
    for line, row in zip(out.table(columns, cells), [None, *rows], strict=True):
        print(out.paint(line, _colour(row)))
    return EXIT_OK


def _flags(rows: Sequence[Row]) -> Iterator[str]:
    """How many rows have each flag, where most of them are, and what it says of them."""
    measured = [row for row in rows if row.measured]
    cells = []
    for flag, says in FLAGS.items():
        found = [row for row in measured if flag in row.flags]
        families = [f"{name}: {n}" for name, n in Counter(row.case.family for row in found).most_common(1)]
        if flag == "wide_interval" and (by_runs := sum(map(_by_runs, found))):
            says += f"; in {by_runs} mostly by what runs of such a machine differ by, not by visits"
        if found:
            cells.append((flag, str(len(found)), *families, says))
    out = terminal()
    yield f"Of {len(measured)} measured rows {sum(bool(row.flags) for row in measured)} have a flag."
    if cells:
        yield from out.headed(FLAG_COLUMNS, cells)
        yield out.note("`list RUN --flag NAME` has the rows, `ask RUN how sure …` what a ± is made of.")


def _by_runs(row: Row) -> bool:
    parts = row.uncertainty
    return bool(parts and parts.b and (parts.a is None or parts.b.standard > parts.a.standard))


def _colour(row: Row | None) -> str:
    if row is None:
        return "bold"
    return {"failed": "red", "skipped": "dim"}.get(row.status, "")


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.status,
        f"{format_time(row.median_s / _operations(row))}{_each(row)}" if row.median_s else "-",
        _interval(row),
        f"{row.bandwidth_gb_s:.2f}" if row.bandwidth_gb_s else "-",
        of_link(row) or "-",
        " ".join(sorted(row.flags)) or "-",
        _counted(row) or "-",
        row.name,
        row.reason,
    )


def _operations(row: Row) -> float:
    """How many operations the row's time is of."""
    return row.operations if row.operations and row.operations > 1 else 1


def _each(row: Row) -> str:
    return " each" if _operations(row) > 1 else ""


def _interval(row: Row) -> str:
    time_s = row.time
    if time_s is None or time_s.high <= time_s.low:
        return "-"
    low, high = (format_time(end / _operations(row)) for end in (time_s.low, time_s.high))
    return f"[{low}, {high}]"


def _counted(row: Row) -> str:
    """`hits 60.1 % of 10 %, 0.978 of optimal`; empty where the family has nothing of the kind."""
    counted = COUNTED.get(row.case.family)
    return ", ".join(counted(row)) if counted and row.ok else ""


# The matrix.

MATRIX_FORMAT = 1
MOST_LINES = 40
MATRIX_INDENT = "  "
MATRIX_FORMATS = ("text", "csv", "json")
MATRIX_CSV = ("what", "unit", "row", "column", "value", "low", "high", "both_known", "case")


def add_matrix(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "matrix",
        help="show pairs of places: GPU by GPU, node by GPU, node by node",
        description="Shows what joins each pair of places as a matrix, with a row and a column for each GPU "
        "or NUMA node: the highest GB/s of copies, the shortest ns of a load. A cell without a number was "
        "not measured.",
        epilog="Exit status: 0 shown, 2 usage, an unreadable file, or a run without pairs.",
    )
    files.add_file(parser)
    parser.add_argument(
        "family",
        nargs="?",
        default="",
        metavar="FAMILY",
        help="the pairs of one family or group alone: `transfer/peer`, `latency`",
    )
    parser.add_argument(
        "--format", choices=MATRIX_FORMATS, default="text", help="what to print (default: text)"
    )
    files.add_full(parser, f"every matrix, not {MOST_LINES} lines")
    return parser


def run_matrix(arguments: argparse.Namespace) -> int:
    """Prints the matrices."""
    [result] = files.results([arguments.file])
    found = matrices(result, arguments.family.strip("/"))
    if not found:
        of = f" of {arguments.family}" if arguments.family else ""
        there = ", ".join(dict.fromkeys(pair.best.family for pair in PAIRS))
        raise ReportError(f"{result.path} has no pairs of places{of}: run any of {there}")
    formats: dict[str, Callable[[], str]] = {
        "text": lambda: "\n".join(matrix_lines(found, terminal(), arguments.full)),
        "csv": lambda: _matrix_csv(found),
        "json": lambda: json_text(_matrix_document(result, found)),
    }
    print(formats[arguments.format]())
    return EXIT_OK


def matrix_lines(found: Sequence[Matrix], out: Terminal, every: bool = False) -> list[str]:
    """Each matrix under its heading, with the lowest and the highest value below.

    Where they have no room on a screen, and not `every` one is asked for, the last have a sentence each.
    """
    tables = [_whole(one, out) for one in found]
    sentences = [_sentence(one, out) for one in found]
    whole = len(found)
    while not every and whole and _height([*tables[:whole], *sentences[whole:]], whole, out) > MOST_LINES:
        whole -= 1
    shown = [line for table in tables[:whole] for line in ("", *table)][1:]
    if whole < len(found):
        shown += [*([""] if shown else []), *(line for one in sentences[whole:] for line in one)]
        shown.append("--full shows these as matrices, too")
    return shown


def _height(parts: Sequence[Sequence[str]], whole: int, out: Terminal) -> int:
    """With an empty line between tables and before sentences, and a last line below these."""
    more = 1 if whole < len(parts) else 0
    return sum(out.height(line) for part in parts for line in part) + max(0, whole - 1 + more) + more


def _whole(one: Matrix, out: Terminal) -> list[str]:
    # Numbers are not cut: where errors have no room they go, and then a narrow terminal wraps.
    shown = out.table(*_table(one, True))
    if max(map(len, shown)) + len(MATRIX_INDENT) > out.width:
        shown = out.table(*_table(one, False))
    heading = out.wrap(f"{one.pairs.best.text}, {_unit(one)}{_sizes(one)}", "").split("\n")
    note = out.note(_span(one)).split("\n")
    return [
        *(out.paint(line, "bold") for line in heading),
        *(f"{MATRIX_INDENT}{line}" for line in shown),
        *note,
    ]


def _sentence(one: Matrix, out: Terminal) -> list[str]:
    values = [_cell_value(one, cell.value.value) for cell in one.cells.values()]
    alone = f"{values[0]}; " if len(values) == 1 else ""
    said = f"{one.pairs.best.text}, {_unit(one)}{_sizes(one)}: {alone}{_span(one)}"
    return out.wrap(said, "").split("\n")


def _table(matrix: Matrix, errors: bool) -> tuple[list[Column], list[list[str]]]:
    columns = [Column(""), *(Column(_place(matrix.pairs.columns, at), right=True) for at in matrix.columns)]
    cells = [
        [
            _place(matrix.pairs.rows, row),
            *(_cell_text(matrix, (row, column), errors) for column in matrix.columns),
        ]
        for row in matrix.rows
    ]
    return columns, cells


def _cell_text(matrix: Matrix, pair: tuple[int, int], error: bool) -> str:
    if pair not in matrix.cells:
        return "-"
    found = matrix.cells[pair].value
    return f"{_cell_value(matrix, found.value)}{f' ± {metrics.plus_minus(found)}' if error else ''}"


def _cell_value(matrix: Matrix, value: float) -> str:
    return significant(value * 1e9, 4) if matrix.pairs.best.least else format_rate(value)


def _unit(matrix: Matrix) -> str:
    return "ns" if matrix.pairs.best.least else "GB/s"


def _place(name: str, at: int) -> str:
    return f"{place_kind(name)} {at}"


def _sizes(matrix: Matrix) -> str:
    """`, at 256 MiB to 1 GiB`: where the best rows are."""
    sizes = sorted({cell.bytes for cell in matrix.cells.values() if cell.bytes})
    if not sizes:
        return ""
    return f", at {format_bytes(sizes[0])}" + (f" to {format_bytes(sizes[-1])}" if len(sizes) > 1 else "")


def _span(matrix: Matrix) -> str:
    """The slowest and the fastest pair, and how wide the widest interval is."""
    found = {pair: cell.value for pair, cell in matrix.cells.items()}
    low, high = (pick(found, key=lambda pair: found[pair].value) for pick in (min, max))
    widest = metrics.plus_minus(max(found.values(), key=metrics.half_width))
    known = "" if all(row.both_known for row in matrix.cells.values()) else " of this run alone"
    error = f"± {widest} at most (95 %{known})"
    ends = [f"{_cell_value(matrix, found[pair].value)} ({_places(matrix, pair)})" for pair in (low, high)]
    if len(found) == 1:
        return error
    alike = _cell_value(matrix, found[low].value) == _cell_value(matrix, found[high].value)
    return f"{f'all {_cell_value(matrix, found[low].value)}' if alike else ' to '.join(ends)}; {error}"


def _places(matrix: Matrix, pair: tuple[int, int]) -> str:
    return f"{_place(matrix.pairs.rows, pair[0])}, {_place(matrix.pairs.columns, pair[1])}"


def _entries(matrix: Matrix) -> Iterator[dict[str, Any]]:
    """Every pair as plain data, in the file's units."""
    for (row, column), cell in sorted(matrix.cells.items()):
        yield {
            "row": _place(matrix.pairs.rows, row),
            "column": _place(matrix.pairs.columns, column),
            "value": cell.value.value,
            "low": cell.value.low,
            "high": cell.value.high,
            "both_known": cell.both_known,
            "case": cell.case,
        }


def _matrix_document(result: Result, found: Sequence[Matrix]) -> dict[str, Any]:
    return {
        "matrix_format": MATRIX_FORMAT,
        "file": str(result.path),
        "matrices": [
            {
                "what": one.pairs.best.text,
                "family": one.pairs.best.family,
                "axes": dict(one.pairs.best.axes),
                "unit": _about(one)["unit"],
                "pairs": list(_entries(one)),
            }
            for one in found
        ],
    }


def _matrix_csv(found: Sequence[Matrix]) -> str:
    entries = (_about(one) | entry for one in found for entry in _entries(one))
    return csv_text(MATRIX_CSV, ([entry[column] for column in MATRIX_CSV] for entry in entries)).rstrip("\n")


def _about(matrix: Matrix) -> dict[str, str]:
    return {"what": matrix.pairs.best.text, "unit": "s" if matrix.pairs.best.least else "GB/s"}
