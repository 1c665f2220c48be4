"""nvbandwidth's output, as text (0.1 to 0.9) and by `--json` (0.5 to 0.8): a matrix a test.

It repeats a test (`--testSamples`) and reports the middle one alone, so nothing is known of what repetitions
differ by. From 0.6 on a test of two directions between GPUs has three matrices: each direction and the total.
Those before have one, of one direction. A text of a test that was waived does not name it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from grainscope_report.others.beside import RATE, TIME, Measured, Output, changed, cut_off, number

TOOL = "nvbandwidth"
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


def is_text(text: str) -> bool:
    """Whether a text is of nvbandwidth."""
    return bool(
        re.search(r"^nvbandwidth Version:", text, re.M)
        or re.search(r"^Running \w+_(ce|sm|copy)\.", text, re.M)
    )


def from_text(path: Path, text: str) -> Output:
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
        cut_off(path, TOOL, "it has no result of any test")
    after = lines[begins[-1] if begins else 0 :]
    if version and _OPENING not in text and not any(line.startswith((_CLOSING, *_TROUBLE)) for line in after):
        cut_off(path, TOOL, f"the line `{_CLOSING} …` is missing, which ends it")
    notes = [UNREPEATED]
    if unnamed := waived.count(None):
        notes.append(
            f"{unnamed} test{'s were' if unnamed > 1 else ' was'} waived, which the text does not name"
        )
    gpus = [(found[2], found[3] or "") for found in devices if found]
    return Output(TOOL, version.removeprefix("v"), rows, gpus=gpus, notes=notes)


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
        changed(path, TOOL, f"line {ends[0] + 1}, of {test},", "ends a matrix of neither GB/s nor ns")
    elif errors:
        yield _failed(test, " ".join(errors))
    else:
        cut_off(path, TOOL, f"it has no result of {test}")


def from_json(path: Path, document: Mapping[str, Any]) -> Output:
    """Reads what `--json` prints."""
    told = document[TOOL]
    if not isinstance(told, dict):
        changed(path, TOOL, f"`{TOOL}`", "is no object")
    if "testcases" not in told:
        reason = told.get("error")
        cut_off(path, TOOL, f"it has no `testcases`{f' but the error {reason!r}' if reason else ''}")
    tests = told["testcases"]
    if not isinstance(tests, list) or not all(
        isinstance(test, dict) and isinstance(test.get("name"), str) for test in tests
    ):
        changed(path, TOOL, "`testcases`", "is no list of tests with names")
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
        cut_off(path, TOOL, "it has no result of any test")
    listed = [str(one) for one in told.get("GPU Device list") or ()]
    found = [match for one in listed if (match := _DEVICE.match(one))]
    return Output(
        TOOL,
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
        changed(path, TOOL, f"`bandwidth_description` of {name}", "names neither GB/s nor ns")
    lines = test["bandwidth_matrix"]
    if not isinstance(lines, list) or not lines or not all(isinstance(line, list) and line for line in lines):
        changed(path, TOOL, f"`bandwidth_matrix` of {name}", "is no matrix")
    matrix = [[_value(path, name, cell) for cell in line] for line in lines]
    if len({len(line) for line in matrix}) != 1:
        changed(path, TOOL, f"`bandwidth_matrix` of {name}", "has rows of several lengths")
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
                changed(path, TOOL, f"line {place + 1}, the matrix of {test},", "has no columns or no rows")
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
                path, TOOL, f"line {place + 1}, a row of {test},",
                f"has {len(cells) - 1} values for {len(heads)} columns",
            )  # fmt: skip
        rows.append([_value(path, test, cell) for cell in cells[1:]])
    return cut_off(path, TOOL, f"the matrix of {test} has no end")


def _value(path: Path, test: str, cell: object) -> float | None:
    """A value, which may be 0; None where there is none."""
    if cell == "N/A":
        return None
    if cell in (0, "0", "0.00"):
        return 0.0
    if (value := number(cell)) is None:
        changed(path, TOOL, f"the matrix of {test}", f"holds {str(cell)[:20]!r}")
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
        changed(path, TOOL, f"{test}", f"has {len(matrices)} matrices")
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
