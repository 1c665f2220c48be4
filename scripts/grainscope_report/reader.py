"""The one place that reads the result format, version 1 of it.

Whatever is wrong with a file becomes one `ReportError`: the file, what was found, what to do.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grainscope_report import schema
from grainscope_report.errors import ReportError
from grainscope_report.model import Cache, Case, Environment, Finding, Link, Result, Row, Run, Traffic

SCHEMA_VERSION = 1
JOURNAL = "journal.jsonl"
RESULT = "result.json"


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


def load(path: str | Path) -> tuple[Path, dict[str, Any]]:
    """Parses a file as JSON of a known schema version; its structure is not looked at yet."""
    found = locate(Path(path))
    document = _parse(found, _text(found))
    if (
        not isinstance(document, dict)
        or not isinstance(document.get("benchmarks"), list)
        or (not isinstance(document.get("context"), dict))
    ):
        raise ReportError(
            f"{found} is JSON but no GrainScope result (it has no `context` and `benchmarks`): "
            f"give the {RESULT} that `grainscope --out DIR` wrote"
        )
    _check_version(found, document["context"])
    return found, document


def locate(path: Path) -> Path:
    """The result file meant by `path`, which may be a run directory."""
    if path.is_dir():
        if (path / RESULT).is_file():
            return path / RESULT
        if (path / JOURNAL).is_file():
            raise ReportError(_unfinished(path))
        raise ReportError(
            f"{path} is a directory without {RESULT}: give the directory of a run (`--out DIR`)"
        )
    if path.name == JOURNAL and path.is_file():
        if (path.parent / RESULT).is_file():
            raise ReportError(f"{path} is the journal of a finished run: give {path.parent / RESULT}")
        raise ReportError(_unfinished(path.parent))
    return path


def _unfinished(directory: Path) -> str:
    with (directory / JOURNAL).open("rb") as journal:
        cases = sum(line.startswith(b'{"rows":') and line.endswith(b"\n") for line in journal)
    return (
        f"{directory} holds an unfinished run ({JOURNAL} with {cases} finished "
        f"case{'s' if cases != 1 else ''}, no {RESULT}): finish it with `grainscope --resume {directory}`"
    )


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ReportError(f"{path} does not exist: give a {RESULT} or the directory of a run") from None
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}): check its permissions") from None
    if not data.strip():
        raise ReportError(f"{path} is empty: the run wrote nothing there; run it again or resume it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(data) - error.start < 4 and data.lstrip().startswith(b"{"):
            raise ReportError(_cut(path, len(data))) from None
        raise ReportError(f"{path} is not text (byte {error.start} is no UTF-8): give a {RESULT}") from None


def _cut(path: Path, size: int) -> str:
    return (
        f"{path} is cut off after {size} bytes: copy it again, or if the run was killed "
        "finish it with `grainscope --resume DIR`"
    )


def _parse(path: Path, text: str) -> Any:
    def constant(name: str) -> float:
        raise ReportError(
            f"{path} holds {name}, which is no JSON number: it was not written by grainscope or was edited; "
            "run the benchmark again"
        )

    def number(digits: str) -> float:
        value = float(digits)
        return value if math.isfinite(value) else constant(digits)

    try:
        return json.loads(text, parse_constant=constant, parse_float=number)
    except json.JSONDecodeError as error:
        left = text.rstrip()[error.pos :]
        if "\n" not in left and (len(left) <= 8 or error.msg.startswith("Unterminated")):
            raise ReportError(_cut(path, len(text.encode()))) from None
        raise ReportError(
            f"{path} is not JSON (line {error.lineno}, column {error.colno}: {error.msg}): give a {RESULT}"
        ) from None
    except (RecursionError, ValueError) as error:
        raise ReportError(f"{path} is no result file ({error}): give a {RESULT}") from None


def _check_version(path: Path, context: Mapping[str, Any]) -> None:
    version = context.get("schema_version")
    if version is None:
        raise ReportError(
            f"{path} is Google Benchmark's JSON but not GrainScope's (no `context.schema_version`): "
            f"read it with Google Benchmark's compare.py, or give a {RESULT} that grainscope wrote"
        )
    if type(version) is not int or version < 1:
        raise ReportError(
            f"{path} has schema_version {json.dumps(version)}, which is no version: "
            "it was not written by grainscope or was edited; run the benchmark again"
        )
    if version > SCHEMA_VERSION:
        raise ReportError(
            f"{path} has schema version {version} and this grainscope-report reads up to {SCHEMA_VERSION}: "
            "update grainscope-report"
        )


def _result(path: Path, document: Mapping[str, Any]) -> Result:
    context = document["context"]
    suite, run = context["grainscope"], context["run"]
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
        environment=_environment(context["environment"]),
        links=tuple(_link(link) for link in context["links"]),
        rows=tuple(_row(row) for row in document["benchmarks"]),
    )


def _environment(raw: Mapping[str, Any]) -> Environment:
    return Environment(
        cpu_model=_text_or_none(raw["cpu"]["model"]),
        caches=_caches(raw["cpu"]["caches"]),
        gpu_names=tuple(str(gpu["name"]) for gpu in raw["gpus"]),
        driver=_text_or_none(raw["driver"]["version"]),
        warnings=tuple(Finding(**warning) for warning in raw["warnings"]),
        raw=raw,
    )


def _text_or_none(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


def _caches(raw: Any) -> tuple[Cache, ...]:
    """Data and unified caches, once for each level and size, smallest first."""
    found = set()
    for cache in raw if isinstance(raw, list) else ():
        level, size = cache.get("level"), cache.get("bytes")
        if (
            str(cache.get("type", "")).lower() != "instruction"
            and isinstance(level, int)
            and isinstance(size, int)
        ):
            found.add((level, size))
    return tuple(Cache(level, size) for level, size in sorted(found) if size > 0)


def _link(raw: Mapping[str, Any]) -> Link:
    known = {"theoretical_gb_s": None, "generation": None, "width": None} | dict(raw)
    return Link(**(known | {"ci95_gb_s": tuple(raw["ci95_gb_s"])}))


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
        ci95_s=tuple(raw["ci95_s"]) if "ci95_s" in raw else None,
        flags=frozenset(raw.get("flags", ())),
        bytes=raw.get("bytes"),
        bandwidth_gb_s=raw.get("bandwidth_gb_s"),
        link_fraction=raw.get("link_fraction"),
        operations=raw.get("operations"),
        operation_s=raw.get("operation_s"),
        traffic=_traffic(raw["traffic"]) if "traffic" in raw else None,
        counters=dict(raw.get("counters", {})),
    )


def _traffic(raw: Mapping[str, Any]) -> Traffic:
    sizes = {int(size): count for size, count in raw.get("requests_by_size", {}).items() if size.isdigit()}
    return Traffic(raw["label"], raw.get("requests"), sizes, raw.get("bytes"), raw.get("amplification"))
