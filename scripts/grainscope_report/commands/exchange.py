"""Results in other forms: `export` and `import`, and `merge`, which makes one result of a run's shards."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from grainscope_report import loading, naming, reader, selecting, trace, typed, uncertainty, visits
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_NOT_COMPARABLE, EXIT_OK, ReportError
from grainscope_report.fleet import sources
from grainscope_report.machine import machines
from grainscope_report.model import Ends, Link, Result, Row, ends
from grainscope_report.others import beside, reading
from grainscope_report.others.beside import Import
from grainscope_report.others.reading import TOOLS
from grainscope_report.refusing import require_right
from grainscope_report.terminal import terminal
from grainscope_report.units import format_percent, format_rate, format_time, plural
from grainscope_report.writing import (
    csv_text,
    in_markdown,
    json_text,
    markdown_row,
    section_lines,
    sections_markdown,
)

PACKED = ".tar.gz"
ROWS, RUNS = ("csv", "md", "trace"), ("bundle", "digest")  # what `export` writes of rows, and of a run whole
FIXED = (
    "file", "host", "date", "run", "family", "name", "status", "reason", "label", "visits",
    "samples", "median_s", "low_s", "high_s", "both_known", "bytes", "link_bytes_asked", "link_bytes_least",
    "bandwidth_gb_s", "link_fraction", "operations", "operation_s", "overlap", "flags",
)  # fmt: skip
Raw = dict[str, Any]
Loaded = tuple[Path, Raw]


def add_export(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "export",
        help="write rows as CSV, Markdown or a trace for Perfetto, or a run as a bundle or digest to hand on",
        description="csv and md write every row. CSV has a column for each axis, site and counter that "
        "occurs, in the file's units: seconds, bytes, decimal GB/s. Markdown has a table for each family, to "
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
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="where to write (default: print)")
    return parser


def run_export(arguments: argparse.Namespace) -> int:
    """Writes or prints the table."""
    if arguments.out:
        files.keep(arguments.files, [arguments.out])
    if arguments.kind in RUNS:
        if arguments.filter is not None:
            raise ReportError(f"a {arguments.kind} is of a whole run: give no --filter")
        return _bundle(arguments) if arguments.kind == "bundle" else _digest(arguments)
    results = _matching(files.results(arguments.files), arguments.filter)
    rows, opens = sum(len(result.rows) for result in results), ""
    if arguments.kind == "trace":
        text, rows = trace.write(results)
        opens = f"; {trace.OPENS}"
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
    pattern = selecting.name_pattern(text)
    kept = [
        replace(result, rows=tuple(row for row in result.rows if pattern.search(row.name)))
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
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ReportError(f"{out} is there already: give a new folder, or a name that ends in {PACKED}")
        for name, content in made.items():
            files.write(out / name, content)
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
        "date": result.date,
        "run": result.run.id,
        "family": row.case.family,
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
        families: dict[str, list[Row]] = {}
        for row in machine.result.rows:
            families.setdefault(row.case.family, []).append(row)
        for family, rows in families.items():
            parts.append(f"## {in_markdown(family)}\n\n" + "\n".join(_table(rows)) + "\n")
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
        format_percent(row.link_fraction) if row.link_fraction else "",
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
    parser.add_argument("--with", dest="run_file", type=Path, metavar="RUN", help=files.A_FILE)
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


class NotOneRunError(ReportError):
    """Files that are no shards of one run; exit status 3."""

    status = EXIT_NOT_COMPARABLE


def merge(files: Sequence[Loaded]) -> Raw:
    """The whole run, from all its shards in any order; NotOneRunError names the files that are none."""
    _require_one_run(files)
    shards = [document for _, document in sorted(files, key=lambda file: _shard(file[1])["index"])]
    links = _best_links(shards)
    rows = list(_rows(shards))
    best = _typed(links)
    for shard, row in rows:
        own = _typed(shard["context"]["links"])
        _share_of(row, own, {pair: best[pair] for pair in own})
    context = dict(shards[0]["context"])
    context["links"] = links
    context["run"] = _merged_run([shard["context"]["run"] for shard in shards])
    context["environment"] = _merged_environment([shard["context"]["environment"] for shard in shards])
    merged = [row for _, row in rows]
    uncertainty.apply(merged, context, uncertainty.table_of(context))
    return {"context": context, "benchmarks": merged}


def _shard(document: Raw) -> Raw:
    return document["context"]["run"]["shard"]


def _identity(document: Raw) -> dict[str, Any]:
    """What all shards of a run have in common, each under the words for it."""
    context = document["context"]
    run, environment = context["run"], context["environment"]
    return {
        "machine": context.get("host_name"),
        "CPU": environment["cpu"]["model"],
        "GPUs": [gpu.get("uuid") or gpu.get("name") for gpu in environment["gpus"]],
        "driver": environment["driver"]["version"],
        "version": (context["grainscope"]["version"], context["grainscope"]["commit"]),
        "preset": run["preset"],
        "filter": run["filter"],
        "number of visits": run["visits"],
        "table of type B": (context.get("type_b") or {}).get("sha256"),
        "flags": sorted(flag for flag in run["flags"] if not flag.startswith("--shard")),
        "number of shards": run["shard"]["count"],
    }


def _require_one_run(files: Sequence[Loaded]) -> None:
    (first, document), *others = files
    expected = _identity(document)
    for path, other in others:
        for what, found in _identity(other).items():
            if found != expected[what]:
                raise NotOneRunError(
                    f"{path} is no shard of the same run as {first}: {what} {found!r}, not {expected[what]!r}"
                )
    for path, one in files:
        if not one["context"]["run"]["complete"]:
            raise NotOneRunError(
                f"{path} is not complete ({one['context']['run']['why_incomplete']}): "
                f"finish it with `grainscope --resume {path.parent}`"
            )
    _require_all_shards(files)


def _require_all_shards(files: Sequence[Loaded]) -> None:
    count = _shard(files[0][1])["count"]
    found: dict[int, Path] = {}
    for path, document in files:
        index = _shard(document)["index"]
        if index in found:
            raise NotOneRunError(
                f"{found[index]} and {path} are both shard {index}/{count}: give each shard once"
            )
        found[index] = path
    if missing := [f"{index}/{count}" for index in range(1, count + 1) if index not in found]:
        raise NotOneRunError(
            f"shard {', '.join(missing)} is missing: run it with --shard, and give all of them"
        )


def _best_links(shards: Sequence[Raw]) -> list[Raw]:
    """Each link with the best of its measured peaks: a copy peak is the best of several visits."""
    best: dict[Ends | None, Raw] = {}
    for shard in shards:
        for pair, link in _by_ends(shard["context"]["links"]).items():
            if pair not in best or link["peak_gb_s"] > best[pair]["peak_gb_s"]:
                best[pair] = link
    return list(best.values())


def _by_ends(links: Sequence[Raw]) -> dict[Ends | None, Raw]:
    return {ends(link, link["direction"]): link for link in links}


def _typed(links: Sequence[Raw]) -> dict[Ends, Link]:
    return {one.ends: one for one in (typed.read(Link, link)[0] for link in links)}


def _share_of(row: Raw, own: Mapping[Ends, Link], best: Mapping[Ends, Link]) -> None:
    """A share of its own shard's peak becomes one of the run's. Both have the same links in one order."""
    if "link_fraction" in row:
        made = typed.read(Row, row)[0]
        fractions = reader.words()["fractions"]
        shares = zip(fractions(made, own), fractions(made, best), strict=True)
        row["link_fraction"] = next(new for old, new in shares if reader.same(old, row["link_fraction"]))


def _rows(shards: Sequence[Raw]) -> Iterator[tuple[Raw, Raw]]:
    """Rows with their shards, as one run has them: what was skipped beforehand, then case by case in turn."""
    for shard in shards:
        yield from ((shard, dict(row)) for row in shard["benchmarks"] if "family_index" not in row)
    run = [[row for row in shard["benchmarks"] if "family_index" in row] for shard in shards]
    rows = (
        (shard, row) for turn in zip_longest(*run) for shard, row in zip(shards, turn, strict=True) if row
    )
    for index, (shard, row) in enumerate(rows):
        yield shard, row | {"family_index": index}


def _merged_run(runs: Sequence[Raw]) -> Raw:
    merged = dict(runs[0])
    merged["id"] = "+".join(run["id"] for run in runs)
    merged["flags"] = [flag for flag in runs[0]["flags"] if not flag.startswith("--shard")]
    merged["started"] = min(run["started"] for run in runs)
    merged["ended"] = max(run["ended"] for run in runs)
    merged["shard"] = {"index": 1, "count": 1}
    if all("wall_s" in run for run in runs):
        merged["wall_s"] = sum(run["wall_s"] for run in runs)
    merged["counts"] = {status: sum(run["counts"][status] for run in runs) for status in runs[0]["counts"]}
    return merged


def _merged_environment(environments: Sequence[Raw]) -> Raw:
    """The first shard's, with the warnings of all."""
    warnings = {
        warning["id"]: warning
        for environment in reversed(environments)
        for warning in environment["warnings"]
    }
    return environments[0] | {"warnings": list(warnings.values())}


def add_merge(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        "merge",
        help="put the shards of one run together",
        description="Makes one result file of all shards of a run (`grainscope --shard I/N`): same machine, "
        "version, preset, filter and flags, each shard once and complete. Rows stand as in an unsharded run; "
        "each link's peak is the best that a shard measured, and shares of it are of that one.",
        epilog="Exit status: 0 written, 2 a file cannot be read or written, 3 the files are no shards of one "
        "run.",
    )
    files.add_files(parser, "a shard's result file or run directory")
    parser.add_argument("-o", "--out", required=True, type=Path, metavar="FILE", help="the file to write")
    return parser


def run_merge(arguments: argparse.Namespace) -> int:
    """Writes the merged file, whole or not at all."""
    files.keep(arguments.files, [arguments.out])
    loaded = [reader.load(path) for path in arguments.files]
    for path, document in loaded:
        require_right(reader.parse(path, document))
    document = merge(loaded)
    require_right(reader.parse(arguments.out, document))
    files.write(arguments.out, _merged_text(document))
    counts = document["context"]["run"]["counts"]
    print(
        f"{arguments.out}: {plural(len(loaded), 'shard')}, {counts['ok']} ok, {counts['skipped']} skipped, "
        f"{counts['failed']} failed"
    )
    return EXIT_OK


def _merged_text(document: dict[str, Any]) -> str:
    """JSON with a row a line, as grainscope writes it."""
    rows = ",\n  ".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in document["benchmarks"]
    )
    context = json_text(document["context"])
    return f'{{\n "benchmarks": [\n  {rows}\n ],\n "context": {context}\n}}\n'
