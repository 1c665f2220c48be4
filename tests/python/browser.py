"""A headless Chromium, driven over a pipe by the DevTools protocol: what a page does, seen from outside."""

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

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE_S = 60.0


def find() -> str | None:
    """The browser's program, or the one that GRAINSCOPE_BROWSER names."""
    return os.environ.get("GRAINSCOPE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


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
def started(program: str) -> Iterator[Browser]:
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
