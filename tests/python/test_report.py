"""The HTML report: what it says, in which order, and that texts of a file are no more than text."""

import csv
import html
import io
import json
import re
import resource
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markupsafe import escape

import synthetic_busy
from grainscope_report import reader
from grainscope_report.cli import main
from grainscope_report.drawing import render, together
from grainscope_report.figures import csv_table
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.findings import Answer
from grainscope_report.page import parts
from grainscope_report.writing import for_terminal, in_csv, in_markdown
from planted import ENTRIES, SITE, pinned_copy, spoiled, table
from synthetic import KIB, MIB, File

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
    assert re.search(r"report\.html: 3 rows, \d+\.\d KB$", capsys.readouterr().out, re.M)


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


def test_questions_without_an_answer_are_named_as_they_are_written(small, tmp_path):
    said = html.unescape(written(tmp_path, small))
    assert ", which rows in the GPU's memory, when hot rows pay, " in said


def test_a_file_without_rows_makes_a_page(tmp_path):
    page = written(tmp_path, File().write(tmp_path / "empty" / "result.json"))
    assert rows_of(page) == []
    assert re.search(r"<dt>Run<dd>([^<]*[^,\s])\s*<", page)
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
    return synthetic_busy.full().write(tmp_path_factory.mktemp("full") / "result.json")


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


PARTS = parts.template().module
MARKS = (
    "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' viewBox='0 0 9 9'>"
)


def small(inside: str) -> str:
    """A picture made small under the name `f1`."""
    return parts.inline(f"{MARKS}{inside}</svg>".encode(), "f1", "Figure 1")


def test_styles_become_classes_and_numbers_lose_digits():
    path = "<path d='M 1.23456 2.00001 \nL -0.00012 0.5 \n' style='fill: none; stroke: #000'/>"
    made = small(path * 2)
    assert made.count('<path d="M1.23 2L-0 .5" class="f1c0" />') == 2
    assert made.count(".f1c0{fill:none;stroke:#000}") == 1


def test_names_within_a_picture_are_its_own_and_references_follow():
    made = small(
        "<g id='figure_1'><defs><pattern id='h1'/><clipPath id='p1'/><path id='m1'/></defs>"
        "<use xlink:href='#m1' x='1.000' y='2'/><path clip-path='url(#p1)' style='fill: url(#h1)'/></g>"
    )
    ids = dict(re.findall(r'<(\w+) id="(\w+)"', made))
    assert len(set(ids.values())) == 3
    assert all(name.startswith("f1i") for name in ids.values())
    assert f'<use href="#{ids["path"]}" x="1" y="2" />' in made
    assert f'clip-path="url(#{ids["clipPath"]})"' in made
    assert f"fill:url(#{ids['pattern']})" in made
    assert "figure_1" not in made


def test_text_stays_text_and_is_escaped():
    style = "font-size: 6px; font-family: 'DejaVu Sans'"
    made = small(f"<text style=\"{style}\" transform='rotate(-0 1 2)'>a &lt; b</text>")
    assert '<text class="f1c0">a &lt; b</text>' in made
    assert "font-family" not in made


@pytest.mark.parametrize("name", ["h100", "traversing", "crowded"])
def test_every_reference_of_every_picture_is_met_once(show, name):
    shown = show(name)
    made = [one for entry in FIGURES if (one := figure(entry, shown)).rows]
    with parts.drawing(made) as drawn:
        together = "".join(drawn().values())
    ids = Counter(re.findall(r'\bid="([^"]+)"', together))
    asked = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', together))
    assert max(ids.values()) == 1
    assert {one or two for one, two in asked} <= ids.keys()
    assert "http" not in together


def test_pictures_are_the_same_drawn_by_one_process_and_by_several(show, monkeypatch):
    made = [figure(ENTRIES[name], show("h100")) for name in ("2", "5")]
    with parts.drawing(made) as drawn:
        several = drawn()
    monkeypatch.setattr(together, "cpus", lambda: 1)
    with parts.drawing(made) as drawn:
        assert drawn() == several


def test_what_is_taller_than_a_sheet_is_drawn_in_parts_no_row_lost(show):
    made = figure(ENTRIES["9"], show("traversing"))
    assert render.height(made) > parts.TALLEST_IN
    with parts.drawing([made]) as drawn:
        picture = drawn()["9"]
    heights = [float(box.split()[3]) / 72 for box in re.findall(r'viewBox="([^"]+)"', picture)]
    assert len(heights) > 1
    assert max(heights) <= parts.TALLEST_IN
    for panel in made.panels:
        assert escape(panel.title.split()[0]) in picture


def test_the_table_of_curves_has_a_line_a_size_and_a_column_a_curve(show):
    made = figure(ENTRIES["5"], show("h100"))
    text = parts.tables(made)
    panel = made.panels[0]
    first = text[text.index("<table>") : text.index("</table>")]
    names = re.findall(r"<th class=\"n\">([^<]+)", first)
    assert names == ["at", *(curve.name for curve in panel.curves)]
    sizes = {point.x for curve in panel.curves for point in curve.points}
    assert first.count("<tr>") == 1 + len(sizes)
    assert "copy peak 54.7 GB/s" in text


def test_values_of_a_wide_interval_are_marked(show):
    text = parts.tables(figure(ENTRIES["2"], show("h100")))
    assert re.search(r"\d\]‡", text)
    assert "‡ bimodal" in text


def test_of_several_files_columns_say_whose_they_are(show):
    text = parts.tables(figure(ENTRIES["5"], show("h100", "two_nodes")))
    assert ">A: pinned copy" in text
    assert ">B: pinned copy" in text


def test_bars_in_groups_have_the_names_of_group_and_category(show):
    text = parts.tables(figure(ENTRIES["8"], show("modelling")))
    assert "<td>kron24, naive<td" in text
    assert "<td>power, aligned<td" in text


def test_times_have_their_unit(show):
    text = parts.tables(figure(ENTRIES["t"], show("busy")))
    assert re.search(r"<td>cudaMalloc<td>[^<]+<td>[\d.]+ µs \[[\d.]+ µs, [\d.]+ µs\]", text)


@pytest.mark.parametrize("entry", FIGURES, ids=lambda entry: entry.id)
def test_every_number_of_every_figure_is_in_its_table(show, entry):
    for name in ("h100", "linked", "crowded", "traversing"):
        made = figure(entry, show(name))
        if made.rows:
            text = parts.tables(made)
            assert text.count("<tr>") > len(made.panels)
            assert "nan" not in text


def test_an_answer_has_a_sentence_a_line_and_folds_what_is_beyond_the_third():
    said = tuple(f"Sentence {number}." for number in range(5))
    assert PARTS.sentences(Answer("Which", said[:3])) == "".join(f"<p>{one}</p>" for one in said[:3])
    whole = PARTS.sentences(Answer("Which", said))
    shown, folded = whole.split("<details><summary>2 more</summary>")
    assert shown == "".join(f"<p>{one}</p>" for one in said[:3])
    assert folded == "<p>Sentence 3.</p><p>Sentence 4.</p></details>"


def test_what_comes_from_a_file_means_itself():
    hostile = "<script>alert('x')</script> & \"y\""
    for made in (
        PARTS.paragraph(hostile),
        PARTS.listed([hostile]),
        PARTS.definitions([(hostile, hostile)]),
        PARTS.folded(hostile, ""),
        PARTS.table(parts.Table([hostile], [[hostile]], caption=hostile)),
    ):
        assert "<script" not in made
        assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &#34;y&#34;" in made
    assert parts.spoken("run `a<b` now") == "run <code>a&lt;b</code> now"


TERMINAL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe"
MARKUP = "<script>alert(1)</script> [click](javascript:alert(1))\n# heading | cell"
FORMULAS = ('=HYPERLINK("http://x")', "+1", "-1+2", "@SUM(A1)")


def spoil(path: Path, change: Callable[[dict], None]) -> str:
    """The file with a change in it."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return str(path)


def say_everywhere(text: str) -> Callable[[dict], None]:
    """Puts a text where a file names a machine, explains a row or warns."""

    def change(document: dict) -> None:
        context = document["context"]
        context["host_name"] = f"host {text}"
        context["environment"]["cpu"]["model"] = f"cpu {text}"
        context["environment"]["driver"]["version"] = f"driver {text}"
        for warning in ("finding", "effect", "remedy"):
            context["environment"]["warnings"] = [
                {"id": "x", "severity": "severe", "finding": "f", "effect": "e", "remedy": "r", warning: text}
            ]
        for row in document["benchmarks"]:
            if "reason" in row:
                row["reason"] = f"because {text}"

    return change


# What XML cannot hold, of which an SVG is made, beside what it can.
ODD_LETTERS = "\x01\x0b\ufffe \u4e00"


@pytest.mark.filterwarnings("ignore:Glyph")
def test_pictures_are_whole_whatever_letters_a_machine_s_names_have(small, tmp_path):
    def named(document: dict) -> None:
        say_everywhere(ODD_LETTERS)(document)
        document["context"]["environment"]["gpus"][0]["name"] = f"GPU {ODD_LETTERS}"

    path = spoil(small, named)
    assert "<svg" in written(tmp_path, path)
    assert main(["plot", path, "-o", str(tmp_path / "plots"), "--format", "svg"]) == 0
    pictures = [*(tmp_path / "plots").glob("*.svg")]
    assert pictures
    for picture in pictures:
        ElementTree.parse(picture)


COMMANDS = (
    ["summary"], ["list"], ["validate"], ["export", "csv"], ["export", "md"], ["list", "--json"],
    ["summary", "--json"],
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_sends_control_letters_to_a_terminal(small, capsys, command):
    path = spoil(small, say_everywhere(TERMINAL))
    main([*command, path])
    shown = "".join(capsys.readouterr())
    assert not [letter for letter in "\x1b\x07\x9b\u202e" if letter in shown]


@pytest.mark.parametrize("command", [["compare"], ["env", "diff"]], ids=" ".join)
def test_nor_does_one_that_takes_two(small, tmp_path, capsys, command):
    other = tmp_path / "other.json"
    other.write_text(small.read_text())
    main([*command, spoil(small, say_everywhere(TERMINAL)), str(other)])
    shown = "".join(capsys.readouterr())
    assert shown
    assert not [letter for letter in "\x1b\x07\x9b\u202e" if letter in shown]


def test_a_message_about_a_bad_file_neither(tmp_path, capsys):
    path = tmp_path / "\x1b[2J.json"
    main(["summary", str(path)])
    err = capsys.readouterr().err
    assert "\\u001b[2J.json does not exist" in err
    assert "\x1b" not in err


def test_json_stays_json_with_the_same_text(small, capsys):
    path = spoil(small, say_everywhere(TERMINAL))
    main(["summary", "--json", path])
    assert json.loads(capsys.readouterr().out)


def test_colours_of_our_own_stay_where_they_are_wanted():
    assert for_terminal("\x1b[31mred\x1b[0m \x1b[2J", colour=True) == "\x1b[31mred\x1b[0m \\u001b[2J"
    assert for_terminal("\x1b[31mred", colour=False) == "\\u001b[31mred"
    assert for_terminal("a\tb\nü×→") == "a\tb\nü×→"


def test_markdown_has_no_markup_of_a_file(small, capsys):
    path = spoil(small, say_everywhere(MARKUP))
    assert main(["export", "md", path]) == 0
    shown = capsys.readouterr().out
    assert "because &lt;script>" in shown
    assert "<script" not in shown
    assert "](javascript" not in shown
    assert "\n# heading" not in shown
    assert in_markdown("a|b") == "a\\|b"


def test_a_spreadsheet_gets_no_formula(small, capsys):
    def change(document: dict) -> None:
        for formula, row in zip(FORMULAS, document["benchmarks"], strict=False):
            row["case"]["family"] = formula
            row["case"]["axes"][formula] = formula
            if "reason" in row:
                row["reason"] = formula

    path = spoil(small, change)
    assert main(["export", "csv", path]) == 0
    head, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert rows
    begins = {cell[:1] for line in (head, *rows) for cell in line}
    assert not begins & set("=+-@")
    assert "'" + FORMULAS[0] in rows[0]


def test_numbers_stay_numbers_in_a_spreadsheet():
    assert in_csv(-0.5) == -0.5
    assert in_csv("1e-6") == "1e-6"
    assert in_csv(None) is None


def test_the_table_of_a_figure_has_room_for_any_text():
    long = "x" * 200_000
    assert parts._read(f"panel,series\n{long},a\n") == [{"panel": long, "series": "a"}]


def test_a_text_without_end_is_shown_in_a_report(small, tmp_path):
    def change(document: dict) -> None:
        for row in document["benchmarks"]:
            row["case"]["axes"]["path"] = "x" * 200_000
        document["context"]["host_name"] = "y" * 200_000

    out = tmp_path / "page.html"
    assert main(["report", spoil(small, change), "--out", str(out)]) == 0
    assert out.is_file()


def test_nor_does_the_table_of_a_figure(tmp_path):
    files = []
    for name in FORMULAS:
        file = File(gpus=(name,), host=name)
        file.link("host_to_gpu", 55.0)
        for size in (KIB, MIB, 16 * MIB):
            file.add("transfer/memcpy", pinned_copy(size), SITE, size / 50e9)
        files.append(file)
    rows = table(tmp_path, "2", *files)
    begins = {cell[:1] for row in rows for cell in row.values() if cell}
    assert not begins & set("=+-@")
    assert {f"'{name} ({name})" for name in FORMULAS} <= {row["machine"] for row in rows}
    # A figure's own numbers are no texts.
    assert csv_table._cell(-0.5) == "-0.5"
