"""Who needs how much of the GPU's memory for which time, by planted rows."""

import json
from pathlib import Path

import pytest

from grainscope_report import reader
from grainscope_report.cli import main
from grainscope_report.groups import lean, traversal, traversal_answers
from grainscope_report.groups.traversal_answers import FEWER, PRESSED
from grainscope_report.machine import machines
from planted_traversals import ENTRIES, KRON, machine_file, pages, traverse

BESIDE = 12e6  # bytes of offsets, state, frontier and items
HALF = {"amplification_data_set": 3.0, "card_bytes": 4e6}


def needed(tmp_path, file) -> dict[tuple[str, str], dict[str, tuple[float, float]]]:
    """Of each algorithm and graph the bytes and seconds of each way."""
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    return {
        (one.work.algorithm, one.work.graph): {
            name: (need.gpu_bytes, need.run.time.value) for name, need in one.ways.items()
        }
        for one in traversal_answers.needs(machine)
    }


def way(file, time_s: float, placement: str, algorithm: str = "bfs", size: float = BESIDE, **more):
    traverse(file, [time_s], algorithm, placement=placement, counters={"gpu_bytes": size}, **more)


def fewer(file, time_s: float, hot: int, lists: str, algorithm: str = "bfs"):
    """A row of lean/*, made of one of traversal/*."""
    axes = {
        "strategy": "direction_optimising",
        "tier": "heads" if hot else "none",
        "lists": lists,
        "hot": hot,
    }
    row = traverse(file, [time_s], algorithm, counters={"gpu_bytes": 7e6, "hot_bytes": 4.0 * hot})
    row["case"]["family"] = f"lean/{algorithm}"
    kept = {name: row["case"]["axes"][name] for name in ("graph", "locality")}
    row["case"]["axes"] = axes | {"segments": "read"} | kept
    row["name"] = row["run_name"] = f"lean/{algorithm}/{'/'.join(map(str, axes.values()))}/graph:{KRON}"


def test_managed_pages_are_added_to_what_a_row_counts(tmp_path):
    file = machine_file()
    way(file, 0.010, "mapped")
    way(file, 0.012, "mapped", access="merged")
    way(file, 0.030, "managed")
    way(file, 0.001, "device", size=BESIDE + 8 * ENTRIES[KRON])
    found = needed(tmp_path, file)["bfs", KRON]
    assert found == {
        "mapped": (BESIDE, 0.010),
        "managed": (BESIDE + 8 * ENTRIES[KRON], 0.030),
        "device": (BESIDE + 8 * ENTRIES[KRON], 0.001),
    }


def test_weights_are_pages_too(tmp_path):
    file = machine_file()
    way(file, 0.010, "mapped", "sssp")
    way(file, 0.030, "managed", "sssp")
    assert needed(tmp_path, file)["sssp", KRON]["managed"] == (BESIDE + 12 * ENTRIES[KRON], 0.030)


def test_of_fewer_bytes_the_fastest_without_edges_in_the_gpu_stands_there(tmp_path):
    file = machine_file()
    way(file, 0.010, "mapped")
    fewer(file, 0.004, 0, "plain")
    fewer(file, 0.003, 0, "compressed")
    fewer(file, 0.001, 25, "plain")
    assert needed(tmp_path, file)["bfs", KRON][FEWER] == (7e6, 0.003)


def test_modelled_rows_stand_beside_bfs_alone_and_over_the_link_that_is_there(tmp_path):
    file = machine_file()
    for algorithm in ("bfs", "cc"):
        way(file, 0.010, "mapped", algorithm)
        way(file, 0.030, "managed", algorithm)
        pages(file, 0.5, algorithm, link="measured", counters=HALF)
        pages(file, 0.9, algorithm, link="pcie3x16", counters=HALF)
        pages(file, 0.4, algorithm, link="measured", card=75, counters=HALF)
    found = needed(tmp_path, file)
    assert found["bfs", KRON][PRESSED] == (BESIDE + 4e6, 0.5)
    assert PRESSED not in found["cc", KRON]


def test_one_way_alone_is_no_comparison(tmp_path):
    file = machine_file()
    way(file, 0.010, "mapped")
    way(file, 0.011, "mapped", order="degree")
    assert needed(tmp_path, file) == {}


@pytest.mark.parametrize("width", [60, 140])
def test_the_summary_has_a_line_for_each_algorithm_and_graph(tmp_path, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    file = machine_file()
    way(file, 0.010, "mapped")
    way(file, 0.030, "managed")
    way(file, 0.020, "subway", access="compact", size=20e6)
    path = str(file.write(tmp_path / "result.json"))
    assert main(["summary", "--full", path]) == 0
    out = capsys.readouterr().out
    table = out[out.index("GPU memory") :]
    assert max(map(len, table.splitlines())) <= width
    [line] = [line for line in out.splitlines() if "11.4 MiB, 10 ms" in line]
    assert "19.1 MiB, 30 ms" in line
    assert ("19.1 MiB, 20 ms" in line) == (width == 140)
    assert "Half managed" not in out
    assert main(["summary", path, "--json"]) == 0
    [one] = json.loads(capsys.readouterr().out)["gpu_memory"]
    assert one["ways"]["managed"]["gpu_bytes"] == BESIDE + 8 * ENTRIES[KRON]
    assert list(one["ways"]) == ["mapped", "subway", "managed"]
    assert {each["label"] for each in one["ways"].values()} == {"measured"}


def shared(file, time_s: float, scaling: float, edges: float = 3e6, gpus: int = 2, **axes):
    """A row of several GPUs."""
    alone = scaling * gpus * time_s
    counters = {"gpu_bytes": 3 * BESIDE, "alone_s": alone, "scaling": scaling, "edges_read": edges}
    row = traverse(file, [time_s], axes.pop("algorithm", "bfs"), counters=counters)
    row["case"]["axes"] |= {"gpus": gpus} | axes
    row["name"] = row["run_name"] = f"{row['name']}/gpus:{gpus}{''.join(f'/{a}:{axes[a]}' for a in axes)}"


def several(file) -> None:
    """Rows of one GPU, and faster ones of several GPUs and of edges in the memory of GPUs."""
    for algorithm, edges in (("bfs", 2e6), ("cc", 9e6)):
        row = traverse(file, [0.010], algorithm, counters={"gpu_bytes": BESIDE, "edges_read": edges})
        assert row["case"]["axes"]["placement"] == "mapped"
    way(file, 0.030, "managed")
    way(file, 0.001, "peer")
    way(file, 0.0005, "interleaved")
    shared(file, 0.006, 0.9)
    shared(file, 0.007, 0.8, divide="vertices")
    shared(file, 0.005, 0.5, gpus=4)


def test_rows_of_several_gpus_and_of_edges_in_gpus_are_no_walk_of_one_over_its_link(tmp_path):
    file = machine_file()
    several(file)
    assert needed(tmp_path, file)["bfs", KRON] == {
        "mapped": (BESIDE, 0.010),
        "managed": (BESIDE + 8 * ENTRIES[KRON], 0.030),
    }
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert not [run for run in traversal.measured(machine) if "gpus" in run.row.case.axes]
    [best] = [one.best for one in traversal_answers.answers(machine) if one.work.algorithm == "bfs"]
    assert (best.placement, best.time.value) == ("mapped", 0.010)


def test_several_gpus_stand_beside_one(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    file = machine_file()
    several(file)
    shared(file, 0.008, 0.7, algorithm="cc", edges=9.9e6)
    shared(file, 0.008, 0.7, algorithm="pr")  # without a row of one GPU
    path = str(file.write(tmp_path / "result.json"))
    assert main(["summary", path, "--json"]) == 0
    found = {
        (one["algorithm"], one["gpus"], one["divide"]): one
        for one in json.loads(capsys.readouterr().out)["several_gpus"]
    }
    assert len(found) == 5
    assert found["bfs", 2, "edges"]["scaling"] == 0.9
    assert found["bfs", 4, "edges"]["alone_s"] == pytest.approx(0.010)
    assert found["bfs", 2, "vertices"]["edges_over_alone"] == pytest.approx(1.5)
    assert found["cc", 2, "edges"]["edges_over_alone"] == pytest.approx(1.1)
    assert found["pr", 2, "edges"]["edges_over_alone"] is None
    assert main(["summary", "--full", path]) == 0
    out = capsys.readouterr().out
    [line] = [line for line in out.splitlines() if line.startswith("  bfs") and "of as many vertices" in line]
    assert line.split()[-6:] == ["7", "ms", "1.60", "80.0", "%", "1.50"]
    assert main(["summary", path]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "8 B, mapped: by 4 GPUs bfs 2.0 times as fast as by one" in said
    assert "traversal/cc mapped merged_aligned original kron24 8 ms - edge 8, gpus 2" in said


def test_several_gpus_that_read_fewer_edges_stand_beside_one_of_their_way(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    path = str(Path(__file__).parents[2] / "results/reference/two-h100-lean-kron24.json.gz")
    assert main(["validate", path]) == 0
    capsys.readouterr()
    assert main(["summary", path, "--json"]) == 0
    found = {
        (one["algorithm"], one["how"]): one for one in json.loads(capsys.readouterr().out)["several_gpus"]
    }
    assert len(found) == 8
    assert found["pr", "pulled, compressed lists"]["scaling"] > 0.93
    assert found["cc", "sampled"]["divide"] is None
    assert main(["summary", "--full", path]) == 0
    out = capsys.readouterr().out
    [line] = [line for line in out.splitlines() if "sssp kron24" in line and "compressed lists" in line]
    assert "near-far" in line
    [machine] = machines([reader.read(path)])
    assert not lean.measured(machine), "what one GPU does is not told by rows of two"
