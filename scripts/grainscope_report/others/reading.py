"""From a file to what a tool measured: which tool it is of, it says itself; Comm|Scope's is read here.

Comm|Scope writes Google Benchmark's JSON (`--benchmark_out`, `--benchmark_format=json`). Repetitions are
visits. Where a benchmark is, its counters say, under several names.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grainscope_report import loading
from grainscope_report.comparison import sides
from grainscope_report.errors import ReportError
from grainscope_report.others import nccl_tests, nvbandwidth
from grainscope_report.others.beside import RATE, TIME, Measured, Output, changed, cut_off

COMM_SCOPE = "Comm|Scope"
_OURS = re.compile(r"(Comm_|libc_)\w+")
_GPU = ("cuda_id", "cudaId", "gpu", "dst_gpu", "dstGpu", "gpu0")
_PEER = ("src_gpu", "srcGpu", "gpu1")
_NUMA = ("numa_id", "numaId")
_NODES = {"from_node": "src_numa", "to_node": "dst_numa"}
# By the word that asks for it.
TOOLS = {"nvbandwidth": nvbandwidth.TOOL, "nccl-tests": nccl_tests.TOOL, "commscope": COMM_SCOPE}
_WANTED = f"the output of {', '.join(list(TOOLS.values())[:-1])} or {COMM_SCOPE}"


def read(path: Path, tool: str | None = None) -> Output:
    """Reads a file; where `tool` is given it must be of that one."""
    if path.is_dir():
        raise ReportError(f"{path} is a directory: give {_WANTED}")
    text = loading.text(path, _WANTED)
    found, read_it = _reader(path, text)
    if tool and TOOLS[tool] != found:
        raise ReportError(f"{path} is of {found}, not of {TOOLS[tool]}: leave --as out, or give another file")
    return read_it()


def _reader(path: Path, text: str) -> tuple[str, Callable[[], Output]]:
    if text.lstrip().startswith("{"):
        document = _parse(path, text)
        if nvbandwidth.TOOL in document:
            return nvbandwidth.TOOL, lambda: nvbandwidth.from_json(path, document)
        if nccl_tests.is_json(document):
            return nccl_tests.TOOL, lambda: nccl_tests.from_json(path, document)
        if is_comm_scope(document):
            return COMM_SCOPE, lambda: from_comm_scope(path, document)
        _refuse_json(path, document)
    if nvbandwidth.is_text(text):
        return nvbandwidth.TOOL, lambda: nvbandwidth.from_text(path, text)
    if nccl_tests.is_text(text):
        return nccl_tests.TOOL, lambda: nccl_tests.from_text(path, text)
    if "Comm_" in text:
        raise ReportError(
            f"{path} is Comm|Scope's table for people, which rounds: give its JSON (--benchmark_out=FILE "
            "--benchmark_out_format=json)"
        )
    raise ReportError(f"{path} is not {_WANTED}: give one of these")


def _refuse_json(path: Path, document: Mapping[str, Any]) -> None:
    context = document.get("context")
    if isinstance(context, dict) and "schema_version" in context:
        raise ReportError(
            f"{path} is GrainScope's own result: give it as --with {path}, or see it with `summary`"
        )
    if isinstance(context, dict) and "benchmarks" in document:
        raise ReportError(
            f"{path} is Google Benchmark's JSON without a benchmark of Comm|Scope: compare such files with "
            "`grainscope-report compare`"
        )
    raise ReportError(f"{path} is JSON, but not {_WANTED}: give one of these")


def _parse(path: Path, text: str) -> Mapping[str, Any]:
    try:
        # Some write a line of text below.
        return json.JSONDecoder().raw_decode(text.lstrip())[0]
    except (json.JSONDecodeError, RecursionError) as error:
        at = getattr(error, "pos", 0)
        if len(text.lstrip().rstrip()[at:]) <= 8 or "Unterminated" in str(error):
            cut_off(path, "the tool", f"its JSON ends after {len(text.encode())} bytes")
        raise ReportError(f"{path} is not JSON ({error}), though it begins as such: give {_WANTED}") from None


def is_comm_scope(document: Mapping[str, Any]) -> bool:
    """Whether a document of Google Benchmark is of Comm|Scope."""
    rows = document.get("benchmarks")
    return isinstance(rows, list) and any(
        isinstance(row, dict) and _OURS.match(str(row.get("name"))) for row in rows
    )


def from_comm_scope(path: Path, document: Mapping[str, Any]) -> Output:
    """Reads the JSON."""
    rows = [row for row in document["benchmarks"] if isinstance(row, dict)]
    first = {str(row.get("run_name", row.get("name"))): row for row in reversed(rows)}
    answers = {question.family: answer for question, answer in sides.foreign_answers(document).items()}
    if not answers:
        cut_off(path, COMM_SCOPE, "it has no benchmark")
    if not any(answer.visits for answer in answers.values()):
        changed(
            path, COMM_SCOPE, "none of its benchmarks", f"has a time ({next(iter(answers.values())).reason})"
        )
    found = []
    for name, answer in answers.items():
        row = first[name]
        benchmark, flushed = _benchmark(name)
        rate = answer.gb_s
        found.append(
            Measured(
                benchmark,
                RATE if rate or "bytes_per_second" in row else TIME,
                rate or answer.seconds,
                _site(row),
                _ends(row),
                bytes=_whole(row.get("bytes")),
                axes={"flush": "on" if flushed else "off"},
                variant=_variant(name, row),
                runs=len(answer.visits) or 1,
                a=answer.a,
                reason="" if answer.visits else f"{answer.status}: {answer.reason}",
            )
        )
    context = document.get("context")
    context = context if isinstance(context, dict) else {}
    notes = []
    if all(one.a is None for one in found):
        notes.append(
            "intervals are of our runs alone, since each ran once: --benchmark_repetitions=5 gives theirs"
        )
    return Output(COMM_SCOPE, "", found, host=str(context.get("host_name", "")), notes=notes)


def _benchmark(name: str) -> tuple[str, bool]:
    """Its name in docs/coverage.md, and whether caches are flushed."""
    word = name.split("/", 1)[0]
    return word.removesuffix("_flush"), word.endswith("_flush")


def _variant(name: str, row: Mapping[str, Any]) -> str:
    """What of its name its counters do not say."""
    said = [
        part
        for part in name.split("/")[1:]
        if not part.isdigit() and part not in ("manual_time", "real_time")
    ]
    kept = [
        part
        for part in said
        if not (part.startswith("log2(") and "bytes" in row) and not part.startswith("iterations:")
    ]
    flushed = ["flushed"] if _benchmark(name)[1] else []
    return ", ".join([*flushed, *kept])


def _site(row: Mapping[str, Any]) -> dict[str, int]:
    told = {
        "gpu": _first(row, _GPU),
        "peer": _first(row, _PEER),
        "numa": _first(row, _NUMA),
        **{ours: _whole(row.get(theirs)) for ours, theirs in _NODES.items()},
    }
    return {name: at for name, at in told.items() if at is not None}


def _ends(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """From which GPU to which, where it says that."""
    source, target = _first(row, ("src_gpu", "srcGpu")), _first(row, ("dst_gpu", "dstGpu"))
    return (f"gpu:{source}", f"gpu:{target}") if source is not None and target is not None else None


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((at for name in names if (at := _whole(row.get(name))) is not None), None)


def _whole(value: object) -> int | None:
    if type(value) not in (int, float) or not math.isfinite(value) or value < 0:  # type: ignore[arg-type, operator]
        return None
    return int(value)  # type: ignore[call-overload]
