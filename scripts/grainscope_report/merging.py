"""From the shards of one run to the result that the run would have had in one piece."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from grainscope_report import checks, typed, uncertainty
from grainscope_report.cases import Ends, ends
from grainscope_report.errors import EXIT_NOT_COMPARABLE, ReportError
from grainscope_report.model import Link, Row

Raw = dict[str, Any]
Loaded = tuple[Path, Raw]


class NotOneRunError(ReportError):
    """Files that are no shards of one run; exit status 3."""

    status = EXIT_NOT_COMPARABLE


def merge(files: Sequence[Loaded]) -> Raw:
    """The whole run, from all its shards in any order; NotOneRunError names the files that are none."""
    _require_one_run(files)
    shards = [document for _, document in sorted(files, key=lambda one: _shard(one[1])["index"])]
    links = _best_links(shards)
    rows = list(_rows(shards))
    best = _typed(links)
    for shard, row in rows:
        own = _typed(shard["context"]["links"])
        _share_of(row, own, {pair: best[pair] for pair in own})
    context = dict(shards[0]["context"])
    context["links"] = links
    context["run"] = _run([shard["context"]["run"] for shard in shards])
    context["environment"] = _environment([shard["context"]["environment"] for shard in shards])
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
        shares = zip(checks.shares(made, own), checks.shares(made, best), strict=True)
        row["link_fraction"] = next(new for old, new in shares if checks.same(old, row["link_fraction"]))


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


def _run(runs: Sequence[Raw]) -> Raw:
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


def _environment(environments: Sequence[Raw]) -> Raw:
    """The first shard's, with the warnings of all."""
    warnings = {warning["id"]: warning for one in reversed(environments) for warning in one["warnings"]}
    return environments[0] | {"warnings": list(warnings.values())}
