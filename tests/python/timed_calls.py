"""Whether two traces of CUDA calls have the same timed regions.

  python tests/python/timed_calls.py OLD.calls NEW.calls

A trace is what tests/gpu/call_trace.cpp writes. A timed region begins where a gate is launched, or an event
recorded behind none, and ends where the host waits. How often one comes, and how many equal calls stand in a
row where a clock decides that, says nothing; so the sets of different regions are compared. Exit status 1
where they differ.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

Region = tuple[str, ...]
GATE, RECORD = "spin_until_open", "cudaEventRecord"
WAITS = ("cudaEventSynchronize", "cudaEventQuery", "cudaStreamSynchronize", "cudaDeviceSynchronize")
MOST_ALIKE = 6  # of equal calls in a row


def calls(lines: Iterator[str]) -> list[str]:
    """The calls of a trace; what repeats stands twice, so that regions across its ends are seen."""
    found: list[str] = []
    for line in map(str.strip, lines):
        if line.startswith("repeat"):
            found += calls(lines) * 2
        elif line == "end":
            break
        elif times := re.fullmatch(r"(.*) x (\d+)", line):
            found += [times[1]] * min(int(times[2]), MOST_ALIKE)
        else:
            found.append(line)
    return found


def regions(trace: str) -> set[Region]:
    """The different timed regions of a trace."""
    found: set[Region] = set()
    region: list[str] | None = None
    for call in calls(iter(trace.splitlines())):
        if GATE in call or (region is None and call.startswith(RECORD)):
            region = [call]
        elif region is not None:
            region.append(call)
            if call.startswith(WAITS):
                found.add(tuple(region))
                region = None
    return found


def main(argv: list[str]) -> int:
    """Prints the regions that one trace alone has."""
    old, new = (regions(Path(path).read_text()) for path in argv)
    for mark, alone in (("-", old - new), ("+", new - old)):
        for region in sorted(alone):
            print(mark, " | ".join(region))
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
