"""The report in a real browser: a quiet console, nothing from a network, sorting and filtering work."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from grainscope_report import reader
from grainscope_report.cli import main
from planted import SITE, pinned_copy
from synthetic import MIB, File

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE_S = 60.0


def find_browser() -> str | None:
    """The browser's program, or the one that GRAINSCOPE_BROWSER names."""
    return os.environ.get("GRAINSCOPE_BROWSER") or next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One tab. What it logged, threw and asked of the network is kept."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == number:
                assert "error" not in said, f"{method}: {said['error']}"
                return said["result"]
            self.events.append(said)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def open(self, page: Path, width: int = 1280, height: int = 900, mobile: bool = False) -> None:
        """Shows a file and waits until it is there."""
        self.size(width, height, mobile)
        self.events.clear()
        self.ask("Page.navigate", url=page.resolve().as_uri())
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")

    def size(self, width: int, height: int, mobile: bool = False) -> None:
        """Changes the size of the window, in CSS pixels."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=mobile,
        )  # fmt: skip

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        said = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def until(self, expression: str) -> None:
        """Waits until the expression is true."""
        end = time.monotonic() + PATIENCE_S
        while not self.run(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Clicks an element where it is, as a finger would; scrolls to it before."""
        place = self.run(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
            " one.scrollIntoView({block: 'center', inline: 'center'});"
            " const box = one.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask(
                "Input.dispatchMouseEvent",
                type=kind, x=place[0], y=place[1], button="left", clickCount=1,
            )  # fmt: skip

    def type(self, selector: str, text: str) -> None:
        """Types into a field, in place of what is there."""
        self.run(f"document.querySelector({json.dumps(selector)}).select()")
        self.click(selector)
        self.run(f"document.querySelector({json.dumps(selector)}).select()")
        self.ask("Input.insertText", text=text)

    def complaints(self) -> list[str]:
        """What the page logged as an error or warning, and what it threw."""
        found = []
        for event in self.events:
            said = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(said["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded":
                found.append(said["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and said["type"] != "log":
                found.append(str(said["args"]))
        return found

    def requests(self) -> list[str]:
        """What was asked for, the page itself among it."""
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def picture(self, path: Path, whole: bool = False) -> None:
        """Saves what is seen, or the whole page, as PNG."""
        said = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(said["data"]))

    def printed(self, path: Path) -> None:
        """Saves the page as it is printed on A4, as PDF."""
        said = self.ask("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(said["data"]))


@contextmanager
def started_browser(program: str) -> Iterator[Browser]:
    """A browser with a profile of its own that ends with the block."""
    to_read, to_write = os.pipe(), os.pipe()

    def descriptors() -> None:
        # Chromium reads commands from 3 and writes answers to 4.
        ends = os.dup(to_read[0]), os.dup(to_write[1])
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read[0])
        os.close(to_write[1])
        try:
            yield Browser(to_write[0], to_read[1])
        finally:
            process.kill()
            process.wait()
            os.close(to_read[1])
            os.close(to_write[0])


PROGRAM = find_browser()
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
    with started_browser(PROGRAM) as one:
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
