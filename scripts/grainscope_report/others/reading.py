"""From a file to what a tool measured: the outputs of nvbandwidth, nccl-tests and Comm|Scope. Which tool it
is of, a file says itself.

nvbandwidth: text (0.1 to 0.9) and `--json` (0.5 to 0.8), a matrix a test. It repeats a test (`--testSamples`)
and reports the middle one alone, so nothing is known of what repetitions differ by. From 0.6 on a test of two
directions between GPUs has three matrices: each direction and the total. Those before have one, of one
direction. A text of a test that was waived does not name it.

nccl-tests: text (2.0 to 2.19) and `-J` (from 2.17 on), a line a size. Its bus bandwidth is taken, which for
the tests that have a counterpart is the rate of one GPU or of the root. Where it was told to go round several
times (`-N`) or to keep each iteration (`-I` with `-J`), these are repetitions; otherwise it reports the mean
of its iterations alone.

Comm|Scope writes Google Benchmark's JSON (`--benchmark_out`, `--benchmark_format=json`). Repetitions are
visits. Where a benchmark is, its counters say, under several names.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from grainscope_report import loading
from grainscope_report.comparison import sides
from grainscope_report.comparison.sides import Answer
from grainscope_report.errors import ReportError
from grainscope_report.others.beside import RATE, TIME, Measured, Output, changed, cut_off, number
from grainscope_report.statistics import median

# nvbandwidth.

NVBANDWIDTH = "nvbandwidth"
UNREPEATED = "intervals are of our runs alone, since nvbandwidth reports no samples"
_LATENCY_BYTES = 2 << 20  # of its tests of latency, whatever --bufferSize is
_RUNNING = re.compile(r"Running (\S+?)\.$")
_WAIVED = re.compile(r"Waiv(?:ed:|ing (\S+?)\.)")
_ERROR = re.compile(r"(?:ERROR|Error): *(.*)")
_DEVICE = re.compile(r"(?:Device )?(\d+): (.+?)(?: \(([0-9a-fA-F:.]+)\))?(?:: \((.*)\))?$")
# Its last words, from 0.6 on; before it had others, at the beginning.
_CLOSING, _OPENING = "NOTE: The reported results", "NOTE: This tool reports"
# What it prints before it ends at an error.
_TROUBLE = ("ASSERT", "Invalid value", "[CU", "[cuda", "NVML_ERROR")
_SUM = re.compile(r"(?:SUM|&&&& PERF) (\S+) ")
_UNITS = {"(GB/s)": (RATE, 1.0), "(ns)": (TIME, 1e-9)}
_BOTH_WAYS = re.compile("^device_to_device_bidirectional_")
_MULTINODE = "multinode_"


def is_nvbandwidth_text(text: str) -> bool:
    """Whether a text is of nvbandwidth."""
    return bool(
        re.search(r"^nvbandwidth Version:", text, re.M)
        or re.search(r"^Running \w+_(ce|sm|copy)\.", text, re.M)
    )


def from_nvbandwidth_text(path: Path, text: str) -> Output:
    """Reads the text."""
    lines = [line.strip() for line in text.splitlines()]
    version = next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("nvbandwidth Version:")), ""
    )
    devices = [_DEVICE.match(line) for line in lines if line.startswith("Device ")]
    begins = [at for at, line in enumerate(lines) if _RUNNING.match(line)]
    rows: list[Measured] = []
    for begin, end in pairwise([*begins, len(lines)]):
        rows += _test(path, lines[:end], begin)
    waived = [found[1] for line in lines if (found := _WAIVED.fullmatch(line))]
    rows += [_waived(test) for test in waived if test]
    rows += [
        _failed(name[1], found[1])
        for line in lines
        if (found := _ERROR.match(line)) and (name := re.search(r"Testcase (\S+)", found[1]))
    ]
    if not rows and not waived:
        cut_off(path, NVBANDWIDTH, "it has no result of any test")
    after = lines[begins[-1] if begins else 0 :]
    if version and _OPENING not in text and not any(line.startswith((_CLOSING, *_TROUBLE)) for line in after):
        cut_off(path, NVBANDWIDTH, f"the line `{_CLOSING} …` is missing, which ends it")
    notes = [UNREPEATED]
    if unnamed := waived.count(None):
        notes.append(
            f"{unnamed} test{'s were' if unnamed > 1 else ' was'} waived, which the text does not name"
        )
    gpus = [(found[2], found[3] or "") for found in devices if found]
    return Output(NVBANDWIDTH, version.removeprefix("v"), rows, gpus=gpus, notes=notes)


def _test(path: Path, lines: Sequence[str], begin: int) -> Iterator[Measured]:
    """The numbers of the test whose lines begin there, or why it has none."""
    test = _RUNNING.match(lines[begin])[1]  # type: ignore[index]
    matrices = []
    at = begin + 1
    while at < len(lines):
        if unit := _unit(lines[at]):
            at, matrix = _matrix(path, test, lines, at + 1)
            matrices.append((unit, matrix))
        at += 1
    errors = [line for line in lines[begin:] if line.startswith(_TROUBLE) or _ERROR.match(line)]
    if matrices:
        yield from _rows(path, test, matrices)
    elif ends := [at for at in range(begin, len(lines)) if _SUM.match(lines[at])]:
        changed(path, NVBANDWIDTH, f"line {ends[0] + 1}, of {test},", "ends a matrix of neither GB/s nor ns")
    elif errors:
        yield _failed(test, " ".join(errors))
    else:
        cut_off(path, NVBANDWIDTH, f"it has no result of {test}")


def from_nvbandwidth_json(path: Path, document: Mapping[str, Any]) -> Output:
    """Reads what `--json` prints."""
    told = document[NVBANDWIDTH]
    if not isinstance(told, dict):
        changed(path, NVBANDWIDTH, f"`{NVBANDWIDTH}`", "is no object")
    if "testcases" not in told:
        reason = told.get("error")
        cut_off(path, NVBANDWIDTH, f"it has no `testcases`{f' but the error {reason!r}' if reason else ''}")
    tests = told["testcases"]
    if not isinstance(tests, list) or not all(
        isinstance(test, dict) and isinstance(test.get("name"), str) for test in tests
    ):
        changed(path, NVBANDWIDTH, "`testcases`", "is no list of tests with names")
    rows: list[Measured] = []
    for test in tests:
        name, status = test["name"], test.get("status")
        if "bandwidth_matrix" in test:
            rows += _rows(path, name, list(_parts(path, name, test)))
        elif status == "Waived":
            rows.append(_waived(name))
        elif status != "Running" or sum(test["name"] == name for test in tests) == 1:
            # What failed is there twice: as it was started, and with its error.
            said = test.get("error") or ("it did not finish" if status == "Running" else status)
            rows.append(_failed(name, said))
    if not rows:
        cut_off(path, NVBANDWIDTH, "it has no result of any test")
    listed = [str(one) for one in told.get("GPU Device list") or ()]
    found = [match for one in listed if (match := _DEVICE.match(one))]
    return Output(
        NVBANDWIDTH,
        str(told.get("version", "")).removeprefix("v"),
        rows,
        host=next((one[4] for one in found if one[4]), ""),
        gpus=[(one[2], one[3] or "") for one in found],
        notes=[UNREPEATED],
    )


def _parts(path: Path, name: str, test: Mapping[str, Any]) -> Iterator[tuple[str, list[list[float | None]]]]:
    """The matrices of a test, which JSON has one below the other; values are texts or numbers."""
    unit = _unit(str(test.get("bandwidth_description", "")))
    if unit is None:
        changed(path, NVBANDWIDTH, f"`bandwidth_description` of {name}", "names neither GB/s nor ns")
    lines = test["bandwidth_matrix"]
    if not isinstance(lines, list) or not lines or not all(isinstance(line, list) and line for line in lines):
        changed(path, NVBANDWIDTH, f"`bandwidth_matrix` of {name}", "is no matrix")
    matrix = [[_value(path, name, cell) for cell in line] for line in lines]
    if len({len(line) for line in matrix}) != 1:
        changed(path, NVBANDWIDTH, f"`bandwidth_matrix` of {name}", "has rows of several lengths")
    columns = len(matrix[0])
    size = columns if len(matrix) % columns == 0 and len(matrix) > 1 else len(matrix)
    for at in range(0, len(matrix), size):
        yield unit, matrix[at : at + size]


def _unit(description: str) -> str | None:
    return next((unit for unit in _UNITS if description.endswith(unit)), None)


def _matrix(path: Path, test: str, lines: Sequence[str], at: int) -> tuple[int, list[list[float | None]]]:
    """The matrix that begins at a line, and the line of the sum that ends it."""
    heads = lines[at].split() if at < len(lines) else []
    rows: list[list[float | None]] = []
    for place in range(at + 1, len(lines)):
        line = lines[place]
        if _SUM.match(line):
            if not heads or not rows:
                changed(
                    path, NVBANDWIDTH, f"line {place + 1}, the matrix of {test},", "has no columns or no rows"
                )
            return place, rows
        cells = line.split()
        if not cells:
            continue
        if test.startswith(_MULTINODE):
            rows.append([])
            continue
        if len(cells) != len(heads) + 1:
            if not any(_SUM.match(later) for later in lines[place:]):
                break
            changed(
                path, NVBANDWIDTH, f"line {place + 1}, a row of {test},",
                f"has {len(cells) - 1} values for {len(heads)} columns",
            )  # fmt: skip
        rows.append([_value(path, test, cell) for cell in cells[1:]])
    return cut_off(path, NVBANDWIDTH, f"the matrix of {test} has no end")


def _value(path: Path, test: str, cell: object) -> float | None:
    """A value, which may be 0; None where there is none."""
    if cell == "N/A":
        return None
    if cell in (0, "0", "0.00"):
        return 0.0
    if (value := number(cell)) is None:
        changed(path, NVBANDWIDTH, f"the matrix of {test}", f"holds {str(cell)[:20]!r}")
    return value


def _rows(
    path: Path, test: str, matrices: Sequence[tuple[str, list[list[float | None]]]]
) -> Iterator[Measured]:
    """The numbers of a test; of the matrices of two directions the last is their total."""
    if test.startswith(_MULTINODE):
        yield Measured(test, RATE, None, reason="of several nodes")
        return
    both = _BOTH_WAYS.match(test)
    if len(matrices) not in ((1, 3) if both else (1,)):
        changed(path, NVBANDWIDTH, f"{test}", f"has {len(matrices)} matrices")
    for unit, matrix in matrices[:-1]:
        for measured in _cells(test, unit, matrix):
            yield Measured(**(vars(measured) | {"variant": "one direction", "reason": "part of a total"}))
    for measured in _cells(test, *matrices[-1]):
        alone = both and len(matrices) == 1
        yield Measured(**(vars(measured) | {"share": 2})) if alone else measured


def _cells(test: str, unit: str, matrix: Sequence[Sequence[float | None]]) -> Iterator[Measured]:
    quantity, scale = _UNITS[unit]
    size = _LATENCY_BYTES if quantity == TIME else None
    between = test.startswith("device_to_device")
    for row, line in enumerate(matrix):
        for column, value in enumerate(line):
            site = {"gpu": row, "peer": column} if between else {"gpu": column}
            if value:
                yield Measured(test, quantity, value * scale, site, bytes=size)
            elif not between or row != column:
                yield Measured(test, quantity, None, site, bytes=size, reason="no value of theirs")


def _waived(test: str) -> Measured:
    return Measured(
        test, RATE, None, reason="waived by nvbandwidth, as this machine does not have what it needs"
    )


def _failed(test: str, said: object) -> Measured:
    return Measured(test, RATE, None, reason=f"failed: {said}")


# nccl-tests.

NCCL_TESTS = "nccl-tests"
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


def is_nccl_tests_text(text: str) -> bool:
    """Whether a text is of nccl-tests."""
    return bool(
        _VERSION.search(text) or (_THREADS.search(text) and "algbw" in text) or "# Using devices" in text
    )


def is_nccl_tests_json(document: Mapping[str, Any]) -> bool:
    """Whether a document is of nccl-tests."""
    return "nccl_version" in document or ("config" in document and "average_bus_bandwidth" in document)


def from_nccl_tests_text(path: Path, text: str) -> Output:
    """Reads the table."""
    lines = text.splitlines()
    test = _test_of(path, next((found[1] for line in lines if (found := _STARTING.match(line))), ""))
    ranks = [found for line in lines if (found := _RANK.match(line))]
    version = next((found[1] for line in lines if (found := _VERSION.match(line))), "")
    heads = next((line.lstrip("# ").split() for line in lines if _HEADS.match(line)), None)
    if heads is None:
        cut_off(path, NCCL_TESTS, "it has no table")
    if not any(line.startswith(_END) for line in lines):
        cut_off(path, NCCL_TESTS, f"the line `{_END}` is missing, which ends its table")
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
        changed(path, NCCL_TESTS, f"line {at}", f"has {len(cells)} values for {len(names)} columns")
    told = dict(zip(names[: halves[0]], cells, strict=False))
    for half, begin in enumerate(halves):
        end = halves[half + 1] if half + 1 < len(halves) else len(names)
        values = dict(zip(names[begin:end], cells[begin:end], strict=True))
        size, rate = number(told["size"]), _amount(values["busbw"])
        seconds = _amount(values.get("time", values.get("cputime")))
        if (size is None and told["size"] != "0") or rate is None or seconds is None:
            changed(path, NCCL_TESTS, f"line {at}", "holds no numbers where size, time and busbw stand")
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


def from_nccl_tests_json(path: Path, document: Mapping[str, Any]) -> Output:
    """Reads what `-J` writes."""
    config, results = document.get("config"), document.get("results")
    if not isinstance(config, dict) or not isinstance(results, list):
        cut_off(path, NCCL_TESTS, "it has no `config` and `results`")
    if "average_bus_bandwidth" not in document:
        cut_off(path, NCCL_TESTS, "it has no `average_bus_bandwidth`, which ends it")
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
            changed(
                path,
                NCCL_TESTS,
                f"`results[{at}]`",
                f"has no `size`, or no `{name}` with `time` and `bus_bw`",
            )
        told = row.get(f"{name}_per_iter") or {}
        each = (told.get("times_us") or []) if isinstance(told, dict) else told
        if not isinstance(each, list):
            changed(path, NCCL_TESTS, f"`{name}_per_iter` of `results[{at}]`", "has no list `times_us`")
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
        path, NCCL_TESTS, "it",
        "does not say of which test it is, as before 2.17: name the file after the test, as "
        "sendrecv_perf.txt",
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
        cut_off(path, NCCL_TESTS, "its table has no line")
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
    return Output(NCCL_TESTS, version, said, host=hosts[0] if hosts else "", gpus=gpus, notes=notes)


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


# Comm|Scope, and which tool it is.

COMM_SCOPE = "Comm|Scope"
_OURS = re.compile(r"(Comm_|libc_)\w+")
_GPU = ("cuda_id", "cudaId", "gpu", "dst_gpu", "dstGpu", "gpu0")
_PEER = ("src_gpu", "srcGpu", "gpu1")
_NUMA = ("numa_id", "numaId")
_NODES = {"from_node": "src_numa", "to_node": "dst_numa"}
# By the word that asks for it.
TOOLS = {"nvbandwidth": NVBANDWIDTH, "nccl-tests": NCCL_TESTS, "commscope": COMM_SCOPE}
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
        if NVBANDWIDTH in document:
            return NVBANDWIDTH, lambda: from_nvbandwidth_json(path, document)
        if is_nccl_tests_json(document):
            return NCCL_TESTS, lambda: from_nccl_tests_json(path, document)
        if is_comm_scope(document):
            return COMM_SCOPE, lambda: from_comm_scope(path, document)
        _refuse_json(path, document)
    if is_nvbandwidth_text(text):
        return NVBANDWIDTH, lambda: from_nvbandwidth_text(path, text)
    if is_nccl_tests_text(text):
        return NCCL_TESTS, lambda: from_nccl_tests_text(path, text)
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
