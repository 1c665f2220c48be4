"""`grainscope-report report`: what the page says, in which order, of which file; and how fast it is made."""

import html
import json
import re
import resource

import pytest

import synthetic_full
from grainscope_report import reader
from grainscope_report.cli import main
from planted import SITE, pinned_copy, spoiled
from synthetic import MIB, File

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&"


def written(tmp_path, *paths, status: int = 0) -> str:
    """The page about these files."""
    out = tmp_path / "pages" / "report.html"
    assert main(["report", *map(str, paths), "-o", str(out)]) == status
    assert [path.name for path in out.parent.iterdir()] == ["report.html"]
    return out.read_text(encoding="utf-8")


def rows_of(page: str) -> list[str]:
    """The lines of the table of all rows."""
    table = page[page.index('<table class="rows">') :]
    return table[table.index("<tbody>") : table.index("</table>")].split("<tr")[1:]


def names_of(page: str) -> list[str]:
    return [html.unescape(re.search(r"<th>(.*?)<td", row)[1].replace("<wbr>", "")) for row in rows_of(page)]


def test_the_page_goes_from_what_is_wrong_to_every_row(small, tmp_path, capsys):
    page = written(tmp_path, small)
    marks = ["<h1>", 'class="finding severe"', 'id="answers"', 'id="figures"', 'id="rows"', 'id="skips"']
    places = [page.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "1 row failed, 1 because: the copy came back wrong" in page
    assert "report.html: 3 rows, 0." in capsys.readouterr().out


def test_every_row_is_there_once_and_the_failed_ones_are_first(small, tmp_path):
    page = written(tmp_path, small)
    assert sorted(names_of(page)) == sorted(row.name for row in reader.read(small).rows)
    assert [re.match(r'( class="(\w+)")?', row)[2] for row in rows_of(page)] == ["failed", None, "skipped"]
    assert "this machine has one NUMA node" in rows_of(page)[2]


def test_numbers_of_a_row_are_those_of_the_file(small, tmp_path):
    row = rows_of(written(tmp_path, small))[1]
    assert "20 µs" in row
    assert "52.43" in row
    assert "95.8 %" in row
    assert f"data-v={1 * MIB / 20e-6 / 1e9:.5g}>" in row


def test_what_was_not_measured_is_listed_with_its_reason(small, tmp_path):
    page = written(tmp_path, small)
    skips = page[page.index('id="skips"') :]
    assert skips.index("the copy came back wrong") < skips.index("this machine has one NUMA node")


def test_figures_that_cannot_be_drawn_say_why(small, tmp_path):
    page = written(tmp_path, small)
    assert "Figures that the rows do not make" in page
    assert "5 Explicit copies against zero-copy" in page


def test_nothing_outside_the_page_is_asked_for(files, tmp_path):
    page = written(tmp_path, files["h100"])
    assert not re.search(r"https?://", page)
    assert not re.search(r"<(link|iframe|object|embed|img|base)\b", page)
    assert not re.search(r'\bsrc=|href="(?!#)|@import|url\((?!#)', page)
    assert "default-src 'none'" in page


def test_ids_are_unique_and_links_within_the_page_lead_somewhere(files, tmp_path):
    page = written(tmp_path, files["h100"], files["two_nodes"])
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_what_files_say_can_do_nothing(tmp_path):
    file = File(host=HOSTILE, gpus=(HOSTILE,), cpu=HOSTILE, driver=HOSTILE)
    file.warn("severe", HOSTILE)
    file.warn("info", HOSTILE)
    file.add("transfer/memcpy", pinned_copy() | {"path": HOSTILE}, SITE, 20e-6)
    file.add("transfer/memcpy", pinned_copy(), SITE, 20e-6, flags=("bimodal",))
    file.lose("skipped", HOSTILE, "transfer/peer", {"method": HOSTILE}, SITE)
    page = written(tmp_path, file.write(tmp_path / "hostile" / "result.json"))
    assert page.count("<script") == 1
    assert "<img" not in page
    assert page.count("onerror=alert") == page.count("&lt;img src=x onerror=alert")


def test_a_run_that_is_not_complete_says_so_first(small, tmp_path):
    def cut(document: dict) -> None:
        document["context"]["run"].update(complete=False, why_incomplete="the GPU was lost")

    page = written(tmp_path, spoiled(small, cut))
    assert "<b>severe</b> the run is not complete: the GPU was lost" in page


def test_a_file_that_contradicts_itself_says_so_first(small, tmp_path, capsys):
    page = written(tmp_path, spoiled(small, lambda document: document["benchmarks"][0].update(bytes=1)))
    assert "<b>severe</b> the file contradicts itself (1 problem, first $.benchmarks[0].bandwidth" in page
    assert "contradicts itself" in capsys.readouterr().err


def test_a_file_without_rows_makes_a_page(tmp_path):
    page = written(tmp_path, File().write(tmp_path / "empty" / "result.json"))
    assert rows_of(page) == []
    assert "The rows make no figure." in page


def test_what_is_modelled_is_called_that(files, tmp_path):
    rows = rows_of(written(tmp_path, files["modelling"]))
    modelled = [row for row in rows if 'data-label="modelled"' in row]
    assert len(modelled) > 400
    assert all("<i>modelled</i>" in row for row in modelled)


def test_of_several_files_each_is_named_everywhere(files, tmp_path):
    page = written(tmp_path, files["cpu_only"], files["small"] if "small" in files else files["h100"])
    assert 'id="machine-A"' in page
    assert 'id="machine-B"' in page
    assert {row[row.index("<td>") + 4] for row in rows_of(page)} == {"A", "B"}
    assert '<select name="file"' in page


def test_the_same_files_make_the_same_page(files, tmp_path):
    first = written(tmp_path, files["cpu_only"])
    assert written(tmp_path, files["cpu_only"]) == first


def test_what_cannot_be_written_is_a_sentence(small, tmp_path, capsys):
    (tmp_path / "taken").mkdir()
    assert main(["report", str(small), "-o", str(tmp_path / "taken")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "no.json"), "-o", str(tmp_path / "x.html")]) == 2
    assert not (tmp_path / "x.html").exists()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory):
    """A full run's file."""
    return synthetic_full.full().write(tmp_path_factory.mktemp("full") / "result.json")


def test_a_full_run_of_5000_visits_makes_a_small_page_soon(full, tmp_path):
    before = _cpu_s()
    page = written(tmp_path, full)
    # Ten seconds on two processors, twice over: other work on the machine counts less against this than the
    # clock would, but cores that share their caches and pipelines take up to twice their time.
    assert _cpu_s() - before <= 2 * 20
    assert len(page.encode()) <= 5e6
    assert len(rows_of(page)) == len(json.loads(full.read_text())["benchmarks"])


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
