"""`grainscope-report matrix`: each pair of places, a row and a column for each place."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from grainscope_report import metrics
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_OK, ReportError
from grainscope_report.families import PAIRS
from grainscope_report.metrics import Matrix, matrices, place_kind
from grainscope_report.model import Result
from grainscope_report.units import format_bytes, format_rate, significant
from grainscope_report.writing import Column, Terminal, csv_text, json_text, terminal

FORMAT = 1
MOST_LINES = 40
INDENT = "  "
FORMATS = ("text", "csv", "json")
CSV = ("what", "unit", "row", "column", "value", "low", "high", "both_known", "case")


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
    parser.add_argument("--format", choices=FORMATS, default="text", help="what to print (default: text)")
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
        "text": lambda: "\n".join(lines(found, terminal(), arguments.full)),
        "csv": lambda: _csv(found),
        "json": lambda: json_text(_document(result, found)),
    }
    print(formats[arguments.format]())
    return EXIT_OK


def lines(found: Sequence[Matrix], out: Terminal, every: bool = False) -> list[str]:
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
    if max(map(len, shown)) + len(INDENT) > out.width:
        shown = out.table(*_table(one, False))
    heading = out.wrap(f"{one.pairs.best.text}, {_unit(one)}{_sizes(one)}", "").split("\n")
    note = out.note(_span(one)).split("\n")
    return [*(out.paint(line, "bold") for line in heading), *(f"{INDENT}{line}" for line in shown), *note]


def _sentence(one: Matrix, out: Terminal) -> list[str]:
    values = [_value(one, cell.value.value) for cell in one.cells.values()]
    alone = f"{values[0]}; " if len(values) == 1 else ""
    said = f"{one.pairs.best.text}, {_unit(one)}{_sizes(one)}: {alone}{_span(one)}"
    return out.wrap(said, "").split("\n")


def _table(matrix: Matrix, errors: bool) -> tuple[list[Column], list[list[str]]]:
    columns = [Column(""), *(Column(_place(matrix.pairs.columns, at), right=True) for at in matrix.columns)]
    cells = [
        [_place(matrix.pairs.rows, row), *(_text(matrix, (row, column), errors) for column in matrix.columns)]
        for row in matrix.rows
    ]
    return columns, cells


def _text(matrix: Matrix, pair: tuple[int, int], error: bool) -> str:
    if pair not in matrix.cells:
        return "-"
    found = matrix.cells[pair].value
    return f"{_value(matrix, found.value)}{f' ± {metrics.plus_minus(found)}' if error else ''}"


def _value(matrix: Matrix, value: float) -> str:
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
    ends = [f"{_value(matrix, found[pair].value)} ({_places(matrix, pair)})" for pair in (low, high)]
    if len(found) == 1:
        return error
    alike = _value(matrix, found[low].value) == _value(matrix, found[high].value)
    return f"{f'all {_value(matrix, found[low].value)}' if alike else ' to '.join(ends)}; {error}"


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


def _document(result: Result, found: Sequence[Matrix]) -> dict[str, Any]:
    return {
        "matrix_format": FORMAT,
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


def _csv(found: Sequence[Matrix]) -> str:
    entries = (_about(one) | entry for one in found for entry in _entries(one))
    return csv_text(CSV, ([entry[column] for column in CSV] for entry in entries)).rstrip("\n")


def _about(matrix: Matrix) -> dict[str, str]:
    return {"what": matrix.pairs.best.text, "unit": "s" if matrix.pairs.best.least else "GB/s"}
