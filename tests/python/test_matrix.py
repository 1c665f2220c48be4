"""`matrix`: each pair of places in its cell, as text, CSV and JSON."""

import csv
import io
import json

import pytest

import stored
from grainscope_report import uncertainty
from grainscope_report.cli import main
from planted import add_copy, linked_file
from stored import PROJECT
from synthetic import GIB, MIB, File

GPUS = 8


def peers(rates: dict[tuple[int, int], float], size: int = 256 * MIB) -> File:
    file = File(gpus=("NVIDIA H100 80GB HBM3",) * GPUS)
    for (gpu, peer), rate in rates.items():
        for share, more in ((0.5, size // 16), (1.0, size)):
            axes = {"method": "copy_engine", "direction": "write", "access": "on", "bytes": more}
            site = {"gpu": gpu, "peer": peer}
            file.add("transfer/peer", axes | {"link": "nvlink"}, site, more / rate / share / 1e9)
    return file


def said(capsys, path, *more: str) -> str:
    assert main(["matrix", str(path), *more]) == 0
    return capsys.readouterr().out


def block(out: str, heading: str) -> list[list[str]]:
    """The cells of the matrix under a heading: a line for each row of places, without the errors."""
    lines = out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(heading))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith(("  GPU", "  node")):
            break
        rows.append([cell for cell in line.strip().split("  ") if cell])
    return rows


def test_every_pair_has_its_cell_and_its_highest_rate(tmp_path, capsys):
    path = peers({(0, 1): 390.0, (1, 0): 380.0, (0, 3): 200.0}).write(tmp_path / "result.json")
    out = said(capsys, path)
    assert out.startswith("copy engine, GPU writes to peer, GB/s, at 256 MiB\n")
    rows = [[cell.split(" ±")[0].strip() for cell in row] for row in block(out, "copy engine")]
    assert rows == [["GPU 0", "-", "390", "200"], ["GPU 1", "380", "-", "-"], ["GPU 3", "-", "-", "-"]]
    assert "200 (GPU 0, GPU 3) to 390 (GPU 0, GPU 1); ± " in out


@pytest.mark.parametrize(("width", "errors"), [(80, False), (160, True)])
def test_errors_stand_in_the_cells_where_they_have_room(width, errors, tmp_path, capsys, monkeypatch):
    pairs = {(one, two): 390.0 + one for one in range(GPUS) for two in range(GPUS) if one != two}
    path = peers(pairs).write(tmp_path / "result.json")
    monkeypatch.setenv("COLUMNS", str(width))
    out = said(capsys, path)
    rows = block(out, "copy engine")
    assert len(rows) == GPUS
    assert ("±" in str(rows)) == errors
    assert "% at most (95 %" in out
    assert max(map(len, out.splitlines())) <= width


def test_a_link_without_rows_has_its_copy_peak(tmp_path, capsys):
    file = File(gpus=("NVIDIA H100 80GB HBM3",) * 2)
    for gpu, rate in ((0, 54.0), (1, 38.0)):
        file.link("host_to_gpu", rate, gpu=gpu)
    add_copy(file, 50.0, "pinned_to_gpu", GIB)
    path = file.write(tmp_path / "result.json")
    [row] = block(said(capsys, path), "pinned copy, node to GPU")
    assert [cell.split(" ±")[0].strip() for cell in row] == ["node 0", "50", "38"]
    found = json.loads(said(capsys, path, "--format", "json"))
    [matrix] = found["matrices"]
    assert [pair["case"] is None for pair in matrix["pairs"]] == [False, True]


def test_pairs_of_gpus_without_rows_have_their_copy_peaks(files, capsys):
    rows = block(said(capsys, files["crowded"]), "copy engine, GPU writes to peer")
    assert [row[0] for row in rows] == [f"GPU {gpu}" for gpu in range(GPUS)]
    assert all(cell == "-" or cell.startswith("390") for row in rows for cell in row[1:])
    assert "all 390; ± " in said(capsys, files["crowded"])


def test_loads_are_in_nanoseconds_and_the_shortest_counts(tmp_path, capsys):
    file = linked_file()
    for order, each in (("stride", 1.2e-6), ("shuffled", 1.3e-6)):
        axes = {"to": "host_memory", "order": order, "bytes": 2 * MIB, "locality": "local"}
        file.add("latency/chase", axes, {"gpu": 0, "numa": 1}, each * 1000, operations=1000)
    path = file.write(tmp_path / "result.json")
    [row] = block(said(capsys, path, "latency"), "loads by the GPU from the node, ns")
    assert row[0] == "node 1"
    assert row[1].startswith("1200 ± ")
    [matrix] = json.loads(said(capsys, path, "latency/chase", "--format", "json"))["matrices"]
    assert matrix["unit"] == "s"
    [pair] = matrix["pairs"]
    assert (pair["row"], pair["column"]) == ("node 1", "GPU 0")
    assert pair["value"] == pytest.approx(1.2e-6)
    assert pair["low"] <= pair["value"] <= pair["high"]


def test_csv_has_a_line_for_each_pair(tmp_path, capsys):
    path = peers({(0, 1): 390.0, (1, 0): 380.0}).write(tmp_path / "result.json")
    rows = list(csv.DictReader(io.StringIO(said(capsys, path, "--format", "csv"))))
    assert [(row["row"], row["column"], row["unit"]) for row in rows] == [
        ("GPU 0", "GPU 1", "GB/s"),
        ("GPU 1", "GPU 0", "GB/s"),
    ]
    assert [float(row["value"]) for row in rows] == pytest.approx([390.0, 380.0])
    assert rows[0]["case"].startswith("transfer/peer/")


@pytest.mark.parametrize("more", [[], ["transfer/peer"], ["nonsense"]])
def test_a_run_without_pairs_is_a_sentence(tmp_path, capsys, more):
    file = File(gpus=())
    file.add("host/malloc", {"what": "malloc", "bytes": 64, "locality": "local"}, {"node": 0}, 1e-7)
    assert main(["matrix", str(file.write(tmp_path / "result.json")), *more]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "has no pairs of places" in told.err
    assert "transfer/peer" in told.err


def test_the_matrices_of_two_gpus_are_the_golden_ones(capsys, monkeypatch):
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv("COLUMNS", "100")
    # A new table of type B changes intervals and no matrix.
    monkeypatch.setattr(uncertainty, "at_hand", uncertainty.TypeB)
    stored.hold("matrix_h200x2-quick.txt", said(capsys, "results/reference/h200x2-quick.json.gz", "--full"))


@pytest.mark.parametrize("width", [80, 100, 160])
def test_matrices_are_one_screen_and_none_is_left_out(capsys, monkeypatch, width):
    monkeypatch.chdir(PROJECT)
    monkeypatch.setenv("COLUMNS", str(width))
    path = "results/reference/h200x2-quick.json.gz"
    screen, full = (said(capsys, path, *more).splitlines() for more in ((), ("--full",)))
    assert len(screen) <= 40 < len(full)
    assert max(map(len, screen)) <= width
    assert screen[-1] == "--full shows these as matrices, too"
    for heading in (line.split(", ")[0] for line in full if line and not line.startswith(" ")):
        assert any(line.startswith(f"{heading}, ") for line in screen)
