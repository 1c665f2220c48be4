"""What holds for every figure: full labels, no data no figure, nothing left out in silence."""

import csv
import io

import pytest

from grainscope_report import reader
from grainscope_report.figures import csv_table
from grainscope_report.figures.model import why_absent
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.machine import machines
from planted import ENTRIES, SITE, add_copy, copy, gpu_file, only, table
from synthetic import MIB, File


def test_flags_are_in_the_table(tmp_path):
    file = gpu_file()
    axes = copy("pinned_to_gpu", MIB)
    file.add("transfer/memcpy", axes, SITE, 20e-6, flags=("wide_interval", "bimodal"))
    [row] = only(table(tmp_path, "2", file), kind="point")
    assert row["flags"] == "bimodal wide_interval"


EVERY = ("h100", "two_nodes", "cpu_only", "linked", "busy", "traversing", "learning", "leaning")


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
            label = "modelled" if "model" in row["series"] else "counted" if number == "10" else "measured"
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
