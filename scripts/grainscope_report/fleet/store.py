"""The data set: Parquet files in folders by date and kind of machine, written and read by DuckDB.

    DIR/cases/date=2026-11-25/kind=nvidia-h200-x2-intel-xeon/….parquet   one row a case a run
    DIR/runs/date=…/kind=…/….parquet                                     one row a run

Runs are taken in by batches of bounded size, each by one of several processes, into a folder of its own that
is moved into place once it is known that no run of it was there already. A run that was cut off and has
gone on since takes the place of what was there.

Rows pass through the engine once: read as JSON, joined with their run and their question, written. What nodes
of a fleet measure is the same from node to node, so a question is taken apart where a process first meets it;
texts that few rows differ in are enumerations, which are written without a look at each.
"""

import errno
import fcntl
import glob
import itertools
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path, PurePosixPath
from typing import IO, Any

from grainscope_report import errors, refusing, uncertainty
from grainscope_report.errors import ReportError
from grainscope_report.fleet import sources, wholes
from grainscope_report.fleet.sources import MARK, Refused, Source, Taken
from grainscope_report.machine import identity

# DuckDB, the engine.

INSTALL = "python3 -m pip install duckdb"
MEMORY = {"taking in": "400MB", "asking": "1GB", "knowing": "200MB"}


def engine() -> Any:
    """DuckDB, or the sentence that names it."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise ReportError(
            f"a data set is written and read by DuckDB, and Python finds no module duckdb: {INSTALL}"
        ) from None
    return duckdb


def connected(purpose: str, threads: int, spill: Path) -> Any:
    """A connection that takes no more than MEMORY has for its purpose, and goes to `spill` beyond that."""
    connection = engine().connect(":memory:")
    limit = MEMORY[purpose]
    connection.execute(f"SET memory_limit='{limit}'; SET threads={threads}; SET enable_progress_bar=false")
    connection.execute(f"SET temp_directory={quoted(spill)}")
    return connection


def quoted(text: object) -> str:
    """A text as SQL has it."""
    return "'" + str(text).replace("'", "''") + "'"


def literal(path: Path) -> str:
    """A path to read as SQL has it: its letters stand for themselves, and are no pattern."""
    return quoted(glob.escape(str(path)))


# What a process makes of a batch of runs: files of one date and one kind of machine each.

TABLES = ("cases", "runs")
PARQUET_MARK = b"PAR1"  # at both ends of a file
PARQUET = "FORMAT parquet, COMPRESSION zstd, DICTIONARY_SIZE_LIMIT 200"
# Rows are many beside runs and questions, which the engine does not see in a file of them. What it knows of
# values would make columns of some files required, and schemas differ.
AS_WRITTEN = "SET disabled_optimizers = 'join_order,build_side_probe_side,statistics_propagation'"
MOMENT = "%Y-%m-%d %H:%M:%S"  # to Python and the engine alike
_TEXTS = ("label", "clock", "family", "axes", "site")  # of a question, of which there are few

# What is read of a line, of a digest or of a result file. One with `r` alone stands before the rows of each.
_LINE = """{r: 'INTEGER', status: 'VARCHAR', label: 'VARCHAR', reason: 'VARCHAR', median_s: 'DOUBLE',
 operation_s: 'DOUBLE', bytes: 'BIGINT', bandwidth_gb_s: 'DOUBLE', link_fraction: 'DOUBLE',
 flags: 'VARCHAR[]', "case": 'VARCHAR',
 timing: 'STRUCT(clock VARCHAR, gated BOOLEAN, quiet BOOLEAN)', visits: '@visits@',
 uncertainty: 'STRUCT(a STRUCT(standard DOUBLE, freedom DOUBLE), b STRUCT(standard DOUBLE, freedom DOUBLE))'
}"""
# Of visits their number: a digest has it, of a result file as little is read as tells it.
_VISITS = {False: ("INTEGER", "visits"), True: ("STRUCT(round INTEGER)[]", "CAST(len(visits) AS INTEGER)")}
_LINES = f"""
SELECT *, hash("case", label, clock) AS key FROM (
  SELECT max(r) OVER (ROWS UNBOUNDED PRECEDING) AS r, r IS NULL AS is_row, "case", label, status,
    coalesce(reason, '') AS reason,
    CASE WHEN timing IS NULL THEN NULL
      WHEN timing.clock <> 'event' THEN if(coalesce(timing.quiet, false), 'quiet', 'host')
      WHEN timing.gated THEN 'gated' ELSE 'open' END AS clock,
    median_s, operation_s, uncertainty.a.standard AS a, uncertainty.a.freedom AS a_freedom,
    uncertainty.b.standard AS b, uncertainty.b.freedom AS b_freedom,
    @count@ AS visits, bytes, bandwidth_gb_s, link_fraction,
    coalesce(array_to_string(flags, ' '), '') AS flags
  FROM read_json(@path@, format='newline_delimited', maximum_object_size=4194304, columns={_LINE}))
WHERE is_row AND status IN ('ok', 'skipped', 'failed')
  AND (status <> 'ok' OR isfinite(median_s) AND median_s > 0 AND coalesce(operation_s, median_s) > 0)"""
# A question has one number in every data set, whoever measured it.
_ASKED = """
SELECT *, CAST(md5_number_lower(concat_ws(' ', label, family, version, clock, axes)) >> 1 AS BIGINT)
  AS question
FROM (SELECT key, label, clock, "case" ->> '$.family' AS family,
    CAST(coalesce("case" ->> '$.version', '1') AS INTEGER) AS version,
    CAST("case" -> '$.axes' AS VARCHAR) AS axes, CAST("case" -> '$.site' AS VARCHAR) AS site,
    TRY_CAST("case" ->> '$.site.gpu' AS INTEGER) AS gpu
  FROM (SELECT DISTINCT key, label, clock, "case" FROM (@lines@)) WHERE key NOT IN (SELECT key FROM asked))
WHERE family IS NOT NULL AND coalesce(json_type(axes), 'OBJECT') = 'OBJECT'
  AND coalesce(json_type(site), 'OBJECT') = 'OBJECT'"""
_CASES = """
SELECT h.node, h.run, h.started, h.driver, q.family, q.version, q.question, q.axes, q.site, q.gpu, q.label,
  c.status, c.reason, q.clock, c.median_s, c.operation_s, c.a, c.a_freedom, coalesce(c.b, q.standard) AS b,
  if(c.b IS NULL, q.freedom, c.b_freedom) AS b_freedom, c.visits, c.bytes, c.bandwidth_gb_s, c.link_fraction,
  c.flags
FROM (@lines@) c JOIN head h USING (r) JOIN (SELECT q.*, coalesce(o.standard, t.standard) AS standard,
    coalesce(o.freedom, t.freedom) AS freedom FROM question q
  LEFT JOIN type_b t ON t.kind = @kind@ AND t.family = q.family AND t.version = q.version
    AND t.clock = q.clock AND t.axes = ''
  LEFT JOIN type_b o ON o.kind = @kind@ AND o.family = q.family AND o.version = q.version
    AND o.clock = q.clock AND o.axes = replace(q.axes, '"locality":"unknown"', '"locality":"local"')
) q USING (key)"""
_RUN = """{r: 'INTEGER', node: 'VARCHAR', machine: 'VARCHAR', run: 'VARCHAR',
 started: 'TIMESTAMP', ended: 'TIMESTAMP', wall_s: 'DOUBLE', gpu: 'VARCHAR', gpus: 'INTEGER', cpu: 'VARCHAR',
 driver: 'VARCHAR', firmware: 'VARCHAR', kernel: 'VARCHAR', version: 'VARCHAR', "commit": 'VARCHAR',
 preset: 'VARCHAR', flags: 'VARCHAR', complete: 'BOOLEAN', ok: 'INTEGER', skipped: 'INTEGER',
 failed: 'INTEGER', source: 'VARCHAR', environment: 'VARCHAR',
 links: 'STRUCT(gpu INTEGER, numa INTEGER, peer INTEGER, direction VARCHAR, peak_gb_s DOUBLE,
 generation INTEGER, width INTEGER, nvlinks INTEGER, most_generation INTEGER, most_width INTEGER)[]'}"""


@dataclass(frozen=True)
class Told:
    """What a source told of its run: how many cases it has, and how far it came."""

    at: int  # in its batch
    place: str
    run: str
    cases: int
    complete: bool
    ended: str

    def goes_on_in(self, later: "Told") -> bool:
        """Whether this was cut off, and `later` came to the end or further."""
        return not self.complete and (later.complete, later.ended) > (self.complete, self.ended)


@dataclass(frozen=True)
class Batch:
    """What one process made of some sources, in a folder beside the data set."""

    folder: Path
    sources: Sequence[Source]
    runs: Sequence["Told"] = ()
    files: Sequence[tuple[Path, Path]] = ()  # where each is, and where in the data set it belongs
    refused: Sequence[Refused] = ()


@dataclass
class _Part:
    """Runs of one date and kind of machine, and their rows in a file, all of result files or none."""

    path: Path
    of_kind: tuple[str, str]
    whole: bool
    heads: dict[int, dict[str, Any]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def add(self, at: int, head: dict[str, Any], taken: Taken) -> None:
        self.heads[at] = head | {"r": at}
        self.counts[at] = taken.count
        with self.path.open("ab") as file:
            file.write(b'{"r":%d}\n' % at)
            file.write(taken.rows)


def stage(batch: Sequence[Source], staging: Path) -> Batch:
    """Writes sources as Parquet into a new folder below `staging`, laid out as the data set is."""
    folder = staging / uuid.uuid4().hex
    folder.mkdir(parents=True)
    parts: dict[tuple[str, str, bool], _Part] = {}
    refused = []
    for at, source in enumerate(batch):
        try:
            taken = sources.read(source)
            head = _run(taken.context, source.place)
        except ReportError as error:
            refused.append(Refused(source.name, str(error).removeprefix(source.name).strip()))
            continue
        key = head.pop("date"), head.pop("kind"), taken.whole
        if key not in parts:
            parts[key] = _Part(
                folder / f"{len(parts)}.jsonl", uncertainty.kind_of(taken.context), taken.whole
            )
        parts[key].add(at, head, taken)
    files = []
    for at, ((date, kind, _), part) in enumerate(parts.items()):
        written = [folder / f"{at}-{table}.parquet" for table in TABLES]
        if wrong := _of_process(staging).write(part, kind, *written):
            shutil.rmtree(folder)
            return _apart(batch, staging, wrong)
        place = Path(f"date={date}", f"kind={kind}", f"{folder.name}-{at}.parquet")
        files += [(file, Path(table) / place) for table, file in zip(TABLES, written, strict=True)]
        part.path.unlink()
    runs = [
        Told(at, head["source"], head["run"], part.counts[at], head["complete"], head["ended"])
        for part in parts.values()
        for at, head in part.heads.items()
    ]
    return Batch(folder, batch, runs, files, refused)


def _apart(batch: Sequence[Source], staging: Path, wrong: str) -> Batch:
    """What is to be made of a batch with runs that are off the format: all others."""
    if len(batch) == 1 and batch[0].slowly:
        why = f"holds {wrong}: `grainscope-report validate` of its run says more"
        return Batch(staging, (), refused=[Refused(batch[0].name, why)])
    if len(batch) == 1:
        return stage([replace(batch[0], slowly=True)], staging)
    each = [stage([source], staging) for source in batch]
    for one in each:
        if one.runs:
            shutil.rmtree(one.folder)
    together = stage([source for one in each if one.runs for source in one.sources], staging)
    return replace(together, refused=[refused for one in each for refused in one.refused])


@lru_cache(maxsize=1)
def _of_process(staging: Path) -> "_Writer":
    """The writer of this process: to make one takes as long as several runs."""
    return _Writer(staging)


class _Writer:
    """Writes parts; what it learned of questions and kinds of machines it keeps."""

    def __init__(self, staging: Path) -> None:
        self._connection = connected("taking in", 1, staging / "spill")
        self._kinds: set[str] = set()
        self._connection.execute(f"""{AS_WRITTEN};
            CREATE TEMP TABLE asked(key UBIGINT, label VARCHAR, clock VARCHAR, family VARCHAR,
              version INTEGER, axes VARCHAR, site VARCHAR, gpu INTEGER, question BIGINT);
            CREATE TEMP TABLE type_b(kind VARCHAR, family VARCHAR, version INTEGER, clock VARCHAR,
              axes VARCHAR, standard DOUBLE, freedom DOUBLE)""")
        self._enumerated("question", "asked", {})

    def write(self, part: _Part, kind: str, cases: Path, runs: Path) -> str:
        """Writes rows and runs of a part; what is wrong with them, if anything is."""
        heads = part.path.with_suffix(".heads")
        heads.write_text("".join(f"{json.dumps(head)}\n" for head in part.heads.values()), encoding="utf-8")
        file = f"read_json({literal(heads)}, format='newline_delimited', columns={_RUN})"
        texts = ("node", "run", "driver")
        off = (engine().DataError, engine().InvalidInputException)
        try:
            values = {text: {head[text] for head in part.heads.values()} for text in texts}
            self._enumerated("head", file, values)
        except (*off, TypeError):
            return "a context that is off the format"
        visits, count = _VISITS[part.whole]
        lines = (
            _LINES.replace("@path@", literal(part.path)).replace("@visits@", visits).replace("@count@", count)
        )
        query = _CASES.replace("@kind@", quoted(kind))
        whole = sum(part.counts.values())
        try:
            known = kind in self._kinds
            if not known:
                self._know(kind, part.of_kind)
            # The first runs of a kind ask what others do: these rarely have to be read twice.
            if not known or self._copied(query.replace("@lines@", lines), cases) != whole:
                self._connection.execute(f"CREATE OR REPLACE TEMP TABLE line AS {lines}")
                self._learn("FROM line")
                if self._copied(query.replace("@lines@", "FROM line"), cases) != whole:
                    return "rows without a time or a proper case"
                self._connection.execute("DROP TABLE line")
        except off:
            return "rows that are off the format"
        self._copied("SELECT * EXCLUDE (r) FROM head", runs)
        heads.unlink()
        return ""

    def _know(self, kind: str, of_kind: tuple[str, str]) -> None:
        """Takes what the package knows that runs of a kind of machine differ by, for rows without it."""
        self._kinds.add(kind)
        rows = [
            [kind, *key, found.standard, None if found.freedom > 1e300 else found.freedom]
            for key, found in uncertainty.at_hand().of_kind(of_kind)
        ]
        if rows:
            # Column by column: a statement for each row takes far longer.
            columns = [list(column) for column in zip(*rows, strict=True)]
            each = ", ".join(["unnest(?)"] * len(columns))
            self._connection.execute(f"INSERT INTO type_b SELECT {each}", columns)

    def _learn(self, lines: str) -> None:
        """Takes apart questions that are new, and makes their texts enumerations."""
        self._connection.execute(f"INSERT INTO asked BY NAME {_ASKED.replace('@lines@', lines)}")
        query = f"SELECT {', '.join(f'list(DISTINCT {text})' for text in _TEXTS)} FROM asked"
        values = self._connection.execute(query).fetchone()
        self._enumerated("question", "asked", dict(zip(_TEXTS, values, strict=True)))

    def _enumerated(self, table: str, source: str, values: Mapping[str, Iterable[str | None]]) -> None:
        """Makes a table of another one; columns with their values become enumerations."""
        kinds = {
            text: sorted({value for value in some or () if value is not None})
            for text, some in values.items()
        }
        casts = ", ".join(
            f"CAST({text} AS ENUM({', '.join(map(quoted, some))})) AS {text}"
            for text, some in kinds.items()
            if some
        )
        replaced = f"REPLACE ({casts})" if casts else ""
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * {replaced} FROM {source}")

    def _copied(self, query: str, path: Path) -> int:
        """Writes a file; how many rows it has."""
        [count] = self._connection.execute(f"COPY ({query}) TO {quoted(path)} ({PARQUET})").fetchone()
        return count


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
            "machine": sha256("\n".join(identity(context)).encode()).hexdigest()[:12],
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
            "environment": environment,
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        refusing.require_context(Path(name), context)
        raise ReportError(f"{name} says too little of its run ({error!r}): copy it again") from None


def kind_name(gpu: str, cpu: str) -> str:
    """A kind of machine as the name of a folder: `nvidia-h200-x2-amd-epyc-9654`."""
    words = (
        f"{gpu or 'no gpu'} {cpu or 'cpu unknown'}".replace("×", "x").replace("(R)", "").replace("(TM)", "")
    )
    return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")


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
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).strftime(MOMENT)


# The data set, and what is taken into it.

FORMAT = "grainscope fleet 2"
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
    renewed: int = 0  # of the runs, which had been cut off when they came in before
    refused: list[Refused] = field(default_factory=list)
    twice: list[Refused] = field(default_factory=list)


def is_store(path: Path) -> bool:
    """Whether a folder holds a data set."""
    return (path / MARK).is_file()


def create(path: Path) -> None:
    """Makes a folder a data set, unless it is one; refuses one that holds anything else."""
    engine()
    try:
        # Another process may have made it one meanwhile.
        if path.exists() and (not path.is_dir() or any(path.iterdir())) and not is_store(path):
            raise ReportError(f"{path} is there and is no data set of a fleet: choose a new or empty folder")
        path.mkdir(parents=True, exist_ok=True)
        with (path / MARK).open("a", encoding="utf-8") as mark:
            _hold(path, mark, fcntl.LOCK_EX)
            if not os.fstat(mark.fileno()).st_size:
                mark.write(json.dumps({"format": FORMAT}) + "\n")
    except OSError as error:
        raise ReportError(f"{path} cannot be written ({error.strerror}): choose another place") from None
    _of_this_format(path)


def _hold(path: Path, mark: IO[str], how: int) -> None:
    """Keeps processes that write apart from all others until `mark` is closed.

    On a file system without locks nothing is kept apart, and a reader takes one of what is there twice.
    """
    try:
        fcntl.flock(mark, how | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"{path} is in use by another process: waiting until that ends", file=sys.stderr)
        fcntl.flock(mark, how)
    except OSError:
        pass


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
    """A connection with the data set's tables, a row a run; ReportError where nothing is in it."""
    add = f"`grainscope-report store add {shlex.quote(str(path))} RUN`"
    if not is_store(path):
        raise ReportError(f"{path} is no data set of a fleet: {add} makes one")
    with (path / MARK).open(encoding="utf-8") as mark:
        _hold(path, mark, fcntl.LOCK_SH)
        _of_this_format(path)
        files = _files(path)
        if not files:
            raise ReportError(f"{path} is an empty data set: add runs with {add}")
        spill = Path(tempfile.mkdtemp(prefix="grainscope-fleet-"))
        connection = connected("asking", len(os.sched_getaffinity(0)), spill)
        try:
            wholes.make_tables(connection, *(_parquet(path / table, files) for table in TABLES))
            yield connection
        except engine().OutOfMemoryException:
            raise ReportError(
                f"{path} has more nodes than can be looked at in {MEMORY['asking']} of memory and the free "
                f"space of {spill.parent}: set TMPDIR to a larger one"
            ) from None
        except engine().Error as error:
            _refuse_damaged(path)
            said = str(error).splitlines()[0]
            raise ReportError(
                f"{path} cannot be read as a data set ({said}): make it again from its runs"
            ) from None
        finally:
            connection.close()
            shutil.rmtree(spill, ignore_errors=True)


def _files(path: Path) -> list[Path]:
    """The files of a table, below its folder: those of runs, which are written last."""
    top = path / "runs"
    return sorted(file.relative_to(top) for file in top.glob("*/*/*.parquet"))


def _parquet(folder: Path, files: Iterable[Path]) -> str:
    types = "{'date': DATE, 'kind': VARCHAR}"
    names = f"[{', '.join(literal(folder / file) for file in files)}]"
    return (
        f"read_parquet({names}, hive_partitioning=true, hive_types={types}, union_by_name=true, "
        "filename=true)"
    )


def _refuse_damaged(path: Path) -> None:
    """Raises ReportError where a file is there in part; the engine says less of it."""
    for file in _files(path):
        for table in TABLES:
            part = path / table / file
            if not _is_whole(part):
                other = path / TABLES[1 - TABLES.index(table)] / file
                raise ReportError(
                    f"{part} is missing, cut off or no Parquet file: delete it and {other}, and add their "
                    "runs again"
                )


def _is_whole(part: Path) -> bool:
    try:
        with part.open("rb") as file:
            begin = file.read(len(PARQUET_MARK))
            file.seek(-len(PARQUET_MARK), os.SEEK_END)
            return begin == file.read() == PARQUET_MARK
    except OSError:
        return False


def add(path: Path, given: Iterable[Source | Refused], processes: int | None = None) -> Added:
    """Takes runs into the data set; those that it has already are counted and left, unless they went on."""
    create(path)
    done = Added()
    with (path / MARK).open("a", encoding="utf-8") as mark:
        _hold(path, mark, fcntl.LOCK_EX)
        try:
            with _staging(path) as staging, _Seen(path, staging) as seen:
                for batch in _staged(_batches(given, done), staging, processes):
                    _commit(path, batch, staging, seen, done)
        except (OSError, engine().Error) as error:
            _refuse_damaged(path)
            full = os.strerror(errno.ENOSPC)
            said = full if full in str(error) else str(error).splitlines()[0]
            raise ReportError(
                f"{path} cannot be written ({said}): make room there, or choose another folder (TMPDIR where "
                "none was named); what was taken in before is kept"
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
    """Which runs a data set has, on disk beyond MEMORY, so that their number takes no more."""

    def __init__(self, path: Path, staging: Path) -> None:
        self._path, self._staging = path, staging
        self._connection = connected("knowing", 1, staging / "seen")
        self._connection.execute(
            "CREATE TABLE seen"
            "(run VARCHAR, source VARCHAR, cases BIGINT, complete BOOLEAN, ended VARCHAR, now BOOLEAN)"
        )
        if files := _files(path):
            self._connection.execute(
                f"INSERT INTO seen SELECT run, source, 0, complete, strftime(ended, {quoted(MOMENT)}), false "
                f"FROM {_parquet(path / 'runs', files)} ORDER BY complete, ended"
            )

    def __enter__(self) -> "_Seen":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def of(self, runs: Sequence[Told]) -> dict[str, tuple[Told, bool]]:
        """Of each run that is there already, what was told of it and whether just now."""
        query = "SELECT -1, source, run, cases, complete, ended, now FROM seen WHERE list_contains(?, run)"
        found = self._connection.execute(query, [[one.run for one in runs]]).fetchall()
        return {told[2]: (Told(*told), now) for *told, now in found}

    def remember(self, runs: Sequence[Told]) -> None:
        """Adds runs."""
        columns = [
            list(column)
            for column in zip(*((o.run, o.place, o.cases, o.complete, o.ended) for o in runs), strict=True)
        ]
        each = ", ".join(["unnest(?)"] * len(columns))
        self._connection.execute(f"INSERT INTO seen SELECT {each}, true", columns)

    def forget(self, runs: Sequence[str]) -> None:
        """Takes runs out of the data set; files that have others, too, are written anew without them."""
        self._connection.execute("DELETE FROM seen WHERE list_contains(?, run)", [runs])
        some = f"[{', '.join(map(quoted, runs))}]"
        with closing(connected("taking in", 1, self._staging / "spill")) as connection:
            connection.execute(AS_WRITTEN)
            files = _files(self._path)
            for table in TABLES:
                with_them = f"""
                    SELECT filename, bool_and(list_contains({some}, run))
                    FROM {_parquet(self._path / table, files)}
                    GROUP BY filename HAVING bool_or(list_contains({some}, run))"""
                for name, whole in connection.execute(with_them).fetchall():
                    if whole:
                        Path(name).unlink()
                        continue
                    rest = self._staging / f"{uuid.uuid4().hex}.parquet"
                    others = f"FROM read_parquet({literal(Path(name))}, hive_partitioning=false)"
                    connection.execute(
                        f"COPY (SELECT * {others} WHERE NOT list_contains({some}, run)) "
                        f"TO {quoted(rest)} ({PARQUET})"
                    )
                    rest.replace(name)


def _commit(path: Path, batch: Batch, staging: Path, seen: _Seen, done: Added) -> None:
    """Moves what a batch wrote into place, without runs that are there already and came as far."""
    done.refused += batch.refused
    there = seen.of(batch.runs)
    new: dict[str, Told] = {}
    for one in batch.runs:
        known, now = (new[one.run], True) if one.run in new else there.get(one.run, (None, False))
        if known is None or known.goes_on_in(one):
            new[one.run] = one
        elif not now or known.place == one.place:
            done.known += 1
        elif Path(known.place).parent != Path(one.place).parent:
            why = f"is the run {one.run}, as is {known.place}, which is taken"
            done.twice.append(Refused(one.place, why, kept=True))
    if len(new) < len(batch.runs):
        shutil.rmtree(batch.folder)
        batch = stage([batch.sources[one.at] for one in new.values()], staging)
    if not batch.runs:
        return
    if gone_on := sorted(new.keys() & there.keys()):
        seen.forget(gone_on)
    for written, place in batch.files:
        target = path / place
        target.parent.mkdir(parents=True, exist_ok=True)
        written.replace(target)
    shutil.rmtree(batch.folder)
    seen.remember(batch.runs)
    done.runs += len(batch.runs)
    done.cases += sum(one.cases for one in batch.runs)
    for run in gone_on:
        before, now = there[run]
        done.runs -= now
        done.cases -= before.cases
        done.renewed += not now
