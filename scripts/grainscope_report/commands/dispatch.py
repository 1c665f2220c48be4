"""`grainscope-report dispatch`: the fastest way to copy scattered pages, as a table, as JSON, as a C header.

The schema of the JSON in docs/ is made of the records here:
`python -m grainscope_report.commands.dispatch > ../docs/dispatch.schema.json` from `scripts/`.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from grainscope_report import machine, metrics, statistics, typed
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_OK, ReportError
from grainscope_report.groups import shape as pages
from grainscope_report.groups.shape import PAGE_METHODS, PAGE_PATHS, Point, Table, Way
from grainscope_report.model import SOME, Amount, Ordinal, Positive, Result
from grainscope_report.statistics import Estimate
from grainscope_report.typed import Record
from grainscope_report.units import format_bytes, format_rate, plural, significant
from grainscope_report.writing import Column, Terminal, json_text, terminal

FORMAT = 1
COLUMNS = (
    Column("page", right=True),
    Column("pages", right=True),
    Column("fastest", whole=True),
    Column("GB/s", right=True),
    Column("±", right=True, optional=1),
    Column("next"),
    Column("as fast", right=True),
    Column("±", right=True, optional=2),
    Column("of", right=True, optional=3),
)
TIE = "tie"


class Interval(Record):
    """A value with its 95 % interval."""

    value: Positive
    low: Positive
    high: Positive


class MethodRate(Record):
    """A method at a point: decimal GB/s, and what a sample takes of the CPU and of the GPU, where known.

    `both_known`: the interval has the uncertainties of both types, else that of this run alone.
    """

    method: str
    bandwidth_gb_s: Interval
    both_known: bool
    case: str
    cpu_s: Amount | None = None
    multiprocessors: Amount | None = None


class DispatchPoint(Record):
    """Pages of one size, in bytes, and number; `ways` go from fast to slow.

    `margin` is how many times as fast as the `second` the first is; both are absent of a method alone.
    `tied` are methods that are as fast within the combined uncertainty.
    """

    page: Ordinal
    pages: Ordinal
    method: str
    tied: tuple[str, ...]
    ways: Annotated[tuple[MethodRate, ...], SOME]
    second: str | None = None
    margin: Interval | None = None


class DispatchTable(Record):
    """The points of a path; `axes` say how the memory is held, how pages and pool lie, and the blocks."""

    path: str
    axes: Mapping[str, str | float]
    site: Mapping[str, int]
    points: Annotated[tuple[DispatchPoint, ...], SOME]


class Dispatch(Record):
    """What `dispatch --json` writes; `machine` is what identifies the measurement."""

    dispatch_format: Literal[1]
    file: str
    machine: tuple[str, ...]
    tables: Annotated[tuple[DispatchTable, ...], SOME]


def add_dispatch(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "dispatch",
        help="show the fastest way to copy scattered pages",
        description="Shows which method copies scattered pages fastest, by their size and number: its rate, "
        "and how many times as fast as the next one it is. Methods tie where the combined uncertainty of "
        "both covers their difference. Each path has a table, and each way in which pages lie.",
        epilog="Exit status: 0 shown, 2 usage, an unreadable file, or a run without rows of shape/pages.",
    )
    files.add_file(parser)
    parser.add_argument(
        "--axis",
        action="append",
        default=[],
        metavar="AXIS=VALUE,…",
        help=f"only these: {', '.join(pages.USUAL)}; may be given several times",
    )
    parser.add_argument(
        "--json", type=files.path, metavar="FILE", help="write the tables with all methods as JSON"
    )
    parser.add_argument(
        "--header",
        type=files.path,
        metavar="FILE",
        help="write a C header with `grainscope_page_method(path, page_bytes, pages)`: of each path the "
        "table of drawn pages in the usual pool and memory, or the one chosen by --axis",
    )
    return parser


def run_dispatch(arguments: argparse.Namespace) -> int:
    """Prints the tables, and writes the files asked for."""
    outputs = [path for path in (arguments.json, arguments.header) if path]
    files.keep([arguments.file], outputs)
    [result] = files.results([arguments.file])
    found = pages.tables(result, pages.wanted(arguments.axis))
    texts = {arguments.json: lambda: json_text(document(result, found)) + "\n",
             arguments.header: lambda: header(result, pages.usual(found))}  # fmt: skip
    contents = {path: texts[path]() for path in outputs}
    for line in lines(found, terminal()):
        print(line)
    for path, content in contents.items():
        files.write(path, content)
    if outputs:
        print(f"written: {', '.join(map(str, outputs))}")
    return EXIT_OK


def lines(found: Sequence[Table], out: Terminal) -> Iterator[str]:
    """Each table under its title."""
    for at, table in enumerate(found):
        if at:
            yield ""
        yield out.paint(out.wrap(table.title, ""), "bold")
        yield from (f"  {line}" for line in out.headed(COLUMNS, [cells(point) for point in table.points]))
    if any(not way.row.both_known for table in found for point in table.points for way in point.ways):
        yield out.note("Uncertainties are of this run alone: what runs differ by is not known for all rows.")


def cells(point: Point) -> list[str]:
    """A point as a line of the table."""
    first, tied = point.ways[0], [way.method for way in point.tied]
    others = tied or [way.method for way in point.ways[1:2]]
    margin = point.margin
    return [
        format_bytes(point.page),
        str(point.pages),
        first.method,
        format_rate(first.rate.value),
        metrics.plus_minus(first.rate),
        ", ".join(others) or "-",
        "-" if margin is None else TIE if tied else f"{significant(margin.value)} ×",
        "-" if margin is None or tied else metrics.plus_minus(margin),
        plural(len(point.ways), "method"),
    ]


def document(result: Result, found: Sequence[Table]) -> dict[str, Any]:
    """The tables as plain data, in the file's units."""
    return {
        "dispatch_format": FORMAT,
        "file": str(result.path),
        "machine": machine.provenance(result),
        "tables": [
            {
                "path": table.path,
                "axes": dict(table.axes),
                "site": dict(table.site),
                "points": [_point(point) for point in table.points],
            }
            for table in found
        ],
    }


def _point(point: Point) -> dict[str, Any]:
    margin = point.margin
    second = {"second": point.ways[1].method, "margin": statistics.plain(margin)} if margin else {}
    return {
        "page": point.page,
        "pages": point.pages,
        "method": point.ways[0].method,
        "tied": [way.method for way in point.tied],
        **second,
        "ways": [_way(way) for way in point.ways],
    }


def _way(way: Way) -> dict[str, Any]:
    taken = {
        name: way.row.counters[name] for name in ("cpu_s", "multiprocessors") if name in way.row.counters
    }
    return {
        "method": way.method,
        "bandwidth_gb_s": statistics.plain(way.rate),
        "both_known": way.row.both_known,
        "case": way.row.name,
        **taken,
    }


HEADER = """\
/* Which method copies scattered pages fastest, as measured. Written by grainscope-report dispatch.
 *
{measured}
 *
 * A page's size and the number of pages that are wanted together choose the nearest measured point: the one
 * with the least product of both ratios, which is the nearest by the sum of distances in log space. Compiles
 * as C99 and as C++. What each method is: docs/transfer.md of GrainScope.
 */
#ifndef GRAINSCOPE_PAGES_H
#define GRAINSCOPE_PAGES_H

#include <stddef.h>
#include <stdint.h>

enum grainscope_path {{
{paths}
}};

enum grainscope_method {{
  GRAINSCOPE_NOT_MEASURED = 0,
{methods}
}};

struct grainscope_page_point {{
  enum grainscope_path path;
  uint64_t page_bytes;
  uint64_t pages;
  enum grainscope_method method;
}};

static const struct grainscope_page_point grainscope_page_points[] = {{
{points}
}};

static inline double grainscope_page_ratio(uint64_t one, uint64_t other) {{
  const double a = one > 0 ? (double)one : 1.0;
  const double b = other > 0 ? (double)other : 1.0;
  return a > b ? a / b : b / a;
}}

/* The fastest method; GRAINSCOPE_NOT_MEASURED on a path without a table. */
static inline enum grainscope_method grainscope_page_method(enum grainscope_path path, uint64_t page_bytes,
                                                            uint64_t pages) {{
  enum grainscope_method method = GRAINSCOPE_NOT_MEASURED;
  double nearest = 0.0;
  size_t at;
  for (at = 0; at < sizeof grainscope_page_points / sizeof grainscope_page_points[0]; ++at) {{
    const struct grainscope_page_point* const point = &grainscope_page_points[at];
    if (point->path == path) {{
      const double away = grainscope_page_ratio(page_bytes, point->page_bytes) *
                          grainscope_page_ratio(pages, point->pages);
      if (method == GRAINSCOPE_NOT_MEASURED || away < nearest) {{
        method = point->method;
        nearest = away;
      }}
    }}
  }}
  return method;
}}

#endif /* GRAINSCOPE_PAGES_H */
"""


def header(result: Result, found: Sequence[Table]) -> str:
    """The C header of one table a path."""
    ways = {way.method for table in found for point in table.points for way in point.ways}
    if unknown := sorted(ways - PAGE_METHODS.keys() | {table.path for table in found} - PAGE_PATHS.keys()):
        raise ReportError(f"no header can name {', '.join(unknown)}: use the grainscope-report of that run")
    measured = [*machine.provenance(result), *(table.title for table in found)]
    return HEADER.format(
        measured="\n".join(f" * {_comment(line)}" for line in measured),
        paths=_enumerators(PAGE_PATHS, "PATH", 0),
        methods=_enumerators(PAGE_METHODS, "METHOD", 1),
        points="\n".join(_initializer(table.path, point) for table in found for point in table.points),
    )


def _enumerators(names: Sequence[str] | Mapping[str, Any], kind: str, first: int) -> str:
    """Numbered, so that headers of two machines agree."""
    return ",\n".join(f"  {_name(kind, name)} = {at}" for at, name in enumerate(names, first))


def _name(kind: str, name: str) -> str:
    return f"GRAINSCOPE_{kind}_{name.upper()}"


def _initializer(path: str, point: Point) -> str:
    first, others = point.ways[0], [way.method for way in point.tied]
    fields = f"{_name('PATH', path)}, {point.page}u, {point.pages}u, {_name('METHOD', first.method)}"
    rate = f"{format_rate(first.rate.value)} GB/s {_ends(first.rate)}"
    if others:
        more = f"; as fast within the uncertainty: {', '.join(others)}"
    else:
        margin = point.margin
        more = f"; {significant(margin.value)} times {point.ways[1].method}" if margin else "; alone"
    return f"  {{{fields}}}, /* {_comment(rate + more)} */"


def _ends(rate: Estimate) -> str:
    return f"[{format_rate(rate.low)}, {format_rate(rate.high)}]"


def _comment(text: str) -> str:
    """Text that neither ends nor begins a comment, continues no line and makes no trigraph."""
    plain = text.replace("→", "->").replace("×", "x").encode("ascii", "replace").decode()
    plain = "".join(letter if letter.isprintable() else " " for letter in plain)
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("?", ".")


if __name__ == "__main__":
    print(typed.schema_text(Dispatch, f"GrainScope dispatch tables, format {FORMAT}"), end="")
