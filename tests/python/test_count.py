"""scripts/grainscope-count, with a stand-in for the profiler."""

import importlib.machinery
import importlib.util
import json
import re
import stat
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "grainscope-count"
TABLE = """==PROF== Connected to process 7
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","walk","lts__t_requests_srcunit_tex_aperture_sysmem_op_read.sum","request","1,200"
"0","walk","lts__t_sectors_srcunit_tex_aperture_sysmem_op_read.sum","sector","2,000"
"0","walk","pcie__read_bytes.sum","byte","80,000"
"1","walk","lts__t_requests_srcunit_tex_aperture_sysmem_op_read.sum","request","34"
"1","walk","lts__t_sectors_srcunit_tex_aperture_sysmem_op_read.sum","sector","50"
"1","walk","pcie__read_bytes.sum","Kbyte","2"
"""


def load():
    loader = importlib.machinery.SourceFileLoader("grainscope_count", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


COUNT = load()


def row(name, family, status="ok", **axes):
    return {
        "name": name,
        "status": status,
        "case": {"family": family, "axes": axes},
        "traffic": {"requests": 1234},
    }


RESULT = {
    "context": {
        "schema_version": 2,
        "run": {"flags": ["--preset=full", "--graph=kron:10", "--axis=edge=8", "--max-time=3m"]},
    },
    "benchmarks": [
        row("traversal/bfs/merged/mapped/graph:kron10", "traversal/bfs", placement="mapped"),
        row("traversal/bfs/merged/device/graph:kron10", "traversal/bfs", placement="device"),
        row("traversal/cc/merged/mapped/graph:kron10", "traversal/cc", status="failed", placement="mapped"),
        row("lean/bfs/none/plain/graph:kron10", "lean/bfs", segments="read"),
        row("lean/sssp/none/plain/graph:web1.5/weights:8-72", "lean/sssp", segments="read"),
        row("lean/pr/none/plain/hybrid/graph:kron10", "lean/pr", segments="hybrid"),
        row("lean/cc/none/plain/graph:kron10/gpus:2", "lean/cc", segments="read", gpus=2),
        row("gather/masked/mapped", "gather", store="mapped"),
        {**row("gather/row_dma/pinned", "gather", store="pinned"), "traffic": None},
        row("reach/gather/host_alloc/sorted", "reach/gather", memory="host_alloc"),
        row("reach/gather/peer/sorted", "reach/gather", memory="peer"),
        {**row("reach/gather/hugetlb/sorted", "reach/gather", memory="hugetlb"), "traffic": None},
        row("transfer/zero_copy/read/merged", "transfer/zero_copy", direction="read"),
        row("transfer/zero_copy/write/merged", "transfer/zero_copy", direction="write"),
    ],
}


def stand_in(tmp_path: Path, output: str, status: int = 0) -> Path:
    """A program that notes its arguments and prints what a profiler would."""
    (tmp_path / "table").write_text(output)
    ncu = tmp_path / "ncu"
    note = f'printf "%s\\n" "$* GRAINSCOPE_COUNT=$GRAINSCOPE_COUNT" >> {tmp_path}/calls'
    ncu.write_text(f"#!/bin/sh\n{note}\ncat {tmp_path}/table\nexit {status}\n")
    ncu.chmod(ncu.stat().st_mode | stat.S_IXUSR)
    return ncu


def count(tmp_path: Path, ncu: Path, *more: str) -> int:
    (tmp_path / "result.json").write_text(json.dumps(RESULT))
    return COUNT.main([str(tmp_path), "--program", "prog", "--ncu", str(ncu), *more])


RESULT["benchmarks"] = [
    {key: value for key, value in one.items() if value is not None} for one in RESULT["benchmarks"]
]


def test_rows_of_kernels_that_read_the_host_are_counted_and_no_others(tmp_path):
    assert count(tmp_path, stand_in(tmp_path, TABLE)) == 0
    rows = json.loads((tmp_path / "result.json").read_text())["benchmarks"]
    assert [one["name"] for one in rows if "counted" in one] == [
        "traversal/bfs/merged/mapped/graph:kron10",
        "lean/bfs/none/plain/graph:kron10",
        "lean/sssp/none/plain/graph:web1.5/weights:8-72",
        "gather/masked/mapped",
        "reach/gather/host_alloc/sorted",
        "transfer/zero_copy/read/merged",
    ]
    assert rows[3]["counted"] == {
        "requests": 1234,
        "sectors": 2050,
        "pcie_read_bytes": 82000,
        "bytes": 2050 * 32,
        "label": "counted",
    }


def test_a_case_is_run_alone_from_its_first_source_on_the_graph_of_the_run(tmp_path):
    assert count(tmp_path, stand_in(tmp_path, TABLE), "--filter", "^lean/bfs") == 0
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert (
        "--benchmark_filter=^lean/bfs/none/plain/graph:kron10$ --preset=full --graph=kron:10 --axis=edge=8"
        in call
    )
    assert call.partition(" GRAINSCOPE")[0].endswith("--trials 1 --benchmark_repetitions=1"), (
        "not three visits"
    )
    assert "--max-time" not in call
    assert "search_levels" in call
    assert "GRAINSCOPE_COUNT=1" in call, "what stands behind a gate is done once more without"


def test_a_case_is_found_whatever_its_name_holds(tmp_path):
    assert count(tmp_path, stand_in(tmp_path, TABLE), "--filter", "^lean/sssp") == 0
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert r"--benchmark_filter=^lean/sssp/none/plain/graph:web1\.5/weights:8-72$ " in call


def test_kernels_of_the_translation_wall_are_counted_and_not_those_that_prepare_it(tmp_path):
    assert count(tmp_path, stand_in(tmp_path, TABLE), "--filter", "^reach") == 0
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert "--benchmark_filter=^reach/gather/host_alloc/sorted$" in call
    source = (SCRIPT.parents[1] / "src" / "reach" / "row_gather.cu").read_text()
    launched = re.findall(r"(\w+)<<<", source)
    assert [kernel for kernel in launched if re.search(COUNT.KERNELS, kernel)] == ["gather_rows"]
    assert not re.search(COUNT.KERNELS, "spin_until_open")


def test_zero_copy_rows_are_held_against_requests_without_a_cache():
    cached = {"traffic": {"requests": 9}, "counters": {"requests_without_cache": 18.0}}
    assert COUNT.modelled(cached) == 18
    assert COUNT.modelled({"traffic": {"requests": 9}, "counters": {}}) == 9


@pytest.mark.parametrize(
    ("output", "status", "more", "says"),
    [
        ("ERR_NVGPUCTRPERM", 1, (), "may not read the GPU's counters"),
        ("no kernels", 0, (), "ncu wrote no table"),
        ("broken", 5, (), "ncu ended with 5"),
        (TABLE.replace("pcie__read_bytes", "other"), 0, (), "did not count pcie_read_bytes"),
        (TABLE.replace('"Kbyte"', '"furlong"'), 0, (), "in 'furlong'"),
        (TABLE.replace('"Metric Value"', '"Value"'), 0, (), "a table without Metric Value"),
        (TABLE.replace("1,200", "n/a"), 0, (), "as 'n/a', which is no number"),
        (TABLE.replace("1,200", "nan"), 0, (), "as 'nan', which is no number"),
        (TABLE.replace("1,200", "-3"), 0, (), "as '-3', which is no number"),
        (TABLE.rpartition(",")[0], 0, (), "as None, which is no number"),
        (TABLE.replace("walk", "w" * 200_000), 0, (), "wrote no table that can be read"),
        (TABLE, 0, ("--filter", "nothing"), "no row of a kernel that reads host memory"),
        (TABLE, 0, ("--filter", "("), "--filter '(' is no regular expression"),
        (TABLE, 0, ("--ncu", "/no/such/tool"), "/no/such/tool does not run (No such file or directory)"),
    ],
)
def test_what_cannot_be_counted_is_said(tmp_path, capsys, output, status, more, says):
    assert count(tmp_path, stand_in(tmp_path, output, status), *more) == 2
    err = capsys.readouterr().err
    assert err.startswith("grainscope-count: ")
    assert says in err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "does not exist"),
        (b"", "is empty"),
        (json.dumps(RESULT).encode()[:300], "is cut off after 300 bytes"),
        (b"[]", "is JSON but no GrainScope result"),
        (b'{"context": {}}', "is JSON but no GrainScope result"),
        (
            json.dumps({**RESULT, "context": {"schema_version": 2}}).encode(),
            "does not follow the result format",
        ),
        (b'{"context": {"schema_version": 2}, "benchmarks": [{}]}', "does not follow the result format"),
        (b'{"context": {"schema_version": 2}, "benchmarks": []}', "has no row of a kernel"),
        (b"\xff\xfe", "is not text"),
    ],
)
def test_a_folder_without_a_result_is_said(tmp_path, capsys, content, says):
    path = tmp_path / "result.json"
    if content is not None:
        path.write_bytes(content)
    ncu = stand_in(tmp_path, TABLE)
    assert COUNT.main([str(tmp_path), "--program", "prog", "--ncu", str(ncu)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"grainscope-count: {path} {says}")
    assert err.count("\n") == 1
    assert not (tmp_path / "calls").exists()


def test_a_disk_that_is_full_is_said_and_the_result_stays(tmp_path, capsys):
    (tmp_path / "result.tmp").symlink_to("/dev/full")
    assert count(tmp_path, stand_in(tmp_path, TABLE)) == 2
    assert "cannot be written (No space left on device): make room" in capsys.readouterr().err
    assert json.loads((tmp_path / "result.json").read_text()) == RESULT


def test_a_count_that_cannot_be_is_left_out_and_the_others_are_kept(tmp_path, capsys):
    table = TABLE.replace("1,200", "1,300")
    assert count(tmp_path, stand_in(tmp_path, table)) == 1
    rows = json.loads((tmp_path / "result.json").read_text())["benchmarks"]
    # What sssp asks for depends on its warps: up to 1.3 times the model's.
    assert [one["name"] for one in rows if "counted" in one] == [
        "lean/sssp/none/plain/graph:web1.5/weights:8-72"
    ]
    said = capsys.readouterr().err
    assert "gather/masked/mapped: 1,334 requests of 2,050 sectors, without a cache there are 1,234" in said
    assert said.endswith("5 of 6 rows were not counted\n")


@pytest.mark.parametrize("of", ["requests", "sectors"])
def test_a_count_of_nothing_is_none(tmp_path, capsys, of):
    table = re.sub(rf'(lts__t_{of}_.*,)".*"', r'\1"0"', TABLE)
    assert count(tmp_path, stand_in(tmp_path, table)) == 1
    assert json.loads((tmp_path / "result.json").read_text()) == RESULT
    assert "6 of 6 rows were not counted" in capsys.readouterr().err
