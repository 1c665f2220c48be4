"""nccl-tests' output, as text (2.0 to 2.19) and by `-J` (from 2.17 on): a line a size.

Its bus bandwidth is taken, which for the tests that have a counterpart is the rate of one GPU or of the root.
Where it was told to go round several times (`-N`) or to keep each iteration (`-I` with `-J`), these are
repetitions; otherwise it reports the mean of its iterations alone.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grainscope_report.comparison import sides
from grainscope_report.comparison.sides import Answer
from grainscope_report.others.beside import RATE, Measured, Output, changed, cut_off, number
from grainscope_report.statistics import median

TOOL = "nccl-tests"
_HEADS = re.compile(r"#\s+size\s+count\s")
_STARTING = re.compile(r"# Collective test starting: (\S+)")
_VERSION = re.compile(r"# nccl-tests version (\S+)")
_RANK = re.compile(r"#\s+Rank\s+(\d+) .*?\bon\s+(\S+) device\s+(\d+) \[([0-9a-fx:.]+)\] (.+)")
_THREADS = re.compile(r"# nThreads? (\d+) n(?:gpus|Gpus) (\d+) ")
_NAME = re.compile(r"(\w+_perf)")
_ROOTED = ("broadcast_perf", "gather_perf", "scatter_perf")
_END = "# Avg bus bandwidth"


@dataclass(frozen=True)
class _Shape:
    """How a test of n GPUs stands beside a row of ours.

    `parts`: its size is of so many parts, of which ours has one; `lanes`: our rate is of so many of its.
    """

    parts: int
    lanes: float


def _shape(test: str, n: int) -> _Shape:
    shapes = {
        "sendrecv_perf": _Shape(1, n),
        "alltoall_perf": _Shape(n, n),
        "all_gather_perf": _Shape(n, n),
        "broadcast_perf": _Shape(1, max(n - 1, 1)),
        "gather_perf": _Shape(n, 1),
        "scatter_perf": _Shape(n, 1),
    }
    return shapes.get(test, _Shape(1, 1))


@dataclass(frozen=True)
class _Line:
    """A size of one round, one way to lay its buffers: `in_place` or not."""

    size: int
    kind: str
    root: str
    in_place: bool
    rate: float | None
    seconds: float | None
    wrong: bool
    each_s: tuple[float, ...] = ()


def is_text(text: str) -> bool:
    """Whether a text is of nccl-tests."""
    return bool(
        _VERSION.search(text) or (_THREADS.search(text) and "algbw" in text) or "# Using devices" in text
    )


def is_json(document: Mapping[str, Any]) -> bool:
    """Whether a document is of nccl-tests."""
    return "nccl_version" in document or ("config" in document and "average_bus_bandwidth" in document)


def from_text(path: Path, text: str) -> Output:
    """Reads the table."""
    lines = text.splitlines()
    test = _test_of(path, next((found[1] for line in lines if (found := _STARTING.match(line))), ""))
    ranks = [found for line in lines if (found := _RANK.match(line))]
    version = next((found[1] for line in lines if (found := _VERSION.match(line))), "")
    heads = next((line.lstrip("# ").split() for line in lines if _HEADS.match(line)), None)
    if heads is None:
        cut_off(path, TOOL, "it has no table")
    if not any(line.startswith(_END) for line in lines):
        cut_off(path, TOOL, f"the line `{_END}` is missing, which ends its table")
    found = [
        one
        for at, line in enumerate(lines, 1)
        if line.strip()[:1].isdigit()
        for one in _lines(path, at, line.split(), heads)
    ]
    hosts = list(dict.fromkeys(rank[2] for rank in ranks))
    gpus = [(rank[5].strip(), rank[4]) for rank in ranks]
    return _output(path, test, version, found, max(len(ranks), 1), hosts, gpus, "cputime" in heads)


def _lines(path: Path, at: int, cells: Sequence[str], heads: Sequence[str]) -> Iterator[_Line]:
    """The one or two halves of a line of the table."""
    stamped = heads[-1] == "timestamp"
    names = heads[:-1] if stamped else heads
    cells = cells[:-2] if stamped else cells
    halves = [place for place, name in enumerate(names) if name in ("time", "cputime")]
    if len(cells) != len(names) or not halves or not {"algbw", "busbw", "size"} <= {*names}:
        changed(path, TOOL, f"line {at}", f"has {len(cells)} values for {len(names)} columns")
    told = dict(zip(names[: halves[0]], cells, strict=False))
    for half, begin in enumerate(halves):
        end = halves[half + 1] if half + 1 < len(halves) else len(names)
        values = dict(zip(names[begin:end], cells[begin:end], strict=True))
        size, rate = number(told["size"]), _amount(values["busbw"])
        seconds = _amount(values.get("time", values.get("cputime")))
        if (size is None and told["size"] != "0") or rate is None or seconds is None:
            changed(path, TOOL, f"line {at}", "holds no numbers where size, time and busbw stand")
        wrong = bool(number(values.get("#wrong")))
        yield _Line(
            int(size or 0),
            told.get("type", ""),
            told.get("root", ""),
            bool(half),
            rate,
            seconds * 1e-6,
            wrong,
        )


def _amount(text: object) -> float | None:
    return 0.0 if text in (0, "0", "0.0", "0.00") else number(text)


def from_json(path: Path, document: Mapping[str, Any]) -> Output:
    """Reads what `-J` writes."""
    config, results = document.get("config"), document.get("results")
    if not isinstance(config, dict) or not isinstance(results, list):
        cut_off(path, TOOL, "it has no `config` and `results`")
    if "average_bus_bandwidth" not in document:
        cut_off(path, TOOL, "it has no `average_bus_bandwidth`, which ends it")
    arguments = document.get("args") or [""]
    names = [row.get("experiment_name") for row in results if isinstance(row, dict)]
    program = str(arguments[0]).rsplit("/", 1)[-1]
    test = _test_of(path, program, next((str(name) for name in names if name), ""))
    devices = [device for device in config.get("devices", ()) if isinstance(device, dict)]
    count = _count(config, "nthreads") * _count(config, "ngpus")
    found = [line for at, row in enumerate(results) for line in _json_lines(path, at, row)]
    cpu = any(isinstance(row, dict) and "cpu_time" in (row.get("out_of_place") or {}) for row in results)
    return _output(
        path, test, "", found, max(len(devices), count),
        list(dict.fromkeys(str(device.get("hostname", "")) for device in devices)),
        [(str(one.get("device_info", "")).strip(), str(one.get("device_hex", ""))) for one in devices],
        cpu,
    )  # fmt: skip


def _count(config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    return value if type(value) is int and value > 0 else 1


def _json_lines(path: Path, at: int, row: Any) -> Iterator[_Line]:
    for name in ("out_of_place", "in_place"):
        half = row.get(name) if isinstance(row, dict) else None
        if half is None and isinstance(row, dict) and name in row:
            continue
        size = row.get("size") if isinstance(row, dict) else None
        rate = _amount(half.get("bus_bw")) if isinstance(half, dict) else None
        seconds = _amount(half.get("time", half.get("cpu_time"))) if isinstance(half, dict) else None
        if type(size) is not int or rate is None or seconds is None:
            changed(path, TOOL, f"`results[{at}]`", f"has no `size`, or no `{name}` with `time` and `bus_bw`")
        told = row.get(f"{name}_per_iter") or {}
        each = (told.get("times_us") or []) if isinstance(told, dict) else told
        if not isinstance(each, list):
            changed(path, TOOL, f"`{name}_per_iter` of `results[{at}]`", "has no list `times_us`")
        yield _Line(
            size, str(row.get("type", "")), str(row.get("root", "")).strip(), name == "in_place", rate,
            seconds * 1e-6, bool(number(half.get("nwrong"))),
            tuple(one * 1e-6 for one in map(number, each) if one),
        )  # fmt: skip


def _test_of(path: Path, *told: str) -> str:
    """The test, as the file says, or where its version does not say it, as the file is named."""
    for name in (*told, path.name):
        if found := _NAME.search(name.removesuffix("_mpi")):
            return found[1].removesuffix("_mpi")
    return changed(
        path, TOOL, "it", "does not say of which test it is, as before 2.17: name the file after the test, "
        "as sendrecv_perf.txt",
    )  # fmt: skip


def _output(
    path: Path,
    test: str,
    version: str,
    lines: Sequence[_Line],
    ranks: int,
    hosts: Sequence[str],
    gpus: Sequence[tuple[str, str]],
    cpu_time: bool,
) -> Output:
    if not lines:
        cut_off(path, TOOL, "its table has no line")
    kinds = {line.kind for line in lines}
    groups: dict[tuple[Any, ...], list[_Line]] = defaultdict(list)
    for line in lines:
        groups[line.size, line.kind if len(kinds) > 1 else "", line.root, line.in_place].append(line)
    rows = {key: _measured(test, ranks, key, group) for key, group in groups.items()}
    known = _spread({str(key): group for key, group in groups.items()})
    said = []
    for key, row in rows.items():
        there = known.get(str(key))
        row = replace(row, a=there.a, runs=len(there.visits)) if there else row
        if len(hosts) > 1:
            row = replace(row, reason=f"of {len(hosts)} nodes")
        elif cpu_time:
            row = replace(row, reason="times of the CPU's calls (-C)")
        said.append(row)
    notes = (
        []
        if known
        else ["intervals are of our runs alone, since nccl-tests reports the mean of its iterations"]
    )
    return Output(TOOL, version, said, host=hosts[0] if hosts else "", gpus=gpus, notes=notes)


def _measured(test: str, ranks: int, key: tuple[Any, ...], group: Sequence[_Line]) -> Measured:
    size, kind, root, in_place = key
    shape = _shape(test, ranks)
    rate = median([line.rate or 0.0 for line in group])
    reason = ""
    if any(line.wrong for line in group):
        reason = "failed: its check found wrong values"
    elif not rate:
        reason = "a rate too small to be printed"
    elif in_place:
        reason = "in place, while ours copies between two buffers"
    rooted = test in _ROOTED and root.isdigit()
    return Measured(
        test,
        RATE,
        rate or None,
        {"gpu": int(root)} if rooted else {},
        bytes=size // shape.parts or None,
        axes={"gpus": ranks},
        variant=", ".join(part for part in (kind, "in place" if in_place else "") if part),
        share=shape.lanes,
        runs=len(group),
        reason=reason,
    )


def _spread(groups: Mapping[str, Sequence[_Line]]) -> Mapping[str, Answer]:
    """What repetitions differ by: rounds, or the iterations of the only one."""
    visits = {
        name: tuple(line.seconds for line in group if line.seconds) if len(group) > 1 else group[0].each_s
        for name, group in groups.items()
    }
    return sides.with_spread({name: Answer(median(one), one) for name, one in visits.items() if len(one) > 1})
