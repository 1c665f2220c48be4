"""A digest: what a fleet needs to know of a run, in JSON lines packed by gzip.

The first line is an object with `digest` (the format), `rows` (how many lines follow) and `context`, as the
result file has it but for what Google Benchmark says of the machine. Each further line is a row with fewer
fields, in the order of the file, and the number of its visits in place of them. The program writes it beside
the result file (benchmarks/harness/digest.cpp), and this module makes the same of the result file.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from typing import Any

FORMAT = 1
NAME = "fleet.jsonl.gz"
CONTEXT = ("date", "environment", "grainscope", "host_name", "links", "run", "schema_version", "type_b")
ROW = (
    "bandwidth_gb_s", "bytes", "case", "flags", "label", "link_fraction", "median_s", "operation_s",
    "reason", "status",
)  # fmt: skip
TIMING = ("clock", "gated", "quiet")
TYPES = ("a", "b")

Raw = Mapping[str, Any]


def lines(document: Raw) -> Iterator[str]:
    """The lines of a digest, without their ends."""
    rows = document["benchmarks"]
    context = {name: document["context"][name] for name in CONTEXT if name in document["context"]}
    yield _text({"context": context, "digest": FORMAT, "rows": len(rows)})
    for row in rows:
        yield _text(row_of(row))


def packed(document: Raw) -> bytes:
    """The digest as the program writes it."""
    return gzip.compress("".join(f"{line}\n" for line in lines(document)).encode("utf-8", "replace"), mtime=0)


def row_of(row: Raw) -> dict[str, Any]:
    """What a digest keeps of a row: a reason is empty and flags are none in most, and are left out there."""
    kept = {name: row[name] for name in ROW if row.get(name) not in (None, "", [])}
    for name, parts in (("timing", TIMING), ("uncertainty", TYPES)):
        if told := {part: row[name][part] for part in parts if part in row.get(name, ())}:
            kept[name] = told
    if "visits" in row:
        kept["visits"] = len(row["visits"])
    return kept


def _text(thing: Raw) -> str:
    return json.dumps(thing, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
