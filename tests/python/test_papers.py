"""The papers' numbers: complete, each with its place in the paper and its sentence."""

import json
import re

import pytest

from grainscope_report import resources
from grainscope_report.figures.table import FIGURES
from grainscope_report.resources import COMM_SCOPE, DISSERTATION, EMOGI, paper

NAMES = (COMM_SCOPE, EMOGI, DISSERTATION)
EVERY = [(name, number) for name in NAMES for number in paper(name).numbers.values()]


@pytest.mark.parametrize(("name", "number"), EVERY, ids=[f"{name}: {number.id}" for name, number in EVERY])
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
