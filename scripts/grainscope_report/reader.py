"""The one place that reads the result format, version 1 of it; what is off the schema is refused."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grainscope_report import schema
from grainscope_report.errors import ReportError
from grainscope_report.loading import LONG, SCHEMA_VERSION, load
from grainscope_report.model import Cache, Case, Environment, Finding, Link, Result, Row, Run
from grainscope_report.row_parts import Graph, Lane, Level, Traffic, Trial

__all__ = ["SCHEMA_VERSION", "load", "parse", "read"]

# CPUs that a hypervisor took in the mean: from so many on it is said.
STOLEN_CPUS = 0.05


def read(path: str | Path) -> Result:
    """Reads a result file, or the one in a run directory, that follows the schema."""
    return parse(*load(path))


def parse(found: Path, document: Mapping[str, Any]) -> Result:
    """Makes what `load` gave into data; what is off the schema is refused."""
    if problems := schema.problems(document):
        count = len(problems)
        raise ReportError(
            f"{found} does not follow the result format ({count} problem{'s' if count > 1 else ''}, "
            f"first {problems[0]}): see all with `grainscope-report validate {found}`"
        )
    return _result(found, document)


def _result(path: Path, document: Mapping[str, Any]) -> Result:
    context = document["context"]
    suite, run = context["grainscope"], context["run"]
    rows = tuple(_row(row) for row in document["benchmarks"])
    return Result(
        path=path,
        host=context.get("host_name"),
        date=context.get("date") or run["started"],
        version=suite["version"],
        commit=suite["commit"],
        cuda=suite["cuda"],
        run=Run(
            id=run["id"],
            preset=run["preset"],
            filter=run["filter"],
            flags=tuple(run["flags"]),
            started=run["started"],
            complete=run["complete"],
            why_incomplete=run["why_incomplete"],
            ci_target=run["ci_target"],
            wall_s=run.get("wall_s"),
        ),
        environment=_environment(context["environment"], _stolen(rows)),
        links=tuple(_link(link) for link in context["links"]),
        rows=rows,
    )


def _stolen(rows: Sequence[Row]) -> Iterator[Finding]:
    """What the hypervisor took while rows were measured, where that is enough to spoil some."""
    told = [row for row in rows if row.stolen_s is not None and row.session_s]
    stolen = math.fsum(row.stolen_s for row in told)
    measured = math.fsum(row.session_s for row in told)
    if stolen > STOLEN_CPUS * measured:
        yield Finding(
            id="stolen_time",
            severity="warning",
            finding=f"the hypervisor took {stolen:.3g} s of the CPUs' time in {measured:.3g} s of measuring",
            effect="rows in which the CPUs have a part are slower than the hardware, and vary; "
            "those of several threads most",
            remedy="measure again when the host has less to do, or on a host of one's own; `stolen_s` says "
            "which rows were hit",
        )


def _environment(raw: Mapping[str, Any], seen: Iterable[Finding] = ()) -> Environment:
    return Environment(
        cpu_model=_text_or_none(raw["cpu"]["model"]),
        caches=_caches(raw["cpu"]["caches"]),
        gpu_names=tuple(str(gpu["name"]) for gpu in raw["gpus"]),
        driver=_text_or_none(raw["driver"]["version"]),
        warnings=(*(Finding(**warning) for warning in raw["warnings"]), *seen),
        raw=raw,
    )


def _text_or_none(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


def _caches(raw: Any) -> tuple[Cache, ...]:
    """Data and unified caches, once for each level and size, smallest first."""
    found = set()
    for cache in (one for one in raw if isinstance(one, dict)) if isinstance(raw, list) else ():
        level, size = cache.get("level"), cache.get("bytes")
        if (
            str(cache.get("type", "")).lower() != "instruction"
            and isinstance(level, int)
            and isinstance(size, int)
        ):
            found.add((level, size))
    return tuple(Cache(level, size) for level, size in sorted(found) if size > 0)


_OPTIONAL_OF_LINK = ("numa", "peer", "theoretical_gb_s", "generation", "width", "nvlinks")


def _link(raw: Mapping[str, Any]) -> Link:
    return Link(**(dict.fromkeys(_OPTIONAL_OF_LINK) | dict(raw) | {"ci95_gb_s": tuple(raw["ci95_gb_s"])}))


def _row(raw: Mapping[str, Any]) -> Row:
    case = raw["case"]
    return Row(
        name=raw["name"],
        case=Case(case["family"], dict(case["axes"]), dict(case["site"])),
        status=raw["status"],
        label=raw["label"],
        reason=raw.get("reason", ""),
        repetition=raw.get("repetition_index", 0),
        samples_s=tuple(raw.get("samples_s", ())),
        median_s=raw.get("median_s"),
        ci95_s=_interval(raw),
        flags=frozenset(raw.get("flags", ())),
        bytes=raw.get("bytes"),
        link_bytes=raw.get("link_bytes"),
        bandwidth_gb_s=raw.get("bandwidth_gb_s"),
        link_fraction=raw.get("link_fraction"),
        operations=raw.get("operations"),
        operation_s=raw.get("operation_s"),
        traffic=_traffic(raw["traffic"]) if "traffic" in raw else None,
        counters=dict(raw.get("counters", {})),
        lanes=tuple(map(_lane, raw.get("lanes", ()))),
        overlap=raw.get("overlap"),
        counted=_traffic(raw["counted"]) if "counted" in raw else None,
        trials=tuple(map(_trial, raw.get("trials", ()))),
        levels=tuple(map(_level, raw.get("levels", ()))),
        graph=_graph(raw["graph"]) if "graph" in raw else None,
        hit_curve=tuple(map(tuple, raw.get("hit_curve", ()))),
        session_s=raw.get("session_s"),
        stolen_s=raw.get("stolen_s"),
    )


def _interval(raw: Mapping[str, Any]) -> tuple[float, float] | None:
    return tuple(raw["ci95_s"]) if "ci95_s" in raw else None


def _lane(raw: Mapping[str, Any]) -> Lane:
    return Lane(
        name=raw["name"],
        bytes=raw["bytes"],
        source=raw["from"],
        target=raw["to"],
        median_s=raw.get("median_s"),
        ci95_s=_interval(raw),
        bandwidth_gb_s=raw.get("bandwidth_gb_s"),
        background=raw.get("background", False),
        alone_gb_s=raw.get("alone_gb_s"),
        alone_s=raw.get("alone_s"),
    )


def _is_size(said: str) -> bool:
    return said.isdecimal() and len(said) < LONG


def _traffic(raw: Mapping[str, Any]) -> Traffic:
    sizes = {int(size): count for size, count in raw.get("requests_by_size", {}).items() if _is_size(size)}
    told = (raw.get(name) for name in ("bytes", "amplification", "pcie_read_bytes"))
    return Traffic(raw["label"], raw.get("requests"), sizes, *told)


def _trial(raw: Mapping[str, Any]) -> Trial:
    return Trial(raw["label"], tuple(raw["samples_s"]), dict(raw.get("counters", {})))


def _level(raw: Mapping[str, Any]) -> Level:
    return Level(**(dict.fromkeys(("seconds", "requests", "link_bytes")) | dict(raw)))


def _graph(raw: Mapping[str, Any]) -> Graph:
    return Graph(raw["vertices"], raw["entries"], tuple(map(tuple, raw.get("degree_cdf", ()))))
