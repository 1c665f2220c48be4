"""Exit statuses, the exception that becomes a sentence, and what an interrupt does to workers."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # to read it takes as long as half of a small file's screen
    from concurrent.futures import ProcessPoolExecutor

EXIT_OK = 0
EXIT_FOUND = 1
EXIT_USAGE = 2
EXIT_NOT_COMPARABLE = 3
EXIT_INCONCLUSIVE = 4
EXIT_UNDECIDED = 5


class ReportError(Exception):
    """What was found in which file, and what to do about it, in one sentence; exit status 2."""

    status = EXIT_USAGE


class NotComparableError(ReportError):
    """Files that cannot be compared or judged; exit status 3."""

    status = EXIT_NOT_COMPARABLE


@contextmanager
def starting_processes() -> Iterator[None]:
    """Processes that are started within do not see Ctrl-C: their parent does, and says so once."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def no_further_work(pool: ProcessPoolExecutor) -> Iterator[None]:
    """Where the work of a pool ends early, what has not begun is left."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
