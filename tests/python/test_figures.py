"""What holds for every figure; figures o, g and 15; and the papers' numbers that stand beside ours."""

import csv
import io
import json
import re

import pytest

from boxes import check_bars, check_curves, check_dots, check_no_overlap, check_told_apart, texts
from compared import foreign, node, written
from grainscope_report import reader, resources, uncertainty
from grainscope_report.buying import verdict, workload
from grainscope_report.cli import main
from grainscope_report.drawing import render, style
from grainscope_report.figures import csv_table
from grainscope_report.figures.model import CurvePanel, DotPanel, why_absent
from grainscope_report.figures.table import (
    CANDIDATES_STEM,
    FIGURES,
    FOREIGN_STEM,
    LEAST_CHANGE,
    build_candidates,
    build_foreign,
    figure,
)
from grainscope_report.loading import load
from grainscope_report.machine import machines
from grainscope_report.resources import COMM_SCOPE, DISSERTATION, EMOGI, GRAPHPEG, paper
from planted import (
    ENTRIES,
    SITE,
    add_copy,
    around,
    copy,
    gpu_file,
    linked_file,
    made,
    only,
    point,
    table,
    values,
)
from planted_purchase import machine
from planted_purchase import table as purchase_table
from planted_purchase import workload as workload_text
from planted_traversals import KRON, URAND, crossing, machine_file, measured, model, pages, steady, traverse
from synthetic import KIB, MIB, File
from synthetic_gnn import add_scores


def test_flags_are_in_the_table(tmp_path):
    file = gpu_file()
    axes = copy("pinned_to_gpu", MIB)
    file.add("transfer/memcpy", axes, SITE, 20e-6, flags=("wide_interval", "bimodal"))
    [row] = only(table(tmp_path, "2", file), kind="point")
    assert row["flags"] == "bimodal wide_interval"


EVERY = (
    "h100",
    "two_nodes",
    "cpu_only",
    "linked",
    "busy",
    "traversing",
    "learning",
    "leaning",
    "predictable",
)


@pytest.mark.parametrize("number", [entry.id for entry in FIGURES])
def test_every_figure_of_every_machine_is_labelled_in_full(show, number):
    made = figure(ENTRIES[number], show(*EVERY))
    assert made.rows
    for row in csv.DictReader(io.StringIO(csv_table.write(made))):
        assert row["figure"] == number
        assert row["panel"]
        assert row["kind"]
        if row["kind"] == "point":
            assert float(row["y_low"]) <= float(row["y"]) <= float(row["y_high"])
            modelled = "model" in row["series"] or number == "20"
            label = "modelled" if modelled else "counted" if number == "10" else "measured"
            assert row["label"] == label
            assert row["machine"]


ABSENT = {
    "3": "figure 3: no rows of transfer/duplex: not part of this run (preset quick)",
    "4": "figure 4: no rows of transfer/peer: not part of this run (preset quick)",
    "13": "figure 13: no rows of reach/gather: not part of this run (preset quick)",
    "14": "figure 14: no rows of grain/pieces: not part of this run (preset quick)",
    "11": "figure 11: no rows of one size by several modes, or by share, of gather, model/gather, "
    "sm_share/gather or sm_share/split: not part of this run (preset quick)",
    "2": "figure 2: no rows of transfer/memcpy: skipped, no NVIDIA driver",
    "5": "figure 5: no rows of transfer/zero_copy: skipped, no NVIDIA driver",
    "6": "figure 6: no rows with method demand of transfer/managed: skipped, no NVIDIA driver",
}


@pytest.mark.parametrize(("number", "line"), ABSENT.items())
def test_a_figure_without_data_says_which_rows_it_lacks_and_why(show, number, line):
    shown = show("cpu_only")
    assert figure(ENTRIES[number], shown).rows == ()
    assert why_absent(ENTRIES[number], shown) == line


@pytest.mark.parametrize("number", [entry.id for entry in FIGURES])
def test_an_empty_file_has_no_figure(tmp_path, number):
    file = File(preset="quick")
    file.context["run"]["filter"] = "^host"
    shown = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert figure(ENTRIES[number], shown).rows == ()
    assert why_absent(ENTRIES[number], shown).endswith("not part of this run (preset quick, filter ^host)")


def test_failed_rows_are_no_data_but_are_named(tmp_path):
    file = gpu_file()
    file.lose("failed", "the copy came back wrong", "transfer/memcpy", copy("pinned_to_gpu", MIB), SITE)
    add_copy(file, 999.0, "pinned_to_gpu", MIB, timed="submission")
    shown = machines([reader.read(file.write(tmp_path / "result.json"))])
    assert figure(ENTRIES["2"], shown).rows == ()
    assert why_absent(ENTRIES["2"], shown) == (
        "figure 2: no rows of transfer/memcpy: the 1 ok row there answers other questions; "
        "failed, the copy came back wrong"
    )


def test_failed_and_skipped_rows_are_counted_in_the_notes(show):
    notes = figure(ENTRIES["7"], show("h100")).notes
    assert "Not drawn: 1 failed row: impossible: 37197 GB/s over a link of 63 GB/s." in notes
    assert "Not drawn: 1 skipped row: this machine has one NUMA node." in notes


FAMILY = "toy/sum"
SIZES = (64 * KIB, MIB, 16 * MIB)


def sums(file: File, gb_s: float = 10.0, sizes=SIZES, **axes) -> File:
    for size in sizes:
        file.add(FAMILY, {"bytes": size, "locality": "local", **axes}, SITE, size / gb_s / 1e9)
    return file


def test_rates_stand_over_the_number_that_varies_a_line_a_combination(tmp_path):
    file = sums(sums(gpu_file(), 10.0, way="by_hand", flush="on"), 20.0, way="by_library", flush="off")
    rows = table(tmp_path, "o", file)
    slow, fast = f"{FAMILY}: by hand, flush on", f"{FAMILY}: by library, flush off"
    assert {row["series"] for row in only(rows, kind="point")} == {slow, fast}
    assert len(only(rows, series=slow)) == len(only(rows, series=fast)) == len(SIZES)
    assert point(rows, series=fast, x=str(MIB)) == around(MIB, 20.0)
    assert {(row["panel"], row["x_unit"], row["y_unit"]) for row in rows} == {(FAMILY, "bytes", "GB/s")}


def test_without_rates_times_of_an_operation_stand_in_a_unit_that_fits(tmp_path):
    file = gpu_file()
    for pieces in (1, 2, 4):
        axes = {"pieces": pieces, "locality": "local"}
        file.add(FAMILY, axes, SITE, pieces * 3e-6, operations=pieces, bytes=None)
    rows = table(tmp_path, "o", file)
    assert {(row["series"], row["x_unit"], row["y_unit"]) for row in rows} == {(FAMILY, "count", "µs")}
    assert [float(row["y"]) for row in rows] == [pytest.approx(3.0, rel=0.02)] * 3


def test_an_axis_that_follows_from_another_makes_no_line_of_its_own(tmp_path):
    file = gpu_file()
    for size in SIZES:
        axes = {"bytes": size, "rows": size // 128, "locality": "local"}
        file.add(FAMILY, axes, SITE, size / 1e10)
    assert {row["series"] for row in table(tmp_path, "o", file)} == {FAMILY}


def test_of_many_combinations_those_with_most_points_are_drawn_and_the_rest_counted(tmp_path):
    file = gpu_file()
    for threads in range(1, 13):
        sums(file, float(threads), SIZES[:2] if threads < 5 else SIZES, way=f"way_{threads}")
    figure = made(tmp_path, "o", file)
    [panel] = figure.panels
    assert {len(curve.points) for curve in panel.curves} == {len(SIZES)}
    assert f"{FAMILY}: 4 more combinations are not drawn." in figure.notes
    check_told_apart(panel)


def test_a_family_without_a_number_that_varies_has_a_dot_for_each_combination(tmp_path):
    file = gpu_file()
    for way in ("there", "back"):
        file.add("toy/ping", {"way": way, "locality": "local"}, SITE, 2e-6, bytes=None)
    sums(file, 5.0, (MIB,))
    rows = table(tmp_path, "o", file)
    assert {row["kind"] for row in rows} == {"dot"}
    assert {(row["series"], row["x"], row["y_unit"]) for row in rows} == {
        ("toy/ping", "there", "s"), ("toy/ping", "back", "s"), (FAMILY, "", "GB/s"),
    }  # fmt: skip


def test_families_of_other_figures_and_modelled_rows_are_left_to_them(tmp_path):
    file = gpu_file()
    add_copy(file, 50.0, "pinned_to_gpu", MIB)
    sums(file)
    assert made(tmp_path, "o", file).families == (FAMILY,)
    assert "transfer/memcpy" in ENTRIES["2"].families


def test_it_can_be_read(tmp_path):
    file = sums(sums(linked_file(), 10.0, way="by_hand"), 20.0, way="by_library")
    file.add("toy/ping", {"way": "there", "locality": "local"}, SITE, 2e-6, bytes=None)
    file.add("toy/ping", {"way": "back", "locality": "local"}, SITE, 3e-6, bytes=None)
    figure = made(tmp_path, "o", file)
    page = render.draw(figure)
    page.canvas.draw()
    check_no_overlap(page)
    curves, dots = figure.panels
    assert isinstance(curves, CurvePanel)
    assert isinstance(dots, DotPanel)
    check_curves(page.axes[0], curves)
    check_dots(page.axes[1], dots, several=False)


def test_a_method_without_a_colour_of_its_own_has_that_of_its_name():
    assert style.colour("by_hand") == style.colour("by_hand")
    assert style.colour("by_hand") in style.METHODS.values()
    assert len({style.colour(f"way_{at}") for at in range(40)}) == style.COMPONENTS


EVEN = [10.0, 10.2, 9.8]


def test_rates_are_drawn_by_the_number_in_the_name(tmp_path):
    names = {f"BM_copy/{size}/real_time": EVEN for size in (64, 4096, 1 << 20)} | {"BM_fill": EVEN}
    path = foreign(tmp_path, "a", names, bytes_per_second=2e9)
    assert main(["plot", path, "-o", str(tmp_path / "out"), "--format", "svg"]) == 0
    rows = list(csv.DictReader((tmp_path / "out" / f"{FOREIGN_STEM}.csv").read_text().splitlines()))
    points = only(rows, kind="point", series="BM_copy/N/real_time")
    assert [float(row["x"]) for row in points] == [64, 4096, 1 << 20]
    assert float(points[0]["y"]) == pytest.approx(2.0)
    assert float(points[0]["y_low"]) == pytest.approx(2.0 * 10 / 10.2)
    [dot] = only(rows, kind="dot")
    assert (dot["series"], float(dot["y"])) == ("BM_fill", pytest.approx(2.0))
    made = build_foreign([load(path, foreign=True)])
    assert made.machines[0].provenance == "Google Benchmark · a · 8 CPUs · 2026-11-20T10:00:00"
    page = render.draw(made)
    page.canvas.draw()
    check_no_overlap(page)
    check_curves(page.axes[0], next(panel for panel in made.panels if isinstance(panel, CurvePanel)))


def test_what_has_no_rate_is_said(tmp_path, capsys):
    assert main(["plot", foreign(tmp_path, "a", {"BM": EVEN}), "-o", str(tmp_path)]) == 1
    assert "no benchmark there has real_time and bytes_per_second" in capsys.readouterr().out
    broken = foreign(tmp_path, "b", {"BM": EVEN}, error_occurred=True, error_message="no device")
    assert main(["plot", broken, "-o", str(tmp_path)]) == 1


def test_two_kinds_of_files_are_not_drawn_together(tmp_path, capsys):
    own = written(tmp_path, node())
    assert main(["plot", *own, foreign(tmp_path, "a", {"BM": EVEN}, bytes_per_second=1e9)]) == 2
    assert "plot files of one kind" in capsys.readouterr().err


COST = "[cost]\nyears = 5\nper_kwh = 0.25\npue = 1.3\n"
FASTER = {"X": (2.0, 1.0), "Y": (1.0, 1.5), "Z": (1.2, 1.2), "V": (0.9, 1.0), "W": (1.0, 0.8)}


@pytest.fixture
def drawn(tmp_path):
    """The figure of a verdict on these candidates, and its CSV rows."""

    def run(offers: str, tail: str = "", noise: float = 1e-6):
        machine().write(tmp_path / "r.json")
        for name, (copies, kernels) in FASTER.items():
            machine(copies, kernels, f"node-{name}").write(tmp_path / f"{name}.json")
        (tmp_path / "w.toml").write_text(workload_text((0.5, 0.5), offers, tail=tail))
        tables = [uncertainty.TypeB(json.dumps(purchase_table(run=noise)).encode())]
        document, files = verdict.judge(workload.load(tmp_path / "w.toml"), 300, 1, tables)
        made = build_candidates(document, files)
        return made, list(csv.DictReader(io.StringIO(csv_table.write(made))))

    return run


def test_stacks_are_the_components_and_their_sums(drawn):
    made, rows = drawn("X Y")
    times = only(rows, panel="predicted time by component")
    assert values(times, "x", kind="bar", series="copies") == pytest.approx({"X": 0.25, "Y": 0.5})
    assert values(times, "x", kind="bar", series="kernels") == pytest.approx({"X": 0.5, "Y": 1 / 3})
    assert values(times, "x", kind="sum") == pytest.approx({"X": 0.75, "Y": 5 / 6})
    assert [panel.title for panel in made.panels] == [
        "predicted time by component",
        "where X is no longer first",
    ]
    flips = only(rows, panel="where X is no longer first", x="flips at a share of")
    assert values(flips) == pytest.approx({LEAST_CHANGE: 0.1, "copies": 0.4, "kernels": 0.6})


def test_costs_stand_beside_in_their_own_order(drawn):
    made, rows = drawn("X=24000,1000 Y=18000,1000", COST)
    energy = 1 * 5 * 8766 * 0.25 * 1.3
    costs = only(rows, panel="cost for its speed, the least first")
    assert list(values(costs, "x", kind="sum")) == ["Y", "X"]
    assert values(costs, "x", kind="sum")["Y"] == pytest.approx((18000 + energy) * 5 / 6)
    assert values(costs, "x", series="energy × time")["X"] == pytest.approx(energy * 0.75)
    assert made.panels[-1].title == "where Y no longer costs least for its speed"


@pytest.mark.parametrize("offers", ["X Y", "X=2,9 Y=2,9", "X=20000,700 Y=18000,700 Z=17000,700 V=9,9 W=9,9"])
def test_the_picture_can_be_read(drawn, offers):
    made, _ = drawn(offers, COST if "=" in offers else "", noise=0.001)
    page = render.draw(made)
    page.canvas.draw()
    check_no_overlap(page)
    assert all(box.x0 >= 0 and box.x1 <= page.bbox.x1 for _, box in texts(page))
    for axes, panel in zip(page.axes, made.panels, strict=True):
        if hasattr(panel, "series"):
            check_bars(axes, panel)
            top = axes.get_ylim()[1]
            assert all(whole.high < top for whole in panel.sums)


def test_evaluate_draws_it_and_plot_says_so(tmp_path, capsys):
    for name in ("r", "X", "Y"):
        machine(*FASTER.get(name, (1.0, 1.0)), f"node-{name}").write(tmp_path / f"{name}.json")
    (tmp_path / "w.toml").write_text(workload_text(candidates="X Y"))
    out = tmp_path / "out"
    (tmp_path / "b.purchase_table").write_text(json.dumps(purchase_table()))
    asked = ["evaluate", str(tmp_path / "w.toml"), "-o", str(out), "--draws", "200"]
    asked += ["--type-b", str(tmp_path / "b.purchase_table")]
    assert main(asked) == 0
    assert not list(out.glob("figure*"))
    assert main([*asked, "--format", "svg"]) == 0
    assert {path.name for path in out.glob("figure*")} == {
        f"{CANDIDATES_STEM}.{kind}" for kind in ("svg", "csv", "md")
    }
    assert "no longer first" in (out / f"{CANDIDATES_STEM}.md").read_text()
    capsys.readouterr()
    assert main(["plot", str(tmp_path / "r.json"), "--figures", "15"]) == 2
    assert "evaluate WORKLOAD --format png" in capsys.readouterr().err


NAMES = (COMM_SCOPE, EMOGI, DISSERTATION, GRAPHPEG)
EVERY_NUMBER = [(name, number) for name in NAMES for number in paper(name).numbers.values()]


@pytest.mark.parametrize(
    ("name", "number"), EVERY_NUMBER, ids=[f"{name}: {number.id}" for name, number in EVERY_NUMBER]
)
def test_a_number_has_a_unit_a_source_and_the_sentence_that_states_it(name, number):
    assert number.unit
    assert re.search(r"section|figure|table", number.source)
    assert len(number.text) > 20
    if isinstance(number.value, dict):
        assert sum(number.value.values()) == pytest.approx(1)
    systems = json.loads(resources.paper_path(name).read_text())["systems"]
    assert not number.system or number.system in systems


# Numbers whose sentence carries them in other words: a size as 16MB, a percentage as a fraction, …
@pytest.mark.parametrize(
    ("name", "number", "said"),
    [
        (COMM_SCOPE, "pinned_to_gpu_local_ac922", "72"),
        (COMM_SCOPE, "pinned_to_gpu_remote_ac922", "41"),
        (COMM_SCOPE, "link_theoretical_ac922", "75"),
        (COMM_SCOPE, "zero_copy_read_behind_copy_s822lc", "10"),
        (EMOGI, "merged_aligned", "12.23"),
        (EMOGI, "naive_bfs", "4.7"),
        (EMOGI, "memcpy_peak", "12.3"),
        (EMOGI, "uvm_peak", "9"),
        (EMOGI, "merged_bfs", "11"),
        (EMOGI, "requests_128_aligned_over_merged_gk", "1.86"),
        (EMOGI, "requests_128_aligned_over_merged_gu", "1.25"),
        (EMOGI, "amplification_uvm_fs", "5.16"),
        (EMOGI, "amplification_emogi", "1.31"),
        (EMOGI, "speedup_naive_over_uvm_bfs", "0.73"),
        (EMOGI, "speedup_merged_over_uvm_bfs", "3.24"),
        (EMOGI, "speedup_over_uvm", "2.92"),
        (EMOGI, "scaling_uvm_pcie_4", "1.53"),
        (DISSERTATION, "scaling_emogi_pcie_4", "1.88"),
        (DISSERTATION, "edge_4_over_8", "1.57"),
    ],
)
def test_the_drawn_numbers_stand_in_their_sentences(name, number, said):
    found = paper(name)[number]
    assert f"{found.value:g}" == said
    assert said in found.text


def test_the_tables_agree_with_themselves_and_with_each_other():
    emogi, later = paper(EMOGI).tables["comparison"]["rows"], paper(DISSERTATION).tables
    assert [*later["halo"]["rows"], *later["subway"]["rows"]] == emogi
    assert len(emogi) == 14
    for row in emogi:
        assert row["time_s"] / row["emogi_s"] == pytest.approx(row["speedup"], rel=0.01)


def test_numbers_are_unique_and_citable():
    for name in NAMES:
        listed = json.loads(resources.paper_path(name).read_text())["numbers"]
        assert len(listed) == len(paper(name).numbers)
    assert paper(EMOGI).cite("merged_aligned") == "EMOGI 2020, section 3.3, figure 4b"


def test_a_paper_that_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(resources, "CHECKOUT", tmp_path)
    with pytest.raises(Exception, match="install it again"):
        resources.paper.__wrapped__(EMOGI)


def test_figures_have_distinct_ids_and_stems():
    assert len({entry.id for entry in FIGURES}) == len({entry.stem for entry in FIGURES}) == len(FIGURES)


def of_both_and_lone() -> File:
    """`KRON` is measured and modelled; `power` is modelled alone, over this machine's link, too."""
    file = measured()
    traverse(file, steady(0.4), graph=URAND)
    for link in ("pcie3x16", "pcie4x16"):
        model(file, 0.5, link=link)
        pages(file, 2.0, link=link)
        for algorithm in ("bfs", "sssp"):
            model(file, 0.1, algorithm, graph="power", link=link)
            pages(file, 0.3, algorithm, graph="power", link=link)
    model(file, 0.1, graph="power", link="measured")
    pages(file, 0.3, graph="power", link="measured")
    return file


LONE = f"Not drawn, since they are not both measured and modelled: {URAND}, power."


def test_figure_16_draws_the_graphs_that_were_both_measured_and_modelled(tmp_path):
    figure = made(tmp_path, "16", of_both_and_lone())
    bars = [panel for panel in figure.panels if panel.title in ("bfs", "sssp")]
    assert [(panel.title, panel.categories) for panel in bars] == [("bfs", (KRON,))]
    assert {one.hatched for one in bars[0].series} == {True, False}
    assert LONE in figure.notes
    assert any("a measured bar of theirs may be above that of its own link" in note for note in figure.notes)
    alone = machine_file()
    model(alone, 0.1, graph="power")
    assert made(tmp_path, "16", alone).panels[0].categories == ("power",)


def test_figure_9_models_the_graphs_that_were_measured_over_a_link_that_has_them(tmp_path):
    figure = made(tmp_path, "9", of_both_and_lone())
    shown = {panel.title: panel.categories for panel in figure.panels if panel.title.startswith("bfs")}
    assert [names[0] for names in shown.values()] == [KRON, KRON]
    assert any(note.endswith("over PCIe 3 ×16.") for note in figure.notes)


def test_figure_8_has_requests_of_graphs_that_were_both_measured_and_modelled(tmp_path):
    file = machine_file()
    asked = {
        access: {"traffic": crossing({32: 10, 128: 30}, 500.0)} for access in ("merged", "merged_aligned")
    }
    for access, traffic in asked.items():
        traverse(file, steady(0.1), access=access, **traffic)
        for graph in (KRON, URAND, "power"):
            if graph != KRON or access == "merged":
                model(file, 0.1, graph=graph, access=access, **traffic)
    (panel,) = (
        one for one in made(tmp_path, "8", file).panels if one.title.startswith("requests by size, by")
    )
    assert [name for name, _ in panel.groups] == [KRON]


@pytest.mark.parametrize(("fanout", "said"), [("10x10", True), ("10x10x10x10x10", False)])
def test_figure_10_says_that_five_steps_of_the_dissertation_are_not_ours(tmp_path, fanout, said):
    file = File()
    add_scores(file, "papers20", fanout, 0.3)
    notes = made(tmp_path, "10", file).notes
    assert any("Bars of ours are of fan-out 10×10;" in note for note in notes) == said
