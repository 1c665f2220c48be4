"""The data set: Parquet files in folders by date and kind of machine, written and read by DuckDB.

    DIR/cases/date=2026-11-25/kind=nvidia-h200-x2-intel-xeon/….parquet   one row a case a run
    DIR/runs/date=…/kind=…/….parquet                                     one row a run

Runs are taken in by batches of bounded size, each by one of several processes, into a folder of its own that
is moved into place once it is known that no run of it was there already.
"""

import itertools
import json
import os
import re
import shutil
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path, PurePosixPath
from typing import Any

from grainscope_report import errors, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.fleet import sources
from grainscope_report.fleet.sources import MARK, Refused, Source, Taken

FORMAT = "grainscope fleet 1"
STAGING = "_staging"
TABLES = ("cases", "runs")
# A batch has so many runs or so many bytes, whichever comes first.
MOST_RUNS, MOST_BYTES = 64, 4 << 20
MOST_PROCESSES = 16
LEFT_S = 86_400
PROGRAM = "grainscope-report"
MEMORY = {"taking in": "400MB", "asking": "1GB"}

# What is read of a line, of a digest or of a result file. One with `r` alone stands before the rows of each.
_LINE = """{r: 'INTEGER', status: 'VARCHAR', label: 'VARCHAR', reason: 'VARCHAR', median_s: 'DOUBLE',
 operation_s: 'DOUBLE', bytes: 'BIGINT', bandwidth_gb_s: 'DOUBLE', link_fraction: 'DOUBLE',
 flags: 'VARCHAR[]', "case": 'STRUCT(family VARCHAR, version INTEGER, axes JSON, site JSON)',
 timing: 'STRUCT(clock VARCHAR, gated BOOLEAN, quiet BOOLEAN)', visits: '@visits@',
 uncertainty: 'STRUCT(a STRUCT(standard DOUBLE, freedom DOUBLE), b STRUCT(standard DOUBLE, freedom DOUBLE))'
}"""
# Of visits their number: a digest has it, of a result file as little is read as tells it.
VISITS = {False: ("INTEGER", "visits"), True: ("STRUCT(round INTEGER)[]", "CAST(len(visits) AS INTEGER)")}
_RUN = """{r: 'INTEGER', date: 'DATE', kind: 'VARCHAR', node: 'VARCHAR', machine: 'VARCHAR', run: 'VARCHAR',
 started: 'TIMESTAMP', ended: 'TIMESTAMP', wall_s: 'DOUBLE', gpu: 'VARCHAR', gpus: 'INTEGER', cpu: 'VARCHAR',
 driver: 'VARCHAR', firmware: 'VARCHAR', kernel: 'VARCHAR', version: 'VARCHAR', "commit": 'VARCHAR',
 preset: 'VARCHAR', flags: 'VARCHAR', complete: 'BOOLEAN', ok: 'INTEGER', skipped: 'INTEGER',
 failed: 'INTEGER', source: 'VARCHAR', environment: 'VARCHAR',
 links: 'STRUCT(gpu INTEGER, numa INTEGER, peer INTEGER, direction VARCHAR, peak_gb_s DOUBLE,
 generation INTEGER, width INTEGER, nvlinks INTEGER, most_generation INTEGER, most_width INTEGER)[]'}"""
_CASES = """
SELECT max(r) OVER (ROWS UNBOUNDED PRECEDING) AS r, r IS NULL AS is_row, "case".family AS family,
  coalesce("case".version, 1) AS version,
  CAST("case".axes AS VARCHAR) AS axes, CAST("case".site AS VARCHAR) AS site,
  TRY_CAST(json_extract_string("case".site, '$.gpu') AS INTEGER) AS gpu,
  label, status, coalesce(reason, '') AS reason,
  CASE WHEN timing IS NULL THEN NULL
    WHEN timing.clock <> 'event' THEN if(coalesce(timing.quiet, false), 'quiet', 'host')
    WHEN timing.gated THEN 'gated' ELSE 'open' END AS clock,
  median_s, operation_s, uncertainty.a.standard AS a, uncertainty.a.freedom AS a_freedom,
  uncertainty.b.standard AS b, uncertainty.b.freedom AS b_freedom,
  @count@ AS visits, bytes, bandwidth_gb_s, link_fraction,
  coalesce(array_to_string(flags, ' '), '') AS flags
FROM read_json(?, format='newline_delimited', maximum_object_size=4194304, columns=@line@)"""
# A question has one number in every data set, whoever measured it. Its text is looked at once a batch.
_QUESTIONS = """
SELECT key, CAST(md5_number_lower(any_value(concat_ws(' ', label, family, version, clock, axes))) >> 1 AS
  BIGINT)
  AS question FROM line GROUP BY key"""
_STAGED = """
SELECT h.node, h.run, h.started, h.driver, c.family, c.version, q.question, c.axes, c.site, c.gpu, c.label,
  c.status, c.reason, c.clock, c.median_s, c.operation_s, c.a, c.a_freedom, coalesce(c.b, t.standard) AS b,
  if(c.b IS NULL, t.freedom, c.b_freedom) AS b_freedom, c.visits, c.bytes, c.bandwidth_gb_s, c.link_fraction,
  c.flags
FROM line c JOIN head h USING (r) JOIN question q USING (key)
LEFT JOIN type_b t ON t.kind = h.kind AND t.family = c.family AND t.version = c.version AND t.clock = c.clock
WHERE h.date = ? AND h.kind = ?"""
_WRONG = """
SELECT r, count(*) FROM line WHERE family IS NULL OR status NOT IN ('ok', 'skipped', 'failed') OR status IS
  NULL
  OR status = 'ok' AND (median_s IS NULL OR NOT isfinite(median_s) OR median_s <= 0) GROUP BY r"""


@dataclass
class Added:
    """What came of taking in: how many runs and cases, and what was not taken as it was."""

    runs: int = 0
    cases: int = 0
    known: int = 0
    refused: list[Refused] = field(default_factory=list)
    twice: list[Refused] = field(default_factory=list)


@dataclass(frozen=True)
class Batch:
    """What one process made of some sources, in a folder beside the data set."""

    folder: Path
    sources: Sequence[Source]
    runs: Sequence[tuple[int, str, int]] = ()  # which source, its run, its cases
    refused: Sequence[Refused] = ()


def engine() -> Any:
    """DuckDB, or the sentence that names it."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise ReportError(
            "a data set is written and read by DuckDB, and Python finds no module duckdb: "
            "python3 -m pip install 'grainscope-report[fleet]'"
        ) from None
    return duckdb


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
    connection = _connection(MEMORY["asking"], len(os.sched_getaffinity(0)), spill)
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
    pattern = _quoted(f"{folder}/*/*/*.parquet")
    return f"read_parquet({pattern}, hive_partitioning=true, hive_types={types}, union_by_name=true)"


def _quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _connection(memory: str, threads: int, spill: Path) -> Any:
    connection = engine().connect(":memory:")
    connection.execute(f"SET memory_limit='{memory}'; SET threads={threads}; SET enable_progress_bar=false")
    connection.execute(f"SET temp_directory={_quoted(spill)}")
    return connection


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


def stage(batch: Sequence[Source], staging: Path) -> Batch:
    """Writes sources as Parquet into a new folder below `staging`."""
    folder = staging / uuid.uuid4().hex
    folder.mkdir(parents=True)
    taken: dict[int, Taken] = {}
    heads: dict[int, dict[str, Any]] = {}
    refused: list[Refused] = []

    def take(at: int, read: Callable[[Source], Taken]) -> None:
        try:
            one = read(batch[at])
            heads[at] = _run(one.context, batch[at].name) | {"r": at}
            taken[at] = one
        except ReportError as error:
            refused.append(Refused(batch[at].name, _why(batch[at].name, str(error))))

    def refuse(at: int, why: str) -> None:
        name = batch[at].name
        refused.append(Refused(name, f"{why}: `{PROGRAM} validate` of its run says more"))
        del taken[at], heads[at]

    for at in range(len(batch)):
        take(at, sources.read)
    connection = _of_process(staging)
    wrong = _lines_of(connection, folder, taken)
    if wrong is None:
        for at in list(taken):
            if _lines_of(connection, folder, {at: taken[at]}) is None:
                del taken[at], heads[at]
                take(at, sources.read_slowly)
                if at in taken and _lines_of(connection, folder, {at: taken[at]}) is None:
                    refuse(at, "holds rows that are off the format")
        wrong = _lines_of(connection, folder, taken) or set()
    for at in wrong:
        refuse(at, "holds rows without a time or a family")
    _write(connection, folder, heads)
    runs = [(at, heads[at]["run"], one.count) for at, one in taken.items()]
    return Batch(folder, batch, runs, refused)


@lru_cache(maxsize=1)
def _of_process(staging: Path) -> Any:
    """The connection with which this process takes in: to make one takes as long as several runs."""
    return _connection(MEMORY["taking in"], 1, staging / "spill")


def _why(name: str, said: str) -> str:
    return said.removeprefix(name).strip()


def _lines_of(connection: Any, folder: Path, taken: dict[int, Taken]) -> set[int] | None:
    """Reads the rows into the table `line`; which sources have rows that are none, None where not JSON."""
    if not taken:
        return set()
    paths, parts = [], []
    for whole in {one.whole for one in taken.values()}:
        path = folder / f"lines-{whole}.jsonl"
        with path.open("wb") as file:
            for at, one in taken.items():
                if one.whole == whole:
                    file.write(b'{"r":%d}\n' % at)
                    file.write(one.rows)
        paths.append(str(path))
        kind, count = VISITS[whole]
        part = _CASES.replace("@line@", _LINE).replace("@visits@", kind).replace("@count@", count)
        parts.append(f"SELECT * EXCLUDE (is_row) FROM ({part}) WHERE is_row")
    try:
        connection.execute(
            "CREATE OR REPLACE TEMP TABLE line AS "
            f"SELECT *, hash(label, family, version, clock, axes) AS key FROM ({' UNION ALL '.join(parts)})",
            paths,
        )
    except engine().Error:
        return None
    finally:
        for path in paths:
            Path(path).unlink()
    return {at for at, _ in connection.execute(_WRONG).fetchall()}


def _write(connection: Any, folder: Path, heads: dict[int, dict[str, Any]]) -> None:
    if not heads:
        return
    path = folder / "heads.jsonl"
    path.write_text("".join(f"{json.dumps(head)}\n" for head in heads.values()), encoding="utf-8")
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE head AS "
        f"SELECT * FROM read_json(?, format='newline_delimited', columns={_RUN})",
        [str(path)],
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE type_b(kind VARCHAR, family VARCHAR, version INTEGER, clock VARCHAR, "
        "standard DOUBLE, freedom DOUBLE)"
    )
    known = {(head["gpu"], head["gpus"], head["cpu"]): head["kind"] for head in heads.values()}
    rows = [row for (gpu, count, cpu), kind in known.items() for row in _type_b(gpu, count, cpu, kind)]
    if rows:
        connection.executemany("INSERT INTO type_b VALUES (?, ?, ?, ?, ?, ?)", rows)
    path.unlink()
    connection.execute(f"CREATE OR REPLACE TEMP TABLE question AS {_QUESTIONS}")
    chosen = "SELECT * EXCLUDE (r, date, kind) FROM head WHERE date = ? AND kind = ?"
    # One partition after another: the engine's own way to divide rows takes twice as long for one.
    for date, kind in sorted({(head["date"], head["kind"]) for head in heads.values()}):
        for table, query in (("cases", _STAGED), ("runs", chosen)):
            place = folder / table / f"date={date}" / f"kind={kind}"
            place.mkdir(parents=True)
            target = _quoted(place / f"{folder.name}.parquet")
            connection.execute(
                f"COPY ({query}) TO {target} (FORMAT parquet, COMPRESSION zstd, DICTIONARY_SIZE_LIMIT 4000)",
                [date, kind],
            )


def _type_b(gpu: str, count: int, cpu: str, kind: str) -> Iterator[tuple[Any, ...]]:
    """What the package knows that runs of these machines differ by, for rows that do not say it."""
    name = f"{gpu} ×{count}" if count > 1 else gpu
    for (family, version, clock), found in uncertainty.at_hand().of_kind((name, cpu)):
        yield kind, family, version, clock, found.standard, None if found.freedom > 1e300 else found.freedom


def _run(context: dict[str, Any], name: str) -> dict[str, Any]:
    """The row of a run; ReportError where its context is none."""
    try:
        run, environment, suite = (context[part] for part in ("run", "environment", "grainscope"))
        gpu_and_count, cpu = uncertainty.kind_of(context)
        gpus = environment["gpus"]
        host = str(context.get("host_name") or "")
        started, ended = (_utc(run[moment]) for moment in ("started", "ended"))
        counts = run["counts"]
        return {
            "date": started[:10],
            "kind": kind_name(gpu_and_count, cpu),
            "node": host or PurePosixPath(name).parent.name or "unknown",
            "machine": _machine(host, cpu, gpus),
            "run": str(run["id"]),
            "started": started,
            "ended": ended,
            "wall_s": run.get("wall_s"),
            "gpu": gpus[0]["name"] if gpus else "",
            "gpus": len(gpus),
            "cpu": cpu,
            "driver": environment["driver"].get("version"),
            "firmware": _firmware(gpus),
            "kernel": (environment.get("kernel") or {}).get("release"),
            "version": suite["version"],
            "commit": suite["commit"],
            "preset": run["preset"],
            "flags": " ".join(map(str, run.get("flags", ()))),
            "complete": bool(run["complete"]),
            **{status: counts[status] for status in ("ok", "skipped", "failed")},
            "source": name,
            "links": [_link(link, gpus) for link in context.get("links", ())],
            "environment": json.dumps(environment, ensure_ascii=False),
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ReportError(f"{name} says too little of its run ({error!r}): copy it again") from None


def kind_name(gpu: str, cpu: str) -> str:
    """A kind of machine as the name of a folder: `nvidia-h200-x2-amd-epyc-9654`."""
    words = (
        f"{gpu or 'no gpu'} {cpu or 'cpu unknown'}".replace("×", "x").replace("(R)", "").replace("(TM)", "")
    )
    return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")


def _machine(host: str, cpu: str, gpus: Sequence[dict[str, Any]]) -> str:
    """Tells one machine from another of that name: by its GPUs, of which each has an identity."""
    parts = [host, cpu, *sorted(str(gpu.get("uuid") or gpu.get("name")) for gpu in gpus)]
    return sha256("\n".join(parts).encode()).hexdigest()[:12]


def _firmware(gpus: Sequence[dict[str, Any]]) -> str | None:
    said = {str(version) for gpu in gpus if (version := (gpu.get("nvml") or {}).get("vbios_version"))}
    return ", ".join(sorted(said)) or None


def _link(link: dict[str, Any], gpus: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A link with the most that it could be."""
    told = {
        name: link.get(name)
        for name in ("gpu", "numa", "peer", "direction", "peak_gb_s", "generation", "width", "nvlinks")
    }
    gpu = next((one for one in gpus if (one.get("cuda") or {}).get("ordinal") == link.get("gpu")), {})
    nvml = gpu.get("nvml") or {}
    return told | {
        "most_generation": nvml.get("link_generation_max"),
        "most_width": nvml.get("link_width_max"),
    }


def _utc(moment: str) -> str:
    at = datetime.fromisoformat(moment)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


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
    for table in TABLES:
        for written in sorted((batch.folder / table).rglob("*.parquet")):
            target = path / table / written.relative_to(batch.folder / table)
            target.parent.mkdir(parents=True, exist_ok=True)
            written.replace(target)
    shutil.rmtree(batch.folder)
    seen.remember([(run, batch.sources[at].name) for at, run, _ in batch.runs])
    done.runs += len(batch.runs)
    done.cases += sum(count for _, _, count in batch.runs)
