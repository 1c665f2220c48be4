"""From what was named to the runs in it: folders, archives, single files, a stream of names; and the digest,
what a fleet needs to know of a run.

Everything is found one after another, so that a million nodes take no more memory than one. A run has its
digest or its result file, of both the digest is taken. What cannot be read is a `Refused`, and the rest goes
on.

A digest is JSON lines packed by gzip. The first line is an object with `digest` (the format), `rows` (how
many lines follow) and `context`, as the result file has it but for what Google Benchmark says of the machine.
Each further line is a row with fewer fields, in the order of the file, and the number of its visits in place
of them. The program writes it beside the result file (benchmarks/harness/digest.cpp), and this module makes
the same of the result file.
"""

import gzip
import hashlib
import json
import os
import shlex
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

try:
    from isal.igzip import decompress
except ModuleNotFoundError:
    from gzip import decompress

from grainscope_report import loading
from grainscope_report.errors import ReportError
from grainscope_report.loading import GZIP, JOURNAL, RESULT, SUMS
from grainscope_report.model import SCHEMA_VERSION
from grainscope_report.refusing import blamed
from grainscope_report.units import cut

DIGEST_FORMAT = 1
DIGEST = "fleet.jsonl.gz"
CONTEXT_FIELDS = (
    "date", "environment", "grainscope", "host_name", "links", "run", "schema_version", "type_b",
)  # fmt: skip
ROW_FIELDS = (
    "bandwidth_gb_s", "bytes", "case", "flags", "label", "link_fraction", "median_s", "operation_s",
    "reason", "status",
)  # fmt: skip
TIMING_FIELDS = ("clock", "gated", "quiet")
UNCERTAINTY_TYPES = ("a", "b")

Raw = Mapping[str, Any]


def digest_lines(document: Raw) -> Iterator[str]:
    """The lines of a digest, without their ends."""
    rows = document["benchmarks"]
    context = {name: document["context"][name] for name in CONTEXT_FIELDS if name in document["context"]}
    yield _json_line({"context": context, "digest": DIGEST_FORMAT, "rows": len(rows)})
    for row in rows:
        yield _json_line(row_of(row))


def packed_digest(document: Raw) -> bytes:
    """The digest as the program writes it."""
    return gzip.compress(
        "".join(f"{line}\n" for line in digest_lines(document)).encode("utf-8", "replace"), mtime=0
    )


def row_of(row: Raw) -> dict[str, Any]:
    """What a digest keeps of a row: a reason is empty and flags are none in most, and are left out there."""
    kept = {name: row[name] for name in ROW_FIELDS if row.get(name) not in (None, "", [])}
    for name, parts in (("timing", TIMING_FIELDS), ("uncertainty", UNCERTAINTY_TYPES)):
        if told := {part: row[name][part] for part in parts if part in row.get(name, ())}:
            kept[name] = told
    if "visits" in row:
        kept["visits"] = len(row["visits"])
    return kept


def _json_line(thing: Raw) -> str:
    return json.dumps(thing, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# What names runs, and what lies in it.

STDIN = "-"
MARK = "_grainscope.json"  # of a data set; engines pass over what begins with an underscore
RESULTS = (RESULT, f"{RESULT}.gz")
ZIP = ".zip"
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ZIP)
# How the program lays out a result file: a row a line, and the context behind them.
_ROWS, _END = b'"benchmarks": [\n  {', b"}\n ]"
END = b"}\n"
EMPTY = f"holds no run: neither {DIGEST} nor {RESULT}"
_LONG_NAME = 200
_AT_THE_END = 1 << 18  # bytes of a result file in which its run is named


@dataclass(frozen=True)
class Source:
    """A digest or a result file; `content` of one that lies in an archive.

    `slowly`: every letter is looked at, so that what is wrong with a damaged row is said.
    """

    name: str
    content: bytes | None = None
    slowly: bool = False

    @property
    def place(self) -> str:
        """The name as a data set has it: letters that are no UTF-8 are replaced."""
        return os.fsencode(self.name).decode(errors="replace")


@dataclass(frozen=True)
class Refused:
    """What could not be taken, and why; where `kept`, something else was taken in its place."""

    name: str
    why: str
    kept: bool = False


class Taken(NamedTuple):
    """What a source holds: the context, and its rows as JSON lines, those of a result file where `whole`."""

    context: dict[str, Any]
    rows: bytes | memoryview
    count: int
    whole: bool = False


def found(paths: Iterable[str | Path]) -> Iterator[Source | Refused]:
    """The runs in these paths; `-` stands for names on standard input, one a line."""
    for path in paths:
        for name in _on_stdin() if str(path) == STDIN else [path]:
            try:
                yield from _in(Path(name))
            except OSError as error:
                why = f"cannot be read ({error.strerror}): check the path"
                yield Refused(cut(str(name), _LONG_NAME), why)


def _on_stdin() -> Iterator[str]:
    """Names, one a line; ReportError where standard input is none, or a run itself."""
    if sys.stdin is None:
        raise ReportError("standard input is closed, and - means names from there")
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # as names are that the shell hands over
    for line in sys.stdin:
        if line.startswith(("{", "\x1f")):  # as a result file does, or one packed by gzip
            raise ReportError(
                "standard input holds a file, and - means names of files from there: give the file itself"
            )
        if name := line.rstrip("\n"):
            yield name


def _in(path: Path) -> Iterator[Source | Refused]:
    if path.is_dir():
        yield from _below(path)
    elif path.name.endswith(ARCHIVES):
        yield from _of_archive(path)
    elif path.is_file():
        yield Source(str(path))
    else:
        yield Refused(str(path), "is neither a file nor a folder" if path.exists() else "does not exist")


def _below(top: Path) -> Iterator[Source | Refused]:
    """The runs in a folder, and in those that links in it lead to; each folder once."""
    empty = True
    roots = [top.resolve()]
    for folder, folders, names in os.walk(top, followlinks=True):
        folders[:] = [name for name in sorted(folders) if _is_new(Path(folder) / name, roots)]
        here, there = Path(folder), {name for name in names if (Path(folder) / name).is_file()}
        if MARK in there:
            folders.clear()
            empty = False
            continue
        run = next((name for name in RESULTS if name in there), None)
        if loading.is_bundle(here):
            yield Source(str(here))
        elif DIGEST in there:
            told = _of_another_run(here / run, here / DIGEST) if run else ""
            if told:
                yield Refused(str(here / DIGEST), told, kept=True)
            yield Source(str(here / run if run and told else here / DIGEST))
        elif run:
            yield Source(str(here / run))
        elif JOURNAL in there:
            yield Refused(
                folder, f"is an unfinished run: `grainscope --resume {shlex.quote(str(folder))}` finishes it"
            )
        else:
            for name in sorted(there):
                if name.endswith((*ARCHIVES, ".jsonl.gz", ".json", ".json.gz")):
                    yield from _in(here / name)
                    empty = False
            continue
        empty = False
    if empty:
        yield Refused(str(top), EMPTY)


def _is_new(folder: Path, roots: list[Path]) -> bool:
    """Whether a folder is to be looked into: a link is where it leads to none of `roots`, in or above one."""
    if not folder.is_symlink():
        return True
    try:
        target = folder.resolve()
    except (OSError, RuntimeError):  # a ring of links
        return False
    if any(target.is_relative_to(root) or root.is_relative_to(target) for root in roots):
        return False
    roots.append(target)
    return True


def _of_another_run(result: Path, digest: Path) -> str:
    """Why a digest is not of the result file beside it; nothing where it is."""
    broken = (OSError, EOFError, ValueError, LookupError, TypeError, zlib.error)
    try:
        with gzip.open(digest) as file:
            run = json.loads(file.readline())["context"]["run"]["id"]
    except broken:
        return f"cannot be read; {result.name} beside it is taken"
    try:
        ours = json.dumps(run).encode() in _end_of(result)
    except broken:
        return ""
    return "" if ours else f"is of the run {run}, which {result.name} beside it is not of; that is taken"


def _end_of(result: Path) -> bytes:
    """The end of a result file, in which its run is named."""
    if result.name == RESULT:
        with result.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _AT_THE_END))
            return file.read()
    end = b""
    with gzip.open(result) as file:
        while piece := file.read(_AT_THE_END):
            end = (end + piece)[-_AT_THE_END:]
    return end


def _of_archive(path: Path) -> Iterator[Source | Refused]:
    try:
        if path.suffix == ZIP:
            with zipfile.ZipFile(path) as archive:
                yield from _members(path, ((name, archive.open(name)) for name in archive.namelist()))
        else:
            with tarfile.open(path, "r|*") as archive:
                files = ((one.name, archive.extractfile(one)) for one in archive if one.isfile())
                yield from _members(path, files)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error) as error:
        yield Refused(str(path), f"is a damaged archive ({error}): copy it again")
    except RuntimeError as error:  # a password, or a way of packing that is not at hand
        yield Refused(str(path), f"cannot be unpacked ({error}): unpack it, and give its folder")


def _members(path: Path, members: Iterable[tuple[str, Any]]) -> Iterator[Source | Refused]:
    """The runs of an archive, one of each folder; a bundle's is what its sums say."""
    folder: PurePosixPath | None = None
    run: Source | None = None
    sums: list[str] = []
    empty = True
    for name, file in members:
        inside = PurePosixPath(name)
        if inside.parent != folder:
            yield from _unaltered(run, sums)
            folder, run, sums = inside.parent, None, []
        if inside.name in (DIGEST, *RESULTS) and not run:
            run = Source(f"{path}:{name}", file.read())
            empty = False
        elif inside.name == SUMS:
            sums = file.read().decode("utf-8", "replace").split()
    yield from _unaltered(run, sums)
    if empty:
        yield Refused(str(path), EMPTY)


def _unaltered(run: Source | None, sums: Sequence[str]) -> Iterator[Source | Refused]:
    if run and sums and hashlib.sha256(run.content or b"").hexdigest() not in sums:
        yield Refused(run.name, f"is not what {SUMS} beside it says: get it again from its source")
    elif run:
        yield run


def read(source: Source) -> Taken:
    """What a source holds; ReportError where it is damaged or something else."""
    data = _unpacked(source)
    if _is_digest(data):
        return _of_digest(source, data)
    return (None if source.slowly else _as_written(data)) or _of_result(source, data)


def _unpacked(source: Source) -> bytes:
    try:
        data = loading.raw(Path(source.name)) if source.content is None else source.content
        if not data.startswith(GZIP):
            return data
        with suppress(Exception):
            return decompress(data)
        return gzip.decompress(data)  # which says in one way what is wrong
    except EOFError:
        raise ReportError(f"{source.name} is cut off after {len(data)} bytes: copy it again") from None
    except (OSError, zlib.error) as error:
        raise ReportError(f"{source.name} cannot be read ({error}): copy it again") from None


def _is_digest(data: bytes) -> bool:
    first = data[: data.find(b"\n") + 1]
    return first.startswith(b'{"context":') and b'"digest":' in first


def _whole(content: bytes) -> Any:
    """Parsed JSON; ValueError where half a character is in it, too, which nothing else can be made of."""
    found = json.loads(content)
    if b"\\ud" in content.lower():
        json.dumps(found, ensure_ascii=False).encode()
    return found


def _of_digest(source: Source, data: bytes) -> Taken:
    name = source.name
    begin = data.find(b"\n") + 1
    try:
        head = _whole(data[:begin])
        count, context = head["rows"], head["context"]
        form, schema = head["digest"], context["schema_version"]
    except (ValueError, LookupError, TypeError):
        raise ReportError(f"{name} is damaged in its first line: copy it again") from None
    if (form, schema) != (DIGEST_FORMAT, SCHEMA_VERSION):
        raise ReportError(
            f"{name} is a digest of format {form} and schema version {schema}, not {DIGEST_FORMAT} and "
            f"{SCHEMA_VERSION}: update grainscope-report, or make it again by `export digest`"
        )
    # Whether these are all is known once the engine has read them, and looked at here if they are not.
    lines = data[begin:].splitlines() if source.slowly else []
    if (source.slowly and len(lines) != count) or (count and not data.endswith(END)):
        there = data.count(END, begin)
        raise ReportError(f"{name} has {there} of {count} rows: it is cut off; copy it again")
    for number, line in enumerate(lines, 2):
        try:
            row = json.loads(line)
            if not (isinstance(row, dict) and isinstance(row["case"]["family"], str)):
                raise ValueError("a row without a case")
        except (ValueError, LookupError, TypeError) as error:
            raise ReportError(f"{name} is damaged in line {number} ({error}): copy it again") from None
    return Taken(context, memoryview(data)[begin:], count)


def _as_written(data: bytes) -> Taken | None:
    """Of a result file as the program lays it out; None of any other."""
    begin = data.find(_ROWS)
    end = data.rfind(_END)
    if begin < 0 or end < begin:
        return None
    rows = data[begin + len(_ROWS) - 1 : end + 1].split(b"\n")
    try:
        around = _whole(b"".join((data[:begin], b'"benchmarks": []', data[end + len(_END) :])))
        if around["context"]["schema_version"] != SCHEMA_VERSION:
            return None
    except (ValueError, LookupError, TypeError):
        return None
    lines = b"\n".join([row.removesuffix(b",") for row in rows])
    return Taken(around["context"], lines + b"\n", len(rows), whole=True)


def _of_result(source: Source, data: bytes) -> Taken:
    document = loading.document_of(Path(source.name), data)
    with blamed(Path(source.name), document):
        first, *rows = digest_lines(document)
    return Taken(json.loads(first)["context"], "".join(f"{row}\n" for row in rows).encode(), len(rows))
