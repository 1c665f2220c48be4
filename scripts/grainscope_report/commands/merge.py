"""`merge`: one result of the shards of a run."""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import count, zip_longest
from pathlib import Path
from typing import Any

from grainscope_report import reader, typed, uncertainty
from grainscope_report.commands import files
from grainscope_report.errors import EXIT_NOT_COMPARABLE, EXIT_OK, ReportError
from grainscope_report.loading import quoted
from grainscope_report.machine import set_apart, spoken_ends, spoken_fact
from grainscope_report.model import Ends, Link, Row, ends
from grainscope_report.refusing import require_right
from grainscope_report.units import plural
from grainscope_report.writing import json_text

LINKS_APART = 1.05  # runs of one machine differ by a percent in results/reference/acceptance
Raw = dict[str, Any]
Loaded = tuple[Path, Raw]


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
        "CPU": uncertainty.kind_of(context)[1],
        "GPUs": [gpu.get("uuid") or gpu.get("name") for gpu in environment["gpus"]],
        "driver": environment["driver"]["version"],
        "version": (context["grainscope"]["version"], context["grainscope"]["commit"]),
        "preset": run["preset"],
        "filter": run["filter"],
        "number of visits": run["visits"],
        "target of the interval": run["ci_target"],
        "table of type B": (context.get("type_b") or {}).get("sha256"),
        "flags": sorted(flag for flag in run["flags"] if not flag.startswith("--shard")),
        "number of shards": run["shard"]["count"],
        "number of cases of all shards": run["shard"].get("cases"),
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
        if apart := set_apart(document["context"], other["context"]):
            said = "; ".join(
                f"{each.cause} ({each.fact}) is {spoken_fact(each.fact, each.new)}, not "
                f"{spoken_fact(each.fact, each.base)}"
                for each in apart
            )
            raise NotOneRunError(
                f"{path} was not measured as {first} was: {said}: that is known to move times, so set the "
                "machine up as it was and run that shard again, or compare the two by themselves"
            )
    for path, one in files:
        if not one["context"]["run"]["complete"]:
            raise NotOneRunError(
                f"{path} is not complete ({one['context']['run']['why_incomplete']}): "
                f"finish it with `grainscope --resume {quoted(path.parent)}`"
            )
    _require_same_versions(files)
    _require_same_inputs(files)
    _require_all_shards(files)


def _require_same_versions(files: Sequence[Loaded]) -> None:
    """A family measures one thing in all shards, whatever their commits say: these may be unknown."""
    known: dict[str, tuple[Path, int]] = {}
    for path, document in files:
        for case in (row["case"] for row in document["benchmarks"]):
            family, version = case["family"], case.get("version", 1)
            first, expected = known.setdefault(family, (path, version))
            if version != expected:
                raise NotOneRunError(
                    f"{family} is of version {expected} in {first} and of version {version} in {path}: "
                    "the two do not measure the same; measure all shards with one program"
                )


def _require_same_inputs(files: Sequence[Loaded]) -> None:
    """A file of a graph or of features may have become another between two shards.

    What rows record of it is compared. Files that differ in nothing of that are taken for one.
    """
    known: dict[str, tuple[Path, Any]] = {}
    for path, document in files:
        for row in document["benchmarks"]:
            for what, facts in _inputs(row):
                first, expected = known.setdefault(what, (path, facts))
                if facts != expected:
                    said = f"{facts}, not {expected}" if isinstance(facts, str) else "differ"
                    raise NotOneRunError(f"{path} is no shard of the same run as {first}: its {what} {said}")


def _inputs(row: Raw) -> Iterator[tuple[str, Any]]:
    """What a row records of its graph and its features, under the words for it; as text what is short."""
    name, graph, features = row["case"]["axes"].get("graph"), row.get("graph"), row.get("features")
    if graph and name is not None:
        yield f"graph {name} has", f"{graph['vertices']} vertices and {graph['entries']} entries"
        if curve := graph.get("degree_cdf"):
            yield f"lists of graph {name}, by their lengths,", curve
    if features:
        table = f"{features['rows']} rows of {features['columns']} columns of {features['element']} bytes"
        yield "table of features has", table


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
    names = {row["name"] for _, document in files for row in document["benchmarks"]}
    cases = _shard(files[0][1]).get("cases")
    if cases is not None and cases != len(names):
        raise NotOneRunError(
            f"the shards have {len(names)} of {plural(cases, 'case')}: they were cut on machines that list "
            "other cases, or rows are gone; run all of them again"
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
    """Rows with their shards: what was skipped beforehand, then family by family, of each shard in turn."""
    for shard in shards:
        yield from ((shard, dict(row)) for row in shard["benchmarks"] if "family_index" not in row)
    index = count()
    for family in _families(shards):
        run = [
            [one for one in shard["benchmarks"] if "family_index" in one and one["case"]["family"] == family]
            for shard in shards
        ]
        for turn in zip_longest(*run):
            for shard, row in zip(shards, turn, strict=True):
                if row:
                    yield shard, row | {"family_index": next(index)}


def _families(shards: Sequence[Raw]) -> Sequence[str]:
    """The families of shards in the order of the listing, as far as that can be told."""
    known: list[str] = []
    for shard in shards:
        at = 0
        for family in dict.fromkeys(row["case"]["family"] for row in shard["benchmarks"]):
            if family in known:
                at = known.index(family) + 1
            else:
                known.insert(at, family)
                at += 1
    return known


def _merged_run(runs: Sequence[Raw]) -> Raw:
    merged = dict(runs[0])
    merged["id"] = "+".join(run["id"] for run in runs)
    merged["flags"] = [flag for flag in runs[0]["flags"] if not flag.startswith("--shard")]
    merged["started"] = min(run["started"] for run in runs)
    merged["ended"] = max(run["ended"] for run in runs)
    merged["shard"] = runs[0]["shard"] | {"index": 1, "count": 1}
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
        "set-up, version, preset, filter and flags, each shard once and complete. Shards that began days "
        "apart, or found a link of another speed, are merged with a warning. Rows stand family by family, "
        "those of the shards in turn; each link's peak is the best that a shard measured, and shares of it "
        "are of that one.",
        epilog="Exit status: 0 written, 2 a file cannot be read or written, 3 the files are no shards of one "
        "run.",
    )
    files.add_files(parser, "a shard's result file or run directory")
    parser.add_argument(
        "-o", "--out", required=True, type=files.path, metavar="FILE", help="the file to write"
    )
    return parser


def run_merge(arguments: argparse.Namespace) -> int:
    """Writes the merged file, whole or not at all."""
    files.keep(arguments.files, [arguments.out])
    loaded = [reader.load(path) for path in arguments.files]
    for path, document in loaded:
        require_right(reader.parse(path, document))
    document = merge(loaded)
    for said in (*_days_between(loaded), *_links_apart(loaded)):
        print(f"warning: {said}", file=sys.stderr)
    require_right(reader.parse(arguments.out, document))
    files.write(arguments.out, _merged_text(document))
    counts = document["context"]["run"]["counts"]
    print(
        f"{arguments.out}: {plural(len(loaded), 'shard')}, {counts['ok']} ok, {counts['skipped']} skipped, "
        f"{counts['failed']} failed"
    )
    return EXIT_OK


def _days_between(files: Sequence[Loaded]) -> Iterator[str]:
    """A sentence where shards began days apart: they are one run still."""
    runs = ((path, document["context"]["run"]) for path, document in files)
    with suppress(ValueError):  # of a moment that is none
        began = sorted((date.fromisoformat(run["started"][:10]), path) for path, run in runs)
        (first, one), *_, (last, other) = [*began, began[-1]]
        if (days := (last - first).days) > 1:
            yield (
                f"{one} began on {first} and {other} {days} days later: the machine may have changed in "
                "what its report does not tell; where rows of both are compared, run the shards within a day"
            )


def _links_apart(files: Sequence[Loaded]) -> Iterator[str]:
    """A sentence on the link whose copy peaks differ most between shards, where that is far."""
    peaks: dict[Ends, dict[Path, float]] = defaultdict(dict)
    for path, document in files:
        for pair, link in _by_ends(document["context"]["links"]).items():
            if pair:
                peaks[pair][path] = link["peak_gb_s"]
    ranges = {pair: (min(there, key=there.__getitem__), max(there, key=there.__getitem__))
              for pair, there in peaks.items()}  # fmt: skip
    ratios = {pair: peaks[pair][fast] / peaks[pair][slow] for pair, (slow, fast) in ranges.items()}
    worst = max(ratios, key=ratios.__getitem__, default=None)
    if worst and ratios[worst] > LINKS_APART:
        slow, fast = ranges[worst]
        yield (
            f"the link {spoken_ends(worst)} copies at {peaks[worst][fast]:.1f} GB/s in {fast} and at "
            f"{peaks[worst][slow]:.1f} GB/s in {slow}: something held it up in that shard, and perhaps the "
            "shard's rows; run it again"
        )


def _merged_text(document: dict[str, Any]) -> str:
    """JSON with a row a line, as grainscope writes it."""
    rows = ",\n  ".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in document["benchmarks"]
    )
    context = json_text(document["context"])
    return f'{{\n "benchmarks": [\n  {rows}\n ],\n "context": {context}\n}}\n'
