"""`dispatch`: the fastest way to copy scattered pages, as a table, as JSON and as a header that compiles."""

import itertools
import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest

from grainscope_report import typed
from grainscope_report.cli import main
from grainscope_report.commands import dispatch
from grainscope_report.groups import shape as pages
from grainscope_report.reader import read
from planted import gpu_file
from synthetic import GIB, KIB, File
from synthetic_busy import add_pages, busy

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = {"cc": ("-std=c99", "-x", "c"), "g++": ("-std=c++11", "-x", "c++")}
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-pedantic")
# Asks the header for each line of three numbers, and answers by a number.
ASKER = """\
#include <inttypes.h>
#include <stdio.h>
#include "pages.h"
int main(void) {
  int path;
  uint64_t page, pages;
  while (scanf("%d %" SCNu64 " %" SCNu64, &path, &page, &pages) == 3) {
    const enum grainscope_path way = (enum grainscope_path)path;
    double away = -1.0;
    const struct grainscope_page_point* const point = grainscope_page_nearest(way, page, pages, &away);
    printf("%d %.17g %u %.3f\\n", (int)grainscope_page_method(way, page, pages), away,
           point != NULL ? (unsigned)point->neighbours : 0u, point != NULL ? point->share_percent : 0.0);
  }
  return 0;
}
"""


def planted() -> File:
    """Few pages go by a batch and many by a kernel; of 64 KiB a batch and a graph tie."""
    file = gpu_file()
    for count, kernel_s in ((16, 3e-6), (4096, 1e-7)):
        add_pages(file, "host_to_gpu", "batch", 4 * KIB, count, 1e-6)
        add_pages(file, "host_to_gpu", "kernel", 4 * KIB, count, kernel_s)
    add_pages(file, "host_to_gpu", "batch", 64 * KIB, 16, 1.5e-6)
    add_pages(file, "host_to_gpu", "graph", 64 * KIB, 16, 1.501e-6)
    add_pages(file, "host_to_gpu", "kernel", 64 * KIB, 16, 4e-6)
    add_pages(file, "gpu_to_host", "cpu_gather", 4 * KIB, 16, 2e-6)
    return file


def found(tmp_path, file: File, *axes: str) -> list[pages.Table]:
    return pages.tables(read(file.write(tmp_path / "result.json")), pages.wanted(axes))


def winners(table: pages.Table) -> dict[tuple[int, int], str]:
    return {(point.page, point.pages): point.ways[0].method for point in table.points}


def test_each_path_has_a_table_with_the_next_method_and_ties(tmp_path, capsys):
    assert main(["dispatch", str(planted().write(tmp_path / "result.json"))]) == 0
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert said == [
        "host → GPU, order drawn, pool usual (GPU 0, node 0)",
        "page pages fastest GB/s ± next as fast ± of unmeasured",
        "4 KiB 16 batch 4.1 0.4 % kernel 3 × 0.6 % 2 methods graph",
        "4 KiB 4096 kernel 40.96 0.4 % batch 10 × 0.6 % 2 methods graph",
        "64 KiB 16 batch 43.69 0.4 % graph tie - 3 methods -",
        "",
        "GPU → host, order drawn, pool usual (GPU 0, node 0)",
        "page pages fastest GB/s ± next as fast ± of",
        "4 KiB 16 cpu_gather 2.05 0.4 % - - - 1 method",
        "Unmeasured: not measured there, but the fastest at the nearest point that has it.",
        "Uncertainties are of this run alone: what runs differ by is not known for all rows.",
    ]


@pytest.mark.parametrize(("slower", "tied"), [(1.0055, True), (1.0065, False)])
def test_a_tie_is_what_the_combined_uncertainty_covers(tmp_path, slower, tied):
    """Two intervals of ±0.42 % cover 0.59 % together, though the two would touch up to 0.84 %."""
    file = gpu_file()
    add_pages(file, "local", "batch", 4 * KIB, 16, 1e-6)
    add_pages(file, "local", "graph", 4 * KIB, 16, slower * 1e-6)
    [table] = found(tmp_path, file)
    [point] = table.points
    assert [way.method for way in point.tied] == ["graph"] * tied
    part = math.hypot(*(math.log(way.rate.high / way.rate.low) / 2 for way in point.ways))
    assert 0.0055 < part < 0.0065
    assert point.margin.value == pytest.approx(slower, rel=1e-6)
    assert point.margin.low == pytest.approx(slower / math.exp(part), rel=1e-6)


def test_only_what_was_measured_at_the_near_site_counts(tmp_path):
    file = gpu_file()
    add_pages(file, "host_to_gpu", "batch", 4 * KIB, 16, 1e-6)
    for spoil in ({"status": "failed", "reason": "wrong"}, {"label": "modelled"}):
        add_pages(file, "host_to_gpu", "kernel", 4 * KIB, 16, 1e-9).update(spoil)
    far = add_pages(file, "host_to_gpu", "graph", 4 * KIB, 16, 1e-9, locality="remote")
    far["case"]["site"]["numa"] = 1
    other = add_pages(file, "host_to_gpu", "staged", 4 * KIB, 16, 1e-9)
    other["case"]["site"]["gpu"] = 1
    [table] = found(tmp_path, file)
    assert [way.method for point in table.points for way in point.ways] == ["batch"]


def test_pages_that_neighbours_pass_on_stand_beside_other_methods_once(tmp_path):
    """Their site names the neighbour; of several shares and numbers of neighbours the fastest counts."""
    file = planted()
    add_pages(file, "host_to_gpu", "relay", 4 * KIB, 4096, 6e-8)
    add_pages(file, "host_to_gpu", "relay", 4 * KIB, 4096, 5e-8, share=30)
    add_pages(file, "host_to_gpu", "relay", 4 * KIB, 4096, 7e-8, neighbours=2)
    add_pages(file, "host_to_gpu", "relay", 4 * KIB, 16, 9e-6)
    [table] = [table for table in found(tmp_path, file) if table.path == "host_to_gpu"]
    assert table.site == (("gpu", 0), ("numa", 0))
    assert table.title == "host → GPU, order drawn, pool usual (GPU 0, node 0)"
    ranked = {(p.page, p.pages): [way.method for way in p.ways] for p in table.points}
    assert ranked[4 * KIB, 4096] == ["relay", "kernel", "batch"]
    assert ranked[4 * KIB, 16] == ["batch", "kernel", "relay"]
    first = next(point for point in table.points if point.pages == 4096).ways[0]
    assert first.row.case.axes["share"] == 30
    assert first.row.case.direction == "host_to_gpu"
    assert first.row.case.ends == ("host:0", "gpu:0")


def test_each_way_in_which_pages_lie_has_a_table_and_flags_choose(tmp_path):
    file = planted()
    add_pages(file, "host_to_gpu", "batch_merged", 4 * KIB, 16, 1e-7, order="runs")
    add_pages(file, "host_to_gpu", "kernel", 4 * KIB, 16, 1e-7, pool=4 * GIB)
    add_pages(file, "host_to_gpu", "graph", 4 * KIB, 16, 1e-7, memory="registered")
    add_pages(file, "host_to_gpu", "kernel", 4 * KIB, 16, 1e-7, blocks=4)
    lies = [table.lie for table in found(tmp_path, file) if table.path == "host_to_gpu"]
    assert lies[0] == "order drawn, pool usual"
    assert set(lies) == {
        "order drawn, pool usual",
        "order runs, pool usual",
        "order drawn, pool 4 GiB",
        "order drawn, pool usual, memory registered",
    }
    [runs] = found(tmp_path, file, "order=runs")
    assert winners(runs) == {(4 * KIB, 16): "batch_merged"}
    [large] = found(tmp_path, file, "pool=4GiB")
    assert large.lie == "order drawn, pool 4 GiB"
    both = found(tmp_path, file, "order=runs,drawn", "pool=usual", "memory=host_alloc")
    assert [(table.path, table.lie) for table in both] == [
        ("host_to_gpu", "order drawn, pool usual"),
        ("host_to_gpu", "order runs, pool usual"),
        ("gpu_to_host", "order drawn, pool usual"),
    ]
    # Methods without blocks stand beside a kernel of so many, and where there is none there is no point.
    few = found(tmp_path, file, "blocks=4", "pool=usual", "memory=host_alloc", "order=drawn")
    assert [table.lie for table in few] == ["order drawn, pool usual, blocks 4"]
    assert winners(few[0]) == {(4 * KIB, 16): "kernel"}
    assert [way.method for way in few[0].points[0].ways] == ["kernel", "batch"]


def test_an_axis_may_be_given_several_times(tmp_path):
    file = planted()
    add_pages(file, "local", "batch", 4 * KIB, 16, 1e-7, order="runs")
    add_pages(file, "local", "batch", 4 * KIB, 16, 1e-7, order="sorted")
    lies = [table.lie for table in found(tmp_path, file, "order=runs", "order=sorted")]
    assert lies == ["order runs, pool usual", "order sorted, pool usual"]


def points_of(tmp_path, file: File) -> dict[int, pages.Point]:
    """The points of pages to the GPU, by their number."""
    [table] = [table for table in found(tmp_path, file) if table.path == "host_to_gpu"]
    return {point.pages: point for point in table.points if point.page == 4 * KIB}


def test_a_method_that_wins_nearby_and_was_not_measured_is_named(tmp_path, capsys):
    """Of one that loses there nothing is to be known here."""
    file = planted()
    add_pages(file, "host_to_gpu", "relay", 4 * KIB, 4096, 5e-8)
    add_pages(file, "host_to_gpu", "staged", 4 * KIB, 4096, 9e-8)
    add_pages(file, "host_to_gpu", "graph", 4 * KIB, 4096, 9e-8)
    add_pages(file, "host_to_gpu", "kernel", 4 * KIB, 16384, 1e-7)
    there = points_of(tmp_path, file)
    assert there[4096].unmeasured == ()
    assert there[16384].unmeasured == ("relay",)
    assert main(["dispatch", str(tmp_path / "result.json")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "4 KiB 16384 kernel 40.96 0.4 % - - - 1 method relay" in said
    assert "Unmeasured: not measured there, but the fastest at the nearest point that has it." in said


def test_a_method_that_failed_is_named_where_it_failed(tmp_path, capsys):
    file = planted()
    add_pages(file, "host_to_gpu", "staged", 4 * KIB, 16, 1e-9).update(status="failed", reason="wrong")
    far = add_pages(file, "host_to_gpu", "graph", 4 * KIB, 16, 1e-9, locality="remote")
    far.update(status="failed", reason="wrong")
    assert points_of(tmp_path, file)[16].failed == ("staged",)
    out, header = tmp_path / "pages.json", tmp_path / "pages.h"
    run = str(tmp_path / "result.json")
    assert main(["dispatch", run, "--json", str(out), "--header", str(header)]) == 0
    assert "staged (failed)" in capsys.readouterr().out
    assert json.loads(out.read_text())["tables"][0]["points"][0]["failed"] == ["staged"]
    assert "; failed: staged */" in header.read_text()


def test_flags_of_the_fastest_are_told(tmp_path, capsys):
    file = gpu_file()
    add_pages(file, "local", "batch", 4 * KIB, 16, 1e-6).update(flags=["bimodal"])
    out, header = tmp_path / "pages.json", tmp_path / "pages.h"
    run = str(file.write(tmp_path / "result.json"))
    assert main(["dispatch", run, "--json", str(out), "--header", str(header)]) == 0
    assert "bimodal" in capsys.readouterr().out
    assert json.loads(out.read_text())["tables"][0]["points"][0]["ways"][0]["flags"] == ["bimodal"]
    assert "flags: bimodal */" in header.read_text()


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ({"shard": {"index": 2, "count": 3}}, "This is part 2 of 3 of a run: what is fastest here"),
        ({"complete": False, "why_incomplete": "it was stopped"}, "The run is not complete: it was stopped"),
    ],
)
def test_what_is_not_the_whole_run_says_so(tmp_path, capsys, run, why):
    file = planted()
    file.context["run"].update(run)
    out, header = tmp_path / "pages.json", tmp_path / "pages.h"
    path = str(file.write(tmp_path / "result.json"))
    assert main(["dispatch", path, "--json", str(out), "--header", str(header)]) == 0
    assert why in " ".join(capsys.readouterr().out.split())
    assert json.loads(out.read_text())["lacks"].startswith(why)
    assert f" * {why}" in header.read_text()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (("--axis", "order=sorted"), "nothing was measured with order sorted: there are drawn"),
        (("--axis", "page=4KiB"), "is not AXIS=VALUE,… with one of memory, order, pool, blocks"),
        (("--axis", "order"), "is not AXIS=VALUE"),
        (("--axis", "blocks=4,usual"), "--axis blocks takes one number"),
    ],
)
def test_what_cannot_be_chosen_is_refused(tmp_path, capsys, asked, why):
    file = planted()
    add_pages(file, "local", "kernel", 4 * KIB, 16, 1e-7, blocks=4)
    assert main(["dispatch", str(file.write(tmp_path / "result.json")), *asked]) == 2
    assert why in capsys.readouterr().err


def test_ask_ranks_pages_of_one_number_and_order_together(tmp_path, capsys):
    file = planted()
    add_pages(file, "host_to_gpu", "batch_merged", 4 * KIB, 16, 1e-7, order="runs")
    run = str(file.write(tmp_path / "result.json"))
    assert main(["ask", run, "best way for 4 KiB pages h2d"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if "fastest is" in line] == [
        "host → GPU, pages 16: fastest is batch, 4.096 GB/s ± 0.4 %.",
        "host → GPU, pages 4096: fastest is kernel, 40.96 GB/s ± 0.4 %.",
        "host → GPU, pages 16, order runs: fastest is batch_merged, 40.96 GB/s ± 0.4 %.",
    ]


def test_the_bytes_of_a_row_are_those_of_its_pages(tmp_path, capsys):
    file = planted()
    file.rows[0]["case"]["axes"]["pages"] = 17
    assert main(["validate", str(file.write(tmp_path / "result.json"))]) == 1
    assert "$.benchmarks[0].bytes: is 65536, page × pages is 69632" in capsys.readouterr().out


def test_a_run_without_pages_says_how_to_measure_them(small, capsys):
    assert main(["dispatch", str(small)]) == 2
    assert "no measured row of shape/pages: `grainscope ask paged copies`" in capsys.readouterr().err


def test_a_run_whose_rows_were_skipped_says_why(tmp_path, capsys):
    """To measure it again would not help."""
    file = gpu_file()
    for method, reason in (("batch", "needs 2 GPUs"), ("kernel", "needs 2 GPUs"), ("graph", "no memory")):
        add_pages(file, "local", method, 4 * KIB, 16, 1e-6).update(status="skipped", reason=reason)
    assert main(["dispatch", str(file.write(tmp_path / "result.json"))]) == 2
    said = capsys.readouterr().err
    assert "no measured row of shape/pages: 3 of 3 rows skipped: needs 2 GPUs (and 1 more reason)" in said


@pytest.mark.parametrize("page", [-5, 0, 4096.5])
def test_no_file_is_written_of_a_run_that_contradicts_itself(tmp_path, capsys, page):
    file = planted()
    file.rows[0]["case"]["axes"]["page"] = page
    run, header = str(file.write(tmp_path / "result.json")), tmp_path / "pages.h"
    assert main(["dispatch", run, "--header", str(header)]) == 2
    assert "contradicts itself" in capsys.readouterr().err
    assert not header.exists()


def test_the_json_and_the_header_are_two_files(tmp_path, capsys):
    run, out = str(planted().write(tmp_path / "result.json")), str(tmp_path / "both")
    assert main(["dispatch", run, "--json", out, "--header", f"{tmp_path}/./both"]) == 2
    assert "cannot be the JSON and the header: choose two files" in capsys.readouterr().err


def test_a_header_has_the_share_and_the_neighbours_of_a_relay(tmp_path):
    file = gpu_file()
    relay = add_pages(file, "host_to_gpu", "relay", 4 * KIB, 16, 1e-7, neighbours=2)
    relay["counters"] = {"share": 62.5}
    run, out, header = file.write(tmp_path / "result.json"), tmp_path / "pages.json", tmp_path / "pages.h"
    assert main(["dispatch", str(run), "--json", str(out), "--header", str(header)]) == 0
    assert "4096u, 16u, GRAINSCOPE_METHOD_RELAY, 2u, 62.5}" in header.read_text()
    [way] = json.loads(out.read_text())["tables"][0]["points"][0]["ways"]
    assert (way["neighbours"], way["share"]) == (2, 62.5)


def test_a_header_is_of_one_table_a_path(tmp_path, capsys):
    file = gpu_file()
    for order, each_s in (("runs", 1e-7), ("sorted", 2e-7)):
        add_pages(file, "local", "batch", 4 * KIB, 16, each_s, order=order)
    run, header = str(file.write(tmp_path / "result.json")), tmp_path / "pages.h"
    assert main(["dispatch", run, "--header", str(header)]) == 2
    assert "choose by --axis (order runs, pool usual; order sorted, pool usual)" in capsys.readouterr().err
    assert not header.exists()
    assert main(["dispatch", run, "--axis", "order=runs", "--header", str(header)]) == 0
    assert "within the GPU, order runs, pool usual" in header.read_text()


def test_a_method_that_is_not_known_has_no_header(tmp_path, capsys):
    file = planted()
    add_pages(file, "local", "by_magic", 4 * KIB, 16, 1e-9)
    run = str(file.write(tmp_path / "result.json"))
    assert main(["dispatch", run]) == 0
    assert main(["dispatch", run, "--header", str(tmp_path / "pages.h")]) == 2
    assert "no header can name by_magic" in capsys.readouterr().err


def test_the_json_is_of_its_schema_and_has_every_method(tmp_path):
    run, out = planted().write(tmp_path / "result.json"), tmp_path / "pages.json"
    assert main(["dispatch", str(run), "--json", str(out)]) == 0
    document = json.loads(out.read_text())
    _, problems = typed.read(dispatch.Dispatch, document)
    assert problems == []
    point = document["tables"][0]["points"][2]
    assert (point["page"], point["pages"], point["method"]) == (64 * KIB, 16, "batch")
    assert (point["tied"], point["second"]) == (["graph"], "graph")
    assert [way["method"] for way in point["ways"]] == ["batch", "graph", "kernel"]
    assert point["ways"][0]["case"] in {row.name for row in read(run).rows}
    alone = document["tables"][1]["points"][0]
    assert alone["tied"] == []
    assert not alone.keys() & {"second", "margin"}
    for axis in ("path", "points"):
        spoiled = json.loads(out.read_text())
        del spoiled["tables"][0][axis]
        assert typed.read(dispatch.Dispatch, spoiled)[1]


def test_the_schema_in_the_documents_is_that_of_the_records():
    schema = typed.schema_text(dispatch.Dispatch, f"GrainScope dispatch tables, format {dispatch.FORMAT}")
    assert (ROOT / "docs/dispatch.schema.json").read_text() == schema


def test_an_output_is_not_the_run(tmp_path, capsys):
    run = planted().write(tmp_path / "result.json")
    assert main(["dispatch", str(run), "--json", str(run)]) == 2
    assert "is also what is read" in capsys.readouterr().err


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_program_chooses_by_the_header_as_by_the_json(tmp_path, compiler):
    """The nearest point in log space, by measured, other, odd and no sizes, on every path."""
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    file = busy(1)
    # A name that would end a comment, begin another or continue a line.
    file.context["host_name"] = "a */ int x; /* \\ ü ???/"
    run, out, header = file.write(tmp_path / "result.json"), tmp_path / "pages.json", tmp_path / "pages.h"
    assert main(["dispatch", str(run), "--json", str(out), "--header", str(header)]) == 0
    (tmp_path / "asker.c").write_text(ASKER)
    program = tmp_path / "asker"
    built = subprocess.run(
        [compiler, *COMPILERS[compiler], *STRICT, "asker.c", "-o", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    sizes = (0, 1, 256, 300, 4 * KIB, 9000, 10_000, 28 * KIB, 40_000, 64 * KIB, 1 << 30)
    counts = (0, 1, 16, 63, 64, 65, 256, 1000, 5000, 100_000, 1 << 40)
    asked = list(itertools.product(range(len(pages.PAGE_PATHS)), sizes, counts))
    ran = subprocess.run(
        [program],
        input="\n".join(" ".join(map(str, one)) for one in asked),
        capture_output=True,
        text=True,
        check=True,
    )
    document = json.loads(out.read_text())
    methods = ["", *pages.PAGE_METHODS]
    answers = [line.split() for line in ran.stdout.splitlines()]
    expected = [by_json(document, list(pages.PAGE_PATHS)[path], *place) for path, *place in asked]
    assert [methods[int(method)] for method, *_ in answers] == [method for method, _ in expected]
    assert [float(away) for _, away, *_ in answers] == pytest.approx([away for _, away in expected])
    assert {(neighbours, share) for *_, neighbours, share in answers} == {("0", "0.000")}
    # Of one GPU there is no peer.
    assert {method for method, _ in expected} == {"", "batch", "kernel"}


def by_json(document: dict, path: str, page: int, count: int) -> tuple[str, float]:
    """The method of the nearest point, by distances in log space, and the product of both ratios."""
    usual = {"memory": "host_alloc", "order": "drawn", "pool": "usual", "blocks": "usual"}
    tables = [table for table in document["tables"] if table["path"] == path and table["axes"] == usual]
    if not tables:
        return "", 0.0

    def away(point: dict) -> float:
        pairs = ((point["page"], page), (point["pages"], count))
        return round(sum(abs(math.log(one / max(other, 1))) for one, other in pairs), 9)

    near = min(tables[0]["points"], key=away)
    return near["method"], math.exp(away(near))
