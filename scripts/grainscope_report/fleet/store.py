"""The data set: Parquet files in folders by date and kind of machine, written and read by DuckDB.

    DIR/cases/date=2026-11-25/kind=nvidia-h200-x2-intel-xeon/….parquet   one row a case a run
    DIR/runs/date=…/kind=…/….parquet                                     one row a run

Runs are taken in by batches of bounded size, each by one of several processes, into a folder of its own that
is moved into place once it is known that no run of it was there already.
"""

import itertools
import json
import os
import shutil
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from grainscope_report import errors
from grainscope_report.errors import ReportError
from grainscope_report.fleet.engine import MEMORY, connected, engine, quoted
from grainscope_report.fleet.sources import MARK, Refused, Source
from grainscope_report.fleet.staging import TABLES, Batch, stage

FORMAT = "grainscope fleet 1"
STAGING = "_staging"
# A batch has so many runs or so many bytes, whichever comes first.
MOST_RUNS, MOST_BYTES = 128, 8 << 20
MOST_PROCESSES = 16
LEFT_S = 86_400


@dataclass
class Added:
    """What came of taking in: how many runs and cases, and what was not taken as it was."""

    runs: int = 0
    cases: int = 0
    known: int = 0
    refused: list[Refused] = field(default_factory=list)
    twice: list[Refused] = field(default_factory=list)


def is_store(path: Path) -> bool:
    """Whether a folder holds a data set."""
    return (path / MARK).is_file()


def create(path: Path) -> None:
    """Makes a folder a data set, unless it is one; refuses one that holds anything else."""
    engine()
    if is_store(path):
        _of_this_format(path)
        return
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ReportError(f"{path} is there and is no data set of a fleet: choose a new or empty folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / MARK).write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path} cannot be written ({error.strerror}): choose another place") from None


def _of_this_format(path: Path) -> None:
    try:
        form = json.loads((path / MARK).read_text(encoding="utf-8"))["format"]
    except (OSError, ValueError, LookupError, TypeError):
        form = None
    if form != FORMAT:
        raise ReportError(
            f"{path} is a data set of format {form!r}, not {FORMAT!r}: update grainscope-report"
        )


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A connection with the data set's tables as views; ReportError where nothing is in it."""
    if not is_store(path):
        raise ReportError(
            f"{path} is no data set of a fleet: `grainscope-report store add {path} RUN` makes one"
        )
    _of_this_format(path)
    if not any((path / "runs").rglob("*.parquet")):
        raise ReportError(
            f"{path} is an empty data set: add runs with `grainscope-report store add {path} RUN`"
        )
    spill = Path(tempfile.mkdtemp(prefix="grainscope-fleet-"))
    connection = connected("asking", len(os.sched_getaffinity(0)), spill)
    try:
        for table in TABLES:
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {_parquet(path / table)}")
        yield connection
    except engine().OutOfMemoryException:
        raise ReportError(
            f"{path} has more nodes than can be looked at in {MEMORY['asking']} of memory and the free space "
            f"of {spill.parent}: set TMPDIR to a larger one"
        ) from None
    except engine().Error as error:
        said = str(error).splitlines()[0]
        raise ReportError(
            f"{path} cannot be read as a data set ({said}): make it again from its runs"
        ) from None
    finally:
        connection.close()
        shutil.rmtree(spill, ignore_errors=True)


def _parquet(folder: Path) -> str:
    types = "{'date': DATE, 'kind': VARCHAR}"
    pattern = quoted(f"{folder}/*/*/*.parquet")
    return f"read_parquet({pattern}, hive_partitioning=true, hive_types={types}, union_by_name=true)"


def add(path: Path, given: Iterable[Source | Refused], processes: int | None = None) -> Added:
    """Takes runs into the data set; those that it has already are counted and left."""
    create(path)
    done = Added()
    with _staging(path) as staging, _Seen(path, staging) as seen:
        try:
            for batch in _staged(_batches(given, done), staging, processes):
                _commit(path, batch, staging, seen, done)
        except engine().Error as error:
            said = str(error).splitlines()[0]
            raise ReportError(
                f"{path} cannot be written ({said}); what was taken in before is kept"
            ) from None
    return done


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """A folder of this process beside the data set; those that ended processes left go after a day."""
    top = path / STAGING
    folder = top / uuid.uuid4().hex
    folder.mkdir(parents=True)
    for left in top.iterdir():
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - LEFT_S:
                shutil.rmtree(left)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            top.rmdir()


def _batches(given: Iterable[Source | Refused], done: Added) -> Iterator[list[Source]]:
    batch: list[Source] = []
    size = 0
    for one in given:
        if isinstance(one, Refused):
            done.refused.append(one)
            continue
        batch.append(one)
        size += _size(one)
        if len(batch) == MOST_RUNS or size >= MOST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _size(source: Source) -> int:
    if source.content is not None:
        return len(source.content)
    try:
        path = Path(source.name)
        return MOST_BYTES if path.is_dir() else path.stat().st_size
    except OSError:
        return 0


def _staged(batches: Iterator[list[Source]], staging: Path, processes: int | None) -> Iterator[Batch]:
    """Each batch as a process made it; where there is one batch, this process does."""
    first = list(itertools.islice(batches, 2))
    workers = processes or min(len(os.sched_getaffinity(0)), MOST_PROCESSES)
    if len(first) < 2 or workers < 2:
        yield from (stage(batch, staging) for batch in itertools.chain(first, batches))
        return
    # A copy of this process would hold locks of threads that it does not have.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    with pool, errors.no_further_work(pool):
        under_way: deque[Future[Batch]] = deque()
        with errors.starting_processes():
            for batch in first:
                under_way.append(pool.submit(stage, batch, staging))
        for batch in batches:
            if len(under_way) > workers:
                yield _result(under_way.popleft())
            under_way.append(pool.submit(stage, batch, staging))
        while under_way:
            yield _result(under_way.popleft())


def _result(future: "Future[Batch]") -> Batch:
    try:
        return future.result()
    except BrokenProcessPool:
        raise ReportError(
            "a process was ended from outside, most likely for lack of memory: give it more, and run this "
            "again; what was taken in is kept"
        ) from None


class _Seen:
    """Which runs a data set has, on disk, so that their number takes no memory."""

    def __init__(self, path: Path, staging: Path) -> None:
        self._connection = engine().connect(str(staging / "seen.duckdb"))
        self._connection.execute("SET memory_limit='200MB'; SET threads=1")
        self._connection.execute("CREATE TABLE seen(run VARCHAR, source VARCHAR, now BOOLEAN)")
        if any((path / "runs").rglob("*.parquet")):
            self._connection.execute(
                f"INSERT INTO seen SELECT run, source, false FROM {_parquet(path / 'runs')}"
            )

    def __enter__(self) -> "_Seen":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def of(self, runs: Sequence[str]) -> dict[str, tuple[str, bool]]:
        """Of each run that is there already, where it came from and whether just now."""
        query = "SELECT run, source, now FROM seen WHERE list_contains(?, run)"
        return {
            run: (source, now)
            for run, source, now in self._connection.execute(query, [list(runs)]).fetchall()
        }

    def remember(self, runs: Sequence[tuple[str, str]]) -> None:
        """Adds runs with their sources."""
        names, places = zip(*runs, strict=True)
        self._connection.execute(
            "INSERT INTO seen SELECT unnest(?), unnest(?), true", [list(names), list(places)]
        )


def _commit(path: Path, batch: Batch, staging: Path, seen: _Seen, done: Added) -> None:
    """Moves what a batch wrote into place, without runs that are there already."""
    done.refused += batch.refused
    there = seen.of([run for _, run, _ in batch.runs])
    here: dict[str, str] = {}
    new: list[Source] = []
    for at, run, _ in batch.runs:
        name = batch.sources[at].name
        known, now = there.get(run, (here.get(run), True))
        if known is None:
            here[run] = name
            new.append(batch.sources[at])
        elif not now or known == name:
            done.known += 1
        elif Path(known).parent != Path(name).parent:
            done.twice.append(Refused(name, f"is the run {run}, as is {known}, which is taken", kept=True))
    if len(new) < len(batch.runs):
        shutil.rmtree(batch.folder)
        batch = stage(new, staging)
    if not batch.runs:
        return
    for written, place in batch.files:
        target = path / place
        target.parent.mkdir(parents=True, exist_ok=True)
        written.replace(target)
    shutil.rmtree(batch.folder)
    seen.remember([(run, batch.sources[at].name) for at, run, _ in batch.runs])
    done.runs += len(batch.runs)
    done.cases += sum(count for _, _, count in batch.runs)
