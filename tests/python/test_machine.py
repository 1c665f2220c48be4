"""Labels of machines that are shown together, and their provenance."""

import pytest

from grainscope_report import cli, reader
from grainscope_report.machine import Machine, machines, spoken_site, took
from grainscope_report.page import page, tables
from synthetic import KIB, MIB, File


def machine_section(machine: Machine) -> str:
    return tables.template().module.machine(page._machine(machine, False))


@pytest.fixture
def labels(tmp_path):
    def show(*files: File) -> list[str]:
        paths = [file.write(tmp_path / str(order) / "result.json") for order, file in enumerate(files)]
        return [machine.label for machine in machines([reader.read(path) for path in paths])]

    return show


def test_a_gpu_names_the_machine_and_else_its_cpu(labels):
    assert labels(
        File(gpus=("NVIDIA H200",) * 2), File(host="laptop", cpu="Intel(R) Core(TM) i7 CPU @ 2.10GHz")
    ) == ["NVIDIA H200 ×2 (node-a)", "Intel Core i7 (laptop)"]


def test_two_runs_of_one_machine_are_told_apart_by_date_and_then_by_file(labels):
    first, second = File(), File(date="2026-12-01T00:00:00")
    assert labels(first, second) == ["Intel Xeon (node-a), 2026-11-20", "Intel Xeon (node-a), 2026-12-01"]
    assert labels(first, File()) == [f"Intel Xeon (node-a), 2026-11-20, {n}/result.json" for n in (0, 1)]


def test_provenance_names_machine_driver_commit_and_date(show):
    [h100, laptop] = show("h100", "cpu_only")
    assert h100.provenance == (
        "NVIDIA H100 80GB HBM3 · Intel Xeon · node-a · driver 580.159 · CUDA 13.0 · "
        "GrainScope 0.1.0 (commit 1a2b3c4d5e) · 2026-11-20"
    )
    assert "no GPU · Intel Xeon · laptop · no NVIDIA driver · built without CUDA" in laptop.provenance
    assert (h100.letter, laptop.letter) == ("A", "B")


def test_provenance_names_the_file_where_another_has_the_same(tmp_path):
    paths = [File().write(tmp_path / run / "result.json") for run in ("first", "second")]
    other = File(host="laptop").write(tmp_path / "other" / "result.json")
    made = machines([reader.read(path) for path in (*paths, other)])
    assert [machine.provenance.rsplit(" · ", 1)[1] for machine in made] == [
        "first/result.json",
        "second/result.json",
        "2026-11-20",
    ]


@pytest.mark.parametrize("commit", ["", "unknown"])
def test_an_unknown_commit_is_said(tmp_path, commit):
    file = File()
    file.context["grainscope"]["commit"] = commit
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert "(commit unknown)" in machine.provenance


@pytest.mark.parametrize(
    ("visit_s", "said"),
    [(None, "2 min 28 s"), (74.5, "2 min 28 s"), (424.2, "14 min 8 s at least, in several parts")],
)
def test_a_run_whose_visits_took_longer_was_resumed(tmp_path, capsys, visit_s, said):
    file = File()
    for size in (KIB, MIB):
        row = file.add("host/memcpy", {"bytes": size}, {"from_node": 0}, 1e-3)
        if visit_s:
            row["visits"][0]["visit_s"] = visit_s
    path = file.write(tmp_path / "result.json")
    result = reader.read(path)
    assert took(result) == said
    assert cli.main(["summary", str(path)]) == 0
    assert f", {said}" in capsys.readouterr().out
    assert f"took {said}" in machine_section(*machines([result]))


def test_the_page_says_how_many_sides_were_slower_alone(tmp_path):
    file = File()
    axes = {"what": "opposite_copy", "path": "host_to_gpu", "bytes": MIB, "locality": "local"}
    lane = {"name": "measured", "bytes": MIB, "seconds": 1e-3, "from": "host:0", "to": "gpu:0"}
    for flags in ((), ("slower_alone",)):
        file.together("contention", axes, {"gpu": 0, "numa": 0}, [lane], overlap=1.0, flags=flags)
        [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
        section = machine_section(machine)
        assert ("1 row has a side that took longer alone" in section) == bool(flags)


def test_sites_are_spoken():
    assert spoken_site((("gpu", 1), ("numa", 0))) == "GPU 1, node 0"
    assert spoken_site((("from_node", 0), ("to_node", 1))) == "from node 0, to node 1"
