"""Why rows are not ok: reasons that differ in amounts alone are told once, wherever reasons are told."""

import re

import pytest

from compared import compared, node, written
from grainscope_report import naming, reader
from grainscope_report.cli import main
from grainscope_report.figures import parts
from planted import SITE, gpu_file, pinned_copy
from synthetic import KIB, MIB, File

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
