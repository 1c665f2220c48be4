"""Files with a few planted rows, and their figures as CSV rows to hold against."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.figures import csv_table
from grainscope_report.figures.model import Figure
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.machine import machines
from grainscope_report.typed import Problem
from synthetic import MIB, File

SITE = {"gpu": 0, "numa": 0}
FAR = {"gpu": 0, "numa": 1}
ENTRIES = {entry.id: entry for entry in FIGURES}
PART = 0.01 * 6.5 / 15.5  # what the interval of 32 even samples of ±1 % reaches to either side


def made(tmp_path, number: str, *files: File) -> Figure:
    """A figure of these files, as data."""
    paths = [file.write(tmp_path / str(order) / "result.json") for order, file in enumerate(files)]
    return figure(ENTRIES[number], machines([reader.read(path) for path in paths]))


def table(tmp_path, number: str, *files: File) -> list[dict[str, str]]:
    """The CSV rows of a figure of these files."""
    return list(csv.DictReader(io.StringIO(csv_table.write(made(tmp_path, number, *files)))))


def only(rows: list[dict[str, str]], **wanted: str) -> list[dict[str, str]]:
    """The rows with these cells."""
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


def values(rows: list[dict[str, str]], name: str = "series", **wanted: str) -> dict[str, float]:
    """The values of the rows with these cells, by one of their columns."""
    return {row[name]: float(row["y"]) for row in only(rows, **wanted) if row["y"]}


def point(rows: list[dict[str, str]], **wanted: str) -> tuple[float, float, float, float]:
    """The x and the y with its interval of the only such row."""
    [row] = only(rows, **wanted)
    return tuple(float(row[column]) for column in ("x", "y", "y_low", "y_high"))


def around(x: float, y: float) -> tuple:
    """What `point` gives for a rate `y` planted with samples of ±1 % of its time."""
    return tuple(map(pytest.approx, (x, y, y / (1 + PART), y / (1 - PART))))


def gpu_file(**more) -> File:
    file = File(gpus=("NVIDIA H100 80GB HBM3",), **more)
    file.link("host_to_gpu", 54.7)
    file.link("gpu_to_host", 55.1)
    return file


def copy(path: str, size: int, flush: str = "on", locality: str = "local", timed: str = "copy") -> dict:
    return {"timed": timed, "path": path, "flush": flush, "bytes": size, "locality": locality}


def add_copy(file: File, gb_s: float, *case, site=SITE, spread: float = 0.01, **more) -> None:
    axes = copy(*case, **more)
    file.add("transfer/memcpy", axes, site, axes["bytes"] / gb_s / 1e9, spread=spread)


def zero_copy(
    size: int, direction: str = "read", access: str = "merged_aligned", offset: int = 0, **more
) -> dict:
    launch = {"width": 4, "blocks": "full", "threads": 1024, "allocation": "host_alloc"} | more
    return {
        "direction": direction,
        "access": access,
        "offset": offset,
        **launch,
        "bytes": size,
        "locality": "local",
    }


def pinned_copy(size: int = MIB, **more) -> dict:
    """The axes of a flushed, local copy from pinned memory to the GPU, or of a variation of it."""
    return copy("pinned_to_gpu", size) | more


def spoiled(path: Path, spoil: Callable[[dict], object]) -> Path:
    """The file with a fault."""
    document = json.loads(path.read_text())
    spoil(document)
    path.write_text(json.dumps(document))
    return path


def linked_file() -> File:
    """Two GPUs joined by NVLink, one node, peaks 55.0, 56.0, 394.0 and 392.0 GB/s."""
    file = File(gpus=("NVIDIA H200",) * 2)
    file.link("host_to_gpu", 55.0)
    file.link("gpu_to_host", 56.0)
    file.peer_link(0, 1, 394.0)
    file.peer_link(1, 0, 392.0)
    return file


def departures(document: dict) -> list[Problem]:
    """In what a document is off the format."""
    return reader.parsed(Path("result.json"), document)[1]


def contradictions(document: dict) -> list[Problem]:
    """In what a document that follows the format contradicts itself."""
    assert departures(document) == []
    return reader.problems(Path("result.json"), document)


def faults_of(file: File, spoil=None) -> list[str]:
    """What is wrong with the file once its first row is spoiled."""
    document = file.document()
    if spoil:
        spoil(document["benchmarks"][0])
    return [str(problem) for problem in contradictions(document)]
