"""What `summary --full` says: groups, traversals, networks, labels."""

import copy
import json
import re
from collections import Counter

import pytest

import synthetic_busy
import synthetic_training
from grainscope_report import findings, reader
from grainscope_report import writing as terminals
from grainscope_report.analysis import Analysis
from grainscope_report.cli import main
from grainscope_report.commands import summary_full, summary_gnn
from grainscope_report.groups import gnn_answers, traversal_answers
from grainscope_report.machine import machines
from planted import FAR, SITE, gpu_file, pinned_copy, spoiled, zero_copy
from planted_traversals import KRON, linked, machine_file, measured, model, pages, steady, traverse
from synthetic import MIB, File
from synthetic_models import modelled


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
        "GPU 0, node 0, host → GPU 54.70 [54.47, 54.93] 512 MiB 63.0 86.8 % PCIe 5 ×16"
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


def test_summary_says_what_was_not_flushed_where_nothing_was(tmp_path, capsys):
    """Flushed zero-copy says nothing of it; rows that were not flushed do not stand for it."""
    file = gpu_file()
    file.add("transfer/zero_copy", zero_copy(MIB, flush="off"), SITE, 10e-6)
    assert main(["summary", "--full", str(file.write(tmp_path / "result.json"))]) == 0
    assert "  read merged_aligned host_alloc, not flushed  " in capsys.readouterr().out
    file.add("transfer/zero_copy", zero_copy(MIB), SITE, 20e-6)
    assert main(["summary", "--full", str(file.write(tmp_path / "result.json"))]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "read merged_aligned host_alloc 52.43 " in said
    assert "Peaks and times of transfer/zero_copy are of flushed buffers alone" in said


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


def said(files, capsys, command: str, name: str, *more: str) -> str:
    assert main([command, *more, str(files[name])]) == 0
    return capsys.readouterr().out


def line(out: str, begin: str) -> str:
    found = [" ".join(one.split()) for one in out.splitlines()]
    return next(one for one in found if one.startswith(begin))


LINES = [
    ("gather", None),
    # CPU gathers were measured over 4 GiB only.
    ("rows of 1028 B, 1 GiB, uniform", "masked 45.8 83.7 % - 1.53 1.02"),
    ("rows of 128 B, 4 GiB, uniform", "address-ordered 48.4 88.4 % 15.37 - 1.01"),
    ("kron22, 10×25, 10 % labelled", "presampled 43.0 % 65.1 % 76.7 % 0.985 61.4 % 400 ms"),
    ("kron22, 10×25, batch 1000 GPU", ", lists in mapped memory 400 645 µs"),
    ("kron22 pasted", "164 793 ms"),
    ("green context 16 B", "8 6.1 % 50.9 93.0 %"),
    ("green context 8 6.1", "% 2.81 ms 1.02 1.06 0.94"),
    ("pareto22, 10×25, batch 1000, rows of 512 B tiered", ", 10 % hot 1.99 ms 0.90 572 MiB 5.05 1.83 0.99"),
]


@pytest.mark.parametrize(("begin", "rest"), LINES, ids=[begin for begin, _ in LINES])
def test_summary_has_a_table_for_each_question(files, capsys, begin, rest):
    found = line(said(files, capsys, "summary", "learning", "--full"), begin)
    assert rest is None or found == f"{begin}{'' if rest.startswith(',') else ' '}{rest}"


def test_summary_says_why_a_gather_may_beat_the_link(files, capsys):
    out = " ".join(said(files, capsys, "summary", "learning", "--full").split())
    assert (
        "Above 100 % rows came that had come before: those that several mini-batches of a window share, and "
        "with GraphBolt and others that sort those that one mini-batch asks for twice"
    ) in out


def test_summary_without_a_gpu_has_tiers_alone(files, capsys):
    out = said(files, capsys, "summary", "tiering", "--full")
    assert line(out, "kron18, 10×25").endswith("0.985 52.3 % 400 ms")
    for absent in ("fastest way", "shares of the GPU", "splits", "M edges/s"):
        assert absent not in out


def test_summary_counts_these_rows_in_one_line_of_each_family(files, capsys):
    out = said(files, capsys, "summary", "learning", "--full").splitlines()
    at = next(order for order, one in enumerate(out) if one == "tiering/score")
    assert out[at + 1].split() == ["all", "-", "-", "-", "35", "ok"]


def test_summary_json_has_every_answer(files, capsys):
    found = json.loads(said(files, capsys, "summary", "learning", "--json"))["networks"]
    assert set(found) == {
        "gathers",
        "helped_gathers",
        "modelled_gathers",
        "row_copies",
        "tiers",
        "sampling",
        "reordering",
        "shares",
        "splits",
        "training",
        "training_variants",
        "payback",
    }
    table = next(one for one in found["gathers"] if (one["row"], one["span"]) == (128, 1 << 35))
    assert (table["way"], table["window"]) == ("address_ordered", 4)
    assert table["over"]["graphbolt"] == pytest.approx(4.2, abs=0.01)
    assert {one["score"] for one in found["tiers"]} == {"presampled"}
    assert found["tiers"][0]["of_optimal"]["10"] == 0.985
    [two] = [one for one in found["training"] if one["gpus"] == 2]
    assert two["method"] == "masked"
    assert two["over"]["cpu_gather_dma"] == pytest.approx(6.99, abs=0.01)
    assert set(two["ways"]) == {"cpu_gather_dma", "naive", "masked", "device"}


def test_list_says_what_rows_count(files, capsys):
    out = said(files, capsys, "list", "learning").splitlines()
    assert out[0].split()[-3:] == ["counted", "name", "why"]

    def row(*words: str) -> str:
        return next(one for one in out if all(word in one for word in words))

    assert "first 10 %: 46.6 % of accesses, 0.930 of optimal" in row("score/degree/pareto22/10x25")
    assert "22.5 % from the host" in row("tiered", "hot:25")
    assert "16.7 requests a row" in row("model/gather/naive", "pcie4x16", "row:1028")
    assert "72 of 132 SMs for 66 asked, gather × 1.02, compute × 2.20" in row(
        "sm_share/split/green", "sms:66"
    )
    assert "overlap 0.90, loss 0.9" in row("pipeline/graphsage/masked/mapped")
    assert "2100 M edges/s" in row("sampling/neighbours/gpu/device")


def test_list_has_no_such_column_where_nothing_is_counted(small, capsys):
    assert main(["list", str(small)]) == 0
    assert "counted" not in capsys.readouterr().out


def test_without_a_gpu_each_family_has_a_line_with_a_number(tmp_path, capsys):
    file = File()
    axes = {"mode": "cpu_only", "store": "pageable", "graph": "kron20", "fanout": "10x25", "batch": 1000}
    axes |= {"row": 512, "hidden": 128, "locality": "local"}
    file.add("pipeline/graphsage", axes, {"numa": 0}, 34.5e-3, spread=0.0, counters={"cpu_s": 0.07})
    for mode, time_s, requests in (("naive", 4e-3, 16.0), ("masked", 2e-3, 9.0), ("vector", 2e-3, 9.0)):
        axes = {"mode": mode, "row": 1028, "rows": 65536, "span": 1 << 29, "indices": "uniform", "element": 4}
        more = {"bytes": 1028 * 65536, "counters": {"requests_per_row": requests}}
        modelled(file, "model/gather", axes | {"width": 4, "link": "pcie4x16"}, time_s, **more)
    for card, times in ((25, 3.5), (50, 3.25), (100, 1.0)):
        pages(file, 1.0, card=card, counters={"amplification_data_set": times})
    path = file.write(tmp_path / "result.json")
    assert main(["summary", "--full", str(path)]) == 0
    out = capsys.readouterr().out
    train = "kron20, 10×25, batch 1000, rows of 512 B training on the CPU 34.5 ms"
    assert line(out, "kron20, 10×25") == train
    gathered = "rows of 1028 B, 512 MiB, uniform masked (tied with 1) 2 ms PCIe 4 ×16 9 2.00"
    assert line(out, "rows of 1028 B") == gathered
    assert line(out, "managed memory, modelled").endswith("card 25 % card 50 % card 100 %")
    assert line(out, f"bfs {KRON}") == f"bfs {KRON}, 8 B 3.5 × 3.25 × 1 ×"
    assert "a fault brings 64 KiB" in out
    assert main(["summary", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["managed_under_pressure"][0]["data_set_times"] == {"25": 3.5, "50": 3.25, "100": 1.0}
    [machine] = machines([reader.read(path)])
    [said] = gnn_answers.training(Analysis(machine))
    assert said.endswith("rows of 512 B, was fed only by training on the CPU: 34.5 ms a step")


# Of these tables two columns name a line; what stands in the second of others is an answer.
NAMED_BY_TWO = ("sampling", "reordering", "shares of the GPU", "hot rows", "traversals that move fewer bytes")
FAMILIES = ("gather", "tiering/", "sampling/", "sm_share/", "pipeline/")
OTHER = {
    "graph": "web21",
    "fanout": "5x5",
    "indices": "clustered",
    "lists": "shuffled",
    "placement": "managed",
    "score": "presampled",
    "by": "exec_affinity",
    "consumer": "dlrm",
    "percent": "33",
}


def names(path, capsys, monkeypatch) -> Counter:
    """Table, family and name of every line."""
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(summary_gnn, "MOST_LINES", 1000)
    assert main(["summary", "--full", str(path)]) == 0
    found: Counter = Counter()
    table = family = ""
    tables = re.sub(r"(?m)^.*; GB/s\n(?:.+\n)*", "", capsys.readouterr().out)  # the tree has no columns
    for line in tables.splitlines():
        cells = re.split(r" {2,}", line.strip())
        if line.startswith("  ") and len(cells) > 2:
            found[table, family, *cells[: 1 + (table in NAMED_BY_TWO)]] += 1
        elif len(cells) > 2:
            table, family = cells[0], ""
        elif not line.startswith(" "):
            family = line
    return found


def with_another(axis: str) -> File:
    """A machine that ran all of graph neural networks, and the same with another value of an axis."""
    file = synthetic_training.learning()
    for row in [row for row in file.rows if row["case"]["family"].startswith(FAMILIES)]:
        if axis in row["case"]["axes"]:
            again = copy.deepcopy(row)
            value = again["case"]["axes"][axis]
            again["case"]["axes"][axis] = OTHER[axis] if isinstance(value, str) else 2 * value
            again["name"] += "/again"
            if all(again["case"] != row["case"] for row in file.rows):
                file.rows.append(again)
    return file


def check(found: Counter) -> None:
    assert len(found) > 10
    assert [line for line, count in found.items() if count > 1] == []


@pytest.mark.parametrize("name", ["h100", "linked", "busy", "traversing", "learning", "leaning"])
def test_no_two_lines_of_a_machine_s_tables_have_one_name(files, capsys, monkeypatch, name):
    check(names(files[name], capsys, monkeypatch))


def test_no_two_lines_of_a_whole_run_s_tables_have_one_name(tmp_path, capsys, monkeypatch):
    check(names(synthetic_busy.full().write(tmp_path / "result.json"), capsys, monkeypatch))


@pytest.mark.parametrize("axis", [
    *OTHER, "batch", "element", "gpus", "hidden", "hot", "labelled", "row", "rows", "sms", "span",
    "width", "window",
])  # fmt: skip
def test_lines_that_differ_in_one_thing_name_it(tmp_path, capsys, monkeypatch, axis):
    check(names(with_another(axis).write(tmp_path / "result.json"), capsys, monkeypatch))


def test_what_tells_nothing_apart_is_not_named(files, capsys, monkeypatch):
    found = " ".join(str(line) for line in names(files["learning"], capsys, monkeypatch))
    for word in ("hidden", "elements of", "by degree"):
        assert word not in found


def test_summary_has_the_best_access_and_what_it_is_better_than(tmp_path, capsys):
    file = measured()
    traverse(file, steady(0.125), edge=4, counters={"link_gb_s": 27.35})
    path = file.write(tmp_path / "result.json")
    assert main(["summary", "--full", str(path)]) == 0
    out = capsys.readouterr().out
    [line] = [" ".join(line.split()) for line in out.splitlines() if "bfs kron24" in line]
    assert line == "bfs kron24, 8 B aligned 250 ms 125 ms 0.000000004 4.00 0.40"
    assert "cold, not oversubscribed" in " ".join(out.split())
    assert main(["summary", "--json", str(path)]) == 0
    wide, narrow = json.loads(capsys.readouterr().out)["traversals"]
    assert (wide["algorithm"], wide["graph"], wide["edge"], wide["label"]) == ("bfs", KRON, 8, "measured")
    assert (wide["best"]["access"], wide["best"]["placement"]) == ("merged_aligned", "mapped")
    assert wide["over_managed"]["value"] == pytest.approx(4.0)
    assert wide["over_device"]["value"] == pytest.approx(0.4)
    assert len(wide["ways"]) == 6
    assert narrow["best"]["link_gb_s"] == 27.35
    assert narrow["over_managed"] is None


def test_summary_of_a_model_alone_says_so(tmp_path, capsys):
    file = linked(machine_file())
    assert main(["summary", "--full", str(file.write(tmp_path / "result.json"))]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "traversals, modelled over PCIe 3 ×16" in out
    assert "bfs kron24, 8 B aligned 800 ms 1 2.00" in out
    assert "an estimate of the time that the link needs, which measured traversals may miss" in out
    assert "not validated on hardware" in out


def table_line(out: str, begin: str) -> str:
    [line] = [" ".join(line.split()) for line in out.splitlines() if line.strip().startswith(begin)]
    return line


@pytest.mark.parametrize(
    ("merged", "aligned", "said"),
    [
        ((0.5, 0.52), (0.2, 0.21), "the fastest access is aligned in 1"),
        (
            (0.2, 0.3),
            (0.19, 0.30),
            "Of 1 measured traversal of edges in host memory no access is the fastest for certain",
        ),
        (None, (0.2, 0.21), "1 measured traversal of edges in host memory, by one access"),
    ],
)
def test_an_access_is_fastest_only_where_that_is_certain(tmp_path, merged, aligned, said):
    file = machine_file()
    for access, times in (("merged", merged), ("merged_aligned", aligned)):
        if times:
            traverse(file, [*times] * 4, access=access)
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert said in traversal_answers.said(Analysis(machine))[0]


def test_those_that_one_access_walks_count_for_none(tmp_path):
    file = machine_file()
    for algorithm, access in (("bfs", "merged"), ("bfs", "merged_aligned"), ("sssp", "naive")):
        traverse(file, steady(0.2 if access == "merged_aligned" else 0.5), algorithm, access=access)
    [machine] = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert traversal_answers.said(Analysis(machine))[0].startswith(
        "Of 2 measured traversals of edges in host memory 1 was run by several accesses, of which the "
        "fastest is aligned in 1"
    )


def test_both_widths_of_edges_are_of_the_same_access(tmp_path, capsys):
    file = machine_file()
    for edge, access, time_s in ((8, "merged", 0.5), (8, "merged_aligned", 0.25),
                                 (4, "merged", 0.1), (4, "merged_aligned", 0.125)):  # fmt: skip
        traverse(file, steady(time_s), access=access, edge=edge)
    assert main(["summary", "--full", str(file.write(tmp_path / "result.json"))]) == 0
    out = capsys.readouterr().out
    assert table_line(out, "bfs kron24").startswith("bfs kron24, 8 B aligned 250 ms 125 ms")
    assert "With narrower edges: the time of the same access." in " ".join(out.split())


def test_ties_are_told_as_ties(tmp_path, capsys):
    file = machine_file()
    for algorithm, times in (("bfs", (0.5, 0.5)), ("pr", (0.5, 0.25))):
        for access, time_s in zip(("merged", "merged_aligned"), times, strict=True):
            model(file, time_s, algorithm, access=access)
    path = file.write(tmp_path / "result.json")
    assert main(["summary", "--full", str(path)]) == 0
    out = capsys.readouterr().out
    assert table_line(out, "bfs kron24").startswith("bfs kron24, 8 B merged (tied with 1) 500 ms")
    assert table_line(out, "pr kron24").startswith("pr kron24, 8 B aligned 250 ms")
    assert main(["summary", "--json", str(path)]) == 0
    found = {one["algorithm"]: one for one in json.loads(capsys.readouterr().out)["traversals"]}
    assert [way["access"] for way in found["bfs"]["tied"]] == ["merged_aligned"]
    assert found["pr"]["tied"] == []
    [machine] = machines([reader.read(path)])
    said = {one.question: one.text for one in findings.answers(Analysis(machine))}
    assert "the fastest access is merged = aligned (a tie) in 1, aligned in 1" in said["Which traversal"]
