"""Figures that are drawn several at a time where there are several CPUs."""

import gc
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from grainscope_report import errors
from grainscope_report.errors import ReportError

T, R = TypeVar("T"), TypeVar("R")
# What child processes do, and with what: they inherit both and need no copy of the rows.
_WORK: list[tuple[Callable[[Any], Any], Sequence[Any]]] = []


@contextmanager
def drawing(work: Callable[[T], R], things: Sequence[T]) -> Iterator[Iterator[R]]:
    """Begins to do `work` with each thing, by a process a CPU; gives the results in the order of things."""
    processes = min(cpus(), len(things))
    if processes < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield map(work, things)
        return
    _WORK.append((work, things))
    fork = multiprocessing.get_context("fork")
    try:
        # Children live for seconds and draw a few pictures: looking for garbage would be a fifth of that.
        pool = ProcessPoolExecutor(processes, mp_context=fork, initializer=gc.disable)
        with pool, errors.no_further_work(pool):
            with errors.starting_processes(), warnings.catch_warnings():
                # A fork is warned of where a library keeps threads; nothing here holds a lock of theirs.
                warnings.simplefilter("ignore", DeprecationWarning)
                made = pool.map(_nth, range(len(things)))
            yield made
    except BrokenProcessPool:
        raise ReportError(
            "a process that draws was ended from outside, most likely for its memory: give fewer files"
        ) from None
    finally:
        _WORK.pop()


def _nth(order: int) -> Any:
    work, things = _WORK[-1]
    return work(things[order])


def cpus() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
