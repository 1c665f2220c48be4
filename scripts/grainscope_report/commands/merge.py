"""`grainscope-report merge`: the shards of one run become its result."""

import argparse
import json
from pathlib import Path
from typing import Any

from grainscope_report import merging, reader
from grainscope_report.commands import asked, files
from grainscope_report.errors import EXIT_OK


def register(commands: argparse._SubParsersAction) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "merge",
        help="put the shards of one run together",
        description="Makes one result file of all shards of a run (`grainscope --shard I/N`): same machine, "
        "version, preset, filter and flags, each shard once and complete. Rows stand as in an unsharded run; "
        "each link's peak is the best that a shard measured, and shares of it are of that one.",
        epilog="Exit status: 0 written, 2 a file cannot be read or written, 3 the files are no shards of one "
        "run.",
    )
    asked.add_files(parser, "a shard's result file or run directory")
    parser.add_argument("-o", "--out", required=True, type=Path, metavar="FILE", help="the file to write")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the merged file, whole or not at all."""
    files.keep(arguments.files, [arguments.out])
    loaded = [reader.load(path) for path in arguments.files]
    for path, document in loaded:
        reader.require_right(path, document)
    document = merging.merge(loaded)
    reader.require_right(arguments.out, document)
    files.write(arguments.out, _text(document))
    counts = document["context"]["run"]["counts"]
    print(
        f"{arguments.out}: {len(loaded)} shards, {counts['ok']} ok, {counts['skipped']} skipped, "
        f"{counts['failed']} failed"
    )
    return EXIT_OK


def _text(document: dict[str, Any]) -> str:
    """JSON with a row a line, as grainscope writes it."""
    rows = ",\n  ".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in document["benchmarks"]
    )
    context = json.dumps(document["context"], indent=1, ensure_ascii=False)
    return f'{{\n "benchmarks": [\n  {rows}\n ],\n "context": {context}\n}}\n'
