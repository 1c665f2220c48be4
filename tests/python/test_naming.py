"""How cases, machines and reasons are named, labelled and filtered."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_lines import PROGRAM
from compared import compared, node, written
from grainscope_report import cli, machine, naming, reader, selecting
from grainscope_report.acceptance import causes
from grainscope_report.cli import main
from grainscope_report.errors import ReportError
from grainscope_report.figures import parts
from grainscope_report.machine import Machine, machines, spoken_site, took
from grainscope_report.model import Case
from grainscope_report.page import page
from grainscope_report.page.parts import template
from planted import SITE, gpu_file, linked_file, pinned_copy
from synthetic import KIB, MIB, File


def machine_section(machine: Machine) -> str:
    return template().module.machine(page._machine(machine, False))


PEER = {"gpu": 0, "peer": 1}
HOST = {"gpu": 1, "numa": 0}
ENDS = [
    ("transfer/peer", {"direction": "read"}, PEER, ("gpu:1", "gpu:0")),
    ("transfer/peer", {"direction": "write"}, PEER, ("gpu:0", "gpu:1")),
    ("transfer/peer", {"direction": "write", "access": "off"}, PEER | {"numa": 0}, ("gpu:0", "gpu:1")),
    ("shape/copy", {"path": "gpu_to_peer"}, PEER, ("gpu:0", "gpu:1")),
    ("shape/copy", {"path": "peer_to_gpu"}, PEER, ("gpu:1", "gpu:0")),
    ("shape/copy", {"path": "local"}, {"gpu": 0}, None),
    ("reach/gather", {"memory": "peer"}, PEER, ("gpu:1", "gpu:0")),
    ("reach/gather", {"memory": "hugetlb"}, HOST, ("host:0", "gpu:1")),
    ("latency/chase", {"to": "peer_memory"}, PEER, ("gpu:1", "gpu:0")),
    ("latency/chase", {"to": "own_memory"}, {"gpu": 0}, None),
    ("transfer/kernel_copy", {"path": "gpu_to_pinned"}, HOST, ("gpu:1", "host:0")),
    ("grain/pieces", {"path": "host_to_gpu"}, HOST, ("host:0", "gpu:1")),
    ("grain/saturation", {"direction": "write"}, HOST, ("gpu:1", "host:0")),
    ("transfer/duplex", {"between": "gpu_gpu"}, PEER, None),
    ("transfer/duplex", {"between": "gpu_gpu", "direction": "read"}, PEER, None),
    ("transfer/duplex", {"between": "host_gpu"}, HOST, None),
]


@pytest.mark.parametrize(("family", "axes", "site", "ends"), ENDS)
def test_a_case_knows_its_ends(family, axes, site, ends):
    assert Case(family, axes, site).ends == ends


PLACES = [
    ({"locality": "remote"}, "remote"),
    ({"link": "nvlink"}, "nvlink"),
    ({"link": "unknown"}, "link unknown"),
    ({"link": "nvlink", "locality": "local"}, "local"),
    ({}, "unknown"),
]


@pytest.mark.parametrize(("axes", "place"), PLACES)
def test_what_stands_between_the_ends(axes, place):
    assert Case("transfer/peer", axes, PEER).place == place


def test_names_say_the_link_and_keep_quiet_about_the_usual(tmp_path):
    file = linked_file()
    axes = {"method": "copy_engine", "direction": "read", "access": "on", "bytes": 1 << 20, "link": "pcie"}
    file.add("transfer/peer", axes, PEER, 1e-4)
    off = axes | {"access": "off", "locality": "local"}
    file.add("transfer/peer", off, PEER | {"numa": 0}, 1e-4)
    file.add("transfer/local", {"method": "copy_engine", "bytes": 1 << 20}, {"gpu": 0}, 1e-4)
    rows = reader.read(file.write(tmp_path / "result.json")).rows
    assert [naming.name(row) for row in rows] == [
        "copy_engine read, over PCIe",
        "copy_engine read peer access off",
        "copy_engine",
    ]


BETWEEN = [
    ({"virtual_machine": True, "hypervisor": "kvm"}, None, "In a virtual machine (kvm): whether the host's"),
    ({"virtual_machine": False, "iommu_units": []}, None, "On bare metal; no IOMMU shows."),
    ({"virtual_machine": False}, "identity", "On bare metal; the IOMMU lets the GPUs' addresses through"),
    ({"virtual_machine": False}, "DMA", "On bare metal; an IOMMU translates the GPUs' addresses (DMA)."),
    ({}, None, "Whether this is a virtual machine is unknown; whether an IOMMU translates is unknown."),
]


@pytest.mark.parametrize(("kernel", "iommu", "said"), BETWEEN)
def test_what_stands_between_gpus_and_memory(tmp_path, kernel, iommu, said):
    file = linked_file()
    file.context["environment"] |= {"kernel": kernel, "gpus": [{"name": "H200", "iommu": iommu}]}
    told = machine.between(reader.read(file.write(tmp_path / "result.json")))
    assert told.startswith(said)
    assert told.endswith(".")


def test_lanes_overlap_and_links_are_read(files):
    result = reader.read(files["linked"])
    row = result.of("transfer/duplex")[0]
    assert [(lane.name, lane.source, lane.target) for lane in row.lanes] == [
        ("to_gpu", "host:0", "gpu:0"),
        ("to_host", "gpu:0", "host:0"),
    ]
    assert row.overlap == 0.97
    assert not row.lanes[0].background
    assert row.lanes[0].alone_gb_s is None
    assert result.link(("gpu:1", "gpu:0")).negotiated == "NVLink ×18"
    assert result.link(("host:0", "gpu:0")).negotiated == "PCIe 5 ×16"
    assert result.link(("host:1", "gpu:0")) is None


def test_only_axes_of_bytes_are_said_in_bytes():
    assert naming.number("span", 4 << 30) == "span 4 GiB"
    assert naming.number("batch", 8000) == "batch 8000"
    assert naming.size("row", 512) == "512 B"


PAGES = 2 * MIB
LARGEST = "(the largest of 3 such)"


def no_pages(size: int, node: int = 0, page: int = PAGES) -> str:
    """What a run says where huge pages lack."""
    count = size // page
    return (
        f"allocating {size} bytes of host memory in hugetlb pages on NUMA node {node}: {count} pages of "
        f"{page >> 10} KiB are needed and 0 are free; to reserve them: echo {count} | sudo tee "
        f"/sys/devices/system/node/node{node}/hugepages/hugepages-{page >> 10}kB/nr_hugepages"
    )


LACKS = [no_pages(size) for size in (16 * MIB, 1024 * MIB, 4 * MIB)]


def lacking() -> File:
    """A file with a good row, and rows of two families that lack pages."""
    file = gpu_file()
    file.add("transfer/memcpy", pinned_copy(), SITE, 20e-6)
    for order, reason in enumerate([*LACKS, LACKS[0]]):
        axes = {"what": "host_register", "pages": "hugetlb", "bytes": MIB << order}
        file.lose("skipped", reason, "call" if order % 2 else "host/first_touch", axes, {"numa": 0})
    return file


def test_of_reasons_that_differ_in_amounts_the_one_with_the_largest_is_told():
    most = no_pages(1024 * MIB)
    assert naming.told_reasons(LACKS) == dict.fromkeys(LACKS, f"{most} {LARGEST}")
    assert "echo 512 | sudo tee" in most


def test_amounts_are_compared_as_numbers_with_their_units():
    few, many = "needs 9 GiB on GPU 0, which has 8 GiB free", "needs 10 GiB on GPU 0, which has 512 MiB free"
    small = "needs 900 MiB on GPU 0, which has 0 B free"
    assert set(naming.told_reasons([many, few, small]).values()) == {f"{many} {LARGEST}"}


def test_a_reason_alone_is_told_as_it_is():
    assert naming.told_reasons([LACKS[0], LACKS[0], "no driver"]) == {
        LACKS[0]: LACKS[0],
        "no driver": "no driver",
    }


@pytest.mark.parametrize(("one", "two"), [
    (no_pages(4 * MIB), no_pages(4 * MIB, node=1)),
    (no_pages(4 * MIB), no_pages(4 * MIB, page=4 * KIB)),
    ("GPU 0 has no memory pools", "GPU 1 has no memory pools"),
    ("GPU 0 cannot reach the memory of GPU 1", "GPU 0 cannot reach the memory of GPU 2"),
    ("no path between GPUs 0 and 1", "no path between GPUs 0 and 2"),
    ("bound to the CPUs 0-3,8", "bound to the CPUs 0-3,9"),
    ("CUDA driver error 2", "CUDA driver error 700"),
    ("needs CUDA 12.8", "needs CUDA 13.0"),
    ("no graph kron21", "no graph kron22"),
])  # fmt: skip
def test_numbers_that_name_something_keep_reasons_apart(one, two):
    assert naming.told_reasons([one, two]) == {one: one, two: two}


def test_more_reasons_are_counted():
    assert naming.main_reason(["one", "two", "two", "three"]) == "two (and 2 more reasons)"
    assert naming.main_reason(["one", "two", "two"]) == "two (and 1 more reason)"
    assert naming.main_reason([]) == ""


def test_summary_counts_all_their_rows_and_joins_their_families(tmp_path, capsys):
    assert main(["summary", "--full", str(lacking().write(tmp_path / "result.json"))]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("skipped:") == 1
    assert f"skipped: 4 rows of host/first_touch, call: {no_pages(1024 * MIB)} {LARGEST}" in out


def test_summary_lists_the_names_of_all_that_failed_alike(tmp_path, capsys):
    file = gpu_file()
    for order in range(3):
        reason = f"wrong result: the loss of mini-batch 33 is 0.88134{order}, not 0.881364 as in another mode"
        file.lose("failed", reason, "transfer/memcpy", pinned_copy(MIB << order), SITE)
    assert main(["summary", "--full", str(file.write(tmp_path / "result.json"))]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(order for order, line in enumerate(lines) if line.startswith("failed: 3 rows"))
    assert "0.881342, not 0.881364" in lines[at]
    names = [line.strip() for line in lines if line.startswith("    transfer/memcpy/")]
    assert names == [row["name"] for row in file.rows]


def test_notes_of_figures_tell_them_once(tmp_path):
    rows = reader.read(lacking().write(tmp_path / "result.json")).rows
    assert parts.left_out(rows) == [f"Not drawn: 4 skipped rows: {no_pages(1024 * MIB)} {LARGEST}."]


def test_the_report_tells_them_once_and_its_link_means_all_of_their_rows(tmp_path):
    path = lacking().write(tmp_path / "result.json")
    assert main(["report", str(path), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    [link] = re.findall(r'<a href="#rows" data-why="(\w+)"[^>]*>4</a>', page)
    assert page.count(f'class="skipped" data-why="{link}"') == 4
    assert page.count(LARGEST) == page.count(f"{no_pages(1024 * MIB)} {LARGEST}") > 0


def test_a_reason_with_a_colon_is_told_whole_of_figures_that_are_not_there(tmp_path):
    file = gpu_file()
    file.add("transfer/memcpy", pinned_copy(), SITE, 20e-6)
    file.lose("skipped", "no pages: reserve them: echo 8", "transfer/peer", {"method": "copy_engine"}, SITE)
    assert main(["report", str(file.write(tmp_path / "result.json")), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "<li>4 Copies between GPUs: skipped, no pages: reserve them: echo 8" in page


def test_a_comparison_tells_them_once_for_each_family(tmp_path, capsys):
    base, new = node(), node("node-b", 2)
    for order, reason in enumerate(LACKS):
        axes = {"what": "host_register", "pages": "hugetlb", "bytes": MIB << order}
        base.add("call", axes, {"numa": 0}, 1e-3)
        new.lose("failed", reason, "call", axes, {"numa": 0})
    files = written(tmp_path, base, new)
    lost = [row["why"] for row in compared(capsys, *files)["new"][0]["rows"] if row["verdict"] == "failed"]
    assert lost == [f"failed: {reason}" for reason in LACKS]
    main(["compare", *files])
    out = capsys.readouterr().out
    assert out.count("are needed and 0 are free") == 1
    assert LARGEST in out


ROOT = Path(__file__).resolve().parents[2]
NAME = "transfer/memcpy/pinned_to_gpu/numa:0/gpu:0/flush:on/bytes:65536"


@pytest.mark.parametrize(
    "text",
    ["bytes:64KiB", "bytes:64 KiB", "bytes:64kib$", "bytes:64K", "bytes:(1KiB|64KiB)", "memcpy.*:64KiB$"],
)
def test_a_size_with_a_unit_is_found_in_bytes(text):
    assert selecting.name_pattern(text).search(NAME)


@pytest.mark.parametrize("text", ["bytes:1KiB", "bytes:64KB", "bytes:65B", "bytes:6B", "bytes:[64KiB]x"])
def test_another_size_is_not(text):
    assert not selecting.name_pattern(text).search(NAME)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pages:4KiB", "host/latency/pages:4KiB/bytes:64"),
        ("bytes 64 KiB", "transfer/memcpy pinned_to_gpu bytes 64 KiB"),
        ("kron20", "traversal/bfs/graph:kron20"),
        ("[4K]iB", "pages:4KiB"),
        (r"\d+KiB", "pages:4KiB"),
    ],
)
def test_what_names_have_is_found_as_it_is(text, name):
    assert selecting.name_pattern(text).search(name)


@pytest.mark.parametrize("text", ["(", "a{99999999999}", "(" * 3000 + ")" * 3000])
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(ReportError, match="is no regular expression"):
        selecting.name_pattern(text)


ENDLESS = ["(a+)+$", "([a-z]*/?)*!", "(a|a)*b", ".*.*.*.*.*x"]


@pytest.mark.parametrize("text", ENDLESS)
@pytest.mark.parametrize("command", ["list", "export csv", "compare"])
def test_an_expression_that_takes_ever_longer_is_refused(tmp_path, command, text):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    for size in range(300):
        axes = {"timed": "copy", "path": "a" * 100, "bytes": size + 1, "locality": "local"}
        file.add("transfer/memcpy", axes, {"gpu": 0, "numa": 0}, 1e-5)
    run = str(file.write(tmp_path / "result.json"))
    file.context["run"]["id"] = "another"
    files = [run, str(file.write(tmp_path / "other.json"))] if command == "compare" else [run]
    asked = [sys.executable, ROOT / "scripts/grainscope-report", *command.split(), *files, "--filter", text]
    ended = subprocess.run(asked, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"grainscope-report: --filter {text!r} takes too long: ")
    assert ended.stderr.count("\n") == 1


def test_long_expressions_and_many_names_are_searched_as_ever():
    names = [f"transfer/memcpy/pinned_to_gpu/numa:0/gpu:{at}/bytes:65536" for at in range(20_000)]
    wanted = names[:4000:50]
    text = f"^({'|'.join(wanted)})$"
    assert len(text) > 4000
    begin = time.process_time()
    pattern = selecting.name_pattern(text)
    plain = [name for name in names if pattern.search(name)]
    between = time.process_time()
    assert selecting.matching(text, names, str) == plain == wanted
    assert time.process_time() - between < 2 * (between - begin) + 0.2
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    assert signal.getsignal(signal.SIGVTALRM) == signal.SIG_DFL


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("h2d", "no name has 'h2d', which as a word means transfer/memcpy/"),
        ("host_to_device", "`ask host_to_device` takes it"),
        ("transfer/memcopy", "no name has 'memcopy' (did you mean memcpy?)"),
        ("pinnde_to_gpu", "did you mean pinned_to_gpu?"),
        ("memcpy/.*bytes:63MiB", "no name has 'bytes:63MiB' (did you mean bytes:32MiB or bytes:64MiB?)"),
    ],
)
def test_a_filter_that_matches_nothing_suggests(files, capsys, text, said):
    assert main(["list", str(files["h100"]), "--filter", text]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_nothing_absurd_is_suggested(files, capsys):
    assert main(["list", str(files["h100"]), "--filter", "qqqqqqq"]) == 2
    assert "did you mean" not in capsys.readouterr().err


def test_names_of_version_1_find_their_rows(capsys):
    path = ROOT / "results/reference/h100-repeat.json"
    document = json.loads(path.read_text())
    assert document["context"]["schema_version"] == 1
    for name in {row["name"] for row in document["benchmarks"]}:
        assert main(["list", str(path), "--filter", f"^{name}$"]) == 0
        assert name in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("seen", "name"), [(2, "NVIDIA H200 ×2"), (1, "NVIDIA H200 (1 of 2)"), (0, "NVIDIA H200 ×2")]
)
def test_a_gpu_that_is_hidden_from_the_run_is_not_counted(labels, seen, name):
    """As by CUDA_VISIBLE_DEVICES; where CUDA has none, nothing tells what was hidden."""
    file = File(gpus=("NVIDIA H200",) * 2)
    for at, gpu in enumerate(file.context["environment"]["gpus"]):
        gpu["cuda"] = {"ordinal": at} if at < seen else None
    assert labels(file) == [f"{name} (node-a)"]


def test_a_run_that_saw_one_gpu_of_two_says_so_first(capsys):
    assert main(["summary", str(ROOT / "results/reference/acceptance/h200-a.json.gz")]) == 0
    assert capsys.readouterr().out.startswith("NVIDIA H200 (1 of 2) · ")


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
    ("commit", "said"),
    [
        ("2df699bc9576", "2df699bc95"),
        ("2df699bc9576-dirty", "2df699bc95-dirty"),
        ("2df699b-dirty", "2df699b-dirty"),
        ("v0.1.0-12-g2df699bc9576-dirty", "v0.1.0-12-g2df699bc9576-dirty"),
    ],
)
def test_a_commit_is_cut_and_changes_to_it_are_told_wherever_it_is_shown(tmp_path, commit, said):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    file.context["grainscope"]["commit"] = commit
    result = reader.read(file.write(tmp_path / "result.json"))
    [machine] = machines([result])
    assert f"GrainScope 0.1.0 (commit {said})" in machine.provenance
    assert f"GrainScope 0.1.0 (commit {said})" in machine_section(machine)
    assert f", commit {said})" in causes.of_nowhere(result, ()).said


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
        assert ("1 row has a side that took longer alone" in machine_section(machine)) == bool(flags)


def test_sites_are_spoken():
    assert spoken_site((("gpu", 1), ("numa", 0))) == "GPU 1, node 0"
    assert spoken_site((("from_node", 0), ("to_node", 1))) == "from node 0, to node 1"


@pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")
def test_what_families_declare_in_bytes_is_said_in_bytes():
    listed = subprocess.run([PROGRAM, "--families=json"], capture_output=True, text=True, check=True).stdout
    axes = [axis for family in json.loads(listed) for axis in family["axes"]]
    sizes = {axis["key"] for axis in axes if axis["unit"] == "bytes"}
    assert {"bytes", "free_pieces"} <= sizes <= naming.SIZES
    assert naming.size("free_pieces", 65536) == "64 KiB"
