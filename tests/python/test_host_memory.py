"""Other ways to hold host memory: what a run says of them; figures draw the usual one alone."""

import pytest

from grainscope_report.cli import main
from grainscope_report.groups import gather, reach, traversal
from grainscope_report.machine import machines
from grainscope_report.reader import read
from synthetic import GIB, MIB, File

SITE = {"gpu": 0, "numa": 0}
SPANS = (256 * MIB, 2 * GIB, 32 * GIB)


def add_rows(file: File, memory: str, rates: dict[int, float], row: int = 128, **more) -> None:
    axes = {"memory": memory, "order": "as_asked", "row": row, "rows": 1 << 20, "locality": "local", **more}
    for span, gb_s in rates.items():
        asked = row << 20
        file.add("reach/gather", {**axes, "span": span}, SITE, asked / gb_s / 1e9, bytes=asked,
                 link_bytes_least=asked)  # fmt: skip


def walls(pinned: float, managed: float, row: int = 128, **more) -> File:
    file = File()
    file.link("host_to_gpu", 55.0)
    add_rows(file, "host_alloc", {SPANS[0]: 49.0, SPANS[1]: 9.0, SPANS[2]: pinned}, row)
    add_rows(file, "managed_host", {SPANS[0]: 48.0, SPANS[2]: managed}, row, **more)
    return file


def test_a_run_says_what_to_hold_a_table_in_where_pinned_memory_meets_a_wall(tmp_path):
    found = reach.remedy(read(walls(4.0, 42.0).write(tmp_path / "r.json")))
    assert found is not None
    assert (found.memory, found.there.span) == ("managed_host", 32 * GIB)
    assert found.times.value == pytest.approx(10.5)
    assert found.text == (
        "random 128 B rows over 32 GiB: pinned memory 4.0 GB/s (49.0 over 256 MiB), managed memory on the "
        "host 42.0, 10.5×: docs/host-memory.md"
    )


def test_nothing_is_said_where_both_are_alike(tmp_path):
    assert reach.remedy(read(walls(42.0, 42.5).write(tmp_path / "r.json"))) is None


def test_rows_of_fewer_bytes_than_a_line_are_told_of_only_where_there_are_no_others(tmp_path):
    file = walls(4.0, 42.0)
    add_rows(file, "host_alloc", {32 * GIB: 1.0}, 32)
    add_rows(file, "managed_host", {32 * GIB: 10.0}, 32)
    assert reach.remedy(read(file.write(tmp_path / "r.json"))).there.row == 128
    only = read(walls(1.0, 10.0, row=32).write(tmp_path / "o.json"))
    assert reach.remedy(only).there.row == 32


@pytest.mark.parametrize(
    "more", [{"touch_threads": 1}, {"gpus": 2}, {"beside": "host_read"}, {"free_pieces": 1 << 18}]
)
def test_memory_that_others_touch_or_read_too_makes_no_wall_and_no_remedy(tmp_path, more):
    result = read(walls(4.0, 42.0, **more).write(tmp_path / "r.json"))
    assert reach.remedy(result) is None
    assert [wall.memory for wall in reach.walls_of(result)] == ["host_alloc"]


@pytest.mark.parametrize("axis", ["order", "row", "rows", "span"])
def test_a_row_that_does_not_say_what_it_gathers_makes_no_wall_and_is_refused(tmp_path, capsys, axis):
    file = walls(4.0, 42.0)
    for row in file.rows[:3]:
        del row["case"]["axes"][axis]
    path = file.write(tmp_path / "r.json")
    for command in (["summary"], ["summary", "--json"], ["summary", "--full"], ["matrix"]):
        assert main([*command, str(path)]) == 0
    result = read(path)
    assert [wall.memory for wall in reach.walls_of(result)] == ["managed_host"]
    assert reach.remedy(result) is None
    capsys.readouterr()
    assert main(["validate", str(path)]) == 1
    assert f"case.axes: lacks {axis}" in capsys.readouterr().out


def test_the_screen_of_a_run_has_the_sentence(tmp_path, capsys):
    assert main(["summary", str(walls(4.0, 42.0).write(tmp_path / "r.json"))]) == 0
    assert "managed memory on the host 42.0" in " ".join(capsys.readouterr().out.split())


GATHER = {
    "mode": "masked", "store": "mapped", "row": 128, "rows": 1 << 20, "span": 2 * GIB, "indices": "uniform",
    "element": 4, "width": 16, "locality": "local",
}  # fmt: skip
SEARCH = {
    "access": "merged_aligned", "placement": "mapped", "graph": "kron20", "edge": 8, "order": "original",
    "locality": "local",
}  # fmt: skip


def several_gpus() -> File:
    """Rows that one, two and four GPUs gather of one table."""
    file = walls(4.0, 42.0)
    for memory, rates in (("host_alloc", (8.0, 16.0)), ("managed_host", (84.0, 126.0))):
        for gpus, gb_s in zip((2, 4), rates, strict=True):
            add_rows(file, memory, {32 * GIB: gb_s}, gpus=gpus)
    add_rows(file, "host_alloc", {32 * GIB: 2.0}, beside="host_read")
    add_rows(file, "host_alloc", {32 * GIB: 99.0}, row=512, gpus=4)  # without a row of one GPU
    return file


def test_several_gpus_that_read_one_table_stand_beside_one(tmp_path, capsys):
    path = several_gpus().write(tmp_path / "r.json")
    four, two = reach.said_of_readers(reach.readers(read(path)))
    assert four == (
        "4 GPUs that read one table: at most 126.0 GB/s, 3.0 × one GPU (128 B as asked over 32 GiB of "
        "managed memory on the host); 16.0 GB/s, 4.0 × one GPU (128 B as asked over 32 GiB of cudaHostAlloc)"
    )
    assert two.startswith("2 GPUs that read one table: at most 84.0 GB/s, 2.0 × one GPU")
    for arguments in ([], ["--full"]):
        assert main(["summary", str(path), *arguments]) == 0
        assert "- 4 GPUs that read one table: at most 126.0" in " ".join(capsys.readouterr().out.split())
    assert reach.said_of_readers(reach.readers(read(walls(4.0, 42.0).write(tmp_path / "o.json")))) == []


def test_rows_of_several_gpus_are_in_no_figure_of_one_link(tmp_path):
    [machine] = machines([read(several_gpus().write(tmp_path / "r.json"))])
    drawn = [curve for panel in reach.build([machine]).panels for curve in panel.curves]
    rates = {round(point.y.value) for curve in drawn if curve.label == "measured" for point in curve.points}
    assert rates == {49, 9, 4, 48, 42}


def test_the_best_memory_is_asked_of_as_many_gpus(tmp_path, capsys):
    path = str(several_gpus().write(tmp_path / "r.json"))
    assert main(["ask", path, "best", "memory", "for", "random", "128", "B", "rows", "over", "32GiB"]) == 0
    out = capsys.readouterr().out
    assert [line.partition(":")[0] for line in out.splitlines() if "fastest is managed_host" in line] == [
        f"host → GPU, as asked{gpus}" for gpus in ("", ", gpus 2", ", gpus 4")
    ]
    assert "Not measured" not in out


def test_figures_draw_the_usual_kind_of_memory_alone(tmp_path):
    file = File()
    for more in ({}, {"memory": "managed_host"}):
        file.add("gather", GATHER | more, SITE, 1e-3, bytes=128 << 20, link_bytes_least=128 << 20)
        file.add("traversal/bfs", SEARCH | more, SITE, 1e-2, bytes=1 << 30)
    [machine] = machines([read(file.write(tmp_path / "r.json"))])
    assert len(gather.measured(machine)) == 1
    assert len(traversal.of_family(machine, "traversal")) == 1
