"""`grainscope-report dispatch`: the fastest way to copy scattered pages, as a table, as JSON, as a C header.

The schema of the JSON in docs/ is made of the records here:
`python -m grainscope_report.commands.dispatch > ../docs/dispatch.schema.json` from `scripts/`.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from grainscope_report import machine, metrics, refusing, statistics, typed
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_OK, ReportError
from grainscope_report.groups import shape as pages
from grainscope_report.groups.shape import PAGE_METHODS, PAGE_PATHS, Point, Table, Way
from grainscope_report.model import SOME, Amount, Ordinal, Positive, Result
from grainscope_report.statistics import Estimate
from grainscope_report.typed import Record
from grainscope_report.units import format_bytes, format_rate, plural, significant
from grainscope_report.writing import Column, Terminal, json_text, known, terminal

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
    Column("unmeasured"),
    Column("flags", optional=4),
)
TIE = "tie"


class Interval(Record):
    """A value with its 95 % interval."""

    value: Positive
    low: Positive
    high: Positive


class MethodRate(Record):
    """A method at a point: decimal GB/s, and what a sample takes of the CPU and of the GPU, where known.

    `both_known`: the interval has the uncertainties of both types, else that of this run alone. Of `relay`
    so many `neighbours` pass on `share` percent of the pages.
    """

    method: str
    bandwidth_gb_s: Interval
    both_known: bool
    case: str
    cpu_s: Amount | None = None
    multiprocessors: Amount | None = None
    flags: tuple[str, ...] = ()
    neighbours: Ordinal | None = None
    share: Amount | None = None


class DispatchPoint(Record):
    """Pages of one size, in bytes, and number; `ways` go from fast to slow.

    `margin` is how many times as fast as the `second` the first is; both are absent of a method alone.
    `tied` are methods that are as fast within the combined uncertainty. `unmeasured` were not measured here,
    and are first or tie at the nearest point that has them; `failed` failed here.
    """

    page: Ordinal
    pages: Ordinal
    method: str
    tied: tuple[str, ...]
    ways: Annotated[tuple[MethodRate, ...], SOME]
    second: str | None = None
    margin: Interval | None = None
    unmeasured: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class DispatchTable(Record):
    """The points of a path; `axes` say how the memory is held, how pages and pool lie, and the blocks."""

    path: str
    axes: Mapping[str, str | float]
    site: Mapping[str, int]
    points: Annotated[tuple[DispatchPoint, ...], SOME]


class Dispatch(Record):
    """What `dispatch --json` writes; `machine` is what identifies the measurement.

    `lacks` says why the run may not have the fastest method of all: it is a part, or not complete.
    """

    dispatch_format: Literal[1]
    file: str
    machine: tuple[str, ...]
    tables: Annotated[tuple[DispatchTable, ...], SOME]
    lacks: str = ""


def add_dispatch(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "dispatch",
        help="show the fastest way to copy scattered pages",
        description="Shows which method copies scattered pages fastest, by their size and number: its rate, "
        "and how many times as fast as the next one it is. Methods tie where the combined uncertainty of "
        "both covers their difference. `unmeasured` are methods that were not measured there, but win at the "
        "nearest point that has them. Each path has a table, and each way in which pages lie.",
        epilog="Exit status: 0 shown, 2 usage, a file that cannot be read or contradicts itself, or a run "
        "without rows of shape/pages.",
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
        help="write a C header with `grainscope_page_method(path, page_bytes, pages)` and with the point "
        "that answers: of each path the table of drawn pages in the usual pool and memory, or the one that "
        "--axis chooses",
    )
    return parser


def run_dispatch(arguments: argparse.Namespace) -> int:
    """Prints the tables, and writes the files asked for."""
    outputs = [path for path in (arguments.json, arguments.header) if path]
    files.keep([arguments.file], outputs)
    if len(outputs) > len({path.resolve() for path in outputs}):
        raise ReportError(f"{outputs[0]} cannot be the JSON and the header: choose two files")
    [result] = files.results([arguments.file])
    if outputs:
        refusing.require_right(result)
    found = pages.tables(result, pages.wanted(arguments.axis))
    texts = {arguments.json: lambda: json_text(document(result, found)) + "\n",
             arguments.header: lambda: header(result, pages.usual(found))}  # fmt: skip
    contents = {path: texts[path]() for path in outputs}
    for line in lines(found, terminal()):
        print(line)
    if lacking := machine.not_whole(result.run):
        print(terminal().note(lacking))
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
        shown = known(COLUMNS, [cells(point) for point in table.points], only=("unmeasured", "flags"))
        yield from (f"  {line}" for line in out.headed(*shown))
    if any(point.unmeasured for table in found for point in table.points):
        yield out.note("Unmeasured: not measured there, but the fastest at the nearest point that has it.")
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
        _spoken(first),
        format_rate(first.rate.value),
        metrics.plus_minus(first.rate),
        ", ".join(others) or "-",
        "-" if margin is None else TIE if tied else f"{significant(margin.value)} ×",
        "-" if margin is None or tied else metrics.plus_minus(margin),
        plural(len(point.ways), "method"),
        ", ".join([*point.unmeasured, *(f"{method} (failed)" for method in point.failed)]) or "-",
        " ".join(sorted(first.row.flags)) or "-",
    ]


def _spoken(way: Way) -> str:
    """The method, and how much of the pages neighbours pass on: `relay 50 % by 1`."""
    neighbours, share = way.relayed
    return f"{way.method} {share:.3g} % by {neighbours}" if neighbours else way.method


def document(result: Result, found: Sequence[Table]) -> dict[str, Any]:
    """The tables as plain data, in the file's units."""
    return {
        "dispatch_format": FORMAT,
        "file": str(result.path),
        "machine": machine.provenance(result),
        "lacks": machine.not_whole(result.run),
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
        "unmeasured": point.unmeasured,
        "failed": point.failed,
        "ways": [_way(way) for way in point.ways],
    }


def _way(way: Way) -> dict[str, Any]:
    taken = {
        name: way.row.counters[name] for name in ("cpu_s", "multiprocessors") if name in way.row.counters
    }
    neighbours, share = way.relayed
    if neighbours:
        taken |= {"neighbours": neighbours, "share": share}
    return {
        "method": way.method,
        "bandwidth_gb_s": statistics.plain(way.rate),
        "both_known": way.row.both_known,
        "case": way.row.name,
        "flags": sorted(way.row.flags),
        **taken,
    }


HEADER = """\
/* Which method copies scattered pages fastest, as measured. Written by grainscope-report dispatch.
 *
{measured}
 *
 * A page's size and the number of pages that are wanted together choose the nearest measured point: the one
 * with the least product of both ratios, which is the nearest by the sum of distances in log space. Beyond
 * what was measured the nearest point answers as well; `away` says how far it is. Compiles as C99 and as C++.
 * What each method is: docs/transfer.md of GrainScope.
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
  uint32_t neighbours;  /* of GRAINSCOPE_METHOD_RELAY: GPUs that pass pages on, else 0 */
  double share_percent; /* of GRAINSCOPE_METHOD_RELAY: the pages that they pass on together, else 0 */
}};

static const struct grainscope_page_point grainscope_page_points[] = {{
{points}
}};

static inline double grainscope_page_ratio(uint64_t one, uint64_t other) {{
  const double a = one > 0 ? (double)one : 1.0;
  const double b = other > 0 ? (double)other : 1.0;
  return a > b ? a / b : b / a;
}}

/* The nearest point, NULL on a path without a table. `away`, if not NULL, becomes the product of both ratios:
 * 1 at a measured point, 4 of pages twice as large and twice as many. */
static inline const struct grainscope_page_point* grainscope_page_nearest(enum grainscope_path path,
                                                                          uint64_t page_bytes, uint64_t pages,
                                                                          double* away) {{
  const struct grainscope_page_point* found = NULL;
  double nearest = 0.0;
  size_t at;
  for (at = 0; at < sizeof grainscope_page_points / sizeof grainscope_page_points[0]; ++at) {{
    const struct grainscope_page_point* const point = &grainscope_page_points[at];
    if (point->path == path) {{
      const double product = grainscope_page_ratio(page_bytes, point->page_bytes) *
                             grainscope_page_ratio(pages, point->pages);
      if (found == NULL || product < nearest) {{
        found = point;
        nearest = product;
      }}
    }}
  }}
  if (away != NULL) {{
    *away = nearest;
  }}
  return found;
}}

/* The fastest method there; GRAINSCOPE_NOT_MEASURED on a path without a table. */
static inline enum grainscope_method grainscope_page_method(enum grainscope_path path, uint64_t page_bytes,
                                                            uint64_t pages) {{
  const struct grainscope_page_point* const point = grainscope_page_nearest(path, page_bytes, pages, NULL);
  return point != NULL ? point->method : GRAINSCOPE_NOT_MEASURED;
}}

#endif /* GRAINSCOPE_PAGES_H */
"""


def header(result: Result, found: Sequence[Table]) -> str:
    """The C header of one table a path."""
    ways = {way.method for table in found for point in table.points for way in point.ways}
    if unknown := sorted(ways - PAGE_METHODS.keys() | {table.path for table in found} - PAGE_PATHS.keys()):
        raise ReportError(f"no header can name {', '.join(unknown)}: use the grainscope-report of that run")
    measured = [*machine.provenance(result), *(table.title for table in found)]
    measured += filter(None, [machine.not_whole(result.run)])
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
    neighbours, share = first.relayed
    method = f"{_name('METHOD', first.method)}, {neighbours}u, {share:.1f}"
    fields = f"{_name('PATH', path)}, {point.page}u, {point.pages}u, {method}"
    rate = f"{format_rate(first.rate.value)} GB/s {_ends(first.rate)}"
    if others:
        more = f"; as fast within the uncertainty: {', '.join(others)}"
    else:
        margin = point.margin
        more = f"; {significant(margin.value)} times {point.ways[1].method}" if margin else "; alone"
    beside = {"not measured": point.unmeasured, "failed": point.failed, "flags": first.row.flags}
    more += "".join(f"; {what}: {', '.join(names)}" for what, names in beside.items() if names)
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
