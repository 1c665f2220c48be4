"""What `summary` says: warnings first, peaks with their intervals, latencies, slow sites, reasons."""

import pytest

from grainscope_report import reader
from grainscope_report import terminal as terminals
from grainscope_report.cli import main
from grainscope_report.commands import summary_full
from planted import FAR, SITE, pinned_copy, spoiled
from synthetic import MIB, File


def lines_of(path, capsys) -> list[str]:
    assert main(["summary", "--full", str(path)]) == 0
    return capsys.readouterr().out.splitlines()


def row(lines: list[str], name: str) -> str:
    """The row of the first tables, which end where the fitted lines begin."""
    fits = next((at for at, line in enumerate(lines) if line.startswith("time = latency")), len(lines))
    there = [line for line in lines[:fits] if line.strip().startswith(f"{name} ") or line.strip() == name]
    [found] = there
    return " ".join(found.split())


def test_summary_starts_with_the_warnings_worst_first(files, capsys):
    lines = lines_of(files["h100"], capsys)
    assert lines[0] == "severe: governor is powersave on 16 of 16 CPUs"
    assert lines[2] == "    remedy: cpupower frequency-set --governor performance"
    assert lines[3] == "info: turbo: unknown (not exposed)"


def test_summary_gives_peak_interval_place_share_and_latency(files, capsys):
    lines = lines_of(files["h100"], capsys)
    assert (
        row(lines, "pinned_to_gpu")
        == "pinned_to_gpu 54.70 [54.47, 54.93] 1 GiB 100.0 % 1.77 µs (4 KiB) 38 ok"
    )
    assert row(lines, "prefetch host_to_gpu").endswith("1 GiB 92.9 % 12.1 µs (4 KiB) 19 ok, 1 failed")
    assert "1 GiB, host_threads 16" in row(lines, "demand gpu_to_host")
    assert row(lines, "submission pinned_to_gpu") == "submission pinned_to_gpu - - 2.1 µs (4 KiB) 10 ok"
    assert row(lines, "evicted") == "evicted - - 3.4 → 3.4 ns each 7 ok"
    latency = lines[lines.index("host/latency") + 1]
    assert " ".join(latency.split()) == "all - - 1.3 → 112 ns each 19 ok"


def test_summary_has_calls_from_the_smallest_to_the_largest_whatever_they_go_by(tmp_path, capsys):
    file = File(gpus=("NVIDIA H100 80GB HBM3",))
    for what, axis, times in (
        ("instantiate", "nodes", {1: 3.18e-6, 16: 14.9e-6, 256: 187e-6}),
        ("by_threads", "threads", {2: 4.14e-6, 32: 36.1e-6}),
        ("with_arguments", "arguments", {64: 3.09e-6, 4096: 3.11e-6}),
        ("malloc", "bytes", {MIB: 2e-6, 64 * MIB: 9e-6}),
        ("launch", None, {0: 3e-6}),
    ):
        for count, seconds in times.items():
            axes = {"what": what, "locality": "local"} | ({axis: count} if axis else {})
            file.add("call", axes, SITE, seconds, operations=1, bytes=None)
    lines = lines_of(file.write(tmp_path / "result.json"), capsys)
    for line in (
        "instantiate (nodes 1 to 256) - - 3.18 → 187 µs each 3 ok",
        "by_threads (2 to 32) - - 4.14 → 36.1 µs each 2 ok",
        "with_arguments (64 B to 4 KiB) - - 3.09 → 3.11 µs each 2 ok",
        "malloc - - 2 → 9 µs each 2 ok",
        "launch - - 3 µs each 1 ok",
    ):
        assert row(lines, line.split()[0]) == line


def test_summary_shows_links_against_their_theory(files, capsys):
    lines = lines_of(files["h100"], capsys)
    assert row(lines, "GPU 0, node 0, host → GPU") == (
        "GPU 0, node 0, host → GPU 54.70 [54.65, 54.75] 512 MiB 63.0 86.8 % PCIe 5 ×16"
    )


def test_summary_groups_reasons_failed_first(files, small, capsys):
    lines = lines_of(files["cpu_only"], capsys)
    said = [line for line in lines if line.startswith(("failed:", "skipped:"))]
    assert said == [
        "skipped: 3 rows of transfer/memcpy, transfer/zero_copy, transfer/managed: no NVIDIA driver",
        "skipped: 1 row of host/first_touch: no free hugetlb pages of 2 MiB",
    ]
    lines = lines_of(small, capsys)
    said = [line for line in lines if line.startswith(("failed:", "skipped:"))]
    assert said[0] == "failed: 1 row of transfer/memcpy: the copy came back wrong"
    assert "    transfer/memcpy/copy/pinned_to_gpu/on/gpu:0/numa:0/bytes:2097152" in lines


def test_summary_names_slow_sites(files, capsys):
    lines = lines_of(files["two_nodes"], capsys)
    [slow] = [line for line in lines if line.startswith("slow site")]
    assert "gpu_to_pinned: GPU 1, node 1 peaks at 44.5 GB/s, 20 % below the best site's 55.6" in slow


def test_summary_takes_flushed_copies_where_there_are_any(tmp_path, capsys):
    file = File()
    file.add("transfer/memcpy", pinned_copy(), SITE, 20e-6)
    file.add("transfer/memcpy", pinned_copy(flush="off"), SITE, 10e-6)
    lines = lines_of(file.write(tmp_path / "result.json"), capsys)
    assert row(lines, "pinned_to_gpu").startswith("pinned_to_gpu 52.43")
    assert row(lines, "pinned_to_gpu").endswith("2 ok")
    said = "Peaks and times of transfer/memcpy are of flushed buffers alone"
    assert said in " ".join(" ".join(lines).split())
    file.rows.pop()
    assert said not in " ".join(lines_of(file.write(tmp_path / "result.json"), capsys))


def test_times_of_one_operation_go_from_the_smallest_size_to_the_largest(tmp_path, capsys):
    file = File()
    for size, each_s in ((4096, 2.76e-9), (16 * MIB, 1.45e-9)):
        axes = {"state": "cached", "bytes": size, "locality": "local"}
        file.add("host/flush", axes, {"node": 0}, size / 64 * each_s, operations=size // 64, bytes=None)
    lines = lines_of(file.write(tmp_path / "result.json"), capsys)
    assert "smallest → largest" in next(one for one in lines if one.startswith("what "))
    assert row(lines, "cached") == "cached - - 2.76 → 1.45 ns each 2 ok"


def test_summary_of_visits_takes_the_one_in_the_middle(tmp_path, capsys):
    file = File()
    for visit, microseconds in enumerate((20, 25, 40), 1):
        file.add("transfer/memcpy", pinned_copy(), SITE, microseconds * 1e-6, visit=visit)
    assert row(lines_of(file.write(tmp_path / "result.json"), capsys), "pinned_to_gpu").startswith(
        "pinned_to_gpu 42 [15, 115]"
    )


def test_summary_speaks_the_words_of_a_case_in_order(tmp_path, capsys):
    file = File()
    axes = {
        "access": "merged_aligned",
        "allocation": "host_alloc",
        "blocks": "full",
        "direction": "read",
        "bytes": MIB,
    }
    file.add("transfer/zero_copy", axes | {"locality": "local"}, SITE, 20e-6)
    file.add("transfer/zero_copy", axes | {"locality": "remote"}, FAR, 40e-6)
    lines = lines_of(file.write(tmp_path / "result.json"), capsys)
    assert row(lines, "read merged_aligned host_alloc").startswith("read merged_aligned host_alloc 52.43")
    assert row(lines, "read merged_aligned host_alloc, remote").startswith(
        "read merged_aligned host_alloc, remote 26.21"
    )


def test_summary_says_that_a_run_is_not_complete(small, capsys):
    spoiled(
        small,
        lambda document: document["context"]["run"].update(complete=False, why_incomplete="--max-time ended"),
    )
    assert "The run is not complete: --max-time ended" in lines_of(small, capsys)


@pytest.mark.parametrize("columns", [60, 100, 140])
def test_summary_keeps_to_the_width(files, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in ("h100", "alone", "cpu_only"):
        table = [line for line in lines_of(files[name], capsys) if not line.startswith("    ")]
        assert max(map(len, table)) <= max(columns, 80)


def test_colours_only_on_a_terminal_and_not_with_no_color(files, monkeypatch):
    result = reader.read(files["h100"])
    plain = "\n".join(summary_full.lines(result, terminals.Terminal(140, False)))
    coloured = "\n".join(summary_full.lines(result, terminals.Terminal(140, True)))
    assert "\033" not in plain
    assert "\033[31msevere\033[0m" in coloured

    class Tty:
        def isatty(self) -> bool:
            return True

    assert terminals.terminal(Tty()).colour
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminals.terminal(Tty()).colour


def test_a_file_that_contradicts_itself_is_shown_with_a_warning(small, capsys):
    spoiled(small, lambda document: document["benchmarks"][0].update(bandwidth_gb_s=1.0))
    assert main(["summary", "--full", str(small)]) == 0
    assert "contradicts itself (1 problem, first $.benchmarks[0].bandwidth_gb_s" in capsys.readouterr().err
