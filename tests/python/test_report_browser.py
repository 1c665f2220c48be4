"""The report in a real browser: a quiet console, nothing from a network, sorting and filtering work."""

from pathlib import Path

import pytest

import browser
from browser import Browser
from grainscope_report import reader
from grainscope_report.cli import main
from planted import SITE, pinned_copy
from synthetic import MIB, File

PROGRAM = browser.find()
pytestmark = [
    pytest.mark.skipif(
        PROGRAM is None,
        reason="no Chromium here: apt-get install chromium, or name one in GRAINSCOPE_BROWSER",
    ),
    # One worker makes the pages and starts the browser.
    pytest.mark.xdist_group("report in a browser"),
]
SHOWN = "[...document.querySelectorAll('table.rows tbody tr')].filter((row) => row.offsetHeight)"
NAMES = f"{SHOWN}.map((row) => row.querySelector('th').textContent)"
COUNT = "document.querySelector('.count').textContent"


def column(at: int) -> str:
    """The numbers of a column of the rows that are shown, counted from the case's."""
    return f"{SHOWN}.map((row) => Number(row.cells[{at}].dataset.v))"


@pytest.fixture(scope="module")
def tab():
    """One browser for all tests."""
    with browser.started(PROGRAM) as one:
        yield one


@pytest.fixture(scope="module")
def pages(files, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports: of a machine with everything, of two files, of a few rows, of skipped ones alone."""
    root = tmp_path_factory.mktemp("pages")
    few = File(gpus=("NVIDIA H100 80GB HBM3",))
    few.link("host_to_gpu", 54.7)
    for order, time_s in enumerate((30e-6, 10e-6, 20e-6)):
        few.add("transfer/memcpy", pinned_copy(MIB << order), SITE, time_s)
    few.lose("skipped", "needs (two) GPUs", "transfer/peer", {"method": "copy_engine", "bytes": MIB}, SITE)
    few.lose("failed", "came back wrong", "transfer/duplex", {"method": "pinned", "bytes": MIB}, SITE)
    lacking = File()
    for order in range(4):
        reason = "no driver" if order == 3 else f"{1 << order} pages are needed: echo {1 << order}"
        lacking.lose("skipped", reason, "call", {"what": "host_register", "bytes": MIB << order}, {"numa": 0})
    told = {"h100": [files["h100"]], "two": [files["h100"], files["modelling"]]}
    told["few"] = [few.write(root / "few" / "result.json")]
    told["lacking"] = [lacking.write(root / "lacking" / "result.json")]
    for name, paths in told.items():
        assert main(["report", *map(str, paths), "-o", str(root / f"{name}.html")]) == 0
    return {name: root / f"{name}.html" for name in told}


@pytest.fixture
def few(tab: Browser, pages) -> Browser:
    """The tab with the page of five rows."""
    tab.open(pages["few"])
    return tab


@pytest.mark.parametrize("name", ["h100", "two", "few"])
@pytest.mark.parametrize(("width", "mobile"), [(1280, False), (390, True)])
def test_a_page_is_quiet_alone_and_no_wider_than_its_window(tab, pages, name, width, mobile):
    tab.open(pages[name], width=width, mobile=mobile)
    tab.click("#rows th button")
    assert tab.complaints() == []
    assert tab.requests() == [pages[name].resolve().as_uri()]
    assert tab.run("document.documentElement.scrollWidth") <= width


def test_a_script_that_is_not_the_page_s_own_does_not_run(few):
    few.run(
        "const one = document.createElement('script'); one.textContent = 'hit = 1'; document.body.append(one)"
    )
    assert few.run("typeof hit") == "undefined"


def test_a_click_sorts_up_another_down_and_a_third_restores(few):
    filed = few.run(NAMES)
    assert few.run(f"{column(1)}.slice(1, 4)") == [3e-05, 1e-05, 2e-05]
    head = "table.rows thead th:nth-child(2)"
    few.click(f"{head} button")
    assert few.run(f"{column(1)}.slice(0, 3)") == [1e-05, 2e-05, 3e-05]
    assert few.run(f"document.querySelector('{head}').getAttribute('aria-sort')") == "ascending"
    few.click(f"{head} button")
    assert few.run(f"{column(1)}.slice(0, 3)") == [3e-05, 2e-05, 1e-05]
    few.click(f"{head} button")
    assert few.run(NAMES) == filed
    assert few.run(f"document.querySelector('{head}').getAttribute('aria-sort')") is None


def test_names_sort_by_the_numbers_in_them(few):
    few.click("table.rows thead th:nth-child(1) button")
    sizes = [int(name.rpartition(":")[2]) for name in few.run(NAMES) if "memcpy" in name]
    assert sizes == [MIB, 2 * MIB, 4 * MIB]


def test_words_and_regular_expressions_filter(few):
    few.type("input[type=search]", "memcpy bytes:(1|2)\\d{6}$")
    few.until(f"{COUNT} === '2 of 5 rows'")
    assert len(few.run(NAMES)) == 2
    few.type("input[type=search]", "needs (two")
    few.until(f"{COUNT} === '1 of 5 rows'")
    few.type("input[type=search]", "nothing like it")
    few.until(f"{COUNT} === '0 of 5 rows'")
    few.click("button[type=reset]")
    few.until(f"{COUNT} === '5 rows'")


def test_choices_filter_by_family_and_status(few):
    choose(few, "status", "failed")
    assert few.run(COUNT) == "1 of 5 rows"
    assert "came back wrong" in few.run(f"{SHOWN}[0].textContent")
    choose(few, "status", "")
    choose(few, "family", "transfer/memcpy")
    assert few.run(COUNT) == "3 of 5 rows"


def choose(tab: Browser, name: str, value: str) -> None:
    tab.run(
        f"(() => {{ const one = document.querySelector('select[name={name}]'); one.value = '{value}';"
        " one.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def test_links_lead_to_the_rows_that_they_are_about(few):
    few.click("#f2 .its-rows a")
    few.until(f"{COUNT} === 'figure 2: 3 of 5 rows'")
    few.click("#skips tr.skipped a")
    few.until(f"{COUNT} === 'skipped, needs (two) GPUs: 1 of 5 rows'")


def test_a_link_of_a_reason_leads_to_all_rows_that_it_is_told_of(tab, pages):
    tab.open(pages["lacking"])
    tab.click("#skips tr.skipped a")
    says = "skipped, 4 pages are needed: echo 4 (the largest of 3 such)"
    tab.until(f"{COUNT} === '{says}: 3 of 4 rows'")


def test_a_long_table_begins_short_and_grows_on_demand(tab, pages, files):
    tab.open(pages["h100"])
    rows = reader.read(files["h100"]).rows
    assert tab.run(f"{NAMES}.length") == 100
    tab.click("#all")
    tab.until(f"{NAMES}.length === {len(rows)}")
    assert sorted(tab.run(NAMES)) == sorted(row.name for row in rows)


def test_a_sort_of_many_rows_takes_all_of_them(tab, pages, files):
    tab.open(pages["h100"])
    tab.click("table.rows thead th:nth-child(5) button")
    tab.click("table.rows thead th:nth-child(5) button")
    best = sorted(
        (row.bandwidth_gb_s for row in reader.read(files["h100"]).rows if row.bandwidth_gb_s), reverse=True
    )
    assert tab.run(column(4))[:100] == pytest.approx(best[:100], rel=1e-4)


def test_of_several_files_rows_are_chosen_by_file_and_label(tab, pages):
    tab.open(pages["two"])
    choose(tab, "file", "B")
    choose(tab, "label", "modelled")
    tab.until(f"{SHOWN}.length === 100")
    assert set(tab.run(f"{SHOWN}.map((row) => row.cells[0].textContent)")) == {"B"}


def test_every_figure_is_seen_with_its_texts(tab, pages):
    tab.open(pages["h100"])
    pictures = "[...document.querySelectorAll('.picture svg')]"
    sizes = tab.run(f"{pictures}.map((one) => one.getBoundingClientRect().height)")
    assert len(sizes) >= 6
    assert min(sizes) > 100
    outside = tab.run(
        "(() => { const box = (one) => one.getBoundingClientRect();"
        f" return {pictures}.flatMap((one) => [...one.querySelectorAll('text')].filter((text) =>"
        " box(text).left < box(one).left - 1 || box(text).right > box(one).right + 1))"
        ".map((text) => text.textContent); })()"
    )
    assert outside == []


def test_without_scripts_every_row_is_shown(tab, pages):
    tab.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.open(pages["few"])
        assert len(tab.run(NAMES)) == 5
        assert tab.run("document.querySelector('form').hidden")
    finally:
        tab.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_in_print_the_page_has_all_but_the_controls(tab, pages, tmp_path):
    tab.open(pages["few"])
    tab.ask("Emulation.setEmulatedMedia", media="print")
    try:
        hidden = tab.run(
            "['nav', 'form', '.its-rows'].map((one) => getComputedStyle(document.querySelector(one)).display)"
        )
        assert hidden == ["none"] * 3
        assert len(tab.run(NAMES)) == 5
    finally:
        tab.ask("Emulation.setEmulatedMedia", media="")
    tab.printed(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
