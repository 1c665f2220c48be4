"""Command lines of the program, run in a folder of a test's own."""

import functools
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

PROGRAM = os.environ.get("GRAINSCOPE_PROGRAM")

# Two cases on one thread with small buffers: some tens of milliseconds.
FEW = "--preset=smoke '--benchmark_filter=^host/memcpy/from_node:0/to_node:0/flush:off/threads:1/'"
# Short cases, half a second of them; none that waits for a quiet machine.
MANY = (
    "--preset=smoke --benchmark_repetitions=40 "
    "'--benchmark_filter=^host/(memcpy/.*threads:1/|latency/.*pages:[0-9]+KiB)'"
)


def run(line: str, folder: Path) -> tuple[str, str]:
    """Status and standard error of a command line; `# SIGNAL` at its end stops it once it measures."""
    words, _, name = line.partition(" # ")
    words, _, output = words.replace("FOLDER", str(folder)).partition(" >")
    arguments = shlex.split(words)
    with Path(output or os.devnull).open("w") as out:
        # In the background a shell has signals ignored, and what it starts inherits that. Else there is
        # nothing to do: without it a large process starts another much sooner.
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL) if ignored else None
        child = subprocess.Popen(
            [PROGRAM, *arguments], stdout=out, stderr=subprocess.PIPE, text=True, preexec_fn=heed
        )
        if name:
            wait_for_rows(Path(arguments[-1].removeprefix("--out=")) / "journal.jsonl")
            child.send_signal(getattr(signal, name))
        _, said = child.communicate(timeout=120)
    status = child.returncode
    return (str(status) if status >= 0 else signal.Signals(-status).name), said


def wait_for_rows(journal: Path) -> None:
    """Until the journal holds two finished cases."""
    for _ in range(10_000):
        if journal.exists() and journal.read_bytes().count(b'\n{"rows":') >= 2:
            return
        time.sleep(0.001)
    raise AssertionError(f"{journal} holds no finished case")
