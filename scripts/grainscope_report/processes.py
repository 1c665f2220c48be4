"""Processes that work for a command, and what an interrupt does to them."""

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def starting() -> Iterator[None]:
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
