"""What a run shows on a terminal, from 40 to 200 columns, and to a file."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from command_lines import PROGRAM

pytestmark = pytest.mark.skipif(not PROGRAM, reason="GRAINSCOPE_PROGRAM names no program")

FLAGS = ["--preset=smoke", "--benchmark_filter=^(host/(memcpy|latency|malloc)|model/bfs|transfer/memcpy)/"]
ESCAPE = re.compile(r"\033\[[0-9]*m")
WIPE = "\r\033[K"


def on_a_terminal(columns: int, flags: list[str], variables: dict[str, str]) -> str:
    """Both streams of the program, as a terminal that wide gets them."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {
        name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "LC_ALL")
    }
    process = subprocess.Popen(
        [PROGRAM, *flags], stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, env=kept | variables
    )
    os.close(writer)
    text = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # a terminal without a writer
            break
        if not part:
            break
        text += part
    os.close(reader)
    assert process.wait() == 0
    return text.decode()


def lines_on_screen(text: str) -> list[str]:
    """Everything that stands on a line at any time, without colours."""
    return [ESCAPE.sub("", line) for line in re.split(r"\r\033\[K|\r?\n", text)]


@pytest.mark.parametrize("columns", [40, 80, 160, 200])
def test_no_line_is_wider_than_the_terminal(columns):
    text = on_a_terminal(columns, FLAGS, {"LANG": "C.UTF-8"})
    lines = lines_on_screen(text)
    assert [line for line in lines if len(line) > columns] == []
    assert sum(line.startswith("host/memcpy") for line in lines) >= 1
    progress = [line for line in lines if " left, visit " in line]
    assert re.match(r"\d+ %, \d+ s left, visit 1 of \d+: ", progress[0])
    # The line is wiped before anything else is written, and none is left behind.
    assert all(line + WIPE in text for line in progress)
    assert "±" in text
    assert "GB/s" in text
    assert "MODELLED, NOT MEASURED" in text
    assert text.count("cases skipped: ") == 1


def test_colours_go_with_no_color_and_letters_with_the_locale():
    text = on_a_terminal(80, FLAGS, {"LANG": "C", "NO_COLOR": "1"})
    assert ESCAPE.search(text) is None
    assert text.isascii()
    assert "+-" in text


def test_columns_overrides_the_terminal():
    text = on_a_terminal(200, FLAGS, {"LANG": "C.UTF-8", "COLUMNS": "60"})
    assert max(map(len, lines_on_screen(text))) <= 60


def test_a_file_gets_whole_lines_and_a_line_a_case(tmp_path: Path):
    run = subprocess.run(
        [PROGRAM, *FLAGS, f"--out={tmp_path / 'run'}"], capture_output=True, text=True, check=True,
        env={**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert "\r" not in run.stdout + run.stderr
    assert "\033" not in run.stdout + run.stderr
    ok = int(re.search(r"grainscope: (\d+) ok", run.stderr)[1])
    assert len(re.findall(r"^  .* (?:[mnµ]s|GB/s)\b", run.stdout, re.MULTILINE)) == ok
    assert f"next: grainscope-report summary {tmp_path / 'run'}/result.json" in " ".join(run.stdout.split())
    assert run.stderr.splitlines()[-1].endswith("run/result.json")


def test_whole_names_are_there_where_they_are_asked_for():
    run = subprocess.run([PROGRAM, *FLAGS, "--v=1"], capture_output=True, text=True, check=True)
    assert re.search(r"^  host/memcpy/from_node:\d+/\S+/bytes:65536 ", run.stdout, re.MULTILINE)
