"""Results in other forms: `export` and `import`.

`export trace` writes the steps of rows in Chrome's trace event format, which Perfetto and chrome://tracing
open. Of a `timeline` each GPU is a process and each stage a thread, a step a complete event. Of `levels` the
row is a process with one thread, and with counters of the frontier and of the rates. Every process begins at
0, so that rows of one file lie beside each other.

Perfetto knows a thread by its number alone, and does not draw steps that overlap where they are: no two
numbers are alike, and a step ends where the next one begins.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, count
from pathlib import Path
from typing import Any

from grainscope_report import families, loading, naming, refusing, selecting, visits
from grainscope_report.analysis import of_link
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_NOT_COMPARABLE, EXIT_OK, ReportError
from grainscope_report.fleet import sources
from grainscope_report.groups.gnn import STAGES, mini_batches
from grainscope_report.loading import quoted
from grainscope_report.machine import cpu, gpus, machines
from grainscope_report.model import Level, Result, Row, Stage
from grainscope_report.others import beside, reading
from grainscope_report.others.beside import Import
from grainscope_report.others.reading import TOOLS
from grainscope_report.units import format_rate, format_time, plural, significant
from grainscope_report.writing import (
    csv_text,
    in_markdown,
    markdown_row,
    section_lines,
    sections_markdown,
    terminal,
)

# The trace that `export trace` writes.

DIGITS = 5  # of rates, which people read
OPENS = "open it at ui.perfetto.dev or chrome://tracing"
_COUNTERS = {stage: name for name, stage in STAGES.items()}
Event = dict[str, Any]


def trace_text(results: Sequence[Result]) -> tuple[str, int]:
    """The trace of every row that has one, and how many these are; ReportError where none has."""
    shown, rows, events = machines(results), 0, []
    numbers = count(1)
    for machine in shown:
        for row in filter(_is_traced, machine.result.rows):
            said = "" if row.label == "measured" else f"{row.label}: "
            owner = f"{machine.letter}: " if len(shown) > 1 else ""
            events += _row(machine.result, row, owner + said, numbers)
            rows += 1
    if not rows:
        raise ReportError(_why_none(results))
    head = {"displayTimeUnit": "ms", "otherData": {one.letter: one.provenance for one in shown}}
    lines = ",\n".join(json.dumps(event, ensure_ascii=False) for event in events)
    return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "traceEvents": [\n{lines}\n]}}\n', rows


def _is_traced(row: Row) -> bool:
    return row.ok and bool(row.timeline or any(level.seconds for level in row.levels))


def _why_none(results: Sequence[Result]) -> str:
    rows = sum(len(result.rows) for result in results)
    algorithms = " and ".join(f"{name}/*" for name in families.having("walks"))
    return (
        f"{', '.join(str(result.path) for result in results)}: a trace is made of a timeline or of the times "
        f"of levels, and no ok row has any (of {plural(rows, 'row')}); rows of "
        f"{' and '.join(families.having('staged'))} have a timeline, rows of {algorithms} have levels"
    )


def _row(result: Result, row: Row, said: str, numbers: Iterator[int]) -> Iterator[Event]:
    """The processes of a row, named by where they ran and by the case."""
    if not row.timeline:
        process = next(numbers)
        yield from _named("process", f"{said}{_place(result, row)} · {row.name}", pid=process)
        yield from _levels(row, process, next(numbers))
        return
    for stage in row.timeline:
        if len(stage.begin_s) != len(stage.end_s):
            begun, ended = plural(len(stage.begin_s), "step"), len(stage.end_s)
            raise ReportError(
                f"{result.path}: in {row.name} {begun} of {stage.lane} began and {ended} ended: see all with "
                f"`grainscope-report validate {quoted(result.path)}`"
            )
    for gpu in sorted({stage.gpu for stage in row.timeline}, key=lambda gpu: -1 if gpu is None else gpu):
        process = next(numbers)
        yield from _named("process", f"{said}{_processor(result, gpu)} · {row.name}", pid=process)
        for stage in (one for one in row.timeline if one.gpu == gpu):
            ids = {"pid": process, "tid": next(numbers)}
            yield from _named("thread", stage.lane, **ids)
            yield from _stage(row, stage, ids)


def _processor(result: Result, gpu: int | None) -> str:
    """`GPU 0, NVIDIA H100 80GB HBM3`; without a GPU the CPU."""
    names = result.environment.gpu_names
    if gpu is None:
        return cpu(result)
    return f"GPU {gpu}, {names[gpu]}" if gpu < len(names) else f"GPU {gpu}"


def _place(result: Result, row: Row) -> str:
    """Where all of a row ran; a model ran nowhere."""
    several = row.case.axes.get("gpus", 1)
    if "gpu" not in row.case.site:
        return "no GPU" if row.label == "modelled" else cpu(result)
    first = _processor(result, row.case.site["gpu"])
    return f"{several} GPUs, first {first}" if several != 1 else first


def _named(kind: str, name: str, **ids: int) -> Iterator[Event]:
    """The name of a process or a thread, and its place: in the order of the numbers."""
    yield {"name": f"{kind}_name", "ph": "M", **ids, "args": {"name": name}}
    yield {"name": f"{kind}_sort_index", "ph": "M", **ids, "args": {"sort_index": [*ids.values()][-1]}}


def _stage(row: Row, stage: Stage, ids: dict[str, int]) -> Iterator[Event]:
    """A stage's steps, each of a mini-batch or of a window of them."""
    begins = [round(1e9 * begin) for begin in stage.begin_s]
    for at, batches in enumerate(mini_batches(row, stage)):
        end = min([round(1e9 * stage.end_s[at]), *begins[at + 1 : at + 2]])
        several = f"mini-batches {batches[0]} to {batches[-1]}"
        name = f"mini-batch {batches[0]}" if len(batches) == 1 else several
        times = {"ts": begins[at] / 1000, "dur": max(0, end - begins[at]) / 1000}
        args = _of_step(row, stage, len(batches), stage.end_s[at] - stage.begin_s[at])
        yield {"name": name, "cat": stage.lane, "ph": "X", **times, **ids, "args": args}


def _of_step(row: Row, stage: Stage, batches: int, seconds: float) -> Event:
    """What a row knows of a step of so many mini-batches: of bytes and rows the mean over all."""
    found: Event = {"seeds": _number(row, "batch", 0) * batches or None}
    if stage.lane == STAGES["gather_s"]:
        share = batches / _number(row, "gpus", 1)
        nodes, asked, crossed = row.counters.get("nodes"), row.bytes, row.link_bytes_least
        found["rows, on average"] = nodes and round(nodes * batches)
        found["bytes, on average"] = asked and round(asked * share)
        found["bytes over the link, on average"] = None if crossed is None else round(crossed * share)
        found["GB/s by these bytes"] = _rate(asked and asked * share, seconds)
    alone = row.counters.get(_COUNTERS.get(stage.lane, ""))
    found["alone, median (µs)"] = alone and round(1e6 * alone * batches, 3)
    return {name: value for name, value in found.items() if value is not None}


# What is drawn as a curve, and what Perfetto calls it: by the track and the unit together.
ASKED, LINK = "asked for", "over the link, modelled"
TRACKS = {"vertices": "frontier", f"GB/s {ASKED}": ASKED, f"GB/s {LINK}": LINK}


def _levels(row: Row, process: int, thread: int) -> Iterator[Event]:
    """The rounds of the first trial one after another, with curves of what all that were timed know."""
    ids = {"pid": process, "tid": thread}
    yield from _named("thread", f"levels of {row.trials[0].label}" if row.trials else "levels", **ids)
    ends = [round(1e9 * end) for end in accumulate(level.seconds or 0.0 for level in row.levels)]
    known = [_of_level(row, level) for level in row.levels]
    timed = [args for level, args in zip(row.levels, known, strict=True) if level.seconds]
    tracks = [name for name in TRACKS if all(name in args for args in timed)]
    for level, args, begin, end in zip(row.levels, known, [0, *ends[:-1]], ends, strict=True):
        # How long a level without a time took is not known: it is a moment.
        long = {"ph": "X", "dur": (end - begin) / 1000} if level.seconds else {"ph": "i", "s": "t"}
        long |= {"cat": "levels", "ts": begin / 1000}
        yield {"name": f"level {level.level}", **long, **ids, "args": args}
        if level.seconds:
            yield from (_counter(name, process, begin, args[name]) for name in tracks)
    yield from (_counter(name, process, ends[-1], 0) for name in tracks)


def _counter(name: str, process: int, at: int, value: float) -> Event:
    args = {name.split()[0]: value}
    return {"name": TRACKS[name], "ph": "C", "ts": at / 1000, "pid": process, "args": args}


def _of_level(row: Row, level: Level) -> Event:
    """What a row knows of a level; all edges have as many bytes."""
    read = row.counters.get("edges_read")
    asked = level.edges * row.bytes / read if row.bytes and read else None
    found: Event = {"vertices": level.active, "edges": level.edges, "requests, modelled": level.requests}
    for what, size in {ASKED: asked, LINK: level.link_bytes}.items():
        found[f"bytes {what}"] = size and round(size)
        found[f"GB/s {what}"] = _rate(size, level.seconds)
    return {name: value for name, value in found.items() if value is not None}


def _rate(size: float | None, seconds: float | None) -> float | None:
    return None if size is None or not seconds else float(significant(size / seconds / 1e9, DIGITS))


def _number(row: Row, axis: str, otherwise: int) -> int:
    value = row.case.axes.get(axis, otherwise)
    return int(value) if isinstance(value, (int, float)) else otherwise


PACKED = ".tar.gz"
ROWS, RUNS = ("csv", "md", "trace"), ("bundle", "digest")  # what `export` writes of rows, and of a run whole
FIXED = (
    "file", "host", "gpus", "cpu", "date", "run", "complete", "family", "version", "name", "status",
    "reason", "label", "visits", "samples", "median_s", "low_s", "high_s", "both_known", "bytes",
    "link_bytes_asked", "link_bytes_least", "bandwidth_gb_s", "link_fraction", "operations",
    "operation_s", "overlap", "power_w", "energy_j", "flags",
)  # fmt: skip


def add_export(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "export",
        help="write rows as CSV, Markdown or a trace for Perfetto, or a run as a bundle or digest to hand on",
        description="csv and md write every row. CSV has a column for each axis, site and counter that "
        "occurs, in the file's units: seconds, bytes, decimal GB/s; and each row's machine, whether its run "
        "is complete, and the version of what its family measures. Markdown has a table for each family, to "
        "read. trace writes when each step of a training's stages and each level of a traversal began and "
        "ended, in the trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing open. "
        "bundle writes the raw file of one run with a manifest and check sums: packed where the name "
        "ends in .tar.gz, else a folder. Every command reads a bundle and refuses one that was altered. "
        "digest writes what `fleet` needs of one run, as a run does at its end.",
        epilog="Exit status: 0 written, 2 usage, a file that cannot be read or written, or no row to write.",
    )
    parser.add_argument("kind", choices=(*ROWS, *RUNS), help="the format")
    files.add_files(parser)
    parser.add_argument(
        "--filter", metavar="REGEX", help=f"of {', '.join(ROWS)}: only rows whose name contains a match"
    )
    parser.add_argument(
        "-o", "--out", type=files.path, metavar="FILE", help="where to write (default: print)"
    )
    return parser


def run_export(arguments: argparse.Namespace) -> int:
    """Writes or prints the table."""
    if arguments.out:
        files.keep(arguments.files, [arguments.out])
    if arguments.kind in RUNS:
        if arguments.filter is not None:
            raise ReportError(f"a {arguments.kind} is of a whole run: give no --filter")
        return _bundle(arguments) if arguments.kind == "bundle" else _digest(arguments)
    found = files.results(arguments.files)
    refusing.require_each_once(found)
    results = _matching(found, arguments.filter)
    rows, opens = sum(len(result.rows) for result in results), ""
    if arguments.kind == "trace":
        text, rows = trace_text(results)
        opens = f"; {OPENS}"
    elif not rows:
        raise ReportError(
            f"{', '.join(str(result.path) for result in results)}: there is no row to write: a run that "
            "ended before its first case has none; run it again, or give another FILE"
        )
    else:
        text = rows_csv(results) if arguments.kind == "csv" else rows_markdown(results)
    if arguments.out:
        files.write(arguments.out, text)
        print(f"{arguments.out}: {plural(rows, 'row')}{opens}")
    else:
        sys.stdout.write(text)
    return EXIT_OK


def _matching(results: Sequence[Result], text: str | None) -> list[Result]:
    """The results with the rows alone whose names match; ReportError says what is near where none does."""
    if text is None:
        return list(results)
    kept = [
        replace(result, rows=tuple(selecting.matching(text, result.rows, lambda row: row.name)))
        for result in results
    ]
    if not any(result.rows for result in kept):
        every = [row for result in results for row in result.rows]
        why = selecting.why_no_name(text, every)
        raise ReportError(
            f"{', '.join(str(result.path) for result in results)}: none of {plural(len(every), 'row')} has a "
            f"name that matches {text!r}" + (f"; {why}" if why else "")
        )
    return kept


def _digest(arguments: argparse.Namespace) -> int:
    """Writes the one file as a digest."""
    if len(arguments.files) > 1 or not arguments.out:
        raise ReportError(f"a digest is of one run: give one FILE, and -o {sources.DIGEST}")
    found, document = loading.load(arguments.files[0])
    files.read([(found, document)])
    size = files.write(arguments.out, sources.packed_digest(document))
    print(f"{arguments.out}: {len(document['benchmarks'])} rows, {size / 1e3:.1f} KB")
    return EXIT_OK


def _bundle(arguments: argparse.Namespace) -> int:
    """Writes the one file as a bundle."""
    if len(arguments.files) > 1 or not arguments.out:
        raise ReportError("a bundle is of one run: give one FILE, and -o OUT.tar.gz or -o DIR")
    found, document = loading.load(arguments.files[0])
    files.read([(found, document)])
    made = loading.bundle_files(loading.raw(found), document, found.name)
    out: Path = arguments.out
    if out.name.endswith(PACKED):
        files.write(out, loading.packed_bundle(made, out.name.removesuffix(PACKED) or "bundle"))
    else:
        # The folder comes with its files: one that somebody is in would stay behind without them.
        if out.exists() and (not out.is_dir() or any(out.iterdir()) or out.samefile(Path.cwd())):
            raise ReportError(f"{out} is there already: give a new folder, or a name that ends in {PACKED}")
        files.write_folder(out, made)
    print(f"{out}: {found} with its check sums")
    return EXIT_OK


def rows_csv(results: Sequence[Result]) -> str:
    """Every row of every file; a column `axis.…`, `site.…`, `counter.…` for each that occurs in any."""
    rows = [_record(result, row) for result in results for row in result.rows]
    more = sorted({key for row in rows for key in row} - set(FIXED), key=lambda key: (key.split(".")[0], key))
    columns = (*FIXED, *more)
    return csv_text(columns, ([row.get(column) for column in columns] for row in rows))


def _record(result: Result, row: Row) -> dict[str, object]:
    """The columns of a row: what is made here, else the row's field of that name."""
    made = {
        "file": str(result.path),
        "host": result.host,
        "gpus": gpus(result),
        "cpu": cpu(result),
        "date": result.date,
        "run": result.run.id,
        "complete": result.run.complete,
        "family": row.case.family,
        "version": row.case.version,
        "visits": len(row.visits),
        "samples": len(row.samples_s),
        "low_s": row.time and row.time.low,
        "high_s": row.time and row.time.high,
        "flags": " ".join(sorted(row.flags)),
    }
    return {
        **{name: made[name] if name in made else getattr(row, name) for name in FIXED},
        **{f"axis.{name}": value for name, value in row.case.axes.items()},
        **{f"site.{name}": value for name, value in row.case.site.items()},
        **{f"counter.{name}": value for name, value in row.counters.items()},
    }


def rows_markdown(results: Sequence[Result]) -> str:
    """A table for each family of each file, its axes as columns."""
    parts = []
    for machine in machines(results):
        parts.append(f"# {in_markdown(machine.label)}\n\n{in_markdown(machine.provenance)}\n")
        if not machine.result.run.complete:
            parts.append(f"The run is not complete: {in_markdown(machine.result.run.why_incomplete)}\n")
        families: dict[tuple[str, int], list[Row]] = {}
        for row in machine.result.rows:
            families.setdefault((row.case.family, row.case.version), []).append(row)
        for (family, version), rows in families.items():
            heading = f"## {in_markdown(family)}, version {version}"
            parts.append(f"{heading}\n\n" + "\n".join(_table(rows)) + "\n")
    return "\n".join(parts)


def _table(rows: Sequence[Row]) -> Iterator[str]:
    axes = list(dict.fromkeys(axis for row in rows for axis in row.case.axes))
    sites = list(dict.fromkeys(site for row in rows for site in row.case.site))
    yield markdown_row([*axes, *sites, "median", "95 % interval", "GB/s", "of link", "what else"])
    yield markdown_row(["---"] * (len(axes) + len(sites)) + ["---:", "---", "---:", "---:", "---"])
    for row in rows:
        yield markdown_row(
            [
                *(_axis(axis, row.case.axes.get(axis)) for axis in axes),
                *(str(row.case.site.get(site, "")) for site in sites),
                *_numbers(row),
            ]
        )


def _numbers(row: Row) -> list[str]:
    else_ = [
        "" if row.ok else f"{row.status}: {row.reason}",
        "" if row.label == "measured" else row.label,
        *sorted(row.flags),
    ]
    return [
        format_time(row.median_s) if row.median_s else "",
        f"[{format_time(row.time.low)}, {format_time(row.time.high)}]" if row.time else "",
        format_rate(row.bandwidth_gb_s) if row.bandwidth_gb_s else "",
        of_link(row),
        ", ".join(part for part in else_ if part),
    ]


def _axis(axis: str, value: str | float | None) -> str:
    return naming.size(axis, value) if isinstance(value, (int, float)) else value or ""


def add_import(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "import",
        help="show results of nvbandwidth, nccl-tests or Comm|Scope beside ours",
        description="Reads what nvbandwidth (text or --json), nccl-tests (text or -J) or Comm|Scope (Google "
        "Benchmark's JSON) wrote, and shows which case of GrainScope answers each of its numbers. With a run "
        "it shows our number beside theirs, their ratio, and what differs between the two measurements.",
        epilog="docs/coverage.md has the whole table of counterparts. Exit status: 0 shown, 2 usage or a "
        "file that cannot be read, 3 no number of theirs has one of the run beside it.",
    )
    files.add_files(parser, "the output of another tool, also packed by gzip")
    parser.add_argument("--with", dest="run_file", type=files.path, metavar="RUN", help=files.A_FILE)
    parser.add_argument(
        "--as", dest="tool", choices=TOOLS, help="which tool it must be of (default: as the file says)"
    )
    files.add_type_b(parser)
    files.add_formats(parser)
    parser.add_argument("--all", action="store_true", help="every number, and all of what differs")
    return parser


def run_import(arguments: argparse.Namespace) -> int:
    """Reads everything, then writes and prints."""
    given = [*arguments.files, *([arguments.run_file] if arguments.run_file else [])]
    outputs = [reading.read(path, arguments.tool) for path in arguments.files]
    files.keep(given, arguments.out)
    result = (
        files.results([arguments.run_file], visits.type_b_tables(arguments.type_b))[0]
        if arguments.run_file
        else None
    )
    imports = [
        Import(path, output, beside.pairs(output, result), result)
        for path, output in zip(arguments.files, outputs, strict=True)
    ]
    for path in arguments.out:
        files.write(path, _import_content(imports, path.suffix[1:], arguments.all))
    print(_import_content(imports, arguments.format, arguments.all), end="")
    nothing = result is not None and not any(pair.ours for imported in imports for pair in imported.pairs)
    return EXIT_NOT_COMPARABLE if nothing else EXIT_OK


def _import_content(imports: Sequence[Import], kind: str, everything: bool) -> str:
    if kind == "csv":
        return beside.as_csv(imports)
    if kind == "json":
        return beside.as_json(imports)
    if kind == "md":
        return sections_markdown([*beside.sections(imports, None)], "Results of other tools")
    out = terminal()
    parts = [*beside.sections(imports, None if everything else out.width)]
    return "\n".join(section_lines(parts, out)) + "\n"
