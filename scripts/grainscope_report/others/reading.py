"""From a file to what a tool measured: which tool it is of, it says itself."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grainscope_report import loading
from grainscope_report.errors import ReportError
from grainscope_report.others import comm_scope, nccl_tests, nvbandwidth
from grainscope_report.others.output import Output, cut_off

# By the word that asks for it.
TOOLS = {"nvbandwidth": nvbandwidth.TOOL, "nccl-tests": nccl_tests.TOOL, "commscope": comm_scope.TOOL}
_WANTED = f"the output of {', '.join(list(TOOLS.values())[:-1])} or {comm_scope.TOOL}"


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
        if comm_scope.is_json(document):
            return comm_scope.TOOL, lambda: comm_scope.from_json(path, document)
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
