"""The pieces of the HTML report: its pictures, its tables of figures, what goes into HTML."""

import re
from collections import Counter

import pytest
from markupsafe import escape

from grainscope_report.drawing import render
from grainscope_report.figures.table import FIGURES, figure
from grainscope_report.fits.everything import Answer
from grainscope_report.page import pictures, tables
from planted import ENTRIES

PARTS = tables.template().module
MARKS = (
    "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' viewBox='0 0 9 9'>"
)


def small(inside: str) -> str:
    """A picture made small under the name `f1`."""
    return pictures.inline(f"{MARKS}{inside}</svg>".encode(), "f1", "Figure 1")


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
    with pictures.drawing(made) as drawn:
        together = "".join(drawn().values())
    ids = Counter(re.findall(r'\bid="([^"]+)"', together))
    asked = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', together))
    assert max(ids.values()) == 1
    assert {one or two for one, two in asked} <= ids.keys()
    assert "http" not in together


def test_pictures_are_the_same_drawn_by_one_process_and_by_several(show, monkeypatch):
    made = [figure(ENTRIES[name], show("h100")) for name in ("2", "5")]
    with pictures.drawing(made) as drawn:
        several = drawn()
    monkeypatch.setattr(pictures, "_cpus", lambda: 1)
    with pictures.drawing(made) as drawn:
        assert drawn() == several


def test_what_is_taller_than_a_sheet_is_drawn_in_parts_no_row_lost(show):
    made = figure(ENTRIES["9"], show("traversing"))
    assert render.height(made) > pictures.TALLEST_IN
    with pictures.drawing([made]) as drawn:
        picture = drawn()["9"]
    heights = [float(box.split()[3]) / 72 for box in re.findall(r'viewBox="([^"]+)"', picture)]
    assert len(heights) > 1
    assert max(heights) <= pictures.TALLEST_IN
    for panel in made.panels:
        assert escape(panel.title.split()[0]) in picture


def test_the_table_of_curves_has_a_line_a_size_and_a_column_a_curve(show):
    made = figure(ENTRIES["5"], show("h100"))
    text = tables.tables(made)
    panel = made.panels[0]
    first = text[text.index("<table>") : text.index("</table>")]
    names = re.findall(r"<th class=\"n\">([^<]+)", first)
    assert names == ["at", *(curve.name for curve in panel.curves)]
    sizes = {point.x for curve in panel.curves for point in curve.points}
    assert first.count("<tr>") == 1 + len(sizes)
    assert "copy peak 54.7 GB/s" in text


def test_values_of_a_wide_interval_are_marked(show):
    text = tables.tables(figure(ENTRIES["2"], show("h100")))
    assert re.search(r"\d\]‡", text)
    assert "‡ bimodal" in text


def test_of_several_files_columns_say_whose_they_are(show):
    text = tables.tables(figure(ENTRIES["5"], show("h100", "two_nodes")))
    assert ">A: pinned copy" in text
    assert ">B: pinned copy" in text


def test_bars_in_groups_have_the_names_of_group_and_category(show):
    text = tables.tables(figure(ENTRIES["8"], show("modelling")))
    assert "<td>kron24, naive<td" in text
    assert "<td>power, aligned<td" in text


def test_times_have_their_unit(show):
    text = tables.tables(figure(ENTRIES["t"], show("busy")))
    assert re.search(r"<td>cudaMalloc<td>[^<]+<td>[\d.]+ µs \[[\d.]+ µs, [\d.]+ µs\]", text)


@pytest.mark.parametrize("entry", FIGURES, ids=lambda entry: entry.id)
def test_every_number_of_every_figure_is_in_its_table(show, entry):
    for name in ("h100", "linked", "crowded", "traversing"):
        made = figure(entry, show(name))
        if made.rows:
            text = tables.tables(made)
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
        PARTS.table(tables.Table([hostile], [[hostile]], caption=hostile)),
    ):
        assert "<script" not in made
        assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &#34;y&#34;" in made
    assert tables.spoken("run `a<b` now") == "run <code>a&lt;b</code> now"
